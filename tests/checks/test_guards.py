"""Each guard, asked with the facts of a call: it raises with the remedy, and lets right calls be.

``tests/matrix`` asks them through the doors.
"""

from __future__ import annotations

import inspect
import pickle
import re
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import gbdt_objectives as go
from gbdt_objectives._checks import guards
from gbdt_objectives._checks.asked import (
    UNKNOWN,
    Asked,
    Earlier,
    Member,
    Model,
    Sampling,
    Training,
    guard,
)
from gbdt_objectives._links import CHANGED, IDENTITY, LOG, LOGIT, OPAQUE, UNDECLARED, Link
from gbdt_objectives._registry import LIGHTGBM, SKLEARN, XGBOOST, library
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.calibration import TemperatureCalibrator
from gbdt_objectives.metrics import class_logloss_metric, squared_error_metric
from gbdt_objectives.thresholds import ThresholdStatistics
from tests.cases import each
from tests.strangers.poisson import poisson_objective

KINDS = {one.name: kind for kind in Asked.__subclasses__() for one in kind.guards}
GUARDS = {one.name: one for kind in Asked.__subclasses__() for one in kind.guards}


def known(guard: str, facts: dict[str, Any]) -> Any:
    """The value that a guard is asked by, with these facts, which has asked none."""
    value = KINDS[guard]()
    vars(value).update(facts)
    return value


FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
QWK, LOGLOSS, FOCAL = go.qwk_objective(), go.weighted_logloss_objective(1.0), go.focal_objective(2)
KAPPA, ERROR = go.qwk_metric(), squared_error_metric()
SOFTMAX = go.objective(lambda y, f, w: (f, f), link="softmax", outputs=3)
OF_PROBABILITY = go.weighted_logloss_metric(1.0, input_space="probability")


class XGBClassifier:
    """Stands for the library's own."""


class XGBRegressor:
    """Stands for the library's own."""


def kappa(y_true, y_pred):
    return KAPPA(y_true, np.rint(y_pred))


def squares(y_true, y_pred):
    return np.mean((y_true - y_pred) ** 2)


def rank(y_true, y_pred):
    return roc_auc_score(y_true, y_pred)


