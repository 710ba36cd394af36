"""Ordinal logit beside its alternatives: a small run, its sums, and what the README says."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from experiments import _common
from experiments.ordinal_data import ordinal_logit as experiment
from gbdt_objectives import ordinal_logit_objective

pytestmark = pytest.mark.slow


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A file of 240 rows and a configuration of few rounds."""
    rng = np.random.default_rng(0)
    X = rng.random((240, 3))
    grade = np.digitize(X.sum(1) + 0.2 * rng.normal(size=240), [1.2, 1.6]) + 1
    frame = pd.DataFrame({"response": grade, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    frame.to_csv(tmp_path / "grades.csv", index=False)
    configuration = _common.read_json(experiment.CONFIGURATION)
    configuration |= {"files": {"grades": 200}}
    path = tmp_path / "configuration.json"
    path.write_text(json.dumps(configuration), encoding="utf-8")
    monkeypatch.setattr(experiment, "CONFIGURATION", path)
    monkeypatch.setattr(experiment, "QUICK", experiment.QUICK | {"rounds": 8, "patience": 3})
    return tmp_path


@pytest.mark.ci
def test_quick_run_writes_everything(small, capsys) -> None:
    output = small / "out"
    assert experiment.main([str(small), "--quick", "--output", str(output)]) == 0
    assert "results in" in capsys.readouterr().out
    folds = pd.read_csv(output / "folds.csv")
    assert len(folds) == 3 * 2 * len(experiment.METHODS)
    assert folds.qwk.between(0.3, 1).all()
    with_probabilities = ~folds.method.isin(["squared error", "extended QWK"])
    assert (folds.log_loss.notna() == with_probabilities).all()
    assert folds.log_loss_refitted.between(0, np.log(3) + 0.1).all()
    differences = pd.read_csv(output / "differences.csv")
    assert len(differences) == 2 * len(experiment.OTHERS) * len(experiment.SCORES)
    for score in experiment.SCORES:
        own = folds[(folds.booster == "XGBoost") & (folds.repeat == 0)].set_index(
            ["method", "fold"]
        )
        expected = (own.loc["ordinal logit", score] - own.loc["multi-class", score]).mean()
        found = differences.query(
            "booster == 'XGBoost' and other == 'multi-class' and score == @score"
        )
        assert found.difference.item() == pytest.approx(expected, abs=2e-6)  # written to 1e-6
    names = {"folds.csv", "summary.csv", "differences.csv", "table.md", "environment.json"}
    assert {path.name for path in output.iterdir()} == names
    assert str(small) not in (output / "environment.json").read_text(encoding="utf-8")


def test_probabilities_of_a_score_do_not_depend_on_its_scale() -> None:
    rng = np.random.default_rng(1)
    f = 2 * rng.normal(size=2000)
    y = np.digitize(f + rng.logistic(size=2000), [-2, 0, 3])
    truth = ordinal_logit_objective(4, thresholds=[-2, 0, 3]).class_probability(f)
    for scale, shift in ((1.0, 0.0), (0.02, 5.0)):
        refit = experiment.cumulative_logit(y, scale * f + shift, 4)
        # four fitted numbers from 2000 rows
        np.testing.assert_allclose(refit(scale * f + shift), truth, atol=0.05)


def test_committed_results_are_complete() -> None:
    configuration = _common.read_json(experiment.CONFIGURATION)
    folds = pd.read_csv(experiment.RESULTS / "folds.csv")
    count = configuration["outer_folds"] * configuration["outer_repeats"]
    assert set(folds.file) == set(configuration["files"])
    assert len(folds) == len(configuration["files"]) * count * 2 * len(experiment.METHODS)
