"""LightGBM: train on an Objective, with the intercept inside the model."""

from gbdt_objectives import _versions
from gbdt_objectives.adapters.lightgbm.intercept import imbalance_shift, shift_intercept
from gbdt_objectives.adapters.lightgbm.train import train

__all__ = ["imbalance_shift", "shift_intercept", "train"]

_versions.check_installed("lightgbm")
