"""Proportional odds: the probabilities of ordered classes from one score.

Symbols: f margin (a score), y class 0..K-1, w weight, theta_1 < ... < theta_{K-1} thresholds, l =
theta_y and u = theta_{y+1} those around the class of a row (theta_0 = -inf, theta_K = inf), sigma
the logistic function, F_l = sigma(l - f) and F_u = sigma(u - f) the probabilities of a class below
l and below u, d = u - l. The loss of a row splits, -log(F_u - F_l) = softplus(l - f) + softplus(f -
u) - log(1 - exp(-d)), into terms of one threshold each, and one that keeps the two apart. So
nothing cancels, and what the thresholds of least loss need of the rows are sums by class: their
matrix of second derivatives is tridiagonal. To fit them, rows are put in the order of classes:
thresholds are numbers then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._checks.arrays import Classes, Domain
from gbdt_objectives._links import Link
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Rows, dot
from gbdt_objectives._steps.steps import Step, evaluate
from gbdt_objectives.objectives.base import Objective
from gbdt_objectives.objectives.logloss import LARGEST_EXPONENT, class_totals, occurring, softplus
from gbdt_objectives.objectives.loss import Both, HessianKind, Loss

FAR = 40.0  # limit of margins and thresholds: exp(-f) exp(theta) is a float32, one exp a row serves
SAMPLE = 16384  # rows of each class in the sample on which the thresholds are fitted first
STEPS = 25  # most steps to the thresholds of least loss; only contrived data need more than ten


class ClassRows(NamedTuple):
    """Rows of one class: exp(margin), or the margins if one is too far, and their weights."""

    label: int
    values: Array
    near: bool
    w: Array | None

    @property
    def f(self) -> Array:
        return np.log(self.values) if self.near else self.values

    def split(self, theta: float, below: Array, above: Array) -> None:
        """Write F = sigma(theta - f) and 1 - F, both without cancellation, from exp(f - theta)."""
        if self.near and abs(theta) <= FAR:
            np.multiply(self.values, np.array(math.exp(-theta), above.dtype), out=above)
        else:
            np.subtract(self.f, np.array(theta, above.dtype), out=above)
            np.minimum(above, LARGEST_EXPONENT[above.itemsize], out=above)
            np.exp(above, out=above)
        np.add(above, 1, out=below)
        np.reciprocal(below, out=below)
        above *= below


@dataclass(frozen=True, kw_only=True)
class OrdinalLogitLoss(Loss):
    """Ordinal logistic loss; made by :func:`ordinal_logit_objective`, which explains it."""

    intercept = 0.0
    takes_device_arrays = False
    n_classes: int = 2
    thresholds: Literal["refit", "fixed"] | tuple[float, ...] = "refit"

    @property
    def link(self) -> Link:
        return Link.score(self.probability, self.n_classes)

    @property
    def hessian(self) -> HessianKind:
        return "upper_bound" if self.thresholds == "refit" else "exact"

    @property
    def labels(self) -> Domain:
        return Classes(self.n_classes)

    @property
    def couples_rows(self) -> bool:
        return self.thresholds == "refit"

    fits_margins = couples_rows

    @property
    def needs_labels(self) -> bool:
        return self.thresholds == "fixed"

    def probability(self, f: Array) -> Array:
        """The probability of each class at margins (n,), (n, n_classes)."""
        return evaluate(f, self.step())

    def step(self) -> Step:
        """The formula of the probabilities, and its numbers."""
        if isinstance(self.thresholds, str):
            how = {"refit": "fitted(y_train, margin_train)", "fixed": "measured(y_train)"}
            raise ValueError(
                f"thresholds are {self.thresholds!r}, so that probabilities depend on the training "
                f"rows: use objective.{how[self.thresholds]}.class_probability(margin)"
            )
        between = [*apart(np.array(self.thresholds)).tolist(), 1.0]
        return {"formula": "ordinal", "thresholds": self.thresholds, "apart": between}

    def measured(self, rows: Rows) -> OrdinalLogitLoss:
        """Fill in the thresholds: log-odds of the classes below, or of least loss at margins."""
        if self.thresholds == "fixed":
            W = class_totals(rows, self.n_classes)
            present = occurring(W)
            theta = with_absent(log_odds_at(W[present]), present)
        elif self.thresholds == "refit" and rows.f is not None:
            exactly = replace(rows, f=rows.f.astype(np.float64), memo={})
            theta = likeliest_thresholds(exactly, self.n_classes)
        else:
            return self
        return replace(self, thresholds=tuple(theta.tolist()))

    def totals(self, rows: Rows) -> Array | None:
        """The thresholds of least loss at these margins, if they are refitted."""
        return likeliest_thresholds(rows, self.n_classes) if self.thresholds == "refit" else None

    def around(self, y: Any, totals: Array | None, dtype: Any) -> tuple[Array, Array]:
        """l and u, the thresholds below and above the class of each row."""
        padded, label = self.padded(totals), y.astype(np.intp)
        low, high = padded[:-1].astype(dtype), padded[1:].astype(dtype)
        return low.take(label, mode="clip"), high.take(label, mode="clip")

    def padded(self, totals: Array | None) -> Array:
        """theta_0 to theta_K."""
        theta = np.array(self.thresholds) if totals is None else totals
        return np.concatenate([[-np.inf], theta, [np.inf]])

    def value(self, rows: Rows) -> tuple[float, float]:
        theta = self.totals(rows)

        def terms(y: Array, f: Array, xp: Any) -> tuple[Any, ...]:
            low, high = self.around(y, theta, f.dtype)
            # finite also without a threshold on a side, and where a class has no rows that count
            below, above = (x.clip(-LARGEST_EXPONENT[8], 1e300) for x in (low - f, f - high))
            return softplus(below) + softplus(above), 1.0

        W = class_totals(rows, self.n_classes)
        losses, n = rows.sum(terms).tolist()
        gaps, W = apart(self.padded(theta))[W > 0], W[W > 0]
        if not gaps.all():
            return math.inf, n  # a class that the training rows did not have
        return losses - float(W @ np.log(gaps)), n

    def gradient_hessian(self, y: Array, f: Array, totals: Array | None, xp: Any) -> Both:
        """g = (1 - F_u) - F_l and h = F_u (1 - F_u) + F_l (1 - F_l)."""
        low, high = self.odds(y, f, totals)
        above_l, below_u = low + 1, high + 1
        np.reciprocal(above_l, out=above_l)
        np.reciprocal(below_u, out=below_u)
        low *= above_l  # F_l
        high *= below_u  # 1 - F_u
        above_l *= low
        below_u *= high
        below_u += above_l
        high -= low
        return high, below_u

    def odds(self, y: Array, f: Array, totals: Array | None) -> tuple[Array, Array]:
        """exp(l - f) and exp(f - u), the odds of a class below l and of one above u."""
        theta = self.padded(totals)
        if max(-float(f.min()), float(f.max()), np.abs(theta[1:-1]).max()) <= FAR:
            E, label = np.exp(f), y.astype(np.intp)
            high = np.exp(-theta[1:]).astype(f.dtype).take(label, mode="clip")
            high *= E
            low = np.exp(theta[:-1]).astype(f.dtype).take(label, mode="clip")
            low /= E
            return low, high
        largest = LARGEST_EXPONENT[f.itemsize]
        l, u = self.around(y, totals, f.dtype)
        return np.exp(np.minimum(l - f, largest)), np.exp(np.minimum(f - u, largest))


def place(rows: Rows) -> list[ClassRows]:
    """Sort the rows by class, stretch by stretch; their order is kept for the next margins."""
    parts: list[ClassRows] = []
    for k, part in enumerate(rows.stretches(rows.f.dtype)):
        if k not in rows.memo:
            classes = part.y.astype(np.uint8 if part.y.max(initial=0) < 256 else np.intp)
            order = np.argsort(classes, kind="stable")  # a radix sort, as integers are small
            ends = np.cumsum(np.bincount(classes)).tolist()
            rows.memo[k] = order, ends, None if part.w is None else part.w[order]
        order, ends, w = rows.memo[k]
        near = len(order) > 0 and max(-float(part.f.min()), float(part.f.max())) <= FAR
        values = (np.exp(part.f) if near else part.f).take(order)
        parts += [
            ClassRows(label, values[at], near, None if w is None else w[at])
            for label, at in enumerate(map(slice, [0, *ends], ends))
            if at.start < at.stop
        ]
    return parts


# The thresholds of least loss.

Total = Callable[[Any], Array]  # adds up own sums over all workers


def likeliest_thresholds(rows: Rows, n_classes: int) -> Array:
    """theta_1 to theta_{K-1} of least loss at these margins, over the rows of all workers. They are
    fitted to samples of each class first, which mostly leaves one pass over all rows."""
    parts, total = place(rows), rows.total
    dtype = np.result_type(rows.f.dtype, np.float32)
    W = total(weights_of(parts, n_classes))
    present = occurring(W)
    every, W = renumbered(parts, present), W[present]
    large = thin(every, SAMPLE)
    small = thin(large, SAMPLE // 4)
    spare = np.empty((3, max((len(p.values) for p in (*every, *large)), default=0)), dtype)
    theta = start_thresholds(small, W, total)
    for sample in (small, large):
        seen = total(weights_of(sample, len(W)))
        if (seen < W).any() and seen.min() > 0:
            found = minimize(sample, W, W / seen, theta, 0.2, spare, total)
            theta = theta if found is None else found
    enough = float(32 * np.finfo(dtype).eps) ** (1 / 3)  # a step d leaves d^3/20 or less
    found = minimize(every, W, np.ones(len(W)), theta, enough, spare, total)
    if found is None:
        found = minimize_slowly(rows, present, W, theta)
    return with_absent(found, present)


def start_thresholds(parts: Sequence[ClassRows], W: Array, total: Total) -> Array:
    """A start for thresholds: f is normal, sigma((theta - mean f) / s), s^2 = 1 + pi/8 var f."""
    sums = np.zeros(3)
    for part in parts:
        f = part.f.astype(np.float64)
        n = len(f) if part.w is None else part.w.sum(dtype=np.float64)
        sums += n, weighted_sum(f, part.w), weighted_sum(f * f, part.w)
    n, first, second = total(sums)
    mean = first / n
    theta: Array = mean + math.sqrt(1 + math.pi / 8 * max(second / n - mean**2, 0)) * log_odds_at(W)
    return theta


def minimize(
    parts: Sequence[ClassRows], W: Array, factor: Array, theta: Array, enough: float, spare: Array,
    total: Total,
) -> Array | None:  # fmt: skip
    """The thresholds of least loss, or None if not found in ``STEPS`` steps, by Chebyshev's method:
    Newton's, with a second step for what the third derivatives bend. A step of at most ``enough``
    is the last. ``factor`` multiplies the sums over each class."""
    last = math.inf
    rounding = 16 * float(np.finfo(spare.dtype).eps) * W.sum()
    for _ in range(STEPS):
        sums = total(threshold_sums(parts, theta, spare)) * factor[:, np.newaxis]
        slope, matrix, bend, third, ratio = derivatives(sums, W, theta)
        level = np.abs(slope).max() <= rounding
        try:
            step = -np.linalg.solve(matrix, slope)
        except np.linalg.LinAlgError:
            return None
        size = max(np.abs(step).max(), (np.abs(np.diff(step)) * ratio).max(initial=0))
        if size > 0.5:  # far: as far as the third derivatives let one trust the second, in order
            if level:
                return theta
            theta = theta + step / (1 + size)
            continue
        bend *= step**2
        bend[1:] += third * np.diff(step) ** 2
        bend[:-1] -= third * np.diff(step) ** 2
        theta = theta + step - np.linalg.solve(matrix, bend / 2)
        if size <= enough or (size >= last / 2 and level):
            return theta
        last = size
    return None


def derivatives(sums: Array, W: Array, theta: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Derivatives of the loss by the thresholds: the first, the matrix of the second and, for
    Chebyshev's step, the third of the sums, the third of -W log(1 - exp(-d)) by the distance d of
    two thresholds, and its size relative to the second."""
    slope, curve, bend = (sums[1:, :3] + sums[:-1, 3:]).T  # of the class above, and of that below
    gap = np.diff(theta)
    wide = 2 * np.sinh(np.minimum(gap / 2, 300))
    first = W[1:-1] * np.exp(-gap / 2) / wide
    second, ratio = W[1:-1] / wide**2, 1 / np.tanh(gap / 2)
    slope[1:] -= first
    slope[:-1] += first
    matrix = np.diag(curve + 1e-30 * W.sum())  # curve is 0 for a threshold far from all rows
    i = np.arange(len(gap))
    matrix[i, i] += second
    matrix[i + 1, i + 1] += second
    matrix[i, i + 1] = matrix[i + 1, i] = -second
    return slope, matrix, bend, -second * ratio, ratio


