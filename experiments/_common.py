"""What the experiments share: four ways to train, thresholds, tables and the record of a run.

Symbols: X features (n, d), y integer labels (n,), score a prediction in label units (n,).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.model_selection import StratifiedKFold

from gbdt_objectives import (
    LabelShift,
    quadratic_weighted_kappa,
    qwk_metric,
    qwk_objective,
)
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter
from gbdt_objectives.adapters import xgboost as xgboost_adapter

Array = NDArray[Any]

BLUE, ORANGE = "#0072B2", "#D55E00"
"""Extended QWK and squared error in every picture (Okabe-Ito, colour-blind safe)."""
COLORS = {"squared error": ORANGE, "extended QWK": BLUE}

LIBRARIES = ("gbdt_objectives", "xgboost", "lightgbm", "numpy", "scipy", "scikit-learn", "pandas")


@dataclass(frozen=True)
class Task:
    """What all models of one comparison have in common.

    ``rounds`` is the most that early stopping may use; ``patience`` how many rounds
    without improvement end it; ``clip`` is that of ``qwk_objective``.
    """

    label_range: tuple[int, int]
    rounds: int
    patience: int
    xgboost: Mapping[str, Any] = field(default_factory=dict)
    lightgbm: Mapping[str, Any] = field(default_factory=dict)
    clip: bool = True


@dataclass(frozen=True)
class Fitted:
    """A trained model: features to scores in label units, and the rounds it holds."""

    predict: Callable[[Array], Array]
    rounds: int


Validation = tuple[Array, Array] | None
Fit = Callable[[Array, Array, Task, int, Validation], Fitted]
"""(X, y, task, rounds, validation) to a model; with validation it stops early."""


def xgboost_squared_error(
    X: Array, y: Array, task: Task, rounds: int, validation: Validation = None
) -> Fitted:
    """XGBoost's own squared error, starting at the mean label, stopping on its own rmse."""
    evals = [] if validation is None else [(xgb.DMatrix(*validation), "validation")]
    stop = xgb.callback.EarlyStopping(rounds=task.patience, save_best=True)
    booster = xgb.train(
        {**task.xgboost, "objective": "reg:squarederror", "base_score": float(y.mean())},
        xgb.DMatrix(X, y),
        rounds,
        evals=evals,
        callbacks=[stop] if evals else None,
        verbose_eval=False,
    )
    return Fitted(lambda X: booster.predict(xgb.DMatrix(X)), booster.num_boosted_rounds())


def xgboost_qwk(
    X: Array, y: Array, task: Task, rounds: int, validation: Validation = None
) -> Fitted:
    """XGBoost on extended QWK, stopping on the QWK of rounded scores."""
    booster = xgboost_adapter.train(
        task.xgboost,
        xgb.DMatrix(X, y),
        rounds,
        objective=qwk_objective(y, label_range=task.label_range, clip=task.clip),
        **_stopping(task, None if validation is None else xgb.DMatrix(*validation)),
    )
    return Fitted(lambda X: booster.predict(xgb.DMatrix(X)), booster.num_boosted_rounds())


def lightgbm_squared_error(
    X: Array, y: Array, task: Task, rounds: int, validation: Validation = None
) -> Fitted:
    """LightGBM's own squared error, stopping on its own l2."""
    data = lgb.Dataset(X, y)
    stopping: dict[str, Any] = {}
    if validation is not None:
        stopping["valid_sets"] = [lgb.Dataset(*validation, reference=data)]
        stopping["callbacks"] = [lgb.early_stopping(task.patience, verbose=False)]
    params = {"verbose": -1, **task.lightgbm, "objective": "regression"}
    booster = lgb.train(params, data, rounds, **stopping)
    return Fitted(booster.predict, booster.best_iteration if stopping else booster.num_trees())


def lightgbm_qwk(
    X: Array, y: Array, task: Task, rounds: int, validation: Validation = None
) -> Fitted:
    """LightGBM on extended QWK with the intercept in the model, stopping on rounded QWK."""
    data = lgb.Dataset(X, y)
    booster = lightgbm_adapter.train(
        {"verbose": -1, **task.lightgbm},
        data,
        rounds,
        objective=qwk_objective(y, label_range=task.label_range, clip=task.clip),
        **_stopping(task, None if validation is None else lgb.Dataset(*validation, reference=data)),
    )
    return Fitted(booster.predict, booster.num_trees())


