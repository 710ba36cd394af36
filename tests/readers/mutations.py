"""Changes of the bytes of a file, and of the values of JSON."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from random import Random
from typing import Any

NUMBERS = ("1e999", "-1e999", "NaN", "-Infinity", "1e-999", "-0.0", "0.1e1", "01", "+1", "1_0",
           "9" * 5000, "9" * 399, "9" * 3999, "0x10", "1.", "\u0661", "true", "null")  # fmt: skip
STRINGS = ('"\\ud800"', '"\\u0000"', '"\ufeff"', '"inf"', '""', '"' + "x" * 100_000 + '"',
           '"U100000000"', '"O"', '"../x"', "[]", "{}", "[[]]", "[" * 60 + "]" * 60,
           "[" * 100_000, '{"a":' * 3000)  # fmt: skip
CELLS = ("", '"', '"a', 'a"b', '"a"b', '"a,b"', '"a\nb"', '""', " 1", "1 ", "nan", "inf", "1e999",
         "1_0", "\u0661", "\x00", "9" * 5000, "x" * 200_000, ",", ",,", "," * 3000, "\n", "\n\n",
         "\r", "\r\n", "\t", ";", "\ufeff", "\u2028", "-", "0x1", "y", "p")  # fmt: skip


def mutated(data: bytes, random: Random, kind: str) -> bytes:
    """One to three changes."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        data = random.choice(CHANGES[kind])(data, random)
    return data


def place(data: bytes, random: Random) -> int:
    return random.randrange(len(data) + 1)


def flip(data: bytes, random: Random) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def cut(data: bytes, random: Random) -> bytes:
    return data[: place(data, random)]


def remove(data: bytes, random: Random) -> bytes:
    at = place(data, random)
    return data[:at] + data[at + random.randrange(1, 30) :]


def repeat(data: bytes, random: Random) -> bytes:
    at = place(data, random)
    return data[:at] + data[max(0, at - random.randrange(1, 40)) :]


def insert(data: bytes, random: Random) -> bytes:
    at = place(data, random)
    return data[:at] + random.randbytes(random.randrange(1, 5)) + data[at:]


def encode(data: bytes, random: Random) -> bytes:
    kind = random.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "bom", "bom16"))
    if kind.startswith("bom"):
        return (codecs.BOM_UTF8 * 2 if kind == "bom" else codecs.BOM_UTF16_BE) + data
    return data.decode("latin-1").encode(kind)


def token(words: tuple[str, ...]) -> Callable[[bytes, Random], bytes]:
    """Puts a word in the place of what stands between two separators."""

    def change(data: bytes, random: Random) -> bytes:
        ends = [k for k, byte in enumerate(data) if byte in b',:[]{}\n"'] or [0]
        at = random.choice(ends) + 1
        end = min((k for k in ends if k >= at), default=len(data))
        return data[:at] + random.choice(words).encode() + data[end:]

    return change


def value(data: bytes, random: Random) -> bytes:
    """Another value somewhere in JSON, a key twice, one less, or one more."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    holders = list(inner(document))
    if not holders:
        return data
    holder = random.choice(holders)
    key = random.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    what = random.randrange(4)
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, dict):
        return json.dumps(document).replace(f'"{key}":', f'"{key}": 1, "{key}":', 1).encode()
    elif what == 2 and isinstance(holder, list):
        random.shuffle(holder)
    else:
        holder[key] = "@"
        words = random.choice((*NUMBERS, *STRINGS))
        return json.dumps(document).replace('"@"', words, 1).encode()
    return json.dumps(document).encode()


def inner(document: Any) -> Any:
    if isinstance(document, dict | list) and document:
        yield document
        for item in document.values() if isinstance(document, dict) else document:
            yield from inner(item)


BYTES = (flip, cut, remove, repeat, insert, encode)
CHANGES: dict[str, tuple[Callable[[bytes, Random], bytes], ...]] = {
    "json": (*BYTES, value, value, value, token((*NUMBERS, *STRINGS)), token(NUMBERS)),
    "csv": (*BYTES, *[token(CELLS)] * 5),
    "parquet": BYTES[:5],
}
