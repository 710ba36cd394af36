"""Averages that are calibrated: the rule, and the committed results beside the defaults."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments._common import read_json
from experiments.averaged_models import __main__ as experiment
from gbdt_objectives import CalibratedClassifier, DownsampledClassifier

pytestmark = pytest.mark.slow


def test_the_defaults_are_those_that_the_rule_chooses() -> None:
    summary = pd.read_csv(experiment.RESULTS / "summary.csv")
    by_models = {
        name: own.set_index(["booster", "number"]) for name, own in summary.groupby("models")
    }
    assert by_models["folds"].holds.all()
    assert by_models["bags"].loc[("LightGBM", 5)].holds.all()
    assert CalibratedClassifier(None).ensemble == "auto"
    assert DownsampledClassifier(None, 0.1).calibrate == "auto"
    settings, cells = read_json(experiment.CONFIG), pd.read_csv(experiment.RESULTS / "cells.csv")
    again = experiment.summarize(cells, settings)
    pd.testing.assert_frame_equal(again.round(3), summary.round(3), atol=2e-3)  # of rounded cells


def test_the_rule_looks_at_each_file() -> None:
    """Better on average, but a file that is not separable is 3 % worse: it does not hold."""
    settings = {"separable": 0.01, "worst_allowed": 2.0, "told_apart": 0.5}

    def summary(changes, of=0.1):
        lines = [
            {"data": k, "draw": seed, "models": "folds", "booster": "b", "rate": 1.0, "number": 5,
             "log_loss_before": before, "log_loss_after": before * (1 + change + wobble),
             "average_precision_before": 0.5, "average_precision_after": 0.6,
             "mean_ratio_before": 2.0, "mean_ratio_after": 1.0}
            for k, (change, before) in enumerate(zip(changes, np.broadcast_to(of, 4), strict=True))
            for seed, wobble in enumerate((-0.001, 0.001))
        ]  # fmt: skip
        return experiment.summarize(pd.DataFrame(lines), settings).iloc[0]

    assert summary([-0.05, -0.04, -0.05, -0.06]).holds
    assert not summary([-0.05, -0.09, -0.09, 0.03]).holds
    assert summary([-0.05, -0.04, -0.04, 0.03], [0.1, 0.1, 0.1, 0.001]).holds
    assert not summary([-0.05, 0.0, 0.0, 0.01]).holds
    found = summary([-0.05, -0.04, -0.05, 0.01])
    assert (found.better, found.worse, found.worst) == (3, 1, 3)
    assert found.difference == pytest.approx(1e3 * 0.1 * -0.13 / 4)
    assert found.off_before == pytest.approx(np.log(2))
