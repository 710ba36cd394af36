"""What must hold before a booster trains on an objective or stops on a metric, said once.

A guard is a function of a value of ``asked.py``, which asks it where the facts that it needs are
known. It raises, or warns, with the remedy. A special guard stands before a general one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from gbdt_objectives._checks import asked
from gbdt_objectives._checks.arrays import are_equal, have_fractions, to_host
from gbdt_objectives._checks.asked import (
    SILENT,
    Member,
    Sampling,
    Scoring,
    Training,
    guard,
)
from gbdt_objectives._checks.users import check_takes, warn
from gbdt_objectives._checks.values import class_weights
from gbdt_objectives._links import CHANGED, IDENTITY, OPAQUE

_RANDOM = np.random.default_rng

ONE_WAY = 0.9  # |sum w g| / sum w |g| at the start; 20 % events have 0.6 at 0, which must not warn
REWEIGHTING = {
    "class_weight": "", "class_weights": "", "auto_class_weights": "", "priors": "",
    "class_prior": "", "fit_prior": "true 1", "sampling_strategy": "", "scale_pos_weight": "1 1.0",
    "is_unbalance": "false 0", "pos_bagging_fraction": "1 1.0", "neg_bagging_fraction": "1 1.0",
}  # fmt: skip
"""Parameters that weigh or draw the rows of classes; the values, besides None, that do not."""


def _reweighting(parameters: Iterable[tuple[str, str, Any]]) -> Iterator[str]:
    """Which of these weigh or draw the rows of classes, as they are written."""
    for written, name, value in parameters:
        neutral = f"none {REWEIGHTING[name]}".split() if name in REWEIGHTING else ()
        if neutral and str(value).lower() not in neutral:
            yield f"{written}={value!r}"


@guard(Training, "estimator_of", "role", "link")
def estimator_reads_margins(training: Training) -> None:
    """A library's own estimator must not misread what the objective trains."""
    library, link, name = training.estimator_of, training.link, training.name
    if link is None:
        return
    is_classifier, prefix = training.role == "Classifier", library.prefix
    home = f"gbdt_objectives.adapters.{library.name}"
    if link.is_label_unit:
        if not is_classifier or not link.is_declared:
            return
        raise TypeError(
            f"{name} trains a score in label units, which {prefix}Classifier would interpret as "
            f"log-odds: import {prefix}Regressor from {home}, and turn its scores into classes "
            "with apply_thresholds"
        )
    if not is_classifier and (link.n_classes or not link.is_transformed):
        return  # margins, as of any custom objective
    if is_classifier and link.is_transformed and link.n_classes in library.classifier_reads:
        return
    wrong = f"would return {link.margins} as predictions of"
    if is_classifier:
        wrong = library.classifier_misreads
    kind = "Classifier" if link.n_classes else "Regressor"
    theirs = f"{library.name}.{type(training.estimator).__name__}"
    raise TypeError(f"{theirs} {wrong} {name}: import {prefix}{kind} from {home}")


@guard(Training, "library", "link", "named_as", "transform")
def booster_predicts_by_link(training: Training) -> None:
    """A booster that is named for an objective of its library must not predict as that one."""
    library, link, transform = training.library, training.link, training.transform
    if library is None or link is None or transform is None:
        return
    if transform is OPAQUE:
        warn(
            f"whether a booster with {library.title}'s objective {training.named_as!r} predicts "
            "margins is not known here: leave objective out of the parameters"
        )
    if not transform.is_transformed or (transform is not CHANGED and link.reads(transform)):
        return
    kind = library.prefix + ("Classifier" if link.n_classes else "Regressor")
    then = ", and turn its scores into classes with apply_thresholds" if link.is_label_unit else ""
    raise TypeError(
        f"{training.name} trains {link.margins}, which a booster with the objective "
        f"{training.named_as!r} would take for {transform.margins} when it predicts: import {kind} "
        f"from gbdt_objectives.adapters.{library.name}, or Dask{kind} from "
        f"gbdt_objectives.distributed.dask{then}, or leave objective out of the parameters"
    )


@guard(Training, "alone")
def sums_are_of_all_rows(training: Training) -> None:
    """On one worker of several, sums must be of all of them."""
    alone = training.alone
    if alone is not None:
        would = alone.cannot_stop_alone if training.metric else alone.cannot_train_alone
        raise ValueError(
            f"{training.name} is called in distributed {alone.title}, where each worker would see "
            f"the sums of its own rows only and {would}"
        )


