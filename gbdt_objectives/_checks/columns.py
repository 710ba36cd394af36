"""The columns of a call, by the names of its arguments, and what no library reads in them.

Our own functions check what they compute with. Elsewhere, in the methods that estimators inherit,
at evaluation sets, and where a library has failed, the columns are looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gbdt_objectives._checks import arrays, values
from gbdt_objectives._checks.arrays import Array, column_names, is_dask, not_flat, on_device, shown
from gbdt_objectives._checks.users import warn
from gbdt_objectives._checks.values import CODES, FAR
from gbdt_objectives._public import EVALUATION, MARGINS, UNREAD
from gbdt_objectives._rows.workers import several, workers

LABELS = {"y", "y_true", "y_val"}
KINDS = ("X", "labels", "weights", "margins")
SPEAKS_OF_TEXT = re.compile("convert string|Arrow type|categorical_feature|dtypes|bytes/strings")
MODELS = ("self", "model", "estimator", "first")


def columns_of(given: Mapping[str, Any]) -> Iterator[tuple[int | None, int, str, Any]]:
    """The set of rows, of evaluation sets its number, the position in ``KINDS``, the name and the
    values of each column that is on this machine."""
    for name, value in given.items():
        parts = [(0 if name in EVALUATION else None, name, value)]
        if "eval" in name:
            many = value if isinstance(value, list) else [value] * (name == "eval_set")
            parts = [(k, f"{name}[{k}]", one) for k, one in enumerate(many)]
        if name == "eval_set":
            pairs = [part for part in parts if isinstance(part[2], tuple)]
            parts = [(k, f"{at}[{j}]", x) for k, at, pair in pairs for j, x in enumerate(pair[:2])]
        for rows, called, column in parts:
            of = (
                name in ("X", "X_val") or called.endswith("][0]"),
                name in LABELS or called.endswith("][1]"),
                "sample_weight" in name,
                name in MARGINS,
            )
            if isinstance(column, tuple) or column is None:  # a wrong form, which fit refuses
                continue
            if any(of) and not is_dask(column) and not on_device(column):
                yield rows, of.index(True), called, column


def count_rows(column: Any) -> int:
    """How many rows a table or a column has; one number is of one."""
    shape = getattr(column, "shape", None)
    if shape is None:
        return len(column) if hasattr(column, "__len__") else 1
    return int(shape[0]) if shape else 1


def is_part() -> bool:
    """Whether the rows may be those of one worker, who may have none."""
    return several() or workers()


def check_columns(
    given: Mapping[str, Any], error: Exception | None = None, fits: bool = False
) -> None:
    """Raise for a column without rows, with another number of them than the table, or with values
    that are none; after the error of a library also for what else it may not take."""
    first = dict[int | None, tuple[str, int]]()
    model = next((given[name] for name in MODELS if name in given), None)
    fitted = None if fits else given.get("self")  # else it knows what it was fitted on before
    classes, names = (getattr(fitted, name, None) for name in ("classes_", "feature_names_in_"))
    for rows, kind, name, column in sorted(columns_of(given), key=lambda found: found[1]):
        n = count_rows(column)
        other, wanted = first.setdefault(rows, (name, n))
        if error and KINDS[kind] == "X":
            check_form(column, name, names, str(error))
        if not n and not is_part() and (error or KINDS[kind] != "X"):
            raise ValueError(f"{name} is empty: there must be at least one row")
        by_output = KINDS[kind] == "margins" and np.ndim(column) == 1  # one output after another
        if n != wanted and not (by_output and wanted and n % wanted == 0):
            raise ValueError(f"{name} has {n} rows, but {other} has {wanted}: they must match")
        if KINDS[kind] == "X":
            names = column_names(column) if names is None else names
            check_table(column, name, names if "feature names" in str(error) else None)
        elif KINDS[kind] == "labels":
            y = arrays.as_array(name, column)
            of_classes = hasattr(model, "predict_proba") and (fits or classes is None)
            of_classes = of_classes and (error is not None or rows is not None)  # else fit says it
            check_label_column(name, y.ravel(), of_classes)
            if error:
                check_kind(name, y, model, classes, str(error))
            classes = np.unique(y) if classes is None and error else classes
        else:
            numbers = check_numbers(name, column, error is not None)
            if numbers is not None and numbers.size and KINDS[kind] == "weights":
                arrays.weights(name, numbers if error else numbers.ravel(), n)


def check_table(X: Any, name: str, names: Sequence[Any] | None = None) -> Any:
    """A table as it is, unless it is one column, or an array without the ``names`` of columns."""
    if getattr(X, "ndim", 2) == 1 and getattr(X.dtype, "kind", "O") in "biuf":
        raise ValueError(
            f"{name} must be two-dimensional, found shape {X.shape}: pass a table, such as "
            f"{name}.reshape(-1, 1) for one feature"
        )
    if names is not None and isinstance(X, np.ndarray | list):
        raise ValueError(
            f"{name} has no names of columns, but the model knows {shown(list(names))}: pass "
            f"pandas.DataFrame({name}, columns={shown(list(names))}) if they are in this order"
        )
    return X


def check_form(X: Any, name: str, names: Sequence[Any] | None, error: str) -> None:
    """Raise for what is no table, and for columns of text of which a library has spoken."""
    row = X[0] if isinstance(X, list | tuple) and len(X) else X
    if isinstance(row, Mapping):
        raise TypeError(
            f"{name} is a {type(X).__name__}{' of dicts' * (row is not X)}, not a table: pass "
            f"pandas.DataFrame({name}){'' if names is None else [list(names)]}"
        )
    known = column_names(X)
    if known is None and (not isinstance(X, np.ndarray | list) or np.ndim(X[:1]) != 2):
        return
    cells = [X[column][:1] for column in known] if known else np.asarray(X[:1], object).T
    text = [
        column
        for column, cell in zip(known or range(len(cells)), cells, strict=True)
        if not (hasattr(X, "iloc") and hasattr(getattr(cell, "dtype", None), "categories"))
        and any(isinstance(value, str) for value in np.asarray(cell).ravel())
    ]
    if text and SPEAKS_OF_TEXT.search(error):
        raise ValueError(
            f"{name} has text in its columns {shown(text)}: pass numbers or, where the training "
            "rows X_train had categories, a pandas.DataFrame of theirs, .astype(X_train.dtypes)"
        )


def check_numbers(name: str, column: Any, has_failed: bool = False) -> Array | None:
    """Numbers that are there and finite, of any shape; libraries read some forms that we do not."""
    array = arrays.as_array(name, column)
    if not array.size and not is_part():
        raise ValueError(f"{name} is empty, which libraries take for none: leave it out")
    if array.dtype.kind == "O":
        is_there(name, array.ravel(), "give each row a number, or leave it out")
    if not has_failed:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):  # which the library will say
            return None
    arrays.finite(name, arrays.real_array(name, array))
    return array


def is_there(name: str, column: Array, remedy: str) -> None:
    arrays.each(name, column, ~values.where_missing(column), "must not be missing", remedy)


def check_label_column(name: str, y: Array, of_classes: bool = False) -> None:
    """Raise for labels that are missing or infinite."""
    remedy = "leave rows without a label out"
    if y.dtype.kind == "f":
        arrays.finite(name, y, remedy)
        if of_classes:
            remedy = "numbers that are no classes are for a regressor"
            arrays.each(name, y, y == np.rint(y), "must hold classes", remedy)
    is_there(name, y, remedy)


def check_kind(name: str, y: Array, model: Any, classes: Any, error: str) -> None:
    """Raise for labels that are not of the kind which a library has refused."""
    if y.ndim != 1 and y.shape[1:] != (1,):
        raise not_flat(name, y.shape)
    if y.dtype.kind == "O" and (remedy := values.kind_hint(y)) != values.INTEGER_HINT:
        raise TypeError(f"{name} has dtype object: {remedy}")
    if hasattr(model, "predict_proba") and classes is not None:
        known = "the classes of the model"
        values.positions(name, y.ravel(), np.asarray(classes), known, "pass labels of these")
    encodes = not hasattr(model, "predict_proba") or "Invalid classes" in error
    if hasattr(model, "predict") and encodes and y.dtype.kind not in "biuf":
        raise arrays.not_real(name, y)


def check_unread(given: Mapping[str, Any], inherited: bool) -> None:
    """Raise for columns that only a library would read: all of a method that is its own, else those
    of evaluation sets and margins. Warn of labels that a classifier, which is scored, has not."""
    if not inherited:
        read = {*UNREAD, "X", "self"}
        check_columns({name: given[name] for name in given if name in read}, fits=True)
        return
    check_columns(given)
    y, classes = np.asarray(given.get("y")), getattr(given["self"], "classes_", None)
    if classes is None or {y.dtype.kind, classes.dtype.kind} - set("biuf"):
        return
    if (unknown := np.setdiff1d(y, classes)).size:
        warn(
            f"y holds {shown(unknown.tolist())}, but the classes of the model are "
            f"{shown(classes.tolist())}: it is wrong in such rows, pass labels of these"
        )


def warn_of_other_labels(
    low: float, high: float, mean: float, center: float | None, spread: float | None,
    label_range: tuple[float, float] | None = None,
) -> None:  # fmt: skip
    """Warn of labels, from low to high, that are not those whose mean and variance are given."""
    said = ""
    if label_range is not None:
        if not label_range[0] <= low <= high <= label_range[1]:
            said = f"those given before are from {label_range[0]:g} to {label_range[1]:g}"
    elif center is not None and spread is not None and abs(mean - center) > FAR * spread**0.5:
        said = f"center={center:g} and spread={spread:g} say that they are elsewhere"
    if said:
        warn(
            f"y_true holds labels from {low:g} to {high:g}, of mean {mean:.4g}, but {said}: give "
            "the mean and variance of these labels, or leave them out, and they are measured"
        )


def warn_of_code(name: str, y: Array | None, *ends: float, weight: Any = None) -> None:
    """Warn of a label of nines that lies further from all others than these do from each other, if
    neighbours of those are at most 2 apart on average: 0, 10, 100 have none, and 0, 9 are steps.
    ``ends``: the least and the greatest label, where they are known."""
    if y is None or 0 in y.shape or CODES.isdisjoint(ends or (float(y.min()), float(y.max()))):
        return
    y = y[np.asarray(weight) > 0] if np.shape(weight) == y.shape else y  # else it will be refused
    found = np.unique(arrays.to_host(y))
    others = np.setdiff1d(found, [*CODES])
    for code in CODES.intersection(found[[0, -1]]) if len(others) > 1 else ():
        wide = others[-1] - others[0]
        if np.abs(others - code).min() > wide and wide <= 2 * (len(others) - 1):
            warn(
                f"{name} holds {code:g}, far from the others, {others[0]:g} to {others[-1]:g}, as "
                "files write a missing one; by its distance it counts more than all others: leave "
                "such rows out, or, if it is a class, number the classes by their position, "
                "numpy.unique(y, return_inverse=True)[1]"
            )
