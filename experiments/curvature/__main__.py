"""Exact or bounded hessians of the logistic objectives, with and without large weights.

Run from the repository root: ``python -m experiments.curvature FOLDER [--quick]``, where
FOLDER holds the CSV files that config.json names; without it, simulated rows only.

Symbols: W the weight, of a kept negative or of a positive; w the measured rate at which negatives
were kept, about 1/W.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments import _common
from experiments.negative_downsampling import files
from experiments.negative_downsampling.configuration import Training
from experiments.negative_downsampling.files import Cell, Settings, best
from experiments.negative_downsampling.methods import Data
from experiments.negative_downsampling.models import Recipe, Rows
from gbdt_objectives import (
    log_odds_shift,
    negative_downsample,
    offset_logloss_objective,
    weighted_logloss_objective,
)
from gbdt_objectives.priors import measured_keep_rates

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"

WEIGHTED, POSITIVES, OFFSET = "weighted", "positives weighed", "offset"
"""Negatives thinned and weighed back, all rows with weights of W for positives, negatives thinned
with the offset."""

HESSIANS = ("exact", "bounded")
EXACT, BOUNDED, STEP = "exact", "bounded", "exact, max_delta_step 1"
TUNED_EXACT, TUNED_BOUNDED = "exact, tuned", "bounded, tuned"

PLACE = ["kind", "weight", "booster", "size", "data"]

DIFFERENCES = (
    (BOUNDED, EXACT),
    (TUNED_BOUNDED, TUNED_EXACT),
    (BOUNDED, TUNED_EXACT),
    (BOUNDED, STEP),
)
"""What is subtracted: the first's figures minus the second's."""


# One case


@dataclass(frozen=True)
class Sample:
    """The rows to train on, and how to train on them with an "exact" or "bounded" hessian."""

    rows: Rows
    recipe: Callable[[Any], Recipe]


def sample(kind: str, W: float, data: Data, rng: np.random.Generator) -> Sample:
    """What weights of W are in each kind of training; W = 1 keeps all rows."""
    (X, y), (_, held_out) = data.train, data.held_out
    if kind == POSITIVES:
        weights = [np.where(labels == 1, W, 1.0) for labels in (y, held_out)]
        shift = float(log_odds_shift(positive_keep_rate=W))
        return Sample(
            data.train,
            lambda hessian: Recipe(
                weighted_logloss_objective(1, hessian=hessian), *weights, shift=shift
            ),
        )
    rows = negative_downsample(y, 1 / W, random_state=rng)
    w = measured_keep_rates(y, y[rows])[0]
    make = {WEIGHTED: weighted_logloss_objective, OFFSET: offset_logloss_objective}[kind]
    return Sample((X[rows], y[rows]), lambda hessian: Recipe(make(w, hessian=hessian)))


def candidates(booster: str, settings: Settings) -> list[dict[str, float]]:
    """Parameters to try, the library's own first."""
    default = settings["default_reg_lambda"][booster]
    others = [value for value in settings["reg_lambda"] if value != default]
    name = {"LightGBM": "lambda_l2", "XGBoost": "reg_lambda"}[booster]
    return [
        {name: value, "max_delta_step": step}
        for step in settings["max_delta_step"]
        for value in (default, *others)
    ]


def compare(booster: str, size: str, own: Sample, data: Data, settings: Settings) -> Iterator[Cell]:
    """Both hessians with the library's parameters and with the best of all candidates."""
    training, tree = Training(**settings["training"]), settings["sizes"][size][booster]
    X_test, y_test = data.test
    tries = candidates(booster, settings)
    step = next(k for k, tried in enumerate(tries) if tried["max_delta_step"] == 1)
    for hessian in HESSIANS:
        recipe = own.recipe(hessian)
        found = [
            files.train(booster, own.rows, data, replace(recipe, parameters=tree | tried), training)
            for tried in tries
        ]
        methods = {hessian: 0, f"{hessian}, tuned": found.index(best(found))}
        if hessian == EXACT:
            methods[STEP] = step
        for method, k in methods.items():
            line = files.cell(method, y_test, found[k].margin(X_test), tries[k])
            yield line | {"rounds": found[k].rounds}


def run_all(folder: Path | None, settings: Settings) -> Iterator[Cell]:
    """One line a data set, fold, case, booster, size of tree and method."""
    for name, fold, data in files.data_sets(folder, settings):
        negatives = (data.train[1] == 0).sum()
        for kind, W in settings["cases"]:
            if kind != POSITIVES and negatives / W < settings["least_negatives"]:
                continue
            own = sample(kind, W, data, np.random.default_rng([settings["seed"], fold]))
            for booster in settings["boosters"]:
                for size in settings["sizes"]:
                    place = {"data": name, "fold": fold, "kind": kind, "weight": W}
                    place |= {"booster": booster, "size": size}
                    for line in compare(booster, size, own, data, settings):
                        yield place | line


