"""A user's own gradient function as an objective."""

from __future__ import annotations

import re

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives.objectives import function as functions
from tests.objectives.test_base import NAN, QWK, USER, X, squared_error


def test_wrapping_what_is_no_gradient_function() -> None:
    with pytest.raises(TypeError, match="function must be callable, found str"):
        go.objective("reg:squarederror")
    with pytest.raises(TypeError, match=re.escape("(y_true, margin, sample_weight), found (y, p)")):
        go.objective(lambda y, p: (p - y, p))
    with pytest.raises(TypeError, match="already an objective"):
        go.objective(QWK)
    with pytest.raises(TypeError, match="loss must be callable"):
        go.objective(squared_error, loss=3)
    with pytest.raises(ValueError, match="intercept must be finite"):
        go.objective(squared_error, intercept=NAN)
    with pytest.raises(NotImplementedError, match="no loss"):
        USER.loss([0, 1], [0, 0])


def softmax_gradient(y_true, margin, sample_weight):
    p = np.exp(margin - margin.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    w = np.ones(len(y_true)) if sample_weight is None else sample_weight
    gradient = (p - np.eye(margin.shape[1])[y_true.astype(int)]) * w[:, None]
    return gradient, np.maximum(2 * p * (1 - p), 1e-6) * w[:, None]


def test_a_users_multi_class_function_trains_as_the_built_in_one() -> None:
    y = np.digitize(X[:, 0], [0.3, 0.7])
    data, obj = xgb.DMatrix(X, y), go.objective(softmax_gradient)
    params = {"num_class": 3, "max_depth": 2, "base_score": 0.5}
    ours = xgb.train(params, data, 5, obj=obj).predict(data, output_margin=True)
    built_in = xgb.train({**params, "objective": "multi:softprob"}, data, 5)
    # float32 margins; XGBoost computes its own softmax in float32
    np.testing.assert_allclose(ours, built_in.predict(data, output_margin=True), atol=1e-4)
    booster = lgb.train({"objective": obj, "num_class": 3, "verbose": -1}, lgb.Dataset(X, y), 20)
    assert (booster.predict(X).argmax(axis=1) == y).mean() > 0.95


MARGINS = (
    "f z margin margins score scores raw_score y_pred y_hat yhat pred preds predt prediction "
    "predictions y_score logits"
)
LABELS = "y y_true label labels target targets truth actual data dtrain dataset"


def named(first: str, second: str):
    scope: dict = {}
    exec(f"def swapped({first}, {second}, sample_weight): ...", scope)
    return scope["swapped"]


@pytest.mark.parametrize(
    ("first", "second"),
    [(first, "y_true") for first in MARGINS.split()] + [("preds", name) for name in LABELS.split()],
)
def test_margins_first_are_refused(first, second) -> None:
    with pytest.raises(TypeError, match="function takes .* it would train backwards"):
        go.objective(named(first, second))


@pytest.mark.parametrize("option", [
    {"loss": squared_error}, {"link": "logit"}, {"outputs": 1}, {"intercept": 0.0},
    {"rows": {"cost": [1.0]}},
])  # fmt: skip
def test_what_a_loss_declares_is_not_given_again(option) -> None:
    with pytest.raises(TypeError, match=f"{next(iter(option))} is given, but .* leave it out"):
        go.objective(QWK.equations, **option)


def test_a_missing_weight_says_what_to_do_with_it() -> None:
    with pytest.raises(TypeError, match=r"function must take .*multiply gradient and hessian by"):
        go.objective(lambda y, z: (z, z))
    with pytest.raises(TypeError, match=r"loss must take .*multiply each row's loss by"):
        go.objective(squared_error, loss=lambda y, z: z)


def test_an_intercept_for_each_output() -> None:
    found = go.objective(squared_error, outputs=2, intercept=[0.5, -1.0])
    assert found.intercept == (0.5, -1.0)
    assert functions.own_intercept([1, 2], 2) == (1.0, 2.0)
    with pytest.raises(ValueError, match="intercept must hold 2 numbers, one an output, found 3"):
        go.objective(squared_error, outputs=2, intercept=[1, 2, 3])
