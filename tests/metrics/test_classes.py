"""Metrics of classes: classes or scores, and what may be either."""

from __future__ import annotations

import numpy as np
import pytest

import gbdt_objectives as go


@pytest.mark.parametrize("metric", [go.threshold_metric("accuracy"), go.qwk_metric()], ids=str)
def test_float_classes_beyond_the_labels_are_not_taken_for_scores(metric) -> None:
    """Clipped to the nearest label, a wrong class would count as right."""
    y = [0, 1, 2]
    with pytest.raises(ValueError, match="found 5 beyond the labels 0 to 2: convert them to int"):
        metric(y, [0.0, 1.0, 5.0])
    assert metric(y, [0, 1, 5]) < 1
    assert metric(y, [0.0, 1.0, 2.0]) == 1
    assert metric(y, [-0.2, 1.1, 5.3]) == 1  # scores
    assert go.threshold_metric(metric, (0, 2))(y, [0.0, 1.0, 5.0]) == 1  # scores, as it is said
    assert metric.xgboost(np.array([0.0, 1.0, 2.0]), np.array([0.1, 1.2, 4.7])) == 1
