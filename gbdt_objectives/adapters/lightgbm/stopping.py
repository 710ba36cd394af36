"""Early stopping on one metric of one data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lightgbm as lgb

from gbdt_objectives.adapters._stopping import Patience, warn_if_few
from gbdt_objectives.metrics import Metric


class StopEarly:
    """A callback that stops on ``metric``, on ``data_name`` or the last set evaluated.

    LightGBM's own stops on any metric of any set, and counts rounds in which a metric of
    classes has not moved yet.
    """

    before_iteration = False

    def __init__(self, metric: Metric, rounds: int, data_name: str | None = None) -> None:
        self.metric, self.rounds, self.data_name = metric, rounds, data_name
        self.order = 30  # after what records and prints; LightGBM ignores one of the class

    def __call__(self, env: Any) -> None:
        if env.iteration == env.begin_iteration:
            self.patience = Patience(self.rounds, self.metric.greater_is_better)
        stops = self.patience.runs_out(self._value(env.evaluation_result_list))
        best = self.patience.best_round
        if best == self.patience.seen - 1:
            self.best = env.evaluation_result_list
        if stops or env.iteration == env.end_iteration - 1:
            warn_if_few(best, self.patience.seen, self.metric.name)
            raise lgb.callback.EarlyStopException(env.begin_iteration + best, self.best)

    def _value(self, results: list[Any]) -> float:
        """A result is (data, metric, value, ...), in cv of old ("cv_agg", "data metric", ...)."""
        for result in reversed(results):
            data, _, name = " ".join(result[:2]).removeprefix("cv_agg ").rpartition(" ")
            if name == self.metric.name and self.data_name in (None, data):
                return float(result[2])
        raise ValueError(
            f"early stopping on {self.metric.name} finds no set on which it is evaluated"
        )


def direct_callbacks(
    callbacks: Sequence[Any] | None, metric: Metric, data_name: str | None = None
) -> list[Any]:
    """The user's callbacks, with ours on ``metric`` in place of LightGBM's early stopping."""
    directed = []
    for callback in callbacks or ():
        if type(callback).__name__ != "_EarlyStoppingCallback":
            directed.append(callback)
            continue
        if callback.min_delta:
            raise ValueError(
                "callbacks holds an early_stopping with min_delta, but early stopping here counts "
                "any improvement: leave min_delta out"
            )
        directed.append(StopEarly(metric, callback.stopping_rounds, data_name))
    return directed


def any_stops_early(callbacks: Sequence[Any]) -> bool:
    """Whether one of them stops early."""
    return any(isinstance(callback, StopEarly) for callback in callbacks)
