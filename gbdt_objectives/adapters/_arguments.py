"""Checks of arguments that all adapters share, and of parameters by tables of the libraries'."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Layout, Training, warn
from gbdt_objectives._checks.spellings import counterpart, unexpected
from gbdt_objectives._links import LOGIT, Link
from gbdt_objectives._registry import EVERY, Named
from gbdt_objectives._rows.rows import ArrayValue
from gbdt_objectives.metrics import Metric
from gbdt_objectives.metrics.base import RenderedMetric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.priors import LogOddsShift

if TYPE_CHECKING:
    from gbdt_objectives.adapters._models import TrainingLibrary


ABSENT: Any = None
"""The default of ``objective``, which is needed: without it a message says what to write."""


@dataclass(frozen=True)
class Request:
    function: str  # train, or cv, which has no ``evals``
    params: Mapping[str, Any]
    data: Any
    num_boost_round: int
    objective: Objective
    metric: Metric | None
    evals: Sequence[tuple[Any, str]]
    early_stopping_rounds: int | None
    others: dict[str, Any]  # further arguments, which go on to the library
    training: Training = field(default_factory=Training, init=False)  # as far as it is known

    def check(self, library: TrainingLibrary, kind: type) -> dict[str, Any]:
        """All data sets, of the library's class ``kind``, by the names that messages give them.
        Raise for anything that the booster would misread or silently ignore."""
        function, params, others = self.function, self.params, self.others
        objective, metric, evals = self.objective, self.metric, self.evals
        rounds = self.early_stopping_rounds
        check_data("data", self.data, kind)
        taken = passed_on(kind, function)
        for name in sorted(others.keys() - taken | others.keys() & library.instead.keys()):
            known = [key for key in (*OURS, *taken) if key not in library.instead]
            known = [key for key in known if function == "train" or key not in ("evals", "metrics")]
            written = library.instead.get(name) or counterpart(function, name, known)
            if "obj" in name and callable(others[name]) and not isinstance(others[name], Objective):
                written = WRAPPED
            elif not written and _is_parameter(self, library, name):
                written = f"a parameter of the booster belongs into params, {{{name!r}: ...}}"
            said = f"{function}() got {name}=: {written}" if written else ""
            raise TypeError(said or unexpected(function, function, name, known))
        if not isinstance(params, Mapping):
            raise TypeError(f"params must be a dict of parameters, found {_checks.shown(params)}")
        if objective is None and params.get("objective") is not None:
            _refuse_as_parameter(function, params["objective"])
        check_is_objective(objective)
        self.training.know(library=EVERY[library.name], objective=objective, link=objective.link)
        if metric is not None or function == "cv":
            check_is_metric(metric)
            self.training.know(metric=metric)
        _checks.whole_number("num_boost_round", self.num_boost_round, 1)
        if rounds is not None:
            _checks.whole_number("early_stopping_rounds", rounds, 1)
        if function == "cv" and others.get("metrics"):
            raise TypeError("cv() got metrics=: write metric=; nothing else is measured")
        _check_evals(evals, parses_names=library.parses_names)
        if metric is None and evals:
            raise ValueError("evals is given but metric is None: nothing would be measured on them")
        if metric is not None and not evals and function == "train":
            raise ValueError("metric is given but evals is empty: pass evals=[(data, name), ...]")
        if rounds is not None and metric is None:
            raise ValueError("early_stopping_rounds needs metric= and evals= to stop on")
        datasets = {"data": self.data} | {f"evals {name!r}": dataset for dataset, name in evals}
        own, named = library.layout_of(self.data)["columns"], objective.equations.named
        for name, dataset in datasets.items():
            check_data(name, dataset, kind)
            layout = library.layout_of(dataset)
            layout["rows"] |= named if name == "data" else ()
            Layout(name=name, trained_on=own, of="data", **layout)
        return datasets


OURS = [each.name for each in fields(Request)][1:-2]
THEIRS = frozenset((
    "dtrain", "train_set", "obj", "maximize", "feval", "custom_metric", "valid_sets", "valid_names",
))  # fmt: skip
"""The arguments of ``train``, and those of the boosters' own that it has under other names."""


