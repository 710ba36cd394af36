"""The reduction that objectives use when none is given."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def workers() -> bool:
    """Whether there are several, joined by XGBoost's collective.

    XGBoost is only looked up, never imported: whoever trains with it has imported it.
    """
    if sys.modules.get("xgboost") is None:
        return False
    from xgboost import collective

    return bool(collective.is_distributed())


def sum_over_workers(values: NDArray[Any]) -> NDArray[Any]:
    """Sum float64 ``values`` over the workers of XGBoost's collective.

    The identity outside distributed training, and without XGBoost. Every worker must call
    it equally often.
    """
    if not workers():
        return values
    from xgboost import collective

    return np.asarray(
        collective.allreduce(np.ascontiguousarray(values, np.float64), collective.Op.SUM)
    )
