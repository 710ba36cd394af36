"""Which booster calls us: the frames between it and the user, and what it says of itself.

A booster knows its objective, so whether its predictions are margins. It does not say that it is
one worker of several, that a classifier will read the margins as log-odds, or that early stopping
will minimise kappa: there frames are inspected. No booster is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import dropwhile, takewhile
from types import FrameType
from typing import Any
from weakref import WeakSet

from gbdt_objectives import _registry
from gbdt_objectives._checks import Layout, Stack, Training, column_names
from gbdt_objectives._checks.guards import SILENT
from gbdt_objectives._checks.tables import by_rows
from gbdt_objectives._links import IDENTITY
from gbdt_objectives._rows import workers as _workers

TRAINS = ("update", "boost")
EVALUATES = ("eval_set", "__inner_eval")


def call_of(methods: tuple[str, ...], stack: Stack) -> tuple[str, FrameType] | tuple[None, None]:
    """Library and frame of the booster that calls us in one of these methods, if any."""
    for room, frame in stack:
        if frame.f_code.co_name in methods and room in _registry.NAMES:
            return room, frame
    return None, None


def is_called(stack: Stack) -> bool:
    return call_of(TRAINS + EVALUATES, stack)[1] is not None


def training(stack: Stack) -> tuple[str | None, Any]:
    """The library and the booster that trains further up; None and None if none does."""
    room, frame = call_of(TRAINS, stack)
    return room, None if frame is None else frame.f_locals["self"]


def evaluating(stack: Stack) -> tuple[str, FrameType] | tuple[None, None]:
    return call_of(EVALUATES, stack)


def cross_validation(stack: Stack) -> Any:
    """What a library's ``cv`` further up trains, all folds; None if none does."""
    for room, frame in stack:
        if frame.f_code.co_name == "cv" and room in _registry.NAMES:
            seen = frame.f_locals
            return next(seen[name] for name in ("cvbooster", "booster", "cvfolds") if name in seen)
    return None


def enclosing_frames(stack: Stack) -> Iterator[tuple[str, FrameType]]:
    """The frames of libraries that stand above our own, whatever is between."""
    from_library = dropwhile(lambda at: at[0] not in _registry.NAMES, stack)
    return takewhile(lambda at: at[0] in _registry.NAMES, from_library)


def library_frames(stack: Stack) -> Iterator[tuple[str, FrameType]]:
    """The frames of libraries that stand directly above our own."""
    above = takewhile(lambda at: at[0] in (*_registry.NAMES, "gbdt_objectives"), stack)
    return (at for at in above if at[0] in _registry.NAMES)


def training_above(stack: Stack) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The library whose ``train`` or ``cv`` stands above us, its locals, and those of the ``fit``
    of an estimator that calls it; empty where there is none."""
    library, seen = "", dict[str, Any]()
    for room, frame in stack:
        function = frame.f_code.co_name
        if room not in _registry.NAMES or function not in ("fit", "train", "cv"):
            continue
        if function == "fit":
            return library, seen, frame.f_locals
        if library:
            break
        library, seen = room, frame.f_locals
    return library, seen, {}


def free_network(stack: Stack) -> _registry.Named | None:
    """The library, LightGBM, of a distributed booster that calls us, if one does. Its network is
    freed, so that other workers fail at once, and not the next training."""
    for library, frame in enclosing_frames(stack):
        booster: Any = frame.f_locals.get("self")
        if getattr(booster, "_network", None) is True:
            booster.free_network()
            return _registry.BY_NAME[library]
    return None


# The facts of a plain call.


def check_fits(stack: Stack) -> None:
    """Ask for the layout of what ``fit`` of a library's own estimator was given."""
    for room, frame in stack:
        code, seen = frame.f_code, frame.f_locals
        if code.co_name == "fit" and room in _registry.NAMES:
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
    objective of the booster; the others are those of :func:`training_above`."""
    if owner in _read or _workers.workers():
        return {}
    _read.add(owner)
    callers = (type(seen.get("obj")), type(seen.get("fobj")), *type(fit.get("self")).__mro__)
    if any(kind.__module__.startswith(DOORS) for kind in callers):
        return {}
    with suppress(KeyError, AttributeError, IndexError):  # its locals have other names
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
    objective: Any, caller: str | None, booster: Any, owner: Any, stack: Stack
) -> Training:
    """The training whose library calls an objective, as far as its frames tell."""
    above, loss = training_above(stack), objective.equations
    estimator = above[-1].get("self")
    facts: dict[str, Any] = {"name": loss.name, "link": loss.link, "engine": _workers.engine()}
    rooms = dropwhile(lambda room: room == "gbdt_objectives", (room for room, _ in stack))
    known = (*_registry.NAMES, "gbdt_objectives")  # between two of these is a user's function
    facts["blended"] = next(rooms, "") not in known and any(room in known for room in rooms)
    kind = _registry.kind_of(estimator)
    if kind is not None:
        own = _registry.BY_NAME[_registry.ESTIMATORS[kind]]
        facts |= {"estimator": estimator, "estimator_of": own, "role": own.estimators[kind]}
        check_fits(stack)
    if caller is not None:
        library = _registry.library(caller)
        facts["library"] = _registry.BY_NAME[caller]
        facts["named_as"], facts["transform"] = library.trained_as(booster)
        facts["start_told"] = facts["engine"] in SILENT and library.start_is_told(booster)
        if not facts["engine"] and above[0] == caller:
            facts |= read_call(owner, facts["named_as"], *above)
        if not facts["blended"]:
            facts |= {"objective": objective, "predicts_by": facts["transform"] or IDENTITY}
    return ask(facts)


def note(said: tuple[str, bool, str | None], value: float) -> None:
    """Let the early stopping of a library that evaluates us know what a metric of ours said: its
    name, its direction and the name by which it is recorded, None within a user's function."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name not in EVALUATES:
        frame = frame.f_back
    room = "" if frame is None else frame.f_globals["__name__"].partition(".")[0]
    if room in _registry.NAMES:
        _registry.library(room).note(said, value, frame)


def metric_called(facts: dict[str, Any], stack: Stack) -> Training:
    """The training whose library calls a metric, of which these facts are known."""
    room, frame = evaluating(stack)
    facts["predictions"] = None  # are margins, or what it reads
    if room is not None and frame is not None:
        booster = frame.f_locals["self"]
        facts["predictions"] = _registry.library(room).evaluated_as(frame.f_locals, facts["link"])
        if booster not in _read and not _workers.engine():
            above = training_above(stack)
            if above[0] == room:
                facts |= read_call(cross_validation(stack) or booster, "", *above)
            _read.add(booster)  # one of several folds
    return ask(facts)
