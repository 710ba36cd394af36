"""Mean squared error, as a reference point for the other metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gbdt_objectives._blocks import dot
from gbdt_objectives._checks import Array
from gbdt_objectives._workers import all_sum
from gbdt_objectives.metrics.base import Link, Metric


@dataclass(frozen=True, kw_only=True)
class SquaredErrorMetric(Metric):
    """Mean squared error; made by :func:`squared_error_metric`."""

    name: ClassVar[str] = "squared_error"
    greater_is_better: ClassVar[bool] = False
    link: ClassVar[Link | None] = "identity"

    def _value(self, y: Array, p: Array, w: Array | None) -> float:
        r = np.subtract(y, p, dtype=np.float64)
        own = (dot(r, r), len(r)) if w is None else (dot(r, w * r), w.sum(dtype=np.float64))
        total, n = all_sum(own, last=True)
        return float(total / n)


def squared_error_metric() -> SquaredErrorMetric:
    """Weighted mean squared error, sum w (p-y)^2 / sum w.

    Returns
    -------
    Metric
        ``name`` "squared_error", smaller is better, input space "margin".

    Examples
    --------
    >>> from gbdt_objectives import squared_error_metric
    >>> squared_error_metric()([0, 1], [0.0, 3.0])
    2.0
    """
    return SquaredErrorMetric()
