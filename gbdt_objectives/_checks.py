"""Validation of arguments: reject with a clear error, never repair.

Every function returns the argument in the form the maths wants, or raises
``TypeError`` (wrong kind of thing) or ``ValueError`` (wrong value) with a
message that names the argument, the value found and what to do.
"""

from __future__ import annotations

import math
import numbers
import reprlib
import sys
from collections.abc import Mapping
from inspect import isfunction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbdt_objectives._devices import refuse_device
from gbdt_objectives._workers import several

Array = NDArray[Any]
RandomState = int | np.random.Generator | np.random.RandomState | None

LARGEST_WEIGHT = 1e30
"""A gradient of such a row, for labels and margins up to 1e8, is still a float32."""

LEAST_WEIGHT = 1e-100
"""Of the largest weight: products of two of them are still a float64."""

INTEGER_HINT = (
    "pass labels=[...], all classes in ascending order, if they are not consecutive integers"
)
"""What to do about classes that are no whole numbers."""

SUM_TOLERANCE = 1e-4
"""How far from 1 a row of probabilities may sum: a float32 softmax is off by 1e-6."""


LONGEST_SHOWN = 120
"""Characters of a user's value in a message."""

_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = 6
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def shown(value: Any) -> str:
    """A user's value for a message: its repr, or the beginning of it and how much there is."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufUS":
        value = value.item()
    try:
        size = int(np.size(value)) if hasattr(value, "shape") else 0
        if size > 6 or hasattr(value, "toarray"):
            return _shown_array(value)
        text = repr(value)
        if len(text) > LONGEST_SHOWN:
            text = _SHORT.repr(value)
            if isinstance(value, list | tuple | dict | set | frozenset):
                text = f"{text[: LONGEST_SHOWN - 20]} ({len(value)} in all)"
    except Exception:  # a repr that fails must not hide the message
        return f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def _shown_array(value: Any) -> str:
    text = f"{type(value).__name__} of shape {tuple(value.shape)}"
    if not isinstance(value, np.ndarray):
        return text
    return f"{text}, {_SHORT.repr(value.ravel()[:7].tolist())}"[:LONGEST_SHOWN]


def not_masked(name: str, values: object) -> None:
    """Raise if it is a masked array: numpy, and the boosters, would take all its elements."""
    if isinstance(values, np.ma.MaskedArray):
        hidden = int(np.ma.getmaskarray(values).sum())
        raise TypeError(
            f"{name} is a masked array, with {hidden} of {values.size} elements masked: leave "
            "these rows out of all arguments (.compressed()) or fill them (.filled(value)); if "
            "none is masked pass its .data"
        )


def is_dask(values: object) -> bool:
    """Whether it is a Dask collection; dask is not imported for the answer."""
    rooms = {base.__module__.split(".")[0] for base in type(values).__mro__}
    return not rooms.isdisjoint({"dask", "dask_expr"})


def not_dask(name: str, values: object) -> None:
    """Raise if it is a Dask collection, whose rows numpy would gather on this machine."""
    if is_dask(values):
        raise TypeError(
            f"{name} is a Dask {type(values).__name__}, but what it is passed to needs the rows on "
            "this machine: if it treats each row alone map it over the partitions, otherwise pass "
            ".compute(), as long as that fits; docs/large_data.md lists what takes Dask collections"
        )


def in_memory(name: str, values: object) -> None:
    """Raise if numpy would unmask it, or gather it from elsewhere."""
    not_masked(name, values)
    not_dask(name, values)
    refuse_device(name, values)


def as_array(name: str, values: ArrayLike) -> Array:
    """What a user calls an array, of any type and shape, as one."""
    if type(values) is np.ndarray:  # nearly always, and in every round
        return values
    in_memory(name, values)
    return np.asarray(values)


def number(name: str, value: object) -> float:
    """A finite real number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, found {type(value).__name__} {shown(value)}")
    try:
        found = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite, found an integer too large for a float") from None
    if not math.isfinite(found):
        raise ValueError(f"{name} must be finite, found {shown(value)}")
    return found


