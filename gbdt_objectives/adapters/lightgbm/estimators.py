"""LightGBM's estimators, with objectives and metrics of this package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import lightgbm as lgb
import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._links import IDENTITY
from gbdt_objectives._public import public
from gbdt_objectives._registry import LIGHTGBM
from gbdt_objectives.adapters import _estimators
from gbdt_objectives.adapters._arguments import CLASSIFIER, QWK, REGRESSOR, as_list, documented
from gbdt_objectives.adapters._train import StartedObjective, may_change_data
from gbdt_objectives.adapters.lightgbm import _train, parameters as table
from gbdt_objectives.adapters.lightgbm.intercept import arranged, columns_in_order
from gbdt_objectives.adapters.lightgbm.parameters import ignored, names_in
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

OWN = {
    "objective", "class_weight", "n_estimators", "importance_type",
    *table.ALIASES["metric"], *table.ALIASES["early_stopping_round"],
}  # fmt: skip
"""Parameters of the estimators that are not LightGBM's, or that fit looks at itself."""

DEFAULTS = {name: p.default for name, p in signature(lgb.LGBMModel.__init__).parameters.items()}
"""Parameters that the estimators name, with the value that they always have."""
OF_ESTIMATORS = {
    table.TABLE.main.get(name, name): name for name, v in DEFAULTS.items() if v is not None
}


