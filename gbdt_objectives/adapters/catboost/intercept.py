"""The intercept of a trained CatBoost model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives._links import IDENTITY, LOGIT, OPAQUE, UNDECLARED, Link
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.base import Start

LINKS = {
    "Logloss": LOGIT, "CrossEntropy": LOGIT, "MultiClass": Link.softmax(None),
    "PythonUserDefinedPerObject": UNDECLARED,
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "Huber", "LogCosh", "MAPE", "Lq"), IDENTITY),
}  # fmt: skip
"""What margins of models of CatBoost's objectives are."""


def margins_of(model: Any) -> tuple[str, Link]:
    own = vars(model).get("_objective")
    name = model._object._get_loss_function_name()
    if own is not None:
        return repr(own), own.link
    return name, LINKS.get(name.partition(":")[0], OPAQUE)


def shift_intercept(model: Any, delta: ArrayLike) -> Any:
    """A shifted copy, with the shift in CatBoost's bias."""
    if not model.is_fitted():
        raise ValueError("the booster is not trained: call fit first")
    _arguments.check_shiftable(*margins_of(model))
    scale, bias = model.get_scale_and_bias()
    raw = _arguments.read_shift(delta, np.size(bias)) + bias
    moved = model.copy()
    moved.set_scale_and_bias(scale, raw.tolist() if len(raw) > 1 else float(raw[0]))
    return moved


def finish(model: Any, objective: Objective, intercept: Start) -> Any:
    """A complete model, with the intercept in its first tree: CatBoost's own bias would be missing
    from a classifier's ONNX file and from models that go on from it."""
    leaves = model.get_leaf_values()
    leaves[: model.get_tree_leaf_counts()[0]] += intercept
    model.set_leaf_values(leaves)
    model.set_scale_and_bias(*model.get_scale_and_bias())  # CatBoost forgets what it prepared
    if objective.link.name == "log":  # which predict() of a loaded file reads there
        about = model.get_metadata()
        known = json.loads(about["params"])
        known["flat_params"]["loss_function"] = "Poisson"
        about["params"] = json.dumps(known)
    return model
