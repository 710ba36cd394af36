"""What QWKClassifier must know of each kind of regressor to train it."""

from __future__ import annotations

from inspect import signature
from typing import Any, Literal

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives.estimators._rows import weight_argument
from gbdt_objectives.metrics import Metric, qwk_metric
from gbdt_objectives.objectives import Objective, qwk_objective

HeldOut = tuple[Any, Array, "Array | None"]
DEFAULTS = {
    "lightgbm": (None, "regression"),
    "xgboost": (None, "reg:squarederror"),
}
"""What ``objective`` of a regressor may be when ours takes its place."""

OWN_STOPPING = (
    "early_stopping_rounds",
    "early_stopping_round",
    "early_stopping",
    "n_iter_no_change",
)


def booster_kind(estimator: Any, role: Literal["Regressor", "Classifier"]) -> str | None:
    """ "lightgbm" or "xgboost" for their estimators of a role (subclasses too), else None."""
    for base in type(estimator).__mro__:
        library = base.__module__.split(".")[0]
        if (library, base.__name__) in {("lightgbm", f"LGBM{role}"), ("xgboost", f"XGB{role}")}:
            return library
    return None


def check_objective(estimator: Any, objective: object) -> None:
    """Raise unless the regressor can be trained on the objective."""
    if objective is None:
        return
    if objective != "qwk" and not isinstance(objective, Objective):
        raise TypeError(
            f"objective must be 'qwk', an objective such as qwk_objective(), or None, found "
            f"{objective!r}"
        )
    kind = booster_kind(estimator, "Regressor")
    if kind is None:
        raise ValueError(
            f"objective={objective!r} needs an LGBMRegressor or XGBRegressor, found "
            f"{type(estimator).__name__}, which cannot be given an objective: pass objective=None "
            "to train it on its own"
        )
    parameters = estimator.get_params()
    if kind == "lightgbm":
        check_aliases(parameters)
    own = parameters["objective"]
    if own not in DEFAULTS[kind]:
        raise ValueError(
            f"estimator has objective={own!r} and QWKClassifier objective={objective!r}: leave the "
            "first out, or pass objective=None to keep it"
        )
    if isinstance(objective, Objective) and objective.link != "identity":
        raise ValueError(
            f"objective {objective!r} has the link {objective.link!r}: scores must be in units of "
            "the class positions"
        )


def check_aliases(parameters: dict[str, Any]) -> None:
    """Raise for LightGBM's other names of what is set here: it would prefer them."""
    from gbdt_objectives.adapters.lightgbm.parameters import ALIASES

    for ours, name in (("objective", "objective"), ("n_estimators", "num_iterations")):
        for alias in ALIASES[name]:
            if alias != ours and parameters.get(alias) is not None:
                raise ValueError(
                    f"estimator has {alias}={parameters[alias]!r}, which LightGBM would prefer to "
                    f"{ours}: leave it out"
                )


def check_early_stopping(estimator: Any, stopping_rounds: object) -> None:
    """Raise if the regressor cannot be stopped early, or would do so on its own terms."""
    kind = booster_kind(estimator, "Regressor")
    if kind is not None:
        parameters = estimator.get_params()
        for name in OWN_STOPPING:
            if parameters.get(name) is not None:
                raise ValueError(
                    f"estimator has {name}={parameters[name]!r}, which knows no held-out rows and "
                    "(in XGBoost) minimises kappa: pass early_stopping_rounds= to QWKClassifier"
                )
    if stopping_rounds is None:
        return
    _checks.whole_number("early_stopping_rounds", stopping_rounds, 1)
    if kind is None:
        raise ValueError(
            "early_stopping_rounds is for LGBMRegressor and XGBRegressor, found "
            f"{type(estimator).__name__}: use the regressor's own early stopping"
        )
    check_best_round(parameters)


def check_best_round(parameters: dict[str, Any]) -> None:
    """Raise if a model that stops early could not be cut back to its round of least loss."""
    for name in ("booster", "boosting_type", "boosting", "boost"):
        if parameters.get(name) not in (None, "gbtree", "gbdt", "gbrt", "goss"):
            raise ValueError(
                f"the model is to stop early, but estimator has {name}={parameters[name]!r}, "
                "whose best round cannot be cut out of the model: leave one of the two out"
            )
    if parameters.get("early_stopping_min_delta") not in (None, 0):
        raise ValueError(
            f"estimator has early_stopping_min_delta={parameters['early_stopping_min_delta']!r}, "
            "but early stopping here counts any improvement: leave it out"
        )


