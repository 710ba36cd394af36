"""Predicted against observed probability, with intervals and counts, models side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives.calibration import ReliabilityBins, calibration_ratio, reliability_bins
from gbdt_objectives.calibration.bins import Strategy
from gbdt_objectives.plotting.axes import BLUE, GRAY, ORANGE, add_legend, axes_or_new
from gbdt_objectives.priors import correct_probability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Scale = Literal["linear", "log"]

STYLES = (
    (BLUE, "o"),
    (ORANGE, "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("black", "X"),
    ("#56B4E9", "P"),
    ("#E69F00", "h"),
)
"""Colours of Okabe and Ito, and markers, one pair per model."""
TINIEST = 1e-300
"""The lowest start of logarithmic axes; below it the ticks underflow."""


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """What is shown of one model, in B bins.

    Attributes
    ----------
    bins : ReliabilityBins
        Weight, mean prediction and observed frequency of label 1 in each bin.
    low, high : ndarray of shape (B,)
        Confidence limits of the frequency that would be observed among many more rows.
    ratio : float
        ``calibration_ratio``: mean prediction over mean outcome.
    probability : ndarray of shape (n,)
        The predictions.
    weight : ndarray of shape (n,) or None
        Weights of the rows.
    """

    bins: ReliabilityBins
    low: Array
    high: Array
    ratio: float
    probability: Array = field(repr=False)
    weight: Array | None = field(repr=False)


class ReliabilityDisplay:
    """Predicted against observed probability of label 1, for one model or several.

    Make it with :meth:`from_predictions`. Each point is a bin of rows: their mean
    prediction and the share of label 1 among them, on a bar that shows the share's
    confidence limits, separately for each bin. Below is a histogram of the predictions.
    The legend gives each model's mean prediction over mean outcome, 1 at best.

    Logarithmic axes cannot show 0: bins without label 1 are drawn on the lower edge as
    open triangles, with their upper limit, and predictions of 0 on the left edge. The
    outermost bars include everything beyond.

    Parameters
    ----------
    curves : dict of str to ReliabilityCurve
        By name of the model, as :meth:`from_predictions` makes them.
    scale : {"linear", "log"}
        Of both axes.

    Attributes
    ----------
    curves : dict of str to ReliabilityCurve
        What is shown.
    scale : str
        How it is shown.
    ax_, counts_ax_ : matplotlib Axes
        The axes of the curves and of the counts, after :meth:`plot`.
    figure_ : matplotlib Figure
        The figure of those axes, after :meth:`plot`.

    See Also
    --------
    reliability_bins : The figures of the points.
    correct_probability : Corrects probabilities for sampling.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from gbdt_objectives import ReliabilityDisplay
    >>> y = [0, 0, 1, 0, 1, 1]
    >>> p = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8]
    >>> display = ReliabilityDisplay.from_predictions(y, p, n_bins=2)
    >>> curve = display.curves["predictions"]
    >>> curve.bins.frequency.round(4), curve.low.round(4), curve.high.round(4)
    (array([0.3333, 0.6667]), array([0.0387, 0.1767]), array([0.8233, 0.9613]))
    """

    ax_: Axes
    counts_ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, *, curves: dict[str, ReliabilityCurve], scale: Scale = "linear") -> None:
        if not curves:
            raise ValueError("curves is empty: there must be at least one model")
        for name in curves:
            if str(name).startswith("_"):
                raise ValueError(
                    f"model {name!r} would be missing from the legend, as matplotlib hides names "
                    "that begin with an underscore: rename it"
                )
        _checks.choice("scale", scale, ("linear", "log"))
        self.curves = curves
        self.scale = scale

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        probability: ArrayLike | Mapping[str, ArrayLike],
        *,
        n_bins: int = 15,
        strategy: Strategy = "quantile",
        scale: Scale = "linear",
        confidence_level: float = 0.95,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> ReliabilityDisplay:
        """Draw the reliability of probabilities on labelled rows.

        The limits are Jeffreys' interval, the quantiles of ::

            Beta(n_1 + 1/2, n_0 + 1/2),   n_i = W_i / w_i

        n_i the count of label i in the bin, and 0 below if n_1 = 0, 1 above if n_0 = 0.
        With weights, W_i is the weight of label i in the bin, w_i = sum w^2 / sum w over
        all rows of label i, and the limits' odds are multiplied by w_1/w_0. So weights
        count as rows, not as copies of rows; exact if all rows of a label weigh the same,
        as after downsampling negatives, and approximate if weights differ between bins.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels 0 and 1, both occurring.
        probability : array-like of shape (n,), or a mapping of names to such
            Of label 1, from one model or from each of several.
        n_bins : int from 1 to 1,000,000
            Number of bins.
        strategy : {"quantile", "uniform", "events"}
            As in ``reliability_bins``; "events" for rare events on logarithmic axes.
        scale : {"linear", "log"}
            Of both axes.
        confidence_level : float in (0, 1)
            Of the limits.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0.
        ax : matplotlib Axes, optional
            Where to draw, from ``plt.subplots``; the counts take its lower part. None: a
            new figure.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        ValueError
            One class only, probabilities outside [0, 1], lengths that differ, no model or
            more than 7, bad ``n_bins``, a confidence level outside (0, 1), unknown words,
            bad weights.
        TypeError
            Arguments of the wrong kind, such as an ``ax`` that is not Axes.
        ImportError
            If matplotlib is missing.

        References
        ----------
        Brown, Cai & DasGupta (2001), "Interval estimation for a binomial proportion",
        Statistical Science 16(2), section 4.1.1, for Jeffreys' interval.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> import numpy as np
        >>> from gbdt_objectives import ReliabilityDisplay, correct_probability, log_odds_shift
        >>> rng = np.random.default_rng(0)
        >>> p = rng.beta(0.5, 50, 10_000)
        >>> y = rng.random(10_000) < p
        >>> uncorrected = correct_probability(p, -log_odds_shift(negative_keep_rate=0.1))
        >>> display = ReliabilityDisplay.from_predictions(
        ...     y, {"uncorrected": uncorrected, "corrected": p}, strategy="events", scale="log"
        ... )
        >>> [text.get_text() for text in display.ax_.get_legend().get_texts()[:2]]
        ['uncorrected: 8.05', 'corrected: 0.994']
        """
        level = _checks.confidence_level("confidence_level", confidence_level, usual=0.95)
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
                curves[name] = _curve(y_true, p, n_bins, strategy, level, sample_weight)
            except (ValueError, TypeError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"model {name!r}: {error}") from error
        return cls(curves=curves, scale=scale).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> ReliabilityDisplay:
        """Draw the picture, on other axes if wanted.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw, from ``plt.subplots``; the counts take its lower part. None: a
            new figure.

        Returns
        -------
        ReliabilityDisplay
            This object, with ``ax_``, ``counts_ax_`` and ``figure_``.
        """
        ax = axes_or_new(ax)
        counts_ax = _split(ax)
        low, high = _limits(list(self.curves.values()), self.scale)
        for i, (name, curve) in enumerate(self.curves.items()):
            color, marker = STYLES[i % len(STYLES)]
            _draw(ax, curve, f"{name}: {curve.ratio:.3g}", color, marker, low)
            _count(counts_ax, curve, _edges(low, high, self.scale), color)
        ax.plot([low, high], [low, high], color=GRAY, lw=1, ls="--", label="predicted = observed")
        if self.scale == "log":
            _name_zeros(ax, list(self.curves.values()))
        ax.set(xscale=self.scale, yscale=self.scale)
        room = (low, 1.15 * high) if self.scale == "log" else (-0.02 * high, 1.02 * high)
        ax.set(xlim=room, ylim=room)
        ax.set_ylabel("observed frequency of label 1")
        ax.tick_params(labelbottom=False)
        add_legend(ax, title="mean prediction / mean outcome")
        weighted = any(curve.weight is not None for curve in self.curves.values())
        counts_ax.set_yscale("log")
        counts_ax.yaxis.set_minor_formatter("")  # which within a decade lie on one another
        counts_ax.set_xlabel("predicted probability of label 1")
        counts_ax.set_ylabel("weight" if weighted else "rows")
        for axes in (ax, counts_ax):
            axes.spines[["top", "right"]].set_visible(False)
        self.ax_, self.counts_ax_, self.figure_ = ax, counts_ax, ax.figure
        return self


def _curve(
    y_true: ArrayLike,
    probability: ArrayLike,
    n_bins: int,
    strategy: Strategy,
    level: float,
    sample_weight: ArrayLike | None,
) -> ReliabilityCurve:
    found = reliability_bins(
        y_true, probability, n_bins=n_bins, strategy=strategy, sample_weight=sample_weight
    )
    y, p = np.asarray(y_true, np.float64), np.asarray(probability, np.float64)
    w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    W1, W0 = float(w @ y), float(w @ (1 - y))
    if W1 == 0 or W0 == 0:
        raise ValueError(
            f"y_true holds the single class {int(W1 > 0)} among rows of weight above 0: predicted "
            "and observed probability are compared on rows of both labels"
        )
    low, high = _interval(found, _row_weight(w[y == 1]), _row_weight(w[y == 0]), level)
    return ReliabilityCurve(
        bins=found,
        low=low,
        high=high,
        ratio=calibration_ratio(y_true, probability, sample_weight=sample_weight),
        probability=p[w > 0],
        weight=None if sample_weight is None else w[w > 0],
    )


def _row_weight(w: Array) -> float:
    """sum w^2 / sum w."""
    return float(w @ (w / w.sum()))


def _interval(bins: ReliabilityBins, w1: float, w0: float, level: float) -> tuple[Array, Array]:
    """Jeffreys' limits, where a row of label i weighs w_i."""
    from scipy.stats import beta

    n1, n0 = bins.weight * bins.frequency / w1, bins.weight * (1 - bins.frequency) / w0
    tail = (1 - level) / 2
    low = np.where(n1 > 0, beta.ppf(tail, n1 + 0.5, n0 + 0.5), 0.0)
    high = np.where(n0 > 0, beta.isf(tail, n1 + 0.5, n0 + 0.5), 1.0)
    shift = math.log(w1 / w0)
    return correct_probability(low, shift=shift), correct_probability(high, shift=shift)


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
    below: Axes = ax.figure.add_subplot(grid[1], sharex=ax)
    return below


