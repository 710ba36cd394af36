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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._blocks import blocks, dot
from gbdt_objectives._checks import Array
from gbdt_objectives._workers import sum_over_workers
from gbdt_objectives.objectives.base import Block, Constants, HessianKind, Objective, convert
from gbdt_objectives.objectives.domain import Classes, Domain
from gbdt_objectives.objectives.logloss import LARGEST_EXPONENT, softplus

FAR = 40.0
"""Up to such margins and thresholds exp(-f) exp(theta) is a float32, and one exp a row serves."""

SAMPLE = 8192
"""Rows of a class in the sample on which the thresholds are fitted first."""

STEPS = 200


class Part(NamedTuple):
    """Rows of one class: their margins, exp(-margin) unless one is too far, their weights."""

    label: int
    f: Array
    E: Array | None
    w: Array | None

    def odds(self, theta: float, out: Array) -> Array:
        """exp(theta - f), of a class below theta against one above."""
        if self.E is not None and abs(theta) <= FAR:
            return np.multiply(self.E, np.array(math.exp(theta), out.dtype), out=out)
        np.subtract(np.array(theta, out.dtype), self.f, out=out)
        np.minimum(out, LARGEST_EXPONENT[out.dtype], out=out)
        return np.exp(out, out=out)

    def below(self, theta: float, F: Array, rest: Array) -> None:
        """Write F = sigma(theta - f) and 1 - F, both without cancellation."""
        odds = self.odds(theta, F)
        np.add(odds, 1, out=rest)
        np.reciprocal(rest, out=rest)
        F *= rest


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
        return replace(ready, thresholds=tuple(fit_thresholds(parts, self.n_classes)))

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
        p[:, 1:-1] *= [apart(low, high) for low, high in zip(theta, theta[1:], strict=False)]
        return p

    def _measure(self, y: Array, w: Array | None) -> OrdinalLogitObjective:
        """The log-odds of the classes below each threshold, if they are to be fixed."""
        if self.thresholds != "fixed":
            return self
        counts = np.bincount(y.astype(np.intp), w, minlength=self.n_classes)
        W = sum_over_workers(counts.astype(np.float64))
        present = present_classes(W)
        return replace(self, thresholds=tuple(with_absent(log_odds(W[present]), present)))

    def _loss(self, y: Array, f: Array, w: Array | None) -> float:
        parts = self._read_parts(y, f, w)
        theta = self._padded(fit_thresholds(parts, self.n_classes) if self.couples_rows else None)
        total = 0.0
        for part in parts:
            W = class_weights([part], self.n_classes)[part.label]
            low, high = theta[part.label], theta[part.label + 1]
            gap = apart(low, high)
            if W == 0:
                continue
            if gap == 0:  # a class that the training rows did not have
                return math.inf
            total -= W * math.log(gap)
            for finite, q in ((low > -math.inf, low - part.f), (high < math.inf, part.f - high)):
                if finite:
                    total += weighted_sum(softplus(q), part.w)
        return total

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
            constants = self._constants(labels, weights, sorted_f[rows], lasting=False)
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

    def _fill(self, prepared: Iterable[Block], f: Array, start: float, strict: bool) -> None:
        """With thresholds to refit, all blocks are read before any is written."""
        if not self.couples_rows:
            super()._fill(prepared, f, start, strict)
            return
        seen, parts = [], []
        for block in prepared:
            rows, constants, gradient, hessian = block
            margin = self._check_margins(f, convert(f[rows], start, gradient))
            parts.append(place(constants, margin, hessian, gradient))
            seen.append(block)
        theta = self._padded(fit_thresholds([p for own in parts for p in own], self.n_classes))
        for (_, constants, gradient, hessian), own in zip(seen, parts, strict=True):
            write(constants, own, theta, gradient, hessian)

    def _write(
        self, constants: Constants, f: Array, totals: Any, gradient: Array, hessian: Array
    ) -> None:
        parts = place(constants, f, hessian, gradient)
        write(constants, parts, self._padded(), gradient, hessian)


