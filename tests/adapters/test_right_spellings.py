"""Plain calls as notebooks write them, which are right and must stay without a word.

Each function types one spelling and compares what it trains with scikit-learn's kappa, the
library's own binary objective, the same objective in plain numpy, or the known share of events.
"""

from __future__ import annotations

import copy
import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy.sparse import csr_matrix
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.metrics import cohen_kappa_score, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

import gbdt_objectives as go
from gbdt_objectives.metrics import squared_error_metric

rng = np.random.default_rng(54)
n = 600
X = rng.normal(size=(n, 4))
LATENT = X[:, 0] + 0.6 * X[:, 1] + rng.normal(0, 0.5, n)
GRADES = np.digitize(LATENT, [-1.6, -0.7, 0, 0.7, 1.6]) + 1
EVENTS = (rng.random(n) < expit(X[:, 0] - 0.9)).astype(int)
TRAIN, TEST = slice(0, 400), slice(400, n)
MEAN = float(GRADES[TRAIN].mean())
GOOD = 0.75  # of kappa, which is 0.80 to 0.84 here, and 0 where scores are read or start wrongly
NEAR = 1e-5  # of float32 margins of XGBoost from gradients that differ in their last digits
SAME = 1e-6  # of LightGBM's, whose gradients are float32
P: dict[str, Any] = {"nthread": 1, "max_depth": 3}
G: dict[str, Any] = {"verbosity": -1, "num_threads": 1, "num_leaves": 8, "seed": 1}
N: dict[str, Any] = {"n_estimators": 20, "max_depth": 3, "n_jobs": 1}
L: dict[str, Any] = {"n_estimators": 30, "num_leaves": 8, "n_jobs": 1, "verbose": -1}

# A population with 3 % events, and two samples of it: a tenth and a hundredth of the negatives.
XP = rng.normal(size=(20_000, 3))
EVENTS_P = (rng.random(len(XP)) < expit(XP[:, 0] + 0.5 * XP[:, 1] - 4.0)).astype(int)
SHARE = float(EVENTS_P.mean())
DRAWN = rng.random(len(XP))
TENTH, HUNDREDTH = (np.flatnonzero((EVENTS_P == 1) | (rate > DRAWN)) for rate in (0.1, 0.01))
START = float(logit(SHARE))
WEIGHTS = rng.uniform(0.5, 2.0, n)

pytestmark = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
SPELLINGS: list[Callable[[], None]] = []
PRINTS: set[str] = set()
"""Names of the spellings whose library may print."""


def spelling(function: Callable[[], None]) -> Callable[[], None]:
    SPELLINGS.append(function)
    return function


def prints(function: Callable[[], None]) -> Callable[[], None]:
    PRINTS.add(function.__name__)
    return spelling(function)


@contextmanager
def without_a_word() -> Iterator[None]:
    """A warning is an error, but for what the libraries say of their own arguments."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda f: f.__name__)
def test_a_right_spelling_is_answered_without_a_word(
    spelling: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    with without_a_word():
        spelling()
    out, err = capfd.readouterr()
    printed = out + err
    assert "objective" not in printed.replace("self-defined objective", "")
    assert spelling.__name__ in PRINTS or not printed


def test_enough_spellings_are_tried() -> None:
    assert len(SPELLINGS) >= 60
    assert len({f.__name__ for f in SPELLINGS}) == len(SPELLINGS)


def test_a_word_would_be_noticed() -> None:
    with without_a_word(), pytest.raises(UserWarning, match="^boosting starts at 0"):
        lgb.train({**G, "objective": go.qwk_objective(GRADES)}, B(), 2)


# --- data, references and small models


def D(y: Any = GRADES, rows: Any = slice(None), **given: Any) -> xgb.DMatrix:
    return xgb.DMatrix(X[rows], y[rows], nthread=1, **given)


def B(y: Any = GRADES, rows: Any = slice(None), **given: Any) -> lgb.Dataset:
    return lgb.Dataset(X[rows], y[rows], **given)


def sample(rows: Any, **given: Any) -> xgb.DMatrix:
    return xgb.DMatrix(XP[rows], EVENTS_P[rows], nthread=1, **given)


def kappa(y: Any, scores: Any, low: int = 1, high: int = 6) -> float:
    grades = np.rint(np.asarray(scores, float)).clip(low, high).astype(int)
    return float(cohen_kappa_score(y, grades, weights="quadratic"))


def check_grades(scores: Any, rows: Any = TEST) -> None:
    """Scores of held-out rows, or of those given, find the grades."""
    assert kappa(GRADES[rows], scores) > GOOD


def check_share(probability: Any) -> None:
    """The mean probability of the population is its share of events, but for overfitting."""
    assert np.mean(probability) == pytest.approx(SHARE, rel=0.2)  # 0.23 without a correction


def log_odds(objective: Any = None, **given: Any) -> Any:
    """XGBoost's margins of the log loss, ours or its own."""
    own = {"objective": "binary:logistic", "base_score": float(expit(-0.8))}
    params = {**P, **(own if objective is None else {"base_score": -0.8}), **given}
    return xgb.train(params, D(EVENTS), 15, obj=objective).predict(D(EVENTS), output_margin=True)


def check_log_odds(reference: Any = None, **given: Any) -> None:
    """Under these parameters of XGBoost too, the log loss is that of the library."""
    ours = log_odds(go.weighted_logloss_objective(1), **given)
    np.testing.assert_allclose(ours, log_odds(reference, **given), atol=NEAR)


def binary(data: lgb.Dataset | None = None, **given: Any) -> Any:
    """LightGBM's own margins of the log loss from 0, or another objective's."""
    params = {**G, "objective": "binary", "boost_from_average": False, **given}
    data = B(EVENTS) if data is None else data
    return lgb.train(params, data, 20).predict(X, raw_score=True)


def check_binary(**given: Any) -> None:
    """Under these parameters of LightGBM too, the log loss is that of the library."""
    ours = binary(**{**given, "objective": go.weighted_logloss_objective(1)})
    np.testing.assert_allclose(ours, binary(**given), atol=SAME)


def log_loss_by_hand(z: Any, data: Any) -> Any:
    p = 1 / (1 + np.exp(-z))
    return p - data.get_label(), p * (1 - p)


def offset_by_hand(rate: Any) -> Callable[[Any, Any], Any]:
    """The log loss of rows whose negatives were kept at a rate, in plain numpy."""

    return lambda z, data: log_loss_by_hand(z - np.log(rate), data)


def weighted_by_hand(z: Any, data: Any) -> Any:
    return tuple(data.get_weight() * part for part in log_loss_by_hand(z, data))


def rounds_of(values: Any) -> int:
    """The round of the greatest value, counted from 1."""
    return int(np.argmax(values)) + 1


# --- essay notebooks: grades less a constant, LightGBM's own regressor

A = 2.948


def own_kappa(y_true: Any, y_pred: Any) -> tuple[str, float, bool]:
    """The metric of these notebooks."""
    return "QWK", kappa(np.rint(y_true + A).astype(int), y_pred + A), True


@spelling
def essays_less_a_constant() -> None:
    y = GRADES - A
    model = lgb.LGBMRegressor(
        objective=go.qwk_objective(y[TRAIN]), metric="None", learning_rate=0.1, max_depth=5,
        extra_trees=True, class_weight="balanced", random_state=42, **L,
    )  # fmt: skip
    model.fit(
        X[TRAIN], y[TRAIN], eval_set=[(X[TEST], y[TEST])], eval_metric=own_kappa,
        callbacks=[lgb.early_stopping(15, verbose=False, first_metric_only=True)],
    )  # fmt: skip
    check_grades(model.predict(X[TEST]) + A)
    history = model.evals_result_["valid_0"]["QWK"]
    assert model.best_iteration_ == rounds_of(history)


