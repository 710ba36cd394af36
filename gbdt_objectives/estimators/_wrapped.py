"""A booster's estimator inside one of ours: what we need to know about it, and how to fit it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Member
from gbdt_objectives._registry import library_in_role
from gbdt_objectives.adapters._arguments import refuse_parameters
from gbdt_objectives.adapters._estimators import METRICS
from gbdt_objectives.adapters._models import Library
from gbdt_objectives.adapters._train import MEASURED, corrected_rate
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.ratio import RatioLoss

Data = tuple[Any, Array, "Array | None"]  # X, y and weights of some rows

METRIC = ("metric", "eval_metric")  # the main names of what is measured


def last_step(estimator: Any) -> Any:
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def all_parameters(estimator: Any) -> list[tuple[str, str, Any]]:
    """Names as written, main names and values, also of parts, and of what a search tries."""
    given = estimator.get_params()
    mains: dict[str, str] = {}
    for part in (estimator, *given.values()):
        if library := library_in_role(part, ""):
            mains |= {own: main for main, names in library.aliases.items() for own in names}
    found = [(written, written.split("__")[-1], value) for written, value in given.items()]
    for written, name, value in list(found):
        for grid in value if isinstance(value, list) else [value]:
            if name in ("param_grid", "param_distributions") and isinstance(grid, Mapping):
                found += [
                    (f"{written}: {own}", own.split("__")[-1], one)
                    for own, tried in grid.items()
                    for one in (tried if isinstance(tried, list | tuple) else [tried])
                ]
    return [(written, mains.get(name, name), value) for written, name, value in found]


def check_correctable(estimator: Any) -> None:
    """Raise if its parameters, or those of its parts, tell that a correction would be wrong."""
    for part in (estimator, *estimator.get_params().values()):
        library = library_in_role(getattr(part, "estimator", part), "Classifier")  # also a search
        if library is not None:
            for written, name, value in all_parameters(part):
                if name == "objective":
                    check_log_odds(written, value, library)
    Member(
        name="estimator", parameters=all_parameters(estimator),
        weighing="which moves the log-odds by itself, so that the corrected probabilities would be "
        "wrong: leave it out, or pass correction=None",
    )  # fmt: skip


def check_log_odds(name: str, value: Any, library: Library) -> None:
    """Raise unless ``name`` holds an objective of probabilities of the rows it is trained on."""
    own = library.functions_are_log_odds and callable(value)
    if isinstance(value, Objective):  # a ratio is least at decisions, which are no log-odds
        own = value.n_classes is not None and not isinstance(value.equations, RatioLoss)
    if corrected_rate(value) is not None:
        why = "which already corrects for sampling"
    elif not (own or value in library.correctable):
        why = "whose predictions are not log-odds and cannot be corrected"
    else:
        return
    raise ValueError(
        f"estimator has {name}={value!r}, {why}: leave it out, or pass correction=None"
    )


def check_rate_of_objective(
    estimator: Any, rates: Mapping[str, Any], positive: Array, w: Array | None
) -> None:
    """Raise if it trains for rows sampled at one rate, and what calibrates them is told another."""
    booster = last_step(estimator)
    if library_in_role(booster, "Classifier") is None or "keep_rate" in rates:
        return
    by_class = [*rates.get("class_keep_rates", {}).values()]
    told = [by_class[0] / by_class[-1] if by_class else rates.get("negative_keep_rate", 1.0)]
    if w is not None:  # which may be 1 / rate themselves
        told.append(told[0] * w[positive].mean() / w[~positive].mean())
    for written, name, value in all_parameters(booster):
        rate = corrected_rate(value) if name == "objective" else None
        if rate is not None and not any(1 / MEASURED < one / rate < MEASURED for one in told):
            own = f"negative_keep_rate={rate:.6g}"
            raise ValueError(
                f"estimator has {written}={value!r}, for rows that were sampled, but fit is "
                f"given {dict(rates) or 'no rate'}: pass "
                f"{'keep_rate=, of each row' if math.isnan(rate) else own} to fit too, so that it "
                "calibrates to the full population"
            )


def find_stopping_rounds(estimator: Any) -> int | None:
    """The rounds after which a booster stops early; None if it does not."""
    library = library_in_role(estimator, "Classifier")
    if library is None:
        return None
    for name in library.own_stopping:
        rounds = estimator.get_params().get(name)
        if rounds is not None and (library.zero_rounds_stop or _checks.number(name, rounds) > 0):
            return _checks.whole_number(name, rounds, 1)
    return None


def fix_rounds(estimator: Any, library: Library, rounds: int, models: Sequence[Any]) -> None:
    """Let it train so many, in steps like those of the models that found it, without measuring."""
    given = estimator.get_params()
    estimator.set_params(**library.same_steps(estimator, models))
    for name, value in library.fixed_rounds(rounds).items():
        names = next((every for every in library.aliases.values() if name in every), (name,))
        own = [one for one in names if given.get(one) is not None] or [name]
        estimator.set_params(**dict.fromkeys(own, value))
    written, metric = find_metric(estimator)
    if isinstance(metric, Metric):
        estimator.set_params(**{written: None})  # which it has no rows to measure on


def find_metric(estimator: Any) -> tuple[str, Any]:
    """The parameter that says what to measure, and that, one of ours as a Metric."""
    for written, name, value in all_parameters(estimator):
        if name in METRIC and value is not None:
            one = value[0] if isinstance(value, list | tuple) and len(value) == 1 else value
            return written, one.metric if isinstance(one, METRICS[1:]) else one
    return "", None


def check_best_round(parameters: dict[str, Any]) -> None:
    """Raise if a model that stops early could not be cut back to its best round."""
    cut_back = (None, "gbtree", "gbdt", "gbrt", "goss", "Plain", "Ordered")  # the last of CatBoost
    for name in ("booster", "boosting_type", "boosting", "boost"):
        if parameters.get(name) not in cut_back:
            raise ValueError(
                f"early stopping is not supported with {name}={parameters[name]!r}: leave one out"
            )
    refuse_parameters(
        parameters, ("early_stopping_min_delta",), (0,),
        "but early stopping here counts any improvement: leave it out",
    )  # fmt: skip


def fit(
    estimator: Any, library: Library, objective: Objective | None, data: Data,
    metric: Metric | None, held_out: Data | None, stopping_rounds: int | None,
) -> Any:  # fmt: skip
    """A booster's estimator, fitted on the objective as one of ours, with rows to stop on."""
    is_ours = objective is not None or metric is not None
    estimator = library.own_class(estimator) if is_ours else estimator
    if objective is not None:
        estimator.set_params(objective=objective)
    fitting = library.fitting
    given: dict[str, Any] = dict(zip(("X", "y", "sample_weight"), data, strict=True))
    parameters: dict[str, Any] = {}
    if held_out is not None and stopping_rounds is not None:
        X, y, weight = held_out
        X = X if hasattr(X, "shape") else np.asarray(X)  # LightGBM reads lists for training only
        given |= fitting.held_out(estimator, library.weigh_held_out, X, y, weight)
        given |= library.quiet_fit
        parameters |= library.stops_after(stopping_rounds)
        (given if fitting.metrics_in_fit else parameters)["eval_metric"] = metric
    on_its_own = not is_ours and not hasattr(estimator, "objective")
    with fitting.set_temporarily(estimator, parameters):
        if on_its_own or isinstance(estimator, tuple(library.kinds.values())):
            return estimator.fit(**given)
        return fitting(estimator, estimator.fit, **given).fit()
