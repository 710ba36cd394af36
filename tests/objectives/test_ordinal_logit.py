"""Proportional odds against the plain formula, scipy's minimiser, the logistic loss, training."""

from __future__ import annotations

import re
import threading
from itertools import pairwise

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from hypothesis import given, strategies as st
from scipy.special import expit, logit
from sklearn.metrics import log_loss

import gbdt_objectives as go
from gbdt_objectives._checks.arrays import Classes
from gbdt_objectives._rows import workers as _workers
from gbdt_objectives._rows.rows import BLOCK_BYTES, Rows
from tests.cases import each, refusals, refusals_of, refused
from tests.contract import measured_in_parts

INF = float("inf")


def plain_probability(theta, f):
    """Differences of the cumulative curves, (n, K)."""
    below = expit(np.asarray(theta) - np.asarray(f, float)[:, None])
    padded = np.column_stack([np.zeros(len(below)), below, np.ones(len(below))])
    return np.diff(padded, axis=1)


def plain_loss(theta, y, f, w=None):
    p = plain_probability(theta, f)[np.arange(len(y)), np.asarray(y, int)]
    return float(-(np.ones(len(y)) if w is None else w) @ np.log(p))


def rows(n, K, seed=0, spread=2.0):
    """Scores, classes that follow them, and weights."""
    rng = np.random.default_rng(seed)
    f = spread * rng.normal(size=n)
    theta = np.linspace(-2, 2.5, K - 1)
    y = np.digitize(f + rng.logistic(size=n), theta).astype(float)
    y[:K] = np.arange(K)
    return y, f, rng.integers(1, 5, n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_loss_and_gradient_are_the_plain_formula(weighted) -> None:
    theta = [-1.5, 0.2, 0.9]
    y, f, w = rows(200, 4)
    w = w if weighted else None
    obj = go.ordinal_logit_objective(4, thresholds=theta)
    # differences of probabilities cancel in the plain formula: a few digits of float64 are lost
    assert obj.loss(y, f, w) == pytest.approx(plain_loss(theta, y, f, w), rel=1e-10)
    gradient, hessian = obj.gradient_hessian(y, f, w)
    ends = np.array([-INF, *theta, INF])
    low, high = expit(ends[y.astype(int)] - f), expit(ends[y.astype(int) + 1] - f)
    v = np.ones(200) if w is None else w
    np.testing.assert_allclose(gradient, v * (1 - low - high), atol=1e-12)
    np.testing.assert_allclose(hessian, v * (low * (1 - low) + high * (1 - high)), atol=1e-12)


def slopes(theta, y, f, w):
    """Derivatives of the plain loss by the thresholds, and the sizes of their terms."""
    classes, ends = y.astype(int), np.array([-INF, *theta, INF])
    p = expit(ends[classes + 1] - f) - expit(ends[classes] - f)
    for j in range(1, len(theta) + 1):
        density = w * expit(ends[j] - f) * expit(f - ends[j])
        terms = density * np.where(classes == j, 1 / p, np.where(classes == j - 1, -1 / p, 0))
        yield terms.sum(), np.abs(terms).sum()


@given(
    K=st.integers(2, 5), seed=st.integers(0, 10**6), spread=st.floats(0.01, 5), plain=st.booleans()
)
def test_refitted_thresholds_have_the_least_loss(K, seed, spread, plain) -> None:
    y, f, w = rows(80, K, seed, spread)
    w = None if plain else w
    obj = go.ordinal_logit_objective(K)
    theta = obj.fitted(y, f, w).thresholds
    assert plain_loss(theta, y, f, w) == pytest.approx(obj.loss(y, f, w), rel=1e-9)
    for slope, size in slopes(theta, y, f, np.ones(80) if plain else w):  # the loss is convex
        assert abs(slope) <= 1e-9 * size


def test_the_start_of_the_scores_does_not_matter_to_refitted_thresholds() -> None:
    y, f, w = rows(300, 5)
    obj = go.ordinal_logit_objective(5)
    g, h = obj.gradient_hessian(y, f, w)
    for shift in (0.5, 100.0, -3000.0):  # those far away take the path without exp(f)
        # thresholds are found to some roundings of margins, 3000 * 2e-16, times weights
        np.testing.assert_allclose(obj.gradient_hessian(y, f + shift, w), (g, h), atol=1e-11)
        thresholds = np.subtract(obj.fitted(y, f + shift, w).thresholds, shift)
        np.testing.assert_allclose(thresholds, obj.fitted(y, f, w).thresholds, atol=1e-11)
    assert abs(g.sum()) < 1e-11


def test_two_classes_are_the_logistic_loss() -> None:
    y, f, w = rows(300, 2)
    logistic = go.offset_logloss_objective(1.0)
    at_zero = go.ordinal_logit_objective(2, thresholds=[0.0])
    assert at_zero.loss(y, f, w) == pytest.approx(logistic.loss(y, f, w), rel=1e-12)
    expected = logistic.gradient_hessian(y, f, w)
    np.testing.assert_allclose(at_zero.gradient_hessian(y, f, w), expected, rtol=1e-12)
    fixed = go.ordinal_logit_objective(2, thresholds="fixed").measured(y, w)
    share = np.average(y == 0, weights=w)
    assert fixed.thresholds == pytest.approx((logit(share),), rel=1e-12)
    expected = logistic.gradient_hessian(y, f - logit(share), w)
    np.testing.assert_allclose(fixed.gradient_hessian(y, f, w), expected, rtol=1e-12)


def test_fixed_thresholds_are_the_log_odds_of_the_labels() -> None:
    y, _, w = rows(300, 5)
    fixed = go.ordinal_logit_objective(5, thresholds="fixed")
    below = [np.average(y <= k, weights=w) for k in range(4)]
    assert fixed.measured(y, w).thresholds == pytest.approx(tuple(logit(below)), rel=1e-12)
    assert fixed.gradient_hessian(y, np.zeros(300), w)[0].sum() == pytest.approx(0, abs=1e-9)
    frequencies = fixed.measured(y, w).class_probability([0.0])[0]
    np.testing.assert_allclose(frequencies, np.bincount(y.astype(int), w) / w.sum(), rtol=1e-12)


@given(
    theta=st.lists(st.floats(-60, 60), min_size=1, max_size=6, unique=True).map(sorted),
    f=st.lists(st.floats(-90, 90), min_size=1, max_size=8),
)
def test_probabilities_sum_to_one_and_curves_never_cross(theta, f) -> None:
    K = len(theta) + 1
    obj = go.ordinal_logit_objective(K, thresholds=theta)
    p = obj.class_probability(f)
    assert p.shape == (len(f), K)
    assert p.dtype == np.float64
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-13)
    np.testing.assert_allclose(p, plain_probability(theta, f), atol=1e-14)
    assert (np.diff(np.cumsum(p, axis=1), axis=1) >= 0).all()
    for k in range(K):
        if (p[:, k] > np.finfo(float).tiny).all():  # below it digits are lost
            expected = -np.log(p[:, k]).sum()
            assert obj.loss(np.full(len(f), k), f) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_small_probabilities_keep_their_digits() -> None:
    p = go.ordinal_logit_objective(3, thresholds=[-1.0, 1.0]).class_probability([-50.0, 50.0])
    far = np.exp(-51) * np.expm1(2)  # sigma(-49) - sigma(-51), to 1e-21
    assert p[0, 1] == pytest.approx(far, rel=1e-12)
    assert p[1, 1] == pytest.approx(far, rel=1e-12)
    gradient, hessian = go.ordinal_logit_objective(3, thresholds=[-1.0, 1.0])(
        [0, 2], np.float32([-30, 30])
    )
    np.testing.assert_allclose(gradient, [np.exp(-29), -np.exp(-29)], rtol=1e-5)
    np.testing.assert_allclose(hessian, np.exp(-29), rtol=1e-5)


