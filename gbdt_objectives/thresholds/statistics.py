"""ThresholdStatistics: sums over rows that add up over chunks and machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_order, positions, shown
from gbdt_objectives.metrics import ClassMetric
from gbdt_objectives.thresholds.curve import Bins
from gbdt_objectives.thresholds.labelled import Thresholds
from gbdt_objectives.thresholds.methods import (
    METHODS,
    resolve_labels,
    resolve_method,
    resolve_metric,
    warn_if_one_class,
)
from gbdt_objectives.thresholds.qwk import exact_cuts, qwk_ratio
from gbdt_objectives.thresholds.rows import (
    check_several_classes,
    class_weights,
    prior_factors,
    without_zero_weights,
)


@dataclass(frozen=True, eq=False)
class ThresholdStatistics:
    """All that thresholds need of the rows, as sums: add chunks, merge, then fit.

    Start with :meth:`empty`. With ``edges`` memory is constant, B + 1 bins by K classes
    for B edges, however many rows there are; without, every distinct score is kept, and
    the thresholds are those of ``optimize_thresholds`` on all rows at once.

    Thresholds of bins are edges (or lie midway in a gap of empty bins), so the classes
    they give are counted exactly; only cuts inside a bin are missed. For QWK::

        kappa(all cuts) - kappa(edges) <= (K-1)^2 omega / var

    with omega the largest bin's share of the total weight and var the variance of the
    class positions: 10,000 bins of equal weight lose at most 0.002 for six classes of
    variance 1.5, in practice far less; :meth:`qwk_loss_bound` gives a sharper bound
    from the counts. (At the optimal R each cut may move to either edge of its bin; the
    cheaper move costs at most (K-1) w_bin in F - R G, and G >= W var.)
    For a sum such as accuracy or a cost the loss is at most (K-1) omega times the
    largest difference between two costs in a row of the matrix.
    Plug-in thresholds replace every score by its bin's mean score.

    Attributes
    ----------
    labels : ndarray of shape (K,)
        All classes in ascending order.
    edges : ndarray of shape (B,) or None
        Bin borders: bins are score < edges[0], edges[j-1] <= score < edges[j], and
        score >= edges[B-1].
    low, high : ndarray of shape (d,)
        The score range of each bin; both the score itself without ``edges``.
    score : ndarray of shape (d,)
        Mean score of each bin, meaningless if it is empty.
    counts : ndarray of shape (d, K)
        Weight of each bin and class.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.thresholds import ThresholdStatistics, optimize_thresholds
    >>> y = np.array([0, 0, 1, 1, 2, 2])
    >>> score = np.array([0.1, 0.4, 0.3, 0.6, 0.7, 0.9])
    >>> statistics = ThresholdStatistics.empty([0, 1, 2])
    >>> statistics = statistics.add(y[:3], score[:3]) + statistics.add(y[3:], score[3:])
    >>> statistics.thresholds(method="exact").round(3)
    array([0.5 , 0.65])
    >>> binned = ThresholdStatistics.empty([0, 1, 2], edges=np.linspace(0, 1, 101)).add(y, score)
    >>> binned.thresholds().round(3), binned.counts.shape
    (array([0.558, 0.642]), (102, 3))
    """

    labels: Array
    edges: Array | None
    low: Array
    high: Array
    score: Array
    counts: Array

    @staticmethod
    def empty(labels: ArrayLike, *, edges: ArrayLike | None = None) -> ThresholdStatistics:
        """Statistics of no rows.

        Parameters
        ----------
        labels : array-like of shape (K,)
            All classes in ascending order.
        edges : array-like of shape (B,), optional
            Strictly rising bin borders, for instance quantiles of the first chunk's
            scores. Scores beyond them are counted in two outer bins.

        Raises
        ------
        ValueError
            Repeated labels, edges that do not rise or are not finite.
        """
        order = check_order(labels).copy()
        K = len(order)
        low = high = np.empty(0)
        if edges is not None:
            edges = _checks.vector("edges", edges).astype(np.float64)
            if (np.diff(edges) <= 0).any():
                raise ValueError("edges must rise strictly: sort them and keep each once")
            low = np.concatenate(([-np.inf], edges))
            high = np.concatenate((edges, [np.inf]))
        return ThresholdStatistics(
            labels=order,
            edges=edges,
            low=low,
            high=high,
            score=np.zeros(len(low)),
            counts=np.zeros((len(low), K)),
        )

    def add(
        self, y_true: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ThresholdStatistics:
        """These statistics and a chunk of rows: a new object.

        Parameters
        ----------
        y_true, score, sample_weight : array-like of shape (n,)
            As in ``optimize_thresholds``.

            A chunk without rows, or whose weights are all 0, adds nothing.

        Raises
        ------
        ValueError
            Labels that are not in ``labels``, scores that are not finite, bad weights.
        """
        columns = [y_true, score, *([] if sample_weight is None else [sample_weight])]
        if all(np.shape(column) == (0,) for column in columns):
            return self
        s = _checks.vector("score", score).astype(np.float64)
        y = positions("y_true", y_true, self.labels)
        _checks.same_length("score", s, "the labels", len(y))
        if sample_weight is not None:
            given = _checks.vector("sample_weight", sample_weight)
            if len(given) == len(s) and not given.any():
                return self
        w = _checks.weights("sample_weight", sample_weight, len(s))
        s, y, w, _ = without_zero_weights(s, y, w)
        K = len(self.labels)
        if self.edges is None:
            low, bin_ = np.unique(s, return_inverse=True)
            counts = class_weights(bin_ * K + y, w, len(low) * K).reshape(-1, K)
            return self + replace(self, low=low, high=low, score=low, counts=counts)
        bin_ = np.searchsorted(self.edges, s, side="right")
        counts = class_weights(bin_ * K + y, w, len(self.low) * K).reshape(-1, K)
        share = (1.0 if w is None else w) / counts.sum(axis=1)[bin_]
        score = class_weights(bin_, share * s, len(self.low)).clip(self.low, self.high)
        return self + replace(self, score=score, counts=counts)

    def __add__(self, other: ThresholdStatistics) -> ThresholdStatistics:
        if not isinstance(other, ThresholdStatistics):
            return NotImplemented
        if not np.array_equal(self.labels, other.labels):
            raise ValueError(
                f"statistics of labels {shown(self.labels.tolist())} and "
                f"{shown(other.labels.tolist())} do not add up: start both with the same labels"
            )
        same_edges = (
            self.edges is other.edges
            if self.edges is None or other.edges is None
            else np.array_equal(self.edges, other.edges)
        )
        if not same_edges:
            raise ValueError("statistics with different edges do not add up: start with the same")
        if self.edges is not None:
            a, b = self.counts.sum(axis=1), other.counts.sum(axis=1)
            score = self.score * divide(a, a + b) + other.score * divide(b, a + b)
            score = score.clip(self.low, self.high)
            return replace(self, score=score, counts=self.counts + other.counts)
        score = np.union1d(self.score, other.score)
        counts = np.zeros((len(score), len(self.labels)))
        counts[np.searchsorted(score, self.score)] += self.counts
        counts[np.searchsorted(score, other.score)] += other.counts
        return replace(self, low=score, high=score, score=score, counts=counts)

    def __radd__(self, other: object) -> ThresholdStatistics:
        """``sum`` starts at 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def thresholds(
        self,
        *,
        method: Literal["exact", "plugin"] | None = None,
        metric: str | ClassMetric = "qwk",
        target_prior: Mapping[Any, float] | None = None,
    ) -> Thresholds:
        """What ``optimize_thresholds`` gives for the rows added so far.

        Parameters
        ----------
        method, metric, target_prior
            As in ``optimize_thresholds``, but no Nelder-Mead and no functions, which
            need the rows.

        Returns
        -------
        Thresholds, an ndarray of shape (K-1,)
            With the labels, for ``apply_thresholds``.

        Raises
        ------
        ValueError
            Fewer than two classes so far, and as ``optimize_thresholds``.
        """
        target = resolve_metric(metric)
        chosen = _checks.choice("method", resolve_method(method, target), ("exact", "plugin"))
        resolve_labels(self.labels, target)
        found = METHODS[chosen](self._bins(target_prior), target)
        warn_if_one_class(found, self.labels)
        return Thresholds(found, self.labels)

    def qwk_loss_bound(self, *, target_prior: Mapping[Any, float] | None = None) -> float:
        """How much QWK the bins can have cost at most, in units of kappa.

        The exact optimum if the rows inside each bin were sorted by class, which no
        score can beat, minus the optimum on bins. 0 without ``edges``.

        Parameters
        ----------
        target_prior : mapping of label to probability, optional
            As in ``optimize_thresholds``.

        Raises
        ------
        ValueError
            Fewer than two classes so far.
        """
        bins = self._bins(target_prior)
        if self.edges is None:
            return 0.0
        d, K = bins.counts.shape
        apart = np.zeros((d * K, K))
        apart[np.arange(d * K), np.tile(np.arange(K), d)] = bins.counts.ravel()
        binned = bins.label_curve
        by_class = bins.take(np.repeat(np.arange(d), K), apart).label_curve
        gain = qwk_ratio(binned, exact_cuts(binned)) - qwk_ratio(by_class, exact_cuts(by_class))
        return max(0.0, gain)

    def _bins(self, target_prior: Mapping[Any, float] | None) -> Bins:
        """The bins that are not empty, reweighted to the prior."""
        total = self.counts.sum(axis=0)
        if not total.any():
            raise ValueError(
                "the statistics hold no rows yet: statistics.add(y_true, score) returns new ones "
                "with a chunk of rows"
            )
        check_several_classes(total, self.labels)
        factor: Any = 1.0
        if target_prior is not None:
            factor = prior_factors(target_prior, self.labels, total)
        bins = Bins(self.labels, self.low, self.high, self.score, self.counts * factor)
        return bins.take(np.arange(len(self.low)), bins.counts)


def divide(part: Array, whole: Array) -> Array:
    """part / whole, 0 where whole is 0."""
    return np.divide(part, whole, where=whole > 0, out=np.zeros(len(whole)))
