"""Early stopping in the metric's own direction and full precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives.adapters import _arguments
from gbdt_objectives.adapters._train import MARK, corrected_rate, warn_if_few
from gbdt_objectives.metrics import Metric
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
    up = name != "mape" and name.startswith(("auc", "pre", "map", "ndcg"))
    return tuple(up for looked_at in names if looked_at in (None, name))


def named(params: Mapping[str, Any], objective: Objective) -> dict[str, Any]:
    """The parameters by which a model predicts by the objective's link."""
    step = {"max_delta_step": params.get("max_delta_step") or 0}  # 0.7 by count:poisson
    linear = params.get("booster") == "gblinear"
    return {"objective": objective.link.xgboost, **({} if linear else step)}


class Complete(xgb.callback.TrainingCallback):
    """Callbacks, called in their order before XGBoost 3.0, too, that see a model which is complete.

    ``params`` are those of an estimator, whose booster is to be named by the objective's link. In
    each round it gets the rate for which the objective corrects, with the number of its rounds.
    """

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
    """A metric whose values early stopping and the user see in full precision.

    XGBoost prints six decimals and reads them back. This is the metric that it calls, and a
    callback that restores the values and then calls the others.
    """

    def __init__(
        self, metric: Metric, *complete: Any, call: Callable[..., Any] | None = None
    ) -> None:
        super().__init__(*complete)
        self.metric, self.call = metric, call or metric.xgboost
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

    def before_training(self, model: Any) -> Any:
        """Tell early stopping the direction, also where it is of a user's class."""
        self.told = [(c, c.maximize) for c in self.callbacks if isinstance(c, STOPPING)]
        for callback, _ in self.told:
            forget(callback)
            if callback.metric_name in (None, self.metric.name):
                callback.maximize = self.metric.greater_is_better
        return super().before_training(model)

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.restore(evals_log)
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

    def restore(self, evals_log: Any) -> None:
        """Write the values of this round in full precision."""
        self.names = [name for name in evals_log if self.metric.name in evals_log[name]]
        if not self.round or not self.names:  # nothing measured
            return
        folds = np.reshape(self.round, (-1, len(self.names)))  # in cv all sets of a fold in turn
        self.round = []
        means, deviations = folds.mean(axis=0).tolist(), folds.std(axis=0).tolist()
        self.history.append(list(zip(means, deviations, strict=True)))
        for name, exact in zip(self.names, self.history[-1], strict=True):
            log = evals_log[name][self.metric.name]
            log[-1] = exact if isinstance(log[-1], tuple) else exact[0]

    def write(self, history: Any) -> None:
        """Means and standard deviations over folds, per round, in what ``xgboost.cv`` returned."""
        for name, values in zip(self.names, zip(*self.history, strict=True), strict=True):
            column = f"{name}-{self.metric.name}"
            rounds = len(history[f"{column}-mean"])
            for what, numbers in zip(("mean", "std"), zip(*values, strict=True), strict=True):
                history[f"{column}-{what}"] = list(numbers[:rounds])

    def __deepcopy__(self, memo: dict[int, Any]) -> Exact:
        return self
