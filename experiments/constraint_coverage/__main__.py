"""How often new rows violate a bound: kept on the rows at hand, and with a confidence level.

Run from the repository root: ``python -m experiments.constraint_coverage [--quick]``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from gbdt_objectives import optimize_thresholds

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
SCORE = np.linspace(-7, 9, 32_001)
NODES, SHARES = np.polynomial.hermite_e.hermegauss(60)
IN_SAMPLE, PROMISED, ALONE = "on these rows", "confidence level", "confidence level, no groups"
SIGMA, FOLLOWS, WORTH = 0.7, 2.0, 0.5
"""Spread of log weights; that of a negative, and the rise of log weights with the score."""


@dataclass(frozen=True, eq=False)
class Population:
    """Weight of positives and negatives in score, on a grid, up to a factor."""

    positive: Array
    negative: Array

    def metrics(self) -> dict[str, Array]:
        """What a threshold at each score of the grid gives."""
        TP, FP = (np.cumsum(density[::-1])[::-1] for density in (self.positive, self.negative))
        return {
            "precision": TP / (TP + FP),
            "recall": TP / TP[0],
            "false_positive_rate": FP / FP[0],
            "alert_rate": (TP + FP) / (TP[0] + FP[0]),
        }


Draw = Callable[[np.random.Generator], dict[str, Any]]


def binormal(cell: dict[str, Any], positives: int, d: float) -> tuple[Population, Draw]:
    """Scores N(d, 1) of positives and N(0, 1) of negatives, whose weights, if any, are lognormal:
    independent, twice as large for a negative, or falling with the score."""
    base, rate, kind = cell["base_rate"], cell["keep_rate"], cell.get("weights")
    factor = FOLLOWS if kind == "of the label" else 1.0
    tilt = np.exp(-WORTH * SCORE) if kind == "of the score" else 1.0
    population = Population(
        base * norm.pdf(SCORE, d) * tilt, (1 - base) * factor * norm.pdf(SCORE) * tilt
    )

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        n = round(positives / base)
        P = rng.binomial(n, base)
        N = rng.binomial(n - P, rate)
        y = np.repeat([1, 0], [P, N])
        score = rng.normal(size=P + N) + d * y
        w = np.exp(SIGMA * rng.normal(size=P + N)) * np.where(y == 1, 1.0, factor)
        if kind == "of the score":
            w *= np.exp(-WORTH * score)
        return {"y_true": y, "score": score, "sample_weight": None if kind is None else w}

    return population, draw


def grouped(cell: dict[str, Any], settings: dict[str, Any]) -> tuple[Population, Draw]:
    """Scores N(0, 1), alike within a group, and an effect of the group in log-odds."""
    a, b, tau, rho = settings["intercept"], settings["slope"], cell["effect"], settings["within"]
    p = expit(a + b * SCORE[:, np.newaxis] + tau * NODES) @ SHARES / SHARES.sum()
    density = norm.pdf(SCORE)

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        own = np.repeat(np.arange(cell["number"]), cell["rows"])
        common, effect = rng.normal(size=(2, cell["number"]))
        score = np.sqrt(rho) * common[own] + np.sqrt(1 - rho) * rng.normal(size=len(own))
        y = rng.random(len(own)) < expit(a + b * score + tau * effect[own])
        return {"y_true": y.astype(int), "score": score, "groups": own}

    return Population(p * density, (1 - p) * density), draw


def place(rows: dict[str, Any], cell: dict[str, Any], level: float | None) -> float | None:
    """The threshold, or None where the bound cannot be kept."""
    recall = cell["metric"] == "recall"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of one class for every row
        try:
            return float(optimize_thresholds(
                **rows, metric="false_positive_rate" if recall else "recall",
                constraints={cell["metric"]: cell["bound"]}, confidence_level=level,
                negative_keep_rate=cell.get("keep_rate"),
            ))  # fmt: skip
        except ValueError as error:
            if "cannot be kept" not in str(error):
                raise
            return None


def draws_of(
    cell: dict[str, Any], population: Population, draw: Draw, ways: dict[str, Any], draws: int,
    rng: np.random.Generator,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """What each way of placing gives in each draw, in the population."""
    found = population.metrics()
    name, goal = cell["metric"], "false_positive_rate" if cell["metric"] == "recall" else "recall"
    rises = name in ("precision", "recall")
    kept = found[name] >= cell["bound"] if rises else found[name] <= cell["bound"]
    best = float((found[goal][kept].min if name == "recall" else found[goal][kept].max)())
    for _ in range(draws):
        rows = draw(rng)
        for way, (level, groups) in ways.items():
            own = {k: v for k, v in rows.items() if groups or k != "groups"}
            t = place(own, cell, level)
            line = {"way": way, "none": t is None, "violated": False, "reached": np.nan}
            if t is not None and np.isfinite(t):
                value = float(np.interp(t, SCORE, found[name]))
                line["violated"] = value < cell["bound"] if rises else value > cell["bound"]
                line["reached"] = float(np.interp(t, SCORE, found[goal])) / best
            elif t is not None:
                line["reached"] = 0.0 if t > 0 else 1 / best
            yield line


def run_all(settings: dict[str, Any]) -> pd.DataFrame:
    """One line a cell and way."""
    rng, lines, level = np.random.default_rng(settings["seed"]), [], settings["confidence_level"]
    plain = {IN_SAMPLE: (None, False), PROMISED: (level, False)}
    grouping = {IN_SAMPLE: (None, False), ALONE: (level, False), PROMISED: (level, True)}
    todo = [
        ({**cell, "size": positives}, *binormal(cell, positives, settings["separation"]), plain)
        for cell in settings["cells"] for positives in cell["positives"]
    ]  # fmt: skip
    todo += [
        ({**cell, "size": cell["number"]}, *grouped(cell, settings), grouping)
        for cell in settings["groups"]
    ]
    for cell, population, draw, ways in tqdm(todo):
        own = pd.DataFrame(draws_of(cell, population, draw, ways, settings["draws"], rng))
        for way, of_way in own.groupby("way", sort=False):
            lines.append({
                "metric": cell["metric"], "bound": cell["bound"],
                "rows": f"{cell['size']} groups of {cell['rows']}" if "rows" in cell
                else f"{cell['size']} positives, base rate {cell['base_rate']:g}",
                "kept": cell.get("keep_rate", 1), "weights": cell.get("weights", "none"),
                "way": way, "violated": of_way.violated.mean(), "none": of_way.none.mean(),
                "reached": of_way.reached.fillna(0.0).mean() if cell["metric"] != "recall"
                else of_way.reached.mean(),
            })  # fmt: skip
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame) -> str:
    header = ["bound", "rows", "negatives kept", "weights", "kept", "violated", "no threshold",
              "recall / best"]  # fmt: skip
    rows = [
        [f"{row.metric} {'>=' if row.metric in ('precision', 'recall') else '<='} {row.bound:g}",
         row.rows, f"{row.kept:g}", row.weights, row.way, f"{row.violated:.3f}",
         f"{row.none:.3f}", f"{row.reached:.3f}"]
        for row in summary.itertuples()
    ]  # fmt: skip
    return _common.markdown_table(header, rows)


def study(_: Path | None, settings: dict[str, Any]) -> _common.Findings:
    summary = run_all(settings).round(5)
    promised = summary[summary.way == PROMISED]
    held = int((promised.violated <= settings["most"]).sum())
    said = f"violated in at most {settings['most']:g}: {held} of {len(promised)} cells"
    return _common.Findings({"summary": summary}, table(summary), said)


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick={"draws": 4})


if __name__ == "__main__":
    sys.exit(main())
