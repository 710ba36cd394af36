"""What can go wrong on one worker of several, in functions that travel to it; with deadlines."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb
from xgboost import collective

import gbdt_objectives as go
from gbdt_objectives.objectives.qwk import QWKLoss

DEADLINE = 240.0
"""Seconds in which anything here must be done, also where other tests have the processors."""

SLEEP = 25.0
"""Seconds for which a worker hangs: more than any timeout here."""


def within(function: Callable[[], Any], seconds: float = DEADLINE) -> Any:
    """What it returns or raises; an error if it does not come back."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append((function(), None))
        except BaseException as error:
            found.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not found:
        raise AssertionError(f"nothing after {seconds:g} s")
    value, error = found[0]
    if error is not None:
        raise error
    return value


def recover(client: Any, training: Callable[[], set[str]], patience: float) -> None:
    """Restart workers that still train some time after a fit has failed, as our messages say.

    Where another worker has gone, XGBoost's collective (3.2) sometimes waits for ever: its thread
    ends with the error of a send, and nobody answers for the receive that is submitted after it.
    """
    until = time.monotonic() + patience
    while hung := training():
        if time.monotonic() > until:
            restart(client, hung)
            return
        time.sleep(0.1)


def restart(client: Any, addresses: set[str]) -> None:
    """What restart_workers does with workers that hang, but for a race within Dask's nanny, which
    sometimes starts two processes for the one that it killed, and then gives up."""
    number = len(client.scheduler_info(n_workers=-1)["workers"])
    for pid in client.run(os.getpid, workers=sorted(addresses)).values():
        os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + DEADLINE
    while addresses & set(client.scheduler_info(n_workers=-1)["workers"]):
        assert time.monotonic() < until
        time.sleep(0.05)
    client.wait_for_workers(number, timeout=DEADLINE)


def squared_error(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    w = np.ones_like(margin) if sample_weight is None else sample_weight
    return w * (margin - y_true), w


@dataclass
class FaultyLoss:
    """Squared error, but in a call worker 1 is killed, raises or hangs."""

    kind: str
    at: int = 3
    calls: int = 0
    __name__ = "faulty"

    def __call__(self, y_true: Any, margin: Any, sample_weight: Any) -> Any:
        self.calls += 1
        if collective.get_rank() == 1 and self.calls >= self.at:
            if self.kind == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            elif self.kind == "raises":
                raise ZeroDivisionError("the loss of this worker is undefined")
            else:
                time.sleep(SLEEP)
        return squared_error(y_true, margin, sample_weight)


@dataclass
class SlowLoss:
    """Squared error that tells when it was called first."""

    flag: str

    def __call__(self, y_true: Any, margin: Any, sample_weight: Any) -> Any:
        Path(self.flag).touch()
        time.sleep(0.05)
        return squared_error(y_true, margin, sample_weight)


class RaisingCallback(xgb.callback.TrainingCallback):
    """Raises on worker 1, where no message carries the error to the others."""

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if collective.get_rank() == 1 and epoch == 2:
            raise KeyError("callback of a user")
        return False


class KilledCallback(xgb.callback.TrainingCallback):
    """Kills worker 1 before the first round."""

    def before_training(self, model: Any) -> Any:
        if collective.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return model


@dataclass(frozen=True, kw_only=True)
class SkippingLoss(QWKLoss):
    """Worker 1 goes on with the sums of its own rows."""

    def writer(self, rows: Any, *others: Any) -> Any:
        if collective.get_rank() == 1:
            rows = replace(rows, reduce=lambda own: own)
        return super().writer(rows, *others)


def naive(margin: Any, data: Any) -> Any:
    """Kappa of the worker's own rows, as anyone would write it first."""
    y, w = data.get_label(), data.get_weight()
    own = go.qwk_objective(label_range=(0, 3), mean=1.5, variance=1.2, reduce=np.asarray)
    return own.gradient_hessian(y, margin, w)


def squared_error_by_row(y_true: Any, margin: Any, sample_weight: Any, cost: Any) -> Any:
    return cost * (margin - y_true), cost
