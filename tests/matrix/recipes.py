"""What is given at each public callable where nothing is wrong, by the names of its parameters.

``CELLS`` has the parameters of rows or classes, which ``twists.py`` changes one by one, and
``PLAIN`` all others. ``values`` says what they are, for the same rows in several tasks. A library's
data set, or an argument that holds several columns, is made of columns (``SPREAD``). What has no
cells is in ``NOT_TRIED``, each with a reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from unittest.mock import patch

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

import gbdt_objectives as go

Array = np.ndarray[Any, Any]

N = 120
rng = np.random.default_rng(7)
FEATURES, HELD_OUT = (
    pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc")) for _ in ("train", "held out")
)
POSITION = np.arange(N)


def of_rows(table: pd.DataFrame) -> tuple[Array, ...]:
    """Log-odds of an event, a score of grades, and margins of three kinds in no order; and the
    event, the grade and the kind of each row."""
    a, b = table["a"].to_numpy(), table["b"].to_numpy()
    log_odds, score = 2 * a - 0.8, a + 0.6 * b + 1.5
    margins = np.column_stack([0.5 - a, 0.3 * b, a])
    events = (rng.random(N) < expit(log_odds)).astype(int)
    grades = np.digitize(score + rng.normal(0, 0.5, N), [0.5, 1.5, 2.5])
    kinds = (softmax(margins, axis=1).cumsum(1) < rng.random(N)[:, np.newaxis]).sum(1)
    return log_odds, score, margins, events, grades, kinds


LOG_ODDS, SCORE, MARGINS, EVENTS, GRADES, KINDS = of_rows(FEATURES)
OTHER_LABELS = of_rows(HELD_OUT)[3:]
WEIGHTS = rng.uniform(0.5, 2.0, N)


@dataclass(frozen=True, eq=False)
class Task:
    """Labels of the rows, and predictions of them."""

    name: str
    y: Array
    y_pred: Array
    score: Array
    margin: Array
    probability: Array

    def __repr__(self) -> str:
        return self.name

    @property
    def is_graded(self) -> bool:
        return self.y is GRADES

    @property
    def y_val(self) -> Array:
        """Labels of the rows that are held out."""
        return next(y for own, y in zip((EVENTS, GRADES, KINDS), OTHER_LABELS, strict=True)
                    if own is self.y)  # fmt: skip

    @property
    def classes(self) -> list[int]:
        return list(range(int(self.y.max()) + 1))


def in_two(p: Array) -> Array:
    return np.column_stack([1 - p, p])


P, OF_KINDS = expit(LOG_ODDS), softmax(MARGINS, axis=1)
OF_GRADES = softmax(-np.abs(SCORE[:, np.newaxis] - np.arange(4)), axis=1)
TASKS = [
    Task("events", EVENTS, LOG_ODDS, LOG_ODDS, LOG_ODDS, P),
    Task("events, probabilities", EVENTS, P, P, LOG_ODDS, in_two(P)),
    Task("events, decided", EVENTS, (P > 0.5).astype(int), P, LOG_ODDS, in_two(P)),
    Task("grades", GRADES, SCORE, SCORE, SCORE, OF_GRADES),
    Task("grades, decided", GRADES, np.clip(np.rint(SCORE), 0, 3).astype(int), SCORE, SCORE,
         OF_GRADES),
    Task("kinds", KINDS, MARGINS, MARGINS, MARGINS, OF_KINDS),
    Task("kinds, probabilities", KINDS, OF_KINDS, MARGINS, MARGINS, OF_KINDS),
]  # fmt: skip
"""A callable is tried with the first of these that it takes: of two classes, of grades in the order
of one score, or of three classes in none."""

ORDINAL = ("QWK", "qwk", "kappa", "Threshold", "threshold", "Regressor", "squared", "ordinal",
           "ranked", "SegmentShift", "segment_shift")  # fmt: skip
"""Words in the names of what is for grades, which is tried with them first."""


def tasks_of(name: str) -> list[Task]:
    is_ordinal = any(word in name for word in ORDINAL) and "correct_threshold" not in name
    first = "grades" if is_ordinal else "kinds" if "n_classes=3" in name else "events"
    return sorted(TASKS, key=lambda task: not task.name.startswith(first))


class NearestMean(ClassifierMixin, BaseEstimator):
    """The class whose mean of one column is nearest: a user's classifier, and a quick one."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NearestMean:
        x, y = np.asarray(X)[:, self.column].astype(float), np.asarray(y)
        w = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight)
        self.classes_ = np.unique(y)
        self.means_ = [np.average(x[y == k], weights=w[y == k]) for k in self.classes_]
        return self

    def predict(self, X: Any) -> Array:
        x = np.asarray(X)[:, self.column].astype(float)
        return self.classes_[np.abs(np.subtract.outer(x, self.means_)).argmin(1)]


