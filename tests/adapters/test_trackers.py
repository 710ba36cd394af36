"""What MLflow registers of a training, and what a trial that Optuna prunes leaves, is a complete
model: the intercept is in it, and it predicts in natural units."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.utils.fixes import parse_version

import gbdt_objectives as go
from tests.adapters.library import LGB, XGB, Library, both
from tests.matrix.tables import of_classes, of_classes_loss, poisson, poisson_loss

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::Warning")]  # of MLflow

LOG = go.objective(poisson, loss=poisson_loss, link="log")
SOFTMAX = go.objective(of_classes, loss=of_classes_loss, link="softmax", outputs=4)
TRAINED = {
    "log": (LOG, 20), "sampled": (go.offset_logloss_objective(0.1), None), "softmax": (SOFTMAX, -1),
}  # fmt: skip
"""Objectives, and what to add to labels from 1 to 4; None for two classes."""
trained = pytest.mark.parametrize("name", TRAINED)
ROUNDS = 5
CLOSE = 1e-6
"""Of XGBoost, which adds float32 numbers in another order; LightGBM's models are the same text."""


@pytest.fixture(scope="module")
def rows(ordinal: Any) -> tuple[Any, ...]:
    return tuple(one[:200] for one in ordinal)


@pytest.fixture(scope="module")
def held_out(ordinal: Any) -> tuple[Any, ...]:
    return tuple(one[200:300] for one in ordinal)


def skip_if_old(lib: Library, name: str) -> None:
    if lib is XGB and name == "softmax" and parse_version(xgb.__version__) < parse_version("3.1"):
        pytest.skip("XGBoost before 3.1 gets the intercepts of several outputs after training")


def labels_of(name: str, y: Any) -> Any:
    moved = TRAINED[name][1]
    return (y > 2) * 1 if moved is None else y + moved


def train(lib: Library, name: str, rows: Any, k: int = ROUNDS, **given: Any) -> Any:
    skip_if_old(lib, name)
    X, y, w = rows
    data = lib.data(X, labels_of(name, y), w)
    return lib.train(lib.params, data, k, objective=TRAINED[name][0], **given)


def fit(lib: Library, name: str, rows: Any, k: int = ROUNDS, **given: Any) -> Any:
    skip_if_old(lib, name)
    (X, y, w), objective = rows, TRAINED[name][0]
    model = lib.make(name != "log", objective=objective, n_estimators=k)
    return lib.fit(model, X, labels_of(name, y), sample_weight=w, **given)


def check_same(lib: Library, found: Any, expected: Any, X: Any) -> None:
    found, expected = lib.predict(found, X), lib.predict(expected, X)
    if lib is LGB:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=CLOSE)


# --- MLflow


@pytest.fixture
def logged(tmp_path, monkeypatch) -> Iterator[Callable[..., tuple[Any, Any]]]:
    """A function that trains under autolog: what training returned, and what MLflow registered."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    # it would start a process for each model, to see what that imports
    guess = {"infer_pip_requirements": lambda *args, fallback=None, **others: fallback}
    monkeypatch.setattr(mlflow.models, *guess.popitem())
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    used = []

    def run(lib: Library, train: Callable[[], Any]) -> tuple[Any, Any]:
        module = pytest.importorskip(f"mlflow.{lib.name}")
        used.append(module)
        module.autolog(log_models=True, silent=True)
        with mlflow.start_run() as own:
            returned = train()
        models = mlflow.search_logged_models(output_format="list")
        [uri] = [one.model_uri for one in models if one.source_run_id == own.info.run_id]
        return returned, module.load_model(uri)

    yield run
    for module in used:
        module.autolog(disable=True, silent=True)


@both
@trained
def test_mlflow_registers_what_train_returns(lib: Library, name: str, rows, logged) -> None:
    returned, registered = logged(lib, lambda: train(lib, name, rows))
    check_same(lib, registered, returned, rows[0])
    check_same(lib, registered, train(lib, name, rows), rows[0])
    if lib is LGB:
        assert registered.model_to_string() == returned.model_to_string()


@pytest.mark.parametrize("name", ["log", "sampled"])
def test_mlflow_registers_what_fit_leaves(name: str, rows, logged) -> None:
    """Of LightGBM it registers no estimator of a class that it does not know, and says so."""
    model, registered = logged(XGB, lambda: fit(XGB, name, rows))
    check_same(XGB, registered.get_booster(), model.get_booster(), rows[0])
    check_same(XGB, registered.get_booster(), fit(XGB, name, rows).get_booster(), rows[0])


@trained
def test_a_callback_saves_a_model_for_mlflow(name: str, rows, tmp_path) -> None:
    of_lightgbm = pytest.importorskip("mlflow.lightgbm")
    place = tmp_path / "model"

    def save(env: Any) -> None:
        if env.iteration == 2:
            of_lightgbm.save_model(env.model, place, pip_requirements=["lightgbm"])

    train(LGB, name, rows, callbacks=[save])
    check_same(LGB, of_lightgbm.load_model(str(place)), train(LGB, name, rows, 3), rows[0])


# --- Optuna

PRUNED = 4  # the round after which a trial ends


class KeepLightGBM:
    """A callback that keeps a pickle of each round, and the booster itself."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self.order = -100  # before what ends a trial

    def __call__(self, env: Any) -> None:
        self.model = env.model
        self.kept.append(pickle.dumps(env.model))


