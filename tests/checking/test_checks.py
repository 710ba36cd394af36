"""check_objective: passes what is right, names what is wrong, in every form that boosters call."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from click.testing import CliRunner
from scipy.special import expit, log_softmax

import gbdt_objectives as go
from gbdt_objectives import check_objective
from gbdt_objectives._command_line.commands import cli
from gbdt_objectives.checking import ObjectiveError, parametrize_with_checks
from gbdt_objectives.checking.checks import CHECKS
from gbdt_objectives.checking.probe import make_probe, tried
from tests.cases import each, refusals_of, refused
from tests.contract import OBJECTIVES, OPTIONS, softmax_gradient
from tests.objectives.checks import marked
from tests.strangers.poisson import PoissonLoss

# Right ones, in every form


def weighted(w, like):
    return np.ones_like(like) if w is None else w if like.ndim == 1 else w[:, None]


def logistic(y_true, margin, sample_weight=None):
    w, p = weighted(sample_weight, margin), expit(margin)
    return w * (p - y_true), w * p * (1 - p)


def logistic_loss(y, f, w):
    return float((weighted(w, f) * np.logaddexp(0, (1 - 2 * y) * f)).sum())


def native(margin, data):
    y, w = data.get_label(), data.get_weight()
    return logistic(y, margin, w if w is not None and len(w) else None)


def native_xgboost(margin, dtrain):
    y, w = dtrain.get_label(), dtrain.get_weight()
    return logistic(y, margin, w if w.size else None)  # None.size raises, as with a Dataset


def native_lightgbm(margin, dataset):
    w = dataset.get_weight()
    return logistic(dataset.get_label(), margin, w if w is None else w * np.ones(len(margin)))


def with_group(y_true, margin, weight, group):
    return logistic(y_true, margin, weight)


class Callable:
    def __call__(self, y_true, margin, sample_weight=None):
        return logistic(y_true, margin, sample_weight)


def softmax_loss(y, f, w):
    chosen = log_softmax(f, axis=1)[np.arange(len(y)), y.astype(int)]
    return -float((chosen if w is None else w * chosen).sum())


def cosh(y, f, w=None):
    """log cosh (f-y), whose second derivative is at most 1."""
    return weighted(w, f) * np.tanh(f - y), weighted(w, f) * 1.0


def bounded(y, f, w=None):
    p = expit(f)
    return weighted(w, f) * (p - y), weighted(w, f) * np.abs(p - y) / 2


def coupled(y, f, w=None):
    """n/2 log sum (f-y)^2."""
    v = weighted(w, f)
    scale = v.sum() / (v * (f - y) ** 2).sum()
    return scale * v * (f - y), scale * v


def coupled_loss(y, f, w):
    v = weighted(w, f)
    return float(v.sum() / 2 * np.log((v * (f - y) ** 2).sum()))


FORMS = [logistic, native, native_xgboost, native_lightgbm, with_group, Callable(),
         functools.partial(logistic), go.objective(logistic)]  # fmt: skip


def test_a_function_without_a_module_passes() -> None:
    """As one is that exec() made, in a doctest for instance."""
    made: dict[str, object] = {"np": np}
    exec(
        "def obj(y, f, w=None):\n"
        "    v = np.ones_like(f) if w is None else w\n"
        "    return v * (f - y), v",
        made,
    )
    obj = made["obj"]
    assert obj.__module__ is None
    with pytest.raises(ObjectiveError) as caught:  # it does not pickle
        check_objective(obj)
    assert set(failed(caught.value)) == {"copies"}


def failed(error: ObjectiveError) -> dict[str, str]:
    """The message of each check that failed."""
    return {f.check: f.message for f in error.report.findings if f.status == "FAILED"}


SAME_AS_CONTRACT = ("qwk", "kappa-absolute", "kappa-matrix-unmeasured", "user-loss-coupled")
JAX = "user-loss"  # has checks at its own labels in tests/objectives/test_autodiff.py
OURS = [
    case
    for case in OBJECTIVES
    if not case.of_positions and case.name not in (*OPTIONS, *SAME_AS_CONTRACT, JAX)
]
"""Once a loss, at labels and margins of its own; the contract, tests/objectives, has all of its
options at those of the table. Where these are the same, it has the loss alone."""


@pytest.mark.parametrize("case", [marked(case) for case in OURS])
def test_ours_pass(case) -> None:
    report = check_objective(case.objective)
    assert report.passed
    untested = [f.check for f in report.findings if f.status == "not tested"]
    assert untested == (["memory order"] if case.outputs == 1 else [])


@pytest.mark.parametrize("obj", FORMS, ids=lambda obj: getattr(obj, "__name__", type(obj).__name__))
def test_every_form_passes(obj) -> None:
    report = check_objective(obj, loss=logistic_loss)
    statuses = {f.check: (f.status, f.message) for f in report.findings}
    assert statuses["gradient"] == ("passed", "")
    assert statuses["hessian"] == ("note", "exact")
    assert statuses["weights"][0] == "passed"
    y, f, w = np.array([0.0, 1.0]), np.array([0.3, -2.0]), np.array([1.0, 2.0])
    expected = logistic(y, f, w)
    for data in (xgb.DMatrix(np.eye(2), y, weight=w), lgb.Dataset(np.eye(2), y, weight=w)):
        if obj.__class__.__name__ == "function" and "native" in obj.__name__:
            for found, part in zip(obj(f, data), expected, strict=True):  # it is that form
                np.testing.assert_allclose(found, part, rtol=1e-6)


def test_a_loss_of_several_classes_passes() -> None:
    report = check_objective(softmax_gradient, loss=softmax_loss, n_classes=3)
    assert {f.check: f.status for f in report.findings}["memory order"] == "passed"


@each(
    ("obj", "kind", "loss"),
    [
        (cosh, "upper_bound", None),
        (bounded, "bounded", logistic_loss),
        (logistic, "exact", logistic_loss),
        (coupled, "upper_bound", coupled_loss),
    ],
)
def test_kinds_of_hessian_pass(obj, kind, loss) -> None:
    assert check_objective(obj, loss=loss, hessian_kind=kind).passed


def test_weights_are_drawn_from_those_given() -> None:
    assert set(make_probe(logistic, None, None, [2, 5], None, None, None, None).w) == {2.0, 5.0}


def test_gradient_without_a_loss() -> None:
    findings = {f.check: f for f in check_objective(logistic).findings}
    assert findings["gradient"].status == "not tested"
    assert "pass loss=" in findings["gradient"].message
    findings = {f.check: f for f in check_objective(coupled, hessian_kind="upper_bound").findings}
    assert findings["gradient"].message.startswith("symmetric")


# Planted defects, each named


def wrong_sign(y, f, w=None):
    g, h = logistic(y, f, w)
    return -g, h


def changed(change):
    """The logistic objective, of which this is made of gradient and hessian."""
    return lambda y, f, w=None: change(*logistic(y, f, w))


def other_gradient(y, f, w=None):
    g, h = logistic(y, f, w)
    return g + 0.01 * weighted(w, f) * np.sin(f), h


def weight_outside_sums(y, f, w=None):
    g, h = coupled(y, f)
    return weighted(w, f) * g, weighted(w, f) * h


def hessian_zero(y, f, w=None):
    return logistic(y, f, w)[0], np.zeros_like(f)


def hessian_of_another_loss(y, f, w=None):
    p = expit(f)
    return logistic(y, f, w)[0], weighted(w, f) * 0.1 * (p - y) ** 2


def hessian_negative(y, f, w=None):
    """Of a loss that is not convex."""
    r = f - y
    v = weighted(w, f)
    return v * r / (1 + r**2), v * (1 - r**2) / (1 + r**2) ** 2


def naive_exp(y, f, w=None):
    p = np.exp(f) / (1 + np.exp(f))
    return weighted(w, f) * (p - y), weighted(w, f) * np.exp(f) / (1 + np.exp(f)) ** 2


class KeepsState:
    calls = 0

    def __call__(self, y, f, w=None):
        self.calls += 1
        g, h = logistic(y, f, w)
        return g / self.calls, h


class KeepsRows:
    """The labels of the first call, as a closure over a training set has them."""

    labels = None

    def __call__(self, y, f, w=None):
        if self.labels is None:
            self.labels = y.copy()
        return logistic(np.resize(self.labels, len(f)), f, w)


def writes_to_margin(y, f, w=None):
    f -= y
    return logistic(0, f, w)


def writes_to_labels(y, f, w=None):
    y *= 2
    return logistic(y / 2, f, w)


def returns_margin(y, f, w=None):
    g, h = logistic(y, f, w)
    f[:] = g
    return f, h


class ForgetsInCopies:
    """Its parameter is no part of its state."""

    gamma = 1.0

    def __call__(self, y, f, w=None):
        g, h = logistic(y, f, w)
        return self.gamma * g, h

    def __reduce__(self):
        return type(self), ()


class ForgetsInDeepCopies(ForgetsInCopies):
    def __reduce__(self):
        return restore_gamma, (self.gamma,)

    def __deepcopy__(self, memo):
        return type(self)()


def restore_gamma(gamma):
    obj = ForgetsInDeepCopies()
    obj.gamma = gamma
    return obj


class ForgetsNatively(ForgetsInCopies):
    def __call__(self, margin, data):
        return super().__call__(data.get_label(), margin, data.get_weight())


def with_gamma(obj):
    obj.gamma = 2.0
    return obj


def fortran(y, f, w=None):
    """Reads the margin's memory as LightGBM's flat form has it."""
    flat = f.ravel(order="K").reshape(f.shape[1], -1).T
    return softmax_gradient(y, flat if f.flags.f_contiguous else f.T.reshape(f.shape), w)


def asymmetric(y, f, w=None):
    v = weighted(w, f)
    return v * (f - y + 0.5 * np.tanh(f).mean() * np.abs(f)), v * 2


NUMBERS = np.random.default_rng(0).normal(40, 10, 2000)


def five_times_above_30(y, f, w=None, *, x=None):
    v = weighted(w, f)
    return v * np.where(y > 30, 5.0, 1.0) * (f - y), v * np.where(y > 30, 5.0, 1.0)


def squares(y, f, w, *, x=None):
    return float((weighted(w, f) * (f - y) ** 2).sum() / 2)


def squared_error(y, f, w=None):
    return weighted(w, f) * (f - y), weighted(w, f)


@each(
    ("obj", "options", "check", "message"),
    [
        (wrong_sign, {"loss": logistic_loss}, "gradient", "the wrong sign"),
        (wrong_sign, {}, "hessian", "it is -1 times the second derivative"),
        (changed(lambda g, h: (g / 2, h / 2)), {"loss": logistic_loss}, "gradient",
         "it is 0.5 times the derivative of the loss"),
        (other_gradient, {"loss": logistic_loss}, "gradient", "it is not the derivative of the"),
        (lambda y, f, w=None: logistic(y, f), {}, "weights", "do not reach the gradient"),
        (lambda margin, data: logistic(data.get_label(), margin), {}, "weights",
         "do not reach the gradient"),
        (lambda y, f: logistic(y, f), {}, "weights", "it takes no sample_weight"),
        (lambda y, f, w=None: logistic(y, f, w if w is None else w * w), {}, "weights",
         "multiplied by the weights twice"),
        (weight_outside_sums, {}, "weights", "are missing from the sums over rows"),
        (weight_outside_sums, {"loss": coupled_loss}, "gradient", "of the loss with weights"),
        (lambda y, f, w=None: (logistic(y, f, w)[0], logistic(y, f)[1]), {}, "weights",
         "do not reach the hessian"),
        (hessian_zero, {}, "hessian", "it is 0 everywhere"),
        (hessian_zero, {}, "sign of hessian", "all hessians are 0"),
        (hessian_zero, {}, "step of a leaf", "none is ever split"),
        (changed(lambda g, h: (g, 2 * h)), {}, "hessian",
         "it is 2 times the second derivative: .* too short; declare hessian_kind='upper_bound'"),
        (changed(lambda g, h: (g, h / 2)), {}, "hessian",
         "it is 0.5 times the second derivative: .* too far; multiply it by 2$"),
        (changed(lambda g, h: (g, h / 2)), {"hessian_kind": "upper_bound"}, "hessian",
         "is less than the second"),
        (hessian_of_another_loss, {}, "hessian",
         "it is not the second derivative: .* another loss"),
        (logistic, {"hessian_kind": "constant"}, "hessian", "declared constant"),
        (logistic, {"hessian_kind": "bounded"}, "step of a leaf", "passes the leaf's optimum"),
        (bounded, {"hessian_kind": "exact"}, "hessian", "it is not the second derivative"),
        (hessian_negative, {"y_true": np.arange(5.0)}, "sign of hessian", "a hessian is -"),
        (naive_exp, {"margins": (-6, 800)}, "returned arrays", "nan in places"),
        (naive_exp, {}, "tails", "nan in float32 at y = 0, margin = "),
        (KeepsState(), {}, "state", "it keeps a state or is random"),
        (KeepsRows(), {}, "order of rows", "the gradient of a row depends on where the row"),
        (writes_to_margin, {}, "inputs", "it writes into the margins"),
        (writes_to_labels, {}, "inputs", "it writes into the labels"),
        (returns_margin, {}, "inputs", "it writes into the margins"),
        (changed(lambda g, h: (g, h)), {}, "copies", "it does not pickle"),
        (with_gamma(ForgetsInCopies()), {}, "copies", "a copy of it computes something else"),
        (with_gamma(ForgetsInDeepCopies()), {}, "copies", "a copy of it computes something else"),
        (with_gamma(ForgetsNatively()), {"api": "lightgbm"}, "copies", "a copy of it computes"),
        (changed(lambda g, h: (g * np.linspace(0.5, 1.5, len(g)), h)), {}, "order of rows",
         "the gradient of a row depends on where the row"),
        (fortran, {"n_classes": 3}, "memory order", "margins in Fortran order"),
        (lambda y, f, w=None: [v.ravel() for v in softmax_gradient(y, f, w)], {"n_classes": 3},
         "returned arrays", r"shape \(180,\), not \(60, 3\): flat"),
        (lambda y, f, w=None: [v.T for v in softmax_gradient(y, f, w)], {"n_classes": 3},
         "returned arrays", r"shape \(3, 60\), not \(60, 3\): flat"),
        (changed(lambda g, h: (g.tolist(), h)), {}, "returned arrays", "the gradient is a list"),
        (changed(lambda g, h: (g.astype(">f4"), h)), {}, "returned arrays",
         "not in native byte order"),
        (changed(lambda g, h: (g.astype(np.float16), h)), {}, "returned arrays", "is float16"),
        (changed(lambda g, h: g), {}, "returned arrays", "must be a tuple .*, found ndarray"),
        (changed(lambda g, h: (g, 1.0)), {}, "returned arrays", "the hessian is a float"),
        (changed(lambda g, h: (np.where(g > 0.9, np.nan, g), h)), {}, "returned arrays",
         "the gradient is nan in places: LightGBM"),
        (squared_error, {"loss": lambda y, f, w: (f - y) ** 2 / 2}, "gradient",
         r"found shape \(60,\): return its .sum\(\)$"),
        (go.objective(squared_error, loss=lambda y, f, w: (f - y) ** 2 / 2), {}, "gradient",
         r"loss returned shape \(60,\): return its .sum\(\)$"),
        (squared_error, {"loss": lambda y, f, w: np.average((f - y) ** 2 / 2, weights=w)},
         "gradient", "the loss is the mean over the rows: pass a loss that is their sum"),
        (five_times_above_30, {"y_true": NUMBERS, "loss": squares}, "gradient",
         "it is not the derivative of the loss"),
        (go.objective(five_times_above_30, loss=squares, rows={"x": NUMBERS}), {"y_true": NUMBERS},
         "gradient", "it is not the derivative of the loss"),
        (asymmetric, {"y_true": np.arange(5.0)}, "gradient", "the gradient of no loss"),
    ],
)  # fmt: skip
def test_a_defect_is_named(obj, options, check, message) -> None:
    with pytest.raises(ObjectiveError) as raised:
        check_objective(obj, **options)
    found = failed(raised.value)[check]
    assert re.search(message, found), found
    assert found in str(raised.value)
    assert not raised.value.report.passed


# Where boosting starts


@dataclass(frozen=True, kw_only=True)
class StartsAt(PoissonLoss):
    """A Poisson loss whose intercept is this function of everybody's rows."""

    start: Callable

    def measured(self, rows):
        return replace(self, intercept=float(self.start(rows)))


