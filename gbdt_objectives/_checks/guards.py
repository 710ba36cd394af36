"""What must hold before a booster trains on an objective or stops on a metric, said once.

A guard is a function of :class:`Facts`, which each door, a way in which an objective or a metric
reaches a booster, fills in as far as it knows them. It raises, or warns, with the remedy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np

from gbdt_objectives._checks.arrays import shown, to_host
from gbdt_objectives._checks.tables import are_turned, check_rows, plain_names
from gbdt_objectives._checks.users import check_takes, warn
from gbdt_objectives._checks.values import class_weights
from gbdt_objectives._links import CHANGED, IDENTITY, OPAQUE, Link
from gbdt_objectives._registry import Named

_RANDOM = np.random.default_rng

ONE_WAY = 0.9  # |sum w g| / sum w |g| at the start, from which on only all margins together move
SILENT = ("Spark", "Ray")  # engines on whose workers a warning ends in a log that nobody reads
SAYS_NO = {"no", "n", "false", "neg", "negative", "0", "-1"}  # words of a class that is no event
REWEIGHTING = {
    "class_weight": None, "class_weights": None, "auto_class_weights": None, "priors": None,
    "class_prior": None, "fit_prior": True, "sampling_strategy": None, "scale_pos_weight": 1,
    "is_unbalance": False, "pos_bagging_fraction": 1, "neg_bagging_fraction": 1,
}  # fmt: skip
"""Parameters that weigh or draw the rows of classes; the value, besides None, that does not."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Facts:
    """Facts of one call; None, or nothing, is what its door does not know."""

    name: str = ""  # of the objective or metric that is asked about, in messages
    objective: Any = None  # what is trained on
    link: Link | None = None  # what a margin means to the objective or metric
    intercept: float | None = None  # where boosting should start
    tolerance: float | None = None  # how far from there it may
    start: float | None = None  # where it does
    pull: float | None = None  # |sum w g| / sum w |g| there, of several outputs added up
    given: str = ""  # the argument of our train that says so
    told: bool = False  # whether the user said so
    engine: str = ""  # on whose worker
    library: Named | None = None  # which trains or calls
    own: Any = None  # the library's own objective, by whose name its models predict
    transform: Link | None = None  # what models of that objective make of a margin
    estimator: object = None  # which trains
    estimator_of: Named | None = None  # whose own estimator this is
    role: str | None = None  # Regressor or Classifier
    metric: Any = None  # what is measured, and what early stopping looks at
    others: tuple[Any, ...] = ()  # what else is measured: names, functions
    predictions: Link | None = None  # by which the library made what the metric gets of margins
    form: Named | None = None  # in whose form the metric is to answer
    directions: tuple[bool, ...] = ()  # whether each early stopping on the metric maximises
    response: str = ""  # the method of the estimator by which a scorer made what the metric gets
    within: bool = False  # whether a library stands above, with a user's function between
    row_start: str = ""  # the argument that starts each row
    ends: tuple[float, float] = (-np.inf, np.inf)  # the least and the greatest of these starts
    has_start: Mapping[str, bool] = field(default_factory=dict)  # which data sets have one
    earlier: str = ""  # the argument that is an earlier model
    outputs: int = 1  # of that model
    averages: bool = False  # whether it is a forest, which predicts the mean of its trees
    came: Link | None = None  # what its margins are
    columns: tuple[Sequence[Any] | None, ...] = ((), ())  # those trained on, and those given
    columns_of: tuple[str, str] = ("the model", "X")  # what has these
    categories: tuple[Sequence[Any], Mapping[Any, Any]] = ((), {})  # its, and those of X by name
    rows: Mapping[str, Any] = field(default_factory=dict)  # columns of the same rows
    rows_in: str = ""  # what has them, for messages
    data: Any = None  # the training rows
    evaluated: Sequence[tuple[Any, str]] = ()  # evaluation sets and their names
    labels: Callable[[int | None], Any] | None = None  # of such a set, or of the training rows
    looks_at: str | None = None  # the name of the set on which training stops; None: the last
    weighted: bool = False  # whether rows have weights
    alone: Named | None = None  # whose rows are one worker's of several, which nothing adds up
    classes: Sequence[Any] = (0, 1)  # of a model, in its order
    thinned: Any = None  # the class some of whose rows a rate drops, which nobody named
    rows_of: tuple[float, float] = (np.inf, 0.0)  # how many rows it and the others had
    kept: float = np.inf  # how many of its rows are left
    to_name: str = ""  # how to name the class
    parameters: Sequence[tuple[str, str, Any]] = ()
    """(as it is written, its main name, value) of an estimator that is wrapped, and of its parts"""
    why: str = ""  # what weights of classes there would do, and the remedy


