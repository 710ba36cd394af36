"""Training on downsampled negatives: offset in training, correction after, rates by row."""

from __future__ import annotations

import ast
import copy
import importlib.util
import pickle
import re
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit, logit
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score

import gbdt_objectives as go
from gbdt_objectives import adapters, serving
from gbdt_objectives.adapters import sklearn as histogram
from gbdt_objectives.priors import LogOddsShift
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@both
def test_rates_that_differ_by_row_are_not_needed_at_serving(lib: Library, population):
    """Negatives of segment 0 were downsampled twenty times harder."""
    X, y, p = population
    segment = X[:, 2] == 1
    rates = np.where(segment, 0.4, 0.02)
    rows = go.negative_downsample(y, rates, random_state=3)
    data = lib.data(X[rows], y[rows])
    booster = lib.train(lib.params, data, 60, objective=go.offset_logloss_objective(rates[rows]))
    plain = lib.train(lib.params, lib.data(X[rows], y[rows]), 60,
                      objective=go.offset_logloss_objective(1))  # fmt: skip
    ignoring = go.shift_intercept(plain, delta=logit(y.mean()) - logit(y[rows].mean()))
    # right on average, wrong in each segment
    for part in (segment, ~segment):
        found, truth = lib.predict(booster, X[part]).mean(), p[part].mean()
        # 400 to 800 positives in a segment: a noise of 5 %, and of 5 % from its negatives
        assert found == pytest.approx(truth, rel=0.12)
        assert lib.predict(ignoring, X[part]).mean() != pytest.approx(truth, rel=0.4)
    assert log_loss(y, lib.predict(booster, X)) < log_loss(y, lib.predict(ignoring, X)) - 0.003


@both
def test_rates_of_a_pilot_give_calibrated_probabilities(lib: Library, population):
    """The pilot saw other rows; the model is judged on rows that neither of them saw."""
    X, y, p = population
    pilot_rows = downsampled(y[:10_000], 0.2, 6)
    pilot = lib.train(lib.params, lib.data(X[pilot_rows], y[pilot_rows]), 20,
                      objective=go.offset_logloss_objective(0.2))  # fmt: skip
    train, test = slice(10_000, 40_000), slice(40_000, None)
    rates = go.priors.pilot_keep_rates(y[train], lib.predict(pilot, X[train]), RATE)
    rows = go.negative_downsample(y[train], rates, random_state=7)
    booster = lib.train({**lib.params, "learning_rate": 0.1}, lib.data(X[train][rows],
                        y[train][rows]), 60,
                        objective=go.offset_logloss_objective(rates[rows]))  # fmt: skip
    assert np.ptp(rates) > 0.3
    found, truth = lib.predict(booster, X[test]), p[test]
    # 600 positives and 1,500 negatives were drawn: noises of 4 and 2.5 % of the odds, and as
    # much again in parts of them
    assert found.mean() == pytest.approx(truth.mean(), rel=0.12)
    likely = found > np.quantile(found, 0.8)
    for part in (likely, ~likely):
        assert found[part].mean() == pytest.approx(truth[part].mean(), rel=0.2)
    one_rate = lib.train(lib.params, lib.data(X[train][rows], y[train][rows]), 60,
                         objective=go.offset_logloss_objective(RATE))  # fmt: skip
    wrong = lib.predict(one_rate, X[test])  # likely events are among more negatives than it knows
    assert wrong[likely].mean() < 0.6 * truth[likely].mean()
    assert wrong[~likely].mean() > 1.5 * truth[~likely].mean()


@pytest.mark.filterwarnings("ignore:.*differs by row")  # a start per row is meant
@both
def test_rates_by_row_are_starts_by_row(lib: Library, population):
    """The same by hand, without the objective's offsets: a start in each row, moved afterwards."""
    X, y, _ = population
    rates = np.where(X[:, 2] == 1, 0.4, 0.02)
    rows = downsampled(y, rates, 3)
    objective = go.offset_logloss_objective(rates[rows])
    booster = lib.train(lib.params, lib.data(X[rows], y[rows]), 60, objective=objective)
    c = objective.measured(y[rows]).intercept
    start = c - np.log(rates[rows])
    trees = lib.train(lib.params, lib.data(X[rows], y[rows], start=start), 60,
                      objective=go.offset_logloss_objective(1))  # fmt: skip
    by_hand = go.shift_intercept(trees, delta=c)
    raw = [lib.predict(b, X, raw=True) for b in (booster, by_hand)]
    # sums of float32 gradients that differ in the last digits
    np.testing.assert_allclose(raw[0], raw[1], atol=1e-3)


