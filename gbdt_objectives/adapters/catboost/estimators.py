"""CatBoost's estimators, with objectives and metrics of this package, and the library as a value:
its functions and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import catboost
import numpy as np

from gbdt_objectives._checks import Array
from gbdt_objectives._checks.tables import check_table
from gbdt_objectives._links import IDENTITY, LOG, LOGIT, Link
from gbdt_objectives._public import public
from gbdt_objectives._registry import CATBOOST
from gbdt_objectives.adapters import _arguments, _estimators
from gbdt_objectives.adapters._arguments import CLASSIFIER, REGRESSOR, documented
from gbdt_objectives.adapters._estimators import OBJECTIVES, class_positions, drop_in, first_given
from gbdt_objectives.adapters._models import TrainingLibrary
from gbdt_objectives.adapters.catboost import _train
from gbdt_objectives.adapters.catboost._train import own_errors, rendered
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

PLAIN = {"Raw", "RawFormulaVal", "Exponent", "AUC", "PRAUC", "NormalizedGini"}
RIGHT = {"score": PLAIN, "opaque": PLAIN, "log": {*PLAIN, "Poisson", "Tweedie", "LogLinQuantile"}}
"""What CatBoost makes of margins of a link, of which it knows nothing, and is right."""
MEASURE = "measure what it predicts, with loss_metric(objective) or a metric of scikit-learn"
LOAD = "load it into CatBoostClassifier(objective=model.objective_), or into CatBoostRegressor()"

FEATURES = ("cat_features", "text_features", "embedding_features")
STOPPING = ("early_stopping_rounds", "od_wait", "od_pval", "od_type")


class Fitting(_estimators.Fitting):
    objectives = OBJECTIVES
    library = CATBOOST
    model = catboost.CatBoost
    fitted = "_objective"
    row_starts = "baseline", "baseline"
    arrange = staticmethod(lambda own, X, name="X": check_table(X, name))  # it takes them by name

    classifies = staticmethod(lambda estimator: isinstance(estimator, catboost.CatBoostClassifier))
    encodes = staticmethod(lambda objective: False)  # it gets the classes by name, for its file

    @classmethod
    def margin(cls, estimator: Any, **given: Any) -> Any:
        return cls.model.predict(estimator, given["X"])

    def check(self) -> None:
        self.parameters |= _train.quiet(self.estimator.get_params(), self.given)
        X, sets = self.given["X"], self.given.get("eval_set", [])
        self.passed: dict[str, Any] = {}  # instead of what is read in a Pool
        if isinstance(X, catboost.Pool) and self.given.get("y") is None:
            labels = np.asarray(X.get_label()) if X.has_label() else None
            self.passed = {"y": None, "sample_weight": self.given.get("sample_weight")}
            self.given |= {"y": labels, "sample_weight": _train.pool_weights(X)}
        if not isinstance(sets, list):
            self.given["eval_set"] = [sets]
        if isinstance(first_given(self.estimator, "eval_metric"), list | tuple):
            raise ValueError(
                "eval_metric is a list: CatBoost stops on one, measure others on the predictions"
            )
        if not self.is_ours:
            own = first_given(self.estimator, *OBJECTIVES)
            if callable(own) and not any("calc_ders" in name for name in dir(own)):
                _arguments.check_is_objective(own)
            return
        asked = self.estimator.get_params()
        if asked.get("objective") is not None and asked.get("loss_function") not in (None, "RMSE"):
            raise ValueError(
                "objective and loss_function are one parameter of CatBoost: leave one out"
            )
        if self.objective is not None:
            metric = None if self.metric is not None else asked.get("eval_metric")
            _arguments.refuse_all({**asked, "eval_metric": metric}, _train.REFUSED)
            if "baseline" in self.given:
                self.training.know(row_start="baseline", start_ends=(-np.inf, np.inf))
            for name, (one, _) in {"X": (X, None), **self.evaluation_sets()}.items():
                if isinstance(one, catboost.Pool):
                    _train.labels(one, name)
        elif self.metric is not None:
            self.parameters["eval_metric"] = rendered(self.metric, link=self.read_by(self.metric))
        if self.stops(asked) and not asked.get("eval_fraction"):
            self.training.know(stops_on=self.metric)
            self.stops_on_sets("valid", None)

    def stops(self, asked: Mapping[str, Any]) -> bool:
        """Whether the model is cut back to its best round, or training stops early."""
        rounds = [*map(asked.get, STOPPING), self.given.get("early_stopping_rounds")]
        cut = self.given.get("use_best_model", asked.get("use_best_model"))
        return any(rounds) or cut or (cut is None and "eval_set" in self.given)

    def read_by(self, metric: Metric) -> Link | None:
        """The link by which predictions of CatBoost's own objective are made of its margins."""
        own = str(first_given(self.estimator, *OBJECTIVES) or "")
        if own.startswith(("Poisson", "Tweedie")):
            return LOG
        if not self.is_classifier:
            return IDENTITY
        if metric.input_space != "probability":
            return None
        return Link.softmax(None) if len(np.unique(self.given["y"])) > 2 else LOGIT

    def positions(self, y: Array) -> Array:
        """Labels as positions of the classes, whose names CatBoost is told."""
        objective, given = self.objective, first_given(self.estimator, "class_names")
        assert objective is not None
        classes = self.find_classes(objective) if given is None else np.asarray(given)
        if objective.n_classes == 2:
            _estimators.check_two_classes(classes)
            self.parameters["class_names"] = classes.tolist()
        for name, (_, held_out) in self.evaluation_sets().items():
            class_positions(f"y of {name}", held_out, classes)
        return class_positions("y", y, classes)

    def start(self, objective: Objective, y: Array, w: Array | None) -> Any:
        return _train.start(objective, y, w, self.given, self.estimator.get_params(), self.training)

    def hand_over(self, loss: Any) -> None:
        self.parameters |= dict.fromkeys(OBJECTIVES)
        self.parameters |= {"loss_function": loss, "eval_metric": rendered(self.metric, loss.shift)}

    @contextmanager
    def around(self) -> Iterator[None]:
        self.given |= self.passed
        with own_errors(*self.parameters.values()):
            yield
        vars(self.estimator).pop(self.fitted, None)
        if self.metric is not None and self.stops(self.estimator.get_params()):
            _train.warn_of_few(self.estimator, self.metric)

    def complete(self, objective: Objective, intercept: float | Array) -> None:
        _train.finish(self.estimator, objective, self.parameters["loss_function"].shift)

    set_temporarily = staticmethod(_train.set_temporarily)

    @staticmethod
    def most_probable(estimator: Any, p: Any) -> Any:
        several, limit = p.shape[1] > 2, estimator.get_probability_threshold()
        return estimator.classes_[p.argmax(axis=1) if several else (p[:, 1] > limit).astype(int)]

    @classmethod
    def held_out(
        cls, estimator: Any, weigh: Any, X: Any, y: Array, w: Array | None
    ) -> dict[str, Any]:
        given = {name: first_given(estimator, name) for name in FEATURES}
        features = {name: None if v is None else list(v) for name, v in given.items()}
        return {"eval_set": [catboost.Pool(X, y, weight=w, **features)]}


