"""Trees on some features only, appended to a trained LightGBM model."""

from __future__ import annotations

import re
from typing import Any

import lightgbm as lgb
import numpy as np

from gbdt_objectives._checks import Array, shown
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters.lightgbm._train import train
from gbdt_objectives.adapters.lightgbm.intercept import add_to_leaves, read_objective
from gbdt_objectives.experimental import repair
from gbdt_objectives.objectives import offset_logloss_objective

OBJECTIVES = ("binary", "cross_entropy")

NEUTRAL = {
    "scale_pos_weight": 1, "is_unbalance": 0, "pos_bagging_fraction": 1, "neg_bagging_fraction": 1,
}  # fmt: skip
"""Parameters that multiply the odds of label 1, with the value that does not."""


def complete(booster: lgb.Booster) -> lgb.Booster:
    """A copy of the rounds up to the best one; raises if no trees of log-odds can follow."""
    _arguments.check_booster(booster, lgb.Booster, "booster_")
    text = booster.model_to_string()
    name, *settings = read_objective(booster)
    if name not in OBJECTIVES:
        _arguments.refuse_objective(name, repair.NO_PROBABILITY + repair.TRAIN_BINARY)
    sigmoid = dict(setting.split(":") for setting in settings).get("sigmoid", "1")
    if float(sigmoid) != 1:
        raise ValueError(
            f"the booster was trained with sigmoid={sigmoid}, so that its margins are no log-odds: "
            "train it with sigmoid=1"
        )
    if "\naverage_output\n" in text:
        raise ValueError(
            "the booster averages its trees (boosting='rf'), so that none can be appended: train "
            "it with boosting='gbdt'"
        )
    if booster.num_trees() == 0:
        raise ValueError("the booster has no tree: train it first")
    return lgb.Booster(model_str=add_to_leaves(text, np.zeros(1)))


def as_trained(model: lgb.Booster, X: Any) -> Any:
    """X with the model's categories in their order, as ``predict`` has them: a training that goes
    on would number them anew."""
    if not hasattr(X, "dtypes"):
        return X
    categorical = [k for k, kind in enumerate(X.dtypes) if str(kind) == "category"]
    known = model.pandas_categorical or []
    if len(categorical) != len(known):
        raise ValueError(
            f"X has the categorical columns {shown([str(X.columns[k]) for k in categorical])}, but "
            f"the model was trained with {len(known)} of them: give columns the same types"
        )
    columns = {}
    for k, categories in zip(categorical, known, strict=True):
        columns[X.columns[k]] = X.iloc[:, k].cat.set_categories(categories)
    return X.assign(**columns) if columns else X


def count_trees(model: lgb.Booster) -> int:
    return int(model.num_trees())


def grow(
    model: lgb.Booster, X: Any, y: Array, w: Array, rates: Array | None, columns: list[int],
    n_trees: int,
) -> lgb.Booster:  # fmt: skip
    """The model with trees that split on ``columns`` only."""
    first = model.num_trees()
    chosen = np.zeros(X.shape[1])
    chosen[columns] = 1
    params = {
        "learning_rate": repair.LEARNING_RATE, "max_depth": repair.DEPTH,
        "num_leaves": 2**repair.DEPTH, "lambda_l2": repair.L2, "cat_l2": 0.0,
        "min_sum_hessian_in_leaf": repair.LEAST_HESSIAN,
        # rows count by their weights alone
        "min_data_in_leaf": 1, "min_data_in_bin": 1, "feature_pre_filter": False,
        "max_cat_to_onehot": repair.EACH_CATEGORY, "verbose": -1,
        "feature_contri": chosen.tolist(),
    }  # fmt: skip
    data = lgb.Dataset(X, y, weight=w, categorical_feature=categorical_features(model))
    grown = train(
        params, data, n_trees, init_model=model,
        objective=offset_logloss_objective(1.0 if rates is None else rates),
    )  # fmt: skip
    before, after = (one.predict(X, raw_score=True, num_iteration=first) for one in (model, grown))
    repair.check_grown(before, after, new_trees(grown, first), columns)
    return grown


def without_odds(model: lgb.Booster) -> lgb.Booster:
    """A copy that was not trained against imbalance, as far as it says: nothing is left to undo."""
    text = model.model_to_string(num_iteration=-1)
    for name, neutral in NEUTRAL.items():
        text = re.sub(rf"(?m)^\[{name}: .*\]$", f"[{name}: {neutral}]", text)
    return lgb.Booster(model_str=text)


def categorical_features(model: lgb.Booster) -> list[int]:
    """Columns with categories in training: their values stand in the model, in place of a range."""
    found = re.search(r"(?m)^feature_infos=(.*)$", model.model_to_string(num_iteration=1))
    infos = found[1].split() if found else []
    return [k for k, info in enumerate(infos) if info != "none" and not info.startswith("[")]


def new_trees(model: lgb.Booster, first: int) -> repair.NewTrees:
    text = model.model_to_string(num_iteration=-1, start_iteration=first)
    trees = re.split(r"(?m)^Tree=\d+$", text.partition("\nend of trees\n")[0])[1:]
    found = []
    for tree in trees:
        lines = dict(line.split("=", 1) for line in tree.split("\n") if "=" in line)
        columns = [int(k) for k in lines["split_feature"].split()]
        found.append((np.array(lines["leaf_value"].split(), np.float64), columns))
    return found


def new_leaves(grown: lgb.Booster, X: Any, first: int) -> Any:
    """The number of each row's leaf in each appended tree."""
    return grown.predict(X, pred_leaf=True, start_iteration=first)
