"""Experimental: LightGBM on Dask, with the sums of each round over the rows of all workers.

XGBoost's collective, which adds them up, joins LightGBM's workers. LightGBM calls callbacks and
objective in the thread that trains, so the first callback joins the collective and the last one
leaves it; both libraries keep their connections by thread.
"""

from __future__ import annotations

import gbdt_objectives.distributed.dask  # noqa: F401  (which says how to install it)

# isort: split
import re
import threading
import time
import weakref
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlparse
from uuid import uuid4

import numpy as np
from distributed import Queue, get_client, get_worker
from distributed.worker import thread_state
from numpy.typing import ArrayLike

from gbdt_objectives import _checks, _registry
from gbdt_objectives._checks import Array, Stack
from gbdt_objectives._public import attributes, public
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._train import StartedObjective
from gbdt_objectives.objectives import Objective

__all__ = ["lightgbm"]

FAREWELL = 2  # seconds after the first error in which other workers should have come back, too

WAIT = 60  # seconds after which a tracker is freed that has not seen all workers leave

LOST = ("RuntimeError", "LightGBMError", "KilledWorker", "CancelledError", "FutureCancelledError")
"""Errors at the client whose cause may be elsewhere."""

NETWORK = (
    "machines", "num_machines", "local_listen_port", "time_out", "tree_learner", "top_k",
)  # fmt: skip
"""Parameters that only distributed LightGBM reads."""

REFUSED: dict[str, tuple[tuple[object, ...], str]] = {
    "linear_tree": (
        (False,),
        "on several workers LightGBM's linear trees are others than on one machine, whatever the "
        "objective; leave it out, or train on one machine",
    ),
    "boosting": (
        ("gbdt", "gbrt", "goss"),
        "the model of dart under an objective in Python is not reproducible, so it cannot be that "
        "of one machine; write 'gbdt', or train with XGBoost, train() of "
        "gbdt_objectives.distributed.dask",
    ),
}
"""Parameters that train another model than on one machine: values that do not, and why."""


@public
@contextmanager
def lightgbm(client: Any, objective: Objective, *, timeout: int = 60) -> Iterator[LightGBMFit]:
    """Train ``lightgbm.DaskLGBMRegressor`` on the rows of all workers; experimental.

    Within this context the objectives of all workers add up their sums in every round. Predictions
    are those of :func:`gbdt_objectives.adapters.lightgbm.train` on one machine with the same bins:
    the probability of label 1 if the objective's margin is the log-odds.

    Bagging, ``data_sample_strategy="goss"``, ``extra_trees`` and ``use_quantized_grad`` draw or
    round on each worker by itself, so that the model is not that of one machine
    (``docs/distributed.md``). ``linear_tree`` and dart are refused.

    Parameters
    ----------
    client : distributed.Client
    objective : Objective
        It is measured on the labels of all workers. It must have one output, and must not hold a
        value of each row.
    timeout : int
        Seconds that a worker waits for the others in a round, in the first also for them to bin
        their rows, before it raises. In its own code LightGBM waits ``time_out`` minutes.

    Returns
    -------
    context manager of a LightGBMFit
        With ``objective`` for the estimator, ``callbacks`` for its ``fit``, and
        ``finished(model)``, which gives the model the objective measured on all labels.

    Raises
    ------
    TypeError, ValueError
        On leaving, whatever was found wrong on a worker, with its address: labels, parameters that
        LightGBM would ignore, evaluation sets, another estimator.
    RuntimeError
        On leaving, if a worker was lost or hangs, with its address. The next fit starts afresh.

    Examples
    --------
    >>> from lightgbm import DaskLGBMRegressor
    >>> from gbdt_objectives import qwk_objective
    >>> from gbdt_objectives.experimental.dask import lightgbm
    >>> def train_on_all(client, X, y, w):
    ...     with lightgbm(client, qwk_objective()) as fit:
    ...         model = DaskLGBMRegressor(client=client, objective=fit.objective)
    ...         model.fit(X, y, sample_weight=w, callbacks=fit.callbacks)
    ...         return fit.finished(model)
    """
    for library in [*_registry.BY_NAME][::-1]:
        _registry.check_installed(library)
    from gbdt_objectives.distributed.dask._train import check_client, check_not_by_row

    check_client(client, "lightgbm(client, objective)")
    _arguments.check_is_objective(objective)
    check_not_by_row(objective)
    if objective.outputs > 1:
        raise ValueError(
            f"objective={objective!r} has {objective.outputs} outputs, but a DaskLGBMRegressor "
            "trains one: train with XGBoost, train() of gbdt_objectives.distributed.dask"
        )
    fit = LightGBMFit(objective, _checks.whole_number("timeout", timeout, 1))
    posted = Queue(fit.objective.token, client=client)  # there as long as the context
    before = set(client.ncores())
    try:
        yield fit
    except (Exception, CancelledError) as error:
        fault = find_fault(client, before, error)
        if fault is None:
            raise
        raise RuntimeError(fault) from error
    finally:
        posted.close()


