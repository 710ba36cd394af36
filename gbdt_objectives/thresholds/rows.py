"""Rows, checked once and sorted once by score, and cumulative curves over their pools.

``low``, ``high``: the score range of each pool, shape (d,); ``score``: its mean score. All three
are the score itself where a pool is one distinct score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_order, positions, shown, whole_numbers
from gbdt_objectives._rows.parts import check_column, vectors
from gbdt_objectives._rows.places import from_zero


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


@dataclass(frozen=True, eq=False)
class Bins:
    """Pools of several scores: range, mean, weights and squares of weights by class (d, K)."""

    labels: Array
    low: Array
    high: Array
    score: Array
    counts: Array
    squares: Array
    row_weight: Array | None = None  # of each class, (K,), if all its rows weigh the same

    def take(self, at: Array, counts: Array, squares: Array) -> Bins:
        """Some bins, with other counts, without the empty ones."""
        keep = counts.any(axis=1)
        i = at[keep]
        low, high, score = self.low[i], self.high[i], self.score[i]
        return Bins(self.labels, low, high, score, counts[keep], squares[keep], self.row_weight)

    def reweighted_classes(self, factor: Array) -> Bins:
        """The bins with weights times the factor of their class, (K,)."""
        return replace(self, counts=self.counts * factor, squares=self.squares * factor**2)

    @cached_property
    def label_curve(self) -> LabelCurve:
        N = from_zero(self.counts.sum(axis=1))
        S = from_zero(self.counts @ np.arange(len(self.labels)))
        i = np.flatnonzero(np.diff(N) > 0)  # weights lost in rounding do not exist
        low, high, score = self.low[i], self.high[i], self.score[i]
        return LabelCurve(low, high, score, at_ends(N, i), at_ends(S, i), self.class_weight)

    @property
    def class_weight(self) -> Array:
        """Total weight of each class, (K,)."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def class_curve(self) -> ClassCurve:
        return ClassCurve(self.low, self.high, self._below(self.counts))

    @property
    def squares_below(self) -> Array:
        """Sum of squared weights of each class in the first i pools, (K, d+1)."""
        return self._below(self.squares)

    def _below(self, sums: Array) -> Array:
        return np.cumsum(np.concatenate([np.zeros((1, len(self.labels))), sums]), axis=0).T


def last_of_ties(score: Array) -> Array:
    """The last row of each distinct score, given sorted scores."""
    return np.append(np.flatnonzero(score[1:] != score[:-1]), len(score) - 1)


def at_ends(sums: Array, last: Array) -> Array:
    """Cumulative sums at the ends of pools only."""
    return np.append(0.0, sums[1:][last])


