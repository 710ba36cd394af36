"""ThresholdClassifier: optimize_thresholds as an estimator, and its JSON."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import estimator_checks

from gbdt_objectives import ThresholdClassifier, optimize_thresholds, quadratic_weighted_kappa
from gbdt_objectives.metrics import cost_metric
from tests.cases import each, refusals_of, refused
from tests.estimators.checks import TAGS


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    latent = rng.normal(size=400)
    y = np.digitize(latent + rng.normal(size=400), [-1.2, 0, 1]) + 2
    return 3.5 + 0.6 * latent, y


@each("method", ["plugin", "exact", "nelder-mead"])
@each("prior", [None, {2: 0.4, 3: 0.3, 4: 0.2, 5: 0.1}])
def test_is_optimize_thresholds(rows, method, prior) -> None:
    score, y = rows
    w = np.random.default_rng(1).uniform(0.5, 2, size=len(y))
    classifier = clone(ThresholdClassifier(method, target_prior=prior)).fit(score, y, w)
    expected = optimize_thresholds(y, score, method=method, sample_weight=w, target_prior=prior)
    np.testing.assert_array_equal(classifier.thresholds_, expected)
    np.testing.assert_array_equal(classifier.classes_, [2, 3, 4, 5])
    column = classifier.predict(score[:, None])
    np.testing.assert_array_equal(column, classifier.predict(score))
    kappa = quadratic_weighted_kappa(y, column, sample_weight=w)
    assert classifier.score(score, y, w) == pytest.approx(kappa)


@each(
    ("metric", "method"),
    [
        ("qwk", "plugin"),
        ("accuracy", "exact"),
        (cost_metric(1 - np.eye(4)), "exact"),
        (lambda y, p, w: -np.abs(y - p).mean(), "nelder-mead"),
    ],
)
def test_the_default_method_suits_the_metric(rows, metric, method) -> None:
    score, y = rows
    default = ThresholdClassifier(metric=metric).fit(score, y)
    assert default.thresholds_method_ == method
    expected = optimize_thresholds(y, score, method=method, metric=metric)
    np.testing.assert_array_equal(default.thresholds_, expected)


def test_weight_is_repetition(rows) -> None:
    score, y = rows
    w = np.random.default_rng(1).integers(0, 3, size=len(y))
    weighted = ThresholdClassifier("exact").fit(score, y, w)
    copies = ThresholdClassifier("exact").fit(np.repeat(score, w), np.repeat(y, w))
    np.testing.assert_array_equal(weighted.thresholds_, copies.thresholds_)


def test_rounding_is_the_nearest_label() -> None:
    classifier = ThresholdClassifier("rounding", labels=[1, 2, 4]).fit([1.0, 2.0, 5.0], [1, 2, 4])
    assert classifier.predict([0, 1.4, 1.6, 2.9, 3.1]).tolist() == [1, 1, 2, 2, 4]


def test_costs_are_negated_for_score(rows) -> None:
    score, y = rows
    classifier = ThresholdClassifier("exact", metric="mae").fit(score, y)
    error = np.abs(classifier.predict(score) - y).mean()
    assert classifier.score(score, y) == pytest.approx(-error)


CHECKS = (
    "classifiers_one_label classifiers_regression_target estimator_cloneable estimator_repr "
    "estimators_dtypes estimators_fit_returns_self estimators_overwrite_params "
    "estimators_pickle estimators_unfitted fit_check_is_fitted fit_idempotent fit_score_takes_y "
    "get_params_invariance mixin_order no_attributes_set_in_init "
    "parameters_default_constructible pipeline_consistency readonly_memmap_input "
    "sample_weights_list sample_weights_pandas_series set_params valid_tag_types"
)


@TAGS
@each("check", CHECKS.split())
def test_scikit_learn_checks(check) -> None:
    """Those that can be run on one column: check_estimator itself skips such estimators."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = getattr(estimator_checks, f"check_{check}")
        run("ThresholdClassifier", ThresholdClassifier("exact"))


