"""Calibrator by a beta map."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from gbdt_objectives import _json
from gbdt_objectives._callers import users_level
from gbdt_objectives._checks import Array
from gbdt_objectives.calibration.beta import fit_beta_map, log_probabilities
from gbdt_objectives.calibration.rows import LabelledRows
from gbdt_objectives.estimators.calibrators import (
    INPUT_SPACES,
    LogOddsCalibrator,
    rising_targets,
)


class BetaCalibrator(LogOddsCalibrator):
    """Calibrator by logistic regression on ln p and ln(1 - p): a beta map, three parameters.

    ::

        logit p' = a ln p - b ln(1 - p) + c,   a, b >= 0, c of greatest likelihood

    For a model that is off by more near 0 than near 1, or the reverse; with a = b it is
    ``LogitCalibrator``, with a = b = 1, c = 0 the identity. Probabilities of exactly 0 and
    1 are kept; in ``fit`` they must be right, and have no influence.

    Scores that separate the labels perfectly, or but for ties, are fitted to Platt's targets,
    as in ``LogitCalibrator``.

    Parameters
    ----------
    input_space : {"probability", "margin"}
        What ``score`` is: probabilities in [0, 1], or log-odds.

    Attributes
    ----------
    a_, b_, c_ : float
        The map.

    Notes
    -----
    ``fit`` refuses probabilities outside [0, 1], or exactly 0 or 1 and wrong, or for all
    rows of one label; and fewer than three different scores, which do not tell a from b. It
    warns if a = b = 0: the score does not rise with the label.

    Beyond the scores of ``fit`` the map goes on as the formula says: from rows that are all
    rare events it does not know b.

    References
    ----------
    Kull, Silva Filho & Flach (2017), "Beta calibration: a well-founded and easily
    implemented improvement on logistic calibration for binary classifiers", AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.estimators import BetaCalibrator
    >>> score = np.repeat([0.1, 0.5, 0.9], 10)
    >>> y = np.repeat([0, 1, 0, 1, 0, 1], [9, 1, 7, 3, 3, 7])
    >>> calibrator = BetaCalibrator().fit(score, y)
    >>> calibrator.predict([0.1, 0.5, 0.7, 0.9]).round(4)
    array([0.1   , 0.3   , 0.4425, 0.7   ])
    >>> BetaCalibrator.from_json(calibrator.to_json()).predict([0.5]).round(4)
    array([0.3])
    """

    _saved: ClassVar = {
        "input_space": _json.read_one_of(*INPUT_SPACES),
        "a": _json.read_number,
        "b": _json.read_number,
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
        self.a_, self.b_, self.c_ = fit_beta_map(z, target, w)
        if self.a_ == self.b_ == 0:
            warnings.warn(
                "the fitted map is constant, a = b = 0: the score does not rise with the label, or "
                "not beyond chance",
                UserWarning,
                stacklevel=users_level(),
            )

    def _map(self, z: Array) -> Array:
        u, v = log_probabilities(z)
        return self.a_ * u + self.b_ * v + self.c_

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> BetaCalibrator:
        for key in ("a", "b"):
            if data[key] < 0:
                raise ValueError(f"{key} must not be negative, found {data[key]:g}")
        return super()._restore(data)
