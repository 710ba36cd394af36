"""check_objective on hessians that boosters read otherwise than they were meant, and on labels."""

from __future__ import annotations

import functools
import re
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit

import gbdt_objectives as go
from gbdt_objectives import check_objective
from gbdt_objectives.checking import ObjectiveError, checks
from tests.cases import each
from tests.checking.test_checks import failed, logistic

Array = np.ndarray[Any, Any]


def ones(w: Array | None, f: Array) -> Array:
    return np.ones(len(f)) if w is None else w


def failures(obj: Any, *arguments: Any, **options: Any) -> dict[str, str]:
    with pytest.raises(ObjectiveError) as raised:
        check_objective(obj, *arguments, **options)
    return failed(raised.value)


# A hessian of 0 where the gradient is not 0


def huber(y, f, w=None, *, delta=1.0):
    """As it stands in textbooks: its own second derivative, 0 beyond delta."""
    r = f - y
    return ones(w, f) * np.clip(r, -delta, delta), ones(w, f) * (np.abs(r) <= delta)


def huber_loss(y, f, w):
    r = np.abs(f - y)
    return float((ones(w, f) * np.where(r <= 1, r**2 / 2, r - 0.5)).sum())


def huber_with_bound(y, f, w=None):
    """min(1, delta / |residual|): at least the second derivative, and never 0."""
    r = f - y
    return ones(w, f) * np.clip(r, -1, 1), ones(w, f) / np.maximum(np.abs(r), 1)


def log_cosh(y, f, w=None):
    """1 - tanh^2 is exactly 0 from a residual of 19 on."""
    t = np.tanh(f - y)
    return ones(w, f) * t, ones(w, f) * (1 - t**2)


def residual_log_cosh(y, f, w=None):
    r = f - y
    near = np.where(r == 0, 1e-9, r)
    return ones(w, f) * np.tanh(r), ones(w, f) * np.tanh(near) / near


def hinge(y, f, w=None):
    """Squared hinge of labels 0 and 1: hessian and gradient are 0 on the right side."""
    s = 2 * y - 1
    short = np.maximum(1 - s * f, 0)
    return -ones(w, f) * 2 * s * short, ones(w, f) * 2 * (short > 0)


@pytest.mark.slow
@each(  # all pairs
    ("kind", "y"),
    [(None, None), ("exact", [-3.0, 0.4, 2.5]), (None, [-50.0, 20.0]), ("exact", [0, 1])],
)
def test_the_textbook_huber_fails_whatever_the_labels(kind, y) -> None:
    assert "sign of hessian" in failures(go.objective(huber), y, hessian_kind=kind)
    found = failures(huber, y, loss=huber_loss, hessian_kind=kind)
    assert {"sign of hessian"} <= set(found) <= {"sign of hessian", "scale"}
    message = found["sign of hessian"]
    assert "hessian is 0 where the gradient is " in message
    assert "XGBoost steps far past the optimum" in message  # what happens
    assert "np.abs(margin - y_true)" in message  # what to write instead
    assert check_objective(huber_with_bound, y, loss=huber_loss).passed


@each("obj", [functools.partial(huber, delta=10.0), log_cosh])
def test_labels_are_not_just_0_and_1(obj) -> None:
    """Both are right as long as residuals are below 10 and 19."""
    found = failures(obj)
    assert list(found) == ["sign of hessian"]
    assert "y_true=" in found["sign of hessian"]  # decides
    assert check_objective(obj, [0, 1]).passed
    assert check_objective(residual_log_cosh).passed


PARAMETERS = {"nthread": 1, "base_score": 0.0, "max_depth": 3}


