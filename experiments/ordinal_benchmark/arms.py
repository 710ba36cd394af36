"""What is compared: from rows to train on to the grades predicted for new rows.

Symbols: X features (n, d), y grades 0..K-1 (n,).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from experiments import _common
from experiments._common import Array
from gbdt_objectives import QWKClassifier

BOOSTERS: dict[str, tuple[Any, Any]] = {
    "LightGBM": (LGBMRegressor(n_jobs=1, verbose=-1), LGBMClassifier(n_jobs=1, verbose=-1)),
    "XGBoost": (XGBRegressor(n_jobs=1), XGBClassifier(n_jobs=1)),
}
"""Regressor and classifier with the booster's default parameters."""

PEERS = ("mord", "oprounder")
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


def tuned(booster: str, X: Array, y: Array, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the least squared error on rows held out once, rounds by early stopping."""
    how = settings["tuning"]
    X, X_held, y, y_held = train_test_split(
        X, y, test_size=how["held_out"], stratify=y, random_state=settings["seed"]
    )
    grid = ParameterGrid({"learning_rate": how["learning_rate"], **how["size"][booster]})
    found = []
    for parameters in grid:
        model = clone(BOOSTERS[booster][0]).set_params(n_estimators=how["rounds"], **parameters)
        if booster == "LightGBM":
            stop = early_stopping(how["patience"], verbose=False)
            model.fit(X, y, eval_set=[(X_held, y_held)], callbacks=[stop])
            rounds = model.best_iteration_
        else:
            model.set_params(early_stopping_rounds=how["patience"])
            model.fit(X, y, eval_set=[(X_held, y_held)], verbose=False)
            rounds = model.best_iteration + 1
        loss = float(np.mean((y_held - model.predict(X_held)) ** 2))
        found.append((loss, {**parameters, "n_estimators": int(rounds)}))
    return min(found, key=lambda each: each[0])[1]


def rounded(score: Array, K: int) -> Array:
    """The nearest grade."""
    return np.clip(np.floor(score + 0.5), 0, K - 1).astype(int)


def more_than(classifier: Any, X: Array, y: Array, X_new: Array, K: int) -> Array:
    """P(y > k) for k = 0..K-2 by K-1 binary classifiers (Frank & Hall 2001), (n_new, K-1)."""
    columns = [
        clone(classifier).fit(X, (y > k).astype(int)).predict_proba(X_new)[:, 1]
        for k in range(K - 1)
    ]
    return np.column_stack(columns)


def estimators(regressor: Any, K: int) -> dict[str, QWKClassifier]:
    """QWKClassifier with its defaults, with squared error, and with its former defaults."""
    grades = np.arange(K)
    former = {"method": "plugin", "cv": StratifiedKFold(5), "ensemble": False}
    return {
        "QWKClassifier": QWKClassifier(regressor, objective="qwk", labels=grades),
        "QWKClassifier, squared error": QWKClassifier(regressor, objective=None, labels=grades),
        "QWKClassifier, as it was": QWKClassifier(
            regressor, objective="qwk", labels=grades, **former
        ),
    }


def predict_all(
    booster: str,
    parameters: Mapping[str, Any],
    peers: Peers,
    trials: int,
    X: Array,
    y: Array,
    X_new: Array,
) -> dict[str, Array]:
    """The grades that each arm predicts for new rows; ``trials`` are optimized-rounder's."""
    K = int(y.max()) + 1
    regressor, classifier = (clone(model).set_params(**parameters) for model in BOOSTERS[booster])
    found, out_of_fold = {}, np.empty(0)
    for name, estimator in estimators(regressor, K).items():
        found[name] = estimator.fit(X, y).predict(X_new)
        if name == "QWKClassifier, squared error":
            out_of_fold = estimator.oof_score_  # of plain regressors on shuffled folds

    score = clone(regressor).fit(X, y).predict(X_new)
    found["squared error, rounded"] = rounded(score, K)
    thresholds = _common.fit_thresholds(y, out_of_fold, (0, K - 1), "nelder-mead")
    found["squared error, Nelder-Mead"] = np.searchsorted(thresholds, score, side="right")
    if "oprounder" in peers:
        rounder = peers["oprounder"].OptimizedRounder(K, n_trials=trials)
        rounder.fit(out_of_fold, y)
        found["squared error, optimized-rounder"] = rounder.predict(score)

    p = clone(classifier).fit(X, y).predict_proba(X_new)
    found["multi-class, argmax"] = p.argmax(axis=1)
    found["multi-class, expectation"] = rounded(p @ np.arange(K), K)
    above = more_than(classifier, X, y, X_new, K)
    of_class = -np.diff(above, axis=1, prepend=1, append=0)
    found["Frank & Hall, argmax"] = of_class.argmax(axis=1)
    found["Frank & Hall, expectation"] = rounded(above.sum(axis=1), K)
    return found


def predict_linear(peers: Peers, X: Array, y: Array, X_new: Array) -> dict[str, Array]:
    """mord's ordinal logistic regression on standardised features, if it is there."""
    if "mord" not in peers:
        return {}
    model = make_pipeline(StandardScaler(), peers["mord"].LogisticAT())
    return {"mord LogisticAT": np.asarray(model.fit(X, y).predict(X_new))}
