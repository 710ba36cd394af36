"""Thresholds and calibration of more rows than one machine should hold: time, memory, loss.

    python -m benchmarks.large_data [--quick]

50,000,000 float32 scores of six classes are added chunk by chunk in this process, as from files;
then as a Dask array on two processes of one thread, where each chunk is made where it is measured.
Time is beside that of making the rows, or of one sum over both columns; memory is the peak of a
worker, of which what it holds before any rows is listed apart.
"""

from __future__ import annotations

import os
import resource
import time
from typing import Any

import numpy as np

from benchmarks._timing import quick_run, report
from gbdt_objectives.thresholds import ThresholdStatistics

CHUNK = 500_000
CUTS = [-1.6, -0.7, 0.1, 0.8, 1.4]


def columns_of_chunk(number: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Six classes as int8, and a float32 score with correlation 0.7 to the latent one."""
    rng = np.random.default_rng(number)
    latent = rng.standard_normal(rows, np.float32)
    y = np.searchsorted(CUTS, latent).astype(np.int8)
    latent += rng.standard_normal(rows, np.float32)
    latent *= 0.6
    latent += 2.5
    return y, latent


def lazy_columns(chunks: int) -> tuple[Any, Any]:
    import dask
    import dask.array as da

    pairs = [dask.delayed(columns_of_chunk, nout=2)(k, CHUNK) for k in range(chunks)]
    arrays = [
        [da.from_delayed(pair[k], (CHUNK,), dtype) for pair in pairs]
        for k, dtype in enumerate((np.int8, np.float32))
    ]
    return da.concatenate(arrays[0]), da.concatenate(arrays[1])


def peak_mb() -> float:
    """Of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def on_workers(chunks: int) -> None:
    import dask
    from distributed import Client, LocalCluster

    y, score = lazy_columns(chunks)
    seconds: dict[str, float] = {}
    with (
        dask.config.set({"distributed.worker.memory.terminate": False}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        before = max(client.run(peak_mb).values())
        clocks = (time.perf_counter, lambda: sum(client.run(time.process_time).values()))
        start = [clock() for clock in clocks]
        dask.compute(y.sum(), score.sum())
        middle = [clock() for clock in clocks]
        summed = max(client.run(peak_mb).values())
        statistics = ThresholdStatistics.of(y, score, labels=range(6))
        end = [clock() for clock in clocks]
        for k, which in enumerate(("by the clock", "processor time of both workers")):
            seconds[f"one sum of each column, {which}"] = middle[k] - start[k]
            seconds[f"ThresholdStatistics.of, {which}"] = end[k] - middle[k]
        peak = max(client.run(peak_mb).values())
    placing = time.perf_counter()
    plugin, exact = statistics.thresholds(), statistics.thresholds(method="exact")
    bound = statistics.qwk_loss_bound()
    seconds["two kinds of thresholds, and the bound"] = time.perf_counter() - placing
    for what, found in seconds.items():
        report(f"{what}, seconds", found)
    report("peak of a worker before any rows, MB", before)
    report("the same after the sums, MB", summed)
    rows = chunks * CHUNK
    report(f"peak of a worker, MB, {rows:,} rows", peak, 200)
    ratio = (end[1] - middle[1]) / (middle[1] - start[1])
    report("ThresholdStatistics.of / one sum of each column, processor time", ratio, 10)
    report("most QWK that bins can have cost, e-5", bound * 1e5, 8)
    print(f"bins {len(statistics.score):,}; plug-in {plugin.round(4)}; exact {exact.round(4)}")


def in_chunks(chunks: int) -> None:
    """As from files, in this process, with a sum for comparison."""
    before = peak_mb()
    statistics = ThresholdStatistics.empty(range(6), max_bins=131_072)
    seconds = making = 0.0
    for k in range(chunks):
        start = time.process_time()
        y, score = columns_of_chunk(k, CHUNK)
        making += time.process_time() - start
        start = time.process_time()
        statistics = statistics.add(y, score)
        seconds += time.process_time() - start
    rows = chunks * CHUNK
    report("processor time of the sums in chunks, seconds", seconds)
    report(f"{rows:,} rows in chunks / making them", seconds / making, 10)
    report("peak beyond what was there before, MB", peak_mb() - before, 200)


def main() -> None:
    quick = quick_run(__doc__, "numpy", "dask", "distributed")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # which the workers inherit
    chunks = 4 if quick else 100
    in_chunks(chunks)
    on_workers(chunks)


if __name__ == "__main__":
    main()
