"""Each remedy that a plain call of XGBoost or LightGBM can print, typed: it trains without another
word, and what it trains is as good as what scikit-learn and the libraries' own objectives say.

To add one, add a ``row``: who tells it, its words, the call, and each remedy, typed.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy.special import expit, log_softmax, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score, log_loss, make_scorer
from sklearn.model_selection import cross_val_score

import gbdt_objectives as go
from gbdt_objectives._checks.asked import Layout, Training
from gbdt_objectives.metrics import (
    class_logloss_metric,
    cost_metric,
    squared_error_metric,
    threshold_metric,
)
from tests.adapters.library import LGB, XGB, Library
from tests.strangers.poisson import poisson_objective

rng = np.random.default_rng(3)
N, TRAIN, TEST = 600, slice(0, 400), slice(400, 600)
X = rng.normal(size=(N, 4))
SIGNAL = X[:, 0] + 0.6 * X[:, 1] + rng.normal(0, 0.5, N)
GRADES = np.digitize(SIGNAL, [-1.2, -0.4, 0.4, 1.2]).astype(float)
FAR = GRADES + 20
EVENTS = (rng.random(N) < expit(2 * X[:, 0] - 1)).astype(float)
COUNTS = rng.poisson(np.exp(X[:, 0] / 2)).astype(float)
ROUNDS = 20
QWK, KAPPA, ERROR = go.qwk_objective(), go.qwk_metric(), squared_error_metric()
LOGLOSS, LOG_ODDS = go.weighted_logloss_objective(1.0), go.weighted_logloss_metric(1.0)
OF_PROBABILITY = go.weighted_logloss_metric(1.0, input_space="probability")
FIVE = {"num_class": 5}
BINARY = {"xgboost": "binary:logistic", "lightgbm": "binary"}
SEVERAL = {"xgboost": "multi:softprob", "lightgbm": "multiclass"}
LIBRARIES = [XGB, LGB]


def softmax(y: Any, f: Any, w: Any) -> Any:
    """The gradient of the log loss of five classes."""
    p = np.exp(log_softmax(f, axis=1))
    w = np.ones(len(y)) if w is None else w
    return w[:, None] * (p - np.eye(5)[y.astype(int)]), w[:, None] * 2 * p * (1 - p)


OF_CLASSES = go.objective(softmax, link="softmax", outputs=5)


# --- the doors of the libraries


class Trained(NamedTuple):
    """What a training made of rows that it has not seen."""

    margin: Any
    predicted: Any
    values: list[float]  # of the last metric, in each round
    best: int  # how many rounds are kept


def train(
    lib: Library, y: Any, objective: Any = None, metric: Any = None, /, *, by: Any = None,
    held_out: slice = TEST, stop: int | None = None, **given: Any,
) -> Trained:  # fmt: skip
    """By ``train`` of the library, or by ours."""
    history: dict[str, Any] = {}
    data = lib.data(X[TRAIN], y[TRAIN])
    own = lib.data(X[held_out], y[held_out], reference=data)
    calls, more = [lgb.record_evaluation(history)], {}
    if lib is XGB:
        more = {"maximize": given.pop("maximize")} if "maximize" in given else {}
        more |= {"evals_result": history, "early_stopping_rounds": stop, "verbose_eval": False}
    else:
        more = {"callbacks": calls + [lib.stop(stop or 1)] * bool(stop)}
        given = given if by is not None or metric is None else {"metric": "None", **given}
    params = {**lib.params, **given}
    if by is not None:
        more |= {"metric": metric, "evals": [(own, "v")]} if metric is not None else {}
        booster = by(params, data, ROUNDS, objective=objective, **more)
    elif lib is XGB:
        booster = xgb.train(params, data, ROUNDS, obj=objective, custom_metric=metric,
                            evals=[(own, "v")], **more)  # fmt: skip
    else:
        params |= {} if objective is None else {"objective": objective}
        booster = lgb.train(params, data, ROUNDS, feval=metric, valid_sets=[own],
                            valid_names=["v"], **more)  # fmt: skip
    values = [list(v) for v in history.get("v", {"": []}).values()][-1]
    kept = booster.best_iteration + (lib is XGB) if stop else 0
    margin, predicted = (lib.predict(booster, X[TEST], raw) for raw in (True, False))
    return Trained(margin, predicted, values, kept)


def fit(
    lib: Library, y: Any, metric: Any = None, /, *, by: Any = None, role: str = "Regressor",
    **params: Any,
) -> Any:  # fmt: skip
    """The library's own estimator, or a class of ours, fitted."""
    kind = by or lib.kind(role == "Classifier", plain=True)
    model = kind(**{**lib.estimator, "n_estimators": ROUNDS, **params})
    if metric is None:
        return model.fit(X[TRAIN], y[TRAIN])
    return lib.fit(model, X[TRAIN], y[TRAIN], [(X[TEST], y[TEST])], metric)


def cv(
    lib: Library, y: Any, objective: Any, metric: Any, by: Any = None, **given: Any
) -> list[float]:
    """The metric in each round, by ``cv`` of the library, or by ours."""
    data, params, folds = lib.data(X, y), {**lib.params, **given}, {"nfold": 3, "seed": 0}
    if lib is LGB:
        folds["stratified"] = False
    if by is not None:
        found = by(params, data, 8, objective=objective, metric=metric, **folds)
    elif lib is XGB:
        found = xgb.cv(params, data, 8, obj=objective, custom_metric=metric, **folds)
    else:
        params = {"metric": "None", **params, "objective": objective}
        found = lgb.cv(params, data, 8, feval=metric, **folds)
    return list(found[lib.mean.format(metric.name)])


# --- what is right


def kappa(scores: Any, y: Any = GRADES) -> float:
    """Of the nearest grades."""
    return kappa_of(y[TEST], scores)


def kappa_of(y: Any, scores: Any) -> float:
    nearest = np.clip(np.rint(scores), y.min(), y.max()).astype(int)
    return float(cohen_kappa_score(y.astype(int), nearest, weights="quadratic"))


@cache
def good_kappa(lib: str) -> float:
    """That of the library's own squared error, less .05: other losses, 200 rows."""
    own = {"xgboost": XGB, "lightgbm": LGB}[lib]
    return kappa(fit(own, GRADES).predict(X[TEST])) - 0.05


def grades(lib: Library, scores: Any, y: Any = GRADES) -> None:
    assert kappa(scores, y) > good_kappa(lib.name)


@cache
def good_odds() -> tuple[float, float]:
    """The log loss of scikit-learn's logistic regression, which is the true model, and the mean."""
    p = LogisticRegression().fit(X[TRAIN], EVENTS[TRAIN]).predict_proba(X[TEST])[:, 1]
    return log_loss(EVENTS[TEST], p), float(p.mean())


def events(p: Any) -> None:
    """Probabilities nearly as good as the true model's, of the same mean."""
    loss, mean = good_odds()
    p = p[:, 1] if np.ndim(p) == 2 else p
    assert log_loss(EVENTS[TEST], p) < loss + 0.1  # trees of 400 rows
    assert abs(np.mean(p) - mean) < 0.05


def of_classes(p: Any) -> None:
    """Probabilities of the five grades that know more than their shares do."""
    shares = np.bincount(GRADES[TRAIN].astype(int)) / len(GRADES[TRAIN])
    alone = log_loss(GRADES[TEST], np.tile(shares, (200, 1)))
    assert log_loss(GRADES[TEST], p) < alone - 0.3


def counts(predicted: Any) -> None:
    """Means of counts: above 0, in all as many as there are, within three standard errors."""
    assert np.min(predicted) > 0
    total = COUNTS[TEST].sum()
    assert abs(np.sum(predicted) - total) < 3 * np.sqrt(total)


def rises(values: list[float]) -> None:
    """A measured kappa is that of a model that learns."""
    assert values[-1] > values[0] > -0.1
    assert values[-1] > 0.6