@spelling
def essays_with_the_extended_metric() -> None:
    y, history = GRADES - A, {}
    model = lgb.LGBMRegressor(objective=go.qwk_objective(y), metric="None", **L)
    model.fit(
        X[TRAIN], y[TRAIN], eval_set=[(X[TRAIN], y[TRAIN]), (X[TEST], y[TEST])],
        eval_names=["train", "valid"], eval_metric=go.extended_qwk_metric(),
        callbacks=[lgb.record_evaluation(history), lgb.log_evaluation(0)],
    )  # fmt: skip
    scores = np.clip(model.predict(X[TEST]) + A, 1, 6)
    check_grades(scores)
    assert history["valid"]["extended_qwk"][-1] > GOOD


@spelling
def essays_less_a_whole_number() -> None:
    y = GRADES - 3
    model = lgb.LGBMRegressor(objective=go.qwk_objective(y), metrics="None", **L)
    model.fit(
        X[TRAIN], y[TRAIN], eval_set=[(X[TEST], y[TEST])], eval_metric=go.qwk_metric(),
        callbacks=[lgb.early_stopping(20, first_metric_only=True, verbose=False)],
    )  # fmt: skip
    best = model.best_score_["valid_0"]["qwk"]
    assert best == pytest.approx(kappa(GRADES[TEST], model.predict(X[TEST]) + 3), abs=1e-9)


@spelling
def essays_mean_of_folds() -> None:
    y, scores = GRADES - A, []
    for train, valid in StratifiedKFold(3, shuffle=True, random_state=0).split(
        X[TRAIN], GRADES[TRAIN]
    ):
        model = lgb.LGBMRegressor(objective=go.qwk_objective(), metric="None", **L)
        model.fit(
            X[train], y[train], eval_set=[(X[valid], y[valid])], eval_metric=own_kappa,
            callbacks=[lgb.early_stopping(10, verbose=False)],
        )  # fmt: skip
        scores.append(model.predict(X[TEST]) + A)
    check_grades(np.mean(scores, axis=0))


@spelling
def essays_constants_of_the_moved_grades() -> None:
    y = GRADES - 3
    objective = go.qwk_objective(mean=float(y.mean()), variance=float(y.var()))
    check_grades(
        lgb.LGBMRegressor(objective=objective, **L).fit(X[TRAIN], y[TRAIN]).predict(X[TEST]) + 3
    )


@spelling
def essays_function_around_the_objective() -> None:
    inner = go.qwk_objective(GRADES - A)

    def qwk_obj(y_true: Any, y_pred: Any) -> Any:
        return inner(y_true, y_pred)

    model = lgb.LGBMRegressor(objective=qwk_obj, metric="None", **L).fit(
        X[TRAIN], GRADES[TRAIN] - A
    )
    same = lgb.LGBMRegressor(objective=inner, metric="None", **L).fit(X[TRAIN], GRADES[TRAIN] - A)
    np.testing.assert_allclose(model.predict(X), same.predict(X), atol=SAME)


@spelling
def essays_weights_of_grades() -> None:
    w = np.where(GRADES == 6, 3.0, 1.0)
    y = GRADES - 3
    model = lgb.LGBMRegressor(objective=go.qwk_objective(y, sample_weight=w), **L)
    check_grades(model.fit(X[TRAIN], y[TRAIN], sample_weight=w[TRAIN]).predict(X[TEST]) + 3)


@spelling
def essays_thresholds_of_out_of_fold_scores() -> None:
    scores = (
        cross_val_predict(lgb.LGBMRegressor(objective=go.qwk_objective(), **L), X, GRADES - 3) + 3
    )
    thresholds = go.optimize_thresholds(GRADES, scores)
    found = go.apply_thresholds(scores, thresholds)
    by_hand = cohen_kappa_score(GRADES, np.digitize(scores, thresholds) + 1, weights="quadratic")
    assert go.quadratic_weighted_kappa(GRADES, found) == pytest.approx(by_hand, abs=1e-12)
    assert by_hand >= kappa(GRADES, scores) - 1e-12


# --- what XGBoost stops on, prints and records


def trained(**given: Any) -> xgb.Booster:
    """The README's first call, of which early stopping finds the direction."""
    known = {"obj": go.qwk_objective(GRADES[TRAIN]), "custom_metric": go.qwk_metric(),
             "evals": [(D(rows=TEST), "valid")], "verbose_eval": False, **given}  # fmt: skip
    params = {**P, "eta": 0.1, "base_score": MEAN, **known.pop("params", {})}
    return xgb.train(params, D(rows=TRAIN), known.pop("rounds", 60), **known)


def check_stopped(booster: xgb.Booster, history: Any, name: str = "qwk") -> None:
    assert booster.best_iteration + 1 == rounds_of(history["valid"][name])
    best = booster.predict(D(rows=TEST), iteration_range=(0, booster.best_iteration + 1))
    assert booster.best_score == pytest.approx(kappa(GRADES[TEST], best), abs=1e-6)  # printed as %f


@spelling
def early_stopping_rounds_alone() -> None:
    history: dict[str, Any] = {}
    check_stopped(trained(early_stopping_rounds=15, evals_result=history), history)


@spelling
def maximize_is_said() -> None:
    history: dict[str, Any] = {}
    check_stopped(trained(early_stopping_rounds=15, maximize=True, evals_result=history), history)


@spelling
def early_stopping_as_a_callback() -> None:
    history: dict[str, Any] = {}
    stop = xgb.callback.EarlyStopping(
        rounds=15, metric_name="qwk", data_name="valid", maximize=True, save_best=True
    )
    booster = trained(
        callbacks=[stop], evals=[(D(rows=TRAIN), "train"), (D(rows=TEST), "valid")],
        evals_result=history,
    )  # fmt: skip
    assert booster.num_boosted_rounds() == rounds_of(history["valid"]["qwk"])
    assert booster.best_score == pytest.approx(
        kappa(GRADES[TEST], booster.predict(D(rows=TEST))), abs=1e-6
    )


@spelling
def early_stopping_of_the_estimator() -> None:
    y = GRADES - 3
    stop = xgb.callback.EarlyStopping(rounds=10, metric_name="qwk", maximize=True, save_best=True)
    model = xgb.XGBRegressor(
        objective=go.qwk_objective(y), base_score=0.0, eval_metric=go.qwk_metric(),
        callbacks=[stop], **N,
    )  # fmt: skip
    model.fit(X[TRAIN], y[TRAIN], eval_set=[(X[TEST], y[TEST])], verbose=False)
    best = max(model.evals_result_["validation_0"]["qwk"])
    assert best == pytest.approx(kappa(GRADES[TEST], model.predict(X[TEST]) + 3), abs=1e-6)


@spelling
def watchlist_with_the_training_rows_first() -> None:
    watchlist, history = [(D(rows=TRAIN), "train"), (D(rows=TEST), "valid")], {}
    booster = trained(evals=watchlist, early_stopping_rounds=10, evals_result=history)
    check_stopped(booster, history)


@prints
def training_rows_are_only_printed() -> None:
    booster = trained(evals=[(D(rows=TRAIN), "train")], verbose_eval=5, rounds=20)
    check_grades(booster.predict(D(rows=TEST)))


@prints
def printed_by_a_monitor() -> None:
    trained(callbacks=[xgb.callback.EvaluationMonitor(period=5)], rounds=10)


@spelling
def a_users_metric_with_its_direction() -> None:
    def quadratic_kappa(predt: Any, dtrain: xgb.DMatrix) -> tuple[str, float]:
        return "kappa", kappa(dtrain.get_label().astype(int), predt)

    history: dict[str, Any] = {}
    booster = trained(
        custom_metric=quadratic_kappa, maximize=True, early_stopping_rounds=15,
        evals_result=history,
    )  # fmt: skip
    check_stopped(booster, history, "kappa")


@spelling
def a_users_loss_is_minimised() -> None:
    history: dict[str, Any] = {}
    booster = trained(
        custom_metric=lambda p, d: ("mse", float(np.mean((d.get_label() - p) ** 2))),
        early_stopping_rounds=10, evals_result=history,
    )  # fmt: skip
    assert booster.best_iteration == int(np.argmin(history["valid"]["mse"]))


