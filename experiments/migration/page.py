"""Bring the pages of migration and the README up to date: code of the pairs, tables of results.

python -m experiments.migration.page
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PAIRS = HERE.parents[1] / "docs/migration"
PAGES = (PAIRS.with_suffix(".md"), *sorted(PAIRS.glob("*.md")))
README = HERE / "README.md"


def updated(page: str) -> str:
    """The page, each block and table below its marker replaced by the file that it shows."""
    tables = (HERE / "results/table.md").read_text("utf-8").rstrip().split("\n\n")

    def code(found: re.Match[str]) -> str:
        return found[1] + (PAIRS / found[2]).read_text("utf-8") + "```\n"

    def table(found: re.Match[str]) -> str:
        return f"{found[1]}{tables[int(found[2]) - 1]}\n\n"

    page = re.sub(r"(<!-- (\w+\.py) -->\n```python\n).*?^```\n", code, page, flags=re.M | re.S)
    return re.sub(r"(<!-- table (\d) of the study -->\n\n).*?\n\n", table, page, flags=re.S)


if __name__ == "__main__":
    for shown in (*PAGES, README):
        shown.write_text(updated(shown.read_text("utf-8")), "utf-8")
