"""Squared error against extended QWK on any CSV file with ordered integer labels.

Run from the repository root: ``python -m experiments.ordinal_data FILE --target COLUMN``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from experiments import _common
from experiments._common import (
    METHODS,
    Array,
    Fit,
    InputError,
    Task,
    corrected_error,
    load,
    verdict,
)

mpl.use("Agg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).parent / "results"
SEED = 0

DECISIONS = {"qwk_rounded": "rounded", "qwk_thresholds": "thresholds"}

COMPARISONS = {
    "rounded - rounded": ("qwk_rounded", "qwk_rounded"),
    "thresholds - thresholds": ("qwk_thresholds", "qwk_thresholds"),
    "rounded - thresholds": ("qwk_rounded", "qwk_thresholds"),
}
"""What is subtracted: extended QWK's column minus squared error's."""
RIVALS = {
    "rounded - rounded": "rounded squared error",
    "rounded - thresholds": "squared error with thresholds",
}
"""What a run says at its end: the second is what the objective has to beat."""


@dataclass(frozen=True)
class Design:
    """Outer folds, and how long a model may train."""

    folds: int = 5
    repeats: int = 2
    rounds: int = 2000
    patience: int = 50
    threads: int = 1
    clip: bool = True


FULL = Design()
QUICK = Design(folds=3, repeats=1, rounds=300, patience=10)


def run_fold(
    fit: Fit, X: Array, y: Array, train: Array, test: Array, task: Task
) -> dict[str, float]:
    """Rounds from an inner split, thresholds from inner out-of-fold scores; then the test rows."""
    X_train, y_train = X[train], y[train]
    inner = StratifiedKFold(5, shuffle=True, random_state=SEED)
    rest, held_out = next(inner.split(X_train, y_train))
    validation = X_train[held_out], y_train[held_out]
    rounds = fit(X_train[rest], y_train[rest], task, task.rounds, validation).rounds
    score = fit(X_train, y_train, task, rounds, None).predict(X[test])
    out_of_fold = _common.out_of_fold(fit, X_train, y_train, task, rounds, seed=SEED)
    thresholds = _common.fit_thresholds(y_train, out_of_fold, task.label_range)
    return {
        "rounds": rounds,
        "qwk_rounded": _common.rounded_qwk(y[test], score, task.label_range),
        "qwk_thresholds": _common.cut_qwk(y[test], score, task.label_range, thresholds),
    }


def make_task(y: Array, design: Design) -> Task:
    label_range = int(y.min()), int(y.max())
    task = _common.task(label_range, design.rounds, design.patience, design.threads)
    return replace(task, clip=design.clip)


def run_all(X: Array, y: Array, design: Design) -> pd.DataFrame:
    """One line a repeat, fold and method."""
    task = make_task(y, design)
    outer = RepeatedStratifiedKFold(
        n_splits=design.folds, n_repeats=design.repeats, random_state=SEED
    )
    lines = []
    with warnings.catch_warnings(), tqdm(
        total=design.folds * design.repeats * len(METHODS), unit="model"
    ) as bar:  # fmt: skip
        warnings.filterwarnings("ignore", message="The least populated class")
        for i, (train, test) in enumerate(outer.split(X, y)):
            for (booster, objective), fit in METHODS.items():
                bar.set_description(f"{booster}, {objective}")
                place = {"repeat": i // design.folds, "fold": i % design.folds}
                rows = {"train_rows": len(train), "test_rows": len(test)}
                result = run_fold(fit, X, y, train, test, task)
                lines.append({**place, "booster": booster, "objective": objective} | rows | result)
                bar.update()
    return pd.DataFrame(lines)


def summary_frame(folds: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard error over folds of every method and decision."""
    lines = []
    for booster, objective in METHODS:
        own = folds[(folds.booster == booster) & (folds.objective == objective)]
        line = {"booster": booster, "objective": objective, "rounds": own.rounds.mean()}
        for column in DECISIONS:
            line[column], line[f"{column}_se"] = _common.mean_and_error(own[column])
        lines.append(line)
    return pd.DataFrame(lines)


def paired(folds: pd.DataFrame, booster: str, comparison: str) -> Array:
    """Extended QWK minus squared error, fold by fold."""
    ours, theirs = COMPARISONS[comparison]
    own = folds[folds.booster == booster].set_index(["repeat", "fold", "objective"])
    return (own[ours].xs("extended QWK", level=2) - own[theirs].xs("squared error", level=2)).values


def differences_frame(folds: pd.DataFrame) -> pd.DataFrame:
    """The paired differences, their standard errors, plain and corrected, and the verdict."""
    test_share = float((folds.test_rows / folds.train_rows).mean())
    lines = []
    for booster in ("XGBoost", "LightGBM"):
        for comparison in COMPARISONS:
            differences = paired(folds, booster, comparison)
            mean, error = _common.mean_and_error(differences)
            corrected = corrected_error(differences, test_share)
            lines.append(
                {
                    "booster": booster,
                    "comparison": comparison,
                    "difference": mean,
                    "se": error,
                    "se_corrected": corrected,
                    "verdict": verdict(mean, error),
                    "verdict_corrected": verdict(mean, corrected),
                    "folds_better": int((differences > 0).sum()),
                    "folds": len(differences),
                }
            )
    return pd.DataFrame(lines)


def summary_table(summary: pd.DataFrame) -> str:
    rows = [
        [
            row.booster,
            row.objective,
            _common.plus_minus(row.qwk_rounded, row.qwk_rounded_se),
            _common.plus_minus(row.qwk_thresholds, row.qwk_thresholds_se),
            f"{row.rounds:.0f}",
        ]
        for row in summary.itertuples()
    ]
    return _common.markdown_table(
        ["booster", "objective", "QWK, rounded", "QWK, thresholds", "rounds"], rows
    )


