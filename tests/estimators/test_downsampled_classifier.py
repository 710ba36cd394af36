"""DownsampledClassifier: fewer negatives in, the full population's probabilities out."""

from __future__ import annotations

import pickle
import re
import warnings
from functools import partial

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
import xgboost as xgb
from hypothesis import given, strategies as st
from scipy.special import expit, logit, softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from gbdt_objectives import (
    CalibratedClassifier,
    DownsampledClassifier,
    correct_probability,
    log_odds_shift,
    offset_logloss_objective,
    shift_intercept,
    weighted_logloss_metric,
    weighted_logloss_objective,
)
from gbdt_objectives.adapters.lightgbm import LGBMClassifier
from gbdt_objectives.adapters.lightgbm._train import TABLE
from gbdt_objectives.estimators._base import geometric_mean
from gbdt_objectives.estimators.downsampled_classifier import fit_offset
from gbdt_objectives.objectives import ratio_objective
from gbdt_objectives.priors import resample_classes
from tests.cases import each, refused
from tests.estimators.checks import COPIES, TAGS, check_all

pytestmark = pytest.mark.slow


LGBM = partial(lgb.LGBMClassifier, n_estimators=30, num_leaves=8, n_jobs=1, verbose=-1)
XGB = partial(xgb.XGBClassifier, n_estimators=30, max_depth=3, n_jobs=1)


BOOSTERS = pytest.mark.parametrize("booster", [LGBM, XGB], ids=["lgb", "xgb"])
RATE = 0.1
sampled = partial(DownsampledClassifier, negative_keep_rate=RATE, n_bags=1, random_state=0)


def made(n, seed=0):
    """About 3 % positives."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    margin = 1.3 * X[:, 0] + np.sin(2 * X[:, 1]) - 4.5
    return X, (rng.random(n) < expit(margin)).astype(int)


def made_of_three(n, seed=0):
    """About 90, 8 and 2 %."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    p = softmax(np.column_stack([4.2 + 0 * X[:, 0], 1.5 + X[:, 0], X[:, 1]]), axis=1)
    return X, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1)


def seeds(random_state, n_bags):
    uniform = np.random.default_rng(random_state).random(n_bags)
    return (np.iinfo(np.int32).max * uniform).astype(int)


@pytest.fixture(scope="module")
def data():
    return made(20_000)


@pytest.fixture(scope="module")
def new():
    return made(20_000, seed=1)


# --- the corrections ------------------------------------------------------------------------


@each("weighted", [False, True])
@each("correction", ["prior", "weight", None])
def test_is_the_path_written_out(data, new, correction, weighted) -> None:
    X, y = data
    w = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    rows = resample_classes(y, {0: RATE, 1: 1.0}, random_state=int(seeds(3, 1)[0]))
    kept = (w * (y == 0))[rows].sum() / (w * (y == 0)).sum()
    v = np.where(y == 0, w / kept, w) if correction == "weight" else w
    model = LogisticRegression().fit(X[rows], y[rows], v[rows])
    expected = model.predict_proba(new[0])[:, 1]
    if correction == "prior":
        expected = correct_probability(expected, shift=np.log(kept))

    classifier = sampled(LogisticRegression(), random_state=3)
    classifier.set_params(correction=correction).fit(X, y, w if weighted else None)
    probability = classifier.predict_proba(new[0])
    np.testing.assert_allclose(probability[:, 1], expected, rtol=1e-12)  # float64 round-off
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_allclose(classifier.keep_rates_, [[kept, 1]])
    assert classifier.shift_ == pytest.approx(np.log(kept) if correction == "prior" else 0)
    np.testing.assert_array_equal(classifier.predict(new[0]), expected > 0.5)
    for other in ("prior", "offset", "weight", None):  # predictions do not depend on it
        classifier.set_params(correction=other)
        np.testing.assert_array_equal(classifier.predict_proba(new[0]), probability)
    with pytest.raises(ValueError, match="average must be one of"):
        classifier.set_params(average="mean").predict_proba(new[0])


@pytest.mark.parametrize(  # all pairs
    ("booster", "weighted", "rates"),
    [
        (LGBM, False, RATE), (LGBM, True, {0: RATE, 1: 0.8}), (LGBM, False, {1: 0.5}),
        (XGB, True, RATE), (XGB, False, {0: RATE, 1: 0.8}), (XGB, True, {1: 0.5}),
    ],
)  # fmt: skip
def test_correction_after_is_offset_in_training(data, new, booster, weighted, rates) -> None:
    X, y = data
    w = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    offset = sampled(booster(), negative_keep_rate=rates, correction="offset")
    shift = np.log(np.divide(*offset.fit(X, y, w).keep_rates_[0]))
    start = {}
    if booster is XGB:  # before 3.1 it would not start at the mean
        full = offset_logloss_objective(1.0).measured(y, w).intercept
        start = {"base_score": float(expit(full - shift))}
    prior = sampled(booster(**start), negative_keep_rate=rates).fit(X, y, w)
    assert prior.shift_ == pytest.approx(shift)
    np.testing.assert_array_equal(offset.keep_rates_, prior.keep_rates_)
    assert offset.shift_ == 0
    # same trees, same start: XGBoost's margins are float32, good to 4e-6, and a leaf's gradient
    # sums differ by as much; LightGBM's scores are float64, but our gradients are made of float32
    # steps, each good to 6e-8, which 30 trees of small leaves add up
    tolerance = 4e-6 if booster is LGBM else 2e-5
    found = logit([c.predict_proba(new[0])[:, 1] for c in (prior, offset)])
    np.testing.assert_allclose(found[0], found[1], atol=tolerance)
    losses = [log_loss(new[1], c.predict_proba(new[0])) for c in (prior, offset)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)


@BOOSTERS
def test_on_new_rows(data, new, booster) -> None:
    p = {}
    for correction in ("prior", "offset", "weight", None):
        classifier = sampled(booster(), correction=correction).fit(*data)
        p[correction] = classifier.predict_proba(new[0])[:, 1]
    rate = classifier.keep_rates_[0, 0]
    # 600 positives among 20000: the mean of new labels is known to 4 %, that of old ones too,
    # and a model of 2500 rows to about as much; three of these together
    assert p["prior"].mean() == pytest.approx(new[1].mean(), rel=0.2)
    assert p["offset"].mean() == pytest.approx(new[1].mean(), rel=0.2)
    assert p["weight"].mean() == pytest.approx(new[1].mean(), rel=0.4)  # roughly: heavy rows
    assert p[None].mean() > 4 * new[1].mean()
    # uncorrected odds are too high by 1/rate in each row: the margins differ by one number
    np.testing.assert_allclose(logit(p[None]) - logit(p["prior"]), -np.log(rate), atol=1e-9)
    loss = {correction: log_loss(new[1], p[correction]) for correction in p}
    assert loss["prior"] < loss["weight"] < loss[None]


