"""Functions of the user's, whose parameters say in which order they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

LABELS = {
    "y", "y_true", "true", "t", "label", "labels", "target", "targets", "truth", "actual", "gt",
    "obs", "observed", "y_test", "y_val", "y_train", "data", "dtrain", "dataset",
}  # fmt: skip
PREDICTIONS = {
    "f", "z", "p", "margin", "margins", "score", "scores", "raw_score", "y_pred", "y_hat", "yhat",
    "pred", "preds", "predt", "predicted", "prediction", "predictions", "y_score", "y_prob", "prob",
    "proba", "probability", "logit", "logits",
}  # fmt: skip


def check_takes(
    what: str, function: Callable[..., Any], called: str,
    must: Callable[[inspect.Signature, TypeError], str], *, by_name: Sequence[str] = (),
    wrong: str = "train backwards",
) -> None:  # fmt: skip
    """Raise for parameters that do not take what it is called with, by position and ``by_name``,
    with the message of ``must``, or whose names say that predictions come first."""
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
    try:
        signature.bind(*called.split(", "), **dict.fromkeys(by_name))
    except TypeError as error:
        raise TypeError(must(signature, error)) from None
