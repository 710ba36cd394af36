"""What other libraries call things: every remedy that a message gives is typed here, and runs.

The cases are made from the tables and the signatures. A callable that begins to answer a word needs
an example below, and a word whose value changes one of its values in ``VALUES``.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from matplotlib import pyplot
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

import gbdt_objectives as go
from gbdt_objectives._checks import spellings
from gbdt_objectives._names import ROOMS
from gbdt_objectives.adapters import lightgbm, sklearn, xgboost
from tests.cases import each

pytestmark = pytest.mark.filterwarnings("ignore")

rng = np.random.default_rng(0)
ROWS = 120
X = rng.normal(size=(ROWS, 3))
Y = (X[:, 0] + rng.normal(size=ROWS) > 0).astype(int)
P = 1 / (1 + np.exp(-X[:, 0]))
GRADES = np.digitize(X[:, 0] + rng.normal(0, 0.5, ROWS), [-1, 0, 1, 2])
SEGMENTS, KEYS, ONES = np.where(X[:, 1] > 0, "a", "b"), np.arange(ROWS), np.ones(ROWS)
TREES: Any = {"n_estimators": 2, "max_depth": 2, "n_jobs": 1}
LEAVES: Any = {**TREES, "verbose": -1}
PLAIN = LogisticRegression()
LOG_ODDS = go.weighted_logloss_objective(0.5)
FOCAL, QWK, CLASSES = go.focal_objective(2.0), go.qwk_objective(), [0, 1, 2, 3, 4]

NAMES: dict[str, Any] = {
    "numpy": np, "pyplot": pyplot, "StratifiedKFold": StratifiedKFold,
    "DecisionTreeClassifier": DecisionTreeClassifier, "X": X, "y": Y, "y_true": Y, "score": P,
    "probability": P, "y_pred": GRADES, "labels": [0, 1], "values": [0.5],
    "estimator": lightgbm.LGBMClassifier(**LEAVES),
    "lowest": 0, "highest": 4, "X_val": -X, "y_val": Y,
}  # fmt: skip
"""What stands around a call: columns, and everything that is exported."""
for _room in ROOMS:
    if _room not in ("adapters", "distributed"):
        _module = import_module(f"gbdt_objectives.{_room}")
        NAMES |= {name: getattr(_module, name) for name in _module.__all__ if name != "dask"}
NAMES |= {name: getattr(go.adapters, name) for name in ("shift_intercept", "imbalance_shift")}

VALUES: dict[str, Any] = {
    "n_classes": 2, "num_class": 2, "num_classes": 2, "min_rating": 0, "max_rating": 1,
    "std": 0.4, "alpha": 0.1,
    "significance_level": 0.1, "min_precision": 0.3, "target_precision": 0.3, "min_recall": 0.3,
    "target_recall": 0.3, "max_fpr": 0.5, "refit": True, "validation_data": (-X, Y),
    "num_iteration": 1, "ntree_limit": 1, "iteration_range": (0, 1), "threshold": 0.5,
    "thresholds": [0.5], "coef": [0.5], "cutoffs": [0.5],
    "cost_matrix": 1 - np.eye(2), "costs": 1 - np.eye(2),
    "fp": 1, "fn": 5, "cost_fp": 1, "cost_fn": 5, "negative_keep_rate": 0.5, "beta": 0.5,
    "positive_keep_rate": 0.5, "class_keep_rates": {0: 0.5, 1: 1.0}, "train_prior": 0.5,
    "target_prior": 0.1, "weights": ONES, "groups": SEGMENTS, "segments": SEGMENTS, "cv": 3,
    "random_state": 0, "max_depth": 2, "min_samples_leaf": 5, "figsize": (3, 3), "name": "m",
    "n_jobs": 1, "verbose": 0, "early_stopping_rounds": 3, "labels": [0, 1], "n_estimators": 2,
    "learning_rate": 0.1, "counts": np.full(ROWS, 2),
}  # fmt: skip
"""What a word that is followed by other code holds elsewhere."""


def matrix(**more: Any) -> xgb.DMatrix:
    return xgb.DMatrix(X, GRADES, **more)


def dataset(y: Any = GRADES) -> lgb.Dataset:
    return lgb.Dataset(X, y, params={"verbose": -1, "num_threads": 1})


Example = tuple[Callable[..., Any], dict[str, Any]]
COLUMNS, CHANCES = {"y_true": Y, "score": P}, {"y_true": Y, "probability": P}
FITS = {"X": X, "y": Y}
SHALLOW = {"max_depth": 2, "nthread": 1}


def trained() -> tuple[Any, ...]:
    """A booster with weights of classes, and one of the boosters' own estimators each."""
    weighted = {**SHALLOW, "objective": "binary:logistic", "scale_pos_weight": 5}
    return (
        xgb.train(weighted, xgb.DMatrix(X, Y), 2),
        xgboost.XGBClassifier(**TREES, objective=FOCAL).fit(X, Y),
        xgboost.XGBRegressor(**TREES, objective=QWK).fit(X, GRADES),
        lightgbm.LGBMClassifier(**LEAVES, objective=FOCAL).fit(X, Y),
        lightgbm.LGBMRegressor(**LEAVES, objective=QWK).fit(X, GRADES),
        sklearn.HistGradientBoostingClassifier(max_iter=2, objective=LOG_ODDS).fit(X, Y),
        sklearn.HistGradientBoostingRegressor(max_iter=2, objective=QWK).fit(X, GRADES),
    )


