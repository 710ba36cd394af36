"""Folds that train in step, and stop together in the round of least mean loss.

Each fold is trained in a thread of its own. After each round it waits for the others, and its
booster is told the mean of all folds' metrics in place of its own: so all decide alike, and each
keeps the same number of rounds, as if it had been trained with that number.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context, get_config

from gbdt_objectives._checks import Array
from gbdt_objectives._links import Link
from gbdt_objectives.metrics import Metric

PATIENCE = 20
"""Rounds without a better mean after which folds stop: 10, 20 and 50 are level."""


class Folds:
    """Threads of folds, ``n_jobs`` of which run at a time while the others wait."""

    def __init__(self, weights: Array, n_jobs: int) -> None:
        self.weights = weights  # of the rows that each fold holds out
        self.running = threading.Semaphore(n_jobs)
        self.changed = threading.Condition()
        self.failed: BaseException | None = None

    def run(self, fit: Callable[..., Any], folds: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """What ``fit`` returns for each fold, in order; the first error ends all of them."""
        config = get_config()  # of this thread: others have scikit-learn's defaults

        def fit_one(fold: tuple[Any, ...]) -> Any:
            with self.running, config_context(**config):
                try:
                    return fit(*fold)
                except BaseException as error:
                    self.fail(error)
                    raise

        with ThreadPoolExecutor(len(folds)) as pool:
            fitted = [pool.submit(fit_one, fold) for fold in folds]
            try:
                for one in fitted:
                    yield one.result()
            except BaseException as error:  # also of who waits here, such as KeyboardInterrupt
                self.fail(error)
                raise self.failed or error from None

    def stops(self, members: Sequence[bool]) -> list[list[Stop | None]]:
        """Where each fold's models of these members stop; None for one that does not."""
        rounds = [Rounds(self) if stops else None for stops in members]
        return [
            [None if own is None else Stop(PATIENCE, own, k) for own in rounds]
            for k in range(len(self.weights))
        ]

    def fail(self, error: BaseException) -> None:
        with self.changed:
            self.failed = self.failed or error
            self.changed.notify_all()

    def wait_for(self, ready: Callable[[], bool]) -> None:
        """Let other folds run until it is ``ready``, which one of them brings about."""
        self.running.release()
        try:
            with self.changed:
                self.changed.wait_for(lambda: self.failed is not None or ready())
        finally:
            self.running.acquire()
        if self.failed is not None:
            raise CancelledError


class Rounds:
    """The values of one metric after each round, in all folds."""

    def __init__(self, folds: Folds) -> None:
        self.folds = folds
        self.values: list[list[float]] = [[] for _ in folds.weights]
        self.ended = [False for _ in folds.weights]

    def mean(self, fold: int, value: float) -> float:
        """The mean over folds in the round that has this value in one of them."""
        with self.folds.changed:
            self.values[fold].append(value)
            k = len(self.values[fold])
            if self.all_have(k):
                self.folds.changed.notify_all()
        self.folds.wait_for(lambda: self.all_have(k))
        known = [(own[:k][-1], w) for own, w in zip(self.values, self.folds.weights, strict=True)]
        values, weights = zip(*known, strict=True)
        return float(np.average(values, weights=weights))

    def all_have(self, k: int) -> bool:
        """Whether each fold has so many rounds, or has ended: then its last value stays."""
        pairs = zip(self.values, self.ended, strict=True)
        return all(len(own) >= k or ended for own, ended in pairs)

    def end(self, fold: int) -> None:
        """Let the others go on alone: a callback of the user's may stop a single fold."""
        with self.folds.changed:
            self.ended[fold] = True
            self.folds.changed.notify_all()


@dataclass(frozen=True, kw_only=True)
class InStep(Metric):
    """A metric of the rows that a fold holds out, whose value is the mean over all folds."""

    metric: Metric
    rounds: Rounds
    fold: int

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.metric.name

    @property
    def greater_is_better(self) -> bool:  # type: ignore[override]
        return self.metric.greater_is_better

    @property
    def link(self) -> Link | None:  # type: ignore[override]
        return self.metric.link

    def _of_everybody(self, y_true: Any, y_pred: Any, weights: Any) -> float:
        counts = self.rounds.folds.weights[self.fold] > 0
        value = self.metric._of_everybody(y_true, y_pred, weights) if counts else 0.0
        return self.rounds.mean(self.fold, value)


class Stop(NamedTuple):
    """A booster stops after ``patience`` rounds without gain on the rows held out."""

    patience: int
    rounds: Rounds | None = None  # of all folds, if these stop in step
    fold: int = 0

    def watched(self, metric: Metric) -> Metric:
        """What the booster stops on, where the metric is that of its fold."""
        if self.rounds is None:
            return metric
        space = metric.input_space
        return InStep(metric=metric, rounds=self.rounds, fold=self.fold, input_space=space)

    def end(self) -> None:
        """Say that the booster is trained."""
        if self.rounds is not None:
            self.rounds.end(self.fold)
