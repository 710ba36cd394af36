"""What once went wrong in silence and is no cell of the matrix, or more than one.

Gradients, mean losses and metrics of several workers are cells of ``test_engines`` and
``test_dask``, the log link and classifiers on Dask cells of ``test_objectives`` and ``test_dask``.
"""

from __future__ import annotations

from collections.abc import Callable
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
from tests.matrix.tables import BY_NAME, patch_train, poisson, right_or_refused
from tests.matrix.test_metrics import logloss
from tests.test_boosters import BOOSTER, same

pytestmark = pytest.mark.filterwarnings(
    "ignore:The argument 'eval_set' is deprecated", "ignore:boosting starts at"
)
Array = np.ndarray[Any, Any]
ROUNDS = 60


@pytest.fixture(scope="module")
def noisy() -> tuple[Array, Array]:
    """Rare events that a booster soon learns by heart, so that early stopping matters."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 4))
    return X, (rng.random(400) < expit(4 * X[:, 0] - 4)).astype(int)


# --- renderings under objectives of the library, and early stopping on them


def xgboost_history(X: Array, y: Array, metric: Any, rounds: int | None) -> tuple[Any, Any]:
    model = xgb.XGBClassifier(
        n_estimators=ROUNDS, learning_rate=0.3, n_jobs=1, eval_metric=metric,
        early_stopping_rounds=rounds,
    )  # fmt: skip
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    *_, values = model.evals_result()["validation_0"].values()  # the default is before ours
    predict = [model.predict_proba(X[200:], iteration_range=(0, k + 1))[:, 1]
               for k in range(len(values))]  # fmt: skip
    return values, (predict, getattr(model, "best_iteration", None))


def lightgbm_history(X: Array, y: Array, metric: Any, rounds: int | None) -> tuple[Any, Any]:
    history: dict[str, Any] = {}
    callbacks = [lgb.record_evaluation(history)]
    if rounds:
        callbacks.append(lgb.early_stopping(rounds, verbose=False))
    params = {"objective": "binary", "metric": "None", "verbose": -1, "num_threads": 1}
    data = lgb.Dataset(X[:200], y[:200])
    booster = lgb.train(params, data, ROUNDS, feval=metric, callbacks=callbacks,
                        valid_sets=[lgb.Dataset(X[200:], y[200:], reference=data)])  # fmt: skip
    (values,) = history["valid_0"].values()
    predict = [booster.predict(X[200:], num_iteration=k + 1) for k in range(len(values))]
    return values, (predict, booster.best_iteration - 1 if rounds else None)


RENDERED: dict[str, tuple[Callable[..., Any], Any, Callable[..., float]]] = {
    "XGBClassifier-logloss": (xgboost_history, go.weighted_logloss_metric(1).xgboost, logloss),
    "XGBClassifier-logloss-itself": (xgboost_history, go.weighted_logloss_metric(1), logloss),
    "lgb.train-logloss": (lightgbm_history, go.weighted_logloss_metric(1).lightgbm, logloss),
}


@each("rounds", [None, 5])
@each("name", RENDERED)
def test_2_a_rendering_under_a_built_in_objective(name: str, rounds: int | None, noisy) -> None:
    X, y = noisy
    report, metric, truth = RENDERED[name]
    found = right_or_refused(lambda: report(X, y, metric, rounds))
    if found is None:
        return
    values, (predictions, best) = found
    expected = [
        truth(y[200:], np.column_stack([1 - p, p]), np.ones(200))
        for p in np.asarray(predictions, float)
    ]
    kept = len(values) if best is None else best + 1  # LightGBM drops the rounds after the best
    # XGBoost prints with five or six decimals, and its probabilities are float32
    np.testing.assert_allclose(values[:kept], expected[:kept], atol=2e-5)
    if rounds:
        assert best == np.argmin(values)
        assert best < ROUNDS - 1


# --- refusals that a wrapper between fit and train made vanish

OF_SCORES = [go.focal_objective(2.0), go.qwk_objective()]
CLASSIFIERS: list[Callable[..., Any]] = [
    lambda objective: xgb.XGBClassifier(objective=objective, n_estimators=2, n_jobs=1),
    lambda objective: lgb.LGBMClassifier(objective=objective, n_estimators=2, verbose=-1, n_jobs=1),
]


@pytest.mark.parametrize("objective", OF_SCORES, ids=repr)
@pytest.mark.parametrize("patched", [False, True])
@pytest.mark.parametrize("make", CLASSIFIERS, ids=["xgboost", "lightgbm"])
def test_3_a_classifier_refuses_a_score(make, patched, objective, noisy, monkeypatch) -> None:
    if patched:
        patch_train(monkeypatch)
    with pytest.raises(TypeError, match="import (XGB|LGBM)(Classifier|Regressor) from"):
        make(objective).fit(*noisy)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::Warning")  # of mlflow
def test_3_a_classifier_refuses_a_score_under_mlflow(noisy, tmp_path, monkeypatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    of_xgboost = pytest.importorskip("mlflow.xgboost")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    quiet = {"silent": True, "log_models": False, "log_datasets": False}
    of_xgboost.autolog(**quiet)
    try:
        for objective in OF_SCORES:
            with pytest.raises(TypeError, match="import XGB"):
                CLASSIFIERS[0](objective).fit(*noisy)
        X, y = noisy
        right = our_xgboost.XGBClassifier(
            objective=go.weighted_logloss_objective(1), n_estimators=2, n_jobs=1
        )
        p = right.fit(X, y).predict_proba(X)[:, 1]
        np.testing.assert_allclose(p, expit(right.predict(X, output_margin=True)), rtol=1e-5)
    finally:
        of_xgboost.autolog(disable=True, silent=True)


# --- every entry point in distributed LightGBM, which has no sums over workers for us


def asks(name: str) -> Callable[[go.Objective], Callable[[Array, Array], Any]]:
    return {
        "gradient_hessian": lambda o: o.gradient_hessian,
        "bind": lambda o: lambda y, f: o.bind(y)(f),
        "measured": lambda o: lambda y, f: o.measured(y),
        "mean_loss": lambda o: o.mean_loss,
    }[name]


@each("entry", ["gradient_hessian", "bind", "measured", "mean_loss"])
def test_4_an_entry_point_in_the_users_own_function_of_distributed_lightgbm(entry) -> None:
    library: dict[str, Any] = {"__name__": "lightgbm.basic"}
    exec(BOOSTER, library)
    y, f = np.array([0.0, 1, 2]), np.array([0.5, 1.0, 1.5])
    booster, ask = library["Booster"], asks(entry)
    booster(False).update(ask(go.qwk_objective()), y, f)
    with pytest.raises(ValueError, match="distributed LightGBM.*within lightgbm"):
        booster(True).update(ask(go.qwk_objective()), y, f)
    booster(True).update(ask(go.qwk_objective(y, reduce=same)), y, f)


# --- the log link


def test_6_a_poisson_loss_predicts_counts_and_a_wrong_link_is_no_classifier() -> None:
    row = BY_NAME["log"]
    link = go.objective(poisson, link="log").link
    np.testing.assert_allclose(link.inverse(np.log(row.y + 1)), row.y + 1)
    for word in ("exp", "poisson", "LOG"):
        with pytest.raises(ValueError, match='one of .*"?log"?'):
            go.objective(poisson, link=word)
    for kind in (our_xgboost.XGBClassifier, our_lightgbm.LGBMClassifier):
        with pytest.raises(TypeError, match="use (XGB|LGBM)Regressor"):
            kind(objective=row.objective).fit(np.zeros((4, 1)), [0, 1, 0, 1])


# --- labels of rows have one name


@pytest.mark.parametrize(
    "factory",
    [go.qwk_objective, go.objectives.kappa_objective, go.extended_qwk_metric],
    ids=lambda f: f.__name__,
)
def test_7_labels_is_refused_where_rows_are_meant(factory) -> None:
    given = ("absolute",) if factory is go.objectives.kappa_objective else ()
    with pytest.raises(TypeError, match="labels.*write y_true="):
        factory(*given, labels=[0, 1, 2, 3])


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


# --- the order of a function's arguments


@each(
    "function",
    [
        lambda y_pred, y_true, w: (y_pred - y_true, 1.0),
        lambda preds, labels, weight: (preds - labels, 1.0),
        lambda predt, dtrain, w: (predt, 1.0),
        lambda margin, y, w: (margin - y, 1.0),
    ],
)
def test_12_parameters_named_in_the_other_order_are_refused(function) -> None:
    with pytest.raises(TypeError, match="train backwards; write the labels first"):
        go.objective(function)
    swapped = go.objective(lambda y_true, y_pred, w: (y_pred - y_true, np.ones(len(y_true))))
    np.testing.assert_array_equal(swapped(np.zeros(2), np.ones(2))[0], [1, 1])


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
