"""The study of calibrators: its distortions, and the committed results beside the README."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from experiments.calibrators import __main__ as experiment
from gbdt_objectives.calibration import SplineCalibrator

pytestmark = pytest.mark.slow


def test_distortions_are_what_they_say() -> None:
    z = np.linspace(-6, 3, 50)
    for name, back in experiment.DISTORTIONS.items():
        p = experiment.expit(experiment.distort(z, name))
        np.testing.assert_allclose(back(logit(p)), z, atol=1e-6)  # interpolated
        features = np.column_stack([np.log(p), -np.log1p(-p), np.ones(50)])
        _, residual, *_ = np.linalg.lstsq(features, z, rcond=None)
        assert (residual[0] > 0.1) == (name == "bent")  # no beta map straightens it
    np.testing.assert_allclose(experiment.distort(z, "none"), z, rtol=1e-9)


def test_excess_is_the_divergence() -> None:
    truth = np.array([0.1, 0.4])
    assert experiment.excess(truth, truth, 1e-15) == 0
    by_hand = np.mean(truth * np.log(truth / 0.2) + (1 - truth) * np.log((1 - truth) / 0.8))
    assert abs(experiment.excess(truth, np.full(2, 0.2), 1e-15) - 1e3 * by_hand) < 1e-9


def test_the_default_is_the_default() -> None:
    """Of CalibratedClassifier, whose own test has the other side."""
    one = experiment.OURS[experiment.DEFAULT]
    assert (type(one), one.shrink) == (SplineCalibrator, True)


def test_rows_of_few_events_and_kept_negatives() -> None:
    cell = {"rows": 50_000, "mean": -5.8}
    z, y = experiment.draw(np.random.default_rng(0), cell, 1.0)
    kept, y_kept = experiment.draw(np.random.default_rng(0), cell | {"rate": 0.1}, 1.0)
    assert y_kept.sum() == y.sum()  # of the same draw all events
    assert (y_kept == 0).sum() == pytest.approx((y == 0).sum() / 10, rel=0.1)
    assert np.isin(kept, z).all()
    few = experiment.draw(np.random.default_rng(0), {"rows": 20, "mean": -4}, 1.0)[1]
    assert few.sum() >= 2


def test_readme_says_what_the_results_say() -> None:
    comparison = pd.read_csv(experiment.RESULTS / "comparison.csv")
    readme = (experiment.HERE / "README.md").read_text(encoding="utf-8")
    level = comparison.best_holds.sum()
    assert f"In {level} of the {len(comparison)} rows" in " ".join(readme.split())
    assert comparison.auto_holds.all()
    behind_peers = comparison[~comparison.peer_holds]
    assert list(behind_peers.distortion) == ["asymmetric"]
    chosen = pd.read_csv(experiment.RESULTS / "chosen.csv")
    others = chosen[chosen.chosen != "SplineCalibrator"]
    assert f"{others.draws.sum()} of {chosen.draws.sum():,} draws" in " ".join(readme.split())
