"""Two losses that strangers wrote by CONTRIBUTING.md alone, through every door."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as LGB, xgboost as XGB
from tests.contract import ObjectiveCase
from tests.objectives import checks
from tests.strangers import poisson, rmse
from tests.workers import Workers

pytestmark = pytest.mark.filterwarnings("ignore:boosting starts at", "ignore:early stopping keeps")

RNG = np.random.default_rng(0)
X = RNG.integers(0, 8, (900, 3)).astype(float)
MEAN = np.exp(0.25 * X[:, 0] - 0.1 * X[:, 1])
W = RNG.integers(1, 4, 900).astype(float)


@dataclass(frozen=True)
class Stranger:
    name: str
    module: Any
    make: Callable[[], go.Objective]
    y: np.ndarray
    row: ObjectiveCase
    """Its row of the table of contract tests."""
    most_lines: int

    def __repr__(self) -> str:
        return self.name


STRANGERS = [
    Stranger("poisson", poisson, poisson.poisson_objective, RNG.poisson(MEAN).astype(float),
             ObjectiveCase("poisson", poisson.poisson_objective(), (0.0, 1.0, 2.0, 5.0), (-4, 4),
                           (-1.0,)), 25),
    Stranger("rmse", rmse, rmse.rmse_objective, MEAN + RNG.normal(0, 0.5, 900),
             ObjectiveCase("rmse", rmse.rmse_objective(), (0.0, 1.0, 3.0), (-4, 4), ()), 30),
]  # fmt: skip
every = pytest.mark.parametrize("stranger", STRANGERS, ids=repr)
XGB_PARAMS = {"max_depth": 3, "eta": 0.3, "nthread": 1, "seed": 0}
LGB_PARAMS = {"num_leaves": 7, "verbose": -1, "num_threads": 1, "seed": 0, "deterministic": True}
CLOSE = 1e-5
"""XGBoost's margins are float32, and an exp multiplies their rounding by some units."""


