"""Checks of what values mean: numbers, rates, probabilities, classes, groups, thresholds."""

from __future__ import annotations

import math
import numbers
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from inspect import isfunction
from os.path import commonprefix
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives._checks import arrays
from gbdt_objectives._checks.arrays import Array, as_array, real_array, same_length, shown, vector
from gbdt_objectives._checks.users import warn
from gbdt_objectives._rows.workers import several

RandomState = int | np.random.Generator | np.random.RandomState | None

SUM_TOLERANCE = 1e-4  # of a row of probabilities: a float32 softmax is off by 1e-6
MOST_COPIES = 2**53  # larger whole numbers are not exact in float64
FEW, MANY = 10, 50  # fewer probabilities may all be 0 and 1 by chance
FAR = 3  # deviations: the mean of any tenth of the rows is nearer to that of all, sqrt(1 / 0.1 - 1)
MAY_BE_GRADE = {"none", "."}  # as in none, mild, severe
MISSING = MAY_BE_GRADE | {"", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", r"\n"}
"""Words for a missing value, in small letters."""
SPELLED = {w for word in MISSING for w in (word, word.upper(), word.title(), "NaN", "NaT")}
"""The same as programs write them."""
CODES = {-9} | {sign * (10**digits - 1) for digits in range(2, 7) for sign in (1, -1)}
"""Numbers of nines, as files write a missing answer; 9 itself may be a grade."""
INTEGER_HINT = (
    "pass labels=[...], all classes from lowest to highest, if they are not consecutive integers"
)
"""What to do about classes that are no whole numbers."""


def _typed(value: object) -> str:
    return f"{type(value).__name__} {shown(value)}"


def number(name: str, value: object) -> float:
    """A finite real number."""
    wrong = bool | np.bool_ | np.timedelta64  # the last is an integer to numpy
    if isinstance(value, wrong) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, found {_typed(value)}")
    try:
        found = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite, found an integer too large for a float") from None
    if not math.isfinite(found):
        raise ValueError(f"{name} must be finite, found {shown(value)}")
    return found


def whole_number(name: str, value: object, least: int) -> int:
    """An integer, at least ``least``; a float is none, 5.0 neither."""
    message = f"{name} must be a whole number >= {least}, found {shown(value)}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{message}: pass an int")
    if value < least:
        raise ValueError(message)
    return int(value)


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} must be one of {words}, found {shown(value)}")
    return value


def flag(name: str, value: object) -> bool:
    """True or False, nothing that merely looks like it."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, found {_typed(value)}")
    return bool(value)


def is_loud(name: str, value: object) -> bool:
    """Whether to show progress: a flag, or a whole number as other libraries take it, 0 for no."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        return flag(name, value)
    return whole_number(name, value, 0) > 0


def show_progress(
    verbose: object, done: Iterable[Any], total: int, description: str, unit: str
) -> Iterable[Any]:
    """What is computed one by one, with a bar if the argument ``verbose`` asks for one."""
    if not is_loud("verbose", verbose):
        return done
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("verbose=True needs tqdm: pip install tqdm") from error
    return tqdm(done, total=total, desc=description, unit=unit)  # type: ignore[no-any-return]


