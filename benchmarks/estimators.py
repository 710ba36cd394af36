"""Cost of QWKClassifier beyond the training of its boosters, as ratios measured in one run.

    python -m benchmarks.estimators [--quick]

Both sides train the same five boosters on the same folds with 100 rounds, one thread;
QWKClassifier also predicts, finds the stretch and places thresholds. Three regressors, LightGBM,
XGBoost and an XGBoost of another depth, are also blended. Processor time.

HistGradientBoosting of scikit-learn with an objective is compared with its own loss: 30 rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import StratifiedKFold

from benchmarks._timing import in_turns, quick_run, report
from gbdt_objectives import QWKClassifier, qwk_objective, weighted_logloss_objective
from gbdt_objectives.adapters import (
    lightgbm as lightgbm_adapter,
    sklearn as sklearn_adapter,
    xgboost as xgboost_adapter,
)

PLAIN = {"LightGBM": lgb.LGBMRegressor(verbose=-1), "XGBoost": xgb.XGBRegressor()}
DROP_IN = {
    "LightGBM": lightgbm_adapter.LGBMRegressor(verbose=-1),
    "XGBoost": xgboost_adapter.XGBRegressor(),
}
CUTS = [-1.6, -0.7, 0.1, 0.8, 1.4]
ALL_ROUNDS: dict[str, Any] = {"early_stopping_rounds": None}  # as the boosters alone train


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten features, of which three tell of six grades."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10))
    latent = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.7 * rng.standard_normal(n)
    return X, np.searchsorted(CUTS, latent / 1.3)


def train_boosters(model: Any, X: np.ndarray, y: np.ndarray, K: int | None) -> None:
    """Five models on QWKClassifier's folds; with K on the QWK objective."""
    for train, _ in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        own = clone(model)
        if K is not None:
            own.set_params(objective=qwk_objective(y[train], label_range=(0, K - 1)))
        own.fit(X[train], y[train])


def compared(booster: str, objective: str | None, n: int) -> dict[str, Callable[[], Any]]:
    """QWKClassifier, and its boosters alone."""
    X, y = data(n)
    plain = clone(PLAIN[booster]).set_params(n_jobs=1)
    alone = clone(PLAIN[booster] if objective is None else DROP_IN[booster]).set_params(n_jobs=1)
    K = None if objective is None else len(CUTS) + 1
    return {
        "whole": lambda: QWKClassifier(plain, objective=objective, **ALL_ROUNDS).fit(X, y),
        "boosters": lambda: train_boosters(alone, X, y, K),
    }


def blended(n: int) -> dict[str, Callable[[], Any]]:
    """A QWKClassifier of three regressors, and the training of their fifteen models."""
    X, y = data(n)
    members = [
        ("lgb", lgb.LGBMRegressor(verbose=-1, n_jobs=1)),
        ("xgb", xgb.XGBRegressor(n_jobs=1)),
        ("shallow", xgb.XGBRegressor(max_depth=3, n_jobs=1)),
    ]

    def train_all() -> None:
        for _, model in members:
            train_boosters(model, X, y, None)

    return {"whole": lambda: QWKClassifier(members, **ALL_ROUNDS).fit(X, y), "boosters": train_all}


def stopped(booster: str, n: int) -> dict[str, Callable[[], Any]]:
    """Folds that look for one number of rounds but train them all, and folds that do not look."""
    X, y = data(n)
    slow = clone(PLAIN[booster]).set_params(n_jobs=1, learning_rate=0.02)
    return {
        "auto": lambda: QWKClassifier(slow).fit(X, y),
        "all": lambda: QWKClassifier(slow, **ALL_ROUNDS).fit(X, y),
    }


def histograms(n: int, classify: bool) -> dict[str, Callable[[], Any]]:
    """HistGradientBoosting on our objective, and on its own loss of the same link."""
    X, grades = data(n)
    y = (grades > 2).astype(int) if classify else grades
    own = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    given = {"max_iter": 30, "early_stopping": False, "random_state": 0}
    objective = weighted_logloss_objective(1.0) if classify else qwk_objective()
    ours = getattr(sklearn_adapter, own.__name__)
    return {
        "ours": lambda: ours(objective=objective, **given).fit(X, y),
        "own": lambda: own(**given).fit(X, y),
    }


def main() -> None:
    quick = quick_run(__doc__, "numpy", "scikit-learn", "lightgbm", "xgboost")
    n, turns = (2_000, 1) if quick else (20_000, 5)
    for booster in PLAIN:
        for objective in ("qwk", None):
            seconds = in_turns(compared(booster, objective, n), turns, 1, time.process_time)
            name = f"QWKClassifier, {booster}, objective={objective!r} / its 5 boosters"
            report(name, seconds["whole"] / seconds["boosters"], 1.1)
    for booster in PLAIN:
        seconds = in_turns(stopped(booster, n), turns, 1, time.process_time)
        name = f"QWKClassifier, {booster}, early_stopping_rounds='auto', none stops / None"
        report(name, seconds["auto"] / seconds["all"], 1.2)
    seconds = in_turns(blended(n), turns, 1, time.process_time)
    name = "QWKClassifier, three regressors / their 15 models"
    report(name, seconds["whole"] / seconds["boosters"], 1.1)
    for what, classify, limit in (
        ("QWK objective / squared error", False, 1.7), ("log loss / its own", True, 1.05)
    ):  # fmt: skip
        seconds = in_turns(histograms(10 * n, classify), turns, 1, time.process_time)
        report(f"HistGradientBoosting, {what}", seconds["ours"] / seconds["own"], limit)


if __name__ == "__main__":
    main()
