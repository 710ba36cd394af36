"""The shift and its four uses: published vectors, invariants, extremes, bad input; its type."""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import expit, logit

from gbdt_objectives import correct_probability, log_odds_shift
from gbdt_objectives._rows.rows import BLOCK_BYTES
from gbdt_objectives.priors import (
    LogOddsShift,
    correct_margin,
    correct_threshold,
    measured_keep_rates,
)
from tests.cases import each, refusals, refusals_of, refused

EXACT = {"rel": 1e-14}  # a handful of roundings
PRINTED = {"abs": 5e-11}  # half a unit of the last printed digit
SIX_DIGITS = {"abs": 5e-7}

probabilities = st.floats(1e-6, 1 - 1e-6)
keep_rates = st.floats(1e-3, 1)
rates = st.floats(1e-4, 1e2)
shifts = st.floats(-8, 8)


# published vectors


@each(
    ("p_s", "rates", "p", "tolerance"),
    [
        (0.5, {"negative_keep_rate": 0.1}, 1 / 11, EXACT),
        (0.8, {"negative_keep_rate": 0.1}, 2 / 7, EXACT),
        (0.9, {"negative_keep_rate": 0.025}, 0.1836734694, PRINTED),
        (0.2, {"negative_keep_rate": 0.05}, 1 / 81, EXACT),
        (0.6, {"positive_keep_rate": 0.2}, 15 / 17, EXACT),
        (0.5, {"positive_keep_rate": 10}, 1 / 11, EXACT),
        (0.5, {"positive_keep_rate": 10, "negative_keep_rate": 0.5}, 1 / 21, EXACT),
        (0.8, {"train_prior": 0.5, "target_prior": 0.01}, 0.0388349515, PRINTED),
    ],
)
def test_binary_vectors(p_s, rates, p, tolerance) -> None:
    shift = log_odds_shift(**rates)
    assert isinstance(shift, LogOddsShift)
    assert type(float(shift)) is float
    assert correct_probability(p_s, shift) == pytest.approx(p, **tolerance)
    assert correct_probability([p_s], shift)[0] == pytest.approx(p, **tolerance)
    np.testing.assert_allclose(
        correct_probability([[1 - p_s, p_s]], shift), [[1 - p, p]], rtol=2e-9, atol=0
    )
    assert expit(correct_margin(logit(p_s), shift)) == pytest.approx(p, rel=2e-9)


@pytest.mark.parametrize(
    ("p_s", "train_prior", "target_prior", "p"),
    [
        ([0.5, 0.3, 0.2], [1 / 3] * 3, [0.7, 0.2, 0.1], [0.813953, 0.139535, 0.046512]),
        ([0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.8, 0.15, 0.05], [0.845815, 0.132159, 0.022026]),
    ],
)
def test_vectors_of_three_classes(p_s, train_prior, target_prior, p) -> None:
    shift = log_odds_shift(train_prior=train_prior, target_prior=target_prior)
    assert correct_probability([p_s], shift)[0] == pytest.approx(p, **SIX_DIGITS)
    margin = correct_margin(np.log([p_s]), shift)
    assert np.exp(margin[0]) / np.exp(margin[0]).sum() == pytest.approx(p, **SIX_DIGITS)


@each("dtype", [np.float32, np.float64])
@each("shift", [-700.0, -81.0, -80.0, -1.5, 0.0, 2.0, 80.0, 81.0, 700.0])
@pytest.mark.filterwarnings("error")
def test_zero_and_one_stay_exactly(dtype, shift) -> None:
    ends = np.array([0, 1], dtype)
    np.testing.assert_array_equal(correct_probability(ends, shift=shift), ends)
    np.testing.assert_array_equal(correct_threshold(ends, shift=shift), ends)
    np.testing.assert_array_equal(
        correct_probability(np.eye(2, dtype=dtype), shift=shift), np.eye(2)
    )
    for d in ([0, shift, 1], [shift, 1, 0]):
        if np.ptp(d) <= 700:
            one_hot = np.eye(3, dtype=dtype)
            np.testing.assert_array_equal(correct_probability(one_hot, shift=d), one_hot)


