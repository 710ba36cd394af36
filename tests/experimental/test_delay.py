"""The distribution of delays: brute force, simulated truth, weights, JSON, bad input."""

from __future__ import annotations

import copy
import pickle
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from gbdt_objectives.experimental import DelayDistribution, delay_distribution
from tests.cases import refusals, refusals_of, refused

AGE, DELAY = [1, 1, 2, 5, 5, 9], [0, 1, 1, 2, 1, 4]


def test_by_hand() -> None:
    """At 4, one of three that are old enough; at 2, one of three; at 1, three of four."""
    found = delay_distribution(AGE, DELAY)
    np.testing.assert_allclose(found.delay, [0, 1, 2, 4])
    np.testing.assert_allclose(found.probability, [1 / 9, 4 / 9, 2 / 3, 1], rtol=1e-14)
    variances = [3 / 4 + 1 / 6 + 1 / 6, 1 / 6 + 1 / 6, 1 / 6, 0]
    np.testing.assert_allclose(found.standard_error, found.probability * np.sqrt(variances))
    assert found.horizon == 9


def sample(rng, m):
    age = rng.integers(0, 7, m)
    delay = np.minimum(rng.geometric(0.4, m) - 1, 6)
    kept = delay <= age
    return age[kept], delay[kept]


@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_it_has_the_greatest_likelihood(seed: int, weighted: bool) -> None:
    """Its derivative by each f(t) is 0, n(t)/f(t) less the sum over rows old enough for t of
    w/F(age), and it is concave in log f."""
    rng = np.random.default_rng(seed)
    age, delay = sample(rng, 120)
    w = rng.integers(1, 4, len(age)).astype(float) if weighted else np.ones(len(age))
    try:
        F = delay_distribution(age, delay, w if weighted else None)
    except ValueError as error:
        assume("cannot be compared" not in str(error))
        raise
    np.testing.assert_array_equal(F.delay, np.unique(delay))
    n = np.array([w[delay == t].sum() for t in F.delay])
    risk = np.array([(w / F(age))[age >= t].sum() for t in F.delay])
    np.testing.assert_allclose(np.diff(F.probability, prepend=0), n / risk, rtol=1e-10)


def test_old_rows_alone_give_the_share_of_each() -> None:
    rng = np.random.default_rng(2)
    delay = rng.integers(0, 9, 300)
    F = delay_distribution(np.full(300, 20), delay)
    t = np.arange(9)
    share = (delay <= t[:, np.newaxis]).mean(axis=1)
    np.testing.assert_allclose(F(t), share, rtol=1e-13)
    binomial = np.sqrt(share * (1 - share) / 300)
    np.testing.assert_allclose(F.standard_error, binomial, rtol=1e-12)


def test_the_truth_within_its_errors() -> None:
    """Exponential delays of which young rows have shown the short ones; 40 draws."""
    rng = np.random.default_rng(3)
    at, horizon = np.array([1.0, 3.0, 8.0, 15.0]), 30.0
    truth = np.expm1(-at / 10) / np.expm1(-horizon / 10)
    z, naive = [], []
    for _ in range(40):
        age, delay = rng.uniform(0, horizon, 3000), rng.exponential(10, 3000)
        seen = delay <= age
        F = delay_distribution(age[seen], delay[seen])
        error = F.standard_error[np.searchsorted(F.delay, at, side="right") - 1]
        z.append((F(at) - truth) / error)
        naive.append((delay[seen] <= at[:, np.newaxis]).mean(axis=1) - truth)
    # the mean of 40 has an error of .16; the estimate is of the horizon seen, slightly below 30
    assert np.abs(np.mean(z, axis=0)).max() < 0.6
    assert np.abs(np.std(z, axis=0) - 1).max() < 0.4  # .11 is its error
    assert np.mean(naive, axis=0).max() > 0.1  # shares of the seen are far too high


def test_weights_are_copies() -> None:
    rng = np.random.default_rng(4)
    age, delay = sample(rng, 200)
    w = rng.integers(0, 4, len(age))
    weighted = delay_distribution(age, delay, w)
    copies = delay_distribution(np.repeat(age, w), np.repeat(delay, w))
    for name in ("delay", "probability", "standard_error"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(copies, name), rtol=1e-13)
    scaled = delay_distribution(age, delay, 0.1 * w)
    np.testing.assert_allclose(scaled.probability, copies.probability, rtol=1e-12)


