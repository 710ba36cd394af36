"""What a fitted model computes, as data: boosters, and plain steps from their margins to decisions.

A step is a dict that JSON can hold: the name of a formula, and its numbers. Each booster's margins
go through its own steps and are added up; the steps of the score and of the probability follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import estimators
from gbdt_objectives._checks import Array, Model, shown, warn
from gbdt_objectives._links import IDENTITY, LOG, Link
from gbdt_objectives._public import public
from gbdt_objectives._registry import (
    ESTIMATORS,
    NAMES,
    Exported,
    kind_of,
    library_of,
    library_of_model,
    name_of,
    row_of,
)
from gbdt_objectives._steps.steps import Step
from gbdt_objectives.adapters._models import OpenLibrary, predict_probability
from gbdt_objectives.adapters._train import is_allowed_for
from gbdt_objectives.calibration import SegmentCalibrator
from gbdt_objectives.calibration.calibrator_choice import takes_columns
from gbdt_objectives.estimators._base import last_step
from gbdt_objectives.estimators._members import clips, segments_of
from gbdt_objectives.objectives import Objective
from gbdt_objectives.priors import LogOddsShift, correct_margin, correct_probability
from gbdt_objectives.thresholds import ActionRule, DecisionRule, Thresholds

RULES = DecisionRule, ActionRule
Decider = Thresholds | DecisionRule | ActionRule


@public
@dataclass(frozen=True, eq=False)
class ServedModel(Exported):
    """A trained model with its shift, calibrator and thresholds, which apply in this order.

    Parameters
    ----------
    model : Booster, or fitted estimator
        Of XGBoost or LightGBM, of ``gbdt_objectives.adapters``, ``DownsampledClassifier`` or
        ``CalibratedClassifier``.
    thresholds : Thresholds, DecisionRule or ActionRule, optional
        What ``predict`` decides by: thresholds for the score, the probability of the second of two
        classes, or what ``optimize_decisions`` or ``optimize_actions`` returns.
    shift : LogOddsShift, optional
        Added to the model's log-odds, as ``log_odds_shift`` returns it.
    calibrator : calibrator, optional
        Fitted on what the model predicts, after the shift: the probability of label 1, or another
        score; margins if its ``input_space`` says so; all columns for ``TemperatureCalibrator``.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from gbdt_objectives.serving import ServedModel
    >>> from gbdt_objectives.thresholds import DecisionRule, Thresholds
    >>> X = np.arange(40.0)[:, None]
    >>> booster = lgb.train({"min_data_in_leaf": 5, "verbose": -1}, lgb.Dataset(X, X[:, 0]))
    >>> model = ServedModel(booster, thresholds=Thresholds([20], ["low", "high"]))
    >>> model.predict([[3.0], [33.0]]).tolist()
    ['low', 'high']
    """

    model: Any
    _: KW_ONLY
    thresholds: Decider | None = None
    shift: LogOddsShift | None = None
    calibrator: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.model, ServedModel):
            raise TypeError(
                "model is a ServedModel within another, whose shift, calibrator and thresholds "
                "would count twice: make one of all that belongs to it"
            )
        if not isinstance(self.thresholds, Decider | None):
            raise TypeError(
                f"thresholds must carry their classes, found {shown(self.thresholds)}: pass what "
                "optimize_thresholds or optimize_decisions returned, or Thresholds(values, labels)"
            )
        if isinstance(self.thresholds, ActionRule) and self.thresholds.costs is None:
            raise ValueError(
                "thresholds are a rule whose costs come with each row, which a served model is not "
                "given: leave it out, and call rule.apply(model.predict_proba(X), costs=...)"
            )
        if self.shift is not None and not isinstance(self.shift, LogOddsShift):
            raise TypeError(
                f"shift must be what log_odds_shift returned, found {shown(self.shift)}: a number "
                "of log-odds is LogOddsShift(number), a rate log_odds_shift(negative_keep_rate=...)"
            )
        if self.shift is not None:
            self._check_shift(self.shift)
        calibrator = self.calibrator
        is_fitted = hasattr(calibrator, "predict") and not isinstance(calibrator, type)
        if calibrator is not None and not is_fitted:
            raise TypeError(
                f"calibrator must be a fitted calibrator, found {shown(calibrator)}: pass what "
                "LogitCalibrator().fit(p, y) returned"
            )
        if not self.is_booster or name_of(self.model) is not None:
            self._check_units()
        cuts, of_one = self.thresholds, calibrator is not None and not takes_columns(calibrator)
        if of_one or (isinstance(cuts, Thresholds) and cuts.labels.tolist() == [0, 1]):
            classes = np.asarray(getattr(self.model, "classes_", ())).tolist()
            Model(classes=classes, attached="calibrator was" if of_one else "thresholds were")

    def _check_units(self) -> None:
        """Raise for thresholds or a calibrator of margins where the score is a probability."""
        cuts, calibrator = self.thresholds, self.calibrator
        known: dict[str, Any] = {}
        if isinstance(cuts, RULES) and not self._has_probability():
            raise ValueError(
                "thresholds are a rule for probabilities, but the model predicts numbers: use what "
                "optimize_thresholds returns"
            )
        if cuts is not None and self._has_probability():
            self._check_classes(cuts)
        if isinstance(cuts, Thresholds) and self._has_probability():
            finite = cuts.values[np.isfinite(cuts.values)]
            known["thresholds"] = [*finite, *(cuts.score_range or ())]
        if self.classes_ is not None and not is_of_margins(calibrator):
            known["calibrator"] = getattr(calibrator, "_score_range", tuple)() or ()
        for name, scores in known.items():
            if len(scores) and (min(scores) < 0 or max(scores) > 1):
                raise ValueError(
                    f"{name} must be of probabilities, as the model predicts them, found scores "
                    f"from {min(scores):.4g} to {max(scores):.4g}: make it of predict_proba(X)[:, "
                    "1] of a ServedModel without it"
                )

    def _check_classes(self, cuts: Decider) -> None:
        """Raise for other classes than the model's, or for another order of them."""
        classes = [0, 1] if self.classes_ is None else self.classes_.tolist()
        labels, is_rule = cuts.labels.tolist(), isinstance(cuts, RULES)
        as_many, some = len(labels) == len(classes), set(labels) & set(classes)
        if labels == classes:
            return
        if is_rule and (some or not as_many):
            raise ValueError(
                f"thresholds are a rule for the classes {shown(labels)}, but the model has "
                f"{shown(classes)}: make it of its probabilities, with labels={shown(classes)}"
            )
        if not is_rule and labels == classes[::-1]:
            raise ValueError(
                f"thresholds have the classes {labels}, but high scores mean {classes[1]!r}, of "
                f"which they are the probability: place thresholds with labels={classes}"
            )
        if some and as_many and len(classes) == 2:
            raise ValueError(
                f"thresholds separate the classes {shown(labels)}, but the model has "
                f"{shown(classes)}: make them with labels={shown(classes)}"
            )

    def _check_shift(self, shift: LogOddsShift) -> None:
        """Raise for a shift of what are no log-odds; warn of one that the model has in it."""
        model = self.model
        library, own = library_of_model(model), None
        if getattr(model, "correction", None) is not None:
            kept = np.atleast_2d(model.keep_rates_)
            rates = kept.mean(axis=0)
            if hasattr(model, "calibrator_"):  # each bag leaves out a fold of the other class
                rates[1 - rates.argmin()] /= 1 - 1 / len(kept)
            own = -np.log(rates)
        if shift.standard_error is None and is_allowed_for(shift, model, library, own):
            warn(
                f"{type(model).__name__} has allowed for the rate at which its rows were kept, and "
                "shift is much the same, which would count twice: leave shift out, unless the rows "
                "had been sampled before that, too"
            )
        link: Link | None
        if not self.is_booster:
            name, link = type(model).__name__, None if is_classifier(model) else IDENTITY
            Model(name=name, shift_by="shift", link=link)
        elif name_of(model) is not None:
            name, link = of_library(model).margins_of(model)
            Model(name=f"the objective {name!r}", shift_by="shift", link=link)
        classes = np.asarray(getattr(model, "classes_", ())).tolist()
        Model(shift_by="shift", classes=classes, one_number=np.ndim(shift) == 0)

    @property
    def is_booster(self) -> bool:
        return not hasattr(self.model, "get_params")

    @property
    def classes_(self) -> Array | None:
        """The classes of ``predict_proba``; None if the model predicts numbers."""
        if not self.is_booster:
            return np.asarray(self.model.classes_) if is_classifier(self.model) else None
        link = self._link
        if link.takes_several:
            return np.arange(of_library(self.model).count_outputs(self.model))
        return np.array([0, 1]) if link.n_classes == 2 else None

    @property
    def _link(self) -> Link:
        return of_library(self.model).link_of(self.model)

    def _margin(self, X: Any) -> Array:
        """Margins of a booster, or of the estimator around one, shifted."""
        f: Array = of_library(self.model).margin(self.model, X)
        return f if self.shift is None else correct_margin(f, self.shift)

    def _probability(self, X: Any) -> Array:
        """The probability of each class, (n, K), shifted."""
        if self.is_booster:
            link, f = self._link, self._margin(X)
            return np.asarray(link.inverse(f) if link.takes_several else link.class_probability(f))
        p = predict_probability(self.model, X)
        return p if self.shift is None else correct_probability(p, self.shift)

    def _has_probability(self) -> bool:
        return self.calibrator is not None or self.classes_ is not None

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, float64 (n, K), shifted and calibrated."""
        calibrator = self.calibrator
        if calibrator is None:
            if self.classes_ is None:
                raise TypeError("the model predicts numbers, which are no probabilities: predict")
            return self._probability(X)
        if (self.classes_ is not None and len(self.classes_) > 2) or takes_columns(calibrator):
            return np.asarray(calibrator.predict(self._probability(X)))
        if is_of_margins(calibrator):
            score = self._margin(X)
        else:
            score = self._natural(X) if self.classes_ is None else self._probability(X)[:, 1]
        positive = np.asarray(calibrator.predict(score, **segments_of(calibrator, X)), np.float64)
        return np.column_stack([1 - positive, positive])

    def _natural(self, X: Any) -> Array:
        """Predictions of a model of numbers, float64 (n,)."""
        if self.is_booster:
            return np.asarray(self._link.inverse(self._margin(X)), np.float64)
        library = library_of(self.model)
        X = X if library is None else library.fitting.by_name(self.model, X)
        return np.asarray(self.model.predict(X), np.float64)

    def predict_score(self, X: Any) -> Array:
        """Return what thresholds are compared with, (n,): P of the second class, or the number."""
        if not self._has_probability():
            return self._natural(X)
        p = self.predict_proba(X)
        if p.shape[1] > 2:
            raise TypeError(f"the model has {p.shape[1]} classes, and no score: use predict_proba")
        return p[:, 1]

    def predict(self, X: Any) -> Array:
        """Return the decision for each row, (n,): a class by the thresholds or not, or a number."""
        if isinstance(self.thresholds, RULES):
            return self.thresholds.apply(self.predict_proba(X))
        if self.thresholds is not None:
            return self.thresholds.apply(self.predict_score(X))
        if not self._has_probability():
            return self.predict_score(X)
        classes = np.array([0, 1]) if self.classes_ is None else self.classes_
        return np.asarray(classes[self.predict_proba(X).argmax(axis=1)])


def with_extras(model: Any, thresholds: Any, shift: Any, calibrator: Any) -> Any:
    """A ServedModel of a plain booster, and of a model with something that belongs to it."""
    given = any(extra is not None for extra in (thresholds, shift, calibrator))
    if not (given or (name_of(model) is not None and not hasattr(model, "get_params"))):
        return model
    return ServedModel(model, thresholds=thresholds, shift=shift, calibrator=calibrator)


def is_of_margins(calibrator: Any) -> bool:
    return getattr(calibrator, "input_space", "probability") == "margin"


def of_library(model: Any) -> OpenLibrary:
    """The library of a trained model."""
    library = library_of(model)
    if library is None:
        raise TypeError(f"model must be a trained booster or classifier, found {shown(model)}")
    return library


SIGMOID: Step = {"formula": "sigmoid"}
SOFTMAX: Step = {"formula": "softmax"}
BINARY = np.array([0, 1])


@dataclass(frozen=True, eq=False)
class Part:
    """A booster, or the estimator around it, and what is done to its margins."""

    model: Any
    weight: float = 1.0
    steps: tuple[Step, ...] = ()

    @cached_property
    def library(self) -> OpenLibrary:
        return of_library(self.model)


@dataclass(frozen=True, eq=False)
class Plan:
    """A fitted model as steps. Without boosters the score is what is given."""

    parts: tuple[Part, ...]
    score: tuple[Step, ...]
    probability: tuple[Step, ...] | None = None
    """From the score to the probability of label 1, or of each class; () where the score is it."""
    classes: Array | None = None
    outputs: int = 1
    """Of the score: 1, or the number of classes where it is already their probabilities."""
    thresholds: Decider | None = None

    @property
    def is_score(self) -> bool:
        return self.outputs == 1

    @property
    def ends_in_link(self) -> bool:
        """Whether the score is the probability that a link makes of log-odds."""
        return self.score[-1:] in ((SIGMOID,), (SOFTMAX,))

    @property
    def makes_columns(self) -> bool:
        """Whether one score becomes the probability of each class, not of label 1 alone."""
        return any(step["formula"] == "ordinal" for step in (self.probability or ())[-1:])

    def then(self, *steps: Step) -> Plan:
        return replace(self, score=(*self.score, *steps))

    @property
    def as_probability(self) -> Plan:
        """The plan whose score is the probability."""
        if self.probability is None or self.classes is None:
            raise ValueError("the model predicts no probabilities: pass a classifier")
        outputs = len(self.classes) if self.makes_columns else self.outputs
        return replace(self.then(*self.probability), probability=(), outputs=outputs)


def mean(plans: Sequence[Plan], weights: Sequence[float]) -> Plan:
    """The weighted sum of scores of boosters, or of means that only shift, as weights sum to 1."""
    parts = []
    for plan, weight in zip(plans, weights, strict=True):
        if len(plan.parts) > 1 and any(step["formula"] != "shift" for step in plan.score):
            raise ValueError(
                "the model averages models that are averages themselves, for which there is no "
                "formula here: pass ensemble=False, or to the classifier inside n_bags=1 (or "
                "calibrate=False with average='log_odds')"
            )
        for part in plan.parts:
            own = replace(part, weight=weight * part.weight, steps=(*part.steps, *plan.score))
            parts.append(own)
    return replace(plans[0], parts=tuple(parts), score=())


def stretched_mean(plans: Sequence[Plan], model: Any) -> Plan:
    """The probabilities by the stretched mean of the log-odds of models."""
    average = mean([in_log_odds(plan) for plan in plans], [1 / len(plans)] * len(plans))
    return average.then(stretch_step(model), SIGMOID if average.is_score else SOFTMAX)


def stretch_step(model: Any) -> Step:
    return {"formula": "stretch", "stretch": float(model.stretch_), "center": model.center_}


def in_log_odds(plan: Plan) -> Plan:
    """The plan whose score is the log-odds, or the log-probability of each class."""
    plan = plan.as_probability
    if plan.ends_in_link:
        return replace(plan, score=plan.score[:-1])
    return plan.then({"formula": "log_odds" if plan.is_score else "log"})


def of_model(model: Any) -> Plan:
    """The plan of a fitted model; raises for one that has none, with what to do."""
    own = {"predict", "predict_proba", "predict_score"} & getattr(model, "__dict__", {}).keys()
    if own and not isinstance(model, type):
        raise TypeError(f"model.{min(own)} was replaced, by what no folder can hold: delete it")
    for kind, plan_of in KINDS.items():
        if isinstance(model, kind):
            if type(model) is not kind:
                raise TypeError(
                    f"{type(model).__name__} is a class of your own, whose methods no folder can "
                    f"hold: export a fitted {kind.__name__}"
                )
            if kind is not ServedModel:
                check_is_fitted(model)
            return plan_of(model)
    if name_of(model) is not None:
        return of_booster(model)
    if not isinstance(model, BaseEstimator):
        raise TypeError(not_served(model))
    check_is_fitted(model)
    return of_member(model)


def not_served(model: Any) -> str:
    name = type(model).__name__
    if hasattr(model, "best_estimator_"):
        return f"{name} holds the fitted model: export its best_estimator_"
    if why := cannot_serve(model):
        return f"{name} cannot be served: {why}"
    return (
        f"{what_is(model)} is no booster, and a served model holds nothing else: "
        "use LGBMRegressor, XGBRegressor or their classifiers without steps before them, or write "
        "all of it as ONNX, export_onnx(model, path, X)"
    )


def cannot_serve(model: Any) -> str:
    kind: Any = type(model)
    return str(getattr(row_of(kind), "cannot_serve", ""))


def find_objective(model: Any) -> Objective | None:
    """The objective of this package that an estimator was trained on, and may predict with."""
    found = getattr(model, of_library(model).fitting.fitted, None)
    return found if isinstance(found, Objective) else None


def of_booster(model: Any) -> Plan:
    """Plan of a booster, or of an estimator of its library."""
    if cannot_serve(model):
        raise TypeError(not_served(model))
    name, is_booster = type(model).__name__, not hasattr(model, "get_params")
    known = type(model).__module__.split(".")[0] in (*NAMES, "gbdt_objectives")
    if not known or not (is_booster or kind_of(model)):
        raise TypeError(
            f"{name} cannot be exported: pass a Booster, a regressor or a classifier of its "
            "library or of gbdt_objectives.adapters"
        )
    if is_booster:
        return by_link(model, None)
    check_is_fitted(model)
    if is_classifier(model):
        return of_classifier(model)
    plan = by_link(model, None)
    if plan.outputs > 1:
        raise ValueError(f"{name} predicts {plan.outputs} numbers for a row: export a classifier")
    return replace(plan, probability=None, classes=None)  # it predicts the number


def of_classifier(model: Any) -> Plan:
    classes, objective = np.asarray(model.classes_), find_objective(model)
    library = of_library(model)
    if objective is not None and objective.link.is_of_objective:
        step = reading(objective)  # "focal" gives the probability of label 1
        score, probability = ((step,), ()) if step["formula"] == "focal" else ((), (step,))
        return Plan((Part(model),), score, probability, classes, library.count_outputs(model))
    link = library.link_of(model)
    if not (link.takes_several or link.n_classes == 2):
        raise ValueError(
            f"{type(model).__name__} has margins that are {link.margins}, of which no class "
            "probability follows: train an objective of gbdt_objectives, or a regressor"
        )
    return by_link(model, classes)


def by_link(model: Any, classes: Array | None) -> Plan:
    library = of_library(model)
    outputs, link = library.count_outputs(model), library.link_of(model)
    if link.takes_several:
        classes = np.arange(outputs) if classes is None else classes
        return Plan((Part(model),), (SOFTMAX,), (), classes, outputs)
    if outputs > 1:
        raise ValueError(f"the model predicts {outputs} numbers for a row: export a model for each")
    if link.n_classes == 2:
        classes = BINARY if classes is None else classes
        return Plan((Part(model),), (SIGMOID,), (), classes)
    steps: tuple[Step, ...] = ({"formula": "exp"},) if link == LOG else ()
    return Plan((Part(model),), steps)


def reading(objective: Objective) -> Step:
    """How a fitted objective with the link "score" turns margins into probabilities."""
    step: Callable[[], Step] | None = getattr(objective.equations, "step", None)
    if step is not None:
        return step()
    raise ValueError(
        f"objective {objective!r} alone turns its margins into probabilities, and has no formula "
        "that could be written down: export a regressor of its scores, or train an objective with "
        'the link "logit" or "softmax"'
    )


def of_qwk_classifier(model: estimators.QWKClassifier) -> Plan:
    K, found = len(model.classes_), model.thresholds_
    if not isinstance(found, Thresholds) or list(found.labels) != list(model.classes_):
        raise TypeError(
            f"thresholds_ must be thresholds between the classes {shown(model.classes_)}, found "
            f"{shown(found)}: set it to Thresholds(values, classes_)"
        )
    folds = models_of(model)
    plans, weights = [], []
    for fold in folds:
        for each, beta in zip(fold, model.weights_, strict=True):
            if beta > 0:
                plan = of_member(each)
                if clips(each):
                    plan = plan.then({"formula": "clip", "low": 0, "high": K - 1})
                plans.append(plan)
                weights.append(float(beta) / len(folds))
    plan = mean(plans, weights)
    if hasattr(model, "estimators_"):
        plan = plan.then(stretch_step(model))
    shift = getattr(model, "segment_shift_", None)
    if shift is not None:
        plan = plan.then({"formula": "segment_shift", "column": model.segment, **shift._document()})
    curve: Any = getattr(model.probability_curve_, "fitted", model.probability_curve_)
    return replace(plan, probability=curve.steps, classes=model.classes_, thresholds=found)


def models_of(model: estimators.QWKClassifier) -> list[list[Any]]:
    """The fitted members of each fold."""
    folds = getattr(model, "estimators_", None) or [model.estimator_]
    return [fold if isinstance(fold, list) else [fold] for fold in folds]


def of_member(model: Any) -> Plan:
    """The plan of a member: of a Pipeline that ends in a booster that booster's steps."""
    last = last_step(model)
    if kind_of(last) in ESTIMATORS or cannot_serve(last):
        return replace(of_booster(last), parts=(Part(model),))
    if not is_classifier(model):
        return Plan((Part(model),), ())
    classes = np.asarray(model.classes_)
    return Plan((Part(model),), (), (), classes, 1 if len(classes) == 2 else len(classes))


