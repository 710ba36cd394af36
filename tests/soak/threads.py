"""Fifty threads that train and predict at the same time, on objectives that they share."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb

import gbdt_objectives as go
from tests.soak.common import (
    ESTIMATOR,
    LIBRARIES,
    PARAMETERS,
    Figure,
    adapter,
    dataset,
    ordinal_rows,
    predict,
    train_one,
)

THREADS = 50
SWITCH = 1e-5  # seconds after which another thread has its turn: a thousandth of Python's own 5 ms
X, Y = ordinal_rows(300)


def run(quick: bool) -> Iterator[Figure]:
    waves = 1 if quick else 20
    warnings.simplefilter("ignore", UserWarning)
    sys.setswitchinterval(SWITCH)
    yield Figure("threads at the same time", THREADS)
    yield Figure("times that they start together, each case", waves)
    for name, work in cases().items():
        alone = [work(k) for k in range(THREADS)]
        wrong = 0
        for _ in range(waves):
            for found, expected in zip(together(work), alone, strict=True):
                # the same operations on one thread each: not even the last bit differs
                wrong += not np.array_equal(found, expected)
        yield Figure(
            f"{name}: results that are not those of one thread, of {waves * THREADS}", wrong, "", 0
        )


def together(work: Callable[[int], Any]) -> list[Any]:
    """What each thread returns; all begin at once."""
    begin, found = threading.Barrier(THREADS), [np.array(np.inf)] * THREADS

    def one(k: int) -> None:
        begin.wait()
        found[k] = work(k)

    running = [threading.Thread(target=one, args=(k,)) for k in range(THREADS)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return found


def cases() -> dict[str, Callable[[int], Any]]:
    """Functions of a thread's number, which gives it rows of its own where it trains on its own."""
    shared, logistic = go.qwk_objective(), go.ordinal_logit_objective(4)
    found: dict[str, Callable[[int], Any]] = {}
    for library in LIBRARIES:
        found[f"{library}, one objective"] = partial(train, library, shared)
        found[f"{library}, one objective that refits"] = partial(train, library, logistic)
        found[f"{library}, one bound objective"] = partial(of_bound, library, shared.bind(Y))
        found[f"{library}, one model predicts"] = partial(predict_with, fitted(library))
    found["lightgbm, one Dataset"] = partial(of_dataset, dataset("lightgbm", X, Y), shared)
    found["both libraries in turn"] = lambda k: train(LIBRARIES[k % 2], shared, k)
    found["QWKClassifier, one model predicts"] = partial(predict_with, classifier())
    return found


def train(library: str, objective: go.Objective, k: int) -> np.ndarray:
    return train_one(library, k, objective)


def of_bound(library: str, bound: Any, k: int) -> np.ndarray:
    """The library's own training on gradients of one bound objective; threads take different
    numbers of rounds, so that each is at other margins."""
    rounds, start = 5 + k % 10, float(Y.mean())
    parameters = PARAMETERS[library]
    if library == "xgboost":
        return predict(
            xgb.train(
                {**parameters, "base_score": start}, dataset(library, X, Y), rounds, obj=bound
            ),
            X,
        )
    data = lgb.Dataset(X, Y, init_score=np.full(len(Y), start), params=parameters)
    return predict(lgb.train({**parameters, "objective": bound}, data, rounds), X)


def of_dataset(data: lgb.Dataset, objective: go.Objective, k: int) -> np.ndarray:
    return predict(
        adapter("lightgbm").train(PARAMETERS["lightgbm"], data, 5 + k % 10, objective=objective), X
    )


def fitted(library: str) -> Any:
    return adapter(library).train(
        PARAMETERS[library], dataset(library, X, Y), 50, objective=go.qwk_objective()
    )


def classifier() -> Any:
    member = adapter("lightgbm").LGBMRegressor(n_estimators=10, **ESTIMATOR["lightgbm"])
    return go.QWKClassifier(member, cv=3, random_state=0).fit(X, Y.astype(int))


def predict_with(model: Any, k: int) -> np.ndarray:
    rows = ordinal_rows(100 + k, seed=k)[0]
    return np.concatenate([predict(model, rows) for _ in range(10)])
