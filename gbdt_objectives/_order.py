"""The order of arguments: labels before scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from gbdt_objectives._checks import is_dask

P = ParamSpec("P")
R = TypeVar("R")


def labels_first(function: Callable[P, R]) -> Callable[P, R]:
    """Say so where the first two arguments, labels and scores, are refused as they are swapped."""
    parameters = list(signature(function).parameters)
    label, score = [name for name in parameters if name != "self"][:2]

    @wraps(function)
    def ordered(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError) as error:
            given = dict(zip(parameters, args, strict=False)) | kwargs
            if are_scores(given.get(label)) and are_labels(given.get(score)):
                error.args = (
                    f"{error}; {label} looks like scores and {score} like labels: swap them, "
                    f"{label} comes before {score}",
                )
            raise

    return ordered


def are_scores(values: Any) -> bool:
    """Whether these can be no labels of rows: some have fractions, or there are columns."""
    array = in_memory(values)
    if array is None or array.dtype.kind not in "biuf":
        return False
    has_fractions = array.dtype.kind == "f" and bool((array != np.rint(array)).any())
    return array.ndim == 2 or (array.ndim == 1 and has_fractions)


def are_labels(values: Any) -> bool:
    """Whether these can be labels of rows."""
    array = in_memory(values)
    return array is not None and array.ndim == 1 and array.size > 0 and not are_scores(array)


def in_memory(values: Any) -> Any:
    """An array of what is in memory; None for the rest."""
    if is_dask(values):
        return None
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        return None
