"""Rounds of a plain training after the first: what was looked up may have changed since."""

from __future__ import annotations

import ctypes
import inspect
import pickle
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives import _registry
from gbdt_objectives._checks.arrays import Seen
from gbdt_objectives.objectives import base
from tests.adapters.library import XGB, Library, both

rng = np.random.default_rng(3)
N = 600
X = rng.random((N, 4))
Y = np.digitize(X[:, :2].sum(1) + rng.normal(0, 0.2, N), [0.6, 1.0, 1.4]).astype(np.float32)
OTHER = Y.copy()
OTHER[rng.permutation(N)[:100]] = 2  # as many rows, so that XGBoost keeps the address
W = (1 + np.arange(N) % 3).astype(np.float32)
LOSSES = [go.qwk_objective(), go.weighted_logloss_objective(0.5), go.ordinal_logit_objective(4)]
Change = Callable[[int, Any], None]


def labels_of(loss: go.Objective) -> Any:
    return (Y > 1).astype(np.float32) if loss is LOSSES[1] else Y


def rows_of(lib: Library, y: Any, **given: Any) -> Any:
    data = lib.data(X, y, **given)
    return data if lib is XGB else data.construct()


def put(lib: Library, data: Any, name: str, values: Any) -> None:
    (data.set_float_info if lib is XGB else data.set_field)(name, values)