# --- parameters

CELLS = {
    "labels": "y_true y y_full y_sampled y_val y_out",
    "scores": "y_pred score margin base_margin init_score base_margin_val target",
    "probabilities": "probability probability_out",
    "tables": "X X_val",
    "weights": "sample_weight sample_weight_val",
    "counts": "counts",
    "names": "groups segments key partition",
    "rates-of-rows": "keep_rate",
    "times": "delay age arrived arrived_before arrived_at_sampling",
    "rates": "negative_keep_rate",
    "by class": "class_keep_rates train_prior target_prior prior",
    "classes": "labels",
    "costs": "matrix costs",
    "cuts": "",
}
"""Parameters of each kind."""
KIND = {name: kind for kind, names in CELLS.items() for name in names.split()}
OF_ROWS = {name for kind in list(CELLS)[:9] for name in CELLS[kind].split()}
"""Parameters that have a value for each row."""
HAVE_INVERSE = "Beta", "Intercept", "Logit", "Spline"
KIND_OF_ONE = {
    "apply_thresholds": {"thresholds": "cuts"}, "Thresholds": {"values": "cuts"},
    "empirical_probability": {"counts": ""},  # of classes, in any shape
    "optimize_thresholds.to_sql": {"score": ""},  # the name of a column
    "optimize_multilabel_thresholds": {"y_true": "", "score": ""},  # a column for each label
    **{f"{kind}Calibrator.inverse": {"probability": ""} for kind in HAVE_INVERSE},  # no rows
}  # fmt: skip
"""What parameters are at one callable."""

PLAIN = {
    name for line in (
        "actions alpha api average ax beta bias booster calibrate calibrator capacity check_rows",
        "clip confidence_level constraints correction cost cv data_name decimals delta denominator",
        "dtype early_stopping_rounds edges ensemble equations estimator first first_test floor",
        "folder function gamma handle_unknown hessian hessian_kind horizon input_space intercept",
        "kind label_range link loss m margins max_bins max_iter mean method metric model",
        "monotone n n_bags n_bins n_bootstrap n_classes n_jobs n_repeats n_resamples n_starts",
        "name normalize num_boost_round numerator obj objective objectives of other outputs",
        "overwrite params path positions positive_keep_rate random_state reduce rounds rows scale",
        "scale_by_half score_range second segment shift shrink",
        "standard_error start strategy text threshold thresholds title tol tree values variance",
        "verbose weights level",
    ) for name in line.split()
}  # fmt: skip
"""Parameters that are neither of rows nor of classes."""

