"""LightGBM on Dask: the model of one machine, or an error that says where and what to do.

A fit takes place on those of three workers that hold its rows. Every fit has a deadline.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives.adapters.lightgbm import train
from gbdt_objectives.objectives import LOGIT

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from gbdt_objectives.experimental.dask import lightgbm, still_training  # noqa: E402
from tests.cases import refused  # noqa: E402
from tests.distributed import faults  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dask")]

DEADLINE = 120
"""Seconds for anything that could hang."""

TIMEOUT = 3
"""Seconds that workers wait for each other in a fit that is to fail."""

ROUNDS = 12
PARAMETERS = {"num_leaves": 7, "min_data_in_bin": 1, "verbose": -1}
ESTIMATOR = {**PARAMETERS, "n_estimators": ROUNDS, "min_child_samples": 1}
SAME = 1e-12
"""Predictions differ by the order in which histograms are added up, in float64."""

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as client:
        client.wait_for_workers(3, timeout=DEADLINE)
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


def of_one_machine(rows: Rows, objective: go.Objective, rounds: int = ROUNDS) -> np.ndarray:
    X, y, w = rows
    parameters = {**PARAMETERS, "min_data_in_leaf": 1, "num_threads": 1}
    data = lgb.Dataset(X, y, weight=w)
    return train(parameters, data, rounds, objective=objective).predict(X)


within = partial(faults.within, seconds=DEADLINE)


def place(
    client: Any, cuts: list[int], *columns: np.ndarray, without: Collection[str] = ()
) -> list[Any]:
    """Dask arrays with the rows before the first cut on one worker, the next on the next ..."""
    workers = sorted(set(client.ncores()) - set(without))
    arrays = []
    for column in columns:
        parts = []
        for k, rows in enumerate(np.split(column, cuts)):
            [future] = client.scatter([rows], workers=[workers[k % len(workers)]], hash=False)
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
    client: Any,
    cuts: list[int],
    rows: Rows,
    objective: Any,
    *,
    timeout: int = 60,
    kind: Any = lgb.DaskLGBMRegressor,
    parameters: dict[str, Any] | None = None,
    without: Collection[str] = (),
    **of_fit: Any,
) -> Any:
    X, y, w = place(client, cuts, *rows, without=without)
    callbacks = of_fit.pop("callbacks", [])

    def run() -> Any:
        with lightgbm(client, objective, timeout=timeout) as fit:
            given = {**ESTIMATOR, "objective": fit.objective, **(parameters or {})}
            model = kind(client=client, **given)
            model.fit(X, y, sample_weight=w, callbacks=[*callbacks, *fit.callbacks], **of_fit)
            return fit.finished(model)

    return within(run)


def check_same(model: Any, X: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(model.to_local().predict(X), expected, rtol=0, atol=SAME)


TWO, THREE = [750], [400, 900]


@pytest.mark.parametrize("cuts", [TWO, THREE], ids=["two", "three"])
def test_workers_train_the_model_of_one_machine(
    client: Any, rows: Rows, one: np.ndarray, cuts: list[int]
) -> None:
    X, y, w = rows
    model = fit_on(client, cuts, rows, go.qwk_objective(), callbacks=[Machines()])
    assert machines(client) == len(cuts) + 1
    check_same(model, X, one)
    whole = go.qwk_objective(y, sample_weight=w)
    assert model.objective.mean == pytest.approx(whole.mean, rel=1e-12)
    assert model.objective.label_range == whole.label_range
    saved = lgb.Booster(model_str=model.booster_.model_to_string())
    np.testing.assert_allclose(saved.predict(X), one, rtol=0, atol=SAME)


class Save:
    """A callback of the user's own that saves the model on each worker."""

    before_iteration = False

    def __init__(self, folder: Path) -> None:
        self.folder, self.order = folder, 0

    def __call__(self, env: Any) -> None:
        worker = distributed.get_worker().address.rpartition(":")[2]
        env.model.save_model(self.folder / f"{env.iteration + 1}-{worker}.txt")