def estimator_reads_margins(facts: Facts) -> None:
    """A library's own estimator must not misread what the objective trains."""
    library, link, is_classifier = facts.estimator_of, facts.link, facts.role == "Classifier"
    if library is None or link is None:
        return
    name, prefix = facts.name, library.prefix
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
    theirs = f"{library.name}.{type(facts.estimator).__name__}"
    raise TypeError(f"{theirs} {wrong} {name}: import {prefix}{kind} from {home}")


def booster_predicts_by_link(facts: Facts) -> None:
    """A booster that is named for an objective of its library must not predict as that one."""
    library, link, transform = facts.library, facts.link, facts.transform
    if library is None or link is None or transform is None:
        return
    if transform is OPAQUE:
        warn(
            f"whether a booster with {library.title}'s objective {facts.own!r} predicts margins is "
            "not known here: leave objective out of the parameters"
        )
    if not transform.is_transformed or (transform is not CHANGED and link.reads(transform)):
        return
    kind = library.prefix + ("Classifier" if link.n_classes else "Regressor")
    then = ", and turn its scores into classes with apply_thresholds" if link.is_label_unit else ""
    raise TypeError(
        f"{facts.name} trains {link.margins}, which a booster with the objective {facts.own!r} "
        f"would take for {transform.margins} when it predicts: import {kind} from "
        f"gbdt_objectives.adapters.{library.name}, or Dask{kind} from "
        f"gbdt_objectives.distributed.dask{then}, or leave objective out of the parameters"
    )


def sums_are_of_all_rows(facts: Facts) -> None:
    """On one worker of several, sums must be of all of them."""
    alone = facts.alone
    if alone is not None:
        would = alone.cannot_train_alone if facts.metric is None else alone.cannot_stop_alone
        raise ValueError(
            f"{facts.name} is called in distributed {alone.title}, where each worker would see the "
            f"sums of its own rows only and {would}"
        )


def form_is_that_of_caller(facts: Facts) -> None:
    """A metric in the form of one library must not be called by another."""
    caller, form = facts.library, facts.form
    if caller is not None and form is not None and caller is not form:
        raise TypeError(
            f"{facts.name}.{form.name} is called by {caller.name}: pass the metric itself, or "
            f"{caller.rendering}"
        )


def stops_in_its_direction(facts: Facts) -> None:
    """XGBoost's early stopping must not keep a metric's worst round instead of its best."""
    up = facts.metric.greater_is_better
    if any(maximizes != up for maximizes in facts.directions):
        raise ValueError(
            f"XGBoost's early stopping would {'minimise' if up else 'maximise'} {facts.name}: pass "
            f"maximize={up}, or leave it out, and the metric says it; or import XGBRegressor, "
            "XGBClassifier, train or cv from gbdt_objectives.adapters.xgboost"
        )


def metric_sees_all_rows(facts: Facts) -> None:
    """A metric within a user's function would see one worker's rows, not those of all."""
    if facts.within:
        raise ValueError(
            f"{facts.name} is called on the rows of one worker of several: pass metric.xgboost "
            "itself for custom_metric= or eval_metric=, which sums over all workers"
        )


