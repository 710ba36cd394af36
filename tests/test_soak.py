"""Long runs in tests/soak: what measures them can fail, and their pages have what they found."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from tests.soak import __main__ as command, results
from tests.soak.common import Figure, Flat

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells of memory on Linux")

PAGE = Path(__file__).parents[1] / "docs" / "promises.md"
FIGURES = Path(__file__).parent / "soak" / "README.md"


def broken(flat: Flat) -> set[str]:
    return {figure.what.rpartition("more ")[2] for figure in flat.figures() if not figure.kept}


def test_what_stays_is_seen() -> None:
    """In a process of its own: in this one other tests may still close what they opened."""
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        alone.submit(see_what_stays).result()


def see_what_stays() -> None:
    flat, kept = Flat("leaks"), []
    for k in range(3):
        flat.sample(k)
    assert not broken(flat)
    memory = np.ones(flat.samples[0][0] // 8)  # as much again as the process has
    kept.append([[k] for k in range(1000)])
    with open(PAGE, encoding="utf-8"):
        flat.sample(3)
    assert broken(flat) == {"leaks: growth to the highest sample", "open files", "Python objects"}
    assert memory.all()
    assert kept


@pytest.mark.parametrize("found", [2.0, 4.0, float("inf"), float("nan")])
def test_a_broken_promise_is_the_exit_status(found, monkeypatch, capsys) -> None:
    class Part:
        @staticmethod
        def run(quick):
            yield Figure("told", 7)
            yield Figure("promised", found, most=3)

    monkeypatch.setattr(command, "import_module", lambda name: Part)
    kept = found == 2.0
    assert command.run("part", quick=True) == (not kept)
    assert f"part: {int(kept)} of 1 promises kept" in capsys.readouterr().out


def test_the_pages_have_what_was_found() -> None:
    found = results.read()
    assert set(found) == set(results.PARTS)
    remedy = "write what python -m tests.soak --table prints into tests/soak/README.md"
    text = FIGURES.read_text(encoding="utf-8")
    assert results.summary(found) in text, remedy
    assert results.details(found) in text, remedy
    figures = [figure for part in found.values() for figure in results.figures(part)]
    promised = [figure for figure in figures if figure.most is not None]
    kept = sum(figure.kept for figure in promised)
    page = PAGE.read_text(encoding="utf-8")
    assert f"{kept} of {len(promised)} promises were kept" in page
    assert all(part["date"] in page for part in found.values())
