"""Metric: a scikit-learn style metric that boosters call as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import reduce, wraps
from itertools import chain, count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast
from weakref import finalize

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks, _registry
from gbdt_objectives._checks import (
    Array,
    Sampling,
    Scoring,
    Stack,
    Training,
    asked as _calls,
    check_order,
    positions,
    shown,
    whole_numbers,
)
from gbdt_objectives._checks.asked import may_undo
from gbdt_objectives._links import IDENTITY, Link
from gbdt_objectives._public import public
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives._rows.rows import STRETCH, Rows, Shown, same_labels

if TYPE_CHECKING:
    from typing_extensions import Self


OF_SCORES = (
    "qwk_metric() takes scores for their nearest classes: pass it to the booster, or as scoring=, "
    "or call it, qwk_metric()(y_true, y_pred)"
)

MOST_CLASSES = 5000  # from the lowest to the highest: the confusion counts of more are > 200 MB

OF_FRACTIONS = (
    f"{IDENTITY.metric}, which take labels with fractions; where both columns are classes, add "
    "labels=[...], all classes from lowest to highest, to your own call"
)
"""What to do about labels that are no whole numbers."""

InputSpace = Literal["margin", "probability", "label"]
Call = TypeVar("Call", bound=Callable[..., Any])


def scores_models(call: Call) -> Call:
    """The call of a metric, called by ``scoring=`` too: (model, X, y[, sample_weight=])."""

    @wraps(call)  # boosters count the parameters of a metric
    def either(self: Metric, *args: Any, **others: Any) -> Any:
        is_scorer = args and hasattr(type(args[0]), "predict")
        return (self._of_model if is_scorer else call.__get__(self))(*args, **others)

    return cast(Call, either)


@public
@dataclass(frozen=True, kw_only=True)
class Metric(Shown):
    """A number that says how good predictions are: the base class of every metric.

    Called as ``metric(y_true, y_pred, sample_weight=None)`` it is an ordinary scikit-learn metric,
    and as ``scoring=metric`` its scorer, whose value is negative where smaller is better. Boosters
    take it as it is: for ``custom_metric=`` and ``eval_metric=`` of XGBoost, and for ``feval=`` and
    ``eval_metric=`` of LightGBM. Each gets the form of answer that it wants, and early stopping of
    XGBoost, where nobody said ``maximize=``, the metric's direction. Arrays on a device are
    refused, but what a booster hands out there is copied to the host.

    A subclass of your own declares ``name``, ``greater_is_better`` and ``link``, and writes
    ``sums(rows)``, with ``rows.sum``, which adds up the rows of all workers, and ``of_sums(sums)``.
    Nothing checks its direction: see that better predictions have the better value.

    Attributes
    ----------
    name, greater_is_better : str, bool
        How boosters report it; no space or colon. The direction in which to stop early.
    input_space : {"margin", "probability", "label"}
        What ``y_pred`` is. Boosters hand a metric margins when the objective is custom.
    link : Link or None
        What a margin is. None: a trainer cannot tell whether the metric fits the objective.
    exact_method : {"isotonic", "dynamic program", "every cut"} or None
        How ``optimize_thresholds`` finds an exact optimum ("every cut": of two classes).
    """

    name: ClassVar[str]
    greater_is_better: ClassVar[bool]
    link: ClassVar[Link | None] = None
    exact_method: ClassVar[str | None] = None
    no_jit: ClassVar[bool] = True  # for CatBoost, which then asks for ``is_max_optimal``
    input_space: InputSpace = "margin"
    _corrects: ClassVar[float] = 1.0  # the rate of kept negatives that it weighs back

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name = cls.__dict__.get("name", "")
        if isinstance(name, str) and re.search(r"[\s:]", name):
            raise ValueError(
                f"name of {cls.__name__} is {name!r}, but XGBoost splits what it reports at spaces "
                f"and colons: write {re.sub(r'[^a-zA-Z0-9]+', '_', name)!r}"
            )

    @scores_models
    def __call__(
        self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Any:
        stack = Stack.here()
        form = form_of(y_pred, stack)
        if form is not None:
            return self._answer(form, stack, y_true, y_pred, sample_weight)
        if _workers.workers():
            Training(name=self.name, within=next(stack.enclosing(), None) is not None)
        scored_by(self, y_pred, stack)
        self._refuse_unclear(y_true, y_pred, sample_weight)
        value = self.score(y_true, y_pred, sample_weight)
        if sample_weight is not None and self._corrects < 1:
            y, w = np.asarray(y_true), np.asarray(sample_weight)
            if may_undo(w, y, self._corrects):
                Sampling(weights=w, positive=y == 1, rate=self._corrects)
        Stack.note((self.name, self.greater_is_better, None), value)
        return value

    @property
    def response_method(self) -> str:
        """The method of a model whose answer is ``y_pred``, for scikit-learn's ``make_scorer``."""
        if self.input_space == "probability":
            return "predict_proba"
        link = self.link
        reads_label_units = link is None or not (link.is_transformed or link.is_of_objective)
        return "predict" if reads_label_units else "decision_function"

    def get_metadata_routing(self) -> Any:
        """What scikit-learn's metadata routing asks: ``scoring=`` takes ``sample_weight``."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=type(self).__name__)
        request.score.add_request(param="sample_weight", alias=True)
        return request

    def _of_model(self, model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """What scikit-learn's ``scoring=`` asks of a fitted model: the higher the better."""
        asks = self.response_method
        if y is None or not hasattr(model, asks):
            raise TypeError(
                f"{self.name} is called with a {type(model).__name__}, without labels or without "
                f"{asks}, which it scores: pass labels and predictions, metric(y_true, y_pred), or "
                'make it with input_space="probability" if it has that'
            )
        y_pred = getattr(model, asks)(X)
        if np.shape(y_pred)[1:] == (2,) and not (self.link is not None and self.link.takes_several):
            y_pred = y_pred[:, 1]
        value = float(self(y, y_pred, sample_weight))
        return value if self.greater_is_better else -value

    def _answer(
        self, form: _registry.Named, stack: Stack, a: Any, b: Any, sample_weight: Any
    ) -> Any:
        """What a library wants to know: of (score, data), or of (labels, score[, weights])."""
        self._ask_guards(form, stack)
        of_data = hasattr(b, "get_label")
        y_pred, (y_true, weights) = (
            (a, _checks.label_weight(b)) if of_data else (b, (a, sample_weight))
        )
        y_true, y_pred, weights = map(_checks.to_host, (y_true, y_pred, weights))
        if np.shape(y_pred) == (0, 0):  # what XGBoost 3.4 predicts on a worker without rows
            y_pred = np.reshape(y_pred, 0)
        value = self._of_everybody(y_true, y_pred, weights)
        name = free_name(self, stack)
        Stack.note((self.name, self.greater_is_better, name if caller_of(stack) else None), value)
        if form.wants_triple:
            return name, value, self.greater_is_better
        return (name, value) if of_data else value

    def _ask_guards(self, form: _registry.Named, stack: Stack) -> None:
        """Raise if what calls would misread the metric."""
        library = _registry.BY_NAME.get(caller_of(stack) or "")
        asks = form.cannot_stop_alone and not _workers.workers()
        _calls.metric_called({
            "name": self.name, "metric": self, "link": self.link, "library": library,
            "form": form, "alone": stack.free_network() if asks else None,
            "directions": directed(self, stack),
        }, stack)  # fmt: skip

    def _of_everybody(self, y_true: Any, y_pred: Any, weights: Any) -> float:
        """The metric of the rows of all workers; raises where boosters could not compare it."""
        with _workers.together(self):
            try:
                with _workers.summing(self.name):
                    value = self.score(y_true, y_pred, weights)
            except ZeroDivisionError:
                raise ValueError(
                    f"{self.name} is undefined: no row of the evaluation set counts on any worker"
                ) from None
        if np.isnan(value):  # every comparison with nan is false: boosters would stop anywhere
            raise ValueError(
                f"{self.name} is nan on an evaluation set of {np.size(y_true)} rows, or a ranker's "
                "query of so many: it is undefined there (a single class); evaluate on data with "
                "several classes"
            )
        return value

    def _refuse_unclear(self, y_true: ArrayLike, y_pred: ArrayLike, w: Any) -> None:
        """Raise for a user's predictions that could mean two things; boosters' cannot."""

    def _shown(self) -> tuple[str, dict[str, list[str]]]:
        known = {"greater_is_better": self.greater_is_better, "link": self.link}
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.repr}
        return f"{self.name}: {type(self).__name__}", Shown._facts(known | own)

    @property
    def __name__(self) -> str:  # sklearn.metrics.make_scorer shows it
        """How XGBoost's estimators report it; its ranker calls the metric itself in threads."""
        stack = Stack.here()
        if directions := directed(self, stack):
            Training(name=self.name, metric=self, directions=directions)
        return free_name(self, stack)

    def score(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> float:
        """The metric of the rows of all workers."""
        return self.of_sums(self.sums(self.read(y_true, y_pred, sample_weight)))

    def read(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        """The rows that count, checked."""
        check_one_score(self.name, y_pred)
        y, p = _checks.vector("y_true", y_true), _checks.vector("y_pred", y_pred)
        return counted_rows(y, p, sample_weight)

    def sums(self, rows: Rows) -> Any:
        """Sums over the rows of all workers."""
        raise NotImplementedError(f"{type(self).__name__} must define sums(rows), or score")

    def of_sums(self, sums: Any) -> float:
        """The metric, given its sums."""
        raise NotImplementedError

    @property
    def xgboost(self) -> XGBoostMetric:
        """The metric for XGBoost, whoever calls: ``custom_metric=`` of ``train``, ``eval_metric=``
        of estimators. The metric itself may be passed, too."""
        return XGBoostMetric(self)

    @property
    def lightgbm(self) -> LightGBMMetric:
        """The metric for LightGBM, whoever calls: ``feval=`` of ``train``, ``eval_metric=`` of
        estimators. The metric itself may be passed, too."""
        return LightGBMMetric(self)

    @property
    def loss(self) -> Metric:
        """The metric for places that only minimise: itself, or 1 - metric if greater is better.

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

    link = property(attrgetter("metric.link"))  # that of a field

    def _refuse_unclear(self, y_true: ArrayLike, y_pred: ArrayLike, w: Any) -> None:
        self.metric._refuse_unclear(y_true, y_pred, w)

    def score(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> float:
        return 1 - self.metric.score(y_true, y_pred, sample_weight)


def check_one_score(name: str, y_pred: Any) -> None:
    shape = np.shape(y_pred)
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"{name} takes one score of each row, found shape {shape}: measure "
            'class_logloss_metric(input_space="probability"), of margins under an objective of '
            "yours class_logloss_metric() or loss_metric(objective), train one score, as "
            "qwk_objective() does, or call it with classes, y_pred.argmax(axis=1); a function that "
            "XGBoost stops on must return what falls, such as 1 - kappa, or that of metric.loss"
        )


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
    """A weighted mean of losses of rows: total / n of its sums."""

    greater_is_better: ClassVar[bool] = False

    def of_sums(self, sums: Any) -> float:
        total, n = sums.tolist()
        return float(total / n)


@dataclass(frozen=True)
class RenderedMetric:
    """A metric that answers one library, whoever calls."""

    metric: Metric
    library: ClassVar[str]

    __name__ = property(attrgetter("metric.__name__"))

    def __call__(self, a: Any, b: Any, sample_weight: ArrayLike | None = None) -> Any:
        return self.metric._answer(
            _registry.BY_NAME[self.library], Stack.here(), a, b, sample_weight
        )


class XGBoostMetric(RenderedMetric):
    """A metric in the shapes that XGBoost calls and expects."""

    library: ClassVar[str] = _registry.XGBOOST.name


class LightGBMMetric(RenderedMetric):
    """A metric in the shapes that LightGBM calls and expects."""

    library: ClassVar[str] = _registry.LIGHTGBM.name


def caller_of(stack: Stack) -> str | None:
    """The library whose code stands directly above ours."""
    return next((library for library, _ in stack.of_libraries()), None)


def directed(metric: Any, stack: Stack) -> tuple[bool, ...]:
    """Whether each early stopping of XGBoost above us maximises the metric. Where nobody said, it
    gets the metric's direction until its training is over: it would guess, and minimise."""
    found = []
    for _, frame in stack.of_libraries():
        if frame.f_code.co_name != "after_iteration":
            continue
        training: Any = frame.f_locals.get("self")
        for callback in getattr(training, "callbacks", ()):
            stops = "EarlyStopping" in {base.__name__ for base in type(callback).__mro__}
            if not stops or callback.metric_name not in (None, metric.name):
                continue
            if callback.maximize is None:
                callback.maximize = bool(metric.greater_is_better)
                finalize(training, setattr, callback, "maximize", None).atexit = False
            found.append(bool(callback.maximize))
    return tuple(found)


def free_name(metric: Any, stack: Stack) -> str:
    """The name of a metric, numbered where a booster has measured another one of this name."""
    caller, frame = stack.evaluating()
    if caller is None or frame is None:
        return str(metric.name)
    seen = frame.f_locals
    given = seen.setdefault("_gbdt_objectives", [])  # to a function of the user's: several of ours
    taken = {*_registry.library(caller).measured(seen), *(n for m, n in given if m != metric)}
    names = chain([metric.name], (f"{metric.name}_{k}" for k in count(2)))
    given.append((metric, next(name for name in names if name not in taken)))
    return str(given[-1][1])


def form_of(y_pred: object, stack: Stack) -> _registry.Named | None:
    """The library that a metric answers: that of its data, else the one directly above, if any."""
    if not hasattr(y_pred, "get_label"):
        return _registry.BY_NAME.get(caller_of(stack) or "")
    name = _registry.name_of(y_pred)
    if name is None:
        raise TypeError(
            f"y_pred is a {type(y_pred).__name__}, of no library that is known: pass labels and "
            "predictions, metric(y_true, y_pred, sample_weight)"
        )
    return _registry.BY_NAME[name]


def scored_by(metric: Any, y_pred: object, stack: Stack) -> Scoring:
    """The scorer of scikit-learn that passes these predictions to a metric, if one does."""
    at: dict[str, Any] = next(
        (frame.f_locals for _, frame in stack
         if frame.f_code.co_name == "_score" and hasattr(frame.f_locals.get("self"), "_sign")), {}
    )  # fmt: skip
    if at.get("y_pred") is not y_pred:  # none is there, or it calls a function of the user's
        return Scoring(metric=metric)
    method = getattr(at.get("response_method"), "__name__", "")  # scikit-learn 1.4 and newer
    old = {"_PredictScorer": "predict", "_ProbaScorer": "predict_proba"}
    response = method or old.get(type(at["self"]).__name__, "")
    return Scoring(
        metric=metric, maximizes=at["self"]._sign > 0, model=at.get("estimator", at.get("clf")),
        **({"response": response} if response else {}),
    )  # fmt: skip


@public
@dataclass(frozen=True, kw_only=True)
class ClassMetric(Metric):
    """A metric of ordered classes, for boosters, scikit-learn and ``optimize_thresholds``.

    A subclass of your own writes ``of_counts``, or is a :class:`RatioMetric`, for exact thresholds.
    Called as ``metric(y_true, y_pred, sample_weight=None, labels=None)``, where

    - with ``labels``, all classes in ascending order and of any type, both hold classes, as
      they do if ``y_true`` is a pandas Categorical that carries that order;
    - otherwise ``y_true`` holds integers, and ``y_pred`` either integers, which are classes,
      or floats, which are scores. The class of a score is the nearest label in the range (halves
      upwards), or class k, counted from the lowest label, where ``thresholds[k-1] <= score <
      thresholds[k]``. Whole floats beyond the labels may be either, and need a ``label_range``.

    Attributes
    ----------
    label_range : (int, int) or None
        Lowest and highest label. None: those of the rows that are scored.
    thresholds : tuple of float or None
        Where scores are cut; None: midway between the labels.
    score_range : (float, float) or None
        Of the thresholds, as of :class:`gbdt_objectives.thresholds.Thresholds`.
    """

    greater_is_better: ClassVar[bool] = True
    label_range: tuple[int, int] | None = None
    thresholds: tuple[float, ...] | None = None
    score_range: tuple[float, float] | None = field(default=None, repr=False)

    @property
    def link(self) -> Link | None:  # type: ignore[override]  # thresholds cut margins of any unit
        return IDENTITY if self.thresholds is None else None

    @property
    def is_ordinal(self) -> bool:
        """Whether it counts how far apart classes are in the order of labels."""
        return getattr(self, "cost", None) in ("absolute", "squared")

    def of_counts(self, counts: Array) -> float:
        """The metric of (weighted) confusion counts [true, predicted]."""
        raise NotImplementedError

    def of_every_cut(self, C: Array) -> tuple[Array, Any]:
        """The metric at d+1 cuts, nan where 0/0, and its divisor, of sums of weights (2, d+1)."""
        counts = np.stack([C, C[:, -1:] - C], axis=1)
        return np.array([self.of_counts(counts[..., i]) for i in range(C.shape[1])]), C[:, -1].sum()

    def of_classes(self, rows: Rows, low: int, high: int) -> float:
        """The metric of checked integer classes y and f in low..high."""
        K = high - low + 1
        if K > MOST_CLASSES:
            raise ValueError(
                f"the classes range from {low} to {high}, which makes {K:,}: number those that "
                "there are, numpy.unique(y, return_inverse=True)[1], or add labels=[...], all of "
                "them in ascending order, to your own call"
            )
        return self.of_counts(rows.total(class_counts(rows, low, K)))

    @scores_models
    def __call__(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        sample_weight: ArrayLike | None = None,
        labels: ArrayLike | None = None,  # not by keyword only: LightGBM fills all it can count
    ) -> Any:
        given = labels is not None and caller_of(Stack.here()) is not None
        if hasattr(y_pred, "get_label") or given:  # boosters, LightGBM's ranker with its groups
            return super().__call__(y_true, y_pred, sample_weight)
        unsaid = labels is None and self.label_range is None
        if unsaid and _checks.as_array("y_pred", y_pred).dtype.kind != "f":
            labels = _checks.category_order("y_true", y_true, ordinal=False)
        if labels is None:
            return super().__call__(y_true, y_pred, sample_weight)
        if self.thresholds is not None:
            raise ValueError(
                "labels= says that y_pred holds classes, but the metric has thresholds to cut "
                "scores with: leave one of the two out"
            )
        order = self.agree_labels(labels, refuse=False)
        assert order is not None
        rows = class_rows(order, y_true, y_pred, sample_weight)
        return self._of_labels(order).of_classes(rows, 0, len(order) - 1)

    def _refuse_unclear(self, y_true: ArrayLike, y_pred: ArrayLike, w: Any) -> None:
        if self.score_range is not None:
            p = _checks.vector("y_pred", y_pred)
            _checks.in_unit_of(self.score_range, "these thresholds are", p)
        if self.label_range is not None:
            return
        y, p = np.asarray(y_true), np.asarray(y_pred)
        if y.dtype.kind not in "iuf" or not (y.size and p.size):
            return
        low, high = y.min(), y.max()
        if self.is_ordinal:
            _checks.warn_of_code("y_true", y, low, high, weight=w)
        if p.dtype.kind != "f":
            return
        outside = (p < low) | (p > high)
        if outside.any() and (p == np.rint(p)).all():
            raise ValueError(
                f"y_pred holds whole numbers as floats, found {p[outside][0]:g} beyond the labels "
                f"{low:g} to {high:g}: convert them to integers if they are classes; if they are "
                "scores, pass label_range=(lowest, highest) to the metric"
            )

    def _of_labels(self, labels: ArrayLike | None) -> Self:
        """The metric with positions of these labels; of None, of all in ascending order."""
        return self

    def agree_labels(self, labels: ArrayLike | None, **asked: Any) -> Array | None:
        """The labels given or those of ``label_range``; both must be the same."""
        order = None if labels is None else check_order(labels, self.is_ordinal, **asked)
        if self.label_range is None:
            return order
        low, high = self.label_range
        if order is not None and not same_labels(order, range(low, high + 1)):
            raise ValueError(
                f"labels are {shown(order.tolist())}, but the metric has label_range "
                f"{self.label_range}: leave one of the two out"
            )
        return np.arange(low, high + 1) if order is None else order

    def score(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> float:
        y = whole_numbers("y_true", y_true, OF_FRACTIONS)
        check_one_score(self.name, y_pred)
        p = _checks.as_array("y_pred", y_pred)
        scores = p.dtype.kind not in "biu" or self.thresholds is not None
        p = _checks.vector("y_pred", p) if scores else whole_numbers("y_pred", p)
        rows = counted_rows(y, p, sample_weight)
        y, p = rows.y, rows.f
        if self.label_range is None:
            low, high = range_of(rows, () if scores else (p,))
        else:
            low, high = self.label_range
            for name, c in zip(("y_true", "y_pred"), (y,) if scores else (y, p), strict=False):
                _checks.in_label_range(name, c, self.label_range)
        if self.thresholds is not None:
            if self.score_range is not None and self.score_range[0] >= 0:  # not of early rounds
                _checks.in_unit_of(self.score_range, "these thresholds are", p)
            p = low + np.searchsorted(self.thresholds, p, side="right")
        elif scores:
            p = rounded(p).clip(low, high)
        own = self._of_labels(None if self.label_range is None else range(low, high + 1))
        return own.of_classes(Rows(y, p, rows.w), low, high)


def class_rows(order: Array | None, y_true: Any, y_pred: Any, sample_weight: Any) -> Rows:
    """Rows that count, of classes that are whole numbers, or of their positions in the order."""
    if hasattr(y_pred, "get_label"):
        raise TypeError(f"a booster calls quadratic_weighted_kappa with scores: {OF_SCORES}")
    if order is None:
        y = whole_numbers("y_true", y_true, OF_FRACTIONS)
        check_one_score("quadratic_weighted_kappa", y_pred)
        p = whole_numbers("y_pred", y_pred, OF_SCORES)
    else:
        y, p = positions("y_true", y_true, order), positions("y_pred", y_pred, order)
    return counted_rows(y, p, sample_weight)


def class_counts(rows: Rows, low: int, K: int) -> Array:
    """Weights [true, predicted] of rows, (K, K), of the classes low, low+1, ..."""
    N = K * K
    floats = rows.y.dtype == rows.f.dtype and rows.y.dtype.kind == "f"
    exact = floats and (abs(low) + K) * (K + 1) < 2**24

    def of_block(at: slice) -> Any:
        y, p = rows.y[at], rows.f[at]
        if not exact:
            y, p = y.astype(np.intp, copy=False), p.astype(np.intp, copy=False)
        pair = y * K + p
        if low:
            pair -= low * (K + 1)  # (y - low) K + (p - low), in one array
        pair = pair.astype(np.intp, copy=False)
        if rows.w is not None or N > 64 or len(pair) < STRETCH:
            return np.bincount(pair, None if rows.w is None else rows.w[at], N)
        half = len(pair) // 2  # two rows at a time, in less time
        fours: Array = np.bincount(pair[:half] * N + pair[half : 2 * half], minlength=N * N)
        rest, fours = np.bincount(pair[2 * half :], minlength=N), fours.reshape(N, N)
        return rest + fours.sum(axis=0) + fours.sum(axis=1)

    step = max(4 * STRETCH, N)
    starts = range(0, len(rows) or 1, step)
    return reduce(np.add, (of_block(slice(k, k + step)) for k in starts)).reshape(K, K)  # type: ignore[no-any-return]


def rounded(p: Array) -> Array:
    """The nearest whole numbers, halves upwards."""
    nearest = np.floor(p)
    nearest += p - nearest >= 0.5
    return nearest


def range_of(rows: Rows, others: Sequence[Array]) -> tuple[int, int]:
    """The lowest and highest class of the rows of all workers."""

    def ends(own: Rows) -> tuple[float, float]:
        found = [c for c in (own.y, *others) if len(c)]
        return (
            min((c.min() for c in found), default=np.inf),
            max((c.max() for c in found), default=-np.inf),
        )

    parts = rows.parts(ends)
    if not np.isfinite(parts).any():
        raise ValueError("y_true is empty on all workers: at least one row must count")
    return int(parts[:, 0].min()), int(parts[:, 1].max())
