"""Focal loss: confident mistakes count, easy rows hardly do.

Symbols: y label, p the probability that the margins z give it, q = 1-p, x = log(q/p), g gamma,
w weight, c(y) alpha's factor for the class. One margin: x = -(2y-1) z. K margins: x = log(sum of
exp of the others) - z[y], and r is the softmax of the others.

Gradients are products of A, the slope of the loss in x, without a difference of close numbers::

    A = q^g (q - g p log p) = q^(g+1) (1 + g log(1 + e^x) / e^x)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._checks.arrays import BINARY, Classes
from gbdt_objectives._links import LOGIT, Link
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives._steps import formulas
from gbdt_objectives._steps.steps import Step
from gbdt_objectives.objectives import logloss
from gbdt_objectives.objectives.base import Both, Loss, Objective

ABSENT = 1e-6  # weight of a class without rows, as a share of the rarest's: for a finite intercept


@dataclass(frozen=True, kw_only=True)
class FocalLoss(Loss):
    """Focal loss of two classes; made by :func:`focal_objective`, which explains it."""

    hessian = "bounded"
    labels = BINARY
    gamma: float
    alpha: float | None = None
    intercept: float | None = None

    @property
    def link(self) -> Link:
        return Link.score(self.probability, 2)

    def probability(self, z: Array) -> Array:
        """The class probabilities at a margin of least expected loss, (n, 2).

        With p = sigma(z), which is the probability of label 1 only if gamma = 0, and q = 1 - p ::

            P(y=1) = c(0) A(-z) / (c(1) A(z) + c(0) A(-z)),   A(z) = q^g (q - g p log p)
        """
        return LOGIT.class_probability(self._log_odds(z))

    def step(self) -> Step:
        """The formula of the probability of label 1, and its numbers."""
        return {
            "formula": "focal", "gamma": self.gamma, "log_class_odds": self._log_class_odds
        }  # fmt: skip

    def _log_odds(self, z: Array) -> Array:
        """Log-odds of label 1 for which the expected loss is least at z."""
        return formulas.focal_log_odds(z, self.gamma, self._log_class_odds)

    @property
    def _log_class_odds(self) -> float:
        """log c(1)/c(0)."""
        return 0.0 if self.alpha is None else float(np.log(self.alpha) - np.log1p(-self.alpha))

    def measured(self, rows: Rows) -> FocalLoss:
        """Fill in the intercept, the constant margin of least loss."""
        if self.intercept is not None:
            return self
        from scipy.optimize import brentq

        negative, positive = logloss.both_classes(rows)
        odds = float(np.log(positive / negative))
        far = abs(odds + self._log_class_odds) + 1  # as the log-odds rise at least as fast as z
        best = brentq(lambda z: float(self._log_odds(np.array(z))) - odds, -far, far, xtol=1e-12)
        return replace(self, intercept=float(best))

    def class_factor(self, y: Any) -> Any:
        """c(y)."""
        return 1.0 if self.alpha is None else self.alpha * y + (1 - self.alpha) * (1 - y)

    def row_loss(self, y: Any, z: Any, xp: Any) -> Any:
        return focal_loss((1 - 2 * y) * z, self.gamma, xp) * self.class_factor(y)

    def gradient_hessian(self, y: Any, z: Any, totals: Any, xp: Any) -> Both:
        sign = 1 - 2 * y
        A = slopes(sign * z, self.gamma, xp)
        if self.alpha is not None:
            A *= self.class_factor(y)
        hessian = A * ((1 + self.gamma) / 2)
        A *= sign
        return A, hessian


@dataclass(frozen=True, kw_only=True)
class MulticlassFocalLoss(Loss):
    """Focal loss of K > 2 classes; made by :func:`focal_objective`, which explains it."""

    hessian = "bounded"
    gamma: float
    alpha: tuple[float, ...] | None = None
    n_classes: int = 3
    intercept: tuple[float, ...] | None = None

    @property
    def link(self) -> Link:
        return Link.score(self.probability, self.n_classes)

    @property
    def outputs(self) -> int:
        return self.n_classes

    @property
    def labels(self) -> Classes:
        return Classes(self.n_classes)

    def probability(self, z: Array) -> Array:
        """The class probabilities at margins of least expected loss, (n, K).

        With p = softmax(z), that of class k is proportional to ::

            p[k] / (c(k) ((1-p[k])^g - g (1-p[k])^(g-1) p[k] log p[k]))
        """
        return formulas.softmax(self._log_scores(z))

    def _log_scores(self, z: Array) -> Array:
        """log(p q / (c A)) of each class, (n, K): logs of probabilities best served by z."""
        K, g = self.n_classes, self.gamma
        x = np.stack([other_margins(np.full(len(z), k), z, np)[2] for k in range(K)], axis=1)
        L = logloss.softplus(x)
        scores: Array = x - L - L - formulas.log_slope(x, g)
        return scores if self.alpha is None else scores - np.log(self.alpha)

    def measured(self, rows: Rows) -> MulticlassFocalLoss:
        """Fill in the intercept, the constant margins of least loss, which sum to 0."""
        if self.intercept is not None:
            return self
        from scipy.optimize import root

        counted = logloss.class_totals(rows, self.n_classes)
        occurs = logloss.occurring(counted)
        counted[~occurs] = ABSENT * counted[occurs].min()
        target = np.log(counted)
        target -= target.mean()

        def excess(z: Array) -> Array:
            off = self._log_scores(np.append(z, 0.0)[np.newaxis])[0] - target
            return np.asarray(off[:-1] - off[-1])

        found = root(excess, (target[:-1] - target[-1]) / (1 + self.gamma), options={"xtol": 1e-12})
        if np.abs(excess(found.x)).max() > 1e-8:
            raise RuntimeError(
                f"the constant margins of least loss were not found, for classes of weight "
                f"{shown(counted)}: {found.message}"
            )
        z = np.append(found.x, 0.0)
        return replace(self, intercept=tuple((z - z.mean()).tolist()))

    def weigh(self, values: Any, own: Any) -> Any:
        """Multiply by c(y); ``own`` marks the rows' own classes, (K, n)."""
        if self.alpha is None:
            return values
        return values * sum(c * own[k, :] for k, c in enumerate(self.alpha))

    def row_loss(self, y: Any, z: Any, xp: Any) -> Any:
        own, _, x = other_margins(y, z, xp)
        return self.weigh(focal_loss(x, self.gamma, xp), own)

    def gradient_hessian(self, y: Any, z: Any, totals: Any, xp: Any) -> Both:
        """c A (r - [k = y]), where r[y] = 0. Half the hessian would do if one margin moved; for all
        K, moved at once, tests found no leaf step that makes the loss worse."""
        own, gradient, x = other_margins(y, z, xp)
        gradient -= own
        gradient *= self.weigh(slopes(x, self.gamma, xp), own)
        hessian = xp.abs(gradient)
        hessian *= 1 + self.gamma
        return gradient.T, hessian.T


