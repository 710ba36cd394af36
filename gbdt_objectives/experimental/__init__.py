"""Experimental: what has no promise of compatibility yet. Names, arguments and results may change
in any release.

Segments that moved: :func:`repair_segments` appends small trees to a trained binary model.

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
from gbdt_objectives.experimental.repair import SegmentRepair, repair_segments

__all__ = [
    "DelayDistribution", "SegmentRepair", "dask", "delay_distribution", "delayed_logloss_objective",
    "repair_segments",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__, ("dask",))
