import numpy as np
from sklearn.model_selection import train_test_split

from gbdt_objectives import extended_qwk_metric, qwk_objective
from gbdt_objectives.adapters.xgboost import XGBRegressor


def run(X, y, X_test):
    X_tr, X_va, y_tr, y_va = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    model = XGBRegressor(
        objective=qwk_objective(),
        eval_metric=extended_qwk_metric(),
        early_stopping_rounds=50,
        n_estimators=400,
        learning_rate=0.05,
        max_depth=3,
        n_jobs=1,
    )
    model.fit(X_tr, y_tr, eval_set=[(X_va, y_va)], verbose=False)
    return np.rint(model.predict(X_test).clip(1, 6)).astype(int)
