"""Long vectors, worked on a stretch at a time: in cache, exact in float64, on one thread."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

BLOCK_BYTES = 1 << 20
"""Size of a block: large enough for numpy to be busy, small enough for the cache."""

STRETCH = 8192
"""Rows of a BLAS call: above 10,000 OpenBLAS wakes its other threads, which then spin for a
while and take the cores from the booster (measured: LightGBM's rounds took 2.8 times as long)."""


def block_rows(array: Array) -> int:
    """How many rows of an array are a block."""
    return max(1, BLOCK_BYTES // (array.itemsize * math.prod(array.shape[1:])))


def blocks(array: Array) -> Iterator[slice]:
    """Slices of rows, of at most ``BLOCK_BYTES`` each, that cover an array."""
    size = block_rows(array)
    for start in range(0, len(array), size):
        yield slice(start, min(start + size, len(array)))


def dot(u: Array, v: Array) -> float:
    """sum u v, summed in float64 over stretches of ``STRETCH`` rows."""
    if len(u) <= STRETCH:
        total = float(np.vdot(u, v))  # which leaves overflow to the line below, unlike u.dot
    else:
        n = len(u) // STRETCH * STRETCH
        with np.errstate(over="ignore", invalid="ignore"):
            stretches = np.matmul(u[:n].reshape(-1, 1, STRETCH), v[:n].reshape(-1, STRETCH, 1))
        total = float(stretches.sum(dtype=np.float64)) + float(np.vdot(u[n:], v[n:]))
    if not math.isfinite(total) and u.dtype != np.float64:  # beyond float32: 3e38
        return dot(u.astype(np.float64), v.astype(np.float64))
    return total


def from_zero(values: Array) -> Array:
    """Cumulative sums with the empty sum first, float64 (d+1,)."""
    sums = np.empty(len(values) + 1)
    sums[0] = 0.0
    np.cumsum(values, dtype=np.float64, out=sums[1:])
    return sums
