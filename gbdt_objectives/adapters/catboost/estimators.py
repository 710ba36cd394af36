"""CatBoost's estimators, with objectives and metrics of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import catboost
import numpy as np

from gbdt_objectives._checks import Array, Facts, guards
from gbdt_objectives._links import IDENTITY, LOG, LOGIT, Link
from gbdt_objectives._registry import CATBOOST, Exported
from gbdt_objectives.adapters import _estimators
from gbdt_objectives.adapters._estimators import OBJECTIVES, class_positions, named
from gbdt_objectives.adapters.catboost import _train
from gbdt_objectives.adapters.catboost.calls import RowWise, explain, rendered
from gbdt_objectives.adapters.catboost.intercept import finish
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

FEATURES = ("cat_features", "text_features", "embedding_features")
ROUNDS = ("early_stopping_rounds", "od_wait", "od_pval", "od_type")


class Fitting(_estimators.Fitting):
    library = CATBOOST
    model = catboost.CatBoost
    fitted = "_objective"
    evaluation_set = "evaluation set {}"
    row_starts = "baseline", "baseline"
    metrics_in_fit = False

    def check(self) -> None:
        X, sets = self.given["X"], self.given.get("eval_set")
        self.has_pool = isinstance(X, catboost.Pool) and self.given.get("y") is None
        if self.has_pool and X.has_label():
            self.given["y"] = np.asarray(X.get_label())
        if sets is not None and not isinstance(sets, list):
            self.given["eval_set"] = [sets]
        if not self.is_ours:
            return
        asked = self.estimator.get_params()
        if len(self.metrics) > 1:
            raise ValueError(
                "eval_metric is a list, but CatBoost stops on one metric: pass that, and measure "
                "the others on the predictions"
            )
        if asked.get("objective") is not None and asked.get("loss_function") not in (None, "RMSE"):
            raise ValueError(
                "objective and loss_function are one parameter, of which CatBoost takes the first: "
                "leave one out"
            )
        if self.objective is not None:
            _train.refuse(asked, _train.REFUSED)
            if "baseline" in self.given:
                raise _train.has_baseline("fit")
            for k, one in enumerate(self.given.get("eval_set", ())):
                if isinstance(one, catboost.Pool):
                    _train.refuse_baseline(one, self.evaluation_set.format(k))
            if isinstance(asked.get("eval_metric"), str):
                raise ValueError(
                    f"eval_metric {asked['eval_metric']!r} is CatBoost's own, which would miss the "
                    f"intercept under {self.objective!r}: {self.objective.link.metric}, a metric "
                    "of gbdt_objectives"
                )
        if self.stops(asked) and not asked.get("eval_fraction"):
            guards.stops_on_a_metric_of_ours(
                Facts(objective=self.objective, metric=self.metric, library=CATBOOST)
            )
            self.check_held_out("valid")

    def stops(self, asked: Mapping[str, Any]) -> bool:
        """Whether the model is cut back to its best round, or training stops early."""
        rounds = [*map(asked.get, ROUNDS), self.given.get("early_stopping_rounds")]
        cut = self.given.get("use_best_model", asked.get("use_best_model"))
        return any(rounds) or cut or (cut is None and "eval_set" in self.given)

    def evaluation_sets(self) -> dict[str, tuple[Any, Any]]:
        pairs = [
            (one, one.get_label()) if isinstance(one, catboost.Pool) else one
            for one in self.given.get("eval_set", ())
        ]
        return {self.evaluation_set.format(k): pair for k, pair in enumerate(pairs)}

    def fit(self) -> Any:
        estimator = self.estimator
        placed, loss, metric = None, None, None
        if self.objective is not None:
            placed = self.place(self.objective)
            loss, metric = (
                RowWise(placed.objective, placed.shift), rendered(self.metric, placed.shift)
            )  # fmt: skip
            self.parameters |= dict.fromkeys(OBJECTIVES)
            self.parameters |= {"loss_function": loss, "eval_metric": metric}
        elif self.metric is not None:
            metric = rendered(self.metric, link=self.read_by(self.metric))
            self.parameters["eval_metric"] = metric
        given = {**self.given, "y": None} if self.has_pool else self.given
        with explain(loss, metric), self.set_temporarily(estimator, self.parameters):
            self.library_fit(**given)
        vars(estimator).pop(self.fitted, None)
        if placed is not None:
            finish(estimator, placed.objective, placed.shift)
            setattr(estimator, self.fitted, placed.objective)
        if self.metric is not None and self.stops(estimator.get_params()):
            _train.warn_of_few(estimator, self.metric)
        return estimator

    def place(self, objective: Objective) -> _train.Placed:
        X, w = self.given["X"], self.given.get("sample_weight")
        if self.has_pool:
            _train.refuse_baseline(X, "X")
            w = _train.weights(X)
        y = self.encode(objective) if self.is_classifier else np.asarray(self.given["y"])
        return _train.start(objective, y, None if w is None else np.asarray(w), self.given)

    def encode(self, objective: Objective) -> Array:
        """The labels as positions of the classes, which CatBoost gets by name."""
        given = named(self.estimator, "class_names")
        classes = self.find_classes(objective) if given is None else np.asarray(given)
        if objective.n_classes == 2:
            _estimators.check_two_classes(classes)
            self.parameters["class_names"] = classes.tolist()
        for name, (_, y) in self.evaluation_sets().items():
            class_positions(f"y of {name}", y, classes)
        return class_positions("y", self.given["y"], classes)

    def read_by(self, metric: Metric | None) -> Link | None:
        """The link by which predictions of CatBoost's own objective are made of its margins."""
        own = str(named(self.estimator, *OBJECTIVES) or "")
        if own.startswith(("Poisson", "Tweedie")):
            return LOG
        if not self.is_classifier:
            return IDENTITY
        if metric is not None and metric.input_space != "probability":
            return None
        several = len(np.unique(self.given["y"])) > 2
        return Link.softmax(None) if several else LOGIT

    @classmethod
    def held_out(
        cls, estimator: Any, weigh: Any, X: Any, y: Array, w: Array | None
    ) -> dict[str, Any]:
        given = {name: named(estimator, name) for name in FEATURES}
        features = {name: None if v is None else list(v) for name, v in given.items()}
        return {"eval_set": [catboost.Pool(X, y, weight=w, **features)]}

    @staticmethod
    def classifies(estimator: Any) -> bool:
        return isinstance(estimator, catboost.CatBoostClassifier)

    set_temporarily = staticmethod(_train.set_temporarily)

    @classmethod
    def margin(cls, estimator: Any, **given: Any) -> Any:
        return cls.model.predict(estimator, given["X"])


