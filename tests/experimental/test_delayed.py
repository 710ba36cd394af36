"""Logistic loss of labels that are still arriving: digits in both tails, the start, bad input."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit

import gbdt_objectives as go
from gbdt_objectives.experimental import delay_distribution, delayed_logloss_objective
from tests.cases import each, refusals, refused

LABELS = np.array([0.0, 1, 0, 0, 1, 0])
ARRIVED = np.array([0.2, 0.9, 1.0, 0.0, 0.3, 0.6])


def exact(y: float, z: float, F: float) -> tuple[Decimal, Decimal, Decimal]:
    """Loss, gradient and hessian by the formulas of the docstring, in 340 digits."""
    with localcontext() as context:
        context.prec = 340
        one, arrived = Decimal(1), Decimal(F)
        p = one / (one + Decimal(-z).exp())
        if y == 1:
            return -(arrived * p).ln(), p - 1, p * (1 - p)
        unseen = 1 - arrived * p
        gradient = arrived * p * (1 - p) / unseen
        return -unseen.ln(), gradient, gradient * (1 - p)


@each("y", [0.0, 1.0])
@each("F", [1e-300, 1e-9, 0.3, 0.5, 1 - 1e-9, 1 - 2**-53, 1.0])
@each("z", [-700.0, -40.0, -3.0, -1e-8, 0.0, 1e-8, 3.0, 40.0, 700.0])
def test_digits_in_both_tails(y: float, F: float, z: float) -> None:
    objective = delayed_logloss_objective([F])
    found = (objective.loss([y], [z]), *(v[0] for v in objective.gradient_hessian([y], [z])))
    for value, expected in zip(found, exact(y, z, F), strict=True):
        # a handful of roundings; what is below 1e-300 loses digits
        assert value == pytest.approx(float(expected), rel=4e-15, abs=1e-300)


@each("precision", [np.float32, np.float64])
@pytest.mark.filterwarnings("error")
def test_beyond_the_largest_exponent(precision) -> None:
    z = np.array([-1e4, -1e4, 1e4, 1e4, 1e4], precision)
    y = np.array([0.0, 1.0, 0.0, 1.0, 0.0], precision)
    objective = delayed_logloss_objective([1.0, 0.5, 1.0, 0.5, 0.75])
    gradient, hessian = objective.gradient_hessian(y, z)
    np.testing.assert_allclose(gradient, [0, -1, 1, 0, 0], atol=1e-37)
    np.testing.assert_allclose(hessian, 0, atol=1e-37)
    assert objective.loss(y, z) == pytest.approx(2e4 + 2 * np.log(2) + np.log(4), rel=1e-12)


@given(z=st.floats(-30, 30), F=st.floats(0, 1))
def test_the_hessian_is_the_expected_one_and_no_less_than_the_second_derivative(z, F) -> None:
    objective = delayed_logloss_objective([F])
    g, h = (values[0] for values in objective.gradient_hessian([0], [z]))
    p, n = expit(z), expit(-z)
    second = g * (n - p + g)
    assert h >= second - 1e-15
    if F == 1:
        assert h == pytest.approx(p * n, rel=1e-14)
    odds = F * p / (n + (1 - F) * p)
    assert h == pytest.approx(n * n * odds, rel=1e-13)  # (dq/dz)^2 / (q (1-q))


def test_all_labels_arrived_is_the_logistic_loss() -> None:
    rng = np.random.default_rng(0)
    y, z, w = rng.integers(0, 2, 60), rng.normal(-1, 4, 60), rng.random(60)
    ours, plain = delayed_logloss_objective(np.ones(60)), go.weighted_logloss_objective(1)
    np.testing.assert_allclose(
        ours.gradient_hessian(y, z, w), plain.gradient_hessian(y, z, w), rtol=1e-14
    )
    assert ours.loss(y, z, w) == pytest.approx(plain.loss(y, z, w), rel=1e-14)
    start = plain.measured(y, w).intercept
    assert ours.measured(y, w).intercept == pytest.approx(start, abs=1e-12)


def test_rows_of_no_age_count_for_nothing() -> None:
    z = np.linspace(-3, 2, 6)
    gradient, hessian = delayed_logloss_objective(ARRIVED).gradient_hessian(LABELS, z)
    assert gradient[3] == hessian[3] == 0
    kept = np.arange(6) != 3
    fewer = delayed_logloss_objective(ARRIVED[kept]).loss(LABELS[kept], z[kept])
    # the same five positive terms, in another order
    assert delayed_logloss_objective(ARRIVED).loss(LABELS, z) == pytest.approx(fewer, rel=1e-15)


@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans(), least=st.floats(1e-6, 1))
def test_the_start_has_the_least_loss(seed: int, weighted: bool, least: float) -> None:
    rng = np.random.default_rng(seed)
    F = least ** rng.random(30)
    y = rng.permutation(np.arange(30) < rng.integers(1, 30)).astype(float)
    F[np.argmin(y)] = 1.0  # a certain negative, so that the best p is below 1
    w = rng.random(30) + 0.01 if weighted else None
    objective = delayed_logloss_objective(F).measured(y, w)
    gradient, _ = objective.gradient_hessian(y, np.full(30, objective.intercept), w)
    # of a sum of 30 gradients; t of the certain negative is up to 3,000, known to 1e-13
    assert abs(gradient.sum()) < 1e-9
    assert objective.measured([0, 1] * 15) is objective


def test_the_start_counts_weights_as_copies_in_any_unit() -> None:
    w = np.array([1.0, 2, 3, 1, 2, 1])
    objective = delayed_logloss_objective(ARRIVED)
    start = objective.measured(LABELS, w).intercept
    assert start > np.log(3 / 7)  # more than have arrived
    at = np.repeat(np.arange(6), w.astype(int))
    copies = delayed_logloss_objective(ARRIVED[at]).measured(LABELS[at])
    assert copies.intercept == pytest.approx(start, abs=1e-12)
    for unit in (1e-9, 1e9):
        found = objective.measured(LABELS, w * unit).intercept
        assert found == pytest.approx(start, abs=1e-12)


@each("make", [delayed_logloss_objective,
               lambda F: delayed_logloss_objective().with_rows({"arrived": F})])  # fmt: skip
@refused(
    ([0.1, 1.5], r"arrived must be in \[0, 1\], found 1.5 at row 1: it is F\(age"),
    ([-0.1, 1], "found -0.1 at row 0"),
    ([3, 30], "found 3.0 at row 0: .* not the age"),
    ([0.1, np.nan], "arrived must be finite, found nan at row 1"),
    ([True, False], "found True and False: it is not whether the label has arrived", TypeError),
    ([], "arrived is empty"),
    (0.5, "arrived must be one-dimensional"),
    ([[0.5]], "arrived must be one-dimensional"),
    (["0.5"], "arrived must hold real numbers", TypeError),
)  # fmt: skip
def test_bad_probabilities(make, arrived) -> None:
    make(arrived)


def test_a_label_that_cannot_have_arrived_is_refused() -> None:
    objective, z = delayed_logloss_objective([0.5, 0.0]), np.zeros(2)
    message = "arrived must be above 0 where y_true is 1.*, found 0.0 at row 1: is its age right"
    for call in (
        lambda: objective([0, 1], z),
        lambda: objective.loss([0, 1], z),
        lambda: objective.bind([0, 1]),
        lambda: objective.measured([0, 1]),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    objective([1, 0], z)


def test_it_is_a_value_of_its_rows() -> None:
    objective = delayed_logloss_objective(ARRIVED)
    assert objective == delayed_logloss_objective(ARRIVED.tolist())
    assert objective == delayed_logloss_objective().with_rows({"arrived": ARRIVED})
    assert objective.without_rows() == delayed_logloss_objective()
    assert objective.take([5, 0]) == delayed_logloss_objective(ARRIVED[[5, 0]])
    assert "Arrived(6 rows, 0 to 1)" in repr(objective)
    assert objective.link == "logit"
    np.testing.assert_allclose(objective.class_probability([0.0]), [[0.5, 0.5]])


def test_a_distribution_that_is_not_called() -> None:
    distribution = delay_distribution([1, 1, 2, 5, 5, 9], [0, 1, 1, 2, 1, 4])
    with pytest.raises(TypeError, match=r"arrived is the distribution of delays itself: call it"):
        delayed_logloss_objective(distribution)


test_refusals = refusals(
    *((lambda F=F, y=y: delayed_logloss_objective(F).measured(y),
     "arrived is too small for the labels, found weight 1")
      for F, y in [([0.5, 0.5], [0, 1]), ([0.1, 0.1, 0.1], [1, 0, 0]), ([1.0, 0.0], [1, 0])]),
    *((lambda label=label: delayed_logloss_objective([0.5] * 3).measured([label] * 3),
     "one class only") for label in (0, 1)),
    (lambda: delayed_logloss_objective(ARRIVED)([0, 1], [0, 0]),
     r"y_true has 2 rows, but arrived has 6: .*delayed_logloss_objective\(\) and pass"),
    (lambda: delayed_logloss_objective()([0, 1], [0, 0]),
     r"needs arrived of each row, but has only its name"),
)  # fmt: skip