def flag_or_auto(name: str, value: object) -> bool | None:
    """True or False, or None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True, False or 'auto', found {_typed(value)}")
    return bool(value)


def check_called(name: str, value: Any) -> None:
    """Raise for a factory of ours that was not called."""
    if isfunction(value) and str(value.__module__).startswith("gbdt_objectives."):
        own = value.__name__
        if getattr(sys.modules.get(value.__module__), own, None) is value:
            raise TypeError(f"{name} is the function {own} itself: call it, {own}(...)")


def generator(random_state: RandomState) -> np.random.Generator | np.random.RandomState:
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, bool) or not isinstance(random_state, numbers.Integral):
        kinds = "an int, a numpy Generator or RandomState, or None"
        raise TypeError(f"random_state must be {kinds}, found {shown(random_state)}")
    if random_state < 0:
        raise ValueError(f"random_state must not be negative, found {random_state}")
    return np.random.default_rng(int(random_state))


def keep_rate(name: str, value: object) -> float:
    """A sampling rate in (0, 1]."""
    if isinstance(value, Mapping):
        raise TypeError(
            f"{name} must be a number, found dict {shown(value)}: write {name}=rates[0]"
        )
    rate = number(name, value)
    if not 0 < rate <= 1:
        raise ValueError(
            f"{name} must be in (0, 1], found {rate!r}: it is the fraction of rows that was kept, "
            "0.02 if one negative in fifty is in the training data"
        )
    return rate


def keep_rates(name: str, values: ArrayLike) -> Array:
    """A sampling rate in (0, 1] for each row, float64 (n,)."""
    if as_array(name, values).dtype.kind == "b":
        raise TypeError(f"{name} must be rates in (0, 1], found True and False: is it a mask?")
    rates: Array = vector(name, values).astype(np.float64, copy=False)
    arrays.each(
        name, rates, (rates > 0) & (rates <= 1), "must be in (0, 1]",
        "it is the probability with which the row is kept if it is a negative, 0.02 for 2 %",
    )  # fmt: skip
    return rates


def rates_by_row_alone(
    name: str, dropped: Array, positive: Array, one_rate: str = "a float"
) -> None:
    """Raise if rates by row, below 1 where ``dropped``, are 1 in all rows of label 1 alone."""
    if positive.any() and dropped.any() and not dropped[positive].any():
        raise ValueError(
            f"{name} is 1 in every row with label 1, but not in every other: rates must not follow "
            "the label. Give a positive the rate at which a negative in its place would be kept, "
            f"as pilot_keep_rates does, or, for one rate, {one_rate}; if a pilot tells labels "
            "apart so well, sample at numpy.minimum(rates, 0.999)"
        )


def confidence_level(name: str, value: object, usual: float) -> float:
    """The coverage of an interval, in (0, 1)."""
    level = number(name, value)
    if not 0 < level < 1:
        raise ValueError(f"{name} must be in (0, 1), found {level}: for instance {usual}")
    return level


def by_name(name: str, values: Any) -> Any:
    """Numbers of classes in a Series, or a frame of one column or row, as the mapping that it is;
    anything else as it is."""
    if arrays.library_name(values) != "pandas" or not hasattr(values, "to_dict"):
        return values
    if values.ndim == 2:
        values = values.squeeze("columns" if values.shape[1] == 1 else "index")
    names = values.index.get_level_values(0) if values.index.nlevels == 1 else values.index
    if values.ndim != 1 or not names.is_unique:
        raise ValueError(
            f"{name} must have one number of each class, found {shown(values)}: pass one column, "
            "whose index names each class once"
        )
    return dict(zip(names.tolist(), values.tolist(), strict=True))


def by_class(name: str, values: Any, classes: Any = None) -> Any:
    """Numbers given by the names of classes, as a mapping in the order of the classes, ascending if
    nobody says them; an array, or a Series that has no names, as it is."""
    found = by_name(name, values)
    if not isinstance(found, Mapping):
        return found
    try:
        order = sorted(found) if classes is None else np.asarray(classes).tolist()
    except TypeError:
        raise TypeError(
            f"{name} must map labels of one type to numbers, found {shown(found)}: pass a list of "
            "the numbers in the order of the model's columns"
        ) from None
    if {*found} == {*order}:
        return {label: found[label] for label in order}
    if found is not values and [*found] == [*range(len(found))]:
        return [*found.values()]
    raise ValueError(
        f"{name} has the labels {shown([*found])}, but the classes are {shown(order)}: give "
        "the number of each"
    )


def class_keys(names: Collection[Any]) -> list[Any]:
    """Names of classes to compare: numbers, of any type, and text, without what all begin with."""
    words = list(map(str, names))
    prefix = commonprefix(words).rstrip("0123456789.")  # noqa: RUF071  (no paths)
    keys: list[Any] = [word.removeprefix(prefix) for word in words]
    with suppress(ValueError):
        keys = list(map(float, keys))
    return keys


def cost_matrix(name: str, matrix: Any) -> tuple[Array, tuple[Any, ...] | None]:
    """Numbers of each pair of K classes, [true, predicted], and the classes by which a frame names
    its rows and columns; None if it has no names, or numbers that count. Those that are numbers
    are put in ascending order."""
    array, columns = arrays.square(name, matrix), arrays.column_names(matrix)
    if columns is None:
        return array, None
    rows = list(matrix.index) if arrays.library_name(matrix) == "pandas" else columns
    true, predicted = class_keys(rows), class_keys(columns)
    counts = [[*range(k, k + len(array))] for k in (0, 1)]
    if {*true} == {*predicted}:
        array = array[:, [predicted.index(key) for key in true]]
    elif predicted in counts:
        predicted = true
    elif true in counts:
        true, rows = predicted, columns
    if {*true} != {*predicted} or len({*true}) < len(array):
        raise ValueError(
            f"{name} has the rows {shown(rows)}, but the columns {shown(columns)}: name both by "
            f"the classes, or pass {name}.to_numpy() if they are in the order of the classes"
        )
    if isinstance(true[0], float):
        order = np.argsort(true)
        array, true, rows = array[np.ix_(order, order)], sorted(true), [rows[k] for k in order]
    return array, None if true in counts else tuple(rows)


def costs_of_labels(name: str, array: Array, classes: Any, labels: Any) -> Array:
    """Costs [true, predicted] of named classes in the order of all labels; ascending if these are
    unknown, or numbers where words name the classes."""
    found, order = class_keys(classes), [] if labels is None else class_keys(labels)
    if not order or (isinstance(order[0], float) and not isinstance(found[0], float)):
        if found != sorted(found):
            raise ValueError(
                f"{name} has costs of the classes {shown([*classes])}, in an order that nothing "
                "explains: say it by labels=[...] beside the labels, which must be these, or pass "
                f"{name}.to_numpy() if they are in the order of the classes"
            )
        return array
    if {*found} != {*order}:
        raise ValueError(
            f"{name} has costs of the classes {shown([*classes])}, but the classes are "
            f"{shown(np.asarray(labels).tolist())}: name its rows and columns by these"
        )
    at = [found.index(key) for key in order]
    return np.asarray(array[np.ix_(at, at)])


def prior(name: str, value: object) -> tuple[Array, Array]:
    """A prior of labels that are numbers, as (labels, probabilities), sorted by label."""
    pairs = [(number(f"a label of {name}", k), p) for k, p in prior_mapping(name, value).items()]
    labels, probability = np.array(sorted(pairs)).T
    return labels, probability


def prior_mapping(name: str, value: object) -> dict[Any, float]:
    """A prior {label: probability}, each >= 0, which sum to 1."""
    value = by_name(name, value)
    if not isinstance(value, Mapping) or not value:
        raise TypeError(f"{name} must be a mapping {{label: probability}}, found {shown(value)}")
    p = {label: number(f"{name}[{shown(label)}]", value[label]) for label in value}
    for label, found in p.items():
        if found < 0:
            raise ValueError(
                f"{name} must hold probabilities >= 0, found {found:g} for {shown(label)}"
            )
    sum_to_one(f"the probabilities of {name}", total := sum(p.values()))
    return {label: found / total for label, found in p.items()}


def prior_of_labels(name: str, value: object, labels: list[Any], occurs: Array, rows: str) -> Array:
    """The probability of each of ``labels``, (K,), given where it occurs, and 0 elsewhere."""
    p = prior_mapping(name, value)
    occurring = [label for label, found in zip(labels, occurs, strict=True) if found]
    for label in occurring:
        if label not in p:
            raise ValueError(
                f"label {shown(label)} occurs in {rows} but not in {name}: give its probability"
            )
    for label, found in p.items():
        if found > 0 and label not in occurring:
            raise ValueError(
                f"{name} gives {shown(label)} the probability {found:g}, but no row of {rows} has "
                "that label: no weight can stand for it; add such rows or leave the label out"
            )
    return np.array([p.get(label, 0.0) for label in labels])


def class_weights(name: str, value: object, classes: list[Any]) -> dict[int, float]:
    """The weight of each class by its position, of {label: weight}; 1 for one it does not name."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be 'balanced' or {{label: weight}}, found {shown(value)}")
    unknown = [label for label in value if label not in classes]
    if unknown:
        raise ValueError(
            f"{name} has the label {shown(unknown[0])}, but the classes are {shown(classes)}: "
            "leave it out"
        )
    found = {label: number(f"{name}[{shown(label)}]", value[label]) for label in value}
    return {k: found.get(label, 1.0) for k, label in enumerate(classes)}


