"""Losses and the ways to ask them, for boosters that several workers train.

All modules of this file are imported by the workers. Training has a step of 0, so that the margins
are those given, in every round and known to all: each worker compares what it gets for its own rows
with numpy's answer for everybody's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost as xgb
from scipy.special import expit

import gbdt_objectives as go
from gbdt_objectives.objectives import REAL, Loss
from tests.matrix.tables import (
    focal,
    mean_qwk_loss,
    poisson,
    poisson_loss,
    squared_error,
    squared_loss,
)

Array = np.ndarray[Any, Any]

N, ROUNDS = 64, 2
F = np.linspace(-0.75, 2.75, N).astype(np.float32)
"""Margins, by which a worker knows which rows are its own."""

FEATURE = (np.arange(N)[:, np.newaxis] // 8).astype(float)
W = 1.0 + np.arange(N) % 3
EVENTS = (np.arange(N) % 5 > 2 - np.arange(N) // 32).astype(float)
GRADES = np.clip(np.arange(N) // 20 + np.arange(N) % 3 - 1, 0, 3).astype(float)
COUNTS = (np.arange(N) % 4).astype(float)
FLOAT32 = 2e-6
"""Relative, of the largest: gradients are float32."""


@dataclass(frozen=True, kw_only=True)
class LogSquaredError(Loss):
    """n/2 log S, S = sum w (f-y)^2: a user's own loss that couples rows."""

    hessian = "upper_bound"
    labels = REAL

    def totals(self, rows):
        return rows.sum(lambda y, f, xp: (1.0, (f - y) ** 2)).tolist()

    def value(self, rows):
        n, S = self.totals(rows)
        return n / 2 * np.log(S), n

    def gradient_hessian(self, y, f, totals, xp):
        n, S = totals
        return n / S * (f - y), n / S


def of_qwk(y: Array, f: Array, w: Array | None) -> tuple[Array, Array]:
    """A user's function that asks an objective which couples rows."""
    return go.qwk_objective().gradient_hessian(y, f, w)


def centred(y: Array, f: Array, w: Array | None) -> tuple[Array, Array]:
    """A user's function that couples rows itself, of which a worker sees its own."""
    return w * (f - y + np.average(f, weights=w)), w


def centred_loss(y: Array, f: Array, w: Array | None) -> float:
    return 0.0


# --- the truth


def qwk_gradient(y: Array, f: Array, w: Array) -> Array:
    a, p = np.average(y, weights=w), np.clip(f, y.min(), y.max())
    share = (w * (p - y) ** 2).sum() / (
        w * ((p - a) ** 2 + np.average((y - a) ** 2, weights=w))
    ).sum()
    return w * (p - y - share * (p - a))


def focal_gradient(y: Array, f: Array, w: Array) -> Array:
    step = 1e-6
    return w * (focal(y, f + step) - focal(y, f - step)) / (2 * step)


def log_squared_gradient(y: Array, f: Array, w: Array) -> Array:
    return w * w.sum() / (w * (f - y) ** 2).sum() * (f - y)


@dataclass(frozen=True)
class Case:
    """A loss, its rows, and what numpy says of all of them."""

    name: str
    objective: go.Objective
    y: Array
    gradient: Callable[[Array, Array, Array], Array]
    mean_loss: Callable[[Array, Array, Array], float]
    right: bool = True
    """Whether several workers must get it right, or else refuse."""
    tolerance: float = FLOAT32


CASES = {
    case.name: case
    for case in (
        Case("row-wise-logit", go.weighted_logloss_objective(1.0), EVENTS,
             lambda y, f, w: w * (expit(f) - y),
             lambda y, f, w: np.average(np.logaddexp(0, f) - y * f, weights=w)),
        Case("row-wise-score", go.focal_objective(2.0), EVENTS, focal_gradient,
             lambda y, f, w: np.average(focal(y, f), weights=w), tolerance=1e-5),
        Case("coupled", go.qwk_objective(), GRADES, qwk_gradient, mean_qwk_loss),
        Case("coupled-of-a-user", go.objective(LogSquaredError()), GRADES, log_squared_gradient,
             lambda y, f, w: np.log((w * (f - y) ** 2).sum()) / 2),
        Case("function-log", go.objective(poisson, loss=poisson_loss, link="log"), COUNTS,
             lambda y, f, w: w * (np.exp(f) - y),
             lambda y, f, w: poisson_loss(y, f, w) / w.sum()),
        Case("function", go.objective(squared_error, loss=squared_loss), GRADES,
             lambda y, f, w: w * (f - y), lambda y, f, w: squared_loss(y, f, w) / w.sum()),
        Case("function-of-an-objective", go.objective(of_qwk, loss=centred_loss), GRADES,
             qwk_gradient, lambda y, f, w: 0.0, right=False),
        Case("function-coupled", go.objective(centred, loss=centred_loss), GRADES,
             lambda y, f, w: w * (f - y + np.average(f, weights=w)), lambda y, f, w: 0.0,
             right=False),
    )
}  # fmt: skip


