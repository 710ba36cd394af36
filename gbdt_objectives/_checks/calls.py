"""What ``@public`` asks: how the arguments of a call are read, and what to write where it fails.

Arguments may be named as elsewhere, or swapped; rows and columns may be in other orders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cache
from inspect import getdoc, signature
from itertools import chain, repeat
from numbers import Real
from opcode import opmap
from os import PathLike
from typing import Any

import numpy as np

from gbdt_objectives._checks import is_dask, shown
from gbdt_objectives._checks.spellings import misplaced
from gbdt_objectives._checks.tables import (
    check_columns,
    check_known_labels,
    check_rows,
    check_unread,
    column_names,
    read,
)
from gbdt_objectives._checks.users import warn
from gbdt_objectives._checks.values import by_name, category_order, class_keys
from gbdt_objectives._names import ROOT
from gbdt_objectives._public import RENAMED, SAME, WORDS, any_named

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

PYTHONS = re.compile(r"(unexpected keyword|positional|multiple values for) arg|missing \d+ requ")
"""What Python says of a call that does not fit a signature."""
LONGEST_SAID = 200  # characters of what a library says


def read_call(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments as values of ours, and of this call's own words; raises for rows of pandas in
    different orders, and for columns of classes in another order than theirs."""
    parameters = parameters_of(function)
    if function.__qualname__ in WORDS:
        kwargs = read_words(function.__qualname__, parameters, args, kwargs)
    if any_named((*args, *kwargs.values())):
        fits = is_fit(function, parameters)
        args = tuple(map(read, chain(parameters, repeat("")), args, repeat(fits)))
        kwargs = {name: read(name, value, fits) for name, value in kwargs.items()}
        given = dict(zip(parameters, args, strict=False)) | kwargs
        check_rows({name: value for name, value in given.items() if name not in BY_CLASS})
        check_classes(given)
    return args, kwargs


def warn_renamed(old: Mapping[str, str], form: str) -> None:
    """Warn of old names, {old: new}, each written as in ``form``."""
    said = (f"{form.format(name)} is now {form.format(new)}" for name, new in old.items())
    warn(f"{', '.join(said)}: write the new name", FutureWarning)


@cache
def parameters_of(function: Callable[..., Any]) -> list[str]:
    return list(signature(function).parameters)


def is_fit(function: Callable[..., Any], parameters: Collection[str]) -> bool:
    return function.__qualname__.endswith(".fit") and "X" in parameters


def read_words(called: str, parameters: Collection[str], args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by our names, where they are given by old ones or by those of a booster's."""
    words = RENAMED.get(called, SAME)
    read = {words.get(name, name): value for name, value in kwargs.items()}
    if len(read) < len(kwargs):  # two names of one thing, of which Python complains
        return dict(kwargs)
    if called in RENAMED and (old := {name: words[name] for name in kwargs if name in words}):
        warn_renamed(old, "{}=")
    if "evals" in parameters and "valid_sets" in read and "evals" not in read:
        data = read.get("data", args[1] if len(args) > 1 else None)
        read["evals"] = as_evals(data, read.pop("valid_sets"), read.pop("valid_names", ()))
    return read


def check_columns_of(
    function: Callable[..., Any], args: Any, kwargs: dict[str, Any], inherited: bool
) -> None:
    """Check the columns that only a library would read."""
    parameters = parameters_of(function)
    given = dict(zip(parameters, args, strict=False)) | kwargs
    check_unread(given, inherited)
    if inherited and not is_fit(function, parameters):  # which learns new ones
        check_known_labels(given)


def explain(
    function: Callable[..., Any], args: Any, kwargs: dict[str, Any], error: Exception
) -> Exception | None:
    """The error to raise in place of this one, None for itself: what to write where the call does
    not fit the signature, or what columns a library has refused. Says if arguments are swapped."""
    is_ours = is_raised_here(error)
    if isinstance(error, TypeError) and not is_ours and PYTHONS.search(str(error)):
        return TypeError(say_call(function, args, kwargs) or str(error))
    parameters = parameters_of(function)
    given = dict(zip(parameters, args, strict=False)) | kwargs
    said = None if is_ours else explained(given, error, is_fit(function, parameters))
    if isinstance(said or error, TypeError | ValueError):
        say_order(said or error, given, order_of(parameters))
    return said


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
