"""Calibrator with a shift of the log-odds for each segment of rows, shrunk to none.

Symbols: y labels 0 and 1, w weights, g the segment of a row, z log-odds by the common calibrator in
the rows as they were sampled, b + d_g what is added; s the share of segments that moved, t the
deviation of their shifts u_g. For each segment r and h are the sums of w (y - p) and w p (1 - p).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._public import public
from gbdt_objectives._steps.steps import SavedAsJSON, Step, evaluate, read_number
from gbdt_objectives.calibration import rows as _rows
from gbdt_objectives.calibration.calibrator_choice import CANDIDATES, fit_default
from gbdt_objectives.calibration.calibrators import Calibrator, InterceptCalibrator
from gbdt_objectives.calibration.rows import LabelledRows
from gbdt_objectives.thresholds import SegmentShift

COMMON: dict[str, Any] = {
    kind.__name__: kind for kind in (InterceptCalibrator, *map(type, CANDIDATES))
}
DEVIATIONS = 0.05 * 2.0 ** np.arange(6)  # values of t; the likelihood is flat around the best
FARTHEST, STILL, ROUNDS = 2.0, 1e-9, 200  # steps in log-odds, and the most of them


@public
@dataclass(eq=False, repr=False)
class SegmentCalibrator(SavedAsJSON, BaseEstimator):  # type: ignore[misc]
    """Calibrator with one map for all rows, and a shift of log-odds for each segment.

    Use it for a model of any kind that is off in some segments, such as a country or a device.

    ::

        logit p' = logit m(p) + b + d_g,   d_g = P(g moved | rows) u_g

    m is the common map. A segment has moved with probability s, by a shift u that is normal with
    deviation t; s and t have the greatest marginal likelihood, by Laplace's method. So segments
    with little evidence of a move keep the common map. b makes the mean of p' in the rows of
    ``fit`` that of y. Probabilities that m makes exactly 0 and 1 do not change, nor count.

    Parameters
    ----------
    calibrator : calibrator, optional
        The common map, by a calibrator of this package of probabilities of label 1. None: the
        default of ``CalibratedClassifier``. ``InterceptCalibrator()``: the level alone.
    segment : str or int, optional
        Name or number of the column of X that holds the segments, where the calibrator is part of a
        model: in ``CalibratedClassifier``, ``ServedModel`` and ``export``.
    handle_unknown : {"error", "common"}
        Whether ``predict`` refuses segments without a row in ``fit``, or adds b alone.

    Attributes
    ----------
    calibrator_, shift_ : calibrator, float
        The common map m, and b.
    segment_shift_ : SegmentShift
        The shifts d. Its ``shrinkage`` is about the weight of rows that pulls the shift of a
        segment that moved half of the way to 0; ``inf`` if none is found to have moved.

    References
    ----------
    Robbins (1956), "An empirical Bayes approach to statistics", Berkeley Symposium; Tierney &
    Kadane (1986), JASA 81, for the likelihood; Johnstone & Silverman (2004), Annals of Statistics
    32, for shifts of which many are 0.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import SegmentCalibrator
    >>> rng = np.random.default_rng(0)
    >>> p, site = rng.beta(1, 4, 6_000), rng.choice(["east", "north", "west"], 6_000)
    >>> odds = p / (1 - p) * np.where(site == "west", 2, 1)
    >>> y = (rng.random(6_000) < odds / (1 + odds)).astype(int)
    >>> calibrator = SegmentCalibrator().fit(p, y, segments=site)
    >>> calibrator.predict([0.2, 0.2], segments=["east", "west"]).round(2)
    array([0.21, 0.34])
    """

    calibrator: Any = None
    _: KW_ONLY
    segment: str | int | None = None
    handle_unknown: Literal["error", "common"] = "error"

    _saved: ClassVar = {
        **dict.fromkeys(("calibrator", "segment", "segment_shift"), lambda key, value: value),
        "shift": read_number,
    }  # fmt: skip

    def fit(
        self, probability: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *,
        segments: ArrayLike, negative_keep_rate: float | None = None,
        keep_rate: ArrayLike | None = None, class_keep_rates: Mapping[Any, float] | None = None,
        groups: ArrayLike | None = None,
    ) -> SegmentCalibrator:  # fmt: skip
        """Fit on probabilities of rows the model was not trained on, such as out-of-fold ones.

        Parameters
        ----------
        probability : array-like of shape (n,)
            The model's probability of label 1 in the full population, of each kept row.
        y, sample_weight : array-like of shape (n,)
            As in ``LogitCalibrator.fit``; a segment may have rows of one label only.
        segments : array-like of shape (n,)
            The segment of each row: words, whole numbers, booleans or categories. There must be two
            at least unless ``handle_unknown="common"``.
        negative_keep_rate, keep_rate, class_keep_rates : optional
            How the rows were sampled, as in ``LogitCalibrator.fit``.
        groups : array-like of shape (n,), optional
            Whose row it is, where outcomes of one user, session or document may depend on each
            other: rows then count for less in the shifts, by the variance of the groups' sums.

        Raises
        ------
        ValueError, TypeError
            A single segment, missing or fractional ones; what the common calibrator refuses.
        """
        _checks.is_given(self, y)
        common, p = self._read_parameters(), read_probability(probability)
        rows = LabelledRows.of_scores("y", y, p, sample_weight)
        distinct, code = SegmentShift._read_segments(segments, rows.given, "the labels")
        owner = rows.owners(groups)
        rates: dict[str, Any] = {
            "negative_keep_rate": negative_keep_rate, "keep_rate": keep_rate,
            "class_keep_rates": class_keep_rates,
        }  # fmt: skip
        fit: Any = fit_default if common is None else clone(common).fit
        self.calibrator_ = fit(p, y, sample_weight, **rates)
        z = self._log_odds(rows.p) + _rows.sampling_offset(**rates, rows=rows)
        finite = np.isfinite(z)
        occurring, g = np.unique(code[rows.kept], return_inverse=True)
        if len(occurring) < 2 and self.handle_unknown == "error":
            raise ValueError(
                f"segments holds the single segment {shown(distinct[occurring].tolist())}: there "
                f"must be rows of two at least; for one {type(self.calibrator_).__name__} is enough"
            )
        uncertain = SegmentRows(rows.y, np.where(finite, z, 0.0), rows.w * finite, g)
        self.shift_, d, k = fit_shifts(uncertain, owner)
        self.segment_shift_ = SegmentShift(distinct[occurring], d, k, self.handle_unknown)
        return self

    def _read_parameters(self) -> Calibrator | None:
        _checks.choice("handle_unknown", self.handle_unknown, ("error", "common"))
        self._read_segment()
        common: Calibrator | None = self.calibrator
        by_probability = getattr(common, "input_space", "probability") == "probability"
        if common is not None and not (type(common) in COMMON.values() and by_probability):
            raise TypeError(
                f"calibrator must be of probabilities and one of {', '.join(COMMON)}, found "
                f"{shown(common)}: pass an instance, or None for the default"
            )
        return common

    def _read_segment(self) -> str | int | None:
        name = self.segment.item() if isinstance(self.segment, np.generic) else self.segment
        if name is not None and type(name) not in (str, int):
            raise TypeError(
                f"segment must be the name or number of a column of X, found {shown(name)}: pass "
                "the segments of rows to fit, as segments="
            )
        return name

    def _log_odds(self, p: Array) -> Array:
        return evaluate(p, self.calibrator_._step(), {"formula": "log_odds"})

    def predict(self, probability: ArrayLike, *, segments: ArrayLike) -> Array:
        """Return the probability of label 1 of each row, (n,), from that of the model."""
        check_is_fitted(self)
        p = read_probability(probability)
        d = self.segment_shift_._of_rows(segments, len(p), "probability")
        return evaluate(self._log_odds(p) + (self.shift_ + d), {"formula": "sigmoid"})

    def _column(self) -> str | int:
        """What the segments are called in X."""
        name = self._read_segment()
        if name is None:
            raise ValueError(
                "calibrator is a SegmentCalibrator that does not say where the segments are: write "
                'the name or number of a column of X, SegmentCalibrator(segment="country")'
            )
        return name

    def _steps(self) -> tuple[Step, ...]:
        """Formulas with their numbers, of which one reads the column of X."""
        own = {"column": self._column(), **self.segment_shift_._document()}
        d = {"formula": "segment_shift", **own}
        b = {"formula": "shift", "log_odds": self.shift_}
        log_odds, sigmoid = {"formula": "log_odds"}, {"formula": "sigmoid"}
        return self.calibrator_._step(), log_odds, b, d, sigmoid

    def _values(self) -> list[Any]:
        common, shifts = self.calibrator_._document(), self.segment_shift_._document()
        return [common, self._read_segment(), shifts, self.shift_]

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> SegmentCalibrator:
        document = data["calibrator"]
        name = str(document.get("format") if isinstance(document, dict) else "").split("/")[0]
        name = name.removeprefix("gbdt_objectives.")
        if name not in COMMON:
            raise ValueError(f"calibrator must be the JSON of one of {', '.join(COMMON)}")
        common = COMMON[name].from_json(json.dumps(document))
        shifts = SegmentShift.from_json(json.dumps(data["segment_shift"]))
        restored = cls(clone(common), segment=data["segment"], handle_unknown=shifts.handle_unknown)
        restored._read_parameters()
        restored.calibrator_, restored.shift_ = common, data["shift"]
        restored.segment_shift_ = shifts
        return restored


def read_probability(probability: ArrayLike) -> Array:
    _checks.in_memory("probability", probability)
    p: Array = _rows.label_1_columns(None, probability, None)["probability"]
    return _checks.probabilities("probability", p)


class Shifts(NamedTuple):
    """b, d (G,), and the weight of rows that pulls a shift to 0."""

    b: float
    d: Array
    k: float


def fit_shifts(rows: SegmentRows, owner: Array | None) -> Shifts:
    """The shifts; rows of owners count for less by the variance of their sums."""
    found = rows.fit()
    if owner is None or not rows.w.any():
        return found
    e = rows.y - expit(rows.z + (found.b + found.d)[rows.g])
    sums = _rows.sums_of_groups(rows.w * e, owner, rows.g, rows.G).data
    effect = float(sums @ sums) / float(rows.w @ e**2)
    return SegmentRows(rows.y, rows.z, rows.w / max(effect, 1.0), rows.g).fit()


class SegmentRows:
    """Rows with segments 0 to G-1, of weight 0 where probabilities are certain."""

    def __init__(self, y: Array, z: Array, w: Array, g: Array) -> None:
        self.y, self.z, self.w, self.g, self.G = y, z, w, g, int(g.max()) + 1

    def terms(self, shift: Array | float) -> tuple[Array, Array, Array]:
        """r, h and the log loss of each segment, (G,), at these shifts."""

        def of_rows(at: slice) -> list[Array]:
            y, w = self.y[at], self.w[at]
            m = self.z[at] + np.broadcast_to(shift, self.G)[self.g[at]]
            e = np.exp(-np.abs(m))
            p = np.where(m > 0, 1, e) / (1 + e)
            return [w * (y - p), w * e / (1 + e) ** 2, w * (np.maximum(m, 0) - m * y + np.log1p(e))]

        r, h, loss = _rows.sums_by(self.g, self.G, of_rows)
        return r, h, loss

    def fit(self) -> Shifts:
        """The shifts at the s and t of greatest marginal likelihood."""
        if not self.w.any():
            return Shifts(0.0, np.zeros(self.G), math.inf)
        b = InterceptCalibrator._find_shift(self.y, self.z, self.w)
        best, most = Shifts(b, np.zeros(self.G), math.inf), -self.terms(b)[2].sum()
        u = np.zeros(self.G)
        for t in DEVIATIONS:
            found, u, likelihood = self.fit_given(float(t), b, u)
            if likelihood > most and found.d.any():
                best, most = found, likelihood
        return best

    def fit_given(self, t: float, b: float, u: Array) -> tuple[Shifts, Array, float]:
        """The shifts at the best s, the modes u, and the log marginal likelihood. Bayes factors ::

        log F = loss(b) - loss(b + u) - u^2 / (2 t^2) - log(1 + t^2 h) / 2
        """
        for _ in range(ROUNDS):
            r, h, moved = self.terms(b + u)
            step = np.clip((t**2 * r - u) / (1 + t**2 * h), -FARTHEST, FARTHEST)
            stays = self.terms(b)[2]
            log_f = stays - moved - (u / t) ** 2 / 2 - np.log1p(t**2 * h) / 2
            s = best_share(log_f)
            posterior = expit(log_f + logit(s))
            d, follows = posterior * u, t**2 * h / (1 + t**2 * h)  # u follows b
            r, h_d, _ = self.terms(b + d)
            left = r.sum() - h_d @ (posterior * step)
            change = left / (h_d @ (1 - posterior * follows))
            change = float(np.clip(change, -FARTHEST, FARTHEST))
            if max(abs(change), np.abs(step).max()) < STILL:
                break
            b, u = b + change, u + step - follows * change
        with np.errstate(divide="ignore"):
            likelihood = np.logaddexp(np.log1p(-s), np.log(s) + log_f).sum() - stays.sum()
        k = float(self.w.sum() / h.sum()) / t**2
        return Shifts(b, d, k), u, float(likelihood)


def best_share(log_f: Array) -> float:
    """The s in [0, 1] at which the sum of log(1 - s + s F) is greatest."""
    from scipy.optimize import brentq

    F = np.expm1(np.minimum(log_f, 500))

    def slope(s: float) -> float:
        return float((F / (1 + s * F)).sum())

    if slope(0.0) <= 0:
        return 0.0
    most = 1 - 1e-9
    return 1.0 if slope(most) >= 0 else float(brentq(slope, 0, most, xtol=1e-14))
