import lightgbm as lgb
from imblearn.pipeline import Pipeline
from imblearn.under_sampling import RandomUnderSampler


def run(X, y, X_test):
    model = lgb.LGBMClassifier(n_estimators=60, num_leaves=6, n_jobs=1, verbose=-1)
    pipeline = Pipeline([("sampler", RandomUnderSampler(random_state=42)), ("model", model)])
    return pipeline.fit(X, y).predict_proba(X_test)[:, 1]
