"""scikit-learn estimators that carry the whole path in one object.

``X``: whatever the wrapped estimator accepts, passed on as it is. ``score``: shape (n,) or (n, 1),
higher for higher classes; to fit on, scores of rows the model was not trained on. ``y``: shape
(n,). ``sample_weight``: shape (n,), >= 0, or None; w means the same as w copies of the row, except
where rows are sampled. ``groups``: rows of one group stay on one side of each split.
``model.export(folder, X)`` of a classifier writes a folder that predicts without this package.
"""

from gbdt_objectives._public import attributes
from gbdt_objectives.estimators.calibrated_classifier import CalibratedClassifier
from gbdt_objectives.estimators.downsampled_classifier import DownsampledClassifier
from gbdt_objectives.estimators.probability_tree import ProbabilityEstimationTree, leaf_probability
from gbdt_objectives.estimators.qwk_classifier import QWKClassifier
from gbdt_objectives.estimators.threshold_classifier import ThresholdClassifier

__all__ = [
    "CalibratedClassifier", "DownsampledClassifier", "ProbabilityEstimationTree", "QWKClassifier",
    "ThresholdClassifier", "leaf_probability",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__)
