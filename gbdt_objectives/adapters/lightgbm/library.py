"""LightGBM as a value: its functions and tables, and what its boosters say when they call."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np

from gbdt_objectives._links import OF_LIGHTGBM, OPAQUE, Link
from gbdt_objectives._registry import LIGHTGBM
from gbdt_objectives.adapters import _wrapped
from gbdt_objectives.adapters._library import OpenLibrary, read_once
from gbdt_objectives.adapters.lightgbm import _train, estimators, intercept, serving
from gbdt_objectives.adapters.lightgbm.parameters import ALIASES, INSTEAD


@cache
def knows_objective(name: str) -> bool:
    params = {"objective": name, "verbosity": -1, "num_threads": 1}
    try:
        lgb.Booster(params, lgb.Dataset(np.zeros((2, 1)), [0, 1], params=params))
    except lgb.basic.LightGBMError as error:  # also of one that lacks a parameter here
        return "Unknown objective" not in str(error)
    return True


def evaluated_as(seen: Mapping[str, Any], read: Link | None) -> Link | None:
    name = read_once(lambda booster: intercept.margins_of(booster)[0], seen["self"])
    return None if name == intercept.CUSTOM else OF_LIGHTGBM.get(name, OPAQUE)


def check_offset(estimator: Any) -> None:
    given = estimator.get_params()
    for name in ALIASES["boosting"]:
        if given.get(name) in ("rf", "random_forest"):
            raise ValueError(
                f"estimator has {name}={given[name]!r}, a forest of LightGBM, which takes no "
                "objective of ours: pass correction='prior'"
            )
    why = "but with correction='offset' boosting starts at the mean log-odds: leave it out"
    _wrapped.refuse_parameters(given, ("boost_from_average",), (True,), why)


def looks_whole(text: bytes) -> bool:
    """LightGBM prints what it finds before it raises."""
    return text.startswith(b"tree") and b"\nnum_class=" in text and b"\nend of" in text


LIBRARY = OpenLibrary(
    **vars(LIGHTGBM),
    # calls
    trained_as=lambda booster: ("", None), start_is_told=lambda booster: False,
    evaluated_as=evaluated_as, earlier_facts=_train.earlier_facts,
    # training
    data=lgb.Dataset, instead=INSTEAD, stops=_train.StopEarly,
    stop=lambda metric, rounds, params: _train.StopEarly(
        metric, rounds, verbose=_train.is_loud(params)),
    direct=_train.direct_callbacks, check=_train.check,
    labels=_train.labels, hold=_train.hold, place=_train.place, fold_rows=_train.fold_rows,
    run=_train.run, finish=_train.finish,
    # estimators
    kinds=serving.KINDS, fitting=estimators.Fitting, aliases=ALIASES,
    defaults={"Regressor": (None, "regression"), "Classifier": (None, "binary")},
    takes={"gamma": (1e-300, np.inf), **dict.fromkeys(
        ("binary", "cross_entropy", "xentropy", "cross_entropy_lambda", "xentlambda"), (0, 1))},
    correctable=(None, "binary", "cross_entropy", "xentropy", "multiclass", "softmax"),
    knows_objective=knows_objective,
    classifies=(
        "multiclassova", "multiclass_ova", "ova", "ovr", "cross_entropy_lambda", "xentlambda",
    ),
    small={"max_depth": 2, "n_jobs": 1, "verbosity": -1},
    weigh_held_out=lambda w: {"eval_sample_weight": [w]}, check_offset=check_offset,
    leaves=lambda model, X: np.asarray(model.predict(intercept.by_name(model, X), pred_leaf=True)),
    count_rounds=lambda estimator: int(estimator.best_iteration_),
    # models as data
    tolerance=1e-9,
    refuses_new=False,  # which count as missing
    misreads_newer=False, reader=serving.reader,
    link_of=serving.link_of, names_of=serving.names_of, margin=serving.margin,
    count_outputs=lambda model: int(serving.booster_of(model).num_model_per_iteration()),
    count_features=lambda model: int(serving.booster_of(model).num_feature()),
    same_names=serving.same_names, categories_of=serving.categories_of,
    write=lambda model, path: serving.booster_of(model).save_model(path),
    write_all=lambda booster, path: booster.save_model(path, num_iteration=-1),
    looks_whole=looks_whole, open_booster=serving.open_booster, restore=serving.restore,
    trees=serving.read_trees,
    # intercepts
    margins_of=intercept.margins_of,
    shift_intercept=intercept.shift_intercept, read_odds=intercept.read_odds,
    predict_log_odds=intercept.predict_log_odds,
)  # fmt: skip
