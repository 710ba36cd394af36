"""The plug-in rule on a curve: for scores that are no straight line in E[y].

Symbols: y class positions, s score, m(s) an estimate of E[y|s] that rises with s and stays within
0..K-1; P pools of about equal weight with weight N and weighted position S; q the normal score of
a pool, the normal quantile of its mid-rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives._checks import Array
from gbdt_objectives._places import from_zero
from gbdt_objectives._splines import bases, mean_scores, normal_scores, number_pools
from gbdt_objectives.thresholds import qwk
from gbdt_objectives.thresholds.qwk import fit_lines, plugin_thresholds
from gbdt_objectives.thresholds.rows import LabelCurve, ScoredRows

FOLDS = 10

ROWS_PER_KNOT = 100
"""Below, a spline that bends is not tried: of few rows, one chosen by luck costs more."""

Fit = Callable[[Array, Array], Array]
"""m of each pool from the weight N and weighted position S of the rows to fit, (P,) each."""


def score_where(s: Array, m: Array, value: ArrayLike) -> Array:
    """Where the polygon m through the pools' mean scores s takes the value; -inf or +inf where it
    never does."""
    t = np.asarray(value, np.float64)
    found = np.interp(-t, -m[::-1], s[::-1], left=np.inf)  # downwards: the first of equal ones
    return np.where(t > m[0], found, -np.inf)


def curved_thresholds(rows: ScoredRows) -> Array:
    """Plug-in thresholds on the line, unless a curve predicts held-out classes better."""
    label_curve = rows.label_curve
    spread = float(label_curve.score[-1]) - float(label_curve.score[0])
    can_be_fitted = 0 < spread < np.inf and any(line.rises for line in fit_lines(label_curve))
    if len(rows.score) < 2 * FOLDS or not can_be_fitted:
        return plugin_thresholds(label_curve)
    s, N, S = pool_folds(rows)
    K = len(rows.labels)
    fits = list(curves(N.sum(axis=0), len(rows.score), K))
    fit = choose_curve([fit_line(s, rows.class_weight), *fits], N, S)
    if fit == 0:
        return plugin_thresholds(label_curve)
    W, T = N.sum(axis=0), S.sum(axis=0)
    m = fits[fit - 1](W, T)
    mean = W @ m / W.sum()
    R = 1 - np.sqrt(W @ (m - mean) ** 2 / W.sum() / qwk.moments(label_curve)[1])
    return qwk.iterate_thresholds(
        label_curve, partial(score_where, s, m), float(np.clip(R, 0.0, 1.0))
    )


def pool_folds(rows: ScoredRows) -> tuple[Array, Array, Array]:
    """Mean score of each pool (P,), and its N and S by fold, (FOLDS, P).

    Rows of one score share a pool, and a row has one fold, whatever its weight. The folds are
    random, but the same in each call.
    """
    score = rows.score
    w = np.ones(len(score)) if rows.weight is None else rows.weight.astype(np.float64)
    pool = number_pools(score, w)
    P = int(pool[-1]) + 1
    at = (np.random.default_rng(0).permutation(len(score)) % FOLDS) * P + pool
    N = np.bincount(at, w, minlength=FOLDS * P).reshape(FOLDS, P)
    S = np.bincount(at, w * rows.position, minlength=FOLDS * P).reshape(FOLDS, P)
    return mean_scores(score, w, pool, N.sum(axis=0)), N, S


def fit_line(s: Array, class_weight: Array) -> Fit:
    """The line of the plug-in rule, the mean if it does not rise."""

    def fit(N: Array, S: Array) -> Array:
        own = N > 0
        at = s[own]
        curve = LabelCurve(at, at, at, from_zero(N[own]), from_zero(S[own]), class_weight)
        starts = [line for line in fit_lines(curve) if line.rises] if len(at) > 1 else []
        if not starts:
            return np.full(len(s), S.sum() / N.sum())
        line = qwk.fit_bounded_line(curve, starts)
        m: Array = line.position(s).clip(0, len(class_weight) - 1)
        return m

    return fit


def curves(W: Array, n: int, K: int) -> Iterator[Fit]:
    """Natural splines in the normal scores."""
    for X in bases(normal_scores(W), W):
        knots = X.shape[1]
        if knots == 2 or n >= ROWS_PER_KNOT * knots:
            yield fit_spline(X, K)


def fit_spline(X: Array, K: int) -> Fit:
    """Least squares, made to rise by pooling, within 0..K-1."""

    def fit(N: Array, S: Array) -> Array:
        from sklearn.isotonic import isotonic_regression

        coefficients = np.linalg.lstsq((X.T * N) @ X, X.T @ S, rcond=None)[0]
        m: Array = X @ coefficients
        own = N > 0
        rising = m[own]
        if (rising[1:] < rising[:-1]).any():
            rising = isotonic_regression(rising, sample_weight=N[own])
        # rows to fit need not be in every pool
        m = np.interp(np.arange(len(m)), np.flatnonzero(own), rising)
        return m.clip(0, K - 1)

    return fit


def choose_curve(fits: list[Fit], N: Array, S: Array) -> int:
    """The curve of least squared error on held-out folds, if it is better than the first by more
    than one standard error, corrected for folds that share rows (Nadeau & Bengio 2003); else 0."""
    W, T = N.sum(axis=0), S.sum(axis=0)
    errors = np.empty((len(fits), FOLDS))  # up to the mean of y^2, which all have in common
    for k, fit in enumerate(fits):
        for f in range(FOLDS):
            m = fit(W - N[f], T - S[f])
            errors[k, f] = (N[f] @ (m * m) - 2 * S[f] @ m) / N[f].sum()
    gains = errors[0] - errors
    error = gains.std(axis=1, ddof=1) * np.sqrt(1 / FOLDS + 1 / (FOLDS - 1))
    mean = np.where(gains.mean(axis=1) > error, gains.mean(axis=1), 0.0)
    return int(np.argmax(mean))