@guard(Training, "library", "form")
def form_is_that_of_caller(training: Training) -> None:
    """A metric in the form of one library must not be called by another."""
    caller, form = training.library, training.form
    if caller is not None and caller is not form:
        raise TypeError(
            f"{training.name}.{form.name} is called by {caller.name}: pass the metric itself, or "
            f"{caller.rendering}"
        )


@guard(Training, "metric", "directions")
def stops_in_its_direction(training: Training) -> None:
    """XGBoost, which guesses the direction from a metric's name, must not keep the worst round."""
    up = training.metric.greater_is_better
    if any(maximizes != up for maximizes in training.directions):
        raise ValueError(
            f"XGBoost's early stopping would {'minimise' if up else 'maximise'} {training.name}: "
            f"pass maximize={up}, or leave it out, and the metric says it; or import "
            "XGBRegressor, XGBClassifier, train or cv from gbdt_objectives.adapters.xgboost"
        )


@guard(Training, "within")
def metric_sees_all_rows(training: Training) -> None:
    """A metric within a user's function would see one worker's rows, not those of all."""
    if training.within:
        raise ValueError(
            f"{training.name} is called on the rows of one worker of several: pass metric.xgboost "
            "itself for custom_metric= or eval_metric=, which sums over all workers"
        )


@guard(Scoring, "metric", "response")
def metric_reads_response(scoring: Scoring) -> None:
    """A scorer of scikit-learn must pass what the metric reads, and say its direction."""
    metric, response, model = scoring.metric, scoring.response, scoring.model
    asks, of_margins = metric.response_method, "decision_function"
    if response == "predict":  # of classes, or in natural units; a booster's regressor has margins
        ours = type(model).__module__.partition(".")[0] == "gbdt_objectives"
        misread = hasattr(model, "classes_") or (ours and asks == of_margins)
    else:  # the probability of one of two classes is a score in label units
        misread = asks != "predict" or (response == of_margins and metric.link is not None)
    if misread and response != asks:
        reads = "probabilities" if metric.input_space == "probability" else metric.link.margins
        remedy = f'pass response_method="{asks}" to make_scorer'
        if asks == of_margins:
            remedy = (
                'make it with input_space="probability", and pass response_method="predict_proba"; '
                f"if it has no input_space, let {of_margins}, or a function of (model, X, y) as "
                "scoring=, give it margins"
            )
        raise ValueError(
            f"{metric.name} takes {reads}, but the scorer passes what {response} of "
            f"{type(model).__name__} gives: {remedy}"
        )
    if scoring.maximizes != metric.greater_is_better:
        warn(
            f"the scorer prefers a {'lower' if metric.greater_is_better else 'higher'} "
            f"{metric.name}: pass greater_is_better={metric.greater_is_better} to make_scorer"
        )


@guard(Training, "metric", "link", "predictions")
def metric_reads_predictions(training: Training) -> None:
    """A metric of margins must not be given the transformed predictions of a built-in objective."""
    link = training.link
    if training.predictions is None or training.metric.input_space == "probability":
        return
    if link is not None and not link.is_label_unit:
        raise ValueError(
            f"{training.name} takes {link.margins}, but under its built-in objective the booster "
            'passes predictions: make it with input_space="probability" if it has that, or train '
            "on an objective of gbdt_objectives"
        )


@guard(Training, "start")
def starts_near_intercept(training: Training) -> None:
    """Boosting must not start far from the best constant."""
    start, far = training.start, ""
    best = None if training.intercept is asked.UNKNOWN else training.intercept
    if training.tolerance not in (None, asked.UNKNOWN) and best is not None:
        if abs(start - best) > training.tolerance:
            far = f"the labels' centre {best:g}, where this objective can fail to learn"
    elif training.pull and training.pull >= ONE_WAY:
        constant = "any good constant" if best is None else f"the best constant, {best:.4g}"
        far = f"{constant}: the first rounds do little but move all predictions"
    if not far:
        return
    message = f"boosting starts at {start:g}, far from {far}: {_start_remedy(training, best)}"
    if training.engine in SILENT and not training.start_told and not training.start_by:
        raise ValueError(message)
    warn(message)


