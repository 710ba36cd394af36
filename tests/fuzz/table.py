"""Every public function of the maths rooms, beside its reference."""

from __future__ import annotations

from tests.fuzz import metrics as m
from tests.fuzz.harness import Check

YPW = ("y_true", "y_pred", "sample_weight")
W = ("sample_weight",)

TABLE = (
    Check("metrics.quadratic_weighted_kappa", m.draw_kappa, m.kappa, m.kappa_reference, YPW, W),
    Check("metrics.threshold_metric", m.draw_threshold_metric, m.class_metric,
          m.class_metric_reference, YPW, W, share=3),
    Check("metrics.qwk_metric", m.draw_qwk_metric, m.class_metric, m.class_metric_reference, YPW, W),
    Check("metrics.cost_metric", m.draw_cost_metric, m.class_metric, m.class_metric_reference, YPW, W),
    Check("metrics.kappa_cost_metric", m.draw_kappa_cost_metric, m.class_metric,
          m.class_metric_reference, YPW, W),
    Check("metrics.f_beta_metric", m.draw_f_beta_metric, m.class_metric, m.class_metric_reference,
          YPW, W),
    Check("metrics.extended_qwk_metric", m.draw_extended, m.extended, m.extended_reference, YPW, W),
    Check("metrics.squared_error_metric", m.draw_squared, m.squared, m.squared_reference, YPW, W),
    Check("metrics.weighted_logloss_metric", m.draw_logloss, m.logloss, m.logloss_reference, YPW, W),
    Check("metrics.class_logloss_metric", m.draw_class_probability, m.class_logloss,
          m.class_logloss_reference, YPW, W),
    Check("metrics.ranked_probability_score_metric", m.draw_class_probability, m.ranked,
          m.ranked_reference, YPW, W),
)  # fmt: skip

EXEMPT: dict[str, str] = {
    "metrics.ClassMetric": "the class of what the factories make",
    "metrics.MatthewsMetric": "the class of threshold_metric('matthews')",
    "metrics.Metric": "the base class, called in every metric above",
    "metrics.RatioMetric": "the class of what the factories make",
}
"""Public names without a row of their own, and why."""
