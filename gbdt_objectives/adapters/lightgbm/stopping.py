"""Early stopping on one metric of one data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lightgbm as lgb

from gbdt_objectives import _checks
from gbdt_objectives.adapters._stopping import Patience, warn_if_few
from gbdt_objectives.metrics import Metric


class StopEarly:
    """A callback that stops on ``metric`` of the last set evaluated.

    LightGBM's own stops on any metric of any set, and counts rounds in which a metric of
    classes has not moved yet.
    """

    before_iteration = False
    data = None

    def __init__(self, metric: Metric, rounds: int, min_delta: float = 0.0) -> None:
        self.metric, self.rounds, self.min_delta = metric, rounds, min_delta
        self.order = 30  # after what records and prints; LightGBM ignores one of the class

    def __call__(self, env: Any) -> None:
        if env.iteration == env.begin_iteration:
            self.patience = Patience(self.rounds, self.metric.greater_is_better, self.min_delta)
        stops = self.patience.runs_out(self._value(env.evaluation_result_list))
        best = self.patience.best_round
        if best == self.patience.seen - 1:
            self.best = env.evaluation_result_list
        if stops or env.iteration == env.end_iteration - 1:
            warn_if_few(best, self.patience.seen, self.metric.name)
            raise lgb.callback.EarlyStopException(env.begin_iteration + best, self.best)

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