def whole_number(name: str, value: object, least: int) -> int:
    """An integer, at least ``least``; a float is none, 5.0 neither."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(
            f"{name} must be a whole number >= {least}, found {shown(value)}: pass an int"
        )
    if value < least:
        raise ValueError(f"{name} must be a whole number >= {least}, found {shown(value)}")
    return int(value)


def generator(random_state: RandomState) -> np.random.Generator | np.random.RandomState:
    """The source of random numbers that ``random_state`` stands for."""
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, bool) or not isinstance(random_state, numbers.Integral):
        raise TypeError(
            f"random_state must be an int, a numpy Generator or RandomState, or None, found "
            f"{shown(random_state)}"
        )
    if random_state < 0:
        raise ValueError(f"random_state must not be negative, found {random_state}")
    return np.random.default_rng(int(random_state))


def keep_rate(name: str, value: object) -> float:
    """A sampling rate in (0, 1]."""
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
    rates: Array = vector(name, values).astype(np.float64)
    wrong = (rates <= 0) | (rates > 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must be in (0, 1], found {rates[row]} at row {row}: it is the probability "
            "with which the row is kept if it is a negative, 0.02 for 2 %"
        )
    return rates


def rates_by_row_alone(name: str, dropped: Array, positive: Array) -> None:
    """Raise if rates by row are 1 wherever the label is, but not elsewhere: a rate of the label.

    ``dropped``: where they are below 1.
    """
    if positive.any() and dropped.any() and not dropped[positive].any():
        raise ValueError(
            f"{name} is 1 in every row with label 1, but not in every other: rates must not follow "
            "the label. Give a positive the rate at which a negative in its place would be kept, "
            "as pilot_keep_rates does, or, for one rate, a float; if a pilot tells labels apart so "
            "well, sample at numpy.minimum(rates, 0.999)"
        )


def confidence_level(name: str, value: object, usual: float) -> float:
    """The coverage of an interval, in (0, 1)."""
    level = number(name, value)
    if not 0 < level < 1:
        raise ValueError(f"{name} must be in (0, 1), found {level}: for instance {usual}")
    return level


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise ValueError(f"{name} must be one of {words}, found {shown(value)}")
    return value


def flag(name: str, value: object) -> bool:
    """True or False, nothing that merely looks like it."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(
            f"{name} must be True or False, found {type(value).__name__} {shown(value)}"
        )
    return bool(value)


