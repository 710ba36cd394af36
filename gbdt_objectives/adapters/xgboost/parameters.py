"""What train() does with every parameter of XGBoost, and what to write instead of refused ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import xgboost as xgb

from gbdt_objectives._checks.spellings import each_word
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._arguments import (
    Refused,
    RefusedWith,
    Table,
    as_list,
    by_reason,
    metrics_of,
)
from gbdt_objectives.adapters._train import starts_of_sets
from gbdt_objectives.adapters.xgboost.stopping import any_stops_early, watch
from gbdt_objectives.objectives import Objective

INSTEAD = {
    "init_model": "write xgb_model=",
    "keep_training_booster": "leave it out: train on with xgb_model=",
    "verbose": "write verbose_eval=",
}

ALIASES = {main: (main, *others.split()) for main, others in {
    "learning_rate": "eta", "gamma": "min_split_loss", "lambda": "reg_lambda",
    "alpha": "reg_alpha", "nthread": "n_jobs", "seed": "random_state",
    "num_boost_round": "num_round num_rounds n_estimators num_iterations num_trees iterations",
    "early_stopping_rounds": "early_stopping_round early_stopping",
}.items()}  # fmt: skip

LINEAR = {"feature_selector": ("cyclic",), "top_k": (0,), "tolerance": (0,)}  # neutral values

PASSED = frozenset(LINEAR) | each_word({
    "general": "nthread device verbosity validate_parameters seed seed_per_iteration use_rmm "
    "use_cuda_async_pool fail_on_invalid_gpu_id",
    "the shape of a tree": "max_depth max_leaves grow_policy min_child_weight gamma max_delta_step "
    "learning_rate lambda alpha monotone_constraints interaction_constraints",
    "sampling, boosted forests": "subsample sampling_method colsample_bytree colsample_bylevel "
    "colsample_bynode num_parallel_tree",
    # process_type="update" refreshes the trees of xgb_model=
    "how trees are grown": "tree_method updater process_type refresh_leaf max_bin multi_strategy "
    "max_cat_to_onehot max_cat_threshold default_direction",
    "memory and debugging": "max_cached_hist_node extmem_single_page sparse_threshold "
    "debug_synchronize opt_dense_col max_row_perbatch",
    "dropout": "booster rate_drop one_drop skip_drop sample_type normalize_type",
}).keys()  # fmt: skip

USED = frozenset({"objective", "num_class", "base_score"})  # train() compares or reads them

REMOVED = "XGBoost removed it; "
CLI = "only XGBoost's old command line read it; "

REFUSED = by_reason({
    "nothing but metric= is measured; leave it out": "eval_metric",
    "train() sets it to 1; leave it out": "disable_default_eval_metric=1",
    "XGBoost ignores it here; pass num_boost_round= to train(), n_estimators= of an estimator":
        "num_boost_round",
    "XGBoost ignores it here; pass early_stopping_rounds= to train()": "early_stopping_rounds",
    "boosting starts at the objective's intercept; leave it out": "boost_from_average=1",
    "XGBoost counts the columns of the data; leave it out": "num_feature",
    "train() handles one margin per row; for several call xgboost.train(obj=...)": "num_target=0|1",
    "XGBoost ignores it under a custom objective; pass weights to the DMatrix, or sample_weight= "
    "to fit": "scale_pos_weight=1",
    "only XGBoost's own objectives and metrics read it; leave it out":
        "tweedie_variance_power=1.5 huber_slope=1 quantile_alpha expectile_alpha "
        "aft_loss_distribution=normal aft_loss_distribution_scale=1 lambdarank_pair_method=topk "
        "lambdarank_num_pair_per_sample lambdarank_normalization=1 "
        "lambdarank_score_normalization=1 lambdarank_unbiased=0 lambdarank_bias_norm=2 "
        "ndcg_exp_gain=1",
    REMOVED + "write device='cuda:0'": "gpu_id", REMOVED + "write device='cuda'": "n_gpus",
    REMOVED + "write device='cuda' or device='cpu'": "predictor=auto",
    REMOVED + "write verbosity": "silent", REMOVED + "write max_bin": "sketch_eps sketch_ratio",
    REMOVED + "leave it out":
        "single_precision_histogram=0 enable_feature_grouping=0 cache_opt=1 lambda_bias=0",
    CLI + "pass an xgboost.DMatrix as the second argument": "data",
    CLI + "predict with the booster": "test:data", CLI + "leave it out": "task=train",
    CLI + "pass xgb_model= to train()": "model_in",
    CLI + "call save_model() of the booster": "model_out model_dir",
    CLI + "pass callbacks=[xgboost.callback.TrainingCheckPoint(...)]": "save_period=0",
    CLI + "pass it to dump_model() of the booster": "fmap dump_format",
    CLI + "call dump_model() of the booster": "name_dump",
    CLI + "call predict() of the booster": "name_pred",
    CLI + "pass output_margin=True to predict()": "pred_margin",
    CLI + "pass data_split_mode= to the DMatrix": "dsplit",
})  # fmt: skip

NOT_LINEAR = "only gblinear reads it; write booster='gblinear' too, or leave it out"
NOT_EXACT = "tree_method='exact' ignores it; write tree_method='hist', or leave it out"
EXACT = {"tree_method": ("exact",)}

REFUSED_WITH: RefusedWith = {
    "default_direction": (
        ("learn",), {"tree_method": (None, "auto", "hist", "approx")},
        "only tree_method='exact' reads it; leave it out",
    ),
    "max_bin": ((256,), EXACT, NOT_EXACT),
    "max_leaves": ((0,), EXACT, NOT_EXACT),
    "grow_policy": (("depthwise",), EXACT, NOT_EXACT),
    **{name: (neutral, {"booster": (None, "gbtree", "dart")}, NOT_LINEAR)
       for name, neutral in LINEAR.items()},
}  # fmt: skip

DROPOUT = by_reason({
    "XGBoost drops no trees here; write booster='dart' too, or leave it out":
        "rate_drop=0 one_drop=0 skip_drop=0 sample_type=uniform normalize_type=tree",
})  # fmt: skip
"""Up to XGBoost 3.2 gbtree ignores them, in 3.4 it drops trees, too."""

REFUSED_STOPPING = by_reason({
    "dart and gblinear change what earlier rounds have learnt, so the best round cannot be cut out "
    "of the model; leave early_stopping_rounds out": "booster=gbtree",
    "dropout rescales earlier trees, so the best round cannot be cut out of the model; leave "
    "early_stopping_rounds out": "rate_drop=0 one_drop=0 skip_drop=0",
    "XGBoost cannot cut the best round out of updated trees; leave early_stopping_rounds out":
        "process_type=default",
})  # fmt: skip

ONE_TREE_EACH = by_reason({
    "it needs XGBoost 3.2 and booster='gbtree'; leave it out": "multi_strategy=one_output_per_tree",
})  # fmt: skip

FOREIGN = by_reason({
    "pass it to the DMatrix": "missing enable_categorical feature_names feature_types label weight "
    "label_lower_bound label_upper_bound feature_weights base_margin group qid data_split_mode",
    "pass it to the QuantileDMatrix": "max_quantile_batches",
    "pass it to the ExtMemQuantileDMatrix": "cache_host_ratio min_cache_page_bytes",
    "pass weights to the DMatrix, or sample_weight= to fit":
        "class_weight sample_weight is_unbalance unbalance",
    "write evals=[(data, name), ...]": "eval_set",
    "pass it to train()": "evals evals_result verbose_eval xgb_model callbacks",
    "pass objective= to train()": "obj",
    "pass metric= to train()": "custom_metric feval metric",
    "leave it out: the metric knows its direction": "maximize",
    "write verbosity, or pass verbose_eval= to train()": "verbose",
    "pass it to get_score() of the booster": "importance_type",
    "pass it to predict() of the booster": "iteration_range",
    "write booster": "boosting boosting_type", "write learning_rate": "shrinkage_rate",
    "write max_leaves, with grow_policy='lossguide' to grow leaf by leaf": "num_leaves",
    "write max_depth": "depth",
    "write min_child_weight, a sum of hessians":
        "min_child_samples min_data_in_leaf min_samples_leaf",
    "write min_child_weight": "min_sum_hessian_in_leaf",
    "write gamma": "min_split_gain min_gain_to_split",
    "write alpha": "lambda_l1", "write lambda": "lambda_l2 l2_leaf_reg",
    "write colsample_bytree": "feature_fraction", "write subsample": "bagging_fraction",
    "write colsample_bynode": "feature_fraction_bynode max_features",
    "it samples in every round; leave it out": "bagging_freq subsample_freq",
    "write rate_drop": "drop_rate", "write nthread": "num_threads", "write seed": "random_seed",
    "write device": "device_type", "leave it out": "linear_tree",
    "pass enable_categorical=True to the DMatrix": "categorical_feature cat_features",
    "early_stopping_rounds keeps the best round; leave it out": "use_best_model",
}, "XGBoost has no such parameter and ignores it; ")  # fmt: skip

LEAF_REFIT = "XGBoost would replace the leaves by its own objective's (leaf refit); leave it out"

REFITS = ("reg:absoluteerror", "reg:quantileerror")
NO_TREES: Refused = {"updater": ((), "alone it grows no trees; leave it out")}

TABLE = Table(
    library="XGBoost", aliases=ALIASES, passed=PASSED, used=USED,
    refused=REFUSED | FOREIGN, refused_with=REFUSED_WITH,
)  # fmt: skip


VERSION = [int(part) for part in xgb.__version__.split(".")[:2]]


def holds_starts(params: Mapping[str, Any]) -> bool:
    """Whether a base_score may hold a number for each output: gblinear takes the first for all."""
    return VERSION >= [3, 1] and params.get("booster") != "gblinear"


def holds_vectors(params: Mapping[str, Any]) -> bool:
    """Whether a leaf may hold a number for each output: XGBoost 3.1 cuts such models wrongly."""
    since = [3, 4] if params.get("booster") == "dart" else [3, 2]
    return holds_starts(params) and since <= VERSION


def check(
    params: Mapping[str, Any], objective: Objective, callbacks: Sequence[Any] = (), *,
    stops_early: bool = False,
) -> None:  # fmt: skip
    """Raise for what XGBoost would misread, and for a callback that would save another model."""
    stops_early |= any_stops_early(callbacks)
    lacks = objective.outputs > 1 and not holds_starts(params)
    transform = objective.link.xgboost
    dropout = DROPOUT.keys() & params.keys() if params.get("booster") != "dart" else ()
    here = {
        "objective": ((transform,), LEAF_REFIT if params.get("objective") in REFITS else
                      "objective= already says what to train on, and predictions are transformed "
                      f"as {transform!r} does; leave it out"),
        "num_class": _arguments.num_class(objective),
        **{name: DROPOUT[name] for name in dropout if not in_xgboost(name)},
        **(ONE_TREE_EACH if objective.outputs > 1 and not holds_vectors(params) else {}),
        **(NO_TREES if params.get("updater") == "sync" else {}),
        **(REFUSED_STOPPING if stops_early else {}),
    }  # fmt: skip
    TABLE.check(params, here, in_xgboost)
    if lacks and any(isinstance(c, xgb.callback.TrainingCheckPoint) for c in callbacks):
        raise ValueError(
            "callbacks holds a TrainingCheckPoint, whose models would lack the intercepts of "
            "several outputs: leave it out, and train on with xgb_model="
        )


@cache
def in_xgboost(name: str) -> bool:
    """Whether the installed XGBoost reads a parameter of this name when it grows trees (gbtree)."""
    return f'"{name}":' in xgb.Booster({"num_feature": 1}).save_config()


ORDERS = {"auc", "aucpr", "pre", "map", "ndcg", "merror", "error@0"}
"""XGBoost's own metrics for which margins are as good as what is made of them."""
DEFAULTS = {
    "reg:squarederror": "rmse", "binary:logistic": "logloss", "multi:softprob": "mlogloss",
}  # fmt: skip
"""What is measured where nobody names a metric, by the booster's objective."""


