"""Logloss of the full population from downsampled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._links import LOGIT, Link
from gbdt_objectives._rows import Rows
from gbdt_objectives.metrics.base import InputSpace, MeanMetric
from gbdt_objectives.objectives import weighted_logloss_objective


@dataclass(frozen=True, kw_only=True)
class WeightedLoglossMetric(MeanMetric):
    """Logloss with kept negatives weighted back; made by :func:`weighted_logloss_metric`."""

    name: ClassVar[str] = "weighted_logloss"
    greater_is_better: ClassVar[bool] = False
    link: ClassVar[Link | None] = LOGIT
    negative_keep_rate: float

    @property
    def logloss(self) -> Any:
        return weighted_logloss_objective(self.negative_keep_rate).equations

    def read(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        rows = super().read(y_true, y_pred, sample_weight)
        _checks.binary_labels("y_true", rows.y)
        wrong = (rows.f < 0) | (rows.f > 1)
        if self.input_space == "probability" and wrong.any():
            p = np.asarray(y_pred)
            row = int(np.flatnonzero((p < 0) | (p > 1))[0])
            raise ValueError(
                f"y_pred must be probabilities in [0, 1], found {p[row]} at row {row}: "
                'for log-odds use input_space="margin"'
            )
        return rows

    def terms(self, y: Array, p: Array, xp: Any) -> tuple[Any, ...]:
        """The loss of each row and how often it counts."""
        c = self.logloss.class_factor(y)
        if self.input_space == "margin":
            return self.logloss.row_loss(y, p, xp), c
        with np.errstate(divide="ignore"):  # log 0: a certain prediction that is wrong costs inf
            return -c * np.where(y == 1, np.log(p), np.log1p(-p)), c

    def sums(self, rows: Rows) -> Any:
        return rows.sum(self.terms, narrow=True)


def weighted_logloss_metric(
    negative_keep_rate: float, *, input_space: InputSpace = "margin"
) -> WeightedLoglossMetric:
    """Mean logloss of the full population, from rows with downsampled negatives.

    ::

        sum w c l / sum w c,   l = -y log p - (1-y) log(1-p),   c = 1 if y = 1 else 1/r

    Parameters
    ----------
    negative_keep_rate : float in (0, 1]
        r, the fraction of negatives that was kept in the rows to be scored; 1 if none were dropped.
    input_space : {"margin", "probability"}
        What is scored: log-odds, as boosters hand out under a custom objective (exact also where
        the probability rounds to 0 or 1), or probabilities, as under a built-in one.

    Returns
    -------
    Metric
        ``name`` "weighted_logloss", smaller is better.

    See Also
    --------
    gbdt_objectives.calibration.normalized_entropy : the logloss as a share of the base rate's. On
        one set of rows the divisor is constant, so that training stops at the same round.

    Raises
    ------
    ValueError
        A rate outside (0, 1]; when called, labels that are not 0 or 1 or probabilities
        outside [0, 1].

    Examples
    --------
    >>> from gbdt_objectives import weighted_logloss_metric
    >>> round(weighted_logloss_metric(0.1)([1, 0], [0.0, 0.0]), 4)
    0.6931
    """
    rate = _checks.keep_rate("negative_keep_rate", negative_keep_rate)
    _checks.choice("input_space", input_space, ("margin", "probability"))
    return WeightedLoglossMetric(negative_keep_rate=rate, input_space=input_space)
