"""Scores of class probabilities (n, K), or of the softmax margins that give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._links import Link
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives._rows.workers import several
from gbdt_objectives.metrics.base import InputSpace, MeanMetric, counted_rows

ENCODE = "encode the classes as 0..K-1 in the order of the columns"


@dataclass(frozen=True, kw_only=True)
class ClassProbabilityMetric(MeanMetric):
    """A mean over the rows of (n, K) predictions; labels are 0..K-1."""

    greater_is_better: ClassVar[bool] = False
    link: ClassVar[Link | None] = Link.softmax(None)
    n_classes: int | None = None

    def _row_values(self, y: Array, p: Array) -> Array:
        """The metric of each row; predictions are float64 (K, n), as columns are fast."""
        raise NotImplementedError

    def read(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        y = _checks.as_array("y_true", y_true)
        if y.dtype.kind not in "biuf":
            raise TypeError(f"y_true has dtype {y.dtype}: {ENCODE}")
        y = _checks.whole_numbers("y_true", y)
        _checks.finite("y_true", y)
        p = self._read_columns(y_pred)
        _checks.same_length("y_pred", p, "the labels", len(y))
        K = p.shape[1]
        rule = f"must be a class 0 to {K - 1}, as y_pred has {K} columns"
        _checks.each("y_true", y, (y >= 0) & (y < K), rule, ENCODE)
        return counted_rows(y, p, sample_weight)

    def sums(self, rows: Rows) -> Any:
        def terms(y: Array, p: Array, xp: Any) -> tuple[Any, ...]:
            return self._row_values(y.astype(np.intp), np.ascontiguousarray(p.T)), 1.0

        return rows.sum(terms)

    def _read_columns(self, y_pred: ArrayLike) -> Array:
        p = _checks.real_array("y_pred", y_pred)
        if self.input_space == "probability":
            _checks.not_classes("y_pred", p)
        if several() and not p.size:  # XGBoost does not keep the shape
            p = p.reshape(0, self.n_classes or 2)
        if p.ndim != 2 or p.shape[1] < 2:
            raise ValueError(
                f"y_pred must be (n, K), a column per class, found shape {p.shape}: for log-odds "
                "or probabilities of label 1 use weighted_logloss_metric(1)"
            )
        if self.n_classes not in (None, p.shape[1]):
            raise ValueError(
                f"y_pred has {p.shape[1]} columns, but n_classes is {self.n_classes}: they must "
                "match, as must num_class of the booster"
            )
        _checks.finite("y_pred", p)
        if not p.size:  # a worker without rows
            return p
        unit = p.min() >= 0 and p.max() <= 1
        if self.input_space == "probability":
            if not unit:
                row = int(np.argwhere((p < 0) | (p > 1))[0][0])
                raise ValueError(
                    f"y_pred must hold probabilities in [0, 1], found {p[row].tolist()} at row "
                    f'{row}: for margins use input_space="margin"'
                )
            _checks.rows_sum_to_one("y_pred", p)
        elif unit and p.shape[1] > 2 and np.allclose(p.sum(axis=1), 1, rtol=0, atol=1e-5):
            raise ValueError(  # two margins that start at 1/2 can be such
                "y_pred holds rows in [0, 1] that sum to 1, which are probabilities, as boosters "
                'hand out under a built-in objective: use input_space="probability"'
            )
        return p


@dataclass(frozen=True, kw_only=True)
class ClassLoglossMetric(ClassProbabilityMetric):
    """Mean logloss of class probabilities; made by :func:`class_logloss_metric`."""

    name: ClassVar[str] = "class_logloss"

    def _row_values(self, y: Array, p: Array) -> Array:
        from scipy.special import log_softmax

        row = np.arange(len(y))
        if self.input_space == "margin":
            log_p: Array = log_softmax(p, axis=0)[y, row]
        else:
            with np.errstate(divide="ignore"):  # log 0: a certain prediction that is wrong
                log_p = np.log(p[y, row])
        return -log_p


@dataclass(frozen=True, kw_only=True)
class RankedProbabilityScoreMetric(ClassProbabilityMetric):
    """Squared error of cumulative probabilities; see :func:`ranked_probability_score_metric`."""

    name: ClassVar[str] = "ranked_probability_score"

    def _row_values(self, y: Array, p: Array) -> Array:
        if self.input_space == "margin":
            from scipy.special import softmax as probabilities

            p = probabilities(p, axis=0)
        error = np.cumsum(p, axis=0)[:-1]
        error -= y <= np.arange(len(error))[:, np.newaxis]
        return np.asarray(np.einsum("kn,kn->n", error, error))


def _fields(n_classes: int | None, input_space: InputSpace) -> dict[str, object]:
    if n_classes is not None:
        n_classes = _checks.whole_number("n_classes", n_classes, 2)
    _checks.choice("input_space", input_space, ("margin", "probability"))
    return {"n_classes": n_classes, "input_space": input_space}


def class_logloss_metric(
    n_classes: int | None = None, *, input_space: InputSpace = "margin"
) -> ClassLoglossMetric:
    """Mean logloss of the probabilities of K classes.

    Use it to stop or to judge models that predict the probability of each class.

    ::

        -sum w log P[y] / sum w,   P[k] = exp(z_k) / sum_j exp(z_j) for margins z

    For probabilities it is scikit-learn's ``log_loss``, but a certain prediction that is wrong
    costs inf, not the logarithm of the least float.

    Parameters
    ----------
    n_classes : int, optional
        K; labels are 0..K-1, in the order of the columns, and need not all occur. None: the number
        of columns.
    input_space : {"margin", "probability"}
        What the (n, K) predictions are: margins of a softmax, as boosters hand out under a softmax
        objective of your own, or probabilities, as under a built-in one.

    Returns
    -------
    Metric
        ``name`` "class_logloss", smaller is better. For one log-odds per row use
        ``weighted_logloss_metric(1)``, for margins that no softmax turns into probabilities
        ``loss_metric``.

    Raises
    ------
    ValueError
        ``n_classes`` below 2; when called, predictions that are not finite, not (n, K) or for
        another K; probabilities that are negative or do not sum to 1; margins of three or more
        classes that are probabilities; labels that are not 0..K-1.

    Examples
    --------
    >>> from gbdt_objectives.metrics import class_logloss_metric
    >>> metric = class_logloss_metric(3, input_space="probability")
    >>> round(metric([0, 2], [[0.7, 0.2, 0.1], [0.5, 0.25, 0.25]]), 4)
    0.8715
    """
    return ClassLoglossMetric(**_fields(n_classes, input_space))  # type: ignore[arg-type]


def ranked_probability_score_metric(
    n_classes: int | None = None, *, input_space: InputSpace = "margin"
) -> RankedProbabilityScoreMetric:
    """Mean squared error of the cumulative probabilities of K ordered classes.

    Use it for probabilities of ordered classes, where a neighbouring class is a lesser error than a
    distant one. For a certain prediction it is the absolute difference of positions; for K = 2 it
    is the Brier score.

    ::

        sum w sum_k (P[Y <= k] - [y <= k])^2 / sum w,   k = 0..K-2

    Parameters
    ----------
    n_classes, input_space
        As in :func:`class_logloss_metric`.

    Returns
    -------
    Metric
        ``name`` "ranked_probability_score", smaller is better; between 0 and K-1.

    Raises
    ------
    ValueError
        As :func:`class_logloss_metric`.

    References
    ----------
    Epstein (1969), Journal of Applied Meteorology 8(6), divided by K-1; Gneiting & Raftery (2007),
    Journal of the American Statistical Association 102(477), as a sum.

    Examples
    --------
    >>> from gbdt_objectives.metrics import ranked_probability_score_metric
    >>> metric = ranked_probability_score_metric(input_space="probability")
    >>> metric([0, 2], [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    0.375
    """
    return RankedProbabilityScoreMetric(**_fields(n_classes, input_space))  # type: ignore[arg-type]
