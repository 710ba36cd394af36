"""A few hundred of the mutations, and that faults are found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.readers.__main__ import attempt, fuzz, peak
from tests.readers.formats import Difference, Format, plain_rows, same


def test_files_that_were_changed_at_random(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    counts = fuzz(400, 0, tmp_path)
    assert not sum(count["fault"] for count in counts.values()), capsys.readouterr().out
    total: Counter = sum(counts.values(), Counter())
    assert total["refused"] > 200
    assert total["read"] > 10


def hangs(_: bytes) -> str:
    while True:
        pass


def wrong(_: bytes) -> str:
    raise Difference("another table")


FAULTS = {
    "KeyError": lambda data: {}[data],
    "it does compile": lambda data: exec("1") or "read",
    "it does pickle": lambda data: (
        __import__("pickle").loads(b"cfractions\nFraction\n.") and "read"
    ),
    "it takes": lambda data: str(len(b"1" * (peak() * 1024 + 2**28))),
    "Difference": wrong,
    "TimeoutError": hangs,
}


@pytest.mark.slow
@pytest.mark.parametrize("words", FAULTS)
def test_a_reader_that_does_wrong_is_a_fault(words: str, monkeypatch) -> None:
    seconds = 0.1 if words == "TimeoutError" else 5.0  # as memory takes time, too
    monkeypatch.setattr("tests.readers.__main__.SECONDS", seconds)
    result, found = attempt(Format("x", "json", b"", FAULTS[words], 1), b"")
    assert result == "fault"
    assert found.startswith(words)


def test_the_plain_reading_of_csv() -> None:
    text = 'a,"b""c"\n"d\ne",\r\nf"g,h\r\n\n'
    assert plain_rows(text) == [["a", 'b"c'], ["d\ne", ""], ['f"g', "h"], []]
    for wrong in ('"a"b', '"a'):
        with pytest.raises(Difference):
            plain_rows(wrong)


def test_equal_values() -> None:
    assert same({"a": [1, 2.0, "x", None, True]}, {"a": [1.0, 2, "x", None, True]})
    for found, wanted in ((1, True), (1, "1"), ([1], [1, 2]), ({"a": 1}, {}), (0.1, 0.2)):
        assert not same(found, wanted)
