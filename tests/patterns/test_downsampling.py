"""A module that thins negatives and corrects the probabilities of what it trained."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss

from gbdt_objectives import DownsampledClassifier, correct_probability, log_odds_shift
from gbdt_objectives.adapters.lightgbm import LGBMClassifier
from tests.patterns.comparison import same_or_better

PARAMS = {"n_estimators": 60, "num_leaves": 6, "verbose": -1, "n_jobs": 1, "random_state": 0}
RATE = 0.05


def clicks(seed):
    """40,000 rows to train on and as many to test, about 1.5 % positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80_000, 6))
    y = (rng.random(80_000) < expit(X[:, 0] + X[:, 1] * (X[:, 2] > 0) - 5)).astype(int)
    return X[:40_000], y[:40_000], X[40_000:], y[40_000:]


def before(X, y, X_test):
    class DownSampler:
        def __init__(self, w, seed=0):
            self.w = w
            self.rng = np.random.RandomState(seed)

        def sample(self, X, y):
            pos = np.where(y == 1)[0]
            neg = np.where(y == 0)[0]
            neg = self.rng.choice(neg, int(len(neg) * self.w), replace=False)
            idx = np.concatenate([pos, neg])
            self.rng.shuffle(idx)
            return X[idx], y[idx]

        def calibrate(self, p):
            return p / (p + (1 - p) / self.w)

    sampler = DownSampler(RATE)
    model = lgb.LGBMClassifier(**PARAMS)
    model.fit(*sampler.sample(X, y))
    return sampler.calibrate(model.predict_proba(X_test)[:, 1])


def after(X, y, X_test):
    model = DownsampledClassifier(LGBMClassifier(**PARAMS), RATE, random_state=0)
    return model.fit(X, y).predict_proba(X_test)[:, 1]


def test_same_or_better() -> None:
    def score(way, seed):
        X, y, X_test, y_test = clicks(seed)
        return -log_loss(y_test, way(X, y, X_test))

    # in logloss: the same formula, but of rates measured in the sample, which differ from the
    # nominal one by a rounding of the number of negatives; another sample moves it by .0002
    same_or_better("downsampling", before, after, score, tolerance=5e-4)


def test_the_formula_by_name() -> None:
    """Who has a model already: correct_probability takes the place of p / (p + (1-p)/w)."""
    p = np.random.default_rng(0).random(1000)
    by_hand = p / (p + (1 - p) / RATE)
    shift = log_odds_shift(negative_keep_rate=RATE)
    np.testing.assert_allclose(correct_probability(p, shift), by_hand, rtol=1e-12)
    # where 1 - p is 0 in floating point, or the sample has positives alone, nothing is divided
    assert correct_probability([0.0, 1.0], shift).tolist() == [0.0, 1.0]


def test_a_probability_is_wrong_without_it() -> None:
    X, y, X_test, y_test = clicks(0)
    model = DownsampledClassifier(
        LGBMClassifier(**PARAMS), RATE, correction=None, random_state=0
    ).fit(X, y)
    uncorrected = model.predict_proba(X_test)[:, 1].mean()
    for way in (before, after):
        assert way(X, y, X_test).mean() == pytest.approx(y_test.mean(), rel=0.1)
    assert uncorrected > 10 * y_test.mean()
