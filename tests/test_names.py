"""Names from elsewhere, misspelt or in the wrong room lead to ours, and so do arguments."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

import gbdt_objectives as go
from gbdt_objectives import (
    calibration,
    evaluation,
    objectives,
    plotting,
)
from gbdt_objectives._names import ELSEWHERE, ROOMS, all_names
from tests.cases import each

ARGUMENTS: list[tuple[Any, str, str]] = [
    (go.QWKClassifier, "thresholds", "method="),
    (go.CalibratedClassifier, "method", r"LogitCalibrator\(\) for 'sigmoid'.* for 'isotonic'"),
    (go.CalibratedClassifier, "base_estimator", "estimator="),
    (go.DownsampledClassifier, "base_estimator", "estimator="),
    (go.DownsampledClassifier, "n_estimators", "n_bags="),
    (go.DownsampledClassifier, "sampling_strategy", "negative_keep_rate="),
    (go.ThresholdClassifier, "thresholds", "apply_thresholds"),
    (go.negative_downsample, "seed", "random_state="),
    (go.negative_downsample, "rate", "negative_keep_rate="),
    (go.negative_downsample, "ratio", "negative_keep_rate="),
    (go.negative_downsample, "sampling_strategy", "negative_keep_rate="),
    (go.optimize_thresholds, "n_classes", "labels="),
    (go.optimize_thresholds, "y_pred", "score="),
    (go.optimize_thresholds, "initial", "leave it out"),
    (go.optimize_thresholds, "initial_coef", "leave it out"),
    (go.thresholds.fit_segment_shift, "groups", "segments="),
    (go.thresholds.fit_segment_shift, "handle_unseen", "handle_unknown="),
    (go.quadratic_weighted_kappa, "weights", "squared; .* sample_weight="),
    (go.qwk_objective, "labels", "y_true=.*label_range="),
    (objectives.kappa_objective, "labels", "y_true=.*label_range="),
    (go.extended_qwk_metric, "labels", "y_true="),
    (go.focal_objective, "num_class", "n_classes="),
    (go.ordinal_logit_objective, "num_class", "n_classes="),
    (go.ordinal_logit_objective, "labels", "n_classes="),
    (calibration.expected_calibration_error, "bins", "n_bins="),
    (calibration.reliability_bins, "bins", "n_bins="),
    (evaluation.estimate_performance, "scoring", "metric="),
    (evaluation.compare_performance, "scoring", "metric="),
    (go.cross_validate_thresholds, "n_splits", "cv="),
    (go.cross_validate_thresholds, "folds", "cv="),
]


@each(("thing", "argument", "remedy"), ARGUMENTS, ids=lambda a: getattr(a, "__name__", None))
def test_what_is_this_argument_called(thing: Any, argument: str, remedy: str) -> None:
    assert argument not in inspect.signature(thing).parameters
    found = f"^{thing.__name__} has no argument '{argument}': .*{remedy}"
    with pytest.raises(TypeError, match=found):
        thing(**{argument: "quadratic"})


def test_from_estimator_is_from_predictions() -> None:
    for display in (
        plotting.ReliabilityDisplay,
        plotting.ROCHullDisplay,
        plotting.ThresholdDisplay,
    ):
        remedy = rf"y_true and model.predict_proba\(X\).* to {display.__name__}.from_predictions"
        with pytest.raises(AttributeError, match=remedy):
            display.from_estimator(LogisticRegression(), [[0], [1]], [0, 1])
        assert "from_estimator" not in dir(display)
        with pytest.raises(AttributeError, match=f"{display.__name__}' has no attribute 'other'"):
            display.other  # noqa: B018


@each(
    "estimator",
    [
        go.QWKClassifier(Ridge(), objective=None, method="plugin"),
        go.CalibratedClassifier(LogisticRegression(), calibration.LogitCalibrator()),
        go.DownsampledClassifier(LogisticRegression(), 0.5, n_bags=2),
        go.ThresholdClassifier("exact"),
    ],
)
def test_scikit_learn_still_reads_the_parameters(estimator: Any) -> None:
    parameters = estimator.get_params(deep=False)
    assert set(parameters) == set(inspect.signature(type(estimator)).parameters)
    assert repr(clone(estimator)) == repr(estimator)


@each("name", sorted(set(ROOMS) - {"distributed"}))
def test_the_root_says_where_a_name_is(name: str) -> None:
    for public in sorted(
        set(import_module(f"gbdt_objectives.{name}").__all__)
        - {*go.__all__, *ROOMS, "dask"}  # of which distributed has one, too
    ):
        found = f"it is gbdt_objectives.{name}.{public}$"
        with pytest.raises(AttributeError, match=found):
            getattr(go, public)
        with pytest.raises(ImportError, match=found):
            exec(f"from gbdt_objectives import {public}")


@each(("other", "ours"), ELSEWHERE.items())
def test_names_of_the_field_lead_to_ours(other: str, ours: str) -> None:
    assert other not in all_names()
    for module in ("gbdt_objectives", "gbdt_objectives.priors"):
        with pytest.raises(ImportError, match=rf"here that is {re.escape(all_names()[ours])}$"):
            exec(f"from {module} import {other}")


def test_a_misspelt_name_gets_the_nearest_and_nonsense_none() -> None:
    with pytest.raises(AttributeError, match="did you mean gbdt_objectives.optimize_thresholds"):
        go.optimize_treshold  # noqa: B018
    with pytest.raises(AttributeError, match="mean gbdt_objectives.metrics.squared_error_metric"):
        go.metrics.squared_eror_metric  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'zzz'$"):
        go.zzz  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute '__wrapped__'$"):
        go.__wrapped__  # noqa: B018
    assert not hasattr(go, "reliability_bins")
