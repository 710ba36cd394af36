"""Training on labels that are still arriving: final probabilities, from both boosters."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from gbdt_objectives.experimental import delay_distribution, delayed_logloss_objective
from tests.adapters.library import LGB, XGB, Library, both, needs_routing


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
def test_weights_are_copies_in_training(lib: Library, clicks) -> None:
    X, _, y, *_ = clicks
    X, y, F = X[:3000].round(1), y[:3000], estimated(clicks)[:3000]  # copies leave bins as they are
    w = np.random.default_rng(11).integers(1, 4, 3000)
    at = np.repeat(np.arange(3000), w)
    params = {**lib.params} | ({"min_data_in_leaf": 0, "min_data_in_bin": 1} if lib is LGB else {})
    weighted = lib.train(params, lib.data(X, y, w), 5, objective=delayed_logloss_objective(F))
    copies = lib.train(
        params, lib.data(X[at], y[at]), 5, objective=delayed_logloss_objective(F[at])
    )
    # sums of float32 gradients
    raw = [lib.predict(booster, X, raw=True) for booster in (weighted, copies)]
    np.testing.assert_allclose(raw[0], raw[1], atol=1e-4)


@both
def test_cv_splits_it_with_the_rows(lib: Library, clicks) -> None:
    """By hand: an objective for the training rows of each fold."""
    X, _, y, *_ = clicks
    X, y, F = X[:3000], y[:3000], estimated(clicks)[:3000]
    metric, data = go.weighted_logloss_metric(1), lib.data(X, y)
    folds = [(np.sort(a), b) for a, b in KFold(3, shuffle=True, random_state=0).split(X)]
    values = []
    for train, test in folds:
        parts = [lib.data(X[rows], y[rows], reference=data) for rows in (train, test)]
        booster = lib.train(lib.params, parts[0], 4, objective=delayed_logloss_objective(F[train]))
        values.append(metric(y[test], lib.predict(booster, X[test], raw=True)))
    given: dict[str, Any] = {"objective": delayed_logloss_objective(F), "metric": metric}
    if lib is XGB:
        history = xgboost_adapter.cv(lib.params, data, 4, as_pandas=False, folds=folds, **given)
        found = history["test-weighted_logloss-mean"]
    else:
        history = lightgbm_adapter.cv(lib.params, data, 4, folds=folds, **given)
        found = history["valid weighted_logloss-mean"]
    assert found[-1] == pytest.approx(np.mean(values), rel=1e-6)


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


@pytest.mark.slow
@needs_routing
@both
def test_scikit_learn_splits_it(lib: Library, clicks) -> None:
    X, _, y, *_ = clicks
    X, y, F = X[:3000], y[:3000], estimated(clicks)[:3000]
    model, folds = classifier(lib, delayed_logloss_objective()), KFold(3)
    expected = np.empty(3000)
    for train, test in folds.split(X):
        held = classifier(lib, delayed_logloss_objective(F[train])).fit(X[train], y[train])
        expected[test] = held.predict_proba(X[test])[:, 1]
    found = cross_val_predict(
        model, X, y, cv=folds, params={"arrived": F}, method="predict_proba"
    )[:, 1]  # fmt: skip
    np.testing.assert_array_equal(found, expected)
    grid = GridSearchCV(model, {"learning_rate": [0.1, 0.3]}, cv=folds, scoring="neg_log_loss")
    assert np.isfinite(grid.fit(X, y, arrived=F).cv_results_["mean_test_score"]).all()
    bound = classifier(lib, delayed_logloss_objective(F))
    with pytest.raises(ValueError, match=r"arrived has 3000: .*delayed_logloss_objective\(\)"):
        cross_val_predict(bound, X, y, cv=folds)


@both
def test_a_saved_model_predicts_the_same(lib: Library, clicks, tmp_path) -> None:
    X, _, y, *_ = clicks
    objective = delayed_logloss_objective(estimated(clicks))
    booster = lib.train(lib.params, lib.data(X, y), 5, objective=objective)
    found, path = lib.predict(booster, X), str(tmp_path / "model.json")
    booster.save_model(path)
    loaded = xgb.Booster(model_file=path) if lib is XGB else lgb.Booster(model_file=path)
    np.testing.assert_array_equal(lib.predict(loaded, X), found)
    assert (found > 0).all()
    assert (found < 1).all()


@both
def test_training_stops_on_old_rows(lib: Library, clicks) -> None:
    X, _, y, age, _ = clicks
    old = np.flatnonzero(age >= 30)[::3]
    rest = np.setdiff1d(np.arange(len(y)), old)
    objective = delayed_logloss_objective(estimated(clicks)[rest])
    data = lib.data(X[rest], y[rest])
    booster = lib.train(
        {**lib.params, "learning_rate": 0.3}, data, 200, objective=objective,
        metric=go.weighted_logloss_metric(1), early_stopping_rounds=10,
        evals=[(lib.data(X[old], y[old], reference=data), "old")],
    )  # fmt: skip
    assert 5 < lib.rounds(booster) < 200
