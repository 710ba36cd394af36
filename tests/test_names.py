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
    (go.CalibratedClassifier, "method", r"LogitCalibrator\(\) for 'sigmoid'.* for 'isotonic'$"),
    (go.CalibratedClassifier, "classifier", "write estimator=$"),
    (go.DownsampledClassifier, "n_estimators", "write n_bags=$"),
    (go.ThresholdClassifier, "thresholds", "apply_thresholds"),
    (go.negative_downsample, "seed", "write random_state=$"),
    (go.negative_downsample, "sampling_rate", "write negative_keep_rate=$"),
    (go.optimize_thresholds, "initial_coef", "leave it out"),
    (go.quadratic_weighted_kappa, "weights", "'quadratic'; .* sample_weight="),
    (go.qwk_metric, "n_classes", r"write label_range=\(lowest, highest\)$"),
    (evaluation.estimate_performance, "scoring", "write metric=$"),
    (evaluation.estimate_performance, "alpha", "write confidence_level=1 - alpha$"),
    (go.cross_validate_thresholds, "n_splits", "write cv=$"),
]

MAYBE: list[tuple[Any, str, str]] = [
    (go.QWKClassifier, "thresholds", "method="),
    (go.DownsampledClassifier, "sampling_strategy", "negative_keep_rate="),
    (go.negative_downsample, "ratio", "negative_keep_rate="),
    (go.optimize_thresholds, "n_classes", "labels="),
    (go.optimize_thresholds, "y_pred", "score="),
    (go.thresholds.fit_segment_shift, "groups", "segments="),
    (go.thresholds.fit_segment_shift, "handle_unseen", "handle_unknown="),
    (go.qwk_objective, "labels", "y_true="),
    (objectives.kappa_objective, "weights", "cost="),
    (go.extended_qwk_metric, "labels", "y_true="),
    (go.focal_objective, "num_class", "n_classes="),
    (go.ordinal_logit_objective, "labels", "n_classes="),
    (calibration.expected_calibration_error, "bins", "n_bins="),
]
"""Words of several meanings, or that are spelt nearly as ours."""


@each(("thing", "argument", "remedy"), ARGUMENTS, ids=lambda a: getattr(a, "__name__", None))
def test_what_is_this_argument_called(thing: Any, argument: str, remedy: str) -> None:
    assert argument not in inspect.signature(thing).parameters
    found = f"^{thing.__name__} has no argument '{argument}': .*{remedy}"
    with pytest.raises(TypeError, match=found):
        thing(**{argument: "quadratic"})


@each(("thing", "argument", "near"), MAYBE, ids=lambda a: getattr(a, "__name__", None))
def test_a_word_that_is_not_certain_gets_pythons_error_and_the_nearest(
    thing: Any, argument: str, near: str
) -> None:
    python = rf"^{thing.__name__}\(\) got an unexpected keyword argument '{argument}'; its "
    with pytest.raises(TypeError, match=rf"{python}.*\b{near}"):
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
    is_sure, other = not other.endswith("?"), other.rstrip("?")
    assert other not in all_names()
    place = re.escape(all_names()[ours])
    said = f"here that is {place}$" if is_sure else rf"did you mean {place}\?$"
    for module in ("gbdt_objectives", "gbdt_objectives.priors"):
        with pytest.raises(ImportError, match=said):
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
