"""One estimator inside another or several with names; the regressors of a QWKClassifier.

Symbols: M regressors, n rows, o out-of-fold scores (n, M), beta the weight of each, (M,), of sum 1.

Each fold is trained in a thread of its own. After each round it waits for the others, and its
booster is told the mean of all folds' metrics in place of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike
from sklearn import config_context, get_config
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import _BaseComposition

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, Member, Stack, Training, shown, warn
from gbdt_objectives._registry import Named, library_in_role
from gbdt_objectives.adapters._arguments import refuse_parameters
from gbdt_objectives.adapters._estimators import OBJECTIVES, check_name, trained_on
from gbdt_objectives.adapters._models import Library
from gbdt_objectives.calibration import SegmentCalibrator
from gbdt_objectives.estimators import _base
from gbdt_objectives.estimators._base import FitRows, last_step
from gbdt_objectives.metrics import Metric
from gbdt_objectives.metrics.loss import default_metric
from gbdt_objectives.objectives import Objective, qwk_objective

if TYPE_CHECKING:
    from typing_extensions import Self

PAIRS = "write pairs, [('lgb', LGBMRegressor()), ('xgb', XGBRegressor())]"

SQUARED_ERROR = ("rmse", "mse", "l2", "RMSE")
"""Names of metrics that are least where squared error is."""

WEIGH = (
    "which is not for class positions, and which the thresholds would undo: leave it out, and pass "
    "sample_weight= to fit"
)

LONG_TAIL = 5.0
"""Skewness of a target above which learning it was worse than learning classes in trials, and its
logarithm better (test_a_target_with_a_long_tail_names_its_logarithm)."""

Members = list[tuple[str, Any]]  # name and estimator of each; the only one's name is "estimator"


class Kind(NamedTuple):  # what members are
    name: str
    check: Callable[[Any, str], None]
    least: int  # of them in a list
    pairs: str


def read_members(estimator: Any, kind: Kind) -> Members:
    """The members, each checked to be one."""
    several = hasattr(estimator, "__iter__") and not hasattr(estimator, "get_params")
    if several and not isinstance(estimator, list | str):
        found = type(estimator).__name__
        raise TypeError(
            f"estimator must be a {kind.name} or a list of several, found a {found}: {kind.pairs}"
        )
    if not isinstance(estimator, list):
        kind.check(estimator, "estimator")
        return [("estimator", estimator)]
    for member in estimator:
        pair = isinstance(member, tuple | list) and len(member) == 2
        if not (pair and isinstance(member[0], str)):
            raise TypeError(
                f"estimator holds {shown(member)}, which is no name with a {kind.name}: "
                f"{kind.pairs}"
            )
        name, own = member
        if isinstance(own, str):
            raise ValueError(f"estimator has {name!r}: {own!r}: leave it out of the list")
        kind.check(own, f"estimator {name!r}")
    if len(estimator) < kind.least:
        raise ValueError(
            f"estimator is a list of {len(estimator)}: name several, or pass the only one itself"
        )
    return [(name, own) for name, own in estimator]


class Composed(_BaseComposition):  # type: ignore[misc]
    """Mixin of estimators around one estimator, or a list of several with names."""

    estimator: Any
    _kind: Kind

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with ``deep`` also ``name__parameter`` of what is inside."""
        several = isinstance(self.estimator, list)
        get = partial(self._get_params, "estimator") if several else super().get_params
        return dict(get(deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also ``name__parameter`` and ``name``, one of several."""
        estimator = params.get("estimator", self.estimator)
        for name in params:
            if name.startswith("estimator__") and isinstance(estimator, list):
                names = ", ".join(each for each, _ in read_members(estimator, self._kind))
                raise ValueError(
                    f"{name!r} is for a single {self._kind.name}: of several write "
                    f"NAME__PARAMETER, with one of the names {names}"
                )
        self._set_params("estimator", **params)
        return self

    def __sklearn_clone__(self) -> Self:
        try:
            copy: Self = super().__sklearn_clone__()
        except RuntimeError:
            for _, estimator in read_members(self.estimator, self._kind):
                _base.fresh(estimator)  # says which, and what to do
            raise
        return copy

    def _read_members(self) -> Members:
        members = read_members(self.estimator, self._kind)
        if isinstance(self.estimator, list):
            self._validate_names([name for name, _ in members])
        return members


def check_regressor(estimator: Any, name: str) -> None:
    if (
        isinstance(estimator, type)
        or not hasattr(estimator, "get_params")
        or not (hasattr(estimator, "predict") or is_regressor(estimator))
    ):
        raise TypeError(f"{name} must be a regressor such as LGBMRegressor(), found {estimator!r}")
    if is_classifier(estimator):
        raise TypeError(
            f"{name} must be a regressor, found the classifier {estimator!r}: thresholds need one "
            "continuous score, use its regressor"
        )
    check_name(last_step(estimator))


REGRESSORS = Kind("regressor", check_regressor, 2, PAIRS)


def library_inside(estimator: Any) -> Library | None:
    """The library of the LGBMRegressor or XGBRegressor that it ends in, else None."""
    return library_in_role(last_step(estimator), "Regressor")


def clips(model: Any) -> bool:
    """Whether its objective clips scores to 0..K-1: beyond, training does not constrain them."""
    return bool(getattr(getattr(last_step(model), "objective", None), "clip", False))


def take_class_weight(
    members: Members, classes: Array, position: Array, w: Array | None
) -> tuple[Members, Array | None]:
    """The regressors without class_weight, which thresholds undo, and the weights times it."""
    regressors = [last_step(each) for _, each in members]
    weight, *others = (each.get_params(deep=False).get("class_weight") for each in regressors)
    if any(other != weight for other in others) or (weight and (position < 0).any()):
        raise ValueError(
            f"estimator has class_weight={[weight, *others]}, which must be the same for all "
            "regressors, and needs the class of every row: leave it out, and pass to fit "
            "sample_weight=compute_sample_weight(class_weight, y) of sklearn.utils.class_weight"
        )
    if weight is None:
        return members, w
    members = [(name, _base.fresh(each)) for name, each in members]
    for _, each in members:
        last_step(each).set_params(class_weight=None)
    if not (isinstance(weight, str) and weight == "balanced"):
        weight = _checks.class_weights("class_weight", weight, classes.tolist())
    w = compute_sample_weight(weight, position) * (1.0 if w is None else w)
    return members, FitRows.check_weights(w, len(position), *regressors, name="class_weight")


def check_labels_of_members(
    members: Members, asking: Any, classes: Array, goal: Array, is_target: bool, stops: bool
) -> None:
    """Ask the guards of what regressors read as said of labels; those that stop read a metric."""
    unread = () if stops else _base.METRIC
    for name, estimator in members:
        last = last_step(estimator)
        called = name if len(members) == 1 else f"estimator {name!r}"
        known = {"name": called, "classes": classes.tolist()}
        ends = float(goal.min()), float(goal.max())
        for part in (last, *last.get_params().values()):
            library = library_inside(getattr(part, "estimator", part))  # also of a search for it
            if library is not None:
                given = [one for one in _base.all_parameters(part) if one[1] not in unread]
                given.append(("objective", "objective", asking.objective))
                Member(
                    **known, parameters=given, library=library, target_ends=ends, weighing=WEIGH,
                    of_positions=not is_target,
                )  # fmt: skip
        Member(**known, parameters=_base.all_parameters(estimator))


def check_trainable(members: Members, objective: object) -> None:
    """Raise if a regressor cannot be trained on folds with the objective, or none on it."""
    for _, estimator in members:
        estimator = last_step(estimator)
        own = estimator.get_params().get("objective") if objective is None else objective
        if not isinstance(own, Objective):
            continue
        if own.link.n_classes or not (objective is None or own.link.is_label_unit):
            raise ValueError(
                f"objective {own!r} has the link {own.link.name!r}: scores must be in units of the "
                "class positions; for its own classes use LGBMClassifier or XGBClassifier of "
                "gbdt_objectives.adapters"
            )
        if own.is_by_row:
            raise ValueError(
                f"objective {own!r} is for training rows in their order, but QWKClassifier trains "
                "on folds of them: score the rows with cross_val_predict(regressor, X, y, "
                "params={'cost': cost}), of a drop-in estimator on objective(function, "
                "rows=['cost']), and fit a ThresholdClassifier to the scores"
            )
    if objective is None:
        return
    _checks.check_called("objective", objective)
    if objective != "qwk" and not isinstance(objective, Objective):
        raise TypeError(
            f"objective must be 'qwk', an objective of this package or None, found {objective!r}"
        )
    boosters = boosters_of(members)
    if not boosters:
        raise ValueError(
            f"objective={objective!r} needs an LGBMRegressor or XGBRegressor, found "
            f"{kinds_of(members)}, which cannot be given an objective: pass objective=None"
        )
    for booster, library in boosters:
        refuse_parameters(
            booster.get_params(), OBJECTIVES, library.defaults["Regressor"],
            f"but QWKClassifier objective={objective!r}: leave the first out, or pass None",
        )  # fmt: skip


def check_early_stopping(members: Members, stopping_rounds: object, objective: object) -> None:
    """Raise if no regressor can be stopped early, or one would do so on its own terms."""
    boosters = boosters_of(members)
    for booster, library in boosters:
        parameters = booster.get_params()
        callbacks = parameters.get("callbacks") or ()
        stops = any(isinstance(callback, library.stops) for callback in callbacks)
        refuse_parameters(
            parameters, (*library.own_stopping, *["callbacks"] * stops), (),
            "which gets no held-out rows and (in XGBoost) minimises kappa: pass "
            "early_stopping_rounds= to QWKClassifier",
        )  # fmt: skip
    for _, estimator in members:
        parameters = last_step(estimator).get_params()
        if "validation_fraction" not in parameters:  # of the rows that it is trained on
            refuse_parameters(
                parameters, ("early_stopping_rounds",), (),
                "but it gets no held-out rows: leave it out, and set its number of rounds",
            )  # fmt: skip
    if isinstance(stopping_rounds, str):
        _checks.choice("early_stopping_rounds", stopping_rounds, ("auto",))
    if stopping_rounds in (None, "auto"):
        return
    _checks.whole_number("early_stopping_rounds", stopping_rounds, 1)
    if not boosters:
        raise ValueError(
            "early_stopping_rounds is for LGBMRegressor and XGBRegressor, found "
            f"{kinds_of(members)}: set its number of rounds, or its own early stopping"
        )
    for booster, library in boosters:
        check_stops(booster, library, objective)


def check_stops(booster: Any, library: Library, objective: object) -> None:
    """Raise if it cannot stop on the rows held out, or would do so on something else."""
    library.check_stopping(booster)
    _base.check_best_round(booster.get_params())
    written, metric = _base.find_metric(booster)
    if not isinstance(metric, Metric):
        refuse_parameters(
            {written: metric}, (written,), SQUARED_ERROR if objective is None else (),
            "but early stopping looks at the loss of the class positions, or at a metric of "
            "gbdt_objectives: pass qwk_metric(), or leave it out",
        )  # fmt: skip


def those_that_stop(
    members: Members, asking: Any, classes: Array, goal: Array, is_target: bool
) -> list[bool]:
    """Which regressors stop early; with "auto" those that a number of rounds would not refuse."""
    if asking.early_stopping_rounds != "auto":
        number = asking.early_stopping_rounds is not None
        return [number and library_inside(each) is not None for _, each in members]
    found = []
    for member in members:
        found.append(True)
        try:
            check_stops_by_itself(last_step(member[1]), asking.objective)
            check_labels_of_members([member], asking, classes, goal, is_target, stops=True)
        except (TypeError, ValueError):
            found[-1] = False
    return found


def check_stops_by_itself(booster: Any, objective: Any) -> None:
    """Raise unless it stops where its scores are best without being asked to."""
    library = library_inside(booster)
    if library is None or getattr(booster, "get_num_boosting_rounds", lambda: 2)() < 2:
        raise TypeError("it has no rounds: in XGBoost's random forest all trees are one")
    check_stops(booster, library, objective)
    trained = library.own_class(_base.fresh(booster))
    if objective is None:
        asked = {name: value for _, name, value in _base.all_parameters(booster)}
        refuse_parameters(asked, ("objective",), library.defaults["Regressor"], "")
    else:
        objective = qwk_objective() if objective == "qwk" else objective
        trained.set_params(objective=objective)
    _, metric = _base.find_metric(booster)
    metric = metric if isinstance(metric, Metric) else default_metric(objective)
    Training(role="Regressor", **trained_on(trained)).know(metric=metric)


def warn_of_skew(members: Members, target: Array) -> None:
    """Warn if squared error would follow the few greatest values of a target with a long tail."""
    squares = any(
        all(v in library.defaults["Regressor"] for _, name, v in given if name == "objective")
        for booster, library in boosters_of(members)
        for given in [_base.all_parameters(booster)]
    )
    tail = float(scipy.stats.skew(target))
    if squares and tail > LONG_TAIL and target.min() >= 0:
        log = "numpy.log(target)" if target.min() > 0 else "numpy.log1p(target)"
        warn(
            f"target has a skewness of {tail:.2g}: squared error follows its few greatest values, "
            f"which the classes hardly tell apart; pass {log}"
        )


def boosters_of(members: Members) -> list[tuple[Any, Library]]:
    """Each LGBMRegressor or XGBRegressor that a member ends in, and its library."""
    found = ((last_step(estimator), library_inside(estimator)) for _, estimator in members)
    return [(booster, library) for booster, library in found if library is not None]


def kinds_of(members: Members) -> str:
    return ", ".join(type(last_step(estimator)).__name__ for _, estimator in members)


def read_weights(weights: ArrayLike | None, members: Members) -> Array | None:
    """The given weights of the regressors, of sum 1."""
    if weights is None:
        return None
    if len(members) == 1:
        raise ValueError(
            "weights are for several regressors, but estimator is a single one: leave them out; "
            "weights of rows are sample_weight of fit"
        )
    names = [name for name, _ in members]
    keys = list(weights.keys()) if hasattr(weights, "keys") else None
    if isinstance(weights, Mapping | str) or keys not in (None, names, list(range(len(names)))):
        raise TypeError(
            f"weights must be a list in the order of the regressors, {', '.join(names)}, found "
            f"{type(weights).__name__} {shown(weights if keys is None else keys)}"
        )
    beta: Array = _checks.vector("weights", weights).astype(np.float64)
    if len(beta) != len(members):
        raise ValueError(
            f"weights must be one for each of the {len(members)} regressors, found {len(beta)}"
        )
    if (beta < 0).any() or not beta.any():
        raise ValueError(
            f"weights must be >= 0, and one of them above, found {shown(beta.tolist())}"
        )
    beta /= beta.max()  # whose sum may overflow
    beta /= beta.sum()
    return beta


def blend_weights(goal: Array, o: Array, w: Array | None, folds: Sequence[Array]) -> Array:
    """The weights beta >= 0 of least squared error of alpha[fold] + o @ beta about the goal, scaled
    to sum 1; equal ones where no score rises with the goal. Without a constant alpha of each fold a
    mean of the training rows would count, which is low where the goals held out are high."""
    from sklearn.linear_model import LinearRegression

    held, largest = np.unique(np.concatenate(folds)), np.abs(o).max(axis=0)
    o, goal = (within_folds(values, w, folds)[held] for values in (o, goal))
    o[:, np.abs(o).max(axis=0) <= 1e-12 * largest] = 0.0  # a constant in each fold, but rounded
    fitted = LinearRegression(positive=True, fit_intercept=False)
    beta: Array = fitted.fit(o, goal, None if w is None else w[held]).coef_
    total = beta.sum()
    return beta / total if total > 0 else np.full(len(beta), 1 / len(beta))


def within_folds(values: Array, w: Array | None, folds: Sequence[Array]) -> Array:
    """Values, (n,) or (n, M), less their mean in the fold; a mean over folds that share rows."""
    found, times = np.zeros(values.shape), np.zeros(len(values), np.int64)
    for rows in folds:
        v = None if w is None else w[rows]
        if v is None or v.any():
            found[rows] += values[rows] - np.average(values[rows], axis=0, weights=v)
        times[rows] += 1
    return np.asarray((found.T / np.maximum(times, 1)).T)


PATIENCE = 20  # rounds without a better mean after which folds stop: experiments/early_stopping


class FoldThreads:
    """A thread for each fold, ``n_jobs`` of which run while the others wait for their turn."""

    def __init__(self, weights: Sequence[float], n_jobs: int) -> None:
        self.weights = weights  # of the rows that each fold holds out
        self.running = threading.Semaphore(n_jobs)
        self.changed = threading.Condition()  # of the values of all rounds, and of what failed
        self.failed: BaseException | None = None

    def run(self, fit: Callable[..., Any], folds: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """What ``fit`` returns for each fold, in order; the first error ends all of them."""
        config = get_config()  # of this thread: another would have scikit-learn's defaults

        def fit_one(k: int) -> Any:
            try:
                with self.running, config_context(**config):
                    self.check()
                    return fit(*folds[k])
            except BaseException as error:  # or the other folds would wait for this one
                self.fail(error)
                raise

        with ThreadPoolExecutor(len(folds)) as pool:
            try:
                told = [copy_context() for _ in folds]  # by which a warning is told once
                for one in [pool.submit(own.run, fit_one, k) for k, own in enumerate(told)]:
                    yield one.result()
            except BaseException as error:  # also of who waits here, such as KeyboardInterrupt
                self.fail(error)
                raise self.failed or error from None

    def stops(self, members: Sequence[bool]) -> list[list[Stop | None]]:
        """The round in which each fold's models stop, in a list; None for one that does not."""
        of_member = [Rounds(self) if stops else None for stops in members]
        return [
            [None if rounds is None else Stop(PATIENCE, rounds, k) for rounds in of_member]
            for k in range(len(self.weights))
        ]

    def check(self) -> None:
        if self.failed is not None:
            raise CancelledError

    def fail(self, error: BaseException) -> None:
        """Wake all that wait, which then end."""
        with self.changed:
            self.failed = self.failed or error
            self.changed.notify_all()


class Rounds:
    """The values of one metric after each round, in all folds."""

    def __init__(self, folds: FoldThreads) -> None:
        self.folds = folds
        self.values: list[list[float]] = [[] for _ in folds.weights]
        self.ended = [False for _ in folds.weights]

    def mean(self, fold: int, value: float) -> float:
        """The mean over folds in the round that has this value in one of them."""
        folds = self.folds
        folds.check()
        with folds.changed:
            self.values[fold].append(value)
            k = len(self.values[fold])
            if all_have := self.all_have(k):  # else nobody could go on
                folds.changed.notify_all()
        if not all_have:
            folds.running.release()  # another runs in its place
            with folds.changed:
                folds.changed.wait_for(lambda: folds.failed is not None or self.all_have(k))
            folds.running.acquire()
        folds.check()
        values = [own[min(k, len(own)) - 1] for own in self.values]
        return float(np.average(values, weights=folds.weights))

    def all_have(self, k: int) -> bool:
        """Whether each fold has so many rounds, or has ended: then its last value stays."""
        pairs = zip(self.values, self.ended, strict=True)
        return all(len(own) >= k or ended for own, ended in pairs)

    def end(self, fold: int) -> None:
        """Let the others go on alone, if a callback of the user's has stopped this one."""
        with self.folds.changed:
            self.ended[fold] = True
            self.folds.changed.notify_all()


@dataclass(frozen=True, kw_only=True)
class InStep(Metric):
    """A metric of the rows that a fold holds out, whose value is the mean over all folds."""

    metric: Metric
    rounds: Rounds
    fold: int

    name = property(attrgetter("metric.name"))  # that of a field
    greater_is_better = property(attrgetter("metric.greater_is_better"))
    link = property(attrgetter("metric.link"))

    def _ask_guards(self, form: Named, stack: Stack) -> None:
        if not self.rounds.values[self.fold]:  # what calls does not change while it trains
            super()._ask_guards(form, stack)

    def score(self, *rows: Any) -> float:
        """The value of any rows, which is no fold's: HistGradientBoosting measures its own, too."""
        return self.metric.score(*rows)

    def _of_everybody(self, y_true: Any, y_pred: Any, weights: Any) -> float:
        counts = self.rounds.folds.weights[self.fold] > 0
        value = self.metric._of_everybody(y_true, y_pred, weights) if counts else 0.0
        return self.rounds.mean(self.fold, value)


class Stop(NamedTuple):
    """A booster stops after ``patience`` rounds without gain on the rows held out."""

    patience: int
    rounds: Rounds | None = None  # of all folds, if these stop in step
    fold: int = 0

    def watched(self, metric: Metric) -> Metric:
        """What the booster stops on, where the metric is that of its fold."""
        if self.rounds is None:
            return metric
        space = metric.input_space
        return InStep(metric=metric, rounds=self.rounds, fold=self.fold, input_space=space)

    def end(self) -> None:
        """Say that the booster is trained."""
        if self.rounds is not None:
            self.rounds.end(self.fold)


def segment_column(X: Any, segment: str | int) -> Array:
    """The column of X of this name or number, which has the segment of each row."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    if hasattr(X, "tocsr") or len(X.shape) != 2:
        found = "sparse" if hasattr(X, "tocsr") else f"of shape {X.shape}"
        raise TypeError(f"segment needs a column of X, but X is {found}: pass a dense X")
    names = list(getattr(X, "columns", range(X.shape[1])))
    at = [k for k, name in enumerate(names) if name == segment]
    if isinstance(segment, str):
        exists, is_clear = bool(at), len(at) == 1
    else:  # scikit-learn reads it as a number even if columns have integers as names
        exists = -len(names) <= segment < len(names)
        is_clear = at in ([], [segment])
    if at and not is_clear:
        raise ValueError(
            f"segment={segment!r} is the name of columns number {shown(at)} of X: make "
            "names different strings, as an integer is a number of a column"
        )
    if not exists:
        raise ValueError(
            f"segment={segment!r} is no column of X, which has {shown(names)}: give one "
            "of their names, or a number from 0"
        )
    return np.asarray(_safe_indexing(X, segment, axis=1))


def segments_of(calibrator: Any, X: Any) -> dict[str, Array]:
    """The segments of rows, by the name of the argument, if the calibrator reads them."""
    if not isinstance(calibrator, SegmentCalibrator):
        return {}
    return {"segments": segment_column(X, calibrator._column())}
