"""In which direction, and by which digits, XGBoost's early stopping reads what a plain call
measures: metrics of ours, and functions of the user's that call them, or others."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit
from sklearn.metrics import cohen_kappa_score, f1_score, log_loss, mean_squared_error

import gbdt_objectives as go
from gbdt_objectives.metrics import f_beta_metric, squared_error_metric
from tests.cases import each

rng = np.random.default_rng(5)
X = rng.normal(size=(500, 4))
SIGNAL = X[:, 0] + 0.6 * X[:, 1] + rng.normal(0, 0.5, 500)
GRADES = np.digitize(SIGNAL, [-1.2, -0.4, 0.4, 1.2]).astype(float)
EVENTS = (rng.random(500) < expit(2 * X[:, 0] - 1)).astype(float)
NOISE = rng.normal(size=(500, 4))
TRAIN, TEST = slice(0, 300), slice(300, 500)
QWK, KAPPA = go.qwk_objective(), go.qwk_metric()
LOGLOSS = go.weighted_logloss_objective(1.0)
SMALL = {"max_depth": 2, "learning_rate": 0.3, "nthread": 1, "verbosity": 0}
ROUNDS, PATIENCE = 20, 6
DOORS = ("train", "cv", "fit", "callbacks", "fit with callbacks")
doors = pytest.mark.parametrize(
    "door", [door if door == "train" else pytest.param(door, marks=pytest.mark.slow)
             for door in DOORS])  # fmt: skip

Function = Callable[[Any, Any], float]


def kept(
    door: str, function: Any, name: str = "score", objective: Any = QWK, y: Any = GRADES,
    X: Any = X, history: Any = None, **how: Any,
) -> int:  # fmt: skip
    """The round, from 0, that XGBoost keeps; a metric of ours is passed itself."""
    ours, history = isinstance(function, go.Metric), {} if history is None else history
    stop = xgb.callback.EarlyStopping(rounds=PATIENCE, **how)
    stops = {"callbacks": [stop]} if "callbacks" in door else {
        "early_stopping_rounds": PATIENCE, **how}  # fmt: skip
    start = {"base_score": float(y[TRAIN].mean())}
    if door.startswith("fit"):
        kind = xgb.XGBClassifier if objective is LOGLOSS else xgb.XGBRegressor
        measured = function if ours else lambda y, p: function(y, p)
        if not ours:
            measured.__name__ = name
        given = {"n_estimators": ROUNDS, "eval_metric": measured, **stops, **SMALL, **start}
        model = kind(objective=objective or "reg:squarederror", **given)
        model.fit(X[TRAIN], y[TRAIN], eval_set=[(X[TEST], y[TEST])], verbose=False)
        history |= model.evals_result()
        return int(model.best_iteration)
    if objective is LOGLOSS:
        start = {"base_score": 0.0}
    metric = function if ours else lambda p, d: (name, function(d.get_label(), p))
    given = {"obj": objective, "custom_metric": metric, **stops}
    if door == "cv":
        found = xgb.cv({**SMALL, **start}, xgb.DMatrix(X, y), ROUNDS, nfold=2, as_pandas=False,
                       seed=0, **given)  # fmt: skip
        return len(found["test-rmse-mean"]) - 1
    data, held_out = xgb.DMatrix(X[TRAIN], y[TRAIN]), xgb.DMatrix(X[TEST], y[TEST])
    model = xgb.train({**SMALL, **start}, data, ROUNDS, evals=[(data, "t"), (held_out, "v")],
                      verbose_eval=False, evals_result=history, **given)  # fmt: skip
    return int(model.best_iteration)


def nearest(p: Any) -> Any:
    return np.clip(np.rint(p), 0, 4).astype(int)


def own_kappa(y: Any, p: Any) -> float:
    return float(cohen_kappa_score(y.astype(int), nearest(p), weights="quadratic"))


def own_f1(y: Any, p: Any) -> float:
    return float(f1_score(y, p > 0.3, zero_division=0))


RETURNED: dict[str, tuple[Function, dict[str, Any]]] = {
    "qwk": (lambda y, p: KAPPA(y, p), {}),
    "kappa of classes": (lambda y, p: go.quadratic_weighted_kappa(y, nearest(p)), {}),
    "f1": (lambda y, p: f_beta_metric(1.0)(y, p > 0.3), {"objective": LOGLOSS,
                                                                    "y": EVENTS}),
    "qwk under a loss of XGBoost's": (lambda y, p: KAPPA(y, p), {"objective": None}),
    "one of two": (lambda y, p: (KAPPA(y, p - 0.1), KAPPA(y, p))[1], {}),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@doors
@each("of", list(RETURNED))
def test_a_function_that_returns_a_metric_of_ours_is_not_minimised(door: str, of: str) -> None:
    function, given = RETURNED[of]
    with pytest.raises(ValueError, match="would minimise 'score', .* maximize=True"):
        kept(door, function, **given)
    if door != "fit":
        assert kept(door, function, maximize=True, **given) > 2


def loss_beside(seen: list[float]) -> Function:
    """A loss, by a function that looks at kappa, too."""

    def function(y: Any, p: Any) -> float:
        seen.append(KAPPA(y, p))
        return float(mean_squared_error(y, p))

    return function


RIGHT: dict[str, tuple[Function, dict[str, Any]]] = {
    "1 - kappa": (lambda y, p: 1 - KAPPA(y, p), {}),
    "-kappa": (lambda y, p: -KAPPA(y, p), {}),
    "1 - kappa of classes": (lambda y, p: 1 - go.quadratic_weighted_kappa(y, nearest(p)), {}),
    "its loss": (lambda y, p: KAPPA.loss(y, p), {}),
    "kappa that is looked at": (loss_beside([]), {}),
    "1 - another's kappa": (lambda y, p: 1 - own_kappa(y, p), {}),
    "squared error": (lambda y, p: float(mean_squared_error(y, p)), {}),
    "1 - f1": (lambda y, p: 1 - own_f1(y, p), {"objective": LOGLOSS, "y": EVENTS}),
    "auc": (lambda y, p: own_kappa(y, p), {"name": "auc_of_mine"}),
    "kappa named auc": (lambda y, p: KAPPA(y, p), {"name": "auc_of_mine"}),
}


@pytest.mark.filterwarnings("error")
@doors
@each("of", list(RIGHT))
def test_what_is_right_is_left_alone(door: str, of: str) -> None:
    function, given = RIGHT[of]
    assert kept(door, function, **given) > 2


RISING: dict[str, tuple[Function, dict[str, Any]]] = {
    "squared error": (lambda y, p: float(mean_squared_error(y, p)), {}),
    "absolute error": (lambda y, p: float(np.mean(np.abs(y - p))), {}),
    "log loss": (lambda y, p: float(log_loss(y, expit(p))), {"objective": LOGLOSS, "y": EVENTS}),
    "errors": (lambda y, p: float(np.mean((p > 0) != y)), {"objective": LOGLOSS, "y": EVENTS}),
}


@pytest.mark.filterwarnings("error")
@doors
@each("of", list(RISING))
def test_a_loss_that_does_rise_is_left_alone(door: str, of: str) -> None:
    """Rows in which nothing is to be learned."""
    function, given = RISING[of]
    kept(door, function, X=NOISE, **given)


OTHERS: dict[str, tuple[Function, dict[str, Any]]] = {
    "scikit-learn's kappa": (own_kappa, {}),
    "scikit-learn's f1": (own_f1, {"objective": LOGLOSS, "y": EVENTS}),
    "ours, changed": (lambda y, p: 100 * KAPPA(y, p), {}),
}


@pytest.mark.filterwarnings("ignore:boosting starts at")
@doors
@each("of", list(OTHERS))
def test_values_that_rise_while_the_loss_falls_are_told(door: str, of: str) -> None:
    function, given = OTHERS[of]
    calls = []

    def counted(y: Any, p: Any) -> float:
        calls.append(1)
        return function(y, p)

    with pytest.warns(UserWarning, match="would minimise 'score', .* maximize=True") as told:
        assert kept(door, counted, **given) == 0
    assert len([one for one in told if "minimise" in str(one.message)]) == 1
    sets = {"cv": 4, "fit": 1, "fit with callbacks": 1}.get(door, 2)
    assert len(calls) == sets * (PATIENCE + 1)  # not one more than XGBoost's own
    if door != "fit":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert kept(door, function, maximize=True, **given) > 2


@doors
def test_a_loss_that_xgboost_would_maximise_is_told(door: str) -> None:
    error = squared_error_metric()
    with pytest.raises(ValueError, match="would maximise 'predicted_cost', .* maximize=False"):
        kept(door, lambda y, p: error(y, p), "predicted_cost")
    with pytest.warns(UserWarning, match="would maximise 'predicted_cost', .* maximize=False"):
        assert kept(door, mean_squared_error, "predicted_cost") == 0


class PredictedCost(go.Metric):
    """A loss whose name XGBoost would maximise."""

    name: ClassVar[str] = "predicted_cost"
    greater_is_better: ClassVar[bool] = False

    def score(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        return float(mean_squared_error(y_true, y_pred, sample_weight=sample_weight))


@pytest.mark.filterwarnings("error")
@doors
def test_a_metric_of_ours_has_its_own_direction(door: str) -> None:
    assert kept(door, PredictedCost()) == kept(door, squared_error_metric()) > 2


class Tiny(go.Metric):
    """Of labels in a small unit: XGBoost prints 0.000000 in each round."""

    name: ClassVar[str] = "tiny"
    greater_is_better: ClassVar[bool] = False

    def score(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        return 1e-8 * float(mean_squared_error(y_true, y_pred))


@pytest.mark.filterwarnings("error")
@doors
def test_a_small_metric_stops_where_the_same_in_a_larger_unit_does(door: str) -> None:
    history: dict[str, Any] = {}
    assert kept(door, Tiny(), history=history) == kept(door, squared_error_metric()) > 2
    for values in history.values():
        own = dict(values)
        # float32 predictions, of both: the same numbers but for the six decimals of rmse
        np.testing.assert_allclose(own["tiny"], 1e-8 * np.square(own["rmse"]), rtol=1e-4)


class Looks(xgb.callback.TrainingCallback):
    """What XGBoost calls after each round."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        container: Any = sys._getframe(1).f_locals.get("self")
        self.kinds |= {type(callback).__name__ for callback in container.callbacks}
        return False


@each("stops", [None, 3])
def test_only_early_stopping_is_watched(stops: int | None) -> None:
    data, held_out = xgb.DMatrix(X[TRAIN], GRADES[TRAIN]), xgb.DMatrix(X[TEST], GRADES[TEST])
    looks = Looks()
    params = {**SMALL, "base_score": float(GRADES.mean())}
    xgb.train(params, data, 3, obj=QWK, evals=[(held_out, "v")], verbose_eval=False,
              custom_metric=lambda p, d: ("k", KAPPA(d.get_label(), p)), maximize=True,
              callbacks=[looks], early_stopping_rounds=stops)  # fmt: skip
    assert ("Watch" in looks.kinds) == (stops is not None)
