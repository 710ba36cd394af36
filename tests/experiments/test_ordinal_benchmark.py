"""The benchmark of the whole path: its data, its rules, a small run, committed results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from experiments import _common
from experiments.ordinal_benchmark import __main__ as experiment, arms, data, report

pytestmark = pytest.mark.slow

SETTINGS = _common.read_json(experiment.CONFIG)
DEFAULT, BEFORE = SETTINGS["default"], SETTINGS["before"]
OTHER = SETTINGS["other_objective"]


def test_grades_are_cut_as_configured() -> None:
    made = dict(data.data_sets(None, SETTINGS))
    assert set(made) == {"diabetes", "friedman1"}
    shares = {name: np.bincount(y) / len(y) for name, (_, y) in made.items()}
    # ties of the target at a quantile move a few of 442 rows
    np.testing.assert_allclose(shares["diabetes"], 0.2, atol=0.01)
    np.testing.assert_allclose(shares["friedman1"], [0.4, 0.25, 0.17, 0.1, 0.06, 0.02], atol=1e-3)


def test_frank_and_hall_is_what_it_should_be() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    y = np.digitize(X[:, 0] + rng.logistic(size=2000), [-1, 1])
    above = arms.more_than(LogisticRegression(C=np.inf), X, y, np.array([[0.0], [1.0]]), 3)
    true = 1 / (1 + np.exp(np.array([[-1.0, 1.0], [-2.0, 0.0]])))
    np.testing.assert_allclose(above, true, atol=0.06)  # two standard errors of 2,000 rows


def test_scores_are_rounded_to_the_nearest_grade() -> None:
    assert arms.rounded(np.array([-3, 0.49, 0.5, 1.5, 2.6, 9]), 4).tolist() == [0, 0, 1, 2, 3, 3]


def gains(values: dict[str, float], other: str = BEFORE) -> pd.DataFrame:
    """Of the default over another arm by file, with a standard error of .01."""
    lines = [
        {"file": file, "arm": DEFAULT, "other": other, "gain": gain, "se": 0.01,
         "se_corrected": 0.02}
        for file, gain in values.items()
    ]  # fmt: skip
    return pd.DataFrame(lines)


@pytest.mark.parametrize(
    ("values", "error", "holds"),
    [
        ([0.021, 0.021, 0, 0], "se", True),
        ([0.021, 0.019, 0, 0], "se", False),
        ([0.021, 0.021, 0.021, -0.021], "se", False),
        ([0.021, 0.021, 0.021, -0.019], "se", True),
        ([0.021, 0.021, 0, 0], "se_corrected", False),
        ([0.041, 0.041, 0, -0.03], "se_corrected", True),
    ],
)
def test_better_on_half_worse_on_none(values, error, holds) -> None:
    frame = gains(dict(zip("abcd", values, strict=True)))
    text, found = report.better_on_half_worse_on_none(frame, DEFAULT, BEFORE, SETTINGS, error)
    assert found is holds
    assert text.endswith("HOLDS" if holds else "FAILS")


@pytest.mark.parametrize(
    ("gain", "word"),
    [(0.001, "first"), (-0.009, "within one standard error"), (-0.011, "BEHIND")],
)
def test_the_best_competitor_is_the_one_to_beat(gain, word) -> None:
    lines = [("a", DEFAULT, 0.7), ("a", BEFORE, 0.9), ("a", "mord", 0.71), ("a", "rounded", 0.6)]
    summary = pd.DataFrame(lines, columns=["file", "arm", "qwk"])  # our own arms do not compete
    frame = pd.concat([gains({"a": gain}, "mord"), gains({"a": 0.1}, "rounded")])
    said, holds = report.against_the_best(summary, frame, DEFAULT, SETTINGS)
    assert said[0].endswith(word)
    assert "less mord" in said[0]
    assert holds is (word != "BEHIND")


@pytest.mark.ci
def test_quick_run_without_files_and_peers(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(arms, "PEERS", ("no_such_peer",))
    rows = {"diabetes": SETTINGS["files"]["diabetes"],
            "friedman1": SETTINGS["files"]["friedman1"] | {"rows": 300}}  # fmt: skip
    monkeypatch.setattr(experiment, "QUICK", experiment.QUICK | {"folds": 2, "files": rows})
    assert experiment.main(["--quick", "--output", str(tmp_path)]) == 0
    assert "without no_such_peer: pip install 'gbdt_objectives[peers]'" in capsys.readouterr().out
    names = {"folds.csv", "summary.csv", "gains.csv", "gains.png", "table.md", "environment.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    folds = pd.read_csv(tmp_path / "folds.csv")
    assert len(folds) == 2 * 2 * 4 * 9  # files, folds, boosters and parameters, arms
    assert folds[["qwk", "mae"]].notna().all(axis=None)
    assert not {"mord LogisticAT", "squared error, optimized-rounder"} & set(folds.arm)


def test_peers_take_part_if_they_are_there() -> None:
    peers = {name: pytest.importorskip(name) for name in arms.PEERS}
    X, y = dict(data.data_sets(None, SETTINGS))["diabetes"]
    linear = arms.predict_linear(peers, X, y, X)["mord LogisticAT"]
    assert np.corrcoef(linear, y)[0, 1] > 0.5
    found = arms.predict_all("LightGBM", {"n_estimators": 5}, peers, 5, X, y, X)
    assert np.corrcoef(found["squared error, optimized-rounder"], y)[0, 1] > 0.5


def test_a_run_without_folder_does_not_touch_the_results(capsys) -> None:
    assert experiment.main([]) == 2
    assert "FOLDER is missing" in capsys.readouterr().err


def test_missing_files_are_an_error_without_a_traceback(tmp_path, capsys) -> None:
    assert experiment.main([str(tmp_path), "--output", str(tmp_path / "results")]) == 2
    assert "winequality-white.csv' not found" in capsys.readouterr().err


def test_results_belong_to_the_configuration() -> None:
    record = json.loads((experiment.RESULTS / "environment.json").read_text(encoding="utf-8"))
    found = {**record["settings"]}
    assert set(found.pop("data")) == set(SETTINGS["files"])
    assert found.pop("peers") == sorted(arms.PEERS)
    assert found == _common.configuration_record(experiment.CONFIG) | {"quick": False}


def test_readme_says_what_the_results_say() -> None:
    readme = (experiment.HERE / "README.md").read_text(encoding="utf-8")
    table = (experiment.RESULTS / "table.md").read_text(encoding="utf-8")
    for block in table.strip().split("\n\n"):
        assert block in readme
    summary, gains = (
        pd.read_csv(experiment.RESULTS / name) for name in ("summary.csv", "gains.csv")
    )
    lines, holds = report.judge(summary, gains, SETTINGS)
    for line in lines:
        assert line.split(":")[0] in readme
        assert line.split(": ")[-1] in readme
    assert holds == {
        "defaults": True,
        "qwk better than squared error": False,
        "squared error better than qwk": False,
        f"{DEFAULT} first or level": False,
        f"{OTHER} first or level": False,
    }


def test_the_page_says_what_the_other_objective_gains() -> None:
    page = " ".join(
        (Path(__file__).parents[2] / "docs/which_one.md").read_text(encoding="utf-8").split()
    )
    gains = report.of_files(pd.read_csv(experiment.RESULTS / "gains.csv"))
    own = gains[(gains.arm == DEFAULT) & (gains.other == OTHER)]
    assert f'over seven files, `objective=None` minus `"qwk"` is {-own.gain.mean():+.4f} in' in page
