"""What a booster reports as a metric is that metric of the predictions in natural units.

The model is one of an objective of ours, or of the library's own; the metric is one of ours, made
for margins or for probabilities, as it is or rendered for a library, or a name of the library's.
Whatever is reported is computed anew in numpy, from the margins of the model and their link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import gammaln

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as our_lightgbm, xgboost as our_xgboost
from tests.matrix.tables import (
    BY_NAME,
    GROUP,
    LGB,
    SKLEARN,
    WEIGHT,
    XGB,
    Array,
    Row,
    X,
    dataset,
    estimator_of,
    matrix,
    patch_train,
    right_or_refused,
    several,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:The argument 'eval_set' is deprecated", "ignore:.*early stopping looks at"
)
ROUNDS = 3
STEP = 0.3
PRINTED = 2e-5
"""XGBoost prints metrics with five or six decimals, and reads them from there."""

# --- the metrics in numpy, by the names under which they are reported


def average(values: Array, w: Array) -> float:
    return float(np.average(values, weights=w))


def logloss(y: Array, p: Array, w: Array) -> float:
    return -average(np.log(np.where(y == 1, p[:, 1], p[:, 0])), w)


def class_logloss(y: Array, p: Array, w: Array) -> float:
    return -average(np.log(p[np.arange(len(y)), y.astype(int)]), w)


def squared(y: Array, p: Array, w: Array) -> float:
    return average((p - y) ** 2, w)


def concordance(y: Array, p: Array, w: Array) -> float:
    a = average(y, w)
    return 1 - squared(y, p, w) / average((p - a) ** 2 + (y - a) ** 2, w)


def number(row: Row, natural: Array) -> Array | None:
    """A prediction of one number: of two classes it is the probability of label 1."""
    if natural.ndim == 1:
        return natural
    return natural[:, 1] if row.n_classes == 2 else None


def reported_truth(row: Row, name: str, margin: Array) -> float | None:
    """The metric of this name of predictions that follow from the margins; None if it has none."""
    margin = np.asarray(margin, float)
    natural, y, w = row.inverse(margin), row.y, WEIGHT
    p = number(row, natural)
    if name == "loss":
        return row.mean_loss(y, margin, w)
    if name in ("rmse", "l2", "squared_error", "extended_qwk") and p is not None:
        if name == "rmse":
            return float(np.sqrt(squared(y, p, w)))
        return concordance(y, p, w) if name == "extended_qwk" else squared(y, p, w)
    if row.n_classes == 2 and name in ("logloss", "binary_logloss", "weighted_logloss"):
        return logloss(y, natural, w)
    if row.n_classes == 3 and name in ("mlogloss", "multi_logloss", "class_logloss"):
        return class_logloss(y, natural, w)
    if row.inverse is np.exp and name in ("poisson", "poisson-nloglik"):
        added = gammaln(y + 1) if name == "poisson-nloglik" else 0.0
        return average(natural - y * margin + added, w)
    return None


# --- models, metrics and doors


@dataclass(frozen=True, eq=False)
class Model:
    """An objective of ours, or of both libraries by its names."""

    row: Row
    names: tuple[str, str] | None = None

    def __repr__(self) -> str:
        return f"{self.row}{'-built-in' if self.names else ''}"

    def name(self, library: str) -> str:
        assert self.names is not None
        return self.names[library == "lightgbm"]


MODELS = [
    *(Model(BY_NAME[name]) for name in ("identity", "log", "logit", "softmax", "score")),
    Model(BY_NAME["identity"], ("reg:squarederror", "regression")),
    Model(BY_NAME["logit"], ("binary:logistic", "binary")),
    Model(BY_NAME["log"], ("count:poisson", "poisson")),
    Model(BY_NAME["softmax"], ("multi:softprob", "multiclass")),
]


@dataclass(frozen=True, eq=False)
class Measure:
    """A metric in all forms, made for a model of this row."""

    name: str
    make: Callable[[Row], Any]

    def __repr__(self) -> str:
        return self.name


def of_probability(metric: Callable[..., go.Metric], *given: Any) -> Callable[[Row], go.Metric]:
    return lambda row: metric(*given, input_space="probability")


def rendered(make: Callable[[Row], go.Metric], library: str) -> Callable[[Row], Any]:
    return lambda row: getattr(make(row), library)


MADE = {
    "logloss": lambda row: go.weighted_logloss_metric(1),
    "logloss-probability": of_probability(go.weighted_logloss_metric, 1),
    "classes": lambda row: go.metrics.class_logloss_metric(),
    "classes-probability": of_probability(go.metrics.class_logloss_metric),
    "squared-error": lambda row: go.metrics.squared_error_metric(),
    "qwk": lambda row: go.extended_qwk_metric(),
    "loss": lambda row: go.loss_metric(row.objective),
}
OWN_NAMES = {
    "xgboost": ("rmse", "logloss", "mlogloss", "poisson-nloglik"),
    "lightgbm": ("l2", "binary_logloss", "multi_logloss", "poisson"),
}


def measures(library: str) -> list[Measure]:
    found = [Measure("none", lambda row: None)]
    for name, make in MADE.items():
        found += [Measure(name, make), Measure(f"{name}-rendered", rendered(make, library))]
    return found + [Measure(f"own-{n}", lambda row, n=n: n) for n in OWN_NAMES[library]]


Report = tuple[dict[str, list[float]], Array]
"""The values of each metric by round, and the margins at the end."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where a metric is given."""

    library: str
    name: str
    report: Callable[[Model, Any], Report]
    ours: bool

    def __repr__(self) -> str:
        return f"{self.library}-{self.name}"


