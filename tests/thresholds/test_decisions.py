"""decide: against brute force over all classes of all rows, and thresholds on a score."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from gbdt_objectives import decide, optimize_thresholds
from gbdt_objectives.metrics import (
    ClassMetric,
    cost_metric,
    f_beta_metric,
    kappa_cost_metric,
    threshold_metric,
)
from tests.cases import each, refused
from tests.contract import SEVERAL


@dataclass(frozen=True, kw_only=True)
class Unknown(ClassMetric):
    name = "unknown"


COST = [[0, 1, 5], [2, 0, 1], [9, 3, 0]]
METRICS = [name for name in SEVERAL if name != "matthews"]  # which is decided by steps, not exactly


def probabilities(n: int, K: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(K, 0.7), n)


def of_expected_counts(metric, P, classes, w) -> float:
    counts = np.zeros((P.shape[1],) * 2)
    for p, c, weight in zip(P, classes, w, strict=True):
        counts[:, c] += weight * p
    return metric.of_counts(counts)


@pytest.mark.parametrize("metric", [*METRICS, "cost", "kappa_cost", "f_beta", "youden"])
@pytest.mark.parametrize("seed", range(2))
def test_brute_force(metric, seed) -> None:
    made = {
        "cost": cost_metric(COST),
        "kappa_cost": kappa_cost_metric(COST),
        "f_beta": f_beta_metric(2),
    }
    target = made.get(metric) or threshold_metric(metric)
    K, n = (2, 8) if metric in ("f_beta", "youden") else (3, 6)
    P = probabilities(n, K, seed)
    for w in (np.ones(n), np.random.default_rng(seed).integers(1, 5, n).astype(float)):
        found = of_expected_counts(target, P, decide(P, target, sample_weight=w), w)
        every = [of_expected_counts(target, P, c, w) for c in product(range(K), repeat=n)]
        best = max(every) if target.greater_is_better else min(every)
        assert found == pytest.approx(best, abs=1e-12)


def test_weight_is_repetition() -> None:
    P = probabilities(200, 4, 0)
    w = np.random.default_rng(0).integers(0, 4, 200)
    kept = w > 0
    np.testing.assert_array_equal(
        decide(P, sample_weight=w)[kept], decide(np.repeat(P, w, axis=0))[np.cumsum(w)[kept] - 1]
    )


@pytest.mark.filterwarnings("ignore:probability is 0 or 1 in every row")  # the rows are certain
@each("metric", [*METRICS, "matthews"])
def test_certain_rows_get_their_class(metric) -> None:
    y = np.random.default_rng(1).integers(0, 4, 50)
    of = threshold_metric(metric)
    assert of(y, decide(np.eye(4)[y], metric)) == of(y, y)


def test_on_ordered_probabilities_it_is_the_plug_in_rule() -> None:
    """For QWK only the expected class counts; thresholds on it are then the same."""
    P = probabilities(3000, 5, 2)
    m = P @ np.arange(5)
    found = decide(P)
    rows, classes = np.nonzero(P > 0)
    cuts = optimize_thresholds(
        classes, m[rows], method="exact", labels=range(5), sample_weight=P[rows, classes]
    )
    np.testing.assert_array_equal(found, np.searchsorted(cuts, m, side="right"))


def test_labels() -> None:
    P = probabilities(30, 3, 3)
    positions = decide(P, "mae")
    np.testing.assert_array_equal(
        decide(P, "mae", labels=[5, 6, 9]), np.array([5, 6, 9])[positions]
    )
    np.testing.assert_array_equal(decide(P, threshold_metric("mae", (2, 4))), positions + 2)


@refused(
    ({"probability": [0.2, 0.8]}, r"must be \(n, K\).*numpy.column_stack"),
    ({"probability": [[0.2, 0.7]]}, "sum to 1"),
    ({"probability": [[-0.2, 1.2]]}, r"probability must be in \[0, 1\]"),
    ({"probability": [[np.nan, 1.0]]}, "nan"),
    ({"probability": np.empty((0, 3))}, "empty"),
    ({"labels": ["a", "b"]}, "labels must be 3 classes for 3 columns"),
    ({"metric": lambda y, p, w: 0.0}, "metric is a function"),
    ({"metric": f_beta_metric(1)}, "is for two classes, found 3"),
    ({"metric": cost_metric([[0, 1], [1, 0]])}, "but there are 3 classes"),
    ({"metric": Unknown()}, "metric 'unknown' is neither a RatioMetric nor a ShareMetric"),
    ({"metric": "auc"}, "metric must be one of"),
    ({"metric": threshold_metric("mae", (0, 3))}, "labels must be 3 classes"),
    ({"sample_weight": [1.0]}, "sample_weight has 1 rows"),
)
def test_bad_input(arguments) -> None:
    given = {"probability": probabilities(4, 3, 0), **arguments}
    decide(**given)


def test_rows_that_are_all_alike_get_the_class_of_least_cost() -> None:
    """Each has a kappa of 0 up to rounding, which was taken for a gain in one of six."""
    rng = np.random.default_rng(0)
    distance = np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    other = distance > 0
    costs = {"qwk": distance**2, "linear": distance, "kappa": other, "accuracy": other}
    for _ in range(50):
        p = rng.integers(1, 10, 3) / 1.0
        p /= p.sum()
        P = np.tile(p, (rng.integers(2, 40), 1))
        for metric, cost in costs.items():
            expected = p @ cost
            (chosen,) = set(decide(P, metric).tolist())
            assert expected[chosen] == pytest.approx(expected.min(), rel=1e-14), (metric, P[0])
