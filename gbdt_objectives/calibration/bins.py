"""Reliability in bins of predicted probability, and the expected calibration error."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.rows import Rows, label_1_rows, probability_rows, ties

Bins = Literal["mass", "width"]
MOST_BINS = 1_000_000


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
    """Predicted and observed probability in bins; made by :func:`reliability_bins`.

    Attributes
    ----------
    weight, probability, frequency : ndarray of shape (B,)
        Total weight of each bin, mean prediction, share of label 1; B <= n_bins, as
        empty bins are left out.
    """

    weight: Array
    probability: Array
    frequency: Array


def reliability_bins(
    y_true: ArrayLike,
    probability: ArrayLike,
    *,
    n_bins: int = 15,
    bins: Bins = "mass",
    sample_weight: ArrayLike | None = None,
) -> ReliabilityBins:
    """What happened among rows of about the same predicted probability.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels 0 and 1.
    probability : array-like of shape (n,)
        Of label 1.
    n_bins, bins, sample_weight
        As in :func:`expected_calibration_error`.

    Returns
    -------
    ReliabilityBins
        Rising in ``probability``.

    Raises
    ------
    ValueError
        As :func:`expected_calibration_error`; probabilities (n, K).

    Examples
    --------
    >>> from gbdt_objectives.calibration import reliability_bins
    >>> found = reliability_bins([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], n_bins=2)
    >>> found.weight, found.probability.round(4), found.frequency.round(4)
    (array([3., 3.]), array([0.2, 0.7]), array([0.3333, 0.6667]))
    """
    rows = label_1_rows(y_true, probability, sample_weight)
    found = binned(rows, n_bins, bins)
    return replace(found, weight=rows.unit * found.weight)


def expected_calibration_error(
    y_true: ArrayLike,
    probability: ArrayLike,
    *,
    n_bins: int = 15,
    bins: Bins = "mass",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """How far predicted probabilities are from what happened, on average over bins.

    ::

        ECE = sum_b W_b/W |mean p_b - mean y_b|

    It depends on the bins, is above 0 for perfect probabilities too (by chance), and 0 for
    the base rate predicted to everyone: look at it, but do not stop early or choose models
    by it. For several classes it is that of the predicted class: y is whether the most
    probable one (the first of equals) is right, p its probability. For a class of its
    own pass ``y_true == label`` and its column.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels 0 and 1, or with (n, K) the classes in ``labels``.
    probability : array-like of shape (n,) or (n, K)
        Of label 1, or of each class; (n, 2) is about the predicted class, not label 1.
    n_bins : int from 1 to 1,000,000
        Number of bins.
    bins : {"mass", "width"}
        "mass": equal total weight in each, as nearly as equal predictions, which stay
        together, allow. "width": ((b-1)/n_bins, b/n_bins], the first with 0.
    labels : array-like of shape (K,), optional
        The class of each column, of any type. None: 0 to K-1.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means the same as w copies of the row.

    Returns
    -------
    float
        In [0, 1]; smaller is better.

    Raises
    ------
    ValueError
        Probabilities outside [0, 1], rows that do not sum to 1, no bin or too many, bad
        weights.

    References
    ----------
    Naeini, Cooper & Hauskrecht (2015), AAAI; Guo et al. (2017), "On calibration of modern
    neural networks", section 2; Nixon et al. (2019), "Measuring calibration in deep
    learning", for bins of equal mass.

    Examples
    --------
    >>> from gbdt_objectives import expected_calibration_error
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.8]
    >>> round(expected_calibration_error(y, p, n_bins=2), 4)
    0.0833
    >>> round(expected_calibration_error(y, p, n_bins=10, bins="width"), 4)
    0.35
    """
    rows = probability_rows(y_true, probability, labels, sample_weight)
    if rows.p.ndim == 2:
        predicted = rows.p.argmax(axis=1)
        right = (predicted == rows.y).astype(np.float64)
        rows = Rows(right, rows.p[np.arange(len(right)), predicted], rows.w, rows.kept)
    found = binned(rows, n_bins, bins)
    return float(np.average(np.abs(found.probability - found.frequency), weights=found.weight))


def binned(rows: Rows, n_bins: int, bins: Bins) -> ReliabilityBins:
    """Bins of rows with the probability of label 1."""
    if isinstance(n_bins, bool) or not isinstance(n_bins, numbers.Integral):
        raise TypeError(f"n_bins must be an integer, found {_checks.shown(n_bins)}")
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, found {n_bins}")
    if n_bins > MOST_BINS:
        raise ValueError(f"n_bins must be at most {MOST_BINS:,}, found {n_bins}: 15 is usual")
    _checks.choice("bins", bins, ("mass", "width"))
    p, positive, negative = ties(rows)
    total = positive + negative
    if bins == "width":
        b = np.searchsorted(np.arange(1, n_bins) / n_bins, p, side="left")
    else:
        middle = np.cumsum(total) - 0.5 * total
        b = np.minimum((n_bins * middle / total.sum()).astype(np.intp), n_bins - 1)  # sums round
    first = np.flatnonzero(np.concatenate(([True], b[1:] != b[:-1])))
    weight = np.add.reduceat(total, first)
    return ReliabilityBins(
        weight=weight,
        probability=np.add.reduceat(total * p, first) / weight,
        frequency=np.add.reduceat(positive, first) / weight,
    )
