"""Averages of bags: a quick run, and the committed results beside the default."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.bag_averages import __main__ as experiment
from gbdt_objectives import DownsampledClassifier

pytestmark = pytest.mark.slow


@pytest.mark.ci
def test_quick_run_writes_everything(tmp_path, capsys) -> None:
    assert experiment.main(["--quick", "--output", str(tmp_path)]) == 0
    assert "averaged probabilities never lose to one bag" in capsys.readouterr().out
    names = {"cells.csv", "summary.csv", "table.md", "environment.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert len(cells) == 2 * 4 * 5  # folds, models, one bag and two averages of 5 and 10
    assert np.isfinite(cells.logloss).all()


def test_missing_folder_is_an_error_without_a_traceback(tmp_path, capsys) -> None:
    assert experiment.main([str(tmp_path), "--output", str(tmp_path / "results")]) == 2
    assert "mammography.csv' not found" in capsys.readouterr().err


def test_the_default_never_loses() -> None:
    summary = pd.read_csv(experiment.RESULTS / "summary.csv")
    several = summary[summary.bags > 1]
    loses = several.groupby("average").loses.sum()
    assert loses["probability"] == 0
    assert loses["log_odds"] == 12  # as the README says
    assert several.groupby("average").size().tolist() == [40, 40]
    assert DownsampledClassifier(None, 0.1).average == "probability"