def test_what_the_textbook_huber_does_to_xgboost() -> None:
    """The reason of the refusal: a mean squared error above the labels' own variance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = 10 * X[:, 0] + rng.normal(size=1000)
    ends = {}
    for obj in (huber, huber_with_bound):
        booster = xgb.train(
            {**PARAMETERS, "reg_lambda": 0, "min_child_weight": 0},
            xgb.DMatrix(X, y),
            100,
            obj=lambda f, data, obj=obj: obj(data.get_label(), f),
        )
        ends[obj] = np.mean((booster.predict(xgb.DMatrix(X)) - y) ** 2) / y.var()
    assert ends[huber] > 2 > 100 * ends[huber_with_bound]  # measured: 2.7 and .006


def wrong_for_far_labels(y, f, w=None):
    """Squared error with a slip that labels 0 and 1 do not show: y**2 for y."""
    return ones(w, f) * (f - y**2), ones(w, f)


def squared_loss(y, f, w):
    return float((ones(w, f) * (f - y) ** 2).sum() / 2)


def negative_for_far_labels(y, f, w=None):
    return ones(w, f) * (f - y), ones(w, f) * np.where(np.abs(y) > 5, -1.0, 1.0)


def test_defects_that_only_other_labels_show() -> None:
    found = failures(wrong_for_far_labels, loss=squared_loss)
    assert list(found) == ["gradient"]
    found = failures(negative_for_far_labels)
    assert "a hessian is -1" in found["sign of hessian"]
    assert check_objective(wrong_for_far_labels, [0, 1], loss=squared_loss).passed


def logistic_by_case(y, f, w=None):
    p = expit(f)
    return ones(w, f) * np.where(y == 1, p - 1, p), ones(w, f) * p * (1 - p)


def logistic_that_refuses(y, f, w=None):
    if not np.isin(y, (0, 1)).all():
        raise ValueError("labels must be 0 and 1")
    return logistic(y, f, w)


def entropy_of_labels(y, f, w=None):
    """Not finite for labels outside 0 and 1."""
    return logistic(y, f, w)[0] + 0 * np.log((1.001 - y) * (y + 0.001)), logistic(y, f, w)[1]


def logistic_of_heavy_positives(y, f, w=None):
    """Linear in the labels."""
    p = expit(f)
    v = ones(w, f) * (1 + 4 * y)
    return v * (p - y), v * p * (1 - p)


def poisson(y, f, w=None):
    return ones(w, f) * (np.exp(f) - y), ones(w, f) * np.exp(f)


@pytest.mark.slow
@each(
    "obj",
    [
        logistic_by_case,
        logistic_that_refuses,
        entropy_of_labels,
        logistic_of_heavy_positives,
        hinge,
    ],
)
def test_functions_for_labels_0_and_1_pass_without_arguments(obj) -> None:
    assert check_objective(obj).passed
    assert check_objective(go.objective(obj)).passed


def test_other_links_pass_too() -> None:
    assert check_objective(poisson, margins=(-5, 5)).passed
    assert check_objective(go.objective(poisson), margins=(-3, 8)).passed


def logistic_float32(y, f, w=None):
    """p (1-p) in float32: 0 from a margin of 17 on, where the gradient of label 0 is 1."""
    p = 1 / (1 + np.exp(-f.astype(np.float32)))
    v = ones(w, f).astype(np.float32)
    return v * (p - y.astype(np.float32)), v * p * (1 - p)


def test_a_hessian_that_underflows_in_the_tails_is_no_defect() -> None:
    assert logistic_float32(np.zeros(1), np.full(1, 40.0))[1] == 0
    assert check_objective(logistic_float32).passed


# Hessians that are neither the second derivative nor a bound of it


def gaussian(y, f, w=None):
    """Mean and log sigma, with Fisher's hessian: the expected one."""
    v, (mean, log_sigma) = ones(w, f), f.T
    precision = np.exp(-2 * log_sigma)
    g = np.column_stack([(mean - y) * precision, 1 - (y - mean) ** 2 * precision])
    h = np.column_stack([precision, np.full(len(f), 2.0)])
    return v[:, None] * g, v[:, None] * h


def gaussian_loss(y, f, w):
    mean, log_sigma = f.T
    return float((ones(w, f) * (log_sigma + (y - mean) ** 2 * np.exp(-2 * log_sigma) / 2)).sum())


LABELS = np.random.default_rng(3).normal(1, 2, 60)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "loss", "make"),
    [  # all pairs
        (None, None, lambda f: f),
        (None, gaussian_loss, go.objective),
        ("undeclared", None, go.objective),
        ("undeclared", gaussian_loss, lambda f: f),
    ],
)
def test_an_expected_hessian_passes_with_a_note(kind, loss, make, monkeypatch) -> None:
    monkeypatch.setattr(checks, "LEAVES", 10)  # each step is an integral of 128 calls
    options = {"n_classes": 2, "margins": (-3, 3), "loss": loss, "hessian_kind": kind}
    report = check_objective(make(gaussian), LABELS, **options)
    note = next(f for f in report.findings if f.check == "hessian")
    assert note.status == "note"
    assert re.search("Fisher.* downhill", note.message)


