"""LGBMRegressor, a model for each fold, predictions averaged."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import StratifiedKFold

from gbdt_objectives import extended_qwk_metric, qwk_objective
from gbdt_objectives.adapters.lightgbm import LGBMRegressor
from tests.patterns.comparison import graded, kappa, same_or_better

PARAMS = {"n_estimators": 150, "learning_rate": 0.1, "num_leaves": 8, "verbose": -1, "n_jobs": 1}
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def before(X, y, X_test):
    # constants of another data set
    a = 2.998
    b = 1.092

    def qwk_obj(y_true, y_pred):
        labels = y_true + a
        preds = (y_pred + a).clip(1, 6)
        f = 0.5 * np.sum((preds - labels) ** 2)
        g = 0.5 * np.sum((preds - a) ** 2 + b)
        grad = len(labels) * ((preds - labels) / g - f * (preds - a) / g**2)
        return grad, np.ones(len(labels))

    def qwk_eval(y_true, y_pred):
        labels = np.rint(y_true + a).astype(int)
        preds = np.rint((y_pred + a).clip(1, 6)).astype(int)
        return "qwk", cohen_kappa_score(labels, preds, weights="quadratic"), True

    test = np.zeros(len(X_test))
    for train, valid in FOLDS.split(X, y):
        model = lgb.LGBMRegressor(objective=qwk_obj, metric="None", **PARAMS)
        model.fit(
            X[train],
            y[train] - a,
            eval_set=[(X[valid], y[valid] - a)],
            eval_metric=qwk_eval,
            callbacks=[lgb.early_stopping(25, verbose=False)],
        )
        test += (model.predict(X_test) + a) / 3
    return np.rint(test.clip(1, 6)).astype(int)


def after(X, y, X_test):
    test = np.zeros(len(X_test))
    for train, valid in FOLDS.split(X, y):
        model = LGBMRegressor(objective=qwk_objective(), **PARAMS)
        model.fit(
            X[train],
            y[train],
            eval_set=[(X[valid], y[valid])],
            eval_metric=extended_qwk_metric(),
            callbacks=[lgb.early_stopping(25, verbose=False)],
        )
        test += model.predict(X_test) / 3
    return np.rint(test.clip(1, 6)).astype(int)


def test_same_or_better() -> None:
    def score(way, seed):
        X, y, X_test, y_test = graded(seed)
        return kappa(y_test, way(X, y, X_test))

    same_or_better("LGBMRegressor with folds", before, after, score)