BOOSTER, *MODELS = trained()
SERVED = lgb.train({"objective": "binary", "verbose": -1, "num_threads": 1}, dataset(Y), 2)
RULE = go.optimize_thresholds(Y, P, metric="f1")
NAMES |= {"booster": BOOSTER, "data": xgb.DMatrix(X, GRADES)}
INSTANCES: list[Any] = [
    *MODELS, FOCAL, FOCAL.link, go.qwk_metric(), go.metrics.threshold_metric("f1"),
    go.metrics.threshold_metric("matthews"), go.metrics.f_beta_metric(1),
    go.metrics.squared_error_metric(), RULE,
    go.thresholds.optimize_decisions(np.c_[1 - P, P], "macro_f1"),
    go.thresholds.optimize_actions(np.c_[1 - P, P], [[0, 1], [5, 0]]),
    go.thresholds.fit_segment_shift(Y, P, SEGMENTS), go.thresholds.ThresholdStatistics.of(Y, P),
    go.log_odds_shift(negative_keep_rate=0.5), go.priors.estimate_prior(P, 0.5),
    go.priors.prior_shift_test(P, out_of_fold=(Y, P)), go.calibration.LogitCalibrator().fit(P, Y),
    go.calibration.SplineCalibrator().fit(P, Y), go.calibration.VennAbersCalibrator().fit(P, Y),
    go.calibration.TemperatureCalibrator().fit(np.c_[1 - P, P], Y),
    go.calibration.SegmentCalibrator().fit(P, Y, segments=SEGMENTS),
    go.calibration.CalibrationMonitor(negative_keep_rate=0.5),
    go.calibration.ROCConvexHullCalibrator().fit(P, Y), go.calibration.roc_convex_hull(Y, P),
    go.calibration.reliability_bins(Y, P),
    go.calibration.calibration_refinement(Y, P, partition="isotonic"),
    go.calibration.calibration_ratio_by_segment(Y, P, SEGMENTS),
    go.calibration.SegmentStatistics.of(Y, P, SEGMENTS),
    go.calibration.choose_calibrator(Y, P, cv=2),
    go.calibration.calibration_error_test(Y, P, n_resamples=100),
    go.evaluation.estimate_performance(PLAIN, X, Y, "f1", cv=3, n_repeats=2),
    go.evaluation.compare_performance(PLAIN, PLAIN, X, Y, "f1", cv=3, n_repeats=2),
    go.cross_validate_thresholds(Y, P, method=["exact", "plugin"], cv=3),
    go.CalibratedClassifier(PLAIN, cv=2).fit(X, Y),
    go.DownsampledClassifier(PLAIN, {0: 0.5}).fit(X, Y), go.ThresholdClassifier().fit(P, Y),
    go.estimators.ProbabilityEstimationTree().fit(X, Y), go.serving.ServedModel(SERVED),
    go.experimental.delay_distribution(2 * ONES, ONES),
    *go.plotting.ReliabilityDisplay.from_predictions(Y, P).curves.values(),
    go.QWKClassifier(LinearRegression(), cv=2).fit(X, GRADES), go.check_objective(FOCAL, Y),
    *(getattr(go.plotting, f"{kind}Display").from_predictions(Y, P)
      for kind in ("Reliability", "ROCHull", "Threshold")),
]  # fmt: skip
"""One object of each class that has methods or attributes of other names elsewhere."""

