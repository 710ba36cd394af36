"""Logistic losses for training data in which only some of the negatives were kept.

Symbols: z margin (log-odds), y label 0 or 1, w weight, r the rate at which negatives
were kept, sigma the logistic function.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._blocks import blocks, dot
from gbdt_objectives._checks import Array
from gbdt_objectives._workers import sum_over_workers
from gbdt_objectives.objectives.base import Constants, Objective, Sums, add_sums
from gbdt_objectives.objectives.domain import BINARY

LARGEST_EXPONENT = {np.dtype(np.float32): 87.0, np.dtype(np.float64): 708.0}
"""Beyond, exp overflows; the probability of the wrong label, below 2e-38 (3e-308), counts as 0."""


@dataclass(frozen=True, kw_only=True)
class LoglossObjective(Objective):
    """Logistic loss with a weight for negatives and an offset of the margin.

    loss = sum w c(y) log(1 + exp(-(2y-1) (z + offset))),  c(1) = 1,  c(0) = negative_weight.
    Made by :func:`weighted_logloss_objective` and :func:`offset_logloss_objective`.
    """

    hessian_kind = "exact"
    label_domain = BINARY
    link = "logit"
    negative_weight: float = 1.0
    offset: float = 0.0
    intercept: float | None = None

    def _measure(self, y: Array, w: Array | None) -> LoglossObjective:
        """The intercept: the constant margin of least loss."""
        if self.intercept is not None:
            return self
        counted = np.bincount(y.astype(np.int8), w, minlength=2).astype(np.float64)
        negative, positive = sum_over_workers(counted).tolist()
        if not (positive > 0 and negative > 0):
            raise ValueError(
                f"y_true has one class only, found weight {positive:g} for label 1 and "
                f"{negative:g} for label 0: both must occur"
            )
        odds = positive / (self.negative_weight * negative)
        return dataclasses.replace(self, intercept=math.log(odds) - self.offset)

    def _loss(self, y: Array, z: Array, w: Array | None) -> float:
        negatives, positives, _, _ = self._loss_sums(y, z, w)
        return self.negative_weight * negatives + positives

    def _loss_sums(self, y: Array, z: Array, w: Array | None) -> Sums:
        """Additive: the loss of the negatives, without their weight, and of the positives; and
        the (weighted) number of each."""
        parts = []
        for rows in blocks(z):
            positive = self._check_labels(y, rows).astype(z.dtype)
            margin = self._check_margins(z, z[rows])
            negative = 1 - positive
            q = negative - positive
            q *= margin + self.offset if self.offset else margin
            losses = softplus(q)
            if w is None:
                n = dot(positive, positive)
                numbers = len(q) - n, n
            else:
                v = w[rows].astype(z.dtype)
                losses *= v
                numbers = dot(negative, v), dot(positive, v)
            parts.append((dot(negative, losses), dot(positive, losses), *numbers))
        return add_sums(parts)

    def _constants(self, y: Array, w: Array | None, hessian: Array, lasting: bool) -> Constants:
        """2y-1, the gradient's factor w c(y) (1-2y), and w c(y) unless it is 1 everywhere."""
        right = 2 * y.astype(hessian.dtype) - 1
        if w is None and self.negative_weight == 1:
            return right, -right
        c = np.full_like(right, self.negative_weight)
        c[right > 0] = 1
        if w is not None:
            c *= w.astype(c.dtype, copy=False)
        return right, -right * c, c

    def _write(
        self, constants: Constants, f: Array, totals: Any, gradient: Array, hessian: Array
    ) -> None:
        """With E = exp((2y-1) s) the odds of the right label, s = z + offset: the probability of
        the wrong one is 1/(1+E), no cancellation in either tail, and the hessian E/(1+E)^2."""
        right, slope, *c = constants
        s = np.add(f, self.offset, out=gradient) if self.offset else f
        log_E = np.multiply(s, right, out=gradient)
        largest = LARGEST_EXPONENT[log_E.dtype]
        certain = log_E > largest if log_E.max() > largest else None
        if certain is not None:
            log_E[certain] = 0
        E = np.exp(log_E, out=hessian)
        wrong = np.add(E, 1, out=gradient)
        np.reciprocal(wrong, out=wrong)
        hessian *= wrong
        hessian *= wrong
        gradient *= slope
        if c:
            hessian *= c[0]
        if certain is not None:
            gradient[certain] = hessian[certain] = 0