def other_margins(y: Any, z: Any, xp: Any) -> tuple[Any, Any, Any]:
    """Indicators of each row's own class and the softmax r of the other margins of z (n, K), 0
    for its own, both (K, n), as columns are fast; and log(sum of their exp) - z[y], (n,)."""
    z = xp.stack([z[:, k] for k in range(z.shape[1])])
    own = xp.asarray(xp.stack([y == k for k in range(z.shape[0])]), dtype=z.dtype)
    r = z - own * (xp.finfo(z.dtype).max / 4)  # its exp is 0
    largest = xp.max(r, axis=0)
    r -= largest
    r = xp.exp(r)
    total = xp.sum(r, axis=0)
    r /= total
    largest -= xp.sum(own * z, axis=0)
    largest += xp.log(total)
    return own, r, largest


def slopes(x: Any, g: float, xp: Any) -> Any:
    """A = q^(g+1) (1 + g log(u)/(u-1)), u = 1 + e^x, q = e^x/u: right to a few roundings however
    small e^x, with u rounded in both places, if not 1. Beyond the largest x, q is 1, p 0."""
    x = xp.clip(x, -xp.inf, logloss.largest_exponent(x, xp))  # numpy is slow without a least
    u = xp.exp(x)
    u += 1 + float(xp.finfo(x.dtype).eps)
    A = xp.log(u)
    x -= A
    x *= g + 1
    u -= 1
    A /= u
    A *= g
    A += 1
    A *= xp.exp(x)
    return A


def focal_loss(x: Any, g: float, xp: Any) -> Any:
    """-q^g log p."""
    t = logloss.softplus(x, xp)
    return xp.exp(g * (x - t)) * t


