"""A trained XGBoost model as data: what its file holds, and an estimator around it again."""

from __future__ import annotations

import json
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import xgboost as xgb

from gbdt_objectives._checks import Array, shown
from gbdt_objectives._links import OF_XGBOOST, RAW, Link
from gbdt_objectives.adapters.xgboost.estimators import XGBClassifier, XGBRegressor, _set_classes
from gbdt_objectives.adapters.xgboost.intercept import objective_of, read_learner

KINDS = {"XGBRegressor": XGBRegressor, "XGBClassifier": XGBClassifier}
NO_MARGIN = ("multi:softmax", "binary:hinge")
"""Objectives of models that predict a class, of margins that are something else."""


def booster_of(model: Any) -> xgb.Booster:
    return model if isinstance(model, xgb.Booster) else model.get_booster()


def is_linear(booster: xgb.Booster) -> bool:
    return bool(read_learner(booster)["gradient_booster"]["name"] == "gblinear")


def reader(model: Any) -> dict[str, Any]:
    """How a served model reads the file: its library, and what it must be told."""
    missing = float("nan") if isinstance(model, xgb.Booster) else float(model.missing)
    linear = is_linear(booster_of(model))
    return {"library": "gblinear" if linear else "xgboost", "missing": repr(missing)}


def link_of(model: Any) -> Link:
    """What the margins of the file are; raises for a transform of XGBoost that no link names."""
    name = objective_of(booster_of(model))
    if name in RAW and isinstance(model, xgb.Booster):
        return RAW[name]
    if name not in OF_XGBOOST or name in NO_MARGIN:
        known = [known for known in OF_XGBOOST if known not in NO_MARGIN]
        raise ValueError(
            f"the model has XGBoost's objective {name!r}, whose predictions have no formula here: "
            f"train on one of {', '.join(known)}"
        )
    return OF_XGBOOST[name]


def names_of(model: Any) -> list[str] | None:
    names = booster_of(model).feature_names
    return None if names is None else list(names)


def categories_of(model: Any, own: list[list[Any] | None]) -> list[list[Any] | None]:
    """The categories of each feature in the model's order; ``own`` are those of X, in the order
    that XGBoost before 3.1 relies on."""
    types = booster_of(model).feature_types or ["q"] * len(own)
    for k, (kind, categories) in enumerate(zip(types, own, strict=True)):
        if (kind == "c") != (categories is not None):
            word = "is" if kind == "c" else "is not"
            raise ValueError(
                f"feature {k} {word} categorical in the model, but not so in X: pass X, a "
                "DataFrame with the dtypes that fit saw"
            )
    if "c" not in types:
        return own
    model_of = json.loads(booster_of(model).save_raw("json"))["learner"]["gradient_booster"]
    stored = model_of.get("model", {}).get("cats", {}).get("enc") or [{}] * len(own)
    return [
        categories if categories is None or not values.get("values") else decode(values, categories)
        for categories, values in zip(own, stored, strict=True)
    ]


def decode(stored: dict[str, Any], own: list[Any]) -> list[Any]:
    """Categories as XGBoost stores them: numbers, or the bytes of words and where each starts.

    XGBoost 3.2 counts characters there, and cuts off as many bytes at the end as others than
    ASCII have more: such words can be compared with those of X, but not read.
    """
    if "offsets" not in stored:
        return list(stored["values"])
    letters = bytes(value % 256 for value in stored["values"])
    if letters.isascii():
        return [letters[start:stop].decode() for start, stop in pairwise(stored["offsets"])]
    words = list(map(str, own))
    for lengths in (map(len, words), (len(word.encode()) for word in words)):
        starts = list(accumulate(lengths, initial=0))
        if starts == stored["offsets"] and "".join(words).encode()[: starts[-1]] == letters:
            return own
    raise ValueError(
        f"X has the categories {shown(own)}, but the model was trained on others, or in another "
        "order: pass X with the dtypes that fit saw"
    )


def margin(model: Any, X: Any) -> Array:
    """Margins from the rounds that the model predicts with, float64."""
    if isinstance(model, xgb.Booster):
        data = X if isinstance(X, xgb.DMatrix) else matrix(model, X)
        f = model.predict(data, output_margin=True, validate_features=hasattr(X, "columns"))
    else:
        f = model.predict(X, output_margin=True)
    return np.asarray(f, np.float64)


def matrix(model: xgb.Booster, X: Any, y: Any = None, **columns: Any) -> xgb.DMatrix:
    """Rows with the model's categories: a training that goes on would number them anew."""
    types: Any = model.feature_types
    if types is not None and hasattr(X, "iloc"):
        coded = "c" in types and hasattr(model, "get_categories")  # from XGBoost 3.1 on
        types = model.get_categories() if coded else None
    return xgb.DMatrix(X, y, enable_categorical=True, feature_types=types, **columns)


def write(model: Any, path: str) -> None:
    """The rounds that it predicts with: of an estimator that stopped early those up to the best."""
    booster = booster_of(model)
    best = None if isinstance(model, xgb.Booster) else booster.attr("best_iteration")
    if best is not None and not is_linear(booster):
        booster = booster[: int(best) + 1]
    booster.save_model(path)


def restore(
    kind: str, path: str, parameters: dict[str, Any], classes: Array | None, objective: Any,
    names: list[str] | None,
) -> Any:  # fmt: skip
    """A fitted estimator around the model in a file."""
    model = KINDS[kind](**parameters)
    model._Booster = xgb.Booster(model_file=path)
    if objective is not None:
        model.objective = objective
    elif classes is not None:
        model.objective = objective_of(model._Booster)
    if classes is not None and objective is not None:
        model.objective_ = objective
        _set_classes(model, len(classes))
    elif classes is not None:
        model.n_classes_ = len(classes)
    return model
