"""Extended QWK: the published formula, its invariances, its arguments."""

from __future__ import annotations

from functools import partial

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import gbdt_objectives as go
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.objectives import kappa_objective
from gbdt_objectives.objectives.qwk import LabelMoments
from tests.cases import each, refusals_of


def published(y: np.ndarray, p: np.ndarray, a: float, b: float, low: float, high: float):
    """The gradient as published, for labels from low to high."""
    p = np.clip(p, low, high)
    f = 0.5 * np.sum((p - y) ** 2)
    g = 0.5 * np.sum((p - a) ** 2 + b)
    return ((p - y) / g - f * (p - a) / g**2) * len(p)


@each(("low", "high"), [(0, 3), (1, 6), (0, 60)])
def test_kappa_scale_is_the_published_formula(low: int, high: int) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(low, high + 1, 10_000).astype(float)
    p = rng.normal(y.mean(), 2 * y.std(), 10_000)  # well beyond the range on both sides
    measured = go.qwk_objective(y, scale="kappa")
    # a = 1.85 and b = 1.63, as fitted in the write-up to that competition's labels
    given = {"mean": 1.85 + low, "variance": 1.63}
    fixed = go.qwk_objective(**given, label_range=(low, high), scale="kappa")
    for obj, a, b in ((measured, y.mean(), y.var()), (fixed, 1.85 + low, 1.63)):
        gradient, hessian = obj.gradient_hessian(y, p)
        expected = published(y, p, a, b, low, high)
        within = 1e-9 * np.abs(expected).max()
        np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=within)
        assert (hessian == 1).all()


def test_residual_scale_is_the_published_direction() -> None:
    rng = np.random.default_rng(2)
    y, p = rng.integers(0, 4, 500).astype(float), rng.normal(1.5, 2, 500)
    residual, _ = go.qwk_objective(y, scale="residual").gradient_hessian(y, p)
    q = p.clip(0, 3)
    F, G = ((q - y) ** 2).sum() / 2, ((q - y.mean()) ** 2 + y.var()).sum() / 2
    np.testing.assert_allclose(residual, (q - y) - F / G * (q - y.mean()), rtol=1e-9, atol=1e-12)


@given(
    scale=st.floats(0.01, 100),
    shift=st.floats(-50, 50),
    p=hnp.arrays(float, 30, elements=st.floats(-2, 8)),
    clip=st.booleans(),
)
def test_residual_scale_follows_the_label_scale(scale, shift, p, clip) -> None:
    y = np.resize([0.0, 1.0, 2.0, 5.0], 30)
    plain, _ = go.qwk_objective(y, clip=clip).gradient_hessian(y, p)
    moved_y, moved_p = scale * y + shift, scale * p + shift
    moved, _ = go.qwk_objective(moved_y, clip=clip).gradient_hessian(moved_y, moved_p)
    # rounding of labels up to |shift| + scale * 8, seen through a spread of scale^2
    np.testing.assert_allclose(moved / scale, plain, rtol=0, atol=1e-9 * (1 + abs(shift) / scale))


def test_measures_labels_weights_and_prior() -> None:
    obj = go.qwk_objective([0, 0, 1, 5], sample_weight=[1, 1, 2, 4])
    y = [0, 0, 1, 1, 5, 5, 5, 5]
    assert (obj.mean, obj.variance) == (pytest.approx(np.mean(y)), pytest.approx(np.var(y)))
    assert obj.label_range == (0, 5)
    prior = go.qwk_objective([0, 1, 2], target_prior={0: 0.7, 1: 0.2, 2: 0.1})
    assert prior.mean == pytest.approx(0.4)
    assert prior.variance == pytest.approx(0.2 + 0.4 - 0.16)
    assert prior.label_range == (0, 2)
    explicit = go.qwk_objective([0, 1, 2], mean=0.5, variance=0.6, label_range=(0, 4))
    assert (explicit.mean, explicit.variance, explicit.label_range) == (0.5, 0.6, (0, 4))


def test_float32_gradient_is_accurate_at_a_million_rows() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 6, 1_000_000).astype(np.float32)
    p = rng.normal(2.5, 2, 1_000_000).astype(np.float32)
    obj = go.qwk_objective(y)
    exact, _ = obj.gradient_hessian(y.astype(float), p.astype(float))
    # float32 rounding of numbers up to 5 is 2e-7; sums in float32 over all rows would give 4e-6
    assert np.abs(obj(y, p)[0] - exact).max() <= 1e-6