def test_scikit_learn(rows) -> None:
    score, y = rows
    metric = cost_metric(1 - np.eye(4))
    classifier = ThresholdClassifier("exact", labels=[2, 3, 4, 5], metric=metric)
    assert clone(classifier).get_params() == classifier.get_params()
    fitted = pickle.loads(pickle.dumps(classifier.fit(score, y)))
    np.testing.assert_array_equal(fitted.predict(score), classifier.predict(score))
    with pytest.raises(ValueError, match="has no name that JSON could hold"):
        classifier.to_json()
    assert cross_val_score(ThresholdClassifier(), score[:, None], y).min() > 0.2
    search = GridSearchCV(ThresholdClassifier(), {"method": ["plugin", "exact"]}, cv=2)
    assert search.fit(score[:, None], y).best_score_ > 0.2


@each(
    "labels",
    [None, [2, 3, 4, 5], np.array([2, 3, 4, 5], np.int8), ["fünf", 'a"b', "c", "d"],
     np.array(["x", "yy", "z", "w"], object), [0.5, 1.0, 2.5, 7.0], [7, 5, 3, 1]],
)  # fmt: skip
def test_json_round_trip_is_exact(rows, labels) -> None:
    score, y = rows
    target = y if labels is None else np.asarray(labels)[y - 2]
    classifier = ThresholdClassifier(labels=labels).fit(score, target)
    loaded = ThresholdClassifier.from_json(classifier.to_json())
    np.testing.assert_array_equal(loaded.thresholds_, classifier.thresholds_)
    np.testing.assert_array_equal(loaded.classes_, classifier.classes_)
    assert loaded.classes_.dtype == classifier.classes_.dtype
    predicted = loaded.predict(score)
    np.testing.assert_array_equal(predicted, classifier.predict(score))
    assert type(predicted.tolist()[0]) is type(target.tolist()[0])
    assert loaded.to_json() == classifier.to_json()
    assert loaded.score(score, target) == classifier.score(score, target)


def test_json_holds_infinite_thresholds() -> None:
    classifier = ThresholdClassifier("exact", labels=[0, 1, 2, 3])
    classifier.fit([0.0, 1.0, 2.0, 3.0], [1, 1, 2, 2])
    assert np.isinf(classifier.thresholds_).sum() == 2
    text = classifier.to_json()
    assert json.loads(text)["thresholds"] == ["-inf", 1.5, "inf"]
    loaded = ThresholdClassifier.from_json(text)
    np.testing.assert_array_equal(loaded.thresholds_, classifier.thresholds_)


GOOD = {
    "format": "gbdt_objectives.ThresholdClassifier/1", "method": "plugin", "metric": "qwk",
    "labels_given": True, "dtype": "i8", "labels": [0, 1, 2], "thresholds": [0.5, 1.5],
}  # fmt: skip


