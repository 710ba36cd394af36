"""empirical_probability: the published figures, its limits, bad input."""

from __future__ import annotations

import numpy as np

from gbdt_objectives.calibration import empirical_probability
from tests.cases import refusals_of


def test_published_figures() -> None:
    assert empirical_probability([20, 40]).tolist() == [1 / 3, 2 / 3]
    assert empirical_probability([20, 40], m=2).tolist() == [21 / 62, 41 / 62]
    smoothed = empirical_probability([20, 40], m=10, prior=[0.3, 0.7])
    np.testing.assert_allclose(smoothed, [23 / 70, 47 / 70], rtol=1e-15)  # one rounding
    leaves = empirical_probability([[20, 40], [10, 5], [20, 5]])
    np.testing.assert_allclose(leaves[:, 0], [1 / 3, 2 / 3, 4 / 5], rtol=1e-15)


def test_shapes_and_limits() -> None:
    counts = np.random.default_rng(0).integers(0, 9, (2, 3, 4, 5)) + 1
    found = empirical_probability(counts, m=3)
    assert found.shape == counts.shape
    np.testing.assert_allclose(found.sum(axis=-1), 1, rtol=1e-14)
    assert found[1, 2, 3].tolist() == empirical_probability(counts[1, 2, 3], m=3).tolist()
    assert empirical_probability([0, 0], m=1, prior=[0.25, 0.75]).tolist() == [0.25, 0.75]
    assert empirical_probability([3, 1], m=5, prior=[1, 0]).tolist() == [8 / 9, 1 / 9]


test_bad_input = refusals_of(
    lambda counts, options: empirical_probability(counts, **options),
    ([1, -2], {}, "counts must not be negative, found -2"),
    ([[1, 2], [0, 0]], {}, "counts are all 0 in a row"),
    ([1, np.nan], {}, "counts must be finite"),
    ([3], {}, "counts must have shape"),
    (3, {}, "counts must have shape"),
    ([], {}, "counts must have shape"),
    (["a", "b"], {}, "counts must hold real numbers", TypeError),
    ([1, 2], {"m": -1}, "m must not be negative, found -1"),
    ([1, 2], {"m": np.nan}, "m must be finite"),
    ([1, 2], {"m": "Laplace"}, "m must be a number", TypeError),
    ([1, 2], {"m": 1, "prior": [0.3, 0.6]}, "prior must sum to 1, found 0.9"),
    ([1, 2], {"m": 1, "prior": [1.5, -0.5]}, "prior must hold probabilities >= 0, found -0.5"),
    ([1, 2], {"m": 1, "prior": [0.2, 0.3, 0.5]}, "prior has 3 classes, but there are 2"),
)