def what_is(model: Any) -> str:
    return "a Pipeline" if last_step(model) is not model else type(model).__name__


def of_downsampled_classifier(model: estimators.DownsampledClassifier) -> Plan:
    bags = [replace(of_member(bag), classes=model.classes_) for bag in model.estimators_]
    corrected = [shift_plan(bag, d) for bag, d in zip(bags, model._bag_shifts, strict=True)]
    if hasattr(model, "calibrator_"):
        return calibrated(stretched_mean(corrected, model), model.calibrator_)
    shares = [1 / len(bags)] * len(bags)
    if model.average == "log_odds" and len(bags) > 1:
        if any(len(bag.score) > 1 or not bag.ends_in_link for bag in bags):
            raise ValueError(
                "average='log_odds' needs margins that are log-odds: use average='probability'"
            )
        average = mean([replace(bag, score=()) for bag in bags], shares)
        return shift_plan(average.then(bags[0].score[-1]), model.shift_)
    if len(corrected) == 1:
        return corrected[0]
    return mean([plan.as_probability for plan in corrected], shares)


def shift_plan(plan: Plan, d: Any) -> Plan:
    """The plan of probabilities in the population, whose log-odds are d above those of the plan."""
    if not np.any(d):
        return plan
    if plan.ends_in_link and not plan.probability:
        step = {"formula": "shift", "log_odds": np.asarray(d)}
        return replace(plan, score=(*plan.score[:-1], step, plan.score[-1]))
    plan = plan.as_probability
    if plan.outputs == 1:
        return plan.then(log_odds_line(1.0, float(d)))
    return plan.then({"formula": "temperature", "temperature": 1.0, "biases": np.asarray(d)})


