"""calibration_ratio and normalized_entropy against scikit-learn and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import log_loss

import gbdt_objectives as go


@pytest.mark.parametrize("weighted", [False, True])
def test_normalized_entropy_of_two_classes(weighted) -> None:
    rng = np.random.default_rng(0)
    y, p, w = rng.integers(0, 2, 300), rng.random(300), rng.integers(0, 3, 300)
    w = w if weighted else None
    base = np.average(y, weights=w)
    expected = log_loss(y, p, sample_weight=w) / entropy([base, 1 - base])
    assert go.calibration.normalized_entropy(y, p, sample_weight=w) == pytest.approx(
        expected, rel=1e-12
    )
    both = np.column_stack([1 - p, p])
    assert go.calibration.normalized_entropy(y, both, sample_weight=w) == pytest.approx(
        expected, rel=1e-12
    )


def test_normalized_entropy_of_several_classes() -> None:
    rng = np.random.default_rng(1)
    y, p, w = rng.integers(0, 4, 300), rng.dirichlet([1] * 4, 300), rng.random(300)
    shares = np.bincount(y, w)
    expected = log_loss(y, p, sample_weight=w) / entropy(shares)
    assert go.calibration.normalized_entropy(y, p, sample_weight=w) == pytest.approx(
        expected, rel=1e-12
    )
    names = np.array(["d", "a", "c", "b"])
    found = go.calibration.normalized_entropy(names[y], p, labels=names, sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-12)
    absent = np.column_stack([p, np.zeros(300)])
    assert go.calibration.normalized_entropy(y, absent, sample_weight=w) == pytest.approx(
        expected, rel=1e-12
    )
    base = np.tile(shares / shares.sum(), (300, 1))
    assert go.calibration.normalized_entropy(y, base, sample_weight=w) == pytest.approx(
        1, rel=1e-12
    )


def test_certainty() -> None:
    assert go.calibration.normalized_entropy([0, 1], [0, 1]) == 0
    assert go.calibration.normalized_entropy([0, 1], [0.5, 0]) == np.inf
    assert go.calibration.normalized_entropy([0, 1], [[0.5, 0.5], [1, 0]]) == np.inf
    assert go.calibration.normalized_entropy([0, 1, 1], [0.5, 0.5, 0], sample_weight=[1, 1, 0]) == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_calibration_ratio(weighted) -> None:
    rng = np.random.default_rng(2)
    y, p, w = rng.integers(0, 2, 300), rng.random(300), rng.integers(0, 3, 300)
    w = w if weighted else None
    expected = np.average(p, weights=w) / np.average(y, weights=w)
    assert go.calibration.calibration_ratio(y, p, sample_weight=w) == pytest.approx(
        expected, rel=1e-13
    )
    assert go.calibration.calibration_ratio(y == 1, p, sample_weight=w) == pytest.approx(
        expected, rel=1e-13
    )


def test_calibration_ratio_sees_uncorrected_downsampling() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(1, 99, 200_000)
    y = rng.random(200_000) < p
    sampled = p / (p + (1 - p) * 0.02)
    assert go.calibration.calibration_ratio(y, p) == pytest.approx(
        1, abs=0.1
    )  # 3 sigma of 2,000 clicks
    assert go.calibration.calibration_ratio(y, sampled) > 10


@pytest.mark.parametrize("y", [[0, 0], [0, 1]])
def test_no_positive(y) -> None:
    with pytest.raises(ValueError, match="y_true holds no label 1"):
        go.calibration.calibration_ratio(y, [0.1, 0.2], sample_weight=[1, 0])


@pytest.mark.parametrize("p", [[0.1, 0.2], [[0.9, 0.1], [0.8, 0.2]]])
def test_one_class(p) -> None:
    for y, w in (([1, 1], None), ([0, 1], [0, 1])):
        with pytest.raises(ValueError, match="y_true holds the single class at column 1"):
            go.calibration.normalized_entropy(y, p, sample_weight=w)