def metric_reads_response(facts: Facts) -> None:
    """A scorer of scikit-learn must pass what the metric reads, and say its direction."""
    metric, response, model = facts.metric, facts.response, facts.estimator
    if not response:
        return
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
            f"{facts.name} takes {reads}, but the scorer passes what {response} of "
            f"{type(model).__name__} gives: {remedy}"
        )
    if facts.directions != (metric.greater_is_better,):
        warn(
            f"the scorer prefers a {'lower' if metric.greater_is_better else 'higher'} "
            f"{facts.name}: pass greater_is_better={metric.greater_is_better} to make_scorer"
        )


def metric_reads_predictions(facts: Facts) -> None:
    """A metric of margins must not be given the transformed predictions of a built-in objective."""
    link = facts.link
    if facts.predictions is None or facts.metric.input_space == "probability":
        return
    if link is not None and not link.is_label_unit:
        raise ValueError(
            f"{facts.name} takes {link.margins}, but under its built-in objective the booster "
            'passes predictions: make it with input_space="probability" if it has that, or train '
            "on an objective of gbdt_objectives"
        )


def starts_near_intercept(facts: Facts) -> None:
    """Boosting must not start far from the best constant."""
    start, best, far = facts.start, facts.intercept, ""
    if start is None:
        return
    if facts.tolerance is not None and best is not None:
        if abs(start - best) > facts.tolerance:
            far = f"the labels' centre {best:g}, where this objective can fail to learn"
    elif facts.pull is not None and facts.pull >= ONE_WAY:
        constant = "any good constant" if best is None else f"the best constant, {best:.4g}"
        far = f"{constant}: the first rounds do little but move all predictions"
    if not far:
        return
    message = f"boosting starts at {start:g}, far from {far}: {_start_remedy(facts)}"
    if facts.engine in SILENT and not facts.told and not facts.given:
        raise ValueError(message)
    warn(message)


def _start_remedy(facts: Facts) -> str:
    """How to start at the best constant."""
    best, library = facts.intercept, facts.library
    if facts.given:
        return f"leave {facts.given} out, and training starts at the best constant"
    if callable(facts.own):
        return "pass objective=gbdt_objectives.objective(function, link=...), which starts there"
    if facts.objective is not None:
        return f"give intercept= as {facts.objective.link.margins}, or leave it out"
    homes = {"Dask": "distributed.dask", "Spark": "distributed.spark"}
    home = "adapters.xgboost or .lightgbm" if library is None else f"adapters.{library.name}"
    remedy = (
        f"import train, cv or the estimator from gbdt_objectives.{homes.get(facts.engine, home)}, "
        "which start there and keep the intercept in the model"
    )
    if best is not None and (library is None or library.takes_start):
        value = best if facts.transform is None else float(facts.transform.inverse(np.array(best)))
        remedy += f", or pass base_score={value:.6g}" + " to XGBoost" * (library is None)
    if library is None or not library.takes_start:
        remedy += "; LightGBM's init_score would be missing from the predictions"
    return remedy


def metric_reads_link(facts: Facts) -> None:
    """A metric must read the margins that the objective trains, as margins."""
    metric, objective, name = facts.metric, facts.objective, f"metric {facts.metric.name!r}"
    link, reads = objective.link, metric.link
    fits = reads is None or reads.reads(link)
    if metric.input_space == "probability":
        fitting = link.metric
        if fits and reads is not None and not link.is_of_objective:
            fitting = 'make it with input_space="margin"'
        raise ValueError(
            f"{name} takes probabilities, but boosters pass margins under a custom objective: "
            f"{fitting}"
        )
    if not fits:
        takes = f"{name} takes {reads.margins}, but {objective!r} trains"
        raise ValueError(f"{takes} {link.margins}: {link.metric}")
    own = getattr(metric, "objective", objective) if link.is_of_objective else objective
    if type(own.equations) is not type(objective.equations):
        wrong = f"is that of {own!r}, which would misread the margins of"
        raise ValueError(f"{name} {wrong} {objective!r}: {link.metric}")