def stops(found: Trained) -> None:
    """Training kept a late round, and one of the best by what was measured."""
    assert found.best > 3
    assert found.values[found.best - 1] in (max(found.values), min(found.values))


# --- the rows


@dataclass(frozen=True, eq=False)
class Row:
    """A call that is told what to do, and each remedy, typed, which gets what ``says`` matched."""

    by: str  # the function of the package that raises or warns: a guard, or another
    says: str
    call: Callable[[], object]
    typed: tuple[Callable[[Any], object], ...]
    name: str


ROWS: list[Row] = []


def row(
    by: str, says: str, call: Callable[[], object], *typed: Callable[[Any], object], name: Any = ""
) -> None:
    ROWS.append(Row(by, says, call, typed, f"{by} {name}".strip()))


def ours(found: Any, name: str = "") -> Any:
    """What a message says to import."""
    return getattr(import_module(found["room"]), name or found["name"])


ROOM = r"(?P<room>gbdt_objectives\.adapters\.\w+)"
KIND = rf"import (?P<name>\w+) from {ROOM}"
ITS_OWN = rf"import train, cv or the estimator from {ROOM}, which start there"
FAR_FROM = {
    "xgboost": rf": pass base_score=(?P<at>[-.\de]+), or {ITS_OWN}",
    "lightgbm": rf": {ITS_OWN}.*init_score would be missing from the predictions",
}


def far_starts(lib: Library) -> None:
    """Boosting that starts far from the labels: at each door, of grades, events and a function."""

    def in_train(**given: Any) -> None:
        grades(lib, train(lib, FAR, QWK, **given).predicted, FAR)

    def in_cv(**given: Any) -> None:
        rises(cv(lib, FAR, QWK, KAPPA, learning_rate=0.5, **given))

    def in_fit(**given: Any) -> None:
        grades(lib, fit(lib, FAR, objective=QWK, **given).predict(X[TEST]), FAR)

    def of_a_function(**given: Any) -> None:
        own = go.objective(lambda y, f, w: (np.tanh(f - y), np.ones_like(f)))
        grades(lib, train(lib, FAR, own, learning_rate=0.6, **given).predicted, FAR)

    kind = f"{lib.prefix}Regressor"
    for call, name in ((in_train, "train"), (in_cv, "cv"), (in_fit, kind),
                       (of_a_function, "train")):  # fmt: skip
        number = [lambda m, call=call: call(base_score=float(m["at"]))] * lib_takes(lib)
        drop_in = lambda m, call=call, name=name: call(by=ours(m, name))  # noqa: E731
        row("starts_near_intercept", FAR_FROM[lib.name], partial(suppressed, call), *number,
            drop_in, name=f"{call.__name__} {lib}")  # fmt: skip


def lib_takes(lib: Library) -> bool:
    """Whether it starts at a number."""
    return lib is XGB


def suppressed(call: Callable[[], object]) -> None:
    """A call that is told, and may then train a bad model."""
    with suppress(AssertionError):
        call()


def a_rare_start() -> None:
    """In the unit of the booster's own objective."""
    says = rf"far from the best constant, .*{FAR_FROM['xgboost']}"

    def classify(by: Any = None, **start: Any) -> None:
        y = (X[:, 0] + SIGNAL > 4.2).astype(float)  # of 100 rows two
        model = fit(
            XGB, y, by=by, role="Classifier", objective=LOGLOSS, learning_rate=0.05, **start
        )
        assert abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.01

    row("starts_near_intercept", says, partial(suppressed, classify),
        lambda m: classify(base_score=float(m["at"])),
        lambda m: classify(by=ours(m, "XGBClassifier")), name="XGBClassifier")  # fmt: skip


def scores_as_classes(lib: Library, found: Any) -> None:
    """Import a regressor, and turn its scores into classes with apply_thresholds."""
    scores = fit(lib, GRADES, by=ours(found), objective=QWK).predict(X[TEST])
    cuts, labels = [0.5, 1.5, 2.5, 3.5], [0, 1, 2, 3, 4]
    grades(lib, go.apply_thresholds(scores, cuts, labels))


def misread_margins(lib: Library) -> None:
    """Estimators that would take margins for something else, and boosters by name."""
    fits = partial(fit, lib, role="Classifier")
    row("estimator_reads_margins", f"{KIND}, and turn its scores into classes with apply_thr",
        lambda: fits(GRADES, objective=QWK), partial(scores_as_classes, lib),
        name=f"scores {lib}")  # fmt: skip
    row("estimator_reads_margins", KIND, lambda: fits(GRADES, objective=OF_CLASSES),
        lambda m: of_classes(fits(GRADES, by=ours(m), objective=OF_CLASSES).predict_proba(X[TEST])),
        name=f"softmax {lib}")  # fmt: skip
    row("estimator_reads_margins", KIND,
        lambda: fits(GRADES, objective=go.ordinal_logit_objective(5)),
        lambda m: of_classes(fits(GRADES, by=ours(m), objective=go.ordinal_logit_objective(5))
                             .predict_proba(X[TEST])), name=f"ordinal {lib}")  # fmt: skip
    row("estimator_reads_margins", KIND, lambda: fits(EVENTS, objective=go.focal_objective(1.0)),
        lambda m: events(fits(EVENTS, by=ours(m), objective=go.focal_objective(1.0))
                         .predict_proba(X[TEST])), name=f"focal {lib}")  # fmt: skip
    row("estimator_reads_margins", KIND, lambda: fit(lib, COUNTS, objective=poisson_objective()),
        lambda m: counts(fit(lib, COUNTS, by=ours(m), objective=poisson_objective())
                         .predict(X[TEST])), name=f"log {lib}")  # fmt: skip
    if lib is LGB:
        row("estimator_reads_margins", KIND, lambda: fits(EVENTS, objective=LOGLOSS),
            lambda m: events(fits(EVENTS, by=ours(m), objective=LOGLOSS).predict_proba(X[TEST])),
            name="log-odds lightgbm")  # fmt: skip
        return
    start = {"base_score": float(GRADES.mean())}
    for name in ("binary:logistic", "reg:absoluteerror", "count:poisson"):
        row(
            "booster_predicts_by_link",
            f"{KIND}, or DaskXGBRegressor .* apply_thresholds, or leave objective out of the param",
            lambda name=name: train(XGB, GRADES, QWK, objective=name),
            partial(scores_as_classes, XGB),
            lambda m: grades(XGB, train(XGB, GRADES, QWK, **start).predicted),
            name=name,
        )


def metrics_of_another_unit(lib: Library) -> None:
    """Metrics of margins under a built-in objective, and the other way round."""
    built_in = {"objective": BINARY[lib.name]}
    says = 'make it with input_space="probability" if it has that, or train on an objective of gbdt'

    def on_ours(m: Any, metric: Any = LOG_ODDS) -> None:
        found = train(lib, EVENTS, LOGLOSS, metric, **at_events(lib))
        # XGBoost prints six digits
        right = log_loss(EVENTS[TEST], expit(found.margin))
        assert found.values[-1] == pytest.approx(right, abs=1e-5)

    def on_theirs(m: Any) -> None:
        found = train(lib, EVENTS, None, OF_PROBABILITY, **built_in)
        right = log_loss(EVENTS[TEST], found.predicted)
        assert found.values[-1] == pytest.approx(right, abs=1e-5)

    row("metric_reads_predictions", says, lambda: train(lib, EVENTS, None, LOG_ODDS, **built_in),
        on_theirs, on_ours, name=f"train {lib}")  # fmt: skip
    loss = go.loss_metric(LOGLOSS)
    row("metric_reads_predictions", says, lambda: train(lib, EVENTS, None, loss, **built_in),
        lambda m: on_ours(m, loss), name=f"loss_metric {lib}")  # fmt: skip
    row("metric_reads_predictions", says,
        lambda: fit(lib, EVENTS, LOG_ODDS, role="Classifier"),
        lambda m: events(fit(lib, EVENTS, OF_PROBABILITY, role="Classifier", n_estimators=12)
                         .predict_proba(X[TEST])), name=f"fit {lib}")  # fmt: skip
    several = {"objective": SEVERAL[lib.name], **FIVE}
    row("metric_reads_predictions", says,
        lambda: train(lib, GRADES, None, class_logloss_metric(), **several),
        lambda m: measured_classes(lib, None, "probability", **several),
        name=f"classes {lib}")  # fmt: skip
    row("_read_columns", r'for log-odds or probabilities of label 1 use weighted_logloss_m',
        lambda: train(lib, EVENTS, LOGLOSS, class_logloss_metric(), **at_events(lib)), on_ours,
        name=lib)  # fmt: skip
    row(
        "_read_columns",
        "y_pred has 5 columns, but n_classes is 4: they must match",
        lambda: train(
            lib, GRADES, None, class_logloss_metric(4, input_space="probability"), **several
        ),
        lambda m: measured_classes(lib, None, "probability", 5, **several),
        name=f"K {lib}",
    )


