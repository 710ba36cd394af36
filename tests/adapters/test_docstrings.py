"""What help says of each library's train and estimators, with its own words."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import pytest

from tests.adapters.library import XGB, Library, both

WORDS = {
    "xgboost": (
        "XGBoost's parameters", "data : xgboost.DMatrix", "goes into ``base_score``,",
        "``output_margin=True`` always gives margins", "Passed to ``xgboost.train``",
        "xgboost.Booster\n",
    ),
    "lightgbm": (
        "LightGBM's parameters", "data : lightgbm.Dataset", "into the leaves of the first tree,",
        "``raw_score=True`` always gives margins", "Passed to ``lightgbm.train``",
        "lightgbm.Booster\n",
    ),
}  # fmt: skip


@both
def test_the_words_are_the_librarys_own(lib: Library) -> None:
    text = lib.train.__doc__
    assert text is not None
    for words in WORDS[lib.name]:
        assert words in text, words
    assert ("LightGBM" if lib is XGB else "XGBoost") not in text


OTHERS = {"catboost": "CatBoost", "sklearn": "scikit-learn"}


@pytest.mark.parametrize("name", OTHERS)
def test_estimators_have_the_words_of_their_library_alone(name: str) -> None:
    pytest.importorskip(name)
    room = import_module(f"gbdt_objectives.adapters.{name}")
    kinds = [thing for thing in vars(room).values() if isinstance(thing, type)]
    assert len(kinds) == 2
    for kind in kinds:
        text = str(inspect.getdoc(kind))
        assert f"{OTHERS[name]}'s own ``{kind.__name__}``" in text
        assert not re.search(r"XGB|LightGBM|n_estimators|raw_score|output_margin|[{}]", text)
