"""No cell of the generated matrix is lost, none falls that is not on the list, and none escapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gbdt_objectives._checks import tables
from tests.cases import each
from tests.matrix import generated, recipes
from tests.matrix.generated import Entry, Record, cells_of, changes, entries, reason

MOST = 40
COMPUTES = ["adapters", "adapters.catboost", "calibration", "datasets", "metrics", "objectives",
            "plotting", "priors", "serving", "thresholds"]  # fmt: skip
TRAINS = ["adapters.lightgbm", "adapters.sklearn", "adapters.xgboost", "checking", "estimators",
          "evaluation", "experimental"]  # fmt: skip
"""Rooms without and with models that most calls train. CatBoost is among the first, as only lanes
have it, which leave out slow tests."""
TAKES_LONG = {"calibration.choose_calibrator", "serving.export_onnx"}
"""Callables that take longer than all others of their rooms."""

of_newest = pytest.mark.skipif(
    generated.is_old(), reason="the lists are those of the newest versions of the libraries"
)


def compare(wanted: list[Entry]) -> None:
    record = Record.read()
    said = [sentence for entry in wanted for sentence in changes(entry, record)]
    if said:
        remedy = "if all of it is meant, run python -m tests.matrix.generated --write"
        more = [f"and {len(said) - MOST} more"] * (len(said) > MOST)
        pytest.fail("\n".join([f"{len(said)} cells changed; {remedy}", *said[:MOST], *more]))


@of_newest
@pytest.mark.parametrize("room", COMPUTES)
def test_what_computes(room: str) -> None:
    compare([e for e in entries() if e.room == room and e.name not in TAKES_LONG])


@of_newest
@pytest.mark.slow
@pytest.mark.parametrize("room", TRAINS)
def test_what_trains(room: str) -> None:
    compare([e for e in entries() if e.room == room])


@of_newest
@pytest.mark.slow
def test_what_takes_long() -> None:
    compare([e for e in entries() if e.name in TAKES_LONG])


# --- none escapes


def test_every_room_is_compared() -> None:
    assert {entry.room for entry in entries()} <= {*COMPUTES, *TRAINS}


@of_newest
def test_every_parameter_is_known() -> None:
    """Of rows or classes, or neither: ``CELLS`` and ``PLAIN`` of ``recipes.py``."""
    unknown = {entry.name: entry.unknown() for entry in entries() if entry.unknown()}
    assert not unknown


def test_tables_name_nothing_that_is_gone() -> None:
    names = {entry.name for entry in entries()}
    cells = {f"{e}({name}=)" for e in entries() for name in e.parameters()}
    parameters = {name for entry in entries() for name in entry.parameters()}
    keys = {entry.key for entry in entries()}
    patterns = {key for key in recipes.NOT_TRIED if "catboost" not in key}
    assert not {k for k in patterns if not any(fnmatchcase(n, k) for n in names | cells)}
    assert not {*recipes.PLAIN, *recipes.KIND} - parameters
    assert not {*recipes.OWN, *recipes.KIND_OF_ONE} - keys
    assert all(len(why) > 10 for why in recipes.NOT_TRIED.values())


@cache
def names_of_cells() -> set[str]:
    return {f"{e}({name}=) x {twist.name}" for e in entries() for name in e.cells()
            for twist in generated.TWISTS if e.kind(name) in twist.of}  # fmt: skip


@each(("pattern", "why"), [r for r in recipes.MEANT.items() if "catboost" not in r[0].lower()])
def test_what_is_meant_to_be_silent_exists_and_has_a_reason(pattern: str, why: str) -> None:
    assert any(fnmatchcase(name, pattern) for name in names_of_cells())
    assert len(why) > 10


def test_twists_of_a_parameter_differ_in_name() -> None:
    for kind in recipes.CELLS:
        names = [twist.name for twist in generated.TWISTS if kind in twist.of]
        assert names, f"nothing is tried with {kind}"
        assert len(names) == len({*names})


@of_newest
def test_lists_are_of_cells_that_exist() -> None:
    record = Record.read()
    assert not record.right & record.falls.keys()
    assert {*record.falls.values()} <= {*generated.FALLING}
    known = {entry.name for entry in entries() if not reason(entry.name)}
    gone = {key[0] for key in {*record.right, *record.falls} if not generated.is_absent(key)}
    assert not gone - known


def test_lists_are_written_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, committed = Record.read(), [generated.FALLS, generated.RIGHT]
    for name in ("FALLS", "RIGHT"):
        monkeypatch.setattr(generated, name, tmp_path / f"{name}.csv")
    record.write()
    assert Record.read() == record
    assert [path.read_text() for path in (generated.FALLS, generated.RIGHT)] == [
        path.read_text() for path in committed
    ]


# --- the net catches


def entry_of(name: str) -> Entry:
    return next(entry for entry in entries() if entry.name == name)


def cells(function: Any) -> dict[str, str]:
    entry = Entry("metrics.own", "metrics", function, "own")
    return {f"{c.key[1]} x {c.key[2]}": c.verdict for c in cells_of(entry)[0]}


def mean_product(y_true: Any, score: Any) -> float:
    """A function without a guard, which numpy's own errors stop at times."""
    return float(np.mean(np.asarray(y_true) * np.asarray(score)))


