"""Focal loss: its own second derivative, probabilities, tails and arguments."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit

import gbdt_objectives as go
from gbdt_objectives.adapters.lightgbm import LGBMClassifier
from gbdt_objectives.adapters.xgboost import XGBClassifier


def reference(y: int, z: float, gamma: float, alpha: float | None) -> tuple[float, float]:
    """Loss and gradient in 120 digits."""
    with localcontext() as context:
        context.prec = 120
        a = 1 if alpha is None else Decimal(alpha) if y else 1 - Decimal(alpha)
        step = Decimal(10) ** -40

        def loss(t: Decimal) -> Decimal:
            p = 1 / (1 + (-(2 * y - 1) * t).exp())
            return -a * (1 - p) ** Decimal(gamma) * p.ln()

        up, down = loss(Decimal(z) + step), loss(Decimal(z) - step)
        return float(loss(Decimal(z))), float((up - down) / (2 * step))


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("alpha", [None, 0.25])
def test_loss_and_gradient_in_both_tails(gamma, alpha) -> None:
    obj = go.focal_objective(gamma, alpha)
    for z in (-80.0, -17.0, -3.0, -0.1, 0.0, 2.0, 17.0, 40.0):
        for y in (0, 1):
            loss, slope = reference(y, z, gamma, alpha)
            found, _ = obj.gradient_hessian([y], [z])
            # a few roundings of float64, relative, in exponents of up to 500
            assert found[0] == pytest.approx(slope, rel=1e-12, abs=1e-300)
            assert obj.loss([y], [z]) == pytest.approx(loss, rel=1e-12, abs=1e-300)
            in_float32, _ = obj([y], [np.float32(z)])
            assert in_float32[0] == pytest.approx(slope, rel=2e-5, abs=1e-37)


def test_gamma_0_is_the_logistic_loss() -> None:
    rng = np.random.default_rng(0)
    y, z, w = rng.integers(0, 2, 50), rng.normal(0, 9, 50), rng.integers(1, 4, 50)
    focal, logistic = go.focal_objective(0), go.weighted_logloss_objective(1, hessian="bounded")
    assert focal.loss(y, z, w) == pytest.approx(logistic.loss(y, z, w), rel=1e-13)
    for a, b in zip(
        focal.gradient_hessian(y, z, w), logistic.gradient_hessian(y, z, w), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    np.testing.assert_allclose(focal.class_probability(z), expit(z), rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    p=st.floats(1e-6, 1 - 1e-6),
    gamma=st.floats(0, 6),
    alpha=st.none() | st.floats(0.01, 0.99),
)
def test_class_probability_inverts_the_margin_of_least_expected_loss(p, gamma, alpha) -> None:
    obj = go.focal_objective(gamma, alpha)

    def expected(z: float) -> float:
        return p * obj.loss([1], [z]) + (1 - p) * obj.loss([0], [z])

    best = minimize_scalar(expected, bounds=(-30, 30), method="bounded", options={"xatol": 1e-9}).x
    slope = [obj.gradient_hessian([y], [best])[0][0] for y in (0, 1)]
    # a minimum is found to the square root of eps: compared through the gradient it leaves
    off = (p * slope[1] + (1 - p) * slope[0]) / (abs(slope[1]) + abs(slope[0]))
    assert obj.class_probability([best])[0] == pytest.approx(p, abs=abs(off) + 1e-9)


def test_class_probability_rises_and_stays_within_0_and_1() -> None:
    z = np.linspace(-800, 800, 4001)
    for obj in (go.focal_objective(2.0), go.focal_objective(0.3, 0.9)):
        p = obj.class_probability(z)
        assert ((p >= 0) & (p <= 1)).all()
        assert (np.diff(p) >= 0).all()
        assert (np.diff(p[np.abs(z) < 5]) > 0).all()


@pytest.mark.parametrize("alpha", [None, 0.1])
def test_the_intercept_is_the_constant_of_least_loss(alpha) -> None:
    y, w = np.array([0] * 97 + [1] * 3), np.arange(1, 101.0)
    obj = go.focal_objective(2.0, alpha).measured(y, w)
    gradient, _ = obj.gradient_hessian(y, np.full(100, obj.intercept), w)
    assert abs(gradient.sum()) <= 1e-9 * np.abs(gradient).sum()
    probability = obj.class_probability([obj.intercept])[0]
    assert probability == pytest.approx(w[y == 1].sum() / w.sum(), rel=1e-9)


@pytest.mark.parametrize(
    ("estimator", "options"),
    [(LGBMClassifier, {"verbose": -1, "num_leaves": 7}), (XGBClassifier, {"max_depth": 3})],
)
def test_probabilities_of_real_models(estimator, options) -> None:
    """sigma of the margin is far from the truth, class_probability is not."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20_000, 3))
    truth = expit(1.5 * X[:, 0] - 2.0)
    y = (rng.random(20_000) < truth).astype(int)
    obj = go.focal_objective(2.0, 0.75)
    model = estimator(n_estimators=60, learning_rate=0.2, objective=obj, **options).fit(X, y)
    p = model.predict_proba(X)[:, 1].astype(float)
    margin = np.log(p) - np.log1p(-p)
    inverted = obj.class_probability(margin)
    assert abs(inverted.mean() - y.mean()) < 0.01 < abs(p.mean() - y.mean()) / 5
    error, raw = np.abs(inverted - truth).mean(), np.abs(p - truth).mean()
    assert error < 0.04 < raw / 2


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((-0.1,), ValueError, "gamma must be at least 0, found -0.1"),
        ((float("nan"),), ValueError, "gamma must be finite"),
        (("2",), TypeError, "gamma must be a number"),
        ((2, 0), ValueError, "alpha must be above 0 and below 1, found 0"),
        ((2, 1), ValueError, "alpha must be above 0 and below 1, found 1"),
        ((2, [0.25, 0.75]), TypeError, "alpha must be a number"),
    ],
)
def test_bad_arguments(arguments, error, message) -> None:
    with pytest.raises(error, match=message):
        go.focal_objective(*arguments)


def test_one_class_only() -> None:
    with pytest.raises(ValueError, match="y_true has one class only"):
        go.focal_objective(2.0).measured([1, 1])