def distribution(name: str, value: Any, K: int | None = None, classes: Any = None) -> Array:
    """Probabilities >= 0 of K classes, in their order, which sum to 1; float64 (K,)."""
    value = by_class(name, value, classes)
    p = vector(name, [*value.values()] if isinstance(value, dict) else value).astype(np.float64)
    if K not in (None, len(p)):
        raise ValueError(f"{name} has {len(p)} classes, but there are {K}: give each a probability")
    if p.min() < 0:
        raise ValueError(f"{name} must hold probabilities >= 0, found {p.min():g}")
    sum_to_one(name, p.sum())
    return p


def sum_to_one(name: str, total: float) -> None:
    if abs(total - 1) > 1e-6:
        raise ValueError(f"{name} must sum to 1, found {total:.9g}: divide counts by their total")


def probabilities(name: str, values: ArrayLike) -> Array:
    """(n,), of label 1, or (n, K), a column per class, whose rows sum to 1; float64."""
    not_classes(name, values)
    p: Array = real_array(name, values).astype(np.float64, copy=False)
    if p.ndim not in (1, 2) or p.size == 0 or (p.ndim == 2 and p.shape[1] == 1):
        raise ValueError(
            f"{name} must be (n,), of label 1, or (n, K), a column per class, and not empty, found "
            f"shape {p.shape}"
        )
    in_unit_interval(name, p)
    if p.ndim == 2:
        rows_sum_to_one(name, p)
    return p


