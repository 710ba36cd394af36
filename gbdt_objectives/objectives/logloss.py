"""Logistic losses for training data in which only some of the negatives were kept; focal loss.

Symbols: z margin (log-odds), y label 0 or 1, at r = 1 also between, w weight, r the rate at which
negatives were kept (r_i where it differs by row), sigma the logistic function.

Of the focal loss: y label, p the probability that the margins z give it, q = 1-p, x = log(q/p),
g gamma, w weight, c(y) alpha's factor for the class. One margin: x = -(2y-1) z. K margins: x =
log(sum of exp of the others) - z[y], and r is the softmax of the others.

Gradients are products of A, the slope of the loss in x, without a difference of close numbers::

    A = q^g (q - g p log p) = q^(g+1) (1 + g log(1 + e^x) / e^x)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Sampling, shown
from gbdt_objectives._checks.arrays import BINARY, SOFT, Classes, Values
from gbdt_objectives._checks.tables import index_of
from gbdt_objectives._links import LOGIT, Link
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Rows, RowValues
from gbdt_objectives._steps import formulas
from gbdt_objectives._steps.steps import Step
from gbdt_objectives.objectives.base import Objective
from gbdt_objectives.objectives.loss import Both, Loss, Named, Start, Writer

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


class Thinned(Values):
    """The labels of rows of which some with label 0 were dropped."""

    of_soft = (
        "labels between 0 and 1 are for negative_keep_rate=1; if rows were dropped, the weight of "
        "each is 1 over the probability with which it was kept"
    )


@dataclass(frozen=True, kw_only=True)
class LoglossLoss(Loss):
    """loss = sum w c(y) log(1 + exp(-(2y-1) (z + offset))), c(1) = 1, c(0) = negative_weight."""

    link = LOGIT
    negative_weight: float = 1.0
    offset: float = 0.0
    hessian: Hessian = "exact"
    intercept: float | None = None
    named: Named = ()  # the ``offset`` of each row, if it differs

    thins = property(lambda self: bool(self.named) or self.offset > 0 or self.negative_weight > 1)
    labels = property(lambda self: Thinned(BINARY.values) if self.thins else SOFT)

    def measured(self, rows: Rows) -> LoglossLoss:
        """Fill in the intercept, the constant margin of least loss."""
        if self.intercept is not None:
            return self
        negative, positive = both_classes(rows)
        if self.thins:
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
        return 1.0 + 0.0 * y if self.negative_weight == 1 else y + self.negative_weight * (1 - y)

    def moved(self, z: Any, offset: Any) -> Any:
        """The margins s = z + offset, that of all rows if none of each is given."""
        if offset is None and self.offset == 0:
            return z
        return z + (self.offset if offset is None else offset)

    def row_loss(self, y: Any, z: Any, xp: Any, offset: Any = None) -> Any:
        return self.class_factor(y) * self.unweighted(y, self.moved(z, offset), xp)

    def unweighted(self, y: Any, s: Any, xp: Any) -> Any:
        """log(1 + exp(-(2y-1) s)), and of soft labels the mean of both classes."""
        k = self.nearer_class(y, xp)
        loss = softplus_of_twice((0.5 - k) * s, xp)
        return loss if k is y else loss + (k - y) * s

    def nearer_class(self, y: Any, xp: Any) -> Any:
        """The nearer of 0 and 1 to each label; the labels themselves, if all are 0 or 1."""
        return y if self.thins or (y * y == y).all() else xp.round(y)

    def gradient_hessian(self, y: Any, z: Any, totals: Any, xp: Any, offset: Any = None) -> Both:
        """From E = exp((2y-1) s), the odds of the right label: the wrong one has the probability
        1/(1+E), without cancellation in either tail, and the hessian is E/(1+E)^2, or half that.
        A soft label is d from the nearer class, k, and takes the share d of the other one."""
        k = self.nearer_class(y, xp)
        right = k + k - 1
        log_E = right * self.moved(z, offset)
        if k is y and isinstance(log_E, np.ndarray):
            c = None if self.negative_weight == 1 else self.class_factor(y)
            slope, most = right if c is None else right * c, log_E.max(initial=0)
            return self._in_place(log_E, most, np.empty_like(log_E), slope, c)
        largest = largest_exponent(log_E, xp)
        E = xp.exp(xp.clip(log_E, -xp.inf, largest))
        wrong = xp.where(log_E <= largest, 1 / (1 + E), xp.zeros_like(E))
        c = self.class_factor(y)
        hessian = 0.5 * wrong if self.hessian == "bounded" else E * wrong * wrong
        if k is not y:
            d = xp.abs(k - y)
            hessian = hessian + d * (0.5 - wrong) if self.hessian == "bounded" else hessian
            wrong = wrong - d
        return wrong * (-right * c), hessian * c

    def _in_place(self, log_E: Array, most: Any, h: Array, slope: Array, c: Array | None) -> Both:
        """What ``gradient_hessian`` says of labels 0 and 1, the gradient into the memory of log_E
        and the hessian into h; most is the largest log_E, slope is (2y-1) c, and c None is 1."""
        g, largest = log_E, LARGEST_EXPONENT[log_E.itemsize]
        certain = log_E > largest if most > largest else None
        if certain is not None:
            log_E[certain] = 0
        minus_E_1 = np.subtract(-1, np.exp(log_E, out=h), out=g)
        np.divide(slope if c is None else 1, minus_E_1, out=g)
        if self.hessian == "bounded":
            np.multiply(np.abs(g, out=h), 0.5, out=h)
        else:
            h *= g
            h *= g
        if c is not None:
            h *= c
            g *= slope
        if certain is not None:
            g[certain] = h[certain] = 0
        return g, h

    def writer(self, rows: Rows, start: Start, gradient: Array, hessian: Array) -> Writer | None:
        """Write in place what ``gradient_hessian`` says, with one pass over labels and weights."""
        if self.nearer_class(rows.y, np) is not rows.y:  # soft labels
            return None
        offset = np.asarray(rows.named.get("offset", self.offset), gradient.dtype)
        plain = rows.w is None and self.negative_weight == 1
        blocks = []
        first = 0
        for part in rows.stretches(gradient.dtype):
            at = slice(first, first := first + len(part))
            right = 2 * part.y - 1
            c = self.class_factor(part.y) if part.w is None else self.class_factor(part.y) * part.w
            slope = right if plain else right * c.astype(gradient.dtype)
            added = offset[at] if offset.ndim else offset
            blocks.append((
                at, right, slope, None if plain else c.astype(gradient.dtype),
                added if added.ndim or added else None, gradient[at], hessian[at],
            ))  # fmt: skip

        def write(f: Array) -> None:
            for at, right, slope, c, added, g, h in blocks:
                s = f[at]
                if start:  # in the margin's precision, before it is cast
                    s = np.add(s, start, out=g, casting="same_kind")
                elif s.dtype != g.dtype:
                    np.copyto(g, s, casting="same_kind")
                    s = g
                if added is not None:
                    s = np.add(s, added, out=g)
                log_E = np.multiply(s, right, out=g)
                least, most = log_E.min(initial=0), log_E.max(initial=0)
                if not -np.inf < least <= most < np.inf:  # NaN is in both
                    _checks.finite("margin", f)
                self._in_place(log_E, most, h, slope, c)

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
    W: Array = rows.sum(lambda y, f, xp, **named: [1 - y, y])
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


@public
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

    The margin z is the log-odds in the full population, before sampling. Where r = 1, a label y may
    be a probability: the row counts as one of label 1, of weight y, and one of label 0, of 1-y.

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
        If the rate is not in (0, 1]; while training, if a label is not 0 or 1; in [0, 1] for r = 1.

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


@public
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
        If a rate is not in (0, 1]; while training, if a label is not 0 or 1 (in [0, 1] for one rate
        of 1), there is not one rate for each row, or exactly the positives have the rate 1.

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

        negative, positive = both_classes(rows)
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
        L = softplus(x)
        scores: Array = x - L - L - formulas.log_slope(x, g)
        return scores if self.alpha is None else scores - np.log(self.alpha)

    def measured(self, rows: Rows) -> MulticlassFocalLoss:
        """Fill in the intercept, the constant margins of least loss, which sum to 0."""
        if self.intercept is not None:
            return self
        from scipy.optimize import root

        counted = class_totals(rows, self.n_classes)
        occurs = occurring(counted)
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
    x = xp.clip(x, -xp.inf, largest_exponent(x, xp))  # numpy clips slowly at one end only
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
    t = softplus(x, xp)
    return xp.exp(g * (x - t)) * t


@public
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
