"""A metric that a stranger adds: the share of rows that are at most one class off.

F counts the rows that are further off, G all of them, and the metric is 1 - F/G.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gbdt_objectives.metrics import ClassMetric, RatioMetric


@dataclass(frozen=True, kw_only=True)
class WithinOne(RatioMetric):
    name: ClassVar[str] = "within_one"

    def ratio_costs(self, class_weight):
        k = np.arange(len(class_weight))
        F = (np.abs(k[:, np.newaxis] - k) > 1).astype(float)
        return F, np.ones_like(F)


def within_one_metric() -> ClassMetric:
    return WithinOne()
