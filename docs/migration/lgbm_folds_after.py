import lightgbm as lgb
import numpy as np
from sklearn.model_selection import StratifiedKFold

from gbdt_objectives import extended_qwk_metric, qwk_objective
from gbdt_objectives.adapters.lightgbm import LGBMRegressor


def run(X, y, X_test):
    skf = StratifiedKFold(n_splits=5, shuffle=True, random_state=42)
    predictions = []
    for fold, (train_idx, valid_idx) in enumerate(skf.split(X, y)):
        model = LGBMRegressor(
            objective=qwk_objective(),
            n_estimators=400,
            learning_rate=0.05,
            num_leaves=8,
            n_jobs=1,
            random_state=fold,
            verbose=-1,
        )
        model.fit(
            X[train_idx],
            y[train_idx],
            eval_set=[(X[valid_idx], y[valid_idx])],
            eval_metric=extended_qwk_metric(),
            callbacks=[lgb.early_stopping(50, verbose=False)],
        )
        predictions.append(model.predict(X_test))
    preds = np.mean(predictions, axis=0)
    return preds.clip(y.min(), y.max()).round().astype(int)
