"""What the drop-in estimators of both libraries have in common."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, getattr_static, signature
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets

from gbdt_objectives import _checks, _workers
from gbdt_objectives._checks import Array
from gbdt_objectives._library import MARGIN_FLAG, library_of
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.metrics import ClassMetric, Metric, __all__ as names_of_metrics
from gbdt_objectives.metrics.base import LightGBMMetric, XGBoostMetric
from gbdt_objectives.metrics.loss import LossMetric
from gbdt_objectives.objectives import Objective

Fit = TypeVar("Fit", bound=Callable[..., Any])
Estimator = TypeVar("Estimator", bound=Any)
METRICS = (Metric, XGBoostMetric, LightGBMMetric)

OTHERS = ("_other_params", "kwargs")
"""Where LightGBM's and XGBoost's estimators keep parameters that their signature does not name."""


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
                of_rows = getattr(estimator.objective, "whole", False)
                raise TypeError(
                    f"{fit.__name__}() has no argument {name!r}, only "
                    f"{', '.join(call.parameters)}: a parameter goes to the estimator, "
                    f"{type(estimator).__name__}({name}=...)"
                    + f"; values by row are named, objective(function, rows=[{name!r}])"
                    * of_rows
                )
    found = call.bind(*args, **kwargs).arguments
    for name, parameter in call.parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            found |= found.pop(name, {})
    return {name: v for name, v in found.items() if v is not None or name in ("X", "y")}


def whole_numbers(y: Any) -> Any:
    """Labels of dtype object as integers, where they are; any others as they are."""
    if getattr(getattr(y, "dtype", None), "kind", None) != "O":
        return y
    plain = np.array(np.asarray(y).tolist())
    return plain if plain.dtype.kind in "iu" else y


def read_arguments(
    objective: Objective | None, fit: Any, *args: Any, **kwargs: Any
) -> tuple[Objective | None, dict[str, Any]]:
    """The objective with what fit got for its rows, and the other arguments of fit by name."""
    objective, given = _read_rows(objective, fit, *args, **kwargs)
    if objective is not None:
        if given.get("y") is None:
            raise ValueError(
                f"This {type(fit.__self__).__name__} estimator requires y to be passed, but the "
                "target y is None."
            )
        given["y"] = whole_numbers(given["y"])
        if isinstance(given.get("eval_set"), list):
            given["eval_set"] = [
                (pair[0], whole_numbers(pair[1])) if len(pair) == 2 else pair
                for pair in given["eval_set"]
            ]
    return objective, given


def _read_rows(
    objective: Objective | None, fit: Any, *args: Any, **kwargs: Any
) -> tuple[Objective | None, dict[str, Any]]:
    """The same, as they are."""
    names = row_names(objective)
    if objective is None or not names:
        return objective, name_arguments(fit, *args, **kwargs)
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
    if not hasattr(kind, "set_fit_request"):  # scikit-learn 1.2 has no metadata routing
        return kind
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
    if not isinstance(objective, Objective) or not objective.whole:
        return ()
    return tuple(name for name, _ in objective.named)


def check_places(estimator: Any, metrics: str, where: str) -> None:
    """Raise for an objective, its part, or a metric under a parameter name that libraries ignore.

    ``metrics`` is the parameter that may hold metrics, and ``where`` what to write instead.
    """
    for name, value in estimator.get_params(deep=False).items():
        if name.startswith("objective__"):  # which the libraries ignore
            raise ValueError(
                f"{name} is no parameter, as objectives do not change: search over whole ones, "
                '{"objective": [focal_objective(1), focal_objective(2)]}'
            )
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, Objective) and name not in ("objective", metrics):
                raise TypeError(f"{name} is an objective, {one!r}: write objective=")
            if isinstance(one, METRICS) and name != metrics:
                raise TypeError(f"{name} is a metric, {one!r}: {where}")


def own_objective(estimator: Any, *, classifier: bool) -> Objective | None:
    """The estimator's objective if it is one of ours, which must suit a classifier or regressor."""
    objective, name = estimator.objective, type(estimator).__name__
    _checks.check_called("objective", objective)
    if not isinstance(objective, Objective):
        return None
    has_classes = objective.n_classes is not None
    if classifier and not objective.link.is_declared:
        raise TypeError(
            f"{name} cannot turn a margin of {objective!r} into a probability: declare its link, "
            'as objective(function, link="logit") for log-odds, or use '
            f"{name.replace('Classifier', 'Regressor')}, whose predictions are the margins"
        )
    if classifier and not has_classes:
        raise TypeError(
            f"objective={objective!r} trains {objective.link.margins}, not log-odds: use "
            f"{name.replace('Classifier', 'Regressor')}"
            + ", and turn its scores into classes with apply_thresholds"
            * objective.link.is_label_unit
        )
    library = library_of(estimator)
    if has_classes and not classifier and library is not None:
        raise TypeError(
            f"objective={objective!r} trains {objective.link.margins}: use "
            f"{name.replace('Regressor', 'Classifier')}, whose predict_proba gives probabilities, "
            f"and predict with {MARGIN_FLAG[library]}=True margins"
        )
    return objective


