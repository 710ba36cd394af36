"""The generic search: names and functions alike, any start, and never worse for more of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score

from gbdt_objectives.thresholds import apply_thresholds, optimize_thresholds
from tests.thresholds.reference import kappa, sample


def test_search_with_a_function_equals_the_search_with_its_name():
    y, score = sample()

    def qwk(y_true, y_pred, sample_weight):
        return cohen_kappa_score(y_true, y_pred, weights="quadratic", sample_weight=sample_weight)

    w = np.random.default_rng(0).exponential(size=len(y))
    for weight in (None, w):
        np.testing.assert_allclose(
            optimize_thresholds(
                y, score, method="nelder-mead", metric=qwk, sample_weight=weight, n_starts=2
            ),
            optimize_thresholds(y, score, method="nelder-mead", sample_weight=weight, n_starts=2),
            atol=0.02,
        )


def test_search_hands_the_function_labels():
    y, score = sample()
    words = np.array(["a", "b", "c", "d"])
    seen = []

    def accuracy(y_true, y_pred, sample_weight):
        seen.append((set(y_true) | set(y_pred), sample_weight))
        return accuracy_score(y_true, y_pred)

    thresholds = optimize_thresholds(
        words[y], score, method="nelder-mead", metric=accuracy, labels=words
    )
    assert set.union(*(s for s, _ in seen)) == set("abcd")
    assert all(w is None for _, w in seen)
    best = optimize_thresholds(y, score, method="exact", metric="accuracy")
    reached = (apply_thresholds(score, thresholds) == words[y]).mean()
    assert 0 <= (apply_thresholds(score, best) == y).mean() - reached < 0.03


def test_search_takes_nan_as_worst():
    y, score = sample(100)

    def picky(y_true, y_pred, sample_weight):
        constant = len(np.unique(y_pred)) == 1
        return np.nan if constant else (y_true == y_pred).mean()

    small = score / 1000  # the first start, at the half-integers, sees nan only
    thresholds = optimize_thresholds(y, small, method="nelder-mead", metric=picky, n_starts=2)
    assert (apply_thresholds(small, thresholds) == y).mean() > 0.45


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


@pytest.mark.parametrize("seed", [None, 3, np.random.default_rng(3), np.random.RandomState(3)])
def test_seeds_of_any_kind(seed):
    y, score = sample(60)
    found = optimize_thresholds(y, score, method="nelder-mead", random_state=seed, n_starts=3)
    assert (np.diff(found) >= 0).all()


def test_search_hands_the_function_rows_in_the_order_given():
    y, score = sample(80)
    w = np.ones(80)
    w[5] = 0
    counted = np.delete(np.arange(80), 5)

    def accuracy(y_true, y_pred, sample_weight):
        np.testing.assert_array_equal(y_true, y[counted])
        return (y_true == y_pred).mean()

    found = optimize_thresholds(y, score, metric=accuracy, sample_weight=w, n_starts=1)
    assert np.isfinite(found).all()
