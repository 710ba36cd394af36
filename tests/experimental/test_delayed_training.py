"""Training on labels that are still arriving: final probabilities, from both boosters."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from gbdt_objectives.experimental import delay_distribution, delayed_logloss_objective
from tests.adapters.library import XGB, Library, both


@pytest.fixture(scope="module")
def clicks():
    """X, final probabilities, seen labels, ages and delays of 40,000 rows; labels arrive within 30
    days, 10 in the mean, and half of the rows are younger than 20."""
    rng = np.random.default_rng(10)
    n = 40_000
    X = rng.random((n, 3))
    p = expit(3 * X[:, 0] + np.sin(6 * X[:, 1]) - 4.0)
    age = rng.uniform(0, 40, n)
    delay = -10 * np.log1p(rng.random(n) * np.expm1(-3.0))
    seen = (rng.random(n) < p) & (delay <= age)
    return X, p, seen.astype(int), age, delay


def estimated(clicks) -> np.ndarray:
    """F of each row, estimated from the labels that have arrived."""
    _, _, y, age, delay = clicks
    return delay_distribution(age[y == 1], delay[y == 1], horizon=30)(age)


@both
def test_predictions_are_final_probabilities(lib: Library, clicks) -> None:
    X, p, y, *_ = clicks
    data = lib.data(X, y)
    ours = lib.train(lib.params, data, 40, objective=delayed_logloss_objective(estimated(clicks)))
    naive = lib.train(lib.params, lib.data(X, y), 40, objective=go.weighted_logloss_objective(1))
    found, low = lib.predict(ours, X), lib.predict(naive, X)
    # 3,300 labels have arrived: a noise of 2 %, of 3 to 4 % in parts, and that of F as much
    assert found.mean() == pytest.approx(p.mean(), rel=0.06)
    assert low.mean() < 0.85 * p.mean()
    likely = X[:, 0] > 0.7
    for part in (likely, ~likely):
        assert found[part].mean() == pytest.approx(p[part].mean(), rel=0.1)

    def excess(q: Any) -> float:
        return float((p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean())

    assert excess(found) < 0.7 * excess(low)


@both
def test_positive_and_unlabelled_rows_of_a_known_share_give_probabilities(lib: Library) -> None:
    """Label 1 is seen in a known share of the positives, at random: F is that share. Dividing the
    probability of being labelled by it (Elkan & Noto 2008) is the other way."""
    rng, share = np.random.default_rng(7), 0.4
    X = rng.random((40_000, 3))
    p = expit(6 * X[:, 0] + np.sin(6 * X[:, 1]) - 4.0)
    labelled = ((rng.random(len(p)) < p) & (rng.random(len(p)) < share)).astype(int)
    arrived = np.full(len(p), share)
    ours = lib.train(
        lib.params, lib.data(X, labelled), 80, objective=delayed_logloss_objective(arrived)
    )
    plain = lib.train(
        lib.params, lib.data(X, labelled), 80, objective=go.weighted_logloss_objective(1)
    )

    def excess(q: Any) -> float:
        q = q.clip(1e-6, 1 - 1e-6)
        return float((p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean())

    found, divided = lib.predict(ours, X), lib.predict(plain, X) / share
    assert found.mean() == pytest.approx(p.mean(), rel=0.03)  # 6,000 labels: a noise of 1.3 %
    assert found.max() < 1 < divided.max()
    assert excess(found) < 0.7 * excess(divided)


def classifier(lib: Library, objective: go.Objective) -> Any:
    if lib is XGB:
        return xgboost_adapter.XGBClassifier(
            n_estimators=20, max_depth=3, n_jobs=1, objective=objective
        )
    return lightgbm_adapter.LGBMClassifier(
        n_estimators=20, num_leaves=7, n_jobs=1, verbose=-1, objective=objective
    )


@pytest.mark.slow
@both
def test_drop_in_estimators_get_it_in_fit_or_hold_it(lib: Library, clicks) -> None:
    X, p, y, *_ = clicks
    F = estimated(clicks)
    model = clone(classifier(lib, delayed_logloss_objective()))
    fitted = copy.deepcopy(model).fit(X, y, arrived=F)
    held = classifier(lib, delayed_logloss_objective(F)).fit(X, y)
    found = fitted.predict_proba(X)
    np.testing.assert_array_equal(found, held.predict_proba(X))
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)
    assert found[:, 1].mean() == pytest.approx(p.mean(), rel=0.06)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), found)
    assert len(pickle.dumps(fitted)) < F.nbytes / 2  # it does not keep the rows
    with pytest.raises(ValueError, match="needs arrived of each row, but has only its name"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=r"arrived must be in \[0, 1\]"):
        model.fit(X, y, arrived=2 * F)
    with pytest.raises(ValueError, match="arrived must be above 0 where y_true is 1"):
        model.fit(X, y, arrived=np.where(y == 1, 0, F))
