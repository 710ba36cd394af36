"""Where a user's own function starts, found without the package: means, medians, priors."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit, softmax as shares_of

import gbdt_objectives as go
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.adapters._train import RowsOfParts
from tests.cases import each

rng = np.random.default_rng(0)
Y = rng.integers(60, 73, 901).astype(float)
W = rng.integers(1, 4, 901).astype(float)
RARE = (rng.random(5000) < 0.01).astype(float)
RARE_W = rng.uniform(0.5, 2, 5000)
COUNTS = rng.poisson(np.exp(3 * rng.random(901))).astype(float)
PRICES = rng.lognormal(3, 2, 901)


def weighted(g: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The gradient function of a row-wise gradient."""

    def function(y_true: Any, margin: Any, sample_weight: Any) -> Any:
        w = np.ones(len(y_true)) if sample_weight is None else sample_weight
        return w * g(y_true, margin), w * np.ones_like(margin)

    return function


squared_error = weighted(lambda y, f: f - y)
median = weighted(lambda y, f: np.where(f >= y, 0.5, -0.5))
sign = weighted(lambda y, f: np.sign(f - y))
fair = weighted(lambda y, f: (f - y) / (np.abs(f - y) + 1))
logistic = weighted(lambda y, f: expit(f) - y)
poisson = weighted(lambda y, f: np.exp(f) - y)


