"""What the drop-in estimators of both libraries have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, getattr_static, signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.metrics import Metric
from gbdt_objectives.metrics.base import LightGBMMetric, XGBoostMetric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.base import FunctionObjective

Fit = TypeVar("Fit", bound=Callable[..., Any])
Estimator = TypeVar("Estimator", bound=Any)
METRICS = (Metric, XGBoostMetric, LightGBMMetric)


def copy_signature(library_fit: Any) -> Callable[[Fit], Fit]:
    """Give a fit the signature and docstring of the library's, which scikit-learn inspects."""
    decorator: Any = wraps(library_fit)
    return lambda fit: decorator(fit)


def name_arguments(fit: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments of an estimator's fit by name, without those that are None."""
    call = signature(fit)
    if not any(p.kind is Parameter.VAR_KEYWORD for p in call.parameters.values()):
        for name in kwargs:
            if name not in call.parameters:
                estimator = fit.__self__
                of_rows = isinstance(estimator.objective, FunctionObjective)
                raise TypeError(
                    f"fit() has no argument {name!r}, only {', '.join(call.parameters)}: a "
                    f"parameter goes to the estimator, {type(estimator).__name__}({name}=...)"
                    + f"; values by row are named, objective(function, rows=[{name!r}])"
                    * of_rows
                )
    found = call.bind(*args, **kwargs).arguments
    for name, parameter in call.parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            found |= found.pop(name, {})
    return {name: value for name, value in found.items() if value is not None}


def read_arguments(
    objective: Objective | None, fit: Any, *args: Any, **kwargs: Any
) -> tuple[Objective | None, dict[str, Any]]:
    """The objective with what fit got for its rows, and the other arguments of fit by name."""
    if not isinstance(objective, FunctionObjective):
        return objective, name_arguments(fit, *args, **kwargs)
    names = objective.row_names
    for name in names:
        if name in signature(fit).parameters:
            raise ValueError(
                f"rows of {objective!r} names {name!r}, which is an argument of fit(): rename it"
            )
    own = {name: kwargs.pop(name) for name in names if name in kwargs}
    rows = {name: values for name, values in own.items() if values is not None}
    given = name_arguments(fit, *args, **kwargs)
    if not rows:
        return objective, given
    if objective.rows is not None:
        raise ValueError(
            f"fit() got {', '.join(rows)}, but the objective has it already: make the objective "
            f"with the names only, objective(function, rows={list(names)})"
        )
    for name, values in rows.items():
        check_same_index(name, values, given["X"])
    return objective.with_rows(rows), given


def check_same_index(name: str, values: Any, X: Any) -> None:
    """Raise if two pandas objects, which are taken row by row, have another index each."""
    if hasattr(values, "iloc") and hasattr(X, "iloc") and not X.index.equals(values.index):
        raise ValueError(
            f"{name} and X have another index each, but rows are taken in their order: pass "
            f"{name}.loc[X.index], or {name}.to_numpy() if they are in the same order"
        )


def request_rows(kind: type[Estimator]) -> type[Estimator]:
    """Let scikit-learn's metadata routing know what the objective's rows name: it is requested
    for fit, and set_fit_request takes it."""
    generated, routing_of = getattr_static(kind, "set_fit_request"), kind.get_metadata_routing

    def set_fit_request(self: Any, **requests: Any) -> Any:
        """Choose what metadata routing passes on to ``fit``; as in scikit-learn."""
        names = [*generated.keys, *row_names(self.objective)]
        return type(generated)("fit", names).__get__(self, type(self))(**requests)

    def get_metadata_routing(self: Any) -> Any:
        """What metadata routing passes on to ``fit``; as in scikit-learn."""
        routing = routing_of(self)
        for name in row_names(self.objective):
            if name not in routing.fit.requests:
                routing.fit.add_request(param=name, alias=True)
        return routing

    kind.set_fit_request = set_fit_request
    kind.get_metadata_routing = get_metadata_routing
    return kind


def row_names(objective: object) -> tuple[str, ...]:
    """What a user's function needs of each row, by name."""
    return objective.row_names if isinstance(objective, FunctionObjective) else ()


def check_places(estimator: Any, metrics: str, where: str) -> None:
    """Raise for an objective or metric under a parameter name that the library ignores.

    ``metrics`` is the parameter that may hold metrics, and ``where`` what to write instead.
    """
    for name, value in estimator.get_params(deep=False).items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, Objective) and name not in ("objective", metrics):
                raise TypeError(f"{name} is an objective, {one!r}: write objective=")
            if isinstance(one, METRICS) and name != metrics:
                raise TypeError(f"{name} is a metric, {one!r}: {where}")


