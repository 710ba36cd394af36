"""Squared error against extended QWK on synthetic data, beside the published table.

Run from the repository root: ``python -m experiments.qwk_synthetic [--quick] [--seeds N]``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Fit, Task

mpl.use("Agg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).parent / "results"
LABEL_RANGE = (0, 3)
FEATURES_DRAWN, FEATURES_KEPT = 10, 5

PUBLISHED = {
    ("XGBoost", "squared error"): (0.5806, 0.6335, (0.928, 1.516, 2.098)),
    ("XGBoost", "extended QWK"): (0.6350, 0.6351, (0.462, 1.492, 2.506)),
    ("LightGBM", "squared error"): (0.5797, 0.6348, (0.896, 1.520, 2.112)),
    ("LightGBM", "extended QWK"): (0.6352, 0.6347, (0.524, 1.480, 2.496)),
}
"""Test QWK rounded, test QWK with cross-validated thresholds, those thresholds."""


@dataclass(frozen=True)
class Scale:
    """How large a run is and how close it must come.

    ``cell``: distance of a QWK from the published one. ``gap``: how far rounded squared
    error is at least below rounded QWK objective. ``rounding``: how far rounding the QWK
    objective's scores is at most from cutting them at thresholds.
    """

    rows: int
    rounds: int
    patience: int
    cell: float
    gap: float
    rounding: float
    threads: int = 1

    @property
    def task(self) -> Task:
        return _common.task(LABEL_RANGE, self.rounds, self.patience, self.threads)


FULL = Scale(rows=100_000, rounds=5000, patience=100, cell=0.006, gap=0.04, rounding=0.003)
QUICK = Scale(rows=20_000, rounds=5000, patience=25, cell=0.025, gap=0.03, rounding=0.010)


@dataclass(frozen=True)
class Method:
    """One row of the table; ``way`` tells two trainings of the same thing apart."""

    booster: str
    objective: str
    fit: Fit
    way: str = ""

    @property
    def name(self) -> str:
        return _name(self.booster, self.objective, self.way)


def _name(booster: str, objective: str, way: str) -> str:
    return f"{booster}, {objective}" + (f" ({way})" if way else "")


METHODS = (
    Method("XGBoost", "squared error", _common.xgboost_squared_error),
    Method("XGBoost", "extended QWK", _common.xgboost_qwk),
    Method("LightGBM", "squared error", _common.lightgbm_squared_error),
    Method(
        "LightGBM", "extended QWK", _common.lightgbm_qwk_shifted, "labels shifted, as published"
    ),
    Method("LightGBM", "extended QWK", _common.lightgbm_qwk, "intercept in the model"),
)


def make_rows(seed: int, rows: int) -> tuple[Array, Array]:
    """Five of ten uniform features, and the quartile (0..3) of the mean of all ten, by rank."""
    features = np.random.RandomState(seed).rand(rows, FEATURES_DRAWN)
    rank = features.mean(axis=1).argsort().argsort()
    return features[:, :FEATURES_KEPT], rank * 4 // rows


def seeds_of(repetition: int) -> dict[str, int]:
    """Own draws for training, test and early stopping; the first trains on seed 0, as published."""
    first = 3 * repetition
    return {"train": first, "test": first + 1, "validation": first + 2}


def on_label_scale(feature_sum: Array, y: Array) -> Callable[[Array], Array]:
    """The straight line that gives the sum the labels' mean and standard deviation."""
    slope = y.std() / feature_sum.std()
    return lambda value: y.mean() + slope * (value - feature_sum.mean())


def ceiling(X: Array, y: Array, X_test: Array, y_test: Array) -> float:
    """Test QWK of the best training cut of the sum of the features, all that they tell."""
    line = on_label_scale(X.sum(axis=1), y)
    thresholds = _common.fit_thresholds(y, line(X.sum(axis=1)), LABEL_RANGE, "exact")
    return _common.cut_qwk(y_test, line(X_test.sum(axis=1)), LABEL_RANGE, thresholds)


@dataclass(frozen=True)
class Run:
    """One method in one repetition."""

    method: Method
    repetition: int
    rounds: int
    score: Array
    thresholds: Array
    rounded: float
    cut: float


def run_method(
    method: Method, repetition: int, scale: Scale, data: dict[str, tuple[Array, Array]]
) -> Run:
    """Train, fit thresholds on out-of-fold scores, judge on the test draw."""
    X, y = data["train"]
    X_test, y_test = data["test"]
    task = scale.task
    model = method.fit(X, y, task, task.rounds, data["validation"])
    score = model.predict(X_test)
    out_of_fold = _common.out_of_fold(method.fit, X, y, task, model.rounds)
    thresholds = _common.fit_thresholds(y, out_of_fold, LABEL_RANGE)
    return Run(
        method=method,
        repetition=repetition,
        rounds=model.rounds,
        score=score,
        thresholds=thresholds,
        rounded=_common.rounded_qwk(y_test, score, LABEL_RANGE),
        cut=_common.cut_qwk(y_test, score, LABEL_RANGE, thresholds),
    )


def run_all(scale: Scale, repetitions: int) -> tuple[list[Run], list[float]]:
    """Every method in every repetition, and the ceiling of each repetition."""
    runs, ceilings = [], []
    with tqdm(total=repetitions * (len(METHODS) + 1), unit="fit") as bar:
        for repetition in range(repetitions):
            data = {
                part: make_rows(seed, scale.rows) for part, seed in seeds_of(repetition).items()
            }
            bar.set_description("ceiling")
            ceilings.append(ceiling(*data["train"], *data["test"]))
            bar.update()
            for method in METHODS:
                bar.set_description(method.name)
                runs.append(run_method(method, repetition, scale, data))
                bar.update()
    return runs, ceilings


def cells_frame(runs: Sequence[Run], ceilings: Sequence[float]) -> pd.DataFrame:
    """One line a method and repetition."""
    lines = []
    for run in runs:
        line = {
            "booster": run.method.booster,
            "objective": run.method.objective,
            "way": run.method.way,
            "repetition": run.repetition,
            **{f"seed_{part}": seed for part, seed in seeds_of(run.repetition).items()},
            "rounds": run.rounds,
            "qwk_rounded": run.rounded,
            "qwk_thresholds": run.cut,
        }
        line |= {f"threshold_{i}": value for i, value in enumerate(run.thresholds, start=1)}
        lines.append(line | {"ceiling": ceilings[run.repetition]})
    return pd.DataFrame(lines)


def summary_frame(cells: pd.DataFrame) -> pd.DataFrame:
    """One line a method: means over repetitions, standard errors, and the published numbers."""
    lines = []
    for method in METHODS:
        own = cells[
            (cells.booster == method.booster)
            & (cells.objective == method.objective)
            & (cells.way == method.way)
        ]
        line = {"booster": method.booster, "objective": method.objective, "way": method.way}
        line |= {"repetitions": len(own), "rounds": own.rounds.mean()}
        published = PUBLISHED[method.booster, method.objective]
        for name, value in zip(("qwk_rounded", "qwk_thresholds"), published, strict=False):
            line[name], line[f"{name}_se"] = _common.mean_and_error(own[name])
            line[f"{name}_published"] = value
        for i, value in enumerate(published[2], start=1):
            line[f"threshold_{i}"] = own[f"threshold_{i}"].mean()
            line[f"threshold_{i}_published"] = value
        line["ceiling"], line["ceiling_se"] = _common.mean_and_error(own.ceiling)
        lines.append(line)
    return pd.DataFrame(lines)


