"""An objective called by a function of the user's own, on several workers."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from tests.workers import Failed

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("workers")]

RNG = np.random.default_rng(0)
X = RNG.integers(0, 12, (1500, 4)).astype(float)
Y = np.sort(np.digitize(X[:, :2].sum(1) + RNG.normal(0, 2, 1500), [7, 11, 15]).astype(float))
PARAMS = {"max_depth": 3, "base_score": 1.5}


def of_all_labels(margin, data):
    return go.qwk_objective(Y)(margin, data)


def of_the_shard(margin, data):
    return go.qwk_objective(data.get_label())(margin, data)


def train(rank, world, objective):
    rows = slice(0, 700) if rank == 0 else slice(700, None)
    booster = xgb.train(PARAMS, xgb.DMatrix(X[rows], Y[rows]), 3, obj=objective)
    return booster.get_dump()


def test_it_sums_over_workers(pair) -> None:
    alone = xgb.train(PARAMS, xgb.DMatrix(X, Y), 3, obj=go.qwk_objective(Y)).get_dump()
    assert pair.run(train, of_all_labels) == [alone, alone]


def test_one_of_the_shard_is_refused_on_every_worker(pair) -> None:
    found = pair.run(train, of_the_shard)
    assert all(isinstance(worker, Failed) for worker in found)
    assert [worker.kind for worker in found] == ["WorkersDisagree"] * 2
