"""What a door knows when it asks a guard.

A door is a way in which an objective or a metric reaches a booster: ``train``, the estimators, a
plain call of a library, Dask, Spark, a folder. It fills in what it knows, and a guard asks no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gbdt_objectives._links import Link
    from gbdt_objectives._registry import Named


@dataclass(frozen=True, eq=False, kw_only=True)
class Facts:
    """Facts of one call; None, or nothing, is what its door does not know."""

    name: str = ""  # of the objective or metric that is asked about, in messages
    objective: Any = None  # what is trained on
    link: Link | None = None  # what a margin means to the objective or metric
    intercept: float | None = None  # where boosting should start
    tolerance: float | None = None  # how far from there it may
    start: float | None = None  # where it does
    pull: float | None = None  # |sum w g| / sum w |g| there, of several outputs added up
    given: str = ""  # the argument of our train that says so
    told: bool = False  # whether the user said so
    engine: str = ""  # on whose worker
    library: Named | None = None  # which trains or calls
    own: Any = None  # the library's own objective, by whose name its models predict
    transform: Link | None = None  # what models of that objective make of a margin
    estimator: object = None  # which trains
    estimator_of: Named | None = None  # whose own estimator this is
    role: str | None = None  # Regressor or Classifier
    metric: Any = None  # what is measured, and what early stopping looks at
    others: tuple[Any, ...] = ()  # what else is measured: names, functions
    predictions: Link | None = None  # by which the library made what the metric gets of margins
    form: Named | None = None  # in whose form the metric is to answer
    directions: tuple[bool, ...] = ()  # whether each early stopping on the metric maximises
    response: str = ""  # the method of the estimator by which a scorer made what the metric gets
    within: bool = False  # whether a library stands above, with a user's function between
    row_start: str = ""  # the argument that starts each row
    ends: tuple[float, float] = (-np.inf, np.inf)  # the least and the greatest of these starts
    has_start: Mapping[str, bool] = field(default_factory=dict)  # which data sets have one
    earlier: str = ""  # the argument that is an earlier model
    outputs: int = 1  # of that model
    averages: bool = False  # whether it is a forest, which predicts the mean of its trees
    came: Link | None = None  # what its margins are
    columns: tuple[Sequence[str], ...] = ((), ())  # those of the model, and of the data
    data: Any = None  # the training rows
    evaluated: Sequence[tuple[Any, str]] = ()  # evaluation sets and their names
    labels: Callable[[int | None], Any] | None = None  # of such a set, or of the training rows
    looks_at: str | None = None  # the name of the set on which training stops; None: the last
    weighted: bool = False  # whether rows have weights
    alone: Named | None = None  # whose rows are one worker's of several, which nothing adds up
    classes: Sequence[Any] = (0, 1)  # of a model, in its order
    thinned: Any = None  # the class some of whose rows a rate drops, which nobody named
    rows_of: tuple[float, float] = (np.inf, 0.0)  # how many rows it and the others had
    kept: float = np.inf  # how many of its rows are left
    to_name: str = ""  # how to name the class
    parameters: Sequence[tuple[str, str, Any]] = ()
    """(as it is written, its main name, value) of an estimator that is wrapped, and of its parts"""
    why: str = ""  # what weights of classes there would do, and the remedy