def _is_parameter(request: Request, library: TrainingLibrary, name: str) -> bool:
    """Whether the booster takes an argument of ``train`` as one of its parameters."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            library.check(request, {name: request.others[name]}, ())
    except Exception:  # whatever it says of the parameter, it is none to write there
        return False
    return True


def passed_on(kind: type, function: str) -> set[str]:
    """The arguments that ours pass on to the ``train`` or ``cv`` of a data set's library."""
    place, found = kind.__module__, set[str]()
    while place:  # of xgboost.dask, which has fewer, and of xgboost
        if hasattr(sys.modules[place], function):
            found.update(signature(getattr(sys.modules[place], function)).parameters)
        place = place.rpartition(".")[0]
    return found - THEIRS


WRAPPED = "write objective=gbdt_objectives.objective(function)"


def _refuse_as_parameter(function: str, found: object) -> NoReturn:
    instead = WRAPPED
    if isinstance(found, str):
        instead = (
            "for an objective of the library call its own function; for one of gbdt_objectives "
            f"pass objective= to {function}(), such as qwk_objective()"
        )
    elif isinstance(found, Objective) or not callable(found):
        instead = f"pass it to {function}(), objective="
    raise TypeError(
        f"params['objective'] is {_checks.shown(found)} and objective= is missing: {instead}"
    )


def check_data(name: str, data: object, kind: type) -> None:
    found = type(data).__name__
    if isinstance(data, kind):
        return
    if found in ("DaskDMatrix", "DaskQuantileDMatrix"):
        raise TypeError(
            f"{name} is a {found}, of many machines: use train of "
            "gbdt_objectives.distributed.dask, train(client, params, data, ...)"
        )
    place, arguments = f"{kind.__module__.split('.')[0]}.{kind.__name__}", "X, label=y"
    if kind.__name__ == "DaskDMatrix":
        place, arguments = "xgboost.dask.DaskDMatrix", "client, X, y"
    raise TypeError(f"{name} must be a {place}, found {found}: wrap it, {place}({arguments})")


def check_is_objective(objective: object) -> None:
    if isinstance(objective, Objective):
        return
    _checks.check_called("objective", objective)
    raise TypeError(
        f"objective must be an objective such as qwk_objective(), found "
        f"{_checks.shown(objective)}: wrap your own gradient function with "
        "gbdt_objectives.objective(function); a built-in one is for the booster's own train()"
    )


def num_class(objective: Objective) -> tuple[Values, str]:
    """What the number of classes may be, and why no other."""
    K = objective.outputs
    if K == 1:
        return (0, 1), (
            "the objective has one margin per row; leave it out, or train an objective with as "
            "many outputs (a function of your own with the library's own train(), as "
            "gbdt_objectives.objective(function))"
        )
    return (K,), (
        f"{objective!r} has {K} outputs, and num_class={K} is set for it; leave it out, or make "
        "the objective for as many classes"
    )


def several_outputs(objective: Objective) -> dict[str, int]:
    return {"num_class": objective.outputs} if objective.outputs > 1 else {}


def check_is_metric(metric: object) -> None:
    """Raise unless it is a metric of this package."""
    _checks.check_called("metric", metric)
    if isinstance(metric, RenderedMetric):
        raise TypeError(
            "metric must be a Metric, found its rendering for a booster: pass the metric itself, "
            "without .xgboost or .lightgbm"
        )
    if not isinstance(metric, Metric):
        raise TypeError(
            f"metric must be a Metric such as extended_qwk_metric(), found "
            f"{_checks.shown(metric)}: nothing else knows the direction in which to stop, and "
            "others of a list are measured on the predictions"
        )


