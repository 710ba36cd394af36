"""LightGBM: cross-validation on an Objective."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import lightgbm as lgb

from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._start import StartedFolds
from gbdt_objectives.adapters.lightgbm import parameters
from gbdt_objectives.adapters.lightgbm._train import (
    check_label,
    explained,
    finished,
    in_file,
    init_score,
    shifted,
    started_objective,
    without_traces,
)
from gbdt_objectives.adapters.lightgbm.stopping import StopEarly, directed, stops
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective


def cv(
    params: Mapping[str, Any],
    data: lgb.Dataset,
    num_boost_round: int = 100,
    *,
    objective: Objective,
    metric: Metric,
    early_stopping_rounds: int | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """``lightgbm.cv`` with ``objective`` and ``metric`` meaning the same as in :func:`train`.

    In each fold boosting starts at the objective's intercept; what the objective takes
    from labels, such as the centre of ``qwk_objective()``, it takes from the fold's
    training rows. Early stopping is on the mean of ``metric`` over the folds' validation
    rows, in the metric's own direction.

    Parameters
    ----------
    params : mapping
        As in :func:`train`.
    data : lightgbm.Dataset
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
        Passed to ``lightgbm.cv``: ``nfold``, ``folds``, ``seed``, ``return_cvbooster``, ...
        LightGBM stratifies by label unless told ``stratified=False``, which labels with
        fractions need.

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
    _arguments.check_data("data", data, lgb.Dataset)
    _arguments.check_objective(objective)
    _arguments.check_metric(metric, objective)
    _arguments.check_arguments(
        params, objective, metric, [(data, "data")], early_stopping_rounds, num_boost_round,
        kwargs, parameters.INSTEAD, "cv",
    )  # fmt: skip
    if kwargs.get("metrics"):
        raise TypeError("cv() got metrics=: write metric=, nothing else is measured")
    callbacks = directed(kwargs.pop("callbacks", None), metric, "valid")
    if early_stopping_rounds is not None:
        callbacks.append(StopEarly(metric, early_stopping_rounds, "valid"))
    stops_early = stops(callbacks)
    parameters.check(params, stops_early=stops_early, from_file=data.data is None or in_file(data))
    check_label(data, "data")
    continues = kwargs.get("init_model") is not None
    folds, own = StartedFolds(), kwargs.pop("fpreproc", None)

    def start(train: Any, test: Any, given: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        if own is not None:
            before = dict(given)
            train, test, given = own(train, test, given)
            changed = {k: v for k, v in given.items() if before.get(k) is not v}
            parameters.check(changed, stops_early=stops_early)
        folds.add(started_objective(objective, init_score(train), continues), train, test)
        return train, test, given

    with explained(), without_traces([data], kwargs.get("init_model")):
        history: dict[str, Any] = lgb.cv(
            {**params, "objective": folds, "metric": "None"},
            data,
            num_boost_round,
            feval=shifted(metric, folds.shift),
            fpreproc=start,
            callbacks=callbacks,
            **kwargs,
        )
    if "cvbooster" in history:
        trained = history["cvbooster"]
        trained.boosters = [
            finished(booster, objective.link, fold.shift)
            for booster, fold in zip(trained.boosters, folds.folds, strict=True)
        ]
    return history
