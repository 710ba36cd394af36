"""What every metric must do, driven by the table in tests/contract.py."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn import config_context
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import cohen_kappa_score, f1_score, log_loss, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

import gbdt_objectives as go
from gbdt_objectives.metrics import Metric, RatioMetric
from gbdt_objectives.objectives import IDENTITY
from tests.cases import each
from tests.contract import (
    METRICS,
    NAMED,
    SEVERAL,
    MetricCase,
    softmax_gradient,
    squared_error,
    without_row,
)
from tests.metrics import checks

OF_EACH_KIND = (
    "qwk-measured", "f-beta-cut", "weighted-logloss", "class_logloss-margin", "loss-qwk",
)  # fmt: skip
"""A metric of each kind; what boosters do with all of one kind is the same."""


def test_every_metric_has_a_row() -> None:
    missing = without_row(Metric, "metrics", [case.metric for case in METRICS])
    assert not missing, f"METRICS in tests/contract.py has no row of {', '.join(missing)}"


# the best prediction is certain
@pytest.mark.filterwarnings("ignore:y_pred is 0 or 1 in every row")
@pytest.mark.parametrize("check", checks.CHECKS)
@each("case", METRICS, ids=repr)
def test_every_metric_keeps_the_contract(
    check: Callable[[MetricCase], None], case: MetricCase
) -> None:
    check(case)


@pytest.mark.filterwarnings("ignore:boosting starts at")  # the libraries start at 0
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")  # new in LightGBM 4.7
@pytest.mark.parametrize(
    ("case", "weighted"),
    [
        pytest.param(case, weighted, id=f"{case}{'-weights' * weighted}")
        for case in METRICS
        for weighted in (True, False)
        if case.name in OF_EACH_KIND
    ],
)
def test_all_four_interfaces_report_the_metric(case: MetricCase, weighted: bool) -> None:
    y, _, w = case.rows(200)
    rng = np.random.default_rng(1)
    X = np.column_stack([y + rng.normal(0, 1, 200), rng.random(200)])
    weight = w if weighted else None
    name = case.metric.name
    # a custom objective: metrics get margins
    obj = go.objective(squared_error if case.columns is None else softmax_gradient)
    outputs = {} if case.columns is None else {"num_class": case.columns}

    data = xgb.DMatrix(X, y, weight=weight)
    native: dict = {}
    booster = xgb.train(
        {"disable_default_eval_metric": 1, **outputs}, data, 2, obj=obj,
        custom_metric=case.metric.xgboost, evals=[(data, "t")], evals_result=native,
        verbose_eval=False,
    )  # fmt: skip
    prediction = booster.predict(data, output_margin=True)
    expected = case.metric(y, prediction, weight)
    assert native["t"][name][-1] == pytest.approx(expected, abs=1e-6)  # XGBoost prints with %f
    Regressor = xgb.XGBRegressor if case.columns is None else xgb.XGBClassifier
    estimator = Regressor(n_estimators=2, objective=obj, eval_metric=case.metric.xgboost)
    estimator.fit(
        X, y, sample_weight=weight, eval_set=[(X, y)], verbose=False,
        sample_weight_eval_set=None if weight is None else [weight],
    )  # fmt: skip
    assert estimator.evals_result()["validation_0"][name][-1] == native["t"][name][-1]

    record: dict = {}
    dataset = lgb.Dataset(X, y, weight=weight)
    booster = lgb.train(
        {"objective": obj, "metric": "None", "verbose": -1, **outputs}, dataset, 2,
        feval=case.metric.lightgbm, valid_sets=[dataset], valid_names=["t"],
        callbacks=[lgb.record_evaluation(record)],
    )  # fmt: skip
    expected = case.metric(y, booster.predict(X), weight)
    assert record["t"][name][-1] == pytest.approx(expected, rel=1e-9)
    Regressor = lgb.LGBMRegressor if case.columns is None else lgb.LGBMClassifier
    estimator = Regressor(n_estimators=2, objective=obj, verbose=-1)
    estimator.fit(
        X, y, sample_weight=weight, eval_set=[(X, y)], eval_metric=case.metric.lightgbm,
        eval_sample_weight=None if weight is None else [weight],
    )  # fmt: skip
    # the scikit-learn interface hands labels and weights on as float32
    (reported,) = (result[name][-1] for result in estimator.evals_result_.values())
    assert reported == pytest.approx(record["t"][name][-1], rel=1e-6)


def test_is_an_ordinary_scikit_learn_metric() -> None:
    y = np.resize([0, 1, 2, 3], 200)
    X = (y + np.random.default_rng(0).normal(0, 0.4, 200)).reshape(-1, 1)
    for metric in (go.qwk_metric((0, 3)), go.metrics.squared_error_metric()):
        scorer = make_scorer(metric, greater_is_better=metric.greater_is_better)
        assert metric.name in repr(scorer)
        scores = cross_val_score(LinearRegression(), X, y, scoring=scorer, cv=3)
        assert (scores > (0.8 if metric.greater_is_better else -0.3)).all()


LOG_ODDS, SHARE = (
    go.weighted_logloss_metric(1),
    go.weighted_logloss_metric(1, input_space="probability"),
)
SCORED = [  # a metric, what a scorer may ask of a classifier, what it may not, and the score
    (go.qwk_metric(), "predict", "decision_function", lambda y, p: kappa(y, p > 0.5)),
    (go.qwk_metric().loss, "predict", "decision_function", lambda y, p: kappa(y, p > 0.5) - 1),
    (go.metrics.squared_error_metric(), "predict", "decision_function",
     lambda y, p: -np.mean(y != (p > 0.5))),
    (LOG_ODDS, "decision_function", "predict predict_proba", lambda y, p: -log_loss(y, p)),
    (go.loss_metric(go.weighted_logloss_objective(1)), "decision_function",
     "predict predict_proba", lambda y, p: -log_loss(y, p)),
    (SHARE, "predict_proba", "predict decision_function", lambda y, p: -log_loss(y, p)),
]  # fmt: skip


def kappa(y: Any, p: Any) -> float:
    return cohen_kappa_score(y, p, weights="quadratic")


SINCE_1_4 = "response_method" in inspect.signature(make_scorer).parameters


@pytest.mark.skipif(not SINCE_1_4, reason="make_scorer has no response_method")
@each(("metric", "right", "wrong", "score"), SCORED)
def test_a_scorer_passes_what_a_metric_reads_or_is_refused(metric, right, wrong, score) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    up = metric.greater_is_better
    model = LogisticRegression().fit(X, y)
    expected = pytest.approx(score(y, model.predict_proba(X)[:, 1]), rel=1e-9)
    assert metric(model, X, y) == expected
    assert make_scorer(metric, response_method=right, greater_is_better=up)(model, X, y) == expected
    folds = cross_val_score(LogisticRegression(), X, y, scoring=metric)
    scorer = make_scorer(metric, response_method=right, greater_is_better=up)
    assert np.isfinite(folds).all()
    np.testing.assert_allclose(folds, cross_val_score(model, X, y, scoring=scorer))
    for method in wrong.split():
        scorer = make_scorer(metric, response_method=method, greater_is_better=up)
        with pytest.raises(ValueError, match=f"the scorer passes what {method} of Logistic.*_"):
            scorer(model, X, y)
    turned = make_scorer(metric, response_method=right, greater_is_better=not up)
    with pytest.warns(UserWarning, match=f"pass greater_is_better={up} to make_scorer"):
        turned(model, X, y)


@pytest.mark.skipif(not SINCE_1_4, reason="metadata routing since 1.4")
def test_routed_weights_reach_kappa_and_the_choice_of_a_grid() -> None:
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(300, 2)), rng.uniform(0.01, 5, 300)
    y = np.digitize(X[:, 0] + rng.normal(size=300), [-0.5, 0.5])
    metric = go.extended_qwk_metric()
    with config_context(enable_metadata_routing=True):
        model = LinearRegression().set_fit_request(sample_weight=True)
        found = cross_validate(
            model, X, y, params={"sample_weight": w}, scoring=metric, return_estimator=True,
            return_indices=True,
        )  # fmt: skip
        grid = GridSearchCV(model, {"fit_intercept": [True]}, scoring=metric)
        grid.fit(X, y, sample_weight=w)
    rows = zip(found["estimator"], found["indices"]["test"], strict=True)
    expected = [extended_kappa(y[at], fold.predict(X[at]), w[at]) for fold, at in rows]
    np.testing.assert_allclose(found["test_score"], expected, rtol=1e-9)
    assert grid.best_score_ == pytest.approx(np.mean(expected), rel=1e-9)


def extended_kappa(y: Any, p: Any, w: Any) -> float:
    """1 less the mean squared difference of pairs, over that of independent pairs."""
    a, b = np.average(y, weights=w), np.average(p, weights=w)
    chance = np.average((y - a) ** 2 + (p - b) ** 2, weights=w) + (a - b) ** 2
    return float(1 - np.average((y - p) ** 2, weights=w) / chance)


@pytest.mark.skipif(not SINCE_1_4, reason="make_scorer has no response_method")
def test_scorers_that_are_right_stay_so() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (X[:, 0] > 0.3).astype(int)
    model = LogisticRegression().fit(X, y)

    def of_probabilities(y_true: Any, p: Any) -> float:
        return LOG_ODDS(y_true, np.log(p) - np.log1p(-p))

    scorer = make_scorer(of_probabilities, response_method="predict_proba", greater_is_better=False)
    assert scorer(model, X, y) == pytest.approx(-log_loss(y, model.predict_proba(X)))
    cut = go.metrics.threshold_metric("f1", (0, 1), thresholds=[0.0])  # of log-odds
    scorer = make_scorer(cut, response_method="decision_function")
    assert scorer(model, X, y) == pytest.approx(f1_score(y, model.predict(X)))
    own = xgb.XGBRegressor(objective=go.weighted_logloss_objective(1), n_estimators=3).fit(X, y)
    assert make_scorer(LOG_ODDS, greater_is_better=False)(own, X, y) == pytest.approx(
        -log_loss(y, 1 / (1 + np.exp(-own.predict(X).astype(float)))), rel=1e-6
    )
    with pytest.raises(TypeError, match="LinearRegression, .* without decision_function"):
        LOG_ODDS(LinearRegression().fit(X, y), X, y)


@each("name", [name for name in SEVERAL if isinstance(NAMED[name], RatioMetric)])
def test_a_metric_of_classes_stops_scores_and_places_thresholds(name: str) -> None:
    """One object: what boosters, scikit-learn and optimize_thresholds make of it agrees."""
    rng = np.random.default_rng(0)
    y = np.resize([0, 1, 2, 3], 300)
    score = y + rng.normal(0, 0.8, 300)
    metric = go.metrics.threshold_metric(name)
    thresholds = go.optimize_thresholds(y, score, metric=metric)
    np.testing.assert_array_equal(thresholds, go.optimize_thresholds(y, score, metric=name))
    classes = go.apply_thresholds(score, thresholds)
    value = metric(y, classes)
    assert value == pytest.approx(
        go.metrics.threshold_metric(name, (0, 3), thresholds=thresholds)(y, score)
    )
    words = np.array(["low", "mid", "high", "top"])
    assert metric(words[y], words[classes], labels=words) == pytest.approx(value)
    rounded = metric(y, np.rint(score).clip(0, 3).astype(int))
    assert metric(y, score) == metric.lightgbm(y, score)[1] == rounded
    scorer = make_scorer(metric, greater_is_better=metric.greater_is_better)
    X = score.reshape(-1, 1)
    model = LogisticRegression().fit(X, y)
    sign = 1 if metric.greater_is_better else -1
    assert scorer(model, X, y) == sign * metric(y, model.predict(X))
    in_words = make_scorer(metric, greater_is_better=metric.greater_is_better, labels=words)
    model = model.fit(X, words[y])
    assert in_words(model, X, words[y]) == sign * metric(words[y], model.predict(X), labels=words)
    assert metric.exact_method == ("isotonic" if name == "qwk" else "dynamic program")


@each("name", ["matthews", "f1", "youden"])
def test_a_metric_of_two_classes_stops_scores_and_places_a_threshold(name: str) -> None:
    rng = np.random.default_rng(0)
    y = np.resize([0, 0, 1], 300)
    score = y + rng.normal(0, 0.8, 300)
    w = rng.integers(0, 3, 300).astype(float)
    metric = go.metrics.threshold_metric(name)
    thresholds = go.optimize_thresholds(y, score, metric=metric, sample_weight=w)
    cut = go.metrics.threshold_metric(metric, (0, 1), thresholds=thresholds)
    values = [metric(y, (score >= t).astype(int), w) for t in score]
    assert cut(y, score, w) == pytest.approx(max(values))
    assert cut(y, score, w) > metric(y, score, w)
    assert cut.lightgbm(y, score, w) == (name if name != "f1" else "f_beta", max(values), True)
    statistics = go.thresholds.ThresholdStatistics.empty([0, 1]).add(y, score, w)
    assert statistics.thresholds(metric=metric) == pytest.approx(thresholds)
    classifier = go.ThresholdClassifier(metric=name).fit(score, y, w)
    assert classifier.score(score, y, w) == pytest.approx(max(values))


def test_integers_are_classes_and_floats_are_scores() -> None:
    accuracy = go.metrics.threshold_metric("accuracy")
    assert accuracy([0, 1], [0, 2]) == 0.5  # a class that does not occur is wrong
    assert accuracy([0, 1], [0.2, 2.2]) == 1  # a score beyond the labels is at the last one
    for dtype in (np.int8, np.uint8, np.int64):
        y = np.arange(50, dtype=dtype)
        assert accuracy(y, y[::-1]) == 0
        assert go.metrics.threshold_metric("mae")(y, y[::-1]) == 25
    bounded = go.metrics.threshold_metric("accuracy", (0, 1))
    with pytest.raises(ValueError, match=r"y_pred must lie in label_range \(0, 1\), found 2"):
        bounded([0, 1], [0, 2])
    assert bounded([0, 1], [0, 1], labels=[0, 1]) == 1
    with pytest.raises(ValueError, match=r"labels are \[0, 1, 2\], but the metric has label_range"):
        bounded([0, 1], [0, 1], labels=[0, 1, 2])
    cut = go.metrics.threshold_metric(go.metrics.f_beta_metric(1), (0, 1), thresholds=[-2.0])
    assert cut([0, 1], [-3, -2]) == 1  # integer scores are scores where there are thresholds
    assert cut.link is None  # log-odds are cut as well
    assert go.metrics.f_beta_metric(1).link == IDENTITY
    with pytest.raises(ValueError, match="the metric has thresholds to cut scores with"):
        cut([0, 1], [0, 1], labels=[0, 1])


@pytest.mark.parametrize(
    ("base", "method"), [(RatioMetric, "ratio_costs"), (Metric, r"sums\(rows\), or score")]
)
def test_a_metric_of_ones_own_is_told_what_it_must_define(base: type[Metric], method: str) -> None:
    own: Any = type("Own", (base,), {"name": "own", "greater_is_better": False})
    with pytest.raises(NotImplementedError, match=f"^Own must define {method}"):
        own()([0, 1, 1], [0, 1, 0])


@pytest.mark.filterwarnings("ignore:y_true and y_pred hold one")
def test_an_undefined_metric_stops_training_instead_of_misleading_it() -> None:
    labels = np.zeros(10)
    data = xgb.DMatrix(np.zeros((10, 1)), labels)
    metric = go.qwk_metric((0, 1))
    for form, *evaluated in ((metric.xgboost, labels, data), (metric.lightgbm, labels, labels)):
        with pytest.raises(ValueError, match="qwk is nan on an evaluation set of 10 rows"):
            form(*evaluated)
