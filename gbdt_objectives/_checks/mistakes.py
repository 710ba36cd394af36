"""Mistakes in calls of all that is exported: arguments named as elsewhere, or swapped."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import is_dataclass
from functools import wraps
from inspect import getdoc, signature
from itertools import chain, repeat
from numbers import Real
from opcode import opmap
from os import PathLike
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gbdt_objectives._checks import is_dask, shown
from gbdt_objectives._checks.columns import UNREAD, check_columns, check_unread
from gbdt_objectives._checks.spellings import NoAttribute, misplaced
from gbdt_objectives._checks.tables import MOST_COLUMNS, check_rows, column_names, read
from gbdt_objectives._checks.users import TOLD
from gbdt_objectives._checks.values import by_name, category_order, class_keys
from gbdt_objectives._names import ROOT, missing
from gbdt_objectives._registry import load

OBJECT = ("self", "cls")
LABELS = ("y_true", "y")
SWAPPED = "; are they swapped?"
MATRICES = ("score", "probability", "y_pred", "margin")
BY_CLASS = ("class_keep_rates", "train_prior", "target_prior", "prior")
"""Arguments that have one number of each class, by its name."""
OTHERS = ("X", *MATRICES)

KINDS = {
    **dict.fromkeys((*LABELS, *OTHERS, "key", "segments"), "column"),
    **dict.fromkeys(("model", "estimator", "booster", "first", "second"), "model"),
    **dict.fromkeys(("folder", "path"), "path"), "negative_keep_rate": "number",
}  # fmt: skip
"""What arguments are, as far as it is the same at every callable."""

HOT = {
    "Objective.__call__", "BoundObjective.__call__", "BoundObjective.fresh", "Interval.check",
    "Rows.count", "Rows.own_sum", "Rows.stretches",
}  # fmt: skip
"""What is called in each round, by boosters or by ourselves, with arrays that have no names."""
SAME = {
    "dtrain": "data", "train_set": "data", "obj": "objective",
    "custom_metric": "metric", "feval": "metric",
}  # fmt: skip
"""Words of the boosters' own ``train`` and ``cv`` that mean exactly ours: ours takes them too."""
PYTHONS = re.compile(r"(unexpected keyword|positional|multiple values for) arg|missing \d+ requ")
"""What Python says of a call that does not fit a signature."""
LONGEST_SAID = 200  # characters of what a library says
GUARDED: set[Callable[..., Any]] = set()
MADE: MutableMapping[Callable[..., Any], Callable[..., Any]] = WeakKeyDictionary()
"""What was made of functions, also of other libraries: a method that several classes have."""