pyplot.close("all")
OURS: dict[str, Any] = {
    "X": X, "y_true": Y, "y": Y, "y_pred": Y, "score": P, "probability": P, "sample_weight": ONES,
    "labels": [0, 1], "label_range": (0, 4), "n_classes": 5, "outputs": 1, "mean": 0.5,
    "variance": 0.2, "negative_keep_rate": 0.5, "class_keep_rates": {0: 0.5, 1: 1.0},
    "train_prior": 0.5, "target_prior": {0: 0.9, 1: 0.1}, "random_state": 0, "seed": 0,
    "cv": 3, "nfold": 3,
    "metric": "f1", "method": "exact", "thresholds": [0.5], "n_bins": 4, "strategy": "quantile",
    "n_bootstrap": 100, "n_resamples": 100, "n_repeats": 2, "segments": SEGMENTS,
    "early_stopping_rounds": 3, "verbose_eval": False, "tol": 1e-3, "max_iter": 10, "floor": 0.01,
    "key": KEYS, "title": "March", "gamma": 1.0, "api": "lightgbm", "n_bags": 2, "delay": ONES,
    "output_margin": True, "raw_score": True, "pred_contrib": True, "num_iteration": 1,
    "max_leaf_nodes": 4, "learning_rate": 0.1, "l2_regularization": 1.0, "max_bins": 20,
    "min_samples_leaf": 5, "categorical_features": None, "monotonic_cst": [0, 0, 0],
    "max_features": 1.0, "max_trees": 2, "tree": DecisionTreeClassifier(max_depth=2),
    "matrix": 1 - np.eye(2), "num_boost_round": 2, "eval_sample_weight": [ONES],
    "sample_weight_eval_set": [ONES], "eval_metric": go.qwk_metric(), "estimator": PLAIN,
    "obj": FOCAL, "threshold": 0.5, "margin": P, "overwrite": True,
    "model": SERVED, "folder": "folder", "path": "path.onnx", "counts": np.full(ROWS, 2),
}  # fmt: skip
"""A value of each of our arguments, if the example has none."""

