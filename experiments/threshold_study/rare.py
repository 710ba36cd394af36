"""Thresholds where outer classes are rare and scores weak, bent or tied; settings in rare.json.

Run from the repository root: ``python -m experiments.threshold_study.rare [--quick]``.

The rows are those of ``simulated.py``: signal x, calibrated score m = E[y|x], mu and sd its mean
and standard deviation. All scores of one draw have the same rows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from experiments.threshold_study import simulated
from experiments.threshold_study.configuration import Family
from experiments.threshold_study.report import STYLES
from gbdt_objectives import quadratic_weighted_kappa

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "rare.json", HERE / "results" / "rare"

LEAVES = 8
LEVEL = 1e-12
"""Means this close are those of the same thresholds."""
TITLES = {"prior": "classes", "correlation": "correlation", "score": "score", "rows": "rows"}
PLACE = list(TITLES)
"""What a row of the study is, and its name in tables."""
SHOWN = (("curved", "plugin"), ("curved", "exact"), ("plugin", "exact"))
"""Differences in the longer tables."""


@dataclass(frozen=True)
class Scores:
    """The scores of a family: functions of the signal that never fall."""

    family: Family
    points: int

    def of(self, x: Array) -> dict[str, Array]:
        """Every score of rows with the signal x."""
        m, population = self.calibrated(x), self.calibrated(self.quantiles)
        mu, sd = population.mean(), population.std()
        leaf = population.reshape(LEAVES, -1).mean(axis=1)
        edges = norm.ppf(np.arange(1, LEAVES) / LEAVES)
        return {
            "calibrated": m,
            "exp(x)": np.exp(x),
            "cubed": mu + sd * ((m - mu) / sd) ** 3,
            "8 leaves": leaf[np.searchsorted(edges, x, side="right")],
            "integers": np.rint(mu + 2 * x),
        }

    def calibrated(self, x: Array) -> Array:
        m: Array = simulated.above(x, self.family).sum(axis=1)
        return m

    @property
    def quantiles(self) -> Array:
        """The signal of the population, at so many points of equal probability."""
        x: Array = norm.ppf((np.arange(self.points) + 0.5) / self.points)
        return x


def draw(family: Family, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Labels and signals; again, if all labels are one, which no method takes."""
    q = norm.ppf(np.cumsum(family.prior)[:-1])
    rho = family.correlation
    while True:
        x = rng.standard_normal(rows)
        z = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(rows)
        y = np.searchsorted(q, z, side="right")
        if y.min() < y.max():
            return y, x


@dataclass(frozen=True)
class NewRows:
    """Rows in the order of their signal: running counts of each class, (n+1, K)."""

    counts: Array

    @classmethod
    def of(cls, y: Array, K: int) -> NewRows:
        return cls(np.vstack([np.zeros(K), np.cumsum(y[:, None] == np.arange(K), axis=0)]))

    def kappa(self, score: Array, thresholds: Array) -> float:
        """QWK of the rows' score, cut at thresholds; a row on a threshold belongs above."""
        n, K = len(score), self.counts.shape[1]
        cuts = np.r_[0, np.searchsorted(score, thresholds, side="left"), n]
        confusion = np.diff(self.counts[cuts], axis=0)  # class given, true class
        given, true = np.indices((K, K))
        return float(
            quadratic_weighted_kappa(
                true.ravel(), given.ravel(), labels=np.arange(K), sample_weight=confusion.ravel()
            )
        )


def place(y: Array, score: Array, K: int, method: Any) -> tuple[Array, bool]:
    """Thresholds, and whether the method refused the rows: then they are exact ones, as in the
    folds of the package. Plug-in and curved refuse scores on which no line rises with the class."""
    if method == "rounding":
        return np.arange(K - 1) + 0.5, False
    try:
        return _common.fit_thresholds(y, score, (0, K - 1), method), False
    except ValueError as error:
        if "use method='exact'" not in str(error):
            raise
        return _common.fit_thresholds(y, score, (0, K - 1), "exact"), True


