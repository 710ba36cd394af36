"""The labels that a loss takes, and what is said of others."""

from __future__ import annotations

import numpy as np
import pytest

from gbdt_objectives._checks.arrays import BINARY, REAL, Interval, Values
from gbdt_objectives._rows.rows import Rows
from gbdt_objectives.objectives.loss import check_labels
from tests.cases import refused


@refused(
    (REAL, [-1e200, 0.5], np.inf, "y_true must be finite, found inf at row 1"),
    (Interval(0, 3), [0, 3], 3.5, "y_true must be >= 0 and <= 3, found 3.5 at row 1"),
    (Interval(high=0), [-1e200, 0], 1, "y_true must be <= 0, found 1.0 at row 1"),
    (Interval(low=0), [0, 5], np.inf, "y_true must be finite, found inf at row 1"),
    (Interval(0, low_is_open=True), [1e-300, 5], 0, "y_true must be above 0, found 0.0 at row 1"),
    (Interval(0, 1, high_is_open=True), [0, 0.5], 1, "must be >= 0 and below 1, found 1.0"),
    (Values((1, 2, 4)), [1, 4], 3, r"one of \(1, 2, 4\), found 3.0 at row 1"),
    (Values((1, 2, 4)), [1, 4], np.nan, r"one of \(1, 2, 4\), found nan at row 1"),
    (BINARY, [0, 1], 2, r"0 \(negative\) or 1 \(positive\), found 2.0 at row 1"),
)
def test_domains(domain, good, bad) -> None:
    domain.check("y_true", np.array(good, float))
    wrong = np.array([good[0], bad], float)
    assert not domain.contains(wrong)
    assert domain.contains(np.array(good, float)) or max(np.abs(good)) > 1e150
    domain.check("y_true", wrong)


def test_an_open_end_is_refused_in_float32_and_passed_over_without_weight() -> None:
    above = Interval(low=0, low_is_open=True)
    zero = np.array([0, 1], np.float32)
    assert not above.contains(zero)
    with pytest.raises(ValueError, match="y_true must be above 0, found 0.0 at row 0"):
        check_labels(Rows(zero, None, np.ones(2)), above)
    check_labels(Rows(zero, None, np.array([0.0, 1.0])), above)


@pytest.mark.parametrize("end", [{"low": np.nextafter(0, 1)}, {"high": np.nextafter(1, 0)}])
def test_an_end_that_float32_rounds_is_refused(end) -> None:
    """float32 labels of 0 would lie in Interval(low=np.nextafter(0, 1))."""
    (name,) = end
    with pytest.raises(ValueError, match=f"which is . in float32, .*{name}_is_open=True"):
        Interval(**end)
