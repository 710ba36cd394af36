"""Check two workers that train together, without a cluster: their sums, and own gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gbdt_objectives._checks import Array, shown
from gbdt_objectives._rows.rows import FLOAT64, Rows
from gbdt_objectives._rows.workers import some_rows
from gbdt_objectives.checking.probe import ROWS, Failure, Probe
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.base import compute, read_rows

Found = tuple[float, Array, Array]  # mean loss, gradient of the rows at hand, and intercept
PARTS = np.split(np.arange(ROWS), [ROWS // 3])  # the rows of each worker, in parts of unlike size
CLOSE = 1e-6  # relative tolerance of sums, which are float64

COUPLED = (
    "the gradient of a row depends on other rows: several workers refuse to train on it; for them "
    "write it as ratio_objective(...), or as a Loss with totals"
)


def check_workers(probe: Probe) -> str | None:
    """Each worker's mean loss, gradient and intercept are those of one machine with all rows."""
    target = probe.objective("a function knows its own rows only: a Loss adds up all workers'")
    if target.whole:  # each worker adds the loss of its rows, and refuses coupled gradients
        return COUPLED if probe.couples_rows else None
    expected, whole, start = _computed(target, read_rows(target, probe.y, probe.f, probe.w))
    (found, first, own_start), (_, second, _) = _of_two(probe)
    if not np.isclose(found, expected, rtol=CLOSE, atol=CLOSE):
        raise Failure(
            f"the mean loss of two workers is {found:.4g}, where one machine with their rows finds "
            f"{expected:.4g}: value must give the loss and the weight of all workers' rows, "
            "counted once; add up with rows.sum(terms)"
        )
    if np.abs(np.concatenate([first, second]) - whole).max() > CLOSE * np.abs(whole).max():
        raise Failure(
            "the gradient of two workers is not that of one machine with their rows: measured and "
            "totals must be of all workers' rows; add up with rows.sum(terms)"
        )
    if not np.allclose(own_start, start, rtol=CLOSE, atol=CLOSE, equal_nan=True):
        raise Failure(
            f"the intercept of one of two workers is {shown(own_start.tolist())}, where one "
            f"machine with their rows starts at {shown(start.tolist())}: measured must be of "
            "all workers' rows; add up with rows.sum(terms)"
        )
    return None


def _computed(objective: Objective, rows: Rows) -> Found:
    loss = objective.measured_on(replace(rows, f=None)).equations
    total, n = loss.value(rows) if loss.has_loss else (0.0, 1.0)
    return total / n, compute(loss, rows, FLOAT64)[0], np.array(loss.intercept, np.float64)


class Question(BaseException):
    """Raised for a sum that is not known yet, of which ``own`` is this worker's part; no Exception,
    so that a loss that handles its own errors does not handle it."""

    def __init__(self, own: Array) -> None:
        self.own = own


@dataclass(frozen=True, eq=False)
class RowsOfWorker(Rows):
    """Rows of one of several workers; ``known`` holds what all workers sent, message by message."""

    known: Iterator[Array] = field(default_factory=lambda: iter(()))

    def total(self, own: Any) -> Array:
        return np.asarray(self._said_by_all(own).sum(axis=0))

    def parts(self, statistics: Callable[[Rows], Any]) -> Array:
        return self._said_by_all(statistics(self))

    def _said_by_all(self, own: Any) -> Array:
        said = next(self.known, None)
        if said is None:
            raise Question(np.asarray(own, np.float64))
        return said


def _of_two(probe: Probe) -> list[Found]:
    """The finding of each of two workers, run again from the start with each sum that is known."""
    known: list[Array] = []
    while True:
        asked, found = [], []
        for at in PARTS:
            objective = probe.target.take(at)
            with some_rows():
                rows = read_rows(objective, probe.y[at], probe.f[at], probe.w[at])
                of_worker = RowsOfWorker(**vars(rows), known=iter(known))
                try:
                    found.append(_computed(objective, of_worker))
                except Question as more:
                    asked.append(more.own)
        if not asked:
            return found
        if found or asked[0].shape != asked[1].shape:
            raise Failure(
                "one of two workers asks for sums that the other does not ask for: each would "
                "wait for ever; call rows.sum as often, whatever the labels are"
            )
        known.append(np.stack(asked))
