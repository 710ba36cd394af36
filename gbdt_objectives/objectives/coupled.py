"""What losses n F/G share: arguments, sums, and the labels that they measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._checks.arrays import REAL, Domain, Interval
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives._rows.workers import Reduce
from gbdt_objectives.objectives.base import Loss

LabelRange = tuple[float, float]
Totals = tuple[float, float, float]


@dataclass(frozen=True)
class MeasuredRange(Interval):
    """The range from the lowest to the highest label, as given or as measured."""

    def __post_init__(self) -> None:
        """Whatever labels there are."""

    def check(self, name: str, values: Array) -> None:
        _checks.finite(name, values)
        _checks.in_label_range(name, values, (self.low, self.high))


class RatioOfSums(Loss):
    """The loss n F/G, of sums over all workers' rows; made by factories with these arguments."""

    hessian = "constant"
    label_range: LabelRange | None
    scale: str
    clip: bool

    @property
    def labels(self) -> Domain:
        return REAL if self.label_range is None else MeasuredRange(*self.label_range)

    @property
    def scale_free(self) -> bool:
        return self.scale == "residual"

    @property
    def _needs_range(self) -> bool:
        return self.clip and self.label_range is None

    def clipped(self, p: Any, xp: Any) -> Any:
        return xp.clip(p, *self.label_range) if self.clip else p  # type: ignore[misc]

    def value(self, rows: Rows) -> tuple[float, float]:
        n, F, G = self.totals(rows)
        return n * F / G, n


def read_options(
    scale: Any, clip: Any, label_range: Any, reduce: Any, y_true: Any, sample_weight: Any
) -> tuple[Any, bool, LabelRange | None]:
    """The scale, clip and label range of a kappa; the other arguments are only checked."""
    scale = _checks.choice("scale", scale, ("residual", "kappa"))
    clip = _checks.flag("clip", clip)
    if label_range is not None:
        label_range = _checks.label_range("label_range", label_range)
    check_reduce(reduce)
    if y_true is None and sample_weight is not None:
        raise ValueError("sample_weight is given without y_true: it would be ignored")
    return scale, clip, label_range


def check_reduce(reduce: Reduce | None) -> None:
    if reduce is not None and not callable(reduce):
        raise TypeError(f"reduce must be callable or None, found {type(reduce).__name__}")


def check_finite_sums(F: float, G: float) -> None:
    if not math.isfinite(F + G):
        raise ValueError(
            f"margin, y_true and sample_weight are too large together, F = {F:g} and G = {G:g} "
            "overflow: lower the learning rate, or divide the labels or weights by a constant"
        )


def check_complete(loss: Loss, factory: str) -> None:
    """Raise if a loss with a reduce of its own would have to measure labels."""
    if loss.reduce is not None and loss.needs_labels:
        raise ValueError(
            "reduce is given, but not all that is measured on labels: with a reduce of your own "
            f"pass the labels of all workers, {factory}(y_true, reduce=reduce), or what they say, "
            "as target_prior and label_range"
        )


def measure_labels(
    measure: Callable[[Rows], Sequence[float] | Array], domain: Domain,
    label_range: LabelRange | None, prior_labels: Array | None, y_true: Any, sample_weight: Any,
) -> Sequence[float] | Array:  # fmt: skip
    """What is measured on rows that count; labels must be in the domain, range and prior."""
    if isinstance(y_true, tuple) and np.shape(y_true) == (2,):
        raise TypeError(
            f"y_true is {y_true}, which are labels of two rows: write label_range={y_true} for the "
            "lowest and the highest label"
        )
    y = _checks.vector("y_true", y_true)
    w = _checks.weights("sample_weight", sample_weight, len(y))
    rows = Rows(y) if w is None else Rows(y[w > 0], w=w[w > 0])
    if len(rows):
        domain.check("y_true", rows.y)
    if label_range is not None:
        _checks.in_label_range("y_true", rows.y, label_range)
    else:
        _checks.warn_of_code("y_true", rows.y)
    named = np.True_ if prior_labels is None else np.isin(rows.y, prior_labels)
    if not named.all():
        missing = float(rows.y[~named][0])
        raise ValueError(
            f"label {missing:g} occurs in y_true but not in target_prior: give its "
            "probability, 0 if it will never occur"
        )
    return measure(rows)


def range_between(low: Any, high: Any) -> LabelRange:
    """From the lowest to the highest label, if these differ."""
    if low == high:
        raise constant_labels("y_true", low)
    return float(low), float(high)


def constant_labels(name: str, label: float) -> ValueError:
    return ValueError(
        f"{name}: the labels of positive weight are constant, all {label:g}: kappa is undefined "
        "for a single class"
    )
