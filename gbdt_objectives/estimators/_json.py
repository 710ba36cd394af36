"""Fitted estimators as JSON: what may be read back, and what is wrong with the rest."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from gbdt_objectives._checks import Array, shown
from gbdt_objectives.calibration.leaves import smoothing_prior


def read(text: object, kind: str, keys: set[str]) -> dict[str, Any]:
    """The object in ``text``, if its "format" is this one and its keys are these."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, found {type(text).__name__}: read the file first")
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_twice)
    except RecursionError:
        raise ValueError("text is nested too deeply: no to_json() wrote it") from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"text is no complete JSON, {error}: was the file truncated? Write it again with "
            "to_json()"
        ) from None
    if not isinstance(data, dict) or data.get("format") != kind:
        found = data.get("format") if isinstance(data, dict) else data
        name = kind.split(".")[-1].split("/")[0]
        raise ValueError(
            f"text is JSON of another format, found {str(found)[:80]!r} instead of {kind!r}: "
            f"read what {name}.to_json() of this version wrote"
        )
    if data.keys() != keys:
        raise ValueError(
            f"text must have the keys {sorted(keys)}, found {sorted(data)}: it was changed or "
            "truncated"
        )
    return data


def finite_number(name: str, value: object) -> float:
    """A number of JSON, which has no infinite ones."""
    if not is_finite_number(value):
        raise ValueError(f"{name} must be a finite number, found {repr(value)[:80]}")
    return float(value)  # type: ignore[arg-type]


def is_finite_number(value: object) -> bool:
    """Whether a float can hold it."""
    try:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False


def finite_numbers(name: str, values: object, *, at_least: int = 1) -> Array:
    """A list of so many numbers or more."""
    if not isinstance(values, list) or len(values) < at_least:
        raise ValueError(f"{name} must be a list of numbers, found {shown(values)}")
    return np.array([finite_number(name, value) for value in values], np.float64)


def table(name: str, rows: object) -> Array:
    """A list of lists of as many numbers."""
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"{name} must be a list of lists of numbers, found {repr(rows)[:80]}")
    columns = [finite_numbers(name, row) for row in rows]
    if len({len(row) for row in columns}) > 1:
        raise ValueError(f"{name} must be lists of one length: the text was changed")
    return np.stack(columns)


def flag(name: str, value: object) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, found {repr(value)[:80]}")
    return value


def flags(name: str, values: object) -> Array:
    """A list of true and false, perhaps empty."""
    if not isinstance(values, list) or not all(isinstance(value, bool) for value in values):
        raise ValueError(f"{name} must be true or false, found {repr(values)[:80]}")
    return np.array(values, bool)


def classes(name: str, values: object) -> Array:
    """Two sorted classes or more, of one type."""
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    if kinds not in ({bool}, {int}, {float}, {str}) or len(values) < 2:  # type: ignore[arg-type]
        raise ValueError(
            f"{name} must be a list of integers, numbers, strings or bools, found "
            f"{repr(values)[:80]}"
        )
    labels = np.array(values)
    if labels.dtype.kind not in "biufU" or not (labels[1:] > labels[:-1]).all():
        raise ValueError(f"{name} must rise, found {repr(values)[:80]}: the text was changed")
    return labels


def whole_numbers(name: str, values: object) -> Array:
    """A list of integers, perhaps empty."""
    if not isinstance(values, list) or not all(type(v) is int and abs(v) < 2**31 for v in values):
        raise ValueError(f"{name} must be a list of integers, found {repr(values)[:80]}")
    return np.array(values, np.intp)


def written_prior(prior: Any) -> Any:
    """The parameter ``prior`` of a smoothed estimator as JSON can hold it."""
    return prior if prior is None or isinstance(prior, str) else np.asarray(prior, float).tolist()


def smoothing(m: object, prior: Any, K: int) -> tuple[float, Any]:
    """The parameters ``m`` and ``prior``."""
    number = finite_number("m", m)
    if number < 0:
        raise ValueError(f"m must not be negative, found {number:g}")
    if prior is not None and not isinstance(prior, str):
        prior = finite_numbers("prior", prior).tolist()
    smoothing_prior(prior, np.ones(K))
    return number, prior


def _no_constant(name: str) -> float:
    raise ValueError(
        f'text holds {name}, which is no JSON: infinite numbers are written "-inf", "inf"'
    )


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError(f"text gives a key twice, found {[key for key, _ in pairs]}")
    return data
