"""XGBoost: cross-validation on an Objective."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xgboost as xgb

from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._start import StartedFolds
from gbdt_objectives.adapters.xgboost import parameters
from gbdt_objectives.adapters.xgboost._train import (
    OBJECTIVE_OF_LINK,
    check_labelled,
    check_one_machine,
    started_objective,
)
from gbdt_objectives.adapters.xgboost.stopping import Exact, directed, stopping, stops
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective


def cv(
    params: Mapping[str, Any],
    data: xgb.DMatrix,
    num_boost_round: int = 100,
    *,
    objective: Objective,
    metric: Metric,
    early_stopping_rounds: int | None = None,
    **kwargs: Any,
) -> Any:
    """``xgboost.cv`` with ``objective`` and ``metric`` meaning the same as in :func:`train`.

    In each fold boosting starts at the objective's intercept; what the objective takes
    from labels, such as the centre of ``qwk_objective()``, it takes from the fold's
    training rows. Early stopping is on the mean of ``metric`` over the folds' test rows,
    in the metric's own direction.

    Parameters
    ----------
    params : mapping
        As in :func:`train`.
    data : xgboost.DMatrix
        With labels.
    num_boost_round : int
        Number of rounds, at most.
    objective : Objective
        E.g. ``qwk_objective()``, measured in each fold.
    metric : Metric
        E.g. ``extended_qwk_metric()``.
    early_stopping_rounds : int, optional
        Stop after so many rounds without improvement.
    **kwargs
        Passed to ``xgboost.cv``: ``nfold``, ``folds``, ``stratified``, ``seed``, ...

    Returns
    -------
    pandas.DataFrame or dict
        As ``xgboost.cv``: mean and standard deviation of the metric per round, in full
        precision.

    Raises
    ------
    TypeError, ValueError
        As :func:`train`.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb
    >>> from gbdt_objectives import extended_qwk_metric, qwk_objective
    >>> from gbdt_objectives.adapters.xgboost import cv
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
    >>> history = cv({"max_depth": 2}, xgb.DMatrix(X, y), 20, objective=qwk_objective(),
    ...              metric=extended_qwk_metric(), nfold=3, as_pandas=False)
    >>> bool(history["test-extended_qwk-mean"][-1] > 0.9)
    True
    """
    _arguments.check_data("data", data, xgb.DMatrix)
    _arguments.check_objective(objective)
    _arguments.check_metric(metric, objective)
    _arguments.check_arguments(
        params, objective, metric, [(data, "data")], early_stopping_rounds, num_boost_round,
        kwargs, parameters.INSTEAD, "cv",
    )  # fmt: skip
    if kwargs.get("metrics"):
        raise TypeError("cv() got metrics=: write metric=, nothing else is measured")
    check_labelled("data", data)
    check_one_machine(metric)
    transform = OBJECTIVE_OF_LINK[objective.link]
    callbacks = directed(kwargs.pop("callbacks", None), metric, save_best=False)
    exact = Exact(metric.xgboost, metric)
    if early_stopping_rounds is not None:
        callbacks.append(stopping(metric, early_stopping_rounds, save_best=False))
    stops_early = stops(callbacks)
    parameters.check(params, transform=transform, stops_early=stops_early)
    folds, own = StartedFolds(), kwargs.pop("fpreproc", None)

    def start(train: Any, test: Any, given: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        if own is not None:
            before = dict(given)
            train, test, given = own(train, test, given)
            changed = {k: v for k, v in given.items() if before.get(k) is not v}
            parameters.check(changed, transform=transform, stops_early=stops_early)
        fold, base_score = started_objective(given, {"train": train, "test": test}, objective)
        folds.add(fold, train, test)
        return train, test, {**given, **base_score}

    history: Any = xgb.cv(
        {**params, "objective": transform, "disable_default_eval_metric": 1},
        data,
        num_boost_round,
        obj=folds,
        custom_metric=exact,
        fpreproc=start,
        callbacks=exact.with_callbacks(callbacks),
        **kwargs,
    )
    for name, means, deviations in exact.columns():
        rounds = len(history[f"{name}-{metric.name}-mean"])
        history[f"{name}-{metric.name}-mean"] = means[:rounds]
        history[f"{name}-{metric.name}-std"] = deviations[:rounds]
    return history
