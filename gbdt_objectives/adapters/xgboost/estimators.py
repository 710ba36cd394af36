"""XGBoost's estimators, with objectives and metrics of this package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import xgboost as xgb

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._links import IDENTITY, LOGIT, Link
from gbdt_objectives.adapters import _arguments, _estimators
from gbdt_objectives.adapters._estimators import (
    copy_signature,
    drop_in,
    refuse_built_in_metrics,
    refuse_default_metric,
)
from gbdt_objectives.adapters._start import StartedObjective
from gbdt_objectives.adapters.xgboost import parameters as table
from gbdt_objectives.adapters.xgboost._train import continues, name_link, start_at
from gbdt_objectives.adapters.xgboost.intercept import add_to_leaves
from gbdt_objectives.adapters.xgboost.stopping import (
    STOPPING,
    Exact,
    any_stops_early,
    direct_callbacks,
    early_stopping,
)
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective
from gbdt_objectives.objectives.base import Start

OWN = {
    "objective", "base_score", "callbacks", "early_stopping_rounds", "enable_categorical",
    "eval_metric", "feature_types", "feature_weights", "importance_type", "missing",
    "n_estimators", "verbosity",
}  # fmt: skip
"""Parameters of the estimators that are not XGBoost's own, or that fit looks at itself."""


class Fitting(_estimators.Fitting):
    """One fit of an estimator of XGBoost."""

    library = "xgboost"
    model = xgb.XGBModel
    fitted = "objective_"
    evaluation_set = "eval_set[{}]"
    row_starts = "base_margin", "base_margin_eval_set"
    metrics_in_fit = False

    def check(self) -> None:
        objective, estimator = self.objective, self.estimator
        if sum(isinstance(one, Metric) for one in self.metrics) > 1:
            raise ValueError(
                "eval_metric holds several metrics of gbdt_objectives: XGBoost takes one metric of "
                "gbdt_objectives beside its own; measure the others on the predictions"
            )
        if self.is_ours and not all(
            isinstance(pair, list | tuple) and len(pair) == 2
            for pair in self.given.get("eval_set", ())
        ):
            raise ValueError("eval_set must be a list of pairs: write eval_set=[(X, y)]")
        if self.metric is not None:
            self._direct_stopping(self.metric)
        if objective is None:
            return
        callbacks = self.parameters.get("callbacks", estimator.callbacks) or ()
        stops_early = estimator.early_stopping_rounds is not None or any_stops_early(callbacks)
        found = {name: v for name, v in estimator.get_params().items() if name not in OWN}
        table.check(found, objective, stops_early=stops_early)
        if estimator.eval_metric is None and _stops_on_default(estimator):
            refuse_default_metric(objective, "XGBoost")
        if self.named(objective).xgboost != objective.link.xgboost or (
            objective.link.is_of_objective
        ):
            refuse_built_in_metrics(self.metrics, objective, "XGBoost")
            self.parameters["disable_default_eval_metric"] = 1  # the default is one of predictions
        self.parameters["max_delta_step"] = estimator.max_delta_step or 0  # of counts it is .7

    def named(self, objective: Objective) -> Link:
        """The link by whose name XGBoost's estimators train, whatever the objective's own is."""
        return LOGIT if self.is_classifier and not self.reads(objective) else IDENTITY

    def _direct_stopping(self, metric: Metric) -> None:
        """Let early stopping see the metric in its own direction and full precision."""
        exact, rounds = Exact(metric.xgboost, metric), self.estimator.early_stopping_rounds
        callbacks = direct_callbacks(self.estimator.callbacks, metric)
        if rounds is not None:
            callbacks.append(early_stopping(metric, rounds))
        for callback in callbacks:
            if isinstance(callback, STOPPING):
                self.check_held_out("validation", callback.data)
        metrics = [exact if one is metric else one for one in self.metrics]
        self.parameters |= {
            "eval_metric": metrics if len(metrics) > 1 else exact,
            "callbacks": exact.with_callbacks(callbacks),
            "early_stopping_rounds": None,
        }

    def find_classes(self, objective: Objective) -> Array:
        assert objective.n_classes is not None
        return np.arange(objective.n_classes)  # XGBClassifier takes no others

    def continues(self, objective: Objective) -> bool:
        """Whether training continues an earlier model; if not, all rows must start alike."""
        base_score = {"base_score": self.estimator.base_score}
        if continues(base_score, self.given, objective, self.named(objective)):
            return True
        sets = self.evaluation_sets()
        others = self.given.get("base_margin_eval_set") or [None] * len(sets)
        has = {name: start is not None for name, start in zip(sets, others, strict=False)}
        has_margin = self.given.get("base_margin") is not None
        _arguments.check_same_starts("base_margin", {"X": has_margin, **has})
        return False

    def start(self, objective: Objective, y: Array, w: Array | None) -> StartedObjective:
        if self.continues(objective):
            return StartedObjective(objective, None)
        base_margin, base_score = self.given.get("base_margin"), self.estimator.base_score
        named = self.named(objective)
        started, start = start_at(objective, (y, w), base_margin, base_score, named)
        self.parameters |= start
        return started

    @contextmanager
    def around(self) -> Iterator[None]:
        try:
            yield
        except xgb.core.XGBoostError as error:
            if "Unknown metric function" not in str(error) or len(self.metrics) == 1:
                raise
            raise ValueError(
                f"eval_metric holds {_checks.shown(self.metrics)}: this version of XGBoost does "
                "not know one of the names, or accepts no other metric beside one of "
                "gbdt_objectives"
            ) from error
        self.estimator.__dict__.pop("objective_", None)  # of an earlier fit
        if self.classes is not None:
            _set_classes(self.estimator, len(self.classes))

    @staticmethod
    def finish(booster: xgb.Booster, objective: Objective, intercept: Start) -> xgb.Booster:
        if np.any(intercept):
            add_to_leaves(booster, np.broadcast_to(intercept, objective.outputs))
        return name_link(booster, objective.link)


