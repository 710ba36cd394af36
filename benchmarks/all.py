"""All benchmarks one after another, into results/ and the tables of the README.

    python -m benchmarks.all [--quick] [--since DAY] [--only NAME ...]

Each runs in a process of its own on one thread, ``devices`` only where there is a GPU. What ran on
the day of --since or later is left out, so that a run that was stopped goes on. Nothing else should
run on the machine. With --quick each is tried in small, and nothing is written.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.devices import gpu

HERE = Path(__file__).parent
RESULTS, README = HERE / "results", HERE / "README.md"
NAMES = (
    "objective", "plain", "thresholds", "priors", "calibration", "estimators", "serving",
    "large_data", "distributed", "scaling", "devices",
)  # fmt: skip
FIGURE = re.compile(
    r"(?P<what>.+?)\s{2,}(?P<found>-?[\d.]+)(  (?P<goal>at \w+ \S+)\s+(?P<met>\w+))?"
)
TABLE = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def date_of(name: str) -> str:
    """The day of a committed run, "" where there is none."""
    file = RESULTS / f"{name}.txt"
    return file.read_text(encoding="utf-8").split(",")[0] if file.exists() else ""


def run(name: str, *options: str) -> str:
    """What the benchmark printed; CalledProcessError if it failed, with its messages shown."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, cwd=HERE.parent, env=environment, text=True, stdout=subprocess.PIPE, check=True
    ).stdout


def machine() -> str:
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def figures(text: str) -> Iterator[tuple[str, str, str, bool]]:
    """(what, figure, goal, whether it is met) of each ratio; what stands under a line, with it."""
    above = ""
    for line in text.splitlines()[2:]:
        found = FIGURE.fullmatch(line)
        what = found["what"].strip() if found else line.split(":")[0]
        if not line.startswith(" "):
            above = what
        elif found:
            what = f"{above}: {what}"
        if found:
            yield what, found["found"], found["goal"] or "", found["met"] != "MISSED"


def table(text: str) -> str:
    """The figures in Markdown; bold is what missed its goal."""
    lines = ["| | found | goal |", "|---|---|---|"]
    for what, found, goal, met in figures(text):
        lines.append(f"| {what} | {found if met else f'**{found}**'} | {goal} |")
    return "\n".join(lines)


def with_tables(readme: str) -> str:
    """The README with the tables of the committed results, and what they were run on."""

    def replaced(match: re.Match[str]) -> str:
        if not date_of(match[2]).startswith("20"):  # it has not run by this command
            return match[0]
        text = (RESULTS / f"{match[2]}.txt").read_text(encoding="utf-8")
        run_on, versions, *_ = text.splitlines()
        return f"{match[1]}\n{run_on}, {versions}\n\n{table(text)}\n\n{match[3]}"

    return TABLE.sub(replaced, readme)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.all", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="each in small, writing nothing")
    parser.add_argument(
        "--since", type=datetime.date.fromisoformat, metavar="DAY",
        help="leave out what has run on this day (2026-11-24) or later",
    )  # fmt: skip
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    options = parser.parse_args(arguments)
    day = options.since.isoformat() if options.since else "9999"
    for name in options.only:
        if (name == "devices" and gpu() is None) or date_of(name) >= day:
            continue
        began = time.perf_counter()
        text = run(name, *(["--quick"] if options.quick else []))
        seconds = time.perf_counter() - began
        print(f"{name}: {seconds:.0f} s\n{text}", flush=True)
        if not options.quick:
            head = f"{datetime.date.today()}, {seconds:.0f} s, {machine()}"
            (RESULTS / f"{name}.txt").write_text(f"{head}\n{text}", encoding="utf-8")
            README.write_text(with_tables(README.read_text("utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
