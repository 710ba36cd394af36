"""CalibratedClassifier: cross-fitting written out, prefit, boosters, scikit-learn's own."""

from __future__ import annotations

import pickle
import warnings
from functools import partial
from typing import ClassVar

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy.sparse import csc_matrix, csr_matrix
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    check_cv,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from gbdt_objectives import (
    CalibratedClassifier,
    DownsampledClassifier,
    negative_downsample,
    offset_logloss_objective,
    weighted_logloss_objective,
)
from gbdt_objectives.adapters import lightgbm as lightgbm_adapter
from gbdt_objectives.calibration import (
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
    SplineCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
    choose_calibrator,
    normalized_entropy,
)
from gbdt_objectives.estimators import _base
from tests.cases import each, refused
from tests.estimators.checks import COPIES, TAGS, check_all, check_some

pytestmark = pytest.mark.slow


def made(n, seed=0):
    """About 12 % positives."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    margin = 1.3 * X[:, 0] + np.sin(2 * X[:, 1]) - 2.7
    return X, (rng.random(n) < expit(margin)).astype(int)


XGB = partial(xgb.XGBClassifier, n_estimators=100, max_depth=6, max_bin=32, n_jobs=1)
LGBM = partial(
    lgb.LGBMClassifier, n_estimators=100, num_leaves=63, max_bin=31, n_jobs=1, verbose=-1
)
BOOSTERS = pytest.mark.parametrize("booster", [XGB, LGBM], ids=["xgb", "lgb"])


ONE_COLUMN = [ROCConvexHullCalibrator(m=2), InterceptCalibrator(), LogitCalibrator()]
COLUMNS = [TemperatureCalibrator(), TemperatureCalibrator(bias=True)]


def made_of_three(n, seed=0):
    """About 80, 14 and 6 %, and what boosters learn too well."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    p = softmax(np.column_stack([2.5 + 0 * X[:, 0], X[:, 0], 1.5 * X[:, 1] - 1]), axis=1)
    return X, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1)


@pytest.fixture(scope="module")
def data():
    return made(3000)


@pytest.fixture(scope="module")
def new():
    return made(5000, seed=1)


@each("weighted", [False, True])
@each(
    ("calibrator", "cv", "from_row"),
    [
        *((calibrator, 4, 0) for calibrator in ONE_COLUMN + COLUMNS),
        *((calibrator, TimeSeriesSplit(5), 500) for calibrator in [LogitCalibrator(), *COLUMNS]),
        (LogitCalibrator(), TimeSeriesSplit(3, gap=50, test_size=400), 1800),
        (LogitCalibrator(), [(np.arange(2000), np.arange(2500, 3000))], 2500),
        (LogitCalibrator(), PredefinedSplit(np.repeat([-1, 0, 1], 1000)), 1000),
    ],
)
def test_is_the_cross_fitting_written_out(data, new, weighted, calibrator, cv, from_row) -> None:
    """Rows that are never held out train only."""
    several = isinstance(calibrator, TemperatureCalibrator)
    X, y = made_of_three(3000) if several else data
    labels = np.array(["high", "low", "middle"] if several else ["no", "yes"])
    w = np.random.default_rng(0).uniform(0, 3, len(y)) if weighted else None
    p = np.full((len(y), len(labels)), np.nan)
    splitter = StratifiedKFold(4, shuffle=True, random_state=0) if cv == 4 else check_cv(cv)
    for train, test in splitter.split(X, y):
        model = GaussianNB().fit(X[train], y[train], None if w is None else w[train])
        p[test] = model.predict_proba(X[test])
    column = slice(None) if several else 1
    held = np.arange(len(y)) >= from_row
    rows = p[held][:, column], y[held], None if w is None else w[held]
    expected = clone(calibrator).fit(*rows)
    raw = GaussianNB().fit(X, y, w).predict_proba(new[0])  # on all rows

    classifier = CalibratedClassifier(GaussianNB(), calibrator, cv=cv, ensemble=False)
    classifier.fit(X, labels[y], w)
    np.testing.assert_array_equal(classifier.oof_probability_, p[:, column])
    np.testing.assert_array_equal(np.isnan(p[:, 1]), ~held)
    assert classifier.calibrator_.to_json() == expected.to_json()
    found = classifier.predict_proba(new[0])
    np.testing.assert_array_equal(found[:, column], expected.predict(raw[:, column]))
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_array_equal(classifier.predict(new[0]), labels[found.argmax(axis=1)])


def test_isotonic_is_that_of_scikit_learn(data, new) -> None:
    """CalibratedClassifierCV(ensemble=False) is the same cross-fitting."""
    X, y = data
    drawn = StratifiedKFold(5, shuffle=True, random_state=0)
    theirs = CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=drawn, ensemble=False)
    expected = theirs.fit(X, y).predict_proba(new[0])[:, 1]
    for calibrator in (ROCConvexHullCalibrator(), IsotonicRegression(out_of_bounds="clip")):
        ours = CalibratedClassifier(GaussianNB(), calibrator, ensemble=False).fit(X, y)
        found = ours.predict_proba(new[0])[:, 1]
        np.testing.assert_allclose(found, expected, atol=1e-12)  # round-off


class Over(LogitCalibrator):
    def __init__(self, excess=0.0):
        super().__init__()
        self.excess = excess

    def predict(self, score):
        return np.full(len(score), 1 + self.excess)


class Columns(LogitCalibrator):
    def predict(self, score):
        return np.column_stack([1 - score, score])


@each("last", [np.nan, None])
def test_a_missing_label_is_named_with_its_row(last) -> None:
    y = np.array([0, 1] * 20 + [last])
    X = np.arange(41.0)[:, None]
    for make in (CalibratedClassifier, partial(DownsampledClassifier, negative_keep_rate=0.5)):
        with pytest.raises(ValueError, match=f"y contains NaN: found {last} at row 40, leave such"):
            make(LogisticRegression()).fit(X, y)


def test_what_is_no_probability_is_refused(data, new) -> None:
    def predicted(calibrator, X_new=new[0]):
        model = CalibratedClassifier(LogisticRegression(), calibrator, cv=2).fit(*data)
        return model.predict_proba(X_new)

    assert predicted(Over(1e-12)).max() == 1  # round-off
    with pytest.raises(ValueError, match="Over must predict .*found 1.000001 at row 0"):
        predicted(Over(1e-6))
    with pytest.raises(ValueError, match="Columns must predict .*found shape \\(5000, 2\\)"):
        predicted(Columns())
    with pytest.raises(ValueError, match='found nan at row 0: .* needs out_of_bounds="clip"'):
        predicted(IsotonicRegression(), np.array([[99.0, 0, 0, 0]]))


