"""What boosters and their estimators say of themselves, and the frames between them and the user.

The call of an objective or metric comes from a method of the booster, whatever wraps the training,
and the booster knows which objective it has, so whether its predictions are margins. It does not
say that it is one worker of several, that a classifier will interpret the margins as log-odds, or
that early stopping will minimise kappa: there frames are inspected. No booster is imported.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import dropwhile, takewhile
from types import FrameType
from typing import Any, Literal
from weakref import WeakKeyDictionary

from gbdt_objectives._links import IDENTITY, OF_LIGHTGBM, OF_XGBOOST, OPAQUE, RAW, Link

Library = Literal["lightgbm", "xgboost"]
LIBRARIES: tuple[Library, ...] = ("xgboost", "lightgbm")
ESTIMATORS: dict[str, tuple[Library, str]] = {
    "LGBMRegressor": ("lightgbm", "Regressor"), "LGBMClassifier": ("lightgbm", "Classifier"),
    "XGBRegressor": ("xgboost", "Regressor"), "XGBClassifier": ("xgboost", "Classifier"),
}  # fmt: skip

MARGIN_FLAG = {"lightgbm": "raw_score", "xgboost": "output_margin"}
"""The argument of an estimator's predict that asks for margins."""

TRAINS = ("update", "boost")
EVALUATES = ("eval_set", "__inner_eval")

Stack = list[tuple[str, FrameType]]
"""Frames, the nearest first, each with the package that its code belongs to; "" if to none."""


def library_of(thing: object) -> Library | None:
    """The library of a booster or estimator, also of a subclass; None for anything else."""
    rooms = {base.__module__.split(".")[0] for base in type(thing).__mro__}
    return next((library for library in LIBRARIES if library in rooms), None)


def booster_kind(estimator: object, role: Literal["Regressor", "Classifier"]) -> Library | None:
    """The library of a booster's estimator with this role, also of a subclass, else None."""
    for base in type(estimator).__mro__:
        library, kind = ESTIMATORS.get(base.__name__, (None, None))
        if kind == role and base.__module__.split(".")[0] == library:
            return library
    return None


def stack() -> Stack:
    found: Stack = []
    frame = sys._getframe(1)
    while (above := frame.f_back) is not None:
        frame = above
        found.append((str(frame.f_globals.get("__name__") or "").partition(".")[0], frame))
    return found


def call_of(methods: tuple[str, ...], stack: Stack) -> tuple[str, FrameType] | tuple[None, None]:
    """Library and frame of the booster that calls us in one of these methods, if any."""
    for room, frame in stack:
        if frame.f_code.co_name in methods and room in LIBRARIES:
            return room, frame
    return None, None


def is_called(stack: Stack) -> bool:
    return call_of(TRAINS + EVALUATES, stack)[1] is not None


def training() -> Any:
    """The booster that trains further up; None if none does."""
    _, frame = call_of(TRAINS, stack())
    return None if frame is None else frame.f_locals["self"]


def refuse_transform(name: str, link: Link, stack: Stack) -> None:
    """Raise if the XGBoost booster that trains on a link would predict by another one."""
    library, frame = call_of(TRAINS, stack)
    if frame is None or library != "xgboost":
        return
    trained = objective_of(library, frame.f_locals["self"])
    transform = OF_XGBOOST.get(trained, IDENTITY)
    if not transform.is_transformed or link.reads(transform):
        return
    kind = "Classifier" if link.n_classes else "Regressor"
    then = ", and turn its scores into classes with apply_thresholds" if link.is_label_unit else ""
    raise TypeError(
        f"{name} trains {link.margins}, which a booster with the objective {trained!r} would take "
        f"for {transform.margins} when it predicts: import XGB{kind} from "
        f"gbdt_objectives.adapters.xgboost, or DaskXGB{kind} from gbdt_objectives.distributed.dask"
        f"{then}, or name no objective in the parameters"
    )


