"""A stranger's door: what it trains is right, and every guard that it can answer is asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import gbdt_objectives as go
from gbdt_objectives._checks.asked import Training, guard
from tests.strangers.many_grades import NEEDS, grades_are_few
from tests.strangers.newton import train_linear
from tests.strangers.poisson import poisson_objective

RNG = np.random.default_rng(0)
X = RNG.random((900, 2))
COUNTS = RNG.poisson(np.exp(0.5 + X[:, 0])).astype(float)
EVENTS = (RNG.random(900) < X[:, 0]).astype(float)
GRADES = np.digitize(X[:, 0] + RNG.normal(0, 0.1, 900), [0.25, 0.5, 0.75]).astype(float)
W = RNG.integers(1, 4, 900).astype(float)


def test_it_finds_the_maximum_likelihood() -> None:
    c = train_linear(X, COUNTS, poisson_objective(), sample_weight=W)
    reference = PoissonRegressor(alpha=0, tol=1e-12, max_iter=1000).fit(X, COUNTS, W)
    expected = [reference.intercept_, *reference.coef_]
    np.testing.assert_allclose(c, expected, rtol=1e-4)  # gradients are float32
    c = train_linear(X, EVENTS, go.weighted_logloss_objective(1.0))
    reference = LogisticRegression(C=np.inf, tol=1e-12).fit(X, EVENTS)
    np.testing.assert_allclose(c, np.append(reference.intercept_, reference.coef_), rtol=1e-4)


def test_a_metric_chooses_the_round() -> None:
    metric, held_out = go.extended_qwk_metric(), (X[600:], GRADES[600:])
    c = train_linear(X[:600], GRADES[:600], go.qwk_objective(), metric=metric, held_out=held_out)
    assert metric(GRADES[600:], c[0] + X[600:] @ c[1:]) > 0.8


LOGLOSS = go.weighted_logloss_objective(1.0)
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "labels": ({"y": EVENTS - 1, "objective": LOGLOSS}, "y_true must"),
    "NaN": (
        {"y": np.where(X[:, 0] > 0.9, np.nan, GRADES), "objective": go.qwk_objective()}, "finite",
    ),
    "a metric of probabilities": (
        {"y": GRADES, "objective": go.qwk_objective(),
         "metric": go.weighted_logloss_metric(1.0), "held_out": (X[:10], GRADES[:10])},
        "log-odds",
    ),
    "stops on the training rows": (
        {"y": GRADES, "objective": go.qwk_objective(), "metric": go.extended_qwk_metric(),
         "held_out": (X, GRADES)}, "held_out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_guards_refuse(name: str) -> None:
    given, words = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=words):
        train_linear(X, **given)


def test_a_far_start_is_told() -> None:
    with pytest.warns(UserWarning, match="^boosting starts at 50, "):
        train_linear(X, GRADES, go.qwk_objective(), start=50.0, rounds=1)


def test_a_new_guard_is_asked_once(monkeypatch) -> None:
    monkeypatch.setattr(Training, "guards", [*Training.guards])
    monkeypatch.setattr(Training, "_of", {})
    guard(Training, *NEEDS)(grades_are_few)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        train_linear(X, np.arange(900.0) // 6, go.qwk_objective(), rounds=4)
    assert [str(one.message)[:25] for one in told] == ["the labels have 150 value"]
