"""Each guard at each door: right, refused, or it does not apply, because ..."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from gbdt_objectives._checks.asked import Asked
from tests.cases import each
from tests.matrix.guards import CLIENT, DOORS, GUARDS, KINDS, KNOWN, SLOW, Door, Guard, cell

BY_NAME = {door.name: door for door in (*DOORS, *SLOW)}
OF_GUARD = {guard.name: guard for guard in GUARDS}


@pytest.mark.parametrize("guard", GUARDS, ids=repr)
def test_every_door_asks(guard: Guard) -> None:
    check_all(guard, DOORS)


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("guard", [guard for guard in GUARDS if "train" in guard.at], ids=repr)
def test_dask_asks(guard: Guard, cluster: Any) -> None:
    from distributed import Client

    with Client(cluster) as client:
        CLIENT[:] = [client]
        check_all(guard, SLOW)
        CLIENT.clear()


def check_all(guard: Guard, doors: list[Door]) -> None:
    wrong = []
    for door in doors:
        if door.kind == "command" and not find_spec("click"):  # as in the lanes
            continue
        verdict, word = cell(guard, door)
        known = KNOWN.get((guard.name, door.name))
        if verdict in ("SILENT", "BARE") and known is None:
            wrong.append(f"{door}: {verdict}, {word}")
        if verdict not in ("SILENT", "BARE") and known is not None:
            wrong.append(f"{door} is mended, {verdict}: take it off the list, {known!r}")
    assert not wrong, wrong


@each("guard", GUARDS, ids=repr)
def test_no_cell_is_undecided(guard: Guard) -> None:
    """A new kind of door needs a word in each guard: it is asked there, or why not."""
    assert guard.at | set(guard.not_at) >= KINDS
    for door in DOORS:
        reason = guard.reason(door)
        assert reason is None or len(reason) > 10
    assert any(guard.reason(door) is None for door in DOORS)


def test_known_cells_are_of_the_tables() -> None:
    for guard, door in KNOWN:
        assert OF_GUARD[guard].reason(BY_NAME[door]) is None


BROKEN = [
    ("starts_near_intercept", "start: grades far from 0", "lightgbm-native"),
    ("starts_near_intercept", "start: rare events", "xgboost-own-estimator"),
    ("classes_count_alike", "weights: of label 1, of a wrapped estimator", "xgboost-QWKClassifier"),
    (
        "own_takes_labels",
        "labels: more than the library's own objective takes",
        "lightgbm-QWKClassifier",
    ),
    ("metric_reads_link", "metric: of log-odds, under grades", "lightgbm-own-estimator"),
    ("own_metrics_read_margins", "metric: the library's own, by name, of margins",
     "lightgbm-native-cv"),
    ("own_metrics_read_margins", "metric: the library's default, of margins, where training stops",
     "xgboost-native-cv"),
    ("stops_on_ours_alone", "metric: the library's default beside ours, where training stops",
     "lightgbm-own-estimator"),
    ("metrics_are_known", "metric: a name of ours", "lightgbm-native-cv"),
    ("stops_on_held_out", "stops: on the rows that are trained on", "lightgbm-native"),
    ("rows_start_alike", "start: of each row, of those that are trained on alone",
     "xgboost-own-estimator"),
    ("start_stays_in_the_model", "start: of each row, the same in all, that the model does not "
     "hold", "xgboost-native"),
    ("class_weights_are_heeded", "parameters: what the library would ignore",
     "xgboost-own-classifier"),
    ("thins_the_frequent_class", "rates: beside labels whose rare event is 0",
     "xgboost-native-cv"),
    ("weights_leave_the_rate_alone", "weights: that make classes alike beside an objective that "
     "corrects", "xgboost-own-classifier"),
]  # fmt: skip


@each(("name", "guard", "door"), BROKEN)
def test_a_guard_that_does_nothing_is_noticed(name: str, guard: str, door: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        (registered,) = (
            one for kind in Asked.__subclasses__() for one in kind.guards if one.name == name
        )
        patch.setattr(registered, "function", lambda value: None)
        assert cell(OF_GUARD[guard], BY_NAME[door])[0] == "SILENT"
    assert cell(OF_GUARD[guard], BY_NAME[door])[0] == "REFUSED"


def test_a_direction_that_nobody_says_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from gbdt_objectives.metrics import base

    guard, door = OF_GUARD["metric: its direction"], BY_NAME["xgboost-native"]
    assert cell(guard, door)[0] == "HOLDS"
    monkeypatch.setattr(base, "directed", lambda metric, stack: ())
    assert cell(guard, door)[0] == "SILENT"