def test_forward_is_the_negated_shift() -> None:
    shift = log_odds_shift(negative_keep_rate=0.1)
    assert correct_probability(0.05, shift=-shift) == pytest.approx(0.3448275862, **PRINTED)
    assert correct_threshold(0.5, shift) == pytest.approx(10 / 11, **EXACT)
    assert correct_threshold(0.5, shift=-shift) == pytest.approx(1 / 11, **EXACT)


# the short form


def sampled_prior(tau: float, w: float) -> float:
    return tau / (tau + w * (1 - tau))


def test_sampled_prior_vector() -> None:
    s = correct_probability(0.001, shift=-log_odds_shift(negative_keep_rate=0.01))
    assert s == pytest.approx(0.0909918, abs=5e-8)
    assert sampled_prior(0.001, 0.01) == pytest.approx(s, rel=1e-12)


@each("p_s", [0.01, 0.5, 0.99])
@each(
    ("tau", "w", "factor"),
    [(0.001, 0.01, 1.099), (0.0001, 0.0001 / 0.9999, 2.0), (0.005, 0.02, 1.245)],
    ids=["downsampled", "balanced", "experiment"],
)
def test_the_short_form_is_another_number(p_s, tau, w, factor) -> None:
    """-log(s/tau) leaves the odds wrong by (1-tau)/(1-s); the exact form is log w."""
    s = sampled_prior(tau, w)
    shift = log_odds_shift(train_prior=s, target_prior=tau)
    assert shift == pytest.approx(log_odds_shift(negative_keep_rate=w), rel=1e-12)
    short = correct_probability(p_s, shift=-math.log(s / tau))
    exact = correct_probability(p_s, shift=shift)
    wrong_by = (short / (1 - short)) / (exact / (1 - exact))
    assert wrong_by == pytest.approx((1 - tau) / (1 - s), rel=1e-9)
    assert wrong_by == pytest.approx(factor, abs=5e-4)  # as printed


# what the shift is


@given(alpha=rates, beta=keep_rates, tau=probabilities)
def test_rates_and_priors_are_the_same_shift(alpha, beta, tau) -> None:
    s = alpha * tau / (alpha * tau + beta * (1 - tau))
    by_rates = log_odds_shift(negative_keep_rate=beta, positive_keep_rate=alpha)
    # 1-s loses digits when s is near 1
    tolerance = {"rel": 1e-9, "abs": 1e-9 + 1e-15 / (1 - s)}
    assert log_odds_shift(train_prior=s, target_prior=tau) == pytest.approx(by_rates, **tolerance)
    per_class = log_odds_shift(class_keep_rates=[beta, alpha])
    assert np.diff(per_class)[0] == pytest.approx(by_rates, abs=1e-12)
    per_class = log_odds_shift(train_prior=[1 - s, s], target_prior=[1 - tau, tau])
    assert np.diff(per_class)[0] == pytest.approx(by_rates, **tolerance)


@given(p_s=st.fractions(0, 1), alpha=st.fractions("0.001", 100), beta=st.fractions("0.001", 1))
def test_exact_arithmetic(p_s, alpha, beta) -> None:
    p_s = Fraction(float(p_s))
    p = (p_s / alpha) / (p_s / alpha + (1 - p_s) / beta)
    shift = log_odds_shift(negative_keep_rate=float(beta), positive_keep_rate=float(alpha))
    found = correct_probability(float(p_s), shift)
    # log and exp of up to log(1e5) lose 12 units in the last place, the rest a few
    assert found == pytest.approx(float(p), rel=1e-14)


# invariants

rows = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1))


