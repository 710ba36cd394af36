"""LightGBM: train on an Objective, with the intercept inside the model."""

from gbdt_objectives import _registry
from gbdt_objectives._public import attributes

_registry.check_installed("lightgbm")  # before anything below imports it

from gbdt_objectives.adapters import imbalance_shift, shift_intercept
from gbdt_objectives.adapters.lightgbm._train import cv, train
from gbdt_objectives.adapters.lightgbm.estimators import LGBMClassifier, LGBMRegressor

__all__ = ["LGBMClassifier", "LGBMRegressor", "cv", "imbalance_shift", "shift_intercept", "train"]

__getattr__, __dir__ = attributes(__name__, __all__)
