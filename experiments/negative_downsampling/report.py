"""Tables and pictures of the published comparison and of King and Zeng's case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from experiments import _common
from experiments.negative_downsampling.methods import (
    ALL_ROWS,
    BAGS,
    CORRECTED,
    FLOORED,
    IN_SAMPLE,
    ISOTONIC,
    OFFSET,
    SCALED,
    UNCORRECTED,
    WEIGHTED,
)
from experiments.negative_downsampling.simulated import own_cells, paired
from experiments.negative_downsampling.weighting import CURVE, RIGHT, TERMS

mpl.use("Agg")
import matplotlib.pyplot as plt

PUBLISHED = {
    "XGBoost": {ALL_ROWS: 24.30, UNCORRECTED: 160.1, CORRECTED: 24.53, OFFSET: 24.53,
                WEIGHTED: 25.82, SCALED: 24.85, ISOTONIC: 25.24, BAGS: 24.24},
    "LightGBM": {ALL_ROWS: 24.65, UNCORRECTED: 160.2, CORRECTED: 24.55, OFFSET: 24.55,
                 WEIGHTED: 37.7, SCALED: 31.5, ISOTONIC: 25.17, BAGS: 24.27},
}  # fmt: skip
"""Logloss e-3 at keep rate .02, on other rows of another population."""

STYLES = {
    ALL_ROWS: {"color": "black", "marker": "*", "ms": 10},
    UNCORRECTED: {"color": "#D55E00", "marker": "X"},
    CORRECTED: {"color": "#0072B2", "marker": "o"},
    WEIGHTED: {"color": "#CC79A7", "marker": "s"},
    SCALED: {"color": "#E69F00", "marker": "D"},
    ISOTONIC: {"color": "0.55", "marker": "v"},
    FLOORED: {"color": "#56B4E9", "marker": "v"},
    BAGS: {"color": "#009E73", "marker": "P"},
    IN_SAMPLE: {"color": "#8B4513", "marker": "^"},
}
"""Okabe-Ito colours, told apart by marker as well; the offset is the corrected model again."""

LEAST_POSITIVES = 5
"""Bins with fewer are not drawn: their rate is anybody's guess."""


def summary_table(summary: pd.DataFrame, published_rate: float) -> str:
    """Means and standard errors; the published logloss where there is one."""
    header = ["booster", "keep rate", "method", "logloss e-3", "published"]
    header += ["Brier e-3", "AUC", "mean / true", "rounds", "seconds", "times faster"]
    rows = []
    for row in summary.itertuples():
        known = PUBLISHED.get(row.booster, {}).get(row.method)
        shown = known if row.keep_rate in (1, published_rate) else None
        trained = [f"{row.rounds:.0f}", f"{row.seconds:.2f}", f"{row.faster:.1f}"]
        rows.append(
            [
                row.booster,
                f"{row.keep_rate:g}",
                row.method,
                _common.plus_minus(1e3 * row.logloss, 1e3 * row.logloss_se, 2),
                f"{shown:.2f}" if shown else "",
                f"{1e3 * row.brier:.3f}",
                f"{row.auc:.4f}",
                f"{row.mean_ratio:.2f}",
                *(["", "", ""] if np.isnan(row.seconds) else trained),
            ]
        )
    return _common.markdown_table(header, rows)


def differences_table(differences: pd.DataFrame) -> str:
    """Paired differences in logloss, and the verdict on the first."""
    rows = [
        [
            row.booster,
            f"{row.keep_rate:g}",
            f"{row.first} - {row.second}",
            f"{1e3 * row.difference:+.3f} ± {1e3 * row.se:.3f}",
            row.verdict,
            f"{row.seeds_better} of {row.seeds}",
        ]
        for row in differences.itertuples()
    ]
    header = ["booster", "keep rate", "difference in logloss e-3", "mean", "the first is"]
    return _common.markdown_table([*header, "seeds better"], rows)


def weighting_table(summary: pd.DataFrame) -> str:
    """Expected logloss of linear models, and weighted minus corrected."""
    rows = [
        [
            row["model"],
            f"{row['rows']:,}",
            *(
                f"{1e3 * row[m]:.3f} ± {1e3 * row[f'{m}_se']:.3f}"
                for m in ("all rows", "corrected", "weighted")
            ),
            f"{1e3 * row['difference']:+.3f} ± {1e3 * row['difference_se']:.3f}",
            row["verdict"],
            f"{row['repetitions_better']} of {row['repetitions']}",
        ]
        for row in summary.to_dict("records")
    ]
    header = ["linear model", "rows", "all rows", "corrected", "weighted"]
    header += ["weighted - corrected", "weighted is", "repetitions better"]
    return _common.markdown_table(header, rows)


