"""CalibratedClassifier: any classifier and any calibrator of this package, cross-fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, group_numbers, positions
from gbdt_objectives._folds import Split, held_out_at_most_once
from gbdt_objectives.adapters._wrapped import find_stopping_rounds, predict_probability
from gbdt_objectives.estimators._base import (
    ProbabilityClassifier,
    check_classifier,
    check_features,
    check_held_out_classes,
    check_names,
    check_rows,
    check_several_classes,
    check_weights,
    read_eval_set,
    take,
    take_rows,
    weight_argument,
)

FOLDS = 5

ROUND_OFF = 1e-9
"""Weighted means of labels, as in scikit-learn's isotonic regression, can exceed 1 by this much."""


class CalibratedClassifier(ProbabilityClassifier):
    """Classifier of two classes whose probabilities are calibrated on held-out rows.

    ``fit`` trains the classifier once per fold, fits one calibrator on the out-of-fold
    probabilities of all rows that are held out, and trains the classifier again on all rows.
    scikit-learn's ``CalibratedClassifierCV`` accepts only its own calibrators, and no splits
    by time.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``, such as ``DownsampledClassifier``. X and y are passed on as
        they are: XGBClassifier needs labels 0 and 1.
    calibrator : calibrator
        ``ROCConvexHullCalibrator``, ``InterceptCalibrator``, ``LogitCalibrator``, or
        anything with their ``fit(score, y, sample_weight)`` and ``predict(score)``, such
        as ``IsotonicRegression(out_of_bounds="clip")``. It is given probabilities.
    cv : int, splitter, iterable of splits or "prefit"
        Must hold no row out twice. An int: that many stratified folds, not shuffled,
        as usual in scikit-learn; group folds if ``fit`` gets ``groups``. Rows in the order
        of time: ``TimeSeriesSplit(5)``, or ``[(train, held_out)]`` with the later rows held
        out; an int would train models on later rows than they are judged on. "prefit": the
        estimator is already fitted, on other rows, and ``fit`` gets rows for the
        calibrator only. See also ``eval_set`` of ``fit``.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Sorted; the positive class last.
    estimator_ : classifier
        Fitted on all rows of X, those that splits never hold out or that come last in time
        included; ``estimator`` itself with ``cv="prefit"``.
    calibrator_ : calibrator
        Fitted.
    oof_probability_ : ndarray of shape (n,)
        Of the positive class: what the calibrator was fitted on. NaN for rows that no split
        held out, which it did not see. Of the rows of ``eval_set``, if that was given.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from gbdt_objectives import CalibratedClassifier, LogitCalibrator, normalized_entropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=4000)
    >>> y = (rng.random(4000) < 1 / (1 + np.exp(-x))).astype(int)
    >>> X = np.column_stack([x] * 5)  # naive Bayes counts each copy as new evidence
    >>> raw = GaussianNB().fit(X, y).predict_proba(X)[:, 1]
    >>> calibrated = CalibratedClassifier(GaussianNB(), LogitCalibrator()).fit(X, y)
    >>> p = calibrated.predict_proba(X)[:, 1]
    >>> round(normalized_entropy(y, raw), 2), round(normalized_entropy(y, p), 2)
    (1.58, 0.86)
    >>> round(calibrated.calibrator_.slope_, 2)
    0.2
    """

    estimator_: Any
    calibrator_: Any
    oof_probability_: Array

    def __init__(self, estimator: Any, calibrator: Any, *, cv: Any = FOLDS) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        eval_set: Any = None,
        eval_sample_weight: Any = None,
        **others: Any,
    ) -> CalibratedClassifier:
        """Fit the folds' classifiers, the calibrator, and the final classifier.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, features)
            Whatever the estimator accepts.
        y : array-like of shape (n,)
            Two classes.
        sample_weight : array-like of shape (n,), optional
            For the estimator and the calibrator.
        groups : array-like of shape (n,), optional
            Rows of one group stay on one side of each split.
        eval_set : [(X_val, y_val)], optional
            Rows of the population the model will be used on, for instance later ones. The
            estimator is trained once, on X and y, and the calibrator on these rows only;
            there are no folds, and ``cv`` is left at its default. In a pipeline the steps before
            this one do not transform them: make the pipeline the estimator instead.
        eval_sample_weight : [array-like of shape (n_val,)], optional
            Their weights, for the calibrator; ``sample_weight`` is then for the estimator only.
        **others
            Refused, with what to write instead.

        Returns
        -------
        CalibratedClassifier
            Itself.

        Raises
        ------
        ValueError, TypeError
            Not two classes, parameters or arguments that do not fit together, bad weights,
            splits that hold a row out twice, rows held out that are of one class only,
            labels in ``eval_set`` that ``y`` does not have, and what the estimator or the
            calibrator raises.
        """
        check_names(self, others)
        self._check_parameters()
        prefit = isinstance(self.cv, str)
        if eval_set is not None or prefit:
            self._check_without_folds(groups, eval_set)
        X, target = check_rows(self, X, y)
        check_classification_targets(target)
        classes = np.asarray(self.estimator.classes_) if prefit else np.unique(target)
        check_several_classes(classes)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported, found the classes "
                f"{_checks.shown(classes.tolist())}: calibrate one class at a time, y == label"
            )
        position = positions("y", target, classes).astype(np.int64)
        wrapped = (self.calibrator,) if prefit else (self.estimator, self.calibrator)
        evaluated = read_eval_set(self, X, classes, eval_set, eval_sample_weight, self.calibrator)
        w = check_weights(sample_weight, len(target), *wrapped[: 1 if evaluated else 2])
        held: Any = slice(None)
        if evaluated is not None:
            model = clone(self.estimator).fit(X, target, **weight_argument(w))
            X_val, position, w = evaluated
            p = predict_probability(model, X_val)[:, 1]
        elif prefit:
            model, p = self.estimator, predict_probability(self.estimator, X)[:, 1]
        else:
            group = None if groups is None else group_numbers(groups, len(target))
            splits, held = held_out_at_most_once(position, self.cv, group)
            check_held_out_classes("cv", classes, position[held], take(w, held))
            p = self._out_of_fold(X, target, position, w, splits)
            model = clone(self.estimator).fit(X, target, **weight_argument(w))
        weight = weight_argument(take(w, held))
        calibrator = clone(self.calibrator).fit(p[held], position[held], **weight)
        check_features(self, X, reset=True)
        self.calibrator_ = calibrator
        self.classes_, self.estimator_, self.oof_probability_ = classes, model, p
        return self

    def _check_parameters(self) -> None:
        check_classifier(self.estimator)
        calibrator = self.calibrator
        usable = hasattr(calibrator, "fit") and hasattr(calibrator, "predict")
        if isinstance(calibrator, type) or not usable or is_classifier(calibrator):
            raise TypeError(
                "calibrator must have fit and predict, and predict probabilities, as "
                f"LogitCalibrator() does, found {_checks.shown(calibrator)}"
            )
        if getattr(calibrator, "input_space", "probability") != "probability":
            raise ValueError(
                f"calibrator has input_space={calibrator.input_space!r}, but is given "
                "probabilities: leave it out"
            )
        if isinstance(self.cv, str):
            _checks.choice("cv", self.cv, ("prefit",))
            check_is_fitted(self.estimator)
        elif find_stopping_rounds(self.estimator) is not None:
            raise ValueError(
                "estimator stops early, but is given no rows to stop on, since those held out are "
                "the calibrator's: DownsampledClassifier(estimator, 1, correction='offset') holds "
                "out others, by its cv; or fit the estimator and pass cv='prefit'"
            )

    def _check_without_folds(self, groups: ArrayLike | None, eval_set: Any) -> None:
        """Raise for what only folds use, with rows that are held out already."""
        prefit = isinstance(self.cv, str)
        if groups is not None:
            way = "cv='prefit'" if prefit else "eval_set"
            raise ValueError(f"groups are for folds, but {way} has none: leave them out")
        if eval_set is not None and prefit:
            raise ValueError(
                "eval_set is given, but with cv='prefit' nothing is trained: pass the rows for the "
                "calibrator as X and y"
            )
        if eval_set is not None and not (isinstance(self.cv, int) and self.cv == FOLDS):
            raise ValueError(
                f"eval_set takes the place of folds, but cv = {_checks.shown(self.cv)} asks for "
                "some: leave one of the two out"
            )

    def _out_of_fold(
        self, X: Any, target: Array, position: Array, w: Array | None, splits: list[Split]
    ) -> Array:
        p = np.full(len(position), np.nan)
        for train, test in splits:
            if len(np.unique(position[train])) < 2:
                raise ValueError(
                    "cv gives a split whose training rows are of one class only: use fewer or "
                    "stratified folds, and if they are by time leave the first ones out; there "
                    "must be several rows of each class"
                )
            X_train, y_train, w_train = take_rows((X, target, w), train)
            model = clone(self.estimator).fit(X_train, y_train, **weight_argument(w_train))
            p[test] = predict_probability(model, _safe_indexing(X, test))[:, 1]
        return p

    def predict_proba(self, X: Any) -> Array:
        """Calibrated probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, features)

        Returns
        -------
        ndarray of shape (n, 2)
            float64, a column per class, in the order of ``classes_``.

        Raises
        ------
        ValueError
            What the estimator raises; a calibrator that does not predict probabilities,
            such as ``IsotonicRegression()`` beyond the scores it was fitted on.
        """
        check_is_fitted(self, "calibrator_")
        check_features(self, X, reset=False)
        p = self.calibrator_.predict(predict_probability(self.estimator_, X)[:, 1])
        p = check_probabilities(self.calibrator_, p)
        return np.column_stack([1 - p, p])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def check_probabilities(calibrator: Any, predicted: ArrayLike) -> Array:
    """What a calibrator predicted, (n,), in [0, 1] up to round-off."""
    p: Array = np.asarray(predicted, np.float64)
    wrong = ~((p >= -ROUND_OFF) & (p <= 1 + ROUND_OFF))
    if p.ndim != 1 or wrong.any():
        found = f"shape {p.shape}" if p.ndim != 1 else f"{p[wrong][0]} at row {wrong.argmax()}"
        raise ValueError(
            f"{type(calibrator).__name__} must predict probabilities (n,), found {found}: for "
            'scores beyond those it was fitted on IsotonicRegression needs out_of_bounds="clip"'
        )
    return np.clip(p, 0, 1)
