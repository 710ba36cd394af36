"""RowValues: numbers that belong to the training rows, as an immutable value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array


class RowValues:
    """Numbers of each training row, shape (n, ...), in a copy that cannot be written to.

    It is a value: it compares, hashes, prints and pickles as one.
    """

    values: Array

    def __init__(self, values: Array) -> None:
        own = np.array(values, order="C")
        if own.dtype.kind == "f":
            own += 0.0  # without -0, which hashes otherwise
        own.flags.writeable = False
        object.__setattr__(self, "values", own)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("RowValues cannot be changed: make new ones")

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RowValues)
            and self.values.dtype == other.values.dtype
            and np.array_equal(self.values, other.values)
        )

    def __hash__(self) -> int:
        return hash((self.values.shape, self.values.dtype, self.values.tobytes()))

    def __repr__(self) -> str:
        low, high = self.values.min(), self.values.max()
        return f"{type(self).__name__}({len(self)} rows, {low:.4g} to {high:.4g})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (np.array(self.values),)  # numpy forgets what is read-only

    def called(self, name: str) -> str:
        """The name of these values in messages."""
        return name

    def remedy(self, name: str) -> str:
        """The remedy for another number of rows, in messages."""
        return (
            "its value for each training row, in their order. Where scikit-learn holds rows out, "
            f"name it, objective(function, rows=[{name!r}]), and pass it to fit, which splits it: "
            f"GridSearchCV(...).fit(X, y, {name}={name}), cross_val_score(..., "
            f"params={{{name!r}: {name}}}). Elsewhere objective.take(positions) is for some of the "
            "rows, and cv() takes them itself"
        )

    def check_labels(self, y: Array) -> None:
        """Raise for labels of these rows that cannot be."""

    def take(self, positions: ArrayLike) -> RowValues:
        """The values of the rows at these positions, in their order."""
        at = np.asarray(positions)
        if at.ndim != 1 or at.size == 0 or at.dtype.kind not in "iu":
            raise TypeError(
                f"positions must be whole numbers, at least one, found dtype {at.dtype} and shape "
                f"{at.shape}: pass numpy.flatnonzero(mask) for a mask"
            )
        if at.min() < 0 or at.max() >= len(self):
            raise ValueError(
                f"positions must be from 0 to {len(self) - 1}, one of {len(self)} rows each, found "
                f"{at.min()} to {at.max()}"
            )
        return type(self)(self.values[at])


def read_row_values(name: str, values: ArrayLike) -> RowValues:
    """Read finite numbers with a first axis of at least one row; integers stay integers."""
    array = _checks.as_array(name, values)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must hold numbers, found dtype {array.dtype}: encode groups as whole numbers, "
            "for instance numpy.unique(groups, return_inverse=True)[1]"
        )
    if array.size == 0 or array.ndim == 0:
        raise ValueError(
            f"{name} must be an array with values for each row, found shape {array.shape}"
        )
    if array.dtype.kind == "f":
        array = _checks.real_array(name, array)
        _checks.finite(name, array)
    return RowValues(array.astype(array.dtype.newbyteorder("="), copy=False))
