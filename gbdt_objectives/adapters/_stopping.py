"""When to stop: patience that is used up only once the metric has moved."""

from __future__ import annotations

import warnings

FEW_ROUNDS = 3
"""A best round among the first few more often means a stop on a plateau than a finished model."""


class Patience:
    """Counts rounds in which a metric does not improve.

    Rounded scores are all in one class at first, and a metric of classes does not move until
    some cross a threshold: the rounds before its first move use up no patience. ``min_delta`` is
    how much better than the best a value must be to count.
    """

    def __init__(self, rounds: int, greater_is_better: bool, min_delta: float = 0.0) -> None:
        self.rounds = rounds
        self.greater_is_better = greater_is_better
        self.min_delta = min_delta
        self.seen = 0
        self.first = self.best = float("nan")
        self.best_round = self.last_still = 0

    def runs_out(self, value: float) -> bool:
        """Whether to stop after this round's value."""
        k, self.seen = self.seen, self.seen + 1
        if k == 0:
            self.first = self.best = value
        if value == self.first and self.last_still == max(k - 1, 0):
            self.last_still = k
        gain = value - self.best if self.greater_is_better else self.best - value
        if gain > self.min_delta:
            self.best, self.best_round = value, k
        return k - max(self.best_round, self.last_still) >= self.rounds


def warn_if_few(best_round: int, seen: int, name: str) -> None:
    """Warn if the best of many rounds, counted from 0, is among the first few."""
    if best_round < FEW_ROUNDS <= seen // 3:
        warnings.warn(
            f"early stopping keeps {best_round + 1} of {seen} rounds: {name} was best there. If "
            "the model is not finished, stop on a metric that changes in every round, such as "
            "loss_metric(objective), or lower the learning rate",
            UserWarning,
            stacklevel=2,
        )
