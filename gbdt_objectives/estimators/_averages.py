"""Means of several models' scores. They vary less than those of one model, and are stretched.

Symbols: o (n,) out-of-fold scores; p (n, K) probabilities; l their logarithms, up to a constant in
each row; c the center, (K,), or the log-odds of the second of two classes; s >= 1 the stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives._steps import formulas

STRETCH_ROWS = 2_000  # number of rows that each model scores for the stretch


def rows_to_stretch(rows: Array, models: int) -> list[Array]:
    """Some of the rows for each model, others than the next, that it scores for the stretch."""
    rng, few = np.random.default_rng(0), min(len(rows), STRETCH_ROWS)
    return [rng.choice(rows, few, replace=False) for _ in range(models)]


def find_stretch(o: Array, score: Array, w: Array | None) -> float:
    """sd(o) / sd(average on new rows), at least 1; ``score`` is of each model on its rows."""
    variance, covariance = np.cov(o, score, aweights=w, ddof=0)[0]
    if variance == 0 or covariance <= 0:  # nothing learnt: warned of when placing thresholds
        return 1.0
    return max(1.0, float(np.sqrt(variance / covariance)))


def stretch_of_classes(p: Array, of_each: Array, w: Array | None) -> float:
    """The stretch of l; p is out-of-fold, ``of_each`` that of each model on its rows."""
    o, each = centered(p), centered(of_each)
    o -= np.average(o, axis=0, weights=w)  # the classes' own means are no spread
    return find_stretch(o.ravel(), each.ravel(), None if w is None else w.repeat(len(o.T)))


def geometric_mean(
    probabilities: Sequence[Array], stretch: float = 1.0, center: Any = 0.0
) -> Array:
    """softmax(c + s (mean over b of l_b - c)), (n, K); zeros act as tiny numbers do."""
    if len(probabilities) == 1 and stretch == 1:
        return probabilities[0]
    p = np.stack(probabilities)
    ruled_out = (p == 0).sum(axis=0)
    log_mean = np.log(np.where(p == 0, 1, p)).mean(axis=0)
    log_mean[ruled_out > ruled_out.min(axis=1, keepdims=True)] = -np.inf
    c = np.append(0.0, center) if np.ndim(center) == 0 else center
    return formulas.softmax(log_mean if stretch == 1 else formulas.stretch(log_mean, stretch, c))


def second_log_odds(p: Array) -> Array:
    """Log-odds of the second of two classes, (n,)."""
    return np.log(p[:, 1]) - np.log(p[:, 0])


def find_center(p: Array, w: Array | None) -> Any:
    """The mean of l: a float for two classes, (K,) with the sum 0 for more."""
    c = np.average(centered(p), axis=0, weights=w)
    return float(c[1] - c[0]) if len(c) == 2 else c


def stretch_of_bags(z: Array, w: Array) -> float | None:
    """sd of one bag over that of the mean of B bags, at least 1: sqrt(v / (v/B + (1 - 1/B) c)). z
    (n, B) are log-odds, NaN where the bag saw the row; v is the mean variance of a bag's, and c the
    mean covariance of two bags' on rows that both did not see. None without such rows."""
    held = np.isfinite(z)
    share = held * w[:, None]
    both = share.T @ held
    B, others = len(both), ~np.eye(len(both), dtype=bool) & (both > 0)
    if not others.any() or not both.diagonal().all():
        return None
    mean = np.where(held, z, 0.0) * w[:, None]
    x = np.where(held, z - mean.sum(axis=0) / share.sum(axis=0), 0.0)
    products = (x * w[:, None]).T @ x
    v = (products.diagonal() / both.diagonal()).mean()
    c = (products[others] / both[others]).mean()
    return max(1.0, float(np.sqrt(v / (v / B + (1 - 1 / B) * c)))) if c > 0 else 1.0


def centered(p: Array) -> Array:
    """The l whose rows sum to 0."""
    z = np.log(p)
    z -= z.mean(axis=1, keepdims=True)
    return z
