"""The tables of benchmarks/README.md are those of the committed results."""

from __future__ import annotations

import datetime
import re

from benchmarks import all as benchmarks


def test_every_benchmark_is_run() -> None:
    modules = {path.stem for path in benchmarks.HERE.glob("[a-z]*.py")} - {"all"}
    assert set(benchmarks.NAMES) == modules


def test_every_result_has_its_day_and_versions() -> None:
    for name in set(benchmarks.NAMES) - {"devices"}:  # which needs a GPU
        datetime.date.fromisoformat(benchmarks.date_of(name))
        versions = (benchmarks.RESULTS / f"{name}.txt").read_text("utf-8").splitlines()[1]
        assert re.fullmatch(r"numpy [\d.]+(, [a-z-]+ [\d.]+)*", versions)


def test_the_readme_has_the_committed_figures() -> None:
    readme = benchmarks.README.read_text(encoding="utf-8")
    assert benchmarks.with_tables(readme) == readme
    assert readme.count("<!-- results: ") == len(benchmarks.NAMES) - 1  # devices has none
    assert all(f"`python -m benchmarks.{name}`" in readme for name in benchmarks.NAMES)


def test_figures_of_an_output() -> None:
    text = (
        "2026-11-24, 3 s\nnumpy 2.4.6\n10 rows: ours 2 ms\n"
        "  times a copy                         1.62  at most 1.1    MISSED\n"
        "  which calls: 3 ms, all of them\n"
        "  times a sort                         -0.50\n"
        "exact / sort                           2.00  at least 1     met\n"
    )
    assert list(benchmarks.figures(text)) == [
        ("10 rows: times a copy", "1.62", "at most 1.1", False),
        ("10 rows: times a sort", "-0.50", "", True),
        ("exact / sort", "2.00", "at least 1", True),
    ]
    assert benchmarks.table(text).splitlines()[2] == (
        "| 10 rows: times a copy | **1.62** | at most 1.1 |"
    )
