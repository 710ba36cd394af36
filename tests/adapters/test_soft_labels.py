"""Labels between 0 and 1: what XGBoost's binary:logistic and LightGBM's cross_entropy make of them,
and what refuses them."""

from __future__ import annotations

import re
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit

import gbdt_objectives as go
from gbdt_objectives.serving import load
from tests.adapters.library import XGB, Library, both
from tests.cases import each, refusals

Array = np.ndarray[Any, Any]
FACTORIES = (go.weighted_logloss_objective, go.offset_logloss_objective)
objectives = pytest.mark.parametrize("factory", FACTORIES, ids=lambda f: f.__name__)
WITHIN = {"xgboost": 1e-5, "lightgbm": 1e-6}
"""Of probabilities, as the libraries' gradients and XGBoost's margins are float32."""


def rows(n: int = 600) -> tuple[Array, Array, Array]:
    """Features, labels of which a tenth are 0 and a tenth 1, and weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = expit(X[:, 0] - X[:, 1] ** 2 + rng.normal(size=n)).astype(np.float32)
    y[: n // 10], y[n // 10 : n // 5] = 0, 1
    return X, y, rng.integers(1, 4, n).astype(float)


X, Y, W = rows()
OWN = {"xgboost": "binary:logistic", "lightgbm": "cross_entropy"}
LOSS = {"xgboost": "logloss", "lightgbm": "cross_entropy"}


def own_training(lib: Library, w: Array | None, start: float) -> tuple[Array, Array]:
    """Probabilities of the library's own objective, and its own loss by round."""
    data, record = lib.data(X, Y, w), {}
    if lib is XGB:
        params = {**lib.params, "objective": OWN[lib.name], "base_score": float(expit(start))}
        booster = xgb.train(params, data, 20, evals=[(data, "t")], evals_result=record,
                            verbose_eval=False)  # fmt: skip
    else:
        params = {**lib.params, "objective": OWN[lib.name]}
        booster = lgb.train(params, data, 20, valid_sets=[data], valid_names=["t"],
                            callbacks=[lgb.record_evaluation(record)])  # fmt: skip
    return lib.predict(booster, X), np.array(record["t"][LOSS[lib.name]])


@both
@objectives
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
def test_train_is_the_librarys_own(lib: Library, factory: Any, w: Array | None) -> None:
    """And the metrics are its own loss, in each round."""
    objective, record = factory(1), {}
    start = objective.measured(Y, w).intercept
    mean = np.average(Y.astype(float), weights=w)
    assert start == pytest.approx(np.log(mean / (1 - mean)), rel=1e-6)  # of float32 labels
    expected, losses = own_training(lib, w, start)
    data = lib.data(X, Y, w)
    booster = lib.train(
        lib.params, data, 20, objective=objective, metric=go.weighted_logloss_metric(1),
        evals=[(data, "t")], **lib.recording(record),
    )  # fmt: skip
    found, margin = lib.predict(booster, X), lib.predict(booster, X, raw=True)
    np.testing.assert_allclose(found, expected, rtol=0, atol=WITHIN[lib.name])
    np.testing.assert_allclose(record["t"]["weighted_logloss"], losses, rtol=0, atol=1e-6)
    for metric, score in (
        (go.weighted_logloss_metric(1), margin), (go.loss_metric(objective), margin),
        (go.weighted_logloss_metric(1, input_space="probability"), found),
    ):  # fmt: skip
        assert metric(Y, score, w) == pytest.approx(losses[-1], abs=1e-6)


@both
@objectives
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.filterwarnings("ignore:boosting starts", "ignore:.*in all rows, and the model does")
def test_a_plain_call_is_the_librarys_own(lib: Library, factory: Any, w: Array | None) -> None:
    objective = factory(1)
    start = float(objective.measured(Y, w).intercept)
    expected, _ = own_training(lib, w, start)
    if lib is XGB:
        data = lib.data(X, Y, w)
        booster = xgb.train({**lib.params, "base_score": start}, data, 20, obj=objective)
        margin = booster.predict(data, output_margin=True)
    else:
        data = lib.data(X, Y, w, np.full(len(Y), start))
        booster = lgb.train({**lib.params, "objective": objective}, data, 20)
        margin = booster.predict(X) + start
    np.testing.assert_allclose(expit(margin), expected, rtol=0, atol=WITHIN[lib.name])


