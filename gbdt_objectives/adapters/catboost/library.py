"""CatBoost as a value: its functions and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import catboost
import numpy as np

from gbdt_objectives._registry import CATBOOST
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._models import TrainingLibrary
from gbdt_objectives.adapters.catboost import _train, estimators

STOPPING = _arguments.by_reason({
    "early stopping here is on rows of ours, and keeps the rounds up to the best one; leave it out":
        "use_best_model=1 best_model_min_trees=1 eval_fraction=0",
})  # fmt: skip


def same_steps(estimator: Any, models: Sequence[Any]) -> dict[str, Any]:
    """The learning rate, which CatBoost would choose anew, and nothing that needs held-out rows."""
    given = estimator.get_params()
    found: dict[str, Any] = {"use_best_model": None} if "use_best_model" in given else {}
    if not given.keys() & {"learning_rate", "eta"}:
        found["learning_rate"] = float(np.mean([model.learning_rate_ for model in models]))
    return found


LIBRARY = TrainingLibrary(
    **vars(CATBOOST),
    # training
    data=catboost.Pool, instead=_train.INSTEAD, stops=_train.StopRounds,
    stop=lambda metric, rounds, params: _train.StopRounds(), check=_train.check,
    labels=_train.labels, place=_train.place, run=_train.run, finish=_train.finish,
    # estimators
    kinds={kind.__name__: kind for kind in (
        estimators.CatBoostRegressor, estimators.CatBoostClassifier)},
    fitting=estimators.Fitting,
    check_stopping=lambda estimator: _arguments.refuse_all(estimator.get_params(), STOPPING),
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
    margins_of=_train.margins_of, shift_intercept=_train.shift_intercept, mark_of=_train.mark_of,
)  # fmt: skip