def _start_remedy(training: Training, best: float | None) -> str:
    """How to start at the best constant."""
    library, by = training.library or None, training.start_by
    if by == "intercept":
        return f"give intercept= as {training.link.margins}, or leave it out"
    if by:
        return f"leave {by} out, and training starts at the best constant"
    if training.function:
        return "pass objective=gbdt_objectives.objective(function, link=...), which starts there"
    home = "adapters.xgboost or .lightgbm" if library is None else f"adapters.{library.name}"
    home = {"Dask": "distributed.dask", "Spark": "distributed.spark"}.get(training.engine, home)
    remedy = (
        f"import train, cv or the estimator from gbdt_objectives.{home}, which start there and "
        "keep the intercept in the model"
    )
    if best is not None and (library is None or library.takes_start):
        value = float(training.transform.inverse(np.array(best))) if training.transform else best
        remedy = f"pass base_score={value:.6g}{' to XGBoost' * (library is None)}, or {remedy}"
    if library is None or not library.takes_start:
        remedy += "; LightGBM's init_score would be missing from the predictions"
    if any((training.sets_with_start or {}).values()):  # else base_score has no effect
        remedy = f"leave {training.row_start} out, and {remedy}"
    return remedy


def _refuse(training: Training, name: str, message: str) -> None:
    """Raise for a metric that misreads; warn where it is known that nothing stops on it."""
    if training.watched is asked.UNKNOWN or name in training.watched:
        raise ValueError(message)
    warn(message)


@guard(Training, "metric", "objective")
def metric_reads_link(training: Training) -> None:
    """A metric must read the margins that the objective trains, as margins."""
    metric, objective = training.metric, training.objective
    if metric is None or objective is None:
        return
    name, link, reads = f"metric {metric.name!r}", objective.link, metric.link
    fits = reads is None or reads.reads(link)
    if metric.input_space == "probability":
        fitting = link.metric
        if fits and reads is not None and not link.is_of_objective:
            fitting = 'make it with input_space="margin"'
        passed = "boosters pass margins under a custom objective"
        _refuse(training, metric.name, f"{name} takes probabilities, but {passed}: {fitting}")
    elif not fits:
        takes = f"{name} takes {reads.margins}, but {objective!r} trains"
        _refuse(training, metric.name, f"{takes} {link.margins}: {link.metric}")
    own = getattr(metric, "objective", objective) if link.is_of_objective else objective
    if type(own.equations) is not type(objective.equations):
        wrong = f"is that of {own!r}, which would misread the margins of"
        raise ValueError(f"{name} {wrong} {objective!r}: {link.metric}")


@guard(Training, "metric", "role", "built_in")
def metric_reads_built_in(training: Training) -> None:
    """A metric must read the predictions of an estimator's built-in objective."""
    metric, is_classifier = training.metric, training.role == "Classifier"
    if metric is None or metric.input_space == "probability":
        return
    link = metric.link
    log_odds = link is not None and link.is_transformed and link.n_classes == 2
    of_objective = hasattr(metric, "objective")
    if link is None:
        only_ours = is_classifier and metric.exact_method is None
    else:
        only_ours = of_objective if log_odds else link.is_of_objective or link.is_transformed
    if only_ours:
        raise ValueError(
            f"eval_metric {metric.name!r} takes margins, but under a built-in objective boosters "
            "pass predictions: for class probabilities use "
            'class_logloss_metric(input_space="probability"), for the loss of an objective pass '
            "objective= too"
        )
    if is_classifier and not log_odds:
        raise ValueError(
            f"eval_metric {metric.name!r} takes {metric.input_space}s in label units, but "
            "classifiers predict probabilities or log-odds: use a regressor, and turn its scores "
            "into classes with apply_thresholds"
        )
    if log_odds and training.built_in != "binary:logitraw":
        raise ValueError(
            f"eval_metric {metric.name!r} takes log-odds, but under a built-in objective boosters "
            'pass predictions, such as probabilities: make it with input_space="probability", or '
            "pass an objective of gbdt_objectives"
        )


