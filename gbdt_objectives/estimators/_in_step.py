"""Folds that train in step, and stop together in the round of least mean loss.

Each fold is trained in a thread of its own. After each round it waits for the others, and its
booster is told the mean of all folds' metrics in place of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context, get_config

from gbdt_objectives._checks import Stack
from gbdt_objectives._registry import Named
from gbdt_objectives.metrics import Metric

PATIENCE = 20  # number of rounds without a better mean after which folds stop


class Folds:
    """A thread for each fold, ``n_jobs`` of which run while the others wait for their turn."""

    def __init__(self, weights: Sequence[float], n_jobs: int) -> None:
        self.weights = weights  # of the rows that each fold holds out
        self.running = threading.Semaphore(n_jobs)
        self.changed = threading.Condition()  # of the values of all rounds, and of what failed
        self.failed: BaseException | None = None

    def run(self, fit: Callable[..., Any], folds: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """What ``fit`` returns for each fold, in order; the first error ends all of them."""
        config = get_config()  # of this thread: another would have scikit-learn's defaults

        def fit_one(k: int) -> Any:
            try:
                with self.running, config_context(**config):
                    self.check()
                    return fit(*folds[k])
            except BaseException as error:
                self.fail(error)
                raise

        with ThreadPoolExecutor(len(folds)) as pool:
            try:
                told = [copy_context() for _ in folds]  # by which a warning is told once
                for one in [pool.submit(own.run, fit_one, k) for k, own in enumerate(told)]:
                    yield one.result()
            except BaseException as error:  # also of who waits here, such as KeyboardInterrupt
                self.fail(error)
                raise self.failed or error from None

    def stops(self, members: Sequence[bool]) -> list[list[Stop | None]]:
        """The round in which each fold's models stop, in a list; None for one that does not."""
        of_member = [Rounds(self) if stops else None for stops in members]
        return [
            [None if rounds is None else Stop(PATIENCE, rounds, k) for rounds in of_member]
            for k in range(len(self.weights))
        ]

    def check(self) -> None:
        if self.failed is not None:
            raise CancelledError

    def fail(self, error: BaseException) -> None:
        """Wake all that wait, which then end."""
        with self.changed:
            self.failed = self.failed or error
            self.changed.notify_all()


class Rounds:
    """The values of one metric after each round, in all folds."""

    def __init__(self, folds: Folds) -> None:
        self.folds = folds
        self.values: list[list[float]] = [[] for _ in folds.weights]
        self.ended = [False for _ in folds.weights]

    def mean(self, fold: int, value: float) -> float:
        """The mean over folds in the round that has this value in one of them."""
        folds = self.folds
        folds.check()
        with folds.changed:
            self.values[fold].append(value)
            k = len(self.values[fold])
            folds.changed.notify_all()
        if not self.all_have(k):
            folds.running.release()  # another runs in its place
            with folds.changed:
                folds.changed.wait_for(lambda: folds.failed is not None or self.all_have(k))
            folds.running.acquire()
        folds.check()
        values = [own[min(k, len(own)) - 1] for own in self.values]
        return float(np.average(values, weights=folds.weights))

    def all_have(self, k: int) -> bool:
        """Whether each fold has so many rounds, or has ended: then its last value stays."""
        pairs = zip(self.values, self.ended, strict=True)
        return all(len(own) >= k or ended for own, ended in pairs)

    def end(self, fold: int) -> None:
        """Let the others go on alone, if a callback of the user's has stopped this one."""
        with self.folds.changed:
            self.ended[fold] = True
            self.folds.changed.notify_all()


@dataclass(frozen=True, kw_only=True)
class InStep(Metric):
    """A metric of the rows that a fold holds out, whose value is the mean over all folds."""

    metric: Metric
    rounds: Rounds
    fold: int

    name = property(attrgetter("metric.name"))  # that of a field
    greater_is_better = property(attrgetter("metric.greater_is_better"))
    link = property(attrgetter("metric.link"))

    def _ask_guards(self, form: Named, stack: Stack) -> None:
        if not self.rounds.values[self.fold]:  # what calls does not change while it trains
            super()._ask_guards(form, stack)

    def score(self, *rows: Any) -> float:
        """The value of any rows, which is no fold's: HistGradientBoosting measures its own, too."""
        return self.metric.score(*rows)

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
