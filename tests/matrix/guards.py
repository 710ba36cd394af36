"""Two tables, guards and doors, which ``test_guards.py`` crosses.

A guard is a situation in which a model would silently be wrong, said once as data, and what is
right there, found without the package. A door is a way in which an objective, a metric or a rule
reaches a model. In each cell the call is right, or refused with a remedy (a start that is far may
warn), or it does not apply there, because ... What still falls short is in ``KNOWN``.

``python -m tests.matrix.guards`` prints the cells and counts them.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from tempfile import TemporaryDirectory
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from scipy.special import expit
from sklearn.metrics import cohen_kappa_score

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as our_lightgbm, xgboost as our_xgboost
from tests.matrix.tables import (
    LIBRARIES_OWN,
    REMEDY,
    Array,
    logistic,
    logistic_loss,
    of_classes,
    of_classes_loss,
    raised_in,
    squared_error,
)

N, TRAIN = 900, slice(0, 600)
TEST = slice(600, N)
rng = np.random.default_rng(1)
X = rng.random((N, 4))
GRADES = np.digitize(X[:, :3].sum(1) + rng.normal(0, 0.3, N), [0.9, 1.3, 1.7, 2.1]).astype(float)
RARE = (rng.random(N) < 0.02).astype(float)
EVENTS = (rng.random(N) < expit(4 * X[:, 0] - 2)).astype(float)
ALIKE = np.where(RARE == 1, (RARE[TRAIN] == 0).sum() / RARE[TRAIN].sum(), 1.0)
HEAVY = np.where(GRADES > 2, 20.0, 1.0)


@dataclass(frozen=True, eq=False)
class Call:
    """What is given at a door, whatever its arguments are called."""

    y: Array
    objective: Any = None
    weight: Array | None = None
    metric: Any = None
    stops: bool = False
    default: bool = False  # whether a plain call leaves on what its library measures by default
    on_own: bool = False  # whether evaluation is of the rows that are trained on
    start: Array | None = None  # of each row
    lone: bool = False  # whether the rows of evaluation have none
    rate: float = 0.3
    rounds: int = 20
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by library
    earlier: Callable[[str], Any] | None = None  # a model to train on from, by library
    order: Any = None  # of the labels, where decisions are placed
    is_class: bool = False
    outputs: int = 1

    @property
    def held(self) -> slice:
        return TRAIN if self.on_own else TEST

    @property
    def measures(self) -> bool:
        return self.metric is not None or self.stops

    def of(self, library: str) -> dict[str, Any]:
        return dict(self.params.get(library, {}))


@dataclass(frozen=True)
class Outcome:
    """What came out: predictions of all rows in natural units, the best round, a value that was
    reported for the metric at the last round, of which margins."""

    natural: Array | None = None
    best: int | None = None
    reported: float | None = None
    margin: Array | None = None


# --- doors


@dataclass(frozen=True, eq=False)
class Door:
    name: str
    kind: str
    library: str
    enter: Callable[[Call], Outcome]

    def __repr__(self) -> str:
        return self.name


PATIENCE = 8
XGB = {"max_depth": 3, "nthread": 1, "verbosity": 0}
LGB = {"num_leaves": 7, "num_threads": 1, "verbose": -1, "min_data_in_leaf": 5}
OURS = {"xgboost": our_xgboost, "lightgbm": our_lightgbm}
STEPS, STEP = {"xgboost": XGB, "lightgbm": LGB}, {"xgboost": "eta", "lightgbm": "learning_rate"}


def flat(values: Any) -> Array:
    """The probability of label 1 of two classes, (n,)."""
    p = np.asarray(values)
    return p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p


def start_at(call: Call, at: slice) -> Array | None:
    return None if call.start is None or (call.lone and at.start) else call.start[at]


def rows_of(library: str, call: Call, at: slice, reference: Any = None) -> Any:
    w, start = None if call.weight is None else call.weight[at], start_at(call, at)
    if library == "xgboost":
        return xgb.DMatrix(X[at], call.y[at], weight=w, base_margin=start)
    return lgb.Dataset(X[at], call.y[at], weight=w, init_score=start, reference=reference,
                       free_raw_data=False)  # fmt: skip


def several(call: Call) -> dict[str, int]:
    return {"num_class": call.outputs} if call.outputs > 1 else {}


def our_train(library: str, call: Call) -> Outcome:
    adapter, data = OURS[library], rows_of(library, call, TRAIN)
    params = {**STEPS[library], STEP[library]: call.rate, **call.of(library)}
    given: dict[str, Any] = {}
    if call.metric is not None:
        given["evals"] = [(rows_of(library, call, call.held, data), "held_out")]
        given["metric"] = call.metric
    if call.stops:
        given["early_stopping_rounds"] = PATIENCE
    if call.earlier is not None:
        given["xgb_model" if library == "xgboost" else "init_model"] = call.earlier(library)
    booster = adapter.train(params, data, call.rounds, objective=call.objective, **given)
    predict = (lambda **k: booster.predict(xgb.DMatrix(X), **k)) if library == "xgboost" else (
        lambda **k: booster.predict(X, **k))  # fmt: skip
    best = None
    if call.stops:
        kept = booster.num_boosted_rounds if library == "xgboost" else booster.current_iteration
        best = kept() - 1
    return Outcome(flat(predict()), best)


def our_cv(library: str, call: Call) -> Outcome:
    adapter = OURS[library]
    params = {**STEPS[library], STEP[library]: call.rate, **call.of(library)}
    metric = call.metric or go.loss_metric(call.objective)
    given: dict[str, Any] = {"early_stopping_rounds": PATIENCE} if call.stops else {}
    given |= {"as_pandas": False} if library == "xgboost" else {"stratified": False}
    history = adapter.cv(params, rows_of(library, call, TRAIN), call.rounds, nfold=3,
                         objective=call.objective, metric=metric, **given)  # fmt: skip
    (means,) = (values for name, values in history.items()
                if name.endswith("-mean") and not name.startswith("train"))  # fmt: skip
    return Outcome(best=len(means) - 1)


def plain(library: str, call: Call) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of the library's own train or cv, and what it takes beside them."""
    named, given = isinstance(call.metric, str), {}
    function = None if named else call.metric
    if library == "xgboost":
        params = {**XGB, "eta": call.rate, **several(call), **call.of(library)}
        params |= {"eval_metric": call.metric} if named else {}
        given = {"obj": call.objective, "custom_metric": function, "verbose_eval": False}
        given |= {"early_stopping_rounds": PATIENCE} if call.stops else {}
        return params, given
    params = {**LGB, "learning_rate": call.rate, "objective": call.objective,
              **({} if call.default else {"metric": call.metric if named else "None"}),
              **several(call), **call.of(library)}  # fmt: skip
    given = {"feval": function}
    given["callbacks"] = [lgb.early_stopping(PATIENCE, verbose=False)] if call.stops else []
    return params, given


