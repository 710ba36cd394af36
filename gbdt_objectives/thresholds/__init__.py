"""Thresholds: from a continuous score to ordered classes, exactly.

Conventions of this room: n rows, K ordered classes at positions 0..K-1, whatever their labels.
``score``: (n,), on any scale, rising with the class. ``thresholds``: (K-1,), sorted, in its unit.

A *pool* is a set of rows that no threshold separates: those of one distinct score, or of one bin.
There are d pools in ascending order of score; a *cut* is the number of pools below it, 0..d.
"""

from gbdt_objectives._public import attributes
from gbdt_objectives.thresholds.actions import ActionRule
from gbdt_objectives.thresholds.decisions import (
    DecisionRule,
    decide,
    optimize_actions,
    optimize_decisions,
)
from gbdt_objectives.thresholds.optimize import (
    ThresholdStatistics,
    optimize_multilabel_thresholds,
    optimize_thresholds,
)
from gbdt_objectives.thresholds.rows import Thresholds, apply_thresholds
from gbdt_objectives.thresholds.segments import SegmentShift, fit_segment_shift

__all__ = [
    "ActionRule", "DecisionRule", "SegmentShift", "ThresholdStatistics", "Thresholds",
    "apply_thresholds", "decide", "fit_segment_shift", "optimize_actions", "optimize_decisions",
    "optimize_multilabel_thresholds",
    "optimize_thresholds",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__)
