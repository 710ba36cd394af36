"""estimate_performance and compare_performance against loops written out, the jackknife and
scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    adjusted_rand_score,
    brier_score_loss,
    cohen_kappa_score,
    f1_score,
    log_loss,
    mean_absolute_error,
    roc_auc_score,
)
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import gbdt_objectives as go
from gbdt_objectives import QWKClassifier, qwk_metric
from gbdt_objectives.evaluation import compare_performance, estimate_performance
from gbdt_objectives.evaluation.performance import nested_error, row_losses, variance_of_mean
from gbdt_objectives.metrics import cost_metric, f_beta_metric, threshold_metric
from gbdt_objectives.thresholds import methods
from tests.cases import each, refusals, refused
from tests.contract import SEVERAL

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


def data(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.digitize(X[:, 0] + 0.7 * rng.normal(size=n), [-1, 0, 1])


class Given(ClassifierMixin, BaseEstimator):
    """A model that is given: its first feature, whatever it is fitted on."""

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(int)


class Recording(Given):
    """Says what it was fitted on and asked for."""

    fits: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None, groups=None):
        self.seen_ = X[:, 1], y, groups
        return self

    def predict(self, X):
        Recording.fits.append((*self.seen_, X[:, 1]))
        return super().predict(X)


def given_data(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Predictions as the first feature, row numbers as the second."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    p = np.where(rng.random(n) < 0.6, y, rng.integers(4, size=n))
    return np.column_stack([p, np.arange(n)]), y


def seeds(repeats: int, random_state: int = 0) -> list[int]:
    return np.random.default_rng(random_state).choice(2**31 - 1, size=repeats).tolist()


def test_it_is_the_loop_of_its_docstring() -> None:
    """Accuracy, whose losses need no derivative, folds and models written out."""
    (X, y), K, R = data(), 4, 3
    scores, shifts, excess, naive = [], [], [], []
    for seed in seeds(R):
        folds = [
            test for _, test in StratifiedKFold(K, shuffle=True, random_state=seed).split(X, y)
        ]

        def hits(out, test, folds=folds):
            train = np.concatenate([fold for k, fold in enumerate(folds) if k not in out])
            model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[train], y[train])
            return model.predict(X[test]) == y[test]

        cv = [hits({k}, folds[k]) for k in range(K)]
        scores.append(np.concatenate(cv).mean())
        naive.append(np.concatenate(cv).var(ddof=1) / len(y))
        shift = []
        for k in range(K):
            others = [j for j in range(K) if j != k]
            e_in = np.concatenate([hits({j, k}, folds[j]) for j in others]).mean()
            e_cv = np.concatenate([cv[j] for j in others]).mean()
            shift.append(e_in - e_cv)
            excess.append((e_in - cv[k].mean()) ** 2 - (e_cv - cv[k].mean()) ** 2)
        shifts.append(np.mean(shift))
    V, d = np.mean(naive), np.mean(shifts)
    bias = (K - 2) / K * d
    square = V + (K - 1) / K * (np.mean(excess) - d**2) + bias**2
    square = min(max(square - (1 - 1 / R) * np.var(scores, ddof=1), V), K * V)
    found = estimate_performance(TREE, X, y, "accuracy", cv=K, n_repeats=R)
    assert found.estimate == pytest.approx(np.mean(scores), rel=1e-12)
    # losses are differences of STEP = 1e-5, of which rounding leaves 1e-11
    assert found.bias == pytest.approx(bias, abs=1e-10)
    assert found.naive_error == pytest.approx(np.sqrt(V), rel=1e-8)
    assert found.standard_error == pytest.approx(np.sqrt(square), rel=1e-8)
    assert found.standard_error > found.naive_error * 1.0001  # the excess takes part
    z = norm.ppf(0.95)
    assert found.interval[0] == pytest.approx(found.estimate - z * found.standard_error)
    assert found.interval[1] == pytest.approx(found.estimate + z * found.standard_error)


def test_score_and_folds_are_scikit_learns() -> None:
    X, y = data()
    found = estimate_performance(TREE, X, y, "qwk", n_repeats=2)
    assert found.fold_scores.shape == (2, 5)
    for r, seed in enumerate(seeds(2)):
        expected = cross_val_score(
            TREE,
            X,
            y,
            cv=StratifiedKFold(5, shuffle=True, random_state=seed),
            scoring=lambda model, X, y: cohen_kappa_score(
                y, model.predict(X), weights="quadratic", labels=range(4)
            ),
        )
        np.testing.assert_allclose(found.fold_scores[r], expected, rtol=1e-12)


METRICS = {
    **{name: threshold_metric(name) for name in SEVERAL},
    "cost": cost_metric(np.arange(16).reshape(4, 4) % 5),
}


@each("name", METRICS)
def test_row_losses_are_the_jackknifes(name) -> None:
    """(n - 1) times what a row adds, Efron (1982), The jackknife, section 3."""
    X, y = given_data(2000)
    p, n = X[:, 0].astype(int), len(y)
    C = np.bincount(4 * y + p, minlength=16).reshape(4, 4).astype(float)
    value = METRICS[name].of_counts
    g = row_losses(value, C)
    assert (g * C).sum() / n == pytest.approx(0, abs=1e-4)  # STEP times the curvature
    without = np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            one = C.copy()
            one[i, j] -= 1
            without[i, j] = value(one)
    jackknife = (n - 1) * (value(C) - without)
    # they differ by 1/n of the curvature, 40 for macro recall
    np.testing.assert_allclose(g, jackknife, atol=0.03)
    found = estimate_performance(Given(), X, y, METRICS[name], n_repeats=2)
    error = np.sqrt((n - 1) / n * (C * (without - value(C)) ** 2).sum())
    assert found.naive_error == pytest.approx(error, rel=0.01)


def test_a_model_that_is_given_has_the_error_of_a_mean() -> None:
    """Nothing is trained: no correction, no excess, whatever the folds."""
    X, y = given_data()
    found = estimate_performance(Given(), X, y, "accuracy", n_repeats=3)
    a = accuracy_score(y, X[:, 0])
    assert found.estimate == pytest.approx(a, rel=1e-12)
    assert found.bias == pytest.approx(0, abs=1e-12)
    assert found.standard_error == pytest.approx(np.sqrt(a * (1 - a) / (len(y) - 1)), rel=1e-8)


def test_no_row_is_judged_by_a_model_that_saw_it() -> None:
    X, y = given_data()
    Recording.fits.clear()
    group = np.arange(len(y)) // 5
    estimate_performance(Recording(), X, y, "accuracy", n_repeats=2, groups=group)
    assert len(Recording.fits) == 2 * 15
    for seen, labels, groups, judged in Recording.fits:
        seen, judged = seen.astype(int), judged.astype(int)
        np.testing.assert_array_equal(labels, y[seen])
        np.testing.assert_array_equal(groups, group[seen])  # fit has that argument
        assert not np.intersect1d(group[seen], group[judged]).size
        assert len(seen) + len(judged) == len(y)


def test_groups_are_stratified_folds_and_drawn_as_a_whole() -> None:
    X, y = given_data()
    group = np.arange(len(y)) // 5
    found = estimate_performance(Given(), X, y, "accuracy", n_repeats=2, groups=group)
    for r, seed in enumerate(seeds(2)):
        splitter = StratifiedGroupKFold(5, shuffle=True, random_state=seed)
        expected = [accuracy_score(y[test], X[test, 0]) for _, test in splitter.split(X, y, group)]
        np.testing.assert_allclose(found.fold_scores[r], expected)
    means = (X[:, 0] == y).reshape(-1, 5).mean(axis=1)
    assert found.standard_error == pytest.approx(means.std(ddof=1) / np.sqrt(30), rel=1e-8)


def test_weight_counts_as_copies_in_one_group() -> None:
    X, y = given_data(60)
    w = np.random.default_rng(1).integers(0, 4, size=60)
    copies = np.repeat(np.arange(60), w)
    weighted = estimate_performance(Given(), X, y, "qwk", n_repeats=2, sample_weight=w)
    repeated = estimate_performance(
        Given(), X[copies], y[copies], "qwk", n_repeats=2, groups=copies, labels=range(4)
    )
    for name in ("estimate", "standard_error", "naive_error"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-8)


def test_rows_of_weight_0_are_left_out() -> None:
    X, y = data()
    w = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    some = w > 0
    all_rows = estimate_performance(TREE, X, y, n_repeats=2, sample_weight=w)
    weighed = estimate_performance(TREE, X[some], y[some], n_repeats=2, sample_weight=w[some])
    assert all_rows.estimate == weighed.estimate
    assert all_rows.standard_error == weighed.standard_error
    plain = estimate_performance(TREE, X[some], y[some], n_repeats=2)
    assert plain.estimate != weighed.estimate


@pytest.mark.slow
def test_labels_of_any_kind() -> None:
    X, y = data()
    names = np.array(["poor", "fair", "good", "best"])
    how = {"objective": None, "method": "plugin", "cv": 3}
    classifier = QWKClassifier(LinearRegression(), **how)
    expected = estimate_performance(classifier, X, y, n_repeats=2, cv=3)
    series = pd.Series(pd.Categorical(names[y], categories=names, ordered=True))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for given, labels in ((series, None), (series.to_numpy(), names), (series.array, None)):
        ours = QWKClassifier(LinearRegression(), labels=labels, **how)
        found = estimate_performance(ours, frame, given, n_repeats=2, cv=3, labels=labels)
        assert found.estimate == pytest.approx(expected.estimate, rel=1e-12)
        assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-9)


@pytest.mark.parametrize(
    "metric", [lambda y, p, w: accuracy_score(y, p, sample_weight=w), threshold_metric("accuracy")]
)
def test_functions_are_metrics_too(metric) -> None:
    X, y = data()
    found = estimate_performance(TREE, X, y, metric, n_repeats=2)
    named = estimate_performance(TREE, X, y, "accuracy", n_repeats=2)
    assert found.estimate == pytest.approx(named.estimate, rel=1e-9)
    assert found.standard_error == pytest.approx(named.standard_error, rel=1e-7)
    assert found.greater_is_better


def error(y, p, w) -> float:
    return 1 - accuracy_score(y, p, sample_weight=w)


DIRECTIONS = {
    "estimate": lambda X, y: estimate_performance(TREE, X, y, error),
    "compare": lambda X, y: compare_performance(TREE, TREE, X, y, error),
    "thresholds": lambda X, y: go.optimize_thresholds(y, X[:, 0], metric=error),
    "validation": lambda X, y: go.cross_validate_thresholds(y, X[:, 0], metric=error),
    "classifier": lambda X, y: go.ThresholdClassifier(metric=error).fit(X[:, 0], y),
}


@each("door", list(DIRECTIONS))
def test_an_error_is_taken_for_the_better_the_greater_nowhere(door: str) -> None:
    with pytest.raises(ValueError, match="greater is better, found 0 of error .*: negate it"):
        DIRECTIONS[door](*data())


def same(y: Any, p: Any, w: Any) -> float:
    """A user's accuracy, which forgets the weights."""
    return float(np.mean(y == p))


