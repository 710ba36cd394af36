"""Sampling by the hash of a key: the hash is fixed, uniform, and looks at the key alone."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from gbdt_objectives.priors import measured_keep_rates, negative_downsample_by_key
from gbdt_objectives.priors.sampling import INCREMENT, digest, mix, uniform_of_key
from tests.cases import each

N = 100_000


def test_published_outputs_of_splitmix64() -> None:
    """The first outputs of splitmix64.c from the state 0."""
    state = np.arange(1, 6, dtype=np.uint64) * INCREMENT
    assert [hex(int(z)) for z in mix(state)] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
        "0xf88bb8a8724c81ec",
        "0x1b39896a51a8749b",
    ]


def splitmix(z: int) -> int:
    """The output function in Python's integers."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def kept_of(y: Any, key: Any, rate: Any, **options: Any) -> np.ndarray:
    """Whether each row is kept, from the positions of those that are."""
    positions = negative_downsample_by_key(y, key, rate, **options)
    assert positions.dtype == np.int64
    assert (np.diff(positions) > 0).all()
    return np.isin(np.arange(len(y)), positions)


@pytest.mark.parametrize("seed", [0, 1, 2**63 + 5])
def test_the_hash_as_documented(seed) -> None:
    keys = [0, 1, 5, -1, -(2**63), 2**63 - 1]
    words = ["", "a", "ü", "a\0", "user 17"]
    expected = [
        (splitmix(splitmix((k + 0x9E3779B97F4A7C15) % 2**64) ^ splitmix(seed)) >> 11) / 2**53
        for k in keys
    ]
    assert uniform_of_key(keys, seed).tolist() == expected
    numbers = [int.from_bytes(blake2b(w.encode(), digest_size=8).digest(), "little") for w in words]
    of_numbers = uniform_of_key(np.array(numbers, np.uint64), seed).tolist()
    assert uniform_of_key(np.array(words, object), seed).tolist() == of_numbers
    assert uniform_of_key([w.encode() for w in ("x", "yy")], seed).tolist() == [
        uniform_of_key(["x"], seed)[0],
        uniform_of_key(["yy"], seed)[0],
    ]


def test_the_hash_never_changes() -> None:
    """Samples that were drawn stay what they were."""
    found = (uniform_of_key([1, 2, 3], 0) * 1e6).astype(int)
    assert found.tolist() == [862856, 898616, 838887]
    found = (uniform_of_key(["a", "b"], 7) * 1e6).astype(int)
    assert found.tolist() == [423696, 938388]
    assert digest(b"abc") == 6455300059550759896


@pytest.mark.parametrize(
    "keys",
    [
        np.arange(N),
        np.arange(N) * 2**20,
        np.arange(N) * 10 + 3,
        -np.arange(N),
        np.array([f"user{i}" for i in range(N)], object),
    ],
    ids=["consecutive", "high bits", "tens", "negative", "strings"],
)
def test_hashes_are_uniform_and_seeds_independent(keys) -> None:
    u, v = uniform_of_key(keys, 0), uniform_of_key(keys, 1)
    assert 0 <= u.min() <= u.max() < 1
    for table in (
        np.histogram(u, 1_000, (0, 1))[0],
        np.histogram2d(u, v, 30, [[0, 1], [0, 1]])[0].ravel(),
        np.histogram2d(u[1:], u[:-1], 30, [[0, 1], [0, 1]])[0].ravel(),  # of neighbouring keys
    ):
        expected = table.sum() / len(table)
        statistic = ((table - expected) ** 2 / expected).sum()
        assert 1e-4 < chi2.sf(statistic, len(table) - 1) < 1 - 1e-4


