"""Metric: a scikit-learn style metric that boosters call as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from itertools import chain, count
from operator import attrgetter
from typing import Any, ClassVar, Literal, TypeVar, cast
from weakref import finalize

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks, _registry
from gbdt_objectives._checks import Sampling, Scoring, Stack, Training
from gbdt_objectives._checks.guards import may_undo
from gbdt_objectives._links import Link
from gbdt_objectives._public import public
from gbdt_objectives._rows import calls as _calls, workers as _workers
from gbdt_objectives._rows.rows import Rows, Shown

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
        if np.shape(y_pred) == (0, 0):  # XGBoost 3.4, on a worker without rows
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
    method = getattr(at.get("response_method"), "__name__", "")  # since 1.4
    old = {"_PredictScorer": "predict", "_ProbaScorer": "predict_proba"}
    response = method or old.get(type(at["self"]).__name__, "")
    return Scoring(
        metric=metric, maximizes=at["self"]._sign > 0, model=at.get("estimator", at.get("clf")),
        **({"response": response} if response else {}),
    )  # fmt: skip
