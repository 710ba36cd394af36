from sklearn.ensemble import VotingRegressor
from sklearn.model_selection import cross_val_predict

from gbdt_objectives import apply_thresholds, optimize_thresholds, qwk_objective
from gbdt_objectives.adapters.lightgbm import LGBMRegressor
from gbdt_objectives.adapters.xgboost import XGBRegressor

qwk = qwk_objective()


def build(objective):
    light = LGBMRegressor(objective=objective, n_estimators=100, num_leaves=8, n_jobs=1, verbose=-1)
    extreme = XGBRegressor(
        objective=objective, n_estimators=100, learning_rate=0.1, max_depth=3, n_jobs=1
    )
    return VotingRegressor([("lgb", light), ("xgb", extreme)], weights=[0.7, 0.3])


def run(X, y, X_test, objective=qwk):
    model = build(objective)
    thresholds = optimize_thresholds(y, cross_val_predict(model, X, y, cv=5))
    return apply_thresholds(model.fit(X, y).predict(X_test), thresholds)