def labelled(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    return (np.arange(n) % 50 == 0).astype(int), np.arange(n) // 2


def test_the_rate_is_kept_within_its_standard_error() -> None:
    y, _ = labelled()
    for rate in (0.001, 0.02, 0.5, 1.0):
        kept = kept_of(y, np.arange(N), rate)
        assert kept.dtype == bool
        assert kept[y == 1].all()
        found = measured_keep_rates(y, y[kept])[0]
        m = (y == 0).sum()
        assert abs(found - rate) <= 4 * (rate * (1 - rate) / m) ** 0.5


def test_fate_depends_on_the_key_alone() -> None:
    y, key = labelled()
    rng = np.random.default_rng(0)
    kept = kept_of(y, key, 0.3, random_state=4)
    order = rng.permutation(N)
    again = kept_of(y[order], key[order], 0.3, random_state=4)
    np.testing.assert_array_equal(again, kept[order])
    part = kept_of(y[5:900], key[5:900], 0.3, random_state=4)
    np.testing.assert_array_equal(part, kept[5:900])
    negative = (y == 0).reshape(-1, 2).all(axis=1)
    pairs = kept.reshape(-1, 2)[negative]
    assert (pairs[:, 0] == pairs[:, 1]).all()  # rows of one key
    fewer = kept_of(y, key, 0.1, random_state=4)
    assert (kept | ~fewer).all()
    other = kept_of(y, key, 0.3, random_state=5)
    assert 0.3 < (other != kept)[y == 0].mean() < 0.5  # 2 (.3) (.7)
    rates = np.where(np.arange(N) < N // 2, 0.1, 0.3)
    by_row = kept_of(y, key, rates, random_state=4)
    np.testing.assert_array_equal(by_row, np.where(rates == 0.1, fewer, kept))


@each(
    "convert",
    [
        list,
        pd.Series,
        lambda k: k.astype(np.int32),
        lambda k: k.astype(np.uint16),
        lambda k: k.astype(">i8"),
        lambda k: k.astype(object),
        lambda k: pd.Series(k, dtype="Int64"),
        lambda k: pd.Series(k, index=k[::-1]),
    ],
)
def test_a_key_of_any_integer_type_is_the_same_key(convert) -> None:
    y, key = labelled(2_000)
    np.testing.assert_array_equal(
        kept_of(pd.Series(y), convert(key), 0.3),
        kept_of(y, key, 0.3),
    )


@each(
    "convert",
    [
        list,
        pd.Series,
        lambda k: k.astype("U"),
        lambda k: pd.Series(k, dtype="string"),
        lambda k: pd.Series(k, dtype="category"),
    ],
)
def test_a_string_of_any_type_is_the_same_key(convert) -> None:
    y, key = labelled(2_000)
    words = key.astype(str).astype(object)
    kept = kept_of(y, words, 0.3)
    np.testing.assert_array_equal(kept_of(y, convert(words), 0.3), kept)
    assert (kept != kept_of(y, key, 0.3)).any()


@each(
    ("y", "key", "options", "error", "message"),
    [
        ([0, 1], [1.0, 2.0], {}, TypeError, "dtype float64: convert it with .astype(str)"),
        ([0, 1], [True, False], {}, TypeError, "found dtype bool"),
        ([0, 1], np.array(["2020", "2021"], "M8[Y]"), {}, TypeError, "dtype datetime64"),
        ([0, 1], np.array(["a", None], object), {}, TypeError, "none missing, found None"),
        ([0, 1], np.array([1, np.nan], object), {}, TypeError, "none missing, found nan"),
        ([0, 1], pd.Series([1, None], dtype="Int64"), {}, TypeError, "key must hold integers"),
        ([0, 1], [2**64, 1], {}, ValueError, "integers of 64 bits, found 18446744073709551616"),
        ([0, 1], [[1], [2]], {}, ValueError, "one-dimensional, found shape (2, 1)"),
        ([0, 1], [1], {}, ValueError, "key has 1 rows, but the labels have 2"),
        ([0, 2], [1, 2], {}, ValueError, "must be 0 (negative) or 1 (positive), found 2"),
        ([0, 0], [1, 2], {}, ValueError, "no row of the label 1"),
        ([1, 1], [1, 2], {}, ValueError, "no row of the label 0"),
        (["a", "b"], [1, 2], {}, TypeError, "y must be 0 (negative) or 1 (positive)"),
        ([0, 1], [1, 2], {"negative_keep_rate": 0.0}, ValueError, "must be in (0, 1], found 0.0"),
        ([0, 1], [1, 2], {"negative_keep_rate": 1e-9}, ValueError, "the sample has none: raise"),
        ([0, 1], [1, 2], {"negative_keep_rate": [0.5]}, ValueError, "negative_keep_rate has 1"),
        (
            [0, 1],
            [1, 2],
            {"random_state": -1},
            ValueError,
            ">= 0, found -1",
        ),
        ([0, 1], [1, 2], {"random_state": 0.5}, TypeError, "random_state must be a whole number"),
    ],
)
def test_bad_input(y, key, options, error, message) -> None:
    with pytest.raises(error) as caught:
        negative_downsample_by_key(y, key, **{"negative_keep_rate": 0.5} | options)
    assert message in str(caught.value)