@both
def test_rates_of_other_rows_are_refused(lib: Library, population):
    X, y, _ = population
    rates = np.where(X[:, 2] == 1, 0.4, 0.02)
    rows = downsampled(y, rates, 9)
    too_many = go.offset_logloss_objective(rates)  # for the rows before sampling
    data, metric = lib.data(X[rows], y[rows]), go.weighted_logloss_metric(1)
    with pytest.raises(ValueError, match=r"offset_logloss_objective\(rates\[rows\]\)"):
        lib.train(lib.params, data, 2, objective=too_many)
    with pytest.raises(ValueError, match="data has .* rows, but negative_keep_rate has 60000"):
        lib.cv(data, 2, objective=too_many, metric=metric)
    model = lib.make(True, objective=go.offset_logloss_objective(rates[rows]))
    with pytest.raises(ValueError, match="y_true has 60000 rows, but negative_keep_rate has"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="make an objective for each training part"):
        cross_val_score(model, X[rows], y[rows], cv=3, error_score="raise")
    with pytest.raises(ValueError, match="already corrects for sampling"):
        go.DownsampledClassifier(model, 0.5).fit(X[rows], y[rows])


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
    booster = go.shift_intercept(XGB.train(XGB.params, data, 10, objective=obj), delta=c)
    in_lightgbm = LGB.train(LGB.params, LGB.data(X, y), 10, objective=obj)
    for lib, model in ((XGB, booster), (LGB, in_lightgbm)):
        z = lib.predict(model, X, raw=True)
        assert z.mean() == pytest.approx(c, abs=1)
        assert roc_auc_score(y, z) > 0.9
        # sampled-space log-odds: what the loss saw
        assert expit(z - np.log(1e-6)).mean() == pytest.approx(y.mean(), rel=0.05)


def clicks():
    rng = np.random.default_rng(0)
    return rng.random((300, 2)), rng.integers(0, 2, 300)


def sampled_models():
    """Models whose objective corrects for sampling, by library, as trained, pickled and shifted."""
    X, y = clicks()
    for objective in (
        go.offset_logloss_objective(RATE), go.weighted_logloss_objective(RATE),
        go.offset_logloss_objective(np.full(300, RATE)),
    ):  # fmt: skip
        for lib in (XGB, LGB):
            booster = lib.train(lib.params, lib.data(X, y), 3, objective=objective)
            copied = pickle.loads(pickle.dumps(booster))
            yield from (booster, copied, go.shift_intercept(booster, delta=0.1))
            fitted = lib.adapter.__dict__[f"{lib.prefix}Classifier"](
                **lib.estimator, objective=objective
            ).fit(X, y)
            yield fitted.get_booster() if lib is XGB else fitted.booster_
        yield histogram.HistGradientBoostingClassifier(objective=objective).fit(X, y)
    if importlib.util.find_spec("catboost") is None:
        return
    from gbdt_objectives.adapters import catboost

    few = {"iterations": 3, "verbose": 0, "allow_writing_files": False}
    objective = go.offset_logloss_objective(RATE)
    yield catboost.CatBoostClassifier(loss_function=objective, **few).fit(X, y)


@pytest.mark.filterwarnings("ignore")
def test_a_booster_is_not_corrected_twice(tmp_path) -> None:
    rate, twice = go.log_odds_shift(negative_keep_rate=RATE), "a shift would correct twice. Leave"
    for model in sampled_models():
        for given in ({"negative_keep_rate": RATE}, {"class_keep_rates": [0.1, 1]}):
            with pytest.raises(ValueError, match=twice):
                go.shift_intercept(model, **given)
        for right in ({"delta": float(rate)}, {"delta": rate}, {"negative_keep_rate": 1.0},
                      {"shift": go.log_odds_shift(positive_keep_rate=3)}):  # fmt: skip
            go.shift_intercept(model, **right)
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 2)), rng.integers(0, 2, 300)
    for lib in (XGB, LGB):
        first = lib.train(
            lib.params, lib.data(X, y), 3, objective=go.offset_logloss_objective(RATE)
        )
        for shift in (rate, go.log_odds_shift(class_keep_rates={0: 1.1 * RATE, 1: 1})):
            with pytest.raises(ValueError, match=f"at a rate of {RATE}: .* pass delta=Log"):
                go.shift_intercept(first, shift)
        plain = go.offset_logloss_objective(1)
        uncorrected = [
            lib.train(lib.params, lib.data(X, y), 3, objective=plain),
            lib.train(lib.params, lib.data(X, y), 3, objective=plain, **{lib.earlier: first}),
        ]
        for booster in uncorrected:
            go.shift_intercept(booster, negative_keep_rate=RATE)
    first = XGB.train(XGB.params, XGB.data(X, y), 3, objective=go.offset_logloss_objective(RATE))
    first.save_model(tmp_path / "model.ubj")
    with pytest.raises(ValueError, match=twice):
        go.shift_intercept(xgb.Booster(model_file=tmp_path / "model.ubj"), rate)
    own = {"objective": "binary:logistic"}  # rounds that do not correct
    go.shift_intercept(xgb.train(own, XGB.data(X, y), 2, xgb_model=first), rate)


