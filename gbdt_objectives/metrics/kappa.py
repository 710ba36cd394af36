"""Quadratic weighted kappa (QWK), of classes and of continuous scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Stack, check_order, warn
from gbdt_objectives._links import IDENTITY, Link
from gbdt_objectives._public import public, set_renamed
from gbdt_objectives._rows.rows import (
    EXPRESSION_BYTES,
    FLOAT64,
    Rows,
    check_column,
    dot,
    vectors,
)
from gbdt_objectives.metrics.base import (
    Metric,
    class_counts,
    class_rows,
)
from gbdt_objectives.objectives import qwk_objective

POWERS = np.vander(np.arange(64), 3, increasing=True)  # 1, k and k^2 of as many classes as counted


@public
def quadratic_weighted_kappa(
    y_true: ArrayLike, y_pred: ArrayLike, *, labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:  # fmt: skip
    """Agreement of two sets of ordered classes, corrected for chance, errors squared.

    Use it to judge classes. :func:`extended_qwk_metric` judges scores as they are.

    ::

        kappa = 1 - sum_ij (i-j)^2 O_ij / sum_ij (i-j)^2 E_ij
              = 1 - sum w (p-y)^2 / sum w ((p-mean y)^2 + var y)

    with O the (weighted) confusion counts and E those expected by chance. Kappa
    is symmetric: ``y_true`` and ``y_pred`` may be swapped. Dask Series or Arrays are taken too.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Classes. Without ``labels`` they are integers and i-j is their difference.
    labels : array-like of shape (K,), optional
        All classes in ascending order, of any type (strings, unevenly spaced codes); i-j is then
        the difference of their positions in this list. None: or that of a pandas Categorical.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means the same as w copies of the row.

    Returns
    -------
    float
        1 for perfect agreement, 0 for a constant prediction, negative if worse. NaN (0/0), with
        scikit-learn's UndefinedMetricWarning, if both hold one and the same class.

    Raises
    ------
    ValueError
        Different lengths, empty input, fractions (apply thresholds or round first), classes that
        are not in ``labels``, repeated labels, bad weights.

    References
    ----------
    Cohen (1968), Psychological Bulletin 70(4).

    Examples
    --------
    >>> from gbdt_objectives import quadratic_weighted_kappa
    >>> round(quadratic_weighted_kappa([0, 1, 2, 3], [0, 1, 1, 3]), 4)
    0.9
    >>> quadratic_weighted_kappa(["low", "high"], ["low", "high"], labels=["low", "mid", "high"])
    1.0
    """
    if labels is None:
        check_column("y_true", y_true)
        order = _checks.category_order("y_true", y_true, refuse=False)
    else:
        order = check_order(labels, refuse=False)
    columns = {"y_true": y_true, "y_pred": y_pred, "sample_weight": sample_weight}
    kappa = kappa_of_parts(vectors(lambda **given: moments(class_rows(order, **given)), columns))
    Stack.note(("quadratic_weighted_kappa", True, None), kappa)
    return kappa


def moments(rows: Rows, ends: tuple[int, int] | None = None) -> Array:
    """What kappa needs of classes y and p: an origin, n, their means above it, and the sums of
    squares and products of deviations. ``ends``: between which they are. The origin, the lowest
    class that counts, keeps sums small, and is exact for a single class."""
    y, p = rows.y, rows.f
    if not len(y):
        return np.zeros(7)
    if is_asked := ends is None:  # few classes, or some below 0, where the result is, too
        whole = rows.w is None and y.dtype.kind in "biu" and p.dtype.kind in "biu"
        ends = (0, int(np.bitwise_or.reduce(y)) | int(np.bitwise_or.reduce(p)) if whole else -1)
    low, high = ends
    if rows.w is None and high - low in range(len(POWERS)) and abs(low) < 2**53:
        return moments_of_counts(class_counts(rows, low, high - low + 1), low)
    lowest = y.min()
    origin = float(min(lowest, p.min()))
    if is_asked:
        _checks.warn_of_code("y_true", y, lowest, y.max())

    def of_stretch(part: Rows) -> tuple[float, ...]:
        n, u, v, w = part.count(part.w), part.y - origin, part.f - origin, part.w
        if n == 0:
            return (0.0,) * 7
        y, p = part.place.sum(u, w) / n, part.place.sum(v, w) / n
        u -= y
        v -= p
        wu, wv = (u, v) if w is None else (w * u, w * v)
        return origin, n, y, p, dot(wu, u), dot(wv, v), dot(wu, v)

    return merged(np.array([of_stretch(p) for p in rows.stretches(FLOAT64, EXPRESSION_BYTES)]))


def moments_of_counts(C: Array, low: int) -> Array:
    """The moments of :func:`class_counts`, exact but for the last division."""
    V = POWERS[: len(C)]
    (n, p, pp), (y, yp, _), (yy, _, _) = V.T.dot(C).dot(V).tolist()
    deviations = n * yy - y * y, n * pp - p * p, n * yp - y * p
    return np.array([low, n, y / n, p / n, *(d / n for d in deviations)])


def merged(parts: Array) -> Array:
    """The moments of all parts of the rows, (parts, 7), as one vector."""
    if len(parts) == 1:
        return np.asarray(parts[0])
    origin, n, y, p, yy, pp, yp = parts[parts[:, 1] > 0].T
    if not len(n):
        return np.zeros(7)
    u, v = (mean + (origin - origin[0]) - mean[0] for mean in (y, p))  # exactly 0 for a constant
    W = n.sum()
    y_off, p_off = n @ u / W, n @ v / W
    u, v = u - y_off, v - p_off
    squares = yy.sum() + n @ u**2, pp.sum() + n @ v**2, yp.sum() + n @ (u * v)
    return np.array([origin[0], W, y[0] + y_off, p[0] + p_off, *squares])


def kappa_of_parts(parts: Array) -> float:
    """1 - F/G = 2 C/G of the moments of parts, C the sum of products: exactly 0 for a constant."""
    _, n, y, p, yy, pp, yp = merged(parts).tolist()
    G = yy + pp + n * (y - p) ** 2
    if not G > 0:
        return warn_undefined("y_true and y_pred hold one and the same class only: kappa is 0/0")
    return float(2 * yp / G)


def warn_undefined(reason: str) -> float:
    """Return NaN with scikit-learn's warning."""
    from sklearn.exceptions import UndefinedMetricWarning

    warn(f"{reason}, returned as nan", UndefinedMetricWarning)
    return math.nan


