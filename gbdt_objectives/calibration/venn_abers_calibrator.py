"""Inductive Venn-Abers calibrator: the isotonic fit with one row added, for every place at once.

Symbols: d distinct scores, rising; P_b and N_b the weight of label 1 and of label 0 at the lowest b
of them, b = 0..d; the hull: the lower convex hull of (N_b, P_b), with isotonic segments as edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import from_zero
from gbdt_objectives._steps.steps import Step, correct_positives, evaluate, read_number
from gbdt_objectives.calibration import calibrators
from gbdt_objectives.calibration.hull import area, find_segment_ends
from gbdt_objectives.calibration.rows import LabelledRows, check_weights_count_rows, group_ties


@public
class VennAbersCalibrator(calibrators.Calibrator):
    """Calibrator by two isotonic fits for each score, one for each label that the score might have.

    Use it where the map from score to probability has jumps, or where you want p_0 and p_1.

    ::

        p = p_1 / (1 - p_0 + p_1)

    where p_l is the isotonic regression, at the score, of the rows of ``fit`` and one more row of
    that score, label l and weight 1. Whatever the model and the population, one of p_0 and p_1 is
    calibrated. The further they are apart, the less the rows know, and the more p, which is never
    exactly 0 or 1, is drawn to 1/2: with few positives it is too high. Any finite score will do:
    only its order counts. Weights count rows, since the row that is added has weight 1. Where only
    some negatives were kept, p_0, p_1 and p are found in the sample, and then corrected as by
    ``correct_probability``. Rates that differ by row are refused.

    Attributes
    ----------
    scores_ : ndarray of shape (B,)
        The rising scores at which p_0 or p_1 changes.
    lower_, upper_ : ndarray of shape (B+1,)
        p_0 and p_1 below, between and above these scores, among the rows that were kept. At a score
        itself p_0 has the value above it and p_1 the value below it.
    shift_ : float
        Added to log-odds in the sample: the logarithm of the rate of negatives.

    References
    ----------
    Vovk & Petej (2014), "Venn-Abers predictors", UAI; Vovk, Petej & Fedorova (2015), NeurIPS.

    Examples
    --------
    >>> from gbdt_objectives.calibration import VennAbersCalibrator
    >>> score = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> calibrator = VennAbersCalibrator().fit(score, [0, 0, 1, 0, 0, 1, 1, 1])
    >>> calibrator.predict([1.5, 4, 9]).round(4)
    array([0.2857, 0.4   , 0.8   ])
    >>> calibrator.interval([4, 9]).round(4)
    array([[0.25, 0.5 ],
           [0.75, 1.  ]])
    """

    def __init__(self) -> None:
        """Take no parameters; a call with some is answered with a remedy, as this exists."""

    _takes_one_rate = True
    _saved: ClassVar = {
        "scores": calibrators.read_rising, "lower": calibrators.read_probabilities,
        "upper": calibrators.read_probabilities, "shift": read_number,
    }  # fmt: skip
    _left_out: ClassVar = {"shift": 0.0}

    def _fit(self, rows: LabelledRows, offset: calibrators.Offset) -> None:
        self.shift_ = calibrators.one_shift(self, offset)
        positive = float(rows.w @ rows.y)
        check_weights_count_rows(min(positive, float(rows.w.sum()) - positive))
        _checks.not_classes("score", rows.p)
        distinct, *weights = group_ties(rows)
        calibrators.warn_if_falling(area(*weights))
        self.scores_, self.lower_, self.upper_ = find_venn_abers(distinct, *weights)

    def _step(self) -> Step:
        return self._table(lambda lower, upper: upper / (1 - lower + upper))

    def _table(self, p: Callable[[Array, Array], Array]) -> Step:
        """The step to a probability that p_0 and p_1 make, at each score and between them."""
        lower, upper = self.lower_, self.upper_
        at, between = p(lower[1:], upper[:-1]), p(lower, upper)
        if self.shift_:
            at, between = (correct_positives(q, self.shift_) for q in (at, between))
        numbers = {"at": at, "between": between, "rounding": 0.0}
        return {"formula": "table", "x": self.scores_, **numbers}

    def interval(self, score: ArrayLike) -> Array:
        """Return p_0 <= p_1 at each ``score``, float64 (n, 2), between which ``predict`` lies.

        They are no confidence interval, but two probabilities, one of which is calibrated.
        """
        s, both = self._read(score), (lambda lower, upper: lower, lambda lower, upper: upper)
        return np.column_stack([evaluate(s, self._table(p)) for p in both])

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> VennAbersCalibrator:
        scores = data["scores"]
        for key in ("lower", "upper"):
            p = data[key]
            if len(p) != len(scores) + 1:
                raise ValueError(
                    f"{key} must have one value more than scores, {len(scores) + 1}, found {len(p)}"
                )
            if (p[1:] < p[:-1]).any():
                raise ValueError(f"{key} must not fall: the text was changed")
        if (data["lower"] > data["upper"]).any():
            raise ValueError("lower must not exceed upper: the text was changed")
        return super()._restore(data)


def find_venn_abers(
    distinct: Array, positive: Array, negative: Array
) -> tuple[Array, Array, Array]:
    """The ``scores_``, ``lower_`` and ``upper_`` of the calibrator."""
    ends = find_segment_ends(positive, negative)
    d, P, N = len(distinct), from_zero(positive), from_zero(negative)
    n = P + N  # one added row moves the hull by 1 at most: segments may end at points so near to it
    a = np.flatnonzero(P - np.interp(n, n[ends], P[ends]) <= 1 + 1e-12 * n[-1])
    u = added_odds(P, N, ends, a)
    P_top, N_top = from_zero(positive[::-1]), from_zero(negative[::-1])
    v = added_odds(N_top, P_top, d - ends[::-1], d - a[::-1])  # labels and order reversed
    upper, lower = 1 / (1 + u), (v / (1 + v))[::-1]
    steps = np.unique(np.concatenate([a[1:] - 1, a[:-1]]))
    i = np.append(0, steps + 1)
    upper = upper[np.searchsorted(a, i, side="right") - 1]
    lower = lower[np.searchsorted(a, i)]
    changes = (upper[1:] != upper[:-1]) | (lower[1:] != lower[:-1])
    kept = np.append(True, changes)
    return distinct[steps[changes]].astype(np.float64), lower[kept], upper[kept]


def added_odds(P: Array, N: Array, ends: Array, a: Array) -> Array:
    """The odds (1 - p_1) / p_1 of a row of label 1 and weight 1, added where a scores are below it.

    In the isotonic fit with the row added where i are below ::

        p_1 = max_{a <= i} l_a,   l_a = min_{b >= a} (P_b - P_a + 1) / (n_b - n_a + 1)

    with n = P + N. Where l_a is the maximum, p_1 is at least the slope of the hull at i, so the
    minimum is at a vertex b of the hull. Along a convex chain the quotient falls, then rises:
    bisection over the vertices finds the minimum for all a together.
    """
    P_v, N_v = P[ends], N[ends]
    rise, run = np.diff(P_v), np.diff(N_v)
    P_a, N_a = P[a], N[a]
    low = np.searchsorted(ends, a)  # the first vertex b >= a
    high = np.full(len(a), len(ends) - 1)
    for _ in range(len(ends).bit_length()):
        middle = np.minimum((low + high) // 2, len(rise) - 1)
        rises = rise[middle] * (N_v[middle] - N_a) >= (P_v[middle] - P_a + 1) * run[middle]
        low, high = (
            np.where(rises | (low == high), low, middle + 1),
            np.where(rises & (low < high), middle, high),
        )
    return np.minimum.accumulate((N_v[low] - N_a) / (P_v[low] - P_a + 1))
