"""Single numbers: mean prediction over mean outcome, the Brier score, the normalized entropy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._rows.parts import total
from gbdt_objectives._rows.places import dot
from gbdt_objectives.calibration import rows as _rows


def calibration_ratio(
    y_true: ArrayLike, probability: ArrayLike, *, negative_keep_rate: float | None = None,
    keep_rate: ArrayLike | None = None, class_keep_rates: Mapping[Any, float] | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:  # fmt: skip
    """Mean prediction over mean outcome.

    Use it to see whether the level is right: at 2 twice the events were predicted.

    ::

        sum v p / sum v y,   v = w for label 1, w / rate for label 0

    Dask Series or Arrays are taken too: their partitions are summed where they are.

    Parameters
    ----------
    y_true, probability : array-like of shape (n,)
        Labels 0 and 1; 1 must occur. Probabilities of label 1 in the full population. For one of
        several classes pass ``y_true == label`` and its column.
    negative_keep_rate : float in (0, 1], optional
        How the rows were sampled, if negatives were dropped: the rate at which each was kept, the
        same for all. Every positive was kept. ``sample_weight`` must not count the rate as well.
    keep_rate : array-like of shape (n,), optional
        Instead, the rate in (0, 1] of each row, 1 where it was sure to be kept. A positive was kept
        anyway, but has the rate of a negative in its place, as ``pilot_keep_rates`` gives.
    class_keep_rates : mapping, optional
        Instead, ``{0: rate, 1: 1.0}``, as ``measured_keep_rates`` gives it.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means w copies of the row.

    Returns
    -------
    float
        1 is best; above 1 predictions are too high on average. It says nothing about single rows.
        Its limits are those of :func:`calibration_ratio_by_segment` with a single bin.

    Raises
    ------
    ValueError
        No row of label 1, probabilities outside [0, 1] or (n, K), bad weights or rates.

    References
    ----------
    He et al. (2014), "Practical lessons from predicting clicks on ads at Facebook", section 3.

    Examples
    --------
    >>> from gbdt_objectives.calibration import calibration_ratio
    >>> calibration_ratio([1, 0, 0, 0], [0.5, 0.25, 0.125, 0.125])
    1.0
    """
    columns = _rows.label_1_columns(y_true, probability, sample_weight)
    columns["keep_rate"] = _rows.read_rates(negative_keep_rate, keep_rate, class_keep_rates)
    sums: Array = total(ratio_sums, columns)
    prediction, outcome = sums.tolist()
    if outcome == 0:
        raise ValueError("y_true holds no label 1: nothing can be divided by a mean outcome of 0")
    return float(prediction / outcome)


def ratio_sums(**columns: Any) -> Array:
    """The sums sum v p and sum v y of a part of the rows."""
    rows = _rows.read_standing_rows(**columns)
    return np.array([dot(rows.w, rows.p), dot(rows.w, rows.y)])


def normalized_entropy(
    y_true: ArrayLike, probability: ArrayLike, *, labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:  # fmt: skip
    """Logloss, divided by that of the best constant prediction.

    Use it to compare models on data with different base rates: 1 is no better than the base rate.

    ::

        (mean of -log p_c) / (-sum_i q_i log q_i),   q the class frequencies of the rows

    Parameters
    ----------
    y_true, probability, labels, sample_weight
        The rows, as in :func:`expected_calibration_error`, with its errors; two classes occur.

    Returns
    -------
    float
        0 is best, inf if a class occurs whose probability was 0.

    References
    ----------
    He et al. (2014), "Practical lessons from predicting clicks on ads at Facebook", section 3.

    Examples
    --------
    >>> from gbdt_objectives.calibration import normalized_entropy
    >>> round(normalized_entropy([1, 0, 0, 0], [0.7, 0.1, 0.1, 0.1]), 4)
    0.2991
    """
    rows = _rows.probability_rows(y_true, probability, labels, sample_weight)
    W = float(rows.w.sum())
    classes = rows.y.astype(np.intp)
    weight = np.bincount(classes, rows.w)
    q = weight[weight > 0] / W
    if len(q) == 1:
        raise ValueError(
            f"y_true holds the single class at column {classes[0]}: nothing can be divided by its "
            "entropy, 0"
        )
    with np.errstate(divide="ignore"):  # log 0: a certain prediction that is wrong costs inf
        if rows.p.ndim == 1:
            log_p = np.where(classes == 1, np.log(rows.p), np.log1p(-rows.p))
        else:
            log_p = np.log(rows.p[np.arange(len(classes)), classes])
    return dot(rows.w, log_p) / W / float(q @ np.log(q))


def brier_score(
    y_true: ArrayLike, probability: ArrayLike, *, scale_by_half: bool = True,
    labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
) -> float:  # fmt: skip
    """Brier score, halved: half of scikit-learn's for K > 2 classes, the same for two.

    Use it to compare probabilities where a certain and wrong one may cost 1, not infinity. It is
    the mean over rows of ::

        1/2 sum_i (p_i - I[c = i])^2        (p - y)^2 for two classes

    Parameters
    ----------
    y_true, probability, labels, sample_weight
        The rows, as in :func:`expected_calibration_error`, with its errors.
    scale_by_half : bool
        False: without the 1/2, as scikit-learn for K classes.

    Returns
    -------
    float
        In [0, 1], or [0, 2] without the 1/2. Smaller is better; least, in expectation, if true.

    References
    ----------
    Brier (1950), Monthly Weather Review 78(1), who does not halve.

    Examples
    --------
    >>> from gbdt_objectives.calibration import brier_score
    >>> round(brier_score(["b"], [[0.5, 0.3, 0.2]], labels=["a", "b", "c"]), 4)
    0.39
    """
    rows = _rows.probability_rows(y_true, probability, labels, sample_weight)
    if rows.p.ndim == 1:
        error = 2 * (rows.p - rows.y) ** 2
    else:
        d = rows.p.copy()
        d[np.arange(len(d)), rows.y] -= 1
        error = np.einsum("ij,ij->i", d, d)
    unit = 2 if _checks.flag("scale_by_half", scale_by_half) else 1
    return dot(rows.w, error / unit) / float(rows.w.sum())
