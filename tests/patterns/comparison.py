"""Blocks as people paste them beside the same job done with this package.

Each file here holds one pattern: ``before``, in the style of competition notebooks, and
``after``. Both take the same rows and the same booster parameters.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

import gbdt_objectives as go

Array = np.ndarray[Any, Any]

GRADES = [1, 2, 3, 4, 5, 6]
SHARES = (0.26, 0.27, 0.22, 0.14, 0.08, 0.03)
"""Of the grades: mean 2.6, variance 1.9; other than in the data set whose constants,
2.998 and 1.092, went from notebook to notebook."""

TRAINING_ROWS = 1500
TEST_ROWS = 10_000
SEEDS = (0, 1, 2)

TOLERANCE = 0.002
"""In QWK, of the mean over SEEDS. Ways to train that are worth the same stop at other rounds and
differ a little: with the right constants and without weights, after minus before was .005 +- .002
for lgb.train and .003 +- .0015 for XGBRegressor (12 seeds each), and -.0019 at worst."""

HAND_MADE = re.compile(
    r"\by(_\w+)?(\[[^\]]*\])? [-+] "  # labels shifted
    r"|[-+] a\b"  # predictions shifted back
    r"|\(1 - p\w*\)"  # probabilities corrected by a formula
)


def graded(seed: int) -> tuple[Array, Array, Array, Array]:
    """X, y, X_test, y_test: grades 1..6 that follow some of the features, with noise."""
    rng = np.random.default_rng(seed)
    n = TRAINING_ROWS + TEST_ROWS
    X = rng.normal(size=(n, 8))
    latent = X[:, 0] + X[:, 1] + X[:, 2] * (X[:, 3] > 0) + 1.2 * rng.normal(size=n)
    cuts = np.quantile(latent, np.cumsum(SHARES)[:-1])
    y = np.digitize(latent, cuts) + 1
    return X[:TRAINING_ROWS], y[:TRAINING_ROWS], X[TRAINING_ROWS:], y[TRAINING_ROWS:]


def kappa(y: Array, grades: Array, weight: Array | None = None) -> float:
    return go.quadratic_weighted_kappa(y, grades, labels=GRADES, sample_weight=weight)


def code_lines(function: Callable[..., Any]) -> int:
    """Lines of a function's body that are neither blank, comment nor docstring."""
    source = inspect.getsource(function)
    body = re.sub(r'(?s)""".*?"""', "", source).split("\n")[1:]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in body)


def same_or_better(
    name: str,
    before: Callable[..., Any],
    after: Callable[..., Any],
    score: Callable[[Callable[..., Any], int], float],
    tolerance: float = TOLERANCE,
) -> float:
    """How much greater the mean score of ``after`` is, at least minus the tolerance.

    Also: what it did by hand is gone, and it is the shorter one.
    """
    assert HAND_MADE.search(inspect.getsource(before))
    found = HAND_MADE.search(inspect.getsource(after))
    assert found is None, found
    lines = code_lines(before), code_lines(after)
    assert lines[1] < lines[0]
    scores = np.array([[score(way, seed) for way in (before, after)] for seed in SEEDS])
    old, new = scores.mean(axis=0)
    print(
        f"\n{name}: held-out score {old:.4f} before, {new:.4f} after, "
        f"by seed {np.diff(scores).ravel().round(5).tolist()}; "
        f"{lines[0]} lines before, {lines[1]} after"
    )
    assert new >= old - tolerance, scores
    return float(new - old)