def own_metrics(value: object, estimator: Any, *, classifier: bool) -> tuple[list[Any], list[Any]]:
    """``eval_metric`` as a list, and beside it each metric if it is one of ours, else None."""
    metrics = list(value) if isinstance(value, list | tuple | set) else [value]
    own = [own_metric("eval_metric", m, estimator, classifier=classifier) for m in metrics]
    return metrics, own


def own_metric(name: str, value: object, estimator: Any, *, classifier: bool) -> Any:
    """The metric if it is one of ours, rendered or not; raises if its input would be wrong."""
    _checks.check_called(name, value)
    if isinstance(value, Objective):
        raise TypeError(f"{name} is an objective, {value!r}: write objective= of the estimator")
    metric = value.metric if isinstance(value, XGBoostMetric | LightGBMMetric) else value
    if not isinstance(metric, Metric):
        return None
    objective, of_margin = estimator.objective, metric.input_space != "probability"
    if callable(objective):
        _arguments.check_metric(metric, objective)
    elif of_margin and _of_objective(metric, classifier):
        raise ValueError(
            f"{name} {metric.name!r} takes margins, but under a built-in objective boosters pass "
            "predictions: for class probabilities use "
            'class_logloss_metric(input_space="probability"), for the loss of an objective pass '
            "objective= too"
        )
    elif classifier and of_margin and not _is_log_odds(metric):
        raise ValueError(
            f"{name} {metric.name!r} takes {metric.input_space}s in label units, but classifiers "
            "predict probabilities or log-odds: use a regressor, and turn its scores into classes "
            "with apply_thresholds"
        )
    elif of_margin and _is_log_odds(metric) and objective != "binary:logitraw":
        raise ValueError(
            f"{name} {metric.name!r} takes log-odds, but under a built-in objective boosters pass "
            'predictions, such as probabilities: make it with input_space="probability", or pass '
            "an objective of gbdt_objectives"
        )
    return metric


def _of_objective(metric: Metric, classifier: bool) -> bool:
    """Whether it takes margins that no built-in objective predicts."""
    if metric.link is None:
        return classifier and not isinstance(metric, ClassMetric)
    if _is_log_odds(metric):
        return isinstance(metric, LossMetric)
    return metric.link.is_of_objective or metric.link.is_transformed


def _is_log_odds(metric: Metric) -> bool:
    return metric.link is not None and metric.link.is_transformed and metric.link.n_classes == 2


def labels_weights(
    y: ArrayLike, sample_weight: ArrayLike | None, *, classifier: bool, class_weight: Any = None
) -> tuple[Array, Array | None]:
    """Labels, 0 and 1 for a classifier, and weights as the objective gets them."""
    target = one_column(y)
    weight = None if sample_weight is None else np.asarray(sample_weight)
    if class_weight is not None:
        from sklearn.utils.class_weight import compute_sample_weight

        by_class = compute_sample_weight(class_weight, target)
        weight = by_class if weight is None else weight * by_class
    if classifier:
        classes, position = np.unique(target, return_inverse=True)
        check_two_classes(classes)
        target = position.reshape(target.shape)
    return target, weight


def one_column(y: ArrayLike) -> Array:
    """Labels (n,) or (n, 1) as (n,)."""
    target = np.asarray(y)
    return target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target


def find_classes(y: ArrayLike, objective: Objective, *, any_two: bool) -> Array:
    """The classes of labels that a score is trained on, in the objective's order: 0 to K-1, or
    if there are two and they may be ``any_two``, those of y."""
    assert objective.n_classes is not None
    if objective.n_classes > 2 or not any_two:
        return np.arange(objective.n_classes)
    target = one_column(y)
    if target.dtype.kind == "f":
        _checks.finite("y", target)
    check_classification_targets(target)  # no fractions
    classes = np.unique(target)
    check_two_classes(classes)
    return classes


