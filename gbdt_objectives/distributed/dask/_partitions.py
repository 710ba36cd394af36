"""Sums over the partitions of Dask collections: measured where the rows are, merged as a tree."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any, NamedTuple, TypeVar

import dask
import dask.array
import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import is_dask
from gbdt_objectives._rows.workers import some_rows

FAN_IN = 4  # statistics that one task merges, and holds at the same time

T = TypeVar("T")


class MeasuredPart(NamedTuple):
    """A statistic of some rows, how many these are, and the largest of their weights."""

    statistic: Any
    rows: int
    largest_weight: float | None


def sum_over_partitions(of: Callable[..., T], columns: Mapping[str, Any]) -> T:
    """The sum of ``of(**columns)`` over the partitions that have rows, whose weights may be 0."""
    parts = [
        dask.delayed(measure_part)(of, number, list(columns), part)
        for number, part in enumerate(pack(columns))
    ]
    while len(parts) > 1:
        groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
        parts = [dask.delayed(add_measured)(group) for group in groups]
    (found,) = dask.compute(parts[0])
    if found is None:
        raise ValueError(f"{next(iter(columns))} is empty: there must be at least one row")
    if found.largest_weight is not None:
        _checks.some_weight("sample_weight", found.largest_weight, found.rows)
    statistic: T = found.statistic
    return statistic


def measure_part(
    of: Callable[..., Any], partition: int, names: list[str], parts: tuple[Any, ...]
) -> MeasuredPart | None:
    """Measure one partition; None if it has no rows. Messages count rows within the partition."""
    columns = dict(zip(names, parts, strict=True))
    empty = [name for name, part in columns.items() if np.shape(part) == (0,)]
    if len(empty) == len(columns):
        return None
    try:
        if empty:
            raise ValueError(f"{empty[0]} is empty: there must be at least one row")
        with some_rows():  # others may have those that count
            found = of(**columns)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"in partition {partition}: {error}") from None
    weight = columns.get("sample_weight")
    return MeasuredPart(found, len(parts[0]), None if weight is None else float(np.max(weight)))


def add_measured(parts: list[MeasuredPart | None]) -> MeasuredPart | None:
    found = [part for part in parts if part is not None]
    if not found:
        return None
    weights = [part.largest_weight for part in found if part.largest_weight is not None]
    return MeasuredPart(
        reduce(operator.add, [part.statistic for part in found]),
        sum(part.rows for part in found),
        max(weights, default=None),
    )


def pack(columns: Mapping[str, Any]) -> list[Any]:
    """The partitions as delayed tuples, one of each column."""
    first, *others = columns
    for name, column in columns.items():
        check_dask_column(name, column, columns)
    if not any(map(is_series, columns.values())):
        columns = align_chunks(columns)
    parts = {name: delayed_parts(column) for name, column in columns.items()}
    for name in others:
        if len(parts[name]) != len(parts[first]):
            raise ValueError(
                f"{name} has {len(parts[name])} partitions, but {first} has {len(parts[first])}: "
                "repartition one like the other, .persist() both if Dask joins small files, or of "
                "arrays call .compute_chunk_sizes()"
            )
    return [dask.delayed(tuple)(list(chunk)) for chunk in zip(*parts.values(), strict=True)]


def check_dask_column(name: str, column: Any, columns: Mapping[str, Any]) -> None:
    """Raise unless it is a Dask series or a Dask array (n,)."""
    if not is_dask(column):
        dask_name = next(name for name, other in columns.items() if is_dask(other))
        raise TypeError(
            f"{name} is a {type(column).__name__}, but {dask_name} a Dask collection: pass both as "
            "Dask collections, for instance dask.array.from_array(values, chunks), or compute both"
        )
    if not (is_series(column) or isinstance(column, dask.array.Array)):
        kind = type(column).__name__
        raise TypeError(f"{name} must be one column, a Dask Series or Array, found a Dask {kind}")
    if column.ndim != 1:
        raise _checks.not_flat(name, column.shape)
    if getattr(getattr(column, "cat", None), "known", True) is False:
        raise ValueError(f"{name} is of categories that Dask does not know: call .cat.as_known()")


def is_series(column: Any) -> bool:
    frames = sys.modules.get("dask.dataframe")
    return frames is not None and isinstance(column, frames.Series | frames.Index)


def align_chunks(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of known chunks in those of the first."""
    first, *_ = columns
    found = dict(columns)
    for name, column in columns.items():
        rows = [column.shape[0], columns[first].shape[0]]
        if np.isnan(rows).any():
            continue
        if rows[0] != rows[1]:
            raise ValueError(f"{name} has {rows[0]} rows, {first} has {rows[1]}: they must match")
        found[name] = column.rechunk(columns[first].chunks)
    return found


def delayed_parts(column: Any) -> list[Any]:
    """Partitions of a column, optimized only to what is read, so that shared parts share keys."""
    column = column.simplify() if hasattr(column, "simplify") else column
    return list(np.ravel(np.array(column.to_delayed(optimize_graph=False), object)))


def map_rows(function: Callable[..., Any], columns: Mapping[str, Any], dtype: Any) -> Any:
    """``function(**columns)`` of each partition, lazily: a collection like the first column."""
    for name, column in columns.items():
        check_dask_column(name, column, columns)
    by_name = partial(function_of_parts, function, list(columns), np.dtype(dtype))
    if all(isinstance(column, dask.array.Array) for column in columns.values()):
        arrays = align_chunks(columns)
        return dask.array.map_blocks(by_name, *arrays.values(), meta=np.empty(0, dtype))
    if not is_series(next(iter(columns.values()))):
        raise TypeError(
            f"{', '.join(columns)} must be all Dask Series, or all Dask Arrays, found both: call "
            ".to_dask_array() of the series"
        )
    from dask.dataframe import map_partitions

    return map_partitions(
        partial(series_of_parts, by_name), *columns.values(), meta=(None, dtype),
        align_dataframes=False,
    )  # fmt: skip


def function_of_parts(
    function: Callable[..., Any], names: list[str], dtype: np.dtype[Any], *parts: Any
) -> Any:
    if all(len(part) == 0 for part in parts):
        return np.empty(0, dtype)
    return function(**dict(zip(names, parts, strict=True)))


def series_of_parts(by_name: Callable[..., Any], *parts: Any) -> Any:
    import pandas

    return pandas.Series(by_name(*parts), parts[0].index)
