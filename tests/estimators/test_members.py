"""Several regressors in one QWKClassifier, and a finer target for them to learn."""

from __future__ import annotations

import pickle
import re
import warnings
from functools import partial

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from hypothesis import given, strategies as st
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import GammaRegressor, LogisticRegression, Ridge
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import (
    GridSearchCV,
    PredefinedSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.class_weight import compute_sample_weight

from gbdt_objectives import (
    QWKClassifier,
    extended_qwk_metric,
    optimize_thresholds,
    qwk_metric,
    qwk_objective,
    weighted_logloss_objective,
)
from gbdt_objectives.estimators._base import last_step
from gbdt_objectives.estimators._members import blend_weights
from gbdt_objectives.objectives import Objective
from tests.cases import each, refusals, refused

LGBM = partial(lgb.LGBMRegressor, n_estimators=20, n_jobs=1, verbose=-1)


XGB = partial(xgb.XGBRegressor, n_estimators=20, max_depth=3, n_jobs=1)


def two(**parameters):
    """A blend of a tree and a line."""
    tree = DecisionTreeRegressor(max_depth=2)
    return QWKClassifier([("tree", tree), ("ridge", Ridge())], **parameters)


def averaged(folds, X, beta):
    return np.mean([np.column_stack([m.predict(X) for m in fold]) @ beta for fold in folds], axis=0)


def made(n, seed=0):
    """A latent measure, a line and a bend in it, and the grades that are cut from it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    latent = 0.6 * (X[:, 0] + X[:, 2] + X[:, 3]) + np.abs(X[:, 1]) + 0.6 * rng.normal(size=n)
    return X, np.digitize(latent, [-0.5, 0.5, 1.5]), latent


@pytest.fixture(scope="module")
def data():
    return made(600)


@pytest.fixture(scope="module")
def blend(data):
    X, y, _ = data
    return QWKClassifier([("lgb", LGBM()), ("xgb", XGB()), ("ridge", Ridge())], cv=3).fit(X, y)


# --- the weights ------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 3))
def test_weights_are_non_negative_least_squares(seed, M, repeats) -> None:
    """Of columns beside which each fold has a constant; weights are copies."""
    rng = np.random.default_rng(seed)
    o, w = rng.normal(size=(60, M)), rng.integers(0, 4, 60)
    goal = o @ rng.normal(size=M) + rng.normal(size=60)
    folds = [np.arange(k, 60, 5) for k in range(5)]
    copies = np.repeat(np.arange(60), w)
    constant = np.equal.outer(copies % 5, np.arange(5)).astype(float)
    residual = [c - constant @ np.linalg.lstsq(constant, c, rcond=None)[0]
                for c in (o[copies], goal[copies])]  # fmt: skip
    beta, _ = nnls(*residual)
    expected = beta / beta.sum() if beta.any() else np.full(M, 1 / M)
    found = blend_weights(goal, o, w.astype(float), folds * repeats)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_rows_that_no_fold_holds_out_have_no_say() -> None:
    rng = np.random.default_rng(0)
    o, goal = rng.normal(size=(100, 2)), rng.normal(size=100)
    half = blend_weights(goal, o, None, [np.arange(50)])
    o[50:] = np.nan
    np.testing.assert_allclose(blend_weights(goal, o, None, [np.arange(50)]), half)


def test_the_path_written_out(data, blend) -> None:
    """Each regressor on the same folds, least squares on their scores, thresholds once."""
    X, y, _ = data
    regressors = {"lgb": LGBM(), "xgb": XGB(), "ridge": Ridge()}
    oof, models, fold = np.empty((600, 3)), [], np.empty(600, int)
    fold_means, label_means = [], []
    for name, rounds in blend.best_iterations_[0].items():
        regressors[name].set_params(n_estimators=rounds)
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        models.append([clone(m).fit(X[train], y[train].astype(float)) for m in regressors.values()])
        fold[test] = len(models) - 1
        oof[test] = np.column_stack([model.predict(X[test]) for model in models[-1]])
        fold_means.append(oof[test].mean(axis=0))
        label_means.append(y[test].mean())
    for j, name in enumerate(regressors):
        np.testing.assert_allclose(blend.member_oof_scores_[name], oof[:, j], rtol=1e-6)
    beta = nnls(oof - np.array(fold_means)[fold], y - np.array(label_means)[fold])[0]
    beta /= beta.sum()
    np.testing.assert_allclose(blend.weights_, beta, atol=1e-6)  # XGBoost's scores are float32
    score = oof @ beta
    np.testing.assert_allclose(blend.oof_score_, score, rtol=1e-6)
    expected = optimize_thresholds(y, blend.oof_score_, method="curved")
    np.testing.assert_allclose(blend.thresholds_, expected)
    expected = score.mean() + blend.stretch_ * (averaged(models, X, beta) - score.mean())
    np.testing.assert_allclose(blend.predict_score(X), expected, rtol=1e-6)


def test_averages_of_blends_get_the_spread_of_the_blends_held_out(data) -> None:
    X, y, _ = data
    trees = [("deep", DecisionTreeRegressor(random_state=0)),
             ("less deep", DecisionTreeRegressor(max_depth=6, random_state=0))]  # fmt: skip
    found = QWKClassifier(trees).fit(X, y)
    average = averaged(found.estimators_, X, found.weights_)
    covariance = np.cov(found.oof_score_, average, bias=True)
    stretch = np.sqrt(covariance[0, 0] / covariance[0, 1])
    assert stretch > 1.02
    assert found.stretch_ == pytest.approx(stretch)  # all 600 rows are scored by every model
    spread = found.predict_score(made(5000, seed=1)[0]).std()
    assert spread == pytest.approx(found.oof_score_.std(), rel=0.06)  # two errors of 600 rows


def test_the_blend_uses_what_each_member_is_good_at() -> None:
    """A line and a bend: over ten samples the blend is ahead of either member, by two errors."""
    X_new, y_new, _ = made(4_000, seed=1)
    members = [("tree", DecisionTreeRegressor(max_depth=5)), ("ridge", Ridge())]
    gains = []
    for seed in range(2, 12):
        X, y, _ = made(300, seed)
        found = QWKClassifier(members).fit(X, y)
        single = [QWKClassifier(member).fit(X, y).score(X_new, y_new) for _, member in members]
        gains.append(found.score(X_new, y_new) - max(single))
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / np.sqrt(len(gains))


def test_a_member_that_learns_nothing_gets_no_weight_and_is_not_asked(data, monkeypatch) -> None:
    X, y, _ = data
    found = QWKClassifier([("mean", DummyRegressor()), ("ridge", Ridge())]).fit(X, y)
    np.testing.assert_array_equal(found.weights_, [0, 1])  # though the folds' means differ
    monkeypatch.setattr(DummyRegressor, "predict", None)
    np.testing.assert_allclose(
        found.predict_score(X), QWKClassifier(Ridge()).fit(X, y).predict_score(X)
    )


@each("weights, beta", [([3, 1], [0.75, 0.25]), ([1e308, 1e308], [0.5, 0.5])])
def test_given_weights(data, weights, beta) -> None:
    X, y, _ = data
    found = two(weights=weights, cv=3).fit(X, y)
    np.testing.assert_array_equal(found.weights_, beta)
    scores = np.column_stack(list(found.member_oof_scores_.values()))
    np.testing.assert_allclose(found.oof_score_, scores @ beta)


def test_weights_of_rows_are_copies(data) -> None:
    X, y = data[0][:200], data[1][:200]
    w = np.random.default_rng(0).integers(0, 4, len(y))
    fold, copies = np.arange(len(y)) % 4, np.repeat(np.arange(len(y)), w)

    def fitted(rows, weight):
        return two(cv=PredefinedSplit(fold[rows])).fit(X[rows], y[rows], weight)

    a, b = fitted(np.arange(len(y)), w), fitted(copies, None)
    np.testing.assert_allclose(a.weights_, b.weights_, atol=1e-9)
    np.testing.assert_allclose(a.thresholds_, b.thresholds_, rtol=1e-9)
    np.testing.assert_allclose(a.predict_score(X), b.predict_score(X), rtol=1e-9)


# --- members of different kinds ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [True, False])
def test_boosters_get_the_objective_and_stop_early_and_others_do_not(data, ensemble) -> None:
    X, y, _ = data
    members = [
        ("lgb", LGBM(n_estimators=200)),
        ("xgb", make_pipeline(StandardScaler(), XGB(n_estimators=200))),
        ("ridge", Ridge()),
    ]
    options = {"objective": "qwk", "early_stopping_rounds": 5, "cv": 3, "ensemble": ensemble}
    found = QWKClassifier(members, **options).fit(X, y)
    assert [set(rounds) for rounds in found.best_iterations_] == [{"lgb", "xgb"}] * 3
    assert all(0 < rounds < 200 for fold in found.best_iterations_ for rounds in fold.values())
    for models in found.estimators_ if ensemble else [found.estimator_]:
        own, piped, ridge = models
        assert isinstance(own.get_params()["objective"], Objective)
        assert isinstance(piped[-1].get_params()["objective"], Objective)
        assert isinstance(ridge, Ridge)
        if not ensemble:
            for name, model in (("lgb", own), ("xgb", piped[-1])):
                mean = round(np.mean([fold[name] for fold in found.best_iterations_]))
                assert model.n_estimators == mean
    single = QWKClassifier(Ridge(), cv=3).fit(X, y)  # whose scores are not clipped
    np.testing.assert_allclose(found.member_oof_scores_["ridge"], single.oof_score_)
    assert found.score(X, y) > 0.7


def test_importances_of_several_have_no_common_unit(blend) -> None:
    assert not hasattr(blend, "feature_importances_")
    with pytest.raises(AttributeError, match="no common unit: see those of each in estimators_"):
        blend.feature_importances_  # noqa: B018


def test_missing_values_are_allowed_if_all_members_allow_them() -> None:
    trees = [("a", DecisionTreeRegressor()), ("b", DecisionTreeRegressor())]
    assert get_tags(QWKClassifier(trees)).input_tags.allow_nan
    assert not get_tags(QWKClassifier([*trees, ("c", Ridge())])).input_tags.allow_nan


def test_parameters_have_the_members_names(data, blend) -> None:
    X, y, _ = data
    assert blend.get_params()["lgb__n_estimators"] == 20
    assert "lgb__n_estimators" not in blend.get_params(deep=False)
    changed = clone(blend).set_params(lgb__n_estimators=3, ridge=Ridge(2), cv=2)
    assert changed.estimator[0][1].n_estimators == 3
    assert (changed.estimator[2][1].alpha, changed.cv) == (2, 2)
    assert blend.estimator[0][1].n_estimators == 20
    members = [("lgb", LGBM()), ("ridge", Ridge())]
    grid = {"lgb__n_estimators": [1, 20], "weights": [None, [1, 0]]}
    search = GridSearchCV(QWKClassifier(members, cv=2), grid, cv=2).fit(X, y)
    assert search.best_params_ == {"lgb__n_estimators": 20, "weights": None}
    loaded = pickle.loads(pickle.dumps(blend))
    np.testing.assert_array_equal(loaded.predict(X), blend.predict(X))
    assert "ridge" in repr(blend)
    assert "Ridge" in blend._repr_html_()


def test_a_fit_on_one_regressor_forgets_the_blend(data) -> None:
    X, y, _ = data
    found = two(cv=2).fit(X, y)
    found.set_params(estimator=Ridge()).fit(X, y)
    assert not hasattr(found, "member_oof_scores_")
    np.testing.assert_array_equal(found.weights_, [1])


class Column(RegressorMixin, BaseEstimator):
    """A regressor that predicts the first feature."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


class Changing(Column):
    """It copies a list it is given, as CatBoost does: it cannot be cloned."""

    def __init__(self, columns=()):
        self.columns = type(columns)(columns) if isinstance(columns, list | dict) else columns


class Stopping(Column):
    """It stops early on rows given to fit, as CatBoost does."""

    def __init__(self, early_stopping_rounds=None):
        self.early_stopping_rounds = early_stopping_rounds


class Untyped:
    """Predicts, but scikit-learn cannot clone it, such as lgb.Booster."""

    predict = None


class Several(Column):
    """It predicts two numbers for each row, as for a mean and a variance, or none."""

    def __init__(self, nan=False):
        self.nan = nan

    def predict(self, X):
        return X[:, 0] * np.nan if self.nan else X[:, :2]


PAIRS = r"write pairs, \[\('lgb', LGBMRegressor\(\)\), \('xgb', XGBRegressor\(\)\)\]"


@refused(
    ([Ridge(), LGBM()], {}, f"estimator holds Ridge.*{PAIRS}", TypeError),
    ((Ridge(), LGBM()), {}, f"a list of several, found a tuple: {PAIRS}", TypeError),
    ({"ridge": Ridge()}, {}, f"a list of several, found a dict: {PAIRS}", TypeError),
    (zip("ab", [Ridge(), LGBM()], strict=True), {}, f"found a zip: {PAIRS}", TypeError),
    (np.array([("a", Ridge()), ("b", LGBM())]), {}, f"found a ndarray: {PAIRS}", TypeError),
    ([("ridge", Ridge())], {}, "a list of 1: .*or pass the only one itself"),
    ([], {}, "a list of 0"),
    ([("a", Ridge()), ("a", LGBM())], {}, "Names provided are not unique"),
    ([("a", Ridge()), ("cv", LGBM())], {}, "conflict with constructor arguments"),
    ([("a", Ridge()), ("b__c", LGBM())], {}, "must not contain __"),
    ([("a", Ridge()), ("b", "drop")], {}, "'b': 'drop': leave it out of the list"),
    ([("a", Ridge()), ("b", LogisticRegression())], {},
     "estimator 'b' must be a regressor, found the classifier", TypeError),
    ([("a", Ridge()), ("b", LGBM)], {}, "estimator 'b' must be a regressor such as", TypeError),
    ([("a", Ridge()), ("b", KNeighborsRegressor())], {"objective": "qwk"},
     "needs an LGBMRegressor or XGBRegressor, found Ridge, KNeighborsRegressor"),
    ([("a", Ridge()), ("b", LGBM(objective="mae"))], {"objective": "qwk"},
     "estimator has objective='mae'"),
    ([("a", Ridge()), ("b", KNeighborsRegressor())], {"early_stopping_rounds": 3},
     "early_stopping_rounds is for .*found Ridge, KNeighborsRegressor"),
    ([("a", LGBM()), ("b", XGB(early_stopping_rounds=3))], {}, "minimises kappa"),
    ([("a", Ridge()), ("b", LGBM())], {"weights": [1]},
     "one for each of the 2 regressors, found 1"),
    ([("a", Ridge()), ("b", LGBM())], {"weights": [1, -1]},
     r"must be >= 0, and one of them above, found \[1.0, -1.0\]"),
    ([("a", Ridge()), ("b", LGBM())], {"weights": [0, 0]}, "one of them above"),
    ([("a", Ridge()), ("b", LGBM())], {"weights": [1, np.nan]}, "must be finite"),
    (Ridge(), {"weights": [1.0]}, "estimator is a single one: leave them out"),
    ([("a", Ridge()), ("b", Changing([0, 1]))], {},
     r"Changing cannot be cloned, .* give a tuple for each list, columns=\[0, 1\]"),
    ([("a", Ridge()), ("b", Changing({0: 1}))], {},
     r"columns=\{0: 1\}, or, .* its text form, monotone_constraints='\(1,0\)'"),
    ([("a", Ridge()), ("b", LGBM())], {"weights": {"a": 1, "b": 2}},
     r"must be a list in the order of the regressors, a, b, found dict \['a', 'b'\]", TypeError),
    ([("a", Ridge()), ("b", LGBM())], {"weights": pd.Series({"b": 1, "a": 2})},
     r"must be a list in the order of the regressors, a, b, found Series \['b', 'a'\]", TypeError),
    ([("a", Ridge()), ("b", LGBM())], {"weights": "equal"},
     "must be a list in the order of the regressors, a, b, found str 'equal'", TypeError),
    ([("a", Ridge()), ("b", Stopping(5))], {},
     "has early_stopping_rounds=5, but it gets no held-out rows: leave it out"),
    (Stopping(), {"early_stopping_rounds": 5}, "found Stopping: set its number of rounds"),
    (Several(), {}, r"Several predicts shape \(\d+, 2\): .* one number for"),
    ([("a", Several()), ("b", Ridge())], {}, r"Several predicts shape \(\d+, 2\)"),
    ([("a", Ridge()), ("b", Untyped())], {}, "'b' must be a regressor such as", TypeError),
    (Several(nan=True), {}, "Several predicts nan or inf for a row"),
)  # fmt: skip
def test_what_is_refused(data, estimator, options) -> None:
    X, y, _ = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        QWKClassifier(estimator, **options).fit(X, y)


@refused(
    ([Ridge(), LGBM()], "estimator holds Ridge", TypeError),
    ([], "estimator is a list of 0"),
    ([("a", Ridge(), 1)], "estimator holds .'a'", TypeError),
    ([("a", Ridge()), ("b", Changing([0, 1]))], r"a tuple for each list, columns=\[0, 1\]"),
)
def test_what_is_refused_inside_other_tools(data, estimator) -> None:
    """scikit-learn asks for the tags before fit."""
    X, y, _ = data
    assert "QWKClassifier" in QWKClassifier(estimator)._repr_html_()
    cross_val_score(QWKClassifier(estimator), X, y, error_score="raise")


test_names_of_other_libraries = refusals(
    (lambda: QWKClassifier(estimators=[("a", Ridge()), ("b", LGBM())]),
     "argument 'estimators'; its nearest arguments are estimator=", TypeError),
    (lambda: QWKClassifier(Ridge(), segments="site"),
     "argument 'segments'; its nearest arguments are segment=", TypeError),
    (lambda: two().set_params(estimator__alpha=2),
     "'estimator__alpha' .* NAME__PARAMETER, .* tree, ridge"),
    (lambda: two().set_params(estimator__tree__max_depth=2),
     "'estimator__tree__max_depth' .* of the names tree, ridge"),
)  # fmt: skip


def test_a_stack_is_a_regressor(data) -> None:
    """It has no method predict before fit."""
    X, y, _ = data
    stack = StackingRegressor([("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=2))])
    assert QWKClassifier(stack, cv=2).fit(X, y).score(X, y) > 0.5


def test_weights_of_rows_reach_every_member_or_are_refused(data) -> None:
    X, y, _ = data
    members = [("ridge", Ridge()), ("neighbours", KNeighborsRegressor())]
    with pytest.raises(ValueError, match="but KNeighborsRegressor does not accept it"):
        QWKClassifier(members).fit(X, y, np.ones(len(y)))


def test_catboost(data) -> None:
    """Its list of categorical columns must be a tuple, as the message says."""
    catboost = pytest.importorskip("catboost")
    X, y, _ = data
    frame = pd.DataFrame(X).assign(step=np.where(X[:, 1] > 0, "up", "down")).drop(columns=1)
    frame.columns = frame.columns.astype(str)

    few = {"iterations": 30, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    cat = partial(catboost.CatBoostRegressor, **few)
    both = cat(cat_features=("step",)), cat(cat_features=("step",), depth=2)
    members = list(zip(("cat", "other"), both, strict=True))
    assert QWKClassifier(members, cv=3).fit(frame, y).score(frame, y) > 0.75
    with pytest.raises(ValueError, match=r"give a tuple for each list, cat_features=\['step'\]"):
        QWKClassifier(cat(cat_features=["step"]), cv=3).fit(frame, y)


# --- a finer target ---------------------------------------------------------------------------


@pytest.mark.parametrize("booster", [LGBM, XGB])
def test_a_target_is_learnt_and_thresholds_are_for_y(data, booster) -> None:
    X, y, latent = data
    found = QWKClassifier(booster(), cv=StratifiedKFold(3)).fit(X, y, target=latent)
    oof = np.empty(len(y))
    for train, test in StratifiedKFold(3).split(X, y):
        oof[test] = booster().fit(X[train], latent[train]).predict(X[test])
    np.testing.assert_allclose(found.oof_score_, oof, rtol=1e-6)
    expected = optimize_thresholds(y, found.oof_score_, method="curved")
    np.testing.assert_allclose(found.thresholds_, expected)
    assert not hasattr(found, "label_thresholds_")  # the scores are in the target's unit


def test_a_target_is_worth_it_where_grades_are_coarse() -> None:
    X_new, _, latent_new = made(20_000, seed=1)
    gains = []
    for seed in range(8):
        X, _, latent = made(300, seed=seed + 2)
        y, y_new = (np.digitize(each, [2.5]) for each in (latent, latent_new))  # one in ten
        finer = QWKClassifier(Ridge()).fit(X, y, target=latent).score(X_new, y_new)
        gains.append(finer - QWKClassifier(Ridge()).fit(X, y).score(X_new, y_new))
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / np.sqrt(len(gains))


@each(
    ("member", "change", "warns"),
    [(LGBM(), np.exp, "numpy.log.target"), (XGB(), np.exp, "numpy.log.target"),
     (make_pipeline(StandardScaler(), LGBM()), lambda t: np.exp(t) - np.exp(t.min()), "log1p"),
     (LGBM(), lambda t: t, None), (LGBM(objective="gamma"), np.exp, None),
     (LGBM(), lambda t: -np.exp(-t), None), (Ridge(), np.exp, None)],
)  # fmt: skip
def test_a_target_with_a_long_tail_names_its_logarithm(member, change, warns) -> None:
    """In trials on such rows it was behind the classes, and its logarithm ahead of them."""
    X, _, latent = made(500, seed=3)
    y = np.digitize(latent, np.quantile(latent, [0.3, 0.7]))
    target = change(2 * (latent - latent.mean()))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        QWKClassifier(member, cv=2).fit(X, y, target=target)
    said = [str(one.message) for one in told if "skewness" in str(one.message)]
    assert bool(said) == (warns is not None)
    assert all(re.search(warns, one) for one in said)


FIFTHS = PredefinedSplit(np.arange(600) % 5)


@pytest.mark.parametrize("kind", ["float", "Int64", "None", "ordered"])
def test_y_may_be_missing_where_the_target_is_known(data, kind) -> None:
    X, y, latent = data
    gone = np.arange(len(y)) % 3 == 0
    given = {
        "float": np.where(gone, np.nan, y),
        "Int64": pd.Series(np.where(gone, np.nan, y)).astype("Int64"),
        "None": [None if missing else int(label) for label, missing in zip(y, gone, strict=True)],
        "ordered": pd.Categorical.from_codes(np.where(gone, -1, y), list("abcd"), ordered=True),
    }[kind]  # fmt: skip
    found = QWKClassifier(Ridge(), cv=FIFTHS).fit(X, given, target=latent)
    oof = np.empty(len(y))
    for train, test in FIFTHS.split():
        oof[test] = Ridge().fit(X[train], latent[train]).predict(X[test])  # all rows teach it
    np.testing.assert_allclose(found.oof_score_, oof)
    expected = optimize_thresholds(y[~gone], oof[~gone], method="curved")
    np.testing.assert_allclose(found.thresholds_, expected)
    assert found.classes_.tolist() == (list("abcd") if kind == "ordered" else [0, 1, 2, 3])


def test_several_regressors_learn_the_target(data) -> None:
    X, y, latent = data
    found = two(cv=FIFTHS).fit(X, y, target=latent)
    oof = np.column_stack(list(found.member_oof_scores_.values()))
    folds = [test for _, test in FIFTHS.split()]
    np.testing.assert_allclose(found.weights_, blend_weights(latent, oof, None, folds))


@refused(
    ({"target": lambda y, t: -t}, {}, "does not rise with the class.*pass -target"),
    ({"target": lambda y, t: np.ones(len(t))}, {}, "does not rise with the class"),
    ({"target": lambda y, t: t[:5]}, {}, "target has 5 rows, but the labels have 600"),
    ({"target": lambda y, t: np.where(t > 2, np.nan, t)}, {}, "target must be finite"),
    ({}, {"objective": "qwk"}, "the regressor is to learn target: pass objective=None"),
    ({}, {"objective": qwk_objective()}, "the regressor is to learn target"),
    ({}, {"method": "rounding"}, "scores as class positions.*unit of target"),
    ({"y": lambda y, t: np.full(len(y), np.nan)}, {}, "y is missing in all rows"),
    ({"y": lambda y, t: t}, {}, "Unknown label type"),
    ({"y": lambda y, t: np.where(np.arange(600) == 7, np.nan, y), "target": lambda y, t: None},
     {}, "nan at row 7, leave such rows out, or pass target="),
    ({"y": lambda y, t: np.where(np.arange(600) < 9, np.nan, y)},
     {"estimator": LGBM(class_weight={3: 9})}, "needs the class of every row: leave it out"),
)  # fmt: skip
def test_targets_that_are_refused(data, change, options) -> None:
    X, y, latent = data
    arguments = {"y": lambda y, t: y, "target": lambda y, t: t, **change}
    made = {name: make(y, latent) for name, make in arguments.items()}
    QWKClassifier(**{"estimator": LGBM(), **options}).fit(X, **made)


def test_a_target_may_be_wrong_where_rows_do_not_count(data) -> None:
    X, y, latent = data
    w = np.arange(len(y)) >= 100
    target = np.where(w, latent, -100.0 * y)
    found = QWKClassifier(Ridge(), cv=FIFTHS).fit(X, y, w, target=target)
    expected = QWKClassifier(Ridge(), cv=FIFTHS).fit(X, y, w, target=np.where(w, latent, 0))
    np.testing.assert_allclose(found.thresholds_, expected.thresholds_)
    for counted in (100, 99):  # rows with y
        y = np.where(np.arange(len(y)) < 100, y, np.nan)
        with pytest.raises(ValueError, match="holds out rows of one class only, found"):
            QWKClassifier(Ridge(), cv=FIFTHS).fit(X, y, np.arange(len(y)) >= counted, target=latent)


# --- what a regressor says of labels, while it is trained on their positions -------------------


WORDS = np.array(["poor", "fair", "good", "best"])


@pytest.mark.slow
@pytest.mark.parametrize("weight", ["balanced", {"best": 20, "poor": 0.5}], ids=str)
@each(
    "make",
    [
        partial(LGBM, n_estimators=5),
        partial(XGB, n_estimators=5),
        lambda **given: make_pipeline(StandardScaler(), LGBM(n_estimators=5, **given)),
        lambda **given: [("a", LGBM(n_estimators=5, **given)), ("b", XGB(n_estimators=5, **given))],
    ],
)
def test_class_weight_is_a_weight_of_rows(data, make, weight) -> None:
    """That of scikit-learn, by label, for regressors and thresholds; the regressor keeps it."""
    X, y, _ = data
    name, w = WORDS[y], np.linspace(0.5, 1.5, 600)

    def fitted(regressor, v):
        return QWKClassifier(regressor, cv=2, labels=WORDS).fit(X, name, sample_weight=v)

    weighing = make(class_weight=weight)
    found = fitted(weighing, w)
    expected = fitted(make(), w * compute_sample_weight(weight, name))
    np.testing.assert_allclose(found.thresholds_, expected.thresholds_, rtol=1e-5)
    np.testing.assert_allclose(found.predict_score(X), expected.predict_score(X), rtol=1e-5)
    assert np.abs(fitted(make(), w).predict_score(X) - found.predict_score(X)).max() > 0.1
    for one in [one for _, one in weighing] if isinstance(weighing, list) else [weighing]:
        assert last_step(one).get_params()["class_weight"] == weight


def test_class_weight_is_of_the_classes_beside_a_target(data) -> None:
    X, y, total = data
    w = np.where(y == 2, 9.0, 1.0)
    one = QWKClassifier(LGBM(class_weight={2: 9}), cv=3).fit(X, y, target=total)
    other = QWKClassifier(LGBM(), cv=3).fit(X, y, target=total, sample_weight=w)
    np.testing.assert_allclose(one.predict_score(X), other.predict_score(X), rtol=1e-5)


THRESHOLDS_UNDO = "which is not for class positions, and which the thresholds would undo: leave it"
FROM_0_TO_1 = "which takes labels from 0 to 1, but learns 0 to 3: leave it out, or"
MADE_FOR = (
    r"is made for labels, .*label_range=\(1.*, 4.*\).*: make it without them, such as qwk_objective"
)
SELECTION = SelectFromModel(LogisticRegression(class_weight={4: 9}))
RANGED = qwk_metric(label_range=(1, 4))


@refused(
    (LGBM(class_weight={5: 9}), {}, r"has the label 5, but the classes are \[1, 2, 3, 4\]"),
    (LGBM(class_weight="balance"), {}, r"must be 'balanced' or \{label: weight\}, found 'bal",
     TypeError),
    (LGBM(class_weight={4: "9"}), {}, r"class_weight\[4\] must be a number, found str '9'",
     TypeError),
    (LGBM(class_weight={4: -9}), {}, "class_weight must not be negative"),
    ([("a", LGBM(class_weight={4: 9})), ("b", XGB())], {}, "must be the same for all regr"),
    (XGB(scale_pos_weight=9), {}, f"estimator has scale_pos_weight=9, {THRESHOLDS_UNDO}"),
    (LGBM(unbalance=True), {}, f"estimator has unbalance=True, {THRESHOLDS_UNDO}"),
    (LGBM(neg_bagging=0.1), {}, f"estimator has neg_bagging=0.1, {THRESHOLDS_UNDO}"),
    ([("a", Ridge()), ("b", XGB(scale_pos_weight=9))], {}, f"'b' has .*=9, {THRESHOLDS_UNDO}"),
    (VotingRegressor([("a", LGBM(class_weight={4: 9}))]), {}, THRESHOLDS_UNDO),
    (GridSearchCV(XGB(), {"scale_pos_weight": [1, 9]}), {}, f"grid: .*=9, {THRESHOLDS_UNDO}"),
    (make_pipeline(SELECTION, Ridge()), {}, r"names labels, .* write \{0: 1.0, .*, 3: 9.0\}"),
    (LGBM(objective="binary"), {}, f"estimator has objective='binary', {FROM_0_TO_1}"),
    (LGBM(application="xentropy"), {}, FROM_0_TO_1),
    (XGB(objective="binary:hinge"), {}, FROM_0_TO_1),
    (XGB(objective="reg:logistic"), {}, FROM_0_TO_1),
    (BaggingRegressor(LGBM(objective="binary")), {}, FROM_0_TO_1),
    (XGB(objective="reg:gamma"), {}, "takes labels above 0, .* pass target=, numbers above 0"),
    (LGBM(objective="gamma"), {}, "takes labels above 0, .* pass target=, numbers above 0"),
    (GammaRegressor(), {}, "from 0: pass target=, numbers that it takes, to fit"),
    (LGBM(objective=qwk_objective(label_range=(1, 4))), {}, f"but objective {MADE_FOR}"),
    (LGBM(), {"objective": qwk_objective(label_range=(1, 4))}, f"but objective {MADE_FOR}"),
    (LGBM(objective=weighted_logloss_objective(1.0)), {}, "has the link 'logit': scores must"),
    (XGB(eval_metric=RANGED), {"early_stopping_rounds": 5}, f"but eval_metric {MADE_FOR}"),
    (LGBM(metric=extended_qwk_metric(mean=2.0)), {"early_stopping_rounds": 5},
     "but metric is made for labels, .*mean=2.0"),
    (XGB(eval_metric="mae"), {"early_stopping_rounds": 5}, "='mae', but early stopping looks"),
    (LGBM(metric="mae"), {"early_stopping_rounds": 5}, "='mae', but early stopping looks at"),
    (XGB(eval_metric=max), {"early_stopping_rounds": 5}, "max>, but early stopping looks at"),
    (XGB(eval_metric="rmse"), {"early_stopping_rounds": 5, "objective": "qwk"}, "='rmse', but"),
    (XGB(callbacks=[xgb.callback.EarlyStopping(rounds=3)]), {}, "gets no held-out rows"),
)  # fmt: skip
def test_words_for_labels_are_not_read_as_of_positions(data, estimator, options) -> None:
    X, y, _ = data
    QWKClassifier(estimator, cv=3, **options).fit(X, y + 1)


@each(
    ("estimator", "learns_labels"),
    [
        (LGBM(objective="gamma"), True), (XGB(objective="reg:gamma"), True),
        (GammaRegressor(), True), (LGBM(objective=qwk_objective(label_range=(1, 4))), True),
        (XGB(eval_metric=max), False), (XGB(eval_metric=RANGED), False),
        (LGBM(metric=[qwk_metric()]), False), (XGB(scale_pos_weight=1.0), False),
        (make_pipeline(SelectFromModel(LogisticRegression(class_weight="balanced")), Ridge()),
         False),
    ],
)  # fmt: skip
def test_what_is_right_is_taken(data, estimator, learns_labels) -> None:
    """Also where a remedy was followed: a target in the labels' unit."""
    X, y = data[0][:200], data[1][:200] + 1
    model = QWKClassifier(estimator, cv=2).fit(X, y, target=y if learns_labels else None)
    assert model.score(X, y) > 0.3


def test_two_classes_have_the_objectives_of_two(data) -> None:
    X, y, _ = data
    for booster in (LGBM(objective="binary"), XGB(objective="binary:logistic")):
        assert QWKClassifier(booster, cv=3).fit(X, y > 1).score(X, y > 1) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "name"), [(LGBM, "metric"), (LGBM, "eval_metric"), (XGB, "eval_metric")]
)
def test_folds_stop_on_the_metric_of_the_regressor(data, make, name) -> None:
    """Kappa of the class positions of the rows held out, by the library and scikit-learn alone."""
    X, y, _ = data
    (train, test), *_ = splits = list(StratifiedKFold(2).split(X, y))
    booster = make(n_estimators=60, **{name: qwk_metric()})
    options = {"cv": splits, "early_stopping_rounds": 8}
    model = QWKClassifier(booster, labels=WORDS, **options).fit(X, WORDS[y])
    fitted = make(n_estimators=60).fit(X[train], y[train].astype(float))
    best, highest = 0, -1.0
    for k in range(1, 61):
        rounds = {"iteration_range": (0, k)} if make is XGB else {"num_iteration": k}
        grade = np.rint(fitted.predict(X[test], **rounds)).clip(0, 3)
        kappa = cohen_kappa_score(y[test], grade, weights="quadratic")
        if kappa > highest:
            best, highest = k, kappa
        elif k - best >= 8:
            break
    assert model.best_iterations_[0] == best
    of_squared_error = QWKClassifier(make(n_estimators=60), **options).fit(X, y)
    assert of_squared_error.best_iterations_[0] != best


def measured_about_3(y, f):
    """The published objective, with the mean and variance of other labels written into it."""
    F, G = ((f - y) ** 2).sum(), ((f - 2.9) ** 2 + 1.1).sum()
    return ((f - y) - (f - 2.9) * F / G) * len(y) / G * 4, np.ones_like(f)


@each(
    ("function", "labels", "warns"),
    [
        (measured_about_3, [1, 2, 3, 4], True), (measured_about_3, [0, 1, 2, 3], False),
        (lambda y, f: (f - y, np.ones_like(f)), [1, 2, 3, 4], False),
        (measured_about_3, WORDS.tolist(), False),
    ],
)  # fmt: skip
def test_a_function_for_labels_that_start_elsewhere(data, function, labels, warns) -> None:
    X, y, _ = data
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        y = np.array(labels)[y]
        QWKClassifier(LGBM(objective=function), cv=2, labels=labels).fit(X, y)
        if warns:  # the remedy
            QWKClassifier(LGBM(objective=function), cv=2).fit(X, y, target=y)
    found = [str(one.message) for one in told if "depends on where labels" in str(one.message)]
    assert len(found) == warns