def own_objective(estimator: Any, *, classifier: bool) -> Objective | None:
    """The estimator's objective if it is one of ours, which must suit a classifier or regressor."""
    objective, name = estimator.objective, type(estimator).__name__
    _arguments.check_called("objective", objective)
    if not isinstance(objective, Objective):
        return None
    other = name.replace("Classifier", "Regressor")
    if classifier and isinstance(objective, FunctionObjective):
        raise TypeError(
            f"{name} cannot turn a margin of {objective!r} into a probability: use "
            f"{other}, whose predictions are the margins"
        )
    if classifier and objective.link == "identity":
        raise TypeError(
            f"objective={objective!r} trains a score in label units, not log-odds: use {other}, "
            "and turn its scores into classes with apply_thresholds"
        )
    if not classifier and objective.link == "logit":
        raise TypeError(
            f"objective={objective!r} trains log-odds of label 1: use "
            f"{name.replace('Regressor', 'Classifier')}, whose predict_proba gives probabilities"
        )
    return objective


def own_metrics(value: object, estimator: Any, *, classifier: bool) -> tuple[list[Any], list[Any]]:
    """``eval_metric`` as a list, and beside it each metric if it is one of ours, else None."""
    metrics = list(value) if isinstance(value, list | tuple | set) else [value]
    own = [own_metric("eval_metric", m, estimator, classifier=classifier) for m in metrics]
    return metrics, own


def own_metric(name: str, value: object, estimator: Any, *, classifier: bool) -> Any:
    """The metric if it is one of ours, rendered or not; raises if its input would be wrong."""
    _arguments.check_called(name, value)
    if isinstance(value, Objective):
        raise TypeError(f"{name} is an objective, {value!r}: write objective= of the estimator")
    metric = value.metric if isinstance(value, XGBoostMetric | LightGBMMetric) else value
    if not isinstance(metric, Metric):
        return None
    objective, of_margin = estimator.objective, metric.input_space != "probability"
    if callable(objective):
        _arguments.check_metric(metric, objective)
    elif classifier and of_margin and metric.link != "logit":
        raise ValueError(
            f"{name} {metric.name!r} takes {metric.input_space}s in label units, but classifiers "
            "predict probabilities or log-odds: use a regressor, and turn its scores into classes "
            "with apply_thresholds"
        )
    elif of_margin and metric.link == "logit" and objective != "binary:logitraw":
        raise ValueError(
            f"{name} {metric.name!r} takes log-odds, but under a built-in objective boosters pass "
            'predictions, such as probabilities: make it with input_space="probability", or pass '
            "an objective of gbdt_objectives"
        )
    return metric


def labels_weights(
    y: ArrayLike, sample_weight: ArrayLike | None, *, classifier: bool, class_weight: Any = None
) -> tuple[Array, Array | None]:
    """Labels, 0 and 1 for a classifier, and weights as the objective gets them."""
    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    weight = None if sample_weight is None else np.asarray(sample_weight)
    if class_weight is not None:
        from sklearn.utils.class_weight import compute_sample_weight

        by_class = compute_sample_weight(class_weight, target)
        weight = by_class if weight is None else weight * by_class
    if classifier:
        classes, position = np.unique(target, return_inverse=True)
        if len(classes) != 2:
            raise ValueError(
                f"y has {len(classes)} classes, {_checks.shown(classes.tolist())}, but the "
                "objective is for two: leave objective out, or merge classes"
            )
        target = position.reshape(target.shape)
    return target, weight


@contextmanager
def set_temporarily(estimator: Any, parameters: dict[str, Any]) -> Iterator[None]:
    """Set parameters while the library's own fit runs."""
    missing = object()
    before = {name: getattr(estimator, name, missing) for name in parameters}
    others = dict(getattr(estimator, "_other_params", {}))
    estimator.set_params(**parameters)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is missing:
                delattr(estimator, name)
            else:
                setattr(estimator, name, value)
        if hasattr(estimator, "_other_params"):
            estimator._other_params = others
