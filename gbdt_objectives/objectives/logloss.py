"""Logistic losses for training data in which only some of the negatives were kept.

Symbols: z margin (log-odds), y label 0 or 1, w weight, r the rate at which negatives
were kept (r_i where it differs by row), sigma the logistic function.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._blocks import blocks, dot
from gbdt_objectives._checks import Array
from gbdt_objectives._devices import to_host
from gbdt_objectives._workers import all_sum
from gbdt_objectives.objectives.base import (
    FLOAT32,
    FLOAT64,
    Bound,
    Constants,
    Objective,
    Start,
    Sums,
    add_sums,
)
from gbdt_objectives.objectives.device import Device, DeviceArray
from gbdt_objectives.objectives.domain import BINARY
from gbdt_objectives.objectives.row_values import RowValues

NAME = "negative_keep_rate"
Hessian = Literal["exact", "bounded"]

LARGEST_EXPONENT = {FLOAT32: 87.0, FLOAT64: 708.0}
"""Beyond, exp overflows; the probability of the wrong label, below 2e-38 (3e-308), counts as 0."""


@dataclass(frozen=True, kw_only=True)
class LoglossObjective(Objective):
    """Logistic loss with a weight for negatives and an offset of the margin.

    loss = sum w c(y) log(1 + exp(-(2y-1) (z + offset))),  c(1) = 1,  c(0) = negative_weight.
    Made by :func:`weighted_logloss_objective` and :func:`offset_logloss_objective`.
    """

    label_domain = BINARY
    link = "logit"
    takes_device_arrays = True
    negative_weight: float = 1.0
    offset: float | RowValues = 0.0
    hessian: Hessian = "exact"
    intercept: float | None = None

    @property
    def hessian_kind(self) -> Hessian:
        return self.hessian

    @property
    def rows(self) -> int | None:
        return len(self.offset) if isinstance(self.offset, RowValues) else None

    def take(self, positions: ArrayLike) -> LoglossObjective:
        if not isinstance(self.offset, RowValues):
            return self
        return dataclasses.replace(self, offset=self.offset.take(positions))

    def check_rows(self, n: int, of: str) -> None:
        if self.rows not in (None, n):
            raise ValueError(
                f"{of} has {n} rows, but {NAME} has {self.rows}: the objective needs the rate of "
                "each training row, in their order. After rows = negative_downsample(y, rates) "
                "that is offset_logloss_objective(rates[rows]); where rows are held out, as in "
                "cross-validation, make an objective for each training part, "
                "objective.take(positions), as cv() does"
            )

    def _read_labels(
        self, y_true: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array | None]:
        y, w = super()._read_labels(y_true, sample_weight)
        if isinstance(self.offset, RowValues):
            _checks.rates_by_row_alone(NAME, self.offset.values > 0, to_host(y == 1))
        return y, w

    def _label_statistics(self, y: Array, w: Array | None) -> Array:
        """The weight of label 0 and of label 1."""
        return class_weights(y, w, 2)

    def _from_label_statistics(self, parts: Array) -> LoglossObjective:
        """The intercept: the constant margin of least loss."""
        if self.intercept is not None:
            return self
        negative, positive = both_classes(parts)
        if isinstance(self.offset, RowValues):  # which only measured() can weigh
            return self
        best = math.log(positive / (self.negative_weight * negative)) - self.offset
        return dataclasses.replace(self, intercept=best)

    def measured(
        self, y_true: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LoglossObjective:
        """The same objective, with its intercept: the constant margin of least loss.

        While several workers train together, on the labels of all of them.
        """
        ready = super().measured(y_true, sample_weight)
        if ready.intercept is not None or not isinstance(self.offset, RowValues):
            return ready
        y, w = map(to_host, self._read_labels(y_true, sample_weight))  # many passes, done once
        negative, positive = all_sum(class_weights(y, w, 2)).tolist()
        best = best_constant(self.offset.values, w, positive, negative)
        return dataclasses.replace(self, intercept=best)

    def _loss(self, y: Array, z: Array, w: Array | None) -> float:
        if isinstance(self.offset, RowValues):
            return dataclasses.replace(self, offset=0.0)._loss(y, z + self.offset.values, w)
        negatives, positives, _, _ = self._loss_sums(y, z, w)
        return self.negative_weight * negatives + positives

    def _loss_sums(self, y: Array, z: Array, w: Array | None) -> Sums:
        """Additive: the loss of the negatives, without their weight, and of the positives; and
        the (weighted) number of each."""
        parts = []
        for rows in blocks(z):
            positive = self._check_labels(y, rows).astype(z.dtype)
            margin = self._check_margins(z, z[rows])
            negative = 1 - positive
            q = negative - positive
            q *= margin + self.offset if self.offset else margin
            losses = softplus(q)
            if w is None:
                n = dot(positive, positive)
                numbers = len(q) - n, n
            else:
                v = w[rows].astype(z.dtype)
                losses *= v
                numbers = dot(negative, v), dot(positive, v)
            parts.append((dot(negative, losses), dot(positive, losses), *numbers))
        return add_sums(parts or [(0.0, 0.0, 0.0, 0.0)])

    def _bind(
        self, y: Array, w: Array | None, start: Start, dtype: np.dtype[Any], lasting: bool
    ) -> Bound:
        """With offsets by row, they and ``start`` are added to the margin beforehand."""
        if not isinstance(self.offset, RowValues):
            return super()._bind(y, w, start, dtype, lasting)
        bound = dataclasses.replace(self, offset=0.0)._bind(y, w, 0.0, dtype, lasting)
        offset = (self.offset.values + start).astype(dtype)
        s = np.empty_like(offset)
        return lambda f: bound(np.add(f, offset, out=s, casting="same_kind"))

    def _constants(self, y: Array, w: Array | None, hessian: Array, lasting: bool) -> Constants:
        """2y-1, the gradient's factor w c(y) (1-2y), and w c(y) unless it is 1 everywhere."""
        right = 2 * y.astype(hessian.dtype) - 1
        if w is None and self.negative_weight == 1:
            return right, -right
        c = np.full_like(right, self.negative_weight)
        c[right > 0] = 1
        if w is not None:
            c *= w.astype(c.dtype, copy=False)
        return right, -right * c, c

    def _write(
        self, constants: Constants, f: Array, totals: Any, gradient: Array, hessian: Array
    ) -> None:
        """With E = exp((2y-1) s) the odds of the right label, s = z + offset: the probability of
        the wrong one is 1/(1+E), no cancellation in either tail, and the hessian E/(1+E)^2, or
        half that probability."""
        right, slope, *c = constants
        assert not isinstance(self.offset, RowValues)  # which _bind has added
        s = np.add(f, self.offset, out=gradient) if self.offset else f
        log_E = np.multiply(s, right, out=gradient)
        largest = LARGEST_EXPONENT[log_E.dtype]
        certain = log_E > largest if log_E.max() > largest else None
        if certain is not None:
            log_E[certain] = 0
        E = np.exp(log_E, out=hessian)
        wrong = np.add(E, 1, out=gradient)
        np.reciprocal(wrong, out=wrong)
        if self.hessian == "bounded":
            np.multiply(wrong, 0.5, out=hessian)
        else:
            hessian *= wrong
            hessian *= wrong
        gradient *= slope
        if c:
            hessian *= c[0]
        if certain is not None:
            gradient[certain] = hessian[certain] = 0

    def _device_label_statistics(
        self, device: Device, y: DeviceArray, w: DeviceArray | None
    ) -> tuple[float, ...]:
        return device_class_weights(device, y, w)

    def _bind_on_device(
        self, device: Device, y: DeviceArray, w: DeviceArray | None, start: Any, dtype: Any
    ) -> Bound:
        if not isinstance(self.offset, RowValues):
            return super()._bind_on_device(device, y, w, start, dtype)
        alone = dataclasses.replace(self, offset=0.0)
        start = device.cast(device.real_array(NAME, self.offset.values + start), dtype)
        return alone._bind_on_device(device, y, w, start, dtype)

    def _device_loss(
        self, device: Device, y: DeviceArray, f: DeviceArray, w: DeviceArray | None
    ) -> float:
        if isinstance(self.offset, RowValues):
            s = f + device.real_array(NAME, self.offset.values)
            return dataclasses.replace(self, offset=0.0)._device_loss(device, y, s, w)
        losses = softplus((1 - 2 * y) * (f + self.offset), device.xp)
        return device.sum(losses, self._device_factor(y), w)

    def _device_factor(self, y: DeviceArray) -> DeviceArray:
        """c(y)."""
        return y + self.negative_weight * (1 - y)

    def _device_gradient_hessian(
        self, device: Device, y: DeviceArray, f: DeviceArray, w: DeviceArray | None
    ) -> tuple[DeviceArray, DeviceArray]:
        """As ``_write``."""
        xp = device.xp
        assert not isinstance(self.offset, RowValues)  # which _bind_on_device has added
        right = 2 * y - 1
        log_E = right * (f + self.offset)
        largest = largest_exponent(device, f)
        E = xp.exp(xp.clip(log_E, max=largest))
        wrong = 1 / (1 + E) * device.cast(log_E <= largest, f.dtype)
        c = self._device_factor(y)
        if w is not None:
            c = c * w
        hessian = 0.5 * wrong if self.hessian == "bounded" else E * wrong * wrong
        return wrong * (-right * c), hessian * c