def metric_reads_built_in(facts: Facts) -> None:
    """A metric must read the predictions of an estimator's built-in objective."""
    metric, link, is_classifier = facts.metric, facts.link, facts.role == "Classifier"
    if metric.input_space == "probability":
        return
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
    if log_odds and facts.own != "binary:logitraw":
        raise ValueError(
            f"eval_metric {metric.name!r} takes log-odds, but under a built-in objective boosters "
            'pass predictions, such as probabilities: make it with input_space="probability", or '
            "pass an objective of gbdt_objectives"
        )


def own_metrics_read_margins(facts: Facts) -> None:
    """A metric of the library's own would interpret margins as predictions."""
    names = [m for m in facts.others if isinstance(m, str) and m.lower() != "none"]
    if names and facts.library is not None:
        raise ValueError(
            f"eval_metric {names[0]!r} is {facts.library.title}'s own, which would interpret "
            f"{facts.objective.link.margins} as predictions under a custom objective: "
            f"{facts.objective.link.metric}, a metric of gbdt_objectives"
        )


def functions_read_margins(facts: Facts) -> None:
    """A user's function, unless it looks at their order alone, must not be given margins."""
    link = IDENTITY if facts.objective is None else facts.objective.link
    if not (link.is_transformed or link.is_of_objective):
        return
    margin = _RANDOM(0).normal(size=(1000, facts.objective.outputs)).squeeze()
    for name, first, second in _answers(facts, lambda y: (margin, link.inverse(margin))):
        if link.is_of_objective or first != second:
            raise ValueError(
                f"eval_metric {name} is a function, which would get margins, {link.margins}, "
                f"instead of predictions under a custom objective: {link.metric}, a metric of "
                "gbdt_objectives"
            )


def function_stops_in_its_direction(facts: Facts) -> None:
    """XGBoost must not keep the worst round by a user's function, which is best at the labels."""
    for name, best, other in _answers(facts, lambda y: (y, _RANDOM(1).permutation(y))):
        right = all(best > other if up else best < other for up in facts.directions)
        unknown = not (best > other or best < other)  # K predictions of the library's own?
        if not right and (facts.objective is not None or not unknown):
            raise ValueError(
                f"XGBoost's early stopping would {'max' if facts.directions[0] else 'min'}imise "
                f"{name}, a function, which does not say its direction: pass a Metric, such as "
                "qwk_metric(), or say it, callbacks=[xgboost.callback.EarlyStopping(rounds, "
                "maximize=...)], instead of early_stopping_rounds="
            )


def _answers(facts: Facts, both: Any) -> Iterator[tuple[str, Any, Any]]:
    """Names of users' metrics, and what they say of two predictions for up to 1,000 labels."""
    labels: Any = facts.labels
    for function in facts.others:
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


def function_takes_labels_weights(facts: Facts) -> None:
    """A user's own gradient function must take labels first, and the weights, which no library
    applies."""
    own = facts.own
    if callable(own):
        check_takes("the function of objective=", own, "y_true, y_pred")
    if facts.weighted and callable(own) and len(signature(own).parameters) == 2:
        raise ValueError(
            f"rows have weights, but the function of objective={own!r} takes none, and they would "
            "not count: write it as f(y_true, y_pred, sample_weight), and multiply gradient and "
            "hessian by the weights"
        )


