"""Logistic loss for labels of which some have not arrived yet, such as conversions.

Symbols: z margin, p = sigma(z) the probability that the row is positive in the end, y = 1 if its
label has arrived already, F the probability that the label of a positive has arrived by the row's
age, q = F p the probability of y = 1, and t = q/(1-q).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._checks.arrays import BINARY
from gbdt_objectives._links import LOGIT
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Rows, RowValues
from gbdt_objectives.objectives.base import Objective
from gbdt_objectives.objectives.logloss import both_classes, largest_exponent
from gbdt_objectives.objectives.loss import Loss

NAME = "arrived"

LARGEST_START = 300.0
"""The start is found below it: the odds at it are a float64 even times the largest weight."""


class Arrived(RowValues):
    """F of each training row."""

    def remedy(self, name: str) -> str:
        return (
            "F(age) of each training row, in their order. Where scikit-learn holds rows out, write "
            "delayed_logloss_objective() and pass arrived to fit, which splits it: "
            "GridSearchCV(...).fit(X, y, arrived=arrived), cross_val_score(..., "
            "params={'arrived': arrived}). Elsewhere objective.take(positions) is for some of the "
            "rows, and cv() takes them itself"
        )

    def check_labels(self, y: Array) -> None:
        _checks.each(
            NAME, self.values, (self.values > 0) | (y != 1),
            "must be above 0 where y_true is 1, as that label has arrived",
            "is its age right, measured when the labels were read? An estimate is 0 below the "
            "shortest delay that it has seen: make it with these rows too",
        )  # fmt: skip


def read_arrived(values: ArrayLike) -> Arrived:
    if callable(values):
        raise TypeError(f"{NAME} is the distribution of delays itself: call it, F(age)")
    if _checks.as_array(NAME, values).dtype.kind == "b":
        raise TypeError(
            f"{NAME} must be probabilities in [0, 1], found True and False: it is not whether the "
            "label has arrived, but F(age), as delay_distribution(age, delay)(age) gives it"
        )
    F: Array = _checks.vector(NAME, values).astype(np.float64)
    _checks.each(
        NAME, F, (F >= 0) & (F <= 1), "must be in [0, 1]",
        "it is F(age), the probability that the label of a positive has arrived by the row's age, "
        "as delay_distribution(age, delay)(age) gives it, not the age",
    )  # fmt: skip
    return Arrived(F)


@dataclass(frozen=True, kw_only=True)
class DelayedLoglossLoss(Loss):
    """Logistic loss of labels that have arrived; made by :func:`delayed_logloss_objective`."""

    labels = BINARY
    link = LOGIT
    hessian = "upper_bound"
    intercept: float | None = None
    named: tuple[tuple[str, RowValues | None], ...] = ((NAME, None),)

    def read_named(self, name: str, values: ArrayLike) -> Arrived:
        return read_arrived(values)

    def measured(self, rows: Rows) -> DelayedLoglossLoss:
        """Fill in the intercept, the constant margin of least loss."""
        if self.intercept is not None:
            return self
        negative, positive = both_classes(rows)
        return replace(self, intercept=best_delayed_constant(rows, positive, negative))

    def row_loss(self, y: Any, z: Any, xp: Any, arrived: Any = None) -> Any:
        """-log q if y = 1, else -log(1-q) = log(1+t).

        Beyond the largest exponent t is cut, and log(1+t) goes on as z where F = 1.
        """
        a, _, _, t = parts(z, arrived, xp)
        size = xp.abs(z)
        wrong_side = 0.5 * (size - z)  # max(-z, 0)
        seen = xp.log1p(a) + wrong_side - xp.log(xp.where(y == 1, arrived, xp.ones_like(z)))
        cut = 0.5 * (size + z) - xp.clip(z, 0.0, largest_exponent(z, xp))
        unseen = xp.log1p(t) + xp.where(arrived == 1, cut, xp.zeros_like(z))
        return xp.where(y == 1, seen, unseen)

    def gradient_hessian(
        self, y: Any, z: Any, totals: Any, xp: Any, arrived: Any = None
    ) -> tuple[Any, Any]:
        """Gradient (1-p) ((1-y) t - y), and hessian (1-p) (y p + (1-y) (1-p) t)."""
        _, p, n, t = parts(z, arrived, xp)
        t = (1 - y) * t
        return n * (t - y), n * (y * p + n * t)


def parts(z: Any, F: Any, xp: Any) -> tuple[Any, Any, Any, Any]:
    """a = exp(-|z|), p, 1-p and t = F p / (1-p + (1-F) p), without cancellation in any tail."""
    a = xp.exp(-xp.clip(xp.abs(z), 0.0, largest_exponent(z, xp)))
    one = xp.ones_like(a)
    high = z > 0
    p, n = xp.where(high, one, a), xp.where(high, a, one)
    t = F * p / (n + (1 - F) * p)
    return a, p / (1 + a), n / (1 + a), t


def best_delayed_constant(rows: Rows, positive: float, negative: float) -> float:
    """The constant margin of least loss, sum of w t over rows with y = 0 equal to ``positive``, the
    weight of the others."""
    from scipy.optimize import brentq

    def excess(z: float) -> float:
        a = math.exp(-abs(z))
        p, n = (1.0, a) if z > 0 else (a, 1.0)

        def unseen(y: Any, f: Any, xp: Any, arrived: Any) -> list[Any]:
            return [(1 - y) * arrived * p / (n + (1 - arrived) * p)]

        total = rows.sum(unseen)[0]
        return math.log(total / positive) if total > 0 else -math.inf

    if excess(LARGEST_START) <= 0:
        raise ValueError(
            f"{NAME} is too small for the labels, found weight {positive:g} with y_true 1 and "
            f"{negative:g} without, more than could have arrived if every row were positive: pass "
            "F(age) of the age at which the labels were read, in the unit of the delays"
        )
    # t <= exp(z), and 1 for rounding
    return float(brentq(excess, math.log(positive / negative) - 1, LARGEST_START, xtol=1e-13))


@public
def delayed_logloss_objective(arrived: ArrayLike | None = None) -> Objective:
    """Logistic loss of labels that are still arriving, whose margin is the final log-odds.

    Use it where labels such as conversions arrive late, and training cannot wait for them.

    A row is positive in the end with probability p = sigma(z). Its label has arrived by now (y = 1)
    with probability q = F p, where F is the probability that the label of a positive arrives by
    the age that the row has. All other rows have y = 0::

        loss      sum w (-y log(F p) - (1-y) log(1 - F p))
        gradient  w (-(1-p))                   y = 1
                  w F p (1-p) / (1 - F p)      y = 0
        hessian   w p (1-p)                    y = 1, the second derivative
                  w F p (1-p)^2 / (1 - F p)    y = 0, an upper bound

    The gradient at y = 0 is p less the probability that the row is still to become positive,
    (1-F) p / (1 - F p). The second derivative there, with g for the gradient, is g (1 - 2p + g),
    which is negative where p is large. As g <= p it is at most g (1-p), which is the expected
    (Fisher) second derivative and stands in its place; for rare events both are nearly F p. With
    F = 1 all of it is the logistic loss.

    The start is the constant of least loss. Rows with F = 0 and y = 0 count for nothing.
    ``docs/delayed_labels.md`` says when to use it.

    Parameters
    ----------
    arrived : array-like of shape (n,), optional
        F in [0, 1] of each *training* row, such as ``delay_distribution(age, delay)(age)``, and
        above 0 where y is 1. It is copied, and belongs to the rows in their order: in
        cross-validation each fold needs ``objective.take(positions)``, as ``cv`` makes it. None:
        drop-in estimators get it as ``fit(X, y, arrived=arrived)``, which scikit-learn's
        cross-validation splits. F may depend on features, but must not be read off the label.
        Evaluation sets need none: hold out rows that are old enough for nearly all labels to
        have arrived, and measure ``weighted_logloss_metric(1)``.

    Returns
    -------
    Objective
        Usable as ``obj=`` and ``objective=`` in all four booster interfaces. Labels are 0 and 1;
        the margin, and sigma of it, is that of the final label.

    Raises
    ------
    ValueError, TypeError
        If F is not in [0, 1]; while training, if a label is not 0 or 1, there is not one F for
        each row, F is 0 where y is 1, or more labels have arrived than F allows.

    References
    ----------
    Chapelle (2014), "Modeling delayed feedback in display advertising", KDD, whose likelihood this
    is once the distribution of delays is known.

    Examples
    --------
    >>> from gbdt_objectives.experimental import delayed_logloss_objective
    >>> objective = delayed_logloss_objective([0.5, 0.5, 1.0])
    >>> objective([1, 0, 0], [0.0, 0.0, 0.0])[0].round(3)
    array([-0.5  ,  0.167,  0.5  ], dtype=float32)
    """
    if arrived is None:
        return Objective(DelayedLoglossLoss())
    return Objective(DelayedLoglossLoss(named=((NAME, read_arrived(arrived)),)))
