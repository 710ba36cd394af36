"""What is compared: from rows to train on to the grades predicted for new rows.

Symbols: X features (n, d), y grades 0..K-1 (n,).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import joblib
import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from experiments import _common
from experiments._common import Array
from gbdt_objectives import QWKClassifier

Models = Mapping[str, tuple[Any, Any]]
"""Regressor and classifier (None: not tried) of each booster, with its default parameters."""

BOOSTERS: dict[str, tuple[Any, Any]] = {
    "LightGBM": (LGBMRegressor(n_jobs=1, verbose=-1), LGBMClassifier(n_jobs=1, verbose=-1)),
    "XGBoost": (XGBRegressor(n_jobs=1), XGBClassifier(n_jobs=1)),
}

NONE = "none"
"""The booster of an arm that has none, or all."""

PEERS = ("mord", "oprounder", "catboost")
Peers = Mapping[str, Any]


def installed_peers() -> dict[str, Any]:
    """The modules of peers that are there; a line printed for each that is not."""
    found = {}
    for name in PEERS:
        try:
            found[name] = importlib.import_module(name)
        except ImportError:
            print(f"without {name}: pip install 'gbdt_objectives[peers]'")
    return found


def boosters(peers: Peers) -> Models:
    if "catboost" not in peers:
        return BOOSTERS
    cat = peers["catboost"].CatBoostRegressor(thread_count=1, verbose=0, allow_writing_files=False)
    return {**BOOSTERS, "CatBoost": (cat, None)}


def tuned(
    booster: str, regressor: Any, X: Array, y: Array, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Parameters of the least squared error on rows held out once, rounds by early stopping."""
    how = settings["tuning"]
    X, X_held, y, y_held = train_test_split(
        X, y, test_size=how["held_out"], stratify=y, random_state=settings["seed"]
    )
    grid = ParameterGrid({"learning_rate": how["learning_rate"], **how["size"][booster]})
    found = []
    for parameters in grid:
        model = clone(regressor).set_params(n_estimators=how["rounds"], **parameters)
        pairs = {"eval_set": [(X_held, y_held)]}
        if booster == "LightGBM":
            model.fit(X, y, **pairs, callbacks=[early_stopping(how["patience"], verbose=False)])
            rounds = model.best_iteration_
        elif booster == "XGBoost":
            model.set_params(early_stopping_rounds=how["patience"])
            rounds = model.fit(X, y, **pairs, verbose=False).best_iteration + 1
        else:
            model.fit(X, y, **pairs, early_stopping_rounds=how["patience"])
            rounds = model.get_best_iteration() + 1
        loss = float(np.mean((y_held - model.predict(X_held)) ** 2))
        found.append((loss, {**parameters, "n_estimators": int(rounds)}))
    return min(found, key=lambda each: each[0])[1]


class Remembered(RegressorMixin, BaseEstimator):
    """A regressor that is fitted once on the same rows: an arm that asks again gets that fit."""

    memory: dict[str, Any] = {}  # noqa: RUF012 - of all of them, which is its purpose

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def fit(self, X: Array, y: Array) -> Remembered:
        key = joblib.hash((type(self.regressor).__name__, self.regressor.get_params(), X, y))
        if key not in self.memory:
            self.memory[key] = clone(self.regressor).fit(X, y)
        self.fitted_ = self.memory[key]
        return self

    def predict(self, X: Array) -> Array:
        predicted: Array = self.fitted_.predict(X)
        return predicted


def rounded(score: Array, K: int) -> Array:
    """The nearest grade."""
    return np.clip(np.floor(score + 0.5), 0, K - 1).astype(int)


def more_than(classifier: Any, X: Array, y: Array, X_new: Array, K: int) -> Array:
    """P(y > k) for k = 0..K-2 by K-1 binary classifiers (Frank & Hall 2001), (n_new, K-1)."""
    columns = []
    for k in range(K - 1):
        above = (y > k).astype(int)
        one = above[0] if above.min() == above.max() else None  # a fold without the rare classes
        fitted = None if one is not None else clone(classifier).fit(X, above)
        columns.append(
            np.full(len(X_new), float(one)) if fitted is None else fitted.predict_proba(X_new)[:, 1]
        )
    return np.column_stack(columns)


def predict_booster(
    regressor: Any,
    classifier: Any,
    peers: Peers,
    trials: int,
    X: Array,
    y: Array,
    X_new: Array,
    K: int,
) -> Iterator[tuple[str, Array]]:
    """The grades that each arm of one booster predicts; ``trials`` are optimized-rounder's."""
    grades = np.arange(K)
    all_rounds = {"labels": grades, "early_stopping_rounds": None}  # their number is tuned
    ours = QWKClassifier(Remembered(regressor), **all_rounds).fit(X, y)
    yield "QWKClassifier", ours.predict(X_new)
    if classifier is not None:
        qwk = QWKClassifier(regressor, objective="qwk", **all_rounds)
        yield "QWKClassifier, QWK objective", qwk.fit(X, y).predict(X_new)

    thresholds = _common.fit_thresholds(y, ours.oof_score_, (0, K - 1), "nelder-mead")
    average = np.mean([model.predict(X_new) for model in ours.estimators_], axis=0)
    yield "folds averaged, Nelder-Mead", np.searchsorted(thresholds, average, side="right")
    score = clone(regressor).fit(X, y.astype(float)).predict(X_new)
    yield "refitted, Nelder-Mead", np.searchsorted(thresholds, score, side="right")
    if "oprounder" in peers:
        rounder = peers["oprounder"].OptimizedRounder(K, n_trials=trials)
        rounder.fit(ours.oof_score_, y)
        yield "refitted, optimized-rounder", rounder.predict(score)
    yield "refitted, rounded", rounded(score, K)

    if classifier is None:
        return
    found, position = np.unique(y, return_inverse=True)
    p = clone(classifier).fit(X, position).predict_proba(X_new)
    yield "multi-class, argmax", found[p.argmax(axis=1)]
    yield "multi-class, expectation", rounded(p @ found, K)
    above = more_than(classifier, X, y, X_new, K)
    of_class = -np.diff(above, axis=1, prepend=1, append=0)
    yield "Frank & Hall, argmax", of_class.argmax(axis=1)
    yield "Frank & Hall, expectation", rounded(above.sum(axis=1), K)


def predict_together(
    regressors: Mapping[str, Any], peers: Peers, X: Array, y: Array, X_new: Array, K: int
) -> Iterator[tuple[str, Array]]:
    """The grades of the arms that are of no single booster."""
    ridge = make_pipeline(StandardScaler(), Ridge())
    members = [(name, Remembered(model)) for name, model in [*regressors.items(), ("ridge", ridge)]]
    grades = np.arange(K)
    yield "QWKClassifier, ridge", QWKClassifier(ridge, labels=grades).fit(X, y).predict(X_new)
    all_rounds = {"labels": grades, "early_stopping_rounds": None}
    yield "blend", QWKClassifier(members, **all_rounds).fit(X, y).predict(X_new)
    equal = QWKClassifier(members, weights=np.ones(len(members)), **all_rounds).fit(X, y)
    yield "blend, equal weights", equal.predict(X_new)
    if "mord" in peers:
        model = make_pipeline(StandardScaler(), peers["mord"].LogisticAT())
        found, position = np.unique(y, return_inverse=True)
        yield "mord LogisticAT", found[np.asarray(model.fit(X, position).predict(X_new))]
