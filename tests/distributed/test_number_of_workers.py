"""All that is the same as on one machine, on 2, 3 and 4 workers as unlike as can be.

By hand, in minutes: python -m pytest -m ci tests/distributed/test_number_of_workers.py
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives.adapters.xgboost import XGBClassifier, XGBRegressor, train
from tests.contract import METRICS, OBJECTIVES, ObjectiveCase
from tests.matrix import entries
from tests.strangers.poisson import poisson_objective
from tests.strangers.rmse import rmse_objective
from tests.workers import Failed, Workers

pytestmark = [pytest.mark.slow, pytest.mark.ci, pytest.mark.xdist_group("number of workers")]

N = 600
PARAMS = {"max_depth": 3, "nthread": 1}
Array = np.ndarray[Any, Any]
Rows = tuple[Array, Array, Array]

# --- who has which rows

FACTOR = {"no rows": 1.0, "one row": 2.0**10, "one class": 2.0**-10, "the rest": 1.0}
"""What a part holds, and by what its weights are multiplied, exactly."""

Kinds = tuple[str, ...]
LAYOUTS: list[Kinds] = [
    kinds
    for number in (1, 2, 3)
    for few in itertools.combinations(list(FACTOR)[:3], number)
    for kinds in ((*few, "the rest"), ("the rest", *few))
]
"""What each worker has, by rank: all two to four of these, with the most rows last and first."""

LAYOUTS += [("a share",) * world for world in (2, 3, 4)]


def name_of(kinds: Kinds) -> str:
    return f"{len(kinds)} workers: {', '.join(kinds)}"


def parts(kinds: Kinds, y: Array) -> list[Array]:
    """The positions of each worker's rows, of rising labels."""
    if kinds[0] == "a share":
        return np.array_split(np.arange(len(y)), len(kinds))
    found = {
        "no rows": np.arange(0),
        "one row": np.array([len(y) // 2]),
        "one class": np.flatnonzero(y == y[0]),
    }
    others = np.concatenate([found.get(kind, np.arange(0)) for kind in kinds])
    found["the rest"] = np.setdiff1d(np.arange(len(y)), others)
    return [found[kind] for kind in kinds]


def weights(kinds: Kinds, y: Array) -> Array:
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    for kind, at in zip(kinds, parts(kinds, y), strict=True):
        w[at] *= FACTOR.get(kind, 1.0)
    return w


def rows(kinds: Kinds, labels: tuple[float, ...] = (0, 1, 2, 3)) -> Rows:
    """Features of few values, so that bins do not depend on sketches; sorted by label."""
    rng = np.random.default_rng(0)
    at = np.sort(rng.integers(0, len(labels), N))
    X = rng.integers(0, 12, (N, 4)) // 2 + np.column_stack([4 * at / len(labels)] * 4).round()
    y = np.array(labels, float)[at]
    return X, y, weights(kinds, y)


def own(kinds: Kinds, y: Array, rank: int, world: int) -> Array:
    """The rows of a worker; all of them on one machine."""
    return parts(kinds, y)[rank] if world > 1 else np.arange(len(y))


def matrix(columns: Rows, at: Array) -> xgb.DMatrix:
    X, y, w = columns
    return xgb.DMatrix(X[at], y[at], weight=w[at])


@pytest.fixture(scope="module")
def pools() -> Iterator[dict[int, Workers]]:
    found = {world: Workers(world) for world in (2, 3, 4)}
    yield found
    for pool in found.values():
        pool.close()


@pytest.fixture(params=LAYOUTS, ids=name_of)
def layout(request: Any) -> Kinds:
    return request.param


Run = Callable[..., tuple[Any, list[Any]]]


@pytest.fixture
def run(pools: dict[int, Workers], layout: Kinds) -> Run:
    """What one machine finds, and what each worker does."""

    def both(case: Callable[..., Any], *arguments: Any) -> tuple[Any, list[Any]]:
        found = pools[len(layout)].run(case, layout, *arguments, deadline=300, timeout=120)
        for result in found:
            assert not isinstance(result, Failed), result.trace
        return case(0, 1, layout, *arguments), found

    return both


# --- XGBoost's collective


def fit_all(rank: int, world: int, kinds: Kinds, names: list[str]) -> dict[str, Any]:
    return {name: fit(rank, world, kinds, TRAINED[name]) for name in names}


def fit(rank: int, world: int, kinds: Kinds, case: ObjectiveCase) -> Any:
    columns = rows(kinds, case.labels)
    data = matrix(columns, own(kinds, columns[1], rank, world))
    booster = train(PARAMS, data, 4, objective=case.objective)
    return (
        booster.get_dump(dump_format="json"),
        booster.predict(xgb.DMatrix(columns[0]), output_margin=True),
        base_score(booster),
    )


def base_score(booster: xgb.Booster) -> str:
    return re.search(r'"base_score":"([^"]*)"', booster.save_config())[1]


STRANGERS = [
    ObjectiveCase("poisson", poisson_objective(), (0, 1, 2, 5), (-3, 3), ()),
    ObjectiveCase("rmse", rmse_objective(), (0, 1, 2, 5), (-3, 3), ()),
]
TRAINED = {
    case.name: case for case in OBJECTIVES + STRANGERS
    if case.of_positions is None and case.name != "user-loss-coupled"
}  # fmt: skip


def test_every_objective_trains_the_model_of_one_machine(run: Run) -> None:
    one, found = run(fit_all, list(TRAINED))
    for result in found:
        assert not [name for name in one if result[name][0] != one[name][0]]
        assert not [name for name in one if result[name][2] != one[name][2]]
        for name, (_, margin, _) in one.items():
            np.testing.assert_array_equal(result[name][1], margin)


def held_out(kinds: Kinds, columns: Rows, rank: int, world: int) -> xgb.DMatrix:
    """Other rows, which the workers have in turn: one may have some of these only."""
    X, y, w = columns
    noisy = np.where(np.arange(N) % 7 == 0, y[::-1], y)
    return matrix((X, noisy, w), own(kinds, y, (rank + 1) % world, world))


def fit_and_stop(rank: int, world: int, kinds: Kinds) -> Any:
    """Twice: from the intercept, and on from the model of the first time."""
    columns, found, earlier = rows(kinds), [], None
    data = matrix(columns, own(kinds, columns[1], rank, world))
    for metric in (go.extended_qwk_metric(), go.qwk_metric()):
        history: dict[str, Any] = {}
        earlier = train(
            PARAMS, data, 40, objective=go.qwk_objective(), metric=metric,
            evals=[(held_out(kinds, columns, rank, world), "v")], early_stopping_rounds=3,
            evals_result=history, xgb_model=earlier,
        )  # fmt: skip
        found.append((earlier.get_dump(), earlier.best_iteration, history["v"][metric.name]))
    return found


def test_early_stopping_sees_the_metric_of_all_rows(run: Run) -> None:
    one, found = run(fit_and_stop)
    for result in found:
        for (dump, best, values), expected in zip(result, one, strict=True):
            assert (dump, best) == expected[:2]
            # sums in another order
            np.testing.assert_allclose(values, expected[2], rtol=0, atol=1e-12)


def evaluate(rank: int, world: int, kinds: Kinds) -> dict[str, float]:
    found = {}
    for case in METRICS:
        y, p, _ = case.rows(N, seed=1)
        order = np.argsort(y, kind="stable")
        y, p = y[order], p[order]
        at = own(kinds, y, rank, world)
        data = xgb.DMatrix(np.zeros((len(at), 1)), y[at], weight=weights(kinds, y)[at])
        found[case.name] = case.metric.xgboost(p[at], data)[1]
    return found


def test_every_metric_is_that_of_all_rows(run: Run) -> None:
    one, found = run(evaluate)
    for result in found:
        assert result == pytest.approx(one, rel=1e-11, abs=1e-13)  # sums in another order


ESTIMATORS: dict[str, tuple[Any, go.Objective, go.Metric]] = {
    "regressor": (XGBRegressor, go.qwk_objective(), go.qwk_metric((0, 3))),
    "refitted thresholds": (XGBClassifier, go.ordinal_logit_objective(4), go.qwk_metric((0, 3))),
    "four outputs": (
        XGBClassifier,
        go.focal_objective(1, n_classes=4),
        go.loss_metric(go.focal_objective(1, n_classes=4)),
    ),
}


def fit_estimators(rank: int, world: int, kinds: Kinds) -> dict[str, Any]:
    found = {}
    X, y, w = rows(kinds)
    at = own(kinds, y, rank, world)
    for name, (kind, objective, metric) in ESTIMATORS.items():
        if name == "refitted thresholds":
            metric = go.loss_metric(objective)
        model = kind(objective=objective, eval_metric=metric, n_estimators=6, **ESTIMATED)
        labels = y[at].astype(int)
        model.fit(X[at], labels, sample_weight=w[at], verbose=False,
                  eval_set=[(X[at], labels)], sample_weight_eval_set=[w[at]])  # fmt: skip
        values = model.evals_result()["validation_0"][metric.name]
        p = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
        found[name] = model.get_booster().get_dump(), p, values
    return found


ESTIMATED = {"max_depth": 3, "n_jobs": 1}


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


def fit_thresholds(rank: int, world: int, kinds: Kinds) -> Any:
    X, y, w = rows(kinds)
    at = own(kinds, y, rank, world)
    objective = go.ordinal_logit_objective(4)
    with _workers.together(objective):
        found = objective.fitted(y[at], (y + X[:, 0] / 5)[at], w[at])
        _workers.agree()
    return found.thresholds


def test_thresholds_fitted_to_margins(run: Run) -> None:
    one, found = run(fit_thresholds)
    for result in found:
        np.testing.assert_allclose(result, one, rtol=0, atol=1e-6)  # where the search ends


RIGHT = [name for name, case in entries.CASES.items() if case.right]
CELLS = [
    (entry, where)
    for entry in entries.ENTRIES
    for where in ("objective", "metric")
    if where == "objective" or entry in ("gradient_hessian", "mean_loss", "metric")
]


def ask_all(rank: int, world: int) -> dict[str, list[float]]:
    return {name: entries.ask_all(rank, world, name, CELLS) for name in RIGHT}


@pytest.mark.parametrize("world", [2, 3, 4])
def test_every_entry_point_sums_over_the_workers(pools: Any, world: int) -> None:
    for errors in pools[world].run(ask_all, deadline=300, timeout=120):
        assert not isinstance(errors, Failed), errors.trace
        for name in RIGHT:
            assert len(errors[name]) == len(CELLS)
            assert max(errors[name]) <= entries.CASES[name].tolerance


def ask_wrong(rank: int, world: int, name: str) -> float:
    return entries.ask(rank, world, name, "gradient_hessian", "objective")


@pytest.mark.parametrize("world", [2, 3, 4])
@pytest.mark.parametrize("name", [name for name in entries.CASES if name not in RIGHT])
def test_a_function_that_couples_rows_is_refused(pools: Any, world: int, name: str) -> None:
    for result in pools[world].run(ask_wrong, name):
        assert isinstance(result, Failed)
        assert result.kind in ("ValueError", "TypeError"), result.trace


# --- errors


def fail_on(failing: list[int], y: Array, margin: Array, w: Array | None) -> Any:
    rank = xgb.collective.get_rank()
    if rank in failing:
        raise KeyError(f"row of worker {rank}")
    return margin - y, np.ones_like(margin)


def fit_with_errors(rank: int, world: int, failing: list[int]) -> None:
    columns = rows(("a share",) * world)
    data = matrix(columns, own(("a share",) * world, columns[1], rank, world))
    train(PARAMS, data, 2, objective=go.objective(partial(fail_on, failing), intercept=1.0))


@pytest.mark.parametrize("world", [2, 3, 4])
def test_errors_of_some_are_raised_on_all(pools: Any, world: int) -> None:
    for number in range(1, world + 1):
        for failing in itertools.combinations(range(world), number):
            for result in pools[world].run(fit_with_errors, list(failing)):
                assert isinstance(result, Failed)
                first = failing[0]
                assert result.text == f"KeyError: 'row of worker {first}' (worker {first})"


def fit_another(rank: int, world: int, other: dict[int, float]) -> None:
    columns = rows(("a share",) * world)
    data = matrix(columns, own(("a share",) * world, columns[1], rank, world))
    objective = go.qwk_objective(label_range=(0, 3), center=other.get(rank, 1.5), spread=1.25)
    train(PARAMS, data, 2, objective=objective)


@pytest.mark.parametrize("world", [2, 3, 4])
def test_any_other_objective_is_refused_on_all(pools: Any, world: int) -> None:
    others = [{rank: 1.75} for rank in range(world)] + [
        {rank: 1.5 + rank / 8 for rank in range(world)}
    ]
    for other in others:
        for result in pools[world].run(fit_another, other):
            assert isinstance(result, Failed)
            assert result.kind == "WorkersDisagree", result.trace
            assert "worker 0 has QWKObjective(center=" in result.text