@pytest.mark.filterwarnings("ignore:probability is 0 or 1", "ignore:margin is between")
@given(p=rows, a=shifts, b=shifts)
def test_corrections_compose_and_invert(p, a, b) -> None:
    # 1-p loses at most 1e-16 of the odds at p near 1, times exp(8), twice
    both = correct_probability(correct_probability(p, shift=a), shift=b)
    np.testing.assert_allclose(both, correct_probability(p, shift=a + b), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        correct_probability(correct_probability(p, shift=a), shift=-a), p, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(correct_margin(correct_margin(p, shift=a), shift=-a), p, atol=1e-14)


simplex = st.integers(2, 6).flatmap(
    lambda K: st.tuples(
        hnp.arrays(np.float64, (4, K), elements=st.floats(1e-3, 1)),
        hnp.arrays(np.float64, (2, K), elements=shifts),
    )
)


@given(simplex)
def test_corrections_compose_and_invert_for_many_classes(drawn) -> None:
    p, (a, b) = drawn
    p = p / p.sum(axis=1, keepdims=True)
    once = correct_probability(p, shift=a)
    np.testing.assert_allclose(once.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(
        correct_probability(once, shift=b), correct_probability(p, shift=a + b), 1e-12
    )
    np.testing.assert_allclose(correct_probability(once, shift=-a), p, 1e-12)
    np.testing.assert_allclose(
        once, correct_probability(p, shift=a + 3.0), 1e-12
    )  # up to a constant
    expected = np.exp(correct_margin(np.log(p), shift=a))
    np.testing.assert_allclose(once, expected / expected.sum(axis=1, keepdims=True), 1e-12)


@pytest.mark.filterwarnings("ignore:probability is 0 or 1", "ignore:margin is between")
@given(p=rows, shift=st.floats(-30, 30))
def test_two_columns_are_the_binary_case(p, shift) -> None:
    p = np.where(p < 1e-290, 0, p)  # odds of 1e300 and more are infinite: the binary case gives 0
    two = np.column_stack([1 - p, p])
    np.testing.assert_allclose(
        correct_probability(two, shift=shift)[:, 1], correct_probability(p, shift=shift), rtol=1e-14
    )
    np.testing.assert_array_equal(
        correct_probability(two, shift=shift), correct_probability(two, shift=[0, shift])
    )
    margin = correct_margin(two, shift=shift)
    np.testing.assert_array_equal(margin, np.column_stack([two[:, 0], two[:, 1] + shift]))


@each("dtype", [np.float32, np.float64])
@each("shift", [-30.0, -3.9, -0.3, 0.0, 0.3, 2.5, 30.0])
def test_never_reverses_an_order(shift, dtype) -> None:
    """Neighbouring floats, where p / (p + (1-p) exp(-d)) as it stands does."""
    for start in (1e-6, 0.01, 0.3, 0.5, 0.9, 0.997):
        p = dtype(start) * (1 + np.finfo(dtype).eps * np.arange(20_000, dtype=dtype))
        assert (np.diff(correct_probability(p, shift=shift)) >= 0).all()


@pytest.mark.filterwarnings("ignore:probability is 0 or 1", "ignore:margin is between")
@given(p=rows, t=probabilities, shift=shifts)
def test_a_corrected_threshold_decides_as_corrected_probabilities_do(p, t, shift) -> None:
    t_s = correct_threshold(t, shift=shift)
    clear = np.abs(p - t_s) > 1e-9  # rounding may fall either way on the threshold itself
    np.testing.assert_array_equal(
        (correct_probability(p, shift=shift) >= t)[clear], (p >= t_s)[clear]
    )
    assert correct_threshold(t_s, shift=-shift) == pytest.approx(t, rel=1e-9)


# extremes, types, shapes


@each("shift", [-700, -300.0, -60.0, -7.0, 7.0, 60.0, 300.0, 700.0])
@pytest.mark.filterwarnings("error")
def test_both_tails(shift) -> None:
    """p of 1e-300 and 1 - 2**-53, by exact arithmetic."""
    p_s = np.array([1e-300, 1e-12, 0.5, 1 - 2**-53])
    odds_ratio = Fraction(math.exp(-shift))
    expected = [float(Fraction(v) / (Fraction(v) + (1 - Fraction(v)) * odds_ratio)) for v in p_s]
    found = correct_probability(p_s, shift=shift)
    normal = np.array(expected) > 1e-307  # below, a float64 has few digits
    np.testing.assert_allclose(found[normal], np.array(expected)[normal], rtol=1e-14)
    np.testing.assert_allclose(found[~normal], 0, atol=1e-307)


@each("shift", [-100.0, -79.0, -3.0, 79.0, 100.0])
def test_float32_is_as_good_as_it_can_be(shift) -> None:
    p_s = np.array([1e-30, 1e-6, 0.3, 0.999999], np.float32)
    expected = correct_probability(p_s.astype(np.float64), shift=shift)
    found = correct_probability(p_s, shift=shift)
    assert found.dtype == np.float32
    # four roundings of 6e-8; numbers below 1e-37 have few digits in float32
    np.testing.assert_allclose(found, expected, rtol=3e-7, atol=1e-37)


@each("given", [np.float32, np.float64, np.int64, np.float16, ">f4"])
def test_dtype_is_kept(given) -> None:
    """A float32 in any order of bytes; all else becomes float64."""
    returned = np.float32 if np.dtype(given).newbyteorder("=") == np.float32 else np.float64
    rows, classes = np.array([0, 1, 1], given), np.array([[0, 1], [1, 0]], given)
    for array, shift in ((rows, -1.0), (classes, -1.0), (classes, [0.5, 2.0]), (rows, -90.0)):
        for correct in (correct_probability, correct_margin):
            assert correct(array, shift=shift).dtype == returned


@each("dtype", [np.float32, np.float64])
@each("level", [-1000.0, 1000.0])
def test_only_differences_between_classes_count(dtype, level) -> None:
    p = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]], dtype)
    np.testing.assert_array_equal(
        correct_probability(p, shift=[level, level + 2, level + 1]),
        correct_probability(p, shift=[0, 2, 1]),
    )


