"""CalibratedClassifier: cross-fitting written out, prefit, boosters, scikit-learn's own."""

from __future__ import annotations

import pickle
import warnings

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import sklearn
import xgboost as xgb
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_predict as out_of_fold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.fixes import parse_version

from gbdt_objectives import (
    CalibratedClassifier,
    DownsampledClassifier,
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
    normalized_entropy,
)


def made(n, seed=0):
    """About 12 % positives."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    margin = 1.3 * X[:, 0] + np.sin(2 * X[:, 1]) - 2.7
    return X, (rng.random(n) < expit(margin)).astype(int)


def XGB(**parameters):
    return xgb.XGBClassifier(**{"n_estimators": 100, "max_depth": 6, "n_jobs": 1, **parameters})


def LGBM(**parameters):
    common = {"n_estimators": 100, "num_leaves": 63, "n_jobs": 1, "verbose": -1}
    return lgb.LGBMClassifier(**{**common, **parameters})


CALIBRATORS = pytest.mark.parametrize(
    "calibrator",
    [ROCConvexHullCalibrator(m=2), InterceptCalibrator(), LogitCalibrator()],
    ids=lambda calibrator: type(calibrator).__name__,
)


@pytest.fixture(scope="module")
def data():
    return made(3000)


@pytest.fixture(scope="module")
def new():
    return made(5000, seed=1)


@CALIBRATORS
@pytest.mark.parametrize("weighted", [False, True])
def test_is_the_cross_fitting_written_out(data, new, calibrator, weighted) -> None:
    X, y = data
    w = np.random.default_rng(0).uniform(0, 3, len(y)) if weighted else None
    p = np.empty(len(y))
    for train, test in StratifiedKFold(4).split(X, y):
        model = GaussianNB().fit(X[train], y[train], None if w is None else w[train])
        p[test] = model.predict_proba(X[test])[:, 1]
    expected = clone(calibrator).fit(p, y, w)
    model = GaussianNB().fit(X, y, w)

    classifier = CalibratedClassifier(GaussianNB(), calibrator, cv=4).fit(X, y, w)
    np.testing.assert_array_equal(classifier.oof_probability_, p)
    assert classifier.calibrator_.to_json() == expected.to_json()
    found = classifier.predict_proba(new[0])
    raw = model.predict_proba(new[0])[:, 1]
    np.testing.assert_array_equal(found[:, 1], expected.predict(raw))
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_array_equal(classifier.predict(new[0]), found[:, 1] > 0.5)
    if not weighted:
        usual = out_of_fold(GaussianNB(), X, y, cv=4, method="predict_proba")[:, 1]
        np.testing.assert_array_equal(usual, p)


@CALIBRATORS
def test_prefit_fits_the_calibrator_only(data, new, calibrator) -> None:
    X, y = data
    model = GaussianNB().fit(X[:1500], y[:1500])
    before = pickle.dumps(model)
    w = np.random.default_rng(0).integers(0, 3, 1500)
    classifier = CalibratedClassifier(model, calibrator, cv="prefit").fit(X[1500:], y[1500:], w)
    assert classifier.estimator_ is model
    assert pickle.dumps(model) == before
    expected = clone(calibrator).fit(model.predict_proba(X[1500:])[:, 1], y[1500:], w)
    raw = model.predict_proba(new[0])[:, 1]
    np.testing.assert_array_equal(classifier.predict_proba(new[0])[:, 1], expected.predict(raw))
    with pytest.raises(ValueError, match="groups are for folds, but cv='prefit' has none"):
        classifier.fit(X, y, groups=y)
    with pytest.raises(NotFittedError):
        CalibratedClassifier(GaussianNB(), calibrator, cv="prefit").fit(X, y)


def test_isotonic_is_that_of_scikit_learn(data, new) -> None:
    """CalibratedClassifierCV(ensemble=False) is the same cross-fitting."""
    X, y = data
    theirs = CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=5, ensemble=False)
    expected = theirs.fit(X, y).predict_proba(new[0])[:, 1]
    for calibrator in (ROCConvexHullCalibrator(), IsotonicRegression(out_of_bounds="clip")):
        ours = CalibratedClassifier(GaussianNB(), calibrator).fit(X, y)
        found = ours.predict_proba(new[0])[:, 1]
        np.testing.assert_allclose(found, expected, atol=1e-12)  # round-off


def test_what_is_no_probability_is_refused(data, new) -> None:
    X, y = data
    classifier = CalibratedClassifier(LogisticRegression(), IsotonicRegression()).fit(X, y)
    with pytest.raises(ValueError, match='found nan at row 0: .* needs out_of_bounds="clip"'):
        classifier.predict(np.array([[99.0, 0, 0, 0]]))

    class Over(LogitCalibrator):
        def predict(self, score):
            return np.full(len(score), 1 + excess)

    over = CalibratedClassifier(GaussianNB(), Over()).fit(X, y)
    excess = 1e-12  # round-off
    assert over.predict_proba(new[0]).max() == 1
    excess = 1e-6
    with pytest.raises(ValueError, match="Over must predict .*found 1.000001 at row 0"):
        over.predict_proba(new[0])

    class Columns(LogitCalibrator):
        def predict(self, score):
            return np.column_stack([1 - score, score])

    classifier = CalibratedClassifier(GaussianNB(), Columns()).fit(X, y)
    with pytest.raises(ValueError, match="Columns must predict .*found shape \\(5000, 2\\)"):
        classifier.predict_proba(new[0])


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
    X, y = np.column_stack([1e3 * data[0][:, :1]] * 5), data[1]
    with pytest.raises(ValueError, match="certain and wrong; use ROCConvexHullCalibrator"):
        CalibratedClassifier(GaussianNB(var_smoothing=1e-12), LogitCalibrator()).fit(
            np.column_stack([X] * 200), y
        )
    CalibratedClassifier(GaussianNB(), ROCConvexHullCalibrator(m=2)).fit(X, y)


@pytest.mark.parametrize("booster", [XGB, LGBM])
@pytest.mark.parametrize("calibrator", [ROCConvexHullCalibrator(m=2), LogitCalibrator()])
def test_overfitted_boosters_get_better(data, new, booster, calibrator) -> None:
    X, y = data
    raw = booster().fit(X, y).predict_proba(new[0])[:, 1]
    classifier = CalibratedClassifier(booster(), calibrator).fit(X, y)
    p = classifier.predict_proba(new[0])[:, 1]
    assert normalized_entropy(new[1], p) < normalized_entropy(new[1], raw) - 0.1
    if isinstance(calibrator, LogitCalibrator):
        assert 0 < classifier.calibrator_.slope_ < 0.8  # it was too sure of itself


@pytest.mark.parametrize("booster", [XGB, LGBM])
def test_around_downsampling(booster) -> None:
    X, y = made(20_000, seed=2)
    labels = np.array(["no", "yes"])[y]
    downsampled = DownsampledClassifier(booster(n_estimators=20), {"no": 0.2}, random_state=0)
    classifier = CalibratedClassifier(downsampled, LogitCalibrator(), cv=3).fit(X, labels)
    assert classifier.classes_.tolist() == ["no", "yes"]
    p = classifier.predict_proba(made(20_000, seed=3)[0])[:, 1]
    assert p.mean() == pytest.approx(y.mean(), rel=0.05)  # 2400 positives: 2 %
    assert set(classifier.predict(X)) == {"no", "yes"}


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


def test_data_frames_and_missing_values(data, new) -> None:
    X = pd.DataFrame(data[0], columns=list("abcd")).assign(kind=pd.Categorical(list("xyz") * 1000))
    X.loc[::7, "a"] = np.nan
    classifier = CalibratedClassifier(LGBM(n_estimators=5), LogitCalibrator(), cv=2)
    classifier.fit(X, pd.Series(data[1]))
    assert classifier.feature_names_in_.tolist() == [*"abcd", "kind"]
    assert classifier.predict_proba(X).shape == (3000, 2)
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict_proba(X.rename(columns={"a": "other"}))


def test_clone_pickle_search(data) -> None:
    X, y = data
    classifier = CalibratedClassifier(XGB(), LogitCalibrator(), cv=2)
    assert str(clone(classifier)) == str(classifier)
    grid = {
        "estimator__n_estimators": [1, 10],
        "calibrator": [LogitCalibrator(), ROCConvexHullCalibrator(m=2)],
        "cv": [2, KFold(3)],
    }
    search = GridSearchCV(classifier, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    loaded = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(loaded.predict_proba(X), search.predict_proba(X))
    assert loaded.estimator_.n_estimators == 10


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"estimator": GaussianNB}, TypeError, "estimator must be a classifier with predict_proba"),
        ({"estimator": SVC()}, TypeError, "estimator must be a classifier with predict_proba"),
        ({"calibrator": LogitCalibrator}, TypeError, "calibrator must have fit and predict"),
        ({"calibrator": "isotonic"}, TypeError, "calibrator must have fit and predict.*'isotonic'"),
        ({"calibrator": LogisticRegression()}, TypeError, "calibrator must have fit and predict"),
        ({"calibrator": InterceptCalibrator(input_space="margin")}, ValueError,
         "input_space='margin', but is given probabilities"),
        ({"cv": "pre"}, ValueError, "cv must be one of 'prefit', found 'pre'"),
        ({"cv": 1}, ValueError, "cv must be at least 2 folds"),
        ({"cv": [(np.arange(10), np.arange(10, 3000))] * 2}, ValueError,
         "held out 2 times: use KFold"),
        ({"calibrator": ROCConvexHullCalibrator(m=-1)}, ValueError, "m must not be negative"),
    ],
)  # fmt: skip
def test_bad_parameters(data, parameters, error, message) -> None:
    classifier = CalibratedClassifier(GaussianNB(), LogitCalibrator()).set_params(**parameters)
    with pytest.raises(error, match=message):
        classifier.fit(*data)
    with pytest.raises(NotFittedError):
        classifier.predict(data[0])


def test_bad_rows(data) -> None:
    X, y = data
    classifier = CalibratedClassifier(GaussianNB(), LogitCalibrator())
    for target, message in (
        (np.zeros(len(y)), "one class only, found \\[0.0\\]"),
        (np.arange(len(y)) % 3, "Only binary classification is supported, found .*0, 1, 2"),
    ):
        with pytest.raises(ValueError, match=message):
            classifier.fit(X, target)
    for group, message in ((None, "missing, found None at row 2"), (7, "one type .* int, str")):
        groups = np.array(["a", "b", group] * 1000, object)
        with pytest.raises((ValueError, TypeError), match=f"groups must .*{message}"):
            classifier.fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="sample_weight has 2 rows"):
        classifier.fit(X, y, [1, 1])
    in_order = CalibratedClassifier(GaussianNB(), LogitCalibrator(), cv=KFold(2))
    with pytest.raises(ValueError, match="training rows are of one class only"):
        in_order.fit(X, np.repeat([0, 1], len(y) // 2))
    without = CalibratedClassifier(KNeighborsClassifier(), LogitCalibrator())
    with pytest.raises(ValueError, match="KNeighborsClassifier does not accept it"):
        without.fit(X, y, np.ones(len(y)))
    pipeline = make_pipeline(StandardScaler(), GaussianNB())
    prefit = CalibratedClassifier(pipeline.fit(X, y), LogitCalibrator(), cv="prefit")
    prefit.fit(X, y, np.ones(len(y)))  # only the calibrator sees them
    with pytest.raises(ValueError, match="not in labels \\[0, 1\\]"):
        prefit.fit(X, y + 1)
    three = RandomForestClassifier(2).fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="Only binary"):
        CalibratedClassifier(three, LogitCalibrator(), cv="prefit").fit(X, y)


FOLDS = dict.fromkeys(
    [
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    "copies of a row can be in different folds, a row of weight 2 is in one",
)


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.6"),
    reason="check_estimator cannot be told of expected failures",
)
@pytest.mark.parametrize(
    ("estimator", "calibrator"),
    [
        (RandomForestClassifier(5, max_depth=2, random_state=0), ROCConvexHullCalibrator(m=2)),
        (LogisticRegression(), InterceptCalibrator()),
    ],
)
def test_check_estimator(estimator, calibrator) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = CalibratedClassifier(estimator, calibrator, cv=2)
        check_estimator(classifier, expected_failed_checks=FOLDS)
