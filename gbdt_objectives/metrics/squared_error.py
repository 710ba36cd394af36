"""Mean squared error, as a reference point for the other metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gbdt_objectives._links import IDENTITY, Link
from gbdt_objectives._rows import Rows
from gbdt_objectives.metrics.base import MeanMetric


@dataclass(frozen=True, kw_only=True)
class SquaredErrorMetric(MeanMetric):
    """Mean squared error; made by :func:`squared_error_metric`."""

    name: ClassVar[str] = "squared_error"
    greater_is_better: ClassVar[bool] = False
    link: ClassVar[Link | None] = IDENTITY

    def sums(self, rows: Rows) -> Any:
        return rows.sum(lambda y, p, xp: ((y - p) * (y - p), 1.0), narrow=True)


def squared_error_metric() -> SquaredErrorMetric:
    """Weighted mean squared error, sum w (p-y)^2 / sum w.

    Returns
    -------
    Metric
        ``name`` "squared_error", smaller is better, input space "margin".

    Examples
    --------
    >>> from gbdt_objectives.metrics import squared_error_metric
    >>> squared_error_metric()([0, 1], [0.0, 3.0])
    2.0
    """
    return SquaredErrorMetric()
