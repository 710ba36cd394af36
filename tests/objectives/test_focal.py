"""Focal loss of two and of K classes: derivatives, step of a leaf, probabilities, arguments."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit, log_softmax, softmax

import gbdt_objectives as go
from gbdt_objectives.adapters.lightgbm import LGBMClassifier
from gbdt_objectives.adapters.xgboost import XGBClassifier
from tests.cases import each, refusals, refused

GAMMAS = [0.0, 0.5, 2.0, 5.0]


def reference(p_of, c: float, z: list[float], gamma: float) -> tuple[float, list[float]]:
    """Loss and gradient by each margin in 100 digits; ``p_of(z)`` is the label's probability."""
    with localcontext() as context:
        context.prec = 150
        step, at = Decimal(10) ** -40, [Decimal(float(v)) for v in z]

        def loss(z: list[Decimal]) -> Decimal:
            p = p_of(z)
            return -Decimal(c) * (1 - p) ** Decimal(gamma) * p.ln()

        def moved(k: int, by: Decimal) -> Decimal:
            return loss([v + by * (j == k) for j, v in enumerate(at)])

        slopes = [(moved(k, step) - moved(k, -step)) / (2 * step) for k in range(len(z))]
        return float(loss(at)), [float(slope) for slope in slopes]


def is_close(found, expected, *, in_float32=None) -> None:
    # a few roundings of float64, relative, in exponents of up to 500; one of a float32 margin of
    # 160 is 160 * 6e-8 in the logarithm of a gradient
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)
    if in_float32 is not None:
        np.testing.assert_allclose(in_float32, expected, rtol=2e-5, atol=1e-37)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("alpha", [None, 0.25])
def test_loss_and_gradient_in_both_tails(gamma, alpha) -> None:
    obj = go.focal_objective(gamma, alpha=alpha)
    for z, y in product((-80.0, -17.0, -3.0, -0.1, 0.0, 2.0, 17.0, 40.0, 80.0), (0, 1)):
        z = float(np.float32(z))
        c = 1 if alpha is None else alpha if y else 1 - alpha
        sign = 2 * y - 1
        loss, slope = reference(lambda t, sign=sign: 1 / (1 + (-sign * t[0]).exp()), c, [z], gamma)
        is_close(obj.loss([y], [z]), loss)
        is_close(obj.gradient_hessian([y], [z])[0], slope, in_float32=obj([y], np.float32([z]))[0])


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("alpha", [None, (0.25, 1.0, 3.0)])
def test_loss_and_gradient_of_three_classes_in_both_tails(gamma, alpha) -> None:
    obj = go.focal_objective(gamma, alpha=alpha, n_classes=3)
    margins = [
        *permutations((-80.0, -3.0, 17.0)),
        (-80, -80, 17),
        (17, -3, 17),
        (80, -80, 79),
        (0.1, 0.2, 0.3),
        (80, 80, 80),
    ]
    for z, y in product(margins, range(3)):
        z = np.float32(z).astype(float)
        c = 1.0 if alpha is None else alpha[y]

        def p_of(t, y=y):
            return t[y].exp() / sum(v.exp() for v in t)

        loss, slopes = reference(p_of, c, z.tolist(), gamma)
        is_close(obj.loss([y], [z]), loss)
        g, h = obj.gradient_hessian([y], [z])
        is_close(g, [slopes], in_float32=obj([y], np.float32([z]))[0])
        np.testing.assert_allclose(h, (1 + gamma) * np.abs(g), rtol=1e-15)


def test_gamma_0_is_the_logistic_loss() -> None:
    rng = np.random.default_rng(0)
    y, z, w = rng.integers(0, 2, 50), rng.normal(0, 9, 50), rng.integers(1, 4, 50)
    focal, logistic = go.focal_objective(0), go.weighted_logloss_objective(1, hessian="bounded")
    assert focal.loss(y, z, w) == pytest.approx(logistic.loss(y, z, w), rel=1e-13)
    np.testing.assert_allclose(
        focal.gradient_hessian(y, z, w), logistic.gradient_hessian(y, z, w), rtol=1e-13
    )
    np.testing.assert_allclose(focal.class_probability(z)[:, 1], expit(z), rtol=1e-12)


