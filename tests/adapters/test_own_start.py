"""Trainings on a user's own function start where its gradients sum to 0, in every entry point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gbdt_objectives as go
from tests.adapters.library import Library, both
from tests.objectives.test_start import (
    fair,
    logistic,
    median,
    pasted_qwk,
    poisson,
    squared_error,
)

rng = np.random.default_rng(1)
N = 400
X = rng.random((N, 3))
Y = np.clip(np.round(66 + 8 * (X[:, 0] - 0.5) + rng.normal(size=N)), 60, 72)
W = rng.integers(1, 4, N).astype(float)
RARE = (rng.random(N) < 0.05).astype(float)
STILL = {"learning_rate": 1e-9}
"""Nearly no step: the models predict their start."""


def start(lib: Library, objective: Any, y: Any, w: Any = None, **given: Any) -> Any:
    params = {**lib.params, **STILL}
    return lib.predict(lib.train(params, lib.data(X, y, w), 1, objective=objective, **given), X)


CASES = [
    (median, Y, None, {}, float(np.median(Y))),
    (squared_error, Y, W, {}, float(np.average(Y, weights=W))),
    (pasted_qwk, Y, W, {"link": "identity"}, float(np.average(Y, weights=W))),
    (logistic, RARE, W, {"link": "logit"}, float(np.average(RARE, weights=W))),
    (poisson, Y, W, {"link": "log"}, float(np.average(Y, weights=W))),
]
IDS = ["median", "squares", "qwk", "logistic", "poisson"]


@both
@pytest.mark.parametrize(("function", "y", "w", "options", "expected"), CASES, ids=IDS)
def test_train_starts_there(
    lib: Library, function: Any, y: Any, w: Any, options: Any, expected: float
) -> None:
    found = start(lib, go.objective(function, **options), y, w)
    np.testing.assert_allclose(found, expected, rtol=2e-6)


@both
@pytest.mark.parametrize("function", [median, fair])
def test_bounded_gradients_predict_near_their_labels(lib: Library, function: Any) -> None:
    """From 0 they got nowhere: 10 rounds of steps of .3 x 1, or a hessian of nearly 0."""
    obj = go.objective(function, link="identity")
    found = lib.predict(lib.train(lib.params, lib.data(X, Y), 20, objective=obj), X)
    assert abs(np.median(found) - np.median(Y)) < 1
    assert ((found >= 58) & (found <= 74)).all()


@both
def test_an_intercept_of_0_stays(lib: Library) -> None:
    with pytest.warns(UserWarning, match="starts at 0, far from the best constant, 66"):
        found = start(lib, go.objective(median, intercept=0), Y)
    np.testing.assert_allclose(found, 0, atol=1e-6)


@both
def test_label_units_under_a_log_link_are_named_once(lib: Library) -> None:
    with pytest.warns(UserWarning, match="starts at 66") as told:
        start(lib, go.objective(poisson, link="log", intercept=66), Y)
    (message,) = (str(one.message) for one in told if "starts at 66" in str(one.message))
    assert f"far from the best constant, {np.log(Y.mean()):.4g}:" in message


@both
def test_values_by_row_weigh_in_the_start(lib: Library) -> None:
    def costly(y_true: Any, margin: Any, sample_weight: Any, cost: Any) -> Any:
        return cost * (margin - y_true), cost

    cost = rng.uniform(1, 9, N)
    found = start(lib, go.objective(costly, rows={"cost": cost}), Y)
    np.testing.assert_allclose(found, np.average(Y, weights=cost), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*differs by row")  # a start per row is meant
@both
def test_an_own_start_or_an_earlier_model_needs_no_other(lib: Library) -> None:
    constants = 0

    def counted(y_true: Any, margin: Any, sample_weight: Any) -> Any:
        nonlocal constants
        constants += np.ptp(margin) == 0
        return squared_error(y_true, margin, sample_weight)

    far = go.objective(counted, intercept=0.0)
    begin = Y + rng.normal(size=N)
    lib.train(lib.params, lib.data(X, Y, start=begin), 2, objective=far)  # no warning of 0
    model = lib.train(lib.params, lib.data(X, Y), 2, objective=go.objective(squared_error))
    given = {"objective": go.objective(counted), lib.earlier: model}
    lib.train(lib.params, lib.data(X, Y), 2, **given)
    assert constants == 0


@both
def test_what_fails_everywhere_says_so_itself(lib: Library) -> None:
    def fails(y_true: Any, margin: Any, sample_weight: Any) -> Any:
        raise ZeroDivisionError("my own mistake")

    with pytest.raises(Exception, match="my own mistake"):
        start(lib, go.objective(fails), Y)
    with pytest.raises(TypeError, match=r"must return a tuple \(gradient, hessian\)"):
        start(lib, go.objective(lambda y, f, w: f - y), Y)