MOVED = {
    f"{ROOT}.{old}": f"{ROOT}.{new}"
    for old, new in {
        "adapters.SegmentRepair": "experimental.SegmentRepair",
        "adapters.repair_segments": "experimental.repair_segments",
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


def room(module: str, public: list[str], modules: Collection[str] = ()) -> tuple[Any, Any]:
    """Guard the public names of a module, and return its ``__getattr__`` and ``__dir__``.
    Submodules that ``modules`` names are imported when they are asked for."""
    for name in set(public).difference(modules):
        guard(vars(sys.modules[module])[name])

    def get_attribute(name: str) -> Any:
        if name in modules:
            return load(f"{module}.{name}")
        if f"{module}.{name}" in MOVED:
            return moved(f"{module}.{name}")
        raise missing(module, name)

    def public_names() -> list[str]:
        return sorted({*public, *modules})

    return get_attribute, public_names


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


def guard(thing: Any) -> None:
    """Replace a function, or the methods of a class, by what :func:`guarded` makes of it, also in
    modules of the package that took it while its own was loaded."""
    if isinstance(thing, FunctionType):
        name, function = thing.__name__, guarded(thing)
        for module in [m for key, m in list(sys.modules.items()) if key.startswith(f"{ROOT}.")]:
            if vars(module).get(name) is thing:
                setattr(module, name, function)
    elif isinstance(thing, type):
        for owner in thing.__mro__:
            if owner.__module__.startswith(f"{ROOT}."):
                guard_methods(owner)
        score = getattr(thing, "score", None)
        if isinstance(score, FunctionType):  # perhaps scikit-learn's own
            thing.score = guarded(score)  # type: ignore[attr-defined]
        guard_attributes(thing)


def guard_methods(owner: type) -> None:
    for name, member in list(vars(owner).items()):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if isinstance(member, (staticmethod, classmethod)):
            setattr(owner, name, type(member)(guarded(member.__func__)))
        elif isinstance(member, FunctionType) and member.__qualname__ != member.__name__:
            setattr(owner, name, guarded(member))


def guard_attributes(kind: type) -> None:
    """Let objects say what an attribute of another library is here, and results that they are read
    by attributes."""
    if issubclass(kind, BaseException):
        return
    own = {name for base in kind.__mro__ for name in vars(base)}
    if "__getattr__" not in own:

        def get_attribute(self: Any, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):  # a property's own error
                return object.__getattribute__(self, name)
            raise NoAttribute(name=name, obj=self)

        setattr(kind, "__getattr__", get_attribute)  # noqa: B010
    if is_dataclass(kind) and "__getitem__" not in own:

        def get_item(self: Any, key: Any) -> Any:
            raise TypeError(
                f"{type(self).__name__} is read by attributes: "
                + ", ".join(name for name in dir(self) if not name.startswith("_"))
            )

        setattr(kind, "__getitem__", get_item)  # noqa: B010


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which now reads its arguments, refuses rows of pandas in different orders and
    columns of classes in another order than theirs, says what to write where a call does not fit
    its signature, and adds to its errors that labels and others are swapped."""
    parameters = list(signature(function).parameters)
    called = function.__qualname__.removesuffix(".__init__")
    order = order_of(parameters)
    same = SAME if called in ("train", "cv") else {}
    fits = called.endswith(".fit") and "X" in parameters
    joined = parameters if same else ()  # of train, which measures on sets
    read_by = (ROOT, "sklearn") if fits else ROOT  # scikit-learn's fits check their rows
    inherited = not str(function.__module__).startswith(read_by)
    if function in GUARDED or called in HOT:
        return function
    if function in MADE:
        return MADE[function]

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for theirs in same and kwargs.keys() & same:
            if same[theirs] not in kwargs:
                kwargs[same[theirs]] = kwargs.pop(theirs)
        if "evals" in joined and "valid_sets" in kwargs and "evals" not in kwargs:
            data = kwargs.get("data", args[1] if len(args) > 1 else None)
            kwargs["evals"] = as_evals(
                data, kwargs.pop("valid_sets"), kwargs.pop("valid_names", ())
            )
        if any_named((*args, *kwargs.values())):
            args = tuple(map(read, chain(parameters, repeat("")), args, repeat(fits)))
            kwargs = {name: read(name, value, fits) for name, value in kwargs.items()}
            given = dict(zip(parameters, args, strict=False)) | kwargs
            check_rows({name: value for name, value in given.items() if name not in BY_CLASS})
            check_classes(given)
        told = TOLD.set(set()) if TOLD.get() is None else None
        try:
            if inherited or (kwargs and not UNREAD.isdisjoint(kwargs)):
                given = dict(zip(parameters, args, strict=False)) | kwargs
                check_unread(given, inherited)
            return function(*args, **kwargs)
        except Exception as error:
            if isinstance(error, TypeError) and PYTHONS.search(str(error)):
                raise TypeError(say_call(function, args, kwargs) or str(error)) from error
            given = dict(zip(parameters, args, strict=False)) | kwargs
            said = None if is_raised_here(error) else explained(given, error, fits)
            if isinstance(said or error, TypeError | ValueError):
                say_order(said or error, given, order)
            if said is None:
                raise
            raise said from error
        finally:
            if told is not None:
                TOLD.reset(told)

    GUARDED.add(checked)
    MADE[function] = checked
    return checked


def as_evals(data: Any, sets: Any, names: Any) -> Any:
    """LightGBM's ``valid_sets`` and ``valid_names`` as pairs, with the names that it gives."""
    if sets is None:
        return ()
    sets = sets if isinstance(sets, list | tuple) else [sets]
    given = [names] if isinstance(names, str) else names or ()
    if len(given) > len(sets):
        raise ValueError(
            f"valid_names has {len(given)} names, but valid_sets {len(sets)}: name each set once"
        )
    usual = ["training" if one is data else f"valid_{k}" for k, one in enumerate(sets)]
    return [*zip(sets, [*given, *usual[len(given) :]], strict=True)]


def explained(given: Mapping[str, Any], error: Exception, fits: bool) -> Exception | None:
    """What a library's error is about, in our words and its own, if that are columns."""
    try:
        check_columns(given, error, fits)
    except Exception as own:
        if not is_raised_here(own):  # columns that cannot be looked at leave the library's error
            return None
        kind = ValueError if isinstance(error, ValueError) else type(own)
        return kind(f"{own}; the library says: {' '.join(str(error).split())[:LONGEST_SAID]}")
    return None


def is_raised_here(error: BaseException) -> bool:
    """Whether a ``raise`` of this package says it, not a library or Python."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not str(trace.tb_frame.f_globals.get("__name__")).startswith(ROOT):
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == opmap["RAISE_VARARGS"]


def say_call(function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> str | None:
    """What to write instead of a call that does not fit the signature; None if it does."""
    parameters = [p for p in signature(function).parameters.values() if p.name not in OBJECT]
    name, elsewhere, doc = function.__name__, dict[str, str](), getdoc(function)
    if len(parameters) < len(signature(function).parameters):
        kind: type = args[0] if isinstance(args[0], type) else type(args[0])
        args = args[1:]
        if name == "__init__":
            name, doc = kind.__name__, getdoc(kind)
            fit = signature(kind.fit).parameters if hasattr(kind, "fit") else ()
            elsewhere = {key: f"pass it to fit, {key}=" for key in fit}
        else:
            bases = kind.__mro__[:-1] if hasattr(kind, "fit") else ()  # results are not made
            made = {key for base in bases for key in signature(base).parameters}
            where = f"write it where the object is made, {kind.__name__}"
            elsewhere = {key: f"{where}({key}=...)" for key in made}
            name = f"{kind.__name__}.{name}"
    row = function.__qualname__.removesuffix(".__init__")
    row = name if "<locals>" in row else row
    return misplaced(name, row, len(args), kwargs, parameters, elsewhere, doc or "")


def order_of(parameters: list[str]) -> list[str]:
    """The first parameter of labels and the first of others, in their order; none without both."""
    labels = [name for name in parameters if name in LABELS]
    others = [name for name in parameters if name in OTHERS]
    return sorted([labels[0], others[0]], key=parameters.index) if labels and others else []


def say_order(error: Exception, given: Mapping[str, Any], order: list[str]) -> None:
    """Add to an error that labels and others, or a model, a path or a number, are swapped."""
    found = {name in LABELS: is_of_labels(given.get(name)) for name in order}
    if found != {True: False, False: True}:
        order = [name for name in given if name in KINDS]
        kinds = [kind_of_value(given[name]) for name in order]
        wanted = [KINDS[name] for name in order]
        if kinds == wanted or sorted(kinds) != sorted(wanted):
            return
    if SWAPPED not in str(error):
        said = str(error).rstrip(".")
        error.args = (f"{said}{SWAPPED} {' comes before '.join(order)}",)


def kind_of_value(value: Any) -> str:
    if isinstance(value, str | PathLike):
        return "path"
    if isinstance(value, Real):
        return "number"
    return "model" if hasattr(value, "fit") or hasattr(value, "save_model") else "column"


def any_named(values: Iterable[Any]) -> bool:
    """Whether any has names, or a form that is to be read: looked at in each call, and first."""
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            if not value.dtype.isnative or value.shape[1:] == (1,):  # which may be labels
                return True
        elif kind is list or kind is tuple or kind is dict:
            parts = value.values() if kind is dict else value
            if len(value) < MOST_COLUMNS and any_named(parts):
                return True
        elif kind is not str and (
            kind.__module__.startswith(("pandas", "pyarrow")) or hasattr(kind, "columns")
        ):
            return True
    return False


def check_classes(given: Mapping[str, Any]) -> None:
    """Raise if a frame's columns are named as classes in another order, or by words in one that
    nothing explains."""
    first: list[Any] = []
    link = getattr(given.get("self"), "link", None)
    for name in [key for key in (*MATRICES, "out_of_fold") if key in given]:
        values = given[name]
        if isinstance(values, tuple | list) and values and name == "out_of_fold":
            name, values = "out_of_fold[1]", values[-1]
        names = column_names(values)
        if names is None or len(names) < 2:
            continue
        found, classes = class_keys(names), classes_of(given)
        usual = [list(range(k, k + len(names))) for k in (0, 1)]
        if getattr(link, "takes_several", True):  # columns that can only be of classes
            usual.append(sorted(names, key=str))
        usual.append(first or list(names))
        first = usual[-1]
        for known in usual if classes is None else [classes]:
            order = class_keys(known)
            if found != order and set(found) == set(order):
                right = [list(names)[found.index(key)] for key in order]
                raise ValueError(
                    f"the columns of {name}, {shown(list(names))}, would be read as that of the "
                    f"classes {shown(known)}: pass {name}[{shown(right)}], or "
                    f"{name}.to_numpy() if they are in this order"
                )


def classes_of(given: Mapping[str, Any]) -> list[Any] | None:
    """The classes in the order of columns, if the call says them, or what it is a method of."""
    own, y = given.get("self"), given.get("y_true", given.get("y"))
    span = given.get("label_range", getattr(given.get("metric"), "label_range", None))
    said: list[Any] = [given.get("labels"), getattr(own, "labels", None)]
    said += [getattr(own, "classes_", None)]
    with suppress(TypeError, ValueError):  # what is refused elsewhere
        said += [range(int(span[0]), int(span[1]) + 1)] if span else []
        for name in BY_CLASS:
            numbers = by_name(name, given.get(name))
            said += [sorted(numbers)] if isinstance(numbers, Mapping) else []
        said += [category_order("y", y, ordinal=False)]
    return next((np.asarray(labels).tolist() for labels in said if np.ndim(labels) == 1), None)


def is_of_labels(values: Any) -> bool | None:
    """Whether it can be labels of rows, one column without fractions; None if it is no array."""
    if values is None or is_dask(values):
        return None
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError):  # lists of several lengths, arrays of a device
        return None
    if array.size == 0 or array.ndim not in (1, 2):
        return None
    return array.ndim == 1 and not (array.dtype.kind == "f" and (array != np.rint(array)).any())
