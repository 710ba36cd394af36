"""The type of shifts, which keeps a rate from being taken for a shift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import shown
from gbdt_objectives._values import ArrayValue, plain

P = ParamSpec("P")
R = TypeVar("R")

NAMES = "a sampling rate is negative_keep_rate=..., those of several classes class_keep_rates=..."
"""How to give rates to what does not accept them by position."""


@dataclass(frozen=True, eq=False, repr=False)
class LogOddsShift(ArrayValue):
    """A shift in log-odds, as :func:`log_odds_shift` returns it.

    numpy reads it as an array, and ``float(shift)`` is the number. What is computed from it is a
    plain number or array, which the corrections take by name: ``shift=-shift``.

    Parameters
    ----------
    values : float or array-like of shape (K,)
        What is added to the margin of label 1, or of each class.
    standard_error : float, optional
        Standard error for independent rows, if the shift was inferred from rows.

    Examples
    --------
    >>> from gbdt_objectives import log_odds_shift
    >>> shift = log_odds_shift(negative_keep_rate=0.1)
    >>> f"{shift:.3f}", round(float(-shift), 3)
    ('-2.303', 2.303)
    """

    values: Any
    standard_error: float | None = None

    def __post_init__(self) -> None:
        if np.ndim(self.values) == 0:
            self._freeze(_checks.number("values", plain(self.values)))
            return
        shifts = _checks.vector("values", self.values)
        if len(shifts) < 2:
            raise ValueError(
                f"values must be a number or one of each class, found {shown(self.values)}: the "
                "shift of two classes is the number of label 1"
            )
        self._freeze(shifts)

    def __float__(self) -> float:
        return float(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __format__(self, spec: str) -> str:
        return format(self.tolist(), spec)

    def __repr__(self) -> str:
        return f"LogOddsShift({self.tolist()})"


def refuse_positions(shift: Callable[P, R]) -> Callable[P, R]:
    """Refuse arguments by position, and say by which names to give them."""

    @wraps(shift)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if args:
            raise TypeError(
                f"log_odds_shift needs its arguments by name, found {shown(args[0])}: {NAMES}"
            )
        return shift(*args, **kwargs)

    return checked


def shift_by_name(correct: Callable[P, R]) -> Callable[P, R]:
    """Refuse a second positional argument that is not known to be a shift."""

    @wraps(correct)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) > 1 and args[1] is not None and not isinstance(args[1], LogOddsShift):
            raise TypeError(
                "shift must be what log_odds_shift returned, or be given by name, found "
                f"{shown(args[1])}: {NAMES}, any other shift in log-odds is shift=..."
            )
        return correct(*args, **kwargs)

    return checked
