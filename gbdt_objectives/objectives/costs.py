"""Costs of predictions, row by row, and their expectation.

Symbols: y labels, p predictions, pi the probability of each label. A cost gives both by p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._checks.domain import Values
from gbdt_objectives._rows.places import blocks
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.objectives.coupled import LabelRange, constant_labels

RowFunction = Callable[[Array, Array], tuple[Any, Any]]
"""A function of (y, p), each (n,): the value and its derivative by p, (n,) or one number."""
MOST_LABELS = 1000  # most different labels; each costs a pass over the predictions


@dataclass(frozen=True)
class SquaredCost:
    """(p-y)^2 / 2."""

    def __call__(self, y: Array, p: Array) -> tuple[Array, Array]:
        r = p - y
        return 0.5 * r * r, r


@dataclass(frozen=True)
class AbsoluteCost:
    """|p-y|, with the derivative 0 at p = y."""

    def __call__(self, y: Array, p: Array) -> tuple[Array, Array]:
        r = p - y
        return np.abs(r), np.sign(r)


@dataclass(frozen=True)
class MatrixCost:
    """A cost between the classes low, low+1, ..., for p in their range: through each row of the
    matrix goes a monotone piecewise cubic (PCHIP), whose first derivative is continuous."""

    matrix: tuple[tuple[float, ...], ...]
    low: float

    @property
    def label_range(self) -> LabelRange:
        return self.low, self.low + len(self.matrix) - 1

    @cached_property
    def pieces(self) -> Array:
        """Coefficients [power, true class, predicted class to the left], (4, K, K-1)."""
        from scipy.interpolate import PchipInterpolator

        matrix = np.array(self.matrix)
        curves = PchipInterpolator(np.arange(len(matrix)), matrix, axis=1)
        return np.ascontiguousarray(curves.c.transpose(0, 2, 1))

    def __call__(self, y: Array, p: Array) -> tuple[Array, Array]:
        left, t = self._place(p)
        left += (y - p.dtype.type(self.low)) * (len(self.matrix) - 1)
        return _cubic(self.pieces.reshape(4, -1), left, t)

    def between(self, labels: Array) -> Array:
        """The costs of some of the classes, [true, predicted]."""
        at = self._positions(labels)
        return np.asarray(np.array(self.matrix)[np.ix_(at, at)])

    def expected(self, labels: Array, pi: Array, p: Array) -> tuple[Array, Array]:
        """sum_j pi_j c(j, p) and its derivative."""
        return _cubic(self._expected_pieces(labels, pi), *self._place(p))

    def _expected_pieces(self, labels: Array, pi: Array) -> Array:
        """The coefficients of sum_j pi_j c(j, p) between each two classes, (4, K-1)."""
        return np.asarray(np.einsum("j,cjk->ck", pi, self.pieces[:, self._positions(labels)]))

    def candidates(self, labels: Array, pi: Array) -> Array:
        """Places of least cost: classes, middles, where sum_j pi_j c(j, p) is stationary."""
        found = [*np.arange(2 * len(self.matrix) - 1) / 2]
        for k, piece in enumerate(self._expected_pieces(labels, pi).T):
            roots = np.roots(np.polyder(piece))
            found += [k + t for t in roots.real[roots.imag == 0] if 0 < t < 1]
        return self.low + np.array(found)

    def _positions(self, labels: Array) -> Array:
        return (labels - self.low).astype(np.intp)

    def _place(self, p: Array) -> tuple[Array, Array]:
        """The class to the left of p, as a float and at most the last but one, and p's distance."""
        t = p - p.dtype.type(self.low)
        left = np.floor(t)
        np.minimum(left, len(self.matrix) - 2, out=left)
        t -= left
        return left, t


def _cubic(coefficients: Array, at: Array, t: Array) -> tuple[Array, Array]:
    """Cubics of the given columns, and their derivatives, at t: Horner's scheme, in place."""
    at = at.astype(np.intp)
    slope, b, c, d = (row.take(at) for row in coefficients.astype(t.dtype))
    value = slope * t
    value += b
    for coefficient in (c, d):
        slope *= t
        slope += value
        value *= t
        value += coefficient
    return value, slope


