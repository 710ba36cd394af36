"""Means over rows: squared error, logloss of the full population, an objective's own loss, and
scores of class probabilities (n, K) or of the softmax margins that give them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._checks.arrays import SOFT
from gbdt_objectives._links import IDENTITY, LOGIT, Link
from gbdt_objectives._public import public
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives._rows.workers import several
from gbdt_objectives.metrics.base import InputSpace, MeanMetric, Metric, counted_rows
from gbdt_objectives.objectives import Objective, weighted_logloss_objective

ENCODE = "encode the classes as 0..K-1 in the order of the columns"


@dataclass(frozen=True, kw_only=True)
class SquaredErrorMetric(MeanMetric):
    """Mean squared error; made by :func:`squared_error_metric`."""

    name: ClassVar[str] = "squared_error"
    link: ClassVar[Link | None] = IDENTITY

    def sums(self, rows: Rows) -> Any:
        return rows.sum(lambda y, p, xp: ((y - p) * (y - p), 1.0), narrow=True)


@public
def squared_error_metric() -> SquaredErrorMetric:
    """Weighted mean squared error, sum w (p-y)^2 / sum w: of regressions under your own objective.

    Returns
    -------
    Metric
        ``name`` "squared_error", smaller is better, input space "margin".

    Examples
    --------
    >>> from gbdt_objectives.metrics import squared_error_metric
    >>> squared_error_metric()([0, 1], [0.0, 3.0])
    2.0
    """
    return SquaredErrorMetric()


@dataclass(frozen=True, kw_only=True)
class WeightedLoglossMetric(MeanMetric):
    """Logloss with kept negatives weighted back; made by :func:`weighted_logloss_metric`."""

    name: ClassVar[str] = "weighted_logloss"
    link: ClassVar[Link | None] = LOGIT
    negative_keep_rate: float
    _corrects = property(attrgetter("negative_keep_rate"))

    @cached_property
    def logloss(self) -> Any:
        return weighted_logloss_objective(self.negative_keep_rate).equations

    def read(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        rows = super().read(y_true, y_pred, sample_weight)
        if self.logloss.thins or not SOFT.contains(rows.y):
            self.logloss.labels.check("y_true", rows.y)
        _checks.not_swapped("y_pred", rows.f, rows.y)
        if self.input_space == "probability":
            if not ((rows.f >= 0) & (rows.f <= 1)).all():
                p, remedy = np.asarray(y_pred), 'for log-odds use input_space="margin"'
                rule = "must be probabilities in [0, 1]"
                _checks.each("y_pred", p, (p >= 0) & (p <= 1), rule, remedy)
            _checks.not_classes("y_pred", y_pred)
        return rows

    def terms(self, y: Array, p: Array, xp: Any) -> tuple[Any, ...]:
        """The loss of each row and how often it counts."""
        c = self.logloss.class_factor(y)
        if self.input_space == "margin":
            return c * self.logloss.unweighted(y, p, xp), c
        if self.logloss.nearer_class(y, xp) is not y:  # soft labels
            from scipy.special import xlog1py, xlogy

            return -xlogy(y, p) - xlog1py(1 - y.astype(float), -p), c
        with np.errstate(divide="ignore"):  # log 0: a certain prediction that is wrong costs inf
            return -c * np.where(y == 1, np.log(p), np.log1p(-p)), c

    def sums(self, rows: Rows) -> Any:
        return rows.sum(self.terms, narrow=True)


@public
def weighted_logloss_metric(
    negative_keep_rate: float, *, input_space: InputSpace = "margin"
) -> WeightedLoglossMetric:
    """Mean logloss of the full population, from rows whose negatives were downsampled.

    ::

        sum w c l / sum w c,   l = -y log p - (1-y) log(1-p),   c = 1 if y = 1 else 1/r

    Parameters
    ----------
    negative_keep_rate : float in (0, 1]
        r, the fraction of negatives that was kept in the rows to be scored; 1 if none were dropped.
        Labels may then be probabilities, in [0, 1].
    input_space : {"margin", "probability"}
        What is scored: log-odds, as boosters hand out under a custom objective (exact also where
        the probability rounds to 0 or 1), or probabilities, as under a built-in one.

    Returns
    -------
    Metric
        ``name`` "weighted_logloss", smaller is better.

    Raises
    ------
    ValueError
        A rate outside (0, 1]; when called, labels but 0 and 1, or probabilities outside [0, 1].

    Examples
    --------
    >>> from gbdt_objectives import weighted_logloss_metric
    >>> round(weighted_logloss_metric(0.1)([1, 0], [0.0, 0.0]), 4)
    0.6931
    """
    rate = _checks.keep_rate("negative_keep_rate", negative_keep_rate)
    _checks.choice("input_space", input_space, ("margin", "probability"))
    return WeightedLoglossMetric(negative_keep_rate=rate, input_space=input_space)


@dataclass(frozen=True, kw_only=True)
class LossMetric(Metric):
    """Mean loss of an objective; made by :func:`loss_metric`."""

    name: ClassVar[str] = "loss"
    greater_is_better: ClassVar[bool] = False
    objective: Objective

    link = property(attrgetter("objective.equations.link"))  # that of a field

    @property
    def _corrects(self) -> float:  # type: ignore[override]
        keep_rate = self.objective.equations.keep_rate
        return 1.0 if keep_rate is None else float(keep_rate(None))

    def score(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> float:
        y, f = _checks.vector("y_true", y_true), _checks.real_array("y_pred", y_pred)
        if f.ndim not in (1, 2) or f.shape[1:] == (1,):  # with (n, 1) - (n,) a loss is (n, n)
            raise ValueError(
                f"y_pred must be (n,), or (n, K) for K outputs, found shape {f.shape}: pass "
                "y_pred.ravel() if there is one output"
            )
        _checks.same_length("y_pred", f, "the labels", len(y))
        _checks.finite("y_pred", f)
        rows = counted_rows(y, f, sample_weight)
        w = None if rows.w is None else rows.w.astype(float)
        total, n = self.objective._value(rows.y, rows.f, w, asks=False)
        return total / n


@public
def loss_metric(objective: Objective) -> LossMetric:
    """The mean loss of an objective, as a metric: stop early on what is trained.

    ::

        objective.loss(y, margin, w) / sum w

    Parameters
    ----------
    objective : Objective
        Any of this package, or ``objective(function, loss=loss)`` of your own. What it measures on
        labels, or fits to margins (the thresholds of ``ordinal_logit_objective``), and does not
        hold yet, comes from the rows that are scored: for that of the training rows pass
        ``objective.measured(y_train)``.

    Returns
    -------
    Metric
        ``name`` "loss", smaller is better, input space "margin": (n,), or (n, K) of K outputs.

    Raises
    ------
    ValueError, TypeError
        What is no objective of this package, has no loss, or holds a value of each training row;
        when called, labels or margins that the objective refuses.

    Examples
    --------
    >>> from gbdt_objectives import loss_metric, weighted_logloss_objective
    >>> round(loss_metric(weighted_logloss_objective(1))([1, 0], [0.0, 0.0]), 4)
    0.6931
    """
    if not isinstance(objective, Objective):
        raise TypeError(
            f"objective must be an objective, found {_checks.shown(objective)}: call the factory, "
            "as in loss_metric(qwk_objective()), or wrap your own function, "
            "objective(function, loss=loss)"
        )
    if not objective.equations.has_loss:
        raise ValueError(
            f"{objective!r} has no loss, only a gradient: pass loss= to objective(), or stop on "
            "another metric"
        )
    if objective.is_by_row:
        raise ValueError(
            "objective holds values of the training rows, and has no loss on others: stop on a "
            "metric of its margins, such as weighted_logloss_metric(1) for log-odds"
        )
    return LossMetric(objective=objective)


@dataclass(frozen=True, kw_only=True)
class ClassProbabilityMetric(MeanMetric):
    """A mean over the rows of (n, K) predictions; labels are 0..K-1."""

    link: ClassVar[Link | None] = Link.softmax(None)
    n_classes: int | None = None

    def _row_values(self, y: Array, p: Array) -> Array:
        """The metric of each row; predictions are float64 (K, n), as columns are fast."""
        raise NotImplementedError

    def read(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        y = _checks.as_array("y_true", y_true)
        if y.dtype.kind not in "biuf":
            raise TypeError(f"y_true has dtype {y.dtype}: {ENCODE}")
        y = _checks.whole_numbers("y_true", y, ENCODE)
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
        if several() and not p.size:  # XGBoost 3.4 says (0, 0)
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


@public
def class_logloss_metric(
    n_classes: int | None = None, *, input_space: InputSpace = "margin"
) -> ClassLoglossMetric:
    """Mean logloss of the probabilities of K classes.

    ::

        -sum w log P[y] / sum w,   P[k] = exp(z_k) / sum_j exp(z_j) for margins z

    For probabilities it is scikit-learn's ``log_loss``, but a certain prediction that is wrong
    costs inf, not the logarithm of the least float.

    Parameters
    ----------
    n_classes : int, optional
        K; labels are 0..K-1, in the order of the columns, and need not all occur. None: of any K.
    input_space : {"margin", "probability"}
        What the (n, K) predictions are: margins of a softmax, as boosters hand out under a softmax
        objective of your own, or probabilities, as under a built-in one.

    Returns
    -------
    Metric
        ``name`` "class_logloss", smaller is better. For one log-odds per row use
        ``weighted_logloss_metric(1)``, for margins without softmax ``loss_metric``.

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


@public
def ranked_probability_score_metric(
    n_classes: int | None = None, *, input_space: InputSpace = "margin"
) -> RankedProbabilityScoreMetric:
    """Mean squared error of the cumulative probabilities of K ordered classes.

    Use it where a neighbouring class is a lesser error than a distant one. For a certain prediction
    it is the absolute difference of positions; for K = 2 it is the Brier score.

    ::

        sum w sum_k (P[Y <= k] - [y <= k])^2 / sum w,   k = 0..K-2

    Parameters
    ----------
    n_classes, input_space
        As in :func:`class_logloss_metric`, as are the errors raised.

    Returns
    -------
    Metric
        ``name`` "ranked_probability_score", smaller is better; between 0 and K-1.

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


def default_metric(objective: Objective | None) -> Metric:
    """What a booster stops on that names no metric of ours."""
    return squared_error_metric() if objective is None else loss_metric(objective)
