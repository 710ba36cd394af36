"""The study of decisions: a small run, its differences, and committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.decisions import __main__ as experiment

pytestmark = pytest.mark.slow


@pytest.mark.ci
def test_quick_run_writes_everything(tmp_path) -> None:
    assert experiment.main(["--quick", "--output", str(tmp_path)]) == 0
    names = {"cells.csv", "differences.csv", "table.md", "environment.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert len(cells) == 2 * 2 * 3
    assert np.isfinite(cells[["decide", "thresholds"]]).all(axis=None)


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


def test_readme_says_what_the_results_say() -> None:
    readme = (experiment.HERE / "README.md").read_text(encoding="utf-8").splitlines()
    results = (experiment.RESULTS / "table.md").read_text(encoding="utf-8").splitlines()
    wanted = {line for line in results if line.startswith(("|", "- "))}
    assert len(wanted) == 3 + 2 + 36
    assert wanted <= set(readme)
