"""Leaf proportions of trees, forests and boosters; the tree as an estimator."""

from __future__ import annotations

import pickle
from functools import partial

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import sklearn
import xgboost as xgb
from scipy.sparse import csc_matrix, csr_array, csr_matrix
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from sklearn.utils.fixes import parse_version

import gbdt_objectives as go
from gbdt_objectives.calibration import empirical_probability
from gbdt_objectives.estimators import ProbabilityEstimationTree, leaf_probability
from gbdt_objectives.estimators.probability_tree import _leaf_indices as leaf_indices
from tests.calibration.reference import half_squared_error
from tests.cases import each, refused
from tests.estimators.checks import TAGS, check_all


def made(n, seed=0):
    """About 12 % positives."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    margin = 1.3 * X[:, 0] + np.sin(2 * X[:, 1]) - 2.7
    return X, (rng.random(n) < expit(margin)).astype(int)


@pytest.fixture(scope="module")
def data():
    return made(1000)


@pytest.fixture(scope="module")
def new():
    return made(4000, seed=1)


def native_xgboost(X, y):
    return xgb.train({"max_depth": 3, "nthread": 1}, xgb.DMatrix(X, y), 3)


def native_lightgbm(X, y):
    params = {"num_leaves": 6, "num_threads": 1, "verbose": -1}
    return lgb.train(params, lgb.Dataset(X, y), 3)


LGBM = lgb.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1)


def three(model):
    return lambda X, y: model.fit(X, y + (X[:, 0] > 1))


MODELS = {
    "tree": (lambda X, y: DecisionTreeClassifier(max_depth=3).fit(X, y), 1),
    "forest": (lambda X, y: RandomForestClassifier(3, max_depth=3).fit(X, y), 3),
    "regressor": (lambda X, y: RandomForestRegressor(3, max_depth=3).fit(X, y), 3),
    "boosting": (lambda X, y: GradientBoostingClassifier(n_estimators=3).fit(X, y), 3),
    "boosting of three": (three(GradientBoostingClassifier(n_estimators=3)), 9),
    "xgboost": (lambda X, y: xgb.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, y), 3),
    "xgboost of one": (lambda X, y: xgb.XGBClassifier(n_estimators=1, n_jobs=1).fit(X, y), 1),
    "xgboost forest": (lambda X, y: xgb.XGBRFClassifier(n_estimators=3, n_jobs=1).fit(X, y), 3),
    "xgboost of three": (three(xgb.XGBClassifier(n_estimators=3, n_jobs=1)), 9),
    "native xgboost": (native_xgboost, 3),
    "lightgbm": (lambda X, y: clone(LGBM).fit(X, y), 3),
    "lightgbm of three": (three(clone(LGBM)), 9),
    "native lightgbm": (native_lightgbm, 3),
}


@pytest.mark.slow
@each("name", MODELS)
@each("weighted", [False, True])
def test_proportions_counted_row_by_row(data, new, name, weighted) -> None:
    fit, T = MODELS[name]
    model = fit(*data)
    X, query = new[0][:300], new[0][300:400]
    y = new[1][:300] + ("three" in name) * (X[:, 0] > 1)
    w = np.random.default_rng(0).integers(0, 3, 300) if weighted else np.ones(300)
    K = y.max() + 1
    pi = np.arange(1, K + 1) / np.arange(1, K + 1).sum()
    found = leaf_probability(model, X, y, m=1.5, prior=pi, sample_weight=w if weighted else None)

    same = leaf_indices(model, query)[:, None] == leaf_indices(model, X)  # (100, 300, T)
    assert same.shape == (100, 300, T)
    counts = np.stack([(w * (y == k)) @ same for k in range(K)], axis=-1)
    expected = np.mean([empirical_probability(n, m=1.5, prior=pi) for n in counts], axis=1)
    np.testing.assert_allclose(found.predict_proba(query), expected, rtol=1e-12)
    np.testing.assert_array_equal(found.classes_, np.arange(K))


@each("name", MODELS)
def test_leaves_are_those_that_predict(data, new, name) -> None:
    """Rows in the same leaves have the same prediction, and each model has several."""
    model = MODELS[name][0](*data)
    X = new[0]
    predict = getattr(model, "predict_proba", model.predict)
    p = np.asarray(predict(xgb.DMatrix(X) if name == "native xgboost" else X)).reshape(len(X), -1)
    leaf = leaf_indices(model, X)
    rows, group = np.unique(leaf, axis=0, return_inverse=True)
    assert len(rows) > 3
    first = np.unique(group, return_index=True)[1]
    np.testing.assert_array_equal(p, p[first[group.ravel()]])
    if name == "native xgboost":
        np.testing.assert_array_equal(leaf_indices(model, xgb.DMatrix(X)), leaf)


def test_training_leaves_without_smoothing_are_the_tree(data, new) -> None:
    X, y = data
    w = np.random.default_rng(0).uniform(0, 3, len(y))
    tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(X, y, w)
    found = leaf_probability(tree, X, y, m=0, sample_weight=w)
    expected = tree.predict_proba(new[0])
    np.testing.assert_allclose(found.predict_proba(new[0]), expected, rtol=1e-10)
    forest = ExtraTreesClassifier(5, max_depth=4, random_state=0).fit(X, y)
    found = leaf_probability(forest, X, y, m=0).predict_proba(new[0])
    np.testing.assert_allclose(found, forest.predict_proba(new[0]), rtol=1e-10)  # round-off


def test_leaves_without_rows_get_the_prior(data) -> None:
    X, y = data
    tree = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(X, y)
    first = tree.apply(X) == tree.apply(X).min()
    one_leaf, other = X[first], X[~first]
    labels = np.arange(len(one_leaf)) % 4 == 0
    for m in (0, None, 5):
        uniform = leaf_probability(tree, one_leaf, labels.astype(int), m=m)
        np.testing.assert_allclose(uniform.predict_proba(other), 0.5, rtol=1e-15)
        based = leaf_probability(tree, one_leaf, labels.astype(int), m=m, prior="base_rate")
        share = labels.mean()
        np.testing.assert_allclose(based.predict_proba(other)[:, 1], share, rtol=1e-15)
        # at the base rate smoothing towards it changes nothing
        np.testing.assert_allclose(based.predict_proba(one_leaf)[:, 1], share)


def test_classes_are_those_of_the_model(data) -> None:
    X, y = data
    names = np.array(["a", "b", "c"])[y + (X[:, 0] > 1)]
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, names)
    rows = names != "b"
    found = leaf_probability(forest, X[rows], names[rows])
    assert found.classes_.tolist() == ["a", "b", "c"]
    p = found.predict_proba(X)
    assert p.shape == (1000, 3)
    assert p[:, 1].max() <= 1 / 3 + 1e-15  # never seen: the prior at most
    with pytest.raises(ValueError, match="'d'.* at row 0, which is not in labels"):
        leaf_probability(forest, X, np.where(names == "a", "d", names))


def test_the_best_rounds_of_xgboost_are_those_of_its_classifier(data, new) -> None:
    few = {"n_estimators": 200, "learning_rate": 0.5, "n_jobs": 1, "eval_metric": "logloss"}
    model = xgb.XGBClassifier(early_stopping_rounds=5, **few)
    booster = model.fit(*data, eval_set=[new], verbose=False).get_booster()
    rounds = model.best_iteration + 1
    assert rounds < booster.num_boosted_rounds()
    for kind in (model, booster):
        assert leaf_indices(kind, new[0]).shape == (4000, rounds)
    np.testing.assert_array_equal(leaf_indices(model, new[0]), leaf_indices(booster, new[0]))
    assert leaf_indices(booster[:1], new[0]).shape == (4000, 1)


def test_native_xgboost_with_categories(data) -> None:
    X = pd.DataFrame({"a": data[0][:, 0], "b": pd.Categorical(list("xyzxy") * 200)})
    matrix = xgb.DMatrix(X, data[1], enable_categorical=True)
    model = xgb.train({"max_depth": 3, "nthread": 1}, matrix, 3)
    np.testing.assert_array_equal(leaf_indices(model, X), leaf_indices(model, matrix))


def test_hybrid_of_boosted_leaves_and_logistic_regression(data) -> None:
    """He et al.: leaves as features beat the features as they are, and the leaves' average."""
    (X, y), (X_line, y_line), (X_test, y_test) = (made(20_000, seed) for seed in (2, 3, 4))
    booster = clone(LGBM).set_params(n_estimators=30, num_leaves=8).fit(X, y)
    hybrid = make_pipeline(
        FunctionTransformer(partial(booster.predict, pred_leaf=True)),
        OneHotEncoder(handle_unknown="ignore"),
        LogisticRegression(C=0.1, max_iter=1000),
    ).fit(X_line, y_line)
    plain = LogisticRegression().fit(X_line, y_line)
    average = leaf_probability(booster, X_line, y_line)
    of_hybrid, *others = (
        go.calibration.normalized_entropy(y_test, model.predict_proba(X_test)[:, 1])
        for model in (hybrid, plain, average)
    )
    assert of_hybrid < min(others) - 0.02


