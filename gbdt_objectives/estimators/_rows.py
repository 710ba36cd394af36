"""What every estimator here does with the rows it is fitted on."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import indexable
from sklearn.utils.validation import column_or_1d, has_fit_parameter

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array


def labelled_rows(estimator: Any, X: Any, y: ArrayLike) -> tuple[Any, Array]:
    """X, of which rows can be taken, and y as long; the estimator stays as it is."""
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
    except ImportError:  # scikit-learn < 1.6
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)
    else:
        validate_data(estimator, X, reset=reset, skip_check_array=True)


def accepted_weights(sample_weight: ArrayLike | None, rows: int, *wrapped: Any) -> Array | None:
    """Checked weights, if everything that is fitted with them takes them."""
    if sample_weight is None:
        return None
    for thing in wrapped:
        if not has_fit_parameter(thing, "sample_weight"):
            raise ValueError(
                f"sample_weight is given, but {type(thing).__name__} takes none: leave it out or "
                "use another; of a pipeline, make this the last step"
            )
    if not _checks.as_array("sample_weight", sample_weight).any():
        raise ValueError("sample_weight is zero in all rows: at least one row must count")
    return _checks.weights("sample_weight", sample_weight, rows)


def take(w: Array | None, rows: Array) -> Array | None:
    """The weights of some rows, if there are any."""
    return None if w is None else w[rows]


def weight_argument(w: Array | None) -> dict[str, Any]:
    """What to give to fit: nothing without weights, as not every estimator takes them."""
    return {} if w is None else {"sample_weight": w}
