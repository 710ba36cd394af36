"""CatBoost as a value: its functions and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import catboost
import numpy as np

from gbdt_objectives._registry import CATBOOST
from gbdt_objectives.adapters._library import TrainingLibrary
from gbdt_objectives.adapters.catboost import _train, estimators, intercept


def same_steps(estimator: Any, models: Sequence[Any]) -> dict[str, Any]:
    """The learning rate, which CatBoost chooses by the number of rounds if none is given."""
    if estimators.named(estimator, "learning_rate", "eta") is not None:
        return {}
    return {"learning_rate": float(np.mean([model.learning_rate_ for model in models]))}


LIBRARY = TrainingLibrary(
    **vars(CATBOOST),
    # training
    data=catboost.Pool, instead=_train.INSTEAD, stops=_train.Stop,
    stop=lambda metric, rounds, params: _train.Stop(), check=_train.check,
    labels=_train.labels, place=_train.place, run=_train.run, finish=intercept.finish,
    quiet={"verbose": 0},
    # estimators
    kinds={kind.__name__: kind for kind in (
        estimators.CatBoostRegressor, estimators.CatBoostClassifier)},
    fitting=estimators.Fitting,
    aliases={
        "objective": ("objective", "loss_function"),
        "metric": ("eval_metric", "custom_metric", "custom_loss"),
        "iterations": ("iterations", "n_estimators", "num_boost_round", "num_trees"),
    },
    defaults={"Regressor": (None, "RMSE"), "Classifier": (None, "Logloss")},
    knows_objective=lambda name: True,  # CatBoost refuses all other names itself
    takes={"Poisson": (0, np.inf), **dict.fromkeys(("Logloss", "CrossEntropy"), (0, 1))},
    correctable=(None, "Logloss", "CrossEntropy", "MultiClass"),
    own_stopping=("early_stopping_rounds", "od_wait"),
    same_steps=same_steps,
    small={"max_depth": 2, "thread_count": 1, "verbose": 0, "allow_writing_files": False},
    count_rounds=lambda estimator: int(estimator.tree_count_),
    # intercepts
    margins_of=intercept.margins_of, shift_intercept=intercept.shift_intercept,
)  # fmt: skip
