"""Shared by objectives that couple rows: their own ``reduce``, and the labels that they measure."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._rows import Rows
from gbdt_objectives._workers import Reduce
from gbdt_objectives.objectives.base import Loss

LabelRange = tuple[float, float]


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


def read_training_labels(y_true: ArrayLike | None, sample_weight: ArrayLike | None) -> Rows | None:
    """The labels and weights of the rows that count; None if no labels are given."""
    if y_true is None:
        if sample_weight is not None:
            raise ValueError("sample_weight is given without y_true: it would be ignored")
        return None
    y = _checks.vector("y_true", y_true)
    w = _checks.weights("sample_weight", sample_weight, len(y))
    return Rows(y) if w is None else Rows(y[w > 0], w=w[w > 0])


def range_of_labels(y: Array, label_range: LabelRange | None) -> LabelRange:
    """``label_range``, in which all labels must lie, or (min, max)."""
    if label_range is None:
        low, high = float(y.min()), float(y.max())
        if low == high:
            raise constant_labels("y_true", low)
        label_range = (low, high)
    _checks.in_label_range("y_true", y, label_range)
    return label_range


def check_prior_covers(y: Array, prior_labels: Array) -> None:
    """Raise unless ``target_prior`` names every label."""
    named = np.isin(y, prior_labels)
    if not named.all():
        missing = float(y[~named][0])
        raise ValueError(
            f"label {missing:g} occurs in y_true but not in target_prior: give its "
            "probability, 0 if it will never occur"
        )


def constant_labels(name: str, label: float) -> ValueError:
    return ValueError(
        f"{name}: the labels of positive weight are constant, all {label:g}: kappa is undefined "
        "for a single class"
    )
