"""Weighted kappa with any cost, and ratios of sums: against QWK, scikit-learn and brute force."""

from __future__ import annotations

import dataclasses
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.interpolate import PchipInterpolator
from sklearn.metrics import cohen_kappa_score, f1_score

import gbdt_objectives as go
from gbdt_objectives.adapters.xgboost import XGBClassifier
from gbdt_objectives.objectives import kappa_objective, ratio_objective
from tests.cases import each, refusals_of, refused
from tests.contract import (
    COST,
    distance_from_one,
    log_cosh,
    measured_in_parts,
    named,
    with_fields,
)

pytestmark = pytest.mark.slow

NAN, INF = float("nan"), float("inf")


def rows(n: int, K: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores well beyond them, whole weights."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.resize(np.arange(K), n)).astype(float)
    return y, rng.normal(K / 2, K / 2, n), rng.integers(1, 4, n).astype(float)


def assert_same(ours: go.Objective, theirs: go.Objective, *of_rows) -> None:
    """The gradients, to some roundings of their terms, and the loss."""
    found, expected = ours.gradient_hessian(*of_rows), theirs.gradient_hessian(*of_rows)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert ours.loss(*of_rows) == pytest.approx(theirs.loss(*of_rows), rel=1e-12)


def random_matrix(K: int, seed: int) -> np.ndarray:
    matrix = np.random.default_rng(seed).uniform(0.1, 5, (K, K))
    np.fill_diagonal(matrix, 0)
    return matrix


# --- what it is a generalisation of


@each("scale", ["residual", "kappa"])
@each("clip", [True, False])
@each("prior", [None, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}])
@each("weighted", [True, False])
@each("measured", [True, False])
def test_the_squared_cost_is_qwk(scale, clip, prior, weighted, measured) -> None:
    y, p, w = rows(500, 4, seed=0)
    w = w if weighted else None
    given = {"y_true": y, "sample_weight": w} if measured else {}
    options = {"target_prior": prior, "scale": scale, "clip": clip} | given
    qwk, kappa = go.qwk_objective(**options), kappa_objective("squared", **options)
    assert_same(kappa, qwk, y, p, w)
    if measured:
        assert kappa.intercept == pytest.approx(qwk.intercept, rel=1e-12)
        assert kappa.start_tolerance == pytest.approx(qwk.start_tolerance, rel=1e-12)
        assert kappa.label_range == qwk.label_range


@each("weighted", [True, False])
@each("low", [0, 1, -3])
def test_the_absolute_cost_of_classes_is_linear_kappa(weighted: bool, low: int) -> None:
    y, p, w = rows(400, 5, seed=1)
    y, p, w = y + low, p.round().clip(0, 4) + low, w if weighted else None
    expected = cohen_kappa_score(y, p, weights="linear", sample_weight=w)
    for obj in (kappa_objective("absolute", y, sample_weight=w), kappa_objective("absolute")):
        assert 1 - obj.mean_loss(y, p, w) == pytest.approx(expected, abs=1e-12)


@each("K", [2, 3, 5, 8])
@each("weighted", [True, False])
def test_a_matrix_on_classes_is_kappa_cost(K: int, weighted: bool) -> None:
    y, p, w = rows(300, K, seed=K)
    p, w, matrix = p.round().clip(0, K - 1), w if weighted else None, random_matrix(K, seed=K)
    expected = go.metrics.kappa_cost_metric(matrix)(y.astype(int), p.astype(int), w)
    for low in (0, 1):
        obj = kappa_objective(matrix, label_range=(low, low + K - 1))
        assert 1 - obj.mean_loss(y + low, p + low, w) == pytest.approx(expected, abs=1e-12)


def test_absent_classes_are_right() -> None:
    """Classes 0 and 3 of five do not occur among the labels of a fold."""
    y, p = np.resize([1, 2, 4], 90), np.resize([0, 1, 2, 3, 4, 2, 2], 90)
    matrix = random_matrix(5, seed=0)
    obj = kappa_objective(matrix, y, label_range=(0, 4))
    metric = go.metrics.kappa_cost_metric(matrix)
    expected = metric(y, p, labels=range(5))
    assert 1 - obj.loss(y, p) / 90 == pytest.approx(expected, abs=1e-12)
    linear = kappa_objective("absolute", y, label_range=(0, 4))
    expected = cohen_kappa_score(y, p, weights="linear", labels=range(5))
    assert 1 - linear.loss(y, p) / 90 == pytest.approx(expected, abs=1e-12)


