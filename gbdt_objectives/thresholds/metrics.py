"""What thresholds are chosen for: ratios of sums over rows, so that optima can be exact.

Every metric here is a decreasing function of F/G, F = sum w F[y, p], G = sum w G[y, p],
with two (K, K) matrices that depend on the labels only through the class weights. All
work on class positions 0..K-1: the distance of two classes is that of their positions.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, ordered_labels, positions, shown, whole_numbers
from gbdt_objectives.thresholds.rows import class_weights

Cost = Literal["zero_one", "absolute", "squared"] | tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ThresholdMetric:
    """A metric of ordered classes that thresholds can be optimal for.

    Called as ``metric(y_true, y_pred, sample_weight=None, *, labels=None)`` it scores
    classes. Made by name (:func:`threshold_metric`) or by :func:`cost_metric`,
    :func:`kappa_cost`, :func:`f_beta`.

    Attributes
    ----------
    greater_is_better : bool
        The direction of the value; the optimum is always sought in the good one.
    """

    greater_is_better: ClassVar[bool] = True

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        """The matrices F, G, indexed [true, predicted], given class weights (K,)."""
        raise NotImplementedError

    def value(self, ratio: float) -> float:
        """The metric, given F/G."""
        return 1 - ratio

    def of_counts(self, counts: Array) -> float:
        """The metric of (weighted) confusion counts [true, predicted]."""
        F, G = self.ratio_costs(counts.sum(axis=1))
        below = float((G * counts).sum())
        if below == 0:
            from sklearn.exceptions import UndefinedMetricWarning

            warnings.warn(
                f"{self} is 0/0 for these classes, returned as nan",
                UndefinedMetricWarning,
                stacklevel=3,
            )
            return math.nan
        return self.value(float((F * counts).sum()) / below)

    def __call__(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        labels: ArrayLike | None = None,
    ) -> float:
        if labels is None:
            found = whole_numbers("y_true", y_true), whole_numbers("y_pred", y_pred)
            low, high = min(y.min() for y in found), max(y.max() for y in found)
            order = np.arange(int(low), int(high) + 1)
        else:
            order = ordered_labels(labels)
        y, p = positions("y_true", y_true, order), positions("y_pred", y_pred, order)
        _checks.same_length("y_pred", p, "the labels", len(y))
        w = _checks.weights("sample_weight", sample_weight, len(y))
        K = len(order)
        pair = y.astype(np.int64) * K + p
        return self.of_counts(class_weights(pair, w, K * K).reshape(K, K))


@dataclass(frozen=True)
class ExpectedCost(ThresholdMetric):
    """Mean cost of a row."""

    greater_is_better: ClassVar[bool] = False
    cost: Cost

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        F = cost_matrix(self.cost, len(class_weight))
        return F, np.ones_like(F)

    def value(self, ratio: float) -> float:
        return ratio


@dataclass(frozen=True)
class Accuracy(ThresholdMetric):
    """Fraction of rows in their class."""

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        return ExpectedCost("zero_one").ratio_costs(class_weight)


@dataclass(frozen=True)
class MacroRecall(ThresholdMetric):
    """Mean over the classes that occur of the fraction found (balanced accuracy)."""

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        F = cost_matrix("zero_one", len(class_weight))
        present = class_weight > 0
        share = class_weight.sum() / present.sum()
        F[present] *= (share / class_weight[present])[:, None]
        return F, np.ones_like(F)


@dataclass(frozen=True)
class Youden(MacroRecall):
    """True positive rate minus false positive rate."""

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        two_classes("youden", class_weight)
        return super().ratio_costs(class_weight)

    def value(self, ratio: float) -> float:
        return 1 - 2 * ratio


@dataclass(frozen=True)
class WeightedKappa(ThresholdMetric):
    """1 - observed cost / cost expected by chance."""

    cost: Cost

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        F = cost_matrix(self.cost, len(class_weight))
        expected = class_weight @ F / class_weight.sum()
        if expected.min() == 0 and (class_weight > 0).sum() > 1:
            raise ValueError(
                f"cost: always predicting the class at position {int(np.argmin(expected))} costs "
                "nothing, so kappa is 0/0 there: give confusions of classes that occur a cost > 0"
            )
        return F, np.broadcast_to(expected, F.shape)


@dataclass(frozen=True)
class FBeta(ThresholdMetric):
    """(1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP)."""

    beta: float

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        two_classes(f"f_beta({self.beta:g})", class_weight)
        b2 = self.beta**2
        return np.array([[0.0, 1.0], [b2, 0.0]]), np.array([[0.0, 1.0], [b2, 1 + b2]])


def two_classes(name: str, class_weight: Array) -> None:
    """Raise unless K = 2."""
    if len(class_weight) != 2:
        raise ValueError(
            f"metric {name} is for two classes, found {len(class_weight)}: choose another metric "
            "or give labels=[negative, positive]"
        )


def cost_matrix(cost: Cost, K: int) -> Array:
    """The cost of each (true, predicted) pair of positions, float64 (K, K)."""
    if not isinstance(cost, str):
        matrix = np.array(cost)
        if len(matrix) != K:
            raise ValueError(
                f"the cost matrix has shape {matrix.shape}, but there are {K} classes: give a row "
                "and a column to each class"
            )
        return matrix
    k = np.arange(K, dtype=np.float64)
    distance = np.abs(k[:, None] - k)
    if cost == "zero_one":
        return np.sign(distance)
    return distance if cost == "absolute" else distance**2


def _square(matrix: ArrayLike) -> Array:
    array = _checks.real_array("matrix", matrix).astype(np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < 2:
        raise ValueError(
            f"matrix must have shape (K, K) with K >= 2 classes, found shape {array.shape}"
        )
    _checks.finite("matrix", array)
    return array


def _tuples(array: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in array.tolist())


def cost_metric(matrix: ArrayLike) -> ThresholdMetric:
    """Mean cost of a decision, given what each confusion costs. Less is better.

    ::

        sum w cost[y, p] / sum w

    Parameters
    ----------
    matrix : array-like of shape (K, K)
        ``matrix[i, j]``: cost of predicting class j (its position) where i is true, in
        any unit; a gain is a negative cost.

    Returns
    -------
    ThresholdMetric
        For ``optimize_thresholds(metric=...)``.

    Raises
    ------
    ValueError
        A matrix that is not square, or holds NaN or infinity.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import cost_metric, optimize_thresholds
    >>> missed_is_worse = cost_metric([[0, 1], [10, 0]])
    >>> y, score = [0, 1, 0, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5]
    >>> optimize_thresholds(y, score, method="exact", metric=missed_is_worse).round(2)
    array([0.15])
    >>> missed_is_worse(y, [0, 1, 1, 1, 1])
    0.4
    """
    return ExpectedCost(_tuples(_square(matrix)))


def kappa_cost(matrix: ArrayLike) -> ThresholdMetric:
    """Weighted kappa with any cost of disagreement.

    ::

        kappa = 1 - sum_ij cost_ij O_ij / sum_ij cost_ij E_ij

    O the (weighted) confusion counts, E those expected by chance.

    Parameters
    ----------
    matrix : array-like of shape (K, K)
        ``matrix[i, j]`` >= 0: cost of predicting class j (its position) where i is
        true; 0 on the diagonal.

    Returns
    -------
    ThresholdMetric
        For ``optimize_thresholds(metric=...)``.

    Raises
    ------
    ValueError
        A matrix that is not square, negative, not 0 on the diagonal or not finite.

    References
    ----------
    Cohen (1968), Psychological Bulletin 70(4).

    Examples
    --------
    >>> from gbdt_objectives.thresholds import kappa_cost
    >>> capped = kappa_cost([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> round(capped([0, 1, 2, 2], [0, 1, 1, 2]), 4)
    0.7143
    """
    array = _square(matrix)
    if array.min() < 0:
        raise ValueError(f"matrix must hold costs >= 0, found {array.min()}")
    if array.diagonal().any():
        raise ValueError(
            f"matrix must be 0 on the diagonal, found {shown(array.diagonal().tolist())}: "
            "agreement costs nothing"
        )
    return WeightedKappa(_tuples(array))


def f_beta(beta: float) -> ThresholdMetric:
    """F-beta of one binary threshold; the second of the two labels is the positive one.

    ::

        (1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP)

    Parameters
    ----------
    beta : float
        > 0: how many times recall counts as much as precision; 1 is F1.

    Returns
    -------
    ThresholdMetric
        For ``optimize_thresholds(metric=...)``.

    Raises
    ------
    ValueError
        beta <= 0 or not finite.

    References
    ----------
    van Rijsbergen (1979), Information Retrieval, chapter 7.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import f_beta, optimize_thresholds
    >>> y, score = [0, 1, 0, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5]
    >>> optimize_thresholds(y, score, method="exact", metric=f_beta(0.5)).round(2)
    array([0.45])
    >>> round(f_beta(1)(y, [0, 1, 1, 1, 1]), 4)
    0.6667
    """
    beta = _checks.number("beta", beta)
    if beta <= 0:
        raise ValueError(f"beta must be > 0, found {beta}: 1 weighs recall like precision")
    return FBeta(beta)


QWK = WeightedKappa("squared")

NAMED: dict[str, ThresholdMetric] = {
    "qwk": QWK,
    "linear": WeightedKappa("absolute"),
    "kappa": WeightedKappa("zero_one"),
    "accuracy": Accuracy(),
    "mae": ExpectedCost("absolute"),
    "macro_recall": MacroRecall(),
    "youden": Youden(),
}


def threshold_metric(metric: str | ThresholdMetric) -> ThresholdMetric:
    """The metric of a name; a metric is returned as it is.

    Parameters
    ----------
    metric : str or ThresholdMetric
        "qwk", "linear" and "kappa" (weighted kappas with squared, absolute and 0-1
        cost), "accuracy", "mae" (mean absolute difference of positions),
        "macro_recall" (over the classes that occur), "youden" (two classes).

    Returns
    -------
    ThresholdMetric

    Raises
    ------
    ValueError
        A word that names no metric.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import threshold_metric
    >>> round(threshold_metric("qwk")([0, 1, 2, 3], [0, 1, 1, 3]), 4)
    0.9
    >>> threshold_metric("mae").greater_is_better
    False
    """
    if isinstance(metric, ThresholdMetric):
        return metric
    return NAMED[_checks.choice("metric", metric, tuple(NAMED))]
