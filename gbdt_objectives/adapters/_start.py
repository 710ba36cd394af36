"""Where boosting starts: an objective in the hands of a booster for one training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _boosters, _callers, _checks, _workers
from gbdt_objectives._checks import Array
from gbdt_objectives._devices import to_host
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.base import BoundObjective, Start, check_margin_shape

TOLERANCE = 1e-3
"""Relative; a start in float32, or as a logistic base_score, is good to 4e-4 of log-odds."""


def start_margin(objective: Objective) -> Start:
    """Where boosting starts: the objective's intercept, (K,) for K outputs; 0 if it has none."""
    intercept = objective.intercept
    if intercept is None:
        return 0.0
    return np.array(intercept) if isinstance(intercept, tuple) else intercept


def start_of_rows(objective: Objective, rows: int) -> Array:
    """Where boosting starts in each row, (n,) or (n, K)."""
    start = start_margin(objective)
    return np.full(rows if objective.outputs == 1 else (rows, objective.outputs), start)


def read_starts(
    name: str, values: Any, outputs: int, rows: int | None = None, order: Any = "C"
) -> Array:
    """The start of each row, (n,) or (n, K), from what may be flat, in this order."""
    if outputs == 1:
        starts = _checks.vector(name, values)
        if rows is not None:
            _checks.same_length(name, starts, "the labels", rows)
        return starts
    given = _checks.real_array(name, values)
    _checks.finite(name, given.ravel())
    n = given.size // outputs if rows is None else rows
    if given.size != n * outputs or (given.ndim > 1 and given.shape[1] != outputs):
        raise ValueError(
            f"{name} must have shape ({'n' if rows is None else n}, {outputs}), a start for each "
            f"output of the objective, found {given.shape}"
        )
    return given.reshape((n, outputs), order=order)


class StartedObjective:
    """The objective of one training, bound to its data in the first round.

    It can be called in all the ways that boosters use. The first margins must be those at
    which training is to start: a lost start raises instead of training a different model.

    Parameters
    ----------
    objective : Objective
        As measured, after the first round.
    start : float, array of the margins' shape or None
        What the booster's first margins must be; None when continuing an earlier model.
    shifts : bool
        Whether to add the objective's intercept to every margin, for a booster that starts
        at 0 and gets the intercept after training.

    Attributes
    ----------
    shift : float, or array of shape (K,)
        What is added; known after the first round.
    """

    def __init__(
        self, objective: Objective, start: float | Array | None, *, shifts: bool = False
    ) -> None:
        self.objective = objective
        self.start = start
        self.shifts = shifts
        self.shift: Start = 0.0
        self._bound: BoundObjective | None = None
        self._calls = 0

    def __call__(
        self, a: Any, b: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        native = hasattr(b, "get_label")
        margin = a if native else b
        self._calls += 1
        with _workers.together(self.objective, self._calls):
            if self._bound is None:
                y, w = _checks.label_weight(b) if native else (a, sample_weight)
                if not _workers.workers():
                    _callers.refuse_alone(self.objective.equations.name, _boosters.stack())
                self._check_start(np.asarray(to_host(margin)))
                self.objective = self.objective.measured(y, w)
                if self.shifts:
                    self.shift = start_margin(self.objective)
                self._bound = self.objective.bind(y, w, start=self.shift)
            return self._bound(margin)

    def of(self, data: Any) -> StartedObjective:
        """The started objective of a data set: a cross-validation has one for each fold."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> StartedObjective:
        return self  # LightGBM copies its parameters

    def _check_start(self, margin: Array) -> None:
        if self.start is None or margin.size == 0:  # a worker may have no rows
            return
        check_margin_shape(self.objective, margin)
        expected = np.broadcast_to(np.asarray(self.start, np.float64), margin.shape)
        wrong = np.abs(margin - expected) > TOLERANCE * (1 + np.abs(expected))
        if wrong.any():
            row = int(np.argwhere(wrong)[0][0])
            found, should = margin[row].tolist(), expected[row].tolist()
            raise lost_start(
                f"boosting starts at a margin of {_checks.shown(found)} in row {row} instead of "
                f"{_checks.shown(should)}"
            )


def lost_start(found: str) -> RuntimeError:
    return RuntimeError(
        f"{found}: the start was lost. LightGBM drops the init_score of a subset that it builds, "
        "or rebuilds when params differ from the Dataset's: set it on the whole Dataset, and give "
        "both the same params. Do not train with init_model on this Dataset at the same time"
    )


def shift_metric(rendered: Callable[..., Any], shift: Callable[[Any], Start]) -> Callable[..., Any]:
    """A rendered metric that sees a booster's margins plus what the objective adds to them."""

    def measure(margin: Array, data: Any, sample_weight: None = None) -> Any:
        moved = margin + shift(data) if len(margin) else margin  # without rows it is flat
        return rendered(moved, data)

    return measure
