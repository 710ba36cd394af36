"""Class probabilities of an ordinal score: against the truth, and a free minimiser."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from gbdt_objectives import ordinal_logit_objective
from gbdt_objectives._steps.steps import natural_spline, normal_scores, number_pools
from gbdt_objectives.calibration.ordinal import (
    Cells,
    LaterCurve,
    OrdinalCurve,
    fit_ordinal_curve,
    minimize_loss,
    steeper,
)
from tests.calibration.reference import recalibration_slope
from tests.objectives.checks import central_difference

CUTS = np.array([-1.0, 0.2, 1.4])
BENDS = {"none": lambda x: x, "exp": lambda x: np.exp(2 * x), "sigmoid": lambda x: expit(3 * x)}


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A score, classes of proportional odds of it, and their true probabilities."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.normal(size=n))
    y = np.digitize(1.6 * x + rng.logistic(size=n), CUTS)
    below = expit(CUTS - 1.6 * x[:, None])
    return x, y, np.diff(np.c_[np.zeros(n), below, np.ones(n)], axis=1)


def log_loss(P: np.ndarray, y: np.ndarray) -> float:
    return float(-np.log(P[np.arange(len(y)), y]).mean())


@pytest.mark.slow
@pytest.mark.parametrize("bend", BENDS)
def test_nearly_as_good_as_the_truth(bend: str) -> None:
    x, y, _ = draw(4000, 0)
    new, label, truth = draw(50_000, 1)
    curve = fit_ordinal_curve(y, BENDS[bend](x), None, 4)
    P = curve(BENDS[bend](new))
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    assert P.min() >= 0
    # four parameters of 4,000 rows cost about 4/8000, and the curve's ends a little
    assert log_loss(P, label) - log_loss(truth, label) < 0.003
    assert np.abs(P.mean(axis=0) - truth.mean(axis=0)).max() < 0.02


def test_a_score_that_says_nothing_gives_the_frequencies() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    curve = fit_ordinal_curve(y, np.sort(rng.normal(size=600)), None, 3)
    assert np.ptp(curve.steps[0]["y"]) == 0  # no knots pay off
    np.testing.assert_allclose(curve(np.zeros(1))[0], np.bincount(y) / 600, rtol=1e-6)


def test_coefficients_and_thresholds_by_a_free_minimiser() -> None:
    x, y, _ = draw(500, 3)
    pool = number_pools(x, np.ones(500))
    q = normal_scores(np.bincount(pool).astype(float))[pool]
    knots = np.quantile(q, [0.1, 0.9])
    X = natural_spline(q, knots)[:, 1:]

    def loss(v: np.ndarray) -> float:
        theta = np.array([-np.inf, v[0], v[0] + np.exp(v[1]), v[0] + np.exp(v[1]) + np.exp(v[2])])
        theta = np.append(theta, np.inf)
        f = X[:, 0] * v[3]
        return -np.log(expit(theta[y + 1] - f) - expit(theta[y] - f)).sum()

    free = minimize(loss, [-1.0, 0, 0, 1], method="BFGS")
    curve = fit_ordinal_curve(y, x, None, 4)
    ours = -np.log(curve(x)[np.arange(500), y]).sum()
    # its penalty costs less than this, and BIC may prefer another number of knots only if better
    assert ours <= free.fun + 1e-3
    assert ours >= free.fun - 20


@pytest.mark.slow
@settings(max_examples=10)  # of up to 0.2 s each
@given(st.integers(0, 10_000), st.integers(2, 5), st.sampled_from([1, 2, 6, 40]))
def test_cumulative_curves_never_cross_nor_fall(seed: int, K: int, distinct: int) -> None:
    rng = np.random.default_rng(seed)
    score = np.sort(rng.integers(0, distinct, 60) / 7.0)
    y = np.clip(rng.poisson(1 + score), 0, K - 1)
    y[:2] = 0, 1
    curve = fit_ordinal_curve(y, score, None, K)
    P = curve(np.linspace(-1, 7, 50))
    above = 1 - np.cumsum(P, axis=1)[:, :-1]
    assert (np.diff(above, axis=0) >= -1e-12).all()  # rise with the score
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-9)


@pytest.mark.slow
def test_weight_is_repetition() -> None:
    x, y, _ = draw(300, 4)
    score = np.round(x, 1)  # ties, too
    w = np.random.default_rng(0).integers(1, 4, 300)
    at = np.repeat(np.arange(300), w)
    weighted = fit_ordinal_curve(y, score, w.astype(float), 4)
    copies = fit_ordinal_curve(y[at], score[at], None, 4)
    np.testing.assert_allclose(weighted(score), copies(score), rtol=1e-6, atol=1e-9)


def test_separated_classes_end_somewhere() -> None:
    y = np.repeat([0, 1, 2], 20)
    P = fit_ordinal_curve(y, np.arange(60.0), None, 3)(np.arange(60.0))
    assert np.isfinite(P).all()
    np.testing.assert_array_equal(P.argmax(axis=1), y)


def test_a_class_without_rows_has_no_probability() -> None:
    x, y, _ = draw(500, 5)
    rows = y != 2
    curve = fit_ordinal_curve(y[rows], x[rows], None, 5)
    P = curve(x)
    assert isinstance(curve, OrdinalCurve)
    assert P.shape == (500, 5)
    assert not P[:, [2, 4]].any()


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_the_slope_for_means_of_models(noise: float) -> None:
    """Scores are a signal and each model's own noise, both normal, as the formula has them."""
    M, rng = 5, np.random.default_rng(0)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        signal = rng.normal(size=n)
        models = signal[:, None] + noise * rng.normal(size=(n, M))
        return models, np.digitize(2 * signal + rng.logistic(size=n), CUTS)

    models, y = draw(20_000)
    order = np.argsort(models[:, 0])
    stretch = np.sqrt((1 + noise**2) / (1 + noise**2 / M))
    at = y[order], models[order, 0], None, 4
    new, label = draw(100_000)
    A = stretch * new.mean(axis=1)
    single = recalibration_slope(fit_ordinal_curve(*at)(A), label)
    corrected = recalibration_slope(fit_ordinal_curve(*at, stretch, M)(A), label)
    assert single > 1.15
    # a slope fitted to 20,000 rows has an error of 0.01 to 0.02; classes are coarser than
    # the latent score, and their correlation with it is what the formula is given
    assert abs(corrected - 1) < min(0.1, (single - 1) / 3)