def weighed(y: Any, p: Any, w: Any) -> float:
    return float(np.average(y == p, weights=w))


def doors(metric: Any, w: Any) -> dict[str, Callable[[Any, Any], Any]]:
    few: Any = {"n_repeats": 2, "cv": 3}
    return {
        "estimate": lambda X, y: estimate_performance(TREE, X, y, metric, **few),
        "compare": lambda X, y: compare_performance(TREE, TREE, X, y, metric, **few),
        "thresholds": lambda X, y: go.optimize_thresholds(
            y, X[:, 0], metric=metric, sample_weight=w),
        "validation": lambda X, y: go.cross_validate_thresholds(
            y, X[:, 0], metric=metric, sample_weight=w),
        "classifier": lambda X, y: go.ThresholdClassifier(metric=metric).fit(X[:, 0], y, w),
    }  # fmt: skip


@each("door", list(DIRECTIONS))
def test_a_function_that_ignores_the_weights_is_refused(door: str) -> None:
    X, y = data()
    y, w = (y > 1).astype(int), np.where(X[:, 1] > 0, 20.0, 1.0)
    with pytest.raises(ValueError, match=r"metric ignores .*numpy.average\(y == p, weights=w\)"):
        doors(same, w)[door](X, y)
    doors(weighed, w)[door](X, y)  # the remedy


