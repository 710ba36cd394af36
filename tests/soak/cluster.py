"""Five hundred fits on one Dask cluster, of which a worker is killed at random every 20th fit."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import distributed

import gbdt_objectives as go
from gbdt_objectives.adapters.xgboost import train
from gbdt_objectives.distributed import dask as ours
from gbdt_objectives.distributed.dask._train import find_lost
from tests.distributed import faults, test_train as layouts
from tests.soak.common import Figure, Flat
from tests.workers import prepared

WORKERS = 3
PATIENCE = 2 * layouts.SHORT
"""Seconds in which workers that lost another one must come back, before they are restarted."""

OBJECTIVES = {
    "qwk": (go.qwk_objective(), go.extended_qwk_metric(), layouts.Y),
    "focal": (go.focal_objective(2), go.loss_metric(go.focal_objective(2)), layouts.RARE),
    "weighted logloss": layouts.OBJECTIVES["weighted logloss"],
    "fixed thresholds": (
        go.ordinal_logit_objective(4, thresholds="fixed"),
        go.loss_metric(go.ordinal_logit_objective(4, thresholds="fixed")),
        layouts.Y,
    ),
}
ROUNDS = 10


def run(quick: bool) -> Iterator[Figure]:
    fits, every = (5, 3) if quick else (500, 20)
    warnings.simplefilter("ignore", UserWarning)
    rng = random.Random(0)
    expected = {name: on_one_machine(name) for name in OBJECTIVES}
    prepared()
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        distributed.LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, memory_limit=None,
            silence_logs=60,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        killed = survived = explained = exact = restarts = 0
        worst = usual = 0.0
        flat = Flat("client and scheduler")
        for k in range(1, fits + 1):
            name = [*OBJECTIVES][k % len(OBJECTIVES)]
            restarts += whole_again(client)
            data = matrices(client, name)
            began = time.monotonic()
            if k % every:
                exact += same(fit(client, name, data), expected[name])
                usual = max(usual, time.monotonic() - began)
            else:
                killed += 1
                gone = kill_later(client, rng.randrange(WORKERS), rng.uniform(0, 0.3))
                try:
                    # all may have been done before
                    survived += same(fit(client, name, data), expected[name])
                except Exception as error:
                    explained += isinstance(error, RuntimeError) and "lost in" in str(error)
                    print(f"cluster: {type(error).__name__}: {str(error)[:100]}", flush=True)
                worst = max(worst, time.monotonic() - began)
                gone()
            del data
            if k > fits // 10 and (k + 1) % every == 0:
                flat.sample(k)
        restarts += whole_again(client)
        delays = [interrupted(client) for _ in range(1 if quick else 10)]
        exact_after = same(fit(client, "qwk", matrices(client, "qwk")), expected["qwk"])
        yield Figure("fits in all", fits)
        yield Figure("fits without a kill that are not the model of one machine",
                     fits - killed - exact, "", 0)  # fmt: skip
        yield Figure("workers killed during a fit", killed)
        yield Figure("fits that ended with the right model all the same", survived)
        yield Figure("fits whose error named the worker that was lost", explained)
        yield Figure("killed fits that ended in neither way", killed - survived - explained, "", 0)
        yield Figure(
            "times that a worker still waited for the lost one, and was restarted", restarts
        )
        yield Figure("longest fit without a kill", usual, "s", faults.DEADLINE)
        yield Figure("longest until a killed fit ended", worst, "s", faults.DEADLINE)
        yield Figure(f"Ctrl-C at the client, {len(delays)} times: longest until it arrived",
                     max(delays), "s", 5)  # fmt: skip
        yield Figure("next fits that are not the model of one machine", not exact_after, "", 0)
        if not quick:
            yield from (limited(figure, killed) for figure in flat.figures())


LEFT = {"threads": 2, "files": 3}
"""What XGBoost leaves on the scheduler of a lost worker, for which its tracker waits for ever."""


def limited(figure: Figure, killed: int) -> Figure:
    """No promise of memory and objects: Dask's scheduler, in this process, keeps a history of all
    that it has run. Threads and files of a lost worker are XGBoost's."""
    kind = figure.what.rpartition(" ")[2]
    return replace(figure, most=LEFT[kind] * killed if kind in LEFT else None)


