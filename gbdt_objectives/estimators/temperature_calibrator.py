"""Calibrator of several classes by temperature and bias."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks, _json
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._order import in_order
from gbdt_objectives.calibration.rows import weigh_rows
from gbdt_objectives.calibration.temperature import fit_temperature

if TYPE_CHECKING:
    from typing_extensions import Self


def read_labels(key: str, labels: Any) -> Any:
    if labels is None:
        return None
    kinds = {type(label) for label in labels} if isinstance(labels, list) else {None}
    if not kinds <= {str} and not kinds <= {int, float}:
        raise ValueError(
            f"{key} must be null, or a list of numbers or of strings, found {shown(labels)}"
        )
    _checks.check_order(labels)
    return labels


class TemperatureCalibrator(_json.SavedAsJSON, BaseEstimator):  # type: ignore[misc]
    """Calibrator of class probabilities by one temperature, and a bias for each class.

    ::

        p'_k proportional to p_k^(1/T) exp(b_k),   T > 0 and b of greatest likelihood

    It divides log-odds by T and shifts them; T > 1 says that the model was overconfident. With
    ``bias=False``, b = 0 and the most probable class stays. With two classes and ``bias=True`` it
    is ``LogitCalibrator``. Probabilities of exactly 0 do not change.

    Probabilities that separate the classes perfectly, up to biases, have no greatest likelihood.
    They are fitted to the targets (N_k + 1)/(N_k + K) for the label k and 1/(N_k + K) for the
    others, where N_k is the weight of label k; for two classes these are Platt's.

    Parameters
    ----------
    bias : bool
        Whether classes have biases, for a model whose shares of classes are off.
    labels : array-like of shape (K,), optional
        The class of each column, as in ``classes_``. None: 0 to K-1.

    Attributes
    ----------
    temperature_, bias_ : float, ndarray of shape (K,)
        The temperature T, and the biases b, with mean 0.

    Notes
    -----
    ``fit`` refuses labels whose probability is exactly 0; with ``bias=True`` classes without rows,
    or which zeros tell from the others with certainty; and probabilities that do not rise with
    their labels, as when the columns have another order.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), "On calibration of modern neural networks", ICML;
    Alexandari, Kundaje & Shrikumar (2020), "Maximum likelihood with bias-corrected
    calibration is hard-to-beat at label shift adaptation", ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.estimators import TemperatureCalibrator
    >>> p = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], 10, axis=0)
    >>> y = np.repeat([0, 1, 2, 1, 0, 2, 2, 0, 1], [6, 2, 2] * 3)
    >>> calibrator = TemperatureCalibrator().fit(p, y)
    >>> calibrator.predict([[0.8, 0.1, 0.1]]).round(4), round(calibrator.temperature_, 4)
    (array([[0.6, 0.2, 0.2]]), 1.8928)
    """

    _saved: ClassVar = {
        "bias": _json.read_flag,
        "labels": read_labels,
        "temperature": _json.read_number,
        "biases": _json.read_numbers,
    }

    def __init__(self, *, bias: bool = False, labels: ArrayLike | None = None) -> None:
        self.bias = bias
        self.labels = labels

    @in_order
    def fit(
        self, probability: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit on probabilities of rows the model was not trained on, such as out-of-fold ones.

        Parameters
        ----------
        probability : array-like of shape (n, K)
            A column per class; rows sum to 1 to 1e-4.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0; w means the same as w copies of the row.

        Raises
        ------
        ValueError, TypeError
            One class only, NaN, lengths that differ, bad weights or parameters, and what the
            notes of the class name.
        """
        if y is None:
            raise ValueError("a calibrator requires y to be passed, but the target y is None")
        bias = _checks.flag("bias", self.bias)
        p = check_columns(probability)
        K = p.shape[1]
        order = np.arange(K) if self.labels is None else _checks.check_order(self.labels)
        if len(order) != K:
            raise ValueError(
                f"labels has {len(order)} classes, but probability has {K} columns: list the "
                "classes in the order of the columns"
            )
        if self.labels is None and _checks.as_array("y", y).dtype.kind not in "biuf":
            raise TypeError(
                "y must hold the positions of the columns, 0 to K-1, unless labels name them: "
                f"pass {type(self).__name__}(labels=model.classes_)"
            )
        position = _checks.positions("y", y, order).astype(np.int64)
        rows = weigh_rows(position, p, sample_weight, "probability")
        check_labels(rows.y, rows.p, order, bias)
        with np.errstate(divide="ignore"):
            z = np.log(rows.p)
        a, b = fit_temperature(z, rows.y, rows.w, bias)
        if a == 0:
            raise ValueError(
                "probability does not rise with the labels, or not beyond chance: no temperature "
                "can be fitted; are its columns in the order of labels, "
                f"{shown(order.tolist())}?"
            )
        self.temperature_, self.bias_ = 1 / a, b
        return self

    def predict(self, probability: ArrayLike) -> Array:
        """Return the calibrated probabilities, float64 of shape (n, K); each row sums to 1.

        Parameters
        ----------
        probability : array-like of shape (n, K)
            A column per class, in the order that ``fit`` saw; rows sum to 1 to 1e-4.
        """
        check_is_fitted(self)
        p = check_columns(probability)
        if p.shape[1] != len(self.bias_):
            raise ValueError(
                f"probability has {p.shape[1]} columns, but fit saw {len(self.bias_)}: pass a "
                "column per class, in the same order"
            )
        with np.errstate(divide="ignore"):
            z = np.log(p)
        calibrated: Array = softmax(z / self.temperature_ + self.bias_, axis=1)
        return calibrated

    def _values(self) -> list[Any]:
        return [self.bias, self.labels, self.temperature_, self.bias_]

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> Self:
        temperature, biases, labels = data["temperature"], data["biases"], data["labels"]
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, found {temperature:g}")
        if len(biases) < 2 or (labels is not None and len(labels) != len(biases)):
            raise ValueError(
                f"biases must be one a class, at least two, found {len(biases)}: the text was "
                "changed"
            )
        if not data["bias"] and biases.any():
            raise ValueError("biases must be 0 if bias is false: the text was changed")
        calibrator = cls(bias=data["bias"], labels=labels)
        calibrator.temperature_, calibrator.bias_ = temperature, biases
        return calibrator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def check_columns(probability: ArrayLike) -> Array:
    if hasattr(probability, "toarray"):
        raise TypeError("probability is a sparse matrix: pass a dense array, probability.toarray()")
    if np.ndim(probability) != 2 or np.shape(probability)[1] < 2:
        raise ValueError(
            "probability must be (n, K), a column for each of two classes or more, found shape "
            f"{np.shape(probability)}: for the probability of label 1 alone use LogitCalibrator"
        )
    return _checks.probabilities("probability", probability)


def check_labels(y: Array, p: Array, order: Array, bias: bool) -> None:
    """Raise unless there are several labels, none of which had the probability 0."""
    weight = np.bincount(y, minlength=len(order))
    if (weight > 0).sum() == 1:
        raise ValueError(
            f"y holds the single class {shown(order[y[0]])} in rows of weight above 0: there must "
            "be rows of two classes or more"
        )
    if bias and not weight.all():
        absent = order[weight.argmin()]
        raise ValueError(
            f"y has no row of class {shown(absent)}, whose bias cannot be fitted: add such rows, "
            "or use bias=False"
        )
    wrong = p[np.arange(len(y)), y] == 0
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"probability is exactly 0 for the label of {int(wrong.sum())} rows, the first of "
            f"class {shown(order[y[row]])}: a temperature cannot calibrate what was certain and "
            "wrong; use a model that is never certain, or margins that did not underflow"
        )