def _limits(curves: list[ReliabilityCurve], scale: Scale) -> tuple[float, float]:
    """From the lowest point, or from 0, to the highest point or confidence limit."""
    points = np.concatenate([[*curve.bins.probability, *curve.bins.frequency] for curve in curves])
    high = float(max(points.max(), *(curve.high.max() for curve in curves)))
    return (max(points[points > 0].min() / 2, TINIEST) if scale == "log" else 0.0), high


def _edges(low: float, high: float, scale: Scale) -> Array:
    """Of the bars of the counts."""
    return np.geomspace(low, high, 51) if scale == "log" else np.linspace(low, high, 51)


def _draw(
    ax: Axes, curve: ReliabilityCurve, name: str, color: str, marker: str, low: float
) -> None:
    """Points, the line through neighbours, limits; what is below ``low`` is on the edge."""
    p, frequency = curve.bins.probability, curve.bins.frequency
    inside = (p >= low) & (frequency >= low)
    x = np.maximum(p, low)
    ax.vlines(x, np.maximum(curve.low, low), curve.high, color=color, alpha=0.35, lw=3)
    shown = np.where(inside, frequency, np.nan)
    ax.plot(x, shown, color=color, marker=marker, ms=4.5, lw=1.2, label=name)
    for chosen, at_edge in ((frequency < low, "v"), ((p < low) & (frequency >= low), "<")):
        if chosen.any():
            y = np.maximum(frequency, low)[chosen]
            ax.plot(x[chosen], y, at_edge, color=color, mfc="none", ms=6, clip_on=False)


def _name_zeros(ax: Axes, curves: list[ReliabilityCurve]) -> None:
    """A line of the legend for the open triangles, if there are any."""
    if any((curve.bins.frequency == 0).any() for curve in curves):
        ax.plot([], [], "v", color=GRAY, mfc="none", ms=6, label="no label 1 observed")
    if any((curve.bins.probability == 0).any() for curve in curves):
        ax.plot([], [], "<", color=GRAY, mfc="none", ms=6, label="predicted 0")


def _count(ax: Axes, curve: ReliabilityCurve, edges: Array, color: str) -> None:
    p = np.clip(curve.probability, edges[0], edges[-1])
    ax.stairs(np.histogram(p, edges, weights=curve.weight)[0], edges, color=color, lw=1.2)