def of_calibrated_classifier(model: estimators.CalibratedClassifier) -> Plan:
    if hasattr(model, "estimators_"):
        plan = stretched_mean([of_fold(each, model) for each in model.estimators_], model)
    else:
        plan = of_fold(model.estimator_, model)
    plan = replace(plan, classes=model.classes_, thresholds=None)
    return calibrated(plan, model.calibrator_)


def of_fold(fold: Any, model: estimators.CalibratedClassifier) -> Plan:
    """The probabilities by one model, or by several, whose log-odds are put together."""
    if not isinstance(fold, list) or len(fold) == 1:
        return of_model(fold[0] if isinstance(fold, list) else fold)
    each = zip(fold, model.weights_, model.limits_, strict=True)
    used = [(in_log_odds(of_model(own)), float(b), float(x)) for own, b, x in each if b > 0]
    if any(not plan.is_score for plan, *_ in used):
        raise ValueError("a classifier has two columns of margins: train it on a binary objective")
    beta = [each for _, each, _ in used]
    shift = {"formula": "shift", "log_odds": model.intercept_ / sum(beta)}  # of each, for a mean
    plans = [plan.then({"formula": "clip", "low": -x, "high": x}, shift) for plan, _, x in used]
    return mean(plans, beta).then(SIGMOID)