class LightGBMFit:
    """What :func:`lightgbm` gives.

    Attributes
    ----------
    objective : callable
        For ``DaskLGBMRegressor(objective=...)``.
    callbacks : list of callables
        For ``fit(..., callbacks=...)``, besides your own.
    """

    def __init__(self, objective: Objective, timeout: int) -> None:
        self.objective = FitObjective(objective, f"gbdt_objectives-{uuid4().hex}")
        self.callbacks: list[Callable[[Any], None]] = [Join(self.objective, timeout), leave]

    def finished(self, model: Any) -> Any:
        """The model, a DaskLGBMRegressor fitted with this ``objective`` and these ``callbacks``.

        It is changed: its ``objective`` is the one measured on all labels. Its ``booster_`` has
        the intercept, as ``adapters`` leave it, since ``fit``.
        """
        own = getattr(model, "objective", None)
        if not isinstance(own, FitObjective) or own.token != self.objective.token:
            raise ValueError(
                "model was not fitted with objective=fit.objective of this lightgbm(), or it is "
                f"finished already: its objective is {_checks.shown(own)}"
            )
        model.booster_  # noqa: B018  # raises if it is not fitted
        model.set_params(objective=own.measured)
        model._objective = own.measured
        return model


class FitObjective:
    """The objective of one fit. Each worker has a copy. One comes back with the returned model: it
    has what was ``measured`` on all labels."""

    def __init__(self, objective: Objective, token: str) -> None:
        self.objective, self.token = objective, token
        self.measured = objective

    def __repr__(self) -> str:
        return f"lightgbm(client, {self.objective!r}).objective"

    def __call__(
        self, y_true: Any, margin: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        seat = _here.seat
        if seat is None or seat.token != self.token:
            Stack.here().free_network()
            raise ValueError(
                "fit.objective of lightgbm() is called without its callbacks, which join the "
                "workers: pass callbacks=fit.callbacks to fit() of a DaskLGBMRegressor"
            )
        with seat.leave_on_error():
            computed = seat.started(y_true, margin, sample_weight)
        self.measured = seat.started.objective
        return computed

    def __deepcopy__(self, memo: dict[int, Any]) -> FitObjective:
        """Itself. LightGBM copies its parameters before it opens its network: what this thread has
        left open of a training that failed would be taken for it."""
        seat = _here.seat
        if seat is not None and seat.task != _task():
            seat.leave(failed=True)
        return self


class Seat:
    """The place of a thread among the workers of a fit."""

    def __init__(self, fit_objective: FitObjective, rank: int, tracker: Any) -> None:
        self.token = fit_objective.token
        objective, training = fit_objective.objective, _checks.Training()
        self.started = StartedObjective(objective, 0.0, training, shifts=True)
        self.rank, self.tracker, self.task = rank, tracker, _task()
        self.workers: Sequence[str] = ()  # the address of each

    @contextmanager
    def leave_on_error(self) -> Iterator[None]:
        """Let the other workers know of an error at once, and the next fit start afresh."""
        try:
            yield
        except Exception as error:
            self.leave(failed=True)
            raise self.name_workers(error) from error

    def leave(self, *, failed: bool) -> None:
        """Leave the collective. ``failed`` says that LightGBM still has its network, in which
        other workers may wait."""
        from lightgbm.basic import _LIB  # type: ignore[attr-defined]
        from xgboost import collective

        if _here.seat is self:
            _here.seat = None
        if failed:
            _LIB.LGBM_NetworkFree()
        with suppress(Exception):
            collective.finalize()
        if self.tracker is not None:
            waits = threading.Thread(target=_wait_for, args=(self.tracker,), daemon=True)
            waits.start()  # after an error it may take long
            if not failed:
                waits.join()

    def name_workers(self, error: Exception) -> Exception:
        """The error with addresses in place of ranks, or else with the address of this worker."""

        def address(rank: re.Match[str]) -> str:
            return f"worker {self.workers[int(rank[1])]}"

        known = type(error) in (ValueError, TypeError, RuntimeError, _workers.WorkersDisagree)
        text = str(error) if known else f"{type(error).__name__}: {error}"
        if self.workers:
            text, places = re.subn(r"\bworker (\d+)\b", address, text)
            text += "" if places else f" (worker {self.workers[self.rank]})"
        return (type(error) if known else RuntimeError)(text)


class _AtWorker(threading.local):
    seat: Seat | None = None


_here = _AtWorker()


class Join:
    """The callback before the first round: meet the other workers."""

    before_iteration = True

    def __init__(self, objective: FitObjective, timeout: int) -> None:
        self.objective, self.timeout = objective, timeout
        self.order = -(10**6)  # before what the user has

    def __call__(self, env: Any) -> None:
        from gbdt_objectives.adapters.lightgbm._train import completing

        if env.iteration > env.begin_iteration:
            return
        if "machines" not in env.params:
            raise ValueError(
                "the callbacks of lightgbm() are for a DaskLGBMRegressor: on one machine import "
                "LGBMRegressor from gbdt_objectives.adapters.lightgbm, which takes the objective"
            )
        if _here.seat is not None:  # of an earlier training, if this one is of another objective
            _here.seat.leave(failed=False)
        try:
            seat = self.meet(env)
        except Exception as error:
            env.model.free_network()
            raise RuntimeError(
                f"the workers did not meet within {self.timeout} s: the first error in their logs "
                "says why; if they are only slow to bin their rows, pass a longer timeout to "
                f"lightgbm() ({type(error).__name__}: {error})"
            ) from error
        _here.seat = seat
        env.model._network = False  # which it would free when deleted, perhaps that of the next fit
        weakref.finalize(env.model, _leave_lost, weakref.ref(seat)).atexit = False
        with seat.leave_on_error(), _workers.together(self.objective.objective):
            check(env, self.objective)
            seat.workers = _workers.gather_text(get_worker().address)
            _workers.settle()
        completing([seat.started])(env)

    def meet(self, env: Any) -> Seat:
        from xgboost import collective
        from xgboost.tracker import RabitTracker

        host = urlparse(get_worker().address).hostname
        machines = env.params["machines"].split(",")
        rank = machines.index(f"{host}:{env.params['local_listen_port']}")
        posted, tracker = Queue(self.objective.token, client=get_client()), None
        if rank == 0:
            tracker = RabitTracker(
                n_workers=len(machines), host_ip=host, sortby="task", timeout=self.timeout
            )
            tracker.start()
            address = tracker.worker_args()
            for _ in machines[1:]:
                posted.put(address)
        else:
            address = posted.get(timeout=self.timeout)
        posted.close()
        own = f"{rank:08d}"  # ranks are those in machines
        collective.init(dmlc_task_id=own, dmlc_timeout=self.timeout, dmlc_retry=1, **address)
        return Seat(self.objective, rank, tracker)


def leave(env: Any) -> None:
    """The callback after the last round."""
    if env.iteration == env.end_iteration - 1 and _here.seat is not None:
        _here.seat.leave(failed=False)


leave.order = 10**6  # type: ignore[attr-defined]  # after what the user has


def _leave_lost(seat: weakref.ref[Seat]) -> None:
    """Leave if an error that we do not see has ended the training whose booster is gone now. In a
    later task the seat stays: the next fit leaves it before LightGBM opens its network."""
    lost = seat()
    if lost is not None and lost is _here.seat and _task() in (lost.task, None):
        lost.leave(failed=True)


def _task() -> object:
    """What this thread does for Dask."""
    return getattr(thread_state, "key", None)


def _wait_for(tracker: Any) -> None:
    """Until all workers have left: a tracker that is freed before breaks the next fit."""
    with suppress(Exception):
        tracker.wait_for(timeout=WAIT)
    with suppress(Exception):
        tracker.free()


def check(env: Any, fit_objective: FitObjective) -> None:
    """Raise for what would train another model than on one machine, or be lost."""
    from gbdt_objectives.adapters.lightgbm import _train
    from gbdt_objectives.adapters.lightgbm.estimators import OWN

    estimator = find_estimator(fit_objective)
    parameters = estimator.get_params()
    stops = any(parameters.get(name) for name in _train.ALIASES["early_stopping_round"])
    if env.model.valid_sets or stops:
        raise ValueError(
            "evaluation sets and early stopping are refused in distributed LightGBM, which would "
            "measure and stop on the rows of each worker: leave them out, or train with XGBoost, "
            "train() of gbdt_objectives.distributed.dask"
        )
    if np.any(env.model.train_set.get_init_score()):
        raise ValueError(
            "init_score is given, but it would be missing from the predictions: leave it out, "
            "boosting starts at the objective's intercept, which the model contains"
        )
    if env.begin_iteration > 0:
        raise ValueError("init_model is refused in lightgbm(): train all rounds in one fit")
    if estimator.class_weight is not None:
        raise ValueError(
            f"class_weight={_checks.shown(estimator.class_weight)} is refused in lightgbm(): each "
            "worker would balance its own rows; pass sample_weight= to fit"
        )
    network = {name for main in NETWORK for name in _train.ALIASES.get(main, (main,))}
    given = {name: value for name, value in parameters.items() if name not in OWN | network}
    _train.check_parameters(given, fit_objective.objective, stops_early=False)
    _arguments.refuse_all(given, REFUSED, _train.TABLE.main)


def find_estimator(fit_objective: FitObjective) -> Any:
    """The estimator whose training called us; raises if it is not one with this objective."""
    import lightgbm as lgb

    frames = Stack.here().of_libraries()
    selves = (frame.f_locals.get("self") for _, frame in frames)
    estimator: Any = next((one for one in selves if isinstance(one, lgb.LGBMModel)), None)
    if not isinstance(estimator, lgb.LGBMRegressor):
        raise TypeError(
            f"lightgbm() is for DaskLGBMRegressor, found {type(estimator).__name__}: a classifier "
            "of LightGBM finds the classes of each worker's rows only, and a DaskLGBMRegressor "
            "predicts probabilities, too, if the margin is the log-odds"
        )
    if getattr(estimator.objective, "token", None) != fit_objective.token:
        raise ValueError(
            f"objective={_checks.shown(estimator.objective)} of DaskLGBMRegressor is not that of "
            "lightgbm(): pass objective=fit.objective"
        )
    return estimator


def find_fault(client: Any, before: set[str], error: BaseException) -> str | None:
    """What happened to a worker, if the error says only that others have lost it."""
    if type(error).__name__ not in LOST:
        return None
    found = f"{type(error).__name__}: {error}"
    deadline = time.monotonic() + FAREWELL
    while True:  # until all have noticed
        gone, busy = sorted(before - set(client.ncores())), still_training(client)
        if gone or not busy or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    if gone:
        return (
            "LightGBM on Dask failed, as a worker left the cluster while it trained: "
            f"{', '.join(gone)}. Its log says why: killed, out of memory or restarted. Fit again, "
            f"with more memory or smaller partitions if it is lost again ({found})"
        )
    if busy:
        return (
            f"LightGBM on Dask failed, as a worker hangs: {', '.join(busy)} still trains, and the "
            "others have given up. client.call_stack() shows where it is; restart it, "
            f"client.restart_workers({busy}), and fit again ({found})"
        )
    if type(error).__name__ == "LightGBMError" and "ocket" in found:
        return (
            "LightGBM on Dask failed, as a worker has lost the others: the first error in the "
            f"workers' logs says why; then fit again ({found})"
        )
    return None


def still_training(client: Any) -> list[str]:
    """The addresses of workers that have not come back from a fit of LightGBM."""
    keys = client.processing().items()
    return sorted(
        worker for worker, of in keys if any(str(key).startswith("_train_part") for key in of)
    )


__getattr__, __dir__ = attributes(__name__, __all__)
