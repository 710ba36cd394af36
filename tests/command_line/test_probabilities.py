"""The commands calibrate and calibration, and rates of kept negatives in all that take them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives._command_line.options import ScoredTable
from gbdt_objectives._command_line.probabilities import alarms_of, check_of
from gbdt_objectives.calibration import SplineCalibrator, choose_calibrator
from gbdt_objectives.calibration.segments import holm
from tests.commands import Columns, refused, report, run, write

pytestmark = pytest.mark.slow


@pytest.fixture
def month(tmp_path, monkeypatch) -> Columns:
    """2,000 rows in month.csv: probabilities that hold but in FR, where events are three times."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    p = rng.beta(1, 19, 2000).round(6)
    country = rng.choice(["AT", "DE", "FR"], 2000)
    y = (rng.random(2000) < np.where(country == "FR", np.minimum(3 * p, 1), p)).astype(int)
    columns = {
        "y": y, "p": p, "country": country, "day": rng.integers(1, 8, 2000),
        "user": rng.integers(0, 400, 2000), "w": rng.integers(1, 4, 2000),
        "r": np.maximum(p, 0.2), "grade": np.digitize(p, [0.05]),
    }  # fmt: skip
    write("month.csv", columns)
    return columns


approx = partial(pytest.approx, rel=1e-9)
CHECK = "calibration month.csv --label y --score p"
RATES = {
    "": {},
    "--negative-keep-rate 0.2": {"negative_keep_rate": 0.2},
    "--keep-rate-column r": {"keep_rate": "r"},
}


def rates_of(month: Columns, option: str) -> dict:
    return {k: month[v] if isinstance(v, str) else v for k, v in RATES[option].items()}