def cut_to_threshold(low: Array, high: Array, cuts: Array) -> Array:
    """Midway between the neighbouring pools; -inf or +inf with nothing on one side. high[i-1] <
    threshold <= low[i], even where the midpoint rounds to the lower score."""
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


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows of weight > 0 in ascending order of score. ``weight``, of all copies of a row, is None
    if all weights are 1; ``copies`` is None if each is one; ``order``: numbers before sorting."""

    score: Array
    position: Array
    weight: Array | None
    labels: Array
    order: Array | None = None
    copies: Array | None = None

    @cached_property
    def class_weight(self) -> Array:
        """Total weight of each class, float64 (K,)."""
        return weigh_classes(self.position, self.weight, len(self.labels))

    @cached_property
    def label_curve(self) -> LabelCurve:
        """What thresholds for QWK need of the rows."""
        self.check_classes()
        score = self.score
        if self.weight is None:
            N = np.arange(len(score) + 1, dtype=np.float64)
            S = from_zero(self.position)
            if not (score[1:] == score[:-1]).any():
                return LabelCurve(score, score, score, N, S, self.class_weight)
            last = last_of_ties(score)
        else:
            w = self.weight.astype(np.float64)
            N = from_zero(w)
            w *= self.position
            S = from_zero(w)
            last = last_of_ties(score)
            last = last[np.diff(N[1:][last], prepend=0.0) > 0]  # weights lost in rounding
        if len(last) < len(score):
            score = score[last]
            N, S = at_ends(N, last), at_ends(S, last)
        return LabelCurve(score, score, score, N, S, self.class_weight)

    @cached_property
    def class_curve(self) -> ClassCurve:
        """What thresholds for any other metric need of the rows."""
        self.check_classes()
        score = self.score[last_of_ties(self.score)]
        return ClassCurve(score, score, self._below(self.weight))

    @property
    def squares_below(self) -> Array:
        """Sum of squared weights of the copies of each class in the first i pools, (K, d+1)."""
        w, c = self.weight, self.copies
        return self._below(None if w is None else w * w if c is None else w * (w / c))

    def _below(self, values: Array | None) -> Array:
        """Sums of values, None: of ones, of each class in the first i pools, (K, d+1)."""
        ends = np.append(0, last_of_ties(self.score) + 1)
        below, sums = np.zeros(len(self.score) + 1), np.empty((len(self.labels), len(ends)))
        for k in range(len(sums)):
            row = self.position == k
            np.cumsum(row if values is None else values * row, dtype=np.float64, out=below[1:])
            sums[k] = below if len(below) == len(ends) else below[ends]
        return sums

    def check_classes(self) -> None:
        """Raise unless there are at least two classes, and as many rows as classes."""
        rows = len(self.score) if self.copies is None else int(self.copies.sum())
        check_enough_rows(rows, len(self.labels))
        check_class_weights(self.class_weight, self.labels)

    def take(self, at: Array, weight: Array | None) -> ScoredRows:
        """The rows at rising places, with the weights given."""
        order, copies = (None if x is None else x[at] for x in (self.order, self.copies))
        return ScoredRows(self.score[at], self.position[at], weight, self.labels, order, copies)

    def reweighted(self, factor: Array) -> ScoredRows:
        """The rows with other weights, without those of factor 0."""
        at = np.flatnonzero(factor)
        weight = factor[at].astype(np.float64)
        return self.take(at, weight if self.weight is None else weight * self.weight[at])

    def reweighted_classes(self, factor: Array) -> ScoredRows:
        """The rows with weights times the factor of their class, (K,)."""
        return self.reweighted(factor[self.position])


def weigh_classes(position: Array, weight: Array | None, K: int) -> Array:
    """Total weight of each of K classes, float64 (K,)."""
    return np.bincount(position, weights=weight, minlength=K).astype(np.float64)


def sort_rows(
    score: Array, position: Array, weight: Array | None, labels: Array, *, keep_order: bool = False,
    copies: Array | None = None,
) -> ScoredRows:  # fmt: skip
    """Checked arrays as rows, without those of weight 0; ``weight`` is of all copies of a row."""
    score, position, weight, counted = without_zero_weights(score, position, weight)
    order = np.argsort(score)
    score, position = score[order], position[order]
    if weight is not None:
        weight = weight[order]
    before = order if counted is None else counted[order]
    copies = None if copies is None else copies[before]
    return ScoredRows(score, position, weight, labels, before if keep_order else None, copies)


def read_columns(
    y_true: ArrayLike, score: ArrayLike, labels: ArrayLike | None, sample_weight: ArrayLike | None,
    target_prior: Mapping[Any, float] | None = None,
) -> tuple[Array, Array, Array | None, Array]:  # fmt: skip
    """Scores, class positions, weights and labels from the arguments of a public function."""
    s = _checks.vector("score", score)
    order = consecutive_labels(y_true) if labels is None else check_order(labels)
    position = positions("y_true", y_true, order)
    _checks.same_length("score", s, "the labels", len(position))
    _checks.no_labels("score", s, order)
    w = _checks.weights("sample_weight", sample_weight, len(s))
    return s, position, weights_of_prior(target_prior, order, position, w), order


def read_scored_rows(
    y_true: ArrayLike, score: ArrayLike, labels: ArrayLike | None, sample_weight: ArrayLike | None,
    target_prior: Mapping[Any, float] | None = None, counts: ArrayLike | None = None, *,
    keep_order: bool = False,
) -> ScoredRows:  # fmt: skip
    """Rows from the arguments of ``optimize_thresholds``."""
    s, position, w, order = read_columns(y_true, score, labels, sample_weight)
    copies = _checks.counts("counts", counts, len(s))
    w = weights_of_prior(target_prior, order, position, weigh_copies(w, copies))
    return sort_rows(s, position, w, order, keep_order=keep_order, copies=copies)


def weigh_copies(w: Array | None, copies: Array | None) -> Array | None:
    """The weight of all copies of each row, not all of them 0."""
    if copies is None:
        return w
    weight = copies.astype(np.float64) if w is None else copies * w.astype(np.float64)
    _checks.some_weight("sample_weight times counts", float(weight.max()), len(weight))
    return weight


def without_zero_weights(
    s: Array, position: Array, w: Array | None
) -> tuple[Array, Array, Array | None, Array | None]:
    """The rows whose weight is not 0, and which these are (None: all)."""
    if w is None or w.all():
        return s, position, w, None
    counted = np.flatnonzero(w)
    return s[counted], position[counted], w[counted], counted


def check_enough_rows(rows: int, K: int) -> None:
    if rows < K:
        raise ValueError(
            f"y_true has {rows} rows that count for {K} classes: at least one row per class is "
            "needed to fit thresholds; merge classes, or list in labels= only those that occur"
        )


def check_class_weights(class_weight: Array, labels: Array) -> None:
    total = class_weight.sum()
    present = np.flatnonzero(total + class_weight > total)  # weights lost in rounding do not exist
    if len(present) < 2:
        raise single_class(shown(labels[present].tolist()))


def single_class(label: object) -> ValueError:
    return ValueError(
        f"y_true holds the single class {label}: there must be rows of at least two classes to fit "
        "thresholds between them"
    )


def consecutive_labels(y_true: ArrayLike, ordinal: bool = True) -> Array:
    """min..max of whole numbers, whose distance counts if ``ordinal``, or a Categorical's order."""
    check_column("y_true", y_true)
    order = _checks.category_order("y_true", y_true)
    if order is not None:
        return order
    low, high, rows = vectors(partial(whole_range, ordinal), {"y_true": y_true}).T
    low, high, rows = int(low.min()), int(high.max()), int(rows.sum())
    if high == low:
        raise single_class(low)
    if high - low >= rows:
        raise ValueError(
            f"y_true has {rows} rows for the {high - low + 1} classes {low} to {high}: there "
            "must be at least one row per class; merge classes into fewer grades, or pass "
            "labels=[...], those that occur, in ascending order"
        )
    return np.arange(low, high + 1)