def lines_of_code(path: str) -> int:
    """Lines that are not blank and not of a docstring."""
    text = Path(path).read_text()
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    prose = {
        line
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    return sum(bool(line.strip()) and k not in prose for k, line in enumerate(text.splitlines(), 1))


@every
def test_it_is_short(stranger: Stranger) -> None:
    assert lines_of_code(stranger.module.__file__) <= stranger.most_lines


@pytest.mark.parametrize(
    ("check", "case"),
    [checks.cell(check, stranger.row) for check in checks.CHECKS for stranger in STRANGERS],
)
def test_strangers_keep_the_contract(check, case: ObjectiveCase) -> None:
    check(case)


def check_predictions(stranger: Stranger, prediction: np.ndarray, margin: np.ndarray) -> None:
    """In label units, near the labels, and what the margins stand for."""
    natural = stranger.make().link.inverse(np.float64(margin))
    np.testing.assert_allclose(prediction, natural, rtol=CLOSE)
    y = stranger.y
    assert prediction.mean() == pytest.approx(y.mean(), rel=0.05)
    assert np.square(prediction - y).mean() < 0.8 * y.var()


def trained_by(stranger: Stranger, door: str, tmp_path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and margins of the model, as the plain library gives them after reloading."""
    y, objective = stranger.y, stranger.make()
    if door.startswith("xgboost"):
        file = tmp_path / "model.ubj"
        if door.endswith("train"):
            XGB.train(XGB_PARAMS, xgb.DMatrix(X, y, weight=W), 20, objective=objective).save_model(
                file
            )
        else:
            model = XGB.XGBRegressor(
                objective=objective, n_estimators=20, max_depth=3, learning_rate=0.3, n_jobs=1
            ).fit(X, y, sample_weight=W)
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X),
                                          model.predict(X))  # fmt: skip
            model.save_model(file)
            plain = xgb.XGBRegressor()
            plain.load_model(file)
            np.testing.assert_array_equal(plain.predict(X), model.predict(X))
        booster = xgb.Booster(model_file=file)
        data = xgb.DMatrix(X)
        return booster.predict(data), booster.predict(data, output_margin=True)
    if door.endswith("train"):
        trained = LGB.train(LGB_PARAMS, lgb.Dataset(X, y, weight=W), 20, objective=objective)
    else:
        model = LGB.LGBMRegressor(objective=objective, n_estimators=20, **LGB_PARAMS)
        trained = model.fit(X, y, sample_weight=W).booster_
        np.testing.assert_array_equal(model.predict(X), trained.predict(X))
    booster = lgb.Booster(model_str=trained.model_to_string())
    return booster.predict(X), booster.predict(X, raw_score=True)


@every
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_models_predict_in_natural_units(stranger: Stranger, library: str, tmp_path: Path) -> None:
    doors = [trained_by(stranger, f"{library}.{door}", tmp_path) for door in ("train", "regressor")]
    for door in doors:
        check_predictions(stranger, *door)
    np.testing.assert_allclose(doors[0][0], doors[1][0], rtol=CLOSE)


@every
def test_early_stopping_keeps_the_best_round(stranger: Stranger) -> None:
    y, objective = stranger.y, stranger.make()
    metric = go.loss_metric(objective)
    own, held = slice(0, 600), slice(600, 900)
    booster = XGB.train(
        XGB_PARAMS, xgb.DMatrix(X[own], y[own]), 200, objective=objective, metric=metric,
        evals=[(xgb.DMatrix(X[held], y[held]), "v")], early_stopping_rounds=10,
    )  # fmt: skip
    margin = booster.predict(xgb.DMatrix(X[held]), output_margin=True)
    assert booster.num_boosted_rounds() == booster.best_iteration + 1 < 200
    # the margins of the best round in float32
    assert objective.mean_loss(y[held], margin) == pytest.approx(booster.best_score, rel=1e-5)
    data = lgb.Dataset(X[own], y[own])
    model = LGB.train(
        LGB_PARAMS, data, 200, objective=objective, metric=metric,
        evals=[(lgb.Dataset(X[held], y[held], reference=data), "v")], early_stopping_rounds=10,
    )  # fmt: skip
    assert model.num_trees() < 200
    loss = objective.mean_loss(y[held], model.predict(X[held], raw_score=True))
    # LightGBM keeps labels in float32
    assert loss == pytest.approx(model.best_score["v"]["loss"], rel=1e-6)


@every
def test_cross_validation(stranger: Stranger) -> None:
    y, objective = stranger.y, stranger.make()
    metric = go.loss_metric(objective)
    history = XGB.cv(
        XGB_PARAMS, xgb.DMatrix(X, y), 15, objective=objective, metric=metric, nfold=3,
        as_pandas=False,
    )  # fmt: skip
    found = LGB.cv(
        LGB_PARAMS, lgb.Dataset(X, y), 15, objective=objective, metric=metric, nfold=3,
        stratified=False,
    )  # fmt: skip
    start = objective.measured(y)
    constant = objective.mean_loss(y, np.full(len(y), start.intercept))
    for losses in (history["test-loss-mean"], found["valid loss-mean"]):
        assert losses[-1] < losses[0] < constant + 0.05 * abs(constant)


@every
def test_training_goes_on(stranger: Stranger) -> None:
    """Ten rounds after ten are twenty."""
    y, objective = stranger.y, stranger.make()
    data = xgb.DMatrix(X, y)
    first = XGB.train(XGB_PARAMS, data, 10, objective=objective)
    whole = XGB.train(XGB_PARAMS, data, 20, objective=objective)
    more = XGB.train(XGB_PARAMS, data, 10, objective=objective, xgb_model=first)
    np.testing.assert_allclose(more.predict(data), whole.predict(data), rtol=CLOSE)
    begun = LGB.train(LGB_PARAMS, lgb.Dataset(X, y), 10, objective=objective)
    twenty = LGB.train(LGB_PARAMS, lgb.Dataset(X, y), 20, objective=objective)
    gone_on = LGB.train(LGB_PARAMS, lgb.Dataset(X, y), 10, objective=objective, init_model=begun)
    np.testing.assert_allclose(gone_on.predict(X), twenty.predict(X), rtol=CLOSE)


@every
def test_arrays_on_a_device(stranger: Stranger, monkeypatch) -> None:
    strict = pytest.importorskip("array_api_strict")
    pytest.importorskip("numpy", "2", reason="with numpy 1 array-api-strict cannot move arrays")
    device = strict.Device("device1")
    kind = type(strict.asarray([0.0]))
    monkeypatch.setattr(kind, "__dlpack_device__", lambda x: (1 + (x.device == device), 0))
    y, objective = stranger.y, stranger.make()
    f = np.random.default_rng(1).normal(0, 1, len(y))
    there = [strict.asarray(values, device=device) for values in (y, f, W)]
    here = objective.gradient_hessian(y, f, W)
    for ours, numpys in zip(objective.gradient_hessian(*there), here, strict=True):
        host = np.asarray(ours.to_device(strict.Device("CPU_DEVICE")))
        np.testing.assert_allclose(host, numpys, rtol=1e-13)  # float64 sums in another order
    assert objective.mean_loss(*there) == pytest.approx(objective.mean_loss(y, f, W), rel=1e-13)
    measured = objective.measured(there[0], there[2])
    assert measured.intercept == pytest.approx(objective.measured(y, W).intercept, rel=1e-13)


def of_a_worker(rank: int, world: int, number: int) -> tuple[list[str], float, list[float]]:
    """The model, its mean loss and the losses on evaluation rows, of a share of sorted labels."""
    stranger = STRANGERS[number]
    order = np.argsort(stranger.y, kind="stable")
    at = np.array_split(order, [300])[rank] if world == 2 else order
    data = xgb.DMatrix(X[at], stranger.y[at], weight=W[at])
    objective = stranger.make()
    log: dict[str, Any] = {}
    booster = XGB.train(
        XGB_PARAMS, data, 6, objective=objective, metric=go.loss_metric(objective),
        evals=[(data, "v")], evals_result=log,
    )  # fmt: skip
    return booster.get_dump(), booster.predict(xgb.DMatrix(X)).mean().item(), log["v"]["loss"]


@pytest.mark.slow  # the workers start for it alone in the inner loop
@pytest.mark.xdist_group("workers")
@every
def test_two_workers_train_the_model_of_one(stranger: Stranger, pair: Workers) -> None:
    number = STRANGERS.index(stranger)
    dump, mean, losses = of_a_worker(0, 1, number)
    for found_dump, found_mean, found_losses in pair.run(of_a_worker, number):
        assert found_dump == dump
        assert found_mean == pytest.approx(mean, rel=1e-6)  # base_score is printed in float32
        np.testing.assert_allclose(found_losses, losses, rtol=1e-6)
