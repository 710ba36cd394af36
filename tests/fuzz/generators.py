"""Arguments that are nasty on purpose: ties, empty classes, extreme weights, tails, few rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

EDGES = (0.0, 1.0, 1e-300, 1e-16, 1 - 2.0**-53, 0.5)
"""Probabilities at which something rounds."""


class Draw:
    """Random arguments of one example."""

    def __init__(self, seed: int, example: int) -> None:
        self.rng = np.random.default_rng([seed, example])

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def below(self, n: int) -> int:
        return int(self.rng.integers(n))

    def between(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def of(self, values: Sequence[Any]) -> Any:
        return values[self.below(len(values))]

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        return float(self.rng.uniform(low, high))

    def rows(self, most: int = 40, many: int = 300, least: int = 1) -> int:
        """How many rows: mostly few, sometimes many."""
        if many > most and self.chance(0.02):
            return many
        return self.between(least, self.of([max(least, min(6, most)), most]))

    def classes(self, most: int = 10) -> int:
        return self.of([2, 2, 3, self.between(2, most)])

    def positions(self, n: int, K: int) -> Array:
        """Class positions 0 to K-1: of all classes, of some, of one, or a row for each."""
        kind = self.below(6)
        if kind == 0:
            return self.rng.permutation(np.arange(n) % K)
        if kind == 1:  # a rare class
            y = np.full(n, self.below(K))
            y[self.below(n)] = self.below(K)
            return y
        if kind == 2:  # only some of them
            some = self.rng.choice(K, self.between(1, K), replace=False)
            return self.rng.choice(some, n)
        return self.rng.integers(0, K, n)

    def labels(self, n: int, K: int) -> tuple[Array, int]:
        """Integer labels in any integer or float type, which need not begin at 0, and the first."""
        first = self.of([0, 0, 0, 1, -3, 7])
        y = self.positions(n, K) + first
        kinds = ["i8", "i8", "i4", "i1", "f8", "f4", "i2", *(["u1"] if first >= 0 else [])]
        return y.astype(self.of(kinds)), first

    def binary(self, n: int, both: bool = False) -> Array:
        y = self.positions(n, 2)
        if both and n > 1 and y.min() == y.max():
            y[self.below(n)] = 1 - y[0]
        return y.astype(self.of(["i8", "f8", "?", "f4", "u1"]))

    def soft(self, n: int) -> Array:
        """Labels 0 and 1, and some between, in float32 as boosters hold them."""
        y = self.binary(n).astype(self.of(["f8", "f4"]))
        share = self.of([self.rng.random(n), self.rng.choice([0.25, 0.5, 1e-9, 1 - 1e-7], n)])
        return np.where(self.rng.random(n) < 0.7, share, y).astype("f4").astype(y.dtype)

    def scores(self, n: int, far: int = 150) -> Array:
        """Scores with ties, on scales from tiny to huge, of several types."""
        kind = self.below(8)
        s = self.rng.normal(size=n)
        if kind == 0:
            s = np.round(s)
        elif kind == 1:
            s = self.rng.choice(s[: self.between(1, min(n, 4))], n)
        elif kind == 2:
            s = s * 10.0 ** self.of([-300, -20, 20, far])
        elif kind == 3:  # differences of a rounding
            s = 1 + self.rng.integers(0, 4, n) * 2.0**-52
        elif kind == 4:
            return self.rng.integers(-5, 6, n).astype(self.of(["i8", "i4", "i1"]))
        elif kind == 5:
            s = s + 1e6
        s = s + 0.0
        return s.astype(np.float32) if self.chance(0.2) and kind != 2 else s

    def probabilities(self, n: int, edges: bool = True) -> Array:
        kind = self.below(6)
        p = self.rng.random(n)
        if kind == 0:
            p = p ** self.of([3, 20])
        elif kind == 1:
            p = self.rng.choice(p[: self.between(1, min(n, 3))], n)
        elif kind == 2:
            p = np.round(p, 1)
        elif kind == 3 and edges:
            p = np.where(self.rng.random(n) < 0.4, self.rng.choice(EDGES, n), p)
        if not edges:
            p = np.clip(p, 1e-12, 1 - 1e-12)
        return p.astype(np.float32) if self.chance(0.15) and edges else p

    def probability_rows(self, n: int, K: int, zeros: bool = True) -> Array:
        """(n, K), rows that sum to 1: even, peaked, tied, with zeros."""
        p = self.rng.dirichlet(np.full(K, self.of([0.1, 1.0, 5.0])), n) + 1e-9
        kind = self.below(5)
        if kind == 0:
            p = self.rng.integers(1, 4, (n, K)).astype(float)
        elif kind == 1 and zeros:
            p[self.rng.random((n, K)) < 0.3] = 0
            p[p.sum(axis=1) == 0, 0] = 1
        elif kind == 2:
            p = p[self.rng.integers(0, min(n, 3), n)]
        p = p / p.sum(axis=1, keepdims=True)
        return p.astype(np.float32) if self.chance(0.15) else p

    def weights(self, n: int, least: float = 1e-80) -> Array | None:
        """None, whole numbers, with zeros, tiny or huge, of several types; not all 0."""
        kind = self.below(9)
        if kind < 3:
            return None
        w = self.rng.exponential(size=n) + 0.01
        if kind == 3:
            w = self.rng.integers(1, 4, n).astype(self.of(["i8", "i4", "f8", "u1"]))
        elif kind == 4:
            w = self.rng.integers(0, 3, n).astype(self.of(["i8", "f8", "f4"]))
        elif kind == 5:
            w = w * 10.0 ** self.of([-90, -30, 20, 28])
        elif kind == 6:  # of very different sizes
            w = w * 10.0 ** self.rng.choice([0, 0, 0, 6, -6, 12, -12, -200, -300], n)
        elif kind == 7:
            w = np.where(self.rng.random(n) < 0.5, w, 0.0)
        elif kind == 8:
            w = w.astype(np.float32)
        if float(w.max()) < least:
            w[self.below(n)] = 1
        return w

    def calm_weights(self, n: int) -> Array | None:
        """Weights with zeros, of one size."""
        kind = self.below(5)
        if kind < 2:
            return None
        w = self.rng.integers(0 if kind == 2 else 1, 4, n).astype(self.of(["i8", "f8"]))
        if kind == 4:
            w = self.rng.uniform(0.2, 3, n)
        if not w.any():
            w[self.below(n)] = 1
        return w

    def margins(self, shape: int | tuple[int, ...], most: float = 1e5) -> Array:
        """Log-odds: near 0, in the tails, beyond what exp holds."""
        scale = self.of([1.0, 1.0, 5.0, 30.0])
        f = scale * self.rng.normal(size=shape)
        if self.chance(0.3):
            far = [x for x in (0.0, 700.0, -700.0, 1e5, -1e5, 88.0, -104.0, 36.8) if abs(x) <= most]
            f = np.where(self.rng.random(shape) < 0.3, self.rng.choice(far, shape), f)
        if self.chance(0.2):
            f = np.round(f)
        return f.astype(np.float32) if self.chance(0.2) else f

    def rate(self) -> float:
        return self.of([1.0, 0.5, 0.1, 1e-3, 1e-9, self.uniform(0.01, 1)])

    def keep_rates(self, n: int) -> dict[str, Any]:
        """One of the three spellings of how negatives were kept, or none."""
        kind = self.below(5)
        if kind == 0:
            return {"negative_keep_rate": self.rate()}
        if kind == 1:
            rates = self.rng.choice([1.0, 0.5, 0.1, 0.02], n)
            return {"keep_rate": rates if self.chance(0.5) else self.rng.uniform(0.01, 1, n)}
        if kind == 2:
            return {"class_keep_rates": {0: self.rate(), 1: 1.0}}
        return {}

    def groups(self, n: int) -> Array:
        """Whose row it is: words, numbers or booleans."""
        own = self.rng.integers(0, self.of([2, 3, max(2, n // 2)]), n)
        kind = self.below(3)
        if kind == 0:
            return np.array(["east", "north", "west", "x"])[own % 4]
        return own.astype(self.of(["i8", "i4", "u1"])) if kind == 1 else (own % 2).astype(bool)

    def names(self, K: int) -> list[Any]:
        """Classes in ascending order that are no 0 to K-1."""
        return self.of(
            [
                [f"c{k}" for k in range(K)],
                [10 * k - 5 for k in range(K)],
                [k + 0.5 for k in range(K)],
                [f"z{K - k}" for k in range(K)],  # not in the order of the alphabet
            ]
        )