def pasted_qwk(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    """The published formula, with the labels' mean a."""
    w = np.ones(len(y_true)) if sample_weight is None else sample_weight
    n, p = w.sum(), np.clip(margin, y_true.min(), y_true.max())
    a = (w * y_true).sum() / n
    F, G = (w * (p - y_true) ** 2).sum(), (w * ((p - a) ** 2 + (y_true - a) ** 2)).sum()
    return w * ((p - y_true) / G - F * (p - a) / G**2) * n, w * np.ones_like(p)


def start(function: Any, y: Any, w: Any = None, **options: Any) -> Any:
    return go.objective(function, **options).measured(y, w).intercept


PRIOR = float(logit(np.average(RARE, weights=RARE_W)))
MEAN = float(np.average(Y, weights=W))
LOG_MEAN = float(np.log(COUNTS.mean()))
FAIR = float(brentq(lambda c: fair(Y, np.full(901, c), W)[0].sum(), 60, 72, xtol=1e-12))
MANY = np.sort(rng.normal(size=20001))


@each(
    ("function", "y", "w", "link", "expected", "within"),
    [
        (squared_error, Y, W, "identity", MEAN, 1e-9),
        (squared_error, Y, W, None, MEAN, 1e-9),
        (squared_error, PRICES, None, "identity", PRICES.mean(), 1e-9),
        (squared_error, 1e-8 * (Y - 66), W, "identity", 1e-8 * (MEAN - 66), 1e-6),
        (squared_error, 1e9 * Y, W, None, 1e9 * MEAN, 1e-9),
        (squared_error, np.full(5, 7.0), None, None, 7.0, 1e-9),
        (fair, Y, W, "identity", FAIR, 1e-8),
        (median, Y, None, "identity", np.median(Y), 1e-6),
        (median, np.array([1.0, 2, 4, 10]), None, None, 3.0, 1e-4),  # flat from 2 to 4
        (sign, np.array([1.0, 2, 4, 10]), None, None, 3.0, 1e-4),
        (median, PRICES, None, None, np.median(PRICES), 1e-3),
        (median, MANY, None, None, 0.0, 0.01),
        (logistic, RARE, RARE_W, "logit", PRIOR, 1e-9),
        (logistic, RARE, RARE_W, None, PRIOR, 1e-9),
        (poisson, COUNTS, None, "log", LOG_MEAN, 1e-9),
        (poisson, RARE, None, "log", np.log(RARE.mean()), 1e-9),
        (poisson, COUNTS, None, None, LOG_MEAN, 1e-9),
        (poisson, 1e5 * COUNTS, None, None, LOG_MEAN + np.log(1e5), 1e-9),
        (pasted_qwk, Y, W, None, MEAN, 1e-12),
        (pasted_qwk, Y, W, "identity", MEAN, 1e-12),
        (pasted_qwk, Y, W, "log", np.log(MEAN), 1e-12),
    ],
)  # fmt: skip
def test_a_function_starts_where_its_gradients_sum_to_0(
    function: Any, y: Any, w: Any, link: Any, expected: float, within: float
) -> None:
    found = start(function, y, w, link=link)
    assert type(found) is float
    assert found == pytest.approx(expected, rel=within, abs=within * np.ptp(y) / 2)


def test_kappa_in_float32_starts_at_the_mean() -> None:
    def narrow(*rows: Any) -> Any:
        return pasted_qwk(*(v.astype(np.float32) for v in rows))

    assert start(narrow, Y, W) == pytest.approx(MEAN, rel=1e-12)


def test_few_calls_on_all_rows() -> None:
    """Some 30 for smooth gradients, 70 where the last step of the sum is looked for."""
    for function, most in ((squared_error, 45), (logistic, 45), (median, 75)):
        lengths: list[int] = []

        def counted(y: Any, f: Any, w: Any, function: Any = function, seen: Any = lengths) -> Any:
            seen.append(len(f))
            assert not y.flags.writeable
            return function(y, f, w)

        y = RARE if function is logistic else Y
        start(counted, y, link="logit" if function is logistic else "identity")
        assert set(lengths) == {len(y)}
        assert len(lengths) <= most


def test_a_call_without_training_does_not_look_for_it() -> None:
    lengths: list[int] = []

    def counted(y: Any, f: Any, w: Any) -> Any:
        lengths.append(len(f))
        return squared_error(y, f, w)

    obj = go.objective(counted, loss=lambda y, f, w: 1.0)
    obj.gradient_hessian(Y, Y), obj(Y, Y), obj.bind(Y)(Y), obj.loss(Y, Y)
    assert len(lengths) == 3


def two_wells(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    """The slope of (margin^2 - 1)^2 / 4 + margin / 8, less at the left of its two minima."""
    return margin**3 - margin + 1 / 8, np.ones_like(margin)


def depth(y_true: Any, margin: Any, sample_weight: Any) -> float:
    return float(((margin**2 - 1) ** 2 / 4 + margin / 8).sum())


LEFT, _, RIGHT = sorted(np.roots([1, 0, -1, 1 / 8]))


def test_of_several_the_least_loss_or_the_nearest_to_the_mean() -> None:
    for y in (np.array([-2.0, 0.5]), np.array([2.0, 0.5])):
        assert start(two_wells, y, loss=depth) == pytest.approx(LEFT, rel=1e-6)
        nearest = LEFT if y[0] < 0 else RIGHT
        assert start(two_wells, y) == pytest.approx(nearest, rel=1e-6)

    def fails(y: Any, f: Any, w: Any) -> float:
        raise ValueError("no loss")

    assert start(two_wells, np.array([2.0, 0.5]), loss=fails) == pytest.approx(RIGHT, rel=1e-6)


def fails_below(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    if margin.min() < 50:
        raise ValueError("not there")
    return np.where(margin > 80, np.nan, margin - y_true), np.ones_like(margin)


def test_constants_at_which_the_function_fails_are_left_out() -> None:
    assert start(fails_below, Y) == pytest.approx(Y.mean(), rel=1e-9)

    def domain(y: Any, f: Any, w: Any) -> Any:  # gamma deviance, with no check of its own
        return 1 / f - y / f**2, np.ones_like(f)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert start(domain, PRICES) is not None


@each(
    ("function", "y", "options"),
    [
        (lambda y, f, w: (np.ones_like(f), f), Y, {}),  # it never changes its sign
        (lambda y, f, w: 1 / 0, Y, {}),
        (lambda y, f, w: None, Y, {}),
        (lambda y, f, w: (f * np.nan, f), Y, {}),
        (poisson, np.zeros(5), {"link": "log"}),
        (logistic, np.ones(5), {"link": "logit"}),
        (lambda y, f, w: (f, np.ones_like(f)), Y, {"outputs": 2}),
    ],
)
def test_where_there_is_none_it_starts_as_it_would(function: Any, y: Any, options: Any) -> None:
    obj = go.objective(function, **options)
    assert obj.measured(y) == obj


def test_a_gradient_of_minus_the_loss_is_refused() -> None:
    def uphill(y: Any, f: Any, w: Any) -> Any:
        return y - f, np.ones_like(f)

    with pytest.raises(ValueError, match="uphill falls as the margin rises.*write that of"):
        go.objective(uphill).measured(Y)
    with pytest.raises(ValueError, match="uphill falls as the margin rises"):
        go.objective(uphill, link="identity", intercept=2.0).measured(Y)
    assert start(lambda y, f, w: (f - y, np.ones_like(f)), Y) == pytest.approx(np.mean(Y))


def test_a_function_that_ignores_weights_is_refused() -> None:
    def ignores(y: Any, f: Any, w: Any) -> Any:
        return f - y, np.ones_like(f)

    def of_shares(y: Any, f: Any, w: Any) -> Any:
        w = np.ones_like(f) if w is None else w / w.mean()
        return w * (f - y), w

    with pytest.raises(ValueError, match="ignores answers the same for .* times sample_weight"):
        go.objective(ignores).measured(Y, W)
    with pytest.raises(ValueError, match="ignores answers the same for others"):
        go.objective(ignores, intercept=1.0).measured(Y, W)
    go.objective(ignores).measured(Y, np.full(len(Y), 3.0))  # which makes no difference
    assert start(of_shares, Y, W) == pytest.approx(np.average(Y, weights=W))


def softmax(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    w = 1.0 if sample_weight is None else sample_weight[:, np.newaxis]
    p = shares_of(margin, axis=1)
    return w * (p - np.eye(margin.shape[1])[y_true.astype(int)]), w * p * (1 - p)


def softmax_with_class_weights(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    w = np.array([1.0, 2.0, 4.0])[y_true.astype(int)]
    return softmax(y_true, margin, w if sample_weight is None else w * sample_weight)


def of_nobody(y_true: Any, margin: Any, sample_weight: Any) -> Any:  # it is never 0
    return np.ones_like(margin), np.ones_like(margin)


def test_a_softmax_that_weights_classes_starts_where_its_gradients_sum_to_0() -> None:
    y, w = rng.integers(0, 3, 500), rng.uniform(1, 2, 500)
    for weights in (None, w):
        z = np.log(np.bincount(y, weights) * [1, 2, 4])
        found = start(softmax_with_class_weights, y, weights, link="softmax", outputs=3)
        np.testing.assert_allclose(found, z - z.mean(), atol=1e-6)
    obj = go.objective(softmax_with_class_weights, link="softmax", outputs=3)
    findings = {f.check: f.status for f in go.check_objective(obj).findings}
    assert findings["intercept"] == "passed"
    z = np.log(np.bincount(y))
    found = start(of_nobody, y, None, link="softmax", outputs=3)
    np.testing.assert_allclose(found, z - z.mean(), rtol=1e-12)


def test_a_softmax_starts_at_the_centred_logs_of_the_priors() -> None:
    y, w = rng.integers(0, 3, 500), rng.uniform(1, 2, 500)
    z = np.log(np.bincount(y, w))
    found = start(softmax, y, w, link="softmax", outputs=3)
    np.testing.assert_allclose(found, z - z.mean(), rtol=1e-12)
    assert all(type(value) is float for value in found)
    absent = start(softmax, y, w, link="softmax", outputs=4)
    assert np.all(np.isfinite(absent))
    np.testing.assert_allclose(np.diff(absent[:3]), np.diff(z), rtol=1e-12)
    assert absent[3] < min(absent[:3]) - 10
    for others in (y + 1, y + 0.5):
        with pytest.raises(ValueError, match="must hold classes 0 to 2"):
            start(softmax, others, w, link="softmax", outputs=3)


def test_rows_of_weight_0_do_not_count() -> None:
    y, w = np.append(Y, 1e6), np.append(W, 0.0)
    for function in (squared_error, pasted_qwk):
        kept = Y if function is squared_error else y
        assert start(function, y, w) == pytest.approx(
            np.average(kept, weights=W if kept is Y else w)
        )


def test_values_by_row() -> None:
    def costly(y_true: Any, margin: Any, sample_weight: Any, cost: Any) -> Any:
        w = cost if sample_weight is None else cost * sample_weight
        return w * (margin - y_true), w

    cost = rng.uniform(1, 9, 901)
    obj = go.objective(costly, rows={"cost": cost})
    assert obj.measured(Y, W).intercept == pytest.approx(np.average(Y, weights=W * cost), rel=1e-9)
    some = obj.take(np.arange(100)).measured(Y[:100])
    assert some.intercept == pytest.approx(np.average(Y[:100], weights=cost[:100]), rel=1e-9)


@each("function", [squared_error, median, fair, logistic, poisson])
@each("link", [None, "log", "logit"])
def test_parts_elsewhere_find_what_one_machine_finds(function: Any, link: Any) -> None:
    """As Dask and Spark ask for sums; one part is empty, and one has rows of weight 0 alone."""
    y, w = (RARE, RARE_W) if link == "logit" or function is logistic else (COUNTS, W)
    w = w.copy()
    w[100:200] = 0
    messages = 0

    def run(statistics: Any) -> list[Any]:
        nonlocal messages
        messages += 1
        cuts = (0, 0, 100, 200, len(y))
        found = [statistics(Rows(y[a:b], w=w[a:b])) for a, b in pairwise(cuts)]
        assert all(np.ndim(part) == 1 for part in found)
        return found

    loss = go.objective(function, link=link).equations
    one, parts = loss.measured(Rows(y, w=w)), loss.measured(RowsOfParts(run=run))
    assert messages <= 9
    assert (one.intercept is None) == (parts.intercept is None)
    if one.intercept is not None:
        assert parts.intercept == pytest.approx(one.intercept, rel=1e-9)


def told(obj: go.Objective, y: Any, w: Any = None) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert obj.measured(y, w) == obj  # it stays
    return [str(one.message) for one in caught]


def test_an_intercept_far_from_there_warns() -> None:
    (message,) = told(go.objective(poisson, link="log", intercept=66.0), Y)
    best = f"{np.log(Y.mean()):.4g}"
    assert message.startswith(f"boosting starts at 66, far from the best constant, {best}: ")
    assert message.endswith("give intercept= as logs of a positive mean, or leave it out")
    (message,) = told(go.objective(logistic, link="logit", intercept=0.01), RARE)
    assert f"the best constant, {logit(RARE.mean()):.4g}:" in message
    assert "as log-odds of label 1" in message
    (message,) = told(go.objective(median, intercept=0), Y)
    assert "boosting starts at 0, far from the best constant, 66:" in message


@each(
    ("obj", "y"),
    [
        (go.objective(squared_error, intercept=64), Y),
        (go.objective(squared_error, intercept=0), Y - 66),
        (go.objective(poisson, link="log", intercept=np.log(66)), Y),
        (go.objective(pasted_qwk, intercept=0), Y),
        (go.objective(median, intercept=7.0), np.full(5, 7.0)),  # all gradients point one way
        (go.objective(lambda y, f, w: (np.ones_like(f), f), intercept=0), Y),  # there is no best
        (go.objective(lambda y, f, w: 1 / 0, intercept=0), Y),
        (go.objective(softmax, link="softmax", outputs=3, intercept=[9, 9, 9]), Y % 3 // 1),
    ],
)
def test_an_intercept_that_is_near_or_cannot_be_judged_does_not_warn(obj: Any, y: Any) -> None:
    assert not told(obj, y)


def test_the_objective_found_pickles_and_is_measured_once() -> None:
    found = go.objective(squared_error_of_module).measured(Y)
    assert pickle.loads(pickle.dumps(found)) == found
    assert found.measured(Y + 1) is found


def squared_error_of_module(y_true: Any, margin: Any, sample_weight: Any) -> Any:
    return margin - y_true, np.ones_like(margin)


def test_a_loss_for_jax_starts_there_as_well() -> None:
    jnp = pytest.importorskip("jax.numpy")

    def log_cosh(y_true: Any, margin: Any, sample_weight: Any) -> Any:
        losses = jnp.logaddexp(margin - y_true, y_true - margin)
        return (losses if sample_weight is None else sample_weight * losses).sum()

    found = go.objective_from_loss(log_cosh).measured(Y, W).intercept
    g = lambda c: (W * np.tanh(c - Y)).sum()  # noqa: E731
    assert found == pytest.approx(brentq(g, 60, 72, xtol=1e-12), rel=1e-8)
