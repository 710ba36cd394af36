"""XGBoost's estimators, with objectives and metrics of this package, and the library as a value:
its functions and tables, and what its boosters say when they call."""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import xgboost as xgb

from gbdt_objectives._checks import Array, column_names, shown
from gbdt_objectives._checks.arrays import Seen
from gbdt_objectives._links import LOG, LOGIT, OPAQUE, Link
from gbdt_objectives._public import public
from gbdt_objectives._registry import XGBOOST
from gbdt_objectives.adapters import _arguments, _estimators
from gbdt_objectives.adapters._arguments import CLASSIFIER, QWK, REGRESSOR, documented
from gbdt_objectives.adapters._models import (
    OpenLibrary,
    Trees,
    is_plain_table,
    predicts_by,
    read_once,
)
from gbdt_objectives.adapters._train import StartedObjective
from gbdt_objectives.adapters.xgboost import _train, parameters
from gbdt_objectives.adapters.xgboost._train import OF_XGBOOST, RAW, UNDER_OURS
from gbdt_objectives.adapters.xgboost.parameters import STOPPING, EarlyStopping, note, read_call
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
        parameters.check(found, objective, estimator.callbacks or (), stops_early=by_rounds)
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
            name = unknown[1] if unknown[1] in names else ", ".join(names)  # 2.1 names another
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


def trained_as(booster: Any) -> tuple[str, Link]:
    name = read_once(_train.objective_of, booster)
    return name, UNDER_OURS.get(name, OPAQUE)


@cache
def knows_objective(name: str) -> bool:
    params = {"objective": name, "verbosity": 0, "nthread": 1}
    try:
        xgb.train(params, xgb.DMatrix(np.zeros((1, 1)), [0], nthread=1), 1)
    except xgb.core.XGBoostError as error:  # also of one that lacks a parameter here
        return "Unknown objective" not in str(error)
    return True


def start_is_told(booster: Any) -> bool:
    """Whether the user passed a base_score, by whatever name the training has it."""
    return bool(_train.read_learner(booster)["learner_model_param"]["boost_from_average"] == "0")


def evaluated_as(seen: Mapping[str, Any], read: Link | None) -> Link | None:
    if seen.get("output_margin", True):
        return None
    name = read_once(_train.objective_of, seen["self"])
    return None if RAW.get(name) == read else OF_XGBOOST.get(name, OPAQUE)


def still_has(booster: Any, matrix: Any, seen: Seen) -> bool:
    """As of :class:`OpenLibrary`: the getters of 3.2 define a class in each call."""
    n, address = ctypes.c_uint64(), ctypes.c_void_p()
    core: Any = xgb.core

    def find(field: bytes) -> tuple[int, int | None]:
        at = ctypes.byref(n), ctypes.byref(address)
        failed = core._LIB.XGDMatrixGetFloatInfo(matrix.handle, field, *at)
        return -1 if failed else n.value, address.value

    return type(matrix) in (xgb.DMatrix, xgb.QuantileDMatrix) and seen.is_held(find)


def check_start(log_odds: float) -> None:
    if abs(log_odds) > _train.MOST_LOG_ODDS:
        raise ValueError(
            f"training cannot start at {log_odds:.4g}, the log-odds of the full population: "
            f"XGBoost limits a logistic base_score to +-{_train.MOST_LOG_ODDS:.4g}. Use "
            "LGBMClassifier, or correction='prior' at rates that bring the sample within the limit"
        )


# Models as data.

KINDS = {"XGBRegressor": XGBRegressor, "XGBClassifier": XGBClassifier}
NO_MARGIN = ("multi:softmax", "binary:hinge")
"""Objectives of models that predict a class, of margins that are something else."""


def booster_of(model: Any) -> xgb.Booster:
    return model if isinstance(model, xgb.Booster) else model.get_booster()


def is_linear(booster: xgb.Booster) -> bool:
    return bool(_train.read_learner(booster)["gradient_booster"]["name"] == "gblinear")


def reader(model: Any) -> dict[str, Any]:
    missing = float("nan") if isinstance(model, xgb.Booster) else float(model.missing)
    linear = is_linear(booster_of(model))
    return {"library": "gblinear" if linear else "xgboost", "missing": repr(missing)}


def link_of(model: Any) -> Link:
    name = _train.objective_of(booster_of(model))
    if name in RAW and isinstance(model, xgb.Booster):
        return RAW[name]
    if name not in OF_XGBOOST or name in NO_MARGIN:
        known = [known for known in OF_XGBOOST if known not in NO_MARGIN]
        raise ValueError(
            f"the model has XGBoost's objective {name!r}, whose predictions have no formula here: "
            f"train on one of {', '.join(known)}"
        )
    return OF_XGBOOST[name]


def names_of(model: Any) -> list[str] | None:
    names = booster_of(model).feature_names
    return None if names is None else list(names)


