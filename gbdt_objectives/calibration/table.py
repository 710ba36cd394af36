"""Reports as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbdt_objectives._checks import Array

LONGEST = 20  # rows of a table that are printed; of a longer one the first and the last
LONGEST_WORD = 30  # characters of a cell that are printed


def table(**columns: Array) -> str:
    """Columns of words, and of numbers in four digits, under their names."""
    n = len(next(iter(columns.values())))
    shown = np.arange(n) if n <= LONGEST else np.r_[: LONGEST // 2, n - LONGEST // 2 : n]
    cells = [[name, *map(cell_text, np.asarray(column)[shown])] for name, column in columns.items()]
    width = [max(8, *map(len, column)) for column in cells]
    lines = [
        "  ".join(cell.rjust(w) for cell, w in zip(row, width, strict=True))
        for row in zip(*cells, strict=True)
    ]
    if n > LONGEST:
        lines.insert(1 + LONGEST // 2, f"... {n - LONGEST} more ...")
    return "\n".join(lines)


def cell_text(value: Any) -> str:
    if not isinstance(value, str):
        return f"{value:.4g}"
    return value if len(value) <= LONGEST_WORD else f"{value[: LONGEST_WORD - 3]}..."
