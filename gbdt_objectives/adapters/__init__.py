"""The only room that imports a booster: ``adapters.xgboost`` and ``adapters.lightgbm``.

Both have ``train`` and ``shift_intercept``, with the same arguments and meaning.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from gbdt_objectives.adapters.label_shift import LabelShift

if TYPE_CHECKING:
    from gbdt_objectives.adapters import lightgbm, xgboost

__all__ = ["LabelShift", "lightgbm", "shift_intercept", "xgboost"]

BoosterT = TypeVar("BoosterT")


def shift_intercept(booster: BoosterT, delta: float) -> BoosterT:
    """A copy of a trained booster whose every margin is larger by ``delta``, for good.

    The shift is inside the saved model. What cannot be represented is refused; see
    ``adapters.xgboost.shift_intercept`` and ``adapters.lightgbm.shift_intercept``.

    Parameters
    ----------
    booster : xgboost.Booster or lightgbm.Booster
        With one output.
    delta : float
        In margin units: label units, or log-odds.

    Returns
    -------
    Booster
        Of the same kind.

    Raises
    ------
    TypeError
        If it is a booster of neither library.
    ValueError
        If the shift cannot be represented in the model.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb
    >>> from gbdt_objectives import shift_intercept
    >>> data = xgb.DMatrix(np.eye(3), label=[1.0, 2.0, 3.0])
    >>> booster = xgb.train({"base_score": 2.0}, data, 1)
    >>> (shift_intercept(booster, -2).predict(data) - booster.predict(data)).round(4)
    array([-2., -2., -2.], dtype=float32)
    """
    library = type(booster).__module__.split(".")[0]
    if library not in ("xgboost", "lightgbm"):
        raise TypeError(
            "booster must be a Booster of xgboost or lightgbm, found "
            f"{type(booster).__module__}.{type(booster).__name__}"
        )
    adapter = import_module(f"{__name__}.{library}")
    moved: BoosterT = adapter.shift_intercept(booster, delta)
    return moved


def __getattr__(name: str) -> Any:
    if name in ("lightgbm", "xgboost"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
