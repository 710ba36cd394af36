"""The labels and margins that an objective takes, as data that ``Objective`` checks.

``contains(values)`` is a quick look at a block, which may say False when in doubt; ``check(name,
values)`` raises ValueError if a value is not in the domain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array


@dataclass(frozen=True)
class Interval:
    """The finite numbers from ``low`` to ``high``, each included unless it is open.

    Those above 0 are ``Interval(low=0, low_is_open=True)``.
    """

    low: float = -math.inf
    high: float = math.inf
    low_is_open: bool = False
    high_is_open: bool = False

    def __post_init__(self) -> None:
        for name, end in (("low", self.low), ("high", self.high)):
            with np.errstate(over="ignore"):
                rounded = float(np.float32(end))
            if rounded != end and abs(end - rounded) <= np.spacing(abs(rounded)):
                raise ValueError(
                    f"{name} is {end!r}, which is {rounded:g} in float32, as labels often are: "
                    f"write {name}={rounded:g}, {name}_is_open=True if {rounded:g} is no label"
                )

    def contains(self, values: Array) -> bool:
        if self.low == -math.inf and self.high == math.inf:
            return bool(np.isfinite(values).all())
        return not values.size or self.spans(float(values.min()), float(values.max()))

    def spans(self, low: float, high: float) -> bool:
        """Whether all numbers from low to high are in it."""
        above = self.low < low if self.low_is_open else self.low <= low
        below = high < self.high if self.high_is_open else high <= self.high
        return above and below and math.isfinite(low + high)

    def check(self, name: str, values: Array) -> None:
        _checks.finite(name, values)
        right = values > self.low if self.low_is_open else values >= self.low
        right &= values < self.high if self.high_is_open else values <= self.high
        low, high = "above" if self.low_is_open else ">=", "below" if self.high_is_open else "<="
        ends = ((low, self.low), (high, self.high))
        must = " and ".join(f"{sign} {end:g}" for sign, end in ends if math.isfinite(end))
        remedy = "correct these rows or leave them out"
        remedy += ", or encode the two classes as 0 and 1" * (self.high == 1)
        _checks.each(name, values, right, f"must be {must}", remedy)


@dataclass(frozen=True)
class Values:
    """A few numbers, such as the classes 0, 1 and 2."""

    values: tuple[float, ...]

    def contains(self, values: Array) -> bool:
        return bool(self._find(values).all())

    def check(self, name: str, values: Array) -> None:
        if self.values == (0, 1):
            return _checks.binary_labels(name, values)
        rule = f"must be one of {_checks.shown(self.values)}"
        _checks.each(name, values, self._find(values), rule, "encode the classes as these numbers")

    def _find(self, values: Array) -> Array:
        found: Array = np.isin(values, self.values)
        return found


@dataclass(frozen=True)
class Classes(Values):
    """The classes 0 to K-1."""

    def __init__(self, n_classes: int) -> None:
        super().__init__(tuple(map(float, range(n_classes))))

    def check(self, name: str, values: Array) -> None:
        remedy = "subtract the lowest label, encode classes by their rank, or raise n_classes"
        rule = f"must hold classes 0 to {len(self.values) - 1}"
        _checks.each(name, values, self._find(values), rule, remedy)

    def _find(self, values: Array) -> Array:
        found: Array = (values == np.rint(values)) & (values >= 0) & (values <= self.values[-1])
        return found


Domain = Interval | Values

REAL = Interval()
"""Every finite number."""
BINARY = Values((0.0, 1.0))
"""The labels 0, negative, and 1, positive."""
