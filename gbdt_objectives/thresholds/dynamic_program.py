"""The best decisions for a ratio of sums: Dinkelbach's iteration, for cuts a dynamic program."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives.metrics import RatioMetric, ShareMetric

LAST_DIGITS = 1e-12  # by a smaller share no ratio is better: decisions must not depend on rounding


def least_ratio(
    class_weight: Array, metric: RatioMetric, solve: Callable[[Array], Array],
    counts: Callable[[Array], Array], single: Callable[[int], Array],
) -> Array:  # fmt: skip
    """The decisions of least F/G: for the best ratio R so far, minimise F - R G, a sum over rows,
    until R stops falling (Dinkelbach). ``solve`` gives the decisions of least total cost, given
    costs [true, predicted], ``counts`` their weights [true, predicted], and ``single`` those that
    put every row into one class: the best of these is where to start."""
    F, G = metric.ratio_costs(class_weight)
    if np.ptp(G) == 0:
        return solve(F)
    above, below = class_weight @ F, class_weight @ G
    k = int(np.argmin(np.where(below > 0, above, np.inf)))
    best, R = single(k), above[k] / below[k]
    while True:
        found = solve(F - R * G)
        C = counts(found)
        below = (G * C).sum()
        lower = (F * C).sum() / below if below > 0 else np.nan  # of a precision without alerts
        if not lower < R - LAST_DIGITS * abs(R):
            return best
        best, R = found, lower


def optimal_cuts(C: Array, metric: RatioMetric) -> Array:
    """The cuts of least F/G, given cumulative class weights C (K, d+1)."""
    K, d = C.shape[0], C.shape[1] - 1
    return least_ratio(
        C[:, -1], metric, solve=lambda costs: additive_cuts(costs.T @ C),
        counts=lambda cuts: confusion(C, cuts),
        single=lambda k: np.where(np.arange(1, K) <= k, 0, d),
    )  # fmt: skip


def best_of_every_cut(C: Array, metric: ShareMetric) -> Array:
    """The cut of the best value, of all d+1, between two classes."""
    if len(C) != 2:
        raise ValueError(
            f"metric {metric.name!r} has exact thresholds between two classes only, found "
            f"{len(C)} classes: pass method='nelder-mead' to optimize_thresholds, which guarantees "
            "nothing, or metric='kappa', which is exact for any number"
        )
    return np.array([np.argmax(metric.of_every_cut(C)[0])])


def additive_cuts(P: Array) -> Array:
    """The cuts of least total cost, given P[c, i], the cost of class c in the first i pools.
    best_c[i] = P_c[i] + min_{j <= i} (best_{c-1}[j] - P_c[j]) is the least cost of these in classes
    0..c; j is where class c begins. Row c - 1 of P ends as best_{c-1} - P_c."""
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
    return np.diff(C[:, np.concatenate(([0], cuts, [C.shape[1] - 1]))], axis=1)
