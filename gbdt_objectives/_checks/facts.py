"""What a door knows when it asks a guard.

A door is a way in which an objective or a metric reaches a booster: ``train``, the estimators, a
plain call of a library, Dask, Spark, a folder. It fills in what it knows, and a guard asks no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gbdt_objectives._links import Link
    from gbdt_objectives._registry import Named


@dataclass(frozen=True, eq=False, kw_only=True)
class Facts:
    """Facts of one call; None, or nothing, is what its door does not know.

    Attributes
    ----------
    name : str
        The objective or metric that is asked about, as messages call it.
    objective : Objective, optional
        What is trained on.
    link : Link, optional
        What a margin means to the objective or metric.
    intercept, tolerance, start : float, optional
        Where boosting should start, how far from there it may, and where it starts.
    library : Named, optional
        The library that trains or calls.
    own : str or None
        The library's own objective, by whose name its models predict.
    transform : Link, optional
        What models of that objective make of a margin.
    estimator : object, optional
        The estimator that trains.
    estimator_of : Named, optional
        The library whose own estimator this is.
    role : {"Regressor", "Classifier"}, optional
        What it is.
    metric : Metric, optional
        What is measured, and what early stopping looks at.
    others : tuple
        What is measured beside it: names of the library's metrics, functions.
    predictions : Link, optional
        By which link the library has made the predictions that the metric gets of margins.
    form : Named, optional
        The library in whose form the metric is to answer.
    directions : tuple of bool
        Whether each early stopping of the library on this metric maximises.
    within : bool
        Whether a library's code stands above, with a function of the user's between.
    alone : bool
        Whether the rows at hand are those of one worker of several, which nothing adds up.
    """

    name: str = ""
    objective: Any = None
    link: Link | None = None
    intercept: float | None = None
    tolerance: float | None = None
    start: float | None = None
    library: Named | None = None
    own: Any = None
    transform: Link | None = None
    estimator: object = None
    estimator_of: Named | None = None
    role: str | None = None
    metric: Any = None
    others: tuple[Any, ...] = ()
    predictions: Link | None = None
    form: Named | None = None
    directions: tuple[bool, ...] = ()
    within: bool = False
    alone: bool = False