@spelling
def two_values_of_a_users_function() -> None:
    history: dict[str, Any] = {}

    def both(p: Any, d: xgb.DMatrix) -> list[tuple[str, float]]:
        y = d.get_label()
        return [("mae", float(np.abs(y - p).mean())), ("kappa", go.qwk_metric()(y, p))]

    booster = trained(custom_metric=both, rounds=20, evals_result=history)
    wanted = kappa(GRADES[TEST], booster.predict(D(rows=TEST)))
    assert history["valid"]["kappa"][-1] == pytest.approx(wanted, abs=1e-6)


@spelling
def rmse_is_recorded_beside_kappa() -> None:
    history: dict[str, Any] = {}
    booster = trained(params={"eval_metric": "rmse"}, rounds=20, evals_result=history)
    error = np.sqrt(np.mean((booster.predict(D(rows=TEST)) - GRADES[TEST]) ** 2))
    assert history["valid"]["rmse"][-1] == pytest.approx(error, abs=1e-5)


@spelling
def two_of_the_librarys_before_kappa() -> None:
    history: dict[str, Any] = {}
    booster = trained(
        params={"eval_metric": ["mae", "rmse"]}, early_stopping_rounds=10, evals_result=history
    )
    assert list(history["valid"]) == ["mae", "rmse", "qwk"]
    check_stopped(booster, history)


@spelling
def rmse_before_kappa_in_the_estimator() -> None:
    if parse_version(xgb.__version__) < parse_version("3"):
        pytest.skip("takes no function in a list")
    model = xgb.XGBRegressor(
        objective=go.qwk_objective(GRADES), base_score=MEAN, early_stopping_rounds=10,
        eval_metric=["rmse", go.qwk_metric()], **N,
    )  # fmt: skip
    model.fit(X[TRAIN], GRADES[TRAIN], eval_set=[(X[TEST], GRADES[TEST])], verbose=False)
    assert model.best_iteration + 1 == rounds_of(model.evals_result_["validation_0"]["qwk"])


@spelling
def error_of_kappa_in_its_unit() -> None:
    history: dict[str, Any] = {}
    booster = trained(custom_metric=squared_error_metric(), rounds=20, evals_result=history)
    error = np.mean((booster.predict(D(rows=TEST)) - GRADES[TEST]) ** 2)
    (values,) = (v for name, v in history["valid"].items() if name != "rmse")
    assert values[-1] == pytest.approx(error, abs=1e-5)


@spelling
def no_default_metric() -> None:
    history: dict[str, Any] = {}
    trained(params={"disable_default_eval_metric": 1}, rounds=10, evals_result=history)
    assert list(history["valid"]) == ["qwk"]


def ranked(name: str, own_name: str = "") -> None:
    """A metric of ranks or signs, beside ours, is that of the library's own objective."""
    both: list[dict[str, Any]] = [{}, {}]
    known = {"evals": [(D(EVENTS, TEST), "v")], "verbose_eval": False}
    xgb.train(
        {**P, "base_score": -0.8, "eval_metric": [name]}, D(EVENTS, TRAIN), 10,
        obj=go.weighted_logloss_objective(1), custom_metric=go.weighted_logloss_metric(1),
        evals_result=both[0], **known,
    )  # fmt: skip
    own = {"objective": "binary:logistic", "base_score": float(expit(-0.8))}
    params = {**P, **own, "eval_metric": [own_name or name]}
    xgb.train(params, D(EVENTS, TRAIN), 10, evals_result=both[1], **known)
    # a row that is nearly tied may move
    np.testing.assert_allclose(both[0]["v"][name], both[1]["v"][own_name or name], atol=1e-4)


@spelling
def auc_beside_the_log_loss() -> None:
    ranked("auc")


@spelling
def aucpr_beside_the_log_loss() -> None:
    ranked("aucpr")


@spelling
def error_at_zero_beside_the_log_loss() -> None:
    ranked("error@0", "error")


@spelling
def auc_first_and_the_log_loss_stops() -> None:
    history: dict[str, Any] = {}
    booster = xgb.train(
        {**P, "base_score": -0.8, "eval_metric": "auc"}, D(EVENTS, TRAIN), 100,
        obj=go.weighted_logloss_objective(1), custom_metric=go.weighted_logloss_metric(1),
        evals=[(D(EVENTS, TEST), "v")], evals_result=history, early_stopping_rounds=5,
        verbose_eval=False,
    )  # fmt: skip
    values = history["v"]["weighted_logloss"]
    assert booster.best_iteration == int(np.argmin(values))
    margin = booster.predict(
        D(EVENTS, TEST), output_margin=True, iteration_range=(0, booster.best_iteration + 1)
    )
    assert min(values) == pytest.approx(log_loss(EVENTS[TEST], expit(margin)), abs=1e-5)


@spelling
def a_learning_rate_that_falls() -> None:
    falling = xgb.callback.LearningRateScheduler(lambda k: 0.3 * 0.95**k)
    check_grades(trained(callbacks=[falling], rounds=20).predict(D(rows=TEST)))


@spelling
def a_tuner_that_trains_and_returns_a_score() -> None:
    def score(depth: int) -> float:
        booster = trained(params={"max_depth": depth}, early_stopping_rounds=10)
        return float(booster.best_score)

    assert max(score(depth) for depth in (1, 3)) > GOOD


# --- matrices of XGBoost


class Batches(xgb.DataIter):
    def __init__(self, y: Any) -> None:
        self.k, self.y = 0, y
        super().__init__()

    def next(self, input_data: Callable[..., Any]) -> bool:
        if self.k == 3:
            return False
        rows = slice(200 * self.k, 200 * (self.k + 1))
        input_data(data=X[rows], label=self.y[rows])
        self.k += 1
        return True

    def reset(self) -> None:
        self.k = 0


def check_matrix(matrix: Any, again: Any = None) -> None:
    """Margins of the log loss on a matrix of XGBoost are those of its own objective."""
    own = {**P, "objective": "binary:logistic", "base_score": float(expit(-0.8))}
    objective = go.weighted_logloss_objective(1)
    again = D(EVENTS) if again is None else again
    ours = xgb.train({**P, "base_score": -0.8}, matrix, 15, obj=objective).predict(again)
    theirs = xgb.train(own, matrix, 15).predict(again, output_margin=True)
    np.testing.assert_allclose(ours, theirs, atol=NEAR)


@spelling
def quantile_matrix_and_one_that_refers_to_it() -> None:
    train = xgb.QuantileDMatrix(X[TRAIN], GRADES[TRAIN], nthread=1)
    valid = xgb.QuantileDMatrix(X[TEST], GRADES[TEST], ref=train, nthread=1)
    booster = xgb.train(
        {**P, "base_score": MEAN}, train, 60, obj=go.qwk_objective(), early_stopping_rounds=10,
        custom_metric=go.qwk_metric(), evals=[(train, "t"), (valid, "v")], verbose_eval=False,
    )  # fmt: skip
    check_grades(booster.predict(valid))


@spelling
def quantile_matrix_of_events() -> None:
    check_matrix(xgb.QuantileDMatrix(X, EVENTS, nthread=1))


@spelling
def matrix_of_batches() -> None:
    check_matrix(xgb.QuantileDMatrix(Batches(EVENTS), nthread=1))


@spelling
def matrix_of_a_frame() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    matrix = xgb.DMatrix(frame, pd.Series(EVENTS), nthread=1)
    check_matrix(matrix, xgb.DMatrix(frame, nthread=1))


@spelling
def matrix_that_is_sparse() -> None:
    check_matrix(xgb.DMatrix(csr_matrix(X), EVENTS, nthread=1))


@spelling
def matrix_of_small_integers() -> None:
    check_matrix(xgb.DMatrix(X, EVENTS.astype(np.int8), nthread=1))