def objective_fits_estimator(facts: Facts) -> None:
    """A classifier must get an objective of classes, and a regressor one of numbers."""
    objective, name = facts.objective, type(facts.estimator).__name__
    link, is_classifier = objective.link, facts.role == "Classifier"
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
    if objective.n_classes is not None and not is_classifier and facts.library is not None:
        raise TypeError(
            f"objective={objective!r} trains {link.margins}: use "
            f"{name.replace('Regressor', 'Classifier')}, whose predict_proba gives probabilities"
            + f", and predict with {facts.library.asks_margins} margins"
            * bool(facts.library.asks_margins)
        )


def stops_on_a_metric_of_ours(facts: Facts) -> None:
    """Early stopping must look at a metric of the objective's scores that is given."""
    if facts.metric is None and facts.library is not None:
        raise ValueError(
            "early stopping needs a metric of the objective's scores, but eval_metric is missing: "
            f"{facts.library.title} would stop on a default of its own, not on the loss of "
            f"{facts.objective!r}: pass eval_metric=loss_metric(objective), or the metric that you "
            "mean"
        )


def stops_on_held_out(facts: Facts) -> None:
    """Early stopping must look at rows that the model is not trained on."""
    evals, name = facts.evaluated, facts.looks_at
    seen = [pair for pair in evals if name in (None, pair[1])]
    if not seen:
        raise ValueError(
            f"early stopping is to look at {name!r}, but the evaluation sets are "
            f"{', '.join(repr(its_name) for _, its_name in evals)}: give one of these names"
            if evals
            else "early stopping needs held-out rows: pass them in evals= of train or eval_set= "
            "of fit, or leave early stopping out"
        )
    dataset, its_name = seen[-1]
    if dataset is facts.data:
        raise ValueError(
            f"early stopping looks at {its_name!r}, which is the training data: put held-out data "
            "last"
        )
    looked_at = max(k for k, (_, other) in enumerate(evals) if other == its_name)
    labels = facts.labels
    if labels is not None and _are_equal(labels(looked_at), labels(None)):
        warn(
            f"early stopping looks at {its_name!r}, which has as many rows as the training data, "
            "and the same labels: if they are the same rows, it stops too late; pass held-out rows"
        )


def _are_equal(a: Any, b: Any) -> bool:
    """Whether both are labels in memory, equally many and equal."""
    if a is None or b is None or hasattr(a, "__dask_graph__"):
        return False
    first, second = np.ravel(to_host(a)), np.ravel(to_host(b))
    return len(first) > 0 and np.array_equal(first, second)


def rows_start_alike(facts: Facts) -> None:
    """A start of each row must be set on all data sets or on none."""
    given = [name for name, has in facts.has_start.items() if has]
    missing = [name for name, has in facts.has_start.items() if not has]
    if given and missing:
        raise ValueError(
            f"{facts.row_start} is set on {', '.join(given)} but not on {', '.join(missing)}: set "
            "it on all or on none, for all to start at the same place"
        )


def row_start_is_added(facts: Facts) -> None:
    """A start of rows must be in the model, or be known to be added to its predictions."""
    library, name, differs = facts.library, facts.row_start, facts.ends[0] != facts.ends[1]
    if library is None or (library.takes_start and not differs):
        return
    is_known = library.adds_start and differs and facts.estimator is None
    if not (library.takes_start or is_known):
        room = f"gbdt_objectives.adapters.{library.name}.train"
        raise ValueError(
            f"{name} is given, but it would be missing from the predictions: leave it out, "
            "boosting starts at the objective's intercept, which stays in the model"
            + f"; for a start that differs by row use {room}"
            * bool(library.adds_start)
        )
    warn(
        f"{name} differs by row, so that the model cannot hold it, and its predictions leave it "
        f"out: {library.adds_start}"
    )


