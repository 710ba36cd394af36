"""Early stopping in the metric's own direction and full precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives.adapters._stopping import warn_if_few
from gbdt_objectives.metrics import Metric


class EarlyStopping(xgb.callback.EarlyStopping):
    """XGBoost's, with patience that is used up only once the metric has moved."""

    exact: Exact | None = None

    def before_training(self, model: Any) -> Any:
        """Forget an earlier training: a refitted estimator keeps its callbacks."""
        self.stopping_history, self.best_scores, self.current_rounds, self.seen = {}, {}, 0, 0
        if not isinstance(model, xgb.Booster):  # cv has no model to keep
            self.save_best = False
        return super().before_training(model)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if self.exact is not None:
            self.exact.after_iteration(model, epoch, evals_log)
        data = evals_log[self.data or list(evals_log)[-1]]
        values = data[self.metric_name or list(data)[-1]]
        self.seen = len(values)
        if len(values) > 1 and all(value == values[0] for value in values):
            return False
        stops: bool = super().after_iteration(model, epoch, evals_log)
        return stops

    def after_training(self, model: Any) -> Any:
        if self.seen:
            best = model.best_iteration - self.starting_round
            warn_if_few(best, self.seen, self.metric_name or "the metric")
        return super().after_training(model)


class OwnEarlyStopping(xgb.callback.TrainingCallback):
    """An EarlyStopping of a class of the user's, told the direction and shown exact values.

    All else is its own: its methods, its patience, its ``save_best``.
    """

    exact: Exact | None = None

    def __init__(self, own: xgb.callback.EarlyStopping, metric: Metric) -> None:
        super().__init__()
        self.own, self.metric, self.maximize = own, metric, own.maximize

    @property
    def data(self) -> str | None:
        return self.own.data

    def before_training(self, model: Any) -> Any:
        """Forget an earlier training: a refitted estimator keeps its callbacks."""
        self.own.stopping_history, self.own.best_scores, self.own.current_rounds = {}, {}, 0
        self.own.maximize = self.metric.greater_is_better
        return self.own.before_training(model)

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        return self.own.before_iteration(model, epoch, evals_log)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if self.exact is not None:
            self.exact.after_iteration(model, epoch, evals_log)
        return self.own.after_iteration(model, epoch, evals_log)

    def after_training(self, model: Any) -> Any:
        self.own.maximize = self.maximize  # another training may have another metric
        return self.own.after_training(model)


STOPPING = (xgb.callback.EarlyStopping, OwnEarlyStopping)


def early_stopping(
    metric: Metric, rounds: int, *, data_name: str | None = None
) -> xgb.callback.EarlyStopping:
    """XGBoost's early stopping in the metric's own direction, keeping the best rounds only.

    For ``callbacks=`` of XGBoost's own estimators and ``xgboost.train``, which would
    otherwise guess the direction from the metric's name. The estimators and ``train`` of
    ``gbdt_objectives.adapters.xgboost`` need no such callback. Rounds before the metric's
    first move use up no patience.

    Parameters
    ----------
    metric : Metric
        The one whose ``.xgboost`` rendering is the booster's metric.
    rounds : int
        Stop after this many rounds without improvement.
    data_name : str, optional
        Evaluation set to look at; None is the last one.

    Returns
    -------
    xgboost.callback.EarlyStopping

    Raises
    ------
    TypeError
        If ``metric`` is not a Metric.
    ValueError
        If ``rounds`` is not a whole number above 0.

    Examples
    --------
    >>> from gbdt_objectives import extended_qwk_metric
    >>> from gbdt_objectives.adapters.xgboost import early_stopping
    >>> early_stopping(extended_qwk_metric(), 50).maximize
    True
    """
    if not isinstance(metric, Metric):
        raise TypeError(
            f"metric must be a Metric such as qwk_metric(), found {_checks.shown(metric)}"
        )
    return stop_on(metric, _checks.whole_number("rounds", rounds, 1), data_name, save_best=True)


