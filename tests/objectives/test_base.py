"""The shell of objectives: what it refuses, with argument, value and remedy, also in training.

What every objective refuses is in the contract; here is what is special to one or to a booster, and
what a loss must declare and return.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives._checks.arrays import BINARY
from gbdt_objectives._links import Link
from gbdt_objectives.objectives import LOG, REAL, Loss, Objective, base
from tests.cases import each, refusals, refused

pytestmark = pytest.mark.filterwarnings("ignore:boosting starts at")

NAN, INF = float("nan"), float("inf")
QWK = go.qwk_objective([0, 1, 2, 3])
LOGLOSS = go.weighted_logloss_objective(0.1)
LINEAR = go.qwk_objective(clip=False)


def squared_error(y_true, margin, sample_weight):
    return margin - y_true, np.ones_like(margin)


USER = go.objective(squared_error)


X = np.random.default_rng(0).random((200, 2))
GOOD = np.resize([0.0, 1.0], 200)


def labels(bad: float) -> np.ndarray:
    y = GOOD.copy()
    y[7] = bad
    return y


def result(change):
    """An objective of a user's function, whose gradient and hessian are made of y and f so."""
    return go.objective(lambda y, f, w: change(y, f))


IN_TRAINING = [
    ("label outside the range", QWK, labels(7), None, "found 7.0 at row 7"),
    ("label not 0 or 1", LOGLOSS, labels(3), None, "must be 0 .*found 3.0 at row 7"),
    ("constant labels", go.qwk_objective(), np.ones(200), None, "constant, all 1"),
    ("all weights 0", QWK, GOOD, np.zeros(200), "(?i)weight"),
    ("a negative weight", QWK, GOOD, np.where(np.arange(200) == 5, -1, 1.0), "(?i)weight"),
    ("nan gradient", result(lambda y, f: (np.where(np.arange(200) == 3, NAN, f), 1.0)), GOOD, None,
     "gradient returned by <lambda> must be finite, found nan at row 3"),
    ("short gradient", result(lambda y, f: (f[1:], 1.0)), GOOD, None,
     "must have the margin's shape"),
    ("negative hessian", result(lambda y, f: (f - y, -1.0)), GOOD, None, "hessian .* must be >= 0"),
    ("zero hessian", result(lambda y, f: (f - y, 0 * f)), GOOD, None, "not 0 everywhere"),
    ("only a gradient", result(lambda y, f: f - y), GOOD, None, "must return a tuple"),
    ("writes to its input", result(lambda y, f: (np.subtract(f, y, out=f), 1.0)), GOOD, None,
     "read-only"),
]  # fmt: skip


@each(
    ("obj", "y", "weight", "message"),
    [row[1:] for row in IN_TRAINING],
    ids=[row[0] for row in IN_TRAINING],
)
def test_raised_through_training_in_all_four_interfaces(obj, y, weight, message) -> None:
    fits = [
        lambda: xgb.train({}, xgb.DMatrix(X, y, weight=weight), 2, obj=obj),
        lambda: lgb.train({"objective": obj, "verbose": -1}, lgb.Dataset(X, y, weight=weight), 2),
        lambda: xgb.XGBRegressor(objective=obj).fit(X, y, sample_weight=weight),
        lambda: lgb.LGBMRegressor(objective=obj, verbose=-1).fit(X, y, sample_weight=weight),
    ]
    for fit in fits:
        with pytest.raises((ValueError, TypeError), match=message):
            fit()


def test_labels_that_lightgbm_replaces() -> None:
    """A constructed Dataset holds 0 for nan and 1e38 for inf: only what is out of range shows.

    The train() of the adapters looks at the labels before that. XGBoost refuses them itself.
    """
    for bad, seen in ((NAN, 0.0), (INF, 1e38)):
        data = lgb.Dataset(X, labels(bad)).construct()
        assert data.get_label()[7] == pytest.approx(seen, rel=1e-6)
        with pytest.raises(ValueError, match="(?i)label"):
            xgb.train({}, xgb.DMatrix(X, labels(bad)), 2, obj=QWK)
    params = {"objective": go.qwk_objective([1, 2]), "verbose": -1}
    for bad in (NAN, INF):
        with pytest.raises(ValueError, match="y_true must lie in label_range"):
            lgb.train(params, lgb.Dataset(X, labels(bad) + 1), 2)


# Losses of users: each slip is named, with what to write.


@dataclass(frozen=True, kw_only=True)
class HalfSquared(Loss):
    labels = REAL
    hessian = "upper_bound"
    intercept: Any = None

    def row_loss(self, y, f, xp):
        return 0.5 * (f - y) ** 2

    def gradient_hessian(self, y, f, totals, xp):
        return f - y, 1.0


class OneTerm(HalfSquared):
    def totals(self, rows):
        return rows.sum(lambda y, f, xp: (f - y) ** 2)


class SummedRows(HalfSquared):
    def row_loss(self, y, f, xp):
        return (0.5 * (f - y) ** 2).sum()


