"""Fitted estimators as JSON: what may be read back, and what is wrong with the rest."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from gbdt_objectives._checks import Array


def read(text: object, kind: str, keys: set[str]) -> dict[str, Any]:
    """The object in ``text``, if its "format" is this one and its keys are these."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, found {type(text).__name__}: read the file first")
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_twice)
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
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise ValueError(f"{name} must be a finite number, found {value!r}")
    return float(value)  # type: ignore[arg-type]


def finite_numbers(name: str, values: object) -> Array:
    """A list of at least one number."""
    if not isinstance(values, list) or not values:
        raise ValueError(f"{name} must be a list of numbers, found {values!r}")
    return np.array([finite_number(name, value) for value in values])


def _no_constant(name: str) -> float:
    raise ValueError(
        f'text holds {name}, which is no JSON: infinite numbers are written "-inf", "inf"'
    )


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError(f"text gives a key twice, found {[key for key, _ in pairs]}")
    return data
