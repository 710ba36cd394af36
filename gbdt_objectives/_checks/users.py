"""The user's code: the frames that call this package, and functions that it calls."""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import takewhile
from types import FrameType
from typing import Any

from gbdt_objectives._public import TOLD
from gbdt_objectives._rows import workers as _workers

LABELS = {
    "y", "y_true", "true", "t", "label", "labels", "target", "targets", "truth", "actual", "gt",
    "obs", "observed", "y_test", "y_val", "y_train", "data", "dtrain", "dataset",
}  # fmt: skip
PREDICTIONS = {
    "f", "z", "p", "margin", "margins", "score", "scores", "raw_score", "y_pred", "y_hat", "yhat",
    "pred", "preds", "predt", "predicted", "prediction", "predictions", "y_score", "y_prob", "prob",
    "proba", "probability", "logit", "logits",
}  # fmt: skip
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
    told, words = TOLD.get(), re.sub(r"\d[\d.]*(e[-+]?\d+)?", "", message)
    if not _workers.tells() or (told is not None and words in told):
        return
    if told is not None:
        told.add(words)
    if _workers.engine() == "Dask":
        sys.modules["distributed"].warn(message, category)
        return
    ours = takewhile(lambda frame: frame[0] == "gbdt_objectives", stack())
    warnings.warn(message, category, stacklevel=2 + sum(1 for _ in ours))


def check_takes(
    what: str, function: Callable[..., Any], called: str,
    must: Callable[[inspect.Signature, TypeError], str] | None = None, *,
    by_name: Sequence[str] = (), wrong: str = "train backwards",
) -> None:  # fmt: skip
    """Raise for parameters that do not take what it is called with, by position and ``by_name``,
    with the message of ``must`` if given, or whose names say that predictions come first."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # it has no signature to look at
        return
    names = list(signature.parameters)
    first, second = (name.lower().lstrip("_") for name in [*names, "", ""][:2])
    if first in PREDICTIONS and second in LABELS:
        raise TypeError(
            f"{what} takes ({', '.join(names)}), but is called with ({called}): with the two "
            f"swapped it would {wrong}; write the labels first"
        )
    if must is None:
        return
    try:
        signature.bind(*called.split(", "), **dict.fromkeys(by_name))
    except TypeError as error:
        raise TypeError(must(signature, error)) from None
