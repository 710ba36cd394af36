"""Ordered grades, the whole path: QWKClassifier against what a user would run instead.

Run from the repository root: ``python -m experiments.ordinal_benchmark FOLDER [--quick]``, where
FOLDER holds the CSV files that config.json names; without it, with --quick or --output, only the
data sets made from scikit-learn's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedStratifiedKFold
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, InputError
from experiments.ordinal_benchmark import arms, data, report
from gbdt_objectives import quadratic_weighted_kappa

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
QUICK = {"folds": 3, "repeats": 1, "optimized_rounder_trials": 5}


def fold_lines(
    models: Mapping[tuple[str, str], Mapping[str, Any]],
    peers: arms.Peers,
    X: Array,
    y: Array,
    rows: tuple[Array, Array],
    settings: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """Both metrics of every arm, for each booster and set of parameters."""
    train, test = rows
    trials = settings["optimized_rounder_trials"]
    linear = arms.predict_linear(peers, X[train], y[train], X[test])
    for (booster, parameters), values in models.items():
        found = arms.predict_all(booster, values, peers, trials, X[train], y[train], X[test])
        for arm, predicted in (found | linear).items():
            yield {
                "booster": booster,
                "parameters": parameters,
                "arm": arm,
                "qwk": quadratic_weighted_kappa(
                    y[test], predicted, labels=np.arange(y.max() + 1)
                ),
                "mae": float(np.abs(predicted - y[test]).mean()),
                "test_share": len(test) / len(train),
            }  # fmt: skip


def run_all(
    folder: Path | None, settings: dict[str, Any], quick: bool, partial: Path
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """One line per data set, fold, booster, parameters and arm; and what was tuned."""
    peers = arms.installed_peers()
    lines: list[dict[str, Any]] = []
    record = {}
    for name, (X, y) in data.data_sets(folder, settings):
        models: dict[tuple[str, str], dict[str, Any]] = {}
        for booster in arms.BOOSTERS:
            models[booster, "default"] = {"n_estimators": 10} if quick else {}
            models[booster, "tuned"] = arms.tuned(booster, X, y, settings)
        record[name] = {
            "rows": len(y),
            "grades": np.bincount(y).tolist(),
            "tuned": {booster: models[booster, "tuned"] for booster in arms.BOOSTERS},
        }
        splits = RepeatedStratifiedKFold(
            n_splits=settings["folds"], n_repeats=settings["repeats"], random_state=settings["seed"]
        )
        for fold, rows in enumerate(tqdm(list(splits.split(X, y)), desc=name)):
            place = {"file": name, "fold": fold}
            lines += [
                place | line for line in fold_lines(models, peers, X, y, rows, settings)
            ]  # fmt: skip
            pd.DataFrame(lines).to_csv(partial, index=False)
    return pd.DataFrame(lines), {"data": record, "peers": sorted(peers)}


def write(
    folder: Path, folds: pd.DataFrame, settings: dict[str, Any], record: dict[str, Any]
) -> list[str]:
    """CSVs, table.md, picture and environment; returns what the rules say."""
    summary, gains = report.summarize(folds), report.compare(folds, settings)
    lines, holds = report.judge(summary, gains, settings)
    default, other = settings["default"], settings["other_objective"]
    chosen = [(default, settings["before"]), (default, other)]
    tables = [report.arms_table(summary, metric) for metric in report.METRICS]
    tables += [report.gains_table(gains, arm, "qwk") for arm in (default, other)]
    tables += [report.cells_table(gains, chosen), "\n".join(f"- {line}" for line in lines)]
    text = "\n\n".join(tables) + "\n"
    folds.round(6).to_csv(folder / "folds.csv", index=False)
    summary.round(6).to_csv(folder / "summary.csv", index=False)
    gains.round(6).to_csv(folder / "gains.csv", index=False)
    (folder / "table.md").write_text(text, encoding="utf-8")
    report.draw(gains, settings, folder / "gains.png")
    _common.write_environment(folder, {"all": settings["seed"]}, record)
    print(text)
    return [f"{name}: {'HOLDS' if found else 'FAILS'}" for name, found in holds.items()]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.ordinal_benchmark", description=__doc__.splitlines()[0]
    )
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="of the CSV files")
    parser.add_argument("--quick", action="store_true", help="few folds and rounds: says little")
    parser.add_argument(
        "--output", type=Path, metavar="DIR",
        help="default: results/, with --quick a new temporary folder",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    output = options.output
    if output is None:
        output = RESULTS
        if options.quick:
            output = Path(tempfile.mkdtemp(prefix="ordinal_benchmark_"))
    settings = _common.read_json(CONFIG)
    if options.quick:
        settings |= QUICK | {"tuning": settings["tuning"] | {"rounds": 10}}
    began = time.perf_counter()
    try:
        if options.folder is None and output == RESULTS:
            raise InputError(
                "FOLDER is missing: name the folder of the CSV files, or give --quick or --output "
                "DIR for the data sets of scikit-learn alone"
            )
        output.mkdir(parents=True, exist_ok=True)
        partial = output / "partial.csv"
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class")
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            warnings.filterwarnings("ignore", message="The argument 'eval_set' is deprecated")
            folds, record = run_all(options.folder, settings, options.quick, partial)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    record = _common.configuration_record(CONFIG) | {"quick": options.quick} | record
    with _common.results_folder(output) as results:
        verdicts = write(results, folds, settings, record)
    partial.unlink()
    print("\n".join(verdicts))
    print(f"{time.perf_counter() - began:.0f} s; results in {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
