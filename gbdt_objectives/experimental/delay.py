"""How long labels take to arrive, from those that have arrived.

Symbols: a age of a row when the labels were read, d <= a the delay of its label, w its weight, T
the horizon, F(t) the probability of a delay of at most t among labels that arrive within T. At each
delay t that occurs, n(t) is the weight of labels with d = t, and R(t) that of labels with
d <= t <= a, which are at risk.

A label is seen only if d <= a: delays are truncated on the right, and those seen are too short.
Given that d <= t, the probability of d = t is estimated by n(t)/R(t), from rows of age t or more,
which have seen all such delays. Hence F(t) is the product of 1 - n(s)/R(s) over the delays s > t.

In the logistic loss of such labels, z is the margin, p = sigma(z) the probability that the row is
positive in the end, y = 1 if its label has arrived already, F the probability that the label of a
positive has arrived by the row's age, q = F p the probability of y = 1, and t = q/(1-q).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._checks.arrays import BINARY
from gbdt_objectives._links import LOGIT
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Rows, RowValues, freeze, from_zero, write_table
from gbdt_objectives._steps.steps import SavedAsJSON, read_number, read_numbers
from gbdt_objectives.calibration.rows import check_arrived, read_arrived
from gbdt_objectives.objectives.base import Objective
from gbdt_objectives.objectives.logloss import both_classes, largest_exponent
from gbdt_objectives.objectives.loss import Loss

ROUNDING = 1e-12
"""The weight at risk, as a share of all, that rounding may have made."""


MANY_AGES = 5
"""Fewer different ages may all be those of the delays by chance."""


@public
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DelayDistribution(SavedAsJSON):
    """The distribution of delays, as :func:`delay_distribution` estimates it: a step function.

    Parameters
    ----------
    delay : array-like of shape (k,)
        The delays at which it rises, each >= 0, in ascending order.
    probability : array-like of shape (k,)
        F at each of them, above 0, not descending; 1 at the last.
    standard_error : array-like of shape (k,)
        Standard error of each for independent rows.
    horizon : float
        The longest delay that is considered: F is of labels that arrive within it.

    Raises
    ------
    ValueError, TypeError
        Delays that do not ascend, values that are no distribution, different lengths, a horizon
        below the last delay.

    Examples
    --------
    >>> from gbdt_objectives.experimental import DelayDistribution
    >>> F = DelayDistribution(
    ...     delay=[0, 3], probability=[0.75, 1], standard_error=[0.05, 0], horizon=7
    ... )
    >>> F([0, 2, 3, 100])
    array([0.75, 0.75, 1.  , 1.  ])
    >>> DelayDistribution.from_json(F.to_json())
    DelayDistribution: 2 delays, horizon 7
       delay  probability  standard_error
           0         0.75            0.05
           3            1               0
    """

    delay: Any
    probability: Any
    standard_error: Any
    horizon: float

    _saved: ClassVar = {
        "delay": read_numbers,
        "probability": read_numbers,
        "standard_error": read_numbers,
        "horizon": read_number,
    }

    def __post_init__(self) -> None:
        t = read_times("delay", self.delay)
        F = _checks.vector("probability", self.probability).astype(np.float64)
        error = _checks.vector("standard_error", self.standard_error).astype(np.float64)
        horizon = _checks.number("horizon", self.horizon)
        for name, values in (("probability", F), ("standard_error", error)):
            _checks.same_length(name, values, "the delays", len(t))
        rises = np.append(True, t[1:] > t[:-1])
        _checks.each("delay", t, rises, "must ascend", "list each delay once, in order")
        right = (F > 0) & (F <= 1) & np.append(True, F[1:] >= F[:-1])
        rule = "must be above 0, at most 1 and not descend"
        _checks.each("probability", F, right, rule, "it is F at each delay, not that of the delay")
        if F[-1] != 1:
            raise ValueError(
                f"probability must be 1 at the last delay, found {F[-1]:g}: divide by it, as F is "
                "that of labels that arrive within the horizon"
            )
        _checks.each("standard_error", error, error >= 0, "must not be negative", "pass 0 for none")
        if horizon < t[-1]:
            raise ValueError(
                f"horizon must be at least the last delay, {t[-1]:g}, found {horizon:g}"
            )
        freeze(self, delay=t, probability=F, standard_error=error, horizon=horizon)

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> DelayDistribution:
        return cls(**data)

    def __repr__(self) -> str:
        columns = write_table(
            delay=self.delay, probability=self.probability, standard_error=self.standard_error
        )
        return f"DelayDistribution: {len(self.delay)} delays, horizon {self.horizon:g}\n{columns}"

    def __call__(self, age: ArrayLike) -> Array:
        """F at each age: the probability that a label has arrived by then, if it arrives at all.

        Parameters
        ----------
        age : array-like of shape (n,)
            Ages >= 0, in the unit of the delays.

        Returns
        -------
        ndarray of shape (n,)
            0 below the first delay; 1 from the last on, and so beyond the horizon.

        Raises
        ------
        ValueError, TypeError
            Ages that are negative, not finite or no numbers.
        """
        steps = np.append(0.0, self.probability)
        return steps[np.searchsorted(self.delay, read_times("age", age), side="right")]


@public
def delay_distribution(
    age: ArrayLike,
    delay: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    horizon: float | None = None,
) -> DelayDistribution:
    """Estimate how long labels take to arrive, from the labels that have arrived.

    Use it for the delays that :func:`delayed_logloss_objective` asks for.

    A label is seen only if its delay is at most its row's age, so short delays are seen too often.
    The estimate is the one of greatest likelihood given that, in closed form::

        F(t)   = product over delays s > t of (1 - n(s)/R(s))
        n(s)   = sum of w where delay = s
        R(s)   = sum of w where delay <= s <= age
        error  = F(t) sqrt(sum over s > t of n(s) / (R(s) (R(s) - n(s))))

    It needs no rows whose label has not arrived, and nothing of how many there are. It assumes
    that delays do not depend on when the row began, and says nothing of delays beyond the
    horizon: a label that would arrive later counts as one that never does. Have rows that are
    much older than most delays. Where delays differ between known groups, such as products,
    call it for each. F has a step for each different delay, so that whole hours or days keep what
    ``to_json`` writes short; count both times up to the last of these that is over.

    Parameters
    ----------
    age : array-like of shape (m,)
        a >= 0 of each of the m rows whose label has arrived: the time from the row, such as the
        click, to when the labels were read.
    delay : array-like of shape (m,)
        d in [0, a] of each: the time from the row to its label, such as the conversion.
    sample_weight : array-like of shape (m,), optional
        Weights; w counts as w rows.
    horizon : float, optional
        T, at most the greatest age. Labels with a longer delay are left out, and ages above it
        count as T; train on ``y = delay <= horizon`` then. None: the greatest age.

    Returns
    -------
    DelayDistribution
        Call it, ``F(age)``, for ``delayed_logloss_objective``; ``to_json`` saves it.

    Raises
    ------
    ValueError, TypeError
        Ages or delays that are negative, not finite or no numbers; a delay above its age; delays
        that are the age in most rows, as for labels that have not arrived; no label within the
        horizon; a delay that no rows link to the shorter ones, as all of these are from
        rows too young to have shown it.

    References
    ----------
    Lynden-Bell (1971), Monthly Notices of the Royal Astronomical Society 155, 95-118; Lagakos,
    Barraj & De Gruttola (1988), "Nonparametric analysis of truncated survival data, with
    application to AIDS", Biometrika 75(3), 515-523.

    Examples
    --------
    >>> from gbdt_objectives.experimental import delay_distribution
    >>> F = delay_distribution(age=[1, 1, 2, 5, 5, 9], delay=[0, 1, 1, 2, 1, 4])
    >>> F([0, 1, 2, 3, 4, 20]).round(3)
    array([0.111, 0.444, 0.667, 0.667, 1.   , 1.   ])
    """
    a = read_times("age", age)
    d = read_times("delay", delay, "pass the rows whose label has arrived, and no others")
    _checks.same_length("delay", d, "the ages", len(a))
    w = _checks.weights("sample_weight", sample_weight, len(a))
    check_truncation(a, d)
    counted = np.ones(len(a), bool) if w is None else w > 0
    check_not_censored(a[counted], d[counted])
    oldest = float(a[counted].max())
    T = oldest if horizon is None else _checks.number("horizon", horizon)
    if not 0 <= T <= oldest:
        raise ValueError(
            f"horizon must be from 0 to the greatest age, {oldest:g}, found {T:g}: no row is old "
            "enough to show longer delays"
        )
    counted &= d <= T
    if not counted.any():
        raise ValueError(
            f"horizon must leave some labels, found {T:g}, below the least delay {d.min():g}"
        )
    a, d = np.minimum(a[counted], T), d[counted]
    weight = np.ones(len(a)) if w is None else w[counted].astype(np.float64)
    at, position = np.unique(d, return_inverse=True)
    n = np.bincount(position, weight)
    R = sum_below(d, weight, at, "right") - sum_below(a, weight, at, "left")  # a < t means d < t
    check_linked(at, R - n > ROUNDING * weight.sum())
    n, R = n[:0:-1], R[:0:-1]  # from the last delay to the second
    F = np.append(1.0, np.cumprod(1 - n / R))[::-1]
    error = F * np.sqrt(np.append(0.0, np.cumsum(n / (R * (R - n))))[::-1])
    return DelayDistribution(delay=at, probability=F, standard_error=error, horizon=T)


def sum_below(values: Array, w: Array, at: Array, side: Any) -> Array:
    """The sum of w where the value is below each of ``at``, or, from the right, at most it."""
    order = np.argsort(values, kind="stable")
    return from_zero(w[order])[np.searchsorted(values[order], at, side=side)]


def read_times(name: str, values: ArrayLike, remedy: str = "leave such rows out") -> Array:
    """Finite numbers >= 0, float64 (n,)."""
    array = _checks.as_array(name, values)
    if array.dtype.kind == "b":
        raise TypeError(
            f"{name} must be times, found True and False: it is not whether the label has arrived; "
            f"{remedy}"
        )
    objects = array.ravel().tolist() if array.dtype.kind == "O" else []
    if array.dtype.kind in "mM" or any(isinstance(value, date | timedelta) for value in objects):
        raise TypeError(
            f"{name} must hold real numbers, found dtype {array.dtype}: divide differences of "
            f"times by a unit, {name} / numpy.timedelta64(1, 'D') for days"
        )
    if any(value is None for value in objects):
        raise TypeError(f"{name} must hold real numbers, found None: {remedy}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0]) if array.ndim else 0
        raise ValueError(f"{name} must be finite, found {array.flat[row]:g} at row {row}: {remedy}")
    if array.ndim == 0 and array.dtype.kind in "iuf":
        raise ValueError(
            f"{name} must be one-dimensional, found the number {array:g}: pass a list, [{array:g}]"
        )
    times: Array = _checks.vector(name, values).astype(np.float64)
    _checks.each(
        name, times, times >= 0, "must not be negative",
        "it is the time since the row began, such as the click; is the difference the right way "
        f"round? Otherwise {remedy}",
    )  # fmt: skip
    return times


def check_truncation(a: Array, d: Array) -> None:
    """Raise for a delay above its age: that label cannot have arrived."""
    late = d > a
    if late.any():
        row = int(np.argmax(late))
        long, old = f"{d[row]:g}", f"{a[row]:g}"
        if long == old:  # but for rounding, as of float32
            long, old = f"{d[row]:.17g}", f"{a[row]:.17g}"
        hint = (
            "the two are swapped, call delay_distribution(age, delay)"
            if (d >= a).all()
            else "such a label cannot have arrived; measure ages when the labels were read, from "
            "the same moment as delays, and in the same unit"
        )
        raise ValueError(
            f"delay must be at most the row's age, found delay {long} at age {old} at row "
            f"{row} ({int(late.sum())} such of {len(d)}): {hint}"
        )


def check_not_censored(a: Array, d: Array) -> None:
    """Raise if most delays are the ages themselves, as rows without a label are often written.

    Delays of labels would have to become more likely with every age by as much as all shorter ones.
    """
    old = a > 0
    same = old & (d == a)
    if 2 * same.sum() > old.sum() and len(np.unique(a[same])) >= MANY_AGES:
        raise ValueError(
            f"delay is the row's age in {int(same.sum())} of {int(old.sum())} rows, as where no "
            "label has arrived: pass the rows whose label has arrived, and no others"
        )


def check_linked(at: Array, linked: Array) -> None:
    """Raise if no row shows how a delay compares to shorter ones: F would be 0 below it."""
    broken = np.flatnonzero(~linked[1:])
    if len(broken):
        k = int(broken[0]) + 1
        raise ValueError(
            f"delay {at[k]:g} cannot be compared to shorter ones: the age of each row with a "
            f"shorter delay is below {at[k]:g}, too young to have shown it; pass more old rows, or "
            f"horizon={at[k - 1]:.17g}, for the labels that arrive within it"
        )


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
        check_arrived(y == 1, self.values)


@dataclass(frozen=True, kw_only=True)
class DelayedLoglossLoss(Loss):
    """Logistic loss of labels that have arrived; made by :func:`delayed_logloss_objective`."""

    labels = BINARY
    link = LOGIT
    hessian = "upper_bound"
    intercept: float | None = None
    named: tuple[tuple[str, RowValues | None], ...] = ((NAME, None),)

    def read_named(self, name: str, values: ArrayLike) -> Arrived:
        return Arrived(read_arrived(NAME, values))

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
    return Objective(DelayedLoglossLoss(named=((NAME, Arrived(read_arrived(NAME, arrived))),)))
