"""The places of arrays, the host's memory or a device, and what can be done with arrays there.

On the host long vectors are worked on a stretch at a time: in cache, on one thread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._checks.domain import Domain, Interval

DeviceArray = Any  # an array of any library but numpy
BLOCK_BYTES = 1 << 20  # large enough for numpy to be busy, small enough for the cache
EXPRESSION_BYTES = 1 << 18  # of an expression: the system hands larger arrays out page by page

STRETCH = 8192
"""Number of rows of a BLAS call. Above 10,000 OpenBLAS wakes its other threads, which then spin for
a while and take the cores from the booster (measured: LightGBM's rounds took 2.8 times as long)."""


def blocks(array: Array, size: int = BLOCK_BYTES) -> list[slice]:
    """Slices of rows, of at most ``size`` bytes each, that cover an array."""
    n, rows = len(array), max(1, size // (array.itemsize * math.prod(array.shape[1:])))
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
    return np.append(0.0, np.cumsum(values, dtype=np.float64))


@dataclass(frozen=True)
class Host:
    """The host's memory, whose arrays are numpy's."""

    xp: Any = np

    def real_array(self, name: str, values: Any) -> Any:
        return _checks.real_array(name, values)

    def cast(self, values: Any, dtype: Any) -> Any:
        """The values in this precision, without a copy if possible."""
        return values.astype(dtype, copy=False)

    def sum(self, terms: Any, w: Any) -> float:
        """sum w terms, in float64; w None is 1 in all rows."""
        return float(terms.sum(dtype=np.float64)) if w is None else dot(terms, w)

    def extremes(self, values: Any) -> tuple[float, float]:
        """The least and the largest value, both NaN if one is."""
        return float(values.min()), float(values.max())

    def contains(self, domain: Domain, values: Any) -> bool:
        """A quick look, a block at a time, which may say False when in doubt."""
        return all(domain.contains(values[at].ravel()) for at in blocks(values))

    def slices(self, values: Any, size: int) -> list[slice]:
        """Slices of at most ``size`` bytes to work on; at least one, be it of no rows."""
        return blocks(values, size) or [slice(0, 0)]


@dataclass(frozen=True)
class Device:
    """A device and the functions ``xp`` of the library of its arrays, of the array API standard.

    Sums are computed in float64, and their values go to the host. The device finds that something
    is wrong with an array; the checks of the host say what.
    """

    xp: Any
    place: Any

    def real_array(self, name: str, values: Any) -> DeviceArray:
        """Real numbers on this device; what is on the host is sent there."""
        xp = self.xp
        if not _checks.on_device(values):
            own = np.require(_checks.real_array(name, values), requirements=["C", "W"])
            return xp.asarray(own, device=self.place)
        if place_of(values) != self:
            raise TypeError(
                f"{name} is a {type(values).__name__} on {getattr(values, 'device', 'a device')}, "
                f"but the labels are on {self.place}: put all on one device, in one library"
            )
        if values.dtype in (xp.float32, xp.float64):
            return values
        if xp.isdtype(values.dtype, ("bool", "integral", "real floating")):
            return xp.astype(values, xp.float64)
        raise _checks.not_real(name, values)

    def cast(self, values: DeviceArray, dtype: Any) -> DeviceArray:
        """The values in float32 or float64, given as a dtype of either library."""
        wanted = getattr(self.xp, dtype.name) if isinstance(dtype, np.dtype) else dtype
        return self.xp.astype(values, wanted, copy=False)

    def sum(self, terms: DeviceArray, w: DeviceArray | None) -> float:
        xp = self.xp
        terms = xp.astype(terms, xp.float64)
        total = xp.sum(terms if w is None else terms * xp.astype(w, xp.float64))
        if total.dtype != xp.float64:
            raise TypeError(
                f"sums over rows need float64, but {xp.__name__} made {total.dtype} of it: allow "
                'float64, in jax by jax.config.update("jax_enable_x64", True)'
            )
        return float(total)

    def extremes(self, values: DeviceArray) -> tuple[float, float]:
        return float(self.xp.min(values)), float(self.xp.max(values))

    def contains(self, domain: Domain, values: DeviceArray) -> bool:
        """Whether all values are in the domain."""
        if 0 in values.shape:
            return True
        if isinstance(domain, Interval):
            return domain.spans(*self.extremes(values))
        found = values == domain.values[0]
        for value in domain.values[1:]:
            found = found | (values == value)
        return bool(self.xp.all(found))

    def slices(self, values: DeviceArray, size: int) -> list[Any]:
        """One slice of all rows."""
        return [...]


Place = Host | Device
HOST = Host()


def place_of(*values: Any) -> Place:
    """The place of those arrays that are on a device; the host's memory if none is."""
    found = [array for array in values if _checks.on_device(array)]
    if not found:
        return HOST
    try:
        import array_api_compat as compat
    except ImportError as error:
        raise ImportError(
            "arrays on a device need array-api-compat: pip install 'gbdt_objectives[array-api]'"
        ) from error
    try:
        xp = compat.array_namespace(*found)
    except TypeError as error:
        kinds = ", ".join(f"{type(array).__module__}.{type(array).__name__}" for array in found)
        raise TypeError(
            f"arrays on a device must be of one library that has the array API, such as CuPy and "
            f"PyTorch, found {kinds}: convert them, or pass copies in the host's memory"
        ) from error
    places = [compat.device(array) for array in found]
    if any(place != places[0] for place in places):
        raise TypeError(
            f"labels, margins and weights are on different devices, {places}: put all on one"
        )
    return Device(xp, places[0])