def test_without_weights_a_function_may_ignore_them() -> None:
    X, y = data()
    y = (y > 1).astype(int)
    for w in (None, np.full(len(y), 2.0)):
        found, wanted = (doors(one, w)["thresholds"](X, y) for one in (same, weighed))
        np.testing.assert_array_equal(found, wanted)
    best = estimate_performance(TREE, X, y, weighed, n_repeats=2, cv=3).estimate
    named = estimate_performance(TREE, X, y, "accuracy", n_repeats=2, cv=3).estimate
    assert best == pytest.approx(named, rel=1e-12)  # sums of the same rows


@each("metric", [roc_auc_score, log_loss, brier_score_loss, partial(log_loss, labels=[0, 1])])
def test_a_metric_of_scores_is_not_given_classes(metric: Any) -> None:
    X, y = data()
    for door in doors(metric, None).values():
        with pytest.raises(TypeError, match="is for scores or probabilities, but gets classes"):
            door(X, (y > 1).astype(int))


@each("metric", [accuracy_score, f1_score, cohen_kappa_score, adjusted_rand_score])
def test_a_metric_of_classes_is_taken(metric: Any) -> None:
    assert not methods.reads_scores(metric)


def test_searches_pipelines_and_two_classes() -> None:
    X, y = data()
    search = GridSearchCV(TREE, {"max_depth": [1, 3]}, cv=3)
    for estimator in (search, make_pipeline(StandardScaler(), TREE)):
        found = estimate_performance(
            estimator, X, y > 1, f_beta_metric(2), n_repeats=2, cv=3, labels=[0, 1]
        )
        assert 0 < found.interval[0] < found.interval[1]


