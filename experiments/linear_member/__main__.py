"""Trees and a linear model together: what does the linear member add to CalibratedClassifier?

Run from the repository root: ``python -m experiments.linear_member FOLDER [--quick]``, where
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
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tqdm import tqdm
from xgboost import XGBClassifier

from experiments import _common
from experiments._common import Array, Findings
from gbdt_objectives import CalibratedClassifier

HERE = Path(__file__).parent
RESULTS = HERE / "results"
TREES, LINEAR, BOTH = "trees", "linear", "trees and linear"
CLAIM = "a linear member beside trees is recommended by the rule of config.json"
QUICK = {"draws": 1, "train_rows": 300, "test_rows": 300, "rounds": 20, "boosters": ["LightGBM"]}


def booster(name: str, rounds: int) -> Any:
    if name == "LightGBM":
        return LGBMClassifier(n_estimators=rounds, n_jobs=1, verbose=-1)
    return XGBClassifier(n_estimators=rounds, n_jobs=1, enable_categorical=True)


def linear() -> Any:
    """Logistic regression; missing numbers are means, rare categories are one."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    categories = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10)
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_include="category")),
    )
    return make_pipeline(columns, LogisticRegression(C=0.3, max_iter=1000))


def cut(label: pd.Series, share: float) -> Array:
    """1 from the class on at which the share of ones is nearest to ``share``; of two classes the
    higher one."""
    classes = np.unique(label)[1:]
    shares = np.array([(label >= each).mean() for each in classes])
    return (label >= classes[np.abs(shares - share).argmin()]).to_numpy().astype(int)


def read(path: Path, how: Mapping[str, Any], share: float) -> tuple[pd.DataFrame, Array]:
    """Features, texts as categories, and labels: the first column, without a header the last."""
    if not path.is_file():
        raise _common.InputError(f"file {str(path)!r} not found: give the folder that holds it")
    header = 0 if how.get("header", True) else None
    frame = pd.read_csv(path, header=header, keep_default_na=False, na_values=[""])
    label = frame.pop(frame.columns[0 if header == 0 else -1])
    frame = frame.drop(columns=frame.columns[how.get("drop", [])])
    frame.columns = [f"x{k}" for k in range(frame.shape[1])]
    texts = frame.select_dtypes(exclude="number").columns
    frame = frame.astype(dict.fromkeys(texts, "category"))
    numbers = frame.columns.difference(texts)
    return frame.astype(dict.fromkeys(numbers, float)), cut(label, share)


def data_sets(
    folder: Path | None, settings: Mapping[str, Any]
) -> Iterator[tuple[str, pd.DataFrame, Array]]:
    """Name, features and labels of each file; without files simulated ones."""
    if folder is None:
        rng = np.random.default_rng(settings["seed"])
        X = rng.normal(size=(1000, 6))
        margin = X[:, :4].sum(axis=1) - np.abs(X[:, 4]) + rng.logistic(size=1000)
        yield "simulated", pd.DataFrame(X).add_prefix("x"), (margin > 0).astype(int)
        return
    for file, how in settings["files"].items():
        yield file.partition(".")[0], *read(folder / file, how, settings["share_of_ones"])


def cells(folder: Path | None, settings: Mapping[str, Any]) -> pd.DataFrame:
    """One line a file, draw, booster and arm: the test rows' measures, weights, CPU seconds."""
    lines = []
    sets = list(data_sets(folder, settings))
    with warnings.catch_warnings(), tqdm(total=len(sets) * settings["draws"]) as bar:
        warnings.filterwarnings("ignore", category=UserWarning)  # of weights 0, unknown categories
        for name, X, y in sets:
            for draw, train, test in _common.splits(y, settings):
                for library in settings["boosters"]:
                    trees = booster(library, settings["rounds"])
                    arms = {TREES: trees, LINEAR: linear(),
                            BOTH: [("trees", trees), ("linear", linear())]}  # fmt: skip
                    for arm, estimator in arms.items():
                        model = CalibratedClassifier(estimator)
                        began = time.process_time()
                        model.fit(X.iloc[train], y[train])
                        seconds = time.process_time() - began
                        p = model.predict_proba(X.iloc[test])[:, 1]
                        weights = model.weights_ if arm == BOTH else (np.nan, np.nan)
                        lines.append({
                            "file": name, "draw": draw, "booster": library, "arm": arm,
                            "log_loss": log_loss(y[test], p),
                            "average_precision": average_precision_score(y[test], p),
                            "of_trees": weights[0], "of_linear": weights[1], "seconds": seconds,
                        })  # fmt: skip
                bar.update()
    return pd.DataFrame(lines)


