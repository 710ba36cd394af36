"""VotingRegressor of both libraries, cut at the half-integers."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from sklearn.ensemble import VotingRegressor
from sklearn.model_selection import cross_val_predict

from gbdt_objectives import apply_thresholds, optimize_thresholds, qwk_objective
from gbdt_objectives.adapters.lightgbm import LGBMRegressor
from gbdt_objectives.adapters.xgboost import XGBRegressor
from tests.patterns.comparison import GRADES, graded, kappa, same_or_better

LGBM = {"n_estimators": 60, "num_leaves": 8, "verbose": -1, "n_jobs": 1}
XGB = {"n_estimators": 60, "learning_rate": 0.1, "max_depth": 3, "n_jobs": 1}


def before(X, y, X_test):
    a = 2.998
    b = 1.092

    def qwk_obj(y_true, y_pred):
        labels = y_true + a
        preds = (y_pred + a).clip(1, 6)
        f = 0.5 * np.sum((preds - labels) ** 2)
        g = 0.5 * np.sum((preds - a) ** 2 + b)
        grad = len(labels) * ((preds - labels) / g - f * (preds - a) / g**2)
        return grad, np.ones(len(labels))

    light = lgb.LGBMRegressor(objective=qwk_obj, **LGBM)
    extreme = xgb.XGBRegressor(objective=qwk_obj, **XGB)
    model = VotingRegressor([("light", light), ("extreme", extreme)], weights=[0.6, 0.4])
    model.fit(X, y - a)
    score = model.predict(X_test) + a
    grade = np.zeros(len(score), dtype=int)
    grade[score < 1.5] = 1
    grade[(score >= 1.5) & (score < 2.5)] = 2
    grade[(score >= 2.5) & (score < 3.5)] = 3
    grade[(score >= 3.5) & (score < 4.5)] = 4
    grade[(score >= 4.5) & (score < 5.5)] = 5
    grade[score >= 5.5] = 6
    return grade


def after(X, y, X_test):
    light = LGBMRegressor(objective=qwk_objective(), **LGBM)
    extreme = XGBRegressor(objective=qwk_objective(), **XGB)
    model = VotingRegressor([("light", light), ("extreme", extreme)], weights=[0.6, 0.4])
    thresholds = optimize_thresholds(y, cross_val_predict(model, X, y), labels=GRADES)
    model.fit(X, y)
    return apply_thresholds(model.predict(X_test), thresholds, labels=GRADES)


def test_same_or_better() -> None:
    def score(way, seed):
        X, y, X_test, y_test = graded(seed)
        return kappa(y_test, way(X, y, X_test))

    same_or_better("VotingRegressor", before, after, score)
