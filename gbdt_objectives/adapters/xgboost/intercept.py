"""The intercept of a trained XGBoost model, and what its parameters did to it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import ArrayLike
from scipy.special import logit

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._links import CHANGED, IDENTITY, LOG, LOGIT, OPAQUE, SOFTMAX, UNDECLARED, Link
from gbdt_objectives.adapters import _arguments, _train

LOGISTIC_OBJECTIVES = ("binary:logistic", "reg:logistic", "binary:logitraw")
LOG_ODDS = (*LOGISTIC_OBJECTIVES, "multi:softprob", "multi:softmax")
SHIFTABLE_OBJECTIVES = (
    *LOG_ODDS,
    "reg:squarederror", "reg:pseudohubererror", "reg:absoluteerror", "reg:quantileerror",
)  # fmt: skip
"""Their margins are label units or log-odds."""

LEAST_PROBABILITY = 1e-6  # XGBoost silently clips a logistic base_score to [1e-6, 1 - 1e-6]
MOST_LOG_ODDS = float(-logit(LEAST_PROBABILITY))


def shift_intercept(booster: xgb.Booster, delta: ArrayLike, mark: str = "") -> xgb.Booster:
    """A shifted copy: the shift is in ``base_score`` as far as possible, else in leaves."""
    learner = read_learner(booster)
    name = learner["objective"]["name"]
    if name not in SHIFTABLE_OBJECTIVES:
        _arguments.refuse_objective(name, _arguments.NO_MARGIN)
    if booster.num_boosted_rounds() == 0:
        raise ValueError("the booster has no tree: train it first")
    before = _first_margin(booster)
    target = before + _arguments.read_shift(delta, len(before))
    if not (np.abs(target) < np.finfo(np.float32).max).all():
        raise ValueError(f"delta = {delta!r} moves the margin beyond XGBoost's float32")
    moved = booster.copy()
    if len(before) == 1:
        base_score = np.atleast_1d(json.loads(learner["learner_model_param"]["base_score"]))
        if OF_XGBOOST[name] is LOGIT:
            p = LOGIT.inverse(LOGIT.forward(base_score) + target - before)
            base_score = np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        else:  # it is a margin
            base_score = base_score + target - before
        moved.set_param({"base_score": float(base_score[0])})
    rest = target - _first_margin(moved)
    unit = 1 + np.abs(before) + np.abs(target)
    if (np.abs(rest) > 2e-7 * unit).any():  # more than a few roundings of float32
        add_to_leaves(moved, rest)
    _arguments.check_moved(_first_margin(moved), target, 1e-5 * unit)
    if mark:
        moved.set_attr(**{_train.MARK: f"{mark} {moved.num_boosted_rounds()}"})
    return moved


def mark_of(booster: xgb.Booster) -> str | None:
    """What corrects its log-odds, unless there are later rounds, which may be of another loss."""
    mark, rounds = (booster.attr(_train.MARK) or " 0").split(" ")
    return mark if booster.num_boosted_rounds() <= int(rounds) else None


def margins_of(booster: xgb.Booster) -> tuple[str, Link]:
    name = objective_of(booster)
    if name == "reg:squarederror":  # the default, which a function of the user's leaves there
        return name, UNDECLARED
    return name, LOGIT if name in LOG_ODDS else OF_XGBOOST.get(name, OPAQUE)


def read_odds(booster: xgb.Booster, y: ArrayLike | None) -> float:
    """The factor by which its parameters multiplied the odds of label 1."""
    weight = float(_logistic_objective(booster)["reg_loss_param"]["scale_pos_weight"])
    if not weight > 0:
        raise ValueError(
            f"the booster was trained with scale_pos_weight = {weight:g}: no shift undoes that"
        )
    return weight


def predict_log_odds(booster: xgb.Booster, X: Any, sample_weight: ArrayLike | None) -> Array:
    _logistic_objective(booster)
    data = X if isinstance(X, xgb.DMatrix) else xgb.DMatrix(X, enable_categorical=True)
    if sample_weight is None and data.get_weight().size:
        raise ValueError("X is a DMatrix with weights: pass them, sample_weight=X.get_weight()")
    margin: Array = _checks.vector("the margin", booster.predict(data, output_margin=True))
    return margin.astype(np.float64)


def _logistic_objective(booster: xgb.Booster) -> dict[str, Any]:
    objective: dict[str, Any] = read_learner(booster)["objective"]
    if objective["name"] not in LOGISTIC_OBJECTIVES:
        _arguments.refuse_objective(objective["name"], _arguments.NO_LOG_ODDS)
    return objective


def count_outputs(booster: xgb.Booster) -> int:
    """How many margins it predicts for a row."""
    shape = read_learner(booster)["learner_model_param"]
    return max(1, int(shape["num_class"]), int(shape["num_target"]))


def leaves(booster: Any, X: Any) -> Array:
    """The leaf of each row in each tree, up to the best round if training stopped early."""
    if hasattr(booster, "apply"):  # an estimator
        return np.asarray(booster.apply(X))
    data = X if isinstance(X, xgb.DMatrix) else xgb.DMatrix(X, enable_categorical=True)
    best = booster.attr("best_iteration")
    rounds = (0, booster.num_boosted_rounds() if best is None else int(best) + 1)
    return np.asarray(booster.predict(data, pred_leaf=True, iteration_range=rounds))


def read_learner(booster: xgb.Booster) -> dict[str, Any]:
    _arguments.check_booster(booster, xgb.Booster, "get_booster()")
    learner: dict[str, Any] = json.loads(booster.save_config())["learner"]
    return learner


def objective_of(booster: xgb.Booster) -> str:
    return str(read_learner(booster)["objective"]["name"])


OF_XGBOOST = {
    **dict.fromkeys((
        "reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror",
        "reg:quantileerror", "reg:expectileerror", "binary:logitraw", "binary:hinge",
        "multi:softmax",  # the class, of the margins
    ), IDENTITY),
    "binary:logistic": LOGIT, "reg:logistic": LOGIT, "multi:softprob": SOFTMAX,
    "count:poisson": LOG, "reg:gamma": LOG, "reg:tweedie": LOG,
}  # fmt: skip
"""The link of what models of XGBoost's objectives predict; identity where that is the margin."""
RAW = {"binary:logitraw": LOGIT}
"""What the margin is under XGBoost's objectives that predict the margin itself."""
UNDER_OURS = {
    **OF_XGBOOST, "survival:cox": LOG, "survival:aft": LOG,
    **dict.fromkeys(("rank:ndcg", "rank:map", "rank:pairwise"), IDENTITY),
    **dict.fromkeys(("reg:absoluteerror", "reg:quantileerror", "binary:hinge"), CHANGED),
}  # fmt: skip
"""By what a booster of this name predicts that an objective of ours trains."""