@refused(
    ({"m": -1}, "m must not be negative, found -1"),
    ({"m": "K"}, "m must be a number", TypeError),
    ({"prior": [0.5, 0.4]}, "prior must sum to 1, found 0.9"),
    ({"prior": [0.2, 0.3, 0.5]}, "prior has 3 classes, but there are 2"),
    ({"prior": "uniform"}, "prior must be one of 'base_rate'"),
    ({"y": np.zeros(1000, int)}, "one class only, found \\[0\\]"),
    ({"y": np.arange(1000) % 2 + 0.5}, "y must hold classes, found 0.5 at row 0"),
    ({"y": [0, 1]}, "X has 1000 rows, but the labels have 2"),
    ({"sample_weight": [1.0]}, "sample_weight has 1 rows"),
    ({"sample_weight": np.full(1000, -1.0)}, "must not be negative"),
    ({"model": HistGradientBoostingClassifier()}, "model must be fitted trees", TypeError),
    ({"model": LogisticRegression()}, "found LogisticRegression", TypeError),
    ({"model": DecisionTreeClassifier()}, "not fitted yet", NotFittedError),
    ({"model": DecisionTreeClassifier}, "model must be fitted trees, found <class", TypeError),
    ({"model": lgb.LGBMClassifier}, "model must be fitted trees, found <class", TypeError),
    ({"model": lgb.Dataset(np.eye(2))}, "must be fitted trees, found <lightgbm", TypeError),
    ({"model": xgb.DMatrix(np.eye(2))}, "must be fitted trees, found <xgboost", TypeError),
    ({"model": RandomForestClassifier(2).fit(np.eye(4), np.eye(4)[:, :2])},
     "model predicts 2 kinds of classes"),
    ({"sample_weight": np.r_[1.0, np.zeros(999)]},
     "rows of weight above 0 of one class only, found \\[0\\]"),
)  # fmt: skip
def test_bad_input(data, change) -> None:
    X, y = data
    if getattr(change.get("model"), "n_outputs_", 1) == 2:
        X = X[:, :4]
    given = {"model": DecisionTreeClassifier(max_depth=2).fit(X, y), "X": X, "y": y, **change}
    leaf_probability(**given)


