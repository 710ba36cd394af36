"""Train XGBoost and LightGBM on the metric you are judged by.

The path: an objective to train on, an intercept inside the model, a decision at the end.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gbdt_objectives.adapters import LabelShift, shift_intercept
    from gbdt_objectives.estimators import QWKClassifier, ThresholdClassifier
    from gbdt_objectives.metrics import (
        Metric,
        extended_qwk_metric,
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
    from gbdt_objectives.plotting import ThresholdDisplay
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
    "LabelShift",
    "Metric",
    "Objective",
    "QWKClassifier",
    "ThresholdClassifier",
    "ThresholdDisplay",
    "ThresholdMetric",
    "ThresholdStatistics",
    "apply_thresholds",
    "cost_metric",
    "cross_validate_thresholds",
    "extended_qwk_metric",
    "f_beta",
    "kappa_cost",
    "objective",
    "offset_logloss_objective",
    "optimize_thresholds",
    "quadratic_weighted_kappa",
    "qwk_metric",
    "qwk_objective",
    "shift_intercept",
    "squared_error_metric",
    "threshold_metric",
    "weighted_logloss_metric",
    "weighted_logloss_objective",
]

_ROOMS = {
    "adapters": {"LabelShift", "shift_intercept"},
    "estimators": {"QWKClassifier", "ThresholdClassifier"},
    "metrics": {
        "Metric",
        "extended_qwk_metric",
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
    "plotting": {"ThresholdDisplay"},
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
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
