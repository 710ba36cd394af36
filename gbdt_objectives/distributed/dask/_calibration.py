"""Calibration of the probabilities of label 1 in Dask collections."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, is_dask
from gbdt_objectives.calibration import ReliabilityBins, SegmentRatios
from gbdt_objectives.calibration.bins import (
    Strategy,
    bin_sums,
    bins_of_sums,
    check_bins,
    equal_share_ends,
    equal_width_ends,
    weighted_gap,
)
from gbdt_objectives.calibration.ratios import ratio_of_sums, ratio_sums
from gbdt_objectives.calibration.rows import (
    LabelledRows,
    keep_rates,
    label_1_rows,
    rows_that_count,
    standing_rows,
)
from gbdt_objectives.calibration.segments import (
    DEGREES,
    SIMILAR,
    bin_names,
    bin_ranges,
    distinct_segments,
    fields_of_sums,
    named_columns,
    row_sums,
    standing_of,
    true_ratio,
)
from gbdt_objectives.distributed.dask._partitions import check_collection, sum_over_partitions
from gbdt_objectives.distributed.dask._thresholds import MAX_BINS
from gbdt_objectives.thresholds import ThresholdStatistics


def calibration_ratio(y_true: Any, probability: Any, *, sample_weight: Any = None) -> float:
    """Mean prediction over mean outcome.

    As :func:`gbdt_objectives.calibration.calibration_ratio`.

    Parameters
    ----------
    y_true, probability, sample_weight : Dask Series or Array (n,)
        As on one machine.

    Returns
    -------
    float
        As on one machine, but for rounding.

    Raises
    ------
    ValueError, TypeError
        As on one machine; partitions that do not match.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import calibration_ratio
    >>> y = da.from_array([1, 0, 0, 0], chunks=2)
    >>> calibration_ratio(y, da.from_array([0.5, 0.25, 0.125, 0.125], chunks=2))
    1.0
    """
    sums, _ = sum_over_partitions(ratio_sums_of, columns_of(y_true, probability, sample_weight))
    return ratio_of_sums(sums)


def ratio_sums_of(y_true: Any, probability: Any, sample_weight: Array | None) -> Array:
    return ratio_sums(rows_of(y_true, probability, sample_weight))


def reliability_bins(
    y_true: Any,
    probability: Any,
    *,
    n_bins: int = 15,
    strategy: Strategy = "quantile",
    sample_weight: Any = None,
) -> ReliabilityBins:
    """Observed frequency of label 1 among rows of similar predicted probability.

    As :func:`gbdt_objectives.calibration.reliability_bins`. Of more than 131,072 distinct
    probabilities those
    that share a bin of :class:`gbdt_objectives.thresholds.ThresholdStatistics` stay together, as
    equal ones
    do: what the bins hold is exact, and their weights, or events, are as equal as that allows.

    Parameters
    ----------
    y_true, probability, sample_weight : Dask Series or Array (n,)
        As on one machine.
    n_bins, strategy
        As on one machine.

    Returns
    -------
    ReliabilityBins
        As on one machine, but for rounding.

    Raises
    ------
    ValueError, TypeError
        As on one machine; partitions that do not match.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import reliability_bins
    >>> y = da.from_array([0, 0, 1, 0, 1, 1], chunks=2)
    >>> p = da.from_array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8], chunks=2)
    >>> reliability_bins(y, p, n_bins=2)
    ReliabilityBins: 2 bins
      weight  probability  frequency
           3          0.2     0.3333
           3          0.7     0.6667
    """
    n_bins = check_bins(n_bins, strategy)
    columns = columns_of(y_true, probability, sample_weight)
    if strategy == "uniform":
        sums, _ = sum_over_partitions(partial(uniform_sums, n_bins), columns)
        return bins_of_sums(sums)
    score, _ = sum_over_partitions(partial(score_counts, None), columns)
    return bins_of_sums(score.bin_sums(score.ends(n_bins, strategy)))


def uniform_sums(n_bins: int, y_true: Any, probability: Any, sample_weight: Array | None) -> Array:
    rows = rows_of(y_true, probability, sample_weight)
    return bin_sums(rows, np.searchsorted(equal_width_ends(n_bins), rows.p), n_bins)


def expected_calibration_error(
    y_true: Any,
    probability: Any,
    *,
    n_bins: int = 15,
    strategy: Strategy = "quantile",
    sample_weight: Any = None,
) -> float:
    """How far predicted probabilities are from what happened, on average over bins.

    As :func:`gbdt_objectives.calibration.expected_calibration_error` of the probability of label
    1. Of
    several classes pass whether the predicted class is right, and its probability:
    ``y == P.argmax(axis=1)`` and ``P.max(axis=1)``.

    Parameters
    ----------
    y_true, probability, n_bins, strategy, sample_weight
        As in :func:`reliability_bins`.

    Returns
    -------
    float
        As on one machine, for the bins of :func:`reliability_bins`.

    Raises
    ------
    ValueError, TypeError
        As :func:`reliability_bins`.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import expected_calibration_error
    >>> y = da.from_array([0, 0, 1, 0, 1, 1], chunks=2)
    >>> p = da.from_array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8], chunks=2)
    >>> round(expected_calibration_error(y, p, n_bins=2), 4)
    0.0833
    """
    return weighted_gap(
        reliability_bins(
            y_true, probability, n_bins=n_bins, strategy=strategy, sample_weight=sample_weight
        )
    )


def calibration_ratio_by_segment(
    y_true: Any,
    probability: Any,
    segments: Any,
    *,
    n_bins: int = 10,
    strategy: Strategy = "events",
    negative_keep_rate: Any = None,
    sample_weight: Any = None,
    confidence_level: float = 0.95,
) -> SegmentRatios:
    """Mean prediction over mean outcome in each segment, with confidence limits and p-value.

    As :func:`gbdt_objectives.calibration.calibration_ratio_by_segment`. Segments "prediction", and
    negatives
    that were dropped, take two passes over the rows, of which the first finds bins of the
    prediction, as :func:`reliability_bins` does.

    Parameters
    ----------
    y_true, probability, sample_weight : Dask Series or Array (n,)
        As on one machine.
    segments : Dask Series or Array (n,), mapping or data frame of such, or "prediction"
        As on one machine. Their different values are gathered, not their rows. A categorical
        series needs known categories.
    negative_keep_rate : float, or Dask Series or Array (n,), optional
        As on one machine.
    n_bins, strategy, confidence_level
        As on one machine.

    Returns
    -------
    SegmentRatios
        As on one machine, but for rounding.

    Raises
    ------
    ValueError, TypeError
        As on one machine; partitions that do not match.

    Examples
    --------
    >>> import dask.array as da
    >>> from gbdt_objectives.distributed.dask import calibration_ratio_by_segment
    >>> y = da.from_array([0, 1, 0, 0, 1, 1] * 50, chunks=40)
    >>> p = da.from_array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8] * 50, chunks=40)
    >>> country = da.from_array(["AT", "AT", "AT", "DE", "DE", "DE"] * 50, chunks=40)
    >>> calibration_ratio_by_segment(y, p, country)
    SegmentRatios: 2 segments
     segment    weight  probability  frequency     ratio       low      high    p_value
          AT       150          0.2     0.3333       0.6    0.4798    0.7663  6.334e-05
          DE       150          0.7     0.6667      1.05    0.9657     1.175     0.2873
    """
    level = _checks.confidence_level("confidence_level", confidence_level, usual=0.95)
    columns = columns_of(y_true, probability, sample_weight)
    by_prediction = isinstance(segments, str)
    if by_prediction:
        _checks.choice("segments", segments, ("prediction",))
        n_bins = check_bins(n_bins, strategy)
    rate = None
    if negative_keep_rate is not None and np.ndim(negative_keep_rate) == 0:
        rate = _checks.keep_rate("negative_keep_rate", negative_keep_rate)
    else:
        columns["negative_keep_rate"] = negative_keep_rate
    dropped = negative_keep_rate is not None and rate != 1
    ends = similar = None
    if dropped or (by_prediction and strategy != "uniform"):
        score, _ = sum_over_partitions(partial(score_counts, rate), columns)
        if by_prediction and strategy != "uniform":
            ends = score.ends(n_bins, strategy)
        if dropped:
            similar_ends = score.ends(SIMILAR, "events")
            W, p, y = score.bin_sums(similar_ends)
            similar = similar_ends, true_ratio(y, p, float(W.sum()) / score.rows)
    if by_prediction and strategy == "uniform":
        ends = equal_width_ends(n_bins)
    names, orders = {}, {}
    if not by_prediction:
        alone = is_dask(segments) and segments.ndim == 1
        for name, values in [(None, segments)] if alone else named_columns(segments):
            argument = "segments" if name is None else f"segments[{name!r}]"
            check_collection(argument, values)
            names[argument] = "segment" if name is None else str(name)
            orders[argument] = list(getattr(getattr(values, "dtype", None), "categories", []))
            columns[argument] = values
    measure = partial(segment_counts, list(names), rate, ends, similar)
    found, _ = sum_over_partitions(measure, columns)
    if found.kinds:
        dropped_positive = np.array(sorted(found.kinds))
        _checks.rates_by_row_alone("negative_keep_rate", *dropped_positive.T.astype(bool))
    unit = found.weight / found.rows
    if by_prediction:
        lines = [found.prediction_fields(unit, level)]
    else:
        lines = [
            found.fields(argument, name, orders[argument], unit, level)
            for argument, name in names.items()
        ]
    return SegmentRatios(*(np.concatenate(parts) for parts in zip(*lines, strict=True)))


def columns_of(y_true: Any, probability: Any, sample_weight: Any) -> dict[str, Any]:
    if is_dask(probability) and getattr(probability, "ndim", 1) != 1:
        raise ValueError(
            f"probability must be (n,), of label 1, found shape {probability.shape}: pass one "
            "class at a time, y_true == label and its column"
        )
    return {"y_true": y_true, "probability": probability, "sample_weight": sample_weight}


def rows_of(y_true: Any, probability: Any, weight: Array | None) -> LabelledRows:
    """Checked rows; of a partition all weights may be 0."""
    rows = label_1_rows(y_true, probability, None)
    return rows_that_count(rows.y, rows.p, weight)


def rates_of(rows: LabelledRows, rate: float | None, negative_keep_rate: Any) -> Array:
    """The rate of each row."""
    given = negative_keep_rate if rate is None else rate
    found: Array = keep_rates(given, rows.given)[rows.kept]
    return found


@dataclass(frozen=True)
class ScoreCounts:
    """Weights of both labels at the different predictions, or in bins of them, and how many rows
    have weight."""

    statistics: ThresholdStatistics
    rows: int

    def __add__(self, other: ScoreCounts) -> ScoreCounts:
        return ScoreCounts(self.statistics + other.statistics, self.rows + other.rows)

    def ends(self, n_bins: int, strategy: Strategy) -> Array:
        """The highest prediction in each of at most n_bins bins but the last."""
        weight = self.statistics.counts.sum(axis=1)
        share = weight if strategy == "quantile" else weight * self.statistics.score
        return equal_share_ends(self.statistics.high, share, n_bins)

    def bin_sums(self, ends: Array) -> Array:
        """As of the rows: sum w, sum w p, sum w y."""
        b = np.searchsorted(ends, self.statistics.high)
        weight, p = self.statistics.counts.sum(axis=1), self.statistics.score
        terms = (weight, weight * p, self.statistics.counts[:, 1])
        return np.array([np.bincount(b, x, minlength=len(ends) + 1) for x in terms])


def score_counts(
    rate: float | None,
    y_true: Any,
    probability: Any,
    sample_weight: Array | None,
    negative_keep_rate: Any = None,
) -> ScoreCounts:
    """Of rows weighing what they stand for."""
    own = rows_of(y_true, probability, sample_weight)
    rows = standing_rows(own, rates_of(own, rate, negative_keep_rate))
    empty = ThresholdStatistics.empty([0, 1], max_bins=MAX_BINS)
    return ScoreCounts(empty.add(rows.y, rows.p, rows.w), len(rows.y))


@dataclass(frozen=True)
class SegmentCounts:
    """Sums by segment: of the named columns by value, or of bins of the prediction.

    ``sums``: of v, and :func:`row_sums`, for each value; ``ranges``: lowest and highest
    prediction of each bin. ``kinds``: which pairs (rate below 1, label 1) occur.
    """

    sums: dict[str, dict[Any, Array]]
    ranges: dict[Any, tuple[float, float]]
    rows: int
    weight: float
    kinds: frozenset[tuple[bool, bool]]

    def __add__(self, other: SegmentCounts) -> SegmentCounts:
        sums = {}
        for column, of_value in self.sums.items():
            sums[column] = dict(of_value)
            for value, found in other.sums[column].items():
                sums[column][value] = sums[column].get(value, 0) + found
        ranges = dict(self.ranges)
        for b, (low, high) in other.ranges.items():
            l, h = ranges.get(b, (low, high))
            ranges[b] = min(l, low), max(h, high)
        return SegmentCounts(
            sums,
            ranges,
            self.rows + other.rows,
            self.weight + other.weight,
            self.kinds | other.kinds,
        )

    def fields(
        self, column: str, name: str, order: list[Any], unit: float, level: float
    ) -> tuple[Array, ...]:
        """Those of SegmentRatios for one column, in the order of its categories, or sorted."""
        found = self.sums[column]
        try:
            listed = [value for value in order if value in found] or sorted(found)
        except TypeError:
            kinds = sorted({type(value).__name__ for value in found})
            raise TypeError(
                f"{column} must be of one type that can be sorted, found {', '.join(kinds)}: make "
                "them all strings or all integers"
            ) from None
        values = np.empty(len(listed), object)
        values[:] = listed
        return self._fields(name, values, np.array([found[value] for value in listed]), unit, level)

    def prediction_fields(self, unit: float, level: float) -> tuple[Array, ...]:
        """Those of SegmentRatios for bins of the prediction."""
        bins = sorted(self.ranges)
        low, high = np.array([self.ranges[b] for b in bins]).T
        names = bin_names(low, high).astype(object)
        sums = np.array([self.sums["prediction"][b] for b in bins])
        return self._fields("prediction", names, sums, unit, level)

    @staticmethod
    def _fields(
        name: str, values: Array, sums: Array, unit: float, level: float
    ) -> tuple[Array, ...]:
        W, own = sums[:, 0], sums[:, 1:] / unit**DEGREES
        return fields_of_sums(name, values, W, own.T, unit, level)


def segment_counts(
    arguments: list[str],
    rate: float | None,
    ends: Array | None,
    similar: tuple[Array, Array] | None,
    y_true: Any,
    probability: Any,
    sample_weight: Array | None,
    negative_keep_rate: Any = None,
    **segments: Any,
) -> SegmentCounts:
    own = rows_of(y_true, probability, sample_weight)
    r = rates_of(own, rate, negative_keep_rate)
    rows = standing_rows(own, r)
    stands = np.ones(len(r))
    if similar is not None:
        similar_ends, true = similar
        stands = standing_of(rows.p, r, true[np.searchsorted(similar_ends, rows.p)])
    kinds: frozenset[tuple[bool, bool]] = frozenset()
    if negative_keep_rate is not None:
        kinds = frozenset(zip((r < 1).tolist(), (rows.y == 1).tolist(), strict=True))
    sums, ranges = {}, {}
    if ends is not None:
        b = np.searchsorted(ends, rows.p)
        sums["prediction"] = sums_by_value(np.arange(len(ends) + 1).tolist(), b, own, rows, stands)
        low, high = bin_ranges(rows.p, b, len(ends) + 1)
        ranges = {k: (float(low[k]), float(high[k])) for k in sums["prediction"]}
    for argument in arguments:
        found, g = distinct_segments(segments[argument], own.given, argument)
        values = list(found) if found.dtype.kind in "mM" else found.tolist()
        sums[argument] = sums_by_value(values, g[own.kept], own, rows, stands)
    return SegmentCounts(sums, ranges, len(own.y), float(own.w.sum()), kinds)


def sums_by_value(
    values: list[Any], g: Array, own: LabelledRows, rows: LabelledRows, stands: Array
) -> dict[Any, Array]:
    """Of the values that occur."""
    filled, g = np.unique(g, return_inverse=True)
    if not len(filled):
        return {}
    sums = np.vstack([np.bincount(g, rows.w), row_sums(own.y, own.p, own.w, rows.w, stands, g)])
    return {values[k]: sums[:, i] for i, k in enumerate(filled.tolist())}