class Fitting(_estimators.Fitting):
    library = LIGHTGBM
    model = lgb.LGBMModel
    fitted = "_objective"
    row_starts = "init_score", "eval_init_score"
    metrics_in_fit = True
    asked_of_rows = "predict", "decision_function"  # the latter in LightGBM >= 4.7

    reads = staticmethod(lambda fitted: isinstance(fitted, Objective))

    def check(self) -> None:
        objective, asked = self.objective, self.estimator.get_params()
        given = table.TABLE.given(asked, "metric")
        named = [metric for name in given for metric in as_list(asked[name])]
        metrics = [*self.metrics, *named]
        renamed = ("logloss", "error") if self.is_classifier else ()  # by the number of classes
        names = names_in([*(m for m in self.metrics if m not in renamed), *named])
        self.training.know(ignored=ignored(names))
        if not self.is_ours:
            return
        if isinstance(self.given.get("eval_set"), tuple):
            self.given["eval_set"] = [self.given["eval_set"]]
        if not self.is_classifier:  # whose own fit encodes the labels of eval_set, not eval_y
            self.set_evaluation_sets(list(self.evaluation_sets().values()))
        if self.metric is not None:
            self._direct_stopping(self.metric, named)
        if objective is None:
            return
        found = {name: v for name, v in asked.items() if name not in OWN}
        written = _find_aliases(found)
        self.parameters |= {default: found[alias] for alias, default in written.items()}
        self.parameters |= dict.fromkeys(written)  # of two names LightGBM would use the main one
        said = {name: v for name, v in found.items() if name not in written.values()}
        stops_early = _train.any_stops_early(self.given.get("callbacks", ()))
        table.check(said, objective, stops_early=stops_early)
        self.training.know(others=metrics, predicts_by=IDENTITY)
        names = [m for m in metrics if isinstance(m, str)]
        if objective.link.is_transformed or objective.link.is_of_objective:
            self.parameters["metric"] = "None"  # the default would take margins for predictions
        if objective.outputs > 1 and not names:
            self.parameters["metric"] = "None"  # the default is one of a single output
        rounds = [asked[name] for name in table.TABLE.given(asked, "early_stopping_round")]
        stops = any(_checks.number("early_stopping_rounds", k) > 0 for k in rounds)
        stops |= any(map(_train.stops_by_name, self.given.get("callbacks", ())))
        if self.metric is None and stops:
            self.training.know(stops_on=next(iter(metrics), None))
            if not named:  # LightGBM would stop on its default, too
                self.parameters["metric"] = names or "None"

    def _direct_stopping(self, metric: Metric, named: list[Any]) -> None:
        """Let early stopping look at the metric alone, or, where it is to look at the first only
        and that is one of LightGBM's own, leave it. ``named`` are those of the parameters."""
        found = self.estimator.get_params()
        is_listed = any(isinstance(one, str) for one in self.metrics)
        own_first = isinstance((self.metrics if is_listed else [*named, *self.metrics])[0], str)
        callbacks = self.given.get("callbacks") or []
        for k, one in enumerate(_train.direct_callbacks(callbacks, metric)):
            if not (own_first and getattr(callbacks[k], "first_metric_only", False)):
                callbacks = [*callbacks[:k], one, *callbacks[k + 1 :]]
        for name in table.TABLE.given(found, "early_stopping_round"):
            if found.get("first_metric_only") and own_first:
                break
            self.parameters[name] = None  # LightGBM 4.2 and 4.3 refuse 0
            if _checks.number(name, found[name]) > 0:
                rounds = _checks.whole_number(name, found[name], 1)
                callbacks.append(_train.StopEarly(metric, rounds, _train.prints(found)))
        stops = [one for one in callbacks if isinstance(one, _train.StopEarly)]
        if stops:
            self.stops_on_sets("valid", None)

        def reported(y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
            answer = metric.lightgbm(y_true, y_pred, sample_weight)
            for one in stops:
                one.name, one.value, _ = answer
            return answer

        rendered = [one.lightgbm if isinstance(one, Metric) else one for one in self.metrics]
        rendered[self.metrics.index(metric)] = reported
        self.given |= {"callbacks": callbacks, "eval_metric": rendered}

    def find_classes(self, objective: Objective) -> Array:
        """The classes of y. What depends on them gets their positions, as in LGBMClassifier."""
        classes = super().find_classes(objective)
        positions = {label: k for k, label in enumerate(classes.tolist())}
        self.estimator._class_map, self.estimator._class_weight = positions, None
        weight = self.estimator.class_weight
        if isinstance(weight, dict):
            weight = _checks.class_weights("class_weight", weight, classes.tolist())
            self.parameters["class_weight"] = weight
        return classes

    def start(self, objective: Objective, y: Array, w: Array | None) -> StartedObjective:
        for name in [name for name in self.row_starts if name in self.given]:
            self.training.know(row_start=name, start_ends=(-np.inf, np.inf))
        if _train.continues(self.given, self.given["X"], self.training):
            return StartedObjective(objective, None, self.training)
        return StartedObjective(objective, 0.0, self.training, shifts=True)

    def hand_over(self, started: StartedObjective) -> None:
        super().hand_over(started)
        callbacks = self.given.get("callbacks") or ()
        started.anew = self.objective if may_change_data(callbacks) else None
        self.given["callbacks"] = [_train.completing([started]), *callbacks]

    @contextmanager
    def around(self) -> Iterator[None]:
        if self.objective is None:
            yield
            return
        estimator = self.estimator
        earlier = {name: getattr(estimator, name) for name in ("_objective", "_n_classes")}
        if self.classes is not None:
            estimator._n_classes = 1  # LightGBM makes it num_class
        try:
            with _train.explain_errors():
                yield
        except BaseException:
            vars(estimator).update(earlier)  # to match the booster, which is the earlier one
            raise
        if self.classes is not None:
            estimator._classes, estimator._n_classes = self.classes, len(self.classes)
            estimator._class_weight = None

    finish, by_name = staticmethod(_train.finish), staticmethod(columns_in_order)
    arrange = staticmethod(arranged)


def _find_aliases(found: dict[str, Any]) -> dict[str, str]:
    """{alias that was given: the estimator's own name of it, which stands at its default}."""
    named = {name: OF_ESTIMATORS.get(table.TABLE.main.get(name, name), name) for name in found}
    return {
        alias: own for alias, own in named.items()
        if alias != own and found[alias] is not None and found.get(own) == DEFAULTS[own]
    }  # fmt: skip


@public
@_estimators.drop_in(Fitting)
@documented(
    REGRESSOR + QWK, _train.WORDS,
    stopping="``early_stopping_rounds`` or the callback ``lightgbm.early_stopping``",
    parameters="num_leaves=4, verbose=-1", arguments="eval_metric=extended_qwk_metric()",
)  # fmt: skip
class LGBMRegressor(lgb.LGBMRegressor):
    """``lightgbm.LGBMRegressor`` for objectives and metrics of this package."""


@public
@_estimators.drop_in(Fitting)
@documented(CLASSIFIER, _train.WORDS, parameters="num_leaves=2, verbose=-1")
class LGBMClassifier(lgb.LGBMClassifier):
    """``lightgbm.LGBMClassifier`` for objectives and metrics of this package."""
