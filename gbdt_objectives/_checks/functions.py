"""Functions of the user's, whose parameters say in which order they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable
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


def check_labels_first(
    what: str, function: Callable[..., Any], called: str, wrong: str = "train backwards"
) -> None:
    """Raise for parameters whose names say that predictions come first, as in boosters' own
    calls."""
    try:
        names = list(inspect.signature(function).parameters)
    except ValueError:  # it has no signature to look at
        return
    first, second = (name.lower().lstrip("_") for name in [*names, "", ""][:2])
    if first in PREDICTIONS and second in LABELS:
        raise TypeError(
            f"{what} takes ({', '.join(names)}), but is called with ({called}): with the two "
            f"swapped it would {wrong}; write the labels first"
        )
