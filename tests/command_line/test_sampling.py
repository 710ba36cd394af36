"""The commands sample and shift."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import gbdt_objectives as go
from tests.commands import Columns, read_column, refused, run, write

pytestmark = pytest.mark.slow


@pytest.fixture
def log(tmp_path, monkeypatch) -> Columns:
    """3,000 rows in log.csv, 5 % events."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    columns = {
        "id": np.array([f"{k:05d}" for k in range(3000)]),
        "user": rng.integers(0, 900, 3000),
        "x": rng.random(3000).round(6),
        "y": (rng.random(3000) < 0.05).astype(int),
    }
    write("log.csv", columns)
    return columns


SAMPLE = "sample log.csv --label y --negative-keep-rate 0.1"


class TestSample:
    def test_rows_are_those_of_the_function(self, log) -> None:
        rows = go.negative_downsample(log["y"], 0.1, random_state=4)
        result = run(f"{SAMPLE} --random-state 4 -o kept.csv")
        assert (result.exit_code, result.stderr) == (0, f"wrote kept.csv ({len(rows)} rows)\n")
        lines = Path("log.csv").read_text().splitlines()
        assert Path("kept.csv").read_text().splitlines() == [
            lines[0],
            *(lines[1 + k] for k in rows),
        ]

    def test_the_measured_rate_is_told(self, log) -> None:
        result = run(f"{SAMPLE} -o kept.csv --format json")
        kept = np.array(read_column("kept.csv", "y"), int)
        expected = go.priors.measured_keep_rates(log["y"], kept)[0]
        assert expected != 0.1
        found = run(f"{SAMPLE} -o again.csv --keep id")
        assert f"{expected:.6g}" in found.stdout
        assert f'"negative_keep_rate": {expected!r}' in result.stdout
        assert Path("again.csv").read_text().splitlines()[0] == "id"

    def test_keys_are_kept_together(self, log) -> None:
        run(f"{SAMPLE} --key user --random-state 7 -o kept.csv")
        rows = go.priors.negative_downsample_by_key(
            log["y"], log["user"].astype(str), 0.1, random_state=7
        )
        assert read_column("kept.csv", "id") == log["id"][rows].tolist()

    def test_parquet_keeps_types_and_whole_numbers_as_keys(self, log) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table(log), "log.parquet")
        command = SAMPLE.replace("log.csv", "log.parquet")
        assert run(f"{command} --key user -o kept.parquet").exit_code == 0
        rows = go.priors.negative_downsample_by_key(log["y"], log["user"], 0.1)
        expected = parquet.read_table("log.parquet").take(rows)
        assert parquet.read_table("kept.parquet").equals(expected)


RATE = ["--negative-keep-rate 0.2", {"negative_keep_rate": 0.2}]
PRIORS = ["--train-prior 0.3 --target-prior 0.05", {"train_prior": 0.3, "target_prior": 0.05}]


class TestShift:
    @pytest.mark.parametrize(("option", "known"), [RATE, PRIORS], ids=["rate", "priors"])
    @pytest.mark.parametrize("ending", ["json", "ubj", "txt"])
    def test_moves_the_log_odds(self, log, ending, option, known) -> None:
        X, y = log["x"][:, np.newaxis], log["y"]
        if ending == "txt":
            lgb = pytest.importorskip("lightgbm")
            params = {"objective": "binary", "verbose": -1, "num_leaves": 4, "num_threads": 1}
            lgb.train(params, lgb.Dataset(X, y), 5).save_model("model.txt")
            before, load = lgb.Booster(model_file="model.txt").predict(X), lgb.Booster
        else:
            xgb = pytest.importorskip("xgboost")
            params = {"objective": "binary:logistic", "max_depth": 2, "nthread": 1}
            X = xgb.DMatrix(X)
            xgb.train(params, xgb.DMatrix(X_of(log), y), 5).save_model(f"model.{ending}")
            before, load = xgb.Booster(model_file=f"model.{ending}").predict(X), xgb.Booster
        found = report_of_shift(f"shift model.{ending} {option} -o served.{ending}")
        shift = float(go.log_odds_shift(**known))
        assert found["shift"] == shift
        assert found["odds_factor"] == pytest.approx(math.exp(shift))
        after = load(model_file=f"served.{ending}").predict(X)
        # a model of XGBoost predicts in float32
        np.testing.assert_allclose(after, go.correct_probability(before, **known), rtol=1e-5)

    def test_rounds_after_the_best_stay(self, log) -> None:
        lgb = pytest.importorskip("lightgbm")
        params = {"objective": "binary", "verbose": -1, "num_leaves": 4, "num_threads": 1}
        lgb.train(params, lgb.Dataset(X_of(log), log["y"]), 7).save_model("model.txt")
        run("shift model.txt --negative-keep-rate 0.1 -o served.txt")
        assert lgb.Booster(model_file="served.txt").num_trees() == 7

    def test_a_rate_is_told_once(self, log) -> None:
        lgb = pytest.importorskip("lightgbm")
        params = {"objective": "binary", "verbose": -1, "num_leaves": 4, "num_threads": 1}
        lgb.train(params, lgb.Dataset(X_of(log), log["y"]), 2).save_model("model.txt")
        priors = "--train-prior 0.2 --target-prior"
        for own, again, other in (
            ("--negative-keep-rate 0.1", "--negative-keep-rate 0.2", f"{priors} 0.3"),
            ("--positive-keep-rate 0.4", "--positive-keep-rate 0.4", "--positive-keep-rate 0.5"),
            (f"{priors} 0.1", f"{priors} 0.1", f"{priors} 0.11"),
        ):
            run(f"shift model.txt {own} -o served.txt --force")
            line = refused(f"shift served.txt {again} -o again.txt --force")
            assert "a shift would correct twice. Leave the booster as it is" in line
            assert run(f"shift served.txt {other} -o again.txt --force").exit_code == 0

    def test_a_model_of_numbers(self, log) -> None:
        lgb, xgb = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
        params = {"objective": "regression", "verbose": -1, "num_threads": 1}
        lgb.train(params, lgb.Dataset(X_of(log), log["y"]), 2).save_model("model.txt")
        line = refused("shift model.txt --negative-keep-rate 0.1 -o served.txt")
        assert line.startswith(
            "--negative-keep-rate moves log-odds, but the objective 'regression'"
        )
        assert not Path("served.txt").exists()
        xgb.train({"nthread": 1}, xgb.DMatrix(X_of(log), log["y"]), 2).save_model("model.ubj")
        result = run("shift model.ubj --negative-keep-rate 0.1 -o served.ubj")
        assert "Warning: --negative-keep-rate moves log-odds, and the obj" in result.stderr

    @pytest.mark.parametrize(("ending", "library"), [("txt", "lightgbm"), ("json", "xgboost")])
    def test_a_missing_library_is_named(self, log, monkeypatch, ending, library) -> None:
        Path(f"model.{ending}").write_text("{}")
        monkeypatch.setitem(sys.modules, library, None)
        line = refused(f"shift model.{ending} --negative-keep-rate 0.1 -o served.{ending}")
        assert line == f"model.{ending} needs {library}: pip install {library}"


def X_of(log: Columns) -> np.ndarray:
    return log["x"][:, np.newaxis]


def report_of_shift(command: str) -> dict:
    result = run(f"{command} --format json")
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines()[-1].startswith("wrote served.")
    return json.loads(result.stdout)