@guard(Training, "others", "objective", "library", "predicts_by")
def own_metrics_read_margins(training: Training) -> None:
    """A metric of the library's own would misread margins, or what it makes of them."""
    names = [m for m in training.others if isinstance(m, str) and m.lower() != "none"]
    names += [m for m in training.unnamed or () if m in training.watched]
    orders = training.orders or ()
    names = [m for m in names if m not in orders and m.partition("@")[0] not in orders]
    if not names:
        return
    link = IDENTITY if training.objective is None else training.objective.link
    if training.readers and link.reads(training.predicts_by):
        names = [m for m in names if m.partition("@")[0] not in training.readers]
    elif not link.is_of_objective and (not link.is_transformed or link.reads(training.predicts_by)):
        return
    for name in names:
        remedy = f"{link.metric}, a metric of gbdt_objectives"
        if name in (training.unnamed or ()):
            alone = set(training.watched) <= {*training.unnamed}
            remedy = f"{remedy}, and " * alone + f"pass {training.library.no_default}"
        _refuse(
            training, name,
            f"eval_metric {name!r} is {training.library.title}'s own, which would misread "
            f"{link.margins} under a custom objective: {remedy}",
        )  # fmt: skip


@guard(Training, "ignored", "library")
def metrics_are_known(training: Training) -> None:
    """A name of a metric must not be left out without a word."""
    for name, remedy in training.ignored.items():
        raise ValueError(
            f"eval_metric {name!r} is not a metric of {training.library.title}, which would ignore "
            f"it and measure its default alone: {remedy}"
        )


@guard(Training, "metric", "unnamed", "watched", "library")
def stops_on_ours_alone(training: Training) -> None:
    """A metric that nobody has named must not stop a training beside one of ours."""
    for name in training.unnamed:
        if training.metric is not None and name in training.watched:
            warn(
                f"early stopping looks at {name!r} too, {training.library.title}'s default, and "
                f"ends where either of them stops improving: pass {training.library.no_default}"
            )


@guard(Training, "objective", "parameters", "library")
def class_weights_are_heeded(training: Training) -> None:
    """Parameters that weigh or draw the rows of classes do nothing beside a function."""
    for written in _reweighting(training.parameters):
        raise ValueError(
            f"{written} does nothing under a custom objective: leave it out; rows are weighed by "
            "weight= of the data, or sample_weight= of fit, and drawn before training, by "
            "negative_downsample(y, rate)"
        )


@guard(Training, "others", "objective", "labels", unless=("unnamed",))  # of a plain call, asked now
def functions_read_margins(training: Training) -> None:
    """A user's function, unless it looks at their order alone, must not be given margins."""
    link = IDENTITY if training.objective is None else training.objective.link
    if not (link.is_transformed or link.is_of_objective):
        return
    margin = _RANDOM(0).normal(size=(1000, training.objective.outputs)).squeeze()
    for name, first, second in _answers(
        training.others, training.labels, lambda y: (margin, link.inverse(margin))
    ):
        if link.is_of_objective or first != second:
            raise ValueError(
                f"eval_metric {name} is a function, which would get margins, {link.margins}, "
                f"instead of predictions under a custom objective: {link.metric}, a metric of "
                "gbdt_objectives"
            )


@guard(Training, "last", "guesses", "objective", "labels")
def function_stops_in_its_direction(training: Training) -> None:
    """XGBoost must not keep the worst round by a user's function, which is best at the labels."""
    for name, best, other in _answers(
        [training.last], training.labels, lambda y: (y, _RANDOM(1).permutation(y))
    ):
        right = all(best > other if up else best < other for up in training.guesses)
        unknown = not (best > other or best < other)  # K predictions of the library's own?
        if not right and (training.objective is not None or not unknown):
            raise ValueError(
                f"XGBoost's early stopping would {'max' if training.guesses[0] else 'min'}imise "
                f"{name}, a function, which does not say its direction: {_say_direction('...')}"
            )


def _say_direction(up: object) -> str:
    return (
        "pass a Metric, such as qwk_metric(), or say it, callbacks=[xgboost.callback.EarlyStopping("
        f"rounds=..., maximize={up})], instead of early_stopping_rounds="
    )


