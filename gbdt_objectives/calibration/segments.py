"""Mean prediction over mean outcome, segment by segment, with its uncertainty.

Symbols: y, p and w a row's label, probability and weight, r the rate at which negatives like
it were kept, v = w for a positive and w/r for a negative: what the row stands for. Within a
segment A = sum v y, B = sum v p, R = B/A its ratio, u = 1/R.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._order import in_order
from gbdt_objectives.calibration.bins import Strategy, bin_numbers, bin_sums
from gbdt_objectives.calibration.rows import LabelledRows, downsampled_rows, label_1_rows
from gbdt_objectives.calibration.table import table

SIMILAR = 15
"""Groups of similar predictions."""


@dataclass(frozen=True, eq=False, repr=False)
class SegmentRatios:
    """Calibration ratios of segments; made by :func:`calibration_ratio_by_segment`.

    A line per segment, G in all; ``pandas.DataFrame(vars(ratios))`` makes a frame of them.

    Attributes
    ----------
    column : ndarray of shape (G,)
        The name of the column that a segment belongs to.
    segment : ndarray of shape (G,)
        Its value in that column, or the lowest and the highest prediction of a bin.
    weight : ndarray of shape (G,)
        How many rows the segment stands for: their total weight.
    probability, frequency : ndarray of shape (G,)
        Mean prediction, mean outcome.
    ratio : ndarray of shape (G,)
        The first over the second: inf without an outcome, nan if the prediction is 0 as well.
    low, high : ndarray of shape (G,)
        Confidence limits of the ratio; ``high`` is inf without an outcome.
    p_value : ndarray of shape (G,)
        Of the hypothesis that the ratio is 1; it is below 1 - confidence_level exactly where the
        limits exclude 1.
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

    def __repr__(self) -> str:
        columns = {**vars(self), "segment": np.array([_word(value) for value in self.segment])}
        if (self.column == self.column[0]).all():
            del columns["column"]
        return f"SegmentRatios: {len(self.segment)} segments\n{table(**columns)}"


