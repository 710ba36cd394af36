"""Five bags of sampled negatives that calibrate themselves, against one bag, and all rows.

Run from the repository root: ``python -m experiments.five_bags FOLDER [--quick]``, where FOLDER
holds the CSV files that config.json names; without it, simulated rows only.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from experiments import _common
from experiments.averaged_models.__main__ import BOOSTERS, data_sets, draw, judged
from experiments.bag_averages.__main__ import simulated
from gbdt_objectives import CalibratedClassifier, DownsampledClassifier

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
CLAIM = "five bags are the default by the rule of config.json"
FIVE, ONE, ALL, CALIBRATED = "five bags", "one bag", "all rows", "all rows, calibrated"
QUICK = {"draws": 1, "simulated": 1500, "timed": 1500, "rates": [0.2]}


def bags(booster: str, rate: float, seed: int) -> Iterator[tuple[str, Any]]:
    for arm, number in ((ONE, 1), (FIVE, 5)):
        yield (
            arm,
            DownsampledClassifier(BOOSTERS[booster], {0: rate}, n_bags=number, random_state=seed),
        )


def run_all(folder: Path | None, settings: dict[str, Any]) -> pd.DataFrame:
    """A line for each file, draw, booster, rate and arm. Arms of all rows have the rate 1."""
    lines = []
    for name, (X, y) in tqdm(list(data_sets(folder, settings))):
        for seed in range(settings["draws"]):
            train, test = draw(y, settings["rows"], settings["test"], seed)
            for booster in settings["boosters"]:
                model = BOOSTERS[booster]
                arms = [(1.0, ALL, model), (1.0, CALIBRATED, CalibratedClassifier(model))]
                for rate in settings["rates"]:
                    arms += [(rate, *arm) for arm in bags(booster, rate, seed)]
                for rate, arm, classifier in arms:
                    began = time.process_time()
                    classifier.fit(X[train], y[train])
                    seconds = time.process_time() - began
                    p = classifier.predict_proba(X[test])[:, 1]
                    lines.append({
                        "data": name, "draw": seed, "booster": booster, "rate": rate, "arm": arm,
                        "events": y[train].sum(), **judged(p, y[test]), "seconds": seconds,
                    })  # fmt: skip
    return pd.DataFrame(lines)


def times(settings: dict[str, Any]) -> pd.DataFrame:
    """CPU seconds of fit on many rows, the median of the draws."""
    X, y = simulated(settings["timed"], settings["seed"])
    lines = []
    for seed in range(settings["draws"]):
        for booster in settings["boosters"]:
            for rate in settings["rates"]:
                for arm, classifier in bags(booster, rate, seed):
                    began = time.process_time()
                    classifier.fit(X, y)
                    seconds = time.process_time() - began
                    lines.append({"booster": booster, "rate": rate, "arm": arm, "seconds": seconds})
    return pd.DataFrame(lines).groupby(["booster", "rate", "arm"]).seconds.median().reset_index()


def compare(cells: pd.DataFrame) -> pd.DataFrame:
    """Five bags and another arm by file, booster and rate: means over draws."""
    keys = ["data", "booster", "rate"]
    means = cells.groupby([*keys, "arm"], sort=False).mean(numeric_only=True).reset_index()
    five = means[means.arm == FIVE].drop(columns="arm")
    found = []
    for arm in (ONE, ALL, CALIBRATED):
        other = means[means.arm == arm].drop(columns=["arm", "draw", "events"])
        on = keys if arm == ONE else keys[:2]
        other = other if arm == ONE else other.drop(columns="rate")
        pairs = five.drop(columns="draw").merge(other, on=on, suffixes=("", "_other"))
        found.append(pairs.assign(other=arm))
    both = pd.concat(found, ignore_index=True)
    return both.assign(percent=100 * (both.log_loss / both.log_loss_other - 1))


def behind(compared: pd.DataFrame, settings: dict[str, Any]) -> pd.Series:
    """By how many per cent the log loss of five bags is higher, of files where it is."""
    percent = compared[compared.other == ONE].groupby("data", sort=False).percent.mean()
    return percent[percent > settings["told_apart"]]


def summarize(
    compared: pd.DataFrame, times: pd.DataFrame, settings: dict[str, Any]
) -> pd.DataFrame:
    """Five bags less another arm, means over files and their errors."""
    seconds = times.set_index(["booster", "rate", "arm"]).seconds
    lines = []
    for (other, booster, rate), own in compared.groupby(["other", "booster", "rate"], sort=False):
        loss = _common.mean_and_error(1e3 * (own.log_loss - own.log_loss_other))
        ap = _common.mean_and_error(own.average_precision - own.average_precision_other)
        worst = own.loc[own.percent.idxmax()]
        line = {
            "other": other, "booster": booster, "rate": rate,
            "log_loss": 1e3 * own.log_loss_other.mean(), "difference": loss[0], "error": loss[1],
            "percent": own.percent.mean(),
            "better": int((own.percent < -settings["told_apart"]).sum()),
            "worse": int((own.percent > settings["told_apart"]).sum()),
            "worst": worst["data"], "worst_percent": worst.percent,
            "ap": ap[0], "ap_error": ap[1],
            "ratio_other": own.mean_ratio_other.mean(), "ratio": own.mean_ratio.mean(),
            "ratio_low": own.mean_ratio.min(), "ratio_high": own.mean_ratio.max(),
            "fits": own.seconds.sum() / own.seconds_other.sum(),
        }  # fmt: skip
        if other == ONE:
            line["fits_timed"] = seconds[booster, rate, FIVE] / seconds[booster, rate, ONE]
        lines.append(line)
    return pd.DataFrame(lines)


def holds(summary: pd.DataFrame, behind: pd.Series, settings: dict[str, Any]) -> bool:
    """What the rule of config.json says."""
    own = summary[summary.other == ONE]
    lower = own.difference < -2 * own.error
    ranks = own.ap >= -2 * own.ap_error
    cheap = own.fits_timed <= settings["most_fits"]
    return bool((lower & ranks & cheap).all() and len(behind) <= settings["may_be_behind"])


def table(summary: pd.DataFrame) -> str:
    rows = [
        [row.other, row.booster, f"{row.rate:g}", f"{row.log_loss:.1f}",
         _common.plus_minus(row.difference, row.error, 2), f"{row.percent:+.1f} %",
         f"{row.better}:{row.worse}", f"{row.worst} {row.worst_percent:+.1f} %",
         _common.plus_minus(row.ap, row.ap_error),
         f"{row.ratio_other:.2f}", f"{row.ratio:.2f} ({row.ratio_low:.2f} to {row.ratio_high:.2f})",
         f"{row.fits:.1f}", f"{row.fits_timed:.1f}" if row.other == ONE else ""]
        for row in summary.itertuples()
    ]  # fmt: skip
    header = ["five bags against", "booster", "rate", "its log loss e-3", "difference", "relative",
              "better:worse", "worst file", "average precision", "its mean / true",
              "mean / true", "CPU time", "60,000 rows"]  # fmt: skip
    return _common.markdown_table(header, rows)


def study(folder: Path | None, settings: dict[str, Any]) -> _common.Findings:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of calibrators that fall, and of bags that cannot split
        cells, timed = run_all(folder, settings), times(settings)
    compared = compare(cells)
    summary, lost = summarize(compared, timed, settings), behind(compared, settings)
    figures = {
        "cells": cells.round(6), "summary": summary.round(5), "times": timed.round(4),
        "behind": lost.round(3).reset_index(),
    }  # fmt: skip
    return _common.Findings(figures, table(summary), CLAIM, holds(summary, lost, settings))


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
