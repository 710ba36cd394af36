"""Code that uses our objects on the libraries' estimators: only the import line changes.

The library's own estimator starts at 0 or 0.5 and, of XGBoost, minimises kappa unless told.
"""

from __future__ import annotations

import numpy as np
import pytest
import xgboost as xgb

from gbdt_objectives import extended_qwk_metric, quadratic_weighted_kappa, qwk_objective
from tests.adapters.library import XGB, Library, both

pytestmark = pytest.mark.slow

SEEDS = (0, 1, 2)
METRIC = extended_qwk_metric()


def graded(seed):
    """X, y, X_test, y_test: grades 11..16 that follow some of the features, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(11_500, 8))
    latent = X[:, 0] + X[:, 1] + X[:, 2] * (X[:, 3] > 0) + 1.2 * rng.normal(size=11_500)
    y = np.digitize(latent, np.quantile(latent, [0.26, 0.53, 0.75, 0.89, 0.97])) + 11
    return X[:1500], y[:1500], X[1500:], y[1500:]


def job(lib: Library, kind, X, y):
    """What a user wrote for the estimator of a library."""
    metric = getattr(METRIC, lib.name)
    if lib is XGB:
        told = xgb.callback.EarlyStopping(rounds=25, metric_name=METRIC.name, maximize=True)
        model = kind(objective=qwk_objective(), callbacks=[told], max_depth=3, n_jobs=1)
        return lib.fit(model, X[:1000], y[:1000], [(X[1000:], y[1000:])], metric)
    model = kind(objective=qwk_objective(), metric="None", verbose=-1, n_jobs=1)
    held_out = [(X[1000:], y[1000:])]
    return lib.fit(model, X[:1000], y[:1000], held_out, metric, callbacks=[lib.stop(25)])


@both
@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_same_or_better(lib: Library) -> None:
    scores = []
    for seed in SEEDS:
        X, y, X_test, y_test = graded(seed)
        with pytest.warns(UserWarning, match="boosting starts at"):
            before = job(lib, lib.kind(plain=True), X, y)
        grades = [np.rint(one.predict(X_test)).clip(11, 16) for one in
                  (before, job(lib, lib.kind(), X, y))]  # fmt: skip
        scores.append([quadratic_weighted_kappa(y_test, found, labels=range(11, 17))
                       for found in grades])  # fmt: skip
    old, new = np.mean(scores, axis=0)
    print(f"\n{lib.kind().__name__} by its import alone: {old:.4f} before, {new:.4f} after")
    assert new >= old - 0.002  # ways that are worth the same stop at other rounds
    assert new > 0.65