# --- ProbabilityEstimationTree --------------------------------------------------------------

LEAVES = np.repeat([[0.0], [1.0], [2.0]], [60, 15, 25], axis=0)
LABELS = np.repeat([1, 0, 1, 0, 1, 0], [20, 40, 10, 5, 20, 5])  # the worked tree


@each(
    ("parameters", "expected"),
    [
        ({"m": 0}, [1 / 3, 2 / 3, 4 / 5]),
        ({}, [21 / 62, 11 / 17, 21 / 27]),
        ({"m": 10, "prior": [0.7, 0.3]}, [23 / 70, 13 / 25, 23 / 35]),
        ({"m": 10, "prior": "base_rate"}, [25 / 70, 15 / 25, 25 / 35]),
    ],
)
def test_worked_tree(parameters, expected) -> None:
    pet = ProbabilityEstimationTree(**parameters).fit(LEAVES, LABELS)
    p = pet.predict_proba([[0.0], [1.0], [2.0]])
    np.testing.assert_allclose(p[:, 1], expected, rtol=1e-14)  # a handful of operations
    assert pet.predict([[0.0], [2.0]]).tolist() == [0, 1]
    if parameters == {"m": 0}:
        p = pet.predict_proba(LEAVES)
        loss = half_squared_error(LABELS, p)
        assert loss.mean() == pytest.approx(0.206667, abs=5e-7)  # as printed
        by_leaf = [loss[LEAVES[:, 0] == leaf].sum() for leaf in range(3)]
        assert by_leaf == pytest.approx([40 / 3, 10 / 3, 4], rel=1e-12)