class TestCalibration:
    @pytest.mark.parametrize("rates", RATES)
    def test_is_the_functions(self, month, rates) -> None:
        found = report(
            f"{CHECK} --segment country --segment day --groups user --weight w "
            f"--random-state 3 {rates}"
        )
        y, p = month["y"], month["p"]
        known = {"sample_weight": month["w"], "groups": month["user"], **rates_of(month, rates)}
        room = go.calibration
        every = room.calibration_ratio_by_segment(y, p, "prediction", n_bins=1, **known)
        columns = {"country": month["country"], "day": month["day"].astype(str)}
        by = room.calibration_ratio_by_segment(y, p, columns, **known).by_evidence()
        error = room.calibration_error_test(y, p, random_state=3, **known)
        adjusted = holm(np.r_[every.p_value, error.p_value, by.rest_p_value])
        assert (found["rows"], found["events"], found["tests"]) == (2000, y.sum(), 12)
        assert found["weight"] == approx(every.weight[0])
        assert found["mean_prediction"] == approx(every.probability[0])
        assert found["mean_outcome"] == approx(every.frequency[0])
        # equal but for rounding: groups are words in the file, and sums in another order
        assert found["ratio"] == approx({
            "value": every.ratio[0], "low": every.low[0], "high": every.high[0],
            "p_value": every.p_value[0], "p_value_adjusted": adjusted[0],
        })  # fmt: skip
        assert found["calibration_error"] == approx({
            "value": error.error, "low": error.interval[0], "high": error.interval[1],
            "by_chance": error.null_error, "p_value": error.p_value,
            "p_value_adjusted": adjusted[1],
        })  # fmt: skip
        v = month["w"] / np.where(y == 0, rates_rate(month, rates), 1)
        assert found["normalized_entropy"] == approx(room.normalized_entropy(y, p, sample_weight=v))
        names = {
            "column": by.column, "segment": by.segment, "weight": by.weight,
            "mean_prediction": by.probability, "mean_outcome": by.frequency, "ratio": by.ratio,
            "low": by.low, "high": by.high, "rest_ratio": by.rest_ratio,
            "p_value": by.rest_p_value, "p_value_adjusted": adjusted[2:],
        }  # fmt: skip
        for name, values in names.items():
            known_values = values.tolist()
            expected = known_values if isinstance(known_values[0], str) else approx(known_values)
            assert [one[name] for one in found["segments"]] == expected
        assert found["segments"][0]["segment"] == "FR"
        assert found["alarm"] is None

    def test_counted_rows_have_the_report_of_the_rows_written_out(self, month) -> None:
        columns = {
            "y": month["y"], "p": np.ceil(64 * month["p"]) / 64, "segment": month["grade"],
            "w": month["w"],
        }  # fmt: skip
        rows, n = np.unique(np.stack(list(columns.values())), axis=1, return_counts=True)
        assert len(n) < 200
        write("every.csv", columns)
        write("counted.csv", dict(zip(columns, rows, strict=True)) | {"n": n, "m": n / 2})
        options = "--label y --score p --segment segment --weight w"
        found = report(f"calibration counted.csv {options} --counts n")
        expected = report(f"calibration every.csv {options}")
        assert (found["rows"], found["events"]) == (2000, month["y"].sum())
        for part in ("ratio", "calibration_error"):
            assert found[part] == approx(expected[part], rel=1e-12)
        for name in ("weight", "mean_outcome", "normalized_entropy"):
            assert found[name] == approx(expected[name], rel=1e-12)
        for own, other in zip(found["segments"], expected["segments"], strict=True):
            assert float(own.pop("segment")) == float(other.pop("segment"))
            assert own.pop("column") == other.pop("column")
            assert own == approx(other, rel=1e-12)
        assert refused(f"calibration counted.csv {options} --counts m").startswith(
            "--counts m must be whole numbers >= 0, found "
        )

    def test_alarm(self, month) -> None:
        result = run(f"{CHECK} --segment country --segment day --alarm 0.01 --format json")
        assert result.exit_code == 1
        (line,) = result.stderr.splitlines()
        alarm = json.loads(result.stdout)["alarm"]
        assert line.startswith("Alarm: --segment country has the ratio 0.2")
        assert " in FR, 0.9" in line
        assert line.endswith(f"below --alarm 0.01, and {len(alarm['reasons']) - 1} more tests")
        assert (alarm["level"], alarm["raised"]) == (0.01, True)
        assert alarm["reasons"][0] in line
        everything = run(f"{CHECK} --alarm 0.01")
        assert everything.exit_code == 1
        assert everything.stderr.startswith("Alarm: the ratio of all rows is 0.5")

    def test_no_alarm_where_probabilities_hold(self, month) -> None:
        rows = month["country"] != "FR"
        write("quiet.csv", {name: values[rows] for name, values in month.items()})
        command = "calibration quiet.csv --label y --score p --segment country --alarm 0.01"
        assert report(command)["alarm"] == {"level": 0.01, "raised": False, "reasons": []}
        assert run(command).exit_code == 0

    def test_an_alarm_of_the_error_alone(self, month) -> None:
        """Right on average, and wrong at both ends; so many segments need more samples."""
        p = np.where(month["grade"] == 0, 0.02, 0.3)
        rng = np.random.default_rng(0)
        y = (rng.random(2000) < np.average(p)).astype(int)
        write("bent.csv", {"y": y, "p": p, "part": np.arange(2000) % 30})
        command = "calibration bent.csv --label y --score p --segment part --alarm 0.01"
        result = run(command)
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
        assert result.stderr.startswith("Alarm: the calibration error is 0.1")
        assert result.stdout.endswith("... 10 more with less evidence ...\n")

    @pytest.mark.parametrize("label", [0, 1])
    def test_a_month_of_one_label(self, month, label) -> None:
        write("one.csv", {"y": np.full(2000, label), "p": month["p"]})
        found = report("calibration one.csv --label y --score p")
        assert found["normalized_entropy"] is None
        assert found["ratio"]["p_value"] < 1e-6
        assert found["ratio"]["value"] == (
            "inf" if label == 0 else pytest.approx(month["p"].mean())
        )
        assert run("calibration one.csv --label y --score p").exit_code == 0

    def test_the_report_is_written(self, month) -> None:
        command = f"{CHECK} --segment country --alarm 0.01"
        for ending in ("json", "csv"):
            result = run(f"{command} -o report.{ending}")
            assert result.exit_code == 1
            assert result.stderr.splitlines()[0].startswith(f"wrote report.{ending} (")
        found = json.loads(Path("report.json").read_text())
        assert found == json.loads(run(f"{command} --format json").stdout)
        header, every, first, *others = Path("report.csv").read_text().splitlines()
        assert header.startswith(
            "column,segment,weight,mean_prediction,mean_outcome,ratio,low,high"
        )
        assert every.startswith(f",,2000.0,{found['mean_prediction']!r},")
        assert first.startswith("country,FR,")
        assert len(others) == 2

    def test_months_without_fault_seldom_raise_it(self) -> None:
        raised = 0
        for seed in range(40):
            rng = np.random.default_rng(seed)
            p = rng.beta(1, 19, 3000)
            y, segment = (rng.random(3000) < p).astype(int), rng.integers(0, 4, 3000)
            rows = ScoredTable(y, p, None, None, {})
            report = check_of(rows, {"segment": segment}, 0.05, seed)
            raised += bool(alarms_of(report, 0.05))
        assert raised <= 6  # 2 are expected; more than 6 come in 0.3 % of such tests

    def test_few_groups_are_told(self, month) -> None:
        result = run(f"{CHECK} --groups country")
        assert result.exit_code == 0
        assert result.stderr == (
            "Warning: --groups country holds 3 different values: limits and p-values need some 30, "
            "and may mislead\n"
        )


