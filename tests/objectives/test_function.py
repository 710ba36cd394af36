"""A user's own gradient function as an objective."""

from __future__ import annotations

import re

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.objectives import function as functions
from gbdt_objectives.objectives.function import FunctionLoss, objective
from tests.cases import each, refusals, refused
from tests.objectives.test_base import NAN, QWK, USER, X, squared_error


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


@each(
    "option", [{"loss": len}, {"link": "log"}, {"outputs": 2}, {"intercept": 0.5}, {"rows": ["a"]}]
)
def test_what_a_loss_declares_is_not_given_again(option) -> None:
    with pytest.raises(TypeError, match=f"^{next(iter(option))} is given, but QWKLoss"):
        go.objective(QWK.equations, **option)


SWAPPED = [  # first and second parameter, as functions for boosters themselves have them
    "f y", "z y_true", "margin label", "margins labels", "score target", "scores targets",
    "raw_score truth", "y_pred actual", "y_hat y", "yhat y", "pred data", "preds dtrain",
    "predt dataset", "prediction y", "predictions y", "y_score y", "logits y", "_Y_Pred Labels",
]  # fmt: skip


@each("names", SWAPPED)
def test_margins_before_labels_are_refused(names: str) -> None:
    first, second = names.split()
    arguments = f"{first}, {second}, sample_weight"
    swapped = eval(f"lambda {arguments}: None")
    said = re.escape(f"function takes ({arguments}), but is called") + ".* it would train backwards"
    with pytest.raises(TypeError, match=said):
        go.objective(swapped)
    with pytest.raises(TypeError, match="loss takes"):
        go.objective(squared_error, loss=swapped)
    go.objective(eval(f"lambda {second}, {first}, sample_weight: None"))
    go.objective(eval(f"lambda other, {first}, {second}: None"))
    go.objective(eval(f"lambda {first}, other, {second}: None"))


def test_the_intercepts_of_several_margins() -> None:
    found = go.objective(softmax_gradient, outputs=3, intercept=[0.5, 1, 1.5])
    assert found.intercept == (0.5, 1.0, 1.5)
    assert [type(value) for value in found.intercept] == [float] * 3
    assert found.outputs == 3
    assert functions.own_intercept([1, 2], 2) == (1.0, 2.0)
    assert FunctionLoss(function=squared_error).outputs == 1
    with pytest.raises(ValueError, match="^intercept must hold 3 numbers, one an output, found 2"):
        go.objective(softmax_gradient, outputs=3, intercept=[0.5, 1])
    with pytest.raises(ValueError, match="^intercept must be finite, found nan"):
        go.objective(softmax_gradient, outputs=3, intercept=[0.5, 1, NAN])


def test_the_loss_of_no_rows_is_0_without_a_call() -> None:
    def squares(y_true, margin, sample_weight):
        assert len(y_true), "not called without rows"
        return float((sample_weight * (margin - y_true) ** 2).sum())

    found, none = go.objective(squared_error, loss=squares), np.zeros(0)
    assert found.loss([0, 1, 2], [1, 1, 4], [1, 2, 3]) == pytest.approx(13, rel=1e-15)
    assert found.equations.value(Rows(none, f=none, w=none)) == (0.0, 0.0)


@each(("n", "tried"), [(3000, [1000, 500]), (7, [7, 3])])
def test_a_few_rows_are_tried_without_half_of_them(n: int, tried: list[int]) -> None:
    """While several workers train, before the function is called on the rows of one."""
    lengths = []

    def about_the_mean(y_true, margin, sample_weight, cost):
        lengths.append(len(margin))
        assert len(y_true) == len(margin) == len(sample_weight) == len(cost)
        assert margin[0] == 0  # the first rows
        return margin - margin.mean(), np.ones_like(margin)

    f = np.arange(n, dtype=float)
    equations = go.objective(about_the_mean, rows=["cost"]).equations
    with pytest.raises(ValueError, match="of about_the_mean for a row depends on other rows"):
        equations._check_alone(f, f, f, {"cost": f})
    assert lengths == tried
    alone = go.objective(squared_error).equations
    alone._check_alone(f, f, None, {})
    noise = FunctionLoss(function=lambda y, f, w: (f + 1e-4 * f.mean() * f, f))
    noise._check_alone(f[:20], 1 + f[:20] / 20, None, {})  # as float32 arithmetic differs


def ones(y_true, margin, sample_weight):
    return np.ones_like(margin), 1.0


@refused(
    ("logit", 2.0, "must be >= 0 and <= 1, found 2.0 at row 1: .* encode the two classes as 0"),
    ("log", -1.0, "must be >= 0, found -1.0 at row 1"),
    ("softmax", 3.0, "must hold classes 0 to 2, found 3.0 at row 1: subtract the lowest label"),
    ("softmax", 0.5, "must hold classes 0 to 2"),
)
def test_labels_that_the_link_cannot_predict(link: str, wrong: float) -> None:
    outputs = 3 if link == "softmax" else None
    obj = objective(ones, link=link, outputs=outputs)
    obj(np.array([0.0, wrong]), np.zeros((2, 3) if outputs else 2))


@each(("link", "right"), [("logit", 0.3), ("log", 7.5), ("identity", -9.0), (None, -9.0)])
def test_labels_whose_mean_the_link_can_predict(link: str | None, right: float) -> None:
    gradient, _ = objective(ones, link=link)(np.array([0.0, right]), np.zeros(2))
    assert gradient.tolist() == [1, 1]


test_refusals = refusals(
    (lambda: go.objective("reg:squarederror"), "function must be callable, found str", TypeError),
    (lambda: go.objective(QWK), "already an objective", TypeError),
    (lambda: go.objective(squared_error, loss=3), "loss must be callable", TypeError),
    (lambda: go.objective(squared_error, intercept=NAN), "intercept must be finite"),
    (lambda: USER.loss([0, 1], [0, 0]), "no loss", NotImplementedError),
    (lambda: go.objective(lambda y, p: (p - y, p)),
     r"^function must take \(y_true, margin, sample_weight\), found \(y, p\), .* and multiply "
     "gradient and hessian by", TypeError),
    (lambda: go.objective(squared_error, loss=lambda y, p: 0.0),
     r"^loss must take .* and multiply each row's loss by", TypeError),
)  # fmt: skip