def poisson(y, f, w):
    return weighted(w, f) * (np.exp(f) - y), weighted(w, f) * np.exp(f)


def mean_of(rows):
    total, n = rows.sum(lambda y, f, xp: (y, 1.0))
    return total / n


@each(
    ("obj", "check", "message"),
    [
        (StartsAt(start=mean_of), "intercept", "it measures .* make it a margin, logs of a pos"),
        (StartsAt(start=lambda rows: np.log(1 + np.median(rows.y))), "intercept",
         "gradients sum to 0 at 0.1823: "),
        (StartsAt(start=lambda rows: np.log(rows.y.mean())), "intercept",
         "rows with weights whose"),
        (StartsAt(start=lambda rows: np.log(np.average(rows.y, weights=rows.w))), "workers",
         "the intercept of one of two workers is "),
        (go.objective(poisson, link="log", intercept=2.0), "intercept", "the intercept 2 is given"),
    ],
)  # fmt: skip
def test_a_wrong_start_is_named(obj, check, message) -> None:
    with pytest.raises(ObjectiveError, match=f" {check} +FAILED +.*{message}"):
        check_objective(obj, [0, 1, 2, 5])


@pytest.mark.slow
def test_the_labels_that_are_tried_are_of_the_whole_range() -> None:
    y = NUMBERS[:300]
    obj = go.objective(squared_error, loss=squares, link="identity", intercept=float(y.mean()))
    assert check_objective(obj, y).passed
    tried_on = make_probe(obj, y, None, None, None, None, None, None).y
    assert (tried_on.min(), tried_on.max()) == (y.min(), y.max())
    assert np.isin(tried_on, y).all()
    assert abs(np.median(tried_on) - np.median(y)) < 1


