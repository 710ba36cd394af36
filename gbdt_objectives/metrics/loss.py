"""Mean losses: squared error, logloss of the full population, and an objective's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._links import IDENTITY, LOGIT, Link
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.metrics.base import InputSpace, MeanMetric, Metric, counted_rows
from gbdt_objectives.objectives import Objective, weighted_logloss_objective


@dataclass(frozen=True, kw_only=True)
class SquaredErrorMetric(MeanMetric):
    """Mean squared error; made by :func:`squared_error_metric`."""

    name: ClassVar[str] = "squared_error"
    greater_is_better: ClassVar[bool] = False
    link: ClassVar[Link | None] = IDENTITY

    def sums(self, rows: Rows) -> Any:
        return rows.sum(lambda y, p, xp: ((y - p) * (y - p), 1.0), narrow=True)


def squared_error_metric() -> SquaredErrorMetric:
    """Weighted mean squared error, sum w (p-y)^2 / sum w.

    Use it to stop or to judge regressions under an objective of your own.

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
    greater_is_better: ClassVar[bool] = False
    link: ClassVar[Link | None] = LOGIT
    negative_keep_rate: float

    @cached_property
    def logloss(self) -> Any:
        return weighted_logloss_objective(self.negative_keep_rate).equations

    def read(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        rows = super().read(y_true, y_pred, sample_weight)
        _checks.binary_labels("y_true", rows.y)
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
        with np.errstate(divide="ignore"):  # log 0: a certain prediction that is wrong costs inf
            return -c * np.where(y == 1, np.log(p), np.log1p(-p)), c

    def sums(self, rows: Rows) -> Any:
        return rows.sum(self.terms, narrow=True)


def weighted_logloss_metric(
    negative_keep_rate: float, *, input_space: InputSpace = "margin"
) -> WeightedLoglossMetric:
    """Mean logloss of the full population, from rows with downsampled negatives.

    Use it to stop or to judge on rows whose negatives were downsampled.

    ::

        sum w c l / sum w c,   l = -y log p - (1-y) log(1-p),   c = 1 if y = 1 else 1/r

    Parameters
    ----------
    negative_keep_rate : float in (0, 1]
        r, the fraction of negatives that was kept in the rows to be scored; 1 if none were dropped.
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
        A rate outside (0, 1]; when called, labels that are not 0 or 1 or probabilities outside [0,
        1].

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

    @property
    def link(self) -> Link | None:  # type: ignore[override]  # the objective's
        link: Link = self.objective.equations.link
        return link

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
        return self.objective.mean_loss(rows.y, rows.f, w)


def loss_metric(objective: Objective) -> LossMetric:
    """The mean loss of an objective, as a metric: stop early on what is trained.

    Use it for early stopping on the loss that is trained, which changes with every round.

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