def vector(name: str, values: ArrayLike) -> Array:
    """A non-empty one-dimensional array of finite real numbers (floats keep their dtype)."""
    array = real_array(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, found shape {array.shape}")
    if array.size == 0 and not several():
        raise ValueError(f"{name} is empty: there must be at least one row")
    finite(name, array)
    return array


def real_array(name: str, values: ArrayLike) -> Array:
    """Numbers of any shape as a float array; not yet checked for NaN."""
    if hasattr(values, "get_label"):
        raise TypeError(
            f"{name} must be an array, found a {type(values).__name__}: "
            "are the arguments swapped? Pass the labels, e.g. data.get_label()"
        )
    array = as_array(name, values)
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        raise not_real(name, array.dtype)
    if not array.dtype.isnative or array.dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    return array


def not_real(name: str, dtype: object) -> TypeError:
    return TypeError(
        f"{name} must hold real numbers, found dtype {dtype}: "
        "convert it first (missing values and strings are not labels or scores)"
    )


def finite(name: str, array: Array) -> None:
    """Raise if any element is NaN or infinite."""
    good = np.isfinite(array)
    if not good.all():
        bad = ~good
        at = tuple(np.argwhere(bad)[0].tolist())
        where = f"row {at[0]}" + "".join(f", column {k}" for k in at[1:])
        raise ValueError(
            f"{name} must be finite, found {array[at]} at {where} ({int(bad.sum())} such of "
            f"{array.size}): remove or repair these rows first"
        )


def weights(name: str, values: ArrayLike | None, rows: int) -> Array | None:
    """None, or one finite weight >= 0 a row, not all of them zero."""
    if values is None:
        return None
    array = row_weights(name, values, rows)
    if not several():  # other workers may have rows that count
        some_weight(name, float(array.max()), rows)
    return array


def row_weights(name: str, values: ArrayLike, rows: int) -> Array:
    """One finite weight >= 0 a row; all of them may be zero."""
    array = vector(name, values)
    same_length(name, array, "the labels", rows)
    if not array.size:  # of a worker without rows
        return array
    if array.min() < 0:
        row = int(np.argmin(array))
        raise ValueError(f"{name} must not be negative, found {array[row]} at row {row}")
    if array.max() > LARGEST_WEIGHT:
        row = int(np.argmax(array))
        raise ValueError(
            f"{name} must be at most {LARGEST_WEIGHT:g}, found {array[row]:g} at row {row}: the "
            "gradients of boosters are float32; divide the weights by their mean"
        )
    return array


def some_weight(name: str, largest: float, rows: int) -> None:
    """Raise if the largest of all weights is zero, or as good as."""
    if largest == 0:
        raise ValueError(f"{name} is 0 in all {rows} rows: at least one row must count")
    if largest < LEAST_WEIGHT:
        raise ValueError(
            f"{name} is at most {largest:g}: products of such weights are lost in rounding; "
            "divide the weights by their mean"
        )


def label_weight(dataset: Any) -> tuple[Any, Any]:
    """Labels and weights of a DMatrix or Dataset; no weights is None in both libraries.

    LightGBM's own get_label keeps what it once returned, whatever set_field did since.
    """
    if getattr(dataset, "_handle", None):  # a Dataset that is constructed
        label, weight = dataset.get_field("label"), dataset.get_field("weight")
    else:
        label, weight = dataset.get_label(), dataset.get_weight()
    return label, None if weight is None or 0 in np.shape(weight) else weight


def same_length(name: str, array: Array, other: str, rows: int) -> None:
    """Raise if ``array`` has not ``rows`` rows."""
    if array.shape[0] != rows:
        found = array.shape[0]
        raise ValueError(f"{name} has {found} rows, but {other} have {rows}: they must match")


def binary_labels(name: str, y: Array) -> None:
    """Raise unless every label is 0 or 1."""
    right = y == 0
    right |= y == 1
    if not right.all():
        row = int(np.argmin(right))
        raise ValueError(
            f"{name} must be 0 (negative) or 1 (positive), found {y[row]} at row {row}: "
            "encode the rare event as 1 and everything else as 0"
        )


def in_label_range(name: str, y: Array, label_range: tuple[float, float]) -> None:
    """Raise if a label lies outside ``label_range``."""
    low, high = label_range
    wrong = ~((y >= low) & (y <= high))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{name} must lie in label_range {label_range}, found {y[row]} at row {row}: "
            "give the range of all labels, e.g. label_range=(0, 5), or make the objective or "
            "metric from the labels of all the rows"
        )


def label_range(name: str, value: object) -> tuple[float, float]:
    """(lowest label, highest label), the first below the second."""
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise TypeError(f"{name} must be a pair (lowest, highest label), found {shown(value)}")
    low, high = number(f"{name}[0]", value[0]), number(f"{name}[1]", value[1])
    if low == high:
        raise ValueError(
            f"{name} is the single value {low:g}: there must be at least two different labels"
        )
    if low > high:
        raise ValueError(f"{name} must be (lowest, highest), found {shown(value)}: swap the two")
    return low, high


def prior(name: str, value: object) -> tuple[Array, Array]:
    """A prior of labels that are numbers, as (labels, probabilities), sorted by label."""
    p = prior_mapping(name, value)
    pairs = sorted((number(f"a label of {name}", label), p[label]) for label in p)
    labels, probability = np.array(pairs).T
    return labels, probability


def prior_mapping(name: str, value: object) -> dict[Any, float]:
    """A prior {label: probability}, each >= 0, which sum to 1."""
    if not isinstance(value, Mapping) or not value:
        raise TypeError(f"{name} must be a mapping {{label: probability}}, found {shown(value)}")
    p = {label: number(f"{name}[{shown(label)}]", value[label]) for label in value}
    for label, found in p.items():
        if found < 0:
            raise ValueError(
                f"{name} must hold probabilities >= 0, found {found:g} for {shown(label)}"
            )
    total = sum(p.values())
    sum_to_one(f"the probabilities of {name}", total)
    return {label: found / total for label, found in p.items()}


