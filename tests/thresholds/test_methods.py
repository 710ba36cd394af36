"""The plug-in and rounding, and which method a metric gets, the generic search."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import cohen_kappa_score

from gbdt_objectives.metrics import ClassMetric, cost_metric, qwk_metric
from gbdt_objectives.thresholds import (
    Thresholds,
    ThresholdStatistics,
    apply_thresholds,
    optimize_thresholds,
)
from gbdt_objectives.thresholds.methods import check_needs_no_rows, fit_thresholds
from gbdt_objectives.thresholds.rows import ScoredRows
from tests.cases import each
from tests.thresholds.reference import kappa, sample


def test_plugin_is_equally_spaced_and_solves_its_equation():
    y, score = sample(2_000, K=5)
    thresholds = optimize_thresholds(y, score)
    beta, alpha = np.polyfit(score, y, 1)
    R = 1 - kappa(y, score, thresholds)
    t = (np.arange(1, 5) - 0.5) * (1 - R) + R * y.mean()
    np.testing.assert_allclose(thresholds, (t - alpha) / beta, rtol=0.02, atol=0.01)
    np.testing.assert_allclose(np.diff(thresholds), np.diff(thresholds)[0])


def test_plugin_of_a_perfect_score_is_rounding():
    y = np.repeat(np.arange(4), 5)
    np.testing.assert_allclose(optimize_thresholds(y, 2.0 * y + 1), [2, 4, 6])


@pytest.mark.parametrize("weighted", [False, True])
def test_plugin_fits_a_line_kept_within_the_labels(weighted):
    """The same m as a general least-squares solver finds, so the same thresholds."""
    from scipy.optimize import least_squares

    rng = np.random.default_rng(0)
    m = rng.normal(1.5, 1.5, 4_000)  # one row in three is beyond the labels
    y = np.clip(np.rint(m.clip(0, 3) + rng.normal(0, 0.5, len(m))), 0, 3).astype(int)
    w = rng.integers(1, 4, len(m)).astype(float) if weighted else np.ones(len(m))
    score = 10 * m - 7

    def residual(line):
        return np.sqrt(w) * (np.clip(line[0] + line[1] * score, 0, 3) - y)

    alpha, beta = least_squares(residual, [0.5, 0.05], x_scale=[1, 0.1]).x
    thresholds = optimize_thresholds(y, score, sample_weight=w if weighted else None)
    R = 1 - kappa(y, score, thresholds, w)
    t = (np.arange(1, 4) - 0.5) * (1 - R) + R * np.average(y, weights=w)
    # the last R was measured on slightly other thresholds than it gave
    np.testing.assert_allclose(alpha + beta * thresholds, t, atol=2e-3)


@each(("rows", "place"), [(1, 1e6), (26, 1e3), (261, 1e3), (1305, 50.0), (None, 50.0), (1, -1e18)])
def test_plugin_does_not_mind_clusters_far_out(rows, place):
    """As of a model trained with a clipping objective. The line through all rows may lie within
    the labels, and yet be nobody's."""
    rng = np.random.default_rng(0)
    m = rng.uniform(0, 3, 20_000)
    y = np.clip(np.rint(m + rng.normal(0, 0.7, len(m))), 0, 3).astype(int)
    far = np.flatnonzero(m < 0.4 if place < 0 else m > 2.6)[:rows]
    drifted = m.copy()
    drifted[far] = place + rng.random(len(far))
    plain = kappa(y, m, optimize_thresholds(y, m))
    # a line through all rows reaches 0.0002 to 0.52, of 0.726
    assert kappa(y, drifted, optimize_thresholds(y, drifted)) > plain - 0.002


def test_weights_that_rounding_loses_are_refused_as_one_class():
    for w in ([4e-23, 4e-5], [1e-17, 1.0]):
        with pytest.raises(ValueError, match="single class"):
            optimize_thresholds([0, 1], [0, 1.0], sample_weight=w)


def test_the_default_method_is_the_one_that_suits_the_metric():
    y, score = sample()
    for metric, method in [
        ("qwk", "plugin"),
        (qwk_metric(), "plugin"),
        ("accuracy", "exact"),
        (cost_metric(1 - np.eye(4)), "exact"),
        (lambda y, p, w: (y == p).mean(), "nelder-mead"),
    ]:
        np.testing.assert_array_equal(
            optimize_thresholds(y, score, metric=metric),
            optimize_thresholds(y, score, metric=metric, method=method),
        )


def test_plugin_does_not_pass_between_scores_that_only_rounding_sets_apart() -> None:
    """Two groups of rows, of which the upper one's scores are three in the last digits."""
    low, high = 0.27486794590950014, 0.7251320540905
    score = np.repeat([low, high - 4e-16, high - 1e-16, high], [105, 6, 1, 88])
    y = np.concatenate(
        [np.repeat([0, 1], [96, 9]), [0, 0, 0, 1, 1, 1, 1], np.repeat([0, 1], [1, 87])]
    )
    (threshold,) = optimize_thresholds(y, score)
    assert low + 0.1 < threshold < high - 0.1


