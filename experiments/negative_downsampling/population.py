"""Simulated rows: ten standard normal features, rare events with known log-odds.

Symbols: x features, tau prior, b the intercept for which the mean probability is tau.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from experiments._common import Array
from experiments.negative_downsampling.configuration import Population

FEATURES = 10
INTERCEPT_ROWS = 1_000_000


def log_odds(X: Array, population: Population) -> Array:
    """b + linear and bent terms, an interaction and a step; x9 and x10 do nothing."""
    return intercept(population) + terms(X, population)


def terms(X: Array, population: Population) -> Array:
    """The log-odds without the intercept."""
    x = X.T
    return (
        population.linear * (x[0] + 0.6 * x[1])
        + population.square * x[2] ** 2
        + population.absolute * np.abs(x[3])
        + population.product * x[4] * x[5]
        + population.sine * np.sin(2 * x[6])
        + population.step * (x[7] > 1)
        + population.curve * x[0] ** 2
    )


@lru_cache
def intercept(population: Population) -> float:
    """b, on rows of its own."""
    X = np.random.default_rng(2**32).standard_normal((INTERCEPT_ROWS, FEATURES))
    s = terms(X, population)
    return float(brentq(lambda b: expit(b + s).mean() - population.prior, -30, 30))


def draw(rows: int, population: Population, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Features (n, 10), labels (n,) and true probabilities (n,) of fresh rows."""
    X = rng.standard_normal((rows, FEATURES))
    p = expit(log_odds(X, population))
    return X, (rng.random(rows) < p).astype(np.int64), p