def earlier_margins_are_read(facts: Facts) -> None:
    """Margins of an earlier model must be its predictions', of the same columns and meaning."""
    name, link, came = facts.earlier, facts.link, facts.came
    if facts.averages:
        raise ValueError(
            f"{name} is a forest, boosting='rf', which predicts the mean of its trees, but its "
            "margins are their sum: train it with boosting='gbdt', 'dart' or 'goss'"
        )
    columns_are_in_order(facts)
    categories_keep_their_numbers(facts)
    if came is None or link is None or link.reads(came):
        return
    if came.is_transformed or not link.is_read_by_objective:  # else its name says nothing of it
        warn(
            f"{name} has margins that are {came.margins}, from which training goes on as if they "
            f"were {link.margins}: train on with a model of the same link"
        )


def columns_are_in_order(facts: Facts) -> None:
    """Columns that are read by position must be in the order of those trained on."""
    (own, given), (of, name) = facts.columns, facts.columns_of
    if are_turned(own, given):
        named = dict(zip(plain_names(given), given or (), strict=True))
        raise ValueError(
            f"{name} has the columns of {of} in another order, and they are read by position: pass "
            f"X[{shown([named[column] for column in plain_names(own)])}], of Arrow X.select"
        )


def categories_keep_their_numbers(facts: Facts) -> None:
    """Categories must have the numbers by which an earlier model knows them."""
    own, given = facts.categories
    for known, (name, values) in zip(own, given.items(), strict=False):
        if len(own) == len(given) and any(a != b for a, b in zip(known, values, strict=False)):
            every = [*known, *(value for value in values if value not in known)]
            raise ValueError(
                f"{facts.earlier} was trained on the categories {shown([*known])} of {name!r}, in "
                f"this order, and would take those of X for others: pass X.assign(**{{{name!r}: X["
                f"{name!r}].cat.set_categories({shown(every)})}})"
            )


def rows_are_in_order(facts: Facts) -> None:
    """Rows that are matched by position must not be labelled in different orders."""
    check_rows(facts.rows, facts.rows_in)


def earlier_model_fits(facts: Facts) -> None:
    """An earlier model must have the objective's outputs."""
    earlier_margins_are_read(facts)
    if facts.outputs != facts.objective.outputs:
        raise ValueError(
            f"{facts.earlier} has {facts.outputs} outputs, but {facts.objective!r} has "
            f"{facts.objective.outputs}: train on with a model of the same objective"
        )


def shift_moves_log_odds(facts: Facts) -> None:
    """A rate, or another shift of log-odds, must not move margins that are something else."""
    link = facts.link
    if link is None or link.n_classes or link.takes_several:
        return
    if link.is_declared:
        raise ValueError(
            f"{facts.given} moves log-odds, but {facts.name} has {link.margins}: leave it out, or "
            "pass a classifier or its booster; a regression on a part of the rows needs weights of "
            "1 / rate when it trains, and numbers are moved by delta= of shift_intercept"
        )
    warn(
        f"{facts.given} moves log-odds, and {facts.name} does not say whether its margins are: "
        "leave it out if its predictions are numbers; if they are log-odds, say so by "
        "shift_intercept(booster, delta=float(shift))"
    )


def thins_the_frequent_class(facts: Facts) -> None:
    """A rate must thin the frequent class, of which no fewer rows are left than of the other."""
    own, others = facts.rows_of
    name = f"{facts.name} drops rows of {facts.thinned!r}, "
    if own < others:
        message = f"{name}the less frequent class, {own:g} rows to {others:g}: {facts.to_name}"
        if own < others / 4:
            raise ValueError(message)
        warn(message)
    elif facts.kept < others - 3 * np.sqrt(others):  # not by chance
        warn(
            f"{name}of which {facts.kept:g} are left, and {others:g} of the other class: raise the "
            f"rate if these rows were sampled before; if that class is rare {facts.to_name}"
        )


def one_shift_is_of_named_classes(facts: Facts) -> None:
    """One number is for the second of two classes, and nobody has chosen the order of words."""
    first, second = facts.classes
    if isinstance(second, str):
        warn(
            f"{facts.name} is one number, for {second!r}, second in alphabetical order only: pass "
            f"log_odds_shift(class_keep_rates={{{first!r}: rate, {second!r}: rate}}), where 1 is "
            "the rate of a class that was kept, or LogOddsShift([0, number])"
        )


