"""QWKClassifier: any regressor in, ordered classes out, and nothing lost on the way."""

from __future__ import annotations

import json
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
import xgboost as xgb
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from gbdt_objectives import (
    QWKClassifier,
    apply_thresholds,
    decide,
    extended_qwk_metric,
    objective as user_objective,
    optimize_thresholds,
    quadratic_weighted_kappa,
    qwk_objective,
    weighted_logloss_objective,
)
from gbdt_objectives.adapters import lightgbm as lgb_adapter, xgboost as xgb_adapter
from gbdt_objectives.calibration import ordinal
from gbdt_objectives.calibration.ordinal import fit_ordinal_curve
from gbdt_objectives.estimators import _base
from gbdt_objectives.estimators._base import last_step
from gbdt_objectives.estimators.qwk_classifier import label_thresholds
from gbdt_objectives.metrics import squared_error_metric
from gbdt_objectives.thresholds import Thresholds, fit_segment_shift
from tests.calibration.reference import recalibration_slope
from tests.cases import each, refused
from tests.estimators.checks import COPIES, TAGS, check_all, check_some

pytestmark = pytest.mark.slow

EXPECTED = {
    "check_classifiers_classes": "labels that are strings need labels=: their alphabetical order "
    "says nothing of their grade",
}


LGBM = partial(lgb.LGBMRegressor, n_estimators=20, n_jobs=1, verbose=-1)


XGB = partial(xgb.XGBRegressor, n_estimators=20, max_depth=3, n_jobs=1)


QWK = {"objective": "qwk"}
BOOSTERS = pytest.mark.parametrize("booster", [LGBM, XGB], ids=["lgb", "xgb"])


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    latent = X[:, 0] + np.sin(2 * X[:, 1]) + 0.8 * rng.normal(size=n)
    return X, np.digitize(latent, [-1, 0.3, 1.2]) + 2


@pytest.fixture(scope="module")
def data():
    return made(600)


@TAGS
def test_check_estimator() -> None:
    tree = DecisionTreeRegressor(random_state=0)
    check_all(QWKClassifier(tree, cv=2, ensemble=False), EXPECTED)


@TAGS
def test_check_estimator_with_the_objective() -> None:
    """And with an ensemble. Other tests have weights as copies of rows and sparse rows."""
    left_out = {
        **EXPECTED,
        "check_classifiers_train": "the class that is best for QWK need not be the most probable",
        **dict.fromkeys(COPIES, "LightGBM bins copies otherwise"),
        "check_estimator_sparse_array": "ten formats, with probabilities of each",
        "check_estimator_sparse_matrix": "ten formats, with probabilities of each",
    }
    regressor = LGBM(n_estimators=5, min_child_samples=1)
    ran = check_some(QWKClassifier(regressor, objective="qwk", cv=2), left_out)
    assert len(ran) >= 40, ran


@BOOSTERS
def test_sparse_rows(data, booster) -> None:
    X, y = data
    sparse = scipy.sparse.csr_matrix(np.maximum(X, 0))
    dense = np.where(X > 0, X, np.nan if booster is XGB else 0)  # XGBoost: not stored is missing
    a, b = (QWKClassifier(booster(), objective="qwk", cv=2).fit(rows, y).predict_score(rows)
            for rows in (sparse, dense))  # fmt: skip
    np.testing.assert_allclose(a, b, rtol=1e-6)


@BOOSTERS
@pytest.mark.parametrize("weighted", [False, True])
def test_is_the_path_written_out(data, booster, weighted) -> None:
    """The adapters' train on each fold with its own measured objective, then thresholds."""
    X, y = data
    position = y - 2
    w = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    options = {"objective": "qwk", "cv": StratifiedKFold(3), "ensemble": False}
    options["early_stopping_rounds"] = None
    classifier = QWKClassifier(booster(max_depth=3), **options).fit(X, y, w)

    def trained(rows, X_new):
        v = None if w is None else w[rows]
        given = {"objective": qwk_objective(position[rows], sample_weight=v, label_range=(0, 3))}
        if booster is XGB:
            matrix = xgb.DMatrix(X[rows], position[rows], weight=v)
            model = xgb_adapter.train({"max_depth": 3, "nthread": 1}, matrix, 20, **given)
            return model.predict(xgb.DMatrix(X_new)).clip(0, 3)
        dataset = lgb.Dataset(X[rows], position[rows], weight=v)
        few = {"max_depth": 3, "num_threads": 1, "verbose": -1}
        return lgb_adapter.train(few, dataset, 20, **given).predict(X_new).clip(0, 3)

    oof = np.empty(len(y))
    for train, test in StratifiedKFold(3).split(X, y):
        oof[test] = trained(train, X[test])
    np.testing.assert_allclose(classifier.oof_score_, oof, atol=1e-4)
    cuts = optimize_thresholds(position, classifier.oof_score_, sample_weight=w)
    np.testing.assert_allclose(classifier.thresholds_, cuts)
    score = classifier.predict_score(X)
    np.testing.assert_allclose(score, trained(np.arange(len(y)), X), atol=1e-4)
    predicted = np.searchsorted(classifier.thresholds_, score, side="right") + 2
    np.testing.assert_array_equal(classifier.predict(X), predicted)
    assert classifier.score(X, y, w) == quadratic_weighted_kappa(y, predicted, sample_weight=w)


@BOOSTERS
def test_scores_that_drift_beyond_the_labels_do_not_bend_the_line(booster, data) -> None:
    """A clipping objective lets confident rows drift; plug-in must not follow them."""
    X, y = data
    regressor = booster(n_estimators=150, learning_rate=0.3)
    clipping = QWKClassifier(regressor, objective="qwk", cv=2, ensemble=False).fit(X, y)
    assert clipping.oof_score_.min() == 0
    assert clipping.oof_score_.max() == 3
    free = QWKClassifier(regressor, objective=qwk_objective(clip=False), cv=2).fit(X, y)
    assert free.oof_score_.max() > 3  # not clipped where the objective sees how far they are
    X_new, y_new = made(5000, seed=1)
    exact = optimize_thresholds(y, clipping.oof_score_, method="exact")
    by_exact = apply_thresholds(clipping.predict_score(X_new), exact, labels=[2, 3, 4, 5])
    assert clipping.score(X_new, y_new) > quadratic_weighted_kappa(y_new, by_exact) - 0.01