@spelling
def matrix_whose_labels_are_set_later() -> None:
    matrix = xgb.DMatrix(X, nthread=1)
    matrix.set_label(EVENTS)
    check_matrix(matrix)


@spelling
def matrix_of_some_rows() -> None:
    part = D(rows=slice(None)).slice(np.arange(0, n, 2))
    booster = xgb.train({**P, "base_score": MEAN}, part, 20, obj=go.qwk_objective())
    check_grades(booster.predict(D(rows=slice(1, n, 2))), slice(1, n, 2))


# --- data sets and parameters of LightGBM


def check_alias(alias: str) -> None:
    ours = lgb.train({**G, alias: go.weighted_logloss_objective(1)}, B(EVENTS), 20)
    np.testing.assert_allclose(ours.predict(X), binary(), atol=SAME)


@spelling
def objective_by_its_name() -> None:
    check_alias("objective")


@spelling
def objective_as_objective_type() -> None:
    check_alias("objective_type")


@spelling
def objective_as_app() -> None:
    check_alias("app")


@spelling
def objective_as_application() -> None:
    check_alias("application")


@spelling
def objective_as_loss() -> None:
    check_alias("loss")


def check_no_metric(**params: Any) -> None:
    """Only our metric is measured, and it alone stops the training."""
    history: dict[str, Any] = {}
    booster = lgb.train(
        {**G, "objective": go.weighted_logloss_objective(1), **params}, B(EVENTS, TRAIN), 60,
        valid_sets=[B(EVENTS, TEST)], feval=go.weighted_logloss_metric(1),
        callbacks=[lgb.early_stopping(8, verbose=False), lgb.record_evaluation(history)],
    )  # fmt: skip
    assert list(history["valid_0"]) == ["weighted_logloss"]
    values = history["valid_0"]["weighted_logloss"]
    assert booster.best_iteration == int(np.argmin(values)) + 1
    assert min(values) == pytest.approx(log_loss(EVENTS[TEST], expit(booster.predict(X[TEST]))))


@spelling
def metric_is_the_word_none() -> None:
    for word in ("None", "none", "null", "na", "custom"):
        check_no_metric(metric=word)


@spelling
def metric_is_none_or_empty() -> None:
    for nothing in (None, "", []):
        check_no_metric(metric=nothing)


@spelling
def metrics_under_another_name() -> None:
    check_no_metric(metrics="None")
    check_no_metric(metric_types="None")


@spelling
def early_stopping_round_as_a_parameter() -> None:
    booster = lgb.train(
        {**G, "objective": go.qwk_objective(GRADES - 3), "metric": "None",
         "early_stopping_round": 10},
        B(GRADES - 3, TRAIN), 100, valid_sets=[B(GRADES - 3, TEST)], feval=go.qwk_metric(),
    )  # fmt: skip
    assert booster.best_iteration < 100
    check_grades(booster.predict(X[TEST]) + 3)


@spelling
def a_list_of_ours_and_a_users_function() -> None:
    history: dict[str, Any] = {}

    def mae(p: Any, d: lgb.Dataset) -> tuple[str, float, bool]:
        return "mae", float(np.abs(p - d.get_label()).mean()), False

    booster = lgb.train(
        {**G, "objective": go.qwk_objective(GRADES - 3), "metric": "None"}, B(GRADES - 3, TRAIN),
        20, valid_sets=[B(GRADES - 3, TEST)], callbacks=[lgb.record_evaluation(history)],
        feval=[mae, go.qwk_metric(), go.extended_qwk_metric()],
    )  # fmt: skip
    assert list(history["valid_0"]) == ["mae", "qwk", "extended_qwk"]
    wanted = kappa(GRADES[TEST], booster.predict(X[TEST]) + 3)
    assert history["valid_0"]["qwk"][-1] == pytest.approx(wanted, abs=1e-9)


@spelling
def a_users_function_that_calls_ours() -> None:
    history: dict[str, Any] = {}

    def feval(p: Any, d: lgb.Dataset) -> tuple[str, float, bool]:
        return "kappa", go.qwk_metric()(d.get_label(), p), True

    booster = lgb.train(
        {**G, "objective": go.qwk_objective(GRADES - 3), "metric": "None"}, B(GRADES - 3, TRAIN),
        60, valid_sets=[B(GRADES - 3, TEST)], feval=feval,
        callbacks=[lgb.early_stopping(10, verbose=False), lgb.record_evaluation(history)],
    )  # fmt: skip
    assert booster.best_iteration == rounds_of(history["valid_0"]["kappa"])


@prints
def rmse_and_the_training_rows_are_printed() -> None:
    train = B(GRADES - 3, TRAIN)
    booster = lgb.train(
        {**G, "objective": go.qwk_objective(GRADES - 3), "metric": "rmse"}, train, 20,
        valid_sets=[train, B(GRADES - 3, TEST)], valid_names=["train", "valid"],
        feval=go.qwk_metric(), callbacks=[lgb.log_evaluation(10)],
    )  # fmt: skip
    check_grades(booster.predict(X[TEST]) + 3)


@spelling
def auc_beside_ours_in_lightgbm() -> None:
    history: dict[str, Any] = {}
    lgb.train(
        {**G, "objective": go.weighted_logloss_objective(1), "metric": "auc"}, B(EVENTS, TRAIN),
        20, valid_sets=[B(EVENTS, TEST)], feval=go.weighted_logloss_metric(1),
        callbacks=[lgb.record_evaluation(history)],
    )  # fmt: skip
    assert history["valid_0"]["auc"][-1] > 0.6


@spelling
def default_of_the_regressor_when_nothing_stops() -> None:
    y = GRADES - 3
    model = lgb.LGBMRegressor(objective=go.qwk_objective(y), **L)
    model.fit(X[TRAIN], y[TRAIN], eval_set=[(X[TEST], y[TEST])], eval_metric=go.qwk_metric())
    wanted = kappa(GRADES[TEST], model.predict(X[TEST]) + 3)
    assert model.evals_result_["valid_0"]["qwk"][-1] == pytest.approx(wanted, abs=1e-9)


@spelling
def several_evaluation_sets() -> None:
    history: dict[str, Any] = {}
    y, halves = GRADES - 3, (slice(400, 500), slice(500, n))
    booster = lgb.train(
        {**G, "objective": go.qwk_objective(y), "metric": "None"}, B(y, TRAIN), 60,
        valid_sets=[B(y, half) for half in halves], valid_names=["a", "b"],
        feval=go.qwk_metric(),
        callbacks=[lgb.early_stopping(10, verbose=False), lgb.record_evaluation(history)],
    )  # fmt: skip
    assert booster.best_iteration in [rounds_of(history[name]["qwk"]) for name in "ab"]


@spelling
def frames_and_series() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    objective = go.qwk_objective(pd.Series(GRADES - 3))
    model = lgb.LGBMRegressor(objective=objective, **L).fit(
        frame, pd.DataFrame({"y": GRADES - 3}).y
    )
    same = lgb.LGBMRegressor(objective=objective, **L).fit(X, GRADES - 3)
    np.testing.assert_allclose(model.predict(frame), same.predict(X), atol=SAME)


@spelling
def a_subset_and_a_binary_file() -> None:
    params = {**G, "objective": go.weighted_logloss_objective(1)}
    part = np.arange(0, n, 2)
    ours = lgb.train(params, B(EVENTS, free_raw_data=False).construct().subset(part), 20).predict(X)
    theirs = binary(B(EVENTS, free_raw_data=False).construct().subset(part))
    np.testing.assert_allclose(ours, theirs, atol=SAME)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/train.bin"
        B(EVENTS, params=G).save_binary(path)
        data = lgb.Dataset(path, params=G)
        np.testing.assert_allclose(lgb.train(params, data, 20).predict(X), binary(), atol=SAME)


# --- cross-validation


