"""XGBoost's estimators, with objectives and metrics of this package."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import signature
from types import MethodType
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import xgboost as xgb

from gbdt_objectives import _checks, _workers
from gbdt_objectives._checks import Array
from gbdt_objectives._links import IDENTITY, LOGIT, Link
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._estimators import (
    check_held_out_sets,
    check_places,
    class_positions,
    copy_signature,
    find_classes,
    fit_to_margins,
    labels_weights,
    name_arguments,
    own_metrics,
    own_objective,
    read_arguments,
    refuse_built_in_metrics,
    refuse_default_metric,
    request_rows,
    set_temporarily,
)
from gbdt_objectives.adapters._start import StartedObjective, start_margin, start_of_rows
from gbdt_objectives.adapters.xgboost import parameters as table
from gbdt_objectives.adapters.xgboost._train import continues, name_link, start_at
from gbdt_objectives.adapters.xgboost.intercept import add_to_leaves
from gbdt_objectives.adapters.xgboost.stopping import (
    STOPPING,
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
    only (with an ``EarlyStopping`` of a class of your own, what its ``save_best`` says). Without
    either it is XGBoost's own estimator.

    Parameters
    ----------
    objective : str, callable or Objective
        An Objective must predict numbers: its link is "identity" or "log", whose models
        predict means, or is not declared. For probabilities use :class:`XGBClassifier`.
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

    An objective with the link "score", such as ``focal_objective(2)`` or
    ``ordinal_logit_objective(5)``, turns its margins into probabilities itself: as ``objective_``,
    fitted to the training rows. Labels are 0 to K-1, and a class that does not occur keeps its
    column. ``predict`` gives the most probable class, with ``output_margin=True`` the margins. A
    metric for early stopping is ``loss_metric(objective)``. ``save_model`` saves a regressor of
    margins, which ``xgboost.XGBClassifier`` refuses to load, and ``load_model`` here needs the
    fitted objective: ``XGBClassifier(objective=model.objective_).load_model(...)``.

    Parameters
    ----------
    objective : str, callable or Objective
        An Objective must have class probabilities; for label units use :class:`XGBRegressor`.
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

    @copy_signature(xgb.XGBClassifier.predict)
    def predict(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        p = _class_probability(self, super().predict, X, *args, **kwargs)
        if p is None:
            return super().predict(X, *args, **kwargs)
        return self.classes_[p.argmax(axis=1)]

    @copy_signature(xgb.XGBClassifier.predict_proba)
    def predict_proba(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        p = _class_probability(self, super().predict_proba, X, *args, **kwargs)
        return super().predict_proba(X, *args, **kwargs) if p is None else p

    @copy_signature(xgb.XGBClassifier.save_model)
    def save_model(self, fname: Any) -> None:
        save_classifier(self, super().save_model, fname)

    @copy_signature(xgb.XGBClassifier.load_model)
    def load_model(self, fname: Any) -> None:
        load_classifier(self, super().load_model, fname)


def save_classifier(estimator: Any, library_save: Callable[[Any], None], fname: Any) -> None:
    """Save what its predictions are: of scores XGBClassifier would make probabilities."""
    objective = getattr(estimator, "objective_", None)
    if not isinstance(objective, Objective) or not objective.link.is_of_objective:
        library_save(fname)
        return
    margins = xgb.XGBRegressor()
    margins._Booster = estimator.get_booster()
    margins.save_model(fname)


def load_classifier(estimator: Any, library_load: Callable[[Any], None], fname: Any) -> None:
    """Load what :func:`save_classifier` saved."""
    objective = estimator.objective
    estimator.__dict__.pop("objective_", None)
    if not isinstance(objective, Objective) or not objective.link.is_of_objective:
        try:
            library_load(fname)
        except TypeError as error:
            estimator.__dict__.pop("_Booster", None)
            name = type(estimator).__name__
            raise TypeError(
                f"{error}. If it was trained on an objective that turns scores into "
                "probabilities, only the objective can read them: write "
                f"{name}(objective=...).load_model(...) with the objective_ of the model "
                "that was saved"
            ) from error
        return
    margins = xgb.XGBRegressor()
    margins.load_model(fname)
    estimator._Booster = margins.get_booster()
    estimator.objective_ = objective
    estimator.n_classes_ = objective.n_classes


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


class Reading(NamedTuple):
    """What a fit is asked for."""

    objective: Objective | None
    metrics: list[Any]
    given: dict[str, Any]
    """The arguments of fit by name."""
    parameters: dict[str, Any]
    """What to set on the estimator while the library's own fit runs."""

    @property
    def is_ours(self) -> bool:
        """Whether an objective or a metric of this package is in it."""
        return self.objective is not None or "eval_metric" in self.parameters


