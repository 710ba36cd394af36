"""Logistic losses for training data in which only some of the negatives were kept.

Symbols: z margin (log-odds), y label 0 or 1, w weight, r the rate at which negatives
were kept (r_i where it differs by row), sigma the logistic function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Sampling
from gbdt_objectives._checks.arrays import BINARY
from gbdt_objectives._checks.tables import index_of
from gbdt_objectives._links import LOGIT
from gbdt_objectives._rows.rows import Rows, RowValues
from gbdt_objectives.objectives.base import (
    Both,
    Loss,
    Named,
    Objective,
    Start,
    Writer,
    checked_block,
)

NAME = "negative_keep_rate"
Hessian = Literal["exact", "bounded"]

LARGEST_EXPONENT = {4: 87.0, 8: 708.0}
"""Largest exponent for each number of bytes of a float. Beyond it exp overflows, and the
probability of the wrong label, below 2e-38 (3e-308), counts as 0."""


class Offsets(RowValues):
    """The offset of each training row: -log of the rate at which negatives were kept."""

    is_of_user = False

    def called(self, name: str) -> str:
        return NAME

    def remedy(self, name: str) -> str:
        return (
            "the rate of each training row, in their order. After rows = negative_downsample(y, "
            "rates) that is offset_logloss_objective(rates[rows]); where rows are held out, as in "
            "cross-validation, make an objective for each training part, "
            "objective.take(positions), as cv() does"
        )

    def check_labels(self, y: Array) -> None:
        _checks.rates_by_row_alone(NAME, self.values > 0, y == 1)


@dataclass(frozen=True, kw_only=True)
class LoglossLoss(Loss):
    """loss = sum w c(y) log(1 + exp(-(2y-1) (z + offset))), c(1) = 1, c(0) = negative_weight."""

    labels = BINARY
    link = LOGIT
    negative_weight: float = 1.0
    offset: float = 0.0
    hessian: Hessian = "exact"
    intercept: float | None = None
    named: Named = ()  # the ``offset`` of each row, if it differs

    def measured(self, rows: Rows) -> LoglossLoss:
        """Fill in the intercept, the constant margin of least loss."""
        if self.intercept is not None:
            return self
        negative, positive = both_classes(rows)
        if self.named or self.offset > 0 or self.negative_weight > 1:
            Sampling(
                name=NAME, thinned=0, rows_of=(np.inf, positive), kept=negative,
                rate=self.mean_rate(rows, negative),
                to_name="make it label 1: y == event (words are in alphabetical order)",
            )  # fmt: skip
        if self.named:
            return replace(self, intercept=best_constant(rows, positive, negative))
        best = math.log(positive / (self.negative_weight * negative)) - self.offset
        return replace(self, intercept=best)

    def keep_rate(self, rows: Rows) -> Any:
        """The rate of kept negatives for which the loss corrects, one or of each row."""
        if self.named:
            return np.exp(-_checks.to_host(rows.named["offset"]))
        return math.exp(-self.offset) / self.negative_weight

    def mean_rate(self, rows: Rows, negative: float) -> float:
        """The rate that keeps the given weight of negatives of as many as the rates of rows do."""
        if not self.named:
            return float(self.keep_rate(rows))
        return negative / float(rows.sum(lambda y, f, xp, offset: [(1 - y) * xp.exp(offset)])[0])

    def class_factor(self, y: Any) -> Any:
        """c(y)."""
        return y + self.negative_weight * (1 - y)

    def row_loss(self, y: Any, z: Any, xp: Any, offset: Any = None) -> Any:
        s = z + (self.offset if offset is None else offset)
        return self.class_factor(y) * self.unweighted(y, s, xp)

    def unweighted(self, y: Any, s: Any, xp: Any) -> Any:
        """log(1 + exp(-(2y-1) s))."""
        return softplus_of_twice((0.5 - y) * s, xp)

    def gradient_hessian(self, y: Any, z: Any, totals: Any, xp: Any, offset: Any = None) -> Both:
        """From E = exp((2y-1) s), the odds of the right label: the wrong one has the probability
        1/(1+E), without cancellation in either tail, and the hessian is E/(1+E)^2, or half that."""
        right = 2 * y - 1
        log_E = right * (z + (self.offset if offset is None else offset))
        largest = largest_exponent(log_E, xp)
        E = xp.exp(xp.clip(log_E, -xp.inf, largest))
        wrong = xp.where(log_E <= largest, 1 / (1 + E), xp.zeros_like(E))
        c = self.class_factor(y)
        hessian = 0.5 * wrong if self.hessian == "bounded" else E * wrong * wrong
        return wrong * (-right * c), hessian * c

    def writer(self, rows: Rows, start: Start, gradient: Array, hessian: Array) -> Writer:
        """Write in place what ``gradient_hessian`` says, with one pass over labels and weights."""
        offset = np.asarray(rows.named.get("offset", self.offset), gradient.dtype)
        largest = LARGEST_EXPONENT[gradient.itemsize]
        plain = rows.w is None and self.negative_weight == 1
        blocks = []
        first = 0
        for part in rows.stretches(gradient.dtype):
            at = slice(first, first := first + len(part))
            right = 2 * part.y - 1
            c = self.class_factor(part.y) if part.w is None else self.class_factor(part.y) * part.w
            slope = -right if plain else -right * c.astype(gradient.dtype)
            added = offset[at] if offset.ndim else offset
            blocks.append((
                at, right, slope, None if plain else c.astype(gradient.dtype),
                added if added.ndim or added else None, gradient[at], hessian[at],
            ))  # fmt: skip

        def write(f: Array) -> None:
            for at, right, slope, c, added, g, h in blocks:
                s = checked_block(f, at)
                if start or s.dtype != g.dtype:  # in the margin's precision, before it is cast
                    s = np.add(s, start, out=g, casting="same_kind")
                if added is not None:
                    s = np.add(s, added, out=g, casting="same_kind")
                log_E = np.multiply(s, right, out=g, casting="same_kind")
                certain = log_E > largest if log_E.max(initial=0) > largest else None
                if certain is not None:
                    log_E[certain] = 0
                wrong = np.add(np.exp(log_E, out=h), 1, out=g)
                np.reciprocal(wrong, out=wrong)
                if self.hessian == "bounded":
                    np.multiply(wrong, 0.5, out=h)
                else:
                    h *= wrong
                    h *= wrong
                g *= slope
                if c is not None:
                    h *= c
                if certain is not None:
                    g[certain] = h[certain] = 0

        return write


def class_totals(rows: Rows, K: int) -> Array:
    """The weight of each of the classes 0 to K-1 in the rows of all workers, (K,)."""
    W: Array = rows.sum(lambda y, f, xp, **named: [y == k for k in range(K)])
    return W


def occurring(W: Array) -> Array:
    """A mask of the classes that have rows that count; there must be two."""
    present: Array = W > 0
    if present.sum() < 2:
        raise ValueError(
            f"y_true has one class only, found label {int(np.argmax(W))} in all rows that count: "
            "at least two classes must occur"
        )
    return present


def largest_exponent(z: Any, xp: Any) -> float:
    return LARGEST_EXPONENT[xp.finfo(z.dtype).bits // 8]


def both_classes(rows: Rows) -> tuple[float, float]:
    """The weights of label 0 and of label 1, neither of which may be 0."""
    W = class_totals(rows, 2)
    occurring(W)
    return float(W[0]), float(W[1])


def best_constant(rows: Rows, positive: float, negative: float) -> float:
    """The constant c of least loss, sum w sigma(c + o) = P, with offsets o >= 0 of the rows."""
    from scipy.optimize import brentq

    def total(row_values: Callable[[Any, Any], Any]) -> float:
        return float(rows.sum(lambda y, f, xp, offset: [row_values(offset, xp)])[0])

    # sigma(c) <= sigma(c + o) <= exp(c + o)
    low = math.log(positive / total(lambda o, xp: xp.exp(o)))

    def excess(c: float) -> float:
        return (total(lambda o, xp: 1 / (1 + xp.exp(-(c + o)))) - positive) / (positive + negative)

    return float(brentq(excess, low - 1, math.log(positive / negative) + 1, xtol=1e-13))


def softplus(q: Any, xp: Any = np) -> Any:
    """log(1 + exp(q)) to a few roundings in both tails, in the precision of ``q``."""
    return softplus_of_twice(0.5 * q, xp)


def softplus_of_twice(h: Any, xp: Any) -> Any:
    """softplus(2h) in place: log(1+E), and what 1 + E lost; max(q, 0) = (|q| + q) / 2."""
    E = xp.abs(h)
    h += E
    E *= -2
    E = xp.exp(E)
    u = E + 1
    loss = xp.log(u)
    u -= 1
    E -= u
    loss += E
    loss += h
    return loss


def weighted_logloss_objective(
    negative_keep_rate: float, *, hessian: Hessian = "exact"
) -> Objective:
    """Logistic loss in which each kept negative counts for all those it was sampled from.

    Use it where such weights are prescribed; otherwise prefer :func:`offset_logloss_objective`,
    which has no large weights and is better at low rates (``docs/which_one.md``).

    ::

        loss      sum w c (-y log sigma(z) - (1-y) log(1 - sigma(z))),  c = 1 if y = 1 else 1/r
        gradient  w c (sigma(z) - y)
        hessian   w c sigma(z) (1 - sigma(z))   "exact"
                  w c |sigma(z) - y| / 2        "bounded"

    The margin z is the log-odds in the full population, before sampling.

    Parameters
    ----------
    negative_keep_rate : float in (0, 1]
        r, the fraction of the negatives that was kept in the training data.
    hessian : {"exact", "bounded"}
        "exact" is the second derivative, with which a leaf of few rows with large weights can step
        far past its optimum. "bounded": no leaf does, nor steps further than 2
        (``docs/theory/leaf_steps.md``). Choose it for rates of 0.1 and below if nothing is tuned.

    Returns
    -------
    Objective

    Raises
    ------
    ValueError
        If the rate is not in (0, 1]; while training, if a label is not 0 or 1.

    References
    ----------
    McMahan et al. (2013), "Ad click prediction", section 4.3; King & Zeng (2001), Political
    Analysis 9(2), section 4.2.

    Examples
    --------
    >>> from gbdt_objectives import weighted_logloss_objective
    >>> weighted_logloss_objective(0.1)([1, 0], [0.0, 0.0])[0]
    array([-0.5,  5. ], dtype=float32)
    """
    _checks.choice("hessian", hessian, ("exact", "bounded"))
    r = _checks.keep_rate(NAME, negative_keep_rate)
    return Objective(LoglossLoss(negative_weight=1 / r, hessian=hessian))


def offset_logloss_objective(
    negative_keep_rate: float | ArrayLike, *, hessian: Hessian = "exact"
) -> Objective:
    """Logistic loss on sampled data whose margin is the log-odds before sampling.

    Use it where a known fraction of the negatives is kept, and the model is to predict
    probabilities of the full population. Keeping negatives at rate r adds -log r to a row's
    log-odds, so the loss sees s = z - log r while the model learns z::

        loss      sum w (-y log sigma(s) - (1-y) log(1 - sigma(s))),  s = z - log r
        gradient  w (sigma(s) - y)
        hessian   w sigma(s) (1 - sigma(s))   "exact"
                  w |sigma(s) - y| / 2        "bounded"

    Parameters
    ----------
    negative_keep_rate : float in (0, 1], or array-like of shape (n,)
        r, the fraction of the negatives that was kept in the training data; or the rate of each of
        the n *training* rows: ``rates[rows]`` after ``rows = negative_downsample(y, rates)``. The
        rate of a positive is not 1, but that at which a negative in its place would be kept. Rates
        by row belong to the rows in their order: in cross-validation each fold needs
        ``objective.take(positions)``, as ``cv`` makes it. They may depend on the features, not on
        the label (see :func:`pilot_keep_rates`). Evaluation sets need none: if their negatives were
        sampled, weigh these by 1/r and measure ``weighted_logloss_metric(1)``.
    hessian : {"exact", "bounded"}
        As in :func:`weighted_logloss_objective`. "bounded" gains nothing here.

    Returns
    -------
    Objective
        Its margins, and sigma of them, need no correction afterwards.

    Raises
    ------
    ValueError
        If a rate is not in (0, 1]; while training, if a label is not 0 or 1, there is not one rate
        for each row, or exactly the positives have the rate 1.

    References
    ----------
    King & Zeng (2001), Political Analysis 9(2), section 4.1, for one rate; Wang, Zhang & Wang
    (2021), arXiv 2110.13048, for rates by row.

    Examples
    --------
    >>> from gbdt_objectives import offset_logloss_objective
    >>> offset_logloss_objective(0.1)([1, 0], [-2.3026, -2.3026])[0].round(3)
    array([-0.5,  0.5], dtype=float32)
    >>> offset_logloss_objective([0.5, 0.1])([1, 0], [-2.3026, -2.3026])[0].round(3)
    array([-0.833,  0.5  ], dtype=float32)
    """
    _checks.choice("hessian", hessian, ("exact", "bounded"))
    if np.ndim(negative_keep_rate) == 0:
        r = _checks.keep_rate(NAME, negative_keep_rate)
        return Objective(LoglossLoss(offset=-math.log(r), hessian=hessian))
    rates = _checks.keep_rates(NAME, negative_keep_rate)
    offsets = Offsets(-np.log(rates), index_of(negative_keep_rate))
    return Objective(LoglossLoss(named=(("offset", offsets),), hessian=hessian))