start_warning = "boosting starts at .* far from the labels' centre"


def test_far_start_warns_once_and_names_the_remedy(ordinal) -> None:
    X, y, _ = ordinal
    obj = go.qwk_objective(y)
    with pytest.warns(UserWarning, match=start_warning) as record:
        xgb.train({}, xgb.DMatrix(X, y), 10, obj=obj)
    assert len(record) == 1
    assert f"base_score={y.mean():g}" in str(record[0].message)
    assert "adapters.xgboost" in str(record[0].message)
    with pytest.warns(UserWarning, match=start_warning) as record:
        lgb.train({"objective": obj, "verbose": -1}, lgb.Dataset(X, y), 10)
    assert len(record) == 1
    # an init_score alone would be missing from the predictions: no remedy
    assert "init_score would be missing from the predictions" in str(record[0].message)
    assert "adapters.lightgbm" in str(record[0].message)
    assert "base_score" not in str(record[0].message)
    with pytest.warns(UserWarning, match=start_warning):  # also when it measures the labels itself
        xgb.train({}, xgb.DMatrix(X, y), 2, obj=go.qwk_objective())


@pytest.mark.filterwarnings("error")
def test_a_start_near_the_centre_does_not_warn(ordinal) -> None:
    X, y, _ = ordinal
    obj = go.qwk_objective(y)
    near = y.mean() + 0.49 * y.std()
    xgb.train({"base_score": near}, xgb.DMatrix(X, y), 3, obj=obj)
    lgb.train(
        {"objective": obj, "verbose": -1}, lgb.Dataset(X, y, init_score=np.full(len(y), near)), 3
    )
    margin = np.full(len(y), -3.0)
    margin[0] = 2.0  # a model, though a bad one: not the first call
    obj(y, margin)


NAN, INF = float("nan"), float("inf")


test_bad_arguments = refusals_of(
    lambda arguments: go.qwk_objective(**arguments),
    ({"y_true": []}, "y_true is empty"),
    ({"y_true": [0, 1, NAN]}, "y_true must be finite, found nan at row 2"),
    ({"y_true": [0, INF]}, "y_true must be finite, found inf at row 1"),
    ({"y_true": [2, 2, 2]}, "labels of positive weight are constant, all 2"),
    ({"y_true": [2, 3], "sample_weight": [1, 0]}, "constant, all 2"),
    ({"y_true": [[0, 1]]}, r"one-dimensional, found shape \(1, 2\)"),
    ({"y_true": ["a", "b"]}, "y_true must hold real numbers, found dtype", TypeError),
    ({"y_true": [0, 1], "sample_weight": [1]}, "1 rows, but the labels have 2"),
    ({"y_true": [0, 1], "sample_weight": [1, -2]}, "negative, found -2.0 at row 1"),
    ({"y_true": [0, 1], "sample_weight": [0, 0]}, "0 in all 2 rows"),
    ({"sample_weight": [1, 1]}, "sample_weight is given without y_true"),
    ({"y_true": [0, 1], "label_range": (1, 1)}, "single value 1"),
    ({"y_true": [0, 1], "label_range": (3, 0)}, "swap the two"),
    ({"y_true": [0, 1], "label_range": 3}, "label_range must be a pair", TypeError),
    ({"y_true": [0, 4], "label_range": (0, 3)}, "found 4.0 at row 1"),
    ({"y_true": [0, 1], "mean": NAN}, "mean must be finite, found nan"),
    ({"y_true": [0, 1], "mean": "1"}, "mean must be a number, found str", TypeError),
    ({"y_true": [0, 3], "mean": 5}, "mean 5 lies outside label_range"),
    ({"y_true": [0, 1], "variance": 0}, "variance must be > 0"),
    ({"label_range": (0, 3), "mean": 2.9, "variance": 1.6}, "variance 1.6 is impossible"),
    ({"y_true": [0, 1], "scale": "log"}, "scale must be one of 'residual', 'kappa'"),
    ({"y_true": [0, 1], "clip": "yes"}, "clip must be True or False", TypeError),
    ({"y_true": [0, 1], "reduce": 3}, "reduce must be callable", TypeError),
    ({"target_prior": {0: 0.5, 1: 0.6}}, "must sum to 1, found 1.1"),
    ({"target_prior": {0: 1.5, 1: -0.5}}, "probabilities >= 0, found -0.5"),
    ({"target_prior": {0: 1.0, 1: 0.0}}, "target_prior: .* constant, all 0"),
    ({"target_prior": [0.5, 0.5]}, "target_prior must be a mapping", TypeError),
    ({"y_true": [0, 1], "target_prior": {0: 0.6, 1: 0.3, 5: 0.1}},
     "a label of target_prior must lie in label_range"),
    ({"y_true": [0, 2], "target_prior": {0: 0.5, 1: 0.5}}, "label 2 occurs"),
    ({"target_prior": {0: 0.5, 1: 0.5}, "mean": 0.5, "variance": 0.2}, "all given"),
)  # fmt: skip


