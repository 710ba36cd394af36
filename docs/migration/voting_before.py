import lightgbm as lgb
import numpy as np
import xgboost as xgb
from sklearn.ensemble import VotingRegressor

a = 2.998
b = 1.092


def qwk_obj(y_true, y_pred):
    labels = y_true + a
    preds = (y_pred + a).clip(1, 6)
    f = 0.5 * np.sum((preds - labels) ** 2)
    g = 0.5 * np.sum((preds - a) ** 2 + b)
    grad = (preds - labels) / g - f * (preds - a) / g**2
    return grad * len(labels), np.ones(len(labels))


def build(objective):
    light = lgb.LGBMRegressor(
        objective=objective, n_estimators=100, num_leaves=8, n_jobs=1, verbose=-1
    )
    extreme = xgb.XGBRegressor(
        objective=objective, n_estimators=100, learning_rate=0.1, max_depth=3, n_jobs=1
    )
    return VotingRegressor([("lgb", light), ("xgb", extreme)], weights=[0.7, 0.3])


def run(X, y, X_test, objective=qwk_obj):
    model = build(objective)
    model.fit(X, y - a)
    preds = model.predict(X_test) + a
    final = np.zeros(len(preds), dtype=int)
    final[preds < 1.5] = 1
    final[(preds >= 1.5) & (preds < 2.5)] = 2
    final[(preds >= 2.5) & (preds < 3.5)] = 3
    final[(preds >= 3.5) & (preds < 4.5)] = 4
    final[(preds >= 4.5) & (preds < 5.5)] = 5
    final[preds >= 5.5] = 6
    return final
