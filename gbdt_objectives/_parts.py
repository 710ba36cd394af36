"""One idiom for what parts of the rows can add up: ``of(part)``, ``+``, and a value of the sum.

An array is a single part. The partitions of Dask collections are measured where they are, and their
sums merged as a tree; what that needs is imported when there is such a collection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from gbdt_objectives._checks import is_dask

T = TypeVar("T")


def any_dask(columns: Mapping[str, Any]) -> bool:
    return any(map(is_dask, columns.values()))


def total(of: Callable[..., T], columns: Mapping[str, Any]) -> T:
    """The sum of ``of(**columns)`` over all parts of the rows.

    ``columns`` by the name of the user's argument; None ones are passed on as None. Partitions
    without rows are left out, those without weight are not. ``of`` and its results are pickled.
    """
    if not any_dask(columns):
        return of(**columns)
    from gbdt_objectives.distributed.dask._partitions import sum_over_partitions

    return sum_over_partitions(of, columns)


def map_parts(function: Callable[..., Any], columns: Mapping[str, Any], dtype: Any) -> Any:
    """``function(**columns)``, a value of each row: of Dask columns lazily, like the first."""
    if not any_dask(columns):
        return function(**columns)
    from gbdt_objectives.distributed.dask._partitions import map_rows

    return map_rows(function, columns, dtype)


def check_column(name: str, column: Any) -> None:
    """Raise for a Dask collection that is no single column, or of unknown categories."""
    if is_dask(column):
        from gbdt_objectives.distributed.dask import _partitions

        _partitions.check_column(name, column, {name: column})