def as_list(value: Any) -> list[Any]:
    """What may be given alone, in a list or as None, as a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple | set) else [value]


def metrics_of(
    own: Sequence[str], functions: Sequence[Any], looked_at: Iterable[Any]
) -> dict[str, Any]:
    """The facts of a plain call's metrics: names, functions and ours, and which are looked at."""
    functions = [one.metric if isinstance(one, RenderedMetric) else one for one in functions]
    names = (one if isinstance(one, str) else getattr(one, "name", None) for one in looked_at)
    return {
        "metrics": [one for one in functions if isinstance(one, Metric)],
        "others": [*own, *(one for one in functions if not isinstance(one, Metric))],
        "watched": {name for name in names if name is not None},
    }


def check_booster(booster: object, kind: type, attribute: str) -> None:
    if not isinstance(booster, kind):
        raise TypeError(
            f"booster must be a Booster of {kind.__module__.partition('.')[0]}, found "
            f"{type(booster).__name__}: from an estimator take {attribute}"
        )


def refuse(params: Mapping[str, Any], name: str, allowed: Values, reason: str) -> None:
    """Raise if ``params`` has it with a value that is not ``allowed``."""
    if params.get(name) is not None and not same(params[name], allowed):
        raise ValueError(f"params[{name!r}] = {_checks.shown(params[name])} is refused: {reason}")


NO_MARGIN = "whose margin is neither in label units nor log-odds: a shift would not mean anything"
NO_LOG_ODDS = "whose model has no log-odds of a positive class for a shift to correct"


def refuse_objective(name: str, why: str) -> NoReturn:
    raise ValueError(f"the booster's objective is {name!r}, {why}")


def check_shiftable(name: str, link: Link) -> None:
    """Raise unless margins are what a shift has a meaning for: label units or log-odds."""
    if not (link.is_label_unit or link.takes_several or link == LOGIT):
        refuse_objective(name, NO_MARGIN)


def read_shift(delta: ArrayLike, outputs: int) -> Array:
    """What to add to the margin of each output, (K,); log-odds of two classes may be in one."""
    if isinstance(delta, LogOddsShift):
        d = delta.values
        if outputs == 1 and d.shape == (2,):
            return np.array([d[1] - d[0]])
        delta = np.array([0.0, d]) if outputs == 2 and d.ndim == 0 else ArrayValue._plain(delta)
    if outputs == 1:
        return np.array([_checks.number("delta", delta)])
    given = _checks.real_array("delta", delta)
    if given.shape != (outputs,):
        raise ValueError(
            f"the booster has {outputs} outputs: delta must have shape ({outputs},), found "
            f"{given.shape}"
        )
    _checks.finite("delta", given)
    return given.astype(np.float64)


def check_moved(found: Array, expected: Array, tolerance: Array) -> None:
    if not (np.abs(found - expected) <= tolerance).all():
        raise RuntimeError(
            f"the edited model predicts margins {found.tolist()} instead of {expected.tolist()}: "
            "the intercept cannot be shifted with this version of the booster"
        )


def same(value: object, allowed: tuple[object, ...]) -> bool:
    """Whether it is one of ``allowed``, in any spelling that boosters accept, as "false" for 0."""

    def plain(x: object) -> str:
        text = str(x).strip().lower()
        text = {"true": "1", "+": "1", "false": "0", "-": "0"}.get(text, text)
        try:
            return str(float(text))
        except ValueError:
            return text

    return plain(value) in {plain(option) for option in allowed}


def is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def _check_evals(evals: object, *, parses_names: bool) -> None:
    if not isinstance(evals, list | tuple) or not all(
        is_pair(one) and isinstance(one[1], str) for one in evals
    ):
        raise TypeError(f"evals must be a list of pairs (data, name), found {_checks.shown(evals)}")
    names = [name for _, name in evals]
    for name in names:
        if not name:
            raise ValueError("a name in evals is empty: name what it holds, such as 'held_out'")
        if parses_names and set(name) & set(" \t\n:-"):  # XGBoost parses its own report
            raise ValueError(
                f"a name in evals must not contain a blank, ':' or '-', found "
                f"{_checks.shown(name)}: write 'held_out' for 'held out'"
            )
    if len(set(names)) < len(names):
        raise ValueError(f"the names in evals must differ, found {_checks.shown(names)}")


