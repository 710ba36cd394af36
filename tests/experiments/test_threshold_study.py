"""The threshold study: its data, its acceptance rule, a small run, committed results."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from experiments import _common
from experiments.threshold_study import (
    __main__ as experiment,
    configuration as config,
    curved,
    real,
    simulated,
)

pytestmark = pytest.mark.slow

FULL = config.read()
RECORD = _common.configuration_record(config.CONFIG)
MODELS = [(b, o) for b in ("XGBoost", "LightGBM") for o in ("squared error", "extended QWK")]


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((240, 3))
    grade = np.digitize(X.sum(1) + 0.2 * rng.normal(size=240), [1.2, 1.6]) + 1
    path = tmp_path / "data.csv"
    pd.DataFrame({"grade": grade, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}).to_csv(
        path, index=False
    )
    return path


@pytest.mark.parametrize("family", FULL.families, ids=lambda family: family.name)
def test_simulated_rows_are_what_they_should_be(family):
    y, score = simulated.draw(family, 200_000, np.random.default_rng(1))
    np.testing.assert_allclose(np.bincount(y) / len(y), family.prior, atol=0.005)
    x = np.linspace(-4, 4, 101)
    assert (np.diff(simulated.score(x, family)) > 0).all()  # monotone
    if family.score == "calibrated":
        for low, high in zip(*np.quantile(score, [[0, 0.3, 0.8], [0.3, 0.8, 1]]), strict=True):
            inside = (score >= low) & (score <= high)
            assert y[inside].mean() == pytest.approx(score[inside].mean(), abs=0.02)


def test_ceiling_is_the_plug_in_rule_of_the_population():
    family = FULL.families[0]
    best = simulated.population_thresholds(family, 20_000)
    np.testing.assert_allclose(np.diff(best), np.diff(best)[0], atol=1e-3)  # equally spaced
    assert best[1] == pytest.approx(1.5, abs=1e-3)


@pytest.mark.filterwarnings("ignore:no row gets the class")  # of few rows
def test_repetitions_are_reproducible_and_differ():
    settings = config.read("quick")
    family = settings.families[0]
    best = simulated.population_thresholds(family, settings.scale.ceiling_points)
    first, again, second = (
        simulated.run_repetition(family, i, settings, best, 0) for i in (0, 0, 1)
    )
    assert first == again
    assert first[0]["plugin"] != second[0]["plugin"]


def differences(change=()) -> pd.DataFrame:
    """Plug-in better by three standard errors everywhere, but for what is changed."""
    lines = [
        {"file": file, "booster": booster, "objective": objective, "method": "plugin",
         "other": "nelder-mead",
         "difference": 0.03, "se": 0.01}
        for file in FULL.acceptance.files
        for booster, objective in MODELS
    ]  # fmt: skip
    frame = pd.DataFrame(lines)
    for i, difference in dict(change).items():
        frame.loc[i, "difference"] = difference
    return frame


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, True),
        ({0: -0.009}, True),
        ({0: -0.011}, False),
        ({11: -0.011}, False),
        ({0: 0.019}, True),
        ({0: 0.019, 4: 0.019}, False),  # XGBoost, squared error, two files
        ({1: 0.019, 5: 0.019}, True),  # extended QWK is not judged for gains
    ],
)
def test_acceptance(change, holds):
    lines, found = real.acceptance(differences(change), FULL.acceptance)
    assert found is holds
    worse = sum(difference < -0.01 for difference in change.values())
    assert f"worse by more than one standard error: {worse} of 12" in lines


def curved_rows(change=()) -> pd.DataFrame:
    """Simulated rows in which curved thresholds are better by three standard errors everywhere,
    but for what is changed: {(family, size, other): difference}."""
    lines = []
    for family in FULL.families:
        for rows in (100, 1000):
            line = {"family": family.name, "rows": rows}
            for method, other in FULL.pairs:
                name = f"{method}_minus_{other}"
                line[name] = dict(change).get((family.name, rows, other), 0.03)
                line[f"{name}_se"] = 0.01
            lines.append(line)
    return pd.DataFrame(lines)


FIRST, LAST = FULL.families[0].name, FULL.families[-1].name


@pytest.mark.parametrize(
    ("change", "holds", "said"),
    [
        ({}, True, "curved worse than plugin by more than 2 standard errors: 0 of 20"),
        ({(FIRST, 100, "plugin"): -0.019}, True, "0 of 20"),
        ({(FIRST, 100, "plugin"): -0.021}, False, f"1 of 20; {FIRST}, 100 rows -0.0210"),
        # on the mean of two sizes the standard error is .01 / sqrt 2
        ({(FIRST, 100, "exact"): -0.01}, False, "+0.0100 ± 0.0071: NOT better"),
        ({(FIRST, 100, "exact"): 0.0}, True, "+0.0150 ± 0.0071: better"),
        ({(LAST, 100, "plugin"): -0.01}, False, "+0.0100 ± 0.0071: NOT better"),
        ({(LAST, 100, "exact"): -0.01}, True, "better"),  # of bent scores it is not asked
    ],
)
def test_acceptance_of_curved(change, holds, said):
    real_rows = differences().assign(method="curved", other="exact")
    lines, found = curved.acceptance(curved_rows(change), real_rows.head(0), FULL)
    assert found is holds
    assert any(said in line for line in lines)
    real_rows.loc[0, "difference"] = -0.021
    lines, found = curved.acceptance(curved_rows(), real_rows, FULL)
    assert not found
    assert any("1 of 32; winequality-white, XGBoost, squared error -0.0210" in x for x in lines)


def test_acceptance_is_not_judged_without_all_files():
    lines, found = real.acceptance(differences().head(8), FULL.acceptance)
    assert found is None
    assert len(lines) == 8


@pytest.mark.ci
def test_quick_run_writes_everything(file, tmp_path, capsys):
    output = tmp_path / "out"
    arguments = [str(file), "--target", "grade", "--quick", "--output", str(output)]
    assert experiment.main(arguments) == 0
    assert "acceptance: not judged" in capsys.readouterr().out
    names = {"simulated.csv", "simulated_summary.csv", "simulated.png", "folds.csv", "table.md"}
    names |= {"real_summary.csv", "differences.csv", "real.png", "environment.json"}
    assert {path.name for path in output.iterdir()} == names
    folds = pd.read_csv(output / "folds.csv")
    assert len(folds) == 3 * len(MODELS)
    assert folds[list(FULL.methods)].notna().all(axis=None)
    text = (output / "environment.json").read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert json.loads(text)["settings"].items() >= RECORD.items()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "FILE is missing"),
        (["no.csv"], "--target is missing"),
        (["no.csv", "--target", "y"], "not found"),
        (["a.csv", "b/a.csv", "--target", "y"], "two files have the same name"),
    ],
)
def test_unusable_arguments_are_refused(arguments, words, capsys):
    assert experiment.main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert words in error


def test_results_are_complete():
    folder = experiment.RESULTS
    settings = json.loads((folder / "environment.json").read_text(encoding="utf-8"))["settings"]
    assert set(settings["data"]) == set(FULL.acceptance.files)
    folds = pd.read_csv(folder / "folds.csv")
    assert len(folds) == 3 * len(MODELS) * FULL.scale.outer_folds * FULL.scale.outer_repeats


def test_the_table_shows_the_comparison_that_is_judged():
    results = (experiment.RESULTS / "table.md").read_text(encoding="utf-8").splitlines()
    judged = [line for line in results if "plug-in - Nelder" in line and "family" not in line]
    assert len(judged) == 12


def test_plugin_reaches_the_ceiling_with_calibrated_scores_and_not_otherwise():
    summary = pd.read_csv(experiment.RESULTS / "simulated_summary.csv").set_index("family")
    largest = summary[summary["rows"] == 100_000]
    for family in FULL.families:
        row = largest.loc[family.name]
        assert row.exact >= row.ceiling - 0.002
        if family.score in ("calibrated", "halved"):
            assert row.plugin >= row.ceiling - 0.001
        if family.score in ("exp(2m)", "cubed"):
            assert row.plugin < row.exact - 0.01