def differences_table(differences: pd.DataFrame) -> str:
    rows = [
        [
            row.booster,
            row.comparison,
            f"{row.difference:+.4f} ± {row.se:.4f}",
            row.verdict,
            f"{row.se_corrected:.4f}",
            row.verdict_corrected,
            f"{row.folds_better} of {row.folds}",
        ]
        for row in differences.itertuples()
    ]
    header = ["booster", "extended QWK - squared error", "difference", "extended QWK is"]
    header += ["corrected error", "with it", "folds better"]
    return _common.markdown_table(header, rows)


def draw(folds: pd.DataFrame, summary: pd.DataFrame, title: str, path: Path) -> None:
    """Left the QWK of every method, right the paired differences of all folds."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for i, row in summary.iterrows():
        color = _common.COLORS[row.objective]
        for column, marker, offset in (("qwk_rounded", "o", 0.13), ("qwk_thresholds", "s", -0.13)):
            left.errorbar(row[column], -i + offset, xerr=2 * row[f"{column}_se"], marker=marker,
                          ms=7, color=color, capsize=3)  # fmt: skip
    names = [f"{row.booster}\n{row.objective}" for row in summary.itertuples()]
    left.set_yticks([-i for i in summary.index], names)
    left.set_xlabel("test QWK, mean and two standard errors")
    handles = [left.plot([], [], ls="", marker=m, ms=7, color="0.35")[0] for m in "os"]
    left.legend(handles, ["rounded", "fitted thresholds"], loc="lower center",
                bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)  # fmt: skip

    ticks = []
    for booster in ("XGBoost", "LightGBM"):
        for comparison in COMPARISONS:
            values, height = paired(folds, booster, comparison), -len(ticks)
            mean, error = _common.mean_and_error(values)
            right.plot(values, [height] * len(values), "o", ms=5, color="0.72")
            right.errorbar(mean, height, xerr=2 * error, marker="D", ms=7, color="black", capsize=3)
            ticks.append(f"{booster}\n{comparison}")
    right.set_yticks([-i for i in range(len(ticks))], ticks)
    right.axvline(0, color="gray", ls="--", lw=1.3)
    right.set_xlabel("extended QWK minus squared error, per fold")
    for axis in (left, right):
        axis.margins(y=0.12)
        axis.xaxis.set_major_locator(mpl.ticker.MaxNLocator(5))
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="x", color="0.9")
        axis.set_axisbelow(True)
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def write(folder: Path, name: str, y: Array, design: Design, folds: pd.DataFrame) -> str:
    """CSV, tables, picture and environment; returns the tables."""
    summary, differences = summary_frame(folds), differences_frame(folds)
    folds.round(6).to_csv(folder / "folds.csv", index=False)
    summary.round(6).to_csv(folder / "summary.csv", index=False)
    differences.round(6).to_csv(folder / "differences.csv", index=False)
    text = f"{summary_table(summary)}\n\n{differences_table(differences)}\n"
    (folder / "table.md").write_text(text, encoding="utf-8")
    clip = "" if design.clip else ", clip=False"
    title = (
        f"Extended QWK beside squared error on {name}: "
        f"{len(y):,} rows, {len(np.unique(y))} classes{clip}"
    )
    draw(folds, summary, title, folder / "qwk.png")
    task = make_task(y, design)
    _common.write_environment(
        folder,
        seeds={"outer_folds": SEED, "inner_folds": SEED},
        settings={
            "data": {"name": name, "rows": len(y), "label_range": list(task.label_range)},
            "outer_folds": design.folds,
            "outer_repeats": design.repeats,
            "inner_folds": 5,
            "early_stopping_rounds": design.patience,
            "most_rounds": design.rounds,
            "clip": design.clip,
            "xgboost": dict(task.xgboost),
            "lightgbm": dict(task.lightgbm),
        },
    )
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.ordinal_data", description=__doc__)
    parser.add_argument("file", type=Path, help="CSV file with a header and numeric features")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="ordered integer labels")
    parser.add_argument(
        "--quick", action="store_true", help="3 folds once, fewer rounds: says little"
    )
    parser.add_argument(
        "--no-clip", action="store_true", help="qwk_objective(clip=False): see the README"
    )
    parser.add_argument(
        "--output", type=Path, metavar="DIR",
        help="default: results/<name of the file>[-no-clip], with --quick a new temporary folder",
    )  # fmt: skip
    _common.add_threads(parser)
    options = parser.parse_args(arguments)
    try:
        X, y = load(options.file, options.target)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    design = replace(
        QUICK if options.quick else FULL, threads=options.threads, clip=not options.no_clip
    )
    name = options.file.stem
    folder = options.output
    if folder is None:
        temporary = options.quick
        own = RESULTS / (f"{name}-no-clip" if options.no_clip else name)
        folder = Path(tempfile.mkdtemp(prefix="ordinal_data_")) if temporary else own

    began = time.perf_counter()
    with threadpool_limits(options.threads):
        folds = run_all(X, y, design)
    with _common.results_folder(folder) as results:
        print(write(results, name, y, design, folds))
    differences = differences_frame(folds)
    for comparison, rival in RIVALS.items():
        for row in differences[differences.comparison == comparison].itertuples():
            print(
                f"{row.booster}: rounded extended QWK minus {rival} is "
                f"{row.difference:+.4f} ± {row.se:.4f}: {_sentence(row.verdict)}"
            )
    print(f"{time.perf_counter() - began:.0f} s; results in {folder}")
    return 0


def _sentence(found: str) -> str:
    if found.startswith("within"):
        return "it does not exceed two standard errors"
    return f"it exceeds two standard errors, extended QWK is {found}"


if __name__ == "__main__":
    sys.exit(main())
