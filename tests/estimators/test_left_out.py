"""Bags of DownsampledClassifier that are calibrated on the rows that they leave out."""

from __future__ import annotations

import pickle
import warnings
from functools import partial
from typing import ClassVar

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from gbdt_objectives import DownsampledClassifier, correct_probability
from gbdt_objectives.calibration import InterceptCalibrator, LogitCalibrator, SplineCalibrator
from gbdt_objectives.estimators._base import stretch_of_bags
from tests.cases import each, refused

pytestmark = pytest.mark.slow

LGBM = partial(lgb.LGBMClassifier, n_jobs=1, verbose=-1)
XGB = partial(xgb.XGBClassifier, max_bin=32, n_jobs=1)


def made(n, seed=0, level=-4.5):
    """About 3 % positives; the first column is the number of the row, which says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 0] = np.arange(n)
    margin = 1.3 * X[:, 1] + np.sin(2 * X[:, 2]) + level
    return X, (rng.random(n) < expit(margin)).astype(int)


@pytest.fixture(scope="module")
def data():
    return made(8000)


@pytest.fixture(scope="module")
def new():
    return made(20_000, seed=1)


def ratio(model, rows) -> float:
    return float(model.predict_proba(rows[0])[:, 1].mean() / rows[1].mean())


class Recording(LogisticRegression):
    """Keeps the numbers of the rows that each model sees, and what it says of which others."""

    seen: ClassVar[list] = []
    said: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append(X[:, 0].astype(int))
        return super().fit(X[:, 1:], y, sample_weight)

    def predict_proba(self, X):
        p = super().predict_proba(X[:, 1:])
        self.said.append((X[:, 0].astype(int), p[:, 1]))
        return p


@each("weighted", [False, True])
@each(("rate", "level", "kind"), [(0.05, -4.5, SplineCalibrator), (0.3, -6.5, LogitCalibrator)])
def test_is_the_calibration_written_out(new, weighted, rate, level, kind) -> None:
    X, y = made(8000, level=level)
    w = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    Recording.seen, Recording.said = [], []
    model = DownsampledClassifier(Recording(), rate, n_bags=4, calibrate=True, random_state=0)
    model.fit(X, y, w if weighted else None)
    seen, said = Recording.seen, list(Recording.said)
    assert len(seen) == len(said) == 4
    left_out = [np.setdiff1d(np.flatnonzero(y), rows) for rows in seen]
    assert sorted(np.concatenate(left_out)) == np.flatnonzero(y).tolist()  # each of them once
    assert max(map(len, left_out)) - min(map(len, left_out)) <= 1
    for own, (rows, _), left in zip(seen, said, left_out, strict=True):
        assert not set(own) & set(rows)
        assert len(rows) == len(set(rows)) > 2500
        assert set(rows[y[rows] == 1]) == set(left)

    # correct each for what it saw; the weight of a class is that of its rows in the population
    rows, z, shifts = np.concatenate([rows for rows, _ in said]), [], []
    for own, (_, p) in zip(seen, said, strict=True):
        kept = [w[own][y[own] == k].sum() / w[y == k].sum() for k in (0, 1)]
        shifts.append(np.log(kept[0] / kept[1]))
        z.append(logit(p) + shifts[-1])
    v = (w / w.mean())[rows] * np.where(
        y[rows] == 1, 1, w[y == 0].sum() / w[rows][y[rows] == 0].sum()
    )  # each positive is there once
    z = np.concatenate(z)
    reference = kind(shrink=True) if kind is SplineCalibrator else kind()
    reference.fit(expit(z), y[rows], v)
    assert type(model.calibrator_) is kind
    at = expit(np.linspace(-8, 0, 30))
    np.testing.assert_allclose(model.calibrator_.predict(at), reference.predict(at), rtol=1e-6)
    assert model.center_ == pytest.approx(np.average(z, weights=v), rel=1e-9)
    np.testing.assert_allclose(np.log(model.keep_rates_[:, 0] / model.keep_rates_[:, 1]), shifts)

    each_bag = [logit(m.predict_proba(new[0])[:, 1]) + d
                for m, d in zip(model.estimators_, shifts, strict=True)]  # fmt: skip
    mean = model.center_ + model.stretch_ * (np.mean(each_bag, axis=0) - model.center_)
    np.testing.assert_allclose(
        model.predict_proba(new[0])[:, 1], model.calibrator_.predict(expit(mean)), rtol=1e-9
    )


@each(
    ("booster", "correction"),
    [(LGBM, "prior"), (XGB, "offset"), (LGBM, "weight")],
)
def test_probabilities_get_right(data, new, booster, correction) -> None:
    plain, own = (
        DownsampledClassifier(
            booster(n_estimators=60),
            0.05,
            correction=correction,
            n_bags=5,
            calibrate=calibrate,
            random_state=0,
        ).fit(*data)
        for calibrate in (False, True)
    )
    p, q = (model.predict_proba(new[0])[:, 1] for model in (plain, own))
    # 240 positives: the mean of new rows is known to 6 %, and half as much from chance in the model
    assert q.mean() / new[1].mean() == pytest.approx(1, abs=0.15)
    if correction != "weight":
        assert p.mean() / new[1].mean() > 1.2
    assert log_loss(new[1], q) < log_loss(new[1], p) - 0.003
    assert own.stretch_ > 1.02


def test_many_rows_are_calibrated_on_some(new) -> None:
    """The bags score 9,000 pairs of the 19,400 negatives: the rate is made up for."""
    model = DownsampledClassifier(XGB(), 0.05, n_bags=3, calibrate=True, random_state=0).fit(*new)
    p = model.predict_proba(made(20_000, seed=3)[0])[:, 1]
    # of six seeds of the bags, the mean is within 2 % of that of the rows it was calibrated on
    assert p.mean() == pytest.approx(new[1].mean(), rel=0.06)


def test_the_thinned_class_may_be_either(data, new) -> None:
    """Labels turned round: the probabilities are, too, as far as other bags are drawn."""
    X, y = data
    model = DownsampledClassifier(XGB(), {1: 0.05}, n_bags=5, calibrate=True, random_state=0)
    model.fit(X, 1 - y)
    rare = model.predict_proba(new[0])[:, 0]
    assert rare.mean() == pytest.approx(new[1].mean(), rel=0.15)
    assert model.keep_rates_[:, 0] == pytest.approx(0.8, abs=0.01)
    assert model.keep_rates_[:, 1] == pytest.approx(0.05, abs=0.01)
    both = DownsampledClassifier(XGB(), {0: 0.1, 1: 0.7}, n_bags=5, calibrate=True, random_state=0)
    assert ratio(both.fit(X, y), new) == pytest.approx(1, abs=0.15)


def test_weights_make_the_population(data, new) -> None:
    """Rows of weight 0 count neither in the calibrator nor in the rates."""
    X, y = data
    w = np.where(y == 1, 3.0, 1.0)
    w[:1000] = 0
    model = DownsampledClassifier(XGB(), 0.05, n_bags=5, calibrate=True, random_state=0)
    p = model.fit(X, y, w).predict_proba(new[0])[:, 1].mean()
    wanted = np.average(new[1], weights=np.where(new[1] == 1, 3, 1))
    assert p * (1 - new[1].mean()) / (1 - p) == pytest.approx(
        wanted * (1 - new[1].mean()) / (1 - wanted), rel=0.2
    )


def test_the_unit_of_weights_does_not_matter(data, new) -> None:
    X, y = data
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    bags = DownsampledClassifier(LogisticRegression(C=1e9), 0.05, n_bags=3, random_state=0)
    p = [clone(bags).fit(X[:, 1:], y, v).predict_proba(new[0][:, 1:]) for v in (w, w / w.sum())]
    np.testing.assert_allclose(p[1], p[0], rtol=1e-3)  # where each stops its iterations


def test_early_stopping_leaves_its_rows_out(data, new) -> None:
    early = XGB(early_stopping_rounds=10, learning_rate=0.1)
    bags = partial(DownsampledClassifier, early, 0.1, correction="offset", n_bags=3, random_state=0)
    on_own = bags(calibrate=True).fit(*data)
    on_given = bags(calibrate=True).fit(*data, eval_set=[made(4000, seed=5)])
    by_time = bags(calibrate=True, cv=[(np.arange(6000), np.arange(6000, 8000))]).fit(*data)
    for model in (on_own, on_given, by_time):
        assert ratio(model, new) == pytest.approx(1, abs=0.15)


@pytest.mark.filterwarnings("ignore:the area under the ROC curve is")  # the model knows nothing
def test_bags_that_cannot_split_predict_the_mean() -> None:
    """LightGBM needs 40 rows."""
    X, y = made(1500, level=-5.5)
    assert 5 < y.sum() < 20
    model = DownsampledClassifier(LGBM(), 0.01, n_bags=3, calibrate=True, random_state=0)
    p = model.fit(X, y).predict_proba(X)[:, 1]
    assert isinstance(model.calibrator_, InterceptCalibrator)
    np.testing.assert_allclose(p, y.mean(), rtol=1e-6)


def test_what_auto_leaves_as_it_is(data) -> None:
    X, y = data
    bags = partial(DownsampledClassifier, n_bags=3, random_state=0, calibrate="auto")
    three = y + (X[:, 3] > 1.5)
    quick, early = XGB(n_estimators=20), XGB(early_stopping_rounds=5)
    cases = [
        (bags(quick, 0.1, n_bags=1), y, {}), (bags(quick, 0.1, correction=None), y, {}),
        (bags(XGB(n_estimators=5), {0: 0.1}), three, {}), (bags(quick, 1.0), y, {}),
        (bags(early, 0.1, correction="offset"), y, {"groups": np.arange(8000) // 2}),
        (bags(RandomForestClassifier(5, random_state=0), 0.1), y, {}),
    ]  # fmt: skip
    for model, target, given in cases:
        assert not hasattr(model.fit(X, target, **given), "calibrator_")
    certain = cases.pop()[0]
    assert certain.keep_rates_[0, 1] < 0.7  # known when it had been trained
    for model, target, given in cases:
        without = clone(model).set_params(calibrate=False).fit(X, target, **given)
        np.testing.assert_array_equal(model.predict_proba(X), without.predict_proba(X))
    calibrated = bags(quick, 0.1).fit(X, y)
    assert hasattr(calibrated, "calibrator_")
    assert not hasattr(calibrated.set_params(calibrate=False).fit(X, y), "calibrator_")


def test_five_bags_are_the_default_and_one_is_as_it_was(data) -> None:
    X, y = data
    model = DownsampledClassifier(XGB(n_estimators=20), 0.1, random_state=0).fit(X, y)
    assert len(model.estimators_) == 5
    assert hasattr(model, "calibrator_")
    one = DownsampledClassifier(XGB(n_estimators=20), 0.1, n_bags=1, random_state=0).fit(X, y)
    assert not hasattr(one, "calibrator_")
    assert one.keep_rates_[0, 1] == 1  # it leaves no event out


@each("events", [1, 2, 4, 5, 9])
@each("weighted", [False, True])
def test_few_events_are_averaged_or_calibrated_without_an_error(events, weighted) -> None:
    """Rows of weight 0 are no events: 20 others have it."""
    X, _ = made(400)
    y = (np.arange(400) < events + 20 * weighted).astype(int)
    w = np.where((y == 1) & (np.arange(400) >= events), 0.0, 1.0) if weighted else None
    for member in (LogisticRegression(), XGB(n_estimators=5), LGBM(n_estimators=5)):
        model = DownsampledClassifier(member, 0.3, random_state=0).fit(X, y, w)
        assert hasattr(model, "calibrator_") == (events >= 5)
        assert np.isfinite(model.predict_proba(X)).all()


def test_events_that_cv_holds_out_are_no_rows_of_bags(data) -> None:
    """Five events in all, but only three of them to train on."""
    X, _ = data
    y = np.isin(np.arange(8000), [10, 20, 30, 7000, 7001]).astype(int)
    stops = XGB(n_estimators=5, early_stopping_rounds=2)
    model = DownsampledClassifier(
        stops, 0.1, correction="offset", random_state=0,
        cv=[(np.arange(6000), np.arange(6000, 8000))],
    )  # fmt: skip
    assert not hasattr(model.fit(X, y), "calibrator_")
    with pytest.raises(ValueError, match="found 3 of one class and n_bags=5: pass fewer bags"):
        model.set_params(calibrate=True).fit(X, y)


def test_stopping_leaves_a_row_of_each_class_to_train_on(data) -> None:
    X, _ = data
    stops = XGB(n_estimators=5, early_stopping_rounds=2)
    bags = DownsampledClassifier(stops, 0.1, correction="offset", random_state=0)
    y = (np.arange(500) == 10).astype(int)
    with pytest.raises(ValueError, match="which leaves none of a class to train on: pass eval_set"):
        bags.fit(X[:500], y)


def test_a_progress_bar_over_bags_changes_nothing(data, capsys) -> None:
    X, y = data[0][:2000], data[1][:2000]
    bags = DownsampledClassifier(LogisticRegression(), 0.3, random_state=0)
    quiet = bags.fit(X, y).predict_proba(X)
    assert capsys.readouterr().err == ""
    for number, loud in ((5, True), (1, 2)):
        bags.set_params(verbose=loud, n_bags=number).fit(X, y)
        told = capsys.readouterr().err
        assert "DownsampledClassifier: 100%" in told
        assert f"{number}/{number}" in told
    np.testing.assert_array_equal(bags.set_params(n_bags=5).fit(X, y).predict_proba(X), quiet)
    with pytest.raises(TypeError, match="verbose must be True or False, found str"):
        bags.set_params(verbose="yes").fit(X, y)


def test_clone_pickle_search(data) -> None:
    X, y = data
    model = DownsampledClassifier(XGB(n_estimators=20), 0.1, n_bags=3, random_state=0)
    grid = {"calibrate": [True, False], "estimator__learning_rate": [0.01, 0.3]}
    search = GridSearchCV(model, grid, cv=2, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_["calibrate"]
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))
    same = clone(search.best_estimator_).fit(X, y)
    np.testing.assert_array_equal(same.predict_proba(X), search.predict_proba(X))


@refused(
    ({"n_bags": 1}, {}, "calibrate=True needs several bags, found n_bags=1: pass n_bags=5"),
    ({"negative_keep_rate": {0: 0.1}}, {"y": np.arange(8000) % 3},
     "two classes, found 3: pass calibrate=False, .*TemperatureCalibrator"),
    ({"correction": None}, {}, "correction=None asks for the sample's: pass correction='prior'"),
    ({"negative_keep_rate": 1.0}, {}, "negative_keep_rate keeps all: pass a lower one"),
    ({"n_bags": 5}, {"y": (np.arange(8000) < 3).astype(int)},
     "found 3 of one class and n_bags=5: pass fewer bags"),
    ({"estimator": XGB(early_stopping_rounds=5), "correction": "offset"},
     {"groups": np.arange(8000)}, "but groups stay together: pass calibrate=False"),
    ({"estimator": RandomForestClassifier(3)}, {}, "exactly 0 or 1, .*: pass calibrate=False"),
    ({"negative_keep_rate": 0.9999, "n_bags": 2}, {}, "keep nearly all: pass a lower"),
    ({"calibrate": "yes"}, {}, "calibrate must be True, False or 'auto', found str", TypeError),
)  # fmt: skip
def test_what_cannot_be_calibrated(data, parameters, given) -> None:
    model = DownsampledClassifier(XGB(), 0.1, n_bags=3, calibrate=True, random_state=0)
    model.set_params(**parameters).fit(**({"X": data[0], "y": data[1]} | given))


def test_the_stretch_is_that_of_a_mean() -> None:
    """Bags that share a signal of variance 1, each with noise of its own of variance 2."""
    rng = np.random.default_rng(0)
    w = rng.integers(1, 4, 200_000).astype(float)
    z = rng.normal(size=(200_000, 1)) + np.sqrt(2) * rng.normal(size=(200_000, 4)) + np.arange(4)
    expected = np.sqrt(3 / (3 / 4 + 3 / 4 * 1))
    found = stretch_of_bags(z, w)
    covariance = np.cov(z.T, aweights=w, ddof=0)
    mean = covariance.mean() / covariance.diagonal().mean()
    assert found == pytest.approx(mean**-0.5, rel=1e-12)
    assert found == pytest.approx(expected, rel=0.02)  # variances are known to 0.5 %
    z[rng.random(z.shape) < 0.3] = np.nan
    assert stretch_of_bags(z, w) == pytest.approx(expected, rel=0.02)
    copies = np.repeat(z[:500], w[:500].astype(int), axis=0)
    assert stretch_of_bags(copies, np.ones(len(copies))) == pytest.approx(
        stretch_of_bags(z[:500], w[:500]), rel=1e-12
    )
    assert stretch_of_bags(np.where([[1, 0], [0, 1]], 1.0, np.nan), w[:2]) is None
    assert stretch_of_bags(np.ones((9, 3)), w[:9]) == 1


def test_the_mean_of_bags_is_corrected_as_one_bag_is(data, new) -> None:
    """The mean log-odds of the corrected bags is that of the bags, plus the mean shift."""
    model = DownsampledClassifier(XGB(), 0.1, n_bags=3, calibrate=True, random_state=0).fit(*data)
    p = [m.predict_proba(new[0])[:, 1].astype(float) for m in model.estimators_]
    z = np.mean(logit(p), axis=0)
    mean = correct_probability(expit(z), shift=model.shift_)
    stretched = expit(model.center_ + model.stretch_ * (logit(mean) - model.center_))
    expected = model.calibrator_.predict(stretched)
    # float32 probabilities of XGBoost, whose margins the classifier reads
    np.testing.assert_allclose(model.predict_proba(new[0])[:, 1], expected, rtol=1e-4)


def test_a_high_rate_of_balanced_classes_is_not_warned_of() -> None:
    """The few negatives that bags leave out are not those that the user kept."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X[:, 0] + rng.normal(size=500) > 0
    classifier = DownsampledClassifier(LogisticRegression(), 0.9, n_bags=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert hasattr(classifier.fit(X, y), "calibrator_")