@spelling
def cv_of_xgboost_stratified() -> None:
    table = xgb.cv(
        {**P, "base_score": MEAN}, D(), 60, nfold=3, stratified=True, seed=1,
        obj=go.qwk_objective(), custom_metric=go.qwk_metric(), early_stopping_rounds=10,
    )  # fmt: skip
    assert len(table) == rounds_of(table["test-qwk-mean"])
    assert table["test-qwk-mean"].iloc[-1] > GOOD


@spelling
def cv_of_xgboost_on_folds_of_the_users() -> None:
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    found = xgb.cv(
        {**P, "base_score": MEAN}, D(), 10, folds=folds, obj=go.qwk_objective(GRADES),
        custom_metric=go.qwk_metric(), maximize=True, as_pandas=False,
    )  # fmt: skip
    scores = [
        kappa(GRADES[valid], xgb.train({**P, "base_score": MEAN}, D(rows=train), 10,
                                       obj=go.qwk_objective(GRADES)).predict(D(rows=valid)))
        for train, valid in folds
    ]  # fmt: skip
    assert found["test-qwk-mean"][-1] == pytest.approx(np.mean(scores), abs=1e-5)


@spelling
def cv_of_lightgbm_with_early_stopping() -> None:
    found = lgb.cv(
        {**G, "objective": go.qwk_objective(), "metric": "None"}, B(GRADES - 3), 60, nfold=3,
        feval=go.qwk_metric(), callbacks=[lgb.early_stopping(10, verbose=False)], seed=1,
    )  # fmt: skip
    assert found["valid qwk-mean"][-1] == max(found["valid qwk-mean"]) > GOOD


@spelling
def cv_of_lightgbm_that_returns_boosters() -> None:
    folds = list(StratifiedKFold(3).split(X, GRADES))
    found = lgb.cv(
        {**G, "objective": go.qwk_objective(GRADES - 3), "metric": "None"}, B(GRADES - 3), 20,
        folds=folds, feval=go.qwk_metric(), return_cvbooster=True,
    )  # fmt: skip
    scores = [
        kappa(GRADES[valid], booster.predict(X[valid]) + 3)
        for booster, (_, valid) in zip(found["cvbooster"].boosters, folds, strict=True)
    ]
    assert found["valid qwk-mean"][-1] == pytest.approx(np.mean(scores), abs=1e-9)


@spelling
def loop_over_folds_of_groups() -> None:
    scores, objective = np.zeros(n), go.qwk_objective(GRADES.astype(float))
    for train, valid in GroupKFold(4).split(X, GRADES, np.arange(n) % 9):
        params = {**P, "base_score": float(objective.intercept)}
        booster = xgb.train(params, D(rows=train), 20, obj=objective)
        scores[valid] = booster.predict(D(rows=valid))
    check_grades(scores, slice(None))


# --- weights


@spelling
def weights_of_a_matrix() -> None:
    w, history = WEIGHTS, {}
    objective = go.qwk_objective(GRADES, sample_weight=w)
    booster = xgb.train(
        {**P, "base_score": float(objective.intercept)}, D(rows=TRAIN, weight=w[TRAIN]), 20,
        obj=objective, custom_metric=go.qwk_metric(), verbose_eval=False, evals_result=history,
        evals=[(D(rows=TEST, weight=w[TEST]), "v")],
    )  # fmt: skip
    grades = np.rint(booster.predict(D(rows=TEST))).clip(1, 6).astype(int)
    wanted = cohen_kappa_score(GRADES[TEST], grades, weights="quadratic", sample_weight=w[TEST])
    assert history["v"]["qwk"][-1] == pytest.approx(wanted, abs=1e-5)


@spelling
def weights_of_the_events_without_a_correction() -> None:
    w = np.where(EVENTS == 1, 2.5, 1.0)
    ours = xgb.train(
        {**P, "base_score": 0.0}, D(EVENTS, weight=w), 15, obj=go.weighted_logloss_objective(1)
    ).predict(D(EVENTS))
    by_hand = xgb.train({**P, "base_score": 0.0}, D(EVENTS, weight=w), 15, obj=weighted_by_hand)
    np.testing.assert_allclose(ours, by_hand.predict(D(EVENTS)), atol=NEAR)


@spelling
def weights_of_a_dataset_without_a_correction() -> None:
    w = np.where(EVENTS == 1, 2.5, 1.0)
    params = {**G, "objective": go.weighted_logloss_objective(1)}
    ours = lgb.train(params, B(EVENTS, weight=w), 20).predict(X)
    np.testing.assert_allclose(ours, binary(B(EVENTS, weight=w)), atol=SAME)


@spelling
def balanced_weights_of_a_classifier() -> None:
    w = np.where(EVENTS == 1, 0.5 / EVENTS.mean(), 0.5 / (1 - EVENTS.mean()))
    objective = go.weighted_logloss_objective(1)
    ours = xgb.XGBClassifier(objective=objective, base_score=0.5, **N).fit(
        X, EVENTS, sample_weight=w
    )
    theirs = xgb.XGBClassifier(base_score=0.5, **N).fit(X, EVENTS, sample_weight=w)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=NEAR)


@spelling
def balanced_weights_of_focal_loss() -> None:
    w = np.where(EVENTS == 1, 2.0, 1.0)
    objective = go.focal_objective(2.0)
    booster = xgb.train({**P, "base_score": 0.0}, D(EVENTS, weight=w), 20, obj=objective)
    probability = objective.class_probability(booster.predict(D(EVENTS), output_margin=True))[:, 1]
    weighed = np.average(EVENTS, weights=w)
    assert np.average(probability, weights=w) == pytest.approx(weighed, abs=0.03)


@spelling
def weights_of_estimators_and_their_evaluation_sets() -> None:
    w, y = np.where(GRADES > 4, 1.5, 1.0), GRADES - 4
    model = lgb.LGBMRegressor(objective=go.qwk_objective(y, sample_weight=w), metric="None", **L)
    model.fit(
        X[TRAIN], y[TRAIN], sample_weight=w[TRAIN], eval_set=[(X[TEST], y[TEST])],
        eval_sample_weight=[w[TEST]], eval_metric=go.qwk_metric(),
    )  # fmt: skip
    grades = np.rint(model.predict(X[TEST])).clip(-3, 2).astype(int)
    wanted = cohen_kappa_score(y[TEST], grades, weights="quadratic", sample_weight=w[TEST])
    assert model.evals_result_["valid_0"]["qwk"][-1] == pytest.approx(wanted, abs=1e-6)


# --- rates


@spelling
def offset_of_a_tenth_in_xgboost() -> None:
    params = {**P, "base_score": START}
    ours = xgb.train(params, sample(TENTH), 20, obj=go.offset_logloss_objective(0.1))
    by_hand = xgb.train(params, sample(TENTH), 20, obj=offset_by_hand(0.1))
    margins = [b.predict(sample(slice(None)), output_margin=True) for b in (ours, by_hand)]
    np.testing.assert_allclose(*margins, atol=1e-4)  # of leaves with few events
    check_share(expit(margins[0]))


@spelling
def weights_of_a_tenth_in_xgboost() -> None:
    params = {**P, "eta": 0.1, "base_score": START}
    booster = xgb.train(params, sample(TENTH), 20, obj=go.weighted_logloss_objective(0.1))
    check_share(expit(booster.predict(sample(slice(None)), output_margin=True)))


@spelling
def offset_of_a_tenth_in_lightgbm() -> None:
    start = np.full(len(TENTH), START)
    data = lgb.Dataset(XP[TENTH], EVENTS_P[TENTH], init_score=start)
    booster = lgb.train({**G, "objective": go.offset_logloss_objective(0.1)}, data, 20)
    check_share(expit(booster.predict(XP) + START))