@each(
    ("loss", "start", "status"),
    [
        (poisson, np.log(2.0), "passed"),
        (poisson, 1.0, "passed"),  # of other shares of these labels
        (poisson, 0.0, "passed"),
        (lambda y, f, w: poisson(y + 3, f, w), 0.0, "note"),
        (lambda y, f, w: (weighted(w, f), weighted(w, f)), None, "note"),  # there is none
        (lambda y, f, w: (weighted(w, f) * np.sign(np.exp(f) - y), weighted(w, f)), None, "passed"),
    ],
)
def test_a_start_of_ones_own_passes(loss, start, status) -> None:
    obj = go.objective(loss, link="log", intercept=start)
    probe = make_probe(obj, [0, 1, 2, 5], None, None, None, None, None, None)
    assert tried("intercept", CHECKS["intercept"], probe).status == status


def test_a_right_loss_of_logs_passes_its_tails() -> None:
    assert check_objective(go.objective(poisson, link="log"), [0, 1, 2, 5, 100]).passed
    with pytest.raises(ObjectiveError, match='tails +FAILED .*found inf .*link="log"'):
        check_objective(go.objective(poisson), [0, 1, 2, 5])


# Two published bugs, rebuilt from their formulas


def focal_gradient_and_hessian(right, sign, gamma=2.0):
    q = 1 - right
    g = sign * q**gamma * (gamma * right * np.log(right) - q)
    h = right * q**gamma * (gamma * (q - gamma * right) * np.log(right) + (2 * gamma + 1) * q)
    return g, h


