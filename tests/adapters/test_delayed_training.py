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
from gbdt_objectives.objectives import delayed_logloss_objective
from gbdt_objectives.priors import delay_distribution
from tests.adapters.library import Library, both


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


def classifier(lib: Library, objective: go.Objective) -> Any:
    return lib.make(True, objective=objective, n_estimators=20)


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
    assert found[:, 1].mean() == pytest.approx(p.mean(), rel=0.06)
    assert len(pickle.dumps(fitted)) < F.nbytes / 2  # it does not keep the rows
    with pytest.raises(ValueError, match="needs arrived of each row, but has only its name"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=r"arrived must be in \[0, 1\]"):
        model.fit(X, y, arrived=2 * F)
    with pytest.raises(ValueError, match="arrived must be above 0 where y_true is 1"):
        model.fit(X, y, arrived=np.where(y == 1, 0, F))
    bound = classifier(lib, delayed_logloss_objective(F))
    with pytest.raises(ValueError, match=r"arrived has 40000: .*delayed_logloss_objective\(\)"):
        bound.fit(X[:3000], y[:3000])