def place(constants: Constants, f: Array, sorted_f: Array, E: Array) -> list[Part]:
    """The rows of a block by class, written to ``sorted_f`` and ``E``, which may hold ``f``."""
    order, _, ends, w = constants
    np.take(f, order, out=sorted_f, mode="clip")  # indices are right: "clip" only saves a buffer
    near = max(-float(sorted_f.min()), float(sorted_f.max())) <= FAR
    if near:
        np.negative(sorted_f, out=E)
        np.exp(E, out=E)
    return [
        Part(label, sorted_f[at], E[at] if near else None, None if w is None else w[at])
        for label, at in enumerate(map(slice, [0, *ends], ends))
        if at.start < at.stop
    ]


def write(
    constants: Constants, parts: Sequence[Part], theta: list[float], gradient: Array, hessian: Array
) -> None:
    """g = (1 - F_u) - F_l and h = F_u (1 - F_u) + F_l (1 - F_l) of a block, in its own order."""
    g, h = np.empty((2, len(gradient)), gradient.dtype)
    first = 0
    for part in parts:
        at = slice(first, first := first + len(part.f))
        low, high = theta[part.label], theta[part.label + 1]
        if high < math.inf:
            F, rest = h[at], g[at]
            part.below(high, F, rest)
            F *= rest
        else:
            g[at] = h[at] = 0
        if low > -math.inf:
            F, rest = np.empty((2, len(part.f)), g.dtype)
            part.below(low, F, rest)
            g[at] -= F
            F *= rest
            h[at] += F
        if part.w is not None:
            g[at] *= part.w
            h[at] *= part.w
    _, back, _, _ = constants
    np.take(g, back, out=gradient, mode="clip")
    np.take(h, back, out=hessian, mode="clip")


# The thresholds of least loss.


def fit_thresholds(parts: Sequence[Part], n_classes: int) -> Array:
    """theta_1 to theta_{K-1} of least loss at these margins, over the rows of all workers.

    They are fitted to a sample of each class first, which leaves a pass or two over all rows.
    """
    W = sum_over_workers(class_weights(parts, n_classes))
    present = present_classes(W)
    position = np.cumsum(present) - 1
    parts = [part._replace(label=int(position[part.label])) for part in parts if present[part.label]]
    sample, W = thin(parts), W[present]
    moments = np.zeros(2)
    for part in sample:
        f = part.f.astype(np.float64)
        moments += weighted_sum(f, part.w), weighted_sum(f * f, part.w)
    seen = sum_over_workers(np.concatenate([moments, class_weights(sample, len(W))]))
    (mean, square), seen = seen[:2] / seen[2:].sum(), seen[2:]
    # the mean of sigma(theta - f) is about sigma((theta - mean f) / spread) if f is normal
    spread = math.sqrt(1 + math.pi / 8 * max(square - mean**2, 0))
    theta = mean + spread * log_odds(W)
    if len(sample) < len(parts) or any(a.f is not b.f for a, b in zip(sample, parts, strict=True)):
        if seen.min() > 0:
            theta = minimize(sample, W, W / seen, theta)
    return with_absent(minimize(parts, W, np.ones(len(W)), theta), present)


def minimize(parts: Sequence[Part], W: Array, factor: Array, theta: Array) -> Array:
    """The thresholds of least loss, by Chebyshev's method: Newton's, with a second step for what
    the third derivatives bend. ``factor`` multiplies the sums over each class."""
    dtype = parts[0].f.dtype
    enough = 0.5 * float(np.finfo(dtype).eps) ** (1 / 3)
    matrix = np.zeros((2, len(theta)))
    last = math.inf
    for _ in range(STEPS):
        sums = sum_over_workers(threshold_sums(parts, theta, dtype)) * factor[:, np.newaxis]
        low, high = sums[1:, :3].T, sums[:-1, 3:].T  # of the class above and below each threshold
        slope, curve, bend = low + high
        gap = np.diff(theta)
        S = W[1:-1] / (2 * np.sinh(np.minimum(gap / 2, 300)))  # of -W log(1 - exp(-gap))
        first, second = S * np.exp(-gap / 2), S / (2 * np.sinh(np.minimum(gap / 2, 300)))
        slope[1:] -= first
        slope[:-1] += first
        matrix[1] = curve
        matrix[1, 1:] += second
        matrix[1, :-1] += second
        matrix[0, 1:] = -second
        step = -solve(matrix, slope)
        ratio = 1 / np.tanh(gap / 2)
        size = max(np.abs(step).max(), (np.abs(np.diff(step)) * ratio).max(initial=0))
        if size > 0.5:  # far away: as far as the third derivatives let one trust the second
            theta = theta + step / (1 + size)
            continue
        third = second * ratio * np.diff(step) ** 2
        bend *= step**2
        bend[1:] -= third
        bend[:-1] += third
        theta = theta + step - solve(matrix, bend / 2)
        if size <= enough or size >= last / 2:  # cubic convergence; rounding
            return theta
        last = size
    raise ValueError(
        f"no thresholds of least loss were found for margins from "
        f"{min(float(p.f.min()) for p in parts):g} to {max(float(p.f.max()) for p in parts):g}: "
        "lower the learning rate, or pass thresholds to ordinal_logit_objective"
    )


