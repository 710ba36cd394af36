"""The study of ordinal probabilities: its differences."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.ordinal_probabilities import __main__ as experiment, few_rows
from gbdt_objectives.calibration import ordinal

pytestmark = pytest.mark.slow


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


def test_few_rows_runs_in_small(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(ordinal, "FIRST_SLOPE", ordinal.FIRST_SLOPE)  # which it sets
    assert few_rows.main(["--quick", "--output", str(tmp_path / "out")]) == 0
    found = pd.read_csv(tmp_path / "out" / "cells.csv")
    assert len(found) == 2
    assert (found["none"] > 0).all()