def read_fit(
    estimator: Any, library_fit: Callable[..., Any], *args: Any, classifier: bool, **kwargs: Any
) -> Reading:
    """What the estimator and the arguments of its fit ask for, checked."""
    check_places(estimator, "eval_metric", "write eval_metric= of the estimator")
    objective = own_objective(estimator, classifier=classifier)
    metrics, own = own_metrics(estimator.eval_metric, estimator, classifier=classifier)
    metric = next((m for m in own if m is not None), None)
    if len(own) - own.count(None) > 1:
        raise ValueError(
            "eval_metric holds several metrics of gbdt_objectives: XGBoost takes one metric of "
            "gbdt_objectives beside its own; measure the others on the predictions"
        )
    args, kwargs = _by_keyword(library_fit, args, kwargs)
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
        found = {name: v for name, v in estimator.get_params().items() if name not in OWN}
        table.check(found, objective, stops_early=stops_early)
        if estimator.eval_metric is None and _stops_on_default(estimator):
            refuse_default_metric(objective, "XGBoost")
        if trained_link(objective, classifier=classifier).xgboost != objective.link.xgboost or (
            objective.link.is_of_objective
        ):
            refuse_built_in_metrics(metrics, objective, "XGBoost")
            parameters["disable_default_eval_metric"] = 1  # the default is one of predictions
    return Reading(objective, metrics, given, parameters)