def not_classes(name: str, values: ArrayLike) -> None:
    """Refuse predicted classes where probabilities belong, and warn of floats that look like them:
    a tree that is grown out is certain in every row."""
    array = as_array(name, values)
    kind = array.dtype.kind
    remedy = "pass predict_proba(X)[:, 1], or all columns, instead of predict(X)"
    if array.ndim and (kind == "b" or (kind in "iu" and len(array) >= FEW)):
        found = "booleans" if kind == "b" else "whole numbers"
        raise TypeError(
            f"{name} must be probabilities, found {found} {shown(array)}, as classes are: {remedy}"
        )
    if kind != "f" or not array.ndim or len(array) < FEW:
        return
    if all(np.isin(part, (0, 1)).all() for part in (array.flat[:FEW], array)) and np.ptp(array):
        warn(
            f"{name} is 0 or 1 in every row, as predicted classes are: {remedy}, unless the model "
            "is certain of every row"
        )


def no_labels(name: str, score: Array, labels: Array) -> None:
    """Warn of scores that are labels in all of many rows."""
    if len(score) < MANY or labels.dtype.kind not in "biuf" or not np.ptp(score):
        return
    if all(np.isin(part, labels).all() for part in (score[:FEW], score)):
        warn(
            f"{name} holds nothing but labels, {shown(labels.tolist())}: thresholds are for the "
            f"scores that classes are made of; if it is swapped with y_true, y_true comes first"
        )


def not_probabilities(name: str, z: Array) -> None:
    """Warn of margins that look like probabilities."""
    if z.ndim == 1 and len(z) >= FEW and z.min() >= 0 and z.max() <= 1 and np.ptp(z):
        warn(
            f"{name} is between {z.min():g} and {z.max():g} in all rows, as probabilities are: "
            "correct_probability and input_space='probability' are for those, margins come from "
            "predict(..., output_margin=True) in XGBoost, raw_score=True in LightGBM"
        )


def unit_range(score: Array) -> tuple[float, float] | None:
    """The lowest and the highest score, if they look like probabilities or like log-odds."""
    low, high = float(score.min()), float(score.max())
    return (low, high) if low < -1 or (low >= 0 and high <= 1 and len(score) >= FEW) else None