@guard(Training, "last", "guesses", "greater_is_better", "returns")
def values_stop_in_their_direction(training: Training) -> None:
    """XGBoost must not keep the worst round by the values that a user's function returned."""
    up, of = training.greater_is_better, training.returns
    if all(guess == up for guess in training.guesses):
        return
    why = f"returns {of}: " if of else (
        "was best in the first round, though the objective's loss fell on the same rows: if its "
        f"{'greater' if up else 'smaller'} values are better, "
    )  # fmt: skip
    message = (
        f"XGBoost's early stopping would {'min' if up else 'max'}imise {training.last!r}, a "
        f"function that {why}{_say_direction(up)}, or maximize={up} to train and cv"
    )
    if of:
        raise ValueError(message)
    warn(message)


def _answers(
    functions: Iterable[Any], labels: Callable[[int | None], Any], both: Any
) -> Iterator[tuple[str, Any, Any]]:
    """Names of users' metrics, and what they say of two predictions for up to 1,000 labels."""
    for function in functions:
        if not callable(function) or hasattr(function, "greater_is_better"):  # a metric of ours
            continue
        found: list[Any] = [np.nan, np.nan]  # if it cannot be asked: its own call says why
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = labels(None)
            y = y.compute() if hasattr(y, "__dask_graph__") else y
            known, at = np.unique(np.ravel(to_host(y)), return_inverse=True)
            y = _RANDOM(0).permutation(at if known.dtype.kind in "OU" else known[at])[:1000]
            found = [function(y, prediction[: len(y)]) for prediction in both(y)]
        yield repr(getattr(function, "__name__", function)), *found


@guard(Training, "function", "weighted")
def function_takes_labels_weights(training: Training) -> None:
    """A user's own gradient function must take labels first, and the weights, which no library
    applies."""
    own = training.function
    if own is None:
        return
    check_takes("the function of objective=", own, "y_true, y_pred")
    if training.weighted and callable(own) and len(signature(own).parameters) == 2:
        raise ValueError(
            f"rows have weights, but the function of objective={own!r} takes none, and they would "
            "not count: write it as f(y_true, y_pred, sample_weight), and multiply gradient and "
            "hessian by the weights"
        )


@guard(Training, "objective", "estimator", "role", "labels", unless=("estimator_of",))
def objective_fits_estimator(training: Training) -> None:
    """A classifier must get an objective of classes, and a regressor one of numbers, which soft
    labels of two classes are."""
    objective, library = training.objective, training.library
    if objective is None:
        return
    link, name = objective.link, type(training.estimator).__name__
    is_classifier = training.role == "Classifier"
    regressor = name.replace("Classifier", "Regressor")
    if is_classifier and not link.is_declared:
        raise TypeError(
            f"{name} cannot turn a margin of {objective!r} into a probability: declare its link, "
            f'as objective(function, link="logit") for log-odds, or use {regressor}, whose '
            "predictions are the margins"
        )
    if is_classifier and objective.n_classes is None:
        raise TypeError(
            f"objective={objective!r} trains {link.margins}, not log-odds: use {regressor}"
            + ", and turn its scores into classes with apply_thresholds" * link.is_label_unit
        )
    if objective.n_classes is not None and not is_classifier and library is not None:
        kind = name.replace("Regressor", "Classifier")
        remedy = f"use {kind}, whose predict_proba gives probabilities"
        remedy += f", and predict with {library.asks_margins} margins" * bool(library.asks_margins)
        if have_fractions(training.labels(None)):
            if library.margin_flag and link == "logit":
                return  # predictions are probabilities
            remedy = (
                "labels between 0 and 1 are for weighted_logloss_objective(1), in XGBRegressor and "
                "LGBMRegressor"
            )
        raise TypeError(f"objective={objective!r} trains {link.margins}: {remedy}")


@guard(Training, "stops_on", "objective", "library")
def stops_on_a_metric_of_ours(training: Training) -> None:
    """Early stopping must look at a metric of the objective's scores that is given."""
    if training.stops_on is None and training.library is not None:
        raise ValueError(
            "early stopping needs a metric of the objective's scores, but eval_metric is missing: "
            f"{training.library.title} would stop on a default of its own, not on the loss of "
            f"{training.objective!r}: pass eval_metric=loss_metric(objective), or the metric that "
            "you mean"
        )


