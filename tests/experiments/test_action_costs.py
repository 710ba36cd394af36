"""Costs of each row: the rule, the best cut, and the committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments._common import read_json
from experiments.action_costs import __main__ as experiment

SETTINGS = read_json(experiment.CONFIG)


def test_the_committed_results_are_those_of_the_rule() -> None:
    cells, summary = (
        pd.read_csv(experiment.RESULTS / f"{name}.csv") for name in ("cells", "summary")
    )
    again = experiment.summarize(cells)
    pd.testing.assert_frame_equal(again, summary, atol=1e-5)  # of cells rounded to six digits
    assert experiment.holds(again) is False
    table = (experiment.RESULTS / "table.md").read_text("utf-8")
    assert table in (experiment.HERE / "README.md").read_text("utf-8")
    assert set(cells["data"]) == {*SETTINGS["data"], "simulated"}
    assert cells.groupby(["data", "way"]).size().eq(2 * SETTINGS["repeats"]).all()


def test_the_best_cut_is_that_of_brute_force() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        p, y = rng.integers(0, 5, 8) / 5, rng.integers(0, 2, 8)
        C = experiment.costs_of(rng.random(8), SETTINGS)

        def cost(cut, p=p, y=y, C=C):
            return C[np.arange(8), y, (p >= cut).astype(int)].sum()

        least = min(cost(cut) for cut in [*p, np.inf])
        # eight numbers below 1, in another order
        assert cost(experiment.best_cut(p, y, C)) == pytest.approx(least, abs=1e-12)


def test_the_rule_needs_both_parts() -> None:
    def judged(cut: float, peer: float) -> pd.DataFrame:
        return pd.DataFrame({
            "data": ["a"], "way": [experiment.ROWS], "less_than_cut": [cut], "error_cut": [0.1],
            "less_than_peer": [peer], "error_peer": [0.1],
        })  # fmt: skip

    assert experiment.holds(judged(0.3, -0.1))
    assert not experiment.holds(judged(0.1, 0.1))
    assert not experiment.holds(judged(0.3, -0.3))
    assert experiment.holds(judged(0.3, 0.1).drop(columns="less_than_peer")) is None
