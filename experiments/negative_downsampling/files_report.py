"""Tables and pictures of the four files and the simulated rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments import _common
from experiments.negative_downsampling.files import (
    PILOT,
    TUNED,
    TUNED_ALL,
    TUNED_BAGS,
    TUNED_WEIGHTED,
    UNIFORM,
)
from experiments.negative_downsampling.report import plt, tidy

NAMES = {"keep_rate": "keep rate", "per_positive": "negatives per positive"}
AXES = {"percent": ("logloss, % of the second's", 1.0), "auc": ("AUC e-3", 1e3)}
COLOURS = {"XGBoost": ("#0072B2", "o"), "LightGBM": ("#D55E00", "s")}


def means_table(means: pd.DataFrame, rate: str) -> str:
    """Logloss in e-3, AUC and the mean over the truth."""
    rows = [
        [row["data"], row["booster"], f"{row[rate]:g}", row["method"],
         f"{1e3 * row['logloss']:.2f}",
         f"{row['auc']:.4f}", f"{row['mean_ratio']:.2f}"]
        for row in means.to_dict("records")
    ]  # fmt: skip
    header = ["data", "booster", NAMES[rate], "method", "logloss e-3", "AUC"]
    return _common.markdown_table([*header, "mean / true"], rows)


def differences_table(found: pd.DataFrame, rate: str) -> str:
    """The first's logloss and AUC minus the second's, e-3, and the verdict on the first."""
    rows = [
        [row["data"], row["booster"], f"{row[rate]:g}", f"{row['first']} - {row['second']}",
         f"{1e3 * row['logloss']:+.2f} ± {1e3 * row['logloss_se']:.2f}",
         f"{1e3 * row['auc']:+.1f} ± {1e3 * row['auc_se']:.1f}", row["verdict"]]
        for row in found.to_dict("records")
    ]  # fmt: skip
    header = ["data", "booster", NAMES[rate], "difference", "logloss e-3", "AUC e-3"]
    return _common.markdown_table([*header, "in logloss the first is"], rows)


def draw(
    found: pd.DataFrame, rate: str, pairs: list[tuple[str, str, str]], title: str, path: Path
) -> None:
    """A panel a pair: the difference of every data set and rate, two errors each."""
    figure, axes = plt.subplots(
        1, len(pairs), figsize=(3.6 * len(pairs) + 1.4, 5.6), sharey=True, squeeze=False
    )
    places = list(found.groupby(["data", rate], sort=False).groups)
    for axis, (first, second, measure) in zip(axes.flat, pairs, strict=True):
        name, scale = AXES[measure]
        axis.axvline(0, color="0.4", lw=1, ls="--", zorder=0)
        for j, (booster, (colour, marker)) in enumerate(COLOURS.items()):
            own = found[
                (found.booster == booster) & (found["first"] == first) & (found.second == second)
            ].set_index(["data", rate])
            height = [-places.index(place) - 0.2 * (j - 0.5) for place in own.index]
            axis.errorbar(
                scale * own[measure], height, xerr=2 * scale * own[f"{measure}_se"],
                ls="", capsize=2, color=colour, marker=marker, ms=5, label=booster,
            )  # fmt: skip
        axis.set_xlabel(f"difference in {name}", fontsize=9)
        axis.set_title(f"{first}\nminus {second}", fontsize=9)
        axis.tick_params(labelsize=8)
        tidy(axis, "both")
    axes[0, 0].set_yticks(
        [-i for i in range(len(places))], [f"{name}, {value:g}" for name, value in places]
    )
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.suptitle(f"{title}\nby data set and {NAMES[rate]}; bars: two standard errors",
                    fontsize=10)  # fmt: skip
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


METHOD_PAIRS = [
    (TUNED_WEIGHTED, TUNED, "percent"),
    (TUNED_BAGS, TUNED_ALL, "percent"),
    (TUNED, TUNED_ALL, "auc"),
    (TUNED_BAGS, TUNED_ALL, "auc"),
]
RATE_PAIRS = [(PILOT, UNIFORM, "percent"), (PILOT, UNIFORM, "auc")]