@pytest.mark.filterwarnings("ignore:the area under the ROC curve is")  # the model knows nothing
@each("weighted", [False, True])
@each("correction", ["prior", "weight"])
@each("make", [made, made_of_three])
def test_measured_rates_give_back_the_prior_exactly(correction, weighted, make) -> None:
    """A model that knows nothing predicts the prior of the rows that were sampled from."""
    X, y = make(500)
    w = np.random.default_rng(0).exponential(size=500) if weighted else None
    prior = np.bincount(y, w) / np.bincount(y, w).sum()
    constant = DummyClassifier(strategy="prior")
    classifier = DownsampledClassifier(
        constant, {0: 0.2}, correction=correction, random_state=0
    ).fit(X, y, w)
    np.testing.assert_allclose(classifier.predict_proba(X[:1])[0], prior, rtol=1e-12)  # round-off
    assert abs(classifier.keep_rates_[0, 0] - 0.2) > 1e-3  # nominal rates would not


@pytest.mark.parametrize(
    ("estimator", "correction"),
    [
        (LGBM(), "prior"), (LGBM(), "offset"), (XGB(), "prior"), (XGB(), "offset"),
        (XGB(objective="multi:softprob", num_class=2), "prior"),
    ],
)  # fmt: skip
def test_a_single_booster_serves_without_us(data, new, estimator, correction, tmp_path) -> None:
    classifier = sampled(estimator, correction=correction).fit(*data)
    model, path, shift = classifier.estimators_[0], tmp_path / "model.json", classifier.shift_
    if isinstance(model, lgb.LGBMClassifier):
        shift_intercept(model.booster_, delta=shift).save_model(path)
        found = lgb.Booster(model_file=path).predict(new[0])
    else:
        shift = [0, shift] if "num_class" in model.get_params() else shift
        shift_intercept(model.get_booster(), delta=shift).save_model(path)
        found = xgb.Booster(model_file=path).predict(xgb.DMatrix(new[0]))
    expected = classifier.predict_proba(new[0])
    found = found if found.ndim == 2 else np.column_stack([1 - found, found])
    np.testing.assert_allclose(found, expected, rtol=1e-5)  # XGBoost's float32


def test_certain_boosters_are_corrected_from_their_margin() -> None:
    """As a float32 probability everything beyond log-odds of 17 would be 1, and stay 1."""
    X = np.arange(20_000.0).reshape(-1, 1)
    certain = XGB(n_estimators=60, learning_rate=1, reg_lambda=0, min_child_weight=0)
    classifier = sampled(certain).fit(X, X[:, 0] >= 19_000)
    margin = classifier.estimators_[0].predict(X, output_margin=True)
    assert margin.max() > 17
    log_p = np.log(classifier.predict_proba(X))
    expected = margin + classifier.shift_
    np.testing.assert_allclose(log_p[:, 1] - log_p[:, 0], expected, rtol=1e-6)  # float64 of 1 - p


@BOOSTERS
def test_rate_of_one_is_the_plain_classifier(data, booster) -> None:
    X, y = data[0][:2000], data[1][:2000]
    start = {"base_score": y.mean()} if booster is XGB else {}  # before 3.1 it would be another
    estimator = booster(random_state=0, **start)
    plain = clone(estimator).fit(X, y).predict_proba(X)
    for options in ({}, {"correction": "offset"}, {"correction": "weight"}, {"n_bags": 3}):
        classifier = DownsampledClassifier(estimator, 1.0, **options).fit(X, y)
        assert classifier.shift_ == 0
        np.testing.assert_allclose(classifier.predict_proba(X), plain, rtol=1e-4, atol=1e-6)


# --- bags -----------------------------------------------------------------------------------


def test_bags_are_averaged_in_log_odds(data, new) -> None:
    X, y = data
    tree = DecisionTreeClassifier(min_samples_leaf=60)
    classifier = sampled(tree, n_bags=5, average="log_odds", calibrate=False)
    classifier.fit(X, y)
    p = np.array([model.predict_proba(new[0])[:, 1] for model in classifier.estimators_])
    mixed = ((p > 0) & (p < 1)).all(axis=0)  # no leaf of one class only
    assert mixed.mean() > 0.1
    z = logit(p[:, mixed]) + np.log(classifier.keep_rates_[:, :1])
    probability = classifier.predict_proba(new[0])[mixed, 1]
    np.testing.assert_allclose(probability, expit(z.mean(axis=0)), rtol=1e-10)
    assert len(np.unique(classifier.keep_rates_[:, 0])) > 1  # other rows in each bag


@pytest.mark.filterwarnings("ignore:.* is 0 or 1 in every row")  # leaves of one class are certain
def test_corrected_probabilities_are_averaged(data, new) -> None:
    tree = DecisionTreeClassifier()  # of leaves of 0 and 1
    for correction, estimator in (
        ("prior", tree), ("weight", tree), (None, tree), ("offset", XGB(n_estimators=5)),
    ):  # fmt: skip
        c = sampled(estimator, correction=correction, n_bags=5, calibrate=False).fit(*data)
        bags = [model.predict_proba(new[0])[:, 1] for model in c.estimators_]
        if correction == "prior":
            shifts = np.log(c.keep_rates_[:, 0])
            bags = [correct_probability(p, shift=d) for p, d in zip(bags, shifts, strict=True)]
        probability = c.predict_proba(new[0])
        rtol = 1e-6 if correction == "offset" else 1e-12  # XGBoost's float32
        np.testing.assert_allclose(probability[:, 1], np.mean(bags, 0), rtol=rtol, atol=1e-15)
        np.testing.assert_allclose(probability.sum(axis=1), 1)
    probability = c.set_params(average="log_odds").predict_proba(new[0])
    expected = expit(logit(bags).mean(axis=0))  # of boosters on an offset, which need no shift
    np.testing.assert_allclose(probability[:, 1], expected, rtol=1e-6)


def test_bags_of_a_forest_are_no_worse_than_one(data, new) -> None:
    """A class that one bag of few trees rules out is not lost: in log-odds it is."""
    X_new, y_new = new[0][:5000], new[1][:5000]
    forest, loss = RandomForestClassifier(8, n_jobs=1), {}
    for bags in ({"n_bags": 1}, {"n_bags": 5}, {"n_bags": 5, "average": "log_odds"}):
        classifier = sampled(forest, calibrate=False, **bags).fit(*data)
        loss[tuple(bags.values())] = log_loss(y_new, classifier.predict_proba(X_new))
    assert loss[5,] < loss[1,] < loss[5, "log_odds"]


probabilities = st.lists(st.sampled_from([0.0, 0.1, 0.5, 2.0, 7.0]), min_size=3, max_size=3)
bags = st.lists(probabilities.filter(any), min_size=2, max_size=5)


