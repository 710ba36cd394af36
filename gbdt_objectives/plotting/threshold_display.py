"""Thresholds on a score, seen in three ways."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._rows.rows import carried_labels
from gbdt_objectives.plotting.reliability_display import (
    BLUE,
    GRAY,
    ORANGE,
    POINTS,
    Display,
    add_legend,
    named,
    short_names,
    some,
    title_of,
)
from gbdt_objectives.thresholds import optimize_thresholds, rows as _rows
from gbdt_objectives.thresholds.qwk import exact_hull, kappa_along, kappa_at
from gbdt_objectives.thresholds.rows import ScoredRows, Thresholds, with_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["histogram", "profile", "hull"]


class ThresholdDisplay(Display):
    """Thresholds on a score, seen in one of three ways.

    Make it with :meth:`from_predictions`.

    - ``kind="histogram"``: the scores, stacked by label, with the thresholds, and above
      them the class predicted between two thresholds.
    - ``kind="profile"``: quadratic weighted kappa as each threshold moves between its two
      neighbours while the others stay in place.
    - ``kind="hull"``: why the exact method is exact (``docs/theory/thresholds.md``). For rows
      sorted by score the cumulative class position less its mean is drawn against the cumulative
      weight, with its lower convex hull, which tangents touch at the exact cuts. A threshold whose
      dot is elsewhere is not optimal.

    Parameters
    ----------
    rows, thresholds : ScoredRows, Thresholds of shape (K-1,)
        The checked rows, as :meth:`from_predictions` makes them, and sorted thresholds.
    kind : {"histogram", "profile", "hull"}
        What to draw.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from gbdt_objectives.plotting import ThresholdDisplay
    >>> y, score = [0, 0, 1, 1, 2, 2], [0.1, 0.4, 0.3, 0.6, 0.7, 0.9]
    >>> ThresholdDisplay.from_predictions(y, score, method="exact").thresholds.round(3)
    Thresholds([0.5, 0.65], labels=[0, 1, 2])
    """

    def __init__(
        self, *, rows: ScoredRows, thresholds: Thresholds, kind: Kind = "histogram"
    ) -> None:
        self.rows, self.thresholds = rows, thresholds
        self.kind = _checks.choice("kind", kind, tuple(KINDS))

    @property
    def labels(self) -> Array:
        """All classes in ascending order, (K,)."""
        return self.rows.labels

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, score: ArrayLike, *, thresholds: ArrayLike | None = None,
        method: Literal["exact", "plugin", "nelder-mead"] = "plugin",
        labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
        kind: Kind = "histogram", ax: Axes | None = None,
    ) -> ThresholdDisplay:  # fmt: skip
        """Draw thresholds on the scores of labelled rows, and return the display.

        Parameters
        ----------
        y_true, score, sample_weight : array-like of shape (n,)
            As in :func:`optimize_thresholds`, with its errors; ``oof_score_`` runs from 0 to K-1.
        thresholds : array-like of shape (K-1,), optional
            Sorted thresholds. None: those of ``optimize_thresholds`` on these very rows.
        method : {"plugin", "exact", "nelder-mead"}
            Algorithm that places the thresholds if none are given.
        labels : array-like of shape (K,), optional
            All classes, rising. None: those of ``thresholds``, else as in ``optimize_thresholds``.
        kind, ax : {"histogram", "profile", "hull"}, matplotlib Axes, optional
            What to draw. Where to draw. None: a new figure.
        """
        _checks.choice("method", method, ("exact", "plugin", "nelder-mead"))
        carried = carried_labels(thresholds) if labels is None else labels
        rows = _rows.read_scored_rows(y_true, score, carried, sample_weight)
        known: dict[str, Any] = {"labels": labels, "sample_weight": sample_weight}
        if thresholds is None:
            thresholds = optimize_thresholds(y_true, score, method=method, **known)
        found = with_labels(thresholds, rows.labels)
        return cls(rows=rows, thresholds=found, kind=kind).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        KINDS[self.kind](ax, self.rows, self.thresholds.values)


def _colors(count: int) -> Array:
    """Ordered colours that differ in brightness, so that they are colour-blind safe."""
    from matplotlib import colormaps

    return colormaps["viridis"](np.linspace(0, 0.88, count))


def _histogram(ax: Axes, rows: ScoredRows, thresholds: Array) -> None:
    from matplotlib import patheffects

    K = len(rows.labels)
    weight = np.ones(len(rows.score)) if rows.weight is None else rows.weight
    of_class = [rows.position == k for k in range(K)]
    edges = np.histogram_bin_edges(rows.score.astype(np.float64), bins=50)
    bars: Any = ax.hist(
        [rows.score[chosen] for chosen in of_class], edges.tolist(), stacked=True,
        weights=[weight[chosen] for chosen in of_class], color=list(_colors(K)),
    )[2]  # fmt: skip
    finite = thresholds[np.isfinite(thresholds)]
    edged = [patheffects.withStroke(linewidth=4, foreground="white")]
    lines = [ax.axvline(cut, color="black", lw=1.4, path_effects=edged) for cut in finite]
    ax.set_xlim(min([edges[0], *finite]), max([edges[-1], *finite]))
    _name_intervals(ax, rows.labels, thresholds)
    ax.set(xlabel="score", ylabel="rows" if rows.weight is None else "weight")
    shown, names = named(K)[::-1], short_names(rows.labels, 16)  # as they are stacked
    handles = [*(bars[k] for k in shown), *lines[:1]]
    names = [*(names[k] for k in shown), *["threshold"][: len(lines)]]
    add_legend(ax, handles, names, title=title_of("label", K))


def _name_intervals(ax: Axes, labels: Array, thresholds: Array) -> None:
    """Write above the axes which class lies between two thresholds, where there is room."""
    low, high = ax.get_xlim()
    letter = 0.1 / (ax.bbox.width / ax.figure.dpi) * (high - low)  # of a tenth of an inch
    borders = np.clip([-np.inf, *thresholds, np.inf], low, high)
    names, above = short_names(labels, 16), ax.get_xaxis_transform()
    for name, (left, right) in zip(names, pairwise(borders), strict=True):
        if right - left > letter * (len(name) + 0.5):
            ax.text((left + right) / 2, 1.01, name, transform=above, ha="center", va="bottom")
    beside = ax.transAxes
    ax.text(-0.01, 1.01, "predicted:", transform=beside, ha="right", va="bottom", color="0.35")


def _profile(ax: Axes, rows: ScoredRows, thresholds: Array) -> None:
    curve = rows.label_curve
    cuts, kappa = kappa_at(curve, thresholds)
    colors, names = _colors(len(cuts)), _borders(rows.labels)
    profiles = []
    for k, color in enumerate(colors):
        first = int(cuts[k - 1]) if k else 1
        last = int(cuts[k + 1]) if k + 1 < len(cuts) else len(curve.low) - 1
        ends = max(first, 1), min(last, len(curve.low) - 1)
        at, values = kappa_along(curve, cuts, k, some(*ends, POINTS // len(cuts), cuts[[k]]))
        profiles += ax.plot(at, values, color=color, lw=1.8, label=names[k])
    for threshold, color in zip(thresholds, colors, strict=True):
        if np.isfinite(threshold):
            ax.axvline(threshold, color=color, lw=1, ls="--")
            ax.plot(threshold, kappa, "o", color=color, mec="black", ms=7)
    ax.set(xlabel="one threshold, in score units", ylabel="quadratic weighted kappa")
    ax.set_title(f"kappa {kappa:.4f} at the thresholds", fontsize="medium")
    shown = [profiles[k] for k in named(len(cuts))]
    add_legend(ax, handles=shown, title=title_of("threshold between", len(cuts)))


def _borders(labels: Array) -> list[str]:
    return [f"{below} | {above}" for below, above in pairwise(short_names(labels, 9))]


def _hull(ax: Axes, rows: ScoredRows, thresholds: Array) -> None:
    from matplotlib import patheffects

    curve = rows.label_curve
    N, (D, vertices, best, slopes, optimum) = curve.N / curve.N[-1], exact_hull(curve)
    cuts, kappa = kappa_at(curve, thresholds)
    shown = some(0, len(N) - 1, POINTS, np.concatenate((vertices, best, cuts)))
    ax.plot(N[shown], D[shown], color=GRAY, lw=1, label="rows sorted by score")
    ax.plot(N[vertices], D[vertices], color=BLUE, lw=1.8, label="lower convex hull")
    names, edged = _borders(rows.labels), patheffects.withStroke(linewidth=3, foreground="white")
    for k, (cut, slope) in enumerate(zip(best, slopes, strict=True)):
        x = np.clip(N[cut] + np.array([-0.09, 0.09]), 0, 1)
        name = "optimal tangents" if k == 0 else None
        ax.plot(x, D[cut] + slope * (x - N[cut]), color=ORANGE, lw=1.8, label=name)
        if k in named(len(best)):  # above the hull, where the axes have room
            side = int(np.searchsorted([1 / 3, 2 / 3], N[cut]))
            ax.annotate(
                names[k], (N[cut], D[cut]), xytext=((10, 0, -10)[side], 12 if side == 1 else 2),
                textcoords="offset points", ha=("left", "center", "right")[side], va="bottom",
                fontsize="small", path_effects=[edged],
            )  # fmt: skip
    circles: dict[str, Any] = {"color": "black", "mfc": "none", "mew": 1.5, "ms": 8}
    ax.plot(N[cuts], D[cuts], "o", label="thresholds shown", **circles)
    ax.set_xlabel("share of rows with a lower score")
    ax.set_ylabel("cumulative label position\nminus mean, per row")
    ax.set_title(f"kappa {kappa:.4f}, optimum {optimum:.4f}", fontsize="medium")
    ax.margins(y=0.1)
    add_legend(ax, loc="center")  # between the hull and the names at it


KINDS: dict[str, Callable[[Axes, ScoredRows, Array], None]] = {
    "histogram": _histogram, "profile": _profile, "hull": _hull,
}  # fmt: skip
