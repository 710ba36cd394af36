"""Bags of models on downsampled negatives: probabilities or log-odds averaged, against one bag.

Run from the repository root: ``python -m experiments.bag_averages FOLDER [--quick]``, where
FOLDER holds the CSV files that config.json names; without it, simulated rows only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import RepeatedStratifiedKFold
from tqdm import tqdm
from xgboost import XGBClassifier

from experiments import _common
from experiments._common import Array
from gbdt_objectives import DownsampledClassifier

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
AVERAGES = ("probability", "log_odds")


def models(settings: dict[str, Any]) -> dict[str, Any]:
    """Classifiers by name, each on one thread."""
    own = settings["models"]
    forests = {name: RandomForestClassifier(n_jobs=1) for name in own if name.startswith("forest")}
    found = {"LightGBM": LGBMClassifier(n_jobs=1, verbose=-1), "XGBoost": XGBClassifier(n_jobs=1)}
    return {name: model.set_params(**own[name]) for name, model in (found | forests).items()}


def simulated(rows: int, seed: int) -> tuple[Array, Array]:
    """About two events in a hundred, by an interaction, a fold and two slopes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 8))
    z = -5.3 + X[:, 0] + 0.6 * X[:, 1] + 0.7 * X[:, 4] * X[:, 5] + 0.8 * np.abs(X[:, 3])
    return X, (rng.random(rows) < expit(z)).astype(int)


def data_sets(folder: Path | None, settings: dict[str, Any]) -> Iterator[tuple[str, Any, float]]:
    """Name, (X, y) and keep rate."""
    seed = settings["seed"]
    if folder is not None:
        for name, how in settings["data"].items():
            yield name, _common.rare_events(folder / f"{name}.csv", how, seed), how["keep_rate"]
    own = settings["simulated"]
    yield "simulated", simulated(own["rows"], seed), own["keep_rate"]


def fold_lines(
    model: Any, X: Array, y: Array, rate: float, fold: int, rows: Any, settings: dict[str, Any]
) -> list[dict[str, Any]]:
    """Logloss and mean of every number of bags and average, of the same bags."""
    train, test = rows
    classifier = DownsampledClassifier(
        clone(model), rate, n_bags=settings["most_bags"], calibrate=False, random_state=fold
    ).fit(X[train], y[train])
    bags, rates = classifier.estimators_, classifier.keep_rates_
    lines = []
    for number in (1, *settings["bags"]):
        classifier.estimators_, classifier.keep_rates_ = bags[:number], rates[:number]
        classifier.shift_ = float(np.log(rates[:number, 0]).mean())
        for average in AVERAGES if number > 1 else AVERAGES[:1]:
            p = classifier.set_params(average=average).predict_proba(X[test])[:, 1]
            lines.append({
                "bags": number,
                "average": average,
                "logloss": log_loss(y[test], np.clip(p, 1e-15, 1 - 1e-15)),
                "mean_ratio": p.mean() / y[test].mean(),
            })  # fmt: skip
    return lines


def run_all(folder: Path | None, settings: dict[str, Any]) -> pd.DataFrame:
    """One line per data set, model, fold, number of bags and average."""
    lines = []
    for name, (X, y), rate in data_sets(folder, settings):
        splits = RepeatedStratifiedKFold(
            n_splits=settings["folds"], n_repeats=settings["repeats"], random_state=settings["seed"]
        )
        for fold, rows in enumerate(tqdm(list(splits.split(X, y)), desc=name)):
            for model_name, model in models(settings).items():
                place = {"data": name, "model": model_name, "fold": fold}
                found = fold_lines(model, X, y, rate, fold, rows, settings)
                lines += [place | line for line in found]
    return pd.DataFrame(lines)


def summarize(cells: pd.DataFrame, settings: dict[str, Any]) -> pd.DataFrame:
    """Logloss less that of one of the bags, paired over folds, with the corrected error."""
    lines = []
    share = 1 / (settings["folds"] - 1)
    for (name, model), own in cells.groupby(["data", "model"], sort=False):
        loss = own.pivot_table(index="fold", columns=["bags", "average"], values="logloss")
        single = loss[1, "probability"]
        for (bags, average), group in own.groupby(["bags", "average"], sort=False):
            difference = 1e3 * (loss[bags, average] - single).to_numpy()
            error = _common.corrected_error(difference, share)
            lines.append({
                "data": name,
                "model": model,
                "bags": bags,
                "average": average,
                "logloss": 1e3 * group.logloss.mean(),
                "difference": difference.mean(),
                "error": error,
                "mean_ratio": group.mean_ratio.mean(),
                "loses": bool(difference.mean() > error),
            })  # fmt: skip
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame) -> str:
    """Logloss in e-3, the difference from one bag, and the mean over the truth."""
    rows = [
        [row.data, row.model, str(row.bags), row.average.replace("_", "-"), f"{row.logloss:.2f}",
         "" if row.bags == 1 else f"{row.difference:+.2f} ± {row.error:.2f}",
         f"{row.mean_ratio:.3f}", "yes" if row.loses else ""]
        for row in summary.itertuples()
    ]  # fmt: skip
    header = ["data", "model", "bags", "average of", "logloss e-3", "less one bag", "mean / true"]
    return _common.markdown_table([*header, "loses"], rows)


def study(folder: Path | None, settings: dict[str, Any]) -> _common.Findings:
    """Every fold, the differences, and whether averaged probabilities ever lose."""
    cells = run_all(folder, settings)
    summary = summarize(cells, settings)
    return _common.Findings(
        {"cells": cells.round(7), "summary": summary.round(4)},
        table(summary),
        "averaged probabilities never lose to one bag",
        not summary[summary.average == "probability"].loses.any(),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    quick = {"repeats": 1, "folds": 2, "simulated": {"rows": 1500, "keep_rate": 0.2}}
    return _common.run_study(HERE, __doc__, study, arguments, quick=quick, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
