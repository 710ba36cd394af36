"""XGBRegressor with an EarlyStopping callback."""

from __future__ import annotations

import numpy as np
import xgboost as xgb
from sklearn.metrics import cohen_kappa_score

from gbdt_objectives import extended_qwk_metric, qwk_objective
from gbdt_objectives.adapters.xgboost import XGBRegressor
from tests.patterns.comparison import graded, kappa, same_or_better

PARAMS = {"n_estimators": 300, "learning_rate": 0.1, "max_depth": 3, "n_jobs": 1}


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

    def qwk(y_true, y_pred):
        labels = np.rint(y_true + a).astype(int)
        preds = np.rint((y_pred + a).clip(1, 6)).astype(int)
        return cohen_kappa_score(labels, preds, weights="quadratic")

    stop = xgb.callback.EarlyStopping(rounds=25, metric_name="qwk", maximize=True, save_best=True)
    model = xgb.XGBRegressor(objective=qwk_obj, eval_metric=qwk, callbacks=[stop], **PARAMS)
    model.fit(X[:1000], y[:1000] - a, eval_set=[(X[1000:], y[1000:] - a)], verbose=False)
    return np.rint((model.predict(X_test) + a).clip(1, 6)).astype(int)


def after(X, y, X_test):
    stop = xgb.callback.EarlyStopping(rounds=25)
    metric = extended_qwk_metric()
    model = XGBRegressor(objective=qwk_objective(), eval_metric=metric, callbacks=[stop], **PARAMS)
    model.fit(X[:1000], y[:1000], eval_set=[(X[1000:], y[1000:])], verbose=False)
    return np.rint(model.predict(X_test).clip(1, 6)).astype(int)


def test_same_or_better() -> None:
    def score(way, seed):
        X, y, X_test, y_test = graded(seed)
        return kappa(y_test, way(X, y, X_test))

    same_or_better("XGBRegressor with EarlyStopping", before, after, score)
