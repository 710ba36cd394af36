"""All that is the same as on one machine, on 2, 3 and 4 workers as unlike as can be.

By hand, in minutes: python -m pytest -m ci tests/distributed/test_number_of_workers.py
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives.adapters.xgboost import train
from tests import test_workers as halves
from tests.matrix import entries
from tests.test_workers import CASES, FACTOR, PARAMS, REFUSED, Kinds, matrix, rows, share
from tests.workers import Failed

pytestmark = [pytest.mark.slow, pytest.mark.ci, pytest.mark.xdist_group("number of workers")]

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


@pytest.fixture(params=LAYOUTS, ids=name_of)
def layout(request: Any) -> Kinds:
    return request.param


@pytest.fixture
def names() -> list[str]:
    return [name for name in CASES if name != REFUSED]


pools, run = halves.pools, halves.run
test_every_objective = halves.test_every_objective_trains_the_model_of_one_machine
test_early_stopping = halves.test_early_stopping_sees_the_metric_of_all_rows
test_every_metric = halves.test_every_metric_is_that_of_all_rows
test_estimators = halves.test_estimators_in_a_worker
test_thresholds = halves.test_thresholds_fitted_to_margins


# --- entry points


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


def fail_on(failing: list[int], y: np.ndarray, margin: np.ndarray, w: np.ndarray | None) -> Any:
    rank = xgb.collective.get_rank()
    if rank in failing:
        raise KeyError(f"row of worker {rank}")
    return margin - y, np.ones_like(margin)


def fit_with_errors(rank: int, world: int, failing: list[int]) -> None:
    data = matrix(*rows(), share(rank, world, ("a share",) * world))
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
    data = matrix(*rows(), share(rank, world, ("a share",) * world))
    objective = go.qwk_objective(label_range=(0, 3), mean=other.get(rank, 1.5), variance=1.25)
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
            assert "worker 0 has QWKObjective(mean=" in result.text