def at_events(lib: Library) -> dict[str, float]:
    """Where log-odds start, in XGBoost."""
    return {"base_score": float(logit(EVENTS[TRAIN].mean()))} if lib is XGB else {}


def measured_classes(lib: Library, own: Any, unit: Any, K: int | None = None, **given: Any) -> None:
    """The log loss of classes is scikit-learn's."""
    found = train(lib, GRADES, own, class_logloss_metric(K, input_space=unit), **given)
    p = found.predicted if own is None else np.exp(log_softmax(found.margin, axis=1))
    of_classes(p)
    # XGBoost prints six digits; of float32 predictions
    assert found.values[-1] == pytest.approx(log_loss(GRADES[TEST], p), abs=1e-5)


def kappa_as_a_metric(lib: Library) -> None:
    """quadratic_weighted_kappa, of classes, where a booster has scores."""
    own, says = go.quadratic_weighted_kappa, r"qwk_metric\(\)"

    def behind_a_function(scores: Any, data: Any) -> Any:
        value = own(data.get_label(), scores)
        return ("kappa", value, True) if lib is LGB else ("kappa", value)

    def trains(m: Any, objective: Any = None) -> None:
        found = train(lib, NEAR, objective, KAPPA, stop=8)
        stops(found)
        rises(found.values)

    row("class_rows", says, lambda: train(lib, GRADES, None, own), trains, name=f"itself {lib}")
    row("class_rows", says, lambda: train(lib, GRADES, None, behind_a_function), trains,
        lambda m: trains(m, QWK), name=f"in a function {lib}")  # fmt: skip

    def in_fit(m: Any) -> None:
        model = fit(lib, GRADES, KAPPA, **({"early_stopping_rounds": 8} if lib is XGB else {}))
        rises(next(iter(lib.history(model).values()))["qwk"])
        assert lib is LGB or model.best_iteration > 3

    row("class_rows" if lib is XGB else "checked", says, lambda: fit(lib, GRADES, own), in_fit,
        name=f"fit {lib}")  # fmt: skip
    row(
        "checked",
        r"scoring=, take qwk_metric\(\); of classes that are words .*labels=\[...\]\)",
        lambda: own(fit(lib, GRADES), X, GRADES),
        partial(scored, lib),
        name=f"scoring {lib}",
    )


def scored(lib: Library, found: Any) -> None:
    """By scikit-learn: regressors, classifiers, and classifiers of words."""
    words = np.array(["low", "mid", "high"])
    y = (GRADES > 0).astype(int) + (GRADES > 2)
    for classifier, target, scoring in (
        (False, GRADES, KAPPA), (True, GRADES.astype(int), KAPPA),
        (True, words[y], make_scorer(go.quadratic_weighted_kappa, labels=["low", "mid", "high"])),
    ):  # fmt: skip
        if lib is XGB and target.dtype.kind == "U":  # which takes none
            continue
        model = lib.make(classifier, plain=True)
        values = cross_val_score(model, X, target, cv=3, scoring=scoring, error_score="raise")
        codes = y if target.dtype.kind == "U" else target
        right = cohen_kappa_score(
            codes[TEST].astype(int), nearest(model, target, codes), weights="quadratic"
        )
        assert abs(values.mean() - right) < 0.12  # other rows


def nearest(model: Any, target: Any, codes: Any) -> Any:
    predicted = model.fit(X[TRAIN], target[TRAIN]).predict(X[TEST])
    if predicted.dtype.kind == "U":
        return np.array([{"low": 0, "mid": 1, "high": 2}[word] for word in predicted])
    return np.clip(np.rint(predicted), codes.min(), codes.max()).astype(int)


NEAR = GRADES - 2
"""Grades around 0, where LightGBM starts, near where XGBoost does."""


def labels_and_classes(lib: Library) -> None:
    """Metrics of classes, and labels that they are not made for."""
    smooth, says = (
        go.extended_qwk_metric(),
        r"pass extended_qwk_metric\(\) or squared_error_metric\(\)",
    )

    def on(y: Any, metric: Any) -> None:
        start = {"base_score": float(y.mean())} if lib is XGB else {}
        found = train(lib, y, QWK, metric, stop=8, **start)
        stops(found)
        p, t = found.margin, y[TEST]
        if not metric.greater_is_better:
            assert found.values[-1] < np.var(t)
        if found.best == len(found.values):
            error = np.mean((p - t) ** 2)
            lin = 1 - error / (np.mean((p - t.mean()) ** 2) + np.var(t))
            right = lin if metric is smooth else error
            assert found.values[-1] == pytest.approx(right, abs=1e-5)  # six digits are printed

    for y, name in ((NEAR / 2, "half steps"), (GRADES - 2.05, "y - a")):
        row(
            "whole_numbers",
            says,
            lambda y=y: train(lib, y, QWK, KAPPA),
            lambda m, y=y: on(y, smooth),
            lambda m, y=y: on(y, ERROR),
            name=f"{name} {lib}",
        )
        assert go.qwk_metric()(y[:9], y[:9], labels=np.unique(y)) == 1  # "to your own call"

    def kept(metric: Any, y: Any = NEAR) -> None:
        stops(train(lib, y, QWK, metric, stop=8))

    row("in_label_range", r"give the range of all labels, e.g. label_range=\(0, 5\)",
        lambda: train(lib, NEAR, QWK, go.qwk_metric((-2, 1))),
        lambda m: kept(go.qwk_metric((-2, 2))), name=f"metric {lib}")  # fmt: skip
    row("in_label_range", "make the objective or metric from the labels of all the rows",
        lambda: train(lib, NEAR, go.qwk_objective(NEAR[NEAR < 2])),
        lambda m: train(lib, NEAR, go.qwk_objective(NEAR)),
        lambda m: train(lib, NEAR, go.qwk_objective(label_range=(-2, 2))),
        name=f"objective {lib}")  # fmt: skip
    row(
        "warn_of_other_labels",
        "or leave them out, and they are measured",
        lambda: train(lib, NEAR, QWK, go.extended_qwk_metric(FAR)),
        lambda m: kept(smooth),
        lambda m: kept(go.extended_qwk_metric(NEAR)),
        name=f"metric {lib}",
    )
    row(
        "warn_of_other_labels",
        "or leave them out, and they are measured",
        lambda: train(lib, NEAR, go.qwk_objective(mean=9.0, variance=1.0)),
        lambda m: grades(lib, train(lib, NEAR, QWK).margin, NEAR),
        name=f"objective {lib}",
    )
    sparse = np.where(NEAR == 2, 9000, NEAR)
    ranks = np.unique(sparse, return_inverse=True)[1].astype(float)
    mae = threshold_metric("mae")
    row("of_classes", r"number those .*numpy.unique\(y, return_inverse=True\)\[1\], or add labels=",
        lambda: train(lib, sparse, None, mae),
        lambda m: grades(lib, train(lib, ranks, None, mae).margin), name=lib)  # fmt: skip
    row("check_is_binary", r"choose another metric, or .*label_range=\(0, 1\) of thr",
        lambda: train(lib, GRADES, None, threshold_metric("f1")),
        lambda m: stops(train(lib, GRADES, None, threshold_metric("macro_f1"), stop=8)),
        name=lib)  # fmt: skip
    cost = np.abs(np.subtract.outer(range(5), range(5)))
    row("costs_of_pairs", "give a row and a column to each class, and labels or label_range",
        lambda: train(lib, GRADES, None, cost_metric([[0, 1], [1, 0]])),
        lambda m: grades(lib, train(lib, GRADES, None, threshold_metric(cost_metric(cost), (0, 4)))
                         .margin), name=lib)  # fmt: skip
    row("_of_everybody", "evaluate on data with several classes",
        lambda: train(lib, NEAR, go.qwk_objective(clip=True), threshold_metric("matthews"),
                      held_out=slice(400, 401)),
        lambda m: stops(train(lib, NEAR, QWK, threshold_metric("matthews"), stop=8)),
        name=lib)  # fmt: skip
    for labels, says in (2 * EVENTS - 1, "two classes as 0 and 1"), (100 * EVENTS, "ages by 100"):
        row("check", f"correct these rows.*{says}",
            lambda labels=labels: train(lib, labels, LOGLOSS),
            lambda m: events(expit(train(lib, EVENTS, LOGLOSS).margin)),
            name=f"{says} {lib}")  # fmt: skip
    thins, soft = go.weighted_logloss_objective(0.9), np.clip(EVENTS, 0.01, 0.99)
    row("binary_labels", "encode the rare event as 1 and everything else as 0",
        lambda: train(lib, 2 * EVENTS - 1, thins),
        lambda m: events(expit(train(lib, EVENTS, LOGLOSS).margin)), name=lib)  # fmt: skip
    row("binary_labels", "labels between 0 and 1 are for negative_keep_rate=1",
        lambda: train(lib, soft, thins),
        lambda m: events(expit(train(lib, soft, LOGLOSS).margin)), name=f"soft {lib}")  # fmt: skip
    row("check", "subtract the lowest label, encode classes by their rank, or raise n_classes",
        lambda: train(lib, GRADES + 1, go.ordinal_logit_objective(5)),
        lambda m: train(lib, GRADES, go.ordinal_logit_objective(5)),
        lambda m: train(lib, GRADES + 1, go.ordinal_logit_objective(6)), name=lib)  # fmt: skip