def _set_classes(estimator: Any, K: Any) -> None:
    """Those of a score, 0 to K-1."""
    estimator.n_classes_ = K
    if not hasattr(type(estimator), "classes_"):  # on Dask; from XGBoost 3.4 on it follows from K
        estimator.classes_ = np.arange(K)


def _stops_on_default(estimator: Any) -> bool:
    """Whether it stops early and nobody said on which metric."""
    return estimator.early_stopping_rounds is not None or any(
        isinstance(callback, xgb.callback.EarlyStopping) and callback.metric_name is None
        for callback in estimator.callbacks or ()
    )


@drop_in(Fitting)
class XGBRegressor(xgb.XGBRegressor):
    """``xgboost.XGBRegressor`` for objectives and metrics of this package.

    With an ``objective`` such as ``qwk_objective()``, measured in each ``fit`` unless it is
    already, boosting starts at its intercept, which becomes the model's ``base_score``. With
    a ``Metric`` such as ``extended_qwk_metric()`` as ``eval_metric``, early stopping (by
    ``early_stopping_rounds`` or an ``EarlyStopping`` callback) is on the last evaluation set
    in the metric's own direction and full precision, and the model holds the best rounds
    only (with an ``EarlyStopping`` of a class of your own, what its ``save_best`` says). Without
    either it is XGBoost's own estimator.

    Parameters
    ----------
    objective : str, callable or Objective
        An Objective must predict numbers: its link is "identity" or "log", whose models
        predict means, or is not declared. For probabilities use :class:`XGBClassifier`.
        What XGBoost would silently ignore under it is refused. ``fit`` takes what
        ``objective(function, rows=["cost"])``, or ``named`` of your own ``Loss``, names as further
        arguments, ``cost=``.
    **kwargs
        As for ``xgboost.XGBRegressor``.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import extended_qwk_metric, qwk_objective
    >>> from gbdt_objectives.adapters.xgboost import XGBRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 3)); y = np.digitize(X[:, 0], [0.3, 0.6]) + 1
    >>> model = XGBRegressor(objective=qwk_objective(), eval_metric=extended_qwk_metric(),
    ...                      max_depth=2, early_stopping_rounds=10)
    >>> model = model.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])], verbose=False)
    >>> model.predict([[0.1, 0.5, 0.5], [0.9, 0.5, 0.5]]).round()
    array([1., 3.], dtype=float32)
    """


