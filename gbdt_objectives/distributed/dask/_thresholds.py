"""Thresholds from Dask collections."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks, thresholds as thresholds_module
from gbdt_objectives._checks import Array
from gbdt_objectives.distributed.dask._old_partitions import (
    check_collection,
    map_rows,
    sum_over_partitions,
)
from gbdt_objectives.metrics import ClassMetric
from gbdt_objectives.thresholds import Thresholds, ThresholdStatistics
from gbdt_objectives.thresholds.methods import (
    MetricArgument,
    resolve_labels,
    resolve_method,
    resolve_metric,
)
from gbdt_objectives.thresholds.rows import check_enough_rows, labels_between

MAX_BINS = 131_072


def optimize_thresholds(
    y_true: Any,
    score: Any,
    *,
    method: Literal["exact", "plugin"] | None = None,
    labels: ArrayLike | None = None,
    sample_weight: Any = None,
    target_prior: Mapping[Any, float] | None = None,
    metric: MetricArgument = "qwk",
    max_bins: int = MAX_BINS,
) -> Thresholds:
    """Thresholds that turn a score into ordered classes, for the best value of a metric.

    As :func:`gbdt_objectives.optimize_thresholds`: exactly where there are at most ``max_bins``
    distinct scores; with more, from bins, at a cost in QWK that ``qwk_loss_bound()`` of
    :func:`threshold_statistics` bounds.

    Parameters
    ----------
    y_true, score, sample_weight : Dask Series or Array (n,)
        As on one machine. A categorical series needs known categories.
    method : {"exact", "plugin"}, optional
        As on one machine; the others need the rows.
    labels : array-like of shape (K,), optional
        As on one machine. None reads ``y_true`` once more, for its lowest and highest.
    target_prior, metric
        As on one machine, but no functions.
    max_bins : int >= 2
        How many distinct scores are kept apart.

    Returns
    -------
    Thresholds, an ndarray of shape (K-1,)
        For :func:`apply_thresholds`, here or on one machine.

    Raises
    ------
    ValueError, TypeError
        As on one machine; partitions that do not match.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import optimize_thresholds
    >>> y = da.from_array([0, 0, 1, 1, 2, 2], chunks=4)
    >>> score = da.from_array([0.1, 0.4, 0.3, 0.6, 0.7, 0.9], chunks=4)
    >>> optimize_thresholds(y, score, method="exact").round(3)
    array([0.5 , 0.65])
    """
    target = resolve_metric(metric)
    if not isinstance(target, ClassMetric):
        raise ValueError(
            "metric is a function, which needs the rows of all partitions at once: pass a metric "
            "of gbdt_objectives.metrics, such as 'accuracy' or cost_metric(matrix)"
        )
    chosen = resolve_method(method, target)
    if chosen not in ("exact", "plugin"):
        raise ValueError(
            f"method={chosen!r} needs the rows of all partitions at once: pass 'plugin' or 'exact'"
        )
    statistics = threshold_statistics(
        y_true,
        score,
        labels=resolve_labels(labels, target),
        sample_weight=sample_weight,
        max_bins=max_bins,
    )
    return statistics.thresholds(method=chosen, metric=target, target_prior=target_prior)  # type: ignore[arg-type]


def apply_thresholds(score: Any, thresholds: ArrayLike, labels: ArrayLike | None = None) -> Any:
    """Ordered classes of scores.

    As :func:`gbdt_objectives.apply_thresholds`, lazily.

    Parameters
    ----------
    score : Dask Series or Array (n,)
        As on one machine.
    thresholds, labels
        As on one machine.

    Returns
    -------
    Dask Series or Array (n,)
        Like ``score``; labels.

    Raises
    ------
    ValueError
        As on one machine; for scores that are NaN, when the classes are computed.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import apply_thresholds
    >>> score = da.from_array([0.2, 0.5, 2.0], chunks=2)
    >>> apply_thresholds(score, [0.5, 1.5], labels=[1, 2, 3]).compute()
    array([1, 2, 3])
    """
    one = thresholds_module.apply_thresholds(np.zeros(1), thresholds, labels)
    return map_rows(partial(classes_of_rows, thresholds, labels), {"score": score}, one.dtype)


def classes_of_rows(thresholds: ArrayLike, labels: ArrayLike | None, score: Any) -> Array:
    return thresholds_module.apply_thresholds(score, thresholds, labels)


def threshold_statistics(
    y_true: Any,
    score: Any,
    *,
    labels: ArrayLike | None = None,
    sample_weight: Any = None,
    max_bins: int = MAX_BINS,
) -> ThresholdStatistics:
    """All that thresholds need of the rows: thresholds for several metrics and priors in one pass.

    Parameters
    ----------
    y_true, score, labels, sample_weight, max_bins
        As in :func:`optimize_thresholds`.

    Returns
    -------
    ThresholdStatistics
        ``thresholds(method=..., metric=..., target_prior=...)``, ``qwk_loss_bound()``; those of
        other collections of the same labels can be added.

    Raises
    ------
    ValueError, TypeError
        As :func:`optimize_thresholds`.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import threshold_statistics
    >>> y = da.from_array([0, 0, 1, 1, 2, 2], chunks=4)
    >>> score = da.from_array([0.1, 0.4, 0.3, 0.6, 0.7, 0.9], chunks=4)
    >>> statistics = threshold_statistics(y, score)
    >>> statistics.thresholds(metric="accuracy").round(2), statistics.qwk_loss_bound()
    (array([0.2 , 0.65]), 0.0)
    """
    order = collection_labels(y_true) if labels is None else _checks.check_order(labels)
    empty = ThresholdStatistics.empty(order, max_bins=max_bins)
    columns = {"y_true": y_true, "score": score, "sample_weight": sample_weight}
    statistics, rows = sum_over_partitions(partial(statistics_of_rows, empty), columns)
    check_enough_rows(rows, len(order))
    return statistics


def statistics_of_rows(
    empty: ThresholdStatistics, y_true: Any, score: Any, sample_weight: Array | None
) -> ThresholdStatistics:
    return empty.add(y_true, score, sample_weight)


def collection_labels(y_true: Any) -> Array:
    """Those of its order, or all whole numbers from the lowest to the highest."""
    check_collection("y_true", y_true)
    order = _checks.category_order("y_true", y_true)
    if order is not None:
        return _checks.check_order(order)
    (low, high), rows = sum_over_partitions(whole_range, {"y_true": y_true}, widest)
    return labels_between(low, high, rows)


def whole_range(y_true: Any) -> tuple[int, int]:
    y = _checks.whole_numbers("y_true", y_true)
    return int(y.min()), int(y.max())


def widest(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return min(a[0], b[0]), max(a[1], b[1])
