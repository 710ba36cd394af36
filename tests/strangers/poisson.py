"""Poisson loss of counts, written by CONTRIBUTING.md alone.

loss = sum w (exp(f) - y f), f the log of the mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from gbdt_objectives.objectives import LOG, Interval, Loss, Objective


@dataclass(frozen=True, kw_only=True)
class PoissonLoss(Loss):
    labels = Interval(low=0)
    link = LOG
    hessian = "exact"
    intercept: float | None = None

    def measured(self, rows):
        total, n = rows.sum(lambda y, f, xp: (y, 1.0))
        if total == 0:
            raise ValueError("y_true is 0 in all rows: there must be a count")
        return replace(self, intercept=math.log(total / n))

    def row_loss(self, y, f, xp):
        return xp.exp(f) - y * f

    def gradient_hessian(self, y, f, totals, xp):
        mean = xp.exp(f)
        return mean - y, mean


def poisson_objective() -> Objective:
    return Objective(PoissonLoss())
