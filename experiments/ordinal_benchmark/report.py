"""Summaries, the rules of config.json, tables and the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from experiments import _common

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator

CELL = ["file", "booster", "parameters"]
METRICS = ("qwk", "mae")
"""The higher the better, and the lower the better."""


def by_file(folds: pd.DataFrame) -> pd.DataFrame:
    """Every fold's mean over boosters and parameters: one line a file, fold and arm."""
    keys = ["file", "fold", "arm"]
    means = folds.groupby(keys, sort=False)[[*METRICS, "test_share"]].mean().reset_index()
    return means.assign(booster="both", parameters="both")


def summarize(folds: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard error of both metrics by cell and arm, and over a file's cells."""
    lines = []
    for frame in (by_file(folds), folds):
        for place, own in frame.groupby([*CELL, "arm"], sort=False):
            line: dict[str, Any] = dict(zip([*CELL, "arm"], place, strict=True))
            for metric in METRICS:
                line[metric], line[f"{metric}_se"] = _common.mean_and_error(own[metric])
            lines.append(line)
    return pd.DataFrame(lines)


def pairs(arms: Sequence[str], settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The default against every other arm, squared error against every other but the default."""
    default, other = settings["default"], settings["other_objective"]
    found = [(default, arm) for arm in arms if arm != default]
    return found + [(other, arm) for arm in arms if arm not in (default, other)]


def compare(folds: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Gain of one arm over another, paired over folds, positive where the first is better."""
    lines = []
    for frame in (by_file(folds), folds):
        for place, own in frame.groupby(CELL, sort=False):
            share = float(own.test_share.mean())
            for metric in METRICS:
                table = own.pivot_table(index="fold", columns="arm", values=metric)
                sign = 1 if metric == "qwk" else -1
                for arm, other in pairs(list(own.arm.unique()), settings):
                    gain = sign * (table[arm] - table[other]).to_numpy()
                    mean, error = _common.mean_and_error(gain)
                    corrected = _common.corrected_error(gain, share)
                    lines.append(
                        dict(zip(CELL, place, strict=True))
                        | {
                            "metric": metric,
                            "arm": arm,
                            "other": other,
                            "gain": mean,
                            "se": error,
                            "se_corrected": corrected,
                            "verdict": _common.verdict(mean, error),
                            "verdict_corrected": _common.verdict(mean, corrected),
                            "folds_better": int((gain > 0).sum()),
                            "folds": len(gain),
                        }
                    )
    return pd.DataFrame(lines)


def of_files(frame: pd.DataFrame, metric: str = "qwk") -> pd.DataFrame:
    """The lines of one metric that belong to files, not to cells."""
    own = frame[frame.booster == "both"]
    return own[own.metric == metric] if "metric" in own else own


def better_on_half_worse_on_none(
    gains: pd.DataFrame, arm: str, other: str, settings: Mapping[str, Any], error: str = "se"
) -> tuple[str, bool]:
    """What to say of one arm against another over the files, and whether the rule holds."""
    rule = settings["judged"]
    own = gains[(gains.arm == arm) & (gains.other == other)]
    better = own.file[own.gain > rule["better_by_standard_errors"] * own[error]].tolist()
    worse = own.file[own.gain < -rule["worse_by_standard_errors"] * own[error]].tolist()
    holds = not worse and len(better) >= rule["least_share_of_files_better"] * len(own)
    kind = "corrected" if error == "se_corrected" else "plain"
    text = (
        f"{arm} against {other}, {kind} errors: better on {len(better)} of {len(own)} files "
        f"({', '.join(better) or 'none'}), worse on {len(worse)} ({', '.join(worse) or 'none'}): "
    )
    return text + ("HOLDS" if holds else "FAILS"), holds


def against_the_best(
    summary: pd.DataFrame, gains: pd.DataFrame, arm: str, settings: Mapping[str, Any]
) -> tuple[list[str], bool]:
    """Of each file: the best competitor, and whether the arm is first or within one error of it."""
    ours = {settings["default"], settings["before"], settings["other_objective"]}
    lines, holds = [], True
    for file, own in summary[~summary.arm.isin(ours)].groupby("file", sort=False):
        best = own.arm[own.qwk.idxmax()]
        row = gains[(gains.file == file) & (gains.arm == arm) & (gains.other == best)].iloc[0]
        level = row.gain >= -settings["judged"]["first_within_standard_errors"] * row.se
        word = "first" if row.gain >= 0 else "within one standard error" if level else "BEHIND"
        lines.append(
            f"{file}: {arm} less {best} {row.gain:+.4f} ± {row.se:.4f} "
            f"(corrected {row.se_corrected:.4f}): {word}"
        )
        holds = holds and bool(level)
    return lines, holds


def judge(
    summary: pd.DataFrame, gains: pd.DataFrame, settings: Mapping[str, Any]
) -> tuple[list[str], dict[str, bool]]:
    """All that config.json asks: lines to print, and what holds."""
    summary, gains = of_files(summary), of_files(gains, settings["judged"]["metric"])
    default, other = settings["default"], settings["other_objective"]
    lines, holds = [], {}
    for name, arm, against in (
        ("defaults", default, settings["before"]),
        ("qwk better than squared error", default, other),
        ("squared error better than qwk", other, default),
    ):
        own = gains
        if arm == other and against == default:  # the same pair, read the other way
            own = gains.assign(arm=gains.other, other=gains.arm, gain=-gains.gain)
        for error in ("se", "se_corrected"):
            line, found = better_on_half_worse_on_none(own, arm, against, settings, error)
            lines.append(line)
            holds[name] = holds.get(name, found)  # the plain error judges
    for arm in (default, other):
        own_lines, holds[f"{arm} first or level"] = against_the_best(summary, gains, arm, settings)
        lines += own_lines
    return lines, holds


def arms_table(summary: pd.DataFrame, metric: str) -> str:
    """Mean and standard error by file and arm, over boosters and parameters; the best in bold."""
    own = of_files(summary)
    pick = own.groupby("file")[metric].agg("idxmax" if metric == "qwk" else "idxmin")
    best = set(pick)
    cells = {
        (row.file, row.arm): f"**{text}**" if row.Index in best else text
        for row in own.itertuples()
        for text in [
            _common.plus_minus(getattr(row, metric), getattr(row, f"{metric}_se"), 3)
        ]
    }  # fmt: skip
    files = list(own.file.unique())
    rows = [[arm, *(cells[file, arm] for file in files)] for arm in own.arm.unique()]
    return _common.markdown_table([metric.upper(), *files], rows)


def gains_table(gains: pd.DataFrame, arm: str, metric: str) -> str:
    """Gain of one arm over every other by file, with the plain and the corrected error."""
    own = of_files(gains, metric)
    own = own[own.arm == arm]
    cells = {
        (row.file, row.other): f"{row.gain:+.4f} ± {row.se:.4f} ({row.se_corrected:.4f})"
        for row in own.itertuples()
    }
    files = list(own.file.unique())
    rows = [[other, *(cells[file, other] for file in files)] for other in own.other.unique()]
    return _common.markdown_table([f"{arm}, {metric.upper()} gain over", *files], rows)


def cells_table(gains: pd.DataFrame, chosen: Sequence[tuple[str, str]]) -> str:
    """QWK gains of some pairs in every cell."""
    own = gains[(gains.booster != "both") & (gains.metric == "qwk")]
    rows = [
        [
            *place,
            *(
                f"{row.gain:+.4f} ± {row.se:.4f} ({row.se_corrected:.4f})"
                for arm, other in chosen
                for row in group[(group.arm == arm) & (group.other == other)].itertuples()
            ),
        ]
        for place, group in own.groupby(CELL, sort=False)
    ]
    return _common.markdown_table([*CELL, *(f"{arm} less {other}" for arm, other in chosen)], rows)


def draw(gains: pd.DataFrame, settings: Mapping[str, Any], path: Path) -> None:
    """QWK of every arm less that of the default, a panel a file: mean and two standard errors."""
    own = of_files(gains)
    own = own[own.arm == settings["default"]]
    files, arms = list(own.file.unique()), list(own.other.unique())
    columns = 4
    lines = -(-len(files) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(13, (0.9 + 0.32 * len(arms)) * lines), sharey=True, squeeze=False
    )
    ours = {settings["before"], settings["other_objective"]}
    height = -np.arange(len(arms))
    for axis, file in zip(axes.flat, files, strict=False):
        of_file = own[own.file == file].set_index("other").loc[arms]
        colors = [_common.BLUE if arm in ours else _common.ORANGE for arm in arms]
        for at, row, color in zip(height, of_file.itertuples(), colors, strict=True):
            axis.errorbar(-row.gain, at, xerr=2 * row.se_corrected, color=color, lw=1, capsize=0)
            axis.errorbar(-row.gain, at, xerr=2 * row.se, fmt="o", ms=5, lw=3, color=color)
        axis.axvline(0, color="black", lw=1, ls="--")
        axis.set_yticks(height, arms)
        axis.set_title(file, fontsize=11)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="x", color="0.9")
        axis.set_axisbelow(True)
        axis.tick_params(axis="x", labelsize=8)
        axis.xaxis.set_major_locator(MaxNLocator(5))
    for axis in axes.flat[len(files) :]:
        axis.axis("off")
    figure.suptitle(f"Recipes for ordered grades beside {settings['default']}, file by file")
    figure.supxlabel(
        f"test QWK less that of {settings['default']} (to the left: {settings['default']} is "
        "better); thick: two plain standard errors, thin: two corrected ones",
        fontsize=10,
    )
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
