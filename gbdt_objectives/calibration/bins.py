"""Reliability in bins of predicted probability, and the expected calibration error.

Symbols: g is a group of rows, W_g its weight and W that of all, p and c are a row's probabilities
and class, P_g their mean and q_g the class frequencies in the group, q those of all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, distinct_groups, number_values
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Table, any_dask, blocks, dot, total, write_table
from gbdt_objectives.calibration import rows as _rows
from gbdt_objectives.calibration.hull import find_segment_ends
from gbdt_objectives.thresholds import ThresholdStatistics

Strategy = Literal["quantile", "uniform", "events"]
MOST_BINS = 1_000_000
MAX_BINS = 131_072  # how many different predictions of a Dask collection are kept apart


@public
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


@public
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


@public
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


@public
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


@public
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


@public
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


@public
@dataclass(frozen=True)
class CalibrationRefinement(Table):
    """The half Brier score or the log loss in parts; made by :func:`calibration_refinement`.

    Every part is a mean over rows.

    Attributes
    ----------
    calibration : float
        Calibration loss: the error due to group means that are off.
    refinement : float
        Refinement loss: what remains if each group is given its own class frequencies.
    within : float
        What differing predictions within groups add, < 0 if they are informative, 0 if equal.
    uncertainty : float
        Refinement loss with all rows in one group.
    """

    calibration: float
    refinement: float
    within: float
    uncertainty: float

    def __str__(self) -> str:
        return write_table(**self._columns())

    def _columns(self) -> dict[str, Array]:
        names = ["total", *vars(self), "miscalibration", "discrimination"]
        return {name: np.array([getattr(self, name)]) for name in names}

    @property
    def total(self) -> float:
        """The loss: calibration + refinement + within."""
        return self.calibration + self.refinement + self.within

    @property
    def miscalibration(self) -> float:
        """What giving each group its own frequencies would save: calibration + within."""
        return self.calibration + self.within

    @property
    def discrimination(self) -> float:
        """What the groups tell about the class: uncertainty - refinement.

        total = miscalibration - discrimination + uncertainty.
        """
        return self.uncertainty - self.refinement


@public
def calibration_refinement(
    y_true: ArrayLike, probability: ArrayLike, *,
    partition: Literal["prediction", "isotonic"] | ArrayLike = "prediction",
    loss: Literal["brier_score", "log_loss"] = "brier_score", labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CalibrationRefinement:  # fmt: skip
    """A loss of probabilities, split into calibration loss and refinement loss.

    Use it to see how much of the loss a calibrator could remove: the calibration loss, at most.

    ::

                      brier_score                               log_loss
        calibration   sum_g W_g/W  1/2 sum_i (P_gi - q_gi)^2    sum_g W_g/W sum_i q_gi log q_gi/P_gi
        refinement    sum_g W_g/W  1/2 sum_i q_gi (1 - q_gi)    sum_g W_g/W sum_i -q_gi log q_gi
        within        mean of 1/2 sum_i d_i (d_i - 2 I[c = i])  mean of log P_gc/p_c
        uncertainty                1/2 sum_i q_i (1 - q_i)      sum_i -q_i log q_i

    with d = p - P_g. The first three add up to ``brier_score``, or to the mean of -log p_c, which
    is inf where a class occurs whose probability was 0. Better probabilities for the same groups
    can lower the first; only a better ranking or finer groups the second.

    Parameters
    ----------
    y_true, probability, labels, sample_weight
        The rows, as in :func:`expected_calibration_error`, with its errors.
    partition : {"prediction", "isotonic"} or array-like of shape (n,)
        How rows are grouped. "prediction": by equal prediction; it warns if most rows differ.
        "isotonic": the segments of the isotonic fit, for continuous predictions (n,);
        ``miscalibration`` and ``discrimination`` are then those of CORP, both >= 0. An array: the
        group of each row, of any type, for instance its leaf.
    loss : {"brier_score", "log_loss"}
        The halved Brier score, or the log loss in nats, which notices rare events better.

    Returns
    -------
    CalibrationRefinement

    References
    ----------
    Murphy (1973), Journal of Applied Meteorology 12(4); Stephenson, Coelho & Jolliffe (2008),
    Weather and Forecasting 23(4), for the parts within groups; Bröcker (2009), QJRMS 135, for other
    losses; Dimitriadis, Gneiting & Jordan (2021), PNAS 118(8), for isotonic segments (CORP).

    Examples
    --------
    >>> from gbdt_objectives.calibration import calibration_refinement
    >>> print(calibration_refinement([0, 1, 0, 1], [0.1, 0.3, 0.6, 0.7], partition="isotonic"))
       total  calibration  refinement    within  uncertainty  miscalibration  discrimination
      0.2375      0.02625       0.125   0.08625         0.25          0.1125           0.125
    """
    _checks.choice("loss", loss, ("brier_score", "log_loss"))
    rows = _rows.probability_rows(y_true, probability, labels, sample_weight)
    if isinstance(partition, str):
        _checks.choice("partition", partition, ("prediction", "isotonic"))
        if rows.p.ndim == 1:
            p, positive, negative = _rows.group_ties(rows)
            warn_if_continuous(partition, len(p), rows)
            del rows
            g = None
            if partition == "isotonic":
                ends = find_segment_ends(positive, negative)
                g = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
            negative += positive
            return split(loss, [(positive, p)], negative, g)
        if partition == "isotonic":
            what = "partition='isotonic' is for probability (n,), of label 1"
            raise ValueError(f"{what}: {_rows.ONE_CLASS}")
        g = number_equal_rows(rows.p)
        warn_if_continuous(partition, int(g.max()) + 1, rows)
    else:
        g = distinct_groups(partition, rows.given, "partition")[1]
        if len(rows.y) < rows.given:
            g = number_values(g[rows.kept])[1]
    if rows.p.ndim == 1:
        return split(loss, [(rows.w * rows.y, rows.p)], rows.w, g)
    return split(loss, ((rows.w * (rows.y == k), p) for k, p in enumerate(rows.p.T)), rows.w, g)


def warn_if_continuous(partition: object, groups: int, rows: _rows.LabelledRows) -> None:
    n = len(rows.y) if rows.w is None else rows.w.sum()  # which may be counts
    if partition == "prediction" and 50 <= n < 2 * groups:
        _checks.warn(
            f"{n:g} rows have {groups} different predictions, so calibration is mostly chance: "
            "pass partition='isotonic', for one class at a time, or the group of each row"
        )


def split(
    loss: str, columns: Iterable[tuple[Array, Array]], total: Array, g: Array | None
) -> CalibrationRefinement:
    """The parts, from weight and probability of classes, the weight of all, and rows' groups."""
    parts = []
    for positive, p in columns:
        parts.append(class_terms(loss, positive, p, total, g))
    unit = 0.5 if loss == "brier_score" and len(parts) > 1 else 1.0
    if loss == "log_loss" and len(parts) == 1:
        parts.append(class_terms(loss, total - positive, 1 - p, total, g))
    return CalibrationRefinement(*(unit * np.sum(parts, axis=0)).tolist())