def read_call(seen: Mapping[str, Any], fit: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Facts of a training; ``fit``: locals of a fit above, ``name``: the booster's objective."""
    given, sets = seen["params"], seen.get("evals") or ()
    pairs = [*(given.items() if isinstance(given, Mapping) else given)]
    own = [one for key, value in pairs if key == "eval_metric" for one in as_list(value)]
    own += seen.get("metrics", ())  # of cv, which has taken them out of the parameters
    functions = as_list(getattr(fit.get("self"), "eval_metric", seen.get("custom_metric")))
    functions = [one for one in functions if callable(one)]
    unnamed = [DEFAULTS[name]] if name in DEFAULTS and (sets or "cvfolds" in seen) else []
    if own or dict(pairs).get("disable_default_eval_metric") in (True, 1, "1", "true"):
        unnamed = []
    measured = [*own, *unnamed, *functions]
    stops = [c for c in seen["callbacks"] if isinstance(c, xgb.callback.EarlyStopping)]
    looked_at = [c.metric_name or measured[-1] for c in stops if c.metric_name or measured]
    facts = metrics_of(own, functions, looked_at) | {
        "parameters": [(key, key, value) for key, value in pairs],
        "orders": ORDERS, "unnamed": unnamed,
    }  # fmt: skip
    objective = getattr(fit.get("self"), "objective", seen.get("obj"))
    for found in seen.values() if stops else ():
        if isinstance(found, xgb.callback.CallbackContainer):
            watch(found, objective, sets, {*own, *unnamed, *ORDERS})
    if "dtrain" in seen and "cvfolds" not in seen:
        own = seen["dtrain"]
        facts |= {
            "sets": sets, "data": own, "looks_at": [c.data for c in stops],
            "labels": lambda k: (own if k is None else sets[k][0]).get_label(),
        }  # fmt: skip
        margins = {its: one.get_float_info("base_margin") for one, its in [(own, "dtrain"), *sets]}
        starts = {its: one if len(one) else None for its, one in margins.items()}
        if any(one is not None for one in starts.values()):
            facts |= starts_of_sets("base_margin", starts)
    return facts
