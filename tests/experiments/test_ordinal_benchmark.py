"""The benchmark of the whole path: its data, its rules, a small run, committed results."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from experiments import _common
from experiments.ordinal_benchmark import __main__ as experiment, arms, data, report
from gbdt_objectives import QWKClassifier

pytestmark = pytest.mark.slow

SETTINGS = _common.read_json(experiment.CONFIG)
DEFAULT, BLEND = SETTINGS["default"], SETTINGS["blend"]


def test_grades_are_cut_as_configured() -> None:
    made = dict(data.data_sets(None, SETTINGS))
    assert set(made) == {name for name, how in SETTINGS["files"].items() if how.get("made")}
    shares = {name: np.bincount(y) / len(y) for name, (_, y) in made.items()}
    for name, share in shares.items():
        cuts = SETTINGS["files"][name]["cut_at"]
        # ties of the target at a quantile move a few of 442 rows
        np.testing.assert_allclose(np.cumsum(share)[:-1], cuts, atol=0.01, err_msg=name)


def test_frank_and_hall_is_what_it_should_be() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    y = np.digitize(X[:, 0] + rng.logistic(size=2000), [-1, 1])
    above = arms.more_than(LogisticRegression(C=np.inf), X, y, np.array([[0.0], [1.0]]), 4)
    true = 1 / (1 + np.exp(np.array([[-1.0, 1.0], [-2.0, 0.0]])))
    np.testing.assert_allclose(above[:, :2], true, atol=0.06)  # two standard errors of 2,000 rows
    np.testing.assert_array_equal(above[:, 2], 0)  # no row has the last grade


def test_scores_are_rounded_to_the_nearest_grade() -> None:
    assert arms.rounded(np.array([-3, 0.49, 0.5, 1.5, 2.6, 9]), 4).tolist() == [0, 0, 1, 2, 3, 3]


def test_a_remembered_regressor_is_the_regressor(monkeypatch) -> None:
    X, y = dict(data.data_sets(None, SETTINGS))["diabetes"]
    regressor = arms.BOOSTERS["LightGBM"][0]
    plain, remembered = (
        QWKClassifier(model, early_stopping_rounds=None).fit(X, y)
        for model in (regressor, arms.Remembered(regressor))
    )
    np.testing.assert_array_equal(remembered.predict_score(X), plain.predict_score(X))
    monkeypatch.setattr(type(regressor), "fit", None)  # it is asked no more
    again = QWKClassifier([("a", arms.Remembered(regressor)), ("b", Ridge())]).fit(X, y)
    np.testing.assert_array_equal(again.member_oof_scores_["a"], plain.oof_score_)
    arms.Remembered.memory.clear()


def folds(values: dict[tuple[str, str], float]) -> pd.DataFrame:
    """Kappa of arms, by arm and booster, in four folds that vary by .02 about .01 of gain each."""
    noise = np.array([-0.02, 0.02, -0.02, 0.02])
    lines = [
        {"file": "a", "fold": fold, "booster": booster, "parameters": "default", "arm": arm,
         "qwk": value + (arm == DEFAULT) * noise[fold], "mae": 1.0, "test_share": 0.25}
        for (arm, booster), value in values.items()
        for fold in range(4)
    ]  # fmt: skip
    return pd.DataFrame(lines)


@pytest.mark.parametrize(
    ("gain", "word"),
    [(0.001, "first"), (-0.011, "within one standard error"), (-0.012, "WORSE")],
)
def test_the_best_recipe_is_the_one_to_beat(gain, word) -> None:
    """The standard error of the four gains is .02 / sqrt(3), .01155."""
    own = folds({
        (DEFAULT, "LightGBM"): 0.7, (DEFAULT, "XGBoost"): 0.6, (DEFAULT, "CatBoost"): 0.9,
        ("rounded", "LightGBM"): 0.7 - gain, ("rounded", "XGBoost"): 0.6 - gain,
        ("worse", "LightGBM"): 0.5, (f"{DEFAULT}, ridge", arms.NONE): 0.95, (BLEND, arms.NONE): 0.9,
        ("blend, equal weights", arms.NONE): 0.9,
    })  # fmt: skip
    summary, gains = report.summarize(own, SETTINGS), report.compare(own, SETTINGS)
    said, holds = report.against_recipes(summary, gains, SETTINGS)
    assert len(said) == 1  # ours do not compete, and CatBoost has no such recipe to compare with
    assert f"less rounded {gain:+.4f}" in said[0]
    assert said[0].endswith(word)
    assert holds is (word != "WORSE")


@pytest.mark.parametrize(
    ("best", "holds"), [(0.7, True), (0.76, False), (0.9, False)]
)  # better by .1, level, worse by .1
def test_the_blend_is_compared_with_its_best_member(best, holds) -> None:
    own = folds({
        (DEFAULT, "LightGBM"): 0.5, (DEFAULT, "XGBoost"): best,
        (f"{DEFAULT}, ridge", arms.NONE): 0.4, (BLEND, arms.NONE): 0.8,
        ("blend, equal weights", arms.NONE): 0.95,
    })  # fmt: skip
    if best == 0.76:
        own.loc[own.booster == "XGBoost", "qwk"] += np.array([0.03, -0.03, 0.1, -0.06])
    said, found = report.against_members(report.compare(own, SETTINGS), SETTINGS)
    assert f"blend less {DEFAULT}, XGBoost" in said[0]
    assert found is holds
    assert said[-1].endswith("HOLDS" if holds else "FAILS")


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
    found = pd.read_csv(tmp_path / "folds.csv")
    assert len(found) == 2 * 2 * 2 * (2 * 9 + 3)  # files, folds, parameters, arms with and without
    assert found[["qwk", "mae"]].notna().all(axis=None)
    assert not {"mord LogisticAT", "refitted, optimized-rounder"} & set(found.arm)


def test_peers_take_part_if_they_are_there() -> None:
    peers = {name: pytest.importorskip(name) for name in arms.PEERS}
    X, y = dict(data.data_sets(None, SETTINGS))["diabetes"]
    few = {
        name: model.set_params(n_estimators=5) for name, (model, _) in arms.boosters(peers).items()
    }
    together = dict(arms.predict_together(few, peers, X, y, X, 5))
    assert np.corrcoef(together["mord LogisticAT"], y)[0, 1] > 0.5
    assert np.corrcoef(together["blend"], y)[0, 1] > 0.5
    found = dict(arms.predict_booster(few["CatBoost"], None, peers, 5, X, y, X, 5))
    assert set(found) == {
        DEFAULT, "folds averaged, Nelder-Mead", "refitted, Nelder-Mead",
        "refitted, optimized-rounder", "refitted, rounded",
    }  # fmt: skip
    assert np.corrcoef(found["refitted, optimized-rounder"], y)[0, 1] > 0.5
    assert set(arms.tuned("CatBoost", few["CatBoost"], X, y, SETTINGS)) == {
        "depth", "learning_rate", "n_estimators",
    }  # fmt: skip


def test_a_run_without_folder_does_not_touch_the_results(capsys) -> None:
    assert experiment.main([]) == 2
    assert "FOLDER is missing" in capsys.readouterr().err


def test_results_are_of_all_files_and_peers() -> None:
    record = json.loads((experiment.RESULTS / "environment.json").read_text(encoding="utf-8"))
    assert set(record["settings"]["data"]) == set(SETTINGS["files"])
    assert record["settings"]["peers"] == sorted(arms.PEERS)


def test_verdicts_are_those_of_the_figures() -> None:
    table = (experiment.RESULTS / "table.md").read_text(encoding="utf-8")
    summary, gains = (
        pd.read_csv(experiment.RESULTS / name) for name in ("summary.csv", "gains.csv")
    )
    recipes, first = report.against_recipes(summary, gains, SETTINGS)
    blend, better = report.against_members(gains, SETTINGS)
    for line in [*recipes, *blend]:
        assert f"- {line}" in table
    assert (first, better) == VERDICTS


VERDICTS = (False, False)


@pytest.mark.parametrize(
    ("arm", "other", "booster", "better", "worse", "mean"),
    [
        (DEFAULT, "folds averaged, Nelder-Mead", "all", 7, 0, 0.0202),
        (DEFAULT, "QWKClassifier, QWK objective", "all", 2, 0, None),
        (BLEND, "blend, equal weights", "none", 3, 0, 0.0086),
    ],
)
def test_findings_are_those_of_the_results(arm, other, booster, better, worse, mean) -> None:
    gains = pd.read_csv(experiment.RESULTS / "gains.csv")
    gains = gains[gains.metric == "qwk"]
    own = gains[(gains.arm == arm) & (gains.other == other) & (gains.other_booster == booster)]
    assert len(own) == len(SETTINGS["files"])
    assert ((own.verdict == "better").sum(), (own.verdict == "worse").sum()) == (better, worse)
    if mean is not None:
        assert f"{own.gain.mean():.4f}" == f"{mean:.4f}"
        assert f"{mean:.4f}" in (experiment.HERE / "README.md").read_text(encoding="utf-8")
    assert not (gains.verdict_corrected[gains.arm == BLEND] == "worse").any()
