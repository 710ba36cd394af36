"""Ratios of two sums over rows as losses; extended weighted kappa with any cost is one.

Symbols, as in the equations: p margin, y label, w weight, c and d the row-wise functions with their
derivatives c', d' by p, F = sum w c, G = sum w d, R = F/G, n the sum of the weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_takes, shown
from gbdt_objectives._checks.domain import BINARY, Domain
from gbdt_objectives._links import IDENTITY, LOGIT, Link, read_link
from gbdt_objectives._rows.parts import vectors
from gbdt_objectives._rows.rows import Rows, read_only
from gbdt_objectives._rows.workers import Reduce
from gbdt_objectives.objectives import costs, coupled
from gbdt_objectives.objectives.base import Both, Objective
from gbdt_objectives.objectives.costs import MatrixCost, RowFunction

NAMED: dict[str, RowFunction] = {"squared": costs.SquaredCost(), "absolute": costs.AbsoluteCost()}


@dataclass(frozen=True, kw_only=True)
class RatioLoss(coupled.RatioOfSums):
    """The loss n F/G; see :func:`ratio_objective` and :func:`kappa_objective`, which has no
    ``denominator`` until it is the numerator's expectation over the training labels."""

    takes_device_arrays = False
    numerator: RowFunction
    denominator: RowFunction | None = None
    intercept: float | None = None
    link: Link = IDENTITY
    label_range: coupled.LabelRange | None = None
    unit: float = 1.0
    scale: Literal["residual", "kappa", "loss"] = "residual"
    clip: bool = False
    reduce: Reduce | None = None

    @property
    def labels(self) -> Domain:
        if isinstance(self.numerator, MatrixCost):
            low, high = self.numerator.label_range
            return costs.MatrixClasses(tuple(np.arange(low, high + 1).tolist()))
        return BINARY if self.link.n_classes == 2 else super().labels

    @property
    def start_tolerance(self) -> float | None:
        if not isinstance(self.denominator, costs.ExpectedCost):
            return None
        return 0.5 * math.sqrt(self.denominator.variance)

    @property
    def needs_labels(self) -> bool:
        return self.denominator is None or self._needs_range

    def measured(self, rows: Rows) -> RatioLoss:
        """Fill in denominator and label range where they are not given."""
        if not self.needs_labels:
            return self
        labels, weights = costs.merge_label_weights(rows.parts(costs.label_weights))
        loss = self.expecting("y_true", labels, weights) if self.denominator is None else self
        if self.denominator is None:
            _checks.warn_of_code("y_true", labels[weights > 0])
        return replace(loss, label_range=self.range_of(labels[weights > 0])) if self.clip else loss

    def range_of(self, labels: Array) -> coupled.LabelRange:
        """The range of a matrix's classes, or the one given, or else that of these labels."""
        if isinstance(self.numerator, MatrixCost):
            return self.numerator.label_range
        return self.label_range or coupled.range_between(*labels[[0, -1]])

    def expecting(self, name: str, labels: Array, weights: Array) -> RatioLoss:
        """Fill in the denominator, and what follows from it, for this distribution of labels."""
        if isinstance(self.numerator, MatrixCost) and self.label_range is None:
            K = len(self.numerator.matrix)
            if not weights[labels == 0].any():
                raise ValueError(
                    f"{name}: no label is 0, but the cost matrix is for the classes 0 to {K - 1} "
                    "if label_range is not given: pass label_range=(lowest, highest)"
                )
        expected = costs.expected_cost(self.numerator, name, labels, weights)
        start = expected.best_constant()
        at = np.array([start])
        unit = 0.5 * expected.variance / float(expected(at, at)[0][0])
        return replace(self, denominator=expected, intercept=start, unit=unit)

    def terms(self, y: Array, p: Array, xp: Any) -> tuple[Any, ...]:
        """Terms that add up to n, F and G."""
        y, p = read_only(y), read_only(self.clipped(p, xp))
        assert self.denominator is not None
        values = []
        for function in (self.numerator, self.denominator):
            value, slope = costs.evaluate_rows(function, y, p)
            costs.check_finite(function, y, p, value, slope)
            values.append(value)
        return 1.0, *values

    def totals(self, rows: Rows) -> coupled.Totals:
        n, F, G = rows.sum(self.terms, narrow=True).tolist()
        coupled.check_finite_sums(F, G)
        if G <= 0:
            raise ValueError(
                f"the denominator sums to {G:g} over the rows, but must be > 0: "
                f"{costs.word_of(self.denominator)} must be > 0 wherever margins get"  # type: ignore[arg-type]
            )
        return n, F, G

    def gradient_hessian(self, y: Array, p: Array, totals: coupled.Totals, xp: Any) -> Both:
        """Gradient c' - R d', scaled, and hessian 1."""
        n, F, G = totals
        y, p = read_only(y), read_only(self.clipped(p, xp))
        c_slope = costs.evaluate_rows(self.numerator, y, p)[1]
        d_slope = costs.evaluate_rows(self.denominator, y, p)[1]  # type: ignore[arg-type]
        factor = self.unit if self.scale == "residual" else n / G
        return (c_slope - F / G * d_slope) * factor, 1.0


def kappa_objective(
    cost: str | ArrayLike | RowFunction, y_true: ArrayLike | None = None, *,
    sample_weight: ArrayLike | None = None, target_prior: Mapping[float, float] | None = None,
    label_range: tuple[float, float] | None = None,
    scale: Literal["residual", "kappa"] = "residual", clip: bool = True,
    reduce: Reduce | None = None,
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
    scale, clip, label_range = coupled.read_options(
        scale, clip, label_range, reduce, y_true, sample_weight
    )
    numerator = _read_cost(cost, label_range, clip)
    prior = None if target_prior is None else _checks.prior("target_prior", target_prior)
    loss = RatioLoss(
        numerator=numerator, label_range=label_range, scale=scale, clip=clip, reduce=reduce
    )
    within = label_range
    if y_true is not None:
        known = costs.label_weights, loss.labels, label_range, prior and prior[0]
        columns = {"y_true": y_true, "sample_weight": sample_weight}
        parts = vectors(partial(coupled.measure_labels, *known), columns)
        labels, weights = costs.merge_label_weights(parts)
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
    coupled.check_complete(loss, "kappa_objective")
    return Objective(loss)


def _read_cost(
    cost: str | ArrayLike | RowFunction, label_range: coupled.LabelRange | None, clip: bool
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
    matrix = costs.matrix_cost(cost, label_range)
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


def ratio_objective(
    numerator: RowFunction, denominator: RowFunction, *, intercept: float | None = None,
    link: Literal["identity", "logit"] = "identity",
    scale: Literal["residual", "loss"] = "residual", reduce: Reduce | None = None,
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
    coupled.check_reduce(reduce)
    found = read_link("link", _checks.choice("link", link, (IDENTITY.name, LOGIT.name)))
    return Objective(RatioLoss(
        numerator=_row_function("numerator", numerator),
        denominator=_row_function("denominator", denominator), intercept=intercept, link=found,
        scale=_checks.choice("scale", scale, ("residual", "loss")), reduce=reduce,  # type: ignore[arg-type]
    ))  # fmt: skip
