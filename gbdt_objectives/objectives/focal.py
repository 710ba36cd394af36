"""Focal loss of two classes, for confident mistakes to count and easy rows not to.

Symbols: y label 0 or 1, z margin, s = (2y-1) z, p = sigma(s) the probability of the right label,
q = 1-p, g gamma, c(1) = alpha and c(0) = 1-alpha (1 without alpha), w weight.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._workers import sum_over_workers
from gbdt_objectives.objectives.base import Objective
from gbdt_objectives.objectives.domain import BINARY


@dataclass(frozen=True, kw_only=True)
class FocalObjective(Objective):
    """Focal loss; made by :func:`focal_objective`, which explains it."""

    hessian_kind = "bounded"
    label_domain = BINARY
    link = "logit"
    gamma: float
    alpha: float | None = None
    intercept: float | None = None

    def class_probability(self, margin: ArrayLike) -> Array:
        """The probability of label 1 that a margin of least expected loss stands for.

        sigma(margin) is not it, unless gamma = 0: the loss is least elsewhere. ::

            pi = c(0) A(-z) / (c(1) A(z) + c(0) A(-z)),   A(z) = q^g (q - g p log p) at s = z

        Parameters
        ----------
        margin : array-like of shape (n,)

        Returns
        -------
        ndarray of shape (n,)
            float64, in [0, 1], rising with the margin.
        """
        from scipy.special import expit

        z = _checks.vector("margin", margin).astype(np.float64)
        result: Array = expit(self._log_slope(-z) - self._log_slope(z) - self._log_class_odds)
        return result

    @property
    def _log_class_odds(self) -> float:
        """log c(1)/c(0)."""
        return 0.0 if self.alpha is None else float(np.log(self.alpha) - np.log1p(-self.alpha))

    def _log_slope(self, s: Array) -> Array:
        """log A: how much the loss of a row falls with s."""
        near = np.minimum(s, 30)  # beyond it -p log p / q is 1, and log q the only change
        log_p, _, p, q = _terms(near)
        result: Array = (self.gamma + 1) * _terms(s)[1] + np.log1p(-self.gamma * p * log_p / q)
        return result

    def _measure(self, y: Array, w: Array | None) -> FocalObjective:
        """The intercept: the constant margin of least loss."""
        if self.intercept is not None:
            return self
        from scipy.optimize import brentq

        counted = np.bincount(y.astype(np.int8), w, minlength=2).astype(np.float64)
        negative, positive = sum_over_workers(counted).tolist()
        if not (positive > 0 and negative > 0):
            raise ValueError(
                f"y_true has one class only, found weight {positive:g} for label 1 and "
                f"{negative:g} for label 0: both must occur"
            )
        odds = float(np.log(positive / negative)) + self._log_class_odds

        def excess(z: float) -> float:
            at = self._log_slope(np.array([z, -z]))
            return odds + float(at[0] - at[1])

        far = abs(odds) + 1  # as A(z)/A(-z) falls at least as exp(-z)
        return dataclasses.replace(self, intercept=float(brentq(excess, -far, far, xtol=1e-12)))

    def _class_weight(self, y: Array, like: Array) -> Array | float:
        """c(y)."""
        if self.alpha is None:
            return 1.0
        a = like.dtype.type(self.alpha)
        weight: Array = y * a + (1 - y) * (1 - a)
        return weight

    def _row_loss(self, y: Array, f: Array) -> Array:
        log_p, log_q, _, _ = _terms((2 * y - 1) * f)
        loss: Array = -np.exp(self.gamma * log_q) * log_p * self._class_weight(y, f)
        return loss

    def _row_gradient_hessian(self, y: Array, f: Array) -> tuple[Array, Array]:
        sign = 2 * y - 1
        log_p, log_q, p, q = _terms(sign * f)
        p *= log_p
        p *= -self.gamma
        p += q
        log_q *= self.gamma
        p *= np.exp(log_q, out=log_q)  # A(s), the gradient's size
        if self.alpha is not None:
            p *= self._class_weight(y, f)
        np.multiply(p, (1 + self.gamma) / 2, out=q)
        sign *= p
        return np.negative(sign, out=sign), q


def _terms(s: Array) -> tuple[Array, Array, Array, Array]:
    """log p, log q, p and q, without cancellation in either tail."""
    E = np.exp(-np.abs(s))
    far = np.log1p(E)
    log_p, log_q = np.minimum(s, 0) - far, -np.maximum(s, 0) - far
    likely = 1 / (1 + E)
    E *= likely
    right = s >= 0
    return log_p, log_q, np.where(right, likely, E), np.where(right, E, likely)


def focal_objective(gamma: float, alpha: float | None = None) -> FocalObjective:
    """Focal loss: the logistic loss, in which rows that are easily right count less.

    ::

        loss      sum w c q^g (-log p),   p = sigma((2y-1) z),  q = 1 - p
        gradient  -(2y-1) w c q^g (q - g p log p)
        hessian   (1 + g)/2 |gradient|,   bounded

    with c = alpha for label 1 and 1 - alpha for label 0, or 1. The second derivative is
    negative for confident mistakes, which boosters cannot use; with this hessian the step of a
    leaf of one margin never passes the leaf's optimum.

    sigma(z) is **not** a probability of label 1: the loss is least at a margin closer to 0
    (gamma > 0) and shifted (alpha). ``class_probability(margin)`` of the objective inverts
    that for a model that fits; for any other calibrate on held-out rows, with
    ``LogitCalibrator`` for instance. The ranking needs neither.

    Parameters
    ----------
    gamma : float >= 0
        g; 0 is the logistic loss, 2 is usual.
    alpha : float in (0, 1), optional
        The weight of label 1, 1 - alpha that of label 0. None: 1 for both.

    Returns
    -------
    FocalObjective
        Usable as ``obj=`` and ``objective=`` in all four booster interfaces. Labels are 0
        and 1; ``class_probability`` is explained above.

    Raises
    ------
    ValueError
        If gamma < 0 or alpha is outside (0, 1); while training, if a label is not 0 or 1.

    References
    ----------
    Lin, Goyal, Girshick, He & Dollar (2017), "Focal loss for dense object detection", ICCV,
    sections 3.2 and 3.3; Charoenphakdee, Vongkulbhisal, Chairatanakul & Sugiyama (2021), "On
    focal loss for class-posterior probability estimation", CVPR, for the probability.

    Examples
    --------
    >>> from gbdt_objectives import focal_objective
    >>> obj = focal_objective(2.0)
    >>> gradient, hessian = obj([1, 1, 0], [-3.0, 0.0, -1.0])
    >>> gradient.round(3)
    array([-1.127, -0.298,  0.053], dtype=float32)
    >>> obj.class_probability([-1.0, 0.0, 1.0]).round(3)
    array([0.064, 0.5  , 0.936])
    """
    g = _checks.number("gamma", gamma)
    if g < 0:
        raise ValueError(f"gamma must be at least 0, found {g:g}: 0 is the logistic loss")
    if alpha is None:
        return FocalObjective(gamma=g)
    a = _checks.number("alpha", alpha)
    if not 0 < a < 1:
        raise ValueError(
            f"alpha must be above 0 and below 1, found {a:g}: it is the weight of label 1, that of "
            "label 0 is 1 - alpha"
        )
    return FocalObjective(gamma=g, alpha=a)
