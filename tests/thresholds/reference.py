"""Slow and obvious: metrics by their definition, and every possible set of cuts."""

from __future__ import annotations

import itertools

import numpy as np

from gbdt_objectives import apply_thresholds


def value(metric, y, p, w, K):
    """A metric of class positions, by its textbook definition; greater is better."""
    O = np.zeros((K, K))
    np.add.at(O, (y, p), w)
    i, j = np.indices((K, K))
    n, right, true = O.sum(), np.diag(O), O.sum(axis=1)
    expected = np.outer(true, O.sum(axis=0)) / n
    if isinstance(metric, np.ndarray):
        return -(O * metric).sum() / n
    if metric in ("qwk", "linear", "kappa"):
        cost = {"qwk": (i - j) ** 2, "linear": abs(i - j), "kappa": i != j}[metric]
        return 1 - (O * cost).sum() / (expected * cost).sum()
    if metric == "accuracy":
        return right.sum() / n
    if metric == "mae":
        return -(O * abs(i - j)).sum() / n
    if metric == "macro_recall":
        return (right[true > 0] / true[true > 0]).mean()
    if metric == "matthews":  # the correlation of class indicators
        X, Y = np.eye(K)[p], np.eye(K)[y]
        X, Y = (V - np.average(V, axis=0, weights=w) for V in (X, Y))
        constant = len(np.unique(p[w > 0])) < 2
        return (
            0
            if constant
            else w @ (X * Y).sum(1) / np.sqrt(w @ (X * X).sum(1) * (w @ (Y * Y).sum(1)))
        )
    if metric == "youden":
        return O[1, 1] / true[1] - O[0, 1] / true[0]
    name, parameter = metric
    if name == "kappa_cost":
        return 1 - (O * parameter).sum() / (expected * parameter).sum()
    assert name == "f_beta"
    precision = O[1, 1] / max(O[0, 1] + O[1, 1], 1e-300)
    recall = O[1, 1] / true[1]
    return (1 + parameter**2) * precision * recall / max(parameter**2 * precision + recall, 1e-300)


def every_cut(score, K):
    """The class positions of every possible cut vector, one row each."""
    rank = np.unique(score, return_inverse=True)[1]
    cuts = itertools.combinations_with_replacement(range(rank.max() + 2), K - 1)
    return [(np.array(c)[:, None] <= rank).sum(axis=0) for c in cuts]


def every_kappa(y, score, w, K):
    """The best QWK of all cut vectors at once, from its second form (facts, section 1)."""
    p = np.array(every_cut(score, K))
    n = w.sum()
    mu = w @ y / n
    var = w @ (y - mu) ** 2 / n
    return (1 - ((p - y) ** 2 @ w) / (((p - mu) ** 2 + var) @ w)).max()


def sample(n=400, K=4, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal(n)
    y = np.searchsorted(np.linspace(-1, 1.2, K - 1), latent)
    return y, latent + noise * rng.standard_normal(n)


def kappa(y, score, thresholds, w=None):
    w = np.ones(len(y)) if w is None else w
    return value("qwk", y, apply_thresholds(score, thresholds), w, len(thresholds) + 1)
