"""Can the difference of two estimators be tested with what nested cross-validation has?

Run from the repository root: ``python -m experiments.comparison_level [--quick]``.

Symbols: n rows in K folds, drawn R times; losses are of the first estimator less the second, by
models trained without the row's fold, outer (R, n), and without fold k as well, inner (R, K, n).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm, t
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from tqdm import tqdm

from experiments import _common
from experiments._common import Array, Findings
from experiments.performance_coverage.__main__ import Line

HERE = Path(__file__).parent
RESULTS = HERE / "results"
CLAIM = "a test has its level in every setting"
QUICK = {"draws": 2, "repeats": 2}


def classifier(model: str) -> Any:
    if model == "linear":
        return Line()
    small = {"max_depth": 4, "min_samples_leaf": 5} if model == "small tree" else {}
    return DecisionTreeClassifier(random_state=0, **small)


def draw(setting: dict[str, Any], cuts: Sequence[float], rng: np.random.Generator) -> Any:
    """Features of the first estimator and of the second, and four grades.

    Apart by halves: two features of each tell the same about the grade, times its weight. By
    noise: both have the same two such features, and others that tell nothing.
    """
    n, p = setting["rows"], setting["features"]
    first, second = rng.normal(size=(2, n, p)).astype(np.float32)
    if setting["apart"] == "noise":
        second[:, :2] = first[:, :2]
    a, b = setting.get("weights", (1, 1))
    signal = (a * first[:, :2] + b * second[:, :2]) @ [1, 0.5] / np.sqrt(2)
    return first, second, np.digitize(signal + rng.normal(size=n), cuts)


def right(model: str, X: Array, y: Array, train: Array, out: Array) -> Array:
    """1.0 for each row held out whose class a model of the training rows finds."""
    return (classifier(model).fit(X[train], y[train]).predict(X[out]) == y[out]).astype(float)


def nested(model: str, X: Array, y: Array, fold: Array) -> tuple[Array, Array]:
    """outer (n,) and inner (K, n), nan in fold k itself, of one estimator and repeat."""
    K = int(fold.max()) + 1
    outer, inner = np.empty(len(y)), np.full((K, len(y)), np.nan)
    for k in range(K):
        out = fold == k
        outer[out] = right(model, X, y, ~out, out)
    for j, k in combinations(range(K), 2):
        out = (fold == j) | (fold == k)
        found = right(model, X, y, ~out, out)
        inner[k, fold == j] = found[fold[out] == j]
        inner[j, fold == k] = found[fold[out] == k]
    return outer, inner


def statistics(outer: Array, inner: Array, fold: Array) -> dict[str, tuple[float, float]]:
    """The error of the difference and the degrees of freedom, of each test.

    "nested" is what ``compare_performance`` gives; docs/theory/performance.md has its symbols.
    """
    R, K, n = inner.shape
    V = float(outer.var(axis=1, ddof=1).mean() / n)
    of_averages = float(outer.mean(axis=0).var(ddof=1) / n)
    at = fold[:, None, :] == np.arange(K)[:, None]
    rest = n - at.sum(axis=2)
    e_out = (outer[:, None] * at).sum(axis=2) / at.sum(axis=2)
    e_cv = (outer[:, None] * ~at).sum(axis=2) / rest
    e_in = np.nansum(inner, axis=2) / rest
    excess = (K - 1) / K * float(((e_in - e_out) ** 2 - (e_cv - e_out) ** 2).mean())
    d = float((e_in - e_cv).mean())
    less = (K - 1) / K * d**2 + (1 - 1 / R) * float(outer.mean(axis=1).var(ddof=1))
    J, bias = R * K, (K - 2) / K * d
    squares = {
        "nested": np.clip(V + excess - less + bias**2, V, K * V),
        "nested, no bias": np.clip(V + excess - less, V, K * V),
        "naive": V,
        "naive, of averaged losses": of_averages,
        "nested, at least that": np.clip(V + excess - less, of_averages, K * V),
        "corrected t": (1 / J + 1 / (K - 1)) * e_out.var(ddof=1),
    }
    return {
        name: (float(np.sqrt(square)), J - 1 if name == "corrected t" else np.inf)
        for name, square in squares.items()
    }


def p_value(difference: float, error: float, freedom: float) -> float:
    """Two-sided; 1 if there is no difference at all."""
    if difference == 0:
        return 1.0
    if error == 0:
        return 0.0
    tail = norm.sf if freedom == np.inf else lambda z: t.sf(z, freedom)
    return float(2 * tail(abs(difference) / error))


def one_draw(
    setting: dict[str, Any], settings: dict[str, Any], rng: np.random.Generator
) -> list[dict[str, Any]]:
    """One line a test: its error and p-value beside the difference."""
    first, second, y = draw(setting, settings["cuts"], rng)
    folds = []
    for _ in range(settings["repeats"]):
        splits = StratifiedKFold(
            settings["folds"], shuffle=True, random_state=int(rng.integers(2**31))
        )
        fold = np.empty(len(y), int)
        for k, (_, test) in enumerate(splits.split(y, y)):
            fold[test] = k
        folds.append(fold)
    both = [[nested(setting["model"], X, y, fold) for fold in folds] for X in (first, second)]
    outer = np.array([a[0] - b[0] for a, b in zip(*both, strict=True)])
    inner = np.array([a[1] - b[1] for a, b in zip(*both, strict=True)])
    difference = float(outer.mean())
    return [
        {"test": name, "difference": difference, "error": error,
         "p": p_value(difference, error, freedom)}
        for name, (error, freedom) in statistics(outer, inner, np.array(folds)).items()
    ]  # fmt: skip


def cells(settings: dict[str, Any]) -> pd.DataFrame:
    """One line a setting, draw and test."""
    lines = []
    with tqdm(total=len(settings["settings"]) * settings["draws"]) as bar:
        for number, setting in enumerate(settings["settings"]):
            what = {name: setting[name] for name in ("model", "features", "rows", "apart")}
            what |= {"setting": number, "equal": "weights" not in setting}
            for i in range(settings["draws"]):
                rng = np.random.default_rng([settings["seed"], number, i])
                lines += [what | {"draw": i} | line for line in one_draw(setting, settings, rng)]
                bar.update()
    return pd.DataFrame(lines)


def summary(cells: pd.DataFrame, levels: dict[str, list[float]]) -> pd.DataFrame:
    """How often each test rejects, and its error beside the differences' true deviation."""
    lines = []
    keys = ["setting", "model", "features", "rows", "apart", "equal", "test"]
    for key, own in cells.groupby(keys, sort=False):
        rejects = {f"at_{level}": (own.p < float(level)).mean() for level in levels}
        lines.append(dict(zip(keys, key, strict=True)) | rejects | {
            "draws": len(own), "deviation": own.difference.std(),
            "error": float(np.sqrt((own.error**2).mean())),
            "holds": all(low <= rejects[f"at_{level}"] <= high
                         for level, (low, high) in levels.items()),
        })  # fmt: skip
    return pd.DataFrame(lines)