MEANT = {
    **{f"{name}(*=) x 99 for a missing label": why for why, names in {
        "a regressor learns and is scored on numbers, and 99 may be one": [
            "*Regressor.score", "*CatBoostRegressor.fit"],
        "the labels of squared error are numbers, and 99 may be one": [
            "metrics.squared_error_metric().*", "objectives.objective(loss='squared_loss').*"],
        "the labels of a user's own ratio are numbers, and 99 may be one": [
            "objectives.ratio_objective().*"],
        "classes of a tree have no distance, and 99 may be the name of one": [
            "estimators.ProbabilityEstimationTree.fit"],
    }.items() for name in names},
    **{f"adapters.{of}(*) x rows turned*": f"a {data} keeps no index of its rows"
       for of, data in {"xgboost.train": "DMatrix", "xgboost.cv": "DMatrix",
                        "catboost.train": "Pool"}.items()},
    **{f"adapters.xgboost.{name}=) x a row (1, n)": "a DMatrix flattens it"
       for name in ("train(y", "train(base_margin", "train(y_val", "cv(y", "cv(base_margin")},
    **{f"adapters.xgboost.{name}({parameter}*=) x empty": "a DMatrix takes it for none"
       for name in ("train", "cv") for parameter in ("sample_weight", "base_margin")},
    "adapters.catboost.train(X=) x one column (n,)": "a Pool takes it for one feature",
    "adapters.catboost.CatBoostClassifier.predict_proba(X=) x one column (n,)": "CatBoost reads it "
    "as the features of one row",
    "adapters.catboost.CatBoostRegressor.score(X=) x a column less": "CatBoost asks for columns "
    "that its trees split only",
    **{f"{name} x columns for one of two classes": why for name, why in {
        "priors.correct_margin(margin=)": "of two columns both are corrected",
        "priors.correct_probability(probability=)": "of two columns both are corrected",
        "calibration.calibration_error_test(probability=)": "of columns it is the greatest's error",
        "calibration.expected_calibration_error(probability=)": "of columns it is the greatest's",
    }.items()},
    "thresholds.ThresholdStatistics.empty(labels=) x a class less": "there are no rows yet, and "
    "those of a class that is not in labels are refused when they are added",
    **{f"metrics.{name}.__call__(y_true=) x 1 and 2 for 0 and 1": "labels 1 and 2 are two classes, "
       "whose scores are in their unit and may lie outside; of classes 0 and 1 it is told"
       for name in ("cost_metric()", "f_beta_metric()", "threshold_metric(metric='f1')")},
    **{f"calibration.CalibrationMonitor.update({name}=) x one number": "F may be that of all rows"
       for name in ("arrived", "arrived_before", "arrived_at_sampling")},
    "plotting.ReliabilityDisplay.from_predictions(counts=) x 2 and each row twice": "it keeps the "
    "rows as they are given; the picture is the same",
}  # fmt: skip
"""Cells that are silent and stay so, by patterns of their names, with the reason."""

NEEDS = {
    "X_val": ("y_val", "eval_metric"), "y_val": ("X_val", "eval_metric"),
    "sample_weight_val": ("X_val", "y_val", "eval_metric"),
    "base_margin_val": ("X_val", "y_val", "base_margin"),
    "y_out": ("probability_out",), "probability_out": ("y_out",),
    "arrived_before": ("arrived",), "arrived_at_sampling": ("arrived", "keep_rate"),
    "train_prior": ("target_prior",), "target_prior": ("train_prior",),
    "decide.groups": ("costs", "capacity"), "optimize_actions.groups": ("capacity",),
    "apply_thresholds": ("thresholds", "labels"), "imbalance_shift": ("X", "y"),
    **{f"CatBoost{kind}.{method}": ("y",) for kind in ("Classifier", "Regressor")
       for method in ("fit", "score")},
    "correct_margin.margin": ("negative_keep_rate",),
    "correct_probability.probability": ("negative_keep_rate",),
    **{f"{function}.{name}": ("train_prior",) for name in ("probability", "groups", "counts")
       for function in ("estimate_prior", "prior_shift_test")},
    "kappa_objective.sample_weight": ("y_true",), "qwk_objective.sample_weight": ("y_true",),
    "kappa_objective.target_prior": ("y_true",), "qwk_objective.target_prior": ("y_true",),
}  # fmt: skip
"""Parameters that are given beside one, or beside any of a callable, where it has them."""


def in_order(task: Task) -> list[float]:
    return [1 / len(task.classes)] * len(task.classes)