def test_a_horizon_leaves_out_longer_delays() -> None:
    rng = np.random.default_rng(5)
    age, delay = sample(rng, 400)
    full, short = delay_distribution(age, delay), delay_distribution(age, delay, horizon=3)
    assert short.horizon == 3
    np.testing.assert_allclose(short([0, 1, 2, 3]), full([0, 1, 2, 3]) / full([3]), rtol=1e-13)
    kept = delay <= 3
    same = delay_distribution(np.minimum(age[kept], 3), delay[kept])
    np.testing.assert_array_equal(same.probability, short.probability)


def test_ages_between_and_beyond() -> None:
    F = delay_distribution(AGE, DELAY)
    np.testing.assert_array_equal(F([0.5, 3.99, 4, 9, 1e9]), F([0, 2, 4, 4, 4]))
    assert F([4])[0] == 1
    late = delay_distribution([3, 4], [2, 2])
    np.testing.assert_array_equal(late([0, 1.9, 2, 3]), [0, 0, 1, 1])


def test_it_is_a_value() -> None:
    F = delay_distribution(AGE, DELAY)
    for again in (
        DelayDistribution.from_json(F.to_json()), pickle.loads(pickle.dumps(F)), copy.deepcopy(F)
    ):  # fmt: skip
        np.testing.assert_array_equal(again([0, 1, 3]), F([0, 1, 3]))
        np.testing.assert_array_equal(again.standard_error, F.standard_error)
        assert again.horizon == F.horizon
    with pytest.raises(ValueError, match="read-only"):
        F.probability[0] = 1
    assert repr(F).startswith("DelayDistribution: 4 delays, horizon 9\n")
    with pytest.raises(ValueError, match="JSON of another format"):
        DelayDistribution.from_json('{"format": "other"}')
    with pytest.raises(ValueError, match="delay must be a list of numbers"):
        DelayDistribution.from_json(F.to_json().replace("[0.0, 1.0, 2.0, 4.0]", "3"))


NAN = float("nan")


test_bad_input = refusals_of(
    lambda age, delay, how: delay_distribution(age, delay, **how),
    ([3, -1], [1, 0], {}, "age must not be negative, found -1.0 at row 1"),
    ([3, 2], [1, -1], {}, "delay must not be negative, .* the right way round"),
    ([3, NAN], [1, 0], {}, "age must be finite, found nan at row 1"),
    ([3, 4], [1, NAN], {}, "delay must be finite, .* row 1: pass the rows whose"),
    ([3, np.inf], [1, 0], {}, "age must be finite, found inf"),
    ([], [], {}, "age is empty"),
    ([3, 4], [1], {}, "delay has 1 rows, but the ages have 2"),
    ([[3]], [[1]], {}, "age must be one-dimensional"),
    (["3"], [1], {}, "age must hold real numbers", TypeError),
    (np.array([3], "m8[D]"), [1], {}, r"age / numpy.timedelta64\(1, 'D'\) for days", TypeError),
    ([3, 2, 5], [1, 4, 2], {}, "found delay 4 at age 2 at row 1 .*same unit"),
    ([1, 2, 2], [3, 2, 4], {}, r"swapped, call delay_distribution\(age, delay\)"),
    ([3, 4], [1, 1], {"sample_weight": [0, 0]}, "sample_weight is 0 in all 2"),
    ([3, 4], [1, 1], {"sample_weight": [1, -1]}, "must not be negative"),
    ([3, 4], [1, 1], {"horizon": 5}, "from 0 to the greatest age, 4, found 5"),
    ([3, 4], [1, 1], {"horizon": -1}, "horizon must be from 0"),
    ([3, 4], [1, 2], {"horizon": 0.5}, "leave some labels, found 0.5, below"),
    ([3, 4], [1, 2], {"horizon": "5"}, "horizon must be a number", TypeError),
    ([1, 2, 9], [0, 1, 7], {},
     "delay 7 cannot be compared to shorter ones: .* below 7, .* or horizon=1, for"),
    (np.array([0.7, 2], np.float32), [0.7, 0.5], {},
     r"delay 0.699999999\d+ at age 0.69999998\d+ at row 0"),
    (np.array(AGE, object), DELAY, {}, "dtype object", TypeError),
    (AGE, np.array(DELAY) > 0, {}, "delay must be times, found True and False.* and no other",
     TypeError),
    (AGE, [0, 1, 1, 2, None, 4], {}, "delay must hold real numbers, found None: pass the row",
     TypeError),
    (AGE, [0, 1, 1, 2, np.inf, 4], {}, "found inf at row 4: pass the rows whose label has"),
    (AGE, [0, 1, 1, 2, -1, 4], {}, "found -1.0 at row 4.*pass the rows whose label has arr"),
    ([timedelta(k) for k in AGE], DELAY, {}, r"age / numpy.timedelta64\(1, 'D'\) for days",
     TypeError),
    (3, DELAY, {}, r"age must be one-dimensional, found the number 3: pass a list, \[3\]"),
    (AGE, DELAY, {"horizon": np.timedelta64(3, "D")},
     "horizon must be a number, found timedelta64", TypeError),
)  # fmt: skip


