"""The command report writes the page that the function writes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gbdt_objectives as go
from gbdt_objectives._command_line.commands import Given
from gbdt_objectives.evaluation import report
from tests.commands import Columns, refused, run, write
from tests.read_html import Read

pytestmark = pytest.mark.slow

WORDS = np.array(["low", "<script>", "high"])


@pytest.fixture
def rows(tmp_path, monkeypatch) -> Columns:
    """400 rows in rows.csv: words that rise with s, events of probability p, and t.json."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    s, p = rng.normal(size=400).round(6), rng.beta(1, 4, 400).round(6)
    position = np.digitize(s + 0.5 * rng.normal(size=400), [-0.6, 0.7])
    columns = {
        "word": WORDS[position], "s": s, "y": (rng.random(400) < p).astype(int), "p": p,
        "site": rng.choice(["<i>", "b"], 400), "w": rng.integers(1, 4, 400),
        "user": rng.integers(0, 60, 400),
    }  # fmt: skip
    write("rows.csv", columns)
    classifier = go.ThresholdClassifier(labels=WORDS.tolist()).fit(s, columns["word"])
    Path("t.json").write_text(classifier.to_json())
    return columns


def test_it_is_the_page_of_the_function(rows) -> None:
    known = {
        "sample_weight": rows["w"], "groups": rows["user"].astype(str), "negative_keep_rate": 0.5,
        "segments": {"site": rows["site"]}, "threshold": 0.3, "title": "May",
    }  # fmt: skip
    command = (
        "report rows.csv --label y --score p --weight w --groups user --negative-keep-rate 0.5 "
        "--segment site --threshold 0.3 --title May -o may.html"
    )
    result = run(command)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "wrote may.html (the report)\n"
    report(Given(), rows["p"], rows["y"], "own.html", **known)
    assert Path("may.html").read_bytes() == Path("own.html").read_bytes()
    counted = {**known, "sample_weight": None, "counts": rows["w"]}
    report(Given(), rows["p"], rows["y"], "own.html", **counted)
    assert run(f"{command} --force".replace("--weight", "--counts")).exit_code == 0
    assert Path("may.html").read_bytes() == Path("own.html").read_bytes()
    assert "exists" in refused(command)

    result = run("report rows.csv --label word --score s --thresholds t.json --weight w -o g.html")
    assert (result.exit_code, result.stderr) == (0, "wrote g.html (the report)\n")
    classifier = go.ThresholdClassifier.from_json(Path("t.json").read_text())
    report(classifier, rows["s"], rows["word"], "own.html", sample_weight=rows["w"])
    assert Path("g.html").read_bytes() == Path("own.html").read_bytes()
    found = Read(Path("g.html").read_text())
    assert "script" not in found.tags
    assert "<script>" in found.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--label y --score p -o page.json", "--output page.json .*ends in .html"),
        ("--label y --score s -o a.html", r"--score s must be in \[0, 1\], found -.*logistic"),
        ("--label word --score p -o a.html", "--label word must hold numbers, found"),
        ("--label y --score p --threshold 30 -o a.html", "--threshold must be in .0, 1., found 30"),
        (
            "--label word --score s --thresholds t.json --segment site -o a.html",
            "--segment is for a model of probabilities",
        ),
        ("--label y --score p --counts s -o a.html", "--counts s must be whole numbers >= 0, fou"),
        (
            "--label word --score s --thresholds t.json --counts w -o a.html",
            "--counts w is for a model of probabilities, .*: write the rows out$",
        ),
        (
            "--label word --score s --thresholds t.json --negative-keep-rate 0.5 -o a.html",
            "--negative-keep-rate is for labels 0 and 1",
        ),
    ],
)
def test_nonsense_is_refused(rows, options, words) -> None:
    assert re.search(words, refused(f"report rows.csv {options}"))