def class_terms(loss: str, positive: Array, p: Array, total: Array, g: Array | None) -> list[float]:
    """What a class, which has the weight ``positive`` out of ``total``, adds to the four parts."""
    from scipy.special import entr, rel_entr

    sums = total, positive, p
    if g is not None:
        W_g, A_g, B_g = _rows.sums_by(
            g, int(g.max()) + 1, lambda at: (total[at], positive[at], total[at] * p[at])
        )
        sums = W_g, A_g, B_g / W_g
    W = float(total.sum())
    q = float(positive.sum()) / W
    calibration = refinement = within = 0.0
    for at in blocks(sums[0]):
        W_g, A_g, P_g = (x[at] for x in sums)
        q_g = A_g / W_g
        if loss == "brier_score":
            gap, spread = (P_g - q_g) ** 2, q_g * (1 - q_g)
        else:
            gap, spread = rel_entr(q_g, P_g), entr(q_g)
        calibration += dot(W_g, gap)
        refinement += dot(W_g, spread)
    for at in blocks(total) if g is not None else []:
        own, mean = p[at], sums[2][g[at]]  # type: ignore[index]
        if loss == "brier_score":
            d = own - mean
            within += dot(d, total[at] * d - 2 * positive[at])
        else:
            some = (positive[at] > 0) & (mean > 0)  # where P_g is 0 calibration is inf
            with np.errstate(divide="ignore"):
                within += dot(positive[at][some], np.log(mean[some] / own[some]))
    uncertainty = q * (1 - q) if loss == "brier_score" else float(entr(q))
    return [calibration / W, refinement / W, within / W, uncertainty]


def number_equal_rows(p: Array) -> Array:
    """Numbers from 0, equal where rows are equal: those of a random combination of columns."""
    key = np.zeros(len(p))
    for k, c in enumerate(np.random.default_rng(0).uniform(1, 2, (p.shape[1],))):
        key += c * p[:, k]
    g = number_values(key)[1]
    one = np.empty(g.max() + 1, np.intp)
    one[g] = np.arange(len(g))
    if (p != p[one[g]]).any():  # different rows of the same number
        g = np.unique(p, axis=0, return_inverse=True)[1].ravel()
    return g
