"""The generic search: Nelder-Mead from several starts. Not exact, for any function."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives.thresholds.curve import ClassCurve, class_curve, threshold_to_cut
from gbdt_objectives.thresholds.metrics import ThresholdMetric
from gbdt_objectives.thresholds.program import ratio
from gbdt_objectives.thresholds.rows import Rows

Loss = Callable[[Array], float]
WORST = sys.float_info.max  # finite: scipy subtracts losses


def searched_thresholds(
    rows: Rows, metric: ThresholdMetric | Callable[..., Any], n_starts: int, random_state: int
) -> Array:
    """The best of ``n_starts`` runs of scipy's Nelder-Mead, sorted."""
    from scipy.optimize import minimize

    curve = class_curve(rows)
    if isinstance(metric, ThresholdMetric):
        loss = metric_loss(curve, metric)
    else:
        loss = callable_loss(rows, metric)
    runs = [
        minimize(lambda x: loss(np.sort(x)), start, method="Nelder-Mead", options=options)
        for start, options in starts(curve, rows.labels, n_starts, random_state)
    ]
    best = min(runs, key=lambda run: float(run.fun))
    return np.sort(best.x)


def metric_loss(curve: ClassCurve, metric: ThresholdMetric) -> Loss:
    """F/G as a function of sorted thresholds."""
    F, G = metric.ratio_costs(curve.class_weight)

    def loss(thresholds: Array) -> float:
        return ratio(curve.C, threshold_to_cut(curve.low, thresholds), F, G)

    return loss


def callable_loss(rows: Rows, metric: Callable[..., Any]) -> Loss:
    """The negative metric as a function of sorted thresholds; nan is worst."""
    y_true = rows.y_true

    def loss(thresholds: Array) -> float:
        y_pred = rows.labels[np.searchsorted(thresholds, rows.score, side="right")]
        value = float(metric(y_true, y_pred, rows.weight))
        return WORST if math.isnan(value) else -value

    return loss


def starts(
    curve: ClassCurve, labels: Array, n_starts: int, random_state: int
) -> list[tuple[Array, dict[str, Any]]]:
    """Between the labels, as everybody does; then at label frequencies; then at random.

    The first uses scipy's own first simplex, as everybody does; the others one of a
    quarter of the scores' standard deviation, which is right on any scale.
    """
    found: list[tuple[Array, dict[str, Any]]] = []
    if labels.dtype.kind in "iuf":
        numbers = labels.astype(np.float64)
        found.append((0.5 * (numbers[1:] + numbers[:-1]), {}))
    score = curve.low.astype(np.float64)
    below = curve.C.sum(axis=0) / curve.C[:, -1].sum()
    weight = np.diff(below)
    step = 0.25 * np.sqrt(weight @ (score - weight @ score) ** 2)
    share = np.cumsum(curve.class_weight)[:-1] / curve.class_weight.sum()
    generator = np.random.default_rng(random_state)
    while len(found) < n_starts:
        start = score[np.searchsorted(below[1:-1], share)]
        simplex = np.vstack([start, start + step * np.eye(len(share))])
        found.append((start, {"initial_simplex": simplex}))
        share = np.sort(generator.uniform(size=len(share)))
    return found[:n_starts]