def minimize_slowly(rows: Rows, present: Array, W: Array, theta: Array) -> Array:
    """The thresholds of least loss where rows are so far apart that it is flat between them."""
    from scipy.optimize import minimize as trust_region

    rows = replace(rows, f=rows.f.astype(np.float64), memo={})
    parts = renumbered(place(rows), present)
    spare = np.empty((3, max((len(part.values) for part in parts), default=0)))
    weight = W.sum()

    def loss(theta: Array) -> float:
        if (np.diff(theta) <= 0).any():
            return math.inf
        every = tuple(with_absent(theta, present).tolist())
        found = OrdinalLogitLoss(n_classes=len(present), thresholds=every)
        return found.value(rows)[0] / float(weight)

    def slope_and_matrix(theta: Array) -> tuple[Array, Array]:
        slope, matrix, *_ = derivatives(rows.total(threshold_sums(parts, theta, spare)), W, theta)
        return slope / weight, matrix / weight

    found = trust_region(
        loss, theta, jac=lambda theta: slope_and_matrix(theta)[0],
        hess=lambda theta: slope_and_matrix(theta)[1], method="trust-exact",
        options={"gtol": 1e-12, "initial_trust_radius": 1.0, "max_trust_radius": 1e4},
    ).x  # fmt: skip
    slope = np.abs(slope_and_matrix(found)[0]).max()
    if not slope <= 1e-4:
        raise ValueError(
            f"no thresholds of least loss were found for these margins (slope {slope:.2g}): some "
            "margins or weights are far larger than the rest; lower the learning rate, or pass "
            "thresholds to ordinal_logit_objective"
        )
    return np.asarray(found)