def table(summary: pd.DataFrame, levels: dict[str, list[float]]) -> str:
    tests = list(dict.fromkeys(summary.test))
    rows = []
    for _, own in summary.groupby("setting", sort=False):
        first, by_test = own.iloc[0], own.set_index("test")
        rows.append([
            f"{first.model}, {first.features} features", f"{first.rows}", first.apart,
            "yes" if first.equal else "no", f"{first.deviation:.4f}",
            *(", ".join(f"{by_test.loc[test, f'at_{level}']:.3f}" for level in levels)
              for test in tests),
        ])  # fmt: skip
    header = ["model", "rows", "apart", "equal", "deviation", *tests]
    return _common.markdown_table(header, rows)


def study(_: Path | None, settings: dict[str, Any]) -> Findings:
    found = summary(cells(settings), settings["levels"])
    null = found[found.equal].groupby("test", sort=False).holds
    counts = "\n".join(
        f"- {test}: holds its level in {held} of {of}"
        for test, held, of in zip(null.sum().index, null.sum(), null.size(), strict=True)
    )
    text = f"{counts}\n\n{table(found, settings['levels'])}"
    return Findings({"summary": found.round(5)}, text, f"{CLAIM}: {bool(null.all().any())}")


def main(arguments: Sequence[str] | None = None) -> int:
    return _common.run_study(HERE, __doc__, study, arguments, quick=QUICK)


if __name__ == "__main__":
    sys.exit(main())
