"""The generic search: Nelder-Mead from several starts. Not exact, but for any function."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, RandomState
from gbdt_objectives.metrics import ClassMetric
from gbdt_objectives.thresholds.curve import ClassCurve, threshold_to_cut
from gbdt_objectives.thresholds.dynamic_program import confusion
from gbdt_objectives.thresholds.rows import ScoredRows, midpoints

Loss = Callable[[Array], float]
WORST = sys.float_info.max  # finite: scipy subtracts losses


def nelder_mead_thresholds(
    rows: ScoredRows,
    metric: ClassMetric | Callable[..., Any],
    n_starts: int = 4,
    random_state: RandomState = 0,
) -> Array:
    """The best of ``n_starts`` runs of scipy's Nelder-Mead, sorted."""
    from scipy.optimize import minimize

    curve = rows.class_curve
    if isinstance(metric, ClassMetric):
        loss = class_metric_loss(curve, metric)
    else:
        loss = function_loss(rows, metric)
    runs = [
        minimize(lambda x: loss(np.sort(x)), start, method="Nelder-Mead", options=options)
        for start, options in search_starts(curve, rows.labels, n_starts, random_state)
    ]
    best = min(runs, key=lambda run: float(run.fun))
    return np.sort(best.x)


def class_metric_loss(curve: ClassCurve, metric: ClassMetric) -> Loss:
    """The metric, negated if greater is better, as a function of sorted thresholds."""
    sign = -1 if metric.greater_is_better else 1

    def loss(thresholds: Array) -> float:
        cuts = threshold_to_cut(curve.low, thresholds)
        return sign * metric.of_counts(confusion(curve.C, cuts))

    return loss


def function_loss(rows: ScoredRows, metric: Callable[..., Any]) -> Loss:
    """The negative metric as a function of sorted thresholds; nan is worst.

    The function sees the rows in the order in which its user gave them.
    """
    assert rows.order is not None
    as_given = np.argsort(rows.order)
    score = rows.score[as_given]
    y_true = rows.labels[rows.position[as_given]]
    weight = None if rows.weight is None else rows.weight[as_given]

    def loss(thresholds: Array) -> float:
        y_pred = rows.labels[np.searchsorted(thresholds, score, side="right")]
        value = float(metric(y_true, y_pred, weight))
        return WORST if math.isnan(value) else -value

    return loss


def search_starts(
    curve: ClassCurve, labels: Array, n_starts: int, random_state: RandomState
) -> list[tuple[Array, dict[str, Any]]]:
    """Midway between the labels, as is usual; then at the label frequencies; then at random.

    The first uses scipy's own initial simplex, as is usual; the others one of a quarter of
    the scores' standard deviation, which suits any scale.
    """
    found: list[tuple[Array, dict[str, Any]]] = []
    if labels.dtype.kind in "iuf":
        found.append((midpoints(labels), {}))
    score = curve.low.astype(np.float64)
    below = curve.C.sum(axis=0) / curve.C[:, -1].sum()
    weight = np.diff(below)
    step = 0.25 * np.sqrt(weight @ (score - weight @ score) ** 2)
    share = np.cumsum(curve.class_weight)[:-1] / curve.class_weight.sum()
    generator = _checks.generator(random_state)
    while len(found) < n_starts:
        start = score[np.searchsorted(below[1:-1], share)]
        simplex = np.vstack([start, start + step * np.eye(len(share))])
        found.append((start, {"initial_simplex": simplex}))
        share = np.sort(generator.uniform(size=len(share)))
    return found[:n_starts]
