"""Parquet files in and out of every command."""

from __future__ import annotations

import datetime
import re
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import gbdt_objectives as go
from tests.commands import read_column, refused, report, run, write

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.slow

REPORTS = (
    "thresholds {} --label y --score p --weight w",
    "thresholds {} --label word --labels no,yes --score p --groups user",
    "kappa {} --label y --prediction grade --metric f1 --keep-rate-column r",
    "kappa {} --label word --labels no,yes --score p --thresholds words.json",
    "calibrate {} --label y --score p --groups user --keep-rate-column r --method logit",
    "calibration {} --label y --score p --segment land --segment day --groups user --weight w",
)
TABLES = (
    "apply thresholds.json {} --score p",
    "apply words.json {} --score p --keep land --keep y",
    "correct {} --score p --negative-keep-rate 0.1 --keep at",
    "sample {} --label y --negative-keep-rate 0.5",
)


@pytest.fixture
def table(tmp_path, monkeypatch):
    """500 rows in log.parquet and, as text, in log.csv."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    p = rng.random(500).round(6)
    y = (rng.random(500) < p).astype(int)
    days = np.datetime64("2026-03-01") + rng.integers(0, 4, 500)
    columns = {
        "y": y, "p": p, "w": rng.integers(1, 4, 500), "r": np.maximum(p, 0.2),
        "grade": (p > 0.4).astype(int), "word": np.where(y, "yes", "no"),
        "land": rng.choice(["AT", "DE", "FR"], 500), "day": days,
        "user": [f"{k:04d}" for k in rng.integers(0, 90, 500)],
    }  # fmt: skip
    write("log.csv", {name: np.asarray(values) for name, values in columns.items()})
    at = pa.array(
        days.astype("datetime64[ns]") + np.timedelta64(7, "ns"), pa.timestamp("ns", "UTC")
    )
    found = pa.table({
        **columns, "is_event": y.astype(bool), "at": at, "gaps": [None, *range(499)],
        "land": pa.array(columns["land"]).dictionary_encode(), "tags": [["a", "b"]] * 500,
        "a.b": pa.array(p.astype(np.float32)),
    }).replace_schema_metadata({"made": "here"})  # fmt: skip
    pq.write_table(found, "log.parquet", row_group_size=70)
    found = pq.read_table("log.parquet")
    Path("thresholds.json").write_text(go.ThresholdClassifier().fit(p, y).to_json())
    words = go.ThresholdClassifier(labels=["no", "yes"]).fit(p, columns["word"])
    Path("words.json").write_text(words.to_json())
    return found


@pytest.mark.parametrize("command", REPORTS)
def test_reports_are_those_of_csv(table, command) -> None:
    assert report(command.format("log.parquet")) == report(command.format("log.csv"))


def test_true_and_false_are_labels(table) -> None:
    write("events.csv", {name: table[name].to_numpy() for name in ("is_event", "p")})
    for command in ("calibration", "calibrate --method logit", "thresholds --metric f1"):
        known = f"{command} log.parquet --score p --label"
        assert report(f"{known} is_event") == report(f"{known} y")
        in_csv = known.replace("log.parquet", "events.csv")
        assert report(f"{in_csv} is_event") == report(f"{known} y")
    result = run("sample log.parquet --label is_event --negative-keep-rate 0.5 -o kept.parquet")
    assert result.exit_code == 0


@pytest.mark.filterwarnings("ignore:negative_keep_rate drops rows of")  # half of them are positive
@pytest.mark.parametrize("command", TABLES)
def test_columns_stay_as_they_are(table, command) -> None:
    result = run(f"{command.format('log.parquet')} -o new.parquet")
    assert result.exit_code == 0, result.output
    new = pq.read_table("new.parquet")
    names = re.findall(r"--keep (\w+)", command) or table.column_names
    expected = table.select(names)
    if command.startswith("sample"):
        expected = expected.take(go.negative_downsample(table["y"].to_numpy(), 0.5, random_state=0))
    else:
        names = [*names, "prediction"]
    assert new.column_names == names
    assert new.select(expected.column_names).equals(expected, check_metadata=True)


def test_predictions_have_the_types_of_labels(table) -> None:
    for name, kind in {"thresholds": "int64", "words": "string"}.items():
        run(f"apply {name}.json log.parquet --score p -o {name}.parquet")
        classifier = go.ThresholdClassifier.from_json(Path(f"{name}.json").read_text())
        found = pq.read_table(f"{name}.parquet")["prediction"]
        assert str(found.type) == kind
        assert found.to_pylist() == classifier.predict(table["p"].to_numpy()).tolist()
    run("correct log.parquet --score a.b --negative-keep-rate 0.1 -o single.parquet")
    assert str(pq.read_schema("single.parquet").field("prediction").type) in ("double", "float")


def test_saved_shifts_are_applied(table) -> None:
    p, land = table["p"].to_numpy(), np.array(table["land"].to_pylist())
    shift = go.log_odds_shift(negative_keep_rate=0.1)
    Path("shift.json").write_text(shift.to_json())
    run("apply shift.json log.parquet --score p -o shifted.parquet")
    found = pq.read_table("shifted.parquet")["prediction"].to_numpy()
    np.testing.assert_allclose(found, go.correct_probability(p, shift), rtol=1e-12)

    by_land = go.thresholds.SegmentShift(["AT", "DE", "FR"], [-1.0, 0.0, 1.0], 1.0)
    Path("segments.json").write_text(by_land.to_json())
    result = run("apply segments.json log.parquet --score p --segment land -o moved.parquet")
    assert result.exit_code == 0, (result.output, result.stderr, result.exception)
    found = pq.read_table("moved.parquet")["prediction"].to_numpy()
    np.testing.assert_allclose(found, by_land.apply(p, land), rtol=1e-12)
    for wrong, word in {
        "segments.json log.parquet --score p": "--segment",
        "shift.json log.parquet --score p --segment land": "leave it out",
    }.items():
        assert word in refused(f"apply {wrong} -o no.parquet")

    cuts = go.thresholds.Thresholds([0.5], ["low", "high"])
    Path("cuts.json").write_text(cuts.to_json())
    run("apply cuts.json log.parquet --score p -o cut.parquet")
    assert pq.read_table("cut.parquet")["prediction"].to_pylist() == cuts.apply(p).tolist()


def test_a_map_with_shifts_is_fitted_judged_and_applied(table) -> None:
    y, p = table["y"].to_numpy(), table["p"].to_numpy()
    land, r = np.array(table["land"].to_pylist()), table["r"].to_numpy()
    words = "log.parquet --label y --score p --keep-rate-column r --segment land --groups user"
    result = run(f"calibrate {words} --method logit -o by_land.json")
    assert result.exit_code == 0, (result.output, result.stderr, result.exception)
    assert "SegmentCalibrator of 500 rows" in result.stdout
    common = go.calibration.LogitCalibrator()
    expected = go.calibration.SegmentCalibrator(common, handle_unknown="common").fit(
        p, y, segments=land, keep_rate=r, groups=np.array(table["user"].to_pylist())
    )
    assert Path("by_land.json").read_text().strip() == expected.to_json()
    run("apply by_land.json log.parquet --score p --segment land -o mapped.parquet")
    mapped = pq.read_table("mapped.parquet")["prediction"].to_numpy()
    np.testing.assert_allclose(mapped, expected.predict(p, segments=land), rtol=1e-12)
    assert "--segment" in refused("apply by_land.json log.parquet --score p -o no.parquet")
    margins = "calibrate log.parquet --label y --score p --segment land --input-space margin"
    assert "leave --input-space margin out" in refused(f"{margins} -o no.json")


def test_a_segment_of_one_row_is_in_one_fold(table) -> None:
    rare = ["b"] + ["a"] * (table.num_rows - 1)
    pq.write_table(table.append_column("rare", pa.array(rare)), "rare.parquet")
    done = run("calibrate rare.parquet --label y --score p --segment rare -o rare.json")
    assert done.exit_code == 0, done.output


def test_segments_are_the_same_in_each_kind_of_file(tmp_path, monkeypatch) -> None:
    """Parquet knows numbers and booleans, where CSV has words."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    shop, p = rng.integers(1, 5, 2000), rng.beta(2, 5, 2000).round(6)
    y = (rng.random(2000) < p * np.where(shop > 3, 0.5, 1)).astype(int)
    columns = {"y": y, "p": p, "shop": shop, "new": shop > 3}
    pq.write_table(pa.table(columns), "log.parquet")
    write("log.csv", columns)
    for column in ("shop", "new"):
        found = []
        for k, (fitted, read) in enumerate(product(["log.parquet", "log.csv"], repeat=2)):
            done = run(
                f"calibrate {fitted} --label y --score p --segment {column} -o {column}{k}.json"
            )
            assert done.exit_code == 0, done.output
            out = f"{column}{k}.csv"
            done = run(f"apply {column}{k}.json {read} --score p --segment {column} -o {out}")
            assert done.exit_code == 0, done.output
            found.append(np.array(read_column(out, "prediction"), float))
        assert np.abs(found[0] - p).max() > 0.1
        np.testing.assert_allclose(found[1:], [found[0]] * 3, rtol=1e-9)


