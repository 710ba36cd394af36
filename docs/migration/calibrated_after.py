import lightgbm as lgb

from gbdt_objectives import CalibratedClassifier


def run(X, y, X_test, cv=5):
    model = lgb.LGBMClassifier(n_estimators=60, num_leaves=31, n_jobs=1, verbose=-1)
    calibrated = CalibratedClassifier(model, cv=cv)
    return calibrated.fit(X, y).predict_proba(X_test)[:, 1]