def focal_with_dead_positives(y, f, w=None):
    """Its hessian multiplies by 1 - y where it should by |y - p|: 0 for every positive."""
    p = expit(f)
    g, h = focal_gradient_and_hessian(np.where(y == 1, p, 1 - p), 2 * y - 1)
    return weighted(w, f) * g, weighted(w, f) * (1 - y) * h


def focal_through_rounded_probability(y, f, w=None):
    """log(1-p) of a p that float32 rounds to 1: 0 times -inf."""
    p = (1 / (1 + np.exp(-f))).astype(f.dtype)
    g, h = focal_gradient_and_hessian(np.where(y == 1, p, 1 - p), 2 * y - 1)
    return weighted(w, f) * g, weighted(w, f) * h


def test_a_focal_hessian_that_is_0_for_positives_is_found() -> None:
    with pytest.raises(ObjectiveError, match="it is 0 for every row of label 1: their gradients"):
        check_objective(focal_with_dead_positives)


def test_a_focal_loss_that_is_nan_in_float32_is_found() -> None:
    with pytest.raises(ObjectiveError, match="tails +FAILED +the gradient is nan in float32 at"):
        check_objective(focal_through_rounded_probability)
    with np.errstate(all="ignore"):
        g, _ = focal_through_rounded_probability(np.zeros(1), np.array([17.0], np.float32))
    assert np.isnan(g).all()  # where it was met


