"""Rounds of XGBoost on a GPU with our objectives, as ratios to its built-in ones.

    python -m benchmarks.devices [--quick]

Ours twice: from labels in the host's memory, as XGBoost hands them out, and bound to labels on the
GPU. Without CuPy and a GPU everything is on the processor, and the second is numpy's too.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost as xgb

import gbdt_objectives as go
from benchmarks._timing import quick_run, report


def gpu() -> Any:
    """CuPy, if it has a device."""
    try:
        import cupy

        return cupy if cupy.cuda.runtime.getDeviceCount() else None
    except Exception:  # not installed, or without a driver: CuPy has errors of its own
        return None


def seconds_a_round(train: Callable[[int], Any], few: int, many: int) -> float:
    """Of the rounds between two lengths of training, so that what is done once does not count."""
    spent = []
    for rounds in (few, many):
        start = time.perf_counter()
        train(rounds)
        spent.append(time.perf_counter() - start)
    return (spent[1] - spent[0]) / (many - few)


def main() -> None:
    quick = quick_run(__doc__, "numpy", "xgboost")
    cupy = gpu()
    n, turns = (20_000, 1) if quick else (10_000_000, 5)
    print(f"{n:,} rows, on {'a GPU' if cupy else 'the processor: no GPU, or no CuPy'}")
    rng = np.random.default_rng(0)
    X = rng.random((n, 10), dtype=np.float32)
    grades = np.digitize(X[:, :4].sum(1) + rng.normal(0, 0.3, n), [1.4, 2.0, 2.6]).astype(
        np.float32
    )
    events = (rng.random(n) < 1 / (1 + np.exp(6 - 5 * X[:, 0] - 3 * X[:, 1]))).astype(np.float32)
    shared = {"device": "cuda" if cupy else "cpu", "max_depth": 6}
    for name, objective, built_in, y in (
        ("QWK", go.qwk_objective(grades), "reg:squarederror", grades),
        ("logistic", go.offset_logloss_objective(1.0).measured(events), "binary:logistic", events),
    ):
        data = xgb.QuantileDMatrix(X, y)
        start = {**shared, "base_score": objective.intercept}
        own = {**shared, "objective": built_in, "base_score": float(y.mean())}
        bound = objective.bind(y if cupy is None else cupy.asarray(y))
        runs: dict[str, Callable[[int], Any]] = {
            "built-in": lambda rounds, p=own, d=data: xgb.train(p, d, rounds),
            "ours": lambda rounds, p=start, d=data, o=objective: xgb.train(p, d, rounds, obj=o),
            "bound": lambda rounds, p=start, d=data, o=bound: xgb.train(p, d, rounds, obj=o),
        }
        found: dict[str, list[float]] = {which: [] for which in runs}
        for _ in range(turns):
            for which, run in runs.items():
                found[which].append(seconds_a_round(run, 2, 12 if quick else 32))
        a_round = {which: statistics.median(spent) for which, spent in found.items()}
        print(f"{name}, a round: "
              + ", ".join(f"{which} {1e3 * s:.1f} ms" for which, s in a_round.items()))  # fmt: skip
        for which in ("ours", "bound"):
            report(f"  times {built_in}, {which}", a_round[which] / a_round["built-in"])


if __name__ == "__main__":
    main()
