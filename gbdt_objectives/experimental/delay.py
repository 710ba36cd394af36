"""How long labels take to arrive, from those that have arrived.

Symbols: a age of a row when the labels were read, d <= a the delay of its label, w its weight, T
the horizon, F(t) the probability of a delay of at most t among labels that arrive within T. At each
delay t that occurs, n(t) is the weight of labels with d = t, and R(t) that of labels with
d <= t <= a, which are at risk.

A label is seen only if d <= a: delays are truncated on the right, and those seen are too short.
Given that d <= t, the probability of d = t is estimated by n(t)/R(t), from rows of age t or more,
which have seen all such delays. Hence F(t) is the product of 1 - n(s)/R(s) over the delays s > t.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import freeze, from_zero, write_table
from gbdt_objectives._steps.steps import SavedAsJSON, read_number, read_numbers

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