def lightgbm_qwk_shifted(
    X: Array, y: Array, task: Task, rounds: int, validation: Validation = None
) -> Fitted:
    """LightGBM on extended QWK as published: labels shifted to their centre, scores back."""
    low, high = task.label_range
    shift = LabelShift((low + high) / 2)
    metric = qwk_metric(task.label_range)

    def rounded_qwk_of_shifted(margin: Array, data: lgb.Dataset) -> tuple[str, float, bool]:
        value = metric(shift.unshift(data.get_label()), shift.unshift(margin))
        return metric.name, value, metric.greater_is_better

    shifted_range = (float(low - shift.offset), float(high - shift.offset))
    objective = qwk_objective(shift.shift(y), label_range=shifted_range, clip=task.clip)
    data = lgb.Dataset(X, shift.shift(y))
    stopping: dict[str, Any] = {}
    if validation is not None:
        X_valid, y_valid = validation
        stopping["valid_sets"] = [lgb.Dataset(X_valid, shift.shift(y_valid), reference=data)]
        stopping["feval"] = rounded_qwk_of_shifted
        stopping["callbacks"] = [lgb.early_stopping(task.patience, verbose=False)]
    params = {"verbose": -1, "metric": "None", **task.lightgbm, "objective": objective}
    booster = lgb.train(params, data, rounds, **stopping)
    return Fitted(
        lambda X: shift.unshift(booster.predict(X)),
        booster.best_iteration if stopping else booster.num_trees(),
    )


def _stopping(task: Task, validation: xgb.DMatrix | lgb.Dataset | None) -> dict[str, Any]:
    if validation is None:
        return {}
    return {
        "metric": qwk_metric(task.label_range),
        "evals": [(validation, "validation")],
        "early_stopping_rounds": task.patience,
    }


def out_of_fold(
    fit: Fit, X: Array, y: Array, task: Task, rounds: int, *, folds: int = 5, seed: int = 0
) -> Array:
    """The score of each row from the model that has not seen it."""
    score = np.empty(len(y))
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for train, held_out in splits.split(X, y):
        score[held_out] = fit(X[train], y[train], task, rounds, None).predict(X[held_out])
    return score


def fit_thresholds(y: Array, score: Array, label_range: tuple[int, int]) -> Array:
    """The K-1 cuts of the best QWK that one Nelder-Mead run finds from the half-integers.

    A stand-in for ``optimize_thresholds(y, score, method="nelder-mead")``.
    """
    low, high = label_range

    def loss(thresholds: Array) -> float:
        classes = low + np.searchsorted(np.sort(thresholds), score, side="right")
        return -quadratic_weighted_kappa(y, classes)

    found = minimize(loss, np.arange(low, high) + 0.5, method="Nelder-Mead")
    return np.sort(found.x)


def rounded_qwk(y: Array, score: Array, label_range: tuple[int, int]) -> float:
    """QWK of scores rounded to the nearest label."""
    return qwk_metric(label_range)(y, score)


def cut_qwk(y: Array, score: Array, label_range: tuple[int, int], thresholds: Array) -> float:
    """QWK of scores cut at thresholds."""
    return qwk_metric(label_range, thresholds=thresholds)(y, score)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and its standard error (nan for a single value)."""
    array = np.asarray(values, dtype=float)
    if len(array) < 2:
        return float(array.mean()), float("nan")
    return float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array)))


def plus_minus(mean: float, error: float, digits: int = 4) -> str:
    """ "0.6339 ± 0.0004", without the second part if there is no error to give."""
    if np.isnan(error):
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An aligned Markdown table, readable on a terminal as well."""
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    )


def write_environment(folder: Path, seeds: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """environment.json: what is needed to run it again; no path and no host name."""
    record = {
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "platform": {
            "system": platform.system(),
            "machine": platform.machine(),
            "cpu_count": os.cpu_count(),
        },
        "seeds": dict(seeds),
        "settings": dict(settings),
    }
    text = json.dumps(record, indent=2, ensure_ascii=False)
    (folder / "environment.json").write_text(text + "\n", encoding="utf-8")


def task(label_range: tuple[int, int], rounds: int, patience: int, threads: int) -> Task:
    """The settings of the published experiment, on so many threads."""
    return Task(
        label_range=label_range,
        rounds=rounds,
        patience=patience,
        xgboost={"learning_rate": 0.1, "max_depth": 5, "nthread": threads},
        lightgbm={"learning_rate": 0.1, "num_threads": threads},
    )


def add_threads(parser: argparse.ArgumentParser) -> None:
    """--threads, 1 unless given: boosters that fight for cores can be 20 times slower."""
    parser.add_argument(
        "--threads", type=positive_integer, default=1, metavar="N", help="per model; default 1"
    )


def positive_integer(text: str) -> int:
    """For argparse: a whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, found {text!r}")
    return int(text)
