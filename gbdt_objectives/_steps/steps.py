"""Steps: formulas with their numbers, which turn a booster's margins into what a model predicts.

A step is a dict: the name of a formula, and its numbers, of which arrays are lists in JSON.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown
from gbdt_objectives._rows.rows import blocks
from gbdt_objectives._steps.formulas import apply

if TYPE_CHECKING:
    from typing_extensions import Self


Step = dict[str, Any]
Steps = tuple[Step, ...]

BLOCK_BYTES = 1 << 17  # the terms of a formula are new memory: so small, it is still in the cache


def evaluate(v: Array, *steps: Step) -> Array:
    """What the steps make of values (n,) or (n, K), float64, a block of rows at a time."""
    found = np.empty(0)
    for k, rows in enumerate(blocks(v, BLOCK_BYTES) or [slice(0, 0)]):
        part = v[rows]
        for step in steps:
            part = apply(part, **step)
        if k == 0:
            found = np.empty((len(v), *part.shape[1:]))
        found[rows] = part
    return found


def correct_positives(p: Array, d: float) -> Array:
    """Return 1 / (1 + exp(-d) (1-p)/p), (n,): each step is monotone, rounded or not."""
    odds_ratio = p.dtype.type(math.exp(-d))
    q = np.empty_like(p)
    for rows in blocks(p):
        out = np.subtract(1, p[rows], out=q[rows])
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # p = 0: 1/inf is 0
            out /= p[rows]
            if not out.min() >= 0:
                _checks.in_unit_interval("probability", p)
            out *= odds_ratio
        out += 1
        np.reciprocal(out, out=out)
    return q


Reader = Callable[[str, Any], Any]  # name and value of a key to the checked value, or ValueError

LONGEST = 2**26  # the most characters of a text, and the most bytes of the labels in it
MOST_VALUES = 4_000_000  # the most values: commas and opening brackets, of which memory is made
DEEPEST = 50  # the most brackets around a value; no format has a fifth of it
MOST_DIGITS = 4000  # of an integer: a float holds 309; since 3.10.7 Python reads no 4,301
PLAIN = (str, int, bool, type(None))  # what JSON has as it is


SEAL = "sha256"  # the key of the checksum of all other keys


def seal(document: Mapping[str, Any]) -> str:
    """The SHA-256 of all of a document but its own."""
    rest = {key: value for key, value in document.items() if key != SEAL}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def as_whole(document: Mapping[str, Any]) -> Any:
    """The document with 1 for 1.0, as other writers of JSON make one of the other."""

    def whole(digits: str) -> float:
        number = float(digits)
        return int(number) if number.is_integer() else number

    return json.loads(json.dumps(document), parse_float=whole)


class SavedAsJSON:
    """Mixin of an estimator with ``to_json`` and ``from_json``. ``_saved`` is the format: the
    reader of each key, a parameter or a fitted attribute without its underscore. A key of
    ``_left_out`` is written only where its value is another than there."""

    _saved: ClassVar[Mapping[str, Reader]]
    _left_out: ClassVar[Mapping[str, Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Say which method is meant: it is no function."""
        own = [f"its method {name}" for name in ("apply", "predict") if hasattr(self, name)]
        instead = [*own, "correct_probability(probability, shift)"][0]
        raise TypeError(f"{type(self).__name__} is no function: call {instead}")

    def to_json(self) -> str:
        """The fitted estimator as JSON, readable without this package.

        Its key ``sha256`` is a checksum of the values, by which :meth:`from_json` refuses a text
        that was changed. Give it the value ``null`` if you change the text on purpose.

        ValueError is raised for what JSON cannot hold (a metric without a name; classes that are
        neither numbers nor strings), and for more than :meth:`from_json` reads.
        """
        text = json.dumps(self._document(sealed=True), allow_nan=False)
        check_size(text, "the JSON")
        return text

    def _document(self, *, sealed: bool = False) -> dict[str, Any]:
        """What the JSON says; without a checksum in a document that has one of its own."""
        if hasattr(self, "get_params"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self)
        values = {
            key: plain(read(key, plain(value)))
            for (key, read), value in zip(self._saved.items(), self._values(), strict=True)
        }
        for key, usual in self._left_out.items():
            if values[key] == usual:
                del values[key]
        document = {"format": _formats(type(self))[sealed], **values}
        return {**document, SEAL: seal(as_whole(document))} if sealed else document

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A fitted estimator, with its parameters, from what :meth:`to_json` wrote.

        ValueError is raised for text that is truncated, not JSON, not of this format, changed, or
        larger than 67,108,864 characters, 4,000,000 values and 50 levels; TypeError if it is not a
        str. The layout, the order of keys and 1 in place of 1.0 do not matter.
        """
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, found {type(text).__name__}: read the file first")
        found, (old, new) = parse(text), _formats(cls)
        if not isinstance(found, dict) or found.get("format") not in (old, new):
            other = found.get("format") if isinstance(found, dict) else found
            raise ValueError(
                f"text is JSON of another format, found {str(other)[:80]!r} instead of {new!r}: "
                f"read what {cls.__name__}.to_json() of this version wrote"
            )
        given = found.pop(SEAL, None)
        data = {**cls._left_out, **found}
        if data.keys() != {"format", *cls._saved}:
            raise ValueError(
                f"text must have the keys {sorted({'format', *cls._saved})}, found {sorted(data)}: "
                "it was changed or truncated"
            )
        restored = cls._restore({key: read(key, data[key]) for key, read in cls._saved.items()})
        if given is not None and given != (found := restored._document(sealed=True)[SEAL]):
            raise ValueError(
                f"text was changed after to_json() wrote it: the {SEAL} of its values must be "
                f"{shown(given)}, found {found!r}. Read the text as it was, or give it the key "
                f'"{SEAL}": null if the change is meant'
            )
        return restored

    def _values(self) -> list[Any]:
        return [getattr(self, key if hasattr(self, key) else f"{key}_") for key in self._saved]

    @classmethod
    def _restore(cls, data: dict[str, Any]) -> Self:
        estimator = cls()
        for key, value in data.items():
            setattr(estimator, key if hasattr(estimator, key) else f"{key}_", value)
        return estimator


def read_one_of(*words: str) -> Reader:
    return lambda key, value: _checks.choice(key, value, words)


def read_number(key: str, value: object) -> float:
    if not is_finite_number(value):
        raise ValueError(f"{key} must be a finite number, found {repr(value)[:80]}")
    return float(value)  # type: ignore[arg-type]


def read_number_or_none(key: str, value: object) -> float | None:
    return None if value is None else read_number(key, value)


def is_finite_number(value: object) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False


def read_numbers(key: str, values: object) -> Array:
    """A list of one number or more."""
    if not isinstance(values, list) or not values:
        raise ValueError(f"{key} must be a list of numbers, found {shown(values)}")
    if set(map(type, values)) <= {int, float}:
        with suppress(OverflowError):
            found = np.array(values, np.float64)
            if np.isfinite(found).all():
                return found
    return np.array([read_number(key, value) for value in values])  # which says what is wrong


def read_range(key: str, values: Any) -> tuple[float, float] | None:
    """The lowest and the highest of some numbers; None if they are not known."""
    if values is None:
        return None
    low, *_, high = ends = read_numbers(key, values).tolist() * 2
    if len(ends) != 4 or low > high:
        raise ValueError(f"{key} must be a lowest and a highest number, found {shown(values)}")
    return low, high


def read_flag(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false, found {repr(value)[:80]}")
    return value


def _formats(cls: type) -> tuple[str, str]:
    """The format without a checksum, as 0.1.0rc2 and folders have it, and that with one."""
    return f"gbdt_objectives.{cls.__name__}/1", f"gbdt_objectives.{cls.__name__}/2"


def plain(value: Any) -> Any:
    """Arrays, and numbers of numpy, as the json module wants them; an infinite one is a word."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        return [
            item
            if type(item) in PLAIN or (type(item) is float and math.isfinite(item))
            else plain(item)
            for item in value
        ]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def parse(text: str, name: str = "text", writer: str = "to_json()") -> Any:
    """JSON without numbers and keys that JSON does not have; ``name`` is what messages call it."""
    check_size(text, name)
    if _depth(text) > DEEPEST:
        raise ValueError(
            f"{name} is nested too deeply, in more than {DEEPEST} levels: {writer} did not write it"
        )
    numbers: dict[str, Any] = {}
    if MAY_BE_HUGE.search(text):  # else json's own are right, and ten times as fast
        numbers = {"parse_int": _read_int, "parse_float": _read_float}
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys, **numbers
        )
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{name} is not complete JSON, {error}: was the file truncated? Write it again with "
            f"{writer}"
        ) from None