def run_repetition(
    family: Family, settings: dict[str, Any], seed: Sequence[int]
) -> Iterator[dict[str, object]]:
    """All sample sizes and scores of one repetition, judged on one fresh test draw."""
    rng = np.random.default_rng(seed)
    K, scores = len(family.prior), Scores(family, settings["points"])
    y_test, x_test = draw(family, settings["test_rows"], rng)
    order = np.argsort(x_test)
    new, new_scores = NewRows.of(y_test[order], K), scores.of(x_test[order])
    for n, repetitions in settings["sizes"].items():
        if seed[-1] >= repetitions:
            continue
        y, x = draw(family, int(n), rng)
        for name, score in scores.of(x).items():
            found: dict[str, object] = {"refused": False}
            for method in settings["methods"]:
                thresholds, refused = place(y, score, K, method)
                found[method] = new.kappa(new_scores[name], thresholds)
                found["refused"] = found["refused"] or refused
            yield {
                "prior": family.name, "correlation": family.correlation, "score": name,
                "rows": int(n), "repetition": seed[-1], **found,
            }  # fmt: skip


def run_all(settings: dict[str, Any]) -> pd.DataFrame:
    """One line a family, score, sample size and repetition: test QWK of every method."""
    families = [
        Family(name, tuple(prior), correlation, "calibrated")
        for name, prior in settings["priors"].items()
        for correlation in settings["correlations"]
    ]
    most = max(settings["sizes"].values())
    lines: list[dict[str, object]] = []
    with warnings.catch_warnings(), tqdm(total=len(families) * most, unit="draw") as bar:
        warnings.filterwarnings("ignore", message="every row gets the class")
        for stream, family in enumerate(families):
            for repetition in range(most):
                lines += run_repetition(family, settings, (settings["seed"], stream, repetition))
                bar.update()
    frame = pd.DataFrame(lines)
    frame["score"] = pd.Categorical(frame["score"], settings["scores"], ordered=True)
    frame["prior"] = pd.Categorical(frame["prior"], list(settings["priors"]), ordered=True)
    return frame.sort_values([*PLACE, "repetition"], ignore_index=True)