def threshold_sums(parts: Sequence[Part], theta: Array, dtype: np.dtype[Any]) -> Array:
    """By class, for the threshold below it and the one above: the sums of w times the first,
    second and third derivatives of softplus(l - f) by l, and of softplus(f - u) by u."""
    sums = np.zeros((len(theta) + 1, 6))
    spare = np.empty((3, max(len(part.f) for part in parts)), dtype)
    for part in parts:
        F, rest, h = spare[:, : len(part.f)]
        for at, j in ((0, part.label - 1), (3, part.label)):
            if not 0 <= j < len(theta):
                continue
            part.below(float(theta[j]), F, rest)
            np.multiply(F, rest, out=h)
            if part.w is not None:
                h *= part.w
            first = weighted_sum(F, part.w) if at == 0 else -weighted_sum(rest, part.w)
            second = weighted_sum(h, None)
            sums[part.label, at : at + 3] += first, second, second - 2 * dot(h, F)
    return sums


def solve(matrix: Array, vector: Array) -> Array:
    """Of a tridiagonal matrix, given as its upper diagonal and its diagonal."""
    from scipy.linalg import solveh_banded

    ridge = np.zeros_like(matrix)
    ridge[1] = 1e-30
    solution: Array = solveh_banded(matrix + ridge, vector, check_finite=False)
    return solution


def thin(parts: Sequence[Part]) -> list[Part]:
    """About ``SAMPLE`` rows of each class, or all of a rarer one."""
    by_class: dict[int, list[Part]] = {}
    for part in parts:
        by_class.setdefault(part.label, []).append(part)
    sample = []
    for label, own in by_class.items():
        stride = sum(len(part.f) for part in own) // SAMPLE
        if stride <= 1:
            sample += own
            continue
        f, w = (
            None if part[0] is None else np.concatenate([v[::stride] for v in part])
            for part in ([p.f for p in own], [p.w for p in own])
        )
        assert f is not None
        sample.append(Part(label, f, np.exp(-f) if np.abs(f).max() <= FAR else None, w))
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
    return np.concatenate([[-np.inf], theta, [np.inf]])[below]


def log_odds(W: Array) -> Array:
    """Of the classes below each threshold."""
    return np.log(np.cumsum(W)[:-1] / np.cumsum(W[::-1])[::-1][1:])


def apart(low: float, high: float) -> float:
    """1 - exp(low - high), 0 where the thresholds coincide."""
    return 0.0 if low == high else -math.expm1(low - high)


def weighted_sum(values: Array, w: Array | None) -> float:
    return float(values.sum(dtype=np.float64)) if w is None else dot(values, w)


def ordinal_logit_objective(
    n_classes: int, *, thresholds: Literal["refit", "fixed"] | ArrayLike = "refit"
) -> OrdinalLogitObjective:
    """TODO."""
    K = _checks.whole_number("n_classes", n_classes, 2)
    if isinstance(thresholds, str):
        _checks.choice("thresholds", thresholds, ("refit", "fixed"))
        return OrdinalLogitObjective(n_classes=K, thresholds=thresholds)
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
