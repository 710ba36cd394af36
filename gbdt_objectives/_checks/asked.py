"""What is known of a training, a model or an estimator: values that ask their own guards.

A guard says what must hold, and which facts it needs for that. A door, a way in which an objective
or a metric reaches a booster, fills in what it knows: ``training.know(metric=metric)``. Each guard
whose facts are then all known is asked, once. So no door calls a guard, and no guard knows a door.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import dropwhile
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar
from weakref import WeakSet

import numpy as np

from gbdt_objectives import _registry
from gbdt_objectives._checks.arrays import Array, column_names, shown
from gbdt_objectives._checks.tables import by_rows, check_rows, has_names, in_order, plain_names
from gbdt_objectives._checks.users import Stack, warn
from gbdt_objectives._links import IDENTITY
from gbdt_objectives._rows import workers as _workers

SILENT = ("Spark", "Ray")  # engines on whose workers a warning ends in a log that nobody reads

SAME_WEIGHT = 1e-3  # relative: weights of 1 / rate are often made of a rate with three digits
COMMON = 0.1  # share of events, above any that are rare enough to thin the others below them
SAYS_NO = {"no", "n", "false", "neg", "negative", "0", "-1"}  # words of a class that is no event

if TYPE_CHECKING:
    from gbdt_objectives._links import Link
    from gbdt_objectives._registry import Named

Self = TypeVar("Self", bound="Asked")


class _Unknown:
    """What nobody has said; None says that there is none."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __reduce__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Any = _Unknown()


@dataclass(eq=False)
class Guard:
    """A function of a value, asked where these facts are known, and none of the others."""

    name: str
    function: Callable[[Any], None]
    needs: frozenset[str]
    unless: frozenset[str]


class Asked:
    """Facts by name, as attributes; UNKNOWN if nobody has said it. The guards of a subclass are
    asked in the order in which they are written: the special one before the general one."""

    guards: ClassVar[list[Guard]]
    heavy: ClassVar[frozenset[str]] = frozenset()  # facts that stay where they are when it travels
    _of: ClassVar[dict[frozenset[str], list[Guard]]]  # the guards to ask, by what is known
    _asked: set[str]

    def __init_subclass__(cls) -> None:
        cls.guards, cls._of = [], {}

    def __init__(self, **facts: Any) -> None:
        self._asked = set()
        self.know(**facts)

    def __getattr__(self, name: str) -> Any:
        if name not in type(self).__annotations__:
            raise AttributeError(f"{type(self).__name__} has no field {name}")
        return UNKNOWN

    def know(self: Self, **facts: Any) -> Self:
        """Fill in facts, and ask the guards that wait for them."""
        known = vars(self)
        known.update(facts)
        names = frozenset(known)
        guards = self._of.get(names)
        for guard in self._waiting(names) if guards is None else guards:
            if guard.name not in self._asked:
                self._asked.add(guard.name)
                guard.function(self)
        return self

    @classmethod
    def _waiting(cls, names: frozenset[str]) -> list[Guard]:
        check_fields(cls, names)
        ready = [g for g in cls.guards if g.needs <= names and not g.unless & names]
        cls._of[names] = ready
        return ready

    def part(self: Self, **facts: Any) -> Self:
        """The same facts of a part, as of a fold: what was asked of the whole is not asked anew."""
        own = type(self).__new__(type(self))
        vars(own).update(vars(self), _asked=set(self._asked))
        return own.know(**facts)

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in vars(self).items() if name not in self.heavy}


def check_fields(kind: type[Asked], names: Collection[str]) -> None:
    unknown = set(names) - {"_asked", *kind.__annotations__}
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")