@pytest.mark.parametrize("K", [3, 7])
def test_gamma_0_is_softmax_cross_entropy(K) -> None:
    rng = np.random.default_rng(0)
    y, z, w = rng.integers(0, K, 50), rng.normal(0, 4, (50, K)), rng.integers(1, 4, 50)
    obj = go.focal_objective(0, n_classes=K)
    log_p = log_softmax(z, axis=1)
    assert obj.loss(y, z, w) == pytest.approx(-(w * log_p[np.arange(50), y]).sum(), rel=1e-13)
    g, h = obj.gradient_hessian(y, z, w)
    expected = w[:, None] * (np.exp(log_p) - np.eye(K)[y])
    np.testing.assert_allclose(g, expected, rtol=1e-9, atol=1e-12)  # theirs cancels, ours does not
    np.testing.assert_array_equal(h, np.abs(g))  # |p - y|, as XGBoost's own softmax from 3.3 on
    np.testing.assert_allclose(obj.class_probability(z), np.exp(log_p), rtol=1e-11)


@each("gamma", GAMMAS)
def test_a_class_out_of_reach_leaves_two(gamma) -> None:
    rng = np.random.default_rng(1)
    y, z = rng.integers(0, 2, 30), rng.normal(0, 3, (30, 2))
    two, three = go.focal_objective(gamma), go.focal_objective(gamma, n_classes=3)
    f = np.column_stack([z, np.full(30, -1e3)])
    g, h = two.gradient_hessian(y, z[:, 1] - z[:, 0])
    G, H = three.gradient_hessian(y, f)
    np.testing.assert_allclose(G, np.column_stack([-g, g, 0 * g]), rtol=1e-12)
    np.testing.assert_allclose(H[:, 1], 2 * h, rtol=1e-12)  # two margins move apart
    np.testing.assert_allclose(
        three.class_probability(f)[:, :2], two.class_probability(z[:, 1] - z[:, 0]), rtol=1e-12
    )


def test_margins_far_beyond_float32s_exponents() -> None:
    for dtype in (np.float32, np.float64):
        z = np.array([-1e4, -1e3, 0, 1e3, 1e4], dtype)
        for y in (0, 1):
            g, h = go.focal_objective(2.0).gradient_hessian(np.full(5, y), z)
            np.testing.assert_allclose(g, [0, 0, g[2], 1, 1] if y == 0 else [-1, -1, g[2], 0, 0])
            assert (h >= 0).all()
        f = np.array(list(product(z, repeat=3)))
        for y in range(3):
            g, h = go.focal_objective(2.0, n_classes=3).gradient_hessian(np.full(125, y), f)
            assert np.isfinite(g).all()
            assert (h >= 0).all()
            np.testing.assert_allclose(g.sum(axis=1), 0, atol=1e-6)


@each("gamma", [0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0])
def test_the_rate_from_which_the_bound_follows(gamma) -> None:
    """Rate, d/dz of log(positive part / negative part) of a leaf's gradient, in 0 to 1 + gamma.

    The leaf has one margin and rows of class 2 and of one other; those of several others have a
    weighted mean of their rates. One row of each is enough, weights do not change the rate.
    """
    s = np.linspace(-12, 12, 161)  # log-odds of class 2
    r = np.concatenate([[1.0 - 1e-9], np.exp(-np.geomspace(1e-3, 12, 100))])  # of 1 among 0 and 1
    s, r = (v.ravel() for v in np.meshgrid(s, r))
    obj = go.focal_objective(gamma, n_classes=3)

    def R(s):
        z = np.column_stack([np.log1p(-r), np.log(r), s])
        positive, negative = (obj.gradient_hessian(np.full(len(s), y), z)[0][:, 2] for y in (1, 2))
        return np.log(positive) - np.log(-negative)

    rate = (R(s + 1e-4) - R(s - 1e-4)) / 2e-4
    assert rate.min() > 0.5  # 1 - .19 for gamma = 20
    assert rate.max() <= (1 + gamma) * (1 + 1e-6)
    assert rate.max() >= (1 + gamma) * (1 - 1e-3)  # no smaller bound would do