# --- between the classes; that gradients are the loss's is in the contract


@each(
    ("cost", "labels"),
    [
        ("absolute", (0, 1, 2, 3, 4)),
        ("absolute", (-1.5, 0.25, 2.0, 7.5)),
        (log_cosh, (-1.5, 0.25, 2.0, 7.5)),
        (random_matrix(5, seed=3), (0, 1, 2, 3, 4)),
        (random_matrix(5, seed=3), (2, 3, 4, 5, 6)),
    ],
)
def test_the_loss_is_the_ratio_of_costs_by_hand(cost, labels) -> None:
    """w F/G at scores between and beyond the labels, of scipy's interpolation of a matrix."""
    y, p, w = rows(80, len(labels), seed=3)
    y, p, low = np.take(labels, y.astype(int)), p + labels[0], labels[0]
    p[: len(labels)] = labels
    curves, limits = [], None
    if isinstance(cost, np.ndarray):
        curves, limits = [PchipInterpolator(labels, row) for row in cost], (low, labels[-1])

    def c(j, q):
        if curves:
            return curves[int(j - low)](q)
        return np.abs(q - j) if cost == "absolute" else log_cosh(j, q)[0]

    obj = kappa_objective(cost, y, sample_weight=w, label_range=limits, scale="kappa")
    q, pi = p.clip(labels[0], labels[-1]), [w[y == j].sum() / w.sum() for j in labels]
    F = sum(weight * float(c(j, at)) for weight, j, at in zip(w, y, q, strict=True))
    expected = sum(share * c(j, q) for share, j in zip(pi, labels, strict=True))
    assert obj.loss(y, p, w) == pytest.approx(w.sum() * F / (w @ expected), rel=1e-12)
    best = sum(share * float(c(j, obj.intercept)) for share, j in zip(pi, labels, strict=True))
    variance = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    assert obj.equations.unit == pytest.approx(0.5 * variance / best, rel=1e-12)


@given(
    matrix=hnp.arrays(float, (4, 4), elements=st.floats(0.125, 8)),
    constant=st.floats(0, 3),
    weights=hnp.arrays(float, 12, elements=st.integers(1, 5)),
)
def test_any_constant_is_a_saddle(matrix, constant, weights) -> None:
    """R = 1 and gradients that sum to 0, whatever the cost."""
    np.fill_diagonal(matrix, 0)
    y, p = np.resize(np.arange(4.0), 12), np.full(12, constant)
    for cost in (matrix, "absolute", "squared", log_cosh):
        obj = kappa_objective(cost, y, sample_weight=weights, scale="kappa")
        gradient, _ = obj.gradient_hessian(y, p, weights)
        assert obj.loss(y, p, weights) == pytest.approx(weights.sum(), rel=1e-10)
        assert abs(gradient.sum()) <= 1e-10 * max(np.abs(gradient).sum(), 1)


def kappa_or_qwk(cost, y, **options) -> go.Objective:
    """Of a cost, or of none: the objective of quadratic weighted kappa."""
    if cost is None:
        return go.qwk_objective(y, **options)
    return kappa_objective(cost, y, **options)


@each("cost", ["absolute", COST, log_cosh, None])
def test_clip_gives_rows_beyond_the_range_the_gradient_of_its_edge(cost) -> None:
    y = np.array([0.0, 1.0, 2.0, 3.0])
    obj = kappa_or_qwk(cost, y)
    beyond, _ = obj.gradient_hessian(y, [-9.0, 1.0, 2.5, 40.0])
    edge, _ = obj.gradient_hessian(y, [0.0, 1.0, 2.5, 3.0])
    np.testing.assert_array_equal(beyond, edge)
    if cost is not COST:
        unclipped = with_fields(obj, clip=False)
        assert unclipped.loss(y, [-9.0, 1.0, 2.5, 40.0]) != obj.loss(y, [-9.0, 1.0, 2.5, 40.0])
    if cost is None:
        assert (unclipped.gradient_hessian(y, [-9.0, 1.0, 2.5, 40.0])[0] != edge).all()


