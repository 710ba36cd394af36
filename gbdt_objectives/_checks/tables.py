"""Names and forms of the columns and rows of a call: of numpy, pandas, polars and Arrow; groups
and folds of rows; and what no library reads in columns.

Our own functions check what they compute with. Elsewhere, in the methods that estimators inherit,
at evaluation sets, and where a library has failed, the columns are looked at here.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives._checks import arrays
from gbdt_objectives._checks.arrays import (
    Array,
    as_array,
    column_names as column_names,
    is_dask,
    library_name,
    not_flat,
    on_device,
    same_length,
    shown,
)
from gbdt_objectives._checks.users import warn
from gbdt_objectives._checks.values import (
    CODES,
    FAR,
    INTEGER_HINT,
    SPELLED,
    RandomState,
    _missing,
    kind_hint,
    positions,
    where_missing,
)
from gbdt_objectives._public import EVALUATION, MARGINS, MOST_COLUMNS, UNREAD
from gbdt_objectives._rows.workers import several, workers

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


Split = tuple[Array, Array]  # row numbers to train on and to hold out


def held_out_once(y: Array, cv: Any, group: Array | None, random_state: RandomState) -> list[Split]:
    """Splits (train, test) in which each row is held out exactly once; y has class positions."""
    splits, times = read_splits(y, cv, group, random_state, least=2)
    if (times != 1).any():
        row = int(np.flatnonzero(times != 1)[0])
        raise ValueError(
            f"cv must hold each row out exactly once, but row {row} is held out {times[row]} "
            "times: use KFold, StratifiedKFold or their group versions"
        )
    return splits


def read_splits(
    y: Array, cv: Any, group: Array | None, random_state: RandomState = 0, least: int = 1
) -> tuple[list[Split], Array]:
    """Splits, each of which holds out rows that it does not train on; how often each row is."""
    with warnings.catch_warnings():  # rare classes are usual, and the label list is fixed
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        given = listed("cv", _given(y, cv, group, random_state))
        splits = [_read_split(split) for split in given]
    if len(splits) < least:
        raise ValueError(f"cv gives {len(splits)} split: there must be at least two folds")
    times = np.zeros(len(y), np.int64)
    for split in splits:
        _check_split(split, len(y), group)
        np.add.at(times, split[1], 1)
    return splits, times


def listed(name: str, splits: Iterable[Any]) -> list[Any]:
    """The splits of whatever gives them, of which there must be some."""
    found = list(splits)
    if not found:
        raise ValueError(f"{name} gives 0 splits: was it an iterator, now used up? Give a list")
    return found


def _given(y: Array, cv: Any, group: Array | None, random_state: RandomState) -> Iterable[Any]:
    """What ``cv`` gives, be it a number of folds, which are drawn, a splitter or splits."""
    if cv is None:
        raise ValueError("cv is None: give a number of folds, a splitter or a list of splits")
    if isinstance(cv, type):
        raise TypeError(f"cv is the class {cv.__name__}: make a splitter, {cv.__name__}(...)")
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        cv = _folds(y, int(cv), group, random_state)
    elif isinstance(cv, Iterable) and not hasattr(cv, "split"):
        return cv
    from sklearn.model_selection import check_cv

    splitter = check_cv(cv, y, classifier=True)
    given: Iterable[Any] = splitter.split(np.zeros((len(y), 1)), y, group)
    return given


def _check_split(split: Split, n: int, group: Array | None) -> None:
    """Raise if it has no rows on a side, rows that are not there, or some on both sides."""
    train, test = split
    if not len(test):
        raise ValueError("cv gives a split that holds out no row")
    if not len(train):
        raise ValueError("cv gives a split that leaves no row to train on")
    rows = np.concatenate(split)
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"cv gives row numbers outside 0 to {n - 1}")
    if np.isin(train, test).any():
        raise ValueError("cv gives a split with rows on both sides: they would be in-sample")
    if group is not None and len(both := np.intersect1d(group[train], group[test])):
        raise ValueError(
            f"cv puts group number {both[0]} on both sides of a split: use a splitter "
            "that heeds groups, such as GroupKFold"
        )


def _folds(y: Array, cv: int, group: Array | None, random_state: RandomState) -> Any:
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds, found {cv}")
    need, remedy = f"cv = {cv} folds need at least {cv}", "use fewer folds or more rows"
    groups = cv if group is None else len(np.unique(group))
    if groups < cv:
        raise ValueError(f"{need} groups, found {groups}: use fewer folds")
    if group is None and len(y) < cv:
        raise ValueError(f"{need} rows, found n_samples={len(y)}: {remedy}")
    most = int(np.unique(y, return_counts=True)[1].max())
    if most < cv:
        raise ValueError(f"{need} rows of a class, found at most {most}: {remedy}")
    kind = StratifiedKFold if group is None else StratifiedGroupKFold
    if isinstance(random_state, np.random.Generator):  # which scikit-learn does not take
        random_state = int(random_state.integers(2**31))
    return kind(cv, shuffle=True, random_state=random_state)


def _read_split(split: Any) -> Split:
    if not isinstance(split, list | tuple) or len(split) != 2:
        raise ValueError(
            "cv must give pairs of row numbers, (train, held_out), a single one as "
            f"[(train, held_out)], found {shown(split)}"
        )
    train, test = (np.asarray(rows) for rows in split)
    for rows in (train, test):
        if rows.dtype == bool:
            raise ValueError("cv gives splits as masks: give row numbers, np.flatnonzero(mask)")
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ValueError(f"cv must give row numbers, (n,), found {shown(rows)}")
    return train, test


def group_numbers(groups: ArrayLike, rows: int, name: str = "groups") -> Array:
    """Groups of any one type as numbers 0.., (n,)."""
    distinct, numbers = distinct_groups(groups, rows, name)
    not_spelled_missing(name, distinct, "groups")
    return numbers


def not_spelled_missing(name: str, values: Array, own: str) -> None:
    """Raise for a word for a missing value, which may be a name unless all others hold a digit."""
    if values.dtype.kind not in "OUST" or SPELLED.isdisjoint(listed := values.tolist()):
        return
    distinct = {*listed}
    others, words = distinct - SPELLED, distinct & SPELLED
    if words & {"", "<NA>"} or (others and all(re.search(r"\d", str(one)) for one in others)):
        raise ValueError(
            f"{name} must not be missing, found {min(words)!r}, a word for it: give such rows "
            f"{own} of their own, or leave them out; if it is a name, write it in another way"
        )


def check_groups(name: str, numbers: Array, least: int = 2, rows: int | None = None) -> Array:
    """The numbers of groups, if these are enough for what varies between them to show."""
    found, n = len(np.unique(numbers)), len(numbers) if rows is None else rows
    if n > 1 and found < least:
        raise ValueError(
            f"{name} must be at least {least} different ones, better 30 or more, found {found} "
            f"among {n} rows of weight above 0: what outcomes of one group have in "
            "common shows only between groups; pass whose row it is, or leave it out if rows are "
            "independent"
        )
    return numbers


def distinct_groups(
    groups: ArrayLike, rows: int, name: str, other: str = "the labels"
) -> tuple[Array, Array]:
    """The different groups, of any one type, in ascending order, and the number of each row's."""
    values = as_array(name, groups)
    if values.dtype.kind == "U" and not hasattr(groups, "dtype"):
        values = np.asarray(groups, object)  # where a NaN among strings is none
    if values.ndim != 1:
        raise arrays.not_flat(name, values.shape)
    same_length(name, values, other, rows)
    if values.dtype.kind == "f":
        arrays.finite(name, values)
    if values.dtype.kind not in "OUS":
        distinct, numbers = number_values(values)
        if values.dtype.kind in "mM":
            _not_missing(name, values, distinct)
        return distinct, numbers

    def listed() -> Iterable[Any]:  # never all at once: strings take more room than numbers
        return chain.from_iterable(values[k : k + 65_536].tolist() for k in range(0, rows, 65_536))

    try:
        found = set(listed())
        _not_missing(name, values, found)
        order = sorted(found)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise TypeError(
            f"{name} must be of one type that can be sorted, found {', '.join(kinds)}: make them "
            "all strings or all integers"
        ) from None
    number = {value: k for k, value in enumerate(order)}
    distinct = np.empty(len(order), object)
    distinct[:] = order
    return distinct, np.fromiter(map(number.__getitem__, listed()), np.intp, rows)