# Arguments, and the report


@refused(
    ((3,), "obj must be an objective or another callable, found 3", TypeError),
    ((Callable,), "obj must be an objective", TypeError),
    ((go.qwk_objective,), r"the function qwk_objective itself: call it", TypeError),
    ((lambda f: f,), "found 1 parameters", TypeError),
    ((lambda y, f, w, gamma: f,), "'gamma': LightGBM passes query groups there", TypeError),
    ((lambda a, b: a @ b.nothing,), "neither as .margin, data., .* nor as", TypeError),
    ((logistic, ["a"]), "y_true must hold real numbers", TypeError),
    ((logistic, [0, np.nan]), "y_true must be finite"),
    ((logistic, None, {"loss": 3}), "loss must be callable or None, found 3", TypeError),
    ((logistic, None, {"sample_weight": [0.5, 1]}), "whole numbers above 0"),
    ((logistic, None, {"hessian_kind": "newton"}), "hessian_kind must be one of"),
    ((logistic, None, {"api": "catboost"}), "api must be one of"),
    ((logistic, None, {"n_classes": 1}), "n_classes must be a whole number >= 2"),
    ((logistic, None, {"margins": (3, 1)}), "margins must be .lowest, highest"),
)
def test_bad_arguments(arguments) -> None:
    obj, y, options = (*arguments, None, {})[:3] if len(arguments) < 3 else arguments
    check_objective(obj, y, **(options or {}))


