"""What users write in the libraries' own words works with its meaning, or says what to write."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from tests.adapters.library import LGB, XGB, Library, both

pytestmark = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
TRAIN, TEST = slice(0, 400), slice(400, 600)
SMOOTH = go.extended_qwk_metric()
REGRESSOR = {"xgboost": xgboost_adapter.XGBRegressor, "lightgbm": lightgbm_adapter.LGBMRegressor}
CLASSIFIER = {
    "xgboost": xgboost_adapter.XGBClassifier, "lightgbm": lightgbm_adapter.LGBMClassifier
}  # fmt: skip
QUIET = {"xgboost": {"max_depth": 2}, "lightgbm": {"num_leaves": 4, "verbose": -1}}


def regressor(lib: Library, **parameters: Any) -> Any:
    given = {"objective": go.qwk_objective(), "n_estimators": 60, "n_jobs": 1, **parameters}
    return REGRESSOR[lib.name](**QUIET[lib.name], **given)


def held_out(X, y) -> dict[str, Any]:
    return {"eval_set": [(X[TEST], y[TEST])]}


# --- names of metrics


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("qwk", r"pass qwk_metric\(\.\.\.\)"),
        ("kappa", r"pass qwk_metric\(\.\.\.\)"),
        ("extended_qwk", r"pass extended_qwk_metric\(\.\.\.\)"),
        ("weighted_logloss", r"pass weighted_logloss_metric\(\.\.\.\)"),
        ("rmsee", "correct the name"),
        ("l1,qwk", r"pass qwk_metric\(\.\.\.\)"),
    ],
)
def test_names_that_lightgbm_does_not_know_are_refused(name, remedy, ordinal) -> None:
    X, y, _ = ordinal
    for objective in (go.qwk_objective(), "regression", None):
        model = regressor(LGB, objective=objective, early_stopping_rounds=5)
        with pytest.raises(ValueError, match=f"is not a metric of LightGBM.*{remedy}"):
            model.fit(X[TRAIN], y[TRAIN], eval_metric=name, **held_out(X, y))
        with pytest.raises(ValueError, match=f"is not a metric of LightGBM.*{remedy}"):
            model.fit(X[TRAIN], y[TRAIN], eval_metric=["l1", name], **held_out(X, y))
        with pytest.raises(ValueError, match=f"is not a metric of LightGBM.*{remedy}"):
            regressor(LGB, objective=objective, metric=name).fit(X, y)


KNOWN = [
    "l1", "mae", "regression_l1", "l2", "mse", "rmse", "l2_root", "root_mean_squared_error",
    "quantile", "mape", "huber", "fair", "poisson", "gamma", "gamma_deviance", "tweedie",
    "ndcg", "lambdarank", "map", "auc", "average_precision", "binary_logloss", "binary_error",
    "multi_logloss", "softmax", "multi_error", "auc_mu", "cross_entropy", "xentropy",
    "cross_entropy_lambda", "kullback_leibler", "kldiv", "None", "na", "custom",
]  # fmt: skip


def test_names_that_lightgbm_knows_are_not_refused() -> None:
    knows = lightgbm_adapter.estimators.knows_metric
    assert [name for name in KNOWN if not knows(name)] == []


def test_xgboost_refuses_unknown_names_itself(ordinal) -> None:
    X, y, _ = ordinal
    with pytest.raises(xgb.core.XGBoostError, match="Unknown metric function qwk"):
        regressor(XGB, eval_metric="qwk").fit(X, y, **held_out(X, y), verbose=False)


@both
@pytest.mark.parametrize("classifier", [False, True], ids=["regressor", "classifier"])
def test_early_stopping_on_no_metric_says_so(lib: Library, classifier, ordinal, rare) -> None:
    X, y, _ = rare if classifier else ordinal
    objective = go.offset_logloss_objective(0.1) if classifier else go.qwk_objective()
    kind = (CLASSIFIER if classifier else REGRESSOR)[lib.name]
    by_number = {"early_stopping_rounds": 5}
    forms: list[tuple[dict[str, Any], dict[str, Any]]] = [(by_number, {})]
    if lib is LGB:
        forms.append(({}, {"callbacks": [lgb.early_stopping(5, verbose=False)]}))
    else:
        forms.append(({"callbacks": [xgb.callback.EarlyStopping(rounds=5)]}, {}))
    for parameters, arguments in forms:
        model = kind(objective=objective, **QUIET[lib.name], **parameters)
        with pytest.raises(ValueError, match=r"eval_metric is missing.*loss_metric\(objective\)"):
            model.fit(X[TRAIN], y[TRAIN], **held_out(X, y), **arguments)
    if not classifier:
        loss = go.loss_metric(go.qwk_objective(y[TRAIN]))
        told = {"eval_metric": loss}
        model = kind(objective=objective, **QUIET[lib.name], **by_number,
                     **(told if lib is XGB else {}))  # fmt: skip
        model.fit(X[TRAIN], y[TRAIN], **held_out(X, y), **({} if lib is XGB else told))


def test_lightgbm_stops_on_the_metric_that_is_named_alone(ordinal) -> None:
    """LightGBM adds l2 under a custom objective, and stops on whichever is best first."""
    X, y, _ = ordinal
    y = np.where(np.arange(len(y)) % 50 == 0, y + 30, y)  # l2 follows the outliers, l1 does not
    for named in ({"eval_metric": "l1"}, {}):
        model = regressor(LGB, n_estimators=150, early_stopping_rounds=10,
                          **({} if named else {"metric": "l1"}))  # fmt: skip
        model.fit(X[TRAIN], y[TRAIN], **held_out(X, y), **named)
        (values,) = model.evals_result_.values()
        assert list(values) == ["l1"]
        assert model.best_iteration_ == np.argmin(values["l1"]) + 1


@both
def test_rmse_by_name_is_what_early_stopping_looks_at(lib: Library, ordinal) -> None:
    X, y, _ = ordinal
    name = {"eval_metric": "rmse"}
    model = regressor(lib, early_stopping_rounds=5, **(name if lib is XGB else {}))
    model.fit(X[TRAIN], y[TRAIN], **held_out(X, y), **({} if lib is XGB else name))
    (values,) = (model.evals_result() if lib is XGB else model.evals_result_).values()
    assert list(values) == ["rmse"]
