"""A stranger's questions, each answered by ``help``, ``dir`` or one error message."""

from __future__ import annotations

import inspect
import re
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

import gbdt_objectives as go
from gbdt_objectives import (
    adapters,
    calibration,
    estimators,
    evaluation,
    metrics,
    objectives,
    plotting,
    priors,
    thresholds,
)
from tests.cases import each

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


# --- the order of arguments -------------------------------------------------------------------

FIRST = "are they swapped. y_true comes before "
X_FIRST = "are they swapped. X comes before y$"


def swaps() -> dict[str, tuple[Any, ...]]:
    """Functions, two arguments in the wrong order, and what their error says of the right one."""
    rng = np.random.default_rng(0)
    X, p, three = rng.normal(size=(60, 2)), rng.random(60), rng.dirichlet([1, 1, 1], 60)
    y, grade = (rng.random(60) < p).astype(int), rng.integers(0, 3, 60)
    score = grade + rng.normal(size=60)
    tree, half = DecisionTreeClassifier(max_depth=2).fit(X, y), np.arange(60) % 2
    by_segment = partial(calibration.calibration_ratio_by_segment, segments=half)
    keep_rates = partial(priors.pilot_keep_rates, negative_keep_rate=0.5)
    found: dict[str, tuple[Any, ...]] = {
        "imbalance_shift": (partial(adapters.imbalance_shift, tree), y, X, r"\(model, X, y\)"),
        "leaf_probability": (partial(estimators.leaf_probability, tree), y, X, X_FIRST),
        "estimate": (partial(evaluation.estimate_performance, Ridge()), y, X, X_FIRST),
        "compare": (partial(evaluation.compare_performance, Ridge(), Ridge()), y, X, X_FIRST),
        "log loss": (go.weighted_logloss_metric(1), p, y, FIRST + "y_pred"),
        "class log loss": (metrics.class_logloss_metric(3), three, grade, FIRST + "y_pred"),
        "ranked": (metrics.ranked_probability_score_metric(3), three, grade, FIRST + "y_pred"),
        "qwk": (go.qwk_metric((0, 2)), score, grade, FIRST + "y_pred"),
        "accuracy": (metrics.threshold_metric("accuracy"), score, grade, FIRST + "y_pred"),
        "loss": (go.weighted_logloss_objective(1).loss, p, y, FIRST + "margin"),
        "mean loss": (go.focal_objective(2).mean_loss, p, y, FIRST + "margin"),
        "fitted": (go.ordinal_logit_objective(3).fitted, score, grade, FIRST + "margin"),
        "K classes": (calibration.brier_score, three, grade, FIRST + "probability"),
        "segments": (by_segment, p, y, FIRST + "probability"),
        "pilot": (keep_rates, p, y, FIRST + "probability"),
        "optimize": (go.optimize_thresholds, score, grade, FIRST + "score"),
        "cross-validate": (go.cross_validate_thresholds, score, grade, FIRST + "score"),
        "hull": (calibration.roc_convex_hull, p, y, FIRST + "score"),
        "choose": (estimators.choose_calibrator, p, y, FIRST + "score"),
        "temperature": (estimators.TemperatureCalibrator().fit, grade, three, "before y$"),
        "place": (go.ThresholdClassifier().fit, grade, score, "score comes before y$"),
    }
    for name in (
        "brier_score", "calibration_error_test", "calibration_ratio", "calibration_refinement",
        "expected_calibration_error", "normalized_entropy", "reliability_bins",
    ):  # fmt: skip
        found[name] = (getattr(calibration, name), p, y, FIRST + "probability")
    for name in ("ReliabilityDisplay", "ROCHullDisplay", "ThresholdDisplay"):
        found[name] = (getattr(plotting, name).from_predictions, p, y, FIRST)
    for name in ("Intercept", "Logit", "Beta", "Spline", "VennAbers", "ROCConvexHull"):
        fit = getattr(estimators, f"{name}Calibrator")().fit
        found[name] = (fit, y, p, "score comes before y$")
    for estimator in (
        go.QWKClassifier(Ridge(), objective=None),
        go.CalibratedClassifier(LogisticRegression()),
        go.DownsampledClassifier(LogisticRegression(), 0.5),
        estimators.ProbabilityEstimationTree(),
    ):
        found[type(estimator).__name__] = (estimator.fit, y, X, X_FIRST)
    return found


SWAPS = swaps()


@each("name", SWAPS)
def test_what_is_the_order_of_arguments(name: str) -> None:
    function, first, second, order = SWAPS[name]
    with pytest.raises((TypeError, ValueError), match=order) as refused:
        function(first, second)
    assert str(refused.value).count("are they swapped") <= 1
    with pytest.raises((TypeError, ValueError)) as other:  # and no such hint in another error
        function(second, first[:5])
    assert "swapped" not in str(other.value)


def test_where_the_order_does_not_matter_help_says_so() -> None:
    y, p = np.random.default_rng(0).integers(0, 4, (2, 100))
    assert go.quadratic_weighted_kappa(y, p) == go.quadratic_weighted_kappa(p, y)
    assert "is symmetric" in str(inspect.getdoc(go.quadratic_weighted_kappa))


# --- what does it take ------------------------------------------------------------------------

ROOMS = (
    objectives, metrics, thresholds, priors, calibration, evaluation, estimators, plotting,
    adapters,
)  # fmt: skip
FUNCTIONS = [
    thing
    for room in ROOMS
    for thing in (getattr(room, name) for name in dir(room))
    if inspect.isfunction(thing)
]


@each("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_does_it_take(function: Any) -> None:
    """Help names each argument, with a word on what it is."""
    text = str(inspect.getdoc(function))
    section = text.partition("\nParameters\n")[2].partition("\nReturns\n")[0]
    named: dict[str, str] = {}
    for names, words in re.findall(r"(?m)^(\w[\w, ]*?)(?: : .*)?\n((?: {4}.*\n|\n)+)", section):
        named |= dict.fromkeys(names.split(", "), words.strip())
    assert set(inspect.signature(function).parameters) <= set(named)
    assert all(named.values())
