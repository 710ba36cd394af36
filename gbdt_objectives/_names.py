"""Where a name is, and what others call it: modules tell people who look in the wrong one."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from importlib.util import find_spec

from gbdt_objectives._registry import BY_NAME, EVERY, load

ROOT = "gbdt_objectives"

ROOMS = (
    "objectives", "metrics", "thresholds", "priors", "calibration", "evaluation", "estimators",
    "adapters", "serving", "distributed", "plotting", "checking", "datasets", "experimental",
)  # fmt: skip
"""The public modules of the package, in the order in which they are used."""

FIELD = """
ROCConvexHullCalibrator IsotonicCalibrator IsotonicRegression isotonic HistogramBinning?
LogitCalibrator PlattScaling sigmoid platt; TemperatureCalibrator temperature
VennAbersCalibrator VennAbers venn_abers; BetaCalibrator beta; SplineCalibrator spline
DownsampledClassifier BalancedBaggingClassifier EasyEnsembleClassifier RUSBoostClassifier?
QWKClassifier QWKRegressor KappaRegressor OrdinalClassifier?
reliability_bins calibration_curve reliability_curve
ReliabilityDisplay CalibrationDisplay plot_calibration_curve plot_reliability
ROCHullDisplay plot_roc? plot_roc_curve?
ThresholdDisplay plot_thresholds plot_threshold DiscriminationThreshold
roc_convex_hull roc_curve? rocch; expected_calibration_error ece ECE ECELoss ACE? calibration_error?
negative_downsample undersample RandomUnderSampler downsample subsample_negatives
resample_classes resample oversample RandomOverSampler upsample
optimize_thresholds OptimizedRounder fit_thresholds ThresholdOptimizer best_threshold
apply_thresholds predict_classes digitize threshold_Rounder predict_with_thresholds
quadratic_weighted_kappa cohen_kappa_score weighted_kappa qwk kappa qwk_score CohenKappa
qwk_metric lgb_qwk xgb_qwk feval_qwk kappa_metric QuadraticWeightedKappaMetric
threshold_metric accuracy_metric f1 f1_metric f1_score mcc balanced_accuracy F1_Score_Binary
f_beta_metric fbeta_score; weighted_logloss_metric log_loss? logloss?
class_logloss_metric mlogloss multi_logloss; squared_error_metric mse? rmse? rmse_metric?
loss_metric FocalMetric; delayed_logloss_objective DelayedFeedbackLoss
focal_objective focal_loss FocalLoss Focal_Binary_Loss; qwk_objective qwk_loss kappa_loss QWKLoss
weighted_logloss_objective WeightedCrossEntropyLoss Weight_Binary_Cross_Entropy BCEWithLogitsLoss?
ordinal_logit_objective OrderedModel LogisticAT LogisticIT? CumulativeLinkLoss coral_loss?
objective CustomLoss custom_objective make_objective
check_objective check_gradient check_grad gradcheck
correct_probability prior_correction calibrate_downsampling adjust_probability recalibrate?
shift_intercept set_base_score base_score?
SegmentCalibrator SegmentedCalibrator repair_segments SegmentRepair multicalibrate? MCGrad?
estimate_prior EMQ SLD em_prior; estimate_performance cross_val_score? cross_validate?
compare_performance paired_ttest_5x2cv corrected_ttest; export save save_model dump? log_model?
load load_model; export_onnx to_onnx convert_xgboost convert_lightgbm
spark SparkXGBRegressor? SparkXGBClassifier?; dask DaskXGBRegressor? DaskXGBClassifier?
"""
"""Our names, each with what it is called elsewhere, and with "?" what is only near to it."""

_ROWS = *re.split(r"[;\n]", FIELD.strip()), *(f"{row.name} {row.alias}" for row in EVERY.values())
ELSEWHERE = {other: ours for ours, *others in map(str.split, _ROWS) for other in others}


def missing(module: str, name: str, place: str | None = None) -> AttributeError | ImportError:
    """The error for a module's ``__getattr__`` to raise, which says where a name is, or ``place``.
    ``from module import name`` would replace the text of an AttributeError by its own."""
    is_imported = sys._getframe(2).f_code.co_name == "_handle_fromlist"
    if place is None and not name.startswith("_"):
        own = next((row.name for row in BY_NAME.values() if f".{row.name}" in module), None)
        is_theirs = own is not None and hasattr(load(own), name)
        place = f"import it from {own} itself, {own}.{name}" if is_theirs else where(name)
    text = f"module {module!r} has no attribute {name!r}" + (f": {place}" if place else "")
    if is_imported and place and find_spec(f"{module}.{name}") is None:
        return ImportError(text, name=module)
    return AttributeError(text, name=name)


def where(name: str) -> str | None:
    """Say where a name is, ours or of the field, or which of ours is nearest; None if none is."""
    places = all_names()
    if name in places:
        return f"it is {places[name]}"
    if name in ELSEWHERE:
        return f"here that is {places[ELSEWHERE[name]]}"
    plain = {known.rstrip("?").lower(): known for known in (*ELSEWHERE, *places)}
    near = get_close_matches(name.lower(), plain, n=1, cutoff=0.75)
    found = plain[near[0]] if near else ""
    return f"did you mean {places[ELSEWHERE.get(found, found)]}?" if near else None


def all_names() -> dict[str, str]:
    """Every public name with its place, which is the root for what the root has."""
    places = {name: f"{ROOT}.{name}" for name in ROOMS}
    for row in EVERY.values():
        places[row.name] = f"{ROOT}.adapters.{row.name}"
        places |= {name: f"{places[row.name]}.{name}" for name in row.estimators}
    places |= {name: f"{ROOT}.distributed.{name}" for name in ("dask", "spark")}
    places |= {
        name: " or ".join(f"{ROOT}.adapters.{library}.{name}" for library in BY_NAME)
        for name in ("train", "cv")
    }
    places["early_stopping"] = f"{ROOT}.adapters.xgboost.early_stopping"
    for name in ROOMS:
        for public in load(f"{ROOT}.{name}").__all__:
            places.setdefault(public, f"{ROOT}.{name}.{public}")
    return places | {name: f"{ROOT}.{name}" for name in load(ROOT).__all__}