def test_margins_where_probabilities_round_to_1() -> None:
    """Both labels at margins past 17, where a float32 probability is exactly 1."""
    X = np.repeat([[0.0], [1.0]], 500, axis=0)
    sure = {"n_estimators": 1, "learning_rate": 9.0, "reg_lambda": 0, "min_child_weight": 0}
    model = XGB(**sure).fit(X, X[:, 0].astype(int))
    assert model.predict(X, output_margin=True)[-1] > 17
    assert model.predict_proba(X)[-1, 1] == 1
    y = np.where(np.arange(1000) % 10, X[:, 0], 1 - X[:, 0]).astype(int)
    calibrated = CalibratedClassifier(model, LogitCalibrator(), cv="prefit").fit(X, y)
    # a tenth of the labels are the other one
    assert calibrated.predict_proba(X)[[0, -1], 1] == pytest.approx([0.1, 0.9], abs=1e-6)


def test_saturated_estimators_are_told_what_can_be_done(data) -> None:
    certain = GaussianNB(var_smoothing=1e-12)
    X = np.column_stack([1e3 * data[0][:, :1]] * 1000)
    with pytest.raises(ValueError, match="certain and wrong; use ROCConvexHullCalibrator"):
        CalibratedClassifier(certain, LogitCalibrator(), cv=2).fit(X, data[1])
    CalibratedClassifier(certain, ROCConvexHullCalibrator(m=2), cv=2).fit(X, data[1])


@BOOSTERS
def test_overfitted_boosters_get_better(data, new, booster) -> None:
    quick = booster(n_estimators=40, learning_rate=0.6)
    calibrators = LogitCalibrator(), ROCConvexHullCalibrator(m=2), None
    fitted = [CalibratedClassifier(quick, one, cv=3).fit(*data) for one in calibrators]
    raw = normalized_entropy(new[1], quick.fit(*data).predict_proba(new[0])[:, 1])
    found = [normalized_entropy(new[1], one.predict_proba(new[0])[:, 1]) for one in fitted]
    assert max(found) < raw - 0.1
    assert 0 < fitted[0].calibrator_.slope_ < 0.8  # it was too sure of itself
    # 600 positives: a paired difference of two good calibrators has an error of .004
    assert found[2] < found[0] + 0.012


@each(
    ("estimator", "names"),
    [
        (LogisticRegression(class_weight={"yes": 9}), True),
        (XGB(scale_pos_weight=9, n_estimators=30), False),
        (LGBM(class_weight={"yes": 9}, n_estimators=30), True),
    ],
)  # fmt: skip
def test_weights_of_classes_are_made_up_for(data, new, estimator, names) -> None:
    """They name the labels, which the estimator gets, and the calibrator takes them back."""
    X, y = data
    y = np.array(["no", "yes"])[y] if names else y
    p = CalibratedClassifier(estimator, LogitCalibrator()).fit(X, y).predict_proba(new[0])[:, 1]
    assert abs(p.mean() - new[1].mean()) < 0.02
    assert clone(estimator).fit(X, y).predict_proba(new[0])[:, 1].mean() > new[1].mean() + 0.03


@BOOSTERS
def test_around_downsampling(booster) -> None:
    X, y = made(20_000, seed=2)
    labels = np.array(["no", "yes"])[y]
    downsampled = DownsampledClassifier(booster(n_estimators=20), {"no": 0.2}, random_state=0)
    classifier = CalibratedClassifier(downsampled, LogitCalibrator(), cv=3).fit(X, labels)
    assert classifier.classes_.tolist() == ["no", "yes"]
    p = classifier.predict_proba(made(20_000, seed=3)[0])[:, 1]
    assert p.mean() == pytest.approx(y.mean(), rel=0.05)  # 2400 positives: 2 %
    assert set(classifier.predict(X)) == {"no", "yes"}


@pytest.mark.filterwarnings("ignore:.* is 0 or 1 in every row")  # one neighbour is certain
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_groups_stay_together(data) -> None:
    """A copy of each row tells its nearest neighbour the label, unless it is held out too."""
    X, y = np.repeat(data[0][::3], 3, axis=0), np.repeat(data[1][::3], 3)
    group = np.arange(len(y)) // 3
    classifier = CalibratedClassifier(KNeighborsClassifier(1), ROCConvexHullCalibrator(), cv=3)
    for cv in (3, GroupKFold(3)):
        unseen = classifier.set_params(cv=cv).fit(X, y, groups=group).oof_probability_
        assert (unseen == y).mean() < 0.9
    classifier.set_params(cv=KFold(3, shuffle=True, random_state=0))
    assert (classifier.fit(X, y).oof_probability_ == y).mean() > 0.95
    with pytest.raises(ValueError, match="puts group number .* on both sides"):
        classifier.fit(X, y, groups=group)


