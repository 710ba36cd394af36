"""Several workers of XGBoost's collective: the model and the numbers of one machine, or an error
on all of them."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from xgboost import collective

import gbdt_objectives as go
from gbdt_objectives._checks import Training
from gbdt_objectives._checks.arrays import REAL
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives.adapters._train import StartedObjective
from gbdt_objectives.adapters.xgboost import XGBClassifier, XGBRegressor, cv, early_stopping, train
from gbdt_objectives.objectives import Loss
from tests.contract import COST, METRICS, OBJECTIVES, OPTIONS, ObjectiveCase, with_fields
from tests.objectives.test_start import median, poisson, softmax, squared_error
from tests.strangers.poisson import poisson_objective
from tests.strangers.rmse import rmse_objective
from tests.workers import Failed, Workers

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("workers")]

PARAMS = {"max_depth": 3, "nthread": 1}
N = 600
PATIENCE = 3
"""Seconds until a worker that hangs is given up."""

# --- who has which rows

FACTOR = {"no rows": 1.0, "one row": 2.0**10, "one class": 2.0**-10, "the rest": 1.0}
"""What a part holds, and by what its weights are multiplied, exactly."""

Kinds = tuple[str, ...]
HALVES: Kinds = ("a share", "a share", "no rows")
"""What each worker has, by rank. What is right on these three is right on the first two."""


def parts(kinds: Kinds, y: np.ndarray) -> list[np.ndarray]:
    """The positions of each worker's rows, of rising labels."""
    found = {
        "no rows": np.arange(0),
        "one row": np.array([len(y) // 2]),
        "one class": np.flatnonzero(y == y[0]),
    }
    few = np.concatenate([found[kind] for kind in kinds if kind in found] or [np.arange(0)])
    rest = np.setdiff1d(np.arange(len(y)), few)
    shares = iter(np.array_split(rest, sum(kind not in found for kind in kinds)))
    return [found[kind] if kind in found else next(shares) for kind in kinds]


def weights(kinds: Kinds, y: np.ndarray) -> np.ndarray:
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    for kind, at in zip(kinds, parts(kinds, y), strict=True):
        w[at] *= FACTOR.get(kind, 1.0)
    return w


def rows(
    labels: tuple[float, ...] = (0, 1, 2, 3), kinds: Kinds = HALVES
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of few values, so that bins do not depend on sketches; sorted by label, so that
    workers are as unlike as can be."""
    rng = np.random.default_rng(0)
    at = np.sort(rng.integers(0, len(labels), N))
    X = rng.integers(0, 12, (N, 4)) // 2 + np.column_stack([4 * at / len(labels)] * 4).round()
    y = np.array(labels, float)[at]
    return X, y, weights(kinds, y)


def share(rank: int, world: int, kinds: Kinds = HALVES, y: np.ndarray | None = None) -> np.ndarray:
    """The rows of a worker; all of them on one machine."""
    return parts(kinds, np.zeros(N) if y is None else y)[rank] if world > 1 else np.arange(N)


def matrix(X: np.ndarray, y: np.ndarray, w: np.ndarray, at: np.ndarray) -> xgb.DMatrix:
    return xgb.DMatrix(X[at], y[at], weight=w[at])


class Pools(dict[int, Workers]):
    """Workers by their number, from when they are needed first."""

    def __missing__(self, world: int) -> Workers:
        self[world] = Workers(world)
        return self[world]


@pytest.fixture(scope="module")
def pools() -> Iterator[Pools]:
    found = Pools()
    yield found
    for pool in found.values():
        pool.close()


@pytest.fixture
def layout() -> Kinds:
    """test_number_of_workers.py tries many."""
    return HALVES


Run = Callable[..., tuple[Any, list[Any]]]


@pytest.fixture
def run(pools: Pools, layout: Kinds) -> Run:
    """What one machine finds, and what each worker does."""

    def both(case: Callable[..., Any], *arguments: Any) -> tuple[Any, list[Any]]:
        found = pools[len(layout)].run(case, layout, *arguments, deadline=300, timeout=120)
        for result in found:
            assert not isinstance(result, Failed), result.trace
        return case(0, 1, layout, *arguments), found

    return both


def all_raise(results: list[Any], kind: str, text: str) -> None:
    for result in results:
        assert isinstance(result, Failed), result
        assert result.kind == kind, result.trace
        assert text in result.text, result.text


# --- the same model


REFUSED = "user-loss-coupled"
CASES = {case.name: case for case in [
    *OBJECTIVES,
    ObjectiveCase("poisson", poisson_objective(), (0, 1, 2, 5), (-3, 3), ()),
    ObjectiveCase("rmse", rmse_objective(), (0, 1, 2, 5), (-3, 3), ()),
] if case.of_positions is None}  # fmt: skip


def fit(rank: int, world: int, kinds: Kinds, names: list[str]) -> dict[str, Any]:
    found = {}
    for name in names:
        X, y, w = rows(CASES[name].labels, kinds)
        data = matrix(X, y, w, share(rank, world, kinds, y))
        booster = train(PARAMS, data, 4, objective=CASES[name].objective)
        margin = booster.predict(xgb.DMatrix(X), output_margin=True)
        found[name] = booster.get_dump(dump_format="json"), base_score(booster), margin
    return found


def base_score(booster: xgb.Booster) -> str:
    return re.search(r'"base_score":"([^"]*)"', booster.save_config())[1]


@pytest.fixture
def names() -> list[str]:
    """Objectives to train; those in OPTIONS are options of another one."""
    return [name for name in CASES if name != REFUSED and name not in OPTIONS]


@pytest.mark.filterwarnings("ignore:negative_keep_rate drops rows")  # half of them have label 1
def test_every_objective_trains_the_model_of_one_machine(run: Run, names: list[str]) -> None:
    one, found = run(fit, names)
    for result in found:
        assert not [name for name in one if result[name][:2] != one[name][:2]]
        for name, (*_, margin) in one.items():
            np.testing.assert_array_equal(result[name][2], margin)


def fit_own(rank: int, world: int, kinds: Kinds) -> Any:
    """Where functions without an intercept start, after a round that does nearly nothing."""
    X, y, w = rows()
    y, at = 60 + 4 * y, share(rank, world)
    found = []
    for function, options in (
        (median, {}), (squared_error, {"link": "identity"}), (poisson, {"link": "log"}),
        (fails_without_rows, {}), (softmax, {"link": "softmax", "outputs": 4}),
    ):  # fmt: skip
        labels = (y - 60) / 4 if function is softmax else y
        objective = go.objective(function, **options)
        booster = train({**PARAMS, "eta": 1e-9}, matrix(X, labels, w, at), 1, objective=objective)
        found.append(booster.predict(xgb.DMatrix(X[:1])).ravel().tolist())
    return found


def fails_without_rows(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    if not len(y_true):
        raise ValueError("no rows")
    return squared_error(y_true, margin, sample_weight)


def test_own_functions_start_where_the_gradients_of_all_rows_sum_to_0(run: Run) -> None:
    one, found = run(fit_own)
    _, y, w = rows()
    y = 60 + 4 * y
    mean = np.average(y, weights=w)
    assert one[1:4] == [pytest.approx([mean], rel=1e-6)] * 3
    assert one[0] == pytest.approx([np.median(np.repeat(y, w.astype(int)))], rel=1e-6)
    for result in found:
        np.testing.assert_allclose(np.hstack(result), np.hstack(one), rtol=1e-6)


def fit_and_stop(rank: int, world: int, kinds: Kinds) -> Any:
    """Twice: from the intercept, and on from the model of the first time. Workers evaluate the
    rows of the next one, so that one may have some of these only."""
    X, y, w = rows(kinds=kinds)
    data = matrix(X, y, w, share(rank, world, kinds, y))
    noisy = np.where(np.arange(N) % 7 == 0, y[::-1], y)
    held_out = matrix(X, noisy, w, share((rank + 1) % world, world, kinds, y))
    found, earlier = [], None
    for metric in (go.extended_qwk_metric(), go.qwk_metric()):
        history: dict[str, Any] = {}
        earlier = train(
            PARAMS, data, 40, objective=go.qwk_objective(), metric=metric,
            evals=[(held_out, "v")], early_stopping_rounds=3, evals_result=history,
            xgb_model=earlier,
        )  # fmt: skip
        found.append((earlier.get_dump(), earlier.best_iteration, history["v"][metric.name]))
    return found


def test_early_stopping_sees_the_metric_of_all_rows(run: Run) -> None:
    one, found = run(fit_and_stop)
    for result in found:
        for (dump, best, values), expected in zip(result, one, strict=True):
            assert (dump, best) == expected[:2]
            assert best < 36
            # sums in another order
            np.testing.assert_allclose(values, expected[2], rtol=0, atol=1e-13)


def fit_naively(rank: int, world: int) -> Any:
    """What anyone would write first: the sums of the rows at hand."""
    X, y, w = rows()
    at = share(rank, world)
    whole = go.qwk_objective(y, sample_weight=w)
    own = with_fields(whole, reduce=lambda sums: sums)
    booster = train(PARAMS, matrix(X, y, w, at), 8, objective=own)
    return booster.predict(xgb.DMatrix(X))


def test_sums_of_the_own_rows_train_another_model(pair: Workers) -> None:
    one, results = fit_naively(0, 1), pair.run(fit_naively)
    assert np.abs(results[0] - one).max() > 0.01


ESTIMATORS: dict[str, tuple[Any, go.Objective, go.Metric]] = {
    "regressor": (XGBRegressor, go.qwk_objective(), go.qwk_metric((0, 3))),
    "refitted thresholds": (
        XGBClassifier,
        go.ordinal_logit_objective(4),
        go.loss_metric(go.ordinal_logit_objective(4)),
    ),
    "four outputs": (
        XGBClassifier,
        go.focal_objective(1, n_classes=4),
        go.loss_metric(go.focal_objective(1, n_classes=4)),
    ),
}


def fit_estimators(rank: int, world: int, kinds: Kinds) -> dict[str, Any]:
    found = {}
    X, y, w = rows(kinds=kinds)
    at = share(rank, world, kinds, y)
    for name, (kind, objective, metric) in ESTIMATORS.items():
        model = kind(objective=objective, eval_metric=metric, n_estimators=6, max_depth=3, n_jobs=1)
        labels = y[at].astype(int)
        model.fit(X[at], labels, sample_weight=w[at], verbose=False,
                  eval_set=[(X[at], labels)], sample_weight_eval_set=[w[at]])  # fmt: skip
        values = model.evals_result()["validation_0"][metric.name]
        p = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
        found[name] = model.get_booster().get_dump(), p, values
    return found


def test_estimators_in_a_worker(run: Run) -> None:
    one, found = run(fit_estimators)
    for result in found:
        for name, (dump, p, values) in one.items():
            # thresholds are searched from other samples and found within 1e-6, as documented, which
            # six rounds amplify; all else is the same
            tolerance = 1e-5 if name == "refitted thresholds" else 0
            if not tolerance:
                assert result[name][0] == dump, name
            np.testing.assert_allclose(result[name][1], p, rtol=0, atol=tolerance)
            np.testing.assert_allclose(result[name][2], values, rtol=0, atol=2e-6)  # as printed


# --- bare xgb.train


def fit_bare(rank: int, world: int, kinds: Kinds) -> Any:
    X, y, w = rows()
    at = share(rank, world)
    data, history = matrix(X, y, w, at), {}
    metric = go.qwk_metric((0, 3))
    booster = xgb.train(
        {**PARAMS, "base_score": 1.5, "disable_default_eval_metric": 1}, data, 8,
        obj=go.qwk_objective(), custom_metric=metric.xgboost,
        evals=[(matrix(X[::-1], y[::-1], w[::-1], at), "v")],  # not the rows of training
        evals_result=history, verbose_eval=False, callbacks=[early_stopping(metric, 20)],
    )  # fmt: skip
    return booster.get_dump(dump_format="json"), history["v"]["qwk"]


def test_bare_training(run: Run) -> None:
    (dump, history), found = run(fit_bare)
    for result in found:
        assert result[0] == dump
        np.testing.assert_allclose(result[1], history, atol=1e-6)  # which XGBoost prints so


@contextmanager
def messages() -> Iterator[list[int]]:
    """How many numbers each message has that is sent meanwhile."""
    sent: list[int] = []
    send = _workers._send
    _workers._send = lambda own, *rest: (sent.append(len(own)), send(own, *rest))[1]
    try:
        yield sent
    finally:
        _workers._send = send


def count_messages(rank: int, world: int) -> Any:
    data = matrix(*rows(), share(rank, world))
    counts = []
    for objective in (go.qwk_objective(), go.qwk_objective(label_range=(0, 3))):
        with messages() as sent:
            xgb.train({**PARAMS, "base_score": 1.5}, data, 10, obj=objective)
        counts.append(sent)
    return counts


def test_labels_are_measured_once_and_sums_sent_once_a_round(pair: Workers) -> None:
    for counts in pair.run(count_messages):
        # of two workers low, high, n and sums; n, F, D; the ends and sums of where it starts
        assert counts == [[10, 3, 8] + 9 * [3]] * 2


def count_messages_of_rounds(rank: int, world: int) -> dict[str, list[int]]:
    """How many more messages each round takes, by our train."""
    found = {}
    for name, case in CASES.items():
        if name in (
            *OPTIONS,
            "ordinal-logit",
            REFUSED,
        ):  # thresholds are fitted in several messages
            continue
        counts = []
        for rounds in (1, 2, 4):
            data = matrix(*rows(case.labels), share(rank, world))
            with messages() as sent:
                train(PARAMS, data, rounds, objective=case.objective)
            counts.append(len(sent))
        found[name] = np.diff(counts).tolist()
    return found


def test_a_round_of_our_training_is_one_message(pair: Workers) -> None:
    for found in pair.run(count_messages_of_rounds, deadline=300, timeout=120):
        assert not isinstance(found, Failed), found.trace
        assert {"qwk", "kappa-absolute", "ratio", "offset-logloss", "user-loss"} <= set(found)
        assert all(more == [1, 2] for more in found.values()), found


def call_with_margin(rank: int, world: int, value: float) -> None:
    """The second call, in which one worker has this margin."""
    data = matrix(*rows(), share(rank, world))
    started = StartedObjective(go.qwk_objective(clip=False), None, Training())
    margin = np.ones(data.num_row())
    for margin[0] in (1.0, value if rank == 1 else 1.0):
        with np.errstate(over="ignore", invalid="ignore"):
            started(margin, data)


def change_labels(rank: int, world: int) -> Any:
    data = matrix(*rows(), share(rank, world))
    objective, dumps = go.qwk_objective(), []
    for _ in range(2):
        booster = xgb.train({**PARAMS, "base_score": 1.5}, data, 2, obj=objective)
        dumps.append(booster.get_dump(dump_format="json"))
        labels = data.get_label()
        if rank == 0 and len(dumps) == 1:
            ones = np.flatnonzero((labels == 1) & (data.get_weight() == 2))[:40]
            labels[ones] = np.tile([0.0, 2.0], 20)  # their sum is as it was
        data.set_label(labels)
    return dumps


def test_every_training_measures_its_labels(pair: Workers) -> None:
    dumps = change_labels(0, 1)
    assert dumps[0] != dumps[1]
    assert pair.run(change_labels) == [dumps] * 2


def change_labels_while_training(rank: int, world: int) -> None:
    data = matrix(*rows(), share(rank, world))
    booster = xgb.Booster({**PARAMS, "base_score": 1.5}, [data])
    for k in range(3):
        booster.update(data, k, go.qwk_objective())
        data.set_label(data.get_label() + 1)


class Smoother(xgb.callback.TrainingCallback):
    def __init__(self, data: xgb.DMatrix) -> None:
        super().__init__()
        self.data = data

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if epoch == 2:
            self.data.set_label(np.clip(self.data.get_label(), 0.1, 2.9))
        return False


def change_labels_in_our_train(rank: int, world: int, *of: int) -> None:
    data = matrix(*rows(), share(rank, world))
    callbacks = [Smoother(data)] if rank in of else []
    train(PARAMS, data, 4, objective=go.qwk_objective(), callbacks=callbacks)


# --- an objective called by a function of the user's own


def wrapping_all_labels(margin: Any, data: xgb.DMatrix) -> Any:
    return go.qwk_objective(rows()[1])(margin, data)


def wrapping_the_shard(margin: Any, data: xgb.DMatrix) -> Any:
    return go.qwk_objective(data.get_label())(margin, data)


def fit_wrapped(rank: int, world: int, objective: Any) -> Any:
    data = matrix(*rows(), share(rank, world))
    return xgb.train({**PARAMS, "base_score": 1.5}, data, 3, obj=objective).get_dump()


def test_a_wrapped_objective_sums_over_workers(pair: Workers) -> None:
    assert (
        pair.run(fit_wrapped, wrapping_all_labels) == [fit_wrapped(0, 1, wrapping_all_labels)] * 2
    )


# --- metrics


def evaluate(rank: int, world: int, kinds: Kinds, without_rows: Any) -> dict[str, float]:
    """Every metric; ``without_rows``: the shape of a prediction of no rows, if it is not that of
    the others."""
    found = {}
    for case in METRICS:
        y, p, _ = case.rows(N, seed=1)
        order = np.argsort(y, kind="stable")
        y, p = y[order], p[order]
        at = share(rank, world, kinds, y)
        data = xgb.DMatrix(np.zeros((len(at), 1)), y[at], weight=weights(kinds, y)[at])
        own = p[at] if len(at) or without_rows is None else np.empty(without_rows, p.dtype)
        found[case.name] = case.metric.xgboost(own, data)[1]
    return found


def test_every_metric_is_that_of_all_rows(run: Run) -> None:
    for without_rows in (None, (0, 0)):  # as XGBoost predicts from 3.4 on
        one, found = run(evaluate, without_rows)
        for result in found:
            assert result == pytest.approx(one, rel=1e-12, abs=1e-14)  # sums in another order


def score_alone(rank: int, world: int) -> Any:
    """Only one worker looks at its numbers."""
    if rank == 1:
        return None
    y, p = np.array([0.0, 1, 2, 3]), np.array([0.2, 1.1, 1.4, 2.9])
    objective = go.qwk_objective()
    return (
        go.qwk_metric((0, 3))(y, p), go.extended_qwk_metric()(y, p), objective.loss(y, p),
        objective.gradient_hessian(y, p)[0].tolist(), objective.measured(y).mean,
        objective(y, p)[0].tolist(), go.loss_metric(objective)(y, p),
    )  # fmt: skip


def test_numbers_on_plain_arrays_wait_for_nobody(pair: Workers) -> None:
    assert pair.run(score_alone, deadline=20) == [score_alone(0, 1), None]


def wrap_metric(rank: int, world: int) -> None:
    X, y, w = rows()
    data = matrix(X, y, w, share(rank, world))
    metric = go.qwk_metric((0, 3))
    xgb.train(
        {**PARAMS, "disable_default_eval_metric": 1}, data, 2,
        obj=go.qwk_objective(y, sample_weight=w),
        custom_metric=lambda margin, data: ("own", metric(data.get_label(), margin)),
        evals=[(data, "v")], verbose_eval=False,
    )  # fmt: skip


# --- what is not the same everywhere


def fit_from_shard(rank: int, world: int, how: str) -> None:
    X, y, w = rows()
    at = share(rank, world)
    data = matrix(X, y, w, at)
    if how == "labels":
        train(PARAMS, data, 3, objective=go.qwk_objective(y[at]))
    elif how == "range":
        own = (float(y[at].min()), float(y[at].max()))
        train(PARAMS, data, 3, objective=go.qwk_objective(label_range=own))
    elif how == "bare":
        xgb.train({**PARAMS, "base_score": 1.5}, data, 3, obj=go.qwk_objective(y[at]))
    elif how == "closure":
        mean = float(y[at].mean())

        def centred(y_true, margin, sample_weight):
            return margin - y_true + mean, np.ones_like(margin)

        xgb.train({**PARAMS, "base_score": 1.5}, data, 3, obj=go.objective(centred))
    elif how == "rate":
        rate = float(np.mean(y[at] == 0) / 2 + 0.1)
        labels = xgb.DMatrix(X[at], (at % 3 == 0).astype(float))
        train(PARAMS, labels, 3, objective=go.weighted_logloss_objective(rate))
    elif how == "metric":
        metric = go.extended_qwk_metric(y[at])
        train(PARAMS, data, 3, objective=go.qwk_objective(), metric=metric, evals=[(data, "v")])


def fit_with_another_version(rank: int, world: int, library: str) -> None:
    module = sys.modules[library]
    own = module.__version__
    module.__version__ = f"9.{rank}"
    try:
        train(PARAMS, matrix(*rows(), share(rank, world)), 3, objective=go.qwk_objective())
    finally:
        module.__version__ = own


def fit_with_bad_rows(rank: int, world: int, what: str) -> None:
    X, y, w = rows()
    at = share(rank, world)
    y, w = y[at].copy(), w[at].copy()
    objective: go.Objective = go.qwk_objective(label_range=(0, 3))
    if rank == 1:
        if what == "range":
            y[5] = 7
        elif what == "negative weight":
            w[5] = -1
    data = xgb.DMatrix(X[at], y if rank == 0 or what != "no labels" else None)
    if what == "negative weight":
        objective = go.qwk_objective()
        sneaky = data.get_weight
        data.get_weight = lambda: w if rank == 1 else sneaky()  # XGBoost itself refuses it
    train(PARAMS, data, 3, objective=objective)


class OwnSums(Loss):
    """Forgets the other workers; on one machine nothing is wrong with it."""

    hessian = "constant"
    labels = REAL

    def totals(self, rows: Any) -> Any:
        return rows.own_sum(lambda y, f, xp: (1.0, f - y))

    def gradient_hessian(self, y: Any, f: Any, totals: Any, xp: Any) -> Any:
        return f - y - totals[1] / totals[0] / 2, 1.0


def fit_with_own_sums(rank: int, world: int) -> None:
    train(PARAMS, matrix(*rows(), share(rank, world)), 2, objective=go.objective(OwnSums()))


def fit_with_other_arguments(rank: int, world: int, which: str) -> None:
    data = matrix(*rows(), share(rank, world))
    evals = [(data, "a"), (data, "b")]
    if which == "names" and rank == 1:
        evals.reverse()
    if which == "evals" and rank == 1:
        evals.pop()
    rounds = 3 + rank if which == "rounds" else 3
    train(PARAMS, data, rounds, objective=go.qwk_objective(), metric=go.extended_qwk_metric(),
          evals=evals)  # fmt: skip


def fit_with_error(rank: int, world: int, error: Exception) -> None:
    data = matrix(*rows(), share(rank, world))

    def fail(y_true: Any, margin: Any, sample_weight: Any) -> Any:
        if y_true[0] == 0:  # on worker 0 only
            raise error
        return sample_weight * (margin - y_true), sample_weight

    objective = go.objective(fail)
    train(PARAMS, data, 2, objective=objective)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (RuntimeError("a fault"), "RuntimeError", "a fault (worker 0)"),
        (AssertionError(), "RuntimeError", "AssertionError (worker 0)"),
        (KeyError("cost"), "RuntimeError", "KeyError: 'cost' (worker 0)"),
        (ValueError("file \udc80"), "ValueError", "file ? (worker 0)"),
    ],
    ids=["runtime", "assertion", "key", "surrogate"],
)
def test_errors_keep_kind_and_text(pair: Workers, error: Exception, kind: str, text: str) -> None:
    results = pair.run(fit_with_error, error)
    assert results[0].kind == kind
    all_raise(results[1:], kind, text)


def fit_with_margin_of_one(rank: int, world: int) -> None:
    data = matrix(*rows(), share(rank, world))
    if rank == 0:
        data.set_base_margin(np.ones(data.num_row()))
    train(PARAMS, data, 2, objective=go.qwk_objective())


def weighted_error(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    return sample_weight * (margin - y_true), sample_weight


def mean_times_n(y_true: Any, margin: Any, sample_weight: Any) -> float:
    return float(len(y_true) * np.mean((margin - y_true) ** 2))


def fit_without_weight(rank: int, world: int, kinds: Kinds) -> Any:
    """All that counts is on the first worker."""
    X, y, w = rows()
    at = share(rank, world)
    w[share(0, 2).size :] = 0
    data, history = matrix(X, y, w, at), {}
    objective = go.objective(weighted_error, loss=mean_times_n)
    booster = train(PARAMS, data, 2, objective=objective, metric=go.loss_metric(objective),
                    evals=[(data, "v")], evals_result=history)  # fmt: skip
    return booster.get_dump(dump_format="json"), history["v"]["loss"]


def test_own_functions_where_nothing_counts(run: Run) -> None:
    expected, found = run(fit_without_weight)
    for result in found:
        assert result[0] == expected[0]
        assert result[1] == pytest.approx(expected[1], rel=1e-6)  # means of float32


def fit_thresholds(rank: int, world: int, kinds: Kinds) -> Any:
    X, y, w = rows(kinds=kinds)
    at = share(rank, world, kinds, y)
    objective = go.ordinal_logit_objective(4)
    with _workers.together(objective):
        fitted = objective.fitted(y[at], (y + X[:, 0] / 5)[at], w[at])
        _workers.agree()
    return fitted.thresholds


def test_thresholds_fitted_to_margins(run: Run) -> None:
    one, found = run(fit_thresholds)
    for result in found:
        np.testing.assert_allclose(result, one, rtol=0, atol=1e-6)  # where the search ends


def evaluate_bad_label(rank: int, world: int) -> Any:
    data = xgb.DMatrix(np.zeros((4, 1)), [0, 1, 2 * rank, 1])
    return go.weighted_logloss_metric(1).xgboost(np.zeros(4), data)


def cross_validate(rank: int, world: int) -> None:
    data = matrix(*rows(), share(rank, world))
    cv(PARAMS, data, 3, objective=go.qwk_objective(), metric=go.extended_qwk_metric())


SHARD = "from the labels of all rows"
REFUSED_ON_ALL: dict[str, tuple[Any, ...]] = {
    "a margin before the sums": (
        call_with_margin, [np.nan], "ValueError", "repair these rows first (worker 1)"),
    "a margin after the sums": (
        call_with_margin, [1e200], "ValueError",
        "margin, y_true and sample_weight are too large"),
    "labels that change in training": (
        change_labels_while_training, [], "ValueError",
        "have changed since an objective was measured"),
    **{f"labels that a callback of {name} changes": (
        change_labels_in_our_train, of, "ValueError",
        "have changed since an objective was measured")
       for name, of in (("all", [0, 1]), ("one worker", [1]))},
    "a function that wraps one of the shard": (
        fit_wrapped, [wrapping_the_shard], "WorkersDisagree", ""),
    "a function that wraps a metric": (
        wrap_metric, [], "ValueError", "qwk is called on the rows of one worker"),
    **{f"{how} of the shard": (fit_from_shard, [how], "WorkersDisagree", SHARD)
       for how in ("labels", "range", "bare", "closure", "rate", "metric")},
    **{f"other versions of {library}": (
        fit_with_another_version, [library], "WorkersDisagree",
        "the same versions on all workers", f"{library} 9.0", f"{library} 9.1")
       for library in ("gbdt_objectives", "xgboost")},
    "a label out of range": (
        fit_with_bad_rows, ["range"], "ValueError",
        "y_true must lie in label_range (0.0, 3.0), found 7.0 at row 5", "(worker 1)"),
    "no labels": (
        fit_with_bad_rows, ["no labels"], "ValueError",
        "data has no labels: pass label= to the DMatrix", "(worker 1)"),
    "a negative weight": (
        fit_with_bad_rows, ["negative weight"], "ValueError",
        "sample_weight must not be negative, found -1.0 at row 5", "(worker 1)"),
    "sums of the own rows": (
        fit_with_own_sums, [], "TypeError", "was not summed over the workers"),
    **{f"other {which}": (
        fit_with_other_arguments, [which], "WorkersDisagree", "ExtendedQWKMetric")
       for which in ("names", "evals", "rounds")},
    "a start that one worker lacks": (
        fit_with_margin_of_one, [], "ValueError",
        "base_margin has 0 rows, but the labels have 300"),
    "a bad label in a metric": (
        evaluate_bad_label, [], "ValueError",
        "y_true must be >= 0 and <= 1, found 2.0 at row 2"),
    "cv": (cross_validate, [], "ValueError", "cv() is for one machine"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED_ON_ALL)
def test_on_all_workers_it_is_refused(pair: Workers, case: str) -> None:
    function, arguments, kind, *texts = REFUSED_ON_ALL[case]
    results = pair.run(function, *arguments)
    for text in texts:
        all_raise(results, kind, text)
    if texts[-1] == "(worker 1)":
        assert results[0].text.endswith(texts[-1])
    if case == "sums of the own rows":
        assert fit_with_own_sums(0, 1) is None
    if case == "labels of the shard":
        assert "worker 0 has QWKObjective(mean=0." in results[1].text


def test_a_users_loss_that_couples_rows_is_refused(pair: Workers) -> None:
    if REFUSED not in CASES:
        pytest.skip("jax is not installed")
    results = pair.run(fit, HALVES, [REFUSED], deadline=300, timeout=120)  # jax compiles
    all_raise(results, "ValueError", "for a row depends on other rows")


# --- workers that fail


class Faulty(xgb.callback.TrainingCallback):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if epoch != 2:
            return False
        if self.how == "raise":
            raise RuntimeError("a fault")
        if self.how == "die":
            os._exit(9)
        if self.how == "hang":
            time.sleep(2 * PATIENCE)
        if self.how == "skip":
            _workers.all_sum([1.0], reduce=None)
            send = _workers._collective_sum
            _workers._collective_sum = lambda values: (
                setattr(_workers, "_collective_sum", send) or values
            )
        return False


def fit_with_fault(rank: int, world: int, how: str) -> Any:
    callbacks = [Faulty(how)] if rank == 1 else []
    train(PARAMS, matrix(*rows(), share(rank, world)), 8, objective=go.qwk_objective(),
          callbacks=callbacks)  # fmt: skip


@pytest.mark.parametrize("how", ["raise", "die", "hang", "skip"])
def test_a_fault_ends_all_and_the_next_fit_is_exact(pair: Workers, how: str) -> None:
    begun = time.monotonic()
    results = pair.run(fit_with_fault, how, deadline=30, timeout=PATIENCE)
    assert time.monotonic() - begun < 60
    assert all(isinstance(result, Failed) for result in results), results
    if how in ("raise", "die"):
        assert results[1].kind == {"raise": "RuntimeError", "die": "Died"}[how]
    assert results[0].kind in ("RuntimeError", "XGBoostError", "WorkersDisagree", "ValueError")
    dump = fit_bare(0, 1, HALVES)[0]
    for result in pair.run(fit_bare, HALVES):
        assert not isinstance(result, Failed), result.trace
        assert result[0] == dump


# --- one machine


def test_identity_on_one_machine() -> None:
    assert not collective.is_distributed()
    values = np.array([1.0, 2.5])
    np.testing.assert_array_equal(_workers.all_sum(values), values)
    np.testing.assert_array_equal(_workers.all_gather(values), [values])
    with _workers.together(go.qwk_objective()):
        assert not _workers.several()


def test_a_description_tells_objectives_apart_but_no_rows() -> None:
    y = np.array([0.0, 1, 2, 3])
    assert _workers.describe(go.qwk_objective(y)) == _workers.describe(go.qwk_objective(y))
    assert _workers.describe(go.qwk_objective(y)) != _workers.describe(go.qwk_objective(y[1:]))
    cases = {_workers.describe(case.objective) for case in OBJECTIVES}
    assert len(cases) == len({repr(case.objective) for case in OBJECTIVES})
    by_row = go.offset_logloss_objective([0.5, 0.1]), go.offset_logloss_objective([0.2])
    assert _workers.describe(by_row[0]) == _workers.describe(by_row[1])
    kappas = go.objectives.kappa_objective(COST), go.objectives.kappa_objective(np.transpose(COST))
    assert _workers.describe(kappas[0]) != _workers.describe(kappas[1])
    reduced = go.qwk_objective(y, reduce=lambda sums: sums)
    assert _workers.describe(reduced) == _workers.describe(go.qwk_objective(y))


def test_a_description_ends_in_depth() -> None:
    deep = [[[[[[["too deep"]]]]]]]
    assert _workers.describe(deep) == "((((((list))))))"
    assert _workers.describe(deep, 1) == "(list)"
    assert _workers.describe(deep, 0) == "list"


def test_an_error_of_another_worker_without_its_text() -> None:
    """A user's sum has no text; here another worker says that it has failed."""

    def reduce(values: np.ndarray) -> np.ndarray:
        total = 2 * values
        total[_workers.HEAD - 1] = 1
        return total

    with pytest.raises(ValueError, match="another worker failed"):
        _workers.all_sum([1.0], reduce=reduce)


def centred(y_true: Any, margin: Any, sample_weight: Any, mean: float = 0.0) -> Any:
    return margin - y_true + mean, np.ones_like(margin)


class Centred:
    def __init__(self, mean: float) -> None:
        self.mean = mean

    def __call__(self, y_true: Any, margin: Any, sample_weight: Any) -> Any:
        return centred(y_true, margin, sample_weight, self.mean)

    method = __call__


MEAN = 0.0


def centred_globally(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    return centred(y_true, margin, sample_weight, MEAN)


def functions_that_hold(mean: float) -> dict[str, Any]:
    held, single, by_name = (mean,), np.float32(mean), {"mean": mean}

    def helper(values: Any) -> Any:
        return values + mean

    return {
        "partial": partial(centred, mean=mean),
        "object": Centred(mean),
        "method": Centred(mean).method,
        "default": lambda y, f, w, m=mean: centred(y, f, w, m),
        "by_keyword": lambda y, f, w, *, m=mean: centred(y, f, w, m),
        "float32": lambda y, f, w: centred(y, f, w, single),
        "tuple": lambda y, f, w: centred(y, f, w, held[0]),
        "dict": lambda y, f, w: centred(y, f, w, by_name["mean"]),
        "helper": lambda y, f, w: centred(y, helper(f), w),
    }


def test_a_description_tells_what_a_function_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    one, same, other = (
        {how: _workers.describe(go.objective(f)) for how, f in functions_that_hold(mean).items()}
        for mean in (0.5, 0.5, 0.6)
    )
    assert one == same
    for how in one:
        assert one[how] != other[how], how
    here = _workers.describe(centred_globally)
    monkeypatch.setitem(globals(), "MEAN", 0.5)
    assert _workers.describe(centred_globally) != here
    by_row = [partial(centred, mean=np.arange(n)) for n in (3, 4)]
    assert _workers.describe(by_row[0]) == _workers.describe(by_row[1])


def test_a_description_of_what_holds_itself_ends() -> None:
    def again(n: int) -> int:
        return again(n - 1)

    assert "again" in _workers.describe(again)


def test_without_xgboost_there_are_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    assert not _workers.workers()


def test_a_worker_that_lost_the_others_does_not_wait_for_them_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sums = []

    def lost(values: Any) -> Any:
        sums.append(len(values))
        raise RuntimeError("nobody answers")

    monkeypatch.setattr(_workers, "workers", lambda: True)
    monkeypatch.setattr(_workers, "_collective_sum", lost)
    with pytest.raises(RuntimeError, match="nobody answers"), _workers.together(go.qwk_metric()):
        _workers.all_sum([1.0])
    assert len(sums) == 1


def of_three(other: int) -> Any:
    """A reduction over three workers, of which two send fingerprints ``other`` away from ours."""

    def reduce(values: np.ndarray) -> np.ndarray:
        total = 3 * values
        if len(values) == _workers.HEAD + _workers.ROOM:
            h = values[1]
            total[2] = (h - other) ** 2 + h**2 + (h + other) ** 2
        return total

    return reduce


def test_fingerprints_that_differ_by_as_much_either_way_disagree() -> None:
    np.testing.assert_array_equal(_workers.all_sum([1.0, 2.0], reduce=of_three(0)), [3, 6])
    with pytest.raises(_workers.WorkersDisagree):
        _workers.all_sum([1.0, 2.0], reduce=of_three(1))


def test_numbers_that_fit_are_one_message() -> None:
    for count, messages in ((_workers.ROOM - 1, 1), (_workers.ROOM, 1), (_workers.ROOM + 1, 2)):
        sent: list[int] = []

        def reduce(values: np.ndarray, sent: list[int] = sent) -> np.ndarray:
            sent.append(len(values))
            return values

        own = np.arange(float(count))
        np.testing.assert_array_equal(_workers.all_sum(own, reduce=reduce), own)
        assert len(sent) == messages


def test_a_worker_of_dask_is_named_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    class Distributed:
        class Worker:
            address = "tcp://10.0.0.7:1234"

        @classmethod
        def get_worker(cls) -> type:
            return cls.Worker

    monkeypatch.setitem(sys.modules, "distributed", Distributed)
    assert _workers.name_of_worker() == "worker 0, tcp://10.0.0.7:1234"
