"""The calibration error's null level against labels drawn row by row; its level and interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from gbdt_objectives.calibration import (
    calibration_error_test,
    expected_calibration_error,
    reliability,
    reliability_bins,
)
from tests.calibration.reference import users, without_counts
from tests.cases import refusals_of

pytestmark = pytest.mark.slow


def drawn(seed, n=1500, rare=True):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 30, n) if rare else rng.random(n)
    return (rng.random(n) < p).astype(int), p, rng.exponential(size=n)


def brute_force(p, w, r, rng, draws, **options):
    """Errors of labels drawn for each row, given which rows were kept."""
    errors = []
    for _ in range(draws):
        y = rng.random(len(p)) < p / (p + (1 - p) * r)
        v = np.where(y, w, w / r)
        errors.append(expected_calibration_error(y, p, sample_weight=v, **options))
    return np.array(errors)


@pytest.mark.parametrize("rate", [1.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rare", [False, True])
def test_the_null_level_is_that_of_drawn_labels(rare, weighted, rate) -> None:
    y, p, w = drawn(0, rare=rare)
    rng = np.random.default_rng(1)
    w = w if weighted else np.ones(len(y))
    kept = (y == 1) | (rng.random(len(y)) < rate)
    y, p, w = y[kept], p[kept], w[kept]
    found = calibration_error_test(
        y, p, negative_keep_rate=rate, sample_weight=w, n_resamples=2500, random_state=0
    )
    v = np.where(y == 1, w, w / rate)
    expected = expected_calibration_error(y, p, sample_weight=v)
    assert found.error == pytest.approx(expected, rel=1e-12)
    null = brute_force(p, w, rate, rng, 1000 if weighted and rate < 1 else 400)
    # a spread of a fifth, of 400 draws 1 %. A scaled binomial stands for a sum of weights, and how
    # much kept rows stand for varies with their labels: some percent
    near = 0.035 if rate == 1 and not weighted else 0.08
    assert found.null_error == pytest.approx(null.mean(), rel=near)


@pytest.mark.parametrize("strategy", ["uniform", "events"])
def test_other_bins(strategy) -> None:
    y, p, _ = drawn(2, rare=False)
    options = {"n_bins": 6, "strategy": strategy}
    found = calibration_error_test(y, p, random_state=0, **options)
    null = brute_force(p, np.ones(len(p)), 1.0, np.random.default_rng(0), 500, **options)
    assert found.null_error == pytest.approx(null.mean(), rel=0.05)  # 500 draws: 1.5 %
    assert found.error == pytest.approx(expected_calibration_error(y, p, **options), rel=1e-12)


def test_the_predicted_class_of_several() -> None:
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1, 1, 1], 1000)
    y = (rng.random((1000, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    names = np.array(["z", "x", "y"])
    found = calibration_error_test(names[y], p, labels=names, random_state=0)
    expected = expected_calibration_error(names[y], p, labels=names)
    assert found.error == pytest.approx(expected, rel=1e-12)  # sums in other orders
    one = calibration_error_test(p.argmax(axis=1) == y, p.max(axis=1), random_state=0)
    assert found.null_error == pytest.approx(one.null_error, rel=1e-12)  # sums of 1,000 rows
    assert found.p_value == one.p_value  # a number of draws
    with pytest.raises(ValueError, match="class_keep_rates are for probability"):
        calibration_error_test(y, p, negative_keep_rate=0.1)


def test_level_and_coverage() -> None:
    rng, rejected, covered, draws = np.random.default_rng(4), 0, 0, 200
    true = rng.beta(1, 19, 100_000)
    p = true**1.15
    order = np.argsort(p)
    excess = np.cumsum((p - true)[order])
    for _ in range(draws):
        i = rng.integers(len(true), size=2000)
        y = rng.random(2000) < true[i]
        options = {"n_resamples": 100, "random_state": rng}
        rejected += calibration_error_test(y, true[i], **options).p_value < 0.05
        low, high = calibration_error_test(y, p[i], **options).interval
        ends = np.quantile(p[i], np.arange(1, 15) / 15)
        at = np.r_[0, np.searchsorted(p[order], ends), len(p) - 1]
        covered += low <= np.abs(np.diff(excess[at])).sum() / len(p) <= high
    assert 0.02 < rejected / draws < 0.08  # binomial error .015
    assert covered / draws > 0.90  # at least .95 less three such errors


def test_the_interval_of_many_rows_is_narrow() -> None:
    rng = np.random.default_rng(5)
    true = rng.beta(2, 8, 400_000)
    y, p = rng.random(len(true)) < true, 1.3 * true
    p = np.minimum(p, 1)
    found = calibration_error_test(y, p, random_state=0)
    assert found.interval[0] < (p - true).mean() < found.interval[1]
    assert found.interval[1] - found.interval[0] < 0.1 * found.error
    assert found.p_value == pytest.approx(1 / 2001)


def test_the_interval_begins_at_0_where_chance_explains_the_error() -> None:
    seen = set()
    for seed in range(40):
        y, p, _ = drawn(seed, 400)
        found = calibration_error_test(
            y, np.minimum(p * (1 + 3 * (seed % 2)), 1), random_state=0, n_resamples=500
        )
        none = (501 * found.p_value - 1) / 500 > 0.025  # the share of simulated errors
        assert (found.interval[0] == 0) == none
        assert found.interval[0] <= found.interval[1] <= 1
        seen.add(none)
    assert seen == {True, False}


def test_certain_predictions_and_empty_chance() -> None:
    right = calibration_error_test([0, 1, 1], [0, 1, 1], random_state=0)
    assert (right.error, right.null_error, right.p_value) == (0, 0, 1)
    wrong = calibration_error_test([0, 1, 1], [0, 1, 0], random_state=0)
    assert wrong.error == pytest.approx(1 / 3)
    assert wrong.p_value == pytest.approx(1 / 2001)
    assert wrong.interval[0] > 0
    exact = calibration_error_test([0, 0, 0, 1] * 50, [0.25] * 200, random_state=0)
    assert exact.error == exact.interval[0] == 0
    assert 0.02 < exact.interval[1] < 0.1  # the standard error is .03


def test_the_unit_of_weights_does_not_matter_and_seeds_do() -> None:
    y, p, w = drawn(6)
    one, other = (
        calibration_error_test(y, p, sample_weight=v, random_state=0) for v in (w, w * 1e29)
    )
    assert one.null_error == pytest.approx(other.null_error, rel=1e-9)
    assert one.p_value == other.p_value
    np.testing.assert_allclose(one.interval, other.interval, rtol=1e-6)
    again = calibration_error_test(y, p, sample_weight=w, random_state=1)
    assert again.null_error != one.null_error
    old = np.random.RandomState(0)
    first, second = (calibration_error_test(y, p, random_state=old).p_value for _ in range(2))
    assert first != second


test_bad_arguments = refusals_of(
    lambda options: calibration_error_test([0, 1], [0.1, 0.2], **options),
    ({"n_resamples": 99}, "n_resamples must be a whole number >= 100"),
    ({"confidence_level": 1.5}, "confidence_level must be in"),
    ({"strategy": "isotonic"}, "strategy must be one of"),
    ({"random_state": -1}, "random_state must not be negative"),
)


@pytest.mark.parametrize(("rows", "without"), [(5, 0.25), (20, 0.7)])
def test_the_level_where_rows_of_a_user_belong_together(rows, without) -> None:
    rng, rejected, contained, draws = np.random.default_rng(0), np.zeros(2), 0, 80
    for _ in range(draws):
        p = np.repeat(expit(rng.normal(-2.5, 1, (400, 1))), rows, axis=1)
        y, p, user = users(rng, p)
        for k, groups in enumerate((None, user)):
            found = calibration_error_test(y, p, groups=groups, n_resamples=200, random_state=rng)
            rejected[k] += found.p_value < 0.05
        contained += found.interval[0] == 0
    alone, together = rejected / draws
    assert alone > without  # .43 and .89 of 120 other draws of 800 users
    assert together < 0.05 + 3 * 0.024  # binomial error
    assert contained / draws > 0.92  # .975 less three binomial errors


@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_groups_of_single_rows_are_no_groups(rate) -> None:
    y, p, w = drawn(7)
    options = {"sample_weight": w, "negative_keep_rate": rate, "random_state": 0}
    alone = calibration_error_test(y, p, **options)
    own = np.random.default_rng(0).permutation(len(y))
    found = calibration_error_test(y, p, groups=own, **options)
    assert (found.error, found.null_error) == (alone.error, alone.null_error)
    assert found.p_value == alone.p_value
    np.testing.assert_array_equal(found.interval, alone.interval)
    with pytest.raises(ValueError, match="n_bins must be at most 1,000 with groups, found 1200"):
        calibration_error_test(y, p, groups=own, n_bins=1200)


@pytest.mark.parametrize("by_row", [False, True])
def test_the_interval_of_kept_negatives_covers_where_scores_are_overconfident(by_row) -> None:
    rng, covered, draws, rate = np.random.default_rng(8), 0, 30, 0.02
    margin = -6.5 + 1.8 * rng.normal(size=300_000)
    true, p = expit(margin), expit(-6.5 + 1.6 * (margin + 6.5))
    order = np.argsort(p)
    excess = np.r_[0, np.cumsum((p - true)[order])]
    for _ in range(draws):
        i = rng.integers(len(true), size=40_000)
        y = rng.random(len(i)) < true[i]
        r = np.clip(4 * p[i], 0.01, 0.5) if by_row else np.full(len(i), rate)
        kept = y | (rng.random(len(i)) < r)
        y, i, r = y[kept], i[kept], r[kept]
        sampled = {"keep_rate": r} if by_row else {"negative_keep_rate": rate}
        low, high = calibration_error_test(
            y, p[i], **sampled, n_resamples=100, random_state=rng
        ).interval
        bins = reliability_bins(y, p[i], sample_weight=np.where(y, 1, 1 / r))
        v, rising = np.where(y, 1, 1 / r), np.argsort(p[i])
        last = np.searchsorted(np.cumsum(v[rising]), np.cumsum(bins.weight)[:-1] * (1 - 1e-12))
        at = np.r_[0, np.searchsorted(p[order], p[i][rising][last], side="right"), len(p)]
        covered += low <= np.abs(np.diff(excess[at])).sum() / len(p) <= high
    # .9 less two binomial errors of .055 and the noise of 100 resamples
    assert covered / draws > 0.78


@pytest.mark.parametrize("n", [10, 20, 30])
def test_an_error_of_rounding_is_no_error(n) -> None:
    """One event in ten is exactly what .1 expects, though sums of floats differ by 1e-17."""
    y = (np.arange(n) < n // 10).astype(int)
    test = calibration_error_test(y, np.full(n, 0.1), random_state=0)
    assert test.error < 1e-16
    assert test.p_value == 1


def test_a_bin_of_one_row_has_no_design_effect() -> None:
    residual, b = np.array([0.0, 0.5, -0.5, 0.5, -0.5]), np.array([0, 1, 1, 1, 1])
    pairs = reliability.design_effect(without_counts(5), residual, b, np.array([0, 1, 2, 1, 2]))
    assert pairs[0] == pytest.approx(1.0)
    # two groups of sums 1 and -1 about their mean: 2 * 2 for 4 * .25 * 4/3
    assert pairs[1] == pytest.approx(4 / (4 / 3))