@BOOSTERS
def test_beats_rounded_squared_error(booster, data) -> None:
    X, y = data
    X_new, y_new = made(5000, seed=1)
    plain = booster().fit(X, y).predict(X_new)
    rounded = quadratic_weighted_kappa(y_new, plain.round().clip(2, 5).astype(int))
    for ensemble, objective in product((False, True), ("qwk", None)):
        classifier = QWKClassifier(booster(), objective=objective, ensemble=ensemble, cv=3)
        assert classifier.fit(X, y).score(X_new, y_new) > rounded + 0.005


# --- early stopping -------------------------------------------------------------------------


@BOOSTERS
@pytest.mark.parametrize("objective", ["qwk", None])
def test_stops_where_the_loss_is_least(data, booster, objective) -> None:
    """Each fold keeps the round of least loss of its held-out rows, checked round by round."""
    X, y = data
    position = y - 2
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    folds = list(StratifiedKFold(2).split(X, y))
    options = {"objective": objective, "cv": folds, "early_stopping_rounds": 10}
    classifier = QWKClassifier(booster(n_estimators=60, learning_rate=0.3), **options)
    classifier.fit(X, y, w)
    free = clone(classifier).set_params(early_stopping_rounds=None).fit(X, y, w)
    for best, model, (train, test) in zip(
        classifier.best_iterations_, free.estimators_, folds, strict=True
    ):
        margins = [
            model.predict(X[test], **({"num_iteration": i} if booster is LGBM
                                      else {"iteration_range": (0, i)}))
            for i in range(1, best + 11)
        ]  # fmt: skip
        loss = squared_error_metric()
        if objective == "qwk":
            mean = np.average(position[train], weights=w[train])
            variance = float(np.cov(position[train], aweights=w[train], ddof=0))
            loss = extended_qwk_metric(mean=mean, variance=variance).loss
            margins = [margin.clip(0, 3) for margin in margins]  # as the objective does
        curve = [loss(position[test], margin, w[test]) for margin in margins]
        assert curve[best - 1] == pytest.approx(min(curve), rel=1e-6)
        assert 1 < best <= 50  # a stop in the wrong direction would be at the first round
    refit = clone(classifier).set_params(ensemble=False).fit(X, y, w)
    assert refit.best_iterations_ == classifier.best_iterations_
    mean = round(float(np.mean(refit.best_iterations_)))
    assert refit.estimator_.get_params()["n_estimators"] == mean
    assert clone(refit.estimator).get_params()["n_estimators"] == 60
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict_score(X), classifier.predict_score(X))
    for model in classifier.estimators_:
        assert model.get_params().get("callbacks") is None


def test_the_refit_has_the_rounds_of_the_folds_also_under_an_alias(data) -> None:
    X, y = data
    booster = LGBM(num_iterations=300, learning_rate=0.3)
    model = QWKClassifier(booster, cv=2, early_stopping_rounds=5, ensemble=False).fit(X, y)
    assert model.estimator_.booster_.num_trees() == round(np.mean(model.best_iterations_)) < 300


def half_squared_error(y, p, w):
    v = np.ones_like(p) if w is None else w
    return v * (p - y), v


def half_squared_error_loss(y, p, w):
    v = np.ones_like(p) if w is None else w
    return float(0.5 * (v * (p - y) ** 2).sum())


@BOOSTERS
def test_stops_on_the_loss_of_a_users_objective(data, booster) -> None:
    X, y = data
    with_loss = user_objective(half_squared_error, loss=half_squared_error_loss, intercept=1.5)
    regressor = booster(n_estimators=60, learning_rate=0.3)
    stopped = QWKClassifier(regressor, objective=with_loss, cv=2, early_stopping_rounds=10)
    assert 1 < max(stopped.fit(X, y).best_iterations_) <= 50
    without = QWKClassifier(booster(), objective=user_objective(half_squared_error), cv=2)
    assert without.fit(X, y).score(X, y) > 0.5
    with pytest.raises(ValueError, match="has no loss, only a gradient: pass loss="):
        without.set_params(early_stopping_rounds=10).fit(X, y)


@BOOSTERS
def test_does_not_stop_on_the_plateau_of_the_start(data, booster) -> None:
    """Rounded scores are all in one class for some 25 rounds, and kappa is 0."""
    X, y = data
    slow = booster(n_estimators=100, learning_rate=0.02)
    classifier = QWKClassifier(slow, objective="qwk", cv=2, early_stopping_rounds=10).fit(X, y)
    assert min(classifier.best_iterations_) > 50
    assert classifier.score(X, y) > 0.6


# --- ensembles ------------------------------------------------------------------------------


def test_averaged_scores_get_the_spread_that_thresholds_are_for() -> None:
    """Deep trees that nearly know their training rows by heart: a hard case."""
    X, y = made(3000)
    X_new, y_new = made(20_000, seed=1)
    tree = DecisionTreeRegressor(min_samples_leaf=2, random_state=0)
    classifier = QWKClassifier(tree, ensemble=True).fit(X, y)
    new, oof = classifier.predict_score(X_new), classifier.oof_score_
    average, on_training_rows = (
        np.mean([model.predict(rows) for model in classifier.estimators_], axis=0)
        for rows in (X_new, X)
    )
    needed = oof.std() / average.std()
    assert needed > 1.1  # the fault
    assert new.std() == pytest.approx(oof.std(), rel=0.04)  # corrected
    assert new.mean() == pytest.approx(oof.mean(), abs=0.05)
    naive = oof.std() / on_training_rows.std()  # takes memory of the labels for spread
    assert abs(classifier.stretch_ - needed) < 0.5 * abs(naive - needed)
    uncorrected = np.searchsorted(classifier.thresholds_, average, side="right") + 2
    assert classifier.score(X_new, y_new) > quadratic_weighted_kappa(y_new, uncorrected) + 0.002


def test_the_stretch_of_many_rows_is_found_from_some(monkeypatch) -> None:
    X, y = made(2000)
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    whole = QWKClassifier(tree).fit(X, y)
    monkeypatch.setattr(_base, "STRETCH_ROWS", 1000)
    some = QWKClassifier(tree).fit(X, y)
    assert whole.stretch_ > 1.03
    assert some.stretch_ != whole.stretch_
    # each of two moments has a standard error of about sqrt(2/1000) = 4 %, and they rise together
    assert some.stretch_ == pytest.approx(whole.stretch_, rel=0.02)
    np.testing.assert_array_equal(some.oof_score_, whole.oof_score_)


