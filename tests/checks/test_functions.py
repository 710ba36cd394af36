"""Functions of the user's that take predictions first are refused, whoever would call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives.objectives import ratio_objective
from tests.cases import each

Y = [0, 1, 1, 0, 1]
SCORE = np.array([0.1, 0.9, 0.4, 0.3, 0.8])


def gradient(pred, true, w):
    return pred - true, np.ones_like(pred)


def metric(y_pred, y_true, w):
    return float(np.mean(np.asarray(y_pred) == y_true))


DOORS: dict[str, Callable[[], Any]] = {
    "objective": lambda: go.objective(gradient),
    "objective, of weights": lambda: go.objective(lambda preds, labels, weight: (preds, 1.0)),
    "objective, as XGBoost's": lambda: go.objective(lambda predt, dtrain, w: (predt, 1.0)),
    "objective, of margins": lambda: go.objective(lambda margin, y, w: (margin - y, 1.0)),
    "objective, loss": lambda: go.objective(lambda y, f, w: (f - y, 1.0), loss=metric),
    "objective_from_loss": lambda: go.objective_from_loss(lambda p, y, w: ((p - y) ** 2).sum()),
    "ratio_objective": lambda: ratio_objective(lambda p, y: (p, 1.0), lambda y, p: (p, 1.0)),
    "optimize_thresholds": lambda: go.optimize_thresholds(Y, SCORE, metric=metric),
    "QWKClassifier": lambda: go.ThresholdClassifier(metric=metric).fit(SCORE, Y),
    "estimate_performance": lambda: go.evaluation.estimate_performance(
        go.ThresholdClassifier(), SCORE, Y, metric=metric),
}  # fmt: skip


@each("door", list(DOORS))
def test_predictions_first_are_refused(door: str) -> None:
    with pytest.raises(TypeError, match="is called with .* it would .*; write the labels first"):
        DOORS[door]()


def test_labels_first_and_other_names_are_right() -> None:
    for right in (
        lambda y, f, w: (f - y, 1.0),
        lambda a, b, w: (b - a, 1.0),
        lambda t, p, w: (p - t, 1.0),
        lambda *rows: (rows[1] - rows[0], 1.0),
    ):
        found = go.objective(right)(np.zeros(3), np.ones(3))
        np.testing.assert_array_equal(found, np.ones((2, 3)))
