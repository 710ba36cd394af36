"""The command monitor: its states are those of CalibrationMonitor."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gbdt_objectives.calibration import CalibrationMonitor
from tests.commands import run, write

GIVEN = "--label y --score p"


def day(name: str, seed: int, shift: float = 0.0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 9, 1500).round(9)
    odds = p / (1 - p) * np.exp(shift)
    y = (rng.random(1500) < odds / (1 + odds)).astype(int)
    F = rng.uniform(0.5, 1, 1500).round(6)
    write(name, {"y": y, "p": p, "F": F, "G": F / 2})
    return y, p, F


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_looks_follow_one_another() -> None:
    first, second = day("a.csv", 1), day("b.csv", 2, 0.8)
    wanted = CalibrationMonitor(0.01).update(*first[:2])
    found = run(f"monitor a.csv {GIVEN} --level 0.01 -o a.json")
    assert found.exit_code == 0, found.output
    wanted = CalibrationMonitor.from_json(wanted.to_json()).update(*second[:2])
    found = run(f"monitor b.csv {GIVEN} --state a.json -o b.json --format json")
    assert found.exit_code == 1
    assert Path("b.json").read_text().strip() == wanted.to_json()
    report = json.loads(found.stdout[: found.stdout.rindex("}") + 1])
    assert (report["looks"], report["rows"]) == (2, 1500)
    assert report["alarm"] == {"level": 0.01, "raised": True}
    assert report["evidence"] == pytest.approx(wanted.evidence, rel=1e-12)


def test_late_labels() -> None:
    y, p, F = day("a.csv", 3)
    columns = "--arrived F --arrived-before G --arrived-at-sampling F --negative-keep-rate 0.5"
    found = run(f"monitor a.csv {GIVEN} {columns} -o a.json")
    assert found.exit_code in (0, 1), found.output
    wanted = CalibrationMonitor(0.05, 0.5).update(
        y, p, arrived=F, arrived_before=F / 2, arrived_at_sampling=F
    )
    found = CalibrationMonitor.from_json(Path("a.json").read_text())
    assert found.log_evidence[-1] == pytest.approx(wanted.log_evidence[-1], rel=1e-9)


def test_what_is_refused() -> None:
    day("a.csv", 1)
    run(f"monitor a.csv {GIVEN} -o a.json")
    for more, says in (
        ("--state a.json -o b.json", "rows are those of the last look"),
        ("--state a.json --level 0.1 -o b.json", "--level is 0.1, but 0.05 in a.json"),
        ("--state a.csv -o b.json", "--state a.csv: text"), ("-o b.csv", "JSON"),
        ("--arrived-before G -o b.json", "given without"),
    ):  # fmt: skip
        found = run(f"monitor a.csv {GIVEN} {more}")
        assert found.exit_code == 2
        assert says in found.output, found.output
