"""The decorator of all that users call, where it is defined.

``@public`` says it of a function or a class, above all other decorators. A call then reads its
arguments, refuses rows in different orders, and says what to write where it does not fit. How is in
``_checks/calls.py``, which is loaded when there is something to read or to say: a call with plain
arrays costs a look at each argument. So this module stands on the ground, and everything can wear
the decorator.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable
from contextvars import ContextVar
from dataclasses import is_dataclass
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from gbdt_objectives._names import ROOT, missing
from gbdt_objectives._registry import EVERY, SKLEARN, load

T = TypeVar("T")
CALLS, SPELLINGS = f"{ROOT}._checks.calls", f"{ROOT}._checks.spellings"
MOST_COLUMNS = 100  # longer lists are columns, not lists of them
EVALUATION = {
    "eval_set", "sample_weight_eval_set", "base_margin_eval_set", "eval_sample_weight",
    "eval_init_score", "X_val", "y_val", "sample_weight_val",
}  # fmt: skip
MARGINS = {"base_margin", "base_margin_eval_set", "init_score", "eval_init_score"}
UNREAD = EVALUATION | MARGINS
"""Arguments of our own functions whose columns only the libraries read."""
SAME = {
    "dtrain": "data", "train_set": "data", "obj": "objective",
    "custom_metric": "metric", "feval": "metric",
}  # fmt: skip
"""Words of the boosters' own ``train`` and ``cv`` that mean exactly ours: ours takes them too."""
RENAMED = {
    name: {"center": "mean", "spread": "variance"}
    for name in ("qwk_objective", "QWKLoss", "extended_qwk_metric", "ExtendedQWKMetric")
}
"""Arguments and attributes that still work by an old name, and the new one."""
WORDS = {**{name: {*SAME, "valid_sets", "valid_names"} for name in ("train", "cv")}, **RENAMED}
"""Words that a callable takes besides the names of its arguments."""
TOLD: ContextVar[set[str] | None] = ContextVar("told", default=None)
"""What was warned of within the call of a user's, of which it is told once."""

PUBLIC: set[Callable[..., Any]] = set()
"""What the decorator has made of functions and methods."""
EACH_ROUND: set[Callable[..., Any]] = set()


def each_round(function: T) -> T:
    """Leave a public method as it is: boosters call it in each round, with arrays of no names."""
    EACH_ROUND.add(function)  # type: ignore[arg-type]
    return function


def public(thing: T) -> T:
    """A function, or a class with its public methods, as users get it; type checkers, ``help`` and
    pickles see the function itself. Methods of bases that are ours are users' too."""
    if not isinstance(thing, type):
        return guarded(thing)  # type: ignore[arg-type, return-value]
    for owner in thing.__mro__:
        if owner is thing or owner.__module__.startswith(f"{ROOT}."):
            guard_methods(owner)
    score = getattr(thing, "score", None)
    if isinstance(score, FunctionType):  # perhaps scikit-learn's own, which reads no names
        thing.score = guarded(score)  # type: ignore[attr-defined]
    if not issubclass(thing, BaseException):
        say_attributes(thing)
    return thing


def guard_methods(owner: type) -> None:
    for name, member in list(vars(owner).items()):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if isinstance(member, (staticmethod, classmethod)):
            setattr(owner, name, type(member)(guarded(member.__func__)))
        elif isinstance(member, FunctionType) and member.__qualname__ != member.__name__:
            setattr(owner, name, guarded(member))


def say_attributes(kind: type) -> None:
    """Let objects say what an attribute of another library is here, and results that they are read
    by attributes."""
    own = {name for base in kind.__mro__ for name in vars(base)}
    if "__getattr__" not in own:

        def get_attribute(self: Any, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):  # a property's own error
                return object.__getattribute__(self, name)
            kind: Any = type(self)
            if name in (renamed := renamed_in(kind)):
                load(CALLS).warn_renamed({name: renamed[name]}, ".{}")
                return getattr(self, renamed[name])
            raise NoAttribute(name=name, obj=self)

        setattr(kind, "__getattr__", get_attribute)  # noqa: B010
    if "_set_attribute" in vars(kind):  # a frozen dataclass writes its own __setattr__
        setattr(kind, "__setattr__", vars(kind)["_set_attribute"])  # noqa: B010
    if is_dataclass(kind) and "__getitem__" not in own:

        def get_item(self: Any, key: Any) -> Any:
            raise TypeError(
                f"{type(self).__name__} is read by attributes: "
                + ", ".join(name for name in dir(self) if not name.startswith("_"))
            )

        setattr(kind, "__getitem__", get_item)  # noqa: B010


