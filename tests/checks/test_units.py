"""What is fitted to margins is warned of on probabilities, and the other way round, everywhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from scipy.special import expit

import gbdt_objectives as go
from gbdt_objectives.calibration import (
    LogitCalibrator,
    ROCConvexHullCalibrator,
    VennAbersCalibrator,
)
from gbdt_objectives.serving import ServedModel
from gbdt_objectives.thresholds import Thresholds, ThresholdStatistics
from tests.cases import each
from tests.contract import LOG_ODDS

_ROWS = np.random.default_rng(0)
Z = _ROWS.normal(-1, 1.5, 400)
Y = (_ROWS.random(400) < expit(Z)).astype(int)
P = expit(Z)

ANY_UNIT: dict[str, Callable[[Any], Any]] = {
    "thresholds": lambda score: go.optimize_thresholds(Y, score, metric="f1"),
    "rounded": lambda score: go.optimize_thresholds(Y, score, metric="f1").round(2),
    "statistics": lambda score: ThresholdStatistics.of(Y, score).thresholds(metric="f1"),
    "classifier": lambda score: go.ThresholdClassifier(metric="f1").fit(score, Y),
    "metric": lambda score: go.metrics.threshold_metric(
        "f1", (0, 1), thresholds=go.optimize_thresholds(Y, score, metric="f1")
    ),
    "hull": lambda score: ROCConvexHullCalibrator().fit(score, Y),
    "Venn-Abers": lambda score: VennAbersCalibrator().fit(score, Y),
}
OF_MARGINS: dict[str, Callable[[Any], Any]] = {
    kind.__name__: lambda score, kind=kind: kind(input_space="margin").fit(score, Y)
    for kind in LOG_ODDS
}


def use(fitted: Any, score: np.ndarray) -> Any:
    if isinstance(fitted, go.Metric):
        return fitted(np.resize([0, 1], len(score)), score)
    return fitted.apply(score) if isinstance(fitted, Thresholds) else fitted.predict(score)


@each("saved", [False, True])
@each("door", [*ANY_UNIT, *OF_MARGINS])
def test_scores_are_of_the_unit_of_the_fit(door: str, saved: bool) -> None:
    for own, other in ((Z, P), (P, Z)) if door in ANY_UNIT else ((Z, P),):
        fitted = (ANY_UNIT | OF_MARGINS)[door](own)
        if saved and door != "metric":
            fitted = type(fitted).from_json(fitted.to_json())
        with pytest.warns(UserWarning, match=r"of scores from .*are these margins and those prob"):
            use(fitted, other)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            use(fitted, own[:20])
            use(fitted, own[own > 0.5])  # which may be probabilities in part


def test_scores_in_label_units_are_of_no_unit() -> None:
    """A few of the lowest grade, and regressions of 0 and 1 that go a little beyond them."""
    fitted = go.optimize_thresholds([0, 1, 2, 3] * 30, np.linspace(-0.2, 3.3, 120))
    assert fitted.score_range is None
    regression = go.optimize_thresholds(Y, P - 0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.apply(np.linspace(0.1, 0.9, 30))
        regression.apply(np.linspace(0.1, 1.1, 30))


@pytest.fixture(scope="module")
def booster() -> Any:
    data = lgb.Dataset(Z[:, None], Y)
    return lgb.train({"objective": "binary", "verbose": -1, "num_threads": 1}, data, 5)


def test_a_served_probability_meets_thresholds_and_calibrators_of_probabilities(booster) -> None:
    p, z = (booster.predict(Z[:, None], raw_score=raw) for raw in (False, True))
    margins = go.optimize_thresholds(Y, z, metric="f1")
    for given in (
        {"thresholds": margins},
        {"thresholds": Thresholds.from_json(margins.to_json())},
        {"thresholds": Thresholds([-0.3], [0, 1])},
        {"thresholds": margins, "calibrator": LogitCalibrator().fit(p, Y)},
        {"calibrator": ROCConvexHullCalibrator().fit(z, Y)},
    ):
        with pytest.raises(ValueError, match="must be of probabilities, as the model predicts"):
            ServedModel(booster, **given)
    ServedModel(booster, thresholds=go.optimize_thresholds(Y, p, metric="f1"))
    ServedModel(booster, thresholds=Thresholds([-np.inf], [0, 1]))
    ServedModel(booster, calibrator=LogitCalibrator(input_space="margin").fit(z, Y))