@guard(Training, "sets", "data", "looks_at")
def stops_on_held_out(training: Training) -> None:
    """Early stopping must look at rows that the model is not trained on."""
    evals, labels = training.sets, training.labels
    for name in training.looks_at:
        seen = [k for k, (_, its_name) in enumerate(evals) if name in (None, its_name)]
        if not seen:
            raise ValueError(
                f"early stopping is to look at {name!r}, but the evaluation sets are "
                f"{', '.join(repr(its_name) for _, its_name in evals)}: give one of these names"
                if evals
                else "early stopping needs held-out rows: pass them in evals= of train or "
                "eval_set= of fit, or leave early stopping out"
            )
        dataset, its_name = evals[seen[-1]]
        if dataset is training.data:
            raise ValueError(
                f"early stopping looks at {its_name!r}, which is the training data: put held-out "
                "data last"
            )
        if labels and are_equal(labels(seen[-1]), labels(None)):
            warn(
                f"early stopping looks at {its_name!r}, which has as many rows as the training "
                "data, and the same labels: if they are the same rows, it stops too late; pass "
                "held-out rows"
            )


@guard(Training, "row_start", "sets_with_start")
def rows_start_alike(training: Training) -> None:
    """A start of each row must be set on all data sets or on none."""
    given = [name for name, has in training.sets_with_start.items() if has]
    missing = [name for name, has in training.sets_with_start.items() if not has]
    if given and missing:
        raise ValueError(
            f"{training.row_start} is set on {', '.join(given)} but not on {', '.join(missing)}: "
            "set it on all or on none, for all to start at the same place"
        )


@guard(Training, "library", "row_start", "start_ends")
def row_start_is_added(training: Training) -> None:
    """A start of rows must be in the model, or be known to be added to its predictions."""
    library, name, (least, most) = training.library, training.row_start, training.start_ends
    differs = least != most
    if library is None or (library.takes_start and not differs):
        return
    is_known = library.adds_start and differs and training.estimator is asked.UNKNOWN
    if not (library.takes_start or is_known):
        raise ValueError(
            f"{name} is given, but it would be missing from the predictions: leave it out, "
            "boosting starts at the objective's intercept, which stays in the model"
            + f"; for a start that differs by row use gbdt_objectives.adapters.{library.name}.train"
            * bool(library.adds_start)
        )
    warn(
        f"{name} differs by row, so that the model cannot hold it, and its predictions leave it "
        f"out: {library.adds_start}"
    )


@guard(Training, "objective", "library", "lost_start", "row_start")
def start_stays_in_the_model(training: Training) -> None:
    """A start that is the same in all rows must be in the model."""
    start, library, by_score = np.asarray(training.lost_start), training.library, ""
    if training.objective.link.takes_several and np.ptp(start) == 0:
        return  # no probability depends on it
    if library.takes_start and not start.ndim:
        said = float(training.transform.inverse(start) if training.transform else start)
        given = {name: value for _, name, value in training.parameters or ()}
        with suppress(TypeError, ValueError):  # of a form that is not known here
            if np.allclose(np.asarray(given.get("base_score"), float), said):
                return
        by_score = f"leave it out and pass base_score={said:.6g}, or "
    warn(
        f"{training.row_start} is {', '.join(f'{one:.6g}' for one in start.flat)} in all rows, and "
        f"the model does not hold it, so that predict leaves it out: {by_score}import train or the "
        f"estimator from gbdt_objectives.adapters.{library.name}, and leave it out: boosting then "
        "starts at the best constant, which stays in the model"
    )


@guard(Training, "earlier", "link")
def earlier_margins_are_read(training: Training) -> None:
    """Margins of an earlier model must be its predictions', of the same meaning."""
    earlier, link = training.earlier, training.link
    name, came = earlier.argument, earlier.link
    if earlier.averages:
        raise ValueError(
            f"{name} is a forest, boosting='rf', which predicts the mean of its trees, but its "
            "margins are their sum: train it with boosting='gbdt', 'dart' or 'goss'"
        )
    if came is None or link is None or link.reads(came):
        return
    if came.is_transformed or not link.is_read_by_objective:  # else its name says nothing of it
        warn(
            f"{name} has margins that are {came.margins}, from which training goes on as if they "
            f"were {link.margins}: train on with a model of the same link"
        )


@guard(Training, "earlier", "objective")
def earlier_model_fits(training: Training) -> None:
    """An earlier model must have the objective's outputs."""
    earlier, objective = training.earlier, training.objective
    if objective is not None and earlier.outputs != objective.outputs:
        raise ValueError(
            f"{earlier.argument} has {earlier.outputs} outputs, but {objective!r} has "
            f"{objective.outputs}: train on with a model of the same objective"
        )


