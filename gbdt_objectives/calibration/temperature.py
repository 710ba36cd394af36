"""Temperature and class biases of greatest likelihood.

Symbols: z (n, K) log-probabilities, -inf for 0; a = 1/T; b (K,) with mean 0; the calibrated
probabilities are softmax(a z + b).
"""

from __future__ import annotations

import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.likelihood import Loss, minimize_convex
from gbdt_objectives.calibration.rows import check_weights_count_rows


def fit_temperature(z: Array, y: Array, w: Array, bias: bool) -> tuple[float, Array]:
    """The a > 0 and b of greatest likelihood; ``y`` are positions of the labels."""
    K = z.shape[1]
    margins = least_margins(z, y)
    if bias:
        check_links(margins)
        separable = no_negative_cycle(margins)
    else:
        separable = bool(margins.min() >= 0)
    target = laplace_targets(z, y, w) if separable else np.eye(K)[y]
    possible = np.isfinite(z)
    centered = np.where(possible, z, 0)
    centered -= centered.sum(axis=1, keepdims=True) / possible.sum(axis=1, keepdims=True)
    share = w / w.sum()
    unit = float(np.sqrt(share @ (centered**2 * possible).mean(axis=1)))
    if not unit > 0 or (bias and (z == z[0]).all()):
        raise ValueError(
            "probability is the same for all classes or in all rows, up to zeros: no temperature "
            "can be fitted"
        )
    x = np.where(possible, centered / unit, -np.inf)
    biases = K - 1 if bias else 0
    starts = [np.append(a, np.zeros(biases)) for a in (0.0, unit)]
    lowest = np.append(0, np.full(biases, -np.inf))
    theta = minimize_convex(softmax_loss(x, target, share), starts, lowest)
    b = np.zeros(K)
    b[1 : len(theta)] = theta[1:]
    return float(theta[0] / unit), b - b.mean()


def least_margins(z: Array, y: Array) -> Array:
    """min z_k - z_l over the rows of label k, (K, K); inf where no row tells."""
    K = z.shape[1]
    found = np.full((K, K), np.inf)
    for k in range(K):
        own = z[y == k]
        if len(own):
            found[k] = (own[:, [k]] - own).min(axis=0)
    return found


def check_links(margins: Array) -> None:
    """Raise if biases could set classes apart for ever, as no row holds them together."""
    from scipy.sparse.csgraph import connected_components

    parts, part = connected_components(np.isfinite(margins), connection="strong")
    if parts > 1:
        alone = np.flatnonzero(part == part[np.argmin(np.bincount(part)[part])])
        raise ValueError(
            f"the bias of class {alone[0]} (of 0 to K-1) has no maximum of the likelihood: "
            "probabilities of exactly 0 tell its rows from those of others with certainty; use "
            "bias=False"
        )


def no_negative_cycle(margins: Array) -> bool:
    """Whether biases b exist with z_k - z_l + b_k - b_l >= 0 for all rows of label k."""
    distance = margins.copy()
    for k in range(len(distance)):
        distance = np.minimum(distance, distance[:, [k]] + distance[k])
    return bool(distance.diagonal().min() >= 0)


def laplace_targets(z: Array, y: Array, w: Array) -> Array:
    """Targets (N_k + 1)/(N_k + K) for the label, 1/(N_k + K) for others: Platt's if K is 2."""
    K = z.shape[1]
    N = np.bincount(y, w, minlength=K)
    least = float(N[np.unique(y)].min())
    check_weights_count_rows(least, ", and the probabilities separate the labels")
    targets = (1 + np.eye(K)[y] * N[y, None]) * np.isfinite(z)
    targets /= targets.sum(axis=1, keepdims=True)
    return targets


def softmax_loss(x: Array, target: Array, w: Array) -> Loss:
    """Mean log loss of softmax(a x + b) in a and b_1 ... b_{K-1}, b_0 = 0; or in a alone."""
    K, possible = x.shape[1], np.isfinite(x)
    x = np.where(possible, x, 0)

    def loss(theta: Array) -> tuple[float, Array, Array]:
        b = np.zeros(K)
        b[1 : len(theta)] = theta[1:]
        m = theta[0] * x + b
        top = np.where(possible, m, -np.inf).max(axis=1, keepdims=True)
        e = np.exp(m - top) * possible
        total = e.sum(axis=1, keepdims=True)
        p = e / total
        value = w @ (np.log(total) + top)[:, 0] - w @ (target * m).sum(axis=1)
        mean = (p * x).sum(axis=1, keepdims=True)
        q = w[:, None] * p
        error = q - w[:, None] * target
        gradient = np.append((error * x).sum(), error.sum(axis=0)[1:])
        hessian = np.empty((K, K))
        hessian[0, 0] = (q * (x - mean) ** 2).sum()
        hessian[0, 1:] = hessian[1:, 0] = (q * (x - mean)).sum(axis=0)[1:]
        hessian[1:, 1:] = (np.diag(q.sum(axis=0)) - p.T @ q)[1:, 1:]
        some = slice(len(theta))
        return float(value), gradient[some], hessian[some, some]

    return loss
