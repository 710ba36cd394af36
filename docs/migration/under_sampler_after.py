import lightgbm as lgb
from imblearn.pipeline import Pipeline
from imblearn.under_sampling import RandomUnderSampler

from gbdt_objectives import correct_probability
from gbdt_objectives.priors import measured_keep_rates


def run(X, y, X_test):
    model = lgb.LGBMClassifier(n_estimators=60, num_leaves=6, n_jobs=1, verbose=-1)
    pipeline = Pipeline([("sampler", RandomUnderSampler(random_state=42)), ("model", model)])
    p = pipeline.fit(X, y).predict_proba(X_test)[:, 1]
    rates = measured_keep_rates(y, y[pipeline["sampler"].sample_indices_])
    return correct_probability(p, negative_keep_rate=rates[0])
