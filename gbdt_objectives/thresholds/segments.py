"""Thresholds for each segment of rows, such as a site, shrunk to common ones: shifts of the score.

Symbols: y class positions, s score, g the segment of a row, w its weight, W that of a segment;
E[y|s,g] = alpha + beta s + delta_g, delta_g in classes, and d_g = delta_g / beta in score units; k
the weight of rows that pull d_g to 0, q = 1/k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import freeze, write_table
from gbdt_objectives._steps.steps import SavedAsJSON, read_number, read_numbers, read_one_of
from gbdt_objectives.thresholds import qwk
from gbdt_objectives.thresholds.rows import (
    ScoredRows,
    Thresholds,
    write_labels,
)

ROWS = 20  # below, thresholds stay common
GRID = 4.0 ** np.arange(-1, 6)  # values of k; the errors are flat around the best
LEVERAGE = 1 - 1e-9  # a row that pulls the line so far cannot be predicted from the others
ROUNDING = 1e-12  # a gain in squared classes that rounding may have made

HandleUnknown = Literal["error", "common"]


@public
@dataclass(frozen=True, eq=False, repr=False)
class SegmentShift(SavedAsJSON):
    """What is added to the scores of each segment, as :func:`fit_segment_shift` returns it.

    Segments that are repeated, missing or fractions, shifts that are not one finite number a
    segment, and a negative shrinkage raise ValueError or TypeError.

    Parameters
    ----------
    segments, shifts : array-like of shape (G,)
        The segments, each once, and what is added to their scores, in score units.
    shrinkage : float
        With how many rows' weight the shift of each segment is pulled to 0; ``inf`` makes all 0.
    handle_unknown : {"error", "common"}
        Whether scores of other segments are refused, or keep the common thresholds: shift 0.

    Examples
    --------
    >>> from gbdt_objectives.thresholds import SegmentShift
    >>> shift = SegmentShift(["east", "west"], [0.25, -0.25], shrinkage=4.0)
    >>> SegmentShift.from_json(shift.to_json()).apply([1.0, 1.0, 2.0], ["east", "west", "west"])
    array([1.25, 0.75, 1.75])
    """

    segments: Any
    shifts: Any
    shrinkage: float = 0.0
    handle_unknown: HandleUnknown = "error"

    def __post_init__(self) -> None:
        shifts = _checks.vector("shifts", self.shifts).astype(np.float64)
        segments, codes = SegmentShift._read_segments(self.segments, len(shifts), "the shifts")
        if len(segments) < len(shifts):
            repeated = segments[np.bincount(codes) > 1]
            raise ValueError(
                f"segments must be different from each other, found {shown(repeated.tolist())} "
                "more than once: list each segment once"
            )
        own = np.empty_like(shifts)
        own[codes] = shifts
        k = self.shrinkage
        k = math.inf if k == math.inf else _checks.number("shrinkage", k)
        if k < 0:
            raise ValueError(f"shrinkage must be a weight of rows >= 0, found {shown(k)}")
        freeze(self, segments=segments, shifts=own, shrinkage=k)
        _checks.choice("handle_unknown", self.handle_unknown, ("error", "common"))

    def __repr__(self) -> str:
        columns = write_table(segment=self.segments.astype(str), shift=self.shifts)
        return (
            f"SegmentShift: {len(self.segments)} segments, shrinkage {self.shrinkage:g}\n{columns}"
        )

    def apply(self, score: ArrayLike, segments: ArrayLike) -> Array:
        """``score`` plus the shift of each row's segment, float64 (n,), for the same thresholds.

        Segments that were not fitted are refused, unless ``handle_unknown="common"``, as are
        missing ones, NaN scores, columns of different lengths and Dask collections.
        """
        s = _checks.vector("score", score)
        return np.asarray(s.astype(np.float64) + self._of_rows(segments, len(s), "the scores"))

    def _of_rows(self, segments: ArrayLike, rows: int, other: str) -> Array:
        """The shift of each row, as many as ``other``, (n,)."""
        distinct, codes = SegmentShift._read_segments(segments, rows, other)
        known = {segment: k for k, segment in enumerate(keys(self.segments))}
        at = np.array([known.get(segment, -1) for segment in keys(distinct)], np.intp)
        if self.handle_unknown == "error" and (at < 0).any():
            unknown = distinct[at < 0].tolist()
            row = int(np.argmax(at[codes] < 0))
            raise ValueError(
                f"segments holds {shown(unknown[0] if len(unknown) == 1 else unknown)}, first at "
                f"row {row}, which the shifts of {shown(self.segments.tolist())} do not have: fit "
                "them on rows of all segments, or with handle_unknown='common' for what all rows "
                "have in common"
            )
        if (at < 0).any():
            own, other = keys(self.segments)[0], keys(distinct[at < 0])[0]
            try:
                own < other  # noqa: B015 # of another type all would seem unknown
            except TypeError:
                raise TypeError(
                    f"segments are {type(other).__name__}, such as {shown(other)}, but those of "
                    f"the shifts, {shown(own)}, are {type(own).__name__}: convert them first"
                ) from None
        return np.asarray(np.append(self.shifts, 0.0)[at][codes])

    _saved: ClassVar = dict.fromkeys(
        ("dtype", "segments", "shifts", "shrinkage", "handle_unknown"), lambda key, value: value
    )

    def _values(self) -> list[Any]:
        segments = write_labels(self.segments, "segments must be all numbers")
        return [*segments, self.shifts, self.shrinkage, self.handle_unknown]

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> SegmentShift:
        k = data["shrinkage"]
        return cls(
            Thresholds._read_labels(data["segments"], data["dtype"], "segments"),
            read_numbers("shifts", data["shifts"]),
            math.inf if k == "inf" else read_number("shrinkage", k),
            read_one_of("error", "common")("handle_unknown", data["handle_unknown"]),
        )

    @staticmethod
    def _read_segments(segments: Any, rows: int, other: str) -> tuple[Array, Array]:
        """The segments that occur and the number of each row's, as long as ``other``."""
        _checks.in_memory("segments", segments)
        listed, code, _ = _checks.distinct_segments(segments, rows, "segments", other)
        occurring, code = np.unique(code, return_inverse=True)
        distinct = np.array(listed[occurring])
        fractions = [isinstance(x, float) and not x.is_integer() for x in keys(distinct)]
        if any(fractions):
            row = int(np.argmax(np.array(fractions)[code]))
            raise ValueError(
                f"segments must be words or whole numbers, found {distinct[code[row]]} at row "
                f"{row}: cut numbers into bins first, and pass scores in their own place"
            )
        return distinct, code


