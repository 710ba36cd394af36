"""Pages held to the results that they cite: each figure in a sentence, and no figure without one.

A check says sentences whose figures it computed from committed results. Wrong is a sentence that
the page does not have, and a number that no sentence said where the page cites a study: in a
block (paragraph, list item, row of a table) with a link to experiments/ or benchmarks/ or a "±",
in what a citing paragraph that ends in a colon leads to, and in sections declared as citing.
``python -m tests.pages.mend`` writes the computed numbers into pages where only these differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).parents[2]
ALL = ""
"""The section that is the whole page."""
CITES = re.compile(r"\]\([^)]*\b(?:experiments|benchmarks)/|±")
WORDS = (
    "none", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "fifteen", "twenty", "thirty", "forty", "fifty", "sixty", "twice", "half",
)  # fmt: skip
DIGITS = r"(?:\d+(?:,\d{3})+|\d+)(?:\.\d+)?(?:e-?\d+)?|\.\d+"
NUMBER = re.compile(rf"(?<![\w.-])(?:{DIGITS})|\b(?:{'|'.join(WORDS)})\b|(?<=-)(?:{DIGITS})", re.I)
SIGNED = re.compile(rf"(?<![\w.])[-+]?(?:{DIGITS})")
SILENT = re.compile(r"`[^`]*`|\]\([^)]*\)|\$[^$]*\$")
"""Code, targets of links, formulas: their numbers are no figures."""
EXEMPT = {
    **{f"two {kind}errors": "the rule of the studies" for kind in ("", "standard ", "plain ")},
    "one of the two": "of a pair",
    "two boosters": "XGBoost and LightGBM",
}


@dataclass(frozen=True)
class Block:
    line: int
    headings: tuple[str, ...]
    kind: str  # "text", "item" or "row"
    text: str


def blocks(page: str) -> Iterator[Block]:
    """Paragraphs, list items and rows of tables, without code, formulas, comments and headings."""
    page = re.sub(r"<!--.*?-->", lambda found: re.sub(r"[^\n]", "", found[0]), page, flags=re.S)
    headings: list[str] = []
    kind, start, lines, fence = "text", 0, [], ""
    for number, line in enumerate([*page.splitlines(), ""], start=1):
        text = line.strip()
        if opening := re.match(r"`{3,}|:{3,}|\${2}", text):
            closes = fence and text.startswith(fence)
            fence = "" if closes or (opening[0] == "$$" and text.count("$$") == 2) else (
                fence or opening[0])  # fmt: skip
            text = ""
        heading = re.match(r"(#+) (.*)", line)
        new = re.match(r"(?:[-*]|\d+\.) |\|", text)
        if lines and (not text or fence or heading or new or (kind == "row")):
            yield Block(start, tuple(headings), kind, " ".join(" ".join(lines).split()))
            lines = []
        if fence or not text or set(text) <= set("|-: "):
            continue
        if heading:
            headings[len(heading[1]) - 1 :] = [heading[2]]
            continue
        if not lines:
            kind = "text" if not new else "row" if text[0] == "|" else "item"
            start, text = number, re.sub(r"^(?:[-*]|\d+\.) ", "", text)
        lines.append(text)


def citing(of: list[Block], sections: tuple[str, ...]) -> list[Block]:
    """The blocks in which a number needs a source."""
    found, leads = [], False
    for block in of:
        declared = ALL in sections or bool(set(sections) & set(block.headings))
        if block.kind == "text":
            leads = False
        if declared or leads or CITES.search(block.text):
            found.append(block)
            leads = leads or (block.kind == "text" and block.text.endswith(":"))
    return found


def skeleton(text: str) -> re.Pattern[str]:
    """The sentence with any other numbers."""
    parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in SIGNED.split(text)]
    return re.compile(SIGNED.pattern.join(parts))


Check = Callable[["Page"], None]


@dataclass
class Page:
    """A page, the sections whose numbers all need a source, and texts that need none, with why."""

    path: str
    sections: tuple[str, ...] = ()
    exempt: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ()  # other files of the page
    checks: list[Check] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    untrue: list[str] = field(default_factory=list)

    def check(self, function: Check) -> Check:
        """A function that says sentences."""
        self.checks.append(function)
        return function

    @property
    def file(self) -> Path:
        return ROOT / self.path

    @property
    def files(self) -> list[Path]:
        return [self.file, *(ROOT / part for part in self.parts)]

    def says(self, *texts: str) -> None:
        self.said.extend(" ".join(text.split()) for text in texts)

    def holds(self, true: bool, what: str) -> None:
        """A conclusion that the page draws in words."""
        if not true:
            self.untrue.append(what)

    def shows(self, table: str) -> None:
        """Every row of a table in Markdown."""
        lines = [line for line in table.splitlines() if line.startswith("|")]
        self.says(*(line for line in lines if not set(line) <= set("|-: ")))

    def problems(self) -> list[str]:
        """What is wrong with the page, a line each."""
        raw = "\n\n".join(file.read_text(encoding="utf-8") for file in self.files)
        own = list(blocks(raw))
        self.said.clear()
        self.untrue.clear()
        for function in self.checks:
            function(self)
        text = "\n".join(block.text for block in own)
        everything = " ".join(raw.split())  # blocks of code, too
        wrong = [f"{self.path}: it does not hold that {what}" for what in self.untrue]
        for said in self.said:
            times = text.count(said) or everything.count(said)
            if times != 1:
                found = skeleton(said).search(text)
                instead = f"but {found[0]!r}" if found else "nor anything like it"
                times = (
                    f"says {text.count(said)} times, not once," if said in text else "does not say"
                )
                wrong.append(
                    f"{self.path} {times} {said!r}" + (f", {instead}" * (said not in text))
                )
        wrong += [f"{self.path} has no {stale!r} to exempt" for stale in self.exempt
                  if stale not in text]  # fmt: skip
        sourced = [*self.said, *self.exempt, *EXEMPT]
        for block in citing(own, self.sections):
            spans = [span for of in sourced for span in _spans(of, block.text)]
            spans += [found.span() for found in SILENT.finditer(block.text)]
            bare = [
                number[0] for number in NUMBER.finditer(block.text)
                if not any(start <= number.start() and number.end() <= end for start, end in spans)
            ]  # fmt: skip
            if bare:
                wrong.append(f"{self.path}:{block.line}: no source of {', '.join(bare)} in "
                             f"{block.text!r}")  # fmt: skip
        return wrong

    def mended(self, file: Path) -> str:
        """A file with the computed numbers, wherever a sentence differs in nothing else."""
        self.problems()
        raw = file.read_text(encoding="utf-8")
        for said in self.said:
            found = list(skeleton(said).finditer(raw))
            if len(found) == 1:
                numbers = iter(SIGNED.findall(said))
                new = SIGNED.sub(lambda _, numbers=numbers: next(numbers), found[0][0])
                raw = raw[: found[0].start()] + new + raw[found[0].end() :]
        return raw


def _spans(text: str, within: str) -> Iterator[tuple[int, int]]:
    start = within.find(text)
    while start >= 0:
        yield start, start + len(text)
        start = within.find(text, start + 1)


@cache
def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path)


def results(study: str, file: str = "summary") -> pd.DataFrame:
    """A committed table: results("threshold_study", "rare/summary")."""
    return _read(ROOT / "experiments" / study / "results" / f"{file}.csv").copy()


def table(study: str, folder: str = "") -> str:
    """The table.md of a study."""
    path = ROOT / "experiments" / study / "results" / folder / "table.md"
    return path.read_text(encoding="utf-8")


def settings(study: str, file: str = "config") -> dict[str, Any]:
    """The configuration that the results belong to."""
    path = ROOT / "experiments" / study / f"{file}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True)
class Measured:
    """A line of a benchmark: what was found beside its goal; ``met`` is None without a goal."""

    figure: float
    goal: float | None
    met: bool | None


REPORTED = re.compile(
    r"^(?P<what>.*?)\s+(?P<figure>-?[\d.]+)(?:\s+(?:s|at (?:most|least) (?P<goal>[\d.]+)\s+"
    r"(?P<met>met|MISSED)))?\s*$"
)


@dataclass(frozen=True)
class Benchmark:
    """The committed lines of benchmarks/results/<name>.txt."""

    lines: tuple[str, ...]

    def after(self, start: str) -> Benchmark:
        """From the first line that starts so."""
        texts = [line.strip() for line in self.lines]
        first = next((k for k, text in enumerate(texts) if text.startswith(start)), None)
        if first is None:
            raise KeyError(f"no line starts with {start!r}: {texts}")
        return Benchmark(self.lines[first:])

    def measured(self, what: str) -> Measured:
        """The first line that reports ``what``."""
        for line in self.lines:
            found = REPORTED.match(line.strip())
            if found and found["what"].strip() == what:
                goal = found["goal"] and float(found["goal"])
                return Measured(float(found["figure"]), goal, goal and found["met"] == "met")
        raise KeyError(f"no line reports {what!r}: {self.lines}")

    def figure(self, what: str) -> float:
        return self.measured(what).figure

    def numbers(self, start: str) -> list[float]:
        """The numbers in the rest of the first line that starts so."""
        rest = self.after(start).lines[0].strip().removeprefix(start)
        return [float(number.replace(",", "")) for number in SIGNED.findall(rest)]


@cache
def benchmark(name: str) -> Benchmark:
    path = ROOT / "benchmarks" / "results" / f"{name}.txt"
    return Benchmark(tuple(path.read_text(encoding="utf-8").splitlines()))


def plus_minus(mean: float, error: float, digits: int = 4, sign: str = "") -> str:
    """A figure and its standard error; sign "+" shows that of a gain, too."""
    return f"{mean:{sign}.{digits}f} ± {error:.{digits}f}"


def word(count: int) -> str:
    """A count as pages write it."""
    return ["none", "one", *WORDS[1:12]][count] if count <= 12 else str(count)


def short(value: float, form: str = "g") -> str:
    """A figure without the zero before its point: .5, 5."""
    return f"{value:{form}}".removeprefix("0")
