"""The study of thresholds by segment: its rows, its rule, and the committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments import _common
from experiments.segment_thresholds import __main__ as experiment

pytestmark = pytest.mark.slow

SETTINGS = _common.read_json(experiment.HERE / "config.json")


@pytest.mark.filterwarnings("ignore:every row gets the class")  # of a few rows of a segment
@pytest.mark.filterwarnings("ignore:no row gets the class")  # of a few rows of a segment
def test_files_are_scored_out_of_fold(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.insert(0, "response", np.digitize(X[:, 0] + X[:, 2] + rng.normal(size=200), [-1, 0, 1]))
    frame.to_csv(tmp_path / "made.csv", index=False)
    how = {"file": "made", "columns": {"b": 1, "c": 2}}
    X, _, g, columns = experiment.read(tmp_path, how, 0)
    assert columns == ["b", "c"]
    cells = pd.DataFrame({"b": np.floor(X.b), "c": np.floor(X.c / 2), "g": g})
    assert len(cells.drop_duplicates()) == g.max() + 1 == len(cells[["b", "c"]].drop_duplicates())
    settings = SETTINGS | {"files": {"made": how}, "folds": 3, "lightgbm": {"n_estimators": 5}}
    folds = experiment.real(tmp_path, settings)
    assert folds["segment is a feature"].tolist() == ["yes"] * 3 + ["no"] * 3
    for place, fit, new, K in experiment.folds_of_files(tmp_path, settings):
        assert K == 4
        assert place["test_share"] == pytest.approx(0.5, abs=0.02)
        assert len(fit[0]) + len(new[0]) == 200


def test_true_shifts_put_all_segments_on_one_line() -> None:
    cell = {"effects": 0.6, "confounded": -1.0, "segments": 4, "sizes": "equal", "rows": 40_000}
    (y, s, g), _, true = experiment.simulate(cell, SETTINGS, 0)
    near = np.abs(s + true[g]) < 0.7  # where classes do not end
    means = pd.Series((y - 2.5 - s - true[g])[near]).groupby(g[near]).mean()
    assert np.abs(means).max() < 0.05
    sizes = np.bincount(experiment.simulate(cell | {"sizes": "Zipf"}, SETTINGS, 0)[0][2])
    np.testing.assert_allclose(sizes / sizes[0], [1, 1 / 2, 1 / 3, 1 / 4], atol=0.03)


@pytest.mark.filterwarnings("ignore:score holds nothing but labels")  # in a row or two it does
def test_a_segment_that_cannot_have_thresholds_has_the_common_ones() -> None:
    y, s, g = np.resize([0, 1, 2], 60), np.resize([0.0, 1.0, 2.0], 60), np.repeat([0, 1], [58, 2])
    common = np.array([0.5, 1.5])
    new = y[:3], s[:3], np.array([0, 1, 2])
    found = experiment.separate((y, s, g), new, 3, common, "exact")
    assert found.tolist() == [0, 1, 2]


def judged(**gains: float) -> bool:
    line = {"effects": 0.0, "shifts": -0.0002, "shifts se": 0.0002}
    for arm in experiment.ARMS[1:3]:
        line |= {f"shifts over {arm}": 0.001, f"shifts over {arm} se": 0.001}
    return experiment.judge(pd.DataFrame([line | gains]), pd.DataFrame())[1]


def test_the_rule() -> None:
    assert judged()
    assert not judged(**{"shifts": -0.0011, "shifts se": 0.01})
    assert not judged(**{"shifts": -0.0005})
    assert not judged(**{"shifts over separate exact": -0.003})
    assert not judged(**{"shifts over separate plug-in": -0.003})


def test_the_verdict_is_what_the_rule_says() -> None:
    found = [pd.read_csv(experiment.RESULTS / f"{name}.csv") for name in ("simulated", "real")]
    claim, holds = experiment.judge(*found)
    readme = " ".join((experiment.HERE / "README.md").read_text(encoding="utf-8").split())
    assert f"{claim}: {'HOLDS' if holds else 'FAILS'}" in readme