def native(library: str, call: Call) -> Outcome:
    """The library's own train."""
    data, (params, given) = rows_of(library, call, TRAIN), plain(library, call)
    held_out = rows_of(library, call, call.held, data)
    if call.earlier is not None:
        given["xgb_model" if library == "xgboost" else "init_model"] = call.earlier(library)
    if library == "xgboost":
        given |= {"evals": [(held_out, "v")]} if call.measures else {}
        booster = xgb.train(params, data, call.rounds, **given)
        margin = booster.predict(xgb.DMatrix(X), output_margin=True)
        return Outcome(natural_of(call, margin), booster.best_iteration if call.stops else None)
    given |= {"valid_sets": [held_out]} if call.measures else {}
    booster = lgb.train(params, data, call.rounds, **given)
    best = booster.best_iteration - 1 if call.stops else None
    return Outcome(natural_of(call, booster.predict(X, raw_score=True)), best)


def native_cv(library: str, call: Call) -> Outcome:
    """The library's own cv."""
    data, (params, given) = rows_of(library, call, TRAIN), plain(library, call)
    if library == "xgboost":
        history = xgb.cv(params, data, call.rounds, nfold=3, as_pandas=False, **given)
    else:
        history = lgb.cv(params, data, call.rounds, nfold=3, stratified=False, **given)
    means = [values for name, values in history.items() if name.endswith("-mean")]
    return Outcome(best=len(means[-1]) - 1 if means else None)


def natural_of(call: Call, margin: Any) -> Array:
    """As the author of a plain call would do it: margins are theirs to read."""
    link = getattr(call.objective, "link", None)
    return np.asarray(margin) if link is None else flat(link.inverse(np.asarray(margin, float)))


def estimator(ours: bool, library: str, call: Call, role: str = "Regressor") -> Outcome:
    role = "Classifier" if call.is_class and ours else role
    home = OURS[library] if ours else {"xgboost": xgb, "lightgbm": lgb}[library]
    kind = getattr(home, ("XGB" if library == "xgboost" else "LGBM") + role)
    parameters: dict[str, Any] = {"learning_rate": call.rate, "n_estimators": call.rounds,
                                  "n_jobs": 1, **call.of(library)}  # fmt: skip
    if not ours:
        parameters |= several(call)
    if call.objective is not None:
        parameters["objective"] = call.objective
    given: dict[str, Any] = {}
    y = call.y.astype(int) if role == "Classifier" and np.isfinite(call.y).all() else call.y
    w = None if call.weight is None else call.weight[TRAIN]
    starts = ("base_margin", "base_margin_eval_set")
    starts = starts if library == "xgboost" else ("init_score", "eval_init_score")
    if call.measures:
        given["eval_set"] = [(X[call.held], y[call.held])]
    if call.start is not None:
        given[starts[0]] = start_at(call, TRAIN)
    if call.measures and (held := start_at(call, call.held)) is not None:
        given[starts[1]] = [held]
    if library == "xgboost":
        parameters |= {"max_depth": 3, "verbosity": 0}
        parameters |= {} if call.metric is None else {"eval_metric": call.metric}
        parameters |= {"early_stopping_rounds": PATIENCE} if call.stops else {}
        given |= {"verbose": False} if call.measures else {}
    else:
        parameters |= {"num_leaves": 7, "verbose": -1, "min_child_samples": 5}
        parameters |= {} if ours or call.default else {"metric": "None"}
        given |= {} if call.metric is None else {"eval_metric": call.metric}
        if call.stops:
            given["callbacks"] = [lgb.early_stopping(PATIENCE, verbose=False)]
    if call.earlier is not None:
        given["xgb_model" if library == "xgboost" else "init_model"] = call.earlier(library)
    model = kind(**parameters).fit(X[TRAIN], y[TRAIN], sample_weight=w, **given)
    flag = {"output_margin": True} if library == "xgboost" else {"raw_score": True}
    best = None
    if call.stops:
        best = model.best_iteration if library == "xgboost" else model.best_iteration_ - 1
    reported = None
    if call.metric is not None:
        history = model.evals_result() if library == "xgboost" else model.evals_result_
        values = next(iter(history.values()), {})
        reported = list(values.values())[-1][-1] if values else None
    margin = model.predict(X, **flag)
    if not ours:
        return Outcome(natural_of(call, margin), best, reported, margin)
    natural = model.predict_proba(X) if role == "Classifier" else model.predict(X)
    return Outcome(flat(natural), best, reported, margin)


