"""Checked rows: labels, probabilities or scores, weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_order, positions, shown


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of weight above 0, everything float64 but class positions.

    ``y``: labels 0 and 1 if ``p`` is (n,), positions of the columns if it is (n, K).
    ``kept``: an index of these rows among the given ones.
    """

    y: Array
    p: Array
    w: Array
    kept: Any

    def columns(self) -> Iterator[tuple[Array, Array]]:
        """Yield whether rows are of a class, and its probability: label 1 or all K classes."""
        if self.p.ndim == 1:
            yield self.y, self.p
        else:
            for k, p in enumerate(self.p.T):
                yield (self.y == k).astype(np.float64), p

    @property
    def given(self) -> int:
        """How many rows there were, those of weight 0 included."""
        return len(self.y) if isinstance(self.kept, slice) else len(self.kept)


def probability_rows(
    y_true: ArrayLike,
    probability: ArrayLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> LabelledRows:
    p = _checks.probabilities("probability", probability)
    if p.ndim == 1:
        check_no_columns(labels)
        y = _checks.vector("y_true", y_true).astype(np.float64)
        _checks.binary_labels("y_true", y)
    else:
        y = positions("y_true", y_true, column_classes(labels, p))
    return weigh_rows(y, p, sample_weight, "probability")


def column_classes(labels: ArrayLike | None, p: Array) -> Array:
    order = np.arange(p.shape[1]) if labels is None else check_order(labels)
    if len(order) != p.shape[1]:
        raise ValueError(
            f"labels has {len(order)} classes, but probability has {p.shape[1]} columns: list "
            "the classes in the order of the columns"
        )
    return order


def check_no_columns(labels: ArrayLike | None) -> None:
    """Raise if ``labels`` name columns, which probabilities (n,) do not have."""
    if labels is not None:
        raise ValueError(
            "labels name the columns of (n, K) probabilities, but probability is (n,), of "
            "label 1: pass y_true == label as y_true"
        )


def label_1_columns(y_true: Any, probability: Any, sample_weight: Any) -> dict[str, Any]:
    """The columns of rows with probabilities (n,), arrays or Dask collections."""
    if np.ndim(probability) != 1:
        raise ValueError(
            f"probability must be (n,), of label 1, found shape {np.shape(probability)}: pass one "
            "class at a time, y_true == label and its column"
        )
    return {"y_true": y_true, "probability": probability, "sample_weight": sample_weight}


def label_1_rows(
    y_true: ArrayLike, probability: ArrayLike, sample_weight: ArrayLike | None
) -> LabelledRows:
    label_1_columns(y_true, probability, sample_weight)  # which checks the shape
    return probability_rows(y_true, probability, None, sample_weight)


def read_sampled_rows(
    y_true: Any, probability: Any, sample_weight: Any, negative_keep_rate: Any = None
) -> tuple[LabelledRows, Array]:
    """Rows with probabilities (n,), and the rate r of each."""
    own = label_1_rows(y_true, probability, sample_weight)
    return own, keep_rates(negative_keep_rate, own)


def standing_rows(rows: LabelledRows, r: Array) -> LabelledRows:
    """The rows with the weights of what they stand for: w for positives, w/r for negatives."""
    return LabelledRows(rows.y, rows.p, rows.w / np.where(rows.y == 1, 1.0, r), rows.kept)


def keep_rates(value: ArrayLike | None, rows: LabelledRows) -> Array:
    """The rate of each row from ``negative_keep_rate``; None means 1."""
    given = 1.0 if value is None else value
    rate = _checks.one_rate_or_many("negative_keep_rate", given, rows.given)
    r: Array = np.full(rows.given, rate)[rows.kept]
    return r


def sampling_offset(
    negative_keep_rate: ArrayLike | None, keep_rate: ArrayLike | None, rows: LabelledRows
) -> float | Array:
    """What a row's log-odds in the sample are above those in the population, -log r.

    It is a float if all rows have the same rate r, 0 if neither rate is given, else (n,), of the
    rows of weight above 0. A positive has the rate that a negative in its place would have.
    """
    if negative_keep_rate is not None and keep_rate is not None:
        raise ValueError(
            "negative_keep_rate and keep_rate are both given: pass negative_keep_rate, one number, "
            "if all negatives were kept at the same rate, and keep_rate, (n,), if each at its own"
        )
    if negative_keep_rate is not None:
        if np.ndim(negative_keep_rate) > 0:
            raise TypeError(
                f"negative_keep_rate must be one number in (0, 1], found shape "
                f"{np.shape(negative_keep_rate)}: pass rates of each row as keep_rate="
            )
        return -math.log(_checks.keep_rate("negative_keep_rate", negative_keep_rate))
    if keep_rate is None:
        return 0.0
    if np.ndim(keep_rate) == 0:
        raise TypeError(
            f"keep_rate must be a rate of each row, (n,), found {shown(keep_rate)}: pass one rate "
            "of all negatives as negative_keep_rate="
        )
    rates = _checks.keep_rates("keep_rate", keep_rate)
    _checks.same_length("keep_rate", rates, "the labels", rows.given)
    r: Array = rates[rows.kept]
    if (r == r[0]).all():
        return -math.log(r[0])
    positive = rows.y == 1
    _checks.rates_by_row_alone("keep_rate", r < 1, positive, "negative_keep_rate=")
    return -np.log(r)


def score_rows(
    name: str, labels: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None
) -> LabelledRows:
    """Rows of both labels, with a finite score on any scale in place of the probability."""
    y = _checks.vector(name, labels).astype(np.float64)
    _checks.binary_labels(name, y)
    rows = weigh_rows(y, _checks.vector("score", score), sample_weight, "score")
    if rows.y.min() == rows.y.max():
        counting = "" if len(rows.y) == len(y) else " among rows of weight above 0"
        raise ValueError(
            f"{name} holds the single class {rows.y[0]:g}{counting}: there must be rows of both "
            "labels"
        )
    return rows


def weigh_rows(y: Array, p: Array, sample_weight: ArrayLike | None, name: str) -> LabelledRows:
    _checks.same_length(name, p, "the labels", len(y))
    w = _checks.weights("sample_weight", sample_weight, len(y))
    if w is None:
        return LabelledRows(y, p, np.ones(len(y)), slice(None))
    kept = slice(None) if w.all() else w > 0
    return LabelledRows(y[kept], p[kept], w[kept].astype(np.float64), kept)


def check_weights_count_rows(least: float, where: str = "") -> None:
    """Raise if a label weighs less than the one row that is added to it."""
    if least < 1:
        raise ValueError(
            f"sample_weight sums to {least:g} for one label, less than a row{where}: multiply the "
            "weights so that they count rows"
        )


def group_ties(rows: LabelledRows) -> tuple[Array, Array, Array]:
    """The d distinct scores, rising, and the weight of label 1 and of label 0 at each."""
    order = np.argsort(rows.p)
    s, y, w = rows.p[order], rows.y[order], rows.w[order]
    first = np.flatnonzero(np.concatenate(([True], s[1:] != s[:-1])))
    positive = w * y
    return s[first], np.add.reduceat(positive, first), np.add.reduceat(w - positive, first)