def log_odds_line(slope: float, intercept: float) -> Step:
    """A line of log-odds, of probabilities."""
    numbers = {"map": "line", "slope": slope, "intercept": intercept}
    return {"formula": "calibrate", "input_space": "probability", **numbers}


def calibrator_steps(calibrator: Any) -> tuple[Step, ...]:
    """A fitted calibrator as formulas with their numbers."""
    check_is_fitted(calibrator)
    if type(calibrator).__module__.split(".")[0] not in ("gbdt_objectives", "sklearn"):
        raise TypeError(
            f"calibrator is of the class {type(calibrator).__name__} of your own, whose methods no "
            "folder can hold: use one of gbdt_objectives.calibration"
        )
    if hasattr(calibrator, "_step"):
        return (dict(calibrator._step()),)
    if isinstance(calibrator, SegmentCalibrator):
        return calibrator._steps()
    if isinstance(calibrator, IsotonicRegression) and calibrator.out_of_bounds == "clip":
        x, y = calibrator.X_thresholds_, calibrator.y_thresholds_
        if x.dtype != np.float64:
            raise ValueError("calibrator rounds scores to float32: fit it on np.asarray(p, float)")
        return ({"formula": "interpolate", "x": x, "y": y},)
    raise ValueError(
        f"calibrator {shown(calibrator)} has no formula that could be written down: use one of "
        "gbdt_objectives.calibration, or IsotonicRegression(out_of_bounds='clip')"
    )


