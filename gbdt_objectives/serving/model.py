"""ServedModel: a booster or classifier, and what belongs to it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from gbdt_objectives._checks import Array, Model, shown, warn
from gbdt_objectives._links import IDENTITY, Link
from gbdt_objectives._registry import Exported, library_of, library_of_model, name_of
from gbdt_objectives.adapters._imbalance import predict_probability
from gbdt_objectives.adapters._library import OpenLibrary
from gbdt_objectives.adapters._train import is_allowed_for
from gbdt_objectives.calibration.calibrator_choice import takes_columns
from gbdt_objectives.priors import LogOddsShift, correct_margin, correct_probability
from gbdt_objectives.thresholds import DecisionRule, Thresholds


@dataclass(frozen=True, eq=False)
class ServedModel(Exported):
    """A trained model with its shift, calibrator and thresholds, which apply in this order.

    Parameters
    ----------
    model : Booster, or fitted estimator
        Of XGBoost or LightGBM, of ``gbdt_objectives.adapters``, ``DownsampledClassifier`` or
        ``CalibratedClassifier``.
    thresholds : Thresholds or DecisionRule, optional
        What ``predict`` decides by: thresholds for the score, the probability of the second of two
        classes, or what ``optimize_decisions`` returns.
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
    thresholds: Thresholds | DecisionRule | None = None
    shift: LogOddsShift | None = None
    calibrator: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.model, ServedModel):
            raise TypeError(
                "model is a ServedModel within another, whose shift, calibrator and thresholds "
                "would count twice: make one of all that belongs to it"
            )
        if not isinstance(self.thresholds, Thresholds | DecisionRule | None):
            raise TypeError(
                f"thresholds must carry their classes, found {shown(self.thresholds)}: pass what "
                "optimize_thresholds or optimize_decisions returned, or Thresholds(values, labels)"
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
        if isinstance(cuts, DecisionRule) and not self._has_probability():
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

    def _check_classes(self, cuts: Thresholds | DecisionRule) -> None:
        """Raise for other classes than the model's, or for another order of them."""
        classes = [0, 1] if self.classes_ is None else self.classes_.tolist()
        labels, is_rule = cuts.labels.tolist(), isinstance(cuts, DecisionRule)
        reordered = labels != classes and set(labels) == set(classes)
        if is_rule and (len(labels) != len(classes) or reordered):
            raise ValueError(
                f"thresholds are a rule for the classes {shown(labels)}, but the model has "
                f"{shown(classes)}: make it of the model's probabilities, with labels= in its order"
            )
        if not is_rule and labels == classes[::-1]:
            raise ValueError(
                f"thresholds have the classes {labels}, but high scores mean {classes[1]!r}, of "
                f"which they are the probability: place thresholds with labels={classes}"
            )
        some = labels != classes and set(labels) & set(classes)
        if some and len(labels) == len(classes) and (is_rule or len(classes) == 2):
            what = "thresholds are a rule for" if is_rule else "thresholds separate"
            raise ValueError(
                f"{what} the classes {shown(labels)}, but the model has {shown(classes)}: make "
                f"them with labels={shown(classes)}, so that a label means the same class in both"
            )

    def _check_shift(self, shift: LogOddsShift) -> None:
        """Raise for a shift of what are no log-odds; warn of one that the model has in it."""
        model = self.model
        library, own = library_of_model(model), None
        if getattr(model, "correction", None) is not None:
            own = -np.log(np.atleast_2d(model.keep_rates_).mean(axis=0))
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
        positive = np.asarray(calibrator.predict(score), np.float64)
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
        if isinstance(self.thresholds, DecisionRule):
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
