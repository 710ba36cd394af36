"""Every objective through every door predicts what it aims at, or is refused with a remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gbdt_objectives._checks import guards
from tests.cases import each
from tests.matrix.tables import DOORS, GROUP, ROWS, WEIGHT, Door, Row, patch_train, right_or_refused


def check(row: Row, door: Door, folder: Any) -> None:
    found = right_or_refused(lambda: door.enter(row, folder))
    if found is None:
        assert not door.right(row), "refused"
    else:
        found.check(row)


def check_all(door: Door, folder: Any) -> None:
    """Every row of the table; the function of "undeclared" is one of a single margin."""
    wrong = {}
    for row in ROWS:
        if row.name != "undeclared" or door.name != "native-multi:softprob":
            try:
                check(row, door, folder)
            except AssertionError as error:
                wrong[row.name] = error
    assert not wrong


@pytest.mark.parametrize("door", DOORS, ids=repr)
def test_an_objective_predicts_what_it_aims_at_or_is_refused(door, tmp_path) -> None:
    check_all(door, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("door", [door for door in DOORS if door.fits], ids=repr)
def test_the_same_under_a_patched_train(door, tmp_path, monkeypatch) -> None:
    patch_train(monkeypatch)
    check_all(door, tmp_path)


@pytest.mark.parametrize("door", [door for door in DOORS if door.told], ids=repr)
def test_what_the_booster_says_of_itself_is_enough_where_it_can_tell(
    door, tmp_path, monkeypatch
) -> None:
    """Frames of ``fit`` are a second line of defence."""
    monkeypatch.setattr(guards, "estimator_reads_margins", lambda facts: None)
    check_all(door, tmp_path)


@each("row", ROWS, ids=repr)
def test_the_truth_of_the_table_is_the_least_loss(row: Row) -> None:
    best = row.best(row.y, WEIGHT, GROUP)
    least = row.mean_loss(row.y, best[GROUP], WEIGHT)
    for k in range(len(best)):
        for step in (-0.05, 0.05):
            moved = best.copy()
            moved[(k, 0) if best.ndim == 2 else k] += step
            assert row.mean_loss(row.y, moved[GROUP], WEIGHT) > least
    assert np.isfinite(least)
