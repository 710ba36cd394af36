"""Logloss of the full population, measured on rows of which some negatives were dropped.

Also as a share of the base rate's, which is the normalized entropy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
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
            negative_loss, positive_loss, negatives, positives = objective._loss_sums(y, p, w)
            weight = objective.negative_weight
            return (weight * negative_loss + positive_loss) / (weight * negatives + positives)
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
        return float(-np.average(log_likelihood[counts], weights=c[counts]))

    def _class_weights(self, y: Array, w: Array | None) -> tuple[float, float]:
        """sum w c of the negatives and of the positives."""
        negatives, positives = np.bincount(y.astype(np.int8), w, minlength=2).tolist()
        return negatives / self.negative_keep_rate, positives


def weighted_logloss_metric(
    negative_keep_rate: float, *, input_space: InputSpace = "margin"
) -> WeightedLoglossMetric:
    """Mean logloss of the full population, from rows with only some negatives kept.

    ::

        sum w c l / sum w c,   l = -y log p - (1-y) log(1-p),   c = 1 if y = 1 else 1/r

    Parameters
    ----------
    negative_keep_rate : float in (0, 1]
        r, the fraction of negatives that is in the rows that are scored; 1 if none
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
class NormalizedEntropyMetric(Metric):
    """Logloss over the entropy of the labels; made by :func:`normalized_entropy_metric`."""

    name: ClassVar[str] = "normalized_entropy"
    greater_is_better: ClassVar[bool] = False
    link: ClassVar[Link | None] = "logit"
    negative_keep_rate: float

    def _value(self, y: Array, p: Array, w: Array | None) -> float:
        metric = WeightedLoglossMetric(
            negative_keep_rate=self.negative_keep_rate, input_space=self.input_space
        )
        logloss = metric._value(y, p, w)
        negatives, positives = metric._class_weights(y, w)
        q = positives / (negatives + positives)
        if q in (0, 1):
            raise ValueError(
                f"y_true holds the single class {q:g}: its entropy is 0, and nothing can be "
                "divided by it; evaluate on rows of both"
            )
        return logloss / -(q * math.log(q) + (1 - q) * math.log1p(-q))


def normalized_entropy_metric(
    negative_keep_rate: float = 1.0, *, input_space: InputSpace = "margin"
) -> NormalizedEntropyMetric:
    """Logloss of the full population over that of its base rate predicted to everyone.

    ::

        logloss / (-q log q - (1-q) log(1-q)),   q = sum w c y / sum w c

    with the logloss and c of :func:`weighted_logloss_metric`. On one set of rows the
    divisor is a constant: early stopping is that of the logloss, but the figure can be
    read (1 is no better than the base rate) and compared between data.

    Parameters
    ----------
    negative_keep_rate : float in (0, 1]
        The fraction of negatives that is in the rows that are scored; 1 if none were
        dropped.
    input_space : {"margin", "probability"}
        What is scored: log-odds, as boosters hand out under a custom objective, or
        probabilities, as under a built-in one.

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
    rate = _checks.keep_rate("negative_keep_rate", negative_keep_rate)
    _checks.choice("input_space", input_space, ("margin", "probability"))
    return NormalizedEntropyMetric(negative_keep_rate=rate, input_space=input_space)