class TestCalibrate:
    def test_groups(self, month) -> None:
        from sklearn.model_selection import StratifiedGroupKFold

        y, p, user = month["y"], month["p"], month["user"].astype(str)
        command = "calibrate month.csv --label y --score p --groups user --random-state 2"
        held_out = np.empty(2000)
        folds = StratifiedGroupKFold(5, shuffle=True, random_state=2)
        for train, test in folds.split(p, y, user):
            held_out[test] = SplineCalibrator(shrink=True).fit(p[train], y[train]).predict(p[test])
        test = go.calibration.calibration_error_test(y, held_out, groups=user, random_state=2)
        found = report(command)["quality"]["calibrated"]
        assert found["calibration_error"] == test.error
        assert found["error_by_chance"] == test.null_error
        chosen = choose_calibrator(y, p, cv=2, groups=user, random_state=2)
        assert report(f"{command} --method auto --cv 2")["log_loss"] == chosen.log_loss

    @pytest.mark.parametrize("rates", [option for option in RATES if option])
    def test_the_report_is_for_all_rows(self, month, rates) -> None:
        y, p, known = month["y"], month["p"], rates_of(month, rates)
        command = f"calibrate month.csv --label y --score p --method logit --cv 2 {rates}"
        found = report(command)["quality"]["as it is"]
        room = go.calibration
        test = room.calibration_error_test(y, p, random_state=0, **known)
        assert found["calibration_ratio"] == room.calibration_ratio(y, p, **known)
        assert found["calibration_error"] == test.error
        assert found["p_value"] == test.p_value


def rates_rate(month: Columns, option: str) -> np.ndarray | float:
    return next(iter(rates_of(month, option).values()), 1.0)


class TestRatesOfDecisions:
    @pytest.mark.parametrize("rates", [option for option in RATES if option])
    def test_are_weights(self, month, rates) -> None:
        y, p, grade = month["y"], month["p"], month["grade"]
        w = month["w"] * np.where(y == 0, 1 / rates_rate(month, rates), 1.0)
        command = f"thresholds month.csv --label y --score p --weight w --metric f1 {rates}"
        found = report(command)
        expected = go.optimize_thresholds(y, p, metric="f1", sample_weight=w)
        assert found["thresholds"] == expected.tolist()
        metrics = ("f1", "matthews", "accuracy", "youden")
        options = " ".join(f"--metric {name}" for name in metrics)
        measured = report(
            f"kappa month.csv --label y --prediction grade --weight w {options} {rates}"
        )
        for name in metrics:
            assert measured[name] == go.metrics.threshold_metric(name)(y, grade, w)
