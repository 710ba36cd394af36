"""Frozen values that remember what their numbers mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gbdt_objectives._checks import Array


class ArrayValue(NDArrayOperatorsMixin):
    """A frozen value that numpy reads as an array; what is computed from it is a plain array."""

    values: Any

    def _freeze(self, values: Any) -> None:
        array = np.array(values)
        array.flags.writeable = False
        object.__setattr__(self, "values", array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(plain, inputs), **kwargs)

    def tolist(self) -> Any:
        """The numbers as Python's own."""
        return self.values.tolist()


def plain(value: Any) -> Any:
    """The array or number of a value, anything else as it is."""
    return value.values[()] if isinstance(value, ArrayValue) else value


def carried_labels(values: Any) -> Array | None:
    return getattr(values, "labels", None) if isinstance(values, ArrayValue) else None


def same_labels(a: Any, b: Any) -> bool:
    return bool(np.asarray(a).tolist() == np.asarray(b).tolist())