@spelling
def weights_of_a_tenth_in_lightgbm() -> None:
    start, valid = TENTH[::2], TENTH[1::2]
    history: dict[str, Any] = {}
    booster = lgb.train(
        {**G, "objective": go.weighted_logloss_objective(0.1), "metric": "None"},
        lgb.Dataset(XP[start], EVENTS_P[start], init_score=np.full(len(start), START)), 40,
        valid_sets=[lgb.Dataset(XP[valid], EVENTS_P[valid], init_score=np.full(len(valid), START))],
        feval=go.weighted_logloss_metric(0.1),
        callbacks=[lgb.early_stopping(10, verbose=False), lgb.record_evaluation(history)],
    )  # fmt: skip
    check_share(p := expit(booster.predict(XP) + START))
    weight = np.where(EVENTS_P[valid] == 1, 1.0, 10.0)
    wanted = log_loss(EVENTS_P[valid], p[valid], sample_weight=weight)
    assert min(history["valid_0"]["weighted_logloss"]) == pytest.approx(wanted, abs=1e-6)


@spelling
def events_are_the_majority_of_the_sample_in_xgboost() -> None:
    assert EVENTS_P[HUNDREDTH].mean() > 0.7
    params = {**P, "eta": 0.1, "base_score": START}
    booster = xgb.train(params, sample(HUNDREDTH), 20, obj=go.offset_logloss_objective(0.01))
    check_share(expit(booster.predict(sample(slice(None)), output_margin=True)))


@spelling
def events_are_the_majority_of_the_sample_in_lightgbm() -> None:
    margins = []
    for objective in (go.offset_logloss_objective(0.01), offset_by_hand(0.01)):
        start = np.full(len(HUNDREDTH), START)
        data = lgb.Dataset(XP[HUNDREDTH], EVENTS_P[HUNDREDTH], init_score=start)
        params = {**G, "min_data_in_leaf": 80, "lambda_l2": 1.0, "objective": objective}
        margins.append(lgb.train(params, data, 20).predict(XP) + START)
    np.testing.assert_allclose(*margins, atol=1e-4)  # of leaves with few events
    check_share(expit(margins[0]))


@spelling
def events_are_the_majority_of_the_sample_in_a_classifier() -> None:
    model = xgb.XGBClassifier(
        objective=go.offset_logloss_objective(0.01), base_score=SHARE, learning_rate=0.1, **N
    )
    check_share(model.fit(XP[HUNDREDTH], EVENTS_P[HUNDREDTH]).predict_proba(XP)[:, 1])


@spelling
def offset_in_a_classifier() -> None:
    model = xgb.XGBClassifier(
        objective=go.offset_logloss_objective(0.1), base_score=SHARE, early_stopping_rounds=10,
        eval_metric=go.weighted_logloss_metric(0.1), **N,
    )  # fmt: skip
    train, valid = TENTH[::2], TENTH[1::2]
    model.fit(XP[train], EVENTS_P[train], eval_set=[(XP[valid], EVENTS_P[valid])], verbose=False)
    check_share(model.predict_proba(XP)[:, 1])


@spelling
def rates_of_rows() -> None:
    rate = np.where(XP[:, 2] > 0, 0.2, 0.05)
    kept = np.flatnonzero((EVENTS_P == 1) | (rate > DRAWN))
    params = {**P, "base_score": START}
    ours = xgb.train(params, sample(kept), 20, obj=go.offset_logloss_objective(rate[kept]))
    by_hand = xgb.train(params, sample(kept), 20, obj=offset_by_hand(rate[kept]))
    margins = [b.predict(sample(slice(None)), output_margin=True) for b in (ours, by_hand)]
    np.testing.assert_allclose(*margins, atol=1e-4)
    check_share(expit(margins[0]))


@spelling
def loss_of_the_objective_as_metric() -> None:
    objective, history = go.offset_logloss_objective(0.1), {}
    booster = xgb.train(
        {**P, "base_score": START}, sample(TENTH), 20, obj=objective, verbose_eval=False,
        custom_metric=go.loss_metric(objective), evals=[(sample(TENTH), "train")],
        evals_result=history,
    )  # fmt: skip
    z = booster.predict(sample(TENTH), output_margin=True)
    wanted = log_loss(EVENTS_P[TENTH], expit(z + np.log(10)))
    (values,) = (v for name, v in history["train"].items() if name != "rmse")
    assert values[-1] == pytest.approx(wanted, abs=1e-5)


# --- starts by row, and earlier models


@spelling
def init_score_that_differs_by_row() -> None:
    first = lgb.train({**G, "objective": "regression"}, B(rows=TRAIN), 10)
    start = first.predict(X)
    booster = lgb.train(
        {**G, "objective": go.qwk_objective(GRADES[TRAIN]), "metric": "None"},
        B(rows=TRAIN, init_score=start[TRAIN]), 30, feval=go.qwk_metric(),
        valid_sets=[B(rows=TEST, init_score=start[TEST])],
        callbacks=[lgb.early_stopping(10, verbose=False)],
    )  # fmt: skip
    check_grades(scores := booster.predict(X[TEST]) + start[TEST])
    best = booster.best_score["valid_0"]["qwk"]
    assert best == pytest.approx(kappa(GRADES[TEST], scores), abs=1e-9)


@spelling
def base_margin_that_differs_by_row() -> None:
    first = xgb.train(P, D(rows=TRAIN), 5)
    start, history = first.predict(D()), {}
    booster = xgb.train(
        P, D(rows=TRAIN, base_margin=start[TRAIN]), 20, obj=go.qwk_objective(GRADES[TRAIN]),
        custom_metric=go.qwk_metric(), evals=[(D(rows=TEST, base_margin=start[TEST]), "v")],
        evals_result=history, verbose_eval=False,
    )  # fmt: skip
    scores = booster.predict(D(rows=TEST, base_margin=start[TEST]))
    check_grades(scores)
    assert history["v"]["qwk"][-1] == pytest.approx(kappa(GRADES[TEST], scores), abs=1e-6)


def check_goes_on(first: lgb.Booster, init_model: Any) -> None:
    """LightGBM goes on from an earlier model as its own objective does."""
    ours = lgb.train(
        {**G, "objective": go.weighted_logloss_objective(1)}, B(EVENTS), 10, init_model=init_model
    )
    params = {**G, "objective": "binary", "boost_from_average": False}
    theirs = lgb.train(params, B(EVENTS), 10, init_model=first)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X, raw_score=True), atol=SAME)


@spelling
def init_model_of_the_same_objective() -> None:
    first = lgb.train({**G, "objective": go.weighted_logloss_objective(1)}, B(EVENTS), 10)
    check_goes_on(first, first)


@spelling
def init_model_of_the_library() -> None:
    first = lgb.train({**G, "objective": "binary"}, B(EVENTS), 10)
    check_goes_on(first, first)


@spelling
def init_model_from_a_file() -> None:
    first = lgb.train({**G, "objective": "binary"}, B(EVENTS), 10)
    with tempfile.TemporaryDirectory() as folder:
        first.save_model(f"{folder}/first.txt")
        check_goes_on(first, f"{folder}/first.txt")


@spelling
def init_model_of_an_estimator() -> None:
    y = GRADES - 3
    model = lgb.LGBMRegressor(objective=go.qwk_objective(y), **{**L, "n_estimators": 15})
    first = clone(model).fit(X[TRAIN], y[TRAIN])
    check_grades(model.fit(X[TRAIN], y[TRAIN], init_model=first).predict(X[TEST]) + 3)
    assert model.booster_.num_trees() == 30


def check_xgboost_goes_on(params: dict[str, Any], objective: Any) -> None:
    first = xgb.train({**P, "objective": "binary:logistic"}, D(EVENTS), 10)
    ours = xgb.train({**P, **params}, D(EVENTS), 10, obj=objective, xgb_model=first)
    theirs = xgb.train({**P, "objective": "binary:logistic"}, D(EVENTS), 10, xgb_model=first)
    margins = [b.predict(D(EVENTS), output_margin=True) for b in (ours, theirs)]
    np.testing.assert_allclose(*margins, atol=NEAR)


@spelling
def xgb_model_of_the_library_under_its_name() -> None:
    check_xgboost_goes_on({"objective": "binary:logistic"}, go.weighted_logloss_objective(1))