@cache
def renamed_in(kind: Any) -> dict[str, str]:
    return next((RENAMED[base.__name__] for base in kind.__mro__ if base.__name__ in RENAMED), {})


def set_renamed(self: Any, state: dict[str, Any]) -> None:
    """``__setstate__`` of a class with renamed attributes: old pickles have the old names."""
    kind: Any = type(self)
    renamed = renamed_in(kind)
    vars(self).update({renamed.get(name, name): value for name, value in state.items()})


class NoAttribute(AttributeError):
    """The error for an attribute that is missing; the text is made when somebody reads it."""

    def __str__(self) -> str:
        return str(load(SPELLINGS).about_attribute(self.obj, str(self.name)))

    def __reduce__(self) -> Any:
        return AttributeError, (str(self),)


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose calls are read and explained."""
    if function in PUBLIC or function in EACH_ROUND:
        return function
    words = frozenset(WORDS.get(function.__qualname__, ()))
    fits = function.__qualname__.endswith(".fit")
    package = str(function.__module__).partition(".")[0]
    read_by = {row.package.partition(".")[0] for row in EVERY.values()}  # by a library itself
    inherited = package in read_by and not (fits and package == SKLEARN.package.partition(".")[0])

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # pytest and IPython leave this frame out
        if (words and not words.isdisjoint(kwargs)) or any_named((*args, *kwargs.values())):
            args, kwargs = load(CALLS).read_call(function, args, kwargs)
        told = TOLD.set(set()) if TOLD.get() is None else None
        try:
            if inherited or (kwargs and not UNREAD.isdisjoint(kwargs)):
                load(CALLS).check_columns_of(function, args, kwargs, inherited)
            return function(*args, **kwargs)
        except Exception as error:
            said = load(CALLS).explain(function, args, kwargs, error)
            if said is None:
                raise
            raise said from error
        finally:
            if told is not None:
                TOLD.reset(told)

    PUBLIC.add(checked)
    return checked


def any_named(values: Iterable[Any]) -> bool:
    """Whether any has names, or a form that is to be read: looked at in each call, and first."""
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            if not value.dtype.isnative or value.shape[1:] == (1,):  # which may be labels
                return True
        elif kind is list or kind is tuple or kind is dict:
            parts = value.values() if kind is dict else value
            if 0 < len(value) < MOST_COLUMNS and any_named(parts):
                return True
        elif kind is not str and (
            kind.__module__.startswith(("pandas", "pyarrow")) or hasattr(kind, "columns")
        ):
            return True
    return False


MOVED = {
    f"{ROOT}.{old}": f"{ROOT}.{new}"
    for old, new in {
        "distributed.dask.experimental.lightgbm": "experimental.dask.lightgbm",
        "objectives.delayed_logloss_objective": "experimental.delayed_logloss_objective",
        "priors.DelayDistribution": "experimental.DelayDistribution",
        "priors.delay_distribution": "experimental.delay_distribution",
        **{f"estimators.{name}": f"calibration.{name}" for name in (
            "BetaCalibrator", "CalibratorChoice", "InterceptCalibrator", "LogitCalibrator",
            "ROCConvexHullCalibrator", "SplineCalibrator", "TemperatureCalibrator",
            "VennAbersCalibrator", "choose_calibrator",
        )},
    }.items()
}  # fmt: skip
"""Names that still work at an old place, and the new one."""


def attributes(module: str, names: list[str], modules: Collection[str] = ()) -> tuple[Any, Any]:
    """``__getattr__`` and ``__dir__`` of a module, which say where a name is that it has not.
    Submodules that ``modules`` names are imported when they are asked for."""

    def get_attribute(name: str) -> Any:
        if name in modules:
            return load(f"{module}.{name}")
        if f"{module}.{name}" in MOVED:
            return moved(f"{module}.{name}")
        raise missing(module, name)

    def all_names() -> list[str]:
        return sorted({*names, *modules})

    return get_attribute, all_names


def moved(old: str) -> Any:
    """What has been at an old place, for the ``__getattr__`` of a module to return."""
    room, _, name = MOVED[old].rpartition(".")
    change = ", where names and results may change in any release" * ("experimental" in room)
    warnings.warn(
        f"{old} has moved to {room}{change}: write from {room} import {name}",
        FutureWarning,
        stacklevel=3,
    )
    return getattr(load(room), name)
