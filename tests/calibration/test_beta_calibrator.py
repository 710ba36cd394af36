"""BetaCalibrator against betacal and scipy's constrained minimisers."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from gbdt_objectives.calibration import BetaCalibrator, LogitCalibrator
from tests.cases import each


def rows(seed, n=2000, a=0.6, b=1.4, c=0.3):
    """Probabilities whose calibration map is a beta map."""
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(-1, 2, n))
    q = expit(a * np.log(p) - b * np.log1p(-p) + c)
    return p, (rng.random(n) < q).astype(int)


BOUNDS = [(0, None), (0, None), (None, None)]


def log_loss(abc, p, y, w=1.0):
    m = abc[0] * np.log(p) - abc[1] * np.log1p(-p) + abc[2]
    return float((w * (np.logaddexp(0, m) - y * m)).sum())


def least_loss(p, y, *starts):
    """The least that scipy's minimiser finds."""
    return min(minimize(log_loss, at, (p, y), bounds=BOUNDS, tol=1e-15).fun for at in starts)


@pytest.mark.parametrize("weighted", [False, True])
@each("seed", range(10))
def test_is_betacal_whose_optimiser_converges(monkeypatch, seed, weighted) -> None:
    betacal = pytest.importorskip("betacal")
    p, y = rows(seed)
    w = np.random.default_rng(seed).integers(0, 4, len(y)) if weighted else None
    ours = BetaCalibrator().fit(p, y, w)
    with warnings.catch_warnings():  # betacal changes the filters
        theirs = betacal.BetaCalibration("abm").fit(p, y, w)
        # it stops at a gradient of 1e-4 in features of spread 2
        np.testing.assert_allclose(ours.predict(p), theirs.predict(p), rtol=0, atol=1e-3)
        exact = partial(LogisticRegression, solver="newton-cholesky", tol=1e-14)
        with monkeypatch.context() as patched:
            of = betacal.beta_calibration
            patched.setattr(of, "LogisticRegression", lambda C: exact(C=np.inf))
            theirs = betacal.BetaCalibration("abm").fit(p, y, w)
    assert theirs.calibrator_.map_[:2] == pytest.approx([ours.a_, ours.b_], rel=1e-9)
    np.testing.assert_allclose(ours.predict(p), theirs.predict(p), rtol=1e-9)


CASES = {
    "rises in the tail of 1 only": (0.0, 1.0, 0.5),
    "rises in the tail of 0 only": (1.0, 0.0, 0.5),
    "falls in the tail of 0": (-0.5, 1.0, 0.0),
    "falls in the tail of 1": (0.7, -0.3, 0.0),
    "falls": (-0.5, -0.5, 0.0),
    "falls and rises": (-0.1, 0.2, 0.0),
}


@each("case", CASES.values(), ids=CASES)
@each("seed", range(3))
def test_coefficients_are_not_negative(case, seed) -> None:
    a, b, c = case
    p, y = rows(seed, 1000, a, b, c)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ours = BetaCalibrator().fit(p, y)
    best = least_loss(p, y, [0, 0, logit(y.mean())], [1, 0, 0], [0, 1, 0])
    # a loss of 600 known to 1e-13 of it, finite differences ending earlier
    assert log_loss([ours.a_, ours.b_, ours.c_], p, y) <= best + 1e-9
    assert ours.a_ >= 0 <= ours.b_
    assert bool(found) == (ours.a_ == ours.b_ == 0)
    if ours.a_ == ours.b_ == 0:
        assert "constant, a = b = 0: the score does not rise" in str(found[0].message)
        np.testing.assert_allclose(ours.predict(p), y.mean(), rtol=1e-12)


def test_labels_that_a_line_in_both_features_separates() -> None:
    """Rows of label 1 in the middle: without bounds there is no maximum."""
    p = np.array([0.001, 0.01, 0.3, 0.5, 0.7, 0.99, 0.999, 0.9999])
    y = np.array([0, 0, 1, 1, 1, 0, 0, 1])
    ours = BetaCalibrator().fit(p, y)
    assert log_loss([ours.a_, ours.b_, ours.c_], p, y) <= least_loss(p, y, [1, 0, 0]) + 1e-9
    assert ours.b_ == 0