@spelling
def xgb_model_of_ours() -> None:
    objective, params = go.qwk_objective(GRADES[TRAIN]), {**P, "base_score": MEAN}
    half = xgb.train(params, D(rows=TRAIN), 10, obj=objective)
    whole = xgb.train(params, D(rows=TRAIN), 20, obj=objective)
    rest = xgb.train(params, D(rows=TRAIN), 10, obj=objective, xgb_model=half)
    np.testing.assert_allclose(rest.predict(D()), whole.predict(D()), atol=1e-4)


@spelling
def xgb_model_of_an_estimator() -> None:
    model = xgb.XGBRegressor(objective=go.qwk_objective(GRADES), base_score=MEAN, **N)
    first = clone(model).fit(X[TRAIN], GRADES[TRAIN])
    model.fit(X[TRAIN], GRADES[TRAIN], xgb_model=first.get_booster())
    check_grades(model.predict(X[TEST]))


@spelling
def rounds_by_hand() -> None:
    data, objective = D(EVENTS), go.weighted_logloss_objective(1)
    booster = xgb.Booster({**P, "base_score": -0.8}, [data])
    for k in range(15):
        booster.update(data, k, fobj=objective)
    np.testing.assert_allclose(booster.predict(data), log_odds(), atol=NEAR)


@spelling
def rounds_by_hand_in_lightgbm() -> None:
    booster = lgb.Booster({**G, "objective": "none"}, B(EVENTS))
    objective = go.weighted_logloss_objective(1)
    for _ in range(20):
        booster.update(fobj=objective)
    np.testing.assert_allclose(booster.predict(X), binary(), atol=SAME)


# --- kinds of boosting


@spelling
def goss() -> None:
    check_binary(data_sample_strategy="goss")


@spelling
def goss_by_its_old_name() -> None:
    check_binary(boosting="goss")


@spelling
def linear_trees() -> None:
    check_binary(linear_tree=True)


@spelling
def monotone_in_lightgbm() -> None:
    check_binary(monotone_constraints=[1, 0, 0, 0], monotone_constraints_method="advanced")


@spelling
def extra_trees_path_smooth_and_l1() -> None:
    check_binary(extra_trees=True, path_smooth=2.0, lambda_l1=0.5)


@spelling
def bagging_and_columns() -> None:
    drawn = {"bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.7}
    check_binary(objective=log_loss_by_hand, **drawn)  # as any function


@spelling
def dart_in_lightgbm() -> None:
    params = {**G, "boosting": "dart", "objective": go.qwk_objective(GRADES - 3), "metric": "None"}
    booster = lgb.train(params, B(GRADES - 3, TRAIN), 40)
    check_grades(booster.predict(X[TEST]) + 3)


@spelling
def dart_in_xgboost() -> None:
    check_log_odds(booster="dart", rate_drop=0.1)


@spelling
def linear_booster() -> None:
    check_log_odds(booster="gblinear", updater="coord_descent", verbosity=0)  # of max_depth


@spelling
def monotone_in_xgboost() -> None:
    check_log_odds(monotone_constraints="(1,0,0,0)")


@spelling
def other_tree_methods() -> None:
    check_log_odds(tree_method="exact")
    check_log_odds(log_loss_by_hand, tree_method="approx")  # as any function
    check_log_odds(grow_policy="lossguide", max_leaves=6, max_bin=64)


@spelling
def parallel_trees_of_drawn_rows() -> None:
    check_log_odds(num_parallel_tree=2, subsample=0.8, colsample_bytree=0.8)


@spelling
def forests() -> None:
    forest = {**N, "random_state": 0}
    objective = go.qwk_objective(GRADES)
    ours = xgb.XGBRFRegressor(objective=objective, base_score=MEAN, **forest)
    check_grades(ours.fit(X[TRAIN], GRADES[TRAIN]).predict(X[TEST]))
    logistic = go.weighted_logloss_objective(1)
    ours = xgb.XGBRFClassifier(objective=logistic, base_score=0.3, **forest).fit(X, EVENTS)
    theirs = xgb.XGBRFClassifier(base_score=0.3, **forest).fit(X, EVENTS)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=NEAR)


# --- classifiers of XGBoost


def classifiers(**given: Any) -> tuple[Any, Any]:
    known = {"base_score": 0.3, **N, **given}
    return xgb.XGBClassifier(
        objective=go.weighted_logloss_objective(1), **known
    ), xgb.XGBClassifier(**known)


@spelling
def probabilities_of_a_classifier() -> None:
    ours, theirs = (model.fit(X, EVENTS) for model in classifiers())
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=NEAR)
    assert (ours.predict(X) != theirs.predict(X)).mean() < 0.01
    margins = [m.predict(X, output_margin=True, iteration_range=(0, 5)) for m in (ours, theirs)]
    np.testing.assert_allclose(*margins, atol=NEAR)


@spelling
def logloss_of_a_classifier() -> None:
    ours, theirs = (
        model.fit(X[TRAIN], EVENTS[TRAIN], eval_set=[(X[TEST], EVENTS[TEST])], verbose=False)
        for model in classifiers(eval_metric="logloss", early_stopping_rounds=10)
    )
    assert ours.best_iteration == theirs.best_iteration
    assert ours.best_score == pytest.approx(
        log_loss(EVENTS[TEST], ours.predict_proba(X[TEST])), abs=1e-5
    )


@spelling
def booleans_as_labels_of_a_classifier() -> None:
    ours, theirs = classifiers()
    ours, theirs = ours.fit(X, EVENTS.astype(bool)), theirs.fit(X, EVENTS)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=NEAR)


# --- metrics of ours under objectives of the libraries


@spelling
def kappa_of_the_librarys_squared_error() -> None:
    model = xgb.XGBRegressor(eval_metric=go.qwk_metric(), early_stopping_rounds=10, **N)
    model.fit(X[TRAIN], GRADES[TRAIN], eval_set=[(X[TEST], GRADES[TEST])], verbose=False)
    assert model.best_iteration + 1 == rounds_of(model.evals_result_["validation_0"]["qwk"])


@spelling
def kappa_of_lightgbms_squared_error() -> None:
    history: dict[str, Any] = {}
    booster = lgb.train(
        {**G, "objective": "regression", "metric": "None"}, B(rows=TRAIN), 60,
        valid_sets=[B(rows=TEST)], feval=go.qwk_metric(),
        callbacks=[lgb.early_stopping(10, verbose=False), lgb.record_evaluation(history)],
    )  # fmt: skip
    assert booster.best_iteration == rounds_of(history["valid_0"]["qwk"])
    check_grades(booster.predict(X[TEST]))


@spelling
def kappa_of_multi_class_boosting() -> None:
    history: dict[str, Any] = {}
    booster = xgb.train(
        {**P, "objective": "multi:softmax", "num_class": 6}, D(GRADES - 1, TRAIN), 10,
        custom_metric=go.qwk_metric(), evals=[(D(GRADES - 1, TEST), "v")], evals_result=history,
        verbose_eval=False,
    )  # fmt: skip
    wanted = kappa(GRADES[TEST] - 1, booster.predict(D(rows=TEST)), 0, 5)
    assert history["v"]["qwk"][-1] == pytest.approx(wanted, abs=1e-6)


# --- what stops, by other names


def stopped_regressor(measured: Any, sets: Any, **given: Any) -> None:
    """LightGBM's regressor, which stops on a metric of ours, and on what is named beside it."""
    model = lgb.LGBMRegressor(objective=go.qwk_objective(GRADES - 3), **given, **L)
    model.fit(X[TRAIN], GRADES[TRAIN] - 3, eval_set=sets, eval_metric=measured,
              callbacks=[lgb.early_stopping(20, verbose=False)])  # fmt: skip
    check_grades(model.predict(X[TEST]) + 3)


HELD = (X[TEST], GRADES[TEST] - 3)


@spelling
def an_alias_of_lightgbms_default() -> None:
    for name in ("l2", "mse", "mean_squared_error", "regression"):
        stopped_regressor([name, go.qwk_metric()], [HELD])