def _by_keyword(
    fit: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What follows X and y by name: XGBoost takes it by position, too, and warns."""
    names = list(signature(fit).parameters)[2 : len(args)]
    if not names or len(args) > len(names) + 2 or kwargs.keys() & set(names):
        return args, kwargs
    warnings.warn(f"Pass `{', '.join(names)}` as keyword args.", FutureWarning, stacklevel=5)
    return args[:2], {**dict(zip(names, args[2:], strict=True)), **kwargs}


def run_fit(estimator: Any, library_fit: Callable[..., Any], reading: Reading) -> None:
    """The library's own fit, with the parameters set while it runs."""
    metrics = reading.metrics
    with set_temporarily(estimator, reading.parameters):
        try:
            library_fit(**reading.given)
        except xgb.core.XGBoostError as error:
            if "Unknown metric function" not in str(error) or len(metrics) == 1:
                raise
            raise ValueError(
                f"eval_metric holds {_checks.shown(metrics)}: this version of XGBoost does not "
                "know one of the names, or accepts no other metric beside one of gbdt_objectives"
            ) from error
    estimator.__dict__.pop("objective_", None)  # of an earlier fit


def _fit(estimator: Any, library_fit: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    classifier = isinstance(estimator, xgb.XGBClassifier)
    reading = read_fit(estimator, library_fit, *args, classifier=classifier, **kwargs)
    objective, _, given, parameters = reading
    if objective is not None:
        scores = trains_score(objective)
        own_margins = given.get("base_margin")
        with _workers.together(objective):
            if scores:
                _encode(given, find_classes(given["y"], objective, any_two=False))
                library_fit = MethodType(xgb.XGBModel.fit, estimator)
            y, w = labels_weights(
                given["y"], given.get("sample_weight"), classifier=classifier and not scores
            )
            named = trained_link(objective, classifier=classifier)
            started, start = _start(estimator, objective, given, y, w, named)
            _workers.agree()
        parameters |= {"objective": started, **start, **as_parameters(estimator, objective)}
    run_fit(estimator, library_fit, reading)
    if objective is None:
        return estimator
    if objective.outputs > 1 and own_margins is None and started.start is not None:
        intercepts = np.broadcast_to(start_margin(started.objective), objective.outputs)
        add_to_leaves(estimator.get_booster(), intercepts)
    name_link(estimator.get_booster(), objective.link)
    estimator.objective_ = started.objective  # for no margin to be read otherwise, whatever fails
    if scores:
        estimator.n_classes_ = objective.n_classes

    def margins() -> Any:
        """Of the training rows."""
        flags = {"output_margin": True, "base_margin": own_margins}
        return xgb.XGBModel.predict(estimator, given["X"], **flags)

    estimator.objective_ = fit_to_margins(started.objective, y, w, margins)
    return estimator


def trains_score(objective: object) -> TypeGuard[Objective]:
    """Whether it is the objective that turns its margins into the probabilities of classes."""
    return isinstance(objective, Objective) and objective.link.is_read_by_objective


def as_parameters(estimator: Any, objective: Objective) -> dict[str, Any]:
    """The parameters of an estimator that trains on the objective, whatever it starts at."""
    step = estimator.max_delta_step or 0  # an earlier model of counts has .7
    return {**_arguments.several_outputs(objective), "max_delta_step": step}


def trained_link(objective: Objective, *, classifier: bool) -> Link:
    """The link by whose name XGBoost's estimators train on an objective, whatever its own is."""
    return LOGIT if classifier and not trains_score(objective) else IDENTITY


def _encode(given: dict[str, Any], classes: Array) -> None:
    """Turn all labels into class positions."""
    given["y"] = class_positions("y", given["y"], classes)
    if "eval_set" in given:
        given["eval_set"] = [
            (X, class_positions(f"y of eval_set[{k}]", y, classes))
            for k, (X, y) in enumerate(given["eval_set"])
        ]


def _class_probability(
    estimator: Any, predict: Callable[..., Any], *args: Any, **kwargs: Any
) -> Array | None:
    """The probabilities that the objective finds in its scores; None if XGBoost finds them itself,
    or if its ``predict`` is asked for margins."""
    objective = getattr(estimator, "objective_", None)
    if not trains_score(objective):
        return None
    given = name_arguments(predict, *args, **kwargs)
    if given.get("output_margin"):
        return None
    margin = xgb.XGBModel.predict(estimator, **{**given, "output_margin": True})
    p: Array = objective.class_probability(margin)
    return p


def _stops_on_default(estimator: Any) -> bool:
    """Whether it stops early and nobody said on which metric."""
    return estimator.early_stopping_rounds is not None or any(
        isinstance(callback, xgb.callback.EarlyStopping) and callback.metric_name is None
        for callback in estimator.callbacks or ()
    )


def _check_eval_set(eval_set: Any) -> None:
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in eval_set):
        raise ValueError("eval_set must be a list of pairs: write eval_set=[(X, y)]")


def _start(
    estimator: Any,
    objective: Objective,
    given: dict[str, Any],
    y: Array,
    w: Array | None,
    named: Link,
) -> tuple[StartedObjective, dict[str, Any]]:
    """The objective, and the parameters with which boosting starts where it should.

    Several outputs start at the intercept in each row, for all metrics to see it.
    """
    base_score, margins = estimator.base_score, given.get("base_margin")
    if continues({"base_score": base_score}, given, objective, named):
        return StartedObjective(objective, None), {}
    check_margins(given)
    started, parameters = start_at(objective, (y, w), margins, base_score, named)
    if started.shifts:
        measured = objective.measured(y, w)
        started = StartedObjective(measured, start_margin(measured))
        given["base_margin"] = start_of_rows(measured, len(y))
        given["base_margin_eval_set"] = [
            start_of_rows(measured, len(target)) for _, target in given.get("eval_set", ())
        ] or None
    return started, parameters


def check_margins(given: dict[str, Any]) -> None:
    """Raise if some rows of a fit have a base_margin and others none."""
    if given.get("eval_set"):
        others = given.get("base_margin_eval_set") or [None] * len(given["eval_set"])
        has = {f"eval_set[{k}]": m is not None for k, m in enumerate(others)}
        has_margin = given.get("base_margin") is not None
        _arguments.check_same_starts("base_margin", {"X": has_margin, **has})


def _direct_stopping(estimator: Any, exact: Exact, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters with which early stopping sees the metric in full precision."""
    metric, rounds = exact.metric, estimator.early_stopping_rounds
    callbacks = direct_callbacks(estimator.callbacks, metric)
    if rounds is not None:
        callbacks.append(early_stopping(metric, rounds))
    for callback in callbacks:
        if isinstance(callback, STOPPING):
            sets = given.get("eval_set", ())
            check_held_out_sets(sets, given, "validation", callback.data)
    callbacks = exact.with_callbacks(callbacks)
    return {"eval_metric": exact, "callbacks": callbacks, "early_stopping_rounds": None}
