"""Dask: training on the rows of many machines."""

from gbdt_objectives import _versions

_versions.check_installed("xgboost")  # before anything below imports it

from gbdt_objectives.distributed.dask._fitted import fitted_objective
from gbdt_objectives.distributed.dask._train import train
from gbdt_objectives.distributed.dask.estimators import DaskXGBClassifier, DaskXGBRegressor

__all__ = ["DaskXGBClassifier", "DaskXGBRegressor", "fitted_objective", "train"]