@dataclass(frozen=True)
class ExpectedCost:
    """g(p) = sum_j pi_j c(j, p): what p costs if labels are drawn from their distribution."""

    cost: RowFunction
    labels: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __call__(self, y: Array, p: Array) -> tuple[Array, Array]:
        if isinstance(self.cost, MatrixCost):
            return self.cost.expected(np.array(self.labels), np.array(self.probabilities), p)
        pieces, low, high = self.pieces(p.dtype), self.labels[0], self.labels[-1]
        if pieces is None:
            return self._summed(p)
        left = np.floor(p)
        at = np.ceil(p) + left  # even at a class, odd between two
        at -= 2 * low - 1
        piece = np.clip(at, 0, 2 * (high - low + 1), out=at).astype(np.intp)
        least, slope = (column.take(piece) for column in pieces)
        return least + slope * (p - left.clip(low, high, out=left)), slope

    def _summed(self, p: Array) -> tuple[Array, Array]:
        value, derivative = np.zeros((2, len(p)), p.dtype)
        for label, pi in zip(self.labels, self.probabilities, strict=True):
            v, d = evaluate_rows(self.cost, np.broadcast_to(p.dtype.type(label), p.shape), p)
            value += pi * v
            derivative += pi * d
        return value, derivative

    @lru_cache  # noqa: B019
    def pieces(self, dtype: Any) -> Any:
        """If g is linear between few classes: its value at the left class, or at the lowest, and
        its slope, below all classes, at the lowest, above it, ..., above all."""
        low, high = self.labels[0], self.labels[-1]
        few = high - low < MOST_LABELS and max(abs(low), abs(high)) < 2**22  # halves are exact
        whole = isinstance(self.cost, AbsoluteCost) and all(y.is_integer() for y in self.labels)
        if not (few and whole):
            return None
        p = (np.arange(2 * low - 1, 2 * high + 2) / 2).astype(dtype)
        return self._summed(np.floor(p).clip(low, high))[0], self._summed(p)[1]

    @property
    def mean(self) -> float:
        return float(np.dot(self.labels, self.probabilities))

    @property
    def variance(self) -> float:
        d = np.array(self.labels) - self.mean
        return float(np.dot(d * d, self.probabilities))

    def best_constant(self) -> float:
        """The constant p of least cost among candidates; of equal ones the nearest to the mean."""
        if isinstance(self.cost, MatrixCost):
            p = self.cost.candidates(np.array(self.labels), np.array(self.probabilities))
        else:
            p = self._candidates()
        values = self(p, p)[0]
        least = p[values <= values.min() * (1 + 1e-12)]
        return float(least[np.argmin(np.abs(least - self.mean))])

    def _candidates(self) -> Array:
        from scipy.optimize import brentq

        def slope(p: float) -> float:
            at = np.array([p])
            return float(self(at, at)[1][0])

        labels = np.array(self.labels)
        candidates = [*labels, *(labels[1:] + labels[:-1]) / 2]
        slopes = self(labels, labels)[1]
        for k in np.flatnonzero((slopes[:-1] < 0) & (slopes[1:] > 0)):
            low, high = labels[k : k + 2]
            candidates.append(brentq(slope, low, high, xtol=1e-15 * (high - low)))
        return np.array(candidates)


def evaluate_rows(function: RowFunction, y: Array, p: Array) -> tuple[Array, Array]:
    """Value and derivative of each row, in the precision of p; they may be p's own memory."""
    returned = function(y, p)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise TypeError(
            f"{word_of(function)} must return a tuple (value, derivative by p), found "
            f"{type(returned).__name__}"
        )
    value, derivative = (
        _read_per_row(f"the {part} returned by {word_of(function)}", values, p)
        for part, values in zip(("value", "derivative"), returned, strict=True)
    )
    return value, derivative


def check_finite(function: RowFunction, y: Array, p: Array, *parts: Array) -> None:
    """Raise if value or derivative is not finite somewhere."""
    for part, values in zip(("value", "derivative"), parts, strict=True):
        wrong = ~np.isfinite(values)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"the {part} returned by {word_of(function)} is {values[row]} at label {y[row]:g}, "
                f"prediction {p[row]:g}: it must be finite wherever margins get"
            )


def _read_per_row(what: str, values: Any, p: Array) -> Array:
    array = np.asarray(values)
    if array.shape == p.shape and array.dtype == p.dtype:
        return array
    if array.dtype.kind not in "fiu" or array.shape not in ((), p.shape):
        raise ValueError(
            f"{what} must hold a real number per row, shape {p.shape}, or be one number, found "
            f"dtype {array.dtype} and shape {array.shape}"
        )
    with np.errstate(over="ignore"):  # seen in the sums
        return np.broadcast_to(array.astype(p.dtype, copy=False), p.shape)


