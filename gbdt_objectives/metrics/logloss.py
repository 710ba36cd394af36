"""Logloss of the full population from downsampled rows, and as a share of the base rate's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._workers import all_sum
from gbdt_objectives.metrics.base import InputSpace, Link, Metric
from gbdt_objectives.objectives import weighted_logloss_objective


@dataclass(frozen=True, kw_only=True)
class WeightedLoglossMetric(Metric):
    """Logloss with kept negatives weighted back; made by :func:`weighted_logloss_metric`."""

    name: ClassVar[str] = "weighted_logloss"
    greater_is_better: ClassVar[bool] = False
    link: ClassVar[Link | None] = "logit"
    negative_keep_rate: float

    def _value(self, y: Array, p: Array, w: Array | None) -> float:
        if self.input_space == "margin":
            objective = weighted_logloss_objective(self.negative_keep_rate)
            sums = all_sum(objective._loss_sums(y, p, w), last=True)
            negative_loss, positive_loss, negatives, positives = sums.tolist()
            weight = objective.negative_weight
            total = weight * negative_loss + positive_loss
            return float(total / (weight * negatives + positives))
        _checks.binary_labels("y_true", y)
        wrong = (p < 0) | (p > 1)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"y_pred must be probabilities in [0, 1], found {p[row]} at row {row}: "
                'for log-odds use input_space="margin"'
            )
        c = np.where(y == 1, 1.0, 1 / self.negative_keep_rate)
        if w is not None:
            c *= w
        with np.errstate(divide="ignore"):  # log 0: a certain prediction that is wrong costs inf
            log_likelihood = np.where(y == 1, np.log(p), np.log1p(-p))
        counts = c > 0
        own = c[counts] @ log_likelihood[counts], c.sum()
        total, n = all_sum(own, last=True)
        return float(-total / n)


def weighted_logloss_metric(
    negative_keep_rate: float, *, input_space: InputSpace = "margin"
) -> WeightedLoglossMetric:
    """Mean logloss of the full population, from rows with downsampled negatives.

    ::

        sum w c l / sum w c,   l = -y log p - (1-y) log(1-p),   c = 1 if y = 1 else 1/r

    Parameters
    ----------
    negative_keep_rate : float in (0, 1]
        r, the fraction of negatives that was kept in the rows to be scored; 1 if none
        were dropped.
    input_space : {"margin", "probability"}
        What is scored: log-odds, as boosters hand out under a custom objective
        (exact also where the probability rounds to 0 or 1), or probabilities, as under
        a built-in one.

    Returns
    -------
    Metric
        ``name`` "weighted_logloss", smaller is better.

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


@dataclass(frozen=True, kw_only=True)
class NormalizedEntropyMetric(WeightedLoglossMetric):
    """Logloss over the entropy of the labels; made by :func:`normalized_entropy_metric`."""

    name: ClassVar[str] = "normalized_entropy"

    def _value(self, y: Array, p: Array, w: Array | None) -> float:
        _checks.binary_labels("y_true", y)
        counted = np.bincount(y.astype(np.int8), w, minlength=2)
        negatives, positives = all_sum(counted).tolist()
        logloss = super()._value(y, p, w)
        q = positives / (negatives / self.negative_keep_rate + positives)
        if q in (0, 1):
            raise ValueError(
                f"y_true holds the single class {q:g}, whose entropy is 0, and nothing can be "
                "divided by it: evaluate on rows of both"
            )
        return logloss / -float(q * math.log(q) + (1 - q) * math.log1p(-q))


def normalized_entropy_metric(
    negative_keep_rate: float = 1.0, *, input_space: InputSpace = "margin"
) -> NormalizedEntropyMetric:
    """Logloss of the full population over that of predicting its base rate for every row.

    ::

        logloss / (-q log q - (1-q) log(1-q)),   q = sum w c y / sum w c

    with the logloss and c of :func:`weighted_logloss_metric`. On one set of rows the
    divisor is constant, so training stops where it would on the logloss, but the figure
    means something (1 is no better than the base rate) and can be compared between data
    sets.

    Parameters
    ----------
    negative_keep_rate, input_space
        As in :func:`weighted_logloss_metric`.

    Returns
    -------
    Metric
        ``name`` "normalized_entropy", smaller is better.

    Raises
    ------
    ValueError
        A rate outside (0, 1]; when called, one class only, labels that are not 0 or 1 or
        probabilities outside [0, 1].

    References
    ----------
    He et al. (2014), "Practical lessons from predicting clicks on ads at Facebook",
    section 3.

    Examples
    --------
    >>> from gbdt_objectives import normalized_entropy_metric
    >>> metric = normalized_entropy_metric(input_space="probability")
    >>> round(metric([1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]), 4)
    1.0
    """
    logloss = weighted_logloss_metric(negative_keep_rate, input_space=input_space)
    return NormalizedEntropyMetric(
        negative_keep_rate=logloss.negative_keep_rate, input_space=input_space
    )