def leaf(obj, z, shares):
    """Gradient and hessian of a leaf of one margin with these shares of the classes."""
    labels = np.arange(len(shares))
    f = np.tile(z, (len(shares), 1)) if obj.outputs > 1 else np.full(2, z)
    g, h = obj.gradient_hessian(labels, f, shares)
    return g.sum(axis=0), h.sum(axis=0)


draws = st.tuples(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.3, 1.0, 2.0, 5.0, 10.0]),
    st.sampled_from([0.1, 1.0, 3.0, 8.0]),
    st.sampled_from([0.1, 1.0, 3.0, 8.0]),
    st.integers(2, 6),
)


@given(draws)
def test_no_step_of_a_leaf_passes_its_optimum(draw) -> None:
    seed, gamma, wide, uneven, K = draw
    rng = np.random.default_rng(seed)
    alpha = None if rng.random() < 0.5 else 0.3 if K == 2 else tuple(rng.uniform(0.1, 3, K))
    obj = go.focal_objective(gamma, alpha=alpha, n_classes=K)
    shares = softmax(uneven * rng.normal(size=K))
    z = wide * rng.normal(size=K if K > 2 else None)
    g, h = leaf(obj, z, shares)
    if K == 2:
        after = leaf(obj, z - g / h, shares)[0]
        assert after * g >= -1e-12 * h**2
        return
    for k in range(K):
        after = leaf(obj, z - (g / h) * (np.arange(K) == k), shares)[0][k]
        assert after * g[k] >= -1e-12 * h[k] ** 2
        # nor a step twice as long, which the hessian of two classes would make
        after = leaf(obj, z - 2 * (g / h) * (np.arange(K) == k), shares)[0][k]
        assert after * g[k] >= -1e-12 * h[k] ** 2


@given(draws.filter(lambda draw: draw[-1] > 2))
def test_all_margins_of_a_leaf_moved_at_once_lower_the_loss(draw) -> None:
    """Not proved: near the optimum it follows from the second derivative, a Laplacian."""
    seed, gamma, wide, uneven, K = draw
    rng = np.random.default_rng(seed)
    obj = go.focal_objective(gamma, n_classes=K)
    shares, z = softmax(uneven * rng.normal(size=K)), wide * rng.normal(size=K)
    g, h = leaf(obj, z, shares)

    def loss(z):
        return obj.loss(np.arange(K), np.tile(z, (K, 1)), shares)

    assert loss(z - g / h) <= loss(z) * (1 + 1e-13)


def test_half_the_hessian_would_overshoot_where_all_margins_move() -> None:
    """Hence twice that of two classes."""
    obj, shares, z = go.focal_objective(0.0, n_classes=3), np.array([0.5, 0.5, 1e-9]), [0.1, 0, -20]
    for _ in range(30):
        g, h = leaf(obj, z, shares)
        z = z - g / (h / 2)
    assert abs(z[0] - z[1]) > 0.09  # to and fro
    z = np.array([0.1, 0, -20])
    for _ in range(30):
        g, h = leaf(obj, z, shares)
        z = z - g / h
    assert abs(z[0] - z[1]) < 1e-12


