"""scikit-learn's HistGradientBoosting, on an Objective, with the intercept inside the model."""

from gbdt_objectives._public import attributes
from gbdt_objectives.adapters import imbalance_shift, shift_intercept
from gbdt_objectives.adapters.sklearn.estimators import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

__all__ = [
    "HistGradientBoostingClassifier", "HistGradientBoostingRegressor", "imbalance_shift",
    "shift_intercept",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__)
