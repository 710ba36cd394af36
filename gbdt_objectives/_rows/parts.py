"""One idiom for what parts of the rows can add up: ``of(part)``, ``+``, and a value of the sum.

An array is a single part. The partitions of Dask collections are measured where they are, and their
sums merged as a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from gbdt_objectives._checks import Array, is_dask
from gbdt_objectives._registry import load

PARTITIONS = "gbdt_objectives.distributed.dask._partitions"
T = TypeVar("T")


def any_dask(columns: Mapping[str, Any]) -> bool:
    return any(map(is_dask, columns.values()))


def total(of: Callable[..., T], columns: Mapping[str, Any]) -> T:
    """The sum of ``of(**columns)`` over all parts of the rows; None, and one rate for all rows, are
    passed on as they are. Partitions without rows are left out; those whose rows all have no weight
    are not. ``of`` and what it returns travel between machines."""
    if not any_dask(columns):
        return of(**columns)
    found: T = load(PARTITIONS).sum_over_partitions(*_of_columns(of, columns))
    return found


def vectors(of: Callable[..., Sequence[float] | Array], columns: Mapping[str, Any]) -> Array:
    """The vectors ``of(**columns)`` of all parts of the rows, (parts, k); see :func:`total`."""
    return np.array(total(partial(_listed, of), columns))


def _listed(of: Callable[..., T], **columns: Any) -> list[T]:
    return [of(**columns)]


def map_parts(function: Callable[..., Any], columns: Mapping[str, Any], dtype: Any) -> Any:
    """``function(**columns)``, a value of each row: of Dask columns lazily, like the first."""
    if not any_dask(columns):
        return function(**columns)
    return load(PARTITIONS).map_rows(*_of_columns(function, columns), dtype)


def _of_columns(
    of: Callable[..., T], columns: Mapping[str, Any]
) -> tuple[Callable[..., T], dict[str, Any]]:
    """The function that has what is no column already, None and one rate, and the columns."""
    same = {
        name: given
        for name, given in columns.items()
        if given is None or (name.endswith("rate") and not is_dask(given) and np.ndim(given) == 0)
    }
    return partial(of, **same), {name: columns[name] for name in columns if name not in same}


def check_column(name: str, column: Any) -> None:
    """Raise for a Dask collection that is no single column, or of unknown categories."""
    if is_dask(column):
        load(PARTITIONS).check_dask_column(name, column, {name: column})
