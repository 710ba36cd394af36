import lightgbm as lgb

from gbdt_objectives import DownsampledClassifier


def train(X, y):
    model = lgb.LGBMClassifier(n_estimators=60, num_leaves=6, n_jobs=1, verbose=-1)
    return DownsampledClassifier(model, 0.05, n_bags=1, random_state=42).fit(X, y)


def run(X, y, X_test):
    return train(X, y).predict_proba(X_test)[:, 1]
