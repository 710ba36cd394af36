"""Mean prediction over mean outcome, segment by segment, with its uncertainty.

Symbols: y, p and w are a row's label, probability and weight, r the rate at which negatives like it
were kept, and v, what the row stands for, is w for a positive and w/r for a negative. Within a
segment A = sum v y, B = sum v p, R = B/A its ratio, u = 1/R.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, ndtr, ndtri

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, column_names, is_dask
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Table, any_dask, check_column, total
from gbdt_objectives._rows.workers import some_rows
from gbdt_objectives.calibration import bins, rows as _rows
from gbdt_objectives.calibration.bins import Strategy
from gbdt_objectives.calibration.rows import LabelledRows

TINY = 1e-300
SIMILAR = 15  # the number of groups of similar predictions
DEGREES = np.array([1, 1] + [2] * 12)  # how many weights each of segment_sums multiplies


@public
@dataclass(frozen=True, eq=False, repr=False)
class SegmentRatios(Table):
    """Calibration ratios of segments; made by :func:`calibration_ratio_by_segment`.

    Each array has an element per segment; ``to_frame()`` is a DataFrame of them, as printed.

    Attributes
    ----------
    column, segment : ndarray of shape (G,)
        The name of a column, and its value there, or the lowest and highest prediction of a bin.
    weight, probability, frequency : ndarray of shape (G,)
        Weight of the rows that the segment stands for, mean prediction, mean outcome.
    ratio, low, high : ndarray of shape (G,)
        Mean prediction over mean outcome, and its confidence limits: ``ratio`` and ``high`` are inf
        without an outcome, ``ratio`` nan if the prediction is 0 as well.
    p_value, rest_p_value : ndarray of shape (G,)
        p-values of the hypotheses that the ratio is 1, and that it is ``rest_ratio``. A model that
        is off by one factor everywhere fails the first in all segments, and the second in none. The
        first is below 1 - confidence_level exactly where the limits exclude 1.
    p_value_holm, p_value_bh, rest_p_value_holm, rest_p_value_bh : ndarray of shape (G,)
        The same adjusted for looking at G segments. Below 0.05, Holm's flags one by mistake with
        probability 0.05 at most; of Benjamini & Hochberg's at most 5 % are mistakes on average.
    rest_ratio : ndarray of shape (G,)
        The ratio of all rows outside the segment; nan, like ``rest_p_value``, without any.
    """

    column: Array
    segment: Array
    weight: Array
    probability: Array
    frequency: Array
    ratio: Array
    low: Array
    high: Array
    p_value: Array
    p_value_holm: Array
    p_value_bh: Array
    rest_ratio: Array
    rest_p_value: Array
    rest_p_value_holm: Array
    rest_p_value_bh: Array

    def by_evidence(self) -> SegmentRatios:
        """Sort the segments by ``rest_p_value``, lowest first, and equal ones by ``p_value``."""
        equal = np.around(np.log(np.maximum(self.rest_p_value, TINY)), 6)  # but for rounding
        order = np.lexsort((self.p_value, equal))
        return SegmentRatios(**{name: values[order] for name, values in vars(self).items()})

    def _columns(self) -> dict[str, Array]:
        by_prediction = (self.column == "prediction").all()
        return vars(self if by_prediction or len(self.segment) == 1 else self.by_evidence())

    def _shown(self) -> tuple[str, dict[str, Array]]:
        shown = self._columns()
        words = np.array([  # of times without the zeros behind
            np.datetime_as_string(value, "auto") if isinstance(value, np.datetime64) else str(value)
            for value in shown["segment"]
        ])  # fmt: skip
        columns = {"column": shown["column"], "segment": words}
        columns |= {name: shown[name] for name in ("weight", "ratio", "low", "high")}
        title = f"SegmentRatios: {len(self.segment)} segments"
        if len(self.segment) == 1:
            columns["p_value"] = self.p_value
        else:
            columns |= {"rest": shown["rest_ratio"], "holm": shown["rest_p_value_holm"]}
            title += " (rest: all other rows; holm: p of ratio = rest)"
        if (self.column == self.column[0]).all():
            del columns["column"]
        return title, columns


@public
def calibration_ratio_by_segment(
    y_true: ArrayLike, probability: ArrayLike,
    segments: Literal["prediction"] | ArrayLike | Mapping[Any, ArrayLike], *, n_bins: int = 10,
    strategy: Strategy = "events", negative_keep_rate: float | None = None,
    keep_rate: ArrayLike | None = None, class_keep_rates: Mapping[Any, float] | None = None,
    sample_weight: ArrayLike | None = None, counts: ArrayLike | None = None,
    groups: ArrayLike | None = None, confidence_level: float = 0.95,
) -> SegmentRatios:  # fmt: skip
    """Mean prediction over mean outcome in each segment, with confidence limits and p-value.

    Use it to find the segments in which the level is off, and how certain that is.

    ::

        R = sum v p / sum v y,   v = w for label 1, w / rate for label 0

    The limits hold every ratio that a score test does not reject (``docs/theory/calibration.md``),
    and stay sound with few events. Each ratio is compared with 1 and with that of all other rows.
    Dask Series or Arrays are taken too, with known categories if they are categorical.

    Parameters
    ----------
    y_true, probability : array-like of shape (n,)
        As in :func:`calibration_ratio`, but segments, or all rows, may be without label 1.
    segments : array-like of shape (n,), mapping or data frame of such, or "prediction"
        The segment of each row, of any type but float NaN. Categories keep their order; named
        columns follow one another. "prediction": its bins, with ``n_bins=1`` all rows.
    n_bins, strategy
        Bins of "prediction", as in :func:`expected_calibration_error`.
    negative_keep_rate, keep_rate, class_keep_rates : optional
        How the rows were sampled, as in :func:`calibration_ratio`.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0. In the ratio w means w copies of the row, in limits and p-values one.
    counts : array-like of shape (n,), optional
        How many identical rows the row stands for, whole numbers >= 0, where rows come from a GROUP
        BY (``docs/from_sql.md``). A weight is then that of each of them.
    groups : array-like of shape (n,), optional
        Whose row it is, of any type, where outcomes of one user, session or document may depend on
        each other: without it limits are too narrow. For some 30 groups or more, not with Dask.
    confidence_level : float in (0, 1)
        Confidence level of the limits.

    Returns
    -------
    SegmentRatios
        Segments in their own order. The most certain differences from the rest are printed first.

    Raises
    ------
    ValueError, TypeError
        Missing segments or mixed types, a bad rate or confidence level, a single group; rows and
        bins that :func:`reliability_bins` refuses.

    References
    ----------
    He et al. (2014), "Practical lessons from predicting clicks on ads at Facebook", section 3; Holm
    (1979), Scandinavian Journal of Statistics 6(2); Benjamini & Hochberg (1995), JRSS B 57(1).

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import calibration_ratio_by_segment
    >>> y, p = np.array([0, 1, 0, 0, 1, 1] * 50), np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8] * 50)
    >>> calibration_ratio_by_segment(y, p, np.array(["AT", "AT", "AT", "DE", "DE", "DE"] * 50))
    SegmentRatios: 2 segments (rest: all other rows; holm: p of ratio = rest)
     segment    weight     ratio       low      high      rest       holm
          AT       150       0.6    0.4798    0.7663      1.05  0.0002494
          DE       150      1.05    0.9657     1.175       0.6  0.0002494
    """
    level = _checks.confidence_level("confidence_level", confidence_level, usual=0.95)
    columns = _rows.label_1_columns(y_true, probability, sample_weight, counts)
    if groups is not None and (any_dask(columns) or is_dask(groups)):
        raise TypeError(
            "groups is for arrays in memory, as partitions may share a group: compute() the "
            "columns, or a sample of whole groups, first"
        )
    by_prediction = isinstance(segments, str)
    if by_prediction:
        if segments != "prediction":
            raise ValueError(
                f"segments must be 'prediction' or hold the segment of each row, found "
                f"{segments!r}: pass the column itself, {{{segments!r}: X[{segments!r}]}}"
            )
        n_bins = bins.check_bins(n_bins, strategy)
    columns["keep_rate"] = rate = _rows.read_rates(negative_keep_rate, keep_rate, class_keep_rates)
    dropped = _rows.are_sampled(rate)
    ends = bins.equal_width_ends(n_bins) if by_prediction else None
    similar = None
    if dropped or (by_prediction and strategy != "uniform"):
        there = bins.count_predictions(columns)
        if by_prediction and strategy != "uniform":
            ends = there.ends(n_bins, strategy)
        if dropped:
            similar = similar_outcomes(there)
        del there  # three columns
    names: dict[str, str] = {}
    if not by_prediction:
        names, values = segment_columns(segments)
        columns |= values
    found = total(partial(statistics_of, names, ends, similar, groups), columns)
    return found.ratios(confidence_level=level)


def similar_outcomes(there: bins.PredictionCounts) -> tuple[Array, Array]:
    """The ends of bins of similar predictions, and the outcomes over predictions in each."""
    ends = there.ends(SIMILAR, "events")
    _, p, y = there.bin_sums(ends)
    one = float(there.weight.sum()) / there.rows
    return ends, (y + one) / (p + one)


@public
@dataclass(frozen=True, eq=False, repr=False)
class SegmentStatistics:
    """The sums over rows that the calibration ratios of segments need; statistics of parts add up.

    Use it for files that are read chunk by chunk, and for engines other than Dask.

    Attributes
    ----------
    rows, weight : int, float
        How many rows of weight above 0 there are, copies included, and their total weight.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import SegmentStatistics
    >>> y, p = np.array([0, 1, 0, 0, 1, 1] * 50), np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8] * 50)
    >>> country = np.array(["AT", "AT", "AT", "DE", "DE", "DE"] * 50)
    >>> parts = slice(0, 100), slice(100, None)
    >>> a, b = (SegmentStatistics.of(y[part], p[part], country[part]) for part in parts)
    >>> (a + b).ratios().ratio
    array([0.6 , 1.05])
    """

    rows: int
    weight: float
    columns: tuple[ColumnSums, ...]
    kinds: frozenset[int]  # of rows with own rates: 1 of a positive, and 2 more if the rate is < 1
    held: Array | None = None  # if there is a rate, y, p, w, the rate and the count of each row

    @staticmethod
    def of(
        y_true: ArrayLike, probability: ArrayLike, segments: ArrayLike | Mapping[Any, ArrayLike], *,
        negative_keep_rate: float | None = None, keep_rate: ArrayLike | None = None,
        class_keep_rates: Mapping[Any, float] | None = None, sample_weight: ArrayLike | None = None,
        counts: ArrayLike | None = None,
    ) -> SegmentStatistics:  # fmt: skip
        """Statistics of a part of the rows; the part may be without any row of weight above 0.

        Parameters
        ----------
        y_true, probability, segments, sample_weight, counts
            The columns of :func:`calibration_ratio_by_segment`, with its errors, but no bins.
        negative_keep_rate, keep_rate, class_keep_rates : optional
            The same, for every part or none. Each row is then kept, in some 50 bytes, for limits.
        """
        if isinstance(segments, str):
            raise ValueError(
                f"segments must be a column, (n,), or several by name, found {segments!r}: for "
                "bins of the prediction call calibration_ratio_by_segment"
            )
        if not is_dask(y_true) and np.shape(y_true) == (0,):
            raise ValueError("y_true is a part without rows: skip it, which changes no sum")
        names, values = segment_columns(segments)
        columns = _rows.label_1_columns(y_true, probability, sample_weight, counts) | values
        rates = negative_keep_rate, keep_rate, class_keep_rates
        columns["keep_rate"] = _rows.read_rates(*rates)
        hold = any(rate is not None for rate in rates)
        with some_rows():
            return total(partial(statistics_of, names, None, None, None, hold=hold), columns)

    def __add__(self, other: SegmentStatistics) -> SegmentStatistics:
        if not isinstance(other, SegmentStatistics):
            return NotImplemented
        a, b = ([column.name for column in one.columns] for one in (self, other))
        if a != b:
            both = f"statistics of the columns {_checks.shown(a)} and {_checks.shown(b)}"
            raise ValueError(f"{both} do not add up: give segments of the same names")
        if (self.held is None) != (other.held is None):
            raise ValueError("give each part its rate, 1 for a part that is whole, or none a rate")
        columns = zip(self.columns, other.columns, strict=True)
        return SegmentStatistics(
            self.rows + other.rows, self.weight + other.weight,
            tuple(one + another for one, another in columns), self.kinds | other.kinds,
            None if self.held is None else np.hstack((self.held, other.held)),  # type: ignore[arg-type]
        )  # fmt: skip

    def __radd__(self, other: object) -> SegmentStatistics:
        """``sum`` starts at 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def ratios(self, *, confidence_level: float = 0.95) -> SegmentRatios:
        """The ratios that ``calibration_ratio_by_segment`` gives for the rows added so far.

        Parameters
        ----------
        confidence_level : float in (0, 1)
            Confidence level of the limits.
        """
        level = _checks.confidence_level("confidence_level", confidence_level, usual=0.95)
        if not self.rows:
            raise ValueError("the statistics hold no rows of weight above 0: add some first")
        if self.kinds:
            kinds, by_rate = np.array([*self.kinds]), "negative_keep_rate="
            _checks.rates_by_row_alone("keep_rate", kinds >= 2, kinds % 2 == 1, by_rate)
        listed = [column.listed() for column in self._expected()]
        names = np.array([column.name for column in self.columns], object)
        sums = np.concatenate([own for _, own in listed], axis=1)
        unit = self.weight / self.rows
        scale = unit ** DEGREES[:, np.newaxis]
        A, B, b, a = score_sums(sums[1:12] / scale[:11])
        rests = [rest_test(own[1:] / scale) for _, own in listed]
        rest_ratio, rest_p_value = (np.concatenate(found) for found in zip(*rests, strict=True))
        p_value = score_test(A, B, b, a)
        low, high = score_limits(A, B, b, a, level)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = B / A
        return SegmentRatios(
            column=np.repeat(names, [len(values) for values, _ in listed]),
            segment=np.concatenate([values for values, _ in listed]),
            weight=sums[0], probability=B * (unit / sums[0]), frequency=A * (unit / sums[0]),
            ratio=ratio, low=low, high=high, p_value=p_value, p_value_holm=holm(p_value),
            p_value_bh=benjamini_hochberg(p_value),
            rest_ratio=rest_ratio, rest_p_value=rest_p_value,
            rest_p_value_holm=holm(rest_p_value), rest_p_value_bh=benjamini_hochberg(rest_p_value),
        )  # fmt: skip

    def _expected(self) -> list[ColumnSums]:
        """The columns, with the squares that are expected of the rows that are held."""
        if self.held is None or (self.held[3] == 1).all():
            return [*self.columns]
        y, p, w, rate, c = self.held
        rows = LabelledRows(y, p, w, slice(None), rate, c)
        similar = similar_outcomes(bins.PredictionCounts.of(rows.standing()))
        return [
            replace(one, sums=segment_sums(rows, similar, None, one.codes, len(one.values)))
            for one in self.columns
        ]


