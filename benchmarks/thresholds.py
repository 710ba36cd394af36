"""Speed and memory of thresholds, as ratios measured in one run.

    python -m benchmarks.thresholds [--quick]

Nelder-Mead over ``cohen_kappa_score`` is run at a
tenth of the rows, once, from the half-integers, and scaled by the rows. Memory is the
peak of a fresh process that makes the data and places exact thresholds.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks._timing import in_turns, quick_run, report
from gbdt_objectives.evaluation import cross_validate_thresholds
from gbdt_objectives.thresholds import (
    ThresholdStatistics,
    optimize_decisions,
    optimize_thresholds,
)

CUTS = [-1.6, -0.7, 0.1, 0.8, 1.4]


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Six classes, and a score near their scale with correlation 0.7 to the latent one."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal(n)
    y = np.searchsorted(CUTS, latent)
    latent += rng.standard_normal(n)
    latent *= 0.6
    latent += 2.5
    return y, latent


def nelder_mead(y: np.ndarray, score: np.ndarray) -> object:
    """What people run: scipy's Nelder-Mead over scikit-learn's kappa."""
    from scipy.optimize import minimize
    from sklearn.metrics import cohen_kappa_score

    def loss(thresholds: np.ndarray) -> float:
        p = np.searchsorted(np.sort(thresholds), score, side="right")
        return -float(cohen_kappa_score(y, p, weights="quadratic"))

    return minimize(loss, np.arange(5) + 0.5, method="Nelder-Mead")


def constraints(n: int, turns: int) -> None:
    """Thresholds of two classes under constraints, in sorts of their scores."""
    y, score = data(n)
    y = (y > 4).astype(int)

    def place(**options: Any) -> object:
        return optimize_thresholds(y, score, metric="recall", **options)

    ways: dict[str, Callable[[], object]] = {
        "sort": lambda: np.argsort(score),
        "one constraint": lambda: place(constraints={"precision": 0.5}),
        "constraint of recall": lambda: optimize_thresholds(
            y, score, metric="precision", constraints={"recall": 0.5}
        ),
        "two constraints": lambda: place(constraints={"precision": 0.5, "alert_rate": 0.05}),
        "constraint at a confidence level": lambda: place(
            constraints={"precision": 0.5}, confidence_level=0.9
        ),
    }
    seconds = in_turns(ways, turns)
    for name in [*ways][1:]:
        limit = 2.5 if name in ("one constraint", "constraint of recall") else None
        report(f"{name} / argsort", seconds[name] / seconds["sort"], limit)


def resamples(n: int = 20_000, number: int = 20) -> None:
    """One bootstrap resample of each method's thresholds, in sorts of its scores."""
    y, score = data(n)

    def bootstrap(method: str, times: int) -> object:
        return cross_validate_thresholds(
            y, score, method=method, cv=2, n_bootstrap=times, random_state=0
        )

    ways: dict[str, Callable[[], object]] = {
        "sorts": lambda: [np.argsort(score) for _ in range(8 * number)]
    }
    for method in ("plugin", "exact", "curved"):
        for times in (0, number):
            ways[f"{method} {times}"] = partial(bootstrap, method, times)
    seconds = in_turns(ways, 5)
    for method in ("plugin", "exact", "curved"):
        resampling = seconds[f"{method} {number}"] - seconds[f"{method} 0"]
        report(
            f"{method} on a bootstrap resample of {n:,} rows / argsort",
            8 * resampling / seconds["sorts"],
            10 if method == "curved" else 8,
        )


def rules(n: int = 100_000, K: int = 10) -> None:
    """Rules of classes without order, from probabilities that are calibrated."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(3 * rng.dirichlet(np.full(K, 2.0)), n) + 1e-6
    P /= P.sum(axis=1, keepdims=True)
    y = (P.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=K - 1)
    names = ("macro_f1", "g_mean", "matthews", "kappa", "macro_recall")
    ways: dict[str, Callable[[], object]] = {
        metric: partial(optimize_decisions, P, metric) for metric in names
    }
    ways["macro_f1, y_true"] = partial(optimize_decisions, P, "macro_f1", y_true=y)
    for name, seconds in in_turns(ways, 3, calls=1).items():
        report(f"seconds of a rule, {n:,} rows, {K} classes, {name}", seconds, 2)


def peak_memory(n: int) -> float:
    """GB of a fresh process with n rows, everything included."""
    code = f"import runpy; runpy.run_path({__file__!r})['one_large_problem']({n})"
    return float(subprocess.run([sys.executable, "-c", code], check=True, stdout=-1).stdout)


def one_large_problem(n: int) -> None:
    y, score = data(n)
    optimize_thresholds(y, score, method="exact")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9)


def main() -> None:
    quick = quick_run(__doc__, "numpy", "scikit-learn")
    n, turns = (100_000, 3) if quick else (1_000_000, 9)
    y, score = data(n)
    w = np.random.default_rng(1).exponential(size=n)
    optimize_thresholds(y[:1000], score[:1000], method="exact")  # imports
    small = slice(0, n // 10)
    start = time.perf_counter()
    nelder_mead(y[small], score[small])
    search = 10 * (time.perf_counter() - start)
    ways = {
        "sort": lambda: np.argsort(score),
        "exact": lambda: optimize_thresholds(y, score, method="exact"),
        "plugin": lambda: optimize_thresholds(y, score, method="plugin"),
        "exact, weights": lambda: optimize_thresholds(y, score, method="exact", sample_weight=w),
        "exact, ties": lambda: optimize_thresholds(y, score.round(3), method="exact"),
        "exact, accuracy": lambda: optimize_thresholds(y, score, method="exact", metric="accuracy"),
        "exact, linear kappa": lambda: optimize_thresholds(
            y, score, method="exact", metric="linear"
        ),
        "statistics, 10,000 bins": lambda: (
            ThresholdStatistics.empty(range(6), edges=np.linspace(-2, 7, 10_001))
            .add(y, score)
            .thresholds(method="exact")
        ),
    }
    seconds = in_turns(ways, turns)
    print(f"{n:,} rows, 6 classes; numpy.argsort {seconds['sort'] * 1e3:.1f} ms")
    report("exact / argsort", seconds["exact"] / seconds["sort"], 5)
    report("plugin / exact", seconds["plugin"] / seconds["exact"], 1)
    report(f"Nelder-Mead, 10 x {n // 10:,} rows / exact", search / seconds["exact"], 200,
           at_least=True)  # fmt: skip
    for name in [*ways][3:]:
        report(f"{name} / argsort", seconds[name] / seconds["sort"])
    constraints(n, turns)
    resamples()
    rules(n // 10)
    rows = 10 * n
    report(f"peak memory of exact, GB, {rows:,} rows", peak_memory(rows), 1.5)


if __name__ == "__main__":
    main()