OWN: dict[str, dict[str, Any]] = {
    **{name: {"target_prior": in_order} for name in
       ("correct_margin", "correct_probability", "correct_threshold", "log_odds_shift")},
    "estimate_performance": {"cv": 3, "n_repeats": 2, "estimator": NearestMean()},
    "compare_performance": {"cv": 3, "n_repeats": 2}, "report": {"path": "report.html"},
    "Thresholds": {"values": lambda task: [k + 0.5 for k in task.classes[1:]]},
    "LogOddsShift": {"values": in_order}, "check_objective": {"sample_weight": 1 + POSITION % 2},
    "empirical_probability": {"counts": lambda task: np.bincount(task.y)},
    **{f"{kind}Calibrator.inverse": {"probability": 0.3} for kind in HAVE_INVERSE},
    "optimize_multilabel_thresholds": {
        "y_true": np.stack([POSITION % 2, POSITION % 3 == 0], axis=1) * 1,
        "score": np.stack([SCORE, -SCORE], axis=1)},
}  # fmt: skip
"""What one callable gets under a name."""

SMALL = {
    "cv": 2, "n_repeats": 1, "n_bootstrap": 20, "random_state": 0, "n_starts": 1, "max_trees": 2,
    "verbose": False, "check_rows": 5, "horizon": 5.0, "n_resamples": 100,
}  # fmt: skip
"""What is given wherever it can be, so that a call is quick and draws the same."""


@cache
def values(task: Task) -> dict[str, Any]:
    """What parameters of each name are."""
    y, K, classes = task.y, len(task.classes), task.classes
    return {
        **dict.fromkeys(("y_true", "y", "y_full", "y_out"), y), "y_val": task.y_val,
        "y_sampled": y[: N // 2],
        "y_pred": task.y_pred, "score": task.score, "margin": task.margin, "target": SCORE,
        **dict.fromkeys(("base_margin", "base_margin_val", "init_score"), task.margin / 2),
        **dict.fromkeys(("probability", "probability_out"), task.probability),
        "X": FEATURES, "X_val": HELD_OUT, "sample_weight": WEIGHTS, "sample_weight_val": WEIGHTS,
        "counts": 1 + POSITION % 2, "groups": POSITION // 4, "segments": POSITION % 3,
        "partition": POSITION % 3, "key": POSITION // 2, "keep_rate": np.full(N, 0.5),
        "arrived_before": 0.05 + POSITION % 3 / 20, "arrived_at_sampling": 0.2 + POSITION % 5 / 10,
        "arrived": 0.3 + POSITION % 7 / 10, "delay": np.abs(LOG_ODDS), "age": np.abs(LOG_ODDS) + 2,
        "negative_keep_rate": 0.5, "class_keep_rates": {k: 1.0 if k else 0.5 for k in classes},
        "train_prior": (np.bincount(y) / N).tolist(), "prior": (np.bincount(y) / N).tolist(),
        "target_prior": dict.fromkeys(classes, 1 / K), "labels": classes,
        **dict.fromkeys(("matrix", "costs"), np.abs(np.subtract.outer(classes, classes)) * 1.0),
        "capacity": {classes[-1]: 3},
        "thresholds": [k + 0.5 for k in classes[1:]],
        # plain ones that must be given
        "booster": booster(), "model": model(), "estimator": estimator(task.is_graded),
        "first": NearestMean(), "second": NearestMean(column=1),
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0), "cost": "squared",
        "objective": objective_of(task), "eval_metric": metric_of(task),
        "obj": go.weighted_logloss_objective(1.0),
        "metric": go.qwk_metric() if task.is_graded else "accuracy", "gamma": 2.0, "beta": 1.0,
        "n_classes": K, "function": half_squared_error, "loss": squared_loss, "threshold": 0.3,
        "params": {}, "data": FEATURES, "numerator": squares,
        "denominator": one_and_squares,
        "folder": "folder", "path": "path", **SMALL,
    }  # fmt: skip


def half_squared_error(y: Array, f: Array, w: Array | None) -> tuple[Array, Array]:
    w = np.ones_like(f) if w is None else w
    return w * (f - y), w


def squared_loss(y: Array, f: Array, w: Array | None) -> Any:
    return ((f - y) ** 2 * (1 if w is None else w)).sum() / 2