def test_weight_is_repetition(data, new) -> None:
    X, y = data
    w = np.random.default_rng(0).integers(0, 4, len(y))
    pet = ProbabilityEstimationTree(DecisionTreeClassifier(max_depth=4, random_state=0))
    weighted = pet.fit(X, y, w).predict_proba(new[0])
    copies = pet.fit(np.repeat(X, w, axis=0), np.repeat(y, w)).predict_proba(new[0])
    np.testing.assert_allclose(weighted, copies, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.* is 0 or 1 in every row")  # leaves of one class are certain
def test_smoothed_unpruned_trees_rank_and_fit_better(data, new) -> None:
    X, y = data
    tree = DecisionTreeClassifier(random_state=0)
    raw = tree.fit(X, y).predict_proba(new[0])
    entropy = {}
    for prior in (None, "base_rate"):
        pet = ProbabilityEstimationTree(tree, m=20, prior=prior).fit(X, y)
        p = pet.predict_proba(new[0])[:, 1]
        assert roc_auc_score(new[1], p) > roc_auc_score(new[1], raw[:, 1]) + 0.02
        entropy[prior] = go.calibration.normalized_entropy(new[1], p)
    assert entropy["base_rate"] < entropy[None] < np.inf
    # leaves of one class, and wrong
    assert go.calibration.normalized_entropy(new[1], raw) == np.inf
    np.testing.assert_array_equal(pet.tree_.apply(new[0]), tree.apply(new[0]))


def test_class_weight_is_for_the_splits_only(data, new) -> None:
    X, y = data
    balanced = DecisionTreeClassifier(max_depth=3, class_weight="balanced", random_state=0)
    pet = ProbabilityEstimationTree(balanced, m=0).fit(X, y)
    assert pet.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=1e-12)
    assert pet.tree_.predict_proba(X)[:, 1].mean() > 2 * y.mean()


def test_clone_pickle_search(data, new) -> None:
    X, y = data
    pet = ProbabilityEstimationTree(ExtraTreeClassifier(random_state=0), prior=[0.9, 0.1])
    assert str(clone(pet)) == str(pet)
    grid = {"tree__max_depth": [2, 6, None], "m": [0, 2, 20], "prior": [None, [0.9, 0.1]]}
    search = GridSearchCV(pet, grid, scoring="neg_brier_score", cv=3).fit(X, y)
    assert search.best_params_["m"] > 0
    loaded = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(loaded.predict_proba(new[0]), search.predict_proba(new[0]))
    calibrated = go.CalibratedClassifier(pet, go.calibration.LogitCalibrator(), cv=3).fit(X, y)
    assert calibrated.predict_proba(new[0]).shape == (4000, 2)


BAD = "tree must be a DecisionTreeClassifier\\(\\), found"


@refused(
    *(({"tree": tree}, BAD, TypeError) for tree in (
        DecisionTreeRegressor(), DecisionTreeClassifier, LogisticRegression(), "gini",
        RandomForestClassifier(3), xgb.XGBClassifier(), GradientBoostingClassifier(),
    )),
    ({"m": -1}, "m must not be negative"),
    ({"prior": [0.2, 0.3, 0.5]}, "prior has 3 classes, but there are 2"),
    ({"y": np.ones(1000, int)}, "one class only, found \\[1\\]"),
)  # fmt: skip
def test_bad_trees(data, parameters) -> None:
    X, y = data
    pet = ProbabilityEstimationTree(**{k: v for k, v in parameters.items() if k != "y"})
    try:
        pet.fit(X, parameters.get("y", y))
    finally:
        with pytest.raises(NotFittedError):
            pet.predict_proba(X)


def with_holes(X, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < 0.2, np.nan, X)


