"""scikit-learn estimators that carry the whole path in one object."""

from gbdt_objectives.estimators.calibrated_classifier import CalibratedClassifier
from gbdt_objectives.estimators.calibrators import (
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
)
from gbdt_objectives.estimators.downsampled_classifier import DownsampledClassifier
from gbdt_objectives.estimators.probability_tree import (
    ProbabilityEstimationTree,
    leaf_indices,
    leaf_probability,
)
from gbdt_objectives.estimators.qwk_classifier import QWKClassifier
from gbdt_objectives.estimators.threshold_classifier import ThresholdClassifier

__all__ = [
    "CalibratedClassifier",
    "DownsampledClassifier",
    "InterceptCalibrator",
    "LogitCalibrator",
    "ProbabilityEstimationTree",
    "QWKClassifier",
    "ROCConvexHullCalibrator",
    "ThresholdClassifier",
    "leaf_indices",
    "leaf_probability",
]
