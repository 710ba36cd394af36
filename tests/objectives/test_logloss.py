"""Weighted and offset logloss: exact values in both tails, and what they are for."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit

import gbdt_objectives as go
from gbdt_objectives._rows.rows import RowValues
from tests.cases import each, refusals_of, refused

FACTORIES = [go.weighted_logloss_objective, go.offset_logloss_objective]
every_factory = each("factory", FACTORIES, ids=lambda f: f.__name__)
CLOSE = 1e-13  # log r by math or by numpy, whose last digit depends on the processor


@every_factory
@each("precision", [np.float32, np.float64])
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
    expected = plain.gradient_hessian(y, z - math.log(0.02))
    np.testing.assert_allclose(offset.gradient_hessian(y, z), expected, rtol=CLOSE)


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
@refused(
    (0, r"negative_keep_rate must be in \(0, 1\], found 0"),
    (-0.1, "found -0.1"),
    (1.5, "found 1.5"),
    (float("nan"), "must be finite, found nan"),
    ("0.1", "must be a number, found str", TypeError),
    (None, "must be a number, found NoneType", TypeError),
    (True, "must be a number, found bool", TypeError),
    ({0: 0.1, 1: 1.0}, r"found dict \{0: .*: write negative_keep_rate=rates\[0\]", TypeError),
    (np.array(0.1), "must be a number, found ndarray", TypeError),
)
def test_bad_rates(factory, rate) -> None:
    factory(rate)


# rates by row

RATES = np.array([0.02, 1.0, 0.3, 0.3, 0.05, 0.4])
LABELS = np.array([0.0, 1, 0, 1, 0, 0])


def test_rates_by_row_are_an_offset_of_each_row() -> None:
    rng = np.random.default_rng(2)
    z, w = rng.normal(-3, 2, 6), rng.integers(1, 4, 6).astype(float)
    by_row, plain = go.offset_logloss_objective(RATES), go.weighted_logloss_objective(1)
    s = z - np.log(RATES)
    for weight in (None, w):
        expected = plain.gradient_hessian(LABELS, s, weight)
        np.testing.assert_allclose(by_row.gradient_hessian(LABELS, z, weight), expected, rtol=CLOSE)
        expected = plain.loss(LABELS, s, weight)
        assert by_row.loss(LABELS, z, weight) == pytest.approx(expected, rel=CLOSE)


def test_equal_rates_by_row_are_one_rate() -> None:
    rng = np.random.default_rng(3)
    y, z = rng.integers(0, 2, 500).astype(float), rng.normal(-3, 2, 500)
    one, by_row = go.offset_logloss_objective(0.02), go.offset_logloss_objective(np.full(500, 0.02))
    np.testing.assert_allclose(one.gradient_hessian(y, z), by_row.gradient_hessian(y, z), CLOSE)
    assert by_row.loss(y, z) == pytest.approx(one.loss(y, z), rel=CLOSE)
    # a root found to 1e-13 instead of a formula
    assert by_row.measured(y).intercept == pytest.approx(one.measured(y).intercept, abs=1e-12)


# a rate of .9999999999999999 rounds some to 1, by chance in the rows with label 1 alone: refused
# positives are not rare here
@pytest.mark.filterwarnings("ignore:negative_keep_rate drops rows of")
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans(), least=st.floats(1e-12, 0.999))
def test_intercept_of_rates_by_row_has_least_loss(seed: int, weighted: bool, least: float) -> None:
    rng = np.random.default_rng(seed)
    rates = least ** rng.random(30)
    y = rng.permutation(np.arange(30) < rng.integers(1, 30)).astype(float)
    w = rng.random(30) + 0.01 if weighted else None
    obj = go.offset_logloss_objective(rates).measured(y, w)
    gradient, hessian = obj.gradient_hessian(y, np.full(30, obj.intercept), w)
    # of a sum of 30 gradients below 1; where sigmoids are all but 0 or 1 the root is flat
    assert abs(gradient.sum()) < 1e-12
    weight = np.ones(30) if w is None else w
    exact = weight @ expit(obj.intercept - np.log(rates)) - weight @ y
    assert exact == pytest.approx(0, abs=1e-11)
    assert hessian.sum() > 0


def offsets(objective):
    """-log rate of each row."""
    return dict(objective.named)["offset"]


def test_rates_by_row_make_a_value() -> None:
    given_rates = RATES.copy()
    obj = go.offset_logloss_objective(given_rates)
    same = go.offset_logloss_objective(RATES.tolist())
    given_rates[:] = 0.9  # theirs, not ours
    assert obj == same
    assert hash(obj) == hash(same)
    assert obj != go.offset_logloss_objective(RATES[::-1])
    assert obj != go.offset_logloss_objective(RATES[:5])
    assert obj != go.offset_logloss_objective(0.02)
    assert go.offset_logloss_objective([1.0]) != go.offset_logloss_objective(1.0)
    assert "6 rows" in repr(obj)
    assert obj.rows == 6
    assert go.offset_logloss_objective(0.02).rows is None
    for again in (obj, pickle.loads(pickle.dumps(obj)), copy.copy(obj), obj.measured(LABELS)):
        with pytest.raises(ValueError, match="read-only"):
            offsets(again).values[0] = 1
        with pytest.raises(AttributeError, match="cannot be changed"):
            offsets(again).values = RATES


def test_pandas_rates_count_by_position() -> None:
    pd = pytest.importorskip("pandas")
    series = pd.Series(RATES, index=[9, 4, 4, 0, 2, 1])
    assert go.offset_logloss_objective(series) == go.offset_logloss_objective(RATES)


test_bad_rates_by_row = refusals_of(
    go.offset_logloss_objective,
    ([0.1, 0], r"negative_keep_rate must be in \(0, 1\], found 0.0 at row 1"),
    ([0.1, 2], "found 2.0 at row 1.* 0.02 for 2 %"),
    ([0.1, -0.1], "found -0.1 at row 1"),
    ([0.1, np.nan], "must be finite, found nan at row 1"),
    ([], "negative_keep_rate is empty"),
    ([[0.1, 0.2]], "must be one-dimensional"),
    (["0.1"], "must hold real numbers", TypeError),
    ([True, False], "is it a mask", TypeError),
    ({0: 0.1, 1: 1}, "must be a number, found dict", TypeError),
)


def test_another_number_of_rows_is_refused_with_the_remedy() -> None:
    obj, z = go.offset_logloss_objective(RATES), np.zeros(5)
    message = r"y_true has 5 rows, but negative_keep_rate has 6.* offset_logloss_objective\(rates\["
    for call in (
        lambda: obj(LABELS[:5], z),
        lambda: obj.gradient_hessian(LABELS[:5], z),
        lambda: obj.loss(LABELS[:5], z),
        lambda: obj.bind(LABELS[:5]),
        lambda: obj.measured(LABELS[:5]),
        lambda: obj.measured(LABELS).measured(LABELS[:5]),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_rates_that_follow_the_label_are_refused() -> None:
    rates = np.where(LABELS == 1, 1.0, RATES / 2)
    obj, z = go.offset_logloss_objective(rates), np.zeros(6)
    for call in (lambda: obj(LABELS, z), lambda: obj.bind(LABELS), lambda: obj.measured(LABELS)):
        with pytest.raises(ValueError, match="is 1 in every row with label 1, but not in every"):
            call()
    for others in (np.minimum(rates, 0.999), np.where(LABELS == 1, 0.3, rates), np.ones(6)):
        go.offset_logloss_objective(others)(LABELS, z)


test_one_class_has_no_intercept = refusals_of(
    lambda rates, labels, weights: go.offset_logloss_objective(rates).measured(labels, weights),
    (0.1, [1, 1], None, "one class only"),
    (0.1, [0, 1], [1, 0], "one class only"),
    *(([rate] * 3, [label] * 3, None, "one class only")
      for label, rate in ((1, 1.0), (1, 0.5), (0, 0.5))),
)  # fmt: skip


def test_offsets_of_minus_zero_are_zero() -> None:
    assert hash(RowValues(np.array([-0.0]))) == hash(RowValues(np.array([0.0])))
    assert repr(offsets(go.offset_logloss_objective([1.0, 0.5]))) == "Offsets(2 rows, 0 to 0.6931)"


@each(
    "objective",
    [
        go.offset_logloss_objective(0.1), go.weighted_logloss_objective(0.1),
        go.offset_logloss_objective(np.full(1000, 0.1)),
    ],
)  # fmt: skip
def test_a_rate_of_the_rare_class_is_told(objective) -> None:
    y = np.repeat([0, 1], [260, 740])
    with pytest.warns(UserWarning, match="drops rows of 0, of which 260 .* 740 .*make it label 1"):
        objective.measured(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        objective.measured(1 - y)
        objective.measured(np.repeat([0, 1], [480, 520]))  # one to one, by chance
        go.weighted_logloss_objective(1.0).measured(y)  # nothing was dropped


MIXED = np.tile([0.005, 0.02], 200)[:397]  # rates of rows


@each(
    "objective",
    [
        go.offset_logloss_objective(0.01), go.weighted_logloss_objective(0.01),
        go.offset_logloss_objective(MIXED),
    ],
)  # fmt: skip
def test_a_rate_that_leaves_more_of_a_rare_event_is_right(objective) -> None:
    y = np.repeat([0, 1], [97, 300])  # of 3 % in the population, and of 2.4 %
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        objective.measured(y)


def test_a_rate_is_told_from_a_share_of_events_of_a_tenth_on() -> None:
    y = np.repeat([0, 1], [100, 300])
    rates = np.where(np.arange(400) % 2, 0.03, 0.05)  # of 2,667 rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        go.offset_logloss_objective(0.036).measured(y)
    for rate in (0.038, rates):  # of 10.2 %, and of 10.1 %
        with pytest.warns(UserWarning, match="drops rows of 0, of which 100"):
            go.offset_logloss_objective(rate).measured(y)
