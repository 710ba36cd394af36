"""What it costs to be exact on several workers: messages and rounds, as ratios of one run.

    python -m benchmarks.distributed [--quick]

1, 2 and 4 processes of this machine, one thread each, joined by XGBoost's collective. Against: a
bare all-reduce of 8 numbers, and rounds of XGBoost's own squared error on the same workers.
"""

from __future__ import annotations

import multiprocessing as mp
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost as xgb
from xgboost import collective
from xgboost.tracker import RabitTracker

import gbdt_objectives as go
from benchmarks._timing import quick_run, report
from gbdt_objectives.adapters.xgboost import train

FEATURES = 10
PARAMS = {"max_depth": 6, "nthread": 1, "learning_rate": 0.1}
DEADLINE = 600


def median_seconds(call: Callable[[], Any], calls: int) -> float:
    """Of one call, the workers going on together from one to the next."""
    found = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def messages(calls: int) -> dict[str, float]:
    """Seconds of an all-reduce of 8 and of 32 numbers, and of a metric of one row, which sends
    one guarded message, in turns."""
    row = xgb.DMatrix([[0.0]], [1.0])
    margin, metric = np.zeros(1, np.float32), go.squared_error_metric().xgboost
    eight, many = np.zeros(8), np.zeros(32)
    functions = {
        "8 numbers": lambda: collective.allreduce(eight, collective.Op.SUM),
        "32 numbers": lambda: collective.allreduce(many, collective.Op.SUM),
        "metric of a row": lambda: metric(margin, row),
    }
    turns = [
        {name: median_seconds(function, calls) for name, function in functions.items()}
        for _ in range(5)
    ]
    return {name: min(turn[name] for turn in turns) for name in functions}


def rounds(rank: int, world: int, rows: int, turns: int) -> dict[str, float]:
    """Seconds of a round of each training, in turns; data made and binned before."""
    rng = np.random.default_rng(rank)
    X = rng.random((rows // world, FEATURES), np.float32)
    y = np.digitize(X[:, :4].sum(1), [1.2, 1.6, 2.0, 2.4, 2.8]).astype(np.float32)
    data = xgb.DMatrix(X, y)
    one = 10  # rounds in a turn
    own = {**PARAMS, "objective": "reg:squarederror", "base_score": 2.5}
    functions = {
        "squared error": lambda: xgb.train(own, data, one),
        "QWK": lambda: train(PARAMS, data, one, objective=go.qwk_objective()),
    }
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(turns + 1):  # the first one makes the bins
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            if turn:
                seconds[name].append((time.perf_counter() - start) / one)
    ratio = [a / b for a, b in zip(seconds["QWK"], seconds["squared error"], strict=True)]
    return {name: statistics.median(found) for name, found in seconds.items()} | {
        "ratio": statistics.median(ratio)
    }


def work(
    rank: int, world: int, address: dict[str, Any], sizes: dict[str, int], answer: Any
) -> None:
    xgb.set_config(verbosity=0)
    with collective.CommunicatorContext(dmlc_task_id=str(rank), **address):
        found = {"messages": messages(sizes["calls"])} if world > 1 else {}
        found["rounds"] = rounds(rank, world, sizes["rows"], sizes["turns"])
    if rank == 0:
        answer.put(found)


def on_workers(world: int, sizes: dict[str, int]) -> Any:
    """What rank 0 measured."""
    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=world, timeout=DEADLINE)
    tracker.start()
    context = mp.get_context("spawn")
    answer = context.Queue()
    processes = [
        context.Process(target=work, args=(rank, world, tracker.worker_args(), sizes, answer))
        for rank in range(world)
    ]
    for process in processes:
        process.start()
    found = answer.get(timeout=DEADLINE)
    for process in processes:
        process.join(DEADLINE)
    return found


def main() -> None:
    quick = quick_run(__doc__, "numpy", "xgboost")
    sizes = {"rows": 500_000, "turns": 5, "calls": 400}
    if quick:
        sizes = {"rows": 20_000, "turns": 1, "calls": 50}
    for world in (1, 2, 4):
        found = on_workers(world, sizes)
        print(f"{world} worker{'s' * (world > 1)}, {sizes['rows']:,} x {FEATURES} in all")
        if world > 1:
            ms = {name: 1e3 * seconds for name, seconds in found["messages"].items()}
            print("  " + ", ".join(f"{name} {value:.3f} ms" for name, value in ms.items()))
            print(f"  guarded messages a second: {1e3 / ms['metric of a row']:,.0f}")
            goal = 0.5 if world == 2 else float("inf")
            report("  ms of a guarded message, by a metric of one row", ms["metric of a row"], goal)
        seconds = found["rounds"]
        print(f"  a round: squared error {1e3 * seconds['squared error']:.1f} ms, "
              f"QWK {1e3 * seconds['QWK']:.1f} ms")  # fmt: skip
        report("  a round of QWK over one of squared error", seconds["ratio"], 1.1)


if __name__ == "__main__":
    main()
