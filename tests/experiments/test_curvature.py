"""Exact or bounded hessians: samples, candidates, figures, a small run, the committed results."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from lightgbm import LGBMModel
from scipy.special import expit, logit

from experiments import _common
from experiments.curvature import __main__ as experiment
from experiments.curvature.__main__ import (
    BOUNDED,
    EXACT,
    OFFSET,
    POSITIVES,
    STEP,
    TUNED_BOUNDED,
    TUNED_EXACT,
    WEIGHTED,
)
from experiments.negative_downsampling import models
from experiments.negative_downsampling.configuration import Training
from experiments.negative_downsampling.methods import Data

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("curvature")]

SETTINGS = _common.read_json(experiment.CONFIG)
METHODS = [EXACT, TUNED_EXACT, STEP, BOUNDED, TUNED_BOUNDED]


@pytest.fixture(scope="module")
def data() -> Data:
    """One event in twenty, by two of three features."""
    rng = np.random.default_rng(0)

    def draw(n):
        X = rng.normal(size=(n, 3))
        return X, (rng.random(n) < expit(X[:, 0] + X[:, 1] - 3.8)).astype(int)

    return Data(draw(40_000), draw(2000), draw(2000))


@pytest.mark.ci
def test_quick_run_writes_everything(tmp_path, capsys, monkeypatch) -> None:
    rows = {"train_rows": 1500, "validation_rows": 500, "test_rows": 500}
    few = {
        "training": SETTINGS["training"] | {"most_rounds": 3},
        "cases": [["weighted", 10], ["positives weighed", 10], ["offset", 10]],
        "simulated": SETTINGS["quick"]["simulated"] | rows,
    }
    study = experiment.study
    monkeypatch.setattr(experiment, "study", lambda folder, settings: study(folder, settings | few))
    assert experiment.main(["--quick", "--output", str(tmp_path)]) == 0
    assert "with large weights bounded is never worse" in capsys.readouterr().out
    names = {"cells.csv", "summary.csv", "differences.csv", "counts.csv"}
    assert {path.name for path in tmp_path.iterdir()} == names | {"table.md", "environment.json"}
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert len(cells) == 2 * 3 * 2 * 2 * 5  # draws, cases, boosters, sizes, methods
    assert cells.method.unique().tolist() == METHODS
    assert cells.rounds.between(1, 3).all()
    loss = cells.pivot_table(
        index=[*experiment.PLACE, "fold"], columns="method", values="logloss", sort=False
    )
    assert len(pd.read_csv(tmp_path / "differences.csv")) == len(loss) / 2 * 4
    hessian = (loss[BOUNDED] - loss[EXACT]).abs()
    assert (hessian > 1e-6).all()  # another hessian is another model


@pytest.mark.parametrize("kind", [WEIGHTED, POSITIVES, OFFSET])
def test_every_kind_of_training_has_the_population_as_its_target(data, kind) -> None:
    """The constant of least loss is the base rate's log-odds once the shift is added."""
    own = experiment.sample(kind, 10, data, np.random.default_rng(1))
    recipe, base = own.recipe("exact"), data.train[1].mean()
    start = recipe.objective.measured(own.rows[1], recipe.weight).intercept
    assert start + recipe.shift == pytest.approx(logit(base), abs=1e-9)  # roundings
    assert len(own.rows[1]) == len(data.train[1]) or own.rows[1].mean() > 3 * base


def test_weights_of_one_keep_all_rows(data) -> None:
    own = experiment.sample(WEIGHTED, 1, data, np.random.default_rng(1))
    np.testing.assert_array_equal(own.rows[1], data.train[1])
    assert own.recipe("bounded").objective.negative_weight == 1
    assert own.recipe("bounded").objective.hessian == "bounded"


@pytest.mark.parametrize("booster", SETTINGS["boosters"])
def test_held_out_weights_choose_the_rounds(data, booster) -> None:
    """Only negatives count, or only positives: without the weights the rounds would be the same."""
    X, y = (part[:4000] for part in data.train)
    weight = np.where(y == 1, 30.0, 1.0)
    recipe = experiment.sample(POSITIVES, 30, data, np.random.default_rng(0)).recipe("exact")
    training = Training(0.3, 2, 3, 20, 1)
    rounds = [
        models.train(
            booster,
            (X, y),
            models.Recipe(recipe.objective, weight, (data.held_out[1] == label) + 1e-6),
            training,
            20,
            data.held_out,
        )[0]
        for label in (0, 1)
    ]
    assert rounds[0] != rounds[1]


@pytest.mark.parametrize("booster", SETTINGS["boosters"])
def test_candidates_begin_with_the_defaults(booster) -> None:
    tried = experiment.candidates(booster, SETTINGS)
    assert len(tried) == 6
    assert len({tuple(one.values()) for one in tried}) == 6
    name = {"LightGBM": "lambda_l2", "XGBoost": "reg_lambda"}[booster]
    assert tried[0] == {name: SETTINGS["default_reg_lambda"][booster], "max_delta_step": 0}