def several_columns(lib: Library) -> None:
    """A metric of one score, where a booster has a column per class."""
    several = {"objective": SEVERAL[lib.name], **FIVE}
    says = "measure class_logloss_metric.*train one score, as qwk_objective.*argmax.*metric.loss"

    def of_a_function(m: Any, of: Any) -> None:
        def loss(p: Any, data: Any) -> Any:
            value = of(data.get_label().astype(int), np.argmax(p, axis=1))
            return ("loss", value, False) if lib is LGB else ("loss", value)

        found = train(lib, GRADES, None, loss, stop=8, **several)
        right = 1 - cohen_kappa_score(GRADES[TEST], found.predicted.argmax(axis=1),
                                      weights="quadratic")  # fmt: skip
        assert min(found.values) == pytest.approx(found.values[found.best - 1], abs=1e-6)
        assert right < 0.4

    row("check_one_score", says, lambda: train(lib, GRADES, None, KAPPA, **several),
        lambda m: measured_classes(lib, None, "probability", **several),
        lambda m: stops(train(lib, NEAR, QWK, KAPPA, stop=8)),
        lambda m: of_a_function(m, KAPPA.loss),
        lambda m: of_a_function(m, lambda y, p: 1 - go.quadratic_weighted_kappa(y, p)),
        name=f"built in {lib}")  # fmt: skip
    row(
        "check_one_score",
        says,
        lambda: train(lib, GRADES, OF_CLASSES, KAPPA, **FIVE),
        lambda m: measured_classes(lib, OF_CLASSES, "margin", **FIVE),
        name=f"ours {lib}",
    )
    row(
        "_check_margin_shape",
        "train with num_class=(?P<K>5)",
        lambda: train(lib, GRADES, OF_CLASSES),
        lambda m: train(lib, GRADES, OF_CLASSES, num_class=int(m["K"])),
        name=f"K {lib}",
    )
    row("_check_margin_shape", "remove num_class and train with one output",
        lambda: train(lib, NEAR, QWK, **FIVE),
        lambda m: grades(lib, train(lib, NEAR, QWK).margin, NEAR), name=f"one {lib}")  # fmt: skip


def forms(lib: Library) -> None:
    """What is passed as objective and metric."""
    other = KAPPA.lightgbm if lib is XGB else KAPPA.xgboost
    says = rf"pass the metric itself, or metric\.(?P<form>{lib}) as \w+= or eval_metric="
    right = lambda m, call: rises(call(getattr(KAPPA, m["form"])))  # noqa: E731
    for name, call in (
        ("train", lambda metric: train(lib, GRADES, None, metric).values),
        ("fit", lambda metric: next(iter(lib.history(fit(lib, GRADES, metric)).values()))["qwk"]),
    ):
        row("form_is_that_of_caller", says, lambda call=call: call(other),
            lambda m, call=call: rises(call(KAPPA)), lambda m, call=call: right(m, call),
            name=f"{name} {lib}")  # fmt: skip
    row("checked", r"a booster takes what it returns: call it, (?P<name>\w+)\(",
        lambda: train(lib, NEAR, go.qwk_objective),
        lambda m: grades(lib, train(lib, NEAR, getattr(go, m["name"])()).margin, NEAR),
        name=f"objective {lib}")  # fmt: skip
    row("checked", r"a booster takes what it returns: call it, (?P<name>\w+)\(",
        lambda: train(lib, NEAR, QWK, go.qwk_metric),
        lambda m: stops(train(lib, NEAR, QWK, getattr(go, m["name"])(), stop=8)),
        name=f"metric {lib}")  # fmt: skip
    rates = np.full(N, 0.999)
    row("check_rows", r"offset_logloss_objective\(rates\[rows\]\); .*objective.take\(positions",
        lambda: train(lib, EVENTS, go.offset_logloss_objective(rates)),
        lambda m: train(lib, EVENTS, go.offset_logloss_objective(rates[TRAIN])),
        lambda m: train(lib, EVENTS, go.offset_logloss_objective(rates).take(np.arange(400))),
        name=lib)  # fmt: skip


def directions() -> None:
    for metric, wrong in ((KAPPA, False), (ERROR, True)):
        said = rf"pass maximize=(?P<right>{not wrong}), or leave it out"
        call = partial(train, XGB, NEAR, QWK, metric, stop=8)
        row("stops_in_its_direction", rf"{said}.* or import .*train or cv from {ROOM}",
            lambda call=call, wrong=wrong: call(maximize=wrong),
            lambda m, call=call: stops(call(maximize=m["right"] == "True")),
            lambda m, call=call: stops(call()),
            lambda m, call=call: stops(call(by=ours(m, "train"))), name=metric.name)  # fmt: skip


