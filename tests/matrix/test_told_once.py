"""A new guard is one function: every door at which a training begins asks it, and tells it once."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives._checks.asked import Training, guard
from gbdt_objectives._checks.users import warn
from gbdt_objectives._public import TOLD
from tests.matrix.guards import CLIENT, DOORS, SLOW, Call, Door, X
from tests.strangers.many_grades import NEEDS, grades_are_few

MANY = np.rint(150 * X[:, 0])
CALL = Call(MANY, go.qwk_objective(), rounds=4)
STOPS = replace(CALL, metric=go.extended_qwk_metric(), stops=True)
TRAIN = {"train", "cv", "estimator", "native", "native-cv", "native-estimator"}
OPEN = [door for door in DOORS if door.kind in TRAIN and door.library != "catboost"]
"""CatBoost trains no objective that needs all rows."""


def in_folds(member: Any) -> None:
    go.QWKClassifier(member, cv=3, objective="qwk").fit(X, MANY)


def in_step(member: Any) -> None:
    classifier = go.QWKClassifier(member, cv=3, objective="qwk", early_stopping_rounds="auto")
    classifier.fit(X, MANY)


SMALL = {
    "lightgbm": partial(lgb.LGBMRegressor, n_estimators=4, n_jobs=1, verbose=-1),
    "xgboost": partial(xgb.XGBRegressor, n_estimators=4, n_jobs=1),
}
WRAPPED = [partial(fit, make()) for fit in (in_folds, in_step) for make in SMALL.values()]


@pytest.fixture
def new_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Training, "guards", [*Training.guards])
    monkeypatch.setattr(Training, "_of", {})
    guard(Training, *NEEDS)(grades_are_few)


def count(enter: Any) -> int:
    """How often a call says it, under a filter that shows every warning."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        enter()
    return sum("more than grades have: train squared" in str(one.message) for one in told)


@pytest.mark.parametrize("door", OPEN, ids=repr)
@pytest.mark.usefixtures("new_guard")
def test_each_door_tells_it_once(door: Door) -> None:
    starts = {"xgboost": {"base_score": float(MANY.mean())}} if "native" in door.kind else {}
    call = replace(CALL, params=starts)
    assert count(lambda: door.enter(call)) == 1
    assert count(lambda: door.enter(call)) == 1  # so does the next training
    assert count(lambda: door.enter(replace(call, y=np.rint(call.y / 20)))) == 0


@pytest.mark.parametrize("door", [door for door in OPEN if "native" not in door.kind], ids=repr)
@pytest.mark.usefixtures("new_guard")
def test_a_door_with_a_metric_tells_it_once(door: Door) -> None:
    assert count(lambda: door.enter(STOPS)) == 1


@pytest.mark.parametrize("fit", WRAPPED, ids=lambda fit: f"{fit.func.__name__}-{fit.args[0]}"[:25])
@pytest.mark.usefixtures("new_guard")
def test_a_fit_with_folds_tells_it_once(fit: Any) -> None:
    assert count(fit) == 1


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("door", SLOW, ids=repr)
def test_dask_tells_it_once(door: Door, cluster: Any) -> None:
    from distributed import Client

    def register() -> None:
        if "grades_are_few" not in [one.name for one in Training.guards]:
            guard(Training, *NEEDS)(grades_are_few)

    def forget() -> None:
        Training.guards[:] = [one for one in Training.guards if one.name != "grades_are_few"]
        Training._of.clear()

    with Client(cluster) as client:
        CLIENT[:] = [client]
        client.run(register)
        try:
            assert count(lambda: door.enter(CALL)) == 1
        finally:
            client.run(forget)
            CLIENT.clear()


@pytest.mark.usefixtures("new_guard")
def test_a_library_s_own_cv_tells_it_once() -> None:
    small: dict[str, Any] = {"nthread": 1, "base_score": float(MANY.mean())}
    data = xgb.DMatrix(X, MANY)
    assert count(lambda: xgb.cv(small, data, 3, nfold=4, obj=go.qwk_objective(MANY))) == 1
    params = {"objective": go.qwk_objective(MANY), "num_threads": 1, "verbose": -1}

    def of_lightgbm() -> None:
        lgb.cv(params, lgb.Dataset(X, MANY), 3, nfold=4, stratified=False, feval=go.qwk_metric())

    assert count(of_lightgbm) == 1


def test_folds_whose_numbers_differ_say_one_thing() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        token = TOLD.set(set())
        for k in range(3):
            warn(f"boosting starts at {k / 7:g}, far from {k + 1e-9:g}")
            warn("another")
        TOLD.reset(token)
    assert [str(one.message)[:8] for one in told] == ["boosting", "another"]
