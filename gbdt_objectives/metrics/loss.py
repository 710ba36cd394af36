"""An objective's own loss, as a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._links import Link
from gbdt_objectives.metrics.base import Metric, counted_rows
from gbdt_objectives.objectives import Objective


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

    ::

        objective.loss(y, margin, w) / sum w

    It changes with every round, unlike a metric of classes, and is right for any objective.

    Parameters
    ----------
    objective : Objective
        Any of this package, or ``objective(function, loss=loss)`` of your own. What it measures
        on labels, or fits to margins (the thresholds of ``ordinal_logit_objective``), and does
        not hold yet, comes from the rows that are scored. To score with what the training rows
        say, pass ``objective.measured(y_train)``.

    Returns
    -------
    Metric
        ``name`` "loss", smaller is better, input space "margin": (n,), or (n, K) if the
        objective has K outputs.

    Raises
    ------
    ValueError
        An objective without a loss, or one that holds a value of each training row; when
        called, labels or margins that the objective refuses.
    TypeError
        An argument that is no objective of this package.

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