def test_clone_pickle_search(data) -> None:
    X, y = data
    classifier = CalibratedClassifier(XGB(), LogitCalibrator(), cv=2)
    assert str(clone(classifier)) == str(classifier)
    grid = {
        "estimator__n_estimators": [1, 10],
        "calibrator": [LogitCalibrator(), ROCConvexHullCalibrator(m=2)],
    }
    search = GridSearchCV(classifier, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    loaded = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(loaded.predict_proba(X), search.predict_proba(X))
    assert [model.n_estimators for model in loaded.estimators_] == [10, 10]


# --- the average of the folds' models ---------------------------------------------------------


@each(
    ("booster", "calibrator", "of_three", "weighted"),
    [
        (XGB, LogitCalibrator(), False, False), (LGBM, LogitCalibrator(), False, True),
        (XGB, TemperatureCalibrator(bias=True), False, True),
        (LGBM, TemperatureCalibrator(), True, True),
    ],
)  # fmt: skip
def test_the_average_written_out(
    data, new, booster, calibrator, of_three, weighted, monkeypatch
) -> None:
    """It is of log-odds, and as far spread as the out-of-fold ones that the calibrator knows."""
    monkeypatch.setattr(_base, "STRETCH_ROWS", 3000)  # all
    X, y = made_of_three(3000) if of_three else data
    X_new = made_of_three(5000, seed=1)[0] if of_three else new[0]
    w = np.random.default_rng(0).uniform(0, 3, len(y)) if weighted else None
    model = booster(n_estimators=30)
    found = CalibratedClassifier(model, calibrator).fit(X, y, w)

    p, logs, of_each = np.empty((len(y), len(found.classes_))), [], []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        own = clone(model).fit(X[train], y[train], sample_weight=None if w is None else w[train])
        p[test] = own.predict_proba(X[test])
        logs.append(np.log(own.predict_proba(X_new).astype(float)))
        of_each.append(np.log(own.predict_proba(X).astype(float)))
    o, each = (x - x.mean(axis=-1, keepdims=True) for x in (np.log(p), np.array(of_each)))
    o -= np.average(o, axis=0, weights=w)
    v = np.ones(len(y)) if w is None else w
    variance, covariance = ((o * x).sum(axis=-1) @ v for x in (o, each))  # of each model
    assert found.stretch_ == pytest.approx(np.sqrt(variance / covariance.mean()), rel=1e-4)
    odds, new_odds = (x[..., 1:] - x[..., :1] for x in (np.log(p), np.mean(logs, axis=0)))
    center = np.average(odds, axis=0, weights=w)
    z = center + found.stretch_ * (new_odds - center)
    several = isinstance(calibrator, TemperatureCalibrator)
    averaged = softmax(np.append(np.zeros((len(z), 1)), z, axis=1), axis=1)
    column = slice(None) if several else 1
    expected = clone(calibrator).fit(p[:, column], y, w).predict(averaged[:, column])
    # XGBoost's probabilities are float32, while its margins are used where they can be
    np.testing.assert_allclose(found.predict_proba(X_new)[:, column], expected, rtol=2e-5)
    assert not hasattr(found, "estimator_")

    spread = np.sqrt(np.average((odds - center) ** 2, axis=0, weights=w).sum())
    # variances of 3000 and of 5000 rows: each root has an error of 1 to 2 %
    assert np.sqrt(z.var(axis=0).sum()) == pytest.approx(spread, rel=0.05)
    assert np.sqrt(new_odds.var(axis=0).sum()) < 0.97 * spread  # the fault


@BOOSTERS
def test_the_average_ranks_better_than_one_model(data, new, booster) -> None:
    one, several = (
        CalibratedClassifier(booster(n_estimators=60, max_bin=255), ensemble=ensemble)
        .fit(*data)
        .predict_proba(new[0])[:, 1]
        for ensemble in (False, "auto")
    )
    assert average_precision_score(new[1], several) > average_precision_score(new[1], one) + 0.01
    assert log_loss(new[1], several) < log_loss(new[1], one) - 0.002
    assert several.mean() == pytest.approx(new[1].mean(), rel=0.1)  # 600 positives: 4 %


def test_what_is_averaged(data) -> None:
    X, y = data
    forest = RandomForestClassifier(5, random_state=0)  # certain of some rows
    for model, cv, models in [
        (GaussianNB(), 3, 3), (GaussianNB(), TimeSeriesSplit(3), 0), (forest, 3, 0),
    ]:  # fmt: skip
        fitted = CalibratedClassifier(model, cv=cv).fit(X, y)
        assert len(getattr(fitted, "estimators_", [])) == models
        assert hasattr(fitted, "estimator_") != bool(models)
    by_time = CalibratedClassifier(GaussianNB(), cv=TimeSeriesSplit(3), ensemble=True).fit(X, y)
    assert len(by_time.estimators_) == 3
    again = by_time.set_params(ensemble=False).fit(X, y)
    assert {"stretch_", "center_", "estimators_"}.isdisjoint(vars(again))


def test_certain_models_are_averaged_once_they_are_fitted() -> None:
    """Rows beyond those of fit can have probabilities that round to 0 and 1."""
    X = np.repeat([[-1.0], [1.0]], 500, axis=0)
    y = np.where(np.arange(1000) % 10, X[:, 0] > 0, X[:, 0] < 0).astype(int)
    fitted = CalibratedClassifier(LogisticRegression(), LogitCalibrator()).fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba([[-1e6], [1e6]])[:, 1], [0, 1], atol=1e-12)


# --- several classes --------------------------------------------------------------------------


@BOOSTERS
def test_overfitted_boosters_of_several_classes_get_better(booster) -> None:
    X, y = made_of_three(3000)
    X_new, y_new = made_of_three(5000, seed=1)
    past, later = (X[:2000], y[:2000]), (X[2000:], y[2000:])
    quick = booster(n_estimators=40, learning_rate=0.6)
    calibrated = CalibratedClassifier(quick, TemperatureCalibrator(), cv=2).fit(X, y)
    raw = log_loss(y_new, clone(quick).fit(X, y).predict_proba(X_new))
    # a paired difference over 5000 rows has a standard error of .005
    assert log_loss(y_new, calibrated.predict_proba(X_new)) < raw - 0.05
    assert calibrated.calibrator_.temperature_ > 1.5
    calibrated.set_params(cv=5).fit(*past, eval_set=[later])
    assert calibrated.oof_probability_.shape == (1000, 3)
    assert log_loss(y_new, calibrated.predict_proba(X_new)) < raw - 0.05
    prefit = CalibratedClassifier(calibrated.estimator_, TemperatureCalibrator(), cv="prefit")
    assert prefit.fit(*later).calibrator_.to_json() == calibrated.calibrator_.to_json()


def test_columns_of_two_classes(data, new) -> None:
    """A temperature with biases is a LogitCalibrator."""
    columns, one = (
        CalibratedClassifier(GaussianNB(), calibrator).fit(*data)
        for calibrator in (TemperatureCalibrator(bias=True), LogitCalibrator())
    )
    assert columns.oof_probability_.shape == (3000, 2)
    found = [classifier.predict_proba(new[0]) for classifier in (columns, one)]
    np.testing.assert_allclose(*found, atol=1e-6)  # where each stops its iterations