class Ours(catboost.CatBoost):
    """What both estimators add to CatBoost's own."""

    export = Exported.export

    @property
    def objective_(self) -> Any:
        """The objective that it was trained on, measured; the name of one of CatBoost's own."""
        return vars(self).get("_objective", self._object._get_loss_function_name())

    def __getstate__(self) -> Any:
        own = vars(self).get("_objective")
        return {**super().__getstate__(), **({} if own is None else {"_objective": own})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_objective" in state:
            self._objective = state.pop("_objective")
        super().__setstate__(state)

    def _predict(self, data: Any, prediction_type: str, *others: Any) -> Any:
        read = self._reader(prediction_type)
        if read is None:
            return super()._predict(data, prediction_type, *others)
        return read(super()._predict(data, "RawFormulaVal", *others))

    def _staged_predict(self, data: Any, prediction_type: str, *others: Any) -> Any:
        read = self._reader(prediction_type)
        if read is None:
            return super()._staged_predict(data, prediction_type, *others)
        return map(read, super()._staged_predict(data, "RawFormulaVal", *others))

    def _reader(self, prediction_type: str) -> Callable[[Any], Any] | None:
        """What makes these predictions of margins, of one row or of several; None if CatBoost
        does."""
        objective: Any = vars(self).get("_objective")
        made: dict[str, Callable[[Array], Array]] = {
            "Class": lambda p: self.classes_[p.argmax(axis=1)], "Probability": lambda p: p,
            "LogProbability": np.log,
        }  # fmt: skip
        if not Fitting.reads(objective) or prediction_type not in made:
            return None

        def read(margin: Any) -> Any:
            found = made[prediction_type](objective.class_probability(np.atleast_1d(margin)))
            return found if np.ndim(margin) else found[0]

        return read


class CatBoostRegressor(Ours, catboost.CatBoostRegressor):
    """``catboost.CatBoostRegressor`` for objectives and metrics of this package.

    It trains on objectives whose rows are independent, of one margin: your own functions with the
    link "identity", "log" or none. One whose gradient needs all rows, such as ``qwk_objective()``,
    is refused, since CatBoost passes blocks of 1,000 rows; for ordinal labels use
    ``QWKClassifier(CatBoostRegressor())``. Boosting starts at the objective's intercept, which goes
    into the leaves of the first tree, so that a saved model needs nothing of this package.
    Early stopping looks at ``eval_metric``, on the last evaluation set and in the metric's own
    direction. Without objective and metric it is CatBoost's own estimator.

    Parameters
    ----------
    objective : str or Objective
        Also called ``loss_function``. With the link "log" ``predict`` gives means.
    eval_metric : str or Metric
        Under an objective of this package a Metric; none is measured if it is missing.
    **kwargs
        Parameters of ``catboost.CatBoostRegressor``. What CatBoost would ignore or misread under
        the objective is refused, and so are a GPU and a ``baseline``.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import objective
    >>> from gbdt_objectives.adapters.catboost import CatBoostRegressor
    >>> def poisson(y, f, sample_weight=None):
    ...     w = 1 if sample_weight is None else sample_weight
    ...     return w * (np.exp(f) - y), w * np.exp(f)
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2)); y = rng.poisson(1 + 4 * (X[:, 0] > 0.5))
    >>> model = CatBoostRegressor(objective=objective(poisson, link="log"), iterations=50,
    ...     depth=2, learning_rate=0.3, verbose=0, allow_writing_files=False).fit(X, y)
    >>> model.predict([[0.1, 0.5], [0.9, 0.5]]).round().tolist()
    [1.0, 5.0]
    """

    @wraps(catboost.CatBoostRegressor.fit)
    def fit(self, *args: Any, **kwargs: Any) -> Any:
        return Fitting(self, super().fit, *args, **kwargs).fit()

    def _get_default_prediction_type(self) -> Any:
        link = getattr(vars(self).get("_objective"), "link", None)
        return "Exponent" if link == LOG else super()._get_default_prediction_type()


class CatBoostClassifier(Ours, catboost.CatBoostClassifier):
    """``catboost.CatBoostClassifier`` for objectives and metrics of this package.

    It trains on objectives whose rows are independent, of one margin, such as
    ``offset_logloss_objective(0.1)``, ``weighted_logloss_objective(0.1)``, ``focal_objective(2)``
    or a function with the link "logit". Boosting starts at the log-odds of the labels, which go
    into the leaves of the first tree, and ``predict_proba`` gives the probabilities that the
    objective aims at. A saved model predicts the same without this package, but with the link
    "score", as of ``focal_objective(2)``: there its margins are for
    ``objective_.class_probability(margin)``. An ONNX file holds margins in all cases. Without
    objective and metric it is CatBoost's own estimator.

    Parameters
    ----------
    objective : str or Objective
        Also called ``loss_function``. An Objective must have class probabilities.
    eval_metric : str or Metric
        As in :class:`CatBoostRegressor`.
    **kwargs
        Parameters of ``catboost.CatBoostClassifier``. What CatBoost would ignore or misread under
        the objective is refused, as are weights of classes, a GPU and a ``baseline``.

    Examples
    --------
    >>> import numpy as np
    >>> from gbdt_objectives import offset_logloss_objective
    >>> from gbdt_objectives.adapters.catboost import CatBoostClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2)); y = (rng.random(2000) < X[:, 0]).astype(int)
    >>> keep = (y == 1) | (rng.random(2000) < 0.1)  # a tenth of the negatives
    >>> model = CatBoostClassifier(objective=offset_logloss_objective(0.1), iterations=50,
    ...     verbose=0, allow_writing_files=False).fit(X[keep], y[keep])
    >>> bool(abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.05)
    True
    """

    @wraps(catboost.CatBoostClassifier.fit)
    def fit(self, *args: Any, **kwargs: Any) -> Any:
        return Fitting(self, super().fit, *args, **kwargs).fit()

    @property
    def classes_(self) -> Any:
        K = getattr(vars(self).get("_objective"), "n_classes", None) or 2
        return super().classes_ if K == 2 else np.arange(K)
