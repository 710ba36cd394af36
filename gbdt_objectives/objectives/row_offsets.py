"""Offsets of the margin that differ by row, as the field of a frozen dataclass."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbdt_objectives._checks import Array


class RowOffsets:
    """Finite offsets of the margin, one for each training row: a copy that cannot be written to.

    A value: it compares, hashes, prints and pickles as one.
    """

    values: Array

    def __init__(self, values: Array) -> None:
        own = np.array(values, np.float64)
        own.flags.writeable = False
        object.__setattr__(self, "values", own)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("RowOffsets cannot be changed: make new ones")

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowOffsets) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash(self.values.tobytes())

    def __repr__(self) -> str:
        low, high = self.values.min(), self.values.max()
        return f"RowOffsets({len(self)} rows, {low:.4g} to {high:.4g})"

    def __reduce__(self) -> tuple[Any, ...]:
        return RowOffsets, (np.array(self.values),)  # numpy forgets what is read-only
