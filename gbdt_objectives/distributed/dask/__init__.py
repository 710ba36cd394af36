"""Dask: what one machine computes from rows, from Dask collections, without gathering them."""

from gbdt_objectives.distributed.dask._lightgbm import lightgbm

__all__ = ["lightgbm"]
