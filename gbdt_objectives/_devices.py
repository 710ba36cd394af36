"""Arrays on a device, such as CuPy's and PyTorch's on a GPU.

What is on a device is worked on there (_places.py) or refused: only :func:`to_host` copies it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

HOST = (1, 3)  # DLPack's kinds of host memory: the processor's, and what is pinned for a GPU

COPIES = {"cudf": "{}.to_numpy()", "cupy": "cupy.asnumpy({})", "torch": "{}.cpu()"}
"""How users copy an array of a library to the host."""


def on_device(values: object) -> bool:
    """Whether it is an array that is not in the host's memory."""
    if values is None or isinstance(values, np.ndarray):
        return False
    place = getattr(values, "__dlpack_device__", None)
    if place is not None:
        return place()[0] not in HOST
    return hasattr(values, "__cuda_array_interface__")


def refuse_device(name: str, values: object) -> None:
    """Raise for an array on a device, which numpy could not read, or would copy unasked."""
    if not on_device(values):
        return
    library = _library(values)
    copy = COPIES.get(library, "numpy.asarray({})").format(name)
    raise TypeError(
        f"{name} is on a device, found a {library}.{type(values).__name__}, but is needed in the "
        f"host's memory: pass {copy}"
    )


def to_host(values: Any) -> Any:
    """A numpy copy of an array on a device; anything else as it is."""
    if not on_device(values):
        return values
    library = _library(values)
    if library == "cupy":
        return values.get()
    if library == "torch":
        return values.detach().cpu().numpy()
    if hasattr(values, "to_numpy"):  # cuDF's
        return values.to_numpy()
    if hasattr(values, "__array_namespace__"):
        default = values.__array_namespace__().__array_namespace_info__().default_device()
        values = values.to_device(default)
    return np.asarray(values)


def _library(values: object) -> str:
    return type(values).__module__.partition(".")[0]
