"""Ordered grades, the whole path: QWKClassifier against what a user would run instead.

Run from the repository root: ``python -m experiments.ordinal_benchmark FOLDER [--quick]``, where
FOLDER holds the CSV files that config.json names; without it, with --quick or --output, only the
data sets that are made.
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
from sklearn.base import clone
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
    models: Mapping[str, Mapping[str, Mapping[str, Any]]],
    peers: arms.Peers,
    X: Array,
    y: Array,
    rows: tuple[Array, Array],
    settings: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """Both metrics of every arm; ``models`` has parameters by the name of the set and booster."""
    train, test = rows
    K, trials = int(y.max()) + 1, settings["optimized_rounder_trials"]
    given = X[train], y[train], X[test], K
    known = arms.boosters(peers)
    arms.Remembered.memory.clear()

    def line(booster: str, parameters: str, arm: str, predicted: Array) -> dict[str, Any]:
        qwk = quadratic_weighted_kappa(y[test], predicted, labels=np.arange(K))
        mae = float(np.abs(predicted - y[test]).mean())
        place = {"booster": booster, "parameters": parameters, "arm": arm}
        return place | {"qwk": qwk, "mae": mae, "test_share": len(test) / len(train)}

    for parameters, of_booster in models.items():
        regressors = {}
        for booster, values in of_booster.items():
            regressor, classifier = known[booster]
            regressors[booster] = clone(regressor).set_params(**values)
            if classifier is not None:
                classifier = clone(classifier).set_params(**values)
            for arm, predicted in arms.predict_booster(
                regressors[booster], classifier, peers, trials, *given
            ):
                yield line(booster, parameters, arm, predicted)
        for arm, predicted in arms.predict_together(regressors, peers, *given):
            yield line(arms.NONE, parameters, arm, predicted)


def run_all(
    folder: Path | None, settings: dict[str, Any], quick: bool, partial: Path
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """One line per data set, fold, booster, parameters and arm; and what was tuned."""
    peers = arms.installed_peers()
    lines: list[dict[str, Any]] = []
    record = {}
    for name, (X, y) in data.data_sets(folder, settings):
        known = arms.boosters(peers)
        tuned = {
            booster: arms.tuned(booster, regressor, X, y, settings)
            for booster, (regressor, _) in known.items()
        }
        default: dict[str, Any] = {"n_estimators": 10} if quick else {}
        models = {"default": dict.fromkeys(known, default), "tuned": tuned}
        record[name] = {"rows": len(y), "grades": np.bincount(y).tolist(), "tuned": tuned}
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
    summary, gains = report.summarize(folds, settings), report.compare(folds, settings)
    recipes, first = report.against_recipes(summary, gains, settings)
    blend, better = report.against_members(gains, settings)
    text = report.tables(summary, gains, settings, [*recipes, *blend])
    folds.round(6).to_csv(folder / "folds.csv", index=False)
    summary.round(6).to_csv(folder / "summary.csv", index=False)
    gains.round(6).to_csv(folder / "gains.csv", index=False)
    (folder / "table.md").write_text(text, encoding="utf-8")
    report.draw(gains, settings, folder / "gains.png")
    _common.write_environment(folder, {"all": settings["seed"]}, record)
    print(text)
    rules = {"first or level": first, "the blend": better}
    return [f"{name}: {'HOLDS' if found else 'FAILS'}" for name, found in rules.items()]


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
                "DIR for the data sets that are made"
            )
        output.mkdir(parents=True, exist_ok=True)
        partial = output / "partial.csv"
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class")
            warnings.filterwarnings("ignore", message="the out-of-fold scores do not rise")
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
