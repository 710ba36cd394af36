"""What every objective must do, driven by the table in tests/contract.py."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import gbdt_objectives as go
from tests.contract import OBJECTIVES, ObjectiveCase

every_objective = pytest.mark.parametrize("case", OBJECTIVES, ids=repr)
with_and_without_weights = pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])


def central_difference(function, x: np.ndarray, step: float) -> np.ndarray:
    """Derivative of a function of x by each x[k]; x may give one value a row or one in all."""
    columns = []
    for k in range(len(x)):
        up, down = x.copy(), x.copy()
        up[k] += step
        down[k] -= step
        columns.append((function(up) - function(down)) / (up[k] - down[k]))
    return np.array(columns)


@every_objective
@with_and_without_weights
def test_gradient_is_the_derivative_of_the_loss(case: ObjectiveCase, weighted: bool) -> None:
    y, p, w = case.rows(62, seed=1)
    weight = w if weighted else None
    gradient, _ = case.objective.gradient_hessian(y, p, weight)
    numeric = central_difference(lambda x: case.objective.loss(y, x, weight), p, step=1e-4)
    expected = numeric * case.gradient_over_loss(y, p, w if weighted else np.ones_like(w))
    assert gradient.dtype == np.float64
    # truncation step^2 plus rounding eps * loss / step, both below 1e-6 of the largest gradient
    assert np.abs(gradient - expected).max() <= 1e-6 * np.abs(gradient).max()


@every_objective
@with_and_without_weights
def test_hessian_is_what_is_declared(case: ObjectiveCase, weighted: bool) -> None:
    y, p, w = case.rows(40, seed=2)
    weight = w if weighted else None
    _, hessian = case.objective.gradient_hessian(y, p, weight)
    kind = case.objective.hessian_kind
    if kind == "exact":
        numeric = central_difference(
            lambda x: case.objective.gradient_hessian(y, x, weight)[0], p, step=1e-5
        ).diagonal()
        # truncation step^2 and rounding eps / step of gradients up to 30
        assert np.abs(hessian - numeric).max() <= 1e-8
        assert hessian.max() > 0.1  # not all in the tails, where any hessian would do
    elif kind == "constant":
        np.testing.assert_array_equal(hessian, w if weighted else 1)
    else:
        assert kind == "undeclared"
        assert case.name == "user-function"


@every_objective
def test_weight_is_repetition(case: ObjectiveCase) -> None:
    y, p, w = case.rows(50, seed=3)
    times = w.astype(int)
    at = np.repeat(np.arange(50), times)
    assert case.objective.loss(y, p, w) == pytest.approx(
        case.objective.loss(y[at], p[at]), rel=1e-13
    )
    for weighted, repeated in zip(
        case.objective.gradient_hessian(y, p, w),
        case.objective.gradient_hessian(y[at], p[at]),
        strict=True,
    ):
        # the same sums in another order: some 100 roundings of float64
        np.testing.assert_allclose(weighted / times, repeated[np.cumsum(times) - 1], rtol=1e-12)


@every_objective
def test_zero_weight_is_absence(case: ObjectiveCase) -> None:
    y, p, w = case.rows(50, seed=4)
    w[::3] = 0
    keep = w > 0
    for all_rows, kept in zip(
        case.objective.gradient_hessian(y, p, w),
        case.objective.gradient_hessian(y[keep], p[keep], w[keep]),
        strict=True,
    ):
        np.testing.assert_allclose(all_rows[keep], kept, rtol=1e-12)
        assert not all_rows[~keep].any()


@every_objective
@pytest.mark.parametrize("precision", [np.float32, np.float64])
@with_and_without_weights
def test_calls_return_fresh_native_float32(case, precision, weighted) -> None:
    y, p, w = case.rows(300_000, seed=5)  # more than two blocks
    y, p, w = y.astype(np.float32), p.astype(precision), w.astype(np.float32)
    before = y.copy(), p.copy(), w.copy()
    weight = w if weighted else None
    returned = case.objective(y, p, weight)
    exact = case.objective.gradient_hessian(y.astype(float), p.astype(float), weight)
    for array, reference in zip(returned, exact, strict=True):
        assert array.dtype == np.float32
        assert array.dtype.isnative
        assert array.flags.c_contiguous
        assert array.shape == p.shape
        assert not any(np.shares_memory(array, other) for other in (y, p, w))
        # a few float32 roundings (6e-8 each) of labels and margins of the size that occur
        largest = max(np.abs(y).max(), np.abs(p).max()) * (3 if weighted else 1)
        largest = max(largest, np.abs(reference).max())
        np.testing.assert_allclose(array, reference, rtol=0, atol=1e-6 * largest)
    for array, old in zip((y, p, w), before, strict=True):
        np.testing.assert_array_equal(array, old)


@every_objective
@pytest.mark.parametrize("precision", [np.float32, np.float64])
@with_and_without_weights
def test_bound_to_its_data_it_is_the_same(case, precision, weighted) -> None:
    y, p, w = case.rows(300_000, seed=6)  # more than one block
    weight = w if weighted else None
    margin = p.astype(precision)
    exact = case.objective.gradient_hessian(y, margin.astype(float), weight)
    largest = max(np.abs(y).max(), np.abs(p).max()) * (3 if weighted else 1)
    for start in (0.0, 2.5):
        bound = case.objective.bind(y, weight, start=start)
        bound(margin)
        returned = bound((p - start).astype(precision))  # the second call, into the same memory
        for array, reference in zip(returned, exact, strict=True):
            assert array.dtype == np.float32
            assert array.flags.c_contiguous
            # a few float32 roundings of labels and margins of the size that occur
            tolerance = 1e-6 * max(largest, np.abs(reference).max())
            np.testing.assert_allclose(array, reference, rtol=0, atol=tolerance)
    small = case.objective.bind(y[:40], None if weight is None else weight[:40])
    with pytest.raises(ValueError, match="margin has 39 rows, but the labels have 40"):
        small(margin[:39])
    with pytest.raises(ValueError, match="margin must be finite, found nan at row 7"):
        small(np.where(np.arange(40) == 7, np.nan, margin[:40]))


@every_objective
def test_is_a_value(case: ObjectiveCase) -> None:
    obj = case.objective
    assert pickle.loads(pickle.dumps(obj)) == obj
    assert copy.copy(obj) == obj
    assert copy.deepcopy(obj) is obj
    assert hash(obj) == hash(pickle.loads(pickle.dumps(obj)))
    assert type(obj).__name__ in repr(obj)
    for field in dataclasses.fields(obj):
        assert field.name in repr(obj)
    first = dataclasses.fields(obj)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(obj, first, None)
    estimator = xgb.XGBRegressor(objective=obj)
    assert clone(estimator).get_params()["objective"] is obj
    assert clone(lgb.LGBMRegressor(objective=obj)).get_params()["objective"] is obj


def test_objectives_of_the_table_differ() -> None:
    distinct = {case.objective for case in OBJECTIVES}
    assert len(distinct) == len(OBJECTIVES)


def training_labels(case: ObjectiveCase, X: np.ndarray) -> np.ndarray:
    """Labels of the case's kind that depend on X, in equal numbers."""
    position = np.argsort(np.argsort(X[:, 0] + X[:, 1])) * len(case.labels) // len(X)
    return np.asarray(case.labels)[position]


