"""Curves of a score: pools of neighbours, rising fits, natural splines in the normal scores."""

from __future__ import annotations

import numpy as np

from gbdt_objectives._checks import Array

POOLS = 2000  # pools that curves are fitted on: finer than any curve here can follow

KNOTS = ((0.1, 0.9), (0.1, 0.5, 0.9), (0.05, 0.275, 0.5, 0.725, 0.95))
"""Shares of rows below the knots of splines (Harrell 2015, table 2.3); two make a straight line."""


def number_pools(score: Array, w: Array) -> Array:
    """The pool of each row of rising scores: of about equal weight, one for all rows of a score."""
    own = np.cumsum(np.append(False, score[1:] != score[:-1]))
    W = np.bincount(own, w)
    pool = np.minimum((np.cumsum(W) - W / 2) * (POOLS / w.sum()), POOLS - 1).astype(np.intp)[own]
    return np.asarray(np.cumsum(np.append(False, pool[1:] != pool[:-1])))


def isotonic(values: Array, weight: Array) -> Array:
    """The rising fit of least squares."""
    from sklearn.isotonic import isotonic_regression

    return np.asarray(isotonic_regression(values, sample_weight=weight))


def mean_scores(score: Array, w: Array, pool: Array, W: Array) -> Array:
    """The mean score of each pool, whose weights are W."""
    unit = float(np.abs(score).max()) or 1.0  # whose products do not overflow
    return np.asarray(np.bincount(pool, w * (score / unit)) / W * unit)


def normal_scores(weight: Array) -> Array:
    """The normal quantiles of the mid-ranks of pools in ascending order."""
    from scipy.special import ndtri

    below = np.cumsum(weight)
    return np.asarray(ndtri((below - weight / 2) / below[-1]))


def bases(q: Array, weight: Array) -> list[Array]:
    """The bases of all numbers of knots for which there are pools enough, (P, k) each."""
    below = np.cumsum(weight)
    found = []
    for shares in KNOTS:
        knots = np.unique(q[np.searchsorted(below, below[-1] * np.array(shares))])
        if len(knots) == len(shares):
            found.append(natural_spline(q, knots))
    return found


def natural_spline(q: Array, knots: Array) -> Array:
    """The basis 1, q, ... of cubic splines that are straight beyond the outer knots, (P, k)."""

    def cube(knot: float) -> Array:
        return np.asarray(np.maximum((q - knot) / (knots[-1] - knots[0]), 0) ** 3)

    basis = [np.ones(len(q)), q]
    for knot in knots[:-2]:
        last = (knots[-1] - knot) / (knots[-1] - knots[-2])
        basis.append(cube(knot) - last * cube(knots[-2]) + (last - 1) * cube(knots[-1]))
    return np.column_stack(basis)
