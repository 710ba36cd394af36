"""LightGBM's estimators, with objectives and metrics of this package, and the library as a value:
its functions and tables, and what its boosters say when they call."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from sklearn.preprocessing import LabelEncoder

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array
from gbdt_objectives._checks.arrays import Seen
from gbdt_objectives._links import CHANGED, IDENTITY, OPAQUE, UNDECLARED, Link
from gbdt_objectives._public import public
from gbdt_objectives._registry import LIGHTGBM
from gbdt_objectives.adapters import _estimators
from gbdt_objectives.adapters._arguments import (
    CLASSIFIER,
    QWK,
    REGRESSOR,
    as_list,
    documented,
    refuse_parameters,
)
from gbdt_objectives.adapters._models import (
    OpenLibrary,
    Trees,
    is_plain_table,
    predicts_by,
    read_once,
)
from gbdt_objectives.adapters._train import StartedObjective, may_change_data
from gbdt_objectives.adapters.lightgbm import _train, intercept
from gbdt_objectives.adapters.lightgbm._train import ALIASES, INSTEAD, ignored, names_in, read_call
from gbdt_objectives.adapters.lightgbm.intercept import OF_LIGHTGBM, arranged, columns_in_order
from gbdt_objectives.metrics import Metric
from gbdt_objectives.objectives import Objective

OWN = {
    "objective", "class_weight", "n_estimators", "importance_type",
    *_train.ALIASES["metric"], *_train.ALIASES["early_stopping_round"],
}  # fmt: skip
"""Parameters of the estimators that are not LightGBM's, or that fit looks at itself."""

