"""A thousand fits of QWKClassifier: memory stays, and a seed gives the same model each time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

import gbdt_objectives as go
from tests.soak.common import ESTIMATOR, LIBRARIES, Figure, Flat, adapter, ordinal_rows

SEEDS = 10


def run(quick: bool) -> Iterator[Figure]:
    fits, warm_up, every = (40, 20, 5) if quick else (1000, 100, 10)
    warnings.simplefilter("ignore", UserWarning)
    X, y = ordinal_rows(240)
    flat = Flat("fits")
    first: dict[int, np.ndarray] = {}
    differ = 0
    for k in range(fits):
        seed = k % SEEDS
        found = fit(seed, X, y.astype(int))
        expected = first.setdefault(seed, found)
        differ += not np.array_equal(found, expected)
        if k >= warm_up and not k % every:
            flat.sample(k)
    yield Figure("fits", fits)
    yield Figure(f"models that differ from the first of their seed, {SEEDS} seeds", differ, "", 0)
    distinct = len({found.tobytes() for found in first.values()})
    yield Figure("seeds whose model is that of another", SEEDS - distinct, "", 0)
    yield from flat.figures()


def fit(seed: int, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Scores and thresholds of a model whose random choices all come from the seed."""
    xgboost, lightgbm = (adapter(library) for library in LIBRARIES)
    members = [
        ("xgb", xgboost.XGBRegressor(n_estimators=5, subsample=0.7, **ESTIMATOR["xgboost"])),
        ("lgb", lightgbm.LGBMRegressor(n_estimators=5, **ESTIMATOR["lightgbm"])),
    ]
    model = go.QWKClassifier(members, cv=3, random_state=seed).fit(X, y)
    return np.concatenate([model.predict_score(X), model.thresholds_])
