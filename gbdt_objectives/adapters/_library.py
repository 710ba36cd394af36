"""Library: what differs between XGBoost, LightGBM and others, as one value of functions and tables.

Each is made in its own folder, ``library.py``; ``_registry.library(name)`` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from gbdt_objectives._registry import Named

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gbdt_objectives._checks import Array
    from gbdt_objectives._links import Link
    from gbdt_objectives.adapters._arguments import Request
    from gbdt_objectives.adapters._estimators import Fitting
    from gbdt_objectives.adapters._imbalance import Trees
    from gbdt_objectives.metrics import Metric
    from gbdt_objectives.objectives import Objective
    from gbdt_objectives.objectives.base import Start


@dataclass(frozen=True, kw_only=True, eq=False)
class Library(Named):
    """A library by its names, functions and tables, and a sentence, ``cannot_...``, for each thing
    that it cannot do. A model is a booster, or an estimator of it."""

    # Estimators, ours and those that ours wrap.
    kinds: Mapping[str, type]  # its drop-in estimators by name
    fitting: type[Fitting]
    aliases: Mapping[str, tuple[str, ...]]  # all names of a parameter that has more than one
    defaults: Mapping[str, tuple[str | None, ...]]
    """What ``objective`` may be, by role, when ours replaces it."""
    knows_objective: Callable[[str], bool]  # whether it has one of this name: it is asked
    classifies: tuple[str, ...] = ()  # what else a classifier's may be, for predictions of classes
    takes: Mapping[str, tuple[float, float]]
    """The least and the greatest label of its objectives that do not take every number."""
    correctable: tuple[str | None, ...]  # a classifier's objectives whose log-odds can be shifted
    functions_are_log_odds: bool = False  # whether it takes margins of a function for log-odds
    own_stopping: tuple[str, ...] = (
        "early_stopping_rounds", "early_stopping_round", "early_stopping", "n_iter_no_change",
    )  # fmt: skip
    """Parameters that give an estimator early stopping on rows that fit is given."""
    zero_rounds_stop: bool = False  # whether early stopping after 0 rounds or fewer is on
    check_stopping: Callable[[Any], None] = lambda estimator: None
    """Raise for an estimator that cannot stop on rows of ours."""
    stops_after: Callable[[int], Mapping[str, Any]] = lambda k: {"early_stopping_rounds": k}
    """Parameters with which an estimator stops after so many rounds without improvement."""
    fixed_rounds: Callable[[int], Mapping[str, Any]] = lambda rounds: {"n_estimators": rounds}
    same_steps: Callable[[Any, Sequence[Any]], Mapping[str, Any]] = lambda estimator, models: {}
    """Parameters that it would choose by the number of rounds, as these models chose them."""
    weigh_held_out: Callable[[Any], Mapping[str, Any]] = lambda w: {}
    """Arguments of fit for the weights of rows held out."""
    own_class: Callable[[Any], Any] = lambda estimator: estimator
    """An estimator as one that takes an objective."""
    quiet_fit: Mapping[str, Any] = field(default_factory=dict)  # arguments to print no rounds
    check_offset: Callable[[Any], None] = lambda estimator: None
    """Raise for an estimator whose parameters do not go with an offset objective."""
    check_start: Callable[[float], None] = lambda log_odds: None
    """Raise if training cannot start at these log-odds."""
    count_rounds: Callable[[Any], int]  # with which an estimator predicts, after early stopping
    small: Mapping[str, Any]  # parameters of small trees, on one thread, without printing
    stops: Any = ()
    """Its callbacks that stop early; ``data`` names the set that they look at, None the last."""

    # The intercept.
    margins_of: Callable[[Any], tuple[str, Link]]
    """A booster's objective and its margins; undeclared ones where its file cannot tell."""
    shift_intercept: Callable[..., Any]  # (model, shift, mark) -> a marked copy
    mark_of: Callable[[Any], str | None]
    """What corrects the log-odds of a model already, as :func:`_train.corrections` reads it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingLibrary(Library):
    """A library that trains by a function, ours under the name of its own."""

    data: type  # its class of data sets
    instead: Mapping[str, str]  # other libraries' arguments of train, and what to write
    parses_names: bool = False  # whether it parses the names of evaluation sets out of a report
    stop: Callable[[Metric, int, Mapping[str, Any]], Any]
    """(metric, rounds, parameters) -> a callback of ours that stops after so many rounds."""
    direct: Callable[[Sequence[Any], Metric], list[Any]] = lambda callbacks, metric: [*callbacks]
    """The user's callbacks, with early stopping on the metric."""
    check: Callable[[Request, Mapping[str, Any], Sequence[Any]], None]
    """Raise for parameters that the library would ignore, or that do not fit the callbacks."""
    layout_of: Callable[[Any], dict[str, Any]] = lambda dataset: {"columns": None, "rows": {}}
    """The facts of a data set's layout, where the library matches by position."""
    labels: Callable[[Any, str], Array | None]
    """Labels of a data set of this name, checked; None if they are not in memory."""
    hold: Callable[[Request, Sequence[Any]], AbstractContextManager[list[Any]]] = (
        lambda request, datasets: nullcontext([])
    )
    """Hold the data while the library trains; gives callbacks that it needs for that."""
    place: Callable[..., tuple[Any, dict[str, Any]]]
    """(request, objective, params, data sets) -> the started objective, with its ``shift``, of a
    training on the first data set, and the parameters with which boosting starts there."""
    run: Callable[..., Any]
    """(request, callbacks, started objective, parameters of the start) -> a booster or history."""
    finish: Callable[[Any, Objective, Start], Any]
    """A complete model: with what the objective added to each margin."""
    predicts_on: Callable[[Any], Any] = lambda X: X  # what a booster takes for rows of features


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenLibrary(TrainingLibrary):
    """A library whose boosters call objectives by themselves, and are data that we read."""

    fold_rows: Callable[[Request], Callable[[Any], Array]]  # the rows of the data of cv

    # Calls: what a booster, and whoever calls us, gives away.
    trained_as: Callable[[Any], tuple[str, Link | None]] = lambda booster: ("", None)
    """The library's objective by whose name a booster predicts under ours, and its transform."""
    start_is_told: Callable[[Any], bool] = lambda booster: False  # where to start, by the user
    evaluated_as: Callable[[Mapping[str, Any], Link | None], Link | None]
    """(locals of the frame that evaluates, link that a metric reads) -> the link by which it made
    the predictions; None if they are margins, or what the metric reads."""
    measured: Callable[[Mapping[str, Any]], Sequence[str]] = lambda seen: ()  # names, so far
    read_call: Callable[[Mapping[str, Any], Mapping[str, Any], str], dict[str, Any]]
    """(locals of train or cv, of a fit above, the booster's objective) -> facts of a training."""
    note: Callable[[tuple[str, bool, str | None], float, Any], None] = lambda *given: None
    """Let early stopping know what a metric of ours said, if it does not itself."""

    # What parameters did to the intercept.
    read_odds: Callable[[Any, ArrayLike | None], float]
    """The factor by which a booster's parameters multiplied the odds of label 1."""
    predict_log_odds: Callable[[Any, Any, ArrayLike | None], Array]

    # A trained model as data.
    tolerance: float  # how near a served prediction is
    refuses_new: bool  # whether it raises for a category that training did not have
    misreads_newer: bool  # whether it reads files of later versions, and predicts something else
    reader: Callable[[Any], dict[str, Any]]
    """How a served model reads the file: its library, and what it must be told."""
    link_of: Callable[[Any], Link]
    """What the margins of the file are; raises for a transform that no link names."""
    count_outputs: Callable[[Any], int]
    count_features: Callable[[Any], int]
    names_of: Callable[[Any], list[str] | None]  # of the features
    same_names: Callable[[list[str], list[str]], bool]  # of the model, and of columns
    categories_of: Callable[[Any, list[list[Any] | None]], list[list[Any] | None]]
    """The categories of each feature in the model's order; the second argument are those of X."""
    margin: Callable[[Any, Any], Array]  # from the rounds that the model predicts with, float64
    write: Callable[[Any, str], object]  # the rounds that it predicts with, into a file
    write_all: Callable[[Any, str], object]  # all rounds
    open_booster: Callable[[str], Any]
    restore: Callable[..., Any]
    """(kind, path, parameters, classes, objective, names) -> an estimator around a file's model."""
    trees: Callable[[Any], Trees]  # of a booster, as arrays
    leaves: Callable[[Any, Any], Array]  # (model, X) -> the leaf of each row in each tree


class CannotTrain(ValueError):
    """An objective that a library cannot train, with the reason and the remedy."""


_known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def read_once(read: Callable[[Any], str], booster: Any) -> str:
    """What a booster says of its objective, which does not change while it trains."""
    if booster not in _known:
        _known[booster] = read(booster)
    return _known[booster]