def squares(y: Array, p: Array) -> tuple[Array, Array]:
    return (p - y) ** 2, 2 * (p - y)


def one_and_squares(y: Array, p: Array) -> tuple[Array, Array]:
    return 1 + p**2, 2 * p


# --- objects

TREES = {
    "XGB": {"n_estimators": 3, "max_depth": 2, "learning_rate": 0.7, "n_jobs": 1},
    "LGBM": {"n_estimators": 3, "num_leaves": 4, "learning_rate": 0.7, "min_child_samples": 5,
             "n_jobs": 1, "verbose": -1},
    "HistGradientBoosting": {"max_iter": 3, "max_leaf_nodes": 4, "learning_rate": 0.7,
                             "min_samples_leaf": 5, "early_stopping": True},
    "CatBoost": {"iterations": 3, "depth": 2, "learning_rate": 0.7, "thread_count": 1,
                 "verbose": 0, "allow_writing_files": False},
}  # fmt: skip
"""What drop-in estimators are made with besides an objective, by the beginning of their names:
few trees, of steps so large that their predictions differ."""


def objective_of(task: Task) -> go.Objective:
    return go.qwk_objective() if task.is_graded else go.weighted_logloss_objective(1.0)


SQUARED = go.objective(half_squared_error, loss=squared_loss, link="identity")


def metric_of(task: Task) -> Any:
    return go.loss_metric(objective_of(task))


@cache
def booster() -> lgb.Booster:
    params = {"objective": "binary", **DATA["adapters.lightgbm"][1]}
    return lgb.train(params, lgb.Dataset(FEATURES, EVENTS), 3)


@cache
def model() -> Any:
    return lgb.LGBMClassifier(**TREES["LGBM"]).fit(FEATURES, EVENTS)


def estimator(is_graded: bool) -> Any:
    return (lgb.LGBMRegressor if is_graded else lgb.LGBMClassifier)(**TREES["LGBM"])


LOGISTIC = go.calibration.LogitCalibrator()
LIMITS = {"metric": "accuracy", "constraints": {"recall": 0.8}, "confidence_level": 0.9}
SEVERAL = [("lgb", estimator(False)), ("xgb", xgb.XGBClassifier(**TREES["XGB"]))]
STOPS = xgb.XGBClassifier(**TREES["XGB"], early_stopping_rounds=1)
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "CalibratedClassifier": [
        {"calibrator": LOGISTIC}, {"calibrator": LOGISTIC, "cv": 5},
        {"calibrator": LOGISTIC, "estimator": SEVERAL}],
    "DownsampledClassifier": [
        {"cv": None}, {"cv": None, "correction": "offset", "estimator": STOPS}],
    "QWKClassifier": [{"early_stopping_rounds": None}],
    "ProbabilityEstimationTree": [{"tree": DecisionTreeClassifier(max_depth=3, random_state=0)}],
    "ThresholdClassifier": [{}, LIMITS], "optimize_thresholds": [{}, LIMITS],
    "focal_objective": [{}, {"n_classes": 3}],
    "objective": [{"loss": squared_loss}],
    "weighted_logloss_metric": [{}, {"input_space": "probability"}],
    "threshold_metric": [{"metric": "f1"}, {"metric": "mae"}],
}  # fmt: skip
"""Further arguments of functions and classes. The first row with which a call is right is taken;
each row of a function makes an object whose methods are tried."""


OBJECTS: dict[str, Callable[[Task], Any]] = {
    "ThresholdStatistics": lambda task: go.thresholds.ThresholdStatistics.of(task.y, task.score),
}
"""What methods are called on, where neither a function nor its class makes it."""


def of_library(kind: Any, task: Task) -> dict[str, Any]:
    """What a drop-in estimator is made with."""
    named = next((row for row in TREES if kind.__name__.startswith(row)), None)
    if named is None:
        return {}
    couples_rows = task.is_graded and named == "CatBoost"  # which has some of them at a time
    objective = SQUARED if couples_rows else objective_of(task)
    takes_metric = named in ("XGB", "CatBoost")
    metric = {"eval_metric": go.loss_metric(objective)} if takes_metric else {}
    return {**TREES[named], "objective": objective, **metric}


