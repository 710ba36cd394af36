"""Sums over rows and over their owners."""

from __future__ import annotations

import numpy as np

from gbdt_objectives.calibration.rows import mean_and_error


def test_the_error_of_a_mean_counts_owners_and_not_rows() -> None:
    x, w, owner = np.array([1.0, 2.0, 4.0, 5.0]), np.array([1.0, 2.0, 2.0, 1.0]), [0, 0, 1, 1]
    residual = w * (x - 3)
    np.testing.assert_allclose(mean_and_error(x, w, None), (3, 4 / 6), rtol=1e-14)
    together = residual[:2].sum(), residual[2:].sum()
    np.testing.assert_allclose(
        mean_and_error(x, w, np.array(owner)), (3, np.hypot(*together) / 6), rtol=1e-14
    )