@given(draws)
def test_where_classes_have_its_probabilities_the_expected_loss_is_least(draw) -> None:
    """The gradients of the loss, which are right to the last digits, sum to 0 there."""
    seed, gamma, wide, _, K = draw
    rng = np.random.default_rng(seed)
    alpha = None if rng.random() < 0.5 else 0.3 if K == 2 else tuple(rng.uniform(0.1, 3, K))
    obj = go.focal_objective(gamma, alpha=alpha, n_classes=K)
    z = wide * rng.normal(size=K if K > 2 else None)
    g, h = leaf(obj, z, obj.class_probability([z])[0])
    assert (np.abs(g) <= 1e-14 * (1 + np.abs(z).max()) * h).all()  # h: the absolute terms


def test_class_probability_rises_and_stays_within_0_and_1() -> None:
    z = np.linspace(-800, 800, 4001)

    def rises(p: np.ndarray) -> bool:
        """But for rounding: exp of a number of up to 2,400, which rounds by eps of itself, and of
        the least floats, which have few digits."""
        return bool((np.diff(p) >= -1e-12 * p[1:] - 1e-322).all())

    for obj in (go.focal_objective(2.0), go.focal_objective(0.3, alpha=0.9)):
        p = obj.class_probability(z)
        assert p.dtype == np.float64
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        assert ((p >= 0) & (p <= 1)).all()
        assert rises(p[:, 1])
        assert (np.diff(p[np.abs(z) < 5, 1]) > 0).all()
    for obj in (
        go.focal_objective(2.0, n_classes=3),
        go.focal_objective(0.3, alpha=[1, 2, 3], n_classes=3),
    ):
        for fixed in (0.0, 500.0):
            p = obj.class_probability(
                np.column_stack([z, np.zeros_like(z), np.full_like(z, fixed)])
            )
            assert p.flags.c_contiguous
            np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
            assert rises(p[:, 0])
    p = go.focal_objective(2.0, n_classes=3).class_probability([[0, 0, 0], [1e4, 0, -1e4]])
    np.testing.assert_allclose(p, [[1 / 3, 1 / 3, 1 / 3], [1, 0, 0]], rtol=1e-12)


@pytest.mark.parametrize("alpha", [None, 0.1])
def test_the_intercept_is_the_constant_of_least_loss(alpha) -> None:
    y, w = np.array([0] * 97 + [1] * 3), np.arange(1, 101.0)
    obj = go.focal_objective(2.0, alpha=alpha).measured(y, w)
    gradient, _ = obj.gradient_hessian(y, np.full(100, obj.intercept), w)
    assert abs(gradient.sum()) <= 1e-9 * np.abs(gradient).sum()
    probability = obj.class_probability([obj.intercept])[0, 1]
    assert probability == pytest.approx(w[y == 1].sum() / w.sum(), rel=1e-9)


@each("gamma", [0.0, 0.5, 2.0, 5.0, 20.0])
@each("alpha", [None, (0.1, 1.0, 2.0, 0.5)])
def test_the_intercept_of_classes_is_the_constant_of_least_loss(gamma, alpha) -> None:
    y = np.repeat(range(4), [90_000, 9_000, 990, 10])
    w = 1 + np.arange(len(y)) % 3.0
    obj = go.focal_objective(gamma, alpha=alpha, n_classes=4).measured(y, w)
    assert isinstance(obj.intercept, tuple)
    assert sum(obj.intercept) == pytest.approx(0, abs=1e-9)
    share = np.bincount(y, w) / w.sum()
    np.testing.assert_allclose(obj.class_probability([obj.intercept])[0], share, rtol=1e-8)
    g, _ = leaf(obj, obj.intercept, share)
    assert np.abs(g).max() < 1e-9
    if gamma == 0 and alpha is None:
        np.testing.assert_allclose(obj.intercept, np.log(share) - np.log(share).mean(), rtol=1e-9)


