"""Exact thresholds for QWK: against all cuts, the dynamic program and isotonic regression."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.stats import pearsonr, rankdata
from sklearn.isotonic import IsotonicRegression

from gbdt_objectives.metrics import qwk_metric
from gbdt_objectives.thresholds import apply_thresholds, optimize_thresholds, qwk
from gbdt_objectives.thresholds.qwk import exact_cuts, isotonic_ends, optimal_cuts, qwk_ratio
from gbdt_objectives.thresholds.rows import ScoredRows
from tests.thresholds.reference import every_kappa, kappa, value

pytestmark = pytest.mark.filterwarnings("ignore:every row gets the class:UserWarning")


few_pass = settings(
    max_examples=3 * settings.default.max_examples,  # of three kinds
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TIED = st.integers(0, 5)
CONTINUOUS = st.floats(-1e3, 1e3, width=32)
WHOLE = st.integers(0, 3)
REAL = st.one_of(st.just(0.0), st.floats(0.01, 10))


@st.composite
def problems(draw, score, weight):
    K = draw(st.integers(2, 5))
    row = st.tuples(st.integers(0, K - 1), score, weight)
    rows = draw(
        st.lists(row, min_size=K, max_size=8).filter(
            lambda rows: (
                sum(w > 0 for _, _, w in rows) >= K and len({y for y, _, w in rows if w > 0}) > 1
            )
        )
    )
    y, s, w = (np.array(column) for column in zip(*rows, strict=True))
    return y, s.astype(float), w.astype(float), K


@few_pass
@given(st.one_of(problems(TIED, WHOLE), problems(TIED, REAL), problems(CONTINUOUS, st.just(1))))
def test_equals_brute_force(problem):
    y, score, w, K = problem
    thresholds = optimize_thresholds(y, score, method="exact", labels=range(K), sample_weight=w)
    assert np.shape(thresholds) == (K - 1,)
    assert (np.diff(thresholds[np.isfinite(thresholds)]) >= 0).all()
    reached = value("qwk", y, apply_thresholds(score, thresholds), w, K)
    counted = w > 0
    best = every_kappa(y[counted], score[counted], w[counted], K)
    assert reached == pytest.approx(best, abs=1e-9)


def random_problem(seed, n, ties, weighted, K=6):
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal(n)
    y = np.searchsorted(np.sort(rng.standard_normal(K - 1)), latent)
    y[:2] = 0, K - 1
    score = latent + rng.exponential() * rng.standard_normal(n)
    if ties:
        score = score.round(2)
    return y, score, rng.exponential(size=n) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("n", "seeds"), [(2_000, 15), (30_000, 2)])
def test_equals_the_dynamic_program(n, seeds, ties, weighted):
    for seed in range(seeds):
        y, score, w = random_problem(seed, n, ties, weighted)
        rows = ScoredRows.read(y, score, None, w)
        curve = rows.label_curve
        exact = qwk_ratio(curve, exact_cuts(curve))
        assert exact == pytest.approx(
            qwk_ratio(curve, optimal_cuts(rows.class_curve.C, qwk_metric())), abs=1e-12
        )
        thresholds = optimize_thresholds(y, score, method="exact", sample_weight=w)
        p = apply_thresholds(score, thresholds)
        weight = np.ones(n) if w is None else w
        assert 1 - exact == pytest.approx(value("qwk", y, p, weight, 6), abs=1e-12)
        assert 1 - exact > 0.01


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("block", [1_000, 131_072])
def test_isotonic_ends_are_those_of_the_isotonic_regression(ties, weighted, block, monkeypatch):
    monkeypatch.setattr(qwk, "BLOCK", block)
    y, score, w = random_problem(0, 40_000, ties, weighted)
    curve = ScoredRows.read(y, score, None, w).label_curve
    ends = isotonic_ends(curve)
    slopes = np.diff(curve.S[ends]) / np.diff(curve.N[ends])
    fit = IsotonicRegression().fit(score, y, sample_weight=w).predict(curve.low)
    np.testing.assert_allclose(np.repeat(slopes, np.diff(ends)), fit, atol=1e-9)
    assert 10 < len(ends) < 3_000


def test_prunes_one_long_concave_run():
    score = np.arange(20_000.0)
    y = np.repeat([3, 2, 1, 0], 5_000)
    with pytest.warns(UserWarning, match="every row gets the class"):
        thresholds = optimize_thresholds(y, score, method="exact")
    assert not np.isfinite(thresholds).any()


def test_rising_runs_survive_pruning():
    score = np.arange(20_000.0)
    y = np.repeat([0, 1, 2, 3], 5_000)
    for method in ("exact", "plugin"):
        thresholds = optimize_thresholds(y, score, method=method)
        assert value("qwk", y, apply_thresholds(score, thresholds), np.ones(20_000), 4) > 0.98
    assert optimize_thresholds(y, score, method="exact").tolist() == [4999.5, 9999.5, 14999.5]


def test_no_threshold_vector_of_nelder_mead_is_better():
    y, score, w = random_problem(5, 3_000, False, True)
    exact, plugin, search = (
        kappa(y, score, optimize_thresholds(y, score, method=method, sample_weight=w), w)
        for method in ("exact", "plugin", "nelder-mead")
    )
    assert exact >= plugin
    assert exact >= search > exact - 0.01


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threshold_separates_adjacent_floats(dtype):
    low = dtype(1)
    high = np.nextafter(low, dtype(2))
    for below, above in [(low, high), (-high, -low), (dtype(0), np.nextafter(dtype(0), high))]:
        score = np.array([below, above])
        for metric in ("qwk", "accuracy"):
            thresholds = optimize_thresholds([0, 1], score, method="exact", metric=metric)
            assert apply_thresholds(score, thresholds).tolist() == [0, 1]


def test_midpoint_of_huge_scores_does_not_overflow():
    score = np.array([1.5e308, 1.7e308, -1.7e308])
    for method in ("exact", "plugin"):
        thresholds = optimize_thresholds([1, 1, 0], score / 2, method=method)
        assert apply_thresholds(score / 2, thresholds).tolist() == [1, 1, 0]


def test_absent_class_gets_no_rows():
    thresholds = optimize_thresholds([0, 0, 3, 3], [1, 2, 3, 4], method="exact", labels=range(4))
    assert thresholds.tolist() == [2.5, 2.5, 2.5]


def test_a_weight_that_is_lost_in_rounding_changes_nothing():
    y, score = [0, 0, 1, 1, 2, 2], [0.0, 1, 1.5, 2, 3, 4]
    w = [1, 1, 1e-30, 1, 1, 1]
    thresholds = optimize_thresholds(y, score, method="exact", sample_weight=w)
    assert thresholds.tolist() == [1.5, 2.5]


@pytest.mark.parametrize("block", [1, 7, 299])
def test_a_line_is_the_same_from_blocks_of_pools(monkeypatch, block) -> None:
    rng = np.random.default_rng(5)
    score = rng.normal(size=300)
    y = np.digitize(score + rng.normal(size=300), [-0.5, 0.5])
    curve = ScoredRows.read(y, score, None, rng.integers(1, 4, 300).astype(float)).label_curve
    whole = qwk.fit_line(curve, 2.0, 0, 300)
    monkeypatch.setattr(qwk, "BLOCK", block)
    parts = qwk.fit_line(curve, 2.0, 0, 300)
    found, expected = ([line.alpha, line.beta, line.var] for line in (parts, whole))
    np.testing.assert_allclose(found, expected, rtol=1e-12)  # sums in another order


def test_the_rank_correlation_is_spearmans():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 4, 500)
    score = (y + 2 * rng.standard_normal(500)).round(1)
    curve = ScoredRows.read(y, score, None, None, None).label_curve
    assert qwk.rank_correlation(curve) == pytest.approx(
        pearsonr(rankdata(score), y).statistic, abs=1e-12
    )


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_scores_rise_in_any_unit(unit):
    y = np.repeat([0, 1, 2], 20)
    curve = ScoredRows.read(y, unit * (y + np.arange(60) / 60), None, None).label_curve
    assert qwk.score_rises(curve)


def test_the_last_fit_of_a_line_looks_at_all_rows(monkeypatch) -> None:
    """The search may look at few pools, and ends with more squared error than what it returns."""
    rng = np.random.default_rng(6)
    score = np.sort(rng.normal(size=2000))
    y = np.clip(np.rint(1.5 + 1.6 * score + rng.normal(0, 0.4, 2000)), 0, 3).astype(int)
    curve = ScoredRows.read(y, score, None, None).label_curve

    def squared_error(line) -> float:
        return float(((y - line.position(score).clip(0, 3)) ** 2).sum())

    monkeypatch.setattr(qwk, "COARSE", 40)
    coarse = qwk.coarsen(curve, 50)
    assert len(coarse.score) == 40
    assert len(qwk.coarsen(curve, 3).score) == 667
    starts = qwk.rising_lines(curve, qwk.fit_lines(curve))
    found = qwk.fit_bounded_line(curve, starts)
    ends = [squared_error(qwk.refit_until_stable(coarse, start)) for start in starts]
    assert squared_error(found) < min(ends)
    monkeypatch.setattr(qwk, "COARSE", 10_000)
    exact = squared_error(qwk.fit_bounded_line(curve, starts))
    assert squared_error(found) == pytest.approx(exact, rel=1e-3)  # of other rows within the ends
