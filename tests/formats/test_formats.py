"""What each version has saved is read by every later one."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils.fixes import parse_version

import gbdt_objectives
from gbdt_objectives import serving
from gbdt_objectives.calibration import CalibrationMonitor, SegmentCalibrator
from gbdt_objectives.experimental import DelayDistribution
from gbdt_objectives.priors import LogOddsShift
from gbdt_objectives.thresholds import ActionRule, DecisionRule, SegmentShift, Thresholds
from tests.formats.write import HELD, MODELS, VALUES, answers, predictions, rows, write
from tests.serving.models import served

HERE = Path(__file__).parent
VERSIONS = sorted((path.parent.name for path in HERE.glob("*/expected.json")), key=parse_version)
EACH = pytest.mark.parametrize("version", VERSIONS)
KINDS = {
    kind.__name__: kind
    for kind in (
        Thresholds,
        DecisionRule,
        ActionRule,
        SegmentShift,
        LogOddsShift,
        DelayDistribution,
        CalibrationMonitor,
        SegmentCalibrator,
    )
}
CLOSE = 1e-6
"""A booster of another version may add up its trees, in float32, in another order."""


def kind_of(name: str) -> Any:
    room = "calibration" if name.endswith("Calibrator") else "estimators"
    return KINDS.get(name) or getattr(import_module(f"gbdt_objectives.{room}"), name)


def same(found: Any, wanted: Any) -> None:
    if isinstance(np.ravel(np.asarray(wanted))[0], str):
        assert found == wanted
    else:
        np.testing.assert_allclose(found, wanted, CLOSE, CLOSE)


def is_written(path: Path) -> bool:
    return path.is_file() and path.parent.name != "__pycache__"


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


@EACH
def test_every_folder_is_read(version: str) -> None:
    expected = read(HERE / version / "expected.json")
    folders = [path for path in (HERE / version).iterdir() if path.is_dir()]
    assert len(folders) >= 5
    for folder in folders:
        wanted, model = expected[folder.name], serving.load(folder)
        found, own = predictions(model), served(folder)
        for method, values in wanted.items():
            same(found[method], values)
            same(getattr(own, method)(rows(HELD, 9)[0]).tolist(), values)


@EACH
def test_every_value_is_read(version: str) -> None:
    expected = read(HERE / version / "expected.json")
    files = list((HERE / version).glob("*.json"))
    assert len(files) >= 13
    for path in files:
        if path.name != "expected.json":
            value = kind_of(path.stem).from_json(path.read_text("utf-8"))
            same(answers(path.stem, value), expected[path.stem])


def schema(value: Any) -> Any:
    """Keys and types, recursively; of a list those of its items, each once."""
    if isinstance(value, dict):
        return {key: schema(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        found: list[Any] = []
        for item in map(schema, value):
            if item not in found:
                found.append(item)
        return found
    return type(value).__name__


def without_parameters(value: Any) -> Any:
    """model.json without what depends on the libraries' versions: the estimators' parameters."""
    if isinstance(value, dict):
        return {k: without_parameters(v) for k, v in value.items() if k != "parameters"}
    return list(map(without_parameters, value)) if isinstance(value, list) else value


def test_todays_formats_are_those_of_the_newest_folder(tmp_path: Path) -> None:
    """A format that changes needs another number, and a folder: see README.md here."""
    newest, today = HERE / VERSIONS[-1], tmp_path / "today"
    write(today)
    names = sorted(
        str(path.relative_to(newest)) for path in newest.rglob("*.*") if is_written(path)
    )
    assert names == sorted(
        str(path.relative_to(today)) for path in today.rglob("*.*") if is_written(path)
    )
    for name in names:
        if name.endswith(".json") and name != "expected.json":
            before, now = (without_parameters(read(root / name)) for root in (newest, today))
            assert before["format"] == now["format"], name
            assert schema(before) == schema(now), (
                f"{name} has another schema than that of {newest.name} under the same format "
                f"{now['format']!r}: give the format a new number, and read both"
            )


def test_the_newest_folder_is_of_this_version() -> None:
    """Or of the next one, if a format has changed since."""
    newest = parse_version(VERSIONS[-1])
    assert newest <= parse_version(gbdt_objectives.__version__) or newest.is_devrelease


def test_every_kind_is_kept() -> None:
    """In the newest folder, which holds what older ones hold, and in few bytes."""
    held = [{path.stem for path in (HERE / version).iterdir()} for version in VERSIONS]
    assert held[-1] >= {*MODELS, *VALUES, "expected"}.union(*held)
    for version in VERSIONS:
        size = sum(p.stat().st_size for p in (HERE / version).rglob("*") if is_written(p))
        assert size < 160_000
