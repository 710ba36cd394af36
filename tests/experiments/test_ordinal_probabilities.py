"""The study of ordinal probabilities: a small run, and committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.ordinal_probabilities import __main__ as experiment

pytestmark = pytest.mark.slow


@pytest.mark.ci
def test_quick_run_writes_everything(tmp_path) -> None:
    assert experiment.main(["--quick", "--output", str(tmp_path)]) == 0
    names = {"cells.csv", "differences.csv", "table.md", "environment.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert len(cells) == 2 * 2 * 5
    assert np.isfinite(cells[list(experiment.MEASURES)]).all(axis=None)


def test_differences_are_paired_with_their_rival() -> None:
    lines = []
    for fold, base in enumerate((1.0, 2.0, 3.0)):
        for method in (*experiment.RIVAL, "multi-class", "multi-class, averaged"):
            value = base + 0.5 * (method == "ordinal logit") - 0.25 * method.endswith("averaged")
            lines.append({
                "file": "f", "booster": "b", "fold": fold, "method": method, "train_rows": 20,
                "test_rows": 10, "log_loss": value, "ranked_probability_score": value,
            })  # fmt: skip
    found = experiment.differences(pd.DataFrame(lines)).set_index(["measure", "method"])
    assert found.loc[("log_loss", "ordinal logit"), "difference"] == pytest.approx(0.5)
    assert found.loc[("log_loss", "ordinal logit"), "verdict"] == "worse"
    assert found.loc[("log_loss", "curve of QWK"), "difference"] == pytest.approx(0.25)
    assert found["se"].max() == pytest.approx(0)


def test_readme_says_what_the_results_say() -> None:
    readme = (experiment.HERE / "README.md").read_text(encoding="utf-8").splitlines()
    results = (experiment.RESULTS / "table.md").read_text(encoding="utf-8").splitlines()
    rows = {line for line in readme if line.startswith("|")}
    assert rows <= set(results)
    assert {line for line in results if line.startswith("- ")} <= set(readme)
    assert len(rows) == 2 + 12 * len(experiment.RIVAL)
