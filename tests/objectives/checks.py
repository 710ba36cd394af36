"""The contract: what every objective must do, as functions of a row of tests/contract.py."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.base import clone

import gbdt_objectives as go
from gbdt_objectives._checks.arrays import REAL, Interval, Values
from gbdt_objectives._links import LOG, LOGIT
from gbdt_objectives._rows import rows as _rows
from gbdt_objectives._rows.rows import blocks
from gbdt_objectives.adapters.lightgbm import train as lightgbm_train
from gbdt_objectives.adapters.xgboost import train as xgboost_train
from gbdt_objectives.checking import checks as checking
from gbdt_objectives.objectives import loss as of_losses
from tests.contract import OPTIONS, Array, ObjectiveCase, ones

NAN, INF = float("nan"), float("inf")


@contextmanager
def small_blocks() -> Iterator[None]:
    """A block is 16 KiB, and of expressions 4, so that a few thousand rows are more than one."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (_rows, of_losses):
            patch.setattr(module, "EXPRESSION_BYTES", 1 << 12)
        for function in (blocks, _rows.Rows.stretches):
            patch.setattr(function, "__defaults__", (1 << 14,))
        yield


LONG = 5_000
"""Rows that are more than two such blocks."""

FEW = 60
"""Rows of the checker, ``check_objective``: jax compiles a loss again for each number of rows."""


LAST_BITS = 1e-14
"""Of the terms: sums of the same terms in another order, some 100 roundings of float64."""


def with_and_without_weights(w: Array) -> Iterator[Array | None]:
    yield None
    yield w


def central_difference(function: Callable[[Array], Any], x: Array, step: float) -> Array:
    """Derivative of a function of x by each element of x, shaped like x."""
    derivative = np.empty_like(x)
    for k in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[k] += step
        down[k] -= step
        derivative[k] = (function(up) - function(down)) / (up[k] - down[k])
    return derivative


def check_what_boosters_assume(case: ObjectiveCase) -> None:
    """Gradient, hessian, weights, tails and calls, by the checker that users have. It tries a
    quarter of the leaves of theirs, which tests/checking/test_checks.py runs."""
    labels = case.labels if case.of_positions is None else case.rows(600)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "LEAVES", checking.LEAVES // 4)
        go.check_objective(case.on(600), labels, margins=case.margins)


def check_factor_of_the_gradient(case: ObjectiveCase) -> None:
    """The gradient of a scale-free loss is the loss's times what the table says. That of others is
    the loss's itself: the checker compares them."""
    if not case.objective.scale_free:
        assert case.gradient_over_loss is ones
        return
    n = max(20, len(case.labels) + 1)
    y, p, w = case.rows(n, seed=1)
    obj = case.on(n)
    for weight in with_and_without_weights(w):
        gradient, _ = obj.gradient_hessian(y, p, weight)
        loss = partial(obj.loss, y, sample_weight=weight)
        numeric = central_difference(loss, p, step=1e-4)
        scale = case.gradient_over_loss(y, p, np.ones_like(w) if weight is None else w)
        # truncation step^2 plus rounding eps * loss / step, both below 1e-6 of the largest gradient
        assert np.abs(gradient - numeric * scale).max() <= 1e-6 * np.abs(gradient).max()


def by_its_sums(obj: go.Objective, y: Array, f: Array, w: Array) -> tuple[Array, Array]:
    """How far gradient and hessian move where the sums over rows are off by all of themselves: the
    terms that may cancel in them. 0 of a loss of rows, except one that jax differentiates: it is
    compiled anew for each number of rows, and the terms of its derivatives are hidden in it."""
    loss = obj.equations
    moves = np.zeros((2, *f.shape))
    if type(getattr(loss, "function", None)).__name__ == "LossDerivatives":
        for move, of_rows in zip(moves, obj.gradient_hessian(y, f, w), strict=True):
            move += np.abs(of_rows).max()
    if not loss.couples_rows:
        return moves[0], moves[1]
    sums = np.array(loss.totals(_rows.Rows(y, f, w)), float)
    exact = loss.gradient_hessian(y, f, sums, np)
    for k in range(len(sums)):
        other = sums.copy()
        other[k] += 1e-6 * np.abs(sums[k])
        found = loss.gradient_hessian(y, f, other, np)
        for move, new, old in zip(moves, found, exact, strict=True):
            move += w * np.abs(new - old) / 1e-6
    return moves[0], moves[1]


