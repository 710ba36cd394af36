"""Checks of classes: labels, their order and range, groups of rows, and thresholds."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives._checks.arrays import (
    Array,
    as_array,
    each,
    finite,
    real_array,
    same_length,
    shown,
    vector,
)
from gbdt_objectives._checks.numbers import number

INTEGER_HINT = (
    "pass labels=[...], all classes in ascending order, if they are not consecutive integers"
)
"""What to do about classes that are no whole numbers."""


def binary_labels(name: str, y: Array) -> None:
    right = y == 0
    right |= y == 1
    remedy = "encode the rare event as 1 and everything else as 0"
    each(name, y, right, "must be 0 (negative) or 1 (positive)", remedy)


def label_range(name: str, value: object) -> tuple[float, float]:
    """(lowest label, highest label), the first below the second."""
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise TypeError(f"{name} must be a pair (lowest, highest label), found {shown(value)}")
    low, high = number(f"{name}[0]", value[0]), number(f"{name}[1]", value[1])
    if low == high:
        raise ValueError(
            f"{name} is the single value {low:g}: there must be at least two different labels"
        )
    if low > high:
        raise ValueError(f"{name} must be (lowest, highest), found {shown(value)}: swap the two")
    return low, high


def in_label_range(name: str, y: Array, label_range: tuple[float, float]) -> None:
    low, high = label_range
    each(
        name, y, (y >= low) & (y <= high), f"must lie in label_range {label_range}",
        "give the range of all labels, e.g. label_range=(0, 5), or make the objective or metric "
        "from the labels of all the rows",
    )  # fmt: skip


def category_order(name: str, values: object) -> Array | None:
    """All classes in ascending order, if it is a pandas Categorical, which must have one."""
    kind: Any = getattr(values, "dtype", None)
    ordered = getattr(kind, "ordered", None)
    if ordered is True:
        return np.asarray(kind.categories)
    if ordered is False and np.asarray(kind.categories).dtype.kind not in "biuf":
        raise TypeError(
            f"{name} is categorical without an order, {shown(list(kind.categories))}: pass "
            "labels=[...], all classes in ascending order, or an ordered Categorical"
        )
    return None


def kind_hint(y: Array) -> str:
    """What to do about classes of this type."""
    values = y.ravel().tolist() if y.dtype.kind == "O" else []
    if any(_missing(value) for value in values):
        return "leave rows without a label out"
    kinds = {type(value) for value in values}
    if kinds and all(kind is not bool and issubclass(kind, numbers.Integral) for kind in kinds):
        return "it holds integers, pass its .astype(int)"
    return INTEGER_HINT


def whole_numbers(name: str, values: ArrayLike) -> Array:
    """Classes that are numbers without fraction, (n,)."""
    y = as_array(name, values)
    if y.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {y.dtype}: {kind_hint(y)}")
    if y.dtype.kind in "iu" and y.ndim == 1 and y.size:
        return y
    y = vector(name, y)
    remedy = f"round scores or apply thresholds first, or {INTEGER_HINT}"
    each(name, y, y == np.rint(y), "must hold classes", remedy)
    return y


def check_order(labels: ArrayLike) -> Array:
    """At least two different classes, in ascending order."""
    order = as_array("labels", labels)
    if order.ndim != 1 or order.size < 2:
        raise ValueError(f"labels must list at least two classes in order, found {shown(labels)}")
    values, counts = np.unique(order, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"labels must be different from each other, found {shown(values[counts > 1].tolist())} "
            "more than once: list each class once, in ascending order"
        )
    return order


def positions(
    name: str, values: ArrayLike, order: Array, known: str = "labels",
    remedy: str = "list every class in labels",
) -> Array:  # fmt: skip
    """Index of each value in ``order``, which messages call ``known``, as small integers."""
    y = as_array(name, values)
    if y.ndim != 1 or y.size == 0:
        raise ValueError(f"{name} must be one-dimensional and not empty, found shape {y.shape}")
    if (y.dtype.kind in "biuf") != (order.dtype.kind in "biuf"):
        instead = f"have {order.dtype}: give both the same type; {kind_hint(y)}"
        if known != "labels":  # which the user did not write
            instead = f"are {shown(order.tolist())}: {remedy}"
        raise TypeError(f"{name} has dtype {y.dtype}, but {known} {instead}")
    small: Any = np.int8 if len(order) <= 127 else np.int32
    consecutive = order.dtype.kind in "iu" and bool((np.diff(order) == 1).all())
    position: Array
    if consecutive and y.dtype.kind in "iu" and y.min() >= order[0] and y.max() <= order[-1]:
        position = np.subtract(y, order[0], dtype=np.int64).astype(small)
        return position
    try:
        sorter = np.argsort(order)
        at = np.minimum(np.searchsorted(order, y, sorter=sorter), len(order) - 1)
    except TypeError:
        kinds = {type(label) for label in order.tolist()}
        row = next((i for i, value in enumerate(y.tolist()) if type(value) not in kinds), 0)
        raise TypeError(
            f"{name} holds {shown(y[row])} at row {row}, which cannot be compared with {known} "
            f"{shown(order.tolist())}: give all the same type, and leave rows without a label out"
        ) from None
    position = sorter[at].astype(small)
    right = order[position] == y
    if not right.all():
        row = int(np.argmin(right))
        raise ValueError(
            f"{name} holds {shown(y[row])} at row {row}, which is not in {known} "
            f"{shown(order.tolist())}: {remedy}"
        )
    return position


def group_numbers(groups: ArrayLike, rows: int, name: str = "groups") -> Array:
    """Groups of any one type as numbers 0.., (n,)."""
    return distinct_groups(groups, rows, name)[1]


def distinct_groups(groups: ArrayLike, rows: int, name: str) -> tuple[Array, Array]:
    """The different groups, of any one type, in ascending order, and the number of each row's."""
    values = as_array(name, groups)
    if values.dtype.kind == "U" and not hasattr(groups, "dtype"):
        values = np.asarray(groups, object)  # where a NaN among strings is none
    if values.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, found shape {values.shape}")
    same_length(name, values, "the labels", rows)
    if values.dtype.kind == "f":
        finite(name, values)
    if values.dtype.kind not in "OUS":
        distinct, numbers = np.unique(values, return_inverse=True)
        if values.dtype.kind in "mM":
            _not_missing(name, values, distinct)
        return distinct, numbers
    listed = values.tolist()
    try:
        found = set(listed)
        _not_missing(name, values, found)
        order = sorted(found)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise TypeError(
            f"{name} must be of one type that can be sorted, found {', '.join(kinds)}: make them "
            "all strings or all integers"
        ) from None
    number = {value: k for k, value in enumerate(order)}
    distinct = np.empty(len(order), object)
    distinct[:] = order
    return distinct, np.fromiter(map(number.__getitem__, listed), np.intp, rows)


def _not_missing(name: str, values: Array, distinct: Any) -> None:
    if any(_missing(value) for value in distinct):
        row = next(i for i, value in enumerate(values) if _missing(value))
        raise ValueError(
            f"{name} must not be missing, found {shown(values[row])} at row {row}: give such rows "
            "groups of their own, or leave them out"
        )


def _missing(value: object) -> bool:
    """None, NaN, NaT, or pandas.NA, which cannot tell whether it differs from itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def check_thresholds(name: str, values: ArrayLike) -> Array:
    """Rising cuts, float64, perhaps with -inf in front and inf behind (classes never chosen)."""
    cuts: Array = real_array(name, values).astype(np.float64)
    if cuts.ndim != 1 or cuts.size == 0:
        raise ValueError(f"{name} must be one-dimensional and not empty, found shape {cuts.shape}")
    if np.isnan(cuts).any():
        raise ValueError(f"{name} must not be NaN, found {shown(cuts.tolist())}")
    if (cuts[1:] < cuts[:-1]).any():
        raise ValueError(
            f"{name} must be sorted, found {shown(cuts.tolist())}: class k begins at {name}[k-1]"
        )
    return cuts
