"""Every parameter of both libraries is passed on, used, or refused with what to do instead."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from lightgbm.basic import _ConfigAliases

import gbdt_objectives as go
from gbdt_objectives._public import SAME
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters.lightgbm import _train as lightgbm_parameters
from gbdt_objectives.adapters.xgboost import parameters as xgboost_parameters
from tests.adapters.library import LGB, XGB, Library, both
from tests.cases import each

pytestmark = pytest.mark.slow

PASSED_ARGUMENTS = {
    "xgboost": {"callbacks", "evals_result", "verbose_eval", "xgb_model"},
    "lightgbm": {"callbacks", "init_model", "keep_training_booster"},
}
MODULES = {"xgboost": xgboost_parameters, "lightgbm": lightgbm_parameters}
DOCUMENTED = """
    booster device verbosity validate_parameters nthread disable_default_eval_metric use_rmm
    use_cuda_async_pool num_feature
    eta learning_rate gamma min_split_loss max_depth min_child_weight max_delta_step subsample
    sampling_method colsample_bytree colsample_bylevel colsample_bynode lambda reg_lambda alpha
    reg_alpha tree_method scale_pos_weight updater refresh_leaf process_type grow_policy max_leaves
    max_bin num_parallel_tree monotone_constraints interaction_constraints multi_strategy
    max_cached_hist_node extmem_single_page max_cat_to_onehot max_cat_threshold
    sample_type normalize_type rate_drop one_drop skip_drop feature_selector top_k
    tweedie_variance_power huber_slope quantile_alpha expectile_alpha aft_loss_distribution
    aft_loss_distribution_scale lambdarank_pair_method lambdarank_num_pair_per_sample
    lambdarank_normalization lambdarank_score_normalization lambdarank_unbiased
    lambdarank_bias_norm ndcg_exp_gain objective base_score eval_metric seed seed_per_iteration
    num_class
    num_round data test:data save_period task model_in model_out model_dir fmap dump_format
    name_dump name_pred pred_margin
    predictor sketch_eps single_precision_histogram gpu_id silent lambda_bias
"""
"""XGBoost's page "XGBoost Parameters" and the function xgb.params of its R package, with what older
versions documented and the command line's."""

NO_PARAMETERS = {"name", "specified_updater", "updater_seq", "rng_state"}
"""What else save_config() holds: states."""

GOOD = {"objective": go.qwk_objective([1, 2, 3, 4])}


def leaves(config: Any) -> Iterator[str]:
    """The names in a JSON document that hold a value."""
    if isinstance(config, dict):
        for name, value in config.items():
            if isinstance(value, dict | list):
                yield from leaves(value)
            else:
                yield name
    elif isinstance(config, list):
        for value in config:
            yield from leaves(value)


def names_of_xgboost() -> set[str]:
    data = xgb.DMatrix(np.eye(4), label=np.arange(4.0))
    names = {*DOCUMENTED.split(), *xgb.XGBModel().get_params(), *xgb.XGBRanker().get_params()}
    for params in (
        {}, {"booster": "dart"}, {"booster": "gblinear"}, {"tree_method": "exact"},
        {"tree_method": "approx"}, {"objective": "binary:logistic", "base_score": 0.5},
    ):  # fmt: skip
        label = data.get_label() > 1 if "objective" in params else data.get_label()
        booster = xgb.train(params, xgb.DMatrix(np.eye(4), label=label), 1)
        names |= set(leaves(json.loads(booster.save_config())))
    return names - NO_PARAMETERS


def names_of_lightgbm() -> set[str]:
    of_the_library = _ConfigAliases._get_all_param_aliases()
    estimator = set(lgb.LGBMModel().get_params())
    return {name for names in of_the_library.values() for name in names} | estimator


@both
@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_every_parameter_has_one_decision(lib: Library) -> None:
    names = names_of_xgboost() if lib is XGB else names_of_lightgbm()
    table = MODULES[lib.name].TABLE
    assert sorted(names - table.known) == []
    for one, other in (
        (table.passed, table.used), (table.passed, table.refused), (table.used, table.refused),
        ({n for m in table.passed for n in table.names(m)}, MODULES[lib.name].FOREIGN),
        ({n for m in MODULES[lib.name].REFUSED for n in table.names(m)}, MODULES[lib.name].FOREIGN),
    ):  # fmt: skip
        assert not set(one) & set(other)
    stopping = MODULES[lib.name].REFUSED_STOPPING
    assert set(stopping) | set(table.refused_with) <= table.passed
    for name, aliases in table.aliases.items():
        assert name in aliases


