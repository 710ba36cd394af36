"""Few events and kept negatives: the rule, and the committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments._common import read_json
from experiments.few_events import __main__ as experiment

pytestmark = pytest.mark.slow


def test_excess_is_the_divergence() -> None:
    truth = np.array([0.1, 0.4])
    assert experiment.excess(truth, truth, 1e-15) == 0
    by_hand = np.mean(truth * np.log(truth / 0.2) + (1 - truth) * np.log((1 - truth) / 0.8))
    assert experiment.excess(truth, np.full(2, 0.2), 1e-15) == pytest.approx(by_hand)


def test_the_rule_counts_errors() -> None:
    """With few events two errors better, with many not two errors worse."""
    settings = {"few_rows": 200, "gated_at_few": ["right"], "errors": 2}
    lines = []
    for n, name, gaps in [
        (200, "right", (-1, -3)), (200, "right 2", (-1, -3)), (200, "bent", (2, 2.1)),
        (900, "right", (1, -0.5)), (900, "bent", (1, 1.5)),
    ]:  # fmt: skip
        for k, gap in enumerate(gaps):
            lines += [(n, -1, k, name, "spline", 5.0), (n, -1, k, name, "spline, shrink", 5 + gap)]
    columns = ["rows", "mean", "draw", "distortion", "calibrator", "excess"]
    found = experiment.compare(pd.DataFrame(lines, columns=columns), settings)
    assert found.rule.tolist() == ["better"] + 4 * ["no worse"]
    assert found.holds.tolist() == [False, True, False, True, False]  # -2 is not below -2


def test_the_claims_hold() -> None:
    comparison, kept = (
        pd.read_csv(experiment.RESULTS / f"{name}.csv") for name in ("comparison", "kept")
    )
    assert comparison.holds.all()
    assert kept.holds.all()
    assert len(comparison) == 4 * len(read_json(experiment.CONFIG)["distortions"])
