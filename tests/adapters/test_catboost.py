"""CatBoost: the same promises as of the other libraries, against a truth of numpy."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import gbdt_objectives as go
from tests.contract import OBJECTIVES, ObjectiveCase
from tests.matrix.tables import logistic, logistic_loss, poisson, poisson_loss

catboost = pytest.importorskip("catboost")
from gbdt_objectives.adapters.catboost import (  # noqa: E402
    train,
)

Array = np.ndarray[Any, Any]
ROUNDS, RATE, L2 = 6, 0.3, 3.0
PARAMS: dict[str, Any] = {
    "depth": 3, "learning_rate": RATE, "l2_leaf_reg": L2, "verbose": 0, "random_seed": 0,
    "allow_writing_files": False, "thread_count": 1,
}  # fmt: skip
OWN = {
    "log": go.objective(poisson, loss=poisson_loss, link="log"),
    "logit": go.objective(logistic, loss=logistic_loss, link="logit"),
}
CASES = [
    *OBJECTIVES, ObjectiveCase("log", OWN["log"], (0, 1, 2, 5), (-2, 2), ()),
    ObjectiveCase("logit", OWN["logit"], (0, 1), (-4, 4), ()),
]  # fmt: skip


def is_row_wise(case: ObjectiveCase) -> bool:
    objective = case.objective
    return not (
        objective.couples_rows or objective.outputs > 1 or objective.is_by_row
        or case.name == "user-loss-coupled"
    )  # fmt: skip


ROW_WISE = [case for case in CASES if is_row_wise(case)]


def rows(case: ObjectiveCase, n: int = 2500) -> tuple[Array, Array, Array]:
    """More rows than CatBoost passes at once; a third of them do not count."""
    y, _, w = case.rows(n)
    X = np.random.default_rng(1).normal(size=(n, 3)) + y[:, None] * [0.3, 0, 0]
    return X, y, np.where(w == 2, 0.0, w)


def truth(model: Any, objective: go.Objective, X: Array, y: Array, w: Array, f: Array) -> Array:
    """The margins that the leaves of the model must hold, found tree by tree from its splits."""
    leaves = model.calc_leaf_indexes(X)
    for leaf in leaves.T:
        g, h = objective.gradient_hessian(y, f, w)
        G, H = (np.bincount(leaf, values, 8) for values in (g, h))
        f = f - RATE * (G / (H + L2 * w.mean()))[leaf]
    return f


@pytest.mark.parametrize("case", ROW_WISE, ids=repr)
def test_margins_are_those_of_numpy_also_in_files(case: ObjectiveCase, tmp_path) -> None:
    X, y, w = rows(case)
    objective = case.objective.measured(y, w)
    model = train(
        PARAMS, catboost.Pool(X, y, weight=w), ROUNDS, objective=case.objective
    )  # fmt: skip
    expected = truth(model, objective, X, y, w, np.full(len(y), objective.intercept or 0.0))
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)
    for kind in ("cbm", "json"):
        model.save_model(tmp_path / "model", format=kind)
        loaded = catboost.CatBoost().load_model(tmp_path / "model", format=kind)
        np.testing.assert_allclose(loaded.predict(X), expected, atol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("case", [c for c in CASES if not is_row_wise(c)], ids=repr)
def test_objectives_that_blocks_of_rows_would_change_are_refused(case: ObjectiveCase) -> None:
    y, _, w = case.rows(600)
    X = np.random.default_rng(1).normal(size=(600, 3))
    with pytest.raises(ValueError, match="CatBoost (passes|does not say|asks)"):
        train(PARAMS, catboost.Pool(X, y, weight=w), 2, objective=case.objective)
