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
from gbdt_objectives._folds import Split, held_out_once
from gbdt_objectives.adapters._wrapped import predict_probability
from gbdt_objectives.estimators._base import (
    ProbabilityClassifier,
    check_classifier,
    check_features,
    check_rows,
    check_several_classes,
    check_weights,
    take_rows,
    weight_argument,
)

ROUND_OFF = 1e-9
"""Weighted means of labels, as in scikit-learn's isotonic regression, can exceed 1 by this much."""


class CalibratedClassifier(ProbabilityClassifier):
    """Classifier of two classes whose probabilities are calibrated on held-out rows.

    ``fit`` trains the classifier once per fold, fits one calibrator on the out-of-fold
    probabilities of all rows, and trains the classifier again on all rows.
    scikit-learn's ``CalibratedClassifierCV`` accepts only its own calibrators.

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
        Must hold each row out once. An int: that many stratified folds, not shuffled,
        as usual in scikit-learn; group folds if ``fit`` gets ``groups``. "prefit": the
        estimator is already fitted, on other rows, and ``fit`` gets rows for the
        calibrator only.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Sorted; the positive class last.
    estimator_ : classifier
        Fitted on all rows; ``estimator`` itself with ``cv="prefit"``.
    calibrator_ : calibrator
        Fitted.
    oof_probability_ : ndarray of shape (n,)
        Of the positive class: what the calibrator was fitted on.
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

    def __init__(self, estimator: Any, calibrator: Any, *, cv: Any = 5) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
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

        Returns
        -------
        CalibratedClassifier
            Itself.

        Raises
        ------
        ValueError, TypeError
            Not two classes, parameters that do not fit together, bad weights, splits
            that do not hold each row out once, and what the estimator or the calibrator
            raises.
        """
        self._check_parameters()
        X, target = check_rows(self, X, y)
        check_classification_targets(target)
        prefit = isinstance(self.cv, str)
        classes = np.asarray(self.estimator.classes_) if prefit else np.unique(target)
        check_several_classes(classes)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported, found the classes "
                f"{_checks.shown(classes.tolist())}: calibrate one class at a time, y == label"
            )
        position = positions("y", target, classes).astype(np.int64)
        wrapped = (self.calibrator,) if prefit else (self.estimator, self.calibrator)
        w = check_weights(sample_weight, len(target), *wrapped)
        if prefit:
            if groups is not None:
                raise ValueError("groups are for folds, but cv='prefit' has none: leave them out")
            model, p = self.estimator, predict_probability(self.estimator, X)[:, 1]
        else:
            group = None if groups is None else group_numbers(groups, len(target))
            splits = held_out_once(position, self.cv, group, shuffle=False)
            p = self._out_of_fold(X, target, position, w, splits)
            model = clone(self.estimator).fit(X, target, **weight_argument(w))
        calibrator = clone(self.calibrator).fit(p, position, **weight_argument(w))
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

    def _out_of_fold(
        self, X: Any, target: Array, position: Array, w: Array | None, splits: list[Split]
    ) -> Array:
        p = np.empty(len(position))
        for train, test in splits:
            if len(np.unique(position[train])) < 2:
                raise ValueError(
                    "cv gives a split whose training rows are of one class only: use fewer or "
                    "stratified folds, there must be several rows of each class"
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