class MeanRows(HalfSquared):
    def row_loss(self, y, f, xp):
        return (0.5 * (f - y) ** 2).mean()


class NoGradient(Loss):
    labels = REAL
    hessian = "exact"


@each(
    ("kind", "call", "message"),
    [
        (OneTerm, "gradient_hessian", r"must give a tuple, found .*: write \(term,\)"),
        (SummedRows, "loss", r"row_loss of SummedRowsObjective must give the loss of each row"),
        (MeanRows, "mean_loss", "leave sums and means to value"),
        (NoGradient, "gradient_hessian", "NoGradientObjective has no gradient: write gradient_"),
    ],
)
def test_a_loss_that_gives_something_else(kind, call, message) -> None:
    objective = go.objective(kind())
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=message):
        getattr(objective, call)(np.arange(4.0), np.zeros(4))


def declaring(**attributes: Any) -> type[Loss]:
    return type("Declared", (HalfSquared,), attributes)


@refused(
    ({"labels": "real"}, "labels of DeclaredObjective must be a Domain, found 'real'", TypeError),
    ({"hessian": "exakt"}, "hessian of DeclaredObjective must be one of 'exact'"),
    ({"link": 3}, "link of DeclaredObjective must be a Link, found 3", TypeError),
    ({"link": Link.softmax(3)}, "link='softmax' is for K margins a row, found one"),
    ({"link": Link.softmax(3), "outputs": 2}, "is for 3 classes, found outputs=2"),
    ({"link": LOG, "outputs": 3}, "is for one margin a row, found outputs=3"),
    ({"outputs": 3, "given": {"intercept": 0.5}}, "must hold 3 numbers, one an output, found 0.5"),
)
def test_a_loss_that_declares_what_cannot_be(attributes) -> None:
    attributes = dict(attributes)
    given = attributes.pop("given", {})
    loss = declaring(**attributes)(**given)
    go.objective(loss)


@dataclass(frozen=True, kw_only=True)
class Cubic(Loss):
    """f^3/6 - y f, whose hessian is the margin itself."""

    hessian = "exact"
    labels = REAL

    def row_loss(self, y, f, xp):
        return f**3 / 6 - y * f

    def gradient_hessian(self, y, f, totals, xp):
        return f**2 / 2 - y, f


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_margin_may_be_returned_as_the_hessian(dtype) -> None:
    """Its memory is that of the margins, which is not written to."""
    margin = np.array([1, 2, 3], dtype)
    cubic = Objective(Cubic())
    _, hessian = cubic(np.ones(3), margin)
    np.testing.assert_array_equal(hessian, [1, 2, 3])
    _, hessian = cubic.bind(np.ones(3), start=1.0)(margin - 1)
    np.testing.assert_array_equal(hessian, [1, 2, 3])


@refused(
    (lambda y, f: ((f - y) * np.nan, f), "the gradient of BadObjective must be finite, found"),
    (lambda y, f: (f - y, f * np.inf), "the hessian of BadObjective must be finite, found inf"),
    (lambda y, f: ((f - y).sum(), f), r"gradient for each .* found a gradient of shape \(\)"),
    (lambda y, f: (f - y, f[:2]), r"shape \(3,\), found a hessian of shape \(2,\)"),
    (lambda y, f: (1e300 * (f - y), f), "more than boosters' float32 holds: divide the loss"),
)
def test_what_a_loss_returns_is_checked(returned) -> None:
    class Bad(Cubic):
        def gradient_hessian(self, y, f, totals, xp):
            return returned(y.astype(float), f)

    Objective(Bad())(np.zeros(3), np.array([1.0, 2.0, 3.0]))


@each("objective", [go.qwk_objective(), LOGLOSS, Objective(Cubic())])
def test_threads_share_a_bound_objective(objective) -> None:
    """What one thread got stays, whatever the others ask for."""
    bound = objective.bind([0, 1, 1])
    margin = np.array([0.2, 0.4, 0.5])
    here = bound(margin)
    before = [values.copy() for values in here]
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(bound, margin + 1).result()
    np.testing.assert_array_equal(here, before)
    # a route of its own: both are float32, of numbers up to 3
    expected = objective.bind([0, 1, 1])(margin + 1)
    np.testing.assert_allclose(there, expected, rtol=0, atol=1e-6)
    assert bound(margin)[0] is here[0]  # its memory is used again