NEW = {
    "sklearn": ("HistGradientBoosting", {"max_leaf_nodes": 7, "early_stopping": False}),
    "catboost": ("CatBoost", {"depth": 3, "verbose": 0, "thread_count": 1,
                              "allow_writing_files": False}),
}  # fmt: skip
"""Libraries with estimators only: how these begin, and parameters of small ones."""


def new_estimator(library: str, call: Call) -> Outcome:
    """The drop-in estimator of a library whose boosters do not call us by themselves."""
    prefix, small = NEW[library]
    home = import_module(f"gbdt_objectives.adapters.{library}")
    kind = getattr(home, prefix + ("Classifier" if call.is_class else "Regressor"))
    rounds = "max_iter" if library == "sklearn" else "iterations"
    parameters = {**small, rounds: call.rounds, "learning_rate": call.rate, **call.of(library)}
    parameters |= {"objective": call.objective, "eval_metric": call.metric}
    y = call.y.astype(int) if call.is_class and np.isfinite(call.y).all() else call.y
    given: dict[str, Any] = {}
    if call.metric is not None and library == "sklearn":
        patience = PATIENCE if call.stops else call.rounds
        parameters |= {"early_stopping": True, "n_iter_no_change": patience, "tol": 0.0}
        if "X_val" in signature(kind.fit).parameters:  # else it splits rows off itself
            given = {"X_val": X[TEST], "y_val": y[TEST]}
    elif call.metric is not None:
        given["eval_set"] = (X[TEST], y[TEST])
        parameters |= {"early_stopping_rounds": PATIENCE} if call.stops else {}
    w = None if call.weight is None else call.weight[TRAIN]
    model = kind(**parameters).fit(X[TRAIN], y[TRAIN], sample_weight=w, **given)
    best = None
    if call.stops:
        best = (model.n_iter_ if library == "sklearn" else model.tree_count_) - 1
    reported = None
    if call.metric is not None and library == "sklearn":
        reported = float(-model.validation_score_[-1])  # of losses
    elif call.metric is not None:
        reported = model.evals_result_["validation"][call.metric.name][-1]
    fitting = import_module(f"{home.__name__}.estimators").LIBRARY.fitting
    natural = model.predict_proba(X) if call.is_class else model.predict(X)
    return Outcome(flat(natural), best, reported, fitting.margin(model, X=X))


def member(library: str, call: Call, **given: Any) -> Any:
    """A small estimator of the library for a classifier of ours to wrap."""
    classifies = given.pop("classifies", False)
    if library in NEW:
        prefix, small = NEW[library]
        package = "sklearn.ensemble" if library == "sklearn" else library
        kind = getattr(import_module(package), prefix + "Classifier" * classifies
                       + "Regressor" * (not classifies))  # fmt: skip
        rounds = {"max_iter": 20} if library == "sklearn" else {"iterations": 20}
        return kind(**small, **rounds, **given)
    if library == "xgboost":
        kind = xgb.XGBClassifier if classifies else xgb.XGBRegressor
        return kind(n_estimators=20, max_depth=3, n_jobs=1, verbosity=0, **given)
    kind = lgb.LGBMClassifier if classifies else lgb.LGBMRegressor
    return kind(n_estimators=20, num_leaves=7, n_jobs=1, verbose=-1, **given)


def qwk_classifier(library: str, call: Call) -> Outcome:
    model = go.QWKClassifier(member(library, call, **call.of(library)), cv=3, labels=call.order)
    model.fit(X[TRAIN], grades(call)[TRAIN], sample_weight=taken(call.weight))
    return Outcome(np.asarray(model.predict(X), float))


def downsampled_classifier(library: str, call: Call) -> Outcome:
    inside = member(library, call, classifies=True, **call.of(library))
    model = go.DownsampledClassifier(inside, 0.2, random_state=0)
    model.fit(X[TRAIN], call.y[TRAIN].astype(int), sample_weight=taken(call.weight))
    return Outcome(model.predict_proba(X)[:, 1])


def threshold_classifier(_: str, call: Call) -> Outcome:
    model = go.ThresholdClassifier("exact", labels=call.order)
    score = X[:, :3].sum(1)
    model.fit(score[TRAIN], grades(call)[TRAIN], sample_weight=taken(call.weight))
    return Outcome(np.asarray(model.predict(score), float))


def thresholds(_: str, call: Call) -> Outcome:
    score, order = X[:, :3].sum(1), call.order
    w = taken(call.weight)
    t = go.optimize_thresholds(grades(call)[TRAIN], score[TRAIN], labels=order, sample_weight=w)
    return Outcome(np.asarray(go.apply_thresholds(score, t), float))


def sampling(_: str, call: Call) -> Outcome:
    kept = go.negative_downsample(call.y.astype(int), 0.2, random_state=0)
    return Outcome(call.y[kept])