def test_long_and_strided_arrays() -> None:
    """Several blocks, and a column of predict_proba."""
    p = np.random.default_rng(0).random((600_001, 2), dtype=np.float32)
    expected = p[:, 1] / (p[:, 1] + (1 - p[:, 1]) * np.float32(math.exp(2.5)))
    np.testing.assert_allclose(correct_probability(p[:, 1], shift=-2.5), expected, rtol=3e-7)


@pytest.mark.parametrize("correct", [correct_probability, correct_margin])
def test_arguments_are_left_alone(correct) -> None:
    for array, shift in ((np.array([0.2, 0.5]), -1.0), (np.array([[0.2, 0.8]]), [1.0, 2.0])):
        before, d = array.copy(), np.array(shift)
        correct(array, shift=d if d.ndim else shift)
        np.testing.assert_array_equal(array, before)
        np.testing.assert_array_equal(d, shift)


def test_one_number_in_one_number_out() -> None:
    for correct in (correct_probability, correct_margin, correct_threshold):
        assert isinstance(correct(0.5, shift=-1.0), float)
    assert isinstance(correct_probability(np.float32(0.5), shift=-1.0), np.float32)


# bad input


test_bad_class_rates = refusals_of(
    lambda bad: log_odds_shift(class_keep_rates=bad),
    ([0.1, 0], r"class_keep_rates\[1\] must be above 0"),
    ([0.1, -1], r"class_keep_rates\[1\] must be above 0"),
    ([0.1, math.nan], "class_keep_rates must be finite"),
    ([0.1], "class_keep_rates must have a rate for each of two classes or more"),
    ([], "class_keep_rates is empty"),
    ([[0.1, 1]], "class_keep_rates must be one-dimensional"),
)


