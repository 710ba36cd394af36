"""estimate_prior and prior_shift_test: published vector, maximum, collapse, size and power."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit, softmax
from scipy.stats import chi2

from gbdt_objectives import (
    correct_probability,
    estimate_prior,
    log_odds_shift,
    prior_shift_test,
)

FIVE = np.array([0.9, 0.8, 0.3, 0.6, 0.2])


def binary(n: int, prior: float, rng: np.random.Generator, separation: float = 2.0):
    """Labels, and true probabilities under a prior of a half."""
    y = (rng.random(n) < prior).astype(int)
    x = rng.normal(size=n) + separation * y
    return y, expit(separation * (x - separation / 2))


def three(n: int, prior: np.ndarray, train_prior: np.ndarray, rng: np.random.Generator):
    """Labels, and true probabilities of three classes under the training prior."""
    centre = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
    y = rng.choice(3, n, p=prior)
    x = rng.normal(size=(n, 2)) + centre[y]
    return y, softmax(x @ centre.T - (centre**2).sum(1) / 2 + np.log(train_prior), axis=1)


# the published vector


@pytest.mark.parametrize(
    ("probability", "train_prior"),
    [(FIVE, 0.5), (np.column_stack([1 - FIVE, FIVE]), [0.5, 0.5])],
)
def test_vector(probability, train_prior) -> None:
    estimate = estimate_prior(probability, train_prior, tol=1e-10)
    expected = 0.703178 if train_prior == 0.5 else [0.296822, 0.703178]
    assert estimate.prior == pytest.approx(expected, abs=5e-7)  # as printed
    assert isinstance(estimate.prior, float) == (train_prior == 0.5)
    assert estimate.converged
    assert not estimate.collapsed
    np.testing.assert_array_equal(estimate.history[0], [0.5, 0.5])
    np.testing.assert_allclose(estimate.history[1], [0.44, 0.56], rtol=1e-14)  # the mean
    assert len(estimate.history) == estimate.n_iter + 1


def test_two_columns_and_one_number() -> None:
    two = np.column_stack([1 - FIVE, FIVE])
    assert estimate_prior(two, 0.6).prior == estimate_prior(FIVE, 0.6).prior


def test_stops_on_the_change_relative_to_the_class() -> None:
    """A step of tol, absolute, would be a hundredth of the prior, and fifty are to come."""
    _, p = binary(50_000, 0.01, np.random.default_rng(0), separation=1.2)
    rough, fine = (estimate_prior(p, 0.5, tol=t) for t in (1e-4, 1e-12))
    assert rough.prior == pytest.approx(fine.prior, rel=0.02)
    assert estimate_prior(p, 0.5).prior == pytest.approx(fine.prior, rel=2e-4)
    assert rough.n_iter < fine.n_iter


# what it finds

posteriors = hnp.arrays(np.float64, st.integers(5, 40), elements=st.floats(0.01, 0.99))


@settings(deadline=None, max_examples=50)
@given(p=posteriors, train_prior=st.floats(0.05, 0.95))
def test_it_is_the_maximum_of_the_likelihood(p, train_prior) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collapse
        estimate = estimate_prior(p, train_prior, tol=1e-9, max_iter=3000)

    assume(estimate.converged or estimate.collapsed)  # on flat ground it takes longer

    def log_likelihood(pi: float) -> float:
        return float(np.log(pi * p / train_prior + (1 - pi) * (1 - p) / (1 - train_prior)).sum())

    best = minimize_scalar(lambda pi: -log_likelihood(pi), bounds=(0, 1), method="bounded")
    assert estimate.log_likelihood_gain == pytest.approx(log_likelihood(estimate.prior), abs=1e-9)
    # a collapse stops with a hundredth of a row to go, which is worth at most .01
    slack = 0.0101 if estimate.collapsed else 1e-5
    assert estimate.log_likelihood_gain > -best.fun - slack


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_a_known_prior(seed) -> None:
    rng = np.random.default_rng(seed)
    y, p = binary(100_000, 0.02, rng)
    estimate = estimate_prior(p, 0.5)
    assert estimate.prior == pytest.approx(0.02, rel=0.1)  # deviation about 2.5 %
    shift = log_odds_shift(train_prior=0.5, target_prior=estimate.prior)
    assert correct_probability(p, shift).mean() == pytest.approx(y.mean(), rel=0.1)

    prior, train_prior = np.array([0.8, 0.15, 0.05]), np.array([0.2, 0.3, 0.5])
    _, P = three(50_000, prior, train_prior, rng)
    np.testing.assert_allclose(estimate_prior(P, train_prior).prior, prior, atol=0.015)


def test_float32_softmax_is_good_enough() -> None:
    rng = np.random.default_rng(0)
    _, P = three(2000, np.full(3, 1 / 3), np.full(3, 1 / 3), rng)
    np.testing.assert_allclose(
        estimate_prior(P.astype(np.float32), [1 / 3] * 3).prior,
        estimate_prior(P, [1 / 3] * 3).prior,
        rtol=1e-4,
    )


# warnings


def test_collapse_warns() -> None:
    """Predictions that lean to the negatives more than any prior explains."""
    p = expit(np.random.default_rng(0).normal(-1, 0.3, 1000))
    with pytest.warns(UserWarning, match="prior of class 1 collapsed to 0 .* calibrated") as record:
        estimate = estimate_prior(p, 0.5)
    assert record[0].filename == __file__
    assert estimate.collapsed
    assert not estimate.converged
    assert 0 < estimate.prior < 1e-5
    with pytest.warns(UserWarning, match="collapsed") as record:
        prior_shift_test(p, 0.5)
    assert record[0].filename == __file__


def test_a_certain_model_collapses_to_zero() -> None:
    with pytest.warns(UserWarning, match="prior of class 1 collapsed"):
        estimate = estimate_prior(np.zeros(10), 0.5)
    assert estimate.prior == 0


def test_running_out_of_iterations_warns() -> None:
    with pytest.warns(UserWarning, match="no convergence in 3 iterations, the last one changed"):
        estimate = estimate_prior(FIVE, 0.5, max_iter=3)
    assert estimate.n_iter == 3
    assert not estimate.converged
    assert not estimate.collapsed


# calibration first


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("distortion", [(2.0, 0.0), (0.6, 0.0), (1.0, 0.7)], ids=str)
@pytest.mark.filterwarnings("ignore:.*collapsed")
def test_out_of_fold_calibration_comes_first(seed, distortion) -> None:
    """Margins too large, as of a model that has overfitted, too small, or moved."""
    rng = np.random.default_rng(seed)

    def distorted(p: np.ndarray) -> np.ndarray:
        return expit(distortion[0] * logit(p) + distortion[1])

    y, p = binary(20_000, 0.5, rng)
    _, p_new = binary(20_000, 0.1, rng)
    raw = estimate_prior(distorted(p_new), 0.5).prior
    fixed = estimate_prior(distorted(p_new), 0.5, out_of_fold=(y, distorted(p))).prior
    assert abs(raw - 0.1) > 0.02
    assert fixed == pytest.approx(0.1, abs=0.01)  # deviation .004, and .002 of the calibration
    # a temperature and a bias undo these distortions entirely, whichever they are
    undistorted = estimate_prior(p_new, 0.5, out_of_fold=(y, p)).prior
    assert fixed == pytest.approx(undistorted, rel=1e-4)


@pytest.mark.filterwarnings("ignore:.*collapsed")
def test_out_of_fold_calibration_of_three_classes() -> None:
    rng = np.random.default_rng(0)
    train_prior, prior = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])

    def distorted(P: np.ndarray) -> np.ndarray:
        return softmax(0.5 * np.log(P) + [0.0, 0.7, -0.3], axis=1)

    y, P = three(30_000, train_prior, train_prior, rng)
    _, P_new = three(30_000, prior, train_prior, rng)
    fixed = estimate_prior(distorted(P_new), train_prior, out_of_fold=(y, distorted(P))).prior
    np.testing.assert_allclose(fixed, prior, atol=0.02)
    assert np.abs(estimate_prior(distorted(P_new), train_prior).prior - prior).max() > 0.05


def test_calibration_matches_the_mean_of_the_labels() -> None:
    """The bias terms make predicted and observed frequencies equal: no shift is left to find."""
    rng = np.random.default_rng(1)
    y, p = binary(5000, 0.3, rng)
    test = prior_shift_test(p, y.mean(), out_of_fold=(y, p), tol=1e-10)
    assert test.estimate.prior == pytest.approx(y.mean(), rel=1e-5)
    assert test.statistic < 1e-6
    assert prior_shift_test(p, y.mean()).statistic > 100  # p is for a prior of a half


# the test


@settings(deadline=None, max_examples=50)
@given(
    P=hnp.arrays(np.float64, (30, 3), elements=st.floats(0.05, 1)),
    pi0=hnp.arrays(np.float64, 3, elements=st.floats(0.1, 1)),
)
def test_the_statistic_is_the_same_for_every_class(P, pi0) -> None:
    """At the fixed point, by each class's own ratio p_new(x|k) / p_old(x|k)."""
    P, pi0 = P / P.sum(axis=1, keepdims=True), pi0 / pi0.sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collapse
        test = prior_shift_test(P, pi0, tol=1e-12)
    pi = test.estimate.prior
    new = correct_probability(P, log_odds_shift(train_prior=pi0, target_prior=pi / pi.sum()))
    each = 2 * (np.log(P / pi0).sum(axis=0) - np.log(new / pi).sum(axis=0))
    np.testing.assert_allclose(each, test.statistic, rtol=1e-9, atol=1e-9)
    if test.estimate.converged:
        np.testing.assert_allclose(new.mean(axis=0), pi, rtol=1e-9)
    assert test.degrees_of_freedom == 2
    assert test.p_value == pytest.approx(chi2.sf(test.statistic, 2))


