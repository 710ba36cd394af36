"""Logistic losses for training data in which only some negatives were kept.

Symbols: z margin (log-odds), y label 0 or 1, w weight, r the rate at which negatives
were kept, sigma the logistic function.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._blocks import blocks, dot
from gbdt_objectives.distributed import sum_over_workers
from gbdt_objectives.objectives.base import Array, HessianKind, Objective


@dataclass(frozen=True, kw_only=True)
class LoglossObjective(Objective):
    """Logistic loss with a weight for negatives and an offset of the margin.

    loss = sum w c(y) log(1 + exp(-(2y-1) (z + offset))),  c(1) = 1,  c(0) = negative_weight.
    Made by :func:`weighted_logloss_objective` and :func:`offset_logloss_objective`.
    """

    hessian_kind: ClassVar[HessianKind] = "exact"
    link: ClassVar[Literal["identity", "logit"]] = "logit"
    negative_weight: float = 1.0
    offset: float = 0.0
    intercept: float | None = None

    def measured(
        self, y_true: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LoglossObjective:
        """The intercept: the constant margin of least loss."""
        if self.intercept is not None:
            return self
        y = _checks.vector("y_true", y_true)
        _checks.binary_labels("y_true", y)
        w = _checks.weights("sample_weight", sample_weight, len(y))
        v = np.ones(len(y)) if w is None else w
        positive, negative = sum_over_workers(np.array([v @ (y == 1), v @ (y == 0)], np.float64))
        if not (positive > 0 and negative > 0):
            raise ValueError(
                f"y_true has one class only, found weight {positive:g} of label 1 and "
                f"{negative:g} of label 0: both must occur"
            )
        odds = positive / (self.negative_weight * negative)
        return dataclasses.replace(self, intercept=math.log(odds) - self.offset)

    def loss(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Total weighted logistic loss."""
        y, z, w = self._checked(y_true, margin, sample_weight)
        total = 0.0
        for rows in blocks(z):
            c = self._weight(y[rows], z[rows], None if w is None else w[rows])
            s = z[rows].astype(np.float64) + self.offset
            total += dot(c, np.logaddexp(0, np.where(y[rows] == 1, -s, s)))
        return total

    def _rows(
        self, y: Array, f: Array, w: Array | None, totals: Any, gradient: Array, hessian: Array
    ) -> None:
        c = self._weight(y, f, w)
        s = f + self.offset
        e = np.exp(-np.abs(s))
        small, large = e / (1 + e), 1 / (1 + e)  # sigma(-|s|), sigma(|s|): no cancellation
        # sigma(s) - y is sigma(s) for a negative and -sigma(-s) for a positive
        positive = y == 1
        wrong = np.where((s > 0) == positive, small, large)
        gradient[:] = c * np.where(positive, -wrong, wrong)
        hessian[:] = c * small * large

    def _weight(self, y: Array, z: Array, w: Array | None) -> Array:
        """w c(y); the block's labels and margins are checked on the way."""
        _checks.binary_labels("y_true", y)
        if not math.isfinite(dot(z, z)):
            _checks.finite("margin", z)
        c = np.where(y == 1, 1.0, self.negative_weight).astype(z.dtype, copy=False)
        return c if w is None else c * w


def weighted_logloss_objective(negative_keep_rate: float) -> LoglossObjective:
    """Logistic loss in which each kept negative stands for all it was drawn from.

    ::

        loss      sum w c (-y log sigma(z) - (1-y) log(1 - sigma(z))),  c = 1 if y = 1 else 1/r
        gradient  w c (sigma(z) - y)
        hessian   w c sigma(z) (1 - sigma(z)),  exact

    The margin z is the log-odds in the full population, before sampling.

    Parameters
    ----------
    negative_keep_rate : float in (0, 1]
        r, the fraction of negatives that is in the training data.

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
    offset_logloss_objective : the same margin without large weights; usually better.

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
        r, the fraction of negatives that is in the training data.

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
