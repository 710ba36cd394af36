"""Old places and names still work: they give the same, and say what it is called now."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from importlib import import_module

import pytest

import gbdt_objectives as go
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


@pytest.mark.parametrize("make", [go.qwk_objective, go.extended_qwk_metric])
def test_old_words_for_mean_and_variance_give_the_same_and_name_the_new_ones(make) -> None:
    said = "center= is now mean=, spread= is now variance=: write the new name$"
    with pytest.warns(FutureWarning, match=said) as told:
        made = make(center=1.5, spread=1.2)
    assert made == make(mean=1.5, variance=1.2)
    assert repr(made) == repr(make(mean=1.5, variance=1.2))
    assert [warning.filename for warning in told] == [__file__]
    for old, new, value in (("center", "mean", 1.5), ("spread", "variance", 1.2)):
        with pytest.warns(FutureWarning, match=f"^.{old} is now .{new}: ") as told:
            assert getattr(made, old) == getattr(made, new) == value
        assert [warning.filename for warning in told] == [__file__]
        assert old not in dir(made)
    with pytest.raises(TypeError, match="unexpected keyword argument 'center'"):
        make(center=1.5, mean=1.5)


@pytest.mark.parametrize("make", [go.qwk_objective, go.extended_qwk_metric])
def test_pickles_of_old_words_are_read(make) -> None:
    made = make([0, 1, 1, 3])
    old = copy.copy(getattr(made, "equations", made))
    state = vars(old)
    state.update(center=state.pop("mean"), spread=state.pop("variance"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(pickle.dumps(old)) == getattr(made, "equations", made)
        assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