def train(library: str, model: Model, metric: Any) -> Report:
    row, history = model.row, {}
    if library == "xgboost":
        data = matrix(row)
        booster = our_xgboost.train(
            {**XGB, "eta": STEP}, data, ROUNDS, objective=row.objective, metric=metric,
            evals=[(data, "v")], evals_result=history,
        )  # fmt: skip
        return history["v"], booster.predict(data, output_margin=True)
    data = dataset(row)
    booster = our_lightgbm.train(
        {**LGB, "learning_rate": STEP}, data, ROUNDS, objective=row.objective, metric=metric,
        evals=[(data, "v")], callbacks=[lgb.record_evaluation(history)],
    )  # fmt: skip
    return next(iter(history.values())), booster.predict(X, raw_score=True)


def native(library: str, model: Model, metric: Any) -> Report:
    row, history = model.row, {}
    named = {"objective": model.name(library)} if model.names else {}
    if library == "xgboost":
        data, params = matrix(row), {**XGB, "eta": STEP, **several(row), **named}
        given = {} if named else {"obj": row.objective}
        given |= {"custom_metric": metric} if callable(metric) else {}
        booster = xgb.train(params, data, ROUNDS, evals=[(data, "v")], evals_result=history,
                            verbose_eval=False, **given)  # fmt: skip
        return history["v"], booster.predict(data, output_margin=True)
    params = {**LGB, "learning_rate": STEP, **several(row), "objective": row.objective, **named}
    data = dataset(row)
    booster = lgb.train(params, data, ROUNDS, feval=metric, valid_sets=[data], valid_names=["v"],
                        callbacks=[lgb.record_evaluation(history)])  # fmt: skip
    return next(iter(history.values())), booster.predict(X, raw_score=True)


def estimator(library: str, model: Model, metric: Any, *, ours: bool) -> Report:
    row, of_xgboost = model.row, library == "xgboost"
    found = estimator_of(library, row, ours=ours)(
        objective=model.name(library) if model.names else row.objective,
        **SKLEARN[library] | {"learning_rate": STEP, "n_estimators": ROUNDS},
        **({"eval_metric": metric} if of_xgboost else {}),
    )
    y = row.y if row.n_classes is None else row.y.astype(int)
    weights = {"sample_weight_eval_set" if of_xgboost else "eval_sample_weight": [WEIGHT]}
    given = {"verbose": False} if of_xgboost else {"eval_metric": metric} if metric else {}
    found.fit(X, y, sample_weight=WEIGHT, eval_set=[(X.copy(), y)], **weights, **given)
    history: dict[str, Any] = found.evals_result() if of_xgboost else found.evals_result_
    flag = {"output_margin": True} if of_xgboost else {"raw_score": True}
    return next(iter((history or {"v": {}}).values())), found.predict(X, **flag)


PLACES = [
    Place(library, name, partial(report, library), ours)
    for library in ("xgboost", "lightgbm")
    for name, report, ours in (
        ("train", train, True),
        ("our-estimator", partial(estimator, ours=True), True),
        ("native", native, False),
        ("estimator", partial(estimator, ours=False), False),
    )
]


def is_asked(model: Model, measure: Measure, place: Place) -> bool:
    """Whether it is for us to see that the number is right.

    In a library's own function a name of its own is its own affair, and so is whether a metric is
    one of the margins of a custom objective, which nothing tells there but its author. A name that
    fits no predictions of the model is the user's.
    """
    name = measure.name.removeprefix("own-")
    if name != measure.name:
        fits = reported_truth(model.row, name, model.row.best(model.row.y, WEIGHT, GROUP)[GROUP])
        return place.ours and not model.names and fits is not None
    if place.ours:
        return not (model.names and (place.name == "train" or measure.name == "none"))
    if not measure.name.endswith("-rendered"):
        return False
    metric = measure.make(model.row).metric
    if model.names or metric.link is None:
        return True
    return metric.input_space != "probability" and metric.link.reads(model.row.objective.link)


RIGHT = [
    ("identity", "squared-error"), ("identity", "qwk"), ("identity", "loss"), ("log", "loss"),
    ("logit", "logloss"), ("logit", "loss"), ("softmax", "classes"),
    ("softmax", "loss"), ("score", "loss"),
]  # fmt: skip
"""Metrics of the margins of objectives of ours, which our own training must measure."""


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("place", PLACES, ids=repr)
def test_what_is_reported_is_the_metric_of_the_predictions(model, place) -> None:
    check_all(model, place)


def check_all(model: Model, place: Place) -> None:
    """Every metric that can be given there."""
    wrong = {}
    for measure in measures(place.library):
        if is_asked(model, measure, place):
            try:
                check(model, measure, place)
            except AssertionError as error:
                wrong[measure.name] = error
    assert not wrong


def check(model: Model, measure: Measure, place: Place) -> None:
    metric = measure.make(model.row)
    report = right_or_refused(lambda: place.report(model, metric))
    if report is None:
        must = place.ours and (repr(model), measure.name) in RIGHT
        assert not must, "refused"
        return
    history, margin = report
    asked = getattr(metric, "__name__", metric)
    assert asked is None or asked in history
    for name, values in history.items():
        if name != asked and (model.names or not place.ours):
            continue  # the library's own beside it
        truth = reported_truth(model.row, name, margin)
        assert truth is not None, f"{name} of such predictions is reported, {values[-1]}"
        np.testing.assert_allclose(values[-1], truth, rtol=PRINTED, atol=PRINTED, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("place", [p for p in PLACES if "estimator" in p.name], ids=repr)
def test_the_same_under_a_patched_library(model, place, monkeypatch) -> None:
    patch_train(monkeypatch)
    check_all(model, place)
