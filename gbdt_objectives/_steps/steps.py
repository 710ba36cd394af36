"""Steps: formulas with their numbers, which turn a booster's margins into what a model predicts.

A step is a dict: the name of a formula, and its numbers, of which arrays are lists in JSON.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._rows.rows import blocks
from gbdt_objectives._steps.formulas import apply

Step = dict[str, Any]
Steps = tuple[Step, ...]

BLOCK_BYTES = 1 << 17  # the terms of a formula are new memory: so small, it is still in the cache


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


def correct_positives(p: Array, d: float) -> Array:
    """Return 1 / (1 + exp(-d) (1-p)/p), (n,): each step is monotone, rounded or not."""
    odds_ratio = p.dtype.type(math.exp(-d))
    q = np.empty_like(p)
    for rows in blocks(p):
        out = np.subtract(1, p[rows], out=q[rows])
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # p = 0: 1/inf is 0
            out /= p[rows]
            if not out.min() >= 0:
                _checks.in_unit_interval("probability", p)
            out *= odds_ratio
        out += 1
        np.reciprocal(out, out=out)
    return q
