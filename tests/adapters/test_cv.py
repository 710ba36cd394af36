"""cv(): a hand-written loop of train() over the same folds, in both libraries."""

from __future__ import annotations

import inspect
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.model_selection import KFold

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from tests.adapters.library import LGB, XGB, Library, both

SMOOTH = go.extended_qwk_metric()
FOLDS = [
    (np.sort(train), np.sort(test))
    for train, test in KFold(3, shuffle=True, random_state=0).split(np.zeros(600))
]


def run(lib: Library, data: Any, rounds: int = 10, metric: Any = SMOOTH, **given: Any) -> Any:
    """Means over folds of the metric on the rows held out, per round."""
    given = {"objective": go.qwk_objective(), "folds": FOLDS, **given}
    history = lib.cv(data, rounds, metric=metric, **given)
    return np.array(history[lib.mean.format(metric.name)])


def whole(lib: Library, X, y, weight=None, start=None) -> Any:
    data = lib.data(X, y, weight, start)
    if lib is LGB:
        data.free_raw_data, data.params = False, {"verbose": -1}
    return data


def by_hand(
    lib: Library, data: Any, folds: Any = FOLDS, fpreproc: Any = None, **given: Any
) -> np.ndarray:
    """The same from train() alone, of rows that are binned as cv bins them."""
    values = []
    part = data.slice if lib is XGB else data.subset
    for train, test in folds:
        record: dict[str, Any] = {}
        parts = part(train), part(test), lib.params
        inner, outer, params = parts if fpreproc is None else fpreproc(*parts)
        lib.train(params, inner, 10, objective=go.qwk_objective(), metric=SMOOTH,
                  evals=[(outer, "v")], **lib.recording(record), **given)  # fmt: skip
        values.append(record["v"]["extended_qwk"])
    return np.mean(values, axis=0)


@pytest.mark.slow
@both
def test_stops_on_the_mean_over_folds_in_the_direction_of_the_metric(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = whole(lib, X, y)
    for metric in (SMOOTH, go.metrics.squared_error_metric()):
        full = run(lib, data, 60, metric=metric)
        best = int(np.argmax(full) if metric.greater_is_better else np.argmin(full))
        assert 5 < best < 45
        stopped = run(lib, data, 60, metric=metric, early_stopping_rounds=15)
        np.testing.assert_allclose(stopped, full[: best + 1], rtol=1e-12)
    again = run(lib, data, 60, metric=metric, callbacks=[lib.stop(15)])
    np.testing.assert_array_equal(again, stopped)


@pytest.mark.slow
def test_lightgbms_cvbooster_is_cut_to_the_best_round(ordinal) -> None:
    X, y, _ = ordinal
    history = LGB.cv(whole(LGB, X, y + 10), 40, objective=go.qwk_objective(), metric=SMOOTH,
                     folds=FOLDS, return_cvbooster=True, early_stopping_rounds=5)  # fmt: skip
    means, cvbooster = history["valid extended_qwk-mean"], history["cvbooster"]
    assert len(cvbooster.boosters) == 3
    for booster in cvbooster.boosters:
        assert booster.current_iteration() == len(means) < 40
        again = lgb.Booster(model_str=booster.model_to_string())
        np.testing.assert_array_equal(again.predict(X), booster.predict(X))
    last = np.mean([SMOOTH(y[test] + 10, one.predict(X[test]))
                    for one, (_, test) in zip(cvbooster.boosters, FOLDS, strict=True)])  # fmt: skip
    assert last == pytest.approx(means[-1], rel=1e-9)
    (mean_of_all,) = {tuple(np.shape(p)) for p in cvbooster.predict(X)}
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
    means = run(lib, whole(lib, X, y), fpreproc=reweighted)
    expected = by_hand(lib, whole(lib, X, y), fpreproc=reweighted)
    np.testing.assert_allclose(means, expected, rtol=1e-12)


@both
def test_a_parameter_that_would_be_ignored_is_refused_from_fpreproc_too(
    lib: Library, ordinal
) -> None:
    X, y, _ = ordinal

    def heavier(train: Any, test: Any, params: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        return train, test, {**params, "scale_pos_weight": 5}

    with pytest.raises(ValueError, match="params\\['scale_pos_weight'\\] = 5 is refused"):
        run(lib, whole(lib, X, y), fpreproc=heavier)


@pytest.mark.filterwarnings("ignore:.*differs by row")  # a start per row is meant
@both
def test_a_start_per_row_is_respected(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = whole(lib, X, y, start=y.mean() + X[:, 3])
    means = run(lib, data)
    np.testing.assert_allclose(means, by_hand(lib, data), rtol=1e-9)


def test_lightgbm_goes_on_from_a_model_and_leaves_the_data_as_it_was(ordinal) -> None:
    X, y, _ = ordinal
    first = LGB.train(LGB.params, whole(LGB, X, y), 5, objective=go.qwk_objective())
    data = whole(LGB, X, y)
    before = run(LGB, data)
    resumed = run(LGB, data, init_model=first)
    assert resumed[0] > before[0]
    after = run(LGB, data)
    np.testing.assert_array_equal(after, before)


@both
def test_labels_with_fractions(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    data = whole(lib, X, y + 0.25 * X[:, 0])
    assert run(lib, data, folds=None, nfold=3, stratified=False, seed=1)[-1] > 0.6
    if lib is LGB:
        with pytest.raises(ValueError, match="continuous"):  # LightGBM stratifies unless told
            run(lib, data, folds=None, nfold=3)


def test_xgboost_returns_a_table_of_pandas_in_full_precision(ordinal) -> None:
    pd = pytest.importorskip("pandas")
    X, y, _ = ordinal
    frame, plain = (
        XGB.cv(XGB.data(X, y), objective=go.qwk_objective(), metric=SMOOTH, as_pandas=as_pandas)
        for as_pandas in (True, False)
    )
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(plain) == [
        f"{rows}-extended_qwk-{what}" for rows in ("train", "test") for what in ("mean", "std")
    ]  # fmt: skip
    np.testing.assert_array_equal(frame.to_numpy(), np.array(list(plain.values())).T)
    assert (frame.to_numpy() != frame.to_numpy().round(6)).mean() > 0.9


def test_lightgbm_measures_the_training_rows_if_it_is_asked_to(ordinal) -> None:
    X, y, _ = ordinal
    history = LGB.cv(whole(LGB, X, y), objective=go.qwk_objective(), metric=SMOOTH, folds=FOLDS,
                     eval_train_metric=True, early_stopping_rounds=30)  # fmt: skip
    assert history["train extended_qwk-mean"][-1] > history["valid extended_qwk-mean"][-1]


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
        found = XGB.cv(xgb.DMatrix(X, y), 3, {"max_depth": 2}, objective=objective, metric=SMOOTH,
                       stratified=True, seed=seed)  # fmt: skip
        return found["test-extended_qwk-mean"][-1]

    assert last(1) == last(1)
    assert last(1) != last(2)


def test_as_many_rounds_as_lightgbm() -> None:
    """XGBoost's own default is 10, which no boosting is finished after; both adapters have 100."""
    for module in (lgb, lightgbm_adapter, xgboost_adapter):
        for function in (module.cv, module.train):
            assert inspect.signature(function).parameters["num_boost_round"].default == 100