# --- entry points: (objective, margins, data) to a gradient of the own rows, or a mean loss

Asked = tuple[go.Objective, Array, xgb.DMatrix]


def call(objective: go.Objective, f: Array, data: xgb.DMatrix) -> Any:
    return objective(f, data)[0]


def call_as_scikit_learn(objective: go.Objective, f: Array, data: xgb.DMatrix) -> Any:
    return objective(data.get_label(), f, data.get_weight())[0]


def gradient_hessian(objective: go.Objective, f: Array, data: xgb.DMatrix) -> Any:
    return objective.gradient_hessian(data.get_label(), f, data.get_weight())[0]


def bind(objective: go.Objective, f: Array, data: xgb.DMatrix) -> Any:
    return objective.bind(data.get_label(), data.get_weight())(f)[0]


def measured(objective: go.Objective, f: Array, data: xgb.DMatrix) -> Any:
    y, w = data.get_label(), data.get_weight()
    return objective.measured(y, w)(y, f, w)[0]


def mean_loss(objective: go.Objective, f: Array, data: xgb.DMatrix) -> Any:
    return objective.mean_loss(data.get_label(), f, data.get_weight())


def metric(objective: go.Objective, f: Array, data: xgb.DMatrix) -> Any:
    return go.loss_metric(objective).xgboost(f, data)[1]


ENTRIES = {
    entry.__name__: entry
    for entry in (call, call_as_scikit_learn, gradient_hessian, bind, measured, mean_loss, metric)
}


def error_of(case: Case, entry: Callable[..., Any], f: Array, data: xgb.DMatrix) -> float:
    """How far the answer is from numpy's, relative to the largest."""
    found = np.asarray(entry(case.objective, f, data), float)
    margin = F.astype(float)
    if not found.ndim:
        truth = np.asarray(case.mean_loss(case.y, margin, W))
        return float(abs(found - truth) / max(1e-3, abs(truth)))
    own = np.searchsorted(F, f)
    truth = case.gradient(case.y, margin, W)
    return float(np.abs(found - truth[own]).max() / np.abs(truth).max())


def share(rank: int, world: int) -> Array:
    """The rows of a worker: those of low margins, or of high ones."""
    return np.array_split(np.arange(N), world)[rank]


def data_of(case: Case, rows: Array) -> xgb.DMatrix:
    return xgb.DMatrix(FEATURE[rows], case.y[rows], weight=W[rows], base_margin=F[rows])


PARAMS = {"eta": 0.0, "nthread": 1, "max_depth": 2}


def ask(rank: int, world: int, name: str, entry: str, where: str) -> float:
    """The largest error in a training, of an entry point in the user's own objective or metric, or
    of what XGBoost itself passes to the objective or metric."""
    case, errors = CASES[name], [0.0]

    def asked(f: Array, data: xgb.DMatrix) -> None:
        errors.append(error_of(case, ENTRIES[entry], f, data))

    def own_objective(f: Array, data: xgb.DMatrix) -> Any:
        if where == "objective":
            asked(f, data)
        return np.zeros(len(f)), np.ones(len(f))

    def own_metric(f: Array, data: xgb.DMatrix) -> Any:
        if where == "metric":
            asked(f, data)
        return "own", 0.0

    data = data_of(case, share(rank, world))
    xgb.train(
        PARAMS, data, ROUNDS, obj=own_objective, custom_metric=own_metric, evals=[(data, "v")],
        verbose_eval=False,
    )  # fmt: skip
    assert len(errors) == ROUNDS + 1
    return max(errors)


def ask_all(rank: int, world: int, name: str, cells: list[tuple[str, str]]) -> list[float]:
    """The errors of several entry points and places, in trainings one after the other."""
    return [ask(rank, world, name, entry, where) for entry, where in cells]


def compare(name: str, entries: list[str], f: Array, data: xgb.DMatrix) -> Any:
    """A user's own objective that raises where an answer is not numpy's; for an engine from which
    nothing else comes back."""
    if not 0 < len(f) < N:
        raise RuntimeError(f"a worker has {len(f)} rows of {N}")
    for entry in entries:
        error = error_of(CASES[name], ENTRIES[entry], f, data)
        if not error <= CASES[name].tolerance:
            raise RuntimeError(f"{entry} of {name} is {error} off")
    return np.zeros(len(f)), np.ones(len(f))