def of_served_model(model: ServedModel) -> Plan:
    """A model and what belongs to it: shift, then calibrator, then thresholds."""
    plan = of_model(model.model)
    calibrator = model.calibrator
    if plan.thresholds is not None:
        raise ValueError(f"{type(model.model).__name__} has thresholds of its own: export it alone")
    if plan.probability:
        plan = plan.as_probability
    if model.shift is not None:
        plan = shift_plan(plan, read_shift_of_plan(plan, model.shift))
    if calibrator is not None:
        if is_of_margins(calibrator) and name_of(model.model) is None:
            raise ValueError(
                f"calibrator is for margins, which {type(model.model).__name__} does not have: fit "
                "one with input_space='probability'"
            )
        plan = calibrated(plan, calibrator)
    if model.thresholds is not None:
        if not plan.is_score and isinstance(model.thresholds, Thresholds):
            raise ValueError(
                "thresholds are for one score, but the model predicts probabilities of "
                f"{plan.outputs} classes: leave them out, and predict takes the most probable one, "
                "or pass what optimize_decisions returned"
            )
        plan = replace(plan, thresholds=model.thresholds)
    return plan


def read_shift_of_plan(plan: Plan, shift: Any) -> Any:
    d, classes = np.asarray(shift, np.float64), plan.as_probability.classes
    K = 0 if classes is None else len(classes)
    if d.ndim == 0 and K == 2:
        return float(d)
    if d.shape == (K,):
        return float(d[1] - d[0]) if K == 2 else d
    raise ValueError(f"shift has shape {d.shape}, but the model has {K} classes: pass one for each")


