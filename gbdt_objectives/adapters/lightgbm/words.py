"""LightGBM's words in the docstrings that both libraries share."""

from __future__ import annotations

from gbdt_objectives._registry import LIGHTGBM
from gbdt_objectives.adapters._docstrings import words_of

WORDS = words_of(
    LIGHTGBM, data="lightgbm.Dataset", params='{"num_leaves": 4, "verbose": -1}',
    place="the leaves of the first tree",
)  # fmt: skip
