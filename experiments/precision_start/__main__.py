"""Where the tests of a promised precision start: at two false alerts, or at some 20 alerts.

Run from the repository root: ``python -m experiments.precision_start [--quick]``.

Scores are N(d, 1) of positives and N(0, 1) of negatives, d such that the best threshold that truly
keeps the bound has a given recall. Rows are drawn one by one. ``place`` is the sequence of exact
tests of ``optimize_thresholds`` for scores without ties, without the other work of a call; a test
compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import nbinom, norm
from tqdm import tqdm

from experiments import _common
from experiments._common import Array

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
BEFORE, AFTER = "before", "after"


def first_test(bound: float, rate: float, settings: dict[str, Any]) -> int:
    """False alerts among so many alerts, if their precision is at the bound."""
    share = (1 - bound) * rate / ((1 - bound) * rate + bound)
    return max(settings["least_false"], int(np.ceil(round(settings["first_alerts"] * share, 9))))


def tests(bound: float, rate: float, start: int, rows: int, delta: float) -> tuple[Array, Array]:
    """False alerts j that each test allows, and of how many alerts."""
    j = start + np.arange(rows)
    q = bound / (bound + rate * (1 - bound))
    m = j + 1 + nbinom.ppf(1 - delta, j + 1, 1 - q)
    return j[m <= rows], m[m <= rows].astype(int)


def place(false: Array, score: Array, j: Array, m: Array) -> float | None:
    """The threshold at the last test that passed; None if there is none.

    ``score``: in descending order; ``false``: how many false alerts its first 0..n rows have.
    """
    right = false[m] <= j[: len(m)]
    passed = len(right) if right.all() else int(np.argmin(right))
    if not passed:
        return None
    true = m - false[m]
    cut = m[:passed][int(np.argmax(true[:passed]))]  # of as many positives the fewest alerts
    return float(score[cut]) if cut < len(score) else -np.inf


def separation(bound: float, recall: float, base: float) -> tuple[float, float]:
    """Distance of the normals, and the best threshold that truly keeps the bound."""
    t = -norm.ppf(base * recall * (1 - bound) / (bound * (1 - base)))
    return float(norm.ppf(recall) + t), float(t)


def draws_of(
    bound: float, positives: int, rate: float, best: float, settings: dict[str, Any],
    rng: np.random.Generator,
) -> pd.DataFrame:  # fmt: skip
    """A row for each draw and start: whether there is a threshold, and what it gives."""
    base, delta = settings["base_rate"], 1 - settings["confidence_level"]
    d, _ = separation(bound, best, base)
    n = round(positives / base)
    starts = {BEFORE: settings["least_false"], AFTER: first_test(bound, rate, settings)}
    most = 100 + round(1.2 * n * (base + (1 - base) * rate))  # rows that are kept, or more
    sequences = {way: tests(bound, rate, start, most, delta) for way, start in starts.items()}
    lines = []
    for draw in range(settings["draws"]):
        P = rng.binomial(n, base)
        N = rng.binomial(n - P, rate)
        score = rng.normal(size=P + N)
        score[:P] += d
        order = np.argsort(-score)
        false = np.append(0, np.cumsum(order >= P))
        for way, (j, m) in sequences.items():
            some = np.searchsorted(m, P + N, side="right")
            t = place(false, score[order], j[:some], m[:some])
            lines.append((draw, way, np.nan if t is None else t))
    found = pd.DataFrame(lines, columns=["draw", "way", "t"])
    TP, FP = base * norm.sf(found.t - d), (1 - base) * norm.sf(found.t)
    found["none"] = found.t.isna()
    found["violated"] = bound * (TP + FP) > TP  # not where there is none
    found["reached"] = np.where(found.none, 0.0, TP / base / best)
    return found


def run_all(settings: dict[str, Any]) -> pd.DataFrame:
    """One line a cell, with both starts."""
    rng, lines = np.random.default_rng(settings["seed"]), []
    names = ("bounds", "positives", "keep_rates", "best_recalls")
    for bound, positives, rate, best in tqdm(list(product(*(settings[name] for name in names)))):
        found = draws_of(bound, positives, rate, best, settings, rng)
        line = {
            "bound": bound, "positives": positives, "kept": rate, "best_recall": best,
            "first_test": first_test(bound, rate, settings),
        }  # fmt: skip
        for what in ("violated", "none", "reached"):
            both = found.pivot(index="draw", columns="way", values=what).astype(float)
            line |= {f"{what}_{way}": both[way].mean() for way in (BEFORE, AFTER)}
        gain = both[AFTER] - both[BEFORE]
        line |= {"gain": gain.mean(), "error": gain.std() / np.sqrt(len(gain))}
        lines.append(line)
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame) -> str:
    """The mean over bounds and best recalls, and the most that a bound was violated."""
    header = ["positives", "negatives kept", "violated, most", "no threshold before", "after",
              "recall / best before", "after"]  # fmt: skip
    rows = [
        [f"{positives}", f"{rate:g}", f"{own.violated_after.max():.3f}",
         *(f"{own[f'{what}_{way}'].mean():.3f}" for what in ("none", "reached")
           for way in (BEFORE, AFTER))]
        for (positives, rate), own in summary.groupby(["positives", "kept"], sort=False)
    ]  # fmt: skip
    return _common.markdown_table(header, rows)


def study(_: Path | None, settings: dict[str, Any]) -> _common.Findings:
    summary = run_all(settings).round(5)
    most, mean = summary.violated_after.max(), summary.violated_after.mean()
    claim = (
        f"violated in at most {settings['most']:g} of draws in a cell and "
        f"{settings['most_in_the_mean']:g} in the mean (found {most:.3f} and {mean:.3f})"
    )
    holds = most <= settings["most"] and mean <= settings["most_in_the_mean"]
    return _common.Findings({"summary": summary}, table(summary), claim, holds)


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(
        HERE, __doc__, study, arguments, quick={"draws": 4, "positives": [50, 200]}
    )


if __name__ == "__main__":
    sys.exit(main())
