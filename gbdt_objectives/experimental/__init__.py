"""Experimental: what has no promise of compatibility yet. Names, arguments and results may change
in any release.

Labels that arrive late: :func:`delay_distribution` estimates how long they take, and
:func:`delayed_logloss_objective` trains on those that have arrived.

LightGBM on Dask: ``gbdt_objectives.experimental.dask.lightgbm`` trains on the rows of all workers.
"""

from gbdt_objectives._public import attributes
from gbdt_objectives.experimental.delay import (
    DelayDistribution,
    delay_distribution,
    delayed_logloss_objective,
)

__all__ = [
    "DelayDistribution", "dask", "delay_distribution", "delayed_logloss_objective",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__, ("dask",))
