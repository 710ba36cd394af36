"""The ROC curve's convex hull, which is the isotonic regression of the labels on the score.

The segments of the isotonic fit are the edges of the convex hull of (Q, P), the weights of
negatives and positives up to a score from the lowest. The ROC curve is it, from its upper end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Table, dot, from_zero
from gbdt_objectives._steps.steps import isotonic
from gbdt_objectives.calibration.rows import LabelledRows, group_ties


@public
def empirical_probability(
    counts: ArrayLike, *, m: float = 0, prior: ArrayLike | None = None
) -> Array:
    """Class probabilities from class counts, smoothed as if m rows of a prior were added.

    Use it for proportions of few rows, which unsmoothed are often 0 or 1.

    ::

        p_i = (n_i + m pi_i) / (|S| + m),   |S| = sum_i n_i

    ``m=0`` gives the relative frequencies, ``m=K`` with the uniform prior Laplace's correction.

    Parameters
    ----------
    counts : array-like of shape (..., K)
        n_i >= 0, the rows of each class or their total weight, not all 0 with ``m=0``; K >= 2.
    m, prior : float >= 0, array-like of shape (K,), optional
        How many rows the prior is worth. pi, which sums to 1. None: 1/K each.

    Returns
    -------
    ndarray of shape (..., K)
        float64; each row sums to 1.

    References
    ----------
    Cestnik (1990), "Estimating probabilities: a crucial task in machine learning", ECAI.

    Examples
    --------
    >>> from gbdt_objectives.calibration import empirical_probability
    >>> empirical_probability([[20, 40], [1, 0]], m=2)
    array([[0.33870968, 0.66129032],
           [0.66666667, 0.33333333]])
    """
    n = _checks.real_array("counts", counts).astype(np.float64)
    if n.ndim == 0 or n.shape[-1] < 2 or n.size == 0:
        raise ValueError(
            f"counts must have shape (..., K) with two classes or more, found shape {n.shape}"
        )
    _checks.finite("counts", n)
    if n.min() < 0:
        raise ValueError(f"counts must not be negative, found {n.min():g}")
    m = _checks.number("m", m)
    if m < 0:
        raise ValueError(f"m must not be negative, found {m:g}: 0 is no smoothing")
    total = n.sum(axis=-1, keepdims=True)
    if m == 0 and not total.all():
        raise ValueError(
            "counts are all 0 in a row, which has no frequencies: with m above 0 it has the prior's"
        )
    K = n.shape[-1]
    classes = _checks.column_names(counts)
    pi = np.full(K, 1 / K) if prior is None else _checks.distribution("prior", prior, K, classes)
    return np.asarray((n + m * pi) / (total + m))


def resolve_prior(prior: Any, class_weight: Array, classes: Any = None) -> Array:
    """The prior pi, (K,): as given, uniform if None, or the shares of the weight of each class."""
    K = len(class_weight)
    if isinstance(prior, str):
        _checks.choice("prior", prior, ("base_rate",))
        return np.asarray(class_weight / class_weight.sum())
    return np.full(K, 1 / K) if prior is None else _checks.distribution("prior", prior, K, classes)


@public
@dataclass(frozen=True, eq=False, repr=False)
class ROCConvexHull(Table):
    """Segments of the ROC curve's convex hull, from the lowest score to the highest.

    Made by :func:`roc_convex_hull`. S segments; in the ROC plane they join S+1 points, which are
    listed from (0, 0) to (1, 1), so the last segment is the first edge.

    Attributes
    ----------
    low, high : ndarray of shape (S,)
        The lowest and the highest score in each segment.
    positive, negative, auc : ndarray of shape (S,), float
        The weight of label 1 and of label 0 in each segment. Area under the ROC curve of the score.
    """

    low: Array
    high: Array
    positive: Array
    negative: Array
    auc: float

    def _shown(self) -> tuple[str, dict[str, Array]]:
        areas = f"AUC {self.auc:.4f}, under the hull {self.hull_auc:.4f}"
        return f"ROCConvexHull: {len(self.low)} segments, {areas}", self._columns()

    def _columns(self) -> dict[str, Array]:
        columns = {name: values for name, values in vars(self).items() if name != "auc"}
        return columns | {"probability": self.probability()}

    @property
    def hull_auc(self) -> float:
        """Area under the hull: the ROC curve of the isotonic fit."""
        return area(self.positive, self.negative)

    @property
    def fpr(self) -> Array:
        """False positive rate of each point, (S+1,)."""
        return rate_from_top(self.negative)

    @property
    def tpr(self) -> Array:
        """True positive rate of each point, (S+1,)."""
        return rate_from_top(self.positive)

    @property
    def thresholds(self) -> Array:
        """Each point is the rule score >= threshold, (S+1,); inf for (0, 0)."""
        return np.append(np.inf, self.low[::-1])

    def probability(
        self, *, m: float = 0, prior: ArrayLike | None = None, monotone: bool = False
    ) -> Array:
        """The calibration map: the probability of label 1 in each segment, (S,).

        Parameters
        ----------
        m, prior
            As in :func:`empirical_probability`: 0 is no smoothing, 2 Laplace's correction.
        monotone : bool
            Smoothing can reverse the order of segments, as it moves small ones further. True: take
            the nearest rising probabilities, by squared error over the rows.
        """
        counts = np.column_stack([self.negative, self.positive])
        p: Array = empirical_probability(counts, m=m, prior=prior)[:, 1]
        if _checks.flag("monotone", monotone):
            p = isotonic(p, self.positive + self.negative)
        return p


@public
def roc_convex_hull(
    y_true: ArrayLike, score: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> ROCConvexHull:
    """The convex hull of the ROC curve, and the calibration map that comes with it.

    Use it for the hull itself; ``ROCConvexHullCalibrator`` predicts with it. The probability of
    label 1 is constant on each edge of the hull::

        p = (positives of the segment) / (rows of the segment)

    This is the isotonic regression of the labels on the score, a classifier that has the hull as
    its ROC curve. Fit it on scores of rows that the model was not trained on.

    Parameters
    ----------
    y_true, score : array-like of shape (n,)
        Labels 0 and 1, both occurring, and finite scores on any scale, higher for label 1.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means w copies of the row. Neighbouring segments of equal proportion are
        merged, unless weights that are not whole numbers round them apart.

    Returns
    -------
    ROCConvexHull

    Raises
    ------
    ValueError
        One class only, labels other than 0 and 1, NaN, lengths that differ, bad weights.

    References
    ----------
    Fawcett & Niculescu-Mizil (2007), "PAV and the ROC convex hull", Machine Learning 68.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import roc_convex_hull
    >>> hull = roc_convex_hull([1, 1, 0, 1, 1, 0, 1, 1, 0, 0], np.arange(10, 0, -1))
    >>> hull.probability(m=2)
    array([0.25 , 0.625, 0.75 ])
    >>> hull
    ROCConvexHull: 3 segments, AUC 0.7500, under the hull 0.8333
         low      high  positive  negative  probability
           1         2         0         2            0
           3         8         4         2       0.6667
           9        10         2         0            1
    """
    return find_hull(LabelledRows.of_scores("y_true", y_true, score, sample_weight))


def find_hull(rows: LabelledRows) -> ROCConvexHull:
    _checks.not_classes("score", rows.p)
    distinct, positive, negative = group_ties(rows)
    ends = find_segment_ends(positive, negative)
    first, last = ends[:-1], ends[1:] - 1
    return ROCConvexHull(
        low=distinct[first], high=distinct[last], positive=np.add.reduceat(positive, first),
        negative=np.add.reduceat(negative, first), auc=area(positive, negative),
    )  # fmt: skip


def find_segment_ends(positive: Array, negative: Array) -> Array:
    """Ends of the isotonic fit's segments, (S+1,), as numbers of scores, by exact quotients."""
    share = positive + negative
    np.divide(positive, share, out=share)
    first = np.append(0, np.flatnonzero(share[1:] != share[:-1]) + 1)  # equal ones are together
    share = share[first]
    m = isotonic(share, np.add.reduceat(positive, first) + np.add.reduceat(negative, first))
    ends = np.flatnonzero(np.concatenate(([True], m[1:] > m[:-1])))
    ends = np.append(first[ends], len(positive))
    P, N = np.add.reduceat(positive, ends[:-1]), np.add.reduceat(negative, ends[:-1])
    p = P / (P + N)
    rises = np.concatenate(([True], p[1:] > p[:-1], [True]))  # the fit rounds equals apart
    return ends[rises]


def area(positive: Array, negative: Array) -> float:
    """Area under an ROC curve by trapezoids, given weights at rising scores."""
    below = np.cumsum(negative)
    below -= 0.5 * negative
    return dot(positive, below / negative.sum()) / float(positive.sum())


def rate_from_top(weight: Array) -> Array:
    """The share of the weight in the 0 to S highest segments; the last is exactly 1."""
    sums = from_zero(weight[::-1])
    return np.asarray(sums / sums[-1])