def categories_of(model: Any, own: list[list[Any] | None]) -> list[list[Any] | None]:
    """``own`` are the categories of X, in the order that XGBoost before 3.1 relies on."""
    types = booster_of(model).feature_types or ["q"] * len(own)
    for k, (kind, categories) in enumerate(zip(types, own, strict=True)):
        if (kind == "c") != (categories is not None):
            is_one = "is" if kind == "c" else "is not"
            raise ValueError(
                f"feature {k} {is_one} categorical in the model, but not so in X: pass X, a "
                "DataFrame with the dtypes that fit saw"
            )
    if "c" not in types:
        return own
    _, trees = parameters.trees_of(booster_of(model))
    stored = trees.get("cats", {}).get("enc") or [{}] * len(own)
    return [
        decode(found, known) if known is not None and found.get("values") else known
        for known, found in zip(own, stored, strict=True)
    ]


def decode(stored: dict[str, Any], own: list[Any]) -> list[Any]:
    """Categories as XGBoost stores them: numbers, or the bytes of words and where each starts, for
    which 3.2 counts characters: other words than ASCII can only be compared with those of X."""
    if "offsets" not in stored:
        return list(stored["values"])
    letters = bytes(value % 256 for value in stored["values"])
    if letters.isascii():
        return [letters[start:stop].decode() for start, stop in pairwise(stored["offsets"])]
    words = list(map(str, own))
    for lengths in (map(len, words), (len(word.encode()) for word in words)):
        starts = list(accumulate(lengths, initial=0))
        if starts == stored["offsets"] and "".join(words).encode()[: starts[-1]] == letters:
            return own
    raise ValueError(
        f"X has the categories {shown(own)}, but the model was trained on others, or in another "
        "order: pass X with the dtypes that fit saw"
    )


def margin(model: Any, X: Any) -> Array:
    if isinstance(model, xgb.Booster):
        data = X if isinstance(X, xgb.DMatrix) else matrix(model, X)
        f = model.predict(data, output_margin=True, validate_features=column_names(X) is not None)
    else:
        f = model.predict(Fitting.by_name(model, X), output_margin=True)
    return np.asarray(f, np.float64)


def matrix(model: xgb.Booster, X: Any, y: Any = None, **columns: Any) -> xgb.DMatrix:
    """Rows with the model's categories: a training that goes on would number them anew."""
    types: Any = model.feature_types
    if types is not None and hasattr(X, "iloc"):
        coded = "c" in types and hasattr(model, "get_categories")  # from XGBoost 3.1 on
        types = model.get_categories() if coded else None
    return xgb.DMatrix(X, y, enable_categorical=True, feature_types=types, **columns)


def write(model: Any, path: str) -> None:
    """The rounds that it predicts with: of an estimator that stopped early those up to the best."""
    booster = booster_of(model)
    best = None if isinstance(model, xgb.Booster) else booster.attr("best_iteration")
    if best is not None and not is_linear(booster):
        booster = parameters.keep_categories(booster[: int(best) + 1], booster)
    booster.save_model(path)


def restore(
    kind: str, path: str, parameters: dict[str, Any], classes: Array | None, objective: Any,
    names: list[str] | None,
) -> Any:  # fmt: skip
    model = KINDS[kind](**parameters)
    model._Booster = xgb.Booster(model_file=path)
    if objective is not None:
        model.objective = objective
    if classes is not None and objective is not None:
        model.objective_ = objective
        _set_classes(model, len(classes))
    elif classes is not None:
        model.objective = _train.objective_of(model._Booster)
        model.n_classes_ = len(classes)
    return model


OWN_PREDICT: dict[type, Any] = {kind: kind.predict for kind in (xgb.XGBRegressor, XGBRegressor)}


def predict_rows(model: Any, X: Any) -> Any:
    """By the booster, with the arguments that the estimator would pass it, but quicker."""
    if (
        not is_plain_table(X)
        or not predicts_by(model, OWN_PREDICT)
        or model.booster == "gblinear"
        or model.device not in (None, "cpu")
    ):
        return model.predict(X)
    booster = model.get_booster()
    best = booster.attr("best_iteration")
    rounds = (0, 0 if best is None else int(best) + 1)
    return booster.inplace_predict(X, iteration_range=rounds, missing=model.missing)


def read_trees(booster: xgb.Booster) -> Trees:
    """XGBoost's: x < threshold in float32, and a category of the set goes to the right."""
    learner = json.loads(booster.save_raw("json"))["learner"]
    model, drop = _train.trees_of(learner["gradient_booster"], vectors=True)
    if "trees" not in model:
        raise ValueError("the model is booster='gblinear', which has no trees: export a folder "
                         "with serving.export, or train booster='gbtree'")  # fmt: skip
    found = Trees(base_margin(booster, learner), is_float32=True)
    for k, tree in enumerate(model["trees"]):
        weight = float(np.float32(drop[k])) if drop else 1.0
        first, K = int(model["tree_info"][k]), _train.count_numbers(tree)
        for output in range(K):
            leaves = leaves_of(tree, output, K)
            found.add(first + output, nodes_of(tree, leaves, weight), 0)
    return found


