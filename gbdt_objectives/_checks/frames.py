"""The frames between a function of this package and the user."""

from __future__ import annotations

import sys
import warnings
from itertools import takewhile
from types import FrameType

from gbdt_objectives._rows import workers as _workers

Stack = list[tuple[str, FrameType]]
"""Frames, the nearest first, each with the package that its code belongs to; "" if to none."""


def stack() -> Stack:
    found: Stack = []
    frame = sys._getframe(1)
    while (above := frame.f_back) is not None:
        frame = above
        found.append((str(frame.f_globals.get("__name__") or "").partition(".")[0], frame))
    return found


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the code which called this package; of several workers one tells, Dask's client."""
    if not _workers.tells():
        return
    if _workers.engine() == "Dask":
        sys.modules["distributed"].warn(message, category)
        return
    ours = takewhile(lambda frame: frame[0] == "gbdt_objectives", stack())
    warnings.warn(message, category, stacklevel=2 + sum(1 for _ in ours))
