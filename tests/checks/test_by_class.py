"""Rates, priors and costs are read by the names of their classes, in whatever order they stand."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import gbdt_objectives as go
from gbdt_objectives import (
    calibration,
    estimators,
    metrics,
    objectives,
    priors,
    serving,
    thresholds,
)
from tests.cases import refusals_of
from tests.checks.test_tables import arrow_table

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 2))
P = 1 / (1 + np.exp(-X[:, 0]))
B = (RNG.random(N) < P).astype(int)
W = np.array(["bad", "good"])[B]
Y = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=N), [-1, 0, 1])
PAIR = np.column_stack([1 - P, P])
LABELS = ["bad", "good"]
RATES = {0: 0.25, 1: 1.0}
PRIOR = {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}
BOOSTER = xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(X, B, nthread=1), 2)
WORDS = LogisticRegression().fit(X, W)


def words(values: dict[int, float]) -> dict[str, float]:
    return {LABELS[k]: value for k, value in values.items()}


def forms(values: dict[Any, float]) -> dict[str, Any]:
    """What says the same as a mapping, in another order."""
    turned = pd.Series(values).iloc[::-1]
    counts = pd.DataFrame({"label": [*values]}).value_counts()
    return {
        "Series": turned, "frame": turned.to_frame("rate"), "row": turned.to_frame().T,
        "mapping": dict(reversed(values.items())),
        "counts of a frame": pd.Series([*values.values()], counts.index).iloc[::-1],
    }  # fmt: skip


def train_and_target(function: Callable[..., Any], *rows: Any) -> Callable[[Any], Any]:
    def call(prior: Any) -> Any:
        return function(*rows, train_prior=prior, target_prior=[0.9, 0.1])

    return call


HALVES, OF_TWO = {0: 0.4, 1: 0.6}, words({0: 0.4, 1: 0.6})
FORWARD = np.argsort(P), np.sort(P)
DOORS: dict[str, tuple[dict[Any, float], Callable[[Any], Any]]] = {
    "correct_probability": (
        words(RATES), lambda r: go.correct_probability(PAIR, class_keep_rates=r)),
    "correct_margin": (words(RATES), lambda r: priors.correct_margin(
        np.log(PAIR), class_keep_rates=r)),
    "correct_threshold": (words(RATES), lambda r: priors.correct_threshold(
        0.5, class_keep_rates=r)),
    "log_odds_shift": (words(RATES), lambda r: go.log_odds_shift(class_keep_rates=r)),
    "a prior of log_odds_shift": (OF_TWO, train_and_target(go.log_odds_shift)),
    "a prior of a correction": (OF_TWO, train_and_target(go.correct_probability, PAIR)),
    "estimate_prior": (HALVES, lambda r: priors.estimate_prior(PAIR, r).prior),
    "shift_intercept": (RATES, lambda r: go.shift_intercept(
        BOOSTER, class_keep_rates=r).predict(xgb.DMatrix(X, nthread=1))),
    "resample_classes": (RATES, lambda r: priors.resample_classes(B, r, random_state=0)),
    "prior_weights": (words(HALVES), lambda r: priors.prior_weights(W, r)),
    "a calibrator": (RATES, lambda r: calibration.LogitCalibrator().fit(
        P, B, class_keep_rates=r).predict(P)),
    "temperature": (words(RATES), lambda r: calibration.TemperatureCalibrator(
        labels=LABELS).fit(PAIR, W, class_keep_rates=r).predict(PAIR)),
    "calibration_ratio": (RATES, lambda r: calibration.calibration_ratio(
        B, P, class_keep_rates=r)),
    "SegmentStatistics": (RATES, lambda r: calibration.SegmentStatistics.of(
        B, P, X[:, 1] > 0, class_keep_rates=r).ratios().ratio),
    "CalibratedClassifier": (words(RATES), lambda r: estimators.CalibratedClassifier(
        LogisticRegression(), cv=2).fit(X, W, class_keep_rates=r).predict_proba(X)),
    "DownsampledClassifier": (words(RATES), lambda r: estimators.DownsampledClassifier(
        LogisticRegression(), r, random_state=0).fit(X, W).predict_proba(X)),
    "empirical_probability": (words(HALVES), lambda r: calibration.empirical_probability(
        pd.DataFrame([[3, 5]], columns=LABELS), m=2, prior=r)),
    "leaf_probability": (words(HALVES), lambda r: estimators.leaf_probability(
        DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, W), X, W,
        prior=r).predict_proba(X)),
    "ProbabilityEstimationTree": (words(HALVES), lambda r: estimators.ProbabilityEstimationTree(
        DecisionTreeClassifier(max_depth=2, random_state=0), prior=r).fit(X, W).predict_proba(X)),
    "a hull": (HALVES, lambda r: calibration.ROCConvexHullCalibrator(
        m=2, prior=r).fit(P, B).predict(P)),
    "qwk_objective": (PRIOR, lambda r: go.qwk_objective(
        target_prior=r, label_range=(0, 3)).intercept),
    "kappa_objective": (PRIOR, lambda r: objectives.kappa_objective(
        "absolute", Y, target_prior=r).loss(Y, X[:, 0])),
    "optimize_thresholds": (PRIOR, lambda r: go.optimize_thresholds(
        Y, X[:, 0], target_prior=r).values),
    "ThresholdStatistics": (PRIOR, lambda r: thresholds.ThresholdStatistics.of(
        Y, X[:, 0], labels=[0, 1, 2, 3]).thresholds(target_prior=r).values),
    "optimize_decisions": (words(HALVES), lambda r: thresholds.optimize_decisions(
        PAIR, "macro_f1", labels=LABELS, target_prior=r).biases),
    "ThresholdClassifier": (HALVES, lambda r: estimators.ThresholdClassifier(
        target_prior=r).fit(P[:, None], B).thresholds_.values),
    "extended_qwk_metric": (PRIOR, lambda r: metrics.extended_qwk_metric(
        target_prior=r)(Y, X[:, 0])),
}  # fmt: skip
FORMS = [*forms(RATES)]


# the rates are not those of the labels
@pytest.mark.filterwarnings("ignore:the prior of class", "ignore:probability fits the kept rows")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("door", DOORS)
def test_numbers_of_classes_are_read_by_name(door: str, form: str) -> None:
    values, call = DOORS[door]
    # sums over the classes of a mapping are in its own order
    np.testing.assert_allclose(call(forms(values)[form]), call(values), rtol=1e-14)


def test_a_list_has_the_order_of_ascending_labels() -> None:
    for rates in ([0.25, 1.0], pd.Series([0.25, 1.0])):
        found = go.correct_probability(PAIR, class_keep_rates=rates)
        wanted = go.correct_probability(PAIR, class_keep_rates=words(RATES))
        np.testing.assert_array_equal(found, wanted)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, W)
    without_names = estimators.leaf_probability(tree, X, W, prior=pd.Series([0.4, 0.6]))
    named = estimators.leaf_probability(tree, X, W, prior=OF_TWO)
    np.testing.assert_array_equal(without_names.predict_proba(X), named.predict_proba(X))


def test_the_classes_of_a_model_are_its_own() -> None:
    boosted = HistGradientBoostingClassifier(max_iter=3).fit(X, W)
    wanted = go.correct_probability(boosted.predict_proba(X), class_keep_rates=[0.25, 1.0])
    moved = go.shift_intercept(boosted, class_keep_rates=pd.Series(words(RATES)).iloc[::-1])
    np.testing.assert_allclose(moved.predict_proba(X), wanted, rtol=1e-12)
    with pytest.raises(ValueError, match=r"labels \['bad', 'x'\], but the classes are \['bad', "):
        go.shift_intercept(boosted, class_keep_rates=pd.Series({"bad": 0.25, "x": 1.0}))


def test_parameters_by_class_stay_as_they_are_and_are_cloned() -> None:
    prior = pd.Series({1: 0.6, 0: 0.4})
    for model in (
        estimators.ThresholdClassifier(target_prior=prior),
        estimators.ProbabilityEstimationTree().set_params(prior=prior),
        estimators.QWKClassifier(DecisionTreeRegressor(), target_prior=prior),
    ):
        assert clone(clone(model)).get_params()  # which compares what it passes with what is kept


TWICE, TWO_COLUMNS = pd.Series([0.1, 0.2, 0.7], [0, 0, 1]), pd.DataFrame({"a": [1, 2], "b": 1})


test_what_names_no_classes = refusals_of(
    lambda rates: go.log_odds_shift(class_keep_rates=rates),
    (TWICE, "class_keep_rates must have one number of each class, .* names each class once"),
    (TWO_COLUMNS, "class_keep_rates must have one number of each class, .* pass one column"),
    (pd.Series({0: 0.1, "b": 1.0}), "map labels of one type to numbers.*pass a list", TypeError),
)


def test_priors_of_other_classes_than_the_other_prior() -> None:
    with pytest.raises(ValueError, match=r"target_prior has the labels .*'x'.* classes are \['a'"):
        go.log_odds_shift(train_prior={"a": 0.5, "b": 0.5}, target_prior={"a": 0.5, "x": 0.5})


# --- costs

PRICE = np.array([[0.0, 1.0], [5.0, 0.0]])  # [true, predicted], of bad and good
PRICES = pd.DataFrame(PRICE, LABELS, LABELS)
OTHER = LABELS[::-1]
GRADES = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
NAMED_COSTS = {
    "turned": PRICES.loc[OTHER, OTHER], "rows turned": PRICES.loc[OTHER],
    "columns turned": PRICES[OTHER], "rows alone": pd.DataFrame(PRICE, LABELS),
    "columns alone": pd.DataFrame(PRICE, columns=LABELS),
    "with a prefix": PRICES.loc[OTHER].add_prefix("as_").add_prefix("is_", axis=0),
    "Arrow": arrow_table(PRICES.loc[OTHER, OTHER]),
}  # fmt: skip
COST_DOORS: dict[str, Callable[[Any], Any]] = {
    "decide": lambda m: go.decide(PAIR, m, labels=LABELS) == "bad",
    "decide by columns": lambda m: go.decide(pd.DataFrame(PAIR, columns=LABELS), m),
    "optimize_decisions": lambda m: thresholds.optimize_decisions(PAIR, m, labels=LABELS).costs,
    "optimize_thresholds": lambda m: go.optimize_thresholds(W, P, metric=m, labels=LABELS).values,
    "an ordered column": lambda m: go.optimize_thresholds(
        pd.Categorical(W, LABELS, ordered=True), P, metric=m).values,
    "ThresholdStatistics": lambda m: thresholds.ThresholdStatistics.of(
        W, P, labels=LABELS).thresholds(metric=m).values,
    "a constraint": lambda m: go.optimize_thresholds(W, P, metric="youden", labels=LABELS,
        constraints={m: 0.35 if m.greater_is_better else 0.6}).values,
    "cross-validation": lambda m: go.cross_validate_thresholds(
        W, P, metric=m, labels=LABELS, cv=3, random_state=0, n_bootstrap=0).fold_score,
    "ThresholdClassifier": lambda m: estimators.ThresholdClassifier(
        metric=m, labels=LABELS).fit(P[:, None], W).score(P[:, None], W),
    "threshold_metric": lambda m: metrics.threshold_metric(m)(W, W[::-1], None, LABELS),
    "an ordered column of a metric": lambda m: m(pd.Categorical(W, LABELS, ordered=True), W[::-1]),
}  # fmt: skip


@pytest.mark.parametrize("how", ["cost_metric", "kappa_cost_metric"])
@pytest.mark.parametrize("door", COST_DOORS)
@pytest.mark.filterwarnings("ignore:probability has columns named")
def test_costs_are_read_by_the_names_of_a_frame(door: str, how: str) -> None:
    metric, call = getattr(metrics, how), COST_DOORS[door]
    wanted = call(metric(PRICE))
    for name, frame in NAMED_COSTS.items():
        np.testing.assert_array_equal(call(metric(frame)), wanted, name)


@pytest.mark.parametrize("labels", [[0, 1, 2], [1, 2, 3], [10, 20, 30]])
def test_costs_of_numbers_are_in_ascending_order(labels: list[int]) -> None:
    frame = pd.DataFrame(GRADES, labels, labels).iloc[::-1, ::-1]
    y, p = np.array(labels)[[0, 1, 2, 2, 1]], np.array(labels)[[1, 1, 0, 2, 2]]
    for metric in (metrics.cost_metric, metrics.kappa_cost_metric):
        wanted = metric(GRADES)(y, p, labels=labels)
        assert metric(frame)(y, p, labels=labels) == pytest.approx(wanted, rel=1e-14)
    if labels != [10, 20, 30]:
        how = {"label_range": (labels[0], labels[-1])}
        of_frame, of_array = (objectives.kappa_objective(m, y, **how) for m in (frame, GRADES))
        assert of_frame.loss(y, p) == pytest.approx(of_array.loss(y, p), rel=1e-14)
        ranged = metrics.threshold_metric(metrics.cost_metric(frame), how["label_range"])
        assert ranged(y, p) == pytest.approx(metrics.cost_metric(GRADES)(y, p, labels=labels))


def test_words_in_an_order_that_nothing_explains_are_refused() -> None:
    frame = PRICES.loc[OTHER, OTHER]
    for call in (
        lambda m: metrics.cost_metric(m)(B, 1 - B),
        lambda m: go.decide(PAIR, metrics.cost_metric(m)),
        lambda m: go.optimize_thresholds(B, P, metric=metrics.cost_metric(m)),
        lambda m: objectives.kappa_objective(m).loss(B, P),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"an order that nothing explains.* pass \w+.to_numpy"):
            call(frame)
        call(frame.to_numpy())
        call(PRICES)  # ascending, as the classes of an encoder
    with pytest.raises(ValueError, match=r"\['good', 'bad'\], but the classes are \['bad', 'x'\]"):
        metrics.cost_metric(frame)(["bad", "x"], ["x", "bad"], labels=["bad", "x"])
    with pytest.raises(
        ValueError, match=r"rows \['bad', 'good'\], but the columns \['no', 'yes'\]"
    ):
        metrics.cost_metric(PRICES.set_axis(["no", "yes"], axis=1))


def test_a_metric_keeps_the_names_of_its_costs() -> None:
    metric = pickle.loads(pickle.dumps(metrics.cost_metric(PRICES.loc[OTHER, OTHER])))
    assert metric == metrics.cost_metric(PRICES.loc[OTHER, OTHER]) != metrics.cost_metric(PRICES)
    assert metric(W, W[::-1], labels=LABELS) == metrics.cost_metric(PRICE)(
        W, W[::-1], labels=LABELS
    )


# --- columns


def two_numbers(y_true: Any, f: Any, w: Any) -> Any:
    return f - y_true[:, None], np.ones_like(f)


def squares(y_true: Any, f: Any, w: Any) -> Any:
    return ((f - y_true[:, None]) ** 2).sum()


def test_columns_of_words_in_an_order_that_nothing_explains() -> None:
    frame = pd.DataFrame(
        np.column_stack([PAIR / 2, np.full(N, 0.5)]), columns=["cat", "dog", "fox"]
    )
    turned = frame[["fox", "cat", "dog"]]
    y = Y % 3
    for call in (
        lambda p: metrics.class_logloss_metric(3, input_space="probability")(y, p),
        lambda p: go.correct_probability(p, class_keep_rates=[0.1, 0.2, 1.0]),
        lambda p: calibration.normalized_entropy(y, p),
    ):
        with pytest.raises(ValueError, match=r"pass \w+\[\['cat', 'dog', 'fox'\]\], or \w+.to_nu"):
            call(turned)
        np.testing.assert_array_equal(call(turned[["cat", "dog", "fox"]]), call(frame.to_numpy()))
        call(turned.to_numpy())
    location = go.objective(two_numbers, loss=squares, link="identity", outputs=2)
    outputs = pd.DataFrame(PAIR, columns=["upper", "lower"])  # which are no classes
    found = metrics.loss_metric(location)(B, outputs)
    assert found == metrics.loss_metric(location)(B, PAIR)


# --- what belongs to a model


def test_what_was_made_of_0_and_1_is_told_to_be_of_the_second_word() -> None:
    calibrator = calibration.LogitCalibrator().fit(P, B)
    cuts, of_words = (
        go.optimize_thresholds(y, WORDS.predict_proba(X)[:, 1], labels=labels)
        for y, labels in ((B, [0, 1]), (W, LABELS))
    )
    for extra in ({"calibrator": calibrator}, {"thresholds": cuts}):
        with pytest.warns(UserWarning, match=r"made of labels 0 and 1, and 1 is taken for 'good'"):
            serving.ServedModel(WORDS, **extra)
    numbers, says_no = (LogisticRegression().fit(X, y) for y in (B, np.where(B, "yes", "no")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        serving.ServedModel(WORDS, thresholds=of_words)  # the remedies
        remedy = estimators.CalibratedClassifier(WORDS, cv="prefit").fit(X, W)
        serving.ServedModel(remedy, thresholds=of_words)
        serving.ServedModel(numbers, calibrator=calibrator, thresholds=cuts)
        serving.ServedModel(says_no, calibrator=calibrator)