def one_rate_is_of_named_classes(facts: Facts) -> None:
    """One rate is for the first of two classes, and nobody has chosen the order of words."""
    first = facts.classes[0]
    if isinstance(first, str) and first.strip().lower() not in SAYS_NO:
        alone = "negative only as first in alphabetical order"
        warn(f"{facts.name} is of {first!r}, {alone}: {facts.to_name}")


def classes_count_alike(facts: Facts) -> None:
    """A wrapped estimator must not weigh classes where that is ignored, undone or not corrected."""
    for written, name, value in facts.parameters:
        neutral = np.isscalar(value) and value == REWEIGHTING.get(name)
        if name in REWEIGHTING and not (value is None or neutral):
            raise ValueError(f"{facts.name} has {written}={value!r}, {facts.why}")


def class_weight_has_positions(facts: Facts) -> None:
    """Weights of labels must not be read as weights of the positions that an estimator gets."""
    classes = list(facts.classes)
    for written, name, value in facts.parameters:
        names_labels = name == "class_weight" and isinstance(value, Mapping)
        if names_labels and classes != [*range(len(classes))] and set(value) <= set(classes):
            raise ValueError(
                f"{facts.name} has {written}={value!r}, which names labels, but it is trained on "
                f"their positions: write {class_weights(written, value, classes)!r}"
            )


def own_takes_labels(facts: Facts) -> None:
    """A library's own objective must take the least and the greatest label that it gets."""
    (least, most), takes = facts.ends, getattr(facts.library, "takes", {})
    for written, name, value in facts.parameters:
        low, high = takes.get(str(value) if name == "objective" else "", (least, most))
        if least < low or most > high:
            numbers = "from 0 to 1" if high == 1 else "above 0"
            raise ValueError(
                f"{facts.name} has {written}={value!r}, which takes labels {numbers}, but learns "
                f"{least:g} to {most:g}: leave it out, or pass target=, numbers {numbers}, to fit"
            )


def is_made_for_positions(facts: Facts) -> None:
    """What was made for labels, in their unit, must not be given positions."""
    top = len(facts.classes) - 1
    moved = list(facts.classes) != list(range(top + 1))
    for written, name, value in facts.parameters:
        if name not in ("objective", "metric", "eval_metric"):
            continue
        made = getattr(value, "metric", value)
        wrong = getattr(made, "label_range", None) not in (None, (0, top))
        if wrong or (moved and name != "objective" and any(
            getattr(made, unit, None) is not None for unit in ("center", "spread", "thresholds")
        )):  # fmt: skip
            raise ValueError(
                f"{facts.name} trains on class positions 0 to {top}, but {written} is made for "
                f"labels, {made!r}: make it without them, such as qwk_objective() or qwk_metric(); "
                "centre and spread are of positions, too"
            )


def function_answers_positions(facts: Facts) -> None:
    """A user's function must say of positions what it says of labels that start elsewhere."""
    first = facts.classes[0]
    for written, name, own in facts.parameters:
        if name != "objective" or not callable(own) or hasattr(own, "link") or first == 0:
            continue
        y, f = _RANDOM(0).integers(len(facts.classes), size=99) * 1.0, _RANDOM(1).normal(1, 1, 99)
        same = True  # if it cannot be asked: its own call will say what is wrong
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = [np.ones(99)] * (len(signature(own).parameters) - 2)
            same = np.allclose(own(y, f, *w), own(y + first, f + first, *w))
        if not same:
            warn(
                f"{facts.name} has a function as {written}, whose answer depends on where labels "
                f"start, and gets their positions from 0, not {facts.classes}: write it for these, "
                "or pass target=, the numbers that it is for, to fit; kappa itself is "
                "QWKClassifier(..., objective='qwk')"
            )