@each("which", ["train_prior", "target_prior"])
@each(
    ("bad", "message"),
    [
        (0.0, "must be above 0 and below 1, found 0.0"),
        (1.0, "must be above 0 and below 1, found 1.0"),
        (-0.1, "must be above 0 and below 1"),
        (math.nan, "must be finite"),
        ([0.5, 0.4], "must sum to 1, found 0.9"),
        ([0.5, 0.5, 0.0], "must be above 0 for every class, found 0.0 for class 2"),
        ([1.5, -0.5], "must hold probabilities >= 0, found -0.5"),
        ([0.5, math.nan], "must be finite"),
        ([1.0], "has one class"),
        ([], "is empty"),
    ],
)
def test_bad_priors(which, bad, message) -> None:
    good = 0.5 if np.ndim(bad) == 0 else [0.5, 0.5]
    priors = {"train_prior": good, "target_prior": good, which: bad}
    with pytest.raises(ValueError, match=f"{which} {message}"):
        log_odds_shift(**priors)


@each("dtype", [np.float32, np.float64])
@each("shift", [-1.0, 1.0, 200.0])
def test_one_bad_probability_of_a_long_vector_is_found_in_every_block(dtype, shift) -> None:
    """First, middle and last of three blocks, at their first, a middle and their last row."""
    size = BLOCK_BYTES // np.dtype(dtype).itemsize
    if shift > 80:  # worked in float64
        size = BLOCK_BYTES // 8
    p = np.full(2 * size + 1000, 0.5, dtype)
    rows = [
        row
        for block in range(3)
        for row in (block * size, block * size + 500, min((block + 1) * size, len(p)) - 1)
    ]
    every = itertools.cycle([-1e-6, -0.01, -math.inf, 1.000001, 1.01, math.inf, math.nan])
    for row in rows + rows[::-1]:  # 18 places, and so each of the seven in some of each block
        p[row] = next(every)
        with pytest.raises(ValueError, match=f"probability must be .* at row {row}[: ]"):
            correct_probability(p, shift=shift)
        p[row] = 0.5


def test_rows_that_do_not_sum_to_one() -> None:
    with pytest.raises(ValueError, match="rows of probability must sum to 1, found 0.9 at row 1"):
        correct_probability([[0.5, 0.5], [0.5, 0.4]], shift=-1.0)
    off = np.array([[0.3, 0.7 + 5e-5]])  # what float32 arithmetic may leave
    np.testing.assert_allclose(correct_probability(off, shift=0.0).sum(), 1, rtol=1e-15)


@each("correct", [correct_probability, correct_margin])
@refused(
    ((4, 3), -1.0, "has 3 columns, but shift is one number"),
    ((4, 3), [0.0, 1.0], "has shape .4, 3., but shift has 2 classes"),
    ((4,), [0.0, 1.0], "has shape .4,., but shift has 2 classes"),
    ((4, 1), -1.0, "has 1 columns"),
    ((2, 2, 2), -1.0, "must be .n,. or .n, K. and not empty"),
    ((0,), -1.0, "must be .n,. or .n, K. and not empty"),
    ((4,), math.nan, "shift must be finite"),
    ((4, 2), [math.nan, 0], "shift must be finite"),
    ((4, 2), [[0.0, 1.0]], "shift must be one-dimensional"),
)
def test_shapes_that_do_not_fit(correct, shape, shift) -> None:
    correct(np.full(shape, 1 / shape[-1] if shape[-1] else 0), shift=shift)


@pytest.mark.parametrize("shift", [701.0, -701.0])
def test_shifts_that_no_probability_can_hold(shift) -> None:
    with pytest.raises(ValueError, match="shift must be at most 700, found 701"):
        correct_probability([0.5], shift=shift)
    assert correct_margin([0.5], shift=shift)[0] == 0.5 + shift


