"""The labels that a loss takes, and what is said of others."""

from __future__ import annotations

import numpy as np

from gbdt_objectives._domain import BINARY, REAL, Interval, Values
from tests.cases import refused


@refused(
    (REAL, [-1e200, 0.5], np.inf, "y_true must be finite, found inf at row 1"),
    (Interval(0, 3), [0, 3], 3.5, "y_true must be >= 0 and <= 3, found 3.5 at row 1"),
    (Interval(high=0), [-1e200, 0], 1, "y_true must be <= 0, found 1.0 at row 1"),
    (Interval(low=0), [0, 5], np.inf, "y_true must be finite, found inf at row 1"),
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