def functions_that_stop() -> None:
    """A user's function that returns a metric of ours, or another of which greater is better, and
    a loss by whose name XGBoost maximises it."""
    says = (r"pass a Metric, such as (?P<name>\w+)\(\), or say it, callbacks=\[xgboost\.callback\."
            r"EarlyStopping\(rounds=\.\.\., maximize=(?P<up>\w+)\)\], instead of "
            r"early_stopping_rounds=, or maximize=(?P=up) to train and cv")  # fmt: skip
    for of, name in ((KAPPA, "ours"), (lambda y, p: kappa_of(y, p), "kappa"),
                     (lambda y, p: float(np.mean((y - p) ** 2)), "precise_loss")):  # fmt: skip

        def in_train(of: Any = of, name: str = name, **given: Any) -> Trained:
            return train(
                XGB, NEAR, QWK, lambda p, d: (name, of(d.get_label(), p)), stop=8, **given
            )  # fmt: skip

        def in_fit(maximize: bool | None, of: Any = of, name: str = name) -> None:
            def function(y: Any, p: Any) -> float:
                return float(of(y, p))

            function.__name__ = name
            stop = xgb.callback.EarlyStopping(rounds=8, maximize=maximize)
            model = fit(XGB, NEAR, function, objective=QWK, callbacks=[stop])
            assert model.best_iteration > 2

        typed = (
            lambda m: stops(train(XGB, NEAR, QWK, getattr(go, m["name"])(), stop=8)),
            lambda m, call=in_train: stops(call(maximize=m["up"] == "True")),
            lambda m, call=in_fit: call(m["up"] == "True"),
        )
        row("values_stop_in_their_direction", says, lambda call=in_train: call(maximize=None),
            *typed, name=f"train {name}")  # fmt: skip
        row("values_stop_in_their_direction", says,
            lambda call=in_fit: suppressed(lambda: call(None)), *typed,
            name=f"XGBRegressor {name}")  # fmt: skip


def earlier_models() -> None:
    """In LightGBM, whose ``init_model`` may be anything."""
    data = partial(lgb.Dataset, X[TRAIN])

    def own(y: Any, **given: Any) -> Any:
        return lgb.train({**LGB.params, **given}, data(y[TRAIN]), 10)

    def goes_on(model: Any) -> None:
        params = {**LGB.params, "objective": QWK}
        found = lgb.train(params, data(NEAR[TRAIN]), 20, init_model=model)
        grades(LGB, found.predict(X[TEST]), NEAR)

    forest = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    row("earlier_margins_are_read", "train it with boosting='gbdt', 'dart' or 'goss'",
        lambda: goes_on(own(NEAR, **forest)), lambda m: goes_on(own(NEAR, boosting="gbdt")),
        name="forest")  # fmt: skip
    row("earlier_margins_are_read", "train on with a model of the same link",
        lambda: suppressed(lambda: goes_on(own(EVENTS, objective="binary"))),
        lambda m: goes_on(own(NEAR)), name="link")  # fmt: skip
    frame = pd.DataFrame(X, columns=list("abcd"))
    turned = frame[["d", "c", "b", "a"]]
    early = lgb.train(LGB.params, lgb.Dataset(frame[:400], NEAR[TRAIN]), 5)

    def on(X: Any) -> None:
        rows = lgb.Dataset(X[:400], NEAR[TRAIN])
        model = lgb.train({**LGB.params, "objective": QWK}, rows, 20, init_model=early)
        grades(LGB, model.predict(frame[400:]), NEAR)

    row("columns_are_in_order", r"pass X(?P<names>\[\[.*\]\]), of Arrow", lambda: on(turned),
        lambda m: on(turned[re.findall(r"\w", m["names"])]), name="init_model")  # fmt: skip

    words = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.where(X[:, 1] > 0, "v", "u"))})
    known = lgb.train(LGB.params, lgb.Dataset(words[:400], NEAR[TRAIN]), 5)
    others = words.assign(b=words["b"].cat.set_categories(["v", "u"]))

    def of_words(X: Any) -> None:
        rows = lgb.Dataset(X[:400], NEAR[TRAIN])
        model = lgb.train({**LGB.params, "objective": QWK}, rows, 20, init_model=known)
        assert kappa(model.predict(words[400:]), NEAR) > 0.7  # two columns of four

    row("categories_keep_their_numbers", r"pass (?P<remedy>X.assign\(.*\))$",
        lambda: of_words(others), lambda m: of_words(eval(m["remedy"], {"X": others})))  # fmt: skip


def rows_and_columns(lib: Library) -> None:
    """Of frames, in ``fit`` of the libraries' own estimators."""
    frame, held = (pd.DataFrame(X[at], columns=list("abcd")) for at in (TRAIN, TEST))
    y = pd.Series(NEAR[TRAIN])
    model = partial(lib.make, plain=True, objective=QWK, n_estimators=ROUNDS)
    back = y[::-1]

    def on(y: Any) -> None:
        grades(lib, model().fit(frame, y).predict(held), NEAR)

    row("rows_are_in_order", r"pass (?P<remedy>y\.loc\[X\.index\]), or y.to_numpy\(\)",
        lambda: on(back), lambda m: on(back.loc[frame.index]),
        lambda m: on(y.set_axis(back.index).to_numpy()), name=lib)  # fmt: skip

    def measured(held: Any) -> None:
        found = lib.fit(model(), frame, y, [(held, NEAR[TEST])], KAPPA)
        rises(next(iter(lib.history(found).values()))["qwk"])

    if lib is LGB:  # XGBoost itself refuses them
        row("columns_are_in_order", r"pass X(?P<names>\[\[.*\]\]), of Arrow",
            lambda: measured(held[["d", "c", "b", "a"]]),
            lambda m: measured(held[["d", "c", "b", "a"]][re.findall(r"\w", m["names"])]),
            name="eval_set")  # fmt: skip
        other = held.add_suffix("_later")
        row(
            "columns_are_known",
            r"name them so, in pandas X\.set_axis\(names, axis=1\)",
            lambda: measured(other),
            lambda m: measured(other.set_axis([*held], axis=1)),
        )


def sampled(share: float, rate: float) -> tuple[Any, Any, Any]:
    """Rows in some of which a rare event happens, how likely it is there, and which rows are kept
    if so many of the others are dropped."""
    own = np.random.default_rng(5)
    Z = own.normal(size=(3000, 2))
    p = expit(Z[:, 0] + logit(share))
    y = (own.random(3000) < p).astype(float)
    return Z, p, (y, own.random(3000) < np.where(y == 1, 1, rate))


def weights(lib: Library) -> None:
    """Weights that undo the sampling, or make classes alike, beside an objective that corrects."""
    Z, p, (y, kept) = sampled(0.1, 0.25)
    undo = np.where(y[kept] == 1, 1.0, 4.0)
    alike = np.where(y[kept] == 1, (y[kept] == 0).sum() / y[kept].sum(), 1.0)
    objective = go.offset_logloss_objective(0.25)

    def on(objective: Any, weight: Any = None) -> None:
        data = lib.data(Z[kept], y[kept], weight=weight)
        model = lib.plain(objective, data, 40, **start_of(lib, logit(y.mean())))
        found = expit(lib.predict(model, Z, raw=True))
        # .32 without a correction, .04 with two, .18 of classes that are alike; of 3,000 rows
        assert abs(found.mean() - p.mean()) < 0.02

    says = "leave one of the two out"
    row("weights_leave_the_rate_alone", says, lambda: suppressed(lambda: on(objective, undo)),
        lambda m: on(objective), lambda m: on(LOGLOSS, undo), name=lib)  # fmt: skip
    row("rate_is_of_the_frequent_class", says, lambda: suppressed(
        lambda: on(go.weighted_logloss_objective(0.25), undo)),
        lambda m: on(go.weighted_logloss_objective(0.25)), name=lib)  # fmt: skip
    row("weights_leave_the_rate_alone", "both count the same.*leave it out",
        lambda: suppressed(lambda: on(objective, alike)), lambda m: on(objective),
        name=f"alike {lib}")  # fmt: skip


def start_of(lib: Library, margin: Any) -> dict[str, float]:
    """Where boosting starts, in XGBoost."""
    return {"base_score": float(margin)} if lib is XGB else {}