@each("absent", [[2], [0], [4], [0, 1], [3, 4], [1, 3], [0, 2, 4]])
@each("thresholds", ["refit", "fixed"])
def test_a_class_without_rows_has_probability_0(absent, thresholds) -> None:
    y, f, w = rows(400, 5)
    keep = ~np.isin(y, absent)
    obj = go.ordinal_logit_objective(5, thresholds=thresholds)
    present = np.setdiff1d(np.arange(5), absent)
    fewer = go.ordinal_logit_objective(len(present), thresholds=thresholds)
    rank = np.searchsorted(present, y[keep])
    expected = fewer.gradient_hessian(rank, f[keep], w[keep])
    found = obj.gradient_hessian(y[keep], f[keep], w[keep])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    fitted = obj.fitted(y[keep], f[keep], w[keep])
    p = fitted.class_probability(f)
    assert not p[:, absent].any()
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-13)
    expected = fewer.fitted(rank, f[keep], w[keep]).class_probability(f)
    np.testing.assert_allclose(p[:, present], expected, rtol=1e-11)
    # rows of that class in an evaluation set
    assert fitted.loss(y, f) == INF
    assert np.isfinite(fitted.loss(y, f, np.where(keep, w, 0)))
    assert fitted.loss(y, f, np.where(keep, w, 0)) == pytest.approx(
        obj.loss(y[keep], f[keep], w[keep]), rel=1e-12
    ) or thresholds == "fixed"  # fmt: skip
    gradient, hessian = fitted.gradient_hessian(y, f, w)
    assert np.isfinite(gradient).all()
    assert (hessian >= 0).all()
    # a weight of 0 is absence
    np.testing.assert_allclose(
        obj.fitted(y, f, np.where(keep, w, 0)).thresholds, fitted.thresholds, rtol=1e-12
    )