def ways_of_saving(model: Any, folder: Any) -> Any:
    """The model after each way in which it may be kept."""
    yield model
    yield pickle.loads(pickle.dumps(model))
    yield copy.deepcopy(model)
    if not hasattr(model, "fit"):
        own, folder = type(model), Path(tempfile.mkdtemp(dir=folder))
        model.save_model(str(folder / "saved.json"))
        yield own(model_file=str(folder / "saved.json"))
        serving.export(model, folder / "served")
        yield serving.load(folder / "served").model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "sklearn", "multi"])
def test_a_shift_is_not_made_twice(kind: str, tmp_path) -> None:
    """The mark survives saving; the same rate, or the same shift, is refused with what is right."""
    X, y = clicks()
    few, several = {"verbose": -1, "num_threads": 1}, {"objective": "multiclass", "num_class": 3}
    own = {
        "xgboost": lambda: xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(X, y), 3),
        "lightgbm": lambda: lgb.train({"objective": "binary", **few}, lgb.Dataset(X, y), 3),
        "multi": lambda: lgb.train({**few, **several}, lgb.Dataset(X, y + (X < 0.2).any(1)), 3),
        "sklearn": lambda: histogram.HistGradientBoostingClassifier(max_iter=3).fit(X, y),
    }[kind]()
    rates = {"class_keep_rates": [0.1, 1, 0.1][: 3 if kind == "multi" else 2]}
    shift = go.log_odds_shift(**rates)
    for first in (rates, {"shift": shift}):
        for model in ways_of_saving(go.shift_intercept(own, **first), tmp_path):
            for again in (first, {"shift": shift}):
                with pytest.raises(ValueError, match="shift would correct twice. Leave") as caught:
                    go.shift_intercept(model, **again)
            remedy = re.search(r"pass delta=LogOddsShift\((.*)\) to", str(caught.value))[1]
            go.shift_intercept(model, delta=LogOddsShift(ast.literal_eval(remedy)))
            for right in (
                {"delta": shift},
                {"shift": LogOddsShift(1.01 * np.asarray(shift))},
                {"class_keep_rates": [1] * np.size(shift)},
            ):
                if "shift" in first or "shift" not in right:
                    go.shift_intercept(model, **right)
            if kind != "sklearn":
                with pytest.warns(UserWarning, match="would count twice: leave shift out"):
                    serving.ServedModel(model, shift=shift)
    thinned = go.shift_intercept(go.shift_intercept(own, **rates), delta=shift)
    with pytest.raises(ValueError, match="twice"):  # whatever was done by delta=
        go.shift_intercept(thinned, **rates)


@pytest.mark.filterwarnings("ignore")
def test_a_mark_is_of_the_training_that_was_corrected() -> None:
    X, y = clicks()
    model = histogram.HistGradientBoostingClassifier(max_iter=3, warm_start=True).fit(X, y)
    moved = go.shift_intercept(model, negative_keep_rate=0.1)
    longer = copy.deepcopy(moved).set_params(max_iter=4).fit(X, y)
    go.shift_intercept(longer, negative_keep_rate=0.1)
    go.shift_intercept(moved.set_params(warm_start=False).fit(X, y), negative_keep_rate=0.1)
    few = {"objective": "binary", "verbose": -1, "num_threads": 1}
    first = go.shift_intercept(lgb.train(few, lgb.Dataset(X, y), 3), negative_keep_rate=0.1)
    on = lgb.train(few, lgb.Dataset(X, y), 2, init_model=first)
    go.shift_intercept(on, negative_keep_rate=0.1)
    unbalanced = {**few, "scale_pos_weight": 9.0}
    undone = go.shift_intercept(
        first := lgb.train(unbalanced, lgb.Dataset(X, y), 50), adapters.imbalance_shift(first)
    )
    with pytest.raises(ValueError, match="twice"):
        go.shift_intercept(undone, adapters.imbalance_shift(undone))


@pytest.mark.filterwarnings("ignore")
def test_a_mark_of_catboost(tmp_path) -> None:
    """It is in the file, and another fit, which leaves metadata there, does not count."""
    catboost = pytest.importorskip("catboost")
    X, y = clicks()
    new = partial(catboost.CatBoostClassifier, iterations=3, verbose=0, allow_writing_files=False)
    model, rate = new().fit(X, y), {"negative_keep_rate": 0.1}
    moved = go.shift_intercept(model, **rate)
    moved.save_model(str(tmp_path / "model.cbm"))
    for one in (moved, copy.deepcopy(moved), new().load_model(str(tmp_path / "model.cbm"))):
        with pytest.raises(ValueError, match="twice"):
            go.shift_intercept(one, **rate)
    go.shift_intercept(new().fit(X, y, init_model=moved), **rate)
    go.shift_intercept(moved.fit(X, y), **rate)
