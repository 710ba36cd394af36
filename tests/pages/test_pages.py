"""Each page says what the results that it cites say, and no figure without a source."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from tests.pages import guide, which_one
from tests.pages.cited import CITES, ROOT, Page, blocks

pytestmark = pytest.mark.slow

CHECKED = {
    page.path: page
    for page in chain.from_iterable(vars(module).values() for module in (guide, which_one))
    if isinstance(page, Page)
}
FILES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("[mt]*/*.md")]
PARTS = {part for page in CHECKED.values() for part in page.parts}
PATHS = sorted({file.relative_to(ROOT).as_posix() for file in FILES} - PARTS)
PAGES = [CHECKED.get(path) or Page(path) for path in PATHS]


def cites(page: Page) -> bool:
    text = page.file.read_text(encoding="utf-8")
    return any(CITES.search(block.text) for block in blocks(text))


@pytest.mark.parametrize("page", PAGES, ids=PATHS)
def test_the_page_says_what_the_results_say(page: Page) -> None:
    assert not (problems := page.problems()), "\n".join(problems)


def test_each_page_that_cites_a_study_has_a_check() -> None:
    found = {page.path for page in PAGES if cites(page)}
    checked = {path for path, page in CHECKED.items() if page.checks}
    assert sorted(found - checked) == []


def test_each_check_is_of_a_page() -> None:
    assert set(CHECKED) <= set(PATHS)


PLAIN = [
    f"docs/{name}.md"
    for name in (
        "index", "start", "first_grades", "first_clicks", "words", "training", "thresholds",
        "which_one", "rare_events", "probabilities", "own_objective", "deploy", "pitfalls",
    )
]  # fmt: skip
"""What a newcomer reads: the paragraphs and sentences are short, and all of it in an hour."""

TABLES = ("docs/start.md", "docs/which_one.md")
"""Those that are tables above all."""

OUTPUT = re.compile(r"^```text\n.*?^```$", flags=re.M | re.S)


def paragraphs(text: str) -> list[str]:
    """The running text: no code, tables, pictures, headings and comments; a point is one."""
    text = re.sub(r"^```.*?^```$|^<!--.*?-->$|^!\[.*?\)$|^[|#].*?$", "", text, flags=re.M | re.S)
    text = re.sub(r"^- ", "\n", text, flags=re.M)
    found = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    return [re.sub(r"\[(.*?)\]\(.*?\)", r"\1", part) for part in found if part]


def sentences(paragraph: str) -> list[str]:
    return re.split(r"(?<=[.!?:])\s+", paragraph.replace("*", ""))


@pytest.mark.parametrize("path", PLAIN)
def test_paragraphs_and_sentences_for_newcomers_are_short(path: str) -> None:
    found = paragraphs((ROOT / path).read_text(encoding="utf-8"))
    assert len(found) > (5 if path in TABLES else 10)
    assert not [part for part in found if len(part.split()) > 80]
    assert not [each for part in found for each in sentences(part) if len(each.split()) > 30]


def test_a_newcomer_reads_few_words() -> None:
    pages = ((ROOT / path).read_text(encoding="utf-8") for path in PLAIN)
    assert sum(len(OUTPUT.sub("", page).split()) for page in pages) <= 9700


def test_long_paragraphs_and_sentences_are_seen() -> None:
    assert paragraphs("# A\n\none\ntwo\n\n```python\nx\n```\n- three\n- four [f](g.md)\n") == [
        "one two", "three", "four f",
    ]  # fmt: skip
    assert sentences("One, two. Three: four? Five") == [
        "One, two.",
        "Three:",
        "four?",
        "Five",
    ]
