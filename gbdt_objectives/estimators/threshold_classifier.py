"""ThresholdClassifier: one score in, ordered classes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._public import public
from gbdt_objectives._registry import Exported
from gbdt_objectives._steps.steps import SavedAsJSON, read_flag, read_one_of
from gbdt_objectives.estimators._base import FitRows
from gbdt_objectives.metrics import ClassMetric, threshold_metric
from gbdt_objectives.thresholds import Thresholds, apply_thresholds, methods, optimize_thresholds
from gbdt_objectives.thresholds.methods import MetricArgument


def read_metric_name(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a name, found {shown(value)}")
    threshold_metric(value)
    return value


@public
@dataclass(eq=False, repr=False)
class ThresholdClassifier(Exported, ClassifierMixin, SavedAsJSON, BaseEstimator):  # type: ignore[misc]
    """Classifier of one score by thresholds, fitted as ``optimize_thresholds`` does.

    Use it to put a decision on scores that you have, or at the end of a pipeline.

    Parameters
    ----------
    method : {"plugin", "curved", "exact", "nelder-mead", "rounding"}, optional
        Algorithm that places the thresholds; see ``optimize_thresholds``. None: "plugin" for QWK,
        "exact" for every other known metric, "nelder-mead" for a function.
    labels : array-like of shape (K,), optional
        All classes in order, lowest first, of any type. None: the integers from min to max
        of ``y``, or the order of an ordered pandas Categorical.
    metric : str, Metric or callable
        What the thresholds are to be best at: a name that ``threshold_metric`` knows, a metric of
        classes, or ``metric(y_true, y_pred, sample_weight)``, greater is better.
    target_prior : mapping of label to probability, optional
        Label distribution where the thresholds will be used, if it differs from that of ``y``.
    constraints : mapping of metric to bound, optional
        Bounds that two classes must keep, such as ``{"precision": 0.9}``.
    negative_keep_rate : float in (0, 1], optional
        Rate at which negatives were kept. ``score`` uses neither it nor ``target_prior``.
    confidence_level : float in (0, 1), optional
        Confidence at which new rows keep the constraints. None: the rows of ``fit`` keep them.
    first_test : int >= 0, optional
        How many false alerts the first test of a promised precision allows.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes in order, lowest first.
    thresholds_, thresholds_method_ : Thresholds of shape (K-1,), str
        Thresholds in score units, with their labels, and the method that placed them.

    Examples
    --------
    >>> from gbdt_objectives import ThresholdClassifier
    >>> classifier = ThresholdClassifier(labels=["low", "mid", "high"])
    >>> y = ["low", "low", "mid", "mid", "high", "high"]
    >>> classifier = classifier.fit([0.1, 0.4, 0.3, 0.6, 0.7, 0.9], y)
    >>> classifier.predict([0.2, 0.6, 2.0]).tolist()
    ['low', 'mid', 'high']
    >>> ThresholdClassifier.from_json(classifier.to_json()).thresholds_.round(3)
    Thresholds([0.558, 0.642], labels=['low', 'mid', 'high'])
    """

    method: str | None = None
    _: KW_ONLY
    labels: ArrayLike | None = None
    metric: MetricArgument = "qwk"
    target_prior: Mapping[Any, float] | None = None
    constraints: Mapping[Any, float] | None = None
    negative_keep_rate: float | None = None
    confidence_level: float | None = None
    first_test: int | None = None

    def fit(
        self, score: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> ThresholdClassifier:  # fmt: skip
        """Place the thresholds; return the classifier itself.

        Parameters
        ----------
        score : array-like of shape (n,) or (n, 1)
            Out-of-fold scores of the model, higher for higher classes.
        y, sample_weight : array-like of shape (n,)
            Classes; if given, weights >= 0, where w means the same as w copies of the row.
        groups : array-like of shape (n,), optional
            Whose row it is, for ``confidence_level``.
        """
        s = _checks.one_score(score)
        target = methods.resolve_metric(self.metric)
        usual = "exact" if self.constraints else None
        method = methods.resolve_method(self.method or usual, target)
        labels = methods.resolve_labels(self.labels, target)
        thresholds = optimize_thresholds(
            y, s, method=method,  # type: ignore[arg-type]
            labels=FitRows.ordered_classes(y, y) if labels is None else labels,
            sample_weight=sample_weight, target_prior=self.target_prior, metric=self.metric,
            constraints=self.constraints, negative_keep_rate=self.negative_keep_rate,
            confidence_level=self.confidence_level, first_test=self.first_test, groups=groups,
        )  # fmt: skip
        self._set(thresholds, method)
        return self

    def _set(self, thresholds: Thresholds, method: str) -> None:
        self.classes_ = thresholds.labels
        self.thresholds_ = thresholds
        self.thresholds_method_ = method

    def predict(self, score: ArrayLike) -> Array:
        """Return the class of each ``score``, (n,) or (n, 1), on the scale of ``fit``; (n,)."""
        check_is_fitted(self, "thresholds_")
        return apply_thresholds(_checks.one_score(score), self.thresholds_, self.classes_)

    def score(
        self, score: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the metric of the predicted classes; greater is better (costs are negated).

        ``score``, ``y`` and ``sample_weight`` are as in :meth:`fit`.
        """
        predicted = self.predict(score)
        _checks.no_labels("score", _checks.one_score(score), self.classes_)
        metric = methods.resolve_metric(self.metric)
        if not isinstance(metric, ClassMetric):
            return float(metric(_checks.as_array("y", y), predicted, sample_weight))
        value: float = metric(y, predicted, sample_weight, labels=self.classes_)
        return value if metric.greater_is_better else -value

    # target_prior, constraints, rates and levels matter to fit only, and are not saved
    _saved: ClassVar = {
        "method": read_one_of(*methods.METHODS), "metric": read_metric_name,
        "labels_given": read_flag, **Thresholds._saved,
    }  # fmt: skip
    _left_out: ClassVar = Thresholds._left_out

    def _values(self) -> list[Any]:
        if not isinstance(self.metric, str):
            raise ValueError(
                f"metric {shown(self.metric)} has no name that JSON could hold: "
                "set_params(metric=...) to a named one first, or pickle"
            )
        labels_given = self.labels is not None
        return [self.thresholds_method_, self.metric, labels_given, *self.thresholds_._values()]

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> ThresholdClassifier:
        thresholds = Thresholds._restore(data)
        labels = thresholds.labels.tolist() if data["labels_given"] else None
        classifier = cls(data["method"], labels=labels, metric=data["metric"])
        classifier._set(thresholds, data["method"])
        return classifier

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags
