"""Squared error against extended QWK on synthetic data, beside the published table.

Run from the repository root: ``python -m experiments.qwk_synthetic [--quick] [--seeds N]``. With
``--classes``, ``--kept``, ``--noise`` or ``--rows`` the data are others, and nothing is compared.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
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
FEATURES_DRAWN = 10

PUBLISHED = {
    ("XGBoost", "squared error"): (0.5806, 0.6335, (0.928, 1.516, 2.098)),
    ("XGBoost", "extended QWK"): (0.6350, 0.6351, (0.462, 1.492, 2.506)),
    ("LightGBM", "squared error"): (0.5797, 0.6348, (0.896, 1.520, 2.112)),
    ("LightGBM", "extended QWK"): (0.6352, 0.6347, (0.524, 1.480, 2.496)),
}
"""Test QWK rounded, test QWK with cross-validated thresholds, those thresholds."""


@dataclass(frozen=True)
class Data:
    """What the label is made of, and how much of that the booster sees.

    ``classes``: equally frequent labels 0 to classes - 1. ``kept``: how many of the ten features
    are kept. ``noise``: standard deviation of what is added to the mean of the features before it
    is cut into classes, over that of the mean.
    """

    classes: int = 4
    kept: int = 5
    noise: float = 0.0

    @property
    def label_range(self) -> tuple[int, int]:
        return 0, self.classes - 1


AS_PUBLISHED = Data()
LABEL_RANGE = AS_PUBLISHED.label_range


@dataclass(frozen=True)
class Scale:
    """How large a run is, on which data, and how close it must come.

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
    data: Data = AS_PUBLISHED

    @property
    def task(self) -> Task:
        return _common.task(self.data.label_range, self.rounds, self.patience, self.threads)


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


def make_rows(seed: int, rows: int, data: Data = AS_PUBLISHED) -> tuple[Array, Array]:
    """Some of ten uniform features, and the class of the mean of all ten, by rank: as published
    five of them, and the quartile, 0..3."""
    random = np.random.RandomState(seed)
    features = random.rand(rows, FEATURES_DRAWN)
    mean = features.mean(axis=1)
    if data.noise:
        mean += data.noise * mean.std() * random.standard_normal(rows)
    rank = mean.argsort().argsort()
    return features[:, : data.kept], rank * data.classes // rows


def seeds_of(repetition: int) -> dict[str, int]:
    """Own draws for training, test and early stopping; the first trains on seed 0, as published."""
    first = 3 * repetition
    return {"train": first, "test": first + 1, "validation": first + 2}


def on_label_scale(feature_sum: Array, y: Array) -> Callable[[Array], Array]:
    """The straight line that gives the sum the labels' mean and standard deviation."""
    slope = y.std() / feature_sum.std()
    return lambda value: y.mean() + slope * (value - feature_sum.mean())


def ceiling(train: tuple[Array, Array], test: tuple[Array, Array], data: Data) -> float:
    """Test QWK of the best training cut of the sum of the features, all that they tell."""
    (X, y), (X_test, y_test) = train, test
    line = on_label_scale(X.sum(axis=1), y)
    thresholds = _common.fit_thresholds(y, line(X.sum(axis=1)), data.label_range, "exact")
    return _common.cut_qwk(y_test, line(X_test.sum(axis=1)), data.label_range, thresholds)


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
    task, label_range = scale.task, scale.data.label_range
    model = method.fit(X, y, task, task.rounds, data["validation"])
    score = model.predict(X_test)
    out_of_fold = _common.out_of_fold(method.fit, X, y, task, model.rounds)
    thresholds = _common.fit_thresholds(y, out_of_fold, label_range)
    return Run(
        method=method,
        repetition=repetition,
        rounds=model.rounds,
        score=score,
        thresholds=thresholds,
        rounded=_common.rounded_qwk(y_test, score, label_range),
        cut=_common.cut_qwk(y_test, score, label_range, thresholds),
    )


def run_all(scale: Scale, repetitions: int) -> tuple[list[Run], list[float]]:
    """Every method in every repetition, and the ceiling of each repetition."""
    runs, ceilings = [], []
    with tqdm(total=repetitions * (len(METHODS) + 1), unit="fit") as bar:
        for repetition in range(repetitions):
            data = {
                part: make_rows(seed, scale.rows, scale.data)
                for part, seed in seeds_of(repetition).items()
            }
            bar.set_description("ceiling")
            ceilings.append(ceiling(data["train"], data["test"], scale.data))
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


