"""Tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from experiments import _common

mpl.use("Agg")
import matplotlib.pyplot as plt

STYLES = {
    "rounding": {"color": "0.45", "marker": "x", "ls": ":", "label": "rounding"},
    "nelder-mead": {"color": "#D55E00", "marker": "s", "ls": "--", "label": "Nelder-Mead"},
    "exact": {"color": "#009E73", "marker": "^", "ls": "-.", "label": "exact"},
    "plugin": {"color": "#0072B2", "marker": "o", "ls": "-", "label": "plug-in"},
    "curved": {"color": "#CC79A7", "marker": "D", "ls": "-", "label": "curved"},
}
"""Okabe-Ito colours, told apart by marker and line as well."""


def simulated_table(
    summary: pd.DataFrame, methods: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> str:
    """Mean test QWK, and differences."""
    header = ["family", "n", *(STYLES[m]["label"] for m in methods), "ceiling"]
    header += [named(*pair) for pair in pairs]
    rows = []
    for row in summary.to_dict("records"):
        cells = [row["family"], f"{row['rows']:,}"]
        cells += [f"{row[method]:.4f}" for method in (*methods, "ceiling")]
        for method, other in pairs:
            name = f"{method}_minus_{other}"
            cells.append(f"{row[name]:+.4f} ± {row[name + '_se']:.4f}")
        rows.append(cells)
    return _common.markdown_table(header, rows)


def named(method: str, other: str) -> str:
    """A difference in words."""
    return f"{STYLES[method]['label']} - {STYLES[other]['label']}"


def real_table(summary: pd.DataFrame, methods: Sequence[str]) -> str:
    """Mean test QWK and standard error, and the share of scores out of the label range."""
    rows = [
        [
            row["file"],
            row["booster"],
            row["objective"],
            *(_common.plus_minus(row[m], row[f"{m}_se"]) for m in methods),
            f"{row['outside']:.1%}",
        ]
        for row in summary.to_dict("records")
    ]
    header = ["file", "booster", "objective", *(STYLES[m]["label"] for m in methods)]
    return _common.markdown_table([*header, "scores beyond labels"], rows)


def differences_table(differences: pd.DataFrame) -> str:
    """Differences of methods, with both standard errors and verdicts."""
    rows = [
        [
            row.file,
            row.booster,
            row.objective,
            named(row.method, row.other),
            f"{row.difference:+.4f} ± {row.se:.4f}",
            row.verdict,
            f"{row.se_corrected:.4f}",
            row.verdict_corrected,
            f"{row.folds_better} of {row.folds}",
        ]
        for row in differences.itertuples()
    ]
    header = ["file", "booster", "objective", "difference", "mean", "the first is"]
    header += ["corrected error", "with it", "folds better"]
    return _common.markdown_table(header, rows)


def draw_simulated(summary: pd.DataFrame, methods: Sequence[str], path: Path) -> None:
    """Test QWK against rows to fit on, a panel a family."""
    families = list(dict.fromkeys(summary.family))
    columns = min(len(families), 4)
    lines = -(-len(families) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(3.4 * columns, 3.0 * lines), sharex=True, squeeze=False
    )
    for axis in axes.flat[len(families) :]:
        axis.axis("off")
    for axis, family in zip(axes.flat, families, strict=False):
        own = summary[summary.family == family]
        for method in methods:
            axis.errorbar(
                own["rows"], own[method], yerr=2 * own[f"{method}_se"].fillna(0), lw=1.6, ms=5,
                capsize=2, **STYLES[method],
            )  # fmt: skip
        axis.plot(own["rows"], own["ceiling"], color="black", lw=1, label="ceiling", zorder=0)
        axis.set_xscale("log")
        axis.set_title(family.replace("; ", "\n"), fontsize=10)
    shown = axes.flat[: len(families)]
    for i, axis in enumerate(shown):
        _tidy(axis, "y")
        if i % columns == 0:
            axis.set_ylabel("test QWK")
        if i + columns >= len(families):
            axis.set_xlabel("rows the thresholds are fitted on")
            axis.tick_params(labelbottom=True)
    figure.suptitle("Five ways to set thresholds, on simulated scores; above each panel: "
                    "label frequencies, correlation of signal and label; bars: two standard errors",
                    fontsize=11)  # fmt: skip
    handles, names = axes.flat[0].get_legend_handles_labels()
    if len(families) < lines * columns:
        axes.flat[-1].legend(handles, names, loc="center", frameon=False, fontsize=11)
    else:
        figure.legend(handles, names, ncols=len(names), loc="outside lower center", frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_real(folds: pd.DataFrame, differences: pd.DataFrame, path: Path) -> None:
    """Curved minus Nelder-Mead and minus exact: every fold, mean, two standard errors."""
    models = list(differences.groupby(["file", "booster", "objective"], sort=False).groups)
    figure, axes = plt.subplots(
        1, 2, figsize=(11, 1.4 + 0.42 * len(models)), sharey=True, sharex=True
    )
    names = []
    for axis, other in zip(axes, ("nelder-mead", "exact"), strict=True):
        height, file, names, heights = 0.0, None, [], []
        for model in models:
            height -= 1.6 if file not in (None, model[0]) else 1.0
            file = model[0]
            own = folds[(folds[["file", "booster", "objective"]] == list(model)).all(axis=1)]
            values = own["curved"] - own[other]
            mean, error = _common.mean_and_error(values)
            color = _common.COLORS[model[2]]
            axis.plot(values, np.full(len(values), height), "o", ms=4, color="0.75")
            marker = "D" if model[1] == "XGBoost" else "o"
            axis.errorbar(mean, height, xerr=2 * error, marker=marker, ms=7, capsize=3, color=color)
            names.append(f"{file}: {model[1]}, {model[2]}")
            heights.append(height)
        axis.axvline(0, color="black", lw=1, ls="--")
        axis.set_yticks(heights, names)
        axis.set_xlabel(f"curved minus {STYLES[other]['label']}, test QWK")
        _tidy(axis, "x")
    figure.suptitle("What curved thresholds gain on three files. Grey: every fold. "
                    "Colour: mean and two plain standard errors.", fontsize=11)  # fmt: skip
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _tidy(axis: plt.Axes, grid: str) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis=grid, color="0.9")
    axis.set_axisbelow(True)
