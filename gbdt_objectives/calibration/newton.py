"""Newton's method for a convex loss of a few parameters, some of which are bounded below."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gbdt_objectives._blocks import blocks
from gbdt_objectives._checks import Array

Loss = Callable[[Array], tuple[float, Array, Array]]
"""Parameters to a weighted mean of losses, its gradient and its hessian."""

STEPS = 200
SMALL = 1e-11
"""Relative fall of the loss that rounding may hide."""
FLAT = 1e-12
"""A gradient at which no more digits are to be gained, for features of spread 1."""


def minimize_convex(loss: Loss, starts: list[Array], lowest: Array) -> Array:
    """The parameters >= ``lowest`` of least loss, from the best of the ``starts``.

    Each step minimises the quadratic model under the bounds, and is halved until the loss
    falls; where rounding may hide that, steps go on as long as the gradient falls.
    """
    found = [(*loss(theta), theta) for theta in starts]
    value, gradient, hessian, theta = min(found, key=lambda one: one[0])
    slope = free_gradient(gradient, theta, lowest)
    for _ in range(STEPS):
        step = quadratic_minimum(gradient, hessian, lowest - theta)
        last_digits = -(gradient @ step) <= SMALL * abs(value)
        new = loss(theta + step)
        while new[0] > value and not last_digits and step.any():
            step = step / 2
            new = loss(theta + step)
        new_slope = free_gradient(new[1], theta + step, lowest)
        if last_digits and new_slope >= slope:
            return theta
        theta, slope, (value, gradient, hessian) = theta + step, new_slope, new
        if last_digits and slope < FLAT:
            return theta
    raise ValueError(
        f"the likelihood has no maximum that could be found (gradient {slope:.2g}): some scores or "
        "weights are far larger than the rest"
    )


def free_gradient(gradient: Array, theta: Array, lowest: Array) -> float:
    """The largest element of the gradient that is not up against a bound."""
    bound = (theta <= lowest) & (gradient > 0)
    return float(np.abs(np.where(bound, 0, gradient)).max())


def quadratic_minimum(gradient: Array, hessian: Array, lowest: Array) -> Array:
    """The minimum x >= ``lowest`` of g x + x H x / 2; H may be singular by rounding."""
    from scipy.optimize import lsq_linear

    ridge = 1e-14 * np.trace(hessian) + 1e-300
    L = np.linalg.cholesky(hessian + ridge * np.eye(len(gradient)))
    x: Array = -np.linalg.solve(L.T, np.linalg.solve(L, gradient))
    if (x < lowest).any():
        x = lsq_linear(L.T, L.T @ x, bounds=(lowest, np.inf), method="bvls", tol=1e-15).x
        x = np.where(x < lowest, lowest, x)
    return x


def logistic_loss(X: Array, target: Array, w: Array) -> Loss:
    """Mean log loss of sigmoid(theta X), X (features, n); targets in [0, 1], weights of sum 1."""

    def loss(theta: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = 0.0, np.zeros(len(X)), np.zeros((len(X), len(X)))
        for rows in blocks(target):
            x, t, share = X[:, rows], target[rows], w[rows]
            m = theta @ x
            e = np.exp(-np.abs(m))
            value += float(share @ (np.maximum(m, 0) - t * m + np.log1p(e)))
            r = 1 / (1 + e)
            p = np.where(m > 0, r, e * r)
            gradient += x @ (share * (p - t))
            hessian += (x * (share * e * r * r)) @ x.T
        return value, gradient, hessian

    return loss