def word_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def expected_cost(cost: RowFunction, name: str, labels: Array, weights: Array) -> ExpectedCost:
    """The expected cost for rising labels and their weights, checked; ``name`` is theirs."""
    counts = weights > 0
    labels, pi = labels[counts], weights[counts] / weights.sum()
    K = len(labels)
    if K == 1:
        raise constant_labels(name, float(labels[0]))
    check_few_labels(name, K)
    if isinstance(cost, MatrixCost):
        costs = cost.between(labels)
    else:
        costs = evaluate_rows(cost, np.repeat(labels, K), np.tile(labels, K))[0].reshape(K, K)
        _check_costs(f"cost {word_of(cost)}", costs, labels)
    expected = pi @ costs
    if expected.min() <= 0:
        raise ValueError(
            f"cost: always predicting {labels[expected.argmin()]:g} costs nothing, so kappa is 0/0 "
            "there: give confusions of labels that occur a cost > 0"
        )
    return ExpectedCost(cost, tuple(labels.tolist()), tuple(pi.tolist()))


def _check_costs(name: str, costs: Array, labels: Array) -> None:
    """Raise unless costs [true, predicted] are finite, >= 0, and 0 for agreement."""
    for wrong, must in (
        (~np.isfinite(costs), "be finite"),
        (costs < 0, "be >= 0"),
        ((costs != 0) & np.eye(len(labels), dtype=bool), "be 0 for agreement, on the diagonal"),
    ):
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise ValueError(
                f"{name} must {must}, found {costs[i, j]:g} for true label {labels[i]:g}, "
                f"predicted {labels[j]:g}"
            )


def matrix_cost(matrix: ArrayLike, label_range: LabelRange | None) -> MatrixCost:
    """The cost between the classes of ``label_range``, or 0 to K-1."""
    array, classes = _checks.cost_matrix("cost", matrix)
    K = len(array)
    low, high = (0.0, K - 1.0) if label_range is None else label_range
    if not (low.is_integer() and high.is_integer() and high - low == K - 1):
        raise ValueError(
            f"cost has shape {array.shape}, but label_range is {label_range}: give the {K} "
            "consecutive integers that its rows and columns stand for"
        )
    if classes is not None:
        array = _checks.costs_of_labels("cost", array, classes, low + np.arange(K))
    _check_costs("cost", array, low + np.arange(K))
    return MatrixCost(tuple(map(tuple, array.tolist())), low)


@dataclass(frozen=True)
class MatrixClasses(Values):
    """The classes of a cost matrix."""

    def check(self, name: str, values: Array) -> None:
        _checks.finite(name, values)
        K, low, high = len(self.values), self.values[0], self.values[-1]
        rule = f"must be one of the {K} classes of the cost matrix, {low:g} to {high:g}"
        remedy = (
            "pass label_range=(lowest, highest) if it is for others, or a matrix with a row and "
            "column for each"
        )
        _checks.each(name, values, self._find(values), rule, remedy)


def label_weights(rows: Rows) -> Array:
    """How many labels there are, then ``MOST_LABELS`` of them, ascending, and of their weights."""
    y, w = rows.y, rows.w
    low, high = (float(y.min()), float(y.max())) if len(y) else (0.0, 0.0)
    whole = low.is_integer() and high - low < MOST_LABELS
    if whole and all(bool((y[at] == np.rint(y[at])).all()) for at in blocks(y)):
        position = np.subtract(y, low).astype(np.intp)
        present = np.flatnonzero(np.bincount(position))
        labels, weights = low + present, np.bincount(position, w)[present]
    else:
        labels, at = np.unique(y, return_inverse=True)
        weights = np.bincount(at, w)
    K = min(len(labels), MOST_LABELS)
    found = np.zeros(2 * MOST_LABELS + 1)
    found[0], found[1 : 1 + K], found[1 + MOST_LABELS :][:K] = len(labels), labels[:K], weights[:K]
    return found


def check_few_labels(name: str, K: int) -> None:
    if K > MOST_LABELS:
        raise ValueError(
            f"{name} holds {K} different labels, and the expected cost of a prediction is a sum "
            f"over them: at most {MOST_LABELS} are supported; bin them, or use qwk_objective, "
            "which needs their mean and variance only"
        )


def merge_label_weights(parts: Array) -> tuple[Array, Array]:
    """The different labels of all rows, ascending, and their weights, of each part's vector."""
    own = np.arange(MOST_LABELS) < parts[:, :1]  # the rest is padding
    labels, at = np.unique(parts[:, 1 : 1 + MOST_LABELS][own], return_inverse=True)
    check_few_labels("y_true", max(len(labels), int(parts[:, 0].max())))
    return labels, np.bincount(at, parts[:, 1 + MOST_LABELS :][own], len(labels))
