"""scikit-learn's HistGradientBoosting as a value."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives._registry import SKLEARN
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._models import Library
from gbdt_objectives.adapters._train import MARK
from gbdt_objectives.adapters.sklearn import estimators
from gbdt_objectives.adapters.sklearn.estimators import bridge

KINDS = {name: vars(estimators)[name] for name in SKLEARN.estimators}


def own_class(estimator: Any) -> Any:
    """One of scikit-learn's as one of ours; one of ours, or of a subclass, as it is."""
    if hasattr(estimator, "eval_metric"):
        return estimator
    kind = KINDS.get(type(estimator).__name__)
    if kind is None:
        raise TypeError(
            f"estimator is a {type(estimator).__name__}, a subclass of scikit-learn's class that "
            "takes no objective: make it one of the class in gbdt_objectives.adapters.sklearn"
        )
    return kind(**estimator.get_params(deep=False))


def check_stopping(estimator: Any) -> None:
    if "X_val" not in signature(estimator.fit).parameters:
        raise ValueError(
            "early_stopping_rounds needs an estimator that is given the rows held out, which "
            f"{type(estimator).__name__} takes from scikit-learn 1.7 on: leave it out, and pass "
            "early_stopping=True to the estimator, which splits off rows itself"
        )
    if estimator.early_stopping is True:
        raise ValueError(
            "estimator has early_stopping=True, on rows that it splits off itself, and "
            "early_stopping_rounds is given: leave one of the two out"
        )
    if estimator.scoring != "loss":
        raise ValueError(
            f"estimator has scoring={estimator.scoring!r}, but early_stopping_rounds looks at the "
            "loss, or at a metric of gbdt_objectives: leave one of the two out"
        )


def shift_intercept(model: Any, delta: ArrayLike, mark: str = "") -> Any:
    """A copy of a fitted estimator, shifted."""
    check_is_fitted(model)
    _arguments.check_shiftable(*bridge().margins_of(model))
    d = _arguments.read_shift(delta, model.n_trees_per_iteration_)
    moved = bridge().add_to_margins(model, d)
    setattr(moved, MARK, {last_fit(moved): mark})  # another fit leaves it there
    return moved


def last_fit(model: Any) -> str:
    return f"{getattr(model, 'n_iter_', 0)} {getattr(model, '_baseline_prediction', None)}"


LIBRARY = Library(
    **vars(SKLEARN), kinds=KINDS, fitting=estimators.Fitting, aliases={"objective": ("loss",)},
    defaults={role: (None, loss) for role, loss in estimators.LOSSES.items()},
    takes={"gamma": (1e-300, np.inf), "poisson": (0.0, np.inf)},
    correctable=(None, "log_loss"), knows_objective=lambda name: False,
    small={"max_depth": 2, "min_samples_leaf": 5}, own_stopping=(),
    check_stopping=check_stopping, own_class=own_class,
    stops_after=lambda rounds: {"early_stopping": True, "n_iter_no_change": rounds, "tol": 0.0},
    fixed_rounds=lambda rounds: {"max_iter": rounds, "early_stopping": False},
    weigh_held_out=lambda w: {"sample_weight_val": w},
    count_rounds=lambda estimator: int(estimator.n_iter_),
    margins_of=lambda model: bridge().margins_of(model), shift_intercept=shift_intercept,
    mark_of=lambda model: getattr(model, MARK, {}).get(last_fit(model)),
)  # fmt: skip
