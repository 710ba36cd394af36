"""A stranger's questions, each answered by ``help``, ``dir`` or one error message."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

import gbdt_objectives as go
from gbdt_objectives import calibration, estimators, evaluation, objectives, plotting

Y = np.array([0, 1, 0, 1, 1, 0])
P = np.array([0.1, 0.8, 0.3, 0.6, 0.9, 0.2])

# --- an argument of another library -----------------------------------------------------------

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


@pytest.mark.parametrize(
    ("thing", "argument", "remedy"), ARGUMENTS, ids=lambda a: getattr(a, "__name__", None)
)
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


@pytest.mark.parametrize(
    "estimator",
    [
        go.QWKClassifier(Ridge(), objective=None, method="plugin"),
        go.CalibratedClassifier(LogisticRegression(), estimators.LogitCalibrator()),
        go.DownsampledClassifier(LogisticRegression(), 0.5, n_bags=2),
        go.ThresholdClassifier("exact"),
    ],
)
def test_scikit_learn_still_reads_the_parameters(estimator: Any) -> None:
    parameters = estimator.get_params(deep=False)
    assert set(parameters) == set(inspect.signature(type(estimator)).parameters)
    assert repr(clone(estimator)) == repr(estimator)


def test_a_warning_points_at_the_users_line() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        go.quadratic_weighted_kappa([1, 1], [1, 1])
        go.qwk_metric()([1, 1], [1, 1])
        go.optimize_thresholds([0, 1, 0, 1], [0.5] * 4)
        go.cross_validate_thresholds([0, 1, 0, 1] * 5, [0.5] * 20)
    files = {str(warning.message)[:12]: warning.filename for warning in told}
    assert files == {"y_true and y": __file__, "every row ge": __file__}