# Means, paired differences, and how often which is better


def summarize(cells: pd.DataFrame) -> pd.DataFrame:
    """Means over folds."""
    figures = ["logloss", "auc", "mean_ratio", "rounds"]
    return cells.groupby([*PLACE, "method"], sort=False)[figures].mean().reset_index()


def differences(cells: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Paired over folds, with Nadeau and Bengio's error; of draws of rows the plain one."""
    found = []
    for (kind, size), own in cells.groupby(["kind", "size"], sort=False):
        lines = files.differences(own, "weight", DIFFERENCES, settings)
        found.append(lines.assign(kind=kind, size=size))
    wide = pd.concat(found, ignore_index=True)
    return wide[[*PLACE, *(name for name in wide if name not in PLACE)]]


def count(found: pd.DataFrame) -> pd.DataFrame:
    """How often the first is better, level and worse, by two errors, and its extremes in percent
    of the second's logloss."""
    lines = []
    for (kind, W, booster, first, second), own in found.groupby(
        ["kind", "weight", "booster", "first", "second"], sort=False
    ):
        verdicts = own.verdict.value_counts()
        better, worse = (int(verdicts.get(name, 0)) for name in ("better", "worse"))
        lines.append({
            "kind": kind,
            "weight": W,
            "booster": booster,
            "first": first,
            "second": second,
            "better": better,
            "level": len(own) - better - worse,
            "worse": worse,
            "lowest_percent": own.percent.min(),
            "median_percent": own.percent.median(),
            "highest_percent": own.percent.max(),
        })  # fmt: skip
    return pd.DataFrame(lines)


def claimed(found: pd.DataFrame, claim: dict[str, Any]) -> pd.DataFrame:
    """The differences that the claim is about, and whether the first is worse beyond its errors."""
    own = found[
        (found["first"] == claim["first"])
        & (found["second"] == claim["second"])
        & found.kind.isin(claim["kinds"])
        & (found.weight >= claim["least_weight"])
    ]
    return own.assign(fails=own.logloss > claim["standard_errors"] * own.logloss_se)


def counts_table(counts: pd.DataFrame) -> str:
    """A line a kind, weight and booster; better, level and worse of each difference."""
    pairs = [f"{first} - {second}" for first, second in DIFFERENCES]
    rows = []
    for (kind, W, booster), own in counts.groupby(["kind", "weight", "booster"], sort=False):
        cells = [
            f"{row.better} / {row.level} / {row.worse} ({row.lowest_percent:+.1f} to "
            f"{row.highest_percent:+.1f} %)"
            for row in own.itertuples()
        ]
        rows.append([kind, f"{W:g}", booster, *cells])
    return _common.markdown_table(["training", "W", "booster", *pairs], rows)


def differences_table(found: pd.DataFrame) -> str:
    """Logloss and AUC of the first minus the second's, e-3."""
    rows = [
        [row["kind"], f"{row['weight']:g}", row["booster"], row["size"], row["data"],
         f"{row['first']} - {row['second']}",
         f"{1e3 * row['logloss']:+.2f} ± {1e3 * row['logloss_se']:.2f}",
         f"{1e3 * row['auc']:+.1f} ± {1e3 * row['auc_se']:.1f}", row["verdict"]]
        for row in found.to_dict("records")
    ]  # fmt: skip
    header = ["training", "W", "booster", "trees", "data", "difference", "logloss e-3", "AUC e-3"]
    return _common.markdown_table([*header, "in logloss the first is"], rows)


def study(folder: Path | None, settings: Settings) -> _common.Findings:
    """Every fold, the differences, and whether bounded is ever worse where weights are large."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "early stopping keeps", UserWarning)  # see rounds
        cells = pd.DataFrame(run_all(folder, settings))
    found = differences(cells, settings)
    counts, judged = count(found), claimed(found, settings["claim"])
    return _common.Findings(
        {
            "cells": significant(cells),
            "summary": significant(summarize(cells)),
            "differences": significant(found),
            "counts": significant(counts),
        },
        f"{counts_table(counts)}\n\n{differences_table(found)}",
        "with large weights bounded is never worse than exact "
        f"(it is in {judged.fails.sum()} of {len(judged)})",
        not judged.fails.any(),
    )


def significant(frame: pd.DataFrame) -> pd.DataFrame:
    """Six decimals, four of percents."""
    percents = {name: 4 for name in frame if "percent" in name}
    return frame.round({name: 6 for name in frame.select_dtypes(float)} | percents)


def main(arguments: Sequence[str] | None = None) -> int:
    quick = _common.read_json(CONFIG)["quick"]
    return _common.run_study(HERE, __doc__, study, arguments, quick=quick, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
