"""LightGBM: cross-validation on an Objective."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np

from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._start import StartedFolds, shift_metric
from gbdt_objectives.adapters.lightgbm import parameters
from gbdt_objectives.adapters.lightgbm._train import (
    check_label,
    check_whole,
    explain_errors,
    find_earlier,
    finish,
    in_file,
    init_score,
    start_objective,
    without_traces,
)
from gbdt_objectives.adapters.lightgbm.stopping import StopEarly, any_stops_early, direct_callbacks
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective


def take_fold(objective: Objective, data: lgb.Dataset, fold: lgb.Dataset) -> Objective:
    """The objective for the rows of a fold."""
    if objective.rows is None:
        return objective
    objective.check_rows(data.num_data(), "data")
    return objective.take(np.asarray(fold.used_indices))


def cv(
    params: Mapping[str, Any],
    data: lgb.Dataset,
    num_boost_round: int = 100,
    *,
    objective: Objective = _arguments.ABSENT,
    metric: Metric,
    early_stopping_rounds: int | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """``lightgbm.cv`` with ``objective`` and ``metric`` meaning the same as in :func:`train`.

    Per fold, boosting starts at the objective's intercept, and an objective that was made
    without labels, such as ``qwk_objective()``, is measured on the fold's training rows. One
    with values of its own for each row of ``data`` is split with them. Early stopping is on the
    mean of ``metric`` over the folds' validation rows.

    Parameters
    ----------
    params, num_boost_round, objective, metric, early_stopping_rounds
        As in :func:`train`; ``metric`` is needed.
    data : lightgbm.Dataset
        With labels.
    **kwargs
        Passed to ``lightgbm.cv``: ``nfold``, ``folds``, ``seed``, ``return_cvbooster``, ...
        LightGBM stratifies by label by default; labels with fractions need
        ``stratified=False``.

    Returns
    -------
    dict
        As ``lightgbm.cv``: mean and standard deviation of the metric per round. The
        boosters of ``return_cvbooster=True`` are like those of :func:`train`, with the
        intercept inside and the best rounds only.

    Raises
    ------
    TypeError, ValueError
        As :func:`train`.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from gbdt_objectives import extended_qwk_metric, qwk_objective
    >>> from gbdt_objectives.adapters.lightgbm import cv
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
    >>> history = cv({"num_leaves": 4, "verbose": -1}, lgb.Dataset(X, y), 20,
    ...              objective=qwk_objective(), metric=extended_qwk_metric(), nfold=3)
    >>> history["valid extended_qwk-mean"][-1] > 0.8
    True
    """
    _arguments.check_arguments(
        "cv", lgb.Dataset, params, data, num_boost_round, objective, metric, (),
        early_stopping_rounds, kwargs, parameters.INSTEAD,
    )  # fmt: skip
    callbacks = direct_callbacks(kwargs.pop("callbacks", None), metric)
    if early_stopping_rounds is not None:
        callbacks.append(StopEarly(metric, early_stopping_rounds))
    stops_early = any_stops_early(callbacks)
    check = partial(parameters.check, objective=objective, stops_early=stops_early)
    check(params, from_file=data.data is None or in_file(data))
    check_label(data, "data")
    check_whole(objective, data)
    init_model = find_earlier(kwargs)

    def place(train: Any, test: Any, given: dict[str, Any], of_fold: Objective) -> Any:
        score = init_score(train, objective.outputs)
        return start_objective(of_fold, score, init_model is not None), {}

    own = kwargs.pop("fpreproc", None)
    folds = StartedFolds(objective, own, check, partial(take_fold, objective, data), place)
    with explain_errors(), without_traces([data], init_model, objective.outputs):
        history: dict[str, Any] = lgb.cv(
            {
                **params,
                **_arguments.several_outputs(objective),
                "objective": folds,
                "metric": "None",
            },
            data,
            num_boost_round,
            feval=shift_metric(metric.lightgbm, folds.shift),
            fpreproc=folds.start,
            callbacks=callbacks,
            **kwargs,
        )
    if "cvbooster" in history:
        trained = history["cvbooster"]
        trained.boosters = [
            finish(booster, objective, fold.shift)
            for booster, fold in zip(trained.boosters, folds.folds, strict=True)
        ]
    return history
