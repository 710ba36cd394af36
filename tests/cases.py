"""Many small cases of one test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def each(
    names: str | Sequence[str],
    cases: Iterable[Any],
    ids: Callable[[Any], Any] | Iterable[Any] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """pytest.mark.parametrize in one test, which tries all cases and names those that fail.

    It is for cases of a few milliseconds, on which pytest spends more time than they take. All
    cases get the same objects from fixtures, so a case must not leave anything in them.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    given = None if ids is None or callable(ids) else list(ids)
    tried = []
    for i, case in enumerate(cases):
        if isinstance(case, type(pytest.param())):
            assert not case.marks, "marks are for pytest.mark.parametrize"
            values, name = case.values, case.id
        else:
            values, name = (case,) if len(arguments) == 1 else tuple(case), None
        assert len(values) == len(arguments), f"{arguments} in case {i}: {values}"
        if name is None and given is not None:
            name = given[i]
        tried.append((name or "-".join(shown(value, ids) for value in values), values))
    assert tried, f"no cases of {names}"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        rest = [p for name, p in signature.parameters.items() if name not in arguments]

        @functools.wraps(test)
        def all_cases(**fixtures: Any) -> None:
            __tracebackhide__ = True
            failed: list[tuple[Any, BaseException]] = []
            skipped: list[BaseException] = []
            for name, values in tried:
                try:
                    test(**fixtures, **dict(zip(arguments, values, strict=True)))
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as error:
                    failed.append((name, error))
            if failed:
                lines = [f"[{name}] {type(error).__name__}: {error}" for name, error in failed]
                found = f"{len(failed)} of {len(tried)} cases failed\n" + "\n".join(lines)
                raise AssertionError(found) from failed[0][1]
            if len(skipped) == len(tried):
                raise skipped[0]

        all_cases.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return all_cases

    return decorate


def refused(*rows: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """A test that each call is refused, in one test as with each.

    A row holds the last arguments of the call, words that the message must hold (a pattern) and,
    where it is no ValueError, the error. The first arguments, if there are more, are fixtures.
    """
    split = [row if isinstance(row[-1], type) else (*row, ValueError) for row in rows]
    cases = [(arguments, words, error) for *arguments, words, error in split]
    assert all(words and isinstance(words, str) for _, words, _ in cases), "a row without words"

    def decorate(call: Callable[..., Any]) -> Callable[..., None]:
        needed = [p for p in inspect.signature(call).parameters.values() if p.default is p.empty]
        first = needed[: max(0, len(needed) - len(cases[0][0]))]

        def test(arguments: list[Any], words: str, error: type[Exception], **given: Any) -> None:
            with pytest.raises(error, match=words):
                call(*(given[p.name] for p in first), *arguments)

        parameters = list(inspect.signature(test).parameters.values())[:3]
        signature = inspect.Signature([*parameters, *first])
        test.__signature__ = signature  # type: ignore[attr-defined]
        tried = each(("arguments", "words", "error"), cases, ids=[row[1] for row in cases])(test)
        tried.__dict__["pytestmark"] = getattr(call, "pytestmark", [])
        return tried

    return decorate


def refusals_of(call: Callable[..., Any], *rows: tuple[Any, ...]) -> Callable[..., None]:
    """The test of one call: ``test_bad = refusals_of(int, ("x", "literal .*'x'"), ...)``"""
    return refused(*rows)(call)


def refusals(*rows: tuple[Any, ...]) -> Callable[..., None]:
    """The test of many calls: ``test_bad = refusals((lambda: int("x"), "literal .*'x'"), ...)``"""
    return refused(*rows)(lambda call: call())


def shown(value: Any, ids: Any) -> str:
    name = ids(value) if callable(ids) else None
    return str(getattr(value, "__name__", repr(value)) if name is None else name)[:60]
