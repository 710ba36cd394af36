"""Maps of greatest likelihood: a shift of log-odds, a logistic regression of few features.

Newton's method finds them: for a convex loss of a few parameters, some of which are bounded below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives._rows.places import BLOCK_BYTES, blocks, dot

Loss = Callable[[Array], tuple[float, Array, Array]]
"""Parameters to a weighted mean of losses, its gradient and its hessian."""

STEPS = 200
SMALL = 1e-11  # relative fall of the loss that rounding may hide
NEARLY_FLAT = 1e-6  # a gradient that is enough where single rows are too far off or too light
FLAT = 1e-12  # a gradient at which no more digits are to be gained, for features of spread 1
COARSE = 16  # among many rows, the start is fitted to one in so many
SANE = 30.0  # larger parameters, for spread 1, come from rows that the start nearly separates
LARGEST = 1e15  # log-odds beyond it have hardly a fraction left that a shift could change


def minimize_convex(loss: Loss, starts: list[Array], lowest: Array) -> Array:
    """The parameters >= ``lowest`` of least loss, from the best of the ``starts``. Steps minimise
    the quadratic model, halved until the loss falls, or as rounding hides that the gradient."""
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
    if slope < NEARLY_FLAT:
        return theta
    raise ValueError(
        f"the likelihood has no maximum that could be found (gradient {slope:.2g}): some scores or "
        "weights are far larger than the rest"
    )


def free_gradient(gradient: Array, theta: Array, lowest: Array) -> float:
    """The largest element of the gradient that is not up against a bound."""
    return float(np.abs(np.where((theta <= lowest) & (gradient > 0), 0, gradient)).max())


def quadratic_minimum(gradient: Array, hessian: Array, lowest: Array) -> Array:
    """The minimum x >= ``lowest`` of g x + x H x / 2; H may be singular by rounding."""
    from scipy.optimize import lsq_linear

    L = np.linalg.cholesky(hessian + (1e-14 * np.trace(hessian) + 1e-300) * np.eye(len(gradient)))
    x: Array = -np.linalg.solve(L.T, np.linalg.solve(L, gradient))
    if (x < lowest).any():
        x = lsq_linear(L.T, L.T @ x, bounds=(lowest, np.inf), method="bvls", tol=1e-15).x
        x = np.where(x < lowest, lowest, x)
    return x


def logistic_loss(X: Array, target: Array, w: Array, offset: float | Array = 0.0) -> Loss:
    """Mean log loss of sigmoid(theta X + offset), X (d, n); targets in [0, 1], weights of sum 1."""
    o = np.broadcast_to(offset, target.shape) if np.any(offset) else None

    def loss(theta: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = 0.0, np.zeros(len(X)), np.zeros((len(X), len(X)))
        for rows in blocks(target, BLOCK_BYTES // len(X)):
            x, t, share = X[:, rows], target[rows], w[rows]
            m = theta @ x
            if o is not None:
                m += o[rows]
            e = np.exp(-np.abs(m))
            value += float(share @ (np.maximum(m, 0) - t * m + np.log1p(e)))
            r = 1 / (1 + e)
            gradient += x @ (share * (np.where(m > 0, r, e * r) - t))
            hessian += (x * (share * e * r * r)) @ x.T
        return value, gradient, hessian

    return loss


def penalized(loss: Loss, D: Array, t: float | Array = 0.0) -> Loss:
    """Add |D theta - t|^2 / 2 to the loss."""
    P = D.T @ D

    def total(theta: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = loss(theta)
        rough = D @ theta - t
        return value + float(rough @ rough) / 2, gradient + rough @ D, hessian + P

    return total


def fit_logistic(
    features: Sequence[Array], target: Array, w: Array, *, rising: bool = False,
    offset: float | Array = 0.0,
) -> tuple[float, ...]:  # fmt: skip
    """The slope of each feature, none below 0 if ``rising``, and the intercept, of greatest
    likelihood; targets in [0, 1], and ``offset``, a number or (n,), added to the log-odds."""
    share = w / w.sum()
    mean = float(share @ target)
    n, d = len(target), len(features)
    X, units, centers = np.ones((d + 1, n)), np.ones(d), np.zeros(d)
    for k, u in enumerate(features):
        largest = np.abs(u).max() or 1  # so that squares neither overflow nor vanish
        x = u / largest
        center = share @ x
        x -= center
        spread = np.sqrt(share @ (x * x)) or 1
        X[k], units[k], centers[k] = x / spread, largest * spread, center / spread
    lowest = np.append(np.full(d, 0 if rising else -np.inf), -np.inf)
    starts = [np.append(np.zeros(d), np.log(mean / (1 - mean)) - mean_offset(offset, share))]
    if n > 10_000 * COARSE:
        some = slice(None, None, COARSE)
        x, part = np.ascontiguousarray(X[:, some]), share[some] / share[some].sum()
        with suppress(ValueError):  # of too few rows of a label
            own = np.broadcast_to(offset, n)[some]
            coarse = minimize_convex(logistic_loss(x, target[some], part, own), starts, lowest)
            starts = [coarse] if np.abs(coarse).max() < SANE else starts
    *slopes, c = minimize_convex(logistic_loss(X, target, share, offset), starts, lowest)
    return *map(float, slopes / units), float(c - slopes @ centers)


def mean_offset(offset: float | Array, share: Array) -> float:
    return float(share @ np.broadcast_to(offset, share.shape))


def find_shift(y: Array, z: Array, w: Array) -> float:
    """The shift b with sum w sigmoid(z + b) = sum w y, ``z`` log-odds, ``y`` labels, ``w > 0``.
    Infinite log-odds stay: P of label 1 and N of label 0, finite, make up for them."""
    from scipy.optimize import brentq
    from scipy.special import expit, logit

    finite = np.isfinite(z)
    W = w.sum()
    errors = float(w[(z == -np.inf) & (y == 1)].sum() - w[(z == np.inf) & (y == 0)].sum())
    z, y, w = z[finite], y[finite], w[finite]
    P, N = dot(w, y) + errors, dot(w, 1 - y) - errors
    if not (P > 0 and N > 0):
        raise ValueError(
            "no shift brings the mean probability to the mean of y: probabilities of exactly 0 "
            f"and 1 stay, and the others, {w.sum() / W:.3g} of the weight, would have to give "
            f"{P / W:.3g} of it; fit on more rows, or calibrate a model that is less certain"
        )
    if np.abs(z).max() > LARGEST:
        raise ValueError(
            f"score must be log-odds of at most {LARGEST:g}, found {z[np.abs(z).argmax()]:g}: "
            "for a score on another scale use LogitCalibrator"
        )
    q = P / (P + N)
    w = w / (P + N)
    b = float(logit(q))
    low, high = b - float(z.max()) - 1, b - float(z.min()) + 1
    return float(brentq(lambda b: dot(w, expit(z + b)) - q, low, high, xtol=1e-14, maxiter=5000))