def rows_of_losses(y, f, w):
    return np.logaddexp(0, (1 - 2 * y) * f)


test_a_loss_that_is_none_is_named = refusals_of(
    lambda loss: check_objective(logistic, loss=loss),
    (rows_of_losses, r"loss must return one number, found shape \(60,\): return its .sum\(\)",
     ObjectiveError),
    (lambda y, f, w: float("nan"), "loss is nan at margins", ObjectiveError),
)  # fmt: skip


def test_the_number_of_margins_is_asked_for() -> None:
    def columns(y, f, w=None):
        return f - f.mean(axis=1, keepdims=True), np.ones_like(f)

    for obj in (columns, go.objective(columns)):
        with pytest.raises(ValueError, match=r"AxisError.*margins \(n, K\), pass n_classes=K"):
            check_objective(obj)
    with pytest.raises(ValueError, match="found 7.0 at row") as raised:
        check_objective(go.ordinal_logit_objective(3), [0, 7])
    assert "n_classes=K" not in str(raised.value)


# From the command line, and in a test suite

MODULE = """
import numpy as np

def right(y, f, w=None):
    v = np.ones_like(f) if w is None else w
    return v * (f - y), v

def wrong(y, f, w=None):
    v = np.ones_like(f) if w is None else w
    return v * (y - f), v

def loss(y, f, w):
    v = np.ones_like(f) if w is None else w
    return 0.5 * (v * (f - y) ** 2).sum()

def poisson(y, f, w=None):
    v = np.ones_like(f) if w is None else w
    return v * (np.exp(f) - y), v * np.exp(f)

class Losses:
    mine = staticmethod(right)
"""


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["mylosses:right"], 0, "right: all checks passed"),
        (["mylosses:right", "--loss", "mylosses:loss"], 0, "right: all checks passed"),
        (["mylosses:Losses.mine", "--labels", "1,5,9"], 0, "all checks passed"),
        (["mylosses:wrong"], 1, "every step makes the leaf's gradient larger: it has the wrong"),
        (["mylosses:wrong", "--loss", "mylosses:loss"], 1, "wrong sign"),
        (["mylosses:right", "--hessian-kind", "bounded"], 0, "all checks passed"),
        (["mylosses:poisson"], 1, "or pass margins= if none gets there"),
        (["mylosses:poisson", "--margins", "-5", "5"], 0, "all checks passed"),
        (["mylosses"], 2, "found 'mylosses': write module:name"),
        (["mylosses:gone"], 2, "has no attribute 'gone'"),
        (["nosuchmodule:gone"], 2, "No module named 'nosuchmodule'"),
        (["mylosses:right", "--api", "catboost"], 2, "--api must be one of 'xgboost', "),
    ],
)
def test_command_line(tmp_path, monkeypatch, arguments, status, said) -> None:
    (tmp_path / "mylosses.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))  # where the command puts the folder
    try:
        ran = CliRunner().invoke(cli, ["check", *arguments])
    finally:
        sys.modules.pop("mylosses", None)
    assert said in ran.output
    assert ran.exit_code == status
    assert ran.exception is None or isinstance(ran.exception, SystemExit)


def test_command_line_in_a_process_of_its_own(tmp_path) -> None:
    (tmp_path / "mylosses.py").write_text(MODULE, encoding="utf-8")
    ran = in_python(["-m", "gbdt_objectives", "check", "mylosses:wrong"], tmp_path)
    assert "it has the wrong" in ran.stdout + ran.stderr
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr


def in_python(arguments, folder) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(Path(go.__file__).parents[1])}
    line = [sys.executable, *arguments]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, env=environment)


