"""Children by fork, spawn and forkserver, and joblib's: each trains what this process trains."""

from __future__ import annotations

import multiprocessing as mp
import pickle
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from sklearn.model_selection import cross_val_score

import gbdt_objectives as go
from gbdt_objectives.evaluation import estimate_performance
from tests.soak.common import (
    ESTIMATOR,
    LIBRARIES,
    Figure,
    adapter,
    fit_one,
    ordinal_rows,
    train_one,
)

DEADLINE = 120.0
"""Seconds in which a child must be done; it imports both boosters first."""

OBJECTIVES = (go.qwk_objective(), go.ordinal_logit_objective(4))


def run(quick: bool) -> Iterator[Figure]:
    warnings.simplefilter(
        "ignore"
    )  # small models stop early; Python 3.12 warns of fork and threads
    times, forks = (1, 4) if quick else (10, 200)
    for method in ("fork", "spawn", "forkserver"):
        if method in mp.get_all_start_methods():
            yield Figure(f"{method}: children's models that differ, of {times * len(work())}",
                         sum(children(method) for _ in range(times)), "", 0)  # fmt: skip
    yield Figure(f"{forks} children forked while a thread trains, that hang or differ",
                 forked_in_training(forks), "", 0)  # fmt: skip
    for name, differs in joblib().items():
        yield Figure(f"joblib, n_jobs=2, {name}: values that are not those of one job",
                     differs, "", 0)  # fmt: skip


def work() -> list[tuple[Any, ...]]:
    by_train = [(train_one, lib, 3, objective) for lib in LIBRARIES for objective in OBJECTIVES]
    return [*by_train, *((fit_one, library, 3) for library in LIBRARIES)]


def children(method: str) -> int:
    """How many models of a child are not those of this process. Arguments and objectives travel
    pickled, by fork as well. The operations are the same, so that all bits are."""
    with ProcessPoolExecutor(2, mp_context=mp.get_context(method)) as pool:
        running = [pool.submit(*each) for each in work()]
        return sum(
            not np.array_equal(future.result(timeout=DEADLINE), function(*arguments))
            for future, (function, *arguments) in zip(running, work(), strict=True)
        )


def report(sends: Any, library: str) -> None:
    sends.send_bytes(pickle.dumps(train_one(library, 5)))


def forked_in_training(forks: int) -> int:
    """How many children hang or train another model, forked at whatever another thread is doing:
    it may hold any lock."""
    ends, expected = threading.Event(), {library: train_one(library, 5) for library in LIBRARIES}

    def train_on() -> None:
        k = 0
        while not ends.is_set():
            train_one(LIBRARIES[k % 2], k)
            k += 1

    thread = threading.Thread(target=train_on)
    thread.start()
    wrong, context, rng = 0, mp.get_context("fork"), np.random.default_rng(0)
    for k in range(forks):
        library = LIBRARIES[k % 2]
        time.sleep(rng.uniform(0, 0.02))
        receives, sends = context.Pipe(duplex=False)
        child = context.Process(target=report, args=(sends, library))
        child.start()
        if receives.poll(DEADLINE):
            wrong += not np.array_equal(pickle.loads(receives.recv_bytes()), expected[library])
        else:
            wrong += 1
            child.kill()
        child.join()
    ends.set()
    thread.join()
    return wrong


def joblib() -> dict[str, int]:
    """How many numbers differ between one job and two of joblib's processes (loky)."""
    X, y = ordinal_rows(300)
    xgb = adapter("xgboost").XGBRegressor(
        objective=go.qwk_objective(), n_estimators=8, **ESTIMATOR["xgboost"]
    )
    lgb = adapter("lightgbm").LGBMRegressor(
        objective=go.qwk_objective(), n_estimators=8, **ESTIMATOR["lightgbm"]
    )
    labels = y.astype(int)

    def classifier(n_jobs: int) -> np.ndarray:
        members = [("xgb", xgb), ("lgb", lgb)]
        model = go.QWKClassifier(members, cv=3, random_state=0, n_jobs=n_jobs).fit(X, labels)
        return model.predict_score(X)

    def performance(n_jobs: int) -> np.ndarray:
        estimator = go.QWKClassifier(xgb, cv=3, random_state=0)
        found = estimate_performance(estimator, X, labels, cv=3, n_repeats=2, n_jobs=n_jobs)
        return np.array([found.estimate, *found.interval])

    cases = {
        "cross_val_score of XGBRegressor": lambda n: cross_val_score(xgb, X, y, cv=3, n_jobs=n),
        "cross_val_score of LGBMRegressor": lambda n: cross_val_score(lgb, X, y, cv=3, n_jobs=n),
        "QWKClassifier": classifier,
        "estimate_performance": performance,
    }
    return {name: int(np.sum(case(1) != case(2))) for name, case in cases.items()}