def check_weight_is_repetition_to_the_last_digits(case: ObjectiveCase) -> None:
    y, p, w = case.rows(FEW, seed=3)
    times = w.astype(int)
    at = np.repeat(np.arange(FEW), times)
    once, copies = case.on(FEW), case.on(at)
    assert once.loss(y, p, w) == pytest.approx(copies.loss(y[at], p[at]), rel=1e-13)
    terms = by_its_sums(once.measured(y, w), y, p, w)
    for weighted, repeated, moves in zip(
        once.gradient_hessian(y, p, w),
        copies.gradient_hessian(y[at], p[at]),
        terms,
        strict=True,
    ):
        last = repeated[np.cumsum(times) - 1] * case.repeated(times)
        assert (np.abs(weighted - last) <= LAST_BITS * (moves + np.abs(last))).all()


def check_zero_weight_is_absence(case: ObjectiveCase) -> None:
    y, p, w = case.rows(FEW, seed=4)
    w[::2] = 0
    keep = w > 0
    all_rows, kept = case.on(FEW), case.on(np.flatnonzero(keep))
    terms = by_its_sums(kept.measured(y[keep], w[keep]), y[keep], p[keep], w[keep])
    for found, expected, moves in zip(
        all_rows.gradient_hessian(y, p, w),
        kept.gradient_hessian(y[keep], p[keep], w[keep]),
        terms,
        strict=True,
    ):
        assert (np.abs(found[keep] - expected) <= LAST_BITS * (moves + np.abs(expected))).all()
        assert not found[~keep].any()


@small_blocks()
def check_calls_return_fresh_native_float32(case: ObjectiveCase) -> None:
    y, wide, w = (array.astype(np.float32) for array in case.rows(LONG, seed=5))
    obj = case.on(LONG)
    for weight in with_and_without_weights(w):
        for precision in (np.float32, np.float64):
            p = wide.astype(precision)
            before = y.copy(), p.copy(), w.copy()
            returned = obj(y, p, weight)
            exact = obj.gradient_hessian(y.astype(float), p.astype(float), weight)
            for array, reference in zip(returned, exact, strict=True):
                assert array.dtype == np.float32
                assert reference.dtype == np.float64
                assert array.dtype.isnative
                assert array.flags.c_contiguous
                assert array.shape == p.shape
                assert not any(np.shares_memory(array, other) for other in (y, p, w))
                assert_close_in_float32(array, reference, y, p, weight)
            for array, old in zip((y, p, w), before, strict=True):
                np.testing.assert_array_equal(array, old)


@small_blocks()
def check_bound_to_its_data_it_is_the_same(case: ObjectiveCase) -> None:
    y, p, w = case.rows(LONG, seed=6)
    obj = case.on(LONG)
    for weight in with_and_without_weights(w):
        for precision in (np.float32, np.float64):
            margin = p.astype(precision)
            exact = obj.gradient_hessian(y, margin.astype(float), weight)
            for start in (0.0, 2.5, *([np.arange(case.outputs)] if case.outputs > 1 else [])):
                bound = obj.bind(y, weight, start=start)
                bound(margin)
                returned = bound((p - start).astype(precision))  # again, into the same memory
                for array, reference in zip(returned, exact, strict=True):
                    assert array.dtype == np.float32
                    assert array.flags.c_contiguous
                    assert_close_in_float32(array, reference, y, p, weight)
            small = case.on(FEW).bind(y[:FEW], None if weight is None else weight[:FEW])
            with pytest.raises(ValueError, match="margin has 59 rows, but the labels have 60"):
                small(margin[: FEW - 1])
            for bad in (np.nan, np.inf, np.nan, -np.inf):  # before a good call, and after it
                message = f"margin must be finite, found {bad} at row 7"
                with pytest.raises(ValueError, match=message):
                    small(np.where(case.repeated(np.arange(FEW)) == 7, bad, margin[:FEW]))
                small(margin[:FEW])


def assert_close_in_float32(
    array: Array, reference: Array, y: Array, p: Array, weight: Array | None
) -> None:
    # a few float32 roundings (6e-8 each) of labels and margins of the size that occur, and of the
    # exp of a difference of margins: it is off by a share that is the rounding of the difference
    largest = max(np.abs(y).max(), np.abs(p).max()) * (1 if weight is None else 3)
    largest = max(largest, np.abs(reference).max())
    share = 1.2e-7 * np.ptp(p) if p.ndim == 2 else 0.0
    np.testing.assert_allclose(array, reference, rtol=share, atol=1e-6 * largest)


