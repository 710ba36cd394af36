"""A shift has a type, so that no rate passes for one."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from gbdt_objectives import correct_probability, log_odds_shift
from gbdt_objectives.priors import (
    LogOddsShift,
    correct_margin,
    correct_threshold,
)
from tests.cases import each

CORRECTIONS = [
    (correct_probability, 0.3),
    (correct_probability, [[0.3, 0.7]]),
    (correct_margin, [0.3, 1.0]),
    (correct_threshold, 0.3),
]


@each(("correct", "value"), CORRECTIONS)
@each(
    "number", [0.1, 1, -2.3, 3.0, np.float64(0.1), np.array(0.1), [0.1, 1.0], np.array([0.1, 1.0])]
)
def test_a_number_by_position_is_refused(correct, value, number) -> None:
    with pytest.raises(TypeError, match=r"found .*negative_keep_rate=.*class_keep_rates=.*shift="):
        correct(value, number)


@pytest.mark.parametrize("thing", [{0: 0.1, 1: 1.0}, "0.1", [[0.1], [0.1, 1]]])
def test_other_things_by_position_are_refused_too(thing) -> None:
    with pytest.raises(TypeError, match="shift must be what log_odds_shift returned"):
        correct_probability(0.3, thing)


@each(("correct", "value"), CORRECTIONS)
@each(
    "description",
    [
        {"negative_keep_rate": 0.1},
        {"positive_keep_rate": 3},
        {"negative_keep_rate": 0.1, "positive_keep_rate": 0.5},
        {"class_keep_rates": [0.1, 1]},
        {"class_keep_rates": {0: 0.1, 1: 1}},
        {"train_prior": 0.5, "target_prior": 0.01},
        {"train_prior": [0.5, 0.5], "target_prior": [0.9, 0.1]},
    ],
)
def test_rates_and_priors_by_name_are_their_shift(correct, value, description) -> None:
    shift = log_odds_shift(**description)
    expected = correct(value, shift)
    for found in (correct(value, **description), correct(value, None, **description)):
        np.testing.assert_array_equal(found, expected)
    if isinstance(shift, float):
        np.testing.assert_array_equal(correct(value, shift=float(shift)), expected)


@each(("correct", "value"), CORRECTIONS)
def test_exactly_one_description(correct, value) -> None:
    shift = log_odds_shift(negative_keep_rate=0.1)
    with pytest.raises(ValueError, match="exactly one description .* found none: pass the"):
        correct(value)
    with pytest.raises(ValueError, match="found shift and negative_keep_rate: leave one out"):
        correct(value, shift, negative_keep_rate=0.1)
    with pytest.raises(ValueError, match="found shift and negative_keep_rate: leave one out"):
        correct(value, shift=-1.0, negative_keep_rate=0.1)
    with pytest.raises(ValueError, match="exactly one description of the shift is needed, found 2"):
        correct(value, negative_keep_rate=0.1, class_keep_rates=[0.1, 1])
    with pytest.raises(ValueError, match="target_prior is missing"):
        correct(value, train_prior=0.1)
    with pytest.raises(ValueError, match="negative_keep_rate must be above 0"):
        correct(value, negative_keep_rate=-2.3)


@pytest.mark.parametrize(
    ("rates", "value"), [({"negative_keep_rate": 0.1}, 0.2), ({"class_keep_rates": [0.1, 1]}, 0.2),
                         ({"class_keep_rates": [0.1, 0.5, 1]}, [[0.2, 0.3, 0.5]])]
)  # fmt: skip
def test_copies_of_a_shift_are_shifts_and_what_is_computed_is_not(rates, value) -> None:
    a = log_odds_shift(**rates)
    expected = correct_probability(value, shift=a)
    copies = [a, copy.deepcopy(a), *(pickle.loads(pickle.dumps(a, p)) for p in range(6))]
    for shift in copies:
        assert type(shift) is LogOddsShift
        np.testing.assert_array_equal(correct_probability(value, shift), expected)
    kind = np.float64 if np.ndim(a) == 0 else np.ndarray
    for plain in (-a, a + a, a - 0.5, 2 * a, np.exp(a), np.asarray(a)[()], np.mean([a, a], axis=0)):
        assert type(plain) is kind
        with pytest.raises(TypeError, match="shift must be what log_odds_shift returned"):
            correct_probability(value, plain)
    if np.shape(value) == (1, 3) or np.ndim(a) == 0:
        back = correct_probability(expected, shift=-a)
        np.testing.assert_allclose(back, value, rtol=1e-14)


def test_a_shift_of_two_classes_is_a_number() -> None:
    a = log_odds_shift(negative_keep_rate=0.1)
    assert float(a) == a == math.log(0.1)
    assert f"{a:.2f}" == "-2.30"
    assert repr(a) == f"LogOddsShift({float(a)!r})"
    assert repr(log_odds_shift(class_keep_rates=[0.5, 1])).startswith("LogOddsShift([0.69")
    with pytest.raises(TypeError):
        float(log_odds_shift(class_keep_rates=[0.1, 1]))


@each(
    ("values", "error", "message"),
    [
        ("abc", TypeError, "values must be a number, found str 'abc'"),
        (None, TypeError, "values must be a number, found NoneType"),
        (math.nan, ValueError, "values must be finite, found nan"),
        ([0.0, math.inf], ValueError, "values must be finite, found inf at row 1"),
        ([[1.0, 2.0]], ValueError, "values must be one-dimensional"),
        ([1.0], ValueError, r"a number or one of each class, found \[1.0\]"),
    ],
)
def test_what_is_no_shift_cannot_be_made(values, error, message) -> None:
    with pytest.raises(error, match=message):
        LogOddsShift(values)


def test_rates_made_of_shifts_are_no_shifts() -> None:
    shifts = log_odds_shift(class_keep_rates=[0.1, 0.5, 1.0])
    p = [[0.2, 0.3, 0.5]]
    for rates in (np.exp(-shifts), 1 / np.exp(shifts)):
        with pytest.raises(TypeError, match="class_keep_rates="):
            correct_probability(p, rates)
    twice = correct_probability(correct_probability(p, shifts), shifts)
    np.testing.assert_allclose(correct_probability(p, shift=shifts + shifts), twice)
    np.testing.assert_allclose(
        correct_probability(correct_probability(p, shifts), shift=-shifts), p
    )
