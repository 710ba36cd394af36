"""QWK against scikit-learn and the definition; its extended form against Lin's coefficient."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import cohen_kappa_score

import gbdt_objectives as go
from gbdt_objectives import quadratic_weighted_kappa
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.metrics.base import class_counts, rounded
from gbdt_objectives.metrics.kappa import merged, moments
from tests.cases import each, refusals_of

classes = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        hnp.arrays(int, n, elements=st.integers(0, 5)),
        hnp.arrays(int, n, elements=st.integers(0, 5)),
        hnp.arrays(float, n, elements=st.just(0.0) | st.floats(1e-6, 10)),
    )
)


@pytest.mark.slow
@given(rows=classes, offset=st.sampled_from([0, 1, -7, 1_000_000]))
def test_equals_scikit_learn(rows, offset) -> None:
    y, p, w = rows
    assume(w.sum() > 1e-3)
    counted = np.concatenate([y[w > 0], p[w > 0]])
    assume(len(np.unique(counted)) > 1)
    for weight in (None, w):
        if weight is None:
            assume(len(np.unique(np.concatenate([y, p]))) > 1)
        ours = quadratic_weighted_kappa(y + offset, p + offset, sample_weight=weight)
        theirs = cohen_kappa_score(y, p, labels=range(6), weights="quadratic", sample_weight=weight)
        assert ours == pytest.approx(theirs, abs=1e-9)


@each("dtype", [np.int8, np.uint8, np.int64, np.float32, np.float64, bool])
def test_any_dtype_of_whole_numbers(dtype) -> None:
    y, p = np.array([0, 1, 1, 0, 1], dtype), np.array([0, 1, 0, 1, 1], dtype)
    assert quadratic_weighted_kappa(y, p) == pytest.approx(1 / 6)


def test_missing_class_changes_nothing_on_integers_but_codes_need_labels() -> None:
    y, p = [0, 1, 3, 3], [0, 0, 3, 1]  # no 2
    with_all = cohen_kappa_score(y, p, labels=[0, 1, 2, 3], weights="quadratic")
    assert quadratic_weighted_kappa(y, p) == pytest.approx(with_all)
    assert quadratic_weighted_kappa(y, p, labels=[0, 1, 2, 3]) == pytest.approx(with_all)
    codes = np.array([10, 20, 30, 70])
    by_position = quadratic_weighted_kappa(codes[y], codes[p], labels=codes)
    assert by_position == pytest.approx(with_all)
    assert quadratic_weighted_kappa(codes[y], codes[p]) != pytest.approx(with_all)


def test_ordered_names() -> None:
    names = np.array(["low", "middle", "high", "top"])  # not in alphabetical order
    y, p = np.random.default_rng(0).integers(0, 4, (2, 50))
    expected = quadratic_weighted_kappa(y, p)
    assert quadratic_weighted_kappa(names[y], names[p], labels=names) == pytest.approx(expected)


def test_constant_prediction_scores_zero_and_perfect_one() -> None:
    assert quadratic_weighted_kappa([0, 1, 2], [1, 1, 1]) == 0
    assert quadratic_weighted_kappa([0, 1, 2], [0, 1, 2]) == 1
    assert quadratic_weighted_kappa([1, 1, 1], [0, 1, 2]) == 0
    assert quadratic_weighted_kappa([1, 1], [0, 0]) == 0


def test_undefined_is_nan_with_a_warning_as_in_scikit_learn() -> None:
    for weight in (None, [0.1, 0.2, 0.7]):
        with pytest.warns(UndefinedMetricWarning, match="one and the same class only"):
            assert math.isnan(quadratic_weighted_kappa([2, 2, 2], [2, 2, 2], sample_weight=weight))
    with pytest.warns(UndefinedMetricWarning):  # the rows that count hold one class
        value = quadratic_weighted_kappa([0, 2, 2], [1, 2, 2], sample_weight=[0, 0.1, 0.7])
    assert math.isnan(value)


test_bad_input = refusals_of(
    lambda arguments, options: quadratic_weighted_kappa(*arguments, **options),
    (([0, 1], [0.5, 1]), {}, "y_pred must hold classes, found 0.5 at row 0"),
    (([0, 1.5], [0, 1]), {}, "y_true must hold classes, found 1.5 at row 1"),
    (([0, 1], [0]), {}, "y_pred has 1 rows, but the labels have 2"),
    (([], []), {}, "y_true is empty"),
    (([[0, 1]], [0, 1]), {}, "one-dimensional"),
    (([0, np.nan], [0, 1]), {}, "y_true must be finite"),
    ((["a", "b"], ["a", "b"]), {}, r"y_true has dtype <U1: pass labels=", TypeError),
    (([0, 1], [0, 1]), {"sample_weight": [1, -1]}, "negative"),
    (([0, 1], [0, 3]), {"labels": [0, 1]}, r"y_pred holds .*3.* at row 1"),
    (([0, 1], [0, 1]), {"labels": [0, 1, 1]}, "different from each other"),
    (([0, 1], [0, 1]), {"labels": [0]}, "at least two classes"),
    (([0, 1], [0, 1]), {"labels": ["a", "b"]}, "y_true has dtype", TypeError),
    ((["a", "c"], ["a", "b"]), {"labels": ["a", "b"]}, "not in labels"),
)


def test_metric_rounds_to_the_nearest_label_in_the_range() -> None:
    y, score = [0, 1, 2, 3, 3], [-5.0, 0.5, 1.5, 2.49, 11.0]
    expected = quadratic_weighted_kappa(y, [0, 1, 2, 2, 3])
    assert go.qwk_metric((0, 3))(y, score) == pytest.approx(expected)
    assert go.qwk_metric()(y, score) == pytest.approx(expected)
    wide = quadratic_weighted_kappa(y, [0, 1, 2, 2, 5])
    assert go.qwk_metric((0, 5))(y, score) == pytest.approx(wide)


def test_metric_cuts_at_thresholds() -> None:
    metric = go.qwk_metric((1, 3), thresholds=[0.2, 0.4])
    y = [1, 2, 3, 3]
    score = [0.19, 0.2, 0.39, 0.4]  # class k where thresholds[k-1] <= score < thresholds[k]
    assert metric(y, score) == pytest.approx(quadratic_weighted_kappa(y, [1, 2, 2, 3]))
    always_two = go.qwk_metric((1, 3), thresholds=[-np.inf, np.inf])  # all in the middle class
    assert always_two(y, score) == 0


test_labels_outside_the_range = refusals_of(
    lambda y: go.qwk_metric((0, 2))(y, [0.0, 1.0]),
    ([0, 3], r"label_range \(0, 2\), found 3"),
    ([0, 0.5], r"y_true must hold classes, found 0.5"),
)


test_bad_arguments_of_the_metric = refusals_of(
    lambda arguments, options: go.qwk_metric(*arguments, **options),
    (((0, 0),), {}, "single value 0"),
    (((3, 0),), {}, "swap the two"),
    (((0, 2.5),), {}, "must hold integers"),
    ((), {"thresholds": [0.5]}, "thresholds need label_range"),
    (((0, 3),), {"thresholds": [0.5]}, "must be 3 numbers for labels 0 to 3, found 1"),
    (((0, 2),), {"thresholds": [1, 0]}, "must be sorted"),
    (((0, 2),), {"thresholds": [1, float("nan")]}, "thresholds must not be NaN"),
)


@given(rows=classes)
def test_extended_is_lins_concordance_coefficient(rows) -> None:
    y, p, _ = rows
    assume(np.ptp(y) > 0)
    score = p + 0.25
    cov = np.mean((score - score.mean()) * (y - y.mean()))
    ccc = 2 * cov / (score.var() + y.var() + (score.mean() - y.mean()) ** 2)
    assert go.extended_qwk_metric()(y, score) == pytest.approx(ccc, abs=1e-12)
    assert go.extended_qwk_metric()(y, p) == pytest.approx(quadratic_weighted_kappa(y, p), abs=1e-9)


def test_extended_uses_the_given_moments() -> None:
    y, p = np.array([0.0, 1, 2, 3]), np.array([0.2, 0.8, 2.5, 2.0])
    value = go.extended_qwk_metric(mean=1.85, variance=1.63)(y, p)
    assert value == pytest.approx(1 - ((p - y) ** 2).sum() / ((p - 1.85) ** 2 + 1.63).sum())
    from_prior = go.extended_qwk_metric(target_prior={0: 0.5, 1: 0.5})
    assert (from_prior.mean, from_prior.variance) == (0.5, 0.25)
    assert go.extended_qwk_metric([0, 1, 2]).mean == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mean": 20.0, "variance": 1.0}, "mean=20 and variance=1 say that they are elsewhere"),
        ({"y_true": [1, 2, 3, 4, 5]}, "those given before are from 1 to 5"),
        ({"target_prior": dict.fromkeys(range(1, 6), 0.2)}, "those given before are from 1 to 5"),
    ],
)
def test_extended_warns_of_moments_of_other_labels(given, said: str) -> None:
    y = np.array([0, 1, 2, 3, 4])
    with pytest.warns(UserWarning, match=f"labels from 0 to 4, of mean 2, but {said}"):
        go.extended_qwk_metric(**given)(y, y + 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        go.extended_qwk_metric(mean=0.5, variance=1.0)(y, y + 0.1)  # common ones were left out
        go.extended_qwk_metric(y)(y[:2], y[:2] + 0.1)


def test_best_score_is_a_stretch_of_the_conditional_mean() -> None:
    """p* = mu + (m - mu)/(1-R), and then kappa~ is the correlation (facts, section 2)."""
    rng = np.random.default_rng(0)
    m = rng.normal(2, 0.7, 4000)
    y = m + rng.normal(0, 0.9, 4000)
    m = m + (y - m).mean()  # exactly calibrated in this sample
    m = y.mean() + (m - m.mean()) * np.cov(m, y)[0, 1] / m.var(ddof=1)
    rho = np.corrcoef(m, y)[0, 1]
    best = y.mean() + (m - y.mean()) / rho
    metric = go.extended_qwk_metric()
    assert metric(y, best) == pytest.approx(rho, abs=1e-9)
    for stretch in (0.9, 0.99, 1.01, 1.1):
        assert metric(y, y.mean() + stretch * (best - y.mean())) < rho


def test_moments_of_parts_are_those_of_all_rows() -> None:
    """Parts of other origins, lengths, means and weights, and one without rows that count."""
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.integers(k, k + 4, 20 + 10 * k) for k in (3, 0, 5)]).astype(float)
    p = y + rng.integers(-1, 3, len(y))
    w = rng.integers(1, 4, len(y)).astype(float)
    ends = [slice(0, 50), slice(50, 70), slice(70, None)]
    parts = np.array([moments(Rows(y[at], p[at], w[at])) for at in ends])
    parts = np.insert(parts, [0, 2], moments(Rows(y[:2], p[:2], np.zeros(2))), axis=0)
    origin, n, mean_y, mean_p, *squares = merged(parts)
    assert origin == parts[1, 0]  # not of the part without rows
    assert n == w.sum()
    means = np.average([y, p], axis=1, weights=w)
    np.testing.assert_allclose([mean_y + origin, mean_p + origin], means, rtol=1e-13)
    u, v = y - means[0], p - means[1]
    np.testing.assert_allclose(squares, [w @ u**2, w @ v**2, w @ (u * v)], rtol=1e-12)
    np.testing.assert_allclose(merged(parts[::-1])[4:], squares, rtol=1e-12)


@each("dtype", [np.int8, np.int64, np.float32, np.float64])
@each(("low", "K", "n"), [(0, 4, 81_921), (-3, 6, 20_000), (-60, 64, 9000), (90, 9, 50), (0, 2, 1)])
def test_few_classes_are_counted(dtype, low, K, n) -> None:
    """Whole blocks, two rows at a time, and the rest; the moments of both ways are the same."""
    rng = np.random.default_rng(n)
    y, p = rng.integers(low, low + K, (2, n)).astype(dtype)
    w = rng.integers(0, 4, n).astype(float)
    for f in (p, p.astype(np.int64)):
        for weight in (None, w):
            expected = np.zeros((K, K))
            np.add.at(
                expected, (y.astype(int) - low, f.astype(int) - low), 1 if weight is None else w
            )
            np.testing.assert_array_equal(class_counts(Rows(y, f, weight), low, K), expected)
    counted = moments(Rows(y, p), (low, low + K - 1))
    by_rows = moments(Rows(y.astype(float), p.astype(float)))
    counted[2:4] += counted[0] - by_rows[0]
    np.testing.assert_allclose(counted[1:], by_rows[1:], rtol=1e-12, atol=1e-9 * n)
    if dtype is np.int64:
        np.testing.assert_allclose(merged(np.array([moments(Rows(y, p))] * 2))[4:], 2 * counted[4:])


def test_a_worker_without_rows_counts_none() -> None:
    none = np.empty(0, np.float32)
    assert (class_counts(Rows(none, none), 0, 3) == np.zeros((3, 3))).all()
    assert (moments(Rows(none, none), (0, 2)) == 0).all()


def test_halves_are_rounded_upwards() -> None:
    for dtype in (np.float32, np.float64):
        half = np.arange(-3, 4).astype(dtype) + dtype(0.5)
        below = np.nextafter(half, dtype(-9))
        np.testing.assert_array_equal(rounded(half), np.arange(-2, 5))
        np.testing.assert_array_equal(rounded(below), np.arange(-3, 4))
        assert rounded(half).dtype == dtype
