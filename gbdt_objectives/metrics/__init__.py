"""Metrics: one object for early stopping, scoring and thresholds. numpy only.

Conventions of this room: n rows. ``y_true``: labels, shape (n,). ``y_pred``: predictions,
shape (n,), or (n, K) with a column per class, in the metric's ``input_space``.
``sample_weight``: shape (n,), >= 0, or None for all ones; w means the same as w copies of the row.
"""

from gbdt_objectives._public import attributes
from gbdt_objectives.metrics.base import ClassMetric, Metric
from gbdt_objectives.metrics.classes import (
    MatthewsMetric,
    RatioMetric,
    ShareMetric,
    cost_metric,
    f_beta_metric,
    kappa_cost_metric,
    qwk_metric,
    threshold_metric,
)
from gbdt_objectives.metrics.kappa import extended_qwk_metric, quadratic_weighted_kappa
from gbdt_objectives.metrics.loss import (
    class_logloss_metric,
    loss_metric,
    ranked_probability_score_metric,
    squared_error_metric,
    weighted_logloss_metric,
)

__all__ = [
    "ClassMetric", "MatthewsMetric", "Metric", "RatioMetric", "ShareMetric", "class_logloss_metric",
    "cost_metric", "extended_qwk_metric", "f_beta_metric", "kappa_cost_metric", "loss_metric",
    "quadratic_weighted_kappa", "qwk_metric", "ranked_probability_score_metric",
    "squared_error_metric", "threshold_metric", "weighted_logloss_metric",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__)
