"""What DownsampledClassifier must know of each kind of classifier to train it and to ask it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from gbdt_objectives._checks import Array
from gbdt_objectives.estimators._regressors import (
    OWN_STOPPING,
    HeldOut,
    check_aliases,
    fit_lightgbm,
    fit_xgboost,
)
from gbdt_objectives.metrics import weighted_logloss_metric
from gbdt_objectives.objectives.logloss import LoglossObjective

DEFAULTS = {
    "lightgbm": (None, "binary"),
    "xgboost": (None, "binary:logistic"),
}
"""What ``objective`` of a classifier may be when ours takes its place."""

REWEIGHTING = (
    "class_weight",
    "scale_pos_weight",
    "is_unbalance",
    "unbalance",
    "unbalanced_sets",
    "pos_bagging_fraction",
    "neg_bagging_fraction",
)
"""Parameters that move the log-odds by themselves."""


def booster_kind(estimator: Any) -> str | None:
    """ "lightgbm" or "xgboost" for their classifiers (subclasses too), else None."""
    for base in type(estimator).__mro__:
        found = (base.__module__.split(".")[0], base.__name__)
        if found in {("lightgbm", "LGBMClassifier"), ("xgboost", "XGBClassifier")}:
            return found[0]
    return None


def check_reweighting(estimator: Any) -> None:
    """Raise if the classifier weighs the classes itself."""
    for name, value in estimator.get_params().items():
        neutral = value is None or value is False or (value is not True and value == 1)
        if name.split("__")[-1] in REWEIGHTING and not neutral:
            raise ValueError(
                f"estimator has {name}={value!r}, which moves the log-odds by itself, so that the "
                "corrected probabilities would be wrong: leave it out, or pass correction=None"
            )


def own_stopping(estimator: Any) -> int | None:
    """The rounds after which a booster is to stop early; None if it is not."""
    if booster_kind(estimator) is not None:
        parameters = estimator.get_params()
        for name in OWN_STOPPING:
            if parameters.get(name):
                return int(parameters[name])
    return None


def check_early_stopping(estimator: Any, correction: str | None) -> None:
    """Raise if the classifier would stop early on nothing, or on something else than told."""
    if own_stopping(estimator) is None:
        return
    if correction != "offset":
        raise ValueError(
            f"estimator stops early, but with correction={correction!r} it would be measured on "
            "the thinned population: pass correction='offset', or fix n_estimators"
        )
    parameters = estimator.get_params()
    for name in ("eval_metric", "metric"):
        if parameters.get(name) is not None:
            raise ValueError(
                f"estimator has {name}={parameters[name]!r}, but early stopping is on the logloss "
                "of the full population: leave it out"
            )
    for name in ("booster", "boosting_type", "boosting"):
        if parameters.get(name) not in (None, "gbtree", "gbdt", "goss"):
            raise ValueError(
                f"estimator stops early, but has {name}={parameters[name]!r}, whose best round "
                "cannot be cut out of the model: leave one of the two out"
            )


def check_offset(estimator: Any) -> None:
    """Raise unless the classifier can be trained on an offset logloss."""
    kind = booster_kind(estimator)
    if kind is None:
        raise ValueError(
            "correction='offset' is for LGBMClassifier and XGBClassifier, found "
            f"{type(estimator).__name__}, which cannot be given an objective: pass "
            "correction='prior', which is the same in theory"
        )
    parameters = estimator.get_params()
    if kind == "lightgbm":
        check_aliases(parameters)
    if parameters["objective"] not in DEFAULTS[kind]:
        raise ValueError(
            f"estimator has objective={parameters['objective']!r}, and correction='offset' one of "
            "its own: leave the first out, or pass correction='prior'"
        )


def fit_offset(
    estimator: Any, shift: float, X: Any, y: Array, w: Array | None, held_out: HeldOut | None
) -> Any:
    """The booster, trained so that its margin is the log-odds before sampling.

    ``held_out``: rows, labels, and weights that make them stand for the full population.
    """
    objective = LoglossObjective(offset=-shift).measured(y, w)
    stopping_rounds = own_stopping(estimator)
    parameters = estimator.get_params()
    estimator.set_params(**{name: None for name in OWN_STOPPING if name in parameters})
    metric = weighted_logloss_metric(1.0)
    if booster_kind(estimator) == "lightgbm":
        return fit_lightgbm(estimator, objective, metric, X, y, w, held_out, stopping_rounds)
    if parameters["base_score"] is None:
        assert objective.intercept is not None
        estimator.set_params(base_score=float(expit(objective.intercept)))
    return fit_xgboost(estimator, objective, metric, X, y, w, held_out, stopping_rounds)


def class_probability(model: Any, X: Any) -> Array:
    """(n, K) in float64; from the margin where a float32 probability would round to 1."""
    kind, objective = booster_kind(model), getattr(model, "objective", None)
    if kind and (isinstance(objective, LoglossObjective) or objective == "binary:logistic"):
        margin = {"lightgbm": "raw_score", "xgboost": "output_margin"}[kind]
        z = np.asarray(model.predict(X, **{margin: True}), np.float64)
        return np.column_stack([expit(-z), expit(z)])
    return np.asarray(model.predict_proba(X), np.float64)
