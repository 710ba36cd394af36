"""XGBoost: cross-validation on an Objective."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import xgboost as xgb

from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._start import StartedFolds, run_fpreproc
from gbdt_objectives.adapters.xgboost import parameters
from gbdt_objectives.adapters.xgboost._train import (
    as_custom,
    check_checkpoints,
    check_labels,
    check_one_machine,
    shift_metric,
    start_objective,
)
from gbdt_objectives.adapters.xgboost.stopping import (
    Exact,
    any_stops_early,
    direct_callbacks,
    stop_on,
)
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

    Per fold, boosting starts at the objective's intercept, and an objective that was made
    without labels, such as ``qwk_objective()``, is measured on the fold's training rows. Early
    stopping is on the mean of ``metric`` over the folds' test rows.

    Parameters
    ----------
    params, num_boost_round, objective, metric, early_stopping_rounds
        As in :func:`train`; ``metric`` is needed.
    data : xgboost.DMatrix
        With labels.
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
    datasets = _arguments.check_arguments(
        "cv", xgb.DMatrix, params, data, num_boost_round, objective, metric, (),
        early_stopping_rounds, kwargs, parameters.INSTEAD,
    )  # fmt: skip
    check_labels(datasets)
    check_one_machine(metric)
    callbacks = direct_callbacks(kwargs.pop("callbacks", None), metric, save_best=False)
    check_checkpoints(callbacks, objective)
    if early_stopping_rounds is not None:
        callbacks.append(stop_on(metric, early_stopping_rounds, save_best=False))
    stops_early = any_stops_early(callbacks)
    check = partial(parameters.check, objective=objective, stops_early=stops_early)
    check(params)
    folds, own = StartedFolds(), kwargs.pop("fpreproc", None)
    exact = Exact(shift_metric(metric, folds.shift), metric)

    def start(train: Any, test: Any, given: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        train, test, given = run_fpreproc(own, check, train, test, given)
        fold, base_score = start_objective(given, {"train": train, "test": test}, objective)
        folds.add(fold, train, test)
        return train, test, {**given, **base_score}

    history: Any = xgb.cv(
        {**params, **as_custom(objective)},
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
