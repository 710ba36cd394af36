"""Draws docs/pictures: every display, on simulated rows.

Run from the repository root: ``python docs/make_pictures.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

from gbdt_objectives import (
    LogitCalibrator,
    ReliabilityDisplay,
    ROCHullDisplay,
    ThresholdDisplay,
    correct_probability,
    log_odds_shift,
    negative_downsample,
)

PICTURES = Path(__file__).parent / "pictures"
KEPT = 0.02


def grades(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Grades 1..5 and a score that shrinks them towards their mean, as regression does."""
    rng = np.random.default_rng(seed)
    signal = rng.standard_normal(n)
    latent = 0.7 * signal + np.sqrt(1 - 0.7**2) * rng.standard_normal(n)
    return 1 + np.searchsorted([-1.2, -0.3, 0.6, 1.4], latent), 2.8 + 0.75 * signal


def events(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels, about one in a hundred of them 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    margin = -5.6 + X[:, 0] + 0.8 * X[:, 1] * X[:, 2] + 0.6 * np.abs(X[:, 3])
    return X, (rng.random(n) < 1 / (1 + np.exp(-margin))).astype(int)


def downsampled_model() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Test labels; probabilities of a model trained on a fiftieth of the negatives."""
    X, y = events(100_000, seed=1)
    rows = negative_downsample(y, KEPT, random_state=0)
    model = HistGradientBoostingClassifier(max_iter=80, random_state=0)
    model.fit(X[rows], y[rows])
    X_held_out, y_held_out = events(100_000, seed=2)
    X_test, y_test = events(100_000, seed=3)
    shift = log_odds_shift(negative_keep_rate=KEPT)
    uncorrected = model.predict_proba(X_test)[:, 1]
    corrected = correct_probability(uncorrected, shift)
    held_out = correct_probability(model.predict_proba(X_held_out)[:, 1], shift)
    calibrated = LogitCalibrator().fit(held_out, y_held_out).predict(corrected)
    return y_test, {
        "uncorrected": uncorrected,
        "corrected": corrected,
        "corrected, calibrated": calibrated,
    }


def main(folder: Path = PICTURES) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for kind, n, method in (
        ("histogram", 3000, "plugin"), ("profile", 3000, "exact"), ("hull", 150, "exact")
    ):  # fmt: skip
        figure, axis = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
        ThresholdDisplay.from_predictions(*grades(n), method=method, kind=kind, ax=axis)
        save(figure, folder / f"thresholds_{kind}.png")

    figure, axis = plt.subplots(figsize=(7.2, 4.8), layout="constrained")
    y, models = downsampled_model()
    ReliabilityDisplay.from_predictions(y, models, strategy="events", scale="log", ax=axis)
    save(figure, folder / "reliability.png")

    figure, axis = plt.subplots(figsize=(7.2, 4.8), layout="constrained")
    del models["uncorrected"]
    ReliabilityDisplay.from_predictions(y, models, strategy="isotonic", scale="log", ax=axis)
    save(figure, folder / "reliability_isotonic.png")

    figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.2), layout="constrained")
    for axis, kind in zip(axes, ("curve", "map"), strict=True):
        labels = [1, 1, 0, 1, 1, 0, 1, 1, 0, 0]  # best score first
        ROCHullDisplay.from_predictions(labels, np.arange(10, 0, -1), kind=kind, ax=axis)
    save(figure, folder / "roc_hull.png")


def save(figure: plt.Figure, path: Path) -> None:
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