def class_positions(name: str, y: ArrayLike, classes: Array) -> Array:
    """The position of each label in ``classes``, (n,)."""
    target, K = one_column(y), len(classes)
    remedy = f"encode the classes, in their order, as 0 to {K - 1}"
    if (target.dtype.kind in "biuf") != (classes.dtype.kind in "biuf"):
        raise TypeError(
            f"{name} has dtype {target.dtype}, but the classes are "
            f"{_checks.shown(classes.tolist())}: {remedy}"
        )
    known = np.isin(target, classes)
    if not known.all():
        row = int(np.argmin(known))
        raise ValueError(
            f"{name} holds {_checks.shown(target[row])} at row {row}, but the classes are "
            f"{_checks.shown(classes.tolist())}: {remedy}, or leave such rows out"
        )
    return np.searchsorted(classes, target)


def check_held_out_sets(
    pairs: Sequence[Any], given: dict[str, Any], prefix: str, name: str | None = None
) -> None:
    """Raise or warn if the evaluation set (X, y) on which fit is to stop early is not held out."""

    def labels(k: int | None) -> Any:
        return given["y"] if k is None else pairs[k][1]

    sets = [(X, f"{prefix}_{k}") for k, (X, _) in enumerate(pairs)]
    _arguments.check_held_out(sets, given["X"], labels, name)


def fit_to_margins(
    objective: Objective, y: Array, w: Array | None, margins: Callable[[], Any]
) -> Objective:
    """The objective after training, with what it fits to the margins of the training rows."""
    if row_names(objective):
        return objective.without_rows()  # a model needs them no more
    if not objective.fits_margins:
        return objective  # nothing: no need to predict all rows
    final = margins()
    with _workers.together(objective):
        fitted = objective.fitted(y, final, w)
        _workers.agree()
    return fitted


def refuse_built_in_metrics(metrics: list[Any], objective: Objective, library: str) -> None:
    """Raise for a metric of the library, which would interpret margins as predictions."""
    names = [m for m in metrics if isinstance(m, str) and m.lower() != "none"]
    if names:
        raise ValueError(
            f"eval_metric {names[0]!r} is {library}'s own, which would interpret "
            f"{objective.link.margins} as predictions under a custom objective: "
            f"{objective.link.metric}, a metric of gbdt_objectives"
        )


def sounding_like(name: str) -> str:
    """What to write for the name of a metric that the library does not know."""
    ours = [fit for fit in names_of_metrics if fit.endswith("_metric")]
    sounds = {fit.removesuffix("_metric"): fit for fit in ours}
    sounds |= dict.fromkeys(("kappa", "quadratic_kappa", "quadratic_weighted_kappa"), "qwk_metric")
    sounds |= {"cohen_kappa": "qwk_metric", "cohen_kappa_score": "qwk_metric"}
    near = difflib.get_close_matches(name.lower(), sounds, 1, 0.75)
    if near:
        return f"pass {sounds[near[0]]}(...) of gbdt_objectives, not its name"
    return "correct the name, or pass a metric of gbdt_objectives"


def refuse_default_metric(objective: Objective, library: str) -> NoReturn:
    """Early stopping was asked for, but no metric was named."""
    raise ValueError(
        "early stopping needs a metric of the objective's scores, but eval_metric is missing: "
        f"{library} would stop on a default of its own, not on the loss of {objective!r}: pass "
        "eval_metric=loss_metric(objective), or the metric that you mean"
    )


def check_two_classes(classes: Array) -> None:
    if len(classes) != 2:
        raise ValueError(
            f"y has {len(classes)} classes, {_checks.shown(classes.tolist())}, but the "
            "objective is for two: leave objective out, or merge classes"
        )


@contextmanager
def set_temporarily(estimator: Any, parameters: dict[str, Any]) -> Iterator[None]:
    """Set parameters while the library's own fit runs."""
    before = dict(vars(estimator))
    for name in OTHERS:
        if name in before:
            before[name] = dict(before[name])
    estimator.set_params(**parameters)
    try:
        yield
    finally:
        for name in (*parameters, *OTHERS):
            if name in before:
                setattr(estimator, name, before[name])
            elif name in vars(estimator):
                delattr(estimator, name)