def summary_frame(cells: pd.DataFrame, as_published: bool = True) -> pd.DataFrame:
    """One line a method: means over repetitions, standard errors, and the published numbers if the
    data are as published."""
    lines = []
    for method in METHODS:
        own = cells[
            (cells.booster == method.booster)
            & (cells.objective == method.objective)
            & (cells.way == method.way)
        ]
        line = {"booster": method.booster, "objective": method.objective, "way": method.way}
        line |= {"repetitions": len(own), "rounds": own.rounds.mean()}
        *decided, cuts = PUBLISHED[method.booster, method.objective]
        published = dict(zip(("qwk_rounded", "qwk_thresholds"), decided, strict=True))
        published |= {f"threshold_{i}": value for i, value in enumerate(cuts, start=1)}
        for name in own.columns:
            if name.startswith("qwk_"):
                line[name], line[f"{name}_se"] = _common.mean_and_error(own[name])
            elif name.startswith("threshold_"):
                line[name] = own[name].mean()
            if as_published and name in published:
                line[f"{name}_published"] = published[name]
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
    """Ours, beside the published figures where there are any."""
    beside = "qwk_rounded_published" in summary
    cuts = [name for name in summary if name.startswith("threshold_") and "pub" not in name]

    def cells(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
        yield "booster, objective", _name(row["booster"], row["objective"], row["way"])
        for title, name in (("rounded", "qwk_rounded"), ("thresholds", "qwk_thresholds")):
            yield title, _common.plus_minus(row[name], row[f"{name}_se"])
            if beside:
                yield "published", f"{row[f'{name}_published']:.4f}"
        yield "cuts", ", ".join(f"{row[name]:.3f}" for name in cuts)
        if beside:
            yield "published cuts", ", ".join(f"{row[f'{name}_published']:.3f}" for name in cuts)
        yield "rounds", f"{row['rounds']:.0f}"

    lines = [list(cells(row)) for row in summary.to_dict("records")]
    header = [title for title, _ in lines[0]]
    top = _common.plus_minus(summary.ceiling[0], summary.ceiling_se[0])
    last = {"booster, objective": "ceiling: best cut of the sum", "thresholds": top}
    rows = [[cell for _, cell in line] for line in lines]
    return _common.markdown_table(header, [*rows, [last.get(title, "") for title in header]])


def _row_name(row: Any) -> str:
    return _name(row.booster, row.objective, row.way)


def draw_scores(runs: Sequence[Run], y_test: Array, classes: int, path: Path) -> None:
    """Score distributions by label, with the thresholds and the half-integers."""
    shown = [run for run in runs if run.repetition == 0 and "shifted" not in run.method.way]
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.2), sharex=True, sharey=True)
    colors = plt.get_cmap("viridis")(np.linspace(0, 0.9, classes))
    scores = np.concatenate([run.score for run in shown])
    bins = np.arange(scores.min(), scores.max() + 0.1, 0.1)
    for axis, run in zip(axes.flat, shown, strict=True):
        for label, color in enumerate(colors):
            axis.hist(run.score[y_test == label], bins, histtype="step", color=color, lw=1.6,
                      density=True, label=f"label {label}")  # fmt: skip
        for i, cut in enumerate(run.thresholds):
            axis.axvline(cut, color="black", lw=1.3, label="fitted threshold" if i == 0 else None)
        for i, half in enumerate(np.arange(classes - 1) + 0.5):
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
    title = "Squared error crowds the scores; scores of the QWK objective can be rounded"
    figure.suptitle(title if classes == AS_PUBLISHED.classes else "Scores of each class")
    lines = -(-len(names) // 6)
    figure.tight_layout(rect=(0, 0.02 + 0.04 * lines, 1, 1))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_qwk(summary: pd.DataFrame, path: Path) -> None:
    """Test QWK of every method, ours and published, under the ceiling."""
    rows = summary[~summary.way.str.contains("shifted")].reset_index(drop=True)
    beside = "qwk_rounded_published" in summary
    figure, axis = plt.subplots(figsize=(9, 3.6))
    for i, row in rows.iterrows():
        color = _common.COLORS[row.objective]
        for name, marker, offset in (("qwk_rounded", "o", 0.13), ("qwk_thresholds", "s", -0.13)):
            error = 0 if np.isnan(row[f"{name}_se"]) else 2 * row[f"{name}_se"]
            axis.errorbar(row[name], -i + offset, xerr=error, marker=marker, ms=8, color=color,
                          capsize=3)  # fmt: skip
            if beside:
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
    legend += axis.plot([], [], ls="", marker="|", ms=13, mew=2, color="black") * beside
    names = ["rounded", "fitted thresholds", "published"][: len(legend)]
    axis.legend(legend, names, loc="upper center", bbox_to_anchor=(0.5, 1.17), ncols=3,
                frameon=False)  # fmt: skip
    where = "quartiles, beside the published table" if beside else "classes"
    figure.suptitle(f"Test QWK on synthetic {where}")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def is_compared(scale: Scale) -> bool:
    """Whether data and rows are those of the published table, or of its small run."""
    return any(replace(scale, threads=run.threads) == run for run in (FULL, QUICK))


def write(
    folder: Path, scale: Scale, repetitions: int, runs: Sequence[Run], cells: pd.DataFrame
) -> None:
    """CSV, pictures, table and environment."""
    summary = summary_frame(cells, is_compared(scale))
    cells.round(6).to_csv(folder / "cells.csv", index=False)
    summary.round(6).to_csv(folder / "summary.csv", index=False)
    (folder / "table.md").write_text(table(summary) + "\n", encoding="utf-8")
    y_test = make_rows(seeds_of(0)["test"], scale.rows, scale.data)[1]
    draw_scores(runs, y_test, scale.data.classes, folder / "scores.png")
    draw_qwk(summary, folder / "qwk.png")
    _common.write_environment(
        folder,
        seeds={str(repetition): seeds_of(repetition) for repetition in range(repetitions)},
        settings={
            "rows": scale.rows,
            **({} if scale.data == AS_PUBLISHED else asdict(scale.data)),
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
        help="default: the experiment's results folder, with --quick or other data a new temporary "
        "one",
    )  # fmt: skip
    whole = _common.positive_integer
    changed = parser.add_argument_group("other data", "which the published table is not of")
    changed.add_argument("--classes", type=whole, default=4, metavar="K", help="default 4")
    changed.add_argument(
        "--kept", type=whole, default=5, metavar="N", help="features of the ten; default 5"
    )
    changed.add_argument(
        "--noise", type=float, default=0.0, metavar="S",
        help="standard deviation over that of the features' mean, to which it is added; default 0",
    )  # fmt: skip
    changed.add_argument("--rows", type=whole, metavar="N", help="of each of the three draws")
    _common.add_threads(parser)
    options = parser.parse_args(arguments)
    scale = QUICK if options.quick else FULL
    if not 2 <= options.classes <= (options.rows or scale.rows) / 50:
        parser.error(
            f"--classes must be from 2 to a fiftieth of the rows, found {options.classes}: folds "
            "need rows of each class"
        )
    if options.kept > FEATURES_DRAWN:
        parser.error(f"--kept must be at most {FEATURES_DRAWN}, found {options.kept}")
    if not 0 <= options.noise <= 100:
        parser.error(f"--noise must be from 0 to 100, found {options.noise}")
    data = Data(options.classes, options.kept, options.noise)
    rows = options.rows or scale.rows
    scale = replace(scale, threads=options.threads, data=data, rows=rows)
    compares = is_compared(scale)
    folder = options.output
    if folder is None:
        is_new = options.quick or not compares
        folder = Path(tempfile.mkdtemp(prefix="qwk_synthetic_")) if is_new else RESULTS

    repetitions = options.seeds or (1 if options.quick else 5)
    began = time.perf_counter()
    with threadpool_limits(options.threads):
        runs, ceilings = run_all(scale, repetitions)
    cells = cells_frame(runs, ceilings)
    with _common.results_folder(folder) as results:
        write(results, scale, repetitions, runs, cells)
    summary = summary_frame(cells, compares)
    print(table(summary))
    print(f"\n{time.perf_counter() - began:.0f} s; results in {folder}")
    if not compares:
        print("not compared: the published table is of other data")
        return 0
    failures = check(summary, scale)
    for failure in failures:
        print(f"FAILED  {failure}", file=sys.stderr)
    if not failures:
        print(f"as published, within {scale.cell}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
