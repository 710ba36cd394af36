"""A stranger's metric keeps the contract of ours: it stops boosters and places thresholds."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm
from tests.contract import MetricCase, labels_between
from tests.metrics import checks
from tests.strangers.within_one import within_one_metric

METRIC = within_one_metric()
CASE = MetricCase("within-one", METRIC, labels_between(0, 3), (-1, 4))
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 4, 300)
SCORE = Y + RNG.normal(0, 1, 300)


@pytest.mark.parametrize("check", checks.CHECKS)
def test_it_keeps_the_contract(check) -> None:
    check(CASE)


def test_it_is_what_its_name_says() -> None:
    classes = np.rint(SCORE).clip(0, 3)
    assert METRIC(Y, classes.astype(int)) == pytest.approx((np.abs(Y - classes) <= 1).mean())


def test_its_thresholds_are_the_best() -> None:
    exact = go.optimize_thresholds(Y, SCORE, metric=METRIC)
    other = go.optimize_thresholds(Y, SCORE, metric=METRIC, method="nelder-mead")
    values = [METRIC(Y, go.apply_thresholds(SCORE, t)) for t in (exact, other)]
    assert values[0] >= values[1] > 0.9


# the first rounds are the best of this metric
@pytest.mark.filterwarnings("ignore:early stopping keeps")
def test_early_stopping_maximises_it() -> None:
    X, train, held = SCORE[:, np.newaxis], slice(0, 200), slice(200, 300)
    data = lgb.Dataset(X[train], Y[train])
    held_out = lgb.Dataset(X[held], Y[held], reference=data)
    booster = lightgbm.train(
        {"num_leaves": 7, "verbose": -1, "learning_rate": 0.3}, data, 60,
        objective=go.qwk_objective(), metric=METRIC, evals=[(held_out, "held_out")],
        early_stopping_rounds=10,
    )  # fmt: skip
    kept = METRIC(Y[held], booster.predict(X[held]))
    assert kept == pytest.approx(booster.best_score["held_out"]["within_one"])
    assert kept > 0.85