@guard(Training, "loss", "rows")
def rate_is_of_the_frequent_class(training: Training) -> None:
    """The rate of an objective must thin the frequent class, label 0, and weights not undo it."""
    rows, loss = training.rows, training.loss
    if loss.keep_rate is None or not len(rows):
        return
    if rows.w is not None:
        Sampling(weights=to_host(rows.w), positive=to_host(rows.y) == 1, rate=loss.keep_rate(rows))
    if loss.intercept is None and training.library:  # a plain call, which does not measure it
        with suppress(ValueError):  # of one class only
            loss.measured(replace(rows, f=None))  # asks of which class the rate is


@guard(Member, "parameters", "weighing")
def classes_count_alike(member: Member) -> None:
    """A wrapped estimator must not weigh classes where that is ignored, undone or not corrected."""
    for written in _reweighting(member.parameters):
        raise ValueError(f"{member.name} has {written}, {member.weighing}")


@guard(Member, "parameters", "classes", unless=("library",))
def class_weight_has_positions(member: Member) -> None:
    """Weights of labels must not be read as weights of the positions that an estimator gets."""
    classes = list(member.classes)
    for written, name, value in member.parameters:
        names_labels = name == "class_weight" and isinstance(value, Mapping)
        if names_labels and classes != [*range(len(classes))] and set(value) <= set(classes):
            raise ValueError(
                f"{member.name} has {written}={value!r}, which names labels, but it is trained on "
                f"their positions: write {class_weights(written, value, classes)!r}"
            )


@guard(Member, "parameters", "library", "target_ends")
def own_takes_labels(member: Member) -> None:
    """A library's own objective must take the least and the greatest label that it gets."""
    (least, most), takes = member.target_ends, getattr(member.library, "takes", {})
    for written, name, value in member.parameters:
        low, high = takes.get(str(value) if name == "objective" else "", (least, most))
        if least < low or most > high:
            numbers = "from 0 to 1" if high == 1 else "above 0"
            raise ValueError(
                f"{member.name} has {written}={value!r}, which takes labels {numbers}, but learns "
                f"{least:g} to {most:g}: leave it out, or pass target=, numbers {numbers}, to fit"
            )


@guard(Member, "parameters", "classes", "of_positions")
def is_made_for_positions(member: Member) -> None:
    """What was made for labels, in their unit, must not be given positions."""
    if not member.of_positions:
        return
    top = len(member.classes) - 1
    moved = list(member.classes) != list(range(top + 1))
    for written, name, value in member.parameters:
        if name not in ("objective", "metric", "eval_metric"):
            continue
        made = getattr(value, "metric", value)
        wrong = getattr(made, "label_range", None) not in (None, (0, top))
        if wrong or (moved and name != "objective" and any(
            getattr(made, unit, None) is not None for unit in ("mean", "variance", "thresholds")
        )):  # fmt: skip
            raise ValueError(
                f"{member.name} trains on class positions 0 to {top}, but {written} is made for "
                f"labels, {made!r}: make it without them, such as qwk_objective() or qwk_metric(); "
                "mean and variance are of positions, too"
            )


@guard(Member, "parameters", "classes", "of_positions")
def function_answers_positions(member: Member) -> None:
    """A user's function must say of positions what it says of labels that start elsewhere."""
    if not member.of_positions:
        return
    first = member.classes[0]
    for written, name, own in member.parameters:
        if name != "objective" or not callable(own) or hasattr(own, "link") or first == 0:
            continue
        y, f = _RANDOM(0).integers(len(member.classes), size=99) * 1.0, _RANDOM(1).normal(1, 1, 99)
        same = True  # if it cannot be asked: its own call will say what is wrong
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = [np.ones(99)] * (len(signature(own).parameters) - 2)
            same = np.allclose(own(y, f, *w), own(y + first, f + first, *w))
        if not same:
            warn(
                f"{member.name} has a function as {written}, whose answer depends on where labels "
                f"start, and gets their positions from 0, not {member.classes}: write it for "
                "these, or pass target=, the numbers that it is for, to fit; kappa itself is "
                "QWKClassifier(..., objective='qwk')"
            )