def rates(lib: Library) -> None:
    """A rate beside labels whose rare event is 0, as LabelEncoder makes it of "fraud", "ok"."""
    Z, p, (y, kept) = sampled(0.05, 0.3)

    def on(y: Any, objective: Any = go.offset_logloss_objective(0.3), p: Any = p) -> None:  # noqa: B008
        start = start_of(lib, logit(p.mean()))
        model = lib.plain(objective, lib.data(Z[kept], y[kept]), 40, **start)
        assert abs(expit(lib.predict(model, Z, raw=True)).mean() - p.mean()) < 0.02

    words = np.where(y == 1, "fraud", "ok")
    codes = np.unique(words, return_inverse=True)[1].astype(float)
    row("rate_is_of_the_frequent_class", r"raise the rate if .*; if that class is rare make it "
        r"label 1: y == event \(words are in alphabetical order\)",
        lambda: suppressed(lambda: on(codes)), lambda m: on((words == "fraud").astype(float)),
        lambda m: own_rows(lib, Z[kept], codes[kept]), name=lib)  # fmt: skip


def own_rows(lib: Library, Z: Any, y: Any) -> None:
    """Rows that are all that there are, at a rate of 1."""
    share, objective = y.mean(), go.weighted_logloss_objective(1.0)
    model = lib.plain(objective, lib.data(Z, y), 40, **start_of(lib, logit(share)))
    assert abs(expit(lib.predict(model, Z, raw=True)).mean() - share) < 0.03


def own_metrics(lib: Library) -> None:
    """Metrics of the library's own, which would misread margins, by name and by default."""
    key = "eval_metric" if lib is XGB else "metric"
    name = "logloss" if lib is XGB else "binary_logloss"
    says = r"pass (?P<metric>weighted_logloss_metric)\(rate\), of rate 1 if no negatives"
    off = {"disable_default_eval_metric": True} if lib is XGB else {"metric": "None"}

    def right(m: Any, metric: Any = None, **given: Any) -> None:
        metric = metric or getattr(go, m["metric"])(1)
        found = train(lib, EVENTS, LOGLOSS, metric, **at_events(lib), **given)
        # XGBoost prints six digits
        assert found.values[-1] == pytest.approx(log_loss(EVENTS[TEST], expit(found.margin)),
                                                 abs=1e-5)  # fmt: skip

    def stopped(m: Any) -> None:
        stops(train(lib, EVENTS, LOGLOSS, getattr(go, m["metric"])(1), stop=5, **at_events(lib)))

    for stop in (None, 5):
        row("own_metrics_read_margins", says,
            lambda stop=stop: train(lib, EVENTS, LOGLOSS, stop=stop, **{key: name}),
            right, stopped, name=f"{'printed' if stop is None else 'stops'} {lib}")  # fmt: skip
        row("own_metrics_read_margins", says,
            lambda stop=stop: folds(lib, stop, **{key: name}), partial(of_folds, lib),
            name=f"cv {stop} {lib}")  # fmt: skip
    both_said = rf"{says}.*, and pass (?P<off>metric=\"None\"|disable_default_eval_metric=True)"
    if lib is XGB:
        row("own_metrics_read_margins", both_said,
            lambda: train(lib, EVENTS, LOGLOSS, stop=5), partial(right, **off), stopped,
            name="default xgboost")  # fmt: skip
        return
    callbacks = {"callbacks": [lgb.early_stopping(5, verbose=False)]}

    def in_fit(measured: Any = None, **given: Any) -> Any:
        model = LGB.make(plain=True, objective=LOGLOSS, n_estimators=ROUNDS, **given)
        return LGB.fit(model, X[TRAIN], EVENTS[TRAIN], [(X[TEST], EVENTS[TEST])], measured,
                       **callbacks)  # fmt: skip

    def of_fit(m: Any, measured: Any) -> None:
        model = in_fit(measured, **off)
        values = next(iter(model.evals_result_["valid_0"].values()))
        assert len(model.evals_result_["valid_0"]) == 1
        best = max(values) if measured == "auc" else min(values)
        assert values[model.best_iteration_ - 1] == best
        events(expit(model.predict(X[TEST], raw_score=True)))

    row("own_metrics_read_margins", both_said, in_fit,
        lambda m: of_fit(m, getattr(go, m["metric"])(1)), name="default lightgbm")  # fmt: skip
    row("own_metrics_read_margins", r"log-odds of label 1 .*: pass metric=\"None\"$",
        lambda: in_fit("auc"), lambda m: of_fit(m, "auc"), name="beside auc lightgbm")  # fmt: skip
    row("own_metrics_read_margins", r"log-odds of label 1 .*: pass metric=\"None\"$",
        lambda: in_fit(LOG_ODDS), lambda m: of_fit(m, LOG_ODDS),
        name="beside ours lightgbm")  # fmt: skip


def folds(lib: Library, stop: int | None, metric: Any = None, **given: Any) -> Any:
    """The library's cv of events, which may stop early."""
    data, more = lib.data(X, EVENTS), {"nfold": 3, "seed": 0}
    params = {**lib.params, **at_events(lib), **given}
    if lib is XGB:
        return xgb.cv(params, data, ROUNDS, obj=LOGLOSS, custom_metric=metric,
                      early_stopping_rounds=stop, as_pandas=False, **more)  # fmt: skip
    callbacks = [] if stop is None else [lgb.early_stopping(stop, verbose=False)]
    params = {**({} if metric is None else {"metric": "None"}), **params, "objective": LOGLOSS}
    return lgb.cv(params, data, ROUNDS, feval=metric, callbacks=callbacks, **more)


def of_folds(lib: Library, m: Any) -> None:
    """Its best log loss is nearly that of the true model on other rows."""
    metric = getattr(go, m["metric"])(1)
    found = folds(lib, 5, metric)[lib.mean.format(metric.name)]
    assert abs(min(found) - good_odds()[0]) < 0.1


def links(lib: Library) -> None:
    """Metrics of ours for another kind of margin than what the objective trains."""

    def loss_of(y: Any, objective: Any, metric: Any, right: Any, **given: Any) -> None:
        found = train(lib, y, objective, metric, **given)
        # XGBoost prints six digits; LightGBM gets float64 margins
        assert found.values[-1] == pytest.approx(right(found.margin), abs=1e-5)

    def told(by: str, y: Any, objective: Any, wrong: Any, says: str, *typed: Any,
             name: str, **given: Any) -> None:  # fmt: skip
        for stop in (None, 5):
            row(by, says, partial(train, lib, y, objective, wrong, stop=stop, **given), *typed,
                 name=f"{name} {stop} {lib}")  # fmt: skip

    def of_events(m: Any) -> None:
        loss_of(EVENTS, LOGLOSS, getattr(go, m["metric"])(1),
                lambda f: log_loss(EVENTS[TEST], expit(f)), **at_events(lib))  # fmt: skip

    def of_sampled(m: Any) -> None:
        w = np.where(EVENTS[TEST] == 1, 1.0, 1 / 0.8)
        right = lambda f: log_loss(EVENTS[TEST], expit(f), sample_weight=w)  # noqa: E731
        objective = go.weighted_logloss_objective(0.8)
        loss_of(EVENTS, objective, getattr(go, m["metric"])(0.8), right, **at_events(lib))

    says = (
        r"pass (?P<metric>weighted_logloss_metric)\(rate\), of rate 1 if no negatives were dropped"
    )
    guard = "metric_reads_link"
    told(guard, EVENTS, LOGLOSS, KAPPA, says, of_events, of_sampled, name="kappa of log-odds",
         **at_events(lib))  # fmt: skip
    told(guard, EVENTS, LOGLOSS, OF_PROBABILITY, 'make it with input_space="margin"$',
         lambda m: loss_of(EVENTS, LOGLOSS, go.weighted_logloss_metric(1.0, input_space="margin"),
                           lambda f: log_loss(EVENTS[TEST], expit(f)), **at_events(lib)),
         name="of probabilities", **at_events(lib))  # fmt: skip
    told(guard, NEAR, QWK, LOG_ODDS, r"pass extended_qwk_metric\(\) or squared_error_metric\(\)",
         lambda m: loss_of(NEAR, QWK, ERROR, lambda f: np.mean((f - NEAR[TEST]) ** 2)),
         lambda m: rises(train(lib, NEAR, QWK, go.extended_qwk_metric()).values),
         name="log-odds of scores")  # fmt: skip
    told(guard, GRADES, OF_CLASSES, LOG_ODDS, r"pass class_logloss_metric\(\)",
         lambda m: measured_classes(lib, OF_CLASSES, "margin", **FIVE), name="of classes",
         **FIVE)  # fmt: skip
    focal = go.focal_objective(1.0)

    def of_focal(m: Any) -> None:
        found = train(lib, EVENTS, focal, go.loss_metric(focal), stop=8, **at_events(lib))
        stops(found)
        events(focal.class_probability(found.margin))

    told(guard, EVENTS, focal, LOG_ODDS, r"pass loss_metric\(objective\)", of_focal, name="focal",
         **at_events(lib))  # fmt: skip
    counted = poisson_objective()
    told(guard, COUNTS, counted, ERROR, r"pass loss_metric\(objective\)",
         lambda m: counts(np.exp(train(lib, COUNTS, counted, go.loss_metric(counted), stop=8)
                                 .margin)), name="counts")  # fmt: skip


