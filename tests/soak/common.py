"""What the parts share: figures with promises, the state of the process, and small data."""

from __future__ import annotations

import gc
import os
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gbdt_objectives as go

LIBRARIES = ("xgboost", "lightgbm")
PARAMETERS: dict[str, dict[str, Any]] = {
    "xgboost": {"max_depth": 3, "nthread": 1, "eta": 0.5},
    "lightgbm": {"num_leaves": 8, "num_threads": 1, "learning_rate": 0.5, "verbosity": -1},
}
ESTIMATOR: dict[str, dict[str, Any]] = {
    "xgboost": {"max_depth": 3, "n_jobs": 1, "learning_rate": 0.5},
    "lightgbm": {"num_leaves": 8, "n_jobs": 1, "learning_rate": 0.5, "verbose": -1},
}


@dataclass(frozen=True)
class Figure:
    """What was found, and the most that is promised; without a promise it is only told."""

    what: str
    found: float
    unit: str = ""
    most: float | None = None

    @property
    def kept(self) -> bool:
        return self.most is None or self.found <= self.most

    def __str__(self) -> str:
        promise = "" if self.most is None else f"at most {self.most:g}"
        word = "" if self.most is None else "kept" if self.kept else "BROKEN"
        return f"{self.what:<74} {self.found:>10.4g} {self.unit:<10} {promise:<16} {word}".rstrip()


def ordinal_rows(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """X (n, 4) and labels 0 to 3, each of which occurs."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    y = np.digitize(X[:, :2].sum(1) + 0.2 * rng.normal(size=n), [0.7, 1.0, 1.3]).astype(float)
    y[:4] = range(4)
    return X, y


def dataset(library: str, X: np.ndarray, y: np.ndarray) -> Any:
    import lightgbm as lgb
    import xgboost as xgb

    if library == "xgboost":
        return xgb.DMatrix(X, y, nthread=1)
    return lgb.Dataset(X, y, params=PARAMETERS[library], free_raw_data=False)


def adapter(library: str) -> Any:
    from gbdt_objectives.adapters import lightgbm, xgboost

    return {"xgboost": xgboost, "lightgbm": lightgbm}[library]


def predict(model: Any, X: np.ndarray) -> np.ndarray:
    """What a booster of either library predicts, or another model."""
    return model.inplace_predict(X) if hasattr(model, "inplace_predict") else model.predict(X)


def train_one(library: str, seed: int = 0, objective: Any = None, rounds: int = 12) -> np.ndarray:
    """Predictions of a small model that stops early on kappa."""
    (X, y), (new, y_new) = ordinal_rows(seed=seed), ordinal_rows(100, seed=10**6 + seed)
    objective = objective or go.qwk_objective()
    metric = go.loss_metric(objective) if objective.n_classes else go.extended_qwk_metric()
    data = dataset(library, X, y)
    if library == "lightgbm":
        held_out = data.create_valid(new, y_new)
    else:
        held_out = dataset(library, new, y_new)
    booster = adapter(library).train(
        PARAMETERS[library], data, rounds, objective=objective, metric=metric,
        evals=[(held_out, "held_out")], early_stopping_rounds=3,
    )  # fmt: skip
    return predict(booster, new)


def fit_one(library: str, seed: int = 0) -> np.ndarray:
    """Predictions of a small estimator of this package."""
    X, y = ordinal_rows(seed=seed)
    kind = adapter(library).XGBRegressor if library == "xgboost" else adapter(library).LGBMRegressor
    model = kind(objective=go.qwk_objective(), n_estimators=8, **ESTIMATOR[library])
    return model.fit(X, y).predict(X)


@dataclass
class Flat:
    """Whether the process stays as it was after a warm-up, as Linux tells of it: sampled a hundred
    times or more."""

    name: str
    promised: float = 0.05  # how much of its memory a process may gain

    def __post_init__(self) -> None:
        self.samples: list[tuple[int, ...]] = []
        self.at: list[int] = []

    def sample(self, k: int) -> None:
        self.at.append(k)
        gc.collect()
        held = len(gc.get_objects())
        memory = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        files, threads = (len(os.listdir(f"/proc/self/{kind}")) for kind in ("fd", "task"))
        self.samples.append((memory, files, threads, held))

    def figures(self) -> list[Figure]:
        memory, files, running, held = np.array(self.samples, float).T
        growth = memory.max() / memory[0] - 1
        slope = np.polyfit(self.at, memory, 1)[0]
        name = self.name
        return [
            Figure(f"{name}: memory after the warm-up", memory[0] / 2**20, "MiB"),
            Figure(f"{name}: growth to the highest sample", 100 * growth, "%", 100 * self.promised),
            Figure(f"{name}: growth, slope", slope, "bytes each"),
            Figure(f"{name}: more open files", files.max() - files[0], "", 0),
            Figure(f"{name}: more threads", running.max() - running[0], "", 0),
            # what pytest's or a library's caches may still fill; one object each would be thousands
            Figure(f"{name}: more Python objects", held.max() - held[0], "", 100),
        ]
