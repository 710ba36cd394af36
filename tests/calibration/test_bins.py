"""Expected calibration error and reliability bins: scikit-learn, ties, rounding, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from gbdt_objectives.calibration import (
    calibration_ratio,
    expected_calibration_error,
    normalized_entropy,
    reliability_bins,
)
from tests.cases import each, refused


def simulated(seed, n=600):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p**1.5).astype(int), p, rng.exponential(size=n)


def test_equal_width_has_the_bins_of_scikit_learn() -> None:
    y, p, _ = simulated(1)
    p = p.round(1)  # on the edges
    frequency, probability = calibration_curve(y, p, n_bins=5)
    found = reliability_bins(y, p, n_bins=5, strategy="uniform")
    np.testing.assert_allclose(found.frequency, frequency, rtol=1e-13)
    np.testing.assert_allclose(found.probability, probability, rtol=1e-13)
    assert reliability_bins([0, 1], [0.0, 1.0], n_bins=2, strategy="uniform").weight.tolist() == [
        1,
        1,
    ]


def test_equal_mass_by_weight_with_ties_together() -> None:
    y, p, w = simulated(3, 5_000)
    found = reliability_bins(y, p, n_bins=10, sample_weight=w)
    share = found.weight / w.sum()
    assert abs(share - 0.1).max() < w.max() / w.sum()  # by no more than one row
    tied = reliability_bins([0, 1, 1, 0, 1], [0.1, 0.7, 0.7, 0.7, 0.9], n_bins=5)
    assert tied.weight.tolist() == [1, 3, 1]
    halves = reliability_bins([0, 1, 1, 0], [0.1, 0.2, 0.2, 0.2], n_bins=2)
    assert halves.weight.tolist() == [1, 3]  # ties go where the middle of them falls
    np.testing.assert_allclose(tied.probability, [0.1, 0.7, 0.9], rtol=1e-15)
    np.testing.assert_allclose(tied.frequency, [0, 2 / 3, 1], rtol=1e-15)


def test_no_more_bins_than_asked_for_however_sums_round() -> None:
    found = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        w = np.append(rng.exponential(size=5000), 1e-13)  # its middle is the total, or above
        y, p = rng.integers(0, 2, 5001), np.sort(rng.random(5001))
        bins = reliability_bins(y, p, sample_weight=w)
        assert len(bins.weight) == 15
        found += np.cumsum(w)[-1] >= w.sum()
    assert found > 5  # so it would happen


@pytest.mark.parametrize("scale", [1e-90, 1e15, 1e29])
def test_the_unit_of_weights_does_not_matter(scale) -> None:
    y, p, w = simulated(9)
    one, other = (reliability_bins(y, p, sample_weight=v) for v in (w, w * scale))
    np.testing.assert_allclose(other.frequency, one.frequency, rtol=1e-12)  # w * scale rounds
    np.testing.assert_allclose(other.weight / scale, one.weight, rtol=1e-12)
    for measure in (expected_calibration_error, calibration_ratio, normalized_entropy):
        found, expected = measure(y, p, sample_weight=w * scale), measure(y, p, sample_weight=w)
        assert found == pytest.approx(expected, rel=1e-12)


def test_weights_may_differ_by_more_than_a_float_holds() -> None:
    y, p, w = [1, 0, 0], [0.4, 0.4, 0.5], [1e-301, 1e12, 3.0]
    assert reliability_bins(y, p, sample_weight=w, negative_keep_rate=0.5).frequency[0] < 1e-300


def test_by_hand() -> None:
    for strategy in ("quantile", "uniform"):
        assert expected_calibration_error([0, 1, 1, 1], [0.75] * 4, strategy=strategy) == 0
        assert expected_calibration_error([0, 1], [0.0, 1.0], strategy=strategy) == 0
        assert expected_calibration_error([1, 0], [0.0, 1.0], strategy=strategy) == 1
    constant = np.full(1000, 0.3)
    assert expected_calibration_error(np.arange(1000) < 300, constant) == pytest.approx(0)


def test_several_classes_is_about_the_predicted_one() -> None:
    rng = np.random.default_rng(6)
    p, w = rng.dirichlet([1, 1, 1], 400), rng.random(400)
    y = rng.integers(0, 3, 400)
    names = np.array(["z", "x", "y"])
    for strategy in ("quantile", "uniform"):
        right = p.argmax(axis=1) == y
        expected = expected_calibration_error(
            right, p.max(axis=1), strategy=strategy, sample_weight=w
        )
        found = expected_calibration_error(
            names[y], p, labels=names, strategy=strategy, sample_weight=w
        )
        assert found == expected > 0
    # two classes: at (1, 0.4) label 1 is 0.6 off, and so is the prediction of label 0
    assert expected_calibration_error([1], [[0.6, 0.4]]) == 0.6
    assert expected_calibration_error([1], [0.4]) == 0.6
    assert expected_calibration_error([0], [[0.5, 0.5]]) == 0.5


@each("function", [expected_calibration_error, reliability_bins])
@refused(
    ({"n_bins": 0}, "n_bins must be a whole number >= 1, found 0"),
    ({"n_bins": 10**30}, "n_bins must be at most 1,000,000, found 10{30}"),
    ({"n_bins": 2.5}, "n_bins must be a whole number >= 1, found 2.5", TypeError),
    ({"n_bins": True}, "n_bins must be a whole number >= 1, found True", TypeError),
    ({"strategy": "mass"}, "strategy must be one of 'quantile', 'uniform', 'events'"),
)
def test_bad_bins(function, options) -> None:
    function([0, 1], [0.1, 0.2], **options)


def test_prints_as_a_table() -> None:
    y, p, _ = simulated(7)
    found = reliability_bins(y, p, n_bins=4)
    lines = str(found).splitlines()
    assert lines[0] == "ReliabilityBins: 4 bins"
    assert lines[1].split() == ["weight", "probability", "frequency"]
    assert lines[2].split() == ["150", f"{found.probability[0]:.4g}", f"{found.frequency[0]:.4g}"]
    wide = str(reliability_bins(y, p, n_bins=600)).splitlines()
    assert len(wide) == 23
    assert max(map(len, wide)) <= 100
