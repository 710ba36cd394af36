"""Mean of the folds' models, thresholds tuned on out-of-fold scores."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
from scipy.optimize import minimize
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import StratifiedKFold

from gbdt_objectives import QWKClassifier
from tests.patterns.comparison import graded, kappa, same_or_better

PARAMS = {"n_estimators": 60, "num_leaves": 8, "verbose": -1, "n_jobs": 1}
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


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

    class OptimizedRounder:
        def fit(self, score, y):
            def loss(cuts):
                grades = np.digitize(score, np.sort(cuts)) + 1
                return -cohen_kappa_score(y, grades, weights="quadratic")

            start = [1.5, 2.5, 3.5, 4.5, 5.5]
            self.cuts = np.sort(minimize(loss, start, method="nelder-mead").x)
            return self

        def predict(self, score):
            return np.digitize(score, self.cuts) + 1

    oof, test = np.zeros(len(X)), np.zeros(len(X_test))
    for train, valid in FOLDS.split(X, y):
        model = lgb.LGBMRegressor(objective=qwk_obj, **PARAMS)
        model.fit(X[train], y[train] - a)
        oof[valid] = model.predict(X[valid]) + a
        test += (model.predict(X_test) + a) / 5
    return OptimizedRounder().fit(oof, y).predict(test)


def after(X, y, X_test):
    # thresholds of single models fit averaged scores, too, once these are stretched
    model = QWKClassifier(lgb.LGBMRegressor(**PARAMS), cv=FOLDS, ensemble=True)
    return model.fit(X, y).predict(X_test)


def test_same_or_better() -> None:
    def score(way, seed):
        X, y, X_test, y_test = graded(seed)
        return kappa(y_test, way(X, y, X_test))

    same_or_better("mean of folds, tuned thresholds", before, after, score)
