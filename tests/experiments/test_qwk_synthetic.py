"""The published experiment: its data, its acceptance check, its committed results."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from experiments import _common
from experiments.qwk_synthetic import __main__ as experiment

pytestmark = pytest.mark.slow


def published_summary() -> pd.DataFrame:
    """A summary that holds the published numbers themselves."""
    lines = []
    for method in experiment.METHODS:
        rounded, cut, thresholds = experiment.PUBLISHED[method.booster, method.objective]
        line = {
            "booster": method.booster,
            "objective": method.objective,
            "way": method.way,
            "repetition": 0,
            "rounds": 100,
            "qwk_rounded": rounded,
            "qwk_thresholds": cut,
            "ceiling": 0.6364,
        }
        lines.append(line | {f"threshold_{i}": t for i, t in enumerate(thresholds, start=1)})
    return experiment.summary_frame(pd.DataFrame(lines))


def test_rows_are_the_published_ones():
    X, y = experiment.make_rows(seed=0, rows=1000)
    drawn = np.random.RandomState(0).rand(1000, 10)
    np.testing.assert_array_equal(X, drawn[:, :5])
    np.testing.assert_array_equal(np.bincount(y), [250] * 4)
    means = drawn.mean(axis=1)
    assert all(means[y == k].max() < means[y == k + 1].min() for k in range(3))


def test_draws_of_all_repetitions_differ():
    seeds = [seed for r in range(5) for seed in experiment.seeds_of(r).values()]
    assert len(set(seeds)) == len(seeds)
    assert experiment.seeds_of(0)["train"] == 0


def test_published_numbers_pass_their_own_check():
    assert experiment.check(published_summary(), experiment.FULL) == []


@pytest.mark.parametrize("row", range(len(experiment.METHODS)))
@pytest.mark.parametrize("column", ["qwk_rounded", "qwk_thresholds"])
@pytest.mark.parametrize("found", [-0.0061, 0.0061, np.nan])
def test_check_fails_when_a_cell_is_off(row, column, found):
    summary = published_summary()
    summary.loc[row, column] += found
    failures = experiment.check(summary, experiment.FULL)
    name = experiment.METHODS[row].name
    message = next(text for text in failures if text.startswith(f"{name}, {column}:"))
    assert f"expected {summary.loc[row, column + '_published']:.4f}" in message
    assert "tolerance 0.0060" in message


def test_check_fails_when_the_gap_is_small_or_rounding_is_not_enough():
    loose = dataclasses.replace(experiment.FULL, cell=1.0)
    summary = published_summary()
    summary.loc[summary.objective == "squared error", "qwk_rounded"] = 0.6
    assert sum("above squared error" in text for text in experiment.check(summary, loose)) == 3
    summary = published_summary()
    summary.loc[1, "qwk_thresholds"] += 0.0032
    (failure,) = experiment.check(summary, loose)
    assert "rounding against thresholds" in failure


@pytest.mark.ci
def test_tiny_run_writes_everything(tmp_path, monkeypatch, capsys):
    tiny = dataclasses.replace(experiment.QUICK, rows=1000, rounds=8, patience=3, cell=1.0)
    monkeypatch.setattr(experiment, "QUICK", dataclasses.replace(tiny, gap=-1.0, rounding=1.0))
    arguments = ["--quick", "--seeds", "2", "--output", str(tmp_path)]
    assert experiment.main(arguments) == 0
    assert "XGBoost, squared error" in capsys.readouterr().out
    names = {"cells.csv", "summary.csv", "table.md", "scores.png", "qwk.png", "environment.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert len(cells) == 2 * len(experiment.METHODS)
    shifted, ours = (cells[cells.way == m.way].qwk_rounded for m in experiment.METHODS[3:])
    np.testing.assert_allclose(shifted, ours, atol=0.02)

    # the same figures again, and the record of this run in place of an older one's
    environment = tmp_path / "environment.json"
    older = json.loads(environment.read_text(encoding="utf-8")) | {"date": "2020-01-01"}
    environment.write_text(json.dumps(older), encoding="utf-8")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert experiment.main(arguments) == 0
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert before.keys() == after.keys()
    assert {name for name in after if after[name] != before[name]} == {environment.name}
    assert json.loads(after[environment.name])["date"] > "2020-01-01"

    monkeypatch.setattr(experiment, "QUICK", dataclasses.replace(tiny, cell=0.0))
    assert experiment.main(arguments) == 1
    assert "FAILED  XGBoost, squared error, qwk_rounded: found" in capsys.readouterr().err


@pytest.mark.ci
def test_other_data_are_compared_with_nothing(tmp_path, monkeypatch, capsys):
    tiny = dataclasses.replace(experiment.QUICK, rows=1000, rounds=8, patience=3)
    monkeypatch.setattr(experiment, "QUICK", tiny)
    changed = ["--quick", "--classes", "6", "--kept", "4", "--noise", "0.5", "--rows", "1200"]
    assert experiment.main([*changed, "--output", str(tmp_path)]) == 0
    written = capsys.readouterr().out
    assert "published table is of other data" in written
    cells = pd.read_csv(tmp_path / "cells.csv")
    cuts = cells[[f"threshold_{i}" for i in range(1, 6)]].to_numpy()
    assert (np.diff(cuts, axis=1) > 0).all()
    assert ", ".join(f"{cut:.3f}" for cut in cuts[0]) in written
    for name in ("summary.csv", "table.md"):
        assert "published" not in (tmp_path / name).read_text(encoding="utf-8").split("\n")[0]
    settings = json.loads((tmp_path / "environment.json").read_text(encoding="utf-8"))["settings"]
    asked = {"classes": 6, "kept": 4, "noise": 0.5, "rows": 1200}
    assert asked.items() <= settings.items()


@pytest.mark.parametrize(
    ("option", "value"),
    [("classes", "1"), ("classes", "900"), ("kept", "11"), ("kept", "0"), ("noise", "-1"),
     ("noise", "nan"), ("rows", "2.5")],
)  # fmt: skip
def test_data_that_cannot_be_are_refused(option, value, capsys):
    with pytest.raises(SystemExit):
        experiment.main(["--quick", f"--{option}", value])
    assert value in capsys.readouterr().err


def test_other_rows_have_their_classes_features_and_noise():
    X, y = experiment.make_rows(0, 6000, experiment.Data(classes=6, kept=10, noise=1.0))
    assert X.shape == (6000, 10)
    np.testing.assert_array_equal(np.bincount(y), [1000] * 6)
    r = np.corrcoef(X.mean(axis=1).argsort().argsort(), y)[0, 1]
    # a mean with as much noise has a correlation of 1/sqrt(2), of ranks in six classes about 0.68
    assert 0.64 < r < 0.72


@pytest.mark.filterwarnings("ignore:no row gets the class")  # the score tells little
def test_thresholds_improve_on_rounding_where_they_are_fitted():
    X, y = experiment.make_rows(seed=3, rows=4000)
    score = 1.5 + 2.0 * (X.mean(axis=1) - 0.5)  # too narrow to be rounded
    thresholds = _common.fit_thresholds(y, score, (0, 3))
    cut = _common.cut_qwk(y, score, (0, 3), thresholds)
    assert cut > _common.rounded_qwk(y, score, (0, 3)) + 0.02


def test_results_pass():
    summary = pd.read_csv(experiment.RESULTS / "summary.csv", keep_default_na=False)
    assert experiment.check(summary, experiment.FULL) == []
    assert len(summary) == len(experiment.METHODS)


def test_environment_has_no_path(tmp_path):
    _common.write_environment(tmp_path, seeds={"a": 1}, settings={})
    text = (tmp_path / "environment.json").read_text(encoding="utf-8")
    assert "/" not in text
    what_ran = {"date", "seconds", "python", "libraries", "platform", "seeds", "settings"}
    assert set(json.loads(text)) == what_ran
