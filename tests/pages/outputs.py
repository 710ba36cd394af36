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
BLOCK = re.compile(
    r"^(?:<!-- (example|continues): ([\w-]+) -->\n)?"
    r"```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?",
    flags=re.M | re.S,
)
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d*)?(?:[eE][-+]?\d+)?")
LOGGED = re.compile(
    r"^(?:\[LightGBM\]|Local rank: |Finding random open ports|\[[# ]{9,}\]).*\n", flags=re.M
)
"""What libraries say of their work, which is not shown: ports, and progress.

Two workers in threads may write the start of a line twice, so its rest stands alone.
"""

CLOSE = {"rel": 0.05, "abs": 0.02}
"""How far a number may be from what is shown: boosters of another version train other trees."""


Shown = tuple[str, str]
"""A block of Python, and the output that is shown under it."""


def blocks(page: Path) -> list[Shown]:
    return [shown for chain in chains(page) for shown in chain]


def chains(page: Path) -> list[list[Shown]]:
    """The blocks that run alone, each with those that continue it, in the order of the page.

    ``<!-- example: NAME -->`` stands above the first, ``<!-- continues: NAME -->`` above others.
    """
    found, named = list[list[Shown]](), dict[str, list[Shown]]()
    for word, name, block, shown in BLOCK.findall(page.read_text(encoding="utf-8")):
        if word == "continues":
            named[name].append((block, shown))  # a KeyError names what no block is called
            continue
        found.append([(block, shown)])
        if word:
            assert name not in named, f"{page.name} has two examples {name}"
            named[name] = found[-1]
    return found


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


END = "-- end of a block --"


def run(chain: list[str]) -> list[str]:
    """What each block of a chain prints, in a process of their own."""
    code = f"print({END!r})\n".join(f"{block}\n" for block in chain)
    with tempfile.TemporaryDirectory() as folder:
        copy_data(code, Path(folder))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env=environment, check=True,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    said = LOGGED.sub("", done.stdout.replace("\r", "\n")).split(END)
    return ["".join(f"{line.rstrip()}\n" for line in x.strip("\n").splitlines()) for x in said]


def write(page: Path) -> None:
    """Run the page's blocks; what has not changed but by a little stays."""
    printed = {}
    for chain in chains(page):
        of_chain = run([block for block, _ in chain])
        printed.update({block: said for (block, _), said in zip(chain, of_chain, strict=True)})

    def with_output(found: re.Match[str]) -> str:
        word, name, block, shown = found.groups()
        try:
            check(printed[block], shown or "")
        except AssertionError:
            shown = printed[block]
        above = f"<!-- {word}: {name} -->\n" if word else ""
        return f"{above}```python\n{block}```\n" + (f"```text\n{shown}```\n" if shown else "")

    text = page.read_text(encoding="utf-8")
    page.write_text(BLOCK.sub(with_output, text), encoding="utf-8")


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:] or PAGES):
        print(path)
        write(path)
