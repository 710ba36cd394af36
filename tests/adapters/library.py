"""What differs between the two libraries: how data is wrapped and a model asked."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
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
        process = fresh_process(self.name)
        print(
            json.dumps([str(path) for path in (rows, model, out)]), file=process.stdin, flush=True
        )
        assert process.stdout.readline() == "done\n", process.communicate()[1]
        return np.load(out)


@cache
def fresh_process(library: str) -> subprocess.Popen[str]:
    """A process with this library alone, which predicts until the tests end; starting one takes
    seconds."""
    process = subprocess.Popen(
        [sys.executable, "-c", FRESH_PROCESS, library], cwd=tempfile.gettempdir(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    atexit.register(process.kill)
    return process


FRESH_PROCESS = """
import json, sys
import numpy as np
if sys.argv[1] == "xgboost":
    import xgboost as xgb
    predict = lambda model, X: xgb.Booster(model_file=model).predict(xgb.DMatrix(X))
else:
    import lightgbm as lgb
    predict = lambda model, X: lgb.Booster(model_file=model).predict(X)
for line in sys.stdin:
    rows, model, out = json.loads(line)
    np.save(out, predict(model, np.load(rows)))
    assert not [name for name in sys.modules if name.startswith("gbdt_objectives")]
    print("done", flush=True)
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
