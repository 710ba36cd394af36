"""Where a name is, and what others call it: modules tell people who look in the wrong one."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib.util import find_spec

from gbdt_objectives._registry import BY_NAME, EVERY, load

ROOT = "gbdt_objectives"

ROOMS = (
    "objectives", "metrics", "thresholds", "priors", "calibration", "evaluation", "estimators",
    "adapters", "serving", "distributed", "plotting", "checking", "experimental",
)  # fmt: skip
"""The public modules of the package, in the order in which they are used."""

FIELD = {
    "ROCConvexHullCalibrator": "IsotonicCalibrator IsotonicRegression isotonic PAVA "
    "HistogramBinning BBQ ENIR",
    "LogitCalibrator": "PlattCalibrator PlattScaling SigmoidCalibrator sigmoid platt",
    "TemperatureCalibrator": "TemperatureScaling temperature_scaling temperature",
    "VennAbersCalibrator": "VennAbers venn_abers", "SplineCalibrator": "SplineCalib spline",
    "BetaCalibrator": "BetaCalibration beta", "CalibratedClassifier": "CalibratedClassifierCV",
    "DownsampledClassifier": "BalancedBaggingClassifier EasyEnsembleClassifier "
    "BalancedRandomForestClassifier RUSBoostClassifier",
    "ThresholdClassifier": "TunedThresholdClassifierCV FixedThresholdClassifier",
    "QWKClassifier": "OrdinalClassifier OrdinalRegressor QWKRegressor KappaClassifier "
    "KappaRegressor",
    "reliability_bins": "calibration_curve reliability_curve",
    "ReliabilityDisplay": "CalibrationDisplay reliability_diagram ReliabilityDiagram "
    "plot_calibration_curve plot_reliability plot_calibration",
    "ROCHullDisplay": "RocCurveDisplay ROCDisplay plot_roc plot_roc_curve",
    "ThresholdDisplay": "plot_thresholds DiscriminationThreshold plot_threshold",
    "roc_convex_hull": "roc_curve rocch",
    "expected_calibration_error": "ece ECE ECELoss ACE MCE adaptive_calibration_error "
    "calibration_error",
    "brier_score": "brier_score_loss brier",
    "negative_downsample": "undersample RandomUnderSampler random_undersample downsample "
    "subsample_negatives negative_sampling sample_negatives",
    "resample_classes": "resample oversample RandomOverSampler upsample SMOTE",
    "optimize_thresholds": "OptimizedRounder optimise_thresholds fit_thresholds find_thresholds "
    "ThresholdOptimizer best_threshold find_best_threshold optimal_threshold",
    "apply_thresholds": "predict_classes digitize threshold_Rounder predict_with_thresholds",
    "quadratic_weighted_kappa": "cohen_kappa cohen_kappa_score weighted_kappa qwk kappa "
    "quadratic_kappa qwk_score kappa_score",
    "qwk_metric": "lgb_qwk xgb_qwk feval_qwk eval_qwk kappa_metric QuadraticWeightedKappaMetric "
    "CohenKappa",
    "threshold_metric": "accuracy_metric f1 f1_metric mcc matthews_metric balanced_accuracy "
    "F1_Score_Binary f1_score macro_f1 g_mean geometric_mean_score",
    "f_beta_metric": "f_beta fbeta_score", "kappa_cost_metric": "kappa_cost",
    "normalized_entropy": "normalized_entropy_metric normalized_cross_entropy",
    "weighted_logloss_metric": "log_loss logloss logloss_metric",
    "class_logloss_metric": "mlogloss multi_logloss",
    "squared_error_metric": "rmse mse rmse_metric mse_metric",
    "loss_metric": "FocalMetric focal_metric objective_metric",
    "delayed_logloss_objective": "delayed_feedback_loss DelayedFeedbackLoss",
    "focal_objective": "focal_loss FocalLoss Focal_Binary_Loss focal",
    "qwk_objective": "qwk_loss kappa_loss QWKLoss qwk_obj",
    "weighted_logloss_objective": "WeightedCrossEntropyLoss Weight_Binary_Cross_Entropy "
    "BCEWithLogitsLoss weighted_logloss weighted_cross_entropy",
    "ordinal_logit_objective": "OrderedModel LogisticAT LogisticIT CumulativeLinkLoss coral_loss "
    "corn_loss cumulative_link mord",
    "objective": "CustomLoss custom_objective make_objective",
    "check_objective": "check_gradient check_grad gradcheck grad_check",
    "correct_probability": "recalibrate correct_prior prior_correction calibrate_downsampling "
    "adjust_probability adjust_proba correct_proba adjust_prior",
    "log_odds_shift": "prior_shift LabelShift", "shift_intercept": "set_intercept set_base_score",
    "repair_segments": "multicalibrate multicalibration MCGrad mcgrad",
    "estimate_prior": "em_prior estimate_class_prior EMQ SLD saerens",
    "estimate_performance": "cross_validate cross_val_score nested_cross_validate",
    "compare_performance": "paired_ttest_5x2cv paired_ttest_kfold_cv corrected_ttest",
    "export": "save save_model dump log_model to_folder", "load": "load_model",
    "export_onnx": "to_onnx convert_xgboost convert_lightgbm save_onnx onnx",
    "calibration": "calibrators", "estimators": "models", "train": "fit",
    "early_stopping": "EarlyStopping",
    **{row.name: " ".join((*row.estimators, row.alias)) for row in EVERY.values()},
    "dask": "DaskXGBRegressor DaskXGBClassifier", "spark": "SparkXGBRegressor SparkXGBClassifier",
}  # fmt: skip
"""Our names, and what they are called elsewhere."""

ELSEWHERE = {other: ours for ours, others in FIELD.items() for other in others.split()}


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
    ours = ELSEWHERE.get(name, name)
    if ours in places:
        return f"it is {places[ours]}" if ours == name else f"here that is {places[ours]}"
    plain = {known.lower(): known for known in (*places, *ELSEWHERE)}
    near = get_close_matches(name.lower(), plain, n=1, cutoff=0.75)
    if not near:
        return None
    found = plain[near[0]]
    return f"did you mean {places[ELSEWHERE.get(found, found)]}?"


def all_names() -> dict[str, str]:
    """Every public name with its place, which is the root for what the root has."""
    places = {name: f"{ROOT}.{name}" for name in ROOMS}
    places |= {name: f"{ROOT}.adapters.{name}" for name in EVERY}
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
