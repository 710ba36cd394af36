"""A calibrator that a stranger adds: in its own file, with the formula that it names.

Equal parts of the range of scores, each with the share of label 1 in it, and lines between.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gbdt_objectives._steps.steps import Step, correct_positives
from gbdt_objectives.calibration.calibrators import (
    Calibrator,
    one_shift,
    read_probabilities,
    read_rising,
    warn_if_falling,
)
from gbdt_objectives.calibration.hull import area
from gbdt_objectives.calibration.rows import group_ties

PARTS = 12


class HistogramCalibrator(Calibrator):
    _takes_one_rate = True
    _saved: ClassVar = {"scores": read_rising, "probabilities": read_probabilities}

    def _fit(self, rows: Any, offset: Any) -> None:
        shift = one_shift(self, offset)  # refuses rates that differ by row
        warn_if_falling(area(*group_ties(rows)[1:]))
        edges = np.linspace(rows.p.min(), rows.p.max(), PARTS + 1)
        part = np.digitize(rows.p, edges[1:-1])
        weight, score, positive = (
            np.bincount(part, rows.weight * v) for v in (1.0 + 0 * rows.p, rows.p, rows.y)
        )
        some = weight > 0
        self.scores_ = score[some] / weight[some]
        self.probabilities_ = correct_positives(positive[some] / weight[some], shift)

    def _step(self) -> Step:
        return {"formula": "interpolate", "x": self.scores_, "y": self.probabilities_}