@pytest.mark.slow
def test_search_with_a_function_equals_the_search_with_its_name():
    y, score = sample()

    def qwk(y_true, y_pred, sample_weight):
        return cohen_kappa_score(y_true, y_pred, weights="quadratic", sample_weight=sample_weight)

    for w in (None, np.random.default_rng(0).exponential(size=len(y))):
        by_function, by_name = (
            optimize_thresholds(
                y, score, method="nelder-mead", metric=metric, sample_weight=w, n_starts=2
            )
            for metric in (qwk, "qwk")
        )
        np.testing.assert_allclose(by_function, by_name, atol=0.02)


@each("weight", [None, np.where(np.arange(80) == 5, 0, np.arange(80) + 1.0)])
def test_search_hands_the_function_labels_and_rows_in_the_order_given(weight):
    y, score = sample(80)
    words = np.array(["a", "b", "c", "d"])
    counted, seen = np.arange(80) if weight is None else np.delete(np.arange(80), 5), set()
    weights: list[Any] = []

    def accuracy(y_true, y_pred, sample_weight):
        np.testing.assert_array_equal(y_true, words[y[counted]])
        assert (sample_weight is None) == (weight is None)
        weights.append(sample_weight)
        seen.update(y_pred)
        return np.average(y_true == y_pred, weights=sample_weight)

    optimize_thresholds(words[y], score, metric=accuracy, labels=words, sample_weight=weight)
    assert seen == set("abcd")
    if weight is not None:  # but for the third call, which asks whether it uses them
        for found in weights[:2] + weights[3:]:
            np.testing.assert_array_equal(found, weight[counted])


def test_search_takes_nan_as_worst():
    y, score = sample(100)

    def picky(y_true, y_pred, sample_weight):
        constant = len(np.unique(y_pred)) == 1
        return np.nan if constant else (y_true == y_pred).mean()

    small = score / 1000  # the first start, at the half-integers, sees nan only
    thresholds = optimize_thresholds(y, small, method="nelder-mead", metric=picky, n_starts=2)
    assert (apply_thresholds(small, thresholds) == y).mean() > 0.45


