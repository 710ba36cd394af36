"""train(): the same promises, kept by both adapters on real training."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit
from sklearn.utils.fixes import parse_version

import gbdt_objectives as go
from gbdt_objectives._checks import guards
from gbdt_objectives.adapters import _train, xgboost as xgboost_adapter
from tests.adapters.library import LGB, XGB, Library, both
from tests.adapters.test_natural_units import multinomial

start_warning = pytest.mark.filterwarnings("ignore:boosting starts at")
ROUNDED = 2e-6
"""Between an objective bound to its data and called without: each rounds its gradients to float32
in its own way, and predictions up to 4 are sums of 15 trees."""


@both
@pytest.mark.filterwarnings("error")
def test_starts_at_the_centre_and_predicts_label_units(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    y = y + 10  # far from where the boosters would start
    obj = go.qwk_objective(y)
    one = lib.train({**lib.params, "learning_rate": 1e-9}, lib.data(X, y), 1, objective=obj)
    np.testing.assert_allclose(lib.predict(one, X), y.mean(), rtol=1e-6)
    booster = lib.train(lib.params, lib.data(X, y), 40, objective=obj)
    classes = np.rint(lib.predict(booster, X)).clip(11, 14)
    assert go.quadratic_weighted_kappa(y, classes) > 0.75


@both
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_training_from_a_start_per_row(lib: Library, weighted: bool, ordinal) -> None:
    """The intercept in the model is worth base_margin or init_score on every row."""
    X, y, w = ordinal
    weight = w if weighted else None
    obj = go.qwk_objective(y, sample_weight=weight)
    ours = lib.train(lib.params, lib.data(X, y, weight), 20, objective=obj)
    start = np.full(len(y), obj.intercept)
    if lib is XGB:
        data = lib.data(X, y, weight, start)
        plain = xgb.train({**lib.params, "base_score": 0}, data, 20, obj=obj).predict(data)
        tolerance = 4e-6  # margins are float32
    else:
        plain = lgb.train({**lib.params, "objective": obj}, lib.data(X, y, weight, start), 20)
        plain = plain.predict(X) + obj.intercept
        tolerance = 1e-13
    np.testing.assert_allclose(lib.predict(ours, X), plain, atol=tolerance)


@both
def test_stops_on_the_metric_in_its_direction_on_the_last_set(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    train, other, last = slice(0, 300), slice(300, 450), slice(450, 600)
    rng = np.random.default_rng(0)
    for metric in (go.extended_qwk_metric(), go.metrics.squared_error_metric()):
        data = lib.data(X[train], y[train])
        noise = lib.data(X[other], rng.permutation(y[other]), reference=data)  # best at once
        held_out = lib.data(X[last], y[last], reference=data)
        rounds = 400
        booster = lib.train(
            {**lib.params, "learning_rate": 0.1}, data, rounds, objective=go.qwk_objective(y),
            metric=metric, evals=[(data, "train"), (noise, "noise"), (held_out, "held_out")],
            early_stopping_rounds=25,
        )  # fmt: skip
        kept = lib.rounds(booster)
        assert 5 < kept < rounds - 25
        best = metric(y[last], lib.predict(booster, X[last]))
        # the value at every round of an uncut model, from which the best is picked by hand
        full = lib.train(
            {**lib.params, "learning_rate": 0.1}, lib.data(X[train], y[train]), kept + 30,
            objective=go.qwk_objective(y),
        )  # fmt: skip
        values = []
        for k in range(1, lib.rounds(full) + 1):
            if lib is XGB:
                score = full.predict(xgb.DMatrix(X[last]), iteration_range=(0, k))
            else:
                score = full.predict(X[last], num_iteration=k)
            values.append(metric(y[last], score))
        pick = np.argmax if metric.greater_is_better else np.argmin
        assert pick(values) + 1 == kept
        assert best == pytest.approx(values[kept - 1], abs=1e-6)


@both
def test_best_iteration_only_even_if_it_never_stops(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = lib.data(X[:300], y[:300])
    held_out = lib.data(X[300:], y[300:], reference=data)
    booster = lib.train(
        lib.params, data, 60, objective=go.qwk_objective(y), metric=go.extended_qwk_metric(),
        evals=[(held_out, "v")], early_stopping_rounds=1000,
    )  # fmt: skip
    assert lib.rounds(booster) < 60
    zero_based = 1 if lib is XGB else 0
    assert booster.best_iteration + zero_based == lib.rounds(booster)
    again = pickle.loads(pickle.dumps(booster))
    np.testing.assert_array_equal(lib.predict(again, X), lib.predict(booster, X))


@both
def test_nothing_else_is_measured(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = lib.data(X, y)
    record: dict[str, Any] = {}
    extra = {"evals_result": record} if lib is XGB else {
        "callbacks": [lgb.record_evaluation(record)]
    }  # fmt: skip
    lib.train(
        lib.params, data, 3, objective=go.qwk_objective(y), metric=go.qwk_metric((1, 4)),
        evals=[(data, "train")], **extra,
    )  # fmt: skip
    assert {name: list(values) for name, values in record.items()} == {"train": ["qwk"]}


@both
def test_training_leaves_data_params_and_lists_as_they_were(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data, params = lib.data(X, y), dict(lib.params)
    evals, callbacks = [(data, "train")], []
    arguments = {
        "objective": go.qwk_objective(y), "metric": go.metrics.squared_error_metric(), "evals":
        evals,
        "callbacks": callbacks,
    }  # fmt: skip
    first = lib.train(params, data, 10, **arguments)
    assert params == lib.params
    assert (evals, callbacks) == ([(data, "train")], [])
    if lib is LGB:
        assert data.get_init_score() is None
    second = lib.train(params, data, 10, **arguments)  # the very same data again
    np.testing.assert_array_equal(lib.predict(first, X), lib.predict(second, X))
    y_far = go.qwk_objective(y + 0.0, label_range=(-50, 50))
    failing = go.objective(raises)
    with pytest.raises(RuntimeError, match="on purpose"):
        lib.train(params, data, 3, objective=failing)
    third = lib.train(params, data, 10, objective=y_far)  # a failed run left nothing behind
    assert np.isfinite(lib.predict(third, X)).all()
    if lib is LGB:
        assert data.get_init_score() is None


def raises(y_true, margin, sample_weight):
    raise RuntimeError("on purpose")


@both
def test_logloss_predicts_probabilities(lib: Library, rare) -> None:
    X, y, w = rare
    for obj in (go.weighted_logloss_objective(0.5), go.offset_logloss_objective(0.5)):
        booster = lib.train(lib.params, lib.data(X, y, w), 25, objective=obj)
        p, z = lib.predict(booster, X), lib.predict(booster, X, raw=True)
        np.testing.assert_allclose(p, expit(z), rtol=1e-5 if lib is XGB else 1e-12)
        assert p.min() < 0.05
        assert p.max() > 0.5
        # both aim at the full population, where each negative stands for two
        c = w * np.where(y == 1, 1, 2)
        assert p.mean() < y.mean()
        assert np.average(p, weights=c) == pytest.approx(np.average(y, weights=c), rel=0.08)


@both
def test_offset_of_one_is_the_built_in_objective(lib: Library, rare) -> None:
    X, y, w = rare
    # LightGBM rounds a leaf's rows from its share of the hessians, n sum h / sum of all: a half
    # falls on either side with the last bit of the start, which decides where it may split
    params = lib.params if lib is XGB else {**lib.params, "min_data_in_leaf": 1}
    ours = lib.train(params, lib.data(X, y, w), 15, objective=go.offset_logloss_objective(1.0))
    prior = np.average(y, weights=w)
    if lib is XGB:
        params = {**params, "objective": "binary:logistic", "base_score": prior}
        plain = xgb.train(params, lib.data(X, y, w), 15)
        tolerance = 2e-5  # float32 gradients of another order of rounding
    else:
        plain = lgb.train({**params, "objective": "binary"}, lib.data(X, y, w), 15)
        tolerance = 1e-6
    np.testing.assert_allclose(lib.predict(ours, X), lib.predict(plain, X), atol=tolerance)


@pytest.mark.slow
@both
@pytest.mark.parametrize("kind", ["qwk", "logloss", "shifted"])
def test_a_saved_model_needs_only_the_booster(lib: Library, kind, ordinal, rare, tmp_path) -> None:
    X, y, _ = rare if kind == "logloss" else ordinal
    obj = go.weighted_logloss_objective(0.3) if kind == "logloss" else go.qwk_objective(y)
    booster = lib.train(lib.params, lib.data(X, y), 12, objective=obj)
    if kind == "shifted":
        booster = lib.shift_intercept(booster, delta=-2.5)
    model = tmp_path / ("model.ubj" if lib is XGB else "model.txt")
    booster.save_model(model)
    here = lib.predict(booster, X)
    np.testing.assert_array_equal(lib.fresh_prediction(model, X), here)
    centre = {"qwk": y.mean(), "shifted": y.mean() - 2.5, "logloss": y.mean() * 0.3}[kind]
    assert here.mean() == pytest.approx(centre, abs=0.15)  # natural units


@both
@start_warning
def test_a_start_per_row_is_respected(lib: Library, ordinal) -> None:
    """base_margin, init_score: training starts there; the model holds the trees alone."""
    X, y, _ = ordinal
    start = y.mean() + X[:, 3]
    obj = go.qwk_objective(y)
    booster = lib.train(lib.params, lib.data(X, y, start=start), 15, objective=obj)
    if lib is XGB:
        data = lib.data(X, y, start=start)
        plain = xgb.train({**lib.params, "base_score": 0}, data, 15, obj=obj)
        np.testing.assert_allclose(booster.predict(data), plain.predict(data), atol=ROUNDED)
    else:
        plain = lgb.train({**lib.params, "objective": obj}, lib.data(X, y, start=start), 15)
    np.testing.assert_allclose(lib.predict(booster, X), lib.predict(plain, X), atol=ROUNDED)
    data = lib.data(X, y, start=start)
    without = lib.data(X, y, reference=data)
    its_name = "base_margin" if lib is XGB else "init_score"
    with pytest.raises(ValueError, match=f"{its_name} is set on data but not on evals 'v'"):
        lib.train({}, data, 3, objective=obj, metric=go.qwk_metric(), evals=[(without, "v")])
    with pytest.raises(ValueError, match="is set on evals 'v' but not on data"):
        lib.train({}, without, 3, objective=obj, metric=go.qwk_metric(), evals=[(data, "v")])


@start_warning
def test_base_score_replaces_the_intercept_in_xgboost(ordinal, rare) -> None:
    X, y, _ = ordinal
    obj = go.qwk_objective(y)
    params = {**XGB.params, "base_score": 1.0}
    ours = XGB.train(params, XGB.data(X, y), 5, objective=obj)
    plain = xgb.train(params, XGB.data(X, y), 5, obj=obj)
    np.testing.assert_allclose(XGB.predict(ours, X), XGB.predict(plain, X), atol=ROUNDED)
    with pytest.raises(ValueError, match="base_score and base_margin are both given"):
        XGB.train(params, XGB.data(X, y, start=np.ones(len(y))), 5, objective=obj)
    with pytest.raises(ValueError, match="base_score and xgb_model are both given"):
        XGB.train(params, XGB.data(X, y), 5, objective=obj, xgb_model=ours)
    Z, t, _ = rare
    logit = XGB.train({"base_score": 0.25, "learning_rate": 1e-9}, XGB.data(Z, t), 1,
                      objective=go.weighted_logloss_objective(1))  # fmt: skip
    np.testing.assert_allclose(XGB.predict(logit, Z), 0.25, atol=1e-6)  # a probability
    for bad in (0, 1, 1.5, -1):
        with pytest.raises(ValueError, match="base_score must be a probability above 0 and below"):
            XGB.train({"base_score": bad}, XGB.data(Z, t), 1,
                      objective=go.weighted_logloss_objective(1))  # fmt: skip


@both
def test_training_can_go_on_from_a_model(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    obj = go.qwk_objective(y)
    name = "xgb_model" if lib is XGB else "init_model"
    first = lib.train(lib.params, lib.data(X, y), 6, objective=obj)
    resumed = lib.train(lib.params, lib.data(X, y), 6, objective=obj, **{name: first})
    whole = lib.train(lib.params, lib.data(X, y), 12, objective=obj)
    assert lib.rounds(resumed) == 12
    # LightGBM resumes from float64 predictions, of which sums differ in the last digits
    np.testing.assert_allclose(lib.predict(resumed, X), lib.predict(whole, X), atol=1e-5)


@both
def test_dart_is_right_without_early_stopping(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    y = y + 20
    dart = {"booster": "dart", "rate_drop": 0.3} if lib is XGB else {
        "boosting": "dart", "drop_rate": 0.3
    }  # fmt: skip
    obj = go.qwk_objective(y)
    booster = lib.train({**lib.params, **dart}, lib.data(X, y), 40, objective=obj)
    score = lib.predict(booster, X)
    assert go.qwk_metric((21, 24))(y, score) > 0.7
    assert obj.loss(y, score) < 0.5 * obj.loss(y, np.full(len(y), y.mean()))


def test_lightgbm_linear_trees_hold_the_intercept(rare) -> None:
    X, y, _ = rare
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    obj = go.offset_logloss_objective(0.1).measured(y)
    params = {**LGB.params, "linear_tree": True}
    booster = LGB.train(params, lgb.Dataset(X, y), 15, objective=obj)
    start = lgb.Dataset(X, y, init_score=np.full(len(y), obj.intercept))
    plain = lgb.train({**params, "objective": obj}, start, 15)
    raw = booster.predict(X, raw_score=True)
    np.testing.assert_allclose(raw, plain.predict(X) + obj.intercept, atol=1e-12)
    assert len(np.unique(raw)) > 600  # not the few values of constant leaves


@both
def test_a_model_that_cannot_split_predicts_the_intercept(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    never = {"gamma": 1e9} if lib is XGB else {"min_gain_to_split": 1e9}
    booster = lib.train({**lib.params, **never}, lib.data(X, y), 5, objective=go.qwk_objective(y))
    np.testing.assert_allclose(lib.predict(booster, X), y.mean(), rtol=1e-6)


@both
def test_a_users_function(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    obj = go.objective(squared_error, intercept=float(y.mean()))
    score = lib.predict(lib.train(lib.params, lib.data(X, y), 30, objective=obj), X)
    assert ((score - y) ** 2).mean() < 0.5 * y.var()
    for given, start in {None: y.mean(), 0.0: 0.0}.items():
        still = lib.train({**lib.params, "learning_rate": 1e-9}, lib.data(X, y), 1,
                          objective=go.objective(squared_error, intercept=given))  # fmt: skip
        np.testing.assert_allclose(lib.predict(still, X), start, rtol=1e-6, atol=1e-6)


def squared_error(y_true, margin, sample_weight):
    return margin - y_true, np.ones_like(margin)


GOOD = {"objective": go.qwk_objective([1, 2, 3, 4])}
METRIC = go.qwk_metric((1, 4))


def bad_calls(lib: Library, data: Any) -> list[tuple[str, Callable[[], Any], str]]:
    """(name, call, message) for every misuse that both adapters refuse."""

    def call(params=None, data=data, rounds=3, **kwargs):
        given = {} if params is None else params
        return lambda: lib.train(given, data, rounds, **{**GOOD, **kwargs})

    evals = {"metric": METRIC, "evals": [(data, "v")]}
    dart = {"booster": "dart"} if lib is XGB else {"boosting": "dart"}
    held_out = {"metric": METRIC, "evals": [(lib.data(np.eye(4), [1, 2, 3, 4]), "v")]}
    return [
        ("obj", call(obj=GOOD["objective"]), r"train\(\) got obj=: write objective="),
        ("loss", call(loss=GOOD["objective"]), "got loss=: write objective="),
        ("fobj", call(fobj=GOOD["objective"]), "got fobj=: write objective="),
        ("feval", call(feval=len), "got feval=: write metric="),
        ("custom_metric", call(custom_metric=len), "got custom_metric=: write metric="),
        ("valid_sets", call(valid_sets=[data]), r"got valid_sets=: write evals=\["),
        ("maximize", call(maximize=True), "got maximize=: leave it out"),
        ("built-in objective", call(objective="binary"), "objective must be an objective"),
        ("plain function", call(objective=squared_error), r"objective\(function\)"),
        ("metric function", call(metric=len, evals=[(data, "v")]), "metric must be a Metric"),
        ("metric name", call(metric="qwk", evals=[(data, "v")]), "metric must be a Metric"),
        ("probability metric", call(metric=go.weighted_logloss_metric(1, input_space="probability"),
                                    evals=[(data, "v")]), "takes probabilities"),
        ("metric alone", call(metric=METRIC), "evals is empty"),
        ("evals alone", call(evals=[(data, "v")]), "metric is None"),
        ("stopping alone", call(early_stopping_rounds=3), "needs metric= and evals="),
        ("stopping on training data", call(early_stopping_rounds=3, **evals), "the training data"),
        ("zero stopping", call(early_stopping_rounds=0, **held_out), "must be a whole number >= 1"),
        ("stopping type", call(early_stopping_rounds=True, **held_out), "must be a whole number"),
        ("no rounds", call(rounds=0), "num_boost_round must be a whole number >= 1, found 0"),
        ("rounds type", call(rounds=2.5), "num_boost_round must be a whole number"),
        ("evals not pairs", call(metric=METRIC, evals=[data]), "list of pairs"),
        ("evals one name", call(metric=METRIC, evals=[(data, "v"), (data, "v")]), "must differ"),
        ("evals blank name", call(metric=METRIC, evals=[(data, "held out" if lib is XGB else "")]),
         "found 'held out'" if lib is XGB else "is empty"),
        ("evals no data", call(metric=METRIC, evals=[(np.eye(2), "v")]), "evals 'v' must be a"),
        ("array data", call(data=np.eye(2)),
         "data must be a .*(DMatrix|Dataset), found ndarray: wrap it, .*label=y"),
        ("no labels", call(data=lib.data(np.eye(4))), "data has no labels"),
        ("params list", call(params=[("eta", 1)]), "params must be a dict"),
        ("objective twice", call({"objective": "regression"}), "objective= already says"),
        ("classes", call({"num_class": 3}), "one margin per row"),
        ("second metric", call({"metric": "l2"} if lib is LGB else {"eval_metric": "rmse"}),
         "nothing but metric="),
        ("pos weight", call({"scale_pos_weight": 5}), "ignores it under a custom objective"),
        ("stopping in params", call({"early_stopping_rounds": 5}), "pass early_stopping_rounds="),
        ("rounds in params", call({"n_estimators": 5}), "pass num_boost_round="),
        ("dart and stopping", call(dart, early_stopping_rounds=3, **held_out),
         "change what earlier rounds" if lib is XGB else "dart rescales"),
    ]  # fmt: skip


LGB_PARAMS = [
    ({"boosting": "rf"}, "random forests do not take custom objectives"),
    ({"boost_from_average": True}, "boosting starts at the objective's intercept anyway"),
    ({"is_unbalance": True}, "ignores it under a custom objective"),
    ({"neg_bagging_fraction": 0.5}, "ignores it under a custom objective"),
    ({"num_machines": 2}, "only its own rows"),
    ({"base_score": 0.5}, "set init_score on the data"),
    ({"application": "binary"}, "objective= already says"),
]
XGB_PARAMS = [
    ({"objective": "reg:absoluteerror"}, "leaf refit"),
    ({"objective": "reg:quantileerror"}, "leaf refit"),
    ({"objective": "count:poisson"}, "objective= already says"),
    ({"objective": "binary:logistic"}, "transformed as 'reg:squarederror'"),
    ({"top_k": 2}, "only gblinear reads it"),
    ({"disable_default_eval_metric": 0}, "leave it out"),
]


@both
def test_misuse(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = lib.data(X, y)
    calls = bad_calls(lib, data)
    assert len({name for name, _, _ in calls}) == len(calls)
    for name, call, message in calls:
        print(name)  # shown if it is not refused
        with pytest.raises((ValueError, TypeError), match=message):
            call()
    for params, message in LGB_PARAMS if lib is LGB else XGB_PARAMS:
        print(params)
        with pytest.raises(ValueError, match=message):
            lib.train(params, data, 3, **GOOD)


@pytest.mark.filterwarnings("error", "ignore:(?s).*is deprecated")  # from XGBoost 3.3 on
def test_a_linear_model_starts_at_the_intercept_and_keeps_it(ordinal) -> None:
    X, y, w = ordinal
    data = xgb.DMatrix(X, y, weight=w)
    linear = {"booster": "gblinear", "updater": "coord_descent", "learning_rate": 1.0}
    objective = go.qwk_objective()
    booster = XGB.train(linear, data, 50, objective=objective)
    score = booster.predict(data)
    kappa = go.quadratic_weighted_kappa(y, score.round().clip(1, 4), sample_weight=w)
    assert kappa > 0.75
    loaded = xgb.Booster(model_file=bytearray(booster.save_raw()))
    np.testing.assert_allclose(loaded.predict(data), score, rtol=1e-6)  # float32
    on = XGB.train(linear, data, 1, objective=objective, xgb_model=booster)
    more = XGB.train(linear, data, 51, objective=objective)
    np.testing.assert_allclose(on.predict(data), more.predict(data), rtol=1e-5)
    fitted = xgboost_adapter.XGBRegressor(n_estimators=50, objective=objective, n_jobs=1, **linear)
    fitted.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(fitted.predict(X), score, rtol=1e-5)
    with pytest.raises(ValueError, match="cannot be cut out of the model"):
        XGB.train(linear, data, 3, objective=objective, metric=METRIC,
                  evals=[(xgb.DMatrix(X[:99], y[:99]), "v")], early_stopping_rounds=2)  # fmt: skip


@pytest.mark.filterwarnings("ignore:(?s).*_drop.*not used")  # before XGBoost 3.3
def test_xgboost_dropout_without_dart(ordinal) -> None:
    """From XGBoost 3.3 on it rescales earlier trees, as dart does."""
    X, y, _ = ordinal
    data, held_out = XGB.data(X[:300], y[:300]), XGB.data(X[300:], y[300:])
    stopping = {"metric": METRIC, "evals": [(held_out, "v")], "early_stopping_rounds": 3, **GOOD}
    for params in (
        {"rate_drop": 0.1},
        {"one_drop": 1},
        {"skip_drop": 0.5},  # alone it does nothing: a misunderstanding, too
        {"rate_drop": 0.1, "booster": "gbtree"},
    ):
        with pytest.raises(ValueError, match="dropout rescales earlier trees"):
            XGB.train(params, data, 3, **stopping)
    XGB.train({"rate_drop": 0, "one_drop": "0"}, data, 3, **stopping)
    if parse_version(xgb.__version__) < parse_version("3.3"):  # it would have no effect
        with pytest.raises(ValueError, match="one_drop"):
            XGB.train({"one_drop": 1, **XGB.params}, data, 40, **GOOD)
        return
    booster = XGB.train({"one_drop": 1, **XGB.params}, data, 40, **GOOD)
    assert METRIC(y[300:], XGB.predict(booster, X[300:])) > 0.6


@both
def test_harmless_parameters_are_not_refused(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    params = {"num_class": 1, "scale_pos_weight": 1.0}
    params |= (
        {"objective": "reg:squarederror", "booster": "gbtree", "disable_default_eval_metric": "1"}
        if lib is XGB
        else {"metric": "None", "boosting": "goss", "linear_tree": True, "max_bin": 31}
    )
    booster = lib.train({**lib.params, **params}, lib.data(X, y), 3, **GOOD)
    assert lib.rounds(booster) == 3


@both
def test_labels_without_a_start(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    with pytest.raises(ValueError, match="constant"):
        lib.train({}, lib.data(X, np.ones(len(y))), 3, objective=go.qwk_objective())
    with pytest.raises(ValueError, match="one class only"):
        lib.train({}, lib.data(X, np.ones(len(y))), 3, objective=go.offset_logloss_objective(0.1))


def test_lightgbm_name_of_the_training_data(ordinal) -> None:
    X, y, _ = ordinal
    data = lgb.Dataset(X, y)
    held_out = lgb.Dataset(X, y, reference=data)
    with pytest.raises(ValueError, match="give held-out data another name"):
        LGB.train({}, data, 3, metric=METRIC, evals=[(held_out, "training")], **GOOD)
    LGB.train(LGB.params, data, 3, metric=METRIC, evals=[(data, "training")], **GOOD)


def test_lightgbm_without_a_feature_that_can_be_split() -> None:
    X, y = np.random.default_rng(0).random((30, 2)), np.resize([1, 2, 3], 30)
    with pytest.raises(ValueError, match="no feature can be split: .* lower min_data_in_leaf"):
        LGB.train({"verbose": -1}, lgb.Dataset(X, y), 3, **GOOD)
    params = {"verbose": -1, "min_data_in_leaf": 2}
    LGB.train(params, lgb.Dataset(X, y, params=params), 3, **GOOD)


def test_early_stopping_of_the_xgboost_estimator(ordinal) -> None:
    """XGBRegressor would minimise the metric: the callback knows better."""
    X, y, _ = ordinal
    metric, obj = go.extended_qwk_metric(), go.qwk_objective(y)
    estimator = xgb.XGBRegressor(
        n_estimators=200, objective=obj, base_score=y.mean(), eval_metric=metric.xgboost,
        callbacks=[xgboost_adapter.early_stopping(metric, 10)],
    )  # fmt: skip
    estimator.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])], verbose=False)
    history = estimator.evals_result()["validation_0"]["extended_qwk"]
    assert estimator.get_booster().num_boosted_rounds() == np.argmax(history) + 1 > 1
    with pytest.raises(TypeError, match="metric must be a Metric"):
        xgboost_adapter.early_stopping("qwk", 10)


def test_lightgbm_dataset_that_is_a_subset_a_file_or_constructed(ordinal, tmp_path) -> None:
    X, y, _ = ordinal
    obj = go.qwk_objective(y)
    plain = LGB.train(LGB.params, lgb.Dataset(X, y), 8, objective=obj)
    constructed = lgb.Dataset(X, y).construct()
    same = LGB.train(LGB.params, constructed, 8, objective=obj)
    np.testing.assert_array_equal(same.predict(X), plain.predict(X))
    np.savetxt(tmp_path / "rows.csv", np.column_stack([y, X]), delimiter=",", fmt="%.17g")
    from_file = LGB.train(LGB.params, lgb.Dataset(str(tmp_path / "rows.csv")), 8, objective=obj)
    np.testing.assert_allclose(from_file.predict(X), plain.predict(X), atol=1e-9)
    half = lgb.Dataset(X, y, free_raw_data=False).subset(range(0, 600, 2))
    booster = LGB.train(LGB.params, half, 40, objective=obj)
    assert go.qwk_metric((1, 4))(y, booster.predict(X)) > 0.6


def test_xgboost_quantile_matrix(ordinal) -> None:
    X, y, w = ordinal
    obj = go.qwk_objective(y, sample_weight=w)
    params = {**XGB.params, "tree_method": "hist", "max_bin": 64}
    quantile = XGB.train(params, xgb.QuantileDMatrix(X, y, weight=w, max_bin=64), 8, objective=obj)
    plain = XGB.train(params, xgb.DMatrix(X, y, weight=w), 8, objective=obj)
    np.testing.assert_allclose(XGB.predict(quantile, X), XGB.predict(plain, X), atol=1e-5)


def test_qwk_on_shifted_labels_is_qwk_with_the_intercept_inside(ordinal) -> None:
    """What published notebooks do: labels less their centre, which predictions get back."""
    X, y, _ = ordinal
    center = y.mean()
    params = {"num_leaves": 7, "verbose": -1, "seed": 0}
    objective = go.qwk_objective(y - center)
    published_way = lgb.train({**params, "objective": objective}, lgb.Dataset(X, y - center), 30)
    ours = LGB.train(params, lgb.Dataset(X, y), 30, objective=go.qwk_objective(y))
    # labels are float32 in LightGBM, and shifted ones are rounded
    np.testing.assert_allclose(published_way.predict(X) + center, ours.predict(X), atol=1e-5)


def test_an_init_score_that_is_set_later_is_where_training_starts(ordinal) -> None:
    X, y, _ = ordinal
    start = np.linspace(0, 1, len(y))
    objective = go.qwk_objective(y)
    given = LGB.train(LGB.params, lgb.Dataset(X, y, init_score=start), 5, objective=objective)
    later = lgb.Dataset(X, y).construct()
    later.set_field("init_score", start)
    found = LGB.train(LGB.params, later, 5, objective=objective)
    np.testing.assert_allclose(found.predict(X), given.predict(X), rtol=1e-12)
    assert np.abs(found.predict(X) - y).mean() > 0.3  # the start is not in the model


@both
def test_a_hundred_rounds_where_nothing_is_said(lib: Library) -> None:
    X = np.random.default_rng(0).normal(size=(60, 1))
    booster = lib.train({"max_depth": 1}, lib.data(X, X[:, 0]), objective=go.qwk_objective())
    assert lib.rounds(booster) == 100


def test_checkpoints_of_one_output_are_whole_models(tmp_path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 1))
    data = xgb.DMatrix(X, X[:, 0])
    saving = xgb.callback.TrainingCheckPoint(tmp_path, interval=1)
    booster = XGB.train({}, data, 3, objective=go.qwk_objective(), callbacks=[saving])
    saved = xgb.Booster(model_file=sorted(tmp_path.iterdir())[-1])
    rounds = saved.num_boosted_rounds()
    np.testing.assert_allclose(  # sums of float32
        saved.predict(data), booster.predict(data, iteration_range=(0, rounds)), rtol=1e-6
    )


def test_a_flat_init_score_of_several_outputs_is_read_as_lightgbm_reads_it() -> None:
    """LightGBM stores it output after output."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    start = rng.normal(size=(90, 3))
    params = {**LGB.params, "num_class": 3, "learning_rate": 1e-9, "min_data_in_leaf": 1}
    objective = go.objective(multinomial, outputs=3)
    for flat in (start, start.ravel(order="F")):
        data = lgb.Dataset(X, y, init_score=flat)
        booster = LGB.train(params, data, 1, objective=objective)
        assert np.abs(booster.predict(X)).max() < 1e-6


def test_labels_of_a_cluster_are_not_fetched_to_be_compared() -> None:
    class Lazy:
        __dask_graph__ = None

        def __array__(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("computed")

    assert not guards._are_equal(Lazy(), Lazy())
    assert not guards._are_equal(np.ones(2), None)
    assert guards._are_equal(np.ones(2), [1.0, 1.0])
    assert not guards._are_equal([], [])


def test_the_round_that_is_kept_is_counted_from_one() -> None:
    with pytest.warns(UserWarning, match="keeps 1 of 40 rounds: qwk was best"):
        _train.warn_if_few(0, 40, "qwk")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _train.warn_if_few(_train.FEW_ROUNDS, 400, "qwk")
        _train.warn_if_few(0, 3 * _train.FEW_ROUNDS - 1, "qwk")
