"""roc_convex_hull: the worked example, scipy, scikit-learn; test_definitions.py has fractions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score, roc_curve

from gbdt_objectives.calibration import brier_score, calibration_refinement, roc_convex_hull
from tests.cases import each, refusals, refusals_of

DESCENDING = [1, 1, 0, 1, 1, 0, 1, 1, 0, 0]  # labels of the worked example, best score first


def mapped(hull, score, **options):
    """The calibration map at scores that were fitted."""
    return hull.probability(**options)[np.searchsorted(hull.low, score, side="right") - 1]


def ranked(labels):
    return labels, -np.arange(len(labels))


def test_worked_example() -> None:
    y, score = ranked(DESCENDING)
    hull = roc_convex_hull(y, score)
    assert hull.auc == 18 / 24
    assert hull.hull_auc == pytest.approx(20 / 24, rel=1e-15)
    p = mapped(hull, score)
    assert p.tolist() == [1, 1, *[2 / 3] * 6, 0, 0]
    assert brier_score(y, p) == pytest.approx(2 / 15, rel=1e-14)
    assert calibration_refinement(y, p).calibration == 0
    assert hull.fpr.tolist() == [0, 0, 0.5, 1]
    assert hull.tpr.tolist() == [0, 2 / 6, 1, 1]
    assert hull.thresholds.tolist() == [math.inf, -1, -7, -9]
    assert (hull.low.tolist(), hull.high.tolist()) == ([-9, -7, -1], [-8, -2, 0])
    assert (hull.positive.tolist(), hull.negative.tolist()) == ([0, 4, 2], [2, 2, 0])


def test_worked_example_smoothed() -> None:
    y, score = ranked(DESCENDING)
    true = mapped(roc_convex_hull(y, score), score, m=2)
    assert true.tolist() == [3 / 4, 3 / 4, *[5 / 8] * 6, 1 / 4, 1 / 4]
    assert brier_score(y, true) == pytest.approx(0.159375, rel=1e-14)


def test_smoothing_can_reverse_the_order_and_be_told_not_to() -> None:
    y, score = ranked([1, 0, *[1] * 9, 0, 0, 0])
    hull = roc_convex_hull(y, score)
    np.testing.assert_allclose(hull.probability(m=2)[::-1], [2 / 3, 5 / 6, 1 / 5], rtol=1e-15)
    pooled = (1 * 2 / 3 + 10 * 5 / 6) / 11  # nearest in squared error over the 11 rows
    rising = hull.probability(m=2, monotone=True)[::-1]
    np.testing.assert_allclose(rising, [pooled, pooled, 1 / 5], rtol=1e-14)
    prior = [0.9, 0.1]  # of labels 0 and 1
    np.testing.assert_allclose(
        hull.probability(m=10, prior=prior)[::-1], [2 / 11, 10 / 20, 1 / 13], rtol=1e-15
    )


def simulated(seed, n, ties, weighted):
    rng = np.random.default_rng(seed)
    score = rng.standard_normal(n)
    if ties:
        score = score.round(1)
    y = (rng.random(n) < 1 / (1 + np.exp(1 - score))).astype(int)
    return y, score, rng.exponential(size=n) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_many_rows(ties, weighted) -> None:
    y, score, w = simulated(0, 20_000, ties, weighted)
    hull = roc_convex_hull(y, score, sample_weight=w)
    fit = IsotonicRegression().fit(score, y, sample_weight=w).predict(score)
    np.testing.assert_allclose(mapped(hull, score), fit, atol=1e-12)
    assert hull.hull_auc == pytest.approx(roc_auc_score(y, fit.round(13), sample_weight=w))
    assert hull.hull_auc > hull.auc == pytest.approx(roc_auc_score(y, score, sample_weight=w))

    fpr, tpr, _ = roc_curve(y, score, sample_weight=w)
    assert (tpr <= np.interp(fpr, hull.fpr, hull.tpr) + 1e-12).all()  # interpolation rounds
    corners = ConvexHull(np.column_stack([[*fpr, 1], [*tpr, 0]])).vertices
    on_hull = sorted({(fpr[i], tpr[i]) for i in corners if i < len(fpr)})
    np.testing.assert_allclose(np.column_stack([hull.fpr, hull.tpr]), on_hull, atol=1e-12)

    smoothed = hull.probability(m=20, prior=[0.7, 0.3])
    assert (np.diff(hull.probability(m=20, prior=[0.7, 0.3], monotone=True)) >= 0).all()
    assert (np.diff(smoothed) < 0).any()


def test_equal_proportions_that_the_isotonic_fit_rounds_apart() -> None:
    counts = [(1, 2), (14, 25), (0, 3)]  # 14/25 > 0/3, pooled 14/28 = 1/2
    y = np.concatenate([np.repeat([1, 0], [k, n - k]) for k, n in counts])
    score = np.repeat([0, 1, 2], [n for _, n in counts])
    assert roc_convex_hull(y, score).low.tolist() == [0]


@each(
    ("score", "y", "w", "p"),
    [
        # the last weight is lost in a sum of all
        ([0, 1, 2], [0, 1, 0], [1, 1, 1e-17], [0, 1, 1]),
        # and those of a segment
        (
            [0, 0, 1, 1, 2, 2],
            [0, 1, 1, 0, 1, 0],
            [1, 1, 1e-17, 2e-17, 2e-17, 1e-17],
            [1 / 2, 1 / 2, 1 / 2, 1 / 2, 2 / 3, 2 / 3],
        ),
        # products of these vanish
        ([0, 1, 1, 2], [0, 0, 1, 1], [1, 1e-200, 1e-200, 1e-200], [0, 1 / 2, 1 / 2, 1]),
    ],
)
def test_weights_that_are_lost_in_sums(score, y, w, p) -> None:
    hull = roc_convex_hull(y, score, sample_weight=w)
    assert (np.diff(hull.probability()) >= 0).all()
    np.testing.assert_allclose(mapped(hull, score), p, rtol=1e-15)


@each("scale", [1e-95, 1e-60, 1e15, 1e29])
def test_the_unit_of_weights_does_not_matter(scale) -> None:
    y, score, w = simulated(3, 300, True, True)
    one = roc_convex_hull(y, score, sample_weight=w)
    other = roc_convex_hull(y, score, sample_weight=w * scale)
    assert other.low.tolist() == one.low.tolist()
    # w * scale is rounded
    for name in ("auc", "hull_auc", "fpr", "tpr"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-12)
    np.testing.assert_allclose(other.positive / scale, one.positive, rtol=1e-12)
    np.testing.assert_allclose(other.probability(), one.probability(), rtol=1e-12)


def test_runs_of_one_label_are_equal_whatever_the_weights() -> None:
    y, score = np.repeat([0, 1], 200), np.arange(400)
    w = np.random.default_rng(0).exponential(size=400)
    assert len(roc_convex_hull(y, score, sample_weight=w).low) == 2


def test_extremes() -> None:
    perfect = roc_convex_hull([0, 0, 1], [1, 2, 3])
    assert (perfect.auc, perfect.hull_auc, perfect.fpr.tolist()) == (1, 1, [0, 0, 1])
    reversed_ = roc_convex_hull([1, 0, 0], [1, 2, 3])
    assert (reversed_.auc, reversed_.hull_auc) == (0, 0.5)
    assert reversed_.probability().tolist() == [1 / 3]
    equal = roc_convex_hull([1, 0], np.float32([0.1, 0.1]))
    assert (equal.auc, equal.probability().tolist()) == (0.5, [0.5])


test_bad_input = refusals_of(
    lambda arguments, options: roc_convex_hull(*arguments, **options),
    (([1, 1], [0.1, 0.2]), {}, "y_true holds the single class 1"),
    (([1, 0], [0.1, 0.2]), {"sample_weight": [0, 1]},
     "y_true holds the single class 0 among rows of weight above 0"),
    (([1, 2], [0.1, 0.2]), {}, "y_true must be 0 .negative. or 1 .positive., found 2"),
    (([1, 0], [0.1, np.nan]), {}, "score must be finite, found nan at row 1"),
    (([1, 0], [0.1]), {}, "score has 1 rows, but the labels have 2"),
    (([1, 0], [[0.1, 0.9], [0.2, 0.8]]), {}, "score must be one-dimensional"),
    (([0.1, 0.7], [1, 0]), {}, "y_true must be 0 .negative. or 1 .positive., found 0.1"),
    (([], []), {}, "y_true is empty"),
    (([1, 0], [0.1, 0.2]), {"sample_weight": [-1, 1]}, "sample_weight must not be negative"),
)  # fmt: skip


def test_prints_as_a_table() -> None:
    y, score, _ = simulated(1, 5_000, False, False)
    hull = roc_convex_hull(y, score)
    assert len(hull.low) > 20
    lines = str(hull).splitlines()
    assert len(lines) == 23
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith(f"ROCConvexHull: {len(hull.low)} segments, AUC {hull.auc:.4f}")
    assert lines[12] == f"... {len(hull.low) - 20} more ..."
    assert lines[-1].split()[-1] == f"{hull.probability()[-1]:.4g}"


STEP = roc_convex_hull([0, 1], [0.1, 0.2])

test_refusals = refusals(
    (lambda: STEP.probability(m=-1), "m must not be negative"),
    (lambda: STEP.probability(m=1, prior=[0.5, 0.6]), "prior must sum to 1"),
    (lambda: STEP.probability(monotone=1), "monotone must be True or False", TypeError),
)  # fmt: skip
