"""Should QWKClassifier stop early by itself: early_stopping_rounds None, 20 or "auto"?

Run from the repository root: ``python -m experiments.early_stopping FOLDER [--quick]``, where
FOLDER holds the files that config.json names; without it, one simulated file only.
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
from sklearn.datasets import make_friedman1
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from experiments.ordinal_benchmark.arms import BOOSTERS
from experiments.ordinal_probabilities.__main__ import SMALLEST
from gbdt_objectives import QWKClassifier, apply_thresholds, quadratic_weighted_kappa
from gbdt_objectives.metrics import class_logloss_metric

HERE = Path(__file__).parent
RESULTS = HERE / "results"
NONE, AUTO = "None", "auto"
CLAIM = 'early_stopping_rounds="auto" is the default by the rule of config.json'
QUICK = {"draws": 1, "train_rows": 200, "test_rows": 300, "parameters": {"n_estimators": 30}}


def read(path: Path) -> tuple[Array, Array]:
    """Features, categories as their numbers, and class positions; the label is ``response``."""
    if not path.is_file():
        raise _common.InputError(f"file {str(path)!r} not found: give the folder that holds it")
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    y = np.unique(frame.pop("response"), return_inverse=True)[1]
    for name in frame.select_dtypes(exclude="number"):
        codes = pd.Categorical(frame[name]).codes.astype(float)
        frame[name] = np.where(codes < 0, np.nan, codes)
    return frame.to_numpy(dtype=float), y


def data_sets(folder: Path | None, settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Name, and features with class positions, of each file; without files simulated ones."""
    if folder is None:
        X, target = make_friedman1(1000, noise=3.0, random_state=settings["seed"])
        yield "simulated", (X, np.argsort(np.argsort(target)) * 4 // 1000)
        return
    for file in settings["files"]:
        yield file.partition(".")[0], read(folder / file)


def cells(folder: Path | None, settings: Mapping[str, Any]) -> pd.DataFrame:
    """One line a file, draw, booster and arm: kappa and log loss of the test rows, kappa of the
    out-of-fold scores at the same thresholds, rounds, and CPU seconds of the fit."""
    lines = []
    log_loss = class_logloss_metric(input_space="probability")
    sets = list(data_sets(folder, settings))
    all_rounds = settings["parameters"].get("n_estimators", 100)
    with warnings.catch_warnings(), tqdm(total=len(sets) * settings["draws"]) as bar:
        warnings.filterwarnings("ignore", category=UserWarning)  # of weak signals
        for name, (X, y) in sets:
            labels = np.arange(y.max() + 1)
            for draw, train, test in _common.splits(y, settings):
                for booster in settings["boosters"]:
                    regressor = clone(BOOSTERS[booster][0]).set_params(**settings["parameters"])
                    for arm, rounds in settings["arms"].items():
                        model = QWKClassifier(
                            regressor, labels=labels, early_stopping_rounds=rounds
                        )
                        began = time.process_time()
                        model.fit(X[train], y[train])
                        seconds = time.process_time() - began
                        P = np.maximum(model.predict_proba(X[test]), SMALLEST)
                        P /= P.sum(axis=1, keepdims=True)
                        c, oof = model.predict(X[test]), model.oof_score_
                        c_oof = apply_thresholds(oof, model.thresholds_, labels)
                        kept = getattr(model, "best_iterations_", [all_rounds])
                        lines.append({
                            "file": name, "draw": draw, "booster": booster, "arm": arm,
                            "qwk": quadratic_weighted_kappa(y[test], c, labels=labels),
                            "log_loss": log_loss(y[test], P),
                            "oof_qwk": quadratic_weighted_kappa(y[train], c_oof, labels=labels),
                            "rounds": float(np.mean(kept)), "seconds": seconds,
                        })  # fmt: skip
                bar.update()
    return pd.DataFrame(lines)


def differences(cells: pd.DataFrame) -> pd.DataFrame:
    """Each arm less None by file, paired by draw: means over draws, and over boosters too."""
    measures = ["qwk", "log_loss", "oof_qwk"]
    wide = cells.set_index(["file", "booster", "draw", "arm"])[measures].unstack("arm")
    lines = []
    for arm in cells.arm.unique():
        if arm == NONE:
            continue
        gap = pd.DataFrame({m: wide[m][arm] - wide[m][NONE] for m in measures})
        by_booster = gap.groupby(["file", "booster"], sort=False).mean().reset_index()
        both = gap.groupby("file", sort=False).mean().reset_index().assign(booster="both")
        lines.append(pd.concat([both, by_booster]).assign(arm=arm))
    found = pd.concat(lines, ignore_index=True)
    return found[["arm", "booster", "file", *measures]]


def summary(differences: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Means over files of the differences from None, with standard errors over files."""
    lines = []
    for (arm, booster), own in differences.groupby(["arm", "booster"], sort=False):
        loses = own[own.qwk < -settings["loses"]]
        lines.append({
            "arm": arm, "booster": booster,
            "qwk": own.qwk.mean(), "qwk_se": _common.mean_and_error(own.qwk)[1],
            "better": int((own.qwk > settings["loses"]).sum()), "worse": len(loses),
            "worse_files": ", ".join(loses.file),
            "log_loss": own.log_loss.mean(),
            "log_loss_se": _common.mean_and_error(own.log_loss)[1],
            "optimism": (own.oof_qwk - own.qwk).mean(), "of": len(own),
        })  # fmt: skip
    return pd.DataFrame(lines)


def costs(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean rounds, and CPU seconds of all fits, by booster and arm."""
    groups = cells.groupby(["booster", "arm"], sort=False)
    return groups.agg(rounds=("rounds", "mean"), seconds=("seconds", "sum")).reset_index()


def holds(summary: pd.DataFrame, settings: Mapping[str, Any]) -> bool:
    """What the rule of config.json says."""
    own = summary[(summary.arm == AUTO) & (summary.booster == "both")].iloc[0]
    ahead = own.qwk > 2 * own.qwk_se
    return bool(ahead and own.worse <= settings["may_lose"] and own.log_loss <= 0)


def tables(differences: pd.DataFrame, summary: pd.DataFrame, costs: pd.DataFrame) -> str:
    over_files = [
        [row.arm, row.booster, _common.plus_minus(row.qwk, row.qwk_se),
         f"{row.better}, {row.worse} of {row.of}",
         _common.plus_minus(row.log_loss, row.log_loss_se), f"{row.optimism:+.4f}"]
        for row in summary.itertuples()
    ]  # fmt: skip
    by_file = []
    for file in differences.file.unique():
        row = [file]
        for arm in differences.arm.unique():
            own = differences[(differences.file == file) & (differences.arm == arm)]
            row += [f"{one.qwk:+.4f}" for one in own.itertuples()]
            row += [f"{one.log_loss:+.4f}" for one in own.itertuples() if one.booster == "both"]
        by_file.append(row)
    header = ["file"]
    for arm in differences.arm.unique():
        header += [f"{arm}: QWK", *(f"{arm}: {b}" for b in differences.booster.unique()[1:]),
                   f"{arm}: log loss"]  # fmt: skip
    spent = [
        [row.booster, row.arm, f"{row.rounds:.0f}", f"{row.seconds:.1f}"]
        for row in costs.itertuples()
    ]
    return "\n\n".join([
        _common.markdown_table(
            ["arm less None", "booster", "QWK", "better, worse", "log loss", "optimism"], over_files
        ),
        _common.markdown_table(header, by_file),
        _common.markdown_table(["booster", "arm", "mean rounds", "CPU seconds"], spent),
    ])  # fmt: skip


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    found = cells(folder, settings)
    compared = differences(found)
    means, spent = summary(compared, settings), costs(found)
    figures = {
        "cells": found.round(6), "differences": compared.round(6), "summary": means.round(6),
        "costs": spent.round(3),
    }  # fmt: skip
    return Findings(figures, tables(compared, means, spent), CLAIM, holds(means, settings))


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
