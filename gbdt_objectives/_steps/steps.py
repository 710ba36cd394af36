"""Steps: formulas with their numbers, which turn a booster's margins into what a model predicts.

A step is a dict: the name of a formula, and its numbers, of which arrays are lists in JSON.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives._rows.places import blocks
from gbdt_objectives._steps.formulas import apply

Step = dict[str, Any]
Steps = tuple[Step, ...]

BLOCK_BYTES = 1 << 17
"""The terms of a formula are new memory: so small, it is still in the cache."""


def evaluate(v: Array, *steps: Step) -> Array:
    """What the steps make of values (n,) or (n, K), float64, a block of rows at a time."""
    found = np.empty(0)
    for k, rows in enumerate(blocks(v, BLOCK_BYTES) or [slice(0, 0)]):
        part = v[rows]
        for step in steps:
            part = apply(part, **step)
        if k == 0:
            found = np.empty((len(v), *part.shape[1:]))
        found[rows] = part
    return found
