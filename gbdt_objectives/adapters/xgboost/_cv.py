"""XGBoost: cross-validation on an Objective."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
import xgboost as xgb
from sklearn.model_selection import StratifiedKFold

from gbdt_objectives._checks import Array
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._start import StartedFolds, shift_metric
from gbdt_objectives.adapters.xgboost import parameters
from gbdt_objectives.adapters.xgboost._train import (
    as_custom,
    check_checkpoints,
    check_labels,
    start_objective,
)
from gbdt_objectives.adapters.xgboost.stopping import (
    EarlyStopping,
    Exact,
    any_stops_early,
    direct_callbacks,
)
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective


def cv(
    params: Mapping[str, Any],
    data: xgb.DMatrix,
    num_boost_round: int = 100,
    *,
    objective: Objective = _arguments.ABSENT,
    metric: Metric,
    early_stopping_rounds: int | None = None,
    **kwargs: Any,
) -> Any:
    """``xgboost.cv`` with ``objective`` and ``metric`` meaning the same as in :func:`train`.

    Per fold, boosting starts at the objective's intercept, and an objective that was made
    without labels, such as ``qwk_objective()``, is measured on the fold's training rows. One
    with values of its own for each row of ``data`` is split with them. Early stopping is on the
    mean of ``metric`` over the folds' test rows.

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
    if xgb.collective.is_distributed():
        raise ValueError(
            "cv() is for one machine, found several workers: XGBoost cannot cross-validate there; "
            "train() takes metric= and evals= on all of them"
        )
    callbacks = direct_callbacks(kwargs.pop("callbacks", None), metric)
    check_checkpoints(callbacks, objective)
    if early_stopping_rounds is not None:
        callbacks.append(EarlyStopping(metric, early_stopping_rounds))
    stops_early = any_stops_early(callbacks)
    check = partial(parameters.check, objective=objective, stops_early=stops_early)
    check(params)
    of_folds: Iterator[Objective] = repeat(objective)
    if objective.rows is not None:
        objective.check_rows(data.num_row(), "data")
        kwargs["folds"] = splits = split_rows(data, **kwargs)
        of_folds = map(objective.take, (rows for rows, _ in splits))

    def place(train: Any, test: Any, given: dict[str, Any], of_fold: Objective) -> Any:
        return start_objective(given, {"train": train, "test": test}, of_fold)

    own = kwargs.pop("fpreproc", None)
    folds = StartedFolds(objective, own, check, lambda train: next(of_folds), place)
    exact = Exact(shift_metric(metric.xgboost, folds.shift), metric)
    history: Any = xgb.cv(
        as_custom(params, objective),
        data,
        num_boost_round,
        obj=folds,
        custom_metric=exact,
        fpreproc=folds.start,
        callbacks=exact.with_callbacks(callbacks),
        **kwargs,
    )
    for name, means, deviations in exact.columns():
        rounds = len(history[f"{name}-{metric.name}-mean"])
        history[f"{name}-{metric.name}-mean"] = means[:rounds]
        history[f"{name}-{metric.name}-std"] = deviations[:rounds]
    return history


def split_rows(
    data: xgb.DMatrix,
    *,
    nfold: int = 3,
    stratified: bool = False,
    folds: Any = None,
    seed: int = 0,
    shuffle: bool = True,
    **others: Any,
) -> list[tuple[Array, Array]]:
    """The (training rows, test rows) of the folds that ``xgboost.cv`` makes of these arguments."""
    if len(data.get_uint_info("group_ptr")) > 1:
        raise ValueError(
            "data has query groups, which XGBoost cannot split for an objective with values by "
            "row: make the DMatrix without group= and qid=, and pass folds="
        )
    n = data.num_row()
    if folds is None and stratified:
        folds = StratifiedKFold(nfold, shuffle=True, random_state=seed)
    if hasattr(folds, "split"):
        return list(folds.split(X=data.get_label(), y=data.get_label()))
    if folds is not None:
        return [(rows, held_out) for rows, held_out in folds]
    order = np.random.RandomState(seed).permutation(n) if shuffle else np.arange(n)
    parts = np.array_split(order, nfold)
    return [
        (np.concatenate([part for k, part in enumerate(parts) if k != held_out]), parts[held_out])
        for held_out in range(nfold)
    ]
