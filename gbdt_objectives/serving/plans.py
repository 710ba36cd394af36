"""What a fitted model computes, as data: boosters, and plain steps from their margins to decisions.

A step is a dict that JSON can hold: the name of a formula of ``predict.template``, and its numbers.
Each booster's margins go through steps of its own and are added up with weights; the steps of the
score follow, and those from the score to the probability of each class.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import estimators
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._links import LOG
from gbdt_objectives._registry import ESTIMATORS, NAMES, kind_of, name_of, row_of
from gbdt_objectives._steps.steps import Step, Steps
from gbdt_objectives.adapters._library import OpenLibrary
from gbdt_objectives.adapters._wrapped import last_step
from gbdt_objectives.estimators._members import clips
from gbdt_objectives.estimators.calibrated_classifier import takes_columns
from gbdt_objectives.objectives import Objective
from gbdt_objectives.serving.model import ServedModel, is_of_margins, of_library
from gbdt_objectives.thresholds import DecisionRule, Thresholds

SIGMOID: Step = {"formula": "sigmoid"}
SOFTMAX: Step = {"formula": "softmax"}
BINARY = np.array([0, 1])


@dataclass(frozen=True, eq=False)
class Part:
    """A booster, or the estimator around it, and what is done to its margins."""

    model: Any
    weight: float = 1.0
    steps: Steps = ()

    @cached_property
    def library(self) -> OpenLibrary:
        return of_library(self.model)


@dataclass(frozen=True, eq=False)
class Plan:
    """A fitted model as steps. Without boosters the score is what is given."""

    parts: tuple[Part, ...]
    score: Steps
    probability: Steps | None = None
    """From the score to the probability of label 1, or of each class; () where the score is it."""
    classes: Array | None = None
    outputs: int = 1
    """Of the score: 1, or the number of classes where it is already their probabilities."""
    thresholds: Thresholds | DecisionRule | None = None

    @property
    def is_score(self) -> bool:
        return self.outputs == 1

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
        return replace(
            self, score=(*self.score, *self.probability), probability=(), outputs=outputs
        )


def mean(plans: Sequence[Plan], weights: Sequence[float]) -> Plan:
    """The weighted sum of the scores of models of one booster each, or of means that are shifted.

    A step of a mean is a step of its parts if it only shifts, as their weights have the sum 1.
    """
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


def stretched_mean(plans: Sequence[Plan], stretch: float, center: Any) -> Plan:
    """The probabilities by the stretched mean of the log-odds of models."""
    average = mean([in_log_odds(plan) for plan in plans], [1 / len(plans)] * len(plans))
    step = {"formula": "stretch", "stretch": float(stretch), "center": center}
    return average.then(step, SIGMOID if average.outputs == 1 else SOFTMAX)


def in_log_odds(plan: Plan) -> Plan:
    """The plan whose score is the log-odds, or the log-probability of each class."""
    plan = plan.as_probability
    if plan.score[-1:] in ((SIGMOID,), (SOFTMAX,)):
        return replace(plan, score=plan.score[:-1])
    return plan.then({"formula": "log_odds" if plan.outputs == 1 else "log"})


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
    if hasattr(model, "best_estimator_"):
        return f"{type(model).__name__} holds the fitted model: export its best_estimator_"
    if why := cannot_serve(model):
        return f"{type(model).__name__} cannot be served: {why}"
    return (
        f"{what_is(model)} is no booster, and a served model holds nothing else: "
        "use LGBMRegressor, XGBRegressor or their classifiers without steps before them, or write "
        "all of it as ONNX, export_onnx(model, path, X)"
    )


def cannot_serve(model: Any) -> str:
    kind: Any = type(model)
    row = row_of(kind)
    return "" if row is None else row.cannot_serve


# Boosters, and the libraries' estimators around them.


def fitted_objective(model: Any) -> Objective | None:
    """The objective of this package that an estimator was trained on, and may predict with."""
    found = getattr(model, of_library(model).fitting.fitted, None)
    return found if isinstance(found, Objective) else None


def of_booster(model: Any) -> Plan:
    """Plan of a booster, or of an estimator of its library."""
    if cannot_serve(model):
        raise TypeError(not_served(model))
    if type(model).__module__.split(".")[0] not in (*NAMES, "gbdt_objectives") or (
        hasattr(model, "get_params") and kind_of(model) is None
    ):
        raise TypeError(
            f"{type(model).__name__} cannot be exported: pass a Booster, a regressor or a "
            "classifier of its library or of gbdt_objectives.adapters"
        )
    if not hasattr(model, "get_params"):
        return by_link(model, None)
    check_is_fitted(model)
    if is_classifier(model):
        return of_classifier(model)
    plan = by_link(model, None)
    if plan.outputs > 1:
        raise ValueError(
            f"{type(model).__name__} predicts {plan.outputs} numbers for a row: export a classifier"
        )
    return replace(plan, probability=None, classes=None)  # it predicts the number


def of_classifier(model: Any) -> Plan:
    classes, objective = np.asarray(model.classes_), fitted_objective(model)
    if objective is not None and objective.link.is_of_objective:
        step = reading(objective)
        is_of_one = step["formula"] == "focal"  # the probability of label 1
        score, probability = ((step,), ()) if is_of_one else ((), (step,))
        outputs = of_library(model).count_outputs(model)
        return Plan((Part(model),), score, probability, classes, outputs)
    link = of_library(model).link_of(model)
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
        raise ValueError(
            f"the model predicts {outputs} numbers for a row, of which one decides: export a model "
            "for each"
        )
    if link.n_classes == 2:
        classes = BINARY if classes is None else classes
        return Plan((Part(model),), (SIGMOID,), (), classes)
    steps: Steps = ({"formula": "exp"},) if link == LOG else ()
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


# The estimators of this package.


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
    steps: list[Step] = []
    if hasattr(model, "estimators_"):
        steps.append({
            "formula": "stretch", "stretch": float(model.stretch_), "center": float(model.center_)
        })  # fmt: skip
    shift = getattr(model, "segment_shift_", None)
    if shift is not None:
        steps.append({
            "formula": "segment_shift", "column": model.segment, **json.loads(shift.to_json())
        })  # fmt: skip
    curve: Any = getattr(model.probability_curve_, "fitted", model.probability_curve_)
    plan = mean(plans, weights).then(*steps)
    return replace(
        plan, probability=curve.steps, classes=model.classes_, thresholds=model.thresholds_
    )


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


def check_boosters(model: Any, plan: Plan) -> None:
    """Raise if a model, or a part of it, is more than a booster: no file of a library holds it."""
    others = [part.model for part in plan.parts if name_of(part.model) is None]
    if any(other is model for other in others):
        raise TypeError(not_served(model))
    for other in others:
        raise TypeError(
            f"the model holds {what_is(other)}, and a served model holds boosters only: use "
            "LGBMRegressor, XGBRegressor or their classifiers, and do the steps before them "
            "outside; or write all of it as ONNX, export_onnx(model, path, X)"
        )


def of_downsampled_classifier(model: estimators.DownsampledClassifier) -> Plan:
    bags = [replace(of_member(bag), classes=model.classes_) for bag in model.estimators_]
    if hasattr(model, "calibrator_"):
        corrected = [correct(bag, d) for bag, d in zip(bags, model._bag_shifts, strict=True)]
        mean_plan = stretched_mean(corrected, model.stretch_, model.center_)
        return calibrated(mean_plan, model.calibrator_)
    shares = [1 / len(bags)] * len(bags)
    if model.average == "log_odds" and len(bags) > 1:
        if any(bag.score not in ((SIGMOID,), (SOFTMAX,)) for bag in bags):
            raise ValueError(
                "average='log_odds' needs bags whose margins are log-odds: use "
                "average='probability'"
            )
        average = mean([replace(bag, score=()) for bag in bags], shares)
        return correct(average.then(bags[0].score[-1]), model.shift_)
    corrected = [correct(bag, d) for bag, d in zip(bags, model._bag_shifts, strict=True)]
    if len(corrected) == 1:
        return corrected[0]
    return mean([plan.as_probability for plan in corrected], shares)


def correct(plan: Plan, d: Any) -> Plan:
    """The plan of probabilities in the population, whose log-odds are d above those of the plan."""
    if not np.any(d):
        return plan
    if plan.score and plan.score[-1] in (SIGMOID, SOFTMAX) and not plan.probability:
        step = {"formula": "shift", "log_odds": np.asarray(d)}
        return replace(plan, score=(*plan.score[:-1], step, plan.score[-1]))
    plan = plan.as_probability
    if plan.outputs == 1:
        return plan.then(log_odds_line(1.0, float(d)))
    return plan.then({"formula": "temperature", "temperature": 1.0, "biases": np.asarray(d)})


def of_calibrated_classifier(model: estimators.CalibratedClassifier) -> Plan:
    if hasattr(model, "estimators_"):
        plans = [of_model(each) for each in model.estimators_]
        plan = stretched_mean(plans, model.stretch_, model.center_)
    else:
        plan = of_model(model.estimator_)
    plan = replace(plan, classes=model.classes_, thresholds=None)
    return calibrated(plan, model.calibrator_)


def log_odds_line(slope: float, intercept: float) -> Step:
    """A line of log-odds, of probabilities."""
    numbers = {"map": "line", "slope": slope, "intercept": intercept}
    return {"formula": "calibrate", "input_space": "probability", **numbers}


def calibration(calibrator: Any) -> Step:
    """A fitted calibrator of one score as a formula with its numbers."""
    check_is_fitted(calibrator)
    if type(calibrator).__module__.split(".")[0] not in ("gbdt_objectives", "sklearn"):
        raise TypeError(
            f"calibrator is of the class {type(calibrator).__name__} of your own, whose methods no "
            "folder can hold: use one of gbdt_objectives.calibration"
        )
    if hasattr(calibrator, "_step"):
        return dict(calibrator._step())
    if isinstance(calibrator, IsotonicRegression) and calibrator.out_of_bounds == "clip":
        x, y = calibrator.X_thresholds_, calibrator.y_thresholds_
        if x.dtype != np.float64:
            raise ValueError(
                "calibrator was fitted on float32, to which it rounds what it is given: fit it on "
                "np.asarray(p, float)"
            )
        return {"formula": "interpolate", "x": x, "y": y}
    raise ValueError(
        f"calibrator {shown(calibrator)} has no formula that could be written down: use one of "
        "gbdt_objectives.calibration, or IsotonicRegression(out_of_bounds='clip')"
    )


def of_served_model(model: ServedModel) -> Plan:
    """A model and what belongs to it: shift, then calibrator, then thresholds."""
    plan = of_model(model.model)
    calibrator = model.calibrator
    if plan.thresholds is not None:
        raise ValueError(
            f"{type(model.model).__name__} decides by thresholds of its own, to which nothing can "
            "be added: export it alone"
        )
    if plan.probability:
        plan = plan.as_probability
    if model.shift is not None:
        if plan.probability is None:
            raise ValueError(
                "shift is in log-odds, but the model predicts no probabilities: pass a classifier, "
                "or a booster of log-odds"
            )
        plan = correct(plan, check_shift(plan, model.shift))
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


def check_shift(plan: Plan, shift: Any) -> Any:
    d = np.asarray(shift, np.float64)
    assert plan.classes is not None
    K = len(plan.classes)
    if d.ndim == 0 and K == 2:
        return float(d)
    if d.shape == (K,):
        return float(d[1] - d[0]) if K == 2 else d
    raise ValueError(
        f"shift has shape {d.shape}, but the model has {K} classes: one number for two, else one "
        "for each"
    )


def calibrated(plan: Plan, calibrator: Any) -> Plan:
    """What ``predict`` of the model gives, calibrated; of margins if the calibrator is for them."""
    if is_of_margins(calibrator) and plan.probability is not None:
        if plan.score[-1:] != (SIGMOID,):
            raise ValueError(
                "calibrator has input_space='margin', but the model has no log-odds of its own, "
                "only probabilities: fit the calibrator on these"
            )
        plan = replace(plan, score=plan.score[:-1])
    elif is_of_margins(calibrator):
        plan = replace(plan, score=())
    elif plan.probability is not None:
        plan = plan.as_probability
    if takes_columns(calibrator) and plan.classes is None:
        raise ValueError(
            f"{type(calibrator).__name__} needs the probability of each class, which the model "
            "does not predict: use another calibrator"
        )
    if not plan.is_score and not takes_columns(calibrator):
        raise ValueError(
            f"{type(calibrator).__name__} maps one score, but the model predicts probabilities of "
            f"{plan.outputs} classes: use TemperatureCalibrator"
        )
    step = calibration(calibrator)
    if takes_columns(calibrator) and plan.is_score:
        T, b = step["temperature"], step["biases"]
        step = log_odds_line(1 / T, float(b[1] - b[0]))
    classes = BINARY if plan.classes is None else plan.classes
    return replace(plan.then(step), probability=(), classes=classes)


KINDS: dict[type, Callable[[Any], Plan]] = {
    ServedModel: of_served_model, estimators.QWKClassifier: of_qwk_classifier,
    estimators.ThresholdClassifier: lambda model: Plan((), (), thresholds=model.thresholds_),
    estimators.DownsampledClassifier: of_downsampled_classifier,
    estimators.CalibratedClassifier: of_calibrated_classifier,
}  # fmt: skip