FOCUS, KAPPA = {"eval_metric": go.loss_metric(FOCAL)}, {"metric": go.qwk_metric()}
STUMP, FEW = DecisionTreeClassifier(max_depth=1), {"cv": 3, "n_repeats": 2}
QUADRATIC = {"eval_metric": go.qwk_metric()}
STOPPING = lightgbm.LGBMClassifier(**LEAVES, early_stopping_rounds=2)
DMATRIX, TWO, EVENT = xgb.DMatrix(X, GRADES), np.c_[1 - P, P], {0: 0.9, 1: 0.1}
RECALL: Any = {"metric": "recall", "constraints": {"precision": 0.3}}
EXAMPLES: dict[str, dict[str, Any]] = {
    "train": {"params": SHALLOW, "data": DMATRIX, "num_boost_round": 2, "objective": QWK,
              "metric": go.qwk_metric(), "evals": [(xgb.DMatrix(X, GRADES), "v")]},
    "cv": {"params": SHALLOW, "data": DMATRIX, "num_boost_round": 2, "objective": QWK,
           "metric": go.qwk_metric(), "nfold": 2},
    **{f"{type(one).__name__}.fit": {"X": X, "y": y, "eval_set": [(-X, y)], **more}
       for one, y, more in zip(MODELS, (Y, GRADES, Y, GRADES), ({}, {}, FOCUS, QUADRATIC),
                               strict=False)},
    **{f"{kind}Classifier.fit": {**FITS, "eval_set": [(-X, Y)]}
       for kind in ("Calibrated", "Downsampled")},
    "CalibratedClassifier": {"estimator": STOPPING},
    "QWKClassifier": {"estimator": STOPPING, "objective": QWK},
    "DownsampledClassifier": {"estimator": STOPPING, "negative_keep_rate": 0.5},
    "early_stopping": {"metric": go.qwk_metric(), "rounds": 3},
    "apply_thresholds": {"score": P, "thresholds": [0.5], "labels": [0, 1]},
    "calibration_refinement": {**CHANCES, "partition": "isotonic"},
    "correct_probability": {"probability": P, "negative_keep_rate": 0.5},
    "correct_margin": {"margin": P, "negative_keep_rate": 0.5},
    "correct_threshold": {"threshold": 0.5, "negative_keep_rate": 0.5},
    "log_odds_shift": {"negative_keep_rate": 0.5},
    "shift_intercept": {"booster": BOOSTER, "negative_keep_rate": 0.5},
    "imbalance_shift": {"booster": BOOSTER, "X": X, "y": Y},
    "estimate_prior": {"probability": P, "train_prior": 0.5}, "decide": {"probability": TWO},
    "prior_shift_test": {"probability": P, "train_prior": 0.5},
    "optimize_decisions": {"probability": TWO, "metric": "macro_f1"},
    "optimize_actions": {"probability": TWO, "costs": [[0, 1], [5, 0]]},
    "ActionRule.apply": {"probability": TWO},
    "DecisionRule.apply": {"probability": TWO},
    "TemperatureCalibrator.predict": {"probability": TWO},
    "TemperatureCalibrator.fit": {"probability": TWO, "y": Y},
    "optimize_multilabel_thresholds": {"y_true": np.stack([Y, 1 - Y], axis=1),
                                       "score": np.stack([P, 1 - P], axis=1)},
    "optimize_thresholds": {**COLUMNS, **RECALL}, "ThresholdClassifier": RECALL,
    "ThresholdStatistics.thresholds": RECALL,
    "threshold_metric": {"metric": "f1", "label_range": (0, 1)},
    "qwk_metric": {"label_range": (0, 1)}, "kappa_objective": {"cost": "squared", "y_true": Y},
    "ThresholdDisplay": {"rows": None, "thresholds": RULE},
    "compare_performance": {"first": STUMP, "second": STUMP, **FITS, "metric": "f1", **FEW},
    "estimate_performance": {"estimator": STUMP, **FITS, "metric": "f1", **FEW},
    "cross_validate_thresholds": {**COLUMNS, "cv": 3, "n_bootstrap": 0},
    "choose_calibrator": {**COLUMNS, "cv": 2}, "qwk_objective": {"y_true": Y},
    "objective": {"function": lambda y, z, w: (z - y, np.ones_like(z))},
    "objective_from_loss": {"loss": lambda y, z, w: (z - y) ** 2, "hessian": lambda y, z, w: 2.0},
    "ratio_objective": {"numerator": lambda y, p: ((p - y) ** 2, 2 * (p - y)),
                        "denominator": lambda y, p: (1.0, 0.0)},
    "Thresholds": {"values": [0.5], "labels": [0, 1]}, "Thresholds.to_sql": {"score": "score"},
    "ordinal_logit_objective": {"n_classes": 5},
    "delay_distribution": {"delay": ONES, "age": 2 * ONES},
    "check_objective": {"obj": go.focal_objective(2.0, n_classes=3), "y_true": GRADES % 3},
    "report": {"model": PLAIN.fit(X, Y), **FITS, "path": "page.html"},
    "ThresholdCrossValidation.difference": {"method": "exact", "other": "plugin"},
}  # fmt: skip
"""Calls of which more must be said than what is needed."""

MORE: dict[str, dict[str, Any]] = {
    **{row: {"target_prior": 0.1} for row in ("log_odds_shift", *(
        f"correct_{what}" for what in ("probability", "margin", "threshold")))},
    "ordinal_logit_objective": {"thresholds": [0.0, 1.0, 2.0, 3.0]},
    "check_objective": {"n_classes": 3},
    **{row: KAPPA for row in ("train", "cv", "early_stopping")},
}  # fmt: skip
"""Values of our arguments that another callable takes in another form."""


