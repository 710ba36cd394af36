"""CatBoost as a value: its functions and tables."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import catboost
import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives._links import IDENTITY, LOGIT, OPAQUE, UNDECLARED, Link
from gbdt_objectives._registry import CATBOOST
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._library import TrainingLibrary
from gbdt_objectives.adapters.catboost import _train, estimators

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
    name, link = margins_of(model)
    if not (link.is_label_unit or link.n_classes or link.takes_several):
        _arguments.refuse_objective(name, _arguments.NO_MARGIN)
    scale, bias = model.get_scale_and_bias()
    raw = _arguments.read_shift(delta, np.size(bias)) + bias
    moved = model.copy()
    moved.set_scale_and_bias(scale, raw.tolist() if len(raw) > 1 else float(raw[0]))
    return moved


LIBRARY = TrainingLibrary(
    **vars(CATBOOST),
    # training
    data=catboost.Pool, instead=_train.INSTEAD, parses_names=False, stops=_train.Stop,
    stop=_train.Stop, direct=lambda callbacks, metric: list(callbacks), check=_train.check,
    labels=_train.labels, hold=lambda request, datasets: nullcontext([]), place=_train.place,
    fold_rows=lambda request: np.asarray, run=_train.run, finish=_train.finish,
    quiet={"verbose": 0}, predicts_on=lambda X: X,
    # estimators
    kinds={kind.__name__: kind for kind in (
        estimators.CatBoostRegressor, estimators.CatBoostClassifier)},
    fitting=estimators.Fitting,
    aliases={
        "objective": ("objective", "loss_function"),
        "metric": ("eval_metric", "custom_metric", "custom_loss"),
    },
    defaults={"Regressor": (None, "RMSE"), "Classifier": (None, "Logloss")},
    knows_objective=lambda name: True,  # CatBoost refuses all other names itself
    classifies=(), takes={
        "Poisson": (0, np.inf), **dict.fromkeys(("Logloss", "CrossEntropy"), (0, 1))},
    correctable=(None, "Logloss", "CrossEntropy", "MultiClass"), functions_are_log_odds=False,
    zero_rounds_stop=False, evaluation_weights="", quiet_fit={},
    check_offset=lambda estimator: None, check_start=lambda log_odds: None,
    count_rounds=lambda estimator: int(estimator.tree_count_),
    # intercepts
    margins_of=margins_of, shift_intercept=shift_intercept,
)  # fmt: skip
