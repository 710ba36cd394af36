"""Newton's method for a convex loss of a few parameters, some of which are bounded below."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gbdt_objectives._blocks import blocks
from gbdt_objectives._checks import Array

Loss = Callable[[Array], tuple[float, Array, Array]]
"""Parameters to a weighted mean of losses, its gradient and its hessian."""

STEPS = 200
REACHED = 1e-9
"""Largest gradient of a minimum, for features of spread 1: half the digits of float64."""


def minimize_convex(loss: Loss, starts: list[Array], lowest: Array) -> Array:
    """The parameters >= ``lowest`` of least loss, from the best of the ``starts``.

    Each step minimises the quadratic model under the bounds, and is halved until the loss
    falls; where rounding would hide that, one last step is taken.
    """
    found = [(*loss(theta), theta) for theta in starts]
    value, gradient, hessian, theta = min(found, key=lambda one: one[0])
    for _ in range(STEPS):
        step = quadratic_minimum(gradient, hessian, lowest - theta)
        last = -(gradient @ step) <= 1e-13 * abs(value)
        new = loss(theta + step)
        while new[0] > value and not last and np.abs(step).max() > 0:
            step = step / 2
            new = loss(theta + step)
        theta, (value, gradient, hessian) = theta + step, new
        if last:
            break
    bound = (theta <= lowest) & (gradient > 0)
    reached = float(np.abs(np.where(bound, 0, gradient)).max())
    if not reached < REACHED:
        raise ValueError(
            f"the likelihood has no maximum that could be found (gradient {reached:.2g}): some "
            "scores or weights are far larger than the rest"
        )
    return theta


def quadratic_minimum(gradient: Array, hessian: Array, lowest: Array) -> Array:
    """argmin of g x + x H x / 2 over x >= ``lowest``; H may be singular by rounding."""
    from scipy.optimize import lsq_linear

    ridge = 1e-14 * np.trace(hessian) + 1e-300
    L = np.linalg.cholesky(hessian + ridge * np.eye(len(gradient)))
    x: Array = -np.linalg.solve(L.T, np.linalg.solve(L, gradient))
    if (x < lowest).any():
        x = lsq_linear(L.T, L.T @ x, bounds=(lowest, np.inf), method="bvls").x
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
            p = np.where(m > 0, 1, e) / (1 + e)
            gradient += x @ (share * (p - t))
            hessian += (x * (share * e / (1 + e) ** 2)) @ x.T
        return value, gradient, hessian

    return loss
