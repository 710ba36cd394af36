"""The comparison on any CSV file: what it refuses, its sums, a small run, committed results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.ordinal_data import __main__ as experiment
from tests.experiments.test_readmes import cells

pytestmark = pytest.mark.slow


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.random((240, 3))
    grade = np.digitize(X.sum(1) + 0.2 * rng.normal(size=240), [1.2, 1.6]) + 1
    return pd.DataFrame({"grade": grade, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})


def run(frame: pd.DataFrame, folder, *options: str) -> int:
    path = folder / "data.csv"
    frame.to_csv(path, index=False)
    return experiment.main([str(path), "--target", "grade", *options])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.rename(columns={"grade": "level"}), ["no column 'grade'", "level, a, b, c"]),
        (lambda f: f.assign(grade=f.grade + 0.5), ["must be integers", "round or bin"]),
        (lambda f: f.assign(grade="low"), ["must be integers", "'low'"]),
        (lambda f: f.assign(grade=f.grade.where(f.index > 2)), ["3 labels are missing"]),
        (lambda f: f.assign(grade=2), ["all labels are 2", "two classes"]),
        (lambda f: f.assign(grade=f.index), ["240 different labels", "bin them"]),
        (lambda f: f.assign(grade=1 * (f.index > 3)), ["all but 4 rows"]),
        (lambda f: f.head(30), ["30 rows are too few"]),
        (lambda f: f.assign(b="red"), ["column 'b' is not numeric", "'red'"]),
        (lambda f: f.assign(c=np.inf), ["column 'c' holds infinite"]),
        (lambda f: f[["grade"]], ["nothing to learn from"]),
    ],
)  # fmt: skip
def test_unusable_data_are_refused(frame, tmp_path, capsys, change, words):
    assert run(change(frame), tmp_path) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    for word in words:
        assert word in error


def test_missing_and_empty_files_are_refused(tmp_path, capsys):
    assert experiment.main([str(tmp_path / "no.csv"), "--target", "grade"]) == 2
    assert "not found" in capsys.readouterr().err
    (tmp_path / "empty.csv").touch()
    assert experiment.main([str(tmp_path / "empty.csv"), "--target", "grade"]) == 2
    assert "not a CSV file" in capsys.readouterr().err


@pytest.mark.ci
def test_quick_run_writes_everything(frame, tmp_path, capsys):
    frame.loc[5, "a"] = np.nan  # boosters take missing features
    output = tmp_path / "out"
    assert run(frame, tmp_path, "--quick", "--no-clip", "--output", str(output)) == 0
    said = capsys.readouterr().out
    for rival in ("rounded squared error", "squared error with thresholds"):
        assert f"XGBoost: rounded extended QWK minus {rival} is" in said
    assert "two standard errors" in said
    names = {"folds.csv", "summary.csv", "differences.csv", "table.md", "qwk.png"}
    assert {path.name for path in output.iterdir()} == names | {"environment.json"}
    assert len(pd.read_csv(output / "folds.csv")) == 3 * len(experiment.METHODS)
    assert str(tmp_path) not in (output / "environment.json").read_text(encoding="utf-8")


def test_paired_difference_and_its_errors():
    rows = [
        {"repeat": 0, "fold": fold, "booster": "XGBoost", "objective": objective,
         "qwk_rounded": value, "qwk_thresholds": 0.0}
        for fold, pair in enumerate([(0.1, 0.2), (0.3, 0.5), (0.5, 0.8)])
        for objective, value in zip(("squared error", "extended QWK"), pair, strict=True)
    ]  # fmt: skip
    differences = experiment.paired(pd.DataFrame(rows), "XGBoost", "rounded - rounded")
    np.testing.assert_allclose(differences, [0.1, 0.2, 0.3])
    expected = np.sqrt((1 / 3 + 0.25) * 0.01)
    assert experiment.corrected_error(differences, 0.25) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mean", "expected"),
    [(0.021, "better"), (0.02, "within two standard errors"), (-0.021, "worse")],
)
def test_verdict(mean, expected):
    assert experiment.verdict(mean, 0.01) == expected


def test_committed_results_show_the_claim():
    claimed = [
        row for row in cells("ordinal_data", "winequality-white", 1)
        if row["extended QWK - squared error"] == "rounded - rounded"
    ]  # fmt: skip
    assert [row["extended QWK is"] for row in claimed] == ["better", "better"]
