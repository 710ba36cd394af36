"""What ``python -m tests.mutation`` breaks, and what it leaves alone."""

from __future__ import annotations

import pytest

pytest.importorskip("mutmut", reason="the extra mutation")

from tests.mutation.__main__ import drawn, note

SOURCE = '''
__all__ = ["f"]
Array = NDArray[float]
T = TypeVar("T", bound=object)

def f(x: list[int], least=0):
    """At least 0."""
    m = _checks.number("m", x[0])
    if m < least:
        raise ValueError(f"m must be {least + 1}, found {'m'}")
    return g(m, axis=1)
'''


def test_mutants_are_of_what_is_computed_and_never_of_texts_or_types() -> None:
    count, mutants = drawn(SOURCE, None, "")
    assert count == len(mutants)
    assert {(m.line, m.after) for m in mutants} == {
        (6, "def f(x: list[int], least=1):"),
        (8, 'm = _checks.number("m", x[1])'),
        (8, "m = _checks.number(x[0])"),
        (8, 'm = _checks.number("m", )'),
        (9, "if m <= least:"),
        (11, "return g(axis=1)"),
        (11, "return g(m, )"),
        (11, "return g(m, axis=2)"),
    }
    assert all(m.code.count("\n") == SOURCE.count("\n") for m in mutants)


def test_a_seed_draws_the_same_mutants_again() -> None:
    count, some = drawn(SOURCE, 3, "7")
    assert (count, len(some)) == (8, 3)
    assert some == drawn(SOURCE, 3, "7")[1] != drawn(SOURCE, 3, "8")[1]


def test_a_survivor_keeps_its_reason_until_it_is_killed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tests.mutation.__main__.HERE", tmp_path)
    listed, row = tmp_path / "survivors.csv", {"file": "a.py", "tried": 3}
    some = drawn(SOURCE, 2, "")[1]
    assert note(row, some) == 2
    listed.write_text(listed.read_text().replace(",\n", ",nobody could tell\n", 1))
    assert note(row, some) == 1
    assert note({**row, "file": "b.py"}, []) == 0
    assert listed.read_text().count("a.py") == 2
    assert note(row, []) == 0
    assert "a.py" not in listed.read_text()