def class_weights(y: Array, w: Array | None, K: int) -> Array:
    """The weight of each of the classes 0 to K-1."""
    counted: Array = np.bincount(y.astype(np.intp), w, minlength=K).astype(np.float64)
    return counted


def largest_exponent(device: Device, f: DeviceArray) -> float:
    return LARGEST_EXPONENT[FLOAT32 if f.dtype == device.xp.float32 else FLOAT64]


def device_class_weights(
    device: Device, y: DeviceArray, w: DeviceArray | None
) -> tuple[float, float]:
    """The weight of label 0 and of label 1."""
    return device.sum(1 - y, w), device.sum(y, w)


def both_classes(parts: Array) -> tuple[float, float]:
    """The weight of label 0 and of label 1, if there are both, in all parts (m, 2) of the rows."""
    negative, positive = parts.sum(axis=0).tolist()
    if not (positive > 0 and negative > 0):
        raise ValueError(
            f"y_true has one class only, found weight {positive:g} for label 1 and "
            f"{negative:g} for label 0: both must occur"
        )
    return negative, positive


def best_constant(offsets: Array, w: Array | None, positive: float, negative: float) -> float:
    """c with sum w sigma(c + o) = P, where the loss of one margin for all rows is least.

    ``offsets`` o >= 0; ``positive`` P and ``negative`` the weight of the labels of all workers.
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    def total(row_values: Array) -> float:
        own = row_values.sum() if w is None else dot(row_values, w)
        return float(all_sum(own))

    # sigma(c) <= sigma(c + o) <= exp(c + o)
    low = math.log(positive / total(np.exp(offsets)))
    high = math.log(positive / negative)
    weight = positive + negative
    return float(
        brentq(
            lambda c: (total(expit(offsets + c)) - positive) / weight, low - 1, high + 1, xtol=1e-13
        )
    )


def softplus(q: Array, xp: Any = np) -> Array:
    """log(1 + exp(q)) to a few roundings in both tails, in the precision of ``q``.

    ``xp``: the functions of the library that it is an array of.
    """
    size = xp.abs(q)
    E = xp.exp(-size)
    u = E + 1
    losses: Array = xp.log(u)
    u -= 1
    E -= u  # what 1 + E lost in rounding
    losses += E
    size *= 0.5
    size += 0.5 * q  # max(q, 0)
    losses += size
    return losses


def weighted_logloss_objective(
    negative_keep_rate: float, *, hessian: Hessian = "exact"
) -> LoglossObjective:
    """Logistic loss in which each kept negative counts for all those it was sampled from.

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
        "exact" is the second derivative, as in the boosters' own logistic loss. It vanishes for
        rows that are predicted with certainty, and a leaf of few such rows with large weights can
        step far past its optimum. "bounded": the step of a leaf of one margin is 2 tanh(d/2), d the
        step to its optimum, so never past it, and never above 2.
        Choose "bounded" for rates of .1 and below if nothing is tuned: there it was better than
        "exact" in 16 of 28 comparisons and worse in none; "exact" with ``max_delta_step=1`` did as
        well. At a rate of 1 it was better in none of 20 and worse in 4. With ``reg_lambda`` and
        ``max_delta_step`` tuned the two were level, but at a rate of .01, where "bounded" was
        better in 3 of 8 (``experiments/curvature``).

    Returns
    -------
    LoglossObjective
        Usable as ``obj=`` and ``objective=`` in all four booster interfaces. Labels
        are 0 and 1.

    Raises
    ------
    ValueError
        If the rate is not in (0, 1]; while training, if a label is not 0 or 1.

    See Also
    --------
    offset_logloss_objective : The same margin without large weights. With regularisation tuned
        alike, trees were level at a tenth of the negatives and better with it at a fiftieth, and at
        LightGBM's defaults much better (``experiments/negative_downsampling``).

    References
    ----------
    McMahan et al. (2013), "Ad click prediction: a view from the trenches", section 4.3;
    King & Zeng (2001), Political Analysis 9(2), section 4.2.

    Examples
    --------
    >>> from gbdt_objectives import weighted_logloss_objective
    >>> gradient, hessian = weighted_logloss_objective(0.1)([1, 0], [0.0, 0.0])
    >>> gradient
    array([-0.5,  5. ], dtype=float32)
    """
    check_hessian(hessian)
    r = _checks.keep_rate(NAME, negative_keep_rate)
    return LoglossObjective(negative_weight=1 / r, hessian=hessian)


def offset_logloss_objective(
    negative_keep_rate: float | ArrayLike, *, hessian: Hessian = "exact"
) -> LoglossObjective:
    """Logistic loss on sampled data whose margin is the log-odds before sampling.

    Keeping negatives at rate r adds -log r to a row's log-odds, so the loss sees
    s = z - log r while the model learns z::

        loss      sum w (-y log sigma(s) - (1-y) log(1 - sigma(s))),  s = z - log r
        gradient  w (sigma(s) - y)
        hessian   w sigma(s) (1 - sigma(s))   "exact"
                  w |sigma(s) - y| / 2        "bounded"

    Parameters
    ----------
    negative_keep_rate : float in (0, 1], or array-like of shape (n,)
        r, the fraction of the negatives that was kept in the training data; or the rate of
        each of the n *training* rows: ``rates[rows]`` after
        ``rows = negative_downsample(y, rates)`` (``rates.iloc[rows]`` in pandas). That of a
        positive is not 1, but the rate at which a negative in its place would be kept.
    hessian : {"exact", "bounded"}
        As in :func:`weighted_logloss_objective`, but here are no large weights to protect from:
        "bounded" was better in none of 28 comparisons and worse in 2
        (``experiments/curvature``).

    Returns
    -------
    LoglossObjective
        Usable as ``obj=`` and ``objective=`` in all four booster interfaces. Labels
        are 0 and 1; the margin, and sigma of it, need no correction afterwards.

    Raises
    ------
    ValueError
        If a rate is not in (0, 1]; while training, if a label is not 0 or 1, there is not one
        rate for each row, or exactly the positives have the rate 1.

    Notes
    -----
    Rates by row are bound to the rows that they are of. Data with another number of rows are
    refused, also in scikit-learn's cross-validation, whose folds need an objective each,
    ``objective.take(positions)``; ``cv`` makes these. Rows in another order, or as many others,
    cannot be noticed. The array is copied. Rates may depend on the features, not on the label
    (see :func:`pilot_keep_rates`).

    The intercept is the constant of least loss, c with sum w sigma(c - log r) = sum w y.
    Evaluation sets need no rates: their margins are the population's log-odds. If their
    negatives were sampled too, give these weights of 1/r and measure
    ``weighted_logloss_metric(1)``.

    References
    ----------
    King & Zeng (2001), Political Analysis 9(2), section 4.1, as an offset in training; by row:
    Wang, Zhang & Wang (2021), "Nonuniform negative sampling and log odds correction with
    rare events data", arXiv 2110.13048.

    Examples
    --------
    >>> import math
    >>> from gbdt_objectives import offset_logloss_objective
    >>> obj = offset_logloss_objective(0.1)
    >>> gradient, hessian = obj([1, 0], [math.log(0.1)] * 2)
    >>> gradient
    array([-0.5,  0.5], dtype=float32)

    A rate for each row:

    >>> gradient, hessian = offset_logloss_objective([0.5, 0.1])([1, 0], [math.log(0.1)] * 2)
    >>> gradient.round(3)
    array([-0.833,  0.5  ], dtype=float32)
    """
    check_hessian(hessian)
    if np.ndim(negative_keep_rate) == 0:
        r = _checks.keep_rate(NAME, negative_keep_rate)
        return LoglossObjective(offset=-math.log(r), hessian=hessian)
    rates = _checks.keep_rates(NAME, negative_keep_rate)
    return LoglossObjective(offset=RowValues(-np.log(rates)), hessian=hessian)


def check_hessian(hessian: str) -> None:
    _checks.choice("hessian", hessian, ("exact", "bounded"))
