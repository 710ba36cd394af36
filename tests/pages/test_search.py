"""The search of the site: which page comes first, and the words of docs/searched.py.

``.ci/search.py`` asks the built site. Here the scores of Sphinx's searchtools.js stand by hand.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


search, searched = load(".ci/search.py"), load("docs/searched.py")

INDEX: dict[str, Any] = {
    "docnames": ["a", "b", "c", "d"],
    "titles": ["Cut points", "Words", "fit_cut", "Cut"],
    "alltitles": {"Cut points": [[0, None]], "Words": [[1, None]], "Cut": [[3, None]]},
    "indexentries": {"rounding": [[1, "", True]], "fit_cut() (in m)": [[2, "m.fit_cut", False]]},
    "objects": {"m": [[2, 0, 1, "", "fit_cut"]]},
    "objnames": {"0": ["py", "function", "Python function"]},
    "terms": {"round": [0, 2], "point": 1, "cutter": 1},
    "titleterms": {"cut": [0, 3], "word": 1, "point": 0},
}


@pytest.mark.parametrize(
    ("query", "pages"),
    [
        ("rounding", ["b", "a", "c"]),  # the entry 100, then a word of the texts 5 each, by title
        ("round", ["b", "a", "c"]),  # 5/8 of the entry is 63
        ("cut", ["d", "a", "c", "b"]),  # title 16; words of titles 15; a name 6 + 5; part of a word
        ("fit_cut", ["c"]),  # the name 11 + 5
        ("points", ["a", "b"]),  # title 9 + 1 and its word 15; a word of a text 5
        ("Words points", ["b"]),  # the only page that has both
        ("rounding cut", ["a"]),  # b has the entry, and c the name, of one word only
        ("nothing", []),
    ],
)
def test_pages_in_the_order_of_their_scores(query: str, pages: list[str]) -> None:
    def stem(word: str) -> str:
        return word.removesuffix("ing").removesuffix("s")

    assert search.Search(INDEX, stem, frozenset({"the"})).pages(query) == pages


def test_an_entry_that_is_not_the_main_one_comes_last() -> None:
    index = INDEX | {"indexentries": {"cut": [[1, "x", False]]}}
    assert search.Search(index, str, frozenset()).pages("cut")[-1] == "b"


def test_a_word_leads_to_one_page_and_the_page_is_there() -> None:
    words = [word for page in searched.PAGES.values() for word in page]
    assert sorted(words) == sorted(searched.EVERY)
    assert all(word == word.strip().lower() for word in words)
    assert [page for page in searched.PAGES if not (ROOT / f"{page}.md").is_file()] == []


def test_every_query_has_one_wanted_page() -> None:
    queries = [query for typed in search.QUERIES.values() for query in typed]
    assert len(set(queries)) == len(queries) >= 30
    hand_written = [page for page in search.QUERIES if "/generated/" not in page]
    missing = [page for page in hand_written if not list(ROOT.glob(f"{page}.*"))]
    assert missing == []