class Factor(BaseEstimator):
    """Somebody's calibrator of columns."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, probability, y, sample_weight=None):
        assert probability.shape == (3000, 3)
        assert set(y) == {0, 1, 2}
        self.fitted_ = True
        return self

    def predict(self, probability):
        return self.factor * probability[:, : int(3 / self.factor)]


GONE = np.r_[np.full(1000, 1), np.arange(2000) % 3]


@refused(
    (LogitCalibrator(), {}, r"by LogitCal.*, found .*use TemperatureCalibrator\(\)"),
    (VennAbersCalibrator(), {}, r"by VennAbers.*, found .*use TemperatureCalibrator\(\)"),
    (IsotonicRegression(), {}, r"by Isotonic.*, found .*use TemperatureCalibrator\(\)"),
    (None, {}, "by the default, SplineCal.*found the classes .*use Temperature"),
    ("auto", {}, "by 'auto', found the classes .*use TemperatureCalibrator"),
    (TemperatureCalibrator(labels=[0, 1, 2]), {}, "calibrator has labels=.*leave labels out"),
    (Factor(0.9), {}, "rows of what Factor predicts must sum to 1, found 0.9"),
    (Factor(1.5), {}, r"Factor must predict probabilities \(n, 3\), found shape .*2\)"),
    (TemperatureCalibrator(), {"cv": TimeSeriesSplit(3), "y": GONE},
     "training rows have none of class 0"),
)  # fmt: skip
def test_what_several_classes_need(calibrator, given) -> None:
    X, y = made_of_three(3000)
    cv = given.get("cv", 5)
    model = CalibratedClassifier(GaussianNB(), calibrator, cv=cv).fit(X, given.get("y", y))
    model.predict_proba(X)


def test_somebodys_calibrator_of_columns() -> None:
    X, y = made_of_three(3000)
    own = CalibratedClassifier(GaussianNB(), Factor(), ensemble=False).fit(X, y)
    np.testing.assert_allclose(own.predict_proba(X), own.estimator_.predict_proba(X), rtol=1e-15)


# --- by time ----------------------------------------------------------------------------------


@each("calibrator", ONE_COLUMN, ids=str)
@each("weighted", [False, True])
def test_validation_rows_are_for_the_calibrator_alone(data, new, calibrator, weighted) -> None:
    X, y = data
    X_val, y_val = made(1500, seed=2)
    rng = np.random.default_rng(0)
    w, w_val = (rng.uniform(0, 3, n) if weighted else None for n in (3000, 1500))
    model = GaussianNB().fit(X, y, w)
    p = model.predict_proba(X_val)[:, 1]
    expected = clone(calibrator).fit(p, y_val, w_val)
    raw = model.predict_proba(new[0])[:, 1]
    forms = ([(X_val, y_val)], [w_val]), ((X_val, y_val), w_val), ([[X_val, y_val]], (w_val,))
    for pair, weight in forms:
        given = {"eval_sample_weight": weight} if weighted else {}
        classifier = CalibratedClassifier(GaussianNB(), calibrator)
        classifier.fit(X, y, w, eval_set=pair, **given)
        np.testing.assert_array_equal(classifier.oof_probability_, p)
        assert classifier.calibrator_.to_json() == expected.to_json()
        found = classifier.predict_proba(new[0])[:, 1]
        np.testing.assert_array_equal(found, expected.predict(raw))
    before = pickle.dumps(model)
    prefit = CalibratedClassifier(model, calibrator, cv="prefit").fit(X_val, y_val, w_val)
    assert prefit.calibrator_.to_json() == expected.to_json()
    assert prefit.estimator_ is model
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(prefit.predict_proba(new[0])[:, 1], expected.predict(raw))


class Clock:
    """Mixin that notes the times, in the first column, that each model learns from."""

    log: ClassVar[list] = []

    def fit(self, X, y, *, eval_set=(), **options):
        stop = [np.asarray(X_val)[:, 0] for X_val, _ in eval_set]
        self.log.append((np.asarray(X)[:, 0], *stop))
        return super().fit(X, y, **({"eval_set": eval_set} if eval_set else {}), **options)


class ClockXGB(Clock, xgb.XGBClassifier): ...


class ClockLGBM(Clock, lgb.LGBMClassifier): ...


DEPRECATED = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")


@DEPRECATED
@pytest.mark.parametrize("kind", [ClockXGB, ClockLGBM])
def test_by_time_from_end_to_end(kind) -> None:
    """A base rate that drifts, sampling, early stopping and calibration, each by time."""
    rng = np.random.default_rng(0)
    n = 30_000
    time = np.arange(n) / n
    X = np.column_stack([time, rng.normal(size=(n, 3))])
    z = 1.3 * X[:, 1] + np.sin(2 * X[:, 2]) - 4 + 1.5 * time
    y = (rng.random(n) < expit(z)).astype(int)
    past, recent, future = slice(0, 20_000), slice(20_000, 25_000), slice(25_000, n)

    quiet = {"verbose": -1} if kind is ClockLGBM else {"verbosity": 0}
    booster = kind(n_estimators=300, early_stopping_rounds=10, n_jobs=1, **quiet)
    options = {"correction": "offset", "cv": TimeSeriesSplit(5), "n_bags": 1, "random_state": 0}
    sampled, splits = DownsampledClassifier(booster, 0.2, **options), TimeSeriesSplit(4)
    classifier = CalibratedClassifier(sampled, InterceptCalibrator(), cv=splits)
    Clock.log.clear()
    classifier.fit(X[:25_000], y[:25_000])
    held_out = [time[test] for _, test in splits.split(X[:25_000])]
    for (trained, stopped), held in zip(Clock.log, [*held_out, time[future]], strict=True):
        assert trained.max() < stopped.min() <= stopped.max() < held.min()
    trained, stopped = Clock.log[-1]  # the final one on all rows
    assert stopped.max() == time[24_999]
    assert len(stopped) == 25_000 // 6  # the full population
    assert len(trained) < 0.4 * (25_000 - len(stopped))  # a sample
    model = classifier.estimator_.estimators_[0]
    best = model.best_iteration_ if kind is ClockLGBM else model.get_booster().num_boosted_rounds()
    assert best < 300

    Clock.log.clear()
    explicit = CalibratedClassifier(sampled, InterceptCalibrator())
    explicit.fit(X[past], y[past], eval_set=[(X[recent], y[recent])])
    ((trained, stopped),) = Clock.log
    assert trained.max() < stopped.min() <= stopped.max() < time[recent].min()
    q = explicit.predict_proba(X[recent])[:, 1]
    assert q.mean() == pytest.approx(y[recent].mean(), rel=1e-6)
    # calibrating on the rows before the future makes up for most of the drift
    means = (one.predict_proba(X[future])[:, 1].mean() for one in (explicit, explicit.estimator_))
    drift, of_estimator = (abs(np.log(mean / y[future].mean())) for mean in means)
    assert drift < 0.5 * of_estimator


@DEPRECATED
@each(
    "estimator",
    [
        LGBM(n_estimators=5),
        DownsampledClassifier(LGBM(early_stopping_rounds=5), {"no": 0.5}, correction="offset",
                              cv=TimeSeriesSplit(3)),
    ],
    ids=["plain", "downsampled"],
)  # fmt: skip
def test_frames_with_categories_and_missing_values(data, estimator) -> None:
    """In folds, or by time."""
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcd")).assign(k=pd.Categorical(list("xyz") * 1000))
    frame.loc[::7, "a"] = np.nan
    labels, other = pd.Series(np.array(["no", "yes"])[y]), frame.rename(columns={"a": "z"})
    classifier = CalibratedClassifier(estimator, LogitCalibrator())
    by_time = frame[:2000], labels[:2000], {"eval_set": [(frame[2000:], labels[2000:])]}
    for rows, target, given in ((frame, labels, {}), by_time):
        classifier.fit(rows, target, **given)
        assert classifier.feature_names_in_.tolist() == [*"abcd", "k"]
        assert classifier.classes_.tolist() == ["no", "yes"]
        assert len(classifier.oof_probability_) == (1000 if given else 3000)
        assert classifier.predict_proba(frame).shape == (3000, 2)
        with pytest.raises(ValueError, match="feature names"):
            classifier.predict_proba(other)
    with pytest.raises(ValueError, match="eval_set: The feature names should match"):
        classifier.fit(*by_time[:2], eval_set=[(other[2000:], labels[2000:])])
    sparse = csr_matrix(X)
    classifier.fit(sparse[:2000], labels[:2000], eval_set=[(sparse[2000:], labels[2000:])])


@DEPRECATED
@BOOSTERS
def test_early_stopping_needs_rows_of_its_own(data, booster) -> None:
    X, y = data
    stops = booster(early_stopping_rounds=5)
    for arguments in ({}, {"eval_set": [made(1000, seed=2)]}):
        with pytest.raises(ValueError, match=r"correction='offset', n_bags=1\) holds out others"):
            CalibratedClassifier(stops, LogitCalibrator()).fit(X, y, **arguments)
    remedy = DownsampledClassifier(stops, 1, correction="offset", n_bags=1, random_state=0)
    CalibratedClassifier(remedy, LogitCalibrator(), cv=2).fit(X, y)
    fitted = clone(stops).fit(X, y, eval_set=[made(1000, seed=2)])
    CalibratedClassifier(fitted, LogitCalibrator(), cv="prefit").fit(*made(1000, seed=3))


X_VAL, Y_VAL = made(600, seed=2)
PAIR = [(X_VAL, Y_VAL)]


@pytest.mark.parametrize(
    ("arguments", "cv", "error", "message"),
    [
        ({"sample_weight_eval_set": [Y_VAL]}, 5, TypeError, "write eval_sample_weight="),
        ({"eval_X": X_VAL, "eval_y": Y_VAL}, 5, TypeError, r"write eval_set=\[\(X_val, y_val\)\]"),
        ({"X_val": X_VAL, "y_val": Y_VAL}, 5, TypeError, r"write eval_set=\[\(X_val, y_val\)\]"),
        ({"validation_fraction": 0.2}, 5, TypeError, "nearest arguments are .*eval_set="),
        ({"callbacks": []}, 5, TypeError, "callbacks.*a parameter belongs to the estimator"),
        ({"eval_sample_weight": [Y_VAL]}, 5, ValueError, "given without eval_set"),
        ({"eval_set": PAIR}, 3, ValueError, "cv = 3 asks for some: leave one of the two out"),
        ({"eval_set": PAIR}, TimeSeriesSplit(5), ValueError, "leave one of the two out"),
        ({"eval_set": PAIR}, "prefit", ValueError, "cv='prefit' trains nothing"),
        ({"groups": [0]}, "prefit", ValueError, "groups are for folds, but cv='prefit' has none"),
        ({"eval_set": PAIR, "groups": [0]}, 5, ValueError, "eval_set has none: leave them out"),
        ({"eval_set": PAIR * 2}, 5, ValueError, "must be one pair, .* found list of 2"),
        ({"eval_set": [X_VAL, Y_VAL]}, 5, ValueError, "must be one pair, .* found list of 2"),
        ({"eval_set": []}, 5, ValueError, "must be one pair, .* found list of 0"),
        ({"eval_set": X_VAL}, 5, ValueError, "must be one pair, .* found ndarray"),
        ({"eval_set": 0.2}, 5, ValueError, "must be one pair, .* found float"),
        ({"eval_set": (PAIR[0], PAIR[0])}, 5, ValueError, "must be one pair, .* found tuple of 2"),
        ({"eval_set": [(X_VAL, Y_VAL, Y_VAL)]}, 5, ValueError, "weights are eval_sample_weight="),
        ({"eval_set": [(X_VAL, Y_VAL[:5])]}, 5, ValueError, r"eval_set\[0\]\[1\] has 5 rows"),
        ({"eval_set": [(X_VAL, None)]}, 5, ValueError, "eval_set: .*the target y is None"),
        ({"eval_set": [(X_VAL[:, :3], Y_VAL)]}, 5, ValueError, "eval_set: X has 3 features, but"),
        ({"eval_set": [(X_VAL, 2 * Y_VAL)]}, 5, ValueError, "label 2 at row .* not occur in y"),
        ({"eval_set": [(X_VAL, Y_VAL.astype(str))]}, 5, TypeError, "eval_set: .*both the same"),
        ({"eval_set": [(X_VAL, 0 * Y_VAL)]}, 5, ValueError, "eval_set holds out rows of one"),
        ({"eval_set": PAIR, "eval_sample_weight": [1 - Y_VAL]}, 5, ValueError, "of one class only"),
        ({"eval_set": PAIR, "eval_sample_weight": [0 * Y_VAL]}, 5, ValueError,
         "eval_sample_weight.* is 0 in all"),
        ({"eval_set": PAIR, "eval_sample_weight": [Y_VAL, Y_VAL]}, 5, ValueError,
         "eval_sample_weight must be one-dimensional"),
        ({"eval_set": PAIR, "eval_sample_weight": Y_VAL[:9]}, 5, ValueError,
         "eval_sample_weight has 9 rows"),
    ],
)  # fmt: skip
def test_bad_validation_rows(data, arguments, cv, error, message) -> None:
    estimator = GaussianNB().fit(*data) if cv == "prefit" else GaussianNB()
    classifier = CalibratedClassifier(estimator, LogitCalibrator(), cv=cv)
    with pytest.raises(error, match=message):
        classifier.fit(*data, **arguments)
    assert not hasattr(classifier, "calibrator_")


@refused(
    ({"cv": "prefit"}, {}, "ensemble=True averages .* but cv='prefit' has none: leave it out"),
    ({}, {"eval_set": PAIR}, "ensemble=True averages .* but eval_set has none: leave it out"),
)
def test_one_model_is_no_ensemble(data, parameters, arguments) -> None:
    estimator = GaussianNB().fit(*data)
    CalibratedClassifier(estimator, ensemble=True, **parameters).fit(*data, **arguments)


AT, LATE = np.arange(3000), np.repeat([0, 1, 0], 1000)


def test_a_single_random_split(data) -> None:
    split = ShuffleSplit(1, test_size=600, random_state=0)
    classifier = CalibratedClassifier(GaussianNB(), LogitCalibrator(), cv=split).fit(*data)
    assert np.isnan(classifier.oof_probability_).sum() == 2400


@refused(
    (TimeSeriesSplit(5), LATE, "training rows have none of class 1: .* first ones out"),
    ([(AT[:2000], AT[2000:])], LATE, r"cv holds out rows of one class only, found \[0\]"),
    ([], None, "cv gives 0 splits: was it an iterator"),
    ([(AT[:0], AT)], None, "leaves no row to train on"),
    ([([], AT)], None, "leaves no row to train on"),
    ([(AT, [])], None, "holds out no row"),
    ((AT[:2000], AT[2000:]), None, r"a single one as \[\(train, held_out\)\], found n"),
    ([(AT < 2000, AT >= 2000)], None, "as masks: give row numbers"),
    ([(AT[:2000] / 1, AT[2000:])], None, "cv must give row numbers"),
    (TimeSeriesSplit, None, r"cv is the class TimeSeriesSplit: .*TimeSeriesSplit\(", TypeError),
    (KFold(2), np.repeat([0, 1], 1500), "training rows have none of class 0"),
    (ShuffleSplit(5), None, "no row out more than once, .*such as ShuffleSplit\\(1"),
    (RepeatedKFold(), None, "no row out more than once"),
)
def test_bad_splits(data, cv, y) -> None:
    classifier = CalibratedClassifier(GaussianNB(), LogitCalibrator(), cv=cv)
    classifier.fit(data[0], data[1] if y is None else y)


def test_groups_by_time(data) -> None:
    X, y = data
    classifier = CalibratedClassifier(GaussianNB(), LogitCalibrator(), cv=TimeSeriesSplit(5))
    days = np.arange(3000) // 100  # of which each split takes whole ones
    told = pytest.warns(UserWarning, match="groups parameter is ignored by TimeSeriesSplit")
    with told:
        classifier.fit(X, y, groups=days)
    with told, pytest.raises(ValueError, match="puts group number 0 on both sides"):
        classifier.fit(X, y, groups=days % 7)


# one neighbour is certain
@pytest.mark.filterwarnings("ignore:predict_proba of KNeighborsClassifier is")
@refused(
    ({"estimator": GaussianNB}, "estimator must be a classifier with predict_proba", TypeError),
    ({"estimator": SVC()}, "estimator must be a classifier with predict_proba", TypeError),
    ({"calibrator": LogitCalibrator}, "calibrator must have fit and predict", TypeError),
    ({"calibrator": "isotonic"},
     r"must have .*ROCConvexHullCalibrator\(\) .\"isotonic\"\) do.*'isotonic'", TypeError),
    ({"calibrator": LogisticRegression()}, "calibrator must have fit and predict", TypeError),
    ({"calibrator": InterceptCalibrator(input_space="margin")},
     "input_space='margin', but is given probabilities"),
    ({"cv": "prefit"}, "not fitted yet", NotFittedError),
    ({"cv": "pre"}, "cv must be one of 'prefit', found 'pre'"),
    ({"cv": 1}, "cv must be at least 2 folds"),
    ({"cv": [(np.arange(10), np.arange(10, 3000))] * 2}, "held out 2 times: use KFold"),
    ({"calibrator": ROCConvexHullCalibrator(m=-1)}, "m must not be negative"),
    ({"ensemble": 5}, "ensemble must be True, False or 'auto', found int 5", TypeError),
    ({"ensemble": True, "estimator": KNeighborsClassifier(1)},
     "exactly 0 or 1, which have none: pass ensemble=False"),
)  # fmt: skip
def test_bad_parameters(data, parameters) -> None:
    classifier = CalibratedClassifier(GaussianNB(), LogitCalibrator()).set_params(**parameters)
    try:
        classifier.fit(*data)
    finally:
        with pytest.raises(NotFittedError):
            classifier.predict(data[0])


THREE = np.arange(3000) % 3


@refused(
    ({}, lambda X, y: {"y": np.zeros(3000)}, r"one class only, found \[0.0\]"),
    ({}, lambda X, y: {"y": THREE}, "Only binary classification is supported by Logit.*0, 1, 2"),
    ({}, lambda X, y: {"groups": np.array(["a", "b", None] * 1000, object)},
     "groups must .*missing, found None at row 2"),
    ({}, lambda X, y: {"groups": np.array(["a", "b", 7] * 1000, object)},
     "groups must .*one type .* int, str", TypeError),
    ({}, lambda X, y: {"sample_weight": [1, 1]}, "sample_weight has 2 rows"),
    ({}, lambda X, y: {"eval_set": [(X, y)]}, "eval_set holds the training rows"),
    ({}, lambda X, y: {"X": (columns := csc_matrix(X)), "eval_set": [(columns, y)]},
     "eval_set holds the training rows"),
    ({"estimator": KNeighborsClassifier()}, lambda X, y: {"sample_weight": np.ones(3000)},
     "KNeighborsClassifier does not accept it"),
)  # fmt: skip
def test_bad_rows(data, parameters, given) -> None:
    X, y = data
    classifier = CalibratedClassifier(GaussianNB(), LogitCalibrator()).set_params(**parameters)
    classifier.fit(**{"X": X, "y": y, **given(X, y)})


def test_bad_rows_for_a_fitted_model(data) -> None:
    X, y = data
    pipeline = make_pipeline(StandardScaler(), GaussianNB())
    prefit = CalibratedClassifier(pipeline.fit(X, y), LogitCalibrator(), cv="prefit")
    prefit.fit(X, y, np.ones(len(y)))  # only the calibrator sees them
    with pytest.raises(ValueError, match=r"not in labels \[0, 1\]"):
        prefit.fit(X, y + 1)
    three = RandomForestClassifier(2).fit(X, THREE)
    with pytest.raises(ValueError, match="Only binary"):
        CalibratedClassifier(three, LogitCalibrator(), cv="prefit").fit(X, y)


FOLDS = dict.fromkeys(
    COPIES, "copies of a row can be in different folds, a row of weight 2 is in one"
)


@TAGS
def test_check_estimator() -> None:
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    check_all(CalibratedClassifier(tree, ROCConvexHullCalibrator(m=2), cv=2), FOLDS)


@TAGS
def test_scikit_learns_checks_of_what_a_choice_could_change() -> None:
    """Those of copies, repeated fits and predictions; what is refused and how arguments are read
    does not depend on the calibrator."""
    only = "not_overwritten|pickle|idempotent|unchanged|subset|order|classifiers_train"
    chosen = CalibratedClassifier(LogisticRegression(), "auto", cv=2)
    assert len(check_some(chosen, FOLDS, only)) >= 10


# --- the default ------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["folds", "eval_set", "prefit"])
def test_the_default_is_the_shrunk_spline_fitted_once(data, new, monkeypatch, way) -> None:
    X, y = data
    w = np.random.default_rng(0).integers(0, 3, len(y))
    fits = []
    fit = SplineCalibrator._fit
    monkeypatch.setattr(SplineCalibrator, "_fit", lambda *rows: (fits.append(1), fit(*rows))[1])
    model, more, own = GaussianNB(), {}, {"cv": 3}
    if way == "eval_set":
        own, more = {}, {"eval_set": [made(900, seed=2)]}
    elif way == "prefit":
        own, model = {"cv": "prefit"}, model.fit(X, y)
    classifier = CalibratedClassifier(model, **own).fit(X, y, w, **more)
    assert len(fits) == 1
    named = CalibratedClassifier(model, SplineCalibrator(shrink=True), **own).fit(X, y, w, **more)
    assert classifier.calibrator_.to_json() == named.calibrator_.to_json()
    np.testing.assert_array_equal(classifier.predict_proba(new[0]), named.predict_proba(new[0]))
    assert not hasattr(classifier, "comparison_")
    assert classifier.calibrator is None


def test_the_default_takes_a_single_event(data) -> None:
    """Which "auto" refuses, as nothing can be held out."""
    model = GaussianNB().fit(*data)
    X_val, y_val = made(600, seed=2)
    y_val[np.flatnonzero(y_val)[1:]] = 0
    found = CalibratedClassifier(model, cv="prefit").fit(X_val, y_val)
    assert isinstance(found.calibrator_, SplineCalibrator)
    for auto, more in (
        (CalibratedClassifier(model, "auto", cv="prefit"), {}),
        (CalibratedClassifier(GaussianNB(), "auto"), {"eval_set": [(X_val, y_val)]}),
    ):
        with pytest.raises(ValueError, match="single row of one label"):
            auto.fit(*(data if more else (X_val, y_val)), **more)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of scores that are 0 or 1
@pytest.mark.parametrize(
    ("model", "kind"),
    [(DummyClassifier(), InterceptCalibrator), (KNeighborsClassifier(1), VennAbersCalibrator)],
)
def test_the_default_where_log_odds_cannot_be_fitted(model, kind) -> None:
    """Of scores that are all the same, or certain and wrong."""
    X, y = made(600)
    model.fit(X[:300], y[:300])
    classifier = CalibratedClassifier(model, cv="prefit").fit(X[300:], y[300:])
    assert isinstance(classifier.calibrator_, kind)
    p = classifier.predict_proba(X)[:, 1]
    if kind is InterceptCalibrator:  # one score is one probability
        np.testing.assert_allclose(p, y[300:].mean(), rtol=1e-9)
    assert 0 < p.min() <= p.max() < 1


@pytest.mark.filterwarnings("ignore::UserWarning")  # of scores that are 0 or 1
def test_what_the_default_refuses() -> None:
    X, y = made(600)
    model = KNeighborsClassifier(1).fit(X[:300], y[:300])
    rates = np.random.default_rng(0).choice([0.1, 0.2], 300)
    classifier = CalibratedClassifier(model, cv="prefit")
    with pytest.raises(ValueError, match="certain and wrong; use ROC"):
        classifier.fit(X[300:], y[300:], keep_rate=rates)


# --- auto -------------------------------------------------------------------------------------


def check_choice(model, *rows, **options) -> None:
    """It is the choice of choose_calibrator from these rows."""
    found, expected = model.comparison_, choose_calibrator(*rows, **options)
    assert str(found.calibrator) == str(expected.calibrator)
    assert found.log_loss == pytest.approx(expected.log_loss, rel=1e-12)  # sums in other orders


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cv", [4, TimeSeriesSplit(3)])
def test_auto_chooses_on_the_held_out_rows(data, new, weighted, cv) -> None:
    X, y = data
    w = np.random.default_rng(0).integers(0, 3, len(y)) if weighted else None
    classifier = CalibratedClassifier(GaussianNB(), "auto", cv=cv).fit(X, y, w)
    p = classifier.oof_probability_
    held = ~np.isnan(p)
    check_choice(classifier, y[held], p[held], None if w is None else w[held])
    assert len(classifier.comparison_.log_loss) >= 4
    named = CalibratedClassifier(GaussianNB(), classifier.comparison_.calibrator, cv=cv)
    named.fit(X, y, w)
    assert classifier.calibrator_.to_json() == named.calibrator_.to_json()
    found = classifier.predict_proba(new[0])
    np.testing.assert_array_equal(found, named.predict_proba(new[0]))
    classifier.set_params(calibrator=LogitCalibrator()).fit(X, y, w)
    assert not hasattr(classifier, "comparison_")


def test_auto_on_validation_rows(data) -> None:
    X_val, y_val = pair = made(1500, seed=2)
    model = GaussianNB().fit(*data)
    by_set = CalibratedClassifier(GaussianNB(), "auto").fit(*data, eval_set=[pair])
    prefit = CalibratedClassifier(model, "auto", cv="prefit").fit(*pair)
    for found in (by_set, prefit):
        check_choice(found, y_val, model.predict_proba(X_val)[:, 1])


def test_auto_keeps_groups_together(data) -> None:
    """Copies of rows on both sides would favour what follows them closely."""
    X, y = data
    group = np.arange(len(y)) // 15
    w = np.random.default_rng(0).integers(0, 2, len(y))
    classifier = CalibratedClassifier(GaussianNB(), "auto", cv=3).fit(X, y, w, groups=group)
    p, counts = classifier.oof_probability_, w > 0
    splits = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    cv = list(splits.split(p[counts], y[counts], group[counts]))
    check_choice(classifier, y[counts], p[counts], cv=cv)
    assert classifier.comparison_.log_loss != choose_calibrator(y, p, w).log_loss


def test_what_auto_needs(data) -> None:
    X, y = data
    group = np.arange(3000) // 1000
    few = CalibratedClassifier(GaussianNB(), "auto", cv=GroupKFold(3)).fit(X, y, groups=group)
    splits = list(StratifiedGroupKFold(3, shuffle=True, random_state=0).split(X, y, group))
    check_choice(few, y, few.oof_probability_, cv=splits)
    few.set_params(cv=[(np.arange(2000), np.arange(2000, 3000))])
    with pytest.raises(ValueError, match="of one group, .* name a calibrator"):
        few.fit(X, y, groups=group)


def test_rates_in_the_words_of_the_labels() -> None:
    """What is refused names labels as they stand in y, and whose rows the rates are."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), np.array(["no", "yes"])[rng.integers(0, 2, 300)]
    three = np.array(["a", "b", "c"])[rng.integers(0, 3, 300)]
    whole = {"eval_set": [(X[:99], y[:99])], "keep_rate": np.full(300, 0.5)}
    for calibrator, labels, given, words in (
        (LogitCalibrator(), y, {"class_keep_rates": {"yes": 0.2, "no": 1}},
         r"class_keep_rates\['yes'\] must be 1, found 0.2"),
        (LogitCalibrator(), y, whole,
         "keep_rate has 300 rows, but the labels have 99: .* eval_set"),
        (TemperatureCalibrator(), three, {"negative_keep_rate": 0.2},
         r"two classes, found 3, \['a', 'b', 'c'\]"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            CalibratedClassifier(LogisticRegression(), calibrator).fit(X, labels, **given)


def test_one_rate_of_named_classes() -> None:
    """The rare class may be first in alphabetical order: the rate would be that of its rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0, "fraud", "legit")
    calibrated = CalibratedClassifier(LogisticRegression())
    for given in ({"negative_keep_rate": 0.1}, {"keep_rate": np.full(400, 0.1)}):
        with pytest.warns(UserWarning, match="of 'fraud', .* if 'fraud' is the event fit y == 'fr"):
            found = calibrated.fit(X, y, **given).predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        named = calibrated.fit(X, y, class_keep_rates={"fraud": 0.1, "legit": 1})
        assert np.array_equal(named.predict_proba(X), found)
        calibrated.fit(X, y == "fraud", negative_keep_rate=0.1)
        said = np.where(y == "fraud", "yes", "No")  # which is no event, whatever the order
        calibrated.fit(X, said, negative_keep_rate=0.1)


# the weights undo the sampling
@pytest.mark.filterwarnings("ignore:sample_weight of a negative is")
def test_the_rate_of_a_correcting_objective_is_the_calibrators() -> None:
    """Forgotten, the calibrator takes the correction back: 0.09 for an event of 0.006."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    y = (rng.random(20_000) < 1 / (1 + np.exp(5 - X[:, 0]))).astype(int)
    rows = negative_downsample(y, 0.1, random_state=0)
    for objective in (offset_logloss_objective(0.1), weighted_logloss_objective(0.1)):
        booster = lightgbm_adapter.LGBMClassifier(
            objective=objective, n_estimators=20, num_leaves=4, n_jobs=1, verbose=-1
        )
        model = CalibratedClassifier(make_pipeline(booster))
        for rates in ({}, {"negative_keep_rate": 0.5}, {"class_keep_rates": {0: 0.5, 1: 1}}):
            with pytest.raises(ValueError, match="pass negative_keep_rate=0.1 to fit too"):
                model.fit(X[rows], y[rows], **rates)
        weighed = CalibratedClassifier(booster, IsotonicRegression(out_of_bounds="clip"))
        weights = np.where(y[rows] == 1, 1, 10.0)
        for fitted in (
            model.fit(X[rows], y[rows], negative_keep_rate=0.11),  # as it was measured
            weighed.fit(X[rows], y[rows], weights),
        ):
            assert 0.8 < fitted.predict_proba(X)[:, 1].mean() / y.mean() < 1.25
        booster.fit(X[rows], y[rows])
        CalibratedClassifier(booster, cv="prefit").fit(X, y)  # of the full population


def test_progress_is_shown_on_request_and_changes_nothing(data, capsys) -> None:
    X, y = data
    alone = CalibratedClassifier(GaussianNB(), "auto", cv=3).fit(X, y)
    assert capsys.readouterr().err == ""
    watched = CalibratedClassifier(GaussianNB(), "auto", cv=3, verbose=True).fit(X, y)
    np.testing.assert_array_equal(watched.predict_proba(X), alone.predict_proba(X))
    told = capsys.readouterr().err
    assert "3/3" in told  # folds
    assert "5/5" in told  # calibrators
    with pytest.raises(TypeError, match="verbose must be True or False"):
        CalibratedClassifier(GaussianNB(), verbose="yes").fit(X, y)