def test_defaults_are_those_of_the_libraries() -> None:
    rows = xgb.DMatrix(np.arange(8.0)[:, None], np.arange(8) % 2)
    learner = json.loads(xgb.train({}, rows, 1).save_config())["learner"]
    tree = learner["gradient_booster"]["tree_train_param"]
    found = {"LightGBM": LGBMModel().reg_lambda, "XGBoost": float(tree["reg_lambda"])}
    assert found == SETTINGS["default_reg_lambda"]
    assert float(tree["max_delta_step"]) == 0


def lines(data: str, weight: float, losses: dict[str, list[float]]) -> pd.DataFrame:
    """Cells of one booster and size."""
    place = {"kind": WEIGHTED, "weight": weight, "booster": "XGBoost", "size": "depth 3"}
    return pd.DataFrame(
        {"data": data, **place, "fold": fold, "method": method, "logloss": loss, "auc": 0.9,
         "mean_ratio": 1.0}
        for method, values in losses.items()
        for fold, loss in enumerate(values)
    )  # fmt: skip


def test_figures_on_known_numbers() -> None:
    exact, same = [0.2, 0.4, 0.3, 0.3], [0.2, 0.4, 0.3, 0.3]
    better = [0.1, 0.3, 0.2, 0.2]
    uneven = [0.1, 0.5, 0.3, 0.5]  # mean +.05, variance of the differences .0166667
    of = {TUNED_EXACT: same, STEP: same, TUNED_BOUNDED: same}
    cells = pd.concat([
        lines("mammography", 10, of | {EXACT: exact, BOUNDED: uneven}),
        lines("simulated", 10, of | {EXACT: exact, BOUNDED: uneven}),
        lines("phoneme", 10, of | {EXACT: exact, BOUNDED: better}),
        lines("phoneme", 1, of | {EXACT: better, BOUNDED: exact}),
    ])  # fmt: skip
    found = experiment.differences(cells, SETTINGS)
    own = found[(found["first"] == BOUNDED) & (found.second == EXACT)].set_index(["data", "weight"])
    variance = np.var([-0.1, 0.1, 0, 0.2], ddof=1)
    error = np.sqrt((1 / 4 + 1 / 3) * variance)  # a quarter of the rows tested
    assert own.logloss["mammography", 10] == pytest.approx(0.05)
    assert own.logloss_se["mammography", 10] == pytest.approx(error)
    assert own.logloss_se["simulated", 10] == pytest.approx(np.sqrt(variance / 4))
    assert own.percent["phoneme", 10] == pytest.approx(-100 / 3)
    assert own.verdict.to_dict() == {
        ("mammography", 10): "within two standard errors",
        ("simulated", 10): "within two standard errors",
        ("phoneme", 10): "better",
        ("phoneme", 1): "worse",
    }
    counts = experiment.count(found).set_index(["weight", "first", "second"])
    at_10, at_1 = (counts.loc[(weight, BOUNDED, EXACT)] for weight in (10, 1))
    assert at_10[["better", "level", "worse"]].tolist() == [1, 2, 0]
    assert at_1[["better", "level", "worse"]].tolist() == [0, 0, 1]
    assert at_10.lowest_percent == pytest.approx(-100 / 3)
    assert at_10.highest_percent == pytest.approx(100 / 6)
    judged = experiment.claimed(found, SETTINGS["claim"])
    assert len(judged) == 3  # weights of 1 are not claimed
    assert not judged.fails.any()
    worse = found.assign(logloss=1.0)
    assert experiment.claimed(worse, SETTINGS["claim"]).fails.all()


def test_readme_says_what_the_results_say() -> None:
    readme = (experiment.HERE / "README.md").read_text(encoding="utf-8")
    words = " ".join(readme.split())
    found = pd.read_csv(experiment.RESULTS / "differences.csv")
    judged = experiment.claimed(found, SETTINGS["claim"])
    assert (judged.fails.sum(), len(judged)) == (4, 68)
    assert "in 4 of 68 comparisons it is worse" in words
    lost = judged[judged.fails]
    assert set(zip(lost.kind, lost.weight, lost.data, strict=True)) == {
        (POSITIVES, 10, "simulated")
    }
    counts = found.groupby(["first", "second", "kind", "weight"]).verdict.value_counts()
    verdicts = counts.unstack(fill_value=0).reindex(columns=["better", "worse"], fill_value=0)
    untuned = verdicts.loc[(BOUNDED, EXACT)]
    assert untuned.loc[(WEIGHTED, 1)].tolist() == [0, 4]
    assert untuned.loc[(WEIGHTED, 10)].tolist() == [10, 0]
    assert untuned.loc[(WEIGHTED, 100)].tolist() == [6, 0]
    assert untuned.loc[(POSITIVES, 10)].tolist() == [0, 4]
    assert untuned.loc[(POSITIVES, 100)].tolist() == [5, 0]
    assert untuned.loc[OFFSET].sum().tolist() == [0, 2]
    assert verdicts.loc[(TUNED_BOUNDED, TUNED_EXACT)].sum().tolist() == [6, 0]
    assert verdicts.loc[(BOUNDED, STEP)].sum().tolist() == [0, 16]
    assert verdicts.loc[(BOUNDED, TUNED_EXACT)].sum().tolist() == [1, 21]
    assert len(found) == 4 * 116
