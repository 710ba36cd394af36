"""Formulas against scipy, and against sums and searches written out."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import special

from gbdt_objectives._steps import formulas
from gbdt_objectives.objectives.ordinal_logit import apart
from tests.cases import each

Z = np.array([-np.inf, -740, -300, -40, -1, -1e-9, 0, 1e-12, 0.3, 2, 36, 50, 800, np.inf])
P = np.array([0, 1e-300, 1e-12, 0.2, 0.5, 0.9, 1 - 1e-12, 1])
ROWS = np.array([[0.0, 1, 2], [-np.inf, 700, 701], [-900, -901, -np.inf], [1e-3, 0, -1e-3]])


@each("formula, v, reference", [
    ("sigmoid", Z, special.expit), ("log_odds", P, special.logit), ("exp", Z[:12], np.exp),
    ("softplus", Z, lambda z: np.logaddexp(0, z)),
    ("softmax", ROWS, lambda z: special.softmax(z, axis=1)),
])  # fmt: skip
def test_small_and_large_numbers_keep_their_digits(formula, v, reference) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = formulas.apply(v, formula)
    np.testing.assert_allclose(found, reference(v), rtol=1e-13, atol=3e-16)
    tiny = reference(v) < 1e-20
    np.testing.assert_allclose(found[tiny], reference(v)[tiny], rtol=1e-13, atol=1e-300)


def test_float32_stays_what_it_is() -> None:
    assert formulas.sigmoid(np.float32([-1, 2])).dtype == np.float32
    assert formulas.softmax(np.float32([[-1, 2]])).dtype == np.float32


def test_cumulative_probabilities_of_ordered_classes() -> None:
    theta, f = [-1.0, 0.5, 0.5, 30.0], np.linspace(-4, 6, 23)
    cumulative = np.column_stack(
        [np.zeros(23), *(special.expit(t - f) for t in theta), np.ones(23)]
    )
    between = apart(np.array(theta)).tolist()
    found = formulas.ordinal(f, theta, [*between, 1.0])
    np.testing.assert_allclose(found, np.diff(cumulative, axis=1), rtol=1e-9, atol=3e-16)
    words = formulas.ordinal(f, ["-inf", 0.5, "inf"], [1.0, 1.0, 1.0])
    np.testing.assert_allclose(words[:, [0, 3]], 0, atol=0)


@pytest.mark.parametrize("rounding", [0.0, 1e-12])
def test_a_table_at_its_places_and_between(rounding) -> None:
    x, at, between = [1.0, 2.0, 5.0], [10.0, 20.0, 30.0], [0.0, 1.0, 2.0, 3.0]
    s = np.array([-9, 1, 1.5, 2, math.nextafter(2, 3), 4.9, 5, 6])
    near = 20.0 if rounding else 2.0  # the number next to 2
    found = formulas.table(s, x, at, between, rounding)
    assert found.tolist() == [0, 10, 1, 20, near, 2, 30, 3]


def test_infinite_log_odds_stay_under_every_map() -> None:
    certain = np.array([0.0, 1.0])
    cubic = {"knots": [0.0], "origins": [0.0, 0.0], "coefficients": [[1.0, 1.0]] * 4}
    maps = {"line": {"slope": 0.0, "intercept": 3.0}, "beta": {"a": 0.0, "b": 0.0, "c": 1.0}}
    for name, numbers in {**maps, "cubic": cubic}.items():
        found = formulas.apply(certain, "calibrate", input_space="probability", map=name, **numbers)
        assert found.tolist() == [0, 1], name
