"""What thresholds of every method do where the outer classes are rare or the scores useless."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import norm

from gbdt_objectives import apply_thresholds, optimize_thresholds, quadratic_weighted_kappa
from gbdt_objectives.metrics import qwk_metric
from gbdt_objectives.thresholds import ThresholdStatistics
from gbdt_objectives.thresholds.methods import fit_thresholds, own_kappa
from gbdt_objectives.thresholds.rows import read_scored_rows

LABELS = [0, 1, 2]
SEARCHES = ["plugin", "curved", "exact", "nelder-mead"]


def draw_rare(
    seed: int, tails: tuple[float, float], correlation: float, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Three classes, the outer ones rare, and a weak score; of odd seeds a bent one."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    score = correlation * z + np.sqrt(1 - correlation**2) * rng.normal(size=n)
    y = np.digitize(z, norm.ppf([tails[0], 1 - tails[1]]))
    return y, score**3 if seed % 2 else score


def kappa(y: np.ndarray, score: np.ndarray, thresholds: np.ndarray) -> float:
    return quadratic_weighted_kappa(y, apply_thresholds(score, thresholds), labels=LABELS)


def test_rare_outer_classes_are_not_given_up() -> None:
    """60 cases; before there was a second start, plug-in gave up 10 of such, and curved 14."""
    rng = np.random.default_rng(24)
    own, new = np.empty((60, 3)), np.empty((60, 3))
    for case in range(60):
        tails, correlation = rng.uniform(0.005, 0.03, 2), rng.uniform(0.15, 0.4)
        y, score = draw_rare(case, tails, correlation, 2500)
        new_y, new_score = draw_rare(1000 + case, tails, correlation, 20_000)
        for k, method in enumerate(("plugin", "curved", "exact")):
            found = optimize_thresholds(y, score, method=method, labels=LABELS)
            own[case, k] = kappa(y, score, found)
            new[case, k] = kappa(new_y, new_score, found)
    for kappas in (own, new):
        assert not ((kappas.min(axis=1) < 0.01) & (kappas[:, 2] > 0.05)).any()
    behind = (new.max(axis=1, keepdims=True) - new).mean(axis=0)
    assert behind.max() < 0.01


@pytest.mark.parametrize("method", SEARCHES)
def test_no_search_ends_in_one_class_where_there_are_better_thresholds(method: str) -> None:
    for seed in range(30):
        y, score = draw_rare(seed, (0.004, 0.01), 0.2, 700)
        if len(np.unique(y)) < 2:
            continue
        rows = read_scored_rows(y, score, LABELS, None)
        assert own_kappa(rows, fit_thresholds("exact", rows, qwk_metric())) > 0
        assert own_kappa(rows, fit_thresholds(method, rows, qwk_metric())) > 0


@pytest.mark.parametrize("method", SEARCHES)
def test_one_class_for_all_is_said(method: str) -> None:
    with pytest.warns(UserWarning, match="every row gets the class 1: the scores are all equal"):
        optimize_thresholds([0, 1, 2] * 20, np.ones(60), method=method)


def test_rounding_that_is_no_better_than_one_class_is_said() -> None:
    y = np.array([0, 1, 2] * 20)
    with pytest.warns(UserWarning, match="kappa is not above 0 on these rows.*pass -score"):
        optimize_thresholds(y, 2.0 - y, method="rounding")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimize_thresholds(y, y + 0.1, method="rounding")


@pytest.mark.parametrize("method", ["plugin", "curved"])
def test_falling_scores_are_refused(method: str) -> None:
    """Also where the middle half of them rises."""
    score = np.linspace(-1, 1, 400)
    rising = np.abs(score) < 0.5
    y = np.digitize(np.where(rising, score, -score), [-0.4, 0.4])
    inner = np.corrcoef(score[rising], y[rising])[0, 1]
    assert inner > 0.5
    assert np.corrcoef(score, y)[0, 1] < -0.5
    with pytest.raises(ValueError, match="score falls as the class rises.*pass -score"):
        optimize_thresholds(y, score, method=method)
    if method == "plugin":
        with pytest.raises(ValueError, match="score falls as the class rises"):
            ThresholdStatistics.of(y, score).thresholds(method=method)
    rows = read_scored_rows(y, score, LABELS, None)  # of a fold, whose exact ones are as good
    np.testing.assert_array_equal(
        fit_thresholds(method, rows, qwk_metric()), fit_thresholds("exact", rows, qwk_metric())
    )
