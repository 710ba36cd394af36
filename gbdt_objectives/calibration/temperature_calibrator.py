"""Calibrator of several classes by the temperature and the biases of greatest likelihood.

Symbols: z (n, K) log-probabilities; a = 1/T; b (K,) with mean 0; calibrated: softmax(a z + b).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Sampling, shown
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import BLOCK_BYTES, blocks
from gbdt_objectives._steps.steps import (
    SavedAsJSON,
    Step,
    evaluate,
    read_flag,
    read_number,
    read_numbers,
)
from gbdt_objectives.calibration import rows as _rows
from gbdt_objectives.calibration.calibrators import Loss, minimize_convex
from gbdt_objectives.calibration.rows import ROUND_OFF, LabelledRows


def read_class_labels(key: str, labels: Any) -> Any:
    if labels is None:
        return None
    kinds = {type(label) for label in labels} if isinstance(labels, list) else {None}
    if not kinds <= {str} and not kinds <= {int, float}:
        raise ValueError(
            f"{key} must be null, or a list of numbers or of strings, found {shown(labels)}"
        )
    _checks.check_order(labels, ordinal=False)
    return labels


@public
@dataclass(eq=False, repr=False)
class TemperatureCalibrator(SavedAsJSON, BaseEstimator):  # type: ignore[misc]
    """Calibrator of class probabilities by one temperature, and a bias for each class.

    Use it for several classes.

    ::

        p'_k proportional to p_k^(1/T) exp(b_k),   T > 0 and b of greatest likelihood

    It divides log-odds by T and shifts them; T > 1 says that the model was overconfident. With
    ``bias=False``, b = 0 and the most probable class stays. Probabilities of 0 do not change.
    Probabilities that separate the classes perfectly, up to biases, have no greatest likelihood.
    They are fitted to the targets (N_k + 1)/(N_k + K) for the label k and 1/(N_k + K) for the
    others, where N_k is the weight of label k; for two classes these are Platt's. ``fit`` refuses
    labels whose probability is exactly 0; with ``bias=True`` classes without rows, or which zeros
    tell from the others with certainty; and probabilities that do not rise with their labels, as
    when the columns have another order.

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

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), "On calibration of modern neural networks", ICML;
    Alexandari, Kundaje & Shrikumar (2020), ICML, for the biases.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives.calibration import TemperatureCalibrator
    >>> p = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], 10, axis=0)
    >>> y = np.repeat([0, 1, 2, 1, 0, 2, 2, 0, 1], [6, 2, 2] * 3)
    >>> calibrator = TemperatureCalibrator().fit(p, y)
    >>> calibrator.predict([[0.8, 0.1, 0.1]]).round(4), round(calibrator.temperature_, 4)
    (array([[0.6, 0.2, 0.2]]), 1.8928)
    """

    _: KW_ONLY
    bias: bool = False
    labels: ArrayLike | None = None

    _takes_columns = True
    _saved: ClassVar = {
        "bias": read_flag, "labels": read_class_labels,
        "temperature": read_number, "biases": read_numbers,
    }  # fmt: skip

    def fit(
        self, probability: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *,
        negative_keep_rate: float | None = None, keep_rate: ArrayLike | None = None,
        class_keep_rates: Mapping[Any, float] | None = None,
    ) -> TemperatureCalibrator:  # fmt: skip
        """Fit on probabilities of rows the model was not trained on, such as out-of-fold ones.

        Parameters
        ----------
        probability : array-like of shape (n, K)
            A column per class; rows sum to 1 to 1e-4. They are of the full population.
        y, sample_weight : array-like of shape (n,)
            Classes of the kept rows; if given, weights >= 0, where w means w copies of the row.
        negative_keep_rate, keep_rate : optional
            Of two classes, rates at which rows of the first of ``labels`` were kept: one for all,
            or (n,), as in ``LogitCalibrator.fit``. ``predict`` is for the full population.
        class_keep_rates : mapping, optional
            Instead, also of several classes, the rate in (0, 1] at which rows of each were kept, by
            label, as ``measured_keep_rates`` gives them.

        Raises
        ------
        ValueError, TypeError
            What the class refuses, one class only, bad arguments or parameters.
        """
        _checks.is_given(self, y)
        bias = _checks.flag("bias", self.bias)
        p = check_class_columns(probability)
        order = _rows.column_classes(self.labels, p)
        if self.labels is None and _checks.as_array("y", y).dtype.kind not in "biuf":
            raise TypeError(
                "y must hold the positions of the columns, 0 to K-1, unless labels name them: "
                f"pass {type(self).__name__}(labels=model.classes_)"
            )
        position = _checks.positions("y", y, order).astype(np.int64)
        rows = LabelledRows.weighed(position, p, sample_weight, "probability")
        check_class_labels(rows.y, rows.p, order, bias)
        offset = class_offset(negative_keep_rate, keep_rate, class_keep_rates, rows, order)
        with np.errstate(divide="ignore"):
            z = np.log(rows.p)
        if not bias and np.ptp(offset) > 0:
            as_drawn, corrected = (mean_loss(x, rows.y, rows.w) for x in (z, z + offset))
            if as_drawn < corrected:
                _checks.warn(
                    "probability fits the kept rows better as it is than with the rates, so it is "
                    "of the sample, not of the full population, which a temperature alone does not "
                    "correct: pass bias=True, or correct_probability(p, class_keep_rates=...)"
                )
        a, b = fit_temperature(z, rows.y, rows.w, bias, offset)
        if a == 0:
            raise ValueError(
                "probability does not rise with the labels, or not beyond chance: are its columns "
                f"in the order of labels, {shown(order.tolist())}?"
            )
        self.temperature_, self.bias_ = 1 / a, b
        return self

    def predict(self, probability: ArrayLike) -> Array:
        """Return the calibrated probabilities, float64 of shape (n, K); each row sums to 1.

        ``probability`` has a column per class, in the order that ``fit`` saw.
        """
        check_is_fitted(self)
        p = check_class_columns(probability)
        if p.shape[1] != len(self.bias_):
            raise ValueError(
                f"probability has {p.shape[1]} columns, but fit saw {len(self.bias_)}: pass a "
                "column per class, in the same order"
            )
        return evaluate(p, self._step())

    def _step(self) -> Step:
        T, b = self.temperature_, self.bias_
        return {"formula": "temperature", "temperature": T, "biases": b}

    def _values(self) -> list[Any]:
        return [self.bias, self.labels, self.temperature_, self.bias_]

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> TemperatureCalibrator:
        temperature, biases, labels = data["temperature"], data["biases"], data["labels"]
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, found {temperature:g}")
        if len(biases) < 2 or (labels is not None and len(labels) != len(biases)):
            found = f"found {len(biases)}: the text was changed"
            raise ValueError(f"biases must be one a class, at least two, {found}")
        if not data["bias"] and biases.any():
            raise ValueError("biases must be 0 if bias is false: the text was changed")
        calibrator = cls(bias=data["bias"], labels=labels)
        calibrator.temperature_, calibrator.bias_ = temperature, biases
        return calibrator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def check_class_columns(probability: ArrayLike) -> Array:
    if np.ndim(probability) != 2 or np.shape(probability)[1] < 2:
        raise ValueError(
            "probability must be (n, K), a column for each of two classes or more, found shape "
            f"{np.shape(probability)}: for the probability of label 1 alone use LogitCalibrator"
        )
    return _checks.probabilities("probability", probability)


def check_class_labels(y: Array, p: Array, order: Array, bias: bool) -> None:
    """Raise unless there are several labels, none of which had the probability 0."""
    weight = np.bincount(y, minlength=len(order))
    if (weight > 0).sum() == 1:
        found = f"y holds the single class {shown(order[y[0]])} in rows of weight above 0"
        raise ValueError(f"{found}: there must be rows of two classes or more")
    if bias and not weight.all():
        absent = order[weight.argmin()]
        found = f"y has no row of class {shown(absent)}, whose bias cannot be fitted"
        raise ValueError(f"{found}: add such rows, or use bias=False")
    wrong = p[np.arange(len(y)), y] == 0
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"probability is exactly 0 for the label of {int(wrong.sum())} rows, the first of "
            f"class {shown(order[y[row]])}: a temperature cannot calibrate what was certain and "
            "wrong; use a model that is never certain, or margins that did not underflow"
        )


def class_offset(
    negative_keep_rate: float | None, keep_rate: ArrayLike | None,
    class_keep_rates: Mapping[Any, float] | None, rows: LabelledRows, classes: Array,
) -> Array:  # fmt: skip
    """What sampling adds to the classes' log-probabilities, up to a constant: (K,), (n, K)."""
    both = negative_keep_rate is not None or keep_rate is not None
    if class_keep_rates is not None and not both:
        rates = _rows.read_class_rates(class_keep_rates, classes.tolist())
        kept = int(rates.argmax())
        each = (rates / rates[kept])[rows.y.astype(int)]
        Sampling(weights=rows.w, positive=rows.y == kept, rate=each)
        return np.log(rates)
    for name, given in (("negative_keep_rate", negative_keep_rate), ("keep_rate", keep_rate)):
        if given is not None and len(classes) > 2:
            raise ValueError(
                f"{name} is for two classes, found {len(classes)}, {shown(classes.tolist())}: "
                "pass class_keep_rates={label: rate}, or calibrate one class at a time, y == label"
            )
    d = _rows.sampling_offset(negative_keep_rate, keep_rate, class_keep_rates, rows)
    if isinstance(d, np.ndarray):
        return np.column_stack([np.zeros(len(d)), d])
    return np.append(np.zeros(len(classes) - 1), d)


