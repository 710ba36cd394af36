"""Where a name is: each room shows its public names, and sends people on who ask in the wrong room.

Modules name their own in ``__all__``. What the field calls otherwise stands here.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib.util import find_spec

from gbdt_objectives._registry import BY_NAME, load

ROOT = "gbdt_objectives"

ROOMS = (
    "objectives", "metrics", "thresholds", "priors", "calibration", "evaluation", "estimators",
    "adapters", "serving", "distributed", "plotting", "checking",
)  # fmt: skip
"""The rooms of the package, in the order of the path."""

FIELD = {
    "ROCConvexHullCalibrator": "IsotonicCalibrator IsotonicRegression isotonic PAVA",
    "LogitCalibrator": "PlattCalibrator PlattScaling SigmoidCalibrator sigmoid platt",
    "TemperatureCalibrator": "TemperatureScaling temperature_scaling",
    "CalibratedClassifier": "CalibratedClassifierCV",
    "DownsampledClassifier": "BalancedBaggingClassifier EasyEnsembleClassifier",
    "ThresholdClassifier": "TunedThresholdClassifierCV FixedThresholdClassifier",
    "QWKClassifier": "OrdinalClassifier OrdinalRegressor",
    "reliability_bins": "calibration_curve reliability_curve reliability_diagram",
    "ReliabilityDisplay": "CalibrationDisplay", "ROCHullDisplay": "RocCurveDisplay ROCDisplay",
    "expected_calibration_error": "ece ECE", "brier_score": "brier_score_loss brier",
    "negative_downsample": "undersample RandomUnderSampler random_undersample downsample",
    "resample_classes": "resample oversample RandomOverSampler upsample",
    "optimize_thresholds": "OptimizedRounder optimise_thresholds fit_thresholds find_thresholds",
    "apply_thresholds": "predict_classes digitize",
    "quadratic_weighted_kappa": "cohen_kappa cohen_kappa_score weighted_kappa qwk kappa "
    "quadratic_kappa",
    "threshold_metric": "accuracy_metric f1 f1_metric mcc matthews_metric balanced_accuracy",
    "f_beta_metric": "f_beta fbeta_score", "kappa_cost_metric": "kappa_cost",
    "normalized_entropy": "normalized_entropy_metric normalized_cross_entropy",
    "weighted_logloss_metric": "log_loss logloss logloss_metric",
    "delayed_logloss_objective": "delayed_feedback_loss DelayedFeedbackLoss",
    "focal_objective": "focal_loss FocalLoss", "qwk_objective": "qwk_loss",
    "correct_probability": "recalibrate correct_prior prior_correction",
    "log_odds_shift": "prior_shift LabelShift",
    "shift_intercept": "set_intercept set_base_score",
    "repair_segments": "multicalibrate multicalibration MCGrad mcgrad",
    "estimate_prior": "em_prior estimate_class_prior",
    "estimate_performance": "cross_validate cross_val_score nested_cross_validate",
    **{row.name: " ".join((*row.estimators, row.alias)) for row in BY_NAME.values()},
    "dask": "DaskXGBRegressor DaskXGBClassifier",
    "spark": "SparkXGBRegressor SparkXGBClassifier",
}  # fmt: skip
"""Our names, and what they are called elsewhere."""

ELSEWHERE = {other: ours for ours, others in FIELD.items() for other in others.split()}


_ROWS_OR_CLASSES = (
    "write y_true= for the label of each row, or target_prior={label: probability} and "
    "label_range=(lowest, highest) for the classes there are"
)
_SHARE = "write negative_keep_rate=, the share of the negatives to keep"
_NO_START = "leave it out, the best are found without"

ARGUMENTS: dict[str, dict[str, str]] = {
    "*": {},
    "CalibratedClassifier": {
        "base_estimator": "estimator",
        "method": "write calibrator=, for instance LogitCalibrator() for 'sigmoid' and "
        "ROCConvexHullCalibrator() for 'isotonic'",
    },
    "DownsampledClassifier": {
        "base_estimator": "estimator", "n_estimators": "n_bags", "sampling_strategy": _SHARE,
    },
    "QWKClassifier": {
        "thresholds": "the algorithm that places them is method=",
        "estimators": "write estimator=, which takes a list too",
        "segments": "write segment=, the column of X that holds them",
    },
    "ThresholdClassifier": {"thresholds": "fit finds them; given ones are for "
                            "apply_thresholds(score, thresholds, labels)"},
    "compare_performance": {"scoring": "metric"}, "estimate_performance": {"scoring": "metric"},
    "cross_validate_thresholds": {"n_splits": "cv", "folds": "cv"},
    "expected_calibration_error": {"bins": "n_bins"}, "reliability_bins": {"bins": "n_bins"},
    "extended_qwk_metric": {"labels": "write y_true= for the label of each row, "
                            "target_prior={label: probability} for classes"},
    "fit_segment_shift": {
        "groups": "write segments=; groups are rows that share a side of a split",
        "handle_unseen": "handle_unknown",
    },
    "focal_objective": {"num_class": "n_classes"},
    "kappa_objective": {"labels": _ROWS_OR_CLASSES}, "qwk_objective": {"labels": _ROWS_OR_CLASSES},
    "negative_downsample": {
        "seed": "random_state", "rate": "negative_keep_rate", "sampling_strategy": _SHARE,
        "ratio": "write negative_keep_rate=, for k negatives per positive k * positives / "
        "negatives",
    },
    "negative_downsample_by_key": {"seed": "write random_state=, a whole number"},
    "optimize_thresholds": {
        "n_classes": "write labels=range(n_classes)", "y_pred": "score",
        "initial": _NO_START, "initial_coef": _NO_START,
    },
    "ordinal_logit_objective": {
        "labels": "write n_classes=, for labels 0 to n_classes - 1", "num_class": "n_classes",
    },
    "quadratic_weighted_kappa": {
        "weights": "leave it out, costs are squared; of rows it is sample_weight=",
    },
}  # fmt: skip
"""What arguments are called elsewhere, or were once, by function, class or ``Class.method``: ours,
or what to say. The row "*" is for all that have no such argument themselves."""


def missing(module: str, name: str, place: str | None = None) -> AttributeError | ImportError:
    """The error for a name that a module does not have, which says where it is. For a module's
    ``__getattr__`` to raise. ``place``: what to say; None looks it up. ``from module import name``
    would replace the text of an AttributeError by its own."""
    is_imported = sys._getframe(2).f_code.co_name == "_handle_fromlist"
    if place is None and not name.startswith("_"):
        place = where(name)
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
    root = load(ROOT)
    places = {name: f"{ROOT}.{name}" for name in ROOMS}
    places |= {name: f"{ROOT}.adapters.{name}" for name in BY_NAME}
    places |= {name: f"{ROOT}.distributed.{name}" for name in ("dask", "spark")}
    for name in ROOMS:
        for public in load(f"{ROOT}.{name}").__all__:
            places.setdefault(public, f"{ROOT}.{name}.{public}")
    return places | {name: f"{ROOT}.{name}" for name in root.__all__}