def on_one_machine(name: str) -> list[str]:
    objective, metric, y = OBJECTIVES[name]
    held_out = layouts.alone(y, rows=layouts.HELD_OUT)
    booster = train(
        layouts.PARAMETERS, layouts.alone(y), ROUNDS, objective=objective, metric=metric,
        evals=[(held_out, "v")], early_stopping_rounds=5,
    )  # fmt: skip
    return described(booster)


def matrices(client: Any, name: str) -> tuple[Any, Any]:
    y, layout = OBJECTIVES[name][2], layouts.LAYOUTS["three workers, empty partitions"]
    return layouts.matrix(client, layout[0], y), layouts.matrix(client, layout[1], y)


def fit(client: Any, name: str, data: tuple[Any, Any]) -> Any:
    """The model of the workers; within a deadline, as what hangs fails."""
    objective, metric, _ = OBJECTIVES[name]
    return faults.within(
        lambda: ours.train(
            client, layouts.PARAMETERS, data[0], ROUNDS, objective=objective, metric=metric,
            evals=[(data[1], "v")], early_stopping_rounds=5, timeout=layouts.SHORT,
        )
    )  # fmt: skip


def described(booster: Any) -> list[str]:
    """The text of all trees, with 6 digits or more of each number, and where boosting starts. The
    features have few values, so bins do not depend on who has which rows, and gradients are those
    of float64 sums rounded to float32: texts are the same, as in tests/distributed."""
    return [
        *booster.get_dump(with_stats=True),
        layouts.base_score(booster),
        str(booster.best_iteration),
    ]


def same(booster: Any, expected: list[str]) -> bool:
    return described(booster) == expected


def kill_later(client: Any, worker: int, seconds: float) -> Callable[[], None]:
    """Kill it after some time; what this returns waits until the scheduler knows."""
    address = sorted(client.nthreads())[worker]
    pid = client.run(os.getpid, workers=[address])[address]
    killer = threading.Timer(seconds, os.kill, (pid, signal.SIGKILL))
    killer.start()

    def gone() -> None:
        killer.join()
        until = time.monotonic() + faults.DEADLINE
        while address in client.nthreads():
            assert time.monotonic() < until, "a killed worker is still there"
            time.sleep(0.05)

    return gone


def interrupted(client: Any) -> float:
    """Seconds from Ctrl-C in a fit until it arrived; the workers must stop, too."""
    with tempfile.TemporaryDirectory() as folder:
        flag = Path(folder, "training")
        slow = go.objective(faults.SlowLoss(str(flag)), intercept=1.0)
        data, _ = matrices(client, "qwk")
        sent: list[float] = []

        def interrupt() -> None:
            while not flag.exists():
                time.sleep(0.01)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        signal.signal(signal.SIGINT, signal.default_int_handler)
        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            ours.train(client, layouts.PARAMETERS, data, 10**6, objective=slow)
        except KeyboardInterrupt:
            delay = time.monotonic() - sent[0]
        thread.join()
        whole_again(client)
        return delay


def whole_again(client: Any) -> bool:
    """Wait until all workers are there and none trains; whether one had to be restarted."""
    all_there(client)

    def training() -> set[str]:
        return find_lost(client, set(client.nthreads()), 0.01)[1]

    before = set(client.nthreads())
    faults.recover(client, training, PATIENCE)
    all_there(client)  # one may have been restarted
    return before != set(client.nthreads())


def all_there(client: Any) -> None:
    """Wait for all workers. Dask's nanny sometimes starts two processes for one that was killed,
    and then gives up: then all are started anew."""
    try:
        client.wait_for_workers(WORKERS, timeout=30)
    except TimeoutError:
        print("cluster: Dask did not start a killed worker again", flush=True)
        client.cluster.scale(0)
        client.cluster.scale(WORKERS)
        client.wait_for_workers(WORKERS, timeout=faults.DEADLINE)
