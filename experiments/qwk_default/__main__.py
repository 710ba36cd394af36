"""Which defaults of QWKClassifier: objective "qwk" or None, early stopping or not, at what cost?

Run from the repository root: ``python -m experiments.qwk_default FOLDER [--quick]``, where FOLDER
holds the CSV files that config.json names; without it, rows that are made only.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from experiments.ordinal_benchmark.arms import BOOSTERS
from experiments.ordinal_benchmark.data import data_sets, simulate
from gbdt_objectives import QWKClassifier, quadratic_weighted_kappa

HERE = Path(__file__).parent
RESULTS = HERE / "results"
QUICK = {
    "folds": 2, "test_rows": 1000, "files": {},
    "simulated": {"linear": {"kind": "linear", "rows": 200, "correlation": 0.7, "cut_at": [0.4]},
                  "rules": {"kind": "rules", "rows": 200}},
    "parameters": {name: {booster: {"n_estimators": 5} for booster in BOOSTERS}
                   for name in ("as they come", "300 rounds")},
}  # fmt: skip

OBJECTIVES: dict[str, Any] = {"qwk": "qwk", "None": None}
COMPARED = {
    "None minus qwk": (("None", False), ("qwk", False)),
    "None minus qwk, stopped": (("None", True), ("qwk", True)),
    "qwk, stopped minus not": (("qwk", True), ("qwk", False)),
    "None, stopped minus not": (("None", True), ("None", False)),
}
"""Objective and whether it stops early, of the first and of the second."""


def splits(
    folder: Path | None, settings: Mapping[str, Any]
) -> Iterator[tuple[str, int, float, Array, Array, Array, Array]]:
    """File, fold, test rows for each training row if folds share rows, training and test rows."""
    folds = StratifiedKFold(settings["folds"], shuffle=True, random_state=settings["seed"])
    for name, (X, y) in data_sets(folder, settings):
        for fold, (train, test) in enumerate(folds.split(X, y)):
            yield name, fold, len(test) / len(train), X[train], y[train], X[test], y[test]
    for name, how in settings["simulated"].items():
        for draw in range(settings["folds"]):
            rng = np.random.default_rng([settings["seed"], draw])
            X, y = simulate(how, how["rows"] + settings["test_rows"], rng)
            n = how["rows"]
            yield name, draw, 0.0, X[:n], y[:n], X[n:], y[n:]


def fits(settings: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], QWKClassifier]]:
    """Every booster, set of parameters, objective and way to stop."""
    for booster in settings["boosters"]:
        for name, values in settings["parameters"].items():
            regressor = clone(BOOSTERS[booster][0]).set_params(**values.get(booster, {}))
            for objective, value in OBJECTIVES.items():
                for stopped in (False, True)[: 1 + (name == settings["stopped"])]:
                    rounds = settings["early_stopping_rounds"] if stopped else None
                    place = {"booster": booster, "parameters": name, "objective": objective}
                    yield (
                        place | {"stopped": stopped},
                        QWKClassifier(regressor, objective=value, early_stopping_rounds=rounds),
                    )


def cells(folder: Path | None, settings: Mapping[str, Any]) -> pd.DataFrame:
    """One line a file, fold and fit: kappa of the test rows, and CPU seconds of the fit."""
    lines = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        warnings.filterwarnings("ignore", message="the out-of-fold scores do not rise")
        for name, fold, share, X, y, X_test, y_test in tqdm(list(splits(folder, settings))):
            for place, model in fits(settings):
                model.labels = np.arange(max(y.max(), y_test.max()) + 1)
                began = time.process_time()
                model.fit(X, y)
                seconds = time.process_time() - began
                kappa = quadratic_weighted_kappa(y_test, model.predict(X_test), labels=model.labels)
                lines.append({"file": name, "fold": fold, "test_share": share, **place,
                              "qwk": kappa, "seconds": seconds})  # fmt: skip
    return pd.DataFrame(lines)


def differences(cells: pd.DataFrame, stopped: str) -> pd.DataFrame:
    """Gains in kappa by file, paired by fold: means over boosters and parameters, and of each."""
    lines = []
    for name, ((first, one), (second, other)) in COMPARED.items():
        own = cells if not (one or other) else cells[cells.parameters == stopped]
        groups = [("both", own), *own.groupby("booster", sort=False)]
        for booster, part in groups:
            for file, of_file in part.groupby("file", sort=False):
                by_fold = [
                    of_file[(of_file.objective == objective) & (of_file.stopped == stops)]
                    .groupby("fold").qwk.mean()
                    for objective, stops in ((first, one), (second, other))
                ]  # fmt: skip
                gain = (by_fold[0] - by_fold[1]).to_numpy()
                mean, error = _common.mean_and_error(gain)
                corrected = _common.corrected_error(gain, float(of_file.test_share.mean()))
                lines.append({
                    "compared": name, "booster": booster, "file": file, "gain": mean,
                    "se": error, "se_corrected": corrected,
                    "verdict": _common.verdict(mean, corrected),
                })  # fmt: skip
    return pd.DataFrame(lines)


def seconds(cells: pd.DataFrame, stopped: str) -> pd.DataFrame:
    """CPU seconds of all fits of a booster, and what share of those of "qwk" None takes."""
    own = cells[~cells.stopped | (cells.parameters == stopped)]
    found = own.pivot_table(
        index=["booster", "parameters", "stopped"], columns="objective", values="seconds",
        aggfunc="sum", sort=False,
    ).reset_index()  # fmt: skip
    return found.assign(ratio=found["None"] / found["qwk"])


def decide(differences: pd.DataFrame, seconds: pd.DataFrame) -> str:
    """What the rule of config.json says."""
    own = differences[(differences.compared == "None minus qwk") & (differences.booster == "both")]
    better, worse = ((own.verdict == verdict).sum() for verdict in ("better", "worse"))
    cheaper = "None" if seconds["None"].sum() < seconds["qwk"].sum() else "qwk"
    default = "qwk" if worse > better else cheaper
    return (
        f"objective=None is better than 'qwk' on {better} of {len(own)} data sets and "
        f"worse on {worse}; {cheaper} is cheaper: the default is {default}"
    )


def table(differences: pd.DataFrame, seconds: pd.DataFrame) -> str:
    rows = []
    for file in differences.file.unique():
        row = [file]
        for name in COMPARED:
            own = differences[(differences.file == file) & (differences.compared == name)]
            row += [
                f"{one.gain:+.4f} ± {one.se:.4f} ({one.se_corrected:.4f})"
                for one in own[own.booster == "both"].itertuples()
            ]
        rows.append(row)
    counts = []
    for (name, booster), own in differences.groupby(["compared", "booster"], sort=False):
        better, worse = ((own.verdict == verdict).sum() for verdict in ("better", "worse"))
        counts.append(f"- {name}, {booster}: better on {better} of {len(own)} data sets, "
                      f"worse on {worse}; {own.gain.mean():+.4f} in the mean")  # fmt: skip
    times = [
        [one.booster, one.parameters, "yes" if one.stopped else "no",
         f"{one.qwk:.0f}", f"{one[5]:.0f}", f"{one.ratio:.2f}"]
        for one in seconds.rename(columns={"None": "none"})[
            ["booster", "parameters", "stopped", "qwk", "none", "ratio"]
        ].itertuples()
    ]  # fmt: skip
    header = ["booster", "parameters", "stops early", "qwk, s", "None, s", "None / qwk"]
    return "\n\n".join([
        "\n".join(counts),
        _common.markdown_table(["gain in QWK", *COMPARED], rows),
        _common.markdown_table(header, times),
    ])  # fmt: skip


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    found = cells(folder, settings)
    compared = differences(found, settings["stopped"])
    times = seconds(found, settings["stopped"])
    figures = {
        "cells": found.round(6), "differences": compared.round(6), "seconds": times.round(3),
    }  # fmt: skip
    return Findings(figures, table(compared, times), decide(compared, times))


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
