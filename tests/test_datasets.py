"""Simulated grades and clicks: their formulas, written out, and their frequencies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, roots_hermitenorm
from sklearn.linear_model import LinearRegression, LogisticRegression

from gbdt_objectives.datasets import make_clicks, make_grades
from tests.cases import each


def test_they_are_what_examples_write_by_hand() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((3000, 8))
    y = np.digitize(X[:, :4].sum(1) + rng.normal(0, 0.3, 3000), [1.2, 1.6, 2.0, 2.4, 2.8]) + 1
    for made, own in zip(make_grades(random_state=0), (X, y), strict=True):
        np.testing.assert_array_equal(made, own)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 5))
    y = (rng.random(60_000) < 1 / (1 + np.exp(6 - X[:, 0] - X[:, 1]))).astype(int)
    for made, own in zip(make_clicks(random_state=0), (X, y), strict=True):
        np.testing.assert_array_equal(made, own)


@each("labels", [(0, 1), (1, 2, 3), ("d", "c", "b", "a"), tuple(range(20))], ids=str)
def test_grades_have_the_labels_and_follow_four_features(labels: tuple[object, ...]) -> None:
    X, y = make_grades(20_000, n_features=6, labels=labels, noise=0.1, random_state=1)
    assert set(y.tolist()) == set(labels)
    position = [labels.index(label) for label in y.tolist()]
    slope = LinearRegression().fit(X, position).coef_
    np.testing.assert_allclose(slope[:4], slope[0], rtol=0.1)  # four standard errors are less
    np.testing.assert_allclose(slope[4:], 0, atol=0.1 * slope[0])


@each("intercept", [-6.0, -4.0, -2.0])
def test_clicks_are_as_frequent_as_the_log_odds_say(intercept: float) -> None:
    n = 200_000
    X, y = make_clicks(n, n_features=3, intercept=intercept, random_state=2)
    x, w = roots_hermitenorm(60)  # the sum of two features is normal with variance 2
    p = w @ expit(intercept + np.sqrt(2) * x) / w.sum()
    assert abs(y.mean() - p) < 4 * np.sqrt(p * (1 - p) / n)
    fitted = LogisticRegression(C=1e6).fit(X, y)
    np.testing.assert_allclose(fitted.coef_[0], [1, 1, 0], atol=0.15)  # of -6 an error is 0.03
    np.testing.assert_allclose(fitted.intercept_, intercept, atol=0.25)


def test_a_seed_repeats_the_rows_and_a_generator_goes_on() -> None:
    for make in (make_grades, make_clicks):
        one, again, other = (make(50, random_state=seed)[0] for seed in (3, 3, 4))
        np.testing.assert_array_equal(one, again)
        assert (one != other).all()
        rng = np.random.RandomState(0)
        first, second = (make(50, random_state=rng)[0] for _ in range(2))
        assert (first != second).all()


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="n_samples must be a whole number >= 1, found 0"):
        make_clicks(0)
    with pytest.raises(ValueError, match="n_features must be a whole number >= 4, found 3"):
        make_grades(n_features=3)
    with pytest.raises(ValueError, match="n_features must be a whole number >= 2, found 1"):
        make_clicks(n_features=1)
    with pytest.raises(ValueError, match=r"noise must be at least 0, found -0\.1"):
        make_grades(noise=-0.1)
    with pytest.raises(ValueError, match="must be in ascending order"):
        make_grades(labels=[1, 3, 2])
    with pytest.raises(TypeError, match="intercept must be a number"):
        make_clicks(intercept="rare")  # type: ignore[arg-type]
