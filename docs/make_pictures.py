"""Draws docs/pictures: the three kinds of ThresholdDisplay, on simulated rows.

Run from the repository root: ``python docs/make_pictures.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from gbdt_objectives.plotting import ThresholdDisplay

PICTURES = Path(__file__).parent / "pictures"


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Grades 1..5 and a score that shrinks them towards their mean, as regression does."""
    rng = np.random.default_rng(seed)
    signal = rng.standard_normal(n)
    latent = 0.7 * signal + np.sqrt(1 - 0.7**2) * rng.standard_normal(n)
    return 1 + np.searchsorted([-1.2, -0.3, 0.6, 1.4], latent), 2.8 + 0.75 * signal


def main(folder: Path = PICTURES) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for kind, n, method in (
        ("histogram", 3000, "plugin"), ("profile", 3000, "exact"), ("hull", 150, "exact")
    ):  # fmt: skip
        figure, axis = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
        ThresholdDisplay.from_predictions(*rows(n), method=method, kind=kind, ax=axis)
        figure.savefig(folder / f"thresholds_{kind}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main()