@pytest.mark.slow
def test_difference_of_two() -> None:
    X, y = data()
    deep = DecisionTreeClassifier(random_state=0)
    ab = compare_performance(TREE, deep, X, y, "mae", n_repeats=3)
    ba = compare_performance(deep, TREE, X, y, "mae", n_repeats=3)
    assert ab.difference == pytest.approx(-ba.difference, rel=1e-12)
    assert ab.standard_error == pytest.approx(ba.standard_error, rel=1e-12)
    assert ab.interval[0] == pytest.approx(-ba.interval[1], rel=1e-12)
    for part, estimator in ((ab.first, TREE), (ab.second, deep)):
        alone = estimate_performance(estimator, X, y, "mae", n_repeats=3)
        assert repr(part) == repr(alone)
        assert part.estimate == alone.estimate
    # less is better
    assert ab.difference == pytest.approx(ab.second.estimate - ab.first.estimate, rel=1e-9)
    independent = np.hypot(ab.first.standard_error, ab.second.standard_error)
    assert ab.standard_error < independent  # what is hard for both cancels
    same = compare_performance(TREE, TREE, X, y, n_repeats=2)
    assert (same.difference, same.standard_error) == (0, 0)


def test_paired_error_of_models_that_are_given() -> None:
    X, y = given_data()
    other = DummyClassifier(strategy="constant", constant=2)
    found = compare_performance(Given(), other, X, y, "accuracy", n_repeats=2)
    gain = (X[:, 0] == y).astype(float) - (y == 2)
    assert found.difference == pytest.approx(gain.mean(), rel=1e-9)
    assert found.standard_error == pytest.approx(gain.std(ddof=1) / np.sqrt(len(y)), rel=1e-8)


@pytest.mark.slow
@pytest.mark.xdist_group("two_processes")
def test_the_same_again_and_on_two_processes() -> None:
    X, y = data()
    first, again, same, other, _ = (
        estimate_performance(TREE, X, y, n_repeats=2, random_state=state, n_jobs=jobs).estimate
        for state, jobs in (
            (3, None), (3, 2), (np.random.default_rng(3), None), (4, None),
            (np.random.RandomState(3), None),
        )
    )  # fmt: skip
    assert first == again == same
    assert first != other


