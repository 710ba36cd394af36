"""Exact or bounded hessians of the logistic objectives, with and without large weights.

Run from the repository root: ``python -m experiments.curvature FOLDER [--quick]``, where
FOLDER holds the CSV files that config.json names; without it, simulated rows only.

Symbols: W the weight, of a kept negative or of a positive; w the measured rate at which negatives
were kept, about 1/W.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from experiments import _common
from experiments._common import InputError
from experiments.negative_downsampling import files
from experiments.negative_downsampling.configuration import Training
from experiments.negative_downsampling.files import Cell, Settings, best
from experiments.negative_downsampling.methods import Data
from experiments.negative_downsampling.models import Recipe, Rows
from gbdt_objectives import (
    log_odds_shift,
    measured_keep_rates,
    negative_downsample,
    offset_logloss_objective,
    weighted_logloss_objective,
)

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"

WEIGHTED, POSITIVES, OFFSET = "weighted", "positives weighed", "offset"
"""Negatives thinned and weighed back, all rows with weights of W for positives, negatives thinned
with the offset."""

HESSIANS = ("exact", "bounded")
EXACT, BOUNDED, STEP = "exact", "bounded", "exact, max_delta_step 1"
TUNED_EXACT, TUNED_BOUNDED = "exact, tuned", "bounded, tuned"

DIFFERENCES = (
    (BOUNDED, EXACT),
    (TUNED_BOUNDED, TUNED_EXACT),
    (BOUNDED, TUNED_EXACT),
    (BOUNDED, STEP),
)
"""What is subtracted: the first's figures minus the second's."""


def read(*, quick: bool = False) -> Settings:
    """config.json, which was fixed before any result existed."""
    settings = _common.read_json(CONFIG)
    small = settings.pop("quick")
    return settings | small if quick else settings


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
