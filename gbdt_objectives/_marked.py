"""Arrays that carry what they stand for, as long as arithmetic keeps it true."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbdt_objectives._checks import Array


class MarkedArray(np.ndarray[Any, np.dtype[Any]]):
    """An ndarray with a mark, which looks and computes like any other.

    Copies, pickles and element-wise arithmetic keep the mark, if the shape stays and all
    marks involved are the same. Everything else loses it: slices, reductions and
    comparisons are plain arrays and numbers.
    """

    mark: Any

    def __new__(cls, values: Any, mark: Any) -> Any:
        array = np.array(values).view(cls)
        array.mark = mark
        return array

    def __array_finalize__(self, origin: Any) -> None:
        same = isinstance(origin, type(self)) and origin.shape == self.shape
        self.mark = origin.mark if same else None

    def __reduce__(self) -> Any:
        return type(self), (np.asarray(self), self.mark)

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        """As of any ndarray."""
        result = np.asarray(self).round(decimals, out=plain(out))
        return type(self)(result, self.mark) if out is None else out

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        mark = common_mark(inputs)
        if out is not None:
            kwargs["out"] = tuple(plain(array) for array in out)
            for array in out:
                if isinstance(array, MarkedArray):
                    array.mark = mark
        result = getattr(ufunc, method)(*map(plain, inputs), **kwargs)
        if out is not None:
            return out[0] if len(out) == 1 else out
        computed = method == "__call__" and type(result) is np.ndarray
        if mark is None or not computed or result.dtype.kind != "f" or result.shape != self.shape:
            return result
        return type(self)(result, mark)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = super().__array_function__(func, types, args, kwargs)
        unmarked = isinstance(result, MarkedArray) and result.mark is None
        return plain(result) if unmarked else result


def plain(value: Any) -> Any:
    """The ndarray itself, without a mark."""
    return np.asarray(value) if isinstance(value, MarkedArray) else value


def common_mark(values: tuple[Any, ...]) -> Any:
    """The mark of all marked arrays among the values, None if they differ."""
    marks = [value.mark for value in values if isinstance(value, MarkedArray)]
    same = bool(marks) and all(same_mark(mark, marks[0]) for mark in marks)
    return marks[0] if same else None


def same_mark(mark: Any, other: Any) -> bool:
    """Whether two marks, for instance two lists of labels, are equal."""
    a, b = (np.asarray(value).tolist() for value in (mark, other))
    return bool(a == b)


def mark_of(values: Any) -> Array | None:
    """What an argument carries."""
    return values.mark if isinstance(values, MarkedArray) else None
