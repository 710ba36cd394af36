"""Old places of names that have moved: they give the same, and say where it is."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from gbdt_objectives._public import MOVED
from tests.cases import each


@each(("old", "new"), MOVED.items())
def test_an_old_place_gives_the_same_and_names_the_new_one(old: str, new: str) -> None:
    if ".dask." in old:
        pytest.importorskip("distributed")
    (old_room, _, name), (room, _, new_name) = old.rpartition("."), new.rpartition(".")
    now = getattr(import_module(room), new_name)
    assert name == new_name == now.__name__
    said = rf"{old} has moved to {room}.*: write from {room} import {name}$"
    with pytest.warns(FutureWarning, match=said) as told:
        assert getattr(import_module(old_room), name) is now
    assert [warning.filename for warning in told] == [__file__]
    found: dict[str, object] = {}
    with pytest.warns(FutureWarning, match=re.escape(old)) as told:
        exec(compile(f"from {old_room} import {name}", __file__, "exec"), found)
    assert found[name] is now
    assert {warning.filename for warning in told} == {__file__}
    assert name not in dir(import_module(old_room))
