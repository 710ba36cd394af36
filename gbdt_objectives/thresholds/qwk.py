"""The rules for quadratic weighted kappa: exact, and plug-in on a line or on a curve.

Symbols: y class positions, mu and var their weighted mean and variance, N and S the cumulative
weight and weighted position of :class:`~.rows.LabelCurve`, W = N[d], F = sum w (p-y)^2, G = sum w
((p-mu)^2 + var), R = F/G, kappa = 1-R; s score, m(s) an estimate of E[y|s] that rises with s and
stays within 0..K-1. On a curve P pools of about equal weight, C that of each class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives._checks import Array
from gbdt_objectives._rows.rows import dot, from_zero
from gbdt_objectives._steps.steps import bases, isotonic, mean_scores, normal_scores, number_pools
from gbdt_objectives.metrics import RatioMetric, ShareMetric
from gbdt_objectives.thresholds.rows import (
    LabelCurve,
    ScoredRows,
    cut_to_threshold,
    threshold_to_cut,
)

BLOCK = 131_072  # pools at a time
LEVEL = 1e-12  # a correlation that rounding may have made
USEFUL = 1 - LEVEL  # R below which classes do better than one for all rows
ROUNDING = 1e-9  # how far a line's ends may miss the labels by rounding
COARSE = 10_000  # pools searched for a line's ends: plug-in is then as fast as exact (benchmarks)
CURVE_ROWS = 20  # below, no curve is tried
ROWS_PER_KNOT = 100  # below, no spline that bends: of few rows, one chosen by luck costs more
NARROWEST = 1e-9
"""How narrow a class may be on the line, relative to the score there: a steeper line passes
between scores that differ by rounding only, such as sums of the same leaves in another order."""


def qwk_ratio(curve: LabelCurve, cuts: Array) -> float:
    """R of the classes that the cuts give. A row's class is the number of cuts below it, so sum w p
    = sum_c N_c, sum w p^2 = sum_c (2c-1) N_c and sum w p y = sum_c S_c, of sums above a cut."""
    c = np.arange(1, len(cuts) + 1)
    N_c = curve.N[-1] - curve.N[cuts]
    S_c = curve.S[-1] - curve.S[cuts]
    pp = (2 * c - 1) @ N_c
    yy = curve.class_weight @ np.arange(len(c) + 1) ** 2
    mu = curve.S[-1] / curve.N[-1]
    return float((yy + pp - 2 * S_c.sum()) / (yy + pp - 2 * mu * N_c.sum()))


def kappa_at(curve: LabelCurve, thresholds: Array) -> tuple[Array, float]:
    """The cuts of thresholds, and their kappa."""
    cuts = threshold_to_cut(curve.low, thresholds)
    return cuts, 1 - qwk_ratio(curve, cuts)


def kappa_along(curve: LabelCurve, cuts: Array, k: int, tried: Array) -> tuple[Array, Array]:
    """Places of threshold k at the cuts that are tried, and kappa at each with the other cuts."""
    moved = np.tile(cuts, (len(tried), 1))
    moved[:, k] = tried
    at = cut_to_threshold(curve.low, curve.high, tried)
    return at, np.array([1 - qwk_ratio(curve, row) for row in moved])


def exact_hull(curve: LabelCurve) -> tuple[Array, Array, Array, Array, float]:
    """The cumulative position less its mean, the vertices of its hull, the exact cuts, and their
    tangents' slopes and kappa."""
    (mu, _), best = mu_var(curve), exact_cuts(curve)
    R = qwk_ratio(curve, best)
    D = (curve.S - mu * curve.N) / curve.N[-1]
    slopes = (np.arange(1, len(best) + 1) - 0.5 - mu) * (1 - R)
    return D, isotonic_ends(curve), best, slopes, 1 - R


def mu_var(curve: LabelCurve) -> tuple[float, float]:
    """mu and var of the class positions."""
    k = np.arange(len(curve.class_weight))
    W = curve.class_weight.sum()
    mu = curve.class_weight @ k / W
    return float(mu), float(curve.class_weight @ (k - mu) ** 2 / W)


