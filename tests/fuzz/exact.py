"""Fractions of floats, 50 digits, and rows that count."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp

mp.dps = 50

EPS = 2.0**-52


def fraction(x: Any) -> Fraction:
    """A float, integer or boolean as it is."""
    if isinstance(x, Fraction):
        return x
    if isinstance(x, bool | np.bool_ | int | np.integer):
        return Fraction(int(x))
    return Fraction(float(x))


def fractions(values: Iterable[Any]) -> list[Fraction]:
    return [fraction(x) for x in values]


def real(x: Any) -> Any:
    """The same in 50 digits."""
    if isinstance(x, Fraction):
        return mp.mpf(x.numerator) / x.denominator
    return x if isinstance(x, mp.mpf) else mp.mpf(float(x))


def weights_of(sample_weight: Any, n: int) -> list[Fraction]:
    return [Fraction(1)] * n if sample_weight is None else fractions(sample_weight)


def counted(sample_weight: Any, n: int) -> list[int]:
    """The rows of weight above 0."""
    return [i for i, w in enumerate(weights_of(sample_weight, n)) if w > 0]


def sigmoid(z: Any) -> Any:
    return 1 / (1 + mp.exp(-z))


def softplus(z: Any) -> Any:
    """log(1 + exp(z)) without the loss of either tail."""
    z = mp.mpf(z)
    return z + mp.log1p(mp.exp(-z)) if z > 0 else mp.log1p(mp.exp(z))


def mean(values: list[Any], weights: list[Any]) -> Any:
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
