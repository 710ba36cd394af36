"""Early stopping in the metric's own direction and full precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from types import FrameType
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Training, label_weight
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._train import MARK, corrected_rate, warn_if_few
from gbdt_objectives.metrics import Metric, loss_metric
from gbdt_objectives.objectives import Objective


class EarlyStopping(xgb.callback.EarlyStopping):
    """XGBoost's early stopping, in which rounds before the metric's first move do not count."""

    def __init__(
        self, metric: Metric, rounds: int, data_name: str | None = None, min_delta: float = 0.0
    ) -> None:
        super().__init__(
            rounds=rounds, metric_name=metric.name, data_name=data_name,
            maximize=metric.greater_is_better, save_best=True, min_delta=min_delta,
        )  # fmt: skip

    def before_training(self, model: Any) -> Any:
        forget(self)
        self.seen = 0
        self.save_best = isinstance(model, xgb.Booster)  # cv has no model to keep
        return super().before_training(model)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        values = evals_log[self.data or list(evals_log)[-1]][self.metric_name]
        self.seen = len(values)
        if len(values) > 1 and all(value == values[0] for value in values):
            return False
        return bool(super().after_iteration(model, epoch, evals_log))

    def after_training(self, model: Any) -> Any:
        if self.seen and xgb.collective.get_rank() == 0:  # one of several workers tells
            best = model.best_iteration - self.starting_round
            warn_if_few(best, self.seen, str(self.metric_name))
        return super().after_training(model)


def forget(callback: xgb.callback.EarlyStopping) -> None:
    """Forget an earlier training: a refitted estimator keeps its callbacks."""
    callback.stopping_history, callback.best_scores, callback.current_rounds = {}, {}, 0


STOPPING = xgb.callback.EarlyStopping
PRINTED = 1e-6  # XGBoost prints six decimals
MANY = 5  # rounds, of which the first is best by chance only if nothing is learned
LEARNED = 0.9  # of the loss: in noise, or with a rate of 1, less may fall while error rates rise


def early_stopping(metric: Metric, rounds: int, *, data_name: str | None = None) -> EarlyStopping:
    """XGBoost's early stopping in the metric's own direction, keeping the best rounds only.

    It is for ``callbacks=`` of XGBoost's own estimators and ``xgboost.train``, which would guess
    the direction from the metric's name. Rounds before the metric's first move do not count.

    Parameters
    ----------
    metric : Metric
        The one whose ``.xgboost`` rendering is the booster's metric.
    rounds : int
        Stop after this many rounds, at least 1, without improvement.
    data_name : str, optional
        Evaluation set to look at; None is the last one.

    Returns
    -------
    xgboost.callback.EarlyStopping

    Examples
    --------
    >>> from gbdt_objectives import extended_qwk_metric
    >>> from gbdt_objectives.adapters.xgboost import early_stopping
    >>> early_stopping(extended_qwk_metric(), 50).maximize
    True
    """
    _arguments.check_is_metric(metric)
    return EarlyStopping(metric, _checks.whole_number("rounds", rounds, 1), data_name)


def direct_callbacks(callbacks: Sequence[Any] | None, metric: Metric) -> list[Any]:
    """The user's callbacks, with ours in place of XGBoost's EarlyStopping, which by default keeps
    all rounds. :class:`Exact` tells a class of the user's the direction."""
    directed: list[Any] = []
    for callback in callbacks or ():
        if isinstance(callback, STOPPING) and callback.metric_name in (None, metric.name):
            if callback.maximize not in (None, metric.greater_is_better):
                better = "greater" if metric.greater_is_better else "smaller"
                raise ValueError(
                    f"callbacks holds an EarlyStopping with maximize={callback.maximize}, but a "
                    f"{better} {metric.name} is better: leave maximize out"
                )
            if type(callback) in (STOPPING, EarlyStopping):
                rounds, data, min_delta = callback.rounds, callback.data, callback._min_delta
                callback = EarlyStopping(metric, rounds, data, min_delta)
        directed.append(callback)
    return directed


def any_stops_early(callbacks: Sequence[Any]) -> bool:
    return any(isinstance(callback, STOPPING) for callback in callbacks)


def guesses(estimator: Any, name: str) -> tuple[bool, ...]:
    """Whether early stopping on a metric of this name would maximise it where nobody says that."""
    asked = [c for c in estimator.callbacks or () if any_stops_early([c]) and c.maximize is None]
    names = [None] * (estimator.early_stopping_rounds is not None) + [c.metric_name for c in asked]
    return tuple(is_maximized(name) for looked_at in names if looked_at in (None, name))