@each(("cell", "verdict"), [
    ("score x a list", "RIGHT"),
    ("score x rows turned", "SILENT"),
    ("score x NaN", "SILENT"),
    ("score x a row short", "BARE"),
])  # fmt: skip
def test_verdicts_of_a_function_without_guards(cell: str, verdict: str) -> None:
    assert cells(mean_product)[cell] == verdict


@each(("cell", "verdict"), [
    ("y_true x 99 for a missing label", "TOLD"),
    ("probability x NaN", "TOLD"),
    ("probability x a list", "RIGHT"),
    ("probability x rows turned", "TOLD"),
])  # fmt: skip
def test_verdicts_of_a_function_with_guards(cell: str, verdict: str) -> None:
    assert cells(entry_of("calibration.brier_score").function)[cell] == verdict


@pytest.fixture
def no_order(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The guard of rows in another order does nothing."""
    monkeypatch.setattr(tables, "is_turned", lambda index, other: False)
    return


@of_newest
@pytest.mark.usefixtures("no_order")
def test_a_guard_that_does_nothing_is_noticed() -> None:
    said = changes(entry_of("calibration.brier_score"), Record.read())
    cell = "calibration.brier_score(y_true=) x rows turned [events]: SILENT"
    assert len(said) == 6, said  # two cells of labels, of probabilities and of weights
    assert any(one.startswith(f"it falls, and was TOLD: {cell}") for one in said)


@of_newest
def test_what_is_lost_mended_or_gone_is_named() -> None:
    entry, record = entry_of("calibration.brier_score"), Record.read()
    told, right, gone = ((entry.name, "y_true", twist) for twist in ("NaN", "a list", "gone"))
    words = entry.name, "y_true", "words"
    falls, rights = {**record.falls, told: "SILENT", gone: "BARE"}, record.right - {right}
    assert [one.partition(":")[0] for one in changes(entry, Record(falls, rights | {words}))] == [
        "it is right now, put it on right.csv",
        "it is mended, take it off falls.csv",
        "RIGHT is lost",
        "BARE is tried no longer",
    ]


def fresh(y_true: Any, y_hat: Any) -> float:
    return 0.0


def test_a_new_callable_cannot_escape() -> None:
    entry = Entry("metrics.fresh", "metrics", fresh, "fresh")
    ours = replace(entry, function=fresh)
    fresh.__module__ = "gbdt_objectives.metrics"
    assert ours.unknown() == ["y_hat"]
    assert changes(ours, Record({}, set())) == [
        "no call is right, metrics.fresh(y_true=): no recipe of y_hat"
    ]
