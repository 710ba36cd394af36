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


def seconds_of(call: Callable[[], Any], calls: int) -> list[float]:
    """Of one call, the workers going on together from one to the next."""
    found = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return found


def metric_of_a_row() -> Callable[[], Any]:
    """What sends one guarded message, among workers, and takes little else."""
    row, margin = xgb.DMatrix([[0.0]], [1.0]), np.zeros(1, np.float32)
    metric = go.metrics.squared_error_metric().xgboost
    return lambda: metric(margin, row)


def messages(calls: int) -> dict[str, tuple[float, float]]:
    """Seconds, median and tenth percentile, of an all-reduce of 8 and of 32 numbers, and of a
    metric of one row, which sends one guarded message, in turns."""
    eight, many = np.zeros(8), np.zeros(32)
    functions = {
        "8 numbers": lambda: collective.allreduce(eight, collective.Op.SUM),
        "32 numbers": lambda: collective.allreduce(many, collective.Op.SUM),
        "metric of a row": metric_of_a_row(),
    }
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(5):
        for name, function in functions.items():
            seconds[name] += seconds_of(function, calls)
    return {
        name: (statistics.median(found), float(np.quantile(found, 0.1)))
        for name, found in seconds.items()
    }


def rounds(rank: int, world: int, rows: int, turns: int) -> dict[str, float]:
    """Seconds of a round of each training, in turns, and the ratio of their processor times, which
    other work on the machine does not change; data made and binned before."""
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
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in functions}
    for turn in range(turns + 1):  # the first one makes the bins
        for name, function in functions.items():
            start, processor = time.perf_counter(), time.process_time()
            function()
            if turn:
                both = time.perf_counter() - start, time.process_time() - processor
                seconds[name].append(both)
    medians = {name: np.median(found, axis=0) / one for name, found in seconds.items()}
    ratio, processor = medians["QWK"] / medians["squared error"]
    return {name: float(found[0]) for name, found in medians.items()} | {
        "ratio": float(ratio), "processor": float(processor)
    }  # fmt: skip


def work(
    rank: int, world: int, address: dict[str, Any], sizes: dict[str, int], answer: Any
) -> None:
    xgb.set_config(verbosity=0)
    alone = statistics.median(seconds_of(metric_of_a_row(), sizes["calls"]))
    with collective.CommunicatorContext(dmlc_task_id=str(rank), **address):
        found: dict[str, Any] = {"messages": messages(sizes["calls"])} if world > 1 else {}
        found["rounds"] = rounds(rank, world, sizes["rows"], sizes["turns"])
    if rank == 0:
        answer.put({**found, "alone": alone})


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
    sizes = {"rows": 1_000_000, "turns": 7, "calls": 400}
    if quick:
        sizes = {"rows": 20_000, "turns": 1, "calls": 50}
    for world in (1, 2, 4):
        found = on_workers(world, sizes)
        print(f"{world} worker{'s' * (world > 1)}, {sizes['rows']:,} x {FEATURES} in all")
        if world > 1:
            for name, (median, low) in found["messages"].items():
                print(f"  {name}: median {1e3 * median:.3f} ms, tenth percentile {1e3 * low:.3f}, "
                      f"{1 / median:,.0f} a second")  # fmt: skip
            message = found["messages"]["metric of a row"][0] - found["alone"]
            report("  ms of a guarded message: a metric of a row, less the same without workers",
                   1e3 * message, 0.5)  # fmt: skip
        seconds = found["rounds"]
        print(f"  a round: squared error {1e3 * seconds['squared error']:.1f} ms, "
              f"QWK {1e3 * seconds['QWK']:.1f} ms")  # fmt: skip
        report("  a round of QWK over one of squared error", seconds["ratio"], 1.1)
        report("  the same in processor time of a worker", seconds["processor"], 1.1)


if __name__ == "__main__":
    main()
