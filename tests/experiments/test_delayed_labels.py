"""Labels that have not arrived: what is drawn, the rule, and the committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments._common import read_json
from experiments.delayed_labels import __main__ as experiment

pytestmark = pytest.mark.slow

SETTINGS = read_json(experiment.CONFIG)


@pytest.mark.parametrize("name", SETTINGS["delays"])
def test_what_is_drawn_is_what_is_said(name: str) -> None:
    law = SETTINGS["delays"][name]
    rng = np.random.default_rng(0)
    rows = experiment.draw(rng, 200_000, law, SETTINGS)
    assert rows.delay.max() <= SETTINGS["window"]
    assert rows.final.mean() == pytest.approx(rows.p.mean(), rel=0.03)  # an error of .01
    # of all rows, whether their labels would have arrived; the error is .001 of .8
    come = rows.delay <= rows.age
    for part in (rows.age < 10, rows.age >= 10, rows.X[:, 0] > 0.5):
        assert come[part].mean() == pytest.approx(rows.arrived[part].mean(), abs=0.008)
    assert (rows.seen <= rows.final).all()


def test_the_rule_counts_errors() -> None:
    lines = [
        ("exponential", k, "XGBoost", method, excess + k * slope)
        for method, excess, slope in (
            (experiment.ESTIMATED, 1.0, 0.0), (experiment.NAIVE, 4.0, 0.1),
            ("waiting 15 days", 2.0, -1.0), (experiment.FEATURE, 0.5, 0.0),
        )
        for k in range(3)
    ]  # fmt: skip
    frame = pd.DataFrame(lines, columns=["delays", "draw", "booster", "method", "excess"])
    found = experiment.compare(frame, {"waits": [15], "assumed": ["exponential"], "errors": 2})
    assert found.method.tolist() == [experiment.NAIVE, "waiting 15 days", experiment.FEATURE]
    np.testing.assert_allclose(found.difference, [3.1, 0, -0.5], atol=1e-12)
    assert found.holds.tolist() == [True, False, False]
    assert found.gated.tolist() == [True, True, False]


def test_the_claim_holds() -> None:
    summary, comparison = (
        pd.read_csv(experiment.RESULTS / f"{name}.csv") for name in ("summary", "comparison")
    )
    assert comparison.holds[comparison.gated].all()
    assert set(summary.delays) == set(SETTINGS["delays"])
