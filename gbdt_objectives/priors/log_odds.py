"""Shifts with a type of their own: a rate in their place is an easy mistake."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from gbdt_objectives._checks import shown
from gbdt_objectives._marked import MarkedArray, mark_of, plain

P = ParamSpec("P")
R = TypeVar("R")

NAMES = "a sampling rate is negative_keep_rate=..., those of several classes class_keep_rates=..."
"""How to give rates to what does not accept them by position."""

SUMS = (np.add, np.subtract, np.negative, np.positive)
"""Arithmetic that makes a shift of shifts."""


class LogOddsShift(float):
    """A shift in log-odds, as :func:`log_odds_shift` returns it: a float.

    Its negative, and its sums and differences with other numbers, are shifts again.
    """

    def __neg__(self) -> LogOddsShift:
        return LogOddsShift(-float(self))

    def __pos__(self) -> LogOddsShift:
        return self

    def __add__(self, other: Any) -> Any:
        return _shift(float.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return _shift(float.__radd__(self, other))

    def __sub__(self, other: Any) -> Any:
        return _shift(float.__sub__(self, other))

    def __rsub__(self, other: Any) -> Any:
        return _shift(float.__rsub__(self, other))


def _shift(value: Any) -> Any:
    return value if value is NotImplemented else LogOddsShift(value)


class LogOddsShifts(MarkedArray):
    """Shifts of K classes, as :func:`log_odds_shift` returns them: an ndarray (K,).

    Copies, pickles, negatives, sums and differences are shifts again; slices and other
    arithmetic, such as exp, which gives rates, return plain arrays.
    """

    def __new__(cls, shifts: Any, mark: Any = True) -> LogOddsShifts:
        found: LogOddsShifts = super().__new__(cls, shifts, mark)
        return found

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        result = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        return result if ufunc in SUMS else plain(result)


def is_shift(value: object) -> bool:
    """Whether it was made by :func:`log_odds_shift`."""
    return isinstance(value, LogOddsShift) or (
        isinstance(value, LogOddsShifts) and mark_of(value) is not None
    )


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
        if len(args) > 1 and args[1] is not None and not is_shift(args[1]):
            raise TypeError(
                "shift must be what log_odds_shift returned, or be given by name, found "
                f"{shown(args[1])}: {NAMES}, any other shift in log-odds is shift=..."
            )
        return correct(*args, **kwargs)

    return checked