def prior_of_labels(name: str, value: object, labels: list[Any], occurs: Array, rows: str) -> Array:
    """The probability of each of ``labels``, (K,), which may be above 0 only, and must be given,
    where the label occurs in ``rows``."""
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


def distribution(name: str, value: ArrayLike, K: int | None = None) -> Array:
    """Probabilities >= 0 of K classes, in their order, which sum to 1; float64 (K,)."""
    p = vector(name, value).astype(np.float64)
    if K is not None and len(p) != K:
        raise ValueError(
            f"{name} has {len(p)} classes, but there are {K}: give one probability per class"
        )
    if p.min() < 0:
        raise ValueError(f"{name} must hold probabilities >= 0, found {p.min():g}")
    sum_to_one(name, p.sum())
    return p


def sum_to_one(name: str, total: float) -> None:
    """Raise unless class probabilities of this sum are a distribution."""
    if abs(total - 1) > 1e-6:
        raise ValueError(
            f"{name} must sum to 1, found {total:.9g}: divide counts by their total first"
        )


def probabilities(name: str, values: ArrayLike) -> Array:
    """(n,), of label 1, or (n, K), a column per class, whose rows sum to 1; float64."""
    p: Array = real_array(name, values).astype(np.float64)
    if p.ndim not in (1, 2) or p.size == 0 or (p.ndim == 2 and p.shape[1] == 1):
        raise ValueError(
            f"{name} must be (n,), of label 1, or (n, K), a column per class, and not empty, found "
            f"shape {p.shape}"
        )
    in_unit_interval(name, p)
    if p.ndim == 2:
        rows_sum_to_one(name, p)
    return p


def in_unit_interval(name: str, p: Array) -> None:
    """Raise if an element is outside [0, 1] or NaN."""
    if p.min() >= 0 and p.max() <= 1:
        return
    wrong = ~((p >= 0) & (p <= 1))
    row = int(np.argwhere(wrong)[0][0]) if p.ndim else 0
    raise ValueError(
        f"{name} must be in [0, 1], found {p[wrong][0]} at row {row}: margins need the logistic "
        "function or softmax first"
    )


def rows_sum_to_one(name: str, p: Array) -> None:
    """Raise unless the rows of (n, K) probabilities sum to 1."""
    total = np.einsum("ij->i", p)
    row = int(np.argmax(np.abs(total - 1)))
    if abs(total[row] - 1) > SUM_TOLERANCE:
        raise ValueError(
            f"the rows of {name} must sum to 1, found {total[row]:.6g} at row {row}: pass a "
            "column per class, or for one class (n,)"
        )


def category_order(name: str, values: object) -> Array | None:
    """All classes in ascending order, if it is a pandas Categorical, which must have one."""
    kind: Any = getattr(values, "dtype", None)
    ordered = getattr(kind, "ordered", None)
    if ordered is True:
        return np.asarray(kind.categories)
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
    kinds = {type(value) for value in values}
    if kinds and all(kind is not bool and issubclass(kind, numbers.Integral) for kind in kinds):
        return "it holds integers, pass its .astype(int)"
    return INTEGER_HINT


def check_called(name: str, value: Any) -> None:
    """Raise for a factory of ours that was not called."""
    module = getattr(value, "__module__", None)
    if not isfunction(value) or not str(module).startswith("gbdt_objectives."):
        return
    own = str(getattr(value, "__name__", ""))
    if getattr(sys.modules.get(str(module)), own, None) is value:
        raise TypeError(f"{name} is the function {own} itself: call it, {own}(...)")


def whole_numbers(name: str, values: ArrayLike) -> Array:
    """Classes that are numbers without fraction, (n,)."""
    y = as_array(name, values)
    if y.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {y.dtype}: {kind_hint(y)}")
    if y.dtype.kind in "iu" and y.ndim == 1 and y.size:
        return y
    y = vector(name, y)
    fractions = y != np.rint(y)
    if fractions.any():
        row = int(np.flatnonzero(fractions)[0])
        raise ValueError(
            f"{name} must hold classes, found {y[row]} at row {row}: round scores or apply "
            f"thresholds first, or {INTEGER_HINT}"
        )
    return y


