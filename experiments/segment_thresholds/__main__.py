"""Thresholds for each segment of rows: common, separate, or shifts that are shrunk to the common?

Run from the repository root: ``python -m experiments.segment_thresholds FOLDER [--quick]``, where
FOLDER holds the CSV files that config.json names; without it, simulated rows only.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from gbdt_objectives import (
    apply_thresholds,
    optimize_thresholds,
    quadratic_weighted_kappa,
)
from gbdt_objectives.thresholds import fit_segment_shift

HERE = Path(__file__).parent
RESULTS = HERE / "results"
QUICK = {
    "draws": 2, "new_rows": 500, "segments": [3], "effects": [0.0, 0.6], "rows": [300],
    "confounded": {"effects": [0.6], "by": -1.0}, "files": {},
}  # fmt: skip

ARMS = ["shifts", "separate plug-in", "separate exact", "true shifts"]
"""What is compared with common thresholds; the last in simulations only."""
CELL = ["effects", "confounded", "segments", "sizes", "rows"]

Rows = tuple[Array, Array, Array]
"""Class positions, scores and segments 0..G-1."""


def simulate(
    cell: Mapping[str, Any], settings: Mapping[str, Any], draw: int
) -> tuple[Rows, Rows, Array]:
    """Rows, new rows, and what must be added to the scores of each segment.

    The class is a line in the score and the segment's effect, with noise, rounded. Confounded
    scores move with the effect.
    """
    rng = np.random.default_rng([settings["seed"], draw])
    G, K = cell["segments"], settings["classes"]
    share = 1 / np.arange(1, G + 1) if cell["sizes"] == "Zipf" else np.ones(G)
    effect = cell["effects"] * rng.standard_normal(G)

    def rows(n: int) -> Rows:
        g = rng.choice(G, n, p=share / share.sum())
        m = settings["score_sd"] * rng.standard_normal(n)
        noise = settings["noise_sd"] * rng.standard_normal(n)
        y = np.rint((K - 1) / 2 + m + effect[g] + noise).clip(0, K - 1).astype(int)
        return y, m + cell["confounded"] * effect[g], g

    return rows(cell["rows"]), rows(settings["new_rows"]), (1 - cell["confounded"]) * effect


def thresholds_or(other: Array, y: Array, score: Array, K: int, method: Any) -> Array:
    """Thresholds of these rows; the other ones if they have too few rows or a single class, or if
    the score does not rise."""
    try:
        return np.asarray(optimize_thresholds(y, score, method=method, labels=range(K)))
    except ValueError:
        return other


def separate(fit: Rows, new: Rows, K: int, common: Array, method: Any) -> Array:
    """Classes of the new rows by thresholds that each segment has alone, if it can have them."""
    y, s, g = fit
    found = np.empty(len(new[0]), int)
    for k in np.unique(new[2]):
        own, there = g == k, new[2] == k
        thresholds = thresholds_or(common, y[own], s[own], K, method)
        found[there] = apply_thresholds(new[1][there], thresholds, range(K))
    return found


def compare(fit: Rows, new: Rows, K: int, true: Array | None = None) -> dict[str, float]:
    """Kappa of the new rows by arm, and the shrinkage that was chosen."""
    y, s, g = fit
    common = np.asarray(optimize_thresholds(y, s, labels=range(K)))
    shift = fit_segment_shift(y, s, g, labels=range(K), handle_unknown="common")

    def of_shifted(score: Array, score_new: Array) -> Array:
        return optimize_thresholds(y, score, labels=range(K)).apply(score_new)

    classes = {
        "common": apply_thresholds(new[1], common, range(K)),
        "shifts": of_shifted(shift.apply(s, g), shift.apply(new[1], new[2])),
        "separate plug-in": separate(fit, new, K, common, "plugin"),
        "separate exact": separate(fit, new, K, common, "exact"),
    }
    if true is not None:
        classes["true shifts"] = of_shifted(s + true[g], new[1] + true[new[2]])
    kappas = {
        arm: quadratic_weighted_kappa(new[0], found, labels=range(K))
        for arm, found in classes.items()
    }
    return {**kappas, "shrinkage": shift.shrinkage}


def simulated(settings: Mapping[str, Any]) -> pd.DataFrame:
    """One line a cell and draw."""
    cells = [(sd, 0.0) for sd in settings["effects"]]
    cells += [(sd, settings["confounded"]["by"]) for sd in settings["confounded"]["effects"]]
    lines = []
    sets = product(cells, settings["segments"], settings["sizes"], settings["rows"])
    for (effects, confounded), *rest in tqdm(list(sets)):
        cell = dict(zip(CELL, (effects, confounded, *rest), strict=True))
        for draw in range(settings["draws"]):
            fit, new, true = simulate(cell, settings, draw)
            lines.append({**cell, "draw": draw, **compare(fit, new, settings["classes"], true)})
    return pd.DataFrame(lines)


def read(
    folder: Path, how: Mapping[str, Any], seed: int
) -> tuple[pd.DataFrame, Array, Array, list[str]]:
    """Features, class positions, segments, and the columns that the segments are made of.

    A segment is a cell of a grid: the columns' values, divided by the widths and rounded down.
    """
    path = folder / f"{how['file']}.csv"
    _common.load(path, "response")  # says what is wrong with the file
    frame = pd.read_csv(path)
    if "rows" in how:
        frame, _ = train_test_split(
            frame, train_size=how["rows"], stratify=frame.response, random_state=seed
        )
    y = np.unique(frame.response, return_inverse=True)[1]
    cells = np.column_stack([np.floor(frame[name] / w) for name, w in how["columns"].items()])
    g = np.unique(cells, axis=0, return_inverse=True)[1].ravel()
    return frame.drop(columns="response"), y, g, list(how["columns"])


def folds_of_files(
    folder: Path | None, settings: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], Rows, Rows, int]]:
    """File, features and fold; out-of-fold scores of the training rows, scores of the others."""
    outer = StratifiedKFold(settings["folds"], shuffle=True, random_state=settings["seed"])
    inner = StratifiedKFold(settings["folds"], shuffle=True, random_state=settings["seed"] + 1)
    model = lgb.LGBMRegressor(**settings["lightgbm"], n_jobs=1, verbose=-1)
    for name, how in (settings["files"] if folder else {}).items():
        X_all, y, g, columns = read(folder, how, settings["seed"])
        for known, X in (("yes", X_all), ("no", X_all.drop(columns=columns))):
            for fold, (train, test) in enumerate(outer.split(X, y)):
                place = {"file": name, "segment is a feature": known, "fold": fold}
                place["test_share"] = len(test) / len(train)
                X_train, y_train = X.iloc[train], y[train]
                score = cross_val_predict(model, X_train, y_train, cv=inner.split(X_train, y_train))
                new = model.fit(X_train, y_train).predict(X.iloc[test])
                fit = y_train, score, g[train]
                yield place, fit, (y[test], new, g[test]), int(y.max()) + 1


def real(folder: Path | None, settings: Mapping[str, Any]) -> pd.DataFrame:
    """One line a file, set of features and fold."""
    lines = []
    for place, fit, new, K in tqdm(folds_of_files(folder, settings)):
        found = compare(fit, new, K)
        lines.append({**place, "segments": len(np.unique(fit[2])), **found})
    return pd.DataFrame(lines)


def summary(cells: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Means over draws or folds: kappa of common thresholds, and the other arms' gains with their
    errors; what shifts gain over the separate ones; how often thresholds stay common."""
    lines = []
    for place, part in cells.groupby(by, sort=False):
        line = {**dict(zip(by, place, strict=True)), "common": part.common.mean()}
        line["stay common"] = np.isinf(part.shrinkage).mean()
        gains = {arm: part[arm] - part.common for arm in ARMS if arm in part}
        for arm in ARMS[1:3]:
            gains[f"shifts over {arm}"] = part["shifts"] - part[arm]
        for name, gain in gains.items():
            line[name], error = _common.mean_and_error(gain)
            if "test_share" in part:
                error = _common.corrected_error(gain.to_numpy(), part.test_share.mean())
            line[f"{name} se"] = error
        lines.append(line)
    return pd.DataFrame(lines)


