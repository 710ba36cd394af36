"""Thresholds: from a continuous score to ordered classes, exactly."""

from gbdt_objectives.thresholds.cross_validation import (
    ThresholdCrossValidation,
    cross_validate_thresholds,
)
from gbdt_objectives.thresholds.labelled import Thresholds
from gbdt_objectives.thresholds.metrics import (
    ThresholdMetric,
    cost_metric,
    f_beta,
    kappa_cost,
    threshold_metric,
)
from gbdt_objectives.thresholds.optimize import apply_thresholds, optimize_thresholds
from gbdt_objectives.thresholds.statistics import ThresholdStatistics

__all__ = [
    "ThresholdCrossValidation",
    "ThresholdMetric",
    "ThresholdStatistics",
    "Thresholds",
    "apply_thresholds",
    "cost_metric",
    "cross_validate_thresholds",
    "f_beta",
    "kappa_cost",
    "optimize_thresholds",
    "threshold_metric",
]