def test_a_callback_saves_a_complete_model_on_each_worker(
    client: Any, rows: Rows, tmp_path: Path
) -> None:
    model = fit_on(client, TWO, rows, go.qwk_objective(), callbacks=[Save(tmp_path)])
    for k in (1, 5, ROUNDS):
        first, second = (lgb.Booster(model_file=path) for path in tmp_path.glob(f"{k}-*.txt"))
        expected = model.booster_.predict(rows[0], num_iteration=k)
        np.testing.assert_array_equal(first.predict(rows[0]), expected)
        np.testing.assert_array_equal(second.predict(rows[0]), expected)
        np.testing.assert_allclose(
            expected, of_one_machine(rows, go.qwk_objective(), k), rtol=0, atol=SAME
        )


def local(sums: np.ndarray) -> np.ndarray:
    """No sum over workers."""
    return sums


def of_the_shard(y: Any, margin: Any, w: Any) -> tuple[np.ndarray, np.ndarray]:
    """What one would write without knowing that a worker has a part of the rows."""
    return go.qwk_objective(y, sample_weight=w).gradient_hessian(y, margin, w)


def test_sums_of_each_worker_alone_train_another_model(
    client: Any, rows: Rows, one: np.ndarray
) -> None:
    whole = go.qwk_objective(rows[1], sample_weight=rows[2], reduce=local)
    X, y, w, start = place(client, TWO, *rows, np.full(len(one), whole.mean))
    model = lgb.DaskLGBMRegressor(client=client, objective=whole, **ESTIMATOR)
    within(lambda: model.fit(X, y, sample_weight=w, init_score=start))
    assert abs(model.to_local().predict(rows[0]) + whole.mean - one).max() > 1e-3
    shard = lgb.DaskLGBMRegressor(client=client, objective=of_the_shard, **ESTIMATOR)
    with pytest.raises(ValueError, match=r"distributed LightGBM.*within lightgbm\(\)"):
        within(lambda: shard.fit(X, y, sample_weight=w, init_score=start))


@pytest.mark.parametrize(
    "objective",
    [
        go.objectives.kappa_objective("absolute"),
        go.offset_logloss_objective(0.5),
        go.ordinal_logit_objective(4),
    ],
    ids=["kappa", "offset_logloss", "ordinal_logit"],
)
def test_other_objectives(client: Any, rows: Rows, objective: go.Objective) -> None:
    X, y, w = rows
    columns = (X, (y > 1).astype(float) if objective.link == LOGIT else y, w)
    model = fit_on(client, TWO, columns, objective)
    check_same(model, X, of_one_machine(columns, objective))


def test_a_part_without_rows_and_a_worker_alone(client: Any, rows: Rows, one: np.ndarray) -> None:
    for cuts, world in (([700, 1000, 1500], 3), ([], 1)):
        model = fit_on(client, cuts, rows, go.qwk_objective(), callbacks=[Machines()])
        assert machines(client) == world
        check_same(model, rows[0], one)


def test_two_fits_in_one_context(client: Any, rows: Rows, one: np.ndarray) -> None:
    X, y, w = place(client, TWO, *rows)
    with lightgbm(client, go.qwk_objective()) as fit:
        for _ in range(2):
            model = lgb.DaskLGBMRegressor(client=client, objective=fit.objective, **ESTIMATOR)
            within(lambda m=model: m.fit(X, y, sample_weight=w, callbacks=fit.callbacks))
            check_same(fit.finished(model), rows[0], one)


class Stop:
    """A callback of the user's own that ends training after some rounds, on all workers."""

    before_iteration = False

    def __init__(self) -> None:
        self.order = 1

    def __call__(self, env: Any) -> None:
        if env.iteration == 3:
            raise lgb.callback.EarlyStopException(env.iteration, [])


def test_a_callback_that_ends_training(client: Any, rows: Rows, one: np.ndarray) -> None:
    model = fit_on(client, TWO, rows, go.qwk_objective(), callbacks=[Stop()])
    assert model.booster_.num_trees() == 4
    check_same(model, rows[0], of_one_machine(rows, go.qwk_objective(), rounds=4))
    check_same(fit_on(client, TWO, rows, go.qwk_objective()), rows[0], one)