def number_values(values: Array) -> tuple[Array, Array]:
    """The distinct values, rising, and the number of each row's: np.unique in half the memory."""
    order = np.argsort(values)
    rising = values[order]
    new = np.append(True, rising[1:] != rising[:-1])[: len(values)]
    distinct = rising[new]
    del rising
    rank = np.cumsum(new)
    rank -= 1
    numbers = np.empty(len(values), np.intp)
    numbers[order] = rank
    return distinct, numbers


def distinct_segments(
    values: Any, rows: int, name: str, other: str = "the labels"
) -> tuple[Array, Array, bool]:
    """A column's distinct values, the number of each row's, and whether these are categories, all
    of which are listed."""
    category = getattr(values, "cat", values)
    if not (hasattr(category, "categories") and hasattr(category, "codes")):
        return *distinct_groups(values, rows, name, other), False
    codes = np.asarray(category.codes).astype(np.intp)
    same_length(name, codes, other, rows)
    if (codes < 0).any():
        raise ValueError(
            f"{name} must not be missing, found a row without a category at row "
            f"{int(np.argmax(codes < 0))}: give such rows a category, or leave them out"
        )
    return np.asarray(category.categories), codes, True


def _not_missing(name: str, values: Array, distinct: Any) -> None:
    if any(_missing(value) for value in distinct):
        row = next(i for i, value in enumerate(values) if _missing(value))
        raise ValueError(
            f"{name} must not be missing, found {shown(values[row])} at row {row}: give such rows "
            "a value of their own, or leave them out"
        )


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
        known = shown([native(own) for own in names])
        raise ValueError(
            f"{name} has no names of columns, but the model knows {known}: pass "
            f"pandas.DataFrame({name}, columns={known}) if they are in this order"
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
    arrays.each(name, column, ~where_missing(column), "must not be missing", remedy)


def check_label_column(name: str, y: Array, of_classes: bool = False) -> None:
    """Raise for labels that are missing or infinite."""
    remedy = "leave rows without a label out"
    if y.dtype.kind == "f":
        arrays.finite(name, y, remedy)
        if of_classes:
            remedy = "numbers that are no classes are for a regressor"
            arrays.each(name, y, y == np.rint(y), "must hold classes", remedy)
    is_there(name, y, remedy)


def positions_in_model(name: str, y: Array, classes: Array) -> Array:
    return positions(name, y, classes, "the classes of the model", "pass labels of these")


def check_kind(name: str, y: Array, model: Any, classes: Any, error: str) -> None:
    """Raise for labels that are not of the kind which a library has refused."""
    if y.ndim != 1 and y.shape[1:] != (1,):
        raise not_flat(name, y.shape)
    if y.dtype.kind == "O" and (remedy := kind_hint(y)) != INTEGER_HINT:
        raise TypeError(f"{name} has dtype object: {remedy}")
    if hasattr(model, "predict_proba") and classes is not None:
        positions_in_model(name, y.ravel(), np.asarray(classes))
    encodes = not hasattr(model, "predict_proba") or "Invalid classes" in error
    if hasattr(model, "predict") and encodes and y.dtype.kind not in "biuf":
        raise arrays.not_real(name, y)


def check_unread(given: Mapping[str, Any], inherited: bool) -> None:
    """Raise for columns that only a library would read: all of a method that is its own, else those
    of evaluation sets and margins."""
    if inherited:
        check_columns(given)
    else:
        read = {*UNREAD, "X", "self"}
        check_columns({name: given[name] for name in given if name in read}, fits=True)


def are_words(array: Array) -> bool:
    kind = array.dtype.kind
    return kind == "U" or (kind == "O" and all(isinstance(value, str) for value in array.flat))


def check_known_labels(given: Mapping[str, Any]) -> None:
    """Warn of labels that a classifier, which is scored, has not; raise for those of another kind,
    of which scikit-learn before 1.8 says that none is predicted right."""
    y, classes = np.asarray(given.get("y")), np.asarray(getattr(given["self"], "classes_", []))
    if not y.size or not classes.size:  # CatBoost's regressors have an empty list
        return
    if y.ndim == 1 and {are_words(y), are_words(classes)} == {True, False}:
        positions_in_model("y", y, classes)
    if {y.dtype.kind, classes.dtype.kind} - set("biuf"):
        return
    if (unknown := np.setdiff1d(y, classes)).size:
        warn(
            f"y holds {shown(unknown.tolist())}, but the classes of the model are "
            f"{shown(classes.tolist())}: it is wrong in such rows, pass labels of these"
        )


def warn_of_other_labels(
    low: float, high: float, found: float, mean: float | None, variance: float | None,
    label_range: tuple[float, float] | None = None,
) -> None:  # fmt: skip
    """Warn of labels, from low to high, that are not those whose mean and variance are given."""
    said = ""
    if label_range is not None:
        if not label_range[0] <= low <= high <= label_range[1]:
            said = f"those given before are from {label_range[0]:g} to {label_range[1]:g}"
    elif mean is not None and variance is not None and abs(found - mean) > FAR * variance**0.5:
        said = f"mean={mean:g} and variance={variance:g} say that they are elsewhere"
    if said:
        warn(
            f"y_true holds labels from {low:g} to {high:g}, of mean {found:.4g}, but {said}: give "
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