def calibrated(plan: Plan, calibrator: Any) -> Plan:
    """What ``predict`` of the model gives, calibrated; of margins if the calibrator is for them."""
    name, columns = type(calibrator).__name__, takes_columns(calibrator)
    if is_of_margins(calibrator):
        if plan.probability is not None and plan.score[-1:] != (SIGMOID,):
            raise ValueError(
                "calibrator has input_space='margin', but the model has no log-odds of its own, "
                "only probabilities: fit the calibrator on these"
            )
        plan = replace(plan, score=() if plan.probability is None else plan.score[:-1])
    elif plan.probability is not None:
        plan = plan.as_probability
    if columns and plan.classes is None:
        raise ValueError(
            f"{name} needs the probability of each class, which the model lacks: use another"
        )
    if not plan.is_score and not columns:
        raise ValueError(
            f"{name} maps one score, but the model predicts probabilities of {plan.outputs} "
            "classes: use TemperatureCalibrator"
        )
    steps = calibrator_steps(calibrator)
    if columns and plan.is_score:
        T, b = steps[0]["temperature"], steps[0]["biases"]
        steps = (log_odds_line(1 / T, float(b[1] - b[0])),)
    classes = BINARY if plan.classes is None else plan.classes
    return replace(plan.then(*steps), probability=(), classes=classes)


KINDS: dict[type, Callable[[Any], Plan]] = {
    ServedModel: of_served_model, estimators.QWKClassifier: of_qwk_classifier,
    estimators.ThresholdClassifier: lambda model: Plan((), (), thresholds=model.thresholds_),
    estimators.DownsampledClassifier: of_downsampled_classifier,
    estimators.CalibratedClassifier: of_calibrated_classifier,
}  # fmt: skip
