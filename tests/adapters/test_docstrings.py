"""What help says of each library's train, with its own words."""

from __future__ import annotations

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