@pytest.mark.filterwarnings("ignore:no row gets the class")  # one start is not enough
def test_more_starts_are_never_worse_and_repeatable():
    y, score = sample(200)
    score = 100 * score  # half-integers are far off this scale
    found = [
        kappa(y, score, optimize_thresholds(y, score, method="nelder-mead", n_starts=n))
        for n in (1, 2, 6)
    ]
    assert found[0] <= found[1] <= found[2]
    assert found[0] < found[2] - 0.01
    a, b = (optimize_thresholds(y, score, method="nelder-mead", random_state=3) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert (np.diff(a) >= 0).all()


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


@pytest.mark.slow
def test_rare_outer_classes_are_not_given_up() -> None:
    """60 cases; before there was a second start, plug-in gave up 10 of such, and curved 14."""
    rng = np.random.default_rng(24)
    own, new = np.empty((60, 3)), np.empty((60, 3))
    for case in range(60):
        tails, correlation = rng.uniform(0.005, 0.03, 2), rng.uniform(0.15, 0.4)
        y, score = draw_rare(case, tails, correlation, 2500)
        new_y, new_score = draw_rare(1000 + case, tails, correlation, 20_000)
        for k, method in enumerate(("plugin", "curved", "exact")):
            found = optimize_thresholds(y, score, method=method)
            own[case, k] = kappa(y, score, found)
            new[case, k] = kappa(new_y, new_score, found)
    for kappas in (own, new):
        assert not ((kappas.min(axis=1) < 0.01) & (kappas[:, 2] > 0.05)).any()
    behind = (new.max(axis=1, keepdims=True) - new).mean(axis=0)
    assert behind.max() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("method", SEARCHES)
def test_no_search_ends_in_one_class_where_there_are_better_thresholds(method: str) -> None:
    for seed in range(30):
        y, score = draw_rare(seed, (0.004, 0.01), 0.2, 700)
        if len(np.unique(y)) < 2:
            continue
        rows = ScoredRows.read(y, score, LABELS, None)
        for name in ("exact", method):
            found = Thresholds(fit_thresholds(name, rows, qwk_metric()), LABELS)
            assert kappa(y, score, found) > 0


@dataclass(frozen=True, kw_only=True)
class LowestRecall(ClassMetric):
    """A user's own, which is no ratio of sums."""

    name = "lowest_recall"

    def of_counts(self, counts):
        return float((counts.diagonal() / counts.sum(axis=1)).min())


def test_a_metric_of_classes_that_is_no_ratio_is_searched() -> None:
    y, score = np.repeat([0, 1, 2], 30), np.tile(np.arange(30.0), 3) + np.repeat([0, 20, 40], 30)
    found = optimize_thresholds(y, score, metric=LowestRecall())
    tried = (found, *((a, b) for a in range(15, 35) for b in range(35, 55)))
    recalls = [LowestRecall()(y, apply_thresholds(score, t, LABELS), labels=LABELS) for t in tried]
    assert recalls[0] == max(recalls)
    with pytest.raises(ValueError, match="'lowest_recall' does not say how .*exact.* RatioMetric"):
        optimize_thresholds(y, score, metric=LowestRecall(), method="exact")


@pytest.mark.filterwarnings("ignore:score holds nothing but labels")  # it does, turned round
def test_rounding_that_is_no_better_than_one_class_is_said() -> None:
    y = np.array([0, 1, 2] * 20)
    with pytest.warns(UserWarning, match="rounded scores is not above 0: rounding fits nothing"):
        optimize_thresholds(y, 2.0 - y, method="rounding")
    with pytest.warns(UserWarning, match="every row gets the class 0: rounding fits nothing"):
        optimize_thresholds([0, 0, 1, 1], [0, 0.1, 0.2, 0.3], method="rounding")
    with pytest.warns(UserWarning, match="no row gets the class 2, of at least 10%.*: rounding"):
        optimize_thresholds(y, 0.6 * y, method="rounding")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimize_thresholds(y, y + 0.1, method="rounding")
        found = optimize_thresholds([1, 0], [0.7, 0.1], method="rounding", labels=LABELS)
    assert found.tolist() == [0.5, 1.5]


def test_a_frequent_class_that_no_row_gets_is_said() -> None:
    y, score = np.repeat([0, 1, 1, 2], 40), np.repeat([0.1, 0.1, 1.1, 1.1], 40)
    for told in (
        lambda: optimize_thresholds(y, score),
        lambda: optimize_thresholds(y, score, sample_weight=np.where(y == 1, 0.3, 1)),
        lambda: ThresholdStatistics.of(y, score, labels=LABELS).thresholds(),
    ):
        with pytest.warns(UserWarning, match="no row gets the class 1, of at least 10% .* rows"):
            told()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimize_thresholds(y, y + score)
        optimize_thresholds(y[::8], score[::8])  # 10 rows
        optimize_thresholds(y, score, metric="accuracy")  # whose best thresholds may skip one
        optimize_thresholds(y, score, sample_weight=np.where(y == 1, 0.1, 1))  # 9 %


@pytest.mark.parametrize("method", ["plugin", "curved"])
def test_one_class_by_rounding_errors_is_seen(method: str) -> None:
    """Weights that are no whole numbers: one class for all rows may have an R just below 1."""
    rng = np.random.default_rng(0)
    for trial in range(1312):  # in one of so many R is 1 - 5e-14
        n, K = int(rng.integers(30, 120)), int(rng.integers(3, 7))
        p = np.where(np.arange(K) == K // 2, 1, 0.02)
        y = rng.choice(K, n, p=p / p.sum())
        if len(np.unique(y)) > 1:
            score = 0.15 * y + rng.normal(size=n)
            w = rng.uniform(0.1, 2, n) if trial % 2 else None
    assert (n, K) == (58, 4)
    rows = ScoredRows.read(y, score, range(K), w)
    own, exact = (
        kappa(y, score, Thresholds(fit_thresholds(name, rows, qwk_metric()), range(K)), w)
        for name in (method, "exact")
    )
    assert exact > 0.3
    assert own > 0.01


def test_weights_of_any_size_rank_as_they_are() -> None:
    y, score = draw_rare(0, (0.2, 0.3), 0.6, 400)
    w = np.random.default_rng(1).uniform(0.5, 2, 400)
    np.testing.assert_allclose(
        optimize_thresholds(y, score, sample_weight=1e-85 * w),
        optimize_thresholds(y, score, sample_weight=w),
        rtol=1e-9,
    )


@pytest.mark.parametrize("method", ["plugin", "curved"])
def test_rising_scores_on_which_no_line_rises_are_not_said_to_fall(method: str) -> None:
    y = np.repeat([0, 2, 1, 3], [20, 40, 40, 20])
    score = np.arange(120.0)
    score[0] = 1e9
    with pytest.raises(ValueError, match="no straight line .* rises with score.*method='exact'"):
        optimize_thresholds(y, score, method=method)


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
    rows = ScoredRows.read(y, score, LABELS, None)  # of a fold, whose exact ones are as good
    np.testing.assert_array_equal(
        fit_thresholds(method, rows, qwk_metric()), fit_thresholds("exact", rows, qwk_metric())
    )


@pytest.mark.parametrize("method", ["rounding", "nelder-mead", "curved"])
def test_what_partitions_give_is_enough_for_two_methods(method: str) -> None:
    for enough in ("plugin", "exact"):
        check_needs_no_rows(enough, qwk_metric())
    with pytest.raises(ValueError, match=f"method='{method}' needs the rows of all partitions"):
        check_needs_no_rows(method, qwk_metric())
    with pytest.raises(ValueError, match="metric is a function, which needs the rows of all"):
        check_needs_no_rows("exact", kappa)
