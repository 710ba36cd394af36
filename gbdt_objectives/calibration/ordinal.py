"""Class probabilities from a score of ordered classes: proportional odds on a curve of the score.

Symbols: y is the class position 0..K-1, s the score, w the weight; f(s) a latent score that rises
with s; P(y <= k) = sigma(theta_{k+1} - f), with thresholds theta of least loss for any f.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives._steps.steps import (
    Step,
    bases,
    evaluate,
    isotonic,
    mean_scores,
    normal_scores,
    number_pools,
)
from gbdt_objectives.objectives import Objective, ordinal_logit_objective

FIRST_SLOPE = 0.0  # log(n), as BIC says, left curves flat: experiments/ordinal_probabilities
PENALTY = 0.01  # of squared coefficients, which grow without end where the score separates classes


@dataclass(frozen=True, eq=False)
class OrdinalCurve:
    """A polygon through points (score, latent score), and thresholds of the latter."""

    steps: tuple[Step, ...]

    def __call__(self, score: Array) -> Array:
        """Probabilities (n, K); beyond the scores seen in fitting they stay constant."""
        return evaluate(score, *self.steps)

    @property
    def is_flat(self) -> bool:
        """Whether all scores have the same probabilities."""
        return bool(np.ptp(self.steps[0]["y"]) == 0)


class LaterCurve:
    """What :func:`fit_ordinal_curve` makes of these arguments when it is first called, as it takes
    as long as a few models. A pickle has the curve, not the rows."""

    def __init__(self, *rows: Any) -> None:
        self.rows = rows

    @cached_property
    def fitted(self) -> OrdinalCurve:
        return fit_ordinal_curve(*self.rows)

    @property
    def is_flat(self) -> bool:
        return self.fitted.is_flat

    def __call__(self, score: Array) -> Array:
        return self.fitted(score)

    def __getstate__(self) -> dict[str, OrdinalCurve]:
        return {"fitted": self.fitted}


def fit_ordinal_curve(
    position: Array, score: Array, w: Array | None, K: int, stretch: float = 1.0, n_models: int = 1
) -> OrdinalCurve:
    """The curve of least BIC among natural splines in the normal score, with 0, 2, 3 and 5 knots,
    pooled where it falls; the first slope is for nothing. Rows have weight above 0 and
    rising scores, of one model each; the curve is for means of ``n_models`` with ``stretch``, and
    steeper."""
    v = np.ones(len(score)) if w is None else w.astype(np.float64)
    pool = number_pools(score, v)
    counts = np.bincount(pool * K + position.astype(np.intp), v, minlength=(pool[-1] + 1) * K)
    at = np.flatnonzero(counts)  # a row for each pool and class
    cells = Cells(at // K, (at % K).astype(np.float64), counts[at])
    W = counts.reshape(-1, K).sum(axis=1)
    objective = ordinal_logit_objective(K)
    best, least = np.zeros(len(W)), math.inf
    q, constant = normal_scores(W), np.ones((len(W), 1))
    line = [np.column_stack([constant, q])] if len(W) > 1 else []
    for X in [constant, *(bases(q, W) or line)]:  # few scores have a line at least
        X = X[:, 1:]  # thresholds hold the constant
        f = isotonic(minimize_loss(objective, X, cells), W)
        loss, _ = cells.loss_and_slope(objective, f)
        cost = FIRST_SLOPE + (X.shape[1] - 1) * math.log(W.sum()) if X.shape[1] else 0.0
        if 2 * loss + cost < least:
            best, least = f, 2 * loss + cost
    best *= steeper(np.cov(position, score, ddof=0, aweights=v), stretch, n_models)
    fitted: Any = objective.fitted(cells.y, best[cells.pool], cells.w).equations
    x = mean_scores(score.astype(np.float64), v, pool, W)
    return OrdinalCurve(({"formula": "interpolate", "x": x, "y": best}, fitted.step()))


def steeper(covariance: Array, stretch: float, n_models: int) -> float:
    """The slope of log-odds by the stretched mean of M models, over that by the score of one:
    stretch sqrt((1 - rho^2) / (1 - stretch^2 rho^2)), with rho the correlation of class and score
    (``docs/theory/qwk.md``). M models leave at least 1/M of the share 1 - rho^2."""
    explained = covariance[0, 1] ** 2
    left = covariance[0, 0] * covariance[1, 1] - explained
    if left <= 0:  # one class or score, or each class has a score of its own
        return stretch
    return stretch / math.sqrt(max(1 - (stretch**2 - 1) * explained / left, 1 / n_models))


class Cells(NamedTuple):
    """The weight w of the rows of class y in a pool; all have shape (c,)."""

    pool: Array
    y: Array
    w: Array

    def loss_and_slope(self, objective: Objective, f: Array) -> tuple[float, Array]:
        """The loss with thresholds of least loss, and its derivative by f, (P,)."""
        at = f[self.pool]
        fitted = objective.fitted(self.y, at, self.w)
        gradient, _ = fitted.gradient_hessian(self.y, at, self.w)
        slope: Array = np.bincount(self.pool, gradient, minlength=len(f))
        return fitted.loss(self.y, at, self.w), slope


def minimize_loss(objective: Objective, X: Array, cells: Cells) -> Array:
    """The curve f = X beta of least loss, (P,)."""
    from scipy.optimize import minimize

    if not X.shape[1]:
        return np.zeros(len(X))
    X = X / np.abs(X).max(axis=0)
    total = cells.w.sum()

    def loss_and_slope(beta: Array) -> tuple[float, Array]:
        loss, slope = cells.loss_and_slope(objective, X @ beta)
        loss += PENALTY / 2 * float(beta @ beta)
        return loss / total, (X.T @ slope + PENALTY * beta) / total

    start = np.zeros(X.shape[1])
    options = {"gtol": 1e-9}  # as near as rounding lets: weights then equal copies of rows
    found: Array = X @ minimize(loss_and_slope, start, jac=True, method="BFGS", options=options).x
    return found