@each("labels", [[0, 1, 2, 3], [-3, -2, 4], [1990, 1991, 2020], [0, 0.5, 3]])
@each("dtype", [np.float32, np.float64])
def test_the_expected_absolute_cost(labels, dtype) -> None:
    """At labels, next to them, between and beyond; a class may be absent or be no whole number."""
    rng = np.random.default_rng(0)
    y = rng.choice(labels, 200)
    at = np.arange(labels[0] - 2, labels[-1] + 3, 0.5).astype(dtype)
    p = np.concatenate(
        [at, np.nextafter(at, dtype(-1e9)), np.nextafter(at, dtype(1e9)), at + dtype(0.3)]
    )
    expected = kappa_objective("absolute", y, clip=False).denominator
    value, slope = expected(p, p)
    r = p[:, np.newaxis].astype(float) - y
    assert value.dtype == slope.dtype == dtype
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(value, np.abs(r).mean(axis=1), rtol=20 * eps)
    np.testing.assert_allclose(slope, np.sign(r).mean(axis=1), rtol=0, atol=20 * eps)


def slope_of_another(y, p):
    return log_cosh(y, p)[0], p - y


def test_a_wrong_derivative_is_found() -> None:
    with pytest.raises(ValueError, match="it is not the derivative of the loss"):
        go.check_objective(kappa_objective(slope_of_another, [0, 1, 2, 3]))
    ratio = ratio_objective(slope_of_another, distance_from_one)
    with pytest.raises(ValueError, match="it is not the derivative of the loss"):
        go.check_objective(ratio)
    f1 = ratio_objective(missed_and_false, positive_twice, link="logit", scale="loss")
    with np.errstate(over="ignore"):  # exp(100) in float32, in the test's own function
        assert go.check_objective(f1).passed


# --- the start and the unit


@each("weighted", [True, False])
@each("cost", ["squared", "absolute", COST, log_cosh])
def test_the_intercept_is_the_best_constant(cost, weighted: bool) -> None:
    rng = np.random.default_rng(5)
    y, w = rng.choice(4, 50, p=[0.4, 0.15, 0.15, 0.3]).astype(float), rng.integers(1, 4, 50)
    w = w if weighted else None
    obj = kappa_objective(cost, y, sample_weight=w, clip=cost is COST)
    grid = np.linspace(0, 3, 30_001)
    cost_of = obj.denominator(grid, grid)[0]
    least = obj.denominator(np.zeros(1), np.array([obj.intercept]))[0][0]
    assert least <= cost_of.min() * (1 + 1e-12)
    # steps of 1e-4, and cost_of is flat to 1e-9 around its least
    assert obj.intercept == pytest.approx(grid[cost_of.argmin()], abs=2e-4)
    counted = y if w is None else np.repeat(y, w)
    if cost == "squared":
        assert obj.intercept == pytest.approx(counted.mean(), rel=1e-12)
    if cost == "absolute":
        assert obj.intercept == np.median(counted)


@each(
    ("cost", "labels", "best"),
    [
        ("absolute", [0, 0, 1, 1], 0.5),  # of equally good ones the nearest to the mean
        ("absolute", [0, 1, 4, 5], 2.5),
        # a class without rows: it costs (1 + 2)/2, classes 0 and 1 (0 + 4)/2
        ([[0, 4, 1], [4, 0, 2], [4, 2, 0]], [0, 1], 2),
    ],
)
def test_the_best_constant(cost, labels, best) -> None:
    assert kappa_objective(cost, labels).intercept == best


