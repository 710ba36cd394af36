"""XGBoost as a value: its functions and tables, and what its boosters say when they call."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import xgboost as xgb

from gbdt_objectives._links import OF_XGBOOST, OPAQUE, RAW, UNDER_OURS, Link
from gbdt_objectives._registry import XGBOOST
from gbdt_objectives.adapters._library import OpenLibrary, read_once
from gbdt_objectives.adapters.xgboost import _train, estimators, intercept, serving
from gbdt_objectives.adapters.xgboost.parameters import ALIASES, INSTEAD
from gbdt_objectives.adapters.xgboost.stopping import STOPPING, EarlyStopping, direct_callbacks


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
    shape = intercept.read_learner(booster)["learner_model_param"]
    return bool(shape["boost_from_average"] == "0")


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


LIBRARY = OpenLibrary(
    **vars(XGBOOST),
    # calls
    trained_as=trained_as, start_is_told=start_is_told, evaluated_as=evaluated_as,
    earlier_facts=lambda seen: {},  # its booster has the earlier model's name, and the columns
    # training
    data=xgb.DMatrix, instead=INSTEAD, parses_names=True, stops=STOPPING,
    stop=lambda metric, rounds, params: EarlyStopping(metric, rounds), direct=direct_callbacks,
    check=_train.check, labels=_train.labels, place=_train.place,
    fold_rows=_train.fold_rows, run=_train.run, finish=_train.finish, predicts_on=xgb.DMatrix,
    # estimators
    kinds=serving.KINDS, fitting=estimators.Fitting, aliases=ALIASES,
    defaults={"Regressor": (None, "reg:squarederror"), "Classifier": (None, "binary:logistic")},
    takes={"reg:gamma": (1e-300, np.inf), **dict.fromkeys(
        ("binary:logistic", "reg:logistic", "binary:logitraw", "binary:hinge"), (0, 1))},
    correctable=(None, "binary:logistic", "reg:logistic", "multi:softprob", "multi:softmax"),
    knows_objective=knows_objective, classifies=("binary:logitraw", "binary:hinge"),
    small={"max_depth": 2, "n_jobs": 1, "verbosity": 0},
    functions_are_log_odds=True, zero_rounds_stop=True,
    weigh_held_out=lambda w: {"sample_weight_eval_set": [w]}, quiet_fit={"verbose": False},
    check_start=check_start, leaves=intercept.leaves,
    count_rounds=lambda estimator: int(estimator.get_booster().num_boosted_rounds()),
    # models as data
    tolerance=1e-6,  # it adds up its trees in float32
    refuses_new=True,  # from 3.1 on
    misreads_newer=True, reader=serving.reader,
    link_of=serving.link_of, names_of=serving.names_of, margin=serving.margin,
    count_outputs=lambda model: intercept.count_outputs(serving.booster_of(model)),
    count_features=lambda model: int(serving.booster_of(model).num_features()),
    same_names=lambda own, given: own == given, categories_of=serving.categories_of,
    write=serving.write, write_all=lambda booster, path: booster.save_model(path),
    looks_whole=lambda text: True, open_booster=lambda path: xgb.Booster(model_file=path),
    restore=serving.restore, trees=serving.read_trees,
    # intercepts
    margins_of=intercept.margins_of,
    shift_intercept=intercept.shift_intercept, read_odds=intercept.read_odds,
    predict_log_odds=intercept.predict_log_odds,
)  # fmt: skip
