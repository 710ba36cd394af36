"""Rules of classes without order: against brute force, scikit-learn and other populations."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from itertools import product

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import softmax
from sklearn.metrics import (
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    matthews_corrcoef,
)
from sklearn.model_selection import cross_val_predict

from gbdt_objectives import decide
from gbdt_objectives.metrics import cost_metric
from gbdt_objectives.thresholds import DecisionRule, optimize_decisions
from gbdt_objectives.thresholds.decisions import choose_by_column
from tests.cases import each, refused

EXACT = ("macro_f1", "kappa", "macro_recall", "g_mean")
P8 = np.array([
    [0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.5, 0.2, 0.3], [0.45, 0.45, 0.1], [0.4, 0.2, 0.4],
    [0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.35, 0.3, 0.35],
])  # fmt: skip
SKLEARN = {
    "macro_f1": lambda y, p: f1_score(y, p, average="macro"), "kappa": cohen_kappa_score,
    "macro_recall": balanced_accuracy_score, "matthews": matthews_corrcoef,
}  # fmt: skip


@cache
def every_decision(n: int) -> np.ndarray:
    """All decisions of n rows of three classes."""
    return by_class(np.array(list(product(range(3), repeat=n))), 3)


def by_class(chosen: np.ndarray, K: int) -> np.ndarray:
    """Many decisions (m, n) as ones and zeros (m, K, n): whether a row is given this class."""
    return (chosen[:, None] == np.arange(K)[:, None]).astype(float)


def of_every_decision(metric: str, P: np.ndarray, given: np.ndarray) -> np.ndarray:
    """The metric of the expected counts of many decisions (m, K, n), by its textbook formula."""
    n, K = P.shape
    C = (given.reshape(-1, n) @ P).reshape(-1, K, K).swapaxes(1, 2) / n
    hit, t, m = np.einsum("mkk->mk", C), C.sum(axis=2), C.sum(axis=1)
    if metric == "macro_f1":
        return (2 * hit / (t + m)).mean(axis=1)
    if metric == "macro_recall":
        return (hit / t).mean(axis=1)
    if metric == "g_mean":
        return (hit / t).prod(axis=1) ** (1 / K)
    right, chance = hit.sum(axis=1), (t * m).sum(axis=1)
    if metric == "kappa":
        return (right - chance) / (1 - chance)
    spread = 1 - (m**2).sum(axis=1)
    several = spread > 1e-9
    below = np.sqrt((1 - (t**2).sum(axis=1)) * np.where(several, spread, 1))
    return np.where(several, (right - chance) / below, 0)


def of_rows(metric: str, P: np.ndarray, chosen: np.ndarray) -> float:
    return float(of_every_decision(metric, P, by_class(chosen[None], P.shape[1]))[0])


def sample(n: int, seed: int, prior=(0.6, 0.2, 0.12, 0.05, 0.03), spread: float = 1.3):
    """Rows of classes that are points in the plane, and their true probabilities."""
    rng, K = np.random.default_rng(seed), len(prior)
    angle = 2 * np.pi * np.arange(K) / K
    center = spread * np.column_stack([np.cos(angle), np.sin(angle)])
    y = rng.choice(K, n, p=prior)
    X = center[y] + rng.normal(size=(n, 2))
    z = np.log(prior) - ((X[:, None] - center) ** 2).sum(axis=2) / 2
    return X, y, softmax(z, axis=1)


@each("metric, value, classes", [
    ("macro_f1", 0.475619, [0, 1, 0, 1, 2, 0, 1, 2]), ("kappa", 0.214612, None),
    ("matthews", 0.228382, None), ("macro_recall", 0.502627, None), ("g_mean", 0.486653, None),
])  # fmt: skip
def test_eight_rows(metric, value, classes) -> None:
    """The best of all 3^8 decisions."""
    found = decide(P8, metric)
    assert found.tolist() == (classes or [0, 1, 2, 1, 2, 0, 1, 2])
    assert of_rows(metric, P8, found) == pytest.approx(value, abs=5e-7)
    assert of_every_decision(metric, P8, every_decision(8)).max() == pytest.approx(value, abs=5e-7)
    assert optimize_decisions(P8, metric).apply(P8).tolist() == found.tolist()


def missed_by(metric: str, spread: float, draws: int) -> np.ndarray:
    """How much better the best of all decisions of nine rows are, in each draw."""
    gaps = []
    for seed in range(draws):
        P = np.random.default_rng(seed).dirichlet(np.full(3, spread), 9)
        best = of_every_decision(metric, P, every_decision(9)).max()
        own = of_rows(metric, P, optimize_decisions(P, metric).apply(P))
        assert own == pytest.approx(of_rows(metric, P, decide(P, metric)), abs=1e-12)
        gaps.append(best - own)
    return np.array(gaps)


@pytest.mark.slow
@pytest.mark.parametrize("metric", EXACT)
def test_no_decisions_of_nine_rows_are_better(metric) -> None:
    assert missed_by(metric, 1.0, draws=20).max() < 1e-12


@pytest.mark.slow
def test_how_often_the_best_matthews_is_found() -> None:
    """It has local optima; a search from two starts found 49 of 60."""
    gaps = np.array([missed_by("matthews", spread, draws=60) for spread in (0.5, 0.7, 1.0, 2.0)])
    found = np.count_nonzero(gaps < 1e-12, axis=1)
    assert found.min() >= 49
    assert found.sum() >= 204
    assert gaps.max() < 0.026


@each("metric", [*EXACT, "matthews", "accuracy"])
@each("prior", [None, {"a": 0.2, "b": 0.3, "c": 0.5}])
def test_a_weight_is_as_many_copies(metric, prior) -> None:
    rng = np.random.default_rng(3)
    P, w = rng.dirichlet(np.ones(3), 300), rng.integers(0, 4, 300)
    arguments = {"labels": ["a", "b", "c"], "target_prior": prior}
    weighed = optimize_decisions(P, metric, sample_weight=w, **arguments)
    copied = optimize_decisions(np.repeat(P, w, axis=0), metric, **arguments)
    assert weighed.apply(P).tolist() == copied.apply(P).tolist()
    np.testing.assert_allclose(weighed.biases, copied.biases, rtol=1e-12, atol=1e-12)
    y = rng.permutation(np.repeat(["a", "b", "c"], 100))  # probabilities mixed with the labels
    P = 0.7 * P + 0.3 * (y[:, None] == ["a", "b", "c"])
    calibrated = optimize_decisions(P, metric, y_true=y, sample_weight=w, **arguments)
    rows = np.repeat(np.arange(300), w)
    copied = optimize_decisions(P[rows], metric, y_true=y[rows], **arguments)
    assert (calibrated.apply(P) == copied.apply(P)).mean() > 0.99  # the last digits of a fit
    assert calibrated.temperature == pytest.approx(copied.temperature, rel=1e-6)


@each("metric", [*SKLEARN, "g_mean"])
def test_two_classes(metric) -> None:
    """Every threshold is tried."""
    p = np.random.default_rng(1).beta(0.6, 2, 200)
    P = np.column_stack([1 - p, p])
    every = np.array([p >= t for t in [*p, 2]]).astype(int)
    best = of_every_decision(metric, P, by_class(every, 2)).max()
    for found in (decide(P, metric), optimize_decisions(P, metric).apply(P)):
        assert of_rows(metric, P, found) == pytest.approx(best, abs=1e-12)


@each("metric", ["qwk", "f1", "youden", cost_metric([[0, 1], [5, 0]])])
def test_any_metric_of_two_classes_has_a_rule(metric) -> None:
    p = np.random.default_rng(1).beta(0.6, 2, 200)
    P = np.column_stack([1 - p, p])
    assert optimize_decisions(P, metric).apply(P).tolist() == decide(P, metric).tolist()


def test_symmetric_costs_of_three_classes_have_a_rule() -> None:
    P = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    for metric in ("qwk", "linear", "mae"):
        assert optimize_decisions(P, metric).apply(P).tolist() == decide(P, metric).tolist()


@pytest.mark.slow
@each("metric", SKLEARN)
def test_on_new_rows_it_beats_the_most_probable_class(metric) -> None:
    """Overconfident and shifted probabilities: calibration undoes them. The gain that is reported
    is that of new rows within three of its standard errors, which are of 3,000 rows."""
    _, y, P = sample(3000, 0)
    _, y_new, P_new = sample(30_000, 1)
    bent = [softmax(2 * np.log(p) + [0, 0.5, -0.5, 0, 0.7], axis=1) for p in (P, P_new)]
    rule = optimize_decisions(bent[0], metric, y_true=y)
    assert rule.temperature == pytest.approx(2, rel=0.1)
    score = SKLEARN[metric]
    value = score(y_new, rule.apply(bent[1]))
    gain = value - score(y_new, bent[1].argmax(axis=1))
    assert gain > 0.003
    assert abs(rule.gain - gain) < 3 * rule.gain_error
    best = score(y_new, decide(P_new, metric))  # of true probabilities, on the rows themselves
    assert value == pytest.approx(best, abs=0.01)


@pytest.mark.slow
def test_the_error_of_the_gain_is_that_of_repeated_draws() -> None:
    gains, errors = [], []
    for seed in range(60):
        _, y, P = sample(600, seed, prior=(0.6, 0.3, 0.1))
        rule = optimize_decisions(P, "macro_f1", y_true=y)
        gains.append(rule.gain)
        errors.append(rule.gain_error)
    # the standard deviation of 60 draws is known to a tenth; the error leaves out the fits
    assert np.mean(errors) == pytest.approx(np.std(gains, ddof=1), rel=0.3)


PRIORS = (0.6, 0.2, 0.12, 0.05, 0.03), (0.25, 0.2, 0.25, 0.2, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("metric", SKLEARN)
def test_in_another_population_it_is_as_good_as_a_rule_fitted_there(metric) -> None:
    """And correcting twice is worse: the rule holds the correction."""
    _, _, P = sample(20_000, 2, PRIORS[0])
    _, y_new, there = sample(40_000, 3, PRIORS[1])
    P_new = there * np.divide(*PRIORS)  # of the model that knows the old prior
    P_new /= P_new.sum(axis=1, keepdims=True)
    rule = optimize_decisions(P, metric, target_prior=dict(enumerate(PRIORS[1])))
    score = SKLEARN[metric]
    found = score(y_new, rule.apply(P_new))
    assert found == pytest.approx(score(y_new, decide(there, metric)), abs=0.003)
    assert found > score(y_new, rule.apply(there)) + 0.005
    old = optimize_decisions(P, metric)
    if metric == "macro_recall":  # which is no matter of the prior
        assert found == pytest.approx(score(y_new, old.apply(P_new)), abs=0.003)
    else:
        assert found > score(y_new, old.apply(P_new)) + 0.005


def test_the_gain_is_that_of_the_other_population() -> None:
    _, y, P = sample(4000, 4, PRIORS[0])
    _, y_new, there = sample(60_000, 5, PRIORS[1])
    P_new = there * np.divide(*PRIORS)
    P_new /= P_new.sum(axis=1, keepdims=True)
    rule = optimize_decisions(P, "macro_f1", y_true=y, target_prior=dict(enumerate(PRIORS[1])))
    gain = SKLEARN["macro_f1"](y_new, rule.apply(P_new)) - SKLEARN["macro_f1"](
        y_new, there.argmax(axis=1)
    )
    assert abs(rule.gain - gain) < 3 * rule.gain_error


@pytest.mark.parametrize("kind", [lgb.LGBMClassifier, xgb.XGBClassifier])
def test_rules_of_trained_models(kind) -> None:
    """Out-of-fold probabilities of a booster, and labels that are words."""
    words = np.array(["fox", "cat", "dog"])
    X, y, _ = sample(2500, 6, prior=(0.75, 0.2, 0.05))
    model = kind(n_estimators=30, max_depth=3, n_jobs=1)
    if kind is lgb.LGBMClassifier:
        model.set_params(verbose=-1)
    classes, position = np.unique(words[y], return_inverse=True)
    P = cross_val_predict(model, X, position, method="predict_proba")
    rule = optimize_decisions(P, "macro_f1", y_true=words[y], labels=classes)
    X_new, y_new, _ = sample(20_000, 7, prior=(0.75, 0.2, 0.05))
    P_new = model.fit(X, position).predict_proba(X_new)
    value, plain = (
        f1_score(words[y_new], c, average="macro")
        for c in (rule.apply(P_new), classes[P_new.argmax(axis=1)])
    )
    assert value > plain + 0.005


def test_a_class_that_never_occurs_is_never_given() -> None:
    P = np.column_stack([np.zeros(200), np.random.default_rng(0).dirichlet([2, 1, 1], 200)])
    new = np.random.default_rng(1).dirichlet(np.ones(4), 500)
    for metric in ("macro_f1", "g_mean", "matthews"):
        without = decide(P[:, 1:], metric) + 1
        rule = optimize_decisions(P, metric, target_prior={0: 0, 1: 0.5, 2: 0.3, 3: 0.2})
        assert 0 not in rule.apply(new)
        assert decide(P, metric).tolist() == without.tolist()


@each("labels", [[0, 1, 2], ["b", "a", "c"], [0.5, 2.0, 3.0]])
def test_json_round_trip(labels) -> None:
    rule = optimize_decisions(P8, "macro_f1", labels=labels)
    rule = DecisionRule(rule.weights, rule.costs, labels, 1.3, [0.1, 0, -0.2], 0.01, 0.002)
    for again in (
        DecisionRule.from_json(rule.to_json()), pickle.loads(pickle.dumps(rule)),
        copy.deepcopy(rule),
    ):  # fmt: skip
        assert again.to_json() == rule.to_json()
        assert again.labels.dtype == rule.labels.dtype
        assert again.apply(P8).tolist() == rule.apply(P8).tolist()
        assert (again.gain, again.gain_error) == (0.01, 0.002)
    with pytest.raises(AttributeError):
        rule.gain = 1.0
    with pytest.raises(ValueError, match="read-only"):
        rule.weights[0] = 1.0


@refused(
    (
        {"metric": "qwk", "probability": np.full((9, 4), 0.25)},
        "metric 'qwk' weighs each pair of classes.*decide",
    ),
    ({"metric": cost_metric([[0, 1, 5], [2, 0, 1], [9, 3, 0]])}, "metric 'cost' weighs each pair"),
    ({"metric": lambda y, p, w: 0.0}, "metric is a function"),
    ({"metric": "f1_macro"}, "another name here: pass 'macro_f1'"),
    ({"probability": P8[:, 0]}, r"must be \(n, K\)"),
    ({"probability": 2 * P8}, r"must be in \[0, 1\]"),
    ({"labels": ["a", "b"]}, "labels must be 3 classes for 3 columns"),
    ({"y_true": [0, 1, 2]}, "y_true has 3 rows, but probability have 8"),
    ({"y_true": [0, 1, 2, 1, 2, 0, 1, 5]}, "y_true holds 5 at row 7"),
    ({"y_true": [0, 1, 1, 1, 0, 0, 1, 2]}, "y_true has 1 rows of class 2"),
    ({"y_true": ["a"] * 8}, "y_true has dtype", TypeError),
    ({"target_prior": [0.2, 0.3, 0.5]}, "must be a mapping", TypeError),
    ({"target_prior": {0: 0.5, 1: 0.5}}, "label 2 occurs in probability but not in target_prior"),
    ({"target_prior": {0: 0.5, 1: 0.5, 2: 0}}, "above 0 for every class, found 0 for 2"),
    ({"target_prior": {0: 0.5, 1: 0.5, 2: 0.5}}, "must sum to 1"),
    ({"sample_weight": [-1.0] * 8}, "sample_weight must not be negative"),
)
def test_bad_input(arguments) -> None:
    optimize_decisions(**{"probability": P8, "metric": "macro_f1", **arguments})


@refused(
    ({"weights": [1, 2]}, "weights has 2 rows, but labels have 3"),
    ({"costs": [0, 0, np.nan]}, "costs must be finite"),
    ({"temperature": 0}, "temperature must be above 0"),
    ({"labels": [1, 1, 2]}, "labels must be different"),
    ({"biases": [[0, 0, 0]]}, "biases"),
)
def test_a_rule_that_is_none(arguments) -> None:
    DecisionRule(**{"weights": [1, 1, 1], "costs": [0, 0, 0], "labels": [0, 1, 2], **arguments})


@refused(
    (P8[:, :2] / P8[:, :2].sum(axis=1, keepdims=True), r"must be \(n, 3\).*\[0, 1, 2\]"),
    (P8[0], "sum to 1|must be"),
    (np.log(P8), r"must be in \[0, 1\]"),
)
def test_apply_refuses(probability) -> None:
    optimize_decisions(P8, "macro_f1").apply(probability)


def test_what_is_missing_is_described_without_the_markup_of_docstrings() -> None:
    with pytest.raises(TypeError, match="any that decide takes for two classes"):
        optimize_decisions(np.full((4, 3), 1 / 3))  # type: ignore[call-arg]


def test_many_rows_are_decided_a_class_at_a_time() -> None:
    """Blocks and ties included: the first of the greatest wins."""
    rng = np.random.default_rng(0)
    P = rng.integers(1, 5, (30_000, 10)) / 8.0
    a, c = rng.integers(1, 3, 10) / 2.0, rng.integers(0, 2, 10) / 4.0
    truth = (P * a - c).argmax(axis=1)
    assert (np.sort(P * a - c, axis=1)[:, -1] == np.sort(P * a - c, axis=1)[:, -2]).any()
    assert np.array_equal(choose_by_column(np.ascontiguousarray(P.T), a, c), truth)
