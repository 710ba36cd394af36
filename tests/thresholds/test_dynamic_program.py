"""Every other metric, exactly: against all cuts, by the textbook definitions."""

from __future__ import annotations

import numpy as np
import pytest

from gbdt_objectives.metrics import cost_metric, f_beta_metric, kappa_cost_metric, threshold_metric
from gbdt_objectives.thresholds import apply_thresholds, optimize_thresholds
from tests.cases import each
from tests.thresholds.reference import every_cut, value

pytestmark = pytest.mark.filterwarnings("ignore:every row gets the class:UserWarning")

RNG = np.random.default_rng(3)
COSTS = {K: RNG.uniform(-1, 3, (K, K)) for K in (2, 3, 4)}
DISTANCES = {K: RNG.uniform(0.1, 3, (K, K)) * (1 - np.eye(K)) for K in (2, 3, 4)}

ORDINAL = ["qwk", "linear", "kappa", "accuracy", "mae", "macro_recall", "cost", "kappa_cost"]
BINARY = ["matthews", "youden", ("f_beta", 0.5), ("f_beta", 1.0), ("f_beta", 3.0)]
CASES = [(name, K) for name in ORDINAL for K in (2, 3, 4)] + [(name, 2) for name in BINARY]
MATTHEWS = [("matthews", 3), ("matthews", 4)]


def pair(name, K):
    """Our metric, and the reference's way to say the same."""
    if name == "cost":
        return cost_metric(COSTS[K]), COSTS[K]
    if name == "kappa_cost":
        return kappa_cost_metric(DISTANCES[K]), ("kappa_cost", DISTANCES[K])
    if isinstance(name, tuple):
        return f_beta_metric(name[1]), name
    return threshold_metric(name), name


def problem(rng, K):
    n = int(rng.integers(max(K, 3), 12))
    while True:
        y = rng.integers(0, K, n)
        if len(np.unique(y)) > 1:
            break
    score = rng.integers(0, 7, n) / 2 if rng.random() < 0.6 else rng.standard_normal(n) + y
    w = rng.choice([np.ones(n), rng.integers(1, 4, n).astype(float), rng.exponential(size=n)])
    return y, score, w


@pytest.mark.parametrize(("name", "K"), CASES)
def test_equals_brute_force(name, K):
    ours, reference = pair(name, K)
    rng = np.random.default_rng(K)
    for _ in range(25):
        y, score, w = problem(rng, K)
        thresholds = optimize_thresholds(
            y, score, method="exact", metric=ours, labels=range(K), sample_weight=w
        )
        reached = value(reference, y, apply_thresholds(score, thresholds), w, K)
        best = max(value(reference, y, p, w, K) for p in every_cut(score, K))
        assert reached == pytest.approx(best, abs=1e-9)


@each(("name", "K"), CASES + MATTHEWS)
def test_value_is_the_definition(name, K):
    ours, reference = pair(name, K)
    rng = np.random.default_rng(K)
    for _ in range(20):
        y, _, w = problem(rng, K)
        p = rng.integers(0, K, len(y))  # of some classes that y lacks, without some of y
        sign = 1 if ours.greater_is_better else -1
        assert ours(y, p, w, labels=range(K)) == pytest.approx(sign * value(reference, y, p, w, K))


def test_matthews_has_exact_thresholds_between_two_classes_only():
    y, score = np.repeat([0, 1, 2], 30), np.random.default_rng(0).normal(size=90)
    score += y
    with pytest.raises(ValueError, match="two classes only, found 3 classes: pass method='nelder"):
        optimize_thresholds(y, score, metric="matthews")
    found = optimize_thresholds(y, score, metric="matthews", method="nelder-mead")
    reached = value("matthews", y, apply_thresholds(score, found), np.ones(90), 3)
    at_labels = value("matthews", y, np.digitize(score, [0.5, 1.5]), np.ones(90), 3)
    assert reached >= at_labels > 0.3


def test_matthews_of_one_class_and_of_weights_whose_products_would_vanish():
    tiny, same = (
        threshold_metric("matthews")([0, 1, 1], [0, 1, 0], w)
        for w in ([1e-80, 1e-80, 3e-80], [1, 1, 3])
    )
    assert tiny == pytest.approx(same)
    with pytest.warns(UserWarning, match="matthews is 0/0"):
        assert np.isnan(threshold_metric("matthews", (0, 1))([1, 1], [0, 1]))


def test_linear_kappa_at_2000_rows_beats_every_single_move():
    """A local check where brute force is impossible: no cut can move alone and gain."""
    rng = np.random.default_rng(1)
    z = rng.standard_normal(2_000)
    y = np.searchsorted([-1.0, 0.0, 1.0], z)
    score = z + rng.standard_normal(2_000)
    w = np.ones(2_000)
    for name in ("linear", "accuracy", "mae", "macro_recall"):
        thresholds = optimize_thresholds(y, score, method="exact", metric=name)
        best = value(name, y, apply_thresholds(score, thresholds), w, 4)
        for c in range(3):
            for other in np.quantile(score, np.linspace(0.01, 0.99, 60)):
                moved = np.sort(np.where(np.arange(3) == c, other, thresholds))
                assert (
                    value(name, y, apply_thresholds(score, moved, range(4)), w, 4) <= best + 1e-12
                )


def test_median_cuts_minimise_the_absolute_error():
    """Two scores, all five classes: each side takes its weighted median."""
    y = [0, 1, 1, 4, 2, 3, 3, 4, 0]
    score = [0, 0, 0, 0, 0, 1, 1, 1, 1]
    thresholds = optimize_thresholds(y, score, method="exact", metric="mae")
    assert apply_thresholds([0, 1], thresholds).tolist() == [1, 3]


def test_metrics_compare_print_and_hash():
    assert kappa_cost_metric([[0, 1], [1, 0]]) == kappa_cost_metric(np.array([[0, 1], [1, 0]]))
    assert len({f_beta_metric(1), f_beta_metric(1.0), f_beta_metric(2)}) == 2
    fields = "input_space='margin', label_range=None, thresholds=None, beta=2.0"
    assert repr(f_beta_metric(2)) == f"FBeta({fields})"


def test_values_of_few_rows_and_classes():
    assert threshold_metric("accuracy")([3], [3]) == 1
    assert threshold_metric("mae")([0], [5]) == 5
    assert threshold_metric("mae")([0, 1], [0, 0.49]) == 0.5  # floats are scores
    with pytest.raises(ValueError, match="y_true must hold classes, found 0.5 at row 1"):
        threshold_metric("mae")([0, 0.5], [0, 1])
    with pytest.raises(TypeError, match="y_true has dtype"):
        threshold_metric("mae")(["a"], ["a"])
