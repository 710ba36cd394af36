import lightgbm as lgb
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import Pipeline

from gbdt_objectives import CalibratedClassifier


def run(X, y, X_test):
    model = lgb.LGBMClassifier(n_estimators=60, num_leaves=6, n_jobs=1, verbose=-1)
    pipeline = Pipeline([("sampler", SMOTE(random_state=42)), ("model", model)])
    return CalibratedClassifier(pipeline).fit(X, y).predict_proba(X_test)[:, 1]