def draw_reliability(bins: pd.DataFrame, rate: float, path: Path) -> None:
    """Observed rate against mean prediction, both logarithmic, a panel a booster and family."""
    boosters = list(bins.booster.unique())
    families = (
        ("as they come", (ALL_ROWS, UNCORRECTED, CORRECTED, BAGS)),
        ("weights and isotonic regression", (WEIGHTED, SCALED, FLOORED, IN_SAMPLE)),
    )
    figure, axes = plt.subplots(
        len(boosters), 2, figsize=(9.6, 4.5 * len(boosters)), sharex=True, sharey=True,
        squeeze=False,
    )  # fmt: skip
    for line, booster in zip(axes, boosters, strict=True):
        for axis, (family, methods) in zip(line, families, strict=True):
            axis.plot([1e-5, 1], [1e-5, 1], color="0.4", lw=1, ls="--", zorder=0)
            for method in methods:
                own = bins[(bins.booster == booster) & (bins.method == method)].sort_values("bin")
                own = own[(own.positives >= LEAST_POSITIVES) & (own.bin > 0)]
                observed = own.positives / own.rows
                error = 2 * np.sqrt(observed * (1 - observed) / own.rows)
                axis.errorbar(
                    own.predicted / own.rows, observed, yerr=error, lw=1.3, elinewidth=0.8,
                    label=method, **{"ms": 5, **STYLES[method]},
                )  # fmt: skip
            axis.set(xscale="log", yscale="log", xlim=(1e-5, 1.3), ylim=(3e-5, 1.3))
            axis.set_title(f"{booster}: {family}", fontsize=11)
            tidy(axis, "both")
            axis.legend(frameon=False, fontsize=9, loc="upper left")
    for axis in axes[-1]:
        axis.set_xlabel("mean predicted probability")
    for axis in axes[:, 0]:
        axis.set_ylabel("observed rate")
    figure.suptitle(
        f"Reliability of models trained on a fraction of {rate:g} of the negatives, rare events\n"
        "Bars: two standard errors of the rate. Left out: bins with fewer "
        f"than {LEAST_POSITIVES} positives, predictions below 1e-5", fontsize=10,
    )  # fmt: skip
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_cost(cells: pd.DataFrame, rates: Sequence[float], path: Path) -> None:
    """Logloss above all rows' against training time, a panel a booster, a size a rate."""
    boosters = [name for name in cells.booster.unique() if name]
    figure, axes = plt.subplots(
        1, len(boosters), figsize=(5.4 * len(boosters), 4.6), sharex=True, sharey=True
    )
    sizes = dict(zip(sorted(rates), (5, 8, 11), strict=False))
    shown = (UNCORRECTED, CORRECTED, WEIGHTED, SCALED, FLOORED, BAGS)
    for axis, booster in zip(np.atleast_1d(axes), boosters, strict=True):
        slow = own_cells(cells, booster, 1.0, ALL_ROWS).seconds.to_numpy()
        axis.axhline(0, color="0.4", lw=1, ls="--", zorder=0)
        axis.plot(1, 0, ls="", label=ALL_ROWS, **STYLES[ALL_ROWS])
        for method in shown:
            points = []
            for rate in sorted(rates):
                own = own_cells(cells, booster, rate, method)
                values = 1e3 * paired(cells, booster, rate, method, ALL_ROWS)
                mean, error = _common.mean_and_error(values)
                points.append((np.median(own.seconds.to_numpy() / slow), mean, 2 * error, rate))
            time, mean, error, _ = np.array(points).T
            axis.plot(time, mean, lw=0.8, color=STYLES[method]["color"], alpha=0.6)
            for x, y, e, rate in points:
                style = STYLES[method] | {"ms": sizes[rate]}
                axis.errorbar(x, y, yerr=e, ls="", capsize=2, elinewidth=0.8, **style)
            axis.plot([], [], ls="-", lw=0.8, label=method, **{"ms": 6, **STYLES[method]})
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(FixedLocator([0.003, 0.01, 0.03, 0.1, 0.3, 1, 3]))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_yscale("symlog", linthresh=1, linscale=2)
        axis.yaxis.set_major_locator(FixedLocator([-0.5, 0, 0.5, 1, 3, 10, 30, 100, 300]))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_title(booster, fontsize=11)
        axis.set_xlabel("training time, all rows = 1")
        tidy(axis, "both")
    first = np.atleast_1d(axes)[0]
    first.set_ylabel("logloss e-3 above that of all rows")
    handles, names = first.get_legend_handles_labels()
    figure.legend(handles, names, ncols=4, loc="lower center", frameon=False, fontsize=9)
    marks = ", ".join(f"{rate:g}" for rate in sorted(rates))
    figure.suptitle("Logloss and training time of models trained on fewer negatives, rare events\n"
                    f"Small to large marks: keep rates {marks}. Bars: two standard errors",
                    fontsize=10)  # fmt: skip
    figure.tight_layout(rect=(0, 0.11, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_weighting(summary: pd.DataFrame, path: Path) -> None:
    """Weighted minus corrected against the rows before sampling."""
    figure, axis = plt.subplots(figsize=(6.4, 3.8))
    axis.axhline(0, color="0.4", lw=1, ls="--", zorder=0)
    styles = {RIGHT: ("#0072B2", "o"), TERMS: ("#E69F00", "s"), CURVE: ("#D55E00", "D")}
    for model, (color, marker) in styles.items():
        own = summary[summary.model == model]
        axis.errorbar(
            own["rows"], 1e3 * own.difference, yerr=2e3 * own.difference_se, color=color,
            marker=marker, ms=6, capsize=3, lw=1.4, label=f"linear model: {model}",
        )  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("symlog", linthresh=0.1)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_xlabel("rows before sampling")
    axis.set_ylabel("weighted minus corrected,\nexpected logloss e-3")
    axis.set_title("Logistic regression on downsampled negatives, weighted or corrected:\n"
                   "below 0 weighting wins; bars: two standard errors", fontsize=10)  # fmt: skip
    axis.legend(frameon=False)
    tidy(axis, "both")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def tidy(axis: plt.Axes, grid: str) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis=grid, color="0.92")
    axis.set_axisbelow(True)