@given(bags)
def test_zeros_are_the_limit_of_small_probabilities(rows) -> None:
    p = [np.array([row]) / sum(row) for row in rows]
    log_p = np.log(np.where(np.stack(p) == 0, 1e-300, np.stack(p)))
    limit = softmax(log_p.mean(axis=0), axis=1)  # what remains of 1e-300^(1/5) is 1e-60
    np.testing.assert_allclose(geometric_mean(p), limit, rtol=1e-12, atol=1e-50)


@pytest.mark.filterwarnings("ignore:.* is 0 or 1 in every row")  # leaves of one class are certain
def test_trees_that_contradict_each_other_get_the_mean_shift(data, new) -> None:
    tree = DecisionTreeClassifier()
    classifier = sampled(tree, n_bags=2, average="log_odds", calibrate=False).fit(*data)
    p = classifier.predict_proba(new[0])[:, 1]
    a, b = (model.predict(new[0]) for model in classifier.estimators_)
    assert (a != b).any()
    mean = np.log(classifier.keep_rates_[:, 0]).mean()
    np.testing.assert_allclose(p, np.where(a == b, a, expit(mean)), rtol=1e-12)


def test_random_state(data) -> None:
    X, y = data[0][:1000], data[1][:1000]

    def states(estimator, random_state=0):
        c = DownsampledClassifier(estimator, 0.3, n_bags=3, random_state=random_state).fit(X, y)
        drawn = [
            [value for name, value in model.get_params().items() if name.endswith("random_state")]
            for model in c.estimators_
        ]
        return c.predict_proba(X), [values[0] for values in drawn]

    forest = RandomForestClassifier(5, n_jobs=1)
    first, drawn = states(forest)
    np.testing.assert_array_equal(first, states(forest)[0])
    assert drawn == seeds(0, 3).tolist()
    assert len(set(drawn)) == 3
    assert (states(forest, 1)[0] != first).any()
    assert states(RandomForestClassifier(5, random_state=7))[1] == [7, 7, 7]
    assert states(make_pipeline(forest))[1] == drawn
    for kind in (np.random.default_rng, np.random.RandomState):
        generator = kind(0)
        known = states(forest, generator)[1]
        assert known == states(forest, kind(0))[1]
        assert known != states(forest, generator)[1]
    assert states(forest, np.random.default_rng(0))[1] == drawn
    assert states(forest, None)[1] != states(forest, None)[1]
    assert forest.get_params()["random_state"] is None


# --- labels and rates -----------------------------------------------------------------------


@each("names", [["no", "yes"], [False, True], [-1, 1], [10.0, 20.0]])
def test_labels_of_any_type(data, names) -> None:
    X, y = data[0][:5000], data[1][:5000]
    expected = sampled(XGB()).fit(X, y)
    for rate in (RATE, {names[0]: RATE}):
        c = sampled(XGB(), negative_keep_rate=rate).fit(X, np.array(names)[y])
        assert c.classes_.tolist() == names
        np.testing.assert_array_equal(c.predict_proba(X), expected.predict_proba(X))
        np.testing.assert_array_equal(c.predict(X), np.array(names)[expected.predict(X)])


def test_the_rare_class_is_not_downsampled_unless_it_is_named(data) -> None:
    """Alphabetical order does not decide."""
    X, y = data
    named = np.where(y == 1, "fraud", "ok")
    for label, words in (
        (named, r"drops rows of 'fraud'.*negative_keep_rate=\{'ok': 0.1\}"),
        (1 - y, r"drops rows of 0, .*negative_keep_rate=\{1: 0.1\} or \{0"),
    ):
        with pytest.raises(ValueError, match=words):
            DownsampledClassifier(LogisticRegression(), RATE).fit(X, label)
    c = sampled(LogisticRegression(), negative_keep_rate={"ok": RATE}).fit(X, named)
    assert c.keep_rates_[0, 0] == 1
    p = c.predict_proba(X)[:, 0]
    assert p.mean() == pytest.approx(y.mean(), rel=0.05)  # 600 positives
    c = sampled(LogisticRegression(), negative_keep_rate={0: RATE}).fit(X, 1 - y)
    assert 0 < c.keep_rates_[0, 0] < 0.3


@each("correction", ["prior", "offset"])
def test_a_log_that_was_sampled_before_is_told(data, correction) -> None:
    at = np.concatenate([POSITIVE, NEGATIVE[: 4 * len(POSITIVE)]])
    rows = data[0][at], data[1][at]
    with pytest.warns(UserWarning, match="drops rows of 0, of which .*sampled before") as told:
        sampled(LGBM(), correction=correction).fit(*rows)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampled(LGBM(), negative_keep_rate={0: RATE}, correction=correction).fit(*rows)


@pytest.mark.parametrize(
    ("estimator", "correction", "rtol"),
    [
        # 400 of the rarest class in each half: 5 % twice, and the models' noise
        (LGBM(), "weight", 0.4), (XGB(), "prior", 0.2), (LogisticRegression(), "prior", 0.2),
        (LogisticRegression(), None, 1e9),
    ],
)  # fmt: skip
def test_many_classes(estimator, correction, rtol) -> None:
    X, y = made_of_three(20_000)
    X_new, y_new = made_of_three(20_000, seed=1)
    label, rates = np.array(["view", "click", "buy"])[y], {"view": 0.05, "click": 0.5}
    classifier = sampled(estimator, negative_keep_rate=rates, correction=correction, n_bags=2)
    assert classifier.fit(X, label).classes_.tolist() == ["buy", "click", "view"]
    p = classifier.predict_proba(X_new)
    mean, prior = p.mean(axis=0), np.bincount(y_new)[[2, 1, 0]] / len(y_new)
    np.testing.assert_allclose(mean, prior, rtol=rtol)
    assert correction or mean[0] > 3 * prior[0]
    np.testing.assert_array_equal(classifier.predict(X_new), classifier.classes_[p.argmax(1)])
    if correction == "prior":
        logs = [
            np.log(m.predict_proba(X_new)) + log_odds_shift(class_keep_rates=rates)
            for m, rates in zip(classifier.estimators_, classifier.keep_rates_, strict=True)
        ]
        expected = np.mean(softmax(logs, axis=2), axis=0)
        np.testing.assert_allclose(p, expected, rtol=1e-5)  # XGBoost's float32
        classifier.set_params(average="log_odds")
        expected = softmax(np.mean(logs, axis=0), axis=1)
        np.testing.assert_allclose(classifier.predict_proba(X_new), expected, rtol=1e-5)
        assert classifier.shift_.shape == (3,)


# --- early stopping -------------------------------------------------------------------------


def stopping(booster, rounds):
    name = "early_stopping_round" if booster is LGBM else "early_stopping_rounds"
    return booster(n_estimators=200, learning_rate=0.3, **{name: rounds})


