"""What differs between the two libraries: how data is wrapped and a model asked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import sklearn
import xgboost as xgb
from sklearn.utils.fixes import parse_version

from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter


@dataclass(frozen=True)
class Library:
    name: str
    train: Callable[..., Any]
    shift_intercept: Callable[..., Any]
    params: dict[str, Any]

    def __repr__(self) -> str:
        return self.name

    def data(self, X, y=None, weight=None, start=None, reference=None):
        if self.name == "xgboost":
            return xgb.DMatrix(X, y, weight=weight, base_margin=start)
        return lgb.Dataset(X, y, weight=weight, init_score=start, reference=reference)

    def built_in(self, params, data, rounds):
        """The library's own train(), on its own objective."""
        module = xgb if self.name == "xgboost" else lgb
        return module.train({**self.params, **params}, data, rounds)

    def predict(self, booster, X, raw=False, rounds=None):
        if self.name == "xgboost":
            upto = (0, rounds or 0)
            return booster.predict(xgb.DMatrix(X), output_margin=raw, iteration_range=upto)
        return booster.predict(X, raw_score=raw, num_iteration=rounds)

    def contributions(self, booster, X):
        if self.name == "xgboost":
            return booster.predict(xgb.DMatrix(X), pred_contribs=True)
        K = booster.num_model_per_iteration()
        return booster.predict(X, pred_contrib=True).reshape(len(X), K, -1).squeeze()

    def rounds(self, booster) -> int:
        return (
            booster.num_boosted_rounds() if self.name == "xgboost" else booster.current_iteration()
        )

    def fresh_prediction(self, model: Path, X) -> Any:
        """What a process that has never seen this package predicts from a saved model."""
        rows, out = model.parent / "X.npy", model.parent / "out.npy"
        np.save(rows, X)
        subprocess.run(
            [sys.executable, "-c", FRESH_PROCESS, self.name, rows, model, out],
            check=True, cwd=model.parent,
        )  # fmt: skip
        return np.load(out)


FRESH_PROCESS = """
import sys
import numpy as np
X = np.load(sys.argv[2])
if sys.argv[1] == "xgboost":
    import xgboost as xgb
    prediction = xgb.Booster(model_file=sys.argv[3]).predict(xgb.DMatrix(X))
else:
    import lightgbm as lgb
    prediction = lgb.Booster(model_file=sys.argv[3]).predict(X)
assert not [name for name in sys.modules if name.startswith("gbdt_objectives")]
np.save(sys.argv[4], prediction)
"""

XGB = Library(
    "xgboost",
    xgboost_adapter.train,
    xgboost_adapter.shift_intercept,
    {"max_depth": 3, "seed": 0, "nthread": 1},
)
LGB = Library(
    "lightgbm",
    lightgbm_adapter.train,
    lightgbm_adapter.shift_intercept,
    {"num_leaves": 7, "verbose": -1, "seed": 0, "deterministic": True, "num_threads": 1},
)
both = pytest.mark.parametrize("lib", [XGB, LGB], ids=repr)
needs_routing = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.4"),
    reason="scikit-learn 1.4 is the first whose cross-validation has params=",
)