def test_held_out_rows_in_any_order_get_their_own_scores() -> None:
    X, y = made(300)
    in_order = list(StratifiedKFold(3).split(X, y))
    rng = np.random.default_rng(0)
    mixed = [(train, rng.permutation(test)) for train, test in in_order]
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    a, b = (QWKClassifier(tree, cv=cv).fit(X, y) for cv in (in_order, mixed))
    np.testing.assert_array_equal(a.oof_score_, b.oof_score_)
    assert a.stretch_ == b.stretch_


@BOOSTERS
def test_folds_are_shuffled_and_seeded(booster) -> None:
    """Rows in order of a feature: without shuffling each fold is an extrapolation."""
    X, y = made(600)
    order = np.argsort(X[:, 0])
    X, y = X[order], y[order]
    default, again, other, in_order = (
        QWKClassifier(booster(), **options).fit(X, y).oof_score_
        for options in ({}, {}, {"random_state": 1}, {"cv": KFold(5)})
    )
    np.testing.assert_array_equal(default, again)
    assert (default != other).any()
    assert np.corrcoef(default, y)[0, 1] > np.corrcoef(in_order, y)[0, 1] + 0.03


@pytest.mark.parametrize("ensemble", [True, False])
def test_thresholds_of_rows_in_time_are_those_of_the_rows_held_out(data, ensemble) -> None:
    X, y = data
    cv = TimeSeriesSplit(4)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    score = np.full(len(y), np.nan)
    for train, test in cv.split(X):
        model = Ridge().fit(X[train], y[train] - y.min(), sample_weight=weight[train])
        score[test] = model.predict(X[test])
    held = ~np.isnan(score)
    assert held.sum() == 480
    for prior in (None, dict.fromkeys([2, 3, 4, 5], 0.25)):
        options = {"objective": None, "cv": cv, "ensemble": ensemble, "target_prior": prior}
        classifier = QWKClassifier(Ridge(), **options).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(classifier.oof_score_, score, rtol=1e-12)  # one route, or nan
        expected = optimize_thresholds(
            y[held], score[held], method="curved", sample_weight=weight[held], target_prior=prior,
            labels=[2, 3, 4, 5],
        )  # fmt: skip
        np.testing.assert_allclose(classifier.thresholds_, expected, rtol=1e-9)
        assert classifier.center_ == pytest.approx(np.average(score[held], weights=weight[held]))
    labels = np.where(np.arange(600) < 120, "a", "c")
    with pytest.raises(ValueError, match="cv holds out rows of one class only, found .'c'"):
        classifier.set_params(labels=["a", "c"], target_prior=None).fit(X, labels)


def test_repeated_folds_average_the_scores_held_out(data) -> None:
    X, y = data
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    classifier = QWKClassifier(tree, cv=cv).fit(X, y)
    assert len(classifier.estimators_) == 6
    expected = np.zeros(len(y))
    for model, (_, test) in zip(classifier.estimators_, cv.split(X, y), strict=True):
        expected[test] += model.predict(X[test]) / 2
    np.testing.assert_allclose(classifier.oof_score_, expected, rtol=1e-12)
    X_new, _ = made(20_000, seed=1)
    new = classifier.predict_score(X_new)
    assert new.std() == pytest.approx(classifier.oof_score_.std(), rel=0.04)
    with pytest.raises(ValueError, match="cv holds each row out 2 times, but ensemble=False"):
        QWKClassifier(tree, cv=cv, ensemble=False).fit(X, y)


@pytest.mark.xdist_group("two_processes")
@BOOSTERS
def test_two_processes_and_a_progress_bar_change_nothing(data, booster, capsys) -> None:
    X, y = data
    alone = QWKClassifier(booster(), cv=3).fit(X, y)
    assert capsys.readouterr().err == ""
    both = QWKClassifier(booster(), cv=3, n_jobs=2, verbose=True).fit(X, y)
    np.testing.assert_array_equal(both.predict_score(X), alone.predict_score(X))
    assert "3/3" in capsys.readouterr().err


@BOOSTERS
def test_feature_importances(data, booster) -> None:
    X, y = data
    classifier = QWKClassifier(booster(), cv=3).fit(X, y)
    mean = np.mean([model.feature_importances_ for model in classifier.estimators_], axis=0)
    # a mean of three numbers of float32, each sum of which rounds by 6e-8
    np.testing.assert_allclose(classifier.feature_importances_, mean, rtol=3e-7)
    assert classifier.feature_importances_.argmax() in (0, 1)
    refit = QWKClassifier(booster(), cv=3, ensemble=False).fit(X, y)
    np.testing.assert_array_equal(refit.feature_importances_, refit.estimator_.feature_importances_)
    linear = QWKClassifier(Ridge()).fit(X, y)
    assert not hasattr(linear, "feature_importances_")


# --- pipelines ------------------------------------------------------------------------------


@BOOSTERS
@pytest.mark.parametrize("ensemble", [True, False])
def test_the_objective_reaches_the_end_of_a_pipeline(data, booster, ensemble) -> None:
    """With weights and evaluation rows; the same as without, as scaling changes no tree."""
    X, y = data
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    options = {"cv": 2, "early_stopping_rounds": 10, "ensemble": ensemble}
    scale = FunctionTransformer(lambda X: 2 * X)
    piped = QWKClassifier(make_pipeline(scale, booster(n_estimators=40)), **options).fit(X, y, w)
    plain = QWKClassifier(booster(n_estimators=40), **options).fit(X, y, w)
    assert piped.best_iterations_ == plain.best_iterations_
    np.testing.assert_array_equal(piped.predict_score(X), plain.predict_score(X))
    np.testing.assert_array_equal(piped.feature_importances_, plain.feature_importances_)


