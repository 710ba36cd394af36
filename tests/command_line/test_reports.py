"""What is printed: tables of 80 columns, and JSON with the keys that the page lists."""

from __future__ import annotations

import json
import os
import re
import shlex
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives._command_line import files
from gbdt_objectives._command_line.commands import cli
from gbdt_objectives._command_line.files import WIDTH, columns_as_text, cut, json_value, short
from gbdt_objectives.metrics.classes import NAMED
from tests.cases import each
from tests.commands import run, write

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "command_line.md"
LONG = "a name of a column that some machine made of the names of three tables: "
COLUMNS = ("label", "score", "prediction", "word", "land", "day", "user", "rate", "key")
LABELS = [f"a class whose name nobody would like to type: number {k}" for k in range(12)]
METRICS = " ".join(f"--metric {name}" for name in NAMED)


@pytest.fixture
def log(tmp_path, monkeypatch) -> None:
    """400 rows in log.csv, with long names and long values."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, 400).round(5)
    y = (rng.random(400) < p).astype(int)
    position = np.digitize(p + 0.02 * rng.random(400), np.quantile(p, np.arange(1, 12) / 12))
    values = [
        y, p, (p > 0.3).astype(int), np.array(LABELS)[position],
        np.array([f"{name} by the sea as it is called in the north" for name in "ABC"])[
            rng.integers(0, 3, 400)],
        np.array([f"2026-03-{k:02d} 00:00:00.000000" for k in range(1, 31)])[
            rng.integers(0, 30, 400)],
        rng.integers(0, 99, 400), np.maximum(p, 1e-4), np.arange(400),
    ]  # fmt: skip
    write("log.csv", dict(zip((LONG + name for name in COLUMNS), values, strict=True)))
    lgb = pytest.importorskip("lightgbm")
    data = lgb.Dataset(p[:, np.newaxis], y)
    lgb.train({"objective": "binary", "verbose": -1}, data, 2).save_model("model.txt")


def column(name: str) -> str:
    return shlex.quote(LONG + name)


BINARY = f"log.csv --label {column('label')} --score {column('score')}"
COMMANDS = {
    "thresholds": [
        f"{BINARY} --metric f1 --interval --keep-rate-column {column('rate')}",
        f"log.csv --label {column('word')} --score {column('score')} --labels "
        f"{shlex.quote(','.join(LABELS))} --method plugin --method exact --method nelder-mead",
        f"{BINARY} --metric recall --constraint precision=0.3 --constraint alert_rate=0.9",
    ],
    "kappa": [
        f"log.csv --label {column('label')} --prediction {column('prediction')} {METRICS}",
        f"log.csv --label {column('label')} --prediction {column('prediction')} --metric qwk",
    ],
    "sample": [f"log.csv --label {column('label')} --negative-keep-rate 0.5 -o kept.csv --force"],
    "shift": ["model.txt --negative-keep-rate 1e-7 -o served.txt --force"],
    "calibrate": [BINARY, f"{BINARY} --method auto --keep-rate-column {column('rate')}"],
    "calibration": [
        f"{BINARY} --segment {column('land')} --alarm 0.9",
        f"{BINARY} --segment {column('land')} --segment {column('day')} --groups {column('user')} "
        f"--keep-rate-column {column('rate')}",
        f"{BINARY} --segment {column('key')}",
    ],
    "monitor": [f"{BINARY} -o look.json --force"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_tables_fit_80_columns(log, name) -> None:
    for arguments in COMMANDS[name]:
        result = run(f"{name} {arguments}")
        assert result.exit_code < 2, result.output
        assert result.stdout
        for line in result.stdout.splitlines():
            assert len(line) <= WIDTH, line


def test_every_command_with_a_report_is_tried() -> None:
    with_format = {
        name
        for name, command in cli.commands.items()
        if any("--format" in parameter.opts for parameter in command.params)
    }
    assert with_format == set(COMMANDS)


class TestTables:
    def test_names_that_differ_at_either_end_stay_apart(self) -> None:
        assert short("2026-03-01", 10) == "2026-03-01"
        names = ["payments_of_january_in_total_1", "payments_of_january_in_total_2", "refunds"]
        shortened = [short(name, 12) for name in names]
        assert len(set(shortened)) == 3
        assert shortened[0] == "payme...al_1"
        assert max(map(len, shortened)) == 12

    def test_only_what_is_too_wide_is_shortened(self) -> None:
        table = columns_as_text({"name": ["x" * 29, "y"], "value": [1.0, 2.0]})
        assert "x" * 29 in table
        wide = {"one": ["x" * 60], "two": ["y" * 60], **{f"v{k}": [0.1234] for k in range(3)}}
        assert "xxx...xxx" in columns_as_text(wide)
        assert len(columns_as_text(wide).splitlines()[0]) <= WIDTH

    def test_a_list_ends_with_points(self) -> None:
        line = "exact  " + " ".join(["0.123"] * 20)
        assert cut(line).endswith("0.123 ...")
        assert len(cut(line)) <= WIDTH
        assert cut("exact  0.1") == "exact  0.1"

    def test_values_of_json(self) -> None:
        day = np.datetime64("2026-03-01T00:00:00")
        found = json_value(
            {"a": [np.nan, -np.inf], "b": day, "c": np.array([1, 2]), "d": np.bool_(True)}
        )
        assert found == {"a": [None, "-inf"], "b": "2026-03-01", "c": [1, 2], "d": True}


TYPES = {
    "integer": int, "number": (int, float, type(None)), "string": str, "boolean": bool,
    "string or number": (str, int, float),
}  # fmt: skip


def documented() -> dict[str, dict[str, str]]:
    """Keys of each command and their types, as the page lists them."""
    text = PAGE.with_name("command_line_json.md").read_text()
    rows = re.findall(r"^\|(?: (`\w+`)|) \| (`.*?) \| ([a-z ]+) \|", text, flags=re.M)
    found: dict[str, dict[str, str]] = {}
    for command, keys, kind in rows:
        if command:
            found[command.strip("`")] = keys_of = {}
        keys_of |= dict.fromkeys(re.findall(r"`([^`]+)`", keys), kind)
    return found


def leaves(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, f"{key}[]")
    else:
        yield key, value


def test_the_page_lists_the_keys(log) -> None:
    listed = documented()
    assert set(listed) == set(COMMANDS)
    for name, keys in listed.items():
        patterns = {
            key: re.compile(re.sub(r"[A-Z]+", "[^.]+", re.escape(key).replace(r"\[\]", r"\[\]")))
            for key in sorted(keys, key=lambda key: bool(re.search("[A-Z]", key)))
        }
        seen = set()
        for arguments in COMMANDS[name]:
            result = run(f"{name} {arguments} --format json")
            for key, value in leaves(json.loads(result.stdout)):
                if (name, key, value) == ("calibration", "alarm", None):
                    continue
                found = next((k for k, p in patterns.items() if p.fullmatch(key)), None)
                assert found is not None, f"{name}: {key} is not listed"
                kind = TYPES[keys[found]]
                number = keys[found] == "number" and value in ("inf", "-inf")
                assert number or isinstance(value, kind), f"{name}: {key} is {value!r}"
                assert isinstance(value, bool) == (keys[found] == "boolean")
                seen.add(found)
        assert seen == set(keys), f"{name} prints no {set(keys) - seen}"


def test_the_page_lists_the_commands_and_their_options() -> None:
    text = PAGE.with_name("command_line_json.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \| [a-z]", text, flags=re.M)) == set(cli.commands)
    listed = set(re.findall(r"(?:`|, )(--?[a-z-]+)", text))
    there = {
        name for command in cli.commands.values() for one in command.params for name in one.opts
        if name.startswith("-")
    }  # fmt: skip
    assert listed == there


@each("name", ["calibrate", "calibration"])
def test_steps_are_told_where_errors_go_to_a_terminal(log, name) -> None:
    arguments = f"{name} {COMMANDS[name][0]}"
    silent = run(arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: True)))
        told = run(arguments)
    assert (told.exit_code, told.stdout) == (silent.exit_code, silent.stdout)
    check_steps(told.stderr.splitlines(), silent.stderr)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminal can be opened here")
def test_steps_are_told_on_a_terminal_only(log) -> None:
    arguments = f"thresholds {COMMANDS['thresholds'][0]}"
    silent = run(arguments)
    here, there = os.openpty()
    fcntl, termios = (pytest.importorskip(name) for name in ("fcntl", "termios"))
    size = struct.pack("4H", 24, 80, 0, 0)  # there is no bar in no columns
    fcntl.ioctl(there, termios.TIOCSWINSZ, size)
    command = [sys.executable, "-m", "gbdt_objectives", *shlex.split(arguments)]
    places = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    with open(here, "rb", buffering=0) as terminal, open(there, "wb") as errors:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=errors, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        )  # fmt: skip
        told = terminal.read(100_000).decode().splitlines()
    assert (done.returncode, done.stdout) == (silent.exit_code, silent.stdout)
    check_steps(told, silent.stderr)
    assert any("thresholds: 100%" in line and "5/5" in line for line in told)


BAR = "%|"  # of tqdm


def check_steps(told: list[str], silent: str) -> None:
    steps = [line for line in told if line.strip() and line not in silent.splitlines()]
    steps = [line for line in steps if BAR not in line]
    assert steps[0] == "reading log.csv ..."
    assert len(steps) > 1
    assert all(line.endswith(" ...") for line in steps)
    assert "..." not in silent
    assert BAR not in silent


def test_the_saved_estimators_are_json(log) -> None:
    run(f"calibrate {BINARY} -o map.json")
    go.calibration.SplineCalibrator.from_json(Path("map.json").read_text())
