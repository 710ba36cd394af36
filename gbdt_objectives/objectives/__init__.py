"""Objectives: labels, margins and weights to gradients and hessians. numpy only."""

from gbdt_objectives.objectives.base import Objective, objective
from gbdt_objectives.objectives.logloss import (
    offset_logloss_objective,
    weighted_logloss_objective,
)
from gbdt_objectives.objectives.qwk import qwk_objective

__all__ = [
    "Objective",
    "objective",
    "offset_logloss_objective",
    "qwk_objective",
    "weighted_logloss_objective",
]