@pytest.mark.skipif(
    not hasattr(sklearn.preprocessing, "TargetEncoder"), reason="new in scikit-learn 1.3"
)
@BOOSTERS
def test_the_steps_of_a_pipeline_see_their_folds_labels_only(booster) -> None:
    """A category a row: encoded by all labels it would tell each row its own."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(200), 3)[:, None].astype(float)
    y = rng.integers(0, 4, 600)
    encoder = sklearn.preprocessing.TargetEncoder(target_type="continuous", random_state=0)
    pipeline = make_pipeline(encoder, booster())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing is learnt, as it should be
        classifier = QWKClassifier(pipeline).fit(group, y)
    assert abs(np.corrcoef(classifier.oof_score_, y)[0, 1]) < 0.15
    fitted = classifier.estimators_[0]
    assert isinstance(fitted, Pipeline)
    assert fitted[0].encodings_ is not None
    assert not hasattr(pipeline[0], "encodings_")
    steps = make_pipeline(StandardScaler(), make_pipeline(PCA(1), booster()))
    nested = QWKClassifier(steps, objective="qwk")
    nested.fit(*made(300))
    assert last_step(nested.estimators_[0]).get_params()["objective"] is not None


@pytest.mark.parametrize(  # all pairs
    ("booster", "objective", "ensemble"),
    [(LGBM, "qwk", True), (LGBM, None, False), (XGB, "qwk", False), (XGB, None, True)],
)
def test_probabilities(data, booster, objective, ensemble) -> None:
    X, y = data
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    options = {"objective": objective, "ensemble": ensemble, "cv": 3}
    classifier = QWKClassifier(booster(), **options).fit(X, y, w)
    X_new, y_new = made(5000, seed=1)
    P = classifier.predict_proba(X_new)
    assert P.shape == (5000, 4)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    frequencies = np.bincount(y - 2, w) / w.sum()
    base = -np.log(frequencies)[y_new - 2].mean()
    assert log_loss(y_new, P) < base - 0.25
    # as often as predicted: four standard errors of 5,000 rows and of the 600 it is fitted on
    for k in range(4):
        share = np.mean(y_new - 2 == k)
        assert P[:, k].mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 / 5000 + 1 / 600)))
    np.testing.assert_array_equal(
        classifier.predict_proba(X_new), pickle.loads(pickle.dumps(classifier)).predict_proba(X_new)
    )
    by_probability = decide(P, labels=range(2, 6))
    assert quadratic_weighted_kappa(y_new, by_probability) == pytest.approx(
        classifier.score(X_new, y_new), abs=0.02
    )


@pytest.mark.parametrize("leaf", [1, 5])
def test_probabilities_of_averages_are_as_steep_as_on_new_rows(leaf: int) -> None:
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, 4))
        return X, np.digitize(X @ [1, 1, 0.5, 0.5] + rng.logistic(size=n), [-1.5, 0, 1.5])

    X, y = draw(1500)
    new, label = draw(100_000)
    averaged = QWKClassifier(DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0))
    refitted = clone(averaged).set_params(ensemble=False).fit(X, y)
    averaged.fit(X, y)
    np.testing.assert_array_equal(averaged.oof_score_, refitted.oof_score_)
    of_one = refitted.probability_curve_(averaged.predict_score(new))
    assert recalibration_slope(of_one, label) > 1.25
    # the slope of 1,500 rows has an error of 0.05
    assert recalibration_slope(averaged.predict_proba(new), label) == pytest.approx(1, abs=0.1)


def test_label_thresholds(data) -> None:
    X, y = data
    position = y - 2
    classifier = QWKClassifier(Ridge()).fit(X, y)
    a, b, c = classifier.thresholds_
    assert 0 < a < 1 < b < 2 < c < 3
    np.testing.assert_allclose(classifier.label_thresholds_, classifier.thresholds_ + 2)
    steps = np.array([0, 10, 15, 40])
    uneven = QWKClassifier(Ridge(), labels=steps.tolist()).fit(X, steps[position])
    np.testing.assert_array_equal(uneven.thresholds_, classifier.thresholds_)
    expected = [10 * a, 10 + 5 * (b - 1), 15 + 25 * (c - 2)]
    np.testing.assert_allclose(uneven.label_thresholds_, expected)
    beyond = label_thresholds(Thresholds([-np.inf, -1, np.inf], steps))
    assert beyond.tolist() == [-np.inf, -10, np.inf]
    assert label_thresholds(Thresholds([0, 4, np.inf], steps)).tolist() == [0, 65, np.inf]
    named = QWKClassifier(Ridge(), labels=list("abcd")).fit(X, np.array(list("abcd"))[position])
    assert not hasattr(named, "label_thresholds_")


def test_models_that_agree_need_no_stretch(data) -> None:
    X, y = data
    classifier = QWKClassifier(Ridge(), ensemble=True).fit(X, y)
    assert classifier.stretch_ == pytest.approx(1, abs=0.01)
    assert len(classifier.estimators_) == 5
    assert not hasattr(classifier, "estimator_")
    refit = classifier.set_params(ensemble=False).fit(X, y)
    assert refit.stretch_ == 1
    assert not hasattr(refit, "estimators_")


# --- labels, weights, groups ----------------------------------------------------------------


@BOOSTERS
def test_ordered_labels_of_any_type(data, booster) -> None:
    X, y = data
    names = ["low", "mid", "high", "top"]
    words = np.array(names)[y - 2]
    plain = QWKClassifier(booster(), cv=2).fit(X, y)
    assert plain.classes_.tolist() == [2, 3, 4, 5]
    for given in (words, pd.Series(pd.Categorical(words, categories=names, ordered=True))):
        named = QWKClassifier(booster(), cv=2, labels=names).fit(X, given)
        assert named.classes_.tolist() == names
        np.testing.assert_array_equal(named.predict(X), np.array(names)[plain.predict(X) - 2])
        assert named.score(X, words) == plain.score(X, y)
    falling = QWKClassifier(booster(), cv=2, labels=[5, 4, 3, 2]).fit(X, y)
    assert falling.score(X, y) == pytest.approx(plain.score(X, y), abs=0.05)


def test_a_missing_middle_class_keeps_its_place(data) -> None:
    X, y = data
    X, y = X[y != 4], y[y != 4]
    classifier = QWKClassifier(Ridge()).fit(X, y)
    assert classifier.classes_.tolist() == [2, 3, 4, 5]
    np.testing.assert_allclose(
        classifier.thresholds_, optimize_thresholds(y - 2, classifier.oof_score_, labels=range(4))
    )


def test_weight_is_repetition() -> None:
    X, y = made(200)
    w = np.random.default_rng(0).integers(0, 4, len(y))
    fold, copies = np.arange(len(y)) % 4, np.repeat(np.arange(len(y)), w)
    for ensemble in (False, True):
        options = {"objective": None, "ensemble": ensemble, "method": "exact"}
        a = QWKClassifier(Ridge(), cv=PredefinedSplit(fold), **options).fit(X, y, w)
        b = QWKClassifier(Ridge(), cv=PredefinedSplit(fold[copies]), **options)
        b.fit(X[copies], y[copies])
        np.testing.assert_allclose(a.thresholds_, b.thresholds_)
        np.testing.assert_allclose(a.predict_score(X), b.predict_score(X))
        assert a.stretch_ == pytest.approx(b.stretch_)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of scores that do not rise
def test_groups() -> None:
    groups = np.array([f"g{i // 6}" for i in range(600)])
    noise = np.random.default_rng(0).normal(size=(100, 1))
    twin = np.repeat(noise, 6, axis=0)  # identifies the group, so only honest splits see noise
    label = np.repeat(np.random.default_rng(1).integers(0, 3, 100), 6)
    tree = DecisionTreeRegressor(random_state=0)
    leaky = QWKClassifier(tree, cv=KFold(5, shuffle=True, random_state=0))
    leaky.fit(twin, label)
    assert np.corrcoef(leaky.oof_score_, label)[0, 1] > 0.9
    for cv in (5, GroupKFold(5)):
        honest = QWKClassifier(tree, cv=cv).fit(twin, label, groups=groups)
        assert abs(np.corrcoef(honest.oof_score_, label)[0, 1]) < 0.25
    with pytest.raises(ValueError, match="on both sides of a split"):
        leaky.fit(twin, label, groups=groups)


# --- thresholds -----------------------------------------------------------------------------


@each("method", ["plugin", "curved", "exact", "nelder-mead", "rounding"])
def test_threshold_methods(data, method) -> None:
    X, y = data
    classifier = QWKClassifier(Ridge(), method=method).fit(X, y)
    expected = (
        [0.5, 1.5, 2.5]
        if method == "rounding"
        else optimize_thresholds(y - 2, classifier.oof_score_, method=method)
    )
    np.testing.assert_array_equal(classifier.thresholds_, expected)


@each("method", ["plugin", "curved"])
def test_a_model_that_learns_nothing_gives_one_class_and_a_warning(method) -> None:
    X, y = np.zeros((40, 1)), np.random.default_rng(0).integers(0, 3, 40)
    classifier = QWKClassifier(Ridge(), method=method)
    with pytest.warns(UserWarning, match="out-of-fold scores do not rise"):
        classifier.fit(X, y)
    assert len(set(classifier.predict(X))) == 1


def test_scores_that_rise_by_chance_are_told_from_those_that_do_not() -> None:
    """On noise alone nearly every fit is warned of, on a weak signal of many rows none."""
    rng = np.random.default_rng(0)
    known, told = ("not distinguishable from 0 in", "do not rise with the class"), []
    for effect, n in [(0.0, 120)] * 20 + [(0.5, 600)] * 5:
        X = rng.normal(size=(n, 3))
        y = np.digitize(effect * X[:, 0] + rng.normal(size=n), [-0.7, 0.7])
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            QWKClassifier(Ridge(), method="exact").fit(X, y)
        told.append(any(words in str(m.message) for m in messages for words in known))
    assert sum(told[:20]) >= 18
    assert not any(told[20:])


@BOOSTERS
@pytest.mark.parametrize("objective", ["qwk", None])
def test_scores_are_clipped_as_they_were_trained(data, booster, objective) -> None:
    """Whatever the parameter says afterwards."""
    X, y = data
    deep = booster(learning_rate=0.9, n_estimators=40)
    options = {"cv": 2, "ensemble": False, "early_stopping_rounds": None}
    found = QWKClassifier(deep, objective=objective, **options).fit(X, y)
    score = found.predict_score(X)
    assert (score.max() > 3) == (objective is None)
    assert objective is None or (score.min(), score.max()) == (0, 3)
    found.set_params(objective=None if objective else "qwk")
    np.testing.assert_array_equal(found.predict_score(X), score)


# --- segments -------------------------------------------------------------------------------


def graded_by_sites(n, seed=0):
    """Six sites that grade differently; X has the site in its last column."""
    rng = np.random.default_rng(seed)
    effect = np.random.default_rng(9).normal(0, 0.6, 6)
    X, site = rng.normal(size=(n, 3)), rng.integers(0, 6, n)
    latent = X[:, 0] + effect[site] + 0.5 * rng.normal(size=n)
    return np.column_stack([X, site]), np.digitize(latent, [-1, 0, 1])


def without_site():
    return make_pipeline(ColumnTransformer([("features", "passthrough", [0, 1, 2])]), Ridge())


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_thresholds_by_segment_are_shifts_of_the_scores(ensemble, named) -> None:
    X, y = graded_by_sites(800)
    X_new, y_new = graded_by_sites(5000, seed=1)
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    site, site_new, segment = X[:, 3], X_new[:, 3], 3
    if named:
        X, X_new = (pd.DataFrame(each, columns=["a", "b", "c", "site"]) for each in (X, X_new))
        segment = "site"
    plain = QWKClassifier(without_site(), ensemble=ensemble).fit(X, y, w)
    found = QWKClassifier(without_site(), segment=segment, ensemble=ensemble).fit(X, y, w)
    shift = fit_segment_shift(y, plain.oof_score_, site, sample_weight=w)
    assert np.abs(shift.shifts).max() > 0.1
    np.testing.assert_allclose(found.segment_shift_.shifts, shift.shifts)
    shifted = shift.apply(plain.oof_score_, site)
    np.testing.assert_allclose(found.oof_score_, shifted)
    cuts = optimize_thresholds(y, shifted, method="curved", sample_weight=w)
    np.testing.assert_allclose(found.thresholds_, cuts)
    score = shift.apply(plain.predict_score(X_new), site_new)
    np.testing.assert_allclose(found.predict_score(X_new), score)
    np.testing.assert_array_equal(found.predict(X_new), cuts.apply(score))
    assert found.score(X_new, y_new) > plain.score(X_new, y_new) + 0.02  # .03 to .05 with effects
    assert not hasattr(plain, "segment_shift_")
    assert not hasattr(found.set_params(segment=None).fit(X, y), "segment_shift_")


def test_segments_that_fit_did_not_see_are_refused_or_keep_the_common_thresholds() -> None:
    X, y = graded_by_sites(800)
    seen = X[:, 3] > 0
    rows = X[seen], y[seen]
    refusing = QWKClassifier(without_site(), segment=3).fit(*rows)
    with pytest.raises(ValueError, match="segments holds 0.0, first at row"):
        refusing.predict(X)
    common = clone(refusing).set_params(handle_unknown="common").fit(*rows)
    score, base = (
        one.predict_score(X) for one in (common, QWKClassifier(without_site()).fit(*rows))
    )
    np.testing.assert_allclose(score[~seen], base[~seen])
    shifted = common.segment_shift_.apply(base[seen], X[seen, 3])
    np.testing.assert_allclose(score[seen], shifted)


def test_a_segment_that_changes_after_fit_is_refused() -> None:
    """Thresholds are of shifted scores, or of those that are not."""
    X, y = graded_by_sites(200)
    for segment, other in ((3, None), (None, 3)):
        changed = QWKClassifier(Ridge(), segment=segment).fit(X, y).set_params(segment=other)
        with pytest.raises(ValueError, match=f"segment={other} is not that of fit: fit again"):
            changed.predict(X)


def test_a_booster_that_knows_the_segment_leaves_little_to_shift() -> None:
    X, y = graded_by_sites(3000)
    found = QWKClassifier(LGBM(n_estimators=60), segment=3).fit(X, y)
    assert np.abs(found.segment_shift_.shifts).max() < 0.1  # the effects are up to 1.0


@refused(
    ("site", {}, r"segment='site' is no column of X, which has \[0, 1, 2, 3\]"),
    (4, {}, "segment=4 is no column of X"),
    (-5, {}, "segment=-5 is no column of X"),
    (["site"], {}, r"segment must be the name or number of a column.*\['site'\]", TypeError),
    (pd.Series([1, 2]), {}, "segment must be the name or number.*found Series", TypeError),
    (3.0, {}, "segment must be the name or number", TypeError),
    (True, {}, "segment must be the name or number", TypeError),
    (0, {}, "segments must be words or whole numbers"),
    (3, {"handle_unknown": "ignore"}, "handle_unknown must be one of"),
    (None, {"handle_unknown": "common"}, "but segment is None: name the column"),
)  # fmt: skip
def test_segments_that_are_refused(segment, options) -> None:
    QWKClassifier(without_site(), segment=segment, **options).fit(*graded_by_sites(200))


@refused(
    ([3, 0, 1, 2], 3, r"segment=3 is the name of columns number \[0\] of X: .* a number"),
    ([0, 2, 3, 4], 4, r"segment=4 is the name of columns number \[3\] of X"),
    ([0, 2, 3, 4], 2, r"segment=2 is the name of columns number \[1\] of X"),
    (["a", "site", "b", "site"], "site", r"is the name of columns number \[1, 3\] of X: make"),
    (["a", "b", "c", "d"], "site", "segment='site' is no column of X, which has .'a'"),
)
def test_names_that_could_be_numbers_are_refused(columns, segment) -> None:
    """scikit-learn reads an integer as a number even where columns have integers as names."""
    X, y = graded_by_sites(200)
    QWKClassifier(Ridge(), segment=segment).fit(pd.DataFrame(X, columns=columns), y)


def test_rows_of_no_weight_may_have_a_segment_of_their_own() -> None:
    """Weight 0 is no copy of the row, and a row without y has no say in the shifts."""
    X, y = graded_by_sites(200)
    X[0, 3], w, fold = 9, np.arange(200) > 0, np.arange(200) % 4
    found = QWKClassifier(Ridge(), segment=3, cv=PredefinedSplit(fold)).fit(X, y, w)
    expected = QWKClassifier(Ridge(), segment=3, cv=PredefinedSplit(fold[1:])).fit(X[1:], y[1:])
    np.testing.assert_allclose(found.thresholds_, expected.thresholds_)
    np.testing.assert_allclose(found.oof_score_[1:], expected.oof_score_)
    with pytest.raises(ValueError, match="segments holds 9.0, first at row 0"):
        found.predict(X)
    y = np.where(w, y, np.nan)
    assert QWKClassifier(Ridge(), segment=3).fit(X, y, target=X[:, 0]).oof_score_.shape == (200,)


class Untrained(Ridge):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("training came first")


@refused(
    ({"X": np.nan}, {"segment": 3}, "segments must be finite"),
    ({"X": 0.5}, {"segment": 3}, "segments must be words or whole numbers"),
    ({"sample_weight": np.arange(200) < 10}, {"cv": TimeSeriesSplit(4)}, "one class only"),
    ({"sample_weight": np.arange(200) >= 100}, {"cv": TimeSeriesSplit(4)},
     "split 0 of cv trains on rows of weight 0 only"),
    ({}, {"target_prior": {0: 0.5, 1: 0.5}}, "but not in target_prior"),
    ({"form": scipy.sparse.csr_array}, {"segment": 3}, "X is sparse: pass a dense X", TypeError),
)  # fmt: skip
def test_what_training_cannot_mend_is_refused_before(data, options) -> None:
    X, y = graded_by_sites(200)
    X[7, 3] = data.get("X", X[7, 3])
    rows = data.get("form", np.asarray)(X), y, data.get("sample_weight")
    QWKClassifier(Untrained(), **options).fit(*rows)


# --- scikit-learn ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*every row gets the class")  # "rounding" fits nothing there
@pytest.mark.xdist_group("two_processes")
@BOOSTERS
def test_clone_pickle_search(data, booster) -> None:
    X, y = data
    classifier = QWKClassifier(booster(), cv=2, method="plugin")
    assert set(clone(classifier).get_params()) == set(classifier.get_params())
    assert clone(classifier).method == clone(classifier).get_params()["method"] == "plugin"
    assert cross_val_score(classifier, X, y, cv=2, n_jobs=2).min() > 0.4
    grid = {"estimator__learning_rate": [0.001, 0.1], "method": ["plugin", "rounding"]}
    search = GridSearchCV(classifier, grid, cv=2, n_jobs=2).fit(X, y)
    assert search.best_params_["estimator__learning_rate"] == 0.1
    loaded = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    assert classifier.estimator.get_params()["objective"] in (None, "reg:squarederror")


@BOOSTERS
def test_missing_values_and_categories_pass_through(booster) -> None:
    rng = np.random.default_rng(0)
    n, colours = 600, ["blue", "green", "red"]
    colour, x, gone = rng.choice(colours, n), rng.normal(size=n), rng.random(n) < 0.3
    latent = x + 2 * (colour == "green") + 2.0 * gone + 0.3 * rng.normal(size=n)
    y = np.digitize(latent, [-0.5, 1, 2])
    frame = pd.DataFrame({"x": np.where(gone, np.nan, x), "colour": pd.Categorical(colour)})
    red = frame.assign(colour=pd.Categorical(["red"] * n, colours))
    extra = {"enable_categorical": True} if booster is XGB else {}
    for options in ({}, {"ensemble": False, "early_stopping_rounds": 5}):
        classifier = QWKClassifier(booster(**extra), cv=3, **options).fit(frame, y)
        assert classifier.feature_names_in_.tolist() == ["x", "colour"]
        assert classifier.n_features_in_ == 2
        assert classifier.score(frame, y) > max(0.6, classifier.score(red, y) + 0.05)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(frame[["colour", "x"]])


@pytest.mark.parametrize(
    "regressor",
    [make_pipeline(StandardScaler(), Ridge()), RandomForestRegressor(10, n_jobs=1, random_state=0)],
)
def test_any_regressor(data, regressor) -> None:
    assert QWKClassifier(regressor, cv=2).fit(*data).score(*data) > 0.4


def test_an_objective_of_its_own_is_measured_in_each_fold(data) -> None:
    X, y = data
    objective, folds = qwk_objective(scale="kappa"), list(StratifiedKFold(2).split(X, y))
    classifier = QWKClassifier(XGB(), objective=objective, cv=folds).fit(X, y)
    for model, (train, _) in zip(classifier.estimators_, folds, strict=True):
        found = model.get_params()["objective"]
        assert found.scale == "kappa"
        assert found.mean == pytest.approx((y - 2)[train].mean())
        config = json.loads(model.get_booster().save_config())["learner"]["learner_model_param"]
        start = float(np.atleast_1d(json.loads(config["base_score"]))[0])
        assert start == pytest.approx(found.mean, rel=1e-6)  # float32


class Foreign(RegressorMixin, BaseEstimator):
    """A regressor with a parameter called objective that is not a booster's."""

    def __init__(self, objective=None):
        self.objective = objective

    def fit(self, X, y): ...

    def predict(self, X): ...