@public
def fit_segment_shift(
    y_true: ArrayLike, score: ArrayLike, segments: ArrayLike, *, labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None, handle_unknown: HandleUnknown = "error",
) -> SegmentShift:  # fmt: skip
    """Shifts of the score by segment, so that the same thresholds fit in every one of them.

    Use it where sites, sources or prompts grade differently at equal scores: QWK is one number of
    all rows, so its thresholds lie where E[y|s,g] passes the same levels in each segment.

    ::

        E[y|s, g] = alpha + beta (s + d_g)
        d_g = W / (W + k) times the mean of (y - alpha - beta s) / beta in segment g, of weight W

    ``k`` is the one of 1/4, 1, 4, ... 1024 with the least squared error when each row is left out
    in turn, or infinite if that is not better than common thresholds by more than one standard
    error. Rows whose expected class is beyond the outer ones say nothing of a shift and are left
    out, and of fewer than 20 others nothing is fitted.

    Parameters
    ----------
    y_true, labels
        As in :func:`optimize_thresholds`.
    score : array-like of shape (n,)
        Finite, rising with the class; out-of-fold: what a model has learned is not in shifts.
    segments : array-like of shape (n,)
        The segment of each row, two at least: words, whole numbers, booleans, dates or categories.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0; w means the same as w copies of the row, and their sum is the number of rows.
        A weight above 1 is left out by one copy.
    handle_unknown : {"error", "common"}
        Whether ``apply`` refuses segments without a row here, or leaves them the common thresholds.

    Returns
    -------
    SegmentShift
        ``segments``, rising, ``shifts`` in score units, which sum to 0, and the ``shrinkage`` k.

    Raises
    ------
    ValueError, TypeError
        A single segment, missing or fractional ones; scores that are all equal or fall as the class
        rises; Dask collections; what :func:`optimize_thresholds` refuses.

    References
    ----------
    Henderson (1975), Biometrics 31(2), for shrinkage by segment; Allen (1974), Technometrics 16(1),
    for errors of rows that are left out, in closed form.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.thresholds import fit_segment_shift
    >>> rng = np.random.default_rng(0)
    >>> site = rng.choice(["east", "north", "west"], 600)
    >>> score = rng.normal(3.0, 1.0, 600)
    >>> strict = np.where(site == "west", -0.6, 0.3)  # at equal scores, the west grades lower
    >>> y = np.rint(score + strict + rng.normal(0, 0.5, 600)).clip(1, 5).astype(int)
    >>> fit_segment_shift(y, score, site)
    SegmentShift: 3 segments, shrinkage 1
     segment     shift
        east    0.2869
       north    0.2841
        west    -0.571
    """
    _checks.choice("handle_unknown", handle_unknown, ("error", "common"))
    for name, values in (("y_true", y_true), ("score", score)):
        _checks.in_memory(name, values)
    s, position, w, order = ScoredRows.read_columns(y_true, score, labels, sample_weight)
    distinct, code = SegmentShift._read_segments(segments, len(s), "the labels")
    rows = ScoredRows.sort(s, position, w, order, keep_order=True)
    occurring, code = np.unique(code[rows.order], return_inverse=True)
    distinct = distinct[occurring]
    if len(distinct) < 2:
        raise ValueError(
            f"segments holds the single segment {shown(distinct[0])}: there must be rows of at "
            "least two segments; without, optimize_thresholds needs the score alone"
        )
    shifts, k = segment_shifts(rows, code)
    return SegmentShift(distinct, shifts, k, handle_unknown)


