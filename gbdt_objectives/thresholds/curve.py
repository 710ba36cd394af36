"""Cumulative curves over the pools: everything a threshold can change.

``low``, ``high``: the score range of each pool, shape (d,); ``score``: its mean score. All
three are the score itself where a pool is one distinct score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbdt_objectives._blocks import from_zero
from gbdt_objectives._checks import Array


@dataclass(frozen=True, eq=False)
class LabelCurve:
    """N[i], S[i]: total weight and weighted position in the first i pools, float64 (d+1,)."""

    low: Array
    high: Array
    score: Array
    N: Array
    S: Array
    class_weight: Array


@dataclass(frozen=True, eq=False)
class ClassCurve:
    """C[k, i]: weight of class k in the first i pools, float64 (K, d+1)."""

    low: Array
    high: Array
    C: Array

    @property
    def class_weight(self) -> Array:
        """Total weight of each class, (K,)."""
        total: Array = self.C[:, -1]
        return total


@dataclass(frozen=True, eq=False)
class Bins:
    """Pools of several scores each: their range, mean score and weight of each class (d, K)."""

    labels: Array
    low: Array
    high: Array
    score: Array
    counts: Array

    def take(self, at: Array, counts: Array) -> Bins:
        """Some bins, with other counts, without the empty ones."""
        keep = counts.any(axis=1)
        i = at[keep]
        return Bins(self.labels, self.low[i], self.high[i], self.score[i], counts[keep])

    @property
    def label_curve(self) -> LabelCurve:
        N = from_zero(self.counts.sum(axis=1))
        S = from_zero(self.counts @ np.arange(len(self.labels)))
        i = np.flatnonzero(np.diff(N) > 0)  # weights lost in rounding do not exist
        low, high, score = self.low[i], self.high[i], self.score[i]
        return LabelCurve(low, high, score, at_ends(N, i), at_ends(S, i), self.counts.sum(axis=0))

    @property
    def class_curve(self) -> ClassCurve:
        zero = np.zeros((1, len(self.labels)))
        C = np.cumsum(np.concatenate([zero, self.counts]), axis=0).T
        return ClassCurve(self.low, self.high, C)


def last_of_ties(score: Array) -> Array:
    """The last row of each distinct score, given sorted scores."""
    return np.append(np.flatnonzero(score[1:] != score[:-1]), len(score) - 1)


def at_ends(sums: Array, last: Array) -> Array:
    """Cumulative sums at the ends of pools only."""
    return np.append(0.0, sums[1:][last])


def cut_to_threshold(low: Array, high: Array, cuts: Array) -> Array:
    """Midway between the neighbouring pools; -inf or +inf with nothing on one side.

    high[i-1] < threshold <= low[i], even where the midpoint rounds to the lower score.
    """
    thresholds = np.where(cuts == 0, -np.inf, np.inf)
    inside = (cuts > 0) & (cuts < len(low))
    below = high[cuts[inside] - 1].astype(np.float64)
    above = low[cuts[inside]].astype(np.float64)
    middle = 0.5 * below + 0.5 * above
    thresholds[inside] = np.where((middle > below) & (middle < above), middle, above)
    return thresholds


def threshold_to_cut(score: Array, thresholds: Array) -> Array:
    """Number of pools whose score is below each threshold."""
    return np.searchsorted(score, thresholds, side="left")