@refused(
    (Ridge(), QWK, "needs an LGBMRegressor or XGBRegressor, found Ridge.*pass obj"),
    (Foreign(), QWK, "found Foreign, which cannot be given an objective"),
    (Ridge, {}, "estimator must be a regressor such as.*found <class", TypeError),
    (3, {}, "estimator must be a regressor such as LGBMRegressor\\(\\), found 3", TypeError),
    (LogisticRegression(), {}, "found the classifier LogisticRegression", TypeError),
    (LGBM(), {"objective": "mse"}, "objective must be 'qwk'.*found 'mse'", TypeError),
    (LGBM(objective="mae"), QWK, "estimator has objective='mae'.*leave the first"),
    (XGB(objective="reg:absoluteerror"), QWK, "has objective='reg:absoluteerror'"),
    (LGBM(), {"objective": weighted_logloss_objective(0.1)}, "link 'logit'"),
    (LGBM(), {"method": "best"}, "method must be one of.*found 'best'"),
    (LGBM(), {"ensemble": "yes"}, "ensemble must be True or False", TypeError),
    (LGBM(), {"early_stopping_rounds": 0}, "a whole number >= 1, found 0"),
    (LGBM(early_stopping_round=5), {}, "early_stopping_round=5.*to QWKClassifier"),
    (XGB(early_stopping_rounds=5), {"early_stopping_rounds": 5}, "minimises kappa"),
    (LGBM(boosting_type="dart"), {"early_stopping_rounds": 5}, "type='dart'"),
    (XGB(booster="dart"), {"early_stopping_rounds": 5}, "with booster='dart'"),
    (LGBM(), {"cv": 1}, "cv must be at least 2 folds, found 1"),
    (LGBM(), {"cv": ShuffleSplit(2, test_size=0.6)}, "equally often all rows"),
    (LGBM(), {"labels": [2, 3]}, "which is not in labels \\[2, 3\\]"),
    (LGBM(), {"labels": [2, 2, 3]}, "labels must be different"),
    (Ridge(), {"objective": None, "early_stopping_rounds": 5},
     "early_stopping_rounds is for LGBMRegressor and XGBRegressor, found Ridge"),
)  # fmt: skip
def test_bad_parameters(data, estimator, options) -> None:
    classifier = QWKClassifier(estimator, **options)
    try:
        classifier.fit(*data)
    finally:
        with pytest.raises(NotFittedError):
            classifier.predict(data[0])