def bad_label(rows: Rows) -> Rows:
    X, y, w = rows
    return X, np.where(np.arange(len(y)) == len(y) - 1, 9.0, y), w


def test_a_label_that_one_worker_has_is_refused_on_all(client: Any, rows: Rows) -> None:
    last = sorted(client.ncores())[1]
    with pytest.raises(ValueError, match=f"9.*(worker {last})"):
        fit_on(client, TWO, bad_label(rows), go.qwk_objective(label_range=(0, 3)))


@refused(
    ({"objective": go.qwk_objective()}, "pass objective=fit.objective"),
    ({"objective": "regression"}, "pass objective=fit.objective"),
    ({"class_weight": "balanced"}, "class_weight=.* is refused"),
    ({"scale_pos_weight": 5}, "scale_pos_weight"),
    ({"early_stopping_round": 5}, "early stopping"),
    ({"linear_tree": True}, "linear_tree.* = True is refused: .*leave it out"),
    ({"linear_trees": True}, "linear_trees.* = True is refused: .*leave it out"),
    ({"boosting_type": "dart"}, "boosting_type.* = 'dart' is refused: .*write 'gbdt'"),
)
def test_parameters_that_would_train_another_model(client, rows, parameters) -> None:
    fit_on(client, TWO, rows, go.qwk_objective(), parameters=parameters)


def test_arguments_of_fit_that_would_be_wrong(client: Any, rows: Rows, one: np.ndarray) -> None:
    X, y, start = place(client, TWO, *rows[:2], np.ones(len(one)))
    with pytest.raises(ValueError, match="measure and stop on the rows of each worker"):
        fit_on(client, TWO, rows, go.qwk_objective(), eval_set=[(X, y)])
    with pytest.raises(ValueError, match="init_score is given"):
        fit_on(client, TWO, rows, go.qwk_objective(), init_score=start)
    with pytest.raises(TypeError, match="for DaskLGBMRegressor, found LGBMClassifier"):
        fit_on(client, TWO, rows, go.qwk_objective(), kind=lgb.DaskLGBMClassifier)


def test_what_was_forgotten(client: Any, rows: Rows, one: np.ndarray) -> None:
    X, y, w = place(client, TWO, *rows)

    def fitted(objective: Any, **of_fit: Any) -> Any:
        model = lgb.DaskLGBMRegressor(client=client, objective=objective, **ESTIMATOR)
        return within(lambda: model.fit(X, y, sample_weight=w, **of_fit))

    with pytest.raises(ValueError, match="within lightgbm"):
        fitted(go.qwk_objective(rows[1]))
    with (
        pytest.raises(ValueError, match="pass callbacks=fit.callbacks"),
        lightgbm(client, go.qwk_objective()) as fit,
    ):
        fitted(fit.objective)
    with lightgbm(client, go.qwk_objective()) as fit:
        model = fitted(fit.objective, callbacks=fit.callbacks)
    check_same(model, rows[0], one)  # complete, before it has the objective that was measured
    check_same(fit.finished(model), rows[0], one)
    with pytest.raises(ValueError, match="finished already"):
        fit.finished(model)
    with pytest.raises(ValueError, match="is called without its callbacks"):
        lgb.LGBMRegressor(objective=fit.objective).fit(*rows[:2])
    with pytest.raises(ValueError, match="callbacks of lightgbm.* are for a DaskLGBMRegressor"):
        lgb.LGBMRegressor(objective=fit.objective).fit(*rows[:2], callbacks=fit.callbacks)


def costly(y: Any, margin: Any, w: Any, cost: Any) -> tuple[np.ndarray, np.ndarray]:
    return cost * (margin - y), cost


@refused(
    ({"client": None}, "client must be a distributed.Client", TypeError),
    ({"objective": "regression"}, "objective must be", TypeError),
    ({"objective": go.objective(costly, rows={"cost": [1.0, 2.0]})},
     "is for training rows in their order"),
    ({"objective": go.focal_objective(2, n_classes=4)}, "has 4 outputs"),
    ({"timeout": 0}, "timeout must be"),
)  # fmt: skip
def test_arguments(client, given) -> None:
    with lightgbm(**{"client": client, "objective": go.qwk_objective(), **given}):
        pass


