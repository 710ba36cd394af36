"""roc_convex_hull: the worked example, fractions, all chords, scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.spatial import ConvexHull
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score, roc_curve

import gbdt_objectives as go
from tests.calibration.reference import area, pooled, roc_points, upper_hull
from tests.cases import each, refusals, refusals_of

DESCENDING = [1, 1, 0, 1, 1, 0, 1, 1, 0, 0]  # labels of the worked example, best score first


def mapped(hull, score, **options):
    """The calibration map at scores that were fitted."""
    return hull.probability(**options)[np.searchsorted(hull.low, score, side="right") - 1]


def ranked(labels):
    return labels, -np.arange(len(labels))


def test_worked_example() -> None:
    y, score = ranked(DESCENDING)
    hull = go.calibration.roc_convex_hull(y, score)
    assert hull.auc == 18 / 24
    assert hull.hull_auc == pytest.approx(20 / 24, rel=1e-15)
    p = mapped(hull, score)
    assert p.tolist() == [1, 1, *[2 / 3] * 6, 0, 0]
    assert go.calibration.brier_score(y, p) == pytest.approx(2 / 15, rel=1e-14)
    assert go.calibration.calibration_refinement(y, p).calibration == 0
    assert hull.fpr.tolist() == [0, 0, 0.5, 1]
    assert hull.tpr.tolist() == [0, 2 / 6, 1, 1]
    assert hull.thresholds.tolist() == [math.inf, -1, -7, -9]
    assert (hull.low.tolist(), hull.high.tolist()) == ([-9, -7, -1], [-8, -2, 0])
    assert (hull.positive.tolist(), hull.negative.tolist()) == ([0, 4, 2], [2, 2, 0])


def test_worked_example_smoothed() -> None:
    y, score = ranked(DESCENDING)
    true = mapped(go.calibration.roc_convex_hull(y, score), score, m=2)
    assert true.tolist() == [3 / 4, 3 / 4, *[5 / 8] * 6, 1 / 4, 1 / 4]
    assert go.calibration.brier_score(y, true) == pytest.approx(0.159375, rel=1e-14)


def test_published_smoothing_pools_only_violators() -> None:
    """It leaves neighbours of equal proportion apart: the same map, but other counts to smooth."""
    y, score = ranked(DESCENDING)
    low, _, positive, total = np.array(pooled(y, score, [1] * 10, equal_too=False), float).T
    counts = np.column_stack([total - positive, positive])
    at = np.searchsorted(low, score, side="right") - 1
    assert go.calibration.empirical_probability(counts)[at, 1].tolist() == [
        1,
        1,
        *[2 / 3] * 6,
        0,
        0,
    ]
    strict = go.calibration.empirical_probability(counts, m=2)[at, 1]
    expected = [2 / 3, 2 / 3, *[3 / 5] * 6, 1 / 3, 1 / 3]
    np.testing.assert_allclose(strict, expected, rtol=1e-15)
    assert go.calibration.brier_score(y, strict) == pytest.approx(0.180444, abs=5e-7)  # as printed


def test_smoothing_can_reverse_the_order_and_be_told_not_to() -> None:
    y, score = ranked([1, 0, *[1] * 9, 0, 0, 0])
    hull = go.calibration.roc_convex_hull(y, score)
    np.testing.assert_allclose(hull.probability(m=2)[::-1], [2 / 3, 5 / 6, 1 / 5], rtol=1e-15)
    pooled = (1 * 2 / 3 + 10 * 5 / 6) / 11  # nearest in squared error over the 11 rows
    rising = hull.probability(m=2, monotone=True)[::-1]
    np.testing.assert_allclose(rising, [pooled, pooled, 1 / 5], rtol=1e-14)
    prior = [0.9, 0.1]  # of labels 0 and 1
    np.testing.assert_allclose(
        hull.probability(m=10, prior=prior)[::-1], [2 / 11, 10 / 20, 1 / 13], rtol=1e-15
    )


few_pass = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@st.composite
def problems(draw, weight):
    """Labels, scores with and without ties, weights, both classes with weight."""
    # multiples of 1/8: scikit-learn, the reference, takes scores for equal that differ by 1e-15
    distinct = st.integers(-8000, 8000).map(lambda k: k / 8)
    score = draw(st.sampled_from([st.integers(0, 5), distinct]))
    row = st.tuples(st.integers(0, 1), score, weight)
    rows = draw(
        st.lists(row, min_size=2, max_size=12).filter(
            lambda rows: len({y for y, _, w in rows if w > 0}) == 2
        )
    )
    y, s, w = zip(*rows, strict=True)
    return list(y), [float(value) for value in s], list(w)


WHOLE = st.integers(0, 3)
# sixteenths add up exactly, and the proportions they make are as often equal as those of counts
SIXTEENTHS = st.integers(0, 40).map(lambda k: k / 16)
REAL = st.one_of(st.just(0.0), st.floats(0.01, 10))


@pytest.mark.slow
@few_pass
@given(problems(st.one_of(WHOLE, SIXTEENTHS)))
def test_segments_are_those_of_pooling_in_fractions(problem) -> None:
    y, score, w = problem
    hull = go.calibration.roc_convex_hull(y, score, sample_weight=w)
    expected = pooled(y, score, w, equal_too=True)
    found = np.column_stack([hull.low, hull.high, hull.positive, hull.positive + hull.negative])
    assert found.tolist() == [[float(value) for value in segment] for segment in expected]


@few_pass
@given(problems(st.one_of(WHOLE, SIXTEENTHS)))
def test_points_are_the_hull_of_all_points(problem) -> None:
    y, score, w = problem
    points = roc_points(y, score, w)
    Q, P = points[-1]
    corners = upper_hull(points)
    hull = go.calibration.roc_convex_hull(y, score, sample_weight=w)
    assert hull.fpr.tolist() == [float(x / Q) for x, _ in corners]
    assert hull.tpr.tolist() == [float(u / P) for _, u in corners]
    assert hull.auc == pytest.approx(float(area(points)), rel=1e-12)
    assert hull.hull_auc == pytest.approx(float(area(corners)), rel=1e-12)


@pytest.mark.slow
@few_pass
@given(problems(REAL))
def test_against_scikit_learn(problem) -> None:
    y, score, w = map(np.array, problem)
    hull = go.calibration.roc_convex_hull(y, score, sample_weight=w)
    counts = w > 0
    y, score, w = y[counts], score[counts], w[counts]
    fit = IsotonicRegression().fit(score, y, sample_weight=w).predict(score)
    found = go.calibration.roc_convex_hull(y, score, sample_weight=w)
    # 1e-12: sums of up to 12 weights in another order
    np.testing.assert_allclose(mapped(found, score), fit, atol=1e-12)
    assert (np.diff(found.probability()) >= 0).all()
    assert hull.auc == pytest.approx(roc_auc_score(y, score, sample_weight=w), rel=1e-9)
    # scikit-learn's rounding may split or tie equal fitted values, which moves nothing far
    assert hull.hull_auc == pytest.approx(
        roc_auc_score(y, fit.round(12), sample_weight=w), rel=1e-9
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
    hull = go.calibration.roc_convex_hull(y, score, sample_weight=w)
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


def test_weight_is_repetition_and_zero_is_absence() -> None:
    y, score, _ = simulated(1, 500, True, False)
    w = np.random.default_rng(2).integers(0, 4, 500)
    at = np.repeat(np.arange(500), w)
    weighted = go.calibration.roc_convex_hull(y, score, sample_weight=w)
    repeated = go.calibration.roc_convex_hull(y[at], score[at])
    for name in ("low", "high", "positive", "negative", "fpr", "tpr", "thresholds"):
        assert getattr(weighted, name).tolist() == getattr(repeated, name).tolist()
    assert weighted.auc == pytest.approx(repeated.auc, rel=1e-12)


def test_equal_proportions_that_the_isotonic_fit_rounds_apart() -> None:
    counts = [(1, 2), (14, 25), (0, 3)]  # 14/25 > 0/3, pooled 14/28 = 1/2
    y = np.concatenate([np.repeat([1, 0], [k, n - k]) for k, n in counts])
    score = np.repeat([0, 1, 2], [n for _, n in counts])
    assert go.calibration.roc_convex_hull(y, score).low.tolist() == [0]


@pytest.mark.parametrize(
    ("y", "w"),
    [
        ([0, 1, 0], [1, 1, 1e-17]),  # the last is lost in a sum of all
        ([0, 1, 1, 0, 1, 0], [1, 1, 1e-17, 2e-17, 2e-17, 1e-17]),  # and in one of the segment
        ([0, 0, 1, 1], [1, 1e-200, 1e-200, 1e-200]),  # products of these vanish
    ],
)
def test_weights_that_are_lost_in_sums(y, w) -> None:
    score = [0, 1, 1, 2] if len(y) == 4 else [0, 0, 1, 1, 2, 2] if len(y) == 6 else [0, 1, 2]
    hull = go.calibration.roc_convex_hull(y, score, sample_weight=w)
    p = np.array([float(a / n) for *_, a, n in pooled(y, score, w, equal_too=True)])
    found = hull.probability()
    assert (np.diff(found) >= 0).all()
    at = [lowest for lowest, *_ in pooled(y, score, w, equal_too=True)]
    np.testing.assert_allclose(mapped(hull, at), p, rtol=1e-15)
    fit = IsotonicRegression().fit(score, y, sample_weight=w).predict(score)
    np.testing.assert_allclose(mapped(hull, score), fit, atol=1e-12)


@each("scale", [1e-95, 1e-60, 1e15, 1e29])
def test_the_unit_of_weights_does_not_matter(scale) -> None:
    y, score, w = simulated(3, 300, True, True)
    one = go.calibration.roc_convex_hull(y, score, sample_weight=w)
    other = go.calibration.roc_convex_hull(y, score, sample_weight=w * scale)
    assert other.low.tolist() == one.low.tolist()
    # w * scale is rounded
    for name in ("auc", "hull_auc", "fpr", "tpr"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-12)
    np.testing.assert_allclose(other.positive / scale, one.positive, rtol=1e-12)
    np.testing.assert_allclose(other.probability(), one.probability(), rtol=1e-12)


def test_runs_of_one_label_are_equal_whatever_the_weights() -> None:
    y, score = np.repeat([0, 1], 200), np.arange(400)
    w = np.random.default_rng(0).exponential(size=400)
    assert len(go.calibration.roc_convex_hull(y, score, sample_weight=w).low) == 2


def test_extremes() -> None:
    perfect = go.calibration.roc_convex_hull([0, 0, 1], [1, 2, 3])
    assert (perfect.auc, perfect.hull_auc, perfect.fpr.tolist()) == (1, 1, [0, 0, 1])
    reversed_ = go.calibration.roc_convex_hull([1, 0, 0], [1, 2, 3])
    assert (reversed_.auc, reversed_.hull_auc) == (0, 0.5)
    assert reversed_.probability().tolist() == [1 / 3]
    equal = go.calibration.roc_convex_hull([1, 0], np.float32([0.1, 0.1]))
    assert (equal.auc, equal.probability().tolist()) == (0.5, [0.5])


test_bad_input = refusals_of(
    lambda arguments, options: go.calibration.roc_convex_hull(*arguments, **options),
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
    hull = go.calibration.roc_convex_hull(y, score)
    assert len(hull.low) > 20
    lines = str(hull).splitlines()
    assert len(lines) == 23
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith(f"ROCConvexHull: {len(hull.low)} segments, AUC {hull.auc:.4f}")
    assert lines[12] == f"... {len(hull.low) - 20} more ..."
    assert lines[-1].split()[-1] == f"{hull.probability()[-1]:.4g}"


STEP = go.calibration.roc_convex_hull([0, 1], [0.1, 0.2])

test_refusals = refusals(
    (lambda: STEP.probability(m=-1), "m must not be negative"),
    (lambda: STEP.probability(m=1, prior=[0.5, 0.6]), "prior must sum to 1"),
    (lambda: STEP.probability(monotone=1), "monotone must be True or False", TypeError),
)  # fmt: skip
