"""What the displays share: axes to draw on, colours."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives._registry import load

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


def named(count: int) -> list[int]:
    """Which of ``count`` things in order to name: the first, the last, some in between."""
    return [int(k) for k in some(0, count - 1, MOST_NAMED, np.empty(0, int))]


def title_of(what: str, count: int) -> str:
    """The title of a legend of ``count`` things, which says if not all of them are named."""
    shown = len(named(count))
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
