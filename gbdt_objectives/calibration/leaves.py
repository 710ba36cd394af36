"""Class weights in the leaves of trees, and the prior they are smoothed with."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.smoothing import empirical_probability


def resolve_prior(prior: ArrayLike | str | None, class_weight: Array) -> Array:
    """The prior pi, (K,): as given, uniform if None, or the shares of the weight of each class."""
    K = len(class_weight)
    if isinstance(prior, str):
        _checks.choice("prior", prior, ("base_rate",))
        share: Array = class_weight / class_weight.sum()
        return share
    return np.full(K, 1 / K) if prior is None else _checks.distribution("prior", prior, K)


def smooth_leaves(
    leaf: Array, position: Array, w: Array | None, m: float, pi: Array
) -> tuple[Array, ...]:
    """For each tree (L+1, K): p in leaves 0 to L-1, and pi for any leaf without rows.

    ``leaf`` (n, T), ``position`` of each row's class (n,), ``pi`` (K,).
    """
    K = len(pi)
    probability = []
    for column in leaf.T:
        L = int(column.max()) + 1
        counts = np.bincount(column * K + position, w, minlength=(L + 1) * K)
        counts = counts.reshape(L + 1, K).astype(np.float64)
        counts[~counts.any(axis=1)] = pi  # its m-estimate is pi for any m
        probability.append(empirical_probability(counts, m=m, prior=pi))
    return tuple(probability)
