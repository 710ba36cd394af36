"""XGBoost as a value: its functions and tables, and what its boosters say when they call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import xgboost as xgb

from gbdt_objectives._checks import Array, column_names, shown
from gbdt_objectives._links import LOG, LOGIT, OPAQUE, Link
from gbdt_objectives._registry import XGBOOST
from gbdt_objectives.adapters._models import OpenLibrary, Trees, read_once
from gbdt_objectives.adapters.xgboost import _train, estimators, intercept, parameters
from gbdt_objectives.adapters.xgboost.intercept import OF_XGBOOST, RAW, UNDER_OURS
from gbdt_objectives.adapters.xgboost.parameters import STOPPING, EarlyStopping, note, read_call


def trained_as(booster: Any) -> tuple[str, Link]:
    name = read_once(intercept.objective_of, booster)
    return name, UNDER_OURS.get(name, OPAQUE)


@cache
def knows_objective(name: str) -> bool:
    params = {"objective": name, "verbosity": 0, "nthread": 1}
    try:
        xgb.train(params, xgb.DMatrix(np.zeros((1, 1)), [0], nthread=1), 1)
    except xgb.core.XGBoostError as error:  # also of one that lacks a parameter here
        return "Unknown objective" not in str(error)
    return True


def start_is_told(booster: Any) -> bool:
    """Whether the user passed a base_score, by whatever name the training has it."""
    return bool(intercept.read_learner(booster)["learner_model_param"]["boost_from_average"] == "0")


def evaluated_as(seen: Mapping[str, Any], read: Link | None) -> Link | None:
    if seen.get("output_margin", True):
        return None
    name = read_once(intercept.objective_of, seen["self"])
    return None if RAW.get(name) == read else OF_XGBOOST.get(name, OPAQUE)


def check_start(log_odds: float) -> None:
    if abs(log_odds) > intercept.MOST_LOG_ODDS:
        raise ValueError(
            f"training cannot start at {log_odds:.4g}, the log-odds of the full population: "
            f"XGBoost limits a logistic base_score to +-{intercept.MOST_LOG_ODDS:.4g}. Use "
            "LGBMClassifier, or correction='prior' at rates that bring the sample within the limit"
        )


# Models as data.

KINDS = {"XGBRegressor": estimators.XGBRegressor, "XGBClassifier": estimators.XGBClassifier}
NO_MARGIN = ("multi:softmax", "binary:hinge")
"""Objectives of models that predict a class, of margins that are something else."""


def booster_of(model: Any) -> xgb.Booster:
    return model if isinstance(model, xgb.Booster) else model.get_booster()


def is_linear(booster: xgb.Booster) -> bool:
    return bool(intercept.read_learner(booster)["gradient_booster"]["name"] == "gblinear")


def reader(model: Any) -> dict[str, Any]:
    missing = float("nan") if isinstance(model, xgb.Booster) else float(model.missing)
    linear = is_linear(booster_of(model))
    return {"library": "gblinear" if linear else "xgboost", "missing": repr(missing)}


def link_of(model: Any) -> Link:
    name = intercept.objective_of(booster_of(model))
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
    """``own`` are the categories of X, in the order that XGBoost before 3.1 relies on."""
    types = booster_of(model).feature_types or ["q"] * len(own)
    for k, (kind, categories) in enumerate(zip(types, own, strict=True)):
        if (kind == "c") != (categories is not None):
            is_one = "is" if kind == "c" else "is not"
            raise ValueError(
                f"feature {k} {is_one} categorical in the model, but not so in X: pass X, a "
                "DataFrame with the dtypes that fit saw"
            )
    if "c" not in types:
        return own
    trees = json.loads(booster_of(model).save_raw("json"))["learner"]["gradient_booster"]
    stored = trees.get("model", {}).get("cats", {}).get("enc") or [{}] * len(own)
    return [
        decode(found, known) if known is not None and found.get("values") else known
        for known, found in zip(own, stored, strict=True)
    ]


def decode(stored: dict[str, Any], own: list[Any]) -> list[Any]:
    """Categories as XGBoost stores them: numbers, or the bytes of words and where each starts, for
    which 3.2 counts characters: other words than ASCII can only be compared with those of X."""
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
    if isinstance(model, xgb.Booster):
        data = X if isinstance(X, xgb.DMatrix) else matrix(model, X)
        f = model.predict(data, output_margin=True, validate_features=column_names(X) is not None)
    else:
        f = model.predict(estimators.Fitting.by_name(model, X), output_margin=True)
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
    model = KINDS[kind](**parameters)
    model._Booster = xgb.Booster(model_file=path)
    if objective is not None:
        model.objective = objective
    if classes is not None and objective is not None:
        model.objective_ = objective
        estimators._set_classes(model, len(classes))
    elif classes is not None:
        model.objective = intercept.objective_of(model._Booster)
        model.n_classes_ = len(classes)
    return model


def read_trees(booster: xgb.Booster) -> Trees:
    """XGBoost's: x < threshold in float32, and a category of the set goes to the right."""
    learner = json.loads(booster.save_raw("json"))["learner"]
    model, drop = intercept.trees_of(learner["gradient_booster"])
    if "trees" not in model:
        raise ValueError("the model is booster='gblinear', which has no trees: export a folder "
                         "with serving.export, or train booster='gbtree'")  # fmt: skip
    found = Trees(base_margin(booster, learner), is_float32=True)
    for k, tree in enumerate(model["trees"]):
        weight = float(np.float32(drop[k])) if drop else 1.0
        found.add(int(model["tree_info"][k]), nodes_of(tree, weight), 0)
    return found


