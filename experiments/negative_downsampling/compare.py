"""Cells of a comparison to means and paired differences.

A cell is a seed, booster, keep rate and method.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from experiments import _common
from experiments._common import Array
from experiments.negative_downsampling.methods import ALL_ROWS, COMPARISONS

FIGURES = ("logloss", "brier", "auc", "mean_ratio", "rounds", "seconds", "seconds_choosing")


def with_time_ratio(cells: pd.DataFrame) -> pd.DataFrame:
    """``faster``: seconds for all rows in the same run, divided by a method's."""
    slow = cells[cells.method == ALL_ROWS].set_index(["seed", "booster"]).seconds
    key = pd.MultiIndex.from_frame(cells[["seed", "booster"]])
    return cells.assign(faster=slow.reindex(key).to_numpy() / cells.seconds)


def summary_frame(cells: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, and standard errors of logloss, Brier score and AUC."""
    lines = []
    for place, own in with_time_ratio(cells).groupby(
        ["booster", "keep_rate", "method"], sort=False
    ):
        line = dict(zip(("booster", "keep_rate", "method"), place, strict=True))
        line["seeds"] = len(own)
        for name in (*FIGURES, "faster"):
            line[name], error = _common.mean_and_error(own[name])
            if name in ("logloss", "brier", "auc", "mean_ratio"):
                line[f"{name}_se"] = error
        lines.append(line)
    return pd.DataFrame(lines)


def paired(
    cells: pd.DataFrame, booster: str, rate: float, first: str, second: str, figure: str = "logloss"
) -> Array:
    """First minus second, seed by seed."""
    a, b = (
        own_cells(cells, booster, rate, method)[figure].to_numpy() for method in (first, second)
    )
    difference: Array = a - b
    return difference


def own_cells(cells: pd.DataFrame, booster: str, rate: float, method: str) -> pd.DataFrame:
    """The lines of one method, by seed; all rows have the rate 1."""
    rate = 1.0 if method == ALL_ROWS else rate
    own = cells[(cells.booster == booster) & (cells.keep_rate == rate) & (cells.method == method)]
    return own.sort_values("seed")


def differences_frame(cells: pd.DataFrame, rates: Sequence[float]) -> pd.DataFrame:
    """Paired differences in logloss, their standard errors and verdicts on the first."""
    lines = []
    for booster in (name for name in cells.booster.unique() if name):
        for rate in rates:
            for first, second in COMPARISONS:
                values = paired(cells, booster, rate, first, second)
                mean, error = _common.mean_and_error(values)
                lines.append(
                    {
                        "booster": booster,
                        "keep_rate": rate,
                        "first": first,
                        "second": second,
                        "difference": mean,
                        "se": error,
                        "verdict": _common.verdict(-mean, error),
                        "seeds_better": int((values < 0).sum()),
                        "seeds": len(values),
                    }
                )
    return pd.DataFrame(lines)
