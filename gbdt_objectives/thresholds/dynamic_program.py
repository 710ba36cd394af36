"""Exact cuts for any ratio-of-sums metric: a dynamic program inside Dinkelbach's iteration."""

from __future__ import annotations

import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives.metrics import MatthewsMetric, RatioMetric


def optimal_cuts(C: Array, metric: RatioMetric) -> Array:
    """The cuts of least F/G, given cumulative class weights C (K, d+1).

    Dinkelbach: for the best ratio R so far, minimise F - R G, which is a sum over
    rows; R falls until it is the minimum. Starts at the best single class. A constant G
    leaves the sum F.
    """
    F, G = metric.ratio_costs(C[:, -1])
    if np.ptp(G) == 0:
        return additive_cuts(F.T @ C)
    K, d = C.shape[0], C.shape[1] - 1
    k, R = best_single_class(C[:, -1], F, G)
    best = np.where(np.arange(1, K) <= k, 0, d)
    while True:
        cuts = additive_cuts((F - R * G).T @ C)
        lower = cost_ratio(confusion(C, cuts), F, G)
        if not lower < R:
            return best
        best, R = cuts, lower


def best_of_every_cut(C: Array, metric: MatthewsMetric) -> Array:
    """The cut of the best value, of all d+1, between two classes."""
    if len(C) != 2:
        raise ValueError(
            f"metric {metric.name!r} has exact thresholds between two classes only, found "
            f"{len(C)} classes: pass method='nelder-mead' to optimize_thresholds, which guarantees "
            "nothing, or metric='kappa', which is exact for any number"
        )
    return np.array([np.argmax(metric.of_every_cut(C))])


def additive_cuts(P: Array) -> Array:
    """The cuts of least total cost, given P[c, i], the cost of class c in the first i pools.

    best_c[i] = P_c[i] + min_{j <= i} (best_{c-1}[j] - P_c[j]) is the least cost of the
    first i pools in classes 0..c; j is where class c begins. Overwrites P: row c - 1
    ends as best_{c-1} - P_c.
    """
    K = len(P)
    for c in range(1, K):
        P[c - 1] -= P[c]
        P[c] += np.minimum.accumulate(P[c - 1])
    cuts = np.empty(K - 1, dtype=np.intp)
    i = P.shape[1] - 1
    for c in range(K - 1, 0, -1):
        i = int(np.argmin(P[c - 1, : i + 1]))
        cuts[c - 1] = i
    return cuts


def confusion(C: Array, cuts: Array) -> Array:
    """Weights [true, predicted] of the classes that the cuts give."""
    edges = np.concatenate(([0], cuts, [C.shape[1] - 1]))
    return np.diff(C[:, edges], axis=1)


def cost_ratio(counts: Array, F: Array, G: Array) -> float:
    """F/G of confusion counts [true, predicted]."""
    return float((F * counts).sum() / (G * counts).sum())


def best_single_class(class_weight: Array, F: Array, G: Array) -> tuple[int, float]:
    """The class of least F/G if every row is put into it, and that ratio: where to start."""
    above, below = class_weight @ F, class_weight @ G
    k = int(np.argmin(np.where(below > 0, above, np.inf)))
    return k, float(above[k] / below[k])
