"""The public names, each listed here and nowhere else; __init__.py imports them when asked for."""

from gbdt_objectives._workers import WorkersDisagree as WorkersDisagree
from gbdt_objectives.adapters import (
    imbalance_shift as imbalance_shift,
    shift_intercept as shift_intercept,
)
from gbdt_objectives.calibration import (
    brier_score as brier_score,
    brier_terms as brier_terms,
    calibration_error_test as calibration_error_test,
    calibration_ratio as calibration_ratio,
    calibration_ratio_by_segment as calibration_ratio_by_segment,
    calibration_refinement as calibration_refinement,
    empirical_probability as empirical_probability,
    expected_calibration_error as expected_calibration_error,
    normalized_entropy as normalized_entropy,
    reliability_bins as reliability_bins,
    roc_convex_hull as roc_convex_hull,
)
from gbdt_objectives.checking import check_objective as check_objective
from gbdt_objectives.estimators import (
    BetaCalibrator as BetaCalibrator,
    CalibratedClassifier as CalibratedClassifier,
    DownsampledClassifier as DownsampledClassifier,
    InterceptCalibrator as InterceptCalibrator,
    LogitCalibrator as LogitCalibrator,
    ProbabilityEstimationTree as ProbabilityEstimationTree,
    QWKClassifier as QWKClassifier,
    ROCConvexHullCalibrator as ROCConvexHullCalibrator,
    SplineCalibrator as SplineCalibrator,
    TemperatureCalibrator as TemperatureCalibrator,
    ThresholdClassifier as ThresholdClassifier,
    VennAbersCalibrator as VennAbersCalibrator,
    choose_calibrator as choose_calibrator,
    compare_performance as compare_performance,
    estimate_performance as estimate_performance,
    leaf_indices as leaf_indices,
    leaf_probability as leaf_probability,
)
from gbdt_objectives.metrics import (
    Metric as Metric,
    class_logloss_metric as class_logloss_metric,
    cost_metric as cost_metric,
    extended_qwk_metric as extended_qwk_metric,
    f_beta_metric as f_beta_metric,
    kappa_cost_metric as kappa_cost_metric,
    loss_metric as loss_metric,
    normalized_entropy_metric as normalized_entropy_metric,
    quadratic_weighted_kappa as quadratic_weighted_kappa,
    qwk_metric as qwk_metric,
    ranked_probability_score_metric as ranked_probability_score_metric,
    squared_error_metric as squared_error_metric,
    threshold_metric as threshold_metric,
    weighted_logloss_metric as weighted_logloss_metric,
)
from gbdt_objectives.objectives import (
    Objective as Objective,
    focal_objective as focal_objective,
    kappa_objective as kappa_objective,
    objective as objective,
    objective_from_loss as objective_from_loss,
    offset_logloss_objective as offset_logloss_objective,
    ordinal_logit_objective as ordinal_logit_objective,
    qwk_objective as qwk_objective,
    ratio_objective as ratio_objective,
    weighted_logloss_objective as weighted_logloss_objective,
)
from gbdt_objectives.plotting import (
    ReliabilityDisplay as ReliabilityDisplay,
    ROCHullDisplay as ROCHullDisplay,
    ThresholdDisplay as ThresholdDisplay,
)
from gbdt_objectives.priors import (
    correct_margin as correct_margin,
    correct_probability as correct_probability,
    correct_threshold as correct_threshold,
    estimate_prior as estimate_prior,
    log_odds_shift as log_odds_shift,
    measured_keep_rates as measured_keep_rates,
    negative_downsample as negative_downsample,
    negative_downsample_by_key as negative_downsample_by_key,
    pilot_keep_rates as pilot_keep_rates,
    prior_shift_test as prior_shift_test,
    prior_weights as prior_weights,
    resample as resample,
)
from gbdt_objectives.thresholds import (
    ThresholdStatistics as ThresholdStatistics,
    apply_thresholds as apply_thresholds,
    cross_validate_thresholds as cross_validate_thresholds,
    decide as decide,
    optimize_thresholds as optimize_thresholds,
)

__version__: str
