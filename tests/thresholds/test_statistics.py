"""ThresholdStatistics: merged equals whole, and bins lose no more than stated."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gbdt_objectives.metrics import RatioMetric, cost_metric, threshold_metric
from gbdt_objectives.thresholds import ThresholdStatistics, apply_thresholds, optimize_thresholds
from tests.cases import each, refusals_of
from tests.contract import SEVERAL

COST = cost_metric([[0, 1, 3, 3.5], [0.6, 0, 2, 4], [2.1, 1.2, 0, 1], [5, 4, 0.7, 0]])
METRICS = [*(name for name in SEVERAL if isinstance(threshold_metric(name), RatioMetric)), COST]
CASES = [("plugin", "qwk")] + [("exact", metric) for metric in METRICS]


def sample(n=3_000, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    y = np.searchsorted([-1.0, 0.2, 1.0], z)
    return y, (z + rng.standard_normal(n)).round(2) + 1e4, rng.integers(0, 3, n).astype(float)


def in_chunks(statistics, y, score, w, sizes=(1, 1_000, 1_700)):
    for rows in np.split(np.arange(len(y)), sizes):
        statistics = statistics.add(y[rows], score[rows], None if w is None else w[rows])
    return statistics


def merged(empty, y, score, w):
    half = len(y) // 3
    left = in_chunks(empty, y[:half], score[:half], None if w is None else w[:half], (7,))
    right = in_chunks(empty, y[half:], score[half:], None if w is None else w[half:], (7,))
    return empty + right + left


@each("prior", [None, {0: 0.4, 1: 0.1, 2: 0.1, 3: 0.4}])
@each("weighted", [False, True])
@each(("method", "metric"), CASES)
def test_distinct_scores_equal_all_rows_at_once(method, metric, weighted, prior):
    y, score, w = sample()
    w = np.maximum(w, 1) if weighted else None  # the first chunk is one row, and must count
    whole = optimize_thresholds(
        y, score, method=method, metric=metric, sample_weight=w, target_prior=prior
    )
    empty = ThresholdStatistics.empty(range(4))
    for statistics in (in_chunks(empty, y, score, w), merged(empty, y, score, w)):
        np.testing.assert_allclose(
            statistics.thresholds(method=method, metric=metric, target_prior=prior),
            whole,
            rtol=1e-9,
        )
    assert statistics.qwk_loss_bound() == 0


@pytest.mark.parametrize("edges", [None, np.linspace(9_998, 10_002, 50)])
def test_merging_equals_adding_everything(edges):
    y, score, w = sample()
    empty = ThresholdStatistics.empty(range(4), edges=edges)
    whole, parts = empty.add(y, score, w), merged(empty, y, score, w)
    for name in ("low", "high", "score", "counts"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9)
    assert whole.counts.sum() == w.sum()
    bin_of_row = np.searchsorted(whole.low, score, side="right") - 1
    for j in np.flatnonzero(whole.counts.sum(axis=1))[[0, 7, -1]]:
        inside = bin_of_row == j
        assert whole.score[j] == pytest.approx(np.average(score[inside], weights=w[inside]))
    assert empty.counts.sum() == 0  # nothing was changed in place


def test_bins_that_separate_all_scores_lose_nothing():
    y, score, w = sample()
    edges = np.unique(score)
    binned = ThresholdStatistics.empty(range(4), edges=edges).add(y, score, w)
    for metric in METRICS:
        exact = optimize_thresholds(y, score, method="exact", metric=metric, sample_weight=w)
        thresholds = binned.thresholds(method="exact", metric=metric)
        measure = threshold_metric(metric)
        assert measure(y, apply_thresholds(score, thresholds), w) == pytest.approx(
            measure(y, apply_thresholds(score, exact), w), abs=1e-12
        )
    assert binned.thresholds() == pytest.approx(optimize_thresholds(y, score, sample_weight=w))


@pytest.mark.filterwarnings("ignore:no row gets the class")  # scores are drawn at random
@each("seed", range(5))
@each("bins", [2, 5, 20, 200])
@each("prior", [None, {0: 0.4, 1: 0.1, 2: 0.1, 3: 0.4}])
@each("shared", [False, True])
def test_the_loss_from_bins_is_bounded(seed, bins, prior, shared):
    """Of bins between edges, or those that neighbours share if there are too many scores."""
    y, score, w = sample(2_000, seed)
    score[:200] = score.max() + 1  # which many rows have
    factor = np.ones(4)
    if prior is not None:
        factor = np.array(list(prior.values())) * w.sum() / np.bincount(y, w)
    edges = np.unique(np.quantile(score, np.linspace(0, 1, bins + 1)[1:-1]))
    how = {"max_bins": bins} if shared else {"edges": edges}
    binned = ThresholdStatistics.empty(range(4), **how).add(y, score, w)
    qwk = threshold_metric("qwk")

    def reached(thresholds):
        return qwk(y, apply_thresholds(score, thresholds), factor[y] * w, labels=range(4))

    best = reached(
        optimize_thresholds(y, score, method="exact", sample_weight=w, target_prior=prior)
    )
    loss = best - reached(binned.thresholds(method="exact", target_prior=prior))
    bound = binned.qwk_loss_bound(target_prior=prior)
    share = (binned.counts * factor).sum(axis=1) / (binned.counts * factor).sum()
    p = (binned.counts * factor).sum(axis=0) / (binned.counts * factor).sum()
    var = p @ np.arange(4) ** 2 - (p @ np.arange(4)) ** 2
    assert -1e-12 <= loss <= bound + 1e-12
    assert 0 < bound <= 9 * share.max() / var
    if bins == 200:
        assert bound < 0.05
        assert loss < 0.005


def test_plugin_on_bins_takes_scores_for_the_mean_of_their_bin():
    y, score, w = sample()
    edges = np.unique(np.quantile(score, np.linspace(0.01, 0.99, 300)))
    binned = ThresholdStatistics.empty(range(4), edges=edges).add(y, score, w)
    bins = np.searchsorted(edges, score, side="right")
    mean = np.bincount(bins, w * score) / np.maximum(np.bincount(bins, w), 1e-9)
    np.testing.assert_allclose(
        binned.thresholds(), optimize_thresholds(y, mean[bins], sample_weight=w), rtol=1e-9
    )
    np.testing.assert_allclose(
        binned.thresholds() - 1e4, optimize_thresholds(y, score, sample_weight=w) - 1e4, atol=0.02
    )  # bins are 0.01 to 0.05 wide
    with pytest.raises(ValueError, match="pass -score"):
        ThresholdStatistics.empty(range(4)).add(y, -score, w).thresholds()


def test_memory_is_constant_with_edges_and_pickles():
    empty = ThresholdStatistics.empty(["a", "b", "c"], edges=[0.0, 1.0])
    statistics = empty.add(["a", "b", "c", "c"], [-5.0, 0.5, 1.0, 99.0])
    assert statistics.counts.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 2]]
    assert statistics.thresholds(method="exact").tolist() == [0.0, 1.0]
    again = pickle.loads(pickle.dumps(statistics))
    assert again.thresholds(method="exact").tolist() == [0.0, 1.0]


def test_a_gap_of_empty_bins_is_cut_in_the_middle():
    statistics = ThresholdStatistics.empty([0, 1], edges=[0.0, 1.0, 2.0, 4.0])
    statistics = statistics.add([0, 1], [0.5, 5.0])
    assert statistics.thresholds(method="exact").tolist() == [2.5]


test_bad_input = refusals_of(
    lambda call: call(ThresholdStatistics.empty([0, 1])),
    (lambda s: s.add([0, 0], [1.0, 2.0]).thresholds(), "single class"),
    (lambda s: s.add([0, 5], [1.0, 2.0]), "not in labels"),
    (lambda s: s.add([0, 1], [1.0, np.nan]), "score must be finite"),
    (lambda s: s.add([0, 1], [1.0]), "score has 1 rows"),
    (lambda s: s.thresholds(method="nelder-mead"), "method must be one of"),
    (lambda s: s.thresholds(metric="mae", method="plugin"), "pass method='exact'"),
    (lambda s: s.thresholds(metric=print, method="exact"), "metric is a function"),
    (lambda s: s + ThresholdStatistics.empty([0, 1, 2]), "do not add up"),
    (lambda s: s + ThresholdStatistics.empty([0, 1], edges=[1]), "different edges"),
    (lambda s: ThresholdStatistics.empty([0, 1], edges=[1, 1]), "rise strictly"),
    (lambda s: ThresholdStatistics.empty([0, 0]), "more than once"),
    (lambda s: s + 1, "unsupported operand", TypeError),
    (lambda s: s.empty([0, 1], edges=[1.0], max_bins=9), "edges and max_bins are both given"),
    (lambda s: s.empty([0, 1], max_bins=1), "max_bins must be a whole number >= 2"),
    (
        lambda s: s.empty([0, 1], max_bins=5) + s.empty([0, 1], max_bins=6),
        "max_bins 5 and 6 do not add up",
    ),
)


def test_a_weight_lost_in_rounding_is_no_row():
    statistics = ThresholdStatistics.empty([0, 1])
    statistics = statistics.add([1, 0, 1], [0.3, 1e-12, 2.0], [1e-20, 1.0, 1.0])
    whole = optimize_thresholds(
        [1, 0, 1], [0.3, 1e-12, 2.0], sample_weight=[1e-20, 1.0, 1.0], method="exact"
    )
    np.testing.assert_array_equal(statistics.thresholds(method="exact"), whole)


def test_binned_means_stay_in_their_bins_in_any_order():
    empty = ThresholdStatistics.empty([0, 1, 2], edges=[0, 1, 2.0])
    a = empty.add([0, 2], [0.5, 1e20], [1, 1e-20])
    b = empty.add([1, 2], [1.5, 3.0])
    assert (a + b).score[-1] == (b + a).score[-1] == pytest.approx(4.0)
    rng = np.random.default_rng(0)
    score = rng.integers(0, 10, 1_000) / 10  # all on lower edges
    edges = np.arange(1, 10) / 10
    binned = ThresholdStatistics.empty([0, 1], edges=edges).add(
        rng.integers(0, 2, 1_000), score, rng.random(1_000)
    )
    assert (binned.score[1:] >= edges).all()
    huge = ThresholdStatistics.empty([0, 1], edges=[0.0]).add([1, 0, 1], [1.0, 1e308, 1.7e308])
    assert huge.score[-1] == pytest.approx(0.9e308)


@pytest.mark.parametrize("edges", [None, np.linspace(9_998, 10_002, 50)])
def test_chunks_without_rows_or_weight_add_nothing(edges):
    """As of a worker whose rows are all elsewhere."""
    y, score, w = sample()
    empty = ThresholdStatistics.empty(range(4), edges=edges)
    whole = empty.add(y, score, w)
    for statistics in (
        whole.add([], []),
        whole.add([], [], []),
        empty.add([], []).add(y, score, w),
        whole.add(y[:5], score[:5], np.zeros(5)),
        sum([empty, whole, empty]),
        sum([whole], empty),
    ):
        np.testing.assert_array_equal(statistics.counts, whole.counts)
        assert statistics.thresholds().tolist() == whole.thresholds().tolist()
    for wrong in (
        lambda: empty.add([], [1.0]),
        lambda: empty.add([0], []),
        lambda: empty.add([0], [1.0], []),
        lambda: empty.add([], [], [0]),
        lambda: empty.add([0, 1], [1.0, 2.0], [0]),
        lambda: empty.add([7], [1.0], [0]),
        lambda: 1 + whole,
        lambda: whole + 0,
    ):
        with pytest.raises((ValueError, TypeError)):
            wrong()


@pytest.mark.parametrize("edges", [None, [0.0, 1.0]])
def test_statistics_of_no_rows_say_so(edges):
    empty = ThresholdStatistics.empty(range(3), edges=edges)
    for use in (empty.thresholds, empty.qwk_loss_bound):
        with pytest.raises(ValueError, match=r"hold no rows yet: statistics.add\(y_true, score\)"):
            use()
    with pytest.raises(ValueError, match=r"single class \[1\]"):
        empty.add([1], [0.5]).thresholds()


def test_labels_may_have_no_row():
    y, score, _ = sample()
    found = ThresholdStatistics.of(y, score, labels=range(6))
    assert found.labels.tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(found.counts.sum(axis=0), [*np.bincount(y), 0, 0])


# At most so many bins


def finite_scores():
    floats = st.floats(-1e3, 1e3, width=32)
    return st.one_of(
        st.lists(floats, min_size=2, max_size=40),
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=40),
        st.lists(st.sampled_from([-1.5, -0.0, 0.0, 5e-324, 1.0, 1.0 + 2**-52]), min_size=2),
    )


@given(data=st.data(), score=finite_scores(), max_bins=st.integers(2, 12))
def test_any_chunks_in_any_order_give_the_same_bins(data, score, max_bins) -> None:
    n = len(score)
    score = np.array(score)
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    w = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), float)
    order = np.array(data.draw(st.permutations(range(n))))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    empty = ThresholdStatistics.empty(range(3), max_bins=max_bins)
    if not w.any():
        return
    whole = empty.add(y, score, w)
    parts = empty  # merged from the last to the first
    for rows in np.split(order, cuts):
        parts = empty.add(y[rows], score[rows], w[rows]) + parts
    assert whole.dropped_bits == parts.dropped_bits
    for name in ("low", "high", "counts"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    np.testing.assert_allclose(parts.score, whole.score, rtol=1e-12, atol=1e-300)
    counted = np.unique(score[w > 0])
    assert len(whole.low) <= max_bins
    if len(counted) <= max_bins:  # nothing changes
        exact = ThresholdStatistics.empty(range(3)).add(y, score, w)
        for name in ("low", "high", "score", "counts"):
            np.testing.assert_array_equal(getattr(whole, name), getattr(exact, name))
    assert (whole.low[1:] > whole.high[:-1]).all()
    assert ((whole.low <= whole.score) & (whole.score <= whole.high)).all()
    bin_ = np.searchsorted(whole.low, counted, side="right") - 1
    for j in range(len(whole.low)):
        assert [whole.low[j], whole.high[j]] == [counted[bin_ == j].min(), counted[bin_ == j].max()]


def test_bins_are_as_narrow_as_their_number_allows() -> None:
    """One bit more would make too many."""
    score = np.random.default_rng(0).standard_normal(30_000)
    y = np.arange(30_000) % 3
    for max_bins in (2, 10, 1_000, 20_000):
        found = ThresholdStatistics.empty(range(3), max_bins=max_bins).add(y, score)
        bits = np.sort(np.abs(score[score > 0])).view(np.int64)
        below = np.sort(np.abs(score[score < 0])).view(np.int64)
        narrower = found.dropped_bits - 1
        many = len(np.unique(bits >> narrower)) + len(np.unique(below >> narrower))
        assert len(found.low) <= max_bins < many


def test_rows_are_sorted_in_stretches(monkeypatch) -> None:
    from gbdt_objectives.thresholds import optimize

    y, score, w = sample()
    empty = ThresholdStatistics.empty(range(4), max_bins=50)
    whole = empty.add(y, score, w)
    monkeypatch.setattr(optimize, "BLOCK", 100)
    np.testing.assert_array_equal(empty.add(y, score, w).counts, whole.counts)
    assert 25 < len(whole.low) <= 50


def test_weighted_rows_stand_for_all() -> None:
    y, score, w = sample()
    for empty in (
        ThresholdStatistics.empty(range(4)),
        ThresholdStatistics.empty(range(4), edges=np.unique(score)),
    ):
        few_y, few_score, few_w = empty.add(y, score, w).weighted_rows()
        assert few_w.min() > 0
        assert few_w.sum() == w.sum()
        assert (few_score[1:] >= few_score[:-1]).all()
        assert len(few_y) <= 4 * len(np.unique(score))
        np.testing.assert_allclose(
            optimize_thresholds(few_y, few_score, sample_weight=few_w),
            optimize_thresholds(y, score, sample_weight=w),
            rtol=1e-9,
        )


@pytest.mark.parametrize("options", [{}, {"max_bins": 2}])
def test_of_all_rows_at_hand(options) -> None:
    y, score, w = [0, 1, 2, 1, 0], [0.1, 0.4, 0.9, 0.4, 0.2], [1.0, 2.0, 0.5, 0.0, 1.0]
    found = ThresholdStatistics.of(y, score, sample_weight=w, **options)
    added = ThresholdStatistics.empty(range(3), **options).add(y, score, w)
    assert (found.rows, (found + added).rows) == (4, 8)  # one row weighs nothing
    assert found.labels.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(found.counts, added.counts)
    with pytest.raises(ValueError, match="y_true has 2 rows that count for 3 classes"):
        ThresholdStatistics.of(y, score, sample_weight=[1, 0, 1, 0, 0])