class Ours(catboost.CatBoost):
    """What both estimators add to CatBoost's own, whose methods these replace."""

    @property
    def objective_(self) -> Any:
        """The objective that it was trained on, measured; the name of one of CatBoost's own."""
        return vars(self).get("_objective", self._object._get_loss_function_name())

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "_objective": vars(self).get("_objective")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if (objective := state.pop("_objective", None)) is not None:
            self._objective = objective
        super().__setstate__(state)

    def load_model(self, *args: Any, **kwargs: Any) -> Any:
        """Load a model, as CatBoost does; the objective of the estimator reads its scores."""
        objective = first_given(self, *OBJECTIVES)
        super().load_model(*args, **kwargs)
        self.__dict__.pop("_objective", None)  # of an earlier fit
        if Fitting.reads(objective) and _train.margins_of(self)[1].name in ("score", "undeclared"):
            self._objective = objective
        return self

    def _prepare_train_params(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(first_given(self, *OBJECTIVES), Objective):
            raise TypeError(
                "CatBoost's own search does not call fit, and so trains no objective of ours: use "
                "GridSearchCV, RandomizedSearchCV or RFE of scikit-learn"
            )
        return super()._prepare_train_params(*args, **kwargs)

    def _check(self, argument: str, asked: Any, instead: str) -> None:
        """Raise if CatBoost would misread margins of which it knows nothing."""
        link, names = _train.link_of(self), {str(x).partition(":")[0] for x in np.atleast_1d(asked)}
        if link is not None and (wrong := names - RIGHT.get(link.name, names)):
            raise ValueError(
                f"CatBoost's {argument}={min(wrong)!r} would misread the model's margins, "
                f"{link.margins}: {instead}"
            )

    def _base_eval_metrics(self, pool: Any, metrics: Any, *args: Any) -> Any:
        self._check("metrics", metrics, MEASURE)
        return super()._base_eval_metrics(pool, metrics, *args)

    def create_metric_calcer(self, metrics: Any, *args: Any, **kwargs: Any) -> Any:
        self._check("metrics", metrics, MEASURE)
        return super().create_metric_calcer(metrics, *args, **kwargs)

    def get_feature_importance(self, *args: Any, **kwargs: Any) -> Any:
        asked = kwargs.get("model_output", "Raw")
        self._check("model_output", asked, "leave it out, for SHAP values of the margins")
        return super().get_feature_importance(*args, **kwargs)

    def _predict(self, data: Any, prediction_type: str, *args: Any, **kwargs: Any) -> Any:
        asked, read = self._reading(prediction_type)
        return read(super()._predict(data, asked, *args, **kwargs))  # by name in score

    def _staged_predict(self, data: Any, prediction_type: str, *args: Any, **kwargs: Any) -> Any:
        asked, read = self._reading(prediction_type)
        return map(read, super()._staged_predict(data, asked, *args, **kwargs))

    def _reading(self, prediction_type: str) -> tuple[str, Callable[[Any], Any]]:
        """What to ask CatBoost for, and what to make of it, for one row or several."""
        objective: Any = vars(self).get("_objective")
        made: dict[str, Callable[[Array], Any]] = {
            "Class": lambda p: Fitting.most_probable(self, p), "Probability": np.asarray,
            "LogProbability": np.log,
        }  # fmt: skip
        if not Fitting.reads(objective) or prediction_type not in made:
            instead = LOAD if isinstance(self, catboost.CatBoostClassifier) else "leave it out"
            self._check("prediction_type", prediction_type, instead)
            return prediction_type, lambda found: found

        def read(margin: Any) -> Any:
            found = made[prediction_type](objective.class_probability(np.atleast_1d(margin)))
            return found if np.ndim(margin) else found[0]

        return "RawFormulaVal", read


@public
@drop_in(Fitting)
@documented(REGRESSOR + """
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
""", _train.WORDS, own="""
Under an Objective ``eval_metric`` must be a Metric; without one nothing is measured. A saved model
predicts the same without this package.""",
)  # fmt: skip
class CatBoostRegressor(catboost.CatBoostRegressor, Ours):
    """``catboost.CatBoostRegressor`` for objectives and metrics of this package."""

    def _get_default_prediction_type(self) -> Any:
        return "Exponent" if _train.link_of(self) == LOG else super()._get_default_prediction_type()


@public
@drop_in(Fitting)
@documented(
    CLASSIFIER, _train.WORDS, own="""
Weights of classes are refused: pass ``sample_weight`` to ``fit``. A saved model predicts the same
without this package, but with the link "score": there load it into
``CatBoostClassifier(objective=model.objective_)``. An ONNX file holds margins in all cases.""",
)  # fmt: skip
class CatBoostClassifier(catboost.CatBoostClassifier, Ours):
    """``catboost.CatBoostClassifier`` for objectives and metrics of this package."""

    @property
    def classes_(self) -> Any:
        K = getattr(vars(self).get("_objective"), "n_classes", None) or 2
        return super().classes_ if K == 2 else np.arange(K)

    def set_probability_threshold(self, *args: Any, **kwargs: Any) -> None:
        """Set the probability above which the second of two classes is predicted, else 1/2."""
        if (K := len(self.classes_)) > 2:
            raise ValueError(f"a threshold is for two classes, here are {K}: read predict_proba")
        super().set_probability_threshold(*args, **kwargs)


REFUSED = _arguments.by_reason({
    "early stopping here is on rows of ours, and keeps the rounds up to the best one; leave it out":
        "use_best_model=1 best_model_min_trees=1 eval_fraction=0",
})  # fmt: skip


def same_steps(estimator: Any, models: Sequence[Any]) -> dict[str, Any]:
    """The learning rate, which CatBoost would choose anew, and nothing that needs held-out rows."""
    given = estimator.get_params()
    found: dict[str, Any] = {"use_best_model": None} if "use_best_model" in given else {}
    if not given.keys() & {"learning_rate", "eta"}:
        found["learning_rate"] = float(np.mean([model.learning_rate_ for model in models]))
    return found


LIBRARY = TrainingLibrary(
    **vars(CATBOOST),
    # training
    data=catboost.Pool, instead=_train.INSTEAD, stops=_train.StopRounds,
    stop=lambda metric, rounds, params: _train.StopRounds(), check=_train.check,
    labels=_train.labels, place=_train.place, run=_train.run, finish=_train.finish,
    # estimators
    kinds={kind.__name__: kind for kind in (
        CatBoostRegressor, CatBoostClassifier)},
    fitting=Fitting,
    check_stopping=lambda estimator: _arguments.refuse_all(estimator.get_params(), REFUSED),
    aliases={
        "objective": ("objective", "loss_function"),
        "metric": ("eval_metric", "custom_metric", "custom_loss"),
        "iterations": ("iterations", "n_estimators", "num_boost_round", "num_trees"),
    },
    defaults={"Regressor": (None, "RMSE"), "Classifier": (None, "Logloss")},
    knows_objective=lambda name: True,  # CatBoost refuses all other names itself
    takes={"Poisson": (0, np.inf), **dict.fromkeys(("Logloss", "CrossEntropy"), (0, 1))},
    correctable=(None, "Logloss", "CrossEntropy", "MultiClass"),
    own_stopping=("early_stopping_rounds", "od_wait"),
    same_steps=same_steps,
    small={"max_depth": 2, "thread_count": 1, "verbose": 0, "allow_writing_files": False},
    count_rounds=lambda estimator: int(estimator.tree_count_),
    # intercepts
    margins_of=_train.margins_of, shift_intercept=_train.shift_intercept, mark_of=_train.mark_of,
)  # fmt: skip
