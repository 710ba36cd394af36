"""Training on downsampled negatives: offset in training, correction after, rates by row."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit, logit
from sklearn.metrics import log_loss, roc_auc_score

import gbdt_objectives as go
from tests.adapters.library import LGB, XGB, Library, both

RATE = 0.05


@pytest.fixture(scope="module")
def population():
    """X, y, true probabilities: 60,000 rows, 2 % positive; the last column is a segment."""
    rng = np.random.default_rng(9)
    X = rng.random((60_000, 3))
    X[:, 2] = rng.random(60_000) < 0.5
    p = expit(4 * X[:, 0] + np.sin(6 * X[:, 1]) + 0.8 * X[:, 2] - 7.2)
    return X, (rng.random(len(p)) < p).astype(int), p


def downsampled(y, rate, seed):
    return np.flatnonzero((y == 1) | (np.random.default_rng(seed).random(len(y)) < rate))


@both
def test_correction_after_training_is_an_offset_in_training(lib: Library, population):
    X, y, _ = population
    rows = downsampled(y, RATE, 0)
    data = [lib.data(X[rows], y[rows]) for _ in range(2)]
    offset = lib.train(lib.params, data[0], 30, objective=go.offset_logloss_objective(RATE))
    plain = lib.train(lib.params, data[1], 30, objective=go.offset_logloss_objective(1))
    after = go.shift_intercept(plain, go.log_odds_shift(negative_keep_rate=RATE))
    losses = [log_loss(y, lib.predict(b, X)) for b in (offset, after, plain)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    assert losses[2] > losses[1] + 0.1  # uncorrected
    # the same trees: XGBoost's float32 gradients differ in the last digits
    raw = [lib.predict(b, X, raw=True) for b in (offset, after)]
    np.testing.assert_allclose(raw[0], raw[1], atol=1e-4 if lib is XGB else 1e-5)
    auc = [roc_auc_score(y, lib.predict(b, X, raw=True)) for b in (plain, after)]
    # ties apart, which float32 margins may make or break when shifted
    assert auc[0] == pytest.approx(auc[1], abs=1e-6 if lib is XGB else 1e-12)


@both
@pytest.mark.parametrize("objective", [go.offset_logloss_objective, go.weighted_logloss_objective])
def test_early_stopping_on_a_downsampled_set_weighted_back(lib: Library, objective, population):
    X, y, _ = population
    train = downsampled(y[:30_000], RATE, 1)
    held = 30_000 + downsampled(y[30_000:], RATE, 2)
    data = lib.data(X[train], y[train])
    valid = lib.data(X[held], y[held], reference=data)
    metric = go.weighted_logloss_metric(RATE)
    fast = {**lib.params, "learning_rate": 0.3}
    booster = lib.train(fast, data, 200, objective=objective(RATE), metric=metric,
                        evals=[(valid, "held_out")], early_stopping_rounds=10)  # fmt: skip
    best = lib.rounds(booster)
    assert 3 < best < 190
    # by hand: all rounds, the held-out rows weighed back, scikit-learn's logloss
    if objective is go.offset_logloss_objective:  # then the model corrected afterwards agrees, too
        obj, shift = go.offset_logloss_objective(1), np.log(RATE)
    else:
        obj, shift = objective(RATE), 0.0
    full = lib.train(fast, lib.data(X[train], y[train]), best + 10, objective=obj)
    weight = np.where(y[held] == 1, 1, 1 / RATE)
    losses = [
        log_loss(y[held], expit(lib.predict(full, X[held], raw=True, rounds=k) + shift),
                 sample_weight=weight)
        for k in range(1, best + 11)
    ]  # fmt: skip
    assert np.argmin(losses) + 1 == best
    assert metric(y[held], lib.predict(booster, X[held], raw=True)) == pytest.approx(
        losses[best - 1], abs=1e-6
    )
    # and it estimates the population's, within four standard errors
    p = lib.predict(booster, X[held])
    error = weight * (-np.log(np.where(y[held] == 1, p, 1 - p)) - losses[best - 1])
    everyone = log_loss(y[30_000:], lib.predict(booster, X[30_000:]))
    assert losses[best - 1] == pytest.approx(
        everyone, abs=4 * np.sqrt((error**2).sum()) / weight.sum()
    )
    assert log_loss(y[held], p) > 3 * everyone  # unweighted it measures something else


@both
def test_rates_that_differ_by_row_are_not_needed_at_serving(lib: Library, population):
    """As in the notes of train(): negatives of segment 0 were downsampled twenty times harder."""
    X, y, p = population
    segment = X[:, 2] == 1
    rate = np.where(segment, 0.4, 0.02)
    rows = downsampled(y, rate, 3)
    c = np.log(y[rows].sum() / ((y[rows] == 0) / rate[rows]).sum())
    assert c == pytest.approx(logit(y.mean()), abs=0.1)  # an estimate from the rows kept

    def fit(start):
        data = lib.data(X[rows], y[rows], start=start)
        return lib.train(lib.params, data, 60, objective=go.offset_logloss_objective(1))

    booster = go.shift_intercept(fit(c - np.log(rate[rows])), c)
    ignoring = go.shift_intercept(
        fit(None), logit(y.mean()) - logit(y[rows].mean())
    )  # right on average, wrong in each segment
    for part in (segment, ~segment):
        found, truth = lib.predict(booster, X[part]).mean(), p[part].mean()
        # 400 to 800 positives in a segment: a noise of 5 %, and of 5 % from its negatives
        assert found == pytest.approx(truth, rel=0.12)
        assert lib.predict(ignoring, X[part]).mean() != pytest.approx(truth, rel=0.4)
    assert log_loss(y, lib.predict(booster, X)) < log_loss(y, lib.predict(ignoring, X)) - 0.003
    # without the shift the model holds the trees alone, from log-odds 0 (float32 margins of 9)
    trees = fit(c - np.log(rate[rows]))
    np.testing.assert_allclose(
        lib.predict(trees, X, raw=True) + c, lib.predict(booster, X, raw=True), atol=2e-5
    )


@both
def test_early_stopping_with_rates_by_row_sees_the_population(lib: Library, population):
    """As in the notes of train(): evals start at c and weigh their negatives 1/r."""
    X, y, _ = population
    rate = np.where(X[:, 2] == 1, 0.4, 0.02)
    kept = downsampled(y, rate, 5)
    train, held = kept[kept < 30_000], kept[kept >= 30_000]
    c = np.log(y[train].sum() / ((y[train] == 0) / rate[train]).sum())
    data = lib.data(X[train], y[train], start=c - np.log(rate[train]))
    weight = np.where(y[held] == 1, 1, 1 / rate[held])
    valid = lib.data(X[held], y[held], weight, np.full(len(held), c), reference=data)
    metric = go.weighted_logloss_metric(1)
    fast = {**lib.params, "learning_rate": 0.3}
    objective = go.offset_logloss_objective(1)
    booster = lib.train(fast, data, 200, objective=objective, metric=metric,
                        evals=[(valid, "held_out")], early_stopping_rounds=10)  # fmt: skip
    best = lib.rounds(booster)
    full = lib.train(fast, lib.data(X[train], y[train], start=c - np.log(rate[train])), best + 10,
                     objective=objective)  # fmt: skip
    losses = [
        log_loss(y[held], expit(lib.predict(full, X[held], raw=True, rounds=k) + c),
                 sample_weight=weight)
        for k in range(1, best + 11)
    ]  # fmt: skip
    assert np.argmin(losses) + 1 == best
    served = go.shift_intercept(booster, c)
    everyone = log_loss(y[30_000:], lib.predict(served, X[30_000:]))
    # 250 kept negatives of segment 0 stand for 15,000: a noise of 10 %
    assert losses[best - 1] == pytest.approx(everyone, rel=0.3)
    assert log_loss(y[held], lib.predict(served, X[held])) > 3 * everyone  # not of the population


@both
def test_rates_by_row_all_equal_are_one_rate(lib: Library, population):
    X, y, _ = population
    rows = downsampled(y, RATE, 4)
    one = lib.train(lib.params, lib.data(X[rows], y[rows]), 20,
                    objective=go.offset_logloss_objective(RATE))  # fmt: skip
    c = np.log(y[rows].sum() / ((y[rows] == 0).sum() / RATE))
    start = np.full(len(rows), c - np.log(RATE))
    by_row = lib.train(lib.params, lib.data(X[rows], y[rows], start=start), 20,
                       objective=go.offset_logloss_objective(1))  # fmt: skip
    raw = [lib.predict(b, X, raw=True) for b in (one, go.shift_intercept(by_row, c))]
    np.testing.assert_allclose(raw[0], raw[1], atol=1e-4 if lib is XGB else 1e-5)  # as above


def test_an_intercept_beyond_base_score_is_refused_and_the_way_around_works(rare):
    """One positive in a million: log-odds below XGBoost's least base_score."""
    X, y, _ = rare
    obj = go.offset_logloss_objective(1e-6)
    with pytest.raises(ValueError, match="training cannot start at -15.3.* log-odds") as refusal:
        XGB.train(XGB.params, XGB.data(X, y), 10, objective=obj)
    c = obj.measured(y).intercept
    assert f"set_base_margin(numpy.full(n, {c:.17g}))" in str(refusal.value)
    data = xgb.DMatrix(X, y)
    data.set_base_margin(np.full(len(y), c))
    booster = go.shift_intercept(XGB.train(XGB.params, data, 10, objective=obj), c)
    in_lightgbm = LGB.train(LGB.params, LGB.data(X, y), 10, objective=obj)
    for lib, model in ((XGB, booster), (LGB, in_lightgbm)):
        z = lib.predict(model, X, raw=True)
        assert z.mean() == pytest.approx(c, abs=1)
        assert roc_auc_score(y, z) > 0.9
        # sampled-space log-odds: what the loss saw
        assert expit(z - np.log(1e-6)).mean() == pytest.approx(y.mean(), rel=0.05)