GRADES, EVENTS = np.arange(60) % 4, np.arange(60) % 2
SETS = [("held out", "v"), ("rows", "t")]
LABELS = {0: [1, 2], 1: [3, 4], None: [1, 2]}

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("metrics_are_known", {"library": LIGHTGBM, "ignored": {"qwk": "pass qwk_metric()"}},
     "eval_metric 'qwk' is not a metric of LightGBM, .*: pass qwk_metric"),
    ("class_weights_are_heeded",
     {"objective": QWK, "library": LIGHTGBM,
      "parameters": [("unbalance", "is_unbalance", True)]},
     "unbalance=True does nothing under a custom objective: leave it out"),
    ("own_metrics_read_margins",
     {"objective": LOGLOSS, "library": LIGHTGBM, "predicts_by": IDENTITY, "others": ["auc"],
      "unnamed": ["l2"], "watched": {"l2", "auc"}, "orders": {"auc"}},
     "eval_metric 'l2' is LightGBM's own, which would misread .*: pass metric=\"None\"$"),
    ("own_metrics_read_margins",
     {"objective": LOGLOSS, "library": XGBOOST, "predicts_by": IDENTITY, "others": [],
      "unnamed": ["rmse"], "watched": {"rmse"}},
     "eval_metric 'rmse' is XGBoost's own, which would misread log-odds.*: pass weighted_logloss"
     ".*, and pass disable_default_eval_metric=True$"),
    ("classes_count_alike",
     {"name": "m", "parameters": [("a__scale_pos_weight", "scale_pos_weight", 3)],
      "weighing": "which is ignored"},
     "m has a__scale_pos_weight=3, which is ignored"),
    ("class_weight_has_positions",
     {"name": "m", "classes": [1, 2],
      "parameters": [("class_weight", "class_weight", {1: 1, 2: 5})]},
     r"names labels, .* on their positions: write \{0: 1.0, 1: 5.0\}"),
    ("is_made_for_positions",
     {"name": "m", "classes": [1, 2, 3], "of_positions": True,
      "parameters": [("eval_metric", "eval_metric", go.qwk_metric((1, 3)))]},
     r"positions 0 to 2, but eval_metric is made for labels, .* or qwk_metric\(\)"),
    ("own_takes_labels",
     {"name": "m", "library": library("lightgbm"), "target_ends": (0.0, 4.0),
      "parameters": [("objective", "objective", "gamma")]},
     "objective='gamma', which takes labels above 0, but learns 0 to 4: .* pass target="),
    ("estimator_reads_margins",
     {"name": "q", "link": IDENTITY, "estimator_of": XGBOOST, "role": "Classifier"},
     "q trains a score in label units.*import XGBRegressor from"),
    ("estimator_reads_margins",
     {"name": "q", "link": LOG, "estimator_of": LIGHTGBM, "role": "Regressor"},
     "would return logs .* import LGBMRegressor from"),
    ("estimator_reads_margins",
     {"name": "q", "link": LOGIT, "estimator_of": LIGHTGBM, "role": "Classifier"},
     "returns raw scores as probabilities.* import LGBMClassifier from"),
    ("estimator_reads_margins",
     {"name": "q", "link": Link.softmax(3), "estimator_of": XGBOOST, "role": "Classifier"},
     "would take the logistic function or softmax .* import XGBClassifier from"),
    ("booster_predicts_by_link",
     {"name": "q", "link": IDENTITY, "library": XGBOOST, "named_as": "binary:logistic",
      "transform": LOGIT},
     "the objective 'binary:logistic' would take for log-odds.*XGBRegressor.*apply_thresholds"),
    ("booster_predicts_by_link",
     {"name": "q", "link": UNDECLARED, "library": XGBOOST, "named_as": "reg:absoluteerror",
      "transform": CHANGED},
     "'reg:absoluteerror' would take for .*leaves to refit.*leave objective out of the parameters"),
    ("sums_are_of_all_rows", {"name": "q", "alone": LIGHTGBM}, "train a different model"),
    ("sums_are_of_all_rows", {"name": "q", "alone": LIGHTGBM, "metric": KAPPA}, "stop in another"),
    ("form_is_that_of_caller", {"name": "qwk", "library": XGBOOST, "form": LIGHTGBM},
     "qwk.lightgbm is called by xgboost: pass the metric itself, or metric.xgboost as custom"),
    ("stops_in_its_direction", {"name": "qwk", "metric": KAPPA, "directions": (True, False)},
     "would minimise qwk: pass maximize=True, or leave it out"),
    ("stops_in_its_direction", {"name": "e", "metric": ERROR, "directions": (True,)},
     "would maximise e: pass maximize=False"),
    ("metric_sees_all_rows", {"name": "qwk", "within": True}, "pass metric.xgboost itself"),
    ("metric_reads_predictions",
     {"name": "m", "metric": go.loss_metric(LOGLOSS), "link": LOGIT, "predictions": LOGIT},
     "takes log-odds.*booster passes predictions"),
    ("metric_reads_response",
     {"metric": go.loss_metric(LOGLOSS), "response": "predict_proba"},
     "log-odds.*what predict_proba of .* gives: make it with input_space"),
    ("metric_reads_response", {"metric": OF_PROBABILITY, "response": "decision_function"},
     'takes probabilities.*pass response_method="predict_proba"'),
    ("metric_reads_link", {"metric": OF_PROBABILITY, "objective": LOGLOSS},
     'takes probabilities.*make it with input_space="margin"'),
    ("metric_reads_link", {"metric": go.weighted_logloss_metric(1.0), "objective": QWK},
     "takes log-odds.*but .* trains scores in label units: pass extended_qwk_metric"),
    ("metric_reads_link", {"metric": go.loss_metric(go.ordinal_logit_objective(3)),
                           "objective": FOCAL}, "is that of .*which would misread"),
    ("metric_reads_built_in", {"metric": class_logloss_metric(), "role": "Classifier",
                               "built_in": None},
     'class_logloss_metric\\(input_space="probability"\\)'),
    ("metric_reads_built_in", {"metric": ERROR, "role": "Classifier", "built_in": None},
     "takes margins in label units.*use a regressor"),
    ("metric_reads_built_in",
     {"metric": go.weighted_logloss_metric(1.0), "role": "Classifier", "built_in": None},
     "takes log-odds, but under a built-in objective"),
    ("own_metrics_read_margins",
     {"others": (KAPPA, "auc"), "objective": LOGLOSS, "library": XGBOOST,
      "predicts_by": IDENTITY},
     "'auc' is XGBoost's own, which would misread log-odds"),
    ("own_metrics_read_margins",
     {"others": ("rmse", "error@0.3"), "objective": poisson_objective(),
      "library": XGBOOST, "predicts_by": LOG, "readers": ["rmse"]},
     "'error@0.3' is XGBoost's own, which would misread logs of a positive mean"),
    ("functions_read_margins",
     {"others": (squares,), "objective": LOGLOSS, "labels": lambda k: EVENTS},
     "'squares' is a function, .*get margins, log-odds .*: pass weighted_logloss_metric"),
    ("functions_read_margins", {"others": (rank,), "objective": LOGLOSS, "labels": None},
     "pass weighted"),
    ("functions_read_margins",
     {"others": (rank,), "objective": go.ordinal_logit_objective(2), "labels": lambda k: EVENTS},
     "scores that only .*: pass loss_metric"),
    ("function_stops_in_its_direction",
     {"last": kappa, "guesses": (False,), "objective": QWK, "labels": lambda k: GRADES},
     "minimise 'kappa', a function.*pass a Metric, .*maximize=..."),
    ("function_stops_in_its_direction",
     {"last": kappa, "guesses": (False,), "objective": None,
                                         "labels": lambda k: GRADES}, "minimise 'kappa'"),
    ("function_stops_in_its_direction",
     {"last": squares, "guesses": (False, True), "objective": None,
                                         "labels": lambda k: GRADES}, "'squares'"),
    ("function_stops_in_its_direction",
     {"last": squares, "guesses": (False,), "objective": QWK,
                                         "labels": None}, "does not say"),
    ("values_stop_in_their_direction",
     {"last": "k", "guesses": [False], "greater_is_better": True, "returns": "qwk"},
     r"minimise 'k', a function that returns qwk: pass a Metric, .*\(rounds=..., maximize=True"
     r"\)\], .*, or maximize=True to train and cv"),
    ("values_stop_in_their_direction",
     {"last": "precost", "guesses": [True], "greater_is_better": False, "returns": "cost"},
     "would maximise 'precost', .* maximize=False to train"),
    ("function_takes_labels_weights", {"function": lambda y, f: (f - y, 1.0), "weighted": True},
     "takes none, and they would not count: write it as f\\(y_true, y_pred, sample_weight"),
    ("function_takes_labels_weights", {"function": lambda y_pred, y_true: (y_pred - y_true, 1.0),
                                       "weighted": False},
     "takes \\(y_pred, y_true\\), .* it would train backwards; write the labels first"),
    ("objective_fits_estimator",
     {"objective": go.objective(lambda y, f, w: (f, f)), "estimator": XGBClassifier(),
      "role": "Classifier"}, "declare its link.*or use XGBRegressor"),
    ("objective_fits_estimator",
     {"objective": QWK, "estimator": XGBClassifier(), "role": "Classifier"},
     "not log-odds: use XGBRegressor, and turn its scores into classes"),
    ("objective_fits_estimator",
     {"objective": LOGLOSS, "estimator": XGBRegressor(), "role": "Regressor", "library": XGBOOST,
      "labels": lambda k: EVENTS * 1.0}, "use XGBClassifier, .*output_margin=True margins"),
    *(("objective_fits_estimator",
       {"objective": one, "estimator": XGBRegressor(), "role": "Regressor", "library": own,
        "labels": lambda k: EVENTS / 2}, "between 0 and 1 are for weighted_logloss_objective")
      for one, own in ((FOCAL, XGBOOST), (LOGLOSS, SKLEARN))),
    ("stops_on_a_metric_of_ours", {"objective": QWK, "library": LIGHTGBM, "stops_on": None},
     "LightGBM would stop on a default of its own.*loss_metric"),
    ("stops_on_held_out", {"sets": [], "data": "rows", "looks_at": [None]},
     "early stopping needs held-out rows"),
    ("stops_on_held_out", {"sets": SETS, "data": "others", "looks_at": [None, "x"]},
     "'x', but .* 'v', 't': give one"),
    ("stops_on_held_out", {"sets": SETS, "data": SETS[1][0], "looks_at": [None]},
     "'t', which is the training data"),
    ("rows_start_alike", {"row_start": "base_margin", "sets_with_start": {"a": True, "b": False}},
     "base_margin is set on a but not on b"),
    ("row_start_is_added", {"library": LIGHTGBM, "row_start": "init_score",
                            "start_ends": (2.0, 2.0)},
     "init_score is given, but .* missing from the predictions: leave it out, .*intercept"),
    ("row_start_is_added", {"library": LIGHTGBM, "row_start": "eval_init_score",
                            "start_ends": (-np.inf, np.inf), "estimator": XGBRegressor()},
     "eval_init_score is given, .*by row use gbdt_objectives.adapters.lightgbm.train"),
    ("starts_near_intercept", {"start": 0.0, "intercept": 2.0, "tolerance": 1.0, "engine": "Spark",
                               "library": XGBOOST},
     ": pass base_score=2, or import .* from gbdt_objectives.distributed.spark, which"),
    ("starts_near_intercept", {"start": 0.0, "pull": 1.0, "engine": "Ray", "library": XGBOOST},
     "any good constant.*gbdt_objectives.adapters.xgboost, "),
    ("earlier_margins_are_read", {"earlier": Earlier("init_model", averages=True)},
     "init_model is a forest, boosting='rf', .*train it with boosting='gbdt'"),
    ("columns_are_in_order", {"columns": ["b", "a c"], "trained_on": ["a_c", "b"], "name": "X",
                              "of": "init_model"},
     r"^X has the columns of init_model in another order, .*: pass X\[\['a c', 'b'\]\], of Arrow"),
    ("categories_keep_their_numbers", {"categories": {"c": ["v", "u", "w"]}, "known": [["u", "v"]],
                                       "of": "init_model"},
     r"init_model was trained on the categories \['u', 'v'\] of 'c', .*set_categories"
     r"\(\['u', 'v', 'w'\]\)\}\)$"),
    ("rows_are_in_order", {"rows": {"X": FRAME, "y": FRAME.a[::-1]}, "name": "data"},
     r"^X and y of data have the same index in another order, .*: pass y\.loc\[X\.index\], or"),
    ("earlier_model_fits", {"earlier": Earlier("init_model", 3), "objective": QWK},
     "init_model has 3 outputs, but .* has 1"),
    ("shift_moves_log_odds", {"shift_by": "negative_keep_rate", "link": IDENTITY,
                              "name": "the objective 'regression'"},
     "rate moves log-odds, but the objective 'regression' has scores in label units: leave it out, "
     ".*delta="),
    ("shift_moves_log_odds", {"shift_by": "shift", "name": "p", "link": LOG}, "p has logs of"),
    ("thins_the_frequent_class", {"name": "rate", "thinned": 0, "rows_of": (19, 81),
                                  "kept": 2, "rate": 0.1, "to_name": "pass 1 - y"},
     "^rate drops rows of 0, the less frequent class, 19 rows to 81: pass 1 - y$"),
]  # fmt: skip

