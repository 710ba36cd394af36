"""Macro F1, kappa and Matthews' coefficient: a rule on the probabilities, or class weights?

Run from the repository root: ``python -m experiments.decision_rules FOLDER [--quick]``, where
FOLDER holds the files that config.json names; without it, simulated rows only.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
)
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from gbdt_objectives import decide
from gbdt_objectives.metrics import threshold_metric
from gbdt_objectives.thresholds import optimize_decisions

HERE = Path(__file__).parent
QUICK = {"folds": 3, "repeats": 1, "simulated": {"rows": 600, "prior": [0.6, 0.3, 0.1]}}
PLAIN, RULE, WEIGHED = "most probable", "rule", "class_weight"
LEAST = 4
"""The fewest rows of a class, two in each half; rarer ones join the class before."""


def data_sets(folder: Path | None, settings: dict[str, Any]) -> Iterator[tuple[str, Array, Array]]:
    """Name, features and classes 0 to K-1; words are numbered."""
    rng = np.random.default_rng(settings["seed"])
    for name, rows in settings["data"].items() if folder is not None else ():
        assert folder is not None
        if not (folder / name).is_file():
            raise _common.InputError(f"file {str(folder / name)!r} not found: give its folder")
        frame = pd.read_csv(folder / name).dropna(subset="response")
        frame = frame.iloc[rng.permutation(len(frame))[:rows]]
        X = frame.drop(columns="response").apply(numbers)
        yield name.split(".")[0], X.to_numpy(float), merged(frame["response"].to_numpy())
    prior = settings["simulated"]["prior"]
    y = rng.choice(len(prior), settings["simulated"]["rows"], p=prior)
    angle = 2 * np.pi * y / len(prior)
    X = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle]) + rng.normal(size=(len(y), 3))
    yield "simulated", X, y


def numbers(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column):
        return column
    codes = pd.factorize(column, sort=True)[0]
    return pd.Series(np.where(codes < 0, np.nan, codes), column.index)


def merged(response: Array) -> Array:
    """Classes 0 to K-1, without those of too few rows."""
    y = np.unique(response, return_inverse=True)[1]
    while (counts := np.bincount(y)).min() < LEAST:
        k = int(counts.argmin())
        y = np.unique(np.where(y == k, k - 1 if k else 1, y), return_inverse=True)[1]
    return y


def cells(folder: Path | None, settings: dict[str, Any]) -> pd.DataFrame:
    """One line a file, half, metric and way to decide."""
    lines = []
    halves = RepeatedStratifiedKFold(
        n_splits=2, n_repeats=settings["repeats"], random_state=settings["seed"]
    )
    inner = StratifiedKFold(settings["folds"], shuffle=True, random_state=settings["seed"])
    model = lgb.LGBMClassifier(**settings["parameters"], n_jobs=1, verbose=-1, random_state=0)
    sets = list(data_sets(folder, settings))
    with warnings.catch_warnings(), tqdm(total=len(sets) * halves.get_n_splits()) as bar:
        warnings.filterwarnings("ignore", message="The least populated class|X does not have valid")
        for name, X, y in sets:
            for half, (train, test) in enumerate(halves.split(X, y)):
                given = X[train], y[train]
                held = cross_val_predict(model, *given, cv=inner, method="predict_proba")
                P = model.fit(*given).predict_proba(X[test])
                weights = model.get_params() | {"class_weight": "balanced"}
                weighed = lgb.LGBMClassifier(**weights).fit(*given).predict(X[test])
                for metric in settings["metrics"]:
                    ways = {
                        PLAIN: P.argmax(axis=1),
                        RULE: optimize_decisions(held, metric, y_true=y[train]).apply(P),
                        "rule, not calibrated": optimize_decisions(held, metric).apply(P),
                        "decide": decide(P, metric),
                        WEIGHED: weighed,
                    }
                    labels = np.arange(P.shape[1])
                    for way, chosen in ways.items():
                        value = threshold_metric(metric)(y[test], chosen, labels=labels)
                        lines.append({
                            "file": name, "half": half, "metric": metric, "way": way,
                            "value": value,
                        })  # fmt: skip
                bar.update()
    return pd.DataFrame(lines)


def differences(cells: pd.DataFrame) -> pd.DataFrame:
    """How much better each way is than the most probable class, paired over halves; errors allow
    for halves that share rows."""
    lines = []
    for (metric, file), own in cells.groupby(["metric", "file"], sort=False):
        values = own.pivot(index="half", columns="way", values="value")
        for way in [way for way in own.way.unique() if way != PLAIN]:
            gain = (values[way] - values[PLAIN]).to_numpy()
            error = _common.corrected_error(gain, 1.0)
            lines.append({
                "metric": metric, "file": file, "way": way, "plain": values[PLAIN].mean(),
                "gain": gain.mean(), "se_corrected": error,
                "verdict": _common.verdict(gain.mean(), error),
            })  # fmt: skip
    return pd.DataFrame(lines)


def counts(differences: pd.DataFrame) -> pd.DataFrame:
    """Of each metric and way: cells that are better, worse, and the worst of all."""
    grouped = differences.groupby(["metric", "way"], sort=False)
    return grouped.agg(
        better=("verdict", lambda v: int((v == "better").sum())),
        worse=("verdict", lambda v: int((v == "worse").sum())),
        mean=("gain", "mean"),
        least=("gain", "min"),
    ).reset_index()


def tables(differences: pd.DataFrame, counts: pd.DataFrame) -> str:
    ways = list(differences.way.unique())
    rows = []
    for (metric, file), own in differences.groupby(["metric", "file"], sort=False):
        by_way = own.set_index("way")
        gains = [f"{by_way.gain[w]:+.3f} ± {by_way.se_corrected[w]:.3f}" for w in ways]
        rows.append([metric, file, f"{own.plain.iloc[0]:.3f}", *gains])
    each = _common.markdown_table(["metric", "file", PLAIN, *ways], rows)
    short = [
        [row.metric, row.way, str(row.better), str(row.worse), f"{row.mean:+.4f}",
         f"{row.least:+.4f}"]
        for row in counts.itertuples()
    ]  # fmt: skip
    header = ["metric", "way", "clearly better", "clearly worse", "mean gain", "least gain"]
    return f"{_common.markdown_table(header, short)}\n\n{each}"


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    found = cells(folder, settings)
    compared = differences(found)
    counted = counts(compared)
    figures = {"cells": found.round(6), "differences": compared.round(6), "counts": counted}
    totals = counted.groupby("way")[["better", "worse"]].sum()
    rule, weighed = totals.loc[RULE], totals.loc[WEIGHED]
    holds = bool(rule.worse < weighed.worse and rule.better >= weighed.better)
    claim = (
        f"rule: better in {rule.better}, worse in {rule.worse}; class_weight: better in "
        f"{weighed.better}, worse in {weighed.worse}, of {len(compared) // compared.way.nunique()}"
    )
    return Findings(figures, tables(compared, counted), claim, holds)


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
