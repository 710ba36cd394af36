"""One example: draw arguments, call the package, call the reference, compare, make it small."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mpmath import mp, mpf

from tests.fuzz.generators import Draw

Arguments = dict[str, Any]
SPOILED = 0.04
"""Share of the examples in which an argument of the rows is made wrong, and must be refused."""


@dataclass(frozen=True)
class Near:
    """A number and how far the package may be from it; ``error`` is absolute.

    nan and infinities must be met as they are.
    """

    value: Any
    error: Any = 0.0

    def wrong(self, found: Any) -> bool:
        found, value = mp.mpf(float(found)), as_mpf(self.value)
        if mp.isnan(value) or mp.isnan(found):
            return bool(mp.isnan(value) != mp.isnan(found))
        if mp.isinf(value) or mp.isinf(found):
            return bool(value != found)
        return bool(abs(found - value) > as_mpf(self.error))

    def __repr__(self) -> str:
        return f"{mp.nstr(as_mpf(self.value), 17)} +- {mp.nstr(as_mpf(self.error), 2)}"


@dataclass(frozen=True)
class Same:
    """A value that the package must give exactly: labels, positions, counts, words."""

    value: Any

    def wrong(self, found: Any) -> bool:
        return bool(plain(found) != plain(self.value))

    def __repr__(self) -> str:
        return repr(plain(self.value))


@dataclass(frozen=True)
class Holds:
    """A property of what the package gives, and what it is called."""

    says: str
    test: Callable[[Any], bool]

    def wrong(self, found: Any) -> bool:
        return not self.test(found)

    def __repr__(self) -> str:
        return self.says


class Outside(Exception):
    """Raised by a reference: the documentation refuses these arguments, and names this one."""


class Unclear(Exception):
    """Raised by a reference that cannot say what is right, such as a tie that rounding decides."""


@dataclass(frozen=True)
class Check:
    """A public function beside its reference.

    ``draw`` gives arguments by name; ``call`` is the package and ``reference`` the slow way, both
    of these arguments. They return one value, a sequence or a mapping of the same form, of numbers
    and of :class:`Near`, :class:`Same` or :class:`Holds`. ``rows`` names the arguments that hold a
    value of each row; ``weights`` those of them that are weights. ``share``: how often it is drawn.
    """

    name: str
    draw: Callable[[Draw], Arguments]
    call: Callable[..., Any]
    reference: Callable[..., Any]
    rows: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    share: float = 1.0
    covers: tuple[str, ...] = ()
    may_warn: bool = False


@dataclass
class Failure:
    kind: str
    check: Check
    arguments: Arguments
    found: str
    expected: str
    seed: int = 0
    example: int = 0

    def __str__(self) -> str:
        given = ", ".join(f"{name}={shown(value)}" for name, value in self.arguments.items())
        again = f"python -m tests.fuzz --seed {self.seed} --first {self.example} --examples 1"
        return (
            f"{self.check.name}: {self.kind}\n  {self.check.call.__name__}({given})\n"
            f"  package:   {self.found}\n  reference: {self.expected}\n  again:     {again}"
        )


@dataclass
class Tally:
    """How many examples of each check were compared, refused by both, or left open."""

    compared: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    unclear: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, kind: str, name: str) -> None:
        counts = getattr(self, kind)
        counts[name] = counts.get(name, 0) + 1


def try_example(check: Check, arguments: Arguments, spoiled: str | None) -> tuple[str, Any]:
    """What became of an example: ("compared" | "refused" | "unclear", None), or a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if spoiled is not None:
                raise Outside(spoiled)
            expected = check.reference(**copied(arguments))
        except Outside as refusal:
            expected = refusal
        except Unclear:
            return "unclear", None
        except Exception as error:  # a defect of the reference
            return "the reference fails", ("not called", f"{type(error).__name__}: {error}")
        if not check.may_warn:  # a warning of numpy is a defect, as in all tests
            warnings.simplefilter("error", RuntimeWarning)
        try:
            found = check.call(**copied(arguments))
        except (ValueError, TypeError) as error:
            if not isinstance(expected, Outside):
                kind = "a valid input is refused"
                return kind, (f"{type(error).__name__}: {error}", repr(expected))
            names = str(expected).split("|") + ["exactly one"] * (spoiled is not None)
            if any(name in str(error) for name in names):
                return "refused", None
            return "the refusal names another argument", (str(error), str(expected))
        except Exception as error:
            return "it crashes", (f"{type(error).__name__}: {error}", repr(expected))
    if isinstance(expected, Outside):
        return "an invalid input is accepted", (shown(found), f"refuses {expected}")
    try:
        different = difference(found, expected)
    except Exception as error:
        return "the reference fails", (shown(found), f"{type(error).__name__}: {error}")
    return ("compared", None) if different is None else ("the values differ", different)