@in_order
def calibration_ratio_by_segment(
    y_true: ArrayLike,
    probability: ArrayLike,
    segments: Literal["prediction"] | ArrayLike | Mapping[Any, ArrayLike],
    *,
    n_bins: int = 10,
    strategy: Strategy = "events",
    negative_keep_rate: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> SegmentRatios:
    """Mean prediction over mean outcome in each segment, with confidence limits and p-value.

    ::

        R = sum v p / sum v y,   v = w for label 1, w / negative_keep_rate for label 0

    The limits enclose every ratio R = 1/u that a score test does not reject, as Wilson's do::

        (A - B u)^2 <= z^2 V(u),   V(u) = u B e - u^2 (2 B c - S),

    A = sum v y, B = sum v p, e = sum w^2 y / A, c = sum w^2 y p / A, S = sum v^2 p^2: the variance
    of A - B u over samples of rows, in which e and c are taken from the observed events and from
    one more as the predictions expect it (where that lowers V at u = A/B, from the observed events
    alone). It trusts the probabilities for their mean only, as
    those of a fitted model are often too extreme, and it stays sound with few events or none:
    without an outcome the ratio is inf, above a finite lower limit. Where negatives were dropped S
    is at least what the outcomes of similar predictions, in any segment, let expect. Measured in
    ``experiments/calibration_coverage``.

    Of 20 segments one is beyond its 95 % limits by chance.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels 0 and 1. Segments, or all rows, may be without label 1.
    probability : array-like of shape (n,)
        Of label 1 in the full population. For one of several classes pass ``y_true == label``
        and its column.
    segments : array-like of shape (n,), mapping or data frame of such, or "prediction"
        The segment of each row, of any type but float NaN; categories stay in their order.
        Several columns by name: each on its own, one after the other. "prediction": bins of
        the prediction, with ``n_bins=1`` all rows together.
    n_bins, strategy
        Of "prediction", as in :func:`expected_calibration_error`. "events" gives each bin the same
        expected number of outcomes, so that all are about equally certain.
    negative_keep_rate : float or array-like of shape (n,), optional
        In (0, 1]: the rows are a sample in which each negative was kept at this rate (of its row:
        the rate of every row is needed, positives too), and weights do not count that yet. None:
        all were kept.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0. In the ratio w means the same as w copies of the row. In limits and
        p-values a row counts as one, however much it weighs.
    confidence_level : float in (0, 1)
        Of the limits.

    Returns
    -------
    SegmentRatios
        Prints as a table; arrays ``column``, ``segment``, ``weight``, ``probability``,
        ``frequency``, ``ratio``, ``low``, ``high``, ``p_value``.

    Raises
    ------
    ValueError
        Labels other than 0 and 1, probabilities outside [0, 1] or (n, K), missing segments, a
        rate outside (0, 1], lengths that differ, bad bins, weights or confidence level.
    TypeError
        Segments of mixed types.

    See Also
    --------
    calibration_ratio : The ratio of all rows.

    References
    ----------
    He et al. (2014), "Practical lessons from predicting clicks on ads at Facebook", section 3,
    for the ratio; Wilson (1927), Journal of the American Statistical Association 22(158), for
    limits from a score test.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import calibration_ratio_by_segment
    >>> rng = np.random.default_rng(0)
    >>> country = rng.choice(["AT", "CH", "DE"], 20_000, p=[0.1, 0.01, 0.89])
    >>> p = rng.beta(1, 99, 20_000)
    >>> y = rng.random(20_000) < p * np.where(country == "AT", 0.5, 1)
    >>> calibration_ratio_by_segment(y, p, country)
    SegmentRatios: 3 segments
     segment    weight  probability  frequency     ratio       low      high   p_value
          AT      2034      0.01031   0.004425     2.329     1.236     4.417  0.007841
          CH       171      0.01004     0.0117    0.8584    0.2471     3.118    0.8271
          DE  1.78e+04     0.009959   0.009609     1.036    0.8938     1.202    0.6365
    """
    level = _checks.confidence_level("confidence_level", confidence_level, usual=0.95)
    own = label_1_rows(y_true, probability, sample_weight)
    rows, r = downsampled_rows(own, negative_keep_rate)
    columns: list[tuple[str, Array, Array]] = []
    if isinstance(segments, str):
        _checks.choice("segments", segments, ("prediction",))
        columns.append(("prediction", *_prediction_bins(rows, n_bins, strategy)))
    else:
        for name, values in named_columns(segments):
            argument = "segments" if name is None else f"segments[{name!r}]"
            found, g = distinct_segments(values, rows.given, argument)
            columns.append(("segment" if name is None else str(name), found, g[rows.kept]))
    stands = expected_standing(rows, r)
    lines = [_fields(name, found, g, own, rows.w, stands, level) for name, found, g in columns]
    return SegmentRatios(*(np.concatenate(parts) for parts in zip(*lines, strict=True)))


def named_columns(segments: Any) -> list[tuple[Any, Any]]:
    """Columns by name; None names the only one."""
    if isinstance(segments, Mapping):
        names = list(segments)
    elif hasattr(segments, "columns"):
        names = list(segments.columns)
    else:
        if np.ndim(segments) == 2:
            raise ValueError(
                f"segments must be one column, (n,), found shape {np.shape(segments)}: pass "
                "several as a mapping of names to columns or as a data frame"
            )
        return [(None, segments)]
    if not names:
        raise ValueError("segments has no column: pass at least one")
    return [(name, segments[name]) for name in names]


def distinct_segments(values: Any, n: int, argument: str) -> tuple[Array, Array]:
    """The values of a column, categories in their own order, and the number of each row's."""
    _checks.not_dask(argument, values)
    category = getattr(values, "cat", values)
    if not (hasattr(category, "categories") and hasattr(category, "codes")):
        return _checks.distinct_groups(values, n, argument)
    codes = np.asarray(category.codes).astype(np.intp)
    _checks.same_length(argument, codes, "the labels", n)
    if (codes < 0).any():
        raise ValueError(
            f"{argument} must not be missing, found a row without a category at row "
            f"{int(np.argmax(codes < 0))}: give such rows a category, or leave them out"
        )
    return np.asarray(category.categories), codes


def _prediction_bins(rows: LabelledRows, n_bins: int, strategy: Strategy) -> tuple[Array, Array]:
    """What bins of the prediction are called, and the bin of each row."""
    b = bin_numbers(rows, n_bins, strategy)
    return bin_names(*bin_ranges(rows.p, b, 0)), b


def bin_ranges(p: Array, b: Array, B: int) -> tuple[Array, Array]:
    """The lowest and the highest prediction of each bin, of at least B bins; (1, 0) if empty."""
    B = max(B, int(b.max(initial=-1)) + 1)
    low, high = np.ones(B), np.zeros(B)
    np.minimum.at(low, b, p)
    np.maximum.at(high, b, p)
    return low, high


def bin_names(low: Array, high: Array) -> Array:
    """What bins of the prediction are called."""
    return np.array([f"{l:.3g} to {h:.3g}" for l, h in zip(low, high, strict=True)])


def _fields(
    name: str, found: Array, g: Array, rows: LabelledRows, v: Array, stands: Array, level: float
) -> tuple[Array, ...]:
    """Those of SegmentRatios, for the segments that occur in ``g``."""
    filled, g = np.unique(g, return_inverse=True)
    values = np.empty(len(found), object)
    values[:] = list(found) if found.dtype.kind in "mM" else found.tolist()
    unit = float(rows.w.mean())
    sums = row_sums(rows.y, rows.p, rows.w / unit, v / unit, stands, g)
    return fields_of_sums(name, values[filled], np.bincount(g, v), sums, unit, level)


def fields_of_sums(
    name: str, values: Array, W: Array, sums: Array, unit: float, level: float
) -> tuple[Array, ...]:
    """Those of SegmentRatios; ``sums`` are :func:`row_sums` of weights in units of ``unit``."""
    found = score_sums(sums)
    low, high = score_limits(found, level)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = found.B / found.A
    return (
        np.full(len(values), name, object),
        values,
        W,
        found.B * (unit / W),
        found.A * (unit / W),
        ratio,
        low,
        high,
        score_test(found),
    )


def expected_standing(rows: LabelledRows, r: Array) -> Array:
    """The mean of (v/w)^2 of rows of the same prediction, 1 or 1/r^2 by the label.

    From p, corrected by the outcomes (and one more as expected) of similar predictions.
    """
    if not (r < 1).any():
        return np.ones(len(r))
    b = bin_numbers(rows, SIMILAR, "events")
    _, p, y = bin_sums(rows, b, 0)
    return standing_of(rows.p, r, true_ratio(y, p, float(rows.w.mean()))[b])


def true_ratio(y: Array, p: Array, one: float) -> Array:
    """Outcomes over predictions of bins, given their sums and the weight of a row."""
    ratio: Array = (y + one) / (p + one)
    return ratio


def standing_of(p: Array, r: Array, true: Array) -> Array:
    """Of rows with these predictions, rates, and true ratios."""
    pi = np.minimum(true * p, 1.0)
    kept = pi / (pi + (1 - pi) * r)  # the probability that a kept row is positive
    found: Array = kept + (1 - kept) / r**2
    return found


class ScoreSums(NamedTuple):
    """Of each segment: A, B, and b, a of the variance V(u) = b u + a u^2."""

    A: Array
    B: Array
    b: Array
    a: Array


DEGREES = np.array([1, 1, 2, 2, 2, 2, 2, 2])
"""How many weights are multiplied in each of :func:`row_sums`."""


def row_sums(y: Array, p: Array, w: Array, v: Array, stands: Array, g: Array) -> Array:
    """Sums over the rows of the segments 0 to max(g), which all occur: (8, G), which add up.

    ``stands``: what is expected of (v/w)^2.
    """
    wy, vp = w * y, v * p
    terms = (wy, vp, w * wy, w * wy * p, vp**2, w * vp, w * vp * p, (w * p) ** 2 * stands)
    return np.array([np.bincount(g, x) for x in terms])


def score_sums(sums: Array) -> ScoreSums:
    """Of segments with these :func:`row_sums`.

    Of few kept negatives, each standing for many rows, S itself is uncertain, and small where
    the ratio is off: it is at least what is expected.
    """
    A, B, E, C, S, wvp, wvpp, expected_S = sums
    B_or_1 = np.where(B > 0, B, 1.0)
    u = A / B_or_1
    expected_e, expected_c = wvp / B_or_1, wvpp / B_or_1
    events = np.where(A + expected_e > 0, A + expected_e, 1.0)
    b = B * (E + expected_e**2) / events
    S = np.maximum(S, expected_S)
    a = S - 2 * B * (C + expected_e * expected_c) / events
    observed = E - 2 * u * C + u**2 * S
    a = np.maximum(a, np.divide(observed - u * b, u**2, out=a.copy(), where=(A > 0) & (B > 0)))
    return ScoreSums(A, B, b, a)


def score_limits(sums: ScoreSums, level: float) -> tuple[Array, Array]:
    """The ratios R between which A^2 R^2 - (2 A B + z^2 b) R + B^2 - z^2 a <= 0."""
    z2 = float(ndtri((1 + level) / 2)) ** 2
    A, B, b, a = sums
    linear = 2 * A * B + z2 * b
    constant = B**2 - z2 * a
    root = np.sqrt(np.maximum(linear**2 - 4 * A**2 * constant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.maximum(2 * constant / (linear + root), 0.0)
        high = (linear + root) / (2 * A**2)
    impossible = B == 0  # all predictions are 0: the ratio is 0, or without an outcome any
    low[impossible], high[impossible] = 0.0, np.where(A > 0, 0.0, np.inf)[impossible]
    return low, high


def score_test(sums: ScoreSums) -> Array:
    """Two-sided p-value of R = 1."""
    V = np.maximum(sums.b + sums.a, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(sums.A - sums.B) / np.sqrt(V)
    p_value: Array = 2 * ndtr(-np.where(sums.A == sums.B, 0.0, z))
    return p_value


def _word(value: Any) -> str:
    """A segment as text; dates without the time at midnight."""
    return str(np.datetime_as_string(value, "auto") if isinstance(value, np.datetime64) else value)
