"""LightGBM on Dask: the model of one machine, or an error that says where and what to do.

One cluster of three processes serves all cases; a fit takes place on the workers that hold its
rows. Every fit has a deadline.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives.adapters.lightgbm import train

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from gbdt_objectives.distributed.dask import lightgbm  # noqa: E402

DEADLINE = 120
"""Seconds for anything that could hang."""

TIMEOUT = 6
"""Seconds that workers wait for each other in a fit that is to fail."""

ROUNDS = 12
PARAMETERS = {"num_leaves": 7, "min_data_in_bin": 1, "verbose": -1}
ESTIMATOR = {**PARAMETERS, "n_estimators": ROUNDS, "min_child_samples": 1}
SAME = 1e-12
"""Predictions differ by the order in which histograms are added up, in float64."""

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=None, memory_limit=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def rows() -> Rows:
    """Sorted by label, so that workers are as unlike as can be; of few distinct values, so that
    bins do not depend on where the rows are."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (1500, 4)).astype(float)
    y = np.digitize(X[:, :2].sum(1) + rng.normal(0, 2, 1500), [7, 11, 15]).astype(float)
    order = np.argsort(y, kind="stable")
    return X[order], y[order], rng.integers(1, 4, 1500).astype(float)


@pytest.fixture(scope="module")
def one(rows: Rows) -> np.ndarray:
    """The predictions of one machine."""
    return of_one_machine(rows, go.qwk_objective())


def of_one_machine(rows: Rows, objective: go.Objective) -> np.ndarray:
    X, y, w = rows
    parameters = {**PARAMETERS, "min_data_in_leaf": 1, "num_threads": 1}
    data = lgb.Dataset(X, y, weight=w)
    return train(parameters, data, ROUNDS, objective=objective).predict(X)


def within(call: Callable[[], Any], deadline: float = DEADLINE) -> Any:
    """What it returns or raises, if it does so in time."""
    found: dict[str, Any] = {}

    def run() -> None:
        try:
            found["returned"] = call()
        except BaseException as error:
            found["raised"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(deadline)
    assert not thread.is_alive(), f"not done within {deadline} s"
    if "raised" in found:
        raise found["raised"]
    return found["returned"]


def place(client: Any, cuts: list[int], *columns: np.ndarray) -> list[Any]:
    """Dask arrays with the rows between two cuts on one worker, the next on the next ..."""
    client.wait_for_workers(3, timeout=60)  # one may have been killed
    workers = sorted(client.ncores())
    arrays = []
    for column in columns:
        parts = []
        for k, rows in enumerate(np.split(column, cuts)):
            [future] = client.scatter([rows], workers=[workers[k % 3]], hash=False)
            parts.append(da.from_delayed(future, rows.shape, dtype=column.dtype))
        arrays.append(da.concatenate(parts))
    return arrays


class Machines:
    """A callback that logs how many workers train."""

    before_iteration = True

    def __init__(self) -> None:
        self.order = 0

    def __call__(self, env: Any) -> None:
        distributed.get_worker().log_event("machines", env.params["num_machines"])


def machines(client: Any) -> int:
    return client.get_events("machines")[-1][1]


def fit_on(
    client: Any, cuts: list[int], rows: Rows, objective: Any, *, timeout: int = 60, **of_fit: Any
) -> Any:
    X, y, w = place(client, cuts, *rows)
    callbacks = of_fit.pop("callbacks", [])

    def run() -> Any:
        with lightgbm(client, objective, timeout=timeout) as fit:
            model = lgb.DaskLGBMRegressor(client=client, objective=fit.objective, **ESTIMATOR)
            model.fit(X, y, sample_weight=w, callbacks=[*callbacks, *fit.callbacks], **of_fit)
            return fit.finished(model)

    return within(run)


def local(sums: np.ndarray) -> np.ndarray:
    return sums


TWO, THREE = [750], [400, 900]


@pytest.mark.parametrize("cuts", [TWO, THREE], ids=["two", "three"])
def test_workers_train_the_model_of_one_machine(
    client: Any, rows: Rows, one: np.ndarray, cuts: list[int]
) -> None:
    model = fit_on(client, cuts, rows, go.qwk_objective(), callbacks=[Machines()])
    assert machines(client) == len(cuts) + 1
    np.testing.assert_allclose(model.to_local().predict(rows[0]), one, rtol=0, atol=SAME)
    whole = go.qwk_objective(rows[1], sample_weight=rows[2])
    assert model.objective.center == pytest.approx(whole.center, rel=1e-12)
    assert model.objective.label_range == whole.label_range


def boom() -> None:
    raise KeyError("no such essay")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hang() -> None:
    time.sleep(3 * TIMEOUT)


def skip_a_sum() -> None:
    from gbdt_objectives import _workers

    send = _workers._send

    def skip(own: np.ndarray, *args: Any) -> np.ndarray:
        _workers._send = send
        return own

    _workers._send = skip


class Faulty:
    """Squared error with a fault on worker 1 in the third round."""

    __name__ = "Faulty"

    def __init__(self, fault: Callable[[], None]) -> None:
        self.fault, self.calls = fault, 0

    def __call__(self, y: Any, margin: Any, w: Any) -> tuple[np.ndarray, np.ndarray]:
        from xgboost import collective

        self.calls += 1
        if self.calls == 3 and collective.get_rank() == 1:
            self.fault()
        return margin - y, np.ones_like(margin)


@pytest.mark.parametrize("fault", [boom, die, hang, skip_a_sum])
def test_faults(client, rows, one, fault):
    s = time.time()
    try:
        fit_on(client, THREE, rows, go.objective(Faulty(fault)), timeout=TIMEOUT)
    except Exception as e:
        print("\n###", fault.__name__, time.time() - s, type(e), e)
    s = time.time()
    model = fit_on(client, THREE, rows, go.qwk_objective())
    print("### next", time.time() - s)
    np.testing.assert_allclose(model.to_local().predict(rows[0]), one, rtol=0, atol=SAME)