def check_size(text: str, name: str) -> None:
    """Raise for a text that would take more memory than anything that is fitted."""
    if len(text) > LONGEST:
        raise ValueError(
            f"{name} must have at most {LONGEST:,} characters, found more: is it the file that was "
            "meant? A fitted calibrator needs a few thousand"
        )
    values = sum(map(text.count, ",[{"))
    if values > MOST_VALUES:
        raise ValueError(
            f"{name} must have at most {MOST_VALUES:,} values, found {values:,}: is it the file "
            "that was meant? Fit on scores that were rounded, which have fewer different values"
        )


def _depth(text: str) -> int:
    """How many brackets are open at most, or the first number above ``DEEPEST``. The pattern of a
    string matches one without an end too, as a search from each of its quotes takes forever."""
    depth = deepest = 0
    for found in re.finditer(r'"[^"\\]*(?:\\.?[^"\\]*)*"?|[\[\]{}]', text, re.DOTALL):
        bracket = found[0]
        depth += (bracket in "[{") - (bracket in "]}")
        deepest = max(deepest, depth)
        if deepest > DEEPEST:
            break
    return deepest


MAY_BE_HUGE = re.compile(r"\d{300}|[eE]\+?\d{3}")
"""Digits of which a number may be too large for a float or an integer."""