def judge(simulated: pd.DataFrame, real: pd.DataFrame) -> tuple[str, bool]:
    """What the rule of config.json says."""

    def worse(table: pd.DataFrame, name: str) -> int:
        return int((table[name] < -2 * table[f"{name} se"]).sum()) if len(table) else 0

    loss = -simulated[simulated.effects == 0].shifts.min()
    common = worse(simulated, "shifts"), worse(real, "shifts")
    plugin, exact = (worse(simulated, f"shifts over {arm}") for arm in ARMS[1:3])
    holds = loss < 0.001 and not any((*common, plugin, exact))
    return (
        f"without effects shifts lose at most {loss:.4f} on average; they are worse than common "
        f"thresholds in {common[0]} of {len(simulated)} simulated cells and {common[1]} of "
        f"{len(real)} real ones, than separate plug-in thresholds in {plugin} and separate exact "
        f"ones in {exact}",
        holds,
    )


def table(found: pd.DataFrame, by: list[str]) -> str:
    arms = [arm for arm in ARMS if arm in found]
    rows = [
        [*(f"{line[name]:g}" if isinstance(line[name], float) else str(line[name]) for name in by),
         f"{line['common']:.4f}",
         *(f"{line[arm]:+.4f} ± {line[f'{arm} se']:.4f}" for arm in arms),
         f"{line['stay common']:.2f}"]
        for _, line in found.iterrows()
    ]  # fmt: skip
    return _common.markdown_table([*by, "common", *arms, "stay common"], rows)


def study(folder: Path | None, settings: dict[str, Any]) -> Findings:
    with warnings.catch_warnings():  # about segments whose rows all get one class
        warnings.simplefilter("ignore", UserWarning)
        draws, folds = simulated(settings), real(folder, settings)
    by_cell, tables = summary(draws, CELL), []
    figures = {"draws": draws.round(6), "simulated": by_cell.round(6)}
    tables.append(table(by_cell, CELL))
    by_file = pd.DataFrame()
    if len(folds):
        place = ["file", "segment is a feature", "segments"]
        folds["segments"] = folds.groupby("file").segments.transform("max")
        by_file = summary(folds, place)
        figures |= {"folds": folds.round(6), "real": by_file.round(6)}
        tables.append(table(by_file, place))
    claim, holds = judge(by_cell, by_file)
    return Findings(figures, "\n\n".join(tables), claim, holds)


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK, reads_files=True)


if __name__ == "__main__":
    sys.exit(main())
