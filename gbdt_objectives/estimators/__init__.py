"""scikit-learn estimators that carry the whole path in one object."""

from gbdt_objectives.estimators.qwk_classifier import QWKClassifier
from gbdt_objectives.estimators.threshold_classifier import ThresholdClassifier

__all__ = ["QWKClassifier", "ThresholdClassifier"]