def stop_on(
    metric: Metric,
    rounds: int,
    data_name: str | None = None,
    *,
    save_best: bool,
    min_delta: float = 0.0,
) -> EarlyStopping:
    return EarlyStopping(
        rounds=rounds,
        metric_name=metric.name,
        data_name=data_name,
        maximize=metric.greater_is_better,
        save_best=save_best,
        min_delta=min_delta,
    )


def direct_callbacks(
    callbacks: Sequence[Any] | None, metric: Metric | None, *, save_best: bool = True
) -> list[Any]:
    """The user's callbacks, with ours in place of XGBoost's EarlyStopping on ``metric``.

    Ours keeps the best rounds: of ``save_best=False`` nobody can tell whether it was written or is
    XGBoost's default. One of a class of the user's is kept.
    """
    directed: list[Any] = []
    for callback in callbacks or ():
        if metric is None or not isinstance(callback, xgb.callback.EarlyStopping):
            directed.append(callback)
        elif callback.metric_name not in (None, metric.name):
            raise ValueError(
                f"callbacks holds an EarlyStopping on {callback.metric_name!r}, but the metric is "
                f"{metric.name!r}: leave metric_name out"
            )
        elif callback.maximize not in (None, metric.greater_is_better):
            raise ValueError(
                f"callbacks holds an EarlyStopping with maximize={callback.maximize}, but of "
                f"{metric.name} {'greater' if metric.greater_is_better else 'smaller'} is better: "
                "leave maximize out"
            )
        elif type(callback) not in (xgb.callback.EarlyStopping, EarlyStopping):
            directed.append(OwnEarlyStopping(callback, metric))
        else:
            rounds, data = callback.rounds, callback.data
            min_delta = callback._min_delta
            directed.append(stop_on(metric, rounds, data, save_best=save_best, min_delta=min_delta))
    return directed


def any_stops_early(callbacks: Sequence[Any]) -> bool:
    """Whether one of them stops early."""
    return any(isinstance(callback, STOPPING) for callback in callbacks)


class Exact(xgb.callback.TrainingCallback):
    """A metric whose values early stopping and the user see in full precision.

    XGBoost prints them with six decimals and reads them back. This is both the metric that
    it calls and a callback that restores the printed values; it is the first one, but before
    3.0 XGBoost calls them in any order, so early stopping calls it itself.
    """

    def __init__(self, call: Callable[..., Any], metric: Metric) -> None:
        super().__init__()
        self.call, self.metric = call, metric
        self.round: list[float] = []
        self.history: list[list[tuple[float, float]]] = []
        self.names: list[str] = []

    @property
    def __name__(self) -> str:
        return self.metric.name

    def __call__(self, a: Any, b: Any, sample_weight: ArrayLike | None = None) -> Any:
        returned = self.call(a, b, sample_weight)
        self.round.append(returned[1] if isinstance(returned, tuple) else returned)
        return returned

    def with_callbacks(self, callbacks: Sequence[Any]) -> list[Any]:
        """This and the callbacks; those that stop early get to see exact values."""
        for callback in callbacks:
            if isinstance(callback, EarlyStopping | OwnEarlyStopping):
                callback.exact = self
        return [self, *callbacks]

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        if not self.round:  # nothing measured, or done already
            return False
        self.names = [name for name in evals_log if self.metric.name in evals_log[name]]
        if not self.names:
            return False
        folds = np.reshape(self.round, (-1, len(self.names)))  # in cv all sets of a fold in turn
        self.round = []
        means, deviations = folds.mean(axis=0).tolist(), folds.std(axis=0).tolist()
        self.history.append(list(zip(means, deviations, strict=True)))
        for name, exact in zip(self.names, self.history[-1], strict=True):
            log = evals_log[name][self.metric.name]
            log[-1] = exact if isinstance(log[-1], tuple) else exact[0]
        return False

    def columns(self) -> Iterator[tuple[str, list[float], list[float]]]:
        """Each data set with its means and standard deviations over folds, per round."""
        for name, values in zip(self.names, zip(*self.history, strict=True), strict=True):
            means, deviations = zip(*values, strict=True)
            yield name, list(means), list(deviations)

    def __deepcopy__(self, memo: dict[int, Any]) -> Exact:
        return self
