"""A hash of keys that never changes: every machine, process and version computes the same one.

::

    integer   k mod 2^64, two's complement
    string    the 8-byte BLAKE2b digest of its UTF-8 bytes, little-endian
    bytes     the 8-byte BLAKE2b digest of the bytes, little-endian
    uniform   (mix(mix(k + g) ^ mix(seed)) >> 11) / 2^53,    in [0, 1)

mix is the output function of SplitMix64, and g = 0x9E3779B97F4A7C15 its increment.

References: Steele, Lea & Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA,
with the constants of Vigna's splitmix64.c; RFC 7693 for BLAKE2.
"""

from __future__ import annotations

import numbers
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbdt_objectives import _checks
from gbdt_objectives._checks import Array, shown

INCREMENT = np.uint64(0x9E3779B97F4A7C15)


def uniform_of_key(key: ArrayLike, seed: int) -> Array:
    """A number in [0, 1) for each key, float64 (n,), that depends on it and the seed alone."""
    start = mix(np.array([seed & (2**64 - 1)], np.uint64))
    uniform: Array = (mix(mix(key_bits(key) + INCREMENT) ^ start) >> np.uint64(11)) * 2.0**-53
    return uniform


def mix(z: Array) -> Array:
    """A permutation of 64 bits: each input bit changes half of the output."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = z ^ (z >> np.uint64(31))
    return mixed


def key_bits(key: ArrayLike) -> Array:
    """Integers, strings or bytes as uint64 (n,)."""
    values = _checks.as_array("key", key)
    if values.ndim != 1:
        raise ValueError(
            f"key must be one-dimensional, found shape {values.shape}: join several columns "
            "into one string"
        )
    if values.dtype.kind in "iu":
        bits: Array = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
        return bits.view(np.uint64)
    if values.dtype.kind not in "OUST":
        raise TypeError(
            f"key must hold integers or strings, found dtype {values.dtype}: convert it with "
            ".astype(str), or whole numbers without missing ones with .astype('int64')"
        )
    return np.fromiter(map(bits_of_object, values.tolist()), np.uint64, len(values))


def bits_of_object(key: Any) -> int:
    if isinstance(key, str):
        return digest(key.encode("utf-8", "surrogatepass"))
    if isinstance(key, bytes):
        return digest(key)
    if isinstance(key, numbers.Integral) and not isinstance(key, bool):
        number = int(key)
        if not -(2**63) <= number < 2**64:
            raise ValueError(f"key must be integers of 64 bits, found {number}: make them strings")
        return number & (2**64 - 1)
    raise TypeError(
        f"key must hold integers or strings, none missing, found {shown(key)}: give rows without a "
        "key one of their own, and convert others with .astype(str)"
    )


def digest(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little")
