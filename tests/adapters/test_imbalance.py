"""imbalance_shift: what the boosters' parameters against imbalance do, by simulation."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit

import gbdt_objectives as go
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter, xgboost as xgboost_adapter
from tests.adapters.library import LGB, XGB, Library, both

BINARY = {"objective": "binary"}
BAGGED = {**BINARY, "neg_bagging_fraction": 0.05, "bagging_freq": 1}
CASES = [
    (XGB, {"objective": "binary:logistic", "scale_pos_weight": 20}, -np.log(20)),
    (XGB, {"objective": "binary:logitraw", "scale_pos_weight": 0.2}, np.log(5)),
    (XGB, {"objective": "reg:logistic", "scale_pos_weight": 20}, -np.log(20)),
    (LGB, {**BINARY, "scale_pos_weight": 20}, -np.log(20)),
    (LGB, {**BINARY, "scale_pos_weight": 20, "sigmoid": 2.0}, -np.log(20)),
    (LGB, {**BINARY, "unbalance": True}, None),
    (LGB, BAGGED, np.log(0.05)),
    (LGB, {**BINARY, "pos_bagging_fraction": 0.25, "bagging_freq": 2}, np.log(4)),
    (LGB, {**BAGGED, "scale_pos_weight": 3}, np.log(0.05 / 3)),
    (LGB, {**BAGGED, "bagging_freq": 0}, 0.0),
    (LGB, {**BAGGED, "boosting": "goss"}, 0.0),
    (LGB, {**BINARY, "scale_pos_weight": 20, "boosting": "goss"}, -np.log(20)),
    (LGB, {"objective": "cross_entropy", "scale_pos_weight": 20, "neg_bagging_fraction": 0.05,
           "bagging_freq": 1}, 0.0),
]  # fmt: skip
CASE_IDS = [f"{lib}-{'-'.join(map(str, params.values()))}" for lib, params, _ in CASES]


@pytest.fixture(scope="module")
def population():
    """X, y, true probabilities: 40,000 rows, 2.4 % positive."""
    rng = np.random.default_rng(8)
    X = rng.random((40_000, 2))
    p = expit(4 * X[:, 0] + np.sin(6 * X[:, 1]) - 6.5)
    return X, (rng.random(len(p)) < p).astype(int), p


@pytest.mark.parametrize(("lib", "params", "known"), CASES, ids=CASE_IDS)
def test_the_shift_undoes_the_parameters(lib: Library, params, known, population):
    X, y, p = population
    small = {"max_depth": 2} if lib is XGB else {"num_leaves": 4, "min_data_in_leaf": 400}
    booster = lib.built_in({**small, **params}, lib.data(X, y), 60)
    shift = go.imbalance_shift(booster, y)
    expected = -np.log((y == 0).sum() / y.sum()) if known is None else known
    assert shift == pytest.approx(expected, abs=1e-7)

    def mean_ratio(booster, rows):
        q = lib.predict(booster, X[rows])
        return (expit(q) if params["objective"] == "binary:logitraw" else q).mean() / p[rows].mean()

    moved = go.shift_intercept(booster, shift)
    # 950 positives and what bagging draws of the negatives: a noise of 3 % each
    assert mean_ratio(moved, slice(None)) == pytest.approx(1, rel=0.08)
    # not on average only: about 120 positives where they are rare
    assert mean_ratio(moved, X[:, 0] < 0.5) == pytest.approx(1, rel=0.25)
    if shift:
        assert abs(np.log(mean_ratio(booster, slice(None)))) > 0.8 * min(abs(shift), 2)


@both
def test_read_from_a_saved_model(lib: Library, population, tmp_path):
    X, y, _ = population
    weighed = {"objective": "binary:logistic" if lib is XGB else "binary", "scale_pos_weight": 7}
    booster = lib.built_in(weighed, lib.data(X[:2000], y[:2000]), 3)
    file = tmp_path / "model.json"
    booster.save_model(file)
    loaded = type(booster)(model_file=file)
    for model in (booster, loaded, go.shift_intercept(loaded, -20.0)):
        assert go.imbalance_shift(model) == pytest.approx(-np.log(7), abs=1e-7)  # float32
    adapter = xgboost_adapter if lib is XGB else lightgbm_adapter
    assert adapter.imbalance_shift(booster) == go.imbalance_shift(booster)


@both
def test_nothing_to_undo_in_our_models(lib: Library, rare):
    X, y, _ = rare
    booster = lib.train(lib.params, lib.data(X, y), 3, objective=go.offset_logloss_objective(0.1))
    assert go.imbalance_shift(booster) == 0.0
    if lib is LGB:  # which ignores its own parameters under a custom objective, and says so
        custom = lgb.train({**lib.params, **BAGGED, "objective": go.offset_logloss_objective(1)},
                           lgb.Dataset(X, y), 3)  # fmt: skip
        assert go.imbalance_shift(custom) == 0.0


@both
def test_misuse(lib: Library, rare):
    X, y, _ = rare
    data = lib.data(X, y)
    with pytest.raises(TypeError, match="Booster of xgboost or lightgbm"):
        go.imbalance_shift("model")
    estimator = (xgb.XGBClassifier if lib is XGB else lgb.LGBMClassifier)(n_estimators=2).fit(X, y)
    with pytest.raises(TypeError, match="from an estimator take"):
        go.imbalance_shift(estimator)
    squares = lib.built_in({"scale_pos_weight": 5} if lib is XGB else {}, data, 2)
    with pytest.raises(ValueError, match="its model has no log-odds of a positive class"):
        go.imbalance_shift(squares)


def test_positives_of_weight_zero(rare):
    X, y, _ = rare
    params = {"objective": "binary:logistic", "scale_pos_weight": 0}
    with pytest.raises(ValueError, match="scale_pos_weight = 0: no shift undoes that"):
        go.imbalance_shift(xgb.train(params, xgb.DMatrix(X, y), 2))


def test_is_unbalance_needs_the_labels(rare):
    X, y, _ = rare
    booster = LGB.built_in({**BINARY, "is_unbalance": True}, lgb.Dataset(X, y), 2)
    with pytest.raises(ValueError, match=r"pass the training labels, imbalance_shift\(booster, y"):
        go.imbalance_shift(booster)
    with pytest.raises(ValueError, match="y has one class only, found 0 positives"):
        go.imbalance_shift(booster, np.zeros(5))
    with pytest.raises(ValueError, match=r"y must be 0 \(negative\) or 1"):
        go.imbalance_shift(booster, [0, 1, 2])
    head, _, _ = booster.model_to_string().partition("\nparameters:\n")
    with pytest.raises(ValueError, match="holds no parameters"):
        go.imbalance_shift(lgb.Booster(model_str=head), y)


def test_is_unbalance_counts_rows_not_weights(rare):
    X, y, w = rare
    by_hand = {**BINARY, "scale_pos_weight": (y == 0).sum() / y.sum()}
    one, two = (
        LGB.built_in(params, lgb.Dataset(X, y, weight=w), 10)
        for params in ({**BINARY, "is_unbalance": True}, by_hand)
    )
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-12)
    # a model's text has its parameters to six digits
    assert go.imbalance_shift(one, y) == pytest.approx(go.imbalance_shift(two), abs=1e-5)