@drop_in(Fitting)
class XGBClassifier(xgb.XGBClassifier):
    """``xgboost.XGBClassifier`` for objectives and metrics of this package.

    With an ``objective`` such as ``offset_logloss_objective(0.1)`` boosting starts at the
    log-odds of the labels, which become the model's ``base_score``, and ``predict_proba``
    gives the probabilities that the objective aims at. ``eval_metric`` is as in
    :class:`XGBRegressor`. Without either it is XGBoost's own estimator.

    An objective with the link "score", such as ``focal_objective(2)`` or
    ``ordinal_logit_objective(5)``, turns its margins into probabilities itself: as ``objective_``,
    fitted to the training rows. Labels are 0 to K-1, and a class that does not occur keeps its
    column. ``predict`` gives the most probable class, with ``output_margin=True`` the margins. A
    metric for early stopping is ``loss_metric(objective)``. ``save_model`` saves a regressor of
    margins, which ``xgboost.XGBClassifier`` refuses to load, and ``load_model`` here needs the
    fitted objective: ``XGBClassifier(objective=model.objective_).load_model(...)``.

    Parameters
    ----------
    objective : str, callable or Objective
        An Objective must have class probabilities; for label units use :class:`XGBRegressor`.
        What XGBoost would silently ignore under it is refused.
    **kwargs
        As for ``xgboost.XGBClassifier``.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import offset_logloss_objective
    >>> from gbdt_objectives.adapters.xgboost import XGBClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2)); y = (rng.random(2000) < X[:, 0]).astype(int)
    >>> keep = (y == 1) | (rng.random(2000) < 0.1)  # a tenth of the negatives
    >>> model = XGBClassifier(objective=offset_logloss_objective(0.1), n_estimators=50,
    ...                       max_depth=1, learning_rate=0.1).fit(X[keep], y[keep])
    >>> bool(abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.05)
    True
    """

    @copy_signature(xgb.XGBClassifier.save_model)
    def save_model(self, fname: Any) -> None:
        save_classifier(self, super().save_model, fname)

    @copy_signature(xgb.XGBClassifier.load_model)
    def load_model(self, fname: Any) -> None:
        load_classifier(self, super().load_model, fname)


def save_classifier(estimator: Any, library_save: Callable[[Any], None], fname: Any) -> None:
    """Save what its predictions are: of scores XGBClassifier would make probabilities."""
    objective = getattr(estimator, "objective_", None)
    if not isinstance(objective, Objective) or not objective.link.is_of_objective:
        library_save(fname)
        return
    margins = xgb.XGBRegressor()
    margins._Booster = estimator.get_booster()
    margins.save_model(fname)


def load_classifier(estimator: Any, library_load: Callable[[Any], None], fname: Any) -> None:
    """Load what :func:`save_classifier` saved."""
    objective = estimator.objective
    estimator.__dict__.pop("objective_", None)
    if not isinstance(objective, Objective) or not objective.link.is_of_objective:
        try:
            library_load(fname)
        except TypeError as error:
            estimator.__dict__.pop("_Booster", None)
            name = type(estimator).__name__
            raise TypeError(
                f"{error}. If it was trained on an objective that turns scores into "
                "probabilities, only the objective can read them: write "
                f"{name}(objective=...).load_model(...) with the objective_ of the model "
                "that was saved"
            ) from error
        return
    margins = xgb.XGBRegressor()
    margins.load_model(fname)
    estimator._Booster = margins.get_booster()
    estimator.objective_ = objective
    _set_classes(estimator, objective.n_classes)
