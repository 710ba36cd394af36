"""Files with ordered grades, and grades cut from scikit-learn's targets."""

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


def made(name: str, how: Mapping[str, Any], seed: int) -> tuple[Array, Array]:
    """Features and grades of a target of scikit-learn."""
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