def check_is_a_value(case: ObjectiveCase) -> None:
    obj = case.objective
    assert pickle.loads(pickle.dumps(obj)) == obj
    assert copy.copy(obj) == obj
    assert copy.deepcopy(obj) is obj
    assert hash(obj) == hash(pickle.loads(pickle.dumps(obj)))
    assert type(obj).__name__ in repr(obj)
    for field in dataclasses.fields(obj.equations):
        assert field.name in repr(obj)
    for part in (obj, obj.equations):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, dataclasses.fields(part)[0].name, None)
    estimator = xgb.XGBRegressor(objective=obj)
    assert clone(estimator).get_params()["objective"] is obj
    assert clone(lgb.LGBMRegressor(objective=obj)).get_params()["objective"] is obj


def check_all_labels_of_its_domain_are_finite_in_both_tails(case: ObjectiveCase) -> None:
    domain = case.objective.label_domain
    if isinstance(domain, Values):
        labels = np.array(domain.values)
    else:
        assert isinstance(domain, Interval)
        labels = np.linspace(max(domain.low, -1e3), min(domain.high, 1e3), FEW // 2)
    margins = np.array([*case.margins, *((-1e4, 1e4) if case.objective.link == LOGIT else ())])
    margins = np.array(list(product(margins, repeat=case.outputs)))
    y, p = np.repeat(labels, len(margins)), np.tile(margins, (len(labels), 1))
    if case.outputs == 1:
        p = p[:, 0]
    obj = case.on(len(y))
    gradient, hessian = obj.gradient_hessian(y, p)
    assert np.isfinite(obj.loss(y, p))
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()


Call = Callable[[go.Objective, Any, Any, Any], Any]

ENTRIES: dict[str, Call] = {
    "call": lambda obj, y, f, w: obj(y, f, w),
    "gradient_hessian": lambda obj, y, f, w: obj.gradient_hessian(y, f, w),
    "loss": lambda obj, y, f, w: obj.loss(y, f, w),
    "bind": lambda obj, y, f, w: obj.bind(y, w)(f),
    "started": lambda obj, y, f, w: obj.bind(y, w, start=0.5)(f),
    "mean_loss": lambda obj, y, f, w: obj.mean_loss(y, f, w),
    "measured": lambda obj, y, f, w: obj.measured(y, w),
}

WRONG_DATA: list[tuple[dict[str, Any], str]] = [
    ({"y": NAN}, "y_true must .*found nan at row 1"),
    ({"y": INF}, "y_true must .*found inf at row 1"),
    ({"ys": [[0, 1]]}, r"y_true must be one-dimensional, found shape \(1, 2\)"),
    ({"ys": ["a", "b"]}, "y_true must hold real numbers, found dtype"),
    ({"ys": [], "fs": []}, "(y_true|margin) is empty"),
    ({"w": -1}, "sample_weight must not be negative, found -1.0 at row 1"),
    ({"w": NAN}, "sample_weight must be finite, found nan at row 1"),
    ({"w": INF}, "sample_weight must be finite, found inf at row 1"),
    ({"w": 1e31}, "sample_weight must be at most"),
    ({"ws": [1]}, "sample_weight has 1 rows, but the labels have 2"),
    ({"ws": [0, 0]}, "sample_weight is 0 in all 2 rows"),
    ({"ws": [[1], [1]]}, "sample_weight must be one-dimensional"),
]
"""What is wrong in two rows, the second or all of its kind, and the message."""

WRONG_MARGINS: list[tuple[dict[str, Any], str]] = [
    ({"f": NAN}, "margin must be finite, found nan at row 1"),
    ({"f": -INF}, "margin must be finite, found -inf at row 1"),
    ({"fs": [0, 0, 0]},
     "y_true has 2 rows, but the margins have 3|margin has 3 rows, but the labels have 2"),
    ({"fs": [[[0], [0]]]}, "margin"),
]  # fmt: skip


def check_refuses_bad_input(case: ObjectiveCase) -> None:
    assert bool(case.refused) == (case.objective.label_domain != REAL)
    wrong = WRONG_DATA + [({"y": y}, f"y_true must .*found {y}") for y in case.refused]
    low, high = case.labels[:2]
    for entry, call in ENTRIES.items():
        for how, message in wrong + (WRONG_MARGINS if entry != "measured" else []):
            y = how.get("ys", [low, how.get("y", high)])
            f = how.get("fs", [low, how.get("f", low)])
            if np.ndim(f) == 1:
                f = case.repeated(f)
            w = how.get("ws", [1, how["w"]] if "w" in how else None)
            with pytest.raises((ValueError, TypeError), match=message):
                call(case.on(2), y, f, w)


@small_blocks()
def check_finds_bad_rows_in_a_late_block(case: ObjectiveCase) -> None:
    n = LONG
    y, f, _ = case.rows(n, seed=7)
    obj = case.on(n)
    bad = np.where(case.repeated(np.arange(n)) == n - 1, NAN, f)
    for entry in set(ENTRIES) - {"measured"}:
        with pytest.raises(ValueError, match=f"margin must be finite, found nan at row {n - 1}"):
            ENTRIES[entry](obj, y, bad, None)
    for label in (NAN, *case.refused):
        y[-1] = label
        for entry in set(ENTRIES):
            with pytest.raises(ValueError, match=f"y_true must .*found {label} at row {n - 1}"):
                ENTRIES[entry](obj, y, f, None)


X = np.random.default_rng(3).random((600, 4))
WEIGHTS = np.random.default_rng(4).integers(1, 4, 600).astype(float)
ROUNDS = 5


def training_labels(case: ObjectiveCase) -> Array:
    """Labels of the case's kind that depend on X, in equal numbers."""
    position = np.argsort(np.argsort(X[:, 0] + X[:, 1])) * len(case.labels) // len(X)
    return np.array(case.labels, float)[position]


def num_class(case: ObjectiveCase) -> dict[str, int]:
    return {} if case.outputs == 1 else {"num_class": case.outputs}


def check_plain_regressors_are_refused(obj: go.Objective, y: Array) -> None:
    """They would return margins as predictions."""
    for plain in (xgb.XGBRegressor(objective=obj), lgb.LGBMRegressor(objective=obj, verbose=-1)):
        with pytest.raises(TypeError, match="import .*Regressor from gbdt_objectives.adapters"):
            plain.fit(X, y)


def check_four_interfaces_give_one_model(case: ObjectiveCase) -> None:
    y, obj = training_labels(case), case.on(len(X))
    if obj.link == LOG:
        check_plain_regressors_are_refused(obj, y)
        return
    classes = num_class(case)
    params = {"num_leaves": 7, "verbose": -1, "seed": 0, "deterministic": True, **classes}
    params |= {"metric": "None"}  # LGBMRegressor's own is not for several outputs
    for weight in with_and_without_weights(WEIGHTS):
        data = xgb.DMatrix(X, y, weight=weight)
        native = xgb.train({"max_depth": 3, "seed": 0, **classes}, data, ROUNDS, obj=obj)
        sklearn = xgb.XGBRegressor(
            n_estimators=ROUNDS, max_depth=3, random_state=0, objective=obj, **classes
        )
        sklearn.fit(X, y, sample_weight=weight)
        margin = native.predict(xgb.DMatrix(X), output_margin=True)
        np.testing.assert_array_equal(margin, sklearn.predict(X, output_margin=True))
        assert np.ptp(margin) > 0.1  # it learned something

        dataset = lgb.Dataset(X, y, weight=weight)
        raw = lgb.train({**params, "objective": obj}, dataset, ROUNDS).predict(X)
        estimator = lgb.LGBMRegressor(n_estimators=ROUNDS, objective=obj, **params)
        estimator.fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(raw, estimator.predict(X))
        assert np.ptp(raw) > 0.1

        if weight is None:
            unweighted = margin
        else:  # the weights count
            assert np.abs(margin - unweighted).max() > 1e-3
        for fitted in (sklearn, estimator):  # a fitted model holds its objective
            again = pickle.loads(pickle.dumps(fitted))
            np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
            assert again.get_params()["objective"] == obj


def check_booster_cross_validation(case: ObjectiveCase) -> None:
    y, obj, classes = training_labels(case), case.on(len(X)), num_class(case)
    metric = go.metrics.squared_error_metric() if obj.is_by_row else go.loss_metric(obj)
    start = 0.0 if classes else float(y.mean())
    by_xgboost = partial(
        xgb.cv,
        {"max_depth": 3, "base_score": start, "disable_default_eval_metric": 1, "eta": 0.3,
         **classes},
        xgb.DMatrix(X, y), 8, nfold=3, obj=obj, custom_metric=metric.xgboost,
        as_pandas=False, seed=0,
    )  # fmt: skip
    by_lightgbm = partial(
        lgb.cv,
        {"objective": obj, "metric": "None", "verbose": -1, "learning_rate": 0.2, **classes},
        lgb.Dataset(X, y), 8, nfold=3, stratified=False, feval=metric.lightgbm,
    )  # fmt: skip
    if obj.is_by_row:  # its rows are cut
        for cross_validate in (by_xgboost, by_lightgbm):
            with pytest.raises(ValueError, match="y_true has 400 rows, but .* has 600"):
                cross_validate()
        return
    for losses in (by_xgboost()["test-loss-mean"], by_lightgbm()["valid loss-mean"]):
        assert len(losses) == 8
        assert losses[-1] < (0.8 if classes else 1.0) * losses[0]


def train_with_xgboost(obj: go.Objective, y: Array, start: Any, w: Any) -> None:
    xgboost_train({}, xgb.DMatrix(X, y, weight=w, base_margin=start), 2, objective=obj)


def train_with_lightgbm(obj: go.Objective, y: Array, start: Any, w: Any) -> None:
    data = lgb.Dataset(X, y, weight=w, init_score=start)
    lightgbm_train({"verbose": -1}, data, 2, objective=obj)


def check_training_refuses_bad_input(case: ObjectiveCase) -> None:
    good, n = training_labels(case), len(X)
    obj = case.on(n)
    for train in (train_with_xgboost, train_with_lightgbm):
        train(obj, good, None, None)
        for label in (NAN, INF, *case.refused):
            y = np.where(np.arange(n) == 7, label, good)
            with pytest.raises(ValueError, match="(?i)label|y_true must"):
                train(obj, y, None, None)
        for margin in (NAN, INF, -INF):
            start = case.repeated(np.where(np.arange(n) == 7, margin, good))
            with pytest.raises(
                ValueError, match="(base_margin|init_score)( of data)? must be finite"
            ):
                train(obj, good, start, None)
        for weight in (-1, NAN, INF):
            with pytest.raises(ValueError, match="(?i)weight"):
                train(obj, good, None, np.where(np.arange(n) == 7, weight, 1.0))
        with pytest.raises(ValueError, match="sample_weight is 0 in all"):
            train(obj, good, None, np.zeros(n))


CHECKS = [
    check_what_boosters_assume,
    check_factor_of_the_gradient,
    check_weight_is_repetition_to_the_last_digits,
    check_zero_weight_is_absence,
    check_calls_return_fresh_native_float32,
    check_bound_to_its_data_it_is_the_same,
    check_is_a_value,
    check_all_labels_of_its_domain_are_finite_in_both_tails,
    check_refuses_bad_input,
    check_finds_bad_rows_in_a_late_block,
    check_four_interfaces_give_one_model,
    check_booster_cross_validation,
    check_training_refuses_bad_input,
]


LATER = {*OPTIONS, "kappa-matrix-unmeasured"} - {"kappa-matrix"}
"""What the inner loop leaves to the whole run: cases of a loss of which another case is checked. Of
a matrix, the check of the measured one takes seconds."""


def marked(case: ObjectiveCase) -> Any:
    """The parameter of a test; the inner loop leaves out options, and where jax compiles."""
    slow = case.name.startswith("user-loss") or case.name in LATER
    return pytest.param(case, id=case.name, marks=[pytest.mark.slow] if slow else [])


def cell(check: Callable[[ObjectiveCase], None], case: ObjectiveCase) -> Any:
    """Those of a check, which it leaves out where four models are trained, too."""
    slow = check is check_four_interfaces_give_one_model or case.name.startswith("user-loss")
    marks = [pytest.mark.slow] if slow else []
    return pytest.param(check, case, id=f"{check.__name__}-{case}", marks=marks)


OF_TRAINING = (
    check_four_interfaces_give_one_model,
    check_booster_cross_validation,
    check_training_refuses_bad_input,
)
"""What a booster does with a loss is the same for all of its options: one or two are enough."""
