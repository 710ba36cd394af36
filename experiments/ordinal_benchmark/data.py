"""Files with ordered grades, grades cut from scikit-learn's targets, and made rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import train_test_split

from experiments import _common
from experiments._common import Array


def cut(target: Array, shares: list[float]) -> Array:
    """Grades 0..K-1: how many of these quantiles lie at or below the target."""
    return np.digitize(target, np.quantile(target, shares))


def simulate(how: Mapping[str, Any], rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Features (rows, 6), and grades: a target with noise that is cut, or rules of the features."""
    if how["kind"] == "rules":
        X = rng.integers(0, 4, (rows, 6)).astype(float)
        rules = X[:, 0] >= 2, (X[:, 1] >= 2) != (X[:, 2] >= 2), X[:, 3] + X[:, 4] >= 4
        return X, np.sum(rules, axis=0)
    X = rng.standard_normal((rows, 6))
    terms = [X[:, 0], X[:, 1], X[:, 2]]
    if how["kind"] == "bent":
        terms = [np.abs(X[:, 0]) * 1.66 - 1.32, X[:, 1], np.sign(X[:, 2]) * (X[:, 3] > 0) * 1.41]
    r = how["correlation"]
    target = r * np.sum(terms, axis=0) / np.sqrt(3) + np.sqrt(1 - r**2) * rng.standard_normal(rows)
    return X, cut(target, how["cut_at"])


def made(name: str, how: Mapping[str, Any], seed: int) -> tuple[Array, Array]:
    """Features and grades of a target of scikit-learn, or of simulated rows."""
    if "kind" in how:
        return simulate(how, how["rows"], np.random.default_rng(seed))
    if name == "diabetes":
        X, target = load_diabetes(return_X_y=True)
    else:
        X, target = make_friedman1(how["rows"], noise=how["noise"], random_state=seed)
    return X, cut(target, how["cut_at"])


def read(folder: Path, name: str, how: Mapping[str, Any], seed: int) -> tuple[Array, Array]:
    """Features and grades 0..K-1 of a CSV file, of so many of its rows if "rows" is given."""
    X, label = _common.load(folder / f"{name}.csv", "response")
    y = np.unique(label, return_inverse=True)[1]
    if "rows" in how:
        X, _, y, _ = train_test_split(X, y, train_size=how["rows"], stratify=y, random_state=seed)
    return X, y


def data_sets(
    folder: Path | None, settings: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[Array, Array]]]:
    """Every data set by name; without a folder those that need none."""
    for name, how in settings["files"].items():
        if how.get("made"):
            yield name, made(name, how, settings["seed"])
        elif folder is not None:
            yield name, read(folder, name, how, settings["seed"])
