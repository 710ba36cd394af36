"""LightGBM's estimators, with objectives and metrics of this package."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import lightgbm as lgb
import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._estimators import (
    check_places,
    copy_signature,
    labels_weights,
    own_metrics,
    own_objective,
    read_arguments,
    request_rows,
    set_temporarily,
)
from gbdt_objectives.adapters._start import StartedObjective
from gbdt_objectives.adapters.lightgbm import parameters as table
from gbdt_objectives.adapters.lightgbm._train import explain_errors, finish
from gbdt_objectives.adapters.lightgbm.parameters import ALIASES
from gbdt_objectives.adapters.lightgbm.stopping import StopEarly, any_stops_early, direct_callbacks
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

OWN = {
    "objective", "class_weight", "n_estimators", "importance_type",
    *ALIASES["metric"], *ALIASES["early_stopping_round"],
}  # fmt: skip
"""Parameters of the estimators that are not LightGBM's, or that fit looks at itself."""


@request_rows
class LGBMRegressor(lgb.LGBMRegressor):
    """``lightgbm.LGBMRegressor`` for objectives and metrics of this package.

    With an ``objective`` such as ``qwk_objective()``, measured in each ``fit`` unless it is
    already, boosting starts at its intercept, which ends up inside ``booster_``. With a
    ``Metric`` such as ``extended_qwk_metric()`` as ``eval_metric`` of ``fit``, early stopping
    (by the parameter ``early_stopping_rounds`` or the callback ``lightgbm.early_stopping``)
    is on the last evaluation set and on nothing else, and the model holds the best rounds
    only. Without either it is LightGBM's own estimator.

    Parameters
    ----------
    objective : str, callable or Objective
        An Objective must be one in label units; for log-odds use :class:`LGBMClassifier`.
        What LightGBM would silently ignore under it is refused. ``fit`` takes what
        ``objective(function, rows=["cost"])`` names as further arguments, ``cost=``.
    **kwargs
        As for ``lightgbm.LGBMRegressor``.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import extended_qwk_metric, qwk_objective
    >>> from gbdt_objectives.adapters.lightgbm import LGBMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
    >>> model = LGBMRegressor(objective=qwk_objective(), num_leaves=4, verbose=-1,
    ...                       early_stopping_rounds=10)
    >>> model = model.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])],
    ...                   eval_metric=extended_qwk_metric())
    >>> model.predict([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]]).round()
    array([1., 3.])
    """

    @copy_signature(lgb.LGBMRegressor.fit)
    def fit(self, X: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return _fit(self, super().fit, X, y, *args, **kwargs)


class LGBMClassifier(lgb.LGBMClassifier):
    """``lightgbm.LGBMClassifier`` for objectives and metrics of this package.

    With an ``objective`` such as ``offset_logloss_objective(0.1)`` boosting starts at the
    log-odds of the labels, which end up inside ``booster_``, and ``predict_proba`` gives the
    probabilities that the objective aims at. ``eval_metric`` is as in :class:`LGBMRegressor`.
    Without either it is LightGBM's own estimator.

    Parameters
    ----------
    objective : str, callable or Objective
        An Objective must be one of log-odds; for label units use :class:`LGBMRegressor`.
        What LightGBM would silently ignore under it is refused.
    **kwargs
        As for ``lightgbm.LGBMClassifier``.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import offset_logloss_objective
    >>> from gbdt_objectives.adapters.lightgbm import LGBMClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2)); y = (rng.random(2000) < X[:, 0]).astype(int)
    >>> keep = (y == 1) | (rng.random(2000) < 0.1)  # a tenth of the negatives
    >>> model = LGBMClassifier(objective=offset_logloss_objective(0.1), n_estimators=50,
    ...                        num_leaves=2, verbose=-1).fit(X[keep], y[keep])
    >>> bool(abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.05)
    True
    """

    @copy_signature(lgb.LGBMClassifier.fit)
    def fit(self, X: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return _fit(self, super().fit, X, y, *args, **kwargs)


def fit_stopped(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    metric: Metric,
    held_out: tuple[Any, Any, Any] | None,
    rounds: int | None,
) -> None:
    """Fit any LightGBM estimator like ours; stop on held-out rows (X, y, weights) if given."""
    given = {"X": X, "y": y, "sample_weight": sample_weight}
    if held_out is not None and rounds is not None:
        X_held, y_held, weight = held_out
        if "eval_X" in signature(estimator.fit).parameters:  # LightGBM >= 4.7 deprecates eval_set
            given |= {"eval_X": X_held, "eval_y": y_held}
        else:
            given["eval_set"] = [(X_held, y_held)]
        given |= {"eval_metric": metric, "callbacks": [StopEarly(metric, rounds)]}
        if weight is not None:
            given["eval_sample_weight"] = [weight]
    _fit(estimator, estimator.fit, **given)


def _fit(estimator: Any, library_fit: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    check_places(estimator, "", "pass it to fit, eval_metric=")
    classifier = isinstance(estimator, lgb.LGBMClassifier)
    objective = own_objective(estimator, classifier=classifier)
    objective, given = read_arguments(objective, library_fit, *args, **kwargs)
    metrics, own = own_metrics(given.get("eval_metric", []), estimator, classifier=classifier)
    metric = next((m for m in own if m is not None), None)
    if objective is None and metric is None:
        return library_fit(**given)
    parameters: dict[str, Any] = {}
    stops_early = False
    if metric is not None:
        given["eval_metric"] = [
            m if rendered is None else rendered.lightgbm
            for m, rendered in zip(metrics, own, strict=True)
        ]
        parameters |= _direct_stopping(estimator, metric, given)
        stops_early = any_stops_early(given["callbacks"])
    if objective is None:
        with set_temporarily(estimator, parameters):
            return library_fit(**given)
    if "eval_set" in given and "eval_X" in signature(library_fit).parameters and not classifier:
        pairs = _evaluation_sets(given)  # LightGBM >= 4.7 has other names for them
        del given["eval_set"]
        given |= {"eval_X": tuple(X for X, _ in pairs), "eval_y": tuple(y for _, y in pairs)}
    found = estimator.get_params().items()
    table.check({name: v for name, v in found if name not in OWN}, stops_early=stops_early)
    if objective.link == "logit":
        _check_built_in_metrics(metrics)
        parameters["metric"] = "None"  # the default would interpret log-odds as such
    started, intercept = _start(estimator, objective, given, classifier)
    with set_temporarily(estimator, {**parameters, "objective": started}), explain_errors():
        library_fit(**given)
    estimator._Booster = finish(estimator.booster_, objective.link, intercept)
    # what the model is, for predict and predict_proba to interpret its output correctly
    estimator._objective = "binary" if classifier else estimator.objective
    return estimator


def _start(
    estimator: Any, objective: Objective, given: dict[str, Any], classifier: bool
) -> tuple[StartedObjective, float]:
    """The objective and its intercept, which all data get as init_score."""
    for name in ("init_score", "eval_init_score"):
        if name in given:
            raise ValueError(
                f"{name} is given, but an init_score would be missing from the predictions: leave "
                "it out, boosting starts at the objective's intercept, which stays in the model; "
                "for a start that differs by row use train of gbdt_objectives.adapters.lightgbm"
            )
    if given.get("init_model") is not None:
        return StartedObjective(objective, None), 0.0
    y, w = labels_weights(
        given["y"],
        given.get("sample_weight"),
        classifier=classifier,
        class_weight=estimator.class_weight,
    )
    measured = objective.measured(y, w)
    intercept = measured.intercept or 0.0
    if intercept:
        given["init_score"] = np.full(len(y), intercept)
        scores = [np.full(len(target), intercept) for _, target in _evaluation_sets(given)]
        if scores:
            given["eval_init_score"] = scores
    return StartedObjective(measured, intercept), intercept


def _evaluation_sets(given: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Features and labels, given as eval_set or, since 4.7, as eval_X and eval_y."""
    if "eval_X" in given:
        X, y = given["eval_X"], given["eval_y"]
        return list(zip(X, y, strict=True)) if isinstance(X, tuple) else [(X, y)]
    eval_set = given.get("eval_set", [])
    return [eval_set] if isinstance(eval_set, tuple) else list(eval_set)


def _direct_stopping(estimator: Any, metric: Metric, given: dict[str, Any]) -> dict[str, Any]:
    """Early stopping on ``metric`` alone: adds callbacks, returns the parameters to switch off."""
    callbacks, parameters = direct_callbacks(given.get("callbacks"), metric), dict[str, Any]()
    found = estimator.get_params()
    for name in ALIASES["early_stopping_round"]:
        rounds = found.get(name)
        if rounds is None:
            continue
        parameters[name] = 0
        if _checks.number(name, rounds) > 0:
            callbacks.append(StopEarly(metric, _checks.whole_number(name, rounds, 1)))
    if any_stops_early(callbacks):
        sets = [(X, f"valid_{k}") for k, (X, _) in enumerate(_evaluation_sets(given))]
        _arguments.check_held_out(sets, given["X"])
    given["callbacks"] = callbacks
    return parameters


def _check_built_in_metrics(metrics: list[Any]) -> None:
    names = [m for m in metrics if isinstance(m, str) and m.lower() != "none"]
    if names:
        raise ValueError(
            f"eval_metric {names[0]!r} is LightGBM's own, which would interpret log-odds as "
            "probabilities under a custom objective: pass a metric of gbdt_objectives, such as "
            "weighted_logloss_metric(1)"
        )