def fit_regressor(
    regressor: Any,
    objective: Any,
    K: int,
    X: Any,
    position: Array,
    w: Array | None,
    held_out: HeldOut | None,
    stopping_rounds: int | None,
) -> Any:
    """The regressor, fitted on class positions; it predicts in their units."""
    measured = None
    if objective is not None:
        unmeasured = qwk_objective(label_range=(0, K - 1)) if objective == "qwk" else objective
        given = getattr(unmeasured, "label_range", None)
        if given not in (None, (0, K - 1)):
            raise ValueError(
                f"objective has label_range {given}, but QWKClassifier trains on class positions "
                f"0 to {K - 1}: pass objective='qwk', or make the objective without labels "
                "(centre and spread, too, are of positions)"
            )
        measured = unmeasured.measured(position, w)
    kind = booster_kind(regressor, "Regressor")
    metric = qwk_metric((0, K - 1))
    if kind == "lightgbm":
        return fit_lightgbm(regressor, measured, metric, X, position, w, held_out, stopping_rounds)
    if kind == "xgboost":
        return fit_xgboost(regressor, measured, metric, X, position, w, held_out, stopping_rounds)
    return regressor.fit(X, position.astype(np.float64), **weight_argument(w))


def rounds(regressor: Any) -> int:
    """How many rounds it predicts with, after early stopping."""
    if booster_kind(regressor, "Regressor") == "lightgbm":
        return int(regressor.best_iteration_)
    return int(regressor.get_booster().num_boosted_rounds())


def set_rounds(regressor: Any, number: int) -> None:
    regressor.set_params(n_estimators=number)


def fit_lightgbm(
    regressor: Any,
    objective: Objective | None,
    metric: Metric,
    X: Any,
    position: Array,
    w: Array | None,
    held_out: HeldOut | None,
    stopping_rounds: int | None,
) -> Any:
    """Started by init_score, which then goes into the leaves: the saved model holds it."""
    fit = weight_argument(w)
    intercept = None if objective is None else objective.intercept or 0.0
    if objective is not None:
        regressor.set_params(objective=objective)
        fit["init_score"] = np.full(len(position), intercept)
    if held_out is not None and stopping_rounds is not None:
        import lightgbm as lgb

        regressor.set_params(metric="None")  # or it would stop on l2 as well
        X_held, y_held, w_held = held_out
        if "eval_X" in signature(regressor.fit).parameters:  # LightGBM >= 4.7 deprecates eval_set
            fit |= {"eval_X": X_held, "eval_y": y_held}
        else:
            fit["eval_set"] = [(X_held, y_held)]
        fit["eval_metric"] = metric.lightgbm
        fit["callbacks"] = [lgb.early_stopping(stopping_rounds, verbose=False)]
        if w_held is not None:
            fit["eval_sample_weight"] = [w_held]
        if objective is not None:
            fit["eval_init_score"] = [np.full(len(y_held), intercept)]
    from gbdt_objectives.adapters.lightgbm.intercept import shift_intercept
    from gbdt_objectives.adapters.lightgbm.train import explained

    with explained():
        regressor.fit(X, position, **fit)
    if intercept:
        moved = shift_intercept(regressor.booster_, intercept)
        regressor.booster_.model_from_string(moved.model_to_string(num_iteration=-1))
    return regressor


def fit_xgboost(
    regressor: Any,
    objective: Objective | None,
    metric: Metric,
    X: Any,
    position: Array,
    w: Array | None,
    held_out: HeldOut | None,
    stopping_rounds: int | None,
) -> Any:
    """Started by base_score; stopped by a callback that knows the direction."""
    fit = weight_argument(w)
    if objective is not None:
        regressor.set_params(objective=objective)
        if regressor.get_params()["base_score"] is None:
            regressor.set_params(base_score=objective.intercept)
    if held_out is None or stopping_rounds is None:
        return regressor.fit(X, position, **fit)
    from gbdt_objectives.adapters.xgboost import early_stopping

    X_held, y_held, w_held = held_out
    own = {name: regressor.get_params()[name] for name in ("callbacks", "eval_metric")}
    regressor.set_params(
        callbacks=[*(own["callbacks"] or []), early_stopping(metric, stopping_rounds)],
        eval_metric=metric.xgboost,
    )
    if w_held is not None:
        fit["sample_weight_eval_set"] = [w_held]
    regressor.fit(X, position, eval_set=[(X_held, y_held)], verbose=False, **fit)
    return regressor.set_params(**own)