def boom() -> None:
    raise KeyError("no such essay")


class Hang:
    """Until a file is there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self) -> None:
        for _ in range(DEADLINE * 10):
            if self.path.exists():
                return
            time.sleep(0.1)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def skip_a_sum() -> None:
    from gbdt_objectives._rows import workers as _workers

    send = _workers._send

    def skip(own: np.ndarray, *args: Any) -> np.ndarray:
        _workers._send = send
        return own

    _workers._send = skip


class Faulty:
    """Squared error with a fault on one worker in the third round."""

    __name__ = "Faulty"

    def __init__(self, fault: Callable[[], Any], on: str) -> None:
        self.fault, self.on, self.calls = fault, on, -5  # these look at weights and intercept

    def __call__(self, y: Any, margin: Any, w: Any) -> tuple[np.ndarray, np.ndarray]:
        self.calls += 1
        if self.calls == 3 and distributed.get_worker().address == self.on:
            self.fault()
        return w * (margin - y), w


def faulty(fault: Callable[[], Any], on: str) -> go.Objective:
    """With an intercept, as functions are called on constants to find one, where errors pass."""
    return go.objective(Faulty(fault, on), intercept=1.5)


class FaultyCallback:
    """A fault that only LightGBM and Dask see: a worker raises between two rounds. Its booster
    outlives the task."""

    before_iteration = False

    def __init__(self, on: str) -> None:
        self.on = on
        self.order = 1

    def __call__(self, env: Any) -> None:
        worker = distributed.get_worker()
        if env.iteration == 3 and worker.address == self.on:
            worker.kept = env.model
            raise KeyError("no such file")


def forget() -> None:
    """Delete the booster of an earlier task."""
    vars(distributed.get_worker()).pop("kept", None)
    gc.collect()


def test_a_fault_on_one_worker_is_an_error_and_the_next_fit_exact(
    client: Any, rows: Rows, one: np.ndarray, tmp_path: Path
) -> None:
    """In the end one worker hangs, and one is killed."""
    for fault, message in (
        (boom, "no such essay.*{}"),
        (skip_a_sum, "first error in the workers' logs|a worker hangs"),
        (float, "no such file|a worker hangs"),
    ):
        _, second, _ = sorted(client.ncores())
        with pytest.raises((KeyError, RuntimeError, ValueError), match=message.format(second)):
            fit_on(
                client, TWO, rows, faulty(fault, second), timeout=TIMEOUT,
                callbacks=[FaultyCallback(second)] if fault is float else [],
            )  # fmt: skip
        faults.recover(client, lambda: set(still_training(client)), 2 * TIMEOUT)
        if second in client.ncores():
            client.submit(forget, workers=[second], pure=False).result(DEADLINE)
            # on it alone LightGBM opens no network, and would take one that is open
            others = set(client.ncores()) - {second}
            check_same(fit_on(client, [], rows, go.qwk_objective(), without=others), rows[0], one)
        check_same(fit_on(client, TWO, rows, go.qwk_objective()), rows[0], one)

    _, second, third = sorted(client.ncores())
    woken, hung = tmp_path / "woken", {second}
    objective = faulty(Hang(woken), second)
    with pytest.raises(RuntimeError, match=f"a worker hangs: .*{second}.*restart it"):
        fit_on(client, TWO, rows, objective, timeout=TIMEOUT)
    faults.recover(client, lambda: set(still_training(client)) - hung, 2 * TIMEOUT)
    check_same(fit_on(client, TWO, rows, go.qwk_objective(), without=hung), rows[0], one)

    with pytest.raises(
        RuntimeError, match=f"left the cluster while it trained: {third}.*Fit again"
    ):
        fit_on(client, TWO, rows, faulty(die, third), timeout=TIMEOUT, without=hung)
    faults.recover(client, lambda: set(still_training(client)) - hung, 2 * TIMEOUT)
    woken.touch()
    check_same(fit_on(client, TWO, rows, go.qwk_objective()), rows[0], one)
