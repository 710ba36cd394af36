"""Inductive Venn-Abers predictors: the isotonic fit with one row added, for every place at once.

Symbols: d distinct scores, rising; P_b and N_b the weight of label 1 and of label 0 at the
lowest b of them, b = 0..d; the hull: the lower convex hull of the points (N_b, P_b), whose
edges are the segments of the isotonic fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbdt_objectives._blocks import from_zero
from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.hull import find_segment_ends
from gbdt_objectives.calibration.rows import LabelledRows, group_ties


@dataclass(frozen=True, eq=False)
class VennAbers:
    """The steps p_0 and p_1 between the ``scores`` (B,); on a score the lower p_1 and upper p_0.

    ``lower`` and ``upper`` (B+1,): p_0 and p_1 below, between and above the scores.
    """

    scores: Array
    lower: Array
    upper: Array


def find_venn_abers(rows: LabelledRows) -> VennAbers:
    distinct, positive, negative = group_ties(rows)
    ends = find_segment_ends(positive, negative)
    d, P, N = len(distinct), from_zero(positive), from_zero(negative)
    a = near_hull(P, N, ends)
    u = added_odds(P, N, ends, a)
    P_top, N_top = from_zero(positive[::-1]), from_zero(negative[::-1])
    v = added_odds(N_top, P_top, d - ends[::-1], d - a[::-1])  # labels and order reversed
    upper, lower = 1 / (1 + u), (v / (1 + v))[::-1]
    steps = np.unique(np.concatenate([a[1:] - 1, a[:-1]]))
    i = np.append(0, steps + 1)
    upper = upper[np.searchsorted(a, i, side="right") - 1]
    lower = lower[np.searchsorted(a, i)]
    changes = (upper[1:] != upper[:-1]) | (lower[1:] != lower[:-1])
    kept = np.append(True, changes)
    return VennAbers(distinct[steps[changes]].astype(np.float64), lower[kept], upper[kept])


def near_hull(P: Array, N: Array, ends: Array) -> Array:
    """The rising b at which segments of a fit with one row added may end, 0 and d included.

    One row moves a point by 1, so its hull is at most 1 away from the hull without it.
    """
    n = P + N
    height = P - np.interp(n, n[ends], P[ends])
    found: Array = np.flatnonzero(height <= 1 + 1e-12 * n[-1])
    return found


def added_odds(P: Array, N: Array, ends: Array, a: Array) -> Array:
    """The odds (1 - p_1) / p_1 of a row of label 1 and weight 1, added where a scores are below it.

    In the isotonic fit with the row added where i are below ::

        p_1 = max_{a <= i} l_a,   l_a = min_{b >= a} (P_b - P_a + 1) / (n_b - n_a + 1)

    with n = P + N. Where l_a is the maximum, p_1 is at least the slope of the hull at i, so the
    minimum is at a vertex b of the hull, whatever i is; elsewhere it may be taken over
    the vertices as well, as it is smaller. Along a convex chain the quotient falls, then
    rises: bisection over the vertices finds the minimum for all a together.
    """
    P_v, N_v = P[ends], N[ends]
    rise, run = np.diff(P_v), np.diff(N_v)
    P_a, N_a = P[a], N[a]
    low = np.searchsorted(ends, a)  # the first vertex b >= a
    high = np.full(len(a), len(ends) - 1)
    for _ in range(len(ends).bit_length()):
        middle = np.minimum((low + high) // 2, len(rise) - 1)
        rises = rise[middle] * (N_v[middle] - N_a) >= (P_v[middle] - P_a + 1) * run[middle]
        low, high = (
            np.where(rises | (low == high), low, middle + 1),
            np.where(rises & (low < high), middle, high),
        )
    odds: Array = np.minimum.accumulate((N_v[low] - N_a) / (P_v[low] - P_a + 1))
    return odds
