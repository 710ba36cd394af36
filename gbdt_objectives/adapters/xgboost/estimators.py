"""XGBoost's estimators, with objectives and metrics of this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import xgboost as xgb

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
from gbdt_objectives.adapters.xgboost import parameters as table
from gbdt_objectives.adapters.xgboost._train import OBJECTIVE_OF_LINK, continues, start_at
from gbdt_objectives.adapters.xgboost.stopping import (
    Exact,
    any_stops_early,
    direct_callbacks,
    early_stopping,
)
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

OWN = {
    "objective", "base_score", "callbacks", "early_stopping_rounds", "enable_categorical",
    "eval_metric", "feature_types", "feature_weights", "importance_type", "missing",
    "n_estimators", "verbosity",
}  # fmt: skip
"""Parameters of the estimators that are not XGBoost's own, or that fit looks at itself."""


@request_rows
class XGBRegressor(xgb.XGBRegressor):
    """``xgboost.XGBRegressor`` for objectives and metrics of this package.

    With an ``objective`` such as ``qwk_objective()``, measured in each ``fit`` unless it is
    already, boosting starts at its intercept, which becomes the model's ``base_score``. With
    a ``Metric`` such as ``extended_qwk_metric()`` as ``eval_metric``, early stopping (by
    ``early_stopping_rounds`` or an ``EarlyStopping`` callback) is on the last evaluation set
    in the metric's own direction and full precision, and the model holds the best rounds
    only. Without either it is XGBoost's own estimator.

    Parameters
    ----------
    objective : str, callable or Objective
        An Objective must be one in label units; for log-odds use :class:`XGBClassifier`.
        What XGBoost would silently ignore under it is refused. ``fit`` takes what
        ``objective(function, rows=["cost"])`` names as further arguments, ``cost=``.
    **kwargs
        As for ``xgboost.XGBRegressor``.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import extended_qwk_metric, qwk_objective
    >>> from gbdt_objectives.adapters.xgboost import XGBRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
    >>> model = XGBRegressor(objective=qwk_objective(), eval_metric=extended_qwk_metric(),
    ...                      max_depth=2, early_stopping_rounds=10)
    >>> model = model.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])], verbose=False)
    >>> model.predict([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]]).round()
    array([1., 3.], dtype=float32)
    """

    @copy_signature(xgb.XGBRegressor.fit)
    def fit(self, X: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return _fit(self, super().fit, X, y, *args, **kwargs)


class XGBClassifier(xgb.XGBClassifier):
    """``xgboost.XGBClassifier`` for objectives and metrics of this package.

    With an ``objective`` such as ``offset_logloss_objective(0.1)`` boosting starts at the
    log-odds of the labels, which become the model's ``base_score``, and ``predict_proba``
    gives the probabilities that the objective aims at. ``eval_metric`` is as in
    :class:`XGBRegressor`. Without either it is XGBoost's own estimator.

    Parameters
    ----------
    objective : str, callable or Objective
        An Objective must be one of log-odds; for label units use :class:`XGBRegressor`.
        What XGBoost would silently ignore under it is refused.
    **kwargs
        As for ``xgboost.XGBClassifier``.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import offset_logloss_objective
    >>> from gbdt_objectives.adapters.xgboost import XGBClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2)); y = (rng.random(2000) < X[:, 0]).astype(int)
    >>> keep = (y == 1) | (rng.random(2000) < 0.1)  # a tenth of the negatives
    >>> model = XGBClassifier(objective=offset_logloss_objective(0.1), n_estimators=50,
    ...                       max_depth=1, learning_rate=0.1).fit(X[keep], y[keep])
    >>> bool(abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.05)
    True
    """

    @copy_signature(xgb.XGBClassifier.fit)
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
    """Fit any XGBoost estimator like ours; stop on held-out rows (X, y, weights) if given."""
    given = {"X": X, "y": y, "sample_weight": sample_weight}
    if held_out is None:
        _fit(estimator, estimator.fit, **given)
        return
    *rows, weight = held_out
    given |= {"eval_set": [tuple(rows)], "verbose": False}
    if weight is not None:
        given["sample_weight_eval_set"] = [weight]
    with set_temporarily(estimator, {"eval_metric": metric, "early_stopping_rounds": rounds}):
        _fit(estimator, estimator.fit, **given)


def _fit(estimator: Any, library_fit: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    check_places(estimator, "eval_metric", "write eval_metric= of the estimator")
    classifier = isinstance(estimator, xgb.XGBClassifier)
    objective = own_objective(estimator, classifier=classifier)
    metrics, own = own_metrics(estimator.eval_metric, estimator, classifier=classifier)
    metric = next((m for m in own if m is not None), None)
    if len(own) - own.count(None) > 1:
        raise ValueError(
            "eval_metric holds several metrics of gbdt_objectives: XGBoost takes one metric of "
            "gbdt_objectives beside its own; measure the others on the predictions"
        )
    objective, given = read_arguments(objective, library_fit, *args, **kwargs)
    parameters: dict[str, Any] = {}
    if objective is not None or metric is not None:
        _check_eval_set(given.get("eval_set", ()))
    if metric is not None:
        exact = Exact(metric.xgboost, metric)
        parameters |= _direct_stopping(estimator, exact, given)
        if len(metrics) > 1:
            parameters["eval_metric"] = [
                exact if m is not None else other for m, other in zip(own, metrics, strict=True)
            ]
    if objective is not None:
        stops_early = estimator.early_stopping_rounds is not None or any_stops_early(
            parameters.get("callbacks", estimator.callbacks) or ()
        )
        table.check(
            {name: v for name, v in estimator.get_params().items() if name not in OWN},
            transform=OBJECTIVE_OF_LINK[objective.link],
            stops_early=stops_early,
        )
        parameters |= _start(estimator, objective, given, classifier)
    with set_temporarily(estimator, parameters):
        try:
            return library_fit(**given)
        except xgb.core.XGBoostError as error:
            if "Unknown metric function" not in str(error) or len(metrics) == 1:
                raise
            raise ValueError(
                f"eval_metric holds {_checks.shown(metrics)}: this version of XGBoost does not "
                "know one of the names, or accepts no other metric beside one of gbdt_objectives"
            ) from error


def _check_eval_set(eval_set: Any) -> None:
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in eval_set):
        raise ValueError("eval_set must be a list of pairs: write eval_set=[(X, y)]")


def _start(
    estimator: Any, objective: Objective, given: dict[str, Any], classifier: bool
) -> dict[str, Any]:
    """The parameters with which boosting starts where it should."""
    label_weight = labels_weights(given["y"], given.get("sample_weight"), classifier=classifier)
    base_score, margins = estimator.base_score, given.get("base_margin")
    if continues({"base_score": base_score}, given):
        return {"objective": StartedObjective(objective, None)}
    if given.get("eval_set"):
        others = given.get("base_margin_eval_set") or [None] * len(given["eval_set"])
        has = {f"eval_set[{k}]": m is not None for k, m in enumerate(others)}
        _arguments.check_same_starts("base_margin", {"X": margins is not None, **has})
    started, parameters = start_at(objective, label_weight, margins, base_score)
    return {"objective": started, **parameters}


def _direct_stopping(estimator: Any, exact: Exact, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters with which early stopping sees the metric in full precision."""
    metric, rounds = exact.metric, estimator.early_stopping_rounds
    callbacks = direct_callbacks(estimator.callbacks, metric)
    if rounds is not None:
        callbacks.append(early_stopping(metric, rounds))
    sets = [(X, f"validation_{k}") for k, (X, _) in enumerate(given.get("eval_set", ()))]
    for callback in callbacks:
        if isinstance(callback, xgb.callback.EarlyStopping):
            _arguments.check_held_out(sets, given["X"], callback.data)
    callbacks = exact.with_callbacks(callbacks)
    return {"eval_metric": exact, "callbacks": callbacks, "early_stopping_rounds": None}
