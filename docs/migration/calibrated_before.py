import lightgbm as lgb
from sklearn.calibration import CalibratedClassifierCV


def run(X, y, X_test, cv=5):
    model = lgb.LGBMClassifier(n_estimators=60, num_leaves=31, n_jobs=1, verbose=-1)
    calibrated = CalibratedClassifierCV(model, method="sigmoid", cv=cv)
    return calibrated.fit(X, y).predict_proba(X_test)[:, 1]
