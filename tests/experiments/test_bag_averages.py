"""Averages of bags: the committed results beside the default."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.bag_averages import __main__ as experiment
from gbdt_objectives import DownsampledClassifier

pytestmark = pytest.mark.slow


def test_the_default_never_loses() -> None:
    summary = pd.read_csv(experiment.RESULTS / "summary.csv")
    several = summary[summary.bags > 1]
    loses = several.groupby("average").loses.sum()
    assert loses["probability"] == 0
    assert loses["log_odds"] == 12  # as the README says
    assert several.groupby("average").size().tolist() == [40, 40]
    assert DownsampledClassifier(None, 0.1).average == "probability"
