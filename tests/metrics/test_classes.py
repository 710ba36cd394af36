"""Metrics of classes: classes or scores, and what may be either."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import gmean
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import f1_score, matthews_corrcoef, recall_score

import gbdt_objectives as go
from gbdt_objectives.metrics import MatthewsMetric, classes
from tests.cases import each, refusals


@each("metric", [go.metrics.threshold_metric("accuracy"), go.qwk_metric()])
def test_float_classes_beyond_the_labels_are_not_taken_for_scores(metric) -> None:
    """Clipped to the nearest label, a wrong class would count as right."""
    y = [0, 1, 2]
    with pytest.raises(ValueError, match="found 5 beyond the labels 0 to 2: convert them to int"):
        metric(y, [0.0, 1.0, 5.0])
    assert metric(y, [0, 1, 5]) < 1
    assert metric(y, [0.0, 1.0, 2.0]) == 1
    assert metric(y, [-0.2, 1.1, 5.3]) == 1  # scores
    in_range = go.metrics.threshold_metric(metric, (0, 2))
    assert in_range(y, [0.0, 1.0, 5.0]) == 1  # scores, as it is said
    assert metric.xgboost(np.array([0.0, 1.0, 2.0]), np.array([0.1, 1.2, 4.7])) == 1
    with pytest.raises(ValueError, match="found 5 beyond the labels 0 to 2"):
        metric.loss(y, [0.0, 1.0, 5.0])


def test_youden_of_a_single_class_is_nan() -> None:
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(go.metrics.threshold_metric("youden", (0, 1))([1, 1], [1, 0]))


@each("name", ["mae", "qwk", "accuracy"])
def test_rows_of_weight_0_do_not_exist(name) -> None:
    """Nor do their labels widen the range."""
    metric = go.metrics.threshold_metric(name)
    with_row = metric([0, 1, 5], [0.2, 3.2, 5.0], [1, 1, 0])
    assert with_row == metric([0, 1], [0.2, 3.2], [1, 1])


@each("dtype", [np.float64, np.float32])
def test_the_score_next_below_a_half_is_nearest_to_the_lower_label(dtype) -> None:
    """Adding 1/2 rounds: 0.49999999999999994 + 0.5 is 1."""
    half = dtype(0.5)
    scores = np.array([np.nextafter(half, dtype(0)), half, -half, np.nextafter(-half, dtype(-1))])
    metric = go.metrics.threshold_metric("accuracy", (-1, 1))
    assert metric([0, 1, 0, -1], scores.astype(dtype)) == 1


def test_one_class_is_nan_in_any_range_and_of_any_weights() -> None:
    """The mean of a class above the lowest label may round: kappa was 1 of what that leaves."""
    rng = np.random.default_rng(0)
    for label in (1, 3, 5, 6):
        y, w = np.full(40, label), rng.exponential(size=40)
        with pytest.warns(UndefinedMetricWarning, match="one and the same class"):
            assert np.isnan(go.qwk_metric((0, 6))(y, y, w)), label


@each("K", [2, 3, 5])
def test_matthews_of_counts_is_that_of_scikit_learn(K: int) -> None:
    rng = np.random.default_rng(K)
    y, p, w = rng.integers(0, K, 60), rng.integers(0, K, 60), rng.integers(1, 5, 60)
    p = np.where(rng.random(60) < 0.5, y, p)
    counts = np.zeros((K, K))
    np.add.at(counts, (y, p), w)
    expected = matthews_corrcoef(y, p, sample_weight=w)
    assert go.metrics.threshold_metric("matthews")(y, p, w) == pytest.approx(expected, rel=1e-12)
    one = np.zeros((K, K))
    one[:, 1] = counts.sum(axis=1)
    assert MatthewsMetric().of_counts(one) == 0  # of one predicted class
    with pytest.warns(UndefinedMetricWarning, match="matthews is 0/0"):
        assert np.isnan(MatthewsMetric().of_counts(one.T))  # of one true class


@each("K", [2, 3, 5])
@each("weighted", [False, True])
def test_macro_f1_and_g_mean_are_those_of_scikit_learn(K: int, weighted: bool) -> None:
    """The G-mean is scipy's geometric mean of scikit-learn's recalls. The highest label is absent,
    and once the lowest is neither true nor predicted."""
    for low in (0, 1):
        rng = np.random.default_rng(K)
        y, p = rng.integers(low, K + low, 80), rng.integers(low, K + low + 1, 80)
        p = np.where(rng.random(80) < 0.6, y, p)
        w = rng.uniform(0.1, 3, 80) if weighted else None
        metric = go.metrics.threshold_metric("macro_f1", (0, K + low))
        expected = f1_score(y, p, average="macro", sample_weight=w)
        assert metric(y, p, w) == pytest.approx(expected, rel=1e-12)
        recalls = recall_score(y, p, average=None, sample_weight=w, labels=np.unique(y))
        metric = go.metrics.threshold_metric("g_mean", (0, K + low))
        assert metric(y, p, w) == pytest.approx(gmean(recalls), rel=1e-12)
    assert metric(y, np.where(y == 1, 2, y)) == 0  # a recall of 0


@each("name", ["macro_f1", "g_mean", "matthews"])
def test_slopes_are_the_derivatives(name: str) -> None:
    """Up to a factor, and a constant of all predictions: these have a sum of 1."""
    metric, rng = go.metrics.threshold_metric(name), np.random.default_rng(0)
    hit, missed = rng.uniform(0.05, 0.2, (2, 4))
    predicted = hit + missed[::-1]
    scale = predicted.sum()
    shares = [hit / scale, predicted / scale, (hit + missed) / scale]
    a, c = metric.slopes(*shares)

    def derivative(k: int, direction: np.ndarray) -> float:
        ends = []
        for step in (1e-6, -1e-6):
            moved = [share.copy() for share in shares]
            moved[k] += step * direction
            ends.append(float(metric.of_shares(*moved)))
        return (ends[0] - ends[1]) / 2e-6

    hits = np.array([derivative(0, e) for e in np.eye(4)])
    to_next = np.array([derivative(1, np.roll(e, 1) - e) for e in np.eye(4)])
    factor = hits[0] / a[0]
    np.testing.assert_allclose(hits, factor * a, rtol=1e-6)
    np.testing.assert_allclose(to_next, factor * (c - np.roll(c, -1)), rtol=1e-6, atol=1e-8)


@each(
    ("cost", "row"),
    [("zero_one", [1, 0, 1, 1]), ("absolute", [1, 0, 1, 2]), ("squared", [1, 0, 1, 4])],
)
def test_costs_by_name(cost: str, row: list[int]) -> None:
    np.testing.assert_array_equal(classes.costs_of_pairs(cost, 4)[1], row)


def test_names_of_metrics() -> None:
    assert set(classes.OTHER_NAMES) == set().union(*ELSEWHERE.values())
    assert go.metrics.threshold_metric("mae").name == "mae"
    assert go.metrics.cost_metric([[0, 1], [2, 0]]).name == "cost"


def test_the_classes_of_a_range() -> None:
    np.testing.assert_array_equal(go.qwk_metric((1, 4)).agree_labels(None), [1, 2, 3, 4])
    np.testing.assert_array_equal(go.qwk_metric((1, 4)).agree_labels([1, 2, 3, 4]), [1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"labels are \[0, 1\], but the metric has label_range"):
        go.qwk_metric((1, 2)).agree_labels([0, 1])


PAGES = {
    "docstring of threshold_metric": str(go.metrics.threshold_metric.__doc__),
    "docs/other_kappas.md": (Path(__file__).parents[2] / "docs/other_kappas.md").read_text("utf-8"),
}


@each("page", PAGES)
def test_every_name_of_a_metric_is_documented(page: str) -> None:
    missing = [name for name in classes.NAMED if f'"{name}"' not in PAGES[page]]
    assert not missing, f"the {page} does not name {', '.join(missing)}"


ELSEWHERE = {
    "'qwk'": ["quadratic_weighted_kappa", "quadratic"],
    "'kappa', 'linear' or 'qwk'": ["cohen_kappa", "cohen_kappa_score"],
    "'accuracy'": ["accuracy_score"],
    "'mae'": ["mean_absolute_error", "neg_mean_absolute_error"],
    "'macro_recall'": ["balanced_accuracy", "balanced_accuracy_score", "recall_macro"],
    "'matthews'": ["mcc", "matthews_corrcoef"],
    "'f1', of several classes 'macro_f1'": ["f1_score"],
    "'macro_f1'": ["f1_macro"],
    "'g_mean'": ["gmean", "geometric_mean", "geometric_mean_score"],
    "f_beta_metric(2)": ["f2"],
    "f_beta_metric(beta)": ["f_beta", "fbeta", "fbeta_score"],
    "'youden'": ["youden_j", "informedness"],
    "'precision'": ["precision_score", "ppv"],
    "'recall'": ["recall_score", "tpr", "sensitivity"],
    "'false_positive_rate'": ["fpr"],
    "'false_positive_rate', which is 1 - specificity": ["specificity"],
    "'alert_rate'": ["predicted_positive_fraction"],
}


test_refusals = refusals(
    (lambda: go.metrics.threshold_metric(go.qwk_metric((0, 3), thresholds=[0.5, 1.5, 2.5]), (0, 5)),
     "pass thresholds= for the new one"),
    (lambda: go.metrics.threshold_metric("accuracy")([0, 300_000], [0, 300_000]),
     "which makes 300,001: number those .* or add labels="),
    (lambda: go.qwk_metric()([0, 1, 2], [0, 1, 1], [1e-170] * 3),
     "products of such weights are lost in rounding"),
    *((lambda other=other, ours=ours: go.metrics.threshold_metric(other),
     re.escape(f"has another name here: pass {ours}"))
      for other, ours in [(name, ours) for ours, names in ELSEWHERE.items() for name in names]),
)  # fmt: skip