def test_class_keep_rates_as_a_mapping_are_taken_in_the_order_of_the_labels() -> None:
    for rates in ({0: 0.1, 1: 1.0}, {1: 1.0, 0: 0.1}, {"a": 0.1, "b": 1.0}):
        shift = log_odds_shift(class_keep_rates=rates)
        np.testing.assert_allclose(shift, -np.log([0.1, 1.0]), rtol=1e-15)  # one log in each
    rates = measured_keep_rates(["c", "a", "b", "b"] * 2, ["a", "b", "c", "c"])
    shift = log_odds_shift(class_keep_rates=rates)
    np.testing.assert_allclose(shift, -np.log([0.5, 0.25, 1]), rtol=1e-15)
    with pytest.raises(TypeError, match="class_keep_rates must map labels of one type to numbers"):
        log_odds_shift(class_keep_rates={0: 0.1, "b": 1.0})
    with pytest.raises(ValueError, match=r"class_keep_rates\['b'\] must be above 0, found 0"):
        log_odds_shift(class_keep_rates={"a": 0.1, "b": 0.0})
    with pytest.raises(ValueError, match="class_keep_rates must have a rate for each of two"):
        log_odds_shift(class_keep_rates={0: 0.1})


def test_rates_of_two_classes_correct_the_probability_of_label_1() -> None:
    p, rates = np.array([0.2, 0.5, 0.8]), {0: 0.1, 1: 1.0}
    expected = correct_probability(p, negative_keep_rate=0.1)
    for found in (
        correct_probability(p, class_keep_rates=rates),
        correct_probability(np.column_stack([1 - p, p]), class_keep_rates=rates)[:, 1],
        expit(correct_margin(logit(p), class_keep_rates=rates)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    threshold = correct_threshold(0.5, class_keep_rates=rates)
    assert threshold == pytest.approx(10 / 11, **EXACT)


def test_measured_rates_as_one_rate_or_by_position_name_the_remedy() -> None:
    rates = measured_keep_rates([0, 0, 0, 0, 1], [0, 1])
    with pytest.raises(TypeError, match="negative_keep_rate must be .*: write class_keep_rates="):
        log_odds_shift(negative_keep_rate=rates)
    with pytest.raises(TypeError, match="takes nothing by position.*by name.*class_keep_rates="):
        log_odds_shift(rates)
    with pytest.raises(TypeError, match="takes nothing by position.*by name, negative_keep_rate="):
        log_odds_shift(0.1)


def test_one_in_twenty_is_no_rate_of_20() -> None:
    with pytest.raises(ValueError, match=r"at most 1, found 20: .*, 1/20 for one in 20; if each"):
        correct_probability(0.2, negative_keep_rate=20)
    copied = log_odds_shift(class_keep_rates=[20, 1])
    assert np.diff(copied)[0] == pytest.approx(math.log(20))


def test_the_documented_signature_is_the_real_one() -> None:
    for correct in (correct_probability, correct_margin, correct_threshold):
        parameters = list(inspect.signature(correct).parameters.values())[1:]
        assert [q.name for q in parameters] == [
            "shift",
            *inspect.signature(log_odds_shift).parameters,
        ]
        assert all(q.default is None for q in parameters)
        assert all(q.kind is q.KEYWORD_ONLY for q in parameters[1:])
        assert pickle.loads(pickle.dumps(correct)) is correct


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
    for description, words in (
        ({}, "exactly one description .* found none: pass the"),
        ({"shift": shift, "negative_keep_rate": 0.1}, "found shift and .*_rate: leave one out"),
        ({"shift": -1.0, "negative_keep_rate": 0.1}, "found shift and .*_rate: leave one out"),
        ({"negative_keep_rate": 0.1, "class_keep_rates": [0.1, 1]}, "exactly one .* found 2"),
        ({"train_prior": 0.1}, "target_prior is missing"),
        ({"negative_keep_rate": -2.3}, "negative_keep_rate must be above 0"),
    ):
        with pytest.raises(ValueError, match=words):
            correct(value, **description)


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
    assert float(a) == a == pytest.approx(math.log(0.1), rel=1e-15)
    assert f"{a:.2f}" == "-2.30"
    assert repr(a) == f"LogOddsShift({float(a)!r})"
    assert repr(log_odds_shift(class_keep_rates=[0.5, 1])).startswith("LogOddsShift([0.69")
    with pytest.raises(TypeError):
        float(log_odds_shift(class_keep_rates=[0.1, 1]))


test_what_is_no_shift_cannot_be_made = refusals_of(
    LogOddsShift,
    ("abc", "values must be a number, found str 'abc'", TypeError),
    (None, "values must be a number, found NoneType", TypeError),
    (math.nan, "values must be finite, found nan"),
    ([0.0, math.inf], "values must be finite, found inf at row 1"),
    ([[1.0, 2.0]], "values must be one-dimensional"),
    ([1.0], r"a number or one of each class, found \[1.0\]"),
)


def test_a_standard_error_is_saved():
    saved = LogOddsShift(-2.5, 0.2).to_json()
    assert LogOddsShift.from_json(saved).standard_error == pytest.approx(0.2, rel=1e-15)


def test_probabilities_up_to_1_are_no_margins():
    with pytest.warns(UserWarning, match="as probabilities are"):
        correct_margin(np.linspace(0, 1, 100), shift=1.0)


test_refusals = refusals(
    *((lambda bad=bad: log_odds_shift(negative_keep_rate=0.1, positive_keep_rate=[bad]),
     "positive_keep_rate must be a number", TypeError) for bad in ["0.1", True, None, [0.1]]),
    *((lambda other=other: log_odds_shift(train_prior=[0.5, 0.5], target_prior=other),
     r"train_prior is \[.*\], but target_prior .*: give both") for other in [[0.2, 0.3, 0.5], 0.5]),
    *((lambda bad=bad: correct_threshold(bad, shift=-1.0), "threshold must be in .0, 1., found")
      for bad in [-0.01, 1.01, math.nan, math.inf]),
    *((lambda bad=bad: correct_probability([[0.5, 0.5], [1 - bad, bad]], shift=-1.0),
     "probability must be in .0, 1., found .* at row 1")
      for bad in [-0.01, 1.01, math.nan, math.inf]),
    *((lambda bad=bad: correct_margin([0.0, bad], shift=-1.0), "margin must be finite")
      for bad in [math.nan, math.inf]),
    *((lambda several=several: correct_threshold(0.5, **several),
     "shift must be one number for a threshold")
      for several in ({"shift": [0.0, 1.0]}, {"class_keep_rates": [0.1, 0.2, 1.0]})),
    (lambda: correct_threshold([[0.5, 0.5]], shift=-1.0), "threshold must be a number or .m,."),
    *((lambda bad=bad: correct_probability(bad, shift=-1.0), "probability must hold real numbers",
     TypeError) for bad in ["a", None, [{"p": 1}]]),
    *((lambda bad=bad: correct_probability([0.5], shift="0.1"), "shift must be a number", TypeError)
      for bad in ["a", None, [{"p": 1}]]),
    (lambda: log_odds_shift(negative_keep_rate=10**400),
     "negative_keep_rate must be finite, found an integer"),
    *((lambda thing=thing: correct_probability(0.3, thing),
     "shift must be what log_odds_shift returned", TypeError)
      for thing in [{0: 0.1, 1: 1.0}, "0.1", [[0.1], [0.1, 1]]]),
    *((lambda name=name, bad=bad: log_odds_shift(**{name: bad}), f"{name} must be")
      for name in ("negative_keep_rate", "positive_keep_rate")
      for bad in [0, -0.1, math.nan, math.inf]),
    *((lambda given=given: log_odds_shift(**given), "exactly one description of the shift is")
      for given in [{}, {"class_keep_rates": [0.1, 1], "target_prior": 0.5},
                    {"positive_keep_rate": 0.1, "class_keep_rates": [0.1, 1]},
                    {"negative_keep_rate": 0.1, "train_prior": 0.5, "target_prior": 0.1}]),
    (lambda: log_odds_shift(train_prior=0.5), "target_prior is missing"),
    (lambda: log_odds_shift(target_prior=0.5), "train_prior is missing"),
)  # fmt: skip
