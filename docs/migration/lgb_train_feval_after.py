import lightgbm as lgb
import numpy as np
from sklearn.model_selection import train_test_split

from gbdt_objectives import extended_qwk_metric, qwk_objective
from gbdt_objectives.adapters.lightgbm import train


def run(X, y, X_test, weight):
    X_tr, X_va, y_tr, y_va, w_tr, w_va = train_test_split(
        X, y, weight, test_size=0.25, stratify=y, random_state=0
    )
    data = lgb.Dataset(X_tr, y_tr, weight=w_tr)
    valid = lgb.Dataset(X_va, y_va, weight=w_va, reference=data)
    model = train(
        {"learning_rate": 0.05, "num_leaves": 8, "num_threads": 1, "verbose": -1},
        data,
        num_boost_round=400,
        objective=qwk_objective(),
        metric=extended_qwk_metric(),
        evals=[(valid, "valid")],
        early_stopping_rounds=50,
    )
    return np.rint(model.predict(X_test).clip(1, 6)).astype(int)