@pytest.mark.filterwarnings("ignore:boosting starts at")
@every_objective
@with_and_without_weights
def test_four_interfaces_give_one_model(case, weighted, ordinal) -> None:
    X, _, w = ordinal
    weight = w if weighted else None
    y, obj = training_labels(case, X), case.objective
    native = xgb.train({"max_depth": 3, "seed": 0}, xgb.DMatrix(X, y, weight=weight), 12, obj=obj)
    sklearn = xgb.XGBRegressor(n_estimators=12, max_depth=3, random_state=0, objective=obj)
    sklearn.fit(X, y, sample_weight=weight)
    margin = native.predict(xgb.DMatrix(X), output_margin=True)
    np.testing.assert_array_equal(margin, sklearn.predict(X, output_margin=True))
    assert np.ptp(margin) > 0.1  # it learned something

    params = {"num_leaves": 7, "verbose": -1, "seed": 0, "deterministic": True}
    data = lgb.Dataset(X, y, weight=weight)
    native_lgb = lgb.train({**params, "objective": obj}, data, 12)
    estimator = lgb.LGBMRegressor(
        n_estimators=12, num_leaves=7, verbose=-1, seed=0, deterministic=True, objective=obj
    )
    estimator.fit(X, y, sample_weight=weight)
    raw = native_lgb.predict(X)
    np.testing.assert_array_equal(raw, estimator.predict(X))
    assert np.ptp(raw) > 0.1

    if weighted:  # and the weights count
        unweighted = xgb.train({"max_depth": 3, "seed": 0}, xgb.DMatrix(X, y), 12, obj=obj)
        assert np.abs(margin - unweighted.predict(xgb.DMatrix(X), output_margin=True)).max() > 1e-3
    for fitted in (sklearn, estimator):  # a fitted model holds its objective
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
        assert again.get_params()["objective"] == obj


@pytest.mark.filterwarnings("ignore:boosting starts at")
def test_grid_search_over_objectives_in_two_processes(ordinal) -> None:
    X, y, _ = ordinal
    objectives = [
        go.qwk_objective(y, scale="residual"),
        go.qwk_objective(y, scale="kappa"),
        go.qwk_objective(y, clip=False),
    ]
    for estimator in (
        xgb.XGBRegressor(n_estimators=8, n_jobs=1),
        lgb.LGBMRegressor(n_estimators=8, n_jobs=1, verbose=-1),
    ):
        search = GridSearchCV(estimator, {"objective": objectives}, n_jobs=2, cv=2)
        search.fit(X, y)
        assert search.best_params_["objective"] in objectives
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.filterwarnings("ignore:boosting starts at")
@every_objective
def test_booster_cross_validation(case: ObjectiveCase, ordinal) -> None:
    X, _, _ = ordinal
    y = training_labels(case, X)
    metric = go.squared_error_metric()
    history = xgb.cv(
        {"max_depth": 3, "base_score": float(y.mean()), "disable_default_eval_metric": 1},
        xgb.DMatrix(X, y), 15, nfold=3, obj=case.objective, custom_metric=metric.xgboost,
        as_pandas=False, seed=0,
    )  # fmt: skip
    assert len(history["test-squared_error-mean"]) == 15
    result = lgb.cv(
        {"objective": case.objective, "metric": "None", "verbose": -1},
        lgb.Dataset(X, y), 15, nfold=3, stratified=False, feval=metric.lightgbm,
    )  # fmt: skip
    assert len(result["valid squared_error-mean"]) == 15
    if case.objective.link == "identity":
        assert history["test-squared_error-mean"][-1] < y.var()
