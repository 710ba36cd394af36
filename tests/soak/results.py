"""What the last full run of each part found, and the table of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.soak.common import Figure

PATH = Path(__file__).with_name("results.json")
PARTS = ("trainings", "threads", "classifier", "cluster", "processes", "interrupts")


def read() -> dict[str, Any]:
    return json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}


def table(results: dict[str, Any]) -> str:
    """Markdown: a row for each figure, in the order of the parts."""
    rows = ["| part | what | found | promised |", "|---|---|---|---|"]
    for part in PARTS:
        for given in results.get(part, {"figures": []})["figures"]:
            figure = Figure(**given)
            promise = "" if figure.most is None else f"at most {figure.most:g}"
            found = f"{figure.found:g} {figure.unit}".strip()
            rows.append(f"| {part} | {figure.what} | {found} | {promise} |")
    return "\n".join(rows)
