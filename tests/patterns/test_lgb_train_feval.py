"""lgb.train with feval, and weights for a deployment in which all grades are as frequent."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
from sklearn.metrics import cohen_kappa_score

from gbdt_objectives import extended_qwk_metric, qwk_objective
from gbdt_objectives.adapters.lightgbm import train
from tests.patterns.comparison import GRADES, SHARES, graded, kappa, same_or_better

PARAMS = {"learning_rate": 0.1, "num_leaves": 8, "verbose": -1, "num_threads": 1}
WEIGHT = {grade: 1 / (6 * share) for grade, share in zip(GRADES, SHARES, strict=True)}


def weights(y):
    return np.array([WEIGHT[grade] for grade in y])


def before(X, y, X_test):
    # measured by hand
    a = y.mean()
    b = y.var()

    def qwk_obj(preds, data):
        labels = data.get_label() + a
        preds = (preds + a).clip(1, 6)
        f = 0.5 * np.sum((preds - labels) ** 2)
        g = 0.5 * np.sum((preds - a) ** 2 + b)
        grad = len(labels) * ((preds - labels) / g - f * (preds - a) / g**2)
        return grad, np.ones(len(labels))

    def qwk_feval(preds, data):
        labels = np.rint(data.get_label() + a).astype(int)
        preds = np.rint((preds + a).clip(1, 6)).astype(int)
        return "qwk", cohen_kappa_score(labels, preds, weights="quadratic"), True

    w = weights(y)
    data = lgb.Dataset(X[:1000], y[:1000] - a, weight=w[:1000])
    valid = lgb.Dataset(X[1000:], y[1000:] - a, weight=w[1000:], reference=data)
    model = lgb.train(
        {**PARAMS, "objective": qwk_obj, "metric": "None"},
        data,
        300,
        valid_sets=[valid],
        feval=qwk_feval,
        callbacks=[lgb.early_stopping(25, verbose=False)],
    )
    return np.rint((model.predict(X_test) + a).clip(1, 6)).astype(int)


def after(X, y, X_test):
    w = weights(y)
    data = lgb.Dataset(X[:1000], y[:1000], weight=w[:1000])
    valid = lgb.Dataset(X[1000:], y[1000:], weight=w[1000:], reference=data)
    model = train(
        PARAMS,
        data,
        300,
        objective=qwk_objective(),
        evals=[(valid, "valid")],
        metric=extended_qwk_metric(),
        early_stopping_rounds=25,
    )
    return np.rint(model.predict(X_test).clip(1, 6)).astype(int)


def test_same_or_better() -> None:
    def score(way, seed):
        X, y, X_test, y_test = graded(seed)
        return kappa(y_test, way(X, y, X_test), weights(y_test))

    gain = same_or_better("lgb.train with feval", before, after, score)
    assert gain > 0.01  # weights count now