def is_maximized(name: str) -> bool:
    """Whether XGBoost maximises a metric of this name where nobody says that."""
    return name != "mape" and name.startswith(("auc", "pre", "map", "ndcg"))


def named(params: Mapping[str, Any], objective: Objective) -> dict[str, Any]:
    """The parameters by which a model predicts by the objective's link."""
    step = {"max_delta_step": params.get("max_delta_step") or 0}  # 0.7 by count:poisson
    linear = params.get("booster") == "gblinear"
    return {"objective": objective.link.xgboost, **({} if linear else step)}


class Complete(xgb.callback.TrainingCallback):
    """Callbacks, called in their order before XGBoost 3.0, too, that see a model which is complete.
    ``params`` are those of an estimator, whose booster is to be named by the objective's link. In
    each round it gets the rate for which the objective corrects, with the number of its rounds."""

    def __init__(
        self, callbacks: Sequence[Any], objective: Objective | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        xgb.callback.CallbackContainer(callbacks)  # raises for what is not a callback
        self.callbacks, self.rate = callbacks, corrected_rate(objective)
        self.named = objective and params and named(params, objective)

    def before_training(self, model: Any) -> Any:
        if self.named:
            model.set_param(self.named)
        for callback in self.callbacks:
            model = callback.before_training(model)
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        return any(c.before_iteration(model, epoch, evals_log) for c in self.callbacks)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.mark(model)
        return any(c.after_iteration(model, epoch, evals_log) for c in self.callbacks)

    def after_training(self, model: Any) -> Any:
        for callback in self.callbacks:
            model = callback.after_training(model)
        self.mark(model)
        return model

    def mark(self, model: Any) -> None:
        rate = self.rate  # None removes that of an earlier model
        model.set_attr(**{MARK: rate and f"{rate:.6g} {model.num_boosted_rounds()}"})


class Exact(Complete):
    """A metric whose values early stopping and the user see in full precision. XGBoost prints six
    decimals and reads them back. This is the metric that it calls, and a callback that restores the
    values and then calls the others."""

    def __init__(
        self, metric: Metric, *complete: Any, call: Callable[..., Any] | None = None
    ) -> None:
        super().__init__(*complete)
        self.metric, self.call = metric, call or metric.xgboost
        self.round: list[float] = []
        self.history: list[list[tuple[float, float]]] = []
        self.names: list[str] = []

    __name__ = property(attrgetter("metric.name"))

    def __call__(self, a: Any, b: Any, sample_weight: ArrayLike | None = None) -> Any:
        returned = self.call(a, b, sample_weight)
        self.round.append(returned[1] if isinstance(returned, tuple) else returned)
        return returned

    def before_training(self, model: Any) -> Any:
        """Tell early stopping the direction, also where it is of a user's class."""
        self.told = [(c, c.maximize) for c in self.callbacks if isinstance(c, STOPPING)]
        for callback, _ in self.told:
            forget(callback)
            if callback.metric_name in (None, self.metric.name):
                callback.maximize = self.metric.greater_is_better
        return super().before_training(model)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.names = [name for name in evals_log if self.metric.name in evals_log[name]]
        if self.round and self.names:  # else nothing was measured
            self.history.append(restore(evals_log, self.metric.name, self.round))
            self.round = []
        if len(self.history) == 1:
            self.check_names(evals_log[self.names[-1]])
        return super().after_iteration(model, epoch, evals_log)

    def after_training(self, model: Any) -> Any:
        model = super().after_training(model)
        for callback, maximize in self.told:  # another training may have another metric
            callback.maximize = maximize
        return model

    def check_names(self, log: Any) -> None:
        """Raise for two metrics of one name, or none of that on which training is to stop."""
        name, measured = self.metric.name, ", ".join(map(repr, log))
        if len(log[name]) > 1:
            twice = f"{name!r} is the name of two metrics, one of them XGBoost's own"
            raise ValueError(f"{twice}: write another into the class of yours, name = '{name}_2'")
        for found in (c.metric_name for c, _ in self.told if c.metric_name not in (None, *log)):
            wrong = f"callbacks holds an EarlyStopping on {found!r}, but what is measured are "
            raise ValueError(f"{wrong}{measured}: name one of these, or leave metric_name out")

    def write(self, history: Any) -> None:
        """Means and standard deviations over folds, per round, in what ``xgboost.cv`` returned."""
        for name, values in zip(self.names, zip(*self.history, strict=True), strict=True):
            column = f"{name}-{self.metric.name}"
            rounds = len(history[f"{column}-mean"])
            for what, numbers in zip(("mean", "std"), zip(*values, strict=True), strict=True):
                history[f"{column}-{what}"] = list(numbers[:rounds])

    def __deepcopy__(self, memo: dict[int, Any]) -> Exact:
        return self


def restore(evals_log: Any, metric: str, measured: list[float]) -> list[tuple[float, float]]:
    """Write what was measured in this round in full precision: in cv all sets of a fold in turn."""
    logs = [log[metric] for log in evals_log.values() if metric in log]
    folds = np.reshape(measured, (-1, len(logs)))
    exact = list(zip(folds.mean(axis=0).tolist(), folds.std(axis=0).tolist(), strict=True))
    for log, pair in zip(logs, exact, strict=True):
        log[-1] = pair if isinstance(log[-1], tuple) else pair[0]
    return exact


class Watch(xgb.callback.TrainingCallback):
    """Stands before early stopping in a plain call: restores the digits of metrics of ours, and
    asks whether the direction of a user's function is that of what it returned."""

    def __init__(self, callbacks: Sequence[Any], objective: Any, evals: Any, own: Any) -> None:
        self.stops = [(c, c.maximize) for c in callbacks if any_stops_early([c])]
        self.objective, self.evals, self.own = objective, evals, own
        self.said: dict[tuple[str, bool, str | None], list[float]] = {}  # by ours, as of ``note``
        self.log: Any = {}

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.log, self.folds = evals_log, len(getattr(model, "cvfolds", "1"))
        for (_, _, name), said in self.said.items():
            if name is not None:
                restore(evals_log, name, said[-self.folds * len(evals_log) :])
        return False

    def after_training(self, model: Any) -> Any:
        ours = {*self.own, *(name for _, _, name in self.said)}
        for stop, maximize in self.stops:
            its: Any = stop.data or next(reversed(self.log), None)
            name = stop.metric_name or next(reversed(self.log.get(its, {})), "")
            values = [np.ravel(value)[0] for value in self.log.get(its, {}).get(name, ())]
            if name in ours or np.ptp(values or [0.0]) < PRINTED:
                continue
            up = is_maximized(name) if maximize is None else maximize
            known = [(better, of) for (of, better, its_name), said in self.said.items()
                     if its_name is None and self.is_said(values, its, said)]  # fmt: skip
            worse = np.subtract(values, values[0]) * (-1 if up else 1)
            first = maximize is None and len(worse) > MANY and worse.min() >= 0 < worse[-1]
            if not known and first and self.learns(model, its, len(values)):
                known = [(not up, "")]
            for better, of in known:
                Training(last=name, guesses=[up], greater_is_better=better, returns=of)
        return model

    def is_said(self, values: list[float], its: str, said: list[float]) -> bool:
        """Whether each value of a set is one that ours said of it: no minus or 1 - kappa is."""
        shape = len(values), self.folds, len(self.log)
        if len(said) % math.prod(shape):
            return False
        means = np.reshape(said, (*shape, -1)).mean(axis=1)[:, [*self.log].index(its)]
        return bool((np.abs(means.T - values) < PRINTED).any(axis=0).all())

    def learns(self, model: Any, its: str, rounds: int) -> bool:
        """Whether the objective's loss of a set has clearly fallen since the first round."""
        folds = [(fold.bst, fold.watchlist) for fold in getattr(model, "cvfolds", ())]
        losses = [0.0, 0.0]
        with suppress(Exception):  # it may have none, or none of these rows
            for booster, sets in folds or [(model, self.evals)]:
                data = next(data for data, name in sets if name == its)
                for k, end in enumerate((booster.num_boosted_rounds() - rounds + 1, 0)):
                    f = booster.predict(data, output_margin=True, iteration_range=(0, end))
                    y, w = label_weight(data)
                    losses[k] += loss_metric(self.objective).score(y, f, w)
            return losses[1] < LEARNED * losses[0]
        return False


def watch(container: Any, objective: Any = None, evals: Any = (), own: Any = ()) -> Watch | None:
    """What watches the callbacks of a plain call, if it stops early, on one machine."""
    known = next((c for c in container.callbacks if isinstance(c, Watch | Complete)), None)
    if known is None and not _workers.workers() and any_stops_early(container.callbacks):
        known = Watch(container.callbacks, objective, evals, own)
        container.callbacks = [known, *container.callbacks]
    return known if isinstance(known, Watch) else None  # else ours has asked before


def note(said: tuple[str, bool, str | None], value: float, frame: FrameType | None) -> None:
    while frame and not isinstance(frame.f_locals.get("self"), xgb.callback.CallbackContainer):
        frame = frame.f_back
    if frame and (found := watch(frame.f_locals["self"])):
        found.said.setdefault(said, []).append(value)
