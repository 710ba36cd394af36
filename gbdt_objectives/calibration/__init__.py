"""Class probabilities: from scores and counts to probabilities, and how good they are.

Conventions of this room
------------------------
n rows, K classes. ``probability``: in [0, 1]; shape (n,), of label 1, with labels 0 and 1;
or (n, K), a column per class, with ``labels`` for the class of each column (None: 0 to
K-1), and rows that sum to 1 to 1e-4. ``score``: shape (n,), any scale, higher for label 1.
``sample_weight``: shape (n,), >= 0, or None for all ones; a weight w means w copies of
the row, and rows of weight 0 do not count. Errors are means over rows.
Calibrators are fitted on rows that the model was not trained on; they pickle and are saved as
JSON.
"""

from gbdt_objectives._public import attributes
from gbdt_objectives.calibration.bins import (
    CalibrationRefinement,
    ReliabilityBins,
    brier_score,
    calibration_ratio,
    calibration_refinement,
    expected_calibration_error,
    normalized_entropy,
    reliability_bins,
)
from gbdt_objectives.calibration.calibrator_choice import CalibratorChoice, choose_calibrator
from gbdt_objectives.calibration.calibrators import (
    BetaCalibrator,
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
)
from gbdt_objectives.calibration.hull import ROCConvexHull, empirical_probability, roc_convex_hull
from gbdt_objectives.calibration.monitor import CalibrationMonitor
from gbdt_objectives.calibration.reliability import CalibrationErrorTest, calibration_error_test
from gbdt_objectives.calibration.segment_calibrator import SegmentCalibrator
from gbdt_objectives.calibration.segments import (
    SegmentRatios,
    SegmentStatistics,
    calibration_ratio_by_segment,
)
from gbdt_objectives.calibration.spline_calibrator import SplineCalibrator
from gbdt_objectives.calibration.temperature_calibrator import TemperatureCalibrator
from gbdt_objectives.calibration.venn_abers_calibrator import VennAbersCalibrator

__all__ = [
    "BetaCalibrator", "CalibrationErrorTest", "CalibrationMonitor", "CalibrationRefinement",
    "CalibratorChoice", "InterceptCalibrator", "LogitCalibrator", "ROCConvexHull",
    "ROCConvexHullCalibrator", "ReliabilityBins", "SegmentCalibrator", "SegmentRatios",
    "SegmentStatistics", "SplineCalibrator", "TemperatureCalibrator", "VennAbersCalibrator",
    "brier_score", "calibration_error_test", "calibration_ratio", "calibration_ratio_by_segment",
    "calibration_refinement", "choose_calibrator", "empirical_probability",
    "expected_calibration_error", "normalized_entropy", "reliability_bins", "roc_convex_hull",
]  # fmt: skip

__getattr__, __dir__ = attributes(__name__, __all__)
