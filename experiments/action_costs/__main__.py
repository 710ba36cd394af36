"""Costs of each row: one cut, decide, empulse; a review, and a capacity of reviews.

Run from the repository root: ``python -m experiments.action_costs FOLDER [--quick]``, where FOLDER
holds the files that config.json names; without it, simulated rows only. Without empulse, of the
extra ``peers``, its column is left out.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
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
from gbdt_objectives import CalibratedClassifier, decide
from gbdt_objectives.thresholds import optimize_actions

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
QUICK = {"repeats": 1, "folds": 3, "simulated": 1500}
CUT, MEAN, ROWS, EMPULSE = "one cut", "decide, mean costs", "decide, costs by row", "empulse"
REVIEW, BOUNDED, PRICED = "and a review", "a capacity of reviews", "by its price"
TOP = "the most probable reviewed"
GRANT, REFUSE, ASK = range(3)


def data_sets(
    folder: Path | None, settings: dict[str, Any]
) -> Iterator[tuple[str, Array, Array, Array]]:
    """Name, features, 1 for a default, and the amount."""
    for name, amount in settings["data"].items() if folder is not None else ():
        assert folder is not None
        path = folder / f"{name}.csv.gz"
        if not path.is_file():
            raise _common.InputError(f"file {str(path)!r} not found: give its folder")
        frame = pd.read_csv(path).dropna(subset=["response", amount])
        X = frame.drop(columns="response").apply(numbers)
        X = X.fillna(X.min() - 1)  # empulse refuses missing values
        yield name, X.to_numpy(float), frame["response"].to_numpy(int), frame[amount].to_numpy()
    rng = np.random.default_rng(settings["seed"])
    n = settings["simulated"]
    X = rng.normal(size=(n, 4))
    amount = np.exp(rng.normal(0, 0.8, n) + 0.3 * X[:, 1])
    y = (rng.random(n) < 1 / (1 + np.exp(2.5 - X[:, 0] - 0.5 * X[:, 1]))).astype(int)
    yield "simulated", np.column_stack([X, amount]), y, amount


def numbers(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column):
        return column
    codes = pd.factorize(column, sort=True)[0]
    return pd.Series(np.where(codes < 0, np.nan, codes), column.index)


def costs_of(amount: Array, settings: dict[str, Any]) -> Array:
    """[row, true class, action], of amounts in their mean."""
    C = np.zeros((len(amount), 2, 3))
    C[:, 1, GRANT] = settings["lost"] * amount
    C[:, 0, REFUSE] = settings["lost_customer"]
    C[:, :, ASK] = settings["review"]
    return C


def best_cut(p: Array, y: Array, C: Array) -> float:
    """The threshold of least total cost: rows from it on are refused."""
    order = np.argsort(p)
    own = C[np.arange(len(y)), y]
    change = (own[:, GRANT] - own[:, REFUSE])[order]
    total = np.append(0, np.cumsum(change))  # of rows granted, beside refusing all
    ends = np.append(True, np.append(p[order][1:] != p[order][:-1], True))
    return float(np.append(p[order], np.inf)[np.where(ends, total, np.inf).argmin()])


def peer_decisions(given: tuple[Array, Array], X: Array, C: Array, model: Any) -> Array | None:
    """Of empulse, which calibrates by its own default; None where it is not installed."""
    try:
        models = import_module("empulse.models")
    except ImportError:
        return None
    peer = models.CSThresholdClassifier(model, random_state=0).fit(*given)
    return np.asarray(peer.predict(X, fn_cost=C[:, 1, GRANT], fp_cost=C[:, 0, REFUSE])).astype(int)


def cells(folder: Path | None, settings: dict[str, Any]) -> pd.DataFrame:
    """One line a data set, half and way to decide."""
    lines = []
    halves = RepeatedStratifiedKFold(
        n_splits=2, n_repeats=settings["repeats"], random_state=settings["seed"]
    )
    inner = StratifiedKFold(settings["folds"], shuffle=True, random_state=settings["seed"])
    model = lgb.LGBMClassifier(**settings["parameters"], n_jobs=1, verbose=-1, random_state=0)
    sets = list(data_sets(folder, settings))
    names, most = ["grant", "refuse", "review"], {"review": settings["capacity"]}
    with warnings.catch_warnings(), tqdm(total=len(sets) * halves.get_n_splits()) as bar:
        warnings.filterwarnings("ignore", message="X does not have valid")
        for name, X, y, amount in sets:
            for half, (train, test) in enumerate(halves.split(X, y)):
                shuffled = np.random.default_rng([settings["seed"], half]).permutation(test)
                unit = amount[train].mean()
                C, held_C = (costs_of(amount[r] / unit, settings) for r in (shuffled, train))
                day, held_day = (np.arange(len(r)) // settings["day"] for r in (test, train))
                given = X[train], y[train]
                ours = CalibratedClassifier(model).fit(*given)
                P = ours.predict_proba(X[shuffled])
                held = cross_val_predict(
                    CalibratedClassifier(model), *given, cv=inner, method="predict_proba"
                )
                rule = optimize_actions(held, held_C, actions=names, capacity=most, groups=held_day)
                two = C[:, :, :2]
                likely = np.zeros(len(P), int)
                for one in range(day[-1] + 1):
                    rows = np.flatnonzero(day == one)
                    likely[rows[np.argsort(-P[rows, 1])[: settings["capacity"]]]] = ASK
                plain = decide(P, costs=two, actions=[GRANT, REFUSE])
                ways = {
                    CUT: (P[:, 1] >= best_cut(held[:, 1], y[train], held_C)).astype(int),
                    MEAN: decide(P, costs=held_C.mean(axis=0)[:, :2], actions=[GRANT, REFUSE]),
                    ROWS: plain,
                    EMPULSE: peer_decisions(given, X[shuffled], two, model),
                    REVIEW: decide(P, costs=C, actions=[GRANT, REFUSE, ASK]),
                    BOUNDED: decide(
                        P, costs=C, actions=[GRANT, REFUSE, ASK],
                        capacity={ASK: settings["capacity"]}, groups=day,
                    ),
                    PRICED: pd.Index(names).get_indexer(rule.apply(P, costs=C)),
                    TOP: np.where(likely == ASK, ASK, plain),
                }  # fmt: skip
                for way, chosen in ways.items():
                    if chosen is None:
                        continue
                    cost = C[np.arange(len(P)), y[shuffled], chosen].mean()
                    asked = np.bincount(day, chosen == ASK)
                    lines.append({
                        "data": name, "half": half, "way": way, "cost": cost,
                        "reviews": asked.mean(),
                        "exceeded": float(np.mean(asked > settings["capacity"])),
                        "told": rule.exceeded if way == PRICED else np.nan,
                    })  # fmt: skip
                bar.update()
    return pd.DataFrame(lines)


def summarize(cells: pd.DataFrame) -> pd.DataFrame:
    """Of each data set and way the mean cost, and how much less it is than that of one cut."""
    lines = []
    for name, own in cells.groupby("data", sort=False):
        costs = own.pivot(index="half", columns="way", values="cost")
        for way in own.way.unique():
            mine = own[own.way == way]
            line = {"data": name, "way": way, "cost": costs[way].mean()}
            for other, column in ((CUT, "cut"), (EMPULSE, "peer")):
                if other in costs:
                    gain = (costs[other] - costs[way]).to_numpy()
                    error = _common.corrected_error(gain, 1.0)
                    line |= {f"less_than_{column}": gain.mean(), f"error_{column}": error}
            lines.append(line | mine[["reviews", "exceeded", "told"]].mean().to_dict())
    return pd.DataFrame(lines)


def holds(summary: pd.DataFrame) -> bool | None:
    """The rule of config.json; None where no peer is installed."""
    own = summary[summary.way == ROWS]
    if "less_than_peer" not in own:
        return None
    ahead = own.less_than_cut > 2 * own.error_cut
    return bool((ahead & (own.less_than_peer >= -2 * own.error_peer)).all())


def table_of(summary: pd.DataFrame) -> str:
    sets = list(summary["data"].unique())
    rows = []
    for way, own in summary.groupby("way", sort=False):
        of = own.set_index("data")
        line = [str(way)]
        for name in sets:
            one = of.loc[name]
            less = "" if way == CUT else f" ({-one.less_than_cut:+.4f} ± {one.error_cut:.4f})"
            line.append(f"{one.cost:.4f}{less}")
        exceeded = "" if own.reviews.max() == 0 else f"{100 * own.exceeded.mean():.0f} %"
        rows.append([*line, exceeded])
    return _common.markdown_table(["way", *sets, "days above the capacity"], rows)


def draw(summary: pd.DataFrame, path: Path) -> None:
    """Mean costs of each way in those of one cut."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    table = summary.pivot(index="way", columns="data", values="cost").loc[summary.way.unique()]
    figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
    (table / table.loc[CUT]).iloc[::-1].plot.barh(ax=axis, width=0.75)
    axis.axvline(1, color="grey", linewidth=1)
    axis.set(xlabel="mean cost, of that of one cut", ylabel="")
    axis.get_legend().remove()
    figure.legend(loc="outside upper center", ncols=table.shape[1], fontsize="small")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    found = cells(folder, settings)
    summary = summarize(found)
    if folder is not None and settings["repeats"] > 1:
        RESULTS.mkdir(exist_ok=True)
        draw(summary, RESULTS / "costs.png")
    own = summary[summary.way == ROWS]
    claim = "costs by row are recommended by the rule of config.json"
    if (verdict := holds(summary)) is None:
        claim = (
            "without empulse: pip install 'gbdt_objectives[peers]'; the rule needs it. Less "
            + (", ".join(f"{row['data']} {row.less_than_cut:+.4f}" for _, row in own.iterrows()))
        )
    figures = {"summary": summary.round(6), "cells": found.round(6)}
    return Findings(figures, table_of(summary), claim, verdict)


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, str(__doc__), study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