def mean_loss(z: Array, y: Array, w: Array) -> float:
    """The log loss of log-probabilities up to a constant, (n, K)."""
    return float(np.average(np.logaddexp.reduce(z, axis=1) - z[np.arange(len(y)), y], weights=w))


def fit_temperature(z: Array, y: Array, w: Array, bias: bool, offset: Array) -> tuple[float, Array]:
    """The a > 0 and b of greatest likelihood; ``offset`` is added to margins, (K,) or (n, K)."""
    K = z.shape[1]
    if bias:
        margins = least_margins(z, y)
        check_links(margins)
        separable = no_negative_cycle(margins)
    else:
        separable = bool((z[np.arange(len(y)), y] >= z.max(axis=1)).all())
    target = laplace_targets(z, y, w) if separable else np.eye(K)[y]
    z, target = np.ascontiguousarray(z.T), np.ascontiguousarray(target.T)
    possible = np.isfinite(z)
    centered = np.where(possible, z, 0)
    centered -= centered.sum(axis=0) / possible.sum(axis=0)
    share = w / w.sum()
    unit = float(np.sqrt(share @ (centered**2 * possible).mean(axis=0)))
    if not unit > ROUND_OFF or (bias and np.ptp(np.where(possible, z, 1), 1).max() <= ROUND_OFF):
        raise ValueError(
            "probability is the same for all classes or in all rows: no temperature can be fitted"
        )
    x = np.where(possible, centered / unit, -np.inf)
    biases = K - 1 if bias else 0
    starts = [np.append(a, np.zeros(biases)) for a in (0.0, unit)]
    lowest = np.append(0, np.full(biases, -np.inf))
    columns = offset[:, None] if offset.ndim == 1 else offset.T
    theta = minimize_convex(softmax_loss(x, target, share, columns), starts, lowest)
    b = np.zeros(K)
    b[1 : len(theta)] = theta[1:]
    return float(theta[0] / unit), b - b.mean()


