"""Inductive Venn-Abers calibrator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.rows import LabelledRows, check_weights_count_rows
from gbdt_objectives.calibration.venn_abers import find_venn_abers
from gbdt_objectives.estimators._base import check_score
from gbdt_objectives.estimators.calibrators import Calibrator, read_probabilities, read_rising


class VennAbersCalibrator(Calibrator):
    """Calibrator by two isotonic fits for each score, one for each label that the score might have.

    ::

        p = p_1 / (1 - p_0 + p_1)

    where p_l is the isotonic regression, at the score, of the rows of ``fit`` and one more row of
    that score, label l and weight 1. Whatever the model and the population, one of p_0 and p_1 is
    calibrated; how far they are apart says how much the rows know. Unlike an isotonic fit, p is
    never exactly 0 or 1.

    Attributes
    ----------
    scores_ : ndarray of shape (B,)
        The rising scores at which p_0 or p_1 changes.
    lower_, upper_ : ndarray of shape (B+1,)
        p_0 and p_1 below, between and above these scores. At a score itself p_0 has the value
        above it and p_1 the value below it.

    Notes
    -----
    Any finite score will do: only its order counts. Weights count rows, since the row that is
    added has weight 1. The further p_0 and p_1 are apart, the more p is drawn to 1/2: with few
    positives it is too high.

    References
    ----------
    Vovk & Petej (2014), "Venn-Abers predictors", UAI; Vovk, Petej & Fedorova (2015),
    "Large-scale probabilistic predictors with and without guarantees of validity", NeurIPS.

    Examples
    --------
    >>> from gbdt_objectives.estimators import VennAbersCalibrator
    >>> score = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> calibrator = VennAbersCalibrator().fit(score, [0, 0, 1, 0, 0, 1, 1, 1])
    >>> calibrator.predict([1.5, 4, 9]).round(4)
    array([0.2857, 0.4   , 0.8   ])
    >>> calibrator.interval([4, 9]).round(4)
    array([[0.25, 0.5 ],
           [0.75, 1.  ]])
    """

    _saved: ClassVar = {
        "scores": read_rising,
        "lower": read_probabilities,
        "upper": read_probabilities,
    }

    def _fit(self, rows: LabelledRows) -> None:
        positive = float(rows.w @ rows.y)
        check_weights_count_rows(min(positive, float(rows.w.sum()) - positive))
        found = find_venn_abers(rows)
        self.scores_, self.lower_, self.upper_ = found.scores, found.lower, found.upper

    def _bounds(self, score: Array) -> tuple[Array, Array]:
        below = np.searchsorted(self.scores_, score)
        on = np.append(self.scores_, np.inf)[below] == score
        return self.lower_[below + on], self.upper_[below]

    def _probability(self, score: Array) -> Array:
        lower, upper = self._bounds(score)
        p: Array = upper / (1 - lower + upper)
        return p

    def interval(self, score: ArrayLike) -> Array:
        """Return p_0 <= p_1 at each score, float64 (n, 2), between which ``predict`` lies.

        They are no confidence interval, but two probabilities, one of which is calibrated.

        Parameters
        ----------
        score : array-like of shape (n,) or (n, 1)
            Scores on the scale that ``fit`` saw.
        """
        check_is_fitted(self)
        return np.column_stack(self._bounds(check_score(score)))

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
