"""The mechanism itself: what is wrong with a page is found, and what is right is not."""

from __future__ import annotations

import pytest

from tests.pages.cited import ALL, Benchmark, Page, blocks, skeleton, word

TEXT = """# Title of 3

We keep 7 rows.

It gains 0.12 ± 0.03 on 4 of
10 files ([study](../experiments/x/README.md)), and loses on none.
With `n_bags=5` and $k^2$ it is level ([study](../experiments/x2/README.md)):

| file | gain |
|---|---|
| one  | 0.5  |

Another 8.

- of 9 rows ([benchmark](../benchmarks/README.md)),
  more in 11.
- 12 alone.

## Measured

1. Took 13 s.

```python
x = 14
```
"""
GAIN = "It gains 0.12 ± 0.03 on 4 of 10 files"


class Text:
    """A file of its text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read_text(self, encoding: str) -> str:
        return self.text


def page(monkeypatch, *says: str, text: str = TEXT, **options) -> Page:
    monkeypatch.setattr(Page, "file", Text(text))
    found = Page("page.md", **options)
    found.check(lambda own: own.says(*says))
    return found


def bare(found: list[str]) -> list[str]:
    return [line.split("no source of ")[1].split(" in '")[0] for line in found]


def test_a_number_without_a_source_is_found_where_a_study_is_cited(monkeypatch) -> None:
    assert bare(page(monkeypatch).problems()) == ["0.12, 0.03, 4, 10, none", "0.5", "9, 11"]
    assert bare(page(monkeypatch, GAIN).problems()) == ["none", "0.5", "9, 11"]
    of = page(monkeypatch, GAIN, "| one | 0.5 |", "of 9 rows", "more in 11", "loses on none")
    assert of.problems() == []


def test_a_declared_section_needs_sources(monkeypatch) -> None:
    assert bare(page(monkeypatch, sections=("Measured",)).problems())[-1] == "13"
    found = bare(page(monkeypatch, sections=(ALL,)).problems())
    assert found == ["7", "0.12, 0.03, 4, 10, none", "0.5", "8", "9, 11", "12", "13"]


def test_a_wrong_figure_and_a_wrong_word_are_found(monkeypatch) -> None:
    wrong = page(monkeypatch, GAIN.replace("4", "5")).problems()[0]
    assert wrong == (
        "page.md does not say 'It gains 0.12 ± 0.03 on 5 of 10 files', but "
        "'It gains 0.12 ± 0.03 on 4 of 10 files'"
    )
    wrong = page(monkeypatch, GAIN.replace("gains", "loses")).problems()[0]
    assert "nor anything like it" in wrong


def test_a_sentence_stands_once(monkeypatch) -> None:
    wrong = page(monkeypatch, "study").problems()[0]
    assert wrong == "page.md says 2 times, not once, 'study'"


def test_what_is_exempt_is_there(monkeypatch) -> None:
    found = page(monkeypatch, exempt={"more in 11": "why", "more in 15": "why"}).problems()
    assert "page.md has no 'more in 15' to exempt" in found
    assert bare(found[1:])[-1] == "9"


def test_mended_writes_numbers_only(monkeypatch) -> None:
    said = GAIN.replace("0.12", "-0.13").replace("4", "5")
    text = page(monkeypatch, said, "loses on two").mended(Page.file)
    assert text == TEXT.replace("0.12", "-0.13").replace("4 of\n", "5 of\n")


def test_skeleton_takes_any_number() -> None:
    assert skeleton("+0.5 ± .3 at 1e-3, 20,000 rows").search("-1 ±\n0.2 at 7, 1 rows")


def test_blocks_know_their_line() -> None:
    found = {block.text.split(" ")[0]: (block.line, block.kind) for block in blocks(TEXT)}
    assert found["Took"] == (21, "item")
    assert found["Another"] == (13, "text")


LINES = (
    "gradient, 1,000 rows: ours 3.2 ms, plain 0.5 ms",
    "  times faster                            0.12  at least 1     MISSED",
    "gradient, 2,000 rows: ours 3.3 ms, plain 0.6 ms",
    "  times faster                            1.26  at least 1     met",
    "peak, MB                                                108",
)


def test_lines_of_a_benchmark() -> None:
    of = Benchmark(LINES)
    first, second = (of.after(f"gradient, {n},000").measured("times faster") for n in (1, 2))
    assert (first.figure, first.goal, first.met) == (0.12, 1, False)
    assert (second.figure, second.met) == (1.26, True)
    assert of.measured("peak, MB").met is None
    assert of.numbers("gradient, 2,000 rows: ours") == [3.3, 0.6]
    with pytest.raises(KeyError, match="no line reports 'slower'"):
        of.measured("slower")


def test_words() -> None:
    assert [word(count) for count in (0, 1, 2, 12, 13)] == ["none", "one", "two", "twelve", "13"]