def least_margins(z: Array, y: Array) -> Array:
    """min z_k - z_l over the rows of label k, (K, K); inf where no row tells."""
    own = [z[y == k] for k in range(z.shape[1])]
    return np.array([(x[:, [k]] - x).min(axis=0, initial=np.inf) for k, x in enumerate(own)])


def check_links(margins: Array) -> None:
    """Raise if biases could set classes apart for ever, as no row holds them together."""
    from scipy.sparse.csgraph import connected_components

    parts, part = connected_components(np.isfinite(margins), connection="strong")
    if parts > 1:
        alone = np.flatnonzero(part == part[np.argmin(np.bincount(part)[part])])
        raise ValueError(
            f"the bias of class {alone[0]} (of 0 to K-1) has no maximum of the likelihood: zeros "
            "tell its rows from those of others with certainty; use bias=False"
        )


def no_negative_cycle(margins: Array) -> bool:
    """Whether biases b exist with z_k - z_l + b_k - b_l >= 0 for all rows of label k."""
    distance = margins.copy()
    for k in range(len(distance)):
        distance = np.minimum(distance, distance[:, [k]] + distance[k])
    return bool(distance.diagonal().min() >= 0)


def laplace_targets(z: Array, y: Array, w: Array) -> Array:
    """Targets (N_k + 1)/(N_k + K) for the label, 1/(N_k + K) for others: Platt's if K is 2."""
    K = z.shape[1]
    N = np.bincount(y, w, minlength=K)
    least = float(N[np.unique(y)].min())
    _rows.check_weights_count_rows(least, ", and the probabilities separate the labels")
    targets = (1 + np.eye(K)[y] * N[y, None]) * np.isfinite(z)
    targets /= targets.sum(axis=1, keepdims=True)
    return targets


def softmax_loss(x: Array, target: Array, w: Array, offset: Array) -> Loss:
    """Mean log loss of softmax(a x + b + offset) in a, or in a and b_1 ... b_{K-1}, b_0 = 0. Here
    all is (K, n), which numpy adds up fastest, but w (n,), and an offset of all rows (K, 1)."""
    K, possible = len(x), np.isfinite(x)
    x = np.where(possible, x, 0)
    of_label, offset_of_label = (target * x).sum(axis=0), (target * offset).sum(axis=0)
    shift = offset if possible.all() else np.where(possible, offset, -np.inf)

    def loss(theta: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = 0.0, np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
        a, b = theta[0], np.zeros((K, 1))
        b[1 : len(theta), 0] = theta[1:]
        for rows in blocks(w, BLOCK_BYTES // (2 * K)):
            own, v = x[:, rows], w[rows]
            m = a * own
            m += b + (shift if shift.shape[1] == 1 else shift[:, rows])
            top = m.max(axis=0)
            p = np.exp(m - top)
            total = p.sum(axis=0)
            p /= total
            mean = (p * own).sum(axis=0)
            value += v @ (np.log(total) + top - a * of_label[rows] - offset_of_label[rows])
            gradient[0] += v @ (mean - of_label[rows])
            q, d = v * p, own - mean
            qd = q * d
            hessian[0, 0] += (qd * d).sum()
            if len(theta) > 1:
                t = v * target[:, rows]
                value -= (b * t).sum()
                gradient[1:] += (q - t).sum(axis=1)[1:]
                hessian[0, 1:] += qd.sum(axis=1)[1:]
                hessian[1:, 1:] += (np.diag(q.sum(axis=1)) - p @ q.T)[1:, 1:]
        hessian[1:, 0] = hessian[0, 1:]
        return float(value), gradient, hessian

    return loss
