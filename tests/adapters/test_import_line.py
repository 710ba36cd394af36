"""Code that uses our objects on the libraries' estimators: only the import line changes.

The library's own estimator starts at 0 or 0.5 and, of XGBoost, minimises kappa unless told.
"""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

from gbdt_objectives import extended_qwk_metric, quadratic_weighted_kappa, qwk_objective
from gbdt_objectives.adapters.lightgbm import LGBMRegressor
from gbdt_objectives.adapters.xgboost import XGBRegressor

pytestmark = pytest.mark.slow

SEEDS = (0, 1, 2)
GRADES = range(1, 7)


def graded(seed):
    """X, y, X_test, y_test: grades 1..6 that follow some of the features, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(11_500, 8))
    latent = X[:, 0] + X[:, 1] + X[:, 2] * (X[:, 3] > 0) + 1.2 * rng.normal(size=11_500)
    y = np.digitize(latent, np.quantile(latent, [0.26, 0.53, 0.75, 0.89, 0.97])) + 1
    return X[:1500], y[:1500], X[1500:], y[1500:]


def lightgbm_job(X, y, X_test, LGBMRegressor):
    model = LGBMRegressor(objective=qwk_objective(), metric="None", verbose=-1, n_jobs=1)
    model.fit(
        X[:1000],
        y[:1000],
        eval_set=[(X[1000:], y[1000:])],
        eval_metric=extended_qwk_metric().lightgbm,
        callbacks=[lgb.early_stopping(25, verbose=False)],
    )
    return model.predict(X_test)


def xgboost_job(X, y, X_test, XGBRegressor):
    metric = extended_qwk_metric()
    stop = xgb.callback.EarlyStopping(rounds=25, metric_name=metric.name, maximize=True)
    model = XGBRegressor(
        objective=qwk_objective(),
        eval_metric=metric.xgboost,
        callbacks=[stop],
        max_depth=3,
        n_jobs=1,
    )
    model.fit(X[:1000], y[:1000], eval_set=[(X[1000:], y[1000:])], verbose=False)
    return model.predict(X_test)


@pytest.mark.parametrize(
    ("job", "library", "ours"),
    [
        (lightgbm_job, lgb.LGBMRegressor, LGBMRegressor),
        (xgboost_job, xgb.XGBRegressor, XGBRegressor),
    ],
    ids=["lightgbm", "xgboost"],
)
def test_same_or_better(job, library, ours) -> None:
    scores = []
    for seed in SEEDS:
        X, y, X_test, y_test = graded(seed)
        y, y_test = y + 10, y_test + 10
        with pytest.warns(UserWarning, match="boosting starts at"):
            before = job(X, y, X_test, library)
        after = job(X, y, X_test, ours)
        scores.append(
            [
                quadratic_weighted_kappa(y_test - 10, np.rint(p - 10).clip(1, 6), labels=GRADES)
                for p in (before, after)
            ]
        )
    old, new = np.mean(scores, axis=0)
    print(f"\n{ours.__name__} by its import alone: {old:.4f} before, {new:.4f} after")
    assert new >= old - 0.002  # ways that are worth the same stop at other rounds
    assert new > 0.65
