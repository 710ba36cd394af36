"""What every metric must do; ``test_contract.py`` runs it on the table in tests/contract.py."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_validate

from tests.contract import MetricCase


def check_weight_is_repetition_and_zero_is_absence(case: MetricCase) -> None:
    y, p, w = case.rows(60)
    at = np.repeat(np.arange(60), w.astype(int))
    assert case.metric(y, p, w) == pytest.approx(case.metric(y[at], p[at]), rel=1e-12)
    w[: len(w) // 3] = 0
    keep = w > 0
    assert case.metric(y, p, w) == pytest.approx(case.metric(y[keep], p[keep], w[keep]), rel=1e-12)


def check_scale_of_the_weights_does_not_matter(case: MetricCase) -> None:
    y, p, w = case.rows(60)
    assert case.metric(y, p, 7 * w) == pytest.approx(case.metric(y, p, w), rel=1e-12)
    assert case.metric(y, p, np.full(60, 0.1)) == pytest.approx(case.metric(y, p), rel=1e-12)


def check_float32_rows_lose_only_their_rounding(case: MetricCase) -> None:
    if case.metric.input_space != "margin":
        return
    narrow = [values.astype(np.float32) for values in case.rows(5000)]
    wide = [values.astype(np.float64) for values in narrow]
    # terms of float32 are right to a few roundings of 6e-8 each, and are added up in float64
    assert case.metric(*narrow) == pytest.approx(case.metric(*wide), rel=1e-6)


def check_direction(case: MetricCase) -> None:
    y, p, _ = case.rows(400)
    good, bad = case.metric(y, case.truth(y)), case.metric(y, p)
    assert (good > bad) is case.metric.greater_is_better
    assert isinstance(bad, float)


def check_is_a_value(case: MetricCase) -> None:
    for thing in (case.metric, case.metric.xgboost, case.metric.lightgbm):
        assert pickle.loads(pickle.dumps(thing)) == thing
        assert copy.deepcopy(thing) == thing
        assert hash(thing) == hash(copy.copy(thing))
    assert case.metric.name == case.metric.xgboost.__name__ == case.metric.lightgbm.__name__
    assert not set(case.metric.name) & {" ", ":"}  # XGBoost refuses them
    estimator = xgb.XGBRegressor(eval_metric=case.metric.xgboost)
    assert clone(estimator).get_params()["eval_metric"] == case.metric.xgboost


def check_a_scorer_takes_weights_that_are_routed_to_it(case: MetricCase) -> None:
    routing = pytest.importorskip("sklearn.utils.metadata_routing", reason="since 1.3")
    y, p, w = case.rows(80)

    class Model(BaseEstimator):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            return self

        def predict(self, X: Any) -> Any:
            return p[X[:, 0]]

        def predict_proba(self, X: Any) -> Any:
            of_one = p.ndim == 1
            return np.column_stack([1 - p, p])[X[:, 0]] if of_one else p[X[:, 0]]

        decision_function = predict

    half, X = np.arange(80) < 40, np.arange(80)[:, None]
    sign = 1 if case.metric.greater_is_better else -1
    expected = sign * case.metric(y[half], p[half], w[half])
    assert expected != pytest.approx(sign * case.metric(y[half], p[half]), rel=1e-6)
    with config_context(enable_metadata_routing=True):
        assert routing.get_routing_for_object(case.metric).consumes("score", {"sample_weight"})
        for scoring, key in (case.metric, "score"), ({"ours": case.metric}, "ours"):
            fit = Model().set_fit_request(sample_weight=True)
            known = {"cv": [(~half, half)], "error_score": "raise", "scoring": scoring}
            found = cross_validate(fit, X, y, params={"sample_weight": w}, **known)
            assert found[f"test_{key}"] == pytest.approx([expected], rel=1e-12)
            found = cross_validate(fit, X, y, **known)  # without weights nothing changes
            plain = sign * case.metric(y[half], p[half])
            assert found[f"test_{key}"] == pytest.approx([plain], rel=1e-12)


def check_loss_is_the_metric_for_places_that_only_minimise(case: MetricCase) -> None:
    y, p, w = case.rows(60)
    loss = case.metric.loss
    assert not loss.greater_is_better
    assert loss.input_space == case.metric.input_space
    assert loss.loss == loss
    if case.metric.greater_is_better:
        assert loss.name == f"{case.metric.name}_loss"
        assert loss(y, p, w) == 1 - case.metric(y, p, w)
        scorer = make_scorer(loss, greater_is_better=False)
        assert f"{case.metric.name}_loss" in repr(scorer)
    else:
        assert loss == case.metric


BAD = [
    (lambda y, p, w: (y[:-1], p, None), "y_pred has 60 rows, but the labels have 59"),
    (lambda y, p, w: (y, p, w[:-1]), "sample_weight has 59 rows"),
    (lambda y, p, w: (y, np.where(p == p[0], np.nan, p), None), "y_pred must be finite"),
    (lambda y, p, w: (np.where(y == y[0], np.inf, y), p, None), "y_true must be finite"),
    (lambda y, p, w: (y, p, -w), "sample_weight must not be negative"),
    (lambda y, p, w: (y, p, 0 * w), "sample_weight is 0 in all"),
    (lambda y, p, w: ([], [], None), "y_true is empty"),
    (lambda y, p, w: (y, p[:, None], None), r"y_pred must be (one-dimensional|\(n)"),
    (lambda y, p, w: (y.astype(str), p, None), "y_true (must hold real numbers|has dtype <U)"),
]  # fmt: skip
"""What is wrong with labels, predictions and weights, and the message."""


def check_refuses_bad_input(case: MetricCase) -> None:
    for change, message in BAD:
        with pytest.raises((ValueError, TypeError), match=message):
            case.metric(*change(*case.rows(60)))


CHECKS = [
    check_weight_is_repetition_and_zero_is_absence,
    check_scale_of_the_weights_does_not_matter,
    check_float32_rows_lose_only_their_rounding,
    check_direction,
    check_is_a_value,
    check_a_scorer_takes_weights_that_are_routed_to_it,
    check_loss_is_the_metric_for_places_that_only_minimise,
    check_refuses_bad_input,
]