def unstopped(booster, model, data, rate, seed, rounds):
    """The same trees, of a booster that goes on, by the offset objective alone."""
    free = clone(model).set_params(
        n_estimators=rounds, objective=None, random_state=seed,
        **({"metric": None} if booster is LGBM else {"base_score": None}),
    )  # fmt: skip
    return fit_offset(free, np.log(rate), data, None)


def margin_after(booster, model, X, rounds):
    if booster is LGBM:
        return model.predict(X, raw_score=True, num_iteration=rounds)
    return model.predict(X, output_margin=True, iteration_range=(0, rounds))


def rounds_of(booster, model):
    return model.best_iteration_ if booster is LGBM else model.get_booster().num_boosted_rounds()


@BOOSTERS
@pytest.mark.parametrize("weighted", [False, True])
def test_stops_where_the_full_populations_logloss_is_least(data, booster, weighted) -> None:
    X, y = data
    w = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    classifier = sampled(stopping(booster, 10), correction="offset", random_state=1)
    (model,) = classifier.fit(X, y, w).estimators_
    seed = int(seeds(1, 1)[0])
    rows = resample_classes(y, {0: RATE, 1: 1.0}, random_state=seed)
    split = StratifiedKFold(5, shuffle=True, random_state=seed).split(rows, y[rows])
    train, held = (rows[part] for part in next(iter(split)))
    rate = classifier.keep_rates_[0, 0]
    v = [None, None] if w is None else [w[train], w[held]]
    free = unstopped(booster, model, (X[train], y[train], v[0]), rate, seed, 60)
    metric = weighted_logloss_metric(rate)
    margins = (margin_after(booster, free, X[held], i) for i in range(1, 61))
    curve = [metric(y[held], margin, v[1]) for margin in margins]
    best = rounds_of(booster, model)
    assert 1 < best < 50  # it did stop, and not at the first round
    assert curve[best - 1] == pytest.approx(min(curve[: best + 10]), abs=1e-6)
    (score,) = model.best_score_["valid_0"].values() if booster is LGBM else [model.best_score]
    assert score == pytest.approx(min(curve[: best + 10]), abs=1e-6)  # XGBoost prints 6 digits
    # the model keeps the best rounds only
    expected = expit(margin_after(booster, free, X, best))
    np.testing.assert_allclose(classifier.predict_proba(X)[:, 1], expected, rtol=1e-4)


@each("off", [0, -1])
@each("correction", ["offset", "prior"])
def test_lightgbm_has_numbers_that_do_not_stop(data, off, correction) -> None:
    """Then nothing is held out either."""
    p = [
        sampled(estimator, correction=how).fit(*data).predict_proba(data[0])
        for estimator, how in ((LGBM(), "offset"), (LGBM(early_stopping_round=off), correction))
    ]
    np.testing.assert_allclose(*p, rtol=4e-6)  # as in test_correction_after_is_offset


class Recording(xgb.XGBClassifier):
    """Keeps the first column of what it is trained and stopped on."""

    def fit(self, X, y, *, eval_set, **options):
        self.train_, self.held_ = X[:, 0].copy(), eval_set[0][0][:, 0].copy()
        return super().fit(X, y, eval_set=eval_set, **options)


RECORDING = Recording(n_estimators=5, early_stopping_rounds=3, n_jobs=1)


def test_groups_are_held_out_together(data) -> None:
    y = data[1]
    group = np.random.default_rng(0).integers(0, 200, len(y))
    X = np.column_stack([group, np.arange(len(y)), data[0]]).astype(float)
    classifier = sampled(RECORDING, correction="offset", n_bags=3)
    for model in classifier.fit(X, y, groups=[f"g{i}" for i in group]).estimators_:
        assert not set(model.train_) & set(model.held_)
        n = len(model.train_) + len(model.held_)
        assert len(model.held_) == pytest.approx(n / 5, rel=0.1)  # 200 groups of about 12 rows
    held = [set(model.held_) for model in classifier.estimators_]
    assert held[0] != held[1]
    (model,) = classifier.set_params(cv=GroupKFold(5), n_bags=1).fit(X, y, groups=group).estimators_
    assert not set(model.train_) & set(model.held_)
    assert len(model.held_) == pytest.approx(4000, rel=0.1)  # whole, not sampled
    ungrouped = classifier.set_params(cv=None).fit(X, y).estimators_[0]
    assert set(ungrouped.train_) & set(ungrouped.held_)


@pytest.mark.parametrize(  # all pairs
    ("booster", "weighted", "way"),
    [(LGBM, False, "cv"), (LGBM, True, "eval_set"), (XGB, False, "eval_set"), (XGB, True, "cv")],
)
def test_stops_on_rows_that_are_given(data, booster, weighted, way) -> None:
    """Explicit rows, or those a splitter holds out: they are not sampled, nor weighed back."""
    X, y = data
    past, later = slice(0, 15_000), slice(15_000, 20_000)
    few = np.random.default_rng(0).exponential(size=len(y)) ** 3  # heavy ones, which move the best
    w = few if weighted else np.ones(len(y))
    common = {"correction": "offset", "n_bags": 2, "calibrate": False, "random_state": 1}
    classifier = DownsampledClassifier(stopping(booster, 10), RATE, **common)
    if way == "cv":
        classifier.set_params(cv=TimeSeriesSplit(2, test_size=5000))
        classifier.fit(X, y, w if weighted else None)
    else:
        given = {"sample_weight": w[past], "eval_sample_weight": [w[later]]} if weighted else {}
        classifier.fit(X[past], y[past], eval_set=[(X[later], y[later])], **given)
    for model, seed, rates in zip(
        classifier.estimators_, seeds(1, 2).tolist(), classifier.keep_rates_, strict=True
    ):
        rows = resample_classes(y[past], {0: RATE, 1: 1.0}, random_state=seed)
        negative = w[past] * (y[past] == 0)
        assert rates[0] == pytest.approx(negative[rows].sum() / negative.sum(), rel=1e-12)
        best = rounds_of(booster, model)
        assert 1 < best < 50
        sample = X[rows], y[rows], w[rows] if weighted else None
        free = unstopped(booster, model, sample, rates[0], seed, best + 10)
        margins = (margin_after(booster, free, X[later], i) for i in range(1, best + 11))
        curve = [log_loss(y[later], expit(z), sample_weight=w[later]) for z in margins]
        # equal but for XGBoost's float32 margins
        assert curve[best - 1] == pytest.approx(min(curve), abs=1e-6)


def test_every_row_that_stops_is_given_as_it_is() -> None:
    """What the booster sees, for each way: rows held out are whole and never trained on."""
    X, y = made(5000)
    X[:, 0] = np.arange(5000)
    common = {"correction": "offset", "n_bags": 3, "random_state": 0}
    split = np.arange(100, 3000), np.arange(4000, 5000)  # and rows that are in neither
    by_cv = DownsampledClassifier(RECORDING, RATE, cv=[split], **common).fit(X, y)
    by_set = DownsampledClassifier(RECORDING, RATE, **common)
    by_set.fit(X[split[0]], y[split[0]], eval_set=(X[split[1]], y[split[1]]))
    for classifier in (by_cv, by_set):
        for model in classifier.estimators_:
            np.testing.assert_array_equal(model.held_, split[1])
            assert set(model.train_) <= set(split[0])
            assert len(model.train_) < 700
    np.testing.assert_array_equal(by_cv.keep_rates_, by_set.keep_rates_)
    np.testing.assert_array_equal(by_cv.predict_proba(X), by_set.predict_proba(X))


