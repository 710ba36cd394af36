"""Commands as a shell runs them, and files for them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
from click.testing import CliRunner, Result

from gbdt_objectives._command_line.commands import cli

Columns = dict[str, np.ndarray]


def write(path: str, columns: Columns, rows: slice = slice(None), delimiter: str = ",") -> None:
    lines = [list(columns), *zip(*(c[rows].tolist() for c in columns.values()), strict=True)]
    Path(path).write_text("".join(delimiter.join(map(str, line)) + "\n" for line in lines))


def run(command: str, input: str | None = None) -> Result:
    return CliRunner().invoke(cli, shlex.split(command), input=input)


def report(command: str) -> dict:
    """What it prints as JSON; the input was taken without a word."""
    result = run(f"{command} --format json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def read_column(path: str, name: str) -> list[str]:
    header, *lines = (line.split(",") for line in Path(path).read_text().splitlines())
    return [line[header.index(name)] for line in lines]


def refused(command: str) -> str:
    """The one line that it is refused with."""
    before = sorted(Path().iterdir())
    result = run(command)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert sorted(Path().iterdir()) == before
    return line.removeprefix("Error: ")
