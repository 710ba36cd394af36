"""Two arguments in the wrong order are refused with the right one, and in help where it is free."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

import gbdt_objectives as go
from gbdt_objectives import (
    adapters,
    calibration,
    estimators,
    evaluation,
    metrics,
    plotting,
    priors,
)
from tests.cases import each

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
    shift = partial(go.thresholds.fit_segment_shift, segments=half)
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
        "shift": (shift, score, grade, FIRST + "score"),
        "cross-validate": (go.cross_validate_thresholds, score, grade, FIRST + "score"),
        "hull": (calibration.roc_convex_hull, p, y, FIRST + "score"),
        "choose": (calibration.choose_calibrator, p, y, FIRST + "score"),
        "temperature": (calibration.TemperatureCalibrator().fit, grade, three, "before y$"),
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
        fit = getattr(calibration, f"{name}Calibrator")().fit
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
