"""Ratios of two sums over rows as losses; extended weighted kappa with any cost is one.

Symbols, as in the equations: p margin, y label, w weight, c and d the row-wise functions with their
derivatives c', d' by p, F = sum w c, G = sum w d, R = F/G, n the sum of the weights.

Of costs: y labels, p predictions, pi the probability of each label. A cost gives both by p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_takes, shown
from gbdt_objectives._checks.arrays import BINARY, Domain, Values
from gbdt_objectives._links import IDENTITY, LOGIT, Link, read_link
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Rows, blocks, vectors
from gbdt_objectives.objectives import qwk
from gbdt_objectives.objectives.base import Objective
from gbdt_objectives.objectives.loss import Both
from gbdt_objectives.objectives.qwk import LabelRange, constant_labels

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


NAMED: dict[str, RowFunction] = {"squared": SquaredCost(), "absolute": AbsoluteCost()}


@dataclass(frozen=True, kw_only=True)
class RatioLoss(qwk.RatioOfSums):
    """The loss n F/G; see :func:`ratio_objective` and :func:`kappa_objective`, which has no
    ``denominator`` until it is the numerator's expectation over the training labels."""

    takes_device_arrays = False
    numerator: RowFunction
    denominator: RowFunction | None = None
    intercept: float | None = None
    link: Link = IDENTITY
    label_range: qwk.LabelRange | None = None
    unit: float = 1.0
    scale: Literal["residual", "kappa", "loss"] = "residual"
    clip: bool = False
    reduce: Callable[[Array], Array] | None = None

    @property
    def labels(self) -> Domain:
        if isinstance(self.numerator, MatrixCost):
            low, high = self.numerator.label_range
            return MatrixClasses(tuple(np.arange(low, high + 1).tolist()))
        return BINARY if self.link.n_classes == 2 else super().labels

    @property
    def start_tolerance(self) -> float | None:
        if not isinstance(self.denominator, ExpectedCost):
            return None
        return 0.5 * math.sqrt(self.denominator.variance)

    @property
    def needs_labels(self) -> bool:
        return self.denominator is None or self._needs_range

    def measured(self, rows: Rows) -> RatioLoss:
        """Fill in denominator and label range where they are not given."""
        if not self.needs_labels:
            return self
        labels, weights = merge_label_weights(rows.parts(label_weights))
        loss = self.expecting("y_true", labels, weights) if self.denominator is None else self
        if self.denominator is None:
            _checks.warn_of_code("y_true", labels[weights > 0])
        return replace(loss, label_range=self.range_of(labels[weights > 0])) if self.clip else loss

    def range_of(self, labels: Array) -> qwk.LabelRange:
        """The range of a matrix's classes, or the one given, or else that of these labels."""
        if isinstance(self.numerator, MatrixCost):
            return self.numerator.label_range
        return self.label_range or qwk.range_between(*labels[[0, -1]])

    def expecting(self, name: str, labels: Array, weights: Array) -> RatioLoss:
        """Fill in the denominator, and what follows from it, for this distribution of labels."""
        if isinstance(self.numerator, MatrixCost) and self.label_range is None:
            K = len(self.numerator.matrix)
            if not weights[labels == 0].any():
                raise ValueError(
                    f"{name}: no label is 0, but the cost matrix is for the classes 0 to {K - 1} "
                    "if label_range is not given: pass label_range=(lowest, highest)"
                )
        expected = expected_cost(self.numerator, name, labels, weights)
        start = expected.best_constant()
        at = np.array([start])
        unit = 0.5 * expected.variance / float(expected(at, at)[0][0])
        return replace(self, denominator=expected, intercept=start, unit=unit)

    def terms(self, y: Array, p: Array, xp: Any) -> tuple[Any, ...]:
        """Terms that add up to n, F and G."""
        y, p = Rows.read_only(y), Rows.read_only(self.clipped(p, xp))
        assert self.denominator is not None
        values = []
        for function in (self.numerator, self.denominator):
            value, slope = evaluate_rows(function, y, p)
            check_finite(function, y, p, value, slope)
            values.append(value)
        return 1.0, *values

    def totals(self, rows: Rows) -> qwk.Totals:
        n, F, G = rows.sum(self.terms, narrow=True).tolist()
        qwk.check_finite_sums(F, G)
        if G <= 0:
            raise ValueError(
                f"the denominator sums to {G:g} over the rows, but must be > 0: "
                f"{word_of(self.denominator)} must be > 0 wherever margins get"  # type: ignore[arg-type]
            )
        return n, F, G

    def gradient_hessian(self, y: Array, p: Array, totals: qwk.Totals, xp: Any) -> Both:
        """Gradient c' - R d', scaled, and hessian 1."""
        n, F, G = totals
        y, p = Rows.read_only(y), Rows.read_only(self.clipped(p, xp))
        c_slope = evaluate_rows(self.numerator, y, p)[1]
        d_slope = evaluate_rows(self.denominator, y, p)[1]  # type: ignore[arg-type]
        factor = self.unit if self.scale == "residual" else n / G
        return (c_slope - F / G * d_slope) * factor, 1.0


