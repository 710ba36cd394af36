"""CatBoost: train on an Objective whose rows are independent, with the intercept in the model."""

from gbdt_objectives import _registry
from gbdt_objectives._public import attributes

_registry.check_installed("catboost")  # before anything below imports it

from gbdt_objectives.adapters import imbalance_shift, shift_intercept
from gbdt_objectives.adapters.catboost._train import train
from gbdt_objectives.adapters.catboost.estimators import CatBoostClassifier, CatBoostRegressor

__all__ = [
    "CatBoostClassifier", "CatBoostRegressor", "imbalance_shift", "shift_intercept", "train",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__)
