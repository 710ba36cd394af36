"""Dask: training on the rows of many machines.

``train``, the drop-in estimators and ``fitted_objective`` train on a cluster, as ``lightgbm`` of
``gbdt_objectives.experimental.dask`` does. Functions of rows that say so, such as
``gbdt_objectives.optimize_thresholds``, take Dask collections themselves.

Conventions
-----------
A column is a Dask Series, or a Dask Array (n,), of known or unknown chunk sizes; all columns of a
call have the same partitions, whose rows belong together by position. Arrays of known chunks are
cut alike. A partition may be empty, or weigh nothing. In an error, rows are counted within the
partition that it names. Each partition is reduced to sums where it is, on whatever scheduler is
active; results are plain numbers and numpy arrays, those of arrays but for rounding.
"""

from typing import TYPE_CHECKING, Any

from gbdt_objectives import _names, _registry, _versions

try:
    import dask.array  # dask.dataframe is there if somebody has made a series
except ImportError as error:
    raise ImportError(
        "dask is not installed: pip install 'gbdt_objectives[dask]'", name=error.name
    ) from error

if TYPE_CHECKING:
    from gbdt_objectives.distributed.dask._train import fitted_objective, train
    from gbdt_objectives.distributed.dask.estimators import DaskXGBClassifier, DaskXGBRegressor

__all__ = ["DaskXGBClassifier", "DaskXGBRegressor", "fitted_objective", "train"]

_TAKES_DASK = {
    "calibration": "calibration_ratio calibration_ratio_by_segment expected_calibration_error "
    "reliability_bins",
    "metrics": "extended_qwk_metric quadratic_weighted_kappa",
    "objectives": "kappa_objective qwk_objective",
    "priors": "measured_keep_rates negative_downsample_by_key prior_weights",
    "thresholds": "apply_thresholds optimize_thresholds threshold_statistics",
}
"""Functions that people look for here, by room."""


def __getattr__(name: str) -> Any:
    if name in __all__:  # they need XGBoost, which sums over partitions do without
        _versions.check_installed(_registry.XGBOOST.name)
        place = "estimators" if name.startswith("Dask") else "_train"
        return getattr(_registry.load(f"{__name__}.{place}"), name)
    if name == "experimental":
        return _registry.load(f"{__name__}.experimental")
    own = f"{_registry.XGBOOST.name}.dask"
    elsewhere = {
        **dict.fromkeys(
            ("lightgbm", "DaskLGBMRegressor", "DaskLGBMClassifier"),
            "from gbdt_objectives.experimental.dask import lightgbm",
        ),
        **dict.fromkeys(
            ("DaskDMatrix", "DaskQuantileDMatrix", "predict", "inplace_predict", "DaskXGBRanker"),
            f"import it from {own} itself, {own}.{name}",
        ),
    }.get(name)
    for room, names in _TAKES_DASK.items():
        if name in names.split():
            now = {"threshold_statistics": "ThresholdStatistics.of"}.get(name, name)
            elsewhere = f"gbdt_objectives.{room}.{now} takes Dask collections itself"
    raise _names.missing(__name__, name, elsewhere)


def __dir__() -> list[str]:
    return sorted(__all__)
