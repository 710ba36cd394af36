"""XGBoost's estimators, with objectives and metrics of this package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
import xgboost as xgb

from gbdt_objectives._checks import Array
from gbdt_objectives._public import public
from gbdt_objectives._registry import XGBOOST
from gbdt_objectives.adapters import _arguments, _estimators
from gbdt_objectives.adapters._arguments import CLASSIFIER, QWK, REGRESSOR, documented
from gbdt_objectives.adapters._train import StartedObjective
from gbdt_objectives.adapters.xgboost import _train, parameters, parameters as table
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

OWN = {
    "objective", "base_score", "callbacks", "early_stopping_rounds", "enable_categorical",
    "eval_metric", "feature_types", "feature_weights", "importance_type", "missing",
    "n_estimators", "verbosity",
}  # fmt: skip
"""Parameters of the estimators that are not XGBoost's own, or that fit looks at itself."""

READERS = {link: names.split() for link, names in {
    "log": "rmse rmsle mae mape mphe poisson-nloglik gamma-nloglik gamma-deviance tweedie-nloglik",
    "softmax": "mlogloss merror auc aucpr",
}.items()}  # fmt: skip
"""XGBoost's own metrics that read what models of these links predict."""


class Fitting(_estimators.Fitting):
    library = XGBOOST
    model = xgb.XGBModel
    fitted = "objective_"
    evaluation_set = "eval_set[{}]"
    row_starts = "base_margin", "base_margin_eval_set"
    starts_at = 0.5
    asked_of_rows = "predict", "apply"

    def check(self) -> None:
        objective, estimator = self.objective, self.estimator
        if self.metric is not None and sum(map(callable, self.metrics)) > 1:
            raise ValueError(
                "eval_metric holds several metrics: XGBoost takes one metric of gbdt_objectives or "
                "function, and its own; measure the others on the predictions"
            )
        if self.is_ours and not all(map(_arguments.is_pair, self.given.get("eval_set", ()))):
            raise ValueError("eval_set must be a list of pairs: write eval_set=[(X, y)]")
        if self.metric is not None:
            self._direct_stopping(self.metric)
        elif self.metrics:
            last = self.metrics[-1]
            if may_be := parameters.guesses(estimator, getattr(last, "__name__", "")):
                self.training.know(last=last, guesses=may_be)
        if objective is None:
            return
        by_rounds = estimator.early_stopping_rounds is not None
        found = {name: v for name, v in estimator.get_params().items() if name not in OWN}
        table.check(found, objective, estimator.callbacks or (), stops_early=by_rounds)
        unnamed = [c for c in estimator.callbacks or () if getattr(c, "metric_name", "") is None]
        if estimator.eval_metric is None and (by_rounds or parameters.any_stops_early(unnamed)):
            self.training.know(stops_on=None)
        self.training.know(predicts_by=objective.link, readers=READERS.get(objective.link.name))
        if self.metric is None:
            complete = parameters.Complete(estimator.callbacks or (), objective, vars(estimator))
            self.parameters["callbacks"] = [complete]
        if objective.link.is_of_objective:
            self.parameters["disable_default_eval_metric"] = 1  # the default is one of predictions

    def _direct_stopping(self, metric: Metric) -> None:
        """Let early stopping see the metric in its own direction and full precision."""
        rounds = self.estimator.early_stopping_rounds
        callbacks = parameters.direct_callbacks(self.estimator.callbacks, metric)
        if rounds is not None:
            callbacks.append(parameters.early_stopping(metric, rounds))
        looks_at = [one.data for one in callbacks if isinstance(one, parameters.STOPPING)]
        self.stops_on_sets("validation", *looks_at)
        exact = parameters.Exact(metric, callbacks, self.objective, vars(self.estimator))
        metrics = [exact if one is metric else one for one in self.metrics]
        self.parameters |= {
            "eval_metric": metrics if len(metrics) > 1 else exact, "early_stopping_rounds": None,
            "callbacks": [exact],
        }  # fmt: skip

    def find_classes(self, objective: Objective) -> Array:
        assert objective.n_classes is not None
        return np.arange(objective.n_classes)  # XGBClassifier takes no others

    def continues(self, objective: Objective) -> bool:
        """Whether training continues an earlier model; if not, all rows must start alike."""
        if _train.continues(vars(self.estimator), self.given, objective, self.training):
            return True
        sets = self.evaluation_sets()
        others = self.given.get("base_margin_eval_set") or [None] * len(sets)
        starts = {"X": self.given.get("base_margin"), **dict(zip(sets, others, strict=False))}
        has = {name: start is not None for name, start in starts.items()}
        self.training.know(row_start="base_margin", sets_with_start=has)
        return False

    def start(self, objective: Objective, y: Array, w: Array | None) -> StartedObjective:
        if self.continues(objective):
            return StartedObjective(objective, None, self.training)
        started, start = _train.start_at(
            objective, vars(self.estimator), self.training, label_weight=(y, w),
            base_margin=self.given.get("base_margin"),
        )  # fmt: skip
        self.parameters |= start
        return started

    @contextmanager
    def around(self) -> Iterator[None]:
        try:
            yield
        except xgb.core.XGBoostError as error:
            unknown = re.search(r"Unknown metric function (\S+)", str(error))
            if unknown is None:
                raise
            names = [one for one in self.metrics if isinstance(one, str)]
            name = unknown[1] if unknown[1] in names else ", ".join(names)  # XGBoost 2.1: the other
            beside = ", or accepts no other metric beside one of gbdt_objectives"
            raise ValueError(
                f"eval_metric {name!r} is no metric of this version of XGBoost"
                f"{beside if self.metric else ''}: " + _estimators.sounding_like(name, "metric")
            ) from error
        self.estimator.__dict__.pop("objective_", None)  # of an earlier fit
        if self.classes is not None:
            _set_classes(self.estimator, len(self.classes))

    @classmethod
    def by_name(cls, model: Any, X: Any) -> Any:
        own = getattr(vars(model).get("_Booster"), "feature_names", None)
        return X if hasattr(X, "iloc") else cls.arrange(own, X)  # it compares those of pandas

    finish = staticmethod(_train.finish)