def leaves_of(tree: dict[str, Any], output: int, K: int) -> Array:
    """The leaf's number at the place of each of its nodes; a vector leaf has its row there."""
    if K == 1:
        return np.asarray(tree["split_conditions"], np.float32)
    vectors = np.asarray(tree["leaf_weights"], np.float32).reshape(-1, K)
    rows = np.where(np.equal(tree["left_children"], -1), tree["right_children"], 0)
    leaves: Array = vectors[rows, output]
    return leaves


def nodes_of(tree: dict[str, Any], leaves: Array, weight: float) -> dict[Any, Any]:
    values = np.float32(tree["split_conditions"]).astype(float).tolist()
    names = ("categories_nodes", "categories_segments", "categories_sizes")
    sets = {
        node: [float(code) for code in tree["categories"][start : start + size]]
        for node, start, size in zip(*(tree[name] for name in names), strict=True)
    }
    nodes: dict[Any, Any] = {}
    waiting = [0]
    while waiting:
        k = waiting.pop()
        left, right = int(tree["left_children"][k]), int(tree["right_children"][k])
        if left == -1:
            nodes[k] = float(leaves[k]) * weight
            continue
        feature, to_left = int(tree["split_indices"][k]), bool(tree["default_left"][k])
        nodes[k] = (feature, Trees.LT, values[k], to_left, (left, right))
        if k in sets:
            nodes[k] = (feature, Trees.MEMBER, sets[k], not to_left, (right, left))
        waiting += [left, right]
    return nodes


def base_margin(booster: xgb.Booster, learner: dict[str, Any]) -> Array:
    """The margins (K,) before the first tree: base_score is in the unit of the predictions."""
    score = np.atleast_1d(np.float64(json.loads(learner["learner_model_param"]["base_score"])))
    name = learner["objective"]["name"]
    link = RAW.get(name) or OF_XGBOOST.get(name) or link_of(booster)
    if link in (LOG, LOGIT):
        score = np.asarray(link.forward(score), np.float64)
    return np.broadcast_to(score, _train.count_outputs(booster)).astype(np.float64)


LIBRARY = OpenLibrary(
    **vars(XGBOOST),
    # calls; its booster has the name and the columns of an earlier model
    trained_as=trained_as, start_is_told=start_is_told, evaluated_as=evaluated_as,
    read_call=read_call, note=note, still_has=still_has,
    # training
    data=xgb.DMatrix, instead=parameters.INSTEAD, parses_names=True, stops=STOPPING,
    stop=lambda metric, rounds, params: EarlyStopping(metric, rounds),
    direct=parameters.direct_callbacks,
    check=lambda request, params, callbacks: parameters.check(params, request.objective, callbacks),
    labels=_train.labels, place=_train.place, fold_rows=_train.fold_rows,
    run=_train.run, finish=_train.finish, predicts_on=xgb.DMatrix,
    # estimators
    kinds=KINDS, fitting=Fitting, aliases=parameters.ALIASES, check_start=check_start,
    defaults={"Regressor": (None, "reg:squarederror"), "Classifier": (None, "binary:logistic")},
    takes={"reg:gamma": (1e-300, np.inf), **dict.fromkeys(
        ("binary:logistic", "reg:logistic", "binary:logitraw", "binary:hinge"), (0, 1))},
    correctable=(None, "binary:logistic", "reg:logistic", "multi:softprob", "multi:softmax"),
    knows_objective=knows_objective, classifies=("binary:logitraw", "binary:hinge"),
    small={"max_depth": 2, "n_jobs": 1, "verbosity": 0}, functions_are_log_odds=True,
    weigh_held_out=lambda w: {"sample_weight_eval_set": [w]}, quiet_fit={"verbose": False},
    zero_rounds_stop=True, leaves=_train.leaves, predict_rows=predict_rows,
    count_rounds=lambda estimator: int(estimator.get_booster().num_boosted_rounds()),
    # models as data
    tolerance=1e-6,  # it adds up its trees in float32
    refuses_new=True,  # since 3.1, whose files hold the categories
    misreads_newer=True, reader=reader, link_of=link_of, names_of=names_of, margin=margin,
    count_outputs=lambda model: _train.count_outputs(booster_of(model)),
    count_features=lambda model: int(booster_of(model).num_features()),
    same_names=lambda own, given: own == given, categories_of=categories_of,
    write=write, write_all=lambda booster, path: booster.save_model(path),
    open_booster=lambda path: xgb.Booster(model_file=path), restore=restore, trees=read_trees,
    # intercepts
    margins_of=_train.margins_of, shift_intercept=_train.shift_intercept,
    mark_of=lambda model: _train.mark_of(booster_of(model)),
    read_odds=_train.read_odds, predict_log_odds=_train.predict_log_odds,
)  # fmt: skip
