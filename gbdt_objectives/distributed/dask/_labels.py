"""What only the labels of Dask collections decide: kappa, and objectives and metrics for it.

Labels are counted, or summed, in each partition; the functions of one machine do the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks, metrics, objectives
from gbdt_objectives._blocks import dot
from gbdt_objectives._checks import Array
from gbdt_objectives.distributed.dask._old_partitions import check_collection, sum_over_partitions
from gbdt_objectives.metrics.kappa import ExtendedQWKMetric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.coupled import check_prior_covers

MOST_DIFFERENT = 1_000
"""Labels that ``kappa_objective`` takes; one more is kept, for it to refuse."""


def quadratic_weighted_kappa(
    y_true: Any, y_pred: Any, *, labels: ArrayLike | None = None, sample_weight: Any = None
) -> float:
    """Agreement of two sets of ordered classes, corrected for chance, errors squared.

    As :func:`gbdt_objectives.quadratic_weighted_kappa`, from the weights of the pairs of classes.

    Parameters
    ----------
    y_true, y_pred, sample_weight : Dask Series or Array (n,)
        As on one machine.
    labels : array-like of shape (K,), optional
        As on one machine.

    Returns
    -------
    float
        As on one machine, but for rounding.

    Raises
    ------
    ValueError, TypeError
        As on one machine; partitions that do not match.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import quadratic_weighted_kappa
    >>> y, p = da.from_array([0, 1, 2, 3], chunks=2), da.from_array([0, 1, 1, 3], chunks=2)
    >>> round(quadratic_weighted_kappa(y, p), 4)
    0.9
    """
    if labels is None:
        check_collection("y_true", y_true)
        order = _checks.category_order("y_true", y_true)
    else:
        order = _checks.check_order(labels)
    columns = {"y_true": y_true, "y_pred": y_pred, "sample_weight": sample_weight}
    weight, _ = sum_over_partitions(partial(weight_of_pairs, order), columns, add_weights)
    pairs = np.array(list(weight))
    return metrics.quadratic_weighted_kappa(
        pairs[:, 0], pairs[:, 1], sample_weight=np.array(list(weight.values()))
    )


def weight_of_pairs(
    order: Array | None, y_true: Any, y_pred: Any, sample_weight: Array | None
) -> dict[tuple[float, float], float]:
    """Of classes that are whole numbers, or their positions in the order."""
    if order is None:
        y = _checks.whole_numbers("y_true", y_true)
        p = _checks.whole_numbers("y_pred", y_pred)
    else:
        y = _checks.positions("y_true", y_true, order)
        p = _checks.positions("y_pred", y_pred, order)
    _checks.same_length("y_pred", p, "the labels", len(y))
    (of_y, i), (of_p, j) = (np.unique(c.astype(float), return_inverse=True) for c in (y, p))
    pair, k = np.unique(i * len(of_p) + j, return_inverse=True)
    keys = zip(of_y[pair // len(of_p)].tolist(), of_p[pair % len(of_p)].tolist(), strict=True)
    return dict(zip(keys, np.bincount(k, sample_weight).astype(float).tolist(), strict=True))


def add_weights(a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
    """Of all the keys of both."""
    return {**a, **{key: a.get(key, 0) + weight for key, weight in b.items()}}


def qwk_objective(
    y_true: Any,
    *,
    sample_weight: Any = None,
    target_prior: Mapping[float, float] | None = None,
    center: float | None = None,
    spread: float | None = None,
    label_range: tuple[float, float] | None = None,
    scale: Literal["residual", "kappa"] = "residual",
    clip: bool = True,
) -> Objective:
    """Train on quadratic weighted kappa, with centre, spread and range of all the labels.

    As :func:`gbdt_objectives.qwk_objective`; made here once, it is right on every worker.

    Parameters
    ----------
    y_true, sample_weight : Dask Series or Array (n,)
        All training labels and their weights.
    target_prior, center, spread, label_range, scale, clip
        As on one machine.

    Returns
    -------
    Objective
        The same as on one machine: for integer labels and weights exactly, otherwise but for
        rounding.

    Raises
    ------
    ValueError, TypeError
        As on one machine; partitions that do not match.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import qwk_objective
    >>> obj = qwk_objective(da.from_array([0, 1, 2, 3, 3], chunks=2))
    >>> obj.intercept, obj.label_range
    (1.8, (0.0, 3.0))
    """
    given = None if label_range is None else _checks.label_range("label_range", label_range)
    prior = None if target_prior is None else _checks.prior("target_prior", target_prior)[0]
    measure = partial(label_sums, given, prior)
    sums, _ = sum_over_partitions(measure, {"y_true": y_true, "sample_weight": sample_weight})
    if given is None and sums.low == sums.high:
        objectives.qwk_objective([sums.low])  # which says that labels are constant
    if target_prior is None and (center is None or spread is None):
        a, b = sums.moments()
        center, spread = a if center is None else center, b if spread is None else spread
    return objectives.qwk_objective(
        target_prior=target_prior,
        center=center,
        spread=spread,
        label_range=given or (sums.low, sums.high),
        scale=scale,
        clip=clip,
    )


@dataclass(frozen=True)
class LabelSums:
    """n, s1 and s2: sums of w, w d and w d^2, d = label - low; low and high of all labels."""

    low: float
    high: float
    n: float
    s1: float
    s2: float

    def __add__(self, other: LabelSums) -> LabelSums:
        low = min(self.low, other.low)
        n, s1, s2 = np.add(self._from(low), other._from(low)).tolist()
        return LabelSums(low, max(self.high, other.high), n, s1, s2)

    def _from(self, low: float) -> tuple[float, float, float]:
        """The sums with another, lower origin."""
        h = self.low - low
        return self.n, self.s1 + h * self.n, self.s2 + 2 * h * self.s1 + h * h * self.n

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        mean, variance = self.low + self.s1 / self.n, self.s2 / self.n - (self.s1 / self.n) ** 2
        if not variance > 1e-12 * self.s2 / self.n:  # only rounding: say that they are constant
            objectives.qwk_objective([self.low, self.high, mean], sample_weight=[0, 0, 1])
        return mean, variance


def label_sums(
    label_range: tuple[float, float] | None,
    prior_labels: Array | None,
    y_true: Any,
    sample_weight: Array | None,
) -> LabelSums:
    y = _checks.vector("y_true", y_true).astype(np.float64)
    if sample_weight is not None and sample_weight.any():  # rows of weight 0 do not count
        y, sample_weight = y[sample_weight > 0], sample_weight[sample_weight > 0]
    if label_range is not None:
        _checks.in_label_range("y_true", y, label_range)
    if prior_labels is not None:
        check_prior_covers(y, prior_labels)
    low, high = float(y.min()), float(y.max())
    d = y - low
    w = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
    return LabelSums(low, high, float(w.sum()), dot(w, d), dot(w, d * d))


def extended_qwk_metric(
    y_true: Any,
    *,
    target_prior: Mapping[float, float] | None = None,
    center: float | None = None,
    spread: float | None = None,
) -> ExtendedQWKMetric:
    """QWK extended to continuous scores, with centre and spread of all the labels.

    As :func:`gbdt_objectives.extended_qwk_metric`.

    Parameters
    ----------
    y_true, target_prior, center, spread
        As in :func:`qwk_objective`.

    Returns
    -------
    Metric
        The same as on one machine, but for rounding.

    Raises
    ------
    ValueError, TypeError
        As :func:`qwk_objective`.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import extended_qwk_metric
    >>> metric = extended_qwk_metric(da.from_array([0, 1, 2, 3], chunks=2))
    >>> round(metric([0, 1, 2, 3], [0.0, 1.0, 1.0, 3.0]), 4)
    0.9
    """
    measured = qwk_objective(y_true, target_prior=target_prior, center=center, spread=spread)
    return metrics.extended_qwk_metric(center=measured.center, spread=measured.spread)


def kappa_objective(
    cost: Any,
    y_true: Any,
    *,
    sample_weight: Any = None,
    target_prior: Mapping[float, float] | None = None,
    label_range: tuple[float, float] | None = None,
    scale: Literal["residual", "kappa"] = "residual",
    clip: bool = True,
) -> Objective:
    """Train on weighted kappa with any cost of disagreement, with all the labels' distribution.

    As :func:`gbdt_objectives.kappa_objective`; made here once, it is right on every worker.

    Parameters
    ----------
    y_true, sample_weight : Dask Series or Array (n,)
        All training labels and their weights.
    cost, target_prior, label_range, scale, clip
        As on one machine.

    Returns
    -------
    Objective
        The same as on one machine.

    Raises
    ------
    ValueError, TypeError
        As on one machine; partitions that do not match.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import kappa_objective
    >>> kappa_objective("absolute", da.from_array([0, 1, 2, 3, 3], chunks=2)).intercept
    2.0
    """
    columns = {"y_true": y_true, "sample_weight": sample_weight}
    weight, _ = sum_over_partitions(weight_of_labels, columns, add_few_weights)
    order = sorted(weight)
    return objectives.kappa_objective(
        cost,
        order,
        sample_weight=[weight[label] for label in order],
        target_prior=target_prior,
        label_range=label_range,
        scale=scale,
        clip=clip,
    )


def weight_of_labels(y_true: Any, sample_weight: Array | None) -> dict[float, float]:
    y, k = np.unique(_checks.vector("y_true", y_true), return_inverse=True)
    weight = np.bincount(k, sample_weight).astype(float)
    return few(dict(zip(y.tolist(), weight.tolist(), strict=True)))


def add_few_weights(a: dict[float, float], b: dict[float, float]) -> dict[float, float]:
    return few(add_weights(a, b))


def few(weight: dict[float, float]) -> dict[float, float]:
    """Not more labels than are needed to see that they are too many."""
    return dict(list(weight.items())[: MOST_DIFFERENT + 1])