def check_order(labels: ArrayLike) -> Array:
    """At least two different classes, in ascending order."""
    order = as_array("labels", labels)
    if order.ndim != 1 or order.size < 2:
        raise ValueError(f"labels must list at least two classes in order, found {shown(labels)}")
    values, counts = np.unique(order, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"labels must be different from each other, found {shown(values[counts > 1].tolist())} "
            "more than once: list each class once, in ascending order"
        )
    return order


def positions(name: str, values: ArrayLike, order: Array) -> Array:
    """Index of each value in ``order``, as small integers."""
    y = as_array(name, values)
    if y.ndim != 1 or y.size == 0:
        raise ValueError(f"{name} must be one-dimensional and not empty, found shape {y.shape}")
    if (y.dtype.kind in "biuf") != (order.dtype.kind in "biuf"):
        raise TypeError(
            f"{name} has dtype {y.dtype}, but labels have {order.dtype}: give both the same "
            f"type; {kind_hint(y)}"
        )
    small: Any = np.int8 if len(order) <= 127 else np.int32
    consecutive = order.dtype.kind in "iu" and bool((np.diff(order) == 1).all())
    position: Array
    if consecutive and y.dtype.kind in "iu" and y.min() >= order[0] and y.max() <= order[-1]:
        position = np.subtract(y, order[0], dtype=np.int64).astype(small)
        return position
    try:
        sorter = np.argsort(order)
        at = np.minimum(np.searchsorted(order, y, sorter=sorter), len(order) - 1)
    except TypeError:
        kinds = {type(label) for label in order.tolist()}
        row = next((i for i, value in enumerate(y.tolist()) if type(value) not in kinds), 0)
        raise TypeError(
            f"{name} holds {shown(y[row])} at row {row}, which cannot be compared with labels "
            f"{shown(order.tolist())}: give all the same type, and leave rows without a label out"
        ) from None
    position = sorter[at].astype(small)
    wrong = order[position] != y
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{name} holds {shown(y[row])} at row {row}, which is not in labels "
            f"{shown(order.tolist())}: list every class in labels"
        )
    return position


def group_numbers(groups: ArrayLike, rows: int, name: str = "groups") -> Array:
    """Groups of any one type as numbers 0.., (n,)."""
    return distinct_groups(groups, rows, name)[1]


def distinct_groups(groups: ArrayLike, rows: int, name: str) -> tuple[Array, Array]:
    """The different groups, of any one type, in ascending order, and the number of each row's."""
    values = as_array(name, groups)
    if values.dtype.kind == "U" and not hasattr(groups, "dtype"):
        values = np.asarray(groups, object)  # where a NaN among strings is none
    if values.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, found shape {values.shape}")
    same_length(name, values, "the labels", rows)
    if values.dtype.kind == "f":
        finite(name, values)
    if values.dtype.kind not in "OUS":
        distinct, numbers = np.unique(values, return_inverse=True)
        if values.dtype.kind in "mM":
            _not_missing(name, values, distinct)
        return distinct, numbers
    listed = values.tolist()
    try:
        found = set(listed)
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
    return distinct, np.fromiter(map(number.__getitem__, listed), np.intp, rows)


def _not_missing(name: str, values: Array, distinct: Any) -> None:
    if any(_missing(value) for value in distinct):
        row = next(i for i, value in enumerate(values) if _missing(value))
        raise ValueError(
            f"{name} must not be missing, found {shown(values[row])} at row {row}: give such rows "
            "groups of their own, or leave them out"
        )


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
        raise ValueError(f"{name} must be one-dimensional and not empty, found shape {cuts.shape}")
    if np.isnan(cuts).any():
        raise ValueError(f"{name} must not be NaN, found {shown(cuts.tolist())}")
    if (cuts[1:] < cuts[:-1]).any():
        raise ValueError(
            f"{name} must be sorted, found {shown(cuts.tolist())}: class k begins at {name}[k-1]"
        )
    return cuts