def test_the_horizon_that_the_message_names_works() -> None:
    F = delay_distribution([1, 2, 9], [0, 1, 7], horizon=1)
    np.testing.assert_array_equal(F.delay, [0, 1])
    # a weight that rounding loses links nothing
    with pytest.raises(ValueError, match="delay 1 cannot be compared"):
        delay_distribution([1, 0, 1], [0, 0, 1], [1e-20, 1, 1])


@refused(
    ({"delay": [1, 1]}, "delay must ascend, found 1.0 at row 1"),
    ({"delay": [-1, 1]}, "delay must not be negative"),
    ({"probability": [0, 1]}, "probability must be above 0"),
    ({"probability": [0.5, 0.4]}, "not descend, found 0.4 at row 1"),
    ({"probability": [0.5, 0.9]}, "probability must be 1 at the last delay, found 0.9"),
    ({"probability": [1]}, "probability has 1 rows, but the delays have 2"),
    ({"standard_error": [-1, 0]}, "standard_error must not be negative"),
    ({"horizon": 1}, "horizon must be at least the last delay, 2, found 1"),
)
def test_bad_distributions(how) -> None:
    right = {"delay": [0, 2], "probability": [0.5, 1], "standard_error": [0.1, 0], "horizon": 3}
    DelayDistribution(**right)
    DelayDistribution(**right | how)


def test_ages_in_place_of_the_delays_that_are_missing_are_refused() -> None:
    """As durations of survival analysis are written; rows of weight 0 are none."""
    rng = np.random.default_rng(0)
    age, delay = rng.integers(0, 30, 300), rng.integers(0, 9, 300)
    arrived = (rng.random(300) < 0.3) & (delay <= age)
    with pytest.raises(ValueError, match="delay is the row's age in .* whose label has arrived"):
        delay_distribution(age, np.where(arrived, delay, age))
    found = delay_distribution(age, np.where(arrived, delay, age), arrived.astype(float))
    expected = delay_distribution(age[arrived], delay[arrived], horizon=found.horizon)
    np.testing.assert_allclose(found.probability, expected.probability)


def test_half_of_the_delays_may_be_ages() -> None:
    """More than half of the rows of an age above 0 are refused, at 5 ages or more."""
    age = np.array([1, 2, 3, 4, 5, 9, 9, 9, 9, 9])
    delay = np.array([1, 2, 3, 4, 5, 1, 2, 3, 4, 5])
    assert delay_distribution(age, delay).delay[-1] == 5
    with pytest.raises(ValueError, match="delay is the row's age in 5 of 9 rows"):
        delay_distribution(age[:-1], delay[:-1])


test_ages_of_a_call_that_are_refused = refusals(
    (lambda: delay_distribution(AGE, DELAY)([-1]), "age must not be negative"),
    (lambda: delay_distribution(AGE, DELAY)([NAN]), "age must be finite"),
    (lambda: delay_distribution(AGE, DELAY)(["1"]), "age must hold real numbers", TypeError),
    (lambda: delay_distribution(AGE, DELAY)([[1]]), "age must be"),
)  # fmt: skip