@spelling
def training_rows_beside_held_out_rows() -> None:
    own = X[TRAIN].copy(), GRADES[TRAIN] - 3
    stopped_regressor(go.qwk_metric(), [own, HELD], metric="None")
    stopped_regressor(go.qwk_metric(), [HELD, own], metric="None")


@spelling
def names_of_metrics_in_capitals() -> None:
    history: dict[str, Any] = {}
    booster = lgb.train(
        {**G, "objective": go.weighted_logloss_objective(1), "metric": "AUC"}, B(EVENTS, TRAIN), 60,
        valid_sets=[B(EVENTS, TEST)],
        callbacks=[lgb.early_stopping(10, verbose=False), lgb.record_evaluation(history)],
    )  # fmt: skip
    assert booster.best_iteration == rounds_of(history["valid_0"]["auc"])


@spelling
def the_same_start_of_all_logits() -> None:
    """A softmax does not see it."""
    hot = np.eye(6)[GRADES - 1]

    def softmax(y: Any, f: Any, w: Any) -> Any:
        p = np.exp(f - f.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p - hot[TRAIN], 2 * p * (1 - p)

    def trained(start: Any) -> Any:
        data = D(GRADES - 1, TRAIN)
        if start is not None:
            data.set_base_margin(start)
        params = {**P, "num_class": 6, "objective": "multi:softprob", "base_score": 0.5}
        own = go.objective(softmax, link="softmax", outputs=6)
        return xgb.train(params, data, 5, obj=own).predict(D(rows=TEST))

    np.testing.assert_allclose(trained(np.full((400, 6), 0.7)), trained(None), atol=NEAR)


# --- threads, files, copies


@spelling
def threads_with_one_objective() -> None:
    objective, metric = go.qwk_objective(), go.qwk_metric()

    def fold(parts: Any) -> Any:
        train, valid = parts
        return xgb.train(
            {**P, "base_score": MEAN}, D(rows=train), 15, obj=objective, custom_metric=metric,
            evals=[(D(rows=valid), "v")], early_stopping_rounds=8, verbose_eval=False,
        ).predict(D())  # fmt: skip

    folds = list(KFold(3).split(X))
    with ThreadPoolExecutor(3) as pool:
        for alone, together in zip(map(fold, folds), pool.map(fold, folds), strict=True):
            np.testing.assert_allclose(together, alone, atol=NEAR)


@prints  # LightGBM 4.4 in threads
def joblib_threads_of_lightgbm() -> None:
    objective, metric, y = go.qwk_objective(), go.qwk_metric(), GRADES - 3

    def fold(train: Any, valid: Any) -> Any:
        return lgb.train(
            {**G, "objective": objective, "metric": "None"}, B(y, train), 15, feval=metric,
            valid_sets=[B(y, valid)], callbacks=[lgb.early_stopping(8, verbose=False)],
        ).predict(X)  # fmt: skip

    folds = list(KFold(3).split(X))
    together = joblib.Parallel(3, prefer="threads")(joblib.delayed(fold)(*f) for f in folds)
    for f, found in zip(folds, together, strict=True):
        np.testing.assert_allclose(found, fold(*f), atol=SAME)


@spelling
def pickles_and_copies() -> None:
    model = lgb.LGBMRegressor(objective=go.qwk_objective(GRADES - 3), **L).fit(X, GRADES - 3)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_allclose(other.predict(X), model.predict(X), atol=SAME)


@spelling
def files_of_joblib() -> None:
    model, _ = classifiers()
    model.fit(X, EVENTS)
    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(model, f"{folder}/model.pkl")
        other = joblib.load(f"{folder}/model.pkl")
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=NEAR)


@spelling
def files_of_xgboost() -> None:
    model, _ = classifiers()
    model.fit(X, EVENTS)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.json")
        model.save_model(path)
        loaded, booster = xgb.XGBClassifier(), xgb.Booster(model_file=path)
        loaded.load_model(path)
    wanted = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(loaded.predict_proba(X)[:, 1], wanted, atol=NEAR)
    np.testing.assert_allclose(booster.predict(D(EVENTS)), wanted, atol=NEAR)


@spelling
def files_of_lightgbm() -> None:
    y = GRADES - 3
    booster = lgb.train({**G, "objective": go.qwk_objective(y), "metric": "None"}, B(y), 20)
    with tempfile.TemporaryDirectory() as folder:
        booster.save_model(f"{folder}/model.txt")
        loaded = lgb.Booster(model_file=f"{folder}/model.txt")
    np.testing.assert_allclose(loaded.predict(X), booster.predict(X), atol=SAME)
    check_grades(lgb.Booster(model_str=booster.model_to_string()).predict(X[TEST]) + 3)


# --- scikit-learn around estimators


def regressor(**given: Any) -> Any:
    return xgb.XGBRegressor(objective=go.qwk_objective(), **{"base_score": MEAN, **N, **given})


@spelling
def cross_val_score_of_clones() -> None:
    found = cross_val_score(regressor(), X, GRADES, cv=KFold(3), scoring=go.qwk_metric())
    wanted = [
        kappa(GRADES[b], clone(regressor()).fit(X[a], GRADES[a]).predict(X[b]))
        for a, b in KFold(3).split(X)
    ]
    np.testing.assert_allclose(found, wanted, atol=1e-9)


@spelling
def grid_search() -> None:
    search = GridSearchCV(regressor(), {"max_depth": [1, 3]}, cv=3, scoring=go.qwk_metric())
    search.fit(X[TRAIN], GRADES[TRAIN])
    check_grades(search.predict(X[TEST]))


@spelling
def search_over_objectives() -> None:
    objectives = [go.qwk_objective(), go.qwk_objective(GRADES - 3)]
    search = RandomizedSearchCV(
        lgb.LGBMRegressor(**L), {"objective": [*objectives, "regression"]}, n_iter=3, cv=3,
        scoring=go.extended_qwk_metric(), random_state=0,
    )  # fmt: skip
    # grades around 0, where LightGBM starts
    search.fit(X[TRAIN], GRADES[TRAIN] - 3)
    check_grades(search.predict(X[TEST]) + 3)


@spelling
def pipeline_with_an_evaluation_set() -> None:
    pipeline = make_pipeline(
        StandardScaler(), regressor(eval_metric=go.qwk_metric(), early_stopping_rounds=10)
    )
    pipeline.fit(
        X[TRAIN], GRADES[TRAIN], xgbregressor__eval_set=[(X[TEST], GRADES[TEST])],
        xgbregressor__verbose=False,
    )  # fmt: skip
    check_grades(pipeline.predict(X[TEST]))


@spelling
def voting_of_ours_and_theirs() -> None:
    voters = [("ours", regressor()), ("theirs", xgb.XGBRegressor(**N))]
    check_grades(VotingRegressor(voters).fit(X[TRAIN], GRADES[TRAIN]).predict(X[TEST]))


@spelling
def bagging() -> None:
    model = BaggingRegressor(regressor(), n_estimators=3, random_state=0)
    check_grades(model.fit(X[TRAIN], GRADES[TRAIN]).predict(X[TEST]))


@spelling
def stacking() -> None:
    model = StackingRegressor([("ours", regressor()), ("theirs", xgb.XGBRegressor(**N))], cv=3)
    check_grades(model.fit(X[TRAIN], GRADES[TRAIN]).predict(X[TEST]))


@spelling
def transformed_target() -> None:
    model = TransformedTargetRegressor(regressor(base_score=0.0), transformer=StandardScaler())
    check_grades(model.fit(X[TRAIN], GRADES[TRAIN]).predict(X[TEST]))


@spelling
def two_targets_of_one_estimator() -> None:
    model = MultiOutputRegressor(regressor(base_score=3.5))
    found = model.fit(X[TRAIN], np.c_[GRADES, 7 - GRADES][TRAIN]).predict(X[TEST])
    check_grades(found[:, 0])
    check_grades(7 - found[:, 1])
