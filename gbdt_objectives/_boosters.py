"""What the booster that calls us says of itself: its own configuration, wherever it trains.

The call of an objective or metric comes from a method of the booster, whatever wraps the training,
and the booster knows which objective it has, so whether its predictions are margins.
"""

from __future__ import annotations

import json
import re
import sys
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from gbdt_objectives._links import IDENTITY, OF_LIGHTGBM, OF_XGBOOST, OPAQUE, RAW, Link

LIBRARIES = ("xgboost", "lightgbm")

TRAINS = ("update", "boost")
EVALUATES = ("eval_set", "__inner_eval")


Stack = list[tuple[str, FrameType]]
"""Frames, the nearest first, each with the package that its code belongs to; "" if to none."""


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
    trained = xgboost_objective(frame.f_locals["self"])
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
    booster = frame.f_locals["self"]
    if library == "xgboost":
        if frame.f_locals.get("output_margin", True):
            return None
        name = xgboost_objective(booster)
        return None if RAW.get(name) == read else OF_XGBOOST.get(name, OPAQUE)
    name = lightgbm_objective(booster)
    return OF_LIGHTGBM.get(name, OPAQUE) if name else None


_known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def xgboost_objective(booster: Any) -> str:
    if booster not in _known:
        _known[booster] = json.loads(booster.save_config())["learner"]["objective"]["name"]
    return _known[booster]


def lightgbm_objective(booster: Any) -> str:
    """The name of the booster's objective; "" for a custom one."""
    if booster not in _known:
        text = booster.model_to_string(num_iteration=1)
        found = re.search(r"(?m)^objective=(\S+)", text.split("\n\n", 1)[0])
        _known[booster] = "" if found is None else found[1]
    return _known[booster]
