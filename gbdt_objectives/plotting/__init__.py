"""Pictures in scikit-learn's style: ``Display.from_predictions(...)``; matplotlib is optional.

Conventions of this room
------------------------
A display holds what it shows, and ``plot`` draws it, on ``ax`` or on a new figure, and leaves
``ax_`` and ``figure_``. Without matplotlib that raises an ImportError. Colours differ for all eyes.
"""

from gbdt_objectives._public import attributes
from gbdt_objectives.calibration.reliability import ReliabilityCurve
from gbdt_objectives.plotting.reliability_display import (
    ReliabilityDisplay,
    ROCHullDisplay,
    ThresholdDisplay,
)

__all__ = ["ROCHullDisplay", "ReliabilityCurve", "ReliabilityDisplay", "ThresholdDisplay"]

__getattr__, __dir__ = attributes(__name__, __all__)
