"""From counts to probabilities: relative frequencies, Laplace's correction, m-estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array


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
