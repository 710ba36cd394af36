"""Plain calls of the boosters, timed inside whole trainings.

    python -m benchmarks.plain [--quick]

A user passes an objective of this package to ``xgboost.train`` or ``lightgbm.train`` itself. It is
compared with the same formula as notebooks paste it. From both times that of a training is taken
whose objective returns gradients that were prepared. What is left is the objective, with all that
the library does to call it: labels that are read anew, results that are copied, memory that is no
longer in the cache. CatBoost takes no objective of this package in a plain call: there ``train`` of
the adapters is compared with CatBoost's own log loss, whole training over whole training.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb

import gbdt_objectives as go
from benchmarks._timing import quick_run, report
from benchmarks.objective import pasted, rows

Array = np.ndarray[Any, Any]
Train = Callable[[Any], Any]


class Prepared:
    """Gradients for free: the same two arrays in each round."""

    def __init__(self, both: tuple[Array, Array]) -> None:
        self.both = both

    def __call__(self, margin: Array, data: Any) -> tuple[Array, Array]:
        return self.both

    def __deepcopy__(self, memo: object) -> Prepared:
        return self


def pasted_logloss(z: Array, data: Any) -> tuple[Array, Array]:
    """The log loss as notebooks pass it to ``train``."""
    p = 1 / (1 + np.exp(-z))
    return p - data.get_label(), p * (1 - p)


def pasted_weighted(z: Array, data: Any) -> tuple[Array, Array]:
    """The same where one negative in ten was kept, so that each counts for ten."""
    y = data.get_label()
    p = 1 / (1 + np.exp(-z))
    w = np.where(y == 1, 1.0, 10.0)
    return w * (p - y), w * p * (1 - p)


def seconds_of(train: Train, objectives: Mapping[str, Any], turns: int) -> dict[str, list[float]]:
    """Processor seconds of whole trainings, in turns, after one turn to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in objectives}
    for turn in range(turns + 1):
        for name, objective in objectives.items():
            start = time.process_time()
            train(objective)
            if turn:
                seconds[name].append(time.process_time() - start)
    return seconds


def compare(
    what: str, train: Train, ours: Any, theirs: Any, data: Any, f: Array,
    rounds: int, turns: int, limit: float,
) -> None:  # fmt: skip
    """Print the times a round, less those of prepared gradients, and their ratio."""
    free = Prepared(tuple(np.asarray(v, np.float32) for v in theirs(f, data)))  # type: ignore[arg-type]
    found = seconds_of(train, {"ours": ours, "pasted": theirs, "free": free}, turns)
    each = {
        name: statistics.median(
            a - b for a, b in zip(found[name], found["free"], strict=True)
        ) / rounds
        for name in ("ours", "pasted")
    }  # fmt: skip
    whole = 1e6 * statistics.median(found["free"]) / rounds
    print(f"{what}, {rounds} rounds: ours {1e6 * each['ours']:.0f} us a round, pasted "
          f"{1e6 * each['pasted']:.0f} us, beside {whole:.0f} us of the library")  # fmt: skip
    report("  times the formula as notebooks paste it", each["ours"] / each["pasted"], limit)


def free_large_block() -> None:
    """Free a block of 31 MB, as programs do that have read data. The C library of Linux then keeps
    memory that is freed. Before, it returns it in each round, and a pasted formula is slower."""
    np.ones(31 << 17)


def of_xgboost(matrix: xgb.DMatrix, start: float, rounds: int) -> Train:
    params = {"base_score": start, "max_depth": 1, "tree_method": "hist", "nthread": 1}
    return lambda obj: xgb.train({**params}, matrix, rounds, obj=obj)


def of_lightgbm(dataset: lgb.Dataset, rounds: int) -> Train:
    params = {"verbose": -1, "num_leaves": 2, "num_threads": 1}
    return lambda obj: lgb.train({**params, "objective": obj}, dataset, rounds)


def plain(quick: bool) -> None:
    """QWK and log loss; trees of one split on one feature, to leave out most of the noise."""
    sizes = {10_000: (200, 1.2), 100_000: (50, 0.9), 1_000_000: (20, 0.75)}
    for n, (rounds, limit) in sizes.items():
        if quick and n > 10_000:
            continue
        turns = 2 if quick else 15
        y, p = rows(n)
        label = (y > 1).astype(np.float32)
        X = np.arange(n, dtype=np.float32)[:, np.newaxis] % 7
        qwk = go.qwk_objective(y)
        a, b = float(qwk.mean), float(qwk.variance)
        matrix = xgb.QuantileDMatrix(X, y)
        compare(f"QWK, XGBoost, {n:,} rows", of_xgboost(matrix, a, rounds), qwk, pasted(a, b),
                matrix, p, rounds, turns, limit)  # fmt: skip
        if n != (10_000 if quick else 100_000):
            continue
        wide = p.astype(np.float64)
        started = lgb.Dataset(X, y, init_score=np.full(n, a), params={"verbose": -1}).construct()
        compare(f"QWK, LightGBM, {n:,} rows", of_lightgbm(started, rounds), qwk, pasted(a, b),
                started, wide, rounds, turns, 0.9)  # fmt: skip
        binary = xgb.QuantileDMatrix(X, label)
        dataset = lgb.Dataset(X, label, params={"verbose": -1}).construct()
        for rate, theirs in ((1.0, pasted_logloss), (0.1, pasted_weighted)):
            logloss, what = go.weighted_logloss_objective(rate), f"log loss, rate {rate:g}"
            compare(f"{what}, XGBoost, {n:,} rows", of_xgboost(binary, 0.0, rounds), logloss,
                    theirs, binary, p, rounds, turns, 0.8)  # fmt: skip
            compare(f"{what}, LightGBM, {n:,} rows", of_lightgbm(dataset, rounds), logloss,
                    theirs, dataset, wide, rounds, turns, 0.75)  # fmt: skip


def catboost(quick: bool) -> None:
    """Our log loss by ``train`` of the adapters, over CatBoost's own."""
    import catboost as cb

    from gbdt_objectives.adapters.catboost import train

    n, rounds, turns = (10_000, 10, 2) if quick else (100_000, 50, 7)
    rng = np.random.default_rng(0)
    X = rng.random((n, 10), dtype=np.float32)
    y = (rng.random(n) < 1 / (1 + np.exp(6 - 5 * X[:, 0] - 3 * X[:, 1]))).astype(int)
    pool = cb.Pool(X, y)
    params = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    logloss = go.weighted_logloss_objective(1.0)

    def fit(objective: Any) -> None:
        if objective is logloss:
            train(params, pool, rounds, objective=objective)
        else:
            cb.train(pool, {**params, "loss_function": objective}, iterations=rounds)

    found = seconds_of(fit, {"ours": logloss, "own": "Logloss"}, turns)
    each = {name: statistics.median(values) for name, values in found.items()}
    print(f"log loss, CatBoost {cb.__version__}, {n:,} rows, {rounds} rounds: ours "
          f"{each['ours']:.2f} s, its own {each['own']:.2f} s")  # fmt: skip
    report("  times the built-in log loss, whole trainings", each["ours"] / each["own"], 1.5)


def main() -> None:
    quick = quick_run(__doc__, "numpy", "xgboost", "lightgbm")
    free_large_block()
    plain(quick)
    if find_spec("catboost") is None:
        print("CatBoost is not installed, so its row is left out")
    else:
        catboost(quick)


if __name__ == "__main__":
    main()
