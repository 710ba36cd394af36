"""Calibrator by a rising smoothing spline."""

from __future__ import annotations

from typing import Any, ClassVar

from gbdt_objectives import _json
from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.rows import LabelledRows
from gbdt_objectives.calibration.spline import RisingSpline, fit_rising_spline
from gbdt_objectives.estimators.calibrators import (
    LogOddsCalibrator,
    read_input_space,
    rising_targets,
    warn_of_no_rise,
)


class SplineCalibrator(LogOddsCalibrator):
    """Calibrator by logistic regression on a smooth rising curve of the log-odds.

    ::

        logit p' = m(z),   m a cubic spline with slopes s_j >= 0, straight beyond its knots,
        sum_i w_i log loss_i + lambda sum_j (s_{j+1} - s_j)^2 / d_j   least

    where d_j is the distance of the places of two slopes, and lambda has the greatest marginal
    likelihood: the rows decide how much m bends, and with lambda large it is ``LogitCalibrator``.
    Use it for a model whose error has a shape that no formula of few parameters has. Probabilities
    of exactly 0 and 1 do not change and have no influence. Scores that separate the labels are
    fitted to Platt's targets (N_1 + 1)/(N_1 + 2) and 1/(N_0 + 2), N_i the weight of label i.

    Parameters
    ----------
    input_space : {"probability", "margin"}
        What ``score`` is: probabilities in [0, 1], or log-odds or any other score.

    Attributes
    ----------
    knots_ : ndarray of shape (k,)
        The knots in log-odds, at equal weights of rows; 12, or fewer if there are few scores.
    slopes_ : ndarray of shape (k+1,)
        The slopes s_j: differences of the spline's coefficients over those of their places
        (Greville's); all equal for a straight line.
    start_ : float
        The value of m at the first knot.

    Notes
    -----
    Weights count rows: twice the weight lets m bend more. ``fit`` refuses probabilities that are
    outside [0, 1], exactly 0 or 1 and wrong, or exactly 0 or 1 for all rows of one label; and
    scores that are all equal. It warns if all slopes are 0.

    References
    ----------
    Eilers & Marx (1996), "Flexible smoothing with B-splines and penalties", Statistical Science
    11; Wood (2011), "Fast stable restricted maximum likelihood and marginal likelihood
    estimation of semiparametric generalized linear models", JRSS B 73; Lucena (2018),
    "Spline-based probability calibration", arXiv 1809.07751.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.estimators import SplineCalibrator
    >>> z = np.random.default_rng(0).normal(-1, 1.5, 20_000)
    >>> y = (np.random.default_rng(1).random(20_000) < 1 / (1 + np.exp(-z))).astype(int)
    >>> score = 1 / (1 + np.exp(-z - 2 * np.tanh(z)))  # too sure in the middle
    >>> p = SplineCalibrator().fit(score[:10_000], y[:10_000]).predict(score[10_000:])
    >>> bool(np.abs(p - 1 / (1 + np.exp(-z[10_000:]))).max() < 0.05)
    True
    """

    _saved: ClassVar = {
        "input_space": read_input_space,
        "knots": _json.read_numbers,
        "slopes": _json.read_numbers,
        "start": _json.read_number,
    }

    def _fit(self, rows: LabelledRows) -> None:
        y, z, w = self._finite_rows(rows)
        spline = fit_rising_spline(z, rising_targets(y, z, w), w)
        self.knots_, self.slopes_, self.start_ = spline.knots, spline.slopes, spline.start
        if not self.slopes_.any():
            warn_of_no_rise("the fitted map is constant")

    def _map(self, z: Array) -> Array:
        return RisingSpline(self.knots_, self.slopes_, self.start_)(z)

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> SplineCalibrator:
        knots, slopes = data["knots"], data["slopes"]
        if len(knots) < 2 or (knots[1:] <= knots[:-1]).any():
            raise ValueError("knots must be two or more and rise: the text was changed")
        if len(slopes) != len(knots) + 1:
            raise ValueError(
                f"slopes must be one more than knots, {len(knots) + 1}, found {len(slopes)}"
            )
        if slopes.min() < 0:
            raise ValueError(f"slopes must not be negative, found {slopes.min():g}")
        return super()._restore(data)
