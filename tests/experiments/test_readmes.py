"""Figures with an error in the prose of a study's README are those of its tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "experiments"
ELSEWHERE = {
    "few_events": {(".0", ".5"), (".8", ".6")},  # the first run, which the second replaced
    "negative_downsampling": {
        ("1.2", ".6"), ("4.5", "5.1"), ("2.6", "9.0"),  # in results/files, with more digits
        ("31.5", "7.4"),  # of the published table
    },
    "segment_repair": {(".008", ".003"), (".003", ".006")},  # paired, from results/draws.csv
    "threshold_study": {(".0501", ".0022"), (".0172", ".0015")},  # of the first version of the rule
}  # fmt: skip
"""What no table has, and why."""


def figures(text: str) -> set[tuple[str, str]]:
    """Pairs of a number and its error, without sign and leading zero."""
    found = re.findall(r"(\d*\.\d+) ± (\d*\.\d+)", text.replace("\\", ""))
    return {(value.lstrip("0"), error.lstrip("0")) for value, error in found}


@pytest.mark.parametrize("readme", sorted(FOLDER.glob("*/README.md")), ids=lambda p: p.parent.name)
def test_figures_with_errors_are_in_a_table(readme: Path) -> None:
    text = re.sub(r"```.*?```", "", readme.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = text.splitlines()
    prose = " ".join(line for line in lines if not line.startswith("|"))
    tables = [line for line in lines if line.startswith("|")]
    tables += [path.read_text(encoding="utf-8") for path in readme.parent.rglob("results/**/*.md")]
    missing = figures(prose) - figures(" ".join(tables))
    assert missing == ELSEWHERE.get(readme.parent.name, set())