def test_lightgbm_aliases_are_those_of_the_library() -> None:
    documented = {
        "bagging_fraction": ("bagging", "sub_row", "subsample"),
        "boosting": ("boost", "boosting_type"),
        "early_stopping_round": ("early_stopping", "early_stopping_rounds", "n_iter_no_change"),
        "learning_rate": ("eta", "shrinkage_rate"),
        "metric": ("metric_types", "metrics"),
        "objective": ("app", "application", "loss", "objective_type"),
    }
    for name, aliases in documented.items():
        assert lightgbm_parameters.TABLE.names(name) == (name, *aliases)
    for name, aliases in _ConfigAliases._get_all_param_aliases().items():
        assert set(lightgbm_parameters.TABLE.names(name)) == set(aliases), name


@both
def test_every_argument_of_the_boosters_train_has_a_decision(lib: Library) -> None:
    module = xgb if lib is XGB else lgb
    ours = set(inspect.signature(lib.train).parameters) - {"kwargs"}
    words = "write |leave it out|set it on"  # the table's of all callables
    instead = dict.fromkeys(
        _arguments.THEIRS - set(SAME) | {"sample_weight", "n_estimators"}, words
    )
    instead |= {name: re.escape(what) for name, what in MODULES[lib.name].INSTEAD.items()}
    instead.pop("valid_sets", None)  # which train reads, with valid_names
    decided = ours | {"valid_sets"} | set(instead) | set(SAME) | PASSED_ARGUMENTS[lib.name]
    assert sorted(set(inspect.signature(module.train).parameters) - decided) == []
    assert not PASSED_ARGUMENTS[lib.name] & set(instead)
    data = lib.data(np.eye(4), [1, 2, 3, 4])
    for name, what in instead.items():
        with pytest.raises(TypeError, match=rf"^train\(\) got {name}=: ({what})"):
            lib.train({}, data, 3, **{**GOOD, name: GOOD["objective"]})


def test_keep_training_booster_is_refused(ordinal) -> None:
    X, y, _ = ordinal
    with pytest.raises(ValueError, match="keep_training_booster=True is refused: .* init_model="):
        LGB.train({}, lgb.Dataset(X, y), 3, keep_training_booster=True, **GOOD)
    LGB.train(LGB.params, lgb.Dataset(X, y), 3, keep_training_booster=False, **GOOD)


@both
def test_refused_parameters_say_what_to_do(lib: Library) -> None:
    """Under every name, by train() itself; neutral values and None are let through."""
    table = MODULES[lib.name].TABLE
    data = lib.data(np.eye(4), [1, 2, 3, 4])
    refused = {n: v for name, v in table.refused.items() for n in table.names(name)}
    from_file = {} if lib is XGB else lightgbm_parameters.FROM_FILE
    refused |= {n: v for name, v in from_file.items() for n in table.names(name)}
    for name, (neutral, reason) in refused.items():
        found = re.escape(f"params[{name!r}] = 'other' is refused: ") + ".*" + re.escape(reason)
        with pytest.raises(ValueError, match=found):
            lib.train({name: "other"}, data, 3, **GOOD)
        for value in (*neutral, None):
            check(lib, {name: value})


def check(lib: Library, params: dict[str, Any], stops_early: bool = False) -> None:
    module = MODULES[lib.name]
    checks = module.check_parameters if lib is LGB else module.check
    checks(params, **GOOD, stops_early=stops_early)


