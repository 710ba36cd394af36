"""What commands print and write: tables of at most 80 columns, JSON, saved estimators."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

WIDTH = 80  # columns of a terminal
WIDEST, SHORTEST = 30, 8  # characters of a word in a table


def say(report: Mapping[str, Any], text: str, style: str) -> None:
    click.echo(as_json(report) if style == "json" else text)


def as_json(report: Mapping[str, Any]) -> str:
    return json.dumps(plain(report), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """The value in JSON's types: nan is null, infinite numbers are "-inf" and "inf"."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, np.datetime64 | np.timedelta64):
        return word(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    known = value is None or isinstance(value, str | bool | int | float)
    return value if known else str(value)  # of a date


def word(value: Any) -> str:
    """The value on one line; times without zeros at the end."""
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, "auto"))
    return " ".join(str(value).split())


def columns_as_text(columns: Mapping[str, Any]) -> str:
    """A table no wider than a terminal: words and names are shortened as far as they must be."""
    from gbdt_objectives._rows.rows import write_table

    arrays = {name: np.atleast_1d(values) for name, values in columns.items()}
    text = ""
    for least, longest in [(8, WIDEST), *((0, n) for n in range(WIDEST, SHORTEST - 1, -1))]:
        shortened = {
            short(name, longest): np.array([
                short(value, longest) if isinstance(value, str) else value for value in values
            ], object)
            for name, values in arrays.items()
        }  # fmt: skip
        lines = [line.rstrip() for line in write_table(least, **shortened).splitlines()]
        text = "\n".join(lines)
        if max(map(len, lines)) <= WIDTH:
            break
    return text


def short(text: str, longest: int) -> str:
    """The text, or its beginning and its end: names that differ often do so at the end."""
    if len(text) <= longest:
        return text
    end = (longest - 3) // 2
    return f"{text[: longest - 3 - end]}...{text[len(text) - end :]}"


def cut(line: str) -> str:
    """A line whose last cell is a list, as far as it fits."""
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3].rpartition(' ')[0]} ..."


def save(estimator: Any, output: str | None) -> None:
    if output is not None:
        Path(output).write_text(estimator.to_json() + "\n", encoding="utf-8")
        told(output, type(estimator).__name__)


def doing(step: str) -> None:
    """Say on a terminal what takes a while now; a file or pipe of errors gets no such lines."""
    if sys.stderr.isatty():
        click.echo(f"{step} ...", err=True)


def told(output: str | None, what: str) -> None:
    if output is not None:
        click.echo(f"wrote {output} ({what})", err=True)
