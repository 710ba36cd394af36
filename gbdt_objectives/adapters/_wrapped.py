"""A booster's estimator inside one of ours: what we need to know about it, and how to fit it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import logit

from gbdt_objectives import _checks
from gbdt_objectives._boosters import booster_kind
from gbdt_objectives._checks import Array
from gbdt_objectives.adapters._estimators import evaluation_arguments, set_temporarily
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.logloss import LoglossLoss
from gbdt_objectives.objectives.ratio import RatioLoss

Data = tuple[Any, Array, "Array | None"]  # X, y and weights of some rows

DEFAULTS = {
    "Regressor": {"lightgbm": (None, "regression"), "xgboost": (None, "reg:squarederror")},
    "Classifier": {"lightgbm": (None, "binary"), "xgboost": (None, "binary:logistic")},
}
"""What an estimator's ``objective`` may be when ours replaces it."""

CORRECTABLE_OBJECTIVES = {
    "lightgbm": (None, "binary", "cross_entropy", "xentropy", "multiclass", "softmax"),
    "xgboost": (None, "binary:logistic", "reg:logistic", "multi:softprob", "multi:softmax"),
}
"""What a classifier's ``objective`` may be for a shift of the log-odds to be right."""

OWN_STOPPING = (
    "early_stopping_rounds", "early_stopping_round", "early_stopping", "n_iter_no_change",
)  # fmt: skip
"""Parameters that give an estimator early stopping of its own."""

REWEIGHTING = {
    "class_weight": None, "class_weights": None, "auto_class_weights": None, "priors": None,
    "class_prior": None, "fit_prior": True, "sampling_strategy": None, "scale_pos_weight": 1,
    "is_unbalance": False, "pos_bagging_fraction": 1, "neg_bagging_fraction": 1,
}  # fmt: skip
"""Parameters that move the log-odds by themselves, with the value, besides None, that does not."""


def refuse_parameters(
    parameters: Mapping[str, Any], names: Iterable[str], allowed: tuple[Any, ...], why: str
) -> None:
    for name in names:
        value = parameters.get(name)
        if value is not None and not (np.isscalar(value) and value in allowed):
            raise ValueError(f"estimator has {name}={value!r}, {why}")


def check_correctable(estimator: Any) -> None:
    """Raise if its parameters, or those of its parts, tell that a correction would be wrong."""
    parameters = estimator.get_params()
    neutral = dict(REWEIGHTING)
    for part in (estimator, *parameters.values()):
        kind = booster_kind(part, "Classifier")
        if kind is None:
            continue
        aliases = aliases_of(kind)
        check_log_odds(part, kind, aliases.get("objective", ("objective",)))
        neutral |= {
            alias: value for name, value in REWEIGHTING.items() for alias in aliases.get(name, ())
        }
    for name in parameters:
        if (known := name.split("__")[-1]) in neutral:
            refuse_parameters(
                parameters, [name], (neutral[known],),
                "which moves the log-odds by itself, so that the corrected probabilities would be "
                "wrong: leave it out, or pass correction=None",
            )  # fmt: skip


def check_log_odds(booster: Any, kind: str, names: tuple[str, ...]) -> None:
    """Raise unless it predicts probabilities, and so log-odds, for the rows it is trained on."""
    parameters = booster.get_params()
    for name in names:
        value = parameters.get(name)
        own = kind == "xgboost" and callable(value)  # a user's: its margin is taken for log-odds
        if isinstance(value, Objective):  # a ratio is least at decisions, which are no log-odds
            own = value.n_classes is not None and not isinstance(value.equations, RatioLoss)
        loss = getattr(value, "equations", None)
        if isinstance(loss, LoglossLoss) and (
            loss.named or (loss.negative_weight, loss.offset) != (1, 0)
        ):
            raise ValueError(
                f"estimator has {name}={value!r}, which already corrects for sampling: leave it "
                "out, or pass correction=None"
            )
        if not (own or value in CORRECTABLE_OBJECTIVES[kind]):
            raise ValueError(
                f"estimator has {name}={value!r}, whose predictions are not log-odds and cannot be "
                "corrected: leave it out, or pass correction=None"
            )


def aliases_of(kind: str) -> Any:
    return _adapter(kind, "parameters").ALIASES


def _adapter(kind: str, module: str) -> Any:
    return import_module(f"gbdt_objectives.adapters.{kind}.{module}")


def find_stopping_rounds(estimator: Any) -> int | None:
    """The rounds after which a booster stops early; None if it does not."""
    kind = booster_kind(estimator, "Classifier")
    parameters = {} if kind is None else estimator.get_params()
    for name in OWN_STOPPING:
        if parameters.get(name) is None:
            continue
        off = kind == "lightgbm" and _checks.number(name, parameters[name]) <= 0
        if not off:
            return _checks.whole_number(name, parameters[name], 1)
    return None


def check_best_round(parameters: dict[str, Any]) -> None:
    """Raise if a model that stops early could not be cut back to its best round."""
    for name in ("booster", "boosting_type", "boosting", "boost"):
        if parameters.get(name) not in (None, "gbtree", "gbdt", "gbrt", "goss"):
            raise ValueError(
                f"early stopping is not supported with {name}={parameters[name]!r}: leave one of "
                "the two out"
            )
    refuse_parameters(
        parameters, ("early_stopping_min_delta",), (0,),
        "but early stopping here counts any improvement: leave it out",
    )  # fmt: skip


def fit(
    estimator: Any,
    kind: str,
    objective: Objective | None,
    data: Data,
    metric: Metric,
    held_out: Data | None,
    stopping_rounds: int | None,
) -> Any:
    """A booster's estimator, fitted on the objective (None: its own) as if it were one of ours. It
    stops on the metric of the rows held out, if there are any."""
    if objective is not None:
        estimator.set_params(objective=objective)
    fitting = _adapter(kind, "estimators").Fitting
    given: dict[str, Any] = dict(zip(("X", "y", "sample_weight"), data, strict=True))
    parameters: dict[str, Any] = {}
    if held_out is not None and stopping_rounds is not None:
        *pair, weight = held_out
        given |= evaluation_arguments(estimator.fit, [tuple(pair)])
        if weight is not None:
            name = "sample_weight_eval_set" if kind == "xgboost" else "eval_sample_weight"
            given[name] = [weight]
        if kind == "xgboost":  # which prints each round, else
            given["verbose"] = False
        parameters["early_stopping_rounds"] = stopping_rounds
        (given if fitting.metrics_in_fit else parameters)["eval_metric"] = metric
    with set_temporarily(estimator, parameters):
        return fitting(estimator, estimator.fit, **given).fit()


def check_start(kind: str, intercept: float) -> None:
    """Raise if training cannot start at these log-odds of the full population."""
    if kind != "xgboost":
        return
    limit = float(-logit(_adapter(kind, "intercept").LEAST_PROBABILITY))
    if abs(intercept) > limit:
        raise ValueError(
            f"training cannot start at {intercept:.4g}, the log-odds of the full population: "
            f"XGBoost limits a logistic base_score to +-{limit:.4g}. Use LGBMClassifier, or "
            "correction='prior' at rates that bring the sample within the limit"
        )


def count_rounds(estimator: Any) -> int:
    """How many rounds it predicts with, after early stopping."""
    if hasattr(estimator, "best_iteration_"):  # LightGBM's
        return int(estimator.best_iteration_)
    return int(estimator.get_booster().num_boosted_rounds())
