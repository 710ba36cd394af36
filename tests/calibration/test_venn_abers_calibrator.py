"""VennAbersCalibrator against isotonic regression with a row added, and against venn-abers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression, isotonic_regression

from gbdt_objectives.calibration import VennAbersCalibrator
from tests.cases import each

pytestmark = pytest.mark.slow


def by_adding_a_row(score, y, w, new):
    """(n, 2): what isotonic regression gives a row of each label, added."""
    found = []
    for s in new:
        at, place = np.unique(np.append(score, s), return_inverse=True)
        for label in (0, 1):
            v = np.append(w, 1.0)
            W = np.bincount(place, v)
            fitted = isotonic_regression(
                np.bincount(place, v * np.append(y, label)) / W, sample_weight=W
            )
            found.append(fitted[np.searchsorted(at, s)])
    return np.reshape(found, (-1, 2))


def places(score):
    """On, just beside, between and beyond the scores."""
    s = np.unique(score)
    return np.concatenate([s, s - 3e-4, s + 3e-4, [s[0] - 9, s[-1] + 9]])


# labels and scores are drawn at random
@pytest.mark.filterwarnings("ignore:the area under the ROC curve is", "ignore:score is from")
@given(data=st.data(), n=st.integers(2, 14))
def test_is_isotonic_regression_with_a_row_added(data, n) -> None:
    score = np.array(data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n)), float)
    labels = st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2)
    y = np.array([*data.draw(labels), 0, 1])
    some = st.sampled_from([1.0, 2.0, 0.3, 7.5, 1e-6, 1e6])
    w = np.array(data.draw(st.lists(some, min_size=n, max_size=n)))
    assume(min(w[y == 1].sum(), w[y == 0].sum()) >= 1)  # less than a row is refused
    new = places(score)
    calibrator = VennAbersCalibrator().fit(score, y, w)
    expected = by_adding_a_row(score, y, w, new)
    # sums of weights up to 1e7 have errors of 1e-9, against the row of weight 1
    np.testing.assert_allclose(calibrator.interval(new), expected, rtol=1e-9, atol=1e-9)
    p0, p1 = expected.T
    np.testing.assert_allclose(calibrator.predict(new), p1 / (1 - p0 + p1), rtol=1e-9, atol=1e-9)


@each("seed", range(6))
def test_more_rows(seed) -> None:
    rng = np.random.default_rng(seed)
    n = 300
    score = rng.normal(size=n).round(seed % 3 + 1)
    y = (rng.random(n) < expit(2 * score - 1)).astype(int)
    w = rng.exponential(size=n) if seed % 2 else np.ones(n)
    new = places(score)[::5]
    found = VennAbersCalibrator().fit(score, y, w).interval(new)
    np.testing.assert_allclose(found, by_adding_a_row(score, y, w, new), rtol=1e-9, atol=1e-12)


@each("decimals", [1, 2, 3, 16])
@each("n", [50, 3000])
def test_is_the_package_venn_abers(decimals, n) -> None:
    package = pytest.importorskip("venn_abers")
    rng = np.random.default_rng(decimals)
    p, new = rng.random(n).round(decimals), np.append(rng.random(1000).round(decimals), [0, 1])
    y = (rng.random(n) < p**1.5).astype(int)
    theirs = package.VennAbers()
    with np.errstate(all="ignore"):
        theirs.fit(np.column_stack([1 - p, p]), y)
        probability, pair = theirs.predict_proba(np.column_stack([1 - new, new]))
    ours = VennAbersCalibrator().fit(p, y)
    np.testing.assert_allclose(ours.interval(new), pair, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.predict(new), probability[:, 1], rtol=0, atol=1e-12)


def test_only_the_order_of_scores_counts() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(size=500)
    y = (rng.random(500) < expit(score)).astype(int)
    one = VennAbersCalibrator().fit(score, y)
    for moved in (np.exp(score), 1e300 * score / 5, 1e-300 * score):
        found = VennAbersCalibrator().fit(moved, y)
        np.testing.assert_array_equal(found.interval(moved), one.interval(score))
    single = score.astype(np.float32)
    found = VennAbersCalibrator().fit(single, y)
    np.testing.assert_array_equal(found.interval(single), found.interval(single.astype(np.float64)))
    extreme = np.finfo(float).max
    found = VennAbersCalibrator().fit([-extreme, 0.0, extreme], [0, 0, 1])
    np.testing.assert_allclose(
        found.interval([-extreme, 0, extreme]),
        by_adding_a_row(np.array([-1.0, 0, 1]), np.array([0, 0, 1]), np.ones(3), [-1.0, 0, 1]),
    )


@pytest.mark.filterwarnings(
    "ignore:the area under the ROC curve is"
)  # labels and scores are drawn at random
def test_one_of_the_two_probabilities_is_calibrated() -> None:
    """Whatever the score: of random labels the mean is between the means of p0 and p1."""
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(300):
        score, y = rng.normal(size=31), rng.random(31) < 0.3
        if 0 < y[:30].sum() < 30:
            p0, p1 = VennAbersCalibrator().fit(score[:30], y[:30]).interval(score[30:])[0]
            gaps.append((y[30] - p0, y[30] - p1))
    below, above = np.mean(gaps, axis=0)
    error = 3 * np.std(gaps, axis=0).max() / np.sqrt(len(gaps))  # three standard errors
    assert below > -error
    assert above < error


def test_never_certain_and_all_scores_equal() -> None:
    calibrator = VennAbersCalibrator().fit([0, 0, 0], [0, 1, 1])
    np.testing.assert_allclose(calibrator.interval([0, -1, 1]), [[0.5, 0.75], [0, 0.75], [0.5, 1]])
    separated = VennAbersCalibrator().fit(range(1000), np.arange(1000) >= 500)
    p = separated.predict([-1, 0, 499, 499.5, 500, 1000])
    assert 0 < p.min() < 0.01 < 0.99 < p.max() < 1
    assert (np.diff(p) >= 0).all()


def test_weights_are_rows_and_huge_ones_leave_isotonic_regression() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(size=200).round(1)
    y = (rng.random(200) < expit(score)).astype(int)
    heavy = VennAbersCalibrator().fit(score, y, np.full(200, 1e25))
    new = np.unique(score)
    expected = IsotonicRegression().fit(score, y).predict(new)
    np.testing.assert_allclose(heavy.interval(new), np.column_stack([expected] * 2), atol=1e-12)


def test_json_holds_the_steps_only() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(size=20_000)
    y = (rng.random(20_000) < expit(score)).astype(int)
    calibrator = VennAbersCalibrator().fit(score, y)
    saved = json.loads(calibrator.to_json())
    assert len(saved["scores"]) < 1500
    same = np.diff(calibrator.lower_) + np.diff(calibrator.upper_)
    assert (same > 0).all()