def focal_objective(
    gamma: float, *, alpha: float | Sequence[float] | None = None, n_classes: int = 2
) -> Objective:
    """Focal loss: the logistic loss, in which rows that are easily right count less.

    Use it where it is prescribed: rare events it predicted no better (``experiments/focal``).

    ::

        loss      sum w c(y) q^g (-log p),   q = 1 - p

    where p is the probability that the margins give the label, w the row's ``sample_weight`` and
    ``|gradient|`` the gradient's absolute value. Two classes, z (n,)::

        p         sigma((2y-1) z)
        gradient  -(2y-1) w c(y) A,   A = q^g (q - g p log p)
        hessian   (1 + g)/2 |gradient|

    K > 2 classes, z (n, K)::

        p         softmax(z)[y]
        gradient  w c(y) A (r[k] - [k = y]),   r[k] = exp(z[k]) / sum over j != y of exp(z[j])
        hessian   (1 + g) |gradient|

    sigma(z) or softmax(z) is **not** a class probability. ``class_probability(margin)`` of the
    objective gives that for a model that fits; calibrate any other on held-out rows, for instance
    with ``LogitCalibrator``. ``docs/theory/leaf_steps.md`` derives the hessians.

    Parameters
    ----------
    gamma : float >= 0
        g; 0 is the logistic loss, softmax cross entropy, 2 is usual.
    alpha : float in (0, 1), or K floats > 0, optional
        The weights c of the classes, 1 if None: for two classes c(1), where c(0) is 1 - alpha.
    n_classes : int
        K, for labels 0 to K-1.

    Returns
    -------
    Objective
        Its intercept is the constant margin of least loss, K > 2 of them with the sum 0, where a
        class without training rows counts as a millionth of the rarest other.

    Raises
    ------
    TypeError, ValueError
        If gamma < 0, alpha is outside (0, 1), or not one number > 0 for each of K > 2 classes;
        while training, if a label is not one of 0 to K-1.

    References
    ----------
    Lin et al. (2017), "Focal loss for dense object detection", ICCV, sections 3.1 and 3.2;
    Charoenphakdee et al. (2021), "On focal loss for class-posterior probability estimation", CVPR.

    Examples
    --------
    >>> from gbdt_objectives import focal_objective
    >>> obj = focal_objective(2.0)
    >>> obj([1, 1, 0], [-3.0, 0.0, -1.0])[0].round(3)
    array([-1.127, -0.298,  0.053], dtype=float32)
    >>> obj.class_probability([-1.0, 1.0]).round(3)
    array([[0.936, 0.064],
           [0.064, 0.936]])
    """
    g = _checks.number("gamma", gamma)
    if g < 0:
        raise ValueError(f"gamma must be at least 0, found {g:g}: 0 is the logistic loss")
    K = _checks.whole_number("n_classes", n_classes, 2)
    if K > 2:
        return Objective(MulticlassFocalLoss(gamma=g, alpha=_alphas(alpha, K), n_classes=K))
    if alpha is None:
        return Objective(FocalLoss(gamma=g))
    if np.ndim(alpha) > 0:
        raise TypeError(
            f"alpha must be a number for two classes, the weight of label 1, found {shown(alpha)}: "
            "that of label 0 is 1 - alpha"
        )
    a = _checks.number("alpha", alpha)
    if not 0 < a < 1:
        raise ValueError(
            f"alpha must be above 0 and below 1, found {a:g}: it is the weight of label 1, that of "
            "label 0 is 1 - alpha"
        )
    return Objective(FocalLoss(gamma=g, alpha=a))


def _alphas(alpha: float | Sequence[float] | None, K: int) -> tuple[float, ...] | None:
    """The weight of each of K > 2 classes."""
    if alpha is None:
        return None
    if np.ndim(alpha) == 0:
        raise TypeError(
            f"alpha must hold one weight for each of the {K} classes, found {shown(alpha)}: pass a "
            "list, or None for 1"
        )
    c = _checks.vector("alpha", alpha).astype(np.float64)
    if len(c) != K:
        raise ValueError(
            f"alpha must hold one weight for each of the {K} classes, found {len(c)}, "
            f"{shown(alpha)}"
        )
    if c.min() <= 0:
        raise ValueError(
            f"alpha must be above 0, found {c.min():g} for label {int(np.argmin(c))}: leave rows "
            "that should not count out of training"
        )
    return tuple(c.tolist())
