"""The loop over small cases that most tests stand on: it tries all, and names those that fail."""

from __future__ import annotations

import inspect

import pytest

from tests.cases import each, refusals, refusals_of, refused


def test_every_case_is_tried_and_those_that_fail_are_named() -> None:
    seen = []

    @each(("a", "b"), [(1, 2), pytest.param(3, 3, id="equal"), (5, 6)])
    @each("c", [int, float], ids=["whole", "real"])
    def test(a, b, c, fixture):
        seen.append((a, b, c, fixture))
        if c is float:
            pytest.skip("no case of this")
        assert a != b, "they are equal"

    assert list(inspect.signature(test).parameters) == ["fixture"]
    with pytest.raises(AssertionError, match=r"1 of 3 cases failed\n\[equal\] (.|\n)*they are equ"):
        test(fixture=0)
    assert seen == [(a, b, c, 0) for a, b in ((1, 2), (3, 3), (5, 6)) for c in (int, float)]


def test_an_error_that_was_not_raised_is_a_failure_and_all_skipped_is_skipped() -> None:
    @each("value", ["1", "x"], ids=str)
    def test(value):
        with pytest.raises(ValueError, match="x"):
            int(value)

    with pytest.raises(AssertionError, match=r"1 of 2 cases failed\n\[1\] Failed: DID NOT RAISE"):
        test()

    @each("value", [1, 2])
    def skipped(value):
        pytest.skip("nothing to try")

    with pytest.raises(pytest.skip.Exception, match="nothing to try"):
        skipped()
    with pytest.raises(AssertionError, match="no cases of value"):
        each("value", [])


def test_a_refusal_needs_its_words_and_its_error() -> None:
    refusals((lambda: int("x"), "literal .*'x'"), (lambda: len(0), "no len", TypeError))()
    rows = [("x", "'x'"), ("y", "'x'"), ("1", "'1'"), (None, "argument", ValueError)]

    @pytest.mark.slow
    @each("base", [10, 16])
    @refused(*rows)
    @pytest.mark.ci
    def test(base, fixture, text):
        assert fixture == 0
        return int(text, base) if text else int(text)

    assert [mark.name for mark in test.pytestmark] == ["ci", "slow"]
    assert list(inspect.signature(test).parameters) == ["fixture"]
    with pytest.raises(AssertionError, match="(?s)2 of 2 .*3 of 4 cases failed") as caught:
        test(fixture=0)
    for found in ("['x'] AssertionError: Regex", "['1'] Failed: DID NOT RAISE", "[argument] TypeE"):
        assert found in str(caught.value)
    refusals_of(lambda text, base=10: int(text, base), rows[0])()
    with pytest.raises(AssertionError, match="a row without words"):
        refused(("x", ""))
