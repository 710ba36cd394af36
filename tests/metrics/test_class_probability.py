"""Metrics of (n, K) predictions: scikit-learn's log_loss, the definition of the ranked score."""

from __future__ import annotations

import inspect

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, make_scorer, mean_absolute_error
from sklearn.model_selection import cross_val_score

import gbdt_objectives as go
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives.adapters.lightgbm import LGBMClassifier
from gbdt_objectives.adapters.xgboost import XGBClassifier, XGBRegressor
from tests.cases import each, refusals, refusals_of

METRICS = [go.metrics.class_logloss_metric, go.metrics.ranked_probability_score_metric]


def ranked_probability_score(y, P, w):
    """By its definition, term by term."""
    total = 0.0
    for label, row, weight in zip(y, P, w, strict=True):
        for k in range(len(row) - 1):
            total += weight * (sum(row[: k + 1]) - (label <= k)) ** 2
    return total / sum(w)


def sample(n, K, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, K, n), rng.normal(0, 3, (n, K)), rng.exponential(size=n)


@each("order", ["C", "F"])  # XGBoost's and LightGBM's
@each("dtype", [np.float32, np.float64])
@each(("n", "K"), [(300, 2), (300, 5), (140_000, 3)])  # more than a block
def test_equal_the_references(n, K, dtype, order):
    y, z, w = sample(n, K)
    z = np.asarray(z, dtype, order)
    P = softmax(z.astype(float), axis=1)
    for weight in (None, w):
        expected = log_loss(y, P, sample_weight=weight, labels=range(K))
        assert go.metrics.class_logloss_metric()(y, z, weight) == pytest.approx(expected, rel=1e-11)
        in_probability = go.metrics.class_logloss_metric(K, input_space="probability")
        assert in_probability(y, P, weight) == pytest.approx(expected, rel=1e-11)
        if n > 300:
            continue
        expected = ranked_probability_score(y, P, np.ones(n) if weight is None else w)
        metric = go.metrics.ranked_probability_score_metric
        assert metric()(y, z, weight) == pytest.approx(expected, rel=1e-11)
        assert metric(K, input_space="probability")(y, P, weight) == pytest.approx(
            expected, rel=1e-11
        )


def test_float32_probabilities_lose_only_their_own_rounding():
    y, z, _ = sample(500, 4)
    P = softmax(z, axis=1)
    found = go.metrics.class_logloss_metric(input_space="probability")(y, P.astype(np.float32))
    # a relative error of 6e-8 in P is as much in log P
    assert found == pytest.approx(log_loss(y, P), abs=1e-6)


def test_certain_predictions():
    P, y = np.eye(3), [0, 1, 2]
    logloss = go.metrics.class_logloss_metric(input_space="probability")
    ranked = go.metrics.ranked_probability_score_metric(input_space="probability")
    assert logloss(y, P) == ranked(y, P) == 0
    assert logloss([0, 1, 0], P) == np.inf
    assert logloss([0, 1, 0], P, [1, 1, 0]) == 0  # a row of weight 0 does not exist
    assert ranked([0, 1, 0], P) == pytest.approx(mean_absolute_error([0, 1, 0], [0, 1, 2]))
    far = go.metrics.class_logloss_metric()
    assert far([0, 1], [[0.0, 1e4], [0.0, 1e4]]) == 5e3  # beyond what probabilities can hold
    assert far([0], np.array([[3e38, -3e38]], np.float32)) == 0


