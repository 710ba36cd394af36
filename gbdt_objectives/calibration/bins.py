"""Reliability in bins of predicted probability, and the expected calibration error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._rows.html import Table
from gbdt_objectives._rows.parts import any_dask, total
from gbdt_objectives._rows.places import dot
from gbdt_objectives.calibration import rows as _rows
from gbdt_objectives.thresholds import ThresholdStatistics

Strategy = Literal["quantile", "uniform", "events"]
MOST_BINS = 1_000_000
MAX_BINS = 131_072  # how many different predictions of a Dask collection are kept apart


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityBins(Table):
    """Predicted and observed probability in bins; made by :func:`reliability_bins`.

    Attributes
    ----------
    weight, probability, frequency : ndarray of shape (B,)
        Total weight of each bin, mean prediction, share of label 1; B <= n_bins: no bin is empty.
    """

    weight: Array
    probability: Array
    frequency: Array

    def _shown(self) -> tuple[str, dict[str, Array]]:
        return f"ReliabilityBins: {len(self.weight)} bins", vars(self)


def reliability_bins(
    y_true: ArrayLike, probability: ArrayLike, *, n_bins: int = 15, strategy: Strategy = "quantile",
    negative_keep_rate: float | None = None, keep_rate: ArrayLike | None = None,
    class_keep_rates: Mapping[Any, float] | None = None, sample_weight: ArrayLike | None = None,
) -> ReliabilityBins:  # fmt: skip
    """Observed frequency of label 1 among rows of similar predicted probability.

    Use it for the numbers of a reliability diagram, which ``ReliabilityDisplay`` draws. Dask Series
    or Arrays are taken too. Of more than 131,072 different probabilities, similar ones share a bin.

    Parameters
    ----------
    y_true, probability : array-like of shape (n,)
        Labels 0 and 1, and probabilities of label 1.
    n_bins, strategy, sample_weight
        As in :func:`expected_calibration_error`, with its errors.
    negative_keep_rate, keep_rate, class_keep_rates : optional
        How rows were sampled, as in :func:`calibration_ratio`; bins then weigh all rows.

    Returns
    -------
    ReliabilityBins
        Bins in ascending order of ``probability``.

    Examples
    --------
    >>> from gbdt_objectives.calibration import reliability_bins
    >>> reliability_bins([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], n_bins=2)
    ReliabilityBins: 2 bins
      weight  probability  frequency
           3          0.2     0.3333
           3          0.7     0.6667
    """
    columns = _rows.label_1_columns(y_true, probability, sample_weight)
    columns["keep_rate"] = _rows.read_rates(negative_keep_rate, keep_rate, class_keep_rates)
    return make_bins(columns, n_bins, strategy)


def make_bins(columns: dict[str, Any], n_bins: int, strategy: Strategy) -> ReliabilityBins:
    """The bins of rows with probabilities (n,)."""
    n_bins = check_bins(n_bins, strategy)
    if strategy == "uniform":
        sums: Array = total(partial(uniform_sums, n_bins), columns)
    else:
        counts = count_predictions(columns)
        sums = counts.bin_sums(counts.ends(n_bins, strategy))
    weight, p, y = sums[:, sums[0] > 0]
    return ReliabilityBins(weight=weight, probability=p / weight, frequency=y / weight)


def expected_calibration_error(
    y_true: ArrayLike, probability: ArrayLike, *, n_bins: int = 15, strategy: Strategy = "quantile",
    labels: ArrayLike | None = None, negative_keep_rate: float | None = None,
    keep_rate: ArrayLike | None = None, class_keep_rates: Mapping[Any, float] | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:  # fmt: skip
    """How far predicted probabilities are from what happened, on average over bins.

    Use it where a report asks for it; :func:`calibration_error_test` says how much of it is chance.

    ::

        ECE = sum_b W_b/W |mean p_b - mean y_b|

    It depends on the bins, is above 0 by chance even for perfect probabilities, and is 0 if the
    base rate is predicted for everyone: do not choose models by it. For several classes y is
    whether the most probable class (the first of equals) is right, and p its probability. For a
    single class pass ``y_true == label`` and its column.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels 0 and 1, or with (n, K) the classes in ``labels``.
    probability : array-like of shape (n,) or (n, K)
        Probability of label 1, or of each class; (n, 2) is about the predicted class, not label 1.
    n_bins : int from 1 to 1,000,000
        Number of bins.
    strategy : {"quantile", "uniform", "events"}
        "quantile": nearly equal total weight in each bin; equal predictions stay together.
        "uniform": ((b-1)/n_bins, b/n_bins], the first including 0. "events": equal sums of
        predictions in each bin, and so about the same relative error, for rare events.
    labels : array-like of shape (K,), optional
        The class of each column, of any type. None: 0 to K-1.
    negative_keep_rate, keep_rate, class_keep_rates : optional
        How the rows were sampled, as in :func:`calibration_ratio`; for (n,) only.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means w copies of the row.

    Returns
    -------
    float
        In [0, 1]; smaller is better.

    Raises
    ------
    ValueError
        Probabilities outside [0, 1] or whose rows do not sum to 1, bad bins or weights.

    References
    ----------
    Naeini, Cooper & Hauskrecht (2015), AAAI; Guo et al. (2017), ICML, section 2; Nixon et al.
    (2019), "Measuring calibration in deep learning", for bins of equal mass.

    Examples
    --------
    >>> from gbdt_objectives.calibration import expected_calibration_error
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.8]
    >>> round(expected_calibration_error(y, p, n_bins=2), 4)
    0.0833
    """
    rate = _rows.read_rates(negative_keep_rate, keep_rate, class_keep_rates)
    given = {"y_true": y_true, "probability": probability, "sample_weight": sample_weight}
    if any_dask(given) or np.ndim(probability) == 1:
        _rows.check_no_columns(labels)
    else:
        _rows.check_label_1_sampled(rate)
        rows = predicted_class(_rows.probability_rows(y_true, probability, labels, sample_weight))
        y_true, probability, sample_weight = rows.y, rows.p, rows.w
    columns = _rows.label_1_columns(y_true, probability, sample_weight) | {"keep_rate": rate}
    bins = make_bins(columns, n_bins, strategy)
    return float(np.average(np.abs(bins.probability - bins.frequency), weights=bins.weight))


def predicted_class(rows: _rows.LabelledRows) -> _rows.LabelledRows:
    """Whether the most probable class is right, and its probability; (n,) as it is."""
    if rows.p.ndim == 1:
        return rows
    predicted = rows.p.argmax(axis=1)
    right = (predicted == rows.y).astype(np.float64)
    return replace(rows, y=right, p=rows.p[np.arange(len(right)), predicted])


@dataclass(frozen=True, eq=False)
class PredictionCounts:
    """Weights at the distinct predictions of rows, or in narrow bins of them, rising: ``high`` and
    ``p`` are the highest and the mean prediction of each, ``rows`` the number of rows."""

    high: Array
    p: Array
    weight: Array
    positive: Array
    rows: int

    @staticmethod
    def of(rows: _rows.LabelledRows) -> PredictionCounts:
        p, positive, negative = _rows.group_ties(rows)
        negative += positive
        return PredictionCounts(p, p, negative, positive, rows.number)

    def ends(self, n_bins: int, strategy: Strategy) -> Array:
        """The highest prediction in each of at most n_bins bins but the last."""
        share = self.weight if strategy == "quantile" else self.weight * self.p
        return equal_share_ends(self.high, share, n_bins)

    def bin_sums(self, ends: Array) -> Array:
        """Sums of w, w p and w y in each bin, (3, B)."""
        b = np.searchsorted(ends, self.high)
        terms = (self.weight, self.weight * self.p, self.positive)
        return np.array([np.bincount(b, x, minlength=len(ends) + 1) for x in terms])


def count_predictions(columns: dict[str, Any]) -> PredictionCounts:
    """Counts of rows that weigh what they stand for; of many predictions of Dask, binned."""
    if not any_dask(columns):
        return PredictionCounts.of(_rows.read_standing_rows(**columns))
    empty = ThresholdStatistics.empty([0, 1], max_bins=MAX_BINS)
    found = total(partial(add_predictions, empty), columns)
    weight = found.counts.sum(axis=1)
    return PredictionCounts(found.high, found.score, weight, found.counts[:, 1], found.rows)


def add_predictions(empty: ThresholdStatistics, **columns: Any) -> ThresholdStatistics:
    rows = _rows.read_standing_rows(**columns)
    return replace(empty.add(rows.y, rows.p, rows.weight), rows=rows.number)


def uniform_sums(n_bins: int, **columns: Any) -> Array:
    """Sums of v, v p and v y in each bin of equal width, (3, n_bins)."""
    rows = _rows.read_standing_rows(**columns)
    b, w = np.searchsorted(equal_width_ends(n_bins), rows.p), rows.w
    return np.array([np.bincount(b, x, minlength=n_bins) for x in (w, w * rows.p, w * rows.y)])


def bin_numbers(rows: _rows.LabelledRows, n_bins: int, strategy: Strategy) -> Array:
    """The bin of each row, numbered by rising probability, without the empty ones."""
    n_bins = check_bins(n_bins, strategy)
    if strategy == "uniform":
        ends = equal_width_ends(n_bins)
    else:
        ends = PredictionCounts.of(rows).ends(n_bins, strategy)
    b = np.searchsorted(ends, rows.p)
    return np.asarray((np.cumsum(np.bincount(b) > 0) - 1)[b])


def check_bins(n_bins: int, strategy: Strategy) -> int:
    n_bins = _checks.whole_number("n_bins", n_bins, 1)
    if n_bins > MOST_BINS:
        raise ValueError(f"n_bins must be at most {MOST_BINS:,}, found {n_bins}: 15 is usual")
    _checks.choice("strategy", strategy, ("quantile", "uniform", "events"))
    return n_bins


def equal_width_ends(n_bins: int) -> Array:
    """The upper ends of all bins but the last."""
    return np.arange(1, n_bins) / n_bins


def equal_share_ends(p: Array, share: Array, n_bins: int) -> Array:
    """The highest of the rising ``p`` in each of at most n_bins bins but the last."""
    middle = 2 * np.cumsum(share)
    middle -= share
    middle *= n_bins
    middle /= 2 * (share.sum() or 1.0)
    first = np.searchsorted(middle, np.arange(1, n_bins))  # of each bin but the lowest
    first = np.unique(first[(first > 0) & (first < len(p))])
    return p[first - 1]


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
