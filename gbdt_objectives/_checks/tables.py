"""Names and forms of the columns and rows of a call: of numpy, pandas, polars and Arrow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from typing import Any

import numpy as np

from gbdt_objectives._checks.arrays import column_names as column_names, library_name

MOST_COLUMNS = 100  # longer lists are columns, not lists of them
OF_LABELS = {"y", "y_true", "y_val", "y_full", "y_sampled", "target"}


def plain_names(names: Iterable[Any] | None) -> list[str]:
    """Names of columns as LightGBM writes them; none of None."""
    return [str(name).replace(" ", "_") for name in (() if names is None else names)]


def has_names(columns: Iterable[Any] | None) -> bool:
    """Whether columns are named, and not numbered after one word, as libraries do."""
    words = {re.sub(r"\d+$", "#", name) for name in plain_names(columns)}
    return len(words) > 1 or not all(word.endswith("#") for word in words)


def in_order(own: Iterable[Any] | None, given: Sequence[Any] | None) -> list[Any] | None:
    """The given names in the order of others that are the same; None if they are, or no others."""
    found, wanted = plain_names(given), plain_names(own)
    if given is None or found == wanted or sorted(found) != sorted(wanted):
        return None
    return [given[found.index(name)] for name in wanted]


def index_of(rows: Any) -> Any:
    """The labels of rows as pandas has them; None without."""
    index = getattr(rows, "index", None) if hasattr(type(rows), "index") else None
    return index if library_name(index) == "pandas" else None


def by_rows(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The columns of a call, those of the same rows together. In a dict are columns of its rows, in
    a tuple or list those of others; arguments for evaluation sets have one of each set."""
    found: dict[Any, dict[str, Any]] = {}
    for name, values in given.items():
        if values is None or type(values) is np.ndarray:
            continue
        held_out = "eval" in name or name.endswith("_val")
        parts: Iterable[Any] = values.items() if type(values) is dict else ((None, values),)
        if isinstance(values, tuple | list) and len(values) < MOST_COLUMNS:
            parts = enumerate(values)
        for key, part in parts:
            called = name if key is None else f"{name}[{key!r}]"
            of_set: Any = 0 if held_out else None
            columns = {called: part}
            if isinstance(part, tuple | list) and len(part) < MOST_COLUMNS:
                columns = {f"{called}[{j}]": column for j, column in enumerate(part)}
                of_set = key if held_out else called
            elif type(values) in (tuple, list) and name != "eval_set":  # which is of one pair
                of_set = key if held_out else name
            found.setdefault(of_set, {}).update(columns)
    return list(found.values())


def check_rows(given: Mapping[str, Any], of: str = "") -> None:
    """Raise if two columns of the same rows have the same row labels in different orders."""
    for columns in by_rows(given):
        seen: list[tuple[str, Any]] = []
        for name, index in [(name, index_of(column)) for name, column in columns.items()]:
            for first, by in seen if index is not None else ():
                if is_turned(index, by):
                    remedy = f"{name}.loc[{first}.index], or " if index.is_unique else ""
                    raise ValueError(
                        f"{first} and {name}{of} have the same index in another order, and rows "
                        f"are matched by position: pass {remedy}{name}.to_numpy() if they are in "
                        f"the same order{'' if remedy else '; if not, sort both alike before'}"
                    )
            seen += [] if index is None else [(name, index)]


def is_turned(index: Any, other: Any) -> bool:
    """Whether rows are labelled by the same, each as often, in different orders."""
    if len(index) != len(other) or index.nlevels != other.nlevels or index.equals(other):
        return False
    return bool(index.isin(other).all()) and (index.is_unique or Counter(index) == Counter(other))


def flat_labels(labels: Any) -> Any:
    """Labels (n,) or (n, 1) as (n,)."""
    if getattr(labels, "shape", ())[1:] != (1,):
        return labels
    names = column_names(labels)
    return labels[:, 0] if names is None else labels[names[0]]


def read(name: str, value: Any, fits: bool = False) -> Any:
    """An argument with numbers in this machine's byte order; of labels one column, of which
    scikit-learn wants an estimator's ``fit`` itself to warn."""
    flat = name in OF_LABELS and not (fits and name == "y")
    return native(flat_labels(value) if flat else value)


def native(value: Any) -> Any:
    """Numbers in this machine's byte order, as XGBoost would misread any others; an Arrow column
    as an array, as LightGBM does not take every one."""
    kind: Any = type(value)
    dtype: Any = getattr(value, "dtype", None)
    if kind in (list, tuple) and len(value) < MOST_COLUMNS:
        found = kind(map(native, value))
        return value if all(map(is_, found, value)) else found
    if library_name(value) == "pyarrow" and hasattr(value, "to_numpy"):
        return np.asarray(value)
    if hasattr(value, "iloc") and dtype is None:
        foreign = {
            name: one.newbyteorder("=")
            for name, one in value.dtypes.items()
            if getattr(one, "isnative", True) is False
        }
        return value.astype(foreign) if foreign else value
    is_foreign = getattr(dtype, "isnative", True) is False
    return value.astype(dtype.newbyteorder("=")) if is_foreign else value