def shifted(library: str, call: Call) -> Outcome:
    """A rate on a trained model of the library's own objective of numbers."""
    if library == "xgboost":
        data = xgb.DMatrix(X, call.y)
        moved = go.shift_intercept(xgb.train(XGB, data, 20), negative_keep_rate=0.1)
        return Outcome(moved.predict(data))
    params = {**LGB, "objective": "regression"}
    booster = lgb.train(params, lgb.Dataset(X, call.y), 20)
    return Outcome(go.shift_intercept(booster, negative_keep_rate=0.1).predict(X))


def grades(call: Call) -> Array:
    return call.y.astype(int) if np.isfinite(call.y).all() else call.y


def served(library: str, call: Call) -> Outcome:
    """A folder of a model, asked for the same rows with their columns in another order."""
    table = pd.DataFrame(X, columns=list("pqrs"))
    if library == "xgboost":
        data = xgb.DMatrix(table[TRAIN], call.y[TRAIN])
        model: Any = xgb.train({**XGB, "eta": 0.3}, data, 20)
    else:
        rows = lgb.Dataset(table[TRAIN], call.y[TRAIN])
        model = lgb.train({**LGB, "objective": "regression"}, rows, 20)
    with TemporaryDirectory() as folder:
        go.serving.export(model, f"{folder}/served", table)
        loaded = go.serving.load(f"{folder}/served")
        return Outcome(np.asarray(loaded.predict(table[["s", "r", "q", "p"]]), float))


class Refused(ValueError):
    """What the command line says."""


def command(_: str, call: Call) -> Outcome:
    """Thresholds of a file of grades and scores, a grade of which is missing."""
    from tests.commands import run

    words = np.where(np.arange(N) == 7, "NA", call.y.astype(int).astype(str))
    table = pd.DataFrame({"y": words, "p": X[:, :3].sum(1)})
    with TemporaryDirectory() as folder:
        path = f"{folder}/grades.csv"
        table.to_csv(path, index=False)
        done = run(f"thresholds '{path}' --label y --score p --labels NA,0,1,2,3,4")
    if done.exit_code:
        raise Refused(done.stderr.strip())
    return Outcome(np.array([len(done.stdout)]))


CLIENT: list[Any] = []
"""The Dask client of the test that runs."""


def ignores_weights(y: Array, f: Array, w: Any) -> Any:
    return f - y, np.ones_like(f)


def of_minus_the_loss(y: Array, f: Array, w: Any) -> Any:
    return y - f, np.ones_like(f)


def in_parts(values: Array) -> Any:
    from dask import array

    return array.from_array(values, (200, *values.shape[1:]))


def dask_train(library: str, call: Call) -> Outcome:
    from xgboost.dask import DaskDMatrix

    from gbdt_objectives.distributed.dask import train

    def rows(at: slice) -> Any:
        w = None if call.weight is None else in_parts(call.weight[at])
        start = None if (own := start_at(call, at)) is None else in_parts(own)
        return DaskDMatrix(
            CLIENT[0], in_parts(X[at]), in_parts(call.y[at]), weight=w, base_margin=start
        )

    given: dict[str, Any] = {"early_stopping_rounds": PATIENCE} if call.stops else {}
    if call.metric is not None:
        given |= {"metric": call.metric, "evals": [(rows(TEST), "held_out")]}
    params = {**XGB, "eta": call.rate, **call.of(library)}
    booster = train(CLIENT[0], params, rows(TRAIN), call.rounds, objective=call.objective, **given)
    best = booster.num_boosted_rounds() - 1 if call.stops else None
    return Outcome(flat(booster.predict(xgb.DMatrix(X))), best)


def dask_estimator(library: str, call: Call) -> Outcome:
    from gbdt_objectives.distributed import dask as ours

    kind = ours.DaskXGBClassifier if call.is_class else ours.DaskXGBRegressor
    y = call.y.astype(int) if call.is_class and np.isfinite(call.y).all() else call.y
    parameters: dict[str, Any] = {"learning_rate": call.rate, "n_estimators": call.rounds,
                                  "max_depth": 3, "objective": call.objective,
                                  "eval_metric": call.metric}  # fmt: skip
    parameters |= {"early_stopping_rounds": PATIENCE} if call.stops else {}
    given: dict[str, Any] = {}
    if call.metric is not None:
        given["eval_set"] = [(in_parts(X[TEST]), in_parts(y[TEST]))]
    w = None if call.weight is None else in_parts(call.weight[TRAIN])
    if call.start is not None:
        given["base_margin"] = in_parts(call.start[TRAIN])
    model = kind(**parameters, **call.of(library))
    model.client = CLIENT[0]
    model.fit(in_parts(X[TRAIN]), in_parts(y[TRAIN]), sample_weight=w, **given)
    everything = in_parts(X)
    natural = model.predict_proba(everything) if call.is_class else model.predict(everything)
    values = next(iter(model.evals_result().values()), {}) if given else {}
    return Outcome(
        flat(natural.compute()), model.best_iteration if call.stops else None,
        list(values.values())[-1][-1] if values else None,
        model.predict(everything, output_margin=True).compute(),
    )  # fmt: skip


def taken(w: Array | None) -> Array | None:
    return None if w is None else w[TRAIN]


