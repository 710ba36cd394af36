"""What the estimators here share: their scikit-learn side, and the rows they are fitted on."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import column_or_1d, has_fit_parameter

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives.adapters._wrapped import Data


class Wrapping:
    """Mixin that passes X on as it is to the estimator it wraps, and so accepts the same X."""

    estimator: Any

    @property
    def _wrapped(self) -> Any:
        return self.estimator

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        wrapped = self._wrapped
        if hasattr(wrapped, "__sklearn_tags__") and not isinstance(wrapped, type):
            inner = get_tags(wrapped)
            for name in ("sparse", "allow_nan", "categorical"):
                setattr(tags.input_tags, name, getattr(inner.input_tags, name))
            if tags.classifier_tags and inner.classifier_tags:
                tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


class ProbabilityClassifier(Wrapping, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts the most probable class; of as many classes as the wrapped classifier."""

    classes_: Array

    def predict_proba(self, X: Any) -> Array:
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, features)

        Returns
        -------
        ndarray of shape (n,)
        """
        position = self.predict_proba(X).argmax(axis=1)
        label: Array = self.classes_[position]
        return label


def check_classifier(estimator: Any) -> None:
    """Raise unless it is a classifier, not its class, with probabilities."""
    if isinstance(estimator, type) or not hasattr(estimator, "predict_proba"):
        raise TypeError(
            "estimator must be a classifier with predict_proba, such as LGBMClassifier(), found "
            f"{shown(estimator)}"
        )


def check_several_classes(classes: Array, counting: str = "") -> None:
    """Raise unless there are two classes or more."""
    if len(classes) < 2:
        raise ValueError(
            f"y has rows{counting} of one class only, found {shown(classes.tolist())}: there must "
            "be two or more"
        )


def check_rows(estimator: Any, X: Any, y: ArrayLike) -> tuple[Any, Array]:
    """X, made to be indexed by row, and y of the same length; the estimator is not changed."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    check_two_dimensional(X)
    _checks.not_masked("y", y)
    rows, target = indexable(X, column_or_1d(y, warn=True))
    if len(target) == 0:
        raise ValueError("y is empty: there must be at least one row")
    return rows, target


def check_score(score: ArrayLike) -> Array:
    """(n,) or (n, 1) scores as (n,)."""
    if hasattr(score, "toarray"):
        raise TypeError("score is a sparse matrix: pass a dense array, score.toarray()")
    array = _checks.as_array("score", score)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"score must have shape (n,) or (n, 1), found {array.shape}: one score per row, "
            "not features"
        )
    if array.dtype.kind == "O":
        for value in array:
            if not isinstance(value, numbers.Real):
                raise TypeError(
                    f"score must hold real numbers, found {type(value).__name__} {shown(value)}: "
                    "convert it first"
                )
        array = array.astype(np.float64)
    return _checks.vector("score", array)


def check_two_dimensional(X: Any) -> None:
    if X is None:
        raise ValueError("X is None: pass the features, of shape (n, features)")
    _checks.not_masked("X", X)
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(
            f"X must be two-dimensional, found {X.ndim} dimension(s). Reshape your data: "
            "X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row"
        )


def check_features(estimator: Any, X: Any, *, reset: bool) -> None:
    """n_features_in_ and feature_names_in_; the wrapped estimator validates the rest."""
    check_two_dimensional(X)
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # scikit-learn 1.5, the last that XGBoost 2.1.0 works with
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)
    else:
        validate_data(estimator, X, reset=reset, skip_check_array=True)


def check_weights(sample_weight: ArrayLike | None, rows: int, *fitted: Any) -> Array | None:
    """Checked weights, if everything that is fitted with them accepts them."""
    if sample_weight is None:
        return None
    for thing in fitted:
        if not has_fit_parameter(thing, "sample_weight"):
            raise ValueError(
                f"sample_weight is given, but {type(thing).__name__} does not accept it: leave it "
                "out or use another; of a pipeline, make this the last step"
            )
    if not _checks.as_array("sample_weight", sample_weight).any():
        raise ValueError("sample_weight is zero in all rows: at least one row must count")
    return _checks.weights("sample_weight", sample_weight, rows)


def take(w: Array | None, rows: Array) -> Array | None:
    """The weights of some rows, if there are any."""
    return None if w is None else w[rows]


def take_rows(data: Data, rows: Array) -> Data:
    """X, y and weights of some rows."""
    X, y, w = data
    return _safe_indexing(X, rows), y[rows], take(w, rows)


def weight_argument(w: Array | None) -> dict[str, Any]:
    """What to give to fit: nothing without weights, as not every estimator accepts them."""
    return {} if w is None else {"sample_weight": w}