def pairs(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """Every method with every one that is named before it."""
    return [(b, a) for a, b in combinations(settings["methods"], 2)][::-1]


def summary_frame(draws: pd.DataFrame, settings: dict[str, Any]) -> pd.DataFrame:
    """Of each row of the study: means, paired differences with their standard errors, draws that
    are left at nothing and draws that were refused."""
    rule, lines = settings["left_at_nothing"], []
    for key, own in draws.groupby(PLACE, observed=True):
        line: dict[str, Any] = dict(zip(PLACE, key, strict=True)) | {"draws": len(own)}
        for method in settings["methods"]:
            line[method], line[f"{method}_se"] = _common.mean_and_error(own[method])
        for first, other in pairs(settings):
            name = f"{first}_minus_{other}"
            line[name], line[f"{name}_se"] = _common.mean_and_error(own[first] - own[other])
        useful = own.exact > rule["where_exact_is_above"]
        line["exact_useful"] = int(useful.sum())
        for method in settings["methods"]:
            line[f"{method}_nothing"] = int((useful & (own[method] < rule["kappa_below"])).sum())
        line["refused"] = int(own.refused.sum())
        lines.append(line)
    return pd.DataFrame(lines)


def worse(summary: pd.DataFrame, first: str, other: str, settings: dict[str, Any]) -> pd.Series:
    """Whether the first method is worse than the other by more than the rule's standard errors."""
    name, sign = f"{first}_minus_{other}", 1
    if name not in summary:
        name, sign = f"{other}_minus_{first}", -1
    limit = -settings["worse_by_standard_errors"] * summary[f"{name}_se"]
    return sign * summary[name] < limit


def label(method: str) -> str:
    return str(STYLES[method]["label"])


def method_table(summary: pd.DataFrame, settings: dict[str, Any]) -> str:
    """Of each method: mean kappa, settings in which it is best in the mean, or another is better,
    and draws that it leaves with almost no kappa."""
    methods, lines = settings["methods"], []
    means = summary[methods]
    best = means.ge(means.max(axis=1) - LEVEL, axis=0)
    for method in methods:
        behind = [worse(summary, method, other, settings) for other in methods if other != method]
        lines.append(
            [
                label(method),
                f"{means[method].mean():.4f}",
                f"{best[method].sum()} of {len(summary)}",
                f"{(best[method] & (best.sum(axis=1) == 1)).sum()}",
                f"{np.any(behind, axis=0).sum()} of {len(summary)}",
                f"{summary[f'{method}_nothing'].sum():,} of {summary.exact_useful.sum():,}",
            ]
        )
    header = ["method", "mean kappa", "best in the mean", "alone", "worse than another"]
    return _common.markdown_table([*header, "draws with almost no kappa"], lines)


def pair_table(summary: pd.DataFrame, settings: dict[str, Any]) -> str:
    """In how many settings the first of two methods is worse and better, the mean difference, and
    the setting in which it loses most."""
    lines = []
    for first, other in pairs(settings):
        name = f"{first}_minus_{other}"
        at = summary.loc[summary[name].idxmin()]
        lines.append(
            [
                f"{label(first)} - {label(other)}",
                f"{worse(summary, first, other, settings).sum()} of {len(summary)}",
                f"{worse(summary, other, first, settings).sum()} of {len(summary)}",
                f"{summary[name].mean():+.4f}",
                signed(at[name], at[f"{name}_se"]),
                f"{at.prior}; {at.correlation}; {at['score']}; {at['rows']:,}",
            ]
        )
    header = ["difference", "worse", "better", "mean", "the largest loss", "where"]
    return _common.markdown_table(header, lines)


def group_table(summary: pd.DataFrame, by: str, settings: dict[str, Any]) -> str:
    """Mean kappa of each method and counts of settings, by one property of theirs."""
    methods, lines = settings["methods"], []
    for value, own in summary.groupby(by, sort=False):
        counts = [
            ", ".join(str(worse(own, *pair, settings).sum()) for pair in (both, both[::-1]))
            for both in SHOWN
        ]
        name = f"{value:,}" if by == "rows" else str(value)
        lines.append([name, str(len(own)), *(f"{own[m].mean():.4f}" for m in methods), *counts])
    header = [TITLES[by], "settings", *(label(m) for m in methods)]
    header += [f"{label(first)} worse, better than {label(other)}" for first, other in SHOWN]
    return _common.markdown_table(header, lines)


def row_table(summary: pd.DataFrame, settings: dict[str, Any]) -> str:
    """Mean kappa on new rows in every setting of the study, and the best method."""
    methods, lines = settings["methods"], []
    for row in summary.to_dict("records"):
        most = max(row[method] for method in methods)
        best = [label(method) for method in methods if row[method] >= most - LEVEL]
        names = [f"{first}_minus_{other}" for first, other in SHOWN]
        lines.append(
            [str(row["prior"]), str(row["correlation"]), str(row["score"]), f"{row['rows']:,}"]
            + [f"{row[method]:.4f}" for method in methods]
            + [" = ".join(best)]
            + [signed(row[name], row[f"{name}_se"]) for name in names]
        )
    header = [*TITLES.values(), *(label(m) for m in methods), "best"]
    header += [f"{label(first)} - {label(other)}" for first, other in SHOWN]
    return _common.markdown_table(header, lines)


def signed(mean: float, error: float) -> str:
    return f"{mean:+.4f} ± {error:.4f}"


def tables(summary: pd.DataFrame, settings: dict[str, Any]) -> list[str]:
    """What README.md shows, and last the table of all settings."""
    refused = f"- draws that plug-in and curved refuse: {summary.refused.sum():,} of "
    return [
        method_table(summary, settings),
        pair_table(summary, settings),
        *(group_table(summary, by, settings) for by in PLACE),
        f"{refused}{summary.draws.sum():,}",
        row_table(summary, settings),
    ]


def read(scale: str = "full") -> dict[str, Any]:
    """The settings of rare.json with those of one scale."""
    raw = _common.read_json(CONFIG)
    own: dict[str, Any] = {name: raw.pop(name) for name in ("full", "quick")}[scale]
    return raw | own


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.threshold_study.rare", description=str(__doc__).split("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="a small part of it: says little")
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: results/rare/")
    options = parser.parse_args(arguments)
    scale = "quick" if options.quick else "full"
    settings: dict[str, Any] = read(scale)
    folder = options.output
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="rare_")) if options.quick else RESULTS
    began = time.perf_counter()
    with threadpool_limits(1):
        summary = summary_frame(run_all(settings), settings)
    *shown, rows = tables(summary, settings)
    with _common.results_folder(folder) as results:
        summary.round(9).to_csv(results / "summary.csv", index=False)
        (results / "table.md").write_text("\n\n".join([*shown, rows]) + "\n", encoding="utf-8")
        record = _common.configuration_record(CONFIG)
        _common.write_environment(results, {"all": settings["seed"]}, {"scale": scale, **record})
    print("\n\n".join(shown))
    print(f"{time.perf_counter() - began:.0f} s; results in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
