"""Draws docs/pictures, the gallery's pictures for the guide, by running docs/examples.

Run from the repository root: ``python docs/make_pictures.py``.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent


def main(folder: Path = HERE / "pictures") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for example in sorted((HERE / "examples").glob("plot_*.py")):
        runpy.run_path(str(example))
        name = example.stem.split("_", 2)[2]  # plot_1_scores: the number is its place
        plt.gcf().savefig(folder / f"{name}.png", dpi=110)
        plt.close("all")


if __name__ == "__main__":
    main()