@refused(
    ({"y": np.array(["low", "high"] * 300)}, "pass labels=", TypeError),
    ({"y": np.ones(600, int)}, "single class 1"),
    ({"y": np.arange(600) % 5 / 2}, r"^Unknown label type.* pass labels="),
    ({"y": np.arange(5)}, "inconsistent numbers of samples"),
    ({"sample_weight": -np.ones(600)}, "sample_weight must not be negative"),
    ({"sample_weight": np.zeros(600)}, "sample_weight is zero in all rows"),
    ({"sample_weight": np.ones(3)}, "sample_weight has 3 rows"),
    ({"groups": np.arange(3)}, "groups has 3 rows"),
)
def test_bad_data(data, change) -> None:
    arguments = {"X": data[0], "y": data[1], **change}
    QWKClassifier(Ridge()).fit(**arguments)


@refused(
    (LGBM(application=300), "qwk", 5, "'application'.* = .* is refused: .*objective= already"),
    (LGBM(num_iterations=300), "qwk", 5, "'num_iterations'.* = .* is refused: .*n_estimators="),
    (LGBM(), qwk_objective([2, 3, 4, 5]), 5, "trains on class positions 0 to 3"),
    (LGBM(min_child_samples=400), "qwk", 5, "no feature can be split"),
)
def test_what_would_override_or_misread_the_objective(data, estimator, objective, cv) -> None:
    QWKClassifier(estimator, objective=objective, cv=cv).fit(*data)  # labels 2..5