def in_unit_of(known: tuple[float, float] | None, what: str, score: Array) -> None:
    """Warn of margins where ``what`` is of scores ``known`` to be from low to high as probabilities
    are, and the other way round. Scores in label units, and a few beyond the range, are neither."""
    low, high = known or (0, np.inf)
    is_probability, is_margin = low >= 0 and high <= 1, low < -1 and len(score) >= FEW
    if not (is_probability or is_margin) or not score.size:
        return
    least, most = score.min(), score.max()
    if is_probability and not (least >= 0 and most <= 1):
        is_other = bool(3 * np.count_nonzero((score < 0) | (score > 1)) > score.size)
    else:
        is_other = bool(is_margin and 0 <= least < most <= 1)
    if is_other:
        warn(
            f"score is from {least:.4g} to {most:.4g}, but {what} of scores from {low:.4g} to "
            f"{high:.4g}: are these margins and those probabilities, or the other way round? Pass "
            "scores of the same unit"
        )


def in_unit_interval(name: str, p: Array) -> None:
    if p.min() >= 0 and p.max() <= 1:
        return
    wrong = ~((p >= 0) & (p <= 1))
    row, found = int(np.argwhere(wrong)[0][0]) if p.ndim else 0, p[wrong][0]
    remedy = "margins need the logistic function or softmax first, percentages a division by 100"
    if np.isnan(found):
        remedy = "remove or repair such rows first"
    raise ValueError(f"{name} must be in [0, 1], found {found} at row {row}: {remedy}")


def fractions(name: str, values: ArrayLike) -> Array:
    """A number or several, (m,), in [0, 1]."""
    if np.ndim(values) > 1:
        raise ValueError(f"{name} must be a number or (m,), found shape {np.shape(values)}")
    array = real_array(name, values)
    in_unit_interval(name, array)
    return array


def rows_sum_to_one(name: str, p: Array) -> None:
    total = np.einsum("ij->i", p)
    row = int(np.argmax(np.abs(total - 1)))
    if abs(total[row] - 1) > SUM_TOLERANCE and abs(total[row] - 1) > rounding_of_sums(p):
        raise ValueError(
            f"the rows of {name} must sum to 1, found {total[row]:.6g} at row {row}: pass a "
            "column per class, or for one class (n,)"
        )


def rounding_of_sums(p: Array) -> float:
    """How far rows may be from 1 where all values were rounded to 2 or 3 digits: half a unit of the
    last one per class."""
    for unit in (0.01, 0.001):
        if np.allclose(p, np.rint(p / unit) * unit, rtol=0, atol=1e-7):  # written as float32 too
            return int(p.shape[1]) / 2 * unit + SUM_TOLERANCE
    return 0


def one_rate_or_many(name: str, value: ArrayLike, rows: int) -> float | Array:
    """A sampling rate in (0, 1] for all rows, or one for each, float64 (n,)."""
    if np.ndim(value) == 0:
        return keep_rate(name, value)
    rates = keep_rates(name, value)
    same_length(name, rates, "the labels", rows)
    return rates


def label_range(name: str, value: object) -> tuple[float, float]:
    """(lowest label, highest label), the first below the second."""
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise TypeError(f"{name} must be a pair (lowest, highest label), found {shown(value)}")
    low, high = number(f"{name}[0]", value[0]), number(f"{name}[1]", value[1])
    if low == high:
        raise ValueError(f"{name} is the single value {low:g}: there must be two different labels")
    if low > high:
        raise ValueError(f"{name} must be (lowest, highest), found {shown(value)}: swap the two")
    return low, high


def in_label_range(name: str, y: Array, label_range: tuple[float, float]) -> None:
    low, high = label_range
    arrays.each(
        name, y, (y >= low) & (y <= high), f"must lie in label_range {label_range}",
        "give the range of all labels, e.g. label_range=(0, 5), or make the objective or metric "
        "from the labels of all the rows; a target_prior without label_range names all labels",
    )  # fmt: skip


