"""Coverage of the estimated prior: its rows, and the committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.prior_uncertainty import __main__ as experiment

pytestmark = pytest.mark.slow


def test_only_the_prior_differs_between_populations() -> None:
    rng = np.random.default_rng(0)
    X, y = experiment.draw(20_000, 0.05, rng)
    assert abs(y.mean() - 0.05) < 0.01
    X_old, y_old = experiment.draw(20_000, None, rng)
    for label in (0, 1):  # the same means given the label; deviation about .03 of 1,000 rows
        gap = X[y == label].mean(axis=0) - X_old[y_old == label].mean(axis=0)
        assert np.abs(gap).max() < 0.15


def test_both_claims_hold() -> None:
    summary = pd.read_csv(experiment.RESULTS / "summary.csv")
    held_out = summary[(summary.way == "held-out rows") & (summary.model != experiment.TRUE)]
    assert held_out.holds.all()  # "on both boosters and at all three priors"
    assert summary[summary.model == experiment.TRUE].holds.all()
    unchanged = held_out[held_out.prior == "unchanged"]
    assert unchanged.rejected.between(0.03, 0.07).all()
