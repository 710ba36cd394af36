"""Train XGBoost and LightGBM on the metric you are judged by.

The path: an objective to train on, an intercept inside the model, a decision at the end.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gbdt_objectives.adapters import LabelShift, imbalance_shift, shift_intercept
    from gbdt_objectives.calibration import (
        brier_score,
        calibration_ratio,
        calibration_refinement,
        empirical_probability,
        expected_calibration_error,
        normalized_entropy,
        reliability_bins,
        roc_convex_hull,
        squared_error,
    )
    from gbdt_objectives.estimators import (
        CalibratedClassifier,
        DownsampledClassifier,
        InterceptCalibrator,
        LogitCalibrator,
        ProbabilityEstimationTree,
        QWKClassifier,
        ROCConvexHullCalibrator,
        ThresholdClassifier,
        leaf_indices,
        leaf_probability,
    )
    from gbdt_objectives.metrics import (
        Metric,
        extended_qwk_metric,
        normalized_entropy_metric,
        quadratic_weighted_kappa,
        qwk_metric,
        squared_error_metric,
        weighted_logloss_metric,
    )
    from gbdt_objectives.objectives import (
        Objective,
        objective,
        offset_logloss_objective,
        qwk_objective,
        weighted_logloss_objective,
    )
    from gbdt_objectives.plotting import ReliabilityDisplay, ROCHullDisplay, ThresholdDisplay
    from gbdt_objectives.priors import (
        correct_margin,
        correct_probability,
        correct_threshold,
        estimate_prior,
        log_odds_shift,
        measured_keep_rates,
        negative_downsample,
        prior_shift_test,
        prior_weights,
        resample,
    )
    from gbdt_objectives.thresholds import (
        ThresholdMetric,
        ThresholdStatistics,
        apply_thresholds,
        cost_metric,
        cross_validate_thresholds,
        f_beta,
        kappa_cost,
        optimize_thresholds,
        threshold_metric,
    )

__version__ = "0.1.0"

__all__ = [
    "CalibratedClassifier",
    "DownsampledClassifier",
    "InterceptCalibrator",
    "LabelShift",
    "LogitCalibrator",
    "Metric",
    "Objective",
    "ProbabilityEstimationTree",
    "QWKClassifier",
    "ROCConvexHullCalibrator",
    "ROCHullDisplay",
    "ReliabilityDisplay",
    "ThresholdClassifier",
    "ThresholdDisplay",
    "ThresholdMetric",
    "ThresholdStatistics",
    "apply_thresholds",
    "brier_score",
    "calibration_ratio",
    "calibration_refinement",
    "correct_margin",
    "correct_probability",
    "correct_threshold",
    "cost_metric",
    "cross_validate_thresholds",
    "empirical_probability",
    "estimate_prior",
    "expected_calibration_error",
    "extended_qwk_metric",
    "f_beta",
    "imbalance_shift",
    "kappa_cost",
    "leaf_indices",
    "leaf_probability",
    "log_odds_shift",
    "measured_keep_rates",
    "negative_downsample",
    "normalized_entropy",
    "normalized_entropy_metric",
    "objective",
    "offset_logloss_objective",
    "optimize_thresholds",
    "prior_shift_test",
    "prior_weights",
    "quadratic_weighted_kappa",
    "qwk_metric",
    "qwk_objective",
    "reliability_bins",
    "resample",
    "roc_convex_hull",
    "shift_intercept",
    "squared_error",
    "squared_error_metric",
    "threshold_metric",
    "weighted_logloss_metric",
    "weighted_logloss_objective",
]

_ROOMS = {
    "adapters": {"LabelShift", "imbalance_shift", "shift_intercept"},
    "calibration": {
        "brier_score",
        "calibration_ratio",
        "calibration_refinement",
        "empirical_probability",
        "expected_calibration_error",
        "normalized_entropy",
        "reliability_bins",
        "roc_convex_hull",
        "squared_error",
    },
    "estimators": {
        "CalibratedClassifier",
        "DownsampledClassifier",
        "InterceptCalibrator",
        "LogitCalibrator",
        "ProbabilityEstimationTree",
        "QWKClassifier",
        "ROCConvexHullCalibrator",
        "ThresholdClassifier",
        "leaf_indices",
        "leaf_probability",
    },
    "metrics": {
        "Metric",
        "extended_qwk_metric",
        "normalized_entropy_metric",
        "quadratic_weighted_kappa",
        "qwk_metric",
        "squared_error_metric",
        "weighted_logloss_metric",
    },
    "objectives": {
        "Objective",
        "objective",
        "offset_logloss_objective",
        "qwk_objective",
        "weighted_logloss_objective",
    },
    "plotting": {"ROCHullDisplay", "ReliabilityDisplay", "ThresholdDisplay"},
    "priors": {
        "correct_margin",
        "correct_probability",
        "correct_threshold",
        "estimate_prior",
        "log_odds_shift",
        "measured_keep_rates",
        "negative_downsample",
        "prior_shift_test",
        "prior_weights",
        "resample",
    },
    "thresholds": {
        "ThresholdMetric",
        "ThresholdStatistics",
        "apply_thresholds",
        "cost_metric",
        "cross_validate_thresholds",
        "f_beta",
        "kappa_cost",
        "optimize_thresholds",
        "threshold_metric",
    },
}


def __getattr__(name: str) -> Any:
    for room, names in _ROOMS.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{room}"), name)
    from difflib import get_close_matches

    near = get_close_matches(name, __all__, n=1)
    hint = f": did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