def category_order(name: str, values: object, **asked: bool) -> Array | None:
    """All classes, checked, if it is a pandas Categorical, which must have an order."""
    kind: Any = getattr(values, "dtype", None)
    ordered = getattr(kind, "ordered", None)
    if ordered is True:
        return check_order(kind.categories, name=f"the categories of {name} ", **asked)
    if ordered is False and np.asarray(kind.categories).dtype.kind not in "biuf":
        raise TypeError(
            f"{name} is categorical without an order, {shown(list(kind.categories))}: pass "
            "labels=[...], all classes in ascending order, or an ordered Categorical"
        )
    return None


def kind_hint(y: Array) -> str:
    """What to do about classes of this type."""
    values = y.ravel().tolist() if y.dtype.kind == "O" else []
    if any(_missing(value) for value in values):
        return "leave rows without a label out"
    if y.dtype.kind in "OU" and read_as_numbers(y.ravel().tolist()):
        return "it holds numbers as text, pass its .astype(int), or .astype(float)"
    if arrays.holds_decimals(y):
        return arrays.DECIMALS
    kinds = {type(value) for value in values}
    if str in kinds and len(kinds) > 1:
        return "it mixes text with other values, make all text or all numbers"
    if kinds and all(kind is not bool and issubclass(kind, numbers.Integral) for kind in kinds):
        return "it holds integers, pass its .astype(int)"
    return INTEGER_HINT


def whole_numbers(name: str, values: ArrayLike, remedy: str = "") -> Array:
    """Classes that are numbers without fraction, (n,). ``remedy``: what to do about fractions."""
    y = as_array(name, values)
    if y.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {y.dtype}: {kind_hint(y)}")
    if y.dtype.kind in "iu" and y.ndim == 1 and y.size:
        return y
    y = vector(name, y)
    remedy = remedy or f"round scores or apply thresholds first, or {INTEGER_HINT}"
    arrays.each(name, y, y == np.rint(y), "must hold classes", remedy)
    return y


def counts(name: str, values: ArrayLike | None, n: int) -> Array | None:
    """None, or how many identical rows each of n rows stands for, int64 (n,), not all of them 0."""
    if values is None:
        return None
    c = vector(name, values)
    same_length(name, c, "the labels", n)
    arrays.each(
        name, c, (c >= 0) & (c == np.rint(c)) & (c <= MOST_COPIES), "must be whole numbers >= 0",
        "it is how many identical rows the row stands for; what is none, such as 2.5, is a weight: "
        "pass sample_weight",
    )  # fmt: skip
    if c.size and not several():  # other workers may have rows that count
        arrays.some_weight(name, float(c.max()), n)
    return c.astype(np.int64)


def check_order(
    labels: ArrayLike, ordinal: bool = True, refuse: bool = True, name: str = "labels="
) -> Array:
    """At least two classes, in order if it counts: numbers are refused otherwise, or warned of."""
    order = _classes(labels, ordinal)
    values, said = order.tolist(), f"{name}{shown(order.tolist())}"
    key: Any = float if read_as_numbers(values) else None
    if key is None and isinstance(values[0], str | bytes):
        if ordinal and by_alphabet([str(value) for value in values]):
            warn(f"{said} follow the alphabet: if that is not their order, pass labels=[...]")
        return order
    rising = sorted(values, key=key)
    if ordinal and values not in (rising, rising[::-1]):
        how = f"sorted(labels{', key=float' if key else ''}), labels={shown(rising)}"
        message = f"{said} neither rise nor fall, but must be in ascending order: pass {how}"
        if refuse:
            raise ValueError(message)
        warn(message)
    return order


def read_as_numbers(values: list[Any]) -> bool:
    """Whether all are text that reads as numbers."""
    try:
        return all(isinstance(value, str) and not math.isnan(float(value)) for value in values)
    except ValueError:
        return False


def by_alphabet(words: list[str]) -> bool:
    """Whether three words or more are sorted as text, but no letters nor stages with numbers."""
    if len(words) < 3 or words != sorted(words) or len({word[:-1] for word in words}) == 1:
        return False
    padded = [re.sub(r"(?<![.\d])\d+", lambda digits: digits[0].zfill(9), word) for word in words]
    return padded != sorted(padded) or not all(re.search(r"\d|\b[IVX]+(?![a-z])", w) for w in words)


