"""Ratios measured in one run: the things compared take turns, so that they share the noise."""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any


def in_turns(
    functions: Mapping[str, Callable[[], Any]],
    turns: int,
    calls: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Seconds a call of each function: the median over turns of the fastest call of a turn.

    A turn is five calls, as training makes them one after the other: the first one finds the
    heap as the other functions left it, and what it pays for that is no cost of its own. One
    call is enough where that is nothing beside the rest. ``time.process_time`` as clock leaves out
    what other processes take, which is right for work on one thread only.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(turns):
        for name, function in functions.items():
            found = []
            for _ in range(calls):
                start = clock()
                function()
                found.append(clock() - start)
            seconds[name].append(min(found))
    return {name: statistics.median(turn) for name, turn in seconds.items()}


def peak_bytes(function: Callable[[], Any]) -> int:
    """Most memory that a call holds beyond what was held before, its result included."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        result = function()
        peak = tracemalloc.get_traced_memory()[1]
        del result
    finally:
        tracemalloc.stop()
    return peak - before


def report(what: str, found: float, limit: float | None = None, *, at_least: bool = False) -> None:
    """One line: a ratio, beside its goal where there is one."""
    if limit is None:
        print(f"{what:<78} {found:7.2f}", flush=True)
        return
    met = found >= limit if at_least else found <= limit
    goal = f"{'at least' if at_least else 'at most'} {limit:g}"
    print(f"{what:<78} {found:7.2f}  {goal:<14} {'met' if met else 'MISSED'}", flush=True)


def quick_run(description: str | None, *libraries: str) -> bool:
    """The command line of a benchmark, with the option --quick, and the first line printed."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows; the goals do not apply")
    quick: bool = parser.parse_args().quick
    versions = ", ".join(f"{name} {version(name)}" for name in libraries)
    print(versions + (", quick: the goals are for the full size" if quick else ""))
    return quick
