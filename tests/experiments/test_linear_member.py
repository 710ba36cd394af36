"""A linear member beside trees: the rule, and what is made of a file's labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments import _common
from experiments.linear_member import __main__ as experiment

pytestmark = pytest.mark.slow


def test_the_committed_tables_follow_from_the_cells() -> None:
    settings = _common.read_json(experiment.HERE / "config.json")
    read = {
        name: pd.read_csv(experiment.RESULTS / f"{name}.csv")
        for name in ("cells", "differences", "summary", "times")
    }
    compared = experiment.differences(read["cells"])
    means, spent = experiment.summary(compared, settings), experiment.times(read["cells"])
    for found, name in ((compared, "differences"), (means, "summary"), (spent, "times")):
        pd.testing.assert_frame_equal(
            found, read[name], check_names=False, atol=0.02, rtol=1e-3, check_dtype=False
        )
    assert len(read["cells"]) == len(settings["files"]) * settings["draws"] * 2 * 3


def test_the_rule_looks_at_files_errors_and_time() -> None:
    settings = _common.read_json(experiment.HERE / "config.json")

    def holds(changes, precision=0.01, seconds=1.0):
        lines = [
            {"file": k, "draw": 0, "booster": b, "arm": arm, "log_loss": 1 + change * (arm == own),
             "average_precision": 0.5 + precision * (arm == own), "seconds": 2.0 - (arm != own)}
            for k, change in enumerate(changes)
            for b in ("LightGBM", "XGBoost")
            for own in [experiment.BOTH]
            for arm in (experiment.TREES, experiment.LINEAR, own)
        ]  # fmt: skip
        cells = pd.DataFrame(lines)
        cells.loc[cells.arm == experiment.BOTH, "seconds"] *= seconds
        means = experiment.summary(experiment.differences(cells), settings)
        return experiment.holds(means, experiment.times(cells), settings)

    assert holds([-0.03, -0.02, -0.03, -0.02])
    assert not holds([-0.03, -0.02, -0.03, 0.06])
    assert not holds([-0.03] * 50 + [0.01] * 4)
    assert not holds([-0.03, -0.02, -0.03, -0.02], precision=-0.001)
    assert not holds([-0.03, -0.02, -0.03, -0.02], seconds=1.2)


def test_ordered_labels_are_cut_where_the_share_is_nearest() -> None:
    label = pd.Series(np.repeat([1, 2, 3, 4], [40, 30, 20, 10]))
    assert experiment.cut(label, 0.25).mean() == pytest.approx(0.3)
    assert experiment.cut(pd.Series([-1, 1, 1]), 0.25).tolist() == [0, 1, 1]