def exact_cuts(curve: LabelCurve) -> Array:
    """The cuts of the largest kappa: isotonic fit m, then Dinkelbach's iteration. For fixed R a row
    raised from c-1 to c costs 2 (t_c - y), t_c = (c - 1/2)(1-R) + R mu: cuts are where m is t_c."""
    mu, _ = mu_var(curve)
    ends = isotonic_ends(curve)
    m = np.diff(curve.S[ends]) / np.diff(curve.N[ends])
    c = np.arange(1, len(curve.class_weight))
    best, R = one_class_cuts(curve), 1.0
    while True:
        cuts = ends[np.searchsorted(m, (c - 0.5) * (1 - R) + R * mu, side="left")]
        lower = qwk_ratio(curve, cuts)
        if not lower < R:
            return best
        best, R = cuts, lower


def plugin_thresholds(curve: LabelCurve) -> Array:
    """Equally spaced thresholds from the least-squares line of the class on the score."""
    if curve.score[0] == curve.score[-1]:
        return cut_to_threshold(curve.low, curve.high, one_class_cuts(curve))
    lines, starts = check_score_rises(curve, "use method='exact'")
    correlation = lines[0].beta * math.sqrt(lines[0].var / mu_var(curve)[1])
    R = min(max(0.0, 1 - correlation), 1.0)  # the best R of continuous predictions
    return iterate_thresholds(curve, fit_bounded_line(curve, starts).score, R)


def check_score_rises(curve: LabelCurve, otherwise: str) -> tuple[list[Line], list[Line]]:
    """The lines, and those that rise; raise if none does. ``otherwise``: the remedy then."""
    low, high = float(curve.score[0]), float(curve.score[-1])
    if not math.isfinite(high - low):
        raise ValueError(f"score ranges from {low} to {high}, more than float64 holds: halve it")
    lines = fit_lines(curve)
    starts = rising_lines(curve, lines)
    if not starts:
        by_rank = rank_correlation(curve)
        raise ValueError(
            f"score falls as the class rises (rank correlation {by_rank:.3g}): if low scores mean "
            f"high classes pass -score, otherwise {otherwise}"
            if by_rank <= LEVEL
            else "no straight line through the classes rises with score, as where a score is far "
            f"from all others: {otherwise}"
        )
    return lines, starts


def iterate_thresholds(curve: LabelCurve, score: Callable[[ArrayLike], Array], R: float) -> Array:
    """Thresholds where m passes t_c, ``score`` of them, with R <- F/G of the classes it gives
    iterated from a first guess; those of the lowest R win. Where rare outer classes put all rows
    into one class, it starts again at 1, where all thresholds meet in mu."""
    mu, _ = mu_var(curve)
    c = np.arange(1, len(curve.class_weight))
    met: dict[float, Array] = {}
    for start in (R, 1.0):
        R, seen = start, set[float]()
        while R not in seen and len(seen) < 50:
            seen.add(R)
            thresholds = score((c - 0.5) * (1 - R) + R * mu)
            R = qwk_ratio(curve, threshold_to_cut(curve.score, thresholds))
            met.setdefault(R, thresholds)
            if not R < USEFUL:  # no spread left
                break
        if R < USEFUL:
            break
    return met[min(met)]


@dataclass(frozen=True)
class Line:
    """m = alpha + beta u of the relative score u = (score - origin)/spread; var is that of u."""

    origin: float
    spread: float
    alpha: float
    beta: float
    var: float

    @property
    def rises(self) -> bool:
        return self.beta > 0 and self.spread / self.beta > NARROWEST * abs(self.origin)

    def position(self, score: Array) -> Array:
        """m at these scores."""
        return self.alpha + self.beta * ((score - self.origin) / self.spread)

    def score(self, m: ArrayLike) -> Array:
        """Scores at which the line takes the value m."""
        with np.errstate(over="ignore"):  # beyond all scores
            return self.origin + self.spread * ((np.asarray(m) - self.alpha) / self.beta)