@each("method", ["plugin", "exact"])
def test_target_prior_places_the_thresholds_and_leaves_the_regressor(method):
    rng = np.random.default_rng(0)
    y = np.resize([0, 0, 0, 1, 1, 2], 600)
    X, prior = (y + rng.normal(size=600))[:, None], {0: 0.1, 1: 0.3, 2: 0.6}
    plain = QWKClassifier(Ridge(), method=method).fit(X, y)
    found = QWKClassifier(Ridge(), method=method, target_prior=prior).fit(X, y)
    np.testing.assert_array_equal(found.oof_score_, plain.oof_score_)
    expected = optimize_thresholds(y, plain.oof_score_, method=method, target_prior=prior)
    np.testing.assert_allclose(found.thresholds_, expected)
    assert (found.thresholds_ < plain.thresholds_).all()


def test_a_random_forest_is_refused_with_the_remedy(data):
    X, forest = data[0], LGBM(boosting_type="rf", subsample=0.7, subsample_freq=1)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    with pytest.raises(ValueError, match="random forests.*QWKClassifier: objective=None"):
        QWKClassifier(forest, objective="qwk").fit(X, y)
    assert QWKClassifier(forest).fit(X, y).score(X, y) > 0.8


def test_the_probability_curve_is_fitted_when_it_is_asked_for(data, monkeypatch) -> None:
    fits, fit = [], fit_ordinal_curve
    monkeypatch.setattr(
        ordinal, "fit_ordinal_curve", lambda *rows: (fits.append(rows), fit(*rows))[1]
    )
    classifier = QWKClassifier(Ridge()).fit(*data)
    classifier.predict(data[0])
    assert not fits
    p = classifier.predict_proba(data[0])
    classifier.predict_proba(data[0])
    again = pickle.loads(pickle.dumps(classifier))
    assert set(vars(again.probability_curve_)) == {"fitted"}  # no rows
    np.testing.assert_array_equal(again.predict_proba(data[0]), p)
    assert len(fits) == 1