def link_of_predictions(stack: Stack, read: Link | None) -> Link | None:
    """The link by which a booster made the predictions that it passes to a metric. None if they are
    margins, as under a custom objective, or are what the link ``read`` describes."""
    library, frame = call_of(EVALUATES, stack)
    if frame is None:
        return None
    if library == "xgboost" and frame.f_locals.get("output_margin", True):
        return None
    name = objective_of(library, frame.f_locals["self"])
    if library == "xgboost":
        return None if RAW.get(name) == read else OF_XGBOOST.get(name, OPAQUE)
    return OF_LIGHTGBM.get(name, OPAQUE) if name else None


_known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def objective_of(library: str | None, booster: Any) -> str:
    """The name of the booster's objective; "" for a custom one of LightGBM."""
    if booster not in _known and library == "xgboost":
        _known[booster] = json.loads(booster.save_config())["learner"]["objective"]["name"]
    elif booster not in _known:
        text = booster.model_to_string(num_iteration=1)
        found = re.search(r"(?m)^objective=(\S+)", text.split("\n\n", 1)[0])
        _known[booster] = "" if found is None else found[1]
    return _known[booster]


def refuse_objective(name: str, link: Link, stack: Stack) -> None:
    """Raise if the library that calls an objective would misinterpret it."""
    refuse_estimator(name, link, estimator_above(stack))
    refuse_transform(name, link, stack)


TRAIN_ELSEWHERE = (
    "train a different model: train on one machine, with XGBoost, or on Dask within lightgbm() of "
    "gbdt_objectives.distributed.dask.experimental, passing its objective and callbacks"
)


def refuse_alone(name: str, stack: Stack, would: str = TRAIN_ELSEWHERE) -> None:
    """Raise on one worker of several in LightGBM, which has no sums over them for us."""
    if free_network(stack):
        raise ValueError(
            f"{name} is called in distributed LightGBM, where each worker would see the sums of "
            f"its own rows only and {would}"
        )


def free_network(stack: Stack) -> bool:
    """Whether a booster of distributed LightGBM calls us. Its network is freed then: other workers
    fail at once, and the booster cannot free the network of the next training when it is
    deleted."""
    for _, frame in enclosing_frames(stack):
        booster: Any = frame.f_locals.get("self")
        if getattr(booster, "_network", None) is True:
            booster.free_network()
            return True
    return False


def users_level() -> int:
    """The stacklevel of a warning that points at the code which called this package."""
    ours = takewhile(lambda frame: frame[0] == "gbdt_objectives", stack())
    return 1 + sum(1 for _ in ours)


def caller_of(stack: Stack) -> str | None:
    """The library whose code stands directly above ours."""
    return next((library for library, _ in library_frames(stack)), None)


def refuse_metric(name: str, y_pred: object, stack: Stack) -> None:
    """Raise if a booster calls a metric itself instead of its rendering for the library."""
    if hasattr(y_pred, "get_label"):
        library = type(y_pred).__module__.partition(".")[0]
    elif caller_of(stack) == "lightgbm":  # XGBoost's estimators take a float
        library = "lightgbm"
    else:
        return
    raise TypeError(
        f"{name} must be rendered for {library}: pass {_rendering(library)}, or import train, cv "
        f"or the estimator from gbdt_objectives.adapters.{library}, which accept the metric itself"
    )


def refuse_rendering(name: str, library: str, stack: Stack, *, reduces: bool) -> None:
    """Raise if the rendering for one library is called by the other, or if nothing ``reduces`` the
    metric, which would then be that of one worker's rows."""
    if library == "lightgbm" and not reduces:
        refuse_alone(name, stack, "stop in another round: measure on one machine, or with XGBoost")
    caller = caller_of(stack)
    if caller is not None and caller != library:
        raise TypeError(f"{name}.{library} is called by {caller}: pass {_rendering(caller)}")


def _rendering(library: str) -> str:
    argument = "feval= or eval_metric=" if library == "lightgbm" else "custom_metric="
    return f"metric.{library} as {argument}"


