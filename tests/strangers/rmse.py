"""Root mean squared error, which couples rows, written by CONTRIBUTING.md alone.

loss = n R, R = sqrt(sum w (f-y)^2 / n), n = sum w; gradient w (f-y)/R; the hessian w/R is a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from gbdt_objectives.objectives import IDENTITY, REAL, Loss, Objective


@dataclass(frozen=True, kw_only=True)
class RMSELoss(Loss):
    labels = REAL
    link = IDENTITY
    hessian = "upper_bound"
    intercept: float | None = None

    def measured(self, rows):
        total, n = rows.sum(lambda y, f, xp: (y, 1.0))
        return replace(self, intercept=float(total / n))

    def totals(self, rows):
        n, squares = rows.sum(lambda y, f, xp: (1.0, (f - y) ** 2))
        return float(n), math.sqrt(squares / n)

    def value(self, rows):
        n, R = self.totals(rows)
        return n * R, n

    def gradient_hessian(self, y, f, totals, xp):
        R = totals[1] or 1.0  # of a perfect fit, whose gradient is 0
        return (f - y) / R, 1 / R


def rmse_objective() -> Objective:
    return Objective(RMSELoss())
