"""XGBoost's words in the docstrings that both libraries share."""

from __future__ import annotations

from gbdt_objectives._registry import XGBOOST
from gbdt_objectives.adapters._docstrings import words_of

WORDS = words_of(XGBOOST, data="xgboost.DMatrix", params='{"max_depth": 2}', place="``base_score``")