X_VAL, Y_VAL = made(500, seed=3)
NEGATIVE, POSITIVE = (np.flatnonzero(made(20_000)[1] == label) for label in (0, 1))
PAIR = [(X_VAL, Y_VAL)]


@refused(
    ({"estimator": XGB()}, {"eval_set": PAIR},
     "eval_set is for early stopping, but estimator has no early_stopping_rounds"),
    ({"estimator": LogisticRegression(), "correction": "prior"}, {"eval_set": PAIR},
     "eval_set is for early stopping, but estimator has no"),
    ({"estimator": XGB(), "cv": TimeSeriesSplit(5)}, {},
     "cv is for early stopping, but estimator has no"),
    ({"correction": "prior"}, {"eval_set": PAIR}, "pass correction='offset'"),
    ({"cv": TimeSeriesSplit(5)}, {"eval_set": PAIR}, "eval_set and cv both say"),
    ({}, {"eval_set": PAIR, "groups": [1]}, "eval_set and groups both say"),
    ({"cv": 5}, {}, "cv must be a splitter .*found 5: TimeSeriesSplit", TypeError),
    ({"cv": "prefit"}, {}, "cv must be a splitter .*found 'prefit'", TypeError),

    ({}, {"eval_metric": "auc"}, "eval_metric.*a parameter belongs to the estimator", TypeError),
    ({}, {"eval_sample_weight": [Y_VAL]}, "given without eval_set"),

    ({}, {"eval_set": [(X_VAL[:, :2], Y_VAL)]}, "eval_set: X has 2 features"),
    ({}, {"eval_set": PAIR, "eval_sample_weight": [-1 * Y_VAL]},
     "eval_sample_weight.* must not be negative"),
    ({"cv": [(np.arange(100), np.arange(99, 200))]}, {}, "rows on both sides"),
    ({"cv": [(np.arange(100), np.arange(20_000, 20_005))]}, {}, "row numbers outs"),
    ({"cv": []}, {}, "cv gives 0 splits"),
    ({"cv": [(NEGATIVE, POSITIVE)]}, {}, "cv leaves no row of class 1 to train on"),
    ({"cv": [(np.concatenate([POSITIVE, NEGATIVE[:-99]]), NEGATIVE[-99:])]}, {},
     "cv holds out rows of one"),
    ({}, {"groups": [1, 2, 3]}, "groups has 3 rows"),
    ({}, {"groups": np.arange(20_000) % 2}, "need at least 5 groups, found 2"),
)  # fmt: skip
def test_bad_rows_to_stop_on(data, options, arguments) -> None:
    estimator = XGB(early_stopping_rounds=5)
    classifier = DownsampledClassifier(estimator, RATE, correction="offset")
    classifier.set_params(**options).fit(*data, **arguments)


# --- scikit-learn ---------------------------------------------------------------------------

NO_STOPPING = dict.fromkeys(
    COPIES,
    "they set cv, which is for early stopping only; and of rows that are sampled one of weight w "
    "is sampled as one, w copies of it each on their own",
)
RARE_IS_THINNED = "7 of 40 labels are 0, whose rows would be thinned though they are the rare ones"
NOT_ALL_ROWS = NO_STOPPING | {
    "check_estimators_nan_inf": "the bad row is not in the sample",
    "check_dtype_object": RARE_IS_THINNED,  # of scikit-learn 1.7, which draws other labels
    "check_estimator_sparse_array": RARE_IS_THINNED,
    "check_estimator_sparse_matrix": RARE_IS_THINNED,
}
NEED_OTHER_LABELS = (
    "estimators_dtypes sample_weights_pandas_series sample_weights_not_an_array "
    "sample_weights_shape sample_weights_not_overwritten classifier_data_not_an_array "
    "classifiers_classes fit2d_1feature"
)
OTHER_LABELS = NO_STOPPING | {
    f"check_{name}": "its labels are not the one that has a rate"
    for name in NEED_OTHER_LABELS.split()
}


@TAGS
@pytest.mark.parametrize(
    ("estimator", "rate", "options", "expected"),
    [
        (DecisionTreeClassifier(), 1.0, {}, NO_STOPPING),
        (LogisticRegression(), 0.7, {}, NOT_ALL_ROWS),
        (DecisionTreeClassifier(), 0.7, {"correction": "weight", "n_bags": 2}, NOT_ALL_ROWS),
        (DecisionTreeClassifier(), {0: 1.0}, {}, OTHER_LABELS),  # several classes
        (
            LGBM(n_estimators=5, min_child_samples=1),
            1.0,
            {"correction": "offset", "n_bags": 1},
            NO_STOPPING,
        ),
    ],
)
def test_check_estimator(estimator, rate, options, expected) -> None:
    check_all(DownsampledClassifier(estimator, rate, random_state=0, **options), expected)


@each("correction", ["prior", "weight", None])
def test_weight_is_repetition_where_all_rows_are_kept(data, correction) -> None:
    """What two of scikit-learn's checks cannot ask."""
    X, y = data[0][:2000], data[1][:2000]
    w = np.random.default_rng(0).integers(0, 4, 2000)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    classifier = DownsampledClassifier(tree, 1.0, correction=correction)
    one = clone(classifier).fit(X, y, w).predict_proba(X)
    two = clone(classifier).fit(np.repeat(X, w, axis=0), np.repeat(y, w)).predict_proba(X)
    np.testing.assert_allclose(one, two, rtol=1e-12)  # round-off