test_bad_predictions_and_labels = refusals_of(
    lambda make, arguments, y, p: make(**arguments)(y, p),
    *((make, *row) for make in METRICS for row in [
        ({}, [0, 1], [0.2, 0.3], r"must be \(n, K\), a column per class, found shape \(2,\): for"),
        ({}, [0, 1], [[0.2], [0.3]], r"must be \(n, K\).*weighted_logloss_metric\(1\)"),
        ({"n_classes": 3}, [0, 1], [[1, 2], [3, 4]], "2 columns, but n_classes is 3: .*num_class"),
        ({}, [0, 2], [[1, 2], [3, 4]], "must be a class 0 to 1, as .*found 2 at row 1: encode"),
        ({}, [-1, 0], [[1, 2], [3, 4]], "must be a class 0 to 1"),
        ({}, [0.5, 0], [[1, 2], [3, 4]], "y_true must hold classes, found 0.5"),
        ({}, [0, 1], [[0.2, 0.3, 0.5], [0, 0, 1]], 'probabilities, as.*input_space="probability"'),
        ({"input_space": "probability"}, [0, 1], [[0, 1], [-1.5, 1]],
         r'found \[-1.5, 1.0\] at row 1: for margins use input_space="margin"'),
        ({"input_space": "probability"}, [0, 1], [[0.5, 0.4], [1, 0]], "must sum to 1, found 0.9"),
    ])
)  # fmt: skip