Values = tuple[object, ...]
Refused = dict[str, tuple[Values, str]]
RefusedWith = Mapping[str, tuple[Values, Mapping[str, Values], str]]


def by_reason(groups: Mapping[str, str], before: str = "") -> Refused:
    """{name: (neutral values, reason)}, from {reason: "name=neutral|neutral other_name"}."""
    return {
        name: (tuple(neutral.split("|")) if has_neutral else (), before + why)
        for why, words in groups.items()
        for name, has_neutral, neutral in (word.partition("=") for word in words.split())
    }


def refuse_all(params: Mapping[str, Any], table: Refused, main: Mapping[str, str] = {}) -> None:
    """``main`` has the table's name of a parameter that is written otherwise."""
    for name in params:
        if (found := table.get(main.get(name, name))) is not None:
            refuse(params, name, *found)


@dataclass(frozen=True)
class ParameterTable:
    """What train() does with every parameter of a library, under its main name. A neutral value of
    a refused parameter changes nothing, as None, which the libraries drop."""

    library: str
    aliases: Mapping[str, tuple[str, ...]]  # all names of a parameter that has more than one
    passed: frozenset[str]  # they act, and the model starts and predicts correctly
    used: frozenset[str]  # train() itself looks at them
    refused: Refused  # neutral values, and why any other is refused and what to do instead
    refused_with: RefusedWith  # only if all these others have one of these values

    @cached_property
    def main(self) -> dict[str, str]:
        return {alias: name for name, aliases in self.aliases.items() for alias in aliases}

    @cached_property
    def known(self) -> set[str]:
        decided = {*self.passed, *self.used, *self.refused}
        return {alias for name in decided for alias in self.names(name)}

    def names(self, name: str) -> tuple[str, ...]:
        return self.aliases.get(name, (name,))

    def check(self, params: Mapping[str, Any], here: Refused, knows: Callable[[str], bool]) -> None:
        """Raise for what must not reach the library; ``knows``: names that the table lacks."""
        refused, seen = {**self.refused, **here}, dict[str, str]()
        for name, value in params.items():
            if value is None:
                continue
            main = self.main.get(name, name)
            other = seen.setdefault(main, name)
            if other != name and not same(value, (params[other],)):
                first, second = sorted((other, name), key=self.names(main).index)
                raise ValueError(
                    f"params[{first!r}] = {params[first]!r} and params[{second!r}] = "
                    f"{params[second]!r} are one parameter of {self.library}, which would "
                    "silently use one of the values; leave one out"
                )
            if main in self.refused_with:
                neutral, others, reason = self.refused_with[main]
                if all(same(self.value(params, o), vs) for o, vs in others.items()):
                    refuse(params, name, neutral, reason)
            if main in refused:
                refuse(params, name, *refused[main])
            if name in self.known or knows(name):
                continue
            plain = str(name).lower().replace("-", "_").replace(".", "_").replace(" ", "_")
            nearest = difflib.get_close_matches(plain, sorted(self.known), 1, 0.8)
            if nearest:
                raise ValueError(
                    f"params[{name!r}] = {value!r} is refused: {self.library} has no such "
                    f"parameter and ignores it; did you mean {nearest[0]!r}?"
                )
            warn(
                f"params[{name!r}] = {_checks.shown(value)} is ignored: {self.library} has no such "
                "parameter; leave it out, or correct the name"
            )

    def given(self, params: Mapping[str, Any], name: str) -> list[str]:
        """Under which of its names a parameter has a value."""
        return [alias for alias in self.names(name) if params.get(alias) is not None]

    def value(self, params: Mapping[str, Any], name: str) -> Any:
        """The value of a parameter under whichever name it is given, else None."""
        return next((params[alias] for alias in self.given(params, name)), None)


