"""Every method on the same scores."""

from __future__ import annotations

from collections.abc import Sequence

from experiments import _common
from experiments._common import Array


def decide(
    methods: Sequence[str],
    y: Array,
    score: Array,
    y_test: Array,
    score_test: Array,
    label_range: tuple[int, int],
) -> dict[str, float]:
    """Test QWK of each method; thresholds are fitted on y and score."""
    return {
        method: (
            _common.rounded_qwk(y_test, score_test, label_range)
            if method == "rounding"
            else _common.cut_qwk(
                y_test,
                score_test,
                label_range,
                _common.fit_thresholds(y, score, label_range, method),
            )
        )
        for method in methods
    }
