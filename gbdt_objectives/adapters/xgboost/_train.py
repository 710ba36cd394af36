"""XGBoost: train on an Objective, with the intercept inside the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xgboost as xgb

from gbdt_objectives import _checks
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._start import StartedObjective
from gbdt_objectives.adapters.xgboost import parameters
from gbdt_objectives.adapters.xgboost.intercept import LEAST_PROBABILITY, log_odds, sigmoid
from gbdt_objectives.adapters.xgboost.stopping import Exact, directed, early_stopping, stops
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

OBJECTIVE_OF_LINK = {"identity": "reg:squarederror", "logit": "binary:logistic"}
"""XGBoost's objective whose prediction transform is our link; its gradient is not used."""


def train(
    params: Mapping[str, Any],
    data: xgb.DMatrix,
    num_boost_round: int = 100,
    *,
    objective: Objective,
    metric: Metric | None = None,
    evals: Sequence[tuple[xgb.DMatrix, str]] = (),
    early_stopping_rounds: int | None = None,
    **kwargs: Any,
) -> xgb.Booster:
    """Drop-in for ``xgboost.train`` that starts, stops and predicts right.

    Boosting starts at the objective's intercept, which becomes the ``base_score`` of
    the returned model. With ``early_stopping_rounds`` it stops on ``metric``, on the
    last of ``evals``, in the metric's own direction, and the model holds the rounds up
    to the best one only. No other metric is evaluated.

    Parameters
    ----------
    params : mapping
        XGBoost's parameters. ``base_score`` (in the units of a prediction) replaces
        the objective's intercept. What XGBoost would silently ignore or what would
        change predictions is refused.
    data : xgboost.DMatrix
        Training data with labels. If it has a ``base_margin``, training starts there
        and the model's own intercept is 0; then all ``evals`` need one.
    num_boost_round : int
        Number of rounds, at most.
    objective : Objective
        E.g. ``qwk_objective(y)``.
    metric : Metric, optional
        E.g. ``extended_qwk_metric()``; needs ``evals``. A metric of classes, such as
        ``qwk_metric()``, does not move while all rows are in one class; such rounds at the
        beginning use up no patience, and a best round among the first few warns.
    evals : sequence of (DMatrix, str)
        What to evaluate ``metric`` on.
    early_stopping_rounds : int, optional
        Stop after so many rounds without improvement; needs ``metric``.
    **kwargs
        Passed to ``xgboost.train``: ``callbacks``, ``evals_result``, ``xgb_model``,
        ``verbose_eval`` (here False unless given).

    Returns
    -------
    xgboost.Booster
        A plain booster. ``predict`` gives natural units: the label's for an identity
        link, the probability of label 1 for logloss (``output_margin=True`` for
        log-odds), also after saving and loading without this package.

    Raises
    ------
    TypeError, ValueError
        Arguments of the wrong kind, contradictory starts, refused parameters, and
        whatever the objective finds wrong with the data.

    Notes
    -----
    Negatives kept at rates r that differ by row: let c be the population's log-odds,
    log(positives / sum over kept negatives of 1/r). Set c - log r as the ``base_margin`` of
    every row of ``data``, but c, and a weight of 1/r for negatives, on ``evals``: these are
    to be measured as the population. Train with ``offset_logloss_objective(1)`` and
    ``weighted_logloss_metric(1)``, and put c into the model with
    ``shift_intercept(booster, c)``. It then predicts the population's probabilities without
    knowing rates.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb
    >>> from gbdt_objectives import qwk_objective
    >>> from gbdt_objectives.adapters.xgboost import train
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
    >>> booster = train({"max_depth": 2}, xgb.DMatrix(X, y), 20, objective=qwk_objective(y))
    >>> booster.predict(xgb.DMatrix([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]])).round()
    array([1., 3.], dtype=float32)
    """
    _arguments.check_data("data", data, xgb.DMatrix)
    _arguments.check_arguments(
        params, objective, metric, evals, early_stopping_rounds, num_boost_round, kwargs,
        parameters.INSTEAD,
    )  # fmt: skip
    matrices = {"data": data, **{f"evals {name!r}": matrix for matrix, name in evals}}
    for name, matrix in matrices.items():
        check_labelled(name, matrix)
    check_one_machine(metric)
    transform = OBJECTIVE_OF_LINK[objective.link]
    callbacks = directed(kwargs.pop("callbacks", None), metric)
    if metric is not None and early_stopping_rounds is not None:
        callbacks.append(early_stopping(metric, early_stopping_rounds, data_name=evals[-1][1]))
    parameters.check(params, transform=transform, stops_early=stops(callbacks))
    for callback in callbacks:
        if isinstance(callback, xgb.callback.EarlyStopping):
            _arguments.check_stopping_data(data, evals, callback.data)
    exact = None if metric is None else Exact(metric.xgboost, metric)
    if exact is not None:
        callbacks = exact.with_callbacks(callbacks)
    if continues(params, kwargs):
        started, base_score = StartedObjective(objective, None), dict[str, float]()
    else:
        started, base_score = started_objective(params, matrices, objective)
    return xgb.train(
        {**params, "objective": transform, "disable_default_eval_metric": 1, **base_score},
        data,
        num_boost_round,
        obj=started,
        custom_metric=exact,
        evals=list(evals),
        callbacks=callbacks,
        **{"verbose_eval": False, **kwargs},
    )


