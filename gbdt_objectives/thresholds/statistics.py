"""ThresholdStatistics: sums over rows that add up over chunks and machines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._labels import ordered_labels, positions
from gbdt_objectives.thresholds.curve import ClassCurve, LabelCurve, from_zero
from gbdt_objectives.thresholds.metrics import QWK, ThresholdMetric
from gbdt_objectives.thresholds.optimize import (
    best_qwk_thresholds,
    best_thresholds,
    checked_metric,
    plugin,
)
from gbdt_objectives.thresholds.quadratic import exact_cuts, ratio
from gbdt_objectives.thresholds.rows import (
    class_weights,
    prior_factors,
    several_classes,
    without_zero_weights,
)


@dataclass(frozen=True, eq=False)
class ThresholdStatistics:
    """Everything thresholds need of the rows, as sums: add chunks, merge, then place.

    Start with :meth:`empty`. With ``edges`` memory is constant, B + 1 bins by K classes
    for B edges, however many rows; without, every distinct score is kept, and the
    thresholds are those of ``optimize_thresholds`` on all rows at once.

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
    Plug-in thresholds use the exact mean, slope and correlation; only R is measured on
    bins.

    Attributes
    ----------
    labels : ndarray of shape (K,)
        All classes in order of grade.
    edges : ndarray of shape (B,) or None
        Bin borders: bins are score < edges[0], edges[j-1] <= score < edges[j], and
        score >= edges[B-1].
    low, high : ndarray of shape (d,)
        The score range of each bin; both the score itself without ``edges``.
    counts : ndarray of shape (d, K)
        Weight of each bin and class.
    mean, squares : ndarray of shape (K,)
        Mean score of each class, and its sum of squared deviations.

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
    (array([0.338, 0.662]), (102, 3))
    """

    labels: Array
    edges: Array | None
    low: Array
    high: Array
    counts: Array
    mean: Array
    squares: Array

    @staticmethod
    def empty(labels: ArrayLike, *, edges: ArrayLike | None = None) -> ThresholdStatistics:
        """Statistics of no rows.

        Parameters
        ----------
        labels : array-like of shape (K,)
            All classes in order of grade.
        edges : array-like of shape (B,), optional
            Strictly rising bin borders, for instance quantiles of a first chunk's
            scores. Scores beyond them are counted in two outer bins.

        Raises
        ------
        ValueError
            Labels given twice, edges that do not rise or are not finite.
        """
        order = ordered_labels(labels).copy()
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
            counts=np.zeros((len(low), K)),
            mean=np.zeros(K),
            squares=np.zeros(K),
        )

    def add(
        self, y_true: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ThresholdStatistics:
        """These statistics and a chunk of rows: a new object.

        Parameters
        ----------
        y_true, score, sample_weight : array-like of shape (n,)
            As in ``optimize_thresholds``.

        Raises
        ------
        ValueError
            Labels that are not in ``labels``, scores that are not finite, bad weights.
        """
        s = _checks.vector("score", score).astype(np.float64)
        y = positions("y_true", y_true, self.labels)
        _checks.same_length("score", s, "the labels", len(y))
        w = _checks.weights("sample_weight", sample_weight, len(s))
        s, y, w = without_zero_weights(s, y, w)
        K = len(self.labels)
        low, high = self.low, self.high
        if self.edges is None:
            low, bin_ = np.unique(s, return_inverse=True)
            high = low
        else:
            bin_ = np.searchsorted(self.edges, s, side="right")
        counts = class_weights(bin_ * K + y, w, len(low) * K).reshape(-1, K)
        W = counts.sum(axis=0)
        mean = np.divide(class_weights(y, s if w is None else w * s, K), W, where=W > 0, out=0 * W)
        u = s - mean[y]
        squares = class_weights(y, u * u if w is None else w * u * u, K)
        return self + replace(self, low=low, high=high, counts=counts, mean=mean, squares=squares)

    def __add__(self, other: ThresholdStatistics) -> ThresholdStatistics:
        if not isinstance(other, ThresholdStatistics):
            return NotImplemented
        if not np.array_equal(self.labels, other.labels):
            raise ValueError(
                f"statistics of labels {self.labels.tolist()} and {other.labels.tolist()} do not "
                "add up: start both with the same labels"
            )
        same_edges = (
            self.edges is other.edges
            if self.edges is None or other.edges is None
            else np.array_equal(self.edges, other.edges)
        )
        if not same_edges:
            raise ValueError("statistics with different edges do not add up: start with the same")
        low, high, counts = self.low, self.high, self.counts
        if self.edges is None:
            low = high = np.union1d(self.low, other.low)
            counts = np.zeros((len(low), len(self.labels)))
            counts[np.searchsorted(low, self.low)] += self.counts
            counts[np.searchsorted(low, other.low)] += other.counts
        else:
            counts = self.counts + other.counts
        a, b = self.counts.sum(axis=0), other.counts.sum(axis=0)
        share = np.divide(b, a + b, where=a + b > 0, out=np.zeros_like(a))
        apart = other.mean - self.mean
        return replace(
            self,
            low=low,
            high=high,
            counts=counts,
            mean=self.mean + share * apart,
            squares=self.squares + other.squares + a * share * apart**2,
        )

    def thresholds(
        self,
        *,
        method: Literal["exact", "plugin"] = "plugin",
        metric: str | ThresholdMetric = "qwk",
        label_prior: Mapping[Any, float] | None = None,
    ) -> Array:
        """What ``optimize_thresholds`` gives for the rows added so far.

        Parameters
        ----------
        method, metric, label_prior
            As in ``optimize_thresholds``; no Nelder-Mead and no functions, which need
            the rows.

        Returns
        -------
        ndarray of shape (K-1,)

        Raises
        ------
        ValueError
            Fewer than two classes so far, and as ``optimize_thresholds``.
        """
        _checks.choice("method", method, ("exact", "plugin"))
        known = checked_metric(metric, method)
        assert known is not None
        factor, low, high, counts = self._pools(label_prior)
        if known != QWK:
            zero = np.zeros((1, len(factor)))
            C = np.cumsum(np.concatenate([zero, counts]), axis=0).T
            return best_thresholds(ClassCurve(low, high, C), known, self.labels)
        curve = _label_curve(low, high, counts)
        if method == "exact":
            return best_qwk_thresholds(curve, self.labels)
        return plugin(curve, *self._calibration(factor), self.labels)

    def qwk_loss_bound(self, *, label_prior: Mapping[Any, float] | None = None) -> float:
        """How much QWK the bins can have cost at most, in units of kappa.

        The exact optimum if the rows inside each bin were sorted by class, which no
        score can beat, minus the optimum on bins. 0 without ``edges``.

        Parameters
        ----------
        label_prior : mapping of label to probability, optional
            As in ``optimize_thresholds``.

        Raises
        ------
        ValueError
            Fewer than two classes so far.
        """
        _, low, high, counts = self._pools(label_prior)
        if self.edges is None:
            return 0.0
        K = counts.shape[1]
        binned = _label_curve(low, high, counts)
        apart = np.zeros((counts.size, K))
        apart[np.arange(counts.size), np.tile(np.arange(K), len(counts))] = counts.ravel()
        keep = apart.any(axis=1)
        ideal = _label_curve(np.repeat(low, K)[keep], np.repeat(high, K)[keep], apart[keep])
        return max(0.0, ratio(binned, exact_cuts(binned)) - ratio(ideal, exact_cuts(ideal)))

    def _pools(self, label_prior: Mapping[Any, float] | None) -> tuple[Array, Array, Array, Array]:
        """Factor of each class, and the pools that are not empty."""
        total = self.counts.sum(axis=0)
        several_classes(total, self.labels)
        factor = np.ones(len(total))
        if label_prior is not None:
            factor = prior_factors(label_prior, self.labels, total)
        counts = self.counts * factor
        keep = counts.any(axis=1)
        low, high = self.low[keep], self.high[keep]
        return factor, low, high, counts[keep]

    def _calibration(self, factor: Array) -> tuple[float, float, float]:
        """Mean score, slope beta of the class position on the score, and their correlation."""
        totals = factor * self.counts.sum(axis=0)
        W, k = totals.sum(), np.arange(len(totals))
        origin = float(self.mean[totals > 0][0])
        mean = float(totals @ (self.mean - origin) / W)
        apart = self.mean - origin - mean
        mu = totals @ k / W
        var = float((factor @ self.squares + totals @ apart**2) / W)
        cov = float(totals @ (apart * (k - mu)) / W)
        if var == 0:
            return origin + mean, 0.0, 0.0
        return origin + mean, cov / var, cov / math.sqrt(var * float(totals @ (k - mu) ** 2 / W))


def _label_curve(low: Array, high: Array, counts: Array) -> LabelCurve:
    N = from_zero(counts.sum(axis=1))
    S = from_zero(counts @ np.arange(counts.shape[1]))
    return LabelCurve(low, high, N, S, counts.sum(axis=0))
