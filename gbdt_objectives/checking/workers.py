"""Two workers that train together, without a cluster: sums of everybody, and own gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives._rows import FLOAT64, Rows
from gbdt_objectives._workers import some_rows
from gbdt_objectives.checking.probe import ROWS, Probe
from gbdt_objectives.checking.report import Failure, Skipped
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.base import compute, read_rows

T = TypeVar("T")

PARTS = np.split(np.arange(ROWS), [ROWS // 3])
"""The rows of each worker, not alike."""

CLOSE = 1e-6
"""How near sums must be, which are of float64."""

COUPLED = (
    "the gradient of a row depends on other rows: several workers refuse to train on it, as they "
    "would not on ratio_objective(...), or on a Loss with totals"
)


def check_workers(probe: Probe) -> str | None:
    """The mean loss and the gradient of each worker are those of one machine with all rows."""
    target = probe.target
    if not isinstance(target, Objective):
        raise Skipped("a function knows its own rows only: a Loss adds up everybody's")
    if target.whole:  # each worker adds the loss of its rows, and refuses coupled gradients
        return COUPLED if probe.couples_rows else None
    if target.has_loss:
        expected, (found, _) = _of_one(probe, _mean_loss), _of_two(probe, _mean_loss)
        if not np.isclose(found, expected, rtol=CLOSE, atol=CLOSE):
            raise Failure(
                f"the mean loss of two workers is {found:.4g}, where one machine with their rows "
                f"finds {expected:.4g}: value must give the loss and the weight of everybody's "
                "rows, counted once; add up with rows.sum(terms)"
            )
    whole, parts = _of_one(probe, _gradient), np.concatenate(_of_two(probe, _gradient))
    if not np.allclose(parts, whole, rtol=CLOSE, atol=CLOSE * float(np.abs(whole).max())):
        raise Failure(
            "the gradient of two workers is not that of one machine with their rows: measured and "
            "totals must be of everybody's rows; add up with rows.sum(terms)"
        )
    return None


def _mean_loss(objective: Objective, rows: Rows) -> float:
    total, n = objective.equations.value(rows)
    return total / n


def _gradient(objective: Objective, rows: Rows) -> Array:
    gradient: Array = compute(objective.equations, rows, FLOAT64)[0]
    return gradient


class Asked(BaseException):
    """A sum that is asked for and not known yet; ``own`` is this worker's part of it.

    No Exception, so that a loss that handles its own errors does not handle this one.
    """

    def __init__(self, own: Array) -> None:
        self.own = own


@dataclass(frozen=True, eq=False)
class RowsOfWorker(Rows):
    """Rows of one worker of several: ``known`` has what all of them said, message by message."""

    known: Iterator[Array] = field(default_factory=lambda: iter(()))

    def total(self, own: Any) -> Array:
        return np.asarray(self._said_by_all(own).sum(axis=0))

    def parts(self, statistics: Callable[[Rows], Any]) -> Array:
        return self._said_by_all(statistics(self))

    def _said_by_all(self, own: Any) -> Array:
        said = next(self.known, None)
        if said is None:
            raise Asked(np.asarray(own, np.float64))
        return said


def _of_one(probe: Probe, compute: Callable[[Objective, Rows], T]) -> T:
    """What is computed of all rows."""
    return _measured(probe.target, read_rows(probe.target, probe.y, probe.f, probe.w), compute)


def _of_two(probe: Probe, compute: Callable[[Objective, Rows], T]) -> Sequence[T]:
    """What each of two workers computes, run again from its start with each sum that is known."""
    known: list[Array] = []
    while True:
        asked, computed = [], []
        for at in PARTS:
            objective = probe.target.take(at)
            with some_rows():
                rows = read_rows(objective, probe.y[at], probe.f[at], probe.w[at])
                values = {part.name: getattr(rows, part.name) for part in fields(Rows)}
                try:
                    own = RowsOfWorker(**values, known=iter(known))
                    computed.append(_measured(objective, own, compute))
                except Asked as more:
                    asked.append(more.own)
        if not asked:
            return computed
        if computed or len({own.shape for own in asked}) > 1:
            raise Failure(
                "one of two workers asks for sums that the other does not ask for: each would "
                "wait for ever; call rows.sum as often, whatever the labels are"
            )
        known.append(np.stack(asked))


def _measured(objective: Objective, rows: Rows, compute: Callable[[Objective, Rows], T]) -> T:
    if objective.needs_labels:
        objective = objective.measured_on(replace(rows, f=None))
    return compute(objective, rows)
