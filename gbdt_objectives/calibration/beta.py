"""The beta calibration map of greatest likelihood."""

from __future__ import annotations

import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.newton import logistic_loss, minimize_convex

COARSE = 16
"""Among many rows, the start is fitted to one in so many."""

SANE = 30.0
"""Larger parameters, for features of spread 1, come from rows that the start nearly separates."""


def log_probabilities(z: Array) -> tuple[Array, Array]:
    """The ln p and -ln(1 - p) of finite log-odds, exact in both tails."""
    tail = np.log1p(np.exp(-np.abs(z)))
    return np.minimum(z, 0) - tail, np.maximum(z, 0) + tail


def fit_beta_map(z: Array, target: Array, w: Array) -> tuple[float, float, float]:
    """The parameters a, b >= 0 and c of greatest likelihood; targets may lie between 0 and 1."""
    share = w / w.sum()
    mean = float(share @ target)
    X, units = np.ones((3, len(z))), np.ones(2)
    centers = np.zeros(2)
    for k, u in enumerate(log_probabilities(z)):
        units[k] = np.abs(u).max() or 1  # so that squares neither overflow nor vanish
        x = u / units[k]
        centers[k] = share @ x
        x -= centers[k]
        spread = np.sqrt(share @ (x * x)) or 1
        X[k] = x / spread
        units[k] *= spread
        centers[k] /= spread
    lowest = np.array([0, 0, -np.inf])
    starts = [np.array([0, 0, np.log(mean / (1 - mean))])]
    if len(z) > 10_000 * COARSE:
        some = slice(None, None, COARSE)
        x, part = np.ascontiguousarray(X[:, some]), share[some] / share[some].sum()
        try:
            coarse = minimize_convex(logistic_loss(x, target[some], part), starts, lowest)
            starts = [coarse] if np.abs(coarse).max() < SANE else starts
        except ValueError:
            pass  # too few rows of a label
    a, b, c = minimize_convex(logistic_loss(X, target, share), starts, lowest)
    return float(a / units[0]), float(b / units[1]), float(c - a * centers[0] - b * centers[1])
