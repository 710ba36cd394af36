"""A calibrator that a stranger adds: in its own file, with the formula that it names.

Equal parts of the sorted scores, each with the share of label 1 in it, and lines between.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gbdt_objectives._steps.steps import Step, read_number
from gbdt_objectives.calibration.calibrators import Calibrator, read_probabilities, read_rising

PARTS = 4


class HistogramCalibrator(Calibrator):
    _saved: ClassVar = {"scores": read_rising, "probabilities": read_probabilities,
                        "rows": read_number}  # fmt: skip

    def _fit(self, rows: Any, offset: Any) -> None:
        order = np.argsort(rows.p)
        parts = np.array_split(order, PARTS)
        self.scores_ = np.array([rows.p[part].mean() for part in parts])
        self.probabilities_ = np.array([rows.y[part].mean() for part in parts])
        self.rows_ = float(len(order))

    def _step(self) -> Step:
        return {"formula": "interpolate", "x": self.scores_, "y": self.probabilities_}
