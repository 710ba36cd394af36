"""Checks of single values, rates, priors and probabilities."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Mapping
from inspect import isfunction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives._checks.arrays import (
    Array,
    as_array,
    each,
    real_array,
    same_length,
    shown,
    vector,
)

RandomState = int | np.random.Generator | np.random.RandomState | None

SUM_TOLERANCE = 1e-4
"""How far from 1 a row of probabilities may sum: a float32 softmax is off by 1e-6."""


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


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
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


def check_called(name: str, value: Any) -> None:
    """Raise for a factory of ours that was not called."""
    module = getattr(value, "__module__", None)
    if not isfunction(value) or not str(module).startswith("gbdt_objectives."):
        return
    own = str(getattr(value, "__name__", ""))
    if getattr(sys.modules.get(str(module)), own, None) is value:
        raise TypeError(f"{name} is the function {own} itself: call it, {own}(...)")


def generator(random_state: RandomState) -> np.random.Generator | np.random.RandomState:
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
    each(
        name, rates, (rates > 0) & (rates <= 1), "must be in (0, 1]",
        "it is the probability with which the row is kept if it is a negative, 0.02 for 2 %",
    )  # fmt: skip
    return rates


def rates_by_row_alone(name: str, dropped: Array, positive: Array) -> None:
    """Raise if rates by row are 1 wherever the label is, but not elsewhere: a rate of the label.
    ``dropped``: where they are below 1."""
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
    if p.min() >= 0 and p.max() <= 1:
        return
    wrong = ~((p >= 0) & (p <= 1))
    row = int(np.argwhere(wrong)[0][0]) if p.ndim else 0
    raise ValueError(
        f"{name} must be in [0, 1], found {p[wrong][0]} at row {row}: margins need the logistic "
        "function or softmax first"
    )


def rows_sum_to_one(name: str, p: Array) -> None:
    total = np.einsum("ij->i", p)
    row = int(np.argmax(np.abs(total - 1)))
    if abs(total[row] - 1) > SUM_TOLERANCE:
        raise ValueError(
            f"the rows of {name} must sum to 1, found {total[row]:.6g} at row {row}: pass a "
            "column per class, or for one class (n,)"
        )


def one_rate_or_many(name: str, value: ArrayLike, rows: int) -> float | Array:
    """A sampling rate in (0, 1] for all rows, or one for each, float64 (n,)."""
    if np.ndim(value) == 0:
        return keep_rate(name, value)
    rates = keep_rates(name, value)
    same_length(name, rates, "the labels", rows)
    return rates
