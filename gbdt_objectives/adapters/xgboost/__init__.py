"""XGBoost: train on an Objective, with the intercept inside the model."""

from gbdt_objectives import _versions
from gbdt_objectives.adapters.xgboost.intercept import imbalance_shift, shift_intercept
from gbdt_objectives.adapters.xgboost.train import early_stopping, train

__all__ = ["early_stopping", "imbalance_shift", "shift_intercept", "train"]

_versions.check_installed("xgboost")