DOORS = [
    *(Door(f"{library}-{name}", kind, library, partial(enter, library))
      for library in ("xgboost", "lightgbm")
      for name, kind, enter in (
          ("train", "train", our_train), ("cv", "cv", our_cv),
          ("our-estimator", "estimator", partial(estimator, True)),
          ("native", "native", native),
          ("native-cv", "native-cv", native_cv),
          ("own-estimator", "native-estimator", partial(estimator, False)),
          ("own-classifier", "native-classifier", partial(estimator, False, role="Classifier")),
          ("QWKClassifier", "wrapped-numbers", qwk_classifier),
          ("DownsampledClassifier", "wrapped-classes", downsampled_classifier),
          ("shift_intercept", "edit", shifted), ("load", "served", served),
      )),
    *(Door(f"{library}-{name}", kind, library, partial(enter, library))
      for library in NEW if library == "sklearn" or find_spec(library)
      for name, kind, enter in (
          ("our-estimator", "estimator", new_estimator),
          ("QWKClassifier", "wrapped-numbers", qwk_classifier),
          ("DownsampledClassifier", "wrapped-classes", downsampled_classifier),
      )),
    Door("ThresholdClassifier", "decisions", "", partial(threshold_classifier, "")),
    Door("optimize_thresholds", "decisions", "", partial(thresholds, "")),
    Door("negative_downsample", "sampling", "", partial(sampling, "")),
    Door("command line", "command", "", partial(command, "")),
]  # fmt: skip
SLOW = [
    Door("dask-train", "train", "xgboost", partial(dask_train, "xgboost")),
    Door("dask-estimator", "estimator", "xgboost", partial(dask_estimator, "xgboost")),
]
KINDS = {door.kind for door in DOORS}


# --- guards


@dataclass(frozen=True, eq=False)
class Guard:
    """A situation, and what is right in it. Each kind of door is in ``at``, or has a reason in
    ``not_at``."""

    name: str
    call: Call
    right: Callable[[Outcome, Call], bool]
    at: set[str]
    not_at: Mapping[str, str]
    libraries: tuple[str, ...] = ("xgboost", "lightgbm", *NEW, "")
    why_not: str = ""  # of the other library
    warns: str = "$^"  # what a warning says that counts as a refusal
    unless: Mapping[str, str] = field(default_factory=dict)  # reasons of single doors

    def __repr__(self) -> str:
        return self.name

    def reason(self, door: Door) -> str | None:
        """Why it does not apply at a door; None if it does."""
        if door.kind not in self.at:
            return self.not_at[door.kind]
        if door.library not in self.libraries:
            return self.why_not
        return self.unless.get(door.name)


def never(found: Outcome, call: Call) -> bool:
    return False


def level(tolerance: float) -> Callable[[Outcome, Call], bool]:
    """The mean prediction of the training rows is their mean label, weighted as they are."""

    def right(found: Outcome, call: Call) -> bool:
        if found.natural is None:  # of cv
            return False
        mean = np.average(call.y[TRAIN], weights=taken(call.weight))
        return bool(abs(np.average(found.natural[TRAIN], weights=taken(call.weight)) - mean)
                    < tolerance)  # fmt: skip

    return right


def finished(found: Outcome, call: Call) -> bool:
    """Kappa of held-out rows goes on rising for some rounds."""
    return found.best is not None and found.best > 5


def kappa_is_high(found: Outcome, call: Call) -> bool:
    grades = np.clip(np.rint(np.asarray(found.natural)), 0, 4).astype(int)
    return cohen_kappa_score(call.y[TEST].astype(int), grades[TEST], weights="quadratic") > 0.7


def heavy_grades_count(found: Outcome, call: Call) -> bool:
    """Grades 3 and 4 count twenty times, so decisions are higher than the labels."""
    return bool(np.asarray(found.natural).mean() > call.y.mean() + 0.1)


def reports_margins(found: Outcome, call: Call) -> bool:
    """The log loss that is reported is that of the probabilities."""
    if found.reported is None or found.margin is None:
        return False
    s = (2 * call.y[TEST] - 1) * np.asarray(found.margin, float)[TEST]
    return bool(abs(found.reported - np.logaddexp(0, -s).mean()) < 1e-4)  # printed with 5 digits


def reports_probabilities(found: Outcome, call: Call) -> bool:
    """The root mean squared error that is reported is that of the probabilities."""
    if found.reported is None:
        return False
    p, y = np.asarray(found.natural)[TEST], call.y[TEST]
    return bool(abs(found.reported - np.sqrt(((p - y) ** 2).mean())) < 1e-4)


def share_of_the_second(found: Outcome, call: Call) -> bool:
    """Of two classes, the mean probability of the second is its share."""
    if found.natural is None:
        return False
    return bool(abs(np.asarray(found.natural)[TRAIN].mean() - (call.y[TRAIN] == 2).mean()) < 0.02)


def most_are_kept(found: Outcome, call: Call) -> bool:
    """The rare class keeps its rows."""
    rare = 0.0 if call.y.mean() > 0.5 else 1.0
    return int((found.natural == rare).sum()) == int((call.y == rare).sum())


def same_as_in_order(found: Outcome, call: Call) -> bool:
    """Squared error learns these grades, which features in another order do not."""
    return bool(np.corrcoef(np.asarray(found.natural), call.y)[0, 1] > 0.8)


def is_moved(found: Outcome, call: Call) -> bool:
    return abs(np.asarray(found.natural).mean() - call.y.mean()) < 0.1


def unweighted(y: Array, f: Array) -> tuple[Array, Array]:
    return f - y, np.ones_like(f)


