"""What the displays share: axes to draw on, colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gbdt_objectives._checks import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GRAY = "#0072B2", "#D55E00", "0.55"
POINTS = 2000
"""About as many points of one curve are drawn at most."""


class Display(type):
    """The class of displays, which are made from predictions."""

    def __getattr__(cls, name: str) -> Any:
        if name != "from_estimator":
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        raise AttributeError(
            f"{cls.__name__} has no from_estimator: pass y_true and model.predict_proba(X)[:, 1], "
            f"or the model's score, to {cls.__name__}.from_predictions"
        )


def axes_or_new(ax: Axes | None) -> Axes:
    """``ax``, or the axes of a new figure."""
    pyplot = _pyplot()
    from matplotlib.axes import Axes

    if ax is None:
        new: Axes = pyplot.subplots(layout="constrained")[1]
        return new
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
    return ax


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "matplotlib is needed to draw: pip install 'gbdt_objectives[plot]'"
        ) from error
    return pyplot


def add_legend(ax: Axes, *args: Any, **options: Any) -> None:
    """Inside the axes, where least is hidden: beside them it would lie on a neighbouring panel."""
    usual = {"loc": "best", "fontsize": "small", "title_fontsize": "small"}
    ax.legend(*args, **(usual | options))


MOST_NAMED = 7
"""Classes that a legend names: of more, evenly spaced ones, whose colours tell the others."""


def named(count: int) -> list[int]:
    """Which of ``count`` things in order to name: the first, the last, some in between."""
    places: list[int] = some(0, count - 1, MOST_NAMED, np.empty(0, int)).tolist()
    return places


def short_names(labels: Array, width: int) -> list[str]:
    """Labels of at most ``width`` characters, with an ellipsis in the middle of longer ones;
    their positions instead where that would make two of them equal."""
    head, tail = (width - 1) // 2, width // 2
    full = [str(label) for label in labels]
    names = [x if len(x) <= width else f"{x[:head].rstrip()}…{x[-tail:].lstrip()}" for x in full]
    if len(set(names)) == len(names):
        return names
    return [f"class {k}" for k in range(len(names))]


def some(first: int, last: int, count: int, always: Array) -> Array:
    """About ``count`` whole numbers from first to last, and those of ``always`` among them."""
    numbers = np.linspace(first, last, min(count, max(last - first + 1, 0))).round().astype(int)
    inside = always[(always >= first) & (always <= last)]
    return np.union1d(numbers, inside)