def differences(cells: pd.DataFrame) -> pd.DataFrame:
    """Each other arm less trees alone by file, paired by draw, log loss in percent: means over
    draws, and over boosters too."""
    wide = cells.set_index(["file", "booster", "draw", "arm"]).unstack("arm")
    lines = []
    for arm in (BOTH, LINEAR):
        gap = pd.DataFrame({
            "log_loss": 100 * (wide.log_loss[arm] / wide.log_loss[TREES] - 1),
            "average_precision": wide.average_precision[arm] - wide.average_precision[TREES],
        })  # fmt: skip
        by_booster = gap.groupby(["file", "booster"], sort=False).mean().reset_index()
        both = gap.groupby("file", sort=False).mean().reset_index().assign(booster="both")
        lines.append(pd.concat([both, by_booster]).assign(arm=arm))
    found = pd.concat(lines, ignore_index=True)
    return found[["arm", "booster", "file", "log_loss", "average_precision"]]


def summary(differences: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Means over files, standard errors over files, and files that gain and lose."""
    lines = []
    loss, precision = settings["told_apart"].values()
    for (arm, library), own in differences.groupby(["arm", "booster"], sort=False):
        lines.append({
            "arm": arm, "booster": library, "files": len(own), "log_loss": own.log_loss.mean(),
            "log_loss_se": _common.mean_and_error(own.log_loss)[1],
            "better": int((own.log_loss < -loss).sum()), "worse": int((own.log_loss > loss).sum()),
            "average_precision": own.average_precision.mean(),
            "average_precision_se": _common.mean_and_error(own.average_precision)[1],
            "ranks_better": int((own.average_precision > precision).sum()),
            "ranks_worse": int((own.average_precision < -precision).sum()),
        })  # fmt: skip
    return pd.DataFrame(lines)


def times(cells: pd.DataFrame) -> pd.DataFrame:
    """CPU seconds of all fits by booster, and those of lists over both members' alone."""
    found = cells.pivot_table("seconds", "booster", "arm", aggfunc="sum")
    found.loc["both"] = found.sum()
    found["times_members"] = found[BOTH] / (found[TREES] + found[LINEAR])
    return found.reset_index()


def holds(summary: pd.DataFrame, times: pd.DataFrame, settings: Mapping[str, Any]) -> bool:
    """What the rule of config.json says."""
    own = summary[(summary.arm == BOTH) & (summary.booster == "both")].iloc[0]
    ahead = own.log_loss < -2 * own.log_loss_se and own.average_precision >= 0
    spent = times.set_index("booster").times_members["both"]
    few = own.worse <= settings["may_lose"]
    return bool(ahead and few and spent <= settings["times_members"])


def table(summary: pd.DataFrame) -> str:
    rows = [
        [
            row.arm, row.booster, f"{row.log_loss:+.1f} ± {row.log_loss_se:.1f} %",
            f"{row.better}, {row.worse} of {row.files}",
            f"{row.average_precision:+.3f} ± {row.average_precision_se:.3f}",
            f"{row.ranks_better}, {row.ranks_worse}",
        ]
        for row in summary.itertuples()
    ]  # fmt: skip
    header = ["less trees alone", "booster", "log loss", "better, worse", "average precision",
              "better, worse"]  # fmt: skip
    return _common.markdown_table(header, rows)


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    found = cells(folder, settings)
    compared = differences(found)
    means, spent = summary(compared, settings), times(found)
    figures = {
        "cells": found.round(6), "differences": compared.round(6), "summary": means.round(6),
        "times": spent.round(3),
    }  # fmt: skip
    return Findings(figures, table(means), CLAIM, holds(means, spent, settings))


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
