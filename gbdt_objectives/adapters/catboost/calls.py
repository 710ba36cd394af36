"""What CatBoost calls in each round: an objective on blocks of rows, and a metric on all rows.

It copies both with its parameters, and reports an error of theirs as its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import catboost
import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives._links import Link
from gbdt_objectives.adapters._models import CannotTrain
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.function import FunctionLoss

BLOCK = 1000  # as many rows as CatBoost passes at once


def reporting(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which also keeps an error that it raises."""

    @wraps(method)
    def call(self: Called, *args: Any) -> Any:
        try:
            return method(self, *args)
        except Exception as error:
            self.error = error
            raise

    return call


class Called:
    no_jit = True  # else CatBoost would compile the methods, or warn that it cannot
    error: Exception | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Called:
        return self


class RowWise(Called):
    """A measured objective of checked rows, at CatBoost's margins plus ``shift``."""

    shifts = False  # as the package asks of what a library calls: ``shift`` is known from the start

    def __init__(self, objective: Objective, shift: float) -> None:
        self.objective, self.shift = objective, shift

    @reporting
    def calc_ders_range(self, margin: Array, y: Array, w: Array | None) -> Array:
        """The negative gradient and hessian, (n, 2)."""
        f, found = margin + self.shift, np.empty((len(margin), 2))
        loss, y = self.objective.equations, y.astype(np.float64)
        if isinstance(loss, FunctionLoss):  # which applies the weights itself
            found[:, 0], found[:, 1] = loss.of_part(y, f, w)
            return np.negative(found, out=found)
        found[:, 0], found[:, 1] = loss.gradient_hessian(y, f, None, np)
        if not np.isfinite(found).all():
            self.objective.gradient_hessian(y, f, w)  # says what is wrong
        found *= -1.0 if w is None else -w[:, np.newaxis]
        return found


class Unmeasured(Called):
    """What CatBoost, which wants a metric, measures where nobody named one."""

    def is_max_optimal(self) -> bool:
        return False

    def evaluate(self, margins: Any, y: Array, w: Array | None) -> tuple[float, float]:
        return 0.0, 1.0

    def get_final_error(self, value: float, n: float) -> float:
        return value


class Measured(Unmeasured):
    """A metric, at CatBoost's margins plus ``shift``, or at what the link makes of them."""

    def __init__(self, metric: Metric, shift: float, link: Link | None) -> None:
        self.metric, self.shift, self.link = metric, shift, link

    def is_max_optimal(self) -> bool:
        return self.metric.greater_is_better

    @reporting
    def evaluate(self, margins: Any, y: Array, w: Array | None) -> tuple[float, float]:
        f = np.column_stack(margins).squeeze(axis=1) if len(margins) == 1 else np.array(margins).T
        f = f + self.shift if self.link is None else self.link.inverse(f)
        return self.metric._of_everybody(y, f, w), 1.0


def rendered(metric: Metric | None, shift: float = 0.0, link: Link | None = None) -> Called:
    """The metric, under its own name of a class, at margins or at what ``link`` makes of them."""
    if metric is None:
        return Unmeasured()
    kind: type[Measured] = type(metric.name, (Measured,), {})
    return kind(metric, shift, link)


@contextmanager
def explain(*called: Any) -> Iterator[None]:
    """Raise what one of the ``called`` found wrong, which CatBoost tells as text."""
    try:
        yield
    except catboost.CatBoostError:
        for error in [one.error for one in called if isinstance(one, Called) and one.error]:
            raise error from None
        raise


def check_row_wise(objective: Objective, y: Array) -> None:
    """Raise unless the measured objective is right on blocks; what a user wrote is tried."""
    why, remedy = "", "train it with XGBoost or LightGBM"
    if objective.outputs > 1:
        why = f"has {objective.outputs} outputs, which CatBoost asks for one row at a time"
    elif objective.is_by_row:
        why = "has values of each row, but CatBoost does not say which rows a block holds"
    elif (
        objective.couples_rows
        or (objective.whole and not isinstance(objective.equations, FunctionLoss))
        or depends_on_others(objective, y)
    ):
        why = f"has a gradient that needs all rows, but CatBoost passes {BLOCK} at a time"
        remedy = "use XGBoost, LightGBM, or squared error: QWKClassifier(CatBoostRegressor())"
    if why:
        raise CannotTrain(f"{objective!r} {why}: {remedy}")


def depends_on_others(objective: Objective, y: Array) -> bool:
    """Whether gradients of a part of the rows are others than those of all."""
    f = np.random.default_rng(0).normal(objective.intercept or 0.0, 1.0, len(y))
    part = slice(min(BLOCK, max(1, len(y) // 2)))
    own = np.array(objective.gradient_hessian(y[part], f[part]))
    found = np.array(objective.gradient_hessian(y, f))[:, part]
    return not np.allclose(found, own, rtol=1e-5, atol=1e-9 * np.abs(own).max())
