"""What DownsampledClassifier must know of each kind of classifier to train it and to ask it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives.estimators._regressors import (
    OWN_STOPPING,
    HeldOut,
    booster_kind,
    check_aliases,
    check_best_round,
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

LOG_ODDS = {
    "lightgbm": (*DEFAULTS["lightgbm"], "cross_entropy", "xentropy", "multiclass", "softmax"),
    "xgboost": (*DEFAULTS["xgboost"], "reg:logistic", "multi:softprob", "multi:softmax"),
}
"""What ``objective`` of a classifier may be for a shift of the log-odds to be right."""

REWEIGHTING = {
    "class_weight": None,
    "class_weights": None,
    "auto_class_weights": None,
    "priors": None,
    "class_prior": None,
    "fit_prior": True,
    "sampling_strategy": None,
    "scale_pos_weight": 1,
    "is_unbalance": False,
    "pos_bagging_fraction": 1,
    "neg_bagging_fraction": 1,
}
"""Parameters that move the log-odds by themselves, and besides None the value that does not."""


def check_correctable(estimator: Any) -> None:
    """Raise if a correction would be wrong, as far as parameters, also of its parts, tell."""
    parameters = estimator.get_params()
    neutral = dict(REWEIGHTING)
    for part in (estimator, *parameters.values()):
        kind = booster_kind(part, "Classifier")
        if kind is None:
            continue
        aliases = lightgbm_aliases() if kind == "lightgbm" else {}
        check_log_odds(part, kind, aliases.get("objective", ("objective",)))
        neutral |= {
            alias: value for name, value in REWEIGHTING.items() for alias in aliases.get(name, ())
        }
    for name, value in parameters.items():
        known = name.split("__")[-1]
        if known not in neutral or value is None:
            continue
        if not (np.isscalar(value) and value == neutral[known]):
            raise ValueError(
                f"estimator has {name}={value!r}, which moves the log-odds by itself, so that the "
                "corrected probabilities would be wrong: leave it out, or pass correction=None"
            )


def check_log_odds(booster: Any, kind: str, names: tuple[str, ...]) -> None:
    """Raise unless its probabilities are log-odds in the rows that it is trained on."""
    parameters = booster.get_params()
    for name in names:
        value = parameters.get(name)
        ours = isinstance(value, LoglossObjective)
        if ours and (value.negative_weight, value.offset) != (1, 0):
            raise ValueError(
                f"estimator has {name}={value!r}, which already corrects for sampling: leave it "
                "out, or pass correction=None"
            )
        if not (ours or value in LOG_ODDS[kind] or (kind == "xgboost" and callable(value))):
            raise ValueError(
                f"estimator has {name}={value!r}, whose predictions are not log-odds, which could "
                "be corrected: leave it out, or pass correction=None"
            )


def lightgbm_aliases() -> dict[str, tuple[str, ...]]:
    from gbdt_objectives.adapters.lightgbm.parameters import ALIASES

    return ALIASES


def own_stopping(estimator: Any) -> int | None:
    """The rounds after which a booster is to stop early; None if it is not."""
    kind = booster_kind(estimator, "Classifier")
    parameters = {} if kind is None else estimator.get_params()
    for name in OWN_STOPPING:
        if parameters.get(name) is None:
            continue
        off = kind == "lightgbm" and _checks.number(name, parameters[name]) <= 0
        if not off:
            return _checks.whole_number(name, parameters[name], 1)
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
    check_best_round(parameters)


def check_offset(estimator: Any) -> None:
    """Raise unless the classifier can be trained on an offset logloss."""
    kind = booster_kind(estimator, "Classifier")
    if kind is None:
        raise ValueError(
            "correction='offset' is for LGBMClassifier and XGBClassifier, found "
            f"{type(estimator).__name__}, which cannot be given an objective: pass "
            "correction='prior', which is the same in theory"
        )
    parameters = estimator.get_params()
    if kind == "lightgbm":
        check_aliases(parameters)
        for name in lightgbm_aliases()["boosting"]:
            if parameters.get(name) in ("rf", "random_forest"):
                raise ValueError(
                    f"estimator has {name}={parameters[name]!r}, but LightGBM's random forests "
                    "take no objective of ours: pass correction='prior'"
                )
        if parameters.get("boost_from_average") not in (None, True):
            raise ValueError(
                f"estimator has boost_from_average={parameters['boost_from_average']!r}, but with "
                "correction='offset' boosting starts at the mean log-odds: leave it out"
            )
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
    if booster_kind(estimator, "Classifier") == "lightgbm":
        return fit_lightgbm(estimator, objective, metric, X, y, w, held_out, stopping_rounds)
    if parameters["base_score"] is None:
        assert objective.intercept is not None
        estimator.set_params(base_score=base_score(objective.intercept))
    return fit_xgboost(estimator, objective, metric, X, y, w, held_out, stopping_rounds)


def base_score(intercept: float) -> float:
    """The probability, if XGBoost can start at it."""
    from gbdt_objectives.adapters.xgboost.intercept import LEAST_PROBABILITY

    p = float(expit(intercept))
    if not LEAST_PROBABILITY <= p <= 1 - LEAST_PROBABILITY:
        raise ValueError(
            f"training cannot start at {intercept:.4g}, the log-odds of the full population: "
            f"XGBoost limits a logistic base_score to +-{-logit(LEAST_PROBABILITY):.4g}. Use "
            "LGBMClassifier, or correction='prior' at rates that bring the sample within the limit"
        )
    return p


def class_probability(model: Any, X: Any) -> Array:
    """(n, K) in float64; from the margin where a float32 probability would round to 1."""
    kind, objective = booster_kind(model, "Classifier"), getattr(model, "objective", None)
    if kind and (isinstance(objective, LoglossObjective) or objective == "binary:logistic"):
        margin = {"lightgbm": "raw_score", "xgboost": "output_margin"}[kind]
        z = np.asarray(model.predict(X, **{margin: True}), np.float64)
        return np.column_stack([expit(-z), expit(z)])
    p = np.asarray(model.predict_proba(X), np.float64)
    name = f"predict_proba of {type(model).__name__}"
    if objective is not None:
        name += f" with objective={objective!r}"
    if p.ndim != 2:
        raise ValueError(f"{name} must be (n, K), a column per class, found shape {p.shape}")
    return _checks.probabilities(name, p)