def fit_line(curve: LabelCurve, spread: float, i: int, j: int) -> Line:
    """Least squares of the class position on u, over the pools i..j-1."""
    origin = float(curve.score[(i + j) // 2])
    u, uu, uy = 0.0, 0.0, 0.0
    for k in range(i, j, BLOCK):
        stop = min(k + BLOCK, j)
        d = np.subtract(curve.score[k:stop], origin, dtype=np.float64)
        d /= spread
        n, s = np.diff(curve.N[k : stop + 1]), np.diff(curve.S[k : stop + 1])
        u += dot(n, d)
        uy += dot(s, d)
        n *= d
        uu += dot(n, d)
    W = curve.N[j] - curve.N[i]
    mu, u, uu, uy = (curve.S[j] - curve.S[i]) / W, u / W, uu / W, uy / W
    var = max(uu - u * u, 0.0)
    beta = (uy - u * mu) / var if var > 0 else 0.0
    return Line(origin, spread, float(mu - beta * u), float(beta), float(var))


def fit_lines(curve: LabelCurve) -> list[Line]:
    """The line of all rows and, if any, that of the middle half, which outliers cannot bend."""
    spread = float(curve.score[-1]) - float(curve.score[0])
    i, j = np.searchsorted(curve.N, curve.N[-1] * np.array([0.25, 0.75]))
    ranges = [(0, len(curve.score)), (int(i), int(j))]
    return [fit_line(curve, spread, i, j) for i, j in ranges if j - i > 1]


def rising_lines(curve: LabelCurve, lines: Sequence[Line]) -> list[Line]:
    """Those that rise; none if the class falls with the score."""
    return [line for line in lines if line.rises] if rank_correlation(curve) > LEVEL else []


def score_rises(curve: LabelCurve) -> bool:
    """Whether plug-in thresholds can be placed."""
    spread = float(curve.score[-1]) - float(curve.score[0])
    return 0 < spread < math.inf and bool(rising_lines(curve, fit_lines(curve)))


def rank_correlation(curve: LabelCurve) -> float:
    """The correlation of class position and the score's mid-rank, 0 if either is constant."""
    curve = coarsen(curve, max(1, len(curve.score) // COARSE))
    mu, var = mu_var(curve)
    N, S = curve.N / curve.N[-1], curve.S / curve.N[-1]
    n, rank = np.diff(N), N[:-1] + N[1:] - 1  # its mean is 0
    spread = n @ rank**2 * var
    return float(rank @ (np.diff(S) - mu * n) / math.sqrt(spread)) if spread > 0 else 0.0


def fit_bounded_line(curve: LabelCurve, starts: Sequence[Line]) -> Line:
    """Least squares of the class position on alpha + beta u kept within 0..K-1: fit the rows within
    the line's ends until these stay the same; of several starts the best."""
    coarse = coarsen(curve, max(1, len(curve.score) // COARSE))

    def misfit(line: Line) -> float:  # sum of squares, up to a constant
        m = line.position(coarse.score.astype(np.float64)).clip(0, len(curve.class_weight) - 1)
        return dot(np.diff(coarse.N), m * m) - 2 * dot(np.diff(coarse.S), m)

    line = min((refit_until_stable(coarse, start) for start in starts), key=misfit)
    i, j = range_within(curve, line)
    if line in starts or j - i < 2:  # no row is beyond the ends, or nearly all are
        return line
    inner = fit_line(curve, line.spread, i, j)
    return inner if inner.rises else line


def refit_until_stable(curve: LabelCurve, line: Line) -> Line:
    """The line that is the fit of the rows within it."""
    met: set[tuple[int, int]] = set()
    while True:
        i, j = range_within(curve, line)
        if (i, j) in met or j - i < 2:
            return line
        met.add((i, j))
        inner = fit_line(curve, line.spread, i, j)
        if not inner.rises:
            return line
        line = inner


def range_within(curve: LabelCurve | ScoredRows, line: Line) -> tuple[int, int]:
    """The pools, or rows, i..j-1 where the line lies within 0..K-1."""
    ends = line.score([-ROUNDING, len(curve.class_weight) - 1 + ROUNDING])
    i, j = np.searchsorted(curve.score, ends)
    return int(i), int(j)


def coarsen(curve: LabelCurve, step: int) -> LabelCurve:
    """The curve with every ``step`` neighbouring pools merged, at the score of the middle one."""
    at = np.append(np.arange(0, len(curve.score), step), len(curve.score))
    score = curve.score[(at[:-1] + at[1:]) // 2]
    return LabelCurve(score, score, score, curve.N[at], curve.S[at], curve.class_weight)


def one_class_cuts(curve: LabelCurve) -> Array:
    """The cuts that put every row into the class nearest to the mean."""
    mu, _ = mu_var(curve)
    return np.where(np.arange(1, len(curve.class_weight)) - 0.5 <= mu, 0, len(curve.low))


def isotonic_ends(curve: LabelCurve) -> Array:
    """Vertices, as cuts, of the lower convex hull of (N, S): the blocks of the isotonic fit.
    Pruning, block by block and then as a whole, leaves little for the isotonic regression."""
    N, S = curve.N, curve.S
    starts = range(0, len(N) - 1, BLOCK)
    blocks = [i + prune(N[i : i + BLOCK + 1], S[i : i + BLOCK + 1]) for i in starts]
    ends = np.unique(np.concatenate(blocks))
    ends = ends[prune(N[ends], S[ends])]
    dN, dS = np.diff(N[ends]), np.diff(S[ends])
    m = isotonic(dS / dN, dN)
    return ends[np.concatenate(([0], np.flatnonzero(m[1:] > m[:-1]) + 1, [len(m)]))]


def prune(N: Array, S: Array) -> Array:
    """Some of the points, with all vertices of their lower hull: those above chords go at once."""
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


class Fit(NamedTuple):
    """m of each pool, (P,), and from how many coefficients it is."""

    m: Array
    coefficients: int


def score_where(s: Array, m: Array, value: ArrayLike) -> Array:
    """Scores at which the polygon m through mean scores s takes a value; else infinite."""
    t = np.asarray(value)
    found = np.interp(-t, -m[::-1], s[::-1], left=np.inf)  # downwards: the first of equal ones
    return np.where(t > m[0], found, -np.inf)


def curved_thresholds(rows: ScoredRows) -> Array:
    """Plug-in thresholds on the line, unless a curve predicts classes better."""
    label_curve = rows.label_curve
    if label_curve.N[-1] < CURVE_ROWS or not score_rises(label_curve):
        return plugin_thresholds(label_curve)
    s, C = pool_rows(rows)
    fits = [fit_line_of_pools(s, C), *fit_splines(C)]
    chosen = choose_fit(fits, C)
    if chosen == 0:
        return plugin_thresholds(label_curve)
    m, W = fits[chosen].m, C.sum(axis=1)
    R = 1 - np.sqrt(W @ (m - W @ m / W.sum()) ** 2 / W.sum() / mu_var(label_curve)[1])
    return iterate_thresholds(label_curve, partial(score_where, s, m), float(R))


def pool_rows(rows: ScoredRows) -> tuple[Array, Array]:
    """Mean score of each pool (P,), and its weight of each class, (P, K); ties share a pool."""
    score, K = rows.score, len(rows.labels)
    w = np.ones(len(score)) if rows.weight is None else rows.weight.astype(np.float64)
    pool = number_pools(score, w)
    P = int(pool[-1]) + 1
    C = np.bincount(pool * K + rows.position, w, minlength=P * K).reshape(P, K)
    return mean_scores(score, w, pool, C.sum(axis=1)), C


def fit_line_of_pools(s: Array, C: Array) -> Fit:
    """The line of the plug-in rule, the mean if it does not rise."""
    W, S = C.sum(axis=1), C @ np.arange(C.shape[1])
    curve = LabelCurve(s, s, s, from_zero(W), from_zero(S), C.sum(axis=0))
    starts = rising_lines(curve, fit_lines(curve)) if len(s) > 1 else []
    if not starts:
        return Fit(np.full(len(s), S.sum() / W.sum()), 1)
    return Fit(fit_bounded_line(curve, starts).position(s).clip(0, C.shape[1] - 1), 2)


def fit_splines(C: Array) -> Iterator[Fit]:
    """Natural splines in the normal scores by least squares, made to rise by pooling."""
    W, S = C.sum(axis=1), C @ np.arange(C.shape[1])
    for X in bases(normal_scores(W), W):
        knots = X.shape[1]
        if knots == 2 or W.sum() >= ROWS_PER_KNOT * knots:
            m: Array = X @ np.linalg.lstsq((X.T * W) @ X, X.T @ S, rcond=None)[0]
            if (m[1:] < m[:-1]).any():
                m = isotonic(m, W)
            yield Fit(m.clip(0, C.shape[1] - 1), knots)


def choose_fit(fits: list[Fit], C: Array) -> int:
    """The fit of least cross-validation error, if better by a standard error; else 0."""
    n, y = C.sum(), np.arange(C.shape[1])
    errors = np.array([((y - m[:, None]) / (1 - k / n)) ** 2 for m, k in fits])
    gains = errors[0] - errors
    mean = np.tensordot(gains, C) / n
    variance = np.tensordot((gains - mean[:, None, None]) ** 2, C) / n
    return int(np.argmax(np.where(mean > np.sqrt(variance / n), mean, 0.0)))


LAST_DIGITS = 1e-12  # by a smaller share no ratio is better: decisions must not depend on rounding


def least_ratio(
    class_weight: Array, metric: RatioMetric, solve: Callable[[Array], Array],
    counts: Callable[[Array], Array], single: Callable[[int], Array],
) -> Array:  # fmt: skip
    """The decisions of least F/G: for the best ratio R so far, minimise F - R G, a sum over rows,
    until R stops falling (Dinkelbach). ``solve`` gives the decisions of least total cost, given
    costs [true, predicted], ``counts`` their weights [true, predicted], and ``single`` those that
    put every row into one class: the best of these is where to start."""
    F, G = metric.ratio_costs(class_weight)
    if np.ptp(G) == 0:
        return solve(F)
    above, below = class_weight @ F, class_weight @ G
    k = int(np.argmin(np.where(below > 0, above, np.inf)))
    best, R = single(k), above[k] / below[k]
    while True:
        found = solve(F - R * G)
        C = counts(found)
        below = (G * C).sum()
        lower = (F * C).sum() / below if below > 0 else np.nan  # of a precision without alerts
        if not lower < R - LAST_DIGITS * abs(R):
            return best
        best, R = found, lower


def optimal_cuts(C: Array, metric: RatioMetric) -> Array:
    """The cuts of least F/G, given cumulative class weights C (K, d+1)."""
    K, d = C.shape[0], C.shape[1] - 1
    return least_ratio(
        C[:, -1], metric, solve=lambda costs: additive_cuts(costs.T @ C),
        counts=lambda cuts: confusion(C, cuts),
        single=lambda k: np.where(np.arange(1, K) <= k, 0, d),
    )  # fmt: skip


def best_of_every_cut(C: Array, metric: ShareMetric) -> Array:
    """The cut of the best value, of all d+1, between two classes."""
    if len(C) != 2:
        raise ValueError(
            f"metric {metric.name!r} has exact thresholds between two classes only, found "
            f"{len(C)} classes: pass method='nelder-mead' to optimize_thresholds, which guarantees "
            "nothing, or metric='kappa', which is exact for any number"
        )
    return np.array([np.argmax(metric.of_every_cut(C)[0])])


def additive_cuts(P: Array) -> Array:
    """The cuts of least total cost, given P[c, i], the cost of class c in the first i pools.
    best_c[i] = P_c[i] + min_{j <= i} (best_{c-1}[j] - P_c[j]) is the least cost of these in classes
    0..c; j is where class c begins. Row c - 1 of P ends as best_{c-1} - P_c."""
    K = len(P)
    for c in range(1, K):
        P[c - 1] -= P[c]
        P[c] += np.minimum.accumulate(P[c - 1])
    cuts = np.empty(K - 1, dtype=np.intp)
    i = P.shape[1] - 1
    for c in range(K - 1, 0, -1):
        i = int(np.argmin(P[c - 1, : i + 1]))
        cuts[c - 1] = i
    return cuts


def confusion(C: Array, cuts: Array) -> Array:
    """Weights [true, predicted] of the classes that the cuts give."""
    return np.diff(C[:, np.concatenate(([0], cuts, [C.shape[1] - 1]))], axis=1)
