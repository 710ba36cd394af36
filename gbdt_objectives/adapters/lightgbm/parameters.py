"""What train() does with every parameter of LightGBM, and what to write instead of refused ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np
from lightgbm.basic import _ConfigAliases

from gbdt_objectives._checks.spellings import each_word
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._arguments import (
    ParameterTable,
    RefusedWith,
    as_list,
    by_reason,
    metrics_of,
)
from gbdt_objectives.adapters._estimators import sounding_like
from gbdt_objectives.adapters._train import starts_of_sets
from gbdt_objectives.adapters.lightgbm import _train
from gbdt_objectives.objectives import Objective

DATASET = "pass it to the Dataset"

INSTEAD = each_word({
    "write init_model=": "xgb_model", DATASET: "feature_name categorical_feature",
    "write callbacks=[lightgbm.record_evaluation(evals_result)]": "evals_result",
    "write callbacks=[lightgbm.log_evaluation(period)]":
        "verbose_eval eval_freq metric_period",
    "write callbacks=[lightgbm.reset_parameter(learning_rate=...)]": "learning_rates",
})  # fmt: skip

NAMES = _ConfigAliases._get_all_param_aliases()
"""The parameters of the installed LightGBM, each with all its names."""
KNOWN = frozenset().union(*NAMES.values())

ALIASES = {
    main: (main, *sorted(set(names) - {main}))
    for main, names in sorted(NAMES.items())
    if len(names) > 1
}

BUILT_IN = "only LightGBM's own objectives read it; leave it out"
CLI = "only LightGBM's command line reads it; "
PREDICT = "training ignores it; "

REFUSED = by_reason({
    "objective= already says what to train on; leave it out": "objective",
    "pass num_boost_round= to train(), or n_estimators= of an estimator": "num_iterations",
    "pass early_stopping_rounds= to train()": "early_stopping_round=0",
    "pass callbacks=[lightgbm.early_stopping(rounds, min_delta=...)]": "early_stopping_min_delta=0",
    "LightGBM ignores it under a custom objective; boosting starts at the objective's intercept "
    "anyway": "boost_from_average=0",
    "LightGBM ignores it under a custom objective; pass weights to the Dataset, or sample_weight= "
    "to fit": "scale_pos_weight=1 is_unbalance=0 pos_bagging_fraction=1 neg_bagging_fraction=1",
    BUILT_IN + ", or write lambda_l1 if you mean that": "alpha=0.9",
    BUILT_IN: "fair_c=1 poisson_max_delta_step=0.7 tweedie_variance_power=1.5 reg_sqrt=0 sigmoid=1 "
        "lambdarank_truncation_level=30 lambdarank_norm=1 "
        "lambdarank_position_bias_regularization=0 label_gain",
    "nothing but metric= is measured; leave it out":
        "metric=none|null|custom|na| eval_at multi_error_top_k=1 auc_mu_weights",
    "pass callbacks=[lightgbm.log_evaluation(period)] to train()": "metric_freq=1",
    "add (data, 'train') to evals=": "is_provide_training_metric=0",
    "each LightGBM worker would see only its own rows in sums over all; train on one machine":
        "num_machines=1 machines= machine_list_filename=",
    "only workers of distributed training read it, which train() refuses; leave it out":
        "tree_learner=serial top_k=20 pre_partition=0 local_listen_port=12400 time_out=120",
    CLI + "write its parameters into params": "config=",
    CLI + "call predict() or refit() of the booster": "task=train|training",
    CLI + "pass a lightgbm.Dataset as the second argument": "data=",
    CLI + "write evals=[(Dataset, name), ...]": "valid=",
    CLI + "pass init_model= to train()": "input_model=",
    CLI + "call save_model() of the booster": "output_model=LightGBM_model.txt",
    CLI + "save env.model in a callback": "snapshot_freq=-1",
    CLI + "call save_binary() of the Dataset": "save_binary=0",
    CLI + "pass importance_type= to save_model() of the booster": "saved_feature_importance_type=0",
    CLI + "call predict() of the booster": "output_result=LightGBM_predict_result.txt",
    CLI + "leave it out": "convert_model=gbdt_prediction.cpp convert_model_language=",
    PREDICT + "pass start_iteration= to predict()": "start_iteration_predict=0",
    PREDICT + "pass num_iteration= to predict()": "num_iteration_predict=-1",
    PREDICT + "pass raw_score=True to predict()": "predict_raw_score=0",
    PREDICT + "pass pred_leaf=True to predict()": "predict_leaf_index=0",
    PREDICT + "pass pred_contrib=True to predict()": "predict_contrib=0",
    PREDICT + "pass it to predict()": "predict_disable_shape_check=0 pred_early_stop=0 "
        "pred_early_stop_freq=10 pred_early_stop_margin=10",
    PREDICT + "pass decay_rate= to refit()": "refit_decay_rate=0.9",
})  # fmt: skip

FILE = "LightGBM reads it only for data in a file; "

FROM_FILE = by_reason({
    FILE + "pass label= to the Dataset": "label_column=",
    FILE + "pass weight= to the Dataset": "weight_column=",
    FILE + "pass group= to the Dataset": "group_column=",
    FILE + "leave the column out of the data": "ignore_column=",
    FILE + "leave it out": "header=0 two_round=0 precise_float_parser=0 parser_config_file=",
})  # fmt: skip
"""Passed if the Dataset is read from a file; otherwise refused, except for neutral values."""

GBDT = (None, "gbdt", "gbrt")
NOT_DART = {"boosting": (*GBDT, "goss")}
NO_DART = "LightGBM drops no trees here; write boosting='dart' too, or leave it out"
NOT_GOSS = {"boosting": (*GBDT, "dart"), "data_sample_strategy": (None, "bagging")}
NO_GOSS = "LightGBM ignores it here; write data_sample_strategy='goss' too, or leave it out"

REFUSED_WITH: RefusedWith = {
    "boosting": (
        ("gbdt", "gbrt", "dart", "goss"), {},
        "LightGBM's random forests do not take custom objectives; write 'gbdt', or train the "
        "forest on its own objective (in QWKClassifier: objective=None)",
    ),
    "bagging_fraction": (
        (1,), {"bagging_freq": (None, 0, -1)},
        "LightGBM samples no rows here; write bagging_freq=1 too, or leave it out",
    ),
    "drop_rate": ((0.1,), NOT_DART, NO_DART), "max_drop": ((50,), NOT_DART, NO_DART),
    "skip_drop": ((0.5,), NOT_DART, NO_DART), "uniform_drop": ((False,), NOT_DART, NO_DART),
    "xgboost_dart_mode": ((False,), NOT_DART, NO_DART),
    "top_rate": ((0.2,), NOT_GOSS, NO_GOSS), "other_rate": ((0.1,), NOT_GOSS, NO_GOSS),
    "use_quantized_grad": (
        (False,), {"linear_tree": (True,)},
        "with linear_tree LightGBM learns nothing from quantised gradients; leave one of them out",
    ),
}  # fmt: skip

REFUSED_STOPPING = by_reason({
    "dart rescales earlier trees, so the best round cannot be cut out of the model; leave "
    "early_stopping_rounds out": "boosting=gbdt|gbrt|goss",
})  # fmt: skip

FOREIGN = by_reason({
    "set init_score on the data": "base_score",
    DATASET: "init_score feature_name reference position free_raw_data",
    "pass feature_name= to the Dataset": "feature_names",
    "pass categorical_feature= to the Dataset": "enable_categorical",
    "write zero_as_missing, or put nan into the data": "missing",
    "pass weights to the Dataset, or sample_weight= to fit": "class_weight sample_weight",
    "write evals=[(data, name), ...]": "eval_set valid_sets valid_names",
    "pass it to train()": "evals init_model callbacks",
    "leave it out: train on with init_model=": "keep_training_booster",
    "pass objective= to train()": "fobj obj",
    "pass metric= to train()": "feval custom_metric eval_metric",
    "pass callbacks=[lightgbm.record_evaluation(evals_result)] to train()": "evals_result",
    "pass callbacks=[lightgbm.log_evaluation(period)] to train()": "verbose_eval",
    "pass it to feature_importance() of the booster": "importance_type",
    "write boosting": "booster",
    "pass num_boost_round= to train(), or n_estimators= of an estimator": "iterations",
    "early_stopping_rounds keeps the best round; leave it out": "use_best_model",
    "pass categorical_feature= to the Dataset, or to fit": "cat_features",
    "leave it out: it always uses histograms": "tree_method",
    "leave it out: it always grows leaf by leaf": "grow_policy", "write max_depth": "depth",
    "write lambda_l2": "l2_leaf_reg", "write min_gain_to_split": "gamma min_split_loss",
    "write feature_fraction_bynode": "max_features colsample_bylevel",
    "write data_sample_strategy='goss'": "sampling_method",
    "leave it out: it grows one tree per round": "num_parallel_tree",
    "write boosting='dart'": "one_drop", "write uniform_drop": "sample_type",
    "write xgboost_dart_mode": "normalize_type",
    "leave it out: nothing but metric= is measured": "disable_default_eval_metric",
    "leave it out: train() checks them": "validate_parameters",
}, "LightGBM has no such parameter and ignores it; ")  # fmt: skip

USED = frozenset({*FROM_FILE, "num_class"})
PASSED = frozenset(NAMES) - USED - REFUSED.keys()
"""All others that the installed LightGBM knows: tests try each of them."""

TABLE = ParameterTable(
    library="LightGBM", aliases=ALIASES, passed=PASSED, used=USED,
    refused=REFUSED | FOREIGN, refused_with=REFUSED_WITH,
)  # fmt: skip


def check(
    params: Mapping[str, Any], objective: Objective, *, stops_early: bool, from_file: bool = False
) -> None:
    """Raise for what LightGBM would misread; ``from_file``: whether the data may be in a file."""
    here = {"num_class": _arguments.num_class(objective), **({} if from_file else FROM_FILE)}
    TABLE.check(params, here | (REFUSED_STOPPING if stops_early else {}), KNOWN.__contains__)


NO_METRIC = {"", "none", "null", "na", "custom"}  # they measure nothing, and say so
NOT_MEASURED_HERE = NO_METRIC | {
    "multi_logloss", "multiclass", "softmax", "multiclassova", "multiclass_ova", "ova", "ovr",
    "multi_error", "auc_mu",  # on several outputs only
}  # fmt: skip


@cache
def names_of_metric(name: str) -> tuple[str, ...]:
    """What the installed LightGBM, which is asked, calls its metric of this name, if it has one."""
    if name.lower() in NOT_MEASURED_HERE:
        return (name,)
    quiet = {"verbosity": -1, "num_threads": 1}
    data = lgb.Dataset(np.zeros((4, 1)), np.ones(4), group=[4], params=quiet)
    try:
        booster = lgb.Booster({**quiet, "objective": "none", "metric": name}, data)
    except lgb.basic.LightGBMError:  # known, and for other data
        return (name,)
    return tuple(result[1] for result in booster.eval_train())


ORDERS = {"auc", "average_precision", "map", "mean_average_precision", "ndcg", "lambdarank",
          "multi_error", "auc_mu"}  # fmt: skip
"""LightGBM's own metrics for which margins are as good as what is made of them."""