def swapped(y_pred: Array, y_true: Array) -> tuple[Array, Array]:
    return unweighted(y_true, y_pred)


def plain_kappa(y: Array, f: Array) -> Any:
    return cohen_kappa_score(y, np.clip(np.rint(f), 0, 4).astype(int), weights="quadratic")


@cache
def forest(library: str) -> lgb.Booster:
    params = {**LGB, "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}
    return lgb.train({**params, "objective": "regression"}, lgb.Dataset(X, GRADES), 50)


PLAIN = {"native", "native-cv", "native-estimator", "native-classifier"}
"""The library's own train, cv, regressor and classifier."""
TRAINS = {"train", "estimator", *PLAIN} - {"native-cv"}
CV = {"cv", "native-cv"}
OF_WRAPPED = "the wrapped estimator is trained by our fit, whose cell is the estimator's"
NO_TRAINING = "no booster is trained there"
NO_EDIT = "a trained model is edited there"
NO_PREDICTION = "cv gives no model whose predictions could be looked at; it shares train's checks"
THEIRS = "a function, name or parameter of the library's own in its own call: nobody asks us"
NOT_PROBED = dict.fromkeys(
    PLAIN,
    "a plain call does not ask a function where it would start, nor what it does with weights",
)
ELSEWHERE = {
    "wrapped-numbers": OF_WRAPPED, "wrapped-classes": OF_WRAPPED, "decisions": NO_TRAINING,
    "sampling": NO_TRAINING, "edit": NO_EDIT, "served": NO_TRAINING, "command": NO_TRAINING,
}  # fmt: skip
NO_CV = {**ELSEWHERE, **dict.fromkeys(CV, NO_PREDICTION)}
NOT_OURS = {**ELSEWHERE, **dict.fromkeys(PLAIN, THEIRS)}
NAN_IS_0 = "a Dataset has replaced NaN by 0 before anybody is asked"
ORDER_ONLY = {kind: "it takes no order of labels" for kind in KINDS}
START = "^boosting starts at"
QWK = go.qwk_objective()
OF_CLASSES = go.objective(of_classes, loss=of_classes_loss, link="softmax", outputs=5)
BY_LIBRARY = {"xgboost", "lightgbm"}
OLD = ("xgboost", "lightgbm", "")
OF_LABEL_1 = {
    **{name: {"scale_pos_weight": 10.0} for name in (*BY_LIBRARY, "catboost")},
    "sklearn": {"class_weight": {0: 1.0, 1: 10.0}},
}

GUARDS = [
    Guard("start: grades far from 0", Call(GRADES + 20, QWK, rounds=3, rate=0.01), level(1.0),
          TRAINS | {"native-cv"}, NO_CV, warns=START),
    Guard("start: rare events", Call(RARE, go.weighted_logloss_objective(1.0), rounds=5,
                                     rate=0.02, is_class=True), level(0.01),
          TRAINS | {"native-cv"}, NO_CV, warns=START),
    Guard("start: a function of the user's",
          Call(GRADES * 3 + 60, go.objective(lambda y, f, w: (np.where(f >= y, 0.5, -0.5),
                                                              np.ones_like(f)))), level(4.0),
          TRAINS | {"native-cv"}, NO_CV, warns=START,
          unless={"lightgbm-own-classifier": "it gets five margins of a row, and is of one"}),
    Guard("start: a function of the user's as it is", Call(GRADES * 3 + 1000, unweighted),
          level(4.0), {"train", "cv", "estimator"},
          NOT_OURS, warns=START),
    Guard("labels: predictions in their place", Call(GRADES, swapped), level(0.5),
          {"train", "cv", "estimator"},
          NOT_OURS),
    Guard("labels: beyond the classes of a softmax",
          Call(GRADES + 1, OF_CLASSES, rounds=3, is_class=True, outputs=5), never,
          TRAINS | CV, ELSEWHERE),
    Guard("labels: 1 and 2 under log-odds",
          Call(EVENTS + 1, go.objective(logistic, loss=logistic_loss, link="logit"),
               rounds=10, is_class=True), share_of_the_second,
          TRAINS | CV, ELSEWHERE),
    Guard("labels: NaN", Call(np.where(np.arange(N) == 7, np.nan, GRADES), QWK, rounds=3), never,
          TRAINS | CV | {"wrapped-numbers", "decisions"},
          {"wrapped-classes": OF_WRAPPED, "sampling": "labels are whole numbers there",
           "edit": NO_EDIT, "served": NO_TRAINING,
           "command": "a file's empty cells have their own row"}, unless={
              "lightgbm-native": NAN_IS_0, "lightgbm-native-cv": NAN_IS_0}),
    Guard("metric: of probabilities, under margins",
          Call(EVENTS, go.weighted_logloss_objective(1.0), rounds=5, is_class=True,
               metric=go.weighted_logloss_metric(1.0, input_space="probability")),
          reports_margins, TRAINS | CV, ELSEWHERE, warns="takes probabilities, but boosters"),
    Guard("metric: of log-odds, under grades",
          Call(EVENTS, QWK, rounds=5, metric=go.weighted_logloss_metric(1.0)), never,
          TRAINS | CV, ELSEWHERE, warns="takes log-odds of label 1, but QWKObjective"),
    Guard("metric: its direction", Call(GRADES, go.qwk_objective(GRADES), metric=go.qwk_metric(),
                                        stops=True, params={
              "xgboost": {"base_score": 1.8}}, rounds=60), finished,
          TRAINS | CV, ELSEWHERE),
    Guard("metric: the direction of a function",
          Call(GRADES, QWK, metric=plain_kappa, stops=True, rounds=60), finished,
          {"train", "cv", "estimator"},
          NOT_OURS,
          ("xgboost",), "a function in LightGBM's form says its direction"),
    Guard("metric: the library's own, by name, of margins",
          Call(EVENTS, go.weighted_logloss_objective(1.0), rounds=5, is_class=True,
               metric="rmse"), reports_probabilities, TRAINS | CV, ELSEWHERE,
          warns="'rmse' is .* own, which would misread"),
    Guard("metric: the library's default, of margins, where training stops",
          Call(EVENTS, go.weighted_logloss_objective(1.0), stops=True, default=True, rounds=30,
               is_class=True, params={"xgboost": {"base_score": 0.5}}), never,
          {"estimator", *PLAIN},
          {**ELSEWHERE, "train": "it stops on metric= alone",
           "cv": "it stops on ours alone, the loss by default"}, OLD,
          "these estimators stop on the loss that is trained",
          unless={"xgboost-own-classifier": "its booster is named for log-odds, which its default "
                  "metric reads"}),
    Guard("metric: the library's default beside ours, where training stops",
          Call(GRADES, QWK, metric=go.qwk_metric(), stops=True, default=True), never,
          {"native-estimator", "native-classifier"},
          {**ELSEWHERE, **dict.fromkeys(("train", "cv", "estimator"), "ours alone is measured"),
           **dict.fromkeys(("native", "native-cv"), "LightGBM has no default under a function")},
          ("lightgbm",), "XGBoost looks at the last metric, which is ours",
          warns="early stopping looks at 'l2' too"),
    Guard("metric: a name of ours", Call(GRADES, QWK, metric="qwk", rounds=3), never,
          TRAINS | CV, ELSEWHERE),
    Guard("metric: of log-odds, under the library's own objective",
          Call(EVENTS, None, metric=go.weighted_logloss_metric(1.0), rounds=3, is_class=True,
               params={"xgboost": {"objective": "binary:logistic"},
                       "lightgbm": {"objective": "binary"}}), never, {"estimator", *PLAIN},
          {**ELSEWHERE, **dict.fromkeys(("train", "cv"), "objective= is ours there")}, OLD,
          "their built-in losses are in the estimators' own tests"),
    Guard("stops: on the rows that are trained on",
          Call(GRADES, go.qwk_objective(GRADES), metric=go.qwk_metric(), stops=True, on_own=True,
               params={"xgboost": {"base_score": 1.8}}), never, TRAINS,
          {**ELSEWHERE, **dict.fromkeys(CV, "its folds are rows that it holds out")}, OLD,
          "the rows of evaluation are in the estimators' own tests",
          warns="stops too late; pass held-out rows", unless=dict.fromkeys(
              ("dask-train", "dask-estimator"), "labels on several workers are not compared")),
    Guard("start: of each row, of those that are trained on alone",
          Call(GRADES, QWK, metric=go.extended_qwk_metric(), rounds=3, start=2 * X[:, 0],
               lone=True), never, TRAINS,
          {**ELSEWHERE, **dict.fromkeys(CV, "all folds are parts of one data set")}, OLD,
          "they have a start of rows under other names"),
    Guard("start: of each row, the same in all, that the model does not hold",
          Call(GRADES + 20, QWK, start=np.full(N, 22.0)), level(1.0), TRAINS, NO_CV, OLD,
          "they have a start of rows under other names", warns="and the model does not hold",
          unless={"lightgbm-native": "adding it to predictions is what users of train do"}),
    Guard("rates: beside labels whose rare event is 0",
          Call(1 - RARE, go.offset_logloss_objective(0.5), rounds=3, is_class=True), never,
          TRAINS | CV, ELSEWHERE, warns="make it label 1: y == event"),
    Guard("weights: that make classes alike beside an objective that corrects",
          Call(RARE, go.offset_logloss_objective(0.1), ALIKE, rounds=3, is_class=True), never,
          TRAINS, {**ELSEWHERE, **dict.fromkeys(CV, "a fold has other shares of the classes")},
          warns="by which both count the same", unless=dict.fromkeys(
              ("dask-train", "dask-estimator"), "a part has other shares of the classes")),
    Guard("weights: of rows", Call(GRADES, go.objective(squared_error, link="identity"), HEAVY),
          level(0.05), TRAINS, NO_CV),
    Guard("weights: of rows, in decisions", Call(GRADES, None, HEAVY), heavy_grades_count,
          {"wrapped-numbers", "decisions"},
          {kind: "its cell is in the row above" for kind in KINDS}),
    Guard("weights: a function that takes none", Call(GRADES, unweighted, HEAVY), level(0.15),
          {"train", "cv", "estimator"},
          NOT_OURS),
    Guard("weights: of 1/rate beside an objective that corrects for it",
          Call(RARE, go.offset_logloss_objective(0.1), np.where(RARE == 1, 1.0, 10.0), rounds=3,
               is_class=True), never, TRAINS | CV, ELSEWHERE, warns="undoes the sampling"),
    Guard("weights: a function that takes and ignores them",
          Call(GRADES, go.objective(ignores_weights, link="identity"), HEAVY, rounds=3),
          level(0.05), {"train", "cv", "estimator"}, {**ELSEWHERE, **NOT_PROBED}),
    Guard("sign: of a gradient",
          Call(GRADES, go.objective(of_minus_the_loss, link="identity"), rounds=3), level(0.05),
          {"train", "cv", "estimator"}, {**ELSEWHERE, **NOT_PROBED}),
    Guard("weights: of classes, of a wrapped regressor",
          Call(GRADES, None, params={
              name: {"class_weight": {3: 20, 4: 20}} for name in BY_LIBRARY}),
          heavy_grades_count, {"wrapped-numbers"},
          {kind: "only a wrapped regressor's classes are not the labels" for kind in KINDS},
          OLD, "their regressors have no class_weight"),
    Guard("weights: of label 1, of a wrapped estimator",
          Call(EVENTS, None, params=OF_LABEL_1),
          never, {"wrapped-numbers", "wrapped-classes"},
          {kind: "no position stands for a label, and no rate is corrected" for kind in KINDS},
          unless={f"{name}-QWKClassifier": "its regressor has no such parameter" for name in NEW}),
    Guard("labels: more than the library's own objective takes",
          Call(GRADES, None, params={"xgboost": {"objective": "binary:hinge"},
                                     "lightgbm": {"objective": "binary"},
                                     "sklearn": {"loss": "gamma"}}), never,
          {"wrapped-numbers"},
          {kind: "the library is asked for its objective by name" for kind in KINDS},
          unless={"catboost-QWKClassifier": "its regressor's own objectives take these labels"}),
    Guard("parameters: what the library would ignore",
          Call(EVENTS, go.weighted_logloss_objective(1.0), rounds=5, is_class=True,
               params=OF_LABEL_1), never, TRAINS | CV, ELSEWHERE,
          unless={"sklearn-our-estimator": "scikit-learn makes row weights of class_weight"}),
    Guard("parameters: an objective of the library's that reads margins in its own way",
          Call(GRADES, go.qwk_objective(GRADES), rounds=10,
               params={"xgboost": {"objective": "survival:cox", "base_score": 1.8}}), level(0.5),
          {"train", "cv", "native", "native-cv"},
          {**ELSEWHERE, **dict.fromkeys(("estimator", "native-estimator", "native-classifier"),
                                        "objective= is ours there, and no other can be named")},
          ("xgboost",), "LightGBM has one objective, in params"),
    Guard("earlier model: a forest", Call(GRADES, QWK, rounds=1, rate=1e-9, earlier=forest),
          level(0.5), TRAINS, NO_CV, ("lightgbm",), "XGBoost adds up its forests' trees"),
    Guard("order: as labels came", Call(GRADES, order=[2, 3, 1, 4, 0]), kappa_is_high,
          {"wrapped-numbers", "decisions"}, ORDER_ONLY),
    Guard("labels: one that is missing, as text", Call(GRADES), never, {"command"},
          {kind: "labels are numbers there" for kind in KINDS}),
    Guard("columns: in another order", Call(GRADES), same_as_in_order, {"served"},
          {kind: "it takes arrays, or the library's own checks of names" for kind in KINDS}),
    Guard("sampling: the class that is thinned is rare", Call((RARE == 0).astype(float)),
          most_are_kept, {"sampling"}, {kind: "it samples no rows" for kind in KINDS}),
    Guard("sampling: the same inside an estimator", Call((RARE == 0).astype(float)),
          never, {"wrapped-classes"}, {kind: "it samples no rows" for kind in KINDS}),
    Guard("rates: on a model of numbers", Call(GRADES), is_moved, {"edit"},
          {kind: "it takes no rate of negatives for a trained model" for kind in KINDS},
          warns="^negative_keep_rate moves log-odds"),
]  # fmt: skip


KNOWN: dict[tuple[str, str], str] = {}
"""Cells that fall short, and the words of the issue that will mend them."""


# --- cells


def cell(guard: Guard, door: Door) -> tuple[str, str]:
    """HOLDS, REFUSED, SILENT, BARE or NOT HERE, and a word on it."""
    reason = guard.reason(door)
    if reason is not None:
        return "NOT HERE", reason
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = door.enter(guard.call)
        except LIBRARIES_OWN as error:
            return "REFUSED", f"by the library: {error}"[:100]
        except (TypeError, ValueError) as error:
            raiser = "gbdt_objectives" if isinstance(error, Refused) else raised_in(error)[-1]
            if raiser == "tests":
                raise
            text, by_us = " ".join(f"{error}".split()), raiser == "gbdt_objectives"
            return "REFUSED" if REMEDY.search(text) or not by_us else "BARE", text[:160]
    if guard.right(found, guard.call):
        return "HOLDS", ""
    for message in (str(one.message) for one in told):
        if re.search(guard.warns, message) and REMEDY.search(message):
            return "REFUSED", f"it warns: {message}"[:160]
    mean = None if found.natural is None else round(float(np.mean(found.natural)), 3)
    return "SILENT", f"mean {mean}, best round {found.best}, reported {found.reported}"


def main() -> int:
    counts: Counter[str] = Counter()
    for guard in GUARDS:
        for door in DOORS:
            verdict, word = cell(guard, door)
            listed = (guard.name, door.name) in KNOWN
            counts["KNOWN" if listed else verdict] += 1
            if verdict != "NOT HERE":
                print(f"{verdict + ' known' * listed:14} {guard} @ {door}: {word}")
    print(f"{len(GUARDS)} guards, {len(DOORS)} doors, {sum(counts.values())} cells: {dict(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
