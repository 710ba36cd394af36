import lightgbm as lgb
from sklearn.model_selection import cross_val_predict

from gbdt_objectives import apply_thresholds, optimize_thresholds


def run(X, y, X_test):
    model = lgb.LGBMClassifier(n_estimators=60, num_leaves=6, n_jobs=1, verbose=-1)
    p = cross_val_predict(model, X, y, cv=5, method="predict_proba")[:, 1]
    threshold = optimize_thresholds(y, p, metric="f1")
    return apply_thresholds(model.fit(X, y).predict_proba(X_test)[:, 1], threshold)
