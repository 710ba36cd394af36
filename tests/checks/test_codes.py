"""A code for a missing answer among labels whose distance counts: told, once, and no other."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.linear_model import Ridge
from sklearn.metrics import cohen_kappa_score
from sklearn.tree import DecisionTreeClassifier

import gbdt_objectives as go
from gbdt_objectives._checks import warn_of_code
from gbdt_objectives.adapters import xgboost as our_xgboost
from gbdt_objectives.evaluation import estimate_performance
from gbdt_objectives.metrics import threshold_metric
from gbdt_objectives.objectives import kappa_objective
from gbdt_objectives.thresholds import ThresholdStatistics, fit_segment_shift
from tests.cases import each

rng = np.random.default_rng(0)
N = 600
X = rng.normal(size=(N, 2))
GRADE = np.digitize(X[:, 0] + rng.normal(0, 0.5, N), [-1, 0, 0.7, 1.5]) + 1
CODED = np.where(np.arange(N) % 40 == 0, 99, GRADE)
SCORE = X[:, 0] + 3
ROUNDED = np.clip(np.rint(SCORE), 1, 5).astype(int)


def told(call: Callable[[], Any]) -> list[str]:
    """The warnings of codes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if "as files write a missing" in str(one.message)]


@each("labels, code", [
    ([1, 2, 3, 4, 5, 99], 99), ([0, 1, 999], 999), ([-9, 1, 2, 3, 4, 5], -9), ([-99, 0, 1, 2], -99),
    ([1, 2, 3, 99, 999], 999), ([*range(11), 99], 99), ([1.0, 3.0, 4.0, 99.0], 99),
    (np.array([1, 2, 3, 99], np.float32), 99), ([-9, *range(5)], -9), ([1, 3, 5, 99], 99),
])  # fmt: skip
def test_codes(labels, code: int) -> None:
    (said,) = told(lambda: warn_of_code("y", np.repeat(labels, 3)))
    assert f"y holds {code}, far from the others" in said


@each("labels", [
    [0, 10, 100], [0, 1, 100], [1, 2, 3, 9], [0, 9, 99], [-1, 0, 1], [1, 2, 3, 4, 5],
    [*range(1, 61), 99], range(100), [0, 50, 99], [99, 100, 101], [99], [1, 99], [-9, 0, 9],
    [0.5, 1.5, 98.9], [], [0, 25, 50, 75, 99], [-10, 1, 2],
])  # fmt: skip
def test_what_is_none_of_them(labels) -> None:
    assert not told(lambda: warn_of_code("y", np.array([*labels])))


CALLS: dict[str, Callable[[Any], Any]] = {
    "quadratic_weighted_kappa": lambda y: go.quadratic_weighted_kappa(y, ROUNDED),
    "of two raters": lambda y: go.quadratic_weighted_kappa(y, y),
    "weighted": lambda y: go.quadratic_weighted_kappa(y, ROUNDED, sample_weight=X[:, 1] ** 2),
    "qwk_metric": lambda y: go.qwk_metric()(y, SCORE),
    "of classes": lambda y: go.qwk_metric()(y, ROUNDED),
    "extended_qwk_metric": lambda y: go.extended_qwk_metric()(y, SCORE),
    "mae": lambda y: threshold_metric("mae")(y, ROUNDED),
    "qwk_objective": go.qwk_objective,
    "kappa_objective": lambda y: kappa_objective("absolute", y),
    "QWKClassifier": lambda y: go.QWKClassifier(Ridge(), cv=3).fit(X, y),
    "optimize_thresholds": lambda y: go.optimize_thresholds(y, SCORE),
    "ThresholdClassifier": lambda y: go.ThresholdClassifier().fit(SCORE, y),
    "cross_validate_thresholds": lambda y: go.cross_validate_thresholds(
        y, SCORE, n_bootstrap=0, cv=3, random_state=0
    ),
    "ThresholdStatistics": lambda y: ThresholdStatistics.of(y, SCORE),
    "fit_segment_shift": lambda y: fit_segment_shift(y, SCORE, np.arange(N) % 2),
    "estimate_performance": lambda y: estimate_performance(
        DecisionTreeClassifier(max_depth=2), X, y, cv=3, n_repeats=2
    ),
    "train": lambda y: our_xgboost.train(
        {"max_depth": 2, "nthread": 1}, xgb.DMatrix(X, y), 4, objective=go.qwk_objective()
    ),
    "cv": lambda y: our_xgboost.cv(
        {"max_depth": 2, "nthread": 1}, xgb.DMatrix(X, y), 3, nfold=3,
        objective=go.qwk_objective(), metric=go.qwk_metric(),
    ),
    "plain": lambda y: lgb.train(
        {"verbose": -1, "num_threads": 1, "num_leaves": 4, "objective": go.qwk_objective()},
        lgb.Dataset(X, y), 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_it_is_told_once(call) -> None:
    assert len(told(lambda: call(CODED))) == 1
    assert not told(lambda: call(GRADE))


def test_no_metric_of_a_round_tells_it() -> None:
    """What is trained on squared error may have 99 as a number, and this metric only looks."""
    data, params = xgb.DMatrix(X, CODED), {"max_depth": 2, "nthread": 1}
    given = {"evals": [(data, "v")], "custom_metric": go.qwk_metric(), "verbose_eval": False}
    assert not told(lambda: xgb.train(params, data, 3, **given))


@each("call", [
    lambda: threshold_metric("accuracy")(CODED, ROUNDED),
    lambda: go.quadratic_weighted_kappa(CODED, CODED, labels=[1, 2, 3, 4, 5, 99]),
    lambda: go.metrics.squared_error_metric()(CODED, SCORE),
])  # fmt: skip
def test_it_may_be_a_number_or_a_name(call) -> None:
    assert not told(call)


@each("call", [
    lambda w: go.quadratic_weighted_kappa(CODED, ROUNDED, sample_weight=w),
    lambda w: go.qwk_metric()(CODED, SCORE, w),
    lambda w: go.qwk_metric()(CODED, ROUNDED, w),
    lambda w: go.extended_qwk_metric()(CODED, SCORE, w),
    lambda w: go.qwk_objective(CODED, sample_weight=w),
    lambda w: kappa_objective("squared").measured(CODED, w),
    lambda w: go.qwk_objective().measured(CODED, w),
])  # fmt: skip
def test_rows_of_weight_0_do_not_count(call) -> None:
    assert not told(lambda: call((CODED != 99) * 1.0))
    assert told(lambda: call(1 + (CODED != 99) * 1.0))


def test_the_remedies_work() -> None:
    known = CODED != 99
    found = go.quadratic_weighted_kappa(CODED[known], ROUNDED[known])
    assert found == pytest.approx(
        cohen_kappa_score(CODED[known], ROUNDED[known], weights="quadratic"), abs=1e-12
    )
    assert not told(lambda: go.quadratic_weighted_kappa(CODED[known], ROUNDED[known]))
    position = np.unique(CODED, return_inverse=True)[1]
    assert not told(lambda: go.quadratic_weighted_kappa(position, position))
