"""Proportional odds: the probabilities of ordered classes from one score.

Symbols: f margin (a score), y class 0..K-1, w weight, theta_1 < ... < theta_{K-1} thresholds,
l = theta_y and u = theta_{y+1} those around the class of a row (theta_0 = -inf, theta_K = inf),
sigma the logistic function, F_l = sigma(l - f) and F_u = sigma(u - f) the probabilities of a class
below l and below u, d = u - l.

The loss of a row splits, -log(F_u - F_l) = softplus(l - f) + softplus(f - u) - log(1 - exp(-d)),
into terms of one threshold each, and one that keeps the two apart. So nothing cancels in
g = (1 - F_u) - F_l and h = F_u (1 - F_u) + F_l (1 - F_l), and what the thresholds of least loss
need of the rows are sums by class: their matrix of second derivatives is tridiagonal.
Rows are worked on in the order of their classes, so that thresholds are numbers, not columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._blocks import BLOCK_BYTES, blocks, dot
from gbdt_objectives._checks import Array
from gbdt_objectives._workers import all_sum, settle
from gbdt_objectives.objectives.base import (
    FLOAT32,
    Block,
    Constants,
    HessianKind,
    Objective,
    Start,
    convert,
)
from gbdt_objectives.objectives.domain import Classes, Domain
from gbdt_objectives.objectives.logloss import LARGEST_EXPONENT, softplus

FAR = 40.0
"""Up to such margins and thresholds exp(-f) exp(theta) is a float32, and one exp a row serves."""

SAMPLE = 16384
"""Rows of a class in the sample on which the thresholds are fitted first."""

STEPS = 25
"""Steps to the thresholds of least loss; more than ten are needed only in contrived data."""


class Part(NamedTuple):
    """Rows of one class: their margins, exp(margin) unless one is too far, their weights."""

    label: int
    f: Array
    E: Array | None
    w: Array | None

    def odds(self, theta: float, out: Array) -> Array:
        """exp(f - theta), of a class above theta against one below."""
        if self.E is not None and abs(theta) <= FAR:
            np.multiply(self.E, np.array(math.exp(-theta), out.dtype), out=out)
            return out
        np.subtract(self.f, np.array(theta, out.dtype), out=out)
        np.minimum(out, LARGEST_EXPONENT[out.dtype], out=out)
        np.exp(out, out=out)
        return out

    def split(self, theta: float, below: Array, above: Array) -> None:
        """Write F = sigma(theta - f) and 1 - F, both without cancellation."""
        odds = self.odds(theta, above)
        np.add(odds, 1, out=below)
        np.reciprocal(below, out=below)
        above *= below


@dataclass(frozen=True, kw_only=True)
class OrdinalLogitObjective(Objective):
    """Ordinal logistic loss; made by :func:`ordinal_logit_objective`, which explains it."""

    link = "score"
    intercept = 0.0
    n_classes: int = 2
    thresholds: Literal["refit", "fixed"] | tuple[float, ...] = "refit"

    @property
    def hessian_kind(self) -> HessianKind:
        return "upper_bound" if self.thresholds == "refit" else "exact"

    @property
    def label_domain(self) -> Domain:
        return Classes(self.n_classes)

    @property
    def couples_rows(self) -> bool:
        return self.thresholds == "refit"

    @property
    def _is_complete(self) -> bool:
        return self.thresholds != "fixed"

    def fitted(
        self, y_true: ArrayLike, margin: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> OrdinalLogitObjective:
        """The same objective with the thresholds of least loss at these margins, held fixed.

        Thresholds that are fixed already stay. A class without rows, or of weight 0, gets the
        probability 0: the thresholds on its two sides coincide, or are infinite.
        """
        y, f, w = self._read(y_true, margin, sample_weight)
        ready = self._measure_if_needed(y, w)
        if ready.thresholds != "refit":
            return ready
        parts = ready._read_parts(y, f.astype(np.float64), w)
        spare = np.empty((3, len(f)))
        return replace(
            ready, thresholds=tuple(fit_thresholds(parts, self.n_classes, spare).tolist())
        )

    def class_probability(self, margin: ArrayLike) -> Array:
        """The probability of each class at a margin.

        Parameters
        ----------
        margin : array-like of shape (n,)

        Returns
        -------
        ndarray of shape (n, n_classes)
            float64; each row sums to 1.

        Raises
        ------
        ValueError
            If the thresholds are not numbers yet.
        """
        from scipy.special import expit

        if isinstance(self.thresholds, str):
            how = {"refit": "fitted(y_train, margin_train)", "fixed": "measured(y_train)"}
            raise ValueError(
                f"thresholds are {self.thresholds!r}, so that probabilities depend on the training "
                f"rows: use objective.{how[self.thresholds]}.class_probability(margin)"
            )
        f = _checks.vector("margin", margin).astype(np.float64)[:, np.newaxis]
        theta = np.array(self.thresholds)
        p = np.ones((len(f), self.n_classes))
        p[:, :-1] = expit(theta - f)
        p[:, 1:] *= expit(f - theta)
        p[:, 1:-1] *= [apart(low, high) for low, high in pairwise(theta)]
        return p

    def _label_statistics(self, y: Array, w: Array | None) -> Array:
        """The weight of each class."""
        return np.bincount(y.astype(np.intp), w, minlength=self.n_classes)

    def _from_label_statistics(self, parts: Array) -> OrdinalLogitObjective:
        """The log-odds of the classes below each threshold, if they are to be fixed."""
        if self.thresholds != "fixed":
            return self
        W = parts.sum(axis=0)
        present = present_classes(W)
        return replace(self, thresholds=tuple(with_absent(log_odds(W[present]), present).tolist()))

    def _loss(self, y: Array, f: Array, w: Array | None) -> float:
        parts = self._read_parts(y, f, w)
        fitted = None
        if self.couples_rows:
            fitted = fit_thresholds(parts, self.n_classes, np.empty((3, len(f)), f.dtype))
        theta = self._padded(fitted)
        return sum(loss_of_part(part, *theta[part.label : part.label + 2]) for part in parts)

    def _padded(self, thresholds: Array | None = None) -> list[float]:
        """theta_0 to theta_K."""
        inner = self.thresholds if thresholds is None else thresholds
        assert not isinstance(inner, str)
        return [-math.inf, *(float(theta) for theta in inner), math.inf]

    def _read_parts(self, y: Array, f: Array, w: Array | None) -> list[Part]:
        """All rows in the order of their classes, block by block."""
        sorted_f, E = np.empty((2, len(f)), f.dtype)
        parts: list[Part] = []
        for rows in blocks(f):
            margin = self._check_margins(f, f[rows])
            labels, weights = self._check_labels(y, rows), None if w is None else w[rows]
            constants = self._constants(labels, weights, margin, lasting=False)
            parts += place(constants, margin, sorted_f[rows], E[rows])
        return parts

    def _constants(self, y: Array, w: Array | None, hessian: Array, lasting: bool) -> Constants:
        """The order of the rows by class and the way back, where classes end, sorted weights."""
        classes = y.astype(np.uint8 if self.n_classes <= 256 else np.intp)
        order = np.argsort(classes, kind="stable")  # of small integers: a radix sort
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        ends = np.cumsum(np.bincount(classes, minlength=self.n_classes)).tolist()
        return order, back, ends, None if w is None else w[order].astype(hessian.dtype)

    def _prepare(
        self, y: Array, w: Array | None, gradient: Array, hessian: Array, lasting: bool
    ) -> Iterator[Block]:
        """With memory that all blocks share."""
        spare = np.empty((4, min(len(y), BLOCK_BYTES // gradient.itemsize)), gradient.dtype)
        for rows, constants, g, h in super()._prepare(y, w, gradient, hessian, lasting):
            yield rows, (*constants, spare), g, h

    def _fill(self, prepared: Iterable[Block], f: Array, start: Start, strict: bool) -> None:
        """With thresholds to refit, all blocks are read before any is written."""
        if not self.couples_rows:
            super()._fill(prepared, f, start, strict)
            return
        seen: list[tuple[Block, list[Part]]] = []
        for block in prepared:
            rows, constants, gradient, hessian = block
            margin = self._check_margins(f, convert(f[rows], start, gradient))
            seen.append((block, place(constants, margin, hessian, gradient)))
        every = [part for _, parts in seen for part in parts]
        spare = constants[-1] if seen else np.empty((3, 0), FLOAT32)  # of a worker without rows
        theta = self._padded(fit_thresholds(every, self.n_classes, spare))
        settle()
        for (_, constants, gradient, hessian), parts in seen:
            write(constants, parts, theta, gradient, hessian)

    def _write(
        self, constants: Constants, f: Array, totals: Any, gradient: Array, hessian: Array
    ) -> None:
        parts = place(constants, f, hessian, gradient)
        write(constants, parts, self._padded(), gradient, hessian)


def place(constants: Constants, f: Array, sorted_f: Array, E: Array) -> list[Part]:
    """The rows of a block by class, written to ``sorted_f`` and ``E``, which may hold ``f``."""
    order, _, ends, w, *_ = constants
    np.take(f, order, out=sorted_f, mode="clip")  # indices are right: "clip" only saves a buffer
    near = max(-float(sorted_f.min()), float(sorted_f.max())) <= FAR
    if near:
        np.exp(sorted_f, out=E)
    return [
        Part(label, sorted_f[at], E[at] if near else None, None if w is None else w[at])
        for label, at in enumerate(map(slice, [0, *ends], ends))
        if at.start < at.stop
    ]


def write(
    constants: Constants, parts: Sequence[Part], theta: list[float], gradient: Array, hessian: Array
) -> None:
    """g = (1 - F_u) - F_l and h = F_u (1 - F_u) + F_l (1 - F_l) of a block, in its own order."""
    _, back, _, _, spare = constants
    g, h, low_below, low_above = spare[:, : len(gradient)]
    first = 0
    for part in parts:
        at = slice(first, first := first + len(part.f))
        low, high = theta[part.label], theta[part.label + 1]
        if high < math.inf:
            below, above = h[at], g[at]
            part.split(high, below, above)
            below *= above
        else:
            g[at] = h[at] = 0
        if low > -math.inf:
            below, above = low_below[at], low_above[at]
            part.split(low, below, above)
            g[at] -= below
            below *= above
            h[at] += below
        if part.w is not None:
            g[at] *= part.w
            h[at] *= part.w
    np.take(g, back, out=gradient, mode="clip")
    np.take(h, back, out=hessian, mode="clip")


def loss_of_part(part: Part, low: float, high: float) -> float:
    """softplus(l - f) + softplus(f - u) - log(1 - exp(l - u)), summed."""
    W = float(class_weights([part], part.label + 1)[-1])
    gap = apart(low, high)
    if W == 0:
        return 0.0
    if gap == 0:  # a class that the training rows did not have
        return math.inf
    total = -W * math.log(gap)
    if low > -math.inf:
        total += weighted_sum(softplus(low - part.f), part.w)
    if high < math.inf:
        total += weighted_sum(softplus(part.f - high), part.w)
    return total


# The thresholds of least loss.


def fit_thresholds(parts: Sequence[Part], n_classes: int, spare: Array) -> Array:
    """theta_1 to theta_{K-1} of least loss at these margins, over the rows of all workers.

    They are fitted to samples of each class first, which mostly leaves one pass over all rows.
    ``spare`` is memory for three times as many numbers as the largest part has, in the precision
    of the margins of all workers.
    """
    W = all_sum(class_weights(parts, n_classes))
    present = present_classes(W)
    position = np.cumsum(present) - 1
    rows = [part._replace(label=int(position[part.label])) for part in parts if present[part.label]]
    W = W[present]
    large = thin(rows, SAMPLE)
    small = thin(large, SAMPLE // 4)
    theta = start(small, W)
    for sample in (small, large):
        seen = all_sum(class_weights(sample, len(W)))
        if (seen < W).any() and seen.min() > 0:
            found = minimize(sample, W, W / seen, theta, 0.2, spare)
            theta = theta if found is None else found
    enough = float(32 * np.finfo(spare.dtype).eps) ** (1 / 3)  # a step d leaves d^3/20 or less
    found = minimize(rows, W, np.ones(len(W)), theta, enough, spare)
    if found is None:
        found = minimize_slowly(rows, W, theta)
    return with_absent(found, present)


def start(parts: Sequence[Part], W: Array) -> Array:
    """Thresholds of the right order: if f is normal, the mean of sigma(theta - f) is about
    sigma((theta - mean f) / s), with s^2 = 1 + pi/8 var f."""
    sums = np.zeros(3)
    for part in parts:
        f = part.f.astype(np.float64)
        n = len(f) if part.w is None else part.w.sum(dtype=np.float64)
        sums += n, weighted_sum(f, part.w), weighted_sum(f * f, part.w)
    n, first, second = all_sum(sums)
    mean = first / n
    theta: Array = mean + math.sqrt(1 + math.pi / 8 * max(second / n - mean**2, 0)) * log_odds(W)
    return theta


def minimize(
    parts: Sequence[Part], W: Array, factor: Array, theta: Array, enough: float, spare: Array
) -> Array | None:
    """The thresholds of least loss, None if they are not found in ``STEPS`` steps.

    By Chebyshev's method: Newton's, with a second step for what the third derivatives bend. A
    step of at most ``enough`` is the last. ``factor`` multiplies the sums over each class.
    """
    last = math.inf
    rounding = 16 * float(np.finfo(spare.dtype).eps) * W.sum()
    for _ in range(STEPS):
        sums = all_sum(threshold_sums(parts, theta, spare)) * factor[:, np.newaxis]
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
    """First and second derivatives of the loss by the thresholds; the third ones of the sums, and
    those of what keeps two thresholds apart, -W log(1 - exp(-d)), by d, and their size beside the
    second ones."""
    slope, curve, bend = (sums[1:, :3] + sums[:-1, 3:]).T  # of the classes above and below each
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


def minimize_slowly(parts: Sequence[Part], W: Array, theta: Array) -> Array:
    """The same where rows are so far from each other that the loss is flat between them."""
    from scipy.optimize import minimize as trust_region

    wide = [exact(part) for part in parts]
    spare = np.empty((3, max((len(part.f) for part in wide), default=0)))
    total = W.sum()

    def loss(theta: Array) -> float:
        if (np.diff(theta) <= 0).any():
            return math.inf
        ends = [-math.inf, *theta.tolist(), math.inf]
        own = sum(loss_of_part(part, ends[part.label], ends[part.label + 1]) for part in wide)
        return float(all_sum(own) / total)

    def slope_and_matrix(theta: Array) -> tuple[Array, Array]:
        sums = all_sum(threshold_sums(wide, theta, spare))
        slope, matrix, *_ = derivatives(sums, W, theta)
        return slope / total, matrix / total

    found = trust_region(
        loss,
        theta,
        jac=lambda theta: slope_and_matrix(theta)[0],
        hess=lambda theta: slope_and_matrix(theta)[1],
        method="trust-exact",
        options={"gtol": 1e-12, "initial_trust_radius": 1.0, "max_trust_radius": 1e4},
    ).x
    slope = np.abs(slope_and_matrix(found)[0]).max()
    if not slope <= 1e-4:
        raise ValueError(
            f"no thresholds of least loss were found for these margins (slope {slope:.2g}): some "
            "margins or weights are far larger than the rest; lower the learning rate, or pass "
            "thresholds to ordinal_logit_objective"
        )
    return np.asarray(found)


def exact(part: Part) -> Part:
    """In float64."""
    f = part.f.astype(np.float64)
    return Part(part.label, f, None, None if part.w is None else part.w.astype(np.float64))


def threshold_sums(parts: Sequence[Part], theta: Array, spare: Array) -> Array:
    """By class, sums of w times the first three derivatives of softplus(l - f) by l, and of
    softplus(f - u) by u."""
    sums = np.zeros((len(theta) + 1, 6))
    for part in parts:
        below, above, h = spare[:3, : len(part.f)]
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


def thin(parts: Sequence[Part], size: int) -> list[Part]:
    """At least ``size`` rows of each class, evenly spaced, or all of a rarer one."""
    by_class: dict[int, list[Part]] = {}
    for part in parts:
        by_class.setdefault(part.label, []).append(part)
    sample = []
    for label, own in by_class.items():
        every = max(1, sum(len(part.f) for part in own) // size)
        f = np.concatenate([part.f[::every] for part in own])
        E = None
        if all(part.E is not None for part in own):
            E = np.concatenate([part.E[::every] for part in own if part.E is not None])
        w = None
        if own[0].w is not None:
            w = np.concatenate([part.w[::every] for part in own if part.w is not None])
        sample.append(Part(label, f, E, w))
    return sample


def class_weights(parts: Sequence[Part], n_classes: int) -> Array:
    W = np.zeros(n_classes)
    for part in parts:
        W[part.label] += len(part.f) if part.w is None else part.w.sum(dtype=np.float64)
    return W


def present_classes(W: Array) -> Array:
    """Which classes have rows that count; there must be two."""
    present: Array = W > 0
    if present.sum() < 2:
        raise ValueError(
            f"y_true has one class only, found {int(np.argmax(W))} in all rows that count: at "
            "least two classes must occur"
        )
    return present


def with_absent(theta: Array, present: Array) -> Array:
    """Thresholds of all classes from those between the present ones: the two of an absent class
    coincide, or are infinite at the ends."""
    below = np.cumsum(present)[:-1]
    thresholds: Array = np.concatenate([[-np.inf], theta, [np.inf]])[below]
    return thresholds


def log_odds(W: Array) -> Array:
    """Of the classes below each threshold."""
    odds: Array = np.cumsum(W)[:-1] / np.cumsum(W[::-1])[::-1][1:]
    return np.log(odds)


def apart(low: float, high: float) -> float:
    """1 - exp(low - high), 0 where the thresholds coincide."""
    return 0.0 if low == high else -math.expm1(low - high)


def weighted_sum(values: Array, w: Array | None) -> float:
    return float(values.sum()) if w is None else dot(values, w)


def ordinal_logit_objective(
    n_classes: int, *, thresholds: Literal["refit", "fixed"] | ArrayLike = "refit"
) -> OrdinalLogitObjective:
    """Train a score whose thresholds give the probabilities of ordered classes: proportional odds.

    ::

        P(y <= k) = sigma(theta_{k+1} - f),   theta_1 < ... < theta_{K-1},   sigma(x) = 1/(1+e^-x)

        loss      sum w -log(F_u - F_l),   F_l = sigma(theta_y - f),  F_u = sigma(theta_{y+1} - f)
        gradient  w ((1 - F_u) - F_l)
        hessian   w (F_u (1 - F_u) + F_l (1 - F_l))

    with F_l = 0 for the lowest class and F_u = 1 for the highest. The margin f is one latent score
    for all classes: large where high classes are likely. The hessian is the second derivative
    where thresholds are fixed.

    Parameters
    ----------
    n_classes : int
        K >= 2. Labels are 0 to K-1, in their order; subtract the lowest label if it is 1.
    thresholds : {"refit", "fixed"} or array-like of shape (K-1,)
        "refit": in each call those of least loss at the margins of that call, so that trees only
        move scores. The loss is then the least over all thresholds, its gradient the one above
        at the best ones, and the hessian an upper bound of the second derivative; nothing is kept
        between calls. "fixed": the log-odds of the classes below, from the training labels; trees
        can move scores, but not the distances of thresholds, which are too close where features
        tell classes apart. Numbers: fixed at these, increasing.

    Returns
    -------
    OrdinalLogitObjective
        Usable as ``obj=`` and ``objective=`` in all four booster interfaces. After training,
        ``fitted(y_train, margin_train).class_probability(margin)`` gives probabilities (n, K).

    Raises
    ------
    ValueError, TypeError
        ``n_classes`` below 2 or no int, thresholds of another number or not increasing. While
        training: labels other than 0 to K-1, one class only.

    Notes
    -----
    Boosting starts at 0: thresholds carry the location of the scores, and refitted ones follow
    any other start.

    A class that no training row has is allowed: the thresholds on its two sides coincide (at the
    ends they are infinite) and its probability is 0. So the loss of other rows that have it is
    infinite.

    "refit" costs about twice as much as fixed thresholds, in a round of 1,000,000 rows a few
    milliseconds (``benchmarks/objective.py``), and one small sum over workers for each of a few
    steps. What its probabilities gain is in ``experiments/ordinal_data``.

    References
    ----------
    McCullagh (1980), "Regression models for ordinal data", Journal of the Royal Statistical
    Society B 42, 109-142.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import ordinal_logit_objective
    >>> y, margin = np.array([0, 0, 1, 1, 2, 2]), np.array([-2.0, 0.0, -1.0, 1.0, 0.0, 2.0])
    >>> obj = ordinal_logit_objective(3)
    >>> gradient, hessian = obj(y, margin)
    >>> gradient.round(2)
    array([ 0.26,  0.72, -0.39,  0.39, -0.72, -0.26], dtype=float32)
    >>> obj.fitted(y, margin).class_probability([-2.0, 2.0]).round(2)
    array([[0.74, 0.21, 0.05],
           [0.05, 0.21, 0.74]])
    """
    K = _checks.whole_number("n_classes", n_classes, 2)
    if isinstance(thresholds, str):
        how: Any = _checks.choice("thresholds", thresholds, ("refit", "fixed"))
        return OrdinalLogitObjective(n_classes=K, thresholds=how)
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
    return OrdinalLogitObjective(n_classes=K, thresholds=tuple(theta.tolist()))