@both
def test_a_regressor_predicts_probabilities(lib: Library, tmp_path) -> None:
    """As do the folder that serves it, and the library's own estimator with its margins."""
    objective = go.weighted_logloss_objective(1)
    expected, _ = own_training(lib, None, objective.measured(Y).intercept)
    model = lib.make(False, objective=objective, n_estimators=20)
    lib.fit(model, X, Y, [(X, Y)], go.weighted_logloss_metric(1))
    np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=WITHIN[lib.name])
    model.export(tmp_path / "model", X[:100])
    np.testing.assert_allclose(load(tmp_path / "model").predict(X), model.predict(X), rtol=1e-6)
    with pytest.raises(TypeError, match=f"use {lib.prefix}Classifier, whose predict_proba"):
        lib.make(False, objective=objective).fit(X, (Y > 0.5).astype(float))
    with pytest.raises(ValueError, match="labels between 0 and 1 are for XGBRegressor and LGBMR"):
        lib.make(True, objective=objective).fit(X, Y)
    with pytest.raises(TypeError, match="between 0 and 1 are for weighted_logloss_objective"):
        lib.make(False, objective=go.focal_objective(1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="labels between 0 and 1 are for negative_keep_rate=1"):
        lib.make(False, objective=go.offset_logloss_objective(0.1)).fit(X, Y)


@objectives
@pytest.mark.parametrize("hessian", ["exact", "bounded"])
@each("precision", [np.float32, np.float64])
def test_a_soft_label_is_two_rows(factory: Any, hessian: Any, precision: Any) -> None:
    """Of label 1 with weight y, and of label 0 with weight 1 - y: by hand and bound."""
    objective = factory(1, hessian=hessian)
    rng = np.random.default_rng(1)
    y = rng.random(60).astype(np.float32).astype(precision)
    f, w = rng.normal(0, 4, 60).astype(precision), rng.random(60).astype(precision)
    f[:4] = -1e4, 1e4, -90, 90
    both, of_both = np.repeat([1.0, 0.0], 60), np.concatenate([w * y, w * (1.0 - y)])
    twice = both, np.concatenate([f, f]), of_both
    eps = 50 * float(np.finfo(precision).eps)
    assert objective.loss(y, f, w) == pytest.approx(objective.loss(*twice), rel=eps)
    expected = [part.reshape(2, 60).sum(axis=0) for part in objective.gradient_hessian(*twice)]
    np.testing.assert_allclose(objective.gradient_hessian(y, f, w), expected, rtol=0, atol=eps)
    bound = objective.bind(y, w, start=0.5)
    again = objective.gradient_hessian(y, f + precision(0.5), w)
    np.testing.assert_allclose(bound(f), again, rtol=0, atol=2e-6)  # float32
    mixed = np.where(np.arange(60) < 30, y > 0.5, y)  # labels of both kinds in one block
    classes = objective.gradient_hessian(mixed[:30], f[:30], w[:30])
    of_mixed = [part[:30] for part in objective.gradient_hessian(mixed, f, w)]
    np.testing.assert_allclose(of_mixed, classes, rtol=0, atol=eps)  # exp of other lengths
    found, copies = objective.measured(y, w), objective.measured(*twice[::2])
    assert found.intercept == pytest.approx(copies.intercept, abs=1e-6)


def test_certain_predictions_of_soft_labels() -> None:
    metric = go.weighted_logloss_metric(1, input_space="probability")
    assert metric([0.5, 1.0, 0.0], [0.5, 1.0, 0.0]) == pytest.approx(np.log(2) / 3)
    assert metric([0.5, 0.5], [0.5, 1.0]) == np.inf
    assert go.weighted_logloss_metric(1)([0.25, 0.5], [0.0, 0.0]) == pytest.approx(np.log(2))


def test_a_weight_of_one_over_the_probability_of_being_kept_undoes_a_rate() -> None:
    """The remedy of the refusal: its loss is that of all rows in the mean, exactly so over all
    draws of a class by the label and of the rows that are kept."""
    y, f = np.array([0.1, 0.6, 0.95]), np.array([-1.0, 0.3, 2.0])
    rate, objective = 0.25, go.weighted_logloss_objective(1)
    kept = y + (1 - y) * rate  # rows that were drawn negative are kept at this rate
    total = sum(
        p * objective.loss(y[at], f[at], 1 / kept[at])
        for drawn in np.ndindex(2, 2, 2) if any(drawn)
        for at in [np.flatnonzero(drawn)]
        for p in [np.prod(np.where(drawn, kept, 1 - kept))]
    )  # fmt: skip
    assert total == pytest.approx(objective.loss(y, f), rel=1e-12)


def test_two_rows_of_a_soft_label_are_for_any_loss() -> None:
    """The remedy of the focal loss."""
    focal, y, f = go.focal_objective(0), np.array([0.1, 0.6, 0.95]), np.array([-1.0, 0.3, 2.0])
    twice = np.repeat([1.0, 0.0], 3), np.tile(f, 2), np.append(y, 1 - y)
    assert focal.loss(*twice) == pytest.approx(PLAIN.loss(y, f), rel=1e-12)


SHARES, CLASSES = np.array([0.2, 0.9, 0.4, 0.7]), np.array([0.0, 1.0, 1.0, 0.0])
MARGINS = np.array([-1.0, 2.0, 0.5, 0.1])
PLAIN = go.weighted_logloss_objective(1)
OF_ONE = go.weighted_logloss_metric(1)
OF_PROBABILITY = go.weighted_logloss_metric(1, input_space="probability")
THINS = "found 0.2 at row 0: labels between 0 and 1 are for negative_keep_rate=1; .* 1 over the pr"
TWICE = "found 0.2 at row 0: write each row twice, with label 1 and weight y, and with label 0"


def with_other(label: float) -> Array:
    return np.append(SHARES[:3], label)


test_refusals = refusals(
    *((lambda score=score: score(SHARES, CLASSES), "0 or 1 in every row, .*are they swapped?")
      for score in (OF_ONE, OF_PROBABILITY, go.loss_metric(PLAIN), PLAIN.loss, PLAIN.mean_loss,
                    PLAIN.gradient_hessian)),
    (lambda: PLAIN(SHARES, CLASSES), "margin is 0 or 1 in every row, as labels are"),
    *((lambda score=score: score(SHARES, MARGINS), THINS)
      for rate in (0.1, 0.999)
      for score in (go.weighted_logloss_metric(rate), go.weighted_logloss_objective(rate).loss,
                    go.offset_logloss_objective(rate).loss)),
    (lambda: go.offset_logloss_objective(np.full(4, 0.5)).loss(SHARES, MARGINS), THINS),
    (lambda: go.weighted_logloss_metric(0.1)(SHARES, CLASSES), "are they swapped?"),
    (lambda: go.focal_objective(2.0).loss(SHARES, MARGINS), TWICE),
    *((lambda score=score, label=label: score(with_other(label), MARGINS),
       f"found {re.escape(str(label))} at row 3: .*classes as 0 and 1, or divide percentages by 1")
      for score in (OF_ONE, PLAIN.loss, PLAIN.gradient_hessian) for label in (-0.1, 2.0, 40.0)),
    *((lambda score=score: score(with_other(np.nan), MARGINS), "finite, found nan at row 3")
      for score in (OF_ONE, PLAIN.loss, PLAIN.gradient_hessian)),
    (lambda: PLAIN.measured([0.0, 0.0]), "one class only, found label 0"),
    (lambda: go.negative_downsample(SHARES, 0.5), "encode the rare event as 1"),
    (lambda: go.calibration.expected_calibration_error(SHARES, SHARES), "must be 0 .*found 0.2"),
    (lambda: go.DownsampledClassifier(lgb.LGBMClassifier(), 0.1).fit(X, Y), "must hold classes"),
)  # fmt: skip