def few_rows(n: int, slope: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.digitize(slope * X[:, 0] + rng.normal(size=n), [-0.8, 0.3, 1.2])


def test_the_same_probabilities_for_everybody_are_told() -> None:
    X, y = few_rows(172, 0.0, 8)
    with pytest.warns(UserWarning, match="do not rise with the class"):
        model = QWKClassifier(Ridge(), cv=5).fit(X, y)
    with pytest.warns(UserWarning, match="the same probabilities, the shares of the classes"):
        P = model.predict_proba(X)
    np.testing.assert_allclose(P[0], np.bincount(y) / 172, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 2, 5])
@pytest.mark.filterwarnings("ignore:out-of-fold kappa")
def test_a_weak_slope_is_not_dropped(seed: int) -> None:
    """By BIC alone it was: its log loss on new rows is less with the slope."""
    X, y = few_rows(172, 0.33, seed)
    trees = lgb.LGBMRegressor(n_estimators=30, learning_rate=0.05, num_leaves=4, verbose=-1)
    P = QWKClassifier(trees, early_stopping_rounds=None).fit(X, y).predict_proba(X)
    assert np.ptp(P, axis=0).max() > 0.1


def test_many_rows_of_one_score_have_a_slope() -> None:
    """No spline has its knots there."""
    score = np.sort(np.r_[np.zeros(180), np.arange(1.0, 21)])
    position = np.r_[np.arange(180) % 3 > 1, np.ones(20)].astype(float)
    curve = fit_ordinal_curve(position, score, None, 2)
    assert curve(np.array([20.0]))[0, 1] > curve(np.array([0.0]))[0, 1] + 0.2


@pytest.mark.parametrize(("least", "said"), [(40, 10), (20, None)])
def test_models_that_cannot_split_their_few_rows_say_what_to_pass(least, said) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(75, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=75), [-0.5, 0.5])
    trees = lgb.LGBMRegressor(min_child_samples=least, verbose=-1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        QWKClassifier(trees).fit(X, y)
    found = [str(one.message) for one in told if "predicts one number" in str(one.message)]
    assert len(found) == (said is not None)
    if said is not None:
        assert f"in 5 of 5 folds: each leaf must have min_child_samples={least} of 60" in found[0]
        assert f"pass it min_child_samples={said}" in found[0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            typed = clone(trees).set_params(min_child_samples=said)
            assert QWKClassifier(typed).fit(X, y).score(X, y) > 0.5


def test_features_that_say_nothing_are_not_blamed_on_the_size_of_leaves() -> None:
    y = np.arange(60) % 3
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        QWKClassifier(lgb.LGBMRegressor(min_child_samples=40, verbose=-1)).fit(np.ones((60, 2)), y)
    assert not [one for one in told if "each leaf must have" in str(one.message)]


@pytest.mark.parametrize("parameters", [{}, {"pred_early_stop": True}, {"n_jobs": 2}])
def test_few_rows_are_predicted_as_many_are(data, parameters) -> None:
    """LightGBM's boosters are asked themselves, and say the same as its estimators, to the bit."""
    X, y = data[:2]
    model = QWKClassifier(lgb.LGBMRegressor(n_estimators=20, verbose=-1, **parameters)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    for n in (1, 7, 100, 101):
        by_estimators = np.mean([one.predict(X[:n]) for one in model.estimators_], axis=0)
        right = model.center_ + model.stretch_ * (by_estimators - model.center_)
        for rows in (X[:n], np.asfortranarray(X[:n]), X[:n].astype(np.float32).astype(float)):
            found = model.predict_score(rows)
            np.testing.assert_allclose(found, right, rtol=1e-12)  # the mean's order of terms
            np.testing.assert_array_equal(found, again.predict_score(rows))
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:1, :-1])


def test_threads_share_a_model(data) -> None:
    X, y = data[:2]
    model = QWKClassifier(lgb.LGBMRegressor(n_estimators=20, verbose=-1)).fit(X, y)
    right = model.predict_score(X)
    state = pickle.dumps(model)

    def ask(k: int) -> bool:
        rows = range(k, len(X), 8)
        found = [model.predict_score(X[i : i + 1])[0] for i in rows]
        return bool(np.allclose(found, right[k::8], rtol=1e-12))  # the order of the mean's terms

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
    assert pickle.dumps(model) == state  # nothing is kept
