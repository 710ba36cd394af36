"""Sums over rows and over their owners."""

from __future__ import annotations

import numpy as np
import pytest

from gbdt_objectives.calibration.rows import (
    LabelledRows,
    mean_and_error,
    read_rates,
    sampling_offset,
)


def test_the_error_of_a_mean_counts_owners_and_not_rows() -> None:
    x, w, owner = np.array([1.0, 2.0, 4.0, 5.0]), np.array([1.0, 2.0, 2.0, 1.0]), [0, 0, 1, 1]
    residual = w * (x - 3)
    np.testing.assert_allclose(mean_and_error(x, w, None), (3, 4 / 6), rtol=1e-14)
    together = residual[:2].sum(), residual[2:].sum()
    np.testing.assert_allclose(
        mean_and_error(x, w, np.array(owner)), (3, np.hypot(*together) / 6), rtol=1e-14
    )


def some_rows(y: list[int]) -> LabelledRows:
    n = len(y)
    return LabelledRows(np.array(y, float), np.full(n, 0.5), np.ones(n), np.arange(n))


def test_what_sampling_added_to_log_odds() -> None:
    rows = some_rows([0, 1, 0])
    assert sampling_offset(None, None, None, rows) == 0
    assert sampling_offset(0.1, None, None, rows) == pytest.approx(np.log(10))
    same = sampling_offset(None, [0.2, 0.2, 0.2], None, rows)
    assert np.ndim(same) == 0
    assert same == pytest.approx(np.log(5))
    found = sampling_offset(None, [0.5, 0.2, 0.1], None, rows)
    np.testing.assert_allclose(found, np.log([2, 5, 10]))


@pytest.mark.parametrize(
    ("given", "other"), [((0.1, None), "negative_keep_rate"), ((None, [0.1]), "keep_rate")]
)
def test_rates_given_twice_are_named(given, other) -> None:
    with pytest.raises(ValueError, match=f"class_keep_rates and {other} are both given"):
        read_rates(*given, {0: 0.1, 1: 1.0})
