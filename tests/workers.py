"""Long-lived worker processes for tests: each runs the same function at the same time.

A case is a function of (rank, world) at the top of a test module. Every worker of a case joins
XGBoost's collective, with a timeout, runs it, and leaves; what it returns or raises comes back. The
processes stay for the next case, so that ten cases take seconds; if one dies or hangs, the pool is
killed.
"""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import forkserver
from typing import Any

from xgboost.tracker import RabitTracker

START = 300
"""Seconds in which a process must have imported everything; the machine may be busy."""

DEADLINE = 60
"""Seconds in which a case must be done, whatever happens."""

TIMEOUT = 30
"""Seconds after which XGBoost's collective gives a silent worker up."""

IMPORTED = [
    "tests.last_bits",  # before the package
    "distributed",
    "lightgbm",
    "sklearn.model_selection",
    "xgboost.dask",
    "gbdt_objectives.adapters.lightgbm",
    "gbdt_objectives.adapters.xgboost",
    "gbdt_objectives.distributed.dask",
    "tests.distributed.faults",
]
"""What a process of a pool or cluster has from its start, as far as it is installed; not jax, which
must not be forked."""


def prepared() -> Any:
    """A context that copies a process with all that is :data:`IMPORTED`; elsewhere, one that
    imports it in each of them."""
    if "forkserver" not in mp.get_all_start_methods():
        return mp.get_context("spawn")
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    forkserver.ensure_running()  # before Dask, which would name other modules
    return context


@dataclass
class Failed:
    """What a worker raised."""

    kind: str
    text: str
    trace: str


def _serve(connection: Any, rank: int) -> None:
    from xgboost import collective

    while True:
        case, arguments, world = connection.recv()
        connection.send("ready")  # all that is slow is imported
        address = connection.recv()
        try:
            with collective.CommunicatorContext(dmlc_task_id=str(rank), **address):
                result = case(rank, world, *arguments)
        except BaseException as error:
            result = Failed(type(error).__name__, str(error), traceback.format_exc())
        connection.send(result)


class Workers:
    """``world`` processes; ``run`` a case on all of them."""

    def __init__(self, world: int) -> None:
        self.world = world
        self._start()

    def _start(self) -> None:
        context = prepared()
        self._pairs = [context.Pipe() for _ in range(self.world)]
        self._processes = [
            context.Process(target=_serve, args=(there, rank), daemon=True)
            for rank, (_, there) in enumerate(self._pairs)
        ]
        for process in self._processes:
            process.start()

    def run(
        self,
        case: Callable[..., Any],
        *arguments: Any,
        deadline: float = DEADLINE,
        timeout: int = TIMEOUT,
    ) -> list[Any]:
        """What each worker returned, or how it :class:`Failed`."""
        for here, _ in self._pairs:
            here.send((case, arguments, self.world))
        ready = [self._receive(rank, START) for rank in range(self.world)]
        assert ready == ["ready"] * self.world, ready
        tracker = RabitTracker(host_ip="127.0.0.1", n_workers=self.world, timeout=DEADLINE)
        tracker.start()
        for here, _ in self._pairs:
            here.send({**tracker.worker_args(), "dmlc_timeout": timeout, "dmlc_retry": 1})
        results = [self._receive(rank, deadline) for rank in range(self.world)]
        if any(isinstance(result, Failed) for result in results):
            for end in (lambda: tracker.wait_for(timeout=timeout), tracker.free):
                with contextlib.suppress(Exception):
                    end()
            if any(not process.is_alive() for process in self._processes):
                self.close()
                self._start()
        else:
            tracker.wait_for(timeout=DEADLINE)
        return results

    def _receive(self, rank: int, deadline: float) -> Any:
        here, _ = self._pairs[rank]
        process = self._processes[rank]
        waited = 0.0
        while waited < deadline:
            if here.poll(0.05):
                try:
                    return here.recv()
                except EOFError:
                    break
            if not process.is_alive() and not here.poll(0.0):
                return Failed("Died", f"worker {rank} is gone: {process.exitcode}", "")
            waited += 0.05
        process.kill()
        process.join()
        return Failed("Deadline", f"worker {rank} did not come back within {deadline} s", "")

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.join()
