"""The two rules for quadratic weighted kappa: exact and plug-in.

Symbols: y class positions, mu, var their weighted mean and variance, N and S the
cumulative weight and weighted position of :class:`~.curve.LabelCurve`, W = N[d],
F = sum w (p-y)^2, G = sum w ((p-mu)^2 + var), R = F/G, kappa = 1-R.
"""

from __future__ import annotations

import numpy as np

from gbdt_objectives._blocks import dot
from gbdt_objectives._checks import Array
from gbdt_objectives.thresholds.curve import LabelCurve, threshold_to_cut

BLOCK = 131_072
ROUNDING = 1e-9


def ratio(curve: LabelCurve, cuts: Array) -> float:
    """R of the classes that the cuts give, from the sums above each cut.

    A row's class is the number of cuts below it, so sum w p = sum_c N_c,
    sum w p^2 = sum_c (2c-1) N_c and sum w p y = sum_c S_c.
    """
    c = np.arange(1, len(cuts) + 1)
    N_c = curve.N[-1] - curve.N[cuts]
    S_c = curve.S[-1] - curve.S[cuts]
    pp = (2 * c - 1) @ N_c
    yy = curve.class_weight @ np.arange(len(c) + 1) ** 2
    mu = curve.S[-1] / curve.N[-1]
    return float((yy + pp - 2 * S_c.sum()) / (yy + pp - 2 * mu * N_c.sum()))


def moments(curve: LabelCurve) -> tuple[float, float]:
    """mu and var of the class positions."""
    k = np.arange(len(curve.class_weight))
    W = curve.class_weight.sum()
    mu = curve.class_weight @ k / W
    return float(mu), float(curve.class_weight @ (k - mu) ** 2 / W)


def exact_cuts(curve: LabelCurve) -> Array:
    """The cuts of the largest kappa: isotonic fit m, then Dinkelbach's iteration.

    For fixed R the cost F - R G of raising a row from class c-1 to c is
    2 (t_c - y), t_c = (c - 1/2)(1-R) + R mu, so the cuts are where m passes t_c.
    """
    mu, _ = moments(curve)
    ends = hull(curve)
    m = np.diff(curve.S[ends]) / np.diff(curve.N[ends])
    c = np.arange(1, len(curve.class_weight))
    best, R = one_class(curve), 1.0
    while True:
        t = (c - 0.5) * (1 - R) + R * mu
        cuts = ends[np.searchsorted(m, t, side="left")]
        lower = ratio(curve, cuts)
        if not lower < R:
            return best
        best, R = cuts, lower


def plugin_thresholds(curve: LabelCurve, alpha: float, beta: float, R: float) -> Array:
    """Equally spaced thresholds (t_c - alpha)/beta, with R iterated.

    From a first guess R <- F/G of the classes it gives, keeping the lowest met.
    """
    mu, _ = moments(curve)
    c = np.arange(1, len(curve.class_weight))
    met: dict[float, Array] = {}
    seen: set[float] = set()
    for _ in range(50):
        thresholds = (mu - alpha + (1 - R) * (c - 0.5 - mu)) / beta
        lower = ratio(curve, threshold_to_cut(curve.score, thresholds))
        met.setdefault(lower, thresholds)
        if lower >= 1 or lower in seen:  # no spread left, or a cycle
            break
        seen.add(lower)
        R = lower
    return met[min(met)]


def straight_line(u: Array, n: Array, s: Array) -> tuple[float, float, float]:
    """Least squares of s/n on u with weights n: intercept alpha, slope beta, variance of u."""
    W = n.sum()
    center = dot(n, u) / W
    d = u - center
    v = n * d
    var = dot(v, d)
    mu = s.sum() / W
    beta = (dot(s, d) - mu * v.sum()) / var if var > 0 else 0.0
    return float(mu - beta * center), float(beta), float(var / W)


def bounded_line(u: Array, n: Array, s: Array, top: int) -> tuple[float, float]:
    """Least squares of s/n on alpha + beta u kept within 0..top, u rising.

    An expected class position lies in 0..top. Rows beyond the line's ends do not pull
    on it: fit the rows within, find who is within, until nobody changes.
    """
    alpha, beta, _ = straight_line(u, n, s)
    met = {(0, len(u))}
    while True:
        m = alpha + beta * u
        i, j = np.searchsorted(m, [-ROUNDING, top + ROUNDING])
        if (i, j) in met or j - i < 2:
            return alpha, beta
        met.add((int(i), int(j)))
        inner = straight_line(u[i:j], n[i:j], s[i:j])
        if not inner[1] > 0:
            return alpha, beta
        alpha, beta, _ = inner


def one_class(curve: LabelCurve) -> Array:
    """Everything in the class nearest to the mean."""
    mu, _ = moments(curve)
    c = np.arange(1, len(curve.class_weight))
    return np.where(c - 0.5 <= mu, 0, len(curve.low))


def hull(curve: LabelCurve) -> Array:
    """Vertices, as cuts, of the lower convex hull of (N, S): the blocks of the isotonic fit.

    Pruning, block by block and then as a whole, leaves little for the isotonic
    regression, which does the rest.
    """
    from sklearn.isotonic import isotonic_regression

    N, S = curve.N, curve.S
    starts = range(0, len(N) - 1, BLOCK)
    blocks = [i + pruned(N[i : i + BLOCK + 1], S[i : i + BLOCK + 1]) for i in starts]
    ends = np.unique(np.concatenate(blocks))
    ends = ends[pruned(N[ends], S[ends])]
    dN, dS = np.diff(N[ends]), np.diff(S[ends])
    m = isotonic_regression(dS / dN, sample_weight=dN)
    edge = np.flatnonzero(m[1:] > m[:-1]) + 1
    return ends[np.concatenate(([0], edge, [len(m)]))]


def pruned(N: Array, S: Array) -> Array:
    """Some of the points, among them the first, the last and all vertices of their lower hull.

    A point on or above the chord of its neighbours is no vertex. All such points can go
    at once, since the vertices stay.
    """
    kept = np.arange(len(N))
    before = 2 * len(N)
    while len(kept) < 0.9 * before:
        dN, dS = np.diff(N), np.diff(S)
        vertex = np.ones(len(N), bool)
        np.less(dS[:-1] * dN[1:], dS[1:] * dN[:-1], out=vertex[1:-1])
        left = np.flatnonzero(vertex)
        before = len(kept)
        N, S, kept = N[left], S[left], kept[left]
    return kept
