"""The rare-event comparison: its rows, methods, acceptance rule, small runs, committed results."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score

from experiments import _common
from experiments.negative_downsampling import (
    __main__ as experiment,
    configuration as config,
    files,
    methods,
    population,
    simulated,
    weighting,
)
from experiments.negative_downsampling.methods import (
    ALL_ROWS,
    BAGS,
    COMPARISONS,
    CORRECTED,
    FLOORED,
    IN_SAMPLE,
    ISOTONIC,
    METHODS,
    OFFSET,
    SCALED,
    UNCORRECTED,
    WEIGHTED,
)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("negative_downsampling")]

FULL = config.read()
RECORD = _common.configuration_record(config.CONFIG)
BOOSTERS = FULL.boosters

SMALL = replace(
    config.read("quick"),
    population=replace(FULL.population, prior=0.05),
    training=replace(FULL.training, most_rounds=40, patience=5),
    bags=2,
    scale=replace(
        config.read("quick").scale, train_rows=4000, test_rows=4000, validation_rows=2000,
        keep_rates=(0.02, 0.3), weighting_sizes=(4000, 8000), weighting_test_rows=2000,
        weighting_keep_rate=0.1,
    ),
)  # fmt: skip
"""Commoner events and fewer rows, so that a run takes seconds."""


@pytest.fixture(scope="module")
def served():
    """Every method of both boosters on one small draw, and the labels of its test rows."""
    data, _ = simulated.make_data(0, SMALL)
    bags = methods.samples(data.train[1], 0.3, SMALL, [0, 0])
    return {
        booster: methods.train_downsampled(booster, data, bags, SMALL)
        | {ALL_ROWS: methods.all_rows(booster, data, SMALL)}
        for booster in BOOSTERS
    }, data.test[1]


def test_population_has_its_prior_and_its_probabilities():
    X, y, p = population.draw(400_000, FULL.population, np.random.default_rng(1))
    # four standard errors of a mean of 400,000 probabilities with standard deviation .02
    assert p.mean() == pytest.approx(FULL.population.prior, abs=4 * 0.02 / 400_000**0.5)
    for low, high in ((0, 0.003), (0.003, 0.03), (0.03, 1)):
        inside = (p >= low) & (p < high)
        error = np.sqrt((p * (1 - p))[inside].sum())
        assert abs(y[inside].sum() - p[inside].sum()) < 4 * error
    X[:, 8:] += 5
    np.testing.assert_array_equal(expit(population.log_odds(X, FULL.population)), p)


def test_draws_are_reproducible_and_differ():
    (first, _), (again, _), (second, _) = (simulated.make_data(s, SMALL) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.test[0], again.test[0])
    assert not np.isin(first.train[0][:, 0], first.test[0][:, 0]).any()
    assert not np.isin(first.train[0][:, 0], second.train[0][:, 0]).any()
    a, b = methods.samples(first.train[1], 0.3, SMALL, [0, 0])
    assert len(a) != len(b) or (a != b).any()


@pytest.mark.parametrize("booster", BOOSTERS)
def test_every_method_is_what_it_says(served, booster):
    found, y = served[0][booster], served[1]
    assert set(found) == set(METHODS)
    loss = {name: log_loss(y, s.probability) for name, s in found.items()}
    assert loss[OFFSET] == pytest.approx(loss[CORRECTED], abs=1e-6)
    auc = {name: roc_auc_score(y, s.probability) for name, s in found.items()}
    assert auc[CORRECTED] == pytest.approx(auc[UNCORRECTED], abs=1e-12)
    mean = {name: s.probability.mean() / y.mean() for name, s in found.items()}
    assert mean[UNCORRECTED] > 2  # three times as many events in the sample
    # 200 events in the training and in the test rows: one standard error is 10 %
    assert mean[CORRECTED] == pytest.approx(1, abs=0.3)
    assert mean[BAGS] == pytest.approx(1, abs=0.3)
    assert mean[IN_SAMPLE] > 2
    assert found[FLOORED].probability.min() == SMALL.isotonic_floor
    assert found[ISOTONIC].probability.min() < SMALL.isotonic_floor
    assert found[BAGS].seconds > found[CORRECTED].seconds
    assert not np.array_equal(found[WEIGHTED].probability, found[OFFSET].probability)


def test_rounds_are_chosen_after_the_correction(served):
    """Stopped on uncorrected probabilities, training would end when they begin to spread."""
    for found in served[0].values():
        assert found[CORRECTED].rounds == found[OFFSET].rounds


def test_bins_count_every_row(served):
    found, y = served[0]["LightGBM"], served[1]
    lines = pd.DataFrame(simulated.bins("LightGBM", y, found))
    for method, own in lines.groupby("method"):
        assert own.rows.sum() == len(y)
        assert own.positives.sum() == y.sum()
        assert own.predicted.sum() == pytest.approx(found[method].probability.sum())
        inside = own[own.bin > 0]
        mean = inside.predicted / inside.rows
        assert (mean >= simulated.EDGES[inside.bin - 1]).all()


def test_expected_logloss_is_the_mean_over_labels():
    p, z = np.array([0.2, 0.7]), np.array([-1.0, 2.0])
    expected = np.mean([p[i] * -np.log(expit(z[i])) + (1 - p[i]) * -np.log(expit(-z[i]))
                        for i in range(2)])  # fmt: skip
    assert weighting.expected_logloss(p, z) == pytest.approx(expected, rel=1e-12)


def test_linear_population_is_linear():
    straight = weighting.populations(FULL)[weighting.RIGHT]
    X = np.random.default_rng(0).normal(size=(50, population.FEATURES))
    z = population.log_odds(X, straight)
    design = np.column_stack([X, np.ones(50)])
    np.testing.assert_allclose(design @ np.linalg.lstsq(design, z)[0], z, atol=1e-10)


def test_curved_population_bends_in_a_feature_with_a_slope():
    curved = weighting.populations(FULL)[weighting.CURVE]
    X = np.zeros((3, population.FEATURES))
    X[:, 0] = [-1, 0, 1]
    low, middle, high = population.log_odds(X, curved)
    bend = FULL.curve_added_after_first_results
    assert (low + high) / 2 - middle == pytest.approx(bend)
    assert (high - low) / 2 == pytest.approx(curved.linear)


def cells(change: dict[str, float]) -> pd.DataFrame:
    """Three seeds of made-up logloss, e-3, in the published order, but for what is changed."""
    base = {ALL_ROWS: 24.3, UNCORRECTED: 160.0, CORRECTED: 24.5, OFFSET: 24.5, WEIGHTED: 27.0,
            SCALED: 25.0, ISOTONIC: 25.2, FLOORED: 24.9, BAGS: 24.2, IN_SAMPLE: 117.0}  # fmt: skip
    lines = [
        {"seed": seed, "booster": booster, "keep_rate": 1.0 if method == ALL_ROWS else rate,
         "method": method, "logloss": 1e-3 * (value + seed + 0.01 * i * (seed == 1) * (i > 3))}
        for seed in range(3)
        for booster in BOOSTERS
        for rate in FULL.scale.keep_rates
        for i, (method, value) in enumerate((base | change).items())
    ]  # fmt: skip
    return pd.DataFrame(lines).drop_duplicates()


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        ({}, 0),
        ({OFFSET: 24.502}, 1),
        ({UNCORRECTED: 75.0}, 1),
        ({IN_SAMPLE: 60.0}, 1),
        ({WEIGHTED: 24.4}, 2),  # better than corrected and than weights of mean 1
        ({SCALED: 24.4}, 1),
        ({ISOTONIC: 24.4}, 1),
        ({BAGS: 24.41}, 1),  # 0.14 more than all rows
        ({ALL_ROWS: 23.8}, 2),  # corrected 0.7 and bags 0.4 more than all rows
        ({BAGS: 24.6}, 2),  # worse than corrected too
    ],
)
def test_acceptance(change, failing):
    checks = simulated.acceptance(cells(change), FULL)
    assert len(checks) == 10 * len(BOOSTERS)
    assert sum(not holds for _, holds in checks) == failing * len(BOOSTERS)


@pytest.mark.parametrize(
    ("right", "terms", "curve", "expected"),
    [
        (0.1, -0.1, -0.1, [True, True, True]),
        (-0.1, -0.1, -0.1, [False, True, True]),
        (0.1, -0.015, -0.1, [True, False, True]),
        (0.1, -0.1, 0.1, [True, True, False]),
    ],
)
def test_acceptance_of_weighting(right, terms, curve, expected):
    largest = {weighting.RIGHT: right, weighting.TERMS: terms, weighting.CURVE: curve}
    lines = [{"model": m, "rows": 1000, "difference": d} for m, d in largest.items()]
    lines += [{"model": m, "rows": 10, "difference": 1.0} for m in largest]
    checks = weighting.acceptance(pd.DataFrame(lines).assign(difference_se=0.01), FULL)
    assert [holds for _, holds in checks] == expected
    assert ["added after" in text for text, _ in checks] == [False, False, True]


def test_paired_differences_and_their_errors():
    frame = cells({}).query("keep_rate in (1.0, 0.02)")
    frame.loc[frame.method == ALL_ROWS, "logloss"] = [0.01, 0.01, 0.02, 0.02, 0.04, 0.04]
    values = simulated.paired(frame, "XGBoost", 0.02, CORRECTED, ALL_ROWS)
    np.testing.assert_allclose(values, [0.0145, 0.0055, -0.0135])
    differences = simulated.differences_frame(frame, [0.02])
    assert len(differences) == len(COMPARISONS) * len(BOOSTERS)
    row = differences.iloc[0]
    assert (row["first"], row.second, row.seeds_better) == (CORRECTED, ALL_ROWS, 1)
    assert row.se == pytest.approx(np.sqrt(np.var(values, ddof=1) / 3))


@pytest.mark.ci
def test_published_run_writes_everything(tmp_path, capsys, monkeypatch):
    few_rounds = replace(
        SMALL,
        training=replace(SMALL.training, most_rounds=4, patience=3),
        scale=replace(SMALL.scale, train_rows=2000, test_rows=2000, validation_rows=1000),
    )
    monkeypatch.setattr(config, "read", lambda scale: few_rounds)
    assert experiment.main(["published", "--quick", "--output", str(tmp_path)]) == 0
    assert ", not judged" in capsys.readouterr().out
    names = {f"{part}{kind}.csv" for part in ("simulated", "weighting")
             for kind in ("", "_summary", "_differences")}  # fmt: skip
    names.remove("weighting_differences.csv")
    names |= {"reliability.csv", "table.md", "environment.json"}
    names |= {"reliability.png", "cost.png", "weighting.png"}
    assert {path.name for path in tmp_path.iterdir()} == names
    scale = few_rounds.scale
    lines = pd.read_csv(tmp_path / "simulated.csv")
    models = 1 + len(scale.keep_rates) * (len(METHODS) - 1)
    assert len(lines) == scale.seeds * (1 + len(BOOSTERS) * models)
    assert lines.logloss.notna().all()
    text = (tmp_path / "environment.json").read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert json.loads(text)["settings"].items() >= RECORD.items()


# four files and simulated rows

SETTINGS = files.read()


@pytest.fixture
def folder(tmp_path):
    """A file of each name, 1200 rows of a feature that tells and two that do not."""
    rng = np.random.default_rng(0)
    for name, how in SETTINGS["data"].items():
        X = rng.normal(size=(1200, 3))
        rareness = 0.5 if "events_kept" in how else 3.0
        event = rng.random(1200) < expit(2 * X[:, 0] - rareness)
        label = 1 * event if how["event"] == "highest" else np.where(event, how["event"], "0")
        columns = {"y": label} if how["header"] else {}
        columns |= {f"x{k}": x for k, x in enumerate(X.T)} | ({} if how["header"] else {"y": label})
        frame = pd.DataFrame(columns)
        frame.to_csv(tmp_path / f"{name}.csv", index=False, header=how["header"])
    return tmp_path


def test_files_are_read_without_identifiers_and_thinned(folder):
    for name, how in SETTINGS["data"].items():
        X, y = _common.rare_events(folder / f"{name}.csv", how, 0)
        assert X.shape[1] == 3 - len(how.get("drop", ()))
        assert set(y) == {0, 1}
        assert 0.02 < y.mean() < 0.2  # half of the rows before thinning


@pytest.mark.ci
def test_a_run_on_files_writes_everything(folder, capsys, monkeypatch):
    small = {
        "repeats": 1, "folds": 2, "least_negatives": 30,
        "by_row": SETTINGS["by_row"] | {"negatives_per_positive": [0.1, 3]},
        "keep_rates": [0.3, 0.001], "bags": 2,
        "max_delta_step": [0],
        "data": {"phoneme": SETTINGS["data"]["phoneme"]},
        "training": SETTINGS["training"] | {"most_rounds": 6},
        "simulated": SETTINGS["simulated"] | {"draws": 2, "prior": 0.1, "train_rows": 500},
    }  # fmt: skip
    monkeypatch.setattr(files, "read", lambda quick: SETTINGS | small)
    output = folder / "out"
    arguments = ["files", str(folder), "--quick", "--output", str(output)]
    assert experiment.main(arguments) == 0
    names = {f"{part}{kind}" for part in ("methods", "by_row")
             for kind in (".csv", "_differences.csv", ".png")}  # fmt: skip
    assert {p.name for p in output.iterdir()} == names | {"table.md", "environment.json"}
    lines = pd.read_csv(output / "methods.csv")
    # data sets, folds, boosters; two without a rate; the rate .001 leaves too few negatives
    assert len(lines) == 2 * 2 * 2 * (2 + 8)
    assert np.isfinite(lines.logloss).all()
    by_row = pd.read_csv(output / "by_row.csv")
    assert len(by_row) == 2 * 2 * 2 * 2 * 2  # samples, methods; .1 per positive is too few
    loss = lines.pivot_table(index=["data", "booster", "fold"], columns="method", values="logloss")
    np.testing.assert_allclose(loss[files.OFFSET], loss[files.CORRECTED], atol=1e-6)


def test_methods_have_as_many_candidates():
    for booster in SETTINGS["boosters"]:
        plain, weighted = (
            files.candidates(booster, kind, SETTINGS) for kind in ("unweighted", "weighted")
        )
        assert len(plain) == len(weighted) * len(SETTINGS["weight_scales"])
        assert plain[0] == weighted[0]
        assert len({tuple(own.values()) for own in plain}) == len(plain)


def test_a_pilot_rates_rows_that_it_has_not_seen():
    """Labels that nothing tells: a pilot that had seen them would tell them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 5)), (rng.random(900) < 0.3).astype(int)
    own = SETTINGS | {"by_row": SETTINGS["by_row"] | {"pilot_rounds": 100}}
    p = files.pilot_probability("LightGBM", (X, y), own, rng)
    # four standard errors of an AUC of 270 events
    assert roc_auc_score(y, p) == pytest.approx(0.5, abs=4 * 0.021)
    assert p.mean() == pytest.approx(0.3, abs=0.1)


def test_errors_of_folds_count_shared_rows():
    lines = [
        {"data": name, "booster": "XGBoost", "fold": fold, "keep_rate": rate, "method": method,
         "logloss": base + 0.01 * fold * (method == "a"), "auc": 0.5, "mean_ratio": 1.0}
        for name in ("phoneme", files.SIMULATED)
        for fold in range(4)
        for method, base, rate in (("a", 0.3, 0.1), ("b", 0.2, 1.0))
    ]  # fmt: skip
    found = files.differences(pd.DataFrame(lines), "keep_rate", [("a", "b")], SETTINGS, ["b"])
    assert found.logloss.to_numpy() == pytest.approx(0.115)
    spread = np.var([0, 0.01, 0.02, 0.03], ddof=1)
    share = 1 / (SETTINGS["folds"] - 1)
    expected = np.sqrt([(1 / 4 + share) * spread, spread / 4])
    np.testing.assert_allclose(found.logloss_se, expected)