def check_labelled(name: str, data: Any) -> None:
    _arguments.check_data(name, data, xgb.DMatrix)
    if data.get_label().size == 0:
        raise ValueError(f"{name} has no labels: pass label= to the DMatrix")


def check_one_machine(metric: Metric | None) -> None:
    if metric is not None and xgb.collective.is_distributed():
        raise ValueError(
            "metric is refused in distributed training: XGBoost would report the mean of each "
            "worker's own value; evaluate the model after training"
        )


def continues(params: Mapping[str, Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether training goes on from an earlier model, which has its intercept already."""
    if kwargs.get("xgb_model") is None:
        return False
    if params.get("base_score") is not None:
        raise ValueError("base_score and xgb_model are both given: the model has its own intercept")
    return True


def started_objective(
    params: Mapping[str, Any], matrices: Mapping[str, xgb.DMatrix], objective: Objective
) -> tuple[StartedObjective, dict[str, float]]:
    """The objective, measured, and the base_score (in the units of a prediction) to start at."""
    has_margin = {name: _has_base_margin(matrix) for name, matrix in matrices.items()}
    _arguments.check_same_starts("base_margin", has_margin)
    data, given = next(iter(matrices.values())), params.get("base_score")
    if _has_base_margin(data):
        if given is not None:
            raise ValueError(
                "params['base_score'] and the data's base_margin are both given: XGBoost would "
                "ignore the first; leave one of them out"
            )
        margins = _checks.vector("base_margin", data.get_float_info("base_margin"))
        return StartedObjective(objective, margins), {"base_score": prediction(0.0, objective)}
    measured = objective.measured(*_checks.label_weight(data))
    if given is not None:
        start = margin(_checks.number("params['base_score']", given), objective)
        return StartedObjective(measured, start), {}
    intercept = measured.intercept or 0.0
    return StartedObjective(measured, intercept), {"base_score": prediction(intercept, objective)}


def prediction(intercept: float, objective: Objective) -> float:
    """The base_score that is this margin."""
    return _probability(intercept) if objective.link == "logit" else intercept


def margin(base_score: float, objective: Objective) -> float:
    """The margin that is this base_score."""
    return log_odds(base_score) if objective.link == "logit" else base_score


def _has_base_margin(data: xgb.DMatrix) -> bool:
    return data.get_float_info("base_margin").size > 0


def _probability(intercept: float) -> float:
    """sigmoid, if XGBoost can hold it as base_score."""
    p = sigmoid(intercept)
    if not LEAST_PROBABILITY <= p <= 1 - LEAST_PROBABILITY:
        raise ValueError(
            f"training cannot start at {intercept:g} log-odds: XGBoost limits a logistic "
            f"base_score to +-{log_odds(1 - LEAST_PROBABILITY):.4g}. Start at a base_margin, "
            f"data.set_base_margin(numpy.full(n, {intercept:.17g})) for data and evals, and put it "
            "into the trained model with shift_intercept"
        )
    return p
