"""What the blocks of README.md and the guide print stands under them, and is what they print.

``python -m tests.pages.outputs [PAGE ...]`` runs the blocks of these pages (without any, of all),
and writes what they print under them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [
    README,
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs").glob("[mt]*/*.md")),
]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", flags=re.M | re.S)
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d*)?(?:[eE][-+]?\d+)?")
LOGGED = re.compile(r"^(?:\[LightGBM\]|Finding random open ports|\[[# ]{9,}\]).*\n", flags=re.M)
"""What libraries say of their work, which is not shown: ports, and progress."""

CLOSE = {"rel": 0.05, "abs": 0.02}
"""How far a number may be from what is shown: boosters of another version train other trees."""


def blocks(page: Path) -> list[tuple[str, str]]:
    """Each block of Python, and the output that is shown under it."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def copy_data(block: str, folder: Path) -> None:
    """What a block reads that is to be run in the folder of a clone."""
    if "notebooks/data" in block:
        shutil.copytree(ROOT / "notebooks" / "data", folder / "notebooks" / "data")


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def check(printed: str, shown: str) -> None:
    """Raise unless the same words are printed, and nearly the same numbers."""
    printed = LOGGED.sub("", printed.replace("\r", "\n"))
    assert "".join(NUMBER.sub("0", printed).split()) == "".join(NUMBER.sub("0", shown).split()), (
        f"printed:\n{printed}\nshown:\n{shown}\nrun python -m tests.pages.outputs"
    )
    assert numbers(printed) == pytest.approx(numbers(shown), **CLOSE)


def run(block: str) -> str:
    """What a block prints in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        copy_data(block, Path(folder))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", block], cwd=folder, env=environment, check=True,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    said = LOGGED.sub("", done.stdout.replace("\r", "\n"))
    return "".join(f"{line.rstrip()}\n" for line in said.strip("\n").splitlines())


def write(page: Path) -> None:
    """Run the page's blocks; what has not changed but by a little stays."""

    def with_output(found: re.Match[str]) -> str:
        block, shown = found[1], found[2] or ""
        printed = run(block)
        try:
            check(printed, shown)
        except AssertionError:
            shown = printed
        return f"```python\n{block}```\n" + (f"```text\n{shown}```\n" if shown else "")

    text = page.read_text(encoding="utf-8")
    page.write_text(BLOCK.sub(with_output, text), encoding="utf-8")


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:] or PAGES):
        print(path)
        write(path)