@public
def kappa_objective(
    cost: str | ArrayLike | RowFunction, y_true: ArrayLike | None = None, *,
    sample_weight: ArrayLike | None = None, target_prior: Mapping[float, float] | None = None,
    label_range: tuple[float, float] | None = None,
    scale: Literal["residual", "kappa"] = "residual", clip: bool = True,
    reduce: Callable[[Array], Array] | None = None,
) -> Objective:  # fmt: skip
    """Train on weighted kappa with any cost of disagreement, extended to continuous predictions.

    Use it for kappa with costs other than squared distances; :func:`qwk_objective` has those.

    ::

        kappa~ = 1 - F/G,   F = sum w c(y, p),   G = sum w g(p),   g(p) = sum_j pi_j c(j, p)

        loss      n F/G,   n = sum w
        gradient  u w (c'(y, p) - R g'(p)),  R = F/G     scale="residual"
                  w (c'(y, p) - R g'(p)) n/G             scale="kappa"
        hessian   w

    with pi the distribution of the labels, ' the derivative by p, and u a constant unit, 1 for the
    squared cost. Of classes, kappa~ is :func:`kappa_cost_metric` (``docs/theory/coupled.md``).

    Parameters
    ----------
    cost : "squared", "absolute", array-like of shape (K, K) or callable
        c, the cost of a disagreement.

        - "squared", (p-y)^2 / 2: quadratic weighted kappa.
        - "absolute", abs(p-y): linear weighted kappa.
        - ``matrix[i, j]`` >= 0: the cost of predicting class j where i is true, 0 on the diagonal;
          the classes are the K integers of ``label_range``, or 0 to K-1. Between classes each row
          is a monotone piecewise cubic (PCHIP).
        - ``cost(y, p) -> (value, derivative by p)``: finite arrays (n,), from arrays (n,). Define
          it at module level if the objective is to be pickled.
    y_true : array-like of shape (n,), optional
        The labels of the training rows, at most 1000 different ones, also of Dask: pi and, except
        for a matrix, ``label_range``. None: those of the training data, of all workers.
    sample_weight, target_prior, label_range, clip, reduce
        As in :func:`qwk_objective`. The prior is pi, and a matrix needs ``clip``.
    scale : {"residual", "kappa"}
        "kappa" is the gradient of the loss, "residual" that times u G/n: it does not change if
        costs, or labels and scores, are multiplied by a constant.

    Returns
    -------
    Objective
        Its ``intercept`` is the constant p of least g(p): the mean label for the squared cost, the
        median for the absolute one. Begin there, as ``train`` does: nothing moves a bad start.

    Raises
    ------
    ValueError, TypeError
        A cost that is negative, not square, not 0 for agreement, not finite, for other classes, or
        that lets one constant prediction cost nothing; a function that does not return two arrays;
        what :func:`qwk_objective` refuses.

    References
    ----------
    Cohen (1968), Psychological Bulletin 70(4), for weighted kappa. Fritsch & Butland (1984), SIAM
    Journal on Scientific and Statistical Computing 5(2), for the interpolation.

    Examples
    --------
    >>> from gbdt_objectives.objectives import kappa_objective
    >>> y = [0, 1, 2, 3, 3]
    >>> kappa_objective("absolute", y).intercept
    2.0
    >>> missed_top_is_worse = [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [9, 6, 3, 0]]
    >>> round(1 - kappa_objective(missed_top_is_worse, y).loss(y, [0, 1, 1, 3, 3]) / 5, 4)
    0.918
    """
    scale, clip, label_range = qwk.read_kappa_options(
        scale, clip, label_range, reduce, y_true, sample_weight
    )
    numerator = _read_cost(cost, label_range, clip)
    prior = None if target_prior is None else _checks.prior("target_prior", target_prior)
    loss = RatioLoss(
        numerator=numerator, label_range=label_range, scale=scale, clip=clip, reduce=reduce
    )
    within = label_range
    if y_true is not None:
        known = label_weights, loss.labels, label_range, prior and prior[0]
        columns = {"y_true": y_true, "sample_weight": sample_weight}
        parts = vectors(partial(qwk.measure_labels, *known), columns)
        labels, weights = merge_label_weights(parts)
        within = loss.range_of(labels)
    elif prior is not None and not isinstance(numerator, MatrixCost):
        within = loss.range_of(prior[0])
    if prior is not None:
        named, pi = prior
        replace(loss, label_range=within).labels.check("a label of target_prior", named[pi > 0])
        loss = loss.expecting("target_prior", named, pi)
    elif y_true is not None:
        loss = loss.expecting("y_true", labels, weights)
    loss = replace(loss, label_range=within)
    qwk.check_complete(loss, "kappa_objective")
    return Objective(loss)


