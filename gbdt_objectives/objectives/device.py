"""The equations of objectives on a device, in the functions that array libraries share.

Those are named by the array API standard; array-api-compat finds them in CuPy and PyTorch. Here
nothing is written in place, rows are not divided into blocks, and sums are float64, of which the
host gets the values. What is wrong with an array is found on the device, and said by the checks of
the host.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._devices import on_device, to_host
from gbdt_objectives.objectives.domain import Domain, Interval

DeviceArray = Any
"""An array of any library but numpy."""


@dataclass(frozen=True)
class Device:
    """Where arrays are: the functions of their library, xp, and the place.

    Everywhere, w is the weights or None.
    """

    xp: Any
    place: Any

    def real_array(self, name: str, values: Any) -> DeviceArray:
        """As :func:`_checks.real_array`, on this device; what is on the host is sent there."""
        xp = self.xp
        if not on_device(values):
            own = np.require(_checks.real_array(name, values), requirements=["C", "W"])
            return xp.asarray(own, device=self.place)
        if device_of(values) != self:
            raise TypeError(
                f"{name} is a {type(values).__name__} on {getattr(values, 'device', 'a device')}, "
                f"but the labels are on {self.place}: put all on one device, in one library"
            )
        if values.dtype in (xp.float32, xp.float64):
            return values
        if xp.isdtype(values.dtype, ("bool", "integral", "real floating")):
            return xp.astype(values, xp.float64)
        raise _checks.not_real(name, values.dtype)

    def cast(self, values: DeviceArray, dtype: Any) -> DeviceArray:
        """In float32 or float64, the dtype of either library."""
        wanted = getattr(self.xp, dtype.name) if isinstance(dtype, np.dtype) else dtype
        return self.xp.astype(values, wanted, copy=False)

    def sum(self, values: DeviceArray, *factors: DeviceArray | None) -> float:
        """The sum of the products, in float64; a factor None is 1 in all rows."""
        xp = self.xp
        terms = xp.astype(values, xp.float64)
        for factor in factors:
            if factor is not None:
                terms = terms * xp.astype(factor, xp.float64)
        total = xp.sum(terms)
        if total.dtype != xp.float64:
            raise TypeError(
                f"sums over rows need float64, but {xp.__name__} made {total.dtype} of it: allow "
                'float64, in jax by jax.config.update("jax_enable_x64", True)'
            )
        return float(total)

    def count(self, like: DeviceArray, w: DeviceArray | None) -> float:
        """The number of rows, or the sum of their weights."""
        return float(like.shape[0]) if w is None else self.sum(w)

    def extremes(self, values: DeviceArray) -> tuple[float, float]:
        """The least and the largest value, both NaN if one is."""
        return float(self.xp.min(values)), float(self.xp.max(values))

    def check(self, domain: Domain, name: str, values: DeviceArray) -> None:
        """Raise, as the host does, if an element is not in the domain."""
        if not self._contains(domain, values):
            domain.check(name, to_host(values))

    def _contains(self, domain: Domain, values: DeviceArray) -> bool:
        if 0 in values.shape:
            return True
        if isinstance(domain, Interval):
            low, high = self.extremes(values)
            return domain.low <= low and high <= domain.high and math.isfinite(low + high)
        found = values == domain.values[0]
        for value in domain.values[1:]:
            found = found | (values == value)
        return bool(self.xp.all(found))


def device_of(*values: Any) -> Device | None:
    """Where those of the arrays are that are on a device; None if none is."""
    found = [array for array in values if on_device(array)]
    if not found:
        return None
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