def stopping(lib: Library) -> None:
    """Early stopping on rows that are trained on, or are not there."""
    if lib is LGB:

        def on(rows: slice) -> None:
            stops(train(LGB, NEAR, QWK, KAPPA, held_out=rows, stop=8))

        row("stops_on_held_out", "pass held-out rows", lambda: suppressed(lambda: on(TRAIN)),
            lambda m: on(TEST), name="copy lightgbm")  # fmt: skip
        return

    def on_sets(*order: str, **given: Any) -> None:
        data, held = XGB.data(X[TRAIN], NEAR[TRAIN]), XGB.data(X[TEST], NEAR[TEST])
        sets = {"train": data, "valid": held, "copy": XGB.data(X[TRAIN], NEAR[TRAIN])}
        evals = [(sets[name], name) for name in order]
        given = given or {"early_stopping_rounds": 8}
        booster = xgb.train(XGB.params, data, ROUNDS, obj=QWK, custom_metric=KAPPA, evals=evals,
                            verbose_eval=False, **given)  # fmt: skip
        assert booster.best_iteration > 3
        grades(XGB, XGB.predict(booster, X[TEST], raw=True), NEAR)

    named = lambda name: {"callbacks": [xgb.callback.EarlyStopping(rounds=8, data_name=name)]}  # noqa: E731
    right = lambda m: on_sets("train", "valid")  # noqa: E731
    row("stops_on_held_out", "put held-out data last", lambda: on_sets("valid", "train"), right,
        name="train")  # fmt: skip
    row("stops_on_held_out", "pass held-out rows",
        lambda: suppressed(lambda: on_sets("valid", "copy")), right, name="copy")  # fmt: skip
    row("stops_on_held_out", "give one of these names", lambda: on_sets("valid", **named("test")),
        lambda m: on_sets("valid", **named("valid")), name="name")  # fmt: skip
    twice = xgb.XGBRegressor(
        **{**XGB.estimator, "n_estimators": ROUNDS}, objective=QWK, eval_metric=KAPPA,
        early_stopping_rounds=8,
    )  # fmt: skip
    Z, y, held = X[TRAIN], NEAR[TRAIN], (X[TEST], NEAR[TEST])

    def in_fit(*sets: Any) -> None:
        model = twice.fit(Z, y, eval_set=[*sets], verbose=False)
        grades(XGB, model.predict(X[TEST]), NEAR)

    row("stops_on_held_out", "put held-out data last", lambda: in_fit(held, (Z, y)),
        lambda m: in_fit((Z, y), held), name="fit")  # fmt: skip


def weights_of_classes(lib: Library) -> None:
    """Parameters that weigh or draw the rows of classes."""
    wrong = {"xgboost": [{"scale_pos_weight": 2.0}], "lightgbm": [
        {"scale_pos_weight": 2.0}, {"unbalance": True}, {"neg_bagging_fraction": 0.5,
                                                         "bagging_freq": 1}]}  # fmt: skip
    start = at_events(lib)

    def weighed(m: Any) -> None:
        """As the library's own objective with the same weight."""
        w = np.where(EVENTS[TRAIN] == 1, 2.0, 1.0)
        data = lib.data(X[TRAIN], EVENTS[TRAIN], weight=w)
        found = expit(lib.predict(lib.plain(LOGLOSS, data, ROUNDS, **start), X[TEST], raw=True))
        own = {"objective": BINARY[lib.name], "scale_pos_weight": 2.0}
        own |= {"base_score": float(expit(start["base_score"]))} if start else {
            "boost_from_average": False}  # fmt: skip
        model = lib.built_in(own, lib.data(X[TRAIN], EVENTS[TRAIN]), ROUNDS)
        # XGBoost puts its bins where the weights are, but not where scale_pos_weight is
        assert abs(found.mean() - lib.predict(model, X[TEST]).mean()) < 0.02

    def drawn(m: Any) -> None:
        kept = getattr(go, m["draw"])(EVENTS[TRAIN].astype(int), 0.7, random_state=0)
        data = lib.data(X[TRAIN][kept], EVENTS[TRAIN][kept])
        model = lib.plain(go.offset_logloss_objective(0.7), data, 20, **start)
        events(expit(lib.predict(model, X[TEST], raw=True)))

    for given in wrong[lib.name]:
        row("class_weights_are_heeded", r"leave it out; .*by weight= of the data, or sample_weight="
            r" of fit, .* by (?P<draw>negative_downsample)\(y, rate\)",
            lambda given=given: train(lib, EVENTS, LOGLOSS, **given),
            lambda m: events(expit(train(lib, EVENTS, LOGLOSS, **start).margin)), weighed, drawn,
            name=f"{next(iter(given))} {lib}")  # fmt: skip