OF_X = {"name": "X", "of": "the training rows"}
RIGHT: list[tuple[str, dict[str, Any]]] = [
    *(("columns_are_known", {**OF_X, "columns": given, "trained_on": own}) for given, own in (
        (["a", "c"], ["a", "b"]), (None, ["a", "b"]), (["a", "b"], None), (["a b"], ["a_b"]),
        (["a", "b"], ["Column_0", "Column_1"]), (["f0", "f1"], ["a", "b"]), ([3, 7], ["a", "b"]),
    )),
    *(("weights_leave_the_rate_alone",
       {"weights": np.array(w), "positive": np.array(e), "rate": rate})
      for w, e, rate in (
          ([1.0, 1, 1, 1], [True, False, True, False], 0.1),  # no weights, of as many rows
          ([2.0, 1, 1], [True, False, False], 1.0),  # nothing is corrected
          ([2.0, 1, 2], [True, False, False], 0.1), ([2.0, 3], [True, True], 0.1),
      )),
    ("metrics_are_known", {"library": LIGHTGBM, "ignored": {}}),
    ("class_weights_are_heeded",
     {"objective": QWK, "library": LIGHTGBM,
      "parameters": [("scale_pos_weight", "scale_pos_weight", 1), ("eta", "eta", 0.1)]}),
    ("own_metrics_read_margins",  # which nobody has named, and nothing stops on
     {"objective": LOGLOSS, "library": XGBOOST, "predicts_by": IDENTITY, "unnamed": ["rmse"],
      "others": ["auc", "ndcg@5"], "orders": {"auc", "ndcg"}, "watched": set()}),
    ("stops_on_ours_alone", {"metric": KAPPA, "library": LIGHTGBM, "unnamed": ["l2"],
                             "watched": {"qwk"}}),
    ("start_stays_in_the_model",
     {"objective": QWK, "library": XGBOOST, "row_start": "base_margin", "lost_start": 2.0,
      "parameters": [("base_score", "base_score", "2")]}),
    *(("rate_is_of_the_frequent_class", {"loss": loss.equations, "rows": Rows(EVENTS * 1.0)})
      for loss in (QWK, go.weighted_logloss_objective(1), go.offset_logloss_objective(0.9))),
    ("estimator_reads_margins", {"link": IDENTITY, "estimator_of": XGBOOST, "role": "Regressor"}),
    ("estimator_reads_margins", {"link": LOGIT, "estimator_of": XGBOOST, "role": "Classifier"}),
    ("estimator_reads_margins", {"link": UNDECLARED, "estimator_of": LIGHTGBM,
                                 "role": "Classifier"}),
    ("booster_predicts_by_link", {"link": LOGIT, "library": XGBOOST, "transform": LOGIT}),
    ("booster_predicts_by_link", {"link": LOGIT, "library": XGBOOST, "transform": IDENTITY}),
    ("booster_predicts_by_link", {"link": UNDECLARED, "library": XGBOOST, "transform": LOG}),
    ("form_is_that_of_caller", {"library": XGBOOST, "form": XGBOOST}),
    ("stops_in_its_direction", {"metric": KAPPA, "directions": (True, True)}),
    ("metric_reads_predictions", {"metric": KAPPA, "link": IDENTITY, "predictions": LOGIT}),
    ("metric_reads_predictions", {"metric": OF_PROBABILITY, "link": LOGIT, "predictions": LOGIT}),
    ("metric_reads_response", {"metric": KAPPA, "response": "predict", "maximizes": True}),
    ("metric_reads_link", {"metric": KAPPA, "objective": QWK}),
    ("metric_reads_link", {"metric": go.loss_metric(FOCAL), "objective": FOCAL}),
    ("metric_reads_built_in", {"metric": ERROR, "role": "Regressor", "built_in": None}),
    ("metric_reads_built_in", {"metric": go.weighted_logloss_metric(1.0), "role": "Regressor",
                               "built_in": "binary:logitraw"}),
    ("own_metrics_read_margins", {"others": ("None", KAPPA), "library": XGBOOST,
                                  "objective": LOGLOSS, "predicts_by": IDENTITY}),
    ("functions_read_margins", {"others": (kappa, "rmse", KAPPA), "objective": QWK,
                                "labels": None}),
    ("functions_read_margins", {"others": (rank,), "objective": LOGLOSS,
                                "labels": lambda k: EVENTS}),
    ("function_stops_in_its_direction", {"last": squares, "guesses": (False,),
                                         "objective": QWK, "labels": lambda k: GRADES}),
    ("function_stops_in_its_direction",
     {"last": lambda y, f: 1 - kappa(y, f), "guesses": (False,), "objective": QWK,
      "labels": lambda k: GRADES}),
    ("function_stops_in_its_direction", {"last": kappa, "guesses": (True,),
                                         "objective": QWK, "labels": lambda k: GRADES}),
    ("function_stops_in_its_direction", {"last": kappa, "guesses": (), "objective": QWK,
                                         "labels": lambda k: GRADES}),
    ("function_stops_in_its_direction", {"last": kappa, "guesses": (False,), "objective": None,
                                         "labels": None}),
    ("values_stop_in_their_direction",
     {"last": "k", "guesses": [True], "greater_is_better": True, "returns": "qwk"}),
    ("values_stop_in_their_direction",
     {"last": "e", "guesses": [False], "greater_is_better": False, "returns": ""}),
    ("function_takes_labels_weights", {"function": lambda y, f: (f - y, 1.0), "weighted": False}),
    ("function_takes_labels_weights", {"function": lambda y, f, w: (w * (f - y), w),
                                       "weighted": True}),
    ("function_takes_labels_weights", {"function": lambda y_true, y_pred: (y_pred - y_true, 1.0),
                                       "weighted": False}),
    ("function_takes_labels_weights", {"function": None, "weighted": True}),
    ("objective_fits_estimator", {"objective": QWK, "role": "Regressor", "library": XGBOOST}),
    ("objective_fits_estimator", {"objective": LOGLOSS, "role": "Classifier", "library": XGBOOST}),
    ("objective_fits_estimator", {"objective": LOGLOSS, "role": "Regressor", "library": LIGHTGBM,
                                  "labels": lambda k: EVENTS / 2}),
    ("stops_on_a_metric_of_ours", {"objective": QWK, "library": LIGHTGBM, "stops_on": KAPPA}),
    ("stops_on_held_out", {"sets": SETS, "data": "others", "looks_at": [None],
                           "labels": {0: [1], 1: [2], None: [3]}.get}),
    ("stops_on_held_out", {"sets": SETS, "data": SETS[1][0], "looks_at": []}),
    ("rows_start_alike", {"sets_with_start": {"a": True, "b": True}}),
    ("earlier_margins_are_read", {"link": IDENTITY, "earlier": Earlier("m", 1, IDENTITY)}),
    ("columns_are_in_order", {"columns": ["b", "c"], "trained_on": ["a", "b"]}),
    ("columns_are_in_order", {"columns": None, "trained_on": ["a", "b"]}),
    ("columns_are_in_order", {"columns": ["a", "b"], "trained_on": None}),
    ("categories_keep_their_numbers", {"categories": {"c": ["u"]}, "known": [["u", "v"]]}),
    ("categories_keep_their_numbers", {"categories": {"c": ["u", "v", "w"]}, "known": [["u"]]}),
    ("categories_keep_their_numbers", {"categories": {}, "known": [["u", "v"]]}),
    ("rows_are_in_order", {"rows": {"X": FRAME, "y": np.ones(3)}, "name": ""}),
    ("earlier_margins_are_read", {"link": UNDECLARED, "earlier": Earlier("m", 1, LOGIT)}),
    ("earlier_margins_are_read",  # so is it named
     {"link": FOCAL.link, "earlier": Earlier("m", 1, IDENTITY)}),
    ("earlier_model_fits", {"earlier": Earlier("m", 1), "objective": QWK}),
    ("shift_moves_log_odds", {"link": LOGIT}),
    ("shift_moves_log_odds", {"link": Link.softmax(None)}),
    ("starts_near_intercept", {"start": 0.5, "intercept": 1.0, "tolerance": 0.5}),
    ("starts_near_intercept", {"start": 0.5, "intercept": 9.0}),
    ("row_start_is_added", {"library": XGBOOST, "row_start": "base_margin",
                            "start_ends": (2.0, 2.0)}),
    ("thins_the_frequent_class",
     {"rows_of": (900, 100), "kept": 90, "rate": 0.1}),  # one to one, by chance
    ("thins_the_frequent_class", {"rows_of": (9700, 300), "kept": 97, "rate": 0.01}),  # 3 % events
    ("thins_the_frequent_class", {"rows_of": (np.inf, 300), "kept": 97, "rate": 0.01}),
    ("rate_is_of_the_frequent_class",
     {"loss": go.weighted_logloss_objective(0.05).equations,
      "rows": Rows(y=EVENTS * 1.0, f=None, w=1.0 + 0.1 * GRADES)}),
    ("class_weights_are_heeded",
     {"objective": QWK, "library": LIGHTGBM, "parameters": [
         (name, name, value) for name, values in (
             ("scale_pos_weight", (1, 1.0, "1", np.float32(1), None)),
             ("is_unbalance", (False, 0, "false", "0")), ("max_depth", (7,)))
         for value in values]}),
    *(("start_stays_in_the_model",
       {"objective": QWK, "library": XGBOOST, "row_start": "base_margin", "lost_start": 2.0,
        "parameters": [("base_score", "base_score", value)]}) for value in (2, "2.0", [2.0])),
    ("start_stays_in_the_model",  # of margins of a softmax, which their differences make
     {"objective": SOFTMAX, "library": XGBOOST, "row_start": "base_margin",
      "lost_start": np.full(3, 0.5)}),
    ("one_shift_is_of_named_classes", {"classes": [0, 1], "one_number": True}),
    ("one_shift_is_of_named_classes", {"classes": ["a", "b"], "one_number": False}),
    ("attached_is_of_the_second_class", {"classes": [0, 1], "attached": "calibrator was"}),
    ("attached_is_of_the_second_class", {"classes": ["no", "yes"], "attached": "calibrator was"}),
    ("attached_is_of_the_second_class", {"classes": [*"abc"], "attached": "calibrator was"}),
    ("one_rate_is_of_named_classes", {"classes": [0, 1]}),
    ("one_rate_is_of_named_classes", {"classes": ["No", "yes"]}),
]  # fmt: skip