def test_labels_far_from_0_have_a_spread() -> None:
    y, p = np.array([0, 1, 0, 1, 1]), np.array([0.0, 1, 1, 1, 1])
    near = go.extended_qwk_metric()(y, p)
    for offset in (1e5, 1e6):
        assert go.extended_qwk_metric()(y + offset, p + offset) == pytest.approx(near, rel=1e-9)


@each("clip", [True, False])
@each("factory", [go.qwk_objective, partial(kappa_objective, "absolute")])
def test_a_prior_says_which_labels_there_are(factory, clip: bool) -> None:
    """With those of the training rows they were refused; here the rows come later."""
    objective = factory(target_prior=dict.fromkeys(range(1, 6), 0.2), clip=clip)
    assert objective.label_range == (1, 5)
    with pytest.raises(ValueError, match=r"must lie in label_range \(1.0, 5.0\), found 0"):
        objective([0, 1, 2, 3, 4], [1.0, 2, 3, 4, 4])
    objective([1, 2, 2, 4, 4], [1.0, 2, 3, 4, 4])  # not all need occur


def test_a_centre_far_from_all_labels_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="mean=20 and variance=1 say that they are elsewhere"):
        go.qwk_objective(mean=20, variance=1).measured([0, 1, 2, 3])


def test_the_loss_of_good_predictions_is_not_negative() -> None:
    """Of float32 margins and weights, as boosters have them."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        y, w = rng.integers(0, 5, 50).astype(np.float32), rng.random(50).astype(np.float32)
        p = (y + 1e-4 * rng.normal(size=50)).astype(np.float32)
        expected = go.qwk_objective().loss(*(a.astype(np.float64) for a in (y, p, w)))
        # centred margins are rounded to float32: 1e-7 each, of errors of 1e-4
        assert go.qwk_objective().loss(y, p, w) == pytest.approx(expected, rel=1e-2)
        assert go.qwk_objective().loss(y, y, w) == 0


def test_a_given_centre_stays_where_the_spread_is_measured():
    y = np.array([0.0, 1, 1, 3])
    assert "mean=2.5" in repr(go.qwk_objective(mean=2.5).measured(y))


@each("label_range", [None, (0.0, 3.0)])
@each("clip", [True, False])
def test_what_the_labels_are_still_needed_for(label_range, clip: bool) -> None:
    given = go.qwk_objective(mean=1.5, variance=1.2, label_range=label_range, clip=clip)
    assert given.needs_labels == (clip and label_range is None)
    assert go.qwk_objective(label_range=label_range, clip=clip).needs_labels


def test_moments_of_parts_are_those_of_all_rows() -> None:
    """Parts of other lowest labels, one of them without rows."""
    rng = np.random.default_rng(4)
    y, w = rng.integers(2, 9, 300).astype(float), rng.integers(1, 5, 300).astype(float)
    order = np.argsort(y, kind="stable")
    parts = [order[:120], order[120:120], order[120:121], order[121:]]
    found = [LabelMoments.of(Rows(y[at], w=w[at])) for at in parts]
    assert found[1] == LabelMoments()
    merged = LabelMoments.merged(np.array(found))
    d = y - y.min()
    assert merged == (y.min(), y.max(), w.sum(), w @ d, w @ (d * d))  # whole numbers, exact
