import lightgbm as lgb
import numpy as np
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import StratifiedKFold

a = 2.998
b = 1.092


def quadratic_weighted_kappa(y_true, y_pred):
    y_true = (y_true + a).round()
    y_pred = (y_pred + a).clip(1, 6).round()
    qwk = cohen_kappa_score(y_true, y_pred, weights="quadratic")
    return "QWK", qwk, True


def qwk_obj(y_true, y_pred):
    labels = y_true + a
    preds = y_pred + a
    preds = preds.clip(1, 6)
    f = 1 / 2 * np.sum((preds - labels) ** 2)
    g = 1 / 2 * np.sum((preds - a) ** 2 + b)
    df = preds - labels
    dg = preds - a
    grad = (df / g - f * dg / g**2) * len(labels)
    hess = np.ones(len(labels))
    return grad, hess


def run(X, y, X_test):
    skf = StratifiedKFold(n_splits=5, shuffle=True, random_state=42)
    predictions = []
    for fold, (train_idx, valid_idx) in enumerate(skf.split(X, y)):
        X_train, X_valid = X[train_idx], X[valid_idx]
        y_train, y_valid = y[train_idx] - a, y[valid_idx] - a
        model = lgb.LGBMRegressor(
            objective=qwk_obj,
            metric="None",
            n_estimators=400,
            learning_rate=0.05,
            num_leaves=8,
            n_jobs=1,
            random_state=fold,
            verbose=-1,
        )
        model.fit(
            X_train,
            y_train,
            eval_set=[(X_valid, y_valid)],
            eval_metric=quadratic_weighted_kappa,
            callbacks=[lgb.early_stopping(50, verbose=False)],
        )
        predictions.append(model.predict(X_test) + a)
    preds = np.mean(predictions, axis=0)
    return preds.clip(1, 6).round().astype(int)
