"""Early stopping on one metric of one data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lightgbm as lgb

from gbdt_objectives import _checks
from gbdt_objectives.adapters._train import warn_if_few
from gbdt_objectives.metrics import Metric


class StopEarly:
    """A callback that stops on ``metric`` of the last set evaluated.

    LightGBM's own stops on any metric of any set. And rounded scores are all in one class at
    first: a metric of classes does not move until some cross a threshold. The rounds before its
    first move use up no patience. ``min_delta`` is how much better than the best a value must be.
    """

    before_iteration = False
    data = None

    def __init__(self, metric: Metric, rounds: int, min_delta: float = 0.0) -> None:
        self.metric, self.rounds, self.min_delta = metric, rounds, min_delta
        self.order = 30  # after what records and prints; LightGBM ignores one of the class

    def __call__(self, env: Any) -> None:
        k, value = env.iteration - env.begin_iteration, self._value(env.evaluation_result_list)
        if k == 0:
            self.first = self.best = value
            self.best_round = self.last_still = 0
        if value == self.first and self.last_still == max(k - 1, 0):
            self.last_still = k
        gain = value - self.best if self.metric.greater_is_better else self.best - value
        if gain > self.min_delta:
            self.best, self.best_round = value, k
        if self.best_round == k:
            self.results = env.evaluation_result_list
        stops = k - max(self.best_round, self.last_still) >= self.rounds
        if stops or env.iteration == env.end_iteration - 1:
            warn_if_few(self.best_round, k + 1, self.metric.name)
            best = env.begin_iteration + self.best_round
            raise lgb.callback.EarlyStopException(best, self.results)

    def _value(self, results: list[Any]) -> float:
        """The metric's value: a result is (data, metric, value, ...), which cv of old versions
        gives as ("cv_agg", "data metric", value, ...)."""
        for result in reversed(results):
            if " ".join(result[:2]).rpartition(" ")[2] == self.metric.name:
                return float(result[2])
        raise ValueError(
            f"early stopping on {self.metric.name} finds no set on which it is evaluated"
        )


def direct_callbacks(callbacks: Sequence[Any] | None, metric: Metric) -> list[Any]:
    """The user's callbacks, with ours on ``metric`` in place of LightGBM's early stopping, which
    is off at 0 rounds or fewer."""
    return [
        StopEarly(metric, callback.stopping_rounds, _min_delta(callback.min_delta))
        if type(callback).__name__ == "_EarlyStoppingCallback" and callback.stopping_rounds > 0
        else callback
        for callback in callbacks or ()
    ]


def _min_delta(given: Any) -> float:
    """One number: LightGBM also takes a list of one for each metric."""
    one = given[0] if isinstance(given, list) and len(given) == 1 else given or 0
    if isinstance(one, list):
        raise ValueError(
            f"callbacks holds an early_stopping with min_delta={given}, but stops on one metric "
            "only: write one number"
        )
    delta = _checks.number("min_delta of early_stopping", one)
    if delta < 0:
        raise ValueError(f"min_delta of early_stopping must not be negative, found {delta:g}")
    return delta


def any_stops_early(callbacks: Sequence[Any]) -> bool:
    return any(isinstance(callback, StopEarly) for callback in callbacks)