def refuse_parameters(
    parameters: Mapping[str, Any], names: Iterable[str], allowed: tuple[Any, ...], why: str
) -> None:
    for name in names:
        value = parameters.get(name)
        if value is not None and not (np.isscalar(value) and value in allowed):
            raise ValueError(f"estimator has {name}={value!r}, {why}")


Documented = TypeVar("Documented", bound=Callable[..., Any])


def words_of(library: Named, **words: str) -> dict[str, str]:
    """The words of a library for these texts: its names, and those that differ from most."""
    names = {"library": library.name, "title": library.title, "kind": library.prefix}
    margins = f", and margins with\n``{library.asks_margins}``" * bool(library.asks_margins)
    return {**USUAL, **names, "margin": library.asks_margins, "margins": margins, **words}


USUAL = {
    # in what is said
    "instance": "``qwk_objective(y)``.",
    "place": "the leaves of the first tree", "held_out": "the last evaluation set", "of_fit": "",
    "trains": "``qwk_objective()``", "objective": "str, callable or Objective", "own": "",
    "of_rows": """
    ``fit`` takes what ``objective(function, rows=["cost"])``, or ``named`` of your own ``Loss``,
    names as further arguments, ``cost=``.""",
    "scores": "``focal_objective(2)`` or\n``ordinal_logit_objective(5)``",
    "labels": "Labels of two classes may be any, of K they are 0 to K-1",
    "raises": """
Raises
------
TypeError, ValueError
    Arguments of the wrong kind, contradictory starts, refused parameters, and whatever the
    objective finds wrong with the data.
""",
    # in examples
    "stops": "early_stopping_rounds=10", "max": "n_estimators",
    "fit": "X[:400], y[:400], eval_set=[(X[400:], y[400:])],\n...     ",
}  # fmt: skip


STARTS = """. If it has {start}, training starts there
    and the model's own intercept is 0; then all ``evals`` need one."""

TRAIN = """

Boosting starts at the objective's intercept, which goes into {place},
and stops on ``metric`` in its own direction; :mod:`gbdt_objectives.adapters` has the conventions.
{theirs} of ``{library}.train``
are ``data``, ``objective`` and ``metric`` here.

Parameters
----------
params : mapping
    {title}'s parameters. What {title} would silently ignore or misread is refused, as is
    {refused}
data : {data}
    Training data with labels{starts}
num_boost_round : int
    Maximum number of rounds.
objective : Objective
    For instance {instance}
metric : Metric, optional
    For instance ``extended_qwk_metric()`` or ``loss_metric(objective)``; needs ``evals``. No
    other metric is evaluated.
evals : sequence of ({data}, str)
    What to evaluate ``metric`` on, with a name for each.
early_stopping_rounds : int, optional
    Stop on the last of ``evals`` after this many rounds without improvement, and keep the
    rounds up to the best one only; needs ``metric``.
**kwargs
    Passed to ``{library}.train``: {kwargs}
"""

BOOSTER = """
Returns
-------
{library}.Booster
    A plain booster. ``predict`` gives natural units: the label's for an identity link, the mean
    for a log link, the probability of label 1 for logloss; with the link "score" it gives
    margins, for ``objective.class_probability``. ``{margin}`` always gives margins.{booster}
{raises}
Examples
--------
>>> import {library}, numpy as np
>>> from gbdt_objectives import qwk_objective
>>> from gbdt_objectives.adapters.{library} import train
>>> rng = np.random.default_rng(0)
>>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
>>> params, data = {params}, {data}(X, y)
>>> booster = train(params, data, 50, objective=qwk_objective(y))
>>> booster.predict({rows}).round().tolist()
[1.0, 3.0]
"""