def statistics_of(
    names: Mapping[str, str], ends: Array | None, similar: tuple[Array, Array] | None, groups: Any,
    y_true: Any, probability: Any, sample_weight: Any, keep_rate: Any = 1.0, counts: Any = None, *,
    hold: bool = False, **segments: Any,
) -> SegmentStatistics:  # fmt: skip
    """The statistics of a part of the rows. ``names``: the names of the columns of segments, by
    argument, or none for bins of the prediction with these ``ends``. ``similar``: where negatives
    were dropped, the ends of bins of similar predictions and the outcomes over predictions in each.
    """
    own = _rows.label_1_rows(y_true, probability, sample_weight, keep_rate, counts)
    owner, r = own.owners(groups), own.rate
    kinds: list[int] = []
    if isinstance(r, np.ndarray):
        kinds = np.flatnonzero(np.bincount(2 * (r < 1) + (own.y == 1))).tolist()
    found: list[ColumnSums] = []
    if ends is not None:
        b, B = np.searchsorted(ends, own.p), len(ends) + 1
        low, high = np.ones(B), np.zeros(B)
        np.minimum.at(low, b, own.p)
        np.maximum.at(high, b, own.p)
        sums = segment_sums(own, similar, owner, b, B)
        found.append(
            PredictionSums("segments", "prediction", [*range(B)], [], sums, b[:0], low, high)
        )
    for argument, name in names.items():
        distinct, g, ordered = _checks.distinct_segments(segments[argument], own.given, argument)
        values = list(distinct) if distinct.dtype.kind in "mM" else distinct.tolist()
        sums = segment_sums(own, similar, owner, g[own.kept], len(values))
        filled = np.flatnonzero(np.bincount(g[own.kept], minlength=len(values)))
        occurring, order = [values[k] for k in filled.tolist()], values if ordered else []
        codes = np.searchsorted(filled, g[own.kept]) if hold else g[:0]
        found.append(ColumnSums(argument, name, occurring, order, sums[:, filled], codes))
    c = 1.0 if own.c is None else own.c
    held = np.array(np.broadcast_arrays(own.y, own.p, own.w, r, c)) if hold else None
    W = float(own.weight.sum())
    return SegmentStatistics(own.number, W, tuple(found), frozenset(kinds), held)


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Sums by segment of one column, (15, G); all categories; the segments of rows held."""

    argument: str
    name: str
    values: list[Any]
    order: list[Any]
    sums: Array
    codes: Array

    def __add__(self, other: ColumnSums) -> ColumnSums:
        at = {value: k for k, value in enumerate(self.values)}
        for value in other.values:
            at.setdefault(value, len(at))
        sums = np.pad(self.sums, ((0, 0), (0, len(at) - len(self.values))))
        places = np.array([at[value] for value in other.values], np.intp)
        sums[:, places] += other.sums
        codes, order = np.append(self.codes, places[other.codes]), self.order or other.order
        return replace(self, values=list(at), order=order, sums=sums, codes=codes)

    def listed(self) -> tuple[Array, Array]:
        """The segments and their sums, in the order of the categories, or sorted."""
        at = {value: k for k, value in enumerate(self.values)}
        try:
            listed = [value for value in self.order if value in at] or sorted(at)
        except TypeError:
            kinds = sorted({type(value).__name__ for value in at})
            raise TypeError(
                f"{self.argument} must be of one type that can be sorted, found "
                f"{', '.join(kinds)}: make them all strings or all integers"
            ) from None
        values = np.empty(len(listed), object)
        values[:] = listed
        return values, self.sums[:, [at[value] for value in listed]]


@dataclass(frozen=True, eq=False)
class PredictionSums(ColumnSums):
    """Sums by bin of the prediction, with the lowest and the highest prediction in each."""

    low: Array
    high: Array

    def __add__(self, other: ColumnSums) -> PredictionSums:
        assert isinstance(other, PredictionSums)
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return replace(self, sums=self.sums + other.sums, low=low, high=high)

    def listed(self) -> tuple[Array, Array]:
        filled = self.low <= self.high
        ranges = zip(self.low[filled], self.high[filled], strict=True)
        names = np.array([f"{low:.3g} to {high:.3g}" for low, high in ranges], object)
        return names, self.sums[:, filled]


def segment_columns(segments: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """What columns are called in the result, and the columns, by argument."""
    named = column_names(segments)
    if named is None and not isinstance(segments, Mapping):
        if np.ndim(segments) == 2:
            raise ValueError(
                f"segments must be one column, (n,), found shape {np.shape(segments)}: pass "
                "several as a mapping of names to columns or as a data frame"
            )
        check_column("segments", segments)
        return {"segments": "segment"}, {"segments": segments}
    names = {f"segments[{name!r}]": name for name in (segments if named is None else named)}
    if not names:
        raise ValueError("segments has no column: pass at least one")
    columns = {argument: segments[name] for argument, name in names.items()}
    for argument, values in columns.items():
        check_column(argument, values)
    return {argument: str(name) for argument, name in names.items()}, columns


def segment_sums(
    rows: LabelledRows, similar: tuple[Array, Array] | None, owner: Array | None, g: Array, G: int
) -> Array:
    """Sums over the rows of each segment: of v, and of what follows from them, (15, G)."""

    def terms(at: slice) -> list[Array]:
        y, p, w, rate, v = rows.part(at)
        wy, vp = w * y, v * p
        stands: float | Array = 1.0  # the expected (v/w)^2
        if similar is not None:
            ends, true = similar
            pi = np.minimum(true[np.searchsorted(ends, p)] * p, 1.0)
            positive = pi / (pi + (1 - pi) * rate)  # the probability that a kept row is positive
            stands = positive + (1 - positive) / rate**2
        return [v, wy, vp, w * wy, w * wy * p, vp**2, w * vp, w * vp * p, (w * p) ** 2 * stands]

    pairs = np.zeros((6, G)) if owner is None else pair_sums(rows, owner, g, G)
    return np.append(rows.sums(g, G, terms), pairs, axis=0)


def pair_sums(rows: LabelledRows, owner: Array, g: Array, G: int) -> Array:
    """Sums over the pairs i, j of different rows of one group, (6, G), of y_i y_j, (y_i p_j + y_j
    p_i)/2 and p_i p_j, times both weights: i and j in the segment, then j anywhere."""
    wy, vp = rows.w * rows.y, rows.standing().w * rows.p
    both = rows.copies(wy), rows.copies(vp)
    cells, others = (_rows.sums_of_groups(x, owner, g, G) for x in both)
    a, b, where = cells.data, others.data, cells.indices
    whose = np.repeat(np.arange(len(cells.indptr) - 1, dtype=np.int32), np.diff(cells.indptr))
    every = [np.bincount(owner, x) for x in both]
    alone = rows.sums(g, G, lambda at: products(wy[at], vp[at], wy[at], vp[at]))
    inside = _rows.sums_by(where, G, lambda at: products(a[at], b[at], a[at], b[at]))
    anywhere = _rows.sums_by(
        where, G, lambda at: products(a[at], b[at], *(sums[whose[at]] for sums in every))
    )
    return np.append(inside - alone, anywhere - alone, axis=0)


def products(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array, Array]:
    return a * c, (a * d + b * c) / 2, b * d


def score_sums(sums: Array) -> tuple[Array, Array, Array, Array]:
    """A, B and the coefficients b, a of the variance V(u) = b u + a u^2 of each segment, from rows
    1 to 8 of :func:`segment_sums`, or 1 to 11. With few kept negatives, each standing for many
    rows, S is uncertain itself, and small where the ratio is off: it is at least what is expected.
    """
    A, B, E, C, S, wvp, wvpp, expected_S = sums[:8]
    B_or_1 = np.where(B > 0, B, 1.0)
    expected_e, expected_c = wvp / B_or_1, wvpp / B_or_1
    events = np.where(A + expected_e > 0, A + expected_e, 1.0)
    b = B * (E + expected_e**2) / events
    S = np.maximum(S, expected_S)
    a = S - 2 * B * (C + expected_e * expected_c) / events
    some = (A > 0) & (B > 0)
    R = np.divide(B, A, out=np.zeros(len(A)), where=some)  # as 1/u^2 may be more than a float holds
    a = np.where(some, np.maximum(a, R * (R * E) - 2 * R * C + S - R * b), a)
    if len(sums) > 8:  # pairs of rows of one group: at u = A/B as much as they vary, else with u^2
        yy, yp, pp = sums[8:]
        a = a + np.where(some, np.maximum(R * (R * yy) - 2 * R * yp + pp, 0.0), pp)
    return A, B, b, a


def score_limits(A: Array, B: Array, b: Array, a: Array, level: float) -> tuple[Array, Array]:
    """The ratios R between which A^2 R^2 - (2 A B + z^2 b) R + B^2 - z^2 a <= 0."""
    z2 = float(ndtri((1 + level) / 2)) ** 2
    linear = 2 * A * B + z2 * b
    constant = B**2 - z2 * a
    root = np.sqrt(np.maximum(linear**2 - 4 * A**2 * constant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.maximum(2 * constant / (linear + root), 0.0)
        high = (linear + root) / (2 * A**2)
    impossible = B == 0  # all predictions are 0: the ratio is 0, or without an outcome any
    low[impossible], high[impossible] = 0.0, np.where(A > 0, 0.0, np.inf)[impossible]
    return low, high


def score_test(A: Array, B: Array, b: Array, a: Array) -> Array:
    """Two-sided p-value of R = 1."""
    V = np.maximum(b + a, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(A - B) / np.sqrt(V)
    return np.asarray(2 * ndtr(-np.where(A == B, 0.0, z)))


def rest_test(sums: Array) -> tuple[Array, Array]:
    """The ratio of all rows outside each segment, and the p-value of the same ratio inside, or nan.
    D = A_s - u B_s, u of all rows, is (1-k) (A_s - u B_s) - k (A_r - u B_r), k the share of B."""
    every = sums.sum(axis=1, keepdims=True)
    A, B, b, a = score_sums(sums[:8])
    A_r, B_r, b_r, a_r = score_sums(np.maximum(every - sums, 0)[:8])
    if sums.shape[1] == 1:
        return np.full(1, np.nan), np.full(1, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = B_r / A_r
    A_all, B_all = every[0, 0], every[1, 0]
    if B_all == 0:
        return ratio, np.ones(len(A))
    u, k = A_all / B_all, B / B_all
    inside, across, everywhere = sums[8:11], sums[11:14], every[11:14]
    yy, yp, pp = inside - 2 * k * across + k**2 * everywhere
    pairs = np.maximum(yy - 2 * u * yp + u * (u * pp), 0.0)  # what those of one group add
    V = (1 - k) ** 2 * u * (b + u * a) + k**2 * u * (b_r + u * a_r) + pairs
    chance = 1.0 * (np.abs(A - u * B) <= 1e-12 * A_all)  # sums round
    some = (chance == 0) & (V > 0) & (k > 0) & (k < 1)
    chance[some] = shares_test(A[some], A_all, k[some], V[some])
    return ratio, chance


def shares_test(A: Array, A_all: float, k: Array, V: Array) -> Array:
    """Two-sided p-value of outcomes A out of A_all where the share k is expected, with variance V:
    the larger of that of the normal distribution and that of A/e as a binomial number of A_all/e
    trials, e = V/(A_all k (1-k)), which has the skewness of few rare outcomes."""
    N = A_all**2 * k * (1 - k) / V
    X = np.minimum(N * (A / A_all), N)
    binomial = 2 * np.minimum(tail(X, N, k), tail(N - X, N, 1 - k))
    return np.asarray(np.clip(binomial, 2 * ndtr(-np.abs(A - k * A_all) / np.sqrt(V)), 1.0))


def tail(X: Array, N: Array, k: Array) -> Array:
    """The probability of more than X successes in N trials, and half that of X."""
    at_least = np.where(X > 0, betainc(np.maximum(X, TINY), N - X + 1, k), 1.0)
    return (at_least + np.where(X < N, betainc(X + 1, np.maximum(N - X, TINY), k), 0.0)) / 2


def holm(p_value: Array) -> Array:
    """Adjusted so that one mistake among all that are below a level has that probability."""
    order = np.argsort(p_value)  # nan last
    m = np.count_nonzero(~np.isnan(p_value))
    least = np.maximum(m - np.arange(len(order)), 1) * p_value[order]
    found = np.empty_like(p_value)
    found[order] = np.minimum(np.maximum.accumulate(least), 1.0)
    return found


def benjamini_hochberg(p_value: Array) -> Array:
    """Adjusted so that of all that are below a level this share is mistaken on average."""
    from scipy.stats import false_discovery_control

    found = np.full_like(p_value, np.nan)
    known = ~np.isnan(p_value)
    found[known] = false_discovery_control(p_value[known])
    return found
