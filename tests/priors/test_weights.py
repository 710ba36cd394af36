"""prior_weights: King & Zeng's formula, what it does to a model, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from gbdt_objectives import log_odds_shift, negative_downsample, weighted_logloss_objective
from gbdt_objectives.priors import prior_weights
from tests.cases import each


@given(
    positives=st.integers(1, 50),
    negatives=st.integers(1, 50),
    tau=st.floats(1e-6, 1 - 1e-6),
)
def test_king_and_zeng(positives, negatives, tau) -> None:
    y = np.repeat([1, 0], [positives, negatives])
    s = positives / len(y)
    w = prior_weights(y, tau)
    np.testing.assert_allclose(w, np.where(y == 1, tau / s, (1 - tau) / (1 - s)), rtol=1e-12)
    assert w.mean() == pytest.approx(1, rel=1e-12)
    assert np.average(y, weights=w) == pytest.approx(tau, rel=1e-9)
    by_positive = prior_weights(y, tau, normalize="positive")
    np.testing.assert_allclose(by_positive, w / w[0], rtol=1e-12)
    # a negative weighs 1/w, the inverse of the rate at which it was kept
    shift = log_odds_shift(train_prior=s, target_prior=tau)
    assert by_positive[-1] == pytest.approx(np.exp(-shift), rel=1e-9)


def test_negatives_kept_at_a_tenth_weigh_ten() -> None:
    """Not s/tau, as the short form has it, which is 9.9 here."""
    y = np.repeat([1, 0], [10, 99])  # of 990 negatives
    assert prior_weights(y, 0.01, normalize="positive")[-1] == pytest.approx(10, rel=1e-12)


@pytest.mark.parametrize("names", [["a", "b", "c"], [0, 1, 2], [-1.5, 0.0, 7.0]])
def test_several_labels(names) -> None:
    y = np.array(names)[[0, 0, 0, 1, 1, 2]]
    tau = dict(zip(names[::-1], [0.1, 0.2, 0.7], strict=True))
    w = prior_weights(y, tau)
    np.testing.assert_allclose(w, [0.7 / 3 * 6] * 3 + [0.2 / 2 * 6] * 2 + [0.1 * 6], rtol=1e-14)
    np.testing.assert_allclose(prior_weights(y, tau | {names[0]: 0.7}), w)


def test_a_mapping_of_two_labels_is_the_float() -> None:
    y = [0, 1, 1, 0, 0]
    for normalize in ("mean", "positive"):
        np.testing.assert_array_equal(
            prior_weights(y, 0.25, normalize=normalize),
            prior_weights(y, {1: 0.25, 0: 0.75}, normalize=normalize),
        )
    assert (prior_weights(y, {0: 0.75, 1: 0.25, 2: 0}) == prior_weights(y, 0.25)).all()
    printed = prior_weights(y, {0: 0.7500004, 1: 0.2500004})  # rounded, allowed to 1e-6
    assert printed.mean() == pytest.approx(1, rel=1e-12)


def test_weighted_logistic_regression_is_that_of_all_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 2))
    true = expit(X @ [1.0, -0.5] - 4)
    y = (rng.random(len(X)) < true).astype(int)
    rows = negative_downsample(y, 0.1, random_state=rng)
    model = LogisticRegression(C=np.inf)
    model.fit(X[rows], y[rows], sample_weight=prior_weights(y[rows], y.mean()))
    p = model.predict_proba(X)[:, 1]
    assert np.abs(p / true - 1).mean() < 0.06  # 5,000 positives: 2 % in the odds, and noise
    assert p.mean() == pytest.approx(y.mean(), rel=0.03)


# bad input


@each(
    ("target_prior", "message"),
    [
        (0, "target_prior must be above 0 and below 1, found 0.0"),
        (1.0, "target_prior must be above 0 and below 1, found 1.0"),
        (np.nan, "target_prior must be finite"),
        ({0: 0.5, 1: 0.4}, "target_prior must sum to 1, found 0.9"),
        ({0: 1.0, 1: 0.0}, "target_prior must be above 0 for labels that occur .* for 1"),
        ({0: 1.5, 1: -0.5}, "target_prior must hold probabilities >= 0, found -0.5 for 1"),
        ({0: 0.9, 1: 0.2, 2: -0.1}, "target_prior must hold probabilities >= 0, found -0.1 for 2"),
        ({0: 0.5, 1: np.nan}, r"target_prior\[1\] must be finite"),
        ({0: 1.0}, "label 1 occurs in y but not in target_prior"),
        ({0: 0.5, 1: 0.3, 2: 0.2}, "target_prior gives 2 the probability 0.2, but no row of y"),
    ],
)
def test_bad_priors(target_prior, message) -> None:
    with pytest.raises(ValueError, match=message):
        prior_weights([0, 1, 0], target_prior)


@each("target_prior", ["0.1", None, True, [0.9, 0.1]])
def test_priors_of_the_wrong_kind(target_prior) -> None:
    with pytest.raises(TypeError, match="target_prior must be a number"):
        prior_weights([0, 1, 0], target_prior)


def test_an_empty_prior() -> None:
    with pytest.raises(TypeError, match="target_prior must be a mapping {label: probability}"):
        prior_weights([0, 1, 0], {})


@each("y", [[0, 0], [1, 1], [0, 1, 2], [-1, 1], [0, 1, np.nan], ["0", "1"]], ids=str)
def test_labels_that_are_not_binary(y) -> None:
    with pytest.raises(ValueError, match="y must hold the labels 0 and 1 with a float target_"):
        prior_weights(y, 0.1)


def test_positive_needs_a_positive() -> None:
    with pytest.raises(ValueError, match="y must hold the labels 0 and 1 with normalize='pos"):
        prior_weights(["a", "b"], {"a": 0.5, "b": 0.5}, normalize="positive")


@pytest.mark.parametrize("y", [[], [[0, 1]], 1])
def test_bad_shapes(y) -> None:
    with pytest.raises(ValueError, match="y must be one-dimensional and not empty"):
        prior_weights(y, 0.1)


def test_bad_normalization() -> None:
    with pytest.raises(ValueError, match="normalize must be one of 'mean', 'positive'"):
        prior_weights([0, 1], 0.1, normalize="sum")


@pytest.mark.parametrize(
    ("normalize", "expected"),
    [(None, 0.3 * 0.7), ("mean", 0.01 * 0.99), ("positive", 0.3 * 0.99)],
)
def test_mean_hessian_at_the_start_is_that_of_the_docstring(normalize, expected) -> None:
    """Mean 1 is the strongest regularisation: hessians of .0099 per row, against .21."""
    s, tau = 0.3, 0.01
    y = np.repeat([0, 1], [700, 300])
    w = None if normalize is None else prior_weights(y, tau, normalize=normalize)
    objective = weighted_logloss_objective(1)
    start = objective.measured(y, w).intercept
    assert start == pytest.approx(logit(s if w is None else tau))
    _, hessian = objective.gradient_hessian(y, np.full(1000, start), w)
    assert hessian.mean() == pytest.approx(expected)
