"""Weighted and offset logloss: exact values in both tails, and what they are for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import expit

import gbdt_objectives as go

FACTORIES = [go.weighted_logloss_objective, go.offset_logloss_objective]
every_factory = pytest.mark.parametrize("factory", FACTORIES, ids=lambda f: f.__name__)


@every_factory
@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.filterwarnings("error")
def test_stable_at_extreme_margins(factory, precision) -> None:
    z = np.array([-1e4, -1e4, 1e4, 1e4], precision)
    y = np.array([0.0, 1.0, 0.0, 1.0], precision)
    obj = factory(0.5)
    gradient, hessian = obj.gradient_hessian(y, z)
    c = 2.0 if obj.negative_weight == 2 else 1.0
    np.testing.assert_array_equal(gradient, [0, -1, c, 0])
    np.testing.assert_array_equal(hessian, 0)
    offset = obj.offset
    expected = (1e4 - offset) + c * (1e4 + offset)
    assert obj.loss(y, z) == pytest.approx(expected, rel=1e-6)


@given(z=st.floats(-700, 700), y=st.sampled_from([0.0, 1.0]), rate=st.floats(1e-4, 1))
@settings(max_examples=300, deadline=None)
def test_relative_accuracy_in_both_tails(z: float, y: float, rate: float) -> None:
    gradient, hessian = go.weighted_logloss_objective(rate).gradient_hessian([y], [z])
    c = 1 if y == 1 else 1 / rate
    wrong_side = expit(z) if y == 0 else -expit(-z)  # scipy's is accurate in both tails
    assert gradient[0] == pytest.approx(c * wrong_side, rel=1e-13)
    assert hessian[0] == pytest.approx(c * expit(z) * expit(-z), rel=1e-13)


def test_weighting_is_repetition_of_negatives() -> None:
    rng = np.random.default_rng(0)
    y, z = rng.integers(0, 2, 60).astype(float), rng.normal(0, 2, 60)
    thinned = go.weighted_logloss_objective(0.25).loss(y, z)
    at = np.repeat(np.arange(60), np.where(y == 1, 1, 4))
    assert thinned == pytest.approx(go.weighted_logloss_objective(1).loss(y[at], z[at]), rel=1e-13)


def test_offset_is_plain_logloss_of_the_sampled_log_odds() -> None:
    rng = np.random.default_rng(1)
    y, z = rng.integers(0, 2, 60).astype(float), rng.normal(-3, 2, 60)
    offset, plain = go.offset_logloss_objective(0.02), go.weighted_logloss_objective(1)
    np.testing.assert_array_equal(
        offset.gradient_hessian(y, z), plain.gradient_hessian(y, z - math.log(0.02))
    )


@every_factory
def test_intercept_is_the_best_constant_in_the_full_population(factory) -> None:
    y, w = np.array([0, 0, 0, 1, 1]), np.array([1.0, 2, 3, 1, 2])
    rate = Fraction(1, 10)
    assert factory(0.1).intercept is None
    measured = factory(0.1).measured(y, w)
    full_odds = Fraction(3) / (6 / rate)
    assert measured.intercept == pytest.approx(math.log(full_odds), rel=1e-13)
    gradient, _ = measured.gradient_hessian(y, np.full(5, measured.intercept), w)
    assert gradient.sum() == pytest.approx(0, abs=1e-12)
    assert measured.measured([0, 1]) is measured


@every_factory
def test_rate_one_is_plain_logloss(factory) -> None:
    y, z = np.array([0.0, 1.0]), np.array([0.3, -2.0])
    gradient, hessian = factory(1.0).gradient_hessian(y, z)
    np.testing.assert_allclose(gradient, expit(z) - y, rtol=1e-15)
    np.testing.assert_allclose(hessian, expit(z) * expit(-z), rtol=1e-15)


@every_factory
@pytest.mark.parametrize(
    ("rate", "error", "message"),
    [
        (0, ValueError, r"negative_keep_rate must be in \(0, 1\], found 0"),
        (-0.1, ValueError, "found -0.1"),
        (1.5, ValueError, "found 1.5"),
        (float("nan"), ValueError, "must be finite, found nan"),
        ("0.1", TypeError, "must be a number, found str"),
        (None, TypeError, "must be a number, found NoneType"),
        (True, TypeError, "must be a number, found bool"),
        ([0.1], TypeError, "must be a number, found list"),
    ],
)
def test_bad_rates(factory, rate, error, message) -> None:
    with pytest.raises(error, match=message):
        factory(rate)


def test_one_class_has_no_intercept() -> None:
    with pytest.raises(ValueError, match="one class only"):
        go.offset_logloss_objective(0.1).measured([1, 1])
    with pytest.raises(ValueError, match="one class only"):
        go.offset_logloss_objective(0.1).measured([0, 1], [1, 0])
