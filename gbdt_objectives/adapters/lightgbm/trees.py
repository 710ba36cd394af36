"""LightGBM's trees: x <= threshold in float64, and a category of the set goes to the left."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np

from gbdt_objectives.adapters._trees import LEQ, MEMBER, Trees


def read_trees(booster: lgb.Booster) -> Trees:
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
            nodes[id(node)] = (*test_of(node), (id(left), id(right)))
            waiting += [left, right]
        found.add(k % K, nodes, id(tree["tree_structure"]))
    return found


def test_of(node: dict[str, Any]) -> tuple[int, int, Any, bool]:
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
