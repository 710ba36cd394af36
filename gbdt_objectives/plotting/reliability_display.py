"""Predicted against observed probability, with intervals and counts, models side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._public import public
from gbdt_objectives._registry import load
from gbdt_objectives._rows.rows import ArrayValue
from gbdt_objectives.calibration import ROCConvexHull, roc_convex_hull
from gbdt_objectives.calibration.bins import Strategy
from gbdt_objectives.calibration.reliability import ReliabilityCurve
from gbdt_objectives.calibration.rows import read_rates
from gbdt_objectives.thresholds import optimize_thresholds
from gbdt_objectives.thresholds.qwk import exact_hull, kappa_along, kappa_at
from gbdt_objectives.thresholds.rows import ScoredRows, Thresholds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from typing_extensions import Self


BLUE, ORANGE, GRAY = "#0072B2", "#D55E00", "0.55"
POINTS = 2000  # of one curve that are drawn, about
MOST_NAMED = 7  # classes that a legend names; of more, evenly spaced ones


class MadeFromPredictions(type):
    """The class of displays, which have no ``from_estimator``, and say so."""

    def __getattr__(cls, name: str) -> Any:
        if name != "from_estimator":
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        raise AttributeError(
            f"{cls.__name__} has no from_estimator: pass y_true and model.predict_proba(X)[:, 1], "
            f"or the model's score, to {cls.__name__}.from_predictions"
        )


class Display(metaclass=MadeFromPredictions):
    """Base class of displays, which ``_draw``; once drawn they have ``ax_`` and its ``figure_``."""

    ax_: Axes
    figure_: Figure | SubFigure
    _draw: Callable[[Axes], None]

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture, on other axes if wanted, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None for a new figure. Axes for counts take its lower part.
        """
        Axes = matplotlib("axes").Axes
        if ax is None:
            ax = matplotlib("pyplot").subplots(layout="constrained")[1]
        if not isinstance(ax, Axes):
            raise TypeError(
                f"ax must be matplotlib Axes, found {type(ax).__name__}: pass one of those that "
                "plt.subplots() returns, or None for a new figure"
            )
        if ax.name != "rectilinear":
            raise ValueError(
                f"ax has the projection {ax.name!r}, which would distort the picture: pass axes "
                "without one, or None for a new figure"
            )
        self._draw(ax)
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def matplotlib(module: str) -> Any:
    """A module of matplotlib, which may be missing."""
    try:
        return load(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError(
            "matplotlib is needed to draw: pip install 'gbdt_objectives[plot]' or matplotlib"
        ) from error


def svg(draw: Callable[[Axes], Any]) -> bytes:
    """What is drawn on new axes, as SVG: the same bytes each time, whatever the user's settings."""
    file = BytesIO()
    with matplotlib("style").context(["default", {"svg.hashsalt": "gbdt_objectives"}]):
        figure = matplotlib("figure").Figure(figsize=(7.2, 4.8), layout="constrained")
        draw(figure.subplots())
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def add_legend(ax: Axes, *args: Any, **options: Any) -> None:
    """Add a legend inside the axes: beside them it would lie on a neighbouring panel."""
    ax.legend(*args, **({"loc": "best", "fontsize": "small", "title_fontsize": "small"} | options))


def few_of(count: int) -> list[int]:
    """Which of ``count`` things in order to name: the first, the last, some in between."""
    return [int(k) for k in some(0, count - 1, MOST_NAMED, np.empty(0, int))]


def title_of(what: str, count: int) -> str:
    """The title of a legend of ``count`` things, which says if not all of them are named."""
    shown = len(few_of(count))
    return what if shown == count else f"{what}, {shown} of {count}"


def short_names(labels: Array, width: int) -> list[str]:
    """Labels of at most ``width`` characters, with an ellipsis in the middle of longer ones, or
    their positions if two would then be equal. A dollar is one, and begins no formula."""
    head, tail = (width - 1) // 2, width // 2
    full = [str(label) for label in labels]
    names = [x if len(x) <= width else f"{x[:head].rstrip()}…{x[-tail:].lstrip()}" for x in full]
    if len(set(names)) == len(names):
        return [name.replace("$", r"\$") for name in names]
    return [f"class {k}" for k in range(len(names))]


def some(first: int, last: int, count: int, always: Array) -> Array:
    """About ``count`` whole numbers from first to last, and those of ``always`` among them."""
    numbers = np.linspace(first, last, min(count, max(last - first + 1, 0))).round().astype(int)
    return np.union1d(numbers, always[(always >= first) & (always <= last)])


Scale = Literal["auto", "linear", "log"]
RARE = 0.05  # mean outcome below which "auto" takes logarithmic axes
STYLES = (
    (BLUE, "o"), (ORANGE, "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("black", "X"),
    ("#56B4E9", "P"), ("#E69F00", "h"),
)  # fmt: skip
"""Colours of Okabe and Ito, and markers, one pair per model."""
BAND = 0.2  # opacity of consistency bands
TINIEST = 1e-300  # the lowest start of logarithmic axes, below which the ticks underflow


@public
class ReliabilityDisplay(Display):
    """Predicted against observed probability of label 1, for one model or several.

    Make it with :meth:`from_predictions`. Each point is a bin of rows: their mean prediction and
    the share of label 1 among them, on a bar of the share's confidence limits. Below is a histogram
    of the predictions. The legend gives mean prediction over mean outcome, 1 at best. With
    ``strategy="isotonic"`` the curve is the isotonic fit of the labels to the predictions, and the
    band is where it lies, at each point, if the predictions are right (CORP). Logarithmic axes
    cannot show 0: bins without label 1 are drawn on the lower edge as open triangles, with their
    upper limit, and predictions of 0 on the left edge. Outermost bars hold all beyond.

    Parameters
    ----------
    curves : dict of str to ReliabilityCurve
        The curve of each model, as :meth:`from_predictions` makes them.
    scale : {"auto", "linear", "log"}
        Scale of both axes; "auto" is logarithmic if fewer than 5 % of outcomes are label 1.

    Attributes
    ----------
    ax_, counts_ax_, figure_ : matplotlib Axes, Axes, Figure
        The axes of the curves and of the counts, and their figure, after ``plot``.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from gbdt_objectives.plotting import ReliabilityDisplay
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.8]
    >>> curve = ReliabilityDisplay.from_predictions(y, p, n_bins=2).curves["predictions"]
    >>> curve.bins.frequency.round(4), curve.low.round(4), curve.high.round(4)
    (array([0.3333, 0.6667]), array([0.0387, 0.1767]), array([0.8233, 0.9613]))
    """

    counts_ax_: Axes

    def __init__(self, *, curves: dict[str, ReliabilityCurve], scale: Scale = "auto") -> None:
        if not curves:
            raise ValueError("curves is empty: there must be at least one model")
        for name in curves:
            if str(name).startswith("_"):
                raise ValueError(
                    f"model {name!r} would be missing from the legend, as matplotlib hides names "
                    "that begin with an underscore: rename it"
                )
        _checks.choice("scale", scale, ("auto", "linear", "log"))
        if scale == "auto":
            every = [curve.bins for curve in curves.values()]
            rare = min(np.average(bins.frequency, weights=bins.weight) for bins in every) < RARE
            scale = "log" if rare else "linear"
        self.curves, self.scale = curves, scale

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, probability: ArrayLike | Mapping[str, ArrayLike], *,
        n_bins: int | None = None, strategy: Strategy | Literal["isotonic"] = "quantile",
        scale: Scale = "auto", confidence_level: float = 0.95,
        negative_keep_rate: float | None = None, keep_rate: ArrayLike | None = None,
        class_keep_rates: Mapping[Any, float] | None = None, sample_weight: ArrayLike | None = None,
        counts: ArrayLike | None = None, groups: ArrayLike | None = None, ax: Axes | None = None,
    ) -> ReliabilityDisplay:  # fmt: skip
        """Draw the reliability of probabilities on labelled rows, and return the display.

        The limits are Jeffreys' interval, the quantiles of ::

            Beta(n_1 + 1/2, n_0 + 1/2),   n_i = W_i / w_i

        where n_i is the count of label i in the bin; the limit is 0 below if n_1 = 0 and 1 above if
        n_0 = 0. With weights, W_i is the weight of label i in the bin, w_i = sum w^2 / sum w over
        all rows of label i, and the limits' odds are multiplied by w_1/w_0. This is exact if all
        rows of a label weigh the same, as after downsampling, else approximate.

        Parameters
        ----------
        y_true, sample_weight : array-like of shape (n,)
            Labels 0 and 1, both occurring, and weights >= 0, or None for all ones.
        probability : array-like of shape (n,), or a mapping of names to such
            Probabilities of label 1, from one model or from each of several, at most 7.
        n_bins : int from 1 to 1,000,000, optional
            Number of bins, 15 if None; "isotonic" has none.
        strategy : {"quantile", "uniform", "events", "isotonic"}
            Bins as in ``reliability_bins``; "events" for rare events on logarithmic axes.
            "isotonic": the isotonic fit, and the band from 1,000 simulated samples (the same each
            time). If more than 1,000 predictions differ, neighbours are taken together.
        scale : {"auto", "linear", "log"}
            Scale of both axes; "auto" is logarithmic if fewer than 5 % of outcomes are label 1.
        confidence_level : float in (0, 1)
            Probability of the limits, or of the band at each point.
        negative_keep_rate, keep_rate, class_keep_rates : optional
            How the rows were sampled, as in ``calibration_ratio``: a negative then weighs w / rate.
        counts, groups : array-like of shape (n,), optional
            As in ``calibration_ratio_by_segment``. Each bin's counts are divided by the variance of
            its frequency with groups over that without, at least 1; "isotonic" takes no groups.
        ax : matplotlib Axes, optional
            Where to draw, as in ``plot``.

        References
        ----------
        Brown, Cai & DasGupta (2001), Statistical Science 16(2), section 4.1.1, for Jeffreys'
        interval; Dimitriadis, Gneiting & Jordan (2021), PNAS 118(8), for isotonic curves and bands.
        """
        level = _checks.confidence_level("confidence_level", confidence_level, usual=0.95)
        if strategy == "isotonic" and (n_bins is not None or groups is not None):
            why = "groups is given, but the band of strategy='isotonic' draws each label on its own"
            if n_bins is not None:
                why = f"n_bins is given, found {n_bins}, but strategy='isotonic' has no bins"
            raise ValueError(f"{why}: leave it out, or choose 'quantile', 'uniform' or 'events'")
        bins = 15 if n_bins is None else n_bins
        rate = read_rates(negative_keep_rate, keep_rate, class_keep_rates)
        models = probability if isinstance(probability, Mapping) else {"predictions": probability}
        if not models:
            raise ValueError("probability is an empty mapping: pass at least one model")
        if len(models) > len(STYLES):
            raise ValueError(
                f"probability holds {len(models)} models, but only {len(STYLES)} can be told "
                "apart: draw fewer at a time"
            )
        curves = {}
        for name, p in models.items():
            try:
                curves[name] = ReliabilityCurve._of(
                    y_true, p, bins, strategy, level, sample_weight, groups, rate, counts
                )
            except (ValueError, TypeError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"model {name!r}: {error}") from error
        return cls(curves=curves, scale=scale).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        counts_ax = self.counts_ax_ = _split(ax)
        low, high = _limits(list(self.curves.values()), self.scale)
        edges = (np.geomspace if self.scale == "log" else np.linspace)(low, high, 51)
        for i, (name, curve) in enumerate(self.curves.items()):
            color, marker = STYLES[i % len(STYLES)]
            draw = _draw_fit if curve.isotonic else _draw_bins
            draw(ax, curve, f"{name}: {curve.ratio:.3g}", color, marker, low)
            p = np.clip(curve.probability, edges[0], edges[-1])
            counts = np.histogram(p, edges, weights=curve.weight)[0]
            counts_ax.stairs(counts, edges, color=color, lw=1.2)
        ax.plot([low, high], [low, high], color=GRAY, lw=1, ls="--", label="predicted = observed")
        if any(curve.isotonic for curve in self.curves.values()):
            ax.plot([], [], color=GRAY, alpha=BAND, lw=8, label="band if predictions are right")
        every = [curve.bins for curve in self.curves.values()]
        if self.scale == "log" and any((bins.frequency == 0).any() for bins in every):
            ax.plot([], [], "v", color=GRAY, mfc="none", ms=6, label="no label 1 observed")
        if self.scale == "log" and any((bins.probability == 0).any() for bins in every):
            ax.plot([], [], "<", color=GRAY, mfc="none", ms=6, label="predicted 0")
        ax.set(xscale=self.scale, yscale=self.scale)
        room = (low, 1.15 * high) if self.scale == "log" else (-0.02 * high, 1.02 * high)
        ax.set(xlim=room, ylim=room, ylabel="observed frequency of label 1")
        ax.tick_params(labelbottom=False)
        add_legend(ax, title="mean prediction / mean outcome")
        weighted = any(curve.weight is not None for curve in self.curves.values())
        counts_ax.set_yscale("log")
        counts_ax.yaxis.set_minor_formatter("")  # which within a decade lie on one another
        counts_ax.set_xlabel("predicted probability of label 1")
        counts_ax.set_ylabel("weight" if weighted else "rows")
        counts_ax.spines[["top", "right"]].set_visible(False)


def _split(ax: Axes) -> Axes:
    """Leave ``ax`` its upper part; new axes in the lower one."""
    place = ax.get_subplotspec()
    if place is None:
        raise ValueError(
            "ax is not part of a grid, whose cell the counts could share: pass one of those "
            "that plt.subplots() returns, or None for a new figure"
        )
    grid = place.subgridspec(2, 1, height_ratios=(4, 1), hspace=0.06)
    ax.set_subplotspec(grid[0])
    return ax.figure.add_subplot(grid[1], sharex=ax)


def _limits(curves: list[ReliabilityCurve], scale: Scale) -> tuple[float, float]:
    """From the lowest point, or from 0, to the highest point or confidence limit."""
    # an isotonic curve may begin with many rows of all scales without label 1
    seen = [c.bins.probability[(c.bins.frequency > 0) | (not c.isotonic)] for c in curves]
    points = np.concatenate([*seen, *(curve.bins.frequency for curve in curves)])
    high = max(points.max(), *(0.0 if curve.isotonic else curve.high.max() for curve in curves))
    return (max(points[points > 0].min() / 2, TINIEST) if scale == "log" else 0.0), float(high)


def _draw_bins(
    ax: Axes, curve: ReliabilityCurve, name: str, color: str, marker: str, low: float
) -> None:
    """Points, the line through neighbours, limits; what is below ``low`` is on the edge."""
    p, frequency = curve.bins.probability, curve.bins.frequency
    x = np.maximum(p, low)
    ax.vlines(x, np.maximum(curve.low, low), curve.high, color=color, alpha=0.35, lw=3)
    shown = np.where((p >= low) & (frequency >= low), frequency, np.nan)
    ax.plot(x, shown, color=color, marker=marker, ms=4.5, lw=1.2, label=name)
    for chosen, at_edge in ((frequency < low, "v"), ((p < low) & (frequency >= low), "<")):
        _mark(ax, x[chosen], np.maximum(frequency, low)[chosen], at_edge, color)


def _draw_fit(ax: Axes, curve: ReliabilityCurve, name: str, color: str, _: str, low: float) -> None:
    """The isotonic fit and its band; triangles on the edges end what is below ``low``."""
    p, fit = curve.bins.probability, curve.bins.frequency
    inside = p >= low
    floor, ceiling = np.maximum(curve.low, low), np.maximum(curve.high, low)
    ax.fill_between(p[inside], floor[inside], ceiling[inside], color=color, alpha=BAND, lw=0)
    ax.plot(p, np.where(inside & (fit >= low), fit, np.nan), color=color, lw=1.6, label=name)
    last = np.flatnonzero(fit < low)[-1:]
    _mark(ax, np.maximum(p[last], low), np.full(len(last), low), "v", color)
    first = (p == 0) & (low > 0) & (fit >= low)
    _mark(ax, np.full(first.sum(), low), fit[first], "<", color)


def _mark(ax: Axes, x: Array, y: Array, marker: str, color: str) -> None:
    if len(x):
        ax.plot(x, y, marker, color=color, mfc="none", ms=6, clip_on=False)


Kind = Literal["histogram", "profile", "hull"]


@public
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
        carried = ArrayValue._carried_labels(thresholds) if labels is None else labels
        rows = ScoredRows.read(y_true, score, carried, sample_weight)
        known: dict[str, Any] = {"labels": labels, "sample_weight": sample_weight}
        if thresholds is None:
            thresholds = optimize_thresholds(y_true, score, method=method, **known)
        found = Thresholds._with_labels(thresholds, rows.labels)
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
    shown, names = few_of(K)[::-1], short_names(rows.labels, 16)  # as they are stacked
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
    shown = [profiles[k] for k in few_of(len(cuts))]
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
        if k in few_of(len(best)):  # above the hull, where the axes have room
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


HullKind = Literal["curve", "map"]


@public
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
