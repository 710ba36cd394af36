"""Dask: training on the rows of many machines."""

from gbdt_objectives import _versions

_versions.check_installed("xgboost")  # before anything below imports it

from gbdt_objectives.distributed.dask._train import train

__all__ = ["train"]
