"""Data that is read in batches, or kept outside memory, trains the same model."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

from gbdt_objectives import (
    offset_logloss_objective,
    ordinal_logit_objective,
    qwk_objective,
)
from gbdt_objectives.adapters import lightgbm as LGB, xgboost as XGB

OBJECTIVES = {
    "qwk": lambda y, w: (y, qwk_objective(y, sample_weight=w)),
    "qwk of the data": lambda y, w: (y, qwk_objective()),
    "ordinal": lambda y, w: (y - 1, ordinal_logit_objective(4)),
    "offset": lambda y, w: ((y > 2).astype(int), offset_logloss_objective(0.3)),
}
PARAMS = {"max_depth": 3, "eta": 0.3, "max_bin": 64, "nthread": 1, "tree_method": "hist"}


@pytest.fixture(scope="module")
def data(ordinal):
    """Few distinct values of each feature, so that every way of reading gives the same bins."""
    X, y, w = ordinal
    return np.rint(20 * X).astype(np.float32), y, w


class Batches(xgb.DataIter):
    """Batches of rows, as from files."""

    def __init__(self, X, y, w, cache_prefix=None) -> None:
        self.parts = list(zip(*(np.array_split(a, [1, 200, 430]) for a in (X, y, w)), strict=True))
        self.next_part = 0
        super().__init__(cache_prefix=cache_prefix)

    def next(self, input_data) -> bool:
        if self.next_part == len(self.parts):
            return False
        X, y, w = self.parts[self.next_part]
        input_data(data=X, label=y, weight=w)
        self.next_part += 1
        return True

    def reset(self) -> None:
        self.next_part = 0


def xgboost_data(kind, X, y, w, folder):
    if kind == "QuantileDMatrix":
        return xgb.QuantileDMatrix(X, y, weight=w, max_bin=64)
    if kind == "batches":
        return xgb.QuantileDMatrix(Batches(X, y, w), max_bin=64)
    if kind == "cached":
        return xgb.DMatrix(Batches(X, y, w, str(folder / "cache")))
    return xgb.ExtMemQuantileDMatrix(Batches(X, y, w, str(folder / "cache")), max_bin=64)


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kind", ["QuantileDMatrix", "batches", "cached", "ExtMem"])
def test_xgboost(kind, objective, data, tmp_path) -> None:
    if kind == "ExtMem" and not hasattr(xgb, "ExtMemQuantileDMatrix"):
        pytest.skip("this XGBoost has no ExtMemQuantileDMatrix")
    X, y, w = data
    y, obj = OBJECTIVES[objective](y, w)
    whole = XGB.train(PARAMS, xgb.DMatrix(X, y, weight=w), 8, objective=obj)
    found = XGB.train(PARAMS, xgboost_data(kind, X, y, w, tmp_path), 8, objective=obj)
    rows = xgb.DMatrix(X)
    np.testing.assert_array_equal(found.predict(rows), whole.predict(rows))
    assert found.get_dump() == whole.get_dump()


class Rows(lgb.Sequence):
    """Rows read when they are asked for."""

    batch_size = 100

    def __init__(self, X) -> None:
        self.X = X
        self.read = 0

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows):
        self.read += 1
        return self.X[rows]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_lightgbm(objective, data) -> None:
    X, y, w = data
    y, obj = OBJECTIVES[objective](y, w)
    params = {"num_leaves": 7, "verbosity": -1, "num_threads": 1, "deterministic": True}
    whole = LGB.train(params, lgb.Dataset(X.astype(float), y, weight=w), 8, objective=obj)
    parts = [Rows(part) for part in np.array_split(X.astype(float), [1, 200, 430])]
    found = LGB.train(params, lgb.Dataset(parts, y, weight=w), 8, objective=obj)
    np.testing.assert_array_equal(found.predict(X), whole.predict(X))
    assert all(part.read for part in parts)
