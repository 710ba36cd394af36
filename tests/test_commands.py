"""python -m gbdt_objectives: what it prints and writes is what the functions return."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives._command_line.commands import cli
from gbdt_objectives._command_line.probabilities import CALIBRATORS
from gbdt_objectives.metrics.classes import NAMED
from gbdt_objectives.thresholds.methods import METHODS
from tests.cases import each
from tests.commands import Columns, read_column, refused, report, run, write

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[1] / "docs" / "command_line.md"
WORDS = np.array(["low", "mid", "high"])


@pytest.fixture
def grades(tmp_path, monkeypatch) -> Columns:
    """400 rows in oof.csv, in the working directory: classes 1..3, also as words."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    p = rng.normal(size=400)
    y = np.digitize(p + 0.7 * rng.normal(size=400), [-0.6, 0.9]) + 1
    columns = {
        "id": np.array([f"{k:05d}" for k in range(400)]),
        "y": y,
        "word": WORDS[y - 1],
        "p": p.round(6),
        "w": rng.integers(1, 4, 400),
        "site": rng.integers(0, 40, 400),
    }
    write("oof.csv", columns)
    return columns


@pytest.fixture
def clicks(tmp_path, monkeypatch) -> Columns:
    """600 rows in clicks.csv: labels 0 and 1, probabilities that are too high."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    p = rng.beta(1, 3, 600).round(6)
    y = (rng.random(600) < p / (p + (1 - p) / 0.4)).astype(int)
    columns = {"y": y, "p": p, "w": rng.integers(1, 4, 600), "z": np.log(p / (1 - p)).round(6)}
    write("clicks.csv", columns)
    return columns


class TestThresholds:
    @pytest.mark.parametrize("method", METHODS)
    def test_are_those_of_the_function(self, grades, method) -> None:
        command = f"thresholds oof.csv --label y --score p --weight w --method {method}"
        found = report(command)
        run(f"{command} -o saved.json")
        y, p, w = grades["y"], grades["p"], grades["w"]
        expected = go.optimize_thresholds(y, p, method=method, sample_weight=w)
        saved = go.ThresholdClassifier.from_json(Path("saved.json").read_text())
        assert found["thresholds"] == saved.thresholds_.tolist() == expected.tolist()
        assert (found["method"], found["labels"], found["rows"]) == (method, [1, 2, 3], 400)
        judged = go.cross_validate_thresholds(
            y, p, method=method, sample_weight=w, n_bootstrap=0, random_state=0
        )
        assert found["score"] == judged.score[0]
        assert found["in_sample_score"] == judged.in_sample_score[0]

    def test_that_keep_constraints(self, clicks) -> None:
        write("clicks.csv", clicks | {"v": np.arange(600) // 4})
        y, p, w = clicks["y"], clicks["p"], clicks["w"]
        command = (
            "thresholds clicks.csv --label y --score p --weight w --metric recall "
            "--constraint precision=0.15 --constraint alert_rate=0.2 --negative-keep-rate 0.5"
        )
        bounds = {"precision": 0.15, "alert_rate": 0.2}
        options = {"metric": "recall", "constraints": bounds, "negative_keep_rate": 0.5}
        found = report(command)
        run(f"{command} -o saved.json")
        expected = go.optimize_thresholds(y, p, sample_weight=w, **options)
        saved = go.ThresholdClassifier.from_json(Path("saved.json").read_text())
        assert found["thresholds"] == saved.thresholds_.tolist() == expected.tolist()
        whole, alert = w / np.where(y == 1, 1, 0.5), p >= float(expected)
        assert found["in_sample"] == pytest.approx({
            "recall": whole[alert & (y == 1)].sum() / whole[y == 1].sum(),
            "precision": whole[alert & (y == 1)].sum() / whole[alert].sum(),
            "alert_rate": whole[alert].sum() / whole.sum(),
        })  # fmt: skip
        level = "thresholds clicks.csv --label y --score p --metric f1 --confidence-level 0.9"
        promised = report(f"{level} --constraint recall=0.5 --groups v")
        options = {"metric": "f1", "constraints": {"recall": 0.5}, "confidence_level": 0.9}
        grouped = go.optimize_thresholds(y, p, groups=np.arange(600) // 4, **options)
        assert promised["thresholds"] == grouped.tolist()
        early = report(f"{level} --constraint precision=0.3 --first-test 30")["thresholds"]
        options["constraints"] = {"precision": 0.3}
        assert early == go.optimize_thresholds(y, p, first_test=30, **options).tolist()
        rows, n = np.unique(np.stack([y, p.round(1), w]), axis=1, return_counts=True)
        write("table.csv", dict(zip("ypw", rows, strict=True)) | {"n": n})
        write("every.csv", {"y": y, "p": p.round(1), "w": w})
        known = "--label y --score p --weight w --metric f1 --confidence-level 0.9"
        known += " --constraint recall=0.5"
        counted = report(f"thresholds table.csv {known} --counts n")
        every = report(f"thresholds every.csv {known}")
        assert counted.pop("in_sample") == pytest.approx(every.pop("in_sample"), rel=1e-12)
        assert counted == every
        for wrong, words in {
            f"{level} --counts v".replace(" --confidence-level 0.9", ""):
                "--counts is for --constraint: for folds write the rows out",
            f"{level} --constraint precision=high": "must be METRIC=BOUND",
            f"{level} --constraint precision=0.3 --interval": "leave --interval out",
            f"{level} --constraint f1=0.3": "f_beta is no share of rows",
            f"{level} --constraint precision=0.99": "--constraint precision >= 0.99 cannot be kept",
            level: "--confidence-level is for what --constraint promises",
            f"{level} --first-test 2".replace(" --confidence-level 0.9", ""):
                "--first-test is for what --constraint promises",
            f"{level} --constraint recall=0.5 --first-test 2": "first-test is for a precision on",
            f"{level} --constraint precision=0.5 --first-test -1": "must be a whole number >= 0",
        }.items():  # fmt: skip
            assert words in refused(wrong)

    def test_prints_a_cut_that_can_be_typed(self, clicks) -> None:
        p = clicks["p"].round(1)  # a score of eleven values
        write("ties.csv", {"y": clicks["y"], "p": p})
        bound = "--metric recall --constraint recall=0.3 --confidence-level 0.9"
        for level in (bound, bound.replace(" --confidence-level 0.9", "")):
            result = run(f"thresholds ties.csv --label y --score p {level} -o t.json --force")
            assert result.exit_code == 0, result.output
            typed = float(result.stdout.splitlines()[1].split()[1])
            saved = go.ThresholdClassifier.from_json(Path("t.json").read_text())
            assert np.array_equal(p >= typed, saved.predict(p) == 1)

    @pytest.mark.parametrize("metric", ["linear", "mae", "accuracy"])
    def test_of_other_metrics(self, grades, metric) -> None:
        found = report(f"thresholds oof.csv --label y --score p --metric {metric}")
        expected = go.optimize_thresholds(grades["y"], grades["p"], metric=metric)
        assert found["thresholds"] == expected.tolist()
        assert (found["metric"], found["method"]) == (metric, "exact")

    def test_several_methods_are_compared(self, grades) -> None:
        command = "thresholds oof.csv --label y --score p --method exact --method plugin"
        found = report(f"{command} --cv 4 --random-state 3 --groups site")
        run(f"{command} -o saved.json")
        judged = go.cross_validate_thresholds(
            grades["y"], grades["p"], method=["exact", "plugin"], cv=4,
            groups=grades["site"].astype(str), n_bootstrap=0, random_state=3,
        )  # fmt: skip
        assert found["method"] == judged.best == "plugin"
        saved = go.ThresholdClassifier.from_json(Path("saved.json").read_text())
        assert saved.thresholds_.tolist() == found["thresholds"] == judged.thresholds[1].tolist()
        for k, method in enumerate(judged.methods):
            assert found["compared"][method]["fold_score"] == judged.fold_score[k].tolist()
        text = run(f"{command} --cv 4 --random-state 3 --groups site").stdout
        assert repr(judged) in text

    def test_interval(self, grades) -> None:
        found = report("thresholds oof.csv --label y --score p --interval")
        expected = go.evaluation.estimate_performance(
            go.ThresholdClassifier(), grades["p"][:, None], grades["y"], n_repeats=2
        )
        assert found["interval"] == list(expected.interval)
        text = run("thresholds oof.csv --label y --score p --interval").stdout
        low, high = expected.interval
        assert f"interval of 90 %: {low:.4g} to {high:.4g}" in text

    def test_saved_ones_classify(self, grades) -> None:
        result = run(
            "thresholds oof.csv --label word --labels low,mid,high --score p -o saved.json"
        )
        assert (result.exit_code, result.stderr) == (0, "wrote saved.json (ThresholdClassifier)\n")
        result = run("apply saved.json oof.csv --score p --column class -o new.csv")
        assert (result.exit_code, result.stderr) == (0, "wrote new.csv (400 rows)\n")
        classifier = go.ThresholdClassifier.from_json(Path("saved.json").read_text())
        expected = classifier.predict(grades["p"])
        assert read_column("new.csv", "class") == expected.tolist()
        assert set(expected) == set(WORDS)
        with_class = Path("new.csv").read_text().splitlines()
        assert [line.rpartition(",")[0] for line in with_class] == (
            Path("oof.csv").read_text().splitlines()  # 00012 is still 00012
        )
        judged = go.quadratic_weighted_kappa(grades["word"], expected, labels=WORDS)
        by_class = report(
            "kappa new.csv --label word --prediction class --labels low,mid,high --metric qwk"
        )
        by_score = report("kappa oof.csv --label word --score p --thresholds saved.json")
        assert by_class == by_score == {"rows": 400, "qwk": judged}

    def test_warnings_are_one_line(self, grades) -> None:
        write("noise.csv", {"y": grades["y"], "p": np.ones(400)})
        result = run("thresholds noise.csv --label y --score p --method exact")
        assert result.exit_code == 0
        (line,) = result.stderr.splitlines()
        assert line.startswith("Warning: every row gets the class ")


class TestApply:
    def test_to_standard_output(self, grades) -> None:
        run("thresholds oof.csv --label y --score p -o saved.json")
        result = run("apply saved.json oof.csv --score p --keep site --keep id")
        assert (result.exit_code, result.stderr) == (0, "")
        classifier = go.ThresholdClassifier().fit(grades["p"], grades["y"])
        rows = zip(grades["site"], grades["id"], classifier.predict(grades["p"]), strict=True)
        expected = ["site,id,prediction", *(f"{a},{b},{c}" for a, b, c in rows)]
        assert result.stdout.splitlines() == expected

    def test_text_with_commas_lines_and_gaps_stays(self, grades) -> None:
        run("thresholds oof.csv --label y --score p -o saved.json")
        long = "d" * 200_000
        Path("essays.csv").write_text(f'essay,p,note\n"a, ""b""\nc",0.1,\n{long},0.2,NA\n')
        result = run("apply saved.json essays.csv --score p --keep essay --keep note")
        assert result.stdout == f'essay,note,prediction\n"a, ""b""\nc",,2\n{long},NA,2\n'

    @pytest.mark.parametrize("method", CALIBRATORS)
    def test_probabilities(self, clicks, method) -> None:
        run(f"calibrate clicks.csv --label y --score p --weight w --method {method} -o saved.json")
        run("apply saved.json clicks.csv --score p --column q -o new.csv")
        calibrator = getattr(go.calibration, CALIBRATORS[method])().fit(
            clicks["p"], clicks["y"], clicks["w"]
        )
        found = np.array(read_column("new.csv", "q"), float)
        assert (found == calibrator.predict(clicks["p"])).all()


class TestKappa:
    @pytest.mark.parametrize("weighed", [False, True])
    def test_every_metric(self, grades, weighed) -> None:
        p = np.where(grades["p"] < 0, 1, 2)
        y = np.minimum(grades["y"], 2)
        write("two.csv", {"y": y, "p": p, "w": grades["w"]})
        metrics = " ".join(f"--metric {name}" for name in NAMED)
        weight = "--weight w" if weighed else ""
        found = report(f"kappa two.csv --label y --prediction p {weight} {metrics}")
        w = grades["w"] if weighed else None
        expected = {name: go.metrics.threshold_metric(name)(y, p, w) for name in NAMED}
        assert found == {"rows": 400, **expected}

    def test_whole_floats_are_classes(self, grades) -> None:
        write("floats.csv", {"y": grades["y"].astype(float), "p": np.full(400, 4.0)})
        found = report("kappa floats.csv --label y --prediction p --metric mae")
        assert found["mae"] == (4 - grades["y"]).mean()

    def test_undefined_is_null(self, grades) -> None:
        write("one.csv", {"y": np.ones(9, int), "p": np.ones(9, int)})
        result = run("kappa one.csv --label y --prediction p --format json")
        assert (result.exit_code, json.loads(result.stdout)["qwk"]) == (0, None)
        assert result.stderr.startswith("Warning: --label y and --prediction p hold one")
        assert len(result.stderr.splitlines()) == 1


class TestCorrect:
    @pytest.mark.parametrize(
        ("options", "description"),
        [
            ("--negative-keep-rate 0.1", {"negative_keep_rate": 0.1}),
            (
                "--negative-keep-rate 0.2 --positive-keep-rate 0.5",
                {"negative_keep_rate": 0.2, "positive_keep_rate": 0.5},
            ),
            ("--train-prior 0.5 --target-prior 0.02", {"train_prior": 0.5, "target_prior": 0.02}),
        ],
    )
    def test_is_the_function(self, clicks, options, description) -> None:
        run(f"correct clicks.csv --score p {options} -o p.csv")
        run(f"correct clicks.csv --score z --input-space margin {options} -o z.csv")
        p, z = (np.array(read_column(f"{k}.csv", "prediction"), float) for k in "pz")
        assert (p == go.correct_probability(clicks["p"], **description)).all()
        assert (z == go.priors.correct_margin(clicks["z"], **description)).all()

    def test_says_what_it_did(self, clicks) -> None:
        result = run("correct clicks.csv --score p --negative-keep-rate 0.4")
        after = go.correct_probability(clicks["p"], negative_keep_rate=0.4).mean()
        assert (
            result.stderr == f"mean probability {clicks['p'].mean():.4g}, corrected {after:.4g}\n"
        )


class TestCalibrate:
    def test_the_choice_is_reported(self, clicks) -> None:
        found = report("calibrate clicks.csv --label y --score p --method auto")
        choice = go.calibration.choose_calibrator(clicks["y"], clicks["p"])
        assert found["method"] == type(choice.calibrator).__name__
        assert found["log_loss"] == choice.log_loss
        ratio = go.calibration.calibration_ratio(clicks["y"], clicks["p"])
        assert found["quality"]["as it is"]["calibration_ratio"] == ratio > 1.5
        text = run("calibrate clicks.csv --label y --score p --method auto").stdout
        assert f"{choice.log_loss['BetaCalibrator']:.4g}" in text

    @pytest.mark.parametrize("space", ["probability", "margin"])
    def test_the_default_is_the_shrunk_spline(self, clicks, space) -> None:
        column = {"probability": "p", "margin": "z"}[space]
        command = f"calibrate clicks.csv --label y --score {column} --weight w"
        found = report(f"{command} --input-space {space}")
        run(f"{command} --input-space {space} -o default.json")
        spline = go.calibration.SplineCalibrator(input_space=space, shrink=True)
        spline.fit(clicks[column], clicks["y"], clicks["w"])
        assert found["method"] == "SplineCalibrator"
        assert found["log_loss"] == {}
        assert json.loads(Path("default.json").read_text()) == json.loads(spline.to_json())

    def test_is_judged_on_rows_held_out(self, clicks) -> None:
        from sklearn.model_selection import StratifiedKFold

        y, p, w = clicks["y"], clicks["p"], clicks["w"]
        held_out = np.empty(len(y))
        for train, test in StratifiedKFold(3, shuffle=True, random_state=2).split(p, y):
            fitted = go.calibration.ROCConvexHullCalibrator().fit(p[train], y[train], w[train])
            held_out[test] = fitted.predict(p[test])
        found = report(
            "calibrate clicks.csv --label y --score p --weight w --method hull --cv 3 "
            "--random-state 2"
        )["quality"]["calibrated"]
        judged = go.calibration.calibration_error_test(y, held_out, sample_weight=w, random_state=2)
        assert found == {
            "calibration_ratio": go.calibration.calibration_ratio(y, held_out, sample_weight=w),
            "calibration_error": judged.error,
            "error_by_chance": judged.null_error,
            "p_value": judged.p_value,
            "normalized_entropy": "inf",  # of a few rows it was certain, and wrong
        }
        assert math.isinf(go.calibration.normalized_entropy(y, held_out, sample_weight=w))

    def test_margins(self, clicks) -> None:
        found = report(
            "calibrate clicks.csv --label y --score z --input-space margin --method logit"
        )
        assert list(found["quality"]) == ["calibrated"]
        run(
            "calibrate clicks.csv --label y --score z --input-space margin --method logit "
            "-o saved.json"
        )
        run("apply saved.json clicks.csv --score z -o new.csv")
        calibrator = go.calibration.LogitCalibrator(input_space="margin").fit(
            clicks["z"], clicks["y"]
        )
        found = np.array(read_column("new.csv", "prediction"), float)
        assert (found == calibrator.predict(clicks["z"])).all()


class TestFiles:
    @pytest.fixture
    def expected(self, grades) -> dict:
        return report("thresholds oof.csv --label y --score p")

    def test_standard_input_and_byte_order_mark(self, grades, expected) -> None:
        write("short.csv", {"y": grades["y"], "p": grades["p"]})
        text = "\ufeff" + Path("short.csv").read_text()
        Path("short.csv").write_text(text)
        result = run("thresholds - --label y --score p --format json", input=text)
        assert json.loads(result.stdout) == expected
        assert report("thresholds short.csv --label y --score p") == expected

    def test_other_separators(self, grades, expected) -> None:
        write("oof.tsv", grades, delimiter="\t")
        write("semicolons.csv", grades, delimiter=";")
        assert report("thresholds oof.tsv --label y --score p") == expected
        assert report("thresholds semicolons.csv --delimiter ';' --label y --score p") == expected
        plain, known = Path("semicolons.csv").read_text(), "--label y --score p"
        for first in ("sep=;\n", '"sep=;"\r\n', "\ufeffsep=;\r\n"):
            Path("excel.csv").write_text(first + plain)
            for options in (known, f"{known} --delimiter ';'"):
                assert report(f"thresholds excel.csv {options}") == expected
        Path("excel.csv").write_text("sep=,\n" + Path("oof.csv").read_text())
        assert report(f"thresholds excel.csv {known}") == expected
        for text, words in {
            "sep=;\ny;p\n1;2\n1\n": "has 1 values in line 4", "sep=;\n": "excel.csv is empty",
            "sep=;\n\ny;p\n": "starts with a blank line", "": "excel.csv is empty",
            "sep=;;\ny;p\n1;2\n": "begins with 'sep=;;': write one character after sep=",
        }.items():  # fmt: skip
            Path("excel.csv").write_text(text)
            assert words in refused(f"thresholds excel.csv {known}")

    def test_a_file_is_replaced_by_force_only(self, grades) -> None:
        Path("saved.json").write_text("mine")
        command = "thresholds oof.csv --label y --score p -o saved.json"
        assert run(command).exit_code == 2
        assert Path("saved.json").read_text() == "mine"
        assert run(f"{command} --force").exit_code == 0
        go.ThresholdClassifier.from_json(Path("saved.json").read_text())


FILES = {  # what is wrong with them: the beginning of the error, and what it must hold as well
    "": ("{} is empty: its first line must name the columns", ""),
    "\ny,p\n1,0.2\n": ("{} starts with a blank line: its first line must name the columns", ""),
    "id,y,p\n": ("{} has no rows below its header", ""),
    "id;y;p\n1;1;0.2\n": ("--label y is no column of {}: it has id;y;p", "separated by ','"),
    "y, p\n1,0.2\n2,0.3\n": ("--score p is no column of {}: it has y, ' p', separated by", ""),
    "y,q\n1,0.2\n2,0.3\n": ("--score p is no column of {}: it has y, q", ""),
    "p,y,p\n1,1,0.2\n": ("{} has several columns 'p'", ""),
    "y,p\n1,0.2\n,0.3\n2,0.4\n": ("--label y is empty at row 1 (1 such of 3)", "fill"),
    "y,p\n1,0.2\n1,nan\n2,0.4\n": ("--score p must be finite, found nan at row 1", "remove"),
    "y,p\n1,0.2\n1,inf\n2,0.4\n": ("--score p must be finite, found inf at row 1", "remove"),
    "y,p\n1,0.2\nnan,3\n2,0.4\n": ("--label y must be finite, found nan at row 1", "remove"),
    "y,p\n1,0.2\n1,high\n2,0.4\n": ("--score p must hold numbers, found 'high' at row 1", "remove"),
    'y,p\n1,"1,234.5"\n2,0.4\n': ("--score p must hold numbers, found '1,234.5'", "thousands"),
    "y,p\n1,1 234\n2,0.4\n": ("--score p must hold numbers, found '1 234' at row 0", "thousands"),
    "y,p\nlow,0.2\nhigh,3\n": ("--label y must hold numbers, found 'low' at row 0", "--labels low"),
    "y,p\n1,0.2\n1.5,0.3\n": (
        "--label y must hold classes, found 1.5 at row 1",
        "--labels A,B,...",
    ),
    "y,p\n1,0.2\n1,0.3\n": ("--label y holds the single class 1", "two classes"),
    "y,p\n1,0.2\n2\n": ("{} has 1 values in line 3, but 2 columns", ""),
    "y,p\n1,0.2\n2,0,4\n": ("{} has 3 values in line 3, but 2 columns", "needs quotes"),
    "y,p\n1,0.2\n\n2,0.4\n": ("{} has a blank line, line 3", "remove"),
    'y,p\n1,"0.2\n2,0.4\n': ("{} is no CSV file, line 3: unexpected end of data; give", ""),
    "y,p\n" + "2,0.2\n1,0.3\n" * 9: (
        "--score p falls as the class rises",
        "give a column of -score",
    ),
}


@each("text", FILES, ids=map(str, range(len(FILES))))
def test_bad_files(tmp_path, monkeypatch, text) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text(text)
    beginning, also = FILES[text]
    line = refused("thresholds bad.csv --label y --score p -o new.json")
    assert line.startswith(beginning.format("bad.csv"))
    assert also in line


def test_calibrating_on_kept_negatives(clicks) -> None:
    """The map is that of fit with the rate, and the report is for all rows."""
    y, p, rate = clicks["y"], clicks["p"], 0.25
    write("rates.csv", {"y": y, "p": p, "r": np.full(len(y), rate)})
    expected = go.calibration.LogitCalibrator().fit(p, y, negative_keep_rate=rate)
    reports = []
    for k, option in enumerate(("--negative-keep-rate 0.25", "--keep-rate-column r")):
        command = f"calibrate rates.csv --label y --score p --method logit {option} -o {k}.json"
        result = run(f"{command} --format json")
        assert result.exit_code == 0, result.output
        reports.append(json.loads(result.stdout)["quality"])
        found = go.calibration.LogitCalibrator.from_json(Path(f"{k}.json").read_text())
        np.testing.assert_allclose(found.predict(p), expected.predict(p), rtol=1e-6)
    w = np.where(y == 0, 1 / rate, 1.0)
    as_it_is = go.calibration.calibration_ratio(y, p, sample_weight=w)
    for found in reports:
        assert found["as it is"]["calibration_ratio"] == pytest.approx(as_it_is)
        assert found["calibrated"]["calibration_ratio"] == pytest.approx(1, abs=0.1)
    assert abs(as_it_is - 1) > 0.3


def test_a_folder_that_cannot_be_written_is_said_before_the_work(grades, monkeypatch) -> None:
    """Root may write anywhere, so what the system says is put in its place."""
    monkeypatch.setattr("os.access", lambda place, mode: False)
    line = refused("thresholds oof.csv --label y --score p -o new.json")
    assert line.startswith("--output new.json cannot be written, ")
    assert line.endswith("is read-only: name another")


def test_an_objective_in_a_file(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loss_in_a_file.py").write_text(
        "def squared(y, p, sample_weight=None):\n"
        "    w = 1 if sample_weight is None else sample_weight\n"
        "    return w * (p - y), w * (0 * p + 1)\n"
    )
    for name in ("./loss_in_a_file.py:squared", "loss_in_a_file:squared"):
        result = run(f"check {name} --labels 1,2,3")
        assert result.exit_code == 0, result.output


def test_columns_named_as_arguments(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("oof.csv", {"y_true": np.array([1, 2]), "score": np.array(["x", ""]), r"a\1": np.ones(2)})
    line = refused("thresholds oof.csv --label y_true --score score")
    assert line.startswith("--score score is empty at row 1 (1 such of 2)")
    line = refused("thresholds oof.csv --label y_true --score sample_weight")
    assert line.startswith("--score sample_weight is no column of oof.csv: it has y_true, score, a")
    line = refused(r"thresholds oof.csv --label 'a\1' --score y_true")
    assert line.startswith(r"--label a\1 holds the single class 1")


def test_missing_pyarrow_names_the_command(grades, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install pyarrow" in refused("thresholds oof.parquet --label y --score p")


def in_process(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_missing_click_names_the_command() -> None:
    out = in_process(
        "import sys; sys.modules['click'] = None\nfrom gbdt_objectives.__main__ import main; main()"
    )
    assert out.returncode == 2
    assert out.stderr == "Error: click is not installed: pip install 'gbdt_objectives[cli]'\n"


def test_help_needs_nothing_heavy() -> None:
    out = in_process(
        "import sys, gbdt_objectives._command_line.commands\n"
        "print([m for m in ('sklearn', 'scipy', 'pyarrow', 'pandas') if m in sys.modules])"
    )
    assert out.stdout.strip() == "[]"


def test_a_process_of_its_own(grades) -> None:
    command = [sys.executable, "-m", "gbdt_objectives", "kappa", "oof.csv", "--label", "y"]
    out = subprocess.run(
        [*command, "--prediction", "w"], capture_output=True, text=True, timeout=60
    )
    expected = go.quadratic_weighted_kappa(grades["y"], grades["w"])
    assert (out.returncode, out.stderr) == (0, "")
    assert float(out.stdout.split()[1]) == float(f"{expected:.4g}")
    out = subprocess.run(
        [*command, "--prediction", "p"], capture_output=True, text=True, timeout=60
    )
    assert (out.returncode, out.stdout, len(out.stderr.splitlines())) == (2, "", 1)


@pytest.mark.parametrize("name", cli.commands)
def test_the_examples_of_help_run(name, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.random(200).round(4)
    y = (rng.random(200) < p).astype(int)
    write("oof.csv", {"y": y, "p": p})
    write("test.csv", {
        "id": np.arange(200), "y": y, "p": p, "grade": (p > 0.4).astype(int),
        "amount": 10 * p, "day": np.arange(200) // 50,
    })  # fmt: skip
    saved = go.ThresholdClassifier().fit(p, y).to_json()
    if name != "thresholds":
        Path("thresholds.json").write_text(saved)
    Path("mylosses.py").write_text(
        "def squared(y, f, w=None):\n"
        "    w = 0 * f + 1 if w is None else w\n"
        "    return w * (f - y), w\n"
    )
    if name == "shift":
        lgb = pytest.importorskip("lightgbm")
        data = lgb.Dataset(p[:, np.newaxis], y)
        lgb.train({"objective": "binary", "verbose": -1}, data, 2).save_model("model.txt")
    monkeypatch.syspath_prepend(tmp_path)  # restores sys.path, on which check puts the folder
    text = run(f"{name} --help").stdout
    examples = text.partition("Example")[2].partition("\n\n")[0].replace("\\\n", " ")
    lines = [line.strip() for line in examples.splitlines()[1:]]
    assert lines
    for line in lines:
        result = run(line.removeprefix("python -m gbdt_objectives "))
        sys.modules.pop("mylosses", None)  # other tests have one of their own
        assert result.exit_code == 0, result.output


NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


PARTS = re.split(r"(?m)^(?=## The month of|## In a script)", PAGE.read_text())
STEP = re.compile(r"^```(python|console)[^\n]*\n(.*?)^```", flags=re.M | re.S)


def test_the_page_runs_as_printed(tmp_path, monkeypatch) -> None:
    assert len(PARTS) == 3
    runs_as_printed(PARTS[0] + PARTS[2], tmp_path, monkeypatch)


@pytest.mark.ci
def test_the_month_runs_as_printed(tmp_path, monkeypatch) -> None:
    for name in ("pandas", "lightgbm"):
        pytest.importorskip(name)
    runs_as_printed(PARTS[1], tmp_path, monkeypatch, rel=INTERVALS)


def test_the_page_from_sql_runs_as_printed(tmp_path, monkeypatch) -> None:
    pytest.importorskip("duckdb")
    text = PAGE.with_name("from_sql.md").read_text(encoding="utf-8")
    runs_as_printed(text, tmp_path, monkeypatch, least=1, rel=INTERVALS)


def test_the_page_from_sql_has_figures_of_its_first_block(capsys) -> None:
    pytest.importorskip("duckdb")
    text = PAGE.with_name("from_sql.md").read_text(encoding="utf-8")
    space: dict[str, Any] = {}
    exec(STEP.search(text)[2], space)
    assert re.search(r"^```text\n(.*?)^```", text, flags=re.M | re.S)[1] in capsys.readouterr().out
    room, t = go.calibration, space["t"]
    for name, rows, given in (
        ("all 100,000 rows", space["log"], {}),
        ("table, `counts=n`", t, {"counts": t["n"]}),
        ("table, `sample_weight=n`", t, {"sample_weight": t["n"]}),
    ):
        y, p, country = (rows[column] for column in ("click", "p", "country"))
        by = room.calibration_ratio_by_segment(y, p, country, **given)
        error = room.calibration_error_test(y, p, random_state=0, **given)
        line = f"| {name} | {by.ratio[2]:.3f}, {by.low[2]:.3f} to {by.high[2]:.3f} "
        assert f"{line}| {by.rest_p_value_holm[2]:.2g} | {error.p_value:.1g} |" in text


INTERVALS = 2e-2  # last bits, which differ with numpy, decide what is drawn: simulated ends move


def runs_as_printed(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int = 5, rel: float = 2e-3
) -> None:
    """Blocks in their order; those of Python share their names. Numbers are printed in four digits,
    of which the last may be rounded either way."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    steps = 0
    for language, block in STEP.findall(text):
        if language == "python":
            exec(block, namespace)
            continue
        for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, printed = step.partition("\n")
            assert command.startswith("python -m gbdt_objectives ")
            result = run(command.removeprefix("python -m gbdt_objectives "))
            found = "".join(f"{line.rstrip()}\n" for line in result.output.splitlines())
            assert NUMBER.sub("#", found) == NUMBER.sub("#", printed)
            expected = 2 if "Error: " in printed else 1 if "Alarm: " in printed else 0
            assert result.exit_code == expected
            assert [float(x) for x in NUMBER.findall(found)] == pytest.approx(
                [float(x) for x in NUMBER.findall(printed)], rel=rel
            )
            steps += 1
    assert steps >= least
