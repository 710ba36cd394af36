"""Rates, weights and samples by label, of Dask collections."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives.distributed.dask._labels import add_weights
from gbdt_objectives.distributed.dask._old_partitions import map_rows, sum_over_partitions
from gbdt_objectives.priors.sampling import (
    check_labels,
    count_labels,
    kept_by_key,
    rates_of_counts,
)
from gbdt_objectives.priors.weights import label_weights


def measured_keep_rates(y_full: Any, y_sampled: Any) -> dict[Any, float]:
    """The fraction of each label's rows that is in a sample.

    As :func:`gbdt_objectives.measured_keep_rates`.

    Parameters
    ----------
    y_full, y_sampled : Dask Series or Array (n,) and (m,)
        As on one machine; their partitions need not match.

    Returns
    -------
    dict
        Label to rate, in ascending order of labels.

    Raises
    ------
    ValueError, TypeError
        As on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import measured_keep_rates
    >>> y = da.from_array([0, 0, 0, 0, 1], chunks=2)
    >>> measured_keep_rates(y, y[3:])
    {0: 0.25, 1: 1.0}
    """
    return rates_of_counts(counts_of("y_full", y_full), counts_of("y_sampled", y_sampled))


def prior_weights(
    y: Any,
    target_prior: float | Mapping[Any, float],
    *,
    normalize: Literal["mean", "positive"] = "mean",
) -> Any:
    """Row weights that make the labels as frequent as where the model will be used.

    As :func:`gbdt_objectives.prior_weights`. Counts the labels now, and weighs rows lazily.

    Parameters
    ----------
    y : Dask Series or Array (n,)
        As on one machine.
    target_prior, normalize
        As on one machine.

    Returns
    -------
    Dask Series or Array (n,)
        Like ``y``; float64.

    Raises
    ------
    ValueError, TypeError
        As on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import prior_weights
    >>> prior_weights(da.from_array([0, 0, 1, 1], chunks=2), 0.1).compute()
    array([1.8, 1.8, 0.2, 0.2])
    """
    _checks.choice("normalize", normalize, ("mean", "positive"))
    counts = counts_of("y", y)
    weight = label_weights(list(counts), np.array([*counts.values()]), target_prior, normalize)
    of_label = dict(zip(counts, weight.tolist(), strict=True))
    return map_rows(partial(weights_of_rows, of_label), {"y": y}, np.float64)


def weights_of_rows(of_label: dict[Any, float], y: Any) -> Array:
    found, position = np.unique(np.asarray(y), return_inverse=True)
    weights: Array = np.array([of_label[label] for label in found.tolist()], float)[position]
    return weights


def negative_downsample_by_key(y: Any, key: Any, negative_keep_rate: Any, *, seed: int = 0) -> Any:
    """Which rows are in a sample of every positive and the negatives whose key's hash is low.

    As :func:`gbdt_objectives.negative_downsample_by_key`, lazily: the same rows, whatever the
    partitions.

    Parameters
    ----------
    y, key : Dask Series or Array (n,)
        As on one machine. Partitions may be without one of the labels; whether the rows together
        are is seen by :func:`measured_keep_rates` of ``y`` and ``y[mask]``.
    negative_keep_rate : float, or Dask Series or Array (n,)
        As on one machine.
    seed : int >= 0
        As on one machine.

    Returns
    -------
    Dask Series or Array (n,)
        Like ``y``; bool, for ``frame[mask]``.

    Raises
    ------
    ValueError, TypeError
        As on one machine, when the mask is computed; partitions that do not match.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import negative_downsample_by_key
    >>> user = da.arange(100_000, chunks=30_000)
    >>> y = (user % 1000 == 0).astype(int)
    >>> mask = negative_downsample_by_key(y, user, 0.02)
    >>> int(y[mask].sum()), int(mask.sum())
    (100, 2124)
    """
    columns = {"y": y, "key": key}
    seed = _checks.whole_number("seed", seed, 0)
    if np.ndim(negative_keep_rate) == 0:
        rate = _checks.keep_rate("negative_keep_rate", negative_keep_rate)
        return map_rows(partial(kept_by_key, negative_keep_rate=rate, seed=seed), columns, bool)
    columns["negative_keep_rate"] = negative_keep_rate
    return map_rows(partial(kept_by_key, seed=seed), columns, bool)


def counts_of(name: str, values: Any) -> dict[Any, int]:
    """Rows of each label, sorted by label."""
    counts, _ = sum_over_partitions(partial(counts_of_rows, name), {name: values}, add_weights)
    kinds = {type(label) for label in counts}
    if kinds & {str, bytes} and len(kinds) > 1:
        check_labels(name, np.array([*counts], object))  # which says that types are mixed
    return {label: counts[label] for label in sorted(counts)}


def counts_of_rows(name: str, **column: Any) -> dict[Any, int]:
    return count_labels(name, column[name])
