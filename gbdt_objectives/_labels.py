"""Ordered classes: whole numbers as they are, or a list that says the order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._marked import MarkedArray, mark_of, same_mark

INTEGER_HINT = (
    "pass labels=[...], all classes in order of grade, if the classes are no consecutive integers"
)


class Thresholds(MarkedArray):
    """Thresholds with the classes that they separate: an ndarray of shape (K-1,).

    What ``optimize_thresholds`` returns, for ``apply_thresholds``. The labels stay with
    copies, pickles and element-wise arithmetic (``thresholds.round(2)``,
    ``thresholds + 0.1``). Slices, means over folds, lists and anything else of another
    shape are plain arrays, for which ``apply_thresholds`` asks for the labels.

    Parameters
    ----------
    thresholds : array-like of shape (K-1,)
        Sorted.
    labels : array-like of shape (K,)
        All classes in order of grade.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import Thresholds, apply_thresholds
    >>> thresholds = Thresholds([0.5, 1.5], ["low", "mid", "high"])
    >>> thresholds + 0.25
    array([0.75, 1.75])
    >>> apply_thresholds([0.6, 2.0], thresholds + 0.25).tolist()
    ['low', 'high']
    """

    def __new__(cls, thresholds: ArrayLike, labels: ArrayLike | None) -> Thresholds:
        if labels is not None:
            labels = _checks.as_array("labels", labels).copy()
            labels.flags.writeable = False
        cuts = _checks.as_array("thresholds", thresholds)
        found: Thresholds = super().__new__(cls, cuts, labels)
        return found

    @property
    def labels(self) -> Array | None:
        """All classes in order of grade, (K,); None of an array of another shape."""
        labels: Array | None = self.mark
        return labels


def threshold_labels(thresholds: ArrayLike, labels: ArrayLike | None, K: int) -> Array:
    """The K classes that thresholds separate: those they carry, or those given."""
    carried = mark_of(thresholds)
    if labels is None:
        if carried is None:
            raise ValueError(
                f"labels are missing, and thresholds {shown(thresholds)} carry none, as those of "
                f"optimize_thresholds do: pass labels=[...], all {K} classes in order of grade, "
                f"or labels=range({K}) for class positions"
            )
        return carried
    order = ordered_labels(labels)
    if len(order) != K:
        raise ValueError(
            f"labels must be {K} classes for {K - 1} thresholds, found {len(order)}: "
            f"{shown(order.tolist())}"
        )
    if carried is not None and not same_mark(order, carried):
        raise ValueError(
            f"labels are {shown(order.tolist())}, but thresholds were placed between the classes "
            f"{shown(carried.tolist())}: leave labels out, or if they are other names of the same "
            "classes pass np.asarray(thresholds)"
        )
    return order


def whole_numbers(name: str, values: ArrayLike) -> Array:
    """Classes that are numbers without fraction, (n,)."""
    y = _checks.as_array(name, values)
    if y.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {y.dtype}: {INTEGER_HINT}")
    if y.dtype.kind in "iu" and y.ndim == 1 and y.size:
        return y
    y = _checks.vector(name, y)
    fractions = y != np.rint(y)
    if fractions.any():
        row = int(np.flatnonzero(fractions)[0])
        raise ValueError(
            f"{name} must hold classes, found {y[row]} at row {row}: round scores or apply "
            f"thresholds first, or {INTEGER_HINT}"
        )
    return y


def ordered_labels(labels: ArrayLike) -> Array:
    """At least two different classes, in order of grade."""
    order = _checks.as_array("labels", labels)
    if order.ndim != 1 or order.size < 2:
        raise ValueError(f"labels must list at least two classes in order, found {shown(labels)}")
    values, counts = np.unique(order, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"labels must be different from each other, found {shown(values[counts > 1].tolist())} "
            "more than once: list each class once, in order of grade"
        )
    return order


def positions(name: str, values: ArrayLike, order: Array) -> Array:
    """Index of each value in ``order``, as small integers."""
    y = _checks.as_array(name, values)
    if y.ndim != 1 or y.size == 0:
        raise ValueError(f"{name} must be one-dimensional and not empty, found shape {y.shape}")
    if (y.dtype.kind in "biuf") != (order.dtype.kind in "biuf"):
        raise TypeError(
            f"{name} has dtype {y.dtype}, but labels have {order.dtype}: give both the same type"
        )
    small: Any = np.int8 if len(order) <= 127 else np.int32
    consecutive = order.dtype.kind in "iu" and bool((np.diff(order) == 1).all())
    position: Array
    if consecutive and y.dtype.kind in "iu" and y.min() >= order[0] and y.max() <= order[-1]:
        position = np.subtract(y, order[0], dtype=np.int64).astype(small)
        return position
    sorter = np.argsort(order)
    at = np.minimum(np.searchsorted(order, y, sorter=sorter), len(order) - 1)
    position = sorter[at].astype(small)
    wrong = order[position] != y
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{name} holds {shown(y[row])} at row {row}, which is not in labels "
            f"{shown(order.tolist())}: list every class in labels"
        )
    return position


def group_numbers(groups: ArrayLike, rows: int) -> Array:
    """Groups of any one type as numbers 0.., (n,)."""
    values = _checks.as_array("groups", groups)
    if values.dtype.kind == "U" and not hasattr(groups, "dtype"):
        values = np.asarray(groups, object)  # where a NaN among strings is none
    if values.ndim != 1:
        raise ValueError(f"groups must be one-dimensional, found shape {values.shape}")
    _checks.same_length("groups", values, "the labels", rows)
    if values.dtype.kind == "f":
        _checks.finite("groups", values)
    missing = [_missing(value) for value in values] if values.dtype.kind in "OmM" else []
    if any(missing):
        row = missing.index(True)
        raise ValueError(
            f"groups must not be missing, found {shown(values[row])} at row {row}: give such rows "
            "groups of their own, or leave them out"
        )
    try:
        numbers: Array = np.unique(values, return_inverse=True)[1]
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise TypeError(
            f"groups must be of one type that can be sorted, found {', '.join(kinds)}: make them "
            "all strings or all integers"
        ) from None
    return numbers


def _missing(value: object) -> bool:
    """None, NaN, NaT, or pandas.NA, which cannot tell whether it differs from itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def sorted_thresholds(name: str, values: ArrayLike) -> Array:
    """Rising cuts, float64, perhaps with -inf in front and inf behind (classes never chosen)."""
    cuts: Array = _checks.real_array(name, values).astype(np.float64)
    if cuts.ndim != 1 or cuts.size == 0:
        raise ValueError(f"{name} must be one-dimensional and not empty, found shape {cuts.shape}")
    if np.isnan(cuts).any():
        raise ValueError(f"{name} must not be NaN, found {shown(cuts.tolist())}")
    if (cuts[1:] < cuts[:-1]).any():
        raise ValueError(
            f"{name} must be sorted, found {shown(cuts.tolist())}: class k begins at {name}[k-1]"
        )
    return cuts