def test_size_and_power() -> None:
    """400 samples of 500 rows; binomial deviation of 5 % is 1.1 %."""
    rng = np.random.default_rng(0)
    reject = {}
    for prior in (0.5, 0.42):
        samples = [binary(500, prior, rng)[1] for _ in range(400)]
        reject[prior] = np.mean([prior_shift_test(p, 0.5).p_value < 0.05 for p in samples])
    assert 0.02 < reject[0.5] < 0.08
    assert reject[0.42] > 0.6  # .08 is about 2.9 deviations of the estimate


def test_size_with_three_classes() -> None:
    rng = np.random.default_rng(0)
    pi0 = np.array([0.2, 0.3, 0.5])
    p_values = [prior_shift_test(three(400, pi0, pi0, rng)[1], pi0).p_value for _ in range(300)]
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.09  # binomial deviation 1.3 %
    assert 0.4 < np.mean(p_values) < 0.6  # uniform


# results


def test_results_are_frozen() -> None:
    test = prior_shift_test(FIVE, 0.5)
    for result in (test, test.estimate):
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.statistic = 1.0


# bad input


@pytest.mark.parametrize("function", [estimate_prior, prior_shift_test])
@pytest.mark.parametrize(
    ("probability", "train_prior", "message"),
    [
        ([0.5, 1.1], 0.5, "probability must be in .0, 1., found 1.1 at row 1"),
        ([0.5, np.nan], 0.5, "probability must be in .0, 1., found nan at row 1"),
        ([], 0.5, "and not empty, found shape"),
        (0.5, 0.5, "and not empty, found shape"),
        ([[0.5, 0.4]], 0.5, "rows of probability must sum to 1"),
        ([[0.2, 0.3, 0.5]], 0.5, "probability has 3 classes, but train_prior has 2"),
        ([0.5], [0.2, 0.3, 0.5], "probability has 2 classes, but train_prior has 3"),
        ([0.5], 0.0, "train_prior must be above 0 and below 1"),
        ([0.5], np.nan, "train_prior must be finite"),
        ([[0.5, 0.5]], [0.5, 0.4], "train_prior must sum to 1"),
        ([[0.5, 0.5]], [1.0, 0.0], "train_prior must be above 0 for every class"),
    ],
)
def test_bad_input(function, probability, train_prior, message) -> None:
    with pytest.raises(ValueError, match=message):
        function(probability, train_prior)