def nodes_of(tree: dict[str, Any], weight: float) -> dict[Any, Any]:
    values = np.float32(tree["split_conditions"]).astype(float).tolist()
    names = ("categories_nodes", "categories_segments", "categories_sizes")
    sets = {
        node: [float(code) for code in tree["categories"][start : start + size]]
        for node, start, size in zip(*(tree[name] for name in names), strict=True)
    }
    nodes: dict[Any, Any] = {}
    waiting = [0]
    while waiting:
        k = waiting.pop()
        left, right = int(tree["left_children"][k]), int(tree["right_children"][k])
        if left == -1:
            nodes[k] = values[k] * weight
            continue
        feature, to_left = int(tree["split_indices"][k]), bool(tree["default_left"][k])
        nodes[k] = (feature, Trees.LT, values[k], to_left, (left, right))
        if k in sets:
            nodes[k] = (feature, Trees.MEMBER, sets[k], not to_left, (right, left))
        waiting += [left, right]
    return nodes


def base_margin(booster: xgb.Booster, learner: dict[str, Any]) -> Array:
    """The margins (K,) before the first tree: base_score is in the unit of the predictions."""
    score = np.atleast_1d(np.float64(json.loads(learner["learner_model_param"]["base_score"])))
    name = learner["objective"]["name"]
    link = RAW.get(name) or OF_XGBOOST.get(name) or link_of(booster)
    if link in (LOG, LOGIT):
        score = np.asarray(link.forward(score), np.float64)
    return np.broadcast_to(score, intercept.count_outputs(booster)).astype(np.float64)


LIBRARY = OpenLibrary(
    **vars(XGBOOST),
    # calls; its booster has the name and the columns of an earlier model
    trained_as=trained_as, start_is_told=start_is_told, evaluated_as=evaluated_as,
    read_call=read_call, note=note,
    # training
    data=xgb.DMatrix, instead=parameters.INSTEAD, parses_names=True, stops=STOPPING,
    stop=lambda metric, rounds, params: EarlyStopping(metric, rounds),
    direct=parameters.direct_callbacks,
    check=lambda request, params, callbacks: parameters.check(params, request.objective, callbacks),
    labels=_train.labels, place=_train.place, fold_rows=_train.fold_rows,
    run=_train.run, finish=_train.finish, predicts_on=xgb.DMatrix,
    # estimators
    kinds=KINDS, fitting=estimators.Fitting, aliases=parameters.ALIASES, check_start=check_start,
    defaults={"Regressor": (None, "reg:squarederror"), "Classifier": (None, "binary:logistic")},
    takes={"reg:gamma": (1e-300, np.inf), **dict.fromkeys(
        ("binary:logistic", "reg:logistic", "binary:logitraw", "binary:hinge"), (0, 1))},
    correctable=(None, "binary:logistic", "reg:logistic", "multi:softprob", "multi:softmax"),
    knows_objective=knows_objective, classifies=("binary:logitraw", "binary:hinge"),
    small={"max_depth": 2, "n_jobs": 1, "verbosity": 0}, functions_are_log_odds=True,
    weigh_held_out=lambda w: {"sample_weight_eval_set": [w]}, quiet_fit={"verbose": False},
    zero_rounds_stop=True, leaves=intercept.leaves,
    count_rounds=lambda estimator: int(estimator.get_booster().num_boosted_rounds()),
    # models as data
    tolerance=1e-6,  # it adds up its trees in float32
    refuses_new=True,  # from 3.1 on
    misreads_newer=True, reader=reader, link_of=link_of, names_of=names_of, margin=margin,
    count_outputs=lambda model: intercept.count_outputs(booster_of(model)),
    count_features=lambda model: int(booster_of(model).num_features()),
    same_names=lambda own, given: own == given, categories_of=categories_of,
    write=write, write_all=lambda booster, path: booster.save_model(path),
    open_booster=lambda path: xgb.Booster(model_file=path), restore=restore, trees=read_trees,
    # intercepts
    margins_of=intercept.margins_of, shift_intercept=intercept.shift_intercept,
    mark_of=lambda model: intercept.mark_of(booster_of(model)),
    read_odds=intercept.read_odds, predict_log_odds=intercept.predict_log_odds,
)  # fmt: skip