def thirds(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    return X, np.digitize(X[:, 0] + 0.4 * rng.normal(size=n), [0.3, 0.7])


def test_stops_the_built_in_objectives_of_both_boosters_early():
    X, y = thirds(600)
    train, stop = slice(0, 300), slice(300, 600)
    make = go.metrics.class_logloss_metric
    metric = make(3, input_space="probability")
    data = xgb.DMatrix(X[train], y[train])
    held_out = xgb.DMatrix(X[stop], y[stop])
    settings = {"objective": "multi:softprob", "num_class": 3, "disable_default_eval_metric": 1}
    booster = xgb.train(
        settings, data, 200, custom_metric=metric.xgboost, evals=[(held_out, "v")],
        early_stopping_rounds=5, verbose_eval=False,
    )  # fmt: skip
    best = booster.predict(held_out, iteration_range=(0, booster.best_iteration + 1))
    assert 0 < booster.best_iteration < 190
    assert booster.best_score == pytest.approx(metric(y[stop], best), abs=1e-6)  # printed with %f
    dataset = lgb.Dataset(X[train], y[train])
    model = lgb.train(
        {"objective": "multiclass", "num_class": 3, "metric": "None", "verbose": -1}, dataset, 200,
        feval=metric.lightgbm, valid_sets=[lgb.Dataset(X[stop], y[stop], reference=dataset)],
        callbacks=[lgb.early_stopping(5, verbose=False)],
    )  # fmt: skip
    assert 0 < model.best_iteration < 190
    score = model.best_score["valid_0"][metric.name]
    assert score == pytest.approx(metric(y[stop], model.predict(X[stop])))
    with pytest.raises(ValueError, match='input_space="probability"'):  # not taken for margins
        xgb.train(settings, data, 2, custom_metric=make(3).xgboost, evals=[(held_out, "v")])
    with pytest.raises(ValueError, match="y_pred has 3 columns, but n_classes is 4"):
        lgb.train(
            {"objective": "multiclass", "num_class": 3, "metric": "None", "verbose": -1}, dataset,
            2, feval=make(4, input_space="probability").lightgbm, valid_sets=[dataset],
        )  # fmt: skip


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")  # new in LightGBM 4.7
def test_drop_in_classifiers_stop_on_probabilities_and_refuse_margins():
    X, y = thirds(600)
    given, stop = (X[:300], y[:300]), [(X[300:], y[300:])]
    metric = go.metrics.class_logloss_metric(3, input_space="probability")
    xgb_model = XGBClassifier(n_estimators=200, eval_metric=metric, early_stopping_rounds=5)
    xgb_model.fit(*given, eval_set=stop, verbose=False)
    assert xgb_model.best_iteration < 190
    lgb_model = LGBMClassifier(n_estimators=200, verbose=-1, early_stopping_rounds=5)
    lgb_model.fit(*given, eval_set=stop, eval_metric=metric)
    assert lgb_model.best_iteration_ < 190
    for wrong in (
        go.metrics.class_logloss_metric(3),
        go.loss_metric(go.weighted_logloss_objective(1)),
    ):
        with pytest.raises(ValueError, match='takes margins.*input_space="probability"'):
            XGBClassifier(eval_metric=wrong).fit(*given, eval_set=stop)
        with pytest.raises(ValueError, match='takes margins.*input_space="probability"'):
            LGBMClassifier(verbose=-1).fit(*given, eval_set=stop, eval_metric=wrong)


def test_regressors_stop_on_a_loss_in_label_units_only():
    rng = np.random.default_rng(0)
    X = rng.random((100, 2))
    y = np.digitize(X[:, 0], [0.3, 0.7])
    kappa = go.loss_metric(go.qwk_objective())
    model = XGBRegressor(n_estimators=3, eval_metric=kappa)
    model.fit(X, y, eval_set=[(X, y)], verbose=False)
    measured = model.evals_result()["validation_0"]["loss"]
    assert measured[-1] == pytest.approx(kappa(y, model.predict(X)), rel=1e-5)  # float32
    for other in (go.ordinal_logit_objective(3), go.weighted_logloss_objective(1)):
        with pytest.raises(ValueError, match="pass objective= too"):
            XGBRegressor(eval_metric=go.loss_metric(other)).fit(X, y, eval_set=[(X, y)])


def test_is_a_scorer_of_scikit_learn():
    X, y = thirds(200)
    new = "response_method" in inspect.signature(make_scorer).parameters  # since 1.4
    asked = {"response_method": "predict_proba"} if new else {"needs_proba": True}
    metric = go.metrics.class_logloss_metric(3, input_space="probability")
    ours = make_scorer(metric, greater_is_better=False, **asked)
    found = cross_val_score(LogisticRegression(), X, y, scoring=ours)
    theirs = cross_val_score(LogisticRegression(), X, y, scoring="neg_log_loss")
    assert found == pytest.approx(theirs)


@each("make", METRICS)
def test_what_is_taken_for_probabilities(make):
    y = [0, 2]
    with pytest.raises(ValueError, match=r"probabilities in \[0, 1\], found \[1.5, 0.0, 0.0\]"):
        make(input_space="probability")(y, [[0.5, 0.25, 0.25], [1.5, 0, 0]])
    with pytest.raises(ValueError, match="which are probabilities"):
        make(input_space="margin")(y, [[0.5, 0.25, 0.25], [1, 0, 0]])
    for margins in (
        [[0.5, 0.5], [0.25, 0.75]],  # two may start at 1/2
        [[0.5, 0.25, 0.75], [0, 0, 0]],  # other sums
        [[0.5, 0.25, 0.250015], [0.5, 0.25, 0.25]],  # as float32 probabilities do not round
        [[2.0, -0.5, -0.5], [0.5, 0.25, 0.25]],
    ):
        assert np.isfinite(make(input_space="margin")([0, 1], margins))


@each("make", METRICS)
@each("n_classes", [None, 4])
def test_a_worker_without_rows_has_columns_all_the_same(make, n_classes):
    metric = make(n_classes, input_space="margin")
    with pytest.raises(ValueError, match=r"y_pred must be \(n, K\), .* found shape \(0,\)"):
        metric._read_columns(np.zeros(0))
    with _workers.some_rows():
        assert metric.read(np.empty(0), np.empty(0), None).f.shape == (0, n_classes or 2)
        assert metric._read_columns(np.zeros((3, 4))).shape == (3, 4)


test_refusals = refusals(
    *((lambda make=make, options=options: make(**options), *said) for make in METRICS
      for options, *said in [
          ({"n_classes": 1}, "n_classes must be a whole number >= 2, found 1"),
          ({"n_classes": [0, 1, 2]}, "n_classes must be a whole number", TypeError),
          ({"input_space": "label"}, "input_space must be one of"),
      ]),
    (lambda: METRICS[0](2, input_space="probability")(["a", "b"], [[0.3, 0.7], [0.5, 0.5]]),
     "y_true has dtype <U1: encode the classes as 0..K-1", TypeError),
)  # fmt: skip
