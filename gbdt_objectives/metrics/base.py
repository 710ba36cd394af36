"""Metric: a scikit-learn style metric, and its renderings for the boosters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _boosters, _checks, _workers
from gbdt_objectives._links import Link
from gbdt_objectives._rows import Rows

InputSpace = Literal["margin", "probability", "label"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A number that says how good predictions are: the base class of every metric.

    Called as ``metric(y_true, y_pred, sample_weight=None)`` it is an ordinary scikit-learn metric.
    Boosters want other shapes: ``metric.xgboost`` is for ``custom_metric=`` and ``eval_metric=`` of
    XGBoost, ``metric.lightgbm`` for ``feval=`` and ``eval_metric=`` of LightGBM.

    It is computed by numpy: arrays on a device, such as CuPy's, are refused, but what a booster
    hands out there is copied to the host.

    Attributes
    ----------
    name : str
        How boosters report it; no space or colon.
    greater_is_better : bool
        The direction in which to stop early.
    input_space : {"margin", "probability", "label"}
        What ``y_pred`` is. Boosters hand a metric margins when the objective is custom.
    link : Link or None
        What a margin is. None: a trainer cannot tell whether the metric fits the objective.
    exact_method : {"isotonic", "dynamic program", "every cut"} or None
        How ``optimize_thresholds`` finds the exact optimum ("every cut" is for two classes
        only); None if the metric is not one of classes.
    """

    name: ClassVar[str]
    greater_is_better: ClassVar[bool]
    link: ClassVar[Link | None] = None
    exact_method: ClassVar[str | None] = None
    input_space: InputSpace = "margin"

    def __call__(
        self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        stack = _boosters.stack()
        _boosters.refuse_metric(self.name, y_pred, stack)
        if _workers.workers():
            _boosters.refuse_wrapped_metric(self.name, stack)
        _boosters.refuse_direction(self.name, self.greater_is_better, stack)
        if _boosters.caller_of(stack) is not None:  # not a function of the user's between
            refuse_predictions(self, stack)
        self._refuse_unclear(y_true, y_pred)
        return self.score(y_true, y_pred, sample_weight)

    def _refuse_unclear(self, y_true: ArrayLike, y_pred: ArrayLike) -> None:
        """Raise for a user's predictions that could mean two things; boosters' cannot."""

    @property
    def __name__(self) -> str:  # sklearn.metrics.make_scorer shows it
        return self.name

    def score(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> float:
        """The metric of everybody's rows."""
        return self.of_sums(self.sums(self.read(y_true, y_pred, sample_weight)))

    def read(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        """The rows that count, checked."""
        y, p = _checks.vector("y_true", y_true), _checks.vector("y_pred", y_pred)
        return counted_rows(y, p, sample_weight)

    def sums(self, rows: Rows) -> Any:
        """Sums over everybody's rows."""
        raise NotImplementedError

    def of_sums(self, sums: Any) -> float:
        """The metric, given its sums."""
        raise NotImplementedError

    @property
    def xgboost(self) -> XGBoostMetric:
        """The metric for XGBoost: ``custom_metric=`` of ``train``, ``eval_metric=`` of estimators.

        XGBoost's early stopping guesses the direction from the name and would minimise. A metric
        for which greater is better refuses that: use ``adapters.xgboost``, its ``early_stopping``
        among your ``callbacks``, or minimise ``metric.loss.xgboost``.
        """
        return XGBoostMetric(self)

    @property
    def lightgbm(self) -> LightGBMMetric:
        """The metric for LightGBM: ``feval=`` of ``train``, ``eval_metric=`` of estimators."""
        return LightGBMMetric(self)

    @property
    def loss(self) -> Metric:
        """The metric for places that only minimise: itself, or 1 - metric if greater is better.

        Such places are early stopping in XGBoost's own estimators, and tuners without a direction.

        Examples
        --------
        >>> from gbdt_objectives import extended_qwk_metric
        >>> loss = extended_qwk_metric().loss
        >>> loss.name, loss.greater_is_better, round(loss([0, 1, 2, 3], [0, 1, 1, 3]), 4)
        ('extended_qwk_loss', False, 0.1)
        """
        if not self.greater_is_better:
            return self
        return MetricLoss(metric=self, input_space=self.input_space)

    def __deepcopy__(self, memo: dict[int, Any]) -> Metric:
        return self


@dataclass(frozen=True, kw_only=True)
class MetricLoss(Metric):
    """1 - metric, for which smaller is better; made by :attr:`Metric.loss`."""

    greater_is_better: ClassVar[bool] = False
    metric: Metric

    @property
    def name(self) -> str:  # type: ignore[override]  # the one whose name depends on a field
        return f"{self.metric.name}_loss"

    @property
    def link(self) -> Link | None:  # type: ignore[override]  # depends on a field
        return self.metric.link

    def _refuse_unclear(self, y_true: ArrayLike, y_pred: ArrayLike) -> None:
        self.metric._refuse_unclear(y_true, y_pred)

    def score(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> float:
        return 1 - self.metric.score(y_true, y_pred, sample_weight)


def counted_rows(y: Any, p: Any, sample_weight: ArrayLike | None) -> Rows:
    """The rows whose weight is above 0; weight 0 is as if a row were not there."""
    _checks.same_length("y_pred", p, "the labels", len(y))
    w = _checks.weights("sample_weight", sample_weight, len(y))
    if w is None or w.all():
        return Rows(y, p, w)
    counts = w > 0
    return Rows(y[counts], p[counts], w[counts])


@dataclass(frozen=True, kw_only=True)
class MeanMetric(Metric):
    """A weighted mean over rows: total / n of its sums."""

    def of_sums(self, sums: Any) -> float:
        total, n = sums.tolist()
        return float(total / n)


@dataclass(frozen=True)
class RenderedMetric:
    """A metric as a booster calls it: (prediction, dataset) or (labels, prediction, weights)."""

    metric: Metric
    library: ClassVar[str]

    @property
    def __name__(self) -> str:
        return self.metric.name

    def _evaluate(self, a: Any, b: Any, sample_weight: ArrayLike | None) -> float:
        stack = _boosters.stack()
        sums = _workers.workers()
        _boosters.refuse_rendering(self.metric.name, self.library, stack, reduces=sums)
        if hasattr(b, "get_label"):
            y_pred, (y_true, sample_weight) = a, _checks.label_weight(b)
        else:
            y_true, y_pred = a, b
        y_true, y_pred, sample_weight = map(_checks.to_host, (y_true, y_pred, sample_weight))
        if np.shape(y_pred) == (0, 0):  # XGBoost 3.4, on a worker without rows
            y_pred = np.reshape(y_pred, 0)
        refuse_predictions(self.metric, stack)
        with _workers.together(self.metric):
            try:
                with _workers.summing(self.metric.name):
                    value = self.metric.score(y_true, y_pred, sample_weight)
            except ZeroDivisionError:
                raise ValueError(
                    f"{self.metric.name} is undefined: no row of the evaluation set counts on any "
                    "worker"
                ) from None
        if np.isnan(value):  # every comparison with nan is false: boosters would stop anywhere
            raise ValueError(
                f"{self.metric.name} is nan on an evaluation set of {np.size(y_true)} rows: it is "
                "undefined there (a single class); evaluate on data with several classes"
            )
        return value


def refuse_predictions(metric: Metric, stack: _boosters.Stack) -> None:
    """Raise for a metric of margins where a booster says that it passes the transformed predictions
    of its built-in objective."""
    link = _boosters.link_of_predictions(stack, metric.link)
    if link is None or metric.input_space == "probability":
        return
    if metric.link is None or metric.link.is_label_unit:
        return
    raise ValueError(
        f"{metric.name} takes {metric.link.margins}, but under its built-in objective the booster "
        'passes predictions: make it with input_space="probability" if it has that, or train on an '
        "objective of gbdt_objectives"
    )


class XGBoostMetric(RenderedMetric):
    """A metric in the shapes that XGBoost calls and expects."""

    library: ClassVar[str] = "xgboost"

    def __call__(self, a: Any, b: Any, sample_weight: ArrayLike | None = None) -> Any:
        stack, metric = _boosters.stack(), self.metric
        _boosters.refuse_direction(metric.name, metric.greater_is_better, stack)
        value = self._evaluate(a, b, sample_weight)
        return (self.metric.name, value) if hasattr(b, "get_label") else value


class LightGBMMetric(RenderedMetric):
    """A metric in the shapes that LightGBM calls and expects."""

    library: ClassVar[str] = "lightgbm"

    def __call__(self, a: Any, b: Any, sample_weight: ArrayLike | None = None) -> Any:
        value = self._evaluate(a, b, sample_weight)
        return self.metric.name, value, self.metric.greater_is_better
