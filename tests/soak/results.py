"""What the last full run of each part found, and its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.soak.common import Figure

PATH = Path(__file__).with_name("results.json")
PARTS = ("trainings", "threads", "classifier", "cluster", "processes", "interrupts")


def read() -> dict[str, Any]:
    return json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}


def summary(results: dict[str, Any]) -> str:
    """Markdown: a row for each part."""
    rows = ["| part | date | seconds | promises kept |", "|---|---|---|---|"]
    for part in PARTS:
        if part in results:
            found = results[part]
            promised = [figure for figure in figures(found) if figure.most is not None]
            kept = f"{sum(figure.kept for figure in promised)} of {len(promised)}"
            rows.append(f"| {part} | {found['date']} | {found['seconds']} | {kept} |")
    return "\n".join(rows)


def details(results: dict[str, Any]) -> str:
    """Markdown: a row for each figure, in the order of the parts."""
    rows = ["| part | what | found | promised |", "|---|---|---|---|"]
    for part in PARTS:
        for figure in figures(results.get(part, {"figures": []})):
            promise = "" if figure.most is None else f"at most {figure.most:g}"
            found = f"{figure.found:g} {figure.unit}".strip()
            rows.append(f"| {part} | {figure.what} | {found} | {promise} |")
    return "\n".join(rows)


def figures(found: dict[str, Any]) -> list[Figure]:
    return [Figure(**given) for given in found["figures"]]
