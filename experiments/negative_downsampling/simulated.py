"""The published comparison on simulated rows, over keep rates and seeds.

A cell is a seed, booster, keep rate and method.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from experiments.negative_downsampling import methods, population
from experiments.negative_downsampling.configuration import Configuration
from experiments.negative_downsampling.methods import (
    ALL_ROWS,
    BAGS,
    COMPARISONS,
    CORRECTED,
    IN_SAMPLE,
    ISOTONIC,
    OFFSET,
    SCALED,
    UNCORRECTED,
    WEIGHTED,
    Data,
    Served,
)

TRUE = "true probability"
"""The row that no method can beat but by luck."""

FIGURES = ("logloss", "brier", "auc", "mean_ratio", "rounds", "seconds", "seconds_choosing")

EDGES = np.logspace(-5, 0, 16)
"""Of the reliability pictures: three bins a decade; what is below the first has its own."""


def make_data(seed: int, configuration: Configuration) -> tuple[Data, Array]:
    """Three draws of one seed, and the true probabilities of the test rows."""
    rng = np.random.default_rng([configuration.seed, seed])
    scale = configuration.scale
    train, held_out, test = (
        population.draw(rows, configuration.population, rng)
        for rows in (scale.train_rows, scale.validation_rows, scale.test_rows)
    )
    return Data(train[:2], held_out[:2], test[:2]), test[2]


def run_all(configuration: Configuration) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One line a seed, booster, keep rate and method; and the reliability at the main rate."""
    scale = configuration.scale
    cells: list[dict[str, object]] = []
    reliability: list[dict[str, object]] = []
    steps = scale.seeds * len(configuration.boosters) * (1 + len(scale.keep_rates))
    with tqdm(total=steps, unit="step") as bar:
        for seed in range(scale.seeds):
            data, truth = make_data(seed, configuration)
            y = data.test[1]
            place: dict[str, object] = {"seed": seed, "booster": "", "keep_rate": 1.0}
            true = Served(truth, float("nan"), float("nan"), float("nan"))
            cells += [place | line for line in methods.lines(y, {TRUE: true})]
            samples = {
                rate: methods.samples(data.train[1], rate, configuration, [seed, i])
                for i, rate in enumerate(scale.keep_rates)
            }
            for booster in configuration.boosters:
                for rate in (1.0, *scale.keep_rates):
                    bar.set_description(f"{booster}, keep rate {rate:g}")
                    if rate == 1:
                        found = {ALL_ROWS: methods.all_rows(booster, data, configuration)}
                    else:
                        found = methods.train_downsampled(
                            booster, data, samples[rate], configuration
                        )
                    place = {"seed": seed, "booster": booster, "keep_rate": rate}
                    cells += [place | line for line in methods.lines(y, found)]
                    if rate in (1, configuration.main_keep_rate):
                        reliability += bins(booster, y, found)
                    bar.update()
    pooled = pd.DataFrame(reliability).groupby(["booster", "method", "bin"], sort=False).sum()
    return pd.DataFrame(cells), pooled.reset_index()


def bins(booster: str, y: Array, found: dict[str, Served]) -> list[dict[str, object]]:
    """Rows, sum of predictions and positives of every bin of every method."""
    lines = []
    for method, served in found.items():
        index = np.searchsorted(EDGES, served.probability, side="right")
        sums = [
            np.bincount(index, values, len(EDGES) + 1) for values in (None, served.probability, y)
        ]
        for i, (rows, predicted, positives) in enumerate(zip(*sums, strict=True)):
            if rows:
                place = {"booster": booster, "method": method, "bin": i}
                lines.append(place | {"rows": int(rows), "predicted": predicted,
                                      "positives": int(positives)})  # fmt: skip
    return lines


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


def acceptance(cells: pd.DataFrame, configuration: Configuration) -> list[tuple[str, bool]]:
    """Every check of the ordering, in words with its figures, and whether it holds."""
    rule, rate = configuration.acceptance, configuration.main_keep_rate
    checks = []
    for booster in configuration.boosters:
        equal = max(
            np.abs(paired(cells, booster, r, OFFSET, CORRECTED)).max()
            for r in configuration.scale.keep_rates
        )
        most = rule.offset_equals_corrected_within
        checks.append(
            (f"{booster}: offset in training equals corrected: largest difference in logloss "
             f"{equal:.0e}, at most {most:.0e}", bool(equal <= most))
        )  # fmt: skip
        mean = {m: own_cells(cells, booster, rate, m).logloss.mean() for m in methods.METHODS}
        others = max(value for m, value in mean.items() if m not in (UNCORRECTED, IN_SAMPLE))
        for what, found, least in (
            ("uncorrected costs", mean[UNCORRECTED] / others, rule.uncorrected_times_others),
            ("isotonic in sample costs", mean[IN_SAMPLE] / mean[CORRECTED],
             rule.in_sample_isotonic_times_corrected),
        ):  # fmt: skip
            against = "the worst other method" if "uncorrected" in what else "corrected"
            checks.append(
                (f"{booster}: {what} {found:.1f} times {against}, at least {least:g}",
                 bool(found >= least))
            )  # fmt: skip
        for better, worse in (
            (CORRECTED, WEIGHTED), (CORRECTED, SCALED), (SCALED, WEIGHTED),
            (CORRECTED, ISOTONIC), (BAGS, CORRECTED),
        ):  # fmt: skip
            gain, error = _common.mean_and_error(paired(cells, booster, rate, worse, better))
            least = rule.better_by_standard_errors
            checks.append(
                (f"{booster}: {better} is better than {worse} by {gain:.5f} ± "
                 f"{error:.5f}, at least {least:g} standard errors",
                 bool(gain > least * error))
            )  # fmt: skip
        for method, most in (
            (CORRECTED, rule.corrected_within_of_all_rows),
            (BAGS, rule.bags_worse_than_all_rows_at_most),
        ):
            loss, error = _common.mean_and_error(paired(cells, booster, rate, method, ALL_ROWS))
            checks.append(
                (f"{booster}: {method} costs {loss:+.5f} ± {error:.5f} more than "
                 f"all rows, at most {most:.4f}", bool(loss <= most))
            )  # fmt: skip
    return checks