def test_perfect_separation_is_fitted_to_platts_targets() -> None:
    p, y = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8]), np.array([0, 0, 0, 1, 1, 1])
    ours = BetaCalibrator().fit(p, y)
    target = np.where(y == 1, 4 / 5, 1 / 5)
    best = least_loss(p, target, [1, 1, 0])
    assert log_loss([ours.a_, ours.b_, ours.c_], p, target) <= best + 1e-12
    # copies are weights, and ties across the labels separate them still
    twice = BetaCalibrator().fit(p, y, np.full(6, 2.0))
    copies = BetaCalibrator().fit(np.repeat(p, 2), np.repeat(y, 2))
    np.testing.assert_allclose(twice.predict(p), copies.predict(p), rtol=1e-9)
    tied = BetaCalibrator().fit([*p, 0.5, 0.5], [*y, 0, 1])
    assert np.isfinite(tied.a_ + tied.b_)
    with pytest.raises(ValueError, match="sums to 0.6 for one label, less than a row"):
        BetaCalibrator().fit(p, y, np.full(6, 0.2))
    with pytest.warns(UserWarning, match="does not rise"):
        falling = BetaCalibrator().fit(p, 1 - y)
    np.testing.assert_allclose(falling.predict(p), 0.5, rtol=1e-12)


def test_probabilities_and_margins_agree_and_tails_are_exact() -> None:
    p, y = rows(0)
    by_p, by_z = BetaCalibrator().fit(p, y), BetaCalibrator(input_space="margin").fit(logit(p), y)
    np.testing.assert_allclose(by_z.predict(logit(p)), by_p.predict(p), rtol=1e-9)
    z = np.array([-700.0, -300, -40, 40, 300, 700])
    m = by_z.a_ * np.minimum(z, 0) + by_z.b_ * np.maximum(z, 0) + by_z.c_  # up to exp(-40)
    np.testing.assert_allclose(by_z.predict(z), expit(m), rtol=1e-12)
    assert by_p.predict([0.0, 1.0]).tolist() == [0, 1]


def test_log_odds_that_are_far_from_0() -> None:
    """Of scores all near 0, ln(1 - p) is p, and their unit does not matter."""
    rng = np.random.default_rng(0)
    z = rng.normal(-40, 1, 3000)
    y = (rng.random(3000) < expit(1.3 * (z + 40))).astype(int)
    near = BetaCalibrator(input_space="margin").fit(z, y).predict(z)
    farther = BetaCalibrator(input_space="margin").fit(z - 500, y).predict(z - 500)
    np.testing.assert_allclose(near, farther, rtol=1e-6)
    # exp(-800) is 0: ln(1 - p) says nothing, and the rest is LogitCalibrator
    zero = BetaCalibrator(input_space="margin").fit(z - 800, y)
    line = LogitCalibrator(input_space="margin").fit(z - 800, y)
    assert zero.b_ == 0
    np.testing.assert_allclose(zero.predict(z - 800), line.predict(z - 800), rtol=1e-7)


def test_what_cannot_be_fitted() -> None:
    for score, y in (([0.2, 0.8] * 4, [0, 1] * 3 + [1, 0]), ([0.2, 0.8, 1.0] * 2, [0, 1, 1] * 2)):
        with pytest.raises(ValueError, match="fewer than three different values.*LogitCalibrator"):
            BetaCalibrator().fit(score, y)
    with pytest.raises(ValueError, match="in all rows: no slope.*InterceptCalibrator"):
        BetaCalibrator().fit([0.3, 0.3, 0.3], [0, 1, 0])
    p, y = rows(0)
    with pytest.raises(ValueError, match="score is exactly 1 for 2 rows of label 0"):
        BetaCalibrator().fit([*p, 1.0, 1.0], [*y, 0, 0])
    more = BetaCalibrator().fit([*p, 0.0, 1.0], [*y, 0, 1])
    # logarithms of arrays of other lengths may differ in the last digit
    np.testing.assert_allclose(more.predict(p), BetaCalibrator().fit(p, y).predict(p), rtol=1e-9)


def test_many_rows_and_rare_labels() -> None:
    """The start from one row in sixteen is only a start."""
    rng = np.random.default_rng(0)
    z = rng.normal(-9, 1.5, 200_000)
    y = (rng.random(len(z)) < expit(z)).astype(int)
    assert y[::16].sum() < 10 < y.sum()
    found = BetaCalibrator(input_space="margin").fit(z, y)
    p = expit(z)
    error = found.predict(z) - y
    unit = np.log1p(-p).std()
    gradient = [error @ x / len(z) for x in (np.ones(len(z)), np.log(p), -np.log1p(-p) / unit)]
    assert gradient[:2] == pytest.approx([0, 0], abs=1e-9)
    assert found.b_ == 0 < gradient[2] or gradient[2] == pytest.approx(0, abs=1e-9)