DEFAULTS = {name: p.default for name, p in signature(lgb.LGBMModel.__init__).parameters.items()}
"""Parameters that the estimators name, with the value that they always have."""
OF_ESTIMATORS = {
    _train.TABLE.main.get(name, name): name for name, v in DEFAULTS.items() if v is not None
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
        given = _train.TABLE.given(asked, "metric")
        named = [metric for name in given for metric in as_list(asked[name])]
        metrics = [*self.metrics, *named]
        renamed = ("logloss", "error") if self.is_classifier else ()  # as binary_..., multi_...
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
        _train.check_parameters(said, objective, stops_early=stops_early)
        self.training.know(others=metrics, predicts_by=IDENTITY)
        names = [m for m in metrics if isinstance(m, str)]
        if objective.link.is_transformed or objective.link.is_of_objective:
            self.parameters["metric"] = "None"  # the default would take margins for predictions
        if objective.outputs > 1 and not names:
            self.parameters["metric"] = "None"  # the default is one of a single output
        rounds = [asked[name] for name in _train.TABLE.given(asked, "early_stopping_round")]
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
        for name in _train.TABLE.given(found, "early_stopping_round"):
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

        vars(reported)["__signature__"] = signature(reported)  # LightGBM asks in each round
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
    named = {name: OF_ESTIMATORS.get(_train.TABLE.main.get(name, name), name) for name in found}
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


@cache
def knows_objective(name: str) -> bool:
    params = {"objective": name, "verbosity": -1, "num_threads": 1}
    try:
        lgb.Booster(params, lgb.Dataset(np.zeros((2, 1)), [0, 1], params=params))
    except lgb.basic.LightGBMError as error:  # also of one that lacks a parameter here
        return "Unknown objective" not in str(error)
    return True


def still_has(booster: Any, dataset: Any, seen: Seen) -> bool:
    """As of :class:`OpenLibrary`: the getters copy."""
    n, kind, address = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()

    def find(field: bytes) -> tuple[int, int | None]:
        at = ctypes.byref(n), ctypes.byref(address), ctypes.byref(kind)
        get = lgb.basic._LIB.LGBM_DatasetGetField  # type: ignore[attr-defined]
        failed = get(dataset._handle, field, *at) or kind.value != 0  # float32
        return -1 if failed else n.value, address.value

    known = type(dataset) is lgb.Dataset and dataset._handle is not None
    return known and getattr(booster, "_network", None) is False and seen.is_held(find)


def evaluated_as(seen: Mapping[str, Any], read: Link | None) -> Link | None:
    if isinstance(seen["self"], intercept.InTraining):
        return None
    name = read_once(lambda booster: intercept.margins_of(booster)[0], seen["self"])
    return None if name == intercept.CUSTOM else OF_LIGHTGBM.get(name, OPAQUE)


def check_offset(estimator: Any) -> None:
    given = estimator.get_params()
    for name in ALIASES["boosting"]:
        if given.get(name) in ("rf", "random_forest"):
            raise ValueError(
                f"estimator has {name}={given[name]!r}, but LightGBM's random forests do not "
                "accept our objectives: pass correction='prior'"
            )
    why = "but with correction='offset' boosting starts at the mean log-odds: leave it out"
    refuse_parameters(given, ("boost_from_average",), (True,), why)


# Models as data.

KINDS = {"LGBMRegressor": LGBMRegressor, "LGBMClassifier": LGBMClassifier}


def booster_of(model: Any) -> lgb.Booster:
    return model if isinstance(model, lgb.Booster) else model.booster_


def reader(model: Any) -> dict[str, Any]:
    parameters = {} if isinstance(model, lgb.Booster) else model.get_params()
    for name in ("pred_early_stop", "start_iteration_predict", "num_iteration_predict"):
        if parameters.get(name):
            raise ValueError(
                f"the model has {name}={parameters[name]!r}, which its file lacks: train without it"
            )
    refuse_forest(model)
    return {"library": "lightgbm"}


def refuse_forest(model: Any) -> None:
    if intercept.averages(booster_of(model)):
        raise ValueError(
            "the model has boosting='rf', of which LightGBM gives the sum of the trees as margin, "
            "but their mean as prediction: train with boosting='gbdt', 'dart' or 'goss'"
        )


def link_of(model: Any) -> Link:
    found = intercept.read_objective(booster_of(model))
    if found == [intercept.CUSTOM]:
        return UNDECLARED
    if (link := intercept.declared_link(booster_of(model))) in (None, CHANGED):
        raise ValueError(
            f"the model has LightGBM's objective {' '.join(found)!r}, whose predictions have no "
            f"formula here: train on one of {', '.join(OF_LIGHTGBM)}, without reg_sqrt and sigmoid"
        )
    return link


def names_of(model: Any) -> list[str] | None:
    names: list[str] = booster_of(model).feature_name()
    return None if names == [f"Column_{k}" for k in range(len(names))] else names


def categories_of(model: Any, own: list[list[Any] | None]) -> list[list[Any] | None]:
    known = list(booster_of(model).pandas_categorical or [])
    wanted = len(own) - own.count(None)
    if len(known) != wanted:
        raise ValueError(
            f"the model was trained with {len(known)} columns of dtype category, but X has "
            f"{wanted}: pass X, a DataFrame with the dtypes that fit saw"
        )
    rest = iter(known)
    return [None if categories is None else list(next(rest)) for categories in own]


def margin(model: Any, X: Any) -> Array:
    refuse_forest(model)
    X = intercept.columns_in_order(model, X)
    return np.asarray(booster_of(model).predict(X, raw_score=True), np.float64)


def open_booster(path: str) -> lgb.Booster:
    """The model in a file, of which LightGBM prints what it finds, or aborts the process."""
    text = Path(path).read_bytes()
    if not (text.startswith(b"tree") and b"\nnum_class=" in text and b"\nend of trees\n" in text):
        raise ValueError(
            f"{path} is no model of LightGBM: save it with save_model, or copy it again"
        )
    return lgb.Booster(model_file=path)


def restore(
    kind: str, path: str, parameters: dict[str, Any], classes: Array | None, objective: Any,
    names: list[str] | None,
) -> Any:  # fmt: skip
    model = KINDS[kind](**parameters)
    booster = open_booster(path)
    if objective is not None:
        model.set_params(objective=objective)
    fitted = objective if isinstance(objective, Objective) else link_of(booster).lightgbm.split()[0]
    model.__dict__.update(
        _Booster=booster, _objective=fitted, fitted_=True, _best_iteration=booster.best_iteration,
        _n_features=booster.num_feature(), _n_features_in=booster.num_feature(),
        _fitted_with_feature_names=names is not None,
    )  # fmt: skip
    if classes is not None:
        encoder = LabelEncoder().fit(classes)
        positions = dict(zip(classes.tolist(), np.arange(len(classes)), strict=True))
        model.__dict__.update(
            _le=encoder, _classes=classes, _n_classes=len(classes), _class_map=positions
        )
    return model


def read_trees(booster: lgb.Booster) -> Trees:
    """LightGBM's: x <= threshold in float64, and a category of the set goes to the left."""
    if "\nis_linear=1" in booster.model_to_string():
        raise ValueError("the model has linear_tree=True, which ONNX has no operator for: train "
                         "without it")  # fmt: skip
    document = booster.dump_model()
    K = int(document["num_tree_per_iteration"])
    found = Trees(np.zeros(K), is_float32=False)
    for k, tree in enumerate(document["tree_info"]):
        nodes: dict[int, Any] = {}
        waiting = [tree["tree_structure"]]
        while waiting:
            node = waiting.pop()
            if "split_feature" not in node:
                nodes[id(node)] = float(node["leaf_value"])
                continue
            left, right = node["left_child"], node["right_child"]
            nodes[id(node)] = (*test_of(node), (id(left), id(right)))
            waiting += [left, right]
        found.add(k % K, nodes, id(tree["tree_structure"]))
    return found


def test_of(node: dict[str, Any]) -> tuple[int, int, Any, bool]:
    feature, missing = int(node["split_feature"]), node["missing_type"]
    if node["decision_type"] == "==":
        return (
            feature,
            Trees.MEMBER,
            [float(code) for code in str(node["threshold"]).split("||")],
            False,
        )
    threshold = float(node["threshold"])
    if missing == "Zero":
        raise ValueError("the model has zero_as_missing=True, which ONNX has no operator for: "
                         "train without it, with NaN where a value is missing")  # fmt: skip
    # of a feature without missing values in training NaN counts as 0
    to_left = bool(node["default_left"]) if missing == "NaN" else threshold >= 0
    return feature, Trees.LEQ, threshold, to_left


FEW_ROWS = 100  # of which a booster predicts in 21 us, its estimator in 330: it reads parameters
OWN_PREDICT: dict[type, Any] = {kind: kind.predict for kind in (lgb.LGBMRegressor, LGBMRegressor)}
HARMLESS = {"verbose", "verbosity"}
"""Other parameters that do not change what an estimator predicts."""


def predict_rows(model: Any, X: Any) -> Any:
    """By the booster, where the estimator would ask it for the same: few rows of plain numbers."""
    if (
        not (is_plain_table(X) and len(X) <= FEW_ROWS)
        or not predicts_by(model, OWN_PREDICT)
        or not HARMLESS.issuperset(model._other_params)
        or X.shape[1] != model.n_features_
    ):
        return model.predict(X)
    return model.booster_.predict(X, num_threads=1)


LIBRARY = OpenLibrary(
    **vars(LIGHTGBM),
    # calls
    evaluated_as=evaluated_as, read_call=read_call, still_has=still_has,
    measured=lambda seen: [result[1] for result in seen.get("ret", ())],
    # training
    data=lgb.Dataset, instead=INSTEAD, stops=_train.StopEarly,
    stop=lambda metric, rounds, params: _train.StopEarly(metric, rounds, _train.prints(params)),
    direct=_train.direct_callbacks, check=_train.check, labels=_train.labels, hold=_train.hold,
    layout_of=_train.layout_of, place=_train.place, fold_rows=_train.fold_rows, run=_train.run,
    finish=_train.finish,
    # estimators
    kinds=KINDS, fitting=Fitting, aliases=ALIASES, check_offset=check_offset,
    defaults={"Regressor": (None, "regression"), "Classifier": (None, "binary")},
    takes={"gamma": (1e-300, np.inf), **dict.fromkeys(
        ("binary", "cross_entropy", "xentropy", "cross_entropy_lambda", "xentlambda"), (0, 1))},
    correctable=(None, "binary", "cross_entropy", "xentropy", "multiclass", "softmax"),
    classifies=(
        "multiclassova", "multiclass_ova", "ova", "ovr", "cross_entropy_lambda", "xentlambda",
    ),
    knows_objective=knows_objective, small={"max_depth": 2, "n_jobs": 1, "verbosity": -1},
    weigh_held_out=lambda w: {"eval_sample_weight": [w]},
    leaves=lambda model, X: np.asarray(
        model.predict(intercept.columns_in_order(model, X), pred_leaf=True)),
    count_rounds=lambda estimator: int(estimator.best_iteration_), predict_rows=predict_rows,
    # models as data
    tolerance=1e-9,
    refuses_new=False,  # which count as missing
    misreads_newer=False, reader=reader, link_of=link_of, names_of=names_of, margin=margin,
    count_outputs=lambda model: int(booster_of(model).num_model_per_iteration()),
    count_features=lambda model: int(booster_of(model).num_feature()),
    same_names=lambda own, given: own == [name.replace(" ", "_") for name in given],  # as it writes
    categories_of=categories_of,
    write=lambda model, path: booster_of(model).save_model(path),
    write_all=lambda booster, path: booster.save_model(path, num_iteration=-1),
    open_booster=open_booster, restore=restore, trees=read_trees,
    # intercepts
    margins_of=intercept.margins_of, shift_intercept=intercept.shift_intercept,
    mark_of=lambda model: intercept.mark_of(booster_of(model)),
    read_odds=intercept.read_odds, predict_log_odds=intercept.predict_log_odds,
)  # fmt: skip