def test_it_prints() -> None:
    X, y = data()
    found = compare_performance(
        TREE, Given(), np.abs(X), y, "mae", n_repeats=2, confidence_level=0.95
    )
    lines = repr(found).splitlines()
    assert lines[0].startswith("gain of the first: ")
    assert "95 % interval" in lines[0]
    assert lines[1].startswith("first: mae ")
    assert lines[2].endswith("5 folds, 2 times)")
    assert lines[3].startswith("second: mae ")


def test_progress_bar(capsys) -> None:
    X, y = data()
    estimate_performance(TREE, X, y, n_repeats=2, verbose=2)
    assert "performance" in capsys.readouterr().err


def test_variance_of_a_weighted_mean() -> None:
    """Against drawing the units again."""
    rng = np.random.default_rng(0)
    v, w, unit = rng.normal(size=400), rng.exponential(size=400), np.arange(400) // 2
    means = []
    for _ in range(4000):
        times = np.bincount(rng.integers(200, size=200), minlength=200)[unit]
        means.append(np.average(v, weights=w * times))
    # 4,000 resamples give the variance within 2.2 %, its bias is of order 1/200
    assert variance_of_mean(v, w, unit) == pytest.approx(np.var(means), rel=0.08)


def test_error_stays_between_naive_and_sqrt_K_times_that() -> None:
    rng = np.random.default_rng(0)
    R, K, n = 2, 3, 30
    fold = np.stack([rng.permutation(n) % K for _ in range(R)])
    w, unit = np.ones(n), np.arange(n)
    outer = np.tile(rng.normal(size=n), (R, 1))
    for shift, factor in ((0, 1), (50, K)):
        wrong = shift * np.array([1, -1, 0])[:, None]  # by fold: no bias, all excess
        inner = np.broadcast_to(outer[:, None], (R, K, n)) + wrong
        error, naive, bias = nested_error(outer, inner, fold, w, unit)
        assert bias == pytest.approx(0, abs=1e-12)
        assert error == pytest.approx(np.sqrt(factor) * naive)


@refused(
    (dict(estimator=Ridge()), "estimator must predict classes"),
    (dict(estimator=DecisionTreeClassifier), "estimator must be", TypeError),
    (dict(estimator=StandardScaler()), "fit and predict", TypeError),
    (dict(metric="auc"), "metric must be one of"),
    (dict(metric=qwk_metric((0, 3), thresholds=[0.5, 1.5, 2.5])), "has thresholds of its own"),
    (dict(confidence_level=90), "confidence_level must be in"),
    (dict(cv=2), "cv must be a whole number >= 3"),
    (dict(cv=StratifiedKFold(5)), "cv must be a number of folds", TypeError),
    (dict(n_repeats=1), "n_repeats must be a whole number >= 2"),
    (dict(labels=[0, 1, 2]), "list every class in labels"),
    (dict(cv=61), "need at least 122 rows"),
    (dict(groups=np.arange(120) // 20), "need at least 10 groups"),
    (dict(y=np.ones(120, int)), "single class 1"),
    (dict(y=np.ones(119, int)), "y has 119 rows, but X has 120"),
    (dict(y=None), "requires y"),
    (dict(sample_weight=-np.ones(120)), "sample_weight must not be"),
    (dict(estimator=make_pipeline(TREE), sample_weight=np.ones(120)),
     "Pipeline does not accept it"),
    (dict(y=(np.arange(120) < 1).astype(int)), "one class only"),
    (dict(y=(np.arange(120) < 4).astype(int)), "the metric of fold . of repeat . is nan"),
    (dict(verbose="yes"), "verbose must be True or False", TypeError),
)  # fmt: skip
def test_bad_input(change) -> None:
    X, y = data()
    arguments = {"estimator": TREE, "y": y, "n_repeats": 2, **change}
    estimate_performance(X=X, **arguments)


test_comparisons_say_which_is_wrong = refusals(
    (lambda: compare_performance(TREE, Ridge(), *data(), n_repeats=2), "second must predict"),
)


def test_mean_absolute_error_is_of_positions() -> None:
    X, y = given_data()
    found = estimate_performance(Given(), X, y, "mae", n_repeats=2)
    assert found.estimate == pytest.approx(mean_absolute_error(y, X[:, 0]))
    assert not found.greater_is_better
