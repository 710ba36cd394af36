"""Summaries, the rules of config.json, tables and the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from experiments import _common
from experiments.ordinal_benchmark.arms import NONE

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator

METRICS = ("qwk", "mae")
"""The higher the better, and the lower the better."""

ALL = "all"
Of = tuple[str, str]
"""An arm and its booster: "none" if it has no single one, "all" for the mean over boosters."""


def own_folds(folds: pd.DataFrame, of: Of) -> pd.DataFrame:
    arm, booster = of
    own = folds[folds.arm == arm]
    return own if booster == ALL else own[own.booster == booster]


def paired(folds: pd.DataFrame, first: Of, second: Of, metric: str) -> np.ndarray:
    """Gain of the first over the second in each fold, over the boosters and parameters of both."""
    a, b = own_folds(folds, first), own_folds(folds, second)
    keys = ["fold", "parameters"]
    free = any(set(frame.booster) == {NONE} for frame in (a, b)) or ALL not in (
        first[1], second[1]
    )  # fmt: skip
    both = a.merge(b, on=keys if free else [*keys, "booster"], suffixes=("", "_other"))
    sign = 1 if metric == "qwk" else -1
    gain = sign * (both[metric] - both[f"{metric}_other"])
    found: np.ndarray = gain.groupby(both.fold).mean().to_numpy()
    return found


def shown_arms(folds: pd.DataFrame, settings: Mapping[str, Any]) -> list[Of]:
    """Each arm: those of no booster, the default by booster, the others over boosters."""
    found: list[Of] = []
    for arm in folds.arm.unique():
        boosters = list(folds.booster[folds.arm == arm].unique())
        if boosters == [NONE]:
            found.append((arm, NONE))
        elif arm == settings["default"]:
            found += [(arm, ALL), *((arm, booster) for booster in boosters)]
        else:
            found.append((arm, ALL))
    first = [settings["default"], *settings["ours"]]
    return sorted(found, key=lambda of: first.index(of[0]) if of[0] in first else len(first))


def name_of(of: Of) -> str:
    arm, booster = of
    return arm if booster in (ALL, NONE) else f"{arm}, {booster}"


def summarize(folds: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Mean and standard error of both metrics by file and arm, over folds."""
    lines = []
    for file, own in folds.groupby("file", sort=False):
        for of in shown_arms(folds, settings):
            line: dict[str, Any] = {"file": file, "arm": of[0], "booster": of[1]}
            for metric in METRICS:
                by_fold = own_folds(own, of).groupby("fold")[metric].mean()
                line[metric], line[f"{metric}_se"] = _common.mean_and_error(by_fold)
            lines.append(line)
    return pd.DataFrame(lines)


def members(folds: pd.DataFrame, settings: Mapping[str, Any]) -> list[Of]:
    """What the blend is made of, each in a QWKClassifier of its own."""
    default = settings["default"]
    boosters = folds.booster[folds.arm == default].unique()
    return [*((default, booster) for booster in boosters), (f"{default}, ridge", NONE)]


