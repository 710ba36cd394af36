"""Texts that would take memory or time are refused by name, before they do."""

from __future__ import annotations

import json

import pytest

from gbdt_objectives._steps import steps as _json
from gbdt_objectives._steps.steps import LONGEST, MOST_VALUES, parse
from gbdt_objectives.thresholds import Thresholds

TEXT = Thresholds([0.5], ["a", "b"]).to_json()

HOSTILE = {
    "characters": (" " * (LONGEST + 1), "at most 67,108,864 characters"),
    "values": ("[" + "1," * MOST_VALUES + "1]", "at most 4,000,000 values, found 4,000,001"),
    "depth": ("[" * 51 + "]" * 51, "more than 50 levels"),
    "depth of both": ('{"a":[' * 26 + "]}" * 26, "more than 50 levels"),
    "digits": ("9" * 5000, "an integer of 5,000 digits"),
    "size": ("[-1e999]", "-1e999, which is too large"),
    "quotes": ('"' + r"\"" * 1_000_000, "not complete JSON"),  # minutes, if searched from each
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused(name: str) -> None:
    text, words = HOSTILE[name]
    with pytest.raises(ValueError, match=words):
        parse(text)


def test_what_is_within_the_limits_is_read() -> None:
    assert json.dumps(parse("[" * 50 + "]" * 50)) == "[" * 50 + "]" * 50
    for text in ('"[[[\\"[[\\\\"', '["]", "' + "[" * 60 + '"]', str(10**399), "1e308"):
        assert parse(text) == json.loads(text)


@pytest.mark.parametrize("width", [10**8, 2**27])
def test_a_dtype_takes_no_more_memory_than_the_text_may(width: int) -> None:
    """100 bytes took 2.3 GB."""
    with pytest.raises(ValueError, match=f"dtype 'U{width}' of 2 labels takes too much memory"):
        Thresholds.from_json(TEXT.replace('"U1"', f'"U{width}"'))


def test_what_could_not_be_read_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_json, "LONGEST", 50)
    with pytest.raises(ValueError, match="the JSON must have at most 50 characters"):
        Thresholds([0.5], ["a", "b"]).to_json()
