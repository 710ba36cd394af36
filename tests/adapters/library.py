"""What differs between the two libraries: how data is wrapped, a model made, and asked."""

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
    """A library and our adapter of it, small models, and words for the same thing."""

    name: str
    own: Any
    adapter: Any
    prefix: str
    params: dict[str, Any]
    estimator: dict[str, Any]
    earlier: str
    """The argument for a model to train on from."""
    margin: str
    """The flag with which an estimator predicts margins."""
    mean: str
    """The column of a metric in the history of cv."""

    def __repr__(self) -> str:
        return self.name

    @property
    def train(self) -> Callable[..., Any]:
        return self.adapter.train

    @property
    def shift_intercept(self) -> Callable[..., Any]:
        return self.adapter.shift_intercept

    def data(self, X, y=None, weight=None, start=None, reference=None):
        if self.name == "xgboost":
            return xgb.DMatrix(X, y, weight=weight, base_margin=start)
        return lgb.Dataset(X, y, weight=weight, init_score=start, reference=reference)

    def built_in(self, params, data, rounds):
        """The library's own train(), on its own objective."""
        return self.own.train({**self.params, **params}, data, rounds)

    def plain(self, objective, data, rounds, /, **params):
        """The library's own train(), on an objective of ours."""
        if self.name == "xgboost":
            return xgb.train({**self.params, **params}, data, rounds, obj=objective)
        return lgb.train({**self.params, **params, "objective": objective}, data, rounds)

    def cv(self, data, rounds=10, params=None, **given) -> dict[str, list[float]]:
        """The history of our cv."""
        if self.name == "xgboost":
            given = {"as_pandas": False, **given}
        params = self.params if params is None else params
        return self.adapter.cv(params, data, rounds, **given)

    def kind(self, classifier: bool = False, plain: bool = False) -> Any:
        """The class of our drop-in estimator, or of the library's own."""
        role = "Classifier" if classifier else "Regressor"
        return getattr(self.own if plain else self.adapter, self.prefix + role)

    def make(self, classifier: bool = False, plain: bool = False, **parameters) -> Any:
        """A small one of them."""
        return self.kind(classifier, plain)(**{**self.estimator, **parameters})

    def fit(self, model, X, y, held_out: Any = None, metric: Any = None, **more) -> Any:
        """Evaluated on ``held_out`` (a list of pairs) with ``metric``, wherever that is given."""
        if held_out is not None:
            more["eval_set"] = held_out
        if self.name == "xgboost":
            if metric is not None:
                model.set_params(eval_metric=metric)
            return model.fit(X, y, verbose=False, **more)
        if metric is not None:
            more["eval_metric"] = metric
        return model.fit(X, y, **more)

    def history(self, model) -> dict[str, dict[str, list[float]]]:
        """What an estimator measured, by evaluation set and metric."""
        found = model.evals_result() if self.name == "xgboost" else model.evals_result_
        return {name: {m: list(v) for m, v in values.items()} for name, values in found.items()}

    def booster(self, model) -> Any:
        return model.get_booster() if self.name == "xgboost" else model.booster_

    def recording(self, record: dict[str, Any]) -> dict[str, Any]:
        """The argument of train() that keeps what is measured."""
        if self.name == "xgboost":
            return {"evals_result": record}
        return {"callbacks": [lgb.record_evaluation(record)]}

    def stop(self, rounds: int) -> Any:
        """The library's own callback for early stopping."""
        if self.name == "xgboost":
            return xgb.callback.EarlyStopping(rounds=rounds)
        return lgb.early_stopping(rounds, verbose=False)

    def save(self, booster, folder: Path) -> Path:
        path = folder / ("model.ubj" if self.name == "xgboost" else "model.txt")
        booster.save_model(path)
        return path

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
        return fresh_prediction(self.name, model, X)


def fresh_prediction(library: str, model: Path, X) -> Any:
    rows, out = model.parent / "X.npy", model.parent / "out.npy"
    np.save(rows, X)
    process = fresh_process(library)
    print(json.dumps([str(path) for path in (rows, model, out)]), file=process.stdin, flush=True)
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
    atexit.register(process.communicate)  # which closes its input, whereupon it ends
    return process


FRESH_PROCESS = """
import json, sys
import numpy as np
if sys.argv[1] == "xgboost":
    import xgboost as xgb
    predict = lambda model, X: xgb.Booster(model_file=model).predict(xgb.DMatrix(X))
elif sys.argv[1] == "sklearn":
    import pickle
    def predict(path, X):
        model = pickle.load(open(path, "rb"))
        return getattr(model, "predict_proba", model.predict)(X)
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
    "xgboost", xgb, xgboost_adapter, "XGB",
    {"max_depth": 3, "seed": 0, "nthread": 1},
    {"max_depth": 3, "n_jobs": 1, "random_state": 0, "n_estimators": 12},
    "xgb_model", "output_margin", "test-{}-mean",
)  # fmt: skip
LGB = Library(
    "lightgbm", lgb, lightgbm_adapter, "LGBM",
    {"num_leaves": 7, "verbose": -1, "seed": 0, "deterministic": True, "num_threads": 1},
    {"num_leaves": 7, "verbose": -1, "n_jobs": 1, "random_state": 0, "n_estimators": 12,
     "deterministic": True},
    "init_model", "raw_score", "valid {}-mean",
)  # fmt: skip
both = pytest.mark.parametrize("lib", [XGB, LGB], ids=repr)
needs_routing = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.4"),
    reason="scikit-learn 1.4 is the first whose cross-validation has params=",
)