def with_others(*groups: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """The value of each parameter, and what else must be set for it to act."""
    return {name: (value, others) for others, values in groups for name, value in values.items()}


ON_DART = {"booster": "dart", "rate_drop": 0.5}
LINEAR = {"booster": "gblinear", "updater": "coord_descent", "learning_rate": 1.0}
XGB_VALUES = with_others(
    ({}, {
        "alpha": 5, "colsample_bylevel": 0.5, "colsample_bynode": 0.5, "colsample_bytree": 0.5,
        "gamma": 9, "interaction_constraints": "[[0], [1], [2, 3]]", "lambda": 20,
        "learning_rate": 0.1, "max_bin": 8, "max_delta_step": 0.1, "max_depth": 1, "max_leaves": 3,
        "min_child_weight": 50, "monotone_constraints": "(-1, 0, 0, 0)", "subsample": 0.5,
        "tree_method": "exact", "updater": "grow_colmaker,prune"
    }),
    ({"rate_drop": 0.5}, {"booster": "dart"}),
    ({"tree_method": "exact"}, {"default_direction": "right"}),
    ({"max_leaves": 3}, {"grow_policy": "lossguide"}),
    (ON_DART, {"normalize_type": "forest", "sample_type": "weighted", "skip_drop": 0.9}),
    ({"subsample": 0.5}, {"num_parallel_tree": 3, "seed": 7, "seed_per_iteration": True}),
    ({"booster": "dart"}, {"one_drop": 1, "rate_drop": 0.5}),
    (LINEAR, {"feature_selector": "random", "tolerance": 1e9}),
    ({**LINEAR, "feature_selector": "greedy"}, {"top_k": 1}),
)  # fmt: skip
XGB_QUIET = with_others(
    ({}, {
        "debug_synchronize": True, "device": "cpu", "extmem_single_page": True,
        "fail_on_invalid_gpu_id": True, "max_cached_hist_node": 1, "max_cat_threshold": 9,
        "max_cat_to_onehot": 9, "multi_strategy": "multi_output_tree", "nthread": 2,
        "process_type": "default", "refresh_leaf": 0, "sparse_threshold": 0.5,
        "use_cuda_async_pool": False, "use_rmm": False, "validate_parameters": True, "verbosity": 1
    }),
    ({"tree_method": "exact"}, {"max_row_perbatch": 9, "opt_dense_col": 0.5}),
    ({"subsample": 0.5}, {"sampling_method": "uniform"}),
)  # fmt: skip
MONOTONE = {"monotone_constraints": [-1, 0, 0, 0]}
LGB_VALUES = with_others(
    ({}, {
        "bin_construct_sample_cnt": 50, "boosting": "dart", "categorical_feature": [3],
        "cegb_penalty_feature_coupled": [99, 0, 0, 0], "cegb_penalty_feature_lazy": [9, 0, 0, 0],
        "cegb_penalty_split": 0.01, "data_sample_strategy": "goss", "extra_trees": True,
        "feature_contri": [0.1, 1, 1, 1], "feature_fraction": 0.5, "feature_fraction_bynode": 0.5,
        "interaction_constraints": [[0], [1], [2, 3]], "lambda_l1": 9, "lambda_l2": 9,
        "learning_rate": 0.3, "linear_tree": True, "max_bin": 7,
        "max_bin_by_feature": [5, 5, 5, 5], "max_delta_step": 0.1, "max_depth": 2,
        "min_data_in_bin": 50, "min_data_in_leaf": 90, "min_gain_to_split": 20,
        "min_sum_hessian_in_leaf": 90, "monotone_constraints": [-1, 0, 0, 0], "num_leaves": 3,
        "path_smooth": 5, "use_quantized_grad": True, "zero_as_missing": True
    }),
    ({"bagging_freq": 1}, {"bagging_fraction": 0.5}),
    ({"bagging_fraction": 0.5}, {"bagging_freq": 1}),
    ({"bagging_freq": 1, "bagging_fraction": 0.5}, {"bagging_seed": 9}),
    ({"categorical_feature": [3], "min_data_per_group": 5}, {
        "cat_l2": 0.1, "cat_smooth": 200, "max_cat_to_onehot": 20
    }),
    ({"cegb_penalty_split": 0.01}, {"cegb_tradeoff": 0.1}),
    ({"bin_construct_sample_cnt": 50}, {"data_random_seed": 9}),
    ({"boosting": "dart", "skip_drop": 0}, {"drop_rate": 0.9}),
    ({"extra_trees": True}, {"extra_seed": 9}),
    ({"feature_fraction": 0.5}, {"feature_fraction_seed": 9, "seed": 7}),
    ({"linear_tree": True}, {"linear_lambda": 9}),
    ({"boosting": "dart", "drop_rate": 0.9, "skip_drop": 0}, {
        "max_drop": 1, "xgboost_dart_mode": True
    }),
    ({"categorical_feature": [3]}, {"min_data_per_group": 5}),
    ({"use_quantized_grad": True}, {
        "num_grad_quant_bins": 16, "quant_train_renew_leaf": True, "stochastic_rounding": False
    }),
    ({"data_sample_strategy": "goss"}, {"other_rate": 0.5, "top_rate": 0.5}),
    ({"boosting": "dart", "drop_rate": 0.9}, {"skip_drop": 0}),
)  # fmt: skip
LGB_QUIET = with_others(
    ({}, {
        "bagging_by_query": False, "deterministic": False, "device_type": "cpu",
        "enable_bundle": False, "feature_pre_filter": False, "first_metric_only": True,
        "force_col_wise": True, "force_row_wise": True, "forcedbins_filename": "",
        "forcedsplits_filename": "", "gpu_device_id": 0, "gpu_device_id_list": "0",
        "gpu_platform_id": 0, "gpu_use_dp": True, "histogram_pool_size": 1,
        "is_enable_sparse": False, "num_gpu": 1, "num_threads": 2, "objective_seed": 9,
        "use_missing": False, "verbosity": -1
    }),
    ({"boosting": "dart"}, {"drop_seed": 9, "uniform_drop": True}),
    ({"categorical_feature": [3]}, {"max_cat_threshold": 2}),
    (MONOTONE, {"monotone_constraints_method": "intermediate", "monotone_penalty": 0.5}),
)  # fmt: skip


@pytest.fixture(scope="module")
def far(ordinal) -> tuple[np.ndarray, np.ndarray]:
    """Labels far from where the boosters would start, which depend on a category, too."""
    X, y, _ = ordinal
    X = X.copy()
    X[:, 3] = np.random.default_rng(5).integers(0, 12, len(X))
    return X, y + 100 + np.isin(X[:, 3], [1, 4, 6, 11])


def trees(lib: Library, booster: Any) -> str:
    if lib is LGB:
        return booster.model_to_string().split("\nparameters:")[0]
    return json.dumps(json.loads(booster.save_raw("json"))["learner"]["gradient_booster"])


def trained(lib: Library, params: dict[str, Any], far, rounds: int = 12) -> Any:
    X, y = far
    return lib.train({**lib.params, **params}, lib.data(X, y), rounds, objective=go.qwk_objective())


@both
@pytest.mark.filterwarnings("ignore")  # what older versions do not know, or newer deprecate
def test_passed_parameters_act_and_keep_start_and_units(lib: Library, far) -> None:
    X, y = far
    loud, quiet = (XGB_VALUES, XGB_QUIET) if lib is XGB else (LGB_VALUES, LGB_QUIET)
    of_newer = {*loud, *quiet} - lightgbm_parameters.NAMES.keys() if lib is LGB else set()
    passed = {*loud, *quiet} - of_newer
    assert passed == MODULES[lib.name].PASSED
    assert not set(loud) & set(quiet)
    slow, plain = {"learning_rate": 1e-9}, {}
    for name, (value, others) in {**loud, **quiet}.items():
        if name in of_newer:
            continue
        params = {**others, name: value}
        booster = trained(lib, params, far)
        if name in loud:
            without = {} if name in ("bagging_freq", "booster") else others  # alone it is refused
            if str(without) not in plain:
                plain[str(without)] = trees(lib, trained(lib, without, far))
            assert trees(lib, booster) != plain[str(without)], name
        variance = y.var()
        assert ((lib.predict(booster, X) - y) ** 2).mean() < 0.95 * variance, name
        start = lib.predict(trained(lib, {**params, **slow}, far, 1), X)
        np.testing.assert_allclose(start, y.mean(), rtol=1e-6, err_msg=name)


def test_lightgbm_forced_splits_and_bins_act(far, tmp_path) -> None:
    (tmp_path / "splits.json").write_text('{"feature": 2, "threshold": 0.5}')
    (tmp_path / "bins.json").write_text('[{"feature": 0, "bin_upper_bound": [0.3, 0.6]}]')
    for name, file in (("forcedsplits_filename", "splits"), ("forcedbins_filename", "bins")):
        booster = trained(LGB, {name: str(tmp_path / f"{file}.json")}, far)
        assert trees(LGB, booster) != trees(LGB, trained(LGB, {}, far))
        assert ((booster.predict(far[0]) - far[1]) ** 2).mean() < 0.95 * far[1].var()


def test_xgboost_trees_can_be_updated(far) -> None:
    """process_type="update" refreshes the trees of xgb_model=, which keeps its intercept."""
    X, y = far
    first = trained(XGB, {}, far)
    update = {**XGB.params, "process_type": "update", "updater": "refresh"}
    same = XGB.train(update, XGB.data(X, y), 12, objective=go.qwk_objective(), xgb_model=first)
    np.testing.assert_allclose(XGB.predict(same, X), XGB.predict(first, X), atol=1e-4)
    half = XGB.data(X[::2], y[::2])
    other = XGB.train(update, half, 12, objective=go.qwk_objective(), xgb_model=first)
    assert np.abs(XGB.predict(other, X) - XGB.predict(first, X)).max() > 0.01
    assert XGB.rounds(other) == 12


OF_BOTH = [
    ({"learing_rate": 0.1}, r"did you mean 'learning_rate'\?$"),
    ({"learningRate": 0.1}, r"did you mean 'learning_rate'\?$"),
    ({"max.depth": 3}, r"did you mean 'max_depth'\?$"),
    ({"early_stoping_rounds": 3}, r"did you mean 'early_stopping_rounds'\?$"),
    ({"class_weights": "balanced"}, r"did you mean 'class_weight'\?$"),
    ({"learning_rate": 0.1, "eta": 0.3}, "'learning_rate'.* = 0.1 and .*'eta'.* = 0.3 are one"),
    ({"reg_lambda": 1, "lambda": 2}, "'lambda'.* = 2 and .*'reg_lambda'.* = 1 are one"),
]
OF_XGBOOST = [
    ({"tree_method": "exact", "max_bin": 64}, "write tree_method='hist'"),
    ({"max_leaves": 9, "tree_method": "exact"}, "write tree_method='hist'"),
    ({"default_direction": "left"}, "only tree_method='exact' reads it"),
    ({"updater": "sync"}, "alone it grows no trees"),
]
OF_LIGHTGBM = [
    ({"subsample": 0.8}, "write bagging_freq=1 too"),
    ({"subsample": 0.8, "subsample_freq": 0}, "write bagging_freq=1 too"),
    ({"rate_drop": 0.3}, "write boosting='dart' too"),
    ({"xgboost_dart_mode": True, "boosting_type": "goss"}, "write boosting='dart' too"),
    ({"top_rate": 0.3}, "write data_sample_strategy='goss' too"),
    ({"linear_trees": True, "use_quantized_grad": True}, "leave one of them out"),
    ({"max_drop": 3, "boosting": "gbrt"}, "write boosting='dart' too"),
]


DEFAULTS_ELSEWHERE = {
    "metric_freq": "1", "is_provide_training_metric": "0", "config": "", "task": "train",
    "input_model": "", "output_model": "LightGBM_model.txt", "snapshot_freq": "-1",
    "save_binary": "0", "output_result": "LightGBM_predict_result.txt",
    "convert_model": "gbdt_prediction.cpp", "convert_model_language": "",
    "start_iteration_predict": "0", "num_iteration_predict": "-1", "predict_raw_score": "0",
    "predict_leaf_index": "0", "predict_contrib": "0", "predict_disable_shape_check": "0",
    "pred_early_stop": "0", "pred_early_stop_freq": "10", "pred_early_stop_margin": "10",
}  # fmt: skip
"""Of LightGBM's page "Parameters": what a model's text does not hold."""

NO_DEFAULT = {"objective", "num_iterations", "boost_from_average", "metric"}
"""Refused by whatever value, or set by train() itself."""


def test_what_may_be_written_out_are_lightgbms_own_defaults() -> None:
    X = np.arange(60.0)[:, np.newaxis]
    text = lgb.train({"verbose": -1}, lgb.Dataset(X, X[:, 0]), 1).model_to_string()
    defaults = {**DEFAULTS_ELSEWHERE, **dict(re.findall(r"(?m)^\[(\w+): (.*)\]$", text))}
    for table in (lightgbm_parameters.REFUSED, lightgbm_parameters.FROM_FILE):
        for name, (neutral, _) in table.items():
            if neutral and name not in NO_DEFAULT:
                written = [str(int(v)) if isinstance(v, bool) else str(v) for v in neutral]
                assert defaults.get(name, written[0]) in written, name
    for name in ("none", "null", "custom", "na", ""):
        check(LGB, {"metric": name})


def test_what_may_be_written_out_are_xgboosts_own_defaults() -> None:
    """Of its page "XGBoost Parameters"."""
    for params in (
        {"scale_pos_weight": 1}, {"tweedie_variance_power": 1.5}, {"huber_slope": 1},
        {"aft_loss_distribution": "normal"}, {"aft_loss_distribution_scale": 1},
        {"lambdarank_pair_method": "topk"}, {"lambdarank_normalization": True},
        {"lambdarank_score_normalization": True}, {"lambdarank_unbiased": False},
        {"lambdarank_bias_norm": 2}, {"ndcg_exp_gain": True}, {"rate_drop": 0}, {"one_drop": 0},
        {"skip_drop": 0}, {"sample_type": "uniform"}, {"normalize_type": "tree"},
        {"max_bin": 256, "tree_method": "exact"}, {"feature_selector": "cyclic"}, {"top_k": 0},
    ):  # fmt: skip
        check(XGB, params)
    for params in ({"lambdarank_bias_norm": 3}, {"ndcg_exp_gain": False}):
        with pytest.raises(ValueError, match="leave it out"):
            check(XGB, params)


def test_dropout_is_refused_where_xgboost_ignores_it() -> None:
    if tuple(map(int, xgb.__version__.split(".")[:2])) >= (3, 3):  # gbtree drops trees, too
        check(XGB, {"skip_drop": 1})
    else:
        with pytest.raises(ValueError, match="XGBoost drops no trees here.* leave it out"):
            check(XGB, {"skip_drop": 1})


@both
def test_first_spellings_that_are_refused(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = lib.data(X, y)
    for params, message in OF_BOTH + (OF_XGBOOST if lib is XGB else OF_LIGHTGBM):
        print(params)  # shown if it is not refused
        with pytest.raises(ValueError, match=message):
            lib.train(params, data, 3, **GOOD)


@both
def test_spellings_that_are_right(lib: Library) -> None:
    for params in (
        {"learning_rate": 0.1, "eta": "0.10"}, {"reg_alpha": 1, "n_jobs": 2, "random_state": 3},
        {"class_weight": None, "learing_rate": None, "scale_pos_weight": None},
    ):  # fmt: skip
        check(lib, params)
    with pytest.warns(UserWarning, match="something_of_a_newer_version.* is ignored"):
        check(lib, {"something_of_a_newer_version": 1})
    same_word = {"learning_rates": 1}
    MODULES[lib.name].TABLE.check(same_word, {}, knows=lambda name: True)
    with pytest.raises(ValueError, match="did you mean 'learning_rate'"):
        check(lib, same_word)


def test_what_the_installed_library_knows_is_no_typo() -> None:
    assert xgboost_parameters.in_xgboost("max_depth")
    assert "shrinkage_rate" in lightgbm_parameters.KNOWN
    for unknown in ("max_dept", "dept"):
        assert not xgboost_parameters.in_xgboost(unknown)
        assert unknown not in lightgbm_parameters.KNOWN


@both
def test_what_cannot_be_cut_back_to_the_best_round(lib: Library) -> None:
    dart = {"booster": "dart"} if lib is XGB else {"boost": "dart"}
    check(lib, dart)
    why = "change what earlier rounds" if lib is XGB else "dart rescales"
    with pytest.raises(ValueError, match=why):
        check(lib, dart, stops_early=True)
    if lib is XGB:
        check(lib, {"rate_drop": 0, "one_drop": "0"}, stops_early=True)
        for name, value in (("rate_drop", 0.1), ("one_drop", 1), ("skip_drop", 0.5)):
            check(lib, {**dart, name: value})
            for more in ({}, {"booster": "gbtree"}):
                with pytest.raises(ValueError, match="dropout rescales earlier trees"):
                    check(lib, {name: value, **more}, stops_early=True)
        check(lib, {"process_type": "update", "updater": "prune"})
        with pytest.raises(ValueError, match="updated trees; leave early_stopping_rounds out"):
            check(lib, {"process_type": "update"}, stops_early=True)


@pytest.mark.filterwarnings("ignore:(?s).*are not used")
def test_xgboost_dropout_without_dart_is_refused_where_it_would_be_ignored(far) -> None:
    params = {"rate_drop": 0.5}
    before = xgb.train({"seed": 0}, XGB.data(*far), 12)
    ignored = trees(XGB, xgb.train({"seed": 0, **params}, XGB.data(*far), 12)) == trees(XGB, before)
    assert ignored != xgboost_parameters.in_xgboost("rate_drop")
    if ignored:
        with pytest.raises(ValueError, match="write booster='dart' too"):
            check(XGB, params)
        return
    X, y = far  # from XGBoost 3.3 on it rescales earlier trees, as dart does
    score = XGB.predict(trained(XGB, {"one_drop": 1}, far, 40), X)
    assert ((score - y) ** 2).mean() < 0.5 * y.var()


@pytest.mark.parametrize("bad", [{"learning_rate": -1}, {"max_bin": 1}])
def test_lightgbm_refuses_bad_values_without_a_crash(bad, ordinal) -> None:
    """Its Dataset is left without a handle, which must not be touched."""
    X, y, _ = ordinal
    with pytest.raises(lgb.basic.LightGBMError, match=next(iter(bad))):
        LGB.train({**LGB.params, **bad}, lgb.Dataset(X, y), 3, **GOOD)


@pytest.mark.filterwarnings(
    "ignore:label keyword"
)  # LightGBM says that it ignores it, and does not
def test_lightgbm_data_in_files(ordinal, tmp_path) -> None:
    """Parameters and references from train() are heeded when the file is read."""
    X, y, w = ordinal
    file = tmp_path / "rows.csv"
    columns = np.column_stack([X, y, w, -y])
    np.savetxt(file, columns, fmt="%.17g", delimiter=",", header="a,b,c,d,y,w,leak", comments="")
    params = {
        "header": True, "label": "name:y", "weight_column": "name:w", "ignore_column": "name:leak",
        "max_bin": 15,
    }  # fmt: skip
    metric = go.metrics.squared_error_metric()
    rows, records = lgb.Dataset(str(file)), [{}, {}]
    call: dict[str, Any] = {"objective": go.qwk_objective(), "metric": metric}
    booster = LGB.train(
        {**LGB.params, **params}, rows, 8, evals=[(lgb.Dataset(file), "v"), (rows, "train")],
        **LGB.recording(records[0]), **call,
    )  # fmt: skip
    data = lgb.Dataset(X, y, weight=w)
    plain = LGB.train({**LGB.params, "max_bin": 15}, data, 8, evals=[(data, "v")],
                      **LGB.recording(records[1]), **call)  # fmt: skip
    features = np.delete(columns, 4, axis=1)  # all but the label
    np.testing.assert_allclose(booster.predict(features), plain.predict(X), atol=1e-9)
    for values in records[0].values():
        np.testing.assert_allclose(values["squared_error"], records[1]["v"]["squared_error"])


@each("off", [False, 0, "0", "0.0", "-", "false", " False "])
@each("on", [True, 1, "1", "+", "true", "1.0"])
def test_spellings_of_off_and_on(off, on) -> None:
    for value, same, other in ((off, (0,), (1, "on")), (on, (True,), (0, "off"))):
        assert _arguments.same(value, same)
        assert not _arguments.same(value, other)
    assert _arguments.same(off, (False, "auto"))