def softplus(q: Array) -> Array:
    """log(1 + exp(q)) to a few roundings in both tails, in the precision of ``q``."""
    size = np.abs(q)
    E = np.exp(-size)
    u = E + 1
    losses: Array = np.log(u)
    u -= 1
    E -= u  # what 1 + E lost in rounding
    losses += E
    size *= 0.5
    size += 0.5 * q  # max(q, 0)
    losses += size
    return losses


def weighted_logloss_objective(negative_keep_rate: float) -> LoglossObjective:
    """Logistic loss in which each kept negative counts for all those it was sampled from.

    ::

        loss      sum w c (-y log sigma(z) - (1-y) log(1 - sigma(z))),  c = 1 if y = 1 else 1/r
        gradient  w c (sigma(z) - y)
        hessian   w c sigma(z) (1 - sigma(z)),  exact

    The margin z is the log-odds in the full population, before sampling.

    Parameters
    ----------
    negative_keep_rate : float in (0, 1]
        r, the fraction of the negatives that was kept in the training data.

    Returns
    -------
    LoglossObjective
        Usable as ``obj=`` and ``objective=`` in all four booster interfaces. Labels
        are 0 and 1.

    Raises
    ------
    ValueError
        If the rate is not in (0, 1]; while training, if a label is not 0 or 1.

    See Also
    --------
    offset_logloss_objective : The same margin without large weights; usually better.

    References
    ----------
    McMahan et al. (2013), "Ad click prediction: a view from the trenches", section 4.3;
    King & Zeng (2001), Political Analysis 9(2), section 4.2.

    Examples
    --------
    >>> from gbdt_objectives import weighted_logloss_objective
    >>> gradient, hessian = weighted_logloss_objective(0.1)([1, 0], [0.0, 0.0])
    >>> gradient
    array([-0.5,  5. ], dtype=float32)
    """
    r = _checks.keep_rate("negative_keep_rate", negative_keep_rate)
    return LoglossObjective(negative_weight=1 / r)


def offset_logloss_objective(negative_keep_rate: float) -> LoglossObjective:
    """Logistic loss on sampled data whose margin is the log-odds before sampling.

    Keeping negatives at rate r adds -log r to every row's log-odds, so the loss
    sees s = z - log r while the model learns z::

        loss      sum w (-y log sigma(s) - (1-y) log(1 - sigma(s))),  s = z - log r
        gradient  w (sigma(s) - y)
        hessian   w sigma(s) (1 - sigma(s)),  exact

    Parameters
    ----------
    negative_keep_rate : float in (0, 1]
        r, the fraction of the negatives that was kept in the training data.

    Returns
    -------
    LoglossObjective
        Usable as ``obj=`` and ``objective=`` in all four booster interfaces. Labels
        are 0 and 1; the margin, and sigma of it, need no correction afterwards.

    Raises
    ------
    ValueError
        If the rate is not in (0, 1]; while training, if a label is not 0 or 1.

    References
    ----------
    King & Zeng (2001), Political Analysis 9(2), section 4.1, as an offset in training.

    Examples
    --------
    >>> import math
    >>> from gbdt_objectives import offset_logloss_objective
    >>> obj = offset_logloss_objective(0.1)
    >>> gradient, hessian = obj([1, 0], [math.log(0.1)] * 2)
    >>> gradient
    array([-0.5,  0.5], dtype=float32)
    """
    r = _checks.keep_rate("negative_keep_rate", negative_keep_rate)
    return LoglossObjective(offset=-math.log(r))