@refused(
    (json.dumps(GOOD)[:-9], "not complete JSON.*truncated"),
    ("", "not complete JSON"),
    ("[1, 2]", "another format, found '\\[1, 2\\]'"),
    ('{"format": "x"}', "another format, found 'x'"),
    ({"format": "gbdt_objectives.ThresholdClassifier/3"}, "another format.*/3' instead of"),
    ({"extra": 1}, "must have the keys"),
    ({"thresholds": [0.5]}, "labels must be 2 classes for 1 thresholds, found 3"),
    ({"thresholds": [1.5, 0.5]}, "thresholds must be sorted"),
    ({"thresholds": [True, 1.5]}, "thresholds must be numbers.*found True"),
    ({"thresholds": ["nan", 1.5]}, "thresholds must be numbers.*found 'nan'"),
    ({"thresholds": [float("nan"), 1.5]}, "text holds NaN"),
    ({"thresholds": [0.5, float("inf")]}, "text holds Infinity"),
    ({"thresholds": [0.5, [1]]}, "thresholds must be numbers.*found \\[1\\]"),
    ({"thresholds": [0.5, 10**400]}, "thresholds must be numbers"),
    ({"labels": [0, 1, 1]}, "labels must be different"),
    ({"labels": [0, 1, "2"]}, "labels must be a list of int"),
    ({"labels": [0, 1, 300], "dtype": "i1"}, "do not fit dtype 'i1'"),
    ({"labels": ["aa", "b", "c"], "dtype": "U1"}, "do not fit dtype 'U1'"),
    ({"labels": "abc"}, "labels must be a list of int"),
    ({"dtype": "V8"}, "dtype must be one of"),
    ({"dtype": 8}, "dtype must be one of"),
    ({"dtype": "i5"}, "do not fit dtype 'i5'"),
    ({"method": "__import__('os')"}, "method must be one of"),
    ({"metric": 3}, "metric must be a name, found 3"),
    ({"metric": "nonsense"}, "metric must be one of"),
    ({"labels_given": 1}, "labels_given must be true or false, found 1"),
    (json.dumps(GOOD)[:-1] + ', "dtype": "i4"}', "gives a key twice"),
)
def test_foreign_json_is_refused(text) -> None:
    ThresholdClassifier.from_json(json.dumps(GOOD))
    ThresholdClassifier.from_json(text if isinstance(text, str) else json.dumps(GOOD | text))


def test_json_is_text_of_a_fitted_classifier() -> None:
    with pytest.raises(NotFittedError):
        ThresholdClassifier().to_json()
    with pytest.raises(TypeError, match="text must be a str, found bytes"):
        ThresholdClassifier.from_json(b"{}")


@refused(
    ({"method": "best"}, [0, 1], [0, 1], "method must be one of.*found 'best'"),
    ({}, [[0, 1], [1, 2]], [0, 1], "\\(n, 1\\), found \\(2, 2\\)"),
    ({}, [0.0, np.nan], [0, 1], "score must be finite, found nan at row 1"),
    ({}, np.array(["0.1", "0.2"], object), [0, 1], "must hold real numbers, found str", TypeError),
    ({}, np.array([0.1, "a"], object), [0, 1], "must hold real numbers, found str", TypeError),
    ({}, [0.0, 1.0], [0, 0], "single class 0"),
    ({}, [0.0, 1.0], ["a", "b"], "pass labels=", TypeError),
    ({}, [0.0, 1.0], [0, 5], "2 rows for the 6 classes"),
    ({}, [1.0, 0.0, 0.0], [0, 1, 1], "pass -score"),
    ({"labels": [0, 0, 1]}, [0.0, 1.0], [0, 1], "found \\[0\\] more than once"),
    ({"labels": [0, 1, 2]}, [0.0, 1.0], [0, 1], "2 rows that count for 3 classes"),
    ({"method": "rounding", "labels": ["a", "b"]}, [0, 1], ["a", "b"], "rising"),
)  # fmt: skip
def test_bad_input(parameters, score, y) -> None:
    classifier = ThresholdClassifier(**parameters)
    try:
        classifier.fit(score, y)
    finally:
        with pytest.raises(NotFittedError):
            classifier.predict([0.0])


test_rounding_checks_what_it_does_not_use = refusals_of(
    lambda arguments, options: ThresholdClassifier("rounding", **options).fit(*arguments),
    (([0.1, 0.2], [0, 1, 2, 3]), {}, "score has 2 rows, but the labels have 4"),
    (([0.1, 0.2], [7, 9]), {"labels": [0, 1, 2]}, "y_true holds .*7.* not in labels"),
    (([0.1, 0.2, 0.3], [0, 1, 2]), {"metric": "nonsense"}, "nonsense"),
    (([0.1, 0.2], [0, 1], [-1, 3]), {"labels": [0, 1, 2]}, "must not be negative"),
)