def whole_range(ordinal: bool, y_true: Any) -> tuple[int, int, int]:
    """The lowest and the highest label of some rows, and how many rows these are."""
    y = whole_numbers("y_true", y_true)
    low, high = int(y.min()), int(y.max())
    if ordinal:
        _checks.warn_of_code("y_true", y, low, high)
    return low, high, len(y)


def midpoints(labels: Array) -> Array:
    """Midway between neighbouring labels that are numbers, (K-1,)."""
    numbers = labels.astype(np.float64)
    return 0.5 * (numbers[1:] + numbers[:-1])


def are_rising_numbers(labels: Array) -> bool:
    """Whether rounding a score to the nearest label makes sense."""
    return labels.dtype.kind in "iuf" and bool((labels[1:] > labels[:-1]).all())


def weights_of_prior(
    target_prior: Mapping[Any, float] | None, labels: Array, position: Array, w: Array | None
) -> Array | None:
    """Weights with which the label frequencies are those of the prior; without one, w."""
    if target_prior is None:
        return w
    factor = prior_factors(target_prior, labels, weigh_classes(position, w, len(labels)))
    return factor[position] if w is None else factor[position] * w


def prior_factors(target_prior: Mapping[Any, float], labels: Array, class_weight: Array) -> Array:
    """What each class is to be multiplied by for its frequency to be its prior, (K,)."""
    order = labels.tolist()
    p = _checks.prior_mapping("target_prior", target_prior)
    unknown = [label for label in p if label not in order]
    if unknown:
        raise ValueError(
            f"target_prior holds {shown(unknown[0])}, which is not in labels {shown(order)}: list "
            "every class in labels"
        )
    tau = _checks.prior_of_labels("target_prior", p, order, class_weight > 0, "y_true")
    factor = np.divide(tau, class_weight, out=np.zeros(len(tau)), where=tau > 0)
    check_class_weights(factor, labels)
    return np.asarray(factor * class_weight.sum())
