"""Curved thresholds: the spline against scipy's, the choice by brute force, what they are for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.stats import norm

from gbdt_objectives import (
    apply_thresholds,
    optimize_thresholds,
    quadratic_weighted_kappa,
)
from gbdt_objectives._steps.steps import POOLS, natural_spline
from gbdt_objectives.thresholds import qwk
from gbdt_objectives.thresholds.rows import ScoredRows
from tests.cases import each

BENDS = {"none": lambda m: m, "exp": np.exp, "cube": lambda m: m**3 + m / 20}


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four classes, and their expected position a row, centred."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = np.digitize(x + rng.normal(size=n), [-0.8, 0.4, 1.5])
    m = norm.sf(np.array([-0.8, 0.4, 1.5]) - x[:, None]).sum(axis=1)
    return y, m - 1.2


def kappa(y, score, thresholds) -> float:
    return quadratic_weighted_kappa(y, apply_thresholds(score, thresholds), labels=range(4))


def test_natural_spline_is_scipys() -> None:
    q = np.linspace(-3, 3, 61)
    knots = np.array([-1.5, -0.2, 0.1, 1.0, 2.0])
    X = natural_spline(q, knots)
    assert X.shape == (61, 5)
    assert np.linalg.matrix_rank(X) == 5  # as many as values at the knots
    at_knots = natural_spline(knots, knots)
    inside = (q >= knots[0]) & (q <= knots[-1])
    for values, own in zip(at_knots.T, X.T, strict=True):
        scipys = CubicSpline(knots, values, bc_type="natural")
        np.testing.assert_allclose(own[inside], scipys(q[inside]), atol=1e-12)
        for end in (q < knots[0], q > knots[-1]):  # a straight line
            np.testing.assert_allclose(np.diff(own[end], 2), 0, atol=1e-12)
    np.testing.assert_array_equal(natural_spline(q, knots[[0, -1]])[:, 1], q)


@each("seed", range(5))
def test_calibrated_scores_keep_the_line(seed: int) -> None:
    y, m = draw(2000, seed)
    np.testing.assert_array_equal(
        optimize_thresholds(y, m, method="curved"), optimize_thresholds(y, m, method="plugin")
    )


@pytest.mark.parametrize("bend", ["exp", "cube"])
def test_bent_scores_get_what_the_unbent_get(bend: str) -> None:
    y, m = draw(3000, 10)
    test_y, test_m = draw(100_000, 11)
    f = BENDS[bend]
    straight = kappa(test_y, test_m, optimize_thresholds(y, m, method="plugin"))
    by_curve, by_line = (
        kappa(test_y, f(2 * test_m), optimize_thresholds(y, f(2 * m), method=method))
        for method in ("curved", "plugin")
    )
    # the best that is known, within a standard error of the test rows; the line loses several
    assert by_curve > straight - 0.003
    assert by_line < straight - 0.006


def test_only_the_order_of_bent_scores_counts() -> None:
    """Up to interpolation between neighbouring pools."""
    y, m = draw(1000, 12)
    classes = [
        apply_thresholds(score, optimize_thresholds(y, score, method="curved"))
        for score in (np.exp(2 * m), np.exp(2.2 * m))
    ]
    assert np.mean(classes[0] != classes[1]) <= 0.002


def test_the_choice_by_brute_force() -> None:
    """Row by row: each weight is a number of copies."""
    y, m = draw(600, 13)
    w = np.random.default_rng(0).integers(1, 4, 600)
    order = np.argsort(m)
    y, score, w = y[order], np.exp(m[order]), w[order]
    s, C = qwk.pool_rows(ScoredRows.read(y, score, None, w))
    assert len(s) == 600  # a pool a row
    fits = [qwk.fit_line_of_pools(s, C), *qwk.fit_splines(C)]
    assert [fit.coefficients for fit in fits] == [2, 2, 3, 5]
    n = w.sum()
    errors = np.array(
        [np.repeat((y - fit.m) ** 2, w) / (1 - fit.coefficients / n) ** 2 for fit in fits]
    )
    gains = errors[0] - errors
    error = gains.std(axis=1) / np.sqrt(n)
    better = [k for k in range(1, 4) if gains[k].mean() > error[k]]
    assert better  # or the test could not fail
    assert qwk.choose_fit(fits, C) == max(better, key=lambda k: gains[k].mean())


def test_generalised_error_is_about_that_of_leaving_one_out() -> None:
    y, m = draw(400, 14)
    order = np.argsort(m)
    y = y[order]
    _, C = qwk.pool_rows(ScoredRows.read(y, m[order], None, None))
    fit = list(qwk.fit_splines(C))[1]
    left_out = []
    for i in range(400):
        without = C.copy()
        without[i] *= 1e-9  # a pool without rows has no normal score
        left_out.append((y[i] - list(qwk.fit_splines(without))[1].m[i]) ** 2)
    generalised = np.mean((y - fit.m) ** 2) / (1 - fit.coefficients / 400) ** 2
    # they differ by the leverage of single rows, whose mean is .75 % here
    assert generalised == pytest.approx(np.mean(left_out), rel=0.0075)
    assert generalised > np.mean((y - fit.m) ** 2) * 1.01


def test_rows_of_one_score_share_a_pool_and_pools_are_of_about_equal_weight() -> None:
    score = np.random.default_rng(1).integers(0, 30, 5000)
    s, C = qwk.pool_rows(ScoredRows.read(score % 4, score.astype(float), None, None))
    np.testing.assert_allclose(s, np.arange(30), rtol=1e-12)
    np.testing.assert_array_equal(C.sum(axis=1), np.bincount(score))
    y, m = draw(20_000, 2)
    s, C = qwk.pool_rows(ScoredRows.read(y, m, None, None))
    assert len(s) == POOLS
    assert (np.diff(s) > 0).all()
    assert C.sum(axis=1).min() >= 9
    assert C.sum(axis=1).max() <= 11
    np.testing.assert_array_equal(C.sum(axis=0), np.bincount(y))


@each("rows", [60, 800, 5000])
@each("seed", range(5))
def test_a_weight_is_so_many_copies(seed: int, rows: int) -> None:
    y, m = draw(rows, seed)
    w = np.random.default_rng(seed).integers(0, 4, rows)
    score = np.exp(m + 0.5 * m**2 * (seed > 2))
    found, copies, weighted = (
        optimize_thresholds(*columns, method="curved", labels=range(4), sample_weight=weight)
        for *columns, weight in (
            (y, score, None), (np.repeat(y, w), np.repeat(score, w), None), (y, score, w + 0.0)
        )
    )  # fmt: skip
    np.testing.assert_allclose(weighted, copies, rtol=1e-9)  # the same sums but for rounding
    assert not np.array_equal(found, copies)


def test_few_rows_are_left_to_plug_in() -> None:
    y, m = draw(19, 4)
    np.testing.assert_array_equal(
        optimize_thresholds(y, np.exp(3 * m), method="curved"),
        optimize_thresholds(y, np.exp(3 * m), method="plugin"),
    )


def test_a_threshold_that_no_score_reaches_is_infinite() -> None:
    s, m = np.array([1.0, 2.0, 4.0]), np.array([0.25, 0.25, 1.25])
    at = qwk.score_where(s, m, [0.1, 0.25, 0.5, 0.75, 1.25, 1.3])
    assert at.tolist() == [-np.inf, -np.inf, 2.5, 3.0, 4.0, np.inf]


@pytest.mark.parametrize(("rows", "most"), [(60, 2), (250, 2), (350, 3)])
def test_few_rows_get_few_knots(rows, most) -> None:
    """A line in the normal scores always, a curve from a hundred rows for each knot on."""
    C = np.random.default_rng(rows).multinomial(rows, np.full(120, 1 / 120)).reshape(40, 3)
    C = C[C.sum(axis=1) > 0].astype(float)
    found = [fit.coefficients for fit in qwk.fit_splines(C)]
    assert found[0] == 2
    assert max(found) == most


def test_a_line_that_does_not_rise_is_the_mean() -> None:
    C = np.array([[1.0, 2.0, 3.0]] * 4)
    fit = qwk.fit_line_of_pools(np.arange(4.0), C)
    np.testing.assert_allclose(fit.m, 4 / 3)
    assert fit.coefficients == 1


def test_the_search_starts_at_the_share_of_variance_that_the_curve_leaves(monkeypatch) -> None:
    y, m = draw(5000, 3)
    score = BENDS["cube"](m)
    seen = []

    def seen_by(label_curve, position, R):
        seen.append((*position.args, R))
        return np.array([0.0, 1.0, 2.0])

    monkeypatch.setattr(qwk, "iterate_thresholds", seen_by)
    qwk.curved_thresholds(ScoredRows.read(y, score, None, None))
    ((s, of_pools, R),) = seen
    found = np.interp(score, s, of_pools)
    assert pytest.approx(1 - found.std() / y.std(), abs=0.01) == R  # pools are narrow, not points
