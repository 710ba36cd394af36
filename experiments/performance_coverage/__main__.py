"""Coverage of the intervals of estimate_performance and compare_performance.

Run from the repository root: ``python -m experiments.performance_coverage [--quick]``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from experiments import _common
from experiments._common import Array
from gbdt_objectives.evaluation import compare_performance, estimate_performance
from gbdt_objectives.metrics import threshold_metric

HERE = Path(__file__).parent
CONFIG, RESULTS = HERE / "config.json", HERE / "results"
BLOCK = 25
"""Draws at a time."""


class Line(ClassifierMixin, BaseEstimator):
    """Least squares, cut so that the classes are as frequent as in the training rows."""

    def fit(self, X: Array, y: Array) -> Line:
        self.coefficients_ = np.linalg.lstsq(with_ones(X), y, rcond=None)[0]
        score = np.sort(with_ones(X) @ self.coefficients_)
        below = np.bincount(y, minlength=4).cumsum()[:3]
        self.thresholds_ = score[np.minimum(below, len(y) - 1)]
        return self

    def predict(self, X: Array) -> Array:
        return np.searchsorted(self.thresholds_, with_ones(X) @ self.coefficients_, side="right")


class Tree(ClassifierMixin, BaseEstimator):
    """A small decision tree."""

    def fit(self, X: Array, y: Array) -> Tree:
        tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, random_state=0)
        self.tree_ = tree.fit(X.astype(np.float32), y, check_input=False)
        return self

    def predict(self, X: Array) -> Array:
        classes: Array = self.tree_.predict(X.astype(np.float32), check_input=False)
        return classes


def with_ones(X: Array) -> Array:
    """With a column for the intercept."""
    return np.column_stack([np.ones(len(X)), X])


MODELS = {
    "linear": Line(),
    "tree": Tree(),
}


def draw(rows: int, features: int, cuts: Sequence[float], rng: np.random.Generator) -> Any:
    """Features, of which two matter, and four grades."""
    X = rng.normal(size=(rows, features))
    return X, np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=rows), cuts)


def one_draw(pool: Any, setting: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """What is found of rows drawn from the population, and what is true of them there."""
    X_pool, y_pool = pool
    drawn = rng.integers(len(y_pool), size=setting["rows"])
    X, y = X_pool[drawn], y_pool[drawn]
    metric = threshold_metric(setting["metric"], (0, 3))
    options = {name: setting[name] for name in ("cv", "n_repeats", "confidence_level")}
    options["random_state"] = int(rng.integers(2**31))
    models = [MODELS[name] for name in setting["models"]]
    truth = [metric(y_pool, clone(model).fit(X, y).predict(X_pool)) for model in models]
    z = norm.ppf((1 + setting["confidence_level"]) / 2)
    if len(models) == 2:
        both = compare_performance(*models, X, y, metric, **options)
        return {"truth": truth[0] - truth[1], "estimate": both.difference,
                "error": both.standard_error, "low": both.interval[0],
                "high": both.interval[1]}  # fmt: skip
    found = estimate_performance(*models, X, y, metric, **options)
    return {"truth": truth[0], "estimate": found.estimate, "error": found.standard_error,
            "low": found.interval[0], "high": found.interval[1],
            "corrected": found.estimate - found.bias, "naive_error": found.naive_error,
            "naive_low": found.estimate - z * found.naive_error,
            "naive_high": found.estimate + z * found.naive_error}  # fmt: skip


def some_draws(setting: dict[str, Any], number: int, first: int, last: int) -> list[dict[str, Any]]:
    """Draws of one setting, each with random numbers of its own."""
    with threadpool_limits(1):
        pool = draw(
            setting["pool_rows"],
            setting["features"],
            setting["cuts"],
            np.random.default_rng([setting["seed"], setting["features"]]),
        )
        what = {name: setting[name] for name in ("features", "rows", "metric", "n_repeats")}
        what = {"setting": number, "models": " - ".join(setting["models"])} | what
        return [
            what | one_draw(pool, setting, np.random.default_rng([setting["seed"], number, i]))
            for i in range(first, last)
        ]


def run_all(configuration: dict[str, Any], jobs: int) -> pd.DataFrame:
    """One line per setting, metric and draw."""
    shared = {name: value for name, value in configuration.items() if name != "settings"}
    cells = [
        shared | setting | {"metric": metric}
        for setting in configuration["settings"]
        for metric in setting["metrics"]
    ]
    if "most_draws" in configuration:
        cells = [cell | {"draws": configuration["most_draws"]} for cell in cells]
    tasks = [
        delayed(some_draws)(cell, number, first, min(first + BLOCK, cell["draws"]))
        for number, cell in enumerate(cells)
        for first in range(0, cell["draws"], BLOCK)
    ]
    found = Parallel(n_jobs=jobs, return_as="generator")(tasks)
    return pd.DataFrame([line for lines in tqdm(found, total=len(tasks)) for line in lines])


def summarize(cells: pd.DataFrame, within: float, level: float) -> pd.DataFrame:
    """Means over the draws, and whether coverage is as it should be."""
    keys = ["setting", "models", "features", "rows", "metric", "n_repeats"]
    lines = []
    for key, own in cells.groupby(keys, sort=False):
        truth, expected = own.truth, own.truth.mean()
        naive = (own.naive_low <= truth) & (truth <= own.naive_high)
        coverage = float(((own.low <= truth) & (truth <= own.high)).mean())
        lines.append(dict(zip(keys, key, strict=True)) | {
            "draws": len(own),
            "truth": expected,
            "truth_sd": truth.std(),
            "bias": (own.estimate - truth).mean(),
            "rmse": float(np.sqrt(((own.estimate - truth) ** 2).mean())),
            "error": float(np.sqrt((own.error**2).mean())),
            "corrected_bias": (own.corrected - truth).mean(),
            "corrected_rmse": float(np.sqrt(((own.corrected - truth) ** 2).mean())),
            "naive_error": float(np.sqrt((own.naive_error**2).mean())),
            "naive_coverage": np.nan if own.naive_error.isna().all() else float(naive.mean()),
            "coverage": coverage,
            "covers_expected": float(((own.low <= expected) & (expected <= own.high)).mean()),
            "below": float((truth < own.low).mean()),
            "above": float((truth > own.high).mean()),
            "holds": bool(abs(coverage - level) <= within + 1e-9),
        })  # fmt: skip
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame) -> str:
    """Coverage, bias and errors."""
    header = ["model", "features", "rows", "metric", "repeats", "truth", "bias", "rmse", "error",
              "bias, corrected", "rmse, corrected", "naive error", "naive coverage", "coverage",
              "of expected", "holds"]  # fmt: skip

    def number(value: float, digits: int) -> str:
        return "" if np.isnan(value) else f"{value:.{digits}f}"

    rows = [
        [row.models, f"{row.features}", f"{row.rows}", row.metric, f"{row.n_repeats}",
         *(number(value, 4) for value in (row.truth, row.bias, row.rmse, row.error,
                                          row.corrected_bias, row.corrected_rmse, row.naive_error)),
         *(number(value, 3) for value in (row.naive_coverage, row.coverage,
                                          row.covers_expected)),
         "yes" if row.holds else "no"]
        for row in summary.itertuples()
    ]  # fmt: skip
    return _common.markdown_table(header, rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.performance_coverage", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="2 draws: says nothing")
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: results/")
    parser.add_argument(
        "--jobs", type=_common.positive_integer, default=1, metavar="N", help="processes; default 1"
    )
    options = parser.parse_args(arguments)
    quick = {"most_draws": 2, "pool_rows": 5000}
    configuration = _common.read_json(CONFIG) | (quick if options.quick else {})
    output = options.output
    if output is None:
        output = (
            Path(tempfile.mkdtemp(prefix="performance_coverage_")) if options.quick else RESULTS
        )
    within, level = configuration["within"], configuration["confidence_level"]
    summary = summarize(run_all(configuration, options.jobs), within, level)
    with _common.results_folder(output) as results:
        summary.round(5).to_csv(results / "summary.csv", index=False)
        (results / "table.md").write_text(table(summary) + "\n", encoding="utf-8")
        record = _common.configuration_record(CONFIG) | {"quick": options.quick}
        _common.write_environment(results, {"all": configuration["seed"]}, record)
    print(table(summary))
    print(f"results in {output}")
    print(f"within {within:g} of nominal: {summary.holds.sum()} of {len(summary)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
