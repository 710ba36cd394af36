"""A search among numbers as a tree, for ONNX."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gbdt_objectives.adapters._trees import LEQ, LT, Trees


def search(values: Iterable[float], side: str) -> Trees:
    """A tree that finds a place among rising values as numpy.searchsorted does."""
    x = [float(value) for value in values]
    found = Trees(np.zeros(1), is_float32=False)
    nodes: dict[Any, Any] = {}
    waiting = [(0, len(x))]
    while waiting:
        low, high = waiting.pop()
        if low == high:
            nodes[low, high] = float(low)
            continue
        middle = (low + high) // 2
        below, above = (low, middle), (middle + 1, high)
        mode = LT if side == "right" else LEQ
        nodes[low, high] = (0, mode, x[middle], False, (below, above))
        waiting += [below, above]
    found.add(0, nodes, (0, len(x)))
    return found
