"""cv(): a hand-written loop of train() over the same folds, in both libraries."""

from __future__ import annotations

import inspect
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.model_selection import GroupKFold, KFold

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from tests.adapters.library import LGB, XGB, Library, both

SMOOTH = go.extended_qwk_metric()
FOLDS = [
    (np.sort(train), np.sort(test))
    for train, test in KFold(3, shuffle=True, random_state=0).split(np.zeros(600))
]


def run(lib: Library, data: Any, rounds: int = 10, **kwargs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation over folds of the metric on the rows held out, per round."""
    history = table(lib, data, rounds, **kwargs)
    name = kwargs.get("metric", SMOOTH).name
    if lib is XGB:
        return np.array(history[f"test-{name}-mean"]), np.array(history[f"test-{name}-std"])
    return np.array(history[f"valid {name}-mean"]), np.array(history[f"valid {name}-stdv"])


def table(lib: Library, data: Any, rounds: int = 10, **kwargs: Any) -> Any:
    given = {"objective": go.qwk_objective(), "metric": SMOOTH, "folds": FOLDS, **kwargs}
    params = {**lib.params, **given.pop("params", {})}
    if lib is XGB:
        return xgboost_adapter.cv(params, data, rounds, **{"as_pandas": False, **given})
    return lightgbm_adapter.cv(params, data, rounds, **given)


def whole(lib: Library, X, y, weight=None, start=None) -> Any:
    if lib is XGB:
        return lib.data(X, y, weight, start)
    return lgb.Dataset(
        X, y, weight=weight, init_score=start, free_raw_data=False, params={"verbose": -1}
    )


def part(lib: Library, data: Any, rows: np.ndarray) -> Any:
    """The rows, binned as cv bins them."""
    return data.slice(rows) if lib is XGB else data.subset(rows)


def by_hand(
    lib: Library, data: Any, rounds: int = 10, folds: Any = FOLDS, **kwargs: Any
) -> tuple[np.ndarray, list]:
    """The metric, a row per fold, and the boosters, from train() alone."""
    values, boosters = [], []
    given = {"objective": go.qwk_objective(), "metric": SMOOTH, **kwargs}
    for train, test in folds:
        record: dict[str, Any] = {}
        keeps = (
            {"evals_result": record}
            if lib is XGB
            else {"callbacks": [lgb.record_evaluation(record)]}
        )
        boosters.append(
            lib.train(lib.params, part(lib, data, train), rounds,
                      evals=[(part(lib, data, test), "v")], **keeps, **given)
        )  # fmt: skip
        values.append(record["v"][given["metric"].name])
    return np.array(values), boosters


@pytest.mark.slow
@both
@pytest.mark.parametrize(
    ("kind", "weighted"), [("qwk", True), ("logloss", True), ("function", False)]
)
@pytest.mark.filterwarnings("error:boosting starts")
def test_equals_a_loop_of_train_over_the_same_folds(
    lib: Library, kind: str, weighted: bool, ordinal, rare
) -> None:
    X, y, w = rare if kind == "logloss" else ordinal
    X, y, w = X[:600], y[:600] + (10 if kind == "qwk" else 0), w[:600]
    objective, metric = {
        "qwk": (go.qwk_objective(), go.metrics.squared_error_metric()),
        "logloss": (go.offset_logloss_objective(0.5), go.weighted_logloss_metric(0.5)),
        "function": (go.objective(squared_error, intercept=2.0), go.metrics.squared_error_metric()),
    }[kind]
    call: dict[str, Any] = {"objective": objective, "metric": metric}
    data = whole(lib, X, y, w if weighted else None)
    means, deviations = run(lib, data, **call)
    values, _ = by_hand(lib, data, **call)
    np.testing.assert_allclose(means, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(deviations, values.std(axis=0), rtol=1e-9, atol=1e-15)


def squared_error(y_true, margin, sample_weight):
    w = np.ones_like(margin) if sample_weight is None else sample_weight
    return w * (margin - y_true), w


@both
def test_an_unmeasured_objective_is_measured_on_the_training_rows_of_each_fold(
    lib: Library, ordinal
) -> None:
    X, y, w = ordinal
    data = whole(lib, X, y, w)
    rate = {"learning_rate": 1e-9}
    means, _ = run(lib, data, 1, params=rate, metric=go.metrics.squared_error_metric())
    centres = [np.average(y[train], weights=w[train]) for train, _ in FOLDS]
    assert len({round(centre, 6) for centre in centres}) == 3
    errors = [
        np.average((y[test] - c) ** 2, weights=w[test])
        for (_, test), c in zip(FOLDS, centres, strict=True)
    ]
    assert means[0] == pytest.approx(np.mean(errors), rel=1e-6)
    given = go.qwk_objective(center=2.0, spread=1.0, label_range=(1, 4))
    measured, _ = run(
        lib, data, 1, params=rate, metric=go.metrics.squared_error_metric(), objective=given
    )
    errors = [np.average((y[test] - 2) ** 2, weights=w[test]) for _, test in FOLDS]
    assert measured[0] == pytest.approx(np.mean(errors), rel=1e-6)


@pytest.mark.slow
@both
def test_stops_on_the_mean_over_folds_in_the_direction_of_the_metric(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = whole(lib, X, y)
    for metric in (SMOOTH, go.metrics.squared_error_metric()):
        full, _ = run(lib, data, 60, metric=metric)
        best = int(np.argmax(full) if metric.greater_is_better else np.argmin(full))
        assert 5 < best < 45
        stopped, _ = run(lib, data, 60, metric=metric, early_stopping_rounds=15)
        assert len(stopped) == best + 1
        np.testing.assert_allclose(stopped, full[: best + 1], rtol=1e-12)
    stop = (
        xgb.callback.EarlyStopping(rounds=15)
        if lib is XGB
        else lgb.early_stopping(15, verbose=False)
    )
    again, _ = run(lib, data, 60, metric=metric, callbacks=[stop])
    np.testing.assert_array_equal(again, stopped)


@pytest.mark.slow
@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("kind", ["qwk", "logloss"])
def test_lightgbm_cvbooster_predicts_natural_units(stops: bool, kind: str, ordinal, rare) -> None:
    X, y, _ = rare if kind == "logloss" else ordinal
    X, y = X[:600], y[:600] + (10 if kind == "qwk" else 0)
    objective, metric = (
        (go.qwk_objective(), SMOOTH)
        if kind == "qwk"
        else (go.weighted_logloss_objective(0.5), go.weighted_logloss_metric(0.5))
    )
    call: dict[str, Any] = {"objective": objective, "metric": metric}
    data = whole(LGB, X, y)
    stop = {"early_stopping_rounds": 5} if stops else {}
    history = table(LGB, data, 40 if stops else 10, return_cvbooster=True, **call, **stop)
    rounds = len(history[f"valid {metric.name}-mean"])
    _, boosters = by_hand(LGB, data, rounds, **call)
    found = history["cvbooster"].boosters
    assert len(found) == 3
    for one, other, (_, test) in zip(found, boosters, FOLDS, strict=True):
        assert one.current_iteration() == rounds
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-12)
        again = lgb.Booster(model_str=one.model_to_string())
        np.testing.assert_array_equal(again.predict(X), one.predict(X))
        assert one.predict(X[test]).mean() == pytest.approx(
            y[test].mean() * (1 if kind == "qwk" else 0.5), abs=0.3
        )
    if kind == "qwk":
        last = np.mean(
            [metric(y[test], b.predict(X[test])) for b, (_, test) in zip(found, FOLDS, strict=True)]
        )
        assert last == pytest.approx(history[f"valid {metric.name}-mean"][-1], rel=1e-9)
    (mean_of_all,) = {tuple(np.shape(p)) for p in history["cvbooster"].predict(X)}
    assert mean_of_all == (600,)


def reweighted(train: Any, test: Any, params: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """What a user may do to a fold."""
    rows = train.num_row() if hasattr(train, "num_row") else len(train.used_indices)
    if isinstance(train, lgb.Dataset):
        train.construct()
    train.set_weight(np.resize([1.0, 3.0], rows))
    return train, test, {**params, "learning_rate": 0.2}


@both
def test_what_the_users_fpreproc_does_holds(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    means, _ = run(lib, whole(lib, X, y), fpreproc=reweighted)
    values = []
    for train, test in FOLDS:
        data = whole(lib, X, y)
        inner, outer, params = reweighted(part(lib, data, train), part(lib, data, test), lib.params)
        record: dict[str, Any] = {}
        keeps = (
            {"evals_result": record}
            if lib is XGB
            else {"callbacks": [lgb.record_evaluation(record)]}
        )
        lib.train(params, inner, 10, objective=go.qwk_objective(), metric=SMOOTH,
                  evals=[(outer, "v")], **keeps)  # fmt: skip
        values.append(record["v"]["extended_qwk"])
    np.testing.assert_allclose(means, np.mean(values, axis=0), rtol=1e-12)


@both
def test_a_parameter_that_would_be_ignored_is_refused_from_fpreproc_too(
    lib: Library, ordinal
) -> None:
    X, y, _ = ordinal

    def heavier(train: Any, test: Any, params: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        return train, test, {**params, "scale_pos_weight": 5}

    with pytest.raises(ValueError, match="params\\['scale_pos_weight'\\] = 5 is refused"):
        run(lib, whole(lib, X, y), fpreproc=heavier)


@both
def test_a_start_per_row_is_respected(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = whole(lib, X, y, start=y.mean() + X[:, 3])
    means, _ = run(lib, data)
    values, _ = by_hand(lib, data)
    np.testing.assert_allclose(means, values.mean(axis=0), rtol=1e-9)


def test_lightgbm_goes_on_from_a_model_and_leaves_the_data_as_it_was(ordinal) -> None:
    X, y, _ = ordinal
    first = LGB.train(LGB.params, whole(LGB, X, y), 5, objective=go.qwk_objective())
    data = whole(LGB, X, y)
    before, _ = run(LGB, data)
    resumed, _ = run(LGB, data, init_model=first)
    assert resumed[0] > before[0]
    after, _ = run(LGB, data)
    np.testing.assert_array_equal(after, before)


@both
def test_groups_and_labels_with_fractions(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    fractions = y + 0.25 * X[:, 0]
    groups = np.arange(600) % 12
    folds = [tuple(map(np.sort, pair)) for pair in GroupKFold(3).split(X, y, groups)]
    data = whole(lib, X, fractions)
    means, _ = run(lib, data, folds=folds)
    values, _ = by_hand(lib, data, folds=folds)
    np.testing.assert_allclose(means, values.mean(axis=0), rtol=1e-12)
    shuffled, _ = run(lib, data, folds=None, nfold=3, stratified=False, seed=1)
    assert shuffled[-1] > 0.6
    if lib is LGB:
        with pytest.raises(ValueError, match="continuous"):  # LightGBM stratifies unless told
            run(lib, data, folds=None, nfold=3)


def test_xgboost_returns_a_table_of_pandas_in_full_precision(ordinal) -> None:
    pd = pytest.importorskip("pandas")
    X, y, _ = ordinal
    data = whole(XGB, X, y)
    frame = table(XGB, data, as_pandas=True)
    assert isinstance(frame, pd.DataFrame)
    plain = table(XGB, data)
    assert list(frame.columns) == list(plain) == [
        f"{rows}-extended_qwk-{what}" for rows in ("train", "test") for what in ("mean", "std")
    ]  # fmt: skip
    np.testing.assert_array_equal(frame.to_numpy(), np.array(list(plain.values())).T)
    assert (frame.to_numpy() != frame.to_numpy().round(6)).mean() > 0.9


def test_lightgbm_measures_the_training_rows_if_it_is_asked_to(ordinal) -> None:
    X, y, _ = ordinal
    history = table(LGB, whole(LGB, X, y), eval_train_metric=True, early_stopping_rounds=30)
    assert history["train extended_qwk-mean"][-1] > history["valid extended_qwk-mean"][-1]


@both
def test_refusals(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = whole(lib, X, y)
    function = xgboost_adapter.cv if lib is XGB else lightgbm_adapter.cv
    good: dict[str, Any] = {"objective": go.qwk_objective(), "metric": SMOOTH}
    of_probability = go.weighted_logloss_metric(1, input_space="probability")
    for bad, message in [
        ({"metrics": "rmse"}, "cv() got metrics=: write metric="),
        ({"fobj": go.qwk_objective()}, "cv() got fobj=: write objective="),
        ({"feval": SMOOTH.lightgbm}, "cv() got feval=: write metric="),
        ({"custom_metric": SMOOTH.xgboost}, "cv() got custom_metric=: write metric="),
        ({"maximize": True}, "cv() got maximize=: leave it out"),
        ({"metric": None}, "metric must be a Metric"),
        ({"metric": SMOOTH.xgboost}, "without .xgboost or .lightgbm"),
        ({"metric": of_probability}, "takes probabilities"),
        ({"objective": "regression"}, "must be an objective such as qwk_objective()"),
        ({"early_stopping_rounds": 0}, "early_stopping_rounds must be a whole number >= 1"),
    ]:  # fmt: skip
        with pytest.raises((TypeError, ValueError)) as error:
            function({}, data, 3, **{**good, **bad})
        assert message in str(error.value)
    for args, message in [
        (({}, X, 3), "data must be a"),
        (([], data, 3), "params must be a dict"),
        (({}, data, 0), "num_boost_round must be a whole number >= 1"),
        (({}, lib.data(X), 3), "data has no labels"),
        (({"objective": "regression"}, data, 3), "objective= already says"),
        (({"metric" if lib is LGB else "eval_metric": "mae"}, data, 3), "nothing but metric="),
        (({"scale_pos_weight": 3}, data, 3), "under a custom objective"),
    ]:  # fmt: skip
        with pytest.raises((TypeError, ValueError)) as error:
            function(*args, **good)
        assert message in str(error.value)
    dart = {"booster": "dart"} if lib is XGB else {"boosting": "dart"}
    with pytest.raises(ValueError, match="dart (rescales|and gblinear change)"):
        function(dart, data, 3, early_stopping_rounds=3, **good)


def by_cost(y_true, margin, sample_weight, cost):
    w = cost if sample_weight is None else cost * sample_weight
    return w * (margin - y_true), w


@pytest.mark.parametrize("by_row", [False, True])
def test_stratified_folds_follow_the_seed(by_row: bool) -> None:
    """XGBoost makes the folds, or, for an objective with values by row, the adapter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=90), [-1, 1]).astype(float)
    rows = {"cost": rng.random(90)}
    objective = go.objective(by_cost, rows=rows) if by_row else go.qwk_objective()

    def last(seed: int) -> float:
        found = xgboost_adapter.cv(
            {"max_depth": 2}, xgb.DMatrix(X, y), 3, objective=objective,
            metric=go.extended_qwk_metric(), stratified=True, seed=seed, as_pandas=False,
        )  # fmt: skip
        return next(values[-1] for name, values in found.items() if name.startswith("test"))

    assert last(1) == last(1)
    assert last(1) != last(2)


def test_as_many_rounds_as_lightgbm() -> None:
    """XGBoost's own default is 10, which no boosting is finished after; both adapters have 100."""
    for module in (lgb, lightgbm_adapter, xgboost_adapter):
        for function in (module.cv, module.train):
            assert inspect.signature(function).parameters["num_boost_round"].default == 100
