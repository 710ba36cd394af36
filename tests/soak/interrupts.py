"""Ctrl-C in every long call: it arrives, nothing stays behind, and the next call is right."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np

import gbdt_objectives as go
from gbdt_objectives import calibration, evaluation, serving
from gbdt_objectives._rows import workers as _workers
from tests.distributed.faults import within
from tests.soak.common import (
    ESTIMATOR,
    LIBRARIES,
    PARAMETERS,
    Figure,
    adapter,
    dataset,
    ordinal_rows,
    train_one,
)

SECONDS = 5.0
"""In which an interrupt arrives: sorts of ten million rows and the like cannot be broken off."""

LOST = 30.0
"""Seconds after which a second interrupt follows one that got lost."""

ENDLESS = 10**6  # rounds, repeats, resamples
LATEST = 1.5  # seconds after which an endless call is interrupted at the latest
ROOMS = ("xgboost", "lightgbm", "sklearn", "gbdt_objectives", "joblib", "numpy", "scipy")


def run(quick: bool) -> Iterator[Figure]:
    warnings.simplefilter("ignore", UserWarning)
    rng, moments = np.random.default_rng(0), 1 if quick else 10
    expected = {library: train_one(library) for library in LIBRARIES}
    arrived = lost = early = left = wrong = 0
    ignored: list[Any] = []
    sys.unraisablehook = ignored.append  # of destructors, whose exceptions Python ignores
    slowest, slowest_name = 0.0, ""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    for name, (call, endless) in cases(400_000 if quick else 10_000_000).items():
        began = time.monotonic()
        with own_folder():
            if not endless:
                call()
        duration = LATEST if endless else time.monotonic() - began
        worst = 0.0
        for _ in range(moments):
            with own_folder() as folder:
                before = state()
                delay, signals = interrupted(call, rng.uniform(0.02, 0.8) * duration)
                files = [str(path) for path in folder.iterdir() if not is_whole(path)]
                found = [*leftovers(before), *files]
            if found:
                print(f"interrupts: {name} left {found}", flush=True)
            left += bool(found)
            lost += signals > 1
            early += delay is None
            arrived += delay is not None
            worst = max(worst, delay or 0.0)
            for library in LIBRARIES:  # in another thread, which a lock left behind would stop
                again = within(partial(train_one, library), 60)
                wrong += not np.array_equal(again, expected[library])
        yield Figure(f"{name}: longest until Ctrl-C arrived", worst, "s", SECONDS)
        if worst > slowest:
            slowest, slowest_name = worst, name
    delays, others, right = on_workers(quick)
    yield Figure(
        "two workers interrupted at once: longest until both stopped", delays, "s", SECONDS
    )
    yield Figure(
        "one of two workers interrupted: until the other stopped", others, "s", WAITS + SECONDS
    )
    yield Figure("next models of two workers that are not those of one machine", right, "", 0)
    yield Figure(f"longest of all ({slowest_name})", slowest, "s")
    yield Figure("interrupts that arrived", arrived)
    yield Figure("calls that were done before", early)
    in_destructors = sum(found.exc_type is KeyboardInterrupt for found in ignored)
    yield Figure("interrupts that Python ignored in a booster's destructor", in_destructors)
    yield Figure("other interrupts that needed a second", lost - in_destructors, "", 0)
    yield Figure("interrupts that left something behind", left, "", 0)
    yield Figure("next trainings that differ from those before", wrong, "", 0)


def cases(n: int) -> dict[str, tuple[Callable[[], Any], bool]]:
    """Long calls, and whether they are endless; the others are measured once."""
    X, y = ordinal_rows(2000)
    labels, rare = y.astype(int), (y == 3).astype(int)
    rng = np.random.default_rng(1)
    score = rng.normal(size=n)
    many = np.digitize(score + rng.normal(size=n), [-1.0, 0.5, 1.5])
    margin = 2 * score - 3
    events = (rng.random(n) < 1 / (1 + np.exp(-margin))).astype(int)
    probability = 1 / (1 + np.exp(-margin))
    objective, metric = go.qwk_objective(), go.extended_qwk_metric()
    endless: dict[str, Callable[[], Any]] = {}
    for library in LIBRARIES:
        ours = adapter(library)
        kind = ours.XGBRegressor if library == "xgboost" else ours.LGBMRegressor
        # many small steps: they end no earlier than they are interrupted
        slow = {**PARAMETERS[library], "learning_rate": 1e-4}
        slow.pop("eta", None)
        regressor = kind(objective=objective, n_estimators=ENDLESS,
                         **{**ESTIMATOR[library], "learning_rate": 1e-4})  # fmt: skip
        endless |= {
            f"{library}, train": partial(train_long, library, slow, X, y, objective),
            f"{library}, cv": partial(cv_long, library, slow, X, y, objective, metric),
            f"{library}, estimator": partial(regressor.fit, X, y),
        }
    small = adapter("lightgbm").LGBMRegressor(n_estimators=20, **ESTIMATOR["lightgbm"])
    binary = lgb.LGBMClassifier(n_estimators=20, **ESTIMATOR["lightgbm"])
    long = lgb.LGBMClassifier(n_estimators=ENDLESS, **ESTIMATOR["lightgbm"])
    slowly = {**ESTIMATOR["lightgbm"], "learning_rate": 1e-4}  # its loss falls for long
    slow_small = adapter("lightgbm").LGBMRegressor(n_estimators=ENDLESS, **slowly)
    qwk = go.QWKClassifier(small, cv=3)
    endless |= {
        "QWKClassifier": partial(go.QWKClassifier(slow_small, cv=3).fit, X, labels),
        "DownsampledClassifier": partial(go.DownsampledClassifier(long, 0.5).fit, X, rare),
        "CalibratedClassifier": partial(go.CalibratedClassifier(long).fit, X, rare),
        "estimate_performance": partial(
            evaluation.estimate_performance, qwk, X, labels, cv=3, n_repeats=1000
        ),
        "compare_performance": partial(
            evaluation.compare_performance, qwk, binary, X, labels, cv=3, n_repeats=1000
        ),
        "cross_validate_thresholds": partial(
            go.cross_validate_thresholds, many[:20_000], score[:20_000], n_bootstrap=20_000,
            random_state=0,
        ),
    }  # fmt: skip
    fitted = binary.fit(X, rare)
    ending: dict[str, Callable[[], Any]] = {
        "optimize_thresholds": partial(go.optimize_thresholds, many, score),
        "choose_calibrator": partial(
            calibration.choose_calibrator, events[: n // 20], probability[: n // 20]
        ),
        "calibration_error_test": partial(
            calibration.calibration_error_test,
            events,
            probability,
            n_resamples=100_000,
            random_state=0,
        ),
        "calibration_ratio_by_segment": partial(
            calibration.calibration_ratio_by_segment, events, probability, "prediction"
        ),
        "serving.export": partial(export, fitted, X),
        "check_objective": partial(go.check_objective, objective, y),
    }
    for calibrator in (
        calibration.LogitCalibrator(), calibration.BetaCalibrator(), calibration.SplineCalibrator(),
        calibration.ROCConvexHullCalibrator(), calibration.VennAbersCalibrator(),
    ):  # fmt: skip
        name = type(calibrator).__name__
        ending[name] = partial(calibrator.fit, probability, events)
    both = np.column_stack([1 - probability, probability])
    ending["TemperatureCalibrator"] = partial(
        calibration.TemperatureCalibrator().fit, both[: n // 4], events[: n // 4]
    )
    return {
        **{name: (call, True) for name, call in endless.items()},
        **{name: (call, False) for name, call in ending.items()},
    }


def train_long(library: str, parameters: Any, X: Any, y: Any, objective: Any) -> None:
    adapter(library).train(parameters, dataset(library, X, y), ENDLESS, objective=objective)


def cv_long(library: str, parameters: Any, X: Any, y: Any, objective: Any, metric: Any) -> None:
    data, own = dataset(library, X, y), {"stratified": False} if library == "lightgbm" else {}
    adapter(library).cv(
        parameters, data, ENDLESS, objective=objective, metric=metric, nfold=3, **own
    )


def export(model: Any, X: Any) -> None:
    serving.export(model, Path(f"model-{time.monotonic_ns()}"), X)


def is_whole(path: Path) -> bool:
    """Whether it is a model that was exported, down to the hashes of its files."""
    try:
        serving.load(path)
    except (ValueError, OSError):
        return False
    return True


def interrupted(call: Callable[[], Any], after: float) -> tuple[float | None, int]:
    """Seconds from the last signal until KeyboardInterrupt arrived, None if the call was done; and
    how many signals."""
    sent: list[float] = []
    done = threading.Event()

    def send() -> None:
        wait = after
        while not done.wait(wait):
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
            wait = LOST

    sender = threading.Thread(target=send)
    delay = None
    try:
        sender.start()
        call()
        done.set()
        sender.join()  # a signal on the way arrives here
    except KeyboardInterrupt:
        if not done.is_set():
            delay = time.monotonic() - sent[-1]
    done.set()
    sender.join()
    return delay, len(sent)


@contextmanager
def own_folder() -> Iterator[Path]:
    """The current and the temporary folder, for what is left to be seen."""
    before, here = tempfile.tempdir, os.getcwd()
    with tempfile.TemporaryDirectory() as made:
        tempfile.tempdir = made
        os.chdir(made)
        try:
            yield Path(made)
        finally:
            tempfile.tempdir = before
            os.chdir(here)


def state() -> dict[str, Any]:
    """What an interrupted call could leave changed: settings, and functions of the libraries."""
    found: dict[str, Any] = {
        "warnings": list(warnings.filters), "numpy": np.geterr(), "path": list(sys.path),
        "signal": signal.getsignal(signal.SIGINT), "trace": sys.gettrace(),
        "call": _workers._here.call, "rows": _workers._here.some_rows,
        "threads": threading.active_count(),
    }  # fmt: skip
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in ROOMS:
            continue
        for key, value in list(vars(module).items()):
            if callable(value):
                found[f"{name}.{key}"] = value
            if isinstance(value, type) and value.__module__ == name:
                for method, function in list(vars(value).items()):
                    if callable(function):
                        found[f"{name}.{key}.{method}"] = function
    return found


def leftovers(before: dict[str, Any]) -> list[str]:
    """The names of what is not as it was."""
    after = state()
    return [
        name
        for name, value in before.items()
        if after.get(name) is not value and (callable(value) or after.get(name) != value)
    ]


# Workers of XGBoost's collective.

WAITS = 5
"""Seconds for which workers wait for one that is gone."""


def on_workers(quick: bool) -> tuple[float, float, int]:
    """Longest delay where both are interrupted, where the other one is, and wrong models after."""
    from tests.workers import Workers

    pool = Workers(2)
    together = alone = 0.0
    wrong = 0
    try:
        for k in range(1 if quick else 10):
            after = 0.3 + 0.1 * k
            both = pool.run(stopped, (0, 1), after, timeout=WAITS)
            together = max([together, *map(seconds, both)])
            wrong += right(pool)
            one = pool.run(stopped, (k % 2,), after, timeout=WAITS)
            alone = max([alone, *map(seconds, one)])
            wrong += right(pool)
    finally:
        pool.close()
    return together, alone, wrong


def seconds(result: Any) -> float:
    if not isinstance(result, float):
        print(f"interrupts: a worker {result}", flush=True)
        return float("inf")
    return result


def stopped(rank: int, world: int, interrupts: tuple[int, ...], after: float) -> float:
    """Seconds from the signal until the training of this worker stopped, in whatever way."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    X, y = ordinal_rows(400)
    data = dataset("xgboost", X[rank::world], y[rank::world])
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    try:
        if rank in interrupts:
            timer.start()
        adapter("xgboost").train(
            {**PARAMETERS["xgboost"], "eta": 1e-4}, data, ENDLESS, objective=go.qwk_objective()
        )
    except KeyboardInterrupt:
        return time.monotonic() - began - after
    except Exception:
        late = time.monotonic() - began - after
        if rank in interrupts:  # the other one was first
            with suppress(KeyboardInterrupt):
                timer.join()
                time.sleep(1)
        return late
    raise AssertionError("an endless training has ended")


def trained(rank: int, world: int) -> list[str]:
    X, y = grid()
    data = dataset("xgboost", X[rank::world], y[rank::world])
    return adapter("xgboost").train(
        PARAMETERS["xgboost"], data, 5, objective=go.qwk_objective()
    ).get_dump()  # fmt: skip


def grid() -> tuple[np.ndarray, np.ndarray]:
    """Features of few values, so that bins do not depend on who has which rows."""
    X, y = ordinal_rows(400)
    return np.round(10 * X), y


def right(pool: Any) -> int:
    """How many workers have another model than one machine."""
    return sum(found != trained(0, 1) for found in pool.run(trained))
