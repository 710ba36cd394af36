"""Trees on some features only, appended to a trained XGBoost model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xgboost as xgb

from gbdt_objectives._checks import Array
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters.xgboost._train import read_learner, train
from gbdt_objectives.adapters.xgboost.estimators import LIBRARY, matrix
from gbdt_objectives.experimental import repair
from gbdt_objectives.objectives import offset_logloss_objective

OBJECTIVES = ("binary:logistic", "reg:logistic")

CHOSEN = 1e6
"""The weight of features that may be split on: XGBoost counts a weight of 0 as 1e-6."""


def complete(booster: xgb.Booster) -> xgb.Booster:
    """A copy of the rounds up to the best one, without parameters of its training; raises if no
    trees of log-odds can follow."""
    learner = read_learner(booster)
    name, gradient_booster = learner["objective"]["name"], learner["gradient_booster"]
    if name not in OBJECTIVES:
        raw = 'booster.set_param({"objective": "binary:logistic"})'
        remedy = f"pass a copy after {raw}" if name == "binary:logitraw" else repair.TRAIN_BINARY
        _arguments.refuse_objective(name, repair.NO_PROBABILITY + remedy)
    outputs = LIBRARY.count_outputs(booster)
    if outputs > 1:
        raise ValueError(
            f"the booster has {outputs} outputs: train a model for each, and repair it alone"
        )
    trees = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"].get("model", {})
    dropped = any(weight != 1 for weight in trees.get("weight_drop") or ())  # from XGBoost 3.4 on
    kind = "dart" if dropped else gradient_booster["name"]
    if kind != "gbtree":
        raise ValueError(
            f"the booster is a {kind}, to which no trees of fixed weight can be appended: train it "
            "with booster='gbtree' and without dropout"
        )
    parallel = int(gradient_booster["gbtree_model_param"]["num_parallel_tree"])
    if parallel > 1:
        raise ValueError(
            f"the booster has {parallel} trees a round (num_parallel_tree), but one is to be "
            "appended each round: train it with num_parallel_tree=1"
        )
    if booster.num_boosted_rounds() == 0:
        raise ValueError("the booster has no tree: train it first")
    best = booster.attr("best_iteration")
    if best is not None:
        booster = booster[: int(best) + 1]
    model = xgb.Booster(model_file=bytearray(booster.save_raw()))
    model.set_attr(best_iteration=None, best_score=None)
    return model


def as_trained(model: xgb.Booster, X: Any) -> Any:
    return X


def count_trees(model: xgb.Booster) -> int:
    return int(model.num_boosted_rounds())


def grow(
    model: xgb.Booster, X: Any, y: Array, w: Array, rates: Array | None, columns: list[int],
    n_trees: int,
) -> xgb.Booster:  # fmt: skip
    """The model with trees that split on ``columns`` only."""
    first, d = model.num_boosted_rounds(), model.num_features()
    # interaction_constraints would leave columns that are in no group free at the root
    chosen: dict[str, Any] = {}
    if len(columns) < d:
        weights = np.zeros(d)
        weights[columns] = CHOSEN
        chosen["feature_weights"] = weights
    data = matrix(model, X, y, weight=w, **chosen)
    grown = train(
        {
            "learning_rate": repair.LEARNING_RATE, "max_depth": repair.DEPTH,
            "reg_lambda": repair.L2, "min_child_weight": repair.LEAST_HESSIAN,
            "max_cat_to_onehot": repair.EACH_CATEGORY,
            # so many features, rounded down or to the nearest
            "colsample_bynode": min(1.0, (len(columns) + 0.25) / d),
        },
        data, n_trees, xgb_model=model,
        objective=offset_logloss_objective(1.0 if rates is None else rates),
    )  # fmt: skip
    own = {"output_margin": True, "iteration_range": (0, first)}
    before, after = (one.predict(data, **own) for one in (model, grown))
    repair.check_grown(before, after, new_trees(grown, first), columns)
    return grown


def without_odds(model: xgb.Booster) -> xgb.Booster:
    """A copy that was not trained against imbalance, as far as it says: nothing is left to undo."""
    copy = model.copy()
    copy.set_param({"scale_pos_weight": 1})
    return copy


def new_trees(model: xgb.Booster, first: int) -> repair.NewTrees:
    """What each tree has in its leaves: the value of a leaf at its number."""
    learner = json.loads(model[first:].save_raw("json"))["learner"]
    found = []
    for tree in learner["gradient_booster"]["model"]["trees"]:
        leaf = np.equal(tree["left_children"], -1)
        columns = np.asarray(tree["split_indices"])[~leaf].tolist()
        found.append((np.where(leaf, tree["split_conditions"], np.nan), columns))
    return found


def new_leaves(grown: xgb.Booster, X: Any, first: int) -> Any:
    """The number of each row's leaf in each appended tree."""
    return grown[first:].predict(matrix(grown, X), pred_leaf=True)