@each("cost", ["absolute", COST, log_cosh])
def test_the_unit_of_the_cost_changes_nothing(cost) -> None:
    y, p, w = rows(200, 4, seed=6)
    if cost is COST:
        scaled = 16 * np.array(COST)
    else:
        plain = np.abs if cost == "absolute" else None

        def scaled(y, p):
            value, slope = (plain(p - y), np.sign(p - y)) if plain else log_cosh(y, p)
            return 16 * value, 16 * slope

    one, other = (kappa_objective(c, y, sample_weight=w) for c in (cost, scaled))
    np.testing.assert_allclose(
        one.gradient_hessian(y, p, w), other.gradient_hessian(y, p, w), rtol=1e-12, atol=1e-12
    )


def test_scaled_labels_have_the_scaled_gradient() -> None:  # of QWK: test_qwk.py
    y, p, w = rows(200, 4, seed=6)
    one, other = (
        kappa_objective("absolute", k * y).gradient_hessian(k * y, k * p, w)[0] / k for k in (1, 8)
    )
    np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)


@each("cost", ["absolute", COST])
def test_far_start_warns(cost) -> None:
    y, _, _ = rows(40, 4, seed=14)
    obj = kappa_objective(cost, y)
    with pytest.warns(UserWarning, match="boosting starts at .* far from the labels' centre"):
        obj(y, np.full(40, obj.intercept + 0.51 * y.std()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        obj(y, np.full(40, obj.intercept + 0.49 * y.std()))


# --- where the labels come from


@each("weighted", [True, False])
@each("cost", ["absolute", COST, log_cosh])
def test_without_labels_it_measures_the_training_data(cost, weighted: bool) -> None:
    y, p, w = rows(300, 4, seed=7)
    w = w if weighted else None
    now, later = kappa_objective(cost, y, sample_weight=w), kappa_objective(cost)
    np.testing.assert_array_equal(later(y, p, w)[0], now(y, p, w)[0])
    assert later.loss(y, p, w) == now.loss(y, p, w)
    assert later.measured(y, w) == now
    assert later.intercept is None


def test_the_distribution_of_labels_is_weighted_or_that_of_deployment() -> None:
    weighted = kappa_objective("absolute", [0, 1, 5], sample_weight=[2, 1, 1])
    assert weighted.denominator.labels == (0, 1, 5)
    assert weighted.denominator.probabilities == (0.5, 0.25, 0.25)
    repeated = kappa_objective("absolute", [0, 0, 1, 5])
    assert repeated == weighted
    prior = kappa_objective("absolute", [0, 1, 5], target_prior={0: 0.75, 1: 0, 5: 0.25})
    assert prior.denominator.labels == (0, 5)  # 1 never occurs
    assert prior.denominator.probabilities == (0.75, 0.25)
    assert prior.label_range == (0, 5)
    # F of the rows, g of deployment
    assert prior.loss([0, 1], [1.0, 1.0]) == pytest.approx(2 * 1 / (2 * (0.75 + 0.25 * 4)))


def of_two(own: np.ndarray) -> np.ndarray:
    """Two workers with the same rows."""
    return 2 * own


def test_too_many_labels_of_all_workers_together() -> None:
    parts = [(600.0 * i + np.arange(600), None) for i in (0, 1)]
    with pytest.raises(ValueError, match="y_true holds 1200 different labels"):
        measured_in_parts(kappa_objective("absolute"), parts)


def test_a_reduce_of_ones_own_needs_the_labels_of_all() -> None:
    y, p, _ = rows(60, 4, seed=10)
    for arguments in ({}, {"label_range": (0, 3)}):
        with pytest.raises(ValueError, match=r"pass the labels of all.*kappa_objective\(y_true"):
            kappa_objective("absolute", **arguments, reduce=of_two)
    given = kappa_objective("absolute", y, reduce=of_two)
    alone = kappa_objective("absolute", y)
    np.testing.assert_allclose(given(y, p)[0], alone(y, p)[0], rtol=1e-6)
    assert given.denominator == alone.denominator


# --- a value


def test_costs_compare_hash_and_pickle() -> None:
    y = [0, 1, 2, 3]
    objects = [kappa_objective(cost, y) for cost in ("absolute", COST, log_cosh)]
    objects.append(ratio_objective(log_cosh, distance_from_one))
    for obj in objects:
        obj(y, [0.5, 1.5, 1.5, 2.5])  # what was computed on the way is no part of the value
        again = pickle.loads(pickle.dumps(obj))
        assert again == obj
        assert hash(again) == hash(obj)
        np.testing.assert_array_equal(again(y, [0, 1, 1, 3])[0], obj(y, [0, 1, 1, 3])[0])
    assert len(set(objects)) == 4
    assert kappa_objective(np.array(COST, np.float32), y) == kappa_objective(COST, y)


def squared(y, p):
    return 0.5 * (p - y) ** 2, p - y


@dataclasses.dataclass(frozen=True)
class ExpectedSquare:
    a: float
    b: float

    def __call__(self, y, p):
        return 0.5 * ((p - self.a) ** 2 + self.b), p - self.a


@each("scale", ["residual", "kappa"])
def test_a_ratio_of_the_users_own_is_qwk(scale) -> None:
    y, p, w = rows(300, 4, seed=11)
    qwk = go.qwk_objective(y, sample_weight=w, clip=False, scale=scale)
    bowl = ExpectedSquare(qwk.mean, qwk.variance)
    ratio = ratio_objective(squared, bowl, scale=scale.replace("kappa", "loss"))
    assert_same(ratio, qwk, y, p, w)


def missed_and_false(y, z):
    q = 1 / (1 + np.exp(-z))
    return y + q - 2 * y * q, (1 - 2 * y) * q * (1 - q)


def positive_twice(y, z):
    q = 1 / (1 + np.exp(-z))
    return y + q, q * (1 - q)


def test_the_ratio_of_f1_on_log_odds() -> None:
    rng = np.random.default_rng(12)
    X = rng.random((800, 4))
    y = (rng.random(800) < X[:, 0] ** 3).astype(int)
    f1 = ratio_objective(missed_and_false, positive_twice, intercept=-1.0, link="logit")
    certain = np.where(rng.random(800) < 0.7, y, 1 - y) * 80.0 - 40
    assert 1 - f1.loss(y, certain) / 800 == pytest.approx(f1_score(y, certain > 0), abs=1e-12)
    options = {"max_depth": 3, "n_estimators": 60, "learning_rate": 0.3, "n_jobs": 1}
    model = XGBClassifier(objective=f1, **options).fit(X, y)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-6)
    found = f1_score(y, model.predict(X))
    assert found > f1_score(y, np.ones(800))  # the best constant
    with pytest.raises(ValueError, match="must be 0 .* or 1"):
        f1([0, 2], [0.0, 0.0])


# --- bad input


negative = named("negative", lambda y, p: (-np.abs(p - y), -np.sign(p - y)))
nan = named("nan", lambda y, p: (np.where(p == y, 0, NAN), p - y))
only_value = named("only_value", lambda y, p: np.abs(p - y))
short = named("short", lambda y, p: (np.abs(p - y)[1:], p[1:]))
free = named("free", lambda y, p: (0.0 * p, 0.0 * p))
nan_slope = named("nan_slope", lambda y, p: (np.abs(p - y), np.where(p >= 0, NAN, 0.0)))


def writes(y, p):
    p -= y
    return np.abs(p), np.sign(p)


test_bad_arguments = refusals_of(
    lambda cost, arguments: kappa_objective(cost, **arguments),
    ("linear", {}, "cost must be 'squared' .* 'absolute' .linear kappa.*'linear'"),
    (None, {}, "cost must hold real numbers", TypeError),
    ([[0, 1], [1, 0]], {"y_true": [0, 1, 2]}, "2 classes of the cost matrix, 0 to"),
    ([[0, 1, 2], [1, 0, 1]], {}, r"shape \(K, K\).*found shape \(2, 3\)"),
    ([0, 1], {}, r"shape \(K, K\) with K >= 2 classes, found shape \(2,\)"),
    ([[0]], {}, r"found shape \(1, 1\)"),
    ([[0, 1], [-1, 0]], {}, "be >= 0, found -1 for true label 1, predicted 0"),
    ([[0, 1], [1, 2]], {}, "on the diagonal, found 2 for true label 1"),
    ([[0, NAN], [1, 0]], {}, "cost must be finite, found nan for true label 0"),
    ([[0, INF], [1, 0]], {}, "cost must be finite, found inf"),
    ([["0", "1"], ["1", "0"]], {}, "cost must hold real numbers", TypeError),
    (COST, {"label_range": (0, 4)}, r"shape \(4, 4\), but label_range is \(0"),
    (COST, {"label_range": (0.5, 3.5)}, "give the 4 consecutive integers"),
    (COST, {"clip": False}, "a cost matrix says nothing about predictions beyond"),
    (COST, {"y_true": [1, 2, 3]}, "no label is 0, but .* classes 0 to 3"),
    (COST, {"y_true": [1, 2, 3, 4]}, "classes .*0 to 3, found 4.0 at row 3"),
    (COST, {"y_true": [0, 0.5]}, "found 0.5 at row 1"),
    (COST, {"y_true": [0, 0]}, "constant, all 0: kappa is undefined"),
    (COST, {"target_prior": {0: 0.5, 7: 0.5}}, "target_prior must be one of the 4"),
    (COST, {"target_prior": {1: 0.5, 2: 0.5}}, "target_prior: no label is 0"),
    ([[0, 0], [0, 0]], {"y_true": [0, 1]}, "always predicting 0 costs nothing"),
    ([[0, 1], [0, 0]], {"y_true": [0, 1]}, "always predicting 0 costs nothing"),
    ("absolute", {"y_true": [2, 2]}, "labels of positive weight are constant, all 2"),
    ("absolute", {"y_true": [2, 3], "sample_weight": [1, 0]}, "constant, all 2"),
    ("absolute", {"y_true": []}, "y_true is empty"),
    ("absolute", {"y_true": [0, NAN]}, "y_true must be finite, found nan"),
    ("absolute", {"y_true": [0, 4], "label_range": (0, 3)}, "found 4.0 at row 1"),
    ("absolute", {"sample_weight": [1, 1]}, "given without y_true"),
    ("absolute", {"y_true": np.arange(1001)}, "1001 different labels.*at most"),
    ("absolute", {"y_true": np.sqrt(np.arange(1500))}, "1500 different labels"),
    ("absolute", {"y_true": [0, 2], "target_prior": {0: 0.5, 1: 0.5}}, "label 2 occurs"),
    ("absolute", {"y_true": [0, 1], "target_prior": {0: 0.4, 1: 0.4, 5: 0.2}},
     "a label of target_prior must lie in label_range"),
    ("absolute", {"scale": "loss"}, "scale must be one of 'residual', 'kappa'"),
    ("absolute", {"clip": 1}, "clip must be True or False", TypeError),
    ("absolute", {"reduce": 3}, "reduce must be callable", TypeError),
    (go.qwk_objective(), {}, "cost is an objective", TypeError),
    (go.metrics.threshold_metric("linear"), {"y_true": [0, 1]}, "must return a tuple", TypeError),
    (lambda y: y, {}, r"cost must take \(y, p\)", TypeError),
    (named("diagonal", lambda y, p: (1 + np.abs(p - y), np.sign(p - y))), {"y_true": [0, 1]},
     "cost diagonal must be 0 for agree"),
    (negative, {"y_true": [0, 1]}, "cost negative must be >= 0, found -1"),
    (nan, {"y_true": [0, 1]}, "cost nan must be finite"),
    (only_value, {"y_true": [0, 1]}, "must return a tuple .value, derivative", TypeError),
    (short, {"y_true": [0, 1]}, r"the value returned by short must hold"),
    (free, {"y_true": [0, 1]}, "always predicting 0 costs nothing"),
)  # fmt: skip


test_bad_functions_of_a_ratio = refusals_of(
    lambda arguments: ratio_objective(*arguments),
    (("c", squared), "numerator must be a function of .y, p., found 'c'", TypeError),
    ((squared, None), "denominator must be a function", TypeError),
    ((squared, lambda: 1), "denominator must take", TypeError),
    ((go.qwk_objective(), squared), "numerator is an objective", TypeError),
)


test_bad_options_of_a_ratio = refusals_of(
    lambda options: ratio_objective(squared, squared, **options),
    ({"intercept": NAN}, "intercept must be finite"),
    ({"link": "score"}, "link must be one of 'identity', 'logit'"),
    ({"scale": "kappa"}, "scale must be one of 'residual', 'loss'"),
)


GOOD = np.resize([0.0, 1.0, 2.0], 200)
MATRIX = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


@each("call", [lambda obj, y: obj(y, np.ones(len(y))), lambda obj, y: obj.bind(y)(np.ones(len(y)))])
@refused(  # how boosters pass it on: tests/objectives/test_base.py
    (kappa_objective(MATRIX), np.where(np.arange(200) == 7, 3, GOOD),
     "3 classes of the cost matrix, 0 to 2, found 3.0 at row 7"),
    (kappa_objective(MATRIX), GOOD.clip(1), "no label is 0"),
    (kappa_objective("absolute"), np.ones(200), "constant, all 1"),
    (kappa_objective("absolute"), np.sqrt(np.arange(1500.0)), "1500 different labels"),
    (kappa_objective(nan), GOOD, "cost nan must be finite"),
    (kappa_objective(nan_slope), GOOD,
     "the derivative returned by nan_slope is nan at label 0, prediction"),
    (kappa_objective(negative), GOOD, "must be >= 0"),
    (ratio_objective(only_value, squared), GOOD, "must return a tuple", TypeError),
    (ratio_objective(short, squared), GOOD, "value returned by short must hold"),
    (ratio_objective(writes, squared), GOOD, "read-only"),
    (ratio_objective(squared, free), GOOD, "sums to 0 .* must be > 0: free"),
    (ratio_objective(squared, negative), GOOD, "must be > 0: negative"),
)  # fmt: skip
def test_raised_in_training(call, obj, y) -> None:
    call(obj, y)


def test_a_function_that_is_one_number_or_its_input_is_right() -> None:
    y, p, _ = rows(50, 4, seed=13)
    plain = ratio_objective(squared, lambda y, p: (np.full(50, 2.0), np.zeros(50)))
    number = ratio_objective(squared, lambda y, p: (2, 0))
    np.testing.assert_array_equal(plain(y, p)[0], number(y, p)[0])
    own = ratio_objective(lambda y, p: (0.5 * p * p, p), lambda y, p: (9 + p, 1))
    R = 0.5 * (p @ p) / (9 + p).sum()
    np.testing.assert_allclose(own.gradient_hessian(y, p)[0], p - R, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(own.bind(y)(p)[0], p - R, rtol=1e-5, atol=1e-6)  # float32
    below = ratio_objective(squared, lambda y, p: (9 + 0.5 * p * p, p))
    R = 0.5 * ((p - y) ** 2).sum() / (9 + 0.5 * p * p).sum()
    np.testing.assert_allclose(below.bind(y)(p)[0], p - y - R * p, rtol=1e-5, atol=1e-5)


def test_the_best_constant_is_between_classes_where_the_cost_is_flat() -> None:
    """At class 1 both costs turn: the slope there is 0, and does not tell that it falls before."""
    cost = [[0, 3, 2], [4, 0, 4], [2, 2, 0]]
    obj = kappa_objective(cost, [0, 0, 1], sample_weight=[2, 2, 3])
    grid = np.linspace(0, 2, 20_001)
    costs_of = obj.denominator(np.zeros(len(grid)), grid)[0]
    assert obj.intercept == pytest.approx(grid[costs_of.argmin()], abs=1e-4)


@pytest.mark.parametrize("clip", [True, False])
def test_margins_have_a_range_where_they_are_clipped(clip):
    y = np.array([0.0, 1, 2, 2])
    found = kappa_objective(log_cosh, clip=clip).measured(y)
    assert found.equations.label_range == ((0.0, 2.0) if clip else None)


def test_a_denominator_between_0_and_1_is_enough():
    def small(y, z):
        return np.full_like(z, 0.05), np.zeros_like(z)

    def squared(y, z):
        return (z - y) ** 2, 2 * (z - y)

    found = ratio_objective(squared, small).loss([0.0, 1.0], [0.0, 0.5])
    assert found == pytest.approx(2 * 0.25 / 0.1)