def keys(distinct: Array) -> list[Any]:
    """Segments as Python's own values, and times as they are, which compare in any unit."""
    return list(distinct) if distinct.dtype.kind in "mM" else distinct.tolist()


def segment_shifts(rows: ScoredRows, code: Array) -> tuple[Array, float]:
    """The shift of each segment in score units, (G,), and the k chosen; ``code``: of rows."""
    curve, G = rows.label_curve, int(code.max()) + 1
    if curve.score[0] == curve.score[-1]:
        raise ValueError(
            f"score is {curve.score[0]} in every row: pass the model's scores, which tell classes "
            "apart"
        )
    otherwise = "leave the segments out, as scores that tell nothing of the class have no shift"
    _, starts = qwk.check_score_rises(curve, otherwise)
    line = qwk.fit_bounded_line(curve, starts)
    i = slice(*qwk.range_within(rows, line))
    u = (rows.score[i].astype(np.float64) - line.origin) / line.spread
    w = np.ones(len(u)) if rows.weight is None else rows.weight[i].astype(np.float64)
    if w.sum() < ROWS or u.min() == u.max():
        return np.zeros(G), math.inf
    fit = choose_segment_fit(SegmentedRows(rows.position[i].astype(np.float64), u, code[i], w, G))
    return fit.delta * (line.spread / fit.beta) + 0.0, fit.k  # and no -0


@dataclass(frozen=True, eq=False)
class SegmentFit:
    """alpha, beta and delta of some k, and the errors of rows predicted without them, (n,)."""

    k: float
    alpha: float
    beta: float
    delta: Array
    errors: Array
    leverage: Array


class SegmentedRows:
    """Rows of a line with segments: y, s, w (n,), g (n,) in 0..G-1; W, s_mean, y_mean (G,)."""

    def __init__(self, y: Array, s: Array, g: Array, w: Array, G: int) -> None:
        self.y, self.s, self.g, self.w, self.G = y, s, g, w, G
        self.W = self.sums(w)
        held = np.where(self.W > 0, self.W, 1.0)
        self.s_mean, self.y_mean = self.sums(w * s) / held, self.sums(w * y) / held
        s_within = s - self.s_mean[g]
        self.ss = float(w * s_within @ s_within)
        self.sy = float(w * s_within @ (y - self.y_mean[g]))

    def sums(self, values: Array) -> Array:
        """Over the rows of each segment, (G,)."""
        return np.bincount(self.g, values, minlength=self.G).astype(np.float64)

    def fit(self, k: float) -> SegmentFit:
        """Least squares of y on alpha + beta s + delta_g, with k sum delta_g^2 on top: segment
        means count with v = W k/(W+k). Without one copy of row i, or all of it if its weight m is
        below 1, its error is e/(1 - m h), h = z' A^-1 z, A the normal matrix."""
        W, s_mean, y_mean = self.W, self.s_mean, self.y_mean
        q = 1 / k
        v, pull = W / (1 + q * W), q * W / (1 + q * W)
        V = v.sum()
        s_0, y_0 = v @ s_mean / V, v @ y_mean / V
        D = self.ss + v @ (s_mean - s_0) ** 2
        beta = (self.sy + v @ ((s_mean - s_0) * (y_mean - y_0))) / D
        delta = pull * (y_mean - y_0 - beta * (s_mean - s_0))
        g, away = self.g, self.s - s_0
        h = (q / (1 + q * W) + (1 - pull) ** 2 / V)[g]
        h += (away - (pull * (s_mean - s_0))[g]) ** 2 / D
        leverage = np.minimum(self.w, 1.0) * h
        e = self.y - y_0 - beta * away - delta[g]
        e /= np.maximum(1 - leverage, 1 - LEVERAGE)
        return SegmentFit(k, float(y_0 - beta * s_0), float(beta), delta, e, leverage)


def choose_segment_fit(rows: SegmentedRows) -> SegmentFit:
    """The fit of the least squared error without the row, if it is less than that of common
    thresholds by more than a standard error; else theirs. Rows of a segment share its mean, so the
    variance of the sum of gains is twice that of independent ones."""
    best = common = rows.fit(math.inf)
    w = rows.w * (common.leverage < LEVERAGE)
    n = w.sum()
    if not n:
        return common
    most = ROUNDING
    for k in GRID:
        fit = rows.fit(float(k))
        if not fit.beta > 0:
            continue
        gains = common.errors**2 - fit.errors**2
        mean = w @ gains / n
        if mean > max(most, math.sqrt(2 * (w @ (gains - mean) ** 2 / n) / n)):
            best, most = fit, mean
    return best
