"""One booster on one sample: the rounds chosen on held-out rows, then the model, timed.

Held-out rows have the full population's distribution, so a model of downsampled rows is
judged there after its correction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb

from experiments._common import Array
from experiments.negative_downsampling.configuration import Training
from gbdt_objectives import correct_probability, weighted_logloss_metric
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from gbdt_objectives.objectives import Objective

Rows = tuple[Array, Array]
"""Features (n, d) and labels 0 and 1 (n,)."""

METRIC = weighted_logloss_metric(1, input_space="probability")


@dataclass(frozen=True)
class Recipe:
    """How to train: the booster's own logloss, or an objective, with or without weights.

    ``shift`` is what the predicted log-odds still lack; ``parameters`` are the booster's own.
    With an objective, held-out rows may have weights too.
    """

    objective: Objective | None = None
    weight: Array | None = None
    held_out_weight: Array | None = None
    shift: float = 0.0
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Fitted:
    """A trained model, before any correction, and the seconds that it took."""

    margin: Callable[[Array], Array]
    rounds: int
    seconds: float
    seconds_choosing: float


def fit(booster: str, rows: Rows, held_out: Rows, recipe: Recipe, training: Training) -> Fitted:
    """Choose the rounds on the held-out rows, then train that many, which is what is timed."""
    began = time.perf_counter()
    rounds, _ = train(booster, rows, recipe, training, training.most_rounds, held_out)
    chosen = time.perf_counter()
    _, margin = train(booster, rows, recipe, training, rounds, None)
    done = time.perf_counter()
    return Fitted(margin, rounds, done - chosen, chosen - began)


def train(
    booster: str, rows: Rows, recipe: Recipe, training: Training, rounds: int, held_out: Rows | None
) -> tuple[int, Callable[[Array], Array]]:
    """The number of rounds, the best one on the held-out rows if there are any, and features to
    margins."""
    library = {"XGBoost": _xgboost, "LightGBM": _lightgbm}[booster]
    return library(rows, recipe, training, rounds, held_out)


def _xgboost(
    rows: Rows, recipe: Recipe, training: Training, rounds: int, held_out: Rows | None
) -> tuple[int, Callable[[Array], Array]]:
    params = {
        "learning_rate": training.learning_rate,
        "max_depth": training.max_depth,
        "nthread": training.threads,
        **recipe.parameters,
    }
    data = xgb.DMatrix(*rows, weight=recipe.weight, nthread=training.threads)
    evals = []
    if held_out is not None:
        evals = [(xgb.DMatrix(*held_out, weight=recipe.held_out_weight), "held_out")]
    if recipe.objective is not None:
        stopping = _stopping(evals, training)
        model = xgboost_adapter.train(params, data, rounds, objective=recipe.objective, **stopping)
    else:
        stop = xgb.callback.EarlyStopping(rounds=training.patience, maximize=False, save_best=True)
        model = xgb.train(
            {**params, "objective": "binary:logistic", "disable_default_eval_metric": 1},
            data,
            rounds,
            evals=evals,
            custom_metric=lambda p, d: (METRIC.name, _corrected_logloss(p, d, recipe.shift)),
            callbacks=[stop] if evals else None,
            verbose_eval=False,
        )

    def margin(X: Array) -> Array:
        return model.predict(xgb.DMatrix(X), output_margin=True).astype(np.float64)

    return model.num_boosted_rounds(), margin


def _lightgbm(
    rows: Rows, recipe: Recipe, training: Training, rounds: int, held_out: Rows | None
) -> tuple[int, Callable[[Array], Array]]:
    params = {
        "learning_rate": training.learning_rate,
        "max_depth": training.max_depth,
        "num_leaves": 2**training.max_depth,
        "num_threads": training.threads,
        "verbose": -1,
        **recipe.parameters,
    }
    data = lgb.Dataset(*rows, weight=recipe.weight, params=params)
    evals = []
    if held_out is not None:
        held_out_data = lgb.Dataset(*held_out, weight=recipe.held_out_weight, reference=data)
        evals = [(held_out_data, "held_out")]
    if recipe.objective is not None:
        model = lightgbm_adapter.train(
            params, data, rounds, objective=recipe.objective, **_stopping(evals, training)
        )
    else:
        stop = lgb.early_stopping(training.patience, verbose=False)
        model = lgb.train(
            {**params, "objective": "binary", "metric": "None"},
            data,
            rounds,
            valid_sets=[dataset for dataset, _ in evals],
            feval=lambda p, d: (METRIC.name, _corrected_logloss(p, d, recipe.shift), False),
            callbacks=[stop] if evals else None,
        )

    def margin(X: Array) -> Array:
        return np.asarray(model.predict(X, raw_score=True))

    return model.best_iteration if model.best_iteration > 0 else model.num_trees(), margin


def _stopping(evals: list[tuple[Any, str]], training: Training) -> dict[str, Any]:
    """Arguments of the adapters' ``train``; the margin is the population's log-odds."""
    if not evals:
        return {}
    metric = weighted_logloss_metric(1)
    return {"metric": metric, "evals": evals, "early_stopping_rounds": training.patience}


def _corrected_logloss(probability: Array, data: Any, shift: float) -> float:
    p = correct_probability(probability.astype(np.float64), shift=shift)
    return METRIC(data.get_label(), p)