def check(summary: pd.DataFrame, scale: Scale) -> list[str]:
    """What is not as published: cell, found, expected and tolerance of each; empty if all is."""
    failures = []
    for row in summary.itertuples():
        name = _row_name(row)
        for column in ("qwk_rounded", "qwk_thresholds"):
            found, expected = getattr(row, column), getattr(row, f"{column}_published")
            if not abs(found - expected) <= scale.cell:
                failures.append(
                    f"{name}, {column}: found {found:.4f}, expected {expected:.4f}, "
                    f"tolerance {scale.cell:.4f}"
                )
        if row.objective == "extended QWK":
            if not abs(row.qwk_rounded - row.qwk_thresholds) <= scale.rounding:
                failures.append(
                    f"{name}, rounding against thresholds: found {row.qwk_rounded:.4f}, "
                    f"expected {row.qwk_thresholds:.4f}, tolerance {scale.rounding:.4f}"
                )
            squared = summary[
                (summary.booster == row.booster) & (summary.objective == "squared error")
            ].qwk_rounded.item()
            if not row.qwk_rounded - squared >= scale.gap:
                failures.append(
                    f"{name}, rounded, above squared error: found "
                    f"{row.qwk_rounded - squared:.4f}, expected at least {scale.gap:.4f}, "
                    "tolerance 0"
                )
    return failures


def table(summary: pd.DataFrame) -> str:
    """Ours beside the published."""
    header = ["booster, objective", "rounded", "published", "thresholds", "published"]
    header += ["cuts", "published cuts", "rounds"]
    rows = []
    for row in summary.itertuples():
        ours = [getattr(row, f"threshold_{i}") for i in (1, 2, 3)]
        published = [getattr(row, f"threshold_{i}_published") for i in (1, 2, 3)]
        rows.append(
            [
                _row_name(row),
                _common.plus_minus(row.qwk_rounded, row.qwk_rounded_se),
                f"{row.qwk_rounded_published:.4f}",
                _common.plus_minus(row.qwk_thresholds, row.qwk_thresholds_se),
                f"{row.qwk_thresholds_published:.4f}",
                ", ".join(f"{value:.3f}" for value in ours),
                ", ".join(f"{value:.3f}" for value in published),
                f"{row.rounds:.0f}",
            ]
        )
    top = _common.plus_minus(summary.ceiling[0], summary.ceiling_se[0])
    rows.append(["ceiling: best cut of the sum", "", "", top, "", "", "", ""])
    return _common.markdown_table(header, rows)


def _row_name(row: Any) -> str:
    return _name(row.booster, row.objective, row.way)


