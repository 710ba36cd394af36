"""The reduction that objectives use when none is given."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def sum_over_workers(values: NDArray[Any]) -> NDArray[Any]:
    """Sum float64 ``values`` over the workers of XGBoost's collective.

    The identity outside distributed training, and without XGBoost: it is only
    looked up, never imported, since whoever trains with it has imported it. Every
    worker must call it equally often.
    """
    if sys.modules.get("xgboost") is None:
        return values
    from xgboost import collective

    if not collective.is_distributed():
        return values
    return np.asarray(
        collective.allreduce(np.ascontiguousarray(values, np.float64), collective.Op.SUM)
    )
