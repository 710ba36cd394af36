"""What objectives that couple rows share: their own reduce, and the labels that they measure."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._workers import Reduce
from gbdt_objectives.objectives.base import Objective

LabelRange = tuple[float, float]


def check_reduce(reduce: Reduce | None) -> None:
    if reduce is not None and not callable(reduce):
        raise TypeError(f"reduce must be callable or None, found {type(reduce).__name__}")


def check_complete(objective: Objective, factory: str) -> None:
    """Raise if an objective with a reduce of its own would have to measure labels."""
    if not objective._is_complete:
        raise ValueError(
            "reduce is given, but not all that is measured on labels: with a reduce of your own "
            f"pass the labels of all workers, {factory}(labels, reduce=reduce), or what they say, "
            "as target_prior and label_range"
        )


def check_weights_have_labels(labels: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
    if labels is None and sample_weight is not None:
        raise ValueError("sample_weight is given without labels: it would be ignored")


def range_of_labels(y: Array, label_range: LabelRange | None) -> LabelRange:
    """``label_range``, in which all labels must lie, or (min, max)."""
    if label_range is None:
        low, high = float(y.min()), float(y.max())
        if low == high:
            raise ValueError(
                f"labels are constant, all {low:g}: kappa is undefined for a single class"
            )
        label_range = (low, high)
    _checks.in_label_range("labels", y, label_range)
    return label_range


def check_prior_covers(y: Array, prior_labels: Array) -> None:
    """Raise unless ``target_prior`` names every label."""
    named = np.isin(y, prior_labels)
    if not named.all():
        missing = float(y[~named][0])
        raise ValueError(
            f"label {missing:g} occurs in labels but not in target_prior: give its "
            "probability, 0 if it will never occur"
        )


def constant_labels(name: str, label: float) -> ValueError:
    return ValueError(
        f"{name}: the labels of positive weight are constant, all {label:g}: kappa is undefined "
        "for a single class"
    )