FLAT = [
    ([0, 1, 2, 1, 0, 2], [-100.0, 17, -100, -17, -17, -100]),
    ([0, 1, 2, 1, 1, 0], [-100.0, -100, -100, -17, 17, -17]),
    ([1, 0], [-300.0, 300]),
    ([0, 1, 2, 2, 1, 0], [-100.0, -100, -17, 100, 17, 100]),
]


@pytest.mark.slow
@each(("y", "f"), FLAT)
def test_thresholds_where_the_loss_is_flat_between_rows(y, f) -> None:
    """The loss at the thresholds is at most that of all others in a fine grid."""
    y, f = np.array(y), np.array(f)
    K = y.max() + 1
    obj = go.ordinal_logit_objective(K)
    least = obj.loss(y, f)
    grid = np.linspace(f.min() - 20, f.max() + 20, 60)
    if K == 2:
        candidates = [[a] for a in grid]
    else:
        candidates = [[a, a + d] for a in grid for d in np.geomspace(0.01, 200, 13)]
    for theta in candidates:
        # flat to 1e-12 of the loss
        assert least <= go.ordinal_logit_objective(K, thresholds=theta).loss(y, f) + 1e-10 * least
    for precision in (np.float32, np.float64):
        assert np.isfinite(obj.gradient_hessian(y, f.astype(precision))).all()


@pytest.mark.slow
@given(
    data=st.lists(
        st.tuples(st.integers(0, 3), st.floats(-150, 150), st.floats(1e-3, 1e3)),
        min_size=2,
        max_size=30,
    ),
    single=st.booleans(),
)
def test_any_margins_give_finite_gradients_that_sum_to_0(data, single) -> None:
    y, f, w = np.array(data).T
    if len(np.unique(y)) < 2:
        y[0] = (y[0] + 1) % 4
    f = f.astype(np.float32 if single else np.float64)
    g, h = go.ordinal_logit_objective(4).gradient_hessian(y, f, w)
    assert np.isfinite(g).all()
    assert np.isfinite(h).all()
    assert (h >= 0).all()
    # sums of float32 to 1e-6; the trust region stops at a slope of 1e-6
    assert abs(g.sum(dtype=float)) <= 2e-6 * w.sum() * 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "precision", "weighted"),
    [  # all pairs
        ("mixed", np.float32, False),
        ("mixed", np.float64, True),
        ("sorted", np.float32, True),
        ("sorted", np.float64, False),
    ],
)
def test_many_rows_give_the_thresholds_of_all_of_them(order, precision, weighted) -> None:
    """Of more than one block, fitted to a sample first; the slope over all rows is 0."""
    y, f, w = rows(400_000, 5, seed=3)
    y[y == 3] = 2  # a rare class
    y[::40_000] = 3
    if order == "sorted":
        at = np.argsort(f)
        y, f, w = y[at], f[at], w[at]
    f, w = f.astype(precision), w if weighted else np.ones_like(w)
    obj = go.ordinal_logit_objective(5)
    theta = obj.fitted(y, f.astype(float), w).thresholds
    ends = np.array([-INF, *theta, INF])
    classes, wide = y.astype(int), f.astype(float)  # numpy 1 keeps float32 beside a scalar
    low, high = expit(ends[classes] - wide), expit(ends[classes + 1] - wide)
    for slope, size in slopes(theta, y, wide, w):
        # 400,000 terms; differences of probabilities of the rare class have some 12 digits
        assert abs(slope) <= 1e-10 * size
    gradient, hessian = obj(y, f, w)
    # float32: a few roundings of gradients of size w
    np.testing.assert_allclose(gradient, w * (1 - low - high), atol=5e-7 * w.max())
    np.testing.assert_allclose(
        hessian, w * (low * (1 - low) + high * (1 - high)), atol=5e-7 * w.max()
    )


