"""A door that the package does not know: an own training loop, which fits a linear model.

The loop says what it knows to a ``Training``, which asks the guards, and calls the objective by a
``StartedObjective``: its first call measures the objective and begins the training.
"""

from __future__ import annotations

import numpy as np

from gbdt_objectives._checks import Training
from gbdt_objectives.adapters._train import StartedObjective


def train_linear(
    X, y, objective, *, metric=None, held_out=None, sample_weight=None, start=None, rounds=10
):  # fmt: skip
    """Coefficients (1 + features,) of margins, the best by ``metric`` on the ``held_out`` rows."""
    training = Training(library=None, objective=objective, link=objective.link)
    if metric is not None:
        # the metric gets margins, and the last set decides
        training.know(metric=metric, predictions=None)
        training.know(sets=[(held_out[0], "held_out")], data=X, looks_at=[None])
    if start is None:
        start, given = (
            StartedObjective.margin_of(
                objective.measured_on(objective._read_labels(y, sample_weight))
            ),
            "",
        )
    else:
        given = "start"  # the user's argument, for messages
    started = StartedObjective(objective, start, training, given=given)

    Z = np.column_stack([np.ones(len(X)), X])
    c = np.append(start, np.zeros(X.shape[1]))
    best, best_value = c, -np.inf
    for _ in range(rounds):
        g, h = (np.asarray(part, float) for part in started(y, Z @ c, sample_weight))
        c = c - np.linalg.solve((Z.T * h) @ Z, Z.T @ g)
        if metric is not None:
            value = metric(held_out[1], c[0] + held_out[0] @ c[1:])
            value = value if metric.greater_is_better else -value
            best, best_value = (c, value) if value > best_value else (best, best_value)
    return c if metric is None else best
