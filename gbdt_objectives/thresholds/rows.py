"""Rows as the maths wants them: scores, class positions and weights, checked.

Conventions of this folder
--------------------------
n rows, K ordered classes at positions 0..K-1, whatever their labels. ``score``: shape
(n,), any scale, rising with the class. ``thresholds``: shape (K-1,), sorted, in score
units. Rows of weight 0 do not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import (
    INTEGER_HINT,
    Array,
    ordered_labels,
    positions,
    shown,
    whole_numbers,
)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that count: scores, class positions, weights (None: all ones), ordered labels."""

    score: Array
    position: Array
    weight: Array | None
    labels: Array

    @property
    def class_weight(self) -> Array:
        """Total weight of each class, float64 (K,)."""
        return class_weights(self.position, self.weight, len(self.labels))

    @property
    def y_true(self) -> Array:
        """The labels of the rows."""
        labels: Array = self.labels[self.position]
        return labels


def class_weights(position: Array, weight: Array | None, K: int) -> Array:
    """Total weight of each of K classes, float64 (K,)."""
    return np.bincount(position, weights=weight, minlength=K).astype(np.float64)


def checked_rows(
    y_true: ArrayLike,
    score: ArrayLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
    target_prior: Mapping[Any, float] | None,
) -> Rows:
    """Rows from the arguments of ``optimize_thresholds``."""
    s = _checks.vector("score", score)
    order = consecutive_labels(y_true) if labels is None else ordered_labels(labels)
    position = positions("y_true", y_true, order)
    _checks.same_length("score", s, "the labels", len(position))
    w = _checks.weights("sample_weight", sample_weight, len(s))
    s, position, w = without_zero_weights(s, position, w)
    K = len(order)
    if len(s) < K:
        raise ValueError(
            f"y_true has {len(s)} rows that count for {K} classes: at least one row a class is "
            "needed to place thresholds"
        )
    totals = class_weights(position, w, K)
    several_classes(totals, order)
    if target_prior is not None:
        factor = prior_factors(target_prior, order, totals)
        w = factor[position] if w is None else factor[position] * w
        s, position, w = without_zero_weights(s, position, w)
    return Rows(s, position, w, order)


def without_zero_weights(s: Array, position: Array, w: Array | None) -> tuple[Array, Array, Any]:
    """The rows whose weight is not 0."""
    if w is None or w.all():
        return s, position, w
    counts = w > 0
    return s[counts], position[counts], w[counts]


def several_classes(class_weight: Array, labels: Array) -> None:
    """Raise unless at least two classes have weight."""
    total = class_weight.sum()
    present = np.flatnonzero(total + class_weight > total)  # weights lost in rounding do not exist
    if len(present) < 2:
        raise ValueError(
            f"y_true holds the single class {shown(labels[present].tolist())}: there must be rows "
            "of at least two classes to place thresholds between them"
        )


def consecutive_labels(y_true: ArrayLike) -> Array:
    """min..max of whole numbers."""
    y = whole_numbers("y_true", y_true)
    low, high = int(y.min()), int(y.max())
    if high == low:
        raise ValueError(
            f"y_true holds the single class {low}: there must be rows of at least two classes to "
            "place thresholds between them"
        )
    if high - low >= len(y):
        raise ValueError(
            f"y_true has {len(y)} rows for the {high - low + 1} classes {low} to {high}: there "
            f"must be at least one row a class; {INTEGER_HINT}"
        )
    return np.arange(low, high + 1)


def prior_factors(target_prior: Mapping[Any, float], labels: Array, class_weight: Array) -> Array:
    """What each class is to be multiplied by for its frequency to be its prior, (K,)."""
    order = labels.tolist()
    p = _checks.prior_mapping("target_prior", target_prior)
    unknown = [label for label in p if label not in order]
    if unknown:
        raise ValueError(
            f"target_prior holds {shown(unknown[0])}, which is not in labels {shown(order)}: list "
            "every class in labels"
        )
    tau = _checks.prior_of_labels("target_prior", p, order, class_weight > 0, "y_true")
    factor = np.divide(tau, class_weight, out=np.zeros(len(tau)), where=tau > 0)
    several_classes(factor, labels)
    scaled: Array = factor * class_weight.sum()
    return scaled
