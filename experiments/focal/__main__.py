"""Focal, weighted and plain logistic loss on rare events: ranking, and what probabilities come out.

Run from the repository root: ``python -m experiments.focal FOLDER [--quick]``, where FOLDER holds
the CSV files that config.json names; without it, simulated rows only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from scipy.special import expit
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from experiments.bag_averages.__main__ import simulated
from gbdt_objectives import Objective, focal_objective, weighted_logloss_objective
from gbdt_objectives.calibration import LogitCalibrator

HERE = Path(__file__).parent
RESULTS = HERE / "results"
QUICK = {"repeats": 1, "folds": 2, "simulated": {"rows": 3000}, "rounds": [10, 20]}
PLAIN = "logloss"
MEASURES = ("auc", "average_precision", "sigma", "class_probability", "calibrated")
"""Ranking; and the log loss of sigma(margin), of the objective's class_probability, and of
class_probability after a calibrator."""


@dataclass(frozen=True)
class Method:
    """An objective, and the weight of the events."""

    objective: Objective
    event_weight: float = 1.0

    def weights(self, y: Array) -> Array:
        return np.where(y == 1, self.event_weight, 1.0)

    def probability(self, margin: Array) -> Array:
        """Of the event; log(weight) is taken from the margin, as weights raise the log-odds so."""
        shifted = margin - np.log(self.event_weight)
        return self.objective.class_probability(shifted)[:, 1]


def methods(y: Array, settings: dict[str, Any]) -> dict[str, Method]:
    """By name; where events are weighted, both classes weigh the same."""
    balanced = float((y == 0).sum() / (y == 1).sum())
    exact, bounded = (
        weighted_logloss_objective(1.0, hessian=kind) for kind in ("exact", "bounded")
    )
    return {
        PLAIN: Method(exact),
        "weighted": Method(exact, balanced),
        "weighted, bounded": Method(bounded, balanced),
        **{f"focal {g:g}": Method(focal_objective(g)) for g in settings["gammas"]},
    }


Margins = Callable[[Array, int], Array]
"""(X, rounds) to margins."""


def fit_xgboost(X: Array, y: Array, method: Method, params: dict[str, Any], rounds: int) -> Margins:
    w = method.weights(y)
    objective = method.objective.measured(y, w)
    start = objective.intercept
    data = xgb.DMatrix(X, y, weight=w, base_margin=np.full(len(y), start))
    params = {**params, "base_score": 0.0, "nthread": 1}
    booster = xgb.train(params, data, rounds, obj=objective)

    def margins(X: Array, rounds: int) -> Array:
        data = xgb.DMatrix(X, base_margin=np.full(len(X), start))
        found: Array = booster.predict(data, output_margin=True, iteration_range=(0, rounds))
        return found.astype(float)

    return margins


def fit_lightgbm(
    X: Array, y: Array, method: Method, params: dict[str, Any], rounds: int
) -> Margins:
    w = method.weights(y)
    objective = method.objective.measured(y, w)
    start = objective.intercept
    data = lgb.Dataset(X, y, weight=w, init_score=np.full(len(y), start))
    params = {**params, "objective": objective, "num_threads": 1, "verbose": -1}
    booster = lgb.train(params, data, rounds)

    def margins(X: Array, rounds: int) -> Array:
        found: Array = booster.predict(X, num_iteration=rounds)
        return found + start

    return margins


FITS = {"LightGBM": fit_lightgbm, "XGBoost": fit_xgboost}


def line(
    fit: Callable[..., Margins],
    params: dict[str, Any],
    method: Method,
    train: tuple[Array, Array],
    held_out: tuple[Array, Array],
    test: tuple[Array, Array],
    rounds: Sequence[int],
) -> dict[str, float]:
    """The measures on test rows, at the number of rounds with the least loss, the method's own,
    on the held-out rows, which also fit the calibrator."""
    margins = fit(*train, method, params, max(rounds))
    X, y = held_out
    w = method.weights(y)
    losses = [method.objective.loss(y, margins(X, number), w) for number in rounds]
    best = rounds[int(np.argmin(losses))]
    calibrator = LogitCalibrator().fit(method.probability(margins(X, best)), y)
    X, y = test
    margin = margins(X, best)
    p = method.probability(margin)
    probabilities = {
        "sigma": expit(margin), "class_probability": p, "calibrated": calibrator.predict(p)
    }  # fmt: skip
    return {
        "rounds": best,
        "auc": roc_auc_score(y, margin),
        "average_precision": average_precision_score(y, margin),
        **{name: log_loss(y, np.clip(p, 1e-15, 1 - 1e-15)) for name, p in probabilities.items()},
    }


def data_sets(folder: Path | None, settings: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    seed = settings["seed"]
    if folder is not None:
        for name, how in settings["data"].items():
            yield name, _common.rare_events(folder / f"{name}.csv", how, seed)
    yield "simulated", simulated(settings["simulated"]["rows"], seed)


def run_all(folder: Path | None, settings: dict[str, Any]) -> pd.DataFrame:
    """One line per data set, model, method and fold."""
    lines = []
    for name, (X, y) in data_sets(folder, settings):
        splits = RepeatedStratifiedKFold(
            n_splits=settings["folds"], n_repeats=settings["repeats"], random_state=settings["seed"]
        )
        for fold, (rows, test) in enumerate(tqdm(list(splits.split(X, y)), desc=name)):
            train, held_out = train_test_split(
                rows, test_size=settings["held_out"], stratify=y[rows], random_state=fold
            )
            parts = [(X[part], y[part]) for part in (train, held_out, test)]
            for model, params in settings["models"].items():
                for method_name, method in methods(y[train], settings).items():
                    place = {"data": name, "model": model, "method": method_name, "fold": fold}
                    found = line(FITS[model], params, method, *parts, settings["rounds"])
                    lines.append(place | found)
    return pd.DataFrame(lines)


def summarize(cells: pd.DataFrame, settings: dict[str, Any]) -> pd.DataFrame:
    """Every measure, and its difference from plain logloss's (of sigma: from the method's own
    class_probability), paired over folds, with the corrected error; x 1000."""
    lines = []
    share = 1 / (settings["folds"] - 1)
    for (name, model), own in cells.groupby(["data", "model"], sort=False):
        for method in own.method.unique():
            found = {"data": name, "model": model, "method": method}
            mine, plain = (own[own.method == which].set_index("fold") for which in (method, PLAIN))
            found["rounds"] = mine.rounds.mean()
            for measure in MEASURES:
                other = mine.class_probability if measure == "sigma" else plain[measure]
                difference = 1e3 * (mine[measure] - other).to_numpy()
                found[measure] = 1e3 * mine[measure].mean()
                found[f"{measure}_difference"] = difference.mean()
                found[f"{measure}_error"] = _common.corrected_error(difference, share)
            lines.append(found)
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame) -> str:
    """Every measure in e-3; in brackets nothing for plain logloss, else the difference."""

    def shown(row: Any, measure: str) -> str:
        value = f"{getattr(row, measure):.1f}"
        if row.method == PLAIN or measure == "sigma":
            return value
        error = getattr(row, f"{measure}_error")
        return f"{value} ({getattr(row, f'{measure}_difference'):+.1f} ± {error:.1f})"

    header = ["data", "model", "method", "rounds", "AUC", "average precision",
              "log loss: sigma", "class_probability", "calibrated"]  # fmt: skip
    rows = [
        [row.data, row.model, row.method, f"{row.rounds:.0f}", *(shown(row, m) for m in MEASURES)]
        for row in summary.itertuples()
    ]
    return _common.markdown_table(header, rows)


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    cells = run_all(folder, settings)
    summary = summarize(cells, settings)
    focal = summary[summary.method.str.startswith("focal")]
    holds = bool((focal.sigma_difference > 2 * focal.sigma_error).all())
    figures = {"cells": cells.round(7), "summary": summary.round(4)}
    claim = "sigma of a focal margin is a worse probability"
    return Findings(figures, table(summary), claim, holds)


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