def test_between_parquet_and_csv(table) -> None:
    run("apply thresholds.json log.parquet --score p -o new.csv")
    header, first, *_ = Path("new.csv").read_text().splitlines()
    assert header.split(",") == [*table.column_names, "prediction"]
    day = table["day"][0].as_py()
    assert isinstance(day, datetime.date)
    assert f",{day}," in first
    assert f",{day} 00:00:00.000000007Z,,\"['a', 'b']\"," in first
    run("apply thresholds.json log.csv --score p -o new.parquet")
    found = pq.read_table("new.parquet")
    assert found["user"].to_pylist() == table["user"].to_pylist()  # 0012 is still 0012
    assert str(found.schema.field("prediction").type) == "int64"
    run("apply thresholds.json log.csv --score p --keep user -o new.tsv")
    assert Path("new.tsv").read_text().splitlines()[0] == "user\tprediction"


def test_frames_of_pandas(table) -> None:
    pd = pytest.importorskip("pandas")
    frame = table.select(["y", "p", "land"]).to_pandas().set_index(pd.Index(range(500, 1000)))
    frame.to_parquet("frame.parquet")
    run("correct frame.parquet --score p --negative-keep-rate 0.1 -o new.parquet")
    new = pd.read_parquet("new.parquet")
    pd.testing.assert_frame_equal(new.drop(columns="prediction"), frame)


def test_the_table_of_a_report(table) -> None:
    command = "calibration log.parquet --label y --score p --segment land"
    found = report(command)["segments"]
    run(f"{command} -o report.parquet")
    rows = pq.read_table("report.parquet").to_pylist()
    assert (rows[0]["column"], rows[0]["weight"]) == ("", 500)
    assert rows[1:] == found


def test_missing_pyarrow_is_said_before_the_work(table, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for command in (*TABLES, "calibration {} --label y --score p"):
        for read, written in (("log.csv", "new.parquet"), ("log.parquet", "new.csv")):
            line = refused(f"{command.format(read).removesuffix(' --keep at')} -o {written}")
            assert line == "Parquet files need pyarrow: pip install pyarrow"
