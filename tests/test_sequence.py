"""The whole path end to end: thin, correct, place, calibrate, decide."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import logit
from sklearn.metrics import log_loss

from gbdt_objectives import (
    apply_thresholds,
    correct_probability,
    log_odds_shift,
    negative_downsample,
    optimize_thresholds,
    shift_intercept,
)
from gbdt_objectives.calibration import (
    InterceptCalibrator,
    LogitCalibrator,
    ROCConvexHullCalibrator,
    calibration_ratio,
)
from gbdt_objectives.metrics import f_beta_metric
from gbdt_objectives.priors import correct_threshold, measured_keep_rates

CALIBRATORS = (InterceptCalibrator(), LogitCalibrator(), ROCConvexHullCalibrator())


def population(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    z = -5.0 + 1.5 * X[:, 0] + X[:, 1] * X[:, 2]
    return X, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)


def train_xgboost(X, y):
    params = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1, "seed": 0}
    return xgb.train(params, xgb.DMatrix(X, y), 60)


def train_lightgbm(X, y):
    params = {"objective": "binary", "max_depth": 3, "num_threads": 1, "verbose": -1}
    return lgb.train(params, lgb.Dataset(X, y), 60)


def predict(booster, X):
    data = xgb.DMatrix(X) if isinstance(booster, xgb.Booster) else X
    return booster.predict(data).astype(np.float64)


@pytest.fixture(scope="module", params=[train_xgboost, train_lightgbm])
def path(request):
    """Thinned and trained: the booster, its shift, and held-out rows of the full population."""
    X, y = population(60_000, 0)
    rows = negative_downsample(y, 0.05, random_state=0)
    rates = measured_keep_rates(y, y[rows])
    shift = log_odds_shift(negative_keep_rate=rates[0], positive_keep_rate=rates[1])
    return request.param(X[rows], y[rows]), shift, population(40_000, 1), population(40_000, 2)


def test_each_step_improves_or_keeps_the_loss(path):
    booster, shift, (X_fit, y_fit), (X, y) = path
    raw = predict(booster, X)
    placed = shift_intercept(booster, shift)
    p, p_fit = predict(placed, X), predict(placed, X_fit)
    # float32 probabilities of XGBoost
    np.testing.assert_allclose(p, correct_probability(raw, shift), rtol=2e-5, atol=1e-7)
    assert log_loss(y, p) < log_loss(y, raw) - 0.1
    assert calibration_ratio(y, raw) > 4  # 1/(w + (1-w) s) of a rare event kept at .05
    # 900 and 600 positives in training and here: 3 % and 4 %, and a model that overfits a little
    assert calibration_ratio(y, p) == pytest.approx(1, abs=0.2)
    for calibrator in CALIBRATORS:
        q = calibrator.fit(p_fit, y_fit).predict(p).clip(1e-7, 1)  # the hull says 0 to some
        assert log_loss(y, q) < log_loss(y, p) + 2e-3  # nothing to mend, little to lose
        assert calibration_ratio(y_fit, calibrator.predict(p_fit)) == pytest.approx(1, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=lambda c: type(c).__name__)
def test_calibration_makes_up_for_a_forgotten_correction(path, calibrator):
    """Each absorbs a constant in log-odds: corrected before or not, it says the same."""
    booster, shift, (X_fit, y_fit), (X, _) = path
    raw_fit, raw = predict(booster, X_fit), predict(booster, X)
    with_shift = calibrator.fit(correct_probability(raw_fit, shift), y_fit).predict(
        correct_probability(raw, shift)
    )
    without = calibrator.fit(raw_fit, y_fit).predict(raw)
    if isinstance(calibrator, ROCConvexHullCalibrator):
        # unseen scores lie on straight lines between segments: of other lengths once shifted
        assert np.quantile(np.abs(with_shift - without), 0.99) < 0.01
    else:
        np.testing.assert_allclose(with_shift, without, rtol=1e-6)  # its solver's tolerance


def test_a_calibrators_shift_goes_into_the_model_too(path):
    booster, shift, (X_fit, y_fit), (X, _) = path
    placed = shift_intercept(booster, shift)
    calibrator = InterceptCalibrator().fit(predict(placed, X_fit), y_fit)
    at_once = shift_intercept(booster, delta=shift + calibrator.shift_)
    expected = calibrator.predict(predict(placed, X))
    np.testing.assert_allclose(predict(at_once, X), expected, rtol=2e-5)


def test_decisions_come_last_and_follow_the_scores(path):
    """Thresholds for a metric are the same cut at every step, and costs need true probabilities."""
    booster, shift, (X_fit, y_fit), (X, y) = path
    raw_fit, raw = predict(booster, X_fit), predict(booster, X)
    p_fit, p = correct_probability(raw_fit, shift), correct_probability(raw, shift)
    calibrator = LogitCalibrator().fit(p_fit, y_fit)
    found = [
        apply_thresholds(
            test,
            optimize_thresholds(y_fit, fit, method="exact", metric=f_beta_metric(1)),
            labels=[0, 1],
        )
        for fit, test in (
            (raw_fit, raw),
            (p_fit, p),
            (calibrator.predict(p_fit), calibrator.predict(p)),
        )
    ]
    for other in found[1:]:  # thresholds lie midway between scores, on another scale
        assert np.mean(other != found[0]) < 1e-3
    # missing a positive costs 9 times as much as a false alarm: act from 0.1 on
    q = calibrator.predict(p)
    cost = {t: 9 * y[q < t].sum() + (1 - y[q >= t]).sum() for t in (0.02, 0.1, 0.5)}
    assert min(cost, key=cost.__getitem__) == 0.1
    uncorrected = 9 * y[raw < 0.1].sum() + (1 - y[raw >= 0.1]).sum()
    assert uncorrected > 1.5 * cost[0.1]
    # the same decisions from the raw probability, through both maps backwards
    t = 1 / (1 + np.exp(-(logit(0.1) - calibrator.intercept_) / calibrator.slope_))
    np.testing.assert_array_equal(raw >= correct_threshold(t, shift), q >= 0.1)