def compare(folds: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Gains by file of the default over every arm, and of the blend over its members and the equal
    weights, positive where the first is better."""
    default, blend = (settings["default"], ALL), (settings["blend"], NONE)
    others = [of for of in shown_arms(folds, settings) if of[0] != default[0]]
    pairs = [(default, of) for of in others]
    pairs += [(blend, of) for of in [*members(folds, settings), ("blend, equal weights", NONE)]]
    lines = []
    for file, own in folds.groupby("file", sort=False):
        share = float(own.test_share.mean())
        for metric in METRICS:
            for first, second in pairs:
                gain = paired(own, first, second, metric)
                mean, error = _common.mean_and_error(gain)
                corrected = _common.corrected_error(gain, share)
                lines.append({
                    "file": file, "metric": metric, "arm": first[0], "other": second[0],
                    "other_booster": second[1], "gain": mean, "se": error,
                    "se_corrected": corrected, "verdict": _common.verdict(mean, error),
                    "verdict_corrected": _common.verdict(mean, corrected),
                })  # fmt: skip
    return pd.DataFrame(lines)


def against_recipes(
    summary: pd.DataFrame, gains: pd.DataFrame, settings: Mapping[str, Any]
) -> tuple[list[str], bool]:
    """Of each file: the best recipe of users, and whether the default is first or level."""
    lines, holds = [], True
    own = gains[(gains.arm == settings["default"]) & (gains.metric == "qwk")]
    for file, of_file in own[~own.other.isin(settings["ours"])].groupby("file", sort=False):
        row = of_file.loc[of_file.gain.idxmin()]
        level = row.gain >= -row.se
        word = "first" if row.gain >= 0 else "within one standard error" if level else "WORSE"
        lines.append(
            f"{file}: {settings['default']} less {row.other} {row.gain:+.4f} ± {row.se:.4f} "
            f"(corrected {row.se_corrected:.4f}): {word}"
        )
        holds = holds and bool(level)
    return lines, holds


def against_members(gains: pd.DataFrame, settings: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Of each file: the best member, and how the blend compares; whether the rule holds."""
    own = gains[(gains.arm == settings["blend"]) & (gains.metric == "qwk")]
    own = own[own.other != "blend, equal weights"]
    lines, verdicts = [], []
    for file, of_file in own.groupby("file", sort=False):
        row = of_file.loc[of_file.gain.idxmin()]
        best = name_of((row.other, row.other_booster))
        lines.append(
            f"{file}: blend less {best} {row.gain:+.4f} ± {row.se:.4f} "
            f"(corrected {row.se_corrected:.4f}): {row.verdict}"
        )
        verdicts.append(row.verdict)
    better, worse = verdicts.count("better"), verdicts.count("worse")
    holds = not worse and 3 * better >= len(verdicts)
    lines.append(
        f"the blend against its best member: better on {better} of {len(verdicts)} data sets, "
        f"worse on {worse}: {'HOLDS' if holds else 'FAILS'}"
    )
    return lines, holds


def arms_table(summary: pd.DataFrame, metric: str) -> str:
    """Mean and standard error by file and arm; the best in bold."""
    pick = summary.groupby("file")[metric].agg("idxmax" if metric == "qwk" else "idxmin")
    best = set(pick)
    cells = {
        (row.file, row.arm, row.booster): f"**{text}**" if row.Index in best else text
        for row in summary.itertuples()
        for text in [_common.plus_minus(getattr(row, metric), getattr(row, f"{metric}_se"), 3)]
    }
    files = list(summary.file.unique())
    rows = [
        [name_of(of), *(cells[(file, *of)] for file in files)]
        for of in summary[["arm", "booster"]].drop_duplicates().itertuples(index=False, name=None)
    ]
    return _common.markdown_table([metric.upper(), *files], rows)


def gains_table(gains: pd.DataFrame, arm: str, metric: str) -> str:
    """Gain of one arm over others by file, with the plain and the corrected error."""
    own = gains[(gains.arm == arm) & (gains.metric == metric)]
    cells = {
        (row.file, row.other, row.other_booster):
            f"{row.gain:+.4f} ± {row.se:.4f} ({row.se_corrected:.4f})"
        for row in own.itertuples()
    }  # fmt: skip
    files = list(own.file.unique())
    others = own[["other", "other_booster"]].drop_duplicates().itertuples(index=False, name=None)
    rows = [[name_of(of), *(cells[(file, *of)] for file in files)] for of in others]
    return _common.markdown_table([f"{arm}, {metric.upper()} gain over", *files], rows)


def draw(gains: pd.DataFrame, settings: Mapping[str, Any], path: Path) -> None:
    """QWK of every arm less that of the default, a panel a file: mean and two standard errors."""
    own = gains[(gains.arm == settings["default"]) & (gains.metric == "qwk")]
    files, arms = list(own.file.unique()), list(own.other.unique())
    columns = 4
    lines = -(-len(files) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(13, (0.9 + 0.27 * len(arms)) * lines), sharey=True, squeeze=False
    )
    height = -np.arange(len(arms))
    colors = [_common.BLUE if arm in settings["ours"] else _common.ORANGE for arm in arms]
    for axis, file in zip(axes.flat, files, strict=False):
        of_file = own[own.file == file].set_index("other").loc[arms]
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
    figure.suptitle(f"Recipes for ordered grades and {settings['default']}, data set by data set")
    figure.supxlabel(
        f"test QWK less that of {settings['default']} (to the left: {settings['default']} is "
        "better); thick: two plain standard errors, thin: two corrected ones; blue: this package",
        fontsize=10,
    )
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def tables(
    summary: pd.DataFrame, gains: pd.DataFrame, settings: Mapping[str, Any], said: Sequence[str]
) -> str:
    default, blend = settings["default"], settings["blend"]
    found = [arms_table(summary, metric) for metric in METRICS]
    found += [gains_table(gains, arm, "qwk") for arm in (default, blend)]
    return "\n\n".join([*found, "\n".join(f"- {line}" for line in said)]) + "\n"