@BOOSTERS
@pytest.mark.parametrize("correction", ["prior", "offset"])
def test_clone_pickle_search(data, booster, correction) -> None:
    X, y = data[0][:6000], data[1][:6000]
    classifier = sampled(booster(), negative_keep_rate=0.2, correction=correction)
    assert set(clone(classifier).get_params()) == set(classifier.get_params())
    grid = {"estimator__learning_rate": [0.0001, 0.1], "negative_keep_rate": [0.2, {0: 0.5}]}
    search = GridSearchCV(classifier, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_["estimator__learning_rate"] == 0.1
    loaded = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(loaded.predict_proba(X), search.predict_proba(X))
    untouched = booster().get_params()["objective"]
    assert classifier.estimator.get_params()["objective"] == untouched


def test_inside_and_around_other_estimators(data, new) -> None:
    X, y = data
    inside = sampled(make_pipeline(StandardScaler(), LogisticRegression()))
    around = make_pipeline(StandardScaler(), sampled(LogisticRegression()))
    calibrated = CalibratedClassifierCV(around, method="isotonic", cv=3)
    for estimator in (inside, around, calibrated):
        p = estimator.fit(X, y).predict_proba(new[0])[:, 1]
        assert p.mean() == pytest.approx(new[1].mean(), rel=0.2)  # as in test_on_new_rows
    assert cross_val_score(inside, X, y, cv=3, scoring="roc_auc").min() > 0.75
    fixed_threshold = getattr(sklearn.model_selection, "FixedThresholdClassifier", None)
    if fixed_threshold is None:
        pytest.skip("scikit-learn 1.5 is the first that has FixedThresholdClassifier")
    at = fixed_threshold(inside, threshold=0.1, response_method="predict_proba")
    expected = inside.fit(X, y).predict_proba(X)[:, 1] >= 0.1
    np.testing.assert_array_equal(at.fit(X, y).predict(X), expected)


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (LGBM(), {"n_bags": 2}),
        (LGBM(), {"correction": "offset"}),
        (stopping(LGBM, 5), {"correction": "offset", "n_bags": 2}),
        (XGB(enable_categorical=True), {}),
        (stopping(XGB, 5).set_params(enable_categorical=True), {"correction": "offset"}),
        (HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype"), {}),
    ],
)
def test_missing_values_and_categories_pass_through(estimator, options) -> None:
    rng = np.random.default_rng(0)
    n = 5000
    colour = rng.choice(["red", "green", "blue"], n)
    gone = rng.random(n) < 0.3
    x = rng.normal(size=n)
    margin = x + 2 * (colour == "green") + 2.0 * gone - 4
    y = pd.Series(np.where(rng.random(n) < expit(margin), "yes", "no"))
    frame = pd.DataFrame({"x": np.where(gone, np.nan, x), "colour": pd.Categorical(colour)})
    frame.index = y.index = rng.permutation(n)  # rows go by place, not by name
    classifier = DownsampledClassifier(estimator, 0.3, random_state=0, **options).fit(frame, y)
    assert classifier.feature_names_in_.tolist() == ["x", "colour"]
    assert classifier.n_features_in_ == 2
    positive = (y == "yes").to_numpy()
    p = classifier.predict_proba(frame)[:, 1]
    red = frame.assign(colour=pd.Categorical(["red"] * n, frame.colour.cat.categories))
    auc = roc_auc_score(positive, p)
    assert auc > roc_auc_score(positive, classifier.predict_proba(red)[:, 1]) + 0.02
    assert auc > 0.8
    assert p.mean() == pytest.approx(positive.mean(), rel=0.1)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(frame[["colour", "x"]])


@each("form", [sp.csr_matrix, sp.coo_matrix])
def test_sparse(data, form) -> None:
    c = sampled(LogisticRegression())
    expected = c.fit(*data).predict_proba(data[0])
    rows = form(data[0])
    np.testing.assert_allclose(c.fit(rows, data[1]).predict_proba(rows), expected, rtol=1e-3)


# --- bad input ------------------------------------------------------------------------------


@refused(
    (LogisticRegression(), 0, {}, r"negative_keep_rate must be in \(0, 1\], found 0"),
    (LogisticRegression(), -0.1, {}, r"must be in \(0, 1\], found -0\.1"),
    (LogisticRegression(), 2.0, {}, r"must be in \(0, 1\], found 2"),
    (LogisticRegression(), np.nan, {}, "must be finite, found nan"),
    (LogisticRegression(), "0.1", {}, "must be a number, found str", TypeError),
    (LogisticRegression(), {}, {}, r"must map labels of y, \[0, 1\]"),
    (LogisticRegression(), {2: 0.1}, {}, r"\[0, 1\], to their rates, found \{2: 0\.1\}"),
    (LogisticRegression(), {0: 0}, {}, r"negative_keep_rate\[0\] must be in \(0, 1\]"),
    (LogisticRegression(), 1e-9, {}, "of which the sample has none: raise its"),
    (LogisticRegression, 0.1, {}, "estimator must be a classifier with predict_pr", TypeError),
    (LinearRegression(), 0.1, {}, r"predict_proba.*found LinearRegression\(\)", TypeError),
    (LogisticRegression(), 0.1, {"correction": "platt"}, "one of 'prior', 'offs"),
    (LogisticRegression(), 0.1, {"average": "logit"}, "average must be one of"),
    (LogisticRegression(), 0.1, {"n_bags": 0}, "whole number >= 1, found 0"),
    (LogisticRegression(), 0.1, {"n_bags": 1.5}, r"whole number >= 1, found 1\.5", TypeError),
    (LogisticRegression(), 0.1, {"n_bags": True}, "n_bags must be a whole number", TypeError),
    (LogisticRegression(), 0.1, {"random_state": "a"}, "random_state must be", TypeError),
    (LogisticRegression(class_weight="balanced"), 0.1, {},
     "class_weight='balanced', which moves the log-odds"),
    (make_pipeline(DecisionTreeClassifier(class_weight={0: 1, 1: 5})), 0.1, {},
     r"decisiontreeclassifier__class_weight=\{0: 1, 1: 5\}, which moves"),
    (XGB(scale_pos_weight=10), 0.1, {}, "scale_pos_weight=10, which moves"),
    (GridSearchCV(LogisticRegression(), {"class_weight": [None, "balanced"]}), 0.1, {},
     "param_grid: class_weight='balanced', which moves"),
    (GridSearchCV(LGBM(), {"objective": ["binary", "regression"]}), 0.1, {},
     "param_grid: objective='regression', whose predictions are not log-odds"),
    (GridSearchCV(LGBM(), [{"max_depth": [2]}, {"unbalance": [True]}]), 0.1, {},
     "param_grid: unbalance=True, which moves"),
    (LGBM(is_unbalance=1), 0.1, {}, "is_unbalance=1, which moves"),
    (GaussianNB(priors=[0.5, 0.5]), 0.1, {}, r"priors=\[0\.5, 0\.5\], which moves"),
    (LogisticRegression(), 0.1, {"correction": "offset"},
     "is for LGBMClassifier and XGBClassifier, found LogisticRegression"),
    (LGBM(objective="cross_entropy"), 0.1, {"correction": "offset"},
     "objective='cross_entropy', but correction='offset' sets its own"),
    (LGBM(application="binary"), 0.1, {"correction": "offset"},
     r"params\['application'\] = 'binary' is refused: objective= already says"),
    (KNeighborsClassifier(), 0.1, {"correction": "weight"},
     "needs sample_weight, but KNeighborsClassifier does not accept it"),
    (make_pipeline(LogisticRegression()), 0.1, {"correction": "weight"},
     "make this a pipeline's last step"),
    (stopping(LGBM, 5), 0.1, {}, "correction='prior' it would be measured on the"),
    (stopping(XGB, 5), 0.1, {"correction": "weight"}, "pass correction='offset'"),
    (stopping(XGB, 5).set_params(eval_metric="auc"), 0.1, {"correction": "offset"},
     "eval_metric='auc', but early stopping is on the logloss"),
    (stopping(XGB, 5).set_params(booster="dart"), 0.1, {"correction": "offset"},
     "early stopping is not supported with booster='dart'"),
    (stopping(LGBM, 5).set_params(early_stopping_min_delta=0.01), 0.1, {"correction": "offset"},
     r"early_stopping_min_delta=0\.01, but early stopp"),
    (stopping(LGBM, True), 0.1, {"correction": "offset"},
     "early_stopping_round must be a number, found bool True", TypeError),
    (stopping(LGBM, "5"), 0.1, {"correction": "offset"},
     "early_stopping_round must be a number, found str '5'", TypeError),
    (stopping(LGBM, np.nan), 0.1, {"correction": "offset"},
     "early_stopping_round must be finite, found nan"),
    (stopping(LGBM, 2.5), 0.1, {"correction": "offset"},
     r"early_stopping_round must be a whole number >= 1, found 2\.5", TypeError),
    (stopping(XGB, 0), 0.1, {"correction": "offset"},
     "early_stopping_rounds must be a whole number >= 1, found 0"),
    (LGBM(boosting_type="rf", subsample=0.5, subsample_freq=1), 0.1, {"correction": "offset"},
     "boosting_type='rf', but LightGBM's random forests"),
    (LGBM(boost="random_forest"), 0.1, {"correction": "offset"},
     "boost='random_forest', but LightGBM's random forests"),
    (LGBM(boost_from_average=False), 0.1, {"correction": "offset"},
     "boost_from_average=False, but with correction='offset' boosting starts"),
)  # fmt: skip
def test_bad_parameters(data, estimator, rate, options) -> None:
    classifier = DownsampledClassifier(estimator, rate, **options)
    try:
        classifier.fit(data[0][:500], data[1][:500])
    finally:
        with pytest.raises(NotFittedError):
            classifier.predict_proba(data[0])


