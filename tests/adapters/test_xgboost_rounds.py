"""XGBoost: a model is complete in every round: what a callback saves predicts as a training of so
many rounds does, and XGBoost's own metrics read what it predicts."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit, softmax

import gbdt_objectives as go
from gbdt_objectives import metrics
from gbdt_objectives.adapters import xgboost as ours
from gbdt_objectives.adapters.xgboost.parameters import holds_starts
from tests.adapters.classes import Softmax
from tests.matrix.tables import of_classes, of_classes_loss, poisson, poisson_loss

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.filterwarnings(
    "ignore:early stopping keeps", "ignore:.*is deprecated:UserWarning"  # gblinear and dart, in 3.4
)  # fmt: skip

N, ROUNDS = 240, 5
TRAIN, TEST = slice(0, 160), slice(160, N)
RNG = np.random.default_rng(53)
X = RNG.normal(size=(N, 4))
SCORE = X[:, 0] + 0.7 * X[:, 1] + RNG.normal(0, 0.6, N)
CLASSES, EVENTS = np.digitize(SCORE, [-0.5, 0.5]), (SCORE > 0.8).astype(int)
COUNTS = RNG.poisson(np.exp(1 + 0.5 * SCORE))
CLOSE = {"rtol": 1e-6, "atol": 1e-6}
"""XGBoost adds up its trees in float32."""

LOG = go.objective(poisson, loss=poisson_loss, link="log")
LOGITS = go.objective(of_classes, loss=of_classes_loss, link="softmax", outputs=3)
CORRECTED = go.offset_logloss_objective(0.3)


@dataclass(frozen=True)
class Kind:
    """An objective, its labels, a metric of its margins, and what its models predict."""

    name: str
    objective: go.Objective
    y: Array
    metric: go.Metric
    inverse: Callable[[Array], Array] = field(default=lambda margin: margin)

    @property
    def estimator(self) -> Any:
        return ours.XGBRegressor if self.objective.n_classes is None else ours.XGBClassifier


def of_loss(name: str, objective: go.Objective, y: Array, inverse: Any = None) -> Kind:
    kind = Kind(name, objective, y, metrics.loss_metric(objective))
    return kind if inverse is None else replace(kind, inverse=inverse)


KINDS = [
    Kind("score", go.qwk_objective(), CLASSES + 20, go.extended_qwk_metric()),
    of_loss("log", LOG, COUNTS, np.exp),
    Kind("logit", CORRECTED, EVENTS, go.weighted_logloss_metric(0.3), expit),
    of_loss("softmax", LOGITS, CLASSES, lambda margin: softmax(margin, axis=1)),
    of_loss("outputs", Softmax(n_classes=3), CLASSES),
]
BOOSTERS: dict[str, dict[str, Any]] = {
    "gbtree": {"subsample": 0.7},
    "dart": {"booster": "dart", "rate_drop": 0.5, "skip_drop": 0.0},
    "gblinear": {"booster": "gblinear", "updater": "coord_descent"},
    "vector": {"multi_strategy": "multi_output_tree"},
}
CELLS = [
    (kind, name, stops)
    for kind in KINDS for name in BOOSTERS for stops in (False, True)
    if holds_starts(BOOSTERS[name]) or kind.objective.outputs == 1
    if kind.objective.outputs > 1 or name != "vector"
    if not (stops and name in ("dart", "gblinear"))  # which is refused
]  # fmt: skip
cells = pytest.mark.parametrize(
    ("kind", "booster", "stops"), CELLS,
    ids=[f"{kind.name}-{name}" + "-stops" * stops for kind, name, stops in CELLS],
)  # fmt: skip


def params_of(booster: str) -> dict[str, Any]:
    depth = {} if booster == "gblinear" else {"max_depth": 2}
    return {"learning_rate": 0.3, "nthread": 1, "seed": 3, **depth, **BOOSTERS[booster]}


def matrix(kind: Kind, rows: Any = TRAIN) -> xgb.DMatrix:
    return xgb.DMatrix(X[rows], kind.y[rows], nthread=1)


class Saves(xgb.callback.TrainingCallback):
    """Keeps a model in all the ways that there are, before the first round and after each."""

    def __init__(self, folder: Path, *, slices: bool = True) -> None:
        super().__init__()
        self.folder, self.slices = folder, slices
        self.kept: list[tuple[int, Any]] = []

    def before_training(self, model: Any) -> Any:
        self.save(model, 0)
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.save(model, epoch + 1)
        return False

    def save(self, model: Any, rounds: int) -> None:
        """Nothing is read before training is over: a booster that is read and predicts draws from
        the random numbers of all (XGBoost 3.2)."""
        for booster in [fold.bst for fold in getattr(model, "cvfolds", [])] or [model]:
            path = self.folder / f"{rounds}.json"
            booster.save_model(path)
            kept = [booster.save_raw(), path, pickle.dumps(booster), copy.deepcopy(booster)]
            kept += [booster[:rounds]] if rounds and self.slices else []
            self.kept += [(rounds, one) for one in kept]


def read(kept: Any) -> xgb.Booster:
    """What was kept, by XGBoost itself."""
    if isinstance(kept, bytes):
        return pickle.loads(kept)
    raw = kept.save_raw() if isinstance(kept, xgb.Booster) else kept
    return xgb.Booster(model_file=raw)


def predicted(model: xgb.Booster, **given: Any) -> Array:
    return model.predict(xgb.DMatrix(X[TEST]), **given)


@cache
def trained(kind: str, booster: str, rounds: int) -> Array:
    """What a training of so many rounds predicts."""
    of = next(one for one in KINDS if one.name == kind)
    return predicted(ours.train(params_of(booster), matrix(of), rounds, objective=of.objective))


def check(saves: Saves, kind: Kind, booster: str, final: Any = None) -> None:
    """Each model that was kept is a training of so many rounds; ``final`` was returned."""
    assert len({rounds for rounds, _ in saves.kept}) > 3
    for rounds, kept in saves.kept:
        p = predicted(read(kept))
        if not rounds:
            start = np.array(kind.objective.measured(kind.y[TRAIN]).intercept)
            start = kind.inverse(start[np.newaxis] if start.ndim else start)
            np.testing.assert_allclose(p, np.broadcast_to(start, p.shape), **CLOSE)
            continue
        np.testing.assert_allclose(p, trained(kind.name, booster, rounds), **CLOSE)
        if booster != "dart" and final is not None and rounds <= final.num_boosted_rounds():
            cut = final if booster == "gblinear" else final[:rounds]
            if booster != "gblinear" or rounds == ROUNDS:
                np.testing.assert_allclose(p, predicted(cut), **CLOSE)


@cells
def test_train(kind: Kind, booster: str, stops: bool, tmp_path: Path) -> None:
    saves = Saves(tmp_path, slices=booster != "gblinear")
    stop = {} if not stops else {
        "metric": kind.metric, "evals": [(matrix(kind, TEST), "v")], "early_stopping_rounds": 2
    }  # fmt: skip
    model = ours.train(
        params_of(booster), matrix(kind), ROUNDS, objective=kind.objective, callbacks=[saves],
        **stop,
    )  # fmt: skip
    check(saves, kind, booster, model)
    margin = model.predict(xgb.DMatrix(X[TEST]), output_margin=True)
    np.testing.assert_allclose(predicted(model), kind.inverse(margin), **CLOSE)


@cells
def test_fit(kind: Kind, booster: str, stops: bool, tmp_path: Path) -> None:
    saves = Saves(tmp_path, slices=booster != "gblinear")
    stop = {} if not stops else {"eval_metric": kind.metric, "early_stopping_rounds": 2}
    model = kind.estimator(
        objective=kind.objective, n_estimators=ROUNDS, callbacks=[saves], **stop,
        **params_of(booster),
    )  # fmt: skip
    given = {"eval_set": [(X[TEST], kind.y[TEST])], "verbose": False} if stops else {}
    model.fit(X[TRAIN], kind.y[TRAIN], **given)
    check(saves, kind, booster, model.get_booster())
    assert model.callbacks == [saves]


@cells
def test_cv(kind: Kind, booster: str, stops: bool, tmp_path: Path) -> None:
    saves = Saves(tmp_path, slices=booster != "gblinear")
    rows = np.arange(N)
    ours.cv(
        params_of(booster), matrix(kind, slice(None)), ROUNDS, objective=kind.objective,
        metric=kind.metric, folds=[(rows[TRAIN], rows[TEST])], callbacks=[saves],
        early_stopping_rounds=2 if stops else None,
    )  # fmt: skip
    check(saves, kind, booster)
