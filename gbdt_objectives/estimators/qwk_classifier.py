"""QWKClassifier: any regressor in, ordered classes out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, check_order, group_numbers, positions
from gbdt_objectives._folds import Split, held_out_once
from gbdt_objectives._library import booster_kind
from gbdt_objectives.adapters._wrapped import (
    DEFAULTS,
    OWN_STOPPING,
    Data,
    check_best_round,
    count_rounds,
    fit,
    refuse_parameters,
)
from gbdt_objectives.estimators._base import (
    Wrapping,
    check_features,
    check_rows,
    check_weights,
    take_rows,
    weight_argument,
)
from gbdt_objectives.metrics import quadratic_weighted_kappa, qwk_metric
from gbdt_objectives.objectives import Objective, qwk_objective
from gbdt_objectives.thresholds import (
    ThresholdCrossValidation,
    Thresholds,
    apply_thresholds,
    cross_validate_thresholds,
)
from gbdt_objectives.thresholds.methods import (
    METHODS,
    comparable_methods,
    fit_thresholds,
    score_rises,
)
from gbdt_objectives.thresholds.rows import consecutive_labels, sort_rows


class QWKClassifier(Wrapping, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of ordered labels: a regressor trained for QWK, then thresholds.

    ``fit`` trains the regressor on class positions 0..K-1, once per fold; places
    thresholds on the out-of-fold scores; and then either refits on all rows or keeps
    the folds' models and averages them.

    Averaged scores are less spread than those of one model, so thresholds made for single
    models would be too far apart. With ``ensemble=True`` the scores are stretched about
    their mean, by ::

        stretch^2 = var(o) / cov(o, a)

    o the out-of-fold score of a row (one model, which has not seen it), a the mean of all
    models' scores of that row. On new rows var(a) is the mean covariance of two models'
    scores, including a model with itself. cov(o, a) is the same mean on training rows,
    where one of the two has not seen the row: unlike in var(a), a memorised label does
    not count as spread. After the stretch mean and spread are about those of the scores
    that the thresholds were placed on. (Models that memorise their training rows are
    stretched a little too much: the noise they share is missed. Measured on single deep
    trees: 1.16 where 1.14 was needed and var(a) on training rows would give 1.07; with
    leaves of 10 rows 1.049, 1.049, 1.036.)

    Parameters
    ----------
    estimator : regressor
        LGBMRegressor, XGBRegressor, or with ``objective=None`` any scikit-learn
        regressor. X is passed on as it is, with missing values and categories.
    objective : "qwk", Objective or None
        "qwk": ``qwk_objective`` measured on each fold's training labels and weights,
        starting at their mean, which becomes part of the model. Another objective of this
        package is measured and started in the same way. None: the regressor's own.
    thresholds : {"plugin", "exact", "nelder-mead", "rounding", "auto"}
        Method that places them. "auto": plug-in, unless exact or rounding is better by
        more than one standard error when cross-validated on the same folds.
    cv : int, splitter or iterable of splits
        Must hold each row out once. An int: that many stratified folds, not shuffled,
        as usual in scikit-learn; group folds if ``fit`` gets ``groups``.
    ensemble : bool
        False: refit on all rows, one model to keep. True: average the folds' models;
        nothing is refitted, and predicting takes as many times longer.
    labels : array-like of shape (K,), optional
        All classes in order, lowest first, of any type. None: the integers from min to
        max of y, some of which may be missing. Strings need it: alphabetical order says
        nothing about their rank.
    early_stopping_rounds : int, optional
        LGBMRegressor and XGBRegressor: stop each fold when the QWK of the rounded
        scores on its held-out rows has not improved for this many rounds. The refit uses
        the mean of the folds' best numbers of rounds. As the held-out rows choose the
        round, the out-of-fold scores are then slightly optimistic.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        In order, lowest first.
    thresholds_ : ndarray of shape (K-1,)
        In units of class positions, as ``predict_score``; for ``apply_thresholds``.
    thresholds_method_ : str
        The method that placed them.
    comparison_ : ThresholdCrossValidation
        What "auto" chose by; for "auto" only.
    estimator_ : regressor
        Fitted on all rows (``ensemble=False``).
    estimators_ : list of regressor
        One per fold (``ensemble=True``).
    oof_score_ : ndarray of shape (n,)
        Out-of-fold scores, for ``cross_validate_thresholds``.
    stretch_ : float
        Factor by which averaged scores are stretched about ``center_``; 1 without ensemble.
    center_ : float
        Mean out-of-fold score.
    best_iterations_ : list of int
        Rounds of each fold's model, with early stopping.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from gbdt_objectives import QWKClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> grade = np.digitize(X[:, 0] + 0.5 * rng.normal(size=300), [-1, 1])
    >>> y = np.array(["low", "mid", "high"])[grade]
    >>> classifier = QWKClassifier(Ridge(), objective=None, labels=["low", "mid", "high"])
    >>> classifier = classifier.fit(X, y)
    >>> classifier.predict([[-3, 0, 0], [0, 0, 0], [3, 0, 0]]).tolist()
    ['low', 'mid', 'high']
    >>> round(classifier.score(X, y), 2)
    0.72
    """

    classes_: Array
    thresholds_: Array
    thresholds_method_: str
    oof_score_: Array
    center_: float
    stretch_: float
    estimator_: Any
    estimators_: list[Any]
    comparison_: ThresholdCrossValidation
    best_iterations_: list[int]

    def __init__(
        self,
        estimator: Any,
        *,
        objective: Literal["qwk"] | Objective | None = "qwk",
        thresholds: str = "plugin",
        cv: Any = 5,
        ensemble: bool = False,
        labels: ArrayLike | None = None,
        early_stopping_rounds: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.thresholds = thresholds
        self.cv = cv
        self.ensemble = ensemble
        self.labels = labels
        self.early_stopping_rounds = early_stopping_rounds

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> QWKClassifier:
        """Fit the folds' models, the thresholds, and the final model.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, features)
            Whatever the regressor accepts.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            For the regressor, the objective, early stopping and the thresholds.
        groups : array-like of shape (n,), optional
            Rows of one group stay on one side of each split.

        Returns
        -------
        QWKClassifier
            Itself.

        Raises
        ------
        ValueError, TypeError
            Parameters that do not fit together, labels without an order, bad weights,
            splits that do not hold each row out once, and what the regressor raises.
        """
        self._check_parameters()
        X, target = check_rows(self, X, y)
        if len(target) < 2:
            raise ValueError("found n_samples=1: there must be rows of at least two classes")
        if self.labels is None:
            check_classification_targets(target)
            classes = consecutive_labels(target)
        else:
            classes = check_order(self.labels)
        position = positions("y", target, classes).astype(np.int64)
        w = check_weights(sample_weight, len(target), self.estimator)
        group = None if groups is None else group_numbers(groups, len(target))
        splits = held_out_once(position, self.cv, group, shuffle=False)

        data = X, position, w
        models, oof, average = self._fit_folds(data, len(classes), splits)
        method, cuts, comparison = self._place(position, oof, w, len(classes), splits)
        found: dict[str, Any] = {
            "classes_": classes,
            "thresholds_": Thresholds(cuts, classes),
            "thresholds_method_": method,
            "oof_score_": oof,
            "center_": float(np.average(oof, weights=w)),
            "stretch_": _stretch(oof, average, w) if self.ensemble else 1.0,
        }
        if comparison is not None:
            found["comparison_"] = comparison
        if self.early_stopping_rounds is not None:
            found["best_iterations_"] = [count_rounds(model) for model in models]
        if self.ensemble:
            found["estimators_"] = models
        else:
            final = clone(self.estimator)
            if self.early_stopping_rounds is not None:
                best = round(float(np.mean(found["best_iterations_"])))
                final.set_params(n_estimators=max(1, best))
            found["estimator_"] = self._fit_model(final, data, len(classes))
        check_features(self, X, reset=True)
        for name in ("estimator_", "estimators_", "comparison_", "best_iterations_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        self.__dict__.update(found)
        return self

    def _check_parameters(self) -> None:
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "predict"):
            raise TypeError(
                f"estimator must be a regressor such as LGBMRegressor(), found {self.estimator!r}"
            )
        if is_classifier(self.estimator):
            raise TypeError(
                f"estimator must be a regressor, found the classifier {self.estimator!r}: "
                "thresholds need one continuous score, use its regressor"
            )
        _checks.choice("thresholds", self.thresholds, (*METHODS, "auto"))
        _checks.flag("ensemble", self.ensemble)
        check_objective(self.estimator, self.objective)
        check_early_stopping(self.estimator, self.early_stopping_rounds)

    def _fit_folds(
        self, data: Data, K: int, splits: Sequence[Split]
    ) -> tuple[list[Any], Array, Array]:
        """The folds' models, the out-of-fold scores, and the scores averaged over all models."""
        X, n = data[0], len(data[1])
        models: list[Any] = []
        oof, average = np.empty(n), np.zeros(n)
        for train, test in splits:
            stops = self.early_stopping_rounds is not None
            held_out = take_rows(data, test) if stops else None
            model = self._fit_model(clone(self.estimator), take_rows(data, train), K, held_out)
            if self.ensemble:
                score = self._model_score(model, X, K)
                average += score / len(splits)
                oof[test] = score[test]
            else:
                oof[test] = self._model_score(model, _safe_indexing(X, test), K)
            models.append(model)
        return models, oof, average

    def _fit_model(self, model: Any, data: Data, K: int, held_out: Data | None = None) -> Any:
        """The regressor, fitted on class positions; it predicts in their units."""
        X, position, w = data
        kind = booster_kind(model, "Regressor")
        if kind is None:
            return model.fit(X, position.astype(np.float64), **weight_argument(w))
        objective = self.objective
        if objective is not None:
            if objective == "qwk":
                objective = qwk_objective(label_range=(0, K - 1))
            given = getattr(objective, "label_range", None)
            if given not in (None, (0, K - 1)):
                raise ValueError(
                    f"objective has label_range {given}, but QWKClassifier trains on class "
                    f"positions 0 to {K - 1}: pass objective='qwk', or make the objective without "
                    "labels (centre and spread are of positions, too)"
                )
            objective = objective.measured(position, w)
        metric = qwk_metric((0, K - 1))
        return fit(model, kind, objective, data, metric, held_out, self.early_stopping_rounds)

    def _place(
        self, position: Array, oof: Array, w: Array | None, K: int, splits: Sequence[Split]
    ) -> tuple[str, Array, ThresholdCrossValidation | None]:
        """Method and thresholds, of class positions."""
        labels, metric = np.arange(K), qwk_metric()
        rows = sort_rows(oof, position, w, labels)
        if not score_rises(rows):
            warnings.warn(
                "the out-of-fold scores do not rise with the class: the regressor has learnt "
                "nothing that holds on new rows",
                UserWarning,
                stacklevel=3,
            )
        elif self.thresholds == "auto":
            comparison = cross_validate_thresholds(
                position,
                oof,
                method=comparable_methods(metric, labels),
                cv=list(splits),
                labels=labels,
                sample_weight=w,
                n_bootstrap=0,
            )
            best = comparison.best
            return best, comparison.thresholds[comparison.methods.index(best)], comparison
        method = "plugin" if self.thresholds == "auto" else self.thresholds
        return method, fit_thresholds(method, rows, metric), None

    def _model_score(self, model: Any, X: Any, K: int) -> Array:
        """One model's scores; clipped to 0..K-1 if its objective clips them."""
        clips = self.objective == "qwk" or getattr(self.objective, "clip", False)
        score = np.asarray(model.predict(X), np.float64)
        if score.ndim == 2 and score.shape[1] == 1:
            score = score[:, 0]
        return score.clip(0, K - 1) if clips else score

    def predict_score(self, X: Any) -> Array:
        """Continuous score of each row, in units of class positions 0..K-1.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, features)

        Returns
        -------
        ndarray of shape (n,)
            float64, on the scale of ``oof_score_`` and ``thresholds_``. With a clipping
            QWK objective each model's scores are clipped to 0..K-1, as the objective
            clips them: beyond the labels training does not constrain them.
        """
        check_is_fitted(self, "thresholds_")
        check_features(self, X, reset=False)
        if not hasattr(self, "estimators_"):
            return self._model_score(self.estimator_, X, len(self.classes_))
        K = len(self.classes_)
        average = np.mean([self._model_score(model, X, K) for model in self.estimators_], axis=0)
        score: Array = self.center_ + self.stretch_ * (average - self.center_)
        return score

    def predict(self, X: Any) -> Array:
        """The class of each row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, features)

        Returns
        -------
        ndarray of shape (n,)
        """
        return apply_thresholds(self.predict_score(X), self.thresholds_, self.classes_)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Quadratic weighted kappa of the predicted classes.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, features)
        y : array-like of shape (n,)
            Classes; integers need not have occurred in ``fit`` if ``labels`` is None.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
        """
        labels = None if self.labels is None else self.classes_
        predicted = self.predict(X)
        return quadratic_weighted_kappa(y, predicted, labels=labels, sample_weight=sample_weight)


def check_objective(estimator: Any, objective: object) -> None:
    """Raise unless the regressor can be trained on the objective."""
    own = estimator.get_params().get("objective") if objective is None else objective
    if isinstance(own, Objective) and own.is_by_row:
        raise ValueError(
            f"objective {own!r} is for training rows in their order, but QWKClassifier trains on "
            "folds of them: score the rows with cross_val_predict(regressor, X, y, "
            "params={'cost': cost}), of a drop-in estimator on objective(function, "
            "rows=['cost']), and fit a ThresholdClassifier to the scores"
        )
    if objective is None:
        return
    if objective != "qwk" and not isinstance(objective, Objective):
        raise TypeError(
            f"objective must be 'qwk', an objective such as qwk_objective(), or None, found "
            f"{objective!r}"
        )
    kind = booster_kind(estimator, "Regressor")
    if kind is None:
        raise ValueError(
            f"objective={objective!r} needs an LGBMRegressor or XGBRegressor, found "
            f"{type(estimator).__name__}, which cannot be given an objective: pass objective=None "
            "to train it on its own"
        )
    refuse_parameters(
        estimator.get_params(),
        ("objective",),
        DEFAULTS["Regressor"][kind],
        f"but QWKClassifier objective={objective!r}: leave the first out, or pass objective=None",
    )
    if isinstance(objective, Objective) and objective.link != "identity":
        raise ValueError(
            f"objective {objective!r} has the link {objective.link!r}: scores must be in units of "
            "the class positions; for its own classes use LGBMClassifier or XGBClassifier of "
            "gbdt_objectives.adapters"
        )


def check_early_stopping(estimator: Any, stopping_rounds: object) -> None:
    """Raise if the regressor cannot be stopped early, or would do so on its own terms."""
    kind = booster_kind(estimator, "Regressor")
    if kind is not None:
        parameters = estimator.get_params()
        refuse_parameters(
            parameters,
            OWN_STOPPING,
            (),
            "which gets no held-out rows and (in XGBoost) minimises kappa: pass "
            "early_stopping_rounds= to QWKClassifier",
        )
    if stopping_rounds is None:
        return
    _checks.whole_number("early_stopping_rounds", stopping_rounds, 1)
    if kind is None:
        raise ValueError(
            "early_stopping_rounds is for LGBMRegressor and XGBRegressor, found "
            f"{type(estimator).__name__}: use the regressor's own early stopping"
        )
    check_best_round(parameters)


def _stretch(oof: Array, average: Array, w: Array | None) -> float:
    """sd(oof) / sd(average on new rows), at least 1: an average is never spread more."""
    o = oof - np.average(oof, weights=w)
    variance = float(np.average(o * o, weights=w))
    covariance = float(np.average(o * average, weights=w))
    if variance == 0 or covariance <= 0:  # nothing learnt: warned of when placing thresholds
        return 1.0
    return max(1.0, float(np.sqrt(variance / covariance)))