@dataclass(frozen=True, kw_only=True)
class ExtendedQWKMetric(Metric):
    """QWK of continuous scores as they are; made by :func:`extended_qwk_metric`."""

    name: ClassVar[str] = "extended_qwk"
    greater_is_better: ClassVar[bool] = True
    link: ClassVar[Link | None] = IDENTITY
    mean: float | None = None
    variance: float | None = None
    label_range: tuple[float, float] | None = None
    __setstate__ = set_renamed

    def read(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        rows = super().read(y_true, y_pred, sample_weight)
        if len(rows):
            ends, mean = (rows.y.min(), rows.y.max()), rows.y.mean()
            _checks.warn_of_other_labels(*ends, mean, self.mean, self.variance, self.label_range)
        return rows

    def _refuse_unclear(self, y_true: ArrayLike, y_pred: ArrayLike, w: Any) -> None:
        _checks.warn_of_code("y_true", _checks.vector("y_true", y_true), weight=w)

    def sums(self, rows: Rows) -> tuple[float, float]:
        objective = qwk_objective(mean=self.mean, variance=self.variance, clip=False)
        return objective.equations.measured(replace(rows, f=None)).value(rows)

    def of_sums(self, sums: tuple[float, float]) -> float:
        total, n = sums
        return 1 - total / n


@public
def extended_qwk_metric(
    y_true: ArrayLike | None = None, *, target_prior: Mapping[float, float] | None = None,
    mean: float | None = None, variance: float | None = None,
) -> ExtendedQWKMetric:  # fmt: skip
    """QWK extended to continuous scores: smooth, and equal to QWK on classes.

    Use it to judge scores before they are rounded; :func:`qwk_metric` is for early stopping.

    ::

        kappa~ = 1 - sum w (p-y)^2 / sum w ((p-a)^2 + b)

    Parameters
    ----------
    y_true, target_prior, mean, variance
        As in :func:`qwk_objective`, with its errors: where the mean a and the variance b of the
        labels come from. All None: from the rows that are scored, Lin's concordance correlation.

    Returns
    -------
    Metric
        ``name`` "extended_qwk", greater is better, input space "margin" (label units).

    References
    ----------
    Nedel'ko (2018), "On the maximization of quadratic weighted kappa", Bulletin of Irkutsk State
    University, Series Mathematics 23, 36-45.

    Examples
    --------
    >>> from gbdt_objectives import extended_qwk_metric
    >>> round(extended_qwk_metric()([0, 1, 2, 3], [0.0, 1.0, 1.0, 3.0]), 4)
    0.9
    """
    measured = qwk_objective(y_true, target_prior=target_prior, mean=mean, variance=variance)
    known = {name: getattr(measured, name) for name in ("mean", "variance", "label_range")}
    return ExtendedQWKMetric(**known)