def test_no_stretch_changes_nothing() -> None:
    x, y, _ = draw(300, 0)
    plain, one = (fit_ordinal_curve(y, x, None, 4, *more) for more in ((), (1.0, 5)))
    np.testing.assert_array_equal(plain(x), one(x))


@pytest.mark.parametrize("rho", [0.0, 0.9, 1.0])
def test_the_error_left_by_models_is_at_least_its_share(rho: float) -> None:
    """However large a stretch was estimated; a perfect score has no error to share."""
    b = steeper(np.array([[1.0, rho], [rho, 1.0]]), 1.5, 5)
    assert b == pytest.approx(1.5 * {0.0: 1, 0.9: np.sqrt(5), 1.0: 1}[rho])


def test_the_slope_of_a_longer_mean() -> None:
    """stretch sqrt((1 - rho^2) / (1 - stretch^2 rho^2)), where models leave enough."""
    found = steeper(np.array([[4.0, 3.0], [3.0, 9.0]]), 1.2, 50)  # rho 1/2
    assert found == pytest.approx(1.2 * np.sqrt(0.75 / (1 - 0.36)), rel=1e-12)


@pytest.mark.slow
def test_a_later_curve_is_the_one_of_its_arguments() -> None:
    x, y, _ = draw(200, 0)
    at = y, x, np.linspace(0.5, 2, 200), 4
    for more in ((), (1.3, 7)):
        expected = fit_ordinal_curve(*at, *more)(x)
        np.testing.assert_array_equal(LaterCurve(*at, *more)(x), expected)


def random_cells() -> tuple[np.ndarray, Cells, Cells]:
    """A curve, cells of weights 1 to 4, and each copied as often."""
    rng = np.random.default_rng(0)
    pool, y = np.repeat(np.arange(6), 3), np.tile(np.arange(3.0), 6)
    w = rng.integers(1, 5, 18)
    copies = Cells(np.repeat(pool, w), np.repeat(y, w), np.ones(w.sum()))
    return rng.normal(size=6), Cells(pool, y, w.astype(float)), copies


def test_weights_of_cells_are_copies() -> None:
    f, cells, copies = random_cells()
    objective = ordinal_logit_objective(3)
    loss, slope = cells.loss_and_slope(objective, f)
    expected, of_copies = copies.loss_and_slope(objective, f)
    assert loss == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(slope, of_copies, rtol=0, atol=1e-9)
    numeric = central_difference(lambda f: cells.loss_and_slope(objective, f)[0], f, 1e-5)
    np.testing.assert_allclose(slope, numeric, rtol=0, atol=1e-6)


def test_the_search_gets_the_slope_of_its_loss(monkeypatch) -> None:
    """The mean loss with its penalty, of coefficients of columns of the size 1."""
    _, cells, _ = random_cells()
    X = np.random.default_rng(1).normal(size=(6, 2)) * [1, 50]
    searched = []
    monkeypatch.setattr(
        "scipy.optimize.minimize",
        lambda function, start, **options: (
            searched.append(function) or minimize(function, start, **options)
        ),
    )
    minimize_loss(ordinal_logit_objective(3), X, cells)
    (function,) = searched
    beta = np.array([0.7, -1.1])
    f = X / np.abs(X).max(axis=0) @ beta
    loss = cells.loss_and_slope(ordinal_logit_objective(3), f)[0] + 0.01 / 2 * beta @ beta
    assert function(beta)[0] == pytest.approx(loss / cells.w.sum(), rel=1e-10)
    numeric = central_difference(lambda beta: function(beta)[0], beta, 1e-5)
    np.testing.assert_allclose(function(beta)[1], numeric, rtol=0, atol=1e-8)
