"""XGBoost: train on an Objective, with the intercept inside the model."""

from gbdt_objectives import _registry
from gbdt_objectives._public import attributes

_registry.check_installed("xgboost")  # before anything below imports it

from gbdt_objectives.adapters import imbalance_shift, shift_intercept
from gbdt_objectives.adapters.xgboost._train import cv, train
from gbdt_objectives.adapters.xgboost.estimators import XGBClassifier, XGBRegressor
from gbdt_objectives.adapters.xgboost.parameters import early_stopping

__all__ = [
    "XGBClassifier", "XGBRegressor", "cv", "early_stopping", "imbalance_shift", "shift_intercept",
    "train",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__)
