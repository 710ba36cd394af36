"""The facts of a plain call: what a booster that calls us was given, and says of itself."""

from __future__ import annotations

from contextlib import suppress
from itertools import dropwhile
from typing import Any
from weakref import WeakSet

from gbdt_objectives import _registry
from gbdt_objectives._checks import Layout, Stack, Training, column_names
from gbdt_objectives._checks.guards import SILENT
from gbdt_objectives._checks.tables import by_rows
from gbdt_objectives._links import IDENTITY
from gbdt_objectives._rows import workers as _workers


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
    objective of the booster; the others are those of :meth:`Stack.training_above`."""
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
    above, loss = stack.training_above(), objective.equations
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