def refuse_direction(name: str, greater_is_better: bool, stack: Stack) -> None:
    """Raise if XGBoost's early stopping would keep the metric's worst round instead of its best."""
    for _, frame in library_frames(stack):
        if frame.f_code.co_name != "after_iteration":
            continue
        for callback in getattr(frame.f_locals.get("self"), "callbacks", ()):
            stops = "EarlyStopping" in {base.__name__ for base in type(callback).__mro__}
            if not stops or callback.metric_name not in (None, name):
                continue
            if bool(callback.maximize) != greater_is_better:  # None: it would guess, and minimise
                word = "minimise" if greater_is_better else "maximise"
                raise ValueError(
                    f"XGBoost's early stopping would {word} {name}: import XGBRegressor, "
                    "XGBClassifier, train or cv from gbdt_objectives.adapters.xgboost, or pass its "
                    "early_stopping(metric, rounds) among the callbacks instead of "
                    "early_stopping_rounds"
                )


def refuse_wrapped_metric(name: str, stack: Stack) -> None:
    """Raise for a metric that a booster reaches through a function of the user's: each of several
    workers would see the number of its own rows, and XGBoost the mean of these."""
    if next(enclosing_frames(stack), None) is not None:
        raise ValueError(
            f"{name} is called on the rows of one worker of several: pass metric.xgboost "
            "itself for custom_metric= or eval_metric=, which sums over all workers"
        )


def enclosing_frames(stack: Stack) -> Iterator[tuple[str, FrameType]]:
    """The frames of XGBoost or LightGBM that stand above our own, whatever is between."""
    within = dropwhile(lambda at: at[0] not in LIBRARIES, stack)
    return takewhile(lambda at: at[0] in LIBRARIES, within)


def library_frames(stack: Stack) -> Iterator[tuple[str, FrameType]]:
    """The frames of XGBoost or LightGBM that stand directly above our own."""
    above = takewhile(lambda at: at[0] in (*LIBRARIES, "gbdt_objectives"), stack)
    return (at for at in above if at[0] in LIBRARIES)


def estimator_above(stack: Stack) -> object:
    """The estimator whose ``fit`` trains the booster that calls us, whatever wraps its training.
    None for a training of its own, even one within another."""
    trainings = 0
    for room, frame in stack:
        if room not in LIBRARIES:
            continue
        if frame.f_code.co_name == "fit":
            return frame.f_locals.get("self")
        trainings += frame.f_code.co_name in ("train", "cv")
        if trainings > 1:
            return None
    return None


def refuse_estimator(name: str, link: Link, estimator: object) -> None:
    """Raise for a plain estimator whose predictions would be misread."""
    classifier = booster_kind(estimator, "Classifier")
    library = classifier or booster_kind(estimator, "Regressor")
    if library is None:
        return
    prefix = {"lightgbm": "LGBM", "xgboost": "XGB"}[library]
    if link.is_label_unit:
        if classifier is None or not link.is_declared:
            return
        raise TypeError(
            f"{name} trains a score in label units, which {prefix}Classifier would interpret as "
            f"log-odds: import {prefix}Regressor from gbdt_objectives.adapters.{library}, and turn "
            "its scores into classes with apply_thresholds"
        )
    if classifier is None and (link.n_classes or not link.is_transformed):
        return  # margins, as of any custom objective
    if classifier == "xgboost" and link.is_transformed and link.n_classes == 2:
        return  # XGBoost's logistic function is right
    wrong = {
        None: f"would return {link.margins} as predictions of",
        "lightgbm": "returns raw scores as probabilities under a custom objective such as",
        "xgboost": "would take the logistic function or softmax of a margin for the probability of",
    }[classifier]
    kind = "Classifier" if link.n_classes else "Regressor"
    raise TypeError(
        f"{library}.{type(estimator).__name__} {wrong} {name}: import {prefix}{kind} from "
        f"gbdt_objectives.adapters.{library}"
    )