def starts_of_rows(lib: Library) -> None:
    """A start of each row, on some sets only, or the same in all."""
    by_row, argument = X[:, 0] / 2, "base_margin" if lib is XGB else "init_score"

    def on(own: Any, held: Any, **given: Any) -> None:
        data = lib.data(X[TRAIN], NEAR[TRAIN], start=own)
        rows = lib.data(X[TEST], NEAR[TEST], start=held, reference=data)
        params = {**lib.params, **given}
        if lib is XGB:
            booster = xgb.train(params, data, ROUNDS, obj=QWK, evals=[(rows, "v")],
                                custom_metric=KAPPA, verbose_eval=False)  # fmt: skip
            found = booster.predict(rows, output_margin=True)
        else:
            params = {"metric": "None", **params, "objective": QWK}
            booster = lgb.train(params, data, ROUNDS, valid_sets=[rows], feval=KAPPA)
            found = booster.predict(X[TEST]) + (0 if held is None else held)
        grades(lib, found, NEAR)

    row("rows_start_alike", f"{argument} is set on .* but not on .*: set it on all or on none",
        lambda: on(by_row[TRAIN], None), lambda m: on(None, None),
        lambda m: on(by_row[TRAIN], by_row[TEST]), name=f"train {lib}")  # fmt: skip

    def in_fit(y: Any, start: Any, by: Any = None, **given: Any) -> None:
        model = lib.make(plain=True, objective=QWK, n_estimators=ROUNDS, **given)
        if by is not None:
            model = by(**{**lib.estimator, "n_estimators": ROUNDS, "objective": QWK})
        more = {} if start is None else {argument: np.full(400, start)}
        grades(lib, model.fit(X[TRAIN], y[TRAIN], **more).predict(X[TEST]), y)

    out = "so that predict leaves it out: "
    ours_says = rf"import train or the estimator from {ROOM}, and leave it out: boosting then start"
    number = rf"{out}leave it out and pass base_score=(?P<at>[-.\de]+), or {ours_says}"
    kind, by_number = f"{lib.prefix}Regressor", []
    if lib is XGB:
        by_number = [lambda m: in_fit(FAR, None, base_score=float(m["at"]))]
    row("start_stays_in_the_model", number if lib is XGB else out + ours_says,
        lambda: suppressed(lambda: in_fit(FAR, 22.0)), *by_number,
        lambda m: in_fit(FAR, None, by=ours(m, kind)), name=f"fit {lib}")  # fmt: skip
    if lib is LGB:
        return

    def in_train(start: Any, by: Any = None, **given: Any) -> None:
        rows = xgb.DMatrix(X[TRAIN], FAR[TRAIN])
        if start is not None:
            rows.set_base_margin(np.full(400, start))
        if by is not None:
            booster = by(XGB.params, rows, ROUNDS, objective=QWK)
        else:
            booster = xgb.train({**XGB.params, **given}, rows, ROUNDS, obj=QWK)
        grades(XGB, XGB.predict(booster, X[TEST], raw=True), FAR)

    row("start_stays_in_the_model", number, lambda: suppressed(lambda: in_train(22.0)),
        lambda m: in_train(None, base_score=float(m["at"])),
        lambda m: in_train(None, by=ours(m, "train")), name="train xgboost")  # fmt: skip
    row("starts_near_intercept", r"leave base_margin out, and pass base_score=(?P<at>[-.\de]+), or "
        + ITS_OWN, lambda: suppressed(lambda: in_train(2.0)),
        lambda m: in_train(None, base_score=float(m["at"])),
        lambda m: in_train(None, by=ours(m, "train")), name="base_margin")  # fmt: skip


def lightgbms_names() -> None:
    """What LightGBM measures beside ours, and names that it leaves out."""
    callbacks = {"callbacks": [lgb.early_stopping(8, verbose=False)]}

    def in_fit(measured: Any = KAPPA, **given: Any) -> None:
        model = LGB.make(plain=True, objective=QWK, n_estimators=ROUNDS, **given)
        LGB.fit(model, X[TRAIN], NEAR[TRAIN], [(X[TEST], NEAR[TEST])], measured, **callbacks)
        values = model.evals_result_["valid_0"]["qwk"]
        assert max(values) == values[model.best_iteration_ - 1]
        rises(values)

    def in_train(stop: int = 8, **given: Any) -> None:
        params, data = {**LGB.params, **given}, LGB.data(X[TRAIN], NEAR[TRAIN])
        held = LGB.data(X[TEST], NEAR[TEST], reference=data)
        booster = lgb.train(params, data, ROUNDS, feval=KAPPA, valid_sets=[held],
                            **callbacks)  # fmt: skip
        grades(LGB, booster.predict(X[TEST]), NEAR)

    says = r"looks at 'l2' too, LightGBM's default, .*: pass metric=\"None\"$"
    row("stops_on_ours_alone", says, lambda: suppressed(in_fit),
        lambda m: in_fit(metric="None"), name="fit")  # fmt: skip
    row("stops_on_ours_alone", says, lambda: suppressed(lambda: in_train(objective="regression")),
        lambda m: in_train(objective="regression", metric="None"), name="train")  # fmt: skip
    kappa_says = r"'qwk' is not a metric of LightGBM, .*: pass (?P<metric>qwk_metric)\(\.\.\.\)"
    row("metrics_are_known", kappa_says, lambda: in_fit("qwk"),
        lambda m: in_fit(getattr(go, m["metric"])(), metric="None"), name="fit")  # fmt: skip
    row("metrics_are_known", kappa_says, lambda: in_train(objective=QWK, metric="qwk"),
        lambda m: in_train(objective=QWK, metric="None"), name="train")  # fmt: skip
    row("metrics_are_known", kappa_says,
        lambda: cv(LGB, NEAR, QWK, KAPPA, metrics="qwk"),
        lambda m: rises(cv(LGB, NEAR, QWK, KAPPA)), name="cv")  # fmt: skip


def functions(lib: Library) -> None:
    """A user's gradient function."""

    def trains(own: Any) -> None:
        grades(lib, train(lib, NEAR, go.objective(own)).margin, NEAR)

    def right(y: Any, f: Any, w: Any) -> Any:
        w = np.ones(len(y)) if w is None else w
        return w * (f - y), w

    row("gradient_hessian", "use an upper bound or a constant instead",
        lambda: trains(lambda y, f, w: (f - y, np.zeros_like(f))), lambda m: trains(right),
        name=lib)  # fmt: skip


for one in LIBRARIES:
    for rows_of in (
        far_starts, misread_margins, metrics_of_another_unit, kappa_as_a_metric, several_columns,
        labels_and_classes, forms, rows_and_columns, weights, rates, own_metrics, links, stopping,
        weights_of_classes, starts_of_rows, functions,
    ):  # fmt: skip
        rows_of(one)
a_rare_start()
directions()
functions_that_stop()
earlier_models()
lightgbms_names()


# --- the tests


def said_by(call: Callable[[], object]) -> list[tuple[str, set[str]]]:
    """What a call says, as an error or a warning, and the functions that stand above."""
    found: list[tuple[str, set[str]]] = []

    def show(message: Any, *where: Any) -> None:
        frame, names = sys._getframe(1), set[str]()
        while frame is not None:
            names.add(frame.f_code.co_name)
            frame = frame.f_back  # type: ignore[assignment]
        found.append((str(message), names))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        try:
            call()
        except (ValueError, TypeError) as error:
            at, names = error.__traceback__, set[str]()
            while at is not None:
                names.add(at.tb_frame.f_code.co_name)
                at = at.tb_next
            found.append((str(error), names))
    return found


@pytest.mark.parametrize("one", ROWS, ids=lambda one: one.name)
def test_what_a_plain_call_says_trains_when_typed(one: Row) -> None:
    told = said_by(one.call)
    matches = [(re.search(one.says, text), names) for text, names in told]
    found = [match for match, names in matches if match and one.by in names]
    assert found, told
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The argument 'eval_set' is deprecated")
        for typed in one.typed:
            typed(found[0])


ELSEWHERE = {
    "sums_are_of_all_rows": "is of workers: tests/distributed",
    "metric_sees_all_rows": "is of workers: tests/distributed",
    "earlier_model_fits": "is of models that LightGBM refuses before it calls anybody",
}
"""Guards that a plain call on one machine asks, and that have nothing to say there."""


def test_each_guard_that_a_plain_call_asks_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new guard, or one that plain calls ask from now on, needs a row."""
    asked = set()

    def told(value: Any, guard: Any) -> None:
        asked.add(guard.name)

    for guard in [guard for kind in (Training, Layout) for guard in kind.guards]:
        monkeypatch.setattr(guard, "function", partial(told, guard=guard))
    for lib in LIBRARIES:
        train(lib, NEAR, QWK, KAPPA, stop=3)
        cv(lib, NEAR, QWK, KAPPA)
        for classifier in ("Regressor", "Classifier"):
            fit(lib, EVENTS, KAPPA, objective=LOGLOSS, role=classifier, n_estimators=2)
        own = lib.built_in({}, lib.data(X, NEAR), 2)
        given = {lib.earlier: own}
        if lib is XGB:
            xgb.train(lib.params, lib.data(X, NEAR), 2, obj=QWK, **given)
        else:
            lgb.train({**lib.params, "objective": QWK}, lib.data(X, NEAR), 2, **given)
    assert {"starts_near_intercept", "metric_reads_predictions"} < asked
    missing = asked - {one.by for one in ROWS} - set(ELSEWHERE)
    assert not missing, " ".join(missing)
