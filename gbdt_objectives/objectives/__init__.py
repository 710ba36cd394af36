"""Objectives: labels, margins and weights to gradients and hessians. numpy only.

Conventions of this room
------------------------
n rows. ``y_true``: labels, shape (n,). ``margin``: untransformed scores, shape (n,).
``sample_weight``: shape (n,), >= 0, or None for all ones; a weight of w means the same as w copies
of the row, also inside sums over all rows. ``gradient``, ``hessian``: first derivative and diagonal
of the second, one per row, shaped like the margin. ``loss``: the total over rows, not the mean.
"""

from gbdt_objectives._checks.arrays import BINARY, REAL, Classes, Interval, Values
from gbdt_objectives._links import IDENTITY, LOG, LOGIT, UNDECLARED, Link
from gbdt_objectives._public import attributes
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.objectives.base import Objective
from gbdt_objectives.objectives.function import objective, objective_from_loss
from gbdt_objectives.objectives.logloss import (
    focal_objective,
    offset_logloss_objective,
    weighted_logloss_objective,
)
from gbdt_objectives.objectives.loss import Loss
from gbdt_objectives.objectives.ordinal_logit import ordinal_logit_objective
from gbdt_objectives.objectives.qwk import qwk_objective
from gbdt_objectives.objectives.ratio import kappa_objective, ratio_objective

__all__ = [
    "BINARY", "IDENTITY", "LOG", "LOGIT", "REAL", "UNDECLARED", "Classes", "Interval", "Link",
    "Loss", "Objective", "Rows", "Values", "focal_objective", "kappa_objective", "objective",
    "objective_from_loss", "offset_logloss_objective", "ordinal_logit_objective", "qwk_objective",
    "ratio_objective", "weighted_logloss_objective",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__)