def trained(lib: Library, loss: Any, data: Any, each: Change = lambda k, data: None) -> str:
    """The trees of 8 rounds; ``each(k, data)`` is called after round k."""
    if lib is XGB:

        class Calls(xgb.callback.TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                each(epoch, data)
                return False

        params = {**XGB.params, "base_score": 1.5}
        return "".join(xgb.train(params, data, 8, obj=loss, callbacks=[Calls()]).get_dump())

    def call(env: Any) -> None:
        each(env.iteration, data)

    params = {**lib.params, "objective": loss}
    booster = lgb.train(params, data, 8, callbacks=[call])
    return booster.model_to_string().partition("parameters:")[0]


@contextmanager
def still(answer: Callable[[bool], bool]) -> Iterator[list[bool]]:
    """What the look at the memory has answered, and ``answer`` in its place."""
    found: list[bool] = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("xgboost", "lightgbm"):
            library = _registry.library(name)

            def look(*given: Any, own: Any = library.still_has) -> bool:
                found.append(own(*given))
                return answer(found[-1])

            spied = replace(library)
            object.__setattr__(spied, "still_has", look)
            patch.setattr(f"gbdt_objectives.adapters.{name}.estimators.LIBRARY", spied)
        _registry.any_library.cache_clear()
        _registry.library.cache_clear()
        yield found
    _registry.any_library.cache_clear()
    _registry.library.cache_clear()


def changes(lib: Library, loss: go.Objective) -> Change:
    y, other = labels_of(loss), (OTHER > 1) if loss is LOSSES[1] else OTHER

    def each(k: int, data: Any) -> None:
        if k in (1, 5):
            put(lib, data, "label", np.array(other if k == 1 else y, np.float32))
        if k == 3:
            put(lib, data, "weight", W)
        if k == 4:
            put(lib, data, "weight", W[::-1].copy())

    return each


@pytest.mark.filterwarnings("ignore:boosting starts at")
@both
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_a_callback_may_change_labels_and_weights(lib: Library, loss: go.Objective) -> None:
    """The trees are those of a training that asks the library in each round."""
    y = labels_of(loss)
    with still(lambda own: own) as found:
        one = trained(lib, loss, rows_of(lib, y), changes(lib, loss))
    assert found == [True, False, True, False, False, False, True]
    with still(lambda own: False):
        right = trained(lib, loss, rows_of(lib, y), changes(lib, loss))
        unchanged = trained(lib, loss, rows_of(lib, y))
    assert one == right != unchanged
    with still(lambda own: own) as found:
        assert trained(lib, loss, rows_of(lib, y)) == unchanged
    assert found == [True] * 7


@pytest.mark.filterwarnings(
    "ignore:base_margin is 30 in all rows"
)  # the start is what is asked about
@both
def test_data_that_are_trained_on_again_are_a_new_training(lib: Library) -> None:
    """Its guards are asked again, by a copy of the objective, too."""
    far = np.full(N, 30.0)
    data = rows_of(lib, Y, start=far)
    for loss in (LOSSES[0], LOSSES[0], pickle.loads(pickle.dumps(LOSSES[0]))):
        with pytest.warns(UserWarning, match="in all rows|start") as told:
            trained(lib, loss, data)
        assert len({str(one.message) for one in told}) == len(told) >= 1
    loss = go.qwk_objective(label_range=(0, 3))
    put(lib, data, "label", Y + 9)
    with pytest.raises(ValueError, match="label_range"):
        trained(lib, loss, data)
    put(lib, data, "label", Y)  # a training that failed has not begun
    with pytest.warns(UserWarning, match="in all rows|start"):
        trained(lib, loss, data)


@pytest.mark.filterwarnings("ignore:boosting starts at", "ignore:qwk")
@both
def test_only_the_library_gets_memory_that_is_used_again(lib: Library) -> None:
    kept: list[Any] = []

    def of_user(margin: Any, data: Any) -> Any:
        kept.append(LOSSES[0](margin, data))
        return kept[-1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trained(lib, of_user, rows_of(lib, Y))
    assert len(kept) == 8
    for one, other in pairwise(kept):
        assert not np.shares_memory(one[0], other[0])
        assert (one[0] != other[0]).any()

    class Own(lib.own.Booster):  # type: ignore[misc]
        """A class of the user's, which may look at what the library's methods hand on."""

    calls: list[bool] = []
    with pytest.MonkeyPatch.context() as patch:
        fresh = base.BoundObjective.fresh
        patch.setattr(
            base.BoundObjective, "fresh", lambda self, f: calls.append(True) or fresh(self, f)
        )
        data = rows_of(lib, Y)
        library, behind = lib.own.Booster, partial(LOSSES[0])  # code without a frame of Python
        for kind, loss, copies in (
            (library, LOSSES[0], 1),
            (Own, LOSSES[0], 3),
            (library, behind, 3),
        ):
            calls.clear()
            booster = kind({**lib.params}, [data] if lib is XGB else data)
            for k in range(3):
                given = {"dtrain": data, "iteration": k} if lib is XGB else {}
                booster.update(**given, fobj=loss)
            assert len(calls) == copies  # the first round's is a copy


@pytest.mark.filterwarnings("ignore:boosting starts at")
@both
def test_a_method_that_is_replaced_may_keep_gradients(
    lib: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "boost" if lib is XGB else "_Booster__boost"
    own, kept = getattr(lib.own.Booster, name), []

    def keeps(self: Any, *args: Any, **given: Any) -> Any:
        kept.extend([*args, *given.values()])
        return own(self, *args, **given)

    monkeypatch.setattr(lib.own.Booster, name, keeps)
    trained(lib, LOSSES[0], rows_of(lib, Y))
    found = [one for one in kept if isinstance(one, np.ndarray)]
    assert len(found) == 16 or (lib is XGB and LOSSES[0] in kept)  # XGBoost 3.2 gives the objective
    assert not any(np.shares_memory(one, other) for one, other in pairwise(found[::2]))


@pytest.mark.filterwarnings("ignore:boosting starts at")
@both
def test_nested_and_simultaneous_trainings_on_the_same_data(lib: Library) -> None:
    loss = LOSSES[0]
    alone = trained(lib, loss, rows_of(lib, Y))
    data = rows_of(lib, Y)
    inner: list[str] = []
    outer = trained(lib, loss, data, lambda k, data: inner.append(trained(lib, loss, data)))
    assert {outer, *inner} == {alone}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: trained(lib, loss, data), range(8)))
    assert set(found) == {alone}


@pytest.mark.filterwarnings("ignore:boosting starts at")
def test_a_booster_that_goes_on_with_other_data_reads_them() -> None:
    def trees() -> list[str]:
        one, two = rows_of(XGB, Y), rows_of(XGB, OTHER)
        booster = xgb.train({**XGB.params, "base_score": 1.5}, one, 3, obj=LOSSES[0])
        for k, data in enumerate((two, one, two), start=3):
            booster.update(data, k, LOSSES[0])
        dump: list[str] = booster.get_dump()
        return dump

    with still(lambda own: False):
        right = trees()
    with still(lambda own: own) as found:
        assert trees() == right
    assert found == [True, True, True, True]  # round 3 binds to the second


@pytest.mark.filterwarnings("ignore:boosting starts at")
def test_a_matrix_of_the_users_is_asked_by_its_own_methods() -> None:
    class Own(xgb.DMatrix):
        later = 0

        def get_label(self) -> Any:
            return (Y, OTHER)[self.later]

    def each(k: int, data: Any) -> None:
        data.later = int(k > 2)

    found = trained(XGB, LOSSES[0], Own(X, Y), each)
    change: Change = lambda k, data: put(XGB, data, "label", OTHER) if k == 3 else None  # noqa: E731
    assert found == trained(XGB, LOSSES[0], rows_of(XGB, Y), change)


@pytest.mark.filterwarnings("ignore:boosting starts at")
@pytest.mark.parametrize("fault", ["missing", "fails"])
@both
def test_a_version_without_the_function_of_c_is_asked_by_its_getters(
    lib: Library, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = trained(lib, LOSSES[0], rows_of(lib, Y), changes(lib, LOSSES[0]))
    module, name = (
        (xgb.core, "XGDMatrixGetFloatInfo") if lib is XGB else (lgb.basic, "LGBM_DatasetGetField")
    )
    own = module._LIB

    class Old:
        def __getattr__(self, asked: str) -> Any:
            if asked == name and "still_has" in names_above():
                if fault == "missing":
                    raise AttributeError(asked)
                return lambda *given: -1
            return getattr(own, asked)

    data = rows_of(lib, Y)
    monkeypatch.setattr(module, "_LIB", Old())
    with still(lambda found: found) as found:
        assert trained(lib, LOSSES[0], data, changes(lib, LOSSES[0])) == right
    assert found == [False] * 7


def names_above() -> set[str]:
    frame, names = inspect.currentframe(), set()
    while frame is not None:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return names


def test_values_are_compared_bit_by_bit() -> None:
    held = np.array([0, 1, np.nan, -0.0], np.float32)
    seen = Seen.of(held, None)

    def find(field: bytes) -> Any:
        return (4, held.ctypes.data) if field == b"label" else (0, None)

    assert seen.is_held(find)
    assert not Seen.of(held, np.ones(4, np.float32)).is_held(find)
    assert not Seen.of(held[:3], None).is_held(find)
    assert not Seen.of(held.astype(np.float64), None).is_held(find)
    assert not seen.is_held(lambda field: (-1, None))
    held[3] = 0.0
    assert not seen.is_held(find)

    def fails(field: bytes) -> Any:
        raise ctypes.ArgumentError

    assert not seen.is_held(fails)