def test_lightgbm_takes_a_bound_objective() -> None:
    """It copies its parameters, which would be another memory than the one that is written to."""
    X = np.arange(60.0)[:, np.newaxis]
    y = (X[:, 0] // 20).astype(float)
    parameters = {"num_leaves": 4, "num_threads": 1, "verbosity": -1}
    bound, free = (
        lgb.train({**parameters, "objective": objective}, lgb.Dataset(X, y), 5).predict(X)
        for objective in (LINEAR.bind(y), LINEAR)
    )
    # one writes into its memory, the other into a new one; gradients are float32
    np.testing.assert_allclose(bound, free, rtol=0, atol=1e-6)
    assert np.ptp(bound) > 0.1


def test_the_mean_loss_is_that_of_a_unit_of_weight() -> None:
    y, z, w = [0, 1, 1], [0.5, -1.0, 2.0], [1, 2, 3]
    assert LOGLOSS.mean_loss(y, z, w) == pytest.approx(LOGLOSS.loss(y, z, w) / 6, rel=1e-15)
    assert LOGLOSS.mean_loss(y, z) == pytest.approx(LOGLOSS.loss(y, z) / 3, rel=1e-15)
    assert go.weighted_logloss_objective(1).loss(y, [0, 0, 0], w) == pytest.approx(6 * np.log(2))


@each(
    ("hook", "arguments"),
    [
        ("measured", "rows"),
        ("totals", "rows"),
        ("value", "rows"),
        ("row_loss", "y, f, xp"),
        ("gradient_hessian", "y, f, totals, xp"),
    ],
)
def test_methods_of_too_few_arguments_are_refused(hook: str, arguments: str) -> None:
    fields = {"labels": BINARY, "hessian": "exact", hook: lambda self: None}
    with pytest.raises(TypeError, match=rf"Wrong.{hook} must take \(self, {arguments}\): "):
        type("Wrong", (Loss,), fields)


def test_workers_join_where_a_booster_calls(monkeypatch) -> None:
    joined = []
    monkeypatch.setattr(base._workers, "workers", lambda: 2)
    monkeypatch.setattr(base._workers, "together", joined.append)
    QWK._together()
    assert not joined  # a user's own call
    monkeypatch.setattr(base.Stack, "is_called", lambda stack: True)
    QWK._together()
    assert joined == [QWK]
    monkeypatch.setattr(base._workers, "together_now", lambda: True)
    QWK._together()
    assert joined == [QWK]  # within a call that has joined


class Booster:
    """What is trained, further up."""


@dataclass(frozen=True, kw_only=True)
class Counted(Loss):
    """Its ``measured`` counts calls in ``calls``, and refuses margins."""

    labels = BINARY
    hessian = "exact"
    needs_labels = True
    calls: list[int]

    def measured(self, rows: Any) -> Counted:
        assert rows.f is None
        self.calls.append(len(rows))
        return self


def test_an_objective_is_bound_once_while_labels_and_weights_stay(monkeypatch) -> None:
    calls: list[int] = []
    objective, owner = Objective(Counted(calls=calls)), Booster()

    def bind(y, w=None, of=objective, owner=owner) -> base.BoundObjective:
        return of._bound_to(owner, np.array(y, float), w and np.array(w, float))

    first = bind([0, 1, 1, 1])
    assert bind([0, 1, 1, 1]) is first
    assert bind([0, 1, 1, 1], of=Objective(Counted(calls=calls))) is first  # an equal one
    assert calls == [4]
    for changed in (([0, 1, 1, 0],), ([0, 1, 1, 1, 0],), ([0, 1, 1, 1], [1, 1, 2, 1])):
        assert bind(*changed) is bind(*changed)
    assert calls == [4, 4, 5, 4]
    assert bind([0, 1, 1, 1], owner=Booster()) is not bind([0, 1, 1, 1])
    monkeypatch.setattr(base._workers, "together_now", lambda: True)
    with pytest.raises(ValueError, match="or its labels or weights, have changed since an object"):
        bind([0, 1, 1, 0])
    bind([0, 1, 1, 0], of=Objective(Counted(calls=[])))  # another training
    kept = len(base._bound)
    del owner
    del bind  # which holds it
    assert len(base._bound) == kept - 1


DATA = xgb.DMatrix(np.eye(2), label=[0, 1])
test_refusals = refusals(
    (lambda: QWK([0, 1], np.zeros((2, 3))), r"one margin per row, found shape .* remove num_class"),
    (lambda: QWK(DATA, np.zeros(2)), "swap the two", TypeError),
    (lambda: QWK.gradient_hessian(DATA, np.zeros(2)), "found a DMatrix", TypeError),
    (lambda: type("NoDomain", (Loss,), {"hessian": "exact"}),
     "NoDomain must declare hessian and labels", TypeError),
    (lambda: type("NoKind", (Loss,), {"labels": BINARY}),
     "NoKind must declare hessian and labels", TypeError),
    (lambda: QWK([0, 4], [1, 1]), r"label_range \(0.0, 3.0\), found 4.0 at row 1"),
    (lambda: LOGLOSS([0, 2], [0, 0]), r"must be 0 \(negative\) or 1 \(positive\), found 2.0"),
    (lambda: LOGLOSS([-1, 1], [0, 0]), "found -1"),
    (lambda: declaring(gradient_hessian=lambda self, y, f, xp: (f - y, 1.0)),
     r"gradient_hessian must take \(self, y, f, totals, xp\)", TypeError),
    (lambda: go.objective(HalfSquared), "make an instance of it", TypeError),
)  # fmt: skip