def _read_cost(
    cost: str | ArrayLike | RowFunction, label_range: qwk.LabelRange | None, clip: bool
) -> RowFunction:
    if isinstance(cost, str):
        if cost not in NAMED:
            raise ValueError(
                f"cost must be 'squared' (quadratic kappa), 'absolute' (linear kappa), a (K, K) "
                f"matrix or a function, found {shown(cost)}"
            )
        return NAMED[cost]
    if callable(cost):
        return _row_function("cost", cost)
    matrix = matrix_cost(cost, label_range)
    if not clip:
        raise ValueError(
            "clip=False, but a cost matrix says nothing about predictions beyond its classes: "
            "leave clip out, or pass a function"
        )
    return matrix


def _row_function(name: str, function: RowFunction) -> RowFunction:
    if not callable(function):
        raise TypeError(f"{name} must be a function of (y, p), found {shown(function)}")
    if isinstance(function, Objective):
        raise TypeError(f"{name} is an objective, {shown(function)}: pass it to the booster")
    check_takes(name, function, "y, p", lambda found, _: (
        f"{name} must take (y, p), arrays of labels and predictions, and return (value, "
        f"derivative by p), found the parameters {found}"
    ))  # fmt: skip
    return function


@public
def ratio_objective(
    numerator: RowFunction, denominator: RowFunction, *, intercept: float | None = None,
    link: Literal["identity", "logit"] = "identity",
    scale: Literal["residual", "loss"] = "residual", reduce: Callable[[Array], Array] | None = None,
) -> Objective:  # fmt: skip
    """Minimise the ratio of two sums over rows, such as a metric that has no objective here.

    ::

        loss      n F/G,   F = sum w c(y, p),   G = sum w d(y, p),   n = sum w
        gradient  w (c'(y, p) - R d'(y, p)),  R = F/G     scale="residual"
                  that times n/G                          scale="loss"
        hessian   w

    with ' the derivative by p. A ratio is not convex even if c and d are, so the hessian is a
    constant, and the start matters.

    Parameters
    ----------
    numerator, denominator : callable
        c and d: ``function(y, p) -> (value, derivative by p)``, of labels and margins, arrays (n,)
        in and out (or one number for all rows), without weights. The denominator's sum must be > 0.
    intercept : float, optional
        Where ``train`` starts boosting, in margin units; 0 if None.
    link : {"identity", "logit"}
        What a margin is: a score in label units, or the log-odds of label 1 among 0 and 1, whose
        ``predict_proba`` must be calibrated on held-out rows.
    scale : {"residual", "loss"}
        "residual" has the units of c': the loss's gradient times G/n. "loss": the loss's own.
    reduce : callable, optional
        As in :func:`qwk_objective`.

    Returns
    -------
    Objective

    Raises
    ------
    ValueError, TypeError
        An argument that is no function of (y, p); while training, a function that returns no tuple,
        values that are not finite or not one a row, or a denominator whose sum is not > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.objectives import ratio_objective
    >>> def missed_and_false(y, z):
    ...     q = 1 / (1 + np.exp(-z))
    ...     return y + q - 2 * y * q, (1 - 2 * y) * q * (1 - q)
    >>> def positive_twice(y, z):
    ...     q = 1 / (1 + np.exp(-z))
    ...     return y + q, q * (1 - q)
    >>> f1 = ratio_objective(missed_and_false, positive_twice, link="logit")
    >>> round(f1.loss([1, 0, 0, 1], [0.0, 0.0, 0.0, 0.0]) / 4, 4)
    0.5
    """
    if intercept is not None:
        intercept = _checks.number("intercept", intercept)
    qwk.check_reduce(reduce)
    found = read_link("link", _checks.choice("link", link, (IDENTITY.name, LOGIT.name)))
    return Objective(RatioLoss(
        numerator=_row_function("numerator", numerator),
        denominator=_row_function("denominator", denominator), intercept=intercept, link=found,
        scale=_checks.choice("scale", scale, ("residual", "loss")), reduce=reduce,  # type: ignore[arg-type]
    ))  # fmt: skip
