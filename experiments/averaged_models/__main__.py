"""Averages of models, and the log-odds that they are calibrated on: folds, and bags.

Run from the repository root: ``python -m experiments.averaged_models FOLDER [--quick]``, where
FOLDER holds the CSV files that config.json names; without it, simulated rows only.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from tqdm import tqdm
from xgboost import XGBClassifier

from experiments import _common
from experiments._common import Array
from experiments.bag_averages.__main__ import simulated
from gbdt_objectives import CalibratedClassifier, DownsampledClassifier
from gbdt_objectives.priors import resample_classes

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
BOOSTERS = {"LightGBM": LGBMClassifier(n_jobs=1, verbose=-1), "XGBoost": XGBClassifier(n_jobs=1)}
ARM = ["models", "booster", "rate", "number"]
"""What is compared: folds or bags, of a booster, at a rate, and how many."""


def read(folder: Path, name: str, how: dict[str, Any], seed: int) -> tuple[Array, Array]:
    """Features, text as the number of its category, and 1 for the event."""
    found = [path for path in (folder / f"{name}.csv", folder / f"{name}.csv.gz") if path.is_file()]
    if not found:
        raise _common.InputError(
            f"file '{name}.csv' not found: give the folder that holds it (it is not part of the "
            "project, see the README), or leave the folder out for simulated rows"
        )
    header = how.get("header", True)
    frame = pd.read_csv(found[0], header=0 if header else None)
    label = frame.columns[0 if header else -1]
    y = frame[label].astype(str).isin(how["event"]).to_numpy().astype(int)
    columns = frame.drop(columns=[label, *frame.columns[how.get("drop", [])]])
    X = columns.apply(lambda c: c if c.dtype.kind in "biuf" else pd.factorize(c, sort=True)[0])
    rows = resample_classes(y, {0: 1.0, 1: how.get("events_kept", 1.0)}, random_state=seed)
    return X.to_numpy(float)[rows], y[rows]


def data_sets(folder: Path | None, settings: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if folder is None:
        yield "simulated", simulated(settings["simulated"], settings["seed"])
        return
    for name, how in settings["data"].items():
        yield name, read(folder, name, how, settings["seed"])


def draw(y: Array, rows: int, test: int, seed: int) -> tuple[Array, Array]:
    """Positions to train on and to test on, at most these numbers of each."""
    train = min(rows, round(0.6 * len(y)))
    split = StratifiedShuffleSplit(
        1, train_size=train, test_size=min(test, len(y) - train), random_state=seed
    )
    (found,) = split.split(np.zeros((len(y), 1)), y)
    return found


def arms(settings: dict[str, Any], seed: int) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """What is compared, the classifier as it was, and the new one."""
    for name in settings["boosters"]:
        folds = [
            CalibratedClassifier(BOOSTERS[name], ensemble=ensemble) for ensemble in (False, "auto")
        ]
        yield ("folds", name, 1.0, 5), *folds
        if seed >= settings["draws_of"].get(f"{name} bags", settings["draws"]):
            continue
        for rate in settings["rates"]:
            for number in settings["bags"]:
                bags = [
                    DownsampledClassifier(
                        BOOSTERS[name], {0: rate}, n_bags=number, calibrate=calibrate,
                        random_state=seed,
                    )
                    for calibrate in (False, "auto")
                ]  # fmt: skip
                yield ("bags", name, rate, number), *bags


def measured(model: Any, train: Any, test: Any) -> dict[str, float]:
    return judged(model.fit(*train).predict_proba(test[0])[:, 1], test[1])


def judged(p: Array, y: Array) -> dict[str, float]:
    return {
        "log_loss": log_loss(y, np.clip(p, 1e-15, 1 - 1e-15)),
        "average_precision": average_precision_score(y, p),
        "mean_ratio": p.mean() / y.mean(),
    }


def run_all(folder: Path | None, settings: dict[str, Any]) -> pd.DataFrame:
    """A line for each file, draw and arm, of both classifiers."""
    lines = []
    for name, (X, y) in tqdm(list(data_sets(folder, settings))):
        for seed in range(settings["draws"]):
            for arm, before, after in arms(settings, seed):
                rows = draw(y, settings["rows"][arm[0]], settings["rows"]["test"], seed)
                train, test = ((X[part], y[part]) for part in rows)
                found = {
                    f"{key}_{when}": value
                    for when, model in (("before", before), ("after", after))
                    for key, value in measured(model, train, test).items()
                }
                lines.append(
                    {"data": name, "draw": seed, **dict(zip(ARM, arm, strict=True))} | found
                )
    return pd.DataFrame(lines)


def summarize(cells: pd.DataFrame, settings: dict[str, Any]) -> pd.DataFrame:
    """After less before: means over files, each the mean of its draws, and their errors."""
    lines = []
    for arm, own in cells.groupby(ARM, sort=False):
        files = own.drop(columns=["draw", *ARM]).groupby("data", sort=False).mean()
        loss = 1e3 * (files.log_loss_after - files.log_loss_before)
        percent = 100 * (files.log_loss_after / files.log_loss_before - 1)
        judged = percent[files.log_loss_before >= settings["separable"]]
        level = _common.mean_and_error(loss)
        ap = files.average_precision_after - files.average_precision_before
        off = own.assign(
            **{when: np.log(own[f"mean_ratio_{when}"]).abs() for when in ("before", "after")}
        )
        worst = judged.idxmax()
        lines.append({
            **dict(zip(ARM, arm, strict=True)),
            "log_loss": 1e3 * files.log_loss_before.mean(),
            "difference": level[0], "error": level[1], "percent": percent.mean(),
            "better": int((percent < -settings["told_apart"]).sum()),
            "worse": int((percent > settings["told_apart"]).sum()),
            "worst": worst, "worst_percent": judged[worst],
            "ap": ap.mean(), "ap_error": _common.mean_and_error(ap)[1],
            "off_before": off.before.mean(), "off_after": off.after.mean(),
            "holds": level[0] < -2 * level[1] and judged.max() <= settings["worst_allowed"],
        })  # fmt: skip
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame) -> str:
    rows = [
        [row.models, row.booster, "" if row.rate == 1 else f"{row.rate:g}", str(row.number),
         f"{row.log_loss:.1f}", _common.plus_minus(row.difference, row.error, 2),
         f"{row.percent:+.1f} %", f"{row.better}:{row.worse}",
         f"{row.worst} {row.worst_percent:+.1f} %", _common.plus_minus(row.ap, row.ap_error),
         f"{row.off_before:.3f}", f"{row.off_after:.3f}", "yes" if row.holds else "no"]
        for row in summary.itertuples()
    ]  # fmt: skip
    header = ["models", "booster", "rate", "number", "log loss e-3", "difference", "relative",
              "better:worse", "worst file", "average precision", "off before", "off after",
              "holds"]  # fmt: skip
    return _common.markdown_table(header, rows)


def study(folder: Path | None, settings: dict[str, Any]) -> _common.Findings:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of calibrators that fall, and of bags that cannot split
        cells = run_all(folder, settings)
    summary = summarize(cells, settings)
    return _common.Findings(
        {"cells": cells.round(7), "summary": summary.round(5)},
        table(summary),
        "averages that are calibrated have a lower log loss",
        bool(summary[(summary.models == "folds") | (summary.booster == "LightGBM")].holds.all()),
    )


QUICK = {"draws": 1, "simulated": 1500, "rates": [0.2], "bags": [2]}


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
