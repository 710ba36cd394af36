"""Brier score, calibration ratio and normalized entropy against scikit-learn, scipy and the
published tree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import brier_score_loss, log_loss

from gbdt_objectives.calibration import (
    brier_score,
    calibration_ratio,
    calibration_ratio_by_segment,
    calibration_refinement,
    expected_calibration_error,
    normalized_entropy,
    reliability_bins,
)
from tests.calibration.reference import half_squared_error
from tests.cases import refusals, refusals_of


def brier_terms(y, p, labels=None, scale_by_half=True):
    options = {"labels": labels, "scale_by_half": scale_by_half}
    rows = zip(y, p, strict=True)
    return np.array([brier_score([c], [q], **options) for c, q in rows])


def test_published_tree() -> None:
    leaves = [(20, 40, 40 / 3), (10, 5, 10 / 3), (20, 5, 4)]
    y, p = [], []
    for positive, negative, error in leaves:
        labels = [1] * positive + [0] * negative
        predicted = [positive / len(labels)] * len(labels)
        assert brier_terms(labels, predicted).sum() == pytest.approx(error, rel=1e-13)
        y += labels
        p += predicted
    assert brier_score(y, p) == pytest.approx(0.206667, abs=5e-7)  # as printed
    assert brier_score(y, p) == pytest.approx((40 / 3 + 10 / 3 + 4) / 100, rel=1e-13)


def test_published_segment() -> None:
    y = [0] * 6 + [1] * 3 + [2]
    p = [[0.5, 0.3, 0.2]] * 10
    assert brier_terms(y, p).sum() == pytest.approx(2.8, rel=1e-14)
    assert brier_terms(y, p, scale_by_half=False).sum() == pytest.approx(5.6, rel=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_of_two_classes_is_that_of_scikit_learn(weighted) -> None:
    rng = np.random.default_rng(0)
    y, p, w = rng.integers(0, 2, 300), rng.random(300), rng.integers(0, 3, 300)
    w = w if weighted else None
    base = np.average(y, weights=w)
    expected = {
        brier_score: brier_score_loss(y, p, sample_weight=w),
        normalized_entropy: log_loss(y, p, sample_weight=w) / entropy([base, 1 - base]),
    }
    for function, value in expected.items():
        for probability in (p, np.column_stack([1 - p, p])):
            found = function(y, probability, sample_weight=w)
            assert found == pytest.approx(value, rel=1e-13)
            found = brier_score(y, probability, scale_by_half=False, sample_weight=w)
            assert found == pytest.approx(2 * expected[brier_score], rel=1e-13)
    assert calibration_ratio(y == 1, p, sample_weight=w) == pytest.approx(
        np.average(p, weights=w) / base, rel=1e-13
    )


def test_several_classes() -> None:
    rng = np.random.default_rng(1)
    y, p, w = rng.integers(0, 4, 200), rng.dirichlet([1, 1, 1, 1], 200), rng.random(200)
    shares = np.bincount(y, w)
    expected = {
        brier_score: np.average(half_squared_error(y, p), weights=w),
        normalized_entropy: log_loss(y, p, sample_weight=w) / entropy(shares),
    }
    names = np.array(["d", "a", "c", "b"])
    for function, value in expected.items():
        found = function(names[y], p, labels=names, sample_weight=w)
        assert found == function(y, p, sample_weight=w) == pytest.approx(value, rel=1e-13)
        absent = np.column_stack([p, np.zeros(200)])
        assert function(y, absent, sample_weight=w) == pytest.approx(value, rel=1e-13)
    base = np.tile(shares / shares.sum(), (200, 1))
    assert normalized_entropy(y, base, sample_weight=w) == pytest.approx(1, rel=1e-12)


def test_arguments_are_left_as_they_are() -> None:
    y, p = np.array([0.0, 1.0]), np.array([[0.25, 0.75], [0.5, 0.5]])
    brier_score(y, p)
    brier_score(y, p[:, 1])
    assert (y.tolist(), p.tolist()) == ([0, 1], [[0.25, 0.75], [0.5, 0.5]])


FUNCTIONS = [brier_score, calibration_refinement, expected_calibration_error, normalized_entropy]
BINARY_FUNCTIONS = [
    calibration_ratio,
    reliability_bins,
    lambda y, p, **given: calibration_ratio_by_segment(y, p, [0] * len(y), **given),
]
WEIGHTED = FUNCTIONS + BINARY_FUNCTIONS


test_bad_rows = refusals_of(
    lambda function, y, p: function(y, p),
    *((function, *row) for function in FUNCTIONS + BINARY_FUNCTIONS for row in [
        ([0, 1], [0.1, 1.5], r"probability must be in \[0, 1\], found 1.5 at row 1"),
        ([0, 1], [-0.1, 0.5], r"probability must be in \[0, 1\], found -0.1 at row 0"),
        ([0, 1], [0.1, np.nan], r"probability must be in \[0, 1\], found nan at row 1"),
        ([0, 2], [0.1, 0.5], "y_true must be 0 .negative. or 1 .positive., found 2.0 at row 1"),
        ([0, np.nan], [0.1, 0.5], "y_true must be finite"),
        ([0, 1, 1], [0.1, 0.5], "probability has 2 rows, but the labels have 3"),
        ([], [], "probability must be"),
        ([0], 0.5, "probability must be"),
        (["no", "yes"], [0.1, 0.5], "y_true must hold real numbers", TypeError),
        ([0, 1], ["low", "high"], "probability must hold real numbers", TypeError),
    ])
)  # fmt: skip


test_bad_columns = refusals_of(
    lambda function, y, p, options: function(y, p, **options),
    *((function, *row) for function in FUNCTIONS for row in [
        ([0, 1], [[0.5, 0.5], [0.5, 0.4]], {}, "rows of probability must sum to 1, found 0.9 at r"),
        ([0, 1], [[0.5, 0.5], [1.5, -0.5]], {}, r"must be in \[0, 1\], found 1.5 at row 1"),
        ([0, 2], [[0.5, 0.5], [0.5, 0.5]], {}, r"y_true holds .*2.* at row 1"),
        ([0, 1], [[1.0], [1.0]], {}, "probability must be"),
        ([0, 1], [[0.5, 0.5]], {}, "probability has 1 rows, but the labels have 2"),
        (["a", "b"], [[0.5, 0.5]] * 2, {"labels": ["a", "c"]}, "y_true holds .*b.* at row 1"),
        (["a", "b"], [[0.5, 0.5]] * 2, {"labels": ["a", "b", "c"]}, "labels has 3 classes, but"),
        ([0, 1], [0.5, 0.5], {"labels": [0, 1]}, "labels name the columns"),
    ])
)  # fmt: skip


test_bad_weights = refusals_of(
    lambda function, w: function([0, 1], [0.1, 0.5], sample_weight=w),
    *((function, *row) for function in WEIGHTED for row in [
        ([1.0], "sample_weight has 1 rows, but the labels have 2"),
        ([1.0, -1.0], "sample_weight must not be negative"),
        ([0, 0], "sample_weight is 0 in all"),
        ([1.0, np.nan], "sample_weight must be finite"),
    ])
)  # fmt: skip


def test_certainty() -> None:
    assert normalized_entropy([0, 1], [0, 1]) == 0
    assert normalized_entropy([0, 1], [0.5, 0]) == np.inf
    assert normalized_entropy([0, 1], [[0.5, 0.5], [1, 0]]) == np.inf
    found = normalized_entropy([0, 1, 1], [0.5, 0.5, 0], sample_weight=[1, 1, 0])
    assert found == pytest.approx(1, rel=2e-15)  # a mean of two logs over that of another two


def test_calibration_ratio_sees_uncorrected_downsampling() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(1, 99, 200_000)
    y = rng.random(200_000) < p
    sampled = p / (p + (1 - p) * 0.02)
    assert calibration_ratio(y, p) == pytest.approx(1, abs=0.1)  # 3 sigma of 2,000 clicks
    assert calibration_ratio(y, sampled) > 10


@pytest.mark.parametrize("p", [[0.1, 0.2], [[0.9, 0.1], [0.8, 0.2]]])
def test_one_class(p) -> None:
    for y, w in (([1, 1], None), ([0, 1], [0, 1])):
        with pytest.raises(ValueError, match="y_true holds the single class at column 1"):
            normalized_entropy(y, p, sample_weight=w)


test_refusals = refusals(
    *((lambda function=function: function([0, 1], [[0.5, 0.5]] * 2), "pass one class at a time")
      for function in BINARY_FUNCTIONS),
    (lambda: brier_terms([0, 1], [0.5, 0.5], scale_by_half=0.5),
     "scale_by_half must be True or False", TypeError),
    *((lambda y=y: calibration_ratio(y, [0.1, 0.2], sample_weight=[1, 0]),
     "y_true holds no label 1") for y in [[0, 0], [0, 1]]),
)  # fmt: skip
