"""Each page says what the results that it cites say, and no figure without a source."""

from __future__ import annotations

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