def _set_classes(estimator: Any, K: Any) -> None:
    """The classes of an objective with the link "score", 0 to K-1."""
    estimator.n_classes_ = K
    if not hasattr(type(estimator), "classes_"):  # on Dask; from XGBoost 3.4 on it follows from K
        estimator.classes_ = np.arange(K)


def saves_scores(kind: type[_estimators.Estimator]) -> type[_estimators.Estimator]:
    """Let a classifier save scores as a regressor: only the fitted objective can read them."""
    library: Any = kind.__base__

    @wraps(library.save_model)
    def save_model(self: Any, fname: Any) -> None:
        if not _is_score(getattr(self, "objective_", None)):
            library.save_model(self, fname)
            return
        margins = xgb.XGBRegressor()
        margins._Booster = self.get_booster()
        margins.save_model(fname)

    @wraps(library.load_model)
    def load_model(self: Any, fname: Any) -> None:
        objective = self.objective
        self.__dict__.pop("objective_", None)
        if not _is_score(objective):
            try:
                library.load_model(self, fname)
            except TypeError as error:
                self.__dict__.pop("_Booster", None)
                raise TypeError(
                    f"{error}. If only its objective turns scores into probabilities, write "
                    f"{type(self).__name__}(objective=...).load_model(...) with the objective_ of "
                    "the model that was saved"
                ) from error
            return
        margins = xgb.XGBRegressor()
        margins.load_model(fname)
        self._Booster, self.objective_ = margins.get_booster(), objective
        _set_classes(self, objective.n_classes)

    kind.save_model, kind.load_model = save_model, load_model
    return kind


def _is_score(objective: object) -> bool:
    return isinstance(objective, Objective) and objective.link.is_of_objective


@public
@_estimators.drop_in(Fitting)
@documented(
    REGRESSOR + QWK, _train.WORDS,
    stopping="``early_stopping_rounds`` or the callback ``xgboost.callback.EarlyStopping``",
    own=""" An early stopping of a class of your own keeps what its ``save_best`` says.""",
    parameters="eval_metric=extended_qwk_metric(), max_depth=2", arguments="verbose=False",
)  # fmt: skip
class XGBRegressor(xgb.XGBRegressor):
    """``xgboost.XGBRegressor`` for objectives and metrics of this package."""


@public
@saves_scores
@_estimators.drop_in(Fitting)
@documented(
    CLASSIFIER, _train.WORDS,
    parameters="max_depth=1, learning_rate=0.1", own="""
``save_model`` then saves a regressor of margins, which ``xgboost.XGBClassifier`` refuses to load,
and ``load_model`` here needs the fitted objective:
``XGBClassifier(objective=model.objective_).load_model(...)``.""",
)  # fmt: skip
class XGBClassifier(xgb.XGBClassifier):
    """``xgboost.XGBClassifier`` for objectives and metrics of this package."""