def difference(found: Any, expected: Any, where: str = "") -> tuple[str, str] | None:
    """The first place where they differ, as two texts; None if nowhere."""
    if isinstance(expected, Near | Same | Holds):
        if not expected.wrong(found):
            return None
        return f"{where}{shown(found)}", f"{where}{expected!r}"
    if isinstance(expected, Mapping):
        for key, value in expected.items():
            own = found[key] if isinstance(found, Mapping) else getattr(found, key)
            different = difference(own, value, f"{where}{key} ")
            if different:
                return different
        return None
    if len(found) != len(expected):
        return f"{where}{shown(found)}", f"{where}{len(expected)} values: {expected!r}"
    for k, value in enumerate(expected):
        different = difference(found[k], value, f"{where}[{k}] ")
        if different:
            return different
    return None


def spoil(check: Check, arguments: Arguments, draw: Draw) -> tuple[Arguments, str] | None:
    """The arguments with one that no function may take, and what the refusal may name."""
    given = [name for name in check.rows if arguments.get(name) is not None]
    if not given or is_refused(check, arguments):
        return None
    name = draw.of(given)
    values = np.asarray(arguments[name])
    kinds = ["short"] if len(given) > 1 else []
    if values.dtype.kind in "biuf" and name != "groups":
        kinds.append("nan")
    if name == "sample_weight":
        kinds += ["negative", "none"]
    if not kinds:
        return None
    kind, wrong = draw.of(kinds), np.array(values)
    names = name
    if kind == "short":
        wrong, names = wrong[:-1], "|".join([*given, "rows", "labels", "must match"])
    elif kind == "nan":
        at = draw.below(len(wrong))
        wrong = wrong.astype(np.float64)
        wrong[at] = draw.of([np.nan, np.inf, -np.inf])
        names = f"{name}|labels|probability|segments|groups|margin|threshold"
    else:
        wrong = -np.abs(wrong.astype(np.float64)) - 1 if kind == "negative" else wrong * 0
    return {**arguments, name: wrong}, names


def is_refused(check: Check, arguments: Arguments) -> bool:
    try:
        check.reference(**copied(arguments))
    except Outside:
        return True
    except Unclear:
        pass
    return False


def smallest(check: Check, arguments: Arguments, kind: str) -> tuple[Arguments, Any]:
    """Arguments of few rows and short numbers that fail in the same way, and how."""

    def fails(tried: Arguments) -> Any:
        try:
            found, what = try_example(check, tried, None)
        except Exception:  # the reference cannot read them
            return None
        return what if found == kind else None

    best, what = arguments, fails(arguments)
    if what is None:  # of spoiled arguments, or of a state that is gone
        return arguments, None
    for name in check.optional:
        if best.get(name) is not None:
            tried = {**best, name: None}
            best, what = (tried, w) if (w := fails(tried)) else (best, what)
    rows = [name for name in check.rows if best.get(name) is not None]
    step = len(best[rows[0]]) // 2 if rows else 0
    while step:
        start = 0
        while start < len(best[rows[0]]):
            kept = np.r_[0:start, start + step : len(best[rows[0]])]
            tried = {**best, **{name: taken(best[name], kept) for name in rows}}
            if len(kept) and (w := fails(tried)):
                best, what = tried, w
            else:
                start += step
        step //= 2
    for name in rows:
        for digits in (0, 1, 3):
            if isinstance(best[name], np.ndarray) and best[name].dtype.kind == "f":
                tried = {**best, name: best[name].round(digits)}
                if w := fails(tried):
                    best, what = tried, w
                    break
    return best, what


def taken(values: Any, at: Any) -> Any:
    return values[at] if isinstance(values, np.ndarray) else [values[int(i)] for i in at]


def copied(arguments: Arguments) -> Arguments:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}


def as_mpf(value: Any) -> Any:
    if hasattr(value, "numerator") and not isinstance(value, int | np.integer):
        return mpf(value.numerator) / value.denominator
    return mpf(value) if not isinstance(value, np.generic) else mpf(value.item())


def plain(value: Any) -> Any:
    return np.asarray(value).tolist() if hasattr(value, "dtype") else value


def shown(value: Any) -> str:
    """A value that can be pasted, of all its digits."""
    if isinstance(value, np.ndarray):
        dtype = "" if value.dtype in (np.float64, np.int64) else f", dtype={value.dtype.str!r}"
        if value.dtype.kind in "OUSb":
            dtype = ", dtype=object" if value.dtype.kind == "O" else ""
        return f"np.array({value.tolist()!r}{dtype})"
    if isinstance(value, np.generic):
        return repr(value.item())
    return repr(value)