def _first_margin(booster: xgb.Booster) -> Array:
    """Margins (K,) of a row of missing values after the first round, with few roundings."""
    row = xgb.DMatrix(np.full((1, booster.num_features()), np.nan))
    margin = booster.predict(
        row, output_margin=True, iteration_range=(0, 1), validate_features=False
    )
    return np.asarray(margin, np.float64).ravel()


def trees_of(booster: dict[str, Any]) -> tuple[dict[str, Any], list[float] | None]:
    """Trees or weights of a gradient_booster, and what dropout multiplies each tree by."""
    model = booster.get("gbtree", booster)["model"]  # before XGBoost 3.3, dart wraps a gbtree
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in model.get("trees", ())):
        raise ValueError(
            "the booster has vector leaves (multi_output_tree): train it with "
            "multi_strategy='one_output_per_tree'"
        )
    return model, booster.get("weight_drop") or model.get("weight_drop")  # from XGBoost 3.4 on


def add_to_leaves(booster: xgb.Booster, deltas: Array) -> None:
    """Add to every leaf of each output's first tree, or to gblinear's last weights, in place."""
    document = json.loads(booster.save_raw("json"))
    model, drop = trees_of(document["learner"]["gradient_booster"])
    if "weights" in model:  # of gblinear: the last are those of no column
        weights, K = model["weights"], len(deltas)
        weights[-K:] = np.float32(np.add(weights[-K:], deltas)).tolist()
        deltas = np.empty(0)
    for output, delta in enumerate(deltas):
        first = model["tree_info"].index(output)
        tree = model["trees"][first]
        leaf = np.equal(tree["left_children"], -1)  # its value is in split_conditions
        shift = np.where(leaf, delta / drop[first] if drop else delta, 0)
        tree["split_conditions"] = np.float32(tree["split_conditions"] + shift).tolist()
    booster.load_model(bytearray(json.dumps(document).encode()))