# half of the rows are positive
@pytest.mark.filterwarnings("ignore:negative_keep_rate drops rows of")
@refused(
    ({"y": np.zeros(300, int)}, "one class only, found \\[0\\]"),
    ({"y": np.arange(300) % 3}, "Only binary.*single negative_keep_rate"),
    ({"y": np.linspace(0, 1, 300)}, "Unknown label type"),
    ({"y": np.arange(5) % 2}, "inconsistent numbers of samples"),
    ({"y": None}, "requires y to be passed"),
    ({"X": None}, "X is None: pass the features"),
    ({"X": np.ones((0, 2)), "y": []}, "y is empty"),
    ({"X": np.zeros(300)}, "X must be two-dimensional"),
    ({"sample_weight": -np.ones(300)}, "sample_weight must not be negative"),
    ({"sample_weight": np.zeros(300)}, "sample_weight is zero in all rows"),
    ({"sample_weight": np.ones(3)}, "sample_weight has 3 rows"),
    ({"sample_weight": 1 - np.arange(300) % 2}, "class 1 have a total weight of 0"),
    ({"groups": np.arange(300)}, "groups is for early stopping"),
)
def test_bad_data(change) -> None:
    arguments = {"X": np.ones((300, 2)), "y": np.arange(300) % 2, **change}
    DownsampledClassifier(LogisticRegression(), 0.5, random_state=0).fit(**arguments)


def test_a_failed_refit_changes_nothing(data) -> None:
    X, y = data[0][:2000], data[1][:2000]
    classifier = DownsampledClassifier(LogisticRegression(), 0.5, random_state=0).fit(X, y)
    before = classifier.predict_proba(X)
    narrow, holes = X[:, :2], np.full((2000, 2), np.nan)
    for rows, label in ((narrow, np.zeros(2000)), (narrow, y[:5]), (holes, y)):
        with pytest.raises(ValueError, match="one class|inconsistent|NaN"):
            classifier.fit(rows, label)
        np.testing.assert_array_equal(classifier.predict_proba(X), before)


REWEIGHTING = {
    "scale_pos_weight": 10, "is_unbalance": True, "pos_bagging_fraction": 0.1,
    "neg_bagging_fraction": 0.1,
}  # fmt: skip


@each("correction", ["prior", "offset", "weight"])
@each(
    ("alias", "value"),
    [(alias, v) for name, v in REWEIGHTING.items() for alias in TABLE.names(name)],
)
def test_lightgbm_weighs_under_many_names(data, alias, value, correction) -> None:
    inner = LGBM(**{alias: value, "subsample_freq": 1})
    with pytest.raises(ValueError, match=f"estimator has {alias}={value}, which moves"):
        DownsampledClassifier(inner, RATE, correction=correction).fit(*data)
    if correction == "prior":
        with pytest.raises(ValueError, match=f"estimator has lgbmclassifier__{alias}={value}, wh"):
            DownsampledClassifier(make_pipeline(inner), RATE).fit(*data)


def test_class_weight_without_correction_is_of_the_classes(data) -> None:
    """It names the positions that the classifier gets, or is refused with them."""
    X, y = data[0][:900], data[1][:900]

    def fitted(weight, y):
        return sampled(LogisticRegression(class_weight=weight), correction=None).fit(X, y)

    for weight, words in (({2: 9}, y + 1), ({"b": 9}, np.array(["a", "b"])[y])):
        with pytest.raises(ValueError, match=r"names labels, .* write \{0: 1.0, 1: 9.0\}"):
            fitted(weight, words)
    found, expected = fitted({0: 1.0, 1: 9}, y + 1), fitted({1: 9}, y)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_weights_that_weigh_nothing_are_accepted(data) -> None:
    neutral = {"scale_pos_weight": 1.0, "unbalance": False, "neg_subsample": 1}
    estimators = LGBM(**neutral, class_weight=None), LGBM()
    p, expected = (sampled(one).fit(*data).predict_proba(data[0]) for one in estimators)
    np.testing.assert_array_equal(p, expected)


class Parametrised(LogisticRegression):
    """With a parameter more."""

    def __init__(self, sampling_strategy=None, class_weights=None, auto_class_weights=None) -> None:
        super().__init__()
        self.sampling_strategy = sampling_strategy
        self.class_weights, self.auto_class_weights = class_weights, auto_class_weights


@each(
    "parameter",
    [
        {"sampling_strategy": "auto"}, {"sampling_strategy": 1.0}, {"sampling_strategy": {0: 10}},
        {"class_weights": [1, 10]}, {"auto_class_weights": "Balanced"},  # CatBoost's
        {},
    ],
)  # fmt: skip
def test_what_resamples_or_weighs_by_itself_is_refused(data, parameter) -> None:
    X, y = data[0][:500], data[1][:500]
    for inner in (Parametrised(**parameter), make_pipeline(Parametrised(**parameter))):
        for name, value in parameter.items():
            with pytest.raises(ValueError, match=re.escape(f"{name}={value!r}, which moves")):
                DownsampledClassifier(inner, 0.5).fit(X, y)
        DownsampledClassifier(inner, 0.5, correction=None if parameter else "prior").fit(X, y)