@each("loss", [None, gaussian_loss])
def test_an_expected_hessian_is_not_what_it_is_not(loss) -> None:
    options = {"n_classes": 2, "margins": (-3, 3), "loss": loss}
    with pytest.raises(ObjectiveError, match="it is not the second derivative"):
        check_objective(gaussian, LABELS, **options, hessian_kind="exact")
    with pytest.raises(ObjectiveError, match="it is declared an upper bound, but"):
        check_objective(gaussian, LABELS, **options, hessian_kind="upper_bound")


def test_steps_that_go_uphill_still_fail() -> None:
    options = {"n_classes": 2, "margins": (-3, 3)}

    def small(y, f, w=None):
        g, h = gaussian(y, f, w)
        return g, h * [1.0, 0.1]

    found = failures(small, LABELS, **options)
    assert "belongs to another loss" in found["hessian"]


def cox_sums(y, f, w):
    """Sums over the rows still at risk at each time |y|, in the order of time; events are y > 0."""
    time, v = np.abs(y), ones(w, f)
    e = np.exp(f - f.max())
    at_risk = time[:, None] >= time  # of row, at the time of column
    return v, e, v * e @ at_risk, at_risk, v * (y > 0)


def cox(y, f, w=None):
    """Partial likelihood of Breslow, with the exact diagonal of its second derivative."""
    v, e, S, at_risk, events = cox_sums(y, f, w)
    share = v * e
    first, second = at_risk @ (events / S), at_risk @ (events / S**2)
    return share * first - events, share * first - share**2 * second


def cox_loss(y, f, w):
    _, _, S, _, events = cox_sums(y, f, w)
    return float((events * (np.log(S) + f.max() - f)).sum())


TIMES = np.random.default_rng(4).permutation(np.arange(1.0, 61.0)) * np.resize([1, 1, -1], 60)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("times", "loss"),
    [(TIMES, None), (np.where(np.abs(TIMES) > 40, 1, -1) * np.abs(TIMES), cox_loss)],
)
def test_the_exact_diagonal_of_coupled_rows_passes(times, loss) -> None:
    report = check_objective(cox, times, loss=loss, margins=(-6, 6))
    found = {f.check: (f.status, f.message) for f in report.findings}
    assert found["hessian"] == ("note", "exact")
    assert found["weights"][0] == "passed"
    assert check_objective(go.objective(cox), times, loss=loss, margins=(-6, 6)).passed


def test_weights_missing_from_the_sums_of_coupled_rows_still_fail() -> None:
    def unweighted_sums(y, f, w=None):
        return tuple(ones(w, f) * part for part in cox(y, f))

    found = failures(unweighted_sums, TIMES, margins=(-6, 6))
    assert "are missing from the sums over rows" in found["weights"]


# What a function may return


def as_a_list(y, f, w=None):
    return list(logistic(y, f, w))


def test_a_list_of_two_is_taken() -> None:
    assert check_objective(as_a_list).passed
    X, y = np.random.default_rng(0).normal(size=(200, 2)), np.resize([0.0, 1.0], 200)
    scores = []
    for obj in (logistic, as_a_list):  # as both libraries take it

        def native(f, data, obj=obj):
            return obj(data.get_label(), f)

        a = xgb.train({"nthread": 1}, xgb.DMatrix(X, y), 2, obj=native).predict(xgb.DMatrix(X))
        parameters = {"objective": native, "verbose": -1, "num_threads": 1}
        b = lgb.train(parameters, lgb.Dataset(X, y), 2).predict(X)
        scores.append([a, b])
    np.testing.assert_array_equal(scores[0], scores[1])


@each("number", [1.0, 2, np.float64(1), np.array(1.0)])
def test_a_hessian_of_one_number_is_explained(number) -> None:
    def squares(y, f, w=None):
        return ones(w, f) * (f - y), number

    message = failures(squares)["returned arrays"]
    assert message.startswith(f"the hessian is a {type(number).__name__}, one number")
    assert "objective(function)" in message
    assert "np.full_like(margin" in message
