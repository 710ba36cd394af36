"""Dask: training on the rows of many machines, and what one machine computes from rows.

``train``, the drop-in estimators, ``fitted_objective`` and ``lightgbm`` train on a cluster. The
other functions have the names and arguments of those on one machine, and give the same. Each
partition is reduced where it is to sums, these are merged as a tree, and the value of all of them
is returned as plain numbers and numpy arrays. They run on whatever scheduler is active: threads, or
the cluster of a ``distributed.Client``.

Conventions
-----------
A column is a Dask Series, or a Dask Array (n,), of known or unknown chunk sizes; all columns of a
call have the same partitions, whose rows belong together by position. Arrays of known chunks are
cut alike. A partition may be empty, or weigh nothing. In an error, rows are counted within the
partition that it names. numpy, pandas and lists are taken as a single partition.

Where scores or probabilities have more than ``max_bins`` (131,072) distinct values, neighbours
share a bin, as :class:`gbdt_objectives.ThresholdStatistics` says: results are the same for any
partitions and order of rows.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gbdt_objectives import _versions

try:
    import dask.array  # dask.dataframe is there if somebody has made a series
except ImportError as error:
    raise ImportError(
        "dask is not installed: pip install 'gbdt_objectives[dask]'", name=error.name
    ) from error

from gbdt_objectives.distributed.dask._labels import (
    extended_qwk_metric,
    kappa_objective,
    quadratic_weighted_kappa,
    qwk_objective,
)
from gbdt_objectives.distributed.dask._priors import (
    measured_keep_rates,
    negative_downsample_by_key,
    prior_weights,
)
from gbdt_objectives.distributed.dask._thresholds import (
    apply_thresholds,
    optimize_thresholds,
    threshold_statistics,
)

if TYPE_CHECKING:
    from gbdt_objectives.distributed.dask._fitted import fitted_objective
    from gbdt_objectives.distributed.dask._lightgbm import lightgbm
    from gbdt_objectives.distributed.dask._train import train
    from gbdt_objectives.distributed.dask.estimators import DaskXGBClassifier, DaskXGBRegressor

__all__ = [
    "DaskXGBClassifier",
    "DaskXGBRegressor",
    "apply_thresholds",
    "extended_qwk_metric",
    "fitted_objective",
    "kappa_objective",
    "lightgbm",
    "measured_keep_rates",
    "negative_downsample_by_key",
    "optimize_thresholds",
    "prior_weights",
    "quadratic_weighted_kappa",
    "qwk_objective",
    "threshold_statistics",
    "train",
]

_TRAINING = {
    "DaskXGBClassifier": "estimators",
    "DaskXGBRegressor": "estimators",
    "fitted_objective": "_fitted",
    "lightgbm": "_lightgbm",
    "train": "_train",
}
"""Where the names are that need XGBoost, which all others do without."""


def __getattr__(name: str) -> Any:
    if name not in _TRAINING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _versions.check_installed("xgboost")
    return getattr(import_module(f"{__name__}.{_TRAINING[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
