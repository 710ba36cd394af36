"""Long vectors, worked on a stretch at a time: in cache, summed in float64, on one thread."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

BLOCK_BYTES = 1 << 20  # large enough for numpy to be busy, small enough for the cache

EXPRESSION_BYTES = 1 << 18
"""Size of a block of an expression. Each of its terms is new memory, and the system takes larger
arrays back and hands them out page by page every time, in up to four times the time."""

STRETCH = 8192
"""Number of rows of a BLAS call. Above 10,000 OpenBLAS wakes its other threads, which then spin for
a while and take the cores from the booster (measured: LightGBM's rounds took 2.8 times as long)."""


def blocks(array: Array, size: int = BLOCK_BYTES) -> list[slice]:
    """Slices of rows, of at most ``size`` bytes each, that cover an array."""
    n = len(array)
    rows = max(1, size // (array.itemsize * math.prod(array.shape[1:])))
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


CHUNK = 16 * STRETCH  # rows that are converted at a time, to be still in the cache afterwards


def dot(u: Array, v: Array) -> float:
    """sum u v in float64, so that neither the order of rows nor their split over workers shows."""
    if len(u) <= STRETCH:
        a = u.astype(np.float64, copy=False)
        return float(np.vdot(a, a if v is u else v.astype(np.float64, copy=False)))
    same = v is u
    spare = np.empty((2 - same, CHUNK)) if u.dtype != np.float64 or v.dtype != np.float64 else None
    total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(u), CHUNK):
            a, b = u[start : start + CHUNK], v[start : start + CHUNK]
            if spare is not None:
                np.copyto(spare[0, : len(a)], a)
                a = spare[0, : len(a)]
                if not same:
                    np.copyto(spare[1, : len(a)], b)
                b = spare[-1, : len(a)]
            n = len(a) // STRETCH * STRETCH
            stretches = np.matmul(a[:n].reshape(-1, 1, STRETCH), b[:n].reshape(-1, STRETCH, 1))
            total += float(stretches.sum()) + float(np.vdot(a[n:], b[n:]))
    return total


def from_zero(values: Array) -> Array:
    """Cumulative sums with the empty sum first, float64 (d+1,)."""
    sums = np.empty(len(values) + 1)
    sums[0] = 0.0
    np.cumsum(values, dtype=np.float64, out=sums[1:])
    return sums
