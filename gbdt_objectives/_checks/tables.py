"""Names and forms of the columns and rows of a call: of numpy, pandas, polars and Arrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gbdt_objectives._checks.arrays import column_names as column_names, library_name, shown

MOST_COLUMNS = 100  # longer lists are columns, not lists of them
OF_LABELS = {"y", "y_true", "y_val", "y_full", "y_sampled", "target"}


def plain_names(names: Iterable[Any] | None) -> list[str]:
    """Names of columns as LightGBM writes them; none of None."""
    return [str(name).replace(" ", "_") for name in (() if names is None else names)]


def are_turned(names: Iterable[Any] | None, others: Iterable[Any] | None) -> bool:
    """Whether both name the same columns in different orders."""
    own, given = plain_names(names), plain_names(others)
    return own != given and sorted(own) == sorted(given)


def arranged(own: Sequence[Any] | None, X: Any, name: str = "X") -> Any:
    """A table with these columns in this order; as it is if it has none of them."""
    given = column_names(X) or []
    found = dict(zip(plain_names(given), range(len(given)), strict=True))
    own = plain_names(own)
    lacks = [column for column in own if column not in found]
    if list(found) == own or len(lacks) == len(own):
        return X
    if lacks:
        raise ValueError(f"{name} lacks the model's columns {shown(lacks)}: pass all, by name")
    places = [found[column] for column in own]
    return X.iloc[:, places] if hasattr(X, "iloc") else X.select([given[k] for k in places])


def categories_of(X: Any) -> list[list[Any] | None]:
    """The categories of each column of a table of pandas; None of a column that has none."""
    known = [getattr(dtype, "categories", None) for dtype in getattr(X, "dtypes", ())]
    return [None if values is None else list(values) for values in known]


def index_of(rows: Any) -> Any:
    """The labels of rows as pandas has them; None without."""
    index = getattr(rows, "index", None)
    return index if library_name(index) == "pandas" else None


def by_rows(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The columns of a call, those of the same rows together. In a dict are columns of its rows, in
    a tuple or list those of others; arguments for evaluation sets have one of each set."""
    found: dict[Any, dict[str, Any]] = {}
    for name, values in given.items():
        held_out = "eval" in name or name.endswith("_val")
        if not isinstance(values, tuple | list) or len(values) >= MOST_COLUMNS:
            columns = {name: values}
            if type(values) is dict:
                columns = {f"{name}[{key!r}]": column for key, column in values.items()}
            found.setdefault(0 if held_out else None, {}).update(columns)
            continue
        for k, part in enumerate(values):
            called: str = f"{name}[{k}]"
            of_set, columns = k if held_out else name, {called: part}
            if isinstance(part, tuple | list) and len(part) < MOST_COLUMNS:
                columns = {f"{called}[{j}]": column for j, column in enumerate(part)}
                of_set = of_set if held_out else called
            elif name == "eval_set":  # the only one
                of_set = 0
            found.setdefault(of_set, {}).update(columns)
    return list(found.values())


def check_rows(given: Mapping[str, Any], of: str = "") -> None:
    """Raise if two columns of the same rows have the same row labels in different orders."""
    for columns in by_rows(given):
        seen: list[tuple[str, Any]] = []
        for name, column in columns.items():
            if (index := index_of(column)) is None:
                continue
            for first, by in seen:
                if is_turned(index, by):
                    remedy = f"{name}.loc[{first}.index], or " if index.is_unique else ""
                    raise ValueError(
                        f"{first} and {name}{of} have the same index in another order, and rows "
                        f"are matched by position: pass {remedy}{name}.to_numpy() if they are in "
                        f"the same order{'' if remedy else '; if not, sort both alike before'}"
                    )
            seen.append((name, index))


def is_turned(index: Any, other: Any) -> bool:
    """Whether rows are labelled by the same, each as often, in different orders."""
    if len(index) != len(other) or index.nlevels != other.nlevels or index.equals(other):
        return False
    if not index.isin(other).all():
        return False
    return bool(index.is_unique) or Counter(index) == Counter(other)


def is_plain(array: Any) -> bool:
    """Whether a numpy array can be passed on as it is; one of one column may hold labels."""
    return bool(array.dtype.isnative and (array.ndim != 2 or array.shape[1] != 1))


def read(name: str, value: Any) -> Any:
    """An argument with numbers in this machine's byte order; labels (n, 1) as (n,)."""
    return native(flat_labels(value) if name in OF_LABELS else value)


def flat_labels(labels: Any) -> Any:
    """Labels (n,) or (n, 1) as (n,)."""
    shape: tuple[int, ...] = getattr(labels, "shape", ())
    if len(shape) != 2 or shape[1] != 1:
        return labels
    if hasattr(labels, "iloc"):
        return labels.iloc[:, 0]
    names = column_names(labels)
    return labels[:, 0] if names is None else labels[names[0]]


def native(value: Any) -> Any:
    """Numbers in this machine's byte order: XGBoost would take any others for its own."""
    kind = type(value)
    if kind in (list, tuple, dict) and len(value) < MOST_COLUMNS:
        parts = value.values() if kind is dict else value
        found = list(map(native, parts))
        if all(new is part for new, part in zip(found, parts, strict=True)):
            return value
        return kind(zip(value, found, strict=True) if kind is dict else found)
    dtype: Any = getattr(value, "dtype", None)
    if getattr(dtype, "isnative", True) is False:
        return value.astype(dtype.newbyteorder("="))
    if hasattr(value, "iloc") and dtype is None:
        foreign = [k for k, one in enumerate(value.dtypes) if getattr(one, "isnative", 1) is False]
        if foreign:
            columns = {value.columns[k]: value.dtypes.iloc[k].newbyteorder("=") for k in foreign}
            return value.astype(columns)
    return value