@each(("name", "facts", "message"), REFUSED, ids=lambda value: value if type(value) is str else "")
def test_a_guard_refuses_with_the_remedy(name: str, facts: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        GUARDS[name].function(known(name, facts))


@pytest.mark.filterwarnings("error")
@each(("name", "facts"), RIGHT, ids=lambda value: value if type(value) is str else "")
def test_a_guard_lets_right_calls_be(name: str, facts: dict[str, Any]) -> None:
    GUARDS[name].function(known(name, facts))


WARNED: list[tuple[str, dict[str, Any], str]] = [
    ("columns_are_known", {**OF_X, "columns": ["c", "d1"], "trained_on": ["a", "b"]},
     r"X has the columns \['c', 'd1'\], none of .* the training rows, \['a', 'b'\], .*position"),
    ("start_stays_in_the_model",
     {"objective": SOFTMAX, "library": XGBOOST, "row_start": "base_margin",
      "lost_start": np.array([0.5, -1, 0])},
     "base_margin is 0.5, -1, 0 in all rows, .* predict leaves it out: import train or the est"),
    ("attached_is_of_the_second_class", {"classes": ["a", "b"], "attached": "thresholds were"},
     "thresholds were made of labels 0 and 1, and 1 is taken for 'b', second in alphabetical"),
    ("own_metrics_read_margins",  # of which nothing but the print is wrong
     {"objective": LOGLOSS, "library": XGBOOST, "predicts_by": IDENTITY, "others": ["logloss"],
      "watched": set()}, "eval_metric 'logloss' is XGBoost's own, which would misread log-odds"),
    ("metric_reads_link", {"objective": LOGLOSS, "metric": KAPPA, "watched": set()},
     "'qwk' takes scores in label units, but .* trains log-odds"),
    ("stops_on_ours_alone", {"metric": KAPPA, "library": LIGHTGBM, "unnamed": ["l2"],
                             "watched": {"l2", "qwk"}},
     "looks at 'l2' too, LightGBM's default, .*: pass metric=\"None\""),
    ("values_stop_in_their_direction",
     {"last": "k", "guesses": [False], "greater_is_better": True, "returns": ""},
     "would minimise 'k', .* best in the first round, .* loss fell .* if its greater values are"),
    ("start_stays_in_the_model",
     {"objective": LOGLOSS, "library": XGBOOST, "row_start": "base_margin", "lost_start": 0.0,
      "transform": LOGIT}, "base_margin is 0 in all rows, .* pass base_score=0.5, or import train"),
    ("start_stays_in_the_model",
     {"objective": QWK, "library": LIGHTGBM, "row_start": "init_score", "lost_start": 2.0},
     "init_score is 2 in all rows, .* leaves it out: import train"),
    ("rate_is_of_the_frequent_class",
     {"loss": go.offset_logloss_objective(0.1).equations, "library": XGBOOST,
      "rows": Rows(np.repeat([0.0, 1.0], [26, 74]))}, "drops rows of 0, of which 26 .*label 1"),
    ("starts_near_intercept", {"start": 0.0, "intercept": 2.0, "tolerance": 1.0},
     "starts at 0, far from .* 2, .*base_score=2"),
    ("starts_near_intercept", {"start": 0.0, "pull": 0.9, "start_by": "base_score",
                               "engine": "Dask"},
     "far from any good constant.*: leave base_score out, and"),
    ("starts_near_intercept",  # the user's own words
     {"start": 0.0, "pull": 0.9, "start_told": True, "engine": "Spark"}, "starts at 0"),
    ("starts_near_intercept", {"start": 0.0, "intercept": 9.0, "pull": 1.0, "function": kappa},
     r"pass objective=gbdt_objectives.objective\(function"),
    ("starts_near_intercept", {"start": 0.0, "intercept": 9.0, "pull": 1.0, "link": LOG,
                               "start_by": "intercept"}, "give intercept= as logs of "),
    ("row_start_is_added", {"library": XGBOOST, "row_start": "s", "start_ends": (0.0, 1.0)},
     "s differs by row, .* leave it out: .*give the rows to predict a base_margin too"),
    ("row_start_is_added", {"library": LIGHTGBM, "row_start": "s", "start_ends": (0.0, 1.0)},
     "s differs by row, .* leave it out: .*raw_score=True"),
    *(("earlier_margins_are_read", {"earlier": Earlier("m", 1, came), "link": link},
       "m has margins that are .*model of the same link")
      for link, came in ((IDENTITY, LOGIT), (LOGIT, IDENTITY), (FOCAL.link, LOG))),
    ("booster_predicts_by_link",
     {"link": IDENTITY, "library": XGBOOST, "named_as": "reg:newer", "transform": OPAQUE},
     "XGBoost's objective 'reg:newer' pred.*not known.*leave"),
    ("stops_on_held_out", {"sets": SETS, "data": "others", "labels": LABELS.get,
                           "looks_at": ["v"]},
     "as many rows as the training data"),
    ("weights_leave_the_rate_alone",
     {"weights": np.array([2.0, 2.0, 1, 1, 1, 1]), "rate": 0.1,
      "positive": np.array([True, True, False, False, False, False])},
     "of a negative is 0.5 times that of a positive, by which .*: leave it out"),
    ("weights_leave_the_rate_alone",
     {"weights": np.array([1, 20.0]), "positive": np.array([True, False]), "rate": 0.05},
     "of a negative is 20 times that of a positive, which undoes .*: leave one of the two out"),
    ("rate_is_of_the_frequent_class",
     {"loss": go.weighted_logloss_objective(0.05).equations,
      "rows": Rows(y=EVENTS * 1.0, f=None, w=20.0 - 19 * EVENTS)}, "is 20 times that of a posi"),
    ("shift_moves_log_odds", {"link": UNDECLARED, "shift_by": "rate", "name": "m"},
     "does not say whether.*leave it out if .*delta=float"),
]  # fmt: skip


@each(("name", "facts", "message"), WARNED, ids=lambda value: value if type(value) is str else "")
def test_what_guards_warn_of(name: str, facts: dict[str, Any], message: str) -> None:
    with pytest.warns(UserWarning, match=message):
        GUARDS[name].function(known(name, facts))


@each(
    ("facts", "message"),
    [({"rows_of": (40, 60), "kept": 4},
      "drops rows of 0, the less frequent .* 40 rows to 60: name it"),
     ({"rows_of": (600, 100), "kept": 60},
      "drops rows of 0, of which 60 .* 100 .* before train on all of them, .*; if that class "
      "is rare name it"),
     # an event of 3 % made label 0, and the frequent label 1 kept at .1
     ({"rows_of": (np.inf, 97), "kept": 30},
      "drops rows of 0, of which 30 .* 97 .* is rare name it")],
)  # fmt: skip
def test_a_rate_of_the_less_frequent_class_is_told(facts: dict[str, Any], message: str) -> None:
    with pytest.warns(UserWarning, match=message):
        Sampling(**{"name": "rate", "thinned": 0, "to_name": "name it", "rate": 0.1, **facts})


def test_a_function_of_labels_that_start_elsewhere_is_told() -> None:
    def from_one(y: Any, f: Any) -> Any:
        return f - y * (f > 1), np.ones(len(y))

    with pytest.warns(UserWarning, match=r"answer depends on where .*\[1, 2\]: .* pass target="):
        Member(
            name="m", parameters=[("objective", "objective", from_one)], classes=[1, 2],
            of_positions=True,
        )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for own, classes in ((from_one, [0, 1]), (lambda y, f: (f - y, 1.0), [1, 2])):
            parameters = [("objective", "objective", own)]
            Member(parameters=parameters, classes=classes, of_positions=True)


def test_one_number_for_classes_that_are_words_is_told() -> None:
    with pytest.warns(UserWarning, match="shift is one number, for 'ok'.*'bad': rate, 'ok'"):
        Model(shift_by="shift", classes=["bad", "ok"], one_number=True)


def test_one_rate_for_classes_that_are_words_is_told() -> None:
    with pytest.warns(UserWarning, match="rate is of 'fraud', .*: fit y == 'fraud'"):
        Sampling(name="rate", classes=["fraud", "legit"], to_name="fit y == 'fraud'")


def test_every_guard_is_tried() -> None:
    elsewhere = {
        "one_shift_is_of_named_classes", "one_rate_is_of_named_classes",
        "function_answers_positions",
    }  # fmt: skip
    assert {name for name, *_ in REFUSED + WARNED} | elsewhere == set(GUARDS)


# --- the registry


@pytest.mark.filterwarnings("error")
@each("name", sorted(GUARDS))
def test_a_guard_asks_no_more_than_its_needs(name: str) -> None:
    """Where nothing is known it is not asked; and of what it has not declared it reads UNKNOWN."""
    assert GUARDS[name].needs
    KINDS[name]()
    own = [KINDS[name].__name__.lower()]
    assert list(inspect.signature(GUARDS[name].function).parameters) == own


def test_a_value_asks_each_guard_once_where_its_facts_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(Training, "guards", [])
    monkeypatch.setattr(Training, "_of", {})

    @guard(Training, "metric", "objective", unless=("engine",))
    def special(training: Training) -> None:
        asked.append(f"special {training.metric} {training.role}")

    @guard(Training, "metric")
    def general(training: Training) -> None:
        asked.append("general")

    assert Training().metric is UNKNOWN
    assert not UNKNOWN
    training = Training(objective=None)
    assert asked == []
    training.know(metric=None)  # there is none, which is known
    assert asked == ["special None UNKNOWN", "general"]
    training.know(role="Regressor")
    training.part(name="fold").know(engine="Dask")
    assert asked == ["special None UNKNOWN", "general"]
    Training(metric=1, engine="Dask").know(objective=2)
    assert asked[2:] == ["general"]


RATE = 0.1
KEPT = (np.random.default_rng(0).random(600) < 0.3).astype(float)
"""Labels of kept rows; the weights below undo a rate of 0.1."""
UNDONE = np.where(KEPT == 1, 1.0, 1 / RATE)
Z = np.random.default_rng(1).normal(size=600) + KEPT
CLASSES = (np.arange(600) % 3).astype(int)
SHARES = np.random.default_rng(2).dirichlet(np.ones(3), 600) + np.eye(3)[CLASSES]
BY_HAND = {
    **{f"{kind} {name}": partial(call, make(RATE))
       for kind, make in (("offset", go.offset_logloss_objective),
                          ("weighted", go.weighted_logloss_objective))
       for name, call in {
           "bind": lambda o, w: o.bind(KEPT, w), "fitted": lambda o, w: o.fitted(KEPT, Z, w),
           "loss": lambda o, w: o.loss(KEPT, Z, w), "mean": lambda o, w: o.mean_loss(KEPT, Z, w),
           "gradient": lambda o, w: o.gradient_hessian(KEPT, Z, w),
           "metric": lambda o, w: go.loss_metric(o)(KEPT, Z, w),
       }.items()},
    "metric": lambda w: go.weighted_logloss_metric(RATE)(KEPT.tolist(), Z, w),
    "sorted rows": lambda w: go.weighted_logloss_metric(RATE)(
        *(np.tile(x, 4)[np.argsort(np.tile(KEPT, 4))] for x in (KEPT, Z, w))),
    "temperature": lambda w: TemperatureCalibrator().fit(
        np.column_stack([expit(-Z), expit(Z)]), KEPT, w, class_keep_rates={0: RATE, 1: 1.0}),
    "downsampled": lambda w: go.DownsampledClassifier(LogisticRegression(), RATE).fit(
        Z[:, np.newaxis], KEPT, w),
    "statistics": lambda w: ThresholdStatistics.of(KEPT, Z, sample_weight=w).thresholds(
        metric="f1", negative_keep_rate=RATE),
    "merged statistics": lambda w: sum(
        ThresholdStatistics.of(KEPT[k::2], Z[k::2], sample_weight=w[k::2], max_bins=16)
        for k in range(2)).thresholds(metric="f1", negative_keep_rate=RATE),
}  # fmt: skip


@each("name", list(BY_HAND))
def test_weights_beside_a_rate_by_hand(name: str) -> None:
    """Told where they are 1 / rate, rounded or not, and not where they are anything else."""
    for w, told in ((UNDONE, True), (UNDONE * 3.0001, True), (np.ones(600), False),
                    (np.where(KEPT == 1, 1.0, 5.0), False), (1 + np.arange(600) % 3, False),
                    (UNDONE * np.random.default_rng(3).uniform(0.8, 1.2, 600), False)):  # fmt: skip
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            BY_HAND[name](w.astype(float))
        found = [str(w.message) for w in caught if "undoes the sampling" in str(w.message)]
        assert len(found) == told


def test_weights_of_several_classes_beside_their_rates() -> None:
    rates, p = np.array([0.1, 0.5, 1.0]), SHARES / SHARES.sum(axis=1, keepdims=True)
    for own, told in ((1 / rates, True), ([1.0, 2.0, 3.0], False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            TemperatureCalibrator(bias=True).fit(
                p, CLASSES, np.asarray(own)[CLASSES], class_keep_rates=dict(enumerate(rates))
            )
        assert any("undoes the sampling" in str(w.message) for w in caught) == told


def test_weights_of_all_evaluation_rows_are_told_by_nobody_in_each_round() -> None:
    """A booster that calls a metric pays nothing for the question."""
    data = xgb.DMatrix(Z[:, np.newaxis], KEPT, weight=UNDONE)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        xgb.train(
            {"objective": "binary:logistic"},
            data,
            3,
            evals=[(data, "v")],
            verbose_eval=False,
            custom_metric=go.weighted_logloss_metric(RATE, input_space="probability"),
        )
    assert not [w for w in caught if "undoes" in str(w.message)]


def test_a_fact_without_a_field_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="Training has no field objectiv"):
        Training(objectiv=QWK)
    with pytest.raises(TypeError, match="Training has no field nobody"):
        guard(Training, "nobody")(print)


def test_what_a_training_knows_travels_without_its_data() -> None:
    training = Training(objective=QWK, data=np.zeros(3), estimator=print, library=XGBOOST)
    asked = vars(training)["_asked"]
    travelled = pickle.loads(pickle.dumps(training))
    assert travelled.objective == QWK
    assert travelled.library.name == "xgboost"
    assert travelled.data is travelled.estimator is UNKNOWN
    assert vars(travelled)["_asked"] == asked
    assert pickle.loads(pickle.dumps(UNKNOWN)) is UNKNOWN


PACKAGE = Path(guards.__file__).parents[1]
CALLED = re.compile(rf"\b(?:{'|'.join(GUARDS)})\b")
HOMES = [Path("_checks", "guards.py"), Path("_checks", "asked.py")]


@each("path", sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")))
def test_no_door_calls_a_guard_by_name(path: str) -> None:
    if Path(path) not in HOMES:
        assert not CALLED.findall((PACKAGE / path).read_text(encoding="utf-8"))


def test_no_guard_calls_another() -> None:
    source = "".join((PACKAGE / home).read_text(encoding="utf-8") for home in HOMES)
    assert sorted(CALLED.findall(source)) == sorted(GUARDS)
