"""train(): the same promises, kept by both adapters on real training."""

from __future__ import annotations

import pickle
import re
import warnings
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives._checks import guards
from gbdt_objectives.adapters import _train
from tests.adapters.classes import Steps
from tests.adapters.library import LGB, XGB, Library, both
from tests.cases import each, refused
from tests.contract import squared_error
from tests.matrix.tables import poisson


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
def test_training_leaves_data_params_and_lists_as_they_were(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data, params = lib.data(X, y), dict(lib.params)
    evals, callbacks = [(data, "train")], []
    given = {"objective": go.qwk_objective(y), "metric": ERROR,
             "evals": evals, "callbacks": callbacks}  # fmt: skip
    first = lib.train(params, data, 10, **given)
    assert (params, evals, callbacks) == (lib.params, [(data, "train")], [])
    second = lib.train(params, data, 10, **given)  # the very same data again
    np.testing.assert_array_equal(lib.predict(first, X), lib.predict(second, X))
    with pytest.raises(RuntimeError, match="on purpose"):
        lib.train(params, data, 3, objective=go.objective(raises))
    third = lib.train(params, data, 10, **given)  # a failed run left nothing behind
    np.testing.assert_array_equal(lib.predict(first, X), lib.predict(third, X))
    if lib is LGB:
        assert data.get_init_score() is None


def raises(y_true, margin, sample_weight):
    raise RuntimeError("on purpose")


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


@both
def test_a_start_per_row_is_set_on_all_data_or_none(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = lib.data(X, y, start=y.mean() + X[:, 3])
    without, its_name = (
        lib.data(X, y, reference=data),
        "base_margin" if lib is XGB else "init_score",
    )
    call = {"objective": go.qwk_objective(y), "metric": go.qwk_metric()}
    with pytest.raises(ValueError, match=f"{its_name} is set on data but not on evals 'v'"):
        lib.train({}, data, 3, evals=[(without, "v")], **call)
    with pytest.raises(ValueError, match="is set on evals 'v' but not on data"):
        lib.train({}, without, 3, evals=[(data, "v")], **call)


UNITS = [
    (go.qwk_objective(), lambda y: y, 2.0),
    (go.weighted_logloss_objective(1), lambda y: (y > 2).astype(int), 0.25),  # a probability
    (go.objective(poisson, link="log"), lambda y: y, 2.5),  # a mean
    (Steps(n_classes=4), lambda y: y - 1, 0.7),  # a margin
]
"""Objectives, their labels, and a base_score in the unit of XGBoost's predictions."""


@pytest.mark.filterwarnings("ignore:boosting starts at")
@pytest.mark.parametrize(("objective", "labels", "value"), UNITS, ids=lambda value: "")
def test_base_score_replaces_the_intercept(objective, labels, value: float, ordinal) -> None:
    X, y = ordinal[0], labels(ordinal[1])
    tiny = {"learning_rate": 1e-9}
    for given in (value, str(value)):
        booster = XGB.train({**tiny, "base_score": given}, XGB.data(X, y), 1, objective=objective)
        np.testing.assert_allclose(XGB.predict(booster, X), value, atol=1e-6)
        model = XGB.make(objective.n_classes is not None, objective=objective, n_estimators=1,
                         base_score=given, **tiny).fit(X, y)  # fmt: skip
        np.testing.assert_allclose(XGB.predict(model.get_booster(), X), value, atol=1e-6)
        assert model.base_score == given


@each("way", ["train", "estimator"])
@refused(
    (0, {"base_score": "two"}, {}, "base_score", TypeError),
    *((1, {"base_score": bad}, {}, "base_score must be a probability above 0 and below")
      for bad in (0, 1, 1.5, -1)),
    *((2, {"base_score": bad}, {}, "base_score must be above 0") for bad in (0.0, -1.0)),
    (0, {"base_score": 2.0}, {"base_margin": np.ones(600)},
     "base_score and base_margin are both given"),
    (0, {"base_score": 2.0}, {"xgb_model": XGB.built_in({}, XGB.data(np.eye(4), np.ones(4)), 1)},
     "base_score and xgb_model are both given"),
)  # fmt: skip
def test_what_no_base_score_can_be(way: str, ordinal, unit, params, given) -> None:
    objective, labels, _ = UNITS[unit]
    X, y = ordinal[0], labels(ordinal[1])
    if way == "train":
        data = XGB.data(X, y, start=given.get("base_margin"))
        earlier = {name: model for name, model in given.items() if name == "xgb_model"}
        XGB.train(params, data, 1, objective=objective, **earlier)
    else:
        XGB.make(objective.n_classes is not None, objective=objective, **params).fit(X, y, **given)


@both
def test_dart_is_right_without_early_stopping(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    y = y + 20
    dart = {"booster": "dart", "rate_drop": 0.3} if lib is XGB else {"boosting": "dart",
                                                                     "drop_rate": 0.3}  # fmt: skip
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


GOOD = {"objective": go.qwk_objective([1, 2, 3, 4])}
METRIC = go.qwk_metric((1, 4))
OF_PROBABILITY = go.weighted_logloss_metric(1, input_space="probability")


def bad_calls(lib: Library, data: Any) -> list[tuple[Any, ...]]:
    """(params or None, arguments, message) of train; those that cv refuses alike come first."""
    dart = {"booster": "dart"} if lib is XGB else {"boosting": "dart"}
    evals = {"metric": METRIC, "evals": [(data, "v")]}
    stops, held_out = {"early_stopping_rounds": 3}, {
        "metric": METRIC, "evals": [(lib.data(np.eye(4), [1, 2, 3, 4]), "v")]}  # fmt: skip
    blank = "held out" if lib is XGB else ""
    of_both = [
        ({}, {"metric": len}, "metric must be a Metric"),
        ({}, {"metric": "qwk"}, "metric must be a Metric"),
        ({}, {"metric": getattr(METRIC, lib.name)}, r"without \.xgboost or \.lightgbm"),
        ({}, {"metric": OF_PROBABILITY}, "takes probabilities"),
        ({}, {"feval": len}, r"\(\) got feval=: write metric="),
        ({}, {"custom_metric": len}, r"\(\) got custom_metric=: write metric="),
        ({}, {"maximize": True}, r"\(\) got maximize=: leave it out"),
        ({}, {"objective": "binary"}, "objective must be an objective such as qwk_objective"),
        ({}, {"objective": squared_error}, r"objective\(function\)"),
        ({}, {"early_stopping_rounds": 0}, "must be a whole number >= 1"),
        ({}, {"early_stopping_rounds": True}, "must be a whole number"),
        ({}, {"rounds": 0}, "num_boost_round must be a whole number >= 1, found 0"),
        ({}, {"rounds": 2.5}, "num_boost_round must be a whole number"),
        ({}, {"data": np.eye(2)},
         "data must be a .*(DMatrix|Dataset), found ndarray: wrap it, .*label=y"),
        ({}, {"data": lib.data(np.eye(4))}, "data has no labels"),
        ([("eta", 1)], {}, "params must be a dict"),
        ({"objective": "regression"}, {}, "objective= already says"),
        ({"num_class": 3}, {},
         r"one margin per row.*library's own train\(\), as gbdt_objectives.objective\(function"),
        ({"metric" if lib is LGB else "eval_metric": "mae"}, {}, "nothing but metric="),
        ({"scale_pos_weight": 5}, {}, "ignores it under a custom objective"),
        ({"early_stopping_rounds": 5}, {}, "pass early_stopping_rounds="),
        ({"n_estimators": 5}, {}, "pass num_boost_round="),
        (dart, stops, "change what earlier rounds" if lib is XGB else "dart rescales"),
        *(({"objective": name}, {}, "leaf refit")
          for name in ("reg:absoluteerror", "reg:quantileerror") if lib is XGB),
        *(({"objective": name}, {}, said) for name, said in (
            ("count:poisson", "objective= already says"),
            ("binary:logistic", "transformed as 'reg:squarederror'")) if lib is XGB),
    ]  # fmt: skip
    return [
        *((params, held_out | given, message, True) for params, given, message in of_both),
        *((params, given, message, False) for params, given, message in (
            ({}, {"metric": METRIC}, "evals is empty"),
            ({}, {"evals": [(data, "v")]}, "metric is None"),
            ({}, stops, "needs metric= and evals="),
            ({}, stops | evals, "the training data"),
            ({}, {"metric": METRIC, "evals": [data]}, "list of pairs"),
            ({}, {"metric": METRIC, "evals": [(data, "v"), (data, "v")]}, "must differ"),
            ({}, {"metric": METRIC, "evals": [(data, blank)]}, "found 'held out'|is empty"),
            ({}, {"metric": METRIC, "evals": [(np.eye(2), "v")]}, "evals 'v' must be a"),
        )),
    ]  # fmt: skip


@both
@each("function", ["train", "cv"])
def test_misuse(lib: Library, function: str, ordinal) -> None:
    X, y, _ = ordinal
    data = lib.data(X, y)
    for params, given, message, of_both in bad_calls(lib, data):
        arguments = {"data": data, "rounds": 3, **GOOD, **given}
        if function == "cv":
            if not of_both:
                continue
            del arguments["evals"]
        print(params, given)  # shown if it is not refused
        call = getattr(lib.adapter, function)
        with pytest.raises((ValueError, TypeError), match=message):
            call(params, arguments.pop("data"), arguments.pop("rounds"), **arguments)
    with pytest.raises(TypeError, match=r"cv\(\) got metrics=: write metric="):
        lib.cv(data, 3, metric=METRIC, metrics="rmse", **GOOD)


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
    fitted = XGB.kind()(n_estimators=50, objective=objective, n_jobs=1, **linear)
    fitted.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(fitted.predict(X), score, rtol=1e-5)
    with pytest.raises(ValueError, match="cannot be cut out of the model"):
        XGB.train(linear, data, 3, objective=objective, metric=METRIC,
                  evals=[(xgb.DMatrix(X[:99], y[:99]), "v")], early_stopping_rounds=2)  # fmt: skip


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


@pytest.mark.filterwarnings("ignore:init_score differs by row")  # it is read back
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


def test_labels_of_a_cluster_are_not_fetched_to_be_compared() -> None:
    class Lazy:
        __dask_graph__ = None

        def __array__(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("computed")

    assert not guards.are_equal(Lazy(), Lazy())
    assert not guards.are_equal(np.ones(2), None)
    assert guards.are_equal(np.ones(2), [1.0, 1.0])
    assert not guards.are_equal([], [])


def test_the_round_that_is_kept_is_counted_from_one() -> None:
    with pytest.warns(UserWarning, match="keeps 1 of 40 rounds: qwk was best"):
        _train.warn_if_few(0, 40, "qwk")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _train.warn_if_few(3, 400, "qwk")
        _train.warn_if_few(0, 8, "qwk")


ERROR = go.metrics.squared_error_metric()
LOUD = {
    "train": lambda params, data, held_out, X, y: LGB.train(
        params, data, 40, objective=go.objective(squared_error), metric=ERROR,
        evals=[(held_out, "valid_0")], early_stopping_rounds=5,
    ),
    "estimator": lambda params, data, held_out, X, y: LGB.adapter.LGBMRegressor(
        n_estimators=40, objective=go.objective(squared_error), early_stopping_round=5, **params
    ).fit(X[:300], y[:300], eval_set=(X[300:], y[300:]), eval_metric=ERROR),
    "callback": lambda params, data, held_out, X, y: LGB.adapter.LGBMRegressor(
        n_estimators=40, objective=go.objective(squared_error), **params
    ).fit(
        X[:300], y[:300], eval_set=(X[300:], y[300:]), eval_metric=ERROR,
        callbacks=[lgb.early_stopping(5, verbose=params["verbosity"] > 0)],
    ),
}  # fmt: skip


@each("door", LOUD)
@each("rate", [1.0, 0.01])  # it stops, or it never does
@each("verbosity", [1, -1])
def test_early_stopping_says_what_lightgbm_says(
    door, rate, verbosity, ordinal, capsys, monkeypatch
) -> None:
    X, y, _ = ordinal
    printing = lgb.basic._DummyLogger()  # in the tests of old versions it is silent
    monkeypatch.setattr(lgb.basic, "_LOGGER", printing)
    params = {"verbosity": verbosity, "learning_rate": rate, "num_threads": 1}

    def said(run: Any) -> list[str]:
        data = lgb.Dataset(X[:300], y[:300], free_raw_data=False)
        run(params, data, lgb.Dataset(X[300:], y[300:], data, free_raw_data=False), X, y)
        lines = capsys.readouterr().out.splitlines()
        told = [line for line in lines if not re.search(r"\[LightGBM\]|force_(row|col)_wise", line)]
        return [re.sub(r"valid_0's l2: \S+\t", "", line) for line in told]

    own = said(lambda params, data, held_out, X, y: lgb.train(
        {**params, "metric": "None", "early_stopping_round": 5, "objective": "regression"}, data,
        40, valid_sets=[held_out], feval=ERROR.lightgbm,
    ))  # fmt: skip
    assert bool(own) == (verbosity > 0)
    found = said(LOUD[door])
    if verbosity > 0 and door != "train":  # where LightGBM measures l2, too, and would stop on both
        assert found.pop() == "Evaluated only: squared_error"
    assert found == own