def draw_scores(runs: Sequence[Run], y_test: Array, path: Path) -> None:
    """Score distributions by label, with the thresholds and the half-integers."""
    shown = [run for run in runs if run.repetition == 0 and "shifted" not in run.method.way]
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.2), sharex=True, sharey=True)
    colors = plt.get_cmap("viridis")(np.linspace(0, 0.9, 4))
    scores = np.concatenate([run.score for run in shown])
    bins = np.arange(scores.min(), scores.max() + 0.1, 0.1)
    for axis, run in zip(axes.flat, shown, strict=True):
        for label, color in enumerate(colors):
            axis.hist(run.score[y_test == label], bins, histtype="step", color=color, lw=1.6,
                      density=True, label=f"label {label}")  # fmt: skip
        for i, cut in enumerate(run.thresholds):
            axis.axvline(cut, color="black", lw=1.3, label="fitted threshold" if i == 0 else None)
        for i, half in enumerate((0.5, 1.5, 2.5)):
            axis.axvline(half, color="gray", lw=1.3, ls=":", label="rounding" if i == 0 else None)
        axis.set_title(
            f"{run.method.booster}, {run.method.objective}\n"
            f"QWK {run.rounded:.4f} rounded, {run.cut:.4f} with thresholds",
            fontsize=11,
        )
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_xlim(np.quantile(scores, [0.005, 0.995]))  # few lie far out
    for axis in axes[1]:
        axis.set_xlabel("score on the test set")
    for axis in axes[:, 0]:
        axis.set_ylabel("density")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, ncols=6, loc="lower center", frameon=False)
    figure.suptitle("Squared error crowds the scores; scores of the QWK objective can be rounded")
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_qwk(summary: pd.DataFrame, path: Path) -> None:
    """Test QWK of every method, ours and published, under the ceiling."""
    rows = summary[~summary.way.str.contains("shifted")].reset_index(drop=True)
    figure, axis = plt.subplots(figsize=(9, 3.6))
    for i, row in rows.iterrows():
        color = _common.COLORS[row.objective]
        for name, marker, offset in (("qwk_rounded", "o", 0.13), ("qwk_thresholds", "s", -0.13)):
            error = 0 if np.isnan(row[f"{name}_se"]) else 2 * row[f"{name}_se"]
            axis.errorbar(row[name], -i + offset, xerr=error, marker=marker, ms=8, color=color,
                          capsize=3)  # fmt: skip
            axis.plot(
                row[f"{name}_published"], -i + offset, marker="|", ms=15, mew=2, color="black"
            )
    top = summary.ceiling[0]
    axis.axvline(top, color="gray", ls="--", lw=1.3)
    axis.text(top - 0.0006, 0.42, "ceiling", ha="right", va="bottom", color="dimgray")
    axis.set_yticks(
        [-i for i in rows.index], [f"{r.booster}\n{r.objective}" for r in rows.itertuples()]
    )
    axis.set_ylim(-len(rows) + 0.5, 0.75)
    axis.set_xlabel("test QWK (bars: two standard errors)")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="x", color="0.9")
    axis.set_axisbelow(True)
    legend = [
        axis.plot([], [], ls="", marker=marker, ms=8, color=color)[0]
        for marker, color in (("o", "0.35"), ("s", "0.35"))
    ]
    legend.append(axis.plot([], [], ls="", marker="|", ms=13, mew=2, color="black")[0])
    axis.legend(legend, ["rounded", "fitted thresholds", "published"], loc="upper center",
                bbox_to_anchor=(0.5, 1.17), ncols=3, frameon=False)  # fmt: skip
    figure.suptitle("Test QWK on synthetic quartiles, beside the published table")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def write(
    folder: Path, scale: Scale, repetitions: int, runs: Sequence[Run], cells: pd.DataFrame
) -> None:
    """CSV, pictures, table and environment."""
    summary = summary_frame(cells)
    cells.round(6).to_csv(folder / "cells.csv", index=False)
    summary.round(6).to_csv(folder / "summary.csv", index=False)
    (folder / "table.md").write_text(table(summary) + "\n", encoding="utf-8")
    draw_scores(runs, make_rows(seeds_of(0)["test"], scale.rows)[1], folder / "scores.png")
    draw_qwk(summary, folder / "qwk.png")
    _common.write_environment(
        folder,
        seeds={str(repetition): seeds_of(repetition) for repetition in range(repetitions)},
        settings={
            "rows": scale.rows,
            "early_stopping_rounds": scale.patience,
            "most_rounds": scale.rounds,
            "xgboost": dict(scale.task.xgboost),
            "lightgbm": dict(scale.task.lightgbm),
            "threshold_folds": 5,
            "tolerances": {"cell": scale.cell, "gap": scale.gap, "rounding": scale.rounding},
        },
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.qwk_synthetic", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="20,000 rows, wider tolerance, for CI")
    parser.add_argument(
        "--seeds", type=_common.positive_integer, metavar="N",
        help="repetitions, for mean and standard error; default 5, with --quick 1",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path, metavar="DIR",
        help="default: the experiment's results folder, with --quick a new temporary one",
    )  # fmt: skip
    _common.add_threads(parser)
    options = parser.parse_args(arguments)
    scale = replace(QUICK if options.quick else FULL, threads=options.threads)
    folder = options.output
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="qwk_synthetic_")) if options.quick else RESULTS

    repetitions = options.seeds or (1 if options.quick else 5)
    began = time.perf_counter()
    with threadpool_limits(options.threads):
        runs, ceilings = run_all(scale, repetitions)
    cells = cells_frame(runs, ceilings)
    with _common.results_folder(folder) as results:
        write(results, scale, repetitions, runs, cells)
    summary = summary_frame(cells)
    print(table(summary))
    print(f"\n{time.perf_counter() - began:.0f} s; results in {folder}")
    failures = check(summary, scale)
    for failure in failures:
        print(f"FAILED  {failure}", file=sys.stderr)
    if not failures:
        print(f"as published, within {scale.cell}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
