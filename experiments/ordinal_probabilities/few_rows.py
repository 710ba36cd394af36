"""Few rows: what the first slope of the probability curve must cost; settings in few_rows.json.

Run from the repository root: ``python -m experiments.ordinal_probabilities.few_rows FOLDER
[--quick]``, where FOLDER holds the files that few_rows.json names; without it, simulated rows only.

Each model is fitted once. Its curve is chosen three times, with the first slope at the cost of BIC
(log n), of AIC (2) and for nothing, and measured by the log loss of new rows.

The first rule, fixed before any result: AIC replaces BIC for the first slope if its log loss is
lower in the mean over files in at least four of the six cells (rows, booster), and higher by more
than two standard errors in none. With seeds 0 to 2 it was lower in three of
them and higher in one, so it does not.

The second rule, fixed after these and before the results of seeds 3 to 5: the first slope is for
nothing, so that a curve is flat only where scores do not rise with the class, if then its log loss
is lower than BIC's in the mean over files in at least four of the six cells, higher by more than
two standard errors in none, and higher by more than 1 % on no file. It was lower in five and higher
in none, on no file by more than .01 %, so it is.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.datasets import make_friedman1
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from gbdt_objectives import QWKClassifier
from gbdt_objectives.calibration import ordinal
from gbdt_objectives.metrics import class_logloss_metric

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "few_rows.json", HERE / "results" / "few_rows"
LOG_LOSS = class_logloss_metric(input_space="probability")
SMALLEST = 1e-6
"""Probabilities are raised to it: those of a class without training rows are 0."""


def data_sets(folder: Path | None, settings: dict[str, Any]) -> Iterator[tuple[str, Array, Array]]:
    """Name, features (text as codes) and classes 0 to K-1 of each file, or of simulated rows."""
    if folder is None:
        X, target = make_friedman1(3000, noise=5.0, random_state=settings["seed"])
        yield "simulated", X, np.argsort(np.argsort(target)) * 4 // 3000
        return
    for name in settings["files"]:
        if not (folder / name).is_file():
            raise _common.InputError(f"file {name!r} not found in FOLDER: it names data files")
        frame = pd.read_csv(folder / name)
        y = np.unique(frame.pop("response"), return_inverse=True)[1]
        codes = [
            column if pd.api.types.is_numeric_dtype(column) else column.astype("category").cat.codes
            for _, column in frame.items()
        ]
        yield name.partition(".")[0], np.column_stack(codes).astype(float), y


def regressors(trees: int) -> dict[str, Any]:
    common: dict[str, Any] = {"n_estimators": trees, "n_jobs": 1}
    return {
        "LightGBM": lgb.LGBMRegressor(**common, verbose=-1),
        "XGBoost": xgb.XGBRegressor(**common),
    }


def losses(model: QWKClassifier, X: Array, y: Array, costs: dict[str, float]) -> dict[str, float]:
    """The log loss of new rows by the curve at each cost, and whether it is flat."""
    found: dict[str, Any] = {}
    score = model.predict_score(X)
    for name, cost in costs.items():
        ordinal.FIRST_SLOPE = cost
        curve = ordinal.fit_ordinal_curve(*model.probability_curve_.rows)
        P = np.maximum(curve(score), SMALLEST)
        found |= {
            name: LOG_LOSS(y, P / P.sum(axis=1, keepdims=True)),
            f"flat {name}": curve.is_flat,
        }
    return found


def cells(folder: Path | None, settings: dict[str, Any]) -> pd.DataFrame:
    """One line a file, number of rows, seed and booster."""
    lines = []
    sets = list(data_sets(folder, settings))
    for name, X, y in tqdm(sets):
        for n in settings["rows"]:
            for seed in settings["seeds"]:
                at = np.random.default_rng([settings["seed"], seed, n]).permutation(len(y))
                train, test = at[:n], at[n : n + settings["test_rows"]]
                known = np.unique(y[train])
                y_train = np.searchsorted(known, y[train])
                test = test[np.isin(y[test], known)]
                costs = {"BIC": math.log(n), **settings["costs"]}
                for booster, regressor in regressors(settings["trees"]).items():
                    model = QWKClassifier(regressor).fit(X[train], y_train)
                    found = losses(model, X[test], np.searchsorted(known, y[test]), costs)
                    place = {"file": name, "rows": n, "seed": seed, "booster": booster}
                    lines.append({**place, **found})
    return pd.DataFrame(lines)


def summary(cells: pd.DataFrame) -> pd.DataFrame:
    """By rows and booster: how often curves are flat, and differences of log loss from BIC's, whose
    error is over files, and how many files are better and worse by more than .5 %."""
    lines = []
    for (n, booster), own in cells.groupby(["rows", "booster"], sort=False):
        line: dict[str, Any] = {"rows": n, "booster": booster, "models": len(own)}
        line["flat BIC"] = int(own["flat BIC"].sum())
        by_file = own.groupby("file")[["BIC", "AIC", "none"]].mean()
        for cost in ("AIC", "none"):
            gap = by_file[cost] / by_file["BIC"] - 1
            line |= {
                f"flat {cost}": int(own[f"flat {cost}"].sum()), f"{cost}": 100 * gap.mean(),
                f"{cost} se": 100 * gap.std(ddof=1) / math.sqrt(len(gap)) if len(gap) > 1 else 0.0,
                f"{cost} better": int((gap < -0.005).sum()),
                f"{cost} worse": int((gap > 0.005).sum()),
                f"{cost} worst": 100 * gap.max(), f"{cost} worst file": gap.idxmax(),
            }  # fmt: skip
        lines.append(line)
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame) -> str:
    header = ["rows", "booster", "models", "flat, BIC", "flat, AIC"]
    for cost in ("AIC", "none"):
        header += [f"log loss, {cost} less BIC", "files better : worse", "worst file"]
    rows = []
    for line in summary.to_dict("records"):
        row = [str(line[key]) for key in ("rows", "booster", "models", "flat BIC", "flat AIC")]
        for cost in ("AIC", "none"):
            row += [
                f"{line[cost]:+.2f} ± {line[f'{cost} se']:.2f} %",
                f"{line[f'{cost} better']} : {line[f'{cost} worse']}",
                f"{line[f'{cost} worst']:+.2f} % {line[f'{cost} worst file']}",
            ]
        rows.append(row)
    return _common.markdown_table(header, rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.ordinal_probabilities.few_rows",
        description=str(__doc__).split("\n")[0],
    )
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="of the data files")
    parser.add_argument("--quick", action="store_true", help="a small part of it: says little")
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: results/few_rows/")
    options = parser.parse_args(arguments)
    settings = _common.read_json(CONFIG)
    settings |= settings.pop("quick") if options.quick else {}
    output = options.output
    if output is None:
        partial = options.quick or options.folder is None
        output = Path(tempfile.mkdtemp(prefix="few_rows_")) if partial else RESULTS
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = cells(options.folder, settings)
    except _common.InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    found_summary = summary(found)
    with _common.results_folder(output) as results:
        found.round(6).to_csv(results / "cells.csv", index=False)
        found_summary.round(6).to_csv(results / "summary.csv", index=False)
        (results / "table.md").write_text(table(found_summary) + "\n", encoding="utf-8")
        record = _common.configuration_record(CONFIG) | {"quick": options.quick}
        _common.write_environment(results, {"all": settings["seed"]}, record)
    print(f"{table(found_summary)}\nresults in {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
