"""What once went wrong in silence and is no cell of the matrix, or more than one.

Gradients, mean losses and metrics of several workers are cells of ``test_engines`` and
``test_dask``, the log link and classifiers on Dask cells of ``test_objectives`` and ``test_dask``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit
from sklearn.metrics import log_loss

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as our_lightgbm, xgboost as our_xgboost
from tests.cases import each

pytestmark = pytest.mark.filterwarnings(
    "ignore:The argument 'eval_set' is deprecated", "ignore:boosting starts at"
)
Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def noisy() -> tuple[Array, Array]:
    """Rare events that a booster soon learns by heart, so that early stopping matters."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 4))
    return X, (rng.random(400) < expit(4 * X[:, 0] - 4)).astype(int)


# --- renderings under objectives of the library, and early stopping on them


def stopped_xgboost(X: Array, y: Array, metric: Any) -> tuple[Any, int, Any]:
    model = xgb.XGBClassifier(
        n_estimators=60, learning_rate=0.3, n_jobs=1, eval_metric=metric, early_stopping_rounds=5
    )
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    *_, values = model.evals_result()["validation_0"].values()  # the default is before ours
    at = partial(model.predict_proba, X[200:])
    return values, model.best_iteration, lambda k: at(iteration_range=(0, k + 1))[:, 1]


def stopped_lightgbm(X: Array, y: Array, metric: Any) -> tuple[Any, int, Any]:
    history: dict[str, Any] = {}
    data = lgb.Dataset(X[:200], y[:200])
    booster = lgb.train(
        {"objective": "binary", "metric": "None", "verbose": -1, "num_threads": 1}, data, 60,
        feval=metric, valid_sets=[lgb.Dataset(X[200:], y[200:], reference=data)],
        callbacks=[lgb.record_evaluation(history), lgb.early_stopping(5, verbose=False)],
    )  # fmt: skip
    (values,) = history["valid_0"].values()
    best = booster.best_iteration - 1
    return values[: best + 1], best, lambda k: booster.predict(X[200:], num_iteration=k + 1)


METRIC = go.weighted_logloss_metric(1, input_space="probability")


@each(
    ("stopped", "metric"),
    [
        (stopped_xgboost, METRIC.xgboost),
        (stopped_xgboost, METRIC),
        (stopped_lightgbm, METRIC.lightgbm),
    ],
)
def test_2_a_rendering_under_a_built_in_objective(stopped, metric, noisy) -> None:
    X, y = noisy
    values, best, predict = stopped(X, y, metric)
    expected = [log_loss(y[200:], np.asarray(predict(k), float)) for k in range(len(values))]
    # XGBoost prints with five or six decimals, and its probabilities are float32
    np.testing.assert_allclose(values, expected, atol=2e-5)
    assert best == np.argmin(values)
    assert best < 59


# --- refusals that a wrapper between fit and train made vanish


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::Warning")  # of mlflow
def test_3_a_classifier_refuses_a_score_under_mlflow(noisy, tmp_path, monkeypatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    of_xgboost = pytest.importorskip("mlflow.xgboost")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database takes seconds to make
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    quiet = {"silent": True, "log_models": False, "log_datasets": False}
    of_xgboost.autolog(**quiet)
    try:
        for objective in (go.focal_objective(2.0), go.qwk_objective()):
            with pytest.raises(TypeError, match="import XGB"):
                xgb.XGBClassifier(objective=objective, n_estimators=2, n_jobs=1).fit(*noisy)
        X, y = noisy
        right = our_xgboost.XGBClassifier(
            objective=go.weighted_logloss_objective(1), n_estimators=2, n_jobs=1
        )
        p = right.fit(X, y).predict_proba(X)[:, 1]
        np.testing.assert_allclose(p, expit(right.predict(X, output_margin=True)), rtol=1e-5)
    finally:
        of_xgboost.autolog(disable=True, silent=True)


# --- rows that do not count


def xgboost_predictions(X: Array, y: Array, w: Array) -> Array:
    params = {"max_depth": 2, "nthread": 1}
    data = xgb.DMatrix(X, y, weight=w)
    booster = our_xgboost.train(params, data, 8, objective=go.qwk_objective())
    return booster.predict(xgb.DMatrix(X[:40]))


def lightgbm_predictions(X: Array, y: Array, w: Array) -> Array:
    params = {"num_leaves": 4, "num_threads": 1, "verbose": -1, "min_data_in_leaf": 1}
    data = lgb.Dataset(X, y, weight=w)
    booster = our_lightgbm.train(params, data, 8, objective=go.qwk_objective())
    return booster.predict(X[:40])


@pytest.mark.parametrize("predictions", [xgboost_predictions, lightgbm_predictions])
def test_10_rows_of_weight_0_set_no_label_range(predictions) -> None:
    y = np.repeat([0.0, 1, 2, 3], 10)
    X = (np.arange(40) // 5 % 7)[:, np.newaxis].astype(float)
    masked = np.append(y, [99.0]), np.append(np.ones(40), [0.0])
    assert go.qwk_objective().measured(*masked).label_range == (0, 3)
    assert go.qwk_objective(masked[0], sample_weight=masked[1]).label_range == (0, 3)
    found = predictions(np.vstack([X, X[:1]]), *masked)
    # the row is in LightGBM's and XGBoost's bins, which it does not move here
    np.testing.assert_allclose(found, predictions(X, y, np.ones(40)), rtol=1e-6)


# --- built-in objectives whose predictions are not what a metric of margins takes

OTHER_PREDICTIONS: list[tuple[dict[str, Any], Any]] = [
    ({"objective": "multiclassova", "num_class": 3}, go.metrics.class_logloss_metric()),
    ({"objective": "cross_entropy_lambda"}, go.weighted_logloss_metric(1)),
    ({"objective": "survival:cox"}, go.weighted_logloss_metric(1)),
    ({"objective": "reg:squarederror"}, go.weighted_logloss_metric(1)),
    ({"objective": "binary:logitraw"}, go.loss_metric(go.focal_objective(2.0))),
]


@each(("params", "metric"), OTHER_PREDICTIONS, ids=repr)
def test_2_a_rendering_under_an_objective_whose_predictions_are_no_margins(
    params, metric, noisy
) -> None:
    if ":" in params["objective"]:
        data = xgb.DMatrix(*noisy)
        train = partial(xgb.train, evals=[(data, "v")], custom_metric=metric.xgboost)
    else:
        data = lgb.Dataset(*noisy)
        train = partial(lgb.train, valid_sets=[data], feval=metric.lightgbm)
    with pytest.raises(ValueError, match="under its built-in objective"):
        train({**params, "verbose": -1}, data, 2)


def test_2_the_margins_of_logitraw_are_log_odds(noisy) -> None:
    X, y = noisy
    history: dict[str, Any] = {}
    data = xgb.DMatrix(X, y)
    booster = xgb.train(
        {"objective": "binary:logitraw"}, data, 3, evals=[(data, "v")], evals_result=history,
        custom_metric=go.weighted_logloss_metric(1).xgboost, verbose_eval=False,
    )  # fmt: skip
    p = 1 / (1 + np.exp(-booster.predict(data).astype(float)))
    # XGBoost prints the metric with five decimals
    assert history["v"]["weighted_logloss"][-1] == pytest.approx(log_loss(y, p), abs=2e-5)
