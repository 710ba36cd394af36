"""Mistakes in calls: arguments that are named as elsewhere, or swapped, and what to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from gbdt_objectives._checks import is_dask

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

LABELS = ("y_true", "y")
SWAPPED = "; are they swapped?"
OTHERS = ("X", "score", "probability", "y_pred", "margin")


def in_order(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse columns of pandas whose rows are in different orders. Add to the error of a function
    that refuses its arguments that labels and others are swapped; only then look at values."""
    parameters = list(signature(function).parameters)
    label = next(name for name in parameters if name in LABELS)
    other = next(name for name in parameters if name in OTHERS)
    first, second = sorted((label, other), key=parameters.index)

    @wraps(function)
    def ordered(*args: P.args, **kwargs: P.kwargs) -> R:
        if sum(map(is_indexed, (*args, *kwargs.values()))) > 1:
            check_index(dict(zip(parameters, args, strict=False)) | kwargs)
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError) as error:
            given = dict(zip(parameters, args, strict=False)) | kwargs
            found = is_of_labels(given.get(label)), is_of_labels(given.get(other))
            if found == (False, True):
                said = str(error).rstrip(".")
                error.args = (f"{said}{SWAPPED} {first} comes before {second}",)
            raise

    return ordered


def is_indexed(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "index")


def check_index(given: Mapping[str, Any]) -> None:
    """Raise if two columns have the same row labels, but not in the same order."""
    (first, by), *others = ((name, v.index) for name, v in given.items() if is_indexed(v))
    for name, index in others:
        if len(index) != len(by) or index.equals(by) or not index.is_unique:
            continue
        if index.isin(by).all():
            raise ValueError(
                f"{first} and {name} have the same index in another order, and rows are matched by "
                f"position: pass {name}.loc[{first}.index]"
            )


def is_of_labels(values: Any) -> bool | None:
    """Whether it can be labels of rows, one column without fractions; None if it is no array."""
    if values is None or is_dask(values):
        return None
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError):  # lists of several lengths, arrays of a device
        return None
    if array.size == 0 or array.ndim not in (1, 2):
        return None
    return array.ndim == 1 and not (array.dtype.kind == "f" and (array != np.rint(array)).any())


def arguments(**remedies: str) -> Callable[[F], F]:
    """Refuse arguments of other libraries, or of former versions, and say what to write.

    It decorates functions, and classes for what makes one.
    """

    def decorate(function: Any) -> Any:
        if isinstance(function, type):
            function.__init__ = decorate(function.__init__)  # type: ignore[misc]
            return function

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs.keys() & remedies.keys():
                called = function.__qualname__.removesuffix(".__init__")
                raise TypeError(f"{called} has no argument {name!r}: {remedies[name]}")
            return function(*args, **kwargs)

        return checked

    return decorate