def test_imbalanced_learn_is_refused(data) -> None:
    ensemble = pytest.importorskip("imblearn.ensemble")
    from imblearn.pipeline import make_pipeline as make_resampling
    from imblearn.under_sampling import RandomUnderSampler

    for estimator in (
        ensemble.BalancedRandomForestClassifier(5),
        ensemble.BalancedBaggingClassifier(n_estimators=5),
        ensemble.EasyEnsembleClassifier(5),
        make_resampling(RandomUnderSampler(), LogisticRegression()),
    ):
        with pytest.raises(ValueError, match="sampling_strategy='.*', which moves the log-odds"):
            DownsampledClassifier(estimator, RATE).fit(*data)


# --- objectives of boosters -----------------------------------------------------------------


def logloss(y, margin):
    p = expit(margin)
    return p - y, p * (1 - p)


MISSED_RATE = ratio_objective(lambda y, z: (y * expit(-z), 0), lambda y, z: (y, 0), link="logit")


@pytest.mark.filterwarnings("ignore:.* is not known to predict classes")  # and then it is refused
@each("correction", ["prior", "offset", "weight"])
@each(
    ("estimator", "message"),
    [
        (LGBM(objective=offset_logloss_objective(0.1)), "which already corrects for sampling"),
        (XGB(objective=weighted_logloss_objective(0.1)), "which already corrects for sampling"),
        (LGBM(app=offset_logloss_objective(0.1)), "app=.*which already corrects for sampling"),
        (XGB(objective="binary:hinge"), "objective='binary:hinge', whose predictions are not"),
        (XGB(objective="binary:logitraw"), "whose predictions are not log-odds"),
        (XGB(objective="reg:squarederror"), "whose predictions are not log-odds"),
        (LGBM(objective="regression"), "whose predictions are not log-odds"),
        (LGBM(loss="regression"), "loss='regression', whose predictions are not log-odds"),
        (LGBM(objective="multiclassova"), "whose predictions are not log-odds"),
        (LGBM(objective=logloss), "whose predictions are not log-odds"),
        (XGB(objective=MISSED_RATE), "whose predictions are not log-odds"),
    ],
)
def test_objectives_that_cannot_be_corrected(data, estimator, message, correction) -> None:
    for inner in (estimator, make_pipeline(estimator)):
        with pytest.raises(ValueError, match=message):
            DownsampledClassifier(inner, RATE, correction=correction).fit(*data)


def test_a_frozen_model_is_not_corrected_for_what_it_did_not_see(data) -> None:
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator  # from scikit-learn 1.6 on
    X, y = (column[:4000] for column in data)
    model = LogisticRegression().fit(X, y)
    for inner in (
        frozen(model), make_pipeline(StandardScaler(), frozen(model)),
        VotingClassifier([("a", LogisticRegression()), ("b", frozen(model))], voting="soft"),
        GridSearchCV(frozen(model), {}),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="holds a FrozenEstimator, .* pass the model in it"):
            DownsampledClassifier(inner, RATE).fit(X, y)
    for right in (
        DownsampledClassifier(frozen(model).estimator, RATE, random_state=0),  # the remedy
        DownsampledClassifier(frozen(model), RATE, correction=None, random_state=0),
        DownsampledClassifier(CalibratedClassifierCV(frozen(model)), RATE, random_state=0),
        CalibratedClassifier(frozen(model)),
    ):
        p = right.fit(X, y).predict_proba(X)[:, 1]
        assert p.mean() == pytest.approx(y.mean(), rel=0.2)  # 4,000 rows of which few are drawn


@pytest.mark.parametrize(
    "estimator",
    [
        LGBMClassifier(
            objective=weighted_logloss_objective(1.0), n_estimators=30, num_leaves=8, verbose=-1
        ),
        LGBM(objective="cross_entropy"),
        pytest.param(
            LGBM(objective="multiclass", num_class=2),
            marks=pytest.mark.skipif(
                lgb.__version__.startswith(("4.2", "4.3", "4.4")),
                reason="its predict_proba has the shape (2, 2n) there",
            ),
        ),
        XGB(objective="reg:logistic"),
        XGB(objective=logloss),
        XGB(objective="multi:softprob", num_class=2),
        XGB(objective="multi:softmax", num_class=2),
    ],
)
def test_other_objectives_with_log_odds(data, new, estimator) -> None:
    p = sampled(estimator).fit(*data).predict_proba(new[0])
    assert p[:, 1].mean() == pytest.approx(new[1].mean(), rel=0.2)  # as in test_on_new_rows


def test_lightgbms_own_classifier_on_our_objective_is_refused(data) -> None:
    """It would give raw scores for probabilities; ours does not."""
    plain = LGBM(objective=weighted_logloss_objective(1.0))
    with pytest.raises(TypeError, match="import LGBMClassifier from gbdt_objectives.adapters"):
        sampled(plain).fit(*data)


@pytest.mark.filterwarnings("ignore:Cannot compute class probabilities:UserWarning")
@pytest.mark.parametrize("n_bags", [1, 2])
@refused(
    (LGBM(objective=logloss), "LGBMClassifier with objective=<fun.*shape \\(5,\\)"),
    (XGB(objective="binary:logitraw"), "objective='binary:logitraw' must be in \\[0, 1\\]"),
)
def test_predictions_that_are_no_probabilities(data, n_bags, estimator) -> None:
    classifier = DownsampledClassifier(estimator, RATE, correction=None, n_bags=n_bags)
    classifier.fit(*data)
    classifier.predict_proba(data[0][:5])


@pytest.mark.filterwarnings("ignore:boosting starts at")  # base_score is the user's
def test_xgboost_cannot_start_at_the_rarest_events(data) -> None:
    heavy = np.where(data[1] == 0, 1e6, 1.0)
    with pytest.raises(ValueError, match="cannot start at -17.*log-odds.*\\+-13.82. Use LGBM"):
        sampled(XGB(), correction="offset").fit(*data, heavy)
    for other in (XGB(base_score=1e-6), LGBM()):  # whoever says where to start needs not ours
        sampled(other, correction="offset").fit(*data, heavy)


def test_what_the_estimator_does_not_offer_is_refused(data) -> None:
    with pytest.raises(ValueError, match="Only binary.*correction='offset'"):
        DownsampledClassifier(LGBM(), {0: 0.5}, correction="offset").fit(*made_of_three(500))
    with pytest.raises(ValueError, match="KNeighborsClassifier does not accept it"):
        DownsampledClassifier(KNeighborsClassifier(), 0.5).fit(*data, np.ones(len(data[1])))
