"""Frozen values: arrays that know what they mean, those of training rows, tables to print."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike

from gbdt_objectives._checks import Array

LONGEST = 20  # rows of a table that are printed; of a longer one the first and the last
LONGEST_WORD = 30  # characters of a cell that are printed


class ArrayValue(NDArrayOperatorsMixin):
    """A frozen value that numpy reads as an array; what is computed from it is a plain array."""

    values: Any

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(plain, inputs), **kwargs)

    def tolist(self) -> Any:
        return self.values.tolist()


def freeze(owner: object, **values: Any) -> None:
    """Set attributes of a frozen value; arrays cannot be written to from then on."""
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(owner, name, value)


def plain(value: Any) -> Any:
    """The array or number of a value, anything else as it is."""
    return value.values[()] if isinstance(value, ArrayValue) else value


def carried_labels(values: Any) -> Array | None:
    return getattr(values, "labels", None) if isinstance(values, ArrayValue) else None


def same_labels(a: Any, b: Any) -> bool:
    return bool(np.asarray(a).tolist() == np.asarray(b).tolist())


class RowValues:
    """Numbers of each training row, shape (n, ...), in a copy that cannot be written to.

    It is a value: it compares, hashes, prints and pickles as one.
    """

    values: Array
    index: Any = None  # the labels of the rows, if they came from pandas; no part of the value
    is_of_user = True  # whether users know these values by the name that the equations have

    def __init__(self, values: Array, index: Any = None) -> None:
        own = np.array(values, order="C")
        if own.dtype.kind == "f":
            own += 0.0  # without -0, which hashes otherwise
        freeze(self, values=own, index=index)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("RowValues cannot be changed: make new ones")

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowValues) or self.values.dtype != other.values.dtype:
            return False
        return np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.values.shape, self.values.dtype, self.values.tobytes()))

    def __repr__(self) -> str:
        low, high = self.values.min(), self.values.max()
        return f"{type(self).__name__}({len(self)} rows, {low:.4g} to {high:.4g})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (np.array(self.values), self.index)  # numpy forgets what is read-only

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
        return type(self)(self.values[at], None if self.index is None else self.index[at])


def write_table(least: int = 8, /, **columns: Array) -> str:
    """Columns of words, and of numbers in four digits, under their names, at least so wide."""
    n = len(next(iter(columns.values())))
    shown = printed_rows(n)
    cells = [[name, *map(cell_text, np.asarray(column)[shown])] for name, column in columns.items()]
    padded = [[cell.rjust(max(least, *map(len, column))) for cell in column] for column in cells]
    lines = list(map("  ".join, zip(*padded, strict=True)))
    if n > LONGEST:
        lines.insert(1 + LONGEST // 2, f"... {n - LONGEST} more ...")
    return "\n".join(lines)


def printed_rows(n: int) -> Array:
    """Which of n rows are printed."""
    return np.arange(n) if n <= LONGEST else np.r_[: LONGEST // 2, n - LONGEST // 2 : n]


def cell_text(value: Any) -> str:
    if not isinstance(value, str):
        return f"{value:.4g}"
    return value if len(value) <= LONGEST_WORD else f"{value[: LONGEST_WORD - 3]}..."