@pytest.mark.parametrize("gamma", [0.0, 2.0, 20.0])
def test_a_class_that_does_not_occur_starts_at_a_millionth_of_the_rarest(gamma) -> None:
    y = np.array([0] * 900 + [2] * 100)
    obj = go.focal_objective(gamma, n_classes=5).measured(y)
    p = obj.class_probability([obj.intercept])[0]
    np.testing.assert_allclose(p, [0.9, 1e-7, 0.1, 1e-7, 1e-7], rtol=1e-6)
    assert obj.measured(y) is obj
    weighted = go.focal_objective(gamma, n_classes=5).measured(y, np.full(1000, 7.0))
    np.testing.assert_allclose(weighted.intercept, obj.intercept, rtol=1e-9)


def three_classes(n: int):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    truth = softmax(np.column_stack([1.5 * X[:, 0], X[:, 1], np.full(n, -1.0)]), axis=1)
    return X, truth, (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "alpha", "options"),
    [
        (LGBMClassifier, None, {"verbose": -1, "num_leaves": 7}),
        (XGBClassifier, (0.5, 1.0, 2.0), {"max_depth": 3}),
    ],
)
def test_probabilities_of_real_models(estimator, alpha, options) -> None:
    """softmax of the margins is far from the truth, class_probability is not."""
    X, truth, y = three_classes(10_000)
    obj = go.focal_objective(2.0, alpha=alpha, n_classes=3)
    options = {"n_estimators": 100, "learning_rate": 0.2, "n_jobs": 1, **options}
    model = estimator(objective=obj, **options).fit(X, y)
    p = model.predict_proba(X)
    margin = {"raw_score": True} if estimator is LGBMClassifier else {"output_margin": True}
    z = model.predict(X, **margin)
    np.testing.assert_allclose(p, obj.class_probability(z), atol=1e-6)  # of float32 margins
    raw = softmax(z.astype(float), axis=1)
    assert (
        np.abs(p.mean(axis=0) - np.bincount(y) / len(y)).max()
        < 0.01
        < np.abs(raw - truth).mean() / 4
    )
    assert np.abs(p - truth).mean() < 0.03


@refused(
    ((-0.1, None, 2), "gamma must be at least 0, found -0.1"),
    ((float("nan"), None, 2), "gamma must be finite"),
    (("2", None, 2), "gamma must be a number", TypeError),
    ((2, 0, 2), "alpha must be above 0 and below 1, found 0"),
    ((2, 1, 2), "alpha must be above 0 and below 1, found 1"),
    ((2, float("nan"), 2), "alpha must be finite"),
    ((2, [0.25, 0.75], 2), "alpha must be a number for two classes", TypeError),
    ((2, None, 1), "n_classes must be a whole number >= 2, found 1"),
    ((2, None, 3.0), "n_classes must be a whole number", TypeError),
    ((2, 0.25, 3), "alpha must hold one weight for each of the 3 classes, found", TypeError),
    ((2, [0.5, 0.5], 3), "one weight for each of the 3 classes, found 2"),
    ((2, [0.5, 0, 1], 3), "alpha must be above 0, found 0 for label 1"),
    ((2, [0.5, -1, 1], 3), "alpha must be above 0, found -1 for label 1"),
    ((2, [0.5, np.nan, 1], 3), "alpha must be finite, found nan"),
)
def test_bad_arguments(arguments) -> None:
    gamma, alpha, n_classes = arguments
    go.focal_objective(gamma, alpha=alpha, n_classes=n_classes)


test_refusals = refusals(
    (lambda: go.focal_objective(2.0).measured([1, 1]), "y_true has one class only"),
    (lambda: go.focal_objective(2.0, n_classes=3).measured([1, 1]),
     "y_true has one class only, found label 1"),
    (lambda: go.focal_objective(2.0, n_classes=3).measured([0, 1], [1, 0]),
     "y_true has one class only, found label 0"),
    *((lambda margin=margin: go.focal_objective(2.0, n_classes=3).class_probability(margin),
     "3 margins per row|margin must be finite")
      for margin in [[[0, 0]], [0, 0, 0], [[0, 0, np.nan]]]),
)  # fmt: skip
