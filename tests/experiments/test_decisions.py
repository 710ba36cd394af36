"""The study of decisions: its costs and its differences."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.decisions import __main__ as experiment

pytestmark = pytest.mark.slow


def test_too_low_costs_more() -> None:
    cost = experiment.metrics(4, 2)["asymmetric cost"]
    assert cost([3], [1], labels=range(4)) == 4
    assert cost([1], [3], labels=range(4)) == 2


@pytest.mark.parametrize(("sign", "verdict"), [(1, "better"), (-1, "worse")])
def test_better_in_the_direction_of_the_metric(sign, verdict) -> None:
    frame = pd.DataFrame({
        "metric": "m", "file": "f", "booster": "b", "fold": range(3), "sign": sign,
        "train_rows": 20, "test_rows": 10, "thresholds": [1.0, 2, 3], "decide": [1.5, 2.5, 3.6],
    })  # fmt: skip
    found = experiment.differences(frame).iloc[0]
    assert found.gain == pytest.approx(sign * 1.6 / 3)
    assert found.verdict == verdict
