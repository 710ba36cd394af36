"""Metrics: labels, predictions and weights to a float. numpy only."""

from gbdt_objectives.metrics.base import Metric
from gbdt_objectives.metrics.kappa import (
    extended_qwk_metric,
    quadratic_weighted_kappa,
    qwk_metric,
)
from gbdt_objectives.metrics.logloss import normalized_entropy_metric, weighted_logloss_metric
from gbdt_objectives.metrics.squared_error import squared_error_metric

__all__ = [
    "Metric",
    "extended_qwk_metric",
    "normalized_entropy_metric",
    "quadratic_weighted_kappa",
    "qwk_metric",
    "squared_error_metric",
    "weighted_logloss_metric",
]