def names_in(metrics: Sequence[Any]) -> list[str]:
    """The names of LightGBM's own metrics among all that are given."""
    names = (name for one in metrics if isinstance(one, str) for name in one.split(","))
    return [name.strip().lower() for name in names]


def ignored(names: Sequence[str]) -> dict[str, str]:
    """The names that LightGBM would drop without a word, and what to write instead."""
    unknown = (one for one in names if not names_of_metric(one))
    return {one: sounding_like(one, "metric") for one in unknown}


def read_call(seen: Mapping[str, Any], fit: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The facts of a training; ``fit`` are the locals of an estimator's fit above it."""
    params, functions, main = seen["params"], as_list(seen.get("feval")), TABLE.main
    said = fit["self"].get_params() if fit else params
    own = [one for key in TABLE.given(said, "metric") for one in as_list(said[key])]
    own = [*as_list(fit.get("eval_metric")), *own]
    own = [one for one in names_in(own) if one not in NO_METRIC]
    booster = seen.get("booster") or (seen.get("cvbooster") or seen["cvfolds"]).boosters[0]
    unnamed = []
    if not said.keys() & NAMES["metric"]:
        written = {its for one in own for its in names_of_metric(one)}
        measured = getattr(booster, "_Booster__name_inner_eval", ())
        unnamed = [its for its in measured if its not in written]
    stops = [c for c in seen["callbacks_set"] if _train.stops_by_name(c)]
    first = [*own, *unnamed][:1]
    looks_at_all = any(not c.first_metric_only for c in stops) or not first
    functions = [getattr(one, "func", one) for one in functions]  # as estimators wrap them
    looked_at = [*own, *unnamed, *functions] if looks_at_all else first
    facts = _train.earlier_facts(seen) | metrics_of(own, functions, looked_at if stops else ()) | {
        "parameters": [(key, main.get(key, key), value) for key, value in params.items()],
        "orders": ORDERS, "unnamed": unnamed, "ignored": ignored(own),
    }  # fmt: skip
    if "valid_sets" in seen:
        data, sets = seen["train_set"], seen["reduced_valid_sets"]
        named = [*zip(sets, seen["name_valid_sets"], strict=False)]
        facts |= {  # of several, those of other rows stop it
            "sets": named, "data": data, "looks_at": [None] if stops and len(named) == 1 else [],
            "labels": lambda k: (data if k is None else sets[k]).get_label(),
        }  # fmt: skip
        K = int(TABLE.value(params, "num_class") or 1)
        starts = {its: _train.init_score(one, K) for one, its in [(data, "train_set"), *named]}
        facts |= starts_of_sets("init_score", starts)
        if not fit:  # of train, whose users add it to predictions
            facts.pop("lost_start", None)
    return facts