def _read_int(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(
            f"text holds an integer of {len(digits):,} digits: at most {MOST_DIGITS} are read"
        )
    return int(digits)


def _read_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"text holds {digits[:80]}, which is too large for a float")
    return number


def _refuse_constant(name: str) -> float:
    raise ValueError(
        f'text holds {name}, which is not JSON: infinite numbers are written "-inf", "inf"'
    )


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError(f"text gives a key twice, found {[key for key, _ in pairs]}")
    return data


POOLS = 2000  # pools that curves are fitted on: far finer than a spline of five knots can follow

KNOTS = ((0.1, 0.9), (0.1, 0.5, 0.9), (0.05, 0.275, 0.5, 0.725, 0.95))
"""Shares of rows below the knots of splines (Harrell 2015, table 2.3); two make a straight line."""


def number_pools(score: Array, w: Array) -> Array:
    """The pool of each row of rising scores: of about equal weight, one for all rows of a score."""
    own = np.cumsum(np.append(False, score[1:] != score[:-1]))
    W = np.bincount(own, w)
    pool = np.minimum((np.cumsum(W) - W / 2) * (POOLS / w.sum()), POOLS - 1).astype(np.intp)[own]
    return np.asarray(np.cumsum(np.append(False, pool[1:] != pool[:-1])))


def isotonic(values: Array, weight: Array) -> Array:
    """The rising fit of least squares."""
    from sklearn.isotonic import isotonic_regression

    return np.asarray(isotonic_regression(values, sample_weight=weight))


def mean_scores(score: Array, w: Array, pool: Array, W: Array) -> Array:
    """The mean score of each pool, whose weights are W."""
    unit = float(np.abs(score).max()) or 1.0  # whose products do not overflow
    return np.asarray(np.bincount(pool, w * (score / unit)) / W * unit)


def normal_scores(weight: Array) -> Array:
    """The normal quantiles of the mid-ranks of pools in ascending order."""
    from scipy.special import ndtri

    below = np.cumsum(weight)
    return np.asarray(ndtri((below - weight / 2) / below[-1]))


def bases(q: Array, weight: Array) -> list[Array]:
    """The bases of all numbers of knots for which there are pools enough, (P, k) each."""
    below = np.cumsum(weight)
    found = []
    for shares in KNOTS:
        knots = np.unique(q[np.searchsorted(below, below[-1] * np.array(shares))])
        if len(knots) == len(shares):
            found.append(natural_spline(q, knots))
    return found


def natural_spline(q: Array, knots: Array) -> Array:
    """The basis 1, q, ... of cubic splines that are straight beyond the outer knots, (P, k)."""

    def cube(knot: float) -> Array:
        return np.asarray(np.maximum((q - knot) / (knots[-1] - knots[0]), 0) ** 3)

    basis = [np.ones(len(q)), q]
    for knot in knots[:-2]:
        last = (knots[-1] - knot) / (knots[-1] - knots[-2])
        basis.append(cube(knot) - last * cube(knots[-2]) + (last - 1) * cube(knots[-1]))
    return np.column_stack(basis)
