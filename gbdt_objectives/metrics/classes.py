"""Metrics of ordered classes: one object for early stopping, scoring and thresholds.

Most are decreasing functions of F/G, F = sum w F[y, p], G = sum w G[y, p], with two (K, K) matrices
that depend on the labels only through the class weights: so their thresholds can be exactly
optimal. The distance of two classes is that of their positions 0..K-1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import ArrayValue, Rows, same_labels
from gbdt_objectives.metrics import kappa
from gbdt_objectives.metrics.base import (
    ClassMetric,
)

if TYPE_CHECKING:
    from typing_extensions import Self

Cost = Literal["zero_one", "absolute", "squared"] | tuple[tuple[float, ...], ...]


@public
@dataclass(frozen=True, kw_only=True)
class RatioMetric(ClassMetric):
    """A metric that is a decreasing function of F/G, or an increasing one if smaller is better.

    F and G are sums over the rows of what each (true, predicted) pair costs, and
    ``optimize_thresholds`` finds exact thresholds. A subclass of your own declares ``name`` and
    ``greater_is_better``, and writes ``ratio_costs``. It writes ``value`` too, unless that is
    1 - F/G, or F/G if smaller is better.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from gbdt_objectives import optimize_thresholds
    >>> from gbdt_objectives.metrics import RatioMetric
    >>> @dataclass(frozen=True, kw_only=True)
    ... class MacroMAE(RatioMetric):  # mean over the classes of their mean distance
    ...     name = "macro_mae"
    ...     greater_is_better = False
    ...
    ...     def ratio_costs(self, class_weight):
    ...         k, occurs = np.arange(len(class_weight)), class_weight > 0
    ...         F = np.abs(k[:, None] - k).astype(float)
    ...         F[occurs] *= (class_weight.sum() / occurs.sum() / class_weight[occurs])[:, None]
    ...         return F, np.ones_like(F)
    >>> y, score = [0, 0, 0, 1, 2], [0.1, 0.2, 0.4, 0.3, 0.9]
    >>> optimize_thresholds(y, score, metric=MacroMAE())
    Thresholds([0.25, 0.65], labels=[0, 1, 2])
    >>> round(MacroMAE(thresholds=(0.25, 0.65))(y, score), 3)
    0.111
    """

    exact_method: ClassVar[str | None] = "dynamic program"
    is_share: ClassVar[bool] = False  # whether F counts some of the rows that G counts

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        """The matrices F, G, indexed [true, predicted], given class weights (K,)."""
        raise NotImplementedError(f"{type(self).__name__} must define ratio_costs(class_weight)")

    def value(self, ratio: Any) -> Any:
        """The metric, given F/G, a number or an array."""
        return 1 - ratio if self.greater_is_better else ratio

    def of_every_cut(self, C: Array) -> tuple[Array, Any]:
        F, G = (self.at_every_cut(M, C) for M in self.ratio_costs(C[:, -1]))
        return self.value(np.divide(F, G, out=np.full(len(F), np.nan), where=G > 0)), G

    @staticmethod
    def at_every_cut(M: Array, C: Array) -> Array:
        """Sums of M[true, predicted] at each of d+1 cuts, of cumulative weights of two classes."""
        found = np.zeros(C.shape[1])
        for slope, own in zip(M[:, 0] - M[:, 1], C, strict=True):
            if slope:
                found += slope * own
        found += M[:, 1] @ C[:, -1]  # last: sums over no rows are then 0, however they round
        return found

    def of_counts(self, counts: Array) -> float:
        F, G = self.ratio_costs(counts.sum(axis=1))
        below = float((G * counts).sum())
        if below == 0:
            return kappa.warn_undefined(f"{self.name} is 0/0 for these classes")
        return float(self.value(float((F * counts).sum()) / below))


@dataclass(frozen=True, kw_only=True)
class CostMetric(RatioMetric):
    """A metric of what each confusion costs. ``classes``: those that the cost came with."""

    cost: Cost
    classes: tuple[Any, ...] | None = field(default=None, repr=False)

    def _of_labels(self, labels: ArrayLike | None) -> Self:
        if self.classes is None:
            return self
        cost = _checks.costs_of_labels("matrix", np.array(self.cost), self.classes, labels)
        return replace(self, cost=tuple(map(tuple, cost.tolist())), classes=None)

    def _costs(self, K: int) -> Array:
        return costs_of_pairs(self._of_labels(None).cost, K)


@dataclass(frozen=True, kw_only=True)
class MeanCost(CostMetric):
    """Mean cost per row."""

    greater_is_better: ClassVar[bool] = False
    name: str = field(default="cost", repr=False)  # type: ignore[misc]  # a field here

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        F = self._costs(len(class_weight))
        return F, np.ones_like(F)


@dataclass(frozen=True, kw_only=True)
class Accuracy(RatioMetric):
    """Fraction of rows in their class."""

    name: ClassVar[str] = "accuracy"

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        F = costs_of_pairs("zero_one", len(class_weight))
        return F, np.ones_like(F)


@dataclass(frozen=True, kw_only=True)
class MacroRecall(Accuracy):
    """Mean recall of the classes that occur (balanced accuracy)."""

    name: ClassVar[str] = "macro_recall"

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        F, G = super().ratio_costs(class_weight)
        present = class_weight > 0
        F[present] *= (class_weight.sum() / present.sum() / class_weight[present])[:, None]
        return F, G


@dataclass(frozen=True, kw_only=True)
class Youden(MacroRecall):
    """True positive rate minus false positive rate."""

    name: ClassVar[str] = "youden"

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        check_is_binary(self.name, class_weight)
        F, G = super().ratio_costs(class_weight)
        return F, G if class_weight.all() else np.zeros_like(G)  # a rate of no rows is 0/0

    def value(self, ratio: Any) -> Any:
        return 1 - 2 * ratio


@dataclass(frozen=True, kw_only=True)
class WeightedKappa(CostMetric):
    """1 - observed cost / cost expected by chance."""

    name: str = field(default="kappa_cost", repr=False)  # type: ignore[misc]  # a field here

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        F = self._costs(len(class_weight))
        expected = class_weight @ F / class_weight.sum()
        if expected.min() == 0 and (class_weight > 0).sum() > 1:
            raise ValueError(
                f"cost: always predicting the class at position {int(np.argmin(expected))} costs "
                "nothing, so kappa is 0/0 there: give confusions of classes that occur a cost > 0"
            )
        return F, np.broadcast_to(expected, F.shape)


@dataclass(frozen=True, kw_only=True)
class QWKMetric(WeightedKappa):
    """Quadratic weighted kappa; made by :func:`qwk_metric`."""

    exact_method: ClassVar[str | None] = "isotonic"
    name: str = field(default="qwk", init=False, repr=False)  # type: ignore[misc]  # a field here
    cost: Cost = field(default="squared", init=False, repr=False)

    def of_classes(self, rows: Rows, low: int, high: int) -> float:
        # needs no confusion counts
        return kappa.kappa_of_parts(rows.parts(partial(kappa.moments, ends=(low, high))))


@dataclass(frozen=True, kw_only=True)
class FBeta(RatioMetric):
    """(1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP)."""

    name: ClassVar[str] = "f_beta"
    beta: float

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        check_is_binary(f"f_beta_metric({self.beta:g})", class_weight)
        b2 = self.beta**2
        return np.array([[0.0, 1.0], [b2, 0.0]]), np.array([[0.0, 1.0], [b2, 1 + b2]])


@dataclass(frozen=True, kw_only=True)
class RowShare(RatioMetric):
    """A share of the rows of two classes, by its name in ``SHARES``."""

    is_share: ClassVar[bool] = True
    name: str  # type: ignore[misc]  # a field here

    @property
    def greater_is_better(self) -> bool:  # type: ignore[override]  # depends on a field
        return self.name in ("precision", "recall")

    def ratio_costs(self, class_weight: Array) -> tuple[Array, Array]:
        check_is_binary(self.name, class_weight)
        F, G = np.array(SHARES[self.name], np.float64)
        return F, G


SHARES: dict[str, tuple[ArrayLike, ArrayLike]] = {
    "precision": ([[0, 1], [0, 0]], [[0, 1], [0, 1]]),  # TP / (TP + FP)
    "recall": ([[0, 0], [1, 0]], [[0, 0], [1, 1]]),  # TP / (TP + FN)
    "false_positive_rate": ([[0, 1], [0, 0]], [[1, 1], [0, 0]]),  # FP / (FP + TN)
    "alert_rate": ([[0, 1], [0, 1]], [[1, 1], [1, 1]]),  # (TP + FP) / n, whatever the true class
}
"""The matrices F and G of shares of rows."""


@public
@dataclass(frozen=True, kw_only=True)
class ShareMetric(ClassMetric):
    """A metric of the shares of rows of each class, which is no ratio of sums over rows.

    ``hit``, ``predicted`` and ``true``, each (K, ...), are the shares of the rows that get the
    class rightly, that get it, and that are of it.
    """

    exact_method: ClassVar[str | None] = "every cut"

    def of_shares(self, hit: Array, predicted: Array, true: Array) -> Array:
        """The metric, (...)."""
        raise NotImplementedError

    def slopes(self, hit: Array, predicted: Array, true: Array) -> tuple[Array, Array]:
        """Derivatives by the hits of each class, and by its predictions, negated, both (K,), up to
        a common factor, where every class occurs: decisions by argmax_k (hit slope) p_k -
        (prediction slope) are the best ones to first order."""
        raise NotImplementedError

    def of_counts(self, counts: Array) -> float:
        value = float(self.of_shares(*shares(counts)))
        if np.isnan(value):
            return kappa.warn_undefined(f"y_true holds one class only: {self.name} is 0/0")
        return value

    def of_every_cut(self, C: Array) -> tuple[Array, Any]:
        return self.of_shares(*shares(np.stack([C, C[:, -1:] - C], axis=1))), C[:, -1].sum()


@public
@dataclass(frozen=True, kw_only=True)
class MatthewsMetric(ShareMetric):
    """Correlation of the classes' indicators.

    ::

        sum_k (TP TN - FP FN) / sqrt(sum_k p_k (n - p_k) sum_k t_k (n - t_k))

    where TP, FP, FN and TN are those of class k against the rest, and p_k and t_k its predicted and
    true weight. 0 of one predicted class, nan of one true class.
    """

    name: ClassVar[str] = "matthews"

    def of_shares(self, hit: Array, predicted: Array, true: Array) -> Array:
        p, t = predicted, true
        agreement = hit * (1 - t - p + hit) - (t - hit) * (p - hit)
        scale = (p * (1 - p)).sum(axis=0) * (t * (1 - t)).sum(axis=0)
        several = ((p > 0).sum(axis=0) > 1) & (scale > 0)
        value = several * agreement.sum(axis=0) / np.sqrt(np.where(several, scale, 1))
        return np.where((t > 0).sum(axis=0) > 1, value, np.nan)

    def slopes(self, hit: Array, predicted: Array, true: Array) -> tuple[Array, Array]:
        spread = 1 - predicted @ predicted
        slope = (hit.sum() - true @ predicted) / spread if spread > 0 else 0.0
        return np.ones_like(true), true - slope * predicted


@dataclass(frozen=True, kw_only=True)
class MacroF1(ShareMetric):
    """Mean F1 of the classes that occur or are predicted."""

    name: ClassVar[str] = "macro_f1"

    def of_shares(self, hit: Array, predicted: Array, true: Array) -> Array:
        size = predicted + true
        counts = size > 0
        return np.asarray((2 * hit / np.where(counts, size, 1)).sum(axis=0) / counts.sum(axis=0))

    def slopes(self, hit: Array, predicted: Array, true: Array) -> tuple[Array, Array]:
        size = predicted + true
        return 2 / size, 2 * hit / size**2


@dataclass(frozen=True, kw_only=True)
class GMean(ShareMetric):
    """Geometric mean of the recalls of the classes that occur."""

    name: ClassVar[str] = "g_mean"

    def of_shares(self, hit: Array, predicted: Array, true: Array) -> Array:
        counts = true > 0
        recall = np.where(counts, hit / np.where(counts, true, 1), 1)
        return np.asarray(recall.prod(axis=0) ** (1 / counts.sum(axis=0)))

    def slopes(self, hit: Array, predicted: Array, true: Array) -> tuple[Array, Array]:
        return 1 / np.maximum(hit, LEAST_RECALL * true), np.zeros_like(true)


LEAST_RECALL = 1e-3  # stands for a recall of 0, where the slope of the geometric mean is infinite


def shares(counts: Array) -> tuple[Array, Array, Array]:
    """The shares of hits, predictions and labels in counts (K, K, ...) [true, predicted]."""
    C = counts / counts.sum(axis=(0, 1))
    return np.einsum("kk...->k...", C), C.sum(axis=0), C.sum(axis=1)


def check_is_binary(name: str, class_weight: Array) -> None:
    if len(class_weight) != 2:
        raise ValueError(
            f"metric {name} is for two classes, found {len(class_weight)}: choose another metric, "
            "or say which two there are, labels=[negative, positive] or label_range=(0, 1) of "
            "threshold_metric"
        )


def costs_of_pairs(cost: Cost, K: int) -> Array:
    """The cost of each (true, predicted) pair of positions, float64 (K, K)."""
    if not isinstance(cost, str):
        matrix = np.array(cost)
        if len(matrix) != K:
            raise ValueError(
                f"the cost matrix has shape {matrix.shape}, but there are {K} classes: give a row "
                "and a column to each class, and labels or label_range if not all classes occur"
            )
        return matrix
    k = np.arange(K, dtype=np.float64)
    distance = np.abs(k[:, None] - k)
    if cost == "zero_one":
        return np.sign(distance)
    return distance if cost == "absolute" else distance**2


def class_fields(
    label_range: tuple[int, int] | None, thresholds: ArrayLike | None
) -> dict[str, Any]:
    """The two arguments that all class metrics share, checked."""
    if label_range is None:
        if thresholds is not None:
            raise ValueError("thresholds need label_range=(lowest, highest) as well")
        return {}
    low, high = _checks.label_range("label_range", label_range)
    if low != int(low) or high != int(high):
        raise ValueError(f"label_range must hold integers, found {label_range!r}")
    low, high = whole = int(low), int(high)
    if thresholds is None:
        return {"label_range": whole}
    cuts = _checks.check_thresholds("thresholds", thresholds)
    carried = ArrayValue._carried_labels(thresholds)
    if carried is not None and not same_labels(carried, np.arange(low, high + 1)):
        raise ValueError(
            f"thresholds are for the labels {shown(carried.tolist())}, but label_range is {whole}: "
            "give the range of these labels"
        )
    if len(cuts) != high - low:
        raise ValueError(
            f"thresholds must be {high - low} numbers for labels {low} to {high}, found {len(cuts)}"
        )
    known = getattr(thresholds, "score_range", None)
    return {"label_range": whole, "thresholds": tuple(cuts.tolist()), "score_range": known}


@public
def qwk_metric(
    label_range: tuple[int, int] | None = None, *, thresholds: ArrayLike | None = None
) -> ClassMetric:
    """Quadratic weighted kappa, of classes or of scores in label units (see :class:`ClassMetric`).

    Use it for early stopping, for scikit-learn's model selection and in :func:`decide`.

    Parameters
    ----------
    label_range : (int, int), optional
        Lowest and highest label. None: those of the rows that are scored.
    thresholds : array-like of shape (K-1,), optional
        Sorted cuts for the K integer labels in ``label_range``, which is then required.

    Returns
    -------
    Metric
        ``name`` "qwk", greater is better, input space "margin" (label units).

    Raises
    ------
    ValueError
        A bad range, thresholds not sorted or not K-1; when called, other labels.

    Examples
    --------
    >>> from gbdt_objectives import qwk_metric
    >>> round(qwk_metric((0, 3))([0, 1, 2, 3], [-0.2, 1.1, 1.4, 3.7]), 4)
    0.9
    >>> qwk_metric((0, 3), thresholds=[0.5, 1.3, 2.5])([0, 1, 2, 3], [-0.2, 1.1, 1.4, 3.7])
    1.0
    """
    return QWKMetric(**class_fields(label_range, thresholds))


@public
def cost_metric(matrix: ArrayLike) -> ClassMetric:
    """Mean cost of a decision, given what each confusion costs. Less is better.

    Use it where each confusion has a known price.

    ::

        sum w cost[y, p] / sum w

    Parameters
    ----------
    matrix : array-like of shape (K, K)
        ``matrix[i, j]``: cost of predicting class j (its position) where i is true, in any unit; a
        gain is a negative cost. A frame that names its rows and columns is read by ``labels=``.

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        A matrix that is not square, or holds NaN or infinity.

    Examples
    --------
    >>> from gbdt_objectives import optimize_thresholds
    >>> from gbdt_objectives.metrics import cost_metric
    >>> missed_is_worse = cost_metric([[0, 1], [10, 0]])
    >>> y, score = [0, 1, 0, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5]
    >>> missed_is_worse(y, optimize_thresholds(y, score, metric=missed_is_worse).apply(score))
    0.4
    """
    array, classes = _checks.cost_matrix("matrix", matrix)
    _checks.finite("matrix", array)
    return MeanCost(cost=tuple(map(tuple, array.tolist())), classes=classes)


@public
def kappa_cost_metric(matrix: ArrayLike) -> ClassMetric:
    """Weighted kappa with any cost of disagreement: what :func:`kappa_objective` trains.

    ::

        kappa = 1 - sum_ij cost_ij O_ij / sum_ij cost_ij E_ij

    with O the (weighted) confusion counts and E those expected by chance.

    Parameters
    ----------
    matrix : array-like of shape (K, K)
        ``matrix[i, j]`` >= 0: cost of class j (its position) where i is true; 0 on the diagonal.

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        A matrix that is not square, negative, not 0 on the diagonal or not finite.

    Examples
    --------
    >>> from gbdt_objectives.metrics import kappa_cost_metric
    >>> capped = kappa_cost_metric([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> round(capped([0, 1, 2, 2], [0, 1, 1, 2]), 4)
    0.7143
    """
    array, classes = _checks.cost_matrix("matrix", matrix)
    _checks.finite("matrix", array)
    if array.min() < 0:
        raise ValueError(f"matrix must hold costs >= 0, found {array.min()}")
    if array.diagonal().any():
        raise ValueError(
            f"matrix must be 0 on the diagonal, found {shown(array.diagonal().tolist())}: "
            "agreement costs nothing"
        )
    return WeightedKappa(cost=tuple(map(tuple, array.tolist())), classes=classes)


@public
def f_beta_metric(beta: float) -> FBeta:
    """F-beta of one binary threshold; the second of the two labels is the positive one.

    Use it where two classes are judged by precision and recall. It equals scikit-learn's
    ``fbeta_score(zero_division=nan)``, NaN without any positive.

    ::

        (1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP)

    Parameters
    ----------
    beta : float > 0
        How many times as much recall counts as precision; 1 is F1.

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        beta <= 0 or not finite.

    References
    ----------
    van Rijsbergen (1979), Information Retrieval, chapter 7.

    Examples
    --------
    >>> from gbdt_objectives.metrics import f_beta_metric
    >>> round(f_beta_metric(1)([0, 1, 0, 0, 1], [0, 1, 1, 1, 1]), 4)
    0.6667
    """
    beta = _checks.number("beta", beta)
    if beta <= 0:
        raise ValueError(f"beta must be > 0, found {beta}: 1 weighs recall like precision")
    return FBeta(beta=beta)


NAMED: dict[str, ClassMetric] = {
    "qwk": QWKMetric(), "linear": WeightedKappa(name="linear", cost="absolute"),
    "kappa": WeightedKappa(name="kappa", cost="zero_one"), "accuracy": Accuracy(),
    "mae": MeanCost(name="mae", cost="absolute"), "macro_recall": MacroRecall(),
    "matthews": MatthewsMetric(), "macro_f1": MacroF1(), "g_mean": GMean(), "f1": FBeta(beta=1.0),
    "youden": Youden(), **{name: RowShare(name=name) for name in SHARES},
}  # fmt: skip

OTHER_NAMES = {
    "quadratic_weighted_kappa": "'qwk'", "quadratic": "'qwk'",
    "cohen_kappa": "'kappa', 'linear' or 'qwk'", "cohen_kappa_score": "'kappa', 'linear' or 'qwk'",
    "accuracy_score": "'accuracy'",
    "mean_absolute_error": "'mae'", "neg_mean_absolute_error": "'mae'",
    "balanced_accuracy": "'macro_recall'", "balanced_accuracy_score": "'macro_recall'",
    "recall_macro": "'macro_recall'",
    "mcc": "'matthews'", "matthews_corrcoef": "'matthews'",
    "f1_macro": "'macro_f1'", "f1_score": "'f1', of several classes 'macro_f1'",
    "gmean": "'g_mean'", "geometric_mean": "'g_mean'", "geometric_mean_score": "'g_mean'",
    "f2": "f_beta_metric(2)", "f_beta": "f_beta_metric(beta)",
    "fbeta": "f_beta_metric(beta)", "fbeta_score": "f_beta_metric(beta)",
    "youden_j": "'youden'", "informedness": "'youden'",
    "precision_score": "'precision'", "ppv": "'precision'",
    "recall_score": "'recall'", "tpr": "'recall'", "sensitivity": "'recall'",
    "fpr": "'false_positive_rate'",
    "specificity": "'false_positive_rate', which is 1 - specificity",
    "predicted_positive_fraction": "'alert_rate'",
}  # fmt: skip
"""Other names of the metrics, and what to pass instead."""


@public
def threshold_metric(
    metric: str | ClassMetric, label_range: tuple[int, int] | None = None, *,
    thresholds: ArrayLike | None = None,
) -> ClassMetric:  # fmt: skip
    """A metric of ordered classes, by name, and where it cuts scores.

    Use it to get by its name a metric that boosters and ``optimize_thresholds`` take. For classes
    they equal scikit-learn's, but a metric that is 0/0 is NaN, with scikit-learn's
    UndefinedMetricWarning, and stops boosters: Matthews' coefficient of one true class, F-beta
    without any positive, true or predicted, and precision without a predicted one.

    Parameters
    ----------
    metric : str or Metric
        "qwk", "linear" and "kappa" (weighted kappas with squared, absolute and 0-1 cost),
        "accuracy", "mae" (mean absolute difference of positions), "macro_recall" (balanced
        accuracy), "matthews" (the correlation coefficient), "macro_f1" (mean F1 of the classes that
        occur or are predicted), "g_mean" (geometric mean of the recalls of the classes that occur);
        for two classes, the second of which is the positive one, "f1", "youden", "precision",
        "recall", "false_positive_rate" and "alert_rate" (the share of all rows that are predicted
        positive). Or a metric of classes, to which a range or thresholds are added.
    label_range, thresholds
        As in :func:`qwk_metric`. With ``thresholds``, margins of any unit can be scored.

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        A word that names no metric; a range or thresholds as in :func:`qwk_metric`.

    References
    ----------
    Gorodkin (2004), Computational Biology and Chemistry 28, for Matthews' coefficient of K classes.

    Examples
    --------
    >>> from gbdt_objectives.metrics import threshold_metric
    >>> round(threshold_metric("qwk")([0, 1, 2, 3], [0, 1, 1, 3]), 4)
    0.9
    >>> mae = threshold_metric("mae", (0, 3))
    >>> mae.greater_is_better, mae([0, 1, 2, 3], [-0.2, 1.1, 3.2, 2.8]), mae.exact_method
    (False, 0.25, 'dynamic program')
    """
    fields = class_fields(label_range, thresholds)
    if isinstance(metric, str) and metric in OTHER_NAMES:
        raise ValueError(f"metric {metric!r} has another name here: pass {OTHER_NAMES[metric]}")
    if not isinstance(metric, ClassMetric):
        metric = NAMED[_checks.choice("metric", metric, tuple(NAMED))]
    if fields and metric.thresholds is not None and thresholds is None:
        raise ValueError(
            f"metric {metric.name!r} has thresholds, {shown(metric.thresholds)}, for the "
            f"label_range {metric.label_range}: pass thresholds= for the new one, too"
        )
    return replace(metric, **fields) if fields else metric
