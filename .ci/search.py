"""Ask the search of the built site what people type: ``python .ci/search.py SITE``.

It fails for a query whose first result is another page than the wanted one. Results are scored as
``searchtools.js`` of Sphinx 8 and 9 does: titles, entries of the index, names of objects, words.
``--first`` prints the first results of a query instead.

The site must be built from nothing, or with ``sphinx-build -E``: Sphinx forgets the entries of
pages that it does not read again.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

QUERIES = {
    "docs/thresholds": [
        "qwk", "QWK", "thresholds", "threshold", "quadratic weighted kappa", "cohen_kappa_score",
    ],
    "docs/training": [
        "obj=", "feval", "custom_metric", "early stopping", "early_stopping_rounds", "eval_metric",
        "best_iteration", "base_score", "init_score",
    ],
    "docs/adapters": ["base_margin"],
    "docs/start": ["install", "extras"],
    "docs/first_grades": ["getting started", "quickstart"],
    "docs/rare_events": ["downsampling", "undersampling", "rare events", "fraud"],
    "docs/resampled": ["scale_pos_weight", "is_unbalance", "class imbalance", "smote"],
    "docs/probabilities": ["calibrate", "calibration", "predict_proba", "groups"],
    "docs/calibrators": ["isotonic"],
    "docs/monitor": ["monitoring"],
    "docs/focal_loss": ["focal loss"],
    "docs/onnx": ["onnx"],
    "docs/distributed": ["spark", "dask", "ray"],
    "docs/own_objective": ["custom objective", "custom loss", "custom metric"],
    "docs/tools": ["optuna"],
    "docs/devices": ["gpu"],
    "docs/deploy": ["export"],
    "docs/serving": ["treelite"],
    "docs/decide": ["cost matrix"],
    "docs/nominal": ["multiclass", "multilabel"],
    "docs/segments": ["segments", "sites"],
    "docs/blend": ["blend", "ensemble"],
    "docs/other_kappas": ["linear kappa"],
    "docs/kaggle": ["kaggle"],
    "docs/constraints": ["recall"],
    "docs/api/boosters": ["imbalance_shift", "shift_intercept", "LGBMRegressor"],
    "docs/api/generated/gbdt_objectives.qwk_objective": ["qwk_objective"],
    "docs/api/generated/gbdt_objectives.QWKClassifier": ["QWKClassifier"],
}  # fmt: skip
"""The wanted page, and what is typed. Names of this package lead to the reference."""

TITLE, PART_OF_TITLE, TERM, PART_OF_TERM = 15, 7, 5, 2
NAME, PART_OF_NAME = 11, 6
PRIORITY = {0: 15, 1: 5, 2: -5}

Result = tuple[bool, float, str, str]
"""Whether it is among the main ones, its score, its title and its page."""


def main(arguments: list[str] | None = None) -> int:
    from sphinx.search.en import SearchEnglish

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--first", metavar="QUERY", help="print its first results")
    given = parser.parse_args(arguments)
    language = SearchEnglish({})
    search = Search(read_index(given.site / "searchindex.js"), language.stem, language.stopwords)
    if given.first:
        for page in search.pages(given.first)[:10]:
            print(page)
        return 0
    faults = 0
    for wanted, query in ((page, query) for page, typed in QUERIES.items() for query in typed):
        first = next(iter(search.pages(query)), "nothing")
        if first != wanted:
            faults += 1
            print(f"{query!r} finds {first} first, and not {wanted}: see docs/searched.py")
    print(f"{sum(map(len, QUERIES.values()))} queries, {faults} faults")
    return int(faults > 0)


def read_index(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    index: dict[str, Any] = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    return index


class Search:
    """What ``Search`` of searchtools.js finds, by page."""

    def __init__(
        self, index: dict[str, Any], stem: Callable[[str], str], stopwords: frozenset[str]
    ) -> None:
        self.index, self.stem, self.stopwords = index, stem, stopwords

    def pages(self, query: str) -> list[str]:
        """The pages in the order in which a reader sees them."""
        found = [*self.titles(query), *self.entries(query), *self.names(query), *self.terms(query)]
        found.reverse()  # of equals the later one is shown first
        found.sort(key=lambda result: (not result[0], -result[1], result[2].lower()))
        return list(dict.fromkeys(page for *_, page in found))

    def result(self, file: int, score: float, title: str = "", main: bool = True) -> Result:
        return main, score, title or self.index["titles"][file], self.index["docnames"][file]

    def titles(self, query: str) -> Iterator[Result]:
        typed = query.lower().strip()
        for title, places in self.index["alltitles"].items():
            if typed in title.lower().strip() and len(typed) >= len(title) / 2:
                score = rounded(TITLE * len(typed) / len(title))
                for file, _ in places:
                    own = self.index["titles"][file]
                    shown = title if own == title else f"{own} > {title}"
                    yield self.result(file, score + (own == title), shown)

    def entries(self, query: str) -> Iterator[Result]:
        typed = query.lower().strip()
        for entry, places in self.index["indexentries"].items():
            if typed in entry and len(typed) >= len(entry) / 2:
                for file, _, main in places:
                    yield self.result(file, rounded(100 * len(typed) / len(entry)), main=main)

    def names(self, query: str) -> Iterator[Result]:
        typed = set(split(query.lower()))
        for prefix, objects in self.index["objects"].items():
            for file, kind, priority, _, name in objects:
                full = f"{prefix}.{name}" if prefix else name
                last = full.lower().split(".")[-1]
                told = f"{prefix} {name} {self.index['objnames'][str(kind)][2]} "
                told = (told + self.index["titles"][file]).lower()
                for word in typed:
                    if word in full.lower() and all(other in told for other in typed - {word}):
                        exact = word in (full.lower(), last)
                        score = NAME if exact else PART_OF_NAME if word in last else 0
                        yield self.result(file, score + PRIORITY.get(priority, 0), full)

    def terms(self, query: str) -> Iterator[Result]:
        words = {
            self.stem(word.lower()) for word in split(query)
            if word.lower() not in self.stopwords and not word.isdigit()
        }  # fmt: skip
        scores: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for word in words:
            whole, part = [], []
            for kind, score, less in (("terms", TERM, PART_OF_TERM),
                                      ("titleterms", TITLE, PART_OF_TITLE)):  # fmt: skip
                known = self.index[kind]
                if word in known:
                    whole.append((known[word], score))
                elif len(word) > 2:
                    part += [(files, less) for term, files in known.items() if word in term]
            for files, score in whole + part:  # the last one counts, as there
                for file in files if isinstance(files, list) else [files]:
                    scores[file][word] = score
        needed = {len(words), sum(len(word) > 2 for word in words)}
        for file, of_words in scores.items():
            if len(of_words) in needed:
                yield self.result(file, max(of_words.values()))


def split(query: str) -> list[str]:
    return re.findall(r"\w+", query)


def rounded(number: float) -> int:
    """As JavaScript rounds: a half goes up."""
    return int(number + 0.5)


if __name__ == "__main__":
    raise SystemExit(main())