def test_several_workers_give_what_one_gives(monkeypatch) -> None:
    """Two threads whose sums meet at a barrier; one has no row of two of the classes."""
    y, f, w = rows(60_000, 4)
    obj = go.ordinal_logit_objective(4)
    one = obj.gradient_hessian(y, f, w)
    fixed = go.ordinal_logit_objective(4, thresholds="fixed").measured(y, w)
    first = (y < 2) & (np.arange(len(y)) % 3 > 0)
    barrier, shared = threading.Barrier(2, timeout=60), {}
    found = {}

    def all_sum(values, **_):
        shared[threading.get_ident()] = np.asarray(values)
        barrier.wait()
        total = sum(shared[key] for key in sorted(shared))
        barrier.wait()
        return total

    def work(own):
        found[own is first] = (
            obj.gradient_hessian(y[own], f[own], w[own]),
            obj.fitted(y[own], f[own], w[own]).thresholds,
        )

    expected = obj.fitted(y, f, w).thresholds
    monkeypatch.setattr(_workers, "all_sum", all_sum)
    threads = [threading.Thread(target=work, args=(own,)) for own in (first, ~first)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    parts = [(y[own], w[own]) for own in (first, ~first)]
    measured = measured_in_parts(go.ordinal_logit_objective(4, thresholds="fixed"), parts)
    np.testing.assert_allclose(measured.thresholds, fixed.thresholds, rtol=1e-12)
    for is_first, own in ((True, first), (False, ~first)):
        both, thresholds = found[is_first]
        np.testing.assert_allclose(thresholds, expected, rtol=1e-11)
        for part, whole in zip(both, one, strict=True):
            np.testing.assert_allclose(part, whole[own], atol=1e-11)


def test_what_it_is() -> None:
    refit = go.ordinal_logit_objective(4)
    fixed = go.ordinal_logit_objective(4, thresholds="fixed")
    assert refit.link.name == fixed.link.name == "score"
    assert refit.n_classes == 4
    assert refit.intercept == 0.0
    assert refit.hessian_kind == "upper_bound"
    assert refit.couples_rows
    assert fixed.hessian_kind == "exact"
    assert not fixed.couples_rows
    y, f, w = rows(50, 4)
    after = refit.fitted(y, f, w)
    assert after.hessian_kind == "exact"
    assert after.fitted(y, f + 1) == after
    assert after.measured(y) == after
    assert fixed.fitted(y, f, w) == fixed.measured(y, w)
    assert all(type(theta) is float for theta in after.thresholds + fixed.measured(y).thresholds)
    assert all(a < b for a, b in pairwise(after.thresholds))


test_wrong_arguments = refusals_of(
    lambda arguments: go.ordinal_logit_objective(**arguments),
    ({"n_classes": 1}, "n_classes must be a whole number >= 2, found 1"),
    ({"n_classes": 3.0}, "n_classes must be a whole number >= 2, found 3.0", TypeError),
    ({"n_classes": True}, "n_classes must be a whole number", TypeError),
    ({"n_classes": [0, 1, 2]}, "n_classes must be a whole number", TypeError),
    ({"n_classes": 4, "thresholds": "free"}, "one of 'refit', 'fixed'"),
    ({"n_classes": 4, "thresholds": None}, "thresholds must", TypeError),
    ({"n_classes": 4, "thresholds": [0, 1]}, "thresholds must be 3, one less"),
    ({"n_classes": 3, "thresholds": [1, 0]}, "increase, found 1 before 0"),
    ({"n_classes": 3, "thresholds": [1, 1]}, "increase, found 1 before 1"),
    ({"n_classes": 3, "thresholds": [0, INF]}, "thresholds must be finite"),
    ({"n_classes": 3, "thresholds": [[0, 1]]}, "thresholds must be one-dim"),
)


X = np.random.default_rng(5).random((1500, 4))
LATENT = 6 * X[:, 0] - 3 * X[:, 1]
THETA = np.array([-1.0, 0.5, 3.0])
Y = np.digitize(LATENT + np.random.default_rng(6).logistic(size=1500), THETA)


@refused(  # how boosters pass it on: tests/objectives/test_base.py
    (Y + 1, "refit",
     r"must hold classes 0 to 3, found 4.0 at row \d+: subtract the lowest label"),
    (np.where(Y > 2, 2.5, Y), "fixed", "must hold classes 0 to 3, found 2.5"),
    (np.where(Y > 2, -1, Y), "refit", "found -1.0"),
    (np.full(1500, 2), "refit", "one class only, found label 2 in all"),
    (np.full(1500, 0), "fixed", "one class only"),
)  # fmt: skip
def test_wrong_labels_are_refused(y, thresholds) -> None:
    go.ordinal_logit_objective(4, thresholds=thresholds)(y, np.zeros(1500))


test_probabilities_need_thresholds = refusals(
    (lambda: go.ordinal_logit_objective(3).class_probability([0.0]),
     re.escape("objective.fitted(y_train, margin_train)")),
    (lambda: go.ordinal_logit_objective(3, thresholds="fixed").class_probability([0.0]),
     re.escape("objective.measured(y_train)")),
    *((lambda margin=margin: go.ordinal_logit_objective(3, thresholds=[0, 1])
       .class_probability(margin), words)
      for margin, words in [([np.nan], "margin must be finite"),
                            ([[0.0, 1.0]], "margin must be one-dimensional")]),
)  # fmt: skip


def trained(objective, rows):
    """Margins of all rows, by both boosters, trained on some of them with the plain libraries."""
    params = {"learning_rate": 0.1, "max_depth": 3, "verbosity": 0}
    data = xgb.DMatrix(X[rows], Y[rows])
    booster = xgb.train({**params, "base_score": 0}, data, 60, obj=objective)
    model = lgb.train({**params, "objective": objective}, lgb.Dataset(X[rows], Y[rows]), 60)
    return booster.predict(xgb.DMatrix(X)), model.predict(X)


@pytest.mark.parametrize(("thresholds", "least"), [("refit", 0.85), ("fixed", 0.6), (THETA, 0.85)])
def test_training_finds_the_probabilities_that_made_the_labels(thresholds, least) -> None:
    train, test = np.arange(1000), np.arange(1000, 1500)
    truth = log_loss(Y[test], plain_probability(THETA, LATENT[test]))
    frequencies = np.bincount(Y[train]) / 1000
    baseline = -np.log(frequencies[Y[test]]).mean()
    objective = go.ordinal_logit_objective(4, thresholds=thresholds)
    for margin in trained(objective, train):
        fitted = objective.fitted(Y[train], margin[train])
        found = log_loss(Y[test], fitted.class_probability(margin[test]))
        # of what there is to gain, the baseline's loss above the truth's, most is gained
        assert baseline - found > least * (baseline - truth)
        assert np.corrcoef(margin[test], LATENT[test])[0, 1] > 0.95


def test_classes_as_a_domain() -> None:
    domain = Classes(3)
    assert domain == Classes(3)
    assert domain != Classes(4)
    assert domain.contains(np.array([0.0, 1, 2]))
    for bad in (-1.0, 0.5, 3.0, np.nan, INF):
        assert not domain.contains(np.array([0.0, bad]))
        with pytest.raises(ValueError, match=f"y_true must hold classes 0 to 2, found {bad} at"):
            domain.check("y_true", np.array([0.0, bad]))


def test_thresholds_of_rows_that_were_read_in_another_precision() -> None:
    """Stretches of float32 rows are longer than those of float64, so that their order differs."""
    rng = np.random.default_rng(0)
    n = BLOCK_BYTES // 4 + 1000
    f = rng.normal(size=n).astype(np.float32)
    y = np.digitize(f + rng.logistic(size=n), [-1, 1]).astype(float)
    equations = go.ordinal_logit_objective(3).equations
    rows = Rows(y, f)
    equations.totals(rows)
    found = equations.measured(rows).thresholds
    assert found == equations.measured(Rows(y, f)).thresholds
