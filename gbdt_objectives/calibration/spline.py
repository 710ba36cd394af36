"""A rising cubic spline in log-odds, as smooth as the rows say.

Symbols: z are log-odds, k knots, and m(z) is the spline. Its slopes s_0 ... s_k >= 0 are the
differences of its B-spline coefficients over those of their Greville abscissae g. Equal slopes
make a straight line. Beyond the outer knots m goes on straight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbdt_objectives._blocks import from_zero
from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.likelihood import Loss, logistic_loss, minimize_convex

KNOTS = 12
"""The number of knots, the outer two included."""

CLOSEST = 1e-4
"""The least distance of knots, in standard deviations."""

ROUGHEST, SMOOTHEST = 1e-3, 1e4
"""The least penalty, for all rows together, and the greatest, for each row: a straight line."""


@dataclass(frozen=True, eq=False)
class RisingSpline:
    """``knots`` (k,), rising; ``slopes`` (k+1,); ``start`` = m(first knot)."""

    knots: Array
    slopes: Array
    start: float

    def __call__(self, z: Array) -> Array:
        m: Array = self.start + self.slopes @ slope_features(self.knots, z)
        return m


def greville(knots: Array) -> Array:
    """Where B-splines of degree 3 are centred, (k+2,)."""
    t = full_knots(knots)
    g: Array = (t[1:-3] + t[2:-2] + t[3:-1]) / 3
    return g


def full_knots(knots: Array) -> Array:
    return np.concatenate([[knots[0]] * 3, knots, [knots[-1]] * 3])


def slope_features(knots: Array, z: Array) -> Array:
    """What each slope adds to m(z), (k+1, n)."""
    from scipy.interpolate import BSpline

    if not len(z):
        return np.empty((len(knots) + 1, 0))
    inside = np.clip(z, knots[0], knots[-1])
    B = BSpline.design_matrix(inside, full_knots(knots), 3).toarray().T
    H: Array = np.cumsum(B[:0:-1], axis=0)[::-1] * np.diff(greville(knots))[:, None]
    H[0] += np.minimum(z - knots[0], 0)
    H[-1] += np.maximum(z - knots[-1], 0)
    return H


def place_knots(z: Array, w: Array, least: float) -> Array:
    """Knots at equal weights of rows, fewer where they would be closer than ``least``."""
    order = np.argsort(z)
    below = from_zero(w[order])[1:]
    at = np.searchsorted(below, below[-1] * np.linspace(0, 1, KNOTS))
    wanted = z[order][np.minimum(at, len(z) - 1)]
    knots = wanted[:1]
    for knot in wanted[1:]:
        if knot - knots[-1] > least:
            knots = np.append(knots, knot)
    return np.append(knots[:-1], wanted[-1]) if len(knots) > 1 else wanted[[0, -1]]


def fit_rising_spline(z: Array, target: Array, w: Array) -> RisingSpline:
    """The spline of greatest penalised likelihood, and the penalty of greatest marginal likelihood.

    It minimises ``sum w log loss + lambda sum (s_{j+1} - s_j)^2 / (distance of their places)``; the
    marginal likelihood over the slopes is Laplace's (Wood 2011).
    """
    from scipy.optimize import minimize_scalar

    unit = float(np.abs(z).max())
    z = z / unit  # whose squares neither overflow nor vanish
    W = w.sum()
    share = w / W
    mean = float(share @ target)
    spread = float(np.sqrt(share @ (z - share @ z) ** 2))
    knots = place_knots(z, w, CLOSEST * spread)
    X = np.append(slope_features(knots, z) / spread, np.ones((1, len(z))), axis=0)
    centers = X[:-1] @ share
    X[:-1] -= centers[:, None]
    K = len(X)
    places = (greville(knots)[1:] + greville(knots)[:-1]) / 2 / spread
    D = np.diff(np.eye(K - 1, K), axis=0) / np.sqrt(np.diff(places))[:, None]
    loss = logistic_loss(X, target, share)
    lowest = np.append(np.zeros(K - 1), -np.inf)
    best = np.append(np.zeros(K - 1), np.log(mean / (1 - mean)))

    def score(log_penalty: float) -> float:
        """Minus twice the log marginal likelihood, for a penalty a row."""
        nonlocal best
        total = penalized(loss, D * np.exp(log_penalty / 2))
        best = minimize_convex(total, [best], lowest)
        value, _, hessian = total(best)
        _, log_determinant = np.linalg.slogdet(hessian)
        return float(2 * W * value + log_determinant - len(D) * log_penalty)

    bounds = np.log(ROUGHEST / W), np.log(SMOOTHEST)
    found = minimize_scalar(score, bounds=bounds, method="bounded", options={"xatol": 0.1})
    score(found.x)
    start = best[-1] - best[:-1] @ centers
    return RisingSpline(knots * unit, best[:-1] / spread / unit, float(start))


def penalized(loss: Loss, D: Array) -> Loss:
    """Add |D theta|^2 / 2 to the loss."""
    P = D.T @ D

    def total(theta: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = loss(theta)
        rough = D @ theta
        return value + float(rough @ rough) / 2, gradient + rough @ D, hessian + P

    return total
