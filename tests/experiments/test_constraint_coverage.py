"""Bounds on new rows: the populations of the study, and the committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments import _common
from experiments.constraint_coverage import __main__ as experiment

pytestmark = pytest.mark.slow
SETTINGS = _common.read_json(experiment.CONFIG)


@pytest.mark.parametrize("weights", [None, "independent", "of the label", "of the score", "groups"])
def test_the_population_is_that_of_the_draws(weights) -> None:
    """Precision and the like of 400,000 rows, at a threshold, to three standard errors."""
    if weights == "groups":
        cell = SETTINGS["groups"][0] | {"number": 40_000}
        population, draw = experiment.grouped(cell, SETTINGS)
    else:
        cell = {"base_rate": 0.1, "keep_rate": 1, "weights": weights}
        population, draw = experiment.binormal(cell, 40_000, 2.0)
    rows, true = draw(np.random.default_rng(0)), population.metrics()
    y, w, t = rows["y_true"], rows.get("sample_weight"), 1.5
    w, alert = np.ones(len(y)) if w is None else w, rows["score"] >= t
    for name, found in {
        "precision": w[alert & (y == 1)].sum() / w[alert].sum(),
        "recall": w[alert & (y == 1)].sum() / w[y == 1].sum(),
        "false_positive_rate": w[alert & (y == 0)].sum() / w[y == 0].sum(),
        "alert_rate": w[alert].sum() / w.sum(),
    }.items():
        assert found == pytest.approx(np.interp(t, experiment.SCORE, true[name]), abs=0.015)


def test_readme_says_what_the_results_say() -> None:
    summary = pd.read_csv(experiment.RESULTS / "summary.csv")
    words = " ".join((experiment.HERE / "README.md").read_text(encoding="utf-8").split())
    promised = summary[summary.way == experiment.PROMISED]
    here = summary[summary.way == experiment.IN_SAMPLE]
    assert f"all {(promised.violated <= SETTINGS['most']).sum()} cells pass" in words
    assert len(promised) == 29
    assert f"in {here.violated.min():.3f} to {here.violated.max():.3f} of draws" in words
    weighted = promised[promised.weights != "none"].violated
    assert f"violated in {weighted.min():.3f} to {weighted.max():.3f}." in words
    grouped = summary[summary.rows.str.contains("groups")]
    alone, own = (
        grouped[grouped.way == w].violated for w in (experiment.ALONE, experiment.PROMISED)
    )
    said = f"in up to {alone.max():.3f} of draws, with them in {own.min():.3f} to {own.max():.3f}."
    assert said in words
