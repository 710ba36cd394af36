"""Thresholds where classes are rare: its rows, a small run, committed results, the pages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import _common
from experiments.threshold_study import rare
from experiments.threshold_study.configuration import Family

pytestmark = pytest.mark.slow

SETTINGS = rare.read()
ROOT = Path(__file__).parents[2]
FAMILY = Family("three", (0.05, 0.9, 0.05), 0.4, "calibrated")


def test_scores_never_fall_and_mean_what_they_say():
    scores = rare.Scores(FAMILY, 20_000)
    assert list(scores.of(np.zeros(1))) == SETTINGS["scores"]
    for name, score in scores.of(np.linspace(-4, 4, 1001)).items():
        assert (np.diff(score) > -1e-12).all(), name
    y, x = rare.draw(FAMILY, 200_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(y) / len(y), FAMILY.prior, atol=0.003)
    found = scores.of(x)
    leaves = pd.Series(y).groupby(found["8 leaves"]).agg(["mean", "size"])
    assert len(leaves) == rare.LEAVES
    np.testing.assert_allclose(leaves["mean"], leaves.index, atol=0.01)
    np.testing.assert_allclose(leaves["size"], 25_000, atol=700)
    assert found["calibrated"].mean() == pytest.approx(y.mean(), abs=0.003)
    assert set(found["integers"]) <= set(range(-9, 12))


@pytest.mark.parametrize("name", SETTINGS["priors"])
def test_classes_are_rare(name):
    prior = SETTINGS["priors"][name]
    assert sum(prior) == pytest.approx(1)
    assert len(prior) in (3, 10)
    assert 0.005 <= min(prior[0], prior[-1]) <= 0.05


def test_kappa_of_counts_is_that_of_rows():
    y, x = rare.draw(FAMILY, 3000, np.random.default_rng(1))
    x = np.sort(x)
    new = rare.NewRows.of(y, 3)
    for score in rare.Scores(FAMILY, 2000).of(x).values():
        for at in ((0.2, 0.9), (-np.inf, 0.5), (-np.inf, np.inf)):
            thresholds = np.quantile(score, at) if np.isfinite(at).all() else np.array(at)
            rows = _common.cut_qwk(y, score, (0, 2), thresholds)
            assert new.kappa(score, thresholds) == pytest.approx(rows, abs=1e-12)
        rounded = new.kappa(score, rare.place(y, score, 3, "rounding")[0])
        assert rounded == pytest.approx(_common.rounded_qwk(y, score, (0, 2)), abs=1e-12)


def test_scores_that_fall_are_given_exact_thresholds():
    y, x = rare.draw(FAMILY, 300, np.random.default_rng(2))
    far = x.copy()
    far[np.flatnonzero(y == 0)[:3]] = 1e6  # a line through all rows falls, though ranks rise
    for score in (-x, np.where(far > 1e5, far, np.exp(20 * x))):
        exact, refused = rare.place(y, score, 3, "exact")
        assert not refused
        for method in ("plugin", "curved"):
            found, refused = rare.place(y, score, 3, method)
            assert refused, (method, score)
            np.testing.assert_array_equal(found, exact)


def test_worse_looks_both_ways():
    rows = pd.DataFrame({"a_minus_b": [-0.021, -0.019, 0.021], "a_minus_b_se": 0.01})
    assert rare.worse(rows, "a", "b", SETTINGS).tolist() == [True, False, False]
    assert rare.worse(rows, "b", "a", SETTINGS).tolist() == [False, False, True]


@pytest.mark.ci
def test_quick_run_writes_everything(tmp_path):
    assert rare.main(["--quick", "--output", str(tmp_path / "out")]) == 0
    summary = pd.read_csv(tmp_path / "out" / "summary.csv")
    assert len(summary) == 25
    assert summary[SETTINGS["methods"]].notna().all(axis=None)
    text = (tmp_path / "out" / "table.md").read_text(encoding="utf-8")
    assert all(f"| {name} " in text for name in SETTINGS["priors"])
    record = json.loads((tmp_path / "out" / "environment.json").read_text(encoding="utf-8"))
    assert record["settings"]["scale"] == "quick"


@pytest.fixture(scope="module")
def summary() -> pd.DataFrame:
    return pd.read_csv(rare.RESULTS / "summary.csv")


def page(*path: str) -> str:
    return " ".join(ROOT.joinpath(*path).read_text(encoding="utf-8").split())


def losses(summary: pd.DataFrame, first: str, other: str) -> pd.DataFrame:
    return summary[rare.worse(summary, first, other, SETTINGS)]


def test_results_are_complete(summary):
    places = [SETTINGS[name] for name in ("priors", "correlations", "scores", "sizes")]
    assert len(summary) == np.prod([len(place) for place in places]) == 400
    assert (summary.draws == 50).all()
    assert not summary.duplicated(rare.PLACE).any()


def test_tables_are_those_of_the_figures(summary):
    text = "\n\n".join(rare.tables(summary, SETTINGS)) + "\n"
    assert text == (rare.RESULTS / "table.md").read_text(encoding="utf-8")


def test_readme_says_what_the_results_say(summary):
    readme = page("experiments", "threshold_study", "README.md")
    lost = {other: losses(summary, "curved", other) for other in SETTINGS["methods"][:-1]}
    exact = lost["exact"]
    better = len(losses(summary, "exact", "curved"))
    assert set(exact.correlation) == {0.1, 0.2}
    assert (exact["rows"] == 300).sum() == 10
    for other in ("nelder-mead", "rounding"):
        assert (lost[other].score == "integers").mean() >= 0.5
    means = summary[SETTINGS["methods"]].mean()
    for text in (
        f"curved thresholds are worse than exact in {len(exact)} of 400 settings and better in "
        f"{better}",
        f"Mean kappa is {means.curved:.4f} (exact {means.exact:.4f}, plug-in {means.plugin:.4f}, "
        f"Nelder-Mead {means['nelder-mead']:.4f}, rounding {means['rounding']:.4f})",
        f"In {summary.refused.sum()} of {summary.draws.sum():,} draws no line rises",
    ):
        assert text in readme, f"README.md does not say {text!r}"
