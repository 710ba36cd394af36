"""The trees of a booster's own file, as the arrays of ONNX's operator TreeEnsemble."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gbdt_objectives._boosters import library_of
from gbdt_objectives._checks import Array
from gbdt_objectives._links import LOG, LOGIT, OF_XGBOOST, RAW
from gbdt_objectives.serving.model import of_library

LEQ, LT, MEMBER = 0, 1, 6
"""The tests of a node, by the operator's numbers: x <= value, x < value, x in a set."""

Child = tuple[int, bool]
"""The place of a node, or of a leaf where the second is True."""


@dataclass(eq=False)
class Trees:
    """Margins are ``base`` and the sums of leaves, (n, K). All numbers are exact in float64."""

    base: Array
    is_float32: bool
    """Whether the booster compares features as float32."""
    roots: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    sets: list[list[float]] = field(default_factory=list)
    missing_is_true: list[bool] = field(default_factory=list)
    children: list[tuple[Child, Child]] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    leaves: list[float] = field(default_factory=list)

    def leaf(self, target: int, value: float) -> Child:
        self.targets.append(target)
        self.leaves.append(value)
        return len(self.leaves) - 1, True

    def add(self, target: int, nodes: dict[Any, Any], root: Any) -> None:
        """A tree: a leaf's number, or (feature, mode, value or set, missing_is_true, children) of
        each key of a node."""
        if isinstance(nodes[root], float):
            self.base[target] += nodes[root]
            return
        found: dict[Any, Child] = {}
        inner = [key for key, node in nodes.items() if not isinstance(node, float)]
        start = len(self.features)
        for place, key in enumerate(inner, start):
            found[key] = (place, False)
        for key, node in nodes.items():
            if isinstance(node, float):
                found[key] = self.leaf(target, node)
        for key in inner:
            feature, mode, value, missing_is_true, (yes, no) = nodes[key]
            self.features.append(feature)
            self.modes.append(mode)
            self.values.append(0.0 if mode == MEMBER else value)
            if mode == MEMBER:
                self.sets.append(value)
            self.missing_is_true.append(missing_is_true)
            self.children.append((found[yes], found[no]))
        self.roots.append(found[root][0])


def search(values: Iterable[float], side: str) -> Trees:
    """A tree that finds a place among rising values as numpy.searchsorted does."""
    x = [float(value) for value in values]
    found = Trees(np.zeros(1), is_float32=False)
    nodes: dict[Any, Any] = {}
    waiting = [(0, len(x))]
    while waiting:
        low, high = waiting.pop()
        if low == high:
            nodes[low, high] = float(low)
            continue
        middle = (low + high) // 2
        below, above = (low, middle), (middle + 1, high)
        mode = LT if side == "right" else LEQ
        nodes[low, high] = (0, mode, x[middle], False, (below, above))
        waiting += [below, above]
    found.add(0, nodes, (0, len(x)))
    return found


def of_booster(booster: Any) -> Trees:
    if library_of(booster) == "lightgbm":
        return of_lightgbm(booster)
    return of_xgboost(booster)


# LightGBM: x <= threshold in float64, a category of the set goes to the left.


def of_lightgbm(booster: Any) -> Trees:
    if "\nis_linear=1" in booster.model_to_string():
        raise ValueError("the model has linear_tree=True, which ONNX has no operator for: train "
                         "without it")  # fmt: skip
    document = booster.dump_model()
    K = int(document["num_tree_per_iteration"])
    trees = document["tree_info"]
    found = Trees(np.zeros(K), is_float32=False)
    for k, tree in enumerate(trees):
        nodes: dict[int, Any] = {}
        waiting = [tree["tree_structure"]]
        while waiting:
            node = waiting.pop()
            if "split_feature" not in node:
                nodes[id(node)] = float(node["leaf_value"])
                continue
            left, right = node["left_child"], node["right_child"]
            nodes[id(node)] = (*lightgbm_test(node), (id(left), id(right)))
            waiting += [left, right]
        found.add(k % K, nodes, id(tree["tree_structure"]))
    return found


def lightgbm_test(node: dict[str, Any]) -> tuple[int, int, Any, bool]:
    feature, missing = int(node["split_feature"]), node["missing_type"]
    if node["decision_type"] == "==":
        codes = [float(code) for code in str(node["threshold"]).split("||")]
        return feature, MEMBER, codes, False
    threshold = float(node["threshold"])
    if missing == "Zero":
        raise ValueError("the model has zero_as_missing=True, which ONNX has no operator for: "
                         "train without it, with NaN where a value is missing")  # fmt: skip
    # of a feature without missing values in training NaN counts as 0
    to_left = bool(node["default_left"]) if missing == "NaN" else threshold >= 0
    return feature, LEQ, threshold, to_left


# XGBoost: x < threshold in float32, a category of the set goes to the right.


def of_xgboost(booster: Any) -> Trees:
    learner = json.loads(booster.save_raw("json"))["learner"]
    model = learner["gradient_booster"]
    if model["name"] == "gblinear":
        raise ValueError("the model is booster='gblinear', which has no trees: export a folder "
                         "with serving.export, or train booster='gbtree'")  # fmt: skip
    trees = model.get("gbtree", model)["model"]  # before XGBoost 3.3, dart wraps a gbtree
    drop = model.get("weight_drop") or trees.get("weight_drop")
    base = base_margin(booster, learner)
    found = Trees(base, is_float32=True)
    for k, tree in enumerate(trees["trees"]):
        if int(tree["tree_param"]["size_leaf_vector"]) > 1:
            raise ValueError("the booster has vector leaves (multi_output_tree): train it with "
                             "multi_strategy='one_output_per_tree'")  # fmt: skip
        weight = float(np.float32(drop[k])) if drop else 1.0
        found.add(int(trees["tree_info"][k]), xgboost_nodes(tree, weight), 0)
    return found


def xgboost_nodes(tree: dict[str, Any], weight: float) -> dict[Any, Any]:
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


def base_margin(booster: Any, learner: dict[str, Any]) -> Array:
    """The margins (K,) before the first tree: base_score is in the unit of the predictions."""
    shape = learner["learner_model_param"]
    K = max(1, int(shape["num_class"]), int(shape.get("num_target", 1)))
    score = np.atleast_1d(np.float64(json.loads(shape["base_score"])))
    name = learner["objective"]["name"]
    link = RAW.get(name) or OF_XGBOOST.get(name) or of_library(booster).link_of(booster)
    if link in (LOG, LOGIT):
        score = np.asarray(link.forward(score), np.float64)
    return np.broadcast_to(score, K).astype(np.float64)
