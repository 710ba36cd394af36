"""Evaluation: what a model is worth on new rows, honestly: nested, repeated, paired, with errors.

Conventions of this room
------------------------
``X``, ``y``, ``sample_weight``, ``groups``: as in ``gbdt_objectives.estimators``. ``y_true`` and
``score``: as in ``gbdt_objectives.thresholds``. Every row is judged by a model, or by thresholds,
that have not seen it. Intervals hold the value for new rows, at ``confidence_level``.
"""

from gbdt_objectives._public import attributes
from gbdt_objectives.evaluation.cross_validation import (
    ThresholdCrossValidation,
    cross_validate_thresholds,
)
from gbdt_objectives.evaluation.performance import (
    PerformanceDifference,
    PerformanceEstimate,
    compare_performance,
    estimate_performance,
)
from gbdt_objectives.evaluation.reports import report

__all__ = [
    "PerformanceDifference", "PerformanceEstimate", "ThresholdCrossValidation",
    "compare_performance", "cross_validate_thresholds", "estimate_performance", "report",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__)