def to_fit(made: Any, task: Task) -> dict[str, Any]:
    """What an estimator is fitted to."""
    names = inspect.signature(made.fit).parameters
    needed = ("X", "y", "score", "probability", "segments")
    return {name: values(task)[name] for name in needed if name in names}


@contextmanager
def undrawn() -> Iterator[None]:
    """Displays and reports compute, but draw nothing, which takes longer than all else together."""
    from gbdt_objectives import plotting
    from gbdt_objectives.evaluation import reports

    kinds = [kind for name in plotting.__all__ if hasattr(kind := getattr(plotting, name), "plot")]
    with ExitStack() as patched:
        for kind in kinds:
            patched.enter_context(patch.object(kind, "plot", lambda self, ax=None: self))
        patched.enter_context(patch.object(reports, "svg", lambda draw: b""))
        yield


# --- arguments that are made of columns


@dataclass(frozen=True)
class Spread:
    """An argument that holds columns, which are twisted one by one."""

    columns: tuple[str, ...]
    make: Callable[..., Any]


def itself(**column: Any) -> Any:
    return next(iter(column.values()))


def in_list(**column: Any) -> list[Any]:
    return [itself(**column)]


def pair(X_val: Any, y_val: Any) -> list[Any]:
    return [(X_val, y_val)]


def in_tuple(y_out: Any, probability_out: Any) -> tuple[Any, Any]:
    return y_out, probability_out


def by_name(**columns: Any) -> dict[str, Any]:
    return columns


SPREAD = {
    "eval_set": Spread(("X_val", "y_val"), pair),
    **dict.fromkeys(("sample_weight_eval_set", "eval_sample_weight"),
                    Spread(("sample_weight_val",), in_list)),
    **dict.fromkeys(("base_margin_eval_set", "eval_init_score"),
                    Spread(("base_margin_val",), in_list)),
    "out_of_fold": Spread(("y_out", "probability_out"), in_tuple),
}  # fmt: skip
BOOSTERS_CALL = {"a": Spread(("y_true",), itself), "b": Spread(("margin",), itself)}
"""Objective.__call__(a, b), as scikit-learn's interfaces call it."""


def dmatrix(X: Any, y: Any, sample_weight: Any = None, base_margin: Any = None) -> xgb.DMatrix:
    return xgb.DMatrix(X, y, weight=sample_weight, base_margin=base_margin, nthread=1)


def dataset(X: Any, y: Any, sample_weight: Any = None, init_score: Any = None) -> lgb.Dataset:
    return lgb.Dataset(X, y, weight=sample_weight, init_score=init_score)


def pool(X: Any, y: Any, sample_weight: Any = None) -> Any:
    from catboost import Pool

    return Pool(X, y, weight=sample_weight)


def held_out(make: Any, X_val: Any, y_val: Any, sample_weight_val: Any = None) -> list[Any]:
    return [(make(X_val, y_val, sample_weight_val), "held_out")]


DATA = {
    "adapters.xgboost": (dmatrix, {"max_depth": 2, "eta": 0.7, "nthread": 1, "verbosity": 0}),
    "adapters.lightgbm": (dataset, {"num_leaves": 4, "learning_rate": 0.7, "min_data_in_leaf": 5,
                                   "num_threads": 1, "verbose": -1}),
    "adapters.catboost": (pool, {"depth": 2, "learning_rate": 0.7, "thread_count": 1, "verbose": 0,
                                 "allow_writing_files": False}),
}  # fmt: skip
"""What makes the data sets of a library's ``train`` and ``cv``, and its parameters."""


def of_training(room: str, task: Task, *, evaluates: bool) -> dict[str, Any]:
    """The arguments of ``train`` and ``cv`` besides data."""
    given = {"params": DATA[room][1], "objective": objective_of(task), "num_boost_round": 3}
    return given | ({"metric": metric_of(task)} if evaluates else {})