def _classes(labels: ArrayLike, ordinal: bool) -> Array:
    """At least two different classes, none of them missing, in any order."""
    order = as_array("labels", labels)
    if order.ndim != 1 or order.size < 2:
        raise ValueError(f"labels must list at least two classes in order, found {shown(labels)}")
    words = {str(value).strip().lower(): value for value in order.tolist()}
    numbers = read_as_numbers([word for word in words if word not in MISSING] or ["none"])
    absent = MISSING if numbers else MISSING - MAY_BE_GRADE if ordinal else set()
    for word, value in words.items():
        if word in absent or _missing(value):
            raise ValueError(f"labels hold {shown(value)}, a missing value: remove it and its rows")
    values, counts = np.unique(order, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"labels must be different from each other, found {shown(values[counts > 1].tolist())} "
            "more than once: list each class once, in ascending order"
        )
    return order


def positions(
    name: str, values: ArrayLike, order: Array, known: str = "labels",
    remedy: str = "list every class in labels",
) -> Array:  # fmt: skip
    """Index of each value in ``order``, which messages call ``known``, as small integers."""
    y = as_array(name, values)
    if y.ndim != 1 or y.size == 0:
        raise arrays.not_flat(name, y.shape, " and not empty")
    if (y.dtype.kind in "biuf") != (order.dtype.kind in "biuf"):
        instead = f"have {order.dtype}: give both the same type; {kind_hint(y)}"
        if known != "labels":  # which the user did not write
            instead = f"are {shown(order.tolist())}: {remedy}"
        raise TypeError(f"{name} has dtype {y.dtype}, but {known} {instead}")
    small: Any = np.int8 if len(order) <= 127 else np.int32
    consecutive = order.dtype.kind in "iu" and bool((np.diff(order) == 1).all())
    if consecutive and y.dtype.kind in "iu" and y.min() >= order[0] and y.max() <= order[-1]:
        return np.asarray(np.subtract(y, order[0], dtype=np.int64).astype(small))
    try:
        sorter = np.argsort(order)
        at = np.minimum(np.searchsorted(order, y, sorter=sorter), len(order) - 1)
    except TypeError:
        kinds = {type(label) for label in order.tolist()}
        row = next((i for i, value in enumerate(y.tolist()) if type(value) not in kinds), 0)
        raise TypeError(
            f"{name} holds {shown(y[row])} at row {row}, which cannot be compared with {known} "
            f"{shown(order.tolist())}: give all the same type, and leave rows without a label out"
        ) from None
    position: Array = sorter[at].astype(small)
    right = order[position] == y
    if not right.all():
        row = int(np.argmin(right))
        raise ValueError(
            f"{name} holds {shown(y[row])} at row {row}, which is not in {known} "
            f"{shown(order.tolist())}: {remedy}"
            f"{'' if known == 'labels' else ', or leave such rows out'}"
        )
    return position


def where_missing(values: Array) -> Array:
    """Which values, of any type, are missing, (n,)."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return np.fromiter(map(_missing, values.tolist()), bool, len(values))


def _missing(value: object) -> bool:
    """None, NaN, NaT, or pandas.NA, which cannot tell whether it differs from itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def check_thresholds(name: str, values: ArrayLike) -> Array:
    """Rising cuts, float64, perhaps with -inf in front and inf behind (classes never chosen)."""
    cuts: Array = real_array(name, values).astype(np.float64)
    if cuts.ndim != 1 or cuts.size == 0:
        raise arrays.not_flat(name, cuts.shape, " and not empty")
    if np.isnan(cuts).any():
        raise ValueError(f"{name} must not be NaN, found {shown(cuts.tolist())}")
    if (cuts[1:] < cuts[:-1]).any():
        raise ValueError(
            f"{name} must be sorted, found {shown(cuts.tolist())}: class k begins at {name}[k-1]; "
            "scores come first, then thresholds"
        )
    return cuts


def is_given(estimator: Any, y: ArrayLike) -> None:
    if y is None:
        name = type(estimator).__name__  # in the words that scikit-learn's own checks look for
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
