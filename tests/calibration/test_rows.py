"""Sums over rows and over their owners."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gbdt_objectives.calibration.rows import (
    LabelledRows,
    probability_rows,
    read_rates,
    sampling_offset,
    sums_by,
)
from tests.cases import refusals


def test_the_error_of_a_mean_counts_owners_and_not_rows() -> None:
    x, w, owner = np.array([1.0, 2.0, 4.0, 5.0]), np.array([1.0, 2.0, 2.0, 1.0]), [0, 0, 1, 1]
    residual = w * (x - 3)
    np.testing.assert_allclose(LabelledRows.mean_and_error(x, w, None), (3, 4 / 6), rtol=1e-14)
    together = residual[:2].sum(), residual[2:].sum()
    np.testing.assert_allclose(
        LabelledRows.mean_and_error(x, w, np.array(owner)), (3, np.hypot(*together) / 6), rtol=1e-14
    )


ROWS = probability_rows([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], None, [1, 2, 0, 1])


@pytest.mark.parametrize(
    ("rates", "offset"),
    [
        ((None, None, None), 0.0),
        ((0.5, None, None), math.log(2)),
        ((None, None, {0: 0.25, 1: 1.0}), math.log(4)),
        ((None, [0.5, 0.5, 0.1, 0.5], None), math.log(2)),  # a row of weight 0 does not count
        ((None, [0.5, 0.25, 0.1, 0.25], None), [math.log(2), math.log(4), math.log(4)]),
    ],
)
def test_the_offset_of_sampled_rows(rates, offset) -> None:
    found = sampling_offset(*rates, ROWS)
    assert np.ndim(found) == np.ndim(offset)
    np.testing.assert_allclose(found, offset, rtol=1e-15)


def test_the_offset_of_a_single_row() -> None:
    row = probability_rows([1], [0.5], None, None)
    assert sampling_offset(None, [0.5], None, row) == pytest.approx(math.log(2), rel=1e-15)


def test_sums_of_groups_without_rows_are_0() -> None:
    g, x = np.array([2, 0, 2]), np.array([1.0, 2.0, 4.0])
    found = sums_by(g, 4, lambda at: [x[at], np.ones(3)[at]])
    np.testing.assert_array_equal(found, [[2, 0, 5, 0], [1, 0, 2, 0]])
    none = sums_by(g[:0], 4, lambda at: [x[:0], x[:0]])
    np.testing.assert_array_equal(none, np.zeros((2, 4)))


test_refusals = refusals(
    *((lambda given=given, other=other: read_rates(*given, {0: 0.1, 1: 1.0}),
     f"class_keep_rates and {other} are both given")
      for given, other in [((0.1, None), "negative_keep_rate"), ((None, [0.1]), "keep_rate")]),
    (lambda: sampling_offset(None, [0.5, 1, 0.1, 1], None, ROWS),
     "^keep_rate is 1 in every row with .* negative_keep_rate="),
)  # fmt: skip