TREES = {
    "deep": DecisionTreeClassifier(random_state=0),
    "best first": DecisionTreeClassifier(max_leaf_nodes=20, random_state=0),
    "pruned": DecisionTreeClassifier(ccp_alpha=0.002, random_state=0),
    "random": ExtraTreeClassifier(random_state=0),
    "a stump": DecisionTreeClassifier(max_depth=1),
    "a leaf": DecisionTreeClassifier(min_samples_leaf=900),
}


@each("name", TREES)
@each("holes", [False, True])
def test_rows_go_where_the_tree_sends_them(data, new, name, holes) -> None:
    X, query = data[0], new[0]
    version = parse_version(sklearn.__version__)
    if holes and version < parse_version("1.6" if name == "random" else "1.3"):
        pytest.skip("takes no missing values")
    if holes:
        X, query = with_holes(X), with_holes(query, 1)
        X[:, 3] = np.where(data[1] == 1, np.nan, 1.0)  # only whether it is missing tells
        X[::5, 3] = 2.0
        query = np.concatenate([query, np.full((1, 4), np.nan)])
    pet = ProbabilityEstimationTree(TREES[name]).fit(X, data[1])
    at = pet.tree_.tree_.threshold[pet.tree_.tree_.feature >= 0]
    if holes and name == "deep":
        assert np.isinf(at).any()  # that is how it splits missing values from all others
    on = np.tile(at[np.isfinite(at), None], 4)
    query = np.concatenate([query, on])
    expected = leaf_probability(pet.tree_, X, data[1]).predict_proba(query)
    loaded = pickle.loads(pickle.dumps(pet))
    for one in (pet, loaded):
        np.testing.assert_array_equal(one.predict_proba(query), expected)
    if not holes:
        arrays = [csr_array] if version >= parse_version("1.3") else []  # older trees take none
        for sparse in (csr_matrix, *arrays, csc_matrix):
            np.testing.assert_array_equal(loaded.predict_proba(sparse(query)), expected)


@pytest.mark.parametrize(
    "names",
    [[3, 5, 8], [0.5, 1.5, 2.5], ["a", "b", "c"], [False, True], np.array(["a", "b"], object)],
)
def test_classes_of_any_type_and_names_of_features(data, names) -> None:
    position = np.minimum(data[1] + (data[0][:, 0] > 1), len(names) - 1)
    X, y = pd.DataFrame(data[0], columns=list("abcd")), np.asarray(names)[position]
    if y.dtype.kind == "f":
        y = y * 2  # 1.0, 3.0, 5.0: fractions would be no classes
    prior = np.arange(1, len(names) + 1) / np.arange(1, len(names) + 1).sum()
    for parameters in ({}, {"m": 3}, {"m": 3, "prior": "base_rate"}, {"prior": prior.tolist()}):
        pet = ProbabilityEstimationTree(DecisionTreeClassifier(max_depth=3), **parameters).fit(X, y)
        loaded = pickle.loads(pickle.dumps(pet))
        assert loaded.get_params(deep=False).keys() == pet.get_params(deep=False).keys()
        assert str(loaded) == str(pet)
        assert loaded.predict(X).tolist() == pet.predict(X).tolist()
        assert set(pet.predict(X).tolist()) <= set(y.tolist())
        assert loaded.classes_.tolist() == pet.classes_.tolist() == np.unique(y).tolist()
        np.testing.assert_array_equal(loaded.predict_proba(X), pet.predict_proba(X))
        with pytest.raises(ValueError, match="feature names"):
            loaded.predict_proba(X.rename(columns={"a": "other"}))


def test_what_the_tree_refuses_is_refused(data) -> None:
    pet = ProbabilityEstimationTree(DecisionTreeClassifier(max_depth=2)).fit(*data)
    with pytest.raises(ValueError, match="contains infinity"):
        pet.predict_proba(np.full((1, 4), np.inf))
    with pytest.raises(ValueError, match="contains NaN"):
        pet.predict_proba(csr_matrix(with_holes(data[0])))


@pytest.mark.slow
@TAGS
@pytest.mark.parametrize("parameters", [{}, {"m": 5, "prior": "base_rate"}, {"m": 0}])
def test_check_estimator(parameters) -> None:
    tree = DecisionTreeClassifier(random_state=0)
    check_all(ProbabilityEstimationTree(tree, **parameters))
