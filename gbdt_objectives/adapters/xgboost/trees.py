"""XGBoost's trees: x < threshold in float32, and a category of the set goes to the right."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xgboost as xgb

from gbdt_objectives._checks import Array
from gbdt_objectives._links import LOG, LOGIT, OF_XGBOOST, RAW
from gbdt_objectives.adapters._trees import LT, MEMBER, Trees
from gbdt_objectives.adapters.xgboost.intercept import count_outputs
from gbdt_objectives.adapters.xgboost.serving import link_of


def read_trees(booster: xgb.Booster) -> Trees:
    learner = json.loads(booster.save_raw("json"))["learner"]
    model = learner["gradient_booster"]
    if model["name"] == "gblinear":
        raise ValueError("the model is booster='gblinear', which has no trees: export a folder "
                         "with serving.export, or train booster='gbtree'")  # fmt: skip
    trees = model.get("gbtree", model)["model"]  # before XGBoost 3.3, dart wraps a gbtree
    drop = model.get("weight_drop") or trees.get("weight_drop")
    found = Trees(base_margin(booster, learner), is_float32=True)
    for k, tree in enumerate(trees["trees"]):
        if int(tree["tree_param"]["size_leaf_vector"]) > 1:
            raise ValueError("the booster has vector leaves (multi_output_tree): train it with "
                             "multi_strategy='one_output_per_tree'")  # fmt: skip
        weight = float(np.float32(drop[k])) if drop else 1.0
        found.add(int(trees["tree_info"][k]), nodes_of(tree, weight), 0)
    return found


def nodes_of(tree: dict[str, Any], weight: float) -> dict[Any, Any]:
    values = np.float32(tree["split_conditions"]).astype(float).tolist()
    sets = {
        node: [float(code) for code in tree["categories"][start : start + size]]
        for node, start, size in zip(
            tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"],
            strict=True,
        )
    }  # fmt: skip
    nodes: dict[Any, Any] = {}
    waiting = [0]
    while waiting:
        k = waiting.pop()
        left, right = int(tree["left_children"][k]), int(tree["right_children"][k])
        if left == -1:
            nodes[k] = values[k] * weight
            continue
        feature, to_left = int(tree["split_indices"][k]), bool(tree["default_left"][k])
        if k in sets:
            nodes[k] = (feature, MEMBER, sets[k], not to_left, (right, left))
        else:
            nodes[k] = (feature, LT, values[k], to_left, (left, right))
        waiting += [left, right]
    return nodes


def base_margin(booster: xgb.Booster, learner: dict[str, Any]) -> Array:
    """The margins (K,) before the first tree: base_score is in the unit of the predictions."""
    score = np.atleast_1d(np.float64(json.loads(learner["learner_model_param"]["base_score"])))
    name = learner["objective"]["name"]
    link = RAW.get(name) or OF_XGBOOST.get(name) or link_of(booster)
    if link in (LOG, LOGIT):
        score = np.asarray(link.forward(score), np.float64)
    return np.broadcast_to(score, count_outputs(booster)).astype(np.float64)
