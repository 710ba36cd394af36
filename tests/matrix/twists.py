"""What is done to an argument of rows or classes, and what must then hold.

A twist has a name, the kinds of parameters that it is for (``CELLS`` of ``recipes.py``), and what
must come of it:

- "right": the same values in another form, so the answer is the untwisted call's;
- "right or told": a form that may be read (then by its names or order), or be refused or warned of;
- "told": nonsense, which must be refused or warned of.

A new kind of mistake is one function here: it then is tried at every public callable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

import numpy as np
import pandas as pd

from tests.matrix.recipes import CELLS, EVENTS, OF_ROWS, POSITION, N, Task, in_two

Given = dict[str, Any]
Must = Literal["right", "right or told", "told"]


@dataclass(frozen=True)
class Tried:
    """A call that is right, and the argument that is changed."""

    callable: str
    parameters: frozenset[str]
    argument: str
    given: Mapping[str, Any]
    task: Task

    @property
    def value(self) -> Any:
        return self.given[self.argument]

    @property
    def labels(self) -> str | None:
        """The argument that holds the labels of the rows."""
        names = [f"{name}{rows_of(self.argument)}" for name in ("y_true", "y")]
        return next((name for name in names if name in self.given), None)

    @property
    def columns(self) -> list[str]:
        """The arguments that have a value for each of the same rows."""
        rows = rows_of(self.argument)
        return [name for name in self.given if name in OF_ROWS and rows_of(name) == rows]

    @property
    def is_binary(self) -> bool:
        return self.task.y is EVENTS


def rows_of(name: str) -> str:
    """Training rows, those of an evaluation set, ...: they have arguments of one ending."""
    return next((end for end in ("_val", "_out", "_full", "_sampled") if name.endswith(end)), "")


@dataclass(frozen=True)
class Changed:
    given: Given
    truth: Mapping[str, Any] | None = None
    """A call whose answer is right, where it is not the untwisted one."""


@dataclass(frozen=True)
class Twist:
    name: str
    of: frozenset[str]
    must: Must
    change: Callable[[Tried], Changed | None]
    """None: it does not apply."""
    said_by_library: str = ""
    """A pattern of words with which a library itself says it well."""
    needs: str = "numpy"
    """The package without which it cannot be tried."""


TWISTS: list[Twist] = []
NUMBERS = ("labels", "scores", "probabilities", "weights", "counts", "rates-of-rows", "times")
"""Kinds of columns of numbers, one for each row."""
COLUMNS = (*NUMBERS, "names")


def twist(name: str, *kinds: str, must: Must, **others: str) -> Callable[[Any], None]:
    """Add a twist: a function of the argument's value, or of the call, then called ``tried``, which
    returns what is given in its place. None: the twist does not apply."""

    def add(function: Any) -> None:
        def change(tried: Tried) -> Changed | None:
            value = function(tried.value)
            return None if value is None else Changed({**tried.given, tried.argument: value})

        of_call = next(iter(signature(function).parameters)) == "tried"
        change = function if of_call else change
        TWISTS.append(Twist(name, frozenset(kinds), must, change, **others))

    return add


def in_pandas(value: Any, index: Any = None) -> Any:
    if isinstance(value, pd.DataFrame):
        return value if index is None else value.set_axis(index)
    return (pd.Series if np.ndim(value) == 1 else pd.DataFrame)(np.asarray(value), index=index)


def one_column(value: Any) -> bool:
    return np.ndim(value) == 1


# --- the same values in another form


twist("a list", *COLUMNS, "costs", must="right")(lambda v: np.asarray(v).tolist())
twist("a list", "tables", must="right or told")(lambda v: v.to_numpy().tolist())
twist("an array", "tables", must="right or told")(lambda v: v.to_numpy())
twist("of pandas", "costs", must="right")(in_pandas)
twist("of pandas with its own index", *COLUMNS, "tables", must="right")(
    lambda v: in_pandas(v, [f"row {k}" for k in range(len(v))])
)


def columns_of(value: Any) -> dict[str, Any]:
    return {str(name): column.to_numpy() for name, column in in_pandas(value).items()}


@twist("of polars", *COLUMNS, "tables", must="right", needs="polars")
def _(v: Any) -> Any:
    import polars

    return polars.Series(v) if one_column(v) else polars.DataFrame(columns_of(v))


@twist("of Arrow", *COLUMNS, "tables", must="right", needs="pyarrow")
def _(v: Any) -> Any:
    import pyarrow

    return pyarrow.array(v) if one_column(v) else pyarrow.table(columns_of(v))


@twist("in the other byte order", *COLUMNS, "tables", "costs", must="right or told")
def _(v: Any) -> Any:
    array = np.asarray(v)
    return array.astype(array.dtype.newbyteorder(">"))


@twist("a read-only array, each second of another", *COLUMNS, must="right")
def _(v: Any) -> Any:
    array = np.repeat(np.asarray(v), 2, axis=0)[::2]
    array.flags.writeable = False
    return array


@twist("of floats", "labels", "counts", must="right")
def _(v: Any) -> Any:
    return np.asarray(v).astype(float)


@twist("of booleans", "labels", must="right or told")
def _(v: Any) -> Any:
    return v.astype(bool) if set(np.unique(v)) == {0, 1} else None


@twist("of objects", *COLUMNS, must="right or told")
def _(v: Any) -> Any:
    return np.asarray(v).astype(object)


@twist("of pandas' nullable numbers", *COLUMNS, must="right")
def _(v: Any) -> Any:
    return in_pandas(v).convert_dtypes() if one_column(v) else None


@twist("of pandas' categories", "labels", "names", must="right or told")
def _(tried: Tried) -> Changed | None:
    if tried.argument == "segments":  # whose order is kept
        return None
    return Changed({**tried.given, tried.argument: pd.Series(tried.value).astype("category")})


@twist("a column (n, 1)", *COLUMNS, must="right or told")
def _(v: Any) -> Any:
    return np.asarray(v).reshape(-1, 1) if one_column(v) else None


@twist("a frame of one column", *NUMBERS, must="right or told")
def _(v: Any) -> Any:
    return pd.DataFrame({"column": np.asarray(v)}) if one_column(v) else None


@twist("an array", "by class", "classes", "cuts", must="right or told")
def _(v: Any) -> Any:
    return None if isinstance(v, Mapping) else np.asarray(v)


# --- rows in another order, of another number, or none


@twist("rows turned", *COLUMNS, "tables", must="right or told")
def _(tried: Tried) -> Changed | None:
    if len(tried.columns) < 2:
        return None
    order = np.random.default_rng(0).permutation(len(tried.value))
    given = {name: in_pandas(tried.given[name]) for name in tried.columns}
    return Changed({**tried.given, **given,
                    tried.argument: given[tried.argument].iloc[order]})  # fmt: skip


@twist("rows turned of an index that occurs twice", *COLUMNS, "tables", must="told")
def _(tried: Tried) -> Changed | None:
    if len(tried.columns) < 2:
        return None
    given = {
        name: in_pandas(tried.given[name], np.arange(len(tried.given[name])) // 2)
        for name in tried.columns
    }
    return Changed({**tried.given, **given, tried.argument: given[tried.argument].iloc[::-1]})


def other_columns(tried: Tried) -> list[str]:
    return [name for name in tried.columns if name != tried.argument]


@twist("a row short", *COLUMNS, "tables", must="told")
def _(tried: Tried) -> Changed | None:
    value = tried.value
    short = value.iloc[:-1] if hasattr(value, "iloc") else value[:-1]
    return Changed({**tried.given, tried.argument: short}) if other_columns(tried) else None


@twist("empty", *COLUMNS, "tables", must="told")
def _(tried: Tried) -> Changed | None:
    v = tried.value
    if not other_columns(tried) and tried.callable.endswith(ANSWERS_ROWS):  # with no rows
        return None
    return Changed({**tried.given, tried.argument: v.iloc[:0] if hasattr(v, "iloc") else v[:0]})


ANSWERS_ROWS = ("predict", "predict_proba", "predict_score", "decision_function", "apply",
                "class_probability")  # fmt: skip


@twist("one number", *(set(COLUMNS) - {"weights"}), must="right or told")
def _(tried: Tried) -> Changed | None:
    if tried.callable.startswith("priors.correct_"):  # which takes one
        return None
    return Changed({**tried.given, tried.argument: float(np.ravel(tried.value)[0])})


@twist("a row (1, n)", *COLUMNS, must="told")
def _(v: Any) -> Any:
    return np.asarray(v).reshape(1, -1) if one_column(v) else None


@twist("columns for rows", "probabilities", must="told")
def _(v: Any) -> Any:
    return None if one_column(v) else np.asarray(v).T


# --- values that are none


@twist("NaN", *NUMBERS, must="told")
def _(v: Any) -> Any:
    array = np.asarray(v).astype(float)
    array[3] = np.nan
    return array


@twist("infinite", *NUMBERS, must="told")
def _(v: Any) -> Any:
    array = np.asarray(v).astype(float)
    array[3] = np.inf
    return array


@twist("text of numbers", *NUMBERS, must="right or told")
def _(v: Any) -> Any:
    return np.asarray(v).astype(str)


@twist("None in a fifth", *COLUMNS, must="told")
def _(v: Any) -> Any:
    array = np.asarray(v).astype(object)
    array[::5] = None
    return array


@twist("pandas' NA", *COLUMNS, must="told")
def _(v: Any) -> Any:
    if not one_column(v):
        return None
    column = in_pandas(v).convert_dtypes()
    column[5] = pd.NA
    return column


@twist("'NA' in a fifth", "names", must="told")
def _(tried: Tried) -> Changed | None:
    if tried.argument not in ("key", "groups"):  # of segments it is one
        return None
    array = np.asarray(tried.value).astype(str).astype(object)
    array[::5] = "NA"
    return Changed({**tried.given, tried.argument: array})


# --- labels


WORDS = np.array(["bad", "good", "great", "top"])


@twist("words", "labels", must="right or told")
def _(tried: Tried) -> Changed | None:
    alone = "y_full" not in tried.given
    return Changed({**tried.given, tried.argument: WORDS[tried.value]}) if alone else None


@twist("1 and 2 for 0 and 1", "labels", must="right or told", said_by_library="Invalid classes")
def _(tried: Tried) -> Changed | None:
    if not tried.is_binary or "ratio_objective" in tried.callable:  # whose labels are numbers
        return None
    return Changed({**tried.given, tried.argument: tried.value + 1})


@twist("99 for a missing label", "labels", must="told")
def _(v: Any) -> Any:
    array = np.array(v)
    array[::40] = 99
    return array


@twist("fractions", "labels", must="told")
def _(tried: Tried) -> Changed | None:
    if not tried.is_binary or "ratio_objective" in tried.callable:  # whose labels are numbers
        return None
    return Changed({**tried.given, tried.argument: tried.value + 0.25})


@twist("a column for each class", "labels", must="right or told")
def _(v: Any) -> Any:
    return np.eye(4, dtype=int)[v][:, : v.max() + 1]


# --- predictions


@twist("swapped with labels", "scores", "probabilities", must="right or told")
def _(tried: Tried) -> Changed | None:
    y = tried.labels
    if y is None or tried.argument not in ("y_pred", "score", "probability"):
        return None
    return Changed({**tried.given, tried.argument: tried.given[y], y: tried.value})


@twist("labels for it", "scores", "probabilities", must="told")
def _(tried: Tried) -> Changed | None:
    if tried.labels is None or tried.argument not in ("score", "probability"):
        return None
    if np.array_equal(tried.value, np.rint(tried.value)):
        return None
    return Changed({**tried.given, tried.argument: tried.task.y})


@twist("margins for it", "probabilities", must="told")
def _(tried: Tried) -> Changed | None:
    return Changed({**tried.given, tried.argument: 4 * tried.task.margin})


@twist("per cent for it", "probabilities", must="told")
def _(v: Any) -> Any:
    return 100 * v


@twist("columns for one of two classes", "scores", "probabilities", must="right or told")
def _(tried: Tried) -> Changed | None:
    if not tried.is_binary or not one_column(tried.value):
        return None
    return Changed({**tried.given, tried.argument: np.column_stack([1 - tried.value, tried.value])})


@twist("a column less", "scores", "probabilities", must="told")
def _(v: Any) -> Any:
    return None if one_column(v) else v[:, 1:]


def by_columns(tried: Tried) -> Any:
    """A number for each class, also where one column has that of the second."""
    of_two = one_column(tried.value) and tried.argument.startswith("probability")
    return in_two(tried.value) if of_two else tried.value


def turned(columns: Any, names: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(columns, columns=names[: columns.shape[1]]).iloc[:, ::-1]


@twist("classes of a frame turned", "probabilities", "scores", must="right or told")
def _(tried: Tried) -> Changed | None:
    columns = by_columns(tried)
    if one_column(columns):
        return None
    frame = turned(columns, list(range(4)))
    truth = {**tried.given, tried.argument: columns}
    return Changed({**tried.given, tried.argument: frame}, truth)


@twist("classes of a frame are words and turned", "probabilities", must="right or told")
def _(tried: Tried) -> Changed | None:
    y, columns = tried.labels, by_columns(tried)
    if y is None:
        return None
    truth = {**tried.given, tried.argument: columns}
    named = {y: WORDS[tried.given[y]], tried.argument: turned(columns, WORDS.tolist())}
    return Changed({**tried.given, **named}, truth)


# --- weights, counts and rates


@twist("negative", "weights", "counts", "times", "rates-of-rows", must="told")
def _(v: Any) -> Any:
    array = np.array(v)
    array[0] = -1
    return array


@twist("0 in all rows", "weights", "counts", "rates-of-rows", must="told")
def _(tried: Tried) -> Changed | None:
    if "Statistics" in tried.callable:  # of a chunk, which others may follow
        return None
    return Changed({**tried.given, tried.argument: np.zeros_like(tried.value)})


@twist("halves", "counts", must="told")
def _(v: Any) -> Any:
    return v / 2


@twist("above 1", "rates", "rates-of-rows", must="told")
def _(v: Any) -> Any:
    return 20 * v


@twist("0", "rates", must="told")
def _(v: Any) -> Any:
    return 0.0


@twist("not a number", "rates", must="told")
def _(v: Any) -> Any:
    return np.nan


@twist("per cent for it", "rates", must="told")
def _(v: Any) -> Any:
    return 100 * v


INVERSE = np.where(EVENTS == 0, 2.0, 1.0)
"""The weights that correct a rate of 0.5 once more."""
BY_CLASS_OR_RATE = ("rates", "rates-of-rows", "by class")


@twist("weights of 1/rate beside it", *BY_CLASS_OR_RATE, must="told")
def _(tried: Tried) -> Changed | None:
    rate = "rate" in tried.argument
    if not rate or "sample_weight" not in tried.parameters or not tried.is_binary:
        return None
    return Changed({**tried.given, "sample_weight": INVERSE})


OF_RATE = ("weighted_logloss", "offset_logloss", "Downsampled")
"""What corrects a rate of its own."""
OF_OTHER_ROWS = {("fit", "sample_weight_val"), ("score", "sample_weight")}
"""Weights of rows to judge a model by, which it neither drew nor corrects: 1/rate is right there
where these rows were drawn."""


@twist("weights of 1/rate beside its object's", "weights", must="told")
def _(tried: Tried) -> Changed | None:
    corrects = any(word in tried.callable for word in OF_RATE)
    if (tried.callable.split(".")[-1], tried.argument) in OF_OTHER_ROWS:
        return None
    if not corrects or tried.labels is None or not tried.is_binary:
        return None
    return Changed({**tried.given, tried.argument: INVERSE})


@twist("rows of weight 0 added", "weights", must="right")
def _(tried: Tried) -> Changed | None:
    if not tried.callable.startswith(SUMS) or any(word in tried.callable for word in BY_ROW):
        return None
    more = {
        name: np.concatenate([value := np.asarray(tried.given[name]), value[::-1][:50]])
        for name in tried.columns
    }
    more[tried.argument][N:] = 0
    return Changed({**tried.given, **more})


SUMS = ("calibration.", "thresholds.", "metrics.")
BY_ROW = ("choose", "apply", "predict", "Spline", "VennAbers", "_test", "decide")
"""What answers each row, or draws of them."""


@twist("2 and each row twice", "counts", must="right")
def _(tried: Tried) -> Changed | None:
    twice = {
        name: np.repeat(np.asarray(tried.given[name]), 2, axis=0) for name in other_columns(tried)
    }
    truth = {**tried.given, **twice}
    del truth[tried.argument]
    return Changed({**tried.given, tried.argument: np.full(N, 2)}, truth)


# --- classes


def by_class(value: Any) -> dict[Any, float]:
    return dict(value) if isinstance(value, Mapping) else dict(enumerate(value))


@twist("a Series by class", "by class", must="right")
def _(v: Any) -> Any:
    return pd.Series(by_class(v))


@twist("a Series by class turned", "by class", must="right or told")
def _(v: Any) -> Any:
    return pd.Series(by_class(v)).iloc[::-1]


@twist("a mapping turned", "by class", must="right")
def _(v: Any) -> Any:
    return dict(reversed(v.items())) if isinstance(v, Mapping) else None


@twist("a Series by word turned", "by class", must="right or told")
def _(tried: Tried) -> Changed | None:
    if tried.labels is not None:
        return None
    named = {WORDS[k]: rate for k, rate in by_class(tried.value).items()}
    return Changed({**tried.given, tried.argument: pd.Series(named).iloc[::-1]})


@twist("a class less", "by class", "classes", must="told")
def _(v: Any) -> Any:
    return dict(list(v.items())[1:]) if isinstance(v, Mapping) else v[1:]


@twist("a class more", "by class", must="told")
def _(tried: Tried) -> Changed | None:
    v = tried.value
    if not any(name in OF_ROWS for name in tried.given):
        return None
    more = {**v, 9: 0.5} if isinstance(v, Mapping) else [*v, 0.5]
    return Changed({**tried.given, tried.argument: more})


@twist("negative", "by class", must="told")
def _(v: Any) -> Any:
    return {**v, 0: -0.5} if isinstance(v, Mapping) else [-0.5, *v[1:]]


@twist("not a number", "by class", "cuts", must="told")
def _(v: Any) -> Any:
    return {**v, 0: np.nan} if isinstance(v, Mapping) else [np.nan, *v[1:]]


@twist("turned", "cuts", must="told")
def _(v: Any) -> Any:
    return v[::-1] if len(v) > 1 else None


@twist("a class twice", "classes", must="told")
def _(v: Any) -> Any:
    return [v[0], *v]


@twist("of words", "classes", must="told")
def _(tried: Tried) -> Changed | None:
    if tried.labels is None:
        return None
    return Changed({**tried.given, tried.argument: WORDS[tried.value].tolist()})


@twist("NaN", "costs", must="told")
def _(v: Any) -> Any:
    return v * np.nan


@twist("a column less", "costs", must="told")
def _(v: Any) -> Any:
    return v[:, 1:]


@twist("classes of a frame turned", "costs", must="right or told")
def _(v: Any) -> Any:
    return pd.DataFrame(v).iloc[::-1, ::-1]


# --- tables

NAMES = r"feature.names|column|should be feature|is present in model"


@twist("columns turned", "tables", must="right or told", said_by_library=NAMES)
def _(tried: Tried) -> Changed | None:
    if not knows_columns(tried):
        return None
    return Changed({**tried.given, tried.argument: tried.value.iloc[:, ::-1]})


def knows_columns(tried: Tried) -> bool:
    return not tried.callable.endswith((".fit", "train", "cv", "performance"))


@twist("columns of other names", "tables", must="told", said_by_library=NAMES)
def _(tried: Tried) -> Changed | None:
    if not knows_columns(tried):
        return None
    return Changed({**tried.given, tried.argument: tried.value.add_suffix("_other")})


@twist("a column less", "tables", must="told", said_by_library=NAMES + "|features")
def _(tried: Tried) -> Changed | None:
    if not knows_columns(tried):
        return None
    return Changed({**tried.given, tried.argument: tried.value.iloc[:, :-1]})


@twist("a column more", "tables", must="right or told", said_by_library=NAMES + "|features")
def _(tried: Tried) -> Changed | None:
    if not knows_columns(tried):
        return None
    return Changed({**tried.given, tried.argument: tried.value.assign(d=1.0)})


@twist("words in a column", "tables", must="told", said_by_library="string|dtype|categor|num_fea")
def _(v: Any) -> Any:
    return v.assign(a=WORDS[POSITION[: len(v)] % 4])


@twist("one column (n,)", "tables", must="told", said_by_library="1D|1-d|dimension")
def _(v: Any) -> Any:
    return v["a"].to_numpy()


UNKNOWN = {kind for twist in TWISTS for kind in twist.of} - {*CELLS}
assert not UNKNOWN, f"no parameter is of these kinds: {UNKNOWN}"
