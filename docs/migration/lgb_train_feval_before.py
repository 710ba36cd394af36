import lightgbm as lgb
import numpy as np
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import train_test_split


def run(X, y, X_test, weight):
    a = y.mean()
    b = y.var()

    def qwk_obj(preds, dtrain):
        labels = dtrain.get_label() + a
        preds = (preds + a).clip(1, 6)
        f = 0.5 * np.sum((preds - labels) ** 2)
        g = 0.5 * np.sum((preds - a) ** 2 + b)
        grad = (preds - labels) / g - f * (preds - a) / g**2
        return grad * len(labels), np.ones(len(labels))

    def feval_qwk(preds, data):
        labels = np.rint(data.get_label() + a)
        preds = np.rint((preds + a).clip(1, 6))
        return "qwk", cohen_kappa_score(labels, preds, weights="quadratic"), True

    X_tr, X_va, y_tr, y_va, w_tr, w_va = train_test_split(
        X, y, weight, test_size=0.25, stratify=y, random_state=0
    )
    train = lgb.Dataset(X_tr, y_tr - a, weight=w_tr)
    valid = lgb.Dataset(X_va, y_va - a, weight=w_va, reference=train)
    params = {
        "objective": qwk_obj,
        "metric": "None",
        "learning_rate": 0.05,
        "num_leaves": 8,
        "num_threads": 1,
        "verbose": -1,
    }
    model = lgb.train(
        params,
        train,
        num_boost_round=400,
        valid_sets=[valid],
        feval=feval_qwk,
        callbacks=[lgb.early_stopping(50, verbose=False)],
    )
    return np.rint((model.predict(X_test) + a).clip(1, 6)).astype(int)