CV = """

An objective made without labels, such as ``qwk_objective()``, is measured on the training rows of
each fold. One with values of its own for each row of ``data`` is split with them.

Parameters
----------
params, data, num_boost_round, objective
    They mean the same as in :func:`train`, which raises the same errors.
metric : Metric
    What to measure on the held-out rows of each fold.
early_stopping_rounds : int, optional
    Stop after this many rounds in which the mean of ``metric`` over the folds has not improved.
**kwargs
    Passed to ``{library}.cv``: {kwargs}

Returns
-------
{history}
    The mean and standard deviation of the metric per round, in the form of ``{library}.cv``
    and in full precision.{boosters}

Examples
--------
>>> import {library}, numpy as np
>>> from gbdt_objectives import extended_qwk_metric, qwk_objective
>>> from gbdt_objectives.adapters.{library} import cv
>>> rng = np.random.default_rng(0)
>>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
>>> params, data = {params}, {data}(X, y)
>>> history = cv(params, data, 20, objective=qwk_objective(), metric=extended_qwk_metric())
>>> bool(list(history["{column}extended_qwk-mean"])[-1] > 0.8)
True
"""

REGRESSOR = """

With an ``objective`` such as {trains}, measured in each ``fit``
unless it is already, boosting starts at its intercept, which goes into {place}.
With a ``Metric`` such as ``extended_qwk_metric()`` as ``eval_metric``{of_fit}, early stopping
(by {stopping})
looks at this metric alone, unless it names one of {title}'s own, on {held_out}
and in the metric's own direction, and the model holds the best rounds only. Without either it is
{title}'s own estimator.{own}

Parameters
----------
objective : {objective}
    An Objective must predict numbers, link "identity", "log" or none declared; for probabilities
    use :class:`{kind}Classifier`.
    What {title} would silently ignore under it is refused.{of_rows}
**kwargs
    Parameters of {title}'s own ``{kind}Regressor``. {progress}
"""

QWK = """
Examples
--------
>>> import numpy as np
>>> from gbdt_objectives import extended_qwk_metric, qwk_objective
>>> from gbdt_objectives.adapters.{library} import {kind}Regressor
>>> rng = np.random.default_rng(0)
>>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
>>> model = {kind}Regressor(objective=qwk_objective(), {stops},
...     {parameters})
>>> model = model.fit({fit}{arguments})
>>> model.predict([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]]).round().tolist()
[1.0, 3.0]
"""

CLASSIFIER = """

With an ``objective`` such as ``offset_logloss_objective(0.1)`` boosting starts at the log-odds of
the labels, which go into {place}, and ``predict_proba`` gives the
probabilities that the objective aims at. ``eval_metric`` does what
:class:`{kind}Regressor` says. Without either it is {title}'s own estimator.

An objective with the link "score", such as {scores}, turns its margins
into probabilities itself: as ``objective_``, fitted to the training rows.
{labels}, and a class that does not occur keeps its
column. ``predict`` gives the most probable class{margins}.
A metric for early stopping is ``loss_metric(objective)``.{own}

Parameters
----------
objective : {objective}
    An Objective must have class probabilities; for label units use :class:`{kind}Regressor`.
    What {title} would silently ignore under it is refused.
**kwargs
    Parameters of {title}'s own ``{kind}Classifier``. {progress}

Examples
--------
>>> import numpy as np
>>> from gbdt_objectives import offset_logloss_objective
>>> from gbdt_objectives.adapters.{library} import {kind}Classifier
>>> rng = np.random.default_rng(0)
>>> X = rng.random((5000, 2)); y = (rng.random(5000) < 0.1 * X[:, 0]).astype(int)
>>> keep = (y == 1) | (rng.random(5000) < 0.1)  # a tenth of the negatives
>>> model = {kind}Classifier(objective=offset_logloss_objective(0.1), {max}=50,
...     {parameters}).fit(X[keep], y[keep])
>>> bool(abs(model.predict_proba(X)[:, 1].mean() / y.mean() - 1) < 0.1)
True
"""


def documented(
    text: str, words: Mapping[str, str] = MappingProxyType({}), /, **more: str
) -> Callable[[Documented], Documented]:
    """Add one of these texts to the docstring of a function or class, which says its purpose."""

    def document(thing: Documented) -> Documented:
        thing.__doc__ = f"{thing.__doc__}{text.format(**{**words, **more})}"
        return thing

    return document