@pytest.mark.parametrize(
    ("y", "probability", "message"),
    [
        ([0, 0], [0.4, 0.6], "labels of out_of_fold must be the columns 0..1, each at least once"),
        ([0, 2], [0.4, 0.6], "labels of out_of_fold must be the columns 0..1"),
        ([0, 1, 1], [0.4, 0.6], "the probability of out_of_fold has 2 rows, but the labels have 3"),
        ([0, 1], [0.0, 0.6], "the probability of out_of_fold is 0 or 1 at row 0, and calibration"),
        ([0, 1], [0.4, 1.0], "the probability of out_of_fold is 0 or 1 at row 1"),
        ([0, 1], [0.4, 1.2], "the probability of out_of_fold must be in .0, 1."),
        ([0, 1], [[0.2, 0.3, 0.5]] * 2, "out_of_fold has 3 classes, but train_prior has 2"),
    ],
)
def test_bad_out_of_fold(y, probability, message) -> None:
    with pytest.raises(ValueError, match=message):
        estimate_prior([0.5, 0.6], 0.5, out_of_fold=(y, probability))


def test_calibration_of_a_certain_prediction() -> None:
    with pytest.raises(ValueError, match="probability is 0 or 1 at row 2"):
        estimate_prior([0.5, 0.6, 1.0], 0.5, out_of_fold=([0, 1], [0.4, 0.6]))


@pytest.mark.parametrize("bad", [0, -1e-6, np.nan])
def test_bad_tolerance(bad) -> None:
    with pytest.raises(ValueError, match="tol must be"):
        estimate_prior(FIVE, 0.5, tol=bad)


def test_bad_max_iter() -> None:
    with pytest.raises(ValueError, match="max_iter must be a whole number >= 1, found 0"):
        estimate_prior(FIVE, 0.5, max_iter=0)


@pytest.mark.parametrize("out_of_fold", [[0.5, 0.2, 0.3], (0.5,), "ab"])
def test_out_of_fold_is_a_pair(out_of_fold) -> None:
    with pytest.raises(TypeError, match="out_of_fold must be a pair"):
        estimate_prior([0.5, 0.2], 0.5, out_of_fold=out_of_fold)
