"""Calibrator by a beta map."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gbdt_objectives import _json
from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.likelihood import fit_logistic
from gbdt_objectives.calibration.rows import LabelledRows
from gbdt_objectives.estimators.calibrators import (
    LogOddsCalibrator,
    read_input_space,
    read_not_negative,
    rising_targets,
    warn_of_no_rise,
)


class BetaCalibrator(LogOddsCalibrator):
    """Calibrator by logistic regression on ln p and ln(1 - p): a beta map, three parameters.

    ::

        logit p' = a ln p - b ln(1 - p) + c,   a, b >= 0, c of greatest likelihood

    Use it for a model that errs more near 0 than near 1, or the reverse. With a = b it is
    ``LogitCalibrator``, with a = b = 1 and c = 0 the identity. Probabilities of exactly 0 and 1,
    and scores that separate the labels, are treated as in :class:`LogitCalibrator`.

    Parameters
    ----------
    input_space : {"probability", "margin"}
        What ``score`` is: probabilities in [0, 1], or log-odds.

    Attributes
    ----------
    a_, b_, c_ : float
        The numbers of the map.

    Notes
    -----
    ``fit`` refuses what :class:`LogitCalibrator` refuses, and fewer than three different scores,
    which do not tell a from b. It warns if a = b = 0. Beyond the scores of ``fit`` the formula goes
    on: rows that are all rare events do not tell b.

    References
    ----------
    Kull, Silva Filho & Flach (2017), "Beta calibration: a well-founded and easily
    implemented improvement on logistic calibration for binary classifiers", AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.estimators import BetaCalibrator
    >>> y = np.repeat([0, 1, 0, 1, 0, 1], [9, 1, 7, 3, 3, 7])
    >>> calibrator = BetaCalibrator().fit(np.repeat([0.1, 0.5, 0.9], 10), y)
    >>> calibrator.predict([0.1, 0.5, 0.7, 0.9]).round(4)
    array([0.1   , 0.3   , 0.4425, 0.7   ])
    """

    _saved: ClassVar = {
        "input_space": read_input_space,
        "a": read_not_negative,
        "b": read_not_negative,
        "c": _json.read_number,
    }

    def _fit(self, rows: LabelledRows) -> None:
        y, z, w = self._finite_rows(rows)
        target = rising_targets(y, z, w)
        if not ((z > z.min()) & (z < z.max())).any():
            raise ValueError(
                "score has fewer than three different values besides 0 and 1, which do not tell "
                "a from b: use LogitCalibrator"
            )
        self.a_, self.b_, self.c_ = fit_logistic(log_probabilities(z), target, w, rising=True)
        if self.a_ == self.b_ == 0:
            warn_of_no_rise("the fitted map is constant, a = b = 0")

    def _map(self, z: Array) -> Array:
        u, v = log_probabilities(z)
        return self.a_ * u + self.b_ * v + self.c_


def log_probabilities(z: Array) -> tuple[Array, Array]:
    """The ln p and -ln(1 - p) of finite log-odds, exact in both tails."""
    tail = np.log1p(np.exp(-np.abs(z)))
    return np.minimum(z, 0) - tail, np.maximum(z, 0) + tail
