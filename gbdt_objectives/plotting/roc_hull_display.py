"""The ROC curve's convex hull, and the calibration map that comes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives.calibration import ROCConvexHull, roc_convex_hull
from gbdt_objectives.plotting.reliability_display import BLUE, GRAY, ORANGE, POINTS, Display, some

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HullKind = Literal["curve", "map"]


class ROCHullDisplay(Display):
    """An ROC curve and its convex hull, drawn in one of two ways.

    Make it with :meth:`from_predictions`.

    - ``kind="curve"``: the curve, the hull with a dot at each vertex, and the areas.
      Thresholds between two vertices are never best, whatever errors cost.
    - ``kind="map"``: the calibration map. Each edge of the hull is a segment of scores
      with one probability, (positives) / (rows); between segments it is linear, as in
      ``ROCConvexHullCalibrator``.

    Parameters
    ----------
    hull, fpr, tpr : ROCConvexHull, ndarray of shape (d,)
        The hull, from ``roc_convex_hull``. The points of the ROC curve, from (0, 0) to (1, 1).
    kind : {"curve", "map"}
        What to draw.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from gbdt_objectives.plotting import ROCHullDisplay
    >>> y = [1, 1, 0, 1, 1, 0, 1, 1, 0, 0]
    >>> display = ROCHullDisplay.from_predictions(y, np.arange(10, 0, -1))
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['ROC curve, AUC 0.7500', 'convex hull, AUC 0.8333', 'chance, AUC 0.5']
    """

    def __init__(
        self, *, hull: ROCConvexHull, fpr: Array, tpr: Array, kind: HullKind = "curve"
    ) -> None:
        self.hull, self.fpr, self.tpr = hull, fpr, tpr
        self.kind = _checks.choice("kind", kind, ("curve", "map"))

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, score: ArrayLike, *, sample_weight: ArrayLike | None = None,
        kind: HullKind = "curve", ax: Axes | None = None,
    ) -> ROCHullDisplay:  # fmt: skip
        """Draw the hull of the scores of labelled rows, and return the display.

        Parameters
        ----------
        y_true, score, sample_weight : array-like of shape (n,)
            As in :func:`roc_convex_hull`, with its errors.
        kind, ax : {"curve", "map"}, matplotlib Axes, optional
            What to draw. Where to draw. None: a new figure.
        """
        from sklearn.metrics import roc_curve

        hull = roc_convex_hull(y_true, score, sample_weight=sample_weight)
        fpr, tpr, thresholds = roc_curve(y_true, score, sample_weight=sample_weight)
        shown = some(0, len(fpr) - 1, POINTS, np.flatnonzero(np.isin(thresholds, hull.thresholds)))
        return cls(hull=hull, fpr=fpr[shown], tpr=tpr[shown], kind=kind).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        hull = self.hull
        if self.kind == "map":
            score = np.column_stack([hull.low, hull.high]).ravel()
            ax.plot(score, hull.probability().repeat(2), color=ORANGE, lw=1.6, marker="o", ms=3.5)
            ax.set(xlabel="score", ylabel="calibrated probability of label 1")
            return
        ax.plot(self.fpr, self.tpr, color=BLUE, lw=2.4, label=f"ROC curve, AUC {hull.auc:.4f}")
        label = f"convex hull, AUC {hull.hull_auc:.4f}"
        ax.plot(hull.fpr, hull.tpr, color=ORANGE, lw=1.2, marker="o", ms=4, label=label)
        ax.plot([0, 1], [0, 1], color=GRAY, lw=1, ls="--", label="chance, AUC 0.5")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.set(xlabel="false positive rate", ylabel="true positive rate")
        ax.legend(loc="lower right", frameon=False)
