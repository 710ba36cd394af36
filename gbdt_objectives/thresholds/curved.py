"""The plug-in rule on a curve: for scores that are no straight line in E[y].

Symbols: y class positions, s score, m(s) an estimate of E[y|s] that rises with s and stays within
0..K-1; P pools of about equal weight, C that of each class; q the normal score of a
pool, the normal quantile of its mid-rank. A weight of w is w rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives._checks import Array
from gbdt_objectives._rows.places import from_zero
from gbdt_objectives._steps.splines import bases, mean_scores, normal_scores, number_pools
from gbdt_objectives.thresholds import qwk
from gbdt_objectives.thresholds.rows import LabelCurve, ScoredRows

ROWS = 20  # below, no curve is tried
ROWS_PER_KNOT = 100  # below, no spline that bends: of few rows, one chosen by luck costs more


class Fit(NamedTuple):
    """m of each pool, (P,), and from how many coefficients it is."""

    m: Array
    coefficients: int


def score_where(s: Array, m: Array, value: ArrayLike) -> Array:
    """Scores at which the polygon m through the pools' mean scores s takes a value; else
    infinite."""
    t = np.asarray(value)
    found = np.interp(-t, -m[::-1], s[::-1], left=np.inf)  # downwards: the first of equal ones
    return np.where(t > m[0], found, -np.inf)


def curved_thresholds(rows: ScoredRows) -> Array:
    """Plug-in thresholds on the line, unless a curve predicts classes better."""
    label_curve = rows.label_curve
    if label_curve.N[-1] < ROWS or not qwk.score_rises(label_curve):
        return qwk.plugin_thresholds(label_curve)
    s, C = pool_rows(rows)
    fits = [fit_line(s, C), *fit_splines(C)]
    chosen = choose_fit(fits, C)
    if chosen == 0:
        return qwk.plugin_thresholds(label_curve)
    m, W = fits[chosen].m, C.sum(axis=1)
    mean = W @ m / W.sum()
    R = 1 - np.sqrt(W @ (m - mean) ** 2 / W.sum() / qwk.moments(label_curve)[1])
    return qwk.iterate_thresholds(label_curve, partial(score_where, s, m), float(R))


def pool_rows(rows: ScoredRows) -> tuple[Array, Array]:
    """Mean score of each pool (P,), and its weight of each class, (P, K); ties share a pool."""
    score, K = rows.score, len(rows.labels)
    w = np.ones(len(score)) if rows.weight is None else rows.weight.astype(np.float64)
    pool = number_pools(score, w)
    P = int(pool[-1]) + 1
    C = np.bincount(pool * K + rows.position, w, minlength=P * K).reshape(P, K)
    return mean_scores(score, w, pool, C.sum(axis=1)), C


def fit_line(s: Array, C: Array) -> Fit:
    """The line of the plug-in rule, the mean if it does not rise."""
    W, S = C.sum(axis=1), C @ np.arange(C.shape[1])
    curve = LabelCurve(s, s, s, from_zero(W), from_zero(S), C.sum(axis=0))
    starts = qwk.rising_lines(curve, qwk.fit_lines(curve)) if len(s) > 1 else []
    if not starts:
        return Fit(np.full(len(s), S.sum() / W.sum()), 1)
    line = qwk.fit_bounded_line(curve, starts)
    return Fit(line.position(s).clip(0, C.shape[1] - 1), 2)


def fit_splines(C: Array) -> Iterator[Fit]:
    """Natural splines in the normal scores by least squares, made to rise by pooling."""
    from sklearn.isotonic import isotonic_regression

    W, S = C.sum(axis=1), C @ np.arange(C.shape[1])
    for X in bases(normal_scores(W), W):
        knots = X.shape[1]
        if knots == 2 or W.sum() >= ROWS_PER_KNOT * knots:
            m: Array = X @ np.linalg.lstsq((X.T * W) @ X, X.T @ S, rcond=None)[0]
            if (m[1:] < m[:-1]).any():
                m = isotonic_regression(m, sample_weight=W)
            yield Fit(m.clip(0, C.shape[1] - 1), knots)


def choose_fit(fits: list[Fit], C: Array) -> int:
    """The fit of the least generalised cross-validation error (Craven & Wahba 1979), if it is
    better than the first by more than a standard error; else 0."""
    n, y = C.sum(), np.arange(C.shape[1])
    errors = np.array([((y - m[:, None]) / (1 - k / n)) ** 2 for m, k in fits])
    gains = errors[0] - errors
    mean = np.tensordot(gains, C) / n
    variance = np.tensordot((gains - mean[:, None, None]) ** 2, C) / n
    return int(np.argmax(np.where(mean > np.sqrt(variance / n), mean, 0.0)))