XDIST = """
import functools
from gbdt_objectives import objective
from gbdt_objectives.checking import parametrize_with_checks

def squared(y_true, margin, sample_weight=None, scale=1.0):
    w = 1.0 if sample_weight is None else sample_weight
    return scale * w * (margin - y_true), scale * w * (0 * margin + 1)

class Squared:
    def __call__(self, y_true, margin, sample_weight=None):
        return squared(y_true, margin, sample_weight)

@parametrize_with_checks([functools.partial(squared, scale=2.0), Squared(), Squared()])
def test_objective(check):
    check()
"""


@pytest.mark.slow
def test_names_of_tests_are_the_same_in_every_process_of_xdist(tmp_path) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "test_mine.py").write_text(XDIST)
    ran = in_python(["-m", "pytest", "-v", "-n", "2", "-p", "no:cacheprovider"], tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "3 passed" in ran.stdout


@parametrize_with_checks([logistic, go.offset_logloss_objective(0.1)])
def test_the_decorator_makes_tests(check) -> None:
    assert check().passed


@parametrize_with_checks([hessian_zero], margins=(-2, 2))
def test_the_decorator_makes_tests_that_fail(check) -> None:
    with pytest.raises(ObjectiveError, match="hessian_zero: 4 of 17"):
        check()


@each(
    "obj",
    [
        lambda preds, dtrain, alpha=0.5, gamma=0.0: native(preds, dtrain),
        lambda preds, dtrain, gamma=0.0: native(preds, dtrain),
        lambda *arguments: native(*arguments),
    ],
)
@each("api", [None, "xgboost"])
def test_parameters_with_defaults_do_not_hide_the_native_form(obj, api) -> None:
    assert make_probe(obj, None, None, None, None, None, None, api).takes_weights
    with pytest.raises(ObjectiveError) as raised:
        check_objective(obj, loss=logistic_loss, api=api)
    assert set(failed(raised.value)) == {"copies"}  # a lambda does not pickle


def test_a_default_in_the_place_of_the_weights_is_not_passed_over() -> None:
    def gamma_for_weights(y_true, y_pred, gamma=2.0):
        return logistic(y_true, y_pred) if gamma is None else logistic(y_true, y_pred * gamma)

    with pytest.raises(ObjectiveError):
        check_objective(gamma_for_weights)
