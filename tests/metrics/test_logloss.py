"""Weighted logloss and squared error against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss, mean_squared_error

import gbdt_objectives as go
from gbdt_objectives.metrics.loss import WeightedLoglossMetric
from tests.cases import each, refusals


@each("weighted", [False, True])
@each("rate", [1.0, 0.1])
def test_equals_scikit_learn_with_negatives_weighted_back(weighted: bool, rate: float) -> None:
    rng = np.random.default_rng(0)
    y, z, w = rng.integers(0, 2, 300), rng.normal(0, 3, 300), rng.random(300)
    c = np.where(y == 1, 1, 1 / rate) * (w if weighted else 1)
    expected = log_loss(y, expit(z), sample_weight=c)
    weight = w if weighted else None
    assert go.weighted_logloss_metric(rate)(y, z, weight) == pytest.approx(expected, rel=1e-12)
    probability = go.weighted_logloss_metric(rate, input_space="probability")
    assert probability(y, expit(z), weight) == pytest.approx(expected, rel=1e-12)


def test_margins_beyond_float_probabilities() -> None:
    metric = go.weighted_logloss_metric(1)
    assert metric([1, 0], [-1e4, 1e4]) == 1e4
    assert metric([1, 0], [1e4, -1e4]) == 0
    probability = go.weighted_logloss_metric(1, input_space="probability")
    assert probability([1, 0], [1.0, 0.0]) == 0
    assert probability([1, 0], [0.0, 0.5]) == np.inf
    assert probability([1, 0, 1], [0.5, 0.5, 0.0], [1, 1, 0]) == pytest.approx(np.log(2))


def test_squared_error_equals_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    y, p, w = rng.random((3, 100))
    assert go.metrics.squared_error_metric()(y, p, w) == pytest.approx(
        mean_squared_error(y, p, sample_weight=w), rel=1e-12
    )


def test_float32_rows_are_not_copied_to_float64() -> None:
    seen = set()

    class Seen(WeightedLoglossMetric):
        def terms(self, y, p, xp):
            seen.add(p.dtype.name)
            return super().terms(y, p, xp)

    metric = Seen(negative_keep_rate=0.5, input_space="margin")
    metric(np.float32([0, 1]), np.float32([0.5, 2.0]))
    assert seen == {"float32"}


test_refusals = refusals(
    *((lambda space=space: go.weighted_logloss_metric(0.5, input_space=space)([0, 2], [0.1, 0.2]),
     "must be 0 .*found 2.0") for space in ("margin", "probability")),
    (lambda: go.weighted_logloss_metric(0.5, input_space="probability")([0, 1], [0.5, 1.5]),
     r"probabilities in \[0, 1\], found 1.5 at row 1"),
    (lambda: go.weighted_logloss_metric(0.5, input_space="label"), "input_space must be one of"),
    (lambda: go.weighted_logloss_metric(0), r"negative_keep_rate must be in \(0, 1\]"),
)  # fmt: skip