def recording(room: str, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments with which ``train`` records what it measures on evaluation sets."""
    return {
        "adapters.xgboost": {"evals_result": values},
        "adapters.lightgbm": {"callbacks": [lgb.record_evaluation(values)]},
    }.get(room, {})


@cache
def data_of(room: str) -> dict[str, Spread]:
    make = DATA[room][0]
    columns = tuple(inspect.signature(make).parameters)
    held = Spread(("X_val", "y_val", "sample_weight_val"), partial(held_out, make))
    return {"data": Spread(columns, make), "evals": held}


# --- what has no cells

ROOMS_NOT_TRIED = {
    "distributed": "needs workers: tests/matrix/test_dask.py and test_engines.py",
    "experimental.dask": "needs workers: tests/matrix/test_dask.py",
}
LIBRARIES_OWN = {
    "fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score", "apply",
    "staged_predict", "staged_predict_proba", "staged_decision_function",
}  # fmt: skip
"""Methods that estimators inherit from a library and that are tried. All others are the library's,
with no answer of ours: ``evals_result``, ``get_params``, ``calc_leaf_indexes``, ..."""

HOOKS = {
    "Metric": "read score sums of_sums terms agree_labels of_classes of_counts of_every_cut "
    "at_every_cut of_shares slopes ratio_costs value",
    "Loss": "measured row_loss gradient_hessian totals value writer read_named",
    **dict.fromkeys(("BaseEstimator", "Estimator"), "get_params"),
}
"""Methods that authors of metrics and losses write: ``Metric.__call__`` and ``Objective`` call
them, with rows that are checked."""

RESULT = "a result: functions make it, of what they computed"
NOT_TRIED = {
    **dict.fromkeys((
        "calibration.CalibrationErrorTest", "calibration.CalibrationRefinement",
        "calibration.CalibratorChoice", "calibration.ROCConvexHull", "calibration.ReliabilityBins",
        "calibration.SegmentRatios", "calibration.SegmentStatistics", "checking.ObjectiveReport",
        "evaluation.Performance*", "evaluation.ThresholdCrossValidation",
        "experimental.DelayDistribution", "plotting.*Display",
        "plotting.ReliabilityCurve", "priors.PriorEstimate", "priors.PriorShiftTest",
        "thresholds.ActionRule", "thresholds.DecisionRule", "thresholds.SegmentShift",
        "thresholds.ThresholdStatistics",
    ), RESULT),
    "thresholds.optimize_actions().apply(costs=)": "the rule has its own",
    "datasets.make_*": "they make rows, and take none",
    **{f"objectives.{name}*": "for authors of losses, who give it rows or margins that are checked"
       for name in ("Interval", "Link", "Rows")},
    "objectives.objective_from_loss().*": "jax compiles a loss in each call, and the objective is "
    "that of objective(), whose methods are tried",
    "experimental.delayed_logloss_objective().*": "it waits for values of rows: "
    "tests/experimental/test_delayed.py",
    "metrics.*Metric.*": "a base class of metrics: those that functions make are tried",
    "adapters.catboost.*.create_metric_calcer": "of metrics by name, which are refused",
    "adapters.xgboost.early_stopping().*": "a callback, which XGBoost calls",
    **dict.fromkeys((
        "*HistGradientBoosting*.export", "*ProbabilityEstimationTree.export",
        "*ThresholdClassifier.export", "adapters.catboost.*.export",
    ), "it has no folder, which is said, or needs no rows"),
    **{f"objectives.{name}.class_probability": "its margins are of no classes, which is said"
       for name in ("kappa_objective*", "objective(*", "ordinal_logit_objective*",
                    "qwk_objective*", "ratio_objective*")},
    **dict.fromkeys((
        "*LGBM*.fit(init_score=)", "*LGBM*.fit(base_margin_val=)",
    ), "it is refused, whatever it holds"),
}  # fmt: skip
"""Callables, or parameters of one, without a call that could be changed, and why; the names are
patterns of fnmatch."""
