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

from gbdt_objectives import _names, _registry
from gbdt_objectives._checks.spellings import each_word

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

_TAKES_IT = "takes Dask collections itself"
_ELSEWHERE = each_word({
    "from gbdt_objectives.experimental.dask import lightgbm":
        "lightgbm DaskLGBMRegressor DaskLGBMClassifier",
    "import it from xgboost.dask itself, xgboost.dask.{}":
        "DaskDMatrix DaskQuantileDMatrix predict inplace_predict DaskXGBRanker",
    "gbdt_objectives.calibration.{} " + _TAKES_IT: "calibration_ratio reliability_bins "
    "calibration_ratio_by_segment expected_calibration_error",
    "gbdt_objectives.metrics.{} " + _TAKES_IT: "extended_qwk_metric quadratic_weighted_kappa",
    "gbdt_objectives.objectives.{} " + _TAKES_IT: "kappa_objective qwk_objective",
    "gbdt_objectives.priors.{} " + _TAKES_IT:
        "measured_keep_rates negative_downsample_by_key prior_weights",
    "gbdt_objectives.thresholds.{} " + _TAKES_IT: "apply_thresholds optimize_thresholds",
    "gbdt_objectives.thresholds.ThresholdStatistics.of " + _TAKES_IT: "threshold_statistics",
})  # fmt: skip
"""What people look for here."""


def __getattr__(name: str) -> Any:
    if name in __all__:  # they need XGBoost, which sums over partitions do without
        _registry.check_installed(_registry.XGBOOST.name)
        place = "estimators" if name.startswith("Dask") else "_train"
        return getattr(_registry.load(f"{__name__}.{place}"), name)
    if name == "experimental":
        return _registry.load(f"{__name__}.experimental")
    elsewhere = _ELSEWHERE.get(name)
    raise _names.missing(__name__, name, elsewhere and elsewhere.replace("{}", name))


def __dir__() -> list[str]:
    return sorted(__all__)