class KeepXGBoost(xgb.callback.TrainingCallback):
    """The same for XGBoost."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.model = model
        self.kept.append(pickle.dumps(model))
        return False


def prune(lib: Library, name: str, attempt: Callable[[list[Any]], Any]) -> tuple[Any, Any]:
    """The values of a trial that is pruned, and the callback that kept what was trained."""
    optuna = pytest.importorskip("optuna")
    integration = pytest.importorskip(f"optuna_integration.{lib.name}")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    keep = KeepLightGBM() if lib is LGB else KeepXGBoost()

    def value(trial: Any) -> None:
        if lib is LGB:
            ends = integration.LightGBMPruningCallback(trial, "loss", name)
        else:
            ends = integration.XGBoostPruningCallback(trial, f"{name}-loss")
        attempt([keep, ends])

    pruner = optuna.pruners.ThresholdPruner(lower=np.inf, n_warmup_steps=PRUNED - 1)
    study = optuna.create_study(pruner=pruner)
    study.optimize(value, n_trials=1)
    assert study.trials[0].state == optuna.trial.TrialState.PRUNED
    values = study.trials[0].intermediate_values
    assert sorted(values) == [*range(PRUNED)]
    return [values[k] for k in range(PRUNED)], keep


def loss(name: str, rows: Any, margin: Any) -> float:
    _, y, w = rows
    return go.loss_metric(TRAINED[name][0])(labels_of(name, y), margin, w)


@both
@trained
def test_what_a_pruned_training_leaves(lib: Library, name: str, rows, held_out) -> None:
    data = lib.data(rows[0], labels_of(name, rows[1]), rows[2])
    evaluated = lib.data(held_out[0], labels_of(name, held_out[1]), held_out[2], reference=data)

    def attempt(callbacks: list[Any]) -> None:
        lib.train(
            lib.params, data, 20, objective=TRAINED[name][0], evals=[(evaluated, "v")],
            metric=go.loss_metric(TRAINED[name][0]), callbacks=callbacks,
        )  # fmt: skip

    values, keep = prune(lib, "v", attempt)
    for k in range(PRUNED):
        model, expected = pickle.loads(keep.kept[k]), train(lib, name, rows, k + 1)
        check_same(lib, model, expected, rows[0])
        wanted = loss(name, held_out, lib.predict(expected, held_out[0], raw=True))
        np.testing.assert_allclose(values[k], wanted, rtol=CLOSE)
    check_same(lib, keep.model, train(lib, name, rows, PRUNED), rows[0])


@both
@trained
def test_what_a_pruned_fit_leaves(lib: Library, name: str, rows, held_out) -> None:
    def attempt(callbacks: list[Any]) -> None:
        model = lib.make(name != "log", objective=TRAINED[name][0], n_estimators=20)
        given = {"callbacks": callbacks}
        if lib is not LGB:
            model.set_params(**given)
            given = {}
        pairs = [(held_out[0], labels_of(name, held_out[1]))]
        metric = go.loss_metric(TRAINED[name][0])
        y = labels_of(name, rows[1])
        lib.fit(model, rows[0], y, pairs, metric, sample_weight=rows[2], **given)

    values, keep = prune(lib, "valid_0" if lib is LGB else "validation_0", attempt)
    for k in range(PRUNED):
        model, expected = pickle.loads(keep.kept[k]), lib.booster(fit(lib, name, rows, k + 1))
        check_same(lib, model, expected, rows[0])
        margin = lib.predict(expected, held_out[0], raw=True)
        wanted = loss(name, (*held_out[:2], None), margin)
        np.testing.assert_allclose(values[k], wanted, rtol=CLOSE)
    check_same(lib, keep.model, lib.booster(fit(lib, name, rows, PRUNED)), rows[0])


@pytest.mark.skipif(
    parse_version(lgb.__version__) < parse_version("4.6"),
    reason="Optuna's callback reads what cv of LightGBM 4.6 and newer reports",
)
@trained
def test_what_a_pruned_cv_leaves(name: str, rows) -> None:
    def boosters(k: int, **given: Any) -> Any:
        return LGB.adapter.cv(
            LGB.params, LGB.data(rows[0], labels_of(name, rows[1]), rows[2]), k, nfold=2,
            objective=TRAINED[name][0], metric=go.loss_metric(TRAINED[name][0]), seed=1,
            stratified=False, return_cvbooster=True, **given,
        )["cvbooster"].boosters  # fmt: skip

    _, keep = prune(LGB, "valid", lambda callbacks: boosters(20, callbacks=callbacks))
    kept = [pickle.loads(one).boosters for one in keep.kept]
    for k, found in [*enumerate(kept, 1), (PRUNED, keep.model.boosters)]:
        for one, expected in zip(found, boosters(k), strict=True):
            check_same(LGB, one, expected, rows[0])