def parameters(call: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    several = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
    found = inspect.signature(call).parameters.items()
    return {name: p for name, p in found if name not in ("self", "cls") and p.kind not in several}


def row_of(call: Callable[..., Any], kind: type | None = None) -> str:
    """What the tables call a callable."""
    row = call.__qualname__.removesuffix(".__init__")
    name = "" if call.__name__ == "__init__" else f".{call.__name__}"
    theirs = kind is not None and not call.__module__.startswith("gbdt_objectives.")
    return f"{kind.__name__}{name}" if kind and (theirs or "<locals>" in row) else row


def doors() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Everything that is exported and called: functions, classes, and methods of the objects."""
    for room in ROOMS:
        module = import_module(f"gbdt_objectives.{room}")
        for name in set(module.__all__) & set(vars(module)):
            if isinstance(vars(module)[name], FunctionType):
                yield row_of(vars(module)[name]), vars(module)[name]
    yield from (("train", xgboost.train), ("cv", xgboost.cv))
    yield "early_stopping", xgboost.early_stopping
    for one in INSTANCES:
        kind = type(one)
        if kind.__name__ in NAMES or one in MODELS[4:]:  # the others take **kwargs
            yield row_of(kind.__init__, kind), kind
        for name in dir(kind):
            member = inspect.getattr_static(kind, name)
            member = getattr(member, "__func__", member)
            asked = str(getattr(member, "__module__", "")).startswith("gbdt_objectives.")
            asked |= name in ("fit", "predict", "predict_proba") and one in MODELS
            asked |= name == "score" and kind.__name__ in NAMES
            if isinstance(member, FunctionType) and asked and name[0] != "_":
                is_bound = isinstance(inspect.getattr_static(kind, name), FunctionType)
                yield row_of(member, kind), getattr(one if is_bound else kind, name)


COUNTED = "ClassMetric.of_counts", "ShareMetric.of_counts", "RatioMetric.of_counts"
INSIDE = "Link.score", "ClassMetric.agree_labels", *COUNTED
DOORS = {row: call for row, call in doors() if row not in INSIDE}
"""All but what is for those who write objectives and metrics, and has names of other places."""


@functools.wraps(go.calibration.CalibrationMonitor.update)
def update(*given: Any, **named: Any) -> Any:
    """Of a new monitor, which has not seen the rows."""
    return go.calibration.CalibrationMonitor(negative_keep_rate=0.5).update(*given, **named)


DOORS |= {
    "CalibrationMonitor.update": update,
    "CalibratedClassifier.fit": go.CalibratedClassifier(PLAIN).fit,
    "DownsampledClassifier.fit": go.DownsampledClassifier(STOPPING, 0.5, correction="offset").fit,
    "Exported.export": lightgbm.LGBMClassifier(**LEAVES, objective=LOG_ODDS).fit(X, Y).export,
}
WORDS = {
    word.rstrip("?") for rows in (spellings.EVERYWHERE, *spellings.ONLY_AT.values())
    for words in rows.values() for word in words.split()
}  # fmt: skip


@functools.cache
def asked_at(row: str) -> list[str]:
    """The words of which the tables know something at a callable."""
    names = parameters(DOORS[row])
    return sorted(word for word in WORDS - {*names} if any(spellings.known(row, word, names)))


def example(row: str) -> dict[str, Any]:
    """A call that works: what is needed, or the fields of a result."""
    call = DOORS[row]
    own = next((one for one in INSTANCES if type(one) is call), None)
    if row in EXAMPLES:
        return EXAMPLES[row]
    if own is not None and hasattr(own, "__dataclass_fields__"):
        return {name: getattr(own, name) for name in parameters(call)}
    needed = [name for name, p in parameters(call).items() if p.default is p.empty]
    return {name: {**OURS, **MORE.get(row, {})}[name] for name in needed}


SHIFTS = {"shift", "delta", "negative_keep_rate", "positive_keep_rate", "class_keep_rates"}
"""One of which describes a shift."""
NUMBERS = itertools.count()


def made(row: str, base: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    """All arguments of a call, without what those that are typed stand for, and with a new path."""
    if SHIFTS & {*base} and {*arguments} & {*SHIFTS, "train_prior", "target_prior"}:
        base = {name: value for name, value in base.items() if name not in SHIFTS}
        if "train_prior" in arguments or "target_prior" in arguments:
            base |= {"train_prior": 0.5, "target_prior": 0.1}
    found = {**base, **arguments}
    for name in {"folder", "path"} & {*found} if row != "load" else ():
        found[name] = f"{next(NUMBERS)}{found[name]}"
    return found


def typed(
    answer: str, around: dict[str, Any], ours: dict[str, Any], base: dict[str, Any]
) -> Iterator[dict[str, Any] | None]:
    """The arguments that a remedy writes; None if it is a call of its own, which is made."""
    if answer == spellings.WRITE_OUT:
        rows = np.repeat(np.arange(ROWS), around["counts"])
        yield {name: v[rows] for name, v in base.items() if isinstance(v, np.ndarray)}
    elif answer.startswith("set it on the data"):
        yield {"data": xgb.DMatrix(X, GRADES, weight=ONES)}
    elif answer.startswith("leave it out"):
        yield {}
    for code in re.findall(r"write (\S.+?)(?= for |;|$)", answer.replace(spellings.WRITE_OUT, "")):
        if re.match(r"\w+=$", code):
            yield {code[:-1]: ours[code[:-1]]}
        elif re.match(r"\w+=", code):
            yield eval(f"dict({code})", around)
        else:
            eval(code, around)
            yield None


@each("row", sorted(row for row in DOORS if asked_at(row)))
def test_a_remedy_is_typed_and_runs(row: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    call, base, names = DOORS[row], example(row), {*parameters(DOORS[row])}
    kind, ours = getattr(call, "__self__", None), {**OURS, **base, **MORE.get(row, {})}
    if row == "load":
        go.serving.export(SERVED, "folder")
    call(**made(row, base))
    written = set[str]()
    for word in asked_at(row):
        _, meant = spellings.known(row, word, names)
        value = VALUES.get(word, NAMES.get(word, ours.get(meant[0]) if meant else word))
        with pytest.raises(TypeError) as error:
            call(**base, **{word: value})
        said = str(error.value)
        if "unexpected keyword" in said or ("has no argument" in said and "; its" in said):
            near = re.findall(r"(\w+)=", said.partition(";")[2])
            assert bool(names) <= len(near) <= 3, said
            continue
        answer = said.partition(": ")[2]
        if f"{word}=..." in said or answer == f"pass it to fit, {word}=":  # another call of ours
            takes = (
                inspect.signature(call.fit).parameters if "to fit" in said else kind.get_params()
            )
            assert word in takes, said
            continue
        if answer in written:
            continue
        written.add(answer)
        around = {**NAMES, **base, "model": kind, **VALUES, word: value}
        for arguments in typed(answer, around, ours, base):
            if arguments is not None:
                call(**made(row, base, **arguments))
                pyplot.close("all")
    assert written or not any(spellings.counterpart(row, w, names) for w in asked_at(row))


def test_whatever_answers_a_word_is_typed_above() -> None:
    """All that is exported, but for what is inside of objectives and metrics."""
    silent = set()
    for room in set(ROOMS) - {"adapters", "distributed", "objectives", "metrics"}:
        module = import_module(f"gbdt_objectives.{room}")
        for kind in (vars(module).get(name) for name in module.__all__):
            for name in dir(kind) if isinstance(kind, type) else ():
                member = inspect.getattr_static(kind, name)
                member = getattr(member, "__func__", member)
                if isinstance(member, FunctionType) and (name[0] != "_" or name == "__init__"):
                    row, names = row_of(member, kind), parameters(member)
                    if row not in DOORS and any(
                        spellings.counterpart(row, w, names) for w in WORDS
                    ):
                        silent.add(row)
    assert not silent, "add an object of the class to INSTANCES"


def test_a_row_of_one_callable_is_in_force() -> None:
    commands = {"calibrate", "calibration", "apply"}
    for called, rows in spellings.ONLY_AT.items():
        for row in {*called.split()} - commands - {*INSIDE}:
            names = parameters(DOORS[row])
            for code, words in rows.items():
                taken = all(map({*names}.__contains__, spellings.written(code.replace("{}", "a"))))
                open_words = {word.rstrip("?") for word in words.split()} - {*names}
                assert open_words, (row, code)
                assert taken or row in ("train", "cv"), (row, code)


def test_a_hint_belongs_to_a_callable() -> None:
    """The word of an issue: another objective's offset is no log-odds."""
    names = ["delta", "hessian"]
    assert spellings.counterpart("huber_objective", "offset", names) == ""
    said = spellings.unexpected("huber_objective", "huber_objective", "offset", names)
    assert said.endswith("keyword argument 'offset'; its arguments are delta=, hessian=")


TYPED: dict[str, Callable[[Any], Any]] = {
    "it is an array itself: thresholds[0], list(thresholds), thresholds.values":
        lambda one: (one[0], list(one), one.values),
    "measure quadratic_weighted_kappa(y_true, thresholds.apply(score))":
        lambda one: go.quadratic_weighted_kappa(Y, one.apply(P)),
    "the fitted members have it, .estimator_ or each of .estimators_":
        lambda one: getattr(one, "estimator_", None) or [*one.estimators_],
    "its link turns margins into predictions, objective.link.inverse(margin)":
        lambda one: one.link.inverse(P),
    "gbdt_objectives.loss_metric(objective) is its loss": go.loss_metric,
    "call it, metric(y_true, score)": lambda metric: metric(Y, Y),
    "to_frame() makes a pandas DataFrame of them": lambda one: one.to_frame(),
    "probabilities are those of the Classifier": lambda one: sklearn.HistGradientBoostingClassifier,
}  # fmt: skip
"""What is typed instead of an attribute."""


def test_what_is_written_instead_of_an_attribute_is_there() -> None:
    answered = set()
    for one in INSTANCES:
        bases = {base.__name__ for base in type(one).__mro__}
        for kinds, rows in spellings.ATTRIBUTES.items():
            for said, words in rows.items() if bases & {*kinds.split()} else ():
                answered |= bases & {*kinds.split()}
                for word in words.split():
                    if hasattr(one, word):  # as XGBoost's best_iteration, if it stopped
                        continue
                    with pytest.raises(AttributeError) as error:
                        getattr(one, word)
                    text = str(error.value)
                    if said.isidentifier() and f"here that is .{said}" in text:
                        assert hasattr(one, said) or "best_iteration" in said, text
                    elif said in text and said in TYPED:
                        assert TYPED[said](one) is not None
                    elif said in text:  # a place
                        for place in re.findall(r"gbdt_objectives(?:\.\w+)+", said):
                            name = place.rpartition(".")[2]
                            assert "adapters" in place or callable(NAMES[name])
    left = {kind for kinds in spellings.ATTRIBUTES for kind in kinds.split()} - answered
    assert left <= {"CatBoost"}


def test_another_kappa_is_the_one_that_is_meant() -> None:
    worse = np.clip(GRADES + (KEYS % 3 == 0), 0, 4)
    linear = go.metrics.threshold_metric("linear")(GRADES, worse)
    assert linear == pytest.approx(cohen_kappa_score(GRADES, worse, weights="linear"))


@each(("library", "word", "value", "more"), [
    (lightgbm, "xgb_model", None, {}), (xgboost, "init_model", None, {}),
    (xgboost, "verbose", False, {"verbose_eval": False}), (xgboost, "keep_training_booster", 1, {}),
    (lightgbm, "verbose_eval", 1, {"callbacks": [lgb.log_evaluation(1)]}),
    (lightgbm, "evals_result", {}, {"callbacks": [lgb.record_evaluation({})]}),
    (lightgbm, "learning_rates", [0.1],
     {"callbacks": [lgb.reset_parameter(learning_rate=[0.1, 0.1])]}),
])  # fmt: skip
def test_what_the_other_booster_calls_it(library: Any, word: str, value: Any, more: Any) -> None:
    """The libraries' own words of train and cv, in ``INSTEAD`` of each adapter."""
    make = matrix if library is xgboost else dataset
    params = SHALLOW if library is xgboost else {"num_leaves": 3, "verbose": -1}

    def train(**more: Any) -> Any:
        return library.train(params, make(), 2, objective=QWK, **more)

    with pytest.raises(TypeError, match=rf"{word}=: (write|leave it out)") as error:
        train(**{word: value})
    ours = re.search(r"write (\w+)=", str(error.value))
    booster = train(**more)
    assert ours is None or ours[1] in more or train(**{ours[1]: booster})