def threshold_sums(parts: Sequence[ClassRows], theta: Array, spare: Array) -> Array:
    """Sums by class of w times three derivatives of softplus(l - f) by l, softplus(f - u) by u."""
    sums = np.zeros((len(theta) + 1, 6))
    for part in parts:
        below, above, h = spare[:3, : len(part.values)]
        for at, j in ((0, part.label - 1), (3, part.label)):
            if not 0 <= j < len(theta):
                continue
            part.split(float(theta[j]), below, above)
            np.multiply(below, above, out=h)
            if part.w is not None:
                h *= part.w
            first = weighted_sum(below, part.w) if at == 0 else -weighted_sum(above, part.w)
            second = float(h.sum())
            sums[part.label, at : at + 3] += first, second, second - 2 * dot(h, below)
    return sums


def renumbered(parts: Sequence[ClassRows], present: Array) -> list[ClassRows]:
    """The parts of the classes that are present, which are numbered without the others."""
    position = np.cumsum(present) - 1
    return [p._replace(label=int(position[p.label])) for p in parts if present[p.label]]


def thin(parts: Sequence[ClassRows], size: int) -> list[ClassRows]:
    """A sample of at least ``size`` evenly spaced rows of each class, or all of a rarer one."""
    by_class: dict[int, list[ClassRows]] = {}
    for part in parts:
        by_class.setdefault(part.label, []).append(part)
    sample = []
    for label, own in by_class.items():
        every = max(1, sum(len(part.values) for part in own) // size)
        near = all(part.near for part in own)
        values = np.concatenate([(part.values if near else part.f)[::every] for part in own])
        w = None
        if own[0].w is not None:
            w = np.concatenate([part.w[::every] for part in own if part.w is not None])
        sample.append(ClassRows(label, values, near, w))
    return sample


def weights_of(parts: Sequence[ClassRows], n_classes: int) -> Array:
    W = np.zeros(n_classes)
    for part in parts:
        W[part.label] += len(part.values) if part.w is None else part.w.sum(dtype=np.float64)
    return W


def with_absent(theta: Array, present: Array) -> Array:
    """Thresholds of all classes, from those of present ones: an absent class has two equal ones."""
    return np.asarray(np.concatenate([[-np.inf], theta, [np.inf]])[np.cumsum(present)[:-1]])


def log_odds_at(W: Array) -> Array:
    """Log-odds of the classes below each threshold."""
    odds: Array = np.cumsum(W)[:-1] / np.cumsum(W[::-1])[::-1][1:]
    return np.log(odds)


def apart(theta: Array) -> Array:
    """1 - exp(-d) of the distances d between neighbours, 0 where they coincide, at infinity too."""
    low, high = theta[:-1], theta[1:]
    distance = np.subtract(high, low, where=high != low, out=np.zeros(len(low)))
    return np.asarray(np.abs(np.expm1(-distance)))


def weighted_sum(values: Array, w: Array | None) -> float:
    return float(values.sum()) if w is None else dot(values, w)


@public
def ordinal_logit_objective(
    n_classes: int, *, thresholds: Literal["refit", "fixed"] | ArrayLike = "refit"
) -> Objective:
    """Train a score whose thresholds give the probabilities of ordered classes: proportional odds.

    Use it where one score orders the classes and the probability of each class is needed.

    ::

        P(y <= k) = sigma(theta_{k+1} - f),   theta_1 < ... < theta_{K-1},   sigma(x) = 1/(1+e^-x)

        loss      sum w -log(F_u - F_l),   F_l = sigma(theta_y - f),  F_u = sigma(theta_{y+1} - f)
        gradient  w ((1 - F_u) - F_l)
        hessian   w (F_u (1 - F_u) + F_l (1 - F_l))

    with F_l = 0 for the lowest class and F_u = 1 for the highest. Boosting starts at 0: thresholds
    carry the location of the margin f, one score for all classes.

    Parameters
    ----------
    n_classes : int
        K >= 2. Labels are 0 to K-1, in their order; subtract the lowest label if it is 1.
    thresholds : {"refit", "fixed"} or array-like of shape (K-1,)
        "refit": the thresholds of least loss at the margins of each call, for which the hessian is
        an upper bound of the second derivative. "fixed": the log-odds of the classes below, from
        the training labels, which are cheaper, but too close where features tell classes apart.
        Numbers: the thresholds themselves, increasing.

    Returns
    -------
    Objective
        After training, ``fitted(y_train, margin_train).class_probability(margin)`` gives (n, K).
        That of a class without training rows is 0: the loss of other rows that have it is infinite.

    Raises
    ------
    ValueError, TypeError
        ``n_classes`` below 2 or no int, thresholds of another number or not increasing. While
        training: labels other than 0 to K-1, one class only.

    References
    ----------
    McCullagh (1980), Journal of the Royal Statistical Society B 42, 109-142.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import ordinal_logit_objective
    >>> y, margin = np.array([0, 0, 1, 1, 2, 2]), np.array([-2.0, 0.0, -1.0, 1.0, 0.0, 2.0])
    >>> obj = ordinal_logit_objective(3)
    >>> obj(y, margin)[0].round(2)
    array([ 0.26,  0.72, -0.39,  0.39, -0.72, -0.26], dtype=float32)
    >>> obj.fitted(y, margin).class_probability([-2.0, 2.0]).round(2)
    array([[0.74, 0.21, 0.05],
           [0.05, 0.21, 0.74]])
    """
    K = _checks.whole_number("n_classes", n_classes, 2)
    if isinstance(thresholds, str):
        how: Any = _checks.choice("thresholds", thresholds, ("refit", "fixed"))
        return Objective(OrdinalLogitLoss(n_classes=K, thresholds=how))
    theta = _checks.vector("thresholds", thresholds).astype(np.float64)
    if len(theta) != K - 1:
        raise ValueError(
            f"thresholds must be {K - 1}, one less than n_classes, found {len(theta)}: give the "
            "score at which each class but the first begins"
        )
    if (np.diff(theta) <= 0).any():
        at = int(np.argmax(np.diff(theta) <= 0))
        raise ValueError(
            f"thresholds must increase, found {theta[at]:g} before {theta[at + 1]:g}: sort them, "
            "and leave out classes that do not occur"
        )
    return Objective(OrdinalLogitLoss(n_classes=K, thresholds=tuple(theta.tolist())))
