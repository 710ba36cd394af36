"""The user's code: the frames that call this package, and functions that it calls."""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import dropwhile, takewhile
from types import FrameType
from typing import Any

from gbdt_objectives import _registry
from gbdt_objectives._public import TOLD
from gbdt_objectives._rows import workers as _workers

LABELS = {
    "y", "y_true", "true", "t", "label", "labels", "target", "targets", "truth", "actual", "gt",
    "obs", "observed", "y_test", "y_val", "y_train", "data", "dtrain", "dataset",
}  # fmt: skip
PREDICTIONS = {
    "f", "z", "p", "margin", "margins", "score", "scores", "raw_score", "y_pred", "y_hat", "yhat",
    "pred", "preds", "predt", "predicted", "prediction", "predictions", "y_score", "y_prob", "prob",
    "proba", "probability", "logit", "logits",
}  # fmt: skip
TRAINS = ("update", "boost")
GET_GRADIENTS = ("boost", "_Booster__boost")  # methods of boosters, which a user may replace
EVALUATES = ("eval_set", "__inner_eval")


class Stack(list[tuple[str, FrameType]]):
    """Frames, the nearest first, each with the package that its code belongs to; "" if to none.

    A booster knows its objective, so whether its predictions are margins. It does not say that it
    is one worker of several, that a classifier will read the margins as log-odds, or that early
    stopping will minimise kappa: there frames are inspected. No booster is imported.
    """

    @classmethod
    def here(cls) -> Stack:
        """The frames above the caller."""
        found = cls()
        frame = sys._getframe(1)
        while (above := frame.f_back) is not None:
            frame = above
            found.append((str(frame.f_globals.get("__name__") or "").partition(".")[0], frame))
        return found

    @staticmethod
    def trained_by() -> tuple[str, Any, Any]:
        """The library and the booster that trains further up, and the objective that its own code
        calls in our caller's place, so that nobody else gets the answer; "" and None if none."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            module = str(frame.f_globals.get("__name__"))
            room = module.partition(".")[0]
            if frame.f_code.co_name in TRAINS and room in _registry.BY_NAME:
                seen = frame.f_locals
                booster = seen["self"]
                own = frame is sys._getframe(2) and type(booster).__module__ == module
                own = own and all(
                    getattr(getattr(booster, name), "__globals__", {}).get("__name__") == module
                    for name in GET_GRADIENTS
                    if hasattr(booster, name)
                )
                return room, booster, seen.get("fobj") if own else None
            frame = frame.f_back
        return "", None, None

    def call_of(self, methods: tuple[str, ...]) -> tuple[str, FrameType] | tuple[None, None]:
        """Library and frame of the booster that calls us in one of these methods, if any."""
        for room, frame in self:
            if frame.f_code.co_name in methods and room in _registry.BY_NAME:
                return room, frame
        return None, None

    def is_called(self) -> bool:
        return self.call_of(TRAINS + EVALUATES)[1] is not None

    def evaluating(self) -> tuple[str, FrameType] | tuple[None, None]:
        return self.call_of(EVALUATES)

    def cross_validation(self) -> Any:
        """What a library's ``cv`` further up trains, all folds; None if none does."""
        for room, frame in self:
            if frame.f_code.co_name == "cv" and room in _registry.BY_NAME:
                seen = frame.f_locals
                names = ("cvbooster", "booster", "cvfolds")
                return next(seen[name] for name in names if name in seen)
        return None

    def enclosing(self) -> Iterator[tuple[str, FrameType]]:
        """The frames of libraries that stand above our own, whatever is between."""
        from_library = dropwhile(lambda at: at[0] not in _registry.BY_NAME, self)
        return takewhile(lambda at: at[0] in _registry.BY_NAME, from_library)

    def of_libraries(self) -> Iterator[tuple[str, FrameType]]:
        """The frames of libraries that stand directly above our own."""
        above = takewhile(lambda at: at[0] in (*_registry.BY_NAME, "gbdt_objectives"), self)
        return (at for at in above if at[0] in _registry.BY_NAME)

    def training_above(self) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """The library whose ``train`` or ``cv`` stands above us, its locals, and those of the
        ``fit`` of an estimator that calls it; empty where there is none."""
        library, seen = "", dict[str, Any]()
        for room, frame in self:
            function = frame.f_code.co_name
            if room not in _registry.BY_NAME or function not in ("fit", "train", "cv"):
                continue
            if function == "fit":
                return library, seen, frame.f_locals
            if library:
                break
            library, seen = room, frame.f_locals
        return library, seen, {}

    def free_network(self) -> _registry.Named | None:
        """The library, LightGBM, of a distributed booster that calls us, if one does. Its network
        is freed, so that other workers fail at once, and not the next training."""
        for library, frame in self.enclosing():
            booster: Any = frame.f_locals.get("self")
            if getattr(booster, "_network", None) is True:
                booster.free_network()
                return _registry.BY_NAME[library]
        return None

    @staticmethod
    def note(said: tuple[str, bool, str | None], value: float) -> None:
        """Let the early stopping of a library that evaluates us know what a metric of ours said:
        its name, its direction and the name by which it is recorded, None within a user's
        function."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_name not in EVALUATES:
            frame = frame.f_back
        room = "" if frame is None else frame.f_globals["__name__"].partition(".")[0]
        if room in _registry.BY_NAME:
            _registry.library(room).note(said, value, frame)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the code which called this package; of several workers one tells, Dask's client."""
    told, words = TOLD.get(), re.sub(r"\d[\d.]*(e[-+]?\d+)?", "", message)
    if not _workers.tells() or (told is not None and words in told):
        return
    if told is not None:
        told.add(words)
    if _workers.engine() == "Dask":  # a warning of Python would end in the worker's log
        sys.modules["distributed"].warn(message, category)
        return
    ours = takewhile(lambda frame: frame[0] == "gbdt_objectives", Stack.here())
    warnings.warn(message, category, stacklevel=2 + sum(1 for _ in ours))


def check_takes(
    what: str, function: Callable[..., Any], called: str,
    must: Callable[[inspect.Signature, TypeError], str] | None = None, *,
    by_name: Sequence[str] = (), wrong: str = "train backwards",
) -> None:  # fmt: skip
    """Raise for parameters that do not take what it is called with, by position and ``by_name``,
    with the message of ``must`` if given, or whose names say that predictions come first."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # it has no signature to look at
        return
    names = list(signature.parameters)
    first, second = (name.lower().lstrip("_") for name in [*names, "", ""][:2])
    if first in PREDICTIONS and second in LABELS:
        raise TypeError(
            f"{what} takes ({', '.join(names)}), but is called with ({called}): with the two "
            f"swapped it would {wrong}; write the labels first"
        )
    if must is None:
        return
    try:
        signature.bind(*called.split(", "), **dict.fromkeys(by_name))
    except TypeError as error:
        raise TypeError(must(signature, error)) from None