def guard(kind: type[Asked], *needs: str, unless: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Register a function of a value of this kind, which raises or warns with the remedy."""

    def register(function: Callable[[Any], None]) -> Callable[[Any], None]:
        check_fields(kind, {*needs, *unless})
        kind.guards.append(Guard(function.__name__, function, frozenset(needs), frozenset(unless)))
        kind._of.clear()
        return function

    return register


class Earlier(NamedTuple):
    """A model from which a training goes on."""

    argument: str  # by which it is given
    outputs: int = 1
    link: Link | None = None  # what its margins are; None if its file does not say
    averages: bool = False  # whether it is a forest, which predicts the mean of its trees


class Training(Asked):
    """What is known of one training, of its parameters, its data and its first round."""

    heavy = frozenset({"estimator", "data", "sets", "labels", "rows", "alone"})

    # Who trains, and on what.
    name: str  # of the objective or metric, in messages
    library: Any  # which trains; None if nobody does
    engine: str  # on whose worker, "" on one machine
    alone: Named | None  # whose rows are one worker's of several, which nothing adds up
    objective: Any  # ours; None if there is none
    built_in: Any  # the library's own objective, by name; None for its default
    function: Any  # a user's own gradient function; None if there is none
    link: Any  # what a margin means
    named_as: str  # the library's objective by whose name the booster predicts under ours
    transform: Link | None  # what models of that name make of a margin
    estimator: Any  # which trains
    estimator_of: Named  # whose own estimator it is, if it is not ours
    role: str  # Regressor or Classifier

    # What is measured.
    metric: Any  # ours
    others: Sequence[Any]  # what else is measured: names, functions
    unnamed: Sequence[str]  # the library's own metrics that it measures, and nobody has named
    ignored: Mapping[str, str]  # metrics that the library leaves out, and what to write instead
    orders: Collection[str]  # its own metrics that read nothing of margins but their order
    watched: Collection[str]  # the metrics that early stopping looks at, by name
    predicts_by: Link  # how the library makes what its own metrics get of margins
    readers: Collection[str] | None  # its own metrics that can read this; None: it knows itself
    predictions: Link | None  # how it made what ours gets; None if that are margins
    form: Named  # in whose form the metric is to answer
    within: bool  # whether a library stands above, with a user's function between
    stops_on: Any  # the metric that early stopping looks at; None: nobody named one
    directions: Sequence[bool]  # whether each early stopping on our metric maximises
    last: Any  # the metric on which XGBoost stops
    guesses: Sequence[bool]  # the directions in which it would
    greater_is_better: bool  # of its values, as far as they tell
    returns: str  # the metric of ours that said them; "" if they alone tell

    # Its rows.
    parameters: Sequence[tuple[str, str, Any]]  # (as it is written, its main name, value)
    data: Any  # the training rows
    sets: Sequence[tuple[Any, str]]  # evaluation sets and their names
    labels: Any  # (k) -> the labels of such a set, or (None) of the training rows
    looks_at: Sequence[str | None]  # the sets on which training stops; None is the last
    weighted: bool  # whether rows have weights
    row_start: str  # the argument that starts each row
    sets_with_start: Mapping[str, bool]
    start_ends: tuple[float, float]  # the least and the greatest of these starts
    lost_start: Any  # the one start of all rows, of K outputs (K,), which the model will not hold
    earlier: Earlier

    # Its first round.
    loss: Any  # measured on all rows
    rows: Any  # with labels and weights; a worker's own
    start: float  # where all rows start
    start_by: str | None  # the argument of ours that says so; None: the objective does
    blended: bool  # whether a user's function makes something else of the objective
    start_told: bool  # whether the user said so to the library
    intercept: float | None  # where boosting should start
    tolerance: float | None  # how far from there it may
    pull: float  # |sum w g| / sum w |g| at the start, of several outputs added up


class Layout(Asked):
    """What is known of rows and of their columns, which are matched by position."""

    name: str  # of the data set, or of the features, in messages
    rows: Mapping[str, Any]  # columns of the same rows, as the user gave them
    columns: Sequence[Any] | None  # the names of its columns; None if they have none
    trained_on: Sequence[Any] | None  # those whose order is read
    categories: Mapping[Any, Sequence[Any]]  # the categories of columns by name
    known: Sequence[Sequence[Any]]  # those whose numbers are read
    of: str  # whose these are


class Member(Asked):
    """What is known of an estimator that one of ours trains."""

    name: str
    library: Any  # whose it is
    parameters: Sequence[tuple[str, str, Any]]  # (as it is written, its main name, value)
    classes: Sequence[Any]  # in their order, whose positions it may get
    target_ends: tuple[float, float]  # the least and the greatest number that it learns
    of_positions: bool  # whether these are the positions of classes
    weighing: str  # what weights of classes would do there, and the remedy


class Model(Asked):
    """What is known of a trained model that is to be shifted, or to which something belongs."""

    name: str
    link: Link | None  # what its margins are
    classes: Sequence[Any]  # in its order
    shift_by: str  # the argument that says how far
    one_number: bool  # whether that is one number
    attached: str  # what was made of labels 0 and 1


class Scoring(Asked):
    """What is known of a call by a scorer of scikit-learn."""

    metric: Any
    model: Any
    response: str  # the model's method that made what the metric gets
    maximizes: bool


class Sampling(Asked):
    """What is known of rows some of which were dropped."""

    name: str  # of the rate
    thinned: Any  # the class that it thins, which nobody named
    rows_of: tuple[float, float]  # how many rows that class and the others had
    kept: float  # how many of its rows are left, at the rate
    classes: Sequence[Any]  # the two of which it thins the first
    to_name: str  # how to name the class
    weights: Any  # of the rows, above 0
    positive: Any  # which rows have label 1
    rate: Any  # at which they were kept, one or of each row


@guard(Layout, "columns", "trained_on", "of")
def columns_are_in_order(layout: Layout) -> None:
    """Columns that are read by position must be in the order of those trained on."""
    if order := in_order(layout.trained_on, layout.columns):
        raise ValueError(
            f"{layout.name} has the columns of {layout.of} in another order, and they are read by "
            f"position: pass X[{shown(order)}], of Arrow X.select"
        )


@guard(Layout, "columns", "trained_on", "name", "of")
def columns_are_known(layout: Layout) -> None:
    """A table none of whose columns the model knows by name is perhaps another."""
    own, given = plain_names(layout.trained_on), plain_names(layout.columns)
    if set(own).isdisjoint(given) and has_names(own) and has_names(given):
        warn(
            f"{layout.name} has the columns {shown(given)}, none of which is among those of "
            f"{layout.of}, {shown(own)}, and they are read by position: pass those, or, if they "
            "are the same, name them so, in pandas X.set_axis(names, axis=1)"
        )


@guard(Layout, "categories", "known", "of")
def categories_keep_their_numbers(layout: Layout) -> None:
    """Categories must have the numbers by which an earlier model knows them."""
    for known, (name, values) in zip(layout.known, layout.categories.items(), strict=False):
        moved = any(a != b for a, b in zip(known, values, strict=False))
        if moved and len(layout.known) == len(layout.categories):
            every = [*known, *(value for value in values if value not in known)]
            raise ValueError(
                f"{layout.of} was trained on the categories {shown([*known])} of {name!r}, in this "
                f"order, and would take those of X for others: pass X.assign(**{{{name!r}: "
                f"X[{name!r}].cat.set_categories({shown(every)})}})"
            )


@guard(Layout, "rows", "name")
def rows_are_in_order(layout: Layout) -> None:
    """Rows that are matched by position must not be labelled in different orders."""
    check_rows(layout.rows, f" of {layout.name}" if layout.name else "")


@guard(Model, "link", "shift_by")
def shift_moves_log_odds(model: Model) -> None:
    """A rate, or another shift of log-odds, must not move margins that are something else."""
    link = model.link
    if link is None or link.n_classes or link.takes_several:
        return
    if link.is_declared:
        raise ValueError(
            f"{model.shift_by} moves log-odds, but {model.name} has {link.margins}: leave it out, "
            "or pass a classifier or its booster; a regression on a part of the rows needs weights "
            "of 1 / rate when it trains, and numbers are moved by delta= of shift_intercept"
        )
    warn(
        f"{model.shift_by} moves log-odds, and {model.name} does not say whether its margins are: "
        "leave it out if its predictions are numbers; if they are log-odds, say so by "
        "shift_intercept(booster, delta=float(shift))"
    )


@guard(Sampling, "thinned", "rows_of", "kept", "rate")
def thins_the_frequent_class(sampling: Sampling) -> None:
    """A rate must thin the frequent class, and leave fewer rows of it than of the other only where
    that one is rare."""
    own, others = sampling.rows_of
    name = f"{sampling.name} drops rows of {sampling.thinned!r}, "
    if own < others:
        message = f"{name}the less frequent class, {own:g} rows to {others:g}: {sampling.to_name}"
        if own < others / 4:
            raise ValueError(message)
        warn(message)
        return
    kept, by_chance = sampling.kept, 3 * np.sqrt(others)  # three deviations of a random count
    if kept < others - by_chance and others > COMMON * (others + kept / sampling.rate):
        once = "multiply the rates if these rows were sampled more than once"
        if np.isfinite(own):  # they are sampled now
            once = (
                "if these rows were sampled before train on all of them, with that rate in "
                "offset_logloss_objective(rate)"
            )
        warn(
            f"{name}of which {kept:g} are left, and {others:g} of the other class: {once}; if "
            f"that class is rare {sampling.to_name}"
        )


@guard(Model, "classes", "one_number")
def one_shift_is_of_named_classes(model: Model) -> None:
    """One number is for the second of two classes, and nobody has chosen the order of words."""
    if not model.one_number or len(model.classes) != 2:
        return
    first, second = model.classes
    if isinstance(second, str):
        warn(
            f"{model.shift_by} is one number, for {second!r}, second in alphabetical order only: "
            f"pass log_odds_shift(class_keep_rates={{{first!r}: rate, {second!r}: rate}}), where 1 "
            "is the rate of a class that was kept, or LogOddsShift([0, number])"
        )


@guard(Model, "classes", "attached")
def attached_is_of_the_second_class(model: Model) -> None:
    """What was made of labels 0 and 1 is for the second of two classes, and nobody has chosen the
    order of words."""
    first, second = model.classes if len(model.classes) == 2 else ("no", "")
    if isinstance(second, str) and first.strip().lower() not in SAYS_NO:
        warn(
            f"{model.attached} made of labels 0 and 1, and 1 is taken for {second!r}, second in "
            f"alphabetical order only: make it of y == {second!r} and its probability, "
            "predict_proba(X)[:, 1], with labels=list(model.classes_) if it takes labels; a "
            "CalibratedClassifier(model, cv='prefit').fit(X, y) takes the words themselves"
        )


@guard(Sampling, "weights", "positive", "rate")
def weights_leave_the_rate_alone(sampling: Sampling) -> None:
    """Weights must not undo the sampling at a rate that is given, too, nor make classes alike."""
    w, positive, r = sampling.weights, sampling.positive, sampling.rate
    i, j, P = int(positive.argmax()), int(positive.argmin()), np.count_nonzero(positive)
    if positive[i] == positive[j] or w[i] in (0, w[j]) or np.min(r) >= 1:
        return
    times, factors = float(w[j]) / float(w[i]), dict[str, Any]()  # which may be infinite
    factors["which undoes the sampling, and the rate undoes it again: leave one of the two out, "
            "unless rows were sampled twice"] = r  # fmt: skip
    factors["by which both count the same, and no rate undoes that: leave it out"] = len(w) / P - 1
    for what, factor in factors.items():
        if abs(times * np.ravel(factor)[np.ndim(factor) * j] - 1) > SAME_WEIGHT:
            continue  # most weights, without a look at all of them
        if np.ptp(w * np.where(positive, 1.0, factor)) <= SAME_WEIGHT * w[i]:
            warn(f"sample_weight of a negative is {times:.4g} times that of a positive, {what}")
            return


def may_undo(w: Array, y: Array, rate: float) -> bool:
    """Whether two rows tell that weights may undo a rate: what calls by hand ask, at no cost."""
    i, j = y[:1000].argmax(), y[:1000].argmin()
    if y[i] == y[j]:
        i, j = y.argmax(), y.argmin()
    return rate < 1 and bool(abs(w[j] * rate - w[i]) <= SAME_WEIGHT * w[i])


@guard(Sampling, "classes")
def one_rate_is_of_named_classes(sampling: Sampling) -> None:
    """One rate is for the first of two classes, and nobody has chosen the order of words."""
    first = sampling.classes[0]
    if isinstance(first, str) and first.strip().lower() not in SAYS_NO:
        alone = "negative only as first in alphabetical order"
        warn(f"{sampling.name} is of {first!r}, {alone}: {sampling.to_name}")


def check_fits(stack: Stack) -> None:
    """Ask for the layout of what ``fit`` of a library's own estimator was given."""
    for room, frame in stack:
        code, seen = frame.f_code, frame.f_locals
        if code.co_name == "fit" and room in _registry.BY_NAME:
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            given = {name: seen[name] for name in names if name in seen}
            own = column_names(given.get("X"))
            Layout(name="", rows=given)
            for one in by_rows(given):
                for name, table in one.items():
                    Layout(columns=column_names(table), trained_on=own, name=name, of="X")


_read: WeakSet[Any] = WeakSet()  # boosters and what cv trains, whose calls were read
DOORS = "gbdt_objectives.adapters"  # of trainings that know all this, and have asked


def read_call(
    owner: Any, name: str, room: str, seen: dict[str, Any], fit: dict[str, Any]
) -> dict[str, Any]:
    """What the library's train or cv that calls us was given, once: nothing of a worker, which sees
    its own rows only, or of a training of our own, which has asked before. ``name`` is the
    objective of the booster; the others are those of :meth:`Stack.training_above`."""
    if owner in _read or _workers.workers():
        return {}
    _read.add(owner)
    callers = (type(seen.get("obj")), type(seen.get("fobj")), *type(fit.get("self")).__mro__)
    if any(kind.__module__.startswith(DOORS) for kind in callers):
        return {}
    with suppress(KeyError, AttributeError, IndexError):  # locals that a new version renamed
        return _registry.library(room).read_call(seen, fit, name)
    return {}


def ask(facts: dict[str, Any]) -> Training:
    """The training of these facts, each of whose metrics of ours is asked, too."""
    metrics = facts.pop("metrics", ())
    training = Training(**facts)
    for metric in metrics:
        training.part(metric=metric)
    return training


def objective_called(
    objective: Any, caller: str, booster: Any, owner: Any, stack: Stack
) -> Training:
    """The training whose library calls an objective, as far as its frames tell."""
    above, loss = stack.training_above(), objective.equations
    estimator = above[-1].get("self")
    facts: dict[str, Any] = {"name": loss.name, "link": loss.link, "engine": _workers.engine()}
    rooms = dropwhile(lambda room: room == "gbdt_objectives", (room for room, _ in stack))
    known = (*_registry.BY_NAME, "gbdt_objectives")  # between two of these is a user's function
    facts["blended"] = next(rooms, "") not in known and any(room in known for room in rooms)
    kind = _registry.kind_of(estimator)
    if kind is not None:
        own = _registry.BY_NAME[_registry.ESTIMATORS[kind]]
        facts |= {"estimator": estimator, "estimator_of": own, "role": own.estimators[kind]}
        check_fits(stack)
    if caller:
        library = _registry.library(caller)
        facts["library"] = _registry.BY_NAME[caller]
        facts["named_as"], facts["transform"] = library.trained_as(booster)
        facts["start_told"] = facts["engine"] in SILENT and library.start_is_told(booster)
        if not facts["engine"] and above[0] == caller:
            facts |= read_call(owner, facts["named_as"], *above)
        if not facts["blended"]:
            facts |= {"objective": objective, "predicts_by": facts["transform"] or IDENTITY}
    return ask(facts)


def metric_called(facts: dict[str, Any], stack: Stack) -> Training:
    """The training whose library calls a metric, of which these facts are known."""
    room, frame = stack.evaluating()
    facts["predictions"] = None  # are margins, or what it reads
    if room is not None and frame is not None:
        booster = frame.f_locals["self"]
        facts["predictions"] = _registry.library(room).evaluated_as(frame.f_locals, facts["link"])
        if booster not in _read and not _workers.engine():
            above = stack.training_above()
            if above[0] == room:
                facts |= read_call(stack.cross_validation() or booster, "", *above)
            _read.add(booster)  # one of several folds
    return ask(facts)
